//! `collectune policy replay`: what logs say, and what strategies would have cost.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use clap::Args;
use serde::Serialize;

use super::{
    super::{CliError, arguments, table, terminal},
    logs::Logs,
    told,
};
use crate::{
    policy::{
        replay,
        request::{Highlight, LatencySource, ReplaySettings},
        result::{
            ArmResult, Evidence, Flag, KeyResult, PairKind, PolicyOverview, ReplayResult, StrategyResult,
            UnanalysedTable,
        },
        simulate,
        study::PolicyStudy,
    },
    progress::{Progress, Silent},
    text::visible,
};

/// Judge logs honestly: what to run, how sure that is, and what finding it out would have cost
///
/// Lines are attributed to arms by the first way that applies: the log's own columns, a schedule, the file's name,
/// turns by line after a warm-up. The library's own choice wins unless beaten: with 95 % and by 1 %.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune policy replay times_auto_64MB.txt times_tree_simple_64MB.txt --nodes 2 --ranks 8
  collectune policy replay rewards.log --arms tree/simple,tree/ll128,ring/simple,auto --warm-up 15 --turns 35
  collectune policy replay --simulate clear --json")]
pub(in crate::cli) struct Replay {
    #[command(flatten)]
    logs: Logs,

    /// Write JSON
    #[arg(long)]
    json: bool,

    /// Seeds of the replay; 0: judge the log, and let no strategy play
    #[arg(long, value_name = "N", default_value_t = 200)]
    seeds: u32,

    /// Steps of the replay
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    steps: u32,

    /// Replay in a simulation instead of logs
    #[arg(
        long,
        value_name = "WORLD",
        value_parser = ["clear", "two-modes", "drift", "nothing-to-gain"],
        conflicts_with_all = [
            "logs", "arm", "from", "overlap", "arms", "warm_up", "turns", "schedule", "collective", "size", "nodes", "ranks",
            "bands", "seed",
        ]
    )]
    simulate: Option<String>,
}

impl Replay {
    pub(super) fn run(self) -> Result<(), CliError> {
        if self.simulate.is_some() && self.seeds == 0 {
            return Err(CliError::Typed("--simulate needs --seeds above 0: there is no log to judge"));
        }
        if self.seeds == 0 {
            arguments::say_unused(&["steps"], "with --seeds 0 nothing is replayed");
        }
        let (mut study, studied, sources) = match &self.simulate {
            Some(world) => {
                (PolicyStudy::default(), PolicyOverview::default(), vec![(String::new(), simulation(world))])
            }
            None => {
                let (study, studied) = self.logs.study(None)?;
                let replayable = (0..).zip(&studied.can_replay).filter(|(_, can)| **can && self.seeds > 0);
                let sources =
                    replayable.map(|(place, _)| (studied.keys[place as usize].clone(), LatencySource::Key(place)));
                let sources = sources.collect();
                (study, studied, sources)
            }
        };
        let mut replayed = Vec::new();
        for (key, world) in sources {
            let start = ReplaySettings { world, steps: self.steps, seeds: self.seeds.max(1), strategies: Vec::new() };
            replayed.push((key, play(&mut study, &start)?));
        }
        if self.json {
            return terminal::write_json(&json(&studied, &replayed));
        }
        terminal::write(&for_people(&studied, &study, &replayed)?)
    }
}

fn simulation(name: &str) -> LatencySource {
    let worlds = simulate::worlds();
    let place = ["clear", "two-modes", "drift", "nothing-to-gain"].iter().position(|known| *known == name);
    let world = worlds[place.unwrap_or(0)].1.clone();
    LatencySource::Simulation(world, simulate::ARMS.map(str::to_owned).to_vec(), 3)
}

/// Plays all jobs, on all processors.
pub(in crate::cli) fn play(study: &mut PolicyStudy, start: &ReplaySettings) -> Result<ReplayResult, CliError> {
    let prepared = study.prepare(start).map_err(told)?;
    let total = prepared.jobs.len();
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut bar = terminal::Bar::new();
    let work = |bar: &mut dyn Progress| {
        let mut done = Vec::new();
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= total {
                return Ok(done);
            }
            bar.report("Replaying", job as u64, total as u64);
            done.push(replay::play(&prepared.game, &[job as u32], &mut Silent)?);
        }
    };
    let played: Result<Vec<Vec<Vec<u8>>>, _> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| work(&mut Silent))).collect();
        let own = work(&mut bar);
        // A thread only ends early by a panic, which is a mistake of the program.
        others.into_iter().filter_map(|other| other.join().ok()).chain([own]).collect()
    });
    let played = played.map_err(told)?.concat();
    Ok(study.bring_together(&prepared.game, &played, &Highlight::default()).map_err(told)?.clone())
}

fn for_people(
    studied: &PolicyOverview,
    study: &PolicyStudy,
    replayed: &[(String, ReplayResult)],
) -> Result<String, CliError> {
    let mut text = String::new();
    for log in &studied.logs {
        text += &format!("{}: {}\n", visible(&log.name), log.attribution);
    }
    for UnanalysedTable { name, listing, .. } in &studied.tables {
        text += &format!("\n{name}\n{}", table::of_listing(listing));
    }
    for (place, key) in (0..).zip(&studied.keys) {
        let of = &studied.results[place as usize];
        text += &format!("\n{key}: {}\n{}\n\n", of.verdict, of.estimator.words());
        let charts = study.key(place, &Highlight::default()).map_err(told)?;
        text += &table::of_listing(&charts.arms.without_empty_columns());
        if !charts.estimates.rows.is_empty() {
            text += &format!("\n{}", table::of_listing(&charts.estimates));
        }
        text += "\n";
        of.sentences.iter().for_each(|sentence| text += &format!("{sentence}\n"));
    }
    if !studied.overlap.rows.is_empty() {
        text += &format!("\n{}", table::of_listing(&studied.overlap));
    }
    for (_, of) in replayed {
        text += &format!("\n{}\n\n{}", of.sentences.first().map_or("", String::as_str), table::of_listing(&of.listing));
        of.sentences.iter().skip(1).for_each(|sentence| text += &format!("{sentence}\n"));
    }
    Ok(text.trim_start().to_owned())
}

