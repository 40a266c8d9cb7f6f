//! The panels of the tuning workbench: sections with tables, charts and files, and the fields that they follow.

mod compare;
mod noise;
mod sections;

use super::{
    command,
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
    command::Commands,
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
    /// What validation needs of the training.
    trained: Option<Trained>,
    /// The predictions of held-out folds that have arrived and are not evaluated yet.
    folds: Vec<Vec<u8>>,
    /// The notes of the last training.
    notes: Vec<String>,
    /// The unmeasured workloads that a job sends, with their number of calls, as the last coverage found them.
    uncovered: Vec<(Workload, u64)>,
    /// The titles of the library's cost tables, as the last coverage found them.
    cost_tables: Vec<String>,
    /// The last hotspots, with the rule and the state of learning that they are of.
    hotspots: Option<(HotspotRule, Learnt, HotspotAnswer)>,
    importances: Option<(Learnt, Vec<Importance>)>,
    /// The last answers for sizes that the user typed, with their question.
    own: Option<(OwnQuestion, Vec<Recommendation>)>,
    compared: compare::Compared,
    /// The charts of the workload that is shown.
    view: Option<(ViewKey, View)>,
    sections: Vec<Section>,
    /// The state of learning that the page's recommendations are of, and the key of the page's charts.
    given: (Learnt, Option<ViewKey>),
}

/// The parameters of the training, and whether it was validated.
type Learnt = (Option<Parameters>, bool);

/// The charts are drawn again when any of these changes.
type ViewKey = (Workload, Against, Learnt);

/// What the answers for typed sizes depend on: the state of learning, the workloads and the limits of the search.
type OwnQuestion = (Learnt, Vec<Workload>, SearchLimits);

impl Tuning {
    /// The state after files were loaded. The page already has the measured winners.
    pub fn new(loaded: LoadedTuning) -> Self {
        Self { loaded, ..Self::default() }
    }

    fn learnt(&self) -> Learnt {
        let study = &self.loaded.study;
        (study.parameters().cloned(), study.evaluation().is_some())
    }

    /// Whether there are measurements to learn from, and the last training with the chosen parameters did not fail.
    fn can_learn(&self) -> bool {
        let study = &self.loaded.study;
        study.has_choice()
            && study.groups().len() <= MAX_TRAINED_GROUPS
            && self.failed.as_ref() != Some(&self.settings.parameters)
    }

    fn learn(&mut self, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        let parameters = self.settings.parameters.clone();
        self.failed = Some(parameters.clone());
        let trained = self.loaded.train(parameters, progress)?;
        self.failed = None;
        self.notes.clone_from(&trained.notes);
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
        let form = self.form()?;
        for section in self.sections.iter_mut().filter(|section| section.form.is_some()) {
            let own: Vec<Field> = form.iter().filter(|field| field.group == section.form).cloned().collect();
            section.text.splice(0..0, self.choices.not_offered(&own));
        }
        Ok(())
    }

    /// The recommendations for the measured workloads, as the page shows them.
    ///
    /// # Errors
    /// Returns an error if the model can't be evaluated.
    pub fn recommended(&self) -> Result<Recommended, TuningStudyError> {
        let study = &self.loaded.study;
        let notes = [self.notes.clone(), study.notes()].concat();
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

    /// Validates with the folds that have arrived. In a worker that was started anew, the model is trained first.
    fn conclude(&mut self, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        let folds = std::mem::take(&mut self.folds);
        if folds.is_empty() {
            return self.answer(progress);
        }
        if self.loaded.study.parameters() != Some(&self.settings.parameters) {
            self.learn(progress)?;
        }
        self.loaded.validate(&folds, progress)?;
        self.answer(progress)
    }

    fn go_on(&mut self, _: u32, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        self.learn(progress)?;
        self.is_anew = false;
        self.answer(progress)
    }

    fn choices(&self) -> &Choices {
        &self.choices
    }

    fn commands(&self, files: &[String], changed: &Choices, form: &[Field]) -> Option<Commands> {
        Some(command::commands(&self.settings, &self.loaded, files, (changed, form)))
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
        let text = self.loaded.model_file()?.to_text();
        Ok(TextFile { name: "collectune-model.json".to_owned(), text, note: String::new() })
    }

    /// What remains to be done: first training, in this worker; then the held-out folds, as jobs for any worker.
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

/// Does some jobs of [`Study::jobs`], on any worker: trains without a fold and predicts it.
///
/// # Errors
/// Returns an error if the basis comes from another build, or the model can't be fitted to it.
pub fn work(basis: &[u8], folds: &[u32], progress: &mut dyn Progress) -> Result<Vec<u8>, WorkbenchError> {
    let (training, parameters): (Vec<u8>, Parameters) = postcard::from_bytes(basis)?;
    Ok(predict_folds(&training, &parameters, folds, progress)?)
}
