//! Kriged surfaces over two coordinates, one for each of several kinds: a Gaussian process on what a trend leaves.
//!
//! The covariance is σ²·(k₃(Δx/ℓx)·k₅(Δy/ℓy)·ρ[other kind] + η·[same point]) with the Matérn functions (Rasmussen and
//! Williams 2006, 4.2) 3/2, k₃(d) = (1 + √3·d)·exp(−√3·d), along x, and 5/2, k₅(d) = (1 + √5·d + 5/3·d²)·exp(−√5·d),
//! along y: the first coordinate may bend sharply, the second bends gently. ρ is how much of what one kind leaves the
//! others leave at the same place, so that a kind is known where only others were measured (a model of
//! coregionalization; Goovaerts 1997). Lengths, ρ and nugget are the most likely ones of a fixed grid, with σ² at its
//! most likely value for each (5.4): no starting point, no local optimum.
//!
//! On a complete grid of x × (y, kind) the covariance is a Kronecker product, and two small eigendecompositions give
//! the likelihood and the solution exactly (Saatçi 2011, chapter 5): thousands of times cheaper than a Cholesky factor
//! of all points. Where the grid is not complete, or has many columns, each kind is kriged by itself; one whose own
//! grid is not complete takes the general form, on at most [`MOST_POINTS`] points.

use super::{
    LearnError,
    linear::{Cholesky, Eigen, Square, dot},
};
use crate::{
    math::{ascending, exp, ln},
    order::CompactSort,
};

/// The most points of the general form; more are thinned evenly.
pub const MOST_POINTS: usize = 400;

/// The longest axis of a grid: eigendecompositions take time with the third power of it.
const MOST_AXIS: usize = 64;

/// The number of points that the search for lengths and nugget uses in the general form.
const SEARCH_POINTS: usize = 120;

/// The correlation lengths that are tried, in units of a coordinate.
const LENGTHS: [f64; 7] = [0.42, 0.84, 1.7, 3.4, 6.8, 13.6, 27.0];

/// The correlations between kinds that are tried.
const CORRELATIONS: [f64; 4] = [0.0, 0.3, 0.6, 0.9];

/// The nuggets that are tried, as a share of σ².
const NUGGETS: [f64; 10] = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0];

/// The place of a measurement: two coordinates and a kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// The first coordinate.
    pub x: f64,
    /// The second coordinate and the kind.
    pub column: Column,
}

/// A second coordinate together with a kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// The second coordinate.
    pub y: f64,
    /// The kind, as a number chosen by the caller.
    pub kind: u32,
}

/// Fitted surfaces, one for each kind.
#[derive(Clone, Debug)]
pub struct Kriging {
    components: Vec<Component>,
}

/// Kinds that were fitted together.
#[derive(Clone, Debug)]
struct Component {
    /// The only kind; `None` where the component has all kinds.
    kind: Option<u32>,
    scales: Scales,
    solution: Solution,
}

/// The correlation lengths of the two coordinates, and the correlation between kinds.
#[derive(Clone, Copy, Debug)]
struct Scales {
    lengths: [f64; 2],
    between_kinds: f64,
}

#[derive(Clone, Debug)]
enum Solution {
    /// Values of both axes, and the weights as `xs.len() × columns.len()` numbers, row by row.
    Grid {
        xs: Vec<f64>,
        columns: Vec<Column>,
        weights: Vec<f64>,
    },
    Points {
        sites: Vec<Site>,
        weights: Vec<f64>,
    },
}

