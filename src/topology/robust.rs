//! How a schedule does when links are not what they were said to be.

use serde::{Deserialize, Serialize};

use super::{export::Material, model::Topology, time::Clock};
use crate::{
    math::{self, Stream, quantile},
    schedule::{
        demand::Demand,
        plan::Schedule,
        problem::Problem,
        replay::Replay,
        synthesize::{Method, Search, State},
    },
};

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// The most transfers that are drawn in all.
const MOST_DRAWN: usize = 100_000_000;

/// Under bandwidths that vary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Varied {
    /// As planned, in ns.
    pub nominal_ns: f64,
    /// Half of the runs end by then.
    pub p50_ns: f64,
    /// 95 of 100 do.
    pub p95_ns: f64,
    /// 99 of 100 do.
    pub p99_ns: f64,
}

/// One link that is slow or dead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Damaged {
    /// The link, by index.
    pub link: u32,
    /// The same schedule with the link at half of its bandwidth, in ns.
    pub half_ns: f64,
    /// At a tenth.
    pub tenth_ns: f64,
    /// Pairs of a chunk and a node that it never comes to, with the link dead.
    pub undelivered: u64,
}

/// What a new schedule for the damaged links is like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

fn replay<'a>(problem: &'a Problem, schedule: &'a Schedule) -> Replay<'a> {
    let chunks = [&problem.reduce, &problem.copy].into_iter().flatten().map(Demand::chunks).max().unwrap_or(0);
    Replay::new(&problem.graph, schedule, problem.copy.as_ref(), chunks)
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
    let draws = (MOST_DRAWN / schedule.transfers.len().max(1)).clamp(1, question.draws.clamp(1, 100_000) as usize);
    let sigma = question.sigma.clamp(0.0, 3.0);
    let latencies: Vec<u64> = topology.links.iter().map(|link| clock.ticks(link.latency_ns)).collect();
    let mut stream = Stream::new(question.seed);
    let mut replay = replay(problem, schedule);
    let mut ends: Vec<f64> = (0..draws)
        .map(|_| {
            let run = replay.run(&mut |link, usual| {
                let factor = math::exp(sigma * stream.normal() - sigma * sigma / 2.0);
                let latency = latencies[link as usize].min(usual);
                Some(latency + (((usual - latency) as f64 / factor).round() as u64).max(1))
            });
            clock.ns(run.end)
        })
        .collect();
    math::ascending(&mut ends);
    let at = |share: f64| quantile(&ends, share).unwrap_or(0.0);
    Varied { nominal_ns: clock.ns(schedule.end(&problem.graph)), p50_ns: at(0.5), p95_ns: at(0.95), p99_ns: at(0.99) }
}

/// How long a link takes with a share of its bandwidth, in ticks: its latency stays.
fn slowed(topology: &Topology, clock: &Clock, link: u32, share: f64) -> u64 {
    let mut slow = topology.links[link as usize];
    let before = clock.duration_ns(&slow);
    slow.bandwidth *= share;
    let after = clock.duration_ns(&slow);
    clock.duration(&topology.links[link as usize]) + clock.ticks(after - before)
}

/// The same schedule with each of some links damaged.
#[must_use]
pub fn damaged(
    problem: &Problem,
    schedule: &Schedule,
    topology: &Topology,
    clock: &Clock,
    links: &[u32],
) -> Vec<Damaged> {
    let mut replay = replay(problem, schedule);
    let mut with = |link: u32, share: f64| {
        let slow = slowed(topology, clock, link, share);
        clock.ns(replay.run(&mut |of, usual| Some(if of == link { slow } else { usual })).end)
    };
    let times: Vec<(f64, f64)> = links.iter().map(|link| (with(*link, 0.5), with(*link, 0.1))).collect();
    let mut dead = |link: u32| replay.run(&mut |of, usual| (of != link).then_some(usual)).undelivered;
    links
        .iter()
        .zip(times)
        .map(|(&link, (half_ns, tenth_ns))| Damaged { link, half_ns, tenth_ns, undelivered: dead(link) })
        .collect()
}

/// The topology with a damage.
#[must_use]
pub fn with_damage(topology: &Topology, damage: &Damage) -> Topology {
    let mut topology = topology.clone();
    match damage {
        Damage::Slow(link, share) => {
            if let Some(link) = topology.links.get_mut(*link as usize) {
                link.bandwidth *= share.clamp(1e-6, 1.0);
            }
        }
        Damage::Link(dead) => {
            let mut index = 0..;
            topology.links.retain(|_| index.next() != Some(*dead));
        }
        Damage::Pair(a, b) => {
            topology.links.retain(|link| (link.from, link.to) != (*a, *b) && (link.from, link.to) != (*b, *a));
        }
        Damage::Node(node) => {
            topology.links.retain(|link| link.from != *node && link.to != *node);
            for link in &mut topology.links {
                link.from -= u32::from(link.from > *node);
                link.to -= u32::from(link.to > *node);
            }
            topology.nodes -= 1;
            if (*node as usize) < topology.labels.len() {
                topology.labels.remove(*node as usize);
            }
        }
    }
    topology.shape = None;
    topology
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
    let is_hit = |index: u32| {
        let link = topology.links[index as usize];
        match damage {
            Damage::Link(dead) => index == *dead,
            Damage::Pair(a, b) => (link.from, link.to) == (*a, *b) || (link.from, link.to) == (*b, *a),
            Damage::Node(node) => link.from == *node || link.to == *node,
            Damage::Slow(..) => false,
        }
    };
    let slow = match damage {
        Damage::Slow(link, share) if (*link as usize) < topology.links.len() => {
            Some((*link, slowed(topology, clock, *link, *share)))
        }
        _ => None,
    };
    let stale = replay(problem, schedule).run(&mut |link, usual| match slow {
        Some((hit, takes)) if hit == link => Some(takes),
        _ => (!is_hit(link)).then_some(usual),
    });
    let mut again = Again {
        what: words(topology, damage),
        stale: (clock.ns(stale.end), stale.undelivered),
        time_ns: None,
        bound_ns: 0.0,
        why: None,
    };
    let damaged = with_damage(topology, damage);
    let mut wanted = wanted.clone();
    if let Damage::Node(node) = damage {
        if wanted.collective.is_none() || wanted.root == *node {
            again.why = Some("the collective needs this node".to_owned());
            return again;
        }
        wanted.root -= u32::from(wanted.root > *node);
    }
    match wanted.problem(&damaged) {
        Err(error) => again.why = Some(error.to_string()),
        Ok((problem, clock)) => {
            let mut search = Search::new(problem, Method::Auto, seed);
            let slices = 8;
            for _ in 0..slices {
                if search.work(effort / slices) == State::Finished {
                    break;
                }
            }
            again.time_ns = search.time().map(|time| clock.ns(time));
            again.bound_ns = clock.ns(search.bound());
        }
    }
    again
}
