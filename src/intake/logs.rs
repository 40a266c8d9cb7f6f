//! Opens logs, and asks the user for facts that they lack.

use super::{
    Mapping, MappingRequest, Outcome, WantedColumn,
    opened::{File, FileContent, Opened, OpenedFile, Result, broken, fatal, notes},
};
use crate::{
    text::{Lines, Records, excerpt},
    tuning::{
        columns::Column,
        log::{self, LogAnswers, LogRows, MissingAnswers, SweepLog},
    },
};

/// Reads a log as nccl-tests prints it, with debug lines where there are any.
pub(super) fn text(lines: &mut Lines<'_>, file: &File<'_>, share_read: &mut dyn FnMut() -> f64) -> Result<Opened> {
    let log = log::read_text(lines, share_read);
    let broken = broken(lines.error(), lines.number() + 1)?;
    if !log.is_known() {
        let why = "is a log without a table of nccl-tests and without a call or a decision of the library; run it with \
                   NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=COLL,TUNING";
        return Err(why.to_owned());
    }
    let mut opened = opened(log, file)?;
    if let Outcome::Loaded { notes, .. } | Outcome::Known { notes, .. } = &mut opened.outcome {
        notes.splice(0..0, broken);
    }
    Ok(opened)
}

/// Reads a CSV report of rccl-tests.
pub(super) fn csv(records: &mut Records<'_>, file: &File<'_>) -> Result<Opened> {
    records.skip_comments();
    let headers: Vec<String> = records.next().map(|r| r.cells().map(str::to_owned).collect()).unwrap_or_default();
    let log = log::read_csv(records, &headers).ok_or("is not what rccl-tests report")?;
    match records.error().and_then(fatal) {
        Some(why) => Err(why),
        None => opened(log, file),
    }
}

/// The result of reading a log.
pub(super) fn opened(log: SweepLog, file: &File<'_>) -> Result<Opened> {
    let answers = match file.mapping {
        Some(mapping) => {
            LogAnswers::of(&mapping.columns).map_err(|why| format!("can't be read with these answers: {why}"))?
        }
        None => LogAnswers::default(),
    };
    let format = log.format().to_owned();
    let job = log.job.clone();
    if !log.has_runs() {
        let outcome = Outcome::known(&format, holds(&job), Default::default(), torn(&job));
        let content = FileContent::Log { rows: Vec::new(), job };
        return Ok(Opened { log: Some(log), ..(outcome, content).into() });
    }
    let LogRows { rows, reading, notes: mut said } = match log.rows(file.number, file.name, &answers) {
        Ok(rows) => rows,
        Err(lacking) => {
            let outcome = Outcome::NeedsMapping(request(&log, file.name, &answers, lacking));
            return Ok(Opened { log: Some(log), ..outcome.into() });
        }
    };
    said.splice(0..0, notes(&reading));
    said.extend(torn(&job));
    let outcome = Outcome::Loaded {
        format,
        rows: reading.rows,
        default_rows: reading.default_rows,
        problems: reading.problems,
        notes: said,
    };
    Ok(Opened { outcome, content: FileContent::Log { rows, job }, origins: reading.origins, log: Some(log) })
}

/// Joins logs of the same processes: with `NCCL_DEBUG_FILE` the library logs its choices to another file than the
/// table. Process numbers repeat themselves, in containers from launch to launch: choices that would belong to several
/// tables belong to none. `mappings` are those with which the files were opened.
pub(super) fn join(files: &mut [OpenedFile], mappings: &[Option<Mapping>]) {
    let of_one: Vec<bool> = files.iter().map(|file| is_of_one_table(file, files)).collect();
    for at in 0..files.len() {
        // A log without runs stays where it is: it may complete one that comes later.
        if !files[at].log.as_ref().is_some_and(SweepLog::has_runs) {
            continue;
        }
        let Some(mut log) = files[at].log.take() else { continue };
        let others = (0..files.len()).filter(|other| *other != at && of_one[*other]);
        let completing: Vec<usize> =
            others.filter(|other| files[*other].log.as_ref().is_some_and(|other| log.adopt(other))).collect();
        if completing.is_empty() {
            files[at].log = Some(log);
            continue;
        }
        let names: Vec<String> = completing.iter().map(|other| excerpt(&files[*other].report.name)).collect();
        completing.into_iter().for_each(|other| files[other].report.completes = true);
        let OpenedFile { report, content, origins, .. } = &mut files[at];
        let mapping = mappings.get(at).and_then(Option::as_ref);
        let file = File { number: report.number(), name: &report.name, size_bytes: report.size_bytes, mapping };
        if let Ok(mut joined) = opened(log, &file) {
            if let Outcome::Loaded { notes, .. } = &mut joined.outcome {
                notes.insert(0, format!("What ran is told by {}, a log of the same processes", names.join(", ")));
            }
            (report.outcome, *content, *origins) = (joined.outcome, joined.content, joined.origins);
        }
    }
}

/// Whether the choices that a file logs are those of exactly one table, in itself or in another file.
fn is_of_one_table(file: &OpenedFile, files: &[OpenedFile]) -> bool {
    let Some(log) = &file.log else { return false };
    let tables = files.iter().filter_map(|other| other.log.as_ref()).filter(|other| other.is_of_processes_of(log));
    tables.count() == 1
}

/// A description of the debug lines.
fn holds(job: &crate::tuning::job::JobLog) -> String {
    let some = |n: u64, what: &str| (n > 0).then(|| format!("{n} {what}{}", if n == 1 { "" } else { "s" }));
    let parts = [
        some(job.calls.values().sum(), "call"),
        some(job.decisions.values().sum(), "decision"),
        some(job.costs.len() as u64, "cost table"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "nothing whole".to_owned() } else { parts.join(", ") }
}

fn torn(job: &crate::tuning::job::JobLog) -> Vec<String> {
    let n = job.torn_lines;
    let (lines, are) = if n == 1 { ("debug line", "is") } else { ("debug lines", "are") };
    let note = format!("{n} {lines} {are} torn, as where ranks write to one file: they are not counted");
    (n > 0).then_some(note).into_iter().collect()
}

/// The question to the user about facts that a log lacks.
fn request(log: &SweepLog, name: &str, answers: &LogAnswers, lacking: MissingAnswers) -> MappingRequest {
    /// The number of rows that the question shows.
    const SAMPLE: usize = 20;
    let (columns, sample) = log.preview(name, answers, lacking, SAMPLE);
    let words: Vec<&str> = lacking.columns().into_iter().map(what).collect();
    let listed = match words.as_slice() {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        words => words.concat(),
    };
    let default = if lacking.algorithm { ", or DEFAULT as the algorithm where the library chose" } else { "" };
    MappingRequest {
        problem: format!("does not say {listed}; give the same for all rows that lack it{default}"),
        headers: columns.iter().map(|column| column.name().to_owned()).collect(),
        sample,
        wanted: Column::ALL
            .iter()
            .map(|column| WantedColumn {
                name: column.name().to_owned(),
                meaning: column.meaning().to_owned(),
                needed: column.is_needed(),
                guess: columns.iter().position(|known| known == column),
            })
            .collect(),
    }
}

fn what(column: Column) -> &'static str {
    match column {
        Column::Collective => "which collective it measured",
        Column::NumNodes => "on how many nodes",
        Column::NumGpus => "on how many ranks",
        Column::Algo => "which algorithm ran",
        Column::Proto => "which protocol",
        _ => "on how many channels",
    }
}
