//! Findings on a rule by itself.

use super::{Code, LintFindings, Severity};
use crate::{
    collective::{Scale, Workload},
    tuning::{
        conf::{reader::Channels, rule::Rule},
        support::{Substitute, SupportMatrix, SupportOutcome},
    },
    units::Size,
};

/// The most channels: RCCL passes them in a field of eight bits.
const MAX_CHANNELS: i32 = 255;

/// The node counts at which a rule for any number of nodes is checked: one, two, and many.
const ANY_NODES: [u32; 3] = [1, 2, 1000];

/// Adds the findings on one rule.
pub(super) fn rule(rule: &Rule, support: &SupportMatrix, findings: &mut LintFindings) {
    if rule.min_bytes > rule.max_bytes {
        let message =
            format!("minbytes {} is above maxbytes {}: the rule never matches", rule.min_bytes, rule.max_bytes);
        findings.push(rule.line, Code::EmptyRange, Severity::Dead, message);
    } else if let Some((name, number)) = nobody(rule) {
        let message = format!("no communicator has {number} {name}: the rule never matches");
        findings.push(rule.line, Code::EmptyRange, Severity::Dead, message);
    }
    channels(rule, findings);
    can_run(rule, support, findings);
}

/// The field of a rule with a number of nodes or ranks that no communicator has, and that number.
fn nobody(rule: &Rule) -> Option<(&'static str, i32)> {
    let numbers = [("nodes", rule.nodes), ("ranks", rule.ranks)];
    numbers.into_iter().find(|(_, number)| *number < 1 && *number != -1)
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
            (Severity::Changes, format!("{number} is handed to the library as a maximum: undefined"))
        }
        (MAX_CHANNELS.., _) if number > MAX_CHANNELS => (
            Severity::Changes,
            format!("{number} passes through a field of eight bits in RCCL, where 256 crashes and 280 acts as 24"),
        ),
        _ => return,
    };
    findings.push(rule.line, Code::Channels, severity, what);
}

/// The node counts at which a rule is checked.
pub(super) fn nodes(rule: &Rule) -> Vec<u32> {
    match u32::try_from(rule.nodes) {
        Ok(nodes) => vec![nodes],
        Err(_) => ANY_NODES.to_vec(),
    }
}

/// Whether the combination of a rule can't run at any node count that the rule matches.
pub(super) fn is_ruled_out(rule: &Rule, support: &SupportMatrix) -> bool {
    outcomes(rule, support, rule.max_bytes)
        .is_some_and(|mut all| all.all(|(_, o)| matches!(o, SupportOutcome::RuledOut(_))))
}

/// Whether the combination of a rule can run at a size, for each number of nodes that it matches; `None` for a rule
/// without a combination.
fn outcomes(
    rule: &Rule,
    support: &SupportMatrix,
    size_bytes: u64,
) -> Option<impl Iterator<Item = (Workload, SupportOutcome)>> {
    let (algorithm, protocol) = (rule.algorithm?, rule.protocol?);
    let collective = rule.collective;
    Some(nodes(rule).into_iter().map(move |nodes| {
        let workload = Workload { collective, scale: Scale { nodes, ranks: nodes }, size_bytes };
        (workload, support.outcome(&workload, algorithm, protocol))
    }))
}

fn can_run(rule: &Rule, support: &SupportMatrix, findings: &mut LintFindings) {
    let (Some(algorithm), Some(protocol)) = (rule.algorithm, rule.protocol) else { return };
    let reason = |workload: &Workload| support.reason(workload, algorithm, protocol);
    let asked = format!("{algorithm}/{protocol} for {}", rule.collective);
    let Some(at_most) = outcomes(rule, support, rule.max_bytes) else { return };
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
    let Some(mut at_least) = outcomes(rule, support, rule.min_bytes) else { return };
    let becomes = at_least.find_map(|(workload, outcome)| match outcome {
        SupportOutcome::Becomes(algorithm, protocol) => Some((workload, algorithm, protocol)),
        _ => None,
    });
    if let Some((workload, instead, with)) = becomes {
        let end = support.limits(rule.collective, workload.scale.nodes).filter(|end| *end >= rule.min_bytes).min();
        let end = end.map_or(String::new(), |end| format!(" up to {}", Size(end.min(rule.max_bytes))));
        let message = format!("{asked}: {instead}/{with} runs{end} whatever is asked, with the rule's channels");
        findings.push(rule.line, Code::Substituted, Severity::Note, message);
    }
}
