//! Decides for each key whether another arm than `auto` is worth deploying, with the estimator that its log supports.

use super::{
    arm::Arm,
    bands::Bands,
    pool::{Pool, PoolLine},
    result::{ArmResult, Attribution, Decision, Estimator, Evidence, Flag, KeyResult, Objective},
};
use crate::{
    bandit::{
        compare::{self, Comparison},
        estimators,
        paired::{self, LEAST_DIFFERENCES, NotComparable, PairedResult, Unit},
        series::{self, Drift, Summary},
        statistics::{NormalInverseGamma, Statistics},
        strategies::StrategyKind,
        student,
    },
    order::CompactSort,
    units::{count, percent, significant},
};

/// The fewest values of an arm for which its mean is resampled.
pub const LEAST_VALUES: usize = 5;
/// Two arms of a key whose medians are this many times apart are not in the same unit: no algorithm or protocol of a
/// library is so much slower than its own choice on the same message.
const MOST_RATIO: f64 = 100.0;
/// The fewest effectively independent values of an arm for a decision about it.
pub const LEAST_EFFECTIVE: f64 = 8.0;
/// The probability of being faster that a decision to deploy requires.
pub const REQUIRED_PROBABILITY: f64 = 0.95;
/// The largest corrected p-value of a gain, over all arms and keys together, with which it is deployed. One-sided:
/// the 95 % interval of the gain lies above zero.
pub const LARGEST_P: f64 = 0.025;
/// The smallest gain that is worth deploying, in per cent of `auto`'s mean.
pub const LEAST_GAIN_PCT: f64 = 1.0;
/// The difference that further measurements should be able to detect, as a share of `auto`'s mean.
pub const DETECTABLE_DIFFERENCE: f64 = 0.05;
/// The share of the variance of log latencies between two groups from which the distribution counts as bimodal: for
/// one normal distribution it is 0.64, and up to 0.76 in samples of 50 values.
const BIMODAL_SEPARATION: f64 = 0.8;

/// The result for one key, together with the resampled means from which charts are drawn.
pub struct JudgedKey {
    /// What was decided, and by which figures.
    pub result: KeyResult,
    /// Resampled means of each arm, [`compare::DRAWS`] of them; empty where the log supports no estimator.
    pub draws: Vec<Vec<f64>>,
}

/// The evidence that each arm of each key is faster than `auto`. P-values are corrected for the number of arms and
/// keys: of ten arms that are alike, one looks faster.
pub fn evidence(pools: &[Pool]) -> Vec<Vec<Option<Evidence>>> {
    let of_pool = |pool: &Pool| -> Vec<Option<Evidence>> {
        let ran = |arm: usize| pool.lines.iter().any(|line| line.arm == arm);
        let of_arm = |arm: usize| {
            if !can_run(pool, pool.arms[arm]) {
                return Evidence::CannotRun;
            }
            let own = pool.lines.iter().filter(|line| line.arm == arm || line.arm == 0);
            let value = |line: &PoolLine| paired::Value {
                run: line.run,
                round: line.round,
                is_auto: line.arm == 0,
                latency: line.latency_ms,
            };
            let values: Vec<paired::Value> = own.map(value).collect();
            match paired::compare(&values) {
                Ok(certainty) => Evidence::Test { certainty, p: certainty.p },
                Err(why) => Evidence::None(why),
            }
        };
        (0..pool.arms.len()).map(|arm| (arm > 0 && ran(0) && ran(arm)).then(|| of_arm(arm))).collect()
    };
    let mut all: Vec<Vec<Option<Evidence>>> = pools.iter().map(of_pool).collect();
    let mut tests: Vec<&mut f64> = all
        .iter_mut()
        .flatten()
        .filter_map(|evidence| match evidence {
            Some(Evidence::Test { p, .. }) => Some(p),
            _ => None,
        })
        .collect();
    let corrected = paired::corrected(&tests.iter().map(|p| **p).collect::<Vec<f64>>());
    tests.iter_mut().zip(corrected).for_each(|(p, corrected)| **p = corrected);
    all
}

