//! The lines that the library prints with `NCCL_DEBUG=INFO`: calls, decisions, cost tables.
//!
//! Ranks that write to one file tear each other's lines at any byte. What is whole counts, what is torn is counted.

use std::{
    collections::BTreeSet,
    hash::{Hash, Hasher},
};

use fnv::FnvHasher;

use super::costs::CostReader;
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale},
    tuning::job::{CollectiveCall, JobLog, LibraryDecision},
};

const INFO: &str = "NCCL INFO ";
const CALL: &str = ": opCount ";
const DECISION: &str = " Bytes -> Algo ";

/// Collects what debug lines say.
#[derive(Debug, Default)]
pub(super) struct DebugReader {
    job: JobLog,
    costs: CostReader,
    /// The collective that was called last, since decisions of older versions don't name it.
    called: Option<Collective>,
    ranks: Option<u32>,
    /// The processes that told decisions, as [`process`] numbers them.
    pub(super) speakers: BTreeSet<u64>,
}

impl DebugReader {
    /// Takes a line. Decisions in it go to `decided` as well; those that don't name their collective are of `testing`.
    pub(super) fn line(&mut self, text: &str, testing: Option<Collective>, decided: &mut Vec<LibraryDecision>) {
        let mut pieces = text.split(INFO);
        // Before the first mark stands who speaks, or the rest of a torn line.
        let mut before = pieces.next().unwrap_or_default();
        self.job.torn_lines += u64::from(before.contains(DECISION) || before.contains(CALL));
        for piece in pieces {
            let speaker = before.split_ascii_whitespace().rev().find(|word| !word.starts_with('['));
            before = piece;
            if piece.contains(CALL) {
                match call(piece) {
                    Some(Some(call)) => {
                        self.called = Some(call.collective);
                        *self.job.calls.entry(call).or_default() += 1;
                    }
                    Some(None) => {}
                    None => self.job.torn_lines += 1,
                }
            } else if piece.contains(DECISION) {
                match decision(piece, testing.or(self.called)) {
                    Some(decision) => {
                        *self.job.decisions.entry(decision).or_default() += 1;
                        decided.push(decision);
                        self.speakers.extend(speaker.and_then(|word| {
                            let mut parts = word.split(':');
                            Some(process(parts.next()?, parts.next()?))
                        }));
                    }
                    None => self.job.torn_lines += 1,
                }
            } else if piece.contains('|') {
                self.job.torn_lines += u64::from(self.costs.line(piece, self.ranks).is_none());
            } else if let Some(ranks) = number_after(piece, "nranks").or_else(|| number_after(piece, "nRanks")) {
                self.ranks = u32::try_from(ranks).ok();
                self.job.scales.extend(scale(piece));
            }
        }
    }

    /// The contents of all lines that were read.
    pub(super) fn finish(self) -> JobLog {
        JobLog { costs: self.costs.finish(), ..self.job }
    }
}

/// A number that stands for a process on a host; the host's name is forgotten.
pub(super) fn process(host: &str, pid: &str) -> u64 {
    let mut hasher = FnvHasher::default();
    (host, pid).hash(&mut hasher);
    hasher.finish()
}

/// The number in the word after `key`.
pub(super) fn number_after(text: &str, key: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    words.find(|word| *word == key)?;
    words.next()?.parse().ok()
}

/// Nodes and ranks of `comm 0x… rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0`, where they can be.
fn scale(piece: &str) -> Option<Scale> {
    let number = |key| number_after(piece, key).and_then(|number| u32::try_from(number).ok());
    let (nodes, ranks) = (number("nNodes")?, number("nRanks").or_else(|| number("nranks"))?);
    Scale::new(nodes, ranks)
}

/// Reads `AllReduce: opCount 36 sendbuff … count 2 datatype 7 op 0 root 0 comm 0x… [nranks=8]`; `Some(None)` for one
/// that counts elsewhere: each `Send` has its `Recv`.
fn call(piece: &str) -> Option<Option<CollectiveCall>> {
    let (name, rest) = piece.split_once(CALL)?;
    let mut words = rest.split_ascii_whitespace();
    words.find(|word| *word == "count")?;
    let count: u64 = words.next()?.parse().ok()?;
    if words.next()? != "datatype" {
        return None;
    }
    let bytes = datatype_bytes(words.next()?.parse().ok()?)?;
    let ranks = words.find_map(|word| word.strip_prefix("[nranks=")?.strip_suffix(']'))?;
    let ranks: u32 = ranks.parse().ok().filter(|ranks| *ranks > 0)?;
    let collective = match name.trim() {
        "Send" => Collective::SendRecv,
        "Recv" => return Some(None),
        name => Collective::parse(name)?,
    };
    let size_bytes = count.checked_mul(bytes)?.checked_mul(larger_buffer(collective, ranks))?;
    Some(Some(CollectiveCall { collective, size_bytes, ranks: Some(ranks) }))
}

