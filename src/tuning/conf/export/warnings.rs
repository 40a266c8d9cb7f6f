//! Warnings to read before a tuner file is deployed.

use std::collections::BTreeSet;

use super::{
    ConfFile, ExportInput, ExportOptions,
    plan::{Plan, Span},
};
use crate::{
    order::{CompactCollect, CompactSort},
    text::excerpt,
    tuning::{
        conf::{
            lint::{Code, Severity, SimilarFindings, alike, beside_default, lint_for},
            reader::Reader,
            words::COLLECTIVES,
        },
        decision::{Decision, KeepReason},
        platform::{Gpu, Library, Platform, Version},
        result::Recommendation,
        sweep::Sweep,
    },
    units::{Size, count},
};

/// Adds the warnings about these plans.
pub(super) fn warnings(plans: &[Plan], basis: &ExportInput<'_>, options: &ExportOptions, warnings: &mut Vec<String>) {
    for plan in plans {
        for span in &plan.spans {
            warnings.extend(channels(plan, span, basis));
        }
    }
    if !options.reader.behaviour().keeps_default {
        one_channel(plans, warnings);
    }
    let is_open = |span: &Span| span.written.is_some_and(|written| written.pair.is_none());
    if options.reader == Reader::DnTuner && plans.iter().any(|plan| plan.spans.iter().any(is_open)) {
        warnings.push(
            "Rules with -1 for algorithm and protocol need a build of DN-TUNER that knows them (channels-only): earlier \
             ones read memory outside their table."
                .to_owned(),
        );
    }
    warnings.extend(nobody_reads(options));
    warnings.extend(another_gpu(options));
    warnings.extend(built_in(options));
    let has_rules = plans.iter().any(|plan| plan.spans.iter().any(|span| span.written.is_some()));
    if !plans.is_empty() && !has_rules {
        warnings.push(nothing_to_write(basis, options));
    }
    if has_rules {
        warnings.push(
            "These rules are a prediction: run the job with and without the file, interleaved, and keep what wins."
                .to_owned(),
        );
    }
}

/// The most rules of a file that is checked: the check compares them with each other.
const MOST_CHECKED: usize = 500;

/// The lines of a written file that would do nothing or something else where it is deployed, as the check of tuner
/// files finds them: a configuration that was measured may be one that a version or GPU does not run that is given.
pub(super) fn without_effect(file: &ConfFile, options: &ExportOptions) -> Vec<String> {
    let is_known = options.version.is_some() || options.gpu.is_some();
    if !is_known || file.rules > MOST_CHECKED {
        return Vec::new();
    }
    let mut found = lint_for(file.text.as_bytes(), &[options.reader], options.platform(), &Sweep::default());
    // Of other findings the warnings of the export speak.
    let is_told = |code: Code| matches!(code, Code::DeadRow | Code::Substituted | Code::Unsupported);
    found.retain(|finding| finding.severity != Severity::Note && is_told(finding.code));
    let sentence = |alike: &SimilarFindings<'_>| {
        let others = alike.lines.len().saturating_sub(1);
        let more = if others > 0 { format!(" (and {} more)", count(others as u64, "line")) } else { String::new() };
        format!("{}, line {}{more}: {}", file.name, alike.first.line, alike.first.message)
    };
    alike(&found).iter().map(sentence).collect()
}

/// Before this version RCCL has no tuner of its own that reads a file: it came with 2.28.3.
const OWN_TUNER_FROM: Version = Version::new(2, 28);

/// That the library of an export has not the reader for which it is written: only RCCL has a tuner of its own.
fn nobody_reads(options: &ExportOptions) -> Option<String> {
    let Platform { library, version, .. } = options.platform();
    if options.reader != Reader::Rccl {
        return None;
    }
    match (library, version) {
        (Library::Nccl, _) => Some("NCCL does not read this file: RCCL's own tuner does, from 2.28.3 on.".to_owned()),
        (Library::Rccl, Some(version)) if version < OWN_TUNER_FROM => {
            Some(format!("RCCL {version} has no tuner of its own that reads this file: it comes with 2.28.3."))
        }
        _ => None,
    }
}

