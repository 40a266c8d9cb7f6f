//! `collectune overlap`: how much slower kernels get beside collectives.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::{
    arguments::{self, Measured},
    commands,
    error::{CliError, refuse, told},
    files::{self, Reads, refusal},
    json::object,
    save, table, terminal, threads,
};
use crate::{
    intake::FileReport,
    intake::files::OpenedFiles,
    overlap::{
        export::TreesError,
        features::Settings,
        loaded::{KernelFile, bring_together},
        models::Kind,
        result::{ModelScores, OverlapOverview, Results, ShownPredictions},
        study::{OverlapStudy, StudyError, do_jobs},
    },
    progress::Silent,
    report::{TextFile, Workbench},
    text::visible,
};

commands! {
    /// Kernels that run beside collectives: how much slower they get, and which model of it to use, if any
    Overlap {
        Models(Models),
    }
}

/// Compare models of the slowdown of kernels that run beside collectives, and no model at all
///
/// Reads merged features, or slowdown statistics (CSV or XLSX) with kernel metrics (CSV, or `ncu --csv`), or GPU traces
/// (`nsys stats --report cuda_gpu_trace --format csv`, `rocprofv3 --kernel-trace --output-format csv`), and models of
/// XGBoost as JSON, in any order. Every model predicts only kernels that it has not seen: five repeats of five folds,
/// and five folds of kernel names.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune overlap models slowdown_stats.xlsx kernel_metrics.csv
  collectune overlap models merged_features.csv --model trees-lad --xgboost trees.json --json")]
pub(super) struct Models {
    /// Files or folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,

    /// Which run, where several were given, from 1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    run: u32,

    /// Columns to learn from, besides durations and overlap; the profiler's standard metrics where not given
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    columns: Option<Vec<String>>,

    /// The scaler of the features of a dropped model, as JSON: {"mean": […], "scale": […]}; it may also be among the
    /// files
    #[arg(long, value_name = "FILE")]
    scaler: Option<PathBuf>,

    /// The model whose predictions and trees are saved; that of the verdict where not given
    #[arg(long, value_name = "MODEL", value_parser = arguments::one_of(&Kind::ALL, Kind::name))]
    model: Option<Kind>,

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

impl Models {
    pub(super) fn run(self) -> Result<(), CliError> {
        let paths: Vec<PathBuf> = self.files.iter().chain(&self.scaler).cloned().collect();
        let opened = files::read(&paths, &Measured::default(), Reads::Of(Workbench::Overlap))?;
        let scalers = opened.parts.kernels.iter().filter(|(_, named)| matches!(named.part, KernelFile::Scaler(_)));
        if let Some(path) = &self.scaler
            && !scalers.clone().any(|(_, named)| named.name == files::name(path))
        {
            return refuse(format!("--scaler {}: it holds no scaler", files::name(path)));
        }
        self.predictions.iter().try_for_each(|path| save::check("predictions", path))?;
        self.xgboost.iter().try_for_each(|path| save::check("trees", path))?;
        let refused = refused(&paths, &opened);
        let parts = opened.parts.kernels.into_iter().map(|(_, part)| part).collect();
        if let Some(kind) = self.model.filter(|kind| self.xgboost.is_some() && !kind.is_boosted()) {
            return Err(TreesError::NoTrees(kind.title()).into());
        }
        if self.predictions.is_none() && self.xgboost.is_none() {
            arguments::say_unused(&["model"], "nothing of one model is saved (--predictions, --xgboost)");
        }
        let mut study = OverlapStudy::new(bring_together(parts));
        let settings = Settings { dataset: self.run - 1, columns: self.columns, seed: self.seed };
        let studied = study.study(settings)?;
        study.has_columns()?;
        if studied.runs.len() > 1 {
            let others = format!("there are {} runs; --run takes another than {}", studied.runs.len(), self.run);
            terminal::say("note", &others);
        }
        terminal::say_notes(&studied.notes);
        terminal::say_notes(&studied.checks);
        if studied.runs.get(studied.settings.dataset as usize).is_some_and(|run| run.kernels == 0) {
            return Err(StudyError::NothingLoaded.into());
        }
        let total = if studied.results.verdict.is_some() { studied.jobs.len() } else { 0 };
        let fold = |job| do_jobs(&studied.run, &[job], &mut Silent);
        let folds = threads::each("Predicting what was held out", total, fold)?;
        let results = study.judge(&folds, self.model.map(ShownPredictions::Model))?;
        if let Some(path) = &self.predictions {
            export(study.shown().and_then(|shown| study.predictions(shown)), path)?;
        }
        if self.json {
            terminal::write_json(&json(&studied, &results))?;
        } else {
            terminal::write(&for_people(&studied, &results))?;
        }
        // The verdict may name a model without trees: then all else has been said.
        if let Some(path) = &self.xgboost {
            let kind = match study.shown()? {
                ShownPredictions::Model(kind) => kind,
                ShownPredictions::Imported { .. } => Kind::TreesLad,
            };
            let trees = study.trees(kind, &mut Silent).map_err(|error| match error {
                StudyError::Trees(TreesError::NoTrees(_)) => told(format!(
                    "no trees are saved: the verdict is \"{}\", which has none; name the trees to save with --model \
                     trees-lad or --model trees-published",
                    kind.title()
                )),
                error => error.into(),
            });
            save::save("trees", path, trees?.text)?;
        }
        refused
    }
}

/// That a file which was named can't be used: the answer is one without it. What lies in a folder besides is not
/// missed.
fn refused(paths: &[PathBuf], opened: &OpenedFiles) -> Result<(), CliError> {
    let named: Vec<String> = paths.iter().map(|path| files::name(path)).collect();
    let is_refused = |file: &&FileReport| {
        named.contains(&file.name) && refusal(&file.name, &file.outcome, Reads::Of(Workbench::Overlap)).is_some()
    };
    let refused: Vec<&str> = opened.files.iter().filter(is_refused).map(|file| file.name.as_str()).collect();
    match refused[..] {
        [] => Ok(()),
        _ => refuse(format!("what was told is told without {}", refused.join(", "))),
    }
}

fn export(file: Result<TextFile, StudyError>, path: &Path) -> Result<(), CliError> {
    save::save("predictions", path, file?.text)
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

fn json(studied: &OverlapOverview, results: &Results) -> impl Serialize {
    let verdict = results.verdict.as_ref();
    object! {
        runs: &studied.runs,
        /// The run that was studied, from 1.
        run: studied.settings.dataset + 1,
        columns: studied.columns.iter().filter(|(_, given)| *given).map(|(name, _)| name).collect::<Vec<_>>(),
        merged: &studied.merged,
        models: results.models.iter().map(model).collect::<Vec<_>>(),
        /// The verdict in words.
        verdict: verdict.map(|verdict| verdict.sentences.join(" ")).unwrap_or_default(),
        recommended_model: verdict.map(|verdict| verdict.model),
        imported: &studied.imported,
        /// Models were compared; else there are too few kernels to hold some out.
        models_compared: verdict.is_some_and(|verdict| verdict.is_compared),
        repeatability: &studied.repeatability,
        checks: &studied.checks,
        notes: &studied.notes,
    }
}

/// Means over the repeats; what is not known is null.
fn model(scores: &ModelScores) -> impl Serialize {
    object! {
        name: scores.kind.name(),
        #[serde(flatten)]
        mean: scores.mean,
        /// Standard deviations over the repeats.
        spread: scores.spread,
        unseen_names: scores.unseen_names,
    }
}
