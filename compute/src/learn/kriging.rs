//! A kriged surface over two coordinates: a Gaussian process on the residual of a [`Trend`].
//!
//! The covariance is σ²·(k₃(Δx/ℓx)·k₅(Δy/ℓy) + η·[same point]) with the Matérn functions (Rasmussen and Williams
//! 2006, 4.2) 3/2, k₃(d) = (1 + √3·d)·exp(−√3·d), along x, and 5/2, k₅(d) = (1 + √5·d + 5/3·d²)·exp(−√5·d), along y:
//! the first coordinate may bend sharply, the second bends gently. Lengths and nugget are the most likely ones of a
//! fixed grid, with σ² at its most likely value for each (5.4): no starting point, no local optimum.
//!
//! On a complete grid of x × y the covariance is a Kronecker product, and two small eigendecompositions give the
//! likelihood and the solution exactly (Saatçi 2011, chapter 5): thousands of times cheaper than a Cholesky factor
//! of all points. An incomplete grid takes the general form, on at most [`MOST_POINTS`] points.

use super::{
    LearnError,
    hockney::Hockney,
    linear::{Cholesky, Eigen, Square, dot},
    polynomial::Polynomial,
};
use crate::math::{ascending, exp, ln};

/// The general form is fitted on at most this many points, thinned evenly.
pub const MOST_POINTS: usize = 400;

/// A grid with a longer axis takes the general form: the eigendecompositions grow with the third power.
const MOST_AXIS: usize = 64;

/// How many of those the search for lengths and nugget looks at.
const SEARCH_POINTS: usize = 120;

/// Lengths tried, in units of a coordinate.
const LENGTHS: [f64; 13] = [0.3, 0.42, 0.6, 0.84, 1.2, 1.7, 2.4, 3.4, 4.8, 6.8, 9.6, 13.6, 20.0];

/// Nuggets tried, as a share of σ².
const NUGGETS: [f64; 10] = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0];

/// What the surface follows where no measured point is near.
#[derive(Clone, Debug)]
pub enum Trend {
    /// A polynomial of both coordinates.
    Polynomial(Polynomial),
    /// Latency and bandwidth.
    Hockney(Hockney),
}

impl Trend {
    /// The height of the trend.
    #[must_use]
    pub fn predict(&self, place: [f64; 2]) -> f64 {
        match self {
            Self::Polynomial(polynomial) => polynomial.predict(place),
            Self::Hockney(hockney) => hockney.predict(place),
        }
    }
}

/// A fitted surface.
#[derive(Clone, Debug)]
pub struct Kriging {
    trend: Trend,
    lengths: [f64; 2],
    solution: Solution,
}

#[derive(Clone, Debug)]
enum Solution {
    /// Axis values and weights, `xs.len() × ys.len()`.
    Grid {
        xs: Vec<f64>,
        ys: Vec<f64>,
        weights: Vec<f64>,
    },
    Points {
        places: Vec<[f64; 2]>,
        weights: Vec<f64>,
    },
}

impl Kriging {
    /// Fits a surface through `target` at `places` around each of the trends, which were fitted to them; no two
    /// places may be the same. The surfaces share the decompositions of the grid.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn fit<const N: usize>(
        places: &[[f64; 2]],
        target: &[f64],
        trends: [Trend; N],
    ) -> Result<[Self; N], LearnError> {
        if let Some(row) = places.iter().flatten().chain(target).position(|v| !v.is_finite()) {
            return Err(LearnError::NotFinite { row: row / 2, feature: "a coordinate or the target".to_owned() });
        }
        let grid = Grid::new(places);
        Ok(trends.map(|trend| {
            let residual: Vec<f64> = places.iter().zip(target).map(|(place, z)| z - trend.predict(*place)).collect();
            let (lengths, solution) = match &grid {
                Some(grid) => grid.solve(&residual),
                None => solve_points(places, &residual),
            };
            Self { trend, lengths, solution }
        }))
    }

    /// The trend that the surface was fitted around.
    #[must_use]
    pub fn trend(&self) -> &Trend {
        &self.trend
    }

    /// The height of the surface.
    #[must_use]
    pub fn predict(&self, place: [f64; 2]) -> f64 {
        let [x, y] = place;
        let [length_x, length_y] = self.lengths;
        let residual = match &self.solution {
            Solution::Grid { xs, ys, weights } => {
                let to_ys: Vec<f64> = ys.iter().map(|v| along_y((v - y) / length_y)).collect();
                xs.iter()
                    .zip(weights.chunks_exact(ys.len()))
                    .map(|(v, line)| along_x((v - x) / length_x) * dot(line, &to_ys))
                    .sum()
            }
            Solution::Points { places, weights } => {
                places.iter().zip(weights).map(|(p, w)| w * covariance(*p, place, self.lengths)).sum::<f64>()
            }
        };
        self.trend.predict(place) + residual
    }
}

