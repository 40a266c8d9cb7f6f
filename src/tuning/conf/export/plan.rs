//! Makes rules of recommendations: the range of sizes of each.

use super::{
    ExportInput, ExportOptions, Refusal, SizeRangeEffect,
    choice::{RuleChooser, WrittenRule},
};
use crate::{
    collective::{Collective, Scale, Workload},
    conf::{
        Reader,
        write::{line, sizes_of_line},
    },
    order::CompactSort,
    tuning::{
        conf::{
            choose::{Effect, Entry, choose, forced},
            reader::Channels,
            rule::Rule,
            words::COLLECTIVES,
        },
        recommend::BetweenSizes,
        result::Recommendation,
        sizes::boundary,
        support::SupportMatrix,
    },
    units::Size,
};

/// A range of neighbouring sizes with the same rule, or without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) min_bytes: u64,
    pub(super) max_bytes: u64,
    /// The rule; `None` for a gap, in which the reader keeps the default.
    pub(super) written: Option<WrittenRule>,
    /// The measured sizes of the range, in bytes, ascending.
    pub(super) sizes: Vec<u64>,
}

/// The spans of one collective and scale, ascending, without holes between them.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) collective: Collective,
    pub(super) scale: Scale,
    pub(super) spans: Vec<Span>,
    /// The sizes at which the default should be kept. A reader that can't keep it runs the neighbouring rule there.
    pub(super) kept: Vec<u64>,
    /// Sizes in bytes, from the first to the second, that go with those below them, as the reader's lines can't part
    /// them.
    pub(super) moved: Vec<(u64, u64)>,
}

/// The plans of all scales and of all collectives that the library asks a tuner about, and the scales that are refused.
pub(super) fn plans(
    basis: &ExportInput<'_>,
    support: &SupportMatrix,
    options: &ExportOptions,
    warnings: &mut Vec<String>,
) -> (Vec<Plan>, Vec<Refusal>) {
    let mut sorted: Vec<&Recommendation> = basis.recommendations.iter().collect();
    sorted.compact_sort_by_key(|r| (r.workload.collective, r.workload.scale, r.workload.size_bytes));
    sorted.dedup_by_key(|r| r.workload);
    let mut plans = Vec::new();
    let mut losses: Vec<(Workload, f64)> = Vec::new();
    for group in sorted.chunk_by(|a, b| key(a) == key(b)) {
        let (collective, scale) = key(group[0]);
        if !COLLECTIVES.iter().any(|(_, known)| *known == collective) {
            warnings.push(format!("{collective} takes no rule: a tuner is not asked about it"));
            continue;
        }
        let chooser = RuleChooser::new(basis.sweep, support, options.reader, collective, scale);
        if !options.reader.behaviour().keeps_default {
            losses.extend(group.iter().filter_map(|r| Some((r.workload, chooser.loss(r, basis.level)?))));
        }
        plans.push(plan(group, &chooser, basis, options, warnings));
    }
    let is_unforced = |plan: &&Plan| !options.reader.behaviour().keeps_default && plan.spans.is_empty();
    let unforced: Vec<(Scale, Collective)> =
        plans.iter().filter(is_unforced).map(|plan| (plan.scale, plan.collective)).collect();
    let mut scales: Vec<Scale> = losses.iter().map(|(workload, _)| workload.scale).collect();
    scales.extend(unforced.iter().map(|(scale, _)| *scale));
    scales.compact_sort();
    scales.dedup();
    plans.retain(|plan| scales.binary_search(&plan.scale).is_err());
    let refusal = |scale: Scale| Refusal {
        scale,
        losses: losses.iter().filter(|(workload, _)| workload.scale == scale).copied().collect(),
        unforced: unforced.iter().filter(|(of, _)| *of == scale).map(|(_, collective)| *collective).collect(),
    };
    (plans, scales.into_iter().map(refusal).collect())
}

fn key(recommendation: &Recommendation) -> (Collective, Scale) {
    (recommendation.workload.collective, recommendation.workload.scale)
}