impl Kriging {
    /// Fits surfaces through `heights`, the residuals of a trend, at `sites`. No two sites may be equal.
    ///
    /// # Errors
    /// Returns a [`LearnError`] for numbers that are not finite, or if the numbers of sites and heights differ.
    pub fn fit(sites: &[Site], heights: &[f64]) -> Result<Self, LearnError> {
        if heights.len() != sites.len() {
            return Err(LearnError::Shape { what: "heights", found: heights.len(), expected: sites.len() });
        }
        let is_finite = |(site, height): (&Site, &f64)| (site.x + site.column.y + height).is_finite();
        if let Some(row) = sites.iter().zip(heights).position(|of| !is_finite(of)) {
            return Err(LearnError::NotFinite { row, feature: "a coordinate or the height".to_owned() });
        }
        if let Some(grid) = Grid::new(sites) {
            return Ok(Self { components: vec![grid.solve(heights, None)] });
        }
        let mut order: Vec<usize> = (0..sites.len()).collect();
        order.compact_sort_by_key(|index| sites[*index].column.kind);
        let same_kind = |a: &usize, b: &usize| sites[*a].column.kind == sites[*b].column.kind;
        let components = order.chunk_by(same_kind).map(|of_kind| {
            let kind = Some(sites[of_kind[0]].column.kind);
            let (sites, heights): (Vec<Site>, Vec<f64>) = of_kind.iter().map(|i| (sites[*i], heights[*i])).unzip();
            Grid::new(&sites).map_or_else(|| solve_points(&sites, &heights, kind), |grid| grid.solve(&heights, kind))
        });
        Ok(Self { components: components.collect() })
    }

    /// The height of a kind's surface above the trend; 0 far from all measurements.
    pub fn predict(&self, site: Site) -> f64 {
        // Components of a single kind are not correlated with other kinds.
        let related = self.components.iter().filter(|of| of.kind.is_none_or(|kind| kind == site.column.kind));
        related.fold(0.0, |height, component| height + component.predict(site))
    }
}

impl Component {
    fn predict(&self, site: Site) -> f64 {
        match &self.solution {
            Solution::Grid { xs, columns, weights } => {
                let to_columns: Vec<f64> =
                    columns.iter().map(|column| self.scales.along_columns(*column, site.column)).collect();
                xs.iter()
                    .zip(weights.chunks_exact(columns.len()))
                    .map(|(x, line)| self.scales.along_x(x - site.x) * dot(line, &to_columns))
                    .sum()
            }
            Solution::Points { sites, weights } => {
                sites.iter().zip(weights).map(|(known, weight)| weight * self.scales.covariance(*known, site)).sum()
            }
        }
    }
}

impl Scales {
    fn along_x(&self, distance: f64) -> f64 {
        along_x(distance / self.lengths[0])
    }

    fn along_columns(&self, a: Column, b: Column) -> f64 {
        let shared = if a.kind == b.kind { 1.0 } else { self.between_kinds };
        along_y((a.y - b.y) / self.lengths[1]) * shared
    }

