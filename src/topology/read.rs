//! Reads topologies as CSV: the number of nodes, a header, and a line for each link in one direction.

use super::model::{Link, Topology, Unit, link_problem};
use crate::{
    schedule::graph,
    text::{Problem, excerpt, number, whole},
};

/// What a reader assumes that the file does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The unit of bandwidths, where the file does not say it.
    pub unit: Unit,
    /// Whether parallel links are merged into one with the sum of their bandwidths; otherwise they are an error.
    pub merge: bool,
}

/// The result of reading a topology.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The graph that was read, which is valid.
    pub topology: Topology,
    /// What was assumed or merged, a sentence each.
    pub notes: Vec<String>,
}

/// Why a topology could not be read: one or more problems, each with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(pub Vec<Problem>);

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const MAX_NAMED: usize = 3;
        for (index, problem) in self.0.iter().take(MAX_NAMED).enumerate() {
            write!(f, "{}{problem}", if index > 0 { "; " } else { "" })?;
        }
        match self.0.len().saturating_sub(MAX_NAMED) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl std::error::Error for ReadError {}

/// The most problems that are reported.
const MOST: usize = 100;
/// The most links of a file.
const MOST_LINKS: usize = 4_000_000;

/// The positions of the columns.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) latency: usize,
    pub(super) bandwidth: usize,
    /// The file's unit of latency, in ns.
    pub(super) latency_unit_ns: f64,
    /// The unit of bandwidths by the header; `None` for `GB/s`, which is written for both units.
    pub(super) unit: Option<Unit>,
    /// The header calls the bandwidth beta.
    is_beta: bool,
    /// The position of a column whose unit is not supported.
    pub(super) unread: Option<usize>,
}

/// The cells of a line, separated by commas, tabs or semicolons.
pub(super) fn cells(line: &str) -> Vec<&str> {
    let separator = [',', '\t', ';'].into_iter().find(|separator| line.contains(*separator)).unwrap_or(',');
    line.split(separator).map(|cell| cell.trim().trim_matches('"').trim()).collect()
}

/// The unit in the name of a column, without blanks: in parentheses or brackets, or behind the last blank or underscore
/// where it looks like one, such as `Latency (us)`, `latency_us` or `Bandwidth [GB/s]`; empty without any.
fn unit_of(name: &str) -> String {
    let is_blank = |c: char| c.is_whitespace();
    if let Some((_, unit)) = name.split_once(['(', '[']) {
        return unit.replace([')', ']'], "").replace(is_blank, "");
    }
    let Some((_, last)) = name.trim().rsplit_once(|c: char| c == '_' || c.is_whitespace()) else {
        return String::new();
    };
    let lower = last.to_ascii_lowercase();
    let is_time = matches!(lower.as_str(), "ps" | "ns" | "us" | "µs" | "μs" | "ms" | "s" | "sec" | "seconds");
    let is_rate = lower.contains('b') && ["ps", "/s", "bs"].iter().any(|end| lower.ends_with(end));
    if is_time || is_rate { last.to_owned() } else { String::new() }
}

/// The lines that are neither blank nor comments, with their numbers from 1.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let numbered = (1_u64..).zip(text.trim_start_matches('\u{feff}').lines());
    numbered.map(|(number, line)| (number, line.trim())).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

impl Columns {
    pub(super) const BY_PLACE: Self = Self {
        from: 0,
        to: 1,
        latency: 2,
        bandwidth: 3,
        latency_unit_ns: 1.0,
        unit: None,
        is_beta: false,
        unread: None,
    };

    /// The columns by the names in a header; `None` if a column is missing.
    pub(super) fn of(header: &[&str]) -> Option<Self> {
        let plain =
            |cell: &str| cell.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        let names: Vec<String> = header.iter().map(|cell| plain(cell)).collect();
        let find = |wanted: &[&str]| names.iter().position(|name| wanted.contains(&name.as_str()));
        let begins = |wanted: &str| names.iter().position(|name| name.starts_with(wanted));
        let latency = begins("latency").or_else(|| begins("alpha"))?;
        let bandwidth = begins("bandwidth").or_else(|| find(&["bw", "bwgbs", "beta"]))?;
        let latency_unit = match unit_of(header[latency]).to_ascii_lowercase().as_str() {
            "ps" => Some(1e-3),
            "us" | "µs" | "μs" => Some(1e3),
            "ms" => Some(1e6),
            "s" => Some(1e9),
            "" | "ns" => Some(1.0),
            _ => None,
        };
        // Bits are no bytes: the case of the letter counts, unless there is none in the whole name.
        let unit = match unit_of(header[bandwidth]).as_str() {
            "" | "GB/s" | "GBps" | "GBs" => Some(None),
            "gb/s" | "gbs" if header[bandwidth].chars().all(|c| !c.is_ascii_uppercase()) => Some(None),
            "GiB/s" | "gib/s" | "GiBps" => Some(Some(Unit::Gib)),
            "10^9B/s" | "10^9b/s" | "1e9B/s" | "1e9b/s" => Some(Some(Unit::Gb)),
            _ => None,
        };
        let unread = if latency_unit.is_none() { Some(latency) } else { Some(bandwidth).filter(|_| unit.is_none()) };
        Some(Self {
            from: find(&["src", "srcid", "source", "sourceid", "from"])?,
            to: find(&["dest", "destid", "dst", "dstid", "destination", "to", "target"])?,
            latency,
            bandwidth,
            latency_unit_ns: latency_unit.unwrap_or(1.0),
            unit: unit.flatten(),
            is_beta: names[bandwidth] == "beta",
            unread,
        })
    }

