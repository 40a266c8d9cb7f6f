//! Learns while a job runs: from the policies that its ranks follow and the log that it writes to the policy of the
//! next epoch.

use super::{
    attribution::DealtArms,
    file::{Choice, Entry, Evidence, Policy},
    read::{Log, Row},
};
use crate::{
    bandit::{
        best,
        schedule::block_length,
        statistics::{NormalInverseGamma, Statistics, pooled_deviation},
        strategies::{StrategyKind, counts, rounded},
    },
    units::count,
};

/// What was learnt about one exploring key.
#[derive(Clone, Debug, PartialEq)]
pub struct LearntKey {
    /// The index of the key in [`Policy::keys`].
    pub key: usize,
    /// Latency statistics of each arm; older generations weigh less where the strategy discounts.
    pub arms: Vec<Statistics>,
    /// The number of calls of each arm in the next epoch.
    pub counts: Vec<u32>,
}

/// The reason why nothing was learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingLearnt {
    /// No policy is followed, or its generation is the last that there can be.
    #[error("there is no policy that another one could follow")]
    NoPolicy,
    /// No key of the policy explores.
    #[error("the policy that runs explores no key, so there is nothing to learn")]
    NoKey,
    /// The log has no lines.
    #[error("the log has no lines yet")]
    NoLines,
    /// The lines can't be attributed to arms, and further ones won't help.
    #[error(
        "no line of the log says which arm ran: it needs the column arm, or call and generation, which \
         collectune_tuner_last_decision tells the job, and which Collectune's profiler plugin writes by itself"
    )]
    NotAttributed,
    /// No line is about an exploring key.
    #[error(
        "no line of the log is about a key that explores: its collectives, sizes, nodes, ranks or generations are others"
    )]
    NotAbout,
    /// The log has no line of this generation.
    #[error("the log has no line of generation {0} yet")]
    NothingNew(u64),
}

/// The policy that follows `policies`, the last of which is running: a strategy computes the counts of its exploring
/// keys from the log. Returns [`NothingLearnt`] if no line of the log belongs to these keys, or none is new.
pub fn next(policies: &[Policy], log: &Log, strategy: StrategyKind) -> Result<(Policy, Vec<LearntKey>), NothingLearnt> {
    let current = policies.last().ok_or(NothingLearnt::NoPolicy)?;
    let mut next = current.clone();
    next.generation = current.generation.checked_add(1).ok_or(NothingLearnt::NoPolicy)?;
    if log.rows.is_empty() {
        return Err(NothingLearnt::NoLines);
    }
    if current.keys.iter().all(|entry| matches!(entry.choice, Choice::Fixed(_))) {
        return Err(NothingLearnt::NoKey);
    }
    if log.rows.iter().all(|row| row.arm.is_none() && row.call.is_none()) {
        return Err(NothingLearnt::NotAttributed);
    }
    if log.rows.iter().all(|row| row.generation.is_some_and(|of| of < current.generation)) {
        return Err(NothingLearnt::NothingNew(current.generation));
    }
    let mut learnt = Vec::new();
    for (place, entry) in current.keys.iter().enumerate() {
        let Choice::Counts(before) = &entry.choice else { continue };
        let arms = statistics(policies, entry, log, discount_of(strategy));
        if arms.iter().all(|arm| arm.n == 0.0) {
            continue;
        }
        let calls = block_length(before) as u32;
        let counts = of_strategy(strategy, &arms, calls);
        if let Some(entry) = next.keys.get_mut(place) {
            entry.choice = Choice::Counts(counts.clone());
        }
        next.evidence.retain(|of| of.key as usize != place);
        next.evidence.push(evidence(place, &arms));
        learnt.push(LearntKey { key: place, arms, counts });
    }
    if learnt.is_empty() { Err(NothingLearnt::NotAbout) } else { Ok((next, learnt)) }
}

/// That a log lacks most of the values that the policy which is followed was made from; `None` where it has them, or
/// nothing says how many there were. What it lacks is forgotten.
pub fn forgotten(policy: &Policy, log: &Log) -> Option<String> {
    let made_from: u64 = policy.evidence.iter().flat_map(|evidence| &evidence.n).sum();
    let is_before = |row: &&Row| row.generation.is_some_and(|generation| generation < policy.generation);
    let known = log.rows.iter().filter(is_before).count() as u64;
    (known.saturating_mul(2) < made_from).then(|| {
        format!(
            "generation {} was made from {}, of which the log has {known}: was it rotated? What it lacks is forgotten; give \
             the whole log",
            policy.generation,
            count(made_from, "value")
        )
    })
}

