//! The robustness of a schedule: its time under varying bandwidths, and with slow or dead links and nodes.

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

/// The parameters of a simulation with varying bandwidths.
#[derive(Clone, Debug, PartialEq)]
pub struct VariationOptions {
    /// σ of the log-normal factor (with mean 1) of each transfer's bandwidth.
    pub sigma: f64,
    /// The number of simulated runs, at most [`MAX_DRAWS`].
    pub draws: u32,
    /// The seed of the random factors.
    pub seed: u64,
}

impl Default for VariationOptions {
    fn default() -> Self {
        Self { sigma: 0.2, draws: 500, seed: 1 }
    }
}

/// The longest duration of a transfer over a slow link, in ticks: the sum of thousands of them does not overflow.
const MAX_DURATION: u64 = 1 << 50;

/// The largest [`VariationOptions::sigma`] that is simulated.
pub const MAX_SIGMA: f64 = 3.0;
/// The most runs that are simulated.
pub const MAX_DRAWS: u32 = 100_000;

/// The most simulated transfers in all.
const MAX_DRAWN_TRANSFERS: usize = 100_000_000;

/// The end times of a schedule under varying bandwidths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variation {
    /// The time without variation, in ns.
    pub nominal_ns: f64,
    /// The median end of a run, in ns.
    pub p50_ns: f64,
    /// The 95th percentile of the ends, in ns.
    pub p95_ns: f64,
    /// The 99th percentile of the ends, in ns.
    pub p99_ns: f64,
    /// The end of each run in ns, ascending.
    pub ends_ns: Vec<f64>,
}

/// The effect of a slow or dead link or node.
#[derive(Clone, Debug, PartialEq)]
pub struct Damaged {
    /// The link or node that is slow or dead.
    pub damage: Damage,
    /// The time with half of the bandwidth, of the link or of all links of the node, in ns.
    pub half_ns: f64,
    /// The time with a tenth of the bandwidth, in ns.
    pub tenth_ns: f64,
    /// The number of undelivered pairs of a chunk and a node if it is dead. For a dead node, without its own pairs and
    /// the chunks that it alone had.
    pub undelivered: u64,
    /// A new schedule for the damaged topology, if one was searched.
    pub resynthesis: Option<Resynthesis>,
}

/// A new schedule for a damaged topology, compared with the old one.
#[derive(Clone, Debug, PartialEq)]
pub struct Resynthesis {
    /// The damage as a phrase for reports.
    pub what: String,
    /// The old schedule on the damaged topology: its time in ns, and the number of undelivered pairs.
    pub stale: (f64, u64),
    /// The time of the new schedule in ns; `None` where the collective is impossible.
    pub time_ns: Option<f64>,
    /// The lower bound for the damaged topology, in ns.
    pub bound_ns: f64,
    /// Why there is no new schedule.
    pub why: Option<String>,
}

/// What of a topology is slow or dead.
#[derive(Clone, Debug, PartialEq)]
pub enum Damage {
    /// A dead link, by its index in the topology.
    Link(u32),
    /// Dead links in both directions between two nodes.
    Pair(u32, u32),
    /// A dead node: it neither sends nor receives, has no chunks and wants none.
    Node(u32),
    /// A link with this share of its bandwidth.
    Slow(u32, f64),
}

/// Simulates a schedule under bandwidths that vary from transfer to transfer.
pub fn varied(
    problem: &Problem,
    schedule: &Schedule,
    topology: &Topology,
    clock: &Clock,
    question: &VariationOptions,
) -> Variation {
    let draws =
        (MAX_DRAWN_TRANSFERS / schedule.transfers.len().max(1)).clamp(1, question.draws.clamp(1, MAX_DRAWS) as usize);
    let sigma = question.sigma.clamp(0.0, MAX_SIGMA);
    let latencies: Vec<u64> = topology.links.iter().map(|link| clock.ticks(link.latency_ns)).collect();
    let mut stream = Stream::new(question.seed);
    let mut replay = Replay::new(problem, schedule);
    let mut ends: Vec<f64> = (0..draws)
        .map(|_| {
            let run = replay.run(&mut |link, usual| {
                let factor = math::exp(sigma * stream.normal() - sigma * sigma / 2.0);
                let latency = latencies[link as usize].min(usual);
                let sending = ((usual - latency) as f64 / factor).round() as u64;
                Some(latency + sending.clamp(1, MAX_DURATION))
            });
            clock.ns(run.end)
        })
        .collect();
    math::ascending(&mut ends);
    let at = |share: f64| quantile(&ends, share).unwrap_or(0.0);
    let (p50_ns, p95_ns, p99_ns) = (at(0.5), at(0.95), at(0.99));
    Variation { nominal_ns: clock.ns(schedule.end(&problem.graph)), p50_ns, p95_ns, p99_ns, ends_ns: ends }
}

