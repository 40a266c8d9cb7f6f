//! Findings between rules: sizes that two of them match, and sizes that none does.

use std::collections::BTreeMap;

use super::{Code, LintFindings, Severity, rules::is_ruled_out};
use crate::{
    collective::{Collective, Scale},
    conf::{built_in, interval::Interval, rule::ncclx_ranks},
    order::{CompactCollect, CompactSort},
    tuning::{
        conf::{
            choose::{Effect, Entry},
            reader::{Channels, Reader},
            rule::{PIPE_OPS, REG_BUFF, Rule},
            words::COLLECTIVES,
        },
        support::SupportMatrix,
        sweep::Sweep,
    },
    units::{Size, count},
};

/// The most steps, so that no file takes long: a thousand times what a large tuner file needs.
const MAX_STEPS: u64 = 20_000_000;

/// Looks for overlaps and gaps.
pub(super) fn ranges(rules: &[Rule], support: &SupportMatrix, sweep: Option<&Sweep>, findings: &mut LintFindings) {
    let mut steps = 0;
    let is_empty = |rule: &Rule| rule.min_bytes > rule.max_bytes || rule.nodes.is_empty() || rule.ranks.is_empty();
    let matching: Vec<&Rule> = rules.iter().filter(|rule| !is_empty(rule) && !is_ruled_out(rule, support)).collect();
    let finished = overlaps(&matching, findings, &mut steps) && gaps(&matching, sweep, findings, &mut steps);
    if let (false, Some(last)) = (finished, rules.last()) {
        let message = "there are too many rules to look for all overlaps and gaps: some were not looked for";
        findings.push(last.line, Code::Overlap, Severity::Note, message);
    }
}

/// Nodes, ranks, numPipeOps and regBuff that a rule is about.
type Key = [Interval; 4];

fn key(rule: &Rule) -> Key {
    [rule.nodes, rule.ranks, Interval::of_c(rule.pipe_ops), Interval::of_c(rule.reg_buff)]
}

fn meets(a: Key, b: Key) -> bool {
    a.into_iter().zip(b).all(|(a, b)| a.meets(b))
}

fn holds(outer: Key, inner: Key) -> bool {
    outer.into_iter().zip(inner).all(|(outer, inner)| outer.holds(inner))
}

/// The first and the last range in their order.
const LEAST: Interval = Interval { min: i64::MIN, max: i64::MIN };
const MOST: Interval = Interval { min: i64::MAX, max: i64::MAX };

/// Ranges of sizes that do not overlap, each with the rule that matches first.
#[derive(Default)]
struct Ranges(BTreeMap<u64, (u64, usize)>);

impl Ranges {
    /// The parts of min..=max that are taken, ascending.
    fn taken(&self, min: u64, max: u64) -> impl Iterator<Item = (u64, u64, usize)> {
        let before = self.0.range(..min).next_back();
        let touching = before.into_iter().chain(self.0.range(min..=max));
        touching
            .filter(move |(_, (end, _))| *end >= min)
            .map(move |(start, (end, owner))| ((*start).max(min), (*end).min(max), *owner))
    }

    /// Takes what is free of min..=max.
    fn take(&mut self, min: u64, max: u64, owner: usize) {
        let mut free = Some(min);
        let mut parts = Vec::new();
        for (start, end, _) in self.taken(min, max) {
            if let Some(from) = free.filter(|from| *from < start) {
                parts.push((from, start - 1));
            }
            free = end.checked_add(1);
        }
        parts.extend(free.filter(|from| *from <= max).map(|from| (from, max)));
        self.0.extend(parts.into_iter().map(|(start, end)| (start, (end, owner))));
    }
}

fn effect(rule: &Rule, reader: Reader) -> Effect {
    let entry = match (rule.algorithm, rule.protocol) {
        (Some(algorithm), Some(protocol)) => Entry::Forced(algorithm, protocol),
        (None, None) => Entry::Library,
        _ => Entry::OutsideTable,
    };
    Effect { entry, channels: rule.requested_channels(reader) }
}

