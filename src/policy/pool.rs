//! Logs come together by key: what each arm took, in the order of time.

use super::{
    arm::Arm,
    attribution::{Attributed, Attribution},
    key::Key,
    read::Objective,
};
use crate::{bandit::estimators::Line, order::CompactSort, sorted::SortedMap};

/// All that was measured of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// The key.
    pub key: Key,
    /// What the numbers are; communication where logs differ.
    pub objective: Objective,
    /// Arms that ran; [`Arm::Auto`] first, also where it never did.
    pub arms: Vec<Arm>,
    /// Attributed lines, in the order of time: file after file, those of a campaign round after round.
    pub lines: Vec<PoolLine>,
    /// Latencies of lines without an arm, in milliseconds.
    pub unattributed: Vec<f64>,
    /// How lines got their arms.
    pub attributions: Vec<Attribution>,
    /// No trace of the schedule: P.
    pub no_trace: Option<f64>,
    /// One strategy that learns chose the arms, or nobody says that none did.
    pub adaptive: Option<String>,
    /// Each line is itself a mean.
    pub of_means: bool,
}

/// One attributed line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoolLine {
    /// By place among [`Pool::arms`].
    pub arm: usize,
    /// In milliseconds.
    pub latency_ms: f64,
    /// The probability with which it was chosen.
    pub propensity: Option<f64>,
    /// Which log: each is a run of the job.
    pub file: usize,
    /// The round of a campaign that the run belongs to.
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
        }
    }

    /// Each arm's latencies, in the order of time.
    #[must_use]
    pub fn series(&self) -> Vec<Vec<f64>> {
        let mut series = vec![Vec::new(); self.arms.len()];
        self.lines.iter().for_each(|line| series[line.arm].push(line.latency_ms));
        series
    }

    /// Lines for estimators, where every one has a propensity.
    #[must_use]
    pub fn weighted(&self) -> Option<Vec<Line>> {
        let line = |of: &PoolLine| Some(Line { arm: of.arm, propensity: of.propensity?, latency: of.latency_ms });
        self.lines.iter().map(line).collect()
    }

    /// Arms came in turns rather than one after the other.
    #[must_use]
    pub fn is_interleaved(&self) -> bool {
        let ran = self.series().iter().filter(|values| !values.is_empty()).count();
        let changes = self.lines.windows(2).filter(|pair| pair[0].arm != pair[1].arm).count();
        changes >= 2 * ran
    }
}

/// What a log is besides its lines.
pub struct Source<'a> {
    /// Its lines.
    pub attributed: &'a Attributed,
    /// What its numbers are.
    pub objective: Objective,
    /// The strategies that it names.
    pub strategies: &'a [String],
    /// Its lines are means.
    pub of_means: bool,
    /// The round of a campaign that it is of.
    pub round: Option<u32>,
}

/// Brings logs together.
#[must_use]
pub fn pools(sources: &[Source<'_>]) -> Vec<Pool> {
    let (mut places, mut pools) = (SortedMap::new(), Vec::new());
    let mut in_time: Vec<(usize, &Source<'_>)> = sources.iter().enumerate().collect();
    in_time.compact_sort_by_key(|(_, source)| source.round);
    for (file, source) in in_time {
        let learns = source.strategies.iter().find(|name| learns(name));
        for line in &source.attributed.lines {
            let place = *places.entry(line.key).or_insert(pools.len());
            if place == pools.len() {
                pools.push(Pool::new(line.key, source.objective));
            }
            let pool = &mut pools[place];
            if pool.objective != source.objective {
                pool.objective = Objective::Communication;
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
            pool.lines.push(PoolLine { arm: place, latency_ms, propensity, file, round: source.round });
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
