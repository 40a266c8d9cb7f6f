//! Which rules to keep.
//!
//! A rule is judged by the sizes at which it is the first that holds. Of each size: the gain of the medians with the
//! interval of the ratios of all pairs, and by what chance equal arms would look as good ([`rank`]). Gain and chance
//! are of the same size; a limit is crossed only where no rounding of the printed digits could bring it back; a size
//! without runs in one arm keeps its rule from being kept. The probability that a rule is better is one minus the
//! chance that equal arms win as many pairs over all its sizes, with the launch as the unit: for a shift between two
//! samples the one-sided p-value and the posterior under an indifferent prior agree (Casella and Berger, JASA 82,
//! 1987).

use serde::{Deserialize, Serialize};

use super::{
    rank, rccl_sweep,
    read::{MeasuredCampaign, Trial},
    rules::{RuleRange, RunScale},
};
use crate::{
    bandit::{statistics::Statistics, student},
    collective::Collective,
    math::{exp, ln, median},
    order::CompactSort,
    tuning::origin::TIMING_OPTIONS,
    units::{Size, percent},
};

pub use super::outcome::RuleVerdict;

/// When a rule is kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// It is better with at least this probability.
    pub confidence: f64,
    /// The gain in per cent that at least one size must reach.
    pub min_gain_pct: f64,
    /// The loss in per cent that no size may exceed.
    pub max_loss_pct: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { confidence: 0.95, min_gain_pct: 2.0, max_loss_pct: 2.0 }
    }
}

/// The measured effect of the tuner file at one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeEffect {
    /// The message size in bytes.
    pub size_bytes: u64,
    /// Median busbw of the default in GB/s.
    pub default_gbps: f64,
    /// Median busbw with the tuner file in GB/s.
    pub conf_gbps: f64,
    /// Time of one operation of the default in µs; `None` where the ranks that busbw counts are not known.
    pub default_us: Option<f64>,
    /// The time of one operation with the tuner file in µs, or `None` likewise.
    pub conf_us: Option<f64>,
    /// (median conf / median default − 1) in per cent of the default.
    pub gain_pct: f64,
    /// Where the gain lies with nine chances of ten, the rounding of the printed digits included; `None` where the arms
    /// have too few runs for that, fewer than three each.
    pub interval_90_pct: Option<(f64, f64)>,
    /// The least and the most of the gain that print the same.
    pub rounding_pct: (f64, f64),
    /// The share of pairs that the conf wins.
    pub psup: f64,
    /// The probability that it is better.
    pub better: f64,
}

/// A rule of a tuner file with its measurements and verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedRule {
    /// The range of workloads that the rule matches.
    pub rule: RuleRange,
    /// The effects at the measured sizes that the rule decides, ascending by size.
    pub effects: Vec<SizeEffect>,
    /// Sizes that have no runs in one arm.
    pub missing: Vec<u64>,
    /// The geometric mean of the ratios of its sizes, as gain in per cent.
    pub gain_pct: Option<f64>,
    /// The probability that it is better over all its sizes.
    pub better: f64,
    /// The probability that two equal arms of as many runs reach the peers' psup of 0.95 at a size.
    pub null_rate: Option<f64>,
    /// Whether the rule is to be kept.
    pub verdict: RuleVerdict,
    /// The verdict by the rule of rccl-sweep's authors ([`rccl_sweep`]).
    pub peers: RuleVerdict,
    /// Notes on the rule, such as a configuration that ran instead of the one that it asks for.
    pub notes: Vec<String>,
}

/// A campaign with the verdicts on its rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AbJudgement {
    /// Why nothing can be concluded; `None` where something can.
    pub void: Option<String>,
    /// Notes that are about no rule alone, for the user.
    pub notes: Vec<String>,
    /// The judged rules, in the order of the ranges.
    pub rules: Vec<JudgedRule>,
}

