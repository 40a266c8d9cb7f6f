//! Differences with intervals that all hold at once.
//!
//! All comparisons of a question are one family. In each round of draws the largest error of all comparisons, in units
//! of its standard error, is kept; the quantile of these at the level is the half width of every interval, in standard
//! errors and without rounding (Westfall and Young 1993, single step). So any change is reported between two equal
//! campaigns with a probability of at most 1 − level, however many sizes there are.

use crate::{
    math::Stream,
    tuning::decision::draws::{ROUNDS, quantile},
};

/// The estimate of a difference, before the width of all intervals is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// ln of after / before.
    pub ln_ratio: f64,
    /// Its standard error; `None` while the noise is not known.
    error: Option<f64>,
    /// By how much rounding may have moved it.
    rounded: f64,
}

/// A difference and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeInterval {
    /// ln of after / before.
    pub ln_ratio: f64,
    /// The half width of the interval; `None` while the noise is not known.
    pub half_width: Option<f64>,
}

/// Comparisons whose intervals hold at once.
#[derive(Clone, Debug)]
pub struct Family {
    largest: Vec<f32>,
    level: f64,
}

/// A difference as it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawDifference<'a> {
    /// ln of after / before.
    pub ln_ratio: f64,
    /// By how much rounding may have moved it.
    pub rounded: f64,
    /// Its error in each round of draws; empty while the noise is not known.
    pub errors: &'a [f32],
}

impl Family {
    /// An empty family whose intervals hold together with the probability `level`, in 0..1.
    pub fn new(level: f64) -> Self {
        Self { largest: vec![0.0; ROUNDS], level: if level.is_finite() { level.clamp(0.0, 0.9999) } else { 0.9 } }
    }

    /// Adds a difference of two arms that were not chosen by their bandwidth.
    pub fn add(&mut self, difference: &RawDifference<'_>) -> Estimate {
        self.added(difference, false)
    }

    /// Adds a difference of arms that were chosen for being the highest, and subtracts the bias of that choice.
    pub fn add_chosen(&mut self, difference: &RawDifference<'_>) -> Estimate {
        self.added(difference, true)
    }

    fn added(&mut self, difference: &RawDifference<'_>, is_chosen: bool) -> Estimate {
        let RawDifference { ln_ratio, rounded, errors } = *difference;
        let n = errors.len().max(1) as f64;
        let mean = errors.iter().map(|error| f64::from(*error)).sum::<f64>() / n;
        let squares = errors.iter().map(|error| (f64::from(*error) - mean) * (f64::from(*error) - mean)).sum::<f64>();
        let error = (squares / n).sqrt();
        if errors.is_empty() || !(error.is_finite() && error > 0.0) {
            return Estimate { ln_ratio, error: None, rounded };
        }
        // All errors of a round belong to one simulated outcome: the largest of them counts once for the whole family.
        for (largest, drawn) in self.largest.iter_mut().zip(errors) {
            *largest = largest.max(((f64::from(*drawn) - mean) / error).abs() as f32);
        }
        Estimate { ln_ratio: if is_chosen { ln_ratio - mean } else { ln_ratio }, error: Some(error), rounded }
    }

    /// The interval of a difference, once all are added.
    pub fn intervals(&self) -> impl Fn(Estimate) -> ChangeInterval + use<> {
        let width = quantile(&self.largest, self.level);
        move |Estimate { ln_ratio, error, rounded }| ChangeInterval {
            ln_ratio,
            half_width: error.map(|error| width * error + rounded),
        }
    }
}

/// Errors by round: Student's t with this many degrees of freedom, times a standard error. 0 throughout for none.
pub fn student_errors(error: f64, freedom: f64, seed: u64) -> Vec<f32> {
    /// The smallest χ² over its degrees of freedom that is drawn, which bounds the errors.
    const MIN: f64 = 0.02;
    if error.is_nan() || error <= 0.0 {
        return vec![0.0; ROUNDS];
    }
    let mut stream = Stream::new(seed);
    // χ² with a whole number of degrees of freedom, as it is made.
    let overall = freedom.round().clamp(1.0, 30.0) as u32;
    let mut student = || {
        let normal = stream.normal();
        let squares: f64 = (0..overall).map(|_| stream.normal()).map(|z| z * z).sum();
        normal / (squares / f64::from(overall)).max(MIN).sqrt()
    };
    (0..ROUNDS).map(|_| (error * student()) as f32).collect()
}
