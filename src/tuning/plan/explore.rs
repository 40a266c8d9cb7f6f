//! Which launch to make next.
//!
//! A Gaussian process ([`MatrixProcess`]) expects ln busbw of every launch at every size from the launches that were
//! made. Two launches tell of each other by how near their channel counts are, and more so where they share the
//! algorithm, the protocol or both. The next launch is the one from which the most is expected: over all sizes, by how
//! much it should lie above the best so far, counting only what lies above by more than a threshold (expected
//! improvement: Jones, Schonlau and Welch, Journal of Global Optimization 13, 1998). It ends where all launches that
//! are left, together, are expected to gain too little: many small chances are as good as a large one.
//!
//! A configuration far below the best of a size says little of those near it, and would make the process expect large
//! differences everywhere: beyond [`COMPRESSED_BELOW`] below the best a height counts for [`COMPRESSION`] of its
//! distance. Configurations differ more at some sizes than at others, so the process sees the heights of each size in
//! units of their deviation there ([`deviations`]). One channel count can be faster than its neighbours on both sides,
//! where a message happens to fill the chunks of its channels: a launch that was not made has a variance of its own
//! where a channel carries more than a chunk ([`CHUNK_VARIANCE`]). These and what is worth a launch were chosen on
//! simulated sweeps (`tests/tuning/plan_strategies.rs`); between settings that are equally good there, the real sweeps
//! that the plan is judged by decided (docs/tuning.md).
//!
//! Before any of that, each algorithm and protocol is launched with its most channels, and with its fewest where as
//! much is expected of it as of any launch that is worth making: the curve over channels can have two humps, and one at
//! a single channel is invisible from the others.
//!
//! What was measured elsewhere ([`Prior`]), at another scale or on another day, is where the process begins: heights
//! are taken relative to what is expected from there if that makes the measurements here likelier, and the ends of
//! curves wait until no other launch is worth it. Until much is measured here, [`MOVED_VARIANCE`] says how far
//! expectations from elsewhere may be wrong.

use super::grid::Grid;
use crate::{
    collective::Configuration,
    learn::{
        linear::Square,
        matrix_process::{Columns, MatrixProcess, VarianceBefore},
    },
    math::{erfc, exp, log2},
};

/// The expected gains from which on a launch is worth making.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LaunchThresholds {
    /// A size's answer changes where something is faster by more than this, in per cent.
    pub change_pct: f64,
    /// Launches are worth making while those that are left, together, are expected to raise busbw beyond that by this
    /// much, in per cent: the root of the sum of the squares of [`NextLaunch::expected_pct`].
    pub least_pct: f64,
}

impl Default for LaunchThresholds {
    fn default() -> Self {
        Self { change_pct: 1.0, least_pct: 0.2 }
    }
}

impl LaunchThresholds {
    /// What a launch is worth that is certain to raise ln busbw by `gains` at some of so many sizes, in per cent, as
    /// [`NextLaunch::expected_pct`].
    pub fn gain_pct(&self, gains: impl Iterator<Item = f64>, sizes: usize) -> f64 {
        let beyond = gains.map(|gain| improvement(gain - self.change_pct / 100.0, 0.0).0);
        root_mean_square(beyond, sizes) * 100.0
    }

    /// Why a search ends, without the collective and scale.
    pub fn end(&self) -> String {
        let Self { change_pct, least_pct } = self;
        format!(
            "all other launches together are expected to raise busbw by less than {least_pct} % (root mean square over the \
             sizes, beyond {change_pct} % at each)"
        )
    }
}

/// Why a launch is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceReason {
    /// It is expected to raise busbw.
    Gain,
    /// It is the first with its fewest or its most channels.
    End,
    /// Nothing is known here yet, and elsewhere it loses the least over all sizes.
    Prior,
}

/// A launch to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextLaunch {
    /// The index of the launch in the grid.
    pub launch: usize,
    /// The rule by which it is the next one, which decides the sentence that people read.
    pub reason: ChoiceReason,
    /// By how much it is expected to raise busbw, in per cent ([`root_mean_square`]); `None` before anything is known,
    /// and of an algorithm and protocol's first launch with the most channels.
    pub expected_pct: Option<f64>,
    /// The size at which it is expected to change the most, and the probability that it does.
    pub at: Option<(u64, f64)>,
}

