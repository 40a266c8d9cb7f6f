//! Strategies: which arm to pull next, given what the pulls so far took.
//!
//! Every strategy but the `raw` ones is invariant to the unit of latency: multiplying all of them by a constant changes
//! no decision. Ties go to `auto`, then to the lowest index.

mod epochs;
mod greedy;
mod rounds;
mod thompson;
mod ucb;

pub use self::epochs::{counts, rounded};
use serde::{Deserialize, Serialize};

use super::statistics::Statistics;
use crate::math::Stream;

/// A strategy that chooses arms one by one.
pub trait Strategy {
    /// The arm to pull next.
    fn choose(&mut self, stream: &mut Stream) -> usize;
    /// Learns the latency of the pulled arm.
    fn learn(&mut self, arm: usize, latency: f64);
}

/// The strategies with their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum StrategyKind {
    /// Always the library's own choice.
    Auto,
    /// Each arm with the same probability.
    Uniform,
    /// Always the arm that is best in truth: an upper limit that no real strategy reaches.
    Oracle,
    /// With probability `epsilon` uniform over all arms, else the lowest mean.
    EpsGreedy {
        /// The probability of a random arm.
        epsilon: f64,
    },
    /// [`StrategyKind::EpsGreedy`] with ε = min(1, c K / t).
    EpsDecay {
        /// The larger, the longer exploration lasts.
        c: f64,
    },
    /// argmin mean − s √(2 ln t / n) with the pooled standard deviation s (Auer, Cesa-Bianchi, Fischer 2002).
    Ucb1,
    /// argmin mean − c √(ln t / n), with c in the log's unit.
    Ucb1Raw {
        /// The factor c, in milliseconds.
        c: f64,
    },
    /// [`StrategyKind::Ucb1`] over a sliding window (Garivier, Moulines 2011).
    SlidingUcb {
        /// The length of the window, in pulls.
        window: u32,
    },
    /// A draw from the posterior of each arm's mean with unknown variance; the lowest wins.
    Thompson,
    /// Thompson sampling with a known standard deviation.
    ThompsonKnown {
        /// The standard deviation in milliseconds; `None` for the pooled one.
        deviation: Option<f64>,
    },
    /// Thompson sampling as if the standard deviation were 1 ms, without a prior.
    ThompsonRaw,
    /// [`StrategyKind::Thompson`] with discounting.
    DiscountedThompson {
        /// The factor by which past values are discounted after each pull.
        gamma: f64,
    },
    /// Successive elimination: all live arms in rounds; arms that are significantly worse are dropped (Even-Dar et al.
    /// 2006).
    Elimination {
        /// The probability of dropping the best arm.
        delta: f64,
    },
    /// Some rounds of all arms, then the arm with the lowest trimmed mean for ever.
    RoundRobin {
        /// The number of rounds.
        rounds: u32,
        /// The share by which another arm must be faster than `auto`; `None` if the lowest mean wins in any case.
        gate: Option<f64>,
    },
    /// The strategy of the plugin: Thompson sampling with counts per epoch by P(best).
    EpochThompson {
        /// The number of calls in an epoch.
        calls: u32,
        /// The least probability of each arm.
        floor: f64,
        /// The factor by which past values are discounted after each epoch.
        keep: f64,
    },
}

impl StrategyKind {
    /// The strategies that a replay compares, with their default parameters, baselines first.
    pub const ALL: [Self; 17] = [
        Self::Auto,
        Self::Uniform,
        Self::Oracle,
        Self::EpsGreedy { epsilon: 0.1 },
        Self::EpsDecay { c: 5.0 },
        Self::Ucb1,
        Self::SlidingUcb { window: 400 },
        Self::Thompson,
        Self::ThompsonKnown { deviation: None },
        Self::DiscountedThompson { gamma: 0.99 },
        Self::Elimination { delta: 0.05 },
        Self::RoundRobin { rounds: 5, gate: None },
        Self::RoundRobin { rounds: 10, gate: Some(0.05) },
        Self::EpochThompson { calls: 64, floor: 0.01, keep: 1.0 },
        Self::EpochThompson { calls: 64, floor: 0.01, keep: 0.9 },
        Self::Ucb1Raw { c: std::f64::consts::SQRT_2 },
        Self::ThompsonRaw,
    ];

