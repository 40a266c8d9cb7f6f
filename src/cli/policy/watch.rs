//! `collectune policy watch`: learns from a job's log while it runs, and says what its ranks do next.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use clap::{Args, builder::PossibleValuesParser};

use crate::{
    bandit::strategies::StrategyKind,
    cli::{
        arguments,
        error::{CliError, refuse, told},
        files, save, terminal,
    },
    intake::{self, FileContent},
    policy::{
        file::Policy,
        record::{self, Active, First, Follow},
        watch::{LearntKey, NothingLearnt, forgotten, next},
    },
    progress::Silent,
    report::Workbench,
    text::Problems,
    units::count,
};

/// The strategies by name, the usual one first.
const STRATEGIES: [&str; 6] = ["epoch-thompson", "eps-greedy", "eps-decay", "ucb1", "ucb1-raw", "uniform"];

/// Learn from a job's reward log while it runs, and write the next policy into the folder in which the plugin's ranks
/// agree
///
/// Every rank of a communicator follows the same record; this writes next.policy, which becomes one at the next epoch.
/// The log's lines need an arm, or call and generation.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune policy watch /tmp/nccl_tuner_rewards_00000000deadbeef.log /shared/tuner/00000000deadbeef
  collectune policy watch rewards.log \"$COLLECTUNE_TUNER_DIR\" --strategy epoch-thompson --keep 0.9")]
pub(in crate::cli) struct Watch {
    /// The log, to which the job appends
    #[arg(value_name = "LOG")]
    log: PathBuf,

    /// COLLECTUNE_TUNER_DIR, or a communicator's folder in it
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Which strategy; NCCL_TUNER_STRATEGY, or epoch-thompson, where not given
    #[arg(long, value_name = "STRATEGY", value_parser = PossibleValuesParser::new(STRATEGIES))]
    strategy: Option<String>,

    /// Weight of earlier rewards after each generation; less than 1 where the machine drifts
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = arguments::number(f64::MIN_POSITIVE..=1.0, KEEP))]
    keep: f64,

    /// Seconds between two checks of the log
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,

    /// Check once and end; exit code 1 where no policy was written
    #[arg(long)]
    once: bool,
}

const KEEP: &str = "what the past is worth is above 0 and at most 1";

impl Watch {
    pub(super) fn run(self) -> Result<(), CliError> {
        let strategy = self.strategy()?;
        if !matches!(strategy, StrategyKind::EpochThompson { .. }) {
            arguments::say_unused(&["keep"], "only epoch-thompson forgets");
        }
        // Of each folder what was said last: what is waited for is said once.
        let mut told = BTreeMap::new();
        loop {
            let folders = folders(&self.folder);
            let mut looks: Vec<(PathBuf, Result<Look, CliError>)> =
                folders.into_iter().map(|folder| (folder.clone(), self.look(&folder, strategy))).collect();
            if looks.is_empty() {
                looks.push((self.folder.clone(), Ok(Look::Waits(self.no_folder()))));
            }
            let mut has_written = false;
            for (folder, look) in looks {
                let (kind, sentence) = match look {
                    Ok(Look::Written(said)) => {
                        has_written = true;
                        ("note", said)
                    }
                    Ok(Look::Waits(why)) => ("note", format!("{}: nothing was written: {why}", files::name(&folder))),
                    // A folder that vanishes, or a log that is torn, may come back.
                    Err(CliError::Told(why)) => ("warning", why),
                    Err(CliError::Found) => continue,
                };
                if told.insert(folder, sentence.clone()).as_ref() != Some(&sentence) {
                    terminal::say(kind, &sentence);
                }
            }
            if self.once {
                return if has_written { Ok(()) } else { refuse("no policy was written") };
            }
            thread::sleep(Duration::from_secs(self.every));
        }
    }

    /// The reason why there is nothing to watch where no rank has left a record.
    fn no_folder(&self) -> String {
        let name = files::name(&self.folder);
        if self.folder.is_dir() {
            format!("{name} holds no communicator's epoch-000000; waiting for a job with COLLECTUNE_TUNER_DIR={name}")
        } else {
            format!("{name} is not there; waiting for a job with COLLECTUNE_TUNER_DIR={name}")
        }
    }

