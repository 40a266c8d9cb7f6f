//! All that is worth measuring, in order, within a budget.
//!
//! First the default, without which no gain can be told; then what jobs send and nobody measured; then launches that
//! are expected to change an answer; then ties that more runs would decide; then the sizes between two rules. Nothing
//! is spent on ties while a launch that is expected to change an answer does not fit any more.

use std::collections::BTreeMap;

use super::{
    PlanQuestion, PlannedLaunch, Reason, carries_over,
    duration::{self, OperationTimes},
    explore::{ChoiceReason, Explorer, LEAST_PRIOR_ROWS, NextLaunch, Prior, improvement, root_mean_square},
    grid::Grid,
    stalled::{self, StalledLaunch},
};
use crate::{
    collective::{Algorithm, Collective, Configuration, Scale, Workload},
    launch::Sizes,
    math::ln,
    order::{CompactCollect, CompactSort},
    progress::Progress,
    tuning::{
        decision::MoreRuns,
        job::JobLog,
        result::{Group, Recommendation},
        sizes::boundary,
        support::SupportMatrix,
        sweep::Sweep,
    },
    units::{Size, count, grouped},
};

/// The launches that are worth making.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agenda {
    /// The launches, the most urgent first.
    pub items: Vec<PlannedLaunch>,
    /// Why the plan ends where it does, and other notes.
    pub notes: Vec<String>,
}

/// A tie, or the place of a boundary between rules, is worth launches from this expected gain on, in per cent
/// ([`root_mean_square`]).
const LEAST_REFINEMENT_PCT: f64 = 0.06;

/// The most collectives and scales that one plan is made for.
const MAX_GROUPS: usize = 200;

/// Collects what is worth measuring of the asked groups, and cuts it to the budget. `elsewhere` was measured on another
/// day or with another version, and says only what to expect.
pub fn agenda(
    sweep: &Sweep,
    elsewhere: Option<&Sweep>,
    recommendations: &[Recommendation],
    support: &SupportMatrix,
    question: &PlanQuestion,
    progress: &mut dyn Progress,
) -> Agenda {
    let groups: Vec<Group> = sweep
        .groups()
        .into_iter()
        .filter(|group| question.of.is_none_or(|of| of == (group.collective, group.scale)))
        .compact_collect();
    let mut agenda = Agenda::default();
    let (groups, more) = groups.split_at(groups.len().min(MAX_GROUPS));
    if !more.is_empty() {
        agenda.notes.push(format!(
            "The first {MAX_GROUPS} of {} collectives and scales are planned for: choose one to plan for another",
            grouped((groups.len() + more.len()) as u64)
        ));
    }
    let measured = sweep;
    let sweep = &*stalled::as_expected(measured, &question.stalls);
    let places = prior_places(sweep, elsewhere);
    let mut wanted: Vec<PlannedLaunch> = uncovered(recommendations, question);
    let mut ended = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let answer: Vec<&Recommendation> = recommendations
            .iter()
            .filter(|r| (r.workload.collective, r.workload.scale) == (group.collective, group.scale))
            .compact_collect();
        wanted.extend(no_default(group, question));
        wanted.extend(ties(group, sweep, &answer, question));
        wanted.extend(boundaries(group, sweep, &answer, question));
        wanted.extend(stalled_launches(group, measured, question));
        let (mut gains, end) = gains(group, sweep, &places, support, question, (index, groups.len()), progress);
        wanted.append(&mut gains);
        match end {
            Some(PlanEnd::WorthNoMore) => ended.push((group.collective, group.scale)),
            Some(PlanEnd::NothingKnown) => agenda.notes.push(format!(
                "{} on {}: no configuration was measured yet; make these launches, and plan again with their logs",
                group.collective, group.scale
            )),
            None => {}
        }
    }
    wanted.compact_sort_by(|a, b| {
        let worth = |item: &PlannedLaunch| item.expected_pct.unwrap_or(f64::INFINITY);
        a.reason.cmp(&b.reason).then(worth(b).total_cmp(&worth(a)))
    });
    let (items, left_out) = within_budget(one_of_each(wanted), question);
    agenda.items = items;
    // Where launches that are worth making are left out, the budget ended the plan.
    ended.retain(|of| !left_out.contains(of));
    let worth_no_more =
        |(collective, scale): (Collective, Scale)| format!("{collective} on {scale}: {}", question.worth.end());
    agenda.notes.extend(ended.into_iter().map(worth_no_more));
    if !left_out.is_empty() {
        agenda.notes.push(format!(
            "{} worth measuring did not fit into {}",
            count(left_out.len() as u64, "configuration"),
            count(question.runs.min(PlanQuestion::MAX_RUNS).into(), "launch")
        ));
    }
    if groups.is_empty() {
        agenda.notes.push("Nothing was measured of what is asked for".to_owned());
    }
    let times = OperationTimes::new(sweep);
    agenda.items.iter_mut().for_each(|item| (item.seconds, item.ends_us) = (times.of(item), times.ends_us(item)));
    agenda.notes.splice(0..0, duration::sentence(&agenda.items, &times));
    if agenda.items.is_empty() && left_out.is_empty() && !groups.is_empty() {
        agenda.notes.insert(
            0,
            format!(
                "Nothing is left whose measurement is expected to change the answer by more than {} %",
                question.worth.least_pct
            ),
        );
    }
    agenda
}

