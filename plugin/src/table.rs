//! A policy for one communicator: which arm each call of a key runs.

use collectune::{
    bandit::schedule::{Shuffle, block_length, fill_block, fill_in_order},
    collective::Scale,
    conf::words::COLLECTIVES,
    policy::{
        arm::Arm,
        bands::Bands,
        file::{Choice, Policy},
        key::BandKey,
    },
};

use crate::decision::{Availability, Call, Decision, LastDecision};

/// A policy for one communicator: a key for each collective and band, at most 160.
pub struct Table {
    generation: u64,
    bands: Bands,
    names: Vec<Arm>,
    arms: Vec<Decision>,
    keys: Vec<Key>,
    is_logged: bool,
}

struct Key {
    /// The number of calls since the communicator was created.
    calls: u64,
    choice: KeyChoice,
    /// From this call on a scheduled key runs `auto`, because no rewards of it arrived.
    until: u64,
    /// A bit for each arm that was logged.
    logged: u64,
}

enum KeyChoice {
    Fixed(u8),
    Scheduled(Block),
}

/// The present block of calls and the next one, which is shuffled while the present one runs: one swap per call.
struct Block {
    seed: u64,
    key_hash: u64,
    counts: Vec<u32>,
    /// How often `auto` is scheduled in a block.
    auto: u32,
    /// How often each pair of algorithm and protocol is scheduled in a block, over all channels.
    pairs: Vec<((u8, u8), u32)>,
    /// The number of the present block.
    number: u64,
    position: usize,
    unshuffled: Box<[u8]>,
    present: Box<[u8]>,
    next: Box<[u8]>,
    shuffle: Shuffle,
}

/// A choice that the communicator makes for the first time.
pub struct NewChoice {
    pub collective: &'static str,
    pub band: u32,
    pub arm: u8,
}

impl Table {
    /// Prepares a policy for a communicator. The counts of calls continue those of `before`, the table that this one
    /// replaces.
    pub fn new(policy: &Policy, scale: Scale, overlap: bool, is_logged: bool, before: Option<&Self>) -> Self {
        let answer = |arm: &Arm| match arm {
            Arm::Auto => Decision::DEFER,
            Arm::Forced { algorithm, protocol, channels } => Decision {
                pair: Some((algorithm.code() as u8, protocol.code() as u8)),
                channels: u8::try_from(*channels).ok().filter(|channels| *channels > 0),
            },
        };
        let arms: Vec<Decision> = policy.arms.iter().map(answer).collect();
        let mut keys = Vec::with_capacity(COLLECTIVES.len() * policy.bands.len());
        for (_, collective) in COLLECTIVES {
            for band in 0..policy.bands.len() as u32 {
                let calls = before.and_then(|before| before.keys.get(keys.len())).map_or(0, |key| key.calls);
                let key = BandKey { collective, band, scale, overlap };
                let choice = match policy.entry(&key).map(|entry| &entry.choice) {
                    None => KeyChoice::Fixed(0),
                    Some(Choice::Fixed(arm)) => KeyChoice::Fixed(u8::try_from(*arm).unwrap_or(0)),
                    Some(Choice::Counts(counts)) => {
                        KeyChoice::Scheduled(Block::new(counts, &arms, policy.seed, key.hash(), calls))
                    }
                };
                keys.push(Key { calls, choice, until: policy.explores_until(&key), logged: 0 });
            }
        }
        let (bands, names) = (policy.bands.clone(), policy.arms.clone());
        Self { generation: policy.generation, bands, names, arms, keys, is_logged }
    }

    /// The arm of an index.
    pub fn name(&self, arm: u32) -> Arm {
        self.names.get(arm as usize).copied().unwrap_or_default()
    }

