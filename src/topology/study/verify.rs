//! Result files, checked.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use super::{
    super::{
        conditions::{Wanted, WantedError},
        listing,
        model::Topology,
        result::ResultFile,
        time::Clock,
    },
    answers::Verified,
    film,
};
use crate::{
    order::Order,
    schedule::{
        bound::Bounds,
        graph::Graph,
        plan::{Schedule, Transfer},
        problem::Problem,
        verify::{Fault, MOST},
    },
    units::count,
};

/// What a result is to be checked against: what was asked for, or an all_gather of the chunks that it has.
pub(super) fn wanted(result: &ResultFile, topology: &Topology, asked: Option<Wanted>) -> Wanted {
    let per_node = result.chunks / topology.nodes.max(1);
    let mut wanted = asked.unwrap_or_else(|| Wanted { chunks: per_node.max(1), ..Wanted::default() });
    wanted.chunk_bytes = result.chunk_bytes.unwrap_or(wanted.chunk_bytes);
    wanted
}

/// Checks a result file on a topology; `wanted` has the file's size of a chunk where [`check`] made it.
///
/// # Errors
/// The collective can't be done on the topology.
pub fn verify(result: &ResultFile, topology: &Topology, wanted: &Wanted) -> Result<Verified, WantedError> {
    let (problem, clock) = wanted.problem(topology)?;
    let (mut schedule, mut faults) = result.schedule(topology, &problem.graph, &clock);
    if !result.has_times() {
        schedule = timed(&problem, schedule, &mut faults);
    }
    mark_reducing(&problem, &mut schedule);
    let found = problem.faults(&schedule);
    let is_cut = found.len() >= MOST;
    faults.extend(found.iter().map(|fault| words(fault, topology, &problem.graph, &clock)));
    let time_ns = clock.ns(schedule.end(&problem.graph));
    // Of a part that counts twice, twice.
    let bounds: u64 = problem.bounds().iter().map(Bounds::time).sum::<u64>() * problem.times();
    let bound_ns = clock.ns(bounds);
    let mut sentences = vec![format!(
        "{} ({}): {}, {}.",
        wanted.words(),
        result.dialect,
        count(schedule.transfers.len() as u64, "transfer"),
        listing::time(time_ns)
    )];
    if faults.is_empty() {
        let ratio = time_ns / bound_ns;
        sentences.push(format!(
            "Nothing is wrong with it; it takes {ratio:.3} times the bound of {}.",
            listing::time(bound_ns)
        ));
    } else {
        sentences.push(format!("It can't be run: {}.", faults[0]));
    }
    if let Some(claimed) = result.claimed_ns.filter(|claimed| (claimed - time_ns).abs() > 1.0) {
        sentences.push(format!("It says that it takes {}.", listing::time(claimed)));
    }
    sentences.extend(result.notes.iter().map(|note| format!("{note}.")));
    let film = if faults.is_empty() { film(&problem, &schedule, &clock) } else { None };
    Ok(Verified { dialect: result.dialect.to_owned(), sentences, faults, is_cut, time_ns, bound_ns, film })
}

/// Checks a result file on a topology, or on its own links where none is given, for a collective.
///
/// # Errors
/// As [`verify`].
pub fn check(
    result: &ResultFile,
    topology: Option<&Topology>,
    collective: Option<Wanted>,
) -> Result<Verified, WantedError> {
    let topology = topology.unwrap_or(&result.topology);
    verify(result, topology, &wanted(result, topology, collective))
}

/// Files don't say what adds up: in a collective that adds up first, it is what comes first.
fn mark_reducing(problem: &Problem, schedule: &mut Schedule) {
    let Some(reduce) = &problem.reduce else { return };
    schedule.transfers.order_by_number(|transfer| transfer.start);
    schedule.reducing =
        if problem.copy.is_some() { reduce.pairs().min(schedule.transfers.len()) } else { schedule.transfers.len() };
}

