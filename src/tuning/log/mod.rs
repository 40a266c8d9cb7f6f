//! Logs: the tables of nccl-tests and rccl-tests, and the debug output of the library.
//!
//! [`read_text`] reads a log, [`read_json`] what `-J` and `-Z json` write, [`read_csv`] what `-Z csv` writes. Each
//! gives a [`SweepLog`], of which [`SweepLog::rows`] makes the rows of a sweep. The configuration of each row comes
//! from the log (debug lines, columns of the table, environment, file name), or else from [`LogAnswers`], the user's.
//!
//! Names of hosts and users, paths and tokens don't leave this module: its results have numbers and known words only.

mod answers;
mod costs;
mod debug;
mod file_name;
mod json;
pub(in crate::tuning) mod lines;
mod reader;
mod reported;
mod run;
mod settings;
mod table;

use std::collections::BTreeSet;

pub(super) use self::settings::{assignments, words_for};
pub use self::{
    answers::{LogAnswers, MissingAnswers},
    json::read_json,
    reported::{is_header as is_reported, read_csv},
};
use self::{
    file_name::FileName,
    run::{LoggedRun, RowContext, RowSummary},
};
use super::{
    columns::Column,
    job::JobLog,
    read::{Reading, Row},
};
use crate::{
    text::{Lines, Problems},
    units::count,
};

/// The runs and library messages of a log.
#[derive(Clone, Debug, Default)]
pub struct SweepLog {
    runs: Vec<LoggedRun>,
    /// The calls, decisions and costs that the library logged.
    pub job: JobLog,
    problems: Problems,
    /// Hashes of the processes that logged decisions.
    speakers: BTreeSet<u64>,
    is_rccl: bool,
    /// Runs whose end is missing.
    cut_runs: u64,
    /// The number of runs without warm-up.
    cold_runs: u64,
    /// Whether the log has more rows or runs than are read.
    is_cut_short: bool,
    last_is_cut: bool,
}

/// The rows of a log.
#[derive(Debug, Default)]
pub struct LogRows {
    /// The rows that could be read.
    pub rows: Vec<Row>,
    /// How many lines were read or left out, and why.
    pub reading: Reading,
    /// Sentences on what was assumed or left out, for the user.
    pub notes: Vec<String>,
}

/// Reads the lines of a log.
pub fn read_text(lines: &mut Lines<'_>, share_read: &mut dyn FnMut() -> f64) -> SweepLog {
    reader::read(lines, share_read)
}

impl SweepLog {
    /// Whether anything was recognised, so that the text is a log.
    pub fn is_known(&self) -> bool {
        !self.runs.is_empty() || self.problems.count > 0 || !self.job.is_empty() || self.job.torn_lines > 0
    }

    /// Whether the log has rows of tables, or lines that look like damaged ones.
    pub fn has_runs(&self) -> bool {
        !self.runs.is_empty() || self.problems.count > 0
    }

