//! The heat map of a collective and scale: what each configuration loses at each size, and which of them run.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    aggregate,
    decision::Decision,
    read::RunKind,
    result::{Group, Recommendation},
    stalls::Stall,
    sweep::Sweep,
    wording,
};
use crate::{
    collective::{Algorithm, Collective, Configuration, Scale, Workload},
    form::{restored, value},
    order::{CompactCollect, CompactSort},
    plot::{Axis, Chart, Colour, FileLine, Mark, Pick, Point, Quantity, Series, Spacing},
    units::{Size, count, significant},
};

/// More rows and columns than these are not drawn: they would be too small to distinguish, and a page has several such
/// charts.
pub const MAX_ROWS: usize = 72;
/// The largest number of columns that are drawn; see [`MAX_ROWS`].
pub const MAX_COLUMNS: usize = 48;

/// The row of the library's own choice.
const DEFAULT_ROW: &str = "default";

/// The bandwidth with which a configuration is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Against {
    /// The highest that was measured at its size, the default included.
    #[default]
    Best,
    /// The library's default at its size; what is faster has a loss below zero.
    Default,
}

impl Against {
    /// The name as it is shown on the page and in the terminal.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Best => "the best",
            Self::Default => "the default",
        }
    }

    /// The default, or the best.
    pub const fn default_if(is_default: bool) -> Self {
        if is_default { Self::Default } else { Self::Best }
    }

    /// Reads the setting from a fragment (`h=default`); [`Against::Best`] where it has none.
    ///
    /// ```
    /// use collectune::tuning::heat_map::Against;
    /// assert_eq!(Against::of("#v=1&w=tuning&h=default"), Against::Default);
    /// assert_eq!(Against::of("#v=1&h=attic"), Against::Best);
    /// ```
    pub fn of(fragment: &str) -> Self {
        Self::default_if(value(&restored(fragment), "h") == Some("default"))
    }

    /// The setting among other choices.
    pub fn of_choices<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Self {
        Self::default_if(get("h") == Some("default"))
    }

    /// The part of an address's fragment that names it; empty for [`Against::Best`].
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Best => "",
            Self::Default => "&h=default",
        }
    }
}

/// The content of a cell.
struct HeatMapCell<'a> {
    /// Loss in per cent of what it is compared with.
    loss_pct: f64,
    point: &'a aggregate::Point,
}

/// The rows: configurations by algorithm, protocol and channels below the library's default.
struct Rows<'a> {
    configurations: Vec<Configuration>,
    /// The default's points by size in bytes.
    default: BTreeMap<u64, HeatMapCell<'a>>,
    /// By size and configuration, as the points come.
    cells: BTreeMap<(u64, Configuration), HeatMapCell<'a>>,
}

impl<'a> Rows<'a> {
    fn new(points: &'a [aggregate::Point], defaults: &'a [aggregate::Point], against: Against) -> Self {
        let size = |point: &aggregate::Point| point.workload.size_bytes;
        let mut reference: BTreeMap<u64, f64> = BTreeMap::new();
        let compared = points.iter().filter(|_| against == Against::Best).chain(defaults);
        for point in compared {
            let highest = reference.entry(size(point)).or_insert(point.busbw_gbps);
            *highest = highest.max(point.busbw_gbps);
        }
        let cell = |point: &'a aggregate::Point| {
            let reference = reference.get(&size(point)).copied().unwrap_or(f64::NAN);
            HeatMapCell { loss_pct: (1.0 - point.busbw_gbps / reference) * 100.0, point }
        };
        let mut rows = Self { configurations: Vec::new(), default: BTreeMap::new(), cells: BTreeMap::new() };
        rows.default.extend(defaults.iter().map(|point| (size(point), cell(point))));
        rows.cells.extend(points.iter().map(|point| ((size(point), point.configuration), cell(point))));
        rows.configurations = points.iter().map(|point| point.configuration).collect();
        rows.configurations.compact_sort();
        rows.configurations.dedup();
        rows
    }

    /// Mean over the sizes, in per cent, and of how many sizes.
    fn mean(&self, configuration: Configuration, sizes: &[u64]) -> Option<(f64, usize)> {
        let losses = sizes.iter().filter_map(|size| self.cells.get(&(*size, configuration)));
        mean(losses.map(|cell| cell.loss_pct))
    }

    /// Leaves out those that lose most, but for some.
    fn keep(&mut self, most: usize, always: &BTreeSet<Configuration>, sizes: &[u64]) {
        let mut ranked: Vec<(bool, f64, Configuration)> = self
            .configurations
            .iter()
            .map(|c| (!always.contains(c), self.mean(*c, sizes).map_or(f64::INFINITY, |(mean, _)| mean), *c))
            .collect();
        ranked.compact_sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        ranked.truncate(most);
        self.configurations = ranked.into_iter().map(|(_, _, configuration)| configuration).collect();
        self.configurations.compact_sort();
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<(f64, usize)> {
    let (sum, count) =
        values.filter(|value| value.is_finite()).fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| (sum / count as f64, count))
}