fn plan(
    group: &[&Recommendation],
    chooser: &RuleChooser<'_>,
    basis: &ExportInput<'_>,
    options: &ExportOptions,
    warnings: &mut Vec<String>,
) -> Plan {
    let (collective, scale) = key(group[0]);
    let keeps_default = options.reader.behaviour().keeps_default;
    let mut spans: Vec<Span> = Vec::new();
    let mut kept = Vec::new();
    let mut unforced = Vec::new();
    let of = |between: &BetweenSizes| (between.collective, between.scale);
    let from = basis.between_sizes.partition_point(|between| of(between) < (collective, scale));
    let mut ranges =
        basis.between_sizes[from..].iter().take_while(|between| keeps_default && of(between) == (collective, scale));
    let mut next = ranges.next();
    for recommendation in group {
        let size_bytes = recommendation.workload.size_bytes;
        while let Some(between) = next.filter(|between| between.max_bytes < size_bytes) {
            let deployed = between.deployed.as_ref().map(|(_, at_end)| at_end);
            let written = deployed.and_then(|at_end| chooser.written(at_end, &mut |_| {}));
            let BetweenSizes { min_bytes, max_bytes, .. } = *between;
            append(&mut spans, Span { min_bytes, max_bytes, written, sizes: Vec::new() }, keeps_default);
            next = ranges.next();
        }
        let mut warn = |why: String| warnings.push(format!("{collective} of {} on {scale}: {why}", Size(size_bytes)));
        if recommendation.decision.keeps_default() {
            kept.push(size_bytes);
        }
        let written = chooser.written(recommendation, &mut warn);
        if written.is_none() && !keeps_default {
            unforced.push(size_bytes);
            continue;
        }
        let own = Span { min_bytes: size_bytes, max_bytes: size_bytes, written, sizes: vec![size_bytes] };
        append(&mut spans, own, keeps_default);
    }
    let beside = if spans.is_empty() { "there is no rule beside it" } else { "the rules beside it reach over it" };
    warnings.extend(unforced.into_iter().map(|size_bytes| {
        format!("{collective} of {} on {scale}: no forced configuration is known; {beside}", Size(size_bytes))
    }));
    set_ends(&mut spans, options);
    let moved = set_sizes_of_lines(&mut spans, options.reader, scale);
    if let [(first, last), others @ ..] = &moved[..] {
        let more = if others.is_empty() { "" } else { ", and others that the file names," };
        warnings.push(format!(
            "{collective} on {scale}: this reader counts whole bytes per rank, so that sizes of {first} to {last} bytes\
             {more} go with the sizes below them"
        ));
    }
    Plan { collective, scale, spans, kept, moved }
}

/// Sets the ends of spans to those that lines of the reader can have. Answers which sizes thereby go with those below
/// them.
fn set_sizes_of_lines(spans: &mut Vec<Span>, reader: Reader, scale: Scale) -> Vec<(u64, u64)> {
    (0..spans.len()).for_each(|index| widen(spans, index, reader, scale));
    let parts = |size: u64| match size {
        0 => Some(0),
        size => sizes_of_line(reader, (0, size - 1), scale).map(|(_, last)| last).and_then(|last| last.checked_add(1)),
    };
    let written = spans.iter().filter(|span| span.written.is_some());
    let ends = written.flat_map(|span| [Some(span.min_bytes), span.max_bytes.checked_add(1)]).flatten();
    let mut moved: Vec<(u64, u64)> =
        ends.filter_map(|end| Some((end, parts(end)?.checked_sub(1)?))).filter(|(end, last)| last >= end).collect();
    moved.compact_sort();
    moved.dedup_by_key(|(_, last)| *last);
    let mut sizes: Vec<u64> = spans.iter_mut().flat_map(|span| std::mem::take(&mut span.sizes)).collect();
    spans.retain_mut(|span| {
        let held = sizes_of_line(reader, (span.min_bytes, span.max_bytes), scale);
        if let Some((min_bytes, max_bytes)) = held {
            (span.min_bytes, span.max_bytes) = (min_bytes, max_bytes);
            span.sizes = sizes.extract_if(.., |size| (min_bytes..=max_bytes).contains(size)).collect();
        }
        held.is_some()
    });
    moved
}

