//! What comes out of a study.

use serde::{Deserialize, Serialize};

use super::{
    kernel::Kernel,
    models::{Kind, Predicted},
};
use crate::{
    learn::metrics,
    math::{ascending, quantile},
};

/// How far predictions are from measurements; shares and errors of durations in per cent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The mean of |predicted − measured| / measured.
    pub mape_pct: f64,
    /// Σ|predicted − measured| / Σ measured.
    pub wape_pct: f64,
    /// Σ predicted / Σ measured − 1.
    pub total_error_pct: f64,
    /// Kernels off by at most 5 %.
    pub within_5_pct: f64,
    /// Kernels off by at most 10 %.
    pub within_10_pct: f64,
    /// Kernels off by at most 15 %.
    pub within_15_pct: f64,
    /// Half of the kernels are off by at most this.
    pub p50_pct: f64,
    /// Nine of ten kernels are off by at most this.
    pub p90_pct: f64,
    /// 99 of 100 kernels are off by at most this.
    pub p99_pct: f64,
    /// The coefficient of determination of the slowdown s.
    pub r2: f64,
    /// The mean absolute error of s.
    pub mae: f64,
    /// The root of the mean squared error of s.
    pub rmse: f64,
}

impl Score {
    /// Its numbers, in the order of their fields.
    #[must_use]
    pub fn numbers(self) -> [f64; 12] {
        let Self { mape_pct, wape_pct, total_error_pct, within_5_pct, within_10_pct, within_15_pct, .. } = self;
        let Self { p50_pct, p90_pct, p99_pct, r2, mae, rmse, .. } = self;
        [
            mape_pct,
            wape_pct,
            total_error_pct,
            within_5_pct,
            within_10_pct,
            within_15_pct,
            p50_pct,
            p90_pct,
            p99_pct,
            r2,
            mae,
            rmse,
        ]
    }

    fn of_numbers(numbers: [f64; 12]) -> Self {
        let [mape_pct, wape_pct, total_error_pct, within_5_pct, within_10_pct, within_15_pct, ..] = numbers;
        let [.., p50_pct, p90_pct, p99_pct, r2, mae, rmse] = numbers;
        Self {
            mape_pct,
            wape_pct,
            total_error_pct,
            within_5_pct,
            within_10_pct,
            within_15_pct,
            p50_pct,
            p90_pct,
            p99_pct,
            r2,
            mae,
            rmse,
        }
    }

    /// Of predictions; `None` without any.
    #[must_use]
    pub fn of(pairs: &[(&Kernel, Predicted)]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let count = pairs.len() as f64;
        let duration = |(kernel, predicted): &(&Kernel, Predicted)| kernel.alone_ns * predicted.ratio;
        let error = |pair: &(&Kernel, Predicted)| (duration(pair) - pair.0.duration_ns).abs();
        let mut errors: Vec<f64> = pairs.iter().map(|pair| error(pair) / pair.0.duration_ns * 100.0).collect();
        ascending(&mut errors);
        let measured: f64 = pairs.iter().map(|(kernel, _)| kernel.duration_ns).sum();
        let predicted: f64 = pairs.iter().map(duration).sum();
        let within = |bound: f64| errors.iter().filter(|error| **error <= bound).count() as f64 / count * 100.0;
        let share = |share: f64| quantile(&errors, share).unwrap_or_default();
        let slowdowns: Vec<(f64, f64)> =
            pairs.iter().map(|(kernel, predicted)| (kernel.slowdown(), predicted.slowdown)).collect();
        let squares: f64 = slowdowns.iter().map(|(measured, said)| (measured - said) * (measured - said)).sum();
        Some(Self {
            mape_pct: errors.iter().sum::<f64>() / count,
            wape_pct: pairs.iter().map(error).sum::<f64>() / measured * 100.0,
            total_error_pct: (predicted / measured - 1.0) * 100.0,
            within_5_pct: within(5.0),
            within_10_pct: within(10.0),
            within_15_pct: within(15.0),
            p50_pct: share(0.5),
            p90_pct: share(0.9),
            p99_pct: share(0.99),
            r2: metrics::r2(&slowdowns).unwrap_or_default(),
            mae: metrics::mean_absolute_error(&slowdowns).unwrap_or_default(),
            rmse: (squares / count).sqrt(),
        })
    }

    /// The mean and the standard deviation of each number over repeats; a deviation of 0 for one.
    #[must_use]
    pub fn mean_and_spread(scores: &[Self]) -> Option<(Self, Self)> {
        if scores.is_empty() {
            return None;
        }
        let count = scores.len() as f64;
        let numbers: Vec<[f64; 12]> = scores.iter().map(|score| score.numbers()).collect();
        let mean: [f64; 12] = std::array::from_fn(|i| numbers.iter().map(|n| n[i]).sum::<f64>() / count);
        let spread = std::array::from_fn(|i| {
            let squares: f64 = numbers.iter().map(|n| (n[i] - mean[i]) * (n[i] - mean[i])).sum();
            if scores.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 }
        });
        Some((Self::of_numbers(mean), Self::of_numbers(spread)))
    }
}

/// A model's scores out of fold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelScores {
    /// Which.
    pub kind: Kind,
    /// Of each repeat of the folds by kernels that is whole.
    pub repeats: Vec<Score>,
    /// Mean over the repeats.
    pub mean: Option<Score>,
    /// Standard deviation over the repeats.
    pub spread: Option<Score>,
    /// By folds of kernel names, when all are there: each name was never seen.
    pub unseen_names: Option<Score>,
}