/// Heights further than this below the best of a size, in ln busbw, are compressed.
const COMPRESSED_BELOW: f64 = 0.35;

/// The share of the distance beyond [`COMPRESSED_BELOW`] that counts.
const COMPRESSION: f64 = 0.5;

/// Covariance of a launch with itself beyond what it shares with launches of nearly as many channels.
const OWN_COVARIANCE: f64 = 0.003;

/// The variance, in units of the process', that a launch has of its own where its channels carry whole chunks, and the
/// bytes of a channel, as their binary logarithm, from which on a part of it and all of it is expected. Chunks of NCCL
/// have 16 KiB (LL) to 512 KiB (Simple).
const CHUNK_VARIANCE: f64 = 0.05;
const CHUNK_OCTAVES: [f64; 2] = [17.0, 20.0];

/// For how many launches the deviation over all sizes counts where the deviation at one size is estimated.
const DEVIATION_LAUNCHES: f64 = 15.0;

/// The gains that are expected at single sizes, as one figure: their root mean square over all `sizes`. A large loss at
/// one size is worth more launches than the same sum of small ones, so a mean would end the search too early.
pub(super) fn root_mean_square(gains: impl Iterator<Item = f64>, sizes: usize) -> f64 {
    (gains.map(|gain| gain * gain).sum::<f64>() / sizes.max(1) as f64).sqrt()
}

/// A height as the process sees it.
fn compressed(height: f64, best: f64) -> f64 {
    let beyond = best - COMPRESSED_BELOW - height;
    if beyond > 0.0 && beyond.is_finite() { height + beyond * (1.0 - COMPRESSION) } else { height }
}

/// The height of what the process sees.
fn decompressed(height: f64, best: f64) -> f64 {
    let beyond = best - COMPRESSED_BELOW - height;
    if beyond > 0.0 && beyond.is_finite() { height + beyond - beyond / COMPRESSION } else { height }
}

/// What measurements elsewhere let expect.
#[derive(Clone, Debug)]
pub struct Prior {
    /// For each launch of the grid and each size, mean and variance of ln busbw below the best there, as the process
    /// sees heights.
    cells: Vec<Vec<(f64, f64)>>,
    /// They were made at the same scale.
    is_same_scale: bool,
}

/// Fewer launches elsewhere say nothing about the others.
pub(super) const LEAST_PRIOR_ROWS: usize = 3;

/// The variance of heights, and of their distance to a prior that is trusted, before anything is measured. They count
/// as one launch.
const HEIGHT_VARIANCE: f64 = 0.05;
const MOVED_VARIANCE: f64 = 0.01;

/// A mean and a variance at `x`, on the line through the neighbours among ascending `places`; beyond the ends that of
/// the end.
fn between(places: &[f64], cells: &[(f64, f64)], x: f64) -> (f64, f64) {
    let upper = places.partition_point(|place| *place < x).min(places.len() - 1);
    let lower = upper.saturating_sub(1);
    let width = places[upper] - places[lower];
    let share = if width > 0.0 { ((x - places[lower]) / width).clamp(0.0, 1.0) } else { 1.0 };
    let at = |low: f64, high: f64| low + (high - low) * share;
    (at(cells[lower].0, cells[upper].0), at(cells[lower].1, cells[upper].1))
}

/// The covariance of launches. Lengths are in octaves.
#[derive(Clone, Copy, Debug)]
struct CovarianceShape {
    /// The length over sizes, as an index of [`SIZE_LENGTHS`].
    size: usize,
    /// Over channels, between all launches.
    shared: f64,
    /// Over channels, for launches of the same algorithm and protocol.
    own: f64,
    /// Variance of a measurement, as a share.
    noise: f64,
    /// Whether the prior's differences are expected here.
    trusts_prior: bool,
}