    /// The problem with a unit of the header, if there is one.
    pub(super) fn problem(&self, header: &[&str], line: u64) -> Option<Problem> {
        let cell = header.get(self.unread?).copied().unwrap_or_default();
        let expected = "has a unit that is not read: latencies are in ns, us, ms, s or ps, bandwidths in GB/s (2^30 bytes per second, \
                        or 10^9 where that is chosen), GiB/s or 10^9 B/s";
        Some(Problem::new(line, "", cell, expected))
    }

    /// The unit of bandwidths: that of the header, else the chosen one. A note says where the header overrules the
    /// choice.
    pub(super) fn unit(&self, chosen: Unit, line: u64, notes: &mut Vec<String>) -> Unit {
        if let Some(unit) = self.unit.filter(|unit| *unit != chosen && chosen != Unit::default()) {
            notes.push(format!("line {line}: the header says that bandwidths are in {}, and that counts", unit.name()));
        }
        if self.is_beta {
            // The usual model of a link calls its time per byte beta.
            notes.push(format!("line {line}: beta is read as a bandwidth in GB/s, not as a time per byte"));
        }
        self.unit.unwrap_or(chosen)
    }

    /// The link of a line, or the problem of the line. `nodes` is `None` in files that do not give the number of nodes.
    pub(super) fn link(
        &self,
        cells: &[&str],
        line: u64,
        nodes: Option<u32>,
        problems: &mut Vec<Problem>,
    ) -> Option<Link> {
        let before = problems.len();
        let mut cell = |place: usize, name: &str| {
            let cell = cells.get(place).copied().unwrap_or_default();
            if cell.is_empty() {
                problems.push(Problem::new(
                    line,
                    name,
                    cell,
                    "is missing: a link has two nodes, a latency and a bandwidth",
                ));
            }
            cell
        };
        let texts = [
            cell(self.from, "Src"),
            cell(self.to, "Dest"),
            cell(self.latency, "Latency (ns)"),
            cell(self.bandwidth, "Bandwidth (GB/s)"),
        ];
        if problems.len() > before {
            return None;
        }
        let most = nodes.unwrap_or(graph::MAX_NODES as u32);
        let mut node = |text: &str, name: &str| match whole(text) {
            Some(id) if id >= 0 && id < i64::from(most) => id as u32,
            Some(_) => {
                let expected = match nodes {
                    Some(0) | None => "is no node: nodes are numbered from 0".to_owned(),
                    Some(nodes) => format!("is no node: there are {nodes}, numbered 0 to {}", nodes - 1),
                };
                problems.push(Problem::new(line, name, text, expected));
                0
            }
            None => {
                problems.push(Problem::new(line, name, text, "is not a whole number"));
                0
            }
        };
        let (from, to) = (node(texts[0], "Src"), node(texts[1], "Dest"));
        let is_infinite = |text: &str| ["inf", "+inf", "infinity"].iter().any(|word| text.eq_ignore_ascii_case(word));
        let bandwidth = if is_infinite(texts[3]) { Some(f64::INFINITY) } else { number(texts[3]) };
        let latency = number(texts[2]);
        if latency.is_none() {
            problems.push(Problem::new(line, "Latency (ns)", texts[2], "is not a number"));
        }
        if bandwidth.is_none() {
            problems.push(Problem::new(line, "Bandwidth (GB/s)", texts[3], "is not a number"));
        }
        if problems.len() > before {
            return None;
        }
        let link = Link { from, to, latency_ns: latency? * self.latency_unit_ns, bandwidth: bandwidth? };
        if let Some(why) = link_problem(&link, most) {
            let (column, text) = match why {
                why if why.contains("latency is") => ("Latency (ns)", texts[2].to_owned()),
                why if why.contains("bandwidth is") => ("Bandwidth (GB/s)", texts[3].to_owned()),
                _ => ("", cells.join(",")),
            };
            problems.push(Problem::new(line, column, &text, format!("can't be used: {why}")));
            return None;
        }
        Some(link)
    }
}