/// Judges one key by the [`evidence`] for its arms.
pub fn judge(pool: &Pool, evidence: &[Option<Evidence>], seed: u64) -> JudgedKey {
    let series = pool.series();
    let summaries: Vec<Summary> = series.iter().map(|values| series::summary(values)).collect();
    let drift = drift(pool, &summaries, seed);
    let mut result = KeyResult {
        key: Some(pool.key),
        objective: pool.objective,
        attributions: pool.attributions.clone(),
        estimator: estimator(pool, &summaries),
        arms: arms(pool, &series, &summaries),
        candidate: candidate(&summaries, evidence),
        ..KeyResult::default()
    };
    result.arms.iter_mut().zip(evidence).for_each(|(arm, evidence)| arm.evidence = *evidence);
    flags(pool, &drift, &mut result);
    let mut draws = match result.estimator {
        Estimator::None => vec![Vec::new(); series.len()],
        _ => draws(pool, &series, &summaries, drift.is_found(), seed),
    };
    if result.estimator == Estimator::Resampling {
        draws.iter_mut().zip(&summaries).filter(|(_, of)| !has_enough(of)).for_each(|(draws, _)| draws.clear());
    }
    let means: Vec<f64> = summaries.iter().map(|of| of.mean).collect();
    for (arm, comparison) in result.arms.iter_mut().zip(compare::compare(&draws, &means, 0)) {
        arm.comparison = match (comparison, arm.evidence) {
            (Some(comparison), Some(Evidence::Test { certainty, .. })) if certainty.unit != Unit::Stretch => {
                Some(of_runs(comparison, &certainty))
            }
            (comparison, _) => comparison,
        };
    }
    add_weighted_estimates(pool, &mut result, seed);
    decide(pool, &drift, &summaries, &mut result);
    JudgedKey { result, draws }
}

/// The comparison of two arms where runs are the independent units. Resampling within runs says nothing about the
/// next run, so the interval of a gain follows from the differences between runs.
fn of_runs(comparison: Comparison, certainty: &PairedResult) -> Comparison {
    let freedom = f64::from(certainty.units.saturating_sub(1).max(1));
    let reach = student::quantile(0.975, freedom) * certainty.error * 100.0;
    let gain = certainty.gain * 100.0;
    Comparison {
        p_better: 1.0 - certainty.p,
        p_worse: certainty.p,
        // Rounds that lack an arm count for the means and not for the differences.
        gain_low_pct: (gain - reach).min(comparison.gain_pct),
        gain_high_pct: (gain + reach).max(comparison.gain_pct),
        ..comparison
    }
}

/// Whether an arm has values to draw from.
const fn has_enough(of: &Summary) -> bool {
    of.n >= LEAST_VALUES
}

/// The index of the arm with the lowest mean, `auto` aside: of those that can be compared with it, if there are any.
fn candidate(summaries: &[Summary], evidence: &[Option<Evidence>]) -> Option<u32> {
    let is_judged =
        |arm: usize| has_enough(&summaries[arm]) && matches!(evidence.get(arm), Some(Some(Evidence::Test { .. })));
    let lowest = |is_meant: &dyn Fn(usize) -> bool| {
        let ran = (1..summaries.len()).filter(|arm| summaries[*arm].n > 0 && is_meant(*arm));
        ran.min_by(|a, b| summaries[*a].mean.total_cmp(&summaries[*b].mean)).map(|arm| arm as u32)
    };
    lowest(&is_judged).or_else(|| lowest(&|_| true))
}

/// The drift of the deviations from each arm's mean, in the order of time. If arms were measured one after the other,
/// a drift within one log counts as a drift of the whole.
fn drift(pool: &Pool, summaries: &[Summary], seed: u64) -> Drift {
    let deviation = |line: &PoolLine| line.latency_ms - summaries[line.arm].mean;
    let attributed: Vec<f64> = pool.lines.iter().map(deviation).collect();
    if !pool.is_interleaved() {
        for of_file in pool.lines.chunk_by(|a, b| a.run == b.run) {
            let level = Statistics::of(&of_file.iter().map(|line| line.latency_ms).collect::<Vec<f64>>()).mean;
            let drift = series::drift(&of_file.iter().map(deviation).collect::<Vec<f64>>(), level, seed);
            if drift.is_found() {
                return drift;
            }
        }
    }
    if !attributed.is_empty() {
        let level = pool.lines.iter().map(|line| line.latency_ms).sum::<f64>() / pool.lines.len() as f64;
        return series::drift(&attributed, level, seed);
    }
    let all = Statistics::of(&pool.unattributed);
    let deviations: Vec<f64> = pool.unattributed.iter().map(|value| value - all.mean).collect();
    series::drift(&deviations, all.mean, seed)
}

