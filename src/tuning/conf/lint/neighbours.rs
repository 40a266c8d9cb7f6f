//! Findings on rules beside their neighbours: those of the same collective, nodes and ranks, by ascending size.

use super::{Code, LintFindings, Severity};
use crate::{
    order::CompactSort,
    tuning::conf::{reader::Channels, rule::Rule},
};

/// Channels of a rule that are this many times those of both neighbours, or this fraction, are a spike.
const SPIKE: u64 = 4;
/// A hole of less than this share of its lower end is one between rules that were meant to meet.
const HOLE: u64 = 50;

/// Looks for rules with far more or far fewer channels than both neighbours, and for holes between rules that were
/// meant to meet.
pub(super) fn neighbours(rules: &[Rule], findings: &mut LintFindings) {
    let key = |rule: &Rule| (rule.collective, rule.nodes, rule.ranks);
    let mut sorted: Vec<&Rule> = rules.iter().filter(|rule| rule.min_bytes <= rule.max_bytes).collect();
    sorted.compact_sort_by_key(|rule| (key(rule), rule.min_bytes, rule.line));
    for group in sorted.chunk_by(|a, b| key(a) == key(b)) {
        for triple in group.windows(3) {
            spike(triple, findings);
        }
        let mut end = None;
        for rule in group {
            if let Some(start) = end {
                hole(start, rule, findings);
            }
            end = end.max(rule.max_bytes.checked_add(1)).filter(|_| rule.max_bytes < u64::MAX);
            if end.is_none() {
                break;
            }
        }
    }
}

fn spike(triple: &[&Rule], findings: &mut LintFindings) {
    let channels = |rule: &Rule| match rule.requested_channels(findings.reader) {
        Channels::Count(channels) => Some(u64::from(channels)),
        _ => None,
    };
    let [before, rule, after] = triple else { return };
    let (Some(below), Some(own), Some(above)) = (channels(before), channels(rule), channels(after)) else { return };
    if own * SPIKE > below.min(above) && own < SPIKE * below.max(above) {
        return;
    }
    let message = format!(
        "channel count {own} between neighbours of {below} (smaller sizes) and {above} (larger sizes): noise of one \
         measurement looks so; measure {} again",
        findings.sizes(rule.min_bytes, rule.max_bytes)
    );
    findings.push(rule.line, Code::ChannelSpike, Severity::Note, message);
}

/// The hole from `start`, the first size after the rules below, to the begin of `rule`.
fn hole(start: u64, rule: &Rule, findings: &mut LintFindings) {
    let Some(width) = rule.min_bytes.checked_sub(start).filter(|width| *width > 0) else { return };
    if width < start / HOLE {
        let message = format!(
            "no rule matches the {width} bytes{} from {start} to {}, less than 2 % of the size: the rules were meant to \
             meet; let this one begin at {start}",
            if rule.per_rank { " per rank" } else { "" },
            rule.min_bytes - 1
        );
        findings.push(rule.line, Code::BoundaryGap, Severity::Note, message);
    }
}
