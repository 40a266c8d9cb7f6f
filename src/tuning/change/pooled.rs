//! What all that was measured on both sides says together.
//!
//! A change of a driver or a fabric moves everything that runs at a size. So at each size the changes of all configurations
//! and of the default are one sample: its trimmed mean is the change there, and their own scatter says how far it errs (Yuen
//! 1974), whatever the noise comes from and whatever stalled. It needs [`LEAST_CELLS`] of them.
//!
//! One configuration that changed beside the others is named as well. What it changed by beyond the median of its size is
//! divided by the scatter there, or by that of its own runs where these lie further apart, and averaged over stretches of 1, 2, 4 … neighbouring sizes up to all. Among the averages of
//! all configurations over stretches as long, it must stand out of their robust scatter, so that what the sizes of a launch
//! have in common is allowed for. As many averages as are looked at pay for it (Bonferroni); each length has the same share.

use serde::{Deserialize, Serialize};

use super::{
    contest::{Interval, LEAST_RUNS},
    side::{State, What},
};
use crate::{
    bandit::student,
    collective::{Collective, Configuration, Scale, Workload},
    math::{Stream, ascending, ln, median},
    order::CompactSort,
    tuning::decision::{draws::ROUNDS, printed},
};

/// Fewer changes at a size say nothing together.
pub const LEAST_CELLS: usize = 8;

/// The share that is trimmed at either end.
const TRIMMED: f64 = 0.2;

/// No change is known better than this, as a share.
const LEAST_ERROR: f64 = 1e-4;

/// The median absolute deviation of normal numbers times this is their standard deviation, and tells it as so many degrees of
/// freedom as this share of their number would.
const OF_MEDIAN_DEVIATION: f64 = 1.4826;
const FREEDOM_OF_MEDIAN_DEVIATION: f64 = 0.37;

/// More degrees of freedom than this are not claimed: medians of few runs have slow tails.
const MOST_FREEDOM: f64 = 12.0;

/// What one thing changed by at a size.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    what: What,
    /// ln of after / before.
    ln_ratio: f64,
    /// By how much rounding may have moved that.
    rounded: f64,
    /// How far its own runs say that it errs; 0 where they don't.
    error: f64,
}

/// What everything changed by at one size.
#[derive(Clone, Debug)]
pub struct AtSize {
    workload: Workload,
    cells: Vec<Cell>,
}

/// The change of all at a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// ln of after / before.
    pub ln_ratio: f64,
    error: f64,
    freedom: f64,
    /// By how much rounding may have moved it.
    pub rounded: f64,
    /// How many are pooled.
    pub of: usize,
}

/// A configuration that changed beside the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// The collective.
    pub collective: Collective,
    /// Nodes and ranks.
    pub scale: Scale,
    /// What changed; `None`: the default.
    pub configuration: Option<Configuration>,
    /// The first of its sizes, in bytes…
    pub first_bytes: u64,
    /// …the last…
    pub last_bytes: u64,
    /// …and how many there are.
    pub sizes: usize,
    /// By how much more it changed than the others, in per cent of busbw.
    pub beside_pct: f64,
    /// The interval of that. All of these hold at once.
    pub interval_pct: (f64, f64),
}

impl AtSize {
    /// Everything with enough runs on both sides.
    #[must_use]
    pub fn new(before: &State<'_>, after: &State<'_>, workload: Workload, common: &[What]) -> Self {
        let cell = |what: &What| {
            let [old, new] = [before, after].map(|state| state.point(&workload, *what));
            let (old, new) = (old?, new?);
            let rounded =
                [old, new].map(|point| printed::above(point.busbw_gbps).max(printed::below(point.busbw_gbps)));
            let ln_ratio = ln(new.busbw_gbps / old.busbw_gbps);
            let is_told = old.repeats.min(new.repeats) >= LEAST_RUNS && ln_ratio.is_finite();
            let errors = [before, after].map(|state| state.own_error(&workload, *what));
            let error = (errors[0] * errors[0] + errors[1] * errors[1]).sqrt();
            is_told.then_some(Cell { what: *what, ln_ratio, rounded: rounded[0] + rounded[1], error })
        };
        Self { workload, cells: common.iter().filter_map(cell).collect() }
    }

