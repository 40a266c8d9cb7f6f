//! The text tables of nccl-tests (src/util.cu) and rccl-tests (src/common.cu), in every version.
//!
//! ```text
//! #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
//! #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
//!      1048576        262144     float     sum      -1    58.20   18.02   31.53      0    58.34   17.97   31.45      0
//! ```

use crate::{
    collective::{Algorithm, Configuration, Protocol},
    text::{is_missing, number},
};

/// The columns of a table's rows after size, count and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) redop: bool,
    pub(super) root: bool,
    pub(super) places: TablePlacement,
    /// Minimum, maximum, 99th percentile and coefficient of variation follow each measurement (`-I 1`).
    pub(super) per_iteration: bool,
    /// Date and time follow the measurements (`-S 1`).
    pub(super) timestamp: bool,
    /// Algorithm, protocol and channels end the row (`-M 1`, in newer versions `-A 1`).
    pub(super) configuration: bool,
}

/// Which measurements a row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TablePlacement {
    Both,
    InPlace,
    OutOfPlace,
}

/// The columns that a table's header announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) shape: Shape,
    /// The times are those of the CPU (`-C 1`).
    pub(super) cpu_time: bool,
    /// The last column of a measurement is a largest difference, not a number of wrong values.
    pub(super) is_delta: bool,
}

/// One row as it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TableRow {
    pub(super) line: u64,
    pub(super) size_bytes: u64,
    /// The number of elements.
    pub(super) count: u64,
    pub(super) datatype: TableDataType,
    /// `sum`, `none`; `None` where it is no known one.
    pub(super) redop: Option<&'static str>,
    /// The rank from which the collective starts, or to which it goes; `None` where it has none.
    pub(super) root: Option<u32>,
    pub(super) in_place: Option<Printed>,
    pub(super) out_of_place: Option<Printed>,
    /// The planned configuration in columns 14 to 16.
    pub(super) planned: Option<Configuration>,
    /// The channels of column 16 were printed as a negative byte.
    pub(super) wrapped: bool,
    /// The algorithm has RCCL's WarpSpeed mark.
    pub(super) warp_speed: bool,
}

/// One measurement as it is printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Printed {
    pub(super) time_us: f64,
    pub(super) algbw_gbps: f64,
    pub(super) busbw_gbps: f64,
    /// Wrong values; `None` where they were not counted.
    pub(super) wrong: Option<f64>,
}

/// A data type by the name that tables print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TableDataType {
    pub(super) name: &'static str,
    pub(super) bytes: u64,
}

const TABLE_DATA_TYPES: [(&str, u64); 19] = [
    ("int8", 1),
    ("uint8", 1),
    ("char", 1),
    ("fp8_e4m3", 1),
    ("fp8_e5m2", 1),
    ("f8e4m3", 1),
    ("f8e5m2", 1),
    ("half", 2),
    ("float16", 2),
    ("bfloat16", 2),
    ("bf16", 2),
    ("int", 4),
    ("int32", 4),
    ("uint32", 4),
    ("float", 4),
    ("float32", 4),
    ("int64", 8),
    ("uint64", 8),
    ("double", 8),
];

const REDOPS: [&str; 7] = ["none", "sum", "prod", "max", "min", "avg", "mulsum"];

/// The operation by its name.
pub(super) fn redop(text: &str) -> Option<&'static str> {
    REDOPS.iter().copied().find(|name| name.eq_ignore_ascii_case(text))
}

impl TableDataType {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let known = TABLE_DATA_TYPES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        known.map(|(name, bytes)| Self { name, bytes: *bytes })
    }
}

impl Header {
    /// Reads the line of names; `groups` is the line above it, which says what is in place.
    pub(super) fn parse(words: &[&str], groups: TablePlacement) -> Option<Self> {
        let has = |name: &str| words.iter().any(|word| word.eq_ignore_ascii_case(name));
        let measurements = words.iter().filter(|word| word.eq_ignore_ascii_case("busbw")).count();
        if words.len() < 4
            || !words[0].eq_ignore_ascii_case("size")
            || !has("count")
            || !(1..=2).contains(&measurements)
        {
            return None;
        }
        let places = match (measurements, groups) {
            (2, _) => TablePlacement::Both,
            (_, TablePlacement::OutOfPlace) => TablePlacement::OutOfPlace,
            _ => TablePlacement::InPlace,
        };
        let begins = |name: &str| words.iter().any(|word| word.to_ascii_lowercase().starts_with(name));
        Some(Self {
            shape: Shape {
                redop: has("redop"),
                root: has("root"),
                places,
                per_iteration: begins("i_m"),
                timestamp: has("timestamp"),
                configuration: begins("proto"),
            },
            cpu_time: has("cputime"),
            is_delta: has("error"),
        })
    }
}

impl Shape {
    /// How many words a row has.
    pub(super) fn width(self) -> usize {
        let measurements = if self.places == TablePlacement::Both { 2 } else { 1 };
        3 + usize::from(self.redop)
            + usize::from(self.root)
            + measurements * if self.per_iteration { 8 } else { 4 }
            + 2 * usize::from(self.timestamp)
            + 3 * usize::from(self.configuration)
    }

