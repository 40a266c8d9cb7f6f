//! Learning: features, ensembles over smartcore, surfaces, validation, metrics, intervals, importance.
//!
//! [`Table`] holds features; [`forest`] fits smartcore's trees to it, [`boosting`] trees of its own, which [`xgboost`]
//! reads and writes, and [`perceptron`] a small network, all checked before and in steps that report progress; [`polynomial`], [`hockney`] and [`kriging`] fit smooth surfaces over two
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
pub mod perceptron;
pub mod polynomial;
mod regression_tree;
mod table;
pub mod xgboost;

pub use table::{LearnError, Table};