/// The correlation along x: Matérn 3/2.
fn along_x(distance: f64) -> f64 {
    let scaled = 3.0_f64.sqrt() * distance.abs();
    (1.0 + scaled) * exp(-scaled)
}

/// The correlation along y: Matérn 5/2.
fn along_y(distance: f64) -> f64 {
    let scaled = 5.0_f64.sqrt() * distance.abs();
    (1.0 + scaled + scaled * scaled / 3.0) * exp(-scaled)
}

fn covariance(a: [f64; 2], b: [f64; 2], lengths: [f64; 2]) -> f64 {
    along_x((a[0] - b[0]) / lengths[0]) * along_y((a[1] - b[1]) / lengths[1])
}

/// Minus twice the log likelihood at the most likely σ², up to a constant.
fn badness(points: usize, quadratic: f64, log_determinant: f64) -> f64 {
    let n = points as f64;
    n * ln((quadratic / n).max(1e-300)) + log_determinant
}

/// A complete grid: every x with every y, once; and the eigendecompositions of its axes for each of [`LENGTHS`].
struct Grid {
    xs: Vec<f64>,
    ys: Vec<f64>,
    eigen_xs: Vec<Eigen>,
    eigen_ys: Vec<Eigen>,
    /// Where each place stands in `xs.len() × ys.len()` heights.
    cells: Vec<usize>,
}

impl Grid {
    fn new(places: &[[f64; 2]]) -> Option<Self> {
        let axis = |index: usize| {
            let mut values: Vec<f64> = places.iter().map(|place| place[index]).collect();
            ascending(&mut values);
            values.dedup();
            values
        };
        let (xs, ys) = (axis(0), axis(1));
        if xs.len() * ys.len() != places.len() || xs.len().max(ys.len()) > MOST_AXIS {
            return None;
        }
        let find = |values: &[f64], value: f64| values.binary_search_by(|v| v.total_cmp(&value)).ok();
        let cells: Vec<usize> =
            places.iter().map(|[x, y]| Some(find(&xs, *x)? * ys.len() + find(&ys, *y)?)).collect::<Option<_>>()?;
        let mut taken = vec![false; cells.len()];
        if cells.iter().any(|cell| std::mem::replace(&mut taken[*cell], true)) {
            return None;
        }
        let (eigen_xs, eigen_ys) = (decompose(&xs, along_x), decompose(&ys, along_y));
        Some(Self { xs, ys, eigen_xs, eigen_ys, cells })
    }

    /// The most likely lengths and the solution for heights in the order of the places.
    fn solve(&self, in_order: &[f64]) -> ([f64; 2], Solution) {
        let (eigen_xs, eigen_ys) = (&self.eigen_xs, &self.eigen_ys);
        let (rows, columns) = (self.xs.len(), self.ys.len());
        let mut heights = vec![0.0; in_order.len()];
        for (cell, height) in self.cells.iter().zip(in_order) {
            heights[*cell] = *height;
        }
        let mut best = (f64::INFINITY, 0, 0, NUGGETS[0]);
        for (i, eigen_x) in eigen_xs.iter().enumerate() {
            let half = product(&eigen_x.vectors.values, &heights, rows, rows, columns);
            for (j, eigen_y) in eigen_ys.iter().enumerate() {
                let turned = product_transposed(&half, &eigen_y.vectors.values, rows, columns);
                for nugget in NUGGETS {
                    let (quadratic, log_determinant) = spectrum(eigen_x, eigen_y, &turned, nugget);
                    let badness = badness(rows * columns, quadratic, log_determinant);
                    if badness < best.0 {
                        best = (badness, i, j, nugget);
                    }
                }
            }
        }
        let (_, i, j, nugget) = best;
        let (eigen_x, eigen_y) = (&eigen_xs[i], &eigen_ys[j]);
        let half = product(&eigen_x.vectors.values, &heights, rows, rows, columns);
        let mut turned = product_transposed(&half, &eigen_y.vectors.values, rows, columns);
        for (line, x) in turned.chunks_exact_mut(columns).zip(&eigen_x.values) {
            for (value, y) in line.iter_mut().zip(&eigen_y.values) {
                *value /= (x * y).max(0.0) + nugget;
            }
        }
        let back = product(&turn(&eigen_x.vectors), &turned, rows, rows, columns);
        let weights = product_transposed(&back, &turn(&eigen_y.vectors), rows, columns);
        ([LENGTHS[i], LENGTHS[j]], Solution::Grid { xs: self.xs.clone(), ys: self.ys.clone(), weights })
    }
}