/// The estimator that the log supports.
fn estimator(pool: &Pool, summaries: &[Summary]) -> Estimator {
    let ran = summaries.iter().filter(|of| of.n > 0).count();
    if ran < 2 {
        return Estimator::None;
    }
    if let Some(lines) = pool.weighted() {
        let uniform = 1.0 / ran as f64;
        let is_uniform = lines.iter().all(|line| (line.propensity - uniform).abs() < 1e-6);
        return if is_uniform { Estimator::Rejection } else { Estimator::Weighting };
    }
    // Another arm with fewer is not judged, and does not keep the others from it.
    let [auto, others @ ..] = summaries else { return Estimator::None };
    let is_enough = (auto.n == 0 || has_enough(auto)) && others.iter().any(has_enough);
    if pool.adaptive.is_some() || !is_enough { Estimator::None } else { Estimator::Resampling }
}

fn arms(pool: &Pool, series: &[Vec<f64>], summaries: &[Summary]) -> Vec<ArmResult> {
    let ran: Vec<f64> = summaries.iter().filter(|of| of.n > 0).map(|of| of.mean).collect();
    let prior = NormalInverseGamma::weak(ran.iter().sum::<f64>() / ran.len().max(1) as f64);
    let one = |((arm, values), of): ((&Arm, &Vec<f64>), &Summary)| {
        let modes = series::modes(values);
        // Dependent values count for as many as they are worth.
        let mut statistics = Statistics::of(values);
        if of.n > 0 {
            statistics.discount(of.effective / of.n as f64);
        }
        ArmResult {
            arm: *arm,
            n: of.n as u64,
            mean_ms: of.mean,
            median_ms: of.median,
            trimmed_ms: of.trimmed_mean,
            deviation_ms: of.deviation,
            autocorrelation: of.autocorrelation,
            n_eff: of.effective,
            block: of.block as u32,
            slow_share: modes.filter(|modes| is_two(of, modes)).map(|modes| modes.slow_share),
            separation: modes.map_or(0.0, |modes| modes.separation),
            credible_ms: if of.n > 0 { prior.posterior(&statistics).interval() } else { (0.0, 0.0) },
            comparison: None,
            estimate: None,
            evidence: None,
        }
    };
    pool.arms.iter().zip(series).zip(summaries).map(one).collect()
}

/// Whether two modes are worth reporting: each has a sufficient share, and they differ by more than a twentieth.
fn is_two(of: &Summary, modes: &series::Modes) -> bool {
    of.n >= 16
        && modes.separation >= BIMODAL_SEPARATION
        && (0.1..=0.9).contains(&modes.slow_share)
        && modes.slow - modes.fast > 0.05 * of.mean
}

fn flags(pool: &Pool, drift: &Drift, result: &mut KeyResult) {
    let ran: Vec<&ArmResult> = result.arms.iter().filter(|arm| arm.n > 0).collect();
    let winner = |of: fn(&ArmResult) -> f64| ran.iter().min_by(|a, b| of(a).total_cmp(&of(b))).map(|arm| arm.arm);
    let by_mean = winner(|arm| arm.mean_ms);
    let disagree = winner(|arm| arm.median_ms) != by_mean || winner(|arm| arm.trimmed_ms) != by_mean;
    let two_modes = ran.iter().any(|arm| arm.slow_share.is_some());
    let few = ran.iter().any(|arm| arm.n_eff < LEAST_EFFECTIVE);
    let dependent = ran.iter().any(|arm| arm.n_eff < 0.9 * arm.n as f64);
    let flags = [
        (Flag::Bimodal, two_modes || (disagree && ran.iter().any(|arm| arm.separation >= 0.75))),
        (Flag::Drifting, drift.is_found()),
        (Flag::Sequential, ran.len() > 1 && !pool.is_interleaved()),
        (Flag::Dependent, dependent),
        (Flag::TooFew, few),
        (Flag::Adaptive, pool.adaptive.is_some() && pool.weighted().is_none()),
        (Flag::NoTrace, pool.no_trace.is_some()),
        (Flag::Unattributed, !pool.unattributed.is_empty()),
        (Flag::NoAuto, !ran.is_empty() && result.arms[0].n == 0),
        (Flag::CommunicationOnly, pool.objective == Objective::Communication),
        (Flag::Means, pool.of_means),
        (Flag::Propensities, pool.contradicted().is_some()),
        (Flag::FixedTurns, pool.cycle().is_some()),
    ];
    result.flags = flags.into_iter().filter(|(_, holds)| *holds).map(|(flag, _)| flag).collect();
}

