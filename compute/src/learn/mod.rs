//! Learning: features, ensembles over smartcore, surfaces, validation, metrics, intervals, importance.
//!
//! [`Table`] holds features; [`forest`] and [`boosting`] fit smartcore's trees to it, checked before every call
//! and in steps that report progress; [`polynomial`], [`hockney`] and [`kriging`] fit smooth surfaces over two
//! coordinates; [`folds`] holds out, [`metrics`] scores, [`conformal`] turns held-out errors into intervals, [`importance`]
//! says which features matter.

pub mod boosting;
pub mod conformal;
pub mod folds;
pub mod forest;
pub mod hockney;
pub mod importance;
pub mod kriging;
pub mod linear;
pub mod matrix_process;
pub mod metrics;
pub mod polynomial;
mod regression_tree;
mod table;

pub use table::{LearnError, Table};
