//! Findings on a rule by itself.

use std::ops::RangeInclusive;

use super::{Code, LintFindings, Severity};
use crate::{
    collective::{Scale, Workload},
    conf::interval::Interval,
    order::CompactSort,
    tuning::{
        conf::{
            reader::{Channels, Reader},
            rule::Rule,
        },
        support::{Substitute, SupportMatrix, SupportOutcome},
    },
    units::Size,
};

/// The most channels: RCCL passes them in a field of eight bits.
const MAX_CHANNELS: i32 = 255;

/// The node counts at which a rule for any number of nodes is checked: one, two, and many. Of a rule for several
/// numbers those of them that match, and its ends.
const ANY_NODES: [u32; 3] = [1, 2, 1000];

/// Adds the findings on one rule.
pub(super) fn rule(rule: &Rule, support: &SupportMatrix, findings: &mut LintFindings) {
    if rule.min_bytes > rule.max_bytes {
        let message = if rule.per_rank {
            "no size lies between the ends of bytesPerRank: the rule never matches; a square bracket includes an end"
                .to_owned()
        } else {
            format!("minbytes {} is above maxbytes {}: the rule never matches", rule.min_bytes, rule.max_bytes)
        };
        findings.push(rule.line, Code::EmptyRange, Severity::Dead, message);
    } else if let Some((name, number)) = nobody(rule) {
        let message = format!("no communicator has {number} {name}: the rule never matches");
        findings.push(rule.line, Code::EmptyRange, Severity::Dead, message);
    } else if !rule.per_rank && rule.nodes.min > rule.ranks.max {
        let Rule { nodes, ranks, .. } = rule;
        let message = format!(
            "no communicator has {nodes} nodes and {ranks} ranks in all: the rule never matches; are the two swapped?"
        );
        findings.push(rule.line, Code::EmptyRange, Severity::Dead, message);
    }
    channels(rule, findings);
    can_run(rule, support, findings);
}

/// The field of a rule with numbers of nodes or ranks that no communicator has, and those numbers.
fn nobody(rule: &Rule) -> Option<(&'static str, Interval)> {
    let numbers = [("nodes", rule.nodes), ("ranks", rule.ranks)];
    numbers.into_iter().find(|(_, numbers)| numbers.max < numbers.min.max(1))
}

fn channels(rule: &Rule, findings: &mut LintFindings) {
    let reader = findings.reader;
    let number = rule.channels;
    let (severity, what) = match (number, rule.requested_channels(reader)) {
        (-1, Channels::Count(preset)) => {
            (Severity::Changes, format!("-1 leaves {preset} channel, which is set before a rule is looked for"))
        }
        (-1, _) => return,
        (0, _) => (Severity::Note, "0 leaves the number to the library".to_owned()),
        (_, Channels::Library) => {
            (Severity::Note, format!("{number} is ignored with a warning; the library chooses the number"))
        }
        (_, Channels::Negative(_)) => {
            (Severity::Changes, format!("{number} is handed to the library as a maximum: undefined; write -1"))
        }
        // The one reader that RCCL never has.
        (MAX_CHANNELS.., _) if number > MAX_CHANNELS && reader != Reader::Ncclx => (
            Severity::Changes,
            format!("{number} passes through a field of eight bits in RCCL, where 256 crashes and 280 acts as 24"),
        ),
        _ => return,
    };
    findings.push(rule.line, Code::Channels, severity, what);
}

/// The node counts at which a rule is checked.
pub(super) fn nodes(rule: &Rule) -> Vec<u32> {
    let some = |number: i64| u32::try_from(number).ok().filter(|nodes| *nodes > 0);
    if let Some(nodes) = rule.nodes.count() {
        return vec![nodes];
    }
    let inside = ANY_NODES.into_iter().filter(|nodes| rule.nodes.contains(i64::from(*nodes)));
    let mut all: Vec<u32> = inside.chain(some(rule.nodes.min)).chain(some(rule.nodes.max)).collect();
    if all.is_empty() {
        all = ANY_NODES.to_vec();
    }
    all.compact_sort();
    all.dedup();
    all
}

/// Whether the combination of a rule can't run at any node count that the rule matches.
pub(super) fn is_ruled_out(rule: &Rule, support: &SupportMatrix) -> bool {
    outcomes(rule, support, |sizes| *sizes.end())
        .is_some_and(|mut all| all.all(|(_, o)| matches!(o, SupportOutcome::RuledOut(_))))
}

/// Whether the combination of a rule can run at one of its sizes, for each number of nodes that it matches; `None` for
/// a rule without a combination.
fn outcomes(
    rule: &Rule,
    support: &SupportMatrix,
    size: fn(&RangeInclusive<u64>) -> u64,
) -> Option<impl Iterator<Item = (Workload, SupportOutcome)>> {
    let (algorithm, protocol) = (rule.algorithm?, rule.protocol?);
    let rule = *rule;
    Some(nodes(&rule).into_iter().map(move |nodes| {
        let local_ranks = rule.ranks.count().filter(|_| rule.per_rank).unwrap_or(1).max(1);
        let scale = Scale { nodes, ranks: nodes.saturating_mul(local_ranks) };
        let workload = Workload { collective: rule.collective, scale, size_bytes: size(&rule.sizes_on(scale)) };
        (workload, support.outcome(&workload, algorithm, protocol))
    }))
}

fn can_run(rule: &Rule, support: &SupportMatrix, findings: &mut LintFindings) {
    let (Some(algorithm), Some(protocol)) = (rule.algorithm, rule.protocol) else { return };
    let reason = |workload: &Workload| support.reason(workload, algorithm, protocol);
    let asked = format!("{algorithm}/{protocol} for {}", rule.collective);
    let Some(at_most) = outcomes(rule, support, |sizes| *sizes.end()) else { return };
    let at_most: Vec<(Workload, SupportOutcome)> = at_most.collect();
    let ruled_out = |(workload, outcome): &(Workload, SupportOutcome)| match outcome {
        SupportOutcome::RuledOut(substitute) => Some((*workload, *substitute)),
        _ => None,
    };
    let out: Vec<(Workload, Substitute)> = at_most.iter().filter_map(ruled_out).collect();
    if let Some((workload, substitute)) = out.first() {
        let (code, of_all) = match substitute {
            Substitute::Another => (Code::Substituted, Severity::Changes),
            Substitute::Nothing => (Code::Unsupported, Severity::Dead),
        };
        let everywhere = out.len() == at_most.len();
        let message = format!(
            "{asked}: {}; the rule is passed over{} and the search goes on",
            reason(workload),
            if everywhere { "" } else { " there" }
        );
        return findings.push(rule.line, code, if everywhere { of_all } else { Severity::Note }, message);
    }
    let Some(mut at_least) = outcomes(rule, support, |sizes| *sizes.start()) else { return };
    let becomes = at_least.find_map(|(workload, outcome)| match outcome {
        SupportOutcome::Becomes(algorithm, protocol) => Some((workload, algorithm, protocol)),
        _ => None,
    });
    if let Some((workload, instead, with)) = becomes {
        let sizes = rule.sizes_on(workload.scale);
        let end = support.limits(rule.collective, workload.scale.nodes).filter(|end| end >= sizes.start()).min();
        let end = end.map_or(String::new(), |end| format!(" up to {}", Size(end.min(*sizes.end()))));
        let message = format!("{asked}: {instead}/{with} runs{end} whatever is asked, with the rule's channels");
        findings.push(rule.line, Code::Substituted, Severity::Note, message);
    }
}
