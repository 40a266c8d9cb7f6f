//! The verdict on what was measured at one workload.

use super::{
    Decision, Gain, KeepReason, MoreRuns, Noise, OutOfPlaceCheck,
    aliases::aliases,
    deviations::{Deviations, OwnSpread, WorkloadNoise},
    medians::{ChanceErrors, MedianComparison, NoisyMedian, TiedMedians, more_runs},
    unmeasured::{decide, pct},
};
use crate::{
    collective::{Configuration, Workload},
    math::ln,
    order::CompactSort,
    tuning::{aggregate::Point, parameters::Confidence, read::RunKind, runs::Runs, stalls::Screened},
};

/// Decides which measured configuration to deploy, given the noise of its runs.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    /// The runs of the sweep.
    pub runs: &'a Runs,
    /// Which of them are set aside.
    pub screened: &'a Screened,
    /// The noise of these runs.
    pub deviations: &'a Deviations,
    /// When to recommend something else than the default.
    pub confidence: Confidence,
}

/// The decision that the measurements of a workload allow.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedWorkload<'a> {
    /// The choice: of those that are tied, and beat the default where any does, the one with the fewest channels.
    pub choice: &'a Point,
    /// What to do at this workload, by its measurements alone.
    pub decision: Decision,
    /// The gain of the choice over the default, in per cent of the default; `None` without a default.
    pub gain_pct: Option<f64>,
    /// The same with its interval; `None` while the noise is not known.
    pub gain: Option<Gain>,
    /// All that can't be told apart from the best one, by channels ascending, without aliases.
    pub tied: Vec<Configuration>,
    /// For each point, the configuration whose alias it is, or its own.
    pub same_as: Vec<Configuration>,
    /// The noise of a run and of the gain; `None` without repeats.
    pub noise: Option<Noise>,
    /// The gain by the out-of-place runs, which take no part in the decision.
    pub out_of_place: Option<OutOfPlaceCheck>,
}

impl JudgedWorkload<'_> {
    /// Configurations with more channels that ran the same as this one does; `points` are those that were judged.
    pub fn aliases(&self, points: &[&Point], of: Configuration) -> Vec<Configuration> {
        let others = points.iter().zip(&self.same_as).filter(|(p, same)| **same == of && p.configuration != of);
        others.map(|(point, _)| point.configuration).collect()
    }
}

/// A tied configuration with fewer channels is chosen if its median lies at most this share below that of the best.
/// Where noise is large, much is tied, and the fewest channels of all would lose too much: chosen on two repeats of a
/// sweep of broadcast with 10 % noise and judged on the third, they lost 14 % against 7 %.
pub const MAX_LOSS_FOR_FEWER_CHANNELS: f64 = 0.02;

