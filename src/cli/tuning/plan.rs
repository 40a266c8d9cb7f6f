//! `collectune tuning plan`: what to measure next.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::FromSweeps;
use crate::{
    cli::{
        arguments::{self, LEARNING, Machine},
        error::CliError,
        json::object,
        save, table, terminal,
    },
    collective::Collective,
    launch::Launcher,
    tuning::{
        aggregate::Target,
        plan::{PlanAnswer, PlanQuestion, PlannedLaunch, listing},
        platform::{Library, Platform},
    },
    worker::executor::Executor,
};

/// Say what to measure next
///
/// One launch of nccl-tests measures all sizes with one algorithm, protocol and channel count. In this order: the
/// default, where it was not measured; unmeasured sizes that a job's log calls; launches that are expected to
/// change an answer; ties that more runs would decide; sizes between two rules. Where nothing is left that would
/// change the answer, the plan ends before the budget does.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune tuning plan merged_metrics.csv --runs 30 --script measure.sh
  collectune tuning plan sweep.csv job.log --runs 12 --launcher srun --json")]
pub(in crate::cli) struct Plan {
    /// Sweeps, and logs of jobs; - is the standard input
    #[arg(required = true, value_name = "SWEEP")]
    sweeps: Vec<PathBuf>,

    /// Go on from what the model recommends, as the page does, not from the best that was measured
    #[arg(long)]
    learn: bool,

    /// Plan for one collective only, like all_reduce
    #[arg(long, value_name = "C", requires = "nodes")]
    collective: Option<Collective>,

    /// Nodes of the collective that is planned for
    #[arg(long, value_name = "N", requires_all = ["collective", "ranks"], value_parser = arguments::up_to::<u32>(1_000_000))]
    nodes: Option<u32>,

    /// Ranks of it over all nodes, one per GPU
    #[arg(long, value_name = "R", requires = "nodes", value_parser = arguments::up_to::<u32>(10_000_000))]
    ranks: Option<u32>,

    /// The most launches, repeats included
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = arguments::up_to::<u32>(PlanQuestion::MAX_RUNS.into()))]
    runs: u32,

    /// How often each configuration is launched
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = arguments::up_to::<u32>(PlanQuestion::MAX_REPEATS.into()))]
    repeats: u32,

    /// Channel counts to try, like 1,8,16 [default: 1, 2, 4, 8, 16, … up to the most that were measured]
    #[arg(long, value_name = "C,…", value_delimiter = ',', value_parser = arguments::up_to::<u32>(255))]
    channels: Vec<u32>,

    /// The library that is launched [default: as the sweep says, else rccl]
    #[arg(long, value_enum)]
    library: Option<Library>,

    #[command(flatten)]
    machine: Machine,

    /// The switches reduce by themselves (SHARP with its plugin): try CollNet, and NVLS between nodes
    #[arg(long)]
    sharp: bool,

    /// The program that starts the ranks
    #[arg(long, value_enum, default_value_t)]
    launcher: Launcher,

    /// Write the launches as a bash script
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,

    /// Write the launches as arguments of rccl-sweep
    #[arg(long, conflicts_with = "json")]
    sweep_arguments: bool,

    #[command(flatten)]
    from: FromSweeps,

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,
}

impl Plan {
    pub(super) fn run(self) -> Result<(), CliError> {
        let scale = self.nodes.zip(self.ranks).map(|(nodes, ranks)| arguments::scale(nodes, ranks)).transpose()?;
        let opened = self.from.read(&self.sweeps, true)?;
        let parameters = self.from.parameters(&opened)?;
        let seed = parameters.seed;
        let executor = if self.learn {
            self.from.learn(opened, &parameters, None)?.executor
        } else {
            arguments::say_unused(&LEARNING, "nothing is learnt without --learn");
            let mut executor = Executor::default();
            let loaded = executor.take_in(opened, Target::Time, &mut terminal::Bar::new())?;
            terminal::say_notes(loaded.notes.into_iter().chain(executor.studies.tuning.loaded.study.notes()));
            executor
        };
        let mut bar = terminal::Bar::new();
        let platform = self.machine.with(self.library, executor.studies.tuning.loaded.platform());
        let question = PlanQuestion {
            platform: Some(Platform { sharp: self.sharp, ..platform }),
            runs: self.runs,
            repeats: self.repeats,
            channels: self.channels,
            launcher: self.launcher,
            of: self.collective.zip(scale),
            seed,
            ..PlanQuestion::default()
        };
        let answer = executor.studies.tuning.loaded.plan(&question, None, &mut bar)?;
        drop(bar);
        terminal::say_notes(&answer.notes);
        if let Some(path) = &self.script {
            save::save("script", path, &answer.script)?;
        }
        if self.json {
            return terminal::write_json(&json(&answer, executor.studies.tuning.loaded.set.as_deref()));
        }
        if self.sweep_arguments {
            return terminal::write_file(&answer.sweep_arguments);
        }
        terminal::write(&table::of_listing(&answer.listing))
    }
}

fn json(answer: &PlanAnswer, set: Option<&str>) -> impl Serialize {
    object! {
        /// Which of several sets of measurements it goes on with.
        set: set,
        launches: answer.items.iter().map(launch).collect::<Vec<_>>(),
        notes: &answer.notes,
    }
}

/// One item under the names of the sweep's columns; `algo`, `proto` and `nchannels` are null for the default.
fn launch(item: &PlannedLaunch) -> impl Serialize {
    object! {
        collective: item.collective.name(),
        num_nodes: item.scale.nodes,
        num_gpus: item.scale.ranks,
        algo: item.configuration.map(|c| c.algorithm.name()),
        proto: item.configuration.map(|c| c.protocol.name()),
        nchannels: item.configuration.map(|c| c.channels),
        first_bytes: item.sizes.first,
        last_bytes: item.sizes.last,
        runs: item.repeats,
        /// The times in µs of one operation of the first and of the last size: of this configuration, or the median of
        /// what was measured there.
        first_us: item.ends_us.map(|[first, _]| first),
        last_us: item.ends_us.map(|[_, last]| last),
        /// How long its launches take.
        seconds: item.seconds,
        reason: listing::reason(item.reason),
        /// By how much busbw should rise with it, in per cent, as the root mean square over the measured sizes.
        expected_pct: item.expected_pct,
        why: &item.why,
    }
}
