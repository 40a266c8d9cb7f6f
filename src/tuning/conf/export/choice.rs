//! The configuration that a rule asks for at one size.

use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    conf::write::channels_of_library,
    math,
    tuning::{
        aggregate::Point,
        conf::{lint::most_channels, reader::Reader},
        decision::{Decision, printed},
        result::Recommendation,
        support::{SupportMatrix, SupportOutcome},
        sweep::{Sweep, best},
    },
};

/// Algorithm, protocol and channels as a rule has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WrittenRule {
    /// `None`: −1, both or neither.
    pub(super) pair: Option<(Algorithm, Protocol)>,
    pub(super) channels: i32,
}

/// Decides what rules of one collective and scale ask for.
pub(super) struct RuleChooser<'a> {
    sweep: &'a Sweep,
    support: &'a SupportMatrix,
    reader: Reader,
    /// The most channels that were measured at this scale; 0 where no count is known.
    most_channels: u32,
}

impl<'a> RuleChooser<'a> {
    pub(super) fn new(
        sweep: &'a Sweep,
        support: &'a SupportMatrix,
        reader: Reader,
        collective: Collective,
        scale: Scale,
    ) -> Self {
        let most_channels = most_channels(sweep.points_of(collective, scale)).unwrap_or(0);
        Self { sweep, support, reader, most_channels }
    }

    /// The configuration that the rule for a size asks for; `None` where the default is kept, or nothing is known that
    /// could be asked for.
    pub(super) fn written(&self, recommendation: &Recommendation, warn: &mut dyn FnMut(String)) -> Option<WrittenRule> {
        let workload = &recommendation.workload;
        let choice = self.choice(recommendation, warn)?;
        match self.rule(choice, workload) {
            Ok(written) => Some(written),
            Err(why) => {
                warn(why);
                let instead = self.best_forced(workload).filter(|_| !self.reader.behaviour().keeps_default)?;
                self.rule(instead.configuration, workload).ok()
            }
        }
    }

    fn rule(&self, choice: Configuration, workload: &Workload) -> Result<WrittenRule, String> {
        written(choice, *workload, self.support, self.reader)
    }

    /// The highest measurement that a rule of this reader may ask for: what no library runs, what nobody can ask for
    /// and counts that are read from a negative byte are left out.
    fn best_forced(&self, workload: &Workload) -> Option<&'a Point> {
        let can_ask =
            |point: &&Point| !point.marks.wrapped_channels && self.rule(point.configuration, workload).is_ok();
        best(self.sweep.points_at(workload).iter().filter(can_ask))
    }

    /// By how much the best that a rule can ask for is slower than the default, in per cent of it (below zero), where
    /// that is more than noise and the rounding of what was printed.
    pub(super) fn loss(&self, recommendation: &Recommendation, level: f64) -> Option<f64> {
        let default = self.sweep.default_at(&recommendation.workload)?;
        let best = self.best_forced(&recommendation.workload)?;
        let pct = |best: f64, default: f64| (best / default - 1.0) * 100.0;
        let at_best = pct(printed::range(best.busbw_gbps).1, printed::range(default.busbw_gbps).0);
        let is_slower = at_best < -noise_pct(recommendation, best, default, level);
        is_slower.then(|| pct(best.busbw_gbps, default.busbw_gbps))
    }

    fn choice(&self, recommendation: &Recommendation, warn: &mut dyn FnMut(String)) -> Option<Configuration> {
        let keeps_default = self.reader.behaviour().keeps_default;
        let measured = self.best_forced(&recommendation.workload);
        let choice = match recommendation.decision {
            Decision::Deploy | Decision::NoDefault => recommendation.configuration?,
            Decision::KeepDefault { .. } | Decision::MeasureFirst if !keeps_default => measured?.configuration,
            Decision::KeepDefault { .. } | Decision::MeasureFirst | Decision::Unknown => return None,
        };
        let most = self.most_channels;
        if choice.channels <= most {
            return Some(choice);
        }
        let default = self.sweep.default_at(&recommendation.workload).filter(|_| keeps_default);
        let instead = measured.filter(|best| default.is_none_or(|default| best.busbw_gbps > default.busbw_gbps));
        let what = instead.map_or_else(
            || "no rule is written".to_owned(),
            |instead| format!("{} is written instead", instead.configuration),
        );
        warn(format!("{choice} has more channels than the most that were measured at this scale, {most}; {what}"));
        instead.map(|point| point.configuration)
    }
}

/// The difference of two medians that noise alone explains, in per cent: from the noise of a run where it is known,
/// else from the spreads, else two per cent.
fn noise_pct(recommendation: &Recommendation, best: &Point, default: &Point, level: f64) -> f64 {
    const UNKNOWN_PCT: f64 = 2.0;
    /// The half widths of the central 90 % and 99 % of a normal distribution, in standard deviations.
    const WIDTHS: [(f64, f64); 2] = [(0.95, 1.645), (1.1, 2.576)];
    let width = WIDTHS.iter().find(|(below, _)| level < *below).map_or(WIDTHS[1].1, |(_, width)| *width);
    if let Some(noise) = &recommendation.noise {
        let runs = |repeats: u32| 1.0 / f64::from(repeats.max(1));
        return width * noise.spread_pct * (runs(best.repeats) + runs(default.repeats)).sqrt();
    }
    let mut spreads: Vec<f64> = [best.spread_pct, default.spread_pct].into_iter().flatten().collect();
    math::median(&mut spreads).map_or(UNKNOWN_PCT, |spread| spread.max(0.5))
}

/// A configuration as a rule of a reader; the error says why there is none.
fn written(
    choice: Configuration,
    workload: Workload,
    support: &SupportMatrix,
    reader: Reader,
) -> Result<WrittenRule, String> {
    let channels = match i32::try_from(choice.channels) {
        Ok(0) | Err(_) => channels_of_library(reader),
        Ok(channels) => channels,
    };
    let outcome = |algorithm, protocol| support.outcome(&workload, algorithm, protocol);
    let pair = match (choice.algorithm, choice.protocol) {
        (Algorithm::None, _) | (_, Protocol::None) => {
            return Err("the sweep does not say what ran, so no rule can ask for it".to_owned());
        }
        (Algorithm::Direct, _) if reader.behaviour().has_wildcards => None,
        (Algorithm::Direct, protocol) => {
            let (ring, simple) = (Algorithm::Ring, Protocol::Simple);
            if outcome(ring, simple) != SupportOutcome::Becomes(Algorithm::Direct, protocol) {
                return Err(format!("{choice} is the library's own choice, and no rule can ask for it"));
            }
            Some((ring, simple))
        }
        (algorithm, protocol) => match outcome(algorithm, protocol) {
            SupportOutcome::Runs => Some((algorithm, protocol)),
            SupportOutcome::Becomes(..) | SupportOutcome::RuledOut(_) => {
                return Err(format!("{choice}: {}", support.reason(&workload, algorithm, protocol)));
            }
        },
    };
    Ok(WrittenRule { pair, channels })
}