/// Judges the rules of a campaign of a collective.
pub fn judge(
    campaign: &MeasuredCampaign,
    ranges: &[RuleRange],
    collective: Option<Collective>,
    limits: Limits,
) -> AbJudgement {
    let void = void(campaign);
    let mut of_range: Vec<Vec<&Trial>> = vec![Vec::new(); ranges.len()];
    let mut in_reach: Vec<Vec<&Trial>> = vec![Vec::new(); ranges.len()];
    let mut uncovered = Vec::new();
    let run = |trial: &Trial| RunScale { collective, nodes: trial.nodes, ranks: campaign.ranks };
    for trial in &campaign.trials {
        let holding: Vec<usize> =
            (0..ranges.len()).filter(|index| ranges[*index].holds(&run(trial), trial.size_bytes)).collect();
        match holding.first() {
            Some(first) => of_range[*first].push(trial),
            None => uncovered.push(Size(trial.size_bytes).to_string()),
        }
        holding.iter().for_each(|index| in_reach[*index].push(trial));
    }
    let mut notes = [campaign.notes.clone(), notes(campaign)].concat();
    if !campaign.timings.is_empty() {
        notes.push(format!(
            "The arms were timed with other options, {} ({TIMING_OPTIONS}): a gain may be one of the options",
            campaign.timings
        ));
    }
    if !uncovered.is_empty() {
        notes.push(format!("No rule holds for {}: what ran there is no rule's merit", listed(&uncovered)));
    }
    let judge = |(index, range): (usize, &RuleRange)| {
        let mut judged = judge_one(campaign, range, collective, &mut of_range[index], limits);
        judged.peers = rccl_sweep::verdict(&in_reach[index]);
        if range.is_built_in {
            judged.verdict = RuleVerdict::NotJudged(BUILT_IN.to_owned());
        } else if of_range[index].is_empty() {
            let whom =
                if in_reach[index].is_empty() { "no size of it was run" } else { "an earlier rule holds instead" };
            let is_ours = campaign.trials.iter().any(|trial| range.is_about(&run(trial)));
            judged.verdict = not_judged(is_ours, campaign, whom);
        } else if let Some(void) = &void {
            judged.verdict = RuleVerdict::NotJudged(format!("the campaign is void: {void}"));
        }
        judged
    };
    let rules: Vec<JudgedRule> = ranges.iter().enumerate().map(judge).collect();
    let holds = |index: usize, trial: &Trial| ranges[index].holds(&run(trial), trial.size_bytes);
    for (index, later) in rules.iter().enumerate().filter(|(_, judged)| judged.verdict == RuleVerdict::Keep) {
        let is_new = |trial: &&&Trial| {
            let mut earlier = (0..index).filter(|earlier| holds(*earlier, trial)).peekable();
            earlier.peek().is_some() && earlier.all(|earlier| matches!(rules[earlier].verdict, RuleVerdict::Drop(_)))
        };
        let mut sizes: Vec<u64> = in_reach[index].iter().filter(is_new).map(|trial| trial.size_bytes).collect();
        sizes.compact_sort();
        let sizes: Vec<String> = sizes.into_iter().map(|size| Size(size).to_string()).collect();
        if !sizes.is_empty() {
            notes.push(format!(
                "Without the rules that are dropped, line {} holds for {} as well, where it never ran: run the trimmed \
                 file against the default",
                later.rule.line,
                listed(&sizes)
            ));
        }
    }
    AbJudgement { rules, void, notes }
}

/// Why a row of the library's own table is kept whatever was measured.
const BUILT_IN: &str = "a row of the library's own table, which the file displaces: without the file it holds as well";

/// A rule without trials: of another scale or collective it is none of this campaign's business.
fn not_judged(is_ours: bool, campaign: &MeasuredCampaign, why: &str) -> RuleVerdict {
    if campaign.trials.is_empty() {
        RuleVerdict::NotJudged("no size of the campaign could be read".to_owned())
    } else if is_ours {
        RuleVerdict::Drop(format!("not validated: {why}"))
    } else {
        RuleVerdict::NotJudged(
            "the campaign is of another collective, or of other numbers of nodes or ranks".to_owned(),
        )
    }
}