/// The heat map of a collective and scale; `None` where no configuration was measured. Where no default was measured,
/// everything is compared with the best. `answer` may hold other workloads; `line_of` says where a point was measured.
pub fn heat_map(
    sweep: &Sweep,
    stalls: &[Stall],
    group: &Group,
    answer: &[Recommendation],
    against: Against,
    line_of: &dyn Fn(&aggregate::Point, RunKind) -> Option<FileLine>,
) -> Option<Chart> {
    let (collective, scale) = (group.collective, group.scale);
    let (points, defaults) = (sweep.points_of(collective, scale), sweep.defaults_of(collective, scale));
    if points.is_empty() {
        return None;
    }
    let against = if defaults.is_empty() { Against::Best } else { against };
    let mut rows = Rows::new(points, defaults, against);
    let mut all_sizes: Vec<u64> = points.iter().chain(defaults).map(|point| point.workload.size_bytes).collect();
    all_sizes.compact_sort();
    all_sizes.dedup();
    let sizes = thinned(&all_sizes, MAX_COLUMNS);
    let deployed: BTreeMap<u64, Configuration> = answer
        .iter()
        .filter(|r| (r.workload.collective, r.workload.scale) == (collective, scale))
        .filter(|r| r.decision == Decision::Deploy)
        .filter_map(|r| Some((r.workload.size_bytes, r.configuration?)))
        .compact_collect();
    let kept: BTreeSet<u64> = answer
        .iter()
        .filter(|r| (r.workload.collective, r.workload.scale) == (collective, scale))
        .filter(|r| matches!(r.decision, Decision::KeepDefault { .. }))
        .map(|r| r.workload.size_bytes)
        .compact_collect();
    let all_configurations = rows.configurations.len();
    if all_configurations > MAX_ROWS {
        let always =
            defaults.iter().map(|point| point.configuration).chain(deployed.values().copied()).compact_collect();
        rows.keep(MAX_ROWS, &always, &sizes);
    }
    let first = usize::from(!defaults.is_empty());
    let row_of = |configuration: Configuration| {
        rows.configurations.binary_search(&configuration).ok().map(|place| place + first)
    };
    let column_of = |size: u64| sizes.binary_search(&size).ok();
    let mut cells = Vec::new();
    let mut missing = Vec::new();
    let mut place = |cell: Option<&HeatMapCell<'_>>, kind: RunKind, column: usize, row: usize| match cell {
        Some(HeatMapCell { loss_pct, point }) => {
            let note = format!("{} GB/s, {}", significant(point.busbw_gbps), wording::runs_of(point));
            let cell = Point::cell(column, row, loss_pct.is_finite().then_some(*loss_pct));
            cells.push(Point { note, line: line_of(point, kind), ..cell });
        }
        None => missing.push(Point::cell(column, row, None)),
    };
    for (column, size) in sizes.iter().enumerate() {
        if first > 0 {
            place(rows.default.get(size), RunKind::Default, column, 0);
        }
        for (row, configuration) in rows.configurations.iter().enumerate() {
            place(rows.cells.get(&(*size, *configuration)), RunKind::Asked, column, row + first);
        }
    }
    let on_path = |size: u64, row: Option<usize>, note: String| {
        let y = row.map_or(f64::NAN, |row| row as f64);
        Some(Point::new(column_of(size)? as f64, y, note))
    };
    let default_path = sizes.iter().map(|size| {
        let Some(HeatMapCell { point, .. }) = rows.default.get(size) else {
            return on_path(*size, None, String::new());
        };
        let ran = point.configuration;
        let note = if ran.algorithm == Algorithm::None { String::new() } else { format!("ran {ran}") };
        on_path(*size, row_of(ran).or(Some(0)), note)
    });
    let default_path: Vec<Point> = default_path.flatten().collect();
    // To keep the default is to deploy what it runs.
    let ran = |size: &u64| {
        let ran = rows.default.get(size).filter(|_| kept.contains(size))?.point.configuration;
        Some(ran).filter(|ran| ran.algorithm != Algorithm::None)
    };
    let kept_at = |size: &u64| {
        // What was not asked for has no row of its own.
        let row = ran(size).map(|ran| row_of(ran).unwrap_or(0));
        let note = ran(size).map(|ran| format!("the default is kept, which ran {ran}"));
        on_path(*size, row, note.unwrap_or_default())
    };
    let deployed_path = sizes.iter().map(|size| match deployed.get(size) {
        Some(chosen) => on_path(*size, row_of(*chosen), chosen.to_string()),
        None => kept_at(size),
    });
    let deployed_path: Vec<Point> = deployed_path.flatten().collect();
    let kept_points: Vec<Point> = sizes.iter().filter_map(kept_at).filter(|point| point.y.is_finite()).collect();
    let stalled = stalled(stalls, (collective, scale), &column_of, &|stall| match stall.is_default {
        true => (first > 0).then_some(0),
        false => row_of(stall.configuration),
    });
    let is_drawn = |path: &[Point]| path.iter().any(|point| point.y.is_finite());
    let summary = summary(&rows, &sizes, against, missing.len(), (all_configurations, all_sizes.len()));
    let mut all =
        vec![Series::new("Loss", Colour::Answer, Mark::Cells(Quantity::Percent, Spacing::SymmetricLogarithmic), cells)];
    if !missing.is_empty() {
        all.push(Series::new("Not measured", Colour::Muted, Mark::Dots, missing));
    }
    // The default's dashes lie on the other line where both run the same.
    if is_drawn(&deployed_path) {
        all.push(Series::new("To deploy", Colour::Answer, Mark::LineAndDots, deployed_path));
    }
    if is_drawn(&default_path) {
        all.push(Series::new("Default", Colour::Default, Mark::Dashed, default_path));
    }
    if !kept_points.is_empty() {
        all.push(Series::new("To deploy: default kept", Colour::Answer, Mark::Rings, kept_points));
    }
    if !stalled.is_empty() {
        all.push(Series::new("Stalled", Colour::Palette(0), Mark::Dots, stalled));
    }
    let names = (first > 0).then(|| DEFAULT_ROW.to_owned());
    let names = names.into_iter().chain(rows.configurations.iter().map(ToString::to_string)).collect();
    Some(Chart {
        id: format!("loss-{collective}-{}n{}r", scale.nodes, scale.ranks),
        title: format!("Loss against {}, {collective} on {scale}", against.name()),
        summary: format!("{collective} on {scale}: {summary}"),
        x: Axis::of_names("Message size", sizes.iter().map(|size| Size(*size).to_string()).collect()),
        y: Axis::of_names("Configuration", names),
        series: all,
    })
}

