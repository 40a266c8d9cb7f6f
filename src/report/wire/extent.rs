//! Limits on the extent of a report, so that a page draws it quickly: every chart, table, column and sentence takes
//! space on a screen, and a short link can contain thousands of them. Reports of the workbenches stay far below.

use super::WireError;
use crate::{
    plot::Quantity,
    report::{Report, Section},
    units::count,
};

/// The most sections of a report that is read.
pub const MOST_SECTIONS: usize = 200;
/// The most charts, and the most tables.
pub const MOST_CHARTS: usize = 120;
/// The most columns of all tables together.
pub const MOST_COLUMNS: usize = 1200;
/// The most series of a chart.
pub const MOST_SERIES: usize = 200;
/// The most series of all charts together.
pub const MOST_SERIES_IN_ALL: usize = 2000;
/// The most names on an axis.
pub const MOST_NAMES: usize = 5000;
/// The most sentences of a report that is read, over all sections.
pub const MOST_SENTENCES: usize = 2500;
/// The most files to deploy.
pub const MOST_FILES: usize = 200;
/// The most loaded files and parameters.
pub const MOST_FACTS: usize = 10_000;

/// The number of something, its name, and the most that is allowed.
type Excess = (usize, &'static str, usize);

fn excesses(report: &Report) -> impl Iterator<Item = Excess> {
    let sections = &report.sections;
    let sum = |of: &dyn Fn(&Section) -> usize| sections.iter().map(of).sum::<usize>();
    let charts = || sections.iter().flat_map(|section| &section.charts);
    let most = |of: &mut dyn Iterator<Item = usize>| of.max().unwrap_or(0);
    let names = |quantity: &Quantity| if let Quantity::Names(names) = quantity { names.len() } else { 0 };
    let columns = |section: &Section| section.tables.iter().map(|table| table.listing.columns.len()).sum();
    [
        (sections.len(), "sections", MOST_SECTIONS),
        (sum(&|section| section.charts.len()), "charts", MOST_CHARTS),
        (sum(&|section| section.tables.len()), "tables", MOST_CHARTS),
        (sum(&columns), "columns", MOST_COLUMNS),
        (most(&mut charts().map(|chart| chart.series.len())), "series of a chart", MOST_SERIES),
        (charts().map(|chart| chart.series.len()).sum(), "series", MOST_SERIES_IN_ALL),
        (
            most(&mut charts().map(|chart| names(&chart.x.quantity).max(names(&chart.y.quantity)))),
            "names on an axis",
            MOST_NAMES,
        ),
        (report.summary.len() + sum(&|section| section.text.len()), "sentences", MOST_SENTENCES),
        (sum(&|section| section.files.len()), "files", MOST_FILES),
        (report.files.len(), "loaded files", MOST_FACTS),
        (report.parameters.len(), "parameters", MOST_FACTS),
    ]
    .into_iter()
}

/// Whether a report can be shown. Returns an error if it exceeds the limits of reports.
pub(in crate::report) fn check(report: &Report) -> Result<(), WireError> {
    match excesses(report).find(|(count, _, most)| count > most) {
        Some((count, what, most)) => Err(WireError::TooMuch { count, what, most }),
        None => Ok(()),
    }
}

/// The report with as much as can be shown, and with a sentence where something is left out.
pub(in crate::report) fn fit(report: &Report) -> Report {
    let mut report = report.clone();
    if check(&report).is_ok() {
        return report;
    }
    let told = |left_out: &[(usize, &str)]| {
        let some: Vec<String> = left_out
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| count(*number as u64, what))
            .collect();
        (!some.is_empty()).then(|| format!("More than a report holds: {} left out here.", some.join(", ")))
    };
    let sections = truncate(&mut report.sections, MOST_SECTIONS - 1);
    truncate(&mut report.files, MOST_FACTS);
    truncate(&mut report.parameters, MOST_FACTS);
    let (mut charts, mut tables, mut columns) = (MOST_CHARTS, MOST_CHARTS, MOST_COLUMNS);
    let (mut series, mut files) = (MOST_SERIES_IN_ALL, MOST_FILES);
    // A sentence for each section that something is left out of.
    let mut sentences = MOST_SENTENCES - MOST_SECTIONS;
    let summary = truncate(&mut report.summary, sentences / 2);
    sentences -= report.summary.len();
    report.summary.extend(told(&[(summary, "sentence"), (sections, "section")]));
    for section in &mut report.sections {
        let texts = truncate(&mut section.text, sentences);
        sentences -= section.text.len();
        let before = section.charts.len();
        section.charts.retain_mut(|chart| {
            for axis in [&mut chart.x, &mut chart.y] {
                if let Quantity::Names(names) = &mut axis.quantity {
                    names.truncate(MOST_NAMES);
                }
            }
            let keeps = charts > 0 && chart.series.len() <= MOST_SERIES.min(series);
            if keeps {
                (charts, series) = (charts - 1, series - chart.series.len());
            }
            keeps
        });
        let left_out = before - section.charts.len();
        let before = section.tables.len();
        section.tables.retain(|table| {
            let width = table.listing.columns.len();
            let keeps = tables > 0 && width <= columns;
            if keeps {
                (tables, columns) = (tables - 1, columns - width);
            }
            keeps
        });
        let without = before - section.tables.len();
        let gone = truncate(&mut section.files, files);
        files -= section.files.len();
        section.text.extend(told(&[(texts, "sentence"), (left_out, "chart"), (without, "table"), (gone, "file")]));
    }
    report
}

