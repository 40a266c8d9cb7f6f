//! The policy workbench: which arm ran where the logs don't say it, which key is shown, and in what strategies play.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

mod simulator;

use crate::{
    command::Commands,
    conf::Reader,
    form::{Choices, Field, Form},
    math::hash,
    policy::{
        command,
        read::NamedLog,
        replay,
        request::{Export, LatencySource, ReplaySettings},
        result::{PolicyOverview, PreparedReplay, StudyError},
        settings::{self, FileSettings, Settings},
        study::PolicyStudy,
    },
    progress::Progress,
    report::{Contents, Report, TextFile},
    workbench::{Jobs, ReportContext, Study, WorkbenchError},
};

/// Whether there is something to see without a log: a simulation is chosen.
pub fn is_simulated(choices: &Choices) -> bool {
    simulator::world(choices.get("world"), true).is_some()
}

/// The state of the policy workbench.
#[derive(Default)]
pub struct Policy {
    study: PolicyStudy,
    choices: Choices,
    settings: Settings,
    studied: Option<PolicyOverview>,
    /// What the logs lack, where none of them can be used.
    lacking: Option<String>,
    /// With the hash of its game, by which workers name it.
    prepared: Option<(u64, PreparedReplay)>,
    /// The results of the replay so far, by job.
    played: BTreeMap<u32, Vec<u8>>,
    done: BTreeSet<u32>,
    is_anew: bool,
}

#[derive(Serialize, Deserialize)]
struct Done {
    game: u64,
    jobs: Vec<u32>,
    played: Vec<u8>,
}

/// Plays some seeds.
///
/// # Errors
/// Returns an error if the game comes from another build.
pub fn work(basis: &[u8], jobs: &[u32], progress: &mut dyn Progress) -> Result<Vec<u8>, WorkbenchError> {
    let played = replay::play(basis, jobs, progress)?;
    Ok(postcard::to_allocvec(&Done { game: hash(basis), jobs: jobs.to_vec(), played })?)
}

impl Policy {
    /// The state after logs were loaded.
    pub fn new(logs: Vec<NamedLog>) -> Self {
        Self { study: PolicyStudy::new(logs), ..Self::default() }
    }

    /// The study behind the form, with the settings that the form chose last.
    pub const fn study(&mut self) -> &mut PolicyStudy {
        &mut self.study
    }

    /// In what strategies play, and their parameters; `None` where the key that is shown can't be replayed, or no log
    /// can be used.
    fn replay(&self, form: &mut Form<'_>, key: u32) -> Option<ReplaySettings> {
        if self.lacking.is_some() {
            return None;
        }
        let can = self.studied.as_ref().is_some_and(|of| of.can_replay.get(key as usize) == Some(&true));
        simulator::fields(form, !self.study.is_empty(), can.then_some(LatencySource::Key(key)))
    }

    /// The settings of the files to save.
    fn files_to_save(&self) -> Result<FileSettings, WorkbenchError> {
        let mut form = Form::new(&self.choices);
        let files = settings::files(&mut form, &self.study);
        Ok(form.checked(files)?)
    }
}

impl From<StudyError> for WorkbenchError {
    fn from(error: StudyError) -> Self {
        Self::Study(Box::new(error))
    }
}

impl Study for Policy {
    fn choose(&mut self, choices: Choices, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        self.choices = choices;
        let mut form = Form::new(&self.choices);
        let stated = settings::attribution(&mut form, &self.study);
        let stated = form.checked(stated)?;
        if !self.study.is_empty() && self.studied.as_ref().is_none_or(|studied| studied.settings != stated) {
            (self.studied, self.lacking, self.settings.replay) = (None, None, None);
            match self.study.study(stated, progress) {
                Ok(studied) => self.studied = Some(studied),
                Err(StudyError::NoKeys(lacking)) => self.lacking = Some(lacking),
                Err(error) => return Err(error.into()),
            }
        }
        let mut form = Form::new(&self.choices);
        let key = settings::key(&mut form, self.studied.as_ref());
        let replay = self.replay(&mut form, key);
        let replay = form.checked(replay)?;
        self.settings.key = key;
        self.is_anew = replay != self.settings.replay || replay.is_none();
        if self.is_anew {
            (self.played, self.done, self.prepared) = (BTreeMap::new(), BTreeSet::default(), None);
            if let Some(replay) = &replay {
                let prepared = self.study.prepare(replay)?;
                self.prepared = Some((hash(&prepared.game), prepared));
            }
            self.settings.replay = replay;
        }
        let mut form = Form::new(&self.choices);
        self.settings.highlight = settings::highlight(&mut form, &self.settings, self.studied.as_ref());
        self.conclude(progress)
    }

