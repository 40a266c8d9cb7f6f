//! Learning while a job runs: from what its ranks follow and what it logged to the policy of the next epoch.

use super::{
    attribution::Dealt,
    file::{Choice, Entry, Policy},
    read::Log,
};
use crate::bandit::{
    best,
    schedule::block_length,
    statistics::{NormalInverseGamma, Statistics, pooled_deviation},
    strategies::{Kind, counts, rounded},
};

/// What is learnt of one exploring key.
#[derive(Clone, Debug, PartialEq)]
pub struct Learnt {
    /// Its place among [`Policy::keys`].
    pub key: usize,
    /// What each arm took, older generations counting less where the strategy forgets.
    pub arms: Vec<Statistics>,
    /// The counts of the next epoch.
    pub counts: Vec<u32>,
}

/// The policy that follows `policies`, the last of which runs now: counts of its exploring keys by a strategy and by what the
/// log says. `None` where no line of the log is about them.
#[must_use]
pub fn next(policies: &[Policy], log: &Log, strategy: Kind) -> Option<(Policy, Vec<Learnt>)> {
    let current = policies.last()?;
    let mut next = current.clone();
    next.generation = current.generation.checked_add(1)?;
    let mut learnt = Vec::new();
    for (place, entry) in current.keys.iter().enumerate() {
        let Choice::Counts(before) = &entry.choice else { continue };
        let arms = statistics(policies, entry, log, keep(strategy));
        if arms.iter().all(|arm| arm.n == 0.0) {
            continue;
        }
        let calls = block_length(before) as u32;
        let counts = of_strategy(strategy, &arms, calls);
        if let Some(entry) = next.keys.get_mut(place) {
            entry.choice = Choice::Counts(counts.clone());
        }
        learnt.push(Learnt { key: place, arms, counts });
    }
    (!learnt.is_empty()).then_some((next, learnt))
}

/// What the past is worth from generation to generation.
fn keep(strategy: Kind) -> f64 {
    match strategy {
        Kind::EpochThompson { keep, .. } => keep,
        Kind::DiscountedThompson { gamma } => gamma,
        _ => 1.0,
    }
}

fn statistics(policies: &[Policy], entry: &Entry, log: &Log, keep: f64) -> Vec<Statistics> {
    let current = policies.last();
    let arms = current.map_or(0, |policy| policy.arms.len());
    let mut all = vec![Statistics::default(); arms];
    let mut generation = None;
    let mut dealt = Dealt::default();
    for row in &log.rows {
        let Some(key) = log.keys.get(row.key as usize).and_then(|key| key.completed(key)) else { continue };
        // What ran is told by the policy of the row's generation; the arms never change.
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

/// A strategy as counts of an epoch.
fn of_strategy(strategy: Kind, arms: &[Statistics], calls: u32) -> Vec<u32> {
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
        Kind::Uniform => counts(&equal, calls, FLOOR),
        Kind::EpsGreedy { epsilon } => counts(&greedy(), calls, epsilon / number as f64),
        Kind::EpsDecay { c } => counts(&greedy(), calls, (c * number as f64 / pulls).min(1.0) / number as f64),
        Kind::Ucb1 | Kind::SlidingUcb { .. } => {
            let deviation = pooled_deviation(arms);
            let double_log = 2.0 * crate::math::ln(pulls.max(1.0));
            counts(&only(&|arm| arm.mean - deviation * (double_log / arm.n).sqrt()), calls, FLOOR)
        }
        Kind::Ucb1Raw { c } => {
            let log = crate::math::ln(pulls.max(1.0));
            counts(&only(&|arm| arm.mean - c * (log / arm.n).sqrt()), calls, FLOOR)
        }
        _ => {
            let prior = NormalInverseGamma::weak(arms.iter().map(|arm| arm.mean).sum::<f64>() / number as f64);
            let posteriors: Vec<NormalInverseGamma> = arms.iter().map(|arm| prior.after(arm)).collect();
            let floor = if let Kind::EpochThompson { floor, .. } = strategy { floor } else { FLOOR };
            counts(&rounded(&best::probabilities(&posteriors)), calls, floor)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bandit::schedule::deal,
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
        deal(&[10, 10, 10], 9, key.hash(), 0, &mut order);
        let mut text = "collective,bytes,nodes,ranks,latency_ms,call,generation\n".to_owned();
        for (call, arm) in order.iter().enumerate() {
            let latency = [10.0, 9.0, 12.0][usize::from(*arm)] + 0.1 * ((call % 5) as f64);
            text += &format!("allreduce,67108864,2,8,{latency},{call},4\n");
        }
        let (next, learnt) =
            next(&[policy()], &log(&text), Kind::EpochThompson { calls: 30, floor: 0.01, keep: 1.0 }).unwrap();
        assert_eq!(next.generation, 5);
        assert_eq!(learnt[0].arms.iter().map(|arm| arm.n as u32).collect::<Vec<_>>(), [10, 10, 10]);
        let [auto, tree, ring] = learnt[0].counts[..] else { panic!() };
        assert!(tree >= 28 && auto + ring <= 2, "{learnt:?}");
        for strategy in Kind::ALL {
            let (next, learnt) = super::next(&[policy()], &log(&text), strategy).unwrap();
            assert_eq!(block_length(&learnt[0].counts), 30, "{strategy:?}");
            assert!(Policy::read(next.text().as_bytes()).is_ok());
        }
        // Another generation, another size: nothing is about the key.
        assert!(super::next(&[policy()], &log(&text.replace(",4\n", ",3\n")), Kind::Ucb1).is_none());
        assert!(super::next(&[policy()], &log(&text.replace("67108864", "4096")), Kind::Ucb1).is_none());
    }
}