/// Whether a text begins like a topology.
pub fn is_topology(text: &str) -> bool {
    let mut lines = lines(text);
    let Some((_, first)) = lines.next() else { return false };
    if Columns::of(&cells(first)).is_some() {
        return true;
    }
    // A header below a line with too few or too many words still counts: the reader reports that line.
    lines.next().is_some_and(|(_, second)| {
        Columns::of(&cells(second)).is_some()
            || (whole(first).is_some()
                && cells(second).len() == 4
                && cells(second).iter().all(|cell| number(cell).is_some()))
    })
}

/// Reads a topology.
///
/// # Errors
/// Returns a [`ReadError`] with all problems and their places. No faulty link is skipped, because the schedules would
/// change.
pub fn read(text: &str, name: &str, options: Options) -> Result<Reading, ReadError> {
    let mut lines = lines(text).peekable();
    let mut problems = Vec::new();
    let mut notes = Vec::new();
    let Some((line, first)) = lines.next() else {
        return Err(ReadError(vec![Problem::new(1, "", "", "is empty: the number of nodes was expected")]));
    };
    let nodes = match whole(cells(first)[0]) {
        Some(nodes) if cells(first).iter().skip(1).all(|cell| cell.is_empty()) => {
            if !(1..=graph::MAX_NODES as i64).contains(&nodes) {
                let expected = format!("is no number of nodes that can be handled: 1 to {} can", graph::MAX_NODES);
                return Err(ReadError(vec![Problem::new(line, "", first, expected)]));
            }
            nodes as u32
        }
        _ => {
            let expected = "is not the number of nodes, which stands alone in the first line";
            return Err(ReadError(vec![Problem::new(line, "", first, expected)]));
        }
    };
    let mut columns = Columns::BY_PLACE;
    let (mut unit, mut width) = (options.unit, 4);
    if let Some((line, header)) = lines.peek().copied()
        && cells(header).iter().any(|cell| number(cell).is_none())
        && cells(header).first().is_some_and(|cell| number(cell).is_none())
    {
        lines.next();
        match Columns::of(&cells(header)) {
            Some(named) => {
                columns = named;
                if let Some(problem) = columns.problem(&cells(header), line) {
                    return Err(ReadError(vec![problem]));
                }
                unit = columns.unit(options.unit, line, &mut notes);
                width = cells(header).len();
                let used = [columns.from, columns.to, columns.latency, columns.bandwidth];
                let unused = cells(header).into_iter().enumerate().filter(|(place, cell)| !used.contains(place) && !cell.is_empty());
                let unused: Vec<&str> = unused.map(|(_, cell)| cell).collect();
                if !unused.is_empty() {
                    let names = excerpt(&unused.join(", "));
                    notes.push(format!("line {line}: of a link two nodes, latency and bandwidth are used, not {names}"));
                }
            }
            None => notes.push(format!(
                "line {line}: the header \"{}\" names other columns; they were taken in the order Src, Dest, Latency (ns), Bandwidth (GB/s)",
                excerpt(header)
            )),
        }
    } else {
        notes.push(
            "There is no header; columns were taken in the order Src, Dest, Latency (ns), Bandwidth (GB/s)".to_owned(),
        );
    }
    let mut links: Vec<Link> = Vec::new();
    let mut known: std::collections::HashMap<(u32, u32), (usize, u64)> = std::collections::HashMap::new();
    let mut merged = 0;
    for (line, row) in lines {
        if problems.len() >= MOST || links.len() >= MOST_LINKS {
            break;
        }
        let own = cells(row);
        if own.iter().skip(width).any(|cell| !cell.is_empty()) {
            let expected = format!("has {} cells, and a link has {width} here", own.len());
            problems.push(Problem::new(line, "", row, expected));
            continue;
        }
        let Some(link) = columns.link(&own, line, Some(nodes), &mut problems) else { continue };
        match known.get(&(link.from, link.to)) {
            Some((at, _)) if options.merge => {
                let other = &mut links[*at];
                other.bandwidth += link.bandwidth;
                other.latency_ns = other.latency_ns.max(link.latency_ns);
                merged += 1;
            }
            Some((_, first)) => {
                let expected = format!(
                    "is a second link from {} to {}, as line {first}; give one with the bandwidth of both, or let them be merged",
                    link.from, link.to
                );
                problems.push(Problem::new(line, "", row, expected));
            }
            None => {
                known.insert((link.from, link.to), (links.len(), line));
                links.push(link);
            }
        }
    }
    if links.is_empty() && problems.is_empty() {
        problems.push(Problem::new(line, "", first, "is followed by no link"));
    }
    if !problems.is_empty() {
        return Err(ReadError(problems));
    }
    if merged > 0 {
        notes.push(format!("{merged} links beside others were merged with them: their bandwidths add up"));
    }
    let topology = Topology { name: name.to_owned(), nodes, links, unit, labels: Vec::new(), shape: None };
    notes.extend(topology.notes());
    Ok(Reading { topology, notes })
}
