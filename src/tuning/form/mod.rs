//! The panels of the tuning workbench: sections with tables, charts and files, and the fields that they follow.

mod compare;
mod noise;
mod sections;

use super::{
    heat_map::Against,
    hotspots::{self, HotspotAnswer, HotspotRule},
    loaded::{LoadedTuning, predict_folds},
    parameters::{Parameters, SearchLimits},
    result::{AnswerBasis, Importance, Recommendation, Recommended, Trained, View},
    settings::{self, Settings},
    study::{MAX_TRAINED_GROUPS, TuningStudyError},
    wording,
};
use crate::{
    collective::Workload,
    form::{Choices, Field, Form},
    progress::Progress,
    report::{Contents, Report, Section, TextFile, Workbench},
    workbench::{Attachment, AttachmentKind, Jobs, ReportContext, Study, WorkbenchError},
};

/// The key of the file that holds the model.
const MODEL: &str = "model";

/// The state of the tuning workbench.
#[derive(Default)]
pub struct Tuning {
    /// What was loaded, and what was learnt from it.
    pub loaded: LoadedTuning,
    choices: Choices,
    settings: Settings,
    /// The parameters that the last choices asked for, and whether they differ from those before.
    asked: Option<Parameters>,
    is_anew: bool,
    /// The parameters with which the last training failed.
    failed: Option<Parameters>,
    /// What training gave for validation.
    trained: Option<Trained>,
    /// The predictions of held-out folds that were taken in and not evaluated.
    folds: Vec<Vec<u8>>,
    /// The notes of training and of validation.
    notes: [Vec<String>; 2],
    /// The workloads that a job sends and nobody measured, with their number of calls, as coverage found them last.
    uncovered: Vec<(Workload, u64)>,
    /// The titles of the library's cost tables, as coverage found them last.
    cost_tables: Vec<String>,
    /// The hotspots by the rule that was asked for last, and what was learnt then.
    hotspots: Option<(HotspotRule, Learnt, HotspotAnswer)>,
    importances: Option<(Learnt, Vec<Importance>)>,
    /// The answers for sizes that were asked for.
    own: Option<(OwnQuestion, Vec<Recommendation>)>,
    compared: compare::Compared,
    /// The charts of the workload that is shown.
    view: Option<(ViewKey, View)>,
    sections: Vec<Section>,
    /// What the recommendations and the charts that were given last are of.
    given: (Learnt, Option<ViewKey>),
}

/// The parameters of the training, and whether it was validated.
type Learnt = (Option<Parameters>, bool);

/// What charts depend on.
type ViewKey = (Workload, Against, Learnt);

/// What the answers for sizes of one's own depend on: the collective and scale, the sizes and the limits of the search.
type OwnQuestion = (Learnt, Vec<Workload>, SearchLimits);

impl Tuning {
    /// The state after files were loaded. The page has the measured winners already.
    pub fn new(loaded: LoadedTuning) -> Self {
        Self { loaded, ..Self::default() }
    }

    fn learnt(&self) -> Learnt {
        let study = &self.loaded.study;
        (study.parameters().cloned(), study.evaluation().is_some())
    }

    /// Whether there is something to learn from that has not failed before.
    fn can_learn(&self) -> bool {
        let groups = self.loaded.study.groups();
        let is_measured = groups.iter().any(|group| group.points > 0);
        is_measured && groups.len() <= MAX_TRAINED_GROUPS && self.failed.as_ref() != Some(&self.settings.parameters)
    }

    fn learn(&mut self, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        let parameters = self.settings.parameters.clone();
        self.failed = Some(parameters.clone());
        let trained = self.loaded.train(parameters, progress)?;
        self.failed = None;
        self.notes = [trained.notes.clone(), self.loaded.study.notes()];
        self.trained = Some(trained);
        Ok(())
    }

    /// The charts of the workload that is shown.
    fn draw(&mut self) -> Result<(), WorkbenchError> {
        let Some(shown) = self.settings.shown else {
            self.view = None;
            return Ok(());
        };
        let key = (shown, self.settings.against, self.learnt());
        if self.view.as_ref().is_none_or(|(of, _)| *of != key) {
            let view = self.loaded.view(&shown, self.settings.against)?;
            self.view = Some((key, view));
        }
        Ok(())
    }

    fn answer(&mut self, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        self.draw()?;
        self.sections = self.make_sections(progress);
        Ok(())
    }

    /// What the page shows of the measured workloads.
    ///
    /// # Errors
    /// Returns an error if the model can't be asked.
    pub fn recommended(&self) -> Result<Recommended, TuningStudyError> {
        let study = &self.loaded.study;
        let mut notes: Vec<String> = self.notes.iter().flatten().cloned().collect();
        if study.groups().len() > MAX_TRAINED_GROUPS {
            notes.push(format!("Nothing is learnt: {}.", TuningStudyError::TooManyScales(study.groups().len())));
        }
        let basis = match self.learnt() {
            (None, _) => AnswerBasis::Measured,
            (_, false) => AnswerBasis::Trained,
            (_, true) => AnswerBasis::Validated,
        };
        Ok(Recommended { basis, groups: study.groups().to_vec(), answer: study.to_deploy()?.into_owned(), notes })
    }
}

