//! Which rule holds from which size to which.

use super::{Basis, Options, Refusal, Row};
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    math,
    tuning::{
        aggregate::Point,
        conf::{
            choose::{Effect, Entry, forced},
            lint::most_channels,
            reader::{Channels, Reader},
            words::{ALGORITHMS, COLLECTIVES, PROTOCOLS, word},
        },
        decision::Decision,
        result::Recommendation,
        sizes::boundary,
        support::{Outcome, Support},
        sweep::{Sweep, best},
    },
    units::Size,
};

/// Algorithm, protocol and channels as a rule has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// `None`: −1, both or neither.
    pub(super) pair: Option<(Algorithm, Protocol)>,
    pub(super) channels: i32,
}

/// Neighbouring measured sizes with the same rule, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) min_bytes: u64,
    pub(super) max_bytes: u64,
    /// `None`: a gap, in which the reader keeps the default.
    pub(super) written: Option<Written>,
    pub(super) sizes: Vec<u64>,
}

/// The spans of one collective and scale, ascending, without holes between them.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) collective: Collective,
    pub(super) scale: Scale,
    pub(super) spans: Vec<Span>,
    /// Where the default is to be kept; a reader that can't forces something there all the same.
    pub(super) kept: Vec<u64>,
}

/// The plans of all collectives that a tuner is asked about and all scales, and the scales that are refused.
pub(super) fn plans(
    basis: &Basis<'_>,
    support: &Support,
    options: &Options,
    warnings: &mut Vec<String>,
) -> (Vec<Plan>, Vec<Refusal>) {
    let mut sorted: Vec<&Recommendation> = basis.recommendations.iter().collect();
    sorted.sort_by_key(|r| (r.workload.collective, r.workload.scale, r.workload.size_bytes));
    sorted.dedup_by_key(|r| r.workload);
    let mut plans = Vec::new();
    let mut losses: Vec<(Workload, f64)> = Vec::new();
    for group in sorted.chunk_by(|a, b| key(a) == key(b)) {
        let (collective, _) = key(group[0]);
        if !COLLECTIVES.iter().any(|(_, known)| *known == collective) {
            warnings.push(format!("{collective} takes no rule: a tuner is not asked about it"));
            continue;
        }
        if !options.reader.habits().keeps_default {
            losses.extend(group.iter().filter_map(|r| Some((r.workload, loss(r, basis.sweep, basis.level)?))));
        }
        plans.push(plan(group, basis.sweep, support, options, warnings));
    }
    let mut scales: Vec<Scale> = losses.iter().map(|(workload, _)| workload.scale).collect();
    scales.sort_unstable();
    scales.dedup();
    plans.retain(|plan| !scales.contains(&plan.scale));
    let of = |scale| losses.iter().copied().filter(|(workload, _)| workload.scale == scale).collect();
    let refusals = scales.into_iter().map(|scale| Refusal { scale, losses: of(scale) }).collect();
    (plans, refusals)
}

fn key(recommendation: &Recommendation) -> (Collective, Scale) {
    (recommendation.workload.collective, recommendation.workload.scale)
}

/// The highest measurement that a rule may ask for: counts that are read from a negative byte are left out.
fn best_forced<'a>(sweep: &'a Sweep, workload: &Workload) -> Option<&'a Point> {
    best(sweep.points_at(workload).iter().filter(|point| !point.marks.wrapped_channels))
}

/// By how much the best forced configuration is slower than the default, in per cent of it (below zero), where that is
/// more than noise.
fn loss(recommendation: &Recommendation, sweep: &Sweep, level: f64) -> Option<f64> {
    let default = sweep.default_at(&recommendation.workload)?;
    let best = best_forced(sweep, &recommendation.workload)?;
    let pct = (best.busbw_gbps / default.busbw_gbps - 1.0) * 100.0;
    (pct < -noise_pct(recommendation, best, default, level)).then_some(pct)
}

