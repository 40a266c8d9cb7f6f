//! `collectune overlap`: how much slower kernels get beside collectives.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use clap::{Args, builder::PossibleValuesParser};
use serde::Serialize;

use super::{
    CliError,
    arguments::Measured,
    files::{self, Reads, refusal},
    save, table, terminal,
};
use crate::{
    intake::{FileReport, files::OpenedFiles},
    overlap::{
        export::TreesError,
        features::Settings,
        loaded::{KernelFile, bring_together},
        merge::Merged,
        models::Kind,
        noise::Repeatability,
        result::{ImportedScores, ModelScores, OverlapOverview, Results, Run, Score, ShownPredictions},
        study::{OverlapStudy, StudyError, do_jobs},
    },
    progress::{Progress, Silent},
    report::{TextFile, Workbench},
    text::{json::indented, visible},
    worker::executor::ExecuteError,
};

/// Compare models of the slowdown of kernels that run beside collectives, and no model at all
///
/// Reads merged features, or slowdown statistics (CSV or XLSX) with kernel metrics (CSV, or `ncu --csv`), or GPU traces
/// (`nsys stats --report cuda_gpu_trace --format csv`), and models of XGBoost as JSON, in any order. Every model
/// predicts only kernels that it has not seen: five repeats of five folds, and five folds of kernel names.
#[derive(Args)]
pub(super) struct Overlap {
    /// Files, or folders of them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Write JSON
    #[arg(long)]
    json: bool,

    /// Which run, where several were given, from 1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    run: u32,

    /// Columns to learn from, besides durations and overlap; the profiler's standard metrics where not given
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    columns: Option<Vec<String>>,

    /// What standardised the features of a dropped model for its training, as JSON: {"mean": […], "scale": […]}; it may
    /// stand among the files as well
    #[arg(long, value_name = "FILE")]
    scaler: Option<PathBuf>,

    /// The model whose predictions and trees are saved; that of the verdict where not given
    #[arg(long, value_name = "MODEL", value_parser = PossibleValuesParser::new(Kind::ALL.map(Kind::name)))]
    model: Option<String>,

    /// Save predictions out of fold as CSV
    #[arg(long, value_name = "FILE")]
    predictions: Option<PathBuf>,

    /// Save the trees, fitted to all kernels, as a model of XGBoost: those of --model trees-lad or trees-published, or
    /// of the verdict where it is one of them
    #[arg(long, value_name = "FILE")]
    xgboost: Option<PathBuf>,

    /// Seed of the forest and the perceptron
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
}

impl Overlap {
    pub(super) fn run(self) -> Result<(), CliError> {
        let paths: Vec<PathBuf> = self.files.iter().chain(&self.scaler).cloned().collect();
        let opened = files::read_any(&paths, None, &Measured::default(), Reads::Of(Workbench::Overlap))?;
        let scalers = opened.parts.kernels.iter().filter(|(_, named)| matches!(named.part, KernelFile::Scaler(_)));
        if let Some(path) = &self.scaler
            && !scalers.clone().any(|(_, named)| named.name == files::name(path))
        {
            return Err(CliError::Told(format!("--scaler {}: it holds no scaler", files::name(path))));
        }
        self.predictions.iter().try_for_each(|path| save::check("predictions", path))?;
        self.xgboost.iter().try_for_each(|path| save::check("trees", path))?;
        let refused = refused(&paths, &opened);
        let parts = opened.parts.kernels.into_iter().map(|(_, part)| part).collect();
        let asked = self.model.as_deref().and_then(Kind::parse);
        if let Some(kind) = asked.filter(|kind| self.xgboost.is_some() && !kind.is_boosted()) {
            return Err(told(TreesError::NoTrees(kind.title()).into()));
        }
        let mut study = OverlapStudy::new(bring_together(parts));
        let settings = Settings { dataset: self.run - 1, columns: self.columns, seed: self.seed };
        let studied = study.study(settings).map_err(told)?;
        study.has_columns().map_err(told)?;
        if studied.runs.len() > 1 {
            let others = format!("there are {} runs; --run takes another than {}", studied.runs.len(), self.run);
            terminal::say_notes(&[others]);
        }
        terminal::say_notes(&studied.notes);
        terminal::say_notes(&studied.checks);
        let folds = on_threads(&studied)?;
        let results = study.judge(&folds, asked.map(ShownPredictions::Model)).map_err(told)?;
        if let Some(path) = &self.predictions {
            export(study.shown().and_then(|shown| study.predictions(shown)), path, "predictions")?;
        }
        if self.json {
            terminal::write_json(&json(&studied, &results))?;
        } else {
            terminal::write(&for_people(&studied, &results))?;
        }
        // The verdict may name a model without trees: then all else has been said.
        if let Some(path) = &self.xgboost {
            let kind = match study.shown().map_err(told)? {
                ShownPredictions::Model(kind) => kind,
                ShownPredictions::Imported { .. } => Kind::TreesLad,
            };
            let trees = study.trees(kind, &mut Silent).map_err(|error| match error {
                StudyError::Trees(TreesError::NoTrees(_)) => CliError::Told(format!(
                    "no trees are saved: the verdict is \"{}\", which has none; name the trees to save with --model trees-lad or \
                     --model trees-published",
                    kind.title()
                )),
                error => told(error),
            });
            save::save("trees", path, trees?.text)?;
        }
        refused.map_or(Ok(()), Err)
    }
}

