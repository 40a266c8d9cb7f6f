//! The overlap workbench: which run, which metrics, whose predictions, which kernel.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    command::Commands,
    form::{Choices, Field, Form, RowChoice},
    math::hash,
    overlap::{
        command,
        export::TreesError,
        loaded::Loaded,
        models::Kind,
        predict::KernelQuery,
        report::KERNEL,
        result::{OverlapOverview, ShownPredictions},
        settings::{Group, Settings, rounded},
        study::{self, StudyError},
        validate,
    },
    progress::Progress,
    report::{Contents, Exhibit, Report, Section, TextFile},
    text::Listing,
    workbench::{Attachment, AttachmentKind, Jobs, ReportContext, Study, WorkbenchError},
};

/// The state of the overlap workbench.
#[derive(Default)]
pub struct Overlap {
    study: study::OverlapStudy,
    choices: Choices,
    settings: Settings,
    studied: Option<OverlapOverview>,
    /// Tells apart what workers did for this run from what they did for another.
    run: u64,
    done: BTreeSet<u32>,
    is_anew: bool,
    prediction: Option<Section>,
    slowdown: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct Done {
    run: u64,
    jobs: Vec<u32>,
    folds: Vec<u8>,
    importances: Option<Listing>,
}

/// The cost of weighing features, where one fold costs 1.
const IMPORTANCE_COST: f64 = 12.0;

/// The number of the job that computes importances, which follows those of the folds.
fn importance_job() -> u32 {
    validate::jobs().len() as u32
}

/// Does some jobs from the run alone. Returns an error if the run comes from another build, or can't be learnt from.
pub fn work(basis: &[u8], jobs: &[u32], progress: &mut dyn Progress) -> Result<Vec<u8>, WorkbenchError> {
    let importances =
        if jobs.contains(&importance_job()) { Some(study::compute_importances(basis, progress)?) } else { None };
    let folds = study::do_jobs(basis, jobs, progress)?;
    Ok(postcard::to_allocvec(&Done { run: hash(basis), jobs: jobs.to_vec(), folds, importances })?)
}

impl Overlap {
    /// The state after files were loaded.
    pub fn new(loaded: Loaded) -> Self {
        Self { study: study::OverlapStudy::new(loaded), ..Self::default() }
    }

    pub fn loaded(&self) -> &Loaded {
        self.study.loaded()
    }

    pub const fn study(&mut self) -> &mut study::OverlapStudy {
        &mut self.study
    }

    /// Whose predictions are chosen to be shown, as far as they are there.
    pub const fn shown(&self) -> Option<ShownPredictions> {
        self.settings.shown
    }

    fn studied(&self) -> Result<&OverlapOverview, WorkbenchError> {
        Ok(self.studied.as_ref().ok_or(StudyError::NothingLoaded)?)
    }

    fn is_complete(&self) -> bool {
        self.done.len() as u32 > importance_job()
    }

    /// The kernel that is predicted, and its fields.
    fn asked(&self, form: &mut Form<'_>) -> Result<KernelQuery, WorkbenchError> {
        self.settings.kernel_fields(form, &self.study, self.studied()?)
    }

    /// Predicts the kernel that is asked for, once every model was compared.
    fn predict(&mut self, progress: &mut dyn Progress) {
        (self.prediction, self.slowdown) = (None, None);
        if !self.is_complete() {
            return;
        }
        let mut form = Form::new(&self.choices);
        let asked = self.asked(&mut form).and_then(|asked| Ok(form.checked(asked)?));
        let found = asked.and_then(|asked| Ok((self.study.predict(&asked, progress)?, asked)));
        let mut section = Section::with_form(Group::Kernel);
        match (found, self.study.dataset()) {
            (Ok((answer, asked)), Ok(dataset)) => {
                let times = answer.duration_ns / asked.alone_ns;
                self.slowdown = Some(times).filter(|times| times.is_finite() && *times > 0.0);
                section.text.push(format!(
                    "{}: {} µs alone, of which {} overlap communication.",
                    if asked.name.is_empty() { "A kernel without a name" } else { &asked.name },
                    rounded(asked.alone_ns / 1000.0),
                    rounded(asked.overlap_ratio)
                ));
                section.text.extend(answer.sentences());
                let listing = crate::overlap::listing::kernels(dataset, &answer.nearest);
                let mut nearest = Exhibit::new("nearest-kernels", "Nearest measured kernels", listing);
                let values = answer.nearest.iter().map(|index| (index + 1).to_string()).collect();
                nearest.choose = Some(RowChoice { key: "launch".into(), values });
                section.tables.push(nearest);
            }
            (Err(error), _) => section.text.push(format!("{error}.")),
            (_, Err(error)) => section.text.push(format!("{error}.")),
        }
        self.prediction = Some(section.on(KERNEL));
    }
}

impl From<StudyError> for WorkbenchError {
    fn from(error: StudyError) -> Self {
        Self::Study(Box::new(error))
    }
}

impl Study for Overlap {
    fn choose(&mut self, choices: Choices, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        self.choices = choices;
        let mut form = Form::new(&self.choices);
        let settings = Settings::fields(&mut form, &self.study);
        self.settings = form.checked(settings)?;
        self.is_anew = self.studied.as_ref().is_none_or(|studied| studied.settings != self.settings.study);
        if self.is_anew {
            (self.studied, self.done) = (None, BTreeSet::default());
            let studied = self.study.study(self.settings.study.clone())?;
            self.run = hash(&studied.run);
            self.studied = Some(studied);
        }
        self.study.show(self.settings.shown);
        self.predict(progress);
        Ok(())
    }

