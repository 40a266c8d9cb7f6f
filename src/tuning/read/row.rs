//! Makes a row of one record of a sweep, or a problem that says why it can't be used.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZero,
};

use super::{Asked, Evidence, Row, RowMarks, RunKind, Sample};
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    order::CompactCollect,
    text::{self, Problem, Record, State},
    tuning::{
        columns::{Column, Columns},
        origin::{Origin, Origins, number_of},
    },
    units::{Size, count, significant},
};

/// More channels than any library has.
const MAX_CHANNELS: i64 = 1024;
const MAX_NODES: i64 = 1_000_000;
const MAX_RANKS: i64 = 10_000_000;
/// The largest size: sizes up to here are exact as floats.
const MAX_SIZE: i64 = 1 << 53;
const MAX_REPEATS: i64 = 1_000_000;

/// The largest rounding error of a printed bandwidth in GB/s: half of the second decimal, and as much again because the
/// time was rounded too.
const DECIMALS_GBPS: f64 = 0.01;
/// The largest relative rounding error of a table that prints only two digits (`1.2e+04`).
const DIGITS: f64 = 0.05;

/// The columns that say what a row was measured with.
const ORIGIN_COLUMNS: [Column; 4] = [Column::Library, Column::DataType, Column::Redop, Column::NodeList];
/// The most different texts of these columns that are kept.
const MAX_SAID: usize = 4 * Origins::MAX_OF_A_FILE;

/// Reads the records of a file.
pub(super) struct RowReader {
    file: u16,
    collectives: LastWords<Collective>,
    algorithms: LastWords<Algorithm>,
    protocols: LastWords<Protocol>,
    origins: Origins,
    /// The origins so far by the cells of their columns, with their numbers.
    said: BTreeMap<[String; ORIGIN_COLUMNS.len()], u16>,
    /// The cells and number of the last row's origin: most rows are like the one before.
    last: Option<([String; ORIGIN_COLUMNS.len()], u16)>,
    /// Whether the last row's columns of what was requested and of what ran are all blank: the row comes from a merged
    /// file of the older form.
    pub(super) unsaid: bool,
    /// That wrong values came out of the last row's run.
    pub(super) wrong_values: Option<Problem>,
}

impl RowReader {
    pub(super) fn new(file: u16) -> Self {
        Self {
            file,
            collectives: LastWords::new(Collective::parse),
            algorithms: LastWords::new(Algorithm::parse),
            protocols: LastWords::new(Protocol::parse),
            origins: Origins::default(),
            said: BTreeMap::new(),
            last: None,
            unsaid: false,
            wrong_values: None,
        }
    }

    /// The origins of all rows.
    pub(super) fn into_origins(self) -> Origins {
        self.origins
    }