/// Resampled means per arm: by the arm's own blocks; where the level drifts and arms took turns, by stretches of time
/// that hold every arm, so that the drift is common to all.
fn draws(pool: &Pool, series: &[Vec<f64>], summaries: &[Summary], drifts: bool, seed: u64) -> Vec<Vec<f64>> {
    if drifts && pool.is_interleaved() {
        let lines: Vec<(usize, f64)> = pool.lines.iter().map(|line| (line.arm, line.latency_ms)).collect();
        if let Some(draws) = compare::resampled_together(&lines, series.len(), seed) {
            return draws;
        }
    }
    let one = |(arm, (values, of)): (u64, (&Vec<f64>, &Summary))| {
        compare::resampled_means(values, of.block, crate::math::mix(seed ^ (arm + 1)))
    };
    (0..).zip(series.iter().zip(summaries)).map(one).collect()
}

/// Adds the estimates that weight lines by their propensities.
fn add_weighted_estimates(pool: &Pool, result: &mut KeyResult, seed: u64) {
    let Some(lines) = pool.weighted().filter(|_| result.estimator != Estimator::None) else { return };
    let arms = pool.arms.len();
    let block = result.arms.iter().map(|arm| arm.block as usize).max().unwrap_or(1);
    for place in 0..arms {
        let mut policy = vec![0.0; arms];
        policy[place] = 1.0;
        if result.arms[place].n > 0 {
            result.arms[place].estimate = Some(estimators::cross_fitted(&lines, arms, &policy, block, seed));
        }
    }
    if result.estimator == Estimator::Rejection {
        let best = (0..arms)
            .filter(|arm| result.arms[*arm].n > 0)
            .min_by(|a, b| result.arms[*a].mean_ms.total_cmp(&result.arms[*b].mean_ms));
        let named = StrategyKind::ALL.iter().filter(|kind| !kind.is_raw());
        let walked =
            named.map(|kind| (kind.title(), estimators::rejection(&lines, arms, 0, best.unwrap_or(0), *kind, 5)));
        result.rejection = walked.collect();
    }
}

