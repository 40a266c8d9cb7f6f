//! Graphs of a debug log (`NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH`).
//!
//! ```text
//! host:1:9 [0] NCCL INFO NCCL version 2.27.5+cuda12.9
//! host:1:9 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 8, bw 48.000000/48.000000, type NVL/PXN, sameChannels 1
//! host:1:9 [0] NCCL INFO comm 0x55 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0
//! ```

use std::collections::BTreeSet;

use super::graphs::{Graph, Graphs};
use crate::{collective::Scale, conf::machine::Version};

/// What a debug log says of the communicators that it shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedGraphs {
    /// The graphs; `None` where one of rings or trees is missing.
    pub graphs: Option<Graphs>,
    /// The version of NCCL; of several that are printed, the last.
    pub version: Option<Version>,
    /// The nodes and ranks of the communicator with the most ranks.
    pub scale: Option<Scale>,
    /// It is RCCL's, whose model is another.
    pub is_rccl: bool,
    /// What takes choices away from the model: variables as `NAME=VALUE`, and tuners that were loaded.
    pub displaced_by: BTreeSet<String>,
}

/// The variables by which a job takes choices away from the model.
const DISPLACING: [&str; 11] = [
    "NCCL_ALGO",
    "NCCL_PROTO",
    "NCCL_TUNER_PLUGIN",
    "NCCL_TUNER_CONFIG_FILE",
    "NCCL_NTHREADS",
    "NCCL_LL128_NTHREADS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_CTAS",
    "NCCL_MAX_CTAS",
    "NCCL_NVLS_ENABLE",
];

/// What a line shows to take choices away from the model.
fn displacing(message: &str) -> Option<String> {
    let until_end = |text: &str| text.trim().trim_end_matches('.').to_owned();
    if let Some((name, value)) = message.split_once(" set by environment to ") {
        let name = name.rsplit(' ').next().filter(|name| DISPLACING.contains(name))?;
        return Some(format!("{name}={}", until_end(value)));
    }
    let loaded = ["Using tuner plugin ", "TUNER/Plugin: Using ", "Successfully loaded external tuner plugin "];
    let (_, name) = loaded.iter().find_map(|words| message.split_once(words))?;
    Some(format!("the tuner {}", until_end(name)))
}

/// Reads logs of one job.
///
/// # Errors
/// When two of them are of different jobs: of other releases, or with another largest communicator. Logs in which
/// nothing of the job was found are returned by name, beside what the others say.
pub fn read_logs<'a>(logs: &[(&'a str, String)]) -> Result<(LoggedGraphs, Vec<&'a str>), DifferentJobs> {
    let mut known: Vec<(&str, LoggedGraphs)> = Vec::new();
    let mut unused = Vec::new();
    for (name, text) in logs {
        let logged = read_log(text);
        if logged == LoggedGraphs::default() {
            unused.push(*name);
            continue;
        }
        for (earlier, of) in &known {
            let version = of.version.zip(logged.version).filter(|(one, other)| one != other);
            let scale = of.scale.zip(logged.scale).filter(|(one, other)| one != other);
            let both = version.map(|(one, other)| (format!("NCCL {one}"), format!("NCCL {other}")));
            if let Some((one, other)) = both.or_else(|| scale.map(|(one, other)| (one.to_string(), other.to_string())))
            {
                return Err(DifferentJobs { one: ((*earlier).to_owned(), one), other: ((*name).to_owned(), other) });
            }
        }
        known.push((name, logged));
    }
    // Ranks agree over all files: their lines are read as those of one log.
    let texts: Vec<&str> = logs.iter().map(|(_, text)| text.as_str()).collect();
    Ok((read_log(&texts.join("\n")), unused))
}

/// Logs that can't be of one job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is of {}, {} of {}: give the logs of one job", one.0, one.1, other.0, other.1)]
pub struct DifferentJobs {
    /// The name of a log, and what it is of.
    pub one: (String, String),
    /// Those of the log that contradicts it.
    pub other: (String, String),
}

/// Reads a log. Ranks print their graphs before they agree on the fewest channels, the least bandwidth and the longest
/// paths; of several communicators, those that each rank prints first count.
pub fn read_log(text: &str) -> LoggedGraphs {
    let mut found = LoggedGraphs::default();
    let mut seen: BTreeSet<(&str, u32)> = BTreeSet::new();
    let (mut ring, mut tree, mut nvls) = (None, None, None);
    for line in text.lines() {
        let Some((rank, message)) = line.split_once("NCCL INFO ") else { continue };
        if message.contains("RCCL version") {
            found.is_rccl = true;
        } else if let Some((_, version)) = message.split_once("NCCL version ") {
            found.version = version.split_whitespace().next().and_then(|word| word.parse().ok()).or(found.version);
        }
        found.displaced_by.extend(displacing(message));
        if let (Some(ranks), Some(nodes)) = (number_after(message, "nRanks "), number_after(message, "nNodes ")) {
            let scale = Scale { nodes, ranks };
            found.scale = found.scale.filter(|known| known.ranks >= ranks).or(Some(scale));
        }
        let Some((pattern, graph)) = pattern(message) else { continue };
        if !seen.insert((rank, pattern)) {
            continue;
        }
        let slot = match pattern {
            1..=3 => &mut tree,
            4 => &mut ring,
            5 => &mut nvls,
            _ => continue,
        };
        *slot = Some(slot.map_or(graph, |known| agreed(known, graph)));
    }
    found.graphs = ring.zip(tree).map(|(ring, tree): (Graph, Graph)| {
        let channels = ring.channels.min(tree.channels);
        Graphs { ring: Graph { channels, ..ring }, tree: Graph { channels, ..tree }, nvls }
    });
    found
}

