//! Converts files that profilers write themselves to statistics and metrics: Nsight Compute's `--csv` (`ncu`), and
//! launches of Nsight Systems and rocprofv3 (`gpu`), from which durations and overlap ratios are computed (`overlap`).

mod gpu;
mod ncu;
mod overlap;

pub use self::{
    gpu::{Launch, launches},
    ncu::metrics,
    overlap::statistics,
};