fn decide(pool: &Pool, drift: &Drift, summaries: &[Summary], result: &mut KeyResult) {
    let has = |result: &KeyResult, flag| result.flags.contains(&flag);
    let mut sentences = Vec::new();
    sentences.extend(pool.no_trace.map(|p| {
        format!("Latencies do not differ by the schedule's arms by more than chance (p = {p:.2}): the log does not seem to have followed it.")
    }));
    sentences.extend(pool.contradicted().map(|(arm, times)| {
        let arm = result.arms[arm].arm;
        format!("{arm} ran {times:.2} times as often as its propensities say: propensities are not used.")
    }));
    if has(result, Flag::Drifting) {
        sentences.push(if drift.is_nonstationary {
            "Values are correlated over more than an eighth of the log: its mean says little about later runs."
                .to_owned()
        } else {
            format!(
                "The level drifts: the second half is at {} of the first (p = {:.3}).",
                percent(drift.change_pct),
                drift.cusum_p.min(drift.halves_p)
            )
        });
    }
    if has(result, Flag::Bimodal) {
        let shares: Vec<String> = result
            .arms
            .iter()
            .filter_map(|arm| Some(format!("{} {:.0} %", arm.arm, arm.slow_share? * 100.0)))
            .collect();
        let mut told = "Latencies have two modes: medians and means tell different stories, and iteration time adds up by the mean".to_owned();
        if !shares.is_empty() {
            told += &format!(" (in the slow mode: {})", shares.join(", "));
        }
        sentences.push(told + ".");
    }
    let (decision, why) = conclusion(pool, summaries, result);
    let (decision, why) = match contradiction(result, decision) {
        Some(contradiction) => (Decision::None, contradiction),
        None => (decision, why),
    };
    result.decision = decision;
    // With the decision, so that nobody reads the one without the other.
    let in_turns = pool.cycle().filter(|_| matches!(decision, Decision::Deploy(_))).map(|calls| {
        format!(
            " The arms took turns in one order, {calls} calls a round: what comes back in the job after as many calls, such \
             as the first call of each step, can't be told from an arm. Confirm the gain in whole runs with and without the \
             arm, or let turns be drawn."
        )
    });
    sentences.insert(0, why + &in_turns.unwrap_or_default());
    let without = pool.lines.iter().filter(|line| line.propensity.is_none()).count();
    if (1..pool.lines.len()).contains(&without) {
        let lines = count(without as u64, "line");
        sentences.push(format!("Propensities are not used: {lines} without one among {}.", pool.lines.len()));
    }
    sentences.extend(set_aside(result));
    if decision == Decision::Keep && result.candidate.is_some() {
        let (auto, other) = (&summaries[0], &summaries[result.candidate.unwrap_or(0) as usize]);
        let difference = DETECTABLE_DIFFERENCE * auto.mean;
        // The error of a difference is made of both arms' spread; an arm that happens to vary less saves no runs.
        let both = ((auto.deviation * auto.deviation + other.deviation * other.deviation) / 2.0).sqrt();
        let deviation = both.max(auto.deviation);
        let lines = [auto, other].map(|of| compare::lines_needed(&Summary { deviation, ..*of }, difference));
        let least = |needed: u64| needed.max(LEAST_EFFECTIVE as u64);
        result.lines_needed = lines.into_iter().flatten().max().map(least);
        if let Some(values) = compare::values_needed(deviation, difference).map(least) {
            sentences.push(format!(
                "To tell a gain of {:.0} % from none takes {values} independent values per arm{}.",
                DETECTABLE_DIFFERENCE * 100.0,
                match result.lines_needed {
                    Some(lines) if lines != values => format!(", {lines} lines as dependent as these"),
                    _ => String::new(),
                }
            ));
        }
    }
    if has(result, Flag::CommunicationOnly) {
        sentences.push(
            "Communication only: a collective that is faster alone may slow the computation beside it.".to_owned(),
        );
    }
    let words: Vec<String> = verdict(result);
    result.verdict = words.join("; ");
    result.sentences = sentences;
}

