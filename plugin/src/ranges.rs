//! The rules of a tuner file for one communicator, laid out for a lookup in nanoseconds.

use collectune::{
    collective::Scale,
    conf::{strict::Rule, words::COLLECTIVES},
};

use crate::decision::{Availability, Call, Decision};

/// The most rules for one communicator that are used: the preparation takes a time that grows with the square of their
/// number.
pub const MOST_RULES: usize = 4096;

/// The size ranges of each collective, by its number.
pub struct Ranges {
    of: [Collective; COLLECTIVES.len()],
    /// Whether each new choice is logged.
    is_logged: bool,
}

/// The ranges of one collective: from each start up to the next, the same rules apply in the same order.
#[derive(Default)]
struct Collective {
    starts: Vec<u64>,
    /// The index of each range's first candidate, and the number of candidates at the end.
    firsts: Vec<u32>,
    candidates: Vec<Candidate>,
}

/// A rule that applies to a range, if its algorithm and protocol can run.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Candidate {
    answer: Decision,
    /// The number of operations in the group for which it applies; `None` for any.
    pipe_ops: Option<u32>,
    /// The line of the rule in the file.
    line: u32,
    was_logged: bool,
}

impl Candidate {
    /// Whether this rule takes every call that the later one would.
    fn hides(&self, later: &Self) -> bool {
        self.pipe_ops.is_none_or(|number| later.pipe_ops == Some(number))
            && (self.answer.pair.is_none() || self.answer.pair == later.answer.pair)
    }
}

impl Ranges {
    /// Prepares the rules for communicators of a scale, at most [`MOST_RULES`] of them; also returns how many there
    /// are.
    pub fn new(rules: &[Rule], scale: Scale, is_logged: bool) -> (Self, usize) {
        let is_about = |rule: &&Rule| {
            rule.nodes.is_none_or(|nodes| nodes == scale.nodes) && rule.ranks.is_none_or(|ranks| ranks == scale.ranks)
        };
        let about: Vec<&Rule> = rules.iter().filter(is_about).collect();
        let used = &about[..about.len().min(MOST_RULES)];
        let of = COLLECTIVES.map(|(_, collective)| {
            let of: Vec<&Rule> = used.iter().copied().filter(|rule| rule.collective == collective).collect();
            Collective::new(&of)
        });
        (Self { of, is_logged }, about.len())
    }

    /// The decision of the first rule that matches and can run, and the rule's line if the choice is to be logged.
    pub fn decide(&mut self, call: &Call, available: &impl Availability) -> (Decision, Option<u32>) {
        let Some(of) = usize::try_from(call.coll).ok().and_then(|coll| self.of.get_mut(coll)) else {
            return (Decision::DEFER, None);
        };
        for candidate in of.at(call.bytes) {
            let matches = candidate.pipe_ops.is_none_or(|number| i64::from(number) == i64::from(call.pipe_ops));
            if matches && candidate.answer.pair.is_none_or(|(algorithm, protocol)| available.has(algorithm, protocol)) {
                let is_new = self.is_logged && !candidate.was_logged;
                candidate.was_logged = true;
                return (candidate.answer, is_new.then_some(candidate.line));
            }
        }
        (Decision::DEFER, None)
    }
}

impl Collective {
    fn new(rules: &[&Rule]) -> Self {
        let mut starts: Vec<u64> = vec![0];
        for rule in rules {
            starts.push(rule.min_bytes);
            starts.extend(rule.max_bytes.checked_add(1));
        }
        starts.sort_unstable();
        starts.dedup();
        let mut this = Self::default();
        for start in starts {
            let first = this.candidates.len();
            for rule in rules.iter().filter(|rule| (rule.min_bytes..=rule.max_bytes).contains(&start)) {
                let pair = rule.pair.map(|(algorithm, protocol)| (algorithm.code() as u8, protocol.code() as u8));
                let answer = Decision { pair, channels: rule.channels };
                let candidate = Candidate { answer, pipe_ops: rule.pipe_ops, line: rule.line, was_logged: false };
                if !this.candidates[first..].iter().any(|earlier| earlier.hides(&candidate)) {
                    this.candidates.push(candidate);
                }
            }
            this.starts.push(start);
            this.firsts.push(first as u32);
        }
        this.firsts.push(this.candidates.len() as u32);
        this
    }