/// Widens a rule that no line of the reader can have, such as one of a single size that is no multiple of the ranks, to
/// the sizes that a line can't part from the first measured one; not where one of them was measured for a neighbour.
fn widen(spans: &mut [Span], index: usize, reader: Reader, scale: Scale) {
    let (before, rest) = spans.split_at_mut(index);
    let Some((span, after)) = rest.split_first_mut() else { return };
    let is_lost = span.written.is_some() && sizes_of_line(reader, (span.min_bytes, span.max_bytes), scale).is_none();
    let Some(size) = span.sizes.first().filter(|_| is_lost) else { return };
    let ranks = u64::from(scale.ranks).max(1);
    let first = size - size % ranks;
    let Some(last) = first.checked_add(ranks - 1) else { return };
    if sizes_of_line(reader, (first, last), scale) != Some((first, last)) {
        return;
    }
    let (below, above) = (before.last_mut(), after.first_mut());
    let ends_below = |span: &Span| span.sizes.last().is_none_or(|size| *size < first) && span.min_bytes < first;
    let begins_above = |span: &Span| span.sizes.first().is_none_or(|size| *size > last) && span.max_bytes > last;
    if below.as_deref().is_none_or(ends_below) && above.as_deref().is_none_or(begins_above) {
        (span.min_bytes, span.max_bytes) = (first, last);
        if let Some(below) = below {
            below.max_bytes = below.max_bytes.min(first - 1);
        }
        if let Some(above) = above {
            above.min_bytes = above.min_bytes.max(last + 1);
        }
    }
}

/// Adds a span above all others. It is merged into the last one if that has the same rule and, for a reader that keeps
/// the default, no gap lies between them.
fn append(spans: &mut Vec<Span>, next: Span, keeps_default: bool) {
    let joins = |span: &&mut Span| {
        span.written == next.written && (!keeps_default || span.max_bytes.checked_add(1) == Some(next.min_bytes))
    };
    match spans.last_mut().filter(joins) {
        Some(span) => {
            span.max_bytes = next.max_bytes;
            span.sizes.extend(next.sizes);
        }
        None => spans.push(next),
    }
}

/// Sets the ends of spans for a reader that can't keep the default: they meet at the boundaries between measured sizes.
/// For other readers the ends stay, with gaps between them. For the former, or if the options ask for open ends, the
/// first span begins at 0 and the last one has no end.
fn set_ends(spans: &mut [Span], options: &ExportOptions) {
    let keeps_default = options.reader.behaviour().keeps_default;
    for index in 1..spans.len() {
        if let (false, Some(last), Some(first)) =
            (keeps_default, spans[index - 1].sizes.last(), spans[index].sizes.first())
        {
            let boundary = boundary(*last, *first);
            spans[index - 1].max_bytes = boundary - 1;
            spans[index].min_bytes = boundary;
        }
    }
    if !keeps_default || options.open_ends {
        if let Some(first) = spans.first_mut() {
            first.min_bytes = 0;
        }
        if let Some(last) = spans.last_mut() {
            last.max_bytes = u64::MAX;
        }
    }
}

impl Plan {
    /// The line of the rule for a range; `None` where the default is kept.
    pub(super) fn line(&self, span: &Span, reader: Reader) -> Option<String> {
        let WrittenRule { pair, channels } = span.written?;
        line(reader, self.collective, (span.min_bytes, span.max_bytes), pair, channels, self.scale)
    }