fn repeats(question: &PlanQuestion) -> u32 {
    question.repeats.clamp(1, PlanQuestion::MAX_REPEATS)
}

/// All measured sizes of a group.
fn all_sizes(group: &Group) -> Sizes {
    let ends = [group.sizes.first(), group.sizes.last()].map(|size| size.copied().unwrap_or_default());
    Sizes::to_cover(ends[0], ends[1], group.scale.ranks)
}

/// A planned launch. Direct can't be asked for, since the library chooses it by itself; then only the channels are.
fn item(group: &Group, configuration: Option<Configuration>, reason: Reason, question: &PlanQuestion) -> PlannedLaunch {
    PlannedLaunch {
        collective: group.collective,
        scale: group.scale,
        configuration,
        sizes: all_sizes(group),
        repeats: repeats(question),
        reason,
        expected_pct: None,
        ends_us: None,
        seconds: None,
        why: String::new(),
    }
}

fn no_default(group: &Group, question: &PlanQuestion) -> Option<PlannedLaunch> {
    let missing = group.sizes.len().saturating_sub(group.default_sizes);
    (missing > 0).then(|| PlannedLaunch {
        why: format!("The default was not measured at {}: no gain over it can be told", count(missing as u64, "size")),
        ..item(group, None, Reason::NoDefault, question)
    })
}

/// The sizes that jobs send most bytes in and nobody measured, at the measured scales of as many ranks.
pub fn unmeasured<'a>(sweep: &Sweep, jobs: impl IntoIterator<Item = &'a JobLog>) -> Vec<(Workload, u64)> {
    /// The largest number of uncovered workloads that are planned.
    const MAX: usize = 8;
    let mut calls: Vec<(Workload, u64)> = Vec::new();
    let groups = sweep.groups();
    for (call, count) in jobs.into_iter().flat_map(|job| &job.calls).filter(|(call, _)| !call.is_per_rank) {
        let of_call = groups
            .iter()
            .filter(|g| g.collective == call.collective && call.ranks.is_none_or(|ranks| ranks == g.scale.ranks));
        for group in of_call.filter(|g| !g.sizes.contains(&call.size_bytes) && call.size_bytes > 0) {
            let Group { collective, scale, .. } = *group;
            calls.push((Workload { collective, scale, size_bytes: call.size_bytes }, *count));
        }
    }
    calls.compact_sort();
    calls.dedup_by(|next, first| {
        let is_same = next.0 == first.0;
        first.1 += if is_same { next.1 } else { 0 };
        is_same
    });
    let bytes = |(workload, count): &(Workload, u64)| u128::from(workload.size_bytes) * u128::from(*count);
    calls.compact_sort_by_key(|call| std::cmp::Reverse(bytes(call)));
    calls.truncate(MAX);
    calls
}

/// Sizes that nobody measured, each twice the one before: one launch measures them.
struct Chain {
    collective: Collective,
    scale: Scale,
    sizes: Sizes,
    count: u64,
    calls: u64,
    bytes: u128,
}