/// How many times the counted elements the larger buffer holds: where each rank gives or gets a part, the count is of
/// one part.
pub(super) fn larger_buffer(collective: Collective, ranks: u32) -> u64 {
    match collective {
        Collective::AllGather
        | Collective::ReduceScatter
        | Collective::AllToAll
        | Collective::Gather
        | Collective::Scatter => u64::from(ranks),
        _ => 1,
    }
}

/// Bytes of NCCL's data types by code (`ncclDataType_t`).
fn datatype_bytes(code: u32) -> Option<u64> {
    Some(match code {
        0 | 1 | 10 | 11 => 1,
        6 | 9 => 2,
        2 | 3 | 7 => 4,
        4 | 5 | 8 => 8,
        _ => return None,
    })
}

/// Reads `AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..23}` and the older
/// `1048576 Bytes -> Algo 1 proto 2 time 43.5`.
fn decision(piece: &str, called: Option<Collective>) -> Option<LibraryDecision> {
    let (left, right) = piece.split_once(DECISION)?;
    let (name, size) = match left.rsplit_once(' ') {
        Some((name, size)) => (name.trim().trim_end_matches(':'), size),
        None => ("", left),
    };
    let size_bytes = size.parse().ok()?;
    let collective = if name.is_empty() { called } else { Collective::parse(name) }?;
    let mut words = right.split_ascii_whitespace();
    let algorithm = words.next()?;
    if words.next()? != "proto" {
        return None;
    }
    let protocol = words.next()?;
    let last = words.next()?;
    let channels = match last.strip_prefix("channel{Lo..Hi}={") {
        Some(range) => {
            let (low, high) = range.split_once('}')?.0.split_once("..")?;
            let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
            high.checked_sub(low)?.checked_add(1).filter(|n| *n <= 1024)?
        }
        None if last == "time" => words.next()?.parse::<f64>().map(|_| 0).ok()?,
        None => return None,
    };
    let algorithm = match algorithm.parse::<i8>() {
        Ok(code) => *Algorithm::ALL.iter().find(|a| a.code() == code && code >= 0)?,
        Err(_) => Algorithm::parse(algorithm)?,
    };
    let protocol = match protocol.parse::<i8>() {
        Ok(code) => *Protocol::ALL.iter().find(|p| p.code() == code)?,
        Err(_) => Protocol::parse(protocol)?,
    };
    Some(LibraryDecision { collective, size_bytes, configuration: Configuration { algorithm, protocol, channels } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> JobLog {
        let mut reader = DebugReader::default();
        for line in lines {
            reader.line(line, None, &mut Vec::new());
        }
        reader.finish()
    }

    const CALLED: &str = "n1:7:7 [3] NCCL INFO AllGather: opCount 2a sendbuff 0x7 recvbuff (nil) acc (nil) count 1024 \
                          datatype 9 op 0 root 0 comm 0x2f [nranks=16] stream 0x1 task 0 globalrank 3";
    const DECIDED: &str =
        "n1:7:7 [0] NCCL INFO AllReduce: 4194304 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={8..63}";

    #[test]
    fn calls_and_decisions() {
        let job = read(&[CALLED, DECIDED, CALLED]);
        let call = CollectiveCall { collective: Collective::AllGather, size_bytes: 1024 * 2 * 16, ranks: Some(16) };
        assert_eq!(job.calls.into_iter().collect::<Vec<_>>(), [(call, 2)]);
        let (decision, times) = job.decisions.into_iter().next().expect("one was printed");
        assert_eq!(decision.configuration.to_string(), "RING/LL128/56");
        assert_eq!((decision.size_bytes, times, job.torn_lines), (4 << 20, 1, 0));
    }

    #[test]
    fn communicators_say_their_nodes() {
        let line = "n1:7:7 [0] NCCL INFO comm 0x55 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL 0";
        let broken = "n1:7:7 [0] NCCL INFO comm 0x55 rank 0 nRanks 1 nNodes 2 localRanks 1 localRank 0 MNNVL 0";
        let scales = read(&[line, line, broken]).scales;
        assert_eq!(scales.into_iter().collect::<Vec<_>>(), [Scale { nodes: 2, ranks: 8 }]);
    }

    #[test]
    fn older_decisions_are_of_what_was_called() {
        let old = "n1:7:7 [0] NCCL INFO 65536 Bytes -> Algo 1 proto 2 time 43.500000";
        let job = read(&[CALLED, old]);
        let (decision, _) = job.decisions.into_iter().next().expect("one was printed");
        assert_eq!(
            (decision.collective, decision.configuration.to_string()),
            (Collective::AllGather, "RING/SIMPLE/0".into())
        );
        assert_eq!(read(&[old]).torn_lines, 1);
    }

    #[test]
    fn torn_lines_are_counted_and_whole_ones_read() {
        let torn = &CALLED[..CALLED.len() - 60];
        let job = read(&[&format!("{torn}{CALLED}"), &DECIDED[..DECIDED.len() - 1], &format!("{DECIDED} comm 0x1")]);
        assert_eq!((job.calls.values().sum::<u64>(), job.decisions.values().sum::<u64>(), job.torn_lines), (1, 1, 2));
    }
}
