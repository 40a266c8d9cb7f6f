//! One answer for one workload: what to deploy, what is expected of it, and what that stands on.

use super::{
    aggregate::Point,
    baselines::{Measurements, winner},
    ceilings::Ceilings,
    decision::{
        Decision, DefaultBusbw, ExpectedBusbw, Gain, Judge, JudgedWorkload, Noise, NoiseBasis, default_there,
        unmeasured,
    },
    features::ModelInput,
    intervals::LEVEL,
    model::BusbwModel,
    result::{Interval, MeasuredBusbw, PredictionSupport, Recommendation, Source},
    search::{Best, SearchSpace},
    sizes::boundary,
    sweep::Sweep,
    validate::{self, Validation},
};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    learn::LearnError,
    math::{exp, ln, log2},
};

/// Everything that an answer is made from.
pub struct Recommender<'a> {
    /// What was measured, without the runs that are set aside.
    pub sweep: &'a Sweep,
    /// The measurements as the baselines look them up.
    pub measurements: &'a Measurements,
    /// What links carry, to which predictions are held.
    pub ceilings: &'a Ceilings,
    /// The configurations that may be chosen.
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

/// Sizes between two neighbouring measured ones for which one answer holds.
#[derive(Clone, Debug, PartialEq)]
pub struct BetweenSizes {
    /// The collective whose sizes these are.
    pub collective: Collective,
    /// The number of nodes and ranks.
    pub scale: Scale,
    /// The smallest message size of the range, in bytes.
    pub min_bytes: u64,
    /// The largest message size of the range, in bytes; it belongs to the range.
    pub max_bytes: u64,
    /// The answers at its ends, where both deploy one configuration; else the default stays.
    pub deployed: Option<(Recommendation, Recommendation)>,
}

impl<'a> Recommender<'a> {
    /// The source of answers for a collective and scale: the model, unless a baseline lost less on held-out sizes, at a
    /// scale that was not measured on held-out scales; interpolation while there is no model.
    pub fn source(&self, collective: Collective, scale: Scale) -> Source {
        if self.model.is_none() {
            return Source::LogLinearInterpolation;
        }
        let regret = self.validation.and_then(|validation| {
            if self.measurements.knows(collective, scale) {
                validation.regret.get(&(collective, scale))
            } else {
                validation.regret_at_scales.get(&collective)
            }
        });
        regret.map_or(Source::Model, validate::least_regret)
    }

    /// The measured configurations of a workload that may be chosen, and the decision between them.
    pub fn judged(&self, workload: &Workload) -> (Vec<&'a Point>, Option<JudgedWorkload<'a>>) {
        let sweep = self.sweep;
        let points: Vec<&'a Point> =
            sweep.points_at(workload).iter().filter(|p| self.space.allows(workload, &p.configuration)).collect();
        let held_out = self.half_width(workload, Source::Model, ONE_DEVIATION);
        let judged = self.judge.judge(&points, sweep.default_at(workload), held_out);
        (points, judged)
    }

    /// The answer for a workload. At a measured size, and where nothing was measured around it, its own
    /// ([`Self::alone`]). Between two measured sizes, what the stretch that holds it deploys ([`Self::between_sizes`]),
    /// so that an answer and a tuner file never differ; where that deploys nothing, or beyond the measured sizes and
    /// scales, the choice must be measured first. `check` runs the exhaustive search beside the coarse one.
    ///
    /// # Errors
    /// Returns an error if the model can't be evaluated.
    pub fn recommend(&self, workload: &Workload, check: bool) -> Result<Recommendation, LearnError> {
        let here = self.alone(workload, check)?;
        let (below, above) = self.neighbours(workload);
        if above.is_some_and(|size| size == workload.size_bytes) {
            return Ok(here);
        }
        if let (Some(below), Some(above)) = (below, above) {
            let at = |size_bytes| self.alone(&Workload { size_bytes, ..*workload }, false);
            let between_sizes = self.between_sizes(&at(below)?, &at(above)?)?;
            let holds = |between: &BetweenSizes| (between.min_bytes..=between.max_bytes).contains(&workload.size_bytes);
            if let Some((low, high)) = between_sizes.into_iter().find(holds).and_then(|between| between.deployed) {
                return self.within(&low, &high, here);
            }
        }
        Ok(Recommendation {
            decision: if here.decision.names_configuration() { Decision::MeasureFirst } else { here.decision },
            ..here
        })
    }

