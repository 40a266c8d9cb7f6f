//! What the software makes of sums of kernels: factors, learnt from measured steps.
//!
//! Sums of kernels are faster than real steps, and the gap belongs to the software. A step is composed as
//! `((Σ factor · column)⁴ + host⁴)^¼`: where kernels are short, launching them takes longer than computing them.

use super::{layer::Times, step::StepColumns};
use crate::{
    math::{exp, ln, pow},
    order::CompactSort,
    training_time::trace::TracedParts,
};

/// Factors of the columns of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// On products and element-wise operators.
    pub compute: f64,
    /// The factor on the times of attention.
    pub attention: f64,
    /// The factor on the times of exchanges by the bandwidth of links: what the software hides of them, and what the
    /// links do otherwise than computed, which published steps don't tell apart. Measured exchanges count as measured,
    /// as nothing says how much of them is hidden, until steps of one's own move the factor.
    pub exchange: f64,
    /// The factor on the times of what sorts tokens for experts: counted is that each token is read once, and written
    /// once for each of its experts.
    pub sorting: f64,
    /// Time in µs of the host for a layer forward.
    pub host_us: f64,
    /// Time in µs of the host for an expert of a rank forward.
    pub host_expert_us: f64,
}

/// What is known before any step: kernels take a little longer in a step than alone; half of the exchanges is hidden;
/// tokens are copied about 3.5 times as often as once to their experts (into the order of ranks, of the experts of a
/// rank, and back, each time read and written, and weighted at the end); an expert of a rank takes six launches of 10
/// to 15 µs forward, two products with casts of both of their factors.
const BEFORE: Factors =
    Factors { compute: 1.15, attention: 1.4, exchange: 0.5, sorting: 3.5, host_us: 300.0, host_expert_us: 80.0 };

/// Learnt from all published steps: `tests/training_time/estimate.rs` learns them again, and says how wrong steps are
/// that were left out.
pub const LEARNT: Factors = Factors {
    compute: 1.1388,
    attention: 1.3547,
    exchange: 0.5580,
    sorting: 3.7226,
    host_us: 927.28,
    host_expert_us: 121.69,
};

/// The ends of a 90 % interval, in units of [`Factors::doubt`] of ln t: of steps of a source that was left out.
pub const WITHOUT_STEPS: [f64; 2] = [-1.220, 3.336];

/// The same where three steps or more of one's own moved the factors.
pub const WITH_OWN_STEPS: [f64; 2] = [-1.280, 1.960];

/// A measured step: its columns, its time in µs and how much it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredColumns {
    /// The columns of the step, before any factor.
    pub columns: StepColumns,
    /// The time of the whole step in µs.
    pub time_us: f64,
    /// How much its error counts beside those of others.
    pub weight: f64,
    /// What its time goes into, where it was traced.
    pub parts: Option<TracedParts>,
}

impl MeasuredColumns {
    /// The errors of the parts of a step as parts of ln t, each with its share of the step.
    fn errors_of_parts(&self, factors: &Factors) -> [(f64, f64); 3] {
        let Some(parts) = self.parts else { return [(0.0, 0.0); 3] };
        let computed = factors.on(&self.columns.times.minus(self.columns.bubble)).parts();
        let measured = [parts.compute_us, parts.attention_us, parts.exposed_us];
        // What both say is next to nothing tells nothing: it is as if a hundredth of the step were added to both.
        let least_us = self.time_us / 100.0;
        std::array::from_fn(|at| {
            let error = ln((computed[at].max(0.0) + least_us) / (measured[at].max(0.0) + least_us));
            (error, measured[at].max(computed[at]) / self.time_us)
        })
    }
}

/// How far measured steps move factors from those before.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stiffness {
    /// Of all factors together.
    together: f64,
    /// Of each by itself.
    apart: f64,
    /// The error from which on it counts linearly, not squared.
    bend: f64,
}

impl Factors {
    const fn values(self) -> [f64; 6] {
        [self.compute, self.attention, self.exchange, self.sorting, self.host_us, self.host_expert_us]
    }

    const fn of([compute, attention, exchange, sorting, host_us, host_expert_us]: [f64; 6]) -> Self {
        Self { compute, attention, exchange, sorting, host_us, host_expert_us }
    }

    /// Every factor so many times, in the order of the fields.
    #[must_use]
    pub fn scaled(self, by: [f64; 6]) -> Self {
        let mut values = self.values();
        values.iter_mut().zip(by).for_each(|(value, by)| *value *= by);
        Self::of(values)
    }

    /// The times, each multiplied by the factor of its part.
    pub fn on(&self, times: &Times) -> Times {
        Times {
            compute: times.compute * self.compute,
            attention: times.attention * self.attention,
            exchange: times.exchange * self.exchange,
            measured: times.measured * self.exchange / LEARNT.exchange,
            experts: times.experts * self.compute,
            sorting: times.sorting * self.sorting,
        }
    }

    /// The time of a step in µs.
    pub fn time_us(&self, columns: &StepColumns) -> f64 {
        let kernels = self.on(&columns.times).total();
        let host = columns.launches * self.host_us + columns.expert_launches * self.host_expert_us;
        let longer = kernels.max(host);
        if longer > 0.0 { longer * pow(1.0 + pow(kernels.min(host) / longer, 4.0), 0.25) } else { 0.0 }
    }