/// Lengths over sizes that are tried, in octaves.
const SIZE_LENGTHS: [f64; 2] = [2.0, 5.0];

/// The shapes that are tried; the likeliest is taken.
fn shapes(has_prior: bool) -> impl Iterator<Item = CovarianceShape> {
    let all = [1.5, 3.0].into_iter().flat_map(|shared| [1.0, 2.0].map(|own| (shared, own)));
    let all = all.flat_map(|(shared, own)| [3e-4, 3e-3, 3e-2].map(|noise| (shared, own, noise)));
    let all = all.flat_map(|(shared, own, noise)| [0, 1].map(|size| (size, shared, own, noise)));
    let trusts: &[bool] = if has_prior { &[true, false] } else { &[false] };
    all.flat_map(move |(size, shared, own, noise)| {
        trusts.iter().map(move |trusts_prior| CovarianceShape { size, shared, own, noise, trusts_prior: *trusts_prior })
    })
}

/// The likeliest shape is sought with at most this many rows, and used with at most [`MAX_ROWS`].
const SEARCH_ROWS: usize = 64;
const MAX_ROWS: usize = 160;

/// More launches than this are thinned evenly before one is chosen.
const MAX_CANDIDATES: usize = 256;

impl CovarianceShape {
    /// Covariance of two launches: what all share, what the same algorithm or protocol shares, what a pair has for
    /// itself, and what a launch has.
    fn covariance(self, a: &Configuration, b: &Configuration) -> f64 {
        let distance = (log2(f64::from(a.channels.max(1))) - log2(f64::from(b.channels.max(1)))).abs();
        let (algorithm, protocol) = (a.algorithm == b.algorithm, a.protocol == b.protocol);
        let alone = if a == b { OWN_COVARIANCE } else { 0.0 };
        let half = |same: bool| if same { 0.5 } else { 0.0 };
        let own = if algorithm && protocol { matern_5_2(distance / self.own) + 0.5 } else { 0.0 };
        (1.0 + half(algorithm) + half(protocol)) * matern_5_2(distance / self.shared) + own + alone
    }
}

/// The Matérn 5/2 correlation at a distance in lengths.
fn matern_5_2(distance: f64) -> f64 {
    let scaled = 5.0_f64.sqrt() * distance;
    (1.0 + scaled + scaled * scaled / 3.0) * exp(-scaled)
}

/// The Matérn 3/2 correlation at a distance in lengths.
fn matern_3_2(distance: f64) -> f64 {
    let scaled = 3.0_f64.sqrt() * distance;
    (1.0 + scaled) * exp(-scaled)
}

/// Knows some launches of a grid and says which to make next.
pub struct Explorer<'a> {
    grid: &'a Grid,
    worth: LaunchThresholds,
    columns: Vec<Columns>,
    /// Launches with their ln busbw at all sizes.
    rows: Vec<(usize, Vec<f64>)>,
    /// Whether each launch of the grid was made.
    made: Vec<bool>,
    /// Launches to make before any other.
    anchors: Vec<usize>,
    prior: Option<Prior>,
    best: Vec<f64>,
    /// Kept while launches are only believed.
    shape: Option<CovarianceShape>,
}

impl<'a> Explorer<'a> {
    /// Knows nothing of a grid.
    pub fn blank(grid: &'a Grid, worth: LaunchThresholds) -> Self {
        let x: Vec<f64> = grid.sizes.iter().map(|size| log2((*size).max(1) as f64)).collect();
        let correlation = |length: f64| Square::from_fn(x.len(), |i, j| matern_3_2((x[i] - x[j]).abs() / length));
        let columns = SIZE_LENGTHS.map(|length| Columns::new(correlation(length))).to_vec();
        Self {
            grid,
            worth,
            columns,
            rows: Vec::new(),
            made: vec![false; grid.launches.len()],
            anchors: grid.ends(),
            prior: None,
            best: vec![f64::NEG_INFINITY; x.len()],
            shape: None,
        }
    }

