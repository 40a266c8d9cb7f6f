//! What changed, as charts: the change over size, a chart for each collective and scale.

use super::{Difference, Findings, Subject, Verdict, listing::compared, whole::Whole};
use crate::{
    collective::{Collective, Scale},
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    units::{Size, percent},
};

/// The charts, by collective and scale.
#[must_use]
pub fn charts(findings: &Findings) -> Vec<Chart> {
    let key = |difference: &Difference| (difference.workload.collective, difference.workload.scale);
    let whole_of = |key| findings.wholes.iter().find(|whole| (whole.collective, whole.scale) == key);
    let of_group = |of: &[Difference]| chart(of, key(&of[0]), whole_of(key(&of[0])));
    findings.differences.chunk_by(|a, b| key(a) == key(b)).map(of_group).collect()
}

fn chart(of: &[Difference], (collective, scale): (Collective, Scale), whole: Option<&Whole>) -> Chart {
    let point = |difference: &Difference| Point {
        x: difference.workload.size_bytes as f64,
        y: difference.change_pct,
        low: difference.interval_pct.map(|(low, _)| low),
        high: difference.interval_pct.map(|(_, high)| high),
        note: format!("{}, {}", compared(difference), difference.verdict.word()),
        ..Point::default()
    };
    let series = |name: &str, colour, is_of: fn(&Subject) -> bool| Series {
        name: name.to_owned(),
        colour,
        mark: Mark::Whiskers,
        points: of.iter().filter(|difference| is_of(&difference.subject)).map(point).collect(),
    };
    let nothing = of.chunk_by(|a, b| a.workload == b.workload).map(|of| Point {
        x: of[0].workload.size_bytes as f64,
        note: whole.map_or_else(
            || "as fast as before".to_owned(),
            |whole| format!("as the whole: {}", percent(whole.change_pct)),
        ),
        ..Point::default()
    });
    let line =
        Series { name: "No change".to_owned(), colour: Colour::Muted, mark: Mark::Dashed, points: nothing.collect() };
    let all = [
        line,
        series("All", Colour::Palette(3), |subject| matches!(subject, Subject::All { .. })),
        series("Default", Colour::Default, |subject| *subject == Subject::Default),
        series("Best", Colour::Palette(2), |subject| *subject == Subject::Best),
        series("Deployed", Colour::Answer, |subject| matches!(subject, Subject::Deployed(_))),
    ];
    let axis = |label: &str, quantity, spacing| Axis { label: label.to_owned(), quantity, spacing };
    Chart {
        id: format!("change-{collective}-{}n{}r", scale.nodes, scale.ranks),
        title: format!("Change of {collective} on {scale}"),
        summary: summary(of, whole),
        x: axis("Message size", Quantity::Bytes, Spacing::Logarithmic),
        y: axis(
            if whole.is_some() { "Change beside the whole" } else { "Change of busbw" },
            Quantity::Percent,
            Spacing::Linear,
        ),
        series: all.into_iter().filter(|series| !series.points.is_empty()).collect(),
    }
}

/// What is furthest beyond noise, for those who can't see the chart.
fn summary(of: &[Difference], whole: Option<&Whole>) -> String {
    let furthest = |verdict: Verdict| {
        let judged = of.iter().filter(move |difference| difference.verdict == verdict);
        judged.max_by(|a, b| a.change_pct.abs().total_cmp(&b.change_pct.abs()))
    };
    let said = |verdict: Verdict| {
        let Difference { change_pct, workload, .. } = furthest(verdict)?;
        let count = of.iter().filter(|difference| difference.verdict == verdict).count();
        let size = Size(workload.size_bytes);
        Some(format!("{count} {}, furthest by {} at {size}", verdict.word(), percent(*change_pct)))
    };
    let all: Vec<String> = [Verdict::Slower, Verdict::Faster].into_iter().filter_map(said).collect();
    let whole = whole.map_or_else(String::new, |whole| format!("As a whole {}. ", percent(whole.change_pct)));
    if all.is_empty() {
        format!("{whole}Nothing changed beyond noise.")
    } else {
        format!("{whole}Of {} comparisons {}.", of.len(), all.join("; "))
    }
}
