//! Reads delimited logs, with and without a header.

use std::collections::BTreeMap;

use super::{
    Log, LogForm, MOST_KEYS, MOST_ROWS, NO_ARM, PartialKey, Row, TOO_MANY_ARMS, TOO_MANY_KEYS,
    columns::{Column, Columns, size_with_unit, unquoted},
    name::FileName,
    place_of,
};
use crate::{
    bandit::schedule::MAX_ARMS,
    collective::{Collective, Scale},
    order::CompactSort,
    policy::{arm::Arm, key::Key, result::Objective},
    text::{Problem, Records, State, excerpt, number},
    units::count,
};

/// Reads a delimited log. `is_own` says that its first line is that of this program. Returns a sentence without its
/// subject if most lines can't be read, or if the log exceeds the limits.
pub fn rows(records: &mut Records<'_>, name: &str, is_own: bool) -> Result<Log, String> {
    let mut reader = Reader::new(name);
    while let Some(record) = records.next() {
        let cells: Vec<&str> = record.cells().map(unquoted).collect();
        if cells.first().is_some_and(|cell| cell.starts_with('#')) {
            continue;
        }
        let place = RowLocation { line: record.line(), excerpt: record.excerpt(), state: record.state() };
        if reader.columns.is_none() {
            match Columns::of(&cells) {
                Some(columns) => {
                    reader.log.form = LogForm::Headed;
                    reader.begin(columns);
                    continue;
                }
                None if Collective::parse(cells[0]).is_some() => reader.begin(Columns::plain()),
                None if reader.before < MOST_BEFORE => {
                    reader.before += 1;
                    reader.lines += 1;
                    let why = "is neither a header nor a line like allreduce,4194304,1,8,12.34; the line was left out";
                    reader.log.problems.push(Problem::new(place.line, "", &place.excerpt, why));
                    continue;
                }
                None => reader.begin(Columns::plain()),
            }
        } else if reader.is_header(&cells) {
            reader.again.push(place.line);
            continue;
        }
        reader.lines += 1;
        if let Err((column, text, why)) = reader.row(&cells, &place) {
            let why = format!("{why}; the line was left out");
            reader.log.problems.push(Problem::new(place.line, &column, &text, why));
        }
        if reader.log.rows.len() > MOST_ROWS {
            return Err(format!("has more than {MOST_ROWS} lines; split it by key"));
        }
    }
    if is_own {
        reader.log.form = LogForm::Own;
    }
    reader.finish()
}

struct RowLocation {
    line: u64,
    excerpt: String,
    state: State,
}

/// The number of lines that are neither header nor data after which the log counts as one without a header.
const MOST_BEFORE: u64 = 24;

/// The column, its text, and what is wrong with it.
type Wrong = (String, String, String);

#[derive(Default)]
struct Reader {
    log: Log,
    columns: Option<Columns>,
    keys: BTreeMap<PartialKey, u32>,
    arms: BTreeMap<Arm, u32>,
    /// Labels that name no arm, with their number of occurrences.
    unknown_arms: BTreeMap<String, u64>,
    /// The rank of each row.
    ranks: Vec<Option<u32>>,
    times: Vec<Option<f64>>,
    lines: u64,
    /// Lines before the header, or before the first line of a log without one.
    before: u64,
    /// The line numbers of repeated headers.
    again: Vec<u64>,
    /// Whether lines were out of order, and are not any more.
    is_sorted: bool,
}

/// One of as many lines that come before their predecessor: runs that were appended have more lines.
const FREQUENT: usize = 10;
/// Fewer lines are too few to tell lines that are out of order from runs.
const LEAST_MIXED: usize = 20;

impl Reader {
    fn new(name: &str) -> Self {
        let log = Log { name: FileName::parse(name), ..Log::default() };
        Self { log, ..Self::default() }
    }

    fn begin(&mut self, columns: Columns) {
        let unknown = columns.unknown();
        if !unknown.is_empty() {
            self.log.notes.push(format!("Columns that are not used: {}", unknown.join(", ")));
        }
        if columns.is_iteration {
            self.log.objective = Objective::Iteration;
        }
        self.columns = Some(columns);
    }

    fn is_header(&self, cells: &[&str]) -> bool {
        let same = |columns: &Columns| {
            columns.headers.len() == cells.len()
                && columns.headers.iter().zip(cells).all(|(header, cell)| header.eq_ignore_ascii_case(cell))
        };
        self.columns.as_ref().is_some_and(same)
    }

    fn row(&mut self, cells: &[&str], place: &RowLocation) -> Result<(), Wrong> {
        let Some(columns) = self.columns.take() else { return Ok(()) };
        let read = self.row_of(&columns, cells, place);
        self.columns = Some(columns);
        read
    }