/// The decision, and the reason for it in a sentence.
fn conclusion(pool: &Pool, summaries: &[Summary], result: &KeyResult) -> (Decision, String) {
    let has = |flag| result.flags.contains(&flag);
    let none = |why: &str| (Decision::None, why.to_owned());
    let ran = summaries.iter().filter(|of| of.n > 0).count();
    if ran == 0 || pool.attributions == [Attribution::None] {
        return none(
            "Nothing says which arm ran: only how latencies lie over time can be told, and no arm is recommended.",
        );
    }
    let candidate = result.of_candidate();
    if ran == 1 && !pool.unattributed.is_empty() {
        let lines = count((pool.unattributed.len() + pool.lines.len()) as u64, "line");
        let known = candidate.map_or(Arm::Auto, |candidate| candidate.arm);
        let unknown = pool.unattributed.len();
        let why = format!(
            "Only {known} is known: of {unknown} of {lines} the arm is not known, and there is nothing to compare yet. Name it."
        );
        return (Decision::None, why);
    }
    let Some(candidate) = candidate else {
        return none("Only the library's own choice ran: there is nothing to compare it with.");
    };
    if ran == 1 {
        return (Decision::None, format!("Only {} ran: there is nothing to compare it with.", candidate.arm));
    }
    if has(Flag::NoAuto) {
        return none("The library's own choice never ran: nothing says whether another arm is better than it.");
    }
    if result.estimator == Estimator::None {
        let lowest = pool.lines.iter().map(|line| line.latency_ms).fold(f64::INFINITY, f64::min);
        return (
            Decision::None,
            match &pool.adaptive {
                Some(strategy) => format!(
                    "A strategy that learns ({strategy}) chose the arms, with unknown probabilities: means of arms that it gave up early are \
                 too high by luck as well as by merit. All that is sure: the best arm is not faster than {} ms, the lowest value seen.",
                    significant(lowest)
                ),
                None => {
                    format!("Auto, or every other arm, has fewer than {LEAST_VALUES} values: too few to draw from.")
                }
            },
        );
    }
    if has(Flag::Drifting) && has(Flag::Sequential) {
        return none("The arms were measured one after the other while the machine drifted: they can't be compared.");
    }
    let (auto, comparison) = (&result.arms[0], candidate.comparison.unwrap_or_default());
    let least = candidate.n_eff.min(auto.n_eff);
    // Of runs the differences tell; values within a run say nothing of the next one.
    let by_runs =
        matches!(candidate.evidence, Some(Evidence::Test { certainty, .. }) if certainty.unit != Unit::Stretch);
    if pool.has_both_objectives {
        return none(
            "Some of these times are of iterations and others of collectives, which can't be compared: give logs of one kind.",
        );
    }
    let ratio = candidate.median_ms / auto.median_ms;
    if !(1.0 / MOST_RATIO..=MOST_RATIO).contains(&ratio) {
        return (
            Decision::None,
            format!(
                "{} and auto take {} and {} ms in the median, {MOST_RATIO:.0} times apart or more: are both in the same unit?",
                candidate.arm,
                significant(candidate.median_ms),
                significant(auto.median_ms)
            ),
        );
    }
    if candidate.evidence == Some(Evidence::CannotRun) {
        return (Decision::Keep, never_runs(result, candidate.arm) + ": keep auto.");
    }
    let gain = format!(
        "{} is {} than auto in the mean ({} and {} ms){}",
        candidate.arm,
        if comparison.gain_pct >= 0.0 {
            format!("{} faster", bare(comparison.gain_pct))
        } else {
            format!("{} slower", bare(-comparison.gain_pct))
        },
        significant(candidate.mean_ms),
        significant(auto.mean_ms),
        candidate.p_better().map_or_else(String::new, |p| format!(", P(better) = {p:.2}"))
    );
    let keep = |why: String| (Decision::Keep, format!("{gain}: {why}"));
    if least < LEAST_EFFECTIVE && !by_runs {
        return keep(format!("with no more than {} keep auto.", count(least.max(0.0) as u64, "independent value")));
    }
    if comparison.p_better < REQUIRED_PROBABILITY && !by_runs {
        return keep("not sure enough, keep auto.".to_owned());
    }
    if comparison.gain_pct < LEAST_GAIN_PCT {
        return keep("not worth it, keep auto.".to_owned());
    }
    let sure = match candidate.evidence {
        Some(Evidence::Test { certainty, p }) if p <= LARGEST_P => {
            format!("over {} ({} with all arms and keys)", Evidence::units(&certainty), rare(p))
        }
        Some(Evidence::Test { certainty, p }) => {
            return keep(format!(
                "over {} that can be chance (p = {p:.3} with all arms and keys), keep auto.",
                Evidence::units(&certainty)
            ));
        }
        Some(Evidence::None(NotComparable::TooFew(repeats))) => {
            return keep(format!(
                "the two ran {repeats} times in turn, and {LEAST_DIFFERENCES} are needed: keep auto."
            ));
        }
        _ => {
            return keep(
                "each of the two ran only once, one after the other, and what changed meanwhile can't be told from what the arm \
                 changes: let them take turns in several rounds, as the exported script does; keep auto."
                    .to_owned(),
            );
        }
    };
    if let Some(estimate) = candidate.estimate
        && estimate.ess < estimators::LEAST_ESS
    {
        return keep(format!("the weights are worth {:.0} lines, too few; keep auto.", estimate.ess));
    }
    if let Some((calls, why)) = by_turns(pool, summaries, result.candidate.unwrap_or(0) as usize, comparison.gain_pct) {
        return (
            Decision::None,
            format!(
                "{gain}, {sure}; but the arms took turns in one order, {calls} calls a round, and {why}: what comes back in \
                 the job after as many calls, such as the first call of each step, can't be told from an arm. Let turns be \
                 drawn, or compare whole runs with and without the arm."
            ),
        );
    }
    (Decision::Deploy(result.candidate.unwrap_or(0)), format!("{gain}, {sure}: deploy it."))
}

