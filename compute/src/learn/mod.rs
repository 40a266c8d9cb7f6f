//! Learning: features, ensembles over smartcore, surfaces, validation, metrics, intervals, importance.
//!
//! [`Table`] holds features; [`forest`] fits smartcore's trees to it, [`boosting`] trees of its own, which [`xgboost`]
//! reads and writes, [`random_forest`] bootstrapped ones that become a [`step_function`],
//! and [`perceptron`] a small network, all checked before and in steps that report progress; [`polynomial`], [`hockney`] and [`kriging`] fit smooth surfaces over two
//! coordinates, [`power_law`] a straight surface in logarithms with trees on what it leaves, [`curve`] a line through
//! points of one coordinate, [`latency_bandwidth`] says how a curve goes on beyond them; [`folds`] holds out, [`metrics`] scores, [`conformal`] turns held-out errors into intervals, [`importance`]
//! says which features matter.

pub mod boosting;
pub mod conformal;
pub mod curve;
pub mod folds;
pub mod forest;
pub mod hockney;
pub mod importance;
pub mod kriging;
pub mod latency_bandwidth;
pub mod linear;
pub mod matrix_process;
pub mod metrics;
pub mod nnls;
pub mod perceptron;
pub mod polynomial;
pub mod power_law;
pub mod random_forest;
mod ranked;
mod regression_tree;
pub mod step_function;
mod table;
pub mod xgboost;

pub use table::{LearnError, Table};
