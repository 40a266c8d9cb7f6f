//! One of the two states, ready to be compared: its runs, their noise, its medians.

use crate::{
    collective::{Configuration, Workload},
    math::{ln, median},
    report::snapshot::Snapshot,
    tuning::{
        aggregate::Point,
        decision::{
            Judge,
            deviations::{Deviations, OwnSpread, WorkloadNoise},
            medians::{MedianComparison, NoisyMedian},
            printed,
        },
        parameters::Confidence,
        read::RunKind,
        runs::{KeptParts, Runs},
        stalls::Screened,
        sweep::Sweep,
    },
};

/// The fewest runs of a median that is compared. A single run may have stalled: about one real run in a hundred stalls
/// by too little to be set aside.
pub const MIN_RUNS: u32 = 2;

/// A snapshot with everything that a judge looks at.
pub struct MeasuredState<'a> {
    /// The medians of the runs, a point for each.
    pub sweep: Sweep,
    /// The medians as they were printed, if [`MeasuredState::sweep`] has those of passes that were brought to one
    /// level.
    printed: Option<&'a Sweep>,
    runs: Runs,
    /// Empty: stalled runs were left out when the snapshot was made.
    screened: Screened,
    deviations: Deviations,
}

/// One of the measured alternatives: a forced configuration, or the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MeasuredArm {
    /// The default: the library chooses by itself.
    Default,
    /// A configuration that was asked for.
    Asked(Configuration),
}

impl<'a> MeasuredState<'a> {
    /// Computes medians and noise of a snapshot.
    pub fn new(snapshot: &Snapshot) -> Self {
        let runs = snapshot.runs();
        let screened = Screened::default();
        let sweep = runs.sweep(|_, _| KeptParts::ALL);
        let deviations = Deviations::new(&runs, &screened);
        Self { sweep, printed: None, runs, screened, deviations }
    }

    /// The same for a snapshot whose passes were brought to one level; `measured` is the state before that.
    pub fn levelled(snapshot: &Snapshot, measured: &'a Self) -> Self {
        Self { printed: Some(&measured.sweep), ..Self::new(snapshot) }
    }

    /// Decides between the measurements of this state at a confidence.
    pub fn judge(&self, confidence: Confidence) -> Judge<'_> {
        Judge { runs: &self.runs, screened: &self.screened, deviations: &self.deviations, confidence }
    }

    /// The noise at a workload; `None` without repeats.
    pub fn noise(&self, workload: &Workload) -> Option<WorkloadNoise<'_>> {
        self.deviations.at(workload)
    }

    /// The median of an arm.
    pub fn point(&self, workload: &Workload, arm: MeasuredArm) -> Option<&Point> {
        point(&self.sweep, workload, arm)
    }

    /// By how much rounding may have moved ln of that median, to either side; 0 where more digits are known.
    pub fn rounded(&self, workload: &Workload, arm: MeasuredArm) -> f64 {
        let printed = point(self.printed.unwrap_or(&self.sweep), workload, arm);
        printed.map_or(0.0, |point| printed::either_side(point.busbw_gbps))
    }

    /// The arms that were measured at a workload, the default first.
    pub fn measured(&self, workload: &Workload) -> Vec<MeasuredArm> {
        let default = self.sweep.default_at(workload).map(|_| MeasuredArm::Default);
        let asked = self.sweep.points_at(workload).iter().map(|point| MeasuredArm::Asked(point.configuration));
        default.into_iter().chain(asked).filter(|arm| self.point(workload, *arm).is_some()).collect()
    }

    /// The standard error of an arm's median by its own runs, in ln busbw; 0 where these don't show it.
    pub fn own_error(&self, workload: &Workload, arm: MeasuredArm) -> f64 {
        /// The standard error of a median of few runs over that of their mean.
        const MEDIAN_ERROR_FACTOR: f64 = 1.25;
        let kind = if arm == MeasuredArm::Default { RunKind::Default } else { RunKind::Asked };
        let Some(point) = self.point(workload, arm) else { return 0.0 };
        let own = self.judge(Confidence::default()).own_alone(workload, kind, point.configuration);
        let is_told = own.variance.freedom() > 0.0;
        if is_told { MEDIAN_ERROR_FACTOR * own.variance.deviation() / f64::from(own.runs.max(1)).sqrt() } else { 0.0 }
    }

    /// The deviation of each run of an arm from their median in ln busbw, in the order in which they ran, scaled up
    /// because the median was computed from the same runs; empty where rows are medians themselves. The median is used
    /// since a run that stalled then deviates alone; from the mean, the others would deviate too, in the other
    /// direction.
    pub fn residuals(&self, workload: &Workload, arm: MeasuredArm) -> Vec<f64> {
        let kind = if arm == MeasuredArm::Default { RunKind::Default } else { RunKind::Asked };
        let Some(point) = self.point(workload, arm) else { return Vec::new() };
        let Some((_, _, runs)) = self.runs.of(workload, kind, point.configuration) else { return Vec::new() };
        if runs.len() < 2 || runs.iter().any(|run| run.repeats != 1) {
            return Vec::new();
        }
        // Deviations from the mean of n runs have (n − 1)/n of the variance; from their median about (n − 0.66)/n, a
        // sixth more at three runs. The median of two runs is their mean.
        let n = runs.len() as f64;
        let widened = if runs.len() == 2 { std::f64::consts::SQRT_2 } else { (n / (n - 0.66)).sqrt() };
        let middle = median(&mut runs.iter().map(|run| ln(run.busbw_gbps)).collect::<Vec<_>>()).unwrap_or(0.0);
        runs.iter().map(|run| (ln(run.busbw_gbps) - middle) * widened).collect()
    }

    /// An arm's median with its draws; different values of `column` give independent draws. The noise is that of the
    /// arm's own runs where these spread more than those at the neighbouring sizes: without that, halves of nine real
    /// runs gave four times as many false alarms, at two workloads that jump between two bandwidths.
    pub fn side(
        &self,
        comparison: &MedianComparison<'_>,
        workload: &Workload,
        arm: MeasuredArm,
        column: usize,
    ) -> Option<NoisyMedian> {
        let point = self.point(workload, arm)?;
        let kind = if arm == MeasuredArm::Default { RunKind::Default } else { RunKind::Asked };
        let judge = self.judge(Confidence::default());
        let side =
            |own: OwnSpread| comparison.side(point.busbw_gbps, OwnSpread { runs: own.runs.max(1), ..own }, column);
        let pooled = side(judge.own(workload, kind, point.configuration));
        let alone = side(judge.own_alone(workload, kind, point.configuration));
        Some(if alone.difference_error(&alone) > pooled.difference_error(&pooled) { alone } else { pooled })
    }
}

fn point<'a>(sweep: &'a Sweep, workload: &Workload, arm: MeasuredArm) -> Option<&'a Point> {
    let found = match arm {
        MeasuredArm::Default => sweep.default_at(workload),
        MeasuredArm::Asked(configuration) => {
            let points = sweep.points_at(workload);
            points.binary_search_by_key(&configuration, |point| point.configuration).ok().map(|at| &points[at])
        }
    };
    found.filter(|point| point.busbw_gbps > 0.0 && point.busbw_gbps.is_finite())
}
