//! `collectune plan`: what to measure next.

use std::path::PathBuf;

use clap::{Args, ValueEnum, builder::PossibleValue};
use serde::Serialize;

use super::{
    CliError,
    arguments::{Machine, Measured},
    files, save, table, terminal,
};
use crate::{
    tuning::{
        aggregate::Target,
        launch::Launcher,
        plan::{PlanAnswer, PlanQuestion, agenda::PlannedLaunch, listing},
        platform::Platform,
        support::Library,
    },
    worker::executor::Executor,
};

/// Say what to measure next
///
/// One launch of nccl-tests measures all sizes with one algorithm, protocol and channel count. In this order: the
/// default, where it was not measured; sizes that a job's log calls and nobody measured; launches that are expected to
/// change an answer; ties that more runs would decide; sizes between two rules. Where nothing is left that would
/// change the answer, the plan ends before the budget does.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune plan merged_metrics.csv --runs 30 --script measure.sh
  collectune plan sweep.csv job.log --runs 12 --launcher srun --json")]
pub(super) struct Plan {
    /// Sweeps, and logs of jobs; - is the standard input
    #[arg(required = true, value_name = "SWEEP")]
    sweeps: Vec<PathBuf>,

    #[command(flatten)]
    measured: Measured,

    /// At most so many launches, repeats counted
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=PlanQuestion::MAX_RUNS as i64))]
    runs: u32,

    /// Launches of each configuration
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=PlanQuestion::MAX_REPEATS as i64))]
    repeats: u32,

    /// Channel counts to try, like 1,8,16 [default: 1, 2, 4, 8, 16, … up to the most that were measured]
    #[arg(long, value_name = "C,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=255))]
    channels: Vec<u32>,

    /// The library that is launched [default: as the sweep says, else rccl]
    #[arg(long, value_enum)]
    library: Option<Library>,

    #[command(flatten)]
    machine: Machine,

    /// The switches reduce by themselves (SHARP with its plugin): try CollNet, and NVLS between nodes
    #[arg(long)]
    sharp: bool,

    /// What starts the ranks
    #[arg(long, value_enum, default_value_t)]
    launcher: Launcher,

    /// Write the launches as a bash script
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,

    /// Write the launches as arguments of rccl-sweep
    #[arg(long, conflicts_with = "json")]
    sweep_arguments: bool,

    /// Seed of the order of the launches
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

impl ValueEnum for Launcher {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Mpirun, Self::Srun]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Mpirun => PossibleValue::new("mpirun").help("Open MPI"),
            Self::Srun => PossibleValue::new("srun").help("Slurm"),
        })
    }
}

impl Plan {
    pub(super) fn run(self) -> Result<(), CliError> {
        let opened = files::read_any(&self.sweeps, None, &self.measured, files::Reads::Sweeps)?;
        let jobs: Vec<u32> = opened.documents.jobs.iter().map(|(id, _)| *id).collect();
        files::say_no_sweep(&opened, &jobs);
        if opened.rows.is_empty() {
            return Err(CliError::NothingRead);
        }
        let mut bar = terminal::Bar::new();
        let mut executor = Executor::default();
        let loaded = executor.take_in(opened, Target::Time, &mut bar)?;
        let platform = self.machine.with(self.library, executor.tuning.platform());
        let question = PlanQuestion {
            platform: Some(Platform { sharp: self.sharp, ..platform }),
            runs: self.runs,
            repeats: self.repeats,
            channels: self.channels,
            launcher: self.launcher,
            seed: self.seed,
            ..PlanQuestion::default()
        };
        let answer = executor.tuning.plan(&question, &mut bar)?;
        drop(bar);
        terminal::say_notes(&loaded.notes);
        terminal::say_notes(&answer.notes);
        if let Some(path) = &self.script {
            save::save("script", path, &answer.script)?;
        }
        if self.json {
            return terminal::write_json(&json(&answer, executor.tuning.set.as_deref()));
        }
        if self.sweep_arguments {
            return terminal::write_file(&answer.sweep_arguments);
        }
        terminal::write(&table::of_listing(&answer.listing))
    }
}

#[derive(Serialize)]
struct Report<'a> {
    /// Which of several sets of measurements it goes on with.
    set: Option<&'a str>,
    launches: Vec<Launch<'a>>,
    notes: &'a [String],
}

/// One item under the names of the sweep's columns; `algo`, `proto` and `nchannels` are null for the default.
#[derive(Serialize)]
struct Launch<'a> {
    collective: &'static str,
    num_nodes: u32,
    num_gpus: u32,
    algo: Option<&'static str>,
    proto: Option<&'static str>,
    nchannels: Option<u32>,
    first_bytes: u64,
    last_bytes: u64,
    runs: u32,
    /// The times in µs of one operation of the first and of the last size: of this configuration, or the median of what
    /// was measured there.
    first_us: Option<f64>,
    last_us: Option<f64>,
    /// How long its launches take.
    seconds: Option<f64>,
    reason: &'static str,
    /// By how much busbw should rise with it, in per cent, as the root mean square over the measured sizes.
    expected_pct: Option<f64>,
    why: &'a str,
}

fn json(answer: &PlanAnswer, set: Option<&str>) -> String {
    fn launch(item: &PlannedLaunch) -> Launch<'_> {
        Launch {
            collective: item.collective.name(),
            num_nodes: item.scale.nodes,
            num_gpus: item.scale.ranks,
            algo: item.configuration.map(|c| c.algorithm.name()),
            proto: item.configuration.map(|c| c.protocol.name()),
            nchannels: item.configuration.map(|c| c.channels),
            first_bytes: item.sizes.first,
            last_bytes: item.sizes.last,
            runs: item.repeats,
            first_us: item.ends_us.map(|[first, _]| first),
            last_us: item.ends_us.map(|[_, last]| last),
            seconds: item.seconds,
            reason: listing::reason(item.reason),
            expected_pct: item.expected_pct,
            why: &item.why,
        }
    }
    let report = Report { set, launches: answer.items.iter().map(launch).collect(), notes: &answer.notes };
    // Strings, numbers and lists can always be written.
    serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
}
