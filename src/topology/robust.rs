//! How a schedule does when links are not what they were said to be.

use super::{export::Material, model::Topology, network, time::Clock};
use crate::{
    math::{self, Stream, quantile},
    schedule::{
        plan::Schedule,
        problem::Problem,
        replay::{Replay, ReplayOutcome},
        synthesize::{Method, Search, SearchState},
    },
};

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Spread of the log-normal factor, of mean 1, of each transfer's bandwidth.
    pub sigma: f64,
    /// How often it is drawn.
    pub draws: u32,
    /// Seed.
    pub seed: u64,
}

impl Default for Question {
    fn default() -> Self {
        Self { sigma: 0.2, draws: 500, seed: 1 }
    }
}

/// The longest that a transfer over a slow link takes, in ticks: thousands of them, one after the other, still fit.
const SLOWEST: u64 = 1 << 50;

/// The widest spread of durations, σ.
pub const WIDEST: f64 = 3.0;
/// The most runs whose bandwidths vary.
pub const MOST_DRAWS: u32 = 100_000;

/// The most transfers that are drawn in all.
const MOST_DRAWN: usize = 100_000_000;

/// Under bandwidths that vary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Varied {
    /// As planned, in ns.
    pub nominal_ns: f64,
    /// Half of the runs end by then.
    pub p50_ns: f64,
    /// 95 of 100 do.
    pub p95_ns: f64,
    /// 99 of 100 do.
    pub p99_ns: f64,
    /// When each run ends, in ns, ascending.
    pub ends_ns: Vec<f64>,
}

/// A link or a node that is slow or dead.
#[derive(Clone, Debug, PartialEq)]
pub struct Damaged {
    /// Which is dead: a link, or a node.
    pub damage: Damage,
    /// The same schedule with the link, or all links of the node, at half of their bandwidth, in ns.
    pub half_ns: f64,
    /// At a tenth.
    pub tenth_ns: f64,
    /// Pairs of a chunk and a node that it never comes to when it is dead; of a dead node, of the others and what they had.
    pub undelivered: u64,
    /// A new schedule without it, where one was looked for.
    pub again: Option<Again>,
}

/// What a new schedule for the damaged links is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Again {
    /// What is damaged, in words.
    pub what: String,
    /// The old schedule there: its time in ns, and what it does not deliver.
    pub stale: (f64, u64),
    /// A new schedule, in ns; `None` where there is no way any more.
    pub time_ns: Option<f64>,
    /// Its bound, in ns.
    pub bound_ns: f64,
    /// Why there is none.
    pub why: Option<String>,
}

/// What is cut or slowed.
#[derive(Clone, Debug, PartialEq)]
pub enum Damage {
    /// A link is dead.
    Link(u32),
    /// Both directions between two nodes are.
    Pair(u32, u32),
    /// A node neither sends nor receives; it has nothing, and nothing is wanted there.
    Node(u32),
    /// A link has this share of its bandwidth.
    Slow(u32, f64),
}

/// The same schedule under bandwidths that vary from transfer to transfer.
#[must_use]
pub fn varied(
    problem: &Problem,
    schedule: &Schedule,
    topology: &Topology,
    clock: &Clock,
    question: &Question,
) -> Varied {
    let draws = (MOST_DRAWN / schedule.transfers.len().max(1)).clamp(1, question.draws.clamp(1, MOST_DRAWS) as usize);
    let sigma = question.sigma.clamp(0.0, WIDEST);
    let latencies: Vec<u64> = topology.links.iter().map(|link| clock.ticks(link.latency_ns)).collect();
    let mut stream = Stream::new(question.seed);
    let mut replay = Replay::new(problem, schedule);
    let mut ends: Vec<f64> = (0..draws)
        .map(|_| {
            let run = replay.run(&mut |link, usual| {
                let factor = math::exp(sigma * stream.normal() - sigma * sigma / 2.0);
                let latency = latencies[link as usize].min(usual);
                let sending = ((usual - latency) as f64 / factor).round() as u64;
                Some(latency + sending.clamp(1, SLOWEST))
            });
            clock.ns(run.end)
        })
        .collect();
    math::ascending(&mut ends);
    let at = |share: f64| quantile(&ends, share).unwrap_or(0.0);
    let (p50_ns, p95_ns, p99_ns) = (at(0.5), at(0.95), at(0.99));
    Varied { nominal_ns: clock.ns(schedule.end(&problem.graph)), p50_ns, p95_ns, p99_ns, ends_ns: ends }
}

/// How long a link takes with a share of its bandwidth, in ticks: its latency stays.
#[must_use]
pub fn slowed(topology: &Topology, clock: &Clock, link: u32, share: f64) -> u64 {
    let mut slow = topology.links[link as usize];
    let before = clock.duration_ns(&slow);
    slow.bandwidth *= share;
    let after = clock.duration_ns(&slow);
    clock.duration(&topology.links[link as usize]) + clock.ticks(after - before).min(SLOWEST)
}

/// Decisions that are made for a new schedule of each of some damages: none where all of them would take long.
#[must_use]
pub const fn effort(transfers: usize, damages: usize) -> u64 {
    const EACH: u64 = 200_000;
    // A search costs as much as some twenty replays.
    if transfers.saturating_mul(damages).saturating_mul(20) <= 6_000_000 { EACH } else { 0 }
}