    /// The name on the command line and in files.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Uniform => "uniform",
            Self::Oracle => "best-fixed",
            Self::EpsGreedy { .. } => "eps-greedy",
            Self::EpsDecay { .. } => "eps-decay",
            Self::Ucb1 => "ucb1",
            Self::Ucb1Raw { .. } => "ucb1-raw",
            Self::SlidingUcb { .. } => "sw-ucb",
            Self::Thompson => "thompson",
            Self::ThompsonKnown { .. } => "thompson-known",
            Self::ThompsonRaw => "thompson-raw",
            Self::DiscountedThompson { .. } => "discounted-thompson",
            Self::Elimination { .. } => "elimination",
            Self::RoundRobin { gate: None, .. } => "round-robin",
            Self::RoundRobin { .. } => "rr-gate",
            Self::EpochThompson { .. } => "epoch-thompson",
        }
    }

    /// The name with the parameters, for people.
    pub fn title(&self) -> String {
        match self {
            Self::Auto => "auto always".to_owned(),
            Self::Oracle => "best fixed arm (nobody knows it)".to_owned(),
            Self::EpsGreedy { epsilon } => format!("eps-greedy ε = {epsilon}"),
            Self::EpsDecay { c } => format!("eps-decay c = {c}"),
            Self::Ucb1Raw { c } => format!("ucb1-raw c = {c:.3} ms"),
            Self::SlidingUcb { window } => format!("sw-ucb W = {window}"),
            Self::ThompsonKnown { deviation: Some(deviation) } => format!("thompson-known σ = {deviation} ms"),
            Self::DiscountedThompson { gamma } => format!("discounted thompson γ = {gamma}"),
            Self::Elimination { delta } => format!("elimination δ = {delta}"),
            Self::RoundRobin { rounds, gate: None } => format!("round robin M = {rounds}"),
            Self::RoundRobin { rounds, gate: Some(gate) } => format!("rr-gate M = {rounds}, {} %", gate * 100.0),
            Self::EpochThompson { calls, keep, .. } if *keep < 1.0 => {
                format!("epoch-thompson E = {calls}, γ = {keep}")
            }
            Self::EpochThompson { calls, .. } => format!("epoch-thompson E = {calls}"),
            _ => self.key().to_owned(),
        }
    }

    /// Whether scaling all latencies by a constant changes its decisions.
    pub const fn is_raw(&self) -> bool {
        matches!(self, Self::Ucb1Raw { .. } | Self::ThompsonRaw)
    }

    /// Creates the strategy for `arms` arms. `best` is the arm that is best in truth, which only
    /// [`StrategyKind::Oracle`] may use.
    pub fn start(&self, arms: usize, auto: usize, best: usize, seed: u64) -> Box<dyn Strategy> {
        let known = Known::new(arms, auto);
        match *self {
            Self::Auto => Box::new(greedy::Fixed(auto)),
            Self::Oracle => Box::new(greedy::Fixed(best)),
            Self::Uniform => Box::new(greedy::Uniform(arms)),
            Self::EpsGreedy { epsilon } => {
                Box::new(greedy::Greedy { known, epsilon: greedy::Epsilon::Constant(epsilon) })
            }
            Self::EpsDecay { c } => Box::new(greedy::Greedy { known, epsilon: greedy::Epsilon::Decaying(c) }),
            Self::Ucb1 => Box::new(ucb::Ucb { known }),
            Self::Ucb1Raw { c } => Box::new(ucb::Raw { known, c }),
            Self::SlidingUcb { window } => Box::new(ucb::Sliding::new(arms, auto, window)),
            Self::Thompson => Box::new(thompson::Thompson::new(known, 1.0)),
            Self::DiscountedThompson { gamma } => Box::new(thompson::Thompson::new(known, gamma.clamp(0.0, 1.0))),
            Self::ThompsonKnown { deviation } => Box::new(thompson::KnownDeviation::new(known, deviation)),
            Self::ThompsonRaw => Box::new(thompson::Raw { known }),
            Self::Elimination { delta } => Box::new(rounds::Elimination::new(known, delta)),
            Self::RoundRobin { rounds, gate } => Box::new(rounds::RoundRobin::new(arms, auto, rounds, gate)),
            Self::EpochThompson { calls, floor, keep } => {
                Box::new(epochs::Epochs::new(known, calls, floor, keep, seed))
            }
        }
    }
}

/// The statistics of each arm so far.
struct Known {
    arms: Vec<Statistics>,
    auto: usize,
    pulls: u64,
}

impl Known {
    fn new(arms: usize, auto: usize) -> Self {
        Self { arms: vec![Statistics::default(); arms], auto, pulls: 0 }
    }

    fn add(&mut self, arm: usize, latency: f64) {
        self.pulls += 1;
        self.arms[arm].add(latency);
    }

    /// The arm with the lowest score.
    fn lowest(&self, score: impl FnMut(&Statistics) -> f64) -> usize {
        lowest(self.arms.iter().map(score), self.auto)
    }

    /// The next arm of the initial phase, in which every arm is pulled `times` times; `None` when it is over.
    fn first(&self, times: u64) -> Option<usize> {
        let arms = self.arms.len() as u64;
        (self.pulls < arms * times).then(|| (self.pulls % arms) as usize)
    }
}

/// The index of the lowest score; ties go to `auto`, then to the lowest index.
fn lowest(scores: impl Iterator<Item = f64>, auto: usize) -> usize {
    let mut best = (0, f64::INFINITY);
    for (index, score) in scores.enumerate() {
        if score < best.1 || (score == best.1 && index == auto) {
            best = (index, score);
        }
    }
    best.0
}