    fn covariance(&self, a: Site, b: Site) -> f64 {
        self.along_x(a.x - b.x) * self.along_columns(a.column, b.column)
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

/// Minus twice the log likelihood at the most likely σ², up to a constant (Rasmussen and Williams 2006, 5.4).
fn deviance(points: usize, quadratic: f64, log_determinant: f64) -> f64 {
    let n = points as f64;
    // Heights that are all zero have a quadratic form of zero, whose logarithm is not finite.
    n * ln((quadratic / n).max(1e-300)) + log_determinant
}

/// A complete grid: every x with every column exactly once.
struct Grid {
    xs: Vec<f64>,
    columns: Vec<Column>,
    /// For each site its index in `xs.len() × columns.len()` heights.
    cells: Vec<usize>,
}

impl Grid {
    fn new(sites: &[Site]) -> Option<Self> {
        let mut xs: Vec<f64> = sites.iter().map(|site| site.x).collect();
        ascending(&mut xs);
        xs.dedup();
        let order = |a: &Column, b: &Column| a.kind.cmp(&b.kind).then(a.y.total_cmp(&b.y));
        let mut columns: Vec<Column> = sites.iter().map(|site| site.column).collect();
        columns.compact_sort_by(order);
        columns.dedup();
        let is_complete = xs.len() * columns.len() == sites.len() && !sites.is_empty();
        if !is_complete || xs.len().max(columns.len()) > MOST_AXIS {
            return None;
        }
        let cell = |site: &Site| {
            let row = xs.binary_search_by(|x| x.total_cmp(&site.x)).ok()?;
            let column = columns.binary_search_by(|column| order(column, &site.column)).ok()?;
            Some(row * columns.len() + column)
        };
        let cells: Vec<usize> = sites.iter().map(cell).collect::<Option<_>>()?;
        let mut taken = vec![false; cells.len()];
        if cells.iter().any(|cell| std::mem::replace(&mut taken[*cell], true)) {
            return None;
        }
        Some(Self { xs, columns, cells })
    }

    /// Finds the most likely lengths, correlation and nugget, and solves for the weights. The heights are in the order
    /// of the sites.
    fn solve(self, in_order: &[f64], kind: Option<u32>) -> Component {
        let Self { xs, columns, cells } = self;
        let (rows, width) = (xs.len(), columns.len());
        let mut heights = vec![0.0; in_order.len()];
        for (cell, height) in cells.iter().zip(in_order) {
            heights[*cell] = *height;
        }
        let has_kinds = columns.first().map(|column| column.kind) != columns.last().map(|column| column.kind);
        let correlations = if has_kinds { &CORRELATIONS[..] } else { &CORRELATIONS[..1] };
        let along_xs: [(Eigen, Vec<f64>); LENGTHS.len()] = LENGTHS.map(|length| {
            let eigen = Eigen::new(Square::from_fn(rows, |i, j| along_x((xs[i] - xs[j]) / length)));
            let rotated = product(&eigen.vectors.values, &heights, rows, rows, width);
            (eigen, rotated)
        });
        let eigen_of_columns =
            |scales: Scales| Eigen::new(Square::from_fn(width, |i, j| scales.along_columns(columns[i], columns[j])));
        let mut scales = Scales { lengths: [LENGTHS[0]; 2], between_kinds: correlations[0] };
        let (mut lowest, mut best_x, mut nugget) = (f64::INFINITY, 0, NUGGETS[0]);
        for (length_y, between_kinds) in
            LENGTHS.iter().flat_map(|length| correlations.iter().map(move |c| (*length, *c)))
        {
            let eigen_columns = eigen_of_columns(Scales { lengths: [1.0, length_y], between_kinds });
            for (index_x, (eigen_x, rotated_x)) in along_xs.iter().enumerate() {
                let rotated = product_transposed(rotated_x, &eigen_columns.vectors.values, rows, width);
                for candidate in NUGGETS {
                    let (quadratic, log_determinant) = spectrum(eigen_x, &eigen_columns, &rotated, candidate);
                    let deviance = deviance(rows * width, quadratic, log_determinant);
                    if deviance < lowest {
                        scales = Scales { lengths: [LENGTHS[index_x], length_y], between_kinds };
                        (lowest, best_x, nugget) = (deviance, index_x, candidate);
                    }
                }
            }
        }
        let (eigen_x, rotated_x) = &along_xs[best_x];
        let eigen_columns = eigen_of_columns(scales);
        let mut rotated = product_transposed(rotated_x, &eigen_columns.vectors.values, rows, width);
        for (line, x) in rotated.chunks_exact_mut(width).zip(&eigen_x.values) {
            for (value, y) in line.iter_mut().zip(&eigen_columns.values) {
                *value /= (x * y).max(0.0) + nugget;
            }
        }
        let back = product(&transposed(&eigen_x.vectors), &rotated, rows, rows, width);
        let weights = product_transposed(&back, &transposed(&eigen_columns.vectors), rows, width);
        Component { kind, scales, solution: Solution::Grid { xs, columns, weights } }
    }
}

/// Quadratic form and log determinant of the covariance with a nugget, from the eigenvalues of both axes and the
/// heights rotated into their eigenvectors.
fn spectrum(eigen_x: &Eigen, eigen_y: &Eigen, rotated: &[f64], nugget: f64) -> (f64, f64) {
    let (mut quadratic, mut log_determinant) = (0.0, 0.0);
    for (line, x) in rotated.chunks_exact(eigen_y.values.len()).zip(&eigen_x.values) {
        // One logarithm for 32 values: their product stays within the range of a double.
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

/// The product of `left` (m × k) and `right` (k × n).
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

/// The product of `left` (m × n) and the transpose of `right` (n × n).
fn product_transposed(left: &[f64], right: &[f64], m: usize, n: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(m * n);
    for line in left.chunks_exact(n) {
        out.extend(right.chunks_exact(n).map(|row| dot(line, row)));
    }
    out
}

/// The values of the transposed matrix.
fn transposed(matrix: &Square) -> Vec<f64> {
    Square::from_fn(matrix.size, |row, column| matrix.values[column * matrix.size + row]).values
}

/// At most `most` of the indices `0..count`, evenly spaced.
fn thinned(count: usize, most: usize) -> Vec<usize> {
    if count <= most { (0..count).collect() } else { (0..most).map(|i| i * count / most).collect() }
}

fn solve_points(sites: &[Site], heights: &[f64], kind: Option<u32>) -> Component {
    let pick = |most| -> (Vec<Site>, Vec<f64>) {
        thinned(sites.len(), most).into_iter().map(|i| (sites[i], heights[i])).unzip()
    };
    let scales = |x: usize, y: usize| Scales { lengths: [LENGTHS[x], LENGTHS[y]], between_kinds: 0.0 };
    let (few, few_heights) = pick(SEARCH_POINTS);
    let likelihood = |[x, y, nugget]: [usize; 3]| -> f64 {
        factor(&few, &scales(x, y), NUGGETS[nugget]).map_or(f64::INFINITY, |cholesky| {
            let white = cholesky.forward(&few_heights);
            let log_determinant = cholesky.diagonal().map(|d| 2.0 * ln(d)).sum();
            deviance(few.len(), dot(&white, &white), log_determinant)
        })
    };
    let starts = [[1, 1, 3], [3, 3, 4], [2, 5, 5], [5, 2, 5]];
    let best =
        starts.into_iter().map(|start| coordinate_descent(start, &likelihood)).min_by(|a, b| a.0.total_cmp(&b.0));
    let [x, y, nugget] = best.map_or([3, 3, 5], |(_, site)| site);
    let scales = scales(x, y);
    let (sites, heights) = pick(MOST_POINTS);
    let weights = NUGGETS[nugget..]
        .iter()
        .find_map(|nugget| factor(&sites, &scales, *nugget))
        .map_or_else(|| vec![0.0; sites.len()], |cholesky| cholesky.solve(&heights));
    Component { kind, scales, solution: Solution::Points { sites, weights } }
}

fn factor(sites: &[Site], scales: &Scales, nugget: f64) -> Option<Cholesky> {
    Cholesky::new(Square::from_fn(sites.len(), |i, j| {
        if i == j {
            1.0 + nugget
        } else if j < i {
            scales.covariance(sites[i], sites[j])
        } else {
            0.0
        }
    }))
}

/// Coordinate descent on the grid of hyper-parameters, until no neighbour has a lower deviance.
fn coordinate_descent(start: [usize; 3], deviance: &dyn Fn([usize; 3]) -> f64) -> (f64, [usize; 3]) {
    let ends = [LENGTHS.len(), LENGTHS.len(), NUGGETS.len()];
    let mut best = (deviance(start), start);
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
                    let value = deviance(next);
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

    fn site(x: f64, y: f64, kind: u32) -> Site {
        Site { x, column: Column { y, kind } }
    }

    fn bumpy(site: &Site) -> f64 {
        let Site { x, column: Column { y, kind } } = *site;
        sin(x * 1.3) * 0.4 + sin(y) * 0.2 + f64::from(kind) * 0.05 * sin(x)
    }

    fn grid() -> Vec<Site> {
        (0..72).map(|i| site(f64::from(i % 12), f64::from(i / 12), 0)).collect()
    }

    #[test]
    fn interpolates_smooth_data_on_a_grid() -> Result<(), LearnError> {
        let sites = grid();
        let heights: Vec<f64> = sites.iter().map(bumpy).collect();
        let surface = Kriging::fit(&sites, &heights)?;
        assert!(matches!(surface.components[..], [Component { solution: Solution::Grid { .. }, .. }]));
        for (site, height) in sites.iter().zip(&heights) {
            assert!((surface.predict(*site) - height).abs() < 0.01);
        }
        assert!((surface.predict(site(5.5, 2.5, 0)) - bumpy(&site(5.5, 2.5, 0))).abs() < 0.06);
        Ok(())
    }

    #[test]
    fn the_general_form_agrees_with_the_grid() {
        let sites = grid();
        let heights: Vec<f64> = sites.iter().map(bumpy).collect();
        let component = Grid::new(&sites).map(|grid| grid.solve(&heights, None));
        let Some(Component { scales, solution: Solution::Grid { xs, columns, weights }, .. }) = component else {
            panic!("a grid")
        };
        let nuggets = NUGGETS.iter().filter_map(|n| factor(&sites, &scales, *n)).map(|c| c.solve(&heights));
        let by_grid = |site: usize| weights[site % xs.len() * columns.len() + site / xs.len()];
        let close = |w: &Vec<f64>| (0..sites.len()).all(|i| (w[i] - by_grid(i)).abs() < 1e-6 * (1.0 + w[i].abs()));
        assert_eq!(nuggets.filter(close).count(), 1);
    }

    #[test]
    fn an_incomplete_grid_takes_the_general_form() -> Result<(), LearnError> {
        let sites: Vec<Site> =
            grid().into_iter().enumerate().filter(|(i, _)| i % 7 != 0).map(|(_, site)| site).collect();
        let heights: Vec<f64> = sites.iter().map(bumpy).collect();
        let surface = Kriging::fit(&sites, &heights)?;
        assert!(matches!(surface.components[..], [Component { solution: Solution::Points { .. }, .. }]));
        assert!((surface.predict(site(7.0, 0.0, 0)) - bumpy(&site(7.0, 0.0, 0))).abs() < 0.1);
        Ok(())
    }

    #[test]
    fn a_kind_is_predicted_where_only_others_were_measured() -> Result<(), LearnError> {
        // A dip at y = 0, the end of the axis, that the second kind was not measured at.
        let dip = |of: &Site| bumpy(of) - if of.column.y < 0.5 { 1.0 } else { 0.0 };
        let all: Vec<Site> =
            (0..3).flat_map(|kind| grid().into_iter().map(move |of| site(of.x, of.column.y, kind))).collect();
        let known: Vec<Site> = all.iter().copied().filter(|of| of.column.kind != 1 || of.column.y > 0.5).collect();
        let alone: Vec<Site> = known.iter().copied().filter(|of| of.column.kind == 1).collect();
        let fit = |sites: &[Site]| Kriging::fit(sites, &sites.iter().map(dip).collect::<Vec<f64>>());
        let (together, alone) = (fit(&known)?, fit(&alone)?);
        let error = |surface: &Kriging| {
            let errors = (0..12).map(|x| site(f64::from(x), 0.0, 1)).map(|of| (surface.predict(of) - dip(&of)).abs());
            errors.sum::<f64>() / 12.0
        };
        assert!(error(&together) < 0.3 && error(&alone) > 0.6, "{} {}", error(&together), error(&alone));
        // Nothing is lost where a kind was measured itself.
        assert!(known.iter().all(|of| (together.predict(*of) - dip(of)).abs() < 0.05));
        Ok(())
    }

    #[test]
    fn kinds_with_different_sizes_are_fitted_separately() -> Result<(), LearnError> {
        let mut sites = grid();
        sites.extend((0..5).map(|x| site(f64::from(x), 1.0, 4)));
        let heights: Vec<f64> = sites.iter().map(bumpy).collect();
        let surface = Kriging::fit(&sites, &heights)?;
        assert_eq!(surface.components.len(), 2);
        assert!(sites.iter().zip(&heights).all(|(site, height)| (surface.predict(*site) - height).abs() < 0.02));
        Ok(())
    }

    #[test]
    fn predictions_far_from_all_points_are_zero() -> Result<(), LearnError> {
        let sites = grid();
        let heights: Vec<f64> = sites.iter().map(bumpy).collect();
        assert!(Kriging::fit(&sites, &heights)?.predict(site(500.0, 2.0, 0)).abs() < 1e-6);
        Ok(())
    }

    #[test]
    fn thin_data_is_no_problem() -> Result<(), LearnError> {
        for count in 0..5 {
            let sites: Vec<Site> = (0..count).map(|i| site(f64::from(i), 0.0, 0)).collect();
            let heights: Vec<f64> = sites.iter().map(|site| site.x).collect();
            assert!(Kriging::fit(&sites, &heights)?.predict(site(1.0, 0.0, 0)).is_finite());
        }
        assert!(Kriging::fit(&grid(), &[]).is_err());
        assert!(Kriging::fit(&[site(0.0, f64::NAN, 0)], &[1.0]).is_err());
        Ok(())
    }
}
