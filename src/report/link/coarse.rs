//! The steps by which a report is reduced until it fits into a link.

use crate::{
    order::CompactSort,
    plot::{Chart, Colour, Mark, Point, Series},
    report::{
        Report, Section,
        annotations::shorten,
        link::{NOTE_CHARS, small},
        snapshot::{DeployedChoice, Measurement},
    },
};

/// Columns that repeat another column in a different unit.
const TIMES: [&str; 2] = ["Default time", "Best time"];
/// Columns that explain a decision and are not needed to follow it.
const BESIDES: [&str; 7] = ["90 %", "Tied", "Visible", "More runs", "Best measured", "Support", "Chosen by"];

/// A description of what is left out, and the function that does it.
type Step = (&'static str, fn(&mut Report));

/// The steps in order. The first is always taken: it leaves out what the report repeats, and details of charts that
/// are not visible.
const STEPS: &[Step] = &[
    (
        "charts besides the first of each section, those of predictions, what ran at each point in their background, and \
         times that follow from a bandwidth beside them",
        first_charts,
    ),
    ("measurements besides those of the default, of the fastest and of what is to be deployed", thin_snapshot),
    ("the ends of long notes", |report| shorten(report, NOTE_CHARS)),
    ("measured points between the highest and the lowest of each size", thin),
    ("the list of measurements that stalled", |report| without(report, "stalls")),
    ("columns that explain a decision and don't make it", narrow),
    ("timelines", timelines),
    ("measured points", |report| each_background(report, |_| Vec::new())),
    ("what a comparison with a later state needs", |report| report.snapshot = None),
    ("the list of launches to make next", |report| without(report, "measure-next")),
    ("the list of hotspots", |report| without(report, "hotspots")),
    ("rows of tables after the first 20", |report| if_it_lists_no_choices(report, |section| first_rows(section, 20))),
    ("files", |report| report.sections.iter_mut().for_each(|section| section.files.clear())),
    ("charts of more than 250 points", short_charts),
    ("charts", |report| report.sections.iter_mut().for_each(|section| section.charts.clear())),
    ("rows of tables after the first 5", |report| if_it_lists_no_choices(report, |section| first_rows(section, 5))),
    ("tables besides those of the first section", first_tables),
];

/// A report after some of the steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduced {
    /// The report with what is left of it.
    pub report: Report,
    /// What was left out, in words.
    pub left_out: Vec<String>,
    /// The indices of the steps that were taken, ascending.
    taken: Vec<usize>,
}

impl Reduced {
    fn new(report: &Report, steps: impl IntoIterator<Item = usize>) -> Self {
        let mut reduced = Self { report: report.clone(), left_out: Vec::new(), taken: Vec::new() };
        for step in steps {
            reduced.take(step);
        }
        reduced
    }

    /// Takes a step. One that changes nothing is not counted, except for the first.
    fn take(&mut self, step: usize) {
        let (what, take_out) = STEPS[step];
        let before = self.report.clone();
        take_out(&mut self.report);
        let has_changed = self.report != before;
        self.left_out.extend(has_changed.then(|| what.to_owned()));
        self.taken.extend((has_changed || step == 0).then_some(step));
    }

    /// The same form with fewer steps, as few as `fits` allows: what is worth most comes back first. `None` if all of
    /// them are needed.
    pub(super) fn put_back<T>(&self, report: &Report, fits: impl Fn(&Self) -> Option<T>) -> Option<T> {
        let mut taken = self.taken.clone();
        let mut finest = None;
        // Without the last step it did not fit, and the first is always taken.
        for at in (1..taken.len().saturating_sub(1)).rev() {
            let step = taken.remove(at);
            match fits(&Self::new(report, taken.iter().copied())) {
                Some(finer) => finest = Some(finer),
                None => taken.insert(at, step),
            }
        }
        finest
    }
}

/// The report as fine as a link holds it, then coarser by a step each: always with all that was left out, in words.
pub fn for_link(report: &Report) -> Vec<Reduced> {
    let mut all = vec![Reduced::new(report, [0])];
    for step in 1..STEPS.len() {
        let mut next = all[all.len() - 1].clone();
        next.take(step);
        if next.taken.last() == Some(&step) {
            all.push(next);
        }
    }
    all
}