    /// Reads one record by the columns of its table. Fails with the place and the expected value of the first cell that
    /// can't be used.
    pub(super) fn row(&mut self, record: &Record<'_>, columns: &Columns) -> Result<Row, Problem> {
        check_form(record, columns.width())?;
        let cells = RowCells { columns, record };
        let [in_place, out_of_place] = [Column::ErrorsIp, Column::ErrorsOop].map(|column| cells.wrong_values(column));
        self.wrong_values = in_place?.or(out_of_place?);

        let collective = cells.word(Column::Collective, &mut self.collectives, "a collective")?;
        let nodes = cells.whole(Column::NumNodes, 1..=MAX_NODES, "a number of nodes")? as u32;
        let ranks = cells.whole(Column::NumGpus, 1..=MAX_RANKS, "a number of ranks")? as u32;
        if ranks < nodes {
            return Err(
                cells.problem(Column::NumGpus, &format!("is fewer than the {nodes} nodes: ranks count over all nodes"))
            );
        }
        let workload = Workload { collective, scale: Scale { nodes, ranks }, size_bytes: cells.size()? };

        let mut marks = RowMarks { has_wrong_values: self.wrong_values.is_some(), ..RowMarks::default() };
        let (algorithm, protocol, named_default) = self.what_ran(&cells, &mut marks)?;
        let kind = if named_default || self.asked_for_nothing(&cells) { RunKind::Default } else { RunKind::Asked };
        let channels = cells.channels(algorithm == Algorithm::None || kind == RunKind::Default, &mut marks)?;
        marks.substituted =
            cells.get(Column::Substituted).is_some_and(|c| c.eq_ignore_ascii_case("true") || text::whole(c) == Some(1));

        let repeats = match cells.present(Column::NRepeats) {
            Some(_) => cells.whole(Column::NRepeats, 1..=MAX_REPEATS, "a number of repeats")? as u32,
            None => 1,
        };
        let spread_pct = match cells.present(Column::SpreadPct) {
            Some(cell) => Some(
                text::number(cell)
                    .filter(|n| *n >= 0.0)
                    .ok_or_else(|| cells.problem(Column::SpreadPct, "is not a spread in per cent"))?,
            ),
            None => None,
        };

        let medians = Medians { repeats, spread_pct };
        let in_place = cells.sample(&workload, IN_PLACE, medians)?;
        let out_of_place = cells.sample(&workload, OUT_OF_PLACE, Medians { spread_pct: None, ..medians })?;
        if in_place.is_none() && out_of_place.is_none() {
            let column = if columns.has(Column::BusbwIp) { Column::BusbwIp } else { Column::TimeIp };
            return Err(cells.problem(column, "is no measurement, and the row has no other"));
        }
        let asked = self.asked(&cells);
        let origin = self.origin(&cells)?;
        Ok(Row {
            file: self.file,
            line: u32::try_from(record.line()).unwrap_or(u32::MAX),
            workload,
            ran: Configuration { algorithm, protocol, channels },
            in_place,
            out_of_place,
            repeats,
            spread_pct: spread_pct.filter(|_| repeats > 1),
            kind,
            marks,
            asked,
            // The columns of channels hold the planned number, not the executed one (nchannels_source is
            // A_flag_ceiling).
            evidence: Evidence::Planned,
            origin,
        })
    }

    /// The requested settings, as far as the row has them.
    fn asked(&mut self, cells: &RowCells<'_>) -> Asked {
        let word = |column| cells.present(column);
        Asked {
            algorithm: word(Column::RequestedAlgo).and_then(|word| self.algorithms.get(word)),
            protocol: word(Column::RequestedProto).and_then(|word| self.protocols.get(word)),
            channels: word(Column::RequestedNchannels)
                .and_then(text::whole)
                .and_then(|n| u16::try_from(n).ok())
                .and_then(NonZero::new),
        }
    }

    /// The number of the row's origin: library, data type, operation and nodes.
    fn origin(&mut self, cells: &RowCells<'_>) -> Result<u16, Problem> {
        let cell = |column| cells.present(column).unwrap_or_default();
        if let Some((said, number)) = &self.last
            && said.iter().zip(ORIGIN_COLUMNS).all(|(said, column)| said == cell(column))
        {
            return Ok(*number);
        }
        let says = ORIGIN_COLUMNS.map(|column| cell(column).to_owned());
        let number = match self.said.get(&says) {
            Some(number) => *number,
            None => {
                let mut origin = Origin::default();
                origin.library(cells.columns.library_family(), cell(Column::Library));
                origin.measured_type(cell(Column::DataType), cell(Column::Redop));
                origin.nodes(node_numbers(cell(Column::NodeList)));
                let number =
                    self.origins.number(&origin, Origins::MAX_OF_A_FILE).filter(|_| self.said.len() < MAX_SAID);
                let Some(number) = number else {
                    let column =
                        ORIGIN_COLUMNS.into_iter().find(|column| !cell(*column).is_empty()).unwrap_or(Column::DataType);
                    return Err(cells.problem(column, "is one way of measuring more than can be told apart"));
                };
                self.said.insert(says.clone(), number);
                number
            }
        };
        self.last = Some((says, number));
        Ok(number)
    }

    /// Algorithm and protocol, and whether they say DEFAULT.
    fn what_ran(&mut self, cells: &RowCells<'_>, marks: &mut RowMarks) -> Result<(Algorithm, Protocol, bool), Problem> {
        let algorithm = cells.get(Column::Algo).unwrap_or_default();
        let is_minus_one = cells.columns.minus_one_is_default() && algorithm == "-1";
        if algorithm.eq_ignore_ascii_case("default") || is_minus_one {
            return Ok((Algorithm::None, Protocol::None, true));
        }
        let raw = cells.get(Column::MeasuredAlgoRaw).unwrap_or_default();
        marks.warp_speed = algorithm.ends_with('*') || raw.ends_with('*');
        let algorithm = cells.word(Column::Algo, &mut self.algorithms, "an algorithm")?;
        Ok((algorithm, cells.word(Column::Proto, &mut self.protocols, "a protocol")?, false))
    }