/// The duration of a link with a share of its bandwidth, in ticks. Its latency does not change.
pub fn slowed(topology: &Topology, clock: &Clock, link: u32, share: f64) -> u64 {
    let mut slow = topology.links[link as usize];
    let before = clock.duration_ns(&slow);
    slow.bandwidth *= share;
    let after = clock.duration_ns(&slow);
    clock.duration(&topology.links[link as usize]) + clock.ticks(after - before).min(MAX_DURATION)
}

/// The effort for each new schedule, given the number of transfers and of damages; 0 where all of them would take too
/// long.
pub const fn effort(transfers: usize, damages: usize) -> u64 {
    const EACH: u64 = 200_000;
    // A search takes about as long as twenty replays.
    if transfers.saturating_mul(damages).saturating_mul(20) <= 6_000_000 { EACH } else { 0 }
}

/// Whether a damage affects a link.
fn affects(damage: &Damage, topology: &Topology, index: u32) -> bool {
    let link = topology.links[index as usize];
    match *damage {
        Damage::Link(of) | Damage::Slow(of, _) => index == of,
        Damage::Pair(a, b) => [(a, b), (b, a)].contains(&(link.from, link.to)),
        Damage::Node(node) => link.from == node || link.to == node,
    }
}

/// The number of undelivered pairs after a replay without the damaged link or node.
fn lost(replay: &Replay<'_>, run: &ReplayOutcome, damage: &Damage) -> u64 {
    if let Damage::Node(node) = damage { replay.undelivered_among_others(&[*node]) } else { run.undelivered }
}

/// Replays the schedule with each of some links or nodes slow and dead. Searches a new schedule for each with the given
/// effort, where that is above 0.
pub fn damaged(material: &Material<'_>, damages: &[Damage], seed: u64, effort: u64) -> Vec<Damaged> {
    let Material { topology, problem, clock, schedule, .. } = *material;
    let mut replay = Replay::new(problem, schedule);
    let mut of = |damage: &Damage| {
        let mut with = |share: f64| {
            let slow: Vec<u64> = (0..topology.links.len() as u32)
                .map(|link| if affects(damage, topology, link) { slowed(topology, clock, link, share) } else { 0 })
                .collect();
            clock.ns(replay.run(&mut |link, usual| Some(slow[link as usize].max(usual))).end)
        };
        let (half_ns, tenth_ns) = (with(0.5), with(0.1));
        let run = replay.run(&mut |link, usual| (!affects(damage, topology, link)).then_some(usual));
        let undelivered = lost(&replay, &run, damage);
        let resynthesis = (effort > 0).then(|| resynthesize(material, damage, seed, effort));
        Damaged { damage: damage.clone(), half_ns, tenth_ns, undelivered, resynthesis }
    };
    damages.iter().map(&mut of).collect()
}

/// The topology without what is dead, and with the share of bandwidth that is left of what is slow.
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

/// The damage as a phrase, such as a table's row is headed by.
pub fn describe(topology: &Topology, damage: &Damage) -> String {
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

/// Compares the old schedule with a new one on the damaged topology. `effort` is the number of decisions of the search.
pub fn resynthesize(material: &Material<'_>, damage: &Damage, seed: u64, effort: u64) -> Resynthesis {
    let Material { topology, request, problem, clock, schedule, .. } = *material;
    let slow = match damage {
        Damage::Slow(link, share) if (*link as usize) < topology.links.len() => {
            Some((*link, slowed(topology, clock, *link, *share)))
        }
        _ => None,
    };
    let mut old = Replay::new(problem, schedule);
    let stale = old.run(&mut |link, usual| match slow {
        Some((hit, takes)) => Some(if hit == link { takes } else { usual }),
        None => (!affects(damage, topology, link)).then_some(usual),
    });
    let mut again = Resynthesis {
        what: describe(topology, damage),
        stale: (clock.ns(stale.end), lost(&old, &stale, damage)),
        time_ns: None,
        bound_ns: 0.0,
        why: None,
    };
    let damaged = with_damage(topology, damage);
    let dead: &[u32] = if let Damage::Node(node) = damage { &[*node] } else { &[] };
    match request.without(dead).and_then(|request| request.problem(&damaged)) {
        Err(error) => again.why = Some(error.to_string()),
        Ok((problem, clock)) => {
            let mut search = Search::new(problem, Method::Auto, seed);
            const SLICES: u64 = 8;
            // The first schedule is needed for the comparison, however long it takes.
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