    /// The shape of rows without a header that fits: the one that most of these rows have.
    pub(super) fn guess(rows: &[(u64, String)]) -> Option<Self> {
        /// Rows that are looked at.
        const INSPECTED_ROWS: usize = 64;
        let flags = [false, true];
        let mut best = (0, None);
        for per_iteration in flags {
            for places in [TablePlacement::Both, TablePlacement::InPlace] {
                for (configuration, timestamp) in [(false, false), (true, false), (false, true), (true, true)] {
                    for (redop, root) in [(true, true), (true, false), (false, true), (false, false)] {
                        let shape = Self { redop, root, places, per_iteration, timestamp, configuration };
                        let fitting = rows
                            .iter()
                            .take(INSPECTED_ROWS)
                            .filter(|row| shape.read(row.0, &row.1, false).is_ok())
                            .count();
                        if fitting > best.0 {
                            best = (fitting, Some(shape));
                        }
                    }
                }
            }
        }
        best.1
    }

    /// Reads a row; the error is the column and what is wrong with the word in it.
    pub(super) fn read(self, line: u64, text: &str, is_delta: bool) -> Result<TableRow, Fault> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        if words.len() != self.width() {
            return Err(Fault {
                column: "",
                text: text.to_owned(),
                expected: format!("has {} cells where the table has {}", words.len(), self.width()),
            });
        }
        let mut cells = TableCells { words: words.iter() };
        let size_bytes = cells.parse("size", |w| w.parse().ok().filter(|n| *n <= 1 << 53), "is not a size in bytes")?;
        let count = cells.parse("count", |w| w.parse().ok(), "is not a number of elements")?;
        let datatype = cells.parse("type", TableDataType::parse, "is not a data type")?;
        let redop = if self.redop {
            let is_word = |w: &str| w.starts_with(|c: char| c.is_ascii_alphabetic());
            cells.parse("redop", |w| is_word(w).then(|| redop(w)), "is not an operation")?
        } else {
            None
        };
        // A collective without a root has -1.
        let rank = |w: &str| w.parse::<i64>().ok().map(|rank| u32::try_from(rank).ok());
        let root = if self.root { cells.parse("root", rank, "is not a rank")? } else { None };
        let mut printed = || -> Result<Option<Printed>, Fault> {
            if let Some(word) = cells.words.as_slice().first().filter(|word| is_missing(word)) {
                // A placement that did not run has no time; one whose time is not a number ran.
                let is_nan = word.to_ascii_lowercase().contains("nan");
                let width = if self.per_iteration { 8 } else { 4 };
                cells.words.by_ref().take(width).for_each(drop);
                let none = Printed { time_us: f64::NAN, algbw_gbps: f64::NAN, busbw_gbps: f64::NAN, wrong: None };
                return Ok(is_nan.then_some(none));
            }
            let printed = Printed {
                time_us: cells.number("time")?,
                algbw_gbps: cells.number("algbw")?,
                busbw_gbps: cells.number("busbw")?,
                wrong: cells
                    .parse(
                        "#wrong",
                        |w| if is_missing(w) { Some(None) } else { number(w).map(Some) },
                        "is not a number",
                    )?
                    .filter(|_| !is_delta),
            };
            if self.per_iteration {
                for column in ["i_min", "i_max", "i_p99", "i_cv%"] {
                    cells.number(column)?;
                }
            }
            Ok(Some(printed))
        };
        let first = printed()?;
        let (out_of_place, in_place) = match self.places {
            TablePlacement::Both => (first, printed()?),
            TablePlacement::InPlace => (None, first),
            TablePlacement::OutOfPlace => (first, None),
        };
        if out_of_place.is_none() && in_place.is_none() {
            return Err(Fault {
                column: "time",
                text: text.to_owned(),
                expected: "is no time of either placement".to_owned(),
            });
        }
        if self.timestamp {
            let is_stamp = |w: &str, mark: char| w.starts_with(|c: char| c.is_ascii_digit()) && w.contains(mark);
            cells.parse("timestamp", |w| is_stamp(w, '-').then_some(()), "is not a date")?;
            cells.parse("timestamp", |w| is_stamp(w, ':').then_some(()), "is not a time of day")?;
        }
        let mut measured = TableRow {
            line,
            size_bytes,
            count,
            datatype,
            redop,
            root,
            in_place,
            out_of_place,
            planned: None,
            wrapped: false,
            warp_speed: false,
        };
        if self.configuration {
            let algorithm = |w: &str| Some((Algorithm::parse(w.trim_end_matches('*'))?, w.ends_with('*')));
            let (algorithm, warp_speed) = cells.parse("algo", algorithm, "is not an algorithm")?;
            let protocol = cells.parse("proto", Protocol::parse, "is not a protocol")?;
            let printed = |w: &str| if is_missing(w) { Some(0) } else { w.parse::<i32>().ok() };
            let in_range = |n: &i32| (-128..=1024).contains(n);
            let channels = cells.parse("nchannels", |w| printed(w).filter(in_range), "is not a number of channels")?;
            measured.wrapped = channels < 0;
            let channels = if channels < 0 { 256 + channels } else { channels }.unsigned_abs();
            measured.warp_speed = warp_speed;
            measured.planned =
                Some(Configuration { algorithm, protocol, channels }).filter(|c| c.algorithm != Algorithm::None);
        }
        Ok(measured)
    }
}