fn chains(question: &PlanQuestion) -> Vec<Chain> {
    let mut asked = question.uncovered.clone();
    asked.retain(|(w, _)| question.of.is_none_or(|of| of == (w.collective, w.scale)));
    asked.compact_sort();
    asked.dedup_by_key(|(workload, _)| *workload);
    let mut chains: Vec<Chain> = Vec::new();
    for (Workload { collective, scale, size_bytes }, calls) in asked {
        let bytes = u128::from(size_bytes) * u128::from(calls);
        let next = |chain: &&mut Chain| {
            let before = Workload { collective, scale, size_bytes: chain.sizes.last };
            let here = Workload { collective, scale, size_bytes };
            (chain.collective, chain.scale) == (collective, scale)
                && question.data_type_of(before) == question.data_type_of(here)
                && chain.sizes.last.checked_mul(2) == Some(size_bytes)
        };
        match chains.iter_mut().find(next) {
            Some(chain) => {
                chain.sizes.last = size_bytes;
                chain.count += 1;
                chain.calls = chain.calls.saturating_add(calls);
                chain.bytes = chain.bytes.saturating_add(bytes);
            }
            None => {
                let sizes = Sizes { first: size_bytes, last: size_bytes };
                chains.push(Chain { collective, scale, sizes, count: 1, calls, bytes });
            }
        }
    }
    chains.compact_sort_by_key(|chain| std::cmp::Reverse(chain.bytes));
    chains
}

/// At sizes that nobody measured: the default, and what is to be deployed at the sizes beside them.
fn uncovered(recommendations: &[Recommendation], question: &PlanQuestion) -> Vec<PlannedLaunch> {
    let mut items = Vec::new();
    for Chain { collective, scale, sizes, count: sizes_count, calls, .. } in chains(question) {
        let mut beside: Vec<&Recommendation> = recommendations
            .iter()
            .filter(|r| (r.workload.collective, r.workload.scale) == (collective, scale))
            .collect();
        beside.compact_sort_by_key(|r| r.workload.size_bytes);
        let below = beside.iter().rfind(|r| r.workload.size_bytes < sizes.first);
        let above = beside.iter().find(|r| r.workload.size_bytes > sizes.last);
        let mut configurations: Vec<Option<Configuration>> = vec![None];
        configurations.extend([below, above].into_iter().flatten().filter_map(|r| r.configuration).map(Some));
        configurations.dedup();
        let what = if sizes_count == 1 {
            format!("{} in {}, and it was", Size(sizes.first), count(calls, "call"))
        } else {
            format!("{sizes_count} sizes from {} on in {}, and they were", Size(sizes.first), count(calls, "call"))
        };
        items.extend(configurations.into_iter().map(|configuration| PlannedLaunch {
            collective,
            scale,
            configuration,
            sizes,
            repeats: repeats(question),
            reason: Reason::Uncovered,
            expected_pct: None,
            ends_us: None,
            seconds: None,
            why: format!("A job sends {what} never measured"),
        }));
    }
    items
}

/// Configurations that more runs would tell apart from what they are tied with, as far as the budget goes.
fn ties(group: &Group, sweep: &Sweep, answer: &[&Recommendation], question: &PlanQuestion) -> Vec<PlannedLaunch> {
    struct TiedLaunch {
        sizes: Vec<u64>,
        gains_pct: Vec<f64>,
        runs: u32,
    }
    let mut tied: BTreeMap<Configuration, TiedLaunch> = BTreeMap::new();
    for recommendation in answer {
        let Some(noise) = recommendation.noise else { continue };
        let MoreRuns::Runs(runs) = noise.more_runs else { continue };
        let members = recommendation.tied.iter().copied().chain(recommendation.configuration);
        let mut members: Vec<Configuration> = members.filter(|c| c.algorithm != Algorithm::Direct).collect();
        members.compact_sort();
        members.dedup();
        if runs > question.runs || members.is_empty() {
            continue;
        }
        // How far the difference of two medians is expected to move with the new runs.
        let (known, new) = (f64::from(noise.repeats.max(1)), f64::from(runs.min(repeats(question))));
        let moves = noise.spread_pct * (2.0 / known - 2.0 / (known + new)).sqrt();
        let points = sweep.points_at(&recommendation.workload);
        let busbw = |c: &Configuration| points.iter().find(|p| p.configuration == *c).map(|p| p.busbw_gbps);
        let best = members.iter().filter_map(busbw).fold(0.0, f64::max);
        for member in members {
            let below = busbw(&member).map_or(0.0, |busbw| (1.0 - busbw / best) * 100.0);
            let of = tied.entry(member).or_insert(TiedLaunch { sizes: Vec::new(), gains_pct: Vec::new(), runs: 0 });
            of.sizes.push(recommendation.workload.size_bytes);
            of.gains_pct.push(improvement(-below, moves).0);
            of.runs = of.runs.max(runs);
        }
    }
    tied.into_iter()
        .map(|(configuration, TiedLaunch { sizes, gains_pct, runs })| PlannedLaunch {
            repeats: runs.clamp(1, repeats(question)),
            expected_pct: Some(root_mean_square(gains_pct.into_iter(), group.sizes.len())),
            why: format!("Tied at {}; about {} would decide", listed(&sizes), count(runs.into(), "further run")),
            ..item(group, Some(configuration), Reason::Tie, question)
        })
        .filter(|item| item.expected_pct >= Some(LEAST_REFINEMENT_PCT))
        .compact_collect()
}

