//! Tables of counts beside what is stated of them, in the document.

use std::{
    fmt::Display,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use super::support::counts::Count;

/// A table of Markdown.
pub struct Table {
    name: &'static str,
    lines: Vec<String>,
    wrong: Vec<String>,
}

impl Table {
    pub fn new(name: &'static str, columns: &[&str]) -> Self {
        let rule: Vec<&str> = columns.iter().map(|_| "---").collect();
        let lines = vec![format!("| {} |", columns.join(" | ")), format!("|{}|", rule.join("|"))];
        Self { name, lines, wrong: Vec::new() }
    }

    pub fn row(&mut self, cells: &[&dyn Display]) {
        let cells: Vec<String> = cells.iter().map(ToString::to_string).collect();
        self.lines.push(format!("| {} |", cells.join(" | ")));
    }

    /// What is stated; told of the last row at the end where it does not hold.
    pub fn check(&mut self, holds: bool, stated: &str) {
        if !holds {
            self.wrong.push(format!("{stated}: {}", self.lines[self.lines.len() - 1]));
        }
    }

    pub fn at_most(&mut self, count: Count, rate: f64) {
        self.check(count.is_at_most(rate), &format!("{count} is more than {} %", rate * 100.0));
    }

    pub fn at_least(&mut self, count: Count, rate: f64) {
        self.check(count.is_at_least(rate), &format!("{count} is less than {} %", rate * 100.0));
    }

    /// Prints the table, and holds it against the document, or writes it there.
    pub fn settle(self) {
        static DOCUMENT: Mutex<()> = Mutex::new(());
        let Self { name, lines, wrong } = self;
        let table = lines.join("\n") + "\n";
        println!("{name}\n{table}");
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        let _guard = DOCUMENT.lock().unwrap_or_else(PoisonError::into_inner);
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/statistics.md");
        let document = std::fs::read_to_string(&path).unwrap();
        let begin = format!("<!-- {name} -->\n");
        let (before, rest) =
            document.split_once(&begin).unwrap_or_else(|| panic!("docs/statistics.md has no table {name}"));
        let end = rest.find("\n\n").map_or(rest.len(), |end| end + 1);
        if std::env::var_os("STATISTICS").is_some_and(|what| what == "write") {
            std::fs::write(&path, format!("{before}{begin}{table}{}", &rest[end..])).unwrap();
        } else {
            assert_eq!(
                rest[..end],
                table,
                "docs/statistics.md is out of date: STATISTICS=write cargo test --test statistics"
            );
        }
    }
}

#[test]
fn counts_are_held_against_rates() {
    let count = |of, all| Count { of, all };
    assert!(count(0, 10).is_at_most(0.01) && count(10, 10).is_at_least(0.99));
    // The median of 400 at 5 % is 20; 38 and more come with a chance of less than a thousandth.
    assert!(count(32, 400).is_at_most(0.05) && !count(38, 400).is_at_most(0.05));
    assert!(count(368, 400).is_at_least(0.95) && !count(362, 400).is_at_least(0.95));
    assert!(!count(10, 10).is_at_most(0.1));
    assert_eq!(count(1, 8).to_string(), "12.5 % (1 of 8)");
}