    /// Knows what was measured of a grid.
    pub fn new(grid: &'a Grid, worth: LaunchThresholds) -> Self {
        let mut explorer = Self::blank(grid, worth);
        explorer.rows = (0..grid.launches.len()).filter_map(|launch| Some((launch, grid.row(launch)?))).collect();
        explorer.rows.iter().for_each(|(launch, _)| explorer.made[*launch] = true);
        explorer.best = grid.best();
        explorer
    }

    /// Begins with what measurements elsewhere let expect.
    pub fn with_prior(self, prior: Prior) -> Self {
        Self { prior: Some(prior), ..self }
    }

    /// Whether every launch was made.
    pub fn is_done(&self) -> bool {
        self.made.iter().all(|made| *made)
    }

    /// What is known here, as a prior of another grid; `None` where too little is known.
    pub fn prior_for(&self, grid: &Grid) -> Option<Prior> {
        let (fitted, shape) = self.process().filter(|_| self.rows.len() >= LEAST_PRIOR_ROWS)?;
        let place = |size: &u64| log2((*size).max(1) as f64);
        let places: Vec<f64> = self.grid.sizes.iter().map(place).collect();
        let cells = |asked: &Configuration| -> Vec<(f64, f64)> {
            let known = self.rows.iter().find(|(row, _)| self.grid.launches[*row] == *asked);
            let heights: Vec<(f64, f64)> = match known {
                Some((_, row)) => {
                    row.iter().zip(&self.best).map(|(row, best)| (compressed(*row, *best), 0.0)).collect()
                }
                None => self.expect_of(&fitted, shape, asked),
            };
            let below =
                heights.iter().zip(&self.best).map(|((mean, deviation), best)| (mean - best, deviation * deviation));
            let below: Vec<(f64, f64)> = below.collect();
            grid.sizes.iter().map(|size| between(&places, &below, place(size))).collect()
        };
        let is_same_scale = self.grid.scale == grid.scale;
        Some(Prior { cells: grid.launches.iter().map(cells).collect(), is_same_scale })
    }

    /// What the prior expects of a launch, mean and variance at each size; nothing where it is not trusted.
    fn expected_before(&self, shape: CovarianceShape, launch: usize) -> Option<&[(f64, f64)]> {
        self.prior.as_ref().filter(|_| shape.trusts_prior).map(|prior| &prior.cells[launch][..])
    }

    /// Takes launches as made, whether or not they were measured.
    pub fn pass_over(&mut self, launched: &[Configuration]) {
        for (made, launch) in self.made.iter_mut().zip(&self.grid.launches) {
            *made |= launched.contains(launch);
        }
    }

