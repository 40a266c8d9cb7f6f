//! A coverage for people: the table, the sentence, the histogram.

use super::{CoverageLine, CoverageTotal, Hit, collectives};
use crate::{
    order::CompactSort,
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    text::{Column, Entry, Listing},
    tuning::reach::Path,
    units::{Size, microseconds, percent, significant},
};

const COLUMNS: [Column; 13] = [
    Column::words("Collective", "collective"),
    Column::words("Scale", "nodes × ranks"),
    Column::numbers("Size", "message size"),
    Column::numbers("Calls", "calls per step"),
    Column::words(
        "Path",
        "the way through the library; a tuner is asked on the paths tuner, tuner-or-library, own-table and library",
    ),
    Column::words("Ran", "what the log says that ran"),
    Column::numbers(
        "Now, µs",
        "time of one call of what ran, where it was measured, else with the library's own choice",
    )
    .secondary(),
    Column::numbers("Now per step, µs", "time of all of them"),
    Column::words("Hits", "the line of the rule that applies, or the gap"),
    Column::words("Would run", "what would run with the tuner file"),
    Column::numbers("With, µs", "time of one call with the tuner file").secondary(),
    Column::numbers(
        "With per step, µs",
        "time of all of them, where it changes only calls about which a tuner is asked",
    ),
    Column::words("Known by", "how the times are known; sizes that were never measured are to be measured next"),
];

/// The first of the columns about a tuner file, and how many there are.
const ABOUT_CONF: std::ops::Range<usize> = 8..12;
/// The index of the column about paths, which is left out where no paths were looked for.
const ABOUT_PATHS: usize = 4;

/// The calls as a table.
pub fn listing(lines: &[CoverageLine], has_conf: bool) -> Listing {
    let mut columns = COLUMNS.to_vec();
    let mut rows: Vec<Vec<Entry>> = lines.iter().map(row).collect();
    if !has_conf {
        columns.drain(ABOUT_CONF);
        rows.iter_mut().for_each(|row| drop(row.drain(ABOUT_CONF)));
    }
    if lines.iter().all(|line| line.paths.is_empty()) {
        columns.remove(ABOUT_PATHS);
        rows.iter_mut().for_each(|row| drop(row.remove(ABOUT_PATHS)));
    }
    Listing { columns, rows }
}

fn row(line: &CoverageLine) -> Vec<Entry> {
    let workload = line.workload;
    let time = |expected: Option<super::Expected>| Entry::number(expected.and_then(|e| e.time_us), significant);
    let known = match (line.now, line.with_conf) {
        (Some(now), Some(with)) if now.basis != with.basis => format!("{}, {}", now.basis.name(), with.basis.name()),
        (Some(now), _) => now.basis.name().to_owned(),
        (None, Some(with)) => with.basis.name().to_owned(),
        _ => "not known".to_owned(),
    };
    let known = match line.default_ran {
        Some(ran) => format!("{known} of a default that ran {}", ran.as_known()),
        None => known,
    };
    let known = if line.is_worth_measuring() { known + "; measure next" } else { known };
    vec![
        Entry::text(workload.collective.name()),
        Entry::text(format!("{} × {}", workload.scale.nodes, workload.scale.ranks)),
        Entry::size(workload.size_bytes),
        Entry::number(Some(line.calls), calls),
        Entry::text(paths(&line.paths)),
        Entry::text(line.seen.map(|seen| seen.as_known()).unwrap_or_default()),
        time(line.now),
        Entry::number(line.now_us(), significant),
        Entry::text(hit(line.hit)),
        Entry::text(line.effect.map(|effect| effect.to_string()).unwrap_or_default()),
        time(line.with_conf),
        Entry::number(line.with_conf_us(), significant),
        Entry::text(known),
    ]
}

fn calls(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { significant(number) }
}

/// `dda`, or `library 75 %, unknown 25 %`.
fn paths(paths: &[(Path, f64)]) -> String {
    match paths {
        [(only, _)] => only.name().to_owned(),
        _ => {
            let share = |(path, share): &(Path, f64)| format!("{} {:.0} %", path.name(), share * 100.0);
            paths.iter().map(share).collect::<Vec<_>>().join(", ")
        }
    }
}