/// Why the gain of an arm can't be told from its turns, with the calls of a round: calls of `auto` or of the arm differ
/// from one place in a round to another by half of the gain or more. `None` where they don't, or where turns were
/// drawn.
fn by_turns(pool: &Pool, summaries: &[Summary], candidate: usize, gain_pct: f64) -> Option<(usize, String)> {
    /// Of two equal places of an arm one in a thousand is called different.
    const CHANCE: f64 = 0.001;
    const LEAST_OF_PLACE: f64 = 3.0;
    let calls = pool.cycle()?;
    for arm in [0, candidate] {
        let mut places = vec![Statistics::default(); calls];
        for of_log in pool.lines.chunk_by(|a, b| a.run == b.run) {
            for (index, line) in of_log.iter().enumerate().filter(|(_, line)| line.arm == arm) {
                places[index % calls].add(line.latency_ms);
            }
        }
        places.retain(|place| place.n >= LEAST_OF_PLACE);
        // With one turn in a round nothing shows what the turn does: the caveat says so.
        if places.len() < 2 {
            continue;
        }
        places.compact_sort_by(|a, b| a.mean.total_cmp(&b.mean));
        let (low, high) = (places[0], places[places.len() - 1]);
        let variance = |place: &Statistics| place.deviation() * place.deviation() / place.n;
        let error = (variance(&low) + variance(&high)).sqrt();
        let pairs = (places.len() * (places.len() - 1) / 2) as f64;
        let apart = high.mean - low.mean;
        let apart_pct = apart / summaries[0].mean * 100.0;
        let is_found = apart > student::quantile(1.0 - CHANCE / 2.0 / pairs, low.n + high.n - 2.0) * error;
        if is_found && apart_pct * 2.0 >= gain_pct {
            let apart = bare(apart_pct);
            return Some((calls, format!("calls of {} differ by {apart} from one turn to another", pool.arms[arm])));
        }
    }
    None
}

/// What the estimates that weight lines by their propensities say against a decision by means. A strategy that prefers
/// an arm while the machine is quiet makes its mean low; only the weights take that out.
fn contradiction(result: &KeyResult, decision: Decision) -> Option<String> {
    if result.estimator != Estimator::Weighting {
        return None;
    }
    let weighted = |arm: &ArmResult| arm.estimate.and_then(|of| Some((of.snips, of.snips_interval?)));
    let auto = &result.arms[0];
    let (of_auto, (auto_low, _)) = weighted(auto)?;
    let gain = |own: f64| (1.0 - own / of_auto) * 100.0;
    let is_against = |arm: &&ArmResult| match (weighted(arm), decision) {
        (Some((own, _)), Decision::Deploy(at)) => result.arms[at as usize].arm == arm.arm && gain(own) < LEAST_GAIN_PCT,
        (Some((own, (_, high))), Decision::Keep) => {
            high < auto_low && gain(own) >= LEAST_GAIN_PCT && arm.mean_ms >= auto.mean_ms
        }
        _ => false,
    };
    let arm = result.arms.iter().skip(1).find(is_against)?;
    Some(format!(
        "{} and auto take {} and {} ms in the mean, and {} and {} ms weighted by propensities, the other way round: which \
         arm ran depends on what else was slow, and means say nothing.",
        arm.arm,
        significant(arm.mean_ms),
        significant(auto.mean_ms),
        significant(weighted(arm)?.0),
        significant(of_auto)
    ))
}

