//! Files become parts of a bundle.
//!
//! A table is told by its [`headers`], a configuration by its keys; what a [`name`] says only fills what the content
//! can't.

pub(crate) mod headers;
pub(crate) mod name;
mod run;
mod samples;
mod sampling;
mod settings;
mod steps;

use self::headers::TableFamily;
pub use self::{
    run::{ConfiguredRun, nearest as nearest_names},
    samples::MOST_ROWS,
    sampling::{Axis, MOST_POINTS, Sampling},
    settings::NamedSetting,
};
use super::{
    catalogue::Catalogue,
    estimate::own_steps::{self, OwnStep},
    models::{self, ModelFile, ModelFormat},
    samples::{CollectiveRow, OperatorSamples},
    steps::{ReduceTable, StepTable},
    trace::{self, Trace, TraceError},
};
use crate::{
    learn::xgboost,
    text::{
        Problems, Records, excerpt,
        yaml::{self, KeyError, Node},
    },
};

/// The contents of one file.
#[derive(Clone, Debug, PartialEq)]
pub enum TrainingFile {
    /// Samples of an operator, which only the file's name names.
    Operator(OperatorSamples),
    /// Samples of a collective, which only the file's name names.
    Collective(Vec<CollectiveRow>),
    /// The regressor for each operator or collective.
    Settings(Vec<NamedSetting>),
    /// A table of measured training steps, a row each.
    Steps(StepTable),
    /// An all-reduce table of nccl-tests.
    Reduce(ReduceTable),
    /// Samples of the optimizer in the old form: so many rows.
    OldOptimizer(usize),
    /// The configuration of a run, which can be interpreted only once all operators are known.
    Run(RunNode),
    /// The configuration of a sampling.
    Sampling(Sampling),
    /// A catalogue, which extends the built-in one.
    Catalogue(Box<Catalogue>),
    /// A regressor that was saved by XGBoost.
    Model(Box<xgboost::Model>),
    /// A model whose steps can be estimated, or how one is trained.
    ModelFile(Box<ModelFile>),
    /// Measured steps of such a model.
    OwnSteps(Vec<OwnStep>),
    /// Traces of training steps, one of each rank.
    Traces(Vec<Trace>),
    /// Nothing that can be used, and why; completes a sentence that begins with the file's name.
    Unrecognised(String),
}

/// A run's configuration that was recognised and not yet read.
#[derive(Clone, Debug, PartialEq)]
pub struct RunNode {
    root: Node,
    form: run::Form,
}

impl RunNode {
    /// Reads it with what is known.
    ///
    /// # Errors
    /// Returns an error with its location if a key is missing, has another kind of value, or breaks a rule.
    pub fn read(&self, path: &str, catalogue: &Catalogue) -> Result<ConfiguredRun, KeyError> {
        run::run(&self.root, self.form, path, catalogue)
    }
}

/// Reads a table of this trade, whose header is the next record that is no comment. `notes` are told of columns that
/// say nothing.
///
/// # Errors
/// Returns the reason why the table can't be read, phrased to follow the file's name.
pub fn table(
    records: &mut Records<'_>,
    family: TableFamily,
    path: &str,
    problems: &mut Problems,
    notes: &mut Vec<String>,
) -> Result<TrainingFile, String> {
    let headers: Vec<String> = loop {
        let Some(record) = records.next() else { return Err("is empty".to_owned()) };
        let headers: Vec<String> = record.cells().map(str::to_owned).collect();
        let is_comment = headers.first().is_some_and(|first| first.starts_with('#'));
        // `# GPUs` is a column.
        if !is_comment || headers::family(&headers) == Some(family) {
            break headers;
        }
    };
    let unknown = headers::unknown(family, &headers);
    if !unknown.is_empty() {
        notes.push(format!("These columns say nothing here: {}", excerpt(&unknown.join(", "))));
    }
    Ok(match family {
        TableFamily::Operator => TrainingFile::Operator(samples::operator(records, &headers, problems)?),
        TableFamily::Collective => TrainingFile::Collective(samples::collective(records, &headers, problems)?),
        TableFamily::OperatorSettings => {
            TrainingFile::Settings(settings::settings(records, &headers, false, problems)?)
        }
        TableFamily::CollectiveSettings => {
            TrainingFile::Settings(settings::settings(records, &headers, true, problems)?)
        }
        TableFamily::Steps => TrainingFile::Steps(steps::steps(records, &headers, path, problems)?),
        TableFamily::Reduce => TrainingFile::Reduce(steps::reduce(records, &headers, path, problems)?),
        TableFamily::OwnSteps => {
            TrainingFile::OwnSteps(own_steps::read(records, &headers, problems).map_err(|error| error.to_string())?)
        }
        TableFamily::OldOptimizer => {
            let mut count = 0;
            while records.next().is_some() {
                count += 1;
            }
            TrainingFile::OldOptimizer(count)
        }
    })
}

