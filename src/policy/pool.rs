//! Joins logs by key: the latencies of each arm, in the order of time.

use std::collections::BTreeMap;

use super::{
    arm::Arm,
    attribution::Attributed,
    key::Key,
    result::{Attribution, Objective},
};
use crate::{bandit::estimators::Line, math::ln, order::CompactSort};

/// All measurements of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    pub key: Key,
    /// What the numbers measure; communication where logs differ.
    pub objective: Objective,
    /// The arms that ran. [`Arm::Auto`] is first, even if it never ran.
    pub arms: Vec<Arm>,
    /// Attributed lines, in the order of time: file after file, those of a campaign round after round.
    pub lines: Vec<PoolLine>,
    /// Latencies of lines that could not be attributed to an arm, in milliseconds.
    pub unattributed: Vec<f64>,
    /// How lines were attributed to arms.
    pub attributions: Vec<Attribution>,
    /// If the log shows no trace of the schedule by which it was attributed: the p-value of its period.
    pub no_trace: Option<f64>,
    /// The learning strategy that chose the arms, or a sentence that nobody ruled one out.
    pub adaptive: Option<String>,
    /// Whether each line is itself a mean of several values.
    pub of_means: bool,
    /// Some logs have times of iterations and others of collectives, which can't be compared.
    pub has_both_objectives: bool,
}

/// A line of a log that is attributed to an arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoolLine {
    /// The index of the arm in [`Pool::arms`].
    pub arm: usize,
    pub latency_ms: f64,
    /// The probability with which the arm was chosen, between 0 and 1.
    pub propensity: Option<f64>,
    /// The run of the job, unlike that of each other log and of what was appended to a log.
    pub run: usize,
    /// The round of the campaign to which the run belongs.
    pub round: Option<u32>,
}

impl Pool {
    fn new(key: Key, objective: Objective) -> Self {
        Self {
            key,
            objective,
            arms: vec![Arm::Auto],
            lines: Vec::new(),
            unattributed: Vec::new(),
            attributions: Vec::new(),
            no_trace: None,
            adaptive: None,
            of_means: false,
            has_both_objectives: false,
        }
    }

    /// The latencies of each arm in milliseconds, in the order of time.
    pub fn series(&self) -> Vec<Vec<f64>> {
        let mut series = vec![Vec::new(); self.arms.len()];
        self.lines.iter().for_each(|line| series[line.arm].push(line.latency_ms));
        series
    }

    /// The lines as estimators take them, or `None` unless every line has a propensity, and arms ran as often as these
    /// say.
    pub fn weighted(&self) -> Option<Vec<Line>> {
        let line = |of: &PoolLine| Some(Line { arm: of.arm, propensity: of.propensity?, latency: of.latency_ms });
        self.lines.iter().map(line).collect::<Option<_>>().filter(|_| self.contradicted().is_none())
    }

    /// An arm that ran at another rate than its propensities say, by its index in [`Pool::arms`], with how many times
    /// as often; the one that is farthest from once. `None` where a line has no propensity, or chance explains the
    /// rates.
    ///
    /// The mean of 1/p over the lines of an arm, and 0 over the others, is 1 where p is the probability of the choice.
    /// Lines without a choice (p of 1, as in turns at the beginning) don't count. Choices that hold for several lines
    /// count once, so that an error counts runs of one arm and not lines.
    pub fn contradicted(&self) -> Option<(usize, f64)> {
        /// Standard errors beyond which chance is no explanation: arms and keys are many.
        const ERRORS: f64 = 5.0;
        /// A rate that differs by less moves no decision.
        const DIFFERENCE: f64 = 0.2;
        let lines: Option<Vec<(usize, f64)>> =
            self.lines.iter().map(|of| of.propensity.map(|propensity| (of.arm, propensity))).collect();
        let chosen: Vec<(usize, f64)> = lines?.into_iter().filter(|(_, propensity)| *propensity < 0.999).collect();
        let runs = chosen.windows(2).filter(|pair| pair[0] != pair[1]).count() + 1;
        let count = chosen.len() as f64;
        let rate = |arm: usize| {
            let weights = || chosen.iter().filter(|(of, _)| *of == arm).map(|(_, propensity)| 1.0 / propensity);
            let mean = weights().sum::<f64>() / count;
            let variance = weights().map(|weight| weight * weight).sum::<f64>() / count - mean * mean;
            let error = (variance.max(0.0) / runs as f64).sqrt();
            let is_far = (mean - 1.0).abs() > DIFFERENCE.max(ERRORS * error);
            (mean > 0.0 && is_far).then_some((arm, mean))
        };
        (0..self.arms.len()).filter_map(rate).max_by(|a, b| ln(a.1).abs().total_cmp(&ln(b.1).abs()))
    }

    /// After how many lines the arms of every log come in the same order again; `None` where they don't, or where a log
    /// is too short for three such rounds.
    pub fn cycle(&self) -> Option<usize> {
        let of_log = |lines: &[PoolLine]| {
            let period = period(&lines.iter().map(|line| line.arm).collect::<Vec<usize>>());
            (1 < period && period * 3 <= lines.len()).then_some(period)
        };
        let of_logs: Option<Vec<usize>> = self.lines.chunk_by(|a, b| a.run == b.run).map(of_log).collect();
        of_logs?.into_iter().max()
    }