/// Launches that stalled and may be the best at that size.
fn stalled_launches(group: &Group, sweep: &Sweep, question: &PlanQuestion) -> Vec<PlannedLaunch> {
    let is_once = |configuration: Configuration| {
        question.launched.iter().filter(|launched| **launched == configuration).count() <= 1
    };
    stalled::worth_repeating(group, sweep, &question.stalls, question.worth)
        .into_iter()
        .filter(|StalledLaunch { stall, .. }| is_once(stall.configuration))
        .map(|StalledLaunch { stall, expected_pct }| PlannedLaunch {
            repeats: 1,
            expected_pct: Some(expected_pct),
            why: format!(
                "Its launch stalled at {}: {:.1} times slower than expected from its out-of-place time",
                Size(stall.workload.size_bytes),
                stall.times_slower()
            ),
            ..item(group, Some(stall.configuration), Reason::Gain, question)
        })
        .compact_collect()
}

/// What was measured of a collective at one scale, from which another scale or day may know what to expect.
struct PriorPlace<'a> {
    sweep: &'a Sweep,
    group: Group,
    /// It belongs to another sweep than the one that is planned for.
    is_elsewhere: bool,
}

/// Where enough was measured, in the sweep that is planned for and elsewhere.
fn prior_places<'a>(sweep: &'a Sweep, elsewhere: Option<&'a Sweep>) -> Vec<PriorPlace<'a>> {
    let is_enough =
        |group: &Group| group.pairs.iter().map(|pair| pair.channels.len()).sum::<usize>() >= LEAST_PRIOR_ROWS;
    let of = |sweep: &'a Sweep, is_elsewhere: bool| {
        let groups = sweep.groups().into_iter().filter(is_enough);
        groups.map(move |group| PriorPlace { sweep, group, is_elsewhere })
    };
    of(sweep, false).chain(elsewhere.into_iter().flat_map(|elsewhere| of(elsewhere, true))).collect()
}

/// What to expect of a group from the nearest scale that says anything about it: at best from the same one elsewhere.
fn prior(group: &Group, places: &[PriorPlace<'_>], grid: &Grid, question: &PlanQuestion) -> Option<(Scale, Prior)> {
    let octaves = |scale: Scale| (ln(f64::from(scale.ranks)) - ln(f64::from(group.scale.ranks))).abs();
    let says_anything = |place: &&PriorPlace<'_>| {
        place.group.collective == group.collective
            && carries_over(place.group.scale, group.scale)
            && (place.is_elsewhere || place.group.scale != group.scale)
    };
    let nearest =
        places.iter().filter(says_anything).min_by(|a, b| octaves(a.group.scale).total_cmp(&octaves(b.group.scale)))?;
    let measured = Grid::measured(nearest.sweep, group.collective, nearest.group.scale);
    Some((nearest.group.scale, Explorer::new(&measured, question.worth).prior_for(grid)?))
}

/// Why the launches of a group end before the budget does.
enum PlanEnd {
    /// The others are expected to gain too little.
    WorthNoMore,
    /// Nothing was measured that tells what the others gain.
    NothingKnown,
}

