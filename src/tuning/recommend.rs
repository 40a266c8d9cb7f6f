//! One answer for one workload: what to deploy, what is expected of it, and what that stands on.

use super::{
    aggregate::Point,
    baselines::{Measurements, winner},
    decision::{Decision, KeepReason},
    features::Ask,
    intervals::LEVEL,
    model::BusbwModel,
    result::{Interval, Measured, Recommendation, Source, Support},
    search::{Best, SearchSpace},
    sweep::Sweep,
    validate::{self, Validation},
};
use crate::{
    collective::{Collective, Scale, Workload},
    learn::LearnError,
    math::exp,
};

/// Everything that an answer is made from.
pub struct Advisor<'a> {
    /// What was measured.
    pub sweep: &'a Sweep,
    /// The same, for the baselines.
    pub measurements: &'a Measurements,
    /// What may be chosen.
    pub space: &'a SearchSpace,
    /// The model, once there is one.
    pub model: Option<&'a BusbwModel>,
    /// How far to trust it, once that is known.
    pub validation: Option<&'a Validation>,
}

impl Advisor<'_> {
    /// The source of answers for a collective and scale: the model, unless a baseline lost less on held-out sizes;
    /// the measurements while there is no model.
    #[must_use]
    pub fn source(&self, collective: Collective, scale: Scale) -> Source {
        if self.model.is_none() {
            return Source::Measured;
        }
        let regret = self.validation.and_then(|validation| validation.regret.get(&(collective, scale)));
        regret.map_or(Source::Model, validate::least_regret)
    }

    /// The answer for a workload: the source's choice; at a measured size the best measurement, where the model
    /// promises no more than that. `check` runs the exhaustive search beside the coarse one.
    ///
    /// # Errors
    /// What the model says.
    pub fn recommend(&self, workload: &Workload, check: bool) -> Result<Recommendation, LearnError> {
        let source = self.source(workload.collective, workload.scale);
        let mut predict = |asks: &[Ask]| self.model.map_or_else(|| Ok(vec![None; asks.len()]), |m| m.predict(asks));
        let mut exhaustive = None;
        let choice = match source {
            Source::Model => {
                let best = self.space.best(workload, &mut predict)?;
                if check {
                    exhaustive = self
                        .space
                        .exhaustive(workload, &mut predict)?
                        .filter(|all| best.is_none_or(|best| all.0 != best.0));
                }
                best
            }
            baseline => self.baseline(baseline, workload),
        };
        let measured_best = super::sweep::best(
            self.sweep.points_at(workload).iter().filter(|p| self.space.allows(workload, &p.configuration)),
        );
        // What was measured outweighs what is expected, unless more is expected.
        let outweighs = |best: &&Point| choice.is_some_and(|(_, expected)| best.busbw_gbps >= expected);
        let (choice, source) = match measured_best.filter(outweighs) {
            Some(best) if source == Source::Model => {
                exhaustive = exhaustive.filter(|(_, expected)| *expected > best.busbw_gbps);
                (Some((best.configuration, best.busbw_gbps)), Source::Measured)
            }
            _ => (choice, source),
        };
        let default = self.sweep.default_at(workload);
        let support = choice.map_or(Support::Extrapolated, |(c, _)| self.space.support(self.sweep, workload, &c));
        let gain = |(_, busbw): Best| default.map(|d| (busbw / d.busbw_gbps - 1.0) * 100.0).filter(|g| g.is_finite());
        Ok(Recommendation {
            workload: *workload,
            configuration: choice.map(|(configuration, _)| configuration),
            predicted_busbw_gbps: choice.map(|(_, busbw)| busbw),
            interval_90: choice.and_then(|(_, busbw)| self.interval(workload, busbw, source, support)),
            measured_best: measured_best.map(measured),
            default: default.map(measured),
            measured: None,
            gain_pct: choice.and_then(gain),
            decision: match (choice.and_then(gain), choice) {
                (_, None) => Decision::Unknown,
                (None, Some(_)) => Decision::NoDefault,
                (Some(gain), _) if gain <= 0.0 => Decision::KeepDefault { reason: KeepReason::NotFaster },
                _ => Decision::Deploy,
            },
            gain: None,
            tied: Vec::new(),
            aliases: Vec::new(),
            noise: None,
            witness: None,
            support,
            source,
            exhaustive,
        })
    }

    fn baseline(&self, source: Source, workload: &Workload) -> Option<Best> {
        let (collective, scale) = (workload.collective, workload.scale);
        let allowed = |configuration: &_| self.space.allows(workload, configuration);
        let interpolated = |configuration| {
            self.measurements.interpolate(&(*workload, configuration)).map(|busbw| (configuration, busbw))
        };
        match source {
            Source::NearestSize => {
                let (configuration, _) = self.measurements.nearest_size_winner(workload).filter(|(c, _)| allowed(c))?;
                interpolated(configuration)
            }
            Source::BestSingleConfiguration => {
                self.measurements.best_single(collective, scale).filter(allowed).and_then(interpolated)
            }
            Source::Default => None,
            Source::Measured => winner(self.measurements.at(workload).filter(|(c, _)| allowed(c))),
            Source::Model | Source::LogLinearInterpolation => {
                let configurations = self.measurements.configurations(collective, scale).filter(allowed);
                winner(configurations.filter_map(interpolated))
            }
        }
    }

    /// Where 90 % of measurements of a choice should fall: errors on unseen configurations for a measured size,
    /// on unseen sizes for any other.
    fn interval(&self, workload: &Workload, busbw: f64, source: Source, support: Support) -> Option<Interval> {
        let validation = self.validation?;
        let size_is_measured = !self.sweep.points_at(workload).is_empty();
        let errors = match source {
            Source::Model if size_is_measured => &validation.configuration_errors,
            Source::Model => &validation.size_errors,
            _ if support == Support::Measured => &validation.configuration_errors,
            _ => &validation.interpolation_errors,
        };
        let half = errors.width(workload.collective, workload.scale, workload.size_bytes, LEVEL)?;
        Some(Interval { low_gbps: busbw * exp(-half), high_gbps: busbw * exp(half) })
    }
}

/// A point as it stands in an answer.
#[must_use]
pub fn measured(point: &Point) -> Measured {
    Measured {
        configuration: point.configuration,
        busbw_gbps: point.busbw_gbps,
        repeats: point.repeats,
        spread_pct: point.spread_pct,
        out_of_place_gbps: point.out_of_place_gbps,
        asked: point.asked,
        evidence: point.evidence,
    }
}