    /// Whether arms alternated rather than ran one after the other.
    pub fn is_interleaved(&self) -> bool {
        let ran = self.series().iter().filter(|values| !values.is_empty()).count();
        let changes = self.lines.windows(2).filter(|pair| pair[0].arm != pair[1].arm).count();
        changes >= 2 * ran
    }
}

/// The smallest number of elements after which a sequence repeats itself up to its end; its length where it does not
/// (the failure function of Knuth, Morris and Pratt).
fn period(of: &[usize]) -> usize {
    let mut borders = vec![0; of.len()];
    let mut border = 0;
    for at in 1..of.len() {
        while border > 0 && of[at] != of[border] {
            border = borders[border - 1];
        }
        border += usize::from(of[at] == of[border]);
        borders[at] = border;
    }
    of.len() - border
}

/// An attributed log and what is known of it as a whole.
pub struct PooledLog<'a> {
    /// The lines of the log with their keys and arms.
    pub attributed: &'a Attributed,
    pub objective: Objective,
    /// The strategies that the log names.
    pub strategies: &'a [String],
    /// Whether its lines are means.
    pub of_means: bool,
    /// The round of the campaign to which the log belongs.
    pub round: Option<u32>,
    /// The lines with which further runs begin in the log, ascending.
    pub run_starts: &'a [u32],
}

/// Joins the logs that have lines of the same key: one pool for each key, in the order of the keys.
pub fn pools(sources: &[PooledLog<'_>]) -> Vec<Pool> {
    let (mut places, mut pools) = (BTreeMap::new(), Vec::new());
    let mut in_time: Vec<&PooledLog<'_>> = sources.iter().collect();
    in_time.compact_sort_by_key(|source| source.round);
    let mut runs = 0;
    for source in in_time {
        let first = runs;
        runs += source.run_starts.len() + 1;
        let learns = source.strategies.iter().find(|name| learns(name));
        for line in &source.attributed.lines {
            let place = *places.entry(line.key).or_insert(pools.len());
            if place == pools.len() {
                pools.push(Pool::new(line.key, source.objective));
            }
            let pool = &mut pools[place];
            if pool.objective != source.objective {
                pool.objective = Objective::Communication;
                pool.has_both_objectives = true;
            }
            if !pool.attributions.contains(&source.attributed.how) {
                pool.attributions.push(source.attributed.how);
            }
            pool.of_means |= source.of_means;
            pool.no_trace = pool.no_trace.or(source.attributed.no_trace);
            if pool.adaptive.is_none() {
                pool.adaptive = learns.cloned();
            }
            let Some(arm) = line.arm else {
                pool.unattributed.push(line.latency_ms);
                continue;
            };
            let place = pool.arms.iter().position(|known| *known == arm).unwrap_or_else(|| {
                pool.arms.push(arm);
                pool.arms.len() - 1
            });
            let (latency_ms, propensity) = (line.latency_ms, line.propensity);
            let run = first + source.run_starts.partition_point(|start| *start <= line.line);
            pool.lines.push(PoolLine { arm: place, latency_ms, propensity, run, round: source.round });
        }
    }
    pools.compact_sort_by_key(|pool| pool.key);
    pools
}

/// A strategy by whose name arms depend on what was measured before.
fn learns(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !["uniform", "random", "round", "rr", "fixed", "static", "auto", "interleaved", "schedule"]
        .iter()
        .any(|word| name.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Collective, Protocol, Scale},
        math::Stream,
    };

    /// Lines of two arms: `share` is the true probability of the second one, which each choice holds for `holds` lines,
    /// and `said` turns it into what the log says.
    fn pool(seed: u64, share: f64, holds: usize, said: impl Fn(f64) -> f64) -> Pool {
        let scale = Scale { nodes: 2, ranks: 16 };
        let key = Key { collective: Collective::AllReduce, scale, size_bytes: 4096, overlap: None };
        let mut pool = Pool::new(key, Objective::Iteration);
        pool.arms.push(Arm::Forced { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels: 0 });
        let mut stream = Stream::new(seed);
        for step in 0..400 {
            // What was learnt moves the probability.
            let share = (share * (1.0 + step as f64 / 400.0)).min(0.9);
            let arm = usize::from(stream.unit() < share);
            let propensity = Some(said(if arm == 1 { share } else { 1.0 - share }));
            let line = PoolLine { arm, latency_ms: 1.0, propensity, run: 0, round: None };
            pool.lines.extend(std::iter::repeat_n(line, holds));
        }
        pool
    }

    #[test]
    fn propensities_are_contradicted_by_rates_and_not_by_chance() {
        for (share, holds) in [(0.5, 1), (0.05, 1), (0.3, 1), (0.3, 16), (0.05, 64)] {
            let alarms = (0..200).filter(|seed| pool(*seed, share, holds, |p| p).contradicted().is_some()).count();
            assert_eq!(alarms, 0, "{share} {holds}");
        }
        for said in [|_: f64| 0.9, |p: f64| 1.0 - p] {
            let found = (0..200).filter(|seed| pool(*seed, 0.25, 1, said).contradicted().is_some()).count();
            assert_eq!(found, 200);
        }
        let wrong = pool(1, 0.25, 1, |p| 1.0 - p);
        assert!(wrong.weighted().is_none() && pool(1, 0.25, 1, |p| p).weighted().is_some());
    }
}
