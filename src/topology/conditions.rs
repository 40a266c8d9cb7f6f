//! Collectives as conditions: which nodes have each chunk before, and which must have it after.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    model::{Topology, TopologyError},
    time::Clock,
};
use crate::{
    collective::Collective,
    schedule::{
        demand::Demand,
        problem::{Phase, Problem},
    },
    units::{self, Size, grouped},
};

/// The collective for which a schedule is searched.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveRequest {
    /// The collective; `None` for custom conditions.
    pub collective: Option<Collective>,
    /// The root, for collectives that have one.
    pub root: u32,
    /// Size of a chunk in bytes.
    pub chunk_bytes: u64,
    /// Number of chunks per node. For a broadcast and a reduce, the number in all; for an alltoall, a scatter and a
    /// gather, the number per pair of sender and receiver.
    pub chunks: u32,
    /// Custom conditions. Shared, because they can be long.
    pub custom: Option<Arc<Custom>>,
}

impl Default for CollectiveRequest {
    fn default() -> Self {
        Self { collective: Some(Collective::AllGather), root: 0, chunk_bytes: 1 << 20, chunks: 1, custom: None }
    }
}

/// What each node has before and must have after, for a collective that has no name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Custom {
    /// The name of each chunk, in the order of `chunks`.
    pub names: Vec<String>,
    /// The nodes that have each chunk, and the nodes that must have it.
    pub chunks: Vec<(Vec<u32>, Vec<u32>)>,
}

/// Why a collective can't be scheduled on a topology.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RequestError {
    /// Returned when the topology breaks a rule of its own.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The root is not a node of the topology.
    #[error("there is no node {root} to be the root; there are {nodes}, numbered from 0")]
    Root {
        /// The node that was asked for as root.
        root: u32,
        /// The number of nodes, numbered from 0.
        nodes: u32,
    },
    /// No schedule is searched for this collective.
    #[error(
        "no schedule of {0} can be looked for; of all_gather, reduce_scatter, all_reduce, broadcast, reduce, scatter, gather and alltoall it can"
    )]
    Unknown(Collective),
    /// The size or the number of chunks is zero.
    #[error("a chunk has at least one byte, and there is at least one chunk")]
    Nothing,
    /// More than [`MOST_PAIRS`] pairs of a chunk and a node that wants it.
    #[error(
        "{} pairs of a chunk and a node are more than can be held (at most {}); take fewer chunks",
        grouped(*.0),
        grouped(MOST_PAIRS)
    )]
    TooMany(u64),
    /// More than `MOST_HELD` pairs of a chunk and any node.
    #[error(
        "{} chunks on {} nodes are more than can be held (at most {} pairs of a chunk and a node); take fewer chunks or nodes",
        grouped(*.0),
        grouped(*.1),
        grouped(MOST_HELD)
    )]
    TooManyHeld(u64, u64),
    /// At least this many transfers, more than `MOST_SENT`.
    #[error(
        "at least {} transfers are needed, more than can be held (at most {}); take fewer chunks",
        grouped(*.0),
        grouped(MOST_SENT)
    )]
    TooManySent(u64),
    /// More than `MOST_LOOKS` inspections of a link in the search for shortest paths.
    #[error(
        "ways from {} places over {} links take too long to look for (at most {} looks at a link); take a graph with fewer links or \
         nodes, or chunks from fewer nodes",
        grouped(*.0),
        grouped(*.1),
        grouped(MOST_LOOKS)
    )]
    TooManyWays(u64, u64),
    /// More than `MOST_SETS` pairs of a group of links and a chunk.
    #[error(
        "links of {} different durations and {} chunks are more than can be held (at most {} pairs of both); take fewer chunks, or \
         links that are alike",
        grouped(*.0),
        grouped(*.1),
        grouped(MOST_SETS)
    )]
    TooManySets(u64, u64),
    /// More than `MOST_CHOICES` pairs of a link and a chunk.
    #[error(
        "{} links and {} chunks are more than can be looked through in a moment (at most {} pairs of both); take fewer chunks, or a \
         graph with fewer links",
        grouped(*.0),
        grouped(*.1),
        grouped(MOST_CHOICES)
    )]
    TooManyChoices(u64, u64),
    /// The schedule could take longer than ticks can count.
    #[error(
        "{} transfers of up to {seconds:.0} s each take longer than is counted; take fewer or smaller chunks, or faster links",
        grouped(*transfers)
    )]
    TooLong {
        /// The most transfers in a row.
        transfers: u64,
        /// The duration of the slowest transfer.
        seconds: f64,
    },
    /// A chunk can't reach a node that wants it.
    #[error("chunk {chunk} can't come to node {node}: no way leads there from where it is")]
    NoWay {
        /// The index of the chunk, from 0.
        chunk: u32,
        /// The node that wants the chunk.
        node: u32,
    },
    /// The part that a node has of a chunk can't reach the node that adds them up.
    #[error("node {from}'s part of chunk {chunk} can't come to node {to}, which adds up: no way leads there")]
    NoWayOfPart {
        /// The index of the chunk, from 0.
        chunk: u32,
        /// The node that has the part.
        from: u32,
        /// The node that wants the sum.
        to: u32,
    },
    /// A chunk that no node has.
    #[error("nobody has chunk {0} before")]
    Nobody(String),
    /// The conditions name an unknown node.
    #[error("chunk {0} is about node {1}, and there is no such node")]
    NoNode(String, u32),
    /// All nodes that have the chunk are dead.
    #[error("only node {1} has chunk {0}, and it is dead")]
    Lost(String, u32),
    /// Returned when the root, this node, is dead.
    #[error("node {0} is the root, and it is dead: choose another root")]
    DeadRoot(u32),
    /// Custom conditions were requested, and none are loaded.
    #[error("conditions of one's own are asked for, and none are given")]
    NoConditions,
    /// The text is not a file of conditions.
    #[error("these are no conditions: {0}")]
    Custom(String),
}