    /// The nearest measured sizes of a workload's collective and scale: the largest below its own, the smallest from
    /// its own on.
    fn neighbours(&self, workload: &Workload) -> (Option<u64>, Option<u64>) {
        let (collective, scale) = (workload.collective, workload.scale);
        let all = [self.sweep.points_of(collective, scale), self.sweep.defaults_of(collective, scale)];
        let split = all.map(|of| of.split_at(of.partition_point(|p| p.workload.size_bytes < workload.size_bytes)));
        let size = |point: &Point| point.workload.size_bytes;
        (
            split.iter().filter_map(|(below, _)| below.last().map(size)).max(),
            split.iter().filter_map(|(_, above)| above.first().map(size)).min(),
        )
    }

    /// The stretches between two neighbouring measured sizes, ascending, without holes: from the lower size to half way
    /// (in log2 of the size) to the middle, from there to the middle, and the same down from the upper size. The outer
    /// two may run what is deployed at their measured size, the inner two what is expected to be best at the middle of
    /// what was measured on both sides.
    ///
    /// # Errors
    /// Returns an error if the model can't be evaluated.
    pub fn between_sizes(
        &self,
        lower: &Recommendation,
        upper: &Recommendation,
    ) -> Result<Vec<BetweenSizes>, LearnError> {
        let (low, high) = (lower.workload.size_bytes, upper.workload.size_bytes);
        let middle = boundary(low, high);
        let (first, last) = (boundary(low, middle), boundary(middle, high));
        let at = |size_bytes| Workload { size_bytes, ..lower.workload };
        let chosen = |of: &Recommendation| of.configuration.filter(|_| of.decision.names_configuration());
        // What ends between the two, as Direct does, is not deployed beyond its end.
        let reaching = |of: &Recommendation, size_bytes: u64| {
            chosen(of).filter(|configuration| self.space.allows(&at(size_bytes), configuration))
        };
        let centre = match (chosen(lower), chosen(upper)) {
            (Some(below), Some(above)) if below == above => Some(below),
            _ => self.best_of_both(&at(low), &at(high), &at(middle))?,
        };
        let mut all = Vec::new();
        for (choice, from, to, ends) in [
            (reaching(lower, first - 1), low + 1, first - 1, [Some(lower), None]),
            (centre, first.max(low + 1), middle - 1, [None, None]),
            (centre, middle, last - 1, [None, None]),
            (reaching(upper, last), last, high - 1, [None, Some(upper)]),
        ] {
            if from <= to {
                let ends = [(at(from), ends[0]), (at(to), ends[1])];
                let deployed = choice.map(|choice| self.deployed(choice, ends)).transpose()?.flatten();
                let Workload { collective, scale, .. } = lower.workload;
                all.push(BetweenSizes { collective, scale, min_bytes: from, max_bytes: to, deployed });
            }
        }
        Ok(all)
    }

    /// The answers at the ends of a stretch, where both deploy the choice; an end that was measured is known.
    fn deployed(
        &self,
        choice: Configuration,
        ends: [(Workload, Option<&Recommendation>); 2],
    ) -> Result<Option<(Recommendation, Recommendation)>, LearnError> {
        let end = |(workload, known): (Workload, Option<&Recommendation>)| match known {
            Some(known) => Ok(known.clone()),
            None => self.of(choice, &workload),
        };
        let [low, high] = ends;
        let (low, high) = (end(low)?, end(high)?);
        let same = low.decision == high.decision && low.decision.names_configuration();
        Ok(same.then_some((low, high)))
    }