    fn row_of(&mut self, columns: &Columns, cells: &[&str], place: &RowLocation) -> Result<(), Wrong> {
        let whole_line = |why: &str| (String::new(), place.excerpt.clone(), why.to_owned());
        match place.state {
            State::Whole => {}
            State::Last => return Err(whole_line("has no line end: it may be torn")),
            State::Broken => return Err(whole_line("is where the file breaks off")),
            State::OpenQuote => return Err(whole_line("opens a quote that is not closed")),
            State::TooLong => return Err(whole_line("is longer than any line of a log")),
        }
        let width = columns.headers.len();
        if cells.len() != width {
            return Err(whole_line(&format!("has {} where {width} are expected", count(cells.len() as u64, "field"))));
        }
        let cell = |column: Column| columns.place(column).map(|place| cells[place]);
        let wrong = |column: Column, why: &str| {
            (columns.name(column).to_owned(), cell(column).unwrap_or_default().to_owned(), why.to_owned())
        };
        let whole = |column: Column, least: u64| match cell(column) {
            None => Ok(None),
            Some(text) => match natural(text) {
                Some(number) if number >= least => Ok(Some(number)),
                Some(_) => Err(wrong(column, &format!("is less than {least}"))),
                None => Err(wrong(column, "is not a whole number below 2⁶⁴")),
            },
        };
        let small = |column: Column| match whole(column, 1)? {
            None => Ok(None),
            Some(number) => {
                u32::try_from(number).map(Some).map_err(|_large| wrong(column, "is more than there can be"))
            }
        };
        let optional = |column: Column| cell(column).filter(|text| !text.is_empty());
        let collective = match cell(Column::Collective) {
            None => None,
            Some(text) => Some(
                Collective::parse(text).ok_or_else(|| wrong(Column::Collective, "is no collective that is known"))?,
            ),
        };
        let size_bytes = match cell(Column::Size).and_then(size_with_unit) {
            Some(size_bytes) => Some(size_bytes),
            None => whole(Column::Size, 1)?,
        };
        let (nodes, ranks) = (small(Column::Nodes)?, small(Column::Ranks)?);
        if let (Some(nodes), Some(ranks)) = (nodes, ranks)
            && nodes > ranks
        {
            return Err(wrong(Column::Nodes, &format!("is more than the {ranks} ranks")));
        }
        let scale = nodes.zip(ranks).map(|(nodes, ranks)| Scale { nodes, ranks });
        let overlap = match optional(Column::Overlap) {
            None => None,
            Some("0" | "false") => Some(false),
            Some("1" | "true") => Some(true),
            Some(_) => return Err(wrong(Column::Overlap, "is neither 0 nor 1")),
        };
        let latency_ms = cell(Column::Latency).and_then(number).map(|value| value * columns.ms);
        let latency_ms = latency_ms
            .filter(|value| *value > 0.0 && value.is_finite())
            .ok_or_else(|| wrong(Column::Latency, "is not a positive finite number"))?;
        let propensity = match optional(Column::Propensity) {
            None => None,
            Some(text) => Some(
                number(text)
                    .filter(|p| *p > 0.0 && *p <= 1.0)
                    .ok_or_else(|| wrong(Column::Propensity, "is no probability above 0, up to 1"))?,
            ),
        };
        let count = |column: Column| match optional(column) {
            None => Ok(None),
            Some(text) => natural(text).map(Some).ok_or_else(|| wrong(column, "is not a whole number below 2⁶⁴")),
        };
        let (call, generation, rank) = (count(Column::Call)?, count(Column::Generation)?, count(Column::Rank)?);
        let arm = self.arm(&optional)?;
        let time = optional(Column::Timestamp).and_then(number);
        let key = PartialKey { collective, scale, size_bytes, overlap };
        let key =
            place_of(&mut self.keys, &mut self.log.keys, key, MOST_KEYS).ok_or_else(|| whole_line(TOO_MANY_KEYS))?;
        if let Some(strategy) = optional(Column::Strategy) {
            self.log.name_strategy(strategy);
        }
        self.ranks.push(rank.and_then(|rank| u32::try_from(rank).ok()));
        self.times.push(time);
        let line = u32::try_from(place.line).unwrap_or(u32::MAX);
        self.log.rows.push(Row { line, key, latency_ms, arm, propensity, call, generation });
        Ok(())
    }

