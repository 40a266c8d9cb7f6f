//! Verifies result files, and describes their faults.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, VecDeque},
};

use super::{
    super::{
        conditions::{CollectiveRequest, RequestError},
        listing,
        model::{Link, Topology},
        result::ResultFile,
        time::Clock,
    },
    answers::Verified,
    timeline,
};
use crate::{
    collective::Collective,
    schedule::{
        bound::Bounds,
        graph::Graph,
        plan::{Schedule, Transfer},
        problem::Problem,
        verify::{Fault, MAX_FAULTS},
    },
    units::count,
};

/// Chunks per node, or per pair of nodes, of a collective that has `all` chunks in all.
pub fn chunks_each(collective: Collective, nodes: u32, all: u32) -> u32 {
    let others = nodes.saturating_sub(1).max(1);
    let shares = match collective {
        Collective::Broadcast | Collective::Reduce => 1,
        Collective::Scatter | Collective::Gather => others,
        Collective::AllToAll => nodes.saturating_mul(others),
        _ => nodes,
    };
    (all / shares.max(1)).max(1)
}

/// The collective for which a result is verified: the requested one, else the one that the file names, else an
/// all_gather of the file's chunks. What the file says takes precedence over a request for another graph.
pub(super) fn request(result: &ResultFile, topology: &Topology, asked: Option<CollectiveRequest>) -> CollectiveRequest {
    let of_file = result.collective.flatten();
    let is_other = |asked: &CollectiveRequest| of_file.is_some_and(|own| asked.collective != Some(own));
    let mut request = asked.filter(|asked| !is_other(asked)).unwrap_or_else(|| {
        let collective = of_file.unwrap_or(Collective::AllGather);
        CollectiveRequest {
            collective: Some(collective),
            root: result.root.unwrap_or(0),
            chunks: chunks_each(collective, topology.nodes, result.chunks),
            ..CollectiveRequest::default()
        }
    });
    request.chunk_bytes = result.chunk_bytes.unwrap_or(request.chunk_bytes);
    request
}

/// Verifies a result file on a topology. `request` has the file's size of a chunk if [`check`] built it. Returns a
/// [`RequestError`] if the collective is impossible on the topology.
pub fn verify(result: &ResultFile, topology: &Topology, request: &CollectiveRequest) -> Result<Verified, RequestError> {
    let (problem, clock) = request.problem(topology)?;
    let (mut schedule, mut faults) = result.schedule(topology, &problem.graph, &clock);
    if !result.has_times() {
        schedule = timed(&problem, schedule, &mut faults);
    }
    mark_reducing(&problem, &mut schedule);
    let of_links = faults.len();
    let found = problem.faults(&schedule);
    let is_cut = found.len() >= MAX_FAULTS;
    faults.extend(found.iter().map(|fault| words(fault, topology, &problem.graph, &clock)));
    let chunks = problem.chunks();
    if !faults.is_empty() && result.says_chunks && chunks != result.chunks as usize {
        let (has, words) = (count(u64::from(result.chunks), "chunk"), request.words());
        faults.insert(of_links, format!("the result has {has}, and {words} has {chunks}"));
    }
    if result.collective == Some(None) && request.custom.is_none() {
        faults.insert(0, "the result is a schedule of conditions of one's own, which are not given".to_owned());
    }
    let time_ns = clock.ns(schedule.end(&problem.graph));
    // A phase that runs twice, as in an all_reduce, counts twice.
    let bounds: u64 = problem.bounds().iter().map(Bounds::time).sum::<u64>() * problem.repetitions();
    let bound_ns = clock.ns(bounds);
    let claimed = result.claimed_ns.filter(|claimed| is_another_time(*claimed, time_ns));
    // A file that has only the order of its transfers may mean to wait with some, but can't end earlier.
    let wrong_claim = claimed.filter(|claimed| faults.is_empty() && (result.has_times() || *claimed < time_ns));
    let wrong_claim = wrong_claim.map(|claimed| {
        let (claimed, ends) = (listing::time(claimed), listing::time(time_ns));
        format!("its collective time is said to be {claimed}, and its last transfer ends at {ends}")
    });
    let mut sentences = vec![format!(
        "{} ({}): {}, {}.",
        request.words(),
        result.dialect,
        count(schedule.transfers.len() as u64, "transfer"),
        listing::time(time_ns)
    )];
    if let Some(fault) = faults.first() {
        sentences.push(format!("It can't be run: {fault}."));
    } else if let Some(claim) = &wrong_claim {
        sentences.push(format!("It can be run, but {claim}."));
    } else if bounds == 0 {
        sentences.push("Nothing is wrong with it; nothing has to be sent.".to_owned());
    } else {
        let ratio = time_ns / bound_ns;
        sentences.push(format!(
            "Nothing is wrong with it; it takes {ratio:.3} times the bound of {}.",
            listing::time(bound_ns)
        ));
    }
    let timeline = if faults.is_empty() { timeline(&problem, &schedule, &clock) } else { None };
    if let Some(claimed) = claimed.filter(|_| wrong_claim.is_none()) {
        sentences.push(format!("It says that it takes {}.", listing::time(claimed)));
    }
    faults.extend(wrong_claim);
    sentences.extend(result.notes.iter().map(|note| format!("{note}.")));
    sentences.extend(other_links(result, topology));
    Ok(Verified {
        dialect: result.dialect.to_owned(),
        sentences,
        faults,
        is_cut,
        time_ns,
        bound_ns,
        claimed_ns: result.claimed_ns,
        timeline,
    })
}

