//! The policy workbench: which arm ran where the logs don't say it, which key is shown, and in what strategies play.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

mod simulator;

use crate::{
    bandit::strategies::StrategyKind,
    collective::{Collective, Scale},
    conf::Reader,
    form::{ChoiceError, Choices, Control, Field},
    math::hash,
    policy::{
        arm::Arm,
        bands::{Bands, BandsError},
        read, replay,
        request::{Export, Highlight, LatencySource, LogSettings, ReplaySettings, Schedule, Settings},
        result::{PolicyOverview, PreparedReplay, StudyError},
        settings::Group,
        simulate,
        study::{NamedLog, PolicyStudy},
    },
    progress::Progress,
    report::{Contents, Report, TextFile},
    units::Size,
    workbench::{Jobs, ReportContext, Study, WorkbenchError},
};

/// The default command that the script runs.
const COMMAND: &str = "./job";

fn wrong(label: &str, value: &str, expected: &str) -> WorkbenchError {
    let value = value.chars().take(40).collect();
    ChoiceError { label: label.to_owned(), value, expected: expected.to_owned() }.into()
}

/// Whether there is something to see without a log: a simulation is chosen.
#[must_use]
pub fn is_simulated(choices: &Choices) -> bool {
    simulator::is_chosen(choices)
}

/// The state of the policy workbench.
#[derive(Default)]
pub struct Policy {
    study: PolicyStudy,
    choices: Choices,
    studied: Option<PolicyOverview>,
    start: Option<ReplaySettings>,
    /// With the hash of its game, by which workers name it.
    prepared: Option<(u64, PreparedReplay)>,
    /// The results of the replay so far, by job.
    played: BTreeMap<u32, Vec<u8>>,
    done: BTreeSet<u32>,
    is_anew: bool,
}