fn decompose(axis: &[f64], correlation: fn(f64) -> f64) -> Vec<Eigen> {
    LENGTHS
        .iter()
        .map(|length| Eigen::new(Square::from_fn(axis.len(), |i, j| correlation((axis[i] - axis[j]) / length))))
        .collect()
}

fn spectrum(eigen_x: &Eigen, eigen_y: &Eigen, turned: &[f64], nugget: f64) -> (f64, f64) {
    let (mut quadratic, mut log_determinant) = (0.0, 0.0);
    for (line, x) in turned.chunks_exact(eigen_y.values.len()).zip(&eigen_x.values) {
        // One logarithm per line: the product of a line stays far inside the range of a double in chunks of 32.
        for (values, ys) in line.chunks(32).zip(eigen_y.values.chunks(32)) {
            let mut determinant = 1.0;
            for (value, y) in values.iter().zip(ys) {
                let variance = (x * y).max(0.0) + nugget;
                quadratic += value * value / variance;
                determinant *= variance;
            }
            log_determinant += ln(determinant);
        }
    }
    (quadratic, log_determinant)
}

/// `left` (m × k) times `right` (k × n).
fn product(left: &[f64], right: &[f64], m: usize, k: usize, n: usize) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    for (line, target) in left.chunks_exact(k).zip(out.chunks_exact_mut(n)) {
        for (factor, row) in line.iter().zip(right.chunks_exact(n)) {
            for (sum, value) in target.iter_mut().zip(row) {
                *sum += factor * value;
            }
        }
    }
    out
}

/// `left` (m × n) times the transpose of `right` (n × n).
fn product_transposed(left: &[f64], right: &[f64], m: usize, n: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(m * n);
    for line in left.chunks_exact(n) {
        out.extend(right.chunks_exact(n).map(|row| dot(line, row)));
    }
    out
}

fn turn(matrix: &Square) -> Vec<f64> {
    Square::from_fn(matrix.size, |row, column| matrix.values[column * matrix.size + row]).values
}

/// `most` indices of `count`, evenly spread over a list in order.
fn thinned(count: usize, most: usize) -> Vec<usize> {
    if count <= most { (0..count).collect() } else { (0..most).map(|i| i * count / most).collect() }
}

fn solve_points(places: &[[f64; 2]], heights: &[f64]) -> ([f64; 2], Solution) {
    let pick = |most| -> (Vec<[f64; 2]>, Vec<f64>) {
        thinned(places.len(), most).into_iter().map(|i| (places[i], heights[i])).unzip()
    };
    let (few, few_heights) = pick(SEARCH_POINTS);
    let likelihood = |[x, y, nugget]: [usize; 3]| -> f64 {
        let lengths = [LENGTHS[x], LENGTHS[y]];
        factor(&few, lengths, NUGGETS[nugget]).map_or(f64::INFINITY, |cholesky| {
            let white = cholesky.forward(&few_heights);
            let log_determinant = cholesky.diagonal().map(|d| 2.0 * ln(d)).sum();
            badness(few.len(), dot(&white, &white), log_determinant)
        })
    };
    let starts = [[3, 3, 3], [7, 7, 4], [4, 10, 5], [10, 4, 5]];
    let best = starts.into_iter().map(|start| climb(start, &likelihood)).min_by(|a, b| a.0.total_cmp(&b.0));
    let [x, y, nugget] = best.map_or([6, 6, 5], |(_, place)| place);
    let lengths = [LENGTHS[x], LENGTHS[y]];
    let (many, many_heights) = pick(MOST_POINTS);
    let weights = NUGGETS[nugget..]
        .iter()
        .find_map(|nugget| factor(&many, lengths, *nugget))
        .map_or_else(|| vec![0.0; many.len()], |cholesky| cholesky.solve(&many_heights));
    (lengths, Solution::Points { places: many, weights })
}

fn factor(places: &[[f64; 2]], lengths: [f64; 2], nugget: f64) -> Option<Cholesky> {
    Cholesky::new(Square::from_fn(places.len(), |i, j| {
        if i == j {
            1.0 + nugget
        } else if j < i {
            covariance(places[i], places[j], lengths)
        } else {
            0.0
        }
    }))
}

