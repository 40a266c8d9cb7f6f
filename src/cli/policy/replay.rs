//! `collectune policy replay`: what logs say, and what strategies would have cost.

use clap::Args;
use serde::Serialize;

use super::logs::Logs;
use crate::{
    cli::{
        arguments,
        error::{CliError, refuse},
        json::object,
        table, terminal, threads,
    },
    policy::{
        replay,
        request::{Highlight, LatencySource, ReplaySettings},
        result::{
            ArmResult, Decision, Evidence, Flag, KeyResult, Pair, PairKind, PolicyOverview, ReplayResult,
            UnanalysedTable,
        },
        simulate,
        study::PolicyStudy,
    },
    progress::Silent,
    text::visible,
};

/// Judge logs: which arm to run, how sure that is, and what finding it out would have cost
///
/// Lines are attributed to arms by the first way that applies: the log's own columns, a schedule, the file's name,
/// turns by line after a warm-up. The library's own choice is kept unless an arm is better by at least 1 % with a
/// probability of 95 %.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune policy replay times_auto_64MB.txt times_tree_simple_64MB.txt --nodes 2 --ranks 8
  collectune policy replay rewards.log --arms tree/simple,tree/ll128,ring/simple,auto --warm-up 15 --turns 35
  collectune policy replay --simulate clear --json")]
pub(in crate::cli) struct Replay {
    #[command(flatten)]
    logs: Logs,

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,

    /// Seeds of the replay; with 0 the log is judged and no strategy is replayed
    #[arg(long, value_name = "N", default_value_t = 200)]
    seeds: u32,

    /// Steps that each strategy plays
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
            return refuse("--simulate needs --seeds above 0: there is no log to judge");
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
fn play(study: &mut PolicyStudy, start: &ReplaySettings) -> Result<ReplayResult, CliError> {
    let prepared = study.prepare(start)?;
    let job = |job| replay::play(&prepared.game, &[job], &mut Silent);
    let played = threads::each("Replaying", prepared.jobs.len(), job)?;
    Ok(study.bring_together(&prepared.game, &played, &Highlight::default())?.clone())
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
        let charts = study.key(place, &Highlight::default())?;
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

fn json(studied: &PolicyOverview, replayed: &[(String, ReplayResult)]) -> impl Serialize {
    let keys = studied.keys.iter().zip(&studied.results);
    let strategies = replayed.iter().flat_map(|(key, replayed)| {
        replayed.strategies.iter().map(move |of| {
            object! {
                /// The key that was replayed; empty for a simulation.
                key: key,
                #[serde(flatten)]
                of: of,
            }
        })
    });
    object! {
        logs: studied.logs.iter().map(|log| object! { name: &log.name, attribution: &log.attribution }).collect::<Vec<_>>(),
        keys: keys.filter_map(|(name, of)| key(name, of)).collect::<Vec<_>>(),
        overlap: studied.pairs.iter().map(pair).collect::<Vec<_>>(),
        strategies: strategies.collect::<Vec<_>>(),
        notes: terminal::said(),
    }
}

fn key(name: &str, of: &KeyResult) -> Option<impl Serialize> {
    let key = of.key?;
    Some(object! {
        key: name,
        collective: key.collective.name(),
        size_bytes: key.size_bytes,
        nodes: key.scale.nodes,
        ranks: key.scale.ranks,
        overlap: key.overlap,
        estimator: of.estimator.key(),
        /// `auto`, an arm, or `none`.
        decision: if matches!(of.decision, Decision::None) { "none".to_owned() } else { of.chosen().to_string() },
        verdict: &of.verdict,
        p_better: of.p_better(),
        gain_pct: of.of_candidate().and_then(|arm| arm.comparison).map(|of| of.gain_pct),
        n_eff: of.n_eff(),
        lines_needed: of.lines_needed,
        flags: of.flags.iter().copied().map(Flag::key).collect::<Vec<_>>(),
        arms: of.arms.iter().map(arm).collect::<Vec<_>>(),
        sentences: &of.sentences,
    })
}

fn arm(of: &ArmResult) -> impl Serialize + use<> {
    let test = match of.evidence {
        Some(Evidence::Test { certainty, p }) => Some((p, certainty.units)),
        _ => None,
    };
    object! {
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
        /// Of so large a gain by chance in any of the arms and keys.
        p_chance: test.map(|(p, _)| p),
        /// Independent differences that this stands on.
        units: test.map(|(_, units)| units),
    }
}

fn pair(pair: &Pair) -> impl Serialize + use<> {
    object! {
        key: pair.key.to_string(),
        without_overlap: pair.winners[0].to_string(),
        with_overlap: pair.winners[1].to_string(),
        p_better: pair.p_better,
        kind: match pair.kind {
            PairKind::Same => "same",
            PairKind::DecidedApart => "decided-apart",
            PairKind::Flip => "flip",
            PairKind::WithinNoise => "within-noise",
        },
    }
}
