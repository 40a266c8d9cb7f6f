//! Findings that depend on the library, its version and the GPU: the library's own table, which the file displaces, and
//! paths that never ask a tuner.

use std::collections::BTreeMap;

use super::{Code, LintFindings, Severity, ranges::sizes, rules::is_ruled_out};
use crate::{
    collective::{Collective, Scale},
    conf::built_in::Table,
    order::CompactSort,
    tuning::{
        conf::{
            reader::{Channels, Reader},
            rule::Rule,
        },
        platform::{Gpu, Library, Platform, Version},
        support::SupportMatrix,
    },
    units::Size,
};

/// Looks for what the library would do without this file, and does not with it.
pub(super) fn library(rules: &[Rule], platform: Platform, support: &SupportMatrix, findings: &mut LintFindings) {
    if platform.library != Library::Rccl {
        return;
    }
    displaced(rules, platform, support, findings);
    for rule in rules.iter().filter(|rule| rule.min_bytes <= rule.max_bytes) {
        if !direct(rule, platform, findings) {
            dda(rule, platform, findings);
        }
    }
}

/// The sizes at which rows of a table answer and no rule does, by collective and scale.
type Uncovered = BTreeMap<(Collective, Scale), Vec<(u64, u64)>>;

/// Sizes that the library's own table would decide, and this file leaves open.
fn displaced(rules: &[Rule], platform: Platform, support: &SupportMatrix, findings: &mut LintFindings) {
    let Some(table) = Table::possible(platform.gpu, platform.version) else { return };
    let uncovered = uncovered(rules, &table, support, findings.reader);
    let Some(line) = rules.iter().map(|rule| rule.line).max().or(Some(1)).filter(|_| !uncovered.is_empty()) else {
        return;
    };
    let is_known = platform.gpu.is_some() && platform.version.is_some();
    let carries = findings.reader == Reader::Collectune;
    let severity = if is_known && !carries { Severity::Changes } else { Severity::Note };
    if rules.is_empty() {
        let message = format!(
            "the file has no valid rule and still takes the place of the table of {table}: load no tuner and no file, or \
             write its rows into this one (collectune tuning export)"
        );
        findings.push(line, Code::EmptyDisplaces, severity, message);
    }
    let places: Vec<String> = uncovered
        .into_iter()
        .map(|((collective, scale), parts)| {
            let parts: Vec<String> = parts.into_iter().map(|(start, end)| sizes(start, end)).collect();
            format!("{collective} on {scale}: {}", parts.join(", "))
        })
        .collect();
    let untold = match (platform.gpu, platform.version) {
        (Some(_), Some(_)) => "",
        (Some(_), None) => "; whether the library has the table can't be known without its version",
        (None, _) => "; whether the library has the table can't be known without the GPU and the version",
    };
    let instead = match (carries, findings.reader.behaviour().preset) {
        (true, _) => {
            "this plugin carries them where COLLECTUNE_TUNER_GPU and COLLECTUNE_TUNER_LIBRARY_VERSION tell it to"
        }
        (false, Channels::Library) => "with this file loaded the library's cost model decides there",
        (false, _) => "with this file loaded they run on one channel",
    };
    let message = format!(
        "no rule matches sizes at which rows of {table}'s own table answer without this file ({}); {instead}; append \
         its rows (files that this program writes have them){untold} [{}]",
        places.join("; "),
        table.of.source
    );
    findings.push(line, Code::DisplacedTable, severity, message);
}