    /// What runs at every size from 0 to the largest, as ranges: by the rules, and beside them by `carried`, rows that
    /// stand at the end of the file.
    pub(super) fn rows(
        &self,
        support: &SupportMatrix,
        carried: &[Rule],
        options: &ExportOptions,
    ) -> Vec<SizeRangeEffect> {
        // The sizes after which something else may run: the ends of carried rows, and the library's own limits.
        let is_own = |row: &&Rule| row.collective == self.collective && row.is_about(self.scale);
        let mut limits: Vec<u64> = support.limits(self.collective, self.scale.nodes).collect();
        limits.extend(carried.iter().filter(is_own).flat_map(|row| [row.min_bytes.saturating_sub(1), row.max_bytes]));
        limits.compact_sort();
        limits.dedup();
        let mut rows: Vec<SizeRangeEffect> = Vec::new();
        let mut next = Some(0);
        for span in &self.spans {
            if let Some(from) = next.filter(|from| *from < span.min_bytes) {
                self.add_rows(&mut rows, &limits, (from, span.min_bytes - 1), None, |at| {
                    self.beside(at, support, carried, options)
                });
            }
            self.add_rows(&mut rows, &limits, (span.min_bytes, span.max_bytes), Some(span), |at| {
                let own = span.written.and_then(|written| self.effect(written, at, support));
                own.map_or_else(
                    || self.beside(at, support, carried, options),
                    |effect| (effect, self.line(span, options.reader)),
                )
            });
            next = span.max_bytes.checked_add(1);
        }
        if let Some(from) = next {
            self.add_rows(&mut rows, &limits, (from, u64::MAX), None, |at| self.beside(at, support, carried, options));
        }
        rows
    }

    /// Adds the ranges of a span, or of what lies between two: from one limit to the next what runs at the first size.
    fn add_rows(
        &self,
        rows: &mut Vec<SizeRangeEffect>,
        limits: &[u64],
        (from, to): (u64, u64),
        span: Option<&Span>,
        at: impl Fn(u64) -> (Effect, Option<String>),
    ) {
        let inside = limits.iter().copied().filter(|limit| (from..to).contains(limit)).chain([to]);
        let mut min_bytes = from;
        for limit in inside {
            let (effect, rule) = at(min_bytes);
            let sizes = span.map_or(&[][..], |span| &span.sizes);
            let sizes = sizes.iter().copied().filter(|size| (min_bytes..=limit).contains(size));
            let same = |last: &&mut SizeRangeEffect| last.effect == effect && last.rule == rule && min_bytes > from;
            match rows.last_mut().filter(same) {
                Some(last) => {
                    last.max_bytes = limit;
                    last.sizes.extend(sizes);
                }
                None => rows.push(SizeRangeEffect {
                    collective: self.collective,
                    scale: self.scale,
                    min_bytes,
                    max_bytes: limit,
                    rule,
                    effect,
                    sizes: sizes.collect(),
                }),
            }
            min_bytes = limit.saturating_add(1);
        }
    }

    /// What runs at a size that no rule decides: by a carried row, which is returned as a line, or as the reader leaves
    /// it.
    fn beside(
        &self,
        size_bytes: u64,
        support: &SupportMatrix,
        carried: &[Rule],
        options: &ExportOptions,
    ) -> (Effect, Option<String>) {
        let workload = Workload { collective: self.collective, scale: self.scale, size_bytes };
        let chosen = choose(carried, options.reader, support, &workload);
        let row = chosen.rule.and_then(|index| carried.get(index));
        let text = row.and_then(|row| {
            let pair = row.algorithm.zip(row.protocol);
            line(options.reader, row.collective, (row.min_bytes, row.max_bytes), pair, row.channels, self.scale)
        });
        (chosen.effect, text)
    }

    /// What a rule makes run at a size; `None` where the library has ruled it out.
    fn effect(&self, written: WrittenRule, size_bytes: u64, support: &SupportMatrix) -> Option<Effect> {
        let workload = Workload { collective: self.collective, scale: self.scale, size_bytes };
        let channels = Channels::of(written.channels.max(0));
        let entry = match written.pair {
            None => Entry::Library,
            Some((algorithm, protocol)) => forced(algorithm, protocol, support, &workload)?,
        };
        Some(Effect { entry, channels })
    }
}
