//! The section on lines that could not be used.

use super::{Exhibit, Section};
use crate::{
    text::{Column, Entry, Listing, Problems},
    units::count,
};

/// The number of lines that are shown of each kind of problem.
const EXAMPLES: usize = 5;

/// The section on the lines of files that were left out: their number, and the first examples by line.
pub fn section(problems: &[(&str, &Problems)]) -> Option<Section> {
    const COLUMNS: [Column; 5] = [
        Column::words("File", "the file"),
        Column::numbers("Line", "line in the file"),
        Column::words("Column", "where in the line"),
        Column::words("Text", "what stands there"),
        Column::words("Problem", "what is wrong with it"),
    ];
    let mut text = Vec::new();
    let mut rows = Vec::new();
    for (name, problems) in problems.iter().filter(|(_, problems)| problems.count > 0) {
        text.push(format!("{name}: {} left out.", count(problems.count, "line")));
        rows.extend(problems.kept.iter().take(EXAMPLES).map(|problem| {
            vec![
                Entry::text(*name),
                Entry::number(Some(problem.line as f64), |line| format!("{line}")),
                Entry::text(problem.column.clone()),
                Entry::text(problem.text.clone()),
                Entry::text(problem.expected.clone()),
            ]
        }));
    }
    let listing = Listing { columns: COLUMNS.to_vec(), rows };
    (!text.is_empty()).then(|| Section {
        title: "What was left out".into(),
        text,
        tables: vec![Exhibit::new("left-out", "The first lines that were left out", listing)],
        ..Section::default()
    })
}