/// Truncates to `most` items, and returns the number that was left out.
fn truncate<T>(all: &mut Vec<T>, most: usize) -> usize {
    let gone = all.len().saturating_sub(most);
    all.truncate(most);
    gone
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plot::{Axis, Chart, Colour, Mark, Series, Spacing},
        report::Exhibit,
        text::{Column, Listing},
    };

    fn chart(series: usize) -> Chart {
        let axis = || Axis { label: "a".into(), quantity: Quantity::Number, spacing: Spacing::Linear };
        let one = Series { name: "s".into(), colour: Colour::Answer, mark: Mark::Line, points: Vec::new() };
        let (id, title, summary) = ("c".into(), "c".into(), String::new());
        Chart { id, title, summary, x: axis(), y: axis(), series: vec![one; series] }
    }

    fn table(columns: usize) -> Exhibit {
        let columns = vec![Column::words("a", ""); columns];
        Exhibit::new("t", "t", Listing { columns, rows: Vec::new() })
    }

    #[test]
    fn what_is_too_much_is_told_and_what_fits_is_left_as_it_is() {
        let section = |charts: usize, tables: Vec<Exhibit>| Section {
            title: "s".into(),
            text: vec!["t".into(); 3],
            charts: vec![chart(1); charts],
            tables,
            ..Section::default()
        };
        let small = Report { sections: vec![section(MOST_CHARTS, vec![table(MOST_COLUMNS)])], ..Report::default() };
        assert_eq!((check(&small), fit(&small)), (Ok(()), small.clone()));
        let large = Report {
            sections: vec![section(MOST_CHARTS + 3, vec![table(10); MOST_CHARTS + 1]), section(0, vec![table(9)])],
            ..Report::default()
        };
        assert_eq!(
            check(&large),
            Err(WireError::TooMuch { count: MOST_CHARTS + 3, what: "charts", most: MOST_CHARTS })
        );
        let left = fit(&large);
        assert_eq!(check(&left), Ok(()));
        let last = |at: usize| left.sections[at].text.last().cloned().unwrap_or_default();
        assert_eq!(last(0), "More than a report holds: 3 charts, 1 table left out here.");
        assert_eq!(last(1), "More than a report holds: 1 table left out here.");
        let charts = vec![chart(MOST_SERIES + 1)];
        let many = Report { sections: vec![Section { charts, ..Section::default() }], ..Report::default() };
        assert!(check(&many).is_err() && check(&fit(&many)).is_ok());
        let long =
            Report { summary: vec!["a".into(); 5000], sections: vec![section(0, vec![]); 500], ..Report::default() };
        assert_eq!(check(&fit(&long)), Ok(()));
    }
}
