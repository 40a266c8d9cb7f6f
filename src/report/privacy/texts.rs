//! Every text of a report. Each type is taken apart field by field, so that a new field can't be forgotten here.

use std::borrow::Cow;

use crate::{
    plot::{Axis, Chart, Mark, Point, Quantity, Series},
    report::{
        Exhibit, Fact, LoadedFile, Report, Section, TextFile,
        placement::Figure,
        snapshot::{Snapshot, SnapshotGroup},
    },
    text::{Column, Entry, Listing},
};

/// Shows each text, and whether it is a name (an identifier, or what a file is called) rather than words.
pub(super) type TextVisitor<'a> = dyn FnMut(&mut String, bool) + 'a;

/// Calls `see` for every text of a report.
pub(super) fn each(report: &mut Report, see: &mut TextVisitor<'_>) {
    let Report {
        workbench: _,
        title,
        summary,
        program: _,
        made_on,
        files,
        parameters,
        sections,
        snapshot,
        figures,
        in_view: _,
    } = report;
    see(title, false);
    summary.iter_mut().chain(made_on).for_each(|text| see(text, false));
    for LoadedFile { name, format, holds, left_out: _ } in files {
        name.iter_mut().for_each(|name| see(name, true));
        see(format, false);
        see(holds, false);
    }
    for Figure { name, value, note } in figures {
        [name, value, note].into_iter().for_each(|text| see(text, false));
    }
    for Fact { name, value } in parameters {
        see(name, false);
        see(value, false);
    }
    for Section { title, text, charts, tables, files, form: _, placement: _ } in sections {
        see(title, false);
        text.iter_mut().for_each(|text| see(text, false));
        charts.iter_mut().for_each(|chart| of_chart(chart, see));
        // What is for the page alone stays on the page on which it was made.
        for Exhibit { id, title, listing, choose: _, marks: _, lines: _ } in tables {
            see(id, true);
            see(title, false);
            of_listing(listing, see);
        }
        for TextFile { name, text, note } in files {
            see(name, true);
            see(text, false);
            see(note, false);
        }
    }
    if let Some(Snapshot { program: _, is_whole: _, groups, out_of_place, wrong_values: _ }) = snapshot {
        let all = groups.iter_mut().chain(out_of_place);
        for SnapshotGroup { collective: _, scale: _, measured_with, drift: _, sizes: _ } in all {
            measured_with.iter_mut().for_each(|text| see(text, false));
        }
    }
}

fn of_chart(chart: &mut Chart, see: &mut TextVisitor<'_>) {
    let Chart { id, title, summary, x, y, series } = chart;
    see(id, true);
    see(title, false);
    see(summary, false);
    for Axis { label, quantity, spacing: _ } in [x, y] {
        see(label, false);
        of_quantity(quantity, see);
    }
    for Series { name, colour: _, mark, points } in series {
        see(name, false);
        if let Mark::Cells(quantity, _) = mark {
            of_quantity(quantity, see);
        }
        for Point { x: _, y: _, low: _, high: _, value: _, note, line: _ } in points {
            see(note, false);
        }
    }
}

fn of_quantity(quantity: &mut Quantity, see: &mut TextVisitor<'_>) {
    if let Quantity::Names(names) = quantity {
        names.iter_mut().for_each(|name| see(name, false));
    }
}

fn of_listing(listing: &mut Listing, see: &mut TextVisitor<'_>) {
    let Listing { columns, rows } = listing;
    for Column { name, meaning, is_numeric: _, is_secondary: _ } in columns {
        for words in [name, meaning] {
            // Borrowed words are the program's own.
            if let Cow::Owned(words) = words {
                see(words, false);
            }
        }
    }
    for Entry { text, number: _ } in rows.iter_mut().flatten() {
        see(text, false);
    }
}
