//! A point of a sweep: the repeats of one configuration with their median, spread and count.

use serde::{Deserialize, Serialize};

use super::read::{Asked, Evidence, RowMarks, Sample};
use crate::{
    collective::{Algorithm, Configuration, Protocol, Workload},
    text::json::{exact, exact_or_none},
};

/// Which number of a row is the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// In-place busbw recomputed from the time, which has five digits where busbw has two decimals; the
    /// printed busbw where the two disagree.
    #[default]
    Time,
    /// In-place busbw as printed; from the time where 0 is printed.
    Printed,
}

/// All repeats of one configuration at one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The collective, scale and message size.
    pub workload: Workload,
    /// The configuration that ran, not necessarily what was asked for.
    pub configuration: Configuration,
    /// Median over the repeats of in-place busbw.
    #[serde(deserialize_with = "exact")]
    pub busbw_gbps: f64,
    /// The number of runs of which the bandwidth is the median.
    pub repeats: u32,
    /// (max − min) / median in per cent; `None` for one run.
    #[serde(default, deserialize_with = "exact_or_none")]
    pub spread_pct: Option<f64>,
    /// Marks that any of the repeats has.
    pub marks: RowMarks,
    /// The settings that were asked of the library; of several, those that were asked most often.
    #[serde(default)]
    pub asked: Asked,
    /// How it is known what ran: the weakest evidence of the repeats.
    #[serde(default)]
    pub evidence: Evidence,
    /// Median over the repeats of out-of-place busbw, where `busbw_gbps` is in-place and there are any.
    #[serde(default, deserialize_with = "exact_or_none")]
    pub out_of_place_gbps: Option<f64>,
}

impl Point {
    /// One run, of which nothing more is known.
    pub fn new(workload: Workload, configuration: Configuration, busbw_gbps: f64) -> Self {
        Self {
            workload,
            configuration,
            busbw_gbps,
            repeats: 1,
            spread_pct: None,
            marks: RowMarks::default(),
            asked: Asked::default(),
            evidence: Evidence::default(),
            out_of_place_gbps: None,
        }
    }

    /// Whether something else ran than the point says: no library runs that for the collective, and no line of a log
    /// shows it running.
    pub fn is_impossible(&self) -> bool {
        let Configuration { algorithm, protocol, .. } = self.configuration;
        let collective = self.workload.collective;
        // Direct is the library's own choice, and what has no algorithm claims none.
        let is_claimed = !matches!(algorithm, Algorithm::Direct | Algorithm::None) && protocol != Protocol::None;
        let can_run = collective.is_point_to_point() || collective.can_run(algorithm, protocol);
        is_claimed && !can_run && self.evidence != Evidence::Executed
    }
}

/// busbw is printed with two decimals; this is half of the last one and a little for the time's own rounding.
const HALF_DECIMAL_GBPS: f64 = 0.006;
/// Times have at least four digits.
const TIME_DIGITS: f64 = 1e-3;

impl Target {
    /// The measurement of a sample, in GB/s; always above zero for a sample that was read.
    ///
    /// [`Target::Time`] takes the printed value where it is further from the recomputed one than rounding allows:
    /// medians of an even number of runs, ranks that were counted otherwise.
    pub fn busbw_gbps(self, workload: &Workload, sample: &Sample) -> f64 {
        let printed = sample.busbw_gbps;
        let Some(time_us) = sample.time_us else { return printed };
        let computed = workload.collective.busbw_gbps(workload.scale.ranks, workload.size_bytes, time_us);
        let agrees = (computed - printed).abs() <= HALF_DECIMAL_GBPS + TIME_DIGITS * computed;
        let take_computed = (self == Self::Time && agrees) || printed <= 0.0;
        if take_computed && computed > 0.0 { computed } else { printed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Collective, Scale};

    #[test]
    fn time_has_more_digits_than_busbw_and_less_say_where_they_disagree() {
        let workload =
            Workload { collective: Collective::Broadcast, scale: Scale { nodes: 2, ranks: 16 }, size_bytes: 1 << 20 };
        let value =
            |time_us, busbw_gbps| Target::Time.busbw_gbps(&workload, &Sample { time_us: Some(time_us), busbw_gbps });
        assert!((value(1_048_576.0 / 1000.0 / 10.004, 10.0) - 10.004).abs() < 1e-9);
        assert!((value(1_048_576.0 / 1000.0 / 10.1, 10.0) - 10.0).abs() < 1e-9);
    }
}