    /// Of the configurations that were measured at two sizes and may run at a third, the one that is expected to be
    /// best there.
    fn best_of_both(
        &self,
        lower: &Workload,
        upper: &Workload,
        between: &Workload,
    ) -> Result<Option<Configuration>, LearnError> {
        let above = self.sweep.points_at(upper);
        let both = self.sweep.points_at(lower).iter().map(|point| point.configuration).filter(|configuration| {
            above.binary_search_by_key(configuration, |point| point.configuration).is_ok()
                && self.space.allows(between, configuration)
        });
        let asks: Vec<ModelInput> = both.map(|configuration| (*between, configuration)).collect();
        let expected = self.expect(&asks)?;
        let known = asks.iter().zip(expected).filter_map(|((_, configuration), busbw)| Some((*configuration, busbw?)));
        Ok(winner(known).map(|(configuration, _)| configuration))
    }

    /// The bus bandwidths in GB/s that the source in use predicts for configurations.
    fn expect(&self, asks: &[ModelInput]) -> Result<Vec<Option<f64>>, LearnError> {
        let Some((workload, _)) = asks.first() else { return Ok(Vec::new()) };
        match (self.source(workload.collective, workload.scale), self.model) {
            (Source::Model, Some(model)) => model.predict(asks),
            _ => Ok(asks.iter().map(|ask| self.measurements.expect(ask)).collect()),
        }
    }

    /// The recommendation of one configuration where it was not measured: its prediction, and whether that is enough to
    /// deploy it.
    fn of(&self, configuration: Configuration, workload: &Workload) -> Result<Recommendation, LearnError> {
        let busbw = self.expect(&[(*workload, configuration)])?.pop().flatten();
        let known = Recommendation::unknown(*workload);
        let source = self.source(workload.collective, workload.scale);
        self.expected(known, busbw.map(|busbw| (configuration, busbw)), source)
    }

    /// The answer of a size within a stretch: the gains at its ends, and between them the line over log2 of the size.
    fn within(
        &self,
        low: &Recommendation,
        high: &Recommendation,
        here: Recommendation,
    ) -> Result<Recommendation, LearnError> {
        let workload = here.workload;
        let place = |of: &Recommendation| log2(of.workload.size_bytes as f64);
        let length = place(high) - place(low);
        let share = if length > 0.0 { (log2(workload.size_bytes as f64) - place(low)) / length } else { 0.0 };
        let between = |a: f64, b: f64| {
            let height = |pct: f64| ln(1.0 + pct / 100.0);
            (exp(height(a) + (height(b) - height(a)) * share) - 1.0) * 100.0
        };
        let gain = low.gain.zip(high.gain).map(|(a, b)| Gain {
            pct: between(a.pct, b.pct),
            low_pct: between(a.low_pct, b.low_pct),
            high_pct: between(a.high_pct, b.high_pct),
            level: a.level,
            basis: NoiseBasis::HeldOut,
        });
        // One end may be a measured size, where the choice is the whole field's; the other names it.
        let Some(choice) = high.configuration.filter(|_| low.configuration == high.configuration) else {
            return Ok(here);
        };
        let source = self.source(workload.collective, workload.scale);
        let default = default_there(self.sweep.defaults_of(workload.collective, workload.scale), workload.size_bytes);
        let busbw = match gain.zip(default) {
            Some((gain, default)) => Some(default.busbw_gbps() * (1.0 + gain.pct / 100.0)),
            None => self.expect(&[(workload, choice)])?.pop().flatten(),
        };
        let exhaustive = here.exhaustive;
        let answer = Recommendation { exhaustive, ..self.expected(here, busbw.map(|busbw| (choice, busbw)), source)? };
        Ok(Recommendation { decision: low.decision, gain, ..answer })
    }