fn uncovered(rules: &[Rule], table: &Table, support: &SupportMatrix, reader: Reader) -> Uncovered {
    let mut all = Uncovered::new();
    for row in table.rules(reader) {
        let Some(scale) = row.scale() else { continue };
        let is_about = |rule: &&Rule| {
            rule.collective == row.collective
                && rule.is_about(scale)
                && rule.min_bytes <= row.max_bytes
                && rule.max_bytes >= row.min_bytes
                && !is_ruled_out(rule, support)
        };
        let mut parts: Vec<(u64, u64)> =
            rules.iter().filter(is_about).map(|rule| (rule.min_bytes, rule.max_bytes)).collect();
        parts.compact_sort();
        let of = all.entry((row.collective, scale)).or_default();
        let mut free = |start: u64, end: u64| match of.last_mut() {
            Some(last) if last.1.checked_add(1) == Some(start) => last.1 = end,
            _ => of.push((start, end)),
        };
        let mut next = Some(row.min_bytes);
        for (start, end) in parts {
            let Some(from) = next else { break };
            if start > from {
                free(from, start - 1);
            }
            next = end.checked_add(1).map(|after| after.max(from));
        }
        if let Some(from) = next.filter(|from| *from <= row.max_bytes) {
            free(from, row.max_bytes);
        }
    }
    all.retain(|_, parts| !parts.is_empty());
    all
}

/// A rule for sizes at which the library runs all_gather directly, without asking a tuner. Returns whether it never
/// applies.
fn direct(rule: &Rule, platform: Platform, findings: &mut LintFindings) -> bool {
    let (Collective::AllGather, Some(scale)) = (rule.collective, rule.scale()) else { return false };
    let Some(limit) = direct_limit(platform, scale).filter(|limit| *limit >= rule.min_bytes) else {
        return false;
    };
    let of = platform.version.map_or_else(|| "RCCL".to_owned(), |version| format!("RCCL {version}"));
    let path = format!("{of} runs its direct all_gather up to {} here without asking a tuner", Size(limit));
    let off = "RCCL_DIRECT_ALLGATHER_DISABLE=1 turns it off";
    let (severity, message) = if rule.max_bytes <= limit {
        (Severity::Dead, format!("{path}: the rule never applies; {off}"))
    } else {
        let from = Size(limit + 1);
        (Severity::Note, format!("{path}: the rule applies from {from} on; {off}"))
    };
    findings.push(rule.line, Code::DeadRow, severity, message);
    severity == Severity::Dead
}

/// A rule for sizes at which RCCL's DDA takes the calls that models make most, without asking a tuner.
fn dda(rule: &Rule, platform: Platform, findings: &mut LintFindings) {
    use Collective::{AllGather, AllReduce, ReduceScatter};
    if !matches!(rule.collective, AllReduce | AllGather | ReduceScatter)
        || rule.scale() != Some(Scale { nodes: 1, ranks: 8 })
    {
        return;
    }
    let Some((gpu, version)) = platform.gpu.zip(platform.version) else { return };
    let Some(limit) = Platform::dda_bytes(gpu, version).filter(|limit| *limit >= rule.min_bytes) else { return };
    let operation = if rule.collective == AllGather { "calls" } else { "sums" };
    let message = format!(
        "DDA of RCCL {version} runs {operation} of fp32, fp16 and bf16 up to {} here without asking a tuner: of these sizes \
         the rule decides other calls only; RCCL_DDA_ENABLE=0 turns it off",
        Size(limit)
    );
    findings.push(rule.line, Code::DeadRow, Severity::Note, message);
}

/// Up to how many bytes RCCL's all_gather is direct on a GPU and scale; `None` where it isn't, and on so many nodes
/// that a variable decides.
///
/// Before 2.31 the comment of rccl_tuner_gfx950.conf (ROCm/rccl 60e551c4) says 4 MiB for several nodes. Where the
/// version isn't known, it is the lowest.
fn direct_limit(platform: Platform, scale: Scale) -> Option<u64> {
    const BEFORE: u64 = 4 << 20;
    let is_new = platform.version.is_some_and(|version| version.is_from(Version::new(2, 31)));
    let limit = Platform::direct_all_gather_bytes(platform.gpu?, scale)?;
    match (platform.gpu?, scale.nodes) {
        (Gpu::Gfx(0x950), 64..) => None,
        (Gpu::Gfx(0x950), 2..) if !is_new => Some(BEFORE),
        _ => Some(limit),
    }
}