/// The size and the configuration that a point of a heat map stands for, the latter as it is written there.
pub fn meant(chart: &Chart, pick: Pick) -> Option<(u64, &str)> {
    let point = chart.series.get(pick.series)?.points.get(pick.point)?;
    let (Quantity::Names(sizes), Quantity::Names(rows)) = (&chart.x.quantity, &chart.y.quantity) else { return None };
    let at = |names: &[String], place: f64| (place >= 0.0).then_some(place as usize).filter(|at| *at < names.len());
    let size = sizes[at(sizes, point.x)?].parse::<Size>().ok()?.0;
    Some((size, &rows[at(rows, point.y)?]))
}

/// The measured point of a chart (a heat map, busbw over size or over channels) that stands for a size and a
/// configuration.
pub fn same_point(chart: &Chart, size_bytes: u64, configuration: &str) -> Option<Pick> {
    if chart.y.quantity.is_names() {
        let cells = chart.series.first()?.points.len();
        let is_it = |pick: &Pick| meant(chart, *pick) == Some((size_bytes, configuration));
        return (0..cells).map(|point| Pick { series: 0, point }).find(is_it);
    }
    let over_size = chart.x.quantity == Quantity::Bytes;
    let (pair, channels) = configuration.rsplit_once('/').unwrap_or((configuration, ""));
    let x = if over_size { size_bytes as f64 } else { channels.parse().ok()? };
    let is_series = |name: &str| match (over_size, configuration) {
        (true, DEFAULT_ROW) => name == "Default",
        (true, _) => name == "Measured",
        (false, _) => name.strip_prefix(pair) == Some(", measured"),
    };
    let is_it = |point: &Point| {
        point.x == x
            && (!over_size || configuration == DEFAULT_ROW || point.note.split(',').next() == Some(configuration))
    };
    let mut found = chart.series.iter().enumerate().filter(|(_, series)| is_series(&series.name));
    found.find_map(|(series, of)| Some(Pick { series, point: of.points.iter().position(is_it)? }))
}

