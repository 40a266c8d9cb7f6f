//! Learning: tables of features, models, validation, metrics, intervals, importance.
//!
//! [`Table`] holds features. Trees: [`forest`] fits smartcore's forests; [`boosting`] has trees of its own, which
//! [`xgboost`] reads and writes; [`random_forest`] grows bootstrapped trees that become a [`step_function`].
//! [`perceptron`] is a small neural network. All of these report progress.
//!
//! Surfaces over two coordinates: [`polynomial`], [`hockney`] and [`kriging`]; [`power_law`] is linear in logarithms,
//! with trees on its residuals. Curves over one coordinate: [`curve`] interpolates, [`latency_bandwidth`] extrapolates.
//!
//! Validation: [`folds`] holds out, [`metrics`] scores, [`conformal`] turns held-out errors into intervals,
//! [`importance`] ranks features.

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
