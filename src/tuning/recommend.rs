//! One answer for one workload: what to deploy, what is expected of it, and what that stands on.

use super::{
    aggregate::Point,
    baselines::{Measurements, winner},
    decision::{DefaultThere, Expected, Judge, Judged, default_there, unmeasured},
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
    /// Tells what was measured from noise.
    pub judge: Judge<'a>,
}

/// The share of normal numbers that lie within one standard deviation.
const ONE_DEVIATION: f64 = 0.6827;

impl<'a> Advisor<'a> {
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

    /// What was measured at a workload and may be chosen, and the verdict on it.
    #[must_use]
    pub fn judged(&self, workload: &Workload) -> (Vec<&'a Point>, Option<Judged<'a>>) {
        let sweep = self.sweep;
        let points: Vec<&'a Point> =
            sweep.points_at(workload).iter().filter(|p| self.space.allows(workload, &p.configuration)).collect();
        let held_out = self.half_width(workload, Source::Model, ONE_DEVIATION);
        let judged = self.judge.judge(&points, sweep.default_at(workload), held_out);
        (points, judged)
    }

    /// The answer for a workload. Where it was measured, the verdict on the measurements: only a promise of the model for
    /// a configuration that was not measured there outweighs it, if even the lower end of its interval lies above the
    /// best measurement. Elsewhere the source's choice. `check` runs the exhaustive search beside the coarse one.
    ///
    /// # Errors
    /// What the model says.
    pub fn recommend(&self, workload: &Workload, check: bool) -> Result<Recommendation, LearnError> {
        let source = self.source(workload.collective, workload.scale);
        let (points, judged) = self.judged(workload);
        let measured_best = super::sweep::best(points.iter().copied());
        let default = self.sweep.default_at(workload);
        let known = Recommendation {
            measured_best: measured_best.map(measured),
            default: default.map(measured),
            ..Recommendation::unknown(*workload)
        };
        let mut predict = |asks: &[Ask]| self.model.map_or_else(|| Ok(vec![None; asks.len()]), |m| m.predict(asks));
        let mut exhaustive = None;
        let choice = match source {
            Source::Model => {
                let best = self.space.best(workload, &mut predict)?;
                if check {
                    let all = self.space.exhaustive(workload, &mut predict)?;
                    exhaustive = all.filter(|all| best.is_none_or(|best| all.0 != best.0));
                }
                best
            }
            _ if judged.is_some() => None,
            baseline => self.baseline(baseline, workload),
        };
        let outweighs = |(configuration, expected): Best, best: &Point| {
            let half = self.half_width(workload, source, self.judge.confidence.level);
            let is_measured = points.iter().any(|point| point.configuration == configuration);
            !is_measured && half.is_some_and(|half| expected * exp(-half) > best.busbw_gbps)
        };
        let promise = choice.filter(|choice| measured_best.is_none_or(|best| outweighs(*choice, best)));
        let answer = match (judged, promise) {
            (Some(judged), None) => {
                exhaustive = exhaustive.filter(|(configuration, expected)| {
                    *configuration != judged.choice.configuration && *expected > judged.choice.busbw_gbps
                });
                let choice = judged.choice.configuration;
                Recommendation {
                    configuration: Some(choice),
                    predicted_busbw_gbps: Some(judged.choice.busbw_gbps),
                    measured: Some(measured(judged.choice)),
                    gain_pct: judged.gain_pct,
                    decision: judged.decision,
                    gain: judged.gain,
                    aliases: judged.aliases(&points, choice),
                    tied: judged.tied,
                    noise: judged.noise,
                    witness: judged.witness,
                    source: Source::Measured,
                    ..known
                }
            }
            (judged, promise) => {
                let level = self.judge.confidence.level;
                let expected = promise.map(|(_, busbw_gbps)| Expected {
                    busbw_gbps,
                    half_width: self.half_width(workload, source, level),
                });
                let defaults = self.sweep.defaults_of(workload.collective, workload.scale);
                let there = default_there(defaults, workload.size_bytes);
                let (decision, gain) = unmeasured(expected, there, &self.judge.confidence);
                let between = match there {
                    Some(DefaultThere::Between(busbw)) => Some(busbw),
                    _ => None,
                };
                let over = |busbw: f64| default.map(|default| (busbw / default.busbw_gbps - 1.0) * 100.0);
                Recommendation {
                    configuration: promise.map(|(configuration, _)| configuration),
                    predicted_busbw_gbps: promise.map(|(_, busbw)| busbw),
                    default_between_gbps: between,
                    gain_pct: promise.and_then(|(_, busbw)| over(busbw)).filter(|gain| gain.is_finite()),
                    decision,
                    gain,
                    noise: judged.as_ref().and_then(|judged| judged.noise),
                    tied: judged.map(|judged| judged.tied).unwrap_or_default(),
                    source,
                    ..known
                }
            }
        };
        let support =
            answer.configuration.map_or(Support::Extrapolated, |c| self.space.support(self.sweep, workload, &c));
        let interval = answer.predicted_busbw_gbps.zip(self.half_width_of(workload, answer.source, support));
        let interval_90 =
            interval.map(|(busbw, half)| Interval { low_gbps: busbw * exp(-half), high_gbps: busbw * exp(half) });
        Ok(Recommendation { support, interval_90, exhaustive, ..answer })
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

    /// The half width, in ln busbw, of where 90 % of measurements of a choice should fall.
    fn half_width_of(&self, workload: &Workload, source: Source, support: Support) -> Option<f64> {
        let source = if support == Support::Measured { Source::Model } else { source };
        self.half_width(workload, source, LEVEL)
    }

    /// The half width, in ln busbw, of where a share of measurements should fall: errors on unseen configurations for
    /// a measured size, on unseen sizes for any other; `None` until validation has run.
    fn half_width(&self, workload: &Workload, source: Source, level: f64) -> Option<f64> {
        let validation = self.validation?;
        let size_is_measured = !self.sweep.points_at(workload).is_empty();
        let errors = match source {
            Source::Model | Source::Measured if size_is_measured => &validation.configuration_errors,
            Source::Model => &validation.size_errors,
            _ => &validation.interpolation_errors,
        };
        errors.width(workload.collective, workload.scale, workload.size_bytes, level)
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