/// Sweeps over the rules in their order; each finds what the earlier ones left. False where there are too many.
fn overlaps(rules: &[&Rule], findings: &mut LintFindings, steps: &mut u64) -> bool {
    let reader = findings.reader;
    let built_in = built_in::rows(reader);
    let mut earlier: BTreeMap<(Collective, Key), Ranges> = BTreeMap::new();
    for (index, rule) in rules.iter().enumerate() {
        let own = key(rule);
        let (min, max) = (rule.min_bytes, rule.max_bytes);
        let of_collective = (rule.collective, [LEAST; 4])..=(rule.collective, [MOST; 4]);
        let mut taken: Vec<(u64, u64, usize)> = Vec::new();
        let mut held: Vec<(u64, u64)> = Vec::new();
        for ((_, other), ranges) in earlier.range(of_collective) {
            *steps += 1;
            if meets(*other, own) {
                let before = taken.len();
                taken.extend(ranges.taken(min, max));
                *steps += (taken.len() - before) as u64;
                if holds(*other, own) {
                    held.extend(taken[before..].iter().map(|(start, end, _)| (*start, *end)));
                }
            }
            if *steps > MAX_STEPS {
                return false;
            }
        }
        earlier.entry((rule.collective, own)).or_default().take(min, max, index);
        let Some((start, end, first)) = taken.iter().copied().min_by_key(|(start, _, owner)| (*owner, *start)) else {
            continue;
        };
        let mut owners: Vec<usize> = taken.iter().map(|(_, _, owner)| *owner).collect();
        owners.compact_sort();
        owners.dedup();
        let others = match owners.len() - 1 {
            0 => String::new(),
            more => format!(" and {}", count(more as u64, "more rule")),
        };
        let winner = rules[first].line;
        let verb = if others.is_empty() { "matches" } else { "match" };
        let is_fallback = built_in.iter().any(|row| row.says(rule));
        let same = owners.iter().all(|owner| effect(rules[*owner], reader) == effect(rule, reader));
        if is_full(held, min, max) {
            let message = format!("line {winner}{others} {verb} first wherever this rule does: it never applies");
            let severity = if is_fallback { Severity::Note } else { Severity::Dead };
            findings.push(rule.line, Code::Overlap, severity, message);
        } else {
            let place = findings.sizes(start, end);
            let (severity, what) = if is_fallback {
                let what = "as is meant for this row of the library's own table: it answers where no other rule does";
                (Severity::Note, what.to_owned())
            } else if same {
                (Severity::Note, "with the same effect".to_owned())
            } else {
                let (instead, own) = (effect(rules[first], reader), effect(rule, reader));
                (Severity::Changes, format!("so {instead} runs there, not {own}"))
            };
            let message = format!("line {winner}{others} {verb} first for {place}, {what}");
            findings.push(rule.line, Code::Overlap, severity, message);
        }
    }
    true
}

/// Whether the parts together cover all sizes from `min` to `max`, both included.
fn is_full(mut parts: Vec<(u64, u64)>, min: u64, max: u64) -> bool {
    parts.compact_sort();
    let mut next = min;
    for (start, end) in parts {
        if start > next {
            return false;
        }
        if end >= max {
            return true;
        }
        next = next.max(end + 1);
    }
    false
}

/// By collective, nodes and ranks.
type RulesByScale<'a> = BTreeMap<(Collective, Interval, Interval), Vec<&'a Rule>>;

