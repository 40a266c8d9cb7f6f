//! The explanations of terms in labels are those of docs/glossary.md. `UPDATE_GLOSSARY=1 cargo test --test common
//! glossary` writes src/glossary.txt anew.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use collectune::glossary::{explained, uses};

use crate::support::terminal::report_of;

const FILE: &str = "src/glossary.txt";
/// Terms that need no explanation, and those that labels use in another sense as well: point to point, the link of a
/// report.
const PLAIN: [&str; 4] = ["file", "row, line", "point", "link"];

/// The terms of the glossary, without those of the program itself: spellings and meaning.
fn terms() -> Vec<(String, String)> {
    let text = fs::read_to_string("docs/glossary.md").unwrap();
    let before = text.split("## Program").next().unwrap();
    let rows = before.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| term"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let spellings = cells[1].replace(" (", ", ").replace(')', "");
        (spellings, cells[2].replace(['`', '*'], ""))
    })
    .collect()
}

/// The labels that the page shows: of fields, tables and figures, from the source; of tables and series, from the
/// reports of the examples as well.
fn labels() -> BTreeSet<String> {
    let mut labels = BTreeSet::new();
    for file in sources(Path::new("src")) {
        let text = fs::read_to_string(file).unwrap();
        for (before, place) in [
            ("Field::new(", 1),
            ("number_field(", 0),
            ("Column::words(", 0),
            ("Column::numbers(", 0),
            ("Figure::new(", 0),
            ("focusable_term(", 0),
            ("label=", 0),
        ] {
            let after = text.split(before).skip(1).map(|rest| rest.get(..200).unwrap_or(rest));
            labels.extend(after.filter_map(|rest| rest.split('"').nth(2 * place + 1).map(str::to_owned)));
        }
    }
    let examples =
        ["sweep.csv", "rewards.csv", "training.zip", "kernels.csv"].map(|of| format!("public/examples/simulated_{of}"));
    for input in examples.iter().map(String::as_str).chain(["dgx1v"]) {
        let report = report_of(input);
        for section in &report.sections {
            let columns = section.tables.iter().flat_map(|table| &table.listing.columns);
            labels.extend(columns.map(|column| column.name.to_string()));
            labels.extend(section.charts.iter().flat_map(|chart| &chart.series).map(|series| series.name.clone()));
        }
    }
    labels
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

#[test]
fn each_term_that_a_label_uses_is_explained_as_in_the_glossary() {
    let labels = labels();
    assert!(labels.contains("Collective") && labels.contains("Gain"), "{labels:?}");
    let is_used = |spellings: &str| labels.iter().any(|label| uses(label, spellings));
    let used: Vec<String> = terms()
        .into_iter()
        .filter(|(spellings, _)| !PLAIN.contains(&spellings.as_str()) && is_used(spellings))
        .map(|(spellings, meaning)| format!("{spellings}: {meaning}"))
        .collect();
    let wanted = used.join("\n") + "\n";
    if env::var_os("UPDATE_GLOSSARY").is_some() {
        fs::write(FILE, &wanted).unwrap();
    }
    assert_eq!(
        fs::read_to_string(FILE).unwrap(),
        wanted,
        "{FILE} is out of date: run UPDATE_GLOSSARY=1 cargo test --test common glossary"
    );
    for line in &used {
        let first = line.split([',', ':']).next().unwrap();
        assert!(explained(first).contains(line), "{first}: {:?}", explained(first));
    }
}
