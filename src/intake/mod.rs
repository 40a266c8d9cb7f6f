//! Recognises files by their content and passes them to their readers.

mod documents;
mod duplicates;
pub mod files;
mod gzip;
mod inflate;
mod kernels;
pub mod lines;
mod logs;
mod open;
mod opened;
mod recognise;
mod rewards;
mod topologies;
mod training;
pub mod unpack;

use serde::{Deserialize, Serialize};

pub use self::{
    inflate::inflated,
    open::{MAX_MODEL_BYTES, open, open_file},
    opened::{FileContent, OpenedFile},
};
pub use crate::tuning::columns::ColumnSource;
use crate::{
    report::{LoadedFile, Workbench, wire::leaf},
    text::Problems,
    tuning::{columns::Column, log::LogAnswers},
    units::{count, grouped},
    workbench::ReportContext,
};

/// The report on one dropped file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileReport {
    /// The number that the caller gave the file.
    pub id: u32,
    /// The name, with folders where they are known.
    pub name: String,
    /// The size as dropped, in bytes.
    pub size_bytes: u64,
    /// The result of reading it.
    pub outcome: Outcome,
    /// Whether it says what ran for the table of another file, so that this can't be read without it.
    pub completes: bool,
}

impl FileReport {
    /// The number of the file in [`Row::file`](crate::tuning::read::Row::file).
    pub fn number(&self) -> u16 {
        u16::try_from(self.id).unwrap_or(u16::MAX)
    }

    /// The entry of the file in a report.
    fn entry(&self) -> LoadedFile {
        let (format, holds) = match &self.outcome {
            Outcome::Loaded { format, rows, default_rows, .. } => {
                (format.clone(), format!("{}, {} of the default", count(*rows, "row"), grouped(*default_rows)))
            }
            Outcome::Known { format, holds, .. } => (format.clone(), holds.clone()),
            Outcome::NeedsMapping(_) => ("a table with unknown columns".into(), String::new()),
            Outcome::Refused(_) => ("not read".into(), String::new()),
        };
        LoadedFile { name: Some(leaf(&self.name)), format, holds, left_out: self.outcome.problems().count }
    }
}

/// The examples of the workbenches, by the names of their files: simulated data.
pub const EXAMPLES: [(Workbench, &str); 4] = [
    (Workbench::Tuning, "simulated_sweep.csv"),
    (Workbench::Policy, "simulated_rewards.csv"),
    (Workbench::TrainingTime, "simulated_training.zip"),
    (Workbench::Overlap, "simulated_kernels.csv"),
];

/// The loaded files for use in a report.
pub fn report_context(files: &[FileReport]) -> ReportContext<'_> {
    ReportContext {
        files: files.iter().map(FileReport::entry).collect(),
        problems: files.iter().map(|file| (file.name.as_str(), file.outcome.problems())).collect(),
    }
}

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// A sweep, or the training rows of a model file, was loaded.
    Loaded {
        /// A description of the format, such as `rccl-sweep CSV, medians with spread`.
        format: String,
        /// The number of accepted data lines, default rows included.
        rows: u64,
        /// The number of those that are runs of the library's default.
        default_rows: u64,
        /// The lines that were left out.
        problems: Problems,
        /// Notes, such as `3 rows of substituted runs are listed as what ran`.
        notes: Vec<String>,
    },
    /// A file that was recognised and is no sweep, such as a tuner file, a comparison, a log of a job, or a report.
    Known {
        /// A description of the format, such as `tuner conf`.
        format: String,
        /// A description of the contents, such as `12 rules`.
        holds: String,
        /// The lines that can't be understood.
        problems: Problems,
        /// Notes from reading the file.
        notes: Vec<String>,
    },
    /// A table whose headers don't identify the required columns, so that the user is asked for a mapping.
    NeedsMapping(MappingRequest),
    /// The file could not be read; a sentence with the reason and a remedy.
    Refused(String),
}

impl Outcome {
    fn known(format: &str, holds: String, problems: Problems, notes: Vec<String>) -> Self {
        Self::Known { format: format.to_owned(), holds, problems, notes }
    }

    /// The lines of the file that were left out.
    pub fn problems(&self) -> &Problems {
        const NONE: &Problems = &Problems { kept: Vec::new(), count: 0 };
        match self {
            Self::Loaded { problems, .. } | Self::Known { problems, .. } => problems,
            Self::NeedsMapping(_) | Self::Refused(_) => NONE,
        }
    }
}

/// A table with unknown headers, or a log that does not say what ran. The facts of a log are shown as a table too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MappingRequest {
    /// The reason, such as that the table lacks a column.
    pub problem: String,
    /// The headers as the file writes them, in its order.
    pub headers: Vec<String>,
    /// The first data lines, with a cell for each header.
    pub sample: Vec<Vec<String>>,
    /// Every column that a sweep has, whether it is needed, and the header that fits it best.
    pub wanted: Vec<WantedColumn>,
}

/// A column of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WantedColumn {
    /// The column's name in the sweep format.
    pub name: String,
    /// The meaning of the column, with its unit.
    pub meaning: String,
    /// Whether the column is required for training.
    pub needed: bool,
    /// The index of the header that seems to match.
    pub guess: Option<usize>,
}

/// The answer to a [`MappingRequest`]: the header (by index) or the constant for each sweep column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mapping {
    /// Pairs of sweep column and where its value comes from.
    pub columns: Vec<(String, ColumnSource)>,
}

impl Mapping {
    /// The mapping by which all rows of a file are of one configuration: `RING/LL128/24`, or `default` for the
    /// library's own choice.
    ///
    /// # Errors
    /// Returns a sentence for users if the text is no configuration.
    pub fn configuration(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split('/').map(str::trim).collect();
        let names = [Column::Algo, Column::Proto, Column::Nchannels].map(|column| column.name().to_owned());
        let is_default = text.trim().eq_ignore_ascii_case("default");
        let columns: Vec<(String, ColumnSource)> = match (is_default, words.as_slice()) {
            (true, _) => vec![(names[0].clone(), ColumnSource::Constant("DEFAULT".to_owned()))],
            (false, [_, _, _]) => names
                .into_iter()
                .zip(words)
                .map(|(name, word)| (name, ColumnSource::Constant(word.to_owned())))
                .collect(),
            _ => {
                return Err("a configuration is ALGORITHM/PROTOCOL/CHANNELS, like RING/LL128/24, or default".to_owned());
            }
        };
        LogAnswers::of(&columns)?;
        Ok(Self { columns })
    }

    /// Whether it names no columns, only values that are the same for all rows.
    pub fn is_constant(&self) -> bool {
        !self.columns.is_empty() && self.columns.iter().all(|(_, source)| matches!(source, ColumnSource::Constant(_)))
    }

    /// The mapping, with the guesses of a request if it names no columns itself.
    fn completed(&self, request: &MappingRequest) -> Self {
        if !self.is_constant() {
            return self.clone();
        }
        let is_open = |wanted: &&WantedColumn| self.columns.iter().all(|(name, _)| *name != wanted.name);
        let guessed = request
            .wanted
            .iter()
            .filter(is_open)
            .filter_map(|wanted| Some((wanted.name.clone(), ColumnSource::Column(wanted.guess?))));
        Self { columns: self.columns.iter().cloned().chain(guessed).collect() }
    }
}
