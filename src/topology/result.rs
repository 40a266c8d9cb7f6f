//! Result files: a schedule as CSV, in the four dialects that programs write.
//!
//! Metadata (`NPUs Count`, `Links Count`, `Chunks Count`, `Chunk Size`, `Collective Time`, `Synthesis Time`; of what is
//! no all_gather `Collective` and `Root`, which are ours), then a header `SrcID,DestID,Latency (ns),Bandwidth
//! (GB/s),<cells>`, then a row for each link with a cell for each transfer:
//!
//! | dialect | last header | cell |
//! |---|---|---|
//! | TACOS 1.1 | `Chunks` | `chunk`, or `None` |
//! | its fork | `Chunks (ID:ps)` | `chunk:end:start` in ps |
//! | the same, edited by hand | `Chunks (ID:ps)` | the same, with the time said to be in ns and being in ps |
//! | BEAN TACOS | `Chunks (ID:ns:ns)` | `chunk:start:end` in ns |

use std::collections::{BTreeSet, HashMap};

use super::{
    conditions::CollectiveRequest,
    model::{Topology, Unit},
    read::{Columns, ReadError, cells, lines},
    time::Clock,
};
use crate::{
    collective::Collective,
    schedule::{
        graph::Graph,
        plan::{Schedule, Transfer},
    },
    text::{Problem, excerpt, number, whole},
};

/// A transfer of a file: index of the link, chunk, and start and end in ns where the file has times.
pub type Row = (u32, u32, Option<(f64, f64)>);

/// The content of a result file.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultFile {
    /// The links that the file names.
    pub topology: Topology,
    /// The dialect's name for people.
    pub dialect: &'static str,
    /// Number of chunks: as the file says, or as many as it names.
    pub chunks: u32,
    /// Whether the file gives the number of chunks.
    pub says_chunks: bool,
    /// Size of a chunk in bytes, if the file gives it.
    pub chunk_bytes: Option<u64>,
    /// The collective time that the file claims, in ns.
    pub claimed_ns: Option<f64>,
    /// The collective, if the file gives it; the inner `None` stands for custom conditions.
    pub collective: Option<Option<Collective>>,
    /// The root, if the file gives it.
    pub root: Option<u32>,
    /// The transfers, link after link in the order of the file.
    pub transfers: Vec<Row>,
    /// What was assumed, a sentence each.
    pub notes: Vec<String>,
}

/// Whether a text begins like a result file.
pub fn is_result(text: &str) -> bool {
    lines(text).next().is_some_and(|(_, first)| {
        let first = first.to_ascii_lowercase();
        first.starts_with("npus count") || (first.starts_with("srcid,destid") && first.contains("chunks"))
    })
}

/// The tolerance between times of a file and those of the cost model: the rounding error, in ns.
const ROUNDING_NS: f64 = 0.0021;