    /// Whether the file has columns of what was requested, and they are blank.
    ///
    /// Where the columns of what ran are blank too, the row comes from a file of the older form that was merged into
    /// one of the newer form: it says nothing about what was requested.
    fn asked_for_nothing(&mut self, cells: &RowCells<'_>) -> bool {
        let mut requested = [Column::RequestedAlgo, Column::RequestedProto, Column::RequestedNchannels]
            .into_iter()
            .filter_map(|c| cells.get(c))
            .peekable();
        let is_blank = |cell: &str| cell.is_empty() || cell.eq_ignore_ascii_case("nan");
        let nothing = requested.peek().is_some() && requested.all(asks_nothing);
        let mut evidence = [Column::Substituted, Column::MeasuredAlgoRaw, Column::NchannelsSource]
            .into_iter()
            .filter_map(|c| cells.get(c))
            .peekable();
        self.unsaid = nothing && evidence.peek().is_some() && evidence.all(is_blank);
        nothing && !self.unsaid
    }
}

/// Whether what a column of requested settings says is that none was.
fn asks_nothing(cell: &str) -> bool {
    text::is_missing(cell) || ["default", "auto", "-1"].iter().any(|word| cell.trim().eq_ignore_ascii_case(word))
}

/// Whether a record has a cell for each of `width` columns.
fn check_form(record: &Record<'_>, width: usize) -> Result<(), Problem> {
    let (cells, has) = (record.len(), count(record.len() as u64, "cell"));
    let expected = match record.state() {
        State::Broken => "is where the file breaks off; the row was left out".to_owned(),
        State::OpenQuote => "opens a quote and does not close it; the row was left out".to_owned(),
        State::TooLong => "is too long for a row; it was left out".to_owned(),
        State::Last if cells < width => {
            format!("is cut: it has {has} of {width}; the row was left out")
        }
        _ if cells < width || (width..cells).any(|c| record.get(c).is_some_and(|cell| !cell.is_empty())) => {
            format!("has {has} where the header has {width}; the row was left out")
        }
        _ => return Ok(()),
    };
    Err(Problem::new(record.line(), "", &record.excerpt(), expected))
}

/// The numbers of the nodes in a list like `node1,node2`, ascending and each once; a range in brackets is one word.
fn node_numbers(list: &str) -> BTreeSet<u64> {
    let mut depth = 0_u32;
    let is_between = |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c.is_whitespace() || matches!(c, ',' | ';' | '|' | '+'))
    };
    list.split(is_between).filter(|name| !name.is_empty()).map(number_of).compact_collect()
}

/// The cells of one record by column.
struct RowCells<'a> {
    columns: &'a Columns,
    record: &'a Record<'a>,
}

/// The columns of one measurement.
#[derive(Clone, Copy)]
struct SampleColumns {
    time: Column,
    algbw: Column,
    busbw: Column,
}

const IN_PLACE: SampleColumns = SampleColumns { time: Column::TimeIp, algbw: Column::AlgbwIp, busbw: Column::BusbwIp };
const OUT_OF_PLACE: SampleColumns =
    SampleColumns { time: Column::TimeOop, algbw: Column::AlgbwOop, busbw: Column::BusbwOop };

/// The range of a plausible printed algbw, as factors of size / time. For busbw the factors are 0.5 (all_gather over
/// two ranks) to 2 (all_reduce over many), however the ranks are counted.
fn algbw_factors(workload: &Workload) -> (f64, f64) {
    // The table of this test leaves out the part that a rank keeps.
    if workload.collective == Collective::Hypercube { (0.5, 1.0) } else { (1.0, 1.0) }
}

/// The number and spread of the runs of which a row is the median.
#[derive(Clone, Copy)]
struct Medians {
    repeats: u32,
    spread_pct: Option<f64>,
}