/// Walks the grid of hyper-parameters downhill, one coordinate at a time, until no neighbour is lower.
fn climb(start: [usize; 3], badness: &dyn Fn([usize; 3]) -> f64) -> (f64, [usize; 3]) {
    let ends = [LENGTHS.len(), LENGTHS.len(), NUGGETS.len()];
    let mut best = (badness(start), start);
    loop {
        let before = best.1;
        for coordinate in 0..3 {
            for down in [true, false] {
                loop {
                    let mut next = best.1;
                    next[coordinate] = if down { next[coordinate].wrapping_sub(1) } else { next[coordinate] + 1 };
                    if next[coordinate] >= ends[coordinate] {
                        break;
                    }
                    let value = badness(next);
                    if value >= best.0 {
                        break;
                    }
                    best = (value, next);
                }
            }
        }
        if best.1 == before {
            return best;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::sin;

    fn bumpy([x, y]: [f64; 2]) -> f64 {
        0.3 * x - 0.1 * y + sin(x * 1.3) * 0.4 + sin(y) * 0.2
    }

    fn fit(places: &[[f64; 2]], target: &[f64]) -> Result<Kriging, LearnError> {
        let trend = Trend::Polynomial(Polynomial::fit(places, target, 2, 0.1)?);
        Kriging::fit(places, target, [trend]).map(|[surface]| surface)
    }

    fn grid() -> Vec<[f64; 2]> {
        (0..72).map(|i| [f64::from(i % 12), f64::from(i / 12)]).collect()
    }

    #[test]
    fn goes_through_smooth_data_on_a_grid() -> Result<(), LearnError> {
        let places = grid();
        let target: Vec<f64> = places.iter().map(|p| bumpy(*p)).collect();
        let surface = fit(&places, &target)?;
        assert!(matches!(surface.solution, Solution::Grid { .. }));
        for (place, z) in places.iter().zip(&target) {
            assert!((surface.predict(*place) - z).abs() < 0.01);
        }
        assert!((surface.predict([5.5, 2.5]) - bumpy([5.5, 2.5])).abs() < 0.06);
        Ok(())
    }

    #[test]
    fn the_general_form_agrees_with_the_grid() {
        let places = grid();
        let target: Vec<f64> = places.iter().map(|p| bumpy(*p)).collect();
        let solution = Grid::new(&places).map(|grid| grid.solve(&target));
        let Some((lengths, Solution::Grid { xs, ys, weights })) = solution else { panic!("a grid") };
        let nuggets = NUGGETS.iter().filter_map(|n| factor(&places, lengths, *n)).map(|c| c.solve(&target));
        let by_grid = |place: usize| weights[place % xs.len() * ys.len() + place / xs.len()];
        let close = |w: &Vec<f64>| (0..places.len()).all(|i| (w[i] - by_grid(i)).abs() < 1e-6 * (1.0 + w[i].abs()));
        assert_eq!(nuggets.filter(close).count(), 1);
    }

    #[test]
    fn an_incomplete_grid_takes_the_general_form() -> Result<(), LearnError> {
        let places: Vec<[f64; 2]> =
            grid().into_iter().enumerate().filter(|(i, _)| i % 7 != 0).map(|(_, p)| p).collect();
        let target: Vec<f64> = places.iter().map(|p| bumpy(*p)).collect();
        let surface = fit(&places, &target)?;
        assert!(matches!(surface.solution, Solution::Points { .. }));
        assert!((surface.predict([7.0, 0.0]) - bumpy([7.0, 0.0])).abs() < 0.1);
        Ok(())
    }

    #[test]
    fn far_from_the_points_the_trend_remains() -> Result<(), LearnError> {
        let places = grid();
        let target: Vec<f64> = places.iter().map(|p| bumpy(*p)).collect();
        let [surface] = Kriging::fit(&places, &target, [Trend::Hockney(Hockney::fit(&places, &target)?)])?;
        assert!(places.iter().zip(&target).all(|(p, z)| (surface.predict(*p) - z).abs() < 0.02));
        let far = [500.0, 2.0];
        assert!((surface.predict(far) - surface.trend().predict(far)).abs() < 1e-6);
        Ok(())
    }

    #[test]
    fn thin_data_is_no_problem() -> Result<(), LearnError> {
        for count in 1..5 {
            let places: Vec<[f64; 2]> = (0..count).map(|i| [f64::from(i), 0.0]).collect();
            let target: Vec<f64> = places.iter().map(|p| p[0]).collect();
            assert!(fit(&places, &target)?.predict([1.0, 0.0]).is_finite());
        }
        Ok(())
    }
}
