//! The objective is iteration time: with and without overlap, two policies; and how a collective that is faster alone
//! can lose.

use super::{
    arm::Arm,
    judge::{JudgedKey, REQUIRED_PROBABILITY},
    key::Key,
    result::{Decision, Pair, PairKind},
};
use crate::{
    bandit::compare::DRAWS,
    text::{Column, Entry, Listing},
    units::Size,
};

/// Compares the modes of every key that was measured in both.
pub fn pairs(judged: &[JudgedKey]) -> Vec<Pair> {
    let of_mode =
        |overlap: bool| judged.iter().filter(move |one| one.result.key.is_some_and(|key| key.overlap == Some(overlap)));
    let mut pairs = Vec::new();
    for without in of_mode(false) {
        let Some(key) = without.result.key else { continue };
        let same = |with: &&JudgedKey| with.result.key.is_some_and(|other| other.workload() == key.workload());
        let Some(with) = of_mode(true).find(same) else { continue };
        let Some((a, b)) = winner(without).zip(winner(with)) else { continue };
        let p_better = if a == b { [None; 2] } else { [better(without, a, b), better(with, b, a)] };
        let decided = |one: &JudgedKey| matches!(one.result.decision, Decision::Deploy(_));
        let kind = if a == b && decided(without) != decided(with) {
            PairKind::DecidedApart
        } else if a == b {
            PairKind::Same
        } else if p_better.iter().all(|p| p.is_some_and(|p| p >= REQUIRED_PROBABILITY)) {
            PairKind::Flip
        } else {
            PairKind::WithinNoise
        };
        pairs.push(Pair { key: Key { overlap: None, ..key }, winners: [a, b], p_better, kind });
    }
    pairs
}

/// The arm with the lowest mean latency.
fn winner(judged: &JudgedKey) -> Option<Arm> {
    let ran = judged.result.arms.iter().filter(|arm| arm.n > 0);
    ran.min_by(|a, b| a.mean_ms.total_cmp(&b.mean_ms)).map(|arm| arm.arm)
}

/// The probability that the mean of one arm is below that of another; `None` if it is unknown.
fn better(judged: &JudgedKey, arm: Arm, other: Arm) -> Option<f64> {
    let draws = |arm| {
        let place = judged.result.arms.iter().position(|of| of.arm == arm)?;
        judged.draws.get(place).filter(|draws| draws.len() == DRAWS)
    };
    let (own, other) = draws(arm).zip(draws(other))?;
    Some(own.iter().zip(other).filter(|(own, other)| own < other).count() as f64 / DRAWS as f64)
}

/// A row for each key that was measured in both modes.
pub fn listing(pairs: &[Pair]) -> Listing {
    let columns = vec![
        Column::words("Collective", "the collective"),
        Column::numbers("Size", "message size"),
        Column::words("Scale", "nodes and ranks"),
        Column::words("Without overlap", "the arm of the lowest mean"),
        Column::numbers("P(better)", "than the other mode's arm, without overlap"),
        Column::words("With overlap", "the arm of the lowest mean"),
        Column::numbers("P(better) ", "than the other mode's arm, with overlap"),
        Column::words("Overlap changes", "flip: both are better in their mode beyond doubt"),
    ];
    let row = |pair: &Pair| {
        let p = |mode: usize| Entry::number(pair.p_better[mode], |p| format!("{p:.2}"));
        vec![
            Entry::text(pair.key.collective.name()),
            Entry::number(Some(pair.key.size_bytes as f64), |_| Size(pair.key.size_bytes).to_string()),
            Entry::text(pair.key.scale.to_string()),
            Entry::text(pair.winners[0].to_string()),
            p(0),
            Entry::text(pair.winners[1].to_string()),
            p(1),
            Entry::text(pair.kind.words()),
        ]
    };
    Listing { columns, rows: pairs.iter().map(row).collect() }
}

/// A job's iteration: some computation, and one collective after it or beside it. While a collective runs it takes as
/// many multiprocessors as it has channels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// The time of the computation alone, in milliseconds.
    pub compute_ms: f64,
    /// The number of multiprocessors of the GPU.
    pub multiprocessors: u32,
}

impl Iteration {
    /// How long an iteration takes with a collective of `time_ms` on `channels`, in milliseconds: C + t without
    /// overlap; with overlap C + t · channels / multiprocessors.
    ///
    /// ```
    /// use collectune::policy::iteration::Iteration;
    /// let job = Iteration { compute_ms: 25.0, multiprocessors: 108 };
    /// // The arm that is faster alone, on 24 channels, against one on 4.
    /// assert_eq!((job.time_ms(2.0, 24, false), job.time_ms(2.6, 4, false)), (27.0, 27.6));
    /// let overlapped = (job.time_ms(2.0, 24, true), job.time_ms(2.6, 4, true));
    /// assert!((overlapped.0 - 25.444).abs() < 1e-3 && (overlapped.1 - 25.096).abs() < 1e-3);
    /// ```
    pub fn time_ms(&self, time_ms: f64, channels: u32, overlap: bool) -> f64 {
        if overlap {
            self.compute_ms + time_ms * f64::from(channels) / f64::from(self.multiprocessors.max(1))
        } else {
            self.compute_ms + time_ms
        }
    }
}