impl Medians {
    /// The largest share of the median bandwidth by which size / (median time) may lie below it.
    ///
    /// Time and bandwidth rank the runs in opposite order, so medians of an odd number of runs are of one run and
    /// agree. The median of an even number is the mean of the two middle runs, arithmetic in both columns: with the
    /// two at b(1 ± d), size / (mean time) is their harmonic mean b(1 − d²), and d is at most half the spread.
    fn slack(self) -> f64 {
        if self.repeats % 2 == 1 {
            return 0.0;
        }
        let half = (self.spread_pct.unwrap_or(200.0) / 200.0).min(1.0);
        half * half
    }
}

impl RowCells<'_> {
    fn get(&self, column: Column) -> Option<&str> {
        self.columns.cell(column, self.record)
    }

    /// The cell, unless it is blank or says that there is no value.
    fn present(&self, column: Column) -> Option<&str> {
        let is_minus_one = |cell: &str| self.columns.minus_one_is_default() && matches!(cell, "-1" | "-1.0");
        self.get(column).filter(|c| !text::is_missing(c) && !is_minus_one(c))
    }

    fn problem(&self, column: Column, expected: &str) -> Problem {
        let text = self.get(column).unwrap_or_default();
        Problem::new(self.record.line(), self.columns.header(column), text, format!("{expected}; the row was left out"))
    }

    fn word<T: Copy>(&self, column: Column, memo: &mut LastWords<T>, what: &str) -> Result<T, Problem> {
        let cell = self.get(column).unwrap_or_default();
        memo.get(cell.trim_end_matches('*')).ok_or_else(|| self.problem(column, &format!("is not {what}")))
    }

    fn whole(&self, column: Column, range: std::ops::RangeInclusive<i64>, what: &str) -> Result<i64, Problem> {
        let number = self.get(column).and_then(text::whole);
        let Some(number) = number else { return Err(self.problem(column, "is not a whole number")) };
        if range.contains(&number) {
            return Ok(number);
        }
        Err(self.problem(column, &format!("is not {what} ({} to {})", range.start(), range.end())))
    }

    fn size(&self) -> Result<u64, Problem> {
        let cell = self.get(Column::SizeBytes).unwrap_or_default();
        if text::whole(cell).is_none() && cell.ends_with(|c: char| c.is_ascii_alphabetic()) {
            let size = cell.parse::<Size>().ok().filter(|s| (1..=MAX_SIZE as u64).contains(&s.0));
            return size.map(|s| s.0).ok_or_else(|| self.problem(Column::SizeBytes, "is not a size"));
        }
        self.whole(Column::SizeBytes, 1..=MAX_SIZE, "a size in bytes").map(|n| n as u64)
    }

    /// That wrong values came out of the run, where the column says so.
    fn wrong_values(&self, column: Column) -> Result<Option<Problem>, Problem> {
        let Some(cell) = self.present(column) else { return Ok(None) };
        match text::number(cell) {
            Some(errors) if errors > 0.0 => Ok(Some(self.problem(column, "wrong values came out of this run"))),
            Some(_) => Ok(None),
            None => Err(self.problem(column, "is not a number of wrong values")),
        }
    }

    /// The number of channels. A number from -128 to -1 is a wrapped byte. Zero or none is allowed for runs that did
    /// not choose it.
    fn channels(&self, may_be_unsaid: bool, marks: &mut RowMarks) -> Result<u32, Problem> {
        let unsaid = |cell: &str| cell == "-1" || cell.eq_ignore_ascii_case("default");
        if may_be_unsaid && self.present(Column::Nchannels).is_none_or(unsaid) {
            return Ok(0);
        }
        let lowest = if may_be_unsaid { 0 } else { 1 };
        let printed = self.get(Column::Nchannels).and_then(text::whole);
        let may_wrap = |n: &i64| (-128..0).contains(n) && !self.columns.minus_one_is_default();
        if let Some(n) = printed.filter(may_wrap) {
            marks.wrapped_channels = true;
            return Ok((256 + n) as u32);
        }
        self.whole(Column::Nchannels, lowest..=MAX_CHANNELS, "a number of channels").map(|n| n as u32)
    }

    /// A measurement; `None` if the row has none.
    fn sample(&self, workload: &Workload, of: SampleColumns, medians: Medians) -> Result<Option<Sample>, Problem> {
        let number = |column, what: &str, positive: bool| match self.present(column) {
            None => Ok(None),
            Some(cell) => match text::number(cell) {
                Some(n) if n > 0.0 || (n == 0.0 && !positive) => Ok(Some(n)),
                _ => Err(self.problem(column, &format!("is not {what}"))),
            },
        };
        let time_us = number(of.time, "a time above zero", true)?;
        let algbw_gbps = number(of.algbw, "a bandwidth", false)?;
        let busbw_gbps = number(of.busbw, "a bandwidth", time_us.is_none())?;
        let numbers = SampleNumbers { time_us, algbw_gbps, busbw_gbps, slack: medians.slack() };
        numbers.sample(workload).map_err(|doubt| {
            let column = if doubt.is_algbw { of.algbw } else { of.busbw };
            self.problem(column, &doubt.expected)
        })
    }
}

