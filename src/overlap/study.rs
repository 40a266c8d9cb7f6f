//! Holds what was dropped and learnt, and answers questions about it.

use serde::{Deserialize, Serialize};

use super::{
    charts, checks, export,
    features::{Settings, chosen},
    files::Loaded,
    importance,
    kernel::{Dataset, Kernel},
    listing,
    models::{Columns, Kind, Model},
    noise,
    predict::{self, PredictError},
    request::{Answer, Question, Results, Run, Studied},
    validate::{self, FoldPredictions, Job, OutOfFold},
    verdict,
};
use crate::{learn::LearnError, progress::Progress, sorted::SortedSet};

/// Why a question can't be answered, for people.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// Nothing was dropped that could be studied.
    #[error(
        "there is no kernel to study: drop merged features, or slowdown statistics and kernel metrics, or the traces of \
         Nsight Systems"
    )]
    NothingLoaded,
    /// A run that is not there.
    #[error("there is no run {number}; there {} {count}", if *count == 1 { "is" } else { "are" })]
    NoRun {
        /// Its number, from 1.
        number: u32,
        /// How many there are.
        count: usize,
    },
    /// What learning says.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// What a typed kernel lacks.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// A message that another build wrote.
    #[error("the parts of this page are of different builds; reload it")]
    Message(#[from] postcard::Error),
}

/// The workbench's state.
#[derive(Default)]
pub struct Study {
    loaded: Loaded,
    settings: Settings,
    /// Of all models, as far as they are there.
    folds: Vec<FoldPredictions>,
    /// The last model that was fitted to the whole run.
    fitted: Option<(Kind, Model)>,
}

/// What a worker needs to do a job.
#[derive(Serialize, Deserialize)]
struct Package {
    dataset: Dataset,
    settings: Settings,
}

impl Study {
    /// Studies what files hold.
    #[must_use]
    pub fn new(loaded: Loaded) -> Self {
        Self { loaded, ..Self::default() }
    }