/// A key of each form of configuration that the others lack.
const KEYS: [&str; 9] = [
    "training_config",
    "parallel",
    "columns_name",
    "catalogue",
    "tensor_parallel_size",
    "model_type",
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "zero_optimization",
];

/// Whether a line of a text begins with a key of a configuration, as no log does.
pub fn has_configuration_line(text: &str) -> bool {
    let quotes = ['"', '\'', ' ', '\t'];
    let is_key = |line: &str, key: &str| {
        let rest = line.trim_start_matches(['"', '\'', '{']).strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start_matches(quotes).starts_with(':'))
    };
    text.lines().any(|line| KEYS.iter().any(|key| is_key(line, key)))
}

/// Whether a text may be a configuration of this trade, told by its beginning.
pub fn may_be_configuration(head: &str) -> bool {
    let is_key = |at: usize, key: &str| {
        let before = head[..at].chars().next_back();
        let after = head[at + key.len()..].trim_start_matches(['"', '\'', ' ', '\t']);
        before.is_none_or(|c| c.is_whitespace() || "{,\"'".contains(c)) && after.starts_with(':')
    };
    KEYS.iter().any(|key| head.match_indices(key).any(|(at, _)| is_key(at, key)))
}

/// Whether a text has arguments of Megatron-LM or is TorchTitan's TOML, in which no key stands before a colon.
pub fn has_arguments(text: &str) -> bool {
    matches!(models::identify(text), Some(ModelFormat::Megatron | ModelFormat::TorchTitan))
}

fn model_file(read: Result<ModelFile, models::ModelFileError>) -> TrainingFile {
    let refused = |error| TrainingFile::Unrecognised(format!("can't be used as a model: {error}"));
    read.map_or_else(refused, |file| TrainingFile::ModelFile(Box::new(file)))
}

/// Reads a trace of training steps; `None` where the JSON is none.
pub fn trace(json: &str) -> Option<TrainingFile> {
    trace::is_trace(json).then(|| traces(trace::read(json).map(|trace| vec![trace])))
}

/// Reads a database of a profiler.
pub fn database(bytes: &[u8]) -> TrainingFile {
    traces(trace::read_database(bytes))
}

fn traces(read: Result<Vec<Trace>, TraceError>) -> TrainingFile {
    read.map_or_else(|error| TrainingFile::Unrecognised(error.to_string()), TrainingFile::Traces)
}

/// Reads a configuration in YAML, JSON or TOML, or arguments; `None` where it is one of another trade.
pub fn configuration(text: &str) -> Option<TrainingFile> {
    if has_arguments(text) {
        return Some(model_file(models::read_file(text)));
    }
    if !may_be_configuration(text) {
        return None;
    }
    let root = match yaml::parse(text) {
        Ok(root) => root,
        Err(error) => return Some(TrainingFile::Unrecognised(format!("can't be read as a configuration: {error}"))),
    };
    let refused = |error: KeyError| TrainingFile::Unrecognised(format!("can't be used as a configuration: {error}"));
    if root.get("catalogue").is_some() {
        return Some(
            Catalogue::read(&root).map_or_else(refused, |catalogue| TrainingFile::Catalogue(Box::new(catalogue))),
        );
    }
    if sampling::is(&root) {
        return Some(sampling::read(&root).map_or_else(refused, TrainingFile::Sampling));
    }
    if models::is_model(&root) {
        return Some(model_file(models::of(&root)));
    }
    let form = run::form(&root)?;
    Some(TrainingFile::Run(RunNode { root, form }))
}