    fn arm<'a>(&mut self, cell: &impl Fn(Column) -> Option<&'a str>) -> Result<Option<u16>, Wrong> {
        let wrong = |text: &str, why: &str| ("arm".to_owned(), text.to_owned(), why.to_owned());
        let channels = cell(Column::Channels).and_then(natural).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        let (label, arm) = match (cell(Column::Arm), cell(Column::Algo)) {
            // A number alone is a place in a table that the log does not have.
            (Some(text), None) if natural(text).is_some() => {
                if !self.log.arms.is_empty() {
                    return Err(wrong(text, "is a number where lines before name the arm"));
                }
                let number = natural(text).filter(|number| *number < MAX_ARMS as u64);
                let number = number.ok_or_else(|| wrong(text, "is beyond any table of arms"))?;
                self.log.numbered_arms = true;
                return Ok(Some(number as u16));
            }
            (_, Some(algo)) => {
                let is_auto = Arm::parse(algo) == Some(Arm::Auto);
                let proto = cell(Column::Proto).unwrap_or_default();
                let arm = if is_auto { Some(Arm::Auto) } else { Arm::forced(algo, proto, channels) };
                (format!("{algo}/{proto}"), arm)
            }
            (Some(label), None) => (label.to_owned(), Arm::parse(label)),
            (None, None) => return Ok(None),
        };
        let Some(arm) = arm else {
            let label = excerpt(&label);
            if self.unknown_arms.len() < MAX_ARMS || self.unknown_arms.contains_key(&label) {
                *self.unknown_arms.entry(label).or_insert(0) += 1;
            }
            return Ok(None);
        };
        if self.log.numbered_arms {
            return Err(wrong(&label, "is a name where lines before have a number"));
        }
        let place = place_of(&mut self.arms, &mut self.log.arms, arm, MAX_ARMS);
        place.map(|place| Some(place as u16)).ok_or_else(|| wrong(&label, TOO_MANY_ARMS))
    }

    fn finish(mut self) -> Result<Log, String> {
        let read = self.log.rows.len() as u64;
        if self.lines == 0 {
            return Err("has no line of data".to_owned());
        }
        if read * 2 < self.lines {
            let first: Vec<String> = self.log.problems.kept.iter().take(5).map(ToString::to_string).collect();
            return Err(format!("has {} lines of which {read} can be read: {}", self.lines, first.join("; ")));
        }
        if let Some(first) = self.again.first() {
            let times = count(self.again.len() as u64, "time");
            self.log
                .notes
                .push(format!("The header stands {times} more, first in line {first}: several runs in one file"));
        }
        self.lowest_rank();
        self.sort();
        self.odd_latencies();
        self.order();
        for (label, lines) in self.unknown_arms.iter().take(5) {
            let lines = count(*lines, "line");
            self.log.notes.push(format!("{lines}: \"{label}\" {NO_ARM}"));
        }
        Ok(self.log)
    }

    /// Keeps the lines of the lowest rank: those of other ranks describe the same calls.
    fn lowest_rank(&mut self) {
        let lowest = self.ranks.iter().flatten().min().copied();
        self.log.rank = lowest;
        let Some(lowest) = lowest.filter(|lowest| self.ranks.iter().flatten().any(|rank| rank != lowest)) else {
            return;
        };
        let keeps: Vec<bool> = self.ranks.iter().map(|rank| rank.is_none_or(|rank| rank == lowest)).collect();
        let before = self.log.rows.len();
        let mut keep = keeps.iter();
        self.log.rows.retain(|_| keep.next().copied().unwrap_or(true));
        let mut keep = keeps.iter();
        self.times.retain(|_| keep.next().copied().unwrap_or(true));
        self.log.notes.push(format!(
            "Every rank wrote: {} of other ranks were left out, only those of rank {lowest} are used, since lines of \
             the same call are not independent",
            count((before - self.log.rows.len()) as u64, "line")
        ));
    }

    /// Brings lines that are out of order into that of their times, or of their calls where no line has a time. What
    /// begins anew a few times is several runs, unless times are those of a clock.
    fn sort(&mut self) {
        /// No clock that counts from the start of a job or a machine goes so far in seconds.
        const OF_A_CLOCK: f64 = 5e8;
        let times: Option<Vec<f64>> = self.times.iter().map(|time| time.filter(|time| time.is_finite())).collect();
        let fold = |fold: fn(f64, f64) -> f64| times.iter().flatten().copied().reduce(fold);
        self.log.times = fold(f64::min).zip(fold(f64::max)).map(|(first, last)| [first, last]);
        let is_of_clock = self.log.times.is_some_and(|[first, _]| first > OF_A_CLOCK);
        let calls = || self.log.rows.iter().map(|row| row.call.map(|call| call as f64)).collect::<Option<Vec<f64>>>();
        let has_no_time = self.times.iter().all(Option::is_none);
        let (what, by) = match (times, calls().filter(|_| has_no_time)) {
            (Some(times), _) => ("times", times),
            (None, Some(calls)) => ("calls", calls),
            (None, None) => return,
        };
        let back = by.windows(2).filter(|pair| pair[1] < pair[0]).count();
        let is_mixed = by.len() >= LEAST_MIXED && back * FREQUENT >= by.len();
        if back == 0 || !(is_of_clock || is_mixed) {
            return;
        }
        self.is_sorted = true;
        let mut order: Vec<(f64, usize)> = by.into_iter().zip(0..).collect();
        order.compact_sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let (rows, times) = (std::mem::take(&mut self.log.rows), std::mem::take(&mut self.times));
        self.log.rows = order.iter().map(|(_, at)| rows[*at]).collect();
        self.times = order.iter().map(|(_, at)| times[*at]).collect();
        self.log.notes.push(format!("Lines are out of order: they are taken in the order of their {what}"));
    }

    fn odd_latencies(&mut self) {
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); self.log.keys.len()];
        self.log.rows.iter().for_each(|row| values[row.key as usize].push(row.latency_ms));
        let medians: Vec<f64> = values.iter_mut().map(|values| crate::math::median(values).unwrap_or(1.0)).collect();
        let is_odd = |row: &&Row| {
            let ratio = row.latency_ms / medians[row.key as usize];
            !(1e-3..=1e3).contains(&ratio)
        };
        let odd: Vec<u32> = self.log.rows.iter().filter(is_odd).map(|row| row.line).collect();
        if let Some(first) = odd.first() {
            self.log.notes.push(format!(
                "{} a thousand times off the median of its key, first line {first}: is the unit right?",
                are(odd.len(), "latency", "latencies")
            ));
        }
        // 10 TB/s are 1e10 bytes per millisecond.
        let is_fast = |row: &&Row| {
            self.log.keys[row.key as usize].size_bytes.is_some_and(|size| size as f64 / row.latency_ms > 1e10)
        };
        let fast = self.log.rows.iter().filter(is_fast).count();
        if fast > 0 {
            let said = are(fast, "line", "lines");
            self.log.notes.push(format!("{said} faster than 10 TB/s: is the latency in milliseconds?"));
        }
    }

    fn order(&mut self) {
        let times: Vec<f64> = self.times.iter().flatten().copied().collect();
        let back = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
        if back > 0 {
            let back = count(back as u64, "time");
            self.log.notes.push(format!("Time goes backwards {back}: several runs in one file, or lines out of order"));
        }
        let (mut repeats, mut unsorted, mut gaps) = (0, 0, 0);
        let mut starts: Vec<u32> = Vec::new();
        let mut last: Vec<Option<u64>> = vec![None; self.log.keys.len()];
        // The plugin counts the calls of a band, in which further sizes may lie: what these took is no gap.
        let is_alone: Vec<bool> = {
            let place = |key: &PartialKey| PartialKey { size_bytes: None, ..*key };
            let mut sizes = BTreeMap::new();
            self.log.keys.iter().for_each(|key| *sizes.entry(place(key)).or_insert(0_u32) += 1);
            self.log.keys.iter().map(|key| sizes.get(&place(key)) == Some(&1)).collect()
        };
        for row in &self.log.rows {
            let Some(call) = row.call else { continue };
            match last[row.key as usize].replace(call) {
                Some(before) if call == before => repeats += 1,
                Some(before) if call < before => {
                    unsorted += 1;
                    starts.push(row.line);
                }
                Some(before) if call > before + 1 && is_alone[row.key as usize] => gaps += 1,
                _ => {}
            }
        }
        // Runs that were appended have more lines than two logs that were mixed.
        if !self.is_sorted {
            let of_headers = self.again.iter().map(|line| u32::try_from(*line).unwrap_or(u32::MAX));
            let of_calls = starts.into_iter().filter(|_| (unsorted as usize) * FREQUENT < self.log.rows.len());
            self.log.run_starts = of_headers.chain(of_calls).collect();
            self.log.run_starts.compact_sort();
            self.log.run_starts.dedup();
        }
        for (number, what) in [
            (repeats, "repeats the call before it: two logs in one?"),
            (unsorted, "has a lower call than the line before: several runs, or two logs in one"),
            (gaps, "comes after calls that were not logged"),
        ] {
            if number > 0 {
                self.log.notes.push(format!("{}: the line {what}", count(number, "time")));
            }
        }
    }
}

fn are(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one} is") } else { format!("{number} {many} are") }
}

/// A whole number without sign or fraction; `2.0` reads as well.
fn natural(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| crate::text::whole(text).and_then(|number| u64::try_from(number).ok()))
}

impl PartialKey {
    /// The key, completed by another; `None` if something is still missing. The collective of a list of times
    /// defaults to allreduce.
    pub fn completed(&self, other: &PartialKey) -> Option<Key> {
        Some(Key {
            collective: self.collective.or(other.collective)?,
            scale: self.scale.or(other.scale)?,
            size_bytes: self.size_bytes.or(other.size_bytes)?,
            overlap: self.overlap.or(other.overlap),
        })
    }
}