/// Arms whose mean is lower than that of the candidate, or that have too few values, and that are not judged: a
/// sentence for each.
fn set_aside(result: &KeyResult) -> Vec<String> {
    let Some(candidate) = result.of_candidate().filter(|_| result.estimator == Estimator::Resampling) else {
        return Vec::new();
    };
    let others = result.arms.iter().skip(1).filter(|arm| arm.n > 0 && arm.arm != candidate.arm);
    let said = others.filter_map(|arm| match (arm.n < LEAST_VALUES as u64, &arm.evidence) {
        (_, Some(Evidence::CannotRun)) => Some(never_runs(result, arm.arm) + "."),
        (true, _) => Some(format!("{} is not judged: it has {}, and {LEAST_VALUES} are needed.", arm.arm, count(arm.n, "value"))),
        (false, Some(Evidence::None(_))) if arm.mean_ms < candidate.mean_ms => Some(format!(
            "{} has a lower mean ({} ms) and can't be compared with auto: let it take turns with auto in several rounds.",
            arm.arm,
            significant(arm.mean_ms)
        )),
        _ => None,
    });
    said.collect()
}

/// Whether a library can run an arm for the collective of a key.
fn can_run(pool: &Pool, arm: Arm) -> bool {
    match arm {
        Arm::Auto => true,
        Arm::Forced { algorithm, protocol, .. } => pool.key.collective.can_run(algorithm, protocol),
    }
}

fn never_runs(result: &KeyResult, arm: Arm) -> String {
    let collective = result.key.map(|key| key.collective.to_string()).unwrap_or_default();
    format!("No library runs {collective} with {arm}: what was measured under its name is something else")
}

/// A probability in words, with enough digits where it is very small.
fn rare(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

fn bare(pct: f64) -> String {
    percent(pct).trim_start_matches('+').to_owned()
}

/// The parts of the verdict, such as `keep auto` and `bimodal`.
fn verdict(result: &KeyResult) -> Vec<String> {
    let mut words = Vec::new();
    let has = |flag| result.flags.contains(&flag);
    match result.decision {
        Decision::Deploy(_) => words.push(format!("run {}", result.chosen())),
        Decision::Keep => words.push("keep auto".to_owned()),
        Decision::None => {
            words.extend(has(Flag::Drifting).then(|| "drifting".to_owned()));
            words.push("no decision".to_owned());
        }
    }
    words.extend(has(Flag::Bimodal).then(|| "bimodal".to_owned()));
    words.extend((has(Flag::Drifting) && result.decision != Decision::None).then(|| "drifting".to_owned()));
    words.extend(has(Flag::NoTrace).then(|| "no trace of the schedule".to_owned()));
    words
}

/// Takes back what another size of the same band forbids: an arm is deployed for a band only where no size in it is
/// worse for it beyond doubt. Returns the bands with several winners as texts.
pub fn agree(results: &mut [KeyResult], bands: &Bands) -> Vec<String> {
    let mut told = Vec::new();
    for index in 0..results.len() {
        let (Decision::Deploy(arm), Some(key)) = (results[index].decision, results[index].key) else { continue };
        let arm = results[index].arms[arm as usize].arm;
        let is_worse = |other: &KeyResult| {
            other.key.is_some_and(|of| of.in_band(bands) == key.in_band(bands) && of.overlap == key.overlap)
                && other
                    .arms
                    .iter()
                    .any(|of| of.arm == arm && of.comparison.is_some_and(|c| c.p_worse >= REQUIRED_PROBABILITY))
        };
        let Some(other) = results.iter().find(|other| is_worse(other)).and_then(|other| other.key) else { continue };
        let why = format!(
            "{arm} is worse than auto for {other}, which lies in the same band: keep auto, or split the band there."
        );
        let result = &mut results[index];
        result.decision = Decision::Keep;
        result.verdict = result.verdict.replacen(&format!("run {arm}"), "keep auto", 1);
        if let Some(own) = result.sentences.first_mut() {
            *own = own.replace(": deploy it.", ": by itself it would be deployed.");
        }
        result.sentences.insert(0, why.clone());
        told.push(why);
    }
    for (index, one) in results.iter().enumerate() {
        for other in &results[..index] {
            let (Some(a), Some(b)) = (one.key, other.key) else { continue };
            let same_band = a.in_band(bands) == b.in_band(bands) && a.overlap == b.overlap;
            if same_band && one.chosen() != other.chosen() {
                told.push(format!(
                    "{b} and {a} lie in one band and have different answers, {} and {}: the band is split between them.",
                    other.chosen(),
                    one.chosen()
                ));
            }
        }
    }
    told
}