fn hit(hit: Hit) -> String {
    match hit {
        Hit::Rule(line) => format!("line {line}"),
        Hit::Gap => "gap".to_owned(),
        Hit::Untuned => "not tuned".to_owned(),
    }
}

/// The totals in a sentence, and one on calls about which no tuner is asked.
pub fn sentence(total: &CoverageTotal) -> String {
    let all = format!("{} {} per step", calls(total.calls), if total.calls == 1.0 { "call" } else { "calls" });
    let share = |part: f64| part / total.calls.max(f64::MIN_POSITIVE) * 100.0;
    let mut text = if total.known <= 0.0 {
        format!("{all}; what they cost is not known.")
    } else {
        let known = format!("known for {:.0} % of {all}", share(total.known));
        let now = microseconds(total.now_us);
        let gain = |with: f64| percent((with / total.now_us - 1.0) * 100.0);
        match total.with_conf_us.zip(total.with_untold_us) {
            None => format!("{now} per step now, {known}."),
            Some((with, with_untold)) => {
                let (with_text, untold_text) = (microseconds(with), microseconds(with_untold));
                let with = if with_text == untold_text {
                    format!("{with_text} with the file ({})", gain(with))
                } else {
                    format!(
                        "with the file {with_text} ({}), or {untold_text} ({}) if a tuner is asked about the calls \
                         of unknown path too",
                        gain(with),
                        gain(with_untold)
                    )
                };
                format!("{now} per step now, {with}, {known}; {:.0} % of the calls hit a rule.", share(total.covered))
            }
        }
    };
    let (elsewhere, untold) = (share(total.calls - total.asked - total.untold), share(total.untold));
    if elsewhere >= 0.05 || untold >= 0.05 {
        let time = match total.now_us > 0.0 {
            true => format!(" and {:.1} % of their time", total.asked_us / total.now_us * 100.0),
            false => String::new(),
        };
        text += &format!(
            " A tuner is asked about {:.1} % of the calls{time}; {elsewhere:.1} % take another path, and of {untold:.1} % no line \
             shows the path.",
            share(total.asked)
        );
    }
    text
}

/// How often each size is called, a series for each collective; sizes without a rule apart.
pub fn histogram(lines: &[CoverageLine]) -> Chart {
    let mut series: Vec<Series> = Vec::new();
    for (index, collective) in collectives(lines).into_iter().enumerate() {
        for is_gap in [false, true] {
            let of = lines.iter().filter(|line| {
                line.workload.collective == collective && (line.hit == Hit::Gap) == is_gap && line.calls > 0.0
            });
            let mut points: Vec<Point> = of
                .map(|line| {
                    let note = format!("{}, {}", line.workload.scale, hit(line.hit));
                    Point::new(line.workload.size_bytes as f64, line.calls, note)
                })
                .collect();
            points.compact_sort_by(|a, b| a.x.total_cmp(&b.x));
            if !points.is_empty() {
                let name = if is_gap { format!("{collective}, in a gap") } else { collective.to_string() };
                let colour = if is_gap { Colour::Default } else { Colour::Palette(index as u8) };
                series.push(Series::new(&name, colour, Mark::Dots, points));
            }
        }
    }
    let most = lines.iter().max_by(|a, b| a.calls.total_cmp(&b.calls));
    let summary = most.map_or_else(String::new, |line| {
        let (collective, size) = (line.workload.collective, Size(line.workload.size_bytes));
        format!("Most often called: {collective} of {size}, {} times per step.", calls(line.calls))
    });
    Chart {
        id: "coverage".to_owned(),
        title: "Calls by message size".to_owned(),
        summary,
        x: Axis::new("Message size", Quantity::Bytes, Spacing::Logarithmic),
        y: Axis::new("Calls per step", Quantity::Number, Spacing::Logarithmic),
        series,
    }
}