/// The numbers of one measurement, as far as a file has them.
#[derive(Clone, Copy, Debug)]
pub(in crate::tuning) struct SampleNumbers {
    /// The time in µs, above zero.
    pub(in crate::tuning) time_us: Option<f64>,
    pub(in crate::tuning) algbw_gbps: Option<f64>,
    pub(in crate::tuning) busbw_gbps: Option<f64>,
    /// The largest share by which a bandwidth may lie above size / time.
    pub(in crate::tuning) slack: f64,
}

/// A bandwidth that contradicts size and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tuning) struct ImplausibleBandwidth {
    /// Whether it is the algorithm bandwidth, not the bus bandwidth.
    pub(in crate::tuning) is_algbw: bool,
    /// Completes the sentence that begins with the bandwidth.
    pub(in crate::tuning) expected: String,
}

impl SampleNumbers {
    /// The measurement, if there is one and its numbers agree.
    pub(in crate::tuning) fn sample(self, workload: &Workload) -> Result<Option<Sample>, ImplausibleBandwidth> {
        if let Some(time_us) = self.time_us {
            let computed = workload.size_bytes as f64 / time_us / 1000.0;
            for (is_algbw, printed, factors) in
                [(true, self.algbw_gbps, algbw_factors(workload)), (false, self.busbw_gbps, (0.5, 2.0))]
            {
                let Some(printed) = printed else { continue };
                let slack = DECIMALS_GBPS + DIGITS * computed.max(printed);
                let (lowest, highest) = (computed * factors.0 - slack, computed * factors.1 + slack);
                if !computed.is_finite() || printed < lowest || printed > highest + self.slack * printed {
                    let expected = format!("contradicts size / time, which is {} GB/s", significant(computed));
                    return Err(ImplausibleBandwidth { is_algbw, expected });
                }
            }
        }
        let busbw = |time_us| workload.collective.busbw_gbps(workload.scale.ranks, workload.size_bytes, time_us);
        let busbw_gbps = match (self.time_us, self.busbw_gbps) {
            (None, None) => return Ok(None),
            (_, Some(printed)) => printed,
            (Some(time_us), None) => busbw(time_us),
        };
        let is_bandwidth = |busbw: f64| busbw > 0.0 && busbw.is_finite();
        // With a factor of 0 (one rank), or a time that overflows, there is nothing to compare.
        if !is_bandwidth(busbw_gbps) && self.time_us.is_none_or(|t| !is_bandwidth(busbw(t))) {
            return Err(ImplausibleBandwidth { is_algbw: false, expected: "is not a bandwidth above zero".to_owned() });
        }
        Ok(Some(Sample { time_us: self.time_us, busbw_gbps }))
    }
}

/// A cache of the few different words of a column, so that each is parsed once.
struct LastWords<T> {
    parse: fn(&str) -> Option<T>,
    known: Vec<(String, T)>,
}

impl<T: Copy> LastWords<T> {
    const MAX: usize = 32;

    fn new(parse: fn(&str) -> Option<T>) -> Self {
        Self { parse, known: Vec::new() }
    }

    fn get(&mut self, word: &str) -> Option<T> {
        if let Some((_, value)) = self.known.iter().find(|(known, _)| known == word) {
            return Some(*value);
        }
        let value = (self.parse)(word)?;
        if self.known.len() < Self::MAX {
            self.known.push((word.to_owned(), value));
        }
        Some(value)
    }
}