impl From<TuningStudyError> for WorkbenchError {
    fn from(error: TuningStudyError) -> Self {
        Self::Study(Box::new(error))
    }
}

impl Study for Tuning {
    fn choose(&mut self, choices: Choices, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        self.choices = choices;
        let shown = settings::shown(&self.choices, &self.loaded);
        let mut form = Form::new(&self.choices);
        let settings = Settings::fields(&mut form, shown, &self.loaded, &self.cost_tables);
        self.settings = form.checked(settings)?;
        let parameters = Some(self.settings.parameters.clone());
        self.is_anew = self.asked != parameters;
        if self.is_anew {
            self.failed = None;
        }
        self.asked = parameters;
        self.answer(progress)
    }

    fn take(&mut self, done: &[u8], _: &mut dyn Progress) -> Result<(), WorkbenchError> {
        self.folds.push(done.to_vec());
        Ok(())
    }

    /// Validates by the folds that were taken in; a new worker learns before.
    fn conclude(&mut self, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        let folds = std::mem::take(&mut self.folds);
        if folds.is_empty() {
            return self.answer(progress);
        }
        if self.loaded.study.parameters() != Some(&self.settings.parameters) {
            self.learn(progress)?;
        }
        self.notes[1] = self.loaded.validate(&folds, progress)?.notes;
        self.answer(progress)
    }

    fn go_on(&mut self, _: u32, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        self.learn(progress)?;
        self.is_anew = false;
        self.answer(progress)
    }

    fn form(&self) -> Result<Vec<Field>, WorkbenchError> {
        let mut form = Form::new(&self.choices);
        Settings::fields(&mut form, self.settings.shown, &self.loaded, &self.cost_tables);
        Ok(form.into_fields())
    }

    fn files(&self) -> Vec<(String, String)> {
        let is_trained = self.loaded.study.parameters().is_some();
        is_trained.then(|| (MODEL.to_owned(), "Save model".to_owned())).into_iter().collect()
    }

    fn file(&self, key: &str, _: &mut dyn Progress) -> Result<TextFile, WorkbenchError> {
        if key != MODEL {
            return Err(WorkbenchError::NoFile(key.to_owned()));
        }
        let text = self.loaded.study.model_file()?.to_text();
        Ok(TextFile { name: "collectune-model.json".to_owned(), text, note: String::new() })
    }

    /// First learning, then the folds that are held out.
    fn jobs(&self) -> Result<Jobs, WorkbenchError> {
        let (study, parameters) = (&self.loaded.study, &self.settings.parameters);
        let none = Jobs { files: self.compared.unread.clone(), ..Jobs::default() };
        if !self.can_learn() {
            return Ok(none);
        }
        if study.parameters() != Some(parameters) {
            return Ok(Jobs { is_anew: self.is_anew, goes_on: true, is_long: true, ..none });
        }
        let Some(trained) = self.trained.as_ref().filter(|_| study.evaluation().is_none()) else {
            return Ok(none);
        };
        let folds: Vec<(u32, f64)> = (0..).zip(trained.folds.iter().copied()).collect();
        let basis = postcard::to_allocvec(&(&trained.training, parameters))?;
        let rounds = Some(folds).filter(|folds| !folds.is_empty()).into_iter().collect();
        Ok(Jobs { basis, rounds, ..none })
    }

    /// What to deploy, the charts of the workload that is shown, and where its busbw drops.
    fn attachments(&mut self) -> Result<Vec<Attachment>, WorkbenchError> {
        let mut attachments = Vec::new();
        let learnt = self.learnt();
        if self.given.0 != learnt {
            attachments.push(Attachment::new(AttachmentKind::Recommendations, &self.recommended()?)?);
            self.given.0 = learnt;
        }
        if let Some((key, view)) = &self.view
            && self.given.1.as_ref() != Some(key)
        {
            attachments.push(Attachment::new(AttachmentKind::Charts, view)?);
            self.given.1 = Some(key.clone());
        }
        if let (Some((.., found)), Some(shown)) = (&self.hotspots, self.settings.shown) {
            let marks = hotspots::marks(&found.hotspots, shown.collective, shown.scale);
            attachments.push(Attachment::new(AttachmentKind::Marks, &(shown, marks))?);
        }
        Ok(attachments)
    }

    fn shown(&self, _: ReportContext<'_>, _: &Contents) -> Result<Report, WorkbenchError> {
        let sentence = self.view.as_ref().map(|(_, view)| wording::sentence(&view.recommendation));
        Ok(Report {
            workbench: Workbench::Tuning,
            summary: sentence.into_iter().collect(),
            sections: self.sections.clone(),
            ..Report::default()
        })
    }

    fn report(&self, context: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError> {
        Ok(self.loaded.report(context, contents)?)
    }
}

/// Learns without some of the folds of [`Study::jobs`] and predicts them, on any worker.
///
/// # Errors
/// Returns an error if the basis comes from another build, or can't be learnt from.
pub fn work(basis: &[u8], folds: &[u32], progress: &mut dyn Progress) -> Result<Vec<u8>, WorkbenchError> {
    let (training, parameters): (Vec<u8>, Parameters) = postcard::from_bytes(basis)?;
    Ok(predict_folds(&training, &parameters, folds, progress)?)
}
