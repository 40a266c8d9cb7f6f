//! Which logs, and what their owner says of them.

use std::path::PathBuf;

use clap::Args;

use super::{
    super::{CliError, arguments::Measured, files},
    told,
};
use crate::{
    cli::terminal,
    collective::{Collective, Scale},
    policy::{
        arm::Arm,
        attribution::{LogSettings, Schedule},
        bands::Bands,
        read::{self, PolicyError},
        request::{Settings, Studied},
        study::{NamedLog, Study},
    },
    text::lossy,
    units::Size,
};

#[derive(Args)]
pub(super) struct Logs {
    /// Logs, or folders of them; NCCL_TUNER_REWARD_FILE, or /tmp/nccl_tuner_rewards_*.log, where none is given
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// The arm of all lines of a log: PART_OF_NAME=tree/simple, or =auto
    #[arg(long, value_name = "LOG=ARM", value_parser = pair)]
    arm: Vec<(String, String)>,

    /// The first line of a log that counts: PART_OF_NAME=21
    #[arg(long, value_name = "LOG=LINE", value_parser = pair)]
    from: Vec<(String, String)>,

    /// Whether the job computed meanwhile: PART_OF_NAME=0 or =1
    #[arg(long, value_name = "LOG=0|1", value_parser = pair)]
    overlap: Vec<(String, String)>,

    /// The arms by their numbers, of a column of numbers or that took turns: tree/simple,tree/ll128,ring/simple,auto
    #[arg(long, value_name = "ARMS", value_delimiter = ',', value_parser = arm)]
    arms: Vec<Arm>,

    /// Arms took turns, and so many calls came before the first line of a log
    #[arg(long, value_name = "CALLS")]
    warm_up: Option<u32>,

    /// Only so many calls took turns, warm-up included; NCCL_TUNER_EXPLORE_ROUNDS times the number of arms where not given
    #[arg(long, value_name = "CALLS")]
    turns: Option<u32>,

    /// The policy file by whose schedule arms ran, or records of epochs; more than one where the log tells generations
    #[arg(long, value_name = "FILE", num_args = 1..)]
    schedule: Vec<PathBuf>,

    /// The collective, where a log does not say it
    #[arg(long, value_name = "COLLECTIVE", value_parser = collective)]
    collective: Option<Collective>,

    /// The size, where a log does not say it
    #[arg(long, value_name = "SIZE")]
    size: Option<Size>,

    /// Nodes, where a log does not say them
    #[arg(long, value_name = "N", requires = "ranks", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,

    /// Ranks, where a log does not say them
    #[arg(long, value_name = "N", requires = "nodes", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,

    /// How sizes are brought together for the plugin: six, seven, eight, or ascending bounds between commas
    #[arg(long, value_name = "BANDS", default_value = "seven")]
    bands: String,

    /// The library's version, for files
    #[arg(long, value_name = "VERSION")]
    library: Option<String>,

    /// Of all that is random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.rsplit_once('=').ok_or("a part of the log's name, =, and a value are needed")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn arm(text: &str) -> Result<Arm, String> {
    Arm::parse(text).ok_or_else(|| format!("{text} is neither auto nor algorithm/protocol[/channels]"))
}

fn collective(text: &str) -> Result<Collective, String> {
    Collective::parse(text).ok_or_else(|| format!("{text} is no collective that is known"))
}

impl Logs {
    /// Reads the logs and studies them; what must be known is said.
    pub(super) fn study(&self) -> Result<(Study, Studied), CliError> {
        let paths = self.paths()?;
        let opened =
            files::read_any(&paths, None, &Measured::default(), files::Reads::Of(crate::report::Workbench::Policy))?;
        let logs: Vec<NamedLog> = opened.parts.rewards.into_iter().map(|(_, log)| log).collect();
        let settings = self.settings(&logs)?;
        let mut study = Study::new(logs);
        let studied = study.study(settings, &mut terminal::Bar::new()).map_err(told)?;
        terminal::say_notes(&studied.notes);
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
            return Err(CliError::Typed(
                "a log is needed: none is given, and there is no /tmp/nccl_tuner_rewards_*.log",
            ));
        }
        Ok(found)
    }

    fn settings(&self, logs: &[NamedLog]) -> Result<Settings, CliError> {
        let mut policies = Vec::new();
        for path in &self.schedule {
            let name = files::name(path);
            match read::policy(&lossy(&files::bytes(path)?)) {
                Ok(log) => {
                    log.notes.iter().for_each(|note| terminal::say("note", &format!("{name}: {note}")));
                    policies.extend(log.policy);
                }
                // Of all records of a job, some only say that nothing changes.
                Err(PolicyError::NoPolicy) => {}
                Err(error) => return Err(CliError::Told(format!("{name} {error}"))),
            }
        }
        let rounds = std::env::var("NCCL_TUNER_EXPLORE_ROUNDS").ok().and_then(|rounds| rounds.parse::<u32>().ok());
        let turns = self.turns.or(rounds.map(|rounds| rounds.saturating_mul(self.arms.len() as u32)));
        let mut settings = Settings {
            logs: Vec::new(),
            schedule: Schedule { arms: self.arms.clone(), warm_up: self.warm_up, turns, policies },
            bands: Bands::parse(&self.bands).map_err(|error| CliError::Told(error.to_string()))?,
            library: self.library.clone(),
            seed: self.seed,
        };
        for named in logs {
            let of = |pairs: &[(String, String)]| {
                pairs.iter().find(|(part, _)| named.name.contains(part.as_str())).map(|(_, value)| value.clone())
            };
            let given = of(&self.arm).map(|text| arm(&text)).transpose().map_err(CliError::Told)?;
            let line = of(&self.from).map(|text| text.parse::<u32>().map_err(|_not_a_number| text)).transpose();
            let from_line = line.map_err(|text| CliError::Told(format!("--from: {text} is not a line")))?;
            let overlap = match of(&self.overlap).as_deref() {
                None => None,
                Some("0") => Some(false),
                Some("1") => Some(true),
                Some(_) => return Err(CliError::Typed("--overlap is LOG=0 or LOG=1")),
            };
            settings.logs.push(LogSettings {
                arm: given,
                from_line: from_line.unwrap_or(0),
                collective: self.collective,
                scale: self.nodes.zip(self.ranks).map(|(nodes, ranks)| Scale { nodes, ranks }),
                size_bytes: self.size.map(|size| size.0),
                overlap,
            });
        }
        Ok(settings)
    }
}
