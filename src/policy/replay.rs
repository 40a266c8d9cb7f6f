//! Replays strategies against the latencies that a log or a simulation provides.

use serde::{Deserialize, Serialize};

use super::{
    charts,
    judge::LEAST_VALUES,
    listing,
    pool::Pool,
    request::{Highlight, LatencySource, ReplaySettings},
    result::{Decision, Estimator, KeyResult, PreparedReplay, ReplayResult, StrategyResult, StudyError},
};
use crate::{
    bandit::{
        environment::{Environment, Resampled},
        replay::{CHECKPOINTS, STRETCHES, StrategyOutcome, StrategyReplay},
        statistics::Statistics,
        strategies::StrategyKind,
    },
    math::{ascending, quantile},
    progress::{Progress, Step},
};

/// The number of seeds that one job replays.
const SEEDS_PER_JOB: u32 = 5;
/// The most of everything, so that nothing that a link holds can make a page hang.
const MOST_STEPS: u32 = 100_000;
const MOST_SEEDS: u32 = 2000;

/// The data that a worker needs to run a job.
#[derive(Serialize, Deserialize)]
struct JobInput {
    replay: StrategyReplay,
    seeds: u32,
    arms: Vec<String>,
    words: String,
}

/// Prepares a replay: the replay that strategies play.
///
/// # Errors
/// Returns an error if the key can't be replayed.
pub fn prepare(start: &ReplaySettings, pools: &[Pool], results: &[KeyResult]) -> Result<PreparedReplay, StudyError> {
    let strategies = if start.strategies.is_empty() { StrategyKind::ALL.to_vec() } else { start.strategies.clone() };
    let (environment, arms, auto, words) = match &start.world {
        LatencySource::Key(place) => {
            let (pool, result) =
                pools.get(*place as usize).zip(results.get(*place as usize)).ok_or(StudyError::NoKey(*place))?;
            if !can_replay(result) {
                return Err(StudyError::NotReplayed(
                    pool.key.to_string(),
                    result.sentences.first().cloned().unwrap_or_default(),
                ));
            }
            let ran: Vec<usize> = (0..result.arms.len()).filter(|arm| result.arms[*arm].n > 0).collect();
            let series = pool.series();
            let of_arm = |arm: &usize| (series[*arm].clone(), result.arms[*arm].block);
            let names = ran.iter().map(|arm| result.arms[*arm].arm.to_string()).collect();
            let environment = Environment::Resampled(Resampled { arms: ran.iter().map(of_arm).collect() });
            let mut words = format!("{}, each arm's own values drawn again as if its mean were the truth", pool.key);
            if !matches!(result.decision, Decision::Deploy(_)) {
                words += " (no arm is known to be better than auto: what strategies find here may be noise)";
            }
            (environment, names, 0, words)
        }
        LatencySource::Simulation(simulation, names, auto) => {
            let arms = simulation.arms.len();
            if !(2..=16).contains(&arms) || names.len() != arms || *auto as usize >= arms {
                return Err(StudyError::Arms(arms));
            }
            (Environment::Simulated(simulation.clone()), names.clone(), *auto, "A simulation".to_owned())
        }
    };
    let steps = start.steps.clamp(1, MOST_STEPS);
    let seeds = start.seeds.clamp(1, MOST_SEEDS);
    let replay = StrategyReplay { environment, auto, steps, strategies };
    let jobs = seeds.div_ceil(seeds_per_job(steps));
    let words = format!("{words}: {seeds} seeds of {steps} steps");
    let package = JobInput { replay, seeds, arms, words };
    // A tenth, then a third, then the rest.
    let (first, second) = (jobs.div_ceil(10), jobs.div_ceil(3));
    let rounds = [0..first, first..second.max(first), second.max(first)..jobs];
    Ok(PreparedReplay {
        game: postcard::to_allocvec(&package)?,
        jobs: vec![1.0; jobs as usize],
        rounds: rounds.into_iter().map(Iterator::collect).filter(|round: &Vec<u32>| !round.is_empty()).collect(),
    })
}