    /// Whether any launch was made.
    pub fn knows_anything(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Takes what a launch measured: ln busbw at all sizes.
    pub fn learn(&mut self, launch: usize, row: Vec<f64>) {
        self.best.iter_mut().zip(&row).for_each(|(best, height)| *best = best.max(*height));
        self.rows.push((launch, row));
        self.made[launch] = true;
        self.shape = None;
    }

    /// Takes a launch as made and what is expected of it as measured (the kriging believer of Ginsbourger, Le Riche and
    /// Carraro 2010), to choose several at once. Before anything is known it is only not chosen again.
    pub fn assume_expected(&mut self, launch: usize) {
        self.made[launch] = true;
        if let (true, Some(prior)) = (self.rows.is_empty(), &self.prior) {
            let heights = prior.cells[launch].iter().map(|(mean, _)| decompressed(*mean, 0.0)).collect();
            return self.learn(launch, heights);
        }
        let expected = self.process().map(|(process, shape)| (self.expect(&process, shape, launch), shape));
        if let Some((cells, shape)) = expected {
            let heights = cells.into_iter().zip(&self.best).map(|((mean, _), best)| decompressed(mean, *best));
            self.learn(launch, heights.collect());
            self.shape = Some(shape);
        }
    }

    /// The process over at most [`MAX_ROWS`] rows.
    fn process(&self) -> Option<(Fitted<'_>, CovarianceShape)> {
        // Fitting takes time in proportion to the cube of the rows.
        let kept = thinned(&self.rows, MAX_ROWS);
        if kept.is_empty() {
            return None;
        }
        let shape = self.shape.or_else(|| self.likeliest())?;
        Some((self.fit(kept, shape)?, shape))
    }

    fn fit<'b>(&'b self, rows: Vec<&'b (usize, Vec<f64>)>, shape: CovarianceShape) -> Option<Fitted<'b>> {
        let launch = |index: usize| &self.grid.launches[rows[index].0];
        let covariance = Square::from_fn(rows.len(), |i, j| shape.covariance(launch(i), launch(j)));
        let near = |(launch, row): &(usize, Vec<f64>)| {
            let mut heights: Vec<f64> = row.iter().zip(&self.best).map(|(row, best)| compressed(*row, *best)).collect();
            let before = self.expected_before(shape, *launch).into_iter().flatten();
            heights.iter_mut().zip(before).for_each(|(height, (mean, _))| *height -= mean);
            heights
        };
        let mut heights: Vec<Vec<f64>> = rows.iter().map(|row| near(row)).collect();
        let deviations = deviations(&heights);
        let scale =
            |row: &mut Vec<f64>| row.iter_mut().zip(&deviations).for_each(|(height, of_size)| *height /= of_size);
        heights.iter_mut().for_each(scale);
        let before = self.prior.as_ref().map(|_| VarianceBefore {
            cells: self.best.len() as f64,
            variance: if shape.trusts_prior { MOVED_VARIANCE } else { HEIGHT_VARIANCE },
        });
        let before = before.unwrap_or_default();
        let process = MatrixProcess::fit(&self.columns[shape.size], &heights, &covariance, shape.noise, before)?;
        Some(Fitted { process, rows, deviations })
    }

    fn likeliest(&self) -> Option<CovarianceShape> {
        let deviance = |shape: CovarianceShape| {
            Some((self.fit(thinned(&self.rows, SEARCH_ROWS), shape)?.process.deviance(), shape))
        };
        shapes(self.prior.is_some()).filter_map(deviance).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, shape)| shape)
    }

    /// Mean and standard deviation of ln busbw at each size, as the process sees it; a cell that another launch has
    /// measured is known.
    fn expect(&self, fitted: &Fitted<'_>, shape: CovarianceShape, launch: usize) -> Vec<(f64, f64)> {
        let mut cells = self.expect_of(fitted, shape, &self.grid.launches[launch]);
        let before = self.expected_before(shape, launch).into_iter().flatten();
        for (cell, (mean, variance)) in cells.iter_mut().zip(before) {
            *cell = (cell.0 + mean, (cell.1 * cell.1 + variance).sqrt());
        }
        let own = self.grid.direct_channels(launch);
        let same = self.rows.iter().find(|(row, _)| own.is_some() && self.grid.direct_channels(*row) == own);
        if let Some((_, row)) = same {
            let direct = (0..cells.len()).filter(|size| self.grid.is_direct(*size));
            direct.for_each(|size| cells[size] = (compressed(row[size], self.best[size]), 0.0));
        }
        cells
    }

    /// As [`Self::expect`], of any configuration and without the prior.
    fn expect_of(&self, fitted: &Fitted<'_>, shape: CovarianceShape, asked: &Configuration) -> Vec<(f64, f64)> {
        let to: Vec<f64> =
            fitted.rows.iter().map(|(row, _)| shape.covariance(&self.grid.launches[*row], asked)).collect();
        let mut cells = fitted.process.predict(&to, shape.covariance(asked, asked));
        for ((cell, size), of_size) in cells.iter_mut().zip(&self.grid.sizes).zip(&fitted.deviations) {
            let own = fitted.process.variance() * CHUNK_VARIANCE * chunk_share(*size, asked.channels);
            *cell = (cell.0 * of_size, (cell.1 * cell.1 + own).sqrt() * of_size);
        }
        cells
    }

    /// The launch to begin with: that of which the prior expects the most over all sizes, else the first end.
    fn first(&self) -> Option<NextLaunch> {
        let first = |launch, reason| NextLaunch { launch, reason, expected_pct: None, at: None };
        let is_left = |launch: &usize| !self.made[*launch];
        let Some(prior) = &self.prior else {
            return self.anchors.iter().copied().find(is_left).map(|launch| first(launch, ChoiceReason::End));
        };
        let height = |launch: usize| prior.cells[launch].iter().map(|(mean, _)| mean).sum::<f64>();
        let all = (0..self.made.len()).filter(is_left);
        all.max_by(|a, b| height(*a).total_cmp(&height(*b))).map(|launch| first(launch, ChoiceReason::Prior))
    }

    /// The launch from which the most is expected; `None` where all were made, or none is worth it.
    pub fn choose(&mut self) -> Option<NextLaunch> {
        let Some((fitted, shape)) = self.process() else { return self.first() };
        let judge = |launch: usize| {
            let threshold = self.worth.change_pct / 100.0;
            let cells = self.expect(&fitted, shape, launch).into_iter().zip(&self.best);
            let gains: Vec<(f64, f64)> =
                cells.map(|((mean, deviation), best)| improvement(mean - best - threshold, deviation)).collect();
            let most = (0..gains.len()).max_by(|a, b| gains[*a].0.total_cmp(&gains[*b].0));
            let at = most.map(|size| (self.grid.sizes[size], gains[size].1));
            let expected = root_mean_square(gains.iter().map(|(gain, _)| *gain), gains.len());
            NextLaunch { launch, reason: ChoiceReason::Gain, expected_pct: Some(expected * 100.0), at }
        };
        let gain = || {
            let left: Vec<usize> = (0..self.made.len()).filter(|launch| !self.made[*launch]).collect();
            let judged: Vec<NextLaunch> =
                thinned(&left, MAX_CANDIDATES).into_iter().map(|launch| judge(*launch)).collect();
            let expected_pct = |choice: &NextLaunch| choice.expected_pct.unwrap_or(0.0);
            let together_pct =
                judged.iter().map(|choice| expected_pct(choice) * expected_pct(choice)).sum::<f64>().sqrt();
            let best = judged.into_iter().max_by(|a, b| expected_pct(a).total_cmp(&expected_pct(b)));
            best.filter(|_| together_pct >= self.worth.least_pct)
        };
        let (most, fewest) = self.anchors.split_at(self.anchors.len().div_ceil(2));
        let left = |ends: &[usize]| ends.iter().copied().find(|launch| !self.made[*launch]);
        let end = |launch: usize| NextLaunch { reason: ChoiceReason::End, ..judge(launch) };
        let choice = if shape.trusts_prior {
            let is_same_scale = self.prior.as_ref().is_some_and(|prior| prior.is_same_scale);
            gain().or_else(|| left(most).filter(|_| !is_same_scale).map(end))
        } else if let Some(launch) = left(most) {
            // Without the launches with the most channels, nothing that is expected can be relied on.
            Some(NextLaunch { launch, reason: ChoiceReason::End, expected_pct: None, at: None })
        } else {
            left(fewest).map(end).filter(|end| end.expected_pct >= Some(self.worth.least_pct)).or_else(gain)
        };
        self.shape = Some(shape);
        choice
    }
}