/// When everything happens, where a file only has the order of each link: as soon as its link is free and its chunk is there.
fn timed(problem: &Problem, schedule: Schedule, faults: &mut Vec<String>) -> Schedule {
    let graph = &problem.graph;
    let Some(demand) = problem.copy.as_ref() else { return schedule };
    let chunks = demand.chunks();
    let mut at = vec![u64::MAX; graph.nodes() * chunks];
    for chunk in 0..chunks {
        demand.sources(chunk).iter().for_each(|node| at[*node as usize * chunks + chunk] = 0);
    }
    let mut queues: Vec<VecDeque<u32>> = vec![VecDeque::new(); graph.links().len()];
    for transfer in schedule.transfers.iter().filter(|transfer| (transfer.chunk as usize) < chunks) {
        queues[transfer.link as usize].push_back(transfer.chunk);
    }
    let mut free = vec![0_u64; graph.links().len()];
    let mut transfers = Vec::new();
    // What each link carries next, if it is there, by when it would have arrived. Whoever is first sets the time: nothing
    // that follows arrives earlier.
    let head = |link: usize, queues: &[VecDeque<u32>], at: &[u64], free: &[u64]| {
        let (of, chunk) = (graph.links()[link], *queues[link].front()?);
        let there = at[of.from as usize * chunks + chunk as usize];
        (there != u64::MAX).then(|| Reverse((there.max(free[link]).saturating_add(of.duration), link, chunk)))
    };
    let mut heads: BinaryHeap<_> = (0..queues.len()).filter_map(|link| head(link, &queues, &at, &free)).collect();
    while let Some(Reverse((end, link, chunk))) = heads.pop() {
        let of = graph.links()[link];
        queues[link].pop_front();
        free[link] = end;
        transfers.push(Transfer { link: link as u32, chunk, start: end - of.duration });
        let there = &mut at[of.to as usize * chunks + chunk as usize];
        if *there == u64::MAX {
            *there = end;
            let waiting = graph.outgoing(of.to as usize).iter().map(|next| *next as usize);
            let waiting = waiting.filter(|next| queues[*next].front() == Some(&chunk));
            heads.extend(waiting.filter_map(|next| head(next, &queues, &at, &free)));
        }
        heads.extend(head(link, &queues, &at, &free));
    }
    let left: usize = queues.iter().map(VecDeque::len).sum();
    if left > 0 {
        faults.push(format!(
            "{left} transfers never come to their turn: what they carry never comes to where they begin"
        ));
    }
    Schedule { transfers, reducing: 0 }
}

/// A fault with names and times.
fn words(fault: &Fault, topology: &Topology, graph: &Graph, clock: &Clock) -> String {
    let link = |index: u32| {
        let of = graph.links()[index as usize];
        format!("{} to {}", topology.label(of.from), topology.label(of.to))
    };
    let ns = |ticks: u64| clock.ns(ticks);
    match fault {
        Fault::Overlap { first, second } => format!(
            "the link {} begins chunk {} at {} ns, and chunk {} is on it until {} ns",
            link(second.link),
            second.chunk,
            ns(second.start),
            first.chunk,
            ns(first.end(graph))
        ),
        Fault::Causality { transfer, arrives } => {
            let when = match arrives {
                Some(arrives) => format!("comes there at {} ns", ns(*arrives)),
                None => "never comes there".to_owned(),
            };
            format!(
                "the link {} begins chunk {} at {} ns, which {when}",
                link(transfer.link),
                transfer.chunk,
                ns(transfer.start)
            )
        }
        Fault::Missing { chunk, node } => format!("chunk {chunk} never comes to node {}", topology.label(*node)),
        Fault::CountedTwice { transfer } => {
            format!(
                "the link {} brings a part of chunk {} that was given away before",
                link(transfer.link),
                transfer.chunk
            )
        }
        Fault::NotCounted { chunk, node } => {
            format!("the part of node {} is missing in chunk {chunk}", topology.label(*node))
        }
        Fault::Late { transfer } => {
            format!(
                "the link {} brings a part of chunk {} after the sum was sent on",
                link(transfer.link),
                transfer.chunk
            )
        }
        Fault::Unknown(index) => format!("transfer {index} is about a link or a chunk that is not there"),
    }
}