/// The number of seeds of a job: fewer if each takes long, so that jobs stay short.
fn seeds_per_job(steps: u32) -> u32 {
    /// Steps that a job of several seeds may have in all.
    const STEPS: u32 = 100_000;
    (STEPS / steps.max(1)).clamp(1, SEEDS_PER_JOB)
}

/// Whether strategies can be let loose on a key: every arm that ran has values enough, and one of them is `auto`.
pub fn can_replay(result: &KeyResult) -> bool {
    let ran: Vec<u64> = result.arms.iter().map(|arm| arm.n).filter(|n| *n > 0).collect();
    result.estimator != Estimator::None
        && ran.len() > 1
        && result.arms[0].n > 0
        && ran.iter().all(|n| *n >= LEAST_VALUES as u64)
}

/// Does some jobs of a replay, on any worker.
///
/// # Errors
/// Returns an error if the replay comes from another build.
pub fn play(replay: &[u8], jobs: &[u32], progress: &mut dyn Progress) -> Result<Vec<u8>, StudyError> {
    let JobInput { replay, seeds, .. } = postcard::from_bytes(replay)?;
    let mut all: Vec<(u32, Vec<StrategyOutcome>)> = Vec::new();
    let per_job = seeds_per_job(replay.steps);
    for (done, job) in jobs.iter().enumerate() {
        let first = job.saturating_mul(per_job);
        let count = per_job.min(seeds.saturating_sub(first));
        let mut within = JobProgress { progress: &mut *progress, done, jobs: jobs.len(), last: Step::default() };
        all.push((*job, replay.run(first, count, &mut within)));
    }
    Ok(postcard::to_allocvec(&all)?)
}

/// The progress of one job among several.
struct JobProgress<'a> {
    progress: &'a mut dyn Progress,
    done: usize,
    jobs: usize,
    last: Step,
}

impl Progress for JobProgress<'_> {
    fn report(&mut self, doing: &str, done: u64, total: u64) {
        let step =
            Step { doing: doing.to_owned(), done: self.done as u64 * total + done, total: self.jobs as u64 * total };
        if step != self.last {
            self.progress.report(&step.doing, step.done, step.total);
            self.last = step;
        }
    }
}

/// Joins the results of jobs.
///
/// # Errors
/// Returns [`StudyError::Message`] if a message comes from another build.
pub fn replayed(replay: &[u8], played: &[Vec<u8>], highlight: &Highlight) -> Result<ReplayResult, StudyError> {
    let JobInput { replay, arms, words, .. } = postcard::from_bytes(replay)?;
    let mut jobs: Vec<(u32, Vec<StrategyOutcome>)> = Vec::new();
    for bytes in played {
        jobs.extend(postcard::from_bytes::<Vec<(u32, Vec<StrategyOutcome>)>>(bytes)?);
    }
    crate::order::CompactSort::compact_sort_by_key(&mut jobs[..], |(job, _)| *job);
    jobs.dedup_by_key(|(job, _)| *job);
    let mut tallies = vec![StrategyOutcome::default(); replay.strategies.len()];
    for (_, of_job) in &jobs {
        tallies.iter_mut().zip(of_job).for_each(|(all, one)| all.merge(one));
    }
    let marks = replay.checkpoints();
    let strategies: Vec<StrategyResult> = replay
        .strategies
        .iter()
        .zip(&tallies)
        .map(|(kind, tally)| result(*kind, tally, &marks, replay.steps, arms.len()))
        .collect();
    let can_run =
        |place: usize| !replay.strategies[place].is_raw() && !matches!(replay.strategies[place], StrategyKind::Oracle);
    let last = |place: usize| strategies[place].regret_ms.last().copied().unwrap_or(f64::INFINITY);
    let best = (0..strategies.len()).filter(|place| can_run(*place)).min_by(|a, b| last(*a).total_cmp(&last(*b)));
    let chosen = highlight.strategy.filter(|place| (*place as usize) < strategies.len());
    let shown = chosen.or(best.map(|place| place as u32)).unwrap_or(0);
    let shown_out = chosen.map(|place| strategies[place as usize].title.as_str());
    let seeds = tallies.first().map_or(0, StrategyOutcome::seeds) as u32;
    let mut sentences = vec![format!("{words}.")];
    sentences.extend(conclusions(&strategies, best));
    Ok(ReplayResult {
        seeds,
        listing: listing::strategies(&strategies),
        shown,
        regret: (seeds > 0).then(|| charts::regret(&strategies, &words, shown_out)),
        shares: strategies
            .get(shown as usize)
            .filter(|_| seeds > 0)
            .map(|of| charts::shares(of, &arms, replay.steps, highlight)),
        sentences,
        strategies,
    })
}

