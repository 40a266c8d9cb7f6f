//! The expected bus bandwidth of an effect at a workload: measured, interpolated, or predicted by a model.

use serde::{Deserialize, Serialize};

use super::{
    choose::{Effect, Entry},
    reader::Channels,
};
use crate::{
    collective::{Algorithm, Configuration, Protocol, Workload},
    tuning::{
        aggregate::Point,
        baselines::Measurements,
        support::{SupportMatrix, SupportOutcome},
        sweep::Sweep,
    },
};

/// How an expected bandwidth was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectationBasis {
    /// The bandwidth was measured at this workload.
    Measured,
    /// Log-linear between measured sizes of the same configuration.
    Interpolated,
    /// The trained model says so.
    Model,
}

impl ExpectationBasis {
    /// The name as it is shown on the page and in the terminal.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Interpolated => "interpolated",
            Self::Model => "model",
        }
    }
}

/// A bandwidth and what it stands on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// The bus bandwidth in GB/s.
    pub busbw_gbps: f64,
    /// Time of one call in microseconds; `None` for one rank, where busbw says nothing.
    pub time_us: Option<f64>,
    /// Whether it was measured, interpolated or predicted.
    pub basis: ExpectationBasis,
}

impl Expected {
    fn new(workload: &Workload, busbw_gbps: f64, basis: ExpectationBasis) -> Self {
        let factor = workload.collective.busbw_factor(workload.scale.ranks);
        let time_us = workload.size_bytes as f64 * factor / busbw_gbps / 1000.0;
        Self { busbw_gbps, time_us: Some(time_us).filter(|time| *time > 0.0 && time.is_finite()), basis }
    }
}

/// A model: the bus bandwidth in GB/s that it predicts for a configuration; `None` where it can't tell.
pub type Predict<'a> = &'a dyn Fn(&Workload, &Configuration) -> Option<f64>;

/// Looks up expected bandwidths in a sweep, with a model where nothing was measured.
pub struct Expectations<'a> {
    sweep: &'a Sweep,
    support: &'a SupportMatrix,
    configurations: Measurements,
    /// The default's curve, whatever it ran.
    defaults: Measurements,
    predict: Option<Predict<'a>>,
}

/// Stands for the default among the curves.
const DEFAULT: Configuration = Configuration { algorithm: Algorithm::None, protocol: Protocol::None, channels: 0 };

impl<'a> Expectations<'a> {
    /// From a sweep, and a model where there is one.
    pub fn new(sweep: &'a Sweep, support: &'a SupportMatrix, predict: Option<Predict<'a>>) -> Self {
        let defaults: Vec<Point> =
            sweep.defaults.iter().map(|point| Point { configuration: DEFAULT, ..point.clone() }).collect();
        Self {
            sweep,
            support,
            configurations: Measurements::new(&sweep.points),
            defaults: Measurements::new(&defaults),
            predict,
        }
    }

    /// The expected bandwidth of an effect; `None` where neither measurements nor the model have it.
    pub fn of(&self, effect: Effect, workload: &Workload) -> Option<Expected> {
        match (effect.entry, effect.channels) {
            (Entry::Library, Channels::Library) => self.default(workload),
            (Entry::Forced(..), Channels::Count(_)) => self.configuration(workload, effect.configuration()?),
            (Entry::Library, Channels::Count(channels)) => {
                let (algorithm, protocol) = self.library(workload)?;
                self.configuration(workload, Configuration { algorithm, protocol, channels })
            }
            (Entry::Forced(algorithm, protocol), Channels::Library) => {
                // The library's number of channels is known where it chose the same by itself.
                let same = self.library(workload) == Some((algorithm, protocol));
                same.then(|| self.default(workload)).flatten()
            }
            (Entry::OutsideTable, _) | (_, Channels::Negative(_)) => None,
        }
    }

    /// The expected bandwidth of the default.
    pub fn default(&self, workload: &Workload) -> Option<Expected> {
        let measured = self.sweep.default_at(workload).map(|point| (point.busbw_gbps, ExpectationBasis::Measured));
        let between = || {
            let sizes = self.sweep.defaults_of(workload.collective, workload.scale);
            self.between(workload, sizes)?;
            self.defaults.interpolate(&(*workload, DEFAULT)).map(|busbw| (busbw, ExpectationBasis::Interpolated))
        };
        let (busbw_gbps, basis) = measured.or_else(between)?;
        Some(Expected::new(workload, busbw_gbps, basis))
    }

    /// The expected bandwidth of a configuration.
    pub fn configuration(&self, workload: &Workload, configuration: Configuration) -> Option<Expected> {
        let measured = || {
            let points = self.sweep.points_at(workload);
            let index = points.binary_search_by_key(&configuration, |point| point.configuration).ok()?;
            Some((points[index].busbw_gbps, ExpectationBasis::Measured))
        };
        let between = || {
            let points = self.sweep.points_of(workload.collective, workload.scale);
            let of: Vec<Point> = points.iter().filter(|point| point.configuration == configuration).cloned().collect();
            self.between(workload, &of)?;
            self.configurations
                .interpolate(&(*workload, configuration))
                .map(|busbw| (busbw, ExpectationBasis::Interpolated))
        };
        let model = || {
            let busbw = self.predict.and_then(|predict| predict(workload, &configuration))?;
            Some((busbw, ExpectationBasis::Model))
        };
        let (busbw_gbps, basis) = measured().or_else(between).or_else(model)?;
        Some(Expected::new(workload, busbw_gbps, basis)).filter(|_| busbw_gbps > 0.0)
    }

    /// Something if a workload lies between the smallest and the largest of points that are ordered by size.
    fn between(&self, workload: &Workload, points: &[Point]) -> Option<()> {
        let (first, last) = (points.first()?, points.last()?);
        (first.workload.size_bytes..=last.workload.size_bytes).contains(&workload.size_bytes).then_some(())
    }

    /// The algorithm and protocol that the library runs by itself: a substitute that runs whatever is asked, else those
    /// of the default at the nearest measured size.
    fn library(&self, workload: &Workload) -> Option<(Algorithm, Protocol)> {
        let asked = self.support.outcome(workload, Algorithm::Ring, Protocol::Simple);
        if let SupportOutcome::Becomes(algorithm, protocol) = asked {
            return Some((algorithm, protocol));
        }
        let distance = |point: &&Point| {
            let (a, b) = (u128::from(point.workload.size_bytes), u128::from(workload.size_bytes));
            a.max(b) * 1024 / a.min(b).max(1)
        };
        let nearest = self.sweep.defaults_of(workload.collective, workload.scale).iter().min_by_key(distance)?;
        let Configuration { algorithm, protocol, .. } = nearest.configuration;
        (algorithm != Algorithm::None && protocol != Protocol::None).then_some((algorithm, protocol))
    }
}
