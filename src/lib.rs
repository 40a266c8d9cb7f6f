//! Collectune turns what a cluster measured into what to deploy.
//!
//! (the map; to be completed)

#[cfg(target_arch = "wasm32")]
pub mod app;
#[cfg(not(target_arch = "wasm32"))]
pub mod cli;
pub mod collective;
pub mod intake;
pub mod learn;
pub mod math;
pub mod plot;
pub mod progress;
pub mod text;
pub mod tuning;
pub mod units;
pub mod worker;