    /// The strategy, and the variables that tell its parameters.
    fn strategy(&self) -> Result<StrategyKind, CliError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
        let number = |name: &'static str, usual: f64, most: f64| {
            let Some(text) = variable(name) else { return Ok(usual) };
            let number = text.trim().parse::<f64>().ok().filter(|n| (0.0..=most).contains(n));
            number.ok_or_else(|| told(format!("{name}={text} is no number from 0 to {most}")))
        };
        let named = self.strategy.clone().or_else(|| variable("NCCL_TUNER_STRATEGY"));
        Ok(match named.as_deref().unwrap_or(STRATEGIES[0]).trim().replace('_', "-").as_str() {
            "epoch-thompson" => StrategyKind::EpochThompson { calls: 64, floor: 0.01, keep: self.keep },
            "eps-greedy" => StrategyKind::EpsGreedy { epsilon: number("NCCL_TUNER_EPS", 0.1, 1.0)? },
            "eps-decay" => StrategyKind::EpsDecay { c: 5.0 },
            "ucb1" => StrategyKind::Ucb1,
            "ucb1-raw" => StrategyKind::Ucb1Raw { c: number("NCCL_TUNER_UCB_C", std::f64::consts::SQRT_2, 1e6)? },
            "uniform" => StrategyKind::Uniform,
            other => {
                return refuse(format!(
                    "NCCL_TUNER_STRATEGY={other} is no strategy that is known: one of {}",
                    STRATEGIES.join(", ")
                ));
            }
        })
    }

    /// Writes the next policy, if there is one.
    fn look(&self, folder: &Path, strategy: StrategyKind) -> Result<Look, CliError> {
        let waits = |why: String| Ok(Look::Waits(why));
        let policies = policies(folder)?;
        let Some(current) = policies.last() else {
            return waits(
                "its ranks take up no new policies; that is for jobs with COLLECTUNE_TUNER_MODE=online, on NCCL or RCCL \
                 from 2.28 on"
                    .to_owned(),
            );
        };
        let path = folder.join("next.policy");
        // What was offered and not yet followed stays.
        let offered = fs::read(&path).ok().and_then(|bytes| Policy::read(&bytes).ok()).map(|of| of.policy.generation);
        if let Some(offered) = offered.filter(|offered| *offered > current.generation) {
            return waits(format!("generation {offered} is there and no rank has begun an epoch since"));
        }
        if !self.log.exists() {
            return waits(format!("the log {} is not there yet", files::name(&self.log)));
        }
        let bytes = files::bytes(&self.log)?;
        let name = files::name(&self.log);
        if bytes.is_empty() {
            return waits(NothingLearnt::NoLines.to_string());
        }
        let (report, content) = intake::open(&bytes[..], &name, bytes.len() as u64, 0, None, &mut Silent);
        let FileContent::Rewards(log) = content else {
            let why = files::refusal(&name, &report.outcome, files::Reads::Of(Workbench::Policy));
            return refuse(why.unwrap_or_else(|| format!("{name} is no reward log")));
        };
        match next(&policies, &log, strategy) {
            Ok((policy, learnt)) => {
                files::tell(&report, files::Reads::Of(Workbench::Policy), &[]);
                terminal::say_notes(forgotten(current, &log));
                save::save("policy", &path, policy.text())?;
                Ok(Look::Written(said(&path, &policy, &learnt)))
            }
            // What is left out may be why there is too little to learn from.
            Err(why) => waits(match report.outcome.problems() {
                Problems { count: 0, .. } => why.to_string(),
                problems => {
                    let first = problems.kept.first().map_or_else(String::new, |first| format!(", the first: {first}"));
                    format!("{why}; {} of {name} can't be read{first}", count(problems.count, "line"))
                }
            }),
        }
    }
}

/// The result of a look at a communicator's folder.
enum Look {
    /// A policy was written; what it says.
    Written(String),
    /// Nothing can be done yet; the text says what is missing.
    Waits(String),
}

fn said(path: &Path, policy: &Policy, learnt: &[LearntKey]) -> String {
    let one = |of: &LearntKey| {
        let arms = policy.arms.iter().zip(&of.counts).map(|(arm, count)| format!("{arm} {count}"));
        let entry = &policy.keys[of.key];
        format!("{}, band {}: {}", entry.collective, entry.band, arms.collect::<Vec<_>>().join(", "))
    };
    let keys: Vec<String> = learnt.iter().map(one).collect();
    format!("{}: generation {}; {}", files::name(path), policy.generation, keys.join("; "))
}

/// The communicators' folders: the folder itself, or those in it.
fn folders(folder: &Path) -> Vec<PathBuf> {
    if folder.join(record_name(0)).exists() {
        return vec![folder.to_owned()];
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.join(record_name(0)).exists()).collect();
    folders.sort();
    folders
}

fn record_name(epoch: u64) -> String {
    format!("epoch-{epoch:06}")
}

/// The policies of all records, the one that is followed now last; none where the ranks take up no new ones.
fn policies(folder: &Path) -> Result<Vec<Policy>, CliError> {
    let mut policies = Vec::new();
    for epoch in 0.. {
        let path = folder.join(record_name(epoch));
        if !path.exists() {
            break;
        }
        let bytes = files::bytes(&path)?;
        let carried = record::policy(&bytes).map_err(|why| told(format!("{} {why}", files::name(&path))))?;
        let takes_up = |first| matches!(first, First::Active(Active { follow: Follow::Online, .. }));
        if epoch == 0 && !First::read(&bytes).is_some_and(takes_up) {
            break;
        }
        policies.extend(carried.map(|reading| reading.policy));
    }
    Ok(policies)
}