/// Sizes of a collective and scale that no rule matches, those that are about anything included. False where there are
/// too many rules.
fn gaps(rules: &[&Rule], sweep: Option<&Sweep>, findings: &mut LintFindings, steps: &mut u64) -> bool {
    let covers_all = !findings.reader.behaviour().keeps_default;
    let is_usual = |rule: &Rule| {
        [(rule.pipe_ops, PIPE_OPS), (rule.reg_buff, REG_BUFF)]
            .iter()
            .all(|(is, usual)| *is == -1 || *is == *usual as i32)
    };
    let scale = |rule: &Rule| (rule.collective, rule.nodes, rule.ranks);
    let mut usual: Vec<&Rule> = rules.iter().copied().filter(|rule| is_usual(rule)).collect();
    usual.compact_sort_by_key(|rule| scale(rule));
    let by_scale: RulesByScale =
        usual.chunk_by(|a, b| scale(a) == scale(b)).map(|rules| (scale(rules[0]), rules.to_vec())).compact_collect();
    // Numbers that are neither all nor one, as only NCCLX has them, hold others that can't be looked up.
    let is_several = |of: Interval| of != Interval::ANY && of.min != of.max;
    let several: Vec<(Collective, Interval, Interval)> =
        by_scale.keys().copied().filter(|(_, nodes, ranks)| is_several(*nodes) || is_several(*ranks)).collect();
    for (collective, nodes, ranks) in by_scale.keys().copied() {
        let any = Interval::ANY;
        let mut keys = vec![(nodes, ranks), (any, ranks), (nodes, any), (any, any)];
        let holds =
            |(of, n, r): &(Collective, Interval, Interval)| *of == collective && n.holds(nodes) && r.holds(ranks);
        keys.extend(several.iter().filter(|key| holds(key)).map(|(_, n, r)| (*n, *r)));
        *steps += several.len() as u64;
        keys.compact_sort();
        keys.dedup();
        let of_scale = keys.iter().filter_map(|(n, r)| by_scale.get(&(collective, *n, *r))).flatten();
        let mut parts: Vec<(u64, u64, u32)> =
            of_scale.map(|rule| (rule.min_bytes, rule.max_bytes, rule.line)).collect();
        *steps += parts.len() as u64;
        if *steps > MAX_STEPS {
            return false;
        }
        parts.compact_sort();
        let free = free(&parts, covers_all);
        let Some((start, end, line)) = free.first().copied() else { continue };
        let of_group = by_scale.get(&(collective, nodes, ranks)).and_then(|rules| rules.first());
        let place = format!("{collective} on {}", scale_name(nodes, ranks, of_group.is_some_and(|rule| rule.per_rank)));
        let which = match free.len() {
            1 => format!("no rule matches {}", findings.sizes(start, end)),
            many => format!("no rule matches {many} ranges of sizes, the first {}", findings.sizes(start, end)),
        };
        let measured = match (sweep, of_group.and_then(|rule| Some((rule, rule.scale()?)))) {
            (Some(sweep), Some((rule, scale))) => measured(sweep, rule, scale, &free),
            _ => String::new(),
        };
        let (severity, what) = consequence(findings.reader);
        findings.push(line, Code::Gap, severity, format!("{place}: {which}: {what}{measured}"));
    }
    if covers_all {
        elsewhere(&by_scale, rules.iter().map(|rule| rule.line).max().unwrap_or(1), findings);
    }
    true
}

/// A range of sizes in words.
pub(super) fn sizes(start: u64, end: u64) -> String {
    match end {
        u64::MAX => format!("{} and more", Size(start)),
        end if end == start => Size(start).to_string(),
        end => format!("{} to {}", Size(start), Size(end)),
    }
}

/// The severity of a gap, and what the reader runs in it.
fn consequence(reader: Reader) -> (Severity, &'static str) {
    match reader.behaviour().preset {
        Channels::Library => (Severity::Note, "the library's cost model decides"),
        _ => (Severity::Changes, "these sizes run on one channel, not as the library's default"),
    }
}

/// Warns about collectives and scales without any rule, for a reader that can't keep the default.
fn elsewhere(by_scale: &RulesByScale, line: u32, findings: &mut LintFindings) {
    let without: Vec<&str> = COLLECTIVES
        .iter()
        .filter(|(_, collective)| by_scale.keys().all(|(known, ..)| known != collective))
        .map(|(name, _)| *name)
        .collect();
    if by_scale.is_empty() {
        let message = "no rule matches anything: every collective of every size runs on one channel";
        return findings.push(line, Code::Gap, Severity::Changes, message);
    }
    if !without.is_empty() {
        let message = format!("no rule is about {}: all their sizes run on one channel", without.join(", "));
        findings.push(line, Code::Gap, Severity::Changes, message);
    }
    if by_scale.keys().all(|(_, nodes, ranks)| (*nodes, *ranks) != (Interval::ANY, Interval::ANY)) {
        let message = "communicators of any other scale match no rule: their collectives run on one channel";
        findings.push(line, Code::Gap, Severity::Note, message);
    }
}

