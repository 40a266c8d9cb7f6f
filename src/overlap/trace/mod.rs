//! What profilers write themselves becomes statistics and metrics: Nsight Compute's `--csv` ([`ncu`]), and the launches
//! of Nsight Systems ([`gpu`]), from which durations and overlap ratios follow ([`overlap`]).

mod gpu;
mod ncu;
mod overlap;

pub use self::{
    gpu::{Launch, launches},
    ncu::metrics,
    overlap::{Timing, is_communication, statistics},
};
