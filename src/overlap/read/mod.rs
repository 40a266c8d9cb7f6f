//! Files become kernels.
//!
//! A table is told by its headers ([`columns`]). Merged features hold everything; statistics of the slowdown and metrics
//! of the profiler hold a half each, which [`merge`](super::merge) brings together; what profilers write themselves is
//! turned into these halves by [`trace`](super::trace).

mod columns;
mod json;
mod rows;

pub use self::{
    columns::{Kind, STANDARD, kind, preamble},
    json::{JsonError, sheet as json_sheet},
    rows::{Durations, KernelTable, Metric, Statistic, read},
};