/// The ranges between parts that are ordered by their begin, each with the line of a rule beside it; with those before
/// the first and after the last, if asked for.
fn free(parts: &[(u64, u64, u32)], with_ends: bool) -> Vec<(u64, u64, u32)> {
    let mut free = Vec::new();
    // The first size that is still free, and the line of the rule below it; none after the largest size.
    let mut next: Option<(u64, u32)> =
        parts.first().map(|(start, _, line)| (if with_ends { 0 } else { *start }, *line));
    for (start, end, line) in parts {
        let Some((from, below)) = next else { return free };
        if *start > from {
            free.push((from, start - 1, below));
        }
        if *end >= from {
            next = end.checked_add(1).map(|after| (after, *line));
        }
    }
    if let (true, Some((from, below))) = (with_ends, next) {
        free.push((from, u64::MAX, below));
    }
    free
}

fn scale_name(nodes: Interval, ranks: Interval, per_rank: bool) -> String {
    let of = |numbers: Interval, one: &str| match numbers.count() {
        Some(number) => count(number.into(), one),
        None if numbers == Interval::ANY => format!("any {one}s"),
        None => format!("{numbers} {one}s"),
    };
    match (nodes, ranks) {
        (Interval::ANY, Interval::ANY) => "any scale".to_owned(),
        _ if per_rank => format!("{}, {} each", of(nodes, "node"), of(ranks, "rank")),
        _ => format!("{}, {}", of(nodes, "node"), of(ranks, "rank")),
    }
}

/// The measured sizes that lie in gaps between rules for a scale, of which this is one.
fn measured(sweep: &Sweep, rule: &Rule, scale: Scale, free: &[(u64, u64, u32)]) -> String {
    const MAX_SHOWN: usize = 4;
    let collective = rule.collective;
    let points = sweep.points_of(collective, scale).iter().chain(sweep.defaults_of(collective, scale));
    let mut sizes: Vec<u64> = points.map(|point| point.workload.size_bytes).collect();
    sizes.compact_sort();
    sizes.dedup();
    let divisor = if rule.per_rank { ncclx_ranks(scale).1 } else { 1 };
    let is_free = |size: &u64| {
        let size = size / divisor;
        let after = free.partition_point(|(start, ..)| *start <= size);
        after > 0 && free[after - 1].1 >= size
    };
    let inside: Vec<String> = sizes.into_iter().filter(is_free).map(|size| Size(size).to_string()).collect();
    match inside.len() {
        0 => String::new(),
        many if many > MAX_SHOWN => {
            format!("; {many} measured sizes lie in them, {} and more", inside[..MAX_SHOWN].join(", "))
        }
        _ => format!("; measured among them: {}", inside.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_keep_their_first_owner() {
        let mut ranges = Ranges::default();
        ranges.take(10, 19, 0);
        ranges.take(30, 39, 1);
        ranges.take(0, u64::MAX, 2);
        let all: Vec<_> = ranges.taken(0, u64::MAX).collect();
        assert_eq!(all, [(0, 9, 2), (10, 19, 0), (20, 29, 2), (30, 39, 1), (40, u64::MAX, 2)]);
        assert_eq!(ranges.taken(15, 31).collect::<Vec<_>>(), [(15, 19, 0), (20, 29, 2), (30, 31, 1)]);
    }

    #[test]
    fn what_is_free() {
        let parts = [(4, 7, 1), (4, 11, 2), (16, 19, 3)];
        assert_eq!(free(&parts, false), [(12, 15, 2)]);
        assert_eq!(free(&parts, true), [(0, 3, 1), (12, 15, 2), (20, u64::MAX, 3)]);
        assert_eq!(free(&[(0, u64::MAX, 1)], true), []);
        assert!(is_full(vec![(5, 9), (0, 4)], 2, 9) && !is_full(vec![(0, 4), (6, 9)], 2, 9));
        assert!(is_full(vec![(0, u64::MAX)], 0, u64::MAX));
    }
}