/// At most this many of ascending values, evenly spaced, with both ends.
fn thinned(all: &[u64], most: usize) -> Vec<u64> {
    if all.len() <= most {
        return all.to_vec();
    }
    (0..most).map(|index| all[index * (all.len() - 1) / (most - 1)]).collect()
}

/// A mark on each cell with runs that stalled.
fn stalled(
    stalls: &[Stall],
    of: (Collective, Scale),
    column_of: &dyn Fn(u64) -> Option<usize>,
    row_of: &dyn Fn(&Stall) -> Option<usize>,
) -> Vec<Point> {
    let mut marked: BTreeMap<(usize, usize), (u32, &Stall, bool)> = BTreeMap::new();
    let is_here = |workload: &Workload| (workload.collective, workload.scale) == of;
    for stall in stalls.iter().filter(|stall| is_here(&stall.workload)) {
        let Some(place) = column_of(stall.workload.size_bytes).zip(row_of(stall)) else { continue };
        let (runs, slowest, is_used) = marked.entry(place).or_insert((0, stall, false));
        *runs += 1;
        *is_used |= !stall.set_aside;
        if stall.times_slower() > slowest.times_slower() {
            *slowest = stall;
        }
    }
    let point = |((column, row), (runs, slowest, is_used)): ((usize, usize), (u32, &Stall, bool))| Point {
        note: format!(
            "{} stalled, the slowest by a factor of {:.1}, {}",
            count(runs.into(), "measurement"),
            slowest.times_slower(),
            if is_used { "used" } else { "set aside" }
        ),
        line: (slowest.line > 0).then(|| FileLine { file: slowest.file, line: slowest.line, others: runs - 1 }),
        ..Point::cell(column, row, None)
    };
    marked.into_iter().map(point).collect()
}