/// Reads a result file.
///
/// # Errors
/// Returns a [`ReadError`] with all problems and their places.
pub fn read(text: &str, name: &str, unit: Unit) -> Result<ResultFile, ReadError> {
    let one = |problem: Problem| ReadError(vec![problem]);
    let mut lines = lines(text);
    let (mut nodes, mut links_said, mut chunks, mut chunk_bytes, mut claimed) = (None, None, None, None, None);
    let (mut collective, mut root) = (None, None);
    let mut notes = Vec::new();
    let mut last_line = 1;
    let (header_line, header) = loop {
        let Some((line, row)) = lines.next() else {
            return Err(one(Problem::new(
                last_line,
                "",
                "",
                "ends before the header SrcID,DestID,Latency (ns),Bandwidth (GB/s),…",
            )));
        };
        last_line = line;
        let row = cells(row);
        let value = row.get(1).copied().unwrap_or_default();
        let count = || match whole(value).and_then(|count| u32::try_from(count).ok()) {
            Some(count) => Ok(count),
            None => Err(one(Problem::new(line, row[0], value, "is not a whole number"))),
        };
        match row[0].to_ascii_lowercase().as_str() {
            "npus count" => nodes = Some(count()?),
            "links count" => links_said = Some(count()?),
            "chunks count" => chunks = Some(count()?),
            "chunk size" => {
                let size = number(value).filter(|size| *size > 0.0);
                chunk_bytes =
                    Some(size.ok_or_else(|| one(Problem::new(line, "Chunk Size", value, "is no size in bytes")))?);
            }
            "collective time" => {
                let time = number(value)
                    .ok_or_else(|| one(Problem::new(line, "Collective Time", value, "is not a number")))?;
                claimed = Some((time, row.get(2).copied().unwrap_or("ns").to_ascii_lowercase()));
            }
            "collective" if value.eq_ignore_ascii_case("custom") => collective = Some(None),
            "collective" => {
                let known = Collective::parse(value)
                    .ok_or_else(|| one(Problem::new(line, "Collective", value, "is no collective")))?;
                collective = Some(Some(known));
            }
            "root" => root = Some(count()?),
            _ if Columns::of(&row).is_some() => break (line, row),
            _ if whole(row[0]).is_some() => {
                return Err(one(Problem::new(
                    line,
                    "",
                    &row.join(","),
                    "is a link before the header that names the columns",
                )));
            }
            "synthesis time" => {}
            _ => notes.push(format!("line {line}: \"{}\" is not used", excerpt(row[0]))),
        }
    };
    let columns = Columns::of(&header).unwrap_or(Columns::BY_PLACE);
    if let Some(problem) = columns.problem(&header, header_line) {
        return Err(one(problem));
    }
    let unit = columns.unit(unit, header_line, &mut notes);
    let first_cell = [columns.from, columns.to, columns.latency, columns.bandwidth].into_iter().max().unwrap_or(3) + 1;
    let last = header.get(first_cell).copied().unwrap_or("Chunks").replace(' ', "").to_ascii_lowercase();
    let (times_in_ns, mut dialect) = match last.as_str() {
        "chunks(id:ps)" => (Some(1e-3), "chunk:end:start in ps"),
        "chunks(id:ns:ns)" => (Some(1.0), "chunk:start:end in ns"),
        "chunks" => (None, "chunks without times"),
        _ => {
            let expected = "names no dialect: Chunks, Chunks (ID:ps) or Chunks (ID:ns:ns)";
            return Err(one(Problem::new(
                header_line,
                "",
                header.get(first_cell).copied().unwrap_or_default(),
                expected,
            )));
        }
    };
    let mut file = ResultFile {
        topology: Topology { name: name.to_owned(), unit, ..Topology::default() },
        dialect,
        chunks: chunks.unwrap_or(0),
        says_chunks: chunks.is_some(),
        chunk_bytes: chunk_bytes.map(|bytes| bytes.round() as u64).filter(|bytes| *bytes > 0),
        claimed_ns: None,
        collective,
        root,
        transfers: Vec::new(),
        notes,
    };
    if let Some(bytes) = chunk_bytes.filter(|bytes| bytes.fract() != 0.0) {
        file.notes.push(format!(
            "A chunk of {bytes} bytes is no whole number of bytes; {} was taken",
            bytes.round().max(1.0)
        ));
    }
    let mut problems = Vec::new();
    for (line, row) in lines {
        let row = cells(row);
        let Some(link) = columns.link(&row, line, nodes, &mut problems) else { continue };
        let index = file.topology.links.len() as u32;
        file.topology.links.push(link);
        for cell in row.iter().skip(first_cell).filter(|cell| !cell.is_empty() && !cell.eq_ignore_ascii_case("none")) {
            match transfer(cell, times_in_ns) {
                Some((chunk, _)) if chunks.is_some_and(|chunks| chunk >= chunks) => {
                    let chunks = chunks.unwrap_or(0);
                    problems.push(Problem::new(
                        line,
                        "Chunks",
                        cell,
                        format!("is about a chunk that is not there: there are {chunks}"),
                    ));
                }
                Some((chunk, times)) => {
                    file.chunks = file.chunks.max(chunk + 1);
                    file.transfers.push((index, chunk, times));
                }
                None => {
                    let expected =
                        if times_in_ns.is_some() { "is not chunk:time:time" } else { "is not the number of a chunk" };
                    problems.push(Problem::new(line, "Chunks", cell, expected));
                }
            }
        }
        if problems.len() > 100 {
            break;
        }
    }
    let links = file.topology.links.len();
    if let Some(said) = links_said.filter(|said| *said as usize != links && problems.is_empty()) {
        problems.push(Problem::new(
            last_line,
            "Links Count",
            &said.to_string(),
            format!("links are announced, and {links} follow"),
        ));
    }
    if !problems.is_empty() {
        return Err(ReadError(problems));
    }
    let seen = file.topology.links.iter().map(|link| link.from.max(link.to) + 1).max().unwrap_or(0);
    file.topology.nodes = nodes.unwrap_or(seen);
    file.claimed_ns = claimed.map(|(time, said)| {
        let last = file.transfers.iter().filter_map(|(_, _, times)| Some((*times)?.1)).fold(0.0, f64::max);
        match said.as_str() {
            "ps" => time / 1e3,
            "us" => time * 1e3,
            // The sample in TACOS's README labels a time in ps as ns.
            "ns" if times_in_ns == Some(1e-3) && (time / 1e3 - last).abs() <= 1.0 => {
                dialect = "chunk:end:start in ps, its time in ps called ns";
                file.notes.push(format!(
                    "line {header_line} and before: the collective time is said to be in ns and is in ps"
                ));
                time / 1e3
            }
            _ => time,
        }
    });
    file.dialect = dialect;
    Ok(file)
}