fn first_charts(report: &mut Report) {
    for section in &mut report.sections {
        section.charts.retain(|chart| !chart.id.starts_with("predicted-over-measured"));
        section.charts.truncate(1);
        section.tables.iter_mut().for_each(|table| table.listing = table.listing.without_empty_columns());
    }
    without_columns(report, &TIMES);
    // The files say it, too.
    without(report, "tuner-rules");
    each_background(report, |points| points.into_iter().map(|point| Point { note: String::new(), ..point }).collect());
    for chart in report.sections.iter_mut().flat_map(|section| &mut section.charts) {
        for point in chart.series.iter_mut().flat_map(|series| &mut series.points) {
            point.y = as_shown(point.y);
            point.low = point.low.map(as_shown);
            point.high = point.high.map(as_shown);
            point.value = point.value.map(as_shown);
        }
    }
}

fn short_charts(report: &mut Report) {
    let points = |chart: &Chart| chart.series.iter().map(|series| series.points.len()).sum::<usize>();
    report.sections.iter_mut().for_each(|section| section.charts.retain(|chart| points(chart) <= 250));
}

/// Keeps the tables of the first section that has some. What to deploy is reduced by [`small`].
fn first_tables(report: &mut Report) {
    if !small::lists_choices(report) {
        let with_tables = report.sections.iter_mut().filter(|section| !section.tables.is_empty());
        with_tables.skip(1).for_each(|section| section.tables.clear());
    }
}

/// The value rounded to four significant digits, as readouts show it.
fn as_shown(value: f64) -> f64 {
    if value.is_finite() { format!("{value:.3e}").parse().unwrap_or(value) } else { value }
}

/// Removes charts of timelines, which consist of thousands of bars.
fn timelines(report: &mut Report) {
    let is_timeline = |chart: &Chart| chart.series.iter().any(|series| series.mark == Mark::Spans);
    report.sections.iter_mut().for_each(|section| section.charts.retain(|chart| !is_timeline(chart)));
}

/// Removes the tables whose id begins with `id`.
fn without(report: &mut Report, id: &str) {
    report.sections.iter_mut().for_each(|section| section.tables.retain(|table| !table.id.starts_with(id)));
}

/// Changes the sections of a report that lists no choices to deploy. In the tables of one that does, the first rows are
/// not the ones that matter most; [`small`] picks those.
fn if_it_lists_no_choices(report: &mut Report, change: fn(&mut Section)) {
    if !small::lists_choices(report) {
        report.sections.iter_mut().for_each(change);
    }
}

fn first_rows(section: &mut Section, most: usize) {
    section.tables.iter_mut().for_each(|table| table.listing.rows.truncate(most));
}

/// Keeps of each size the default, the fastest and what is to be deployed.
fn thin_snapshot(report: &mut Report) {
    let Some(snapshot) = report.snapshot.as_mut().filter(|snapshot| snapshot.is_whole) else { return };
    snapshot.is_whole = false;
    for at in snapshot.groups.iter_mut().flat_map(|group| &mut group.sizes) {
        let busbw = |measurement: &Measurement| measurement.runs.busbw_gbps();
        let highest = at.measured.iter().map(busbw).fold(f64::NEG_INFINITY, f64::max);
        let deployed = at.deployed;
        at.measured.retain(|measurement| {
            busbw(measurement) == highest || deployed == DeployedChoice::Configuration(measurement.configuration)
        });
    }
}

/// Keeps two points for each x.
fn thin(report: &mut Report) {
    each_background(report, |mut points| {
        points.compact_sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
        let ends = points.chunk_by(|a, b| a.x == b.x).flat_map(|same| match same {
            [low, .., high] => vec![low.clone(), high.clone()],
            same => same.to_vec(),
        });
        ends.collect()
    });
}

fn each_background(report: &mut Report, change: impl Fn(Vec<Point>) -> Vec<Point>) {
    let is_background = |series: &Series| series.colour == Colour::Muted && series.mark == Mark::Dots;
    for section in &mut report.sections {
        for chart in &mut section.charts {
            for series in chart.series.iter_mut().filter(|series| is_background(series)) {
                series.points = change(std::mem::take(&mut series.points));
            }
            chart.series.retain(|series| !series.points.is_empty());
        }
        section.charts.retain(|chart| !chart.series.is_empty());
    }
}

fn narrow(report: &mut Report) {
    without_columns(report, &BESIDES);
}

fn without_columns(report: &mut Report, names: &[&str]) {
    for table in report.sections.iter_mut().flat_map(|section| &mut section.tables) {
        let listing = &mut table.listing;
        for index in (0..listing.columns.len()).rev() {
            if names.contains(&listing.columns[index].name.as_ref()) {
                listing.columns.remove(index);
                listing.rows.iter_mut().filter(|row| index < row.len()).for_each(|row| drop(row.remove(index)));
            }
        }
    }
}
