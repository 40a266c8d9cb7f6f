//! Logs that say the same twice: copies of a run are no second run.

use super::{
    attribution::{Attributed, Observation},
    read::{Log, NamedLog},
};
use crate::order::CompactSort;

/// The fewest lines of a copy, and the fewest different latencies among them: fewer may well be equal by chance.
const LEAST: [usize; 2] = [5, 3];

/// The most times that a log is looked for in itself.
const MOST_REPEATS: usize = 16;

/// Takes the lines out of logs that are copies of others or parts of them, or of other ranks of the same run, and those
/// behind the first where a log was appended to itself, with a note for each.
pub fn take_out(logs: &mut [Option<Attributed>], named: &[NamedLog]) -> Vec<String> {
    let mut notes = Vec::new();
    let names: Vec<&str> = named.iter().map(|named| named.name.as_str()).collect();
    for index in 0..logs.len() {
        let (before, rest) = logs.split_at_mut(index);
        let Some(log) = &mut rest[0] else { continue };
        let lines = log.lines.len();
        let mut repeats = (2..=MOST_REPEATS).rev().filter(|times| lines > 0 && lines.is_multiple_of(*times));
        let repeated = repeats.find(|times| {
            let mut parts = log.lines.chunks(lines / times);
            let first = parts.next().unwrap_or_default();
            is_long_enough(first) && parts.all(|part| is_same(first, part))
        });
        if let Some(times) = repeated {
            log.lines.truncate(lines / times);
            notes.push(format!("{}: the same lines stand there {times} times, and count once", names[index]));
        }
        for (place, other) in before.iter_mut().enumerate() {
            let Some(other) = other.as_mut().filter(|other| !other.lines.is_empty() && !log.lines.is_empty()) else {
                continue;
            };
            let (own, name) = (names[index], names[place]);
            if holds(&other.lines, &log.lines) {
                let what = if other.lines.len() == log.lines.len() { "a copy" } else { "a part" };
                log.lines.clear();
                notes.push(format!("{own} is {what} of {name}, and counts once"));
            } else if holds(&log.lines, &other.lines) {
                other.lines.clear();
                notes.push(format!("{name} is a part of {own}, and counts once"));
            } else if is_of_other_rank(&named[place].log, &named[index].log) && has_same_calls(&other.lines, &log.lines)
            {
                let is_later = named[place].log.rank < named[index].log.rank;
                let (left_out, used) = if is_later { (own, name) } else { (name, own) };
                if is_later {
                    log.lines.clear();
                } else {
                    other.lines.clear();
                }
                notes.push(format!(
                    "{left_out} is of another rank of the run of {used}, and is left out: lines of the same call are not \
                     independent"
                ));
            }
        }
    }
    notes
}

/// Whether two logs may be of two ranks of one run: they say different ranks, and no times that lie apart.
fn is_of_other_rank(one: &Log, other: &Log) -> bool {
    let differ = one.rank.zip(other.rank).is_some_and(|(one, other)| one != other);
    let lie_apart = one.times.zip(other.times).is_some_and(|(one, other)| one[1] < other[0] || other[1] < one[0]);
    differ && !lie_apart
}

/// Whether the same arms ran at the same calls, but for a few at the end of one of them.
fn has_same_calls(one: &[Observation], other: &[Observation]) -> bool {
    let (least, most) = (one.len().min(other.len()), one.len().max(other.len()));
    least >= LEAST[0] && least * 10 >= most * 9 && one.iter().zip(other).all(|(a, b)| (a.key, a.arm) == (b.key, b.arm))
}

/// Whether some lines stand within others, one after the other.
fn holds(whole: &[Observation], part: &[Observation]) -> bool {
    part.len() <= whole.len() && whole.windows(part.len()).any(|lines| is_same(lines, part)) && is_long_enough(part)
}

fn is_long_enough(lines: &[Observation]) -> bool {
    let mut latencies: Vec<u64> = lines.iter().map(|line| line.latency_ms.to_bits()).collect();
    latencies.compact_sort();
    latencies.dedup();
    lines.len() >= LEAST[0] && latencies.len() >= LEAST[1]
}

fn is_same(first: &[Observation], second: &[Observation]) -> bool {
    let of = |line: &Observation| (line.key, line.arm, line.latency_ms.to_bits());
    first.len() == second.len() && first.iter().zip(second).all(|(a, b)| of(a) == of(b))
}