    fn at(&mut self, bytes: u64) -> &mut [Candidate] {
        // The first range begins at 0.
        let range = self.starts.partition_point(|start| *start <= bytes).saturating_sub(1);
        match (self.firsts.get(range), self.firsts.get(range + 1)) {
            (Some(first), Some(end)) => self.candidates.get_mut(*first as usize..*end as usize).unwrap_or_default(),
            _ => &mut [],
        }
    }
}

#[cfg(test)]
mod tests {
    use collectune::{conf::strict::read, math::Stream};

    use super::*;

    struct Without(Option<(u8, u8)>);

    impl Availability for Without {
        fn has(&self, algorithm: u8, protocol: u8) -> bool {
            self.0 != Some((algorithm, protocol))
        }
    }

    /// As the grammar says it: rule by rule.
    fn by_the_book(rules: &[Rule], scale: Scale, call: &Call, available: &impl Availability) -> Decision {
        for rule in rules {
            let pair = rule.pair.map(|(algorithm, protocol)| (algorithm.code() as u8, protocol.code() as u8));
            if COLLECTIVES[call.coll as usize].1 == rule.collective
                && (rule.min_bytes..=rule.max_bytes).contains(&call.bytes)
                && rule.nodes.is_none_or(|nodes| nodes == scale.nodes)
                && rule.ranks.is_none_or(|ranks| ranks == scale.ranks)
                && rule.pipe_ops.is_none_or(|ops| ops as i32 == call.pipe_ops)
                && pair.is_none_or(|(algorithm, protocol)| available.has(algorithm, protocol))
            {
                return Decision { pair, channels: rule.channels };
            }
        }
        Decision::DEFER
    }

    #[test]
    fn ranges_answer_as_the_rules_do() {
        let mut stream = Stream::new(5);
        let mut touched = 0;
        for _ in 0..60 {
            let mut conf = String::new();
            for _ in 0..stream.below(40) {
                let (a, b) = (stream.below(64) as u64, stream.below(64) as u64);
                let (from, to) = (a.min(b), if stream.below(9) == 0 { u64::MAX } else { a.max(b) });
                let pair = ["tree,ll", "ring,simple", "ring,ll128", "auto,-1", "pat,simple"][stream.below(5)];
                let collective = COLLECTIVES[3 + stream.below(2)].0;
                let tail = ["-1,-1", "2,16", "2,-1,1", "1,8", "-1,-1,2"][stream.below(5)];
                conf += &format!("{collective},{from},{to},{pair},{},{tail}\n", stream.below(9));
            }
            let rules = read(conf.as_bytes());
            let scale = Scale { nodes: 2, ranks: 16 };
            let (mut ranges, _) = Ranges::new(&rules, scale, false);
            for bytes in (0..66).chain([u64::MAX]) {
                for (coll, pipe_ops) in [(3, 1), (4, 1), (4, 2), (0, 1)] {
                    for without in [None, Some((1, 2)), Some((0, 0))] {
                        let call = Call { coll, bytes, pipe_ops };
                        let expected = by_the_book(&rules, scale, &call, &Without(without));
                        assert!(ranges.decide(&call, &Without(without)).0 == expected, "{conf}\n{bytes} {coll}");
                        touched += usize::from(expected != Decision::DEFER);
                    }
                }
            }
        }
        assert!(touched > 10_000, "{touched}");
    }

    #[test]
    fn a_collective_of_another_number_is_left_alone() {
        let rules = read(b"allreduce,0,-1,ring,ll,4,-1,-1\n");
        let (mut ranges, count) = Ranges::new(&rules, Scale { nodes: 1, ranks: 8 }, false);
        assert_eq!(count, 1);
        for coll in [-1, 5, 99, i32::MIN, i32::MAX] {
            let call = Call { coll, bytes: 8, pipe_ops: 1 };
            assert!(ranges.decide(&call, &Without(None)).0 == Decision::DEFER);
        }
    }
}