fn summary(
    rows: &Rows<'_>,
    sizes: &[u64],
    against: Against,
    missing: usize,
    (configurations, all_sizes): (usize, usize),
) -> String {
    let mut said = Vec::new();
    let default = mean(rows.default.values().map(|cell| cell.loss_pct));
    if let Some((default, _)) = default.filter(|_| against == Against::Best) {
        let finite = rows.default.iter().filter(|(_, cell)| cell.loss_pct.is_finite());
        let most = finite.max_by(|a, b| a.1.loss_pct.total_cmp(&b.1.loss_pct));
        let most = most
            .map_or_else(String::new, |(size, cell)| format!(", {} % at {}", significant(cell.loss_pct), Size(*size)));
        said.push(format!("the default loses {} % of the best on average{most}", significant(default)));
    }
    let whole = |c: &Configuration| rows.mean(*c, sizes).filter(|(_, count)| *count == sizes.len());
    // What no library runs is no choice.
    let runs = |c: &&Configuration| {
        let mut cells = sizes.iter().filter_map(|size| rows.cells.get(&(*size, **c)));
        cells.any(|cell| !cell.point.is_impossible())
    };
    let means = rows.configurations.iter().filter(runs).filter_map(|c| Some((c, whole(c)?.0)));
    if let Some((single, loss)) = means.min_by(|a, b| a.1.total_cmp(&b.1)) {
        let of = if against == Against::Best { "" } else { " of the default" };
        said.push(format!("the best single configuration, {single}, loses {} %{of}", significant(loss)));
    }
    if missing > 0 {
        said.push(format!("{} not measured", count(missing as u64, "cell")));
    }
    if rows.configurations.len() < configurations {
        let shown = rows.configurations.len();
        said.push(format!("shown are the {shown} of {configurations} configurations that lose least"));
    }
    if sizes.len() < all_sizes {
        said.push(format!("shown are {} of {all_sizes} sizes", sizes.len()));
    }
    format!("{}.", said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::Protocol,
        tuning::{aggregate::Point as Measured, decision::KeepReason, read::Placement},
    };

    const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

    fn workload(size_bytes: u64) -> Workload {
        Workload { collective: Collective::AllReduce, scale: SCALE, size_bytes }
    }

    fn ring(channels: u32) -> Configuration {
        Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels }
    }

    fn tree(channels: u32) -> Configuration {
        Configuration { algorithm: Algorithm::Tree, ..ring(channels) }
    }

    fn sweep(points: &[(u64, Configuration, f64)], defaults: &[(u64, Configuration, f64)]) -> Sweep {
        let all = |points: &[(u64, Configuration, f64)]| {
            let mut all: Vec<Measured> = points.iter().map(|(s, c, b)| Measured::new(workload(*s), *c, *b)).collect();
            all.compact_sort_by_key(|point| (point.workload, point.configuration));
            all
        };
        Sweep { points: all(points), defaults: all(defaults) }
    }

    /// Two sizes; TREE/LL/8 is best at the first, RING/LL/8 at the second, where RING/LL/2 was not measured. The
    /// default ran RING/LL/8, then something that was not asked for.
    fn two() -> Sweep {
        let points = [
            (1024, ring(2), 5.0),
            (1024, ring(8), 8.0),
            (1024, tree(8), 10.0),
            (4096, ring(8), 40.0),
            (4096, tree(8), 20.0),
        ];
        sweep(&points, &[(1024, ring(8), 8.0), (4096, ring(64), 30.0)])
    }

    fn drawn(sweep: &Sweep, stalls: &[Stall], answer: &[Recommendation], against: Against) -> Chart {
        heat_map(sweep, stalls, &sweep.groups()[0], answer, against, &|_, _| None).unwrap()
    }

    fn names(axis: &Axis) -> &[String] {
        if let Quantity::Names(names) = &axis.quantity { names } else { &[] }
    }

    /// Column, row and value of a series' points.
    fn points(chart: &Chart, series: &str) -> Vec<(f64, f64, Option<f64>)> {
        let series = chart.series.iter().find(|one| one.name == series);
        let rounded = |value: f64| (value * 10.0).round() / 10.0;
        let of = series.into_iter().flat_map(|series| &series.points);
        of.map(|point| (point.x, point.y, point.value.map(rounded))).collect()
    }

    #[test]
    fn rows_are_configurations_below_the_default_and_cells_their_loss() {
        let chart = drawn(&two(), &[], &[], Against::Best);
        assert_eq!(names(&chart.x), ["1 KiB", "4 KiB"]);
        assert_eq!(names(&chart.y), ["default", "TREE/LL/8", "RING/LL/2", "RING/LL/8"]);
        let cells = [
            (0.0, 0.0, Some(20.0)),
            (0.0, 1.0, Some(0.0)),
            (0.0, 2.0, Some(50.0)),
            (0.0, 3.0, Some(20.0)),
            (1.0, 0.0, Some(25.0)),
            (1.0, 1.0, Some(50.0)),
            (1.0, 3.0, Some(0.0)),
        ];
        assert_eq!(points(&chart, "Loss"), cells);
        assert_eq!(points(&chart, "Not measured"), [(1.0, 2.0, None)]);
        assert_eq!(points(&chart, "Default"), [(0.0, 3.0, None), (1.0, 0.0, None)], "what ran, or its own row");
        assert_eq!(
            chart.summary,
            "all_reduce on 2 nodes, 16 ranks: the default loses 22.50 % of the best on average, 25.00 % at 4 KiB; the \
             best single configuration, RING/LL/8, loses 10.00 %; 1 cell not measured."
        );
    }

    #[test]
    fn against_the_default_what_is_faster_is_below_zero() {
        let chart = drawn(&two(), &[], &[], Against::Default);
        let of =
            |column: f64, row: f64| points(&chart, "Loss").into_iter().find(|p| (p.0, p.1) == (column, row)).unwrap().2;
        assert_eq!([of(0.0, 0.0), of(0.0, 1.0), of(1.0, 3.0)], [Some(0.0), Some(-25.0), Some(-33.3)]);
        let without = sweep(&[(1024, ring(2), 5.0)], &[]);
        let chart = drawn(&without, &[], &[], Against::Default);
        assert_eq!((names(&chart.y), chart.series.len()), (&["RING/LL/2".to_owned()][..], 1));
        assert_eq!(points(&chart, "Loss"), [(0.0, 0.0, Some(0.0))]);
    }

    #[test]
    fn the_path_to_deploy_runs_through_what_a_kept_default_ran() {
        let keep = |size_bytes| Recommendation {
            configuration: Some(ring(2)),
            decision: Decision::KeepDefault { reason: KeepReason::NotFaster },
            ..Recommendation::unknown(workload(size_bytes))
        };
        let deploy = |size_bytes| Recommendation {
            configuration: Some(tree(8)),
            decision: Decision::Deploy,
            ..Recommendation::unknown(workload(size_bytes))
        };
        let chart = drawn(&two(), &[], &[keep(1024), deploy(4096)], Against::Best);
        assert_eq!(points(&chart, "To deploy"), [(0.0, 3.0, None), (1.0, 1.0, None)]);
        assert_eq!(points(&chart, "To deploy: default kept"), [(0.0, 3.0, None)]);
        let chart = drawn(&two(), &[], &[deploy(1024), keep(4096)], Against::Best);
        assert_eq!(points(&chart, "To deploy"), [(0.0, 1.0, None), (1.0, 0.0, None)], "in its own row");
        let unknown = Configuration { algorithm: Algorithm::None, protocol: Protocol::None, channels: 0 };
        let untold = Sweep { defaults: sweep(&[], &[(4096, unknown, 30.0)]).defaults, ..two() };
        let chart = drawn(&untold, &[], &[deploy(1024), keep(4096)], Against::Best);
        let path = points(&chart, "To deploy");
        assert!(path[0].1 == 1.0 && path[1].1.is_nan(), "{path:?}");
        assert!(points(&chart, "To deploy: default kept").is_empty());
    }

    #[test]
    fn the_path_to_deploy_has_gaps_where_nothing_is_known() {
        let deploy = Recommendation {
            configuration: Some(tree(8)),
            decision: Decision::Deploy,
            ..Recommendation::unknown(workload(1024))
        };
        let keep = Recommendation { configuration: Some(ring(8)), ..Recommendation::unknown(workload(4096)) };
        let chart = drawn(&two(), &[], &[deploy, keep], Against::Best);
        let path = points(&chart, "To deploy");
        assert_eq!(path[0], (0.0, 1.0, None));
        assert!(path[1].1.is_nan());
        assert_eq!(points(&drawn(&two(), &[], &[], Against::Best), "To deploy"), []);
    }

    #[test]
    fn stalls_are_marked_once_for_a_cell() {
        let stall = |repeat, is_default| Stall {
            file: 0,
            line: repeat,
            workload: workload(4096),
            configuration: ring(8),
            is_default,
            repeat,
            of: 3,
            placement: Placement::InPlace,
            busbw_gbps: 10.0,
            expected_gbps: 10.0 * f64::from(repeat + 1),
            set_aside: true,
        };
        let elsewhere = Stall { workload: workload(99), ..stall(1, false) };
        let chart = drawn(&two(), &[stall(1, false), stall(2, false), stall(3, true), elsewhere], &[], Against::Best);
        let marked = &chart.series.iter().find(|series| series.name == "Stalled").unwrap().points;
        assert_eq!(marked.iter().map(|point| (point.x, point.y)).collect::<Vec<_>>(), [(1.0, 0.0), (1.0, 3.0)]);
        assert_eq!(marked[1].note, "2 measurements stalled, the slowest by a factor of 3.0, set aside");
    }

    #[test]
    fn a_point_is_the_same_in_every_chart() {
        let chart = drawn(&two(), &[], &[], Against::Best);
        let place = |x: f64, y: f64| chart.series[0].points.iter().position(|p| (p.x, p.y) == (x, y)).unwrap();
        let pick = |x, y| Pick { series: 0, point: place(x, y) };
        assert_eq!(meant(&chart, pick(1.0, 3.0)), Some((4096, "RING/LL/8")));
        assert_eq!(meant(&chart, pick(0.0, 0.0)), Some((1024, "default")));
        assert_eq!(meant(&chart, Pick { series: 9, point: 0 }), None);
        assert_eq!(same_point(&chart, 4096, "RING/LL/8"), Some(pick(1.0, 3.0)));
        assert_eq!(same_point(&chart, 4096, "RING/LL/2"), None);

        let axis = |quantity| Axis::new("", quantity, Spacing::Linear);
        let one = |name: &str, x: f64, note: &str| {
            Series::new(name, Colour::Muted, Mark::Dots, vec![Point::new(x, 0.0, note.into())])
        };
        let other =
            |quantity, series| Chart { x: axis(quantity), y: axis(Quantity::BusbwGbps), series, ..chart.clone() };
        let measured =
            vec![one("Measured", 4096.0, "RING/LL/8, 1 run"), one("Default", 4096.0, "ran RING/LL/8, 1 run")];
        let over_size = other(Quantity::Bytes, measured);
        let found = |series| Some(Pick { series, point: 0 });
        assert_eq!(same_point(&over_size, 4096, "RING/LL/8"), found(0));
        assert_eq!(same_point(&over_size, 4096, "default"), found(1));
        assert_eq!(same_point(&over_size, 4096, "RING/LL/80"), None);
        let over_channels =
            other(Quantity::Count, vec![one("RING/LL, model", 8.0, ""), one("RING/LL, measured", 8.0, "")]);
        assert_eq!(same_point(&over_channels, 4096, "RING/LL/8"), found(1));
        assert_eq!(same_point(&over_channels, 4096, "default"), None);
    }

    #[test]
    fn of_many_rows_and_columns_those_are_drawn_that_matter() {
        let sizes: Vec<u64> = (1..=300).map(|n| n * 64).collect();
        let slow = (1..=200).flat_map(|c| sizes.iter().map(move |size| (*size, ring(c), 100.0 - f64::from(c) / 10.0)));
        let points: Vec<(u64, Configuration, f64)> = slow.collect();
        let many = sweep(&points, &[(64, ring(200), 80.0)]);
        let chart = drawn(&many, &[], &[], Against::Best);
        let (columns, rows) = (names(&chart.x), names(&chart.y));
        assert_eq!((columns.len(), rows.len()), (MAX_COLUMNS, MAX_ROWS + 1));
        assert_eq!((columns[0].as_str(), columns[MAX_COLUMNS - 1].as_str()), ("64 B", "18.75 KiB"));
        assert_eq!((rows[1].as_str(), rows[MAX_ROWS].as_str()), ("RING/LL/1", "RING/LL/200"), "the default's is kept");
        assert!(
            chart
                .summary
                .ends_with("shown are the 72 of 200 configurations that lose least; shown are 48 of 300 sizes."),
            "{}",
            chart.summary
        );
        let sizes = columns.iter().map(|name| name.parse::<Size>().unwrap().0);
        assert!(sizes.zip(thinned(&sizes_of(&many), MAX_COLUMNS)).all(|(shown, size)| shown == size));
        assert!(chart.height().is_some_and(|height| height <= 1200.0));
    }

    fn sizes_of(sweep: &Sweep) -> Vec<u64> {
        sweep.groups()[0].sizes.clone()
    }
}