/// The conclusions of the comparison, in sentences.
fn conclusions(strategies: &[StrategyResult], best: Option<usize>) -> Vec<String> {
    let auto = strategies.iter().find(|of| of.strategy == StrategyKind::Auto.key());
    let Some((best, auto)) = best.map(|place| &strategies[place]).zip(auto) else { return Vec::new() };
    let (Some(own), Some(of_auto)) = (best.regret_interval_ms.last(), auto.regret_ms.last()) else { return Vec::new() };
    let least = best.regret_ms.last().copied().unwrap_or(0.0);
    if best.strategy == auto.strategy || own.1 >= *of_auto {
        return vec!["No strategy loses less than always leaving the choice to the library, beyond its own spread: learning here costs more than it finds.".to_owned()];
    }
    let mut conclusions = vec![format!(
        "{} loses least: {} ms over all steps, where leaving the choice to the library loses {} ms.",
        best.title,
        crate::units::significant(least),
        crate::units::significant(*of_auto)
    )];
    if let Some(calls) = best.paid_back_after {
        conclusions.push(match calls {
            0 => "Its exploration costs no more than auto from the first call on (median).".to_owned(),
            calls => format!("Its exploration is paid back after {calls} calls (median)."),
        });
    }
    conclusions
}

fn result(
    kind: StrategyKind,
    tally: &StrategyOutcome,
    marks: &[u32; CHECKPOINTS],
    steps: u32,
    arms: usize,
) -> StrategyResult {
    let mean = |values: &[f64]| Statistics::of(values).mean;
    let share = |count: usize| count as f64 / tally.seeds().max(1) as f64;
    let median = |values: &[i32]| {
        let mut sorted: Vec<f64> =
            values.iter().map(|value| if *value < 0 { f64::INFINITY } else { f64::from(*value) }).collect();
        crate::math::median(&mut sorted).filter(|value| value.is_finite()).map(|value| value.round() as u32)
    };
    let mut of = StrategyResult {
        strategy: kind.key(),
        title: kind.title(),
        is_raw: kind.is_raw(),
        mean_ms: mean(&tally.total) / f64::from(steps.max(1)),
        converges_after: median(&tally.converged),
        converged_share: share(tally.converged.iter().filter(|step| **step >= 0).count()),
        best_at_end: mean(&tally.best_at_end),
        ends_on_best: share(tally.best_at_end.iter().filter(|share| **share > 0.5).count()),
        exploration_ms: mean(&tally.exploration),
        paid_back_after: median(&tally.paid_back),
        ..StrategyResult::default()
    };
    for (mark, step) in marks.iter().enumerate() {
        // Few steps have marks that coincide.
        if of.steps.last() == Some(step) {
            continue;
        }
        let mut values = tally.regret_at(mark);
        let all = Statistics::of(&values);
        let error = 1.96 * all.deviation() / all.n.max(1.0).sqrt();
        ascending(&mut values);
        let at = |share| quantile(&values, share).unwrap_or(0.0);
        of.steps.push(*step);
        of.regret_ms.push(all.mean);
        of.regret_interval_ms.push((all.mean - error, all.mean + error));
        of.regret_spread_ms.push((at(0.05), at(0.95)));
    }
    for stretch in 0..STRETCHES {
        let pulls = tally.pulls.get(stretch * arms..(stretch + 1) * arms).unwrap_or_default();
        let sum = pulls.iter().sum::<u64>() as f64;
        if sum > 0.0 {
            of.arm_shares.push(pulls.iter().map(|count| *count as f64 / sum).collect());
        }
    }
    of
}