fn judge_one(
    campaign: &MeasuredCampaign,
    range: &RuleRange,
    collective: Option<Collective>,
    trials: &mut [&Trial],
    limits: Limits,
) -> JudgedRule {
    trials.compact_sort_by_key(|trial| trial.size_bytes);
    let effects: Vec<SizeEffect> = trials.iter().filter_map(|trial| effect(campaign, collective, trial)).collect();
    let missing: Vec<u64> = trials.iter().filter(|t| t.gain_pct().is_none()).map(|t| t.size_bytes).collect();
    let both = || trials.iter().filter(|trial| !trial.default.is_empty() && !trial.conf.is_empty());
    let arms: Vec<(usize, usize)> = both().map(|trial| (trial.default.len(), trial.conf.len())).collect();
    let chance = match arms.as_slice() {
        [] => 1.0,
        [one] => rank::chance(both().map(|trial| wins(trial, campaign.half_digit_gbps)).sum(), &[*one]),
        _ => {
            let runs: Vec<(&[f64], &[f64])> = both().map(|trial| (&trial.default[..], &trial.conf[..])).collect();
            rank::chance_of_launches(&runs, tied_within(campaign.half_digit_gbps))
        }
    };
    let better = 1.0 - chance;
    let mean = effects.iter().map(|e| ln(1.0 + e.gain_pct / 100.0)).sum::<f64>() / effects.len().max(1) as f64;
    let fewest = arms.iter().map(|(n, m)| *n.min(m)).min();
    let notes: Vec<String> = trials.iter().filter_map(|trial| other_than_asked(range, trial)).collect();
    let is_wrong = |size: &&u64| range.min_bytes <= **size && **size <= range.max_bytes;
    let wrong: Vec<String> = campaign.wrong_bytes.iter().filter(is_wrong).map(|size| Size(*size).to_string()).collect();
    let verdict = match notes.first() {
        _ if !wrong.is_empty() => {
            RuleVerdict::Drop(format!("wrong values came out of a run with it at {}", listed(&wrong)))
        }
        Some(note) if notes.len() == trials.len() => RuleVerdict::Drop(format!("not validated: {note}")),
        _ => decide(&effects, &missing, better, arms.iter().min_by_key(|(n, m)| n * m), limits),
    };
    JudgedRule {
        rule: range.clone(),
        verdict,
        gain_pct: (!effects.is_empty()).then(|| (exp(mean) - 1.0) * 100.0),
        effects,
        missing,
        better,
        null_rate: fewest.map(|repeats| rank::null_rate(repeats, 0.95)),
        peers: RuleVerdict::Keep,
        notes,
    }
}

fn effect(campaign: &MeasuredCampaign, collective: Option<Collective>, trial: &Trial) -> Option<SizeEffect> {
    let half = campaign.half_digit_gbps;
    let (default_gbps, conf_gbps) = trial.medians()?;
    let [default_us, conf_us] = campaign.times_us(collective, trial);
    let (gain, rounding) = (trial.gain_pct()?, trial.gain_range_pct(half)?);
    let pct = |ratio: f64| (exp(ratio) - 1.0) * 100.0;
    Some(SizeEffect {
        size_bytes: trial.size_bytes,
        default_gbps,
        conf_gbps,
        default_us,
        conf_us,
        gain_pct: gain,
        // Of few and skewed runs the gain of the medians can lie outside of what the pairs tell.
        interval_90_pct: rank::ratio(&trial.default, &trial.conf, 0.05).map(|(low, _, high)| {
            ((pct(low) - (gain - rounding.0)).min(gain), (pct(high) + (rounding.1 - gain)).max(gain))
        }),
        rounding_pct: rounding,
        psup: trial.psup()?,
        better: 1.0 - rank::chance(wins(trial, half), &[(trial.default.len(), trial.conf.len())]),
    })
}

/// Two runs that print a digit apart may have been the same.
fn tied_within(half: f64) -> f64 {
    half * 2.5
}

/// Pairs of runs that the conf wins.
fn wins(trial: &Trial, half: f64) -> f64 {
    rank::wins(&trial.default, &trial.conf, tied_within(half))
}

