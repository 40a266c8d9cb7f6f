//! A text log becomes runs.
//!
//! Lines of other ranks, of the launcher and of the library stand between those of the table, before them (`0: `,
//! `[1,0]<stdout>:`) and in them: a table's row is printed in pieces, and with `NCCL_DEBUG=INFO` on the same stream the
//! library speaks between the pieces. So a row begins where two whole numbers and a data type stand, and goes on with
//! what can stand in a row until it is complete.

use std::borrow::Cow;

use super::{
    SweepLog,
    debug::{DebugReader, number_after},
    json::version,
    lines,
    run::LoggedRun,
    settings::Settings,
    table::{self, Header, Shape, TablePlacement},
};
use crate::{
    collective::Collective,
    text::{Lines, Problem},
    tuning::{
        job::JobLog,
        origin::Launches,
        reach::{JoinedLogs, Place},
    },
};

/// The most rows of a run.
const MAX_ROWS: usize = 200_000;
/// The most runs of a log.
const MAX_RUNS: usize = 100_000;

/// Reads the lines of a log.
pub(super) fn read(lines: &mut Lines<'_>, share_read: &mut dyn FnMut() -> f64) -> SweepLog {
    const PROGRESS_INTERVAL: u64 = 4096;
    let mut reader = Reader::default();
    while let Some(line) = lines.next() {
        let (number, is_ended) = (line.number, line.is_ended);
        reader.line(&line.text, number, is_ended);
        if number.is_multiple_of(PROGRESS_INTERVAL) {
            share_read();
        }
    }
    reader.finish()
}

/// Lines that a run begins with; each stands once.
#[derive(Clone, Copy, Debug, Default)]
struct SeenHeaders {
    version: bool,
    name: bool,
    threads: bool,
    devices: bool,
}

/// Reads lines one by one.
#[derive(Default)]
struct Reader {
    log: SweepLog,
    debug: DebugReader,
    joined: JoinedLogs,
    run: LoggedRun,
    begun: SeenHeaders,
    groups: Option<TablePlacement>,
    header: Option<Header>,
    /// Rows of the run as they stand, with their lines.
    rows: Vec<(u64, String)>,
    /// The last of them may go on.
    is_open: bool,
    has_ended: bool,
    /// Of the environment as a whole, and of the command that comes next.
    exported: Settings,
    next: Settings,
    /// Of the environment as it was for the run, where it was changed since for the next one.
    exported_before: Option<Settings>,
    next_collective: Option<Collective>,
    next_registered: u64,
    decided: Vec<crate::tuning::job::LibraryDecision>,
}

impl Reader {
    fn line(&mut self, text: &str, number: u64, is_ended: bool) {
        let text = &*without_colours(text);
        let speech =
            [" NCCL INFO ", " NCCL WARN ", " NCCL CALL ", " NCCL TRACE "].iter().find_map(|mark| text.find(mark));
        if speech.is_some() || text.contains("Bytes -> Algo") {
            let spoken = lines::read(text);
            self.debug.line(&spoken, self.run.collective, &mut self.decided);
            self.joined.line(&spoken, Place { file: 0, line: number });
            for decision in self.decided.drain(..) {
                *self.run.decided.entry(decision).or_default() += 1;
            }
            self.version(text);
            // The subsystem of this line and that of variables are both on where nobody chooses others.
            if text.contains(" Init COMPLETE") && !self.is_measured() {
                self.run.settings.show();
            }
        }
        self.log.is_rccl |= text.contains("rccl-tests") || text.contains("RCCL");
        if text.contains("NCCL_") {
            self.settings(text, speech.is_some());
        }
        let words = match speech {
            Some(at) => before_speaker(&text[..at]),
            None => text.split_ascii_whitespace().collect(),
        };
        match words.iter().position(|word| word.contains('#')) {
            // `#wrong` stands in the line that begins with `#`.
            Some(at) if at < 6 && speech.is_none() => self.comment(text, number),
            _ => self.row(&words, number, is_ended && speech.is_none()),
        }
        if text.contains("_perf") && !text.trim_start().starts_with('#') && speech.is_none() {
            self.command(text);
        }
    }