/// The most pairs of a chunk and a node that wants it.
pub const MOST_PAIRS: u64 = 20_000_000;
/// The most pairs of a chunk and a node, whether or not it wants it: the time of arrival is stored for each in 8 bytes,
/// also in the page ([`Replay`](crate::schedule::replay::Replay),
/// [`Timeline::ownership`](super::timeline::Timeline::ownership)), 0.8 GB in all.
const MOST_HELD: u64 = 100_000_000;
/// The most transfers that a schedule with relays may need at least: some 60 bytes are stored for each during the
/// search, 1 GB in all.
const MOST_SENT: u64 = 16_800_000;

/// The most inspections of a link in the search for shortest paths from all sources: a few seconds in a browser.
const MOST_LOOKS: u64 = 400_000_000;
/// The most pairs of a chunk and a group of links of equal duration out of one node: a bit is stored for each.
const MOST_SETS: u64 = 1 << 31;

/// The most pairs of a link and a chunk: at one event each link may choose among all chunks.
const MOST_CHOICES: u64 = 3_000_000_000;

impl CollectiveRequest {
    /// Whether the first phase adds up: it is planned backwards, as copies over the links turned round.
    pub const fn adds_up(&self) -> bool {
        matches!(self.collective, Some(Collective::Reduce | Collective::ReduceScatter | Collective::AllReduce))
    }