/// The verdict on a rule; `fewest` are the runs of both arms at the size that has fewest.
fn decide(
    effects: &[SizeEffect],
    missing: &[u64],
    better: f64,
    fewest: Option<&(usize, usize)>,
    limits: Limits,
) -> RuleVerdict {
    if !missing.is_empty() {
        let sizes: Vec<String> = missing.iter().map(|size| Size(*size).to_string()).collect();
        return RuleVerdict::Drop(format!("not validated at {}: one arm has no runs there", listed(&sizes)));
    }
    let Some(worst) = effects.iter().min_by(|a, b| a.gain_pct.total_cmp(&b.gain_pct)) else {
        return RuleVerdict::Drop("not validated: no size of it was run".to_owned());
    };
    let at = |effect: &SizeEffect| format!("{} at {}", percent(effect.gain_pct), Size(effect.size_bytes));
    if worst.rounding_pct.1 < -limits.max_loss_pct {
        return RuleVerdict::Drop(format!("{}: a landmine", at(worst)));
    }
    let best = effects.iter().max_by(|a, b| a.gain_pct.total_cmp(&b.gain_pct)).unwrap_or(worst);
    if best.rounding_pct.1 < limits.min_gain_pct {
        return RuleVerdict::Drop(format!("gains too little, at best {}", at(best)));
    }
    // One and the same size must gain, beyond rounding, and surely so.
    let gains = |e: &&SizeEffect| e.gain_pct >= limits.min_gain_pct && e.rounding_pct.0 > 0.0;
    if !effects.iter().any(|e| gains(&e)) {
        return RuleVerdict::Drop(format!("{} is no more than the last printed digit", at(best)));
    }
    let sure = effects.iter().filter(gains).max_by(|a, b| a.better.total_cmp(&b.better)).unwrap_or(best);
    let least = sure.better.min(better);
    // A p-value of exactly the level counts, as with three against three runs.
    if least < limits.confidence - 1e-9 {
        let surest = fewest.map(|(n, m)| (n, m, 1.0 - rank::least_chance(*n, *m)));
        if let Some((n, m, surest)) = surest.filter(|(.., surest)| *surest < limits.confidence - 1e-9) {
            let runs = rank::least_runs(1.0 - limits.confidence);
            return RuleVerdict::Drop(format!(
                "not validated: {n} + {m} runs can show it better with a probability of {surest:.2} at most, and {} is \
                 asked for; {runs} runs of each arm can",
                limits.confidence
            ));
        }
        let where_ = if sure.better <= better { at(sure) } else { "over all its sizes".to_owned() };
        return RuleVerdict::Drop(format!("may be chance: better with a probability of only {least:.2} ({where_})"));
    }
    RuleVerdict::Keep
}

/// A note on what ran with the tuner file, where the rule asks for something else.
fn other_than_asked(range: &RuleRange, trial: &Trial) -> Option<String> {
    let ((algorithm, protocol), ran) = (range.pair?, trial.conf_ran?);
    let more = range.channels.is_some_and(|channels| ran.channels > channels);
    let differs = (algorithm, protocol) != (ran.algorithm, ran.protocol);
    (differs || more).then(|| {
        let channels = range.channels.map_or_else(String::new, |channels| format!("/{channels}"));
        format!(
            "at {} {ran} ran, where the rule asks for {algorithm}/{protocol}{channels}: these runs say nothing about it",
            Size(trial.size_bytes)
        )
    })
}

/// A campaign is void if more than this share of its points, in per cent, spreads by more than [`VOID_SPREAD_PCT`].
const VOID_SHARE_PCT: usize = 20;
/// The spread beyond which a point counts towards [`VOID_SHARE_PCT`], in per cent of the median.
const VOID_SPREAD_PCT: f64 = 25.0;