#[derive(Serialize)]
struct Report<'a> {
    logs: Vec<LogReport<'a>>,
    keys: Vec<KeyReport<'a>>,
    overlap: Vec<PairReport>,
    strategies: Vec<StrategyReport<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct LogReport<'a> {
    name: &'a str,
    attribution: &'a str,
}

#[derive(Serialize)]
struct KeyReport<'a> {
    key: &'a str,
    collective: &'static str,
    size_bytes: u64,
    nodes: u32,
    ranks: u32,
    overlap: Option<bool>,
    estimator: &'static str,
    /// `auto`, an arm, or `none`.
    decision: String,
    verdict: &'a str,
    p_better: Option<f64>,
    gain_pct: Option<f64>,
    n_eff: f64,
    lines_needed: Option<u64>,
    flags: Vec<&'static str>,
    arms: Vec<ArmReport>,
    sentences: &'a [String],
}

#[derive(Serialize)]
struct ArmReport {
    arm: String,
    n: u64,
    mean_ms: f64,
    median_ms: f64,
    trimmed_ms: f64,
    deviation_ms: f64,
    autocorrelation: f64,
    n_eff: f64,
    block: u32,
    p_better: Option<f64>,
    p_best: Option<f64>,
    /// Of so large a gain by chance in any of the arms and keys.
    p_chance: Option<f64>,
    /// Independent differences that this stands on.
    units: Option<u32>,
}

#[derive(Serialize)]
struct PairReport {
    key: String,
    without_overlap: String,
    with_overlap: String,
    p_better: [f64; 2],
    kind: &'static str,
}

#[derive(Serialize)]
struct StrategyReport<'a> {
    /// The key that was replayed; empty for a simulation.
    key: &'a str,
    #[serde(flatten)]
    of: &'a StrategyResult,
}

fn json(studied: &PolicyOverview, replayed: &[(String, ReplayResult)]) -> String {
    let key = |(name, of): (&'_ String, &'_ KeyResult)| {
        let key = of.key?;
        let decision = match of.decision {
            crate::policy::result::Decision::None => "none".to_owned(),
            _ => of.chosen().to_string(),
        };
        Some((name.clone(), key, decision))
    };
    let named: Vec<_> = studied.keys.iter().zip(&studied.results).map(key).collect();
    let keys = named.iter().zip(&studied.results).filter_map(|(named, of)| {
        let (name, key, decision) = named.as_ref()?;
        Some(KeyReport {
            key: name,
            collective: key.collective.name(),
            size_bytes: key.size_bytes,
            nodes: key.scale.nodes,
            ranks: key.scale.ranks,
            overlap: key.overlap,
            estimator: of.estimator.key(),
            decision: decision.clone(),
            verdict: &of.verdict,
            p_better: of.p_better(),
            gain_pct: of.of_candidate().and_then(|arm| arm.comparison).map(|of| of.gain_pct),
            n_eff: of.n_eff(),
            lines_needed: of.lines_needed,
            flags: of.flags.iter().copied().map(Flag::key).collect(),
            arms: of.arms.iter().map(arm_report).collect(),
            sentences: &of.sentences,
        })
    });
    let pair = |pair: &crate::policy::result::Pair| PairReport {
        key: pair.key.to_string(),
        without_overlap: pair.winners[0].to_string(),
        with_overlap: pair.winners[1].to_string(),
        p_better: pair.p_better,
        kind: match pair.kind {
            PairKind::Same => "same",
            PairKind::Flip => "flip",
            PairKind::WithinNoise => "within-noise",
        },
    };
    let report = Report {
        logs: studied.logs.iter().map(|log| LogReport { name: &log.name, attribution: &log.attribution }).collect(),
        keys: keys.collect(),
        overlap: studied.pairs.iter().map(pair).collect(),
        strategies: replayed
            .iter()
            .flat_map(|(key, replayed)| replayed.strategies.iter().map(move |of| StrategyReport { key, of }))
            .collect(),
        notes: &studied.notes,
    };
    // Strings, numbers and lists can always be written.
    serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
}

fn arm_report(of: &ArmResult) -> ArmReport {
    let test = match of.evidence {
        Some(Evidence::Test { certainty, p }) => Some((p, certainty.units)),
        _ => None,
    };
    ArmReport {
        arm: of.arm.to_string(),
        n: of.n,
        mean_ms: of.mean_ms,
        median_ms: of.median_ms,
        trimmed_ms: of.trimmed_ms,
        deviation_ms: of.deviation_ms,
        autocorrelation: of.autocorrelation,
        n_eff: of.n_eff,
        block: of.block,
        p_better: of.p_better(),
        p_best: of.comparison.map(|of| of.p_best),
        p_chance: test.map(|(p, _)| p),
        units: test.map(|(_, units)| units),
    }
}
