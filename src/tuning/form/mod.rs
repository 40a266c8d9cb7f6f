//! The panels of the tuning workbench: sections with tables, charts and files, and the fields that they follow.

mod fields;
mod sections;

use self::fields::{form, read};
use super::{
    address::{Address, Panel},
    conf::Reader,
    hotspots,
    loaded::LoadedTuning,
    sets::{SetChoice, Sets},
    settings::{Learnt, Settings},
    study::TuningStudyError,
    support::Library,
};
use crate::{
    collective::Workload,
    form::{Choices, Field},
    progress::Progress,
    report::{Contents, Report, TextFile, Workbench},
    workbench::{Attachment, AttachmentKind, Jobs, ReportContext, Study, WorkbenchError},
};

impl LoadedTuning {
    fn learnt(&self) -> Learnt {
        (self.study.parameters().cloned(), self.study.evaluation().is_some())
    }

    /// The name of a loaded file; empty if it is closed.
    fn name(&self, file: u32) -> &str {
        let number = u16::try_from(file).ok();
        number.and_then(|number| self.files.names.get(&number)).map_or("", String::as_str)
    }

    /// Settings whose files are loaded: the newest where another one was chosen, and where none was.
    fn resolved(&self, mut settings: Settings) -> Settings {
        fn newest<T>(chosen: &mut Option<u32>, files: &[(u32, T)]) {
            if !files.iter().any(|(file, _)| Some(*file) == *chosen) {
                *chosen = files.last().map(|(file, _)| *file);
            }
        }
        let files = &self.files;
        newest(&mut settings.checked, &files.confs);
        newest(&mut settings.campaign, &files.comparisons);
        newest(&mut settings.campaign_conf, &files.confs);
        newest(&mut settings.table, &files.listings);
        // None is a choice as well here.
        if settings.rules.is_some() {
            newest(&mut settings.rules, &files.confs);
        }
        settings
    }
}

/// The reader and the library of tuner files that are chosen.
#[must_use]
pub fn deployment(choices: &Choices) -> (Reader, Library) {
    let settings = read(choices).unwrap_or_default();
    (settings.reader, settings.library)
}

/// A workload as text: `all_reduce, 16 MiB, 2 nodes, 16 ranks`.
fn workload_label(workload: &Workload) -> String {
    Address::of(workload, SetChoice::Largest, false).to_string()
}

impl From<TuningStudyError> for WorkbenchError {
    fn from(error: TuningStudyError) -> Self {
        Self::Study(Box::new(error))
    }
}

impl Study for LoadedTuning {
    fn choose(&mut self, choices: Choices, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        let settings = self.resolved(read(&choices)?);
        // The page has made sure that the set is the one that is loaded.
        let address = Address { set: SetChoice::Largest, ..Address::of_choices(&choices) };
        let answer = self.study.to_deploy().unwrap_or_default();
        let shown = address.resolve(self.study.groups(), &Sets::default(), &answer).ok();
        self.panel.settings = Settings { panel: Panel::of(&choices.suffix()), shown, ..settings };
        self.panel.sections = self.make_sections(progress);
        Ok(())
    }

    fn take(&mut self, _: &[u8], _: &mut dyn Progress) -> Result<(), WorkbenchError> {
        Err(WorkbenchError::NoForm)
    }

    fn form(&self) -> Result<Vec<Field>, WorkbenchError> {
        Ok(form(self))
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
        let (Some((.., found)), Some(shown)) = (&self.panel.hotspots, self.panel.settings.shown) else {
            return Ok(Vec::new());
        };
        let marks = hotspots::marks(&found.hotspots, shown.collective, shown.scale);
        Ok(vec![Attachment::new(AttachmentKind::Marks, &(shown, marks))?])
    }

    fn shown(&self, _: ReportContext<'_>, _: &Contents) -> Result<Report, WorkbenchError> {
        Ok(Report { workbench: Workbench::Tuning, sections: self.panel.sections.clone(), ..Report::default() })
    }

    fn report(&self, context: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError> {
        Ok(Self::report(self, context, contents)?)
    }
}
