//! Repeats of one configuration become one point: median, spread, count.

use serde::{Deserialize, Serialize};

use super::read::Marks;
use crate::collective::{Configuration, Workload};

/// Which number of a row is the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// In-place busbw recomputed from the time, which has five digits where busbw has two decimals; the
    /// printed busbw where the two disagree.
    #[default]
    Time,
    /// In-place busbw as printed.
    Printed,
}

/// All repeats of one configuration at one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Collective, scale and size.
    pub workload: Workload,
    /// What ran.
    pub configuration: Configuration,
    /// Median over the repeats of in-place busbw.
    pub busbw_gbps: f64,
    /// How many runs.
    pub repeats: u32,
    /// (max − min) / median in per cent; `None` for one run.
    pub spread_pct: Option<f64>,
    /// Marks that any of the repeats has.
    pub marks: Marks,
}

/// What was measured, ready to learn from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Configurations that were asked for, ordered by workload, then configuration.
    pub points: Vec<Point>,
    /// The library's own choice, ordered by workload; `configuration` is what it chose (the most frequent).
    pub defaults: Vec<Point>,
}
