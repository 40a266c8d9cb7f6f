//! Reads kernels from tables.
//!
//! A table is recognised by its headers (`columns`). Merged features hold everything. Slowdown statistics and metrics
//! of the profiler hold half of it each and are joined by [`merge`](super::merge). The files that profilers write
//! themselves are converted to these halves by [`trace`](super::trace).

mod columns;
mod json;
mod rows;

pub use self::{
    columns::{Kind, STANDARD, kind, preamble},
    json::sheet as json_sheet,
    rows::{Durations, KernelTable, Metric, Statistic, read},
};