    /// The answer for a workload by itself. Where it was measured, the verdict on the measurements: only a promise of
    /// the model for a configuration that was not measured there outweighs it, if even the lower end of its interval
    /// lies above the best measurement. Elsewhere the source's choice.
    fn alone(&self, workload: &Workload, check: bool) -> Result<Recommendation, LearnError> {
        // A baseline knows only what was measured: where nothing of that may be chosen, the model answers.
        let source = match self.source(workload.collective, workload.scale) {
            source @ (Source::Model | Source::Default) => source,
            _ if self.model.is_some() && self.allowed(workload).next().is_none() => Source::Model,
            source => source,
        };
        let (points, judged) = self.judged(workload);
        let measured_best = super::sweep::best(points.iter().copied());
        let default = self.sweep.default_at(workload);
        let known = Recommendation {
            measured_best: measured_best.map(measured),
            default: default.map(measured),
            ..Recommendation::unknown(*workload)
        };
        let mut predict =
            |asks: &[ModelInput]| self.model.map_or_else(|| Ok(vec![None; asks.len()]), |m| m.predict(asks));
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
        let hold = |(configuration, busbw): Best| (configuration, self.ceilings.hold(workload, &configuration, busbw));
        let exhaustive = exhaustive.map(hold);
        let outweighs = |(configuration, expected): Best, best: &Point| {
            let half = self.half_width(workload, source, self.judge.confidence.level);
            let is_measured = points.iter().any(|point| point.configuration == configuration);
            let (_, expected) = hold((configuration, expected));
            !is_measured && half.is_some_and(|half| expected * exp(-half) > best.busbw_gbps)
        };
        // Beyond the channels that were measured nothing bears the interval: such a promise is one to measure, and no
        // reason against what is known to be faster than the default.
        let is_certain = |configuration: &Configuration| {
            let stays = judged.as_ref().is_none_or(|judged| judged.decision.keeps_default());
            stays || self.space.support(self.sweep, workload, configuration) != PredictionSupport::Extrapolated
        };
        let promise = choice
            .filter(|choice| measured_best.is_none_or(|best| outweighs(*choice, best)))
            .filter(|(configuration, _)| is_certain(configuration));
        Ok(match (judged, promise) {
            (Some(judged), None) => {
                let exhaustive = exhaustive.filter(|(configuration, expected)| {
                    *configuration != judged.choice.configuration && *expected > judged.choice.busbw_gbps
                });
                let choice = judged.choice;
                let interval_90 = self.interval_of(choice, judged.noise.as_ref());
                Recommendation {
                    configuration: Some(choice.configuration),
                    predicted_busbw_gbps: Some(choice.busbw_gbps),
                    interval_90,
                    measured: Some(measured(choice)),
                    gain_pct: judged.gain_pct,
                    decision: judged.decision,
                    gain: judged.gain,
                    aliases: judged.aliases(&points, choice.configuration),
                    tied: judged.tied,
                    noise: judged.noise,
                    out_of_place: judged.out_of_place,
                    support: PredictionSupport::Measured,
                    source: Source::Measured,
                    exhaustive,
                    ..known
                }
            }
            (judged, promise) => Recommendation {
                noise: judged.as_ref().and_then(|judged| judged.noise),
                tied: judged.map(|judged| judged.tied).unwrap_or_default(),
                exhaustive,
                ..self.expected(known, promise, source)?
            },
        })
    }