    /// The decision about the next call of a key, its probability, and what is to be logged of it.
    pub fn decide(
        &mut self,
        call: &Call,
        available: &impl Availability,
    ) -> (Decision, Option<LastDecision>, Option<NewChoice>) {
        let band = self.bands.of(call.bytes);
        let place = usize::try_from(call.coll).ok().filter(|coll| *coll < COLLECTIVES.len());
        let key = place.map(|coll| coll * self.bands.len() + band as usize).and_then(|key| self.keys.get_mut(key));
        let (Some(coll), Some(key)) = (place, key) else { return (Decision::DEFER, None, None) };
        let number = key.calls;
        key.calls += 1;
        let is_over = number >= key.until;
        let scheduled = match &mut key.choice {
            KeyChoice::Fixed(arm) => *arm,
            KeyChoice::Scheduled(_) if is_over => 0,
            KeyChoice::Scheduled(block) => block.take(),
        };
        let answer = self.arms.get(usize::from(scheduled)).copied().unwrap_or(Decision::DEFER);
        let runs = answer.pair.is_none_or(|(algorithm, protocol)| available.has(algorithm, protocol));
        let (answer, arm) = if runs { (answer, scheduled) } else { (Decision::DEFER, 0) };
        let propensity = match &key.choice {
            KeyChoice::Scheduled(block) if !is_over => block.propensity(arm, available),
            KeyChoice::Fixed(_) | KeyChoice::Scheduled(_) => 1.0,
        };
        let last = LastDecision { call: number, arm: u32::from(arm), propensity, generation: self.generation };
        let bit = 1_u64 << (arm & 63);
        let is_new = self.is_logged && key.logged & bit == 0;
        key.logged |= bit;
        (answer, Some(last), is_new.then_some(NewChoice { collective: COLLECTIVES[coll].0, band, arm }))
    }
}

impl Block {
    /// Prepares the block in which a call of the key lies, at its position.
    fn new(counts: &[u32], arms: &[Decision], seed: u64, key_hash: u64, call: u64) -> Self {
        // A policy's counts have a sum of at least 1.
        let length = block_length(counts).max(1);
        let mut unshuffled = vec![0; length].into_boxed_slice();
        fill_in_order(counts, &mut unshuffled);
        let (number, position) = (call / length as u64, (call % length as u64) as usize);
        let mut present = unshuffled.clone();
        fill_block(counts, seed, key_hash, number, &mut present);
        let next = unshuffled.clone();
        let shuffle = Shuffle::new(seed, key_hash, number.wrapping_add(1), length);
        let (mut auto, mut pairs) = (0, Vec::<((u8, u8), u32)>::new());
        for (answer, count) in arms.iter().zip(counts).filter(|(_, count)| **count > 0) {
            match answer.pair {
                None => auto += count,
                Some(pair) => match pairs.iter_mut().find(|(known, _)| *known == pair) {
                    Some((_, sum)) => *sum += count,
                    None => pairs.push((pair, *count)),
                },
            }
        }
        let mut this = Self {
            seed,
            key_hash,
            counts: counts.to_vec(),
            auto,
            pairs,
            number,
            position,
            unshuffled,
            present,
            next,
            shuffle,
        };
        for _ in 0..position {
            this.shuffle.step(&mut this.next);
        }
        this
    }

    fn take(&mut self) -> u8 {
        if self.position == self.present.len() {
            std::mem::swap(&mut self.present, &mut self.next);
            self.position = 0;
            self.number = self.number.wrapping_add(1);
            self.next.copy_from_slice(&self.unshuffled);
            self.shuffle = Shuffle::new(self.seed, self.key_hash, self.number.wrapping_add(1), self.next.len());
        }
        // A block has as many calls as entries and needs one swap less, so the next block is shuffled in time.
        self.shuffle.step(&mut self.next);
        let arm = self.present[self.position];
        self.position += 1;
        arm
    }