/// The result of a job.
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
    #[must_use]
    pub fn new(logs: Vec<NamedLog>) -> Self {
        Self { study: PolicyStudy::new(logs), ..Self::default() }
    }

    /// The study.
    pub const fn study(&mut self) -> &mut PolicyStudy {
        &mut self.study
    }

    fn arm(label: &str, text: &str) -> Result<Arm, WorkbenchError> {
        Arm::parse(text).ok_or_else(|| wrong(label, text, Arm::EXPECTED))
    }

    /// The text that was entered for a key, unless it is empty.
    fn text(&self, key: &str) -> Option<&str> {
        self.choices.get(key).map(str::trim).filter(|text| !text.is_empty())
    }

    fn settings(&self) -> Result<Settings, WorkbenchError> {
        let arms = self.text("arms").unwrap_or_default().split(',').map(str::trim).filter(|arm| !arm.is_empty());
        let size = self.choices.parsed::<Size>("size", Size::EXPECTED)?;
        let nodes = self.choices.parsed::<u32>("nodes", "a whole number")?;
        let ranks = self.choices.parsed::<u32>("ranks", "a whole number")?;
        let scale = match nodes.zip(ranks) {
            Some((nodes, ranks)) if nodes < 1 || nodes > ranks => {
                let expected = format!("a number of nodes from 1 to that of the ranks, {ranks}");
                return Err(wrong("nodes", &nodes.to_string(), &expected));
            }
            scale => scale.map(|(nodes, ranks)| Scale { nodes, ranks }),
        };
        let collective = match self.text("collective") {
            None => None,
            Some(name) => {
                Some(Collective::parse(name).ok_or_else(|| wrong("collective", name, &Collective::expected()))?)
            }
        };
        let mut logs = Vec::new();
        for number in 1..=self.study.logs().len() {
            let of = |what: &str| format!("{what}.{number}");
            let arm = self.text(&of("arm")).map(|label| Self::arm("arm", label)).transpose()?;
            logs.push(LogSettings {
                arm,
                from_line: self.choices.parsed::<u32>(&of("from"), "the number of a line")?.unwrap_or(0),
                collective,
                scale,
                size_bytes: size.map(|size| size.0),
                overlap: self.text(&of("overlap")).map(|value| value == "1"),
            });
        }
        let bands = match self.text("bands") {
            None => Bands::default(),
            Some(bands) => bands.parse().map_err(|error: BandsError| wrong("bands", bands, &error.to_string()))?,
        };
        let mut policies = Vec::new();
        let mut notes = Vec::new();
        if nodes.is_some() != ranks.is_some() {
            notes.push("Of nodes and ranks one is given: it is not used without the other".to_owned());
        }
        if let Some(text) = self.text("schedule") {
            let read =
                read::policy(text).map_err(|error| wrong("schedule", text, &format!("a policy file: it {error}")))?;
            notes.extend(read.notes.iter().map(|note| format!("The policy file of the schedule: {note}")));
            policies.extend(read.policy);
        }
        Ok(Settings {
            logs,
            schedule: Schedule {
                arms: arms.map(|arm| Self::arm("arms", arm)).collect::<Result<_, _>>()?,
                warm_up: self.choices.parsed("warm-up", "a whole number")?,
                turns: self.choices.parsed("turns", "a whole number")?,
                policies,
                notes,
            },
            bands,
            library: self.text("library").map(str::to_owned),
            seed: self.choices.parsed("seed", "a whole number")?.unwrap_or(0),
        })
    }

    /// The index of the key that is shown.
    fn key(&self) -> Result<u32, WorkbenchError> {
        let keys = self.studied.as_ref().map_or(0, |studied| studied.keys.len()) as u32;
        let chosen = self.choices.parsed::<u32>("key", "the number of a key")?.unwrap_or(1).max(1) - 1;
        Ok(chosen.min(keys.saturating_sub(1)))
    }

    /// In what strategies play; `None` where the key that is shown can't be replayed.
    fn world(&self) -> Result<Option<LatencySource>, WorkbenchError> {
        let key = self.key()?;
        let can = self.studied.as_ref().is_some_and(|of| of.can_replay.get(key as usize) == Some(&true));
        let simulated = simulator::source(&self.choices, !self.study.is_empty())?;
        Ok(simulated.or(can.then_some(LatencySource::Key(key))))
    }

    fn start(&self) -> Result<Option<ReplaySettings>, WorkbenchError> {
        let Some(world) = self.world()? else { return Ok(None) };
        Ok(Some(ReplaySettings {
            world,
            steps: self.choices.parsed::<u32>("steps", "a whole number")?.unwrap_or(2000),
            seeds: self.choices.parsed::<u32>("seeds", "a whole number")?.unwrap_or(200),
            strategies: simulator::strategies(&self.choices)?,
        }))
    }

    /// What charts emphasise.
    fn highlight(&self) -> Highlight {
        let strategy = self.choices.parsed::<u32>("strategy", "").ok().flatten();
        Highlight {
            arm: self.text("arm").map(str::to_owned),
            strategy: strategy.and_then(|number| number.checked_sub(1)),
        }
    }

    /// The fields on facts that logs lack.
    fn attribution(&self) -> Vec<Field> {
        let field = |key: &str, label: &str, control| {
            Field::of_choices(&self.choices, key, label, control, "").of(Group::Attribution)
        };
        let arms = || ["auto", "tree/simple", "tree/ll128", "ring/simple", "ring/ll128"].map(str::to_owned).to_vec();
        let mut fields = Vec::new();
        for (number, named) in (1..).zip(self.study.logs()) {
            let name = &named.name;
            let of = |what: &str| format!("{what}.{number}");
            fields.push(field(&of("arm"), &format!("{name}: arm"), Control::Text(arms())).hinted("of every line"));
            fields.push(field(&of("from"), &format!("{name}: from line"), Control::Number));
            let modes = [("", "as the log says"), ("0", "no"), ("1", "yes")];
            let modes = modes.map(|(value, label)| (value.to_owned(), label.to_owned())).into();
            fields.push(field(&of("overlap"), &format!("{name}: overlap"), Control::One(modes)));
        }
        fields.extend([
            field("arms", "Arms by number, or in turns", Control::Text(vec![simulate::ARMS.join(",")]))
                .hinted("tree/simple,…,auto"),
            field("warm-up", "Calls before the first line", Control::Number).hinted("arms took turns"),
            field("turns", "Calls that took turns", Control::Number).hinted("all"),
            field("schedule", "Policy file by whose schedule arms ran", Control::Lines),
            field("collective", "Collective", Control::Text(vec!["allreduce".to_owned()]))
                .hinted("where a log does not say it"),
            field("size", "Size", Control::Text(Vec::new())).hinted("where a log does not say it"),
            field("nodes", "Nodes", Control::Number).hinted("where a log does not say it"),
            field("ranks", "Ranks", Control::Number).hinted("where a log does not say it"),
            field("bands", "Bands", Control::Text(Bands::NAMED.map(|(name, _)| name.to_owned()).to_vec()))
                .hinted("seven"),
            field("library", "Library version", Control::Text(Vec::new())),
        ]);
        fields
    }

    /// The fields on what charts emphasise.
    fn highlights(&self) -> Vec<Field> {
        let mut fields = Vec::new();
        let arms = self.studied.as_ref().and_then(|studied| studied.results.get(self.key().ok()? as usize));
        if let Some(of) = arms {
            let mut options = vec![(String::new(), "all arms".to_owned())];
            options.extend(of.arms.iter().map(|arm| arm.arm.to_string()).map(|name| (name.clone(), name)));
            let field = Field::of_choices(&self.choices, "arm", "Arm in colour", Control::One(options), "");
            fields.push(field.of(Group::Key).picked());
        }
        if let Some(start) = &self.start {
            let mut options = vec![(String::new(), "all".to_owned())];
            let titles = start.strategies.iter().map(StrategyKind::title);
            options.extend((1..).zip(titles).map(|(number, title): (u32, String)| (number.to_string(), title)));
            let field = Field::of_choices(&self.choices, "strategy", "Strategy in colour", Control::One(options), "");
            fields.push(field.of(Group::Strategies).picked());
        }
        fields
    }

    /// The fields on exported files.
    fn file_fields(&self) -> Vec<Field> {
        let generation = self.study.next_generation().to_string();
        let field =
            |key: &str, label: &str, control, usual: &str| Field::of_choices(&self.choices, key, label, control, usual);
        vec![
            field("generation", "Generation of the policy file", Control::Number, &generation).of(Group::Files),
            field("command", "Command of the script", Control::Text(Vec::new()), COMMAND).of(Group::Files),
        ]
    }

    /// The generation of the policy file.
    fn generation(&self) -> Result<u64, WorkbenchError> {
        let chosen = self.choices.parsed::<u64>("generation", "a whole number")?;
        Ok(chosen.unwrap_or_else(|| self.study.next_generation()))
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
        let settings = self.settings()?;
        if !self.study.is_empty() && self.studied.as_ref().is_none_or(|studied| studied.settings != settings) {
            (self.studied, self.start) = (None, None);
            self.studied = Some(self.study.study(settings, progress)?);
        }
        let start = self.start()?;
        self.is_anew = start != self.start || start.is_none();
        if self.is_anew {
            (self.played, self.done, self.prepared) = (BTreeMap::new(), BTreeSet::default(), None);
            self.prepared = match &start {
                Some(start) => {
                    let prepared = self.study.prepare(start)?;
                    Some((hash(&prepared.game), prepared))
                }
                None => None,
            };
            self.start = start;
        }
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
        self.study.bring_together(&prepared.game, &played, &self.highlight())?;
        Ok(())
    }

    fn form(&self) -> Result<Vec<Field>, WorkbenchError> {
        let mut fields = Vec::new();
        if let Some(studied) = self.studied.as_ref().filter(|studied| studied.keys.len() > 1) {
            let keys = (1..).zip(studied.keys.iter().zip(&studied.verdicts));
            let keys = keys.map(|(number, (key, verdict)): (u32, _)| (number.to_string(), format!("{key}: {verdict}")));
            fields.push(Field::of_choices(&self.choices, "key", "Key", Control::One(keys.collect()), "1"));
        }
        if !self.study.is_empty() {
            fields.extend(self.attribution());
            fields.extend(self.file_fields());
        }
        fields.extend(simulator::fields(&self.choices, !self.study.is_empty()));
        fields.extend(self.highlights());
        Ok(fields)
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
            ("policy", _) => (Export::Policy(self.generation()?), 0),
            ("script", _) => (Export::Script(self.text("command").unwrap_or(COMMAND).to_owned()), 0),
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
        Ok(Jobs { basis, rounds, is_anew: self.is_anew, goes_on: false })
    }

    fn report(&self, material: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError> {
        let ReportContext { files, problems } = material;
        let highlight = self.highlight();
        let material = crate::policy::report::PolicyReportInput {
            study: &self.study,
            key: self.key()?,
            highlight: &highlight,
            generation: if contents.deployables { self.generation()? } else { 0 },
            files,
            problems,
        };
        Ok(crate::policy::report::report(material, contents)?)
    }
}