    /// The recommendation of a workload with a choice that was not measured there.
    fn expected(
        &self,
        known: Recommendation,
        choice: Option<Best>,
        source: Source,
    ) -> Result<Recommendation, LearnError> {
        let workload = known.workload;
        let ceiling = choice.and_then(|(configuration, _)| self.ceilings.at(&workload, &configuration));
        let promised = choice.map(|(_, busbw)| busbw);
        let choice = choice.map(|(configuration, busbw)| {
            (configuration, ceiling.as_ref().map_or(busbw, |ceiling| busbw.min(ceiling.busbw_gbps)))
        });
        let there = default_there(self.sweep.defaults_of(workload.collective, workload.scale), workload.size_bytes);
        let level = self.judge.confidence.level;
        let half_width = |level| -> Result<Option<f64>, LearnError> {
            let Some(choice) = choice else { return Ok(None) };
            let beyond = self.half_width_beyond(&workload, choice, level)?;
            Ok(beyond.or_else(|| self.half_width(&workload, source, level)))
        };
        let expected = match choice {
            Some((_, busbw_gbps)) => Some(ExpectedBusbw {
                busbw_gbps,
                half_width: match there {
                    Some(DefaultBusbw::Between { .. }) => self.gain_half_width(&workload, source, level),
                    _ => half_width(level)?,
                },
            }),
            None => None,
        };
        let support =
            choice.map_or(PredictionSupport::Extrapolated, |(c, _)| self.space.support(self.sweep, &workload, &c));
        let (decision, gain) = unmeasured(expected, there, &self.judge.confidence);
        let is_known = support != PredictionSupport::Extrapolated;
        let decision = if decision == Decision::Deploy && !is_known { Decision::MeasureFirst } else { decision };
        // Validation leaves out what lies among the measured configurations: its errors say nothing of channels beyond
        // them. Sizes beyond the measured ones have errors of their own.
        let has_interval = is_known || self.sweep.points_at(&workload).is_empty();
        let between = there.filter(|there| matches!(there, DefaultBusbw::Between { .. }));
        let over = |busbw: f64| known.default.map(|default| (busbw / default.busbw_gbps - 1.0) * 100.0);
        let interval = choice.zip(half_width(LEVEL)?).map(|((_, busbw), half)| Interval::around(busbw, half));
        let highest = interval.map(|interval| interval.high_gbps).or(promised);
        let held = ceiling.filter(|ceiling| highest.is_some_and(|highest| highest > ceiling.busbw_gbps));
        let most = held.as_ref().map_or(f64::INFINITY, |held| held.busbw_gbps);
        let held_to = held.map(|held| held.sentence(promised.is_some_and(|promised| promised > most)));
        Ok(Recommendation {
            configuration: choice.map(|(configuration, _)| configuration),
            predicted_busbw_gbps: choice.map(|(_, busbw)| busbw),
            interval_90: interval
                .filter(|_| has_interval)
                .map(|interval| Interval { high_gbps: interval.high_gbps.min(most), ..interval }),
            held_to,
            default_between_gbps: between.map(DefaultBusbw::busbw_gbps),
            gain_pct: choice.and_then(|(_, busbw)| over(busbw)).filter(|gain| gain.is_finite()),
            decision,
            gain: gain.filter(|_| has_interval),
            support,
            source,
            ..known
        })
    }

    /// The scale whose measurements stand for that of a workload: its own, or the nearest one that was measured.
    fn measured_scale(&self, workload: &Workload) -> Option<Scale> {
        let Workload { collective, scale, .. } = *workload;
        let knows = self.measurements.knows(collective, scale);
        if knows { Some(scale) } else { self.measurements.nearest_scale(collective, scale) }
    }

    /// The configurations that were measured at that scale and may be chosen for a workload.
    fn allowed(&self, workload: &Workload) -> impl Iterator<Item = Configuration> {
        let scale = self.measured_scale(workload);
        let measured = scale.into_iter().flat_map(|scale| self.measurements.configurations(workload.collective, scale));
        measured.filter(|configuration| self.space.allows(workload, configuration))
    }

