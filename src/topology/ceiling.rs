//! The highest bus bandwidths over links, whatever the schedule: the size over the fluid bounds of its time, without
//! latency and with parts as fine as one likes.
//!
//! Of all_gather, reduce_scatter and alltoall these are the bounds of [`crate::schedule::bound`]. An all_reduce need
//! not be a reduce_scatter and then an all_gather, and a broadcast may begin anywhere; for these, with M the size: over
//! every cut an all_reduce sends M both ways and a broadcast or a reduce M one way; and of each part of M an all_reduce
//! sends at least 2 (n − 1) messages (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
//! workstations", Journal of Parallel and Distributed Computing 69, 2009), a broadcast or a reduce n − 1.

use super::{
    conditions::{CollectiveRequest, RequestError},
    dump::{Machine, Rates},
    model::Topology,
    study::Part,
    time::Clock,
};
use crate::{
    ceiling::Ceiling,
    collective::{Collective, Scale},
    order::CompactSort,
    schedule::bound::Bounds,
    units::{count, grouped},
};

/// Of larger graphs none is looked for: finding the bounds would delay the answers.
const MOST_RANKS: u32 = 512;
/// The same of alltoall, which has as many chunks as pairs of ranks.
const MOST_OF_PAIRS: u32 = 64;

/// What loaded files say of measured scales, and why some say nothing, in words.
pub fn ceilings<'a>(
    parts: impl IntoIterator<Item = (&'a str, &'a Part)>,
    scales: &[Scale],
) -> (Vec<Ceiling>, Vec<String>) {
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    if scales.is_empty() {
        return (found, notes);
    }
    for (file, part) in parts {
        let made: Vec<Result<Ceiling, String>> = match part {
            Part::Topology(topology) if scales.iter().any(|scale| scale.ranks == topology.nodes) => {
                vec![few(topology.nodes.into()).and_then(|()| told(of_links(topology, file, None)))]
            }
            Part::Topology(topology) => {
                let has = count(topology.nodes.into(), "node");
                vec![Err(format!("it has {has}, and no measured scale has as many ranks"))]
            }
            Part::Machine(machine) => {
                let gpus = machine.gpus.len() as u32;
                let is_of = |scale: &&Scale| scale.nodes.checked_mul(gpus) == Some(scale.ranks);
                let mut nodes: Vec<u32> = scales.iter().filter(is_of).map(|scale| scale.nodes).collect();
                nodes.compact_sort();
                nodes.dedup();
                match nodes.is_empty() {
                    true => {
                        let has = count(gpus.into(), "GPU");
                        vec![Err(format!("it has {has}, and no measured scale has as many ranks on a node"))]
                    }
                    false => nodes.into_iter().map(|nodes| of_machines(machine, nodes, file)).collect(),
                }
            }
            _ => Vec::new(),
        };
        for made in made {
            match made {
                Ok(ceiling) => found.push(ceiling),
                Err(why) => notes.push(format!("No prediction is held to the links of {file}: {why}")),
            }
        }
    }
    (found, notes)
}

/// As many ranks as bounds are looked for.
fn few(ranks: u64) -> Result<(), String> {
    let most = || format!("bounds are looked for of at most {MOST_RANKS} ranks, and there are {}", grouped(ranks));
    (ranks <= MOST_RANKS.into()).then_some(()).ok_or_else(most)
}

fn told(found: Result<Ceiling, RequestError>) -> Result<Ceiling, String> {
    found.map_err(|error| error.to_string())
}

/// The ceiling of several machines equal to the dumped one. A guessed rate makes no ceiling.
fn of_machines(machine: &Machine, nodes: u32, file: &str) -> Result<Ceiling, String> {
    let rates = Rates { nodes, ..Rates::default() };
    if let Some(gpu) = machine.gpus.iter().find(|gpu| gpu.is_linked() && !rates.knows(&gpu.generation)) {
        return Err(format!("what a link of {} carries is not known", gpu.generation));
    }
    few(u64::from(nodes) * machine.gpus.len() as u64)?;
    let (mut topology, _) = machine.topology("", &rates).map_err(|error| error.to_string())?;
    let node = |rank: u32| rank / machine.gpus.len().max(1) as u32;
    // Whichever port a GPU takes, no more leaves a node than all of its ports carry.
    let is_between = |from: u32, to: u32| node(from) != node(to);
    let leaves = topology.links.iter().filter(|link| node(link.from) == 0 && is_between(link.from, link.to));
    let used: f64 = leaves.map(|link| link.bandwidth).sum();
    let all: f64 = machine.nics.iter().map(|nic| nic.gbps.max(0.0)).sum();
    let share = if used > 0.0 { (all / used).max(1.0) } else { 1.0 };
    topology.links.iter_mut().filter(|link| is_between(link.from, link.to)).for_each(|link| link.bandwidth *= share);
    told(of_links(&topology, file, Some(nodes)))
}