    /// A line of the table's head or foot.
    fn comment(&mut self, text: &str, number: u64) {
        let Some((_, text)) = text.split_once('#') else { return };
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        self.is_open = false;
        match words.as_slice() {
            ["nccl-tests", "version", ..] => {
                self.begin(|begun| &mut begun.version, number);
                let code = words.iter().find_map(|word| word.strip_prefix("nccl-library=")?.parse().ok());
                self.run.library = code.map(version);
            }
            ["Collective", "test", "starting:", name, ..] => {
                self.begin(|begun| &mut begun.name, number);
                self.run.collective = Collective::parse(name.rsplit('/').next().unwrap_or_default());
            }
            ["nThread", ..] => {
                self.begin(|begun| &mut begun.threads, number);
                let value = |label: &str| text.split_once(label)?.1.split_ascii_whitespace().next()?.parse().ok();
                self.run.launches = Launches {
                    graph: value(" graph:"),
                    aggregated: value(" agg iters:"),
                    unaligned: value(" unalign:").unwrap_or(0),
                    // That the command alone says.
                    registered: self.run.launches.registered,
                    ..Launches::default()
                };
                let timed =
                    || text.split_once("warmup iters:")?.1.split_once(" iters:")?.1.split_ascii_whitespace().next();
                self.run.timing =
                    [value("warmup iters:"), timed().and_then(|number| number.parse().ok()), value(" nGpus")];
                if text.contains("warmup iters: 0 ") {
                    self.log.cold_runs += 1;
                }
            }
            ["Blocking", "Enabled:", ..] => {
                self.run.launches.blocking = match text {
                    _ if text.contains("outer iteration") => 3,
                    _ if text.contains("no barrier") => 2,
                    _ => 1,
                };
            }
            ["Using", "devices", ..] => self.begin(|begun| &mut begun.devices, number),
            ["Rank", rank, ..] => {
                let group = number_after(text, "Group").unwrap_or(0);
                let after = |key: &str| words.iter().position(|word| *word == key).and_then(|at| words.get(at + 1));
                if let (Ok(rank), Some(host), Ok(group)) = (rank.parse(), after("on"), u32::try_from(group)) {
                    if self.is_measured() {
                        self.begin(|begun| &mut begun.devices, number);
                    }
                    // The name of the GPU stands behind the address in brackets.
                    let name = text.rsplit_once(']').map_or("", |(_, name)| name);
                    self.run.devices.add(rank, group, host, after("Pid").copied().unwrap_or_default(), name);
                }
            }
            ["Out", "of", "bounds", ..] => {
                self.has_ended = true;
                self.run.failed |= words.contains(&"FAILED");
            }
            ["Avg", "bus", ..] | ["Collective", "test", "concluded:", ..] => self.has_ended = true,
            _ => self.header(&words),
        }
    }

    fn header(&mut self, words: &[&str]) {
        let has = |name: &str| words.iter().any(|word| word.eq_ignore_ascii_case(name));
        if let Some(header) = Header::parse(words, self.groups.unwrap_or(TablePlacement::Both)) {
            if !self.rows.is_empty() {
                // The next run of the same devices.
                let LoggedRun { collective, devices, settings, library, nodes, ranks, line, launches, .. } =
                    self.run.clone();
                self.close();
                self.run = LoggedRun {
                    collective,
                    devices,
                    settings,
                    library,
                    nodes,
                    ranks,
                    line,
                    launches,
                    ..LoggedRun::default()
                };
            }
            self.run.cpu_time = header.cpu_time;
            self.header = Some(header);
        } else if has("in-place") || has("out-of-place") {
            self.groups = Some(match (has("out-of-place"), has("in-place")) {
                (true, true) => TablePlacement::Both,
                (true, false) => TablePlacement::OutOfPlace,
                _ => TablePlacement::InPlace,
            });
        }
    }

    /// A line that stands once at the beginning of a run.
    fn begin(&mut self, once: fn(&mut SeenHeaders) -> &mut bool, number: u64) {
        if self.is_measured() || *once(&mut self.begun) {
            self.close();
        }
        if self.run.line == 0 {
            self.run.line = number;
        }
        *once(&mut self.begun) = true;
    }

    fn is_measured(&self) -> bool {
        self.has_ended || !self.rows.is_empty()
    }

    /// The words of a row, or a part of them.
    fn row(&mut self, words: &[&str], number: u64, is_ended: bool) {
        let width = self.header.map(|header| header.shape.width());
        let (cells, begins) = match table::row_start(words) {
            Some(at) => (&words[at..], true),
            None if self.is_open => {
                let label = words.iter().take_while(|word| word.ends_with(':')).count();
                (&words[label..], false)
            }
            None => return,
        };
        // Operations are words; everything else that is no cell is somebody else's.
        let is_cell = |word: &&&str| table::is_cell(word) || table::redop(word).is_some();
        let own = if begins { 3 } else { 0 };
        let count = own + cells[own.min(cells.len())..].iter().take_while(is_cell).count();
        if count == 0 || (!begins && count < cells.len()) {
            return;
        }
        let cells = cells[..count].join(" ");
        if begins {
            if self.has_ended {
                self.close();
            }
            if self.rows.len() == MAX_ROWS {
                self.log.is_cut_short = true;
                return;
            }
            self.rows.push((number, cells));
        } else if let Some((_, row)) = self.rows.last_mut() {
            *row += " ";
            *row += &cells;
        }
        let have = self.rows.last().map_or(0, |(_, row)| row.split(' ').count());
        self.is_open = width.is_none_or(|width| have < width);
        // A number at the very end of a file may have lost its last digits.
        let may_be_cut = self.header.is_some_and(|header| header.shape.configuration);
        self.log.last_is_cut = !is_ended && !self.is_open && may_be_cut && words.len() > 3;
    }