/// A word that can't stand where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The column; empty for the whole row.
    pub(super) column: &'static str,
    pub(super) text: String,
    pub(super) expected: String,
}

/// The words of a row, from left to right.
struct TableCells<'a> {
    words: std::slice::Iter<'a, &'a str>,
}

impl TableCells<'_> {
    fn parse<T>(
        &mut self,
        column: &'static str,
        parse: impl Fn(&str) -> Option<T>,
        expected: &str,
    ) -> Result<T, Fault> {
        let word = self.words.next().copied().unwrap_or_default();
        parse(word).ok_or_else(|| Fault { column, text: word.to_owned(), expected: expected.to_owned() })
    }

    fn number(&mut self, column: &'static str) -> Result<f64, Fault> {
        self.parse(column, number, "is not a number")
    }
}

/// Where in a line a row begins: two whole numbers and a data type, whatever stands before them.
pub(super) fn row_start(words: &[&str]) -> Option<usize> {
    /// Words of a label before it: `[1,0]<stdout>:`, `0:`, a date and a time.
    const MAX_LABEL_WORDS: usize = 6;
    let is_whole = |word: &str| word.parse::<u64>().is_ok();
    let starts = words.windows(3).take(MAX_LABEL_WORDS);
    starts.into_iter().position(|w| is_whole(w[0]) && is_whole(w[1]) && TableDataType::parse(w[2]).is_some())
}

/// The word can stand in the rest of a row.
pub(super) fn is_cell(word: &str) -> bool {
    let begins = |c: char| c.is_ascii_digit() || c == '-';
    is_missing(word)
        || word.starts_with(begins) && word.chars().all(|c| c.is_ascii_digit() || "+-.eE:".contains(c))
        || Algorithm::parse(word.trim_end_matches('*')).is_some()
        || Protocol::parse(word).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        text.split_ascii_whitespace().collect()
    }

    fn header(text: &str) -> Header {
        Header::parse(&words(text), TablePlacement::Both).expect("it is a header")
    }

    #[test]
    fn headers_of_every_version() {
        let new = header("size count type redop root time algbw busbw #wrong time algbw busbw #wrong");
        assert_eq!((new.shape.width(), new.is_delta, new.cpu_time), (13, false, false));
        let old = header("size count type time algbw busbw error time algbw busbw error");
        assert_eq!((old.shape.width(), old.is_delta), (11, true));
        let wide = header(
            "size count type redop root cputime algbw busbw #wrong i_min i_max i_p99 i_cv% cputime algbw busbw #wrong \
             i_min i_max i_p99 i_cv% timestamp algo proto nchannels",
        );
        assert_eq!((wide.shape.width(), wide.cpu_time), (26, true));
        let one =
            Header::parse(&words("size count type redop root time algbw busbw #wrong"), TablePlacement::OutOfPlace);
        assert_eq!(one.map(|h| h.shape.places), Some(TablePlacement::OutOfPlace));
        assert_eq!(Header::parse(&words("size of the count"), TablePlacement::Both), None);
    }

    #[test]
    fn rows_without_a_header() {
        let guess = |text: &str| Shape::guess(&[(1, text.to_owned())]);
        let row = "1048576 262144 float sum -1 58.20 18.02 31.53 0 58.34 17.97 31.45 N/A";
        let both = guess(row).expect("it fits");
        assert_eq!((both.places, both.redop, both.root), (TablePlacement::Both, true, true));
        let read = both.read(7, row, false).expect("it fits");
        assert_eq!(read.in_place.map(|p| (p.time_us, p.wrong)), Some((58.34, None)));
        assert_eq!(guess("1048576 262144 half 58.20 18.02 31.53 0").map(|s| s.places), Some(TablePlacement::InPlace));
        let planned = guess(&format!("{row} 2026-01-02 03:04:05 RING* LL128 -88")).expect("it fits");
        assert!(planned.timestamp && planned.configuration);
        let read = planned.read(7, &format!("{row} 2026-01-02 03:04:05 RING* LL128 -88"), false).expect("it fits");
        assert_eq!(read.planned.map(|c| c.to_string()), Some("RING/LL128/168".into()));
        assert!(read.wrapped && read.warp_speed);
        assert_eq!(guess("1048576 262144 float sum -1 58.20 18.02"), None);
    }

    #[test]
    fn rows_behind_labels() {
        assert_eq!(row_start(&words("0: 4096 1024 float sum")), Some(1));
        assert_eq!(row_start(&words("[1,0]<stdout>: 4096 1024 bfloat16")), Some(1));
        assert_eq!(row_start(&words("4096 1024 apples")), None);
    }
}