/// The evidence that the next policy records for a key's rewards. Without it, ranks take the key to have no rewards
/// and stop exploring.
fn evidence(place: usize, arms: &[Statistics]) -> Evidence {
    let mean = |arm: &Statistics| if arm.n > 0.0 { arm.mean } else { 0.0 };
    let tried = arms.iter().skip(1).filter(|arm| arm.n >= 1.0).min_by(|a, b| a.mean.total_cmp(&b.mean));
    let auto = arms.first().filter(|auto| auto.n >= 1.0);
    let (p_better, gain_pct) = auto.zip(tried).map_or((0.0, 0.0), |(auto, best)| {
        let prior = NormalInverseGamma::weak((auto.mean + best.mean) / 2.0);
        let probabilities = best::probabilities(&[prior.posterior(auto), prior.posterior(best)]);
        (probabilities.get(1).copied().unwrap_or(0.0), 100.0 * (auto.mean - best.mean) / auto.mean)
    });
    Evidence {
        key: place as u32,
        // What counts less because it is old, and less than half a value, is a value all the same.
        n: arms.iter().map(|arm| if arm.n > 0.0 { (arm.n as u64).max(1) } else { 0 }).collect(),
        mean_ms: arms.iter().map(mean).collect(),
        p_better,
        gain_pct,
    }
}

/// The weight of the statistics of one generation in the next, between 0 and 1.
fn discount_of(strategy: StrategyKind) -> f64 {
    match strategy {
        StrategyKind::EpochThompson { keep, .. } => keep,
        StrategyKind::DiscountedThompson { gamma } => gamma,
        _ => 1.0,
    }
}

fn statistics(policies: &[Policy], entry: &Entry, log: &Log, keep: f64) -> Vec<Statistics> {
    let current = policies.last();
    let arms = current.map_or(0, |policy| policy.arms.len());
    let mut all = vec![Statistics::default(); arms];
    let mut generation = None;
    let mut dealt = DealtArms::default();
    for row in &log.rows {
        let Some(key) = log.keys.get(row.key as usize).and_then(|key| key.completed(key)) else { continue };
        // The arm is that of the policy of the row's generation; the list of arms never changes.
        let of_row = |policy: &&Policy| row.generation.is_none_or(|own| own == policy.generation);
        let Some(policy) = policies.iter().rev().find(of_row) else { continue };
        let asked = key.in_band(&policy.bands);
        let fits = (asked.collective, asked.band, asked.scale) == (entry.collective, entry.band, entry.scale)
            && entry.overlap.is_none_or(|overlap| overlap == asked.overlap);
        if !fits {
            continue;
        }
        let arm = match (row.arm, row.call) {
            (Some(arm), _) if log.numbered_arms => Some(usize::from(arm)),
            (Some(arm), _) => {
                let arm = log.arms.get(usize::from(arm));
                arm.and_then(|arm| policy.arms.iter().position(|known| known == arm))
            }
            (None, Some(call)) => dealt.place(policy, &asked, call).map(|(arm, _)| arm),
            (None, None) => None,
        };
        let Some(arm) = arm.filter(|arm| *arm < arms) else { continue };
        if row.generation > generation {
            if generation.is_some() {
                all.iter_mut().for_each(|arm| arm.discount(keep));
            }
            generation = row.generation;
        }
        all[arm].add(row.latency_ms);
    }
    all
}