/// What noise alone makes of the difference of two medians, in per cent: from the noise of a run where it is known, from
/// the spreads else, two per cent where nothing is known.
fn noise_pct(recommendation: &Recommendation, best: &Point, default: &Point, level: f64) -> f64 {
    const UNKNOWN_PCT: f64 = 2.0;
    /// So many standard deviations hold 90 % and 99 % of a normal distribution between them.
    const WIDTHS: [(f64, f64); 2] = [(0.95, 1.645), (1.1, 2.576)];
    let width = WIDTHS.iter().find(|(below, _)| level < *below).map_or(WIDTHS[1].1, |(_, width)| *width);
    if let Some(noise) = &recommendation.noise {
        let runs = |repeats: u32| 1.0 / f64::from(repeats.max(1));
        return width * noise.spread_pct * (runs(best.repeats) + runs(default.repeats)).sqrt();
    }
    let mut spreads: Vec<f64> = [best.spread_pct, default.spread_pct].into_iter().flatten().collect();
    math::median(&mut spreads).map_or(UNKNOWN_PCT, |spread| spread.max(0.5))
}

fn plan(
    group: &[&Recommendation],
    sweep: &Sweep,
    support: &Support,
    options: &Options,
    warnings: &mut Vec<String>,
) -> Plan {
    let (collective, scale) = key(group[0]);
    let most = most_channels(sweep.points_of(collective, scale)).unwrap_or(0);
    let mut spans: Vec<Span> = Vec::new();
    let mut kept = Vec::new();
    for recommendation in group {
        let size_bytes = recommendation.workload.size_bytes;
        let place = || format!("{collective} of {} on {scale}", Size(size_bytes));
        let keeps_default = options.reader.habits().keeps_default;
        let measured = best_forced(sweep, &recommendation.workload);
        let mut choice = match recommendation.decision {
            Decision::Deploy | Decision::NoDefault => recommendation.configuration,
            Decision::KeepDefault { .. } => {
                kept.push(size_bytes);
                measured.filter(|_| !keeps_default).map(|best| best.configuration)
            }
            Decision::Unknown => None,
        };
        if let Some(asked) = choice.filter(|choice| choice.channels > most) {
            let default = sweep.default_at(&recommendation.workload).filter(|_| keeps_default);
            choice = measured
                .filter(|best| default.is_none_or(|default| best.busbw_gbps > default.busbw_gbps))
                .map(|best| best.configuration);
            warnings.push(format!(
                "{}: {asked} has more channels than the most that were measured at this scale, {most}; {}",
                place(),
                choice
                    .map_or_else(|| "no rule is written".to_owned(), |instead| format!("{instead} is written instead"))
            ));
        }
        let written = choice.and_then(|choice| {
            written(choice, recommendation.workload, support, options.reader)
                .map_err(|why| warnings.push(format!("{}: {why}", place())))
                .ok()
        });
        if written.is_none() && !keeps_default {
            warnings.push(format!("{}: no forced configuration is known; the rules beside it reach over it", place()));
            continue;
        }
        match spans.last_mut().filter(|span| span.written == written) {
            Some(span) => span.sizes.push(size_bytes),
            None => spans.push(Span { min_bytes: 0, max_bytes: u64::MAX, written, sizes: vec![size_bytes] }),
        }
    }
    set_ends(&mut spans, options);
    Plan { collective, scale, spans, kept }
}

/// Spans meet at the boundaries between measured sizes; the first and the last end as asked.
fn set_ends(spans: &mut [Span], options: &Options) {
    for index in 1..spans.len() {
        if let (Some(last), Some(first)) = (spans[index - 1].sizes.last(), spans[index].sizes.first()) {
            let boundary = boundary(*last, *first);
            spans[index - 1].max_bytes = boundary - 1;
            spans[index].min_bytes = boundary;
        }
    }
    if options.reader.habits().keeps_default && !options.open_ends {
        if let Some(first) = spans.first_mut() {
            first.min_bytes = first.sizes[0];
        }
        if let Some(last) = spans.last_mut() {
            last.max_bytes = last.sizes[last.sizes.len() - 1];
        }
    }
}

