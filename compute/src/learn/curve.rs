//! Piecewise linear curves, for the time of a message over its size: interpolated between the points, with a latency
//! and a bandwidth beyond them.

use serde::{Deserialize, Serialize};

use crate::{math, order::CompactSort};

/// The number of rows on each side in the running median.
const WINDOW_ROWS: usize = 10;

/// The accepted ratio of a value to the running median; others are outliers.
pub const ACCEPTED: std::ops::RangeInclusive<f64> = 0.67..=1.5;

/// Whether a value is an outlier among its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outlier {
    /// The value is accepted.
    No,
    /// The value is above the accepted range.
    Above,
    /// The value is below the accepted range.
    Below,
}

/// Classifies times of ascending sizes by their ratio to the running median over `WINDOW_ROWS` rows on each side,
/// fewer at the ends.
pub fn outliers(times: &[f64]) -> Vec<Outlier> {
    let mut window = Vec::with_capacity(2 * WINDOW_ROWS + 1);
    let outlier = |(row, time): (usize, &f64)| {
        window.clear();
        window.extend_from_slice(&times[row.saturating_sub(WINDOW_ROWS)..(row + WINDOW_ROWS + 1).min(times.len())]);
        let share = time / math::median(&mut window).unwrap_or(*time);
        if share > *ACCEPTED.end() {
            Outlier::Above
        } else if share < *ACCEPTED.start() {
            Outlier::Below
        } else {
            Outlier::No
        }
    };
    times.iter().enumerate().map(outlier).collect()
}

/// A straight line with non-negative constant and slope: latency, and time per unit of size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The value at size 0: the latency.
    pub constant: f64,
    /// The time per unit of size.
    pub slope: f64,
}

impl Line {
    /// Fits the line by least squares; through the origin if the constant would be negative.
    pub fn fit(points: &[(f64, f64)]) -> Self {
        let count = points.len() as f64;
        let x_mean = points.iter().map(|(x, _)| x).sum::<f64>() / count;
        let y_mean = points.iter().map(|(_, y)| y).sum::<f64>() / count;
        let spread: f64 = points.iter().map(|(x, _)| (x - x_mean) * (x - x_mean)).sum();
        let common: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
        let slope = common / spread;
        let constant = y_mean - slope * x_mean;
        if slope.is_finite() && slope >= 0.0 && constant >= 0.0 {
            Self { constant, slope }
        } else if x_mean > 0.0 {
            Self { constant: 0.0, slope: y_mean / x_mean }
        } else {
            Self::default()
        }
    }

    /// The value of the line at a size.
    pub fn at(&self, size: f64) -> f64 {
        self.constant + self.slope * size
    }
}

/// A piecewise linear curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The points (size, time) by ascending size, each size once.
    points: Vec<(f64, f64)>,
    below: Line,
    above: Line,
}

impl Curve {
    /// The curve through sizes and times in any order; times of equal sizes are averaged. Outliers are removed if
    /// requested. `None` without a row.
    pub fn through(mut rows: Vec<(f64, f64)>, without_outliers: bool) -> Option<Self> {
        rows.compact_sort_by(|a, b| a.0.total_cmp(&b.0));
        if without_outliers {
            let outlier = outliers(&rows.iter().map(|(_, time)| *time).collect::<Vec<f64>>());
            let mut at = 0;
            rows.retain(|_| {
                at += 1;
                outlier[at - 1] == Outlier::No
            });
        }
        let mut points: Vec<(f64, f64)> = Vec::with_capacity(rows.len());
        for same in rows.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
            points.push((same[0].0, same.iter().map(|(_, time)| time).sum::<f64>() / same.len() as f64));
        }
        if points.is_empty() {
            return None;
        }
        let tenth = (points.len() / 10).max(2).min(points.len());
        let (below, above) = (Line::fit(&points[..tenth]), Line::fit(&points[points.len() - tenth..]));
        Some(Self { points, below, above })
    }

    /// The value of the curve at a size.
    pub fn at(&self, size: f64) -> f64 {
        let above = self.points.partition_point(|(x, _)| *x < size);
        match (above.checked_sub(1).map(|low| self.points[low]), self.points.get(above)) {
            (_, Some((x, time))) if *x == size => *time,
            (Some((x, time)), Some((next, next_time))) => time + (next_time - time) * (size - x) / (next - x),
            (None, _) => self.below.at(size),
            (_, None) => self.above.at(size),
        }
    }

    /// The points of the curve, by size.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_linear_between_points_and_beyond_them() {
        let rows = (1..=100).map(|i| (f64::from(i) * 10.0, 5.0 + 2.0 * f64::from(i) * 10.0)).collect();
        let curve = Curve::through(rows, true).unwrap_or_default();
        for size in [1.0, 10.0, 33.0, 500.0, 1000.0, 9000.0] {
            assert!((curve.at(size) - (5.0 + 2.0 * size)).abs() < 1e-6, "{size} {}", curve.at(size));
        }
        assert_eq!(Curve::through(Vec::new(), true), None);
        // One point is a bandwidth.
        assert_eq!(
            Curve::through(vec![(4.0, 8.0)], true).map(|curve| (curve.at(1.0), curve.at(8.0))),
            Some((2.0, 16.0))
        );
    }

    #[test]
    fn outliers_are_removed_and_repeats_averaged() {
        let mut rows: Vec<(f64, f64)> = (1..=50).map(|i| (f64::from(i), 100.0)).collect();
        rows[20].1 = 900.0;
        rows[30].1 = 10.0;
        rows.push((5.0, 110.0));
        let told = outliers(&rows.iter().map(|(_, time)| *time).collect::<Vec<f64>>());
        assert_eq!((told[20], told[30], told[0]), (Outlier::Above, Outlier::Below, Outlier::No));
        let curve = Curve::through(rows.clone(), true).unwrap_or_default();
        assert_eq!((curve.at(21.0), curve.at(31.0), curve.at(5.0), curve.points().len()), (100.0, 100.0, 105.0, 48));
        assert_eq!(Curve::through(rows, false).map(|curve| curve.at(21.0)), Some(900.0));
    }
}