/// That a file which was named can't be used: the answer is one without it. What lies in a folder besides is not
/// missed.
fn refused(paths: &[PathBuf], opened: &OpenedFiles) -> Option<CliError> {
    let named: Vec<String> = paths.iter().map(|path| files::name(path)).collect();
    let is_refused = |file: &&FileReport| {
        named.contains(&file.name) && refusal(&file.name, &file.outcome, Reads::Of(Workbench::Overlap)).is_some()
    };
    let refused: Vec<&str> = opened.files.iter().filter(is_refused).map(|file| file.name.as_str()).collect();
    (!refused.is_empty()).then(|| CliError::Told(format!("what was told is told without {}", refused.join(", "))))
}

pub(super) fn told(error: StudyError) -> CliError {
    CliError::Execute(ExecuteError::Workbench(error.into()))
}

fn export(file: Result<TextFile, StudyError>, path: &Path, what: &'static str) -> Result<(), CliError> {
    let file = file.map_err(told)?;
    save::save(what, path, file.text)
}

/// Does all jobs, on all processors.
pub(super) fn on_threads(studied: &OverlapOverview) -> Result<Vec<Vec<u8>>, CliError> {
    let total = if studied.results.verdict.is_some() { studied.jobs.len() } else { 0 };
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut bar = terminal::Bar::new();
    let work = |bar: &mut dyn Progress| {
        let mut done = Vec::new();
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= total {
                return Ok(done);
            }
            bar.report("Predicting what was held out", job as u64, total as u64);
            done.push(do_jobs(&studied.run, &[job as u32], &mut Silent)?);
        }
    };
    let done: Result<Vec<Vec<Vec<u8>>>, StudyError> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| work(&mut Silent))).collect();
        let own = work(&mut bar);
        // A thread only ends early by a panic, which is a mistake of the program.
        others.into_iter().filter_map(|other| other.join().ok()).chain([own]).collect()
    });
    Ok(done.map_err(told)?.concat())
}

fn for_people(studied: &OverlapOverview, results: &Results) -> String {
    let settings = &studied.settings;
    let run = studied.runs.get(settings.dataset as usize);
    let mut text = run.map_or_else(String::new, |run| {
        format!(
            "{}: {} kernels, {} overlap communication, {} names\n\n",
            visible(&run.name),
            run.kernels,
            run.overlapped,
            run.names
        )
    });
    text += &table::of_listing(&results.listing);
    if !studied.imported.is_empty() {
        text += &format!("\n{}", table::of_listing(&studied.imported_listing));
    }
    let verdict = results.verdict.iter().flat_map(|verdict| &verdict.sentences);
    text += "\n";
    verdict.for_each(|sentence| text += &format!("{sentence}\n"));
    text
}

#[derive(Serialize)]
struct Report<'a> {
    runs: &'a [Run],
    /// The run that was studied, from 1.
    run: u32,
    columns: Vec<&'a str>,
    merged: &'a [(String, Merged)],
    models: Vec<ModelReport>,
    /// The verdict in words.
    verdict: String,
    recommended_model: Option<Kind>,
    imported: &'a [ImportedScores],
    /// Models were compared; else there are too few kernels to hold some out.
    models_compared: bool,
    repeatability: &'a [Repeatability],
    checks: &'a [String],
    notes: &'a [String],
}

/// Means over the repeats; what is not known is null.
#[derive(Serialize)]
struct ModelReport {
    name: &'static str,
    #[serde(flatten)]
    mean: Option<Score>,
    /// Standard deviations over the repeats.
    spread: Option<Score>,
    unseen_names: Option<Score>,
}

fn json(studied: &OverlapOverview, results: &Results) -> String {
    let model = |scores: &ModelScores| ModelReport {
        name: scores.kind.name(),
        mean: scores.mean,
        spread: scores.spread,
        unseen_names: scores.unseen_names,
    };
    let report = Report {
        runs: &studied.runs,
        run: studied.settings.dataset + 1,
        columns: studied.columns.iter().filter(|(_, given)| *given).map(|(name, _)| name.as_str()).collect(),
        merged: &studied.merged,
        models: results.models.iter().map(model).collect(),
        verdict: results.verdict.as_ref().map(|verdict| verdict.sentences.join(" ")).unwrap_or_default(),
        recommended_model: results.verdict.as_ref().map(|verdict| verdict.model),
        imported: &studied.imported,
        models_compared: results.verdict.as_ref().is_some_and(|verdict| verdict.is_compared),
        repeatability: &studied.repeatability,
        checks: &studied.checks,
        notes: &studied.notes,
    };
    indented(&report) + "\n"
}