/// Why a campaign is void.
fn void(campaign: &MeasuredCampaign) -> Option<String> {
    if !campaign.differences.is_empty() {
        return Some(format!("the arms differ in more than the tuner file: {}", campaign.differences));
    }
    let digit = 2.0 * campaign.half_digit_gbps;
    let mut points = 0;
    let mut wide: Vec<(f64, String)> = Vec::new();
    for trial in &campaign.trials {
        for (arm, runs) in [("default", &trial.default), ("conf", &trial.conf)] {
            let Some(middle) = median(&mut runs.clone()) else { continue };
            points += 1;
            let (low, high) = runs.iter().fold((f64::INFINITY, 0.0), |(l, h), r| (f64::min(l, *r), f64::max(h, *r)));
            let spread = (high - low - digit).max(0.0) / middle * 100.0;
            if spread > VOID_SPREAD_PCT {
                wide.push((spread, format!("the {arm} at {}", Size(trial.size_bytes))));
            }
        }
    }
    let worst = wide.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (wide.len() * 100 > points * VOID_SHARE_PCT).then(|| {
        format!(
            "{} of {points} points spread over {VOID_SPREAD_PCT} %, most {} with {:.0} %: something disturbed the runs",
            wide.len(),
            worst.1,
            worst.0
        )
    })
}

/// The runs of one arm.
type Runs = fn(&Trial) -> &Vec<f64>;

/// Notes on a campaign: sizes that one arm lacks, an unbalanced order, disturbed runs.
fn notes(campaign: &MeasuredCampaign) -> Vec<String> {
    let mut notes = Vec::new();
    if campaign.is_empty_conf {
        notes.push(
            "The second arm is the plugin with an empty tuner file: what it loses is what loading the plugin costs"
                .to_owned(),
        );
    }
    if campaign.has_medians_only && !campaign.trials.is_empty() {
        notes.push(
            "The file has medians and not the runs behind them: how much of a gain is chance can't be told, and no rule is \
             kept on that"
                .to_owned(),
        );
    }
    let without = |arm: Runs| -> Vec<String> {
        campaign.trials.iter().filter(|t| arm(t).is_empty()).map(|t| Size(t.size_bytes).to_string()).collect()
    };
    for (arm, sizes) in [("default", without(|t| &t.default)), ("conf", without(|t| &t.conf))] {
        if !sizes.is_empty() {
            notes.push(format!("The {arm} has no runs at {}: no verdict there", listed(&sizes)));
        }
    }
    if !campaign.trials.is_empty() && !campaign.is_balanced && !campaign.has_medians_only {
        let drift = [drift_pct(campaign, |t| &t.default), drift_pct(campaign, |t| &t.conf)];
        let drifts = drift.map(|drift| drift.map_or_else(|| "–".to_owned(), percent));
        notes.push(format!(
            "The file does not say in which order the arms ran; the tool that writes it always runs the default first. \
             What drifts then counts for one arm: from the first to the last repeat the default moved by {}, the conf by \
             {} (median over sizes). The three-arm plan runs in a balanced order",
            drifts[0], drifts[1]
        ));
    }
    let arms: [(&str, Runs); 2] = [("default", |t| &t.default), ("conf", |t| &t.conf)];
    notes.extend(arms.iter().flat_map(|(arm, runs)| disturbed(campaign, arm, *runs)));
    notes
}

/// The median over sizes of the last run over the first, as change in per cent.
fn drift_pct(campaign: &MeasuredCampaign, runs: Runs) -> Option<f64> {
    let change = |trial| -> Option<f64> {
        let runs: &Vec<f64> = runs(trial);
        (runs.len() > 1).then(|| ln(runs[runs.len() - 1] / runs[0]))
    };
    median(&mut campaign.trials.iter().filter_map(change).collect::<Vec<f64>>()).map(|d| (exp(d) - 1.0) * 100.0)
}