    /// The probability that an arm runs; for `auto` including the probability of all arms that can't run at present.
    fn propensity(&self, arm: u8, available: &impl Availability) -> f64 {
        let count = match arm {
            0 => {
                let ruled_out =
                    self.pairs.iter().filter(|((algorithm, protocol), _)| !available.has(*algorithm, *protocol));
                self.auto + ruled_out.map(|(_, count)| count).sum::<u32>()
            }
            arm => self.counts.get(usize::from(arm)).copied().unwrap_or(0),
        };
        f64::from(count) / self.present.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use collectune::{
        collective::Collective,
        policy::file::{Entry, Evidence},
    };

    use super::*;

    struct Only(u8);

    impl Availability for Only {
        fn has(&self, algorithm: u8, _: u8) -> bool {
            self.0 & (1 << algorithm) != 0
        }
    }

    const SCALE: Scale = Scale { nodes: 2, ranks: 8 };

    fn policy(counts: &[u32], seed: u64) -> Policy {
        let arms = ["auto", "tree/simple/4", "tree/ll128", "ring/simple"];
        let key = Entry {
            collective: Collective::AllReduce,
            band: 5,
            scale: SCALE,
            overlap: None,
            choice: Choice::Counts(counts.to_vec()),
        };
        Policy {
            generation: 3,
            seed,
            arms: arms.iter().filter_map(|a| Arm::parse(a)).collect(),
            keys: vec![key],
            ..Policy::default()
        }
    }

    const CALL: Call = Call { coll: 4, bytes: 67_108_864, pipe_ops: 1 };

    #[test]
    fn calls_run_the_schedule_block_after_block() {
        let policy = policy(&[2, 2, 2, 2], 42);
        let hash = 0xD8FD_171D_3B55_A31B;
        let mut expected = Vec::new();
        for block in 0..20 {
            let mut order = [0; 8];
            fill_block(&[2, 2, 2, 2], 42, hash, block, &mut order);
            expected.extend(order);
        }
        assert_eq!(expected[..8], [2, 1, 3, 3, 1, 2, 0, 0]);
        let mut table = Table::new(&policy, SCALE, false, true, None);
        let mut new = 0;
        for (call, arm) in expected.iter().enumerate() {
            // A table that is made anew in the middle goes on where the other was.
            if call % 11 == 10 {
                table = Table::new(&policy, SCALE, false, true, Some(&table));
                new = 0;
            }
            let (answer, last, is_new) = table.decide(&CALL, &Only(0xFF));
            let last = last.unwrap();
            assert_eq!((last.call, last.arm, last.generation), (call as u64, u32::from(*arm), 3));
            assert!((last.propensity - 0.25).abs() < 1e-12);
            assert_eq!(answer.pair.is_some(), *arm != 0);
            assert_eq!(answer.channels, (*arm == 1).then_some(4));
            new += usize::from(is_new.is_some());
            assert!(new <= 4);
        }
        // Other sizes, other collectives and other jobs are not this key's.
        let other = Call { bytes: 1, ..CALL };
        assert!(table.decide(&other, &Only(0xFF)).0 == Decision::DEFER);
        assert_eq!(table.decide(&other, &Only(0xFF)).1.unwrap().call, 1);
        assert!(table.decide(&Call { coll: 5, ..CALL }, &Only(0xFF)).1.is_none());
    }

    #[test]
    fn a_key_without_rewards_returns_to_the_choice_of_the_library() {
        let mut policy = Policy { unrewarded_calls: Some(64), ..policy(&[2, 2, 2, 2], 42) };
        let mut table = Table::new(&policy, SCALE, false, false, None);
        let forced = |table: &mut Table, calls: usize| {
            let all = (0..calls).map(|_| table.decide(&CALL, &Only(0xFF)));
            all.filter(|(answer, ..)| *answer != Decision::DEFER).count()
        };
        assert_eq!(forced(&mut table, 64), 48);
        assert_eq!(forced(&mut table, 1000), 0);
        assert_eq!(
            table.decide(&CALL, &Only(0xFF)).1.map(|last| (last.call, last.arm, last.propensity)),
            Some((1064, 0, 1.0))
        );
        // Rewards that come late make it explore again, and its calls go on counting.
        policy.generation += 1;
        policy.evidence =
            vec![Evidence { key: 0, n: vec![3, 0, 0, 0], mean_ms: vec![1.0, 0.0, 0.0, 0.0], ..Evidence::default() }];
        let mut table = Table::new(&policy, SCALE, false, false, Some(&table));
        let last = table.decide(&CALL, &Only(0xFF)).1.unwrap();
        assert_eq!((last.call, last.propensity), (1065, 0.25));
        // To the end of the block: a part of one has as many of an arm as chance gives.
        forced(&mut table, 6);
        assert_eq!(forced(&mut table, 800), 600);
    }

    #[test]
    fn an_arm_that_can_not_run_is_auto() {
        let policy = policy(&[1, 3, 2, 2], 1);
        let mut table = Table::new(&policy, SCALE, false, false, None);
        let (mut auto, mut ring) = (0, 0);
        for _ in 0..80 {
            let (answer, last, _) = table.decide(&CALL, &Only(0b10));
            let last = last.unwrap();
            match last.arm {
                0 => {
                    assert!(answer == Decision::DEFER && (last.propensity - 0.75).abs() < 1e-12);
                    auto += 1;
                }
                3 => {
                    assert!(answer.pair == Some((1, 2)) && (last.propensity - 0.25).abs() < 1e-12);
                    ring += 1;
                }
                arm => panic!("{arm}"),
            }
        }
        assert_eq!((auto, ring), (60, 20));
    }
}