/// The number of calls of each arm that a strategy wants in an epoch.
fn of_strategy(strategy: StrategyKind, arms: &[Statistics], calls: u32) -> Vec<u32> {
    const FLOOR: f64 = 0.01;
    let number = arms.len();
    let equal = vec![1.0 / number as f64; number];
    // An arm without a value is tried first.
    if arms.iter().any(|arm| arm.n < 1.0) {
        return counts(&equal, calls, FLOOR);
    }
    let pulls: f64 = arms.iter().map(|arm| arm.n).sum();
    let only = |score: &dyn Fn(&Statistics) -> f64| {
        let best = (0..number).fold(0, |best, arm| if score(&arms[arm]) < score(&arms[best]) { arm } else { best });
        let mut shares = vec![0.0; number];
        shares[best] = 1.0;
        shares
    };
    let greedy = || only(&|arm| arm.mean);
    match strategy {
        StrategyKind::Uniform => counts(&equal, calls, FLOOR),
        StrategyKind::EpsGreedy { epsilon } => counts(&greedy(), calls, epsilon / number as f64),
        StrategyKind::EpsDecay { c } => counts(&greedy(), calls, (c * number as f64 / pulls).min(1.0) / number as f64),
        StrategyKind::Ucb1 | StrategyKind::SlidingUcb { .. } => {
            let deviation = pooled_deviation(arms);
            let double_log = 2.0 * crate::math::ln(pulls.max(1.0));
            counts(&only(&|arm| arm.mean - deviation * (double_log / arm.n).sqrt()), calls, FLOOR)
        }
        StrategyKind::Ucb1Raw { c } => {
            let log = crate::math::ln(pulls.max(1.0));
            counts(&only(&|arm| arm.mean - c * (log / arm.n).sqrt()), calls, FLOOR)
        }
        _ => {
            let prior = NormalInverseGamma::weak(arms.iter().map(|arm| arm.mean).sum::<f64>() / number as f64);
            let posteriors: Vec<NormalInverseGamma> = arms.iter().map(|arm| prior.posterior(arm)).collect();
            let floor = if let StrategyKind::EpochThompson { floor, .. } = strategy { floor } else { FLOOR };
            counts(&rounded(&best::probabilities(&posteriors)), calls, floor)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bandit::schedule::fill_block,
        collective::{Collective, Scale},
        policy::{arm::Arm, read},
        text::{Dialect, Records},
    };

    fn policy() -> Policy {
        Policy {
            generation: 4,
            seed: 9,
            arms: ["auto", "tree/simple", "ring/simple"].iter().filter_map(|arm| Arm::parse(arm)).collect(),
            keys: vec![Entry {
                collective: Collective::AllReduce,
                band: 5,
                scale: Scale { nodes: 2, ranks: 8 },
                overlap: None,
                choice: Choice::Counts(vec![10, 10, 10]),
            }],
            ..Policy::default()
        }
    }

    fn log(text: &str) -> Log {
        read::rows(&mut Records::new(text.as_bytes(), Dialect::default()), "rewards.log", true).unwrap()
    }

    #[test]
    fn a_log_of_calls_alone_is_attributed_and_learnt_from() {
        let mut order = [0; 30];
        let key = crate::policy::key::BandKey {
            collective: Collective::AllReduce,
            band: 5,
            scale: Scale { nodes: 2, ranks: 8 },
            overlap: false,
        };
        fill_block(&[10, 10, 10], 9, key.hash(), 0, &mut order);
        let mut text = "collective,bytes,nodes,ranks,latency_ms,call,generation\n".to_owned();
        for (call, arm) in order.iter().enumerate() {
            let latency = [10.0, 9.0, 12.0][usize::from(*arm)] + 0.1 * ((call % 5) as f64);
            text += &format!("allreduce,67108864,2,8,{latency},{call},4\n");
        }
        let (next, learnt) =
            next(&[policy()], &log(&text), StrategyKind::EpochThompson { calls: 30, floor: 0.01, keep: 1.0 }).unwrap();
        assert_eq!(next.generation, 5);
        assert_eq!(learnt[0].arms.iter().map(|arm| arm.n as u32).collect::<Vec<_>>(), [10, 10, 10]);
        assert_eq!(next.evidence[0].n, [10, 10, 10]);
        assert!(next.evidence[0].p_better > 0.99 && (next.evidence[0].gain_pct - 10.0).abs() < 1.0, "{next:?}");
        let [auto, tree, ring] = learnt[0].counts[..] else { panic!() };
        assert!(tree >= 28 && auto + ring <= 2, "{learnt:?}");
        for strategy in StrategyKind::ALL {
            let (next, learnt) = super::next(&[policy()], &log(&text), strategy).unwrap();
            assert_eq!(block_length(&learnt[0].counts), 30, "{strategy:?}");
            assert!(Policy::read(next.text().as_bytes()).is_ok());
        }
        let nothing = |text: &str| super::next(&[policy()], &log(text), StrategyKind::Ucb1).unwrap_err();
        assert_eq!(nothing(&text.replace(",4\n", ",3\n")), NothingLearnt::NothingNew(4));
        assert_eq!(nothing(&text.replace(",4\n", ",5\n")), NothingLearnt::NotAbout);
        assert_eq!(nothing(&text.replace("67108864", "4096")), NothingLearnt::NotAbout);
        assert_eq!(nothing("allreduce,67108864,2,8,10.5\n"), NothingLearnt::NotAttributed);
        let mut decided = policy();
        decided.keys[0].choice = Choice::Fixed(1);
        assert_eq!(super::next(&[decided], &log(&text), StrategyKind::Ucb1).unwrap_err(), NothingLearnt::NoKey);
    }
}