impl Judge<'_> {
    /// The verdict on the points of one workload, ordered by configuration; `None` of none. `held_out` is the standard
    /// deviation of ln busbw to fall back on where repeats and spreads tell nothing.
    pub fn judge<'p>(
        &self,
        points: &[&'p Point],
        default: Option<&Point>,
        held_out: Option<f64>,
    ) -> Option<JudgedWorkload<'p>> {
        let workload = points.first()?.workload;
        let noise =
            self.deviations.at(&workload).or_else(|| held_out.map(|deviation| self.deviations.known(deviation)));
        let deviation = noise.map_or(0.0, |noise| noise.pooled.deviation());
        let first = aliases(points, deviation);
        let own: Vec<&'p Point> =
            points.iter().zip(&first).enumerate().filter(|(i, (_, f))| i == *f).map(|(_, (p, _))| *p).collect();
        let same_as = first.iter().map(|f| points[*f].configuration).collect();
        let is_default = |choice: &Point| {
            default.is_some_and(|default| {
                let ran = points.iter().zip(&first).find(|(p, _)| p.configuration == default.configuration);
                ran.is_some_and(|(_, first)| points[*first].configuration == choice.configuration)
            })
        };
        let gain_pct = |choice: &Point| default.map(|default| (choice.busbw_gbps / default.busbw_gbps - 1.0) * 100.0);
        // The noise is not known, so no gain is certain, however large.
        let Some(noise) = noise else {
            let choice = crate::tuning::sweep::best(own.iter().copied())?;
            let gain_pct = gain_pct(choice).filter(|gain| gain.is_finite());
            let decision = match gain_pct {
                None => Decision::NoDefault,
                Some(_) if is_default(choice) => Decision::KeepDefault { reason: KeepReason::Same },
                Some(gain) if gain <= 0.0 => Decision::KeepDefault { reason: KeepReason::NotFaster },
                Some(_) => Decision::KeepDefault { reason: KeepReason::Uncertain },
            };
            let tied = vec![choice.configuration];
            return Some(JudgedWorkload {
                choice,
                decision,
                gain_pct,
                gain: None,
                tied,
                same_as,
                noise: None,
                out_of_place: None,
            });
        };
        let field = WorkloadMedians::new(self, noise, &workload, &own, default);
        let (choice, compared) = field.choose(&self.confidence)?;
        let point = own[choice];
        let (gain, decision) = match compared {
            None => (None, Decision::NoDefault),
            Some(gain) => {
                let rounded = field.rounded_in_favour(choice);
                let contradicts = |point: &Point, is_default| {
                    self.screened.contradicts_itself(&workload, point.configuration, is_default)
                };
                let is_doubtful =
                    || contradicts(point, false) || default.is_some_and(|default| contradicts(default, true));
                let is_beside = || self.runs.is_beside_default(&workload, point.configuration);
                let decision = match decide(&gain, rounded, is_default(point), &self.confidence) {
                    Decision::Deploy if !is_beside() => Decision::KeepDefault { reason: KeepReason::OtherState },
                    Decision::Deploy if is_doubtful() => Decision::KeepDefault { reason: KeepReason::Contradicted },
                    decision => decision,
                };
                (Some(gain), decision)
            }
        };
        let mut tied: Vec<Configuration> = field.tied().map(|index| own[index].configuration).collect();
        tied.compact_sort_by_key(|c| (c.channels, *c));
        Some(JudgedWorkload {
            choice: point,
            decision,
            gain_pct: gain.map(|gain| gain.pct),
            gain,
            tied,
            same_as,
            noise: Some(field.noise(choice, gain.as_ref(), &self.confidence)),
            out_of_place: default.zip(gain).and_then(|(default, gain)| out_of_place_check(point, default, &gain)),
        })
    }

    /// The noise that the runs of a configuration, or of the default, tell by themselves.
    pub fn own_alone(&self, workload: &Workload, kind: RunKind, configuration: Configuration) -> OwnSpread {
        let found = self.runs.of(workload, kind, configuration);
        found.map(|(_, first, _)| self.deviations.own(first)).unwrap_or_default()
    }

    /// The noise that the runs of a configuration, or of the default, tell together with those of the neighbouring
    /// sizes.
    pub fn own(&self, workload: &Workload, kind: RunKind, configuration: Configuration) -> OwnSpread {
        let at = |workload: &Workload| self.own_alone(workload, kind, configuration);
        let neighbours = self.deviations.neighbours(workload).filter(|other| other != workload);
        at(workload).with_neighbours(neighbours.map(|other| at(&other)))
    }
}

/// The sides of one workload, and which of them are tied.
struct WorkloadMedians<'a> {
    comparison: MedianComparison<'a>,
    noise: WorkloadNoise<'a>,
    points: &'a [&'a Point],
    sides: Vec<NoisyMedian>,
    runs: Vec<u32>,
    default: Option<(NoisyMedian, u32)>,
    tied: TiedMedians,
}