    /// Nothing of this trade was dropped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.loaded.datasets.is_empty() && self.loaded.models.is_empty() && self.loaded.notes.is_empty()
    }

    /// What was dropped.
    #[must_use]
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// The run that is studied.
    ///
    /// # Errors
    /// There is none.
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

    /// Answers a question.
    ///
    /// # Errors
    /// What stands in the way, in words for people.
    pub fn answer(&mut self, question: Question, progress: &mut dyn Progress) -> Result<Answer, StudyError> {
        Ok(match question {
            Question::Study(settings) => Answer::Studied(Box::new(self.study(settings)?)),
            Question::Folds { run, jobs } => Answer::Folds(do_jobs(&run, &jobs, progress)?),
            Question::Judge { folds, shown } => Answer::Judged(Box::new(self.judge(&folds, shown)?)),
            Question::Predict(question) => {
                let answer = self.predict(&question, progress)?;
                let nearest = listing::kernels(self.dataset()?, &answer.nearest);
                Answer::Predicted(Box::new(answer), nearest)
            }
            Question::Importances => {
                let all = importance::importances(self.dataset()?, &self.settings, progress)?;
                Answer::Importances(listing::importances(&all))
            }
            Question::Predictions(kind) => {
                let dataset = self.dataset()?;
                let said = validate::out_of_fold(dataset, kind, &self.folds);
                Answer::File(export::predictions(dataset, kind, first(&said)))
            }
            Question::Trees(kind) => Answer::File(export::trees(self.dataset()?, &self.settings, kind, progress)?),
        })
    }

    /// Chooses a run, and judges it by the models that learn nothing.
    ///
    /// # Errors
    /// There is no such run.
    pub fn study(&mut self, settings: Settings) -> Result<Studied, StudyError> {
        self.settings = settings;
        (self.folds, self.fitted) = (Vec::new(), None);
        let dataset = self.dataset()?;
        let run = postcard::to_allocvec(&Package { dataset: dataset.clone(), settings: self.settings.clone() })?;
        let folds = validate::trivial_folds(dataset, &self.settings)?;
        let chosen = chosen(dataset, &self.settings);
        let columns =
            dataset.columns.iter().enumerate().map(|(at, name)| (name.clone(), chosen.contains(&at))).collect();
        let checks = checks::check(dataset).iter().map(checks::Check::sentence).collect();
        let mut notes = self.loaded.notes.clone();
        notes.extend(self.loaded.merged.iter().map(|(name, merged)| format!("{name}: {}", merged.sentence())));
        let mut imported = Vec::new();
        for model in &self.loaded.models {
            match model.judge(dataset) {
                Ok(judged) => imported.push(judged),
                Err(error) => notes.push(error.to_string()),
            }
        }
        let ceilings = noise::ceilings(&self.loaded.datasets);
        notes.extend(ceilings.iter().map(noise::Ceiling::sentence));
        self.folds = folds;
        Ok(Studied {
            runs: self.loaded.datasets.iter().map(run_of).collect(),
            settings: self.settings.clone(),
            columns,
            merged: self.loaded.merged.clone(),
            checks,
            notes,
            ceilings,
            imported_listing: listing::imported(&imported),
            imported,
            run,
            jobs: validate::jobs().into_iter().map(|(_, cost)| cost).collect(),
            results: self.results(None)?,
        })
    }

    /// Takes further folds in and judges by all that are there.
    ///
    /// # Errors
    /// The folds come from another build.
    pub fn judge(&mut self, folds: &[Vec<u8>], shown: Option<Kind>) -> Result<Results, StudyError> {
        for bytes in folds {
            for folds in postcard::from_bytes::<Vec<FoldPredictions>>(bytes)? {
                self.folds.retain(|known| known.job != folds.job);
                self.folds.push(folds);
            }
        }
        self.results(shown)
    }

    fn results(&self, shown: Option<Kind>) -> Result<Results, StudyError> {
        let dataset = self.dataset()?;
        let said: Vec<(Kind, OutOfFold)> =
            Kind::ALL.map(|kind| (kind, validate::out_of_fold(dataset, kind, &self.folds))).into();
        let models: Vec<_> = said.iter().map(|(kind, said)| validate::scores(dataset, *kind, said)).collect();
        let verdict = verdict::verdict(&models);
        let shown = shown.or(verdict.as_ref().map(|verdict| verdict.model));
        let of = |kind: Kind| said.iter().find(|(other, _)| *other == kind).map_or(&[][..], |(_, said)| first(said));
        let kinds: SortedSet<Kind> = shown.into_iter().chain([Kind::NoSlowdown]).collect();
        let compared: Vec<_> = kinds.iter().rev().map(|kind| (*kind, of(*kind))).collect();
        Ok(Results {
            listing: listing::models(&models),
            names: listing::names(dataset, shown.map(of).unwrap_or_default()),
            predicted_over_measured: shown.map(|kind| charts::predicted_over_measured(dataset, kind, of(kind))),
            errors: shown.map(|_| charts::errors(dataset, &compared)),
            models,
            verdict,
            shown,
        })
    }

    /// Predicts one kernel.
    ///
    /// # Errors
    /// A number is out of its range, or there are too few kernels to learn from.
    pub fn predict(
        &mut self,
        question: &predict::Question,
        progress: &mut dyn Progress,
    ) -> Result<predict::Answer, StudyError> {
        let dataset = self.dataset()?;
        let said = |kind| validate::out_of_fold(dataset, kind, &self.folds);
        let kind = question.model.or_else(|| {
            let scores: Vec<_> = Kind::ALL.map(|kind| validate::scores(dataset, kind, &said(kind))).into();
            verdict::verdict(&scores).map(|verdict| verdict.model)
        });
        let kind = kind.unwrap_or(Kind::TreesLad);
        let chosen = chosen(dataset, &self.settings);
        let said = said(kind);
        if self.fitted.as_ref().is_none_or(|(fitted, _)| *fitted != kind) {
            let kernels: Vec<&Kernel> = dataset.kernels.iter().collect();
            let columns = Columns { names: &dataset.columns, chosen: &chosen };
            let model = Model::fit(kind, columns, &kernels, self.settings.seed, progress)?;
            self.fitted = Some((kind, model));
        }
        let dataset = self.dataset()?;
        match &self.fitted {
            Some((kind, model)) => Ok(predict::predict(dataset, &chosen, (*kind, model), Some(&said), question)?),
            None => Err(StudyError::NothingLoaded),
        }
    }
}

/// What is shown of several repeats: the first.
fn first(said: &OutOfFold) -> &[Option<super::models::Predicted>] {
    said.repeats.first().map(Vec::as_slice).unwrap_or_default()
}

fn run_of(dataset: &Dataset) -> Run {
    let names: SortedSet<&str> = dataset.overlapped().map(|kernel| kernel.name.as_str()).collect();
    Run {
        name: dataset.name.clone(),
        kernels: dataset.kernels.len() as u64,
        overlapped: dataset.overlapped().count() as u64,
        names: names.len() as u64,
    }
}

/// Does some of [`Studied::jobs`] from [`Studied::run`] alone: on any worker or thread.
///
/// # Errors
/// The run comes from another build, or can't be learnt from.
pub fn do_jobs(run: &[u8], jobs: &[u32], progress: &mut dyn Progress) -> Result<Vec<u8>, StudyError> {
    let Package { dataset, settings } = postcard::from_bytes(run)?;
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