    fn take(&mut self, done: &[u8], _: &mut dyn Progress) -> Result<(), WorkbenchError> {
        let Done { game, jobs, played } = postcard::from_bytes(done)?;
        if self.prepared.as_ref().is_none_or(|(own, _)| *own != game) {
            return Ok(());
        }
        let Some(first) = jobs.first() else { return Ok(()) };
        self.played.insert(*first, played);
        self.done.extend(jobs);
        Ok(())
    }

    fn conclude(&mut self, _: &mut dyn Progress) -> Result<(), WorkbenchError> {
        let Some((_, prepared)) = self.prepared.as_ref().filter(|_| !self.played.is_empty()) else { return Ok(()) };
        let played: Vec<Vec<u8>> = self.played.values().cloned().collect();
        self.study.bring_together(&prepared.game, &played, &self.settings.highlight)?;
        Ok(())
    }

    fn choices(&self) -> &Choices {
        &self.choices
    }

    fn commands(&self, files: &[String], changed: &Choices, _: &[Field]) -> Option<Commands> {
        command::replay(files, changed)
    }

    fn form(&self) -> Result<Vec<Field>, WorkbenchError> {
        let mut form = Form::new(&self.choices);
        settings::key(&mut form, self.studied.as_ref());
        if !self.study.is_empty() {
            settings::attribution(&mut form, &self.study);
            settings::files(&mut form, &self.study);
        }
        self.replay(&mut form, self.settings.key);
        settings::highlight(&mut form, &self.settings, self.studied.as_ref());
        Ok(form.into_fields())
    }

    fn files(&self) -> Vec<(String, String)> {
        if self.studied.as_ref().is_none_or(|studied| studied.keys.is_empty()) {
            return Vec::new();
        }
        let mut files = vec![("policy".to_owned(), "Policy file".to_owned())];
        for reader in Reader::ALL {
            // A file that can't be written is offered all the same: asked for, it says why.
            let confs = self.study.export(&Export::Conf(*reader)).map_or(1, |files| files.len());
            let modes = [("", ""), (".overlap", ", with overlap")];
            for (suffix, words) in modes.into_iter().take(confs) {
                files.push((format!("{}{suffix}", reader.key()), format!("Tuner file for {}{words}", reader.name())));
            }
        }
        files.push(("script".to_owned(), "Script of runs that would settle it".to_owned()));
        files
    }

    fn file(&self, key: &str, _: &mut dyn Progress) -> Result<TextFile, WorkbenchError> {
        let (export, place) = match (key, key.strip_suffix(".overlap")) {
            ("policy", _) => (Export::Policy(self.files_to_save()?.generation), 0),
            ("script", _) => (Export::Script(self.files_to_save()?.command), 0),
            (_, of) => {
                let reader = Reader::parse(of.unwrap_or(key)).ok_or_else(|| WorkbenchError::NoFile(key.to_owned()))?;
                (Export::Conf(reader), usize::from(of.is_some()))
            }
        };
        let file = self.study.export(&export)?.into_iter().nth(place);
        let file = file.ok_or_else(|| WorkbenchError::NoFile(key.to_owned()))?;
        Ok(TextFile { name: file.name, text: file.text, note: file.note })
    }

    fn jobs(&self) -> Result<Jobs, WorkbenchError> {
        let Some((_, prepared)) = &self.prepared else { return Ok(Jobs { is_anew: self.is_anew, ..Jobs::default() }) };
        let of = |job: &u32| Some((*job, *prepared.jobs.get(*job as usize)?)).filter(|_| !self.done.contains(job));
        let rounds = prepared.rounds.iter().map(|round| round.iter().filter_map(of).collect::<Vec<_>>());
        let rounds: Vec<Vec<(u32, f64)>> = rounds.filter(|round| !round.is_empty()).collect();
        let basis = if rounds.is_empty() { Vec::new() } else { prepared.game.clone() };
        Ok(Jobs { basis, rounds, is_anew: self.is_anew, ..Jobs::default() })
    }

    fn shown(&self, material: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError> {
        match &self.lacking {
            Some(lacking) => Ok(crate::policy::report::of_lacking(lacking)),
            None => self.written(material, contents, self.settings.replay.is_some()),
        }
    }

    fn report(&self, material: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError> {
        if let Some(lacking) = &self.lacking {
            return Err(StudyError::NoKeys(lacking.clone()).into());
        }
        self.written(material, contents, false)
    }
}

impl Policy {
    /// The report; `awaits_replay` as in [`PolicyReportInput`](crate::policy::report::PolicyReportInput).
    fn written(
        &self,
        material: ReportContext<'_>,
        contents: &Contents,
        awaits_replay: bool,
    ) -> Result<Report, WorkbenchError> {
        let ReportContext { files, problems } = material;
        let material = crate::policy::report::PolicyReportInput {
            study: &self.study,
            key: self.settings.key,
            highlight: &self.settings.highlight,
            awaits_replay,
            generation: if contents.deployables { self.files_to_save()?.generation } else { 0 },
            files,
            problems,
        };
        Ok(crate::policy::report::report(material, contents)?)
    }
}
