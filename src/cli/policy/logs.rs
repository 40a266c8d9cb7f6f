//! Which logs, and what their owner says of them.

use std::path::PathBuf;

use clap::Args;

use crate::{
    cli::{
        arguments::{Measured, UntoldScale},
        error::{CliError, refuse},
        files::{self, Reads},
        terminal,
    },
    collective::Collective,
    policy::{
        arm::Arm,
        bands::Bands,
        read::{self, NamedLog, PolicyError},
        request::{LogSettings, Schedule, Settings},
        result::PolicyOverview,
        study::PolicyStudy,
    },
    report::Workbench,
    text::lossy,
    units::Size,
};

#[derive(Args)]
pub(super) struct Logs {
    /// Logs, or folders of them; NCCL_TUNER_REWARD_FILE, or /tmp/nccl_tuner_rewards_*.log, where none is given
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// The arm of all lines of a log: PART_OF_NAME=tree/simple, or =auto
    #[arg(long, value_name = "LOG=ARM", value_parser = of_log(str::parse::<Arm>))]
    arm: Vec<(String, Arm)>,

    /// The first line of a log that counts: PART_OF_NAME=21
    #[arg(long, value_name = "LOG=LINE", value_parser = of_log(line))]
    from: Vec<(String, u32)>,

    /// Whether the job overlaps collectives with computation: PART_OF_NAME=0 or =1
    #[arg(long, value_name = "LOG=0|1", value_parser = of_log(overlap))]
    overlap: Vec<(String, bool)>,

    /// The arms in the order of their numbers or turns: tree/simple,tree/ll128,ring/simple,auto
    #[arg(long, value_name = "ARMS", value_delimiter = ',')]
    arms: Vec<Arm>,

    /// Arms took turns, and this many calls came before the first line of a log
    #[arg(long, value_name = "CALLS")]
    warm_up: Option<u32>,

    /// The number of calls in which arms took turns, warm-up included [default: NCCL_TUNER_EXPLORE_ROUNDS times the
    /// number of arms]
    #[arg(long, value_name = "CALLS")]
    turns: Option<u32>,

    /// The policy file by whose schedule arms ran, or records of epochs; more than one where the log tells generations
    #[arg(long, value_name = "FILE", num_args = 1..)]
    schedule: Vec<PathBuf>,

    /// The collective, where a log does not say it
    #[arg(long, value_name = "COLLECTIVE")]
    collective: Option<Collective>,

    /// The size, where a log does not say it
    #[arg(long, value_name = "SIZE")]
    size: Option<Size>,

    #[command(flatten)]
    scale: UntoldScale,

    /// Bands of sizes in the policy: six, seven, eight, or ascending bounds separated by commas
    #[arg(long, value_name = "BANDS", default_value = "seven")]
    bands: Bands,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
}

/// Parses a part of a log's name, `=`, and a value.
fn of_log<T, E: ToString>(value: fn(&str) -> Result<T, E>) -> impl Fn(&str) -> Result<(String, T), String> + Clone {
    move |text| {
        let (name, text) = text.rsplit_once('=').ok_or("a part of the log's name, =, and a value are needed")?;
        Ok((name.to_owned(), value(text).map_err(|error| error.to_string())?))
    }
}

fn line(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|line| *line > 0).ok_or_else(|| format!("{text} is no number of a line"))
}

fn overlap(text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(format!("{text} is neither 0 nor 1")),
    }
}

/// The value that an option gives for a log by a part of its name.
fn given<T: Copy + PartialEq>(option: &str, pairs: &[(String, T)], log: &str) -> Result<Option<T>, CliError> {
    let mut of_log = pairs.iter().filter(|(part, _)| log.contains(part.as_str()));
    let Some((first, value)) = of_log.next() else { return Ok(None) };
    match of_log.find(|(_, other)| other != value) {
        None => Ok(Some(*value)),
        Some((second, _)) => refuse(format!(
            "{option} {first}=… and {option} {second}=… both name {log}, and say different things of it"
        )),
    }
}

/// Every part of a name must be of some log: what is given for none would be of no use.
fn are_logs<T>(option: &str, pairs: &[(String, T)], logs: &[NamedLog]) -> Result<(), CliError> {
    match pairs.iter().find(|(part, _)| logs.iter().all(|named| !named.name.contains(part.as_str()))) {
        None => Ok(()),
        Some((part, _)) => {
            let names: Vec<&str> = logs.iter().map(|named| named.name.as_str()).collect();
            refuse(format!("{option} {part}=… names no log; there are {}", names.join(", ")))
        }
    }
}