    /// The format of the log in words.
    pub fn format(&self) -> &'static str {
        match (self.has_runs(), self.is_rccl) {
            (true, true) => "rccl-tests log",
            (true, false) => "nccl-tests log",
            (false, true) => "debug log of RCCL",
            (false, false) => "debug log of NCCL",
        }
    }

    /// The rows of its tables, with `file` as [`Row::file`]; `name` is the file's name. The error is the facts that the
    /// log lacks, which the user has to give first.
    pub fn rows(&self, file: u16, name: &str, answers: &LogAnswers) -> Result<LogRows, MissingAnswers> {
        let name = FileName::parse(name);
        let mut told = RowSummary::default();
        told.reading.problems = self.problems.clone();
        let mut rows = Vec::new();
        let from = RowContext { file, name: &name, family: if self.is_rccl { "RCCL" } else { "NCCL" } };
        for run in &self.runs {
            run.rows(&from, answers, &mut rows, &mut told);
        }
        if !told.lacking.is_nothing() {
            return Err(told.lacking);
        }
        let notes = self.notes(&told);
        Ok(LogRows { rows, reading: told.reading, notes })
    }

    /// Whether a run of this log has processes that logged decisions in another one.
    pub fn is_of_processes_of(&self, other: &Self) -> bool {
        self.runs.iter().any(|run| run.has_any_of(&other.speakers))
    }

    /// Adds the decisions that the same processes logged in another file (`NCCL_DEBUG_FILE`). Returns whether it has
    /// any for a run of this log.
    pub fn adopt(&mut self, other: &Self) -> bool {
        let decisions = &other.job.decisions;
        let adopted = self.runs.iter_mut().map(|run| run.adopt(decisions, &other.speakers));
        adopted.filter(|adopted| *adopted).count() > 0
    }

    /// The first rows as a table of the columns that all rows have.
    pub fn preview(
        &self,
        name: &str,
        answers: &LogAnswers,
        lacking: MissingAnswers,
        most: usize,
    ) -> (Vec<Column>, Vec<Vec<String>>) {
        use Column::{AlgbwIp, AlgbwOop, BusbwIp, BusbwOop, Collective, NumGpus, NumNodes, SizeBytes, TimeIp, TimeOop};
        let mut columns = vec![Collective, NumNodes, NumGpus, SizeBytes];
        let lacks = lacking.columns();
        columns.retain(|column| !lacks.contains(column));
        let rows = || self.runs.iter().flat_map(|run| run.rows.iter().map(move |row| (run, row)));
        if rows().any(|(_, row)| row.out_of_place.is_some()) {
            columns.extend([TimeOop, AlgbwOop, BusbwOop]);
        }
        if rows().any(|(_, row)| row.in_place.is_some()) {
            columns.extend([TimeIp, AlgbwIp, BusbwIp]);
        }
        let name = FileName::parse(name);
        let sample = rows().take(most).map(|(run, row)| {
            let (collective, nodes, ranks) = run.scope(&name, answers);
            let number = |n: Option<u32>| n.map(|n| n.to_string()).unwrap_or_default();
            let printed = |cell: Option<table::Printed>, of: fn(table::Printed) -> f64| {
                cell.map(|cell| of(cell).to_string()).unwrap_or_default()
            };
            let cell = |column: &Column| match column {
                Collective => collective.map(|c| c.name().to_owned()).unwrap_or_default(),
                NumNodes => number(nodes),
                NumGpus => number(ranks),
                SizeBytes => row.size_bytes.to_string(),
                TimeOop => printed(row.out_of_place, |p| p.time_us),
                AlgbwOop => printed(row.out_of_place, |p| p.algbw_gbps),
                BusbwOop => printed(row.out_of_place, |p| p.busbw_gbps),
                TimeIp => printed(row.in_place, |p| p.time_us),
                AlgbwIp => printed(row.in_place, |p| p.algbw_gbps),
                _ => printed(row.in_place, |p| p.busbw_gbps),
            };
            columns.iter().map(cell).collect()
        });
        let sample = sample.collect();
        (columns, sample)
    }

    /// Notes for the user that don't depend on the answers.
    fn notes(&self, told: &RowSummary) -> Vec<String> {
        let [rows, runs] = ["row", "run"].map(|noun| move |number| count(number, noun));
        let mut notes = Vec::new();
        if told.empty_rows > 0 {
            notes.push(format!(
                "{} of size 0, where there is less than an element for each rank",
                rows(told.empty_rows)
            ));
        }
        if told.whole_environment_rows > 0 {
            notes.push(format!(
                "{} of runs for which nothing was asked, as their environment shows: read as the library's default",
                rows(told.whole_environment_rows)
            ));
        }
        if told.assumed_default_rows > 0 {
            notes.push(format!(
                "{} for which nothing says what was asked, and what ran changes with the size: read as the library's \
                 default. If a tuner file chose it, set them aside",
                rows(told.assumed_default_rows)
            ));
        }
        if told.other_groups > 0 {
            notes.push(format!(
                "{} of ranks measured at the same time beside the one whose times the table has \
                 (NCCL_TESTS_SPLIT_MASK): they share its links, and only the ranks of that group are counted",
                count(told.other_groups, "other group")
            ));
        }
        if self.cut_runs > 0 {
            notes.push(format!(
                "{} without an end: the log was cut, or the run died; what is whole was read",
                runs(self.cut_runs)
            ));
        }
        if self.cold_runs > 0 {
            notes.push(format!("{} without warm-up: the first sizes include the start", runs(self.cold_runs)));
        }
        if self.is_cut_short {
            notes.push("There are more rows or runs than are read; split the log".to_owned());
        }
        notes
    }
}