/// Whether a file claims another time than its schedule takes, beyond the rounding of programs that write whole
/// nanoseconds, or the six digits of a C++ stream.
fn is_another_time(claimed_ns: f64, time_ns: f64) -> bool {
    const WHOLE_NS: f64 = 1.0;
    const SIX_DIGITS: f64 = 5e-6;
    (claimed_ns - time_ns).abs() > WHOLE_NS.max(SIX_DIGITS * time_ns)
}

/// A message with the number of the result's links that differ from those of the topology.
fn other_links(result: &ResultFile, topology: &Topology) -> Option<String> {
    let bytes = |topology: &Topology, link: &Link| link.bandwidth * topology.unit.bytes_per_second() as f64;
    let rates: HashMap<(u32, u32), (f64, f64)> =
        topology.links.iter().map(|link| ((link.from, link.to), (link.latency_ns, bytes(topology, link)))).collect();
    let is_other = |link: &&Link| {
        rates.get(&(link.from, link.to)).is_some_and(|(latency, rate)| {
            let own = bytes(&result.topology, link);
            *latency != link.latency_ns || (own - rate).abs() > 1e-9 * rate.abs()
        })
    };
    let others: Vec<&Link> = result.topology.links.iter().filter(is_other).collect();
    let first = others.first()?;
    Some(format!(
        "{} of the result {} another latency or bandwidth in the graph, first that from {} to {}: the graph's count.",
        count(others.len() as u64, "link"),
        if others.len() == 1 { "has" } else { "have" },
        topology.label(first.from),
        topology.label(first.to)
    ))
}

/// Verifies a result file for a collective on a topology, or on its own links if none is given. Fails as [`verify`]
/// does.
pub fn check(
    result: &ResultFile,
    topology: Option<&Topology>,
    collective: Option<CollectiveRequest>,
) -> Result<Verified, RequestError> {
    let topology = topology.unwrap_or(&result.topology);
    verify(result, topology, &request(result, topology, collective))
}

/// Files do not mark reductions: in a collective that reduces first, the first transfers reduce.
fn mark_reducing(problem: &Problem, schedule: &mut Schedule) {
    let Some(reduce) = &problem.reduce else { return };
    let chunks = reduce.chunks();
    let is_copied = problem.copy.is_some();
    let mut open: Vec<usize> =
        (0..chunks).map(|chunk| if is_copied { reduce.wants(chunk).count() } else { usize::MAX }).collect();
    schedule.transfers.sort_by_cached_key(|transfer| transfer.start);
    // Of each chunk the first transfers reduce: its sum can't be copied before it is complete.
    let (mut reducing, mut copying) = (Vec::new(), Vec::new());
    for transfer in std::mem::take(&mut schedule.transfers) {
        match open.get_mut(transfer.chunk as usize) {
            Some(open @ 1..) => {
                *open -= 1;
                reducing.push(transfer);
            }
            _ => copying.push(transfer),
        }
    }
    schedule.reducing = reducing.len();
    reducing.append(&mut copying);
    schedule.transfers = reducing;
}

/// The start times for a file that only has the order on each link: each transfer starts as soon as its link is free
/// and its chunk has arrived.
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
    // The tick at which the next transfer of a link would arrive, if its chunk is there. The earliest of all links can
    // be fixed, because nothing that follows arrives earlier.
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

/// Describes a fault, with the names of nodes and with times.
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