    /// The collective and scale.
    #[must_use]
    pub fn group(&self) -> (Collective, Scale) {
        (self.workload.collective, self.workload.scale)
    }

    /// The change of all of it; `None` of too few.
    #[must_use]
    pub fn pooled(&self) -> Option<Pooled> {
        let n = self.cells.len();
        if n < LEAST_CELLS {
            return None;
        }
        let mut changes: Vec<f64> = self.cells.iter().map(|cell| cell.ln_ratio).collect();
        ascending(&mut changes);
        let cut = (n as f64 * TRIMMED) as usize;
        let (low, high) = (changes[cut], changes[n - 1 - cut]);
        let kept = (n - 2 * cut) as f64;
        let ln_ratio = changes[cut..n - cut].iter().sum::<f64>() / kept;
        let pulled: Vec<f64> = changes.iter().map(|change| change.clamp(low, high)).collect();
        let mean = pulled.iter().sum::<f64>() / n as f64;
        let squares: f64 = pulled.iter().map(|change| (change - mean) * (change - mean)).sum();
        let error = (squares / (kept * (kept - 1.0))).sqrt().max(LEAST_ERROR);
        let rounded = self.cells.iter().map(|cell| cell.rounded).sum::<f64>() / n as f64;
        Some(Pooled { ln_ratio, error, freedom: kept - 1.0, rounded, of: n })
    }

    fn median(&self) -> Option<f64> {
        median(&mut self.cells.iter().map(|cell| cell.ln_ratio).collect::<Vec<_>>())
    }
}

impl Pooled {
    /// How it errs, by round, with what both campaigns differ in as a whole.
    #[must_use]
    pub fn errors(&self, number: usize, shift: &[f32]) -> Vec<f32> {
        let mut stream = Stream::new(0xA11 + number as u64);
        let freedom = self.freedom.clamp(1.0, 30.0).round() as u32;
        let mut student = || {
            let normal = stream.normal();
            let squares: f64 = (0..freedom).map(|_| stream.normal()).map(|z| z * z).sum();
            normal / (squares / f64::from(freedom)).max(0.02).sqrt()
        };
        (0..ROUNDS).zip(shift).map(|(_, shift)| (self.error * student()) as f32 + shift).collect()
    }
}

/// A configuration's standing at a size: what it changed by beyond the median of its size.
#[derive(Clone, Copy, Debug)]
struct Beside {
    change: f64,
    scatter: f64,
    rounded: f64,
}

/// An average over a stretch of sizes.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    what: What,
    first: usize,
    sizes: usize,
    /// In units of the scatter at each size.
    mean: f64,
    /// From those to ln busbw.
    unit: f64,
    rounded: f64,
}

impl Stretch {
    /// Of the same thing, with a size in common.
    fn meets(&self, other: &Self) -> bool {
        self.what == other.what && self.first < other.first + other.sizes && other.first < self.first + self.sizes
    }
}

/// A stretch that stands out of the others.
#[derive(Clone, Copy, Debug)]
struct Found {
    stretch: Stretch,
    /// In ln busbw.
    change: f64,
    half_width: f64,
}

