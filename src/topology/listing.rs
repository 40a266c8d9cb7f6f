//! Tables and sentences about schedules on a topology.

use super::{
    conditions::CollectiveRequest,
    dump::Pattern,
    model::Topology,
    msccl, mscclpp, nccl_graph,
    robust::{Damage, Damaged, Resynthesis, Variation},
    time::Clock,
    timeline::{Idle, Timeline},
};
use crate::{
    schedule::bound::{Bounds, NodeCut},
    text::{Column, Entry, Listing},
    units::{count, significant},
};

/// Formats a time: `80.125 µs`.
pub fn time(ns: f64) -> String {
    if !ns.is_finite() {
        return "–".to_owned();
    }
    let exact = |value: f64| {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if ns < 1e3 {
        format!("{} ns", exact(ns))
    } else if ns < 1e6 {
        format!("{} µs", exact(ns / 1e3))
    } else {
        format!("{} ms", exact(ns / 1e6))
    }
}

fn ns_cell(ns: f64) -> Entry {
    Entry::number(Some(ns).filter(|ns| ns.is_finite()), ns_text)
}

/// Formats a time in ns for a table: exact unless it has a long fraction.
fn ns_text(ns: f64) -> String {
    let text = format!("{ns:.5}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The names of some nodes, abbreviated.
pub fn nodes(topology: &Topology, some: &[u32]) -> String {
    const TOLD: usize = 8;
    let names: Vec<String> = some.iter().take(TOLD).map(|node| topology.label(*node)).collect();
    match some.len() {
        0 => "no node".to_owned(),
        1 => format!("node {}", names[0]),
        more if more > TOLD => format!("nodes {} and {} more", names.join(", "), more - TOLD),
        _ => format!("nodes {} and {}", names[..names.len() - 1].join(", "), names[names.len() - 1]),
    }
}

/// The cut of a phase, from 0, on the links as they are. What adds up is bounded on the links turned round: what leaves
/// some nodes there comes from all others here.
pub fn cut_of_phase(topology: &Topology, request: &CollectiveRequest, phase: usize, cut: &NodeCut) -> NodeCut {
    if phase > 0 || !request.adds_up() {
        return cut.clone();
    }
    let is_inside = |node: &u32| cut.inside.binary_search(node).is_ok();
    NodeCut { inside: (0..topology.nodes).filter(|node| !is_inside(node)).collect(), ..*cut }
}

/// Describes a cut: the chunks that must leave, and the links over which. The smaller side is named.
pub fn cut_words(topology: &Topology, cut: &NodeCut) -> String {
    let is_inside = |node: u32| cut.inside.binary_search(&node).is_ok();
    let crossing = topology.links.iter().filter(|link| is_inside(link.from) && !is_inside(link.to)).count();
    let chunks = count(cut.chunks, "chunk");
    let over = format!("over {}", count(crossing as u64, "link"));
    if cut.inside.len() * 2 > topology.nodes as usize {
        let outside: Vec<u32> = (0..topology.nodes).filter(|node| !is_inside(*node)).collect();
        format!("{chunks} must come to {} {over}", nodes(topology, &outside))
    } else {
        format!("{chunks} must leave {} {over}", nodes(topology, &cut.inside))
    }
}

/// Why the bound L4 holds.
const LOAD: &str = "each chunk goes at least the shortest way, and each link carries one after the other";

/// The table of the bounds of each phase, with the cut or path of each.
pub fn bounds(
    topology: &Topology,
    request: &CollectiveRequest,
    bounds: &[&Bounds],
    repetitions: u64,
    clock: &Clock,
) -> Listing {
    const COLUMNS: [Column; 4] = [
        Column::words("Bound", "what no schedule can beat, and by which argument"),
        Column::numbers("ns", "the least time, in ns"),
        Column::words("Because", "what has to go where"),
        Column::words("Of", "which part of the collective"),
    ];
    let mut rows = Vec::new();
    for (index, of) in bounds.iter().enumerate() {
        let part = match (bounds.len(), index) {
            (1, _) if repetitions > 1 => "adding up, and the same of copying".to_owned(),
            (1, _) => request.words(),
            (_, 0) => "adding up".to_owned(),
            _ => "copying".to_owned(),
        };
        let cut_words = |cut: &NodeCut| cut_words(topology, &cut_of_phase(topology, request, index, cut));
        let mut row = |name: &str, ns: f64, why: String| {
            rows.push(vec![Entry::text(name), ns_cell(ns), Entry::text(why), Entry::text(part.clone())]);
        };
        let fluid =
            if of.fluid_is_exact { "L1, chunks as fine as one likes" } else { "L1, of the cuts that were looked at" };
        let of_cuts = clock.fluid_ns(of.fluid.chunks, of.fluid.rate);
        if clock.fluid_bound_ns(of) > of_cuts {
            row("L1, chunks as fine as one likes", clock.fluid_bound_ns(of), LOAD.to_owned());
        } else {
            row(fluid, of_cuts, cut_words(&of.fluid));
        }
        row("L2, whole chunks over a cut", clock.ns(of.cut_time), cut_words(&of.cut));
        let path = of.path.map(|(chunk, node)| match (index, request.adds_up()) {
            (0, true) => format!("the part of node {} is added to chunk {chunk}", topology.label(node)),
            _ => format!("chunk {chunk} goes to node {}", topology.label(node)),
        });
        row("L3, the longest way", clock.ns(of.path_time), path.unwrap_or_default());
        if of.load_time > 0 {
            row("L4, all links together", clock.ns(of.load_time), LOAD.to_owned());
        }
        if of.last_hop > of.time() {
            row(
                "proven besides",
                clock.ns(of.last_hop),
                "what crosses a cut late can't be passed on, or a search found nothing shorter".to_owned(),
            );
        }
    }
    let halves = bounds.len() as u64 * repetitions;
    if halves > 1 {
        let fluid = bounds.iter().map(|of| clock.fluid_bound_ns(of)).sum::<f64>() * repetitions as f64;
        let whole = clock.ns(bounds.iter().map(|of| of.best()).sum::<u64>() * repetitions);
        for (name, ns) in [("L1 of both", fluid), ("the largest of both", whole)] {
            let why = "all is added up before it is copied".to_owned();
            rows.push(vec![Entry::text(name), ns_cell(ns), Entry::text(why), Entry::text(request.words())]);
        }
    }
    Listing { columns: COLUMNS.to_vec(), rows }
}

/// The table of links: how long each is busy, why it is idle, and its slack.
pub fn links(topology: &Topology, timeline: &Timeline) -> Listing {
    const COLUMNS: [Column; 9] = [
        Column::words("From", "the node that sends"),
        Column::words("To", "the node that receives"),
        Column::numbers("Bandwidth", "as the topology says, in its unit"),
        Column::numbers("ns per chunk", "latency and transfer of a chunk"),
        Column::numbers("Chunks", "how many it carries"),
        Column::numbers("Busy %", "share of the whole time for which it carries something"),
        Column::numbers("Slack ns", "by how much its tightest transfer could be later"),
        Column::numbers("Waiting ns", "idle, and what it carries next is not there yet"),
        Column::numbers("Held ns", "idle, though what it carries next is there"),
    ];
    let ownership = timeline.ownership();
    let row = |(index, link): (u32, &super::model::Link)| {
        let (first, last) = (timeline.first[index as usize] as usize, timeline.first[index as usize + 1] as usize);
        let slack =
            timeline.slack.get(first..last).and_then(|slack| slack.iter().min()).map(|slack| timeline.ns(*slack));
        let idle = timeline.idle(index, &ownership);
        let sum =
            |kind: Idle| timeline.ns(idle.iter().filter(|(_, _, of)| *of == kind).map(|(from, to, _)| to - from).sum());
        vec![
            Entry::text(topology.label(link.from)),
            Entry::text(topology.label(link.to)),
            Entry::number(Some(link.bandwidth), significant),
            ns_cell(timeline.ns(timeline.durations[index as usize])),
            Entry::number(Some((last - first) as f64), |chunks| format!("{chunks}")),
            Entry::number(Some(timeline.busy_share(index) * 100.0), |share| format!("{share:.1}")),
            Entry::number(slack, ns_text),
            ns_cell(sum(Idle::Waiting)),
            ns_cell(sum(Idle::Held)),
        ]
    };
    Listing { columns: COLUMNS.to_vec(), rows: (0..).zip(&topology.links).map(row).collect() }
}

/// The table of the transfers on the critical path.
pub fn critical(topology: &Topology, timeline: &Timeline) -> Listing {
    const COLUMNS: [Column; 5] = [
        Column::numbers("Begins ns", "when it begins"),
        Column::numbers("Ends ns", "when it has arrived"),
        Column::words("Link", "from where to where"),
        Column::numbers("Chunk", "which chunk"),
        Column::words("Follows", "why it does not begin earlier"),
    ];
    let mut before: Option<super::timeline::TimedTransfer> = None;
    let row = |index: &u32| {
        let sent = timeline.transfer(*index);
        let (from, to) = timeline.links[sent.link as usize];
        let why = match before.replace(sent) {
            None if sent.start == 0 => "the chunk is there at the beginning".to_owned(),
            None => "it waits for nothing".to_owned(),
            Some(before) if before.end < sent.start => {
                format!("{} after the one before", time(timeline.ns(sent.start - before.end)))
            }
            Some(before) if before.link == sent.link => "the link becomes free".to_owned(),
            Some(_) => "the chunk arrives".to_owned(),
        };
        vec![
            ns_cell(timeline.ns(sent.start)),
            ns_cell(timeline.ns(sent.end)),
            Entry::text(format!("{} to {}", topology.label(from), topology.label(to))),
            Entry::number(Some(f64::from(sent.chunk)), |chunk| format!("{chunk}")),
            Entry::text(why),
        ]
    };
    Listing { columns: COLUMNS.to_vec(), rows: timeline.critical.iter().map(row).collect() }
}

/// The table of one chunk's transfers.
pub fn tree(topology: &Topology, timeline: &Timeline, chunk: u32) -> Listing {
    const COLUMNS: [Column; 4] = [
        Column::numbers("Depth", "transfers before it on the way"),
        Column::words("Link", "from where to where"),
        Column::numbers("Begins ns", "when it begins"),
        Column::numbers("Ends ns", "when it has arrived"),
    ];
    let row = |branch: super::timeline::TreeTransfer| {
        let (from, to) = timeline.links[branch.sent.link as usize];
        vec![
            Entry::number(Some(f64::from(branch.depth)), |depth| format!("{depth}")),
            Entry::text(format!("{} to {}", topology.label(from), topology.label(to))),
            ns_cell(timeline.ns(branch.sent.start)),
            ns_cell(timeline.ns(branch.sent.end)),
        ]
    };
    Listing { columns: COLUMNS.to_vec(), rows: timeline.tree(chunk).into_iter().map(row).collect() }
}

/// The table of damaged links or nodes, with new schedules where they were searched.
pub fn damaged(topology: &Topology, nominal_ns: f64, all: &[Damaged]) -> Listing {
    const LINK: [Column; 5] = [
        Column::words("Link", "from where to where"),
        Column::numbers("At a half ns", "the same schedule with the link at half of its bandwidth"),
        Column::numbers("Longer by %", "the same, against what was planned"),
        Column::numbers("At a tenth ns", "the same schedule with the link at a tenth of its bandwidth"),
        Column::numbers("Undelivered", "pairs of a chunk and a node that it never comes to, with the link dead"),
    ];
    const NODE: [Column; 5] = [
        Column::words("Node", "which node"),
        Column::numbers("At a half ns", "the same schedule with all links of the node at half of their bandwidth"),
        Column::numbers("Longer by %", "the same, against what was planned"),
        Column::numbers("At a tenth ns", "the same schedule with all links of the node at a tenth of their bandwidth"),
        Column::numbers(
            "Undelivered",
            "pairs of a chunk and another node that it never comes to, with the node dead; without the chunks that it alone had",
        ),
    ];
    const AGAIN: [Column; 2] = [
        Column::numbers("New ns", "a schedule that was found without it; where there is none, why"),
        Column::numbers("New bound ns", "what no schedule can beat without it"),
    ];
    let is_of_nodes = all.iter().any(|of| matches!(of.damage, Damage::Node(_)));
    let is_again = all.iter().any(|of| of.resynthesis.is_some());
    let name = |damage: &Damage| match *damage {
        Damage::Node(node) => topology.label(node),
        Damage::Pair(a, b) => format!("{} and {}", topology.label(a), topology.label(b)),
        Damage::Link(link) | Damage::Slow(link, _) => {
            let link = topology.links.get(link as usize);
            link.map(|link| format!("{} to {}", topology.label(link.from), topology.label(link.to))).unwrap_or_default()
        }
    };
    let row = |of: &Damaged| {
        let mut row = vec![
            Entry::text(name(&of.damage)),
            ns_cell(of.half_ns),
            Entry::number(Some((of.half_ns / nominal_ns - 1.0) * 100.0), |more| format!("{more:.1}")),
            ns_cell(of.tenth_ns),
            Entry::number(Some(of.undelivered as f64), |pairs| format!("{pairs}")),
        ];
        if is_again {
            let (new, bound) = of.resynthesis.as_ref().map(new_cells).unwrap_or_default();
            row.extend([new, bound]);
        }
        row
    };
    let mut columns = if is_of_nodes { NODE } else { LINK }.to_vec();
    columns.extend(AGAIN.into_iter().filter(|_| is_again));
    Listing { columns, rows: all.iter().map(row).collect() }
}

/// The cells of a new schedule's time and bound.
fn new_cells(of: &Resynthesis) -> (Entry, Entry) {
    let new = match (&of.time_ns, &of.why) {
        (Some(ns), _) => ns_cell(*ns),
        (None, why) => Entry::text(why.clone().unwrap_or_default()),
    };
    (new, Entry::number(of.time_ns.map(|_| of.bound_ns), ns_text))
}

/// The table of dumped rings and trees with their times, beside the best schedule.
pub fn dumped(all: &[(&Pattern, Option<f64>)], found_ns: Option<f64>) -> Listing {
    const COLUMNS: [Column; 6] = [
        Column::words("Channels", "what was dumped, or found here"),
        Column::numbers("How many", "channels of it"),
        Column::numbers("GB/s of each", "the speed that NCCL expects of a channel within the node"),
        Column::numbers("Links used", "pairs of GPUs that follow each other in a channel"),
        Column::numbers("ns", "how long the collective takes over all channels; empty where it is not run over them"),
        Column::numbers("Over the best", "the same over the best schedule that was found here"),
    ];
    let row = |(pattern, ns): &(&Pattern, Option<f64>)| {
        vec![
            Entry::text(pattern.kind.clone()),
            Entry::number(Some(pattern.channels.len() as f64), |channels| format!("{channels}")),
            Entry::number(Some(pattern.speed_gbps), |gbps| gbps.to_string()),
            Entry::number(Some(pattern.edges(None).len() as f64), |links| format!("{links}")),
            Entry::number(*ns, |ns| format!("{ns:.2}")),
            Entry::number(ns.zip(found_ns).map(|(ns, found)| ns / found), |ratio| format!("{ratio:.3}")),
        ]
    };
    let mut rows: Vec<Vec<Entry>> = all.iter().map(row).collect();
    let mut best = vec![Entry::default(); COLUMNS.len()];
    best[0] = Entry::text("the best schedule here");
    best[4] = Entry::number(found_ns, |ns| format!("{ns:.2}"));
    rows.extend(found_ns.map(|_| best));
    Listing { columns: COLUMNS.to_vec(), rows }
}

/// What graphs of a file state of their channels, beside what the links of the machine give.
pub fn graph_checks(checks: &[nccl_graph::Check]) -> Listing {
    const COLUMNS: [Column; 6] = [
        Column::words("Channels", "what they are"),
        Column::numbers("How many", "channels of it"),
        Column::numbers("GB/s stated", "the speed of each that NCCL believes"),
        Column::numbers(
            "GB/s of the links",
            "what the links give each channel of a ring at most; empty where it is not known",
        ),
        Column::words("Tightest link", "the link that gives no more"),
        Column::words("What is wrong", "nothing where it is empty"),
    ];
    let row = |check: &nccl_graph::Check| {
        vec![
            Entry::text(check.kind.clone()),
            Entry::number(Some(check.channels as f64), |channels| format!("{channels}")),
            Entry::number(Some(check.stated_gbps), |gbps| gbps.to_string()),
            Entry::number(check.real_gbps, |gbps| format!("{gbps:.2}")),
            Entry::text(check.tightest.clone().unwrap_or_default()),
            Entry::text(check.faults.join("; ")),
        ]
    };
    Listing { columns: COLUMNS.to_vec(), rows: checks.iter().map(row).collect() }
}

/// What runs a schedule: for each kind of file which library, and how.
pub fn runners() -> Listing {
    const COLUMNS: [Column; 2] = [
        Column::words("File", "what is saved"),
        Column::words("What runs it", "which library reads the file, and how it is told"),
    ];
    let row = |name: &str, how: &str| vec![Entry::text(name), Entry::text(how)];
    let rows = vec![
        row("MSCCL++ plan", mscclpp::HOW_TO_RUN),
        row("NCCL graph file", nccl_graph::HOW_TO_RUN),
        row("MSCCL XML", msccl::HOW_TO_RUN),
    ];
    Listing { columns: COLUMNS.to_vec(), rows }
}

/// The faults of a plan of MSCCL++, each with its place.
pub fn plan_faults(of: &mscclpp::Verdict) -> Listing {
    const COLUMNS: [Column; 5] = [
        Column::words("Fault", "its kind"),
        Column::numbers("GPU", "from 0; empty for the plan as a whole"),
        Column::numbers("Thread block", "of the GPU, from 0"),
        Column::numbers("Operation", "of the thread block, from 0; those within a pipeline follow it in the count"),
        Column::words("What is wrong", "in words"),
    ];
    let number = |of: Option<u32>| Entry::number(of.map(f64::from), |number| number.to_string());
    let row = |fault: &mscclpp::Fault| {
        let place = [fault.gpu, fault.block, fault.operation].map(number);
        let [gpu, block, operation] = place;
        vec![Entry::text(fault.kind.name()), gpu, block, operation, Entry::text(fault.what.clone())]
    };
    Listing { columns: COLUMNS.to_vec(), rows: of.faults.iter().map(row).collect() }
}

/// A sentence about the end times under varying bandwidths.
pub fn varied(of: &Variation, sigma: f64) -> String {
    let draws = of.ends_ns.len();
    format!(
        "With bandwidths that vary by a log-normal factor (σ {sigma}, mean 1, {draws} draws) it takes {} in half of the runs, {} in 95 of \
         100 and {} in 99; {} were planned.",
        time(of.p50_ns),
        time(of.p95_ns),
        time(of.p99_ns),
        time(of.nominal_ns)
    )
}

/// A table that compares schedules: the name, timeline and time in ns of each.
pub fn comparison(all: &[(&str, &Timeline, f64)]) -> Listing {
    const COLUMNS: [Column; 6] = [
        Column::words("Schedule", "what it is called"),
        Column::numbers("ns", "when all is done"),
        Column::numbers("Over the bound", "its time over the bound"),
        Column::numbers("Transfers", "how many there are"),
        Column::numbers("Busy %", "share of the time for which links carry something, on average"),
        Column::numbers("Longest way", "most transfers of a chunk one after the other"),
    ];
    let row = |(name, timeline, bound_ns): &(&str, &Timeline, f64)| {
        let links = timeline.links.len() as u32;
        let busy = (0..links).map(|link| timeline.busy_share(link)).sum::<f64>() / f64::from(links.max(1));
        // Each step below inspects all transfers.
        let looked_at = (50_000_000 / timeline.len().max(1)).clamp(1, 512) as u32;
        let depth = (0..timeline.chunks.min(looked_at))
            .filter_map(|chunk| timeline.tree(chunk).iter().map(|branch| branch.depth + 1).max())
            .max();
        vec![
            Entry::text(*name),
            ns_cell(timeline.ns(timeline.end)),
            Entry::number(Some(timeline.ns(timeline.end) / bound_ns).filter(|_| *bound_ns > 0.0), |ratio| {
                format!("{ratio:.4}")
            }),
            Entry::number(Some(timeline.len() as f64), |transfers| format!("{transfers}")),
            Entry::number(Some(busy * 100.0), |busy| format!("{busy:.1}")),
            Entry::number(depth.map(f64::from), |depth| format!("{depth}")),
        ]
    };
    Listing { columns: COLUMNS.to_vec(), rows: all.iter().map(row).collect() }
}