/// Parses a cell `chunk` or `chunk:time:time`; the earlier time is the start.
fn transfer(cell: &str, times_in_ns: Option<f64>) -> Option<(u32, Option<(f64, f64)>)> {
    let mut parts = cell.split(':');
    let chunk = whole(parts.next()?).and_then(|chunk| u32::try_from(chunk).ok()).filter(|chunk| *chunk < 1 << 28)?;
    let times = match times_in_ns {
        None => None,
        Some(unit) => {
            let a = number(parts.next()?).filter(|time| *time >= 0.0)? * unit;
            let b = number(parts.next()?).filter(|time| *time >= 0.0)? * unit;
            Some((a.min(b), a.max(b)))
        }
    };
    parts.next().is_none().then_some((chunk, times))
}

impl ResultFile {
    /// The schedule on a graph, whose links are found by their ends, with messages about transfers that do not fit.
    pub fn schedule(&self, topology: &Topology, graph: &Graph, clock: &Clock) -> (Schedule, Vec<String>) {
        let mut wrong = Vec::new();
        let mut transfers = Vec::with_capacity(self.transfers.len());
        let mut unknown = BTreeSet::new();
        let place: HashMap<(u32, u32), u32> =
            (0..).zip(graph.links()).map(|(index, link)| ((link.from, link.to), index)).collect();
        let mut off = 0_u64;
        let mut example = None;
        let mut is_rounded = false;
        for &(link, chunk, times) in &self.transfers {
            let of = self.topology.links[link as usize];
            let Some(&link) = place.get(&(of.from, of.to)) else {
                unknown.insert((of.from, of.to));
                continue;
            };
            let Some((start, end)) = times else {
                transfers.push(Transfer { link, chunk, start: 0 });
                continue;
            };
            let duration = clock.ns(graph.links()[link as usize].duration);
            if (end - start - duration).abs() > ROUNDING_NS {
                off += 1;
                example.get_or_insert((of.from, of.to, chunk, end - start, duration));
            }
            let ticks = clock.ticks(start);
            is_rounded |= clock.ns(ticks) != start;
            transfers.push(Transfer { link, chunk, start: ticks });
        }
        for (from, to) in unknown.iter().take(5) {
            wrong.push(format!(
                "the result uses a link from {from} to {to}, which the graph has not: is it of another graph?"
            ));
        }
        if self.topology.nodes != topology.nodes {
            wrong.push(format!("the result is of {} nodes, and the graph has {}", self.topology.nodes, topology.nodes));
        }
        if let Some((from, to, chunk, takes, should)) = example {
            wrong.push(format!(
                "{off} transfers do not take as long as their links do: chunk {chunk} from {from} to {to} takes {takes} ns instead of {should}"
            ));
        }
        // Starts that are whole ticks, as in files that this program wrote, mean what they say: one that is moved to a
        // neighbour's end could come after a transfer that waits for it.
        if is_rounded {
            snap(&mut transfers, graph, clock);
        }
        (Schedule { transfers, reducing: 0 }, wrong)
    }