/// Of a graph of links, each node of which is a rank. Fails if it can't be used, or not every node can reach every
/// other.
pub fn of_links(topology: &Topology, file: &str, nodes: Option<u32>) -> Result<Ceiling, RequestError> {
    let ranks = topology.nodes;
    let mut ceiling = Ceiling { file: file.to_owned(), ranks, nodes, busbw_gbps: Vec::new() };
    if ranks < 2 {
        return Ok(ceiling);
    }
    let bounds = |collective| -> Result<(Vec<Bounds>, Clock), RequestError> {
        let (problem, clock) =
            CollectiveRequest { collective: Some(collective), ..CollectiveRequest::default() }.problem(topology)?;
        Ok((problem.bounds(), clock))
    };
    // A chunk of each rank, of an alltoall for each rank: all of them are the size.
    let chunk_bytes = CollectiveRequest::default().chunk_bytes;
    let size_bytes = chunk_bytes * u64::from(ranks);
    let mut take = |collective: Collective, time_ns: f64| {
        let busbw_gbps = collective.busbw_gbps(ranks, size_bytes, time_ns / 1000.0);
        if time_ns > 0.0 && busbw_gbps.is_finite() && busbw_gbps > 0.0 {
            ceiling.busbw_gbps.push((collective, busbw_gbps));
        }
    };
    let mut cuts: Vec<Vec<u32>> = (0..ranks).map(|rank| vec![rank]).collect();
    for collective in [Collective::AllGather, Collective::ReduceScatter] {
        let (bounds, clock) = bounds(collective)?;
        take(collective, bounds.iter().map(|of| clock.fluid_bound_ns(of)).fold(0.0, f64::max));
        cuts.extend(bounds.into_iter().map(|of| of.fluid.inside).filter(|inside| !inside.is_empty()));
    }
    if ranks <= MOST_OF_PAIRS {
        let (bounds, clock) = bounds(Collective::AllToAll)?;
        take(Collective::AllToAll, bounds.iter().map(|of| clock.fluid_bound_ns(of)).fold(0.0, f64::max));
    }
    let (_, clock) = topology.graph(chunk_bytes)?;
    let n = u64::from(ranks);
    // All ranks' chunks over a cut: out of it, and into it.
    let over = |inside: &Vec<u32>| {
        let is_inside = |rank: u32| inside.binary_search(&rank).is_ok();
        let rate = |from_inside: bool| {
            let crosses = topology
                .links
                .iter()
                .filter(|link| is_inside(link.from) == from_inside && is_inside(link.to) != from_inside);
            crosses.map(|link| clock.rate(link)).fold(0, u64::saturating_add)
        };
        [clock.fluid_ns(n, rate(true)), clock.fluid_ns(n, rate(false))]
    };
    let (mut both_ways, mut one_way) = (0.0_f64, 0.0_f64);
    for [out, into] in cuts.iter().map(over) {
        (both_ways, one_way) = (both_ways.max(out).max(into), one_way.max(out.min(into)));
    }
    let all = topology.links.iter().map(|link| clock.rate(link)).fold(0, u64::saturating_add);
    let messages = clock.fluid_ns(n * (n - 1), all);
    take(Collective::AllReduce, both_ways.max(2.0 * messages));
    take(Collective::Broadcast, one_way.max(messages));
    take(Collective::Reduce, one_way.max(messages));
    Ok(ceiling)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{
        dump::{Gpu, Nic},
        model::{Link, Unit},
    };

    fn graph(nodes: u32, links: impl IntoIterator<Item = (u32, u32, f64)>) -> Topology {
        let link = |(from, to, bandwidth)| Link { from, to, latency_ns: 500.0, bandwidth };
        Topology { nodes, links: links.into_iter().map(link).collect(), unit: Unit::Gb, ..Topology::default() }
    }

    fn of(topology: &Topology) -> impl Fn(Collective) -> f64 + use<> {
        let ceiling = of_links(topology, "graph.csv", None).unwrap();
        let scale = Scale { nodes: 1, ranks: topology.nodes };
        move |collective| (ceiling.of(collective, scale).unwrap() * 1e6).round() / 1e6
    }

    #[test]
    fn a_full_mesh_carries_what_leaves_a_rank() {
        // Seven links of 10 GB/s leave each of eight ranks.
        let pairs = (0..8).flat_map(|from| (0..8).filter(move |to| *to != from).map(move |to| (from, to, 10.0)));
        let of = of(&graph(8, pairs));
        for collective in
            [Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter, Collective::AllToAll]
        {
            assert_eq!(of(collective), 70.0, "{collective}");
        }
        assert_eq!((of(Collective::Broadcast), of(Collective::Reduce)), (70.0, 70.0));
    }

    #[test]
    fn rings_carry_what_nccl_makes_of_them() {
        let one_way = of(&graph(5, (0..5).map(|from| (from, (from + 1) % 5, 25.0))));
        for collective in
            [Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter, Collective::Broadcast]
        {
            assert_eq!(one_way(collective), 25.0, "{collective}");
        }
        // Each pair's part goes two and a half links on average of the 4 / 5 of the size that a rank sends away.
        assert_eq!(one_way(Collective::AllToAll), 10.0);
        let both = (0..5).flat_map(|from| [(from, (from + 1) % 5, 25.0), ((from + 1) % 5, from, 25.0)]);
        assert_eq!(of(&graph(5, both))(Collective::AllReduce), 50.0);
    }

    #[test]
    fn a_reduction_along_a_line_need_not_wait_for_the_whole_sum() {
        // Sums go to one end while totals come back: M in M / 10 GB/s, and busbw counts 2 · 3/4 of M.
        let line = (0..3).flat_map(|from| [(from, from + 1, 10.0), (from + 1, from, 10.0)]);
        let of = of(&graph(4, line));
        assert_eq!((of(Collective::AllReduce), of(Collective::AllGather)), (15.0, 10.0));
    }

    #[test]
    fn a_narrow_place_between_nodes_holds_all_of_them() {
        // Two nodes of two ranks, 100 GB/s inside, 5 GB/s each between them.
        let pairs = [(0, 1, 100.0), (2, 3, 100.0), (0, 2, 5.0), (1, 3, 5.0)];
        let of = of(&graph(4, pairs.into_iter().flat_map(|(a, b, gbps)| [(a, b, gbps), (b, a, gbps)])));
        // Half of the size crosses 10 GB/s: 20 GB/s, of which busbw is three quarters.
        assert_eq!((of(Collective::AllGather), of(Collective::AllReduce)), (15.0, 15.0));
        assert_eq!(of(Collective::Broadcast), 10.0);
    }

    #[test]
    fn links_that_lead_nowhere_tell_why() {
        let broken = Part::Topology(graph(4, [(0, 1, 10.0), (1, 0, 10.0)]));
        let scales = [Scale { nodes: 1, ranks: 4 }];
        let (found, notes) = ceilings([("half.csv", &broken)], &scales);
        assert!(
            found.is_empty() && notes[0].starts_with("No prediction is held to the links of half.csv: chunk"),
            "{notes:?}"
        );
        let (found, notes) = ceilings([("half.csv", &broken)], &[Scale { nodes: 1, ranks: 8 }]);
        assert!(found.is_empty());
        assert_eq!(
            notes,
            ["No prediction is held to the links of half.csv: it has 4 nodes, and no measured scale has as many ranks"]
        );
        assert_eq!(
            ceilings([("half.csv", &broken)], &[]),
            (Vec::new(), Vec::new()),
            "without a sweep nothing is asked"
        );
    }

    #[test]
    fn dumped_machines_are_joined_by_all_of_their_ports() {
        let gpu = |dev: u32, generation: &str| Gpu {
            busid: format!("0000:0{dev}:00.0"),
            dev,
            generation: generation.to_owned(),
            to_switches: 18,
            ..Gpu::default()
        };
        let nics: Vec<Nic> = (0..4).map(|dev| Nic { dev, gbps: 50.0, ..Nic::default() }).collect();
        let machine = |generation: &str| {
            let gpus = vec![gpu(0, generation), gpu(1, generation)];
            Machine { gpus, nics: nics.clone(), ..Machine::default() }
        };
        let scales = [Scale { nodes: 1, ranks: 2 }, Scale { nodes: 2, ranks: 4 }, Scale { nodes: 3, ranks: 12 }];
        let h100 = Part::Machine(machine("sm_90"));
        let (found, notes) = ceilings([("h100.xml", &h100)], &scales);
        assert_eq!((found.len(), notes.len()), (2, 0));
        // 18 links of 20.6 GB/s.
        assert!((found[0].of(Collective::AllReduce, scales[0]).unwrap() - 370.8).abs() < 1e-6);
        // Four ports of 50 GB/s leave a node, whichever of them two GPUs are nearest to.
        assert!((found[1].of(Collective::AllGather, scales[1]).unwrap() - 300.0).abs() < 1e-6);
        let (found, notes) = ceilings([("new.xml", &Part::Machine(machine("sm_777")))], &scales[..1]);
        assert!(found.is_empty() && notes[0].ends_with("what a link of sm_777 carries is not known"), "{notes:?}");
    }
}