impl Logs {
    /// Reads the logs and studies them; what must be known is said. Fails if a log can't be read, or what is said of
    /// the logs can't be.
    pub(super) fn study(&self, library: Option<String>) -> Result<(PolicyStudy, PolicyOverview), CliError> {
        let paths = self.paths()?;
        let opened = files::read(&paths, &Measured::default(), Reads::Of(Workbench::Policy))?;
        let logs: Vec<NamedLog> = opened.parts.rewards.into_iter().map(|(_, log)| log).collect();
        let settings = self.settings(&logs, library)?;
        let mut study = PolicyStudy::new(logs);
        let studied = study.study(settings, &mut terminal::Bar::new())?;
        let with_option = |note: &String| match note.split_once("name it (the arm of the whole file, ") {
            Some((before, after)) => format!("{before}name it (--arm LOG=ARM, the arm of the whole file, {after}"),
            None => note.clone(),
        };
        terminal::say_notes(studied.notes.iter().map(with_option));
        Ok((study, studied))
    }

    /// The logs that are meant.
    fn paths(&self) -> Result<Vec<PathBuf>, CliError> {
        if !self.logs.is_empty() {
            return Ok(self.logs.clone());
        }
        if let Some(path) = std::env::var_os("NCCL_TUNER_REWARD_FILE").filter(|path| !path.is_empty()) {
            return Ok(vec![path.into()]);
        }
        let entries = std::fs::read_dir("/tmp").into_iter().flatten().flatten();
        let is_log = |name: &str| name.starts_with("nccl_tuner_rewards_") && name.ends_with(".log");
        let mut found: Vec<PathBuf> =
            entries.filter(|entry| is_log(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect();
        found.sort();
        if found.is_empty() {
            return refuse("a log is needed: none is given, and there is no /tmp/nccl_tuner_rewards_*.log");
        }
        Ok(found)
    }

    fn settings(&self, logs: &[NamedLog], library: Option<String>) -> Result<Settings, CliError> {
        are_logs("--arm", &self.arm, logs)?;
        are_logs("--from", &self.from, logs)?;
        are_logs("--overlap", &self.overlap, logs)?;
        let mut policies = Vec::new();
        let mut notes = Vec::new();
        for path in &self.schedule {
            let name = files::name(path);
            match read::policy(&lossy(&files::bytes(path)?)) {
                Ok(log) => {
                    notes.extend(log.notes.iter().map(|note| format!("{name}: {note}")));
                    policies.extend(log.policy);
                }
                // Of all records of a job, some only say that nothing changes.
                Err(PolicyError::NoPolicy) => {}
                Err(error) => return refuse(format!("{name} {error}")),
            }
        }
        if !self.schedule.is_empty() && policies.is_empty() {
            return refuse("--schedule: none of these files holds a policy");
        }
        let variable = std::env::var("NCCL_TUNER_EXPLORE_ROUNDS").ok();
        let rounds = variable.filter(|_| self.turns.is_none() && !self.arms.is_empty()).and_then(|text| {
            let rounds = text.trim().parse::<u32>().ok().filter(|rounds| *rounds > 0);
            if rounds.is_none() {
                let why = format!("NCCL_TUNER_EXPLORE_ROUNDS={text} is no number above 0, and is not used");
                terminal::say("warning", &why);
            }
            rounds
        });
        let turns = self.turns.or(rounds.map(|rounds| rounds.saturating_mul(self.arms.len() as u32)));
        let scale = self.scale.scale()?;
        let mut settings = Settings {
            logs: Vec::new(),
            schedule: Schedule { arms: self.arms.clone(), warm_up: self.warm_up, turns, policies, notes },
            bands: self.bands.clone(),
            library,
            seed: self.seed,
        };
        for named in logs {
            settings.logs.push(LogSettings {
                arm: given("--arm", &self.arm, &named.name)?,
                from_line: given("--from", &self.from, &named.name)?.unwrap_or(0),
                collective: self.collective,
                scale,
                size_bytes: self.size.map(|size| size.0),
                overlap: given("--overlap", &self.overlap, &named.name)?,
            });
        }
        Ok(settings)
    }
}