    /// Whether the file has the times of its transfers; otherwise only their order.
    pub fn has_times(&self) -> bool {
        self.transfers.iter().all(|(_, _, times)| times.is_some())
    }
}

/// Undoes the rounding of a file to ps: a start close to the end of a preceding transfer is set to that end.
fn snap(transfers: &mut [Transfer], graph: &Graph, clock: &Clock) {
    let near = clock.ticks(ROUNDING_NS).max(1) * 4;
    transfers.sort_by_cached_key(|transfer| transfer.start);
    let mut ends = BTreeSet::from([0]);
    for transfer in transfers {
        let close = |end: &&u64| end.abs_diff(transfer.start) <= near;
        let (before, after) = (ends.range(..transfer.start).next_back(), ends.range(transfer.start..).next());
        if let Some(end) = after.filter(close).or(before.filter(close)) {
            transfer.start = *end;
        }
        ends.insert(transfer.end(graph));
    }
}

/// Writes a result file in the dialect `chunk:start:end` with times in ns.
pub fn write(
    topology: &Topology,
    graph: &Graph,
    schedule: &Schedule,
    clock: &Clock,
    chunks: usize,
    request: &CollectiveRequest,
) -> String {
    let mut by_link: Vec<Vec<&Transfer>> = vec![Vec::new(); graph.links().len()];
    schedule.transfers.iter().for_each(|transfer| by_link[transfer.link as usize].push(transfer));
    let mut text = format!(
        "NPUs Count,{}\nLinks Count,{}\nChunks Count,{chunks}\nChunk Size,{}\nCollective Time,{},ns\n",
        topology.nodes,
        topology.links.len(),
        request.chunk_bytes,
        clock.ns(schedule.end(graph))
    );
    // Other programs support no other collective and do not know these rows.
    if request.collective != Some(Collective::AllGather) {
        text += &format!("Collective,{}\n", request.key());
        if request.collective.is_some_and(Collective::has_root) {
            text += &format!("Root,{}\n", request.root);
        }
    }
    text += &format!("SrcID,DestID,Latency (ns),{},Chunks (ID:ns:ns)\n", topology.unit.header());
    for (link, transfers) in topology.links.iter().zip(&mut by_link) {
        transfers.sort_by_cached_key(|transfer| transfer.start);
        text += &format!("{},{},{},{}", link.from, link.to, link.latency_ns, link.bandwidth);
        for transfer in transfers.iter() {
            text += &format!(",{}:{}:{}", transfer.chunk, clock.ns(transfer.start), clock.ns(transfer.end(graph)));
        }
        text.push('\n');
    }
    text
}

/// A file name for an export, without path separators and special characters.
pub fn file_name(topology: &Topology, what: &str, extension: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' };
    let name: String = excerpt(&topology.name).chars().map(plain).collect();
    format!("{}_{what}.{extension}", name.trim_matches('_'))
}
