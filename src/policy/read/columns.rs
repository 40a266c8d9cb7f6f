//! Maps the columns of a reward log to their meaning.

use crate::{
    collective::Collective,
    text::{number, whole},
    units::Size,
};

/// The quantity that a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Collective,
    Size,
    Nodes,
    Ranks,
    Latency,
    Arm,
    Algo,
    Proto,
    Channels,
    Strategy,
    Propensity,
    Call,
    Generation,
    Overlap,
    Rank,
    Timestamp,
}

/// The names that a column can have, in lower case, with their meaning.
const NAMES: [(&str, Column); 25] = [
    ("colltype", Column::Collective),
    ("collective", Column::Collective),
    ("nbytes", Column::Size),
    ("size_bytes", Column::Size),
    ("bytes", Column::Size),
    ("size", Column::Size),
    ("nnodes", Column::Nodes),
    ("nodes", Column::Nodes),
    ("num_nodes", Column::Nodes),
    ("nranks", Column::Ranks),
    ("ranks", Column::Ranks),
    ("num_gpus", Column::Ranks),
    ("arm", Column::Arm),
    ("algo", Column::Algo),
    ("algorithm", Column::Algo),
    ("proto", Column::Proto),
    ("protocol", Column::Proto),
    ("channels", Column::Channels),
    ("strategy", Column::Strategy),
    ("propensity", Column::Propensity),
    ("call", Column::Call),
    ("generation", Column::Generation),
    ("overlap", Column::Overlap),
    ("rank", Column::Rank),
    ("timestamp", Column::Timestamp),
];

/// Names of latencies, with milliseconds per unit; the last is of iterations.
const LATENCIES: [(&str, f64); 5] =
    [("latency_ms", 1.0), ("latency_us", 1e-3), ("latency_ns", 1e-6), ("latency_s", 1e3), ("iteration_ms", 1.0)];

/// The columns of a log.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// The headers as written; for a log without a header, the names of the five fields.
    pub(super) headers: Vec<String>,
    /// The meaning of each column; `None` if it is unknown.
    holds: Vec<Option<Column>>,
    /// Milliseconds per unit of the latency column.
    pub(super) ms: f64,
    /// Whether latencies are those of iterations.
    pub(super) is_iteration: bool,
}

impl Columns {
    /// The columns of a log without a header: five fields, after which further ones are ignored.
    pub(super) fn plain() -> Self {
        use Column::{Collective, Latency, Nodes, Ranks, Size};
        Self {
            headers: ["collType", "nBytes", "nNodes", "nRanks", "latency_ms"].map(str::to_owned).to_vec(),
            holds: [Collective, Size, Nodes, Ranks, Latency].map(Some).to_vec(),
            ms: 1.0,
            is_iteration: false,
        }
    }

    /// The columns of a header; `None` if it lacks a latency, or both a size and an arm. A size that it lacks can be
    /// given.
    pub(super) fn of(headers: &[&str]) -> Option<Self> {
        let mut columns = Self { headers: Vec::new(), holds: Vec::new(), ms: 1.0, is_iteration: false };
        for header in headers {
            let name = header.to_ascii_lowercase();
            let latency = LATENCIES.iter().position(|(known, _)| *known == name);
            let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, column)| *column);
            let column = latency.map(|_| Column::Latency).or(known).filter(|column| columns.place(*column).is_none());
            if let (Some(Column::Latency), Some(at)) = (column, latency) {
                (columns.ms, columns.is_iteration) = (LATENCIES[at].1, at + 1 == LATENCIES.len());
            }
            columns.headers.push((*header).to_owned());
            columns.holds.push(column);
        }
        let has_busbw = headers.iter().any(|header| header.to_ascii_lowercase().contains("busbw"));
        let has = |column| columns.place(column).is_some();
        (has(Column::Latency) && (has(Column::Size) || has(Column::Arm)) && !has_busbw).then_some(columns)
    }

    pub(super) fn place(&self, column: Column) -> Option<usize> {
        self.holds.iter().position(|holds| *holds == Some(column))
    }

    /// The header of a column; empty if the log does not have it.
    pub(super) fn name(&self, column: Column) -> &str {
        self.place(column).map_or("", |place| self.headers[place].as_str())
    }

    /// Headers of columns whose meaning is unknown.
    pub(super) fn unknown(&self) -> Vec<&str> {
        let pairs = self.headers.iter().zip(&self.holds);
        pairs.filter(|(_, holds)| holds.is_none()).map(|(header, _)| header.as_str()).collect()
    }
}

/// Whether these headers are those of a reward log.
pub fn is_header(headers: &[String]) -> bool {
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    Columns::of(&headers).is_some()
}

/// Whether a text is a reward log below lines that are none: most of its first lines are of one, or one of them is a
/// header.
pub fn begins_late(text: &str) -> bool {
    const LOOKED_AT: usize = 24;
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let cells =
        lines.take(LOOKED_AT).map(|line| line.split(',').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    let (mut all, mut plain) = (0, 0);
    for cells in cells {
        if is_header(&cells) {
            return true;
        }
        all += 1;
        plain += usize::from(is_plain(&cells));
    }
    plain * 2 > all
}

/// Whether cells are those of a line of a reward log without a header.
pub fn is_plain(cells: &[String]) -> bool {
    let [collective, size, nodes, ranks, latency] = cells else { return false };
    let [collective, size, nodes, ranks, latency] =
        [collective, size, nodes, ranks, latency].map(|cell| unquoted(cell));
    Collective::parse(collective).is_some()
        && (whole(size).is_some() || size_with_unit(size).is_some())
        && [nodes, ranks].into_iter().all(|cell| whole(cell).is_some())
        && number(latency).is_some()
}

/// A size above 0 as people write it: `4M`, `4 MiB`.
pub(super) fn size_with_unit(text: &str) -> Option<u64> {
    let has_unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
    has_unit.then(|| text.parse::<Size>().ok())?.map(|size| size.0).filter(|size_bytes| *size_bytes > 0)
}

/// Without quotes that blanks before them kept from being read as such.
pub(super) fn unquoted(cell: &str) -> &str {
    cell.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).map_or(cell, str::trim)
}