/// A configuration as a rule of a reader; the error says why there is none.
fn written(choice: Configuration, workload: Workload, support: &Support, reader: Reader) -> Result<Written, String> {
    let channels = match i32::try_from(choice.channels) {
        // NVIDIA's example takes -1 for one channel and 0 for the library's choice.
        Ok(0) | Err(_) => {
            if reader.habits().preset == Channels::Library {
                -1
            } else {
                0
            }
        }
        Ok(channels) => channels,
    };
    let outcome = |algorithm, protocol| support.outcome(&workload, algorithm, protocol);
    let pair = match (choice.algorithm, choice.protocol) {
        (Algorithm::None, _) | (_, Protocol::None) => {
            return Err("the sweep does not say what ran, so no rule can ask for it".to_owned());
        }
        (Algorithm::Direct, _) if reader.habits().has_wildcards => None,
        (Algorithm::Direct, protocol) => {
            let (ring, simple) = (Algorithm::Ring, Protocol::Simple);
            if outcome(ring, simple) != Outcome::Becomes(Algorithm::Direct, protocol) {
                return Err(format!("{choice} is the library's own choice, and no rule can ask for it"));
            }
            Some((ring, simple))
        }
        (algorithm, protocol) => match outcome(algorithm, protocol) {
            Outcome::Runs => Some((algorithm, protocol)),
            Outcome::Becomes(..) | Outcome::RuledOut(_) => {
                return Err(format!("{choice}: {}", support.reason(&workload, algorithm, protocol)));
            }
        },
    };
    Ok(Written { pair, channels })
}

impl Plan {
    /// A rule's line.
    pub(super) fn line(&self, span: &Span) -> Option<String> {
        let Written { pair, channels } = span.written?;
        let (algorithm, protocol) = match pair {
            Some((algorithm, protocol)) => (word(&ALGORITHMS, &algorithm)?, word(&PROTOCOLS, &protocol)?),
            None => ("-1", "-1"),
        };
        let (collective, Scale { nodes, ranks }) = (word(&COLLECTIVES, &self.collective)?, self.scale);
        let (min, max) = (span.min_bytes, span.max_bytes);
        Some(format!("{collective},{min},{max},{algorithm},{protocol},{channels},{nodes},{ranks},-1,-1"))
    }

    /// Every size from nothing to the largest, and what runs there.
    pub(super) fn rows(&self, support: &Support, options: &Options) -> Vec<Row> {
        let gap = Effect { entry: Entry::Library, channels: options.reader.habits().preset };
        let row = |min_bytes, max_bytes, rule, effect, sizes| Row {
            collective: self.collective,
            scale: self.scale,
            min_bytes,
            max_bytes,
            rule,
            effect,
            sizes,
        };
        let mut rows: Vec<Row> = Vec::new();
        let mut next = Some(0);
        for span in &self.spans {
            if let Some(from) = next.filter(|from| *from < span.min_bytes) {
                rows.push(row(from, span.min_bytes - 1, None, gap, Vec::new()));
            }
            let rule = self.line(span);
            // What a rule runs changes where the library's own limits lie.
            let mut limits: Vec<u64> = support.limits(self.collective, self.scale.nodes).collect();
            limits.retain(|limit| (span.min_bytes..span.max_bytes).contains(limit));
            limits.push(span.max_bytes);
            limits.sort_unstable();
            limits.dedup();
            let mut min_bytes = span.min_bytes;
            for limit in limits {
                let effect = span.written.map_or(gap, |written| self.effect(written, min_bytes, support, options));
                let same = |last: &&mut Row| last.effect == effect && last.rule == rule && min_bytes > span.min_bytes;
                let sizes = span.sizes.iter().copied().filter(|size| (min_bytes..=limit).contains(size));
                match rows.last_mut().filter(same) {
                    Some(last) => {
                        last.max_bytes = limit;
                        last.sizes.extend(sizes);
                    }
                    None => rows.push(row(min_bytes, limit, rule.clone(), effect, sizes.collect())),
                }
                min_bytes = limit.saturating_add(1);
            }
            next = span.max_bytes.checked_add(1);
        }
        rows.extend(next.map(|from| row(from, u64::MAX, None, gap, Vec::new())));
        rows
    }

    fn effect(&self, written: Written, size_bytes: u64, support: &Support, options: &Options) -> Effect {
        let workload = Workload { collective: self.collective, scale: self.scale, size_bytes };
        let channels = Channels::of(written.channels.max(0));
        match written.pair {
            None => Effect { entry: Entry::Library, channels },
            Some((algorithm, protocol)) => match forced(algorithm, protocol, support, &workload) {
                Some(entry) => Effect { entry, channels },
                None => Effect { entry: Entry::Library, channels: options.reader.habits().preset },
            },
        }
    }
}