/// The standard deviation of heights at each size, relative to that over all sizes. Few rows say little of a single
/// size, so the deviation over all counts for [`DEVIATION_LAUNCHES`] more.
fn deviations(rows: &[Vec<f64>]) -> Vec<f64> {
    let (count, sizes) = (rows.len() as f64, rows.first().map_or(0, Vec::len));
    let squares = |size: usize| {
        let mean = rows.iter().map(|row| row[size]).sum::<f64>() / count;
        rows.iter().map(|row| (row[size] - mean) * (row[size] - mean)).sum::<f64>()
    };
    let squares: Vec<f64> = (0..sizes).map(squares).collect();
    let mean = squares.iter().sum::<f64>() / sizes as f64;
    let relative = |squares: f64| if mean > 0.0 { squares / mean } else { 1.0 };
    let shrunk =
        |squares: f64| (DEVIATION_LAUNCHES + relative(squares) * (count - 1.0)) / (DEVIATION_LAUNCHES + count - 1.0);
    squares.into_iter().map(|squares| shrunk(squares).sqrt()).collect()
}

/// The share of [`CHUNK_VARIANCE`] that is expected where each of so many channels carries its part of a message.
fn chunk_share(size_bytes: u64, channels: u32) -> f64 {
    let octaves = log2(size_bytes.max(1) as f64) - log2(f64::from(channels.max(1)));
    let [from, to] = CHUNK_OCTAVES;
    ((octaves - from) / (to - from)).clamp(0.0, 1.0)
}

