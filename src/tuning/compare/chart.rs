//! Charts of the change over size, one for each collective and scale.

use super::{ChangeVerdict, CompareFindings, Difference, Subject, listing::compared, overall::OverallChange};
use crate::{
    collective::{Collective, Scale},
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    units::{Size, percent},
};

/// The charts, by collective and scale.
pub fn charts(findings: &CompareFindings) -> Vec<Chart> {
    let key = |difference: &Difference| (difference.workload.collective, difference.workload.scale);
    let whole_of = |key| findings.overall.iter().find(|overall| (overall.collective, overall.scale) == key);
    let of_group = |of: &[Difference]| chart(of, key(&of[0]), whole_of(key(&of[0])));
    findings.differences.chunk_by(|a, b| key(a) == key(b)).map(of_group).collect()
}

fn chart(of: &[Difference], (collective, scale): (Collective, Scale), overall: Option<&OverallChange>) -> Chart {
    let point = |difference: &Difference| Point {
        low: difference.interval_pct.map(|(low, _)| low),
        high: difference.interval_pct.map(|(_, high)| high),
        ..Point::new(
            difference.workload.size_bytes as f64,
            difference.change_pct,
            format!("{}, {}", compared(difference), difference.verdict.word()),
        )
    };
    let series = |name: &str, colour, is_of: fn(&Subject) -> bool| {
        let points = of.iter().filter(|difference| is_of(&difference.subject)).map(point);
        Series::new(name, colour, Mark::Whiskers, points.collect())
    };
    let change = overall.map(|overall| format!("as the whole: {}", percent(overall.change_pct)));
    let note = change.unwrap_or_else(|| "as fast as before".to_owned());
    let sizes = of.chunk_by(|a, b| a.workload == b.workload).map(|of| of[0].workload.size_bytes);
    let nothing = sizes.map(|size| Point::new(size as f64, 0.0, note.clone()));
    let line = Series::new("No change", Colour::Muted, Mark::Dashed, nothing.collect());
    let all = [
        line,
        series("All", Colour::Palette(3), |subject| matches!(subject, Subject::All { .. })),
        series("Default", Colour::Default, |subject| *subject == Subject::Default),
        series("Best", Colour::Palette(2), |subject| *subject == Subject::Best),
        series("Deployed", Colour::Answer, |subject| matches!(subject, Subject::Deployed(_))),
    ];
    let changes = if overall.is_some() { "Change beside the whole" } else { "Change of busbw" };
    Chart {
        id: format!("change-{collective}-{}n{}r", scale.nodes, scale.ranks),
        title: format!("Change of {collective} on {scale}"),
        summary: summary(of, overall),
        x: Axis::new("Message size", Quantity::Bytes, Spacing::Logarithmic),
        y: Axis::new(changes, Quantity::Percent, Spacing::Linear),
        series: all.into_iter().filter(|series| !series.points.is_empty()).collect(),
    }
}

/// The text alternative of a chart: the largest changes beyond noise.
fn summary(of: &[Difference], overall: Option<&OverallChange>) -> String {
    let largest = |verdict: ChangeVerdict| {
        let judged = of.iter().filter(move |difference| difference.verdict == verdict);
        judged.max_by(|a, b| a.change_pct.abs().total_cmp(&b.change_pct.abs()))
    };
    let said = |verdict: ChangeVerdict| {
        let Difference { change_pct, workload, .. } = largest(verdict)?;
        let count = of.iter().filter(|difference| difference.verdict == verdict).count();
        let size = Size(workload.size_bytes);
        Some(format!("{count} {}, furthest by {} at {size}", verdict.word(), percent(*change_pct)))
    };
    let all: Vec<String> = [ChangeVerdict::Slower, ChangeVerdict::Faster].into_iter().filter_map(said).collect();
    let overall = overall.map_or_else(String::new, |overall| format!("As a whole {}. ", percent(overall.change_pct)));
    if all.is_empty() {
        format!("{overall}Nothing changed beyond noise.")
    } else {
        format!("{overall}Of {} comparisons {}.", of.len(), all.join("; "))
    }
}