    fn take(&mut self, done: &[u8], progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        let done: Done = postcard::from_bytes(done)?;
        if done.run != self.run {
            return Ok(());
        }
        self.study.take(&done.folds)?;
        if let Some(importances) = done.importances {
            self.study.set_importances(importances);
        }
        for job in done.jobs {
            self.done.insert(job);
        }
        self.predict(progress);
        Ok(())
    }

    fn choices(&self) -> &Choices {
        &self.choices
    }

    fn commands(&self, files: &[String], changed: &Choices, _: &[Field]) -> Option<Commands> {
        command::models(files, changed)
    }

    fn form(&self) -> Result<Vec<Field>, WorkbenchError> {
        let mut form = Form::new(&self.choices);
        Settings::fields(&mut form, &self.study);
        if self.is_complete() {
            self.asked(&mut form)?;
        }
        Ok(form.into_fields())
    }

    fn files(&self) -> Vec<(String, String)> {
        let has_trees =
            matches!(self.study.shown(), Ok(ShownPredictions::Model(Kind::TreesLad | Kind::TreesPublished)));
        let files =
            [("predictions", "Save predictions")].into_iter().chain(has_trees.then_some(("trees", "Save trees")));
        files.map(|(key, label)| (key.to_owned(), label.to_owned())).collect()
    }

    fn file(&self, key: &str, progress: &mut dyn Progress) -> Result<TextFile, WorkbenchError> {
        let (file, note) = match key {
            "predictions" => match self.study.shown()? {
                shown @ ShownPredictions::Model(_) => (self.study.predictions(shown)?, "Predictions out of fold"),
                shown => (self.study.predictions(shown)?, "Predictions of the imported model"),
            },
            "trees" => match self.study.shown()? {
                ShownPredictions::Model(kind) => (self.study.trees(kind, progress)?, "For XGBoost"),
                ShownPredictions::Imported { .. } => {
                    return Err(StudyError::Trees(TreesError::NoTrees("An imported model")).into());
                }
            },
            _ => return Err(WorkbenchError::NoFile(key.to_owned())),
        };
        Ok(TextFile { name: file.name, text: file.text, note: note.into() })
    }

    fn jobs(&self) -> Result<Jobs, WorkbenchError> {
        let studied = self.studied()?;
        // Where nothing overlaps there is nothing to learn.
        let nothing = studied.results.verdict.is_none();
        let all = studied.rounds.iter().map(|round| {
            round.iter().filter_map(|job| Some((*job, *studied.jobs.get(*job as usize)?))).collect::<Vec<_>>()
        });
        let mut rounds: Vec<Vec<(u32, f64)>> = all.collect();
        // Beside the last folds: the most expensive job of a round is begun first.
        rounds.last_mut().into_iter().for_each(|last| last.push((importance_job(), IMPORTANCE_COST)));
        rounds.iter_mut().for_each(|round| round.retain(|(job, _)| !nothing && !self.done.contains(job)));
        rounds.retain(|round| !round.is_empty());
        let basis = if rounds.is_empty() { Vec::new() } else { studied.run.clone() };
        Ok(Jobs { basis, rounds, is_anew: self.is_anew, ..Jobs::default() })
    }

    fn attachments(&mut self) -> Result<Vec<Attachment>, WorkbenchError> {
        let slowdown = self.slowdown.map(|slowdown| Attachment::new(AttachmentKind::Slowdown, &slowdown));
        Ok(slowdown.transpose()?.into_iter().collect())
    }

    fn report(&self, material: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError> {
        let ReportContext { files, problems } = material;
        let material = super::report::OverlapReportInput { study: &self.study, files, problems };
        let mut report = super::report::report(material, contents)?;
        let at = report.sections.len().min(2);
        report.sections.splice(at..at, self.prediction.clone());
        Ok(report)
    }
}