/// A process over heights in units of their deviation at each size.
struct Fitted<'a> {
    process: MatrixProcess<'a>,
    /// What the heights of each size were divided by ([`deviations`]).
    deviations: Vec<f64>,
    rows: Vec<&'a (usize, Vec<f64>)>,
}

/// At most this many, evenly spread.
fn thinned<T>(all: &[T], most: usize) -> Vec<&T> {
    let count = all.len().min(most);
    (0..count).map(|i| &all[i * all.len() / count]).collect()
}

/// The expectation of the positive part of a normal number (expected improvement), and the probability that it is
/// positive. A size whose best is −∞ has no measurement: anything is an improvement there, which is counted as one
/// octave.
pub(super) fn improvement(mean: f64, deviation: f64) -> (f64, f64) {
    if mean == f64::INFINITY {
        return (std::f64::consts::LN_2, 1.0);
    }
    // A value that is known improves for certain or not at all.
    if deviation <= 1e-9 {
        return (mean.max(0.0), if mean > 0.0 { 1.0 } else { 0.0 });
    }
    let z = mean / deviation;
    let density = exp(-z * z / 2.0) / std::f64::consts::TAU.sqrt();
    let above = erfc(-z / std::f64::consts::SQRT_2) / 2.0;
    (deviation * (z * above + density), above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Collective, Protocol, Scale, Workload},
        math::ln,
        tuning::{aggregate::Point, plan::grid::LADDER, sweep::Sweep},
    };

    /// Two protocols on nine counts of channels: busbw grows with size and channels, but for one channel, which is
    /// faster by a third than anything else at mid sizes.
    fn busbw(size: u64, protocol: Protocol, channels: u32) -> f64 {
        let per_channel = if protocol == Protocol::Ll { 2.0 } else { 6.0 };
        let latency = if protocol == Protocol::Ll { 10.0 } else { 25.0 } + 0.2 * f64::from(channels);
        let bandwidth = (per_channel * f64::from(channels)).min(100.0);
        let plain = size as f64 / 1000.0 / (latency + size as f64 / 1000.0 / bandwidth);
        let is_hump = channels == 1 && (1 << 15..1 << 18).contains(&size);
        if is_hump { 1.33 * busbw(size, Protocol::Ll, 8).max(busbw(size, Protocol::Simple, 16)) } else { plain }
    }

    fn grid() -> Grid {
        let scale = Scale { nodes: 2, ranks: 16 };
        let mut points = Vec::new();
        for size_bytes in (12..28).map(|log2| 1 << log2) {
            let workload = Workload { collective: Collective::Broadcast, scale, size_bytes };
            for protocol in [Protocol::Ll, Protocol::Simple] {
                for channels in &LADDER[..9] {
                    let configuration = Configuration { algorithm: Algorithm::Ring, protocol, channels: *channels };
                    points.push(Point::new(workload, configuration, busbw(size_bytes, protocol, *channels)));
                }
            }
        }
        Grid::measured(&Sweep { points, defaults: Vec::new() }, Collective::Broadcast, scale)
    }

    #[test]
    fn the_second_hump_is_found_and_the_search_ends_before_the_grid_does() {
        let grid = grid();
        let mut explorer = Explorer::blank(&grid, LaunchThresholds::default());
        let mut made = Vec::new();
        while let Some(choice) = explorer.choose() {
            made.push(choice.launch);
            explorer.learn(choice.launch, grid.row(choice.launch).unwrap_or_default());
        }
        assert!(made.len() * 6 <= grid.launches.len() * 5, "{} of {}", made.len(), grid.launches.len());
        for (size, best) in grid.best().into_iter().enumerate() {
            let found =
                made.iter().filter_map(|launch| grid.row(*launch)).map(|row| row[size]).fold(f64::MIN, f64::max);
            assert!(best - found < ln(1.015), "size {size}: {found} of {best}");
        }
    }

    #[test]
    fn what_lies_far_below_counts_for_less_and_comes_back() {
        for height in [-3.0, -0.4, -0.35, -0.1, 0.0, 0.2] {
            let seen = compressed(height, 0.0);
            assert!((decompressed(seen, 0.0) - height).abs() < 1e-12 && seen >= height);
        }
        assert!((compressed(-1.35, 0.0) + 0.85).abs() < 1e-12);
        assert_eq!(compressed(1.0, f64::NEG_INFINITY), 1.0);
    }

    #[test]
    fn several_launches_are_chosen_at_once_and_none_twice() {
        let grid = grid();
        let mut explorer = Explorer::blank(&grid, LaunchThresholds { least_pct: -1.0, ..LaunchThresholds::default() });
        assert!(!explorer.knows_anything());
        explorer.learn(3, grid.row(3).unwrap_or_default());
        let mut made = vec![3];
        while let Some(choice) = explorer.choose() {
            made.push(choice.launch);
            explorer.assume_expected(choice.launch);
        }
        made.sort_unstable();
        assert_eq!(made, (0..grid.launches.len()).collect::<Vec<_>>());
    }

    #[test]
    fn what_was_measured_elsewhere_is_where_the_search_begins() {
        let grid = grid();
        let worth = LaunchThresholds::default();
        let search = |mut explorer: Explorer<'_>| {
            let mut made = Vec::new();
            while let Some(choice) = explorer.choose() {
                made.push(choice);
                explorer.learn(choice.launch, grid.row(choice.launch).unwrap_or_default());
            }
            made
        };
        let mean = |launch: usize| grid.row(launch).unwrap_or_default().iter().sum::<f64>();
        let best = (0..grid.launches.len()).max_by(|a, b| mean(*a).total_cmp(&mean(*b))).unwrap_or_default();
        let prior = Explorer::new(&grid, worth).prior_for(&grid).expect("enough is known");
        let made = search(Explorer::blank(&grid, worth).with_prior(prior));
        assert_eq!((made[0].launch, made[0].reason), (best, ChoiceReason::Prior));
        let blank = search(Explorer::blank(&grid, worth));
        assert_eq!(blank[0].reason, ChoiceReason::End);
        assert!(made.len() * 4 <= blank.len() * 3, "{} of {}", made.len(), blank.len());
        // Two launches elsewhere say nothing.
        let mut little = Explorer::blank(&grid, worth);
        [0, 9].into_iter().for_each(|launch| little.learn(launch, grid.row(launch).unwrap_or_default()));
        assert!(little.prior_for(&grid).is_none());
    }

    #[test]
    fn sizes_between_and_beyond_those_that_were_measured() {
        let cells = [(0.0, 1.0), (2.0, 3.0)];
        let at = |x: f64| between(&[10.0, 12.0], &cells, x);
        assert_eq!([9.0, 10.0, 11.0, 13.0].map(at), [(0.0, 1.0), (0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]);
        assert_eq!(between(&[10.0], &cells[..1], 30.0), (0.0, 1.0));
    }

    #[test]
    fn improvement_is_that_of_a_normal_number() {
        assert!((improvement(0.0, 1.0).0 - 0.398_942_28).abs() < 1e-6);
        assert!((improvement(-1.0, 1.0).0 - 0.083_315_47).abs() < 1e-6);
        assert_eq!(improvement(0.5, 0.0), (0.5, 1.0));
        assert_eq!(improvement(-0.5, 0.0), (0.0, 0.0));
        assert!(improvement(f64::INFINITY, 1.0).0 > 0.0);
    }
}