/// Repeats that lie low at many sizes at once, far more of them than the others. Launches differ as a whole, too: only
/// one that lies too far below the others over all sizes to be one of them is called disturbed.
fn disturbed(campaign: &MeasuredCampaign, arm: &str, runs: Runs) -> Vec<String> {
    /// A run is low at a size where it lies this far below the median there, in per cent, beyond rounding.
    const LOW_PCT: f64 = 2.0;
    /// A run is suspected where it is low at one size in this many.
    const ONE_IN: usize = 5;
    /// The share of campaigns in which an ordinary run may be called disturbed.
    const CHANCE: f64 = 0.01;
    /// The share of campaigns in which an ordinary run may be called often low, where sizes are independent of each
    /// other.
    const LOW_CHANCE: f64 = 0.1;
    let repeats = campaign.trials.iter().map(|trial| runs(trial).len()).max().unwrap_or(0);
    // ln of a run over the median of its size, and whether that is low.
    let beside = |trial: &Trial, repeat: usize| -> Option<(f64, bool)> {
        let (run, middle) = (*runs(trial).get(repeat)?, median(&mut runs(trial).clone())?);
        let is_low = run + 2.0 * campaign.half_digit_gbps < middle * (1.0 - LOW_PCT / 100.0);
        Some((ln(run / middle), is_low)).filter(|(ratio, _)| ratio.is_finite())
    };
    let of_repeat = |repeat: usize| {
        let all: Vec<(f64, bool)> = campaign.trials.iter().filter_map(|trial| beside(trial, repeat)).collect();
        let low = all.iter().filter(|(_, is_low)| *is_low).count();
        (Statistics::of(&all.iter().map(|(ratio, _)| *ratio).collect::<Vec<f64>>()).mean, low as f64)
    };
    let (levels, lows): (Vec<f64>, Vec<f64>) = (0..repeats).map(of_repeat).unzip();
    let sizes = campaign.trials.len() as f64;
    let mut said = Vec::new();
    for (repeat, low) in lows.iter().copied().enumerate() {
        if low * (ONE_IN as f64) < sizes || low < 2.0 {
            continue;
        }
        let is_disturbed = chance_of_one(&levels, repeat, 0.0) * 2.0 <= CHANCE;
        // Numbers of independent sizes vary at least so much, one more of them low than was seen.
        let of_others = (lows.iter().sum::<f64>() - low + 1.0) / (sizes * (repeats - 1) as f64 + 2.0);
        let negative: Vec<f64> = lows.iter().map(|low| -low).collect();
        let least = (sizes * of_others * (1.0 - of_others)).sqrt();
        let is_often_low = chance_of_one(&negative, repeat, least) * 2.0 <= LOW_CHANCE;
        let conclusion = match (is_disturbed, is_often_low) {
            (true, _) => "and lower than runs of this campaign are: it was disturbed",
            (false, true) => "the others at fewer: it may have been disturbed, or launches differ as much",
            (false, false) => continue,
        };
        said.push(format!(
            "Run {} of the {arm} is more than {LOW_PCT} % below the median at {low} of {sizes} sizes, {conclusion}",
            repeat + 1
        ));
    }
    said
}

/// The probability that any of these values lies as far below the others as this one by chance (Student's test of one
/// value against the others, of which nothing is told by fewer than four); `least` is the least deviation that they may
/// have.
fn chance_of_one(values: &[f64], which: usize, least: f64) -> f64 {
    const MIN_OTHERS: usize = 4;
    let others: Vec<f64> =
        values.iter().enumerate().filter(|(other, _)| *other != which).map(|(_, value)| *value).collect();
    let of = Statistics::of(&others);
    let apart = of.mean - values[which];
    if others.len() < MIN_OTHERS || apart <= 0.0 {
        return 1.0;
    }
    let error = of.deviation().max(least) * (1.0 + 1.0 / of.n).sqrt();
    if error > 0.0 { (1.0 - student::cumulative(apart / error, of.n - 1.0)) * values.len() as f64 } else { 0.0 }
}

