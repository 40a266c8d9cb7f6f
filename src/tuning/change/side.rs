//! One of the two states, ready to be compared: its runs, their noise, its medians.

use crate::{
    collective::{Configuration, Workload},
    tuning::{
        aggregate::Point,
        decision::{
            Judge,
            contest::{Contest, Side},
            deviations::{AtWorkload, Deviations, Own},
        },
        parameters::Confidence,
        read::Kind,
        runs::{Keep, Runs},
        snapshot::Snapshot,
        stalls::Screened,
        sweep::Sweep,
    },
};

/// A snapshot with everything that a judge looks at.
pub struct State<'a> {
    /// What it is made of.
    pub snapshot: &'a Snapshot,
    /// The medians.
    pub sweep: Sweep,
    runs: Runs,
    /// What stalled was left out when the snapshot was made.
    screened: Screened,
    deviations: Deviations,
}

/// What is measured: a configuration that was asked for, or the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The library's own choice.
    Default,
    /// This.
    Asked(Configuration),
}

impl<'a> State<'a> {
    /// Makes a snapshot ready.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot) -> Self {
        let runs = snapshot.runs();
        let screened = Screened::default();
        let sweep = runs.sweep(|_, _| Keep::ALL);
        let deviations = Deviations::new(&runs, &screened);
        Self { snapshot, sweep, runs, screened, deviations }
    }

    /// Judges its measurements.
    #[must_use]
    pub fn judge(&self, confidence: Confidence) -> Judge<'_> {
        Judge { runs: &self.runs, screened: &self.screened, deviations: &self.deviations, confidence }
    }

    /// How noisy it is; `None` where no repeats tell it.
    #[must_use]
    pub fn noise(&self, workload: &Workload) -> Option<AtWorkload<'_>> {
        self.deviations.at(workload)
    }

    /// The median of something that was measured.
    #[must_use]
    pub fn point(&self, workload: &Workload, what: What) -> Option<&Point> {
        let found = match what {
            What::Default => self.sweep.default_at(workload),
            What::Asked(configuration) => {
                let points = self.sweep.points_at(workload);
                points.binary_search_by_key(&configuration, |point| point.configuration).ok().map(|at| &points[at])
            }
        };
        found.filter(|point| point.busbw_gbps > 0.0 && point.busbw_gbps.is_finite())
    }

    /// All that was measured at a workload, the default first.
    #[must_use]
    pub fn measured(&self, workload: &Workload) -> Vec<What> {
        let default = self.sweep.default_at(workload).map(|_| What::Default);
        let asked = self.sweep.points_at(workload).iter().map(|point| What::Asked(point.configuration));
        default.into_iter().chain(asked).filter(|what| self.point(workload, *what).is_some()).collect()
    }

    /// How far the runs of something say that their median errs, in ln busbw; 0 where they say nothing.
    #[must_use]
    pub fn own_error(&self, workload: &Workload, what: What) -> f64 {
        /// The standard error of a median of few runs over that of their mean.
        const OF_MEDIAN: f64 = 1.25;
        let kind = if what == What::Default { Kind::Default } else { Kind::Asked };
        let Some(point) = self.point(workload, what) else { return 0.0 };
        let own = self.judge(Confidence::default()).own_alone(workload, kind, point.configuration);
        let is_told = own.variance.freedom() > 0.0;
        if is_told { OF_MEDIAN * own.variance.deviation() / f64::from(own.runs.max(1)).sqrt() } else { 0.0 }
    }

    /// Something that was measured as a side of a contest; `column` tells its draws from others'. Where its own runs lie
    /// further from each other than those at the neighbouring sizes, they count: on halves of nine real runs four times as many
    /// false alarms were raised without that, at the two places that jump between two bandwidths.
    #[must_use]
    pub fn side(&self, contest: &Contest<'_>, workload: &Workload, what: What, column: usize) -> Option<Side> {
        let point = self.point(workload, what)?;
        let kind = if what == What::Default { Kind::Default } else { Kind::Asked };
        let judge = self.judge(Confidence::default());
        let side = |own: Own| contest.side(point.busbw_gbps, Own { runs: own.runs.max(1), ..own }, column);
        let pooled = side(judge.own(workload, kind, point.configuration));
        let alone = side(judge.own_alone(workload, kind, point.configuration));
        Some(if alone.apart(&alone) > pooled.apart(&pooled) { alone } else { pooled })
    }
}