/// Whether a damage concerns a link.
fn hits(damage: &Damage, topology: &Topology, index: u32) -> bool {
    let link = topology.links[index as usize];
    match *damage {
        Damage::Link(of) | Damage::Slow(of, _) => index == of,
        Damage::Pair(a, b) => [(a, b), (b, a)].contains(&(link.from, link.to)),
        Damage::Node(node) => link.from == node || link.to == node,
    }
}

/// What is lost when something is dead, after a run without it.
fn lost(replay: &Replay<'_>, run: &ReplayOutcome, damage: &Damage) -> u64 {
    if let Damage::Node(node) = damage { replay.undelivered_among_others(&[*node]) } else { run.undelivered }
}

/// The same schedule with each of some links or nodes slow or dead; with a new schedule for each, for which about `effort`
/// decisions are made, where that is above zero.
#[must_use]
pub fn damaged(material: &Material<'_>, damages: &[Damage], seed: u64, effort: u64) -> Vec<Damaged> {
    let Material { topology, problem, clock, schedule, .. } = *material;
    let mut replay = Replay::new(problem, schedule);
    let mut of = |damage: &Damage| {
        let mut with = |share: f64| {
            let slow: Vec<u64> = (0..topology.links.len() as u32)
                .map(|link| if hits(damage, topology, link) { slowed(topology, clock, link, share) } else { 0 })
                .collect();
            clock.ns(replay.run(&mut |link, usual| Some(slow[link as usize].max(usual))).end)
        };
        let (half_ns, tenth_ns) = (with(0.5), with(0.1));
        let run = replay.run(&mut |link, usual| (!hits(damage, topology, link)).then_some(usual));
        let undelivered = lost(&replay, &run, damage);
        let again = (effort > 0).then(|| again(material, damage, seed, effort));
        Damaged { damage: damage.clone(), half_ns, tenth_ns, undelivered, again }
    };
    damages.iter().map(&mut of).collect()
}

/// The topology with a damage.
#[must_use]
pub fn with_damage(topology: &Topology, damage: &Damage) -> Topology {
    let is_between = |link: &super::model::Link, a: u32, b: u32| [(a, b), (b, a)].contains(&(link.from, link.to));
    match *damage {
        Damage::Slow(link, share) => network::damaged(topology, &[(link, share.clamp(1e-6, 1.0))], &[]),
        Damage::Link(dead) => network::damaged(topology, &[(dead, 0.0)], &[]),
        Damage::Pair(a, b) => {
            let links = (0..).zip(&topology.links).filter(|(_, link)| is_between(link, a, b));
            network::damaged(topology, &links.map(|(index, _)| (index, 0.0)).collect::<Vec<_>>(), &[])
        }
        Damage::Node(node) => network::damaged(topology, &[], &[node]),
    }
}

/// What a damage is, in words.
#[must_use]
pub fn words(topology: &Topology, damage: &Damage) -> String {
    let label = |node: u32| topology.label(node);
    let ends = |link: u32| {
        let link = topology.links.get(link as usize);
        link.map_or_else(String::new, |link| format!("{} to {}", label(link.from), label(link.to)))
    };
    match damage {
        Damage::Link(link) => format!("without the link {}", ends(*link)),
        Damage::Pair(a, b) => format!("without the links between {} and {}", label(*a), label(*b)),
        Damage::Node(node) => format!("without node {}", label(*node)),
        Damage::Slow(link, share) => format!("with the link {} at {:.0} %", ends(*link), share * 100.0),
    }
}

/// The old schedule and a new one on damaged links; `effort` is about how many decisions are made for it.
#[must_use]
pub fn again(material: &Material<'_>, damage: &Damage, seed: u64, effort: u64) -> Again {
    let Material { topology, wanted, problem, clock, schedule, .. } = *material;
    let slow = match damage {
        Damage::Slow(link, share) if (*link as usize) < topology.links.len() => {
            Some((*link, slowed(topology, clock, *link, *share)))
        }
        _ => None,
    };
    let mut old = Replay::new(problem, schedule);
    let stale = old.run(&mut |link, usual| match slow {
        Some((hit, takes)) => Some(if hit == link { takes } else { usual }),
        None => (!hits(damage, topology, link)).then_some(usual),
    });
    let mut again = Again {
        what: words(topology, damage),
        stale: (clock.ns(stale.end), lost(&old, &stale, damage)),
        time_ns: None,
        bound_ns: 0.0,
        why: None,
    };
    let damaged = with_damage(topology, damage);
    let dead: &[u32] = if let Damage::Node(node) = damage { &[*node] } else { &[] };
    match wanted.without(dead).and_then(|wanted| wanted.problem(&damaged)) {
        Err(error) => again.why = Some(error.to_string()),
        Ok((problem, clock)) => {
            let mut search = Search::new(problem, Method::Auto, seed);
            const SLICES: u64 = 8;
            // On until there is something to compare with, however long that takes.
            for slice in 1.. {
                let is_finished = search.work(effort / SLICES) == SearchState::Finished;
                if is_finished || slice >= SLICES && search.time().is_some() {
                    break;
                }
            }
            again.time_ns = search.time().map(|time| clock.ns(time));
            again.bound_ns = clock.ns(search.bound());
        }
    }
    again
}
