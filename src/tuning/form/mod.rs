//! The panels of the tuning workbench: sections with tables, charts and files, and the fields that they follow.

mod sections;

use super::{
    hotspots::{self, HotspotAnswer, HotspotRule},
    loaded::LoadedTuning,
    parameters::Parameters,
    settings::Settings,
    study::TuningStudyError,
};
use crate::{
    collective::Workload,
    form::{Choices, Field, Form},
    progress::Progress,
    report::{Contents, Report, Section, TextFile, Workbench},
    workbench::{Attachment, AttachmentKind, Jobs, ReportContext, Study, WorkbenchError},
};

/// The state of the tuning workbench.
#[derive(Default)]
pub struct Tuning {
    /// What was loaded, and what was learnt from it.
    pub loaded: LoadedTuning,
    choices: Choices,
    settings: Settings,
    /// The workloads that a job sends and nobody measured, with their number of calls, as coverage found them last.
    uncovered: Vec<(Workload, u64)>,
    /// The titles of the library's cost tables, as coverage found them last.
    cost_tables: Vec<String>,
    /// The hotspots by the rule that was asked for last, and what was learnt then.
    hotspots: Option<(HotspotRule, Learnt, HotspotAnswer)>,
    sections: Vec<Section>,
}

/// The parameters of the training, and whether it was validated.
type Learnt = (Option<Parameters>, bool);

impl Tuning {
    /// The state after files were loaded.
    pub fn new(loaded: LoadedTuning) -> Self {
        Self { loaded, ..Self::default() }
    }

    fn learnt(&self) -> Learnt {
        let study = &self.loaded.study;
        (study.parameters().cloned(), study.evaluation().is_some())
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
        let mut form = Form::new(&self.choices);
        let settings = Settings::fields(&mut form, &self.loaded, &self.cost_tables);
        self.settings = form.checked(settings)?;
        self.sections = self.make_sections(progress);
        Ok(())
    }

    fn take(&mut self, _: &[u8], _: &mut dyn Progress) -> Result<(), WorkbenchError> {
        Err(WorkbenchError::NoJobs)
    }

    fn form(&self) -> Result<Vec<Field>, WorkbenchError> {
        let mut form = Form::new(&self.choices);
        Settings::fields(&mut form, &self.loaded, &self.cost_tables);
        Ok(form.into_fields())
    }

    fn files(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn file(&self, key: &str, _: &mut dyn Progress) -> Result<TextFile, WorkbenchError> {
        Err(WorkbenchError::NoFile(key.to_owned()))
    }

    fn jobs(&self) -> Result<Jobs, WorkbenchError> {
        Ok(Jobs::default())
    }

    /// Where busbw drops in the chart over size.
    fn attachments(&mut self) -> Result<Vec<Attachment>, WorkbenchError> {
        let (Some((.., found)), Some(shown)) = (&self.hotspots, self.settings.shown) else { return Ok(Vec::new()) };
        let marks = hotspots::marks(&found.hotspots, shown.collective, shown.scale);
        Ok(vec![Attachment::new(AttachmentKind::Marks, &(shown, marks))?])
    }

    fn shown(&self, _: ReportContext<'_>, _: &Contents) -> Result<Report, WorkbenchError> {
        Ok(Report { workbench: Workbench::Tuning, sections: self.sections.clone(), ..Report::default() })
    }

    fn report(&self, context: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError> {
        Ok(self.loaded.report(context, contents)?)
    }
}