    /// How uncertain the time of a step is, as a part of ln t: more where there are experts, whose kernels differ most,
    /// and where the host takes a large part.
    pub fn doubt(&self, columns: &StepColumns) -> f64 {
        let time_us = self.time_us(columns);
        let waits = if time_us > 0.0 { (1.0 - self.on(&columns.times).total() / time_us).clamp(0.0, 1.0) } else { 0.0 };
        let with_experts = if columns.times.experts > 0.0 { 0.25 } else { 0.0 };
        0.12 + with_experts + 0.6 * waits
    }

    /// The ends of an interval in µs, by a doubt as [`Self::doubt`] has it and the ends of the distribution of errors.
    pub fn interval_us(&self, columns: &StepColumns, doubt: f64, [low, high]: [f64; 2]) -> [f64; 2] {
        let time_us = self.time_us(columns);
        [time_us * exp(low * doubt), time_us * exp(high * doubt)]
    }

    /// Whether a measured time is far from what these factors give: more than 1.5 times the upper end of the 90 %
    /// interval, or less than its lower end divided by 1.5. None of the published steps is, by factors learnt from
    /// other sources (`tests/training_time/estimate.rs`).
    pub fn is_far_from(&self, columns: &StepColumns, measured_us: f64) -> bool {
        let [low, high] = self.interval_us(columns, self.doubt(columns), WITHOUT_STEPS);
        !(low / 1.5..=high * 1.5).contains(&measured_us)
    }

    /// Factors learnt from steps of many kinds, for steps of another kind.
    pub fn learnt(steps: &[MeasuredColumns]) -> Self {
        fit(steps, BEFORE, Stiffness { together: 1e-6, apart: 3e-3, bend: 0.1 })
    }

    /// These factors, moved by a few steps of one's own: together freely, by themselves a little.
    #[must_use]
    pub fn moved_by(self, own: &[MeasuredColumns]) -> Self {
        fit(own, self, Stiffness { together: 3e-4, apart: 1e-2, bend: 0.05 })
    }
}

/// How much each factor by itself may move: exchanges and the host differ most. Without the source of small models
/// (`vtrain-single`) the others fit two times of the host alike, 0.4 and 1.8 ms for a layer: with a tenth, that of
/// before decides between them.
const RIDGE: [f64; 6] = [1.0, 1.0, 0.3, 1.0, 0.1, 0.1];

fn fit(steps: &[MeasuredColumns], before: Factors, stiffness: Stiffness) -> Factors {
    let total: f64 = steps.iter().map(|step| step.weight).sum();
    if steps.is_empty() || total.is_nan() || total <= 0.0 {
        return before;
    }
    let start = before.values().map(ln);
    let at = |point: &[f64; 7]| {
        let mut values = [0.0; 6];
        for (index, value) in values.iter_mut().enumerate() {
            let together = if index < 4 { point[0] } else { 0.0 };
            *value = exp(start[index] + point[index + 1] + together);
        }
        Factors::of(values)
    };
    let loss = |point: &[f64; 7]| {
        let factors = at(point);
        let errors: f64 = steps
            .iter()
            .map(|step| {
                let bent = |error: f64| {
                    let error = error / stiffness.bend;
                    (1.0 + error * error).sqrt() - 1.0
                };
                let parts = step.errors_of_parts(&factors).map(|(error, share)| share * bent(error));
                let whole = bent(ln(factors.time_us(&step.columns) / step.time_us));
                step.weight / total * (whole + parts.iter().sum::<f64>())
            })
            .sum();
        let apart: f64 = RIDGE.iter().zip(&point[1..]).map(|(ridge, by)| ridge * by * by).sum();
        2.0 * stiffness.bend * stiffness.bend * errors
            + stiffness.together * point[0] * point[0]
            + stiffness.apart * apart
    };
    let mut best = [0.0; 7];
    for _ in 0..3 {
        best = least(&loss, best);
    }
    at(&best)
}

/// The point at which a function is least, near another one (Nelder and Mead, 1965).
fn least<const N: usize>(of: &impl Fn(&[f64; N]) -> f64, start: [f64; N]) -> [f64; N] {
    const STEPS: usize = 2_000;
    let mut simplex: Vec<([f64; N], f64)> = vec![(start, of(&start))];
    for axis in 0..N {
        let mut point = start;
        point[axis] += 0.1;
        simplex.push((point, of(&point)));
    }
    for _ in 0..STEPS {
        simplex.compact_sort_by(|a, b| a.1.total_cmp(&b.1));
        let worst = simplex[N];
        if worst.1 - simplex[0].1 < 1e-12 {
            break;
        }
        let mut centre = [0.0; N];
        for (point, _) in &simplex[..N] {
            centre.iter_mut().zip(point).for_each(|(sum, value)| *sum += value / N as f64);
        }
        let along = |factor: f64| {
            let mut point = centre;
            point.iter_mut().zip(&worst.0).for_each(|(value, from)| *value += factor * (*value - from));
            (point, of(&point))
        };
        let mirrored = along(1.0);
        simplex[N] = if mirrored.1 < simplex[0].1 {
            let further = along(2.0);
            if further.1 < mirrored.1 { further } else { mirrored }
        } else if mirrored.1 < simplex[N - 1].1 {
            mirrored
        } else {
            let inside = if mirrored.1 < worst.1 { along(0.5) } else { along(-0.5) };
            if inside.1 < worst.1.min(mirrored.1) {
                inside
            } else {
                // Towards the best one.
                let best = simplex[0].0;
                for (point, value) in &mut simplex[1..] {
                    point.iter_mut().zip(&best).for_each(|(value, best)| *value = f64::midpoint(*value, *best));
                    *value = of(point);
                }
                continue;
            }
        };
    }
    simplex.compact_sort_by(|a, b| a.1.total_cmp(&b.1));
    simplex[0].0
}