    fn baseline(&self, source: Source, workload: &Workload) -> Option<Best> {
        let collective = workload.collective;
        let scale = self.measured_scale(workload)?;
        let allowed = |configuration: &_| self.space.allows(workload, configuration);
        let interpolated =
            |configuration| self.measurements.expect(&(*workload, configuration)).map(|busbw| (configuration, busbw));
        match source {
            Source::NearestSize => {
                let there = Workload { scale, ..*workload };
                let (configuration, _) = self.measurements.nearest_size_winner(&there).filter(|(c, _)| allowed(c))?;
                interpolated(configuration)
            }
            Source::BestSingleConfiguration => {
                self.measurements.best_single(collective, scale).filter(allowed).and_then(interpolated)
            }
            Source::Default => None,
            Source::Measured => winner(self.measurements.at(workload).filter(|(c, _)| allowed(c))),
            Source::Model | Source::LogLinearInterpolation => winner(self.allowed(workload).filter_map(interpolated)),
        }
    }

    /// Where one more run of what was measured should fall, by the noise of its runs; by errors on unseen
    /// configurations where that is not known.
    fn interval_of(&self, point: &Point, noise: Option<&Noise>) -> Option<Interval> {
        let half = match noise {
            Some(noise) => noise.half_width_90(point.repeats),
            None => self.half_width(&point.workload, Source::Model, LEVEL)?,
        };
        Some(Interval::around(point.busbw_gbps, half))
    }

    /// The half width, in ln of the gain, of where a share of gains over the default should fall at a size at which
    /// neither side was measured; `None` until validation has run.
    fn gain_half_width(&self, workload: &Workload, source: Source, level: f64) -> Option<f64> {
        let validation = self.validation?;
        let errors = match source {
            Source::Model => &validation.gain_errors,
            _ => &validation.interpolated_gain_errors,
        };
        errors.width(workload.collective, workload.scale, workload.size_bytes, level)
    }

    /// The half width, in ln busbw, of where a share of measurements of a choice should fall at a size beyond the
    /// measured ones: by what was measured last and left out, and by errors on unseen configurations where the choice
    /// was not measured at the largest size itself. `None` at other sizes, until validation has run, and where that
    /// tells nothing.
    fn half_width_beyond(&self, workload: &Workload, choice: Best, level: f64) -> Result<Option<f64>, LearnError> {
        let (collective, scale) = (workload.collective, workload.scale);
        let points = self.sweep.points_of(collective, scale);
        let (Some(validation), [.., last]) = (self.validation, points) else { return Ok(None) };
        let largest = last.workload;
        if workload.size_bytes <= largest.size_bytes {
            return Ok(None);
        }
        let (configuration, busbw) = choice;
        let Some(there) = self.expect(&[(largest, configuration)])?.pop().flatten() else { return Ok(None) };
        let change = ln(busbw / there);
        let beyond = validation.beyond_errors.width(collective, scale, workload.size_bytes, change, level);
        let at_end = self.sweep.points_at(&largest);
        let is_measured = at_end.binary_search_by_key(&configuration, |point| point.configuration).is_ok();
        let unseen = if is_measured { None } else { self.half_width(&largest, Source::Model, level) };
        let unseen = unseen.unwrap_or(0.0);
        Ok(beyond.map(|beyond| (beyond * beyond + unseen * unseen).sqrt()))
    }

    /// The half width, in ln busbw, of where a share of measurements should fall: errors on unseen configurations for
    /// a measured size, on unseen sizes for any other, on unseen scales for a scale that was not measured; `None` until
    /// validation has run.
    fn half_width(&self, workload: &Workload, source: Source, level: f64) -> Option<f64> {
        let validation = self.validation?;
        if !self.measurements.knows(workload.collective, workload.scale) {
            let errors = match source {
                Source::Model | Source::Measured => &validation.scale_errors,
                _ => &validation.interpolated_scale_errors,
            };
            return errors.width_at_any_scale(workload.collective, workload.size_bytes, level);
        }
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
pub fn measured(point: &Point) -> MeasuredBusbw {
    MeasuredBusbw {
        configuration: point.configuration,
        busbw_gbps: point.busbw_gbps,
        repeats: point.repeats,
        spread_pct: point.spread_pct,
        out_of_place_gbps: point.out_of_place_gbps,
        asked: point.asked,
        evidence: point.evidence,
    }
}