/// Launches that are expected to change the answer, and why there are no more.
fn gains(
    group: &Group,
    sweep: &Sweep,
    places: &[PriorPlace<'_>],
    support: &SupportMatrix,
    question: &PlanQuestion,
    (index, groups): (usize, usize),
    progress: &mut dyn Progress,
) -> (Vec<PlannedLaunch>, Option<PlanEnd>) {
    let mut items = Vec::new();
    // A group's plan is longer than the whole budget by one: what does not fit must be known, so that no tie takes its
    // place.
    let most = question.runs.min(PlanQuestion::MAX_RUNS) / repeats(question) + 1;
    let tried = question.platform.map(|platform| platform.tried_algorithms(group.scale.nodes)).unwrap_or_default();
    let grid = Grid::new(sweep, support, group.collective, group.scale, &question.channels, &tried);
    if grid.launches.is_empty() {
        return (items, None);
    }
    let mut explorer = Explorer::new(&grid, question.worth);
    explorer.pass_over(&question.launched);
    let mut known_at = None;
    if !explorer.is_done()
        && let Some((scale, prior)) = prior(group, places, &grid, question)
    {
        known_at = Some(scale);
        explorer = explorer.with_prior(prior);
    }
    let total = u64::from(most) * groups as u64;
    for step in 0..most {
        progress.report("Planning launches", u64::from(most) * index as u64 + u64::from(step), total);
        let Some(choice) = explorer.choose() else {
            let end = if explorer.knows_anything() { PlanEnd::WorthNoMore } else { PlanEnd::NothingKnown };
            return (items, Some(end));
        };
        items.push(PlannedLaunch {
            expected_pct: choice.expected_pct,
            why: why(&grid, &choice, known_at),
            ..item(group, Some(grid.launches[choice.launch]), Reason::Gain, question)
        });
        explorer.assume_expected(choice.launch);
    }
    (items, None)
}

fn why(grid: &Grid, choice: &NextLaunch, known_at: Option<Scale>) -> String {
    if let (ChoiceReason::Prior, Some(scale)) = (choice.reason, known_at) {
        return format!("Nothing was measured yet, and on {scale} it loses the least over all sizes");
    }
    let at = choice.at.map_or_else(String::new, |(size, chance)| {
        format!(", most at {}: faster than anything there with a probability of {:.0} %", Size(size), chance * 100.0)
    });
    if choice.reason == ChoiceReason::End {
        let ends = grid.ends();
        let is_most = ends[..ends.len().div_ceil(2)].contains(&choice.launch);
        let end = if is_most { "most" } else { "fewest" };
        return format!("Never measured with its {end} channels: without it the curve over channels has no end{at}");
    }
    format!("Expected to change the answer{at}")
}

/// Where rules change between two measured sizes: one launch of each of their configurations over the sizes between.
fn boundaries(group: &Group, sweep: &Sweep, answer: &[&Recommendation], question: &PlanQuestion) -> Vec<PlannedLaunch> {
    struct BoundaryLaunch {
        places: Vec<String>,
        gains_pct: Vec<f64>,
    }
    let busbw = |configuration: Configuration, size_bytes: u64| {
        let workload = Workload { collective: group.collective, scale: group.scale, size_bytes };
        sweep.points_at(&workload).iter().find(|p| p.configuration == configuration).map(|p| p.busbw_gbps)
    };
    let mut answer = answer.to_vec();
    answer.compact_sort_by_key(|r| r.workload.size_bytes);
    let mut beside: BTreeMap<Configuration, BoundaryLaunch> = BTreeMap::new();
    let mut sizes: Option<Sizes> = None;
    for pair in answer.windows(2) {
        let [lower, upper] = [pair[0].workload.size_bytes, pair[1].workload.size_bytes];
        let (Some(small), Some(large)) = (pair[0].configuration, pair[1].configuration) else { continue };
        if small == large || lower >= upper || [small, large].iter().any(|c| c.algorithm == Algorithm::Direct) {
            continue;
        }
        let [a, b, c, d] = [busbw(small, lower), busbw(large, lower), busbw(small, upper), busbw(large, upper)];
        let (Some(a), Some(b), Some(c), Some(d)) = (a, b, c, d) else { continue };
        // Halfway the two differ by about half of the smaller advantage, for about a quarter of the sizes between.
        let advantage = ln(a / b).min(ln(d / c)).max(0.0) * 100.0;
        let gain_pct = advantage / 8.0;
        if root_mean_square(std::iter::once(gain_pct), group.sizes.len()) < LEAST_REFINEMENT_PCT {
            continue;
        }
        let between = boundary(lower, upper);
        let (first, last) =
            sizes.map_or((between, between), |sizes| (sizes.first.min(between), sizes.last.max(between)));
        sizes = Some(Sizes { first, last });
        for configuration in [small, large] {
            let of =
                beside.entry(configuration).or_insert(BoundaryLaunch { places: Vec::new(), gains_pct: Vec::new() });
            of.places.push(format!("between {} and {}", Size(lower), Size(upper)));
            of.gains_pct.push(gain_pct);
        }
    }
    let Some(sizes) = sizes else { return Vec::new() };
    let item = |(configuration, BoundaryLaunch { places, gains_pct }): (Configuration, BoundaryLaunch)| PlannedLaunch {
        sizes,
        expected_pct: Some(root_mean_square(gains_pct.into_iter(), group.sizes.len())),
        why: format!("The rule changes {}, and nobody knows where", places.join(" and ")),
        ..item(group, Some(configuration), Reason::Boundary, question)
    };
    beside.into_iter().map(item).collect()
}

/// The first of those that launch the same.
fn one_of_each(items: Vec<PlannedLaunch>) -> Vec<PlannedLaunch> {
    let mut out: Vec<PlannedLaunch> = Vec::new();
    for item in items {
        let key = |item: &PlannedLaunch| (item.collective, item.scale, item.configuration, item.sizes);
        match out.iter_mut().find(|other| key(other) == key(&item)) {
            Some(other) => other.repeats = other.repeats.max(item.repeats),
            None => out.push(item),
        }
    }
    out
}

/// Items until the budget is spent, and the collective and scale of each that is left out. Where configurations are
/// launched, the default is as well.
fn within_budget(items: Vec<PlannedLaunch>, question: &PlanQuestion) -> (Vec<PlannedLaunch>, Vec<(Collective, Scale)>) {
    let budget = question.runs.min(PlanQuestion::MAX_RUNS);
    let (mut spent, mut left_out) = (0, Vec::new());
    let mut is_gain_left_out = false;
    let mut out: Vec<PlannedLaunch> = Vec::new();
    for mut item in items {
        let key = |item: &PlannedLaunch| (item.collective, item.scale, item.sizes);
        let reference = item.configuration.is_some()
            && !out.iter().any(|other| other.configuration.is_none() && key(other) == key(&item));
        // A reference takes as many launches as the first thing that it stands beside.
        let free = budget - spent;
        let repeats = item.repeats.min(if reference { free / 2 } else { free });
        if repeats == 0
            || (repeats < item.repeats && !left_out.is_empty())
            || (is_gain_left_out && item.reason > Reason::Gain)
        {
            left_out.push((item.collective, item.scale));
            is_gain_left_out |= item.reason == Reason::Gain;
            continue;
        }
        item.repeats = repeats;
        spent += repeats;
        if reference {
            spent += repeats;
            let at = out.len();
            let why = "Beside the others, to tell the day from the configuration".to_owned();
            let reference = PlannedLaunch {
                configuration: None,
                reason: Reason::Reference,
                expected_pct: None,
                why,
                ..item.clone()
            };
            out.insert(at, reference);
        }
        out.push(item);
    }
    (out, left_out)
}

fn listed(sizes: &[u64]) -> String {
    let names: Vec<String> = sizes.iter().take(4).map(|size| Size(*size).to_string()).collect();
    let more = sizes.len().saturating_sub(names.len());
    if more > 0 { format!("{} and {}", names.join(", "), count(more as u64, "further size")) } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::Protocol,
        progress::Silent,
        tuning::{aggregate::Point, decision::Noise, job::CollectiveCall, read::Placement, stalls::Stall},
    };

    const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

    fn workload(size_bytes: u64) -> Workload {
        Workload { collective: Collective::AllReduce, scale: SCALE, size_bytes }
    }

    fn ring(channels: u32) -> Configuration {
        Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels }
    }

    /// A ring on three counts of channels at two sizes, and the default.
    fn sweep() -> Sweep {
        let busbw = |size: u64, channels: u32| match (size, channels) {
            (4096, 8) => 1.0,
            (4096, 16) => 0.99,
            (4096, _) => 0.5,
            (_, 32) => 20.0,
            _ => 10.0,
        };
        let points = [4096, 8192].into_iter().flat_map(|size| {
            [8, 16, 32].map(move |channels| Point::new(workload(size), ring(channels), busbw(size, channels)))
        });
        let defaults = [4096, 8192].map(|size| Point::new(workload(size), ring(8), 0.9)).to_vec();
        Sweep { points: points.collect(), defaults }
    }

    fn recommendation(size_bytes: u64, channels: u32, more_runs: MoreRuns) -> Recommendation {
        let noise = Noise { spread_pct: 5.0, repeats: 3, default_repeats: 3, visible_gain_pct: 5.0, more_runs };
        Recommendation {
            configuration: Some(ring(channels)),
            noise: Some(noise),
            tied: if more_runs == MoreRuns::Decided { Vec::new() } else { vec![ring(8), ring(16)] },
            ..Recommendation::unknown(workload(size_bytes))
        }
    }

    fn ask(recommendations: &[Recommendation], question: &PlanQuestion) -> Vec<PlannedLaunch> {
        let question = PlanQuestion { channels: vec![8, 16, 32], ..question.clone() };
        let sweep = sweep();
        let support = SupportMatrix::new(Vec::new(), &sweep);
        agenda(&sweep, None, recommendations, &support, &question, &mut Silent).items
    }

    fn of(items: &[PlannedLaunch], reason: Reason) -> Vec<&PlannedLaunch> {
        items.iter().filter(|item| item.reason == reason).collect()
    }

    /// Two of the three configurations were not measured: gains are expected of them.
    #[test]
    fn gains_come_before_ties_and_a_small_budget_is_spent_on_them() {
        let mut sweep = sweep();
        sweep.points.retain(|point| point.configuration.channels != 32);
        let support = SupportMatrix::new(Vec::new(), &sweep);
        let answer = [recommendation(4096, 8, MoreRuns::Runs(1))];
        for runs in 1..=20 {
            let question = PlanQuestion { runs, channels: vec![4, 8, 16, 32, 64], ..PlanQuestion::default() };
            let items = agenda(&sweep, None, &answer, &support, &question, &mut Silent).items;
            let reasons: Vec<Reason> =
                items.iter().map(|item| item.reason).filter(|r| *r != Reason::Reference).collect();
            assert!(reasons.is_sorted(), "{runs}: {reasons:?}");
            if runs >= 2 {
                assert_eq!(reasons[0], Reason::Gain, "{runs}");
            }
            let all = PlanQuestion { runs: 1000, ..question.clone() };
            let all = agenda(&sweep, None, &answer, &support, &all, &mut Silent).items;
            let gains = |items: &[PlannedLaunch]| items.iter().filter(|item| item.reason == Reason::Gain).count();
            if reasons.contains(&Reason::Tie) {
                assert!(gains(&items) == gains(&all), "{runs}: a tie is run before {} gains", gains(&all));
            }
        }
    }

    #[test]
    fn a_plan_that_the_budget_ends_does_not_say_that_nothing_is_left() {
        let sweep = sweep();
        let support = SupportMatrix::new(Vec::new(), &sweep);
        let answer = [recommendation(4096, 8, MoreRuns::Runs(2))];
        let notes = |runs: u32| {
            let question = PlanQuestion { runs, channels: vec![8, 16, 32], ..PlanQuestion::default() };
            agenda(&sweep, None, &answer, &support, &question, &mut Silent).notes
        };
        let says = |notes: &[String], what: &str| notes.iter().any(|note| note.contains(what));
        let (ended, cut) = (notes(100), notes(2));
        assert!(says(&ended, "all other launches together") && !says(&ended, "did not fit"), "{ended:?}");
        assert!(!says(&cut, "all other launches together") && says(&cut, "did not fit"), "{cut:?}");
    }

    #[test]
    fn both_of_a_tie_are_run_again_where_the_budget_can_decide() {
        let small = recommendation(4096, 8, MoreRuns::Runs(2));
        let items = ask(&[small], &PlanQuestion::default());
        assert_eq!(items[0].reason, Reason::Reference);
        let ties = of(&items, Reason::Tie);
        assert_eq!(
            ties.iter().map(|i| (i.configuration, i.repeats)).collect::<Vec<_>>(),
            [(Some(ring(8)), 2), (Some(ring(16)), 2)]
        );
        // The one that lies lower is less likely to win.
        assert!(ties[0].expected_pct > ties[1].expected_pct);
        assert_eq!(ties[0].why, "Tied at 4 KiB; about 2 further runs would decide");
        for hopeless in [MoreRuns::Runs(31), MoreRuns::OutOfReach, MoreRuns::Decided] {
            assert!(of(&ask(&[recommendation(4096, 8, hopeless)], &PlanQuestion::default()), Reason::Tie).is_empty());
        }
    }

    #[test]
    fn a_launch_that_stalled_where_it_may_be_the_best_is_made_once_more() {
        let stall = Stall {
            file: 0,
            line: 1,
            workload: workload(8192),
            configuration: ring(16),
            is_default: false,
            repeat: 1,
            of: 1,
            placement: Placement::InPlace,
            busbw_gbps: 10.0,
            expected_gbps: 25.0,
            set_aside: false,
        };
        let question = PlanQuestion { stalls: vec![stall], launched: vec![ring(16)], ..PlanQuestion::default() };
        let items = ask(&[], &question);
        let [again] = of(&items, Reason::Gain)[..] else { panic!("{items:?}") };
        assert_eq!((again.configuration, again.repeats), (Some(ring(16)), 1));
        assert!(again.why.starts_with("Its launch stalled at 8 KiB: 2.5 times slower"), "{}", again.why);
        let twice = PlanQuestion { launched: vec![ring(16); 2], ..question.clone() };
        let slower = PlanQuestion { stalls: vec![Stall { expected_gbps: 19.0, ..stall }], ..question };
        for question in [twice, slower] {
            assert!(of(&ask(&[], &question), Reason::Gain).is_empty());
        }
    }

    #[test]
    fn two_rules_are_measured_between_their_sizes() {
        let answer = [recommendation(4096, 8, MoreRuns::Decided), recommendation(8192, 32, MoreRuns::Decided)];
        let items = ask(&answer, &PlanQuestion::default());
        let boundaries = of(&items, Reason::Boundary);
        assert_eq!(boundaries.len(), 2);
        assert!(boundaries.iter().all(|item| item.sizes == Sizes { first: 5796, last: 5796 }));
        assert_eq!(boundaries[0].why, "The rule changes between 4 KiB and 8 KiB, and nobody knows where");
        let same = [recommendation(4096, 8, MoreRuns::Decided), recommendation(8192, 8, MoreRuns::Decided)];
        assert!(of(&ask(&same, &PlanQuestion::default()), Reason::Boundary).is_empty());
    }

    #[test]
    fn sizes_that_double_are_one_launch() {
        let uncovered = [16384, 32768, 100, 65536].map(|size| (workload(size), 2)).to_vec();
        let answer = [recommendation(8192, 32, MoreRuns::Decided)];
        let items = ask(&answer, &PlanQuestion { uncovered, ..PlanQuestion::default() });
        let launches = of(&items, Reason::Uncovered)
            .iter()
            .map(|i| (i.configuration, i.sizes.first, i.sizes.last))
            .collect::<Vec<_>>();
        let ring = Some(ring(32));
        assert_eq!(launches, [(None, 16384, 65536), (ring, 16384, 65536), (None, 100, 100), (ring, 100, 100)]);
        assert_eq!(items[0].why, "A job sends 3 sizes from 16 KiB on in 6 calls, and they were never measured");
    }

    #[test]
    fn jobs_tell_sizes_that_nobody_measured() {
        let call = |size_bytes, ranks| CollectiveCall {
            collective: Collective::AllReduce,
            size_bytes,
            ranks,
            is_per_rank: false,
        };
        let mut job = JobLog::default();
        job.calls.insert(call(4096, None), 9);
        job.calls.insert(call(368_640, None), 5);
        job.calls.insert(call(368_640, Some(16)), 2);
        job.calls.insert(call(737_280, Some(8)), 7);
        job.calls.insert(call(100, Some(16)), 10);
        assert_eq!(unmeasured(&sweep(), [&job]), [(workload(368_640), 7), (workload(100), 10)]);
    }
}