    fn settings(&mut self, text: &str, is_speech: bool) {
        let bare = text.trim().trim_start_matches("+ ");
        let is_export = ["export ", "declare -x "].iter().any(|word| bare.starts_with(word))
            || (bare.starts_with("NCCL_") && !bare.contains(' '));
        let unset = bare.strip_prefix("unset ").or(bare.strip_prefix("export -n "));
        if is_export || unset.is_some() {
            // A shell goes on when the run is over: what it exports then is for the next one.
            if self.is_measured() && self.exported_before.is_none() {
                self.exported_before = Some(self.exported.clone());
            }
            match unset {
                Some(names) => names.split_whitespace().for_each(|name| self.exported.unset(name)),
                None => _ = self.exported.take(text),
            }
        } else if is_speech && !self.has_ended || !self.is_measured() {
            self.run.settings.take(text);
        } else {
            self.next.take(text);
        }
    }

    /// A line that names a program of the tests: the command that runs it.
    fn command(&mut self, text: &str) {
        let name = text
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .find_map(|word| Collective::parse(word.strip_suffix("_perf")?));
        let registered = Launches::registration(text.split_ascii_whitespace());
        if self.is_measured() {
            self.next.show();
            self.next_collective = name.or(self.next_collective);
            self.next_registered = registered;
        } else {
            self.run.settings.show();
            self.run.launches.registered = registered;
            self.run.collective = self.run.collective.or(name);
        }
    }

    fn version(&mut self, text: &str) {
        if self.run.library.is_some() {
            return;
        }
        let version = text.split_once("CCL version").map(|(_, version)| version.trim_start_matches([' ', ':']));
        self.run.library = version.filter(|v| v.starts_with(|c: char| c.is_ascii_digit())).map(str::to_owned);
    }

    /// The run is over: its rows are read.
    fn close(&mut self) {
        let mut run = std::mem::take(&mut self.run);
        let begun = std::mem::take(&mut self.begun);
        let rows = std::mem::take(&mut self.rows);
        let header = self.header.take();
        let has_ended = std::mem::take(&mut self.has_ended);
        self.is_open = false;
        run.settings = run.settings.over(self.exported_before.as_ref().unwrap_or(&self.exported));
        self.exported_before = None;
        self.run.settings = std::mem::take(&mut self.next);
        self.run.collective = self.next_collective.take();
        self.run.launches.registered = std::mem::take(&mut self.next_registered);

        if rows.is_empty() {
            if begun.name || begun.threads {
                let name = run.collective.map(|c| format!(" of {c}")).unwrap_or_default();
                let text = format!("a run{name}");
                let expected = "has no row in its table: it died, or its rows went elsewhere";
                self.log.problems.push(Problem::new(run.line.max(1), "", &text, expected));
            }
            return;
        }
        let is_delta = header.is_some_and(|header| header.is_delta);
        let fitting = |shape: &Shape| rows.iter().any(|(line, row)| shape.read(*line, row, is_delta).is_ok());
        let shape = header.map(|header| header.shape).filter(fitting).or_else(|| Shape::guess(&rows));
        let shape = shape.or(header.map(|header| header.shape));
        let last = rows.len() - 1;
        for (index, (line, row)) in rows.iter().enumerate() {
            let fault = match shape.map(|shape| shape.read(*line, row, is_delta)) {
                Some(Ok(_)) if index == last && self.log.last_is_cut => {
                    ("", row.clone(), "is where the file breaks off".into())
                }
                Some(Ok(measured)) => {
                    run.rows.push(measured);
                    continue;
                }
                Some(Err(fault)) => (fault.column, fault.text, fault.expected),
                None => ("", row.clone(), "is no row of a table".to_owned()),
            };
            let (column, text, expected) = fault;
            self.log.problems.push(Problem::new(*line, column, &text, format!("{expected}; the row was left out")));
        }
        self.log.cut_runs += u64::from(header.is_some() && !has_ended);
        if self.log.runs.len() < MAX_RUNS {
            self.log.runs.push(run);
        } else {
            self.log.is_cut_short = true;
        }
    }

    fn finish(mut self) -> SweepLog {
        self.close();
        self.log.speakers = std::mem::take(&mut self.debug.speakers);
        self.joined.finish();
        self.log.job = JobLog { lines: self.joined.into(), ..self.debug.finish() };
        self.log
    }
}

/// A line without the sequences by which terminals change colours: `ESC [ 32 m`.
fn without_colours(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return text.into();
    }
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let is_end = |c: char| ('@'..='~').contains(&c);
    let rest = parts.map(|part| part.split_once(is_end).map_or("", |(_, rest)| rest));
    rest.fold(first, |all, rest| all + rest).into()
}

/// The words before what the library says on the same line: `…  sum  -1node7:12:12 [0] NCCL INFO …`. Who speaks is left
/// out; what a table printed before it is kept.
fn before_speaker(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text.split_ascii_whitespace().collect();
    if words.last().is_some_and(|word| word.starts_with('[') && word.ends_with(']')) {
        words.pop();
    }
    if let Some(speaker) = words.pop() {
        let end = speaker.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-'))).unwrap_or(0);
        let number = if speaker.starts_with("N/A") { "N/A" } else { &speaker[..end] };
        if !number.is_empty() {
            words.push(number);
        }
    }
    words
}
