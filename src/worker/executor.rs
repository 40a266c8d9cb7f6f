//! Answers the requests of the page with a plain function, so that a worker, the terminal and tests run the same code.

use super::protocol::{GivenState, Loaded, Request, Response};
use crate::{
    command::Commands,
    intake::{
        self, FileReport, Outcome,
        files::{FileSource, FileToLoad, OpenedFiles, read_files, read_set},
        lines::lines_around,
        unpack::{UnpackError, unpack},
    },
    measure::UsedValues,
    policy,
    progress::Progress,
    registry::{Studies, measure_commands},
    report,
    text::excerpt,
    topology,
    tuning::{aggregate::Target, study::TuningStudyError},
    workbench::{Attachment, AttachmentKind, ViewChange, WorkbenchAnswer, WorkbenchError, WorkbenchView},
};

/// The reason why a request fails. Messages are shown to users.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The tuning workbench can't answer.
    #[error(transparent)]
    Tuning(#[from] TuningStudyError),
    /// Another workbench can't answer.
    #[error(transparent)]
    Workbench(#[from] WorkbenchError),
    /// The policy workbench can't answer.
    #[error(transparent)]
    Policy(#[from] policy::result::StudyError),
    /// The topology workbench can't answer.
    #[error(transparent)]
    Topology(#[from] topology::study::StudyError),
    /// There is no report with this number among the loaded files.
    #[error("this report is not loaded any more: give it again")]
    NoReport,
    /// An archive can't be unpacked; phrased to follow its name.
    #[error(transparent)]
    NotUnpacked(#[from] UnpackError),
    /// A line of a file can't be shown.
    #[error("{0}")]
    NoLine(String),
    /// The report exceeds the limits within which reports can be read.
    #[error("The report {0}: leave charts or measurements out of it")]
    Unwritten(#[from] report::wire::WireError),
}

/// Holds what was loaded and learnt, and answers requests about it.
#[derive(Default)]
pub struct Executor {
    /// The studies of all workbenches.
    pub studies: Studies,
    /// What was shown last of each workbench.
    shown: [Option<WorkbenchView>; report::Workbench::ALL.len()],
    /// Reports that were opened, with the number of their files.
    reports: Vec<(u32, Box<report::Report>)>,
    /// The report on each loaded file.
    files: Vec<FileReport>,
    /// The files of the workbenches other than tuning, with the workbench.
    studied: Vec<(report::Workbench, u32)>,
    /// The loaded files of which the user said what they lack.
    mapped: Vec<FileToLoad>,
    /// The report that was written last; any other request drops it.
    made: Option<(report::Contents, report::Report)>,
}

impl Executor {
    /// Answers one request. `files` are the contents of the files that the request names, in its order.
    ///
    /// # Errors
    /// Returns the reason, in words for users.
    pub fn execute(
        &mut self,
        request: Request,
        files: Vec<FileSource>,
        progress: &mut dyn Progress,
    ) -> Result<Response, ExecuteError> {
        if !matches!(request, Request::WriteReport { .. }) {
            self.made = None;
        }
        Ok(match request {
            Request::Ping => Response::Pong,
            Request::Rehearse => {
                intake::files::rehearse();
                Response::Pong
            }
            Request::Load { files: names, target, set } => {
                *self = Self::default();
                let opened = read_set(&names, files, &mut |_| set, progress);
                let loaded = self.take_in(opened, target, progress)?;
                self.mapped = names.into_iter().filter(|name| name.mapping.is_some()).collect();
                Response::Loaded(loaded)
            }
            Request::Unpack(archive) => {
                progress.reading(Some(archive.id));
                progress.report(&format!("Unpacking {}", excerpt(&archive.name)), 0, 0);
                let closed = || UnpackError::Unread("is closed".into());
                let source = files.into_iter().next().ok_or_else(closed)?;
                Response::Unpacked(unpack(source.content, &archive.name)?)
            }
            Request::Study { workbench, question, is_held } => {
                let material = intake::report_context(&self.files);
                let mut answer = self.studies.answer(workbench, *question, material, progress)?;
                if let WorkbenchAnswer::Shown(shown) = &mut answer {
                    let commands = self.commands(workbench)?;
                    let content = (commands.text(), commands.left_out);
                    let attachment = Attachment::new(AttachmentKind::Commands, &content);
                    shown.attachments.push(attachment.map_err(WorkbenchError::from)?);
                }
                Response::Study(Box::new(self.changed(workbench, answer, is_held)))
            }
            Request::Report(contents) => Response::Report(Box::new(self.report(&contents)?)),
            Request::TakeStates(states) => {
                let mut sources = files.into_iter();
                for state in states {
                    match state {
                        GivenState::File(file) => {
                            let id = file.id;
                            let source = sources.next().into_iter().collect();
                            let read = read_files(&[file], source, progress).snapshot(progress);
                            self.studies.tuning.take_state(|states| states.take_file(id, read));
                        }
                        GivenState::Link(title, snapshot) => {
                            self.studies.tuning.take_state(|states| states.take_link(title, *snapshot));
                        }
                    }
                }
                Response::Pong
            }
            Request::WriteReport { contents, options } => Response::Written(self.write_report(contents, &options)?),
            Request::WriteOpened { report, options } => Response::Written(report::write(&report, &options)?),
            Request::OpenReport { file } => {
                let found = self.reports.iter().find(|(number, _)| *number == file);
                Response::Report(found.map(|(_, report)| report.clone()).ok_or(ExecuteError::NoReport)?)
            }
            Request::ReadLine(line) => {
                let file =
                    files.into_iter().next().ok_or_else(|| ExecuteError::NoLine("The file is closed.".into()))?;
                Response::Lines(lines_around(file.content, line).map_err(ExecuteError::NoLine)?)
            }
            Request::MeasureCommands(workbench, values) => {
                let commands = measure_commands(workbench);
                let filled = commands.iter().map(|command| command.filled(&values)).collect();
                Response::MeasureCommands(filled, UsedValues::of(commands, &values))
            }
        })
    }

    /// What the answer changes in what was shown last, where the page holds that.
    fn changed(&mut self, workbench: report::Workbench, answer: WorkbenchAnswer, is_held: bool) -> WorkbenchAnswer {
        let WorkbenchAnswer::Shown(shown) = answer else { return answer };
        let last = &mut self.shown[workbench as usize];
        match last.take().filter(|_| is_held) {
            Some(before) => {
                let change = ViewChange::new(&before, &shown);
                *last = Some(*shown);
                WorkbenchAnswer::Changed(Box::new(change))
            }
            None => {
                *last = Some((*shown).clone());
                WorkbenchAnswer::Shown(shown)
            }
        }
    }

    /// The commands that give the last answer of a workbench in a terminal. A folder stands for its files where all of
    /// them are of the workbench.
    ///
    /// # Errors
    /// Returns an error if nothing was loaded.
    pub fn commands(&self, workbench: report::Workbench) -> Result<Commands, WorkbenchError> {
        let is_tuning = workbench == report::Workbench::Tuning;
        let is_sweep = |file: &FileReport| matches!(file.outcome, Outcome::Loaded { .. });
        // Links limit what a sweep predicts, and are no sweep by themselves.
        let has_links = is_tuning && self.files.iter().any(is_sweep);
        let of = if is_tuning { report::Workbench::Topology } else { workbench };
        let is_own = |file: &&FileReport| {
            is_tuning && (is_sweep(file) || file.completes)
                || (has_links || !is_tuning) && self.studied.contains(&(of, file.id))
        };
        let folder = |file: &FileReport| file.name.find('/');
        let is_same =
            |a: &FileReport, b: &FileReport| folder(a).is_some_and(|end| b.name.get(..=end) == a.name.get(..=end));
        let is_harmless = |file: &&FileReport| is_own(file) || matches!(file.outcome, Outcome::Refused(_));
        let mut names: Vec<String> = Vec::new();
        for together in self.files.chunk_by(is_same) {
            let own = together.iter().filter(is_own);
            match folder(&together[0]) {
                Some(end) if together.iter().all(|file| is_harmless(&file)) => {
                    names.extend(own.take(1).filter_map(|file| Some(file.name.get(..end)?.to_owned())));
                }
                _ => names.extend(own.map(|file| file.name.clone())),
            }
        }
        let mut commands = self.studies.commands(workbench, &names)?;
        let all: Vec<&str> = self.files.iter().map(|file| file.name.as_str()).collect();
        commands.left_out.extend(names.iter().filter(|name| intake::files::is_numbered(name, &all)).map(|name| {
            format!(
                "Not in the command: where the page numbered files of the same name ({name}), write their own paths."
            )
        }));
        for file in self.mapped.iter().filter(|_| is_tuning) {
            commands.leave_out("what was said of the columns or the configuration of a file", &file.name);
        }
        Ok(commands)
    }

    /// The report on what was found.
    ///
    /// # Errors
    /// Returns an error if nothing was measured or the model can't be evaluated.
    pub fn report(&self, contents: &report::Contents) -> Result<report::Report, ExecuteError> {
        let study = self.studies.of(contents.workbench);
        let mut report = study.report(intake::report_context(&self.files), contents)?;
        report.say_in_view(study.choices().not_offered(&study.form()?));
        let is_example = |(workbench, name): &(report::Workbench, &str)| {
            *workbench == contents.workbench && self.files.iter().any(|file| report::wire::leaf(&file.name) == *name)
        };
        if intake::EXAMPLES.iter().any(is_example) {
            // Whoever gets the report sees no banner of the page.
            let place = report.summary.len().min(1);
            report.summary.insert(place, "This is the example: simulated data, not measurements.".to_owned());
        }
        Ok(report)
    }

    /// Writes the report in one of its forms; the next form is written from the same report.
    fn write_report(
        &mut self,
        contents: report::Contents,
        options: &report::WriteOptions,
    ) -> Result<report::Written, ExecuteError> {
        let report = match self.made.take() {
            Some((of, report)) if of == contents => report,
            _ => self.report(&contents)?,
        };
        let (_, report) = self.made.insert((contents, report));
        Ok(report::write(report, options)?)
    }

    /// Makes studies of the opened files, which replace all earlier ones.
    ///
    /// # Errors
    /// Returns an error if a trained model can't be evaluated; never before training.
    pub fn take_in(
        &mut self,
        mut opened: OpenedFiles,
        target: Target,
        progress: &mut dyn Progress,
    ) -> Result<Loaded, ExecuteError> {
        let mut documents = opened.documents.files();
        documents.studied = opened.parts.files();
        let mut tuning = opened.take_tuning(target, progress);
        let OpenedFiles { files, parameters, documents: shown, parts, sets, .. } = opened;
        tuning.saved_parameters = parameters;
        *self = Self {
            studies: Studies::new(tuning, parts),
            shown: Default::default(),
            reports: shown.reports,
            files: files.clone(),
            studied: documents.studied.clone(),
            mapped: Vec::new(),
            made: None,
        };
        let mut notes = self.studies.tuning.loaded.notes.clone();
        let loaded = self.studies.overlap.loaded();
        notes.extend(loaded.notes.iter().cloned());
        notes.extend(loaded.merged.iter().map(|(name, merged)| format!("{name}: {}", merged.sentence())));
        let groups = self.studies.tuning.loaded.study.groups().to_vec();
        let winners = self.studies.tuning.loaded.study.winners()?;
        Ok(Loaded { files, groups, sets, winners, notes, documents })
    }
}
