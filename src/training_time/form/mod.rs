//! The training-time workbench: which cluster and run, what if, which layouts, which measured steps.

mod answers;
mod estimate;
mod layouts;
mod run;
mod settings;
mod what_if;

pub use estimate::names_model;
pub use what_if::{has_curve, receive};

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::{
    command::Commands,
    form::{Choices, Field, Form},
    math::hash,
    progress::Progress,
    report::{Contents, Report, TextFile},
    training_time::{
        bundle::FileQuestion,
        calibrate::Calibration,
        command,
        loaded::DroppedFiles,
        report::estimate::{self as estimated, EstimatedModel},
        search::listing,
        study::{self, JobRunner, Outcome, Searched, Settings, StudyError},
    },
    workbench::{Jobs, ReportContext, Study, WorkbenchError},
};

/// The state of the training time workbench.
#[derive(Default)]
pub struct TrainingTime {
    study: study::TrainingTimeStudy,
    choices: Choices,
    is_anew: bool,
    /// Tells apart what workers did for these samples from what they did for others.
    basis: Vec<u8>,
    outcome: Option<Result<Outcome, String>>,
    calibration: Option<Calibration>,
    searched: Option<Searched>,
    /// The step of a model that is estimated where there are no samples.
    estimated: Option<EstimatedModel>,
    /// The catalogue as it was typed, and why it can't be read.
    typed: String,
    catalogue_error: Option<String>,
    /// Questions about files, also those that were answered: an answer can be taken back.
    asked: Vec<FileQuestion>,
}

#[derive(Serialize, Deserialize)]
struct Done {
    of: u64,
    jobs: Vec<(u32, Vec<u8>)>,
}

/// Does some jobs from the samples alone.
///
/// # Errors
/// Returns an error if the data comes from another build.
pub fn work(
    kept: &mut Option<CachedStudy>,
    basis: &[u8],
    jobs: &[u32],
    progress: &mut dyn Progress,
) -> Result<Vec<u8>, WorkbenchError> {
    let kept = match kept {
        Some(kept) if kept.basis == basis => kept,
        _ => kept.insert(CachedStudy { workshop: JobRunner::new(basis)?, of: hash(basis), basis: basis.to_vec() }),
    };
    let jobs = kept.workshop.work(jobs, progress);
    Ok(postcard::to_allocvec(&Done { of: kept.of, jobs })?)
}

/// The study that a worker caches between jobs on the same samples, which would otherwise be decoded for each job.
pub struct CachedStudy {
    basis: Vec<u8>,
    of: u64,
    workshop: JobRunner,
}

impl TrainingTime {
    /// The state after files were loaded.
    pub fn new(dropped: DroppedFiles) -> Self {
        Self { study: study::TrainingTimeStudy::new(dropped), ..Self::default() }
    }

    /// The dropped files, to be answered; what was learnt from them is forgotten.
    pub fn dropped(&mut self) -> &mut DroppedFiles {
        self.study.dropped_mut()
    }

    /// The study behind the form, with the settings that the form chose last.
    pub const fn study(&self) -> &study::TrainingTimeStudy {
        &self.study
    }

    fn is_partial(&self) -> bool {
        self.searched.as_ref().is_some_and(|searched| searched.found.is_partial)
    }
}

impl From<StudyError> for WorkbenchError {
    fn from(error: StudyError) -> Self {
        Self::Study(Box::new(error))
    }
}

impl Study for TrainingTime {
    fn choose(&mut self, choices: Choices, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        self.choices = choices;
        self.read_catalogue();
        self.answer_files();
        self.estimated = None;
        if self.only_estimates() {
            let choices = self.choices.clone();
            let mut form = Form::new(&choices);
            self.estimate(&mut form, progress);
            return Ok(form.checked(())?);
        }
        let mut form = Form::new(&self.choices);
        let settings = self.settings(&mut form);
        let settings = form.checked(settings)?;
        let steps = |settings: &Settings| (settings.calibrate.map(|(table, _)| table), settings.measured_on.clone());
        let before = steps(self.study.settings());
        self.is_anew = self.study.choose(settings)?;
        if self.is_anew || before != steps(self.study.settings()) {
            self.basis = self.study.basis()?;
            self.is_anew = true;
        }
        self.conclude(progress)
    }