/// What changed beside the others, of one collective and scale, by sizes ascending: with a probability of at most `chance`
/// anything is named where nothing did. `verdict` tells intervals that lie beyond the least change that counts.
#[must_use]
pub fn moved(sizes: &[AtSize], chance: f64, is_beyond: impl Fn(&Interval) -> bool) -> Vec<Moved> {
    let told: Vec<&AtSize> = sizes.iter().filter(|size| size.cells.len() >= LEAST_CELLS).collect();
    let Some(first) = told.first() else { return Vec::new() };
    let mut all: Vec<What> = told.iter().flat_map(|size| size.cells.iter().map(|cell| cell.what)).collect();
    all.compact_sort();
    all.dedup();
    let rows: Vec<Vec<Option<Beside>>> = beside(&told, &all);
    let lengths: Vec<usize> =
        std::iter::successors(Some(1), |length| Some(length * 2)).take_while(|length| *length < told.len()).collect();
    let lengths: Vec<usize> = lengths.into_iter().chain([told.len()]).collect();
    let share = chance.clamp(0.0, 1.0) / lengths.len() as f64;
    let mut found: Vec<Found> = Vec::new();
    for length in &lengths {
        let stretches = stretches(&all, &rows, *length);
        let mut heights: Vec<f64> = stretches.iter().map(|stretch| stretch.mean.abs()).collect();
        let Some(middle) = median(&mut heights) else { continue };
        let freedom = (heights.len() as f64 * FREEDOM_OF_MEDIAN_DEVIATION).clamp(1.0, MOST_FREEDOM);
        // Averages can't scatter less than what they are made of allows.
        let scatter = (middle * OF_MEDIAN_DEVIATION).max(1.0 / (*length as f64).sqrt());
        let width = student::quantile(1.0 - share / 2.0 / heights.len() as f64, freedom) * scatter;
        for stretch in stretches {
            let half_width = width * stretch.unit + stretch.rounded;
            let change = stretch.mean * stretch.unit;
            if is_beyond(&Interval { ln_ratio: change, half_width: Some(half_width) }) {
                found.push(Found { stretch, change, half_width });
            }
        }
    }
    // The longest stretch, unless a part of it changed by more than all of it for certain.
    found.compact_sort_by(|a, b| {
        b.stretch
            .sizes
            .cmp(&a.stretch.sizes)
            .then((b.change.abs() / b.half_width).total_cmp(&(a.change.abs() / a.half_width)))
    });
    let mut kept: Vec<&Found> = Vec::new();
    for next in &found {
        let is_a_part = |other: &&Found| other.stretch.meets(&next.stretch) && other.stretch.sizes < next.stretch.sizes;
        let is_of_a_part =
            found.iter().filter(is_a_part).any(|part| part.change.abs() - part.half_width > next.change.abs());
        if !is_of_a_part && !kept.iter().any(|other| other.stretch.meets(&next.stretch)) {
            kept.push(next);
        }
    }
    let pct = |ln_ratio: f64| super::pct(ln_ratio);
    let Workload { collective, scale, .. } = first.workload;
    let told_of = |found: &Found| {
        let Found { stretch: Stretch { what, first, sizes, .. }, change, half_width } = *found;
        Moved {
            collective,
            scale,
            configuration: if let What::Asked(configuration) = what { Some(configuration) } else { None },
            first_bytes: told[first].workload.size_bytes,
            last_bytes: told[first + sizes - 1].workload.size_bytes,
            sizes,
            beside_pct: pct(change),
            interval_pct: (pct(change - half_width), pct(change + half_width)),
        }
    };
    kept.into_iter().map(told_of).collect()
}

/// For each thing, what it changed by beside the others at each size.
fn beside(told: &[&AtSize], all: &[What]) -> Vec<Vec<Option<Beside>>> {
    let mut rows: Vec<Vec<Option<Beside>>> = all.iter().map(|_| vec![None; told.len()]).collect();
    for (place, size) in told.iter().enumerate() {
        let Some(middle) = size.median() else { continue };
        let mut deviations: Vec<f64> = size.cells.iter().map(|cell| (cell.ln_ratio - middle).abs()).collect();
        let scatter = median(&mut deviations).unwrap_or(0.0) * OF_MEDIAN_DEVIATION;
        let rounded = median(&mut size.cells.iter().map(|cell| cell.rounded).collect::<Vec<_>>()).unwrap_or(0.0);
        for cell in &size.cells {
            let Ok(row) = all.binary_search(&cell.what) else { continue };
            rows[row][place] = Some(Beside {
                change: cell.ln_ratio - middle,
                // Where two runs of three stalled, its own runs lie far apart.
                scatter: scatter.max(cell.error).max(LEAST_ERROR),
                rounded: cell.rounded + rounded,
            });
        }
    }
    rows
}

