//! A sweep file becomes rows.

use serde::{Deserialize, Serialize};

use crate::collective::{Configuration, Workload};

/// One accepted data line of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Which file, as the caller numbers them.
    pub file: u16,
    /// Line in the file, from 1.
    pub line: u32,
    /// Collective, scale and size.
    pub workload: Workload,
    /// What ran: algorithm, protocol, and channels as printed (256 + n where the print wrapped).
    pub ran: Configuration,
    /// In-place measurement.
    pub in_place: Option<Sample>,
    /// Out-of-place measurement.
    pub out_of_place: Option<Sample>,
    /// How many runs this line is the median of; 1 for a line of a single run.
    pub repeats: u32,
    /// (max − min) / median of those runs in per cent; `None` for a single run.
    pub spread_pct: Option<f64>,
    /// What kind of run it was.
    pub kind: Kind,
    /// What the row's columns say besides.
    pub marks: Marks,
}

/// What kind of run a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A configuration was asked for (or the file does not say what was asked).
    Asked,
    /// The library's own choice: the baseline, never a candidate.
    Default,
}

/// Marks of a row or a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// Algorithm or protocol that ran differ from what was asked.
    pub substituted: bool,
    /// The channel count was printed as a negative byte and is read as 256 + n.
    pub wrapped_channels: bool,
    /// The algorithm was printed with RCCL's WarpSpeed mark (`RING*`).
    pub warp_speed: bool,
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time of one operation in microseconds.
    pub time_us: f64,
    /// Bus bandwidth in GB/s as printed.
    pub busbw_gbps: f64,
}