/// That RCCL looks for a file of this name on another GPU than the one that is known, or on none.
fn another_gpu(options: &ExportOptions) -> Option<String> {
    let architecture = options.architecture.as_ref().filter(|_| options.reader == Reader::Rccl)?;
    let known = options.gpu;
    match options.named_gpu() {
        Some(named @ Gpu::Sm(_)) => {
            Some(format!("The architecture is {named}, a GPU of NVIDIA, on which no RCCL looks for a tuner file."))
        }
        Some(named) if known.is_some_and(|gpu| gpu != named) => {
            let known = known.map(|gpu| gpu.to_string()).unwrap_or_default();
            Some(format!(
                "The architecture is {named}, and the GPU is said to be {known}: this file is named and checked for \
                 {named}."
            ))
        }
        Some(_) => None,
        None => Some(format!(
            "{} is no GPU that is known: RCCL looks for a name like gfx942 or gfx950.",
            excerpt(architecture)
        )),
    }
}

/// Whether the file displaces a table of the library, and carries its rows.
fn built_in(options: &ExportOptions) -> Option<String> {
    let platform = options.platform();
    if platform.library != Library::Rccl || platform.version.is_some_and(|version| version < OWN_TUNER_FROM) {
        return None;
    }
    let Some(table) = options.displaced() else {
        return platform.gpu.is_none().then(|| {
            "RCCL from 2.28.3 on has a table of its own for gfx950, which this file displaces; whether it does here can't \
             be known until the GPU is given."
                .to_owned()
        });
    };
    let version = match (table.version, table.may_have_more()) {
        (None, true) => {
            " The library's version isn't given: these are the rows that all versions from 2.28.3 on have; earlier ones \
             have none, and later ones more."
        }
        _ => "",
    };
    Some(if options.leaves_out_built_in {
        format!(
            "This file displaces the table that {table} has of its own, and the table's rows are left out here.{version}"
        )
    } else {
        format!(
            "The last {} are those of {table}'s own table, which this file displaces: they answer where no rule does. \
             Where RCCL_TUNER_EMBEDDED_CONFIG=0 turns the table off, leave them out.{version}",
            count(table.of.rows.len() as u64, "row")
        )
    })
}

/// Said of a file without a rule of its own.
fn nothing_to_write(basis: &ExportInput<'_>, options: &ExportOptions) -> String {
    let is_open = |r: &&Recommendation| {
        matches!(r.decision, Decision::MeasureFirst | Decision::KeepDefault { reason: KeepReason::Uncertain })
    };
    let open = basis.recommendations.iter().filter(is_open).count() as u64;
    let what = match (options.carried(), options.displaced()) {
        (Some(table), _) => format!("with the rows of {table}'s own table, the file decides what the library does"),
        (None, Some(table)) => format!("the file displaces {table}'s own table, and the library's cost model decides"),
        (None, None) => "the library's cost model decides everywhere".to_owned(),
    };
    match open {
        0 => format!("No rule is worth writing: {what}. Load no tuner and no file instead."),
        _ => format!(
            "No rule is written: {what}. At {} a gain is seen that may be noise: measure more there.",
            count(open, "size")
        ),
    }
}

fn channels(plan: &Plan, span: &Span, basis: &ExportInput<'_>) -> Option<String> {
    let channels = u32::try_from(span.written?.channels).ok().filter(|channels| *channels > 0)?;
    let defaults = basis.sweep.defaults_of(plan.collective, plan.scale).iter();
    let inside = defaults.filter(|default| span.sizes.contains(&default.workload.size_bytes));
    let message = beside_default(channels, inside)?;
    let (from, to) = (Size(*span.sizes.first()?), Size(*span.sizes.last()?));
    let place = if from == to { from.to_string() } else { format!("{from} to {to}") };
    Some(format!("{} on {}, {place}: {message}", plan.collective, plan.scale))
}

/// Warns about collectives that were not measured, for a reader that can't keep the default: they run on one channel.
fn one_channel(plans: &[Plan], warnings: &mut Vec<String>) {
    let mut scales: Vec<_> = plans.iter().map(|plan| plan.scale).collect();
    scales.compact_sort();
    scales.dedup();
    let planned: BTreeSet<_> = plans.iter().map(|plan| (plan.scale, plan.collective)).compact_collect();
    for scale in &scales {
        let has = |collective| planned.contains(&(*scale, collective));
        let without: Vec<&str> =
            COLLECTIVES.iter().filter(|(_, collective)| !has(*collective)).map(|(_, c)| c.name()).collect();
        if !without.is_empty() {
            warnings.push(format!(
                "{scale}: {} were not measured, and with this reader they run on one channel",
                without.join(", ")
            ));
        }
    }
    if !scales.is_empty() {
        warnings.push(
            "With this reader every communicator of another scale runs on one channel, those that a job splits off \
             included."
                .to_owned(),
        );
    }
}