impl<'a> WorkloadMedians<'a> {
    fn new(
        judge: &Judge<'_>,
        noise: WorkloadNoise<'a>,
        workload: &Workload,
        points: &'a [&'a Point],
        default: Option<&Point>,
    ) -> Self {
        let comparison = MedianComparison::new(noise, judge.confidence.level);
        let owns: Vec<OwnSpread> =
            points.iter().map(|point| judge.own(workload, RunKind::Asked, point.configuration)).collect();
        let sides: Vec<NoisyMedian> = points
            .iter()
            .zip(&owns)
            .zip(1..)
            .map(|((point, own), column)| comparison.side(point.busbw_gbps, *own, column))
            .collect();
        let default = default.filter(|default| default.busbw_gbps > 0.0).map(|default| {
            let own = judge.own(workload, RunKind::Default, default.configuration);
            (comparison.side(default.busbw_gbps, own, 0), default.repeats)
        });
        let tied = comparison.tied(&sides);
        let runs = points.iter().map(|point| point.repeats).collect();
        Self { comparison, noise, points, sides, runs, default, tied }
    }

    fn tied(&self) -> impl Iterator<Item = usize> {
        (0..self.sides.len()).filter(|index| self.tied.tied[*index])
    }

    fn best(&self) -> Option<usize> {
        self.tied().max_by(|a, b| self.sides[*a].ln_busbw.total_cmp(&self.sides[*b].ln_busbw))
    }

    /// Which point to choose, and its gain over the default.
    fn choose(&self, confidence: &Confidence) -> Option<(usize, Option<Gain>)> {
        let best = self.best()?;
        let near = self.sides[best].ln_busbw + ln(1.0 - MAX_LOSS_FOR_FEWER_CHANNELS);
        let fewest = |among: &mut dyn Iterator<Item = usize>| {
            among.filter(|index| self.sides[*index].ln_busbw >= near || *index == best).min_by(|a, b| {
                let order = |index: usize| (self.points[index].configuration.channels, -self.sides[index].ln_busbw);
                let ((a_channels, a), (b_channels, b)) = (order(*a), order(*b));
                a_channels.cmp(&b_channels).then(a.total_cmp(&b))
            })
        };
        let Some((default, _)) = &self.default else { return Some((fewest(&mut self.tied())?, None)) };
        let contenders = || self.sides.iter().zip(&self.tied.contenders).filter(|(_, is)| **is).map(|(side, _)| side);
        let chance = |choice: usize| self.comparison.chance(contenders(), &self.sides[choice], default);
        let gain = |choice: usize, chance: ChanceErrors| {
            let side = &self.sides[choice];
            let (gain, error) = (side.ln_busbw - default.ln_busbw, side.difference_error(default));
            Gain {
                pct: pct(gain),
                low_pct: pct(gain - chance.in_favour * error - default.rounded_over(side)),
                high_pct: pct(gain + chance.against * error + side.rounded_over(default)),
                level: confidence.level,
                basis: self.noise.basis,
            }
        };
        let of_best = chance(best);
        // What chance does in favour is the same for all contenders.
        let beats = |index: usize| gain(index, of_best).low_pct > confidence.minimum_gain_pct;
        // One that beats the default for certain comes before one with fewer channels that may not.
        let choice = fewest(&mut self.tied().filter(|index| beats(*index))).or_else(|| fewest(&mut self.tied()))?;
        Some((choice, Some(gain(choice, if choice == best { of_best } else { chance(choice) }))))
    }

    /// By how much of ln busbw rounding may favour a point over the default.
    fn rounded_in_favour(&self, choice: usize) -> f64 {
        self.default.as_ref().map_or(0.0, |(default, _)| default.rounded_over(&self.sides[choice]))
    }

    fn noise(&self, choice: usize, gain: Option<&Gain>, confidence: &Confidence) -> Noise {
        let runs = self.runs[choice];
        let (default_repeats, visible, more) = match (gain, &self.default) {
            (Some(gain), Some((default, default_runs))) => {
                let ln_of = |pct: f64| ln(1.0 + pct / 100.0);
                let (smallest, low, high) =
                    (ln_of(confidence.minimum_gain_pct), ln_of(gain.low_pct), ln_of(gain.high_pct));
                let measured = ln_of(gain.pct);
                let side = &self.sides[choice];
                let (margin, rounded) = if measured > smallest {
                    (measured - low, default.rounded_over(side))
                } else {
                    (high - measured, side.rounded_over(default))
                };
                let decided = low > smallest || high <= smallest;
                // No number of runs makes a printed digit finer.
                let wanted = (measured - smallest).abs() - rounded;
                let more = (!decided).then(|| more_runs(margin - rounded, wanted, [runs, *default_runs]));
                (*default_runs, smallest + measured - low, more)
            }
            _ => {
                let mut leads: Vec<f64> = self.tied().map(|index| self.sides[index].ln_busbw).collect();
                crate::math::ascending(&mut leads);
                let lead = leads.iter().rev().take(2).copied().reduce(|best, second| best - second);
                let visible = self.comparison.lead(&self.sides[choice]);
                let more = (leads.len() > 1).then(|| more_runs(visible, lead.unwrap_or(0.0), [runs, runs]));
                (0, visible, more)
            }
        };
        Noise {
            spread_pct: pct(self.noise.pooled.deviation()),
            repeats: runs,
            default_repeats,
            visible_gain_pct: pct(visible),
            more_runs: match more {
                None => MoreRuns::Decided,
                Some(Some(runs)) => MoreRuns::Runs(runs),
                Some(None) => MoreRuns::OutOfReach,
            },
        }
    }
}