/// The averages over all stretches of a length that begin at its multiples.
fn stretches(all: &[What], rows: &[Vec<Option<Beside>>], length: usize) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    for (what, row) in all.iter().zip(rows) {
        for (number, part) in row.chunks_exact(length).enumerate() {
            let cells: Option<Vec<Beside>> = part.iter().copied().collect();
            let Some(cells) = cells else { continue };
            let n = length as f64;
            let mean = cells.iter().map(|cell| cell.change / cell.scatter).sum::<f64>() / n;
            let unit = n / cells.iter().map(|cell| 1.0 / cell.scatter).sum::<f64>();
            let rounded = cells.iter().map(|cell| cell.rounded / cell.scatter).sum::<f64>() / n * unit;
            stretches.push(Stretch { what: *what, first: number * length, sizes: length, mean, unit, rounded });
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Protocol};

    const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

    fn what(channels: u32) -> What {
        What::Asked(Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels })
    }

    /// Twenty configurations at sixteen sizes with 2 % of noise; `change` by configuration and size.
    fn sizes(seed: u64, change: impl Fn(u32, usize) -> f64) -> Vec<AtSize> {
        let mut stream = Stream::new(seed);
        let at = |size: usize, stream: &mut Stream| AtSize {
            workload: Workload { collective: Collective::AllReduce, scale: SCALE, size_bytes: 4096 << size },
            cells: (0..20)
                .map(|c| {
                    let ln_ratio = change(c, size) + 0.02 * stream.normal();
                    Cell { what: what(c), ln_ratio, rounded: 0.0, error: 0.0 }
                })
                .collect(),
        };
        (0..16).map(|size| at(size, &mut stream)).collect()
    }

    fn named(sizes: &[AtSize]) -> Vec<(Option<u32>, u64, usize)> {
        let is_beyond = |interval: &Interval| interval.ln_ratio.abs() > interval.half_width.unwrap_or(f64::INFINITY);
        let of = moved(sizes, 0.04, is_beyond);
        of.iter().map(|m| (m.configuration.map(|c| c.channels), m.first_bytes, m.sizes)).collect()
    }

    #[test]
    fn all_of_a_size_tell_what_one_of_them_hides() {
        let pooled = sizes(1, |_, size| if size == 3 { -0.03 } else { 0.0 })[3].pooled().unwrap();
        assert!((pooled.ln_ratio + 0.03).abs() < 0.015 && pooled.error < 0.008, "{pooled:?}");
        assert_eq!(pooled.of, 20);
        // A few that stalled move nothing.
        let stalled = sizes(1, |c, _| if c < 3 { -1.0 } else { 0.0 })[3].pooled().unwrap();
        assert!(stalled.ln_ratio.abs() < 0.02 && stalled.error < 0.012, "{stalled:?}");
        let few = AtSize { cells: sizes(1, |_, _| 0.0)[0].cells[..7].to_vec(), ..sizes(1, |_, _| 0.0)[0].clone() };
        assert_eq!(few.pooled(), None);
    }

    #[test]
    fn the_one_that_changed_is_named_with_its_sizes() {
        assert_eq!(named(&sizes(2, |c, _| if c == 7 { -0.05 } else { 0.0 })), [(Some(7), 4096, 16)]);
        // All of it got slower, and one more than the others.
        assert_eq!(named(&sizes(3, |c, _| if c == 7 { -0.15 } else { -0.1 })), [(Some(7), 4096, 16)]);
        let part = named(&sizes(4, |c, size| if c == 7 && (4..8).contains(&size) { -0.1 } else { 0.0 }));
        assert_eq!(part, [(Some(7), 4096 << 4, 4)]);
        let place = named(&sizes(5, |c, size| if c == 7 && size == 9 { 0.3 } else { 0.0 }));
        assert_eq!(place, [(Some(7), 4096 << 9, 1)]);
    }

    #[test]
    fn noise_names_nothing() {
        let mut stream = Stream::new(9);
        let launches: Vec<f64> = (0..20 * 60).map(|_| 0.02 * stream.normal()).collect();
        let alarms = |of_launches: bool| {
            let any = |seed: u64| {
                let launch = |c: u32| if of_launches { launches[seed as usize * 20 + c as usize] } else { 0.0 };
                !named(&sizes(seed, |c, _| launch(c))).is_empty()
            };
            (0..60).filter(|seed| any(*seed)).count()
        };
        // 4 % of 60 are 2.4.
        let counts = [alarms(false), alarms(true)];
        assert!(counts.iter().all(|count| *count <= 8), "{counts:?}");
    }
}
