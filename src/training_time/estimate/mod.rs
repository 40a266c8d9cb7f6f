//! The time of a step without samples: from a model, the name of a GPU and a layout.
//!
//! Kernels are a roofline with measured shares of the peaks ([`efficiency`], [`device`]), exchanges the bandwidth of
//! links (`links`), NCCL's cost model ([`library`]) or what was measured ([`collectives`]); [`step`] composes them, and
//! [`factors`] are what the software makes of them, learnt from published steps. Nothing here is sampled: every answer
//! says so, and how wrong such answers were.

pub mod answer;
pub mod charts;
pub mod collectives;
pub mod device;
pub mod efficiency;
pub mod exchange;
pub mod factors;
pub mod given_layout;
mod layer;
pub mod layouts;
pub mod library;
mod links;
mod memory;

pub mod listing;
pub mod own_steps;
pub mod question;
pub mod stack;
pub mod step;
pub mod traced;

pub use self::layer::Times;