    fn take(&mut self, done: &[u8], _: &mut dyn Progress) -> Result<(), WorkbenchError> {
        let done: Done = postcard::from_bytes(done)?;
        if done.of != hash(&self.basis) {
            return Ok(());
        }
        Ok(self.study.take(&done.jobs)?)
    }

    fn conclude(&mut self, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        (self.outcome, self.searched) = (None, None);
        if self.only_estimates() {
            return Ok(());
        }
        self.calibration = self.study.calibration()?;
        let calibration = self.calibration.as_ref();
        if self.study.settings().run.is_some() && self.study.is_ready() {
            self.outcome = Some(self.study.outcome(calibration).map_err(|error| error.to_string()));
        }
        if self.study.can_search() {
            self.searched = match self.study.searched(calibration, progress, &mut |_| ControlFlow::Break(())) {
                // What the run needs says it.
                Err(StudyError::OtherGpu(_)) => None,
                searched => searched?,
            };
        }
        Ok(())
    }

    fn go_on(&mut self, _last_ms: u32, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        if self.is_partial() {
            let calibration = self.calibration.as_ref();
            self.searched = self.study.searched(calibration, progress, &mut |_| ControlFlow::Continue(()))?;
        }
        Ok(())
    }

    fn choices(&self) -> &Choices {
        &self.choices
    }

    fn commands(&self, _: &[String], changed: &Choices, _: &[Field]) -> Option<Commands> {
        let (name, ..) = self.estimated.as_ref()?;
        Some(command::estimate(self.study.bundle(), changed, name))
    }

    fn form(&self) -> Result<Vec<Field>, WorkbenchError> {
        let mut form = Form::new(&self.choices);
        if self.only_estimates() {
            self.estimate_fields(&mut form);
        } else {
            self.settings(&mut form);
        }
        Self::catalogue(&mut form);
        self.file_fields(&mut form);
        Ok(form.into_fields())
    }

    fn files(&self) -> Vec<(String, String)> {
        let mut files = vec![("catalogue".to_owned(), "Save the catalogue".to_owned())];
        let found = self.study.found_settings().unwrap_or_default();
        let label = |name: &String| format!("Save the settings found, {name}");
        files.extend(found.iter().map(|(name, _)| (name.clone(), label(name))));
        if self.searched.is_some() && !self.is_partial() {
            files.push(("layouts".to_owned(), "Save the layouts".to_owned()));
        }
        files
    }

    fn file(&self, key: &str, _: &mut dyn Progress) -> Result<TextFile, WorkbenchError> {
        let file = |name: &str, text: String, note: &str| TextFile { name: name.into(), text, note: note.into() };
        match (key, &self.searched) {
            ("catalogue", _) => Ok(file(
                "catalogue.yaml",
                self.study.bundle().catalogue.to_yaml(),
                "GPUs, clusters, operators, collectives and architectures; give it to add to them",
            )),
            ("layouts", Some(searched)) => {
                let text = listing::layouts(&searched.found.rows, searched.found.basis).to_json();
                Ok(file("layouts.json", text, "Layouts by step time"))
            }
            _ => {
                let found = self.study.found_settings()?.into_iter().find(|(name, _)| name == key);
                let (name, text) = found.ok_or_else(|| WorkbenchError::NoFile(key.to_owned()))?;
                Ok(file(&name, text, "Settings of regressors; give them with the samples"))
            }
        }
    }

    fn jobs(&self) -> Result<Jobs, WorkbenchError> {
        if self.only_estimates() {
            return Ok(Jobs::default());
        }
        let rounds = self.study.rounds()?;
        let basis = if rounds.is_empty() { Vec::new() } else { self.basis.clone() };
        Ok(Jobs { basis, rounds, is_anew: self.is_anew, goes_on: self.is_partial(), ..Jobs::default() })
    }

    fn report(&self, material: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError> {
        let ReportContext { files, problems } = material;
        let material = crate::training_time::report::TrainingTimeReportInput {
            study: &self.study,
            outcome: self.outcome.as_ref().map(|outcome| outcome.as_ref().map_err(Clone::clone)),
            calibration: self.calibration.as_ref(),
            searched: self.searched.as_ref(),
            catalogue_error: self.catalogue_error.as_deref(),
            shown: (self.shown(), self.choices.get("over").map(str::to_owned)),
            files,
            problems,
        };
        match &self.estimated {
            Some(model) => Ok(estimated::report(material, model, contents)),
            None => Ok(crate::training_time::report::report(material, contents)?),
        }
    }
}
