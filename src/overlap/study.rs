//! Holds what was dropped and learnt, and answers questions about it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    charts, checks, export,
    features::{MOST_COLUMNS, Settings, choosable, chosen, unknown},
    importance,
    imported::{Imported, Scaler},
    kernel::{Dataset, Kernel},
    listing,
    loaded::Loaded,
    models::{Columns, Kind, Model, Predicted},
    noise,
    predict::{self, PredictError},
    result::{FeatureScaling, ImportedScores, OverlapOverview, Results, Run, ShownPredictions},
    validate::{self, FoldPredictions, Job, OutOfFold},
    verdict,
};
use crate::{
    learn::LearnError,
    order::CompactCollect,
    progress::Progress,
    report::TextFile,
    text::{Listing, excerpt},
    units::count,
};

/// The reason why a question can't be answered. Messages are shown to users.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// Returned when no kernels are loaded.
    #[error(
        "there is no kernel to study, which takes merged features, or slowdown statistics and kernel metrics, or GPU \
         traces of Nsight Systems or rocprofv3"
    )]
    NothingLoaded,
    /// There is no run with this number.
    #[error("there is no run {number}; there {} {count}", if *count == 1 { "is" } else { "are" })]
    NoRun {
        /// The number of the run, from 1.
        number: u32,
        /// The number of runs that are loaded.
        count: usize,
    },
    /// Columns to learn from that the run does not have.
    #[error("there is no column {names} to learn from; {run} has {held}")]
    NoColumn {
        /// The names of the columns, separated by commas, and shortened if they are many.
        names: String,
        /// The run, named after its files.
        run: String,
        /// The names of the columns of the run.
        held: String,
    },
    /// Returned when no trees can be saved.
    #[error(transparent)]
    Trees(#[from] export::TreesError),
    /// Returned when a model can't be trained.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The kernel that was entered can't be predicted.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// A dropped model can't be applied.
    #[error(transparent)]
    Imported(#[from] super::imported::ImportedError),
    /// A message comes from another build.
    #[error("the parts of this page are of different builds; reload it")]
    Message(#[from] postcard::Error),
}

/// The state of the overlap workbench.
#[derive(Default)]
pub struct OverlapStudy {
    loaded: Loaded,
    settings: Settings,
    /// The predictions of all folds so far.
    folds: Vec<FoldPredictions>,
    /// Whose predictions are shown; `None` for those of the verdict.
    shown: Option<ShownPredictions>,
    /// The importances of the features, once they were computed.
    importances: Option<Listing>,
    /// The last model that was fitted to the whole run.
    fitted: Option<(Kind, Model)>,
}

/// The data that a worker needs to carry out a job.
#[derive(Serialize, Deserialize)]
struct JobInput {
    dataset: Dataset,
    settings: Settings,
}

impl OverlapStudy {
    /// A study of loaded files with the default settings.
    pub fn new(loaded: Loaded) -> Self {
        Self { loaded, ..Self::default() }
    }

    /// Whether there are no files of this workbench.
    pub fn is_empty(&self) -> bool {
        self.loaded.datasets.is_empty() && self.loaded.models.is_empty() && self.loaded.notes.is_empty()
    }

    /// The files that the study is about.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// The run that is studied.
    ///
    /// # Errors
    /// Returns an error if there is no run.
    pub fn dataset(&self) -> Result<&Dataset, StudyError> {
        let number = self.settings.dataset;
        let count = self.loaded.datasets.len();
        let dataset = self.loaded.datasets.get(number as usize);
        dataset.ok_or(if count == 0 {
            StudyError::NothingLoaded
        } else {
            StudyError::NoRun { number: number.saturating_add(1), count }
        })
    }

    /// Chooses a run, and judges it by the models that learn nothing.
    ///
    /// # Errors
    /// Returns an error if there is no such run.
    pub fn study(&mut self, settings: Settings) -> Result<OverlapOverview, StudyError> {
        self.settings = settings;
        (self.folds, self.fitted, self.shown, self.importances) = (Vec::new(), None, None, None);
        let dataset = self.dataset()?;
        let run = postcard::to_allocvec(&JobInput { dataset: dataset.clone(), settings: self.settings.clone() })?;
        let folds = validate::trivial_folds(dataset, &self.settings)?;
        let names: BTreeSet<&str> = dataset.overlapped().map(|kernel| kernel.name.as_str()).compact_collect();
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let repeatability = self.repeatability();
        let (imported, mut notes) = self.imported()?;
        notes.extend(repeatability.iter().map(noise::Repeatability::sentence));
        self.folds = folds;
        Ok(OverlapOverview {
            runs: self.loaded.datasets.iter().map(run_of).collect(),
            settings: self.settings.clone(),
            columns: self.columns()?,
            names,
            merged: self.loaded.merged.clone(),
            checks: self.checks()?,
            notes,
            repeatability,
            models: self.loaded.models.iter().map(|model| (model.name.clone(), self.scaler(model).is_some())).collect(),
            imported_listing: listing::imported(&imported),
            imported,
            run,
            jobs: validate::jobs().into_iter().map(|(_, cost)| cost).collect(),
            rounds: validate::rounds(),
            results: self.results()?,
        })
    }

    /// The error for chosen columns that the run does not have.
    fn unknown_columns(&self, dataset: &Dataset) -> Option<StudyError> {
        let unknown = unknown(dataset, &self.settings);
        (!unknown.is_empty()).then(|| StudyError::NoColumn {
            names: excerpt(&unknown.join(", ")),
            run: dataset.name.clone(),
            held: if dataset.columns.is_empty() { "none".to_owned() } else { excerpt(&dataset.columns.join(", ")) },
        })
    }

    /// Whether all columns that were chosen are there.
    ///
    /// # Errors
    /// Returns an error if there is no run, or it lacks one.
    pub fn has_columns(&self) -> Result<(), StudyError> {
        self.unknown_columns(self.dataset()?).map_or(Ok(()), Err)
    }

    /// The settings that were chosen last.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The run's columns, and whether models are given them.
    ///
    /// # Errors
    /// Returns an error if there is no run.
    pub fn columns(&self) -> Result<Vec<(String, bool)>, StudyError> {
        let dataset = self.dataset()?;
        let chosen = chosen(dataset, &self.settings);
        Ok(dataset.columns.iter().enumerate().map(|(at, name)| (name.clone(), chosen.contains(&at))).collect())
    }

    /// The findings of the checks of the run, in words.
    ///
    /// # Errors
    /// Returns an error if there is no run.
    pub fn checks(&self) -> Result<Vec<String>, StudyError> {
        Ok(checks::check(self.dataset()?).iter().map(checks::Check::sentence).collect())
    }

    /// The dropped models that fit the run; and what must be known of all files, those that don't fit included.
    ///
    /// # Errors
    /// Returns an error if there is no run.
    pub fn imported(&self) -> Result<(Vec<ImportedScores>, Vec<String>), StudyError> {
        let dataset = self.dataset()?;
        let mut notes = self.loaded.notes.clone();
        notes.extend(self.loaded.merged.iter().map(|(name, merged)| format!("{name}: {}", merged.sentence())));
        let mut imported = Vec::new();
        for model in &self.loaded.models {
            match model.judge(dataset, self.scaler(model).as_ref()) {
                Ok(judged) => {
                    notes.push(judged.sentence());
                    imported.push(judged);
                }
                Err(error) => notes.push(error.to_string()),
            }
        }
        notes.extend(self.unused_scalers());
        notes.extend(self.unknown_columns(dataset).map(|error| format!("{error}; the rest was taken")));
        let columns = choosable(dataset, &self.settings).len();
        if columns > MOST_COLUMNS {
            notes.push(format!(
                "Models are given the first {MOST_COLUMNS} of {columns} metrics: choose those that matter"
            ));
        }
        Ok((imported, notes))
    }

    /// The pairs of runs of the same program.
    pub fn repeatability(&self) -> Vec<noise::Repeatability> {
        noise::repeatability(&self.loaded.datasets)
    }

    /// The scaler that was dropped for a model: the first that has its features.
    pub fn scaler(&self, model: &Imported) -> Option<Scaler> {
        Some(self.numbered_scaler(model)?.1)
    }

    /// The place of that scaler among those that were dropped, and the scaler with the features in the model's order.
    fn numbered_scaler(&self, model: &Imported) -> Option<(usize, Scaler)> {
        let features = model.features().ok()?;
        let mut scalers = self.loaded.scalers.iter().enumerate();
        scalers.find_map(|(place, scaler)| Some((place, scaler.of_features(&features)?)))
    }

    /// Notes on scalers that belong to no model.
    fn unused_scalers(&self) -> impl Iterator<Item = String> + '_ {
        let place = |model: &Imported| self.numbered_scaler(model).map(|(place, _)| place);
        let used: Vec<usize> = self.loaded.models.iter().filter_map(place).collect();
        let unused = self.loaded.scalers.iter().enumerate().filter(move |(place, _)| !used.contains(place));
        unused.map(|(_, scaler)| {
            let width = scaler.mean.len();
            format!("{} scales {}: no model beside it is scaled by it", scaler.name, count(width as u64, "feature"))
        })
    }

    /// The importances of the features, if they were computed.
    pub fn importances(&self) -> Option<&Listing> {
        self.importances.as_ref()
    }

    /// Stores the importances that [`compute_importances`] computed.
    pub fn set_importances(&mut self, importances: Listing) {
        self.importances = Some(importances);
    }

    /// Predictions as CSV: of a model out of fold, or of one that was dropped.
    ///
    /// # Errors
    /// Returns an error if there is no run, or the dropped model does not fit it.
    pub fn predictions(&self, of: ShownPredictions) -> Result<TextFile, StudyError> {
        let dataset = self.dataset()?;
        Ok(match of {
            ShownPredictions::Model(kind) => {
                let estimates = validate::out_of_fold(dataset, kind, &self.folds);
                export::predictions(dataset, kind.name(), first(&estimates))
            }
            ShownPredictions::Imported { model, feed } => {
                export::predictions(dataset, "imported", &self.imported_predictions(model, feed)?.1)
            }
        })
    }

    /// Whose predictions are shown: those of the verdict where nothing else is chosen, and those of the default trees
    /// where there is none.
    ///
    /// # Errors
    /// Returns an error if there is no run.
    pub fn shown(&self) -> Result<ShownPredictions, StudyError> {
        if let Some(shown) = self.shown {
            return Ok(shown);
        }
        let dataset = self.dataset()?;
        let scores = |kind| validate::scores(dataset, kind, &validate::out_of_fold(dataset, kind, &self.folds));
        let verdict = verdict::verdict(&Kind::ALL.map(scores));
        Ok(ShownPredictions::Model(verdict.map_or(Kind::TreesLad, |verdict| verdict.model)))
    }

    /// Trees, fitted to the whole run, as a model of XGBoost.
    ///
    /// # Errors
    /// Returns an error if there is no run, the model is no boosted trees, or there is too little to learn from.
    pub fn trees(&self, kind: Kind, progress: &mut dyn Progress) -> Result<TextFile, StudyError> {
        Ok(export::trees(self.dataset()?, &self.settings, kind, progress)?)
    }

    /// Takes further folds in and judges by all that are there.
    ///
    /// # Errors
    /// Returns an error if the folds come from another build.
    pub fn judge(&mut self, folds: &[Vec<u8>], shown: Option<ShownPredictions>) -> Result<Results, StudyError> {
        folds.iter().try_for_each(|folds| self.take(folds))?;
        self.show(shown);
        self.results()
    }

    /// Takes further folds in.
    ///
    /// # Errors
    /// Returns an error if the data comes from another build.
    pub fn take(&mut self, folds: &[u8]) -> Result<(), StudyError> {
        for folds in postcard::from_bytes::<Vec<FoldPredictions>>(folds)? {
            self.folds.retain(|known| known.job != folds.job);
            self.folds.push(folds);
        }
        Ok(())
    }

    /// Chooses the predictions that are shown; `None` for those of the verdict's model.
    pub fn show(&mut self, shown: Option<ShownPredictions>) {
        self.shown = shown;
    }

    /// The comparison of the models so far.
    ///
    /// # Errors
    /// Returns an error if there is no run, or if the dropped model that is to be shown can't be applied to it.
    pub fn results(&self) -> Result<Results, StudyError> {
        let dataset = self.dataset()?;
        let estimates: Vec<(Kind, OutOfFold)> =
            Kind::ALL.map(|kind| (kind, validate::out_of_fold(dataset, kind, &self.folds))).into();
        let models: Vec<_> =
            estimates.iter().map(|(kind, estimates)| validate::scores(dataset, *kind, estimates)).collect();
        let verdict = verdict::verdict(&models);
        let shown = self.shown.or(verdict.as_ref().map(|verdict| ShownPredictions::Model(verdict.model)));
        let of = |kind: Kind| {
            estimates.iter().find(|(other, _)| *other == kind).map_or(&[][..], |(_, estimates)| first(estimates))
        };
        let foreign;
        let (id, title, predicted) = match shown {
            Some(ShownPredictions::Imported { model, feed }) => {
                let (title, estimates) = self.imported_predictions(model, feed)?;
                foreign = estimates;
                let id = match feed {
                    FeatureScaling::Raw => "imported",
                    FeatureScaling::Standardised => "imported-standardised",
                    FeatureScaling::Scaled => "imported-scaled",
                };
                (id, title, &foreign[..])
            }
            Some(ShownPredictions::Model(kind)) => (kind.name(), kind.title().to_owned(), of(kind)),
            None => ("nothing", String::new(), &[][..]),
        };
        let none = (Kind::NoSlowdown.title(), of(Kind::NoSlowdown));
        let mut compared = vec![(title.as_str(), predicted)];
        compared.extend((title != none.0).then_some(none));
        Ok(Results {
            listing: listing::models(&models),
            names: listing::names(dataset, predicted),
            predicted_over_measured: shown.map(|_| charts::predicted_over_measured(dataset, id, &title, predicted)),
            errors: shown.map(|_| charts::errors(dataset, &compared)),
            models,
            verdict,
            shown,
        })
    }

    /// The predictions of a dropped model for the kernels that overlap, and its name.
    fn imported_predictions(
        &self,
        model: u32,
        feed: FeatureScaling,
    ) -> Result<(String, Vec<Option<Predicted>>), StudyError> {
        let dataset = self.dataset()?;
        let Some(imported) = self.loaded.models.get(model as usize) else { return Ok((String::new(), Vec::new())) };
        let overlapped: Vec<&Kernel> = dataset.overlapped().collect();
        let scaler = self.scaler(imported);
        let feed = if feed == FeatureScaling::Scaled && scaler.is_none() { FeatureScaling::Raw } else { feed };
        let estimates = imported.predict(dataset, &overlapped, feed, scaler.as_ref())?.into_iter().map(Some).collect();
        Ok((format!("{}, features {}", imported.name, feed.words()), estimates))
    }

    /// Predicts one kernel.
    ///
    /// # Errors
    /// Returns an error if a number is out of its range, or there are too few kernels to learn from.
    pub fn predict(
        &mut self,
        question: &predict::KernelQuery,
        progress: &mut dyn Progress,
    ) -> Result<predict::KernelPrediction, StudyError> {
        let dataset = self.dataset()?;
        let estimates = |kind| validate::out_of_fold(dataset, kind, &self.folds);
        let kind = question.model.or_else(|| {
            let scores: Vec<_> = Kind::ALL.map(|kind| validate::scores(dataset, kind, &estimates(kind))).into();
            verdict::verdict(&scores).map(|verdict| verdict.model)
        });
        let kind = kind.unwrap_or(Kind::TreesLad);
        let chosen = chosen(dataset, &self.settings);
        let estimates = estimates(kind);
        if self.fitted.as_ref().is_none_or(|(fitted, _)| *fitted != kind) {
            let kernels: Vec<&Kernel> = dataset.kernels.iter().collect();
            let columns = Columns { names: &dataset.columns, chosen: &chosen };
            let model = Model::fit(kind, columns, &kernels, self.settings.seed, progress)?;
            self.fitted = Some((kind, model));
        }
        let dataset = self.dataset()?;
        match &self.fitted {
            Some((kind, model)) => Ok(predict::predict(dataset, &chosen, (*kind, model), Some(&estimates), question)?),
            None => Err(StudyError::NothingLoaded),
        }
    }
}

/// The predictions of the first repeat, which is the one that is shown.
fn first(estimates: &OutOfFold) -> &[Option<Predicted>] {
    estimates.repeats.first().map(Vec::as_slice).unwrap_or_default()
}

fn run_of(dataset: &Dataset) -> Run {
    let names: BTreeSet<&str> = dataset.overlapped().map(|kernel| kernel.name.as_str()).compact_collect();
    Run {
        name: dataset.name.clone(),
        kernels: dataset.kernels.len() as u64,
        overlapped: dataset.overlapped().count() as u64,
        names: names.len() as u64,
    }
}

/// The importances of the features, computed from [`OverlapOverview::run`] alone, on any worker or thread.
///
/// # Errors
/// Returns an error if the run comes from another build, or can't be learnt from.
pub fn compute_importances(run: &[u8], progress: &mut dyn Progress) -> Result<Listing, StudyError> {
    let JobInput { dataset, settings } = postcard::from_bytes(run)?;
    match importance::importances(&dataset, &settings, progress) {
        // Nothing can be said of features that nothing can be learnt from.
        Err(LearnError::TooFewRows { .. }) => Ok(listing::importances(&[])),
        importances => Ok(listing::importances(&importances?)),
    }
}

/// Does some of [`OverlapOverview::jobs`] from [`OverlapOverview::run`] alone: on any worker or thread.
///
/// # Errors
/// Returns an error if the run comes from another build, or can't be learnt from.
pub fn do_jobs(run: &[u8], jobs: &[u32], progress: &mut dyn Progress) -> Result<Vec<u8>, StudyError> {
    let JobInput { dataset, settings } = postcard::from_bytes(run)?;
    let all: Vec<(Job, f64)> = validate::jobs();
    let mut done = Vec::new();
    for (count, job) in jobs.iter().enumerate() {
        if let Some((job, _)) = all.get(*job as usize) {
            progress.report(job.kind.title(), count as u64, jobs.len() as u64);
            done.push(validate::predict_fold(&dataset, &settings, *job, &mut crate::progress::Silent)?);
        }
    }
    Ok(postcard::to_allocvec(&done)?)
}