/// A contradiction is further from the in-place gain than the errors of two comparisons explain, and has less than a
/// tenth of it: a gain of one placement alone is none of the other.
fn out_of_place_check(choice: &Point, default: &Point, gain: &Gain) -> Option<OutOfPlaceCheck> {
    let seen = ln(choice.out_of_place_gbps? / default.out_of_place_gbps?);
    let [measured, high] = [gain.pct, gain.high_pct].map(|pct| ln(1.0 + pct / 100.0));
    let apart = (seen - measured).abs() > std::f64::consts::SQRT_2 * (high - measured);
    Some(OutOfPlaceCheck {
        gain_pct: pct(seen),
        contradicts: apart && seen * measured.signum() < measured.abs() / 10.0,
    })
    .filter(|check| check.gain_pct.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Collective, Protocol, Scale},
        math::exp,
        tuning::{
            aggregate::Target,
            read::{Asked, Evidence, Row, RowMarks, Sample},
            runs::KeptParts,
        },
    };

    const WORKLOAD: Workload =
        Workload { collective: Collective::AllReduce, scale: Scale { nodes: 2, ranks: 16 }, size_bytes: 64 << 20 };

    fn ring(protocol: Protocol, channels: u32) -> Configuration {
        Configuration { algorithm: Algorithm::Ring, protocol, channels }
    }

    const fn asked(channels: u32) -> (RunKind, Protocol, u32) {
        (RunKind::Asked, Protocol::Simple, channels)
    }

    /// The default, which runs 32 channels.
    const DEFAULT: (RunKind, Protocol, u32) = (RunKind::Default, Protocol::Simple, 32);

    /// What is judged of medians of three runs with 2 % of noise, each with its out-of-place busbw.
    fn judged_of<T>(
        medians: &[((RunKind, Protocol, u32), f64, f64)],
        repeats: usize,
        look: impl Fn(&JudgedWorkload<'_>) -> T,
    ) -> T {
        let mut rows = Vec::new();
        for ((kind, protocol, channels), in_place, out_of_place) in medians {
            for off in [0.0, -0.02, 0.02].iter().take(repeats) {
                let sample = |busbw_gbps: f64| Some(Sample { time_us: None, busbw_gbps: busbw_gbps * exp(*off) });
                rows.push(Row {
                    file: 0,
                    line: rows.len() as u32 + 2,
                    workload: WORKLOAD,
                    ran: ring(*protocol, *channels),
                    in_place: sample(*in_place),
                    out_of_place: sample(*out_of_place),
                    repeats: 1,
                    spread_pct: None,
                    kind: *kind,
                    marks: RowMarks::default(),
                    asked: Asked::default(),
                    evidence: Evidence::default(),
                    origin: 0,
                });
            }
        }
        let runs = Runs::new(rows, Target::Time);
        let (screened, sweep) = (Screened::default(), runs.sweep(|_, _| KeptParts::ALL));
        let deviations = Deviations::new(&runs, &screened);
        let judge = Judge {
            runs: &runs,
            screened: &screened,
            deviations: &deviations,
            confidence: Confidence { minimum_gain_pct: 1.0, ..Confidence::default() },
        };
        let points: Vec<&Point> = sweep.points_at(&WORKLOAD).iter().collect();
        look(&judge.judge(&points, sweep.default_at(&WORKLOAD), None).unwrap())
    }

    fn judged<T>(medians: &[((RunKind, Protocol, u32), f64)], look: impl Fn(&JudgedWorkload<'_>) -> T) -> T {
        judged_of(&medians.iter().map(|(of, busbw)| (*of, *busbw, *busbw)).collect::<Vec<_>>(), 3, look)
    }

    fn keep(reason: KeepReason) -> Decision {
        Decision::KeepDefault { reason }
    }

    #[test]
    fn of_tied_configurations_the_one_with_the_fewest_channels_is_chosen_that_loses_little() {
        let channels = |judged: &JudgedWorkload<'_>| {
            let tied: Vec<u32> = judged.tied.iter().map(|configuration| configuration.channels).collect();
            (judged.choice.configuration.channels, tied)
        };
        let of = |fewest: f64| [(asked(16), 101.5), (asked(8), 101.0), (asked(4), fewest), (DEFAULT, 80.0)];
        assert_eq!(judged(&of(100.0), channels), (4, vec![4, 8, 16]));
        // All three can't be told apart, but the one with four lies 3 % below the best.
        assert_eq!(judged(&of(98.5), channels), (8, vec![4, 8, 16]));
        assert_eq!(judged(&of(70.0), channels), (8, vec![8, 16]));
        assert_eq!(judged(&of(100.0)[..3], channels), (4, vec![4, 8, 16]), "without a default as well");
        // As many channels: the faster one.
        let of_two = |simple: f64, ll: f64| {
            let medians = [(asked(8), simple), ((RunKind::Asked, Protocol::Ll, 8), ll), (DEFAULT, 80.0)];
            judged(&medians, |judged| judged.choice.configuration.protocol)
        };
        assert_eq!([of_two(101.0, 100.0), of_two(100.0, 101.0)], [Protocol::Simple, Protocol::Ll]);
    }

    #[test]
    fn the_decision_says_what_the_default_allows() {
        let decision = |medians: &[((RunKind, Protocol, u32), f64)]| judged(medians, |judged| judged.decision);
        let with = |default: f64| decision(&[(asked(8), 100.0), (asked(16), 101.0), (DEFAULT, default)]);
        assert_eq!(with(80.0), Decision::Deploy);
        assert_eq!(with(99.0), keep(KeepReason::Uncertain));
        assert_eq!(with(130.0), keep(KeepReason::NotFaster));
        assert_eq!(decision(&[(asked(8), 100.0)]), Decision::NoDefault);
        // The default runs what would be chosen.
        assert_eq!(decision(&[(asked(32), 100.0), (DEFAULT, 100.0)]), keep(KeepReason::Same));
        assert_eq!(decision(&[(asked(32), 100.0), (asked(4), 100.0), (DEFAULT, 99.9)]), keep(KeepReason::Uncertain));
    }

    #[test]
    fn single_runs_tell_a_gain_and_no_noise() {
        let of = |medians: &[((RunKind, Protocol, u32), f64, f64)]| {
            judged_of(medians, 1, |judged| {
                assert!(judged.noise.is_none() && judged.gain.is_none() && judged.tied.len() == 1);
                let gain_pct = judged.gain_pct.map(|gain| (gain * 10.0).round() / 10.0);
                (judged.choice.configuration.channels, judged.decision, gain_pct)
            })
        };
        let two = [(asked(8), 100.0, 1.0), (asked(16), 110.0, 1.0)];
        let with = |default: f64| of(&[two[0], two[1], (DEFAULT, default, 1.0)]);
        assert_eq!(with(100.0), (16, keep(KeepReason::Uncertain), Some(10.0)));
        assert_eq!(with(110.0), (16, keep(KeepReason::NotFaster), Some(0.0)));
        assert_eq!(of(&two), (16, Decision::NoDefault, None));
        assert_eq!(
            of(&[two[0], (asked(32), 110.0, 1.0), (DEFAULT, 100.0, 1.0)]),
            (32, keep(KeepReason::Same), Some(10.0))
        );
    }

    #[test]
    fn a_gain_that_the_runs_out_of_place_do_not_have_is_contradicted() {
        let check = |out_of_place: f64| {
            let medians = [(asked(8), 100.0, out_of_place), (DEFAULT, 80.0, 80.0)];
            judged_of(&medians, 3, |judged| judged.out_of_place.unwrap())
        };
        let found = [100.0, 90.0, 81.0, 70.0].map(|out_of_place| check(out_of_place).contradicts);
        assert_eq!(found, [false, false, true, true], "a quarter, an eighth, nearly nothing, a loss");
        assert!((check(90.0).gain_pct - 12.5).abs() < 1e-9);
    }

    #[test]
    fn the_interval_of_a_gain_holds_it_and_says_how_many_runs_would_decide() {
        let of = |default: f64| {
            let medians = [(asked(8), 100.0), (asked(16), 100.5), (DEFAULT, default)];
            judged(&medians, |judged| (judged.gain.unwrap(), judged.noise.unwrap()))
        };
        let (gain, noise) = of(80.0);
        assert!((gain.pct - 25.0).abs() < 1e-9 && gain.basis == crate::tuning::decision::NoiseBasis::Repeats);
        assert!((10.0..gain.pct).contains(&gain.low_pct) && (gain.pct..40.0).contains(&gain.high_pct), "{gain:?}");
        assert_eq!((noise.repeats, noise.default_repeats, noise.more_runs), (3, 3, MoreRuns::Decided));
        assert!((noise.spread_pct - 100.0 * (exp(0.02) - 1.0)).abs() < 1e-9, "{noise:?}");
        assert!((1.0..25.0).contains(&noise.visible_gain_pct), "{noise:?}");
        // The nearer a gain is to the smallest that matters, the more runs it takes.
        let runs = |default: f64| match of(default).1.more_runs {
            MoreRuns::Decided => 0,
            MoreRuns::Runs(runs) => runs,
            MoreRuns::OutOfReach => u32::MAX,
        };
        let (some, more) = (runs(96.5), runs(97.0));
        assert!(0 < some && some < more && more < 50, "{some} {more}");
        assert_eq!([150.0, 95.0, 99.0].map(runs), [0, 0, u32::MAX]);
    }
}