/// `a, b and c`, cut after six.
fn listed(names: &[String]) -> String {
    const MAX_SHOWN: usize = 6;
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] if names.len() <= MAX_SHOWN => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", names[..MAX_SHOWN].join(", "), names.len() - MAX_SHOWN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Configuration, Protocol};

    fn trial(size_bytes: u64, default: &[f64], conf: &[f64]) -> Trial {
        Trial { size_bytes, nodes: Some(1), default: default.to_vec(), conf: conf.to_vec(), ..Trial::default() }
    }

    fn around(middle: f64) -> Vec<f64> {
        [-2.0, 1.0, 0.0, 2.0, -1.0, 0.5, -0.5].iter().map(|step| middle * (1.0 + step / 1000.0)).collect()
    }

    fn range(min_bytes: u64, max_bytes: u64) -> RuleRange {
        let pair = Some((Algorithm::Ring, Protocol::Ll));
        let text = "allreduce,…".to_owned();
        let collective = Some(Collective::AllReduce);
        RuleRange {
            line: 2,
            text,
            collective,
            min_bytes,
            max_bytes,
            nodes: Some(1),
            ranks: None,
            pair,
            channels: Some(8),
            is_built_in: false,
        }
    }

    fn judged(trials: Vec<Trial>, limits: Limits) -> JudgedRule {
        let campaign = MeasuredCampaign { trials, half_digit_gbps: 0.005, ..MeasuredCampaign::default() };
        judge(&campaign, &[range(0, u64::MAX)], Some(Collective::AllReduce), limits).rules.remove(0)
    }

    fn reason(judged: &JudgedRule) -> &str {
        judged.verdict.reason()
    }

    #[test]
    fn a_rule_that_wins_is_kept() {
        let judged = judged(
            vec![trial(4096, &around(10.0), &around(11.0)), trial(8192, &around(20.0), &around(20.01))],
            Limits::default(),
        );
        assert_eq!((judged.verdict, judged.peers), (RuleVerdict::Keep, RuleVerdict::Keep));
        assert!(judged.better > 0.98 && (judged.gain_pct.unwrap_or_default() - 4.9).abs() < 0.1);
        let (low, high) = judged.effects[0].interval_90_pct.unwrap_or_default();
        assert!(low < 10.0 && high > 10.0 && low > 9.0 && high < 11.0, "{low} to {high}");
    }

    #[test]
    fn gain_and_probability_are_of_the_same_size() {
        // One size gains by chance, another is surely better by nothing: together they are no reason to keep a rule.
        let noisy = trial(4096, &[10.0, 11.0, 9.5, 10.8, 9.2], &[10.5, 11.4, 9.1, 10.7, 9.8]);
        let sure = trial(8192, &[10.0, 10.01, 10.02, 10.03, 10.04], &[10.07, 10.08, 10.09, 10.1, 10.11]);
        let judged = judged(vec![noisy, sure], Limits::default());
        assert_eq!(judged.peers, RuleVerdict::Keep);
        assert!(reason(&judged).starts_with("may be chance"), "{}", reason(&judged));
    }

    #[test]
    fn a_last_digit_is_no_landmine_and_no_gain() {
        let loses = judged(
            vec![trial(4096, &[0.32; 9], &[0.31; 9]), trial(8192, &around(10.0), &around(11.0))],
            Limits::default(),
        );
        assert!(loses.peers.reason().contains("landmine"));
        assert_eq!(loses.verdict, RuleVerdict::Keep);
        let wins = judged(vec![trial(4096, &[0.31; 9], &[0.32; 9])], Limits::default());
        assert_eq!(wins.peers, RuleVerdict::Keep);
        assert!(reason(&wins).contains("no more than the last printed digit"), "{}", reason(&wins));
        let larger = judged(vec![trial(4096, &[31.0; 9], &[30.0; 9])], Limits::default());
        assert!(reason(&larger).contains("landmine"));
    }

    #[test]
    fn a_size_that_is_missing_in_one_arm_is_said() {
        let trials = vec![trial(4096, &around(10.0), &around(11.0)), trial(8192, &around(10.0), &[])];
        let campaign = MeasuredCampaign { trials, half_digit_gbps: 0.005, ..MeasuredCampaign::default() };
        let judgement = judge(&campaign, &[range(0, u64::MAX)], None, Limits::default());
        assert_eq!(judgement.rules[0].peers, RuleVerdict::Keep);
        assert_eq!(reason(&judgement.rules[0]), "not validated at 8 KiB: one arm has no runs there");
        assert!(
            judgement.notes.iter().any(|n| n == "The conf has no runs at 8 KiB: no verdict there"),
            "{:?}",
            judgement.notes
        );
    }

    #[test]
    fn the_order_is_named_as_a_bias() {
        let campaign = MeasuredCampaign {
            trials: vec![trial(4096, &[10.0, 10.4], &[10.0, 10.4])],
            half_digit_gbps: 0.005,
            ..MeasuredCampaign::default()
        };
        let notes = judge(&campaign, &[], None, Limits::default()).notes.join("\n");
        assert!(notes.contains("always runs the default first") && notes.contains("+4.0 %"), "{notes}");
    }

    #[test]
    fn few_repeats_are_no_proof() {
        let of = |n: usize| judged(vec![trial(4096, &vec![10.0; n], &vec![12.0; n])], Limits::default());
        assert_eq!(
            reason(&of(2)),
            "not validated: 2 + 2 runs can show it better with a probability of 0.83 at most, and 0.95 is asked for; 3 \
             runs of each arm can"
        );
        assert!(of(2).effects[0].interval_90_pct.is_none() && of(3).verdict == RuleVerdict::Keep);
        assert!((of(3).null_rate.unwrap_or_default() - 0.05).abs() < 1e-9 && of(9).null_rate.unwrap_or(1.0) < 0.0003);
        let strict = Limits { confidence: 0.99, ..Limits::default() };
        assert!(judged(vec![trial(4096, &[10.0; 3], &[12.0; 3])], strict).verdict != RuleVerdict::Keep);
    }

    #[test]
    fn a_disturbed_campaign_is_void_and_says_why() {
        let wild = [10.0, 14.0, 10.0, 9.0, 10.0];
        let trials = vec![trial(4096, &wild, &around(11.0)), trial(8192, &around(10.0), &around(11.0))];
        let campaign = MeasuredCampaign { trials, half_digit_gbps: 0.005, ..MeasuredCampaign::default() };
        let judgement = judge(&campaign, &[range(0, u64::MAX)], None, Limits::default());
        let why = judgement.void.unwrap_or_default();
        assert!(why.starts_with("1 of 4 points spread over 25 %, most the default at 4 KiB with 50 %"), "{why}");
        assert_eq!(judgement.rules[0].verdict.word(), "not judged");
        // At 0.04 GB/s a spread of one printed digit is no sign of noise.
        let digits = MeasuredCampaign {
            trials: vec![trial(1024, &[0.04, 0.05, 0.04], &[0.04, 0.05, 0.05])],
            half_digit_gbps: 0.005,
            ..MeasuredCampaign::default()
        };
        assert_eq!(judge(&digits, &[], None, Limits::default()).void, None);
    }

    #[test]
    fn what_ran_instead_is_said() {
        let ran = Configuration { algorithm: Algorithm::Tree, protocol: Protocol::Ll, channels: 32 };
        let trial = Trial { conf_ran: Some(ran), ..trial(131_072, &around(10.0), &around(11.0)) };
        let judged = judged(vec![trial], Limits::default());
        assert!(judged.notes[0].starts_with("at 128 KiB TREE/LL/32 ran, where the rule asks for RING/LL/8"));
        assert!(reason(&judged).starts_with("not validated: at 128 KiB TREE/LL/32 ran"), "{}", reason(&judged));
    }

    #[test]
    fn rules_of_other_scales_are_not_judged_and_unmeasured_ones_are_dropped() {
        let campaign = MeasuredCampaign {
            trials: vec![trial(4096, &around(10.0), &around(11.0))],
            half_digit_gbps: 0.005,
            ..MeasuredCampaign::default()
        };
        let ranges =
            [RuleRange { nodes: Some(2), ..range(0, 9999) }, range(1 << 20, 1 << 21), range(0, 9999), range(0, 9999)];
        let judgement = judge(&campaign, &ranges, Some(Collective::AllReduce), Limits::default());
        let words: Vec<&str> = judgement.rules.iter().map(|rule| rule.verdict.word()).collect();
        assert_eq!(words, ["not judged", "drop", "keep", "drop"]);
        assert_eq!(reason(&judgement.rules[3]), "not validated: an earlier rule holds instead");
    }
}
