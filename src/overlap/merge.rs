//! Slowdown statistics and kernel metrics of one run become kernels.

use serde::{Deserialize, Serialize};

use super::{
    kernel::{Dataset, Kernel},
    read::{Metric, Statistic},
};
use crate::units;

/// How two tables were joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// The number of rows that were found in both.
    pub matched: u64,
    /// Rows of the statistics that no row of the metrics belongs to, among those before the last match.
    pub passed_over: u64,
    /// Rows of the statistics after the metrics were used up.
    pub statistics_left_over: u64,
    /// Rows of the metrics that no row of the statistics belongs to.
    pub metrics_left_over: u64,
}

impl Merged {
    pub fn sentence(&self) -> String {
        let rows = |number| units::count(number, "row");
        let mut text = format!("{} of statistics and metrics belong together", rows(self.matched));
        if self.passed_over > 0 {
            text += &format!(
                "; {} of the statistics passed over, whose kernel the metrics don't have next",
                rows(self.passed_over)
            );
        }
        if self.statistics_left_over > 0 {
            text +=
                &format!("; {} of the statistics left over after the last metrics", rows(self.statistics_left_over));
        }
        if self.metrics_left_over > 0 {
            text += &format!(
                "; {} of the metrics left over, whose kernel the statistics don't have",
                rows(self.metrics_left_over)
            );
        }
        text
    }
}

/// Brings rows together by two pointers, both from 0: where the names are equal, the rows are one kernel and both
/// advance; else the statistics advance alone (the merge of the published module).
pub fn merge(name: String, statistics: &[Statistic], columns: &[String], metrics: &[Metric]) -> (Dataset, Merged) {
    let mut next = 0;
    let mut merged = Merged::default();
    let mut kernels = Vec::new();
    for statistic in statistics {
        match metrics.get(next) {
            None => merged.statistics_left_over += 1,
            Some(metric) if metric.name == statistic.name => {
                kernels.push(kernel(statistic, &metric.values));
                merged.matched += 1;
                next += 1;
            }
            Some(_) => merged.passed_over += 1,
        }
    }
    merged.metrics_left_over = (metrics.len() - next) as u64;
    (Dataset { name, columns: columns.to_vec(), kernels, contradictions: (0, None) }, merged)
}

/// The kernel of a row of statistics.
pub fn kernel(statistic: &Statistic, metrics: &[f64]) -> Kernel {
    let Statistic { name, line, timed } = statistic;
    Kernel {
        name: name.clone(),
        line: *line,
        alone_ns: timed.alone_ns,
        duration_ns: timed.duration_ns,
        overlap_ratio: timed.overlap_ratio,
        metrics: metrics.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::read::Durations;

    #[test]
    fn statistics_wait_for_no_metrics() {
        let timed = Durations { alone_ns: 1.0, duration_ns: 2.0, overlap_ratio: 1.0 };
        let statistics: Vec<Statistic> =
            "axbbc".chars().zip(1..).map(|(name, line)| Statistic { name: name.into(), line, timed }).collect();
        let metrics: Vec<Metric> = "abd"
            .chars()
            .zip(1..)
            .map(|(name, line)| Metric { name: name.into(), line, values: vec![line as f64] })
            .collect();
        let (dataset, merged) = merge("x".into(), &statistics, &["m".into()], &metrics);
        assert_eq!(merged, Merged { matched: 2, passed_over: 3, statistics_left_over: 0, metrics_left_over: 1 });
        let kernels: Vec<_> = dataset.kernels.iter().map(|k| (k.name.as_str(), k.line, k.metrics[0])).collect();
        assert_eq!(kernels, [("a", 1, 1.0), ("b", 3, 2.0)]);
    }
}
