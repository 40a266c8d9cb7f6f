//! Logs that say the same twice: copies of a run are no second run.

use super::attribution::{Attributed, Observation};
use crate::order::CompactSort;

/// The fewest lines of a copy, and the fewest different latencies among them: fewer may well be equal by chance.
const LEAST: [usize; 2] = [5, 3];

/// The most times that a log is looked for in itself.
const MOST_REPEATS: usize = 16;

/// Takes the lines out of logs that are copies of earlier ones, and those behind the first where a log was appended to
/// itself, with a note for each.
pub fn take_out(logs: &mut [Option<Attributed>], names: &[&str]) -> Vec<String> {
    let mut notes = Vec::new();
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
        let earlier = before.iter().zip(names).find(|(other, _)| {
            other.as_ref().is_some_and(|other| is_long_enough(&other.lines) && is_same(&other.lines, &log.lines))
        });
        if let Some((_, name)) = earlier {
            log.lines.clear();
            notes.push(format!("{} is a copy of {name}, and counts once", names[index]));
        }
    }
    notes
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