    /// Builds the problem of the collective on a topology, and the clock of its ticks.
    ///
    /// # Errors
    /// Returns a [`RequestError`] if the topology is invalid, or the collective is impossible or too large on it.
    pub fn problem(&self, topology: &Topology) -> Result<(Problem, Clock), RequestError> {
        if self.chunk_bytes == 0 || self.chunks == 0 {
            return Err(RequestError::Nothing);
        }
        let (graph, clock) = topology.graph(self.chunk_bytes)?;
        if self.root >= topology.nodes && self.collective.is_some_and(Collective::has_root) {
            return Err(RequestError::Root { root: self.root, nodes: topology.nodes });
        }
        let (nodes, count, root) = (graph.nodes(), self.chunks as usize, self.root);
        let (n, k) = (nodes as u64, u64::from(self.chunks));
        // The number of chunks, and of pairs of a chunk and a node that wants it.
        let (all, pairs) = match self.collective {
            None => {
                let chunks = self.custom.as_ref().map_or(&[][..], |custom| &custom.chunks);
                (chunks.len() as u64, chunks.iter().map(|(_, wants)| wants.len() as u64).sum())
            }
            Some(Collective::Broadcast | Collective::Reduce) => (k, n * k),
            Some(Collective::Scatter | Collective::Gather) => (n * k, n * k),
            Some(Collective::AllToAll) => ((n * n).saturating_mul(k), (n * n).saturating_mul(k)),
            _ => (n * k, (n * n).saturating_mul(k)),
        };
        if pairs > MOST_PAIRS {
            return Err(RequestError::TooMany(pairs));
        }
        if n.saturating_mul(all) > MOST_HELD {
            return Err(RequestError::TooManyHeld(all, n));
        }
        let slowest = graph.links().iter().map(|link| link.duration).max().unwrap_or(0);
        let transfers = n.saturating_mul(all).saturating_mul(2);
        if u128::from(transfers) * u128::from(slowest) > 1 << 62 {
            return Err(RequestError::TooLong { transfers, seconds: clock.ns(slowest) / 1e9 });
        }
        let links = graph.links().len() as u64;
        if links.saturating_mul(all) > MOST_CHOICES {
            return Err(RequestError::TooManyChoices(links, all));
        }
        let groups = graph.link_groups() as u64;
        if groups.saturating_mul(all) > MOST_SETS {
            return Err(RequestError::TooManySets(groups, all));
        }
        let others = |of: u32| (0..nodes as u32).filter(move |node| *node != of);
        let times = |has: u32, wants: u32| (0..count).map(move |_| (vec![has], vec![wants]));
        let (reduce, copy) = match self.collective {
            None => (None, Some(self.own(nodes)?)),
            Some(Collective::AllGather) => (None, Some(Demand::all_gather(nodes, count))),
            Some(Collective::ReduceScatter) => (Some(Demand::all_gather(nodes, count)), None),
            Some(Collective::AllReduce) => {
                (Some(Demand::all_gather(nodes, count)), Some(Demand::all_gather(nodes, count)))
            }
            Some(Collective::Broadcast) => (None, Some(Demand::broadcast(nodes, root, count))),
            Some(Collective::Reduce) => (Some(Demand::broadcast(nodes, root, count)), None),
            Some(Collective::Scatter) => {
                (None, Some(Demand::from_chunks(nodes, others(root).flat_map(|to| times(root, to)))))
            }
            Some(Collective::Gather) => {
                (None, Some(Demand::from_chunks(nodes, others(root).flat_map(|from| times(from, root)))))
            }
            Some(Collective::AllToAll) => {
                let pairs = (0..nodes as u32).flat_map(|from| others(from).map(move |to| (from, to)));
                (None, Some(Demand::from_chunks(nodes, pairs.flat_map(|(from, to)| times(from, to)))))
            }
            Some(other) => return Err(RequestError::Unknown(other)),
        };
        let problem = Problem::new(graph, reduce, copy);
        for phase in problem.phases() {
            if let Some(task) = problem.task(phase) {
                let (searches, links) = (task.demand.source_groups() as u64, task.graph.links().len() as u64);
                if searches.saturating_mul(n + links) > MOST_LOOKS {
                    return Err(RequestError::TooManyWays(searches, links));
                }
            }
            let lost = problem.task(phase).and_then(|task| task.demand.unreachable(task.graph));
            if let Some((chunk, node)) = lost {
                return Err(match problem.task(phase).and_then(|task| task.demand.sources(chunk as usize).first()) {
                    Some(to) if phase == Phase::Reduce => RequestError::NoWayOfPart { chunk, from: node, to: *to },
                    _ => RequestError::NoWay { chunk, node },
                });
            }
            // No chunk needs more than one transfer per node.
            if n * all > MOST_SENT
                && let Some(task) = problem.task(phase)
                && let sent = task.demand.least_transfers(task.graph)
                && sent > MOST_SENT
            {
                return Err(RequestError::TooManySent(sent));
            }
        }
        Ok((problem, clock))
    }

    fn own(&self, nodes: usize) -> Result<Demand, RequestError> {
        let custom =
            self.custom.as_ref().filter(|custom| !custom.chunks.is_empty()).ok_or(RequestError::NoConditions)?;
        for (index, (has, wants)) in custom.chunks.iter().enumerate() {
            let name = || custom.names.get(index).cloned().unwrap_or_else(|| index.to_string());
            if has.is_empty() {
                return Err(RequestError::Nobody(name()));
            }
            if let Some(node) = has.iter().chain(wants).find(|node| **node as usize >= nodes) {
                return Err(RequestError::NoNode(name(), *node));
            }
        }
        Ok(Demand::from_chunks(nodes, custom.chunks.iter().cloned()))
    }

