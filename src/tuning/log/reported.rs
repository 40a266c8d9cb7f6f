//! The reports of rccl-tests with `-Z csv` and `-Z json`: a record for each measurement.
//!
//! `numCycle,collective,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inplace,time,algbw,busbw,#wrong`; without
//! MPI `gpus` stands for nodes and ranks. (ROCm/rccl-tests, src/common.cu, `Reporter`.)

use super::{
    SweepLog,
    run::LoggedRun,
    table::{Printed, TableDataType, TableRow, redop},
};
use crate::{
    collective::Collective,
    text::{Problem, Records, State, is_missing, number, whole},
};

/// A record of rccl-tests' report.
#[derive(Clone, Debug)]
pub(super) struct ReportedRow {
    pub(super) collective: Option<Collective>,
    pub(super) nodes: Option<u32>,
    pub(super) ranks: Option<u32>,
    pub(super) size_bytes: u64,
    pub(super) datatype: TableDataType,
    pub(super) redop: Option<&'static str>,
    pub(super) is_in_place: bool,
    pub(super) printed: Printed,
}

/// Collects records into runs, and those of one size into a row.
#[derive(Default)]
pub(super) struct ReportedRuns {
    pub(super) log: SweepLog,
}

impl ReportedRuns {
    pub(super) fn add(&mut self, line: u64, reported: &ReportedRow) {
        let ReportedRow { collective, nodes, ranks, size_bytes, datatype, redop, is_in_place, printed } = *reported;
        let same = |run: &&mut LoggedRun| (run.collective, run.nodes, run.ranks) == (collective, nodes, ranks);
        let run = match self.log.runs.last_mut().filter(same) {
            Some(_) => self.log.runs.last_mut(),
            None => {
                self.log.runs.push(LoggedRun { line, collective, nodes, ranks, ..LoggedRun::default() });
                self.log.runs.last_mut()
            }
        };
        let Some(run) = run else { return };
        let waits = |row: &&mut TableRow| {
            is_in_place
                && row.in_place.is_none()
                && (row.size_bytes, row.datatype, row.redop) == (size_bytes, datatype, redop)
        };
        if let Some(row) = run.rows.last_mut().filter(waits) {
            row.in_place = Some(printed);
            return;
        }
        run.rows.push(TableRow {
            line,
            size_bytes,
            count: size_bytes / datatype.bytes,
            datatype,
            redop,
            root: None,
            in_place: Some(printed).filter(|_| is_in_place),
            out_of_place: Some(printed).filter(|_| !is_in_place),
            planned: None,
            wrapped: false,
            warp_speed: false,
        });
    }
}

/// Whether headers are those of `-Z csv`.
pub fn is_header(headers: &[String]) -> bool {
    let has = |name: &str| headers.iter().any(|header| header.eq_ignore_ascii_case(name));
    ["numCycle", "size", "type", "inplace", "time", "busbw"].iter().all(|name| has(name))
}

/// The columns that [`reported`] reads, in its order.
const COLUMNS: [&str; 13] = [
    "collective",
    "name",
    "nodes",
    "ranks",
    "gpus",
    "size",
    "type",
    "redop",
    "inplace",
    "time",
    "algbw",
    "busbw",
    "#wrong",
];

/// Reads the records after the header of `-Z csv`; `None` for another header.
pub fn read_csv(records: &mut Records<'_>, headers: &[String]) -> Option<SweepLog> {
    if !is_header(headers) {
        return None;
    }
    let at = |name: &str| headers.iter().position(|header| header.trim().eq_ignore_ascii_case(name));
    let places = COLUMNS.map(at);
    let mut reports = ReportedRuns::default();
    while let Some(record) = records.next() {
        let line = record.line();
        if record.len() != headers.len() || record.state() == State::Broken {
            let expected =
                format!("has {} cells where the header has {}; the row was left out", record.len(), headers.len());
            reports.log.problems.push(Problem::new(line, "", &record.excerpt(), expected));
            continue;
        }
        let cell = |index: usize| places[index].and_then(|at| record.get(at));
        match reported(cell) {
            Ok(reported) => reports.add(line, &reported),
            Err((index, expected)) => {
                let name = COLUMNS[index];
                let text = cell(index).unwrap_or_default();
                reports.log.problems.push(Problem::new(line, name, text, format!("{expected}; the row was left out")));
            }
        }
    }
    reports.log.is_rccl = true;
    Some(reports.log)
}

/// Reads a record from its cells, in the order of [`COLUMNS`]. The error is the index of a cell and what is wrong with
/// it.
pub(super) fn reported<'a>(cell: impl Fn(usize) -> Option<&'a str>) -> Result<ReportedRow, (usize, &'static str)> {
    let text = |index: usize| cell(index).unwrap_or_default();
    let count = |index: usize| whole(text(index)).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
    let float = |index: usize| number(text(index)).filter(|n| *n >= 0.0).ok_or((index, "is not a number"));
    let gpus = count(4);
    let wrong = text(12);
    Ok(ReportedRow {
        collective: Collective::parse(text(0)).or_else(|| Collective::parse(text(1))),
        nodes: count(2).or(gpus.map(|_| 1)),
        ranks: count(3).or(gpus),
        size_bytes: whole(text(5)).and_then(|n| u64::try_from(n).ok()).ok_or((5, "is not a size in bytes"))?,
        datatype: TableDataType::parse(text(6)).ok_or((6, "is not a data type"))?,
        redop: redop(text(7)),
        is_in_place: whole(text(8)).ok_or((8, "is not 0 or 1"))? == 1,
        printed: Printed {
            time_us: float(9)?,
            algbw_gbps: float(10)?,
            busbw_gbps: float(11)?,
            wrong: if is_missing(wrong) { None } else { Some(float(12)?) },
        },
    })
}