fn agreed(a: Graph, b: Graph) -> Graph {
    Graph {
        channels: a.channels.min(b.channels),
        intra_gbps: a.intra_gbps.min(b.intra_gbps),
        inter_gbps: a.inter_gbps.min(b.inter_gbps),
        intra: a.intra.max(b.intra),
        inter: a.inter.max(b.inter),
        is_plain_tree: a.is_plain_tree || b.is_plain_tree,
        is_same_channels: a.is_same_channels && b.is_same_channels,
    }
}

fn pattern(message: &str) -> Option<(u32, Graph)> {
    let pattern = number_after(message, "Pattern ")?;
    let channels = number_after(message, "nChannels ").filter(|channels| *channels > 0)?;
    let pair = |name: &str| {
        let (_, rest) = message.split_once(name)?;
        rest.split(',').next()?.trim().split_once('/')
    };
    let (intra_gbps, inter_gbps) = pair("bw ").or_else(|| pair("speed "))?;
    let (intra, inter) = pair("type ")?;
    let gbps = |text: &str| text.trim().parse().ok().filter(|gbps: &f64| gbps.is_finite() && *gbps > 0.0);
    let graph = Graph {
        channels,
        intra_gbps: gbps(intra_gbps)?,
        inter_gbps: gbps(inter_gbps)?,
        intra: intra.parse().ok()?,
        inter: inter.parse().ok()?,
        is_plain_tree: pattern == 3,
        is_same_channels: number_after(message, "sameChannels ") != Some(0),
    };
    Some((pattern, graph))
}

/// The whole number behind a word.
fn number_after(text: &str, word: &str) -> Option<u32> {
    let (_, rest) = text.split_once(word)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost_model::Path;

    #[test]
    fn ranks_agree_on_the_least_of_their_graphs() {
        let of_rank = |rank: u32, channels: u32, path: &str| {
            format!(
                "host:1:{rank} [{rank}] NCCL INFO Pattern 4, crossNic 0, nChannels {channels}, bw 48.0/48.0, type \
                 NVL/{path}, sameChannels 1\n\
                 host:1:{rank} [{rank}] NCCL INFO Pattern 3, crossNic 0, nChannels 8, bw 45.0/48.0, type NVL/PXN, \
                 sameChannels 1\n\
                 host:1:{rank} [{rank}] NCCL INFO comm 0x1 rank {rank} nRanks 16 nNodes 2 localRanks 8 localRank 0\n"
            )
        };
        let head = "host:1:0 [0] NCCL INFO NCCL version 2.27.5+cuda12.9\n";
        let text = format!("{head}{}{}", of_rank(0, 8, "PXN"), of_rank(1, 6, "PHB"));
        let found = read_log(&text);
        let graphs = found.graphs.unwrap();
        assert_eq!((graphs.ring.channels, graphs.tree.channels, graphs.nvls), (6, 6, None));
        assert_eq!((graphs.ring.inter, graphs.tree.inter), (Path::Phb, Path::Pxn));
        assert!(graphs.tree.is_plain_tree && !found.is_rccl);
        assert_eq!(found.version, Some(Version::release(2, 27, 5)));
        assert_eq!(found.scale, Some(Scale { nodes: 2, ranks: 16 }));
        // A communicator that is made later says nothing of the first.
        let later =
            "host:1:0 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 1, bw 3.0/3.0, type SYS/SYS, sameChannels 1";
        assert_eq!(read_log(&format!("{text}{later}")).graphs, Some(graphs));
        let one = ("a.log", text.clone());
        let (both, unused) = read_logs(&[one.clone(), ("b.log", text.clone()), ("conf", "no log".to_owned())]).unwrap();
        assert_eq!((both, unused), (found, vec!["conf"]));
        let larger = text.replace("nRanks 16 nNodes 2", "nRanks 32 nNodes 4");
        let said = "a.log is of 2 nodes, 16 ranks, b.log of 4 nodes, 32 ranks: give the logs of one job";
        assert_eq!(read_logs(&[one.clone(), ("b.log", larger)]).unwrap_err().to_string(), said);
        let newer = text.replace("2.27.5", "2.28.9");
        let said = "b.log is of NCCL 2.28.9, a.log of NCCL 2.27.5: give the logs of one job";
        assert_eq!(read_logs(&[("b.log", newer), one]).unwrap_err().to_string(), said);
        let line = |text: &str| read_log(&format!("host:1:0 [0] NCCL INFO {text}")).displaced_by;
        assert!(line("NCCL_ALGO set by environment to Ring.").contains("NCCL_ALGO=Ring"));
        assert!(line("TUNER/Plugin: Using example (v4)").contains("the tuner example (v4)"));
        assert!(line("NCCL_DEBUG set by environment to INFO").is_empty());
        for torn in ["Pattern 4, crossNic 0, nChannels 8, bw 48", "Pattern 4, nChannels 0, bw 1/1, type NVL/PXN", ""] {
            assert_eq!(read_log(&format!("host:1:0 [0] NCCL INFO {torn}")).graphs, None, "{torn}");
        }
    }
}