    /// The same collective among the nodes that are left when some are dead, which are renumbered.
    ///
    /// # Errors
    /// Returns a [`RequestError`] if the root or all nodes that have a chunk are dead.
    pub fn without(&self, dead: &[u32]) -> Result<Self, RequestError> {
        let mut request = self.clone();
        let place = |node: u32| node - dead.partition_point(|gone| *gone < node) as u32;
        let is_dead = |node: &u32| dead.binary_search(node).is_ok();
        if let Some(custom) = request.custom.as_mut().map(Arc::make_mut) {
            for (index, (has, wants)) in custom.chunks.iter_mut().enumerate() {
                let lost = has.iter().copied().find(is_dead);
                for list in [&mut *has, wants] {
                    list.retain(|node| !is_dead(node));
                    list.iter_mut().for_each(|node| *node = place(*node));
                }
                if let (true, Some(node)) = (has.is_empty(), lost) {
                    let name = custom.names.get(index).cloned().unwrap_or_else(|| index.to_string());
                    return Err(RequestError::Lost(name, node));
                }
            }
            return Ok(request);
        }
        let has_root = self.collective.is_some_and(Collective::has_root);
        if is_dead(&self.root) && has_root {
            return Err(RequestError::DeadRoot(self.root));
        }
        request.root = if has_root { place(self.root) } else { 0 };
        Ok(request)
    }

    /// Describes the collective: `all_gather of 1 chunk of 1 MiB per node`.
    pub fn words(&self) -> String {
        let size = Size(self.chunk_bytes);
        let chunks = units::count(self.chunks as u64, "chunk");
        match self.collective {
            None => format!("conditions of one's own, chunks of {size}"),
            Some(collective @ (Collective::Broadcast | Collective::Reduce)) => {
                format!("{collective} of {chunks} of {size}, root {}", self.root)
            }
            Some(collective @ (Collective::Scatter | Collective::Gather)) => {
                format!("{collective} of {chunks} of {size} per node, root {}", self.root)
            }
            Some(collective) => format!("{collective} of {chunks} of {size} per node"),
        }
    }

    /// The name of the collective in file names.
    pub fn key(&self) -> &'static str {
        self.collective.map_or("custom", Collective::name)
    }
}

/// Reads custom conditions, and the size of a chunk in bytes if they have it: `{"chunk_size": 1048576, "chunks": [0],
/// "preconditions": {"0": [0]}, "postconditions": {"1": [0]}}`.
///
/// # Errors
/// Returns [`RequestError::Custom`] with the reason.
pub fn read_custom(text: &str) -> Result<(Arc<Custom>, Option<u64>), RequestError> {
    type Value = serde_json::Value;
    let wrong = |why: String| RequestError::Custom(why);
    let json: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let name = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let chunks = json.get("chunks").and_then(Value::as_array);
    let names: Vec<String> =
        chunks.ok_or_else(|| wrong("\"chunks\" is no list".to_owned()))?.iter().map(name).collect();
    const KEYS: [&str; 4] = ["chunk_size", "chunks", "preconditions", "postconditions"];
    let keys = json.as_object().map(|object| object.keys().filter(|key| !KEYS.contains(&key.as_str())));
    if let Some(key) = keys.and_then(|mut keys| keys.next()) {
        let known = KEYS.join(", ");
        return Err(wrong(format!("\"{}\" is none of {known}", crate::text::excerpt(key))));
    }
    let mut custom = Custom { chunks: vec![(Vec::new(), Vec::new()); names.len()], names };
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, name) in custom.names.iter().enumerate() {
        if places.insert(name, index).is_some() {
            return Err(wrong(format!("\"chunks\" names {} twice", crate::text::excerpt(name))));
        }
    }
    for (key, after) in [("preconditions", false), ("postconditions", true)] {
        let nodes = json.get(key).and_then(Value::as_object);
        for (node, held) in nodes.ok_or_else(|| wrong(format!("\"{key}\" is no object of nodes and their chunks")))? {
            let node: u32 =
                node.trim().parse().ok().ok_or_else(|| wrong(format!("{key}: \"{node}\" is no number of a node")))?;
            let held = held.as_array().ok_or_else(|| wrong(format!("{key}, node {node}: no list of chunks")))?;
            for chunk in held.iter().map(name) {
                let index = places.get(chunk.as_str()).copied();
                let index = index.ok_or_else(|| wrong(format!("{key}, node {node}: there is no chunk {chunk}")))?;
                let (has, wants) = &mut custom.chunks[index];
                if after { wants.push(node) } else { has.push(node) }
            }
        }
    }
    let size = json.get("chunk_size").filter(|size| !size.is_null()).map(|size| {
        let bytes = size.as_f64().filter(|bytes| *bytes >= 1.0 && bytes.fract() == 0.0 && *bytes < 1e18);
        bytes
            .map(|bytes| bytes as u64)
            .ok_or_else(|| wrong(format!("\"chunk_size\" is {size}, no whole number of bytes")))
    });
    Ok((Arc::new(custom), size.transpose()?))
}
