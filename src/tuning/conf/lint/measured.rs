//! Rules held against a sweep.

use super::{Code, LintFindings, Severity};
use crate::{
    collective::Scale,
    tuning::{
        aggregate::Point,
        conf::{reader::Channels, rule::Rule},
        result::Group,
        sweep::Sweep,
    },
    units::Size,
};

/// Looks at each rule beside what was measured.
pub(super) fn measured(rules: &[Rule], sweep: &Sweep, findings: &mut LintFindings) {
    let groups = sweep.groups();
    for rule in rules.iter().filter(|rule| rule.min_bytes <= rule.max_bytes) {
        let of_rule: Vec<&Group> =
            groups.iter().filter(|group| group.collective == rule.collective && rule.is_about(group.scale)).collect();
        outside(rule, &of_rule, findings);
        if let Channels::Count(channels) = rule.requested_channels(findings.reader) {
            for group in of_rule {
                bounds(rule, channels, sweep, group.scale, findings);
            }
        }
    }
}

fn outside(rule: &Rule, groups: &[&Group], findings: &mut LintFindings) {
    let inside = |group: &&Group| group.sizes.iter().any(|size| rule.sizes_on(group.scale).contains(size));
    if groups.iter().any(inside) {
        return;
    }
    let measured = |group: &&Group| Some((*group.sizes.first()?, *group.sizes.last()?, rule.sizes_on(group.scale)));
    let message = match groups.iter().find_map(measured) {
        None => format!("the sweep holds no {} at this rule's scale", rule.collective),
        Some((first, last, sizes)) if *sizes.end() < first || *sizes.start() > last => {
            format!("the rule lies outside the measured sizes, {} to {}", Size(first), Size(last))
        }
        Some((_, _, sizes)) => {
            let (from, to) = (Size(*sizes.start()), Size(*sizes.end()));
            format!("no measured size lies between {from} and {to}")
        }
    };
    findings.push(rule.line, Code::OutsideSweep, Severity::Note, message);
}

/// The most channels that were measured of a scale, those apart that are read from a negative byte.
pub(in crate::tuning::conf) fn most_channels(points: &[Point]) -> Option<u32> {
    points.iter().filter(|p| !p.marks.wrapped_channels).map(|point| point.configuration.channels).max()
}

fn bounds(rule: &Rule, channels: u32, sweep: &Sweep, scale: Scale, findings: &mut LintFindings) {
    let points = sweep.points_of(rule.collective, scale);
    if let Some(most) = most_channels(points).filter(|most| channels > *most) {
        let message = format!("{channels} channels: the most that were measured on {scale} are {most}");
        findings.push(rule.line, Code::Channels, Severity::Note, message);
    }
    let defaults = sweep.defaults_of(rule.collective, scale).iter();
    let inside = defaults.filter(|d| rule.sizes_on(scale).contains(&d.workload.size_bytes));
    if let Some(message) = beside_default(channels, inside) {
        findings.push(rule.line, Code::Channels, Severity::Note, format!("{message}, on {scale}"));
    }
}

/// A warning on a number of channels above, or under half of, what the default was seen to execute.
pub(in crate::tuning::conf) fn beside_default<'a>(
    channels: u32,
    defaults: impl Iterator<Item = &'a Point>,
) -> Option<String> {
    let seen: Vec<(u32, u64)> = defaults
        .map(|default| (default.configuration.channels, default.workload.size_bytes))
        .filter(|(channels, _)| *channels > 0)
        .collect();
    let (least, at) = seen.iter().min()?;
    if channels > *least {
        return Some(format!("{channels} channels: the default ran {least} at {}", Size(*at)));
    }
    let (most, at) = seen.iter().max()?;
    (u64::from(channels) * 2 < u64::from(*most))
        .then(|| format!("{channels} channels: the default ran {most} at {}, more than twice as many", Size(*at)))
}
