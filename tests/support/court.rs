//! A judge of runs, with all that it looks at.

use collectune::{
    collective::Workload,
    tuning::{
        aggregate::{Point, Target},
        decision::{Judge, JudgedWorkload, deviations::Deviations},
        parameters::{Confidence, Screening},
        read::Row,
        runs::Runs,
        stalls::Screened,
        sweep::Sweep,
    },
};

/// Everything that a judge looks at.
pub struct Court {
    pub runs: Runs,
    pub screened: Screened,
    pub sweep: Sweep,
    pub deviations: Deviations,
    pub confidence: Confidence,
}

impl Court {
    pub fn new(rows: &[Row], screening: &Screening) -> Self {
        let runs = Runs::new(rows.to_vec(), Target::Time);
        let screened = Screened::new(&runs, screening);
        let sweep = runs.sweep(|place, run| screened.keep(place, run));
        let deviations = Deviations::new(&runs, &screened);
        Self { runs, screened, sweep, deviations, confidence: Confidence::default() }
    }

    pub fn judge(&self, workload: &Workload) -> Option<JudgedWorkload<'_>> {
        let Self { runs, screened, deviations, confidence, .. } = self;
        let judge = Judge { runs, screened, deviations, confidence: *confidence };
        let points: Vec<&Point> = self.sweep.points_at(workload).iter().collect();
        judge.judge(&points, self.sweep.default_at(workload), None)
    }
}
