//! Lists of calls: what a job calls, where no log shows it.
//!
//! ```text
//! collective,num_nodes,num_gpus,size_bytes,calls,data_type,redop
//! all_reduce,1,8,458752,61,bf16,sum
//! ```
//!
//! `calls` may be missing (1), and so may the data type and the operation.

use super::result::Place;
use crate::{
    collective::{Collective, Scale},
    text::{Problem, Problems},
    tuning::data_type::{DataType, is_sum},
    units::Size,
};

/// A collective as a job calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCall {
    /// The collective, by any of its usual names in the list.
    pub collective: Collective,
    /// Bytes as nccl-tests prints them: of the larger buffer.
    pub size_bytes: u64,
    /// Nodes and ranks of its communicator.
    pub scale: Scale,
    /// How often it is called.
    pub calls: u64,
    /// The data type of the message.
    pub data_type: Option<DataType>,
    /// Whether the operation is the sum.
    pub is_sum: Option<bool>,
    /// The row of the list; `None` for calls that no file lists.
    pub place: Option<Place>,
}

/// The columns of a list, each by its names, and whether it must be there.
const COLUMNS: [(&[&str], bool); 7] = [
    (&["collective"], true),
    (&["num_nodes", "nodes"], true),
    (&["num_gpus", "ranks"], true),
    (&["size_bytes", "bytes"], true),
    (&["calls", "count"], false),
    (&["data_type", "type"], false),
    (&["redop", "operation"], false),
];

/// Reads the rows of one list.
pub(super) struct ListReader {
    /// The place of each of [`COLUMNS`] in a row.
    places: [Option<usize>; COLUMNS.len()],
    /// The header's cells in small letters: a row has as many.
    names: Vec<String>,
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|cell| cell.trim().trim_matches('"').trim())
}

impl ListReader {
    /// Reads a header; `None` for another line.
    pub(super) fn new(header: &str) -> Option<Self> {
        let names: Vec<String> = cells(header).map(str::to_ascii_lowercase).collect();
        let place = |(known, _): (&[&str], bool)| names.iter().position(|name| known.contains(&name.as_str()));
        let places = COLUMNS.map(place);
        let is_list = COLUMNS.iter().zip(&places).all(|((_, is_needed), place)| !is_needed || place.is_some());
        is_list.then_some(Self { places, names })
    }

    /// The columns of which nothing is read.
    pub(super) fn unread(&self) -> impl Iterator<Item = &str> {
        let unread = self.names.iter().enumerate().filter(|(at, _)| !self.places.contains(&Some(*at)));
        unread.map(|(_, name)| name.as_str())
    }

    /// Reads a row; one that can't be read goes to `problems`.
    pub(super) fn row(&self, text: &str, place: Place, problems: &mut Problems) -> Option<ListedCall> {
        let row: Vec<&str> = cells(text).collect();
        if row.len() != self.names.len() {
            let header = self.names.len();
            let expected = format!("has {} cells where the header has {header}; the row was left out", row.len());
            problems.push(Problem::new(place.line, "", text, expected));
            return None;
        }
        let cell = |column: usize| self.places[column].and_then(|at| row.get(at)).copied().unwrap_or_default();
        let read = || -> Result<ListedCall, (usize, &str)> {
            let count = |column: usize, expected| cell(column).parse::<u32>().map_err(|_error| (column, expected));
            let nodes = count(1, "is no number of nodes")?;
            let ranks = count(2, "is no number of ranks")?;
            Ok(ListedCall {
                collective: Collective::parse(cell(0)).ok_or((0, "is no collective that is known"))?,
                scale: Scale::new(nodes, ranks).ok_or((2, "is not at least one rank for each node"))?,
                size_bytes: cell(3).parse::<Size>().map_err(|_error| (3, Size::EXPECTED))?.0,
                calls: match cell(4) {
                    "" => 1,
                    calls => calls.parse().map_err(|_error| (4, "is no number of calls"))?,
                },
                data_type: match cell(5) {
                    "" => None,
                    name => Some(DataType::parse(name).ok_or((5, "is no data type that is known"))?),
                },
                is_sum: match cell(6) {
                    // What nccl-tests has for a collective that computes nothing.
                    "" => None,
                    none if none.eq_ignore_ascii_case("none") => None,
                    name => Some(is_sum(name).ok_or((6, "is no operation that is known"))?),
                },
                place: Some(place),
            })
        };
        match read() {
            Ok(call) => Some(call),
            Err((column, expected)) => {
                let expected = match expected {
                    Size::EXPECTED => format!("is not {expected}; the row was left out"),
                    _ => format!("{expected}; the row was left out"),
                };
                problems.push(Problem::new(place.line, COLUMNS[column].0[0], cell(column), expected));
                None
            }
        }
    }
}
