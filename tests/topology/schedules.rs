//! Schedules of collectives over links: the reference figures, and what holds for all graphs.

#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;

use collectune::{
    collective::Collective,
    math::Stream,
    progress::Silent,
    schedule::{
        bound::bounds,
        demand::Demand,
        exact,
        greedy::{GreedyOptions, MatchingRule, greedy_schedule},
        plan::{Schedule, Transfer},
        problem::{Phase, Problem, Task},
        synthesize::{Method, Search, SearchState},
        timeline::{MAX_TRANSFERS, STEPS, Timeline},
        verify::Fault,
    },
    topology::{
        conditions::{CollectiveRequest, Custom, RequestError, read_custom},
        dump::{self, Dump, Graphs, Rates},
        export::{Form, Material, topology_csv},
        generate::{Kind, Recipe},
        layout,
        model::{Link, Topology, Unit},
        msccl,
        read::{self, Options},
        result,
        robust::{self, Damage},
        shape::Shape,
        study::{self, Source, Study},
        time::Clock,
    },
};

use crate::support::real;

fn made(form: &str) -> Topology {
    Recipe::new(Kind::parse(form).unwrap()).make().unwrap()
}

/// A graph of the reference figures, from its file, or made where it can be.
fn graph(name: &str) -> Topology {
    let text = real::text(&format!("topology/{name}.csv"));
    read::read(&text, name, Options::default()).unwrap().topology
}

fn wanted(collective: Collective) -> CollectiveRequest {
    CollectiveRequest { collective: Some(collective), ..CollectiveRequest::default() }
}

/// Searches until it has nothing more to try, or for so many decisions.
pub(crate) fn searched(
    topology: &Topology,
    wanted: &CollectiveRequest,
    method: Method,
    seed: u64,
    most: u64,
) -> (Search, Clock) {
    let (problem, clock) = wanted.problem(topology).unwrap();
    let mut search = Search::new(problem, method, seed);
    let mut spent = 0;
    while search.work(20_000) == SearchState::Working && spent < most {
        spent += 20_000;
    }
    (search, clock)
}

fn all_gather_ns(topology: &Topology, method: Method, seed: u64) -> f64 {
    let (search, clock) = searched(topology, &CollectiveRequest::default(), method, seed, 20_000_000);
    let (schedule, _) = search.best().unwrap();
    assert_eq!(search.problem.faults(&schedule), [], "{} by {method:?}", topology.name);
    assert!(search.time().unwrap() >= search.proven());
    clock.ns(schedule.end(&search.problem.graph))
}

/// A ring of five nodes with one pair of links at 1 GiB/s.
fn seed_ring() -> Topology {
    let mut ring = made("ring:5");
    for link in &mut ring.links {
        if [link.from, link.to] == [0, 4] || [link.from, link.to] == [4, 0] {
            link.bandwidth = 1.0;
        }
    }
    ring
}

/// Five nodes and eight links: the sample of a README among the reference figures.
fn sample() -> Topology {
    let links = [
        (0, 1, 1000.0),
        (0, 2, 2000.0),
        (1, 2, 1000.0),
        (1, 4, 2000.0),
        (2, 3, 1000.0),
        (3, 1, 2000.0),
        (3, 4, 1000.0),
        (4, 0, 1000.0),
    ];
    let links = links.map(|(from, to, bandwidth)| Link { from, to, latency_ns: 0.0, bandwidth });
    Topology { name: "sample".into(), nodes: 5, links: links.to_vec(), ..Topology::default() }
}

/// The figures of the reference: name; L1, L2, L3 and optimum in ns.
const REFERENCE: [(&str, f64, f64, f64, f64); 20] = [
    ("ring5_seed", 76_593.137, 80_125.0, 80_125.0, 80_125.0),
    ("ring5_bi", 39_062.5, 40_062.5, 40_062.5, 40_062.5),
    ("line5", 78_125.0, 80_125.0, 80_125.0, 80_125.0),
    ("ring5_uni", 78_125.0, 80_125.0, 80_125.0, 80_125.0),
    ("sample8link", 3_906.25, 3_906.25, 2_929.687_5, 3_906.25),
    ("hypercube3", 45_572.917, 60_093.75, 60_093.75, 60_093.75),
    ("hypercube4", 73_242.188, 80_125.0, 80_125.0, 80_125.0),
    ("torus4x4", 73_242.188, 80_125.0, 80_125.0, 80_125.0),
    ("torus4x4x4", 205_078.125, 220_343.75, 120_187.5, 220_343.75),
    ("torus8x8", 307_617.188, 320_500.0, 160_250.0, 320_500.0),
    ("mesh3x3", 78_125.0, 80_125.0, 80_125.0, 80_125.0),
    ("mesh4x3", 107_421.875, 120_187.5, 100_156.25, 120_187.5),
    ("mesh4x4", 146_484.375, 160_250.0, 120_187.5, 160_250.0),
    ("mesh5x5", 234_375.0, 240_375.0, 160_250.0, 240_375.0),
    ("mesh8x8", 615_234.375, 641_000.0, 280_437.5, 641_000.0),
    ("mesh16x16", 2_490_234.375, 2_564_000.0, 600_937.5, 2_564_000.0),
    ("fc8", 19_531.25, 20_031.25, 20_031.25, 20_031.25),
    ("dgx1v", 45_572.917, 60_693.75, 59_993.75, 60_693.75),
    ("twogroup4x2", 390_625.0, 392_625.0, 236_375.0, 412_656.25),
    ("hetmesh4x4_50_5", 585_937.5, 587_437.5, 647_531.25, 647_531.25),
];

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn bounds_are_those_of_the_reference() {
    for (name, fluid, cut, path, _) in REFERENCE {
        let topology = graph(name);
        let (problem, clock) = CollectiveRequest::default().problem(&topology).unwrap();
        let of = &problem.bounds()[0];
        let near = clock.fluid_ns(of.fluid.chunks, of.fluid.rate);
        assert!((near - fluid).abs() < 0.001, "{name}: L1 {near} instead of {fluid}");
        assert_eq!(clock.ns(of.cut_time), cut, "{name}: L2");
        assert_eq!(clock.ns(of.path_time), path, "{name}: L3");
        assert!(of.fluid_is_exact, "{name}");
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn schedules_are_as_short_as_the_reference() {
    for (name, _, _, _, optimum) in REFERENCE {
        let topology = graph(name);
        for seed in 1..=3 {
            let (search, clock) = searched(&topology, &CollectiveRequest::default(), Method::Auto, seed, 20_000_000);
            let (schedule, _) = search.best().unwrap();
            assert_eq!(search.problem.faults(&schedule), [], "{name}");
            assert_eq!(clock.ns(schedule.end(&search.problem.graph)), optimum, "{name}, seed {seed}");
            assert!(search.is_optimal(), "{name}: not proven");
        }
    }
}

#[test]
fn the_ring_and_the_sample_need_no_files() {
    assert_eq!(all_gather_ns(&seed_ring(), Method::Auto, 1), 80_125.0);
    assert_eq!(all_gather_ns(&sample(), Method::Auto, 1), 3_906.25);
    let decimal = Topology { unit: Unit::Gb, ..seed_ring() };
    assert_eq!(all_gather_ns(&decimal, Method::Auto, 1), 85_886.08);
    let more = CollectiveRequest { chunks: 4, ..CollectiveRequest::default() };
    let (search, clock) = searched(&seed_ring(), &more, Method::Auto, 1, 1_000_000);
    assert_eq!(clock.ns(search.time().unwrap()), 320_500.0);
    assert!(search.is_optimal());
}

#[test]
fn meshes_are_optimal_for_every_seed_with_the_rarest_first() {
    for (form, optimum) in [
        ("mesh:3x3", 80_125.0),
        ("mesh:4x3", 120_187.5),
        ("mesh:4x4", 160_250.0),
        ("mesh:5x5", 240_375.0),
        ("mesh:8x8", 641_000.0),
    ] {
        let topology = made(form);
        for seed in 0..50 {
            assert_eq!(all_gather_ns(&topology, Method::Earliest, seed), optimum, "{form}, seed {seed}");
        }
    }
    assert_eq!(all_gather_ns(&made("mesh:16x16"), Method::Earliest, 5), 2_564_000.0);
}

#[test]
fn the_closed_construction_is_optimal_on_symmetric_graphs() {
    for (form, rounds) in [
        ("ring:5", 2),
        ("ring:12", 6),
        ("ring:9:one-way", 8),
        ("torus:4x4", 4),
        ("torus:8x8", 16),
        ("torus:4x4x4", 11),
        ("torus:16x16", 64),
        ("torus:3x5", 4),
        ("hypercube:3", 3),
        ("hypercube:4", 4),
        ("hypercube:6", 11),
        ("full:8", 1),
        ("full:13", 1),
    ] {
        for seed in 0..5 {
            let topology = made(form);
            assert_eq!(all_gather_ns(&topology, Method::Symmetric, seed), f64::from(rounds) * 20_031.25, "{form}");
        }
    }
    // The numbering of the nodes does not matter.
    let mut ring = made("ring:7");
    for link in &mut ring.links {
        (link.from, link.to) = (link.from * 3 % 7, link.to * 3 % 7);
    }
    assert_eq!(all_gather_ns(&ring, Method::Symmetric, 1), 3.0 * 20_031.25);
    // Several chunks of each node, and dimensions of different speeds.
    let three = CollectiveRequest { chunks: 3, ..CollectiveRequest::default() };
    let (search, clock) = searched(&made("torus:4x4"), &three, Method::Symmetric, 1, 1_000_000);
    assert_eq!(clock.ns(search.time().unwrap()), 12.0 * 20_031.25);
    let slow = Recipe { slow_bandwidth: Some(25.0), ..Recipe::new(Kind::Torus(vec![4, 4])) }.make().unwrap();
    let (search, _) = searched(&slow, &CollectiveRequest::default(), Method::Symmetric, 1, 1_000_000);
    let (schedule, _) = search.best().unwrap();
    assert_eq!(search.problem.faults(&schedule), []);
    assert!(search.time().unwrap() <= search.bound() * 5 / 4);
    // A mesh is not symmetric.
    let (search, _) = searched(&made("mesh:3x3"), &CollectiveRequest::default(), Method::Symmetric, 1, 1000);
    assert!(search.best().is_none());
}

#[test]
fn searches_find_what_greed_does_not() {
    let (dgx, groups) = (made("dgx1v"), made("twogroups:4x2"));
    assert_eq!(all_gather_ns(&dgx, Method::Earliest, 1), 79_525.0);
    for seed in 1..=5 {
        for method in [Method::Exact, Method::Auto, Method::Restarts] {
            assert_eq!(all_gather_ns(&dgx, method, seed), 60_693.75, "{method:?}, seed {seed}");
        }
        for method in [Method::Exact, Method::Beam, Method::Auto, Method::Restarts] {
            assert_eq!(all_gather_ns(&groups, method, seed), 412_656.25, "{method:?}, seed {seed}");
        }
    }
}

#[test]
fn tacos_does_not_break_causality() {
    for seed in 0..300 {
        let topology = random(seed, 7);
        let (search, _) = searched(&topology, &CollectiveRequest::default(), Method::Tacos, seed, 1);
        let (schedule, _) = search.best().unwrap();
        assert_eq!(search.problem.faults(&schedule), []);
        assert!(search.time().unwrap() >= search.proven());
    }
}

#[test]
fn all_reduce_is_twice_the_all_gather() {
    for (topology, optimum) in [
        (seed_ring(), 160_250.0),
        (made("ring:5"), 80_125.0),
        (made("line:5"), 160_250.0),
        (made("full:8"), 40_062.5),
        (made("hypercube:3"), 120_187.5),
        (made("dgx1v"), 121_387.5),
        (made("mesh:3x3"), 160_250.0),
    ] {
        let (search, clock) = searched(&topology, &wanted(Collective::AllReduce), Method::Auto, 1, 20_000_000);
        let (schedule, _) = search.best().unwrap();
        assert_eq!(search.problem.faults(&schedule), []);
        assert_eq!(clock.ns(schedule.end(&search.problem.graph)), optimum, "{}", topology.name);
        assert!(search.is_optimal_in_parts());
        let (search, clock) = searched(&topology, &wanted(Collective::ReduceScatter), Method::Auto, 1, 20_000_000);
        assert_eq!(clock.ns(search.time().unwrap()), optimum / 2.0, "{}", topology.name);
        assert!(search.is_optimal());
    }
    // Every element needs 2(N − 1) transfers, so no schedule at all is shorter.
    let (search, _) = searched(&made("ring:5"), &wanted(Collective::AllReduce), Method::Auto, 1, 1_000_000);
    assert!(search.is_optimal());
    let (search, _) = searched(&made("mesh:3x3"), &wanted(Collective::AllReduce), Method::Auto, 1, 1_000_000);
    assert!(!search.is_optimal(), "only in parts");
}

/// A connected graph of a few nodes with links of several speeds, some in one direction only.
fn random(seed: u64, most: usize) -> Topology {
    let mut stream = Stream::new(seed);
    let nodes = 2 + stream.below(most - 1) as u32;
    let degree = (1 + stream.below(4) as u32).min(nodes - 1);
    let kind = Kind::Random { nodes, degree, seed: stream.next_u64() };
    let mut topology = Recipe::new(kind).make().unwrap();
    for link in &mut topology.links {
        link.bandwidth = [1.0, 5.0, 7.3, 25.0, 50.0, 200.0][stream.below(6)];
        link.latency_ns = [0.0, 1.5, 500.0, 700.0, 20_000.0][stream.below(5)];
    }
    topology
}

const COLLECTIVES: [Collective; 8] = [
    Collective::AllGather,
    Collective::ReduceScatter,
    Collective::AllReduce,
    Collective::Broadcast,
    Collective::Reduce,
    Collective::Scatter,
    Collective::Gather,
    Collective::AllToAll,
];

#[test]
fn every_schedule_is_right_and_above_the_bound() {
    // Thousands of graphs, every collective, every synthesizer.
    for seed in 0..3000_u64 {
        let topology = random(seed, if seed % 10 == 0 { 20 } else { 9 });
        let collective = COLLECTIVES[seed as usize % COLLECTIVES.len()];
        let method = Method::ALL[(seed / 8) as usize % Method::ALL.len()];
        let root = seed as u32 % topology.nodes;
        let chunks = 1 + (seed / 64) as u32 % 3;
        let chunk_bytes = [1, 4096, 1 << 20, 1_000_003][(seed / 7) as usize % 4];
        let wanted = CollectiveRequest { collective: Some(collective), root, chunks, chunk_bytes, custom: None };
        let (problem, _) = wanted.problem(&topology).unwrap();
        let mut search = Search::new(problem, method, seed);
        for _ in 0..3 {
            search.work(2000);
        }
        let what = format!("seed {seed}: {} of {} by {method:?}", topology.name, wanted.words());
        let Some((schedule, _)) = search.best() else {
            assert!(matches!(method, Method::Symmetric), "{what}: nothing found");
            continue;
        };
        assert_eq!(search.problem.faults(&schedule), [], "{what}");
        let time = search.time().unwrap();
        assert_eq!(time, schedule.end(&search.problem.graph), "{what}");
        assert!(time >= search.bound() && time >= search.proven(), "{what}: below the bound");
    }
}

/// Nodes that can be reached from any of some, by hand.
fn reached(topology: &Topology, from: &[u32]) -> Vec<bool> {
    let mut is_reached = vec![false; topology.nodes as usize];
    from.iter().for_each(|node| is_reached[*node as usize] = true);
    for _ in 0..topology.nodes {
        for link in &topology.links {
            is_reached[link.to as usize] |= is_reached[link.from as usize];
        }
    }
    is_reached
}

#[test]
fn conditions_of_any_kind_on_any_graph_are_met_or_refused() {
    // Graphs that may fall apart; chunks that some have and others want, or one of the collectives.
    let (mut met, mut refused) = (0, 0);
    for seed in 0..3000_u64 {
        let mut stream = Stream::new(3_000_000 + seed);
        let mut topology = random(4_000_000 + seed, 10);
        let share = [0.0, 0.1, 0.5][seed as usize % 3];
        topology.links.retain(|_| stream.unit() >= share);
        if topology.links.is_empty() {
            continue;
        }
        let nodes = topology.nodes as usize;
        let some = |stream: &mut Stream, least: usize| -> Vec<u32> {
            let mut some: Vec<u32> = (0..topology.nodes).collect();
            stream.shuffle(&mut some);
            some.truncate(least + stream.below(nodes));
            some
        };
        let chunks: Vec<(Vec<u32>, Vec<u32>)> =
            (0..1 + stream.below(8)).map(|_| (some(&mut stream, 1), some(&mut stream, 0))).collect();
        let is_own = seed % 4 != 0;
        let is_possible = |(has, wants): &(Vec<u32>, Vec<u32>)| {
            let reached = reached(&topology, has);
            wants.iter().all(|node| reached[*node as usize])
        };
        let should_be_met = chunks.iter().all(is_possible);
        let custom = Custom { names: (0..chunks.len()).map(|chunk| chunk.to_string()).collect(), chunks };
        let wanted = CollectiveRequest {
            collective: (!is_own).then(|| COLLECTIVES[(seed / 4) as usize % COLLECTIVES.len()]),
            root: stream.below(nodes) as u32,
            chunks: 1 + stream.below(3) as u32,
            custom: is_own.then(|| Arc::new(custom)),
            ..CollectiveRequest::default()
        };
        let problem = wanted.problem(&topology);
        if is_own {
            assert_eq!(problem.is_ok(), should_be_met, "seed {seed}: {:?}", problem.err());
        }
        let Ok((problem, _)) = problem else {
            refused += 1;
            continue;
        };
        let methods = [Method::Auto, Method::Earliest, Method::Restarts, Method::Routed, Method::Exact, Method::Tacos];
        let method = methods[(seed / 3) as usize % methods.len()];
        let mut search = Search::new(problem, method, seed);
        // In pieces of any size.
        for _ in 0..200 {
            if search.work(1 + stream.below(200) as u64) == SearchState::Finished {
                break;
            }
        }
        let what = format!("seed {seed}: {} by {method:?}", wanted.words());
        let (schedule, _) = search.best().unwrap_or_else(|| panic!("{what}: nothing found"));
        assert_eq!(search.problem.faults(&schedule), [], "{what}");
        assert!(search.time().unwrap() >= search.proven(), "{what}: below the bound");
        met += 1;
    }
    assert!(met > 1000 && refused > 300, "{met} met, {refused} refused");
}

#[test]
fn a_search_in_small_pieces_finds_the_same() {
    for form in ["mesh:5x5", "dgx1v", "random:12:3:7"] {
        let of = |piece: u64| {
            let (problem, _) = CollectiveRequest::default().problem(&made(form)).unwrap();
            let mut search = Search::new(problem, Method::Earliest, 3);
            let mut last = 0;
            while search.work(piece) == SearchState::Working {
                // The share of the first schedule only grows, and there is no result before it is complete.
                if let Some((done, total)) = search.progress() {
                    assert!(done >= last && done <= total && search.time().is_none());
                    last = done;
                }
            }
            search.best().unwrap().0.into_owned()
        };
        assert_eq!(of(1), of(u64::MAX), "{form}");
    }
}

#[test]
fn a_window_shows_the_transfers_of_the_whole_timeline() {
    let (search, clock) = searched(&made("mesh:20x20"), &CollectiveRequest::default(), Method::Earliest, 1, u64::MAX);
    let (schedule, _) = search.best().unwrap();
    let whole = Timeline::new(&search.problem, &schedule, None, clock.ticks_per_ns).unwrap();
    assert!(whole.len() > MAX_TRANSFERS);
    let first = whole.abridged();
    let summary = first.summary().unwrap();
    assert_eq!((summary.transfers, first.transfer_count()), (whole.len() as u64, whole.len() as u64));
    assert!(
        first.len() < MAX_TRANSFERS
            && (0..whole.links.len() as u32).all(|link| first.chunks_carried(link) == whole.chunks_carried(link))
    );
    assert!(first.covers(0) && !first.covers(whole.end / 2));
    // Of every second node and every second chunk.
    let ownership = whole.ownership();
    assert_eq!((summary.every, summary.ownership.len()), ((2, 2), 200 * 200));
    assert!((0..200 * 200).all(|cell| summary.ownership[cell] == ownership[(cell / 200 * 400 + cell % 200) * 2]));
    assert_eq!(summary.busy, whole.utilisation(STEPS));
    let (from, chunk) = (whole.end / 2 + 7, 11);
    let later = first.completed(whole.window_from(from, Some(chunk)));
    let window = later.window.clone().unwrap();
    assert!(later.covers(from) && window.to > from && later.len() < MAX_TRANSFERS);
    for time in [from, (from + window.to) / 2, window.to - 1] {
        for link in 0..whole.links.len() as u32 {
            let moves =
                |timeline: &Timeline| timeline.transfer_at(link, time).map(|sent| (sent.chunk, sent.start, sent.end));
            assert_eq!(moves(&later), moves(&whole), "link {link} at {time}");
        }
    }
    let arrived = |node: usize| {
        let to = (0..whole.links.len() as u32).filter(|link| whole.links[*link as usize].1 as usize == node);
        to.flat_map(|link| whole.transfers_on(link)).filter(|sent| sent.end <= from).count() as u32
    };
    assert!((0..400).all(|node| window.arrived[node] == arrived(node)));
    let way = |timeline: &Timeline| {
        timeline.tree(chunk).iter().map(|of| (of.sent.link, of.sent.start, of.depth)).collect::<Vec<_>>()
    };
    assert_eq!(way(&later), way(&whole));
}

#[test]
fn no_search_beats_what_is_proven() {
    // What is proven by one seed, no other seed may beat.
    for seed in 0..150 {
        let topology = random(1_000_000 + seed, 6);
        let (search, _) = searched(&topology, &CollectiveRequest::default(), Method::Exact, seed, 60_000);
        let proven = search.proven();
        let (other, _) = searched(&topology, &CollectiveRequest::default(), Method::Restarts, seed + 1, 200_000);
        assert!(other.time().unwrap() >= proven, "seed {seed}: {:?} below {proven}", other.time());
        if search.is_optimal() {
            assert!(other.time() >= search.time());
        }
    }
}

#[test]
fn what_is_proven_is_what_a_search_over_everything_finds() {
    // All schedules of tiny graphs by brute force: every order of (link, chunk) pairs, each transfer as early as
    // possible.
    for seed in 0..60 {
        let topology = random(2_000_000 + seed, 3);
        let (search, _) = searched(&topology, &CollectiveRequest::default(), Method::Exact, seed, 1_000_000);
        assert!(search.is_optimal(), "seed {seed}");
        let (problem, _) = CollectiveRequest::default().problem(&topology).unwrap();
        assert_eq!(search.time().unwrap(), brute(&problem, u64::MAX), "seed {seed}");
    }
}

#[test]
fn what_is_proven_of_an_alltoall_is_what_a_search_over_everything_finds() {
    for (form, slow) in [("line:3", 1), ("ring:3:one-way", 1), ("line:3", 0), ("ring:3:one-way", 2)] {
        let mut topology = made(form);
        topology.links[slow].bandwidth = 20.0;
        let (search, _) = searched(&topology, &wanted(Collective::AllToAll), Method::Exact, 1, 1_000_000);
        let (problem, _) = wanted(Collective::AllToAll).problem(&topology).unwrap();
        let least = brute(&problem, search.time().unwrap() + 1);
        assert_eq!(search.time(), Some(least), "{form}");
        assert!(search.bound() <= least && search.proven() <= least, "{form}: {} for {least}", search.bound());
    }
}

/// The shortest schedule of a collective that copies, found by trying every sequence of transfers that bring a node a
/// new chunk; `known` if none is shorter.
fn brute(problem: &Problem, known: u64) -> u64 {
    fn go(problem: &Problem, at: &mut Vec<u64>, free: &mut Vec<u64>, best: &mut u64) {
        let (chunks, graph, demand) = (problem.chunks(), &problem.graph, problem.copy.as_ref().unwrap());
        let arrivals = || {
            (0..chunks)
                .flat_map(|chunk| demand.wants(chunk).map(move |node| node as usize * chunks + chunk))
                .map(|of| at[of])
        };
        let last = arrivals().max().unwrap_or(0);
        if last < u64::MAX {
            *best = (*best).min(last);
            return;
        }
        for (link, of) in graph.links().iter().enumerate() {
            for chunk in 0..chunks {
                let (from, to) = (of.from as usize * chunks + chunk, of.to as usize * chunks + chunk);
                if at[from] == u64::MAX || at[to] != u64::MAX {
                    continue;
                }
                let end = at[from].max(free[link]) + of.duration;
                if end >= *best {
                    continue;
                }
                let before = std::mem::replace(&mut free[link], end);
                at[to] = end;
                go(problem, at, free, best);
                at[to] = u64::MAX;
                free[link] = before;
            }
        }
    }
    let (nodes, chunks) = (problem.graph.nodes(), problem.chunks());
    let mut at = vec![u64::MAX; nodes * chunks];
    for chunk in 0..chunks {
        problem.copy.as_ref().unwrap().sources(chunk).iter().for_each(|node| at[*node as usize * chunks + chunk] = 0);
    }
    let mut best = known;
    go(problem, &mut at, &mut vec![0; problem.graph.links().len()], &mut best);
    best
}

#[test]
fn the_verifier_sees_what_is_wrong() {
    let (search, _) = searched(&seed_ring(), &CollectiveRequest::default(), Method::Auto, 1, 1000);
    let good = search.best().unwrap().0.into_owned();
    let problem = &search.problem;
    assert_eq!(problem.faults(&good), []);
    for index in 0..good.transfers.len() {
        let mut less = good.clone();
        less.transfers.remove(index);
        assert!(problem.faults(&less).iter().any(|fault| matches!(fault, Fault::Missing { .. })), "{index}");
        if good.transfers[index].start > 0 {
            let mut early = good.clone();
            early.transfers[index].start = 0;
            assert!(!problem.faults(&early).is_empty(), "{index} is not there at the beginning, or its link is busy");
        }
    }
    let mut twice = good.clone();
    twice.transfers.push(good.transfers[0]);
    assert!(matches!(problem.faults(&twice)[0], Fault::Overlap { .. }));
    let mut odd = good.clone();
    odd.transfers.push(Transfer { link: 99, chunk: 0, start: 0 });
    assert_eq!(problem.faults(&odd), [Fault::Unknown(20)]);

    let (search, _) = searched(&made("mesh:3x3"), &wanted(Collective::AllReduce), Method::Auto, 1, 1000);
    let good = search.best().unwrap().0.into_owned();
    let problem = &search.problem;
    assert_eq!(problem.faults(&good), []);
    for index in 0..good.reducing {
        let mut less = good.clone();
        less.transfers.remove(index);
        less.reducing -= 1;
        assert!(!problem.faults(&less).is_empty(), "without {index}");
        let mut late = good.clone();
        late.transfers[index].start += 10 * 20_031 * 32;
        assert!(!problem.faults(&late).is_empty(), "late {index}");
    }
    // A part that is sent twice is counted twice.
    let mut twice = good.clone();
    let first = good.transfers[0];
    let from = problem.graph.links()[first.link as usize].from;
    let other = *problem.graph.outgoing(from as usize).iter().find(|link| **link != first.link).unwrap();
    twice.transfers.insert(0, Transfer { link: other, ..first });
    twice.reducing += 1;
    assert!(problem.faults(&twice).iter().any(|fault| matches!(fault, Fault::CountedTwice { .. })));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn forms_are_those_of_the_files() {
    for (form, file) in [
        ("ring:5", "ring5_bi"),
        ("ring:5:one-way", "ring5_uni"),
        ("line:5", "line5"),
        ("mesh:3x3", "mesh3x3"),
        // No mesh 4×3: the reference has three columns, ours four, so the nodes are numbered differently.
        ("mesh:4x4", "mesh4x4"),
        ("mesh:16x16", "mesh16x16"),
        ("torus:4x4", "torus4x4"),
        ("torus:4x4x4", "torus4x4x4"),
        ("hypercube:3", "hypercube3"),
        ("full:8", "fc8"),
        ("dgx1v", "dgx1v"),
        ("twogroups:4x2", "twogroup4x2"),
    ] {
        let file = graph(file);
        let ends = |topology: &Topology| {
            let mut ends: Vec<String> = topology
                .links
                .iter()
                .map(|l| format!("{}>{} {} {}", l.from, l.to, l.latency_ns, l.bandwidth))
                .collect();
            ends.sort();
            ends
        };
        let made = made(form);
        assert_eq!(ends(&made), ends(&file), "{form}");
        assert_eq!(made.nodes, file.nodes);
        // The file does not say its form; it is seen.
        if made.shape.is_some() {
            assert_eq!(
                layout::recognise(&file).map(|shape| std::mem::discriminant(&shape)),
                made.shape.as_ref().map(std::mem::discriminant),
                "{form}"
            );
        }
    }
}

#[test]
fn nodes_stand_where_the_form_says() {
    for form in [
        "ring:6",
        "line:7",
        "mesh:4x3",
        "mesh:3x3x3",
        "torus:8x8",
        "torus:4x4x4",
        "hypercube:5",
        "full:9",
        "fattree:4x8",
        "dgx1v",
    ] {
        let topology = made(form);
        let places = layout::places(&topology);
        assert_eq!(places.len(), topology.nodes as usize);
        for (index, a) in places.iter().enumerate() {
            assert!((-1e-3..=1.001).contains(&a.x) && (-1e-3..=1.001).contains(&a.y), "{form}: {a:?}");
            for b in &places[..index] {
                assert!((a.x - b.x).abs() + (a.y - b.y).abs() > 1e-4, "{form}: two nodes in one place");
            }
        }
    }
    // A mesh is a mesh: rows and columns.
    let places = layout::places(&Topology { shape: None, ..made("mesh:3x4") });
    assert!((0..12).all(|node| (places[node].y - places[node / 4 * 4].y).abs() < 1e-6));
    assert!((0..12).all(|node| (places[node].x - places[node % 4].x).abs() < 1e-6));
    assert_eq!(layout::recognise(&made("torus:4x6")), Some(Shape::Grid { dimensions: vec![4, 6], wraps: true }));
}

#[test]
fn bad_files_are_told_where() {
    const HEADER: &str = "Src,Dest,Latency (ns),Bandwidth (GB/s)\n";
    for (text, said) in [
        (format!("five\n{HEADER}0,1,500,50\n"), "line 1, whole line: \"five\" is not the number of nodes"),
        (
            format!("{HEADER}0,1,500,50\n"),
            "line 1, whole line: \"Src,Dest,Latency (ns),Bandwidth (GB/s)\" is not the number of nodes",
        ),
        (format!("0\n{HEADER}"), "line 1, whole line: \"0\" is no number of nodes that can be handled"),
        (format!("-3\n{HEADER}"), "line 1, whole line: \"-3\" is no number of nodes"),
        (format!("99999999\n{HEADER}"), "line 1, whole line: \"99999999\" is no number of nodes"),
        (
            format!("2\n{HEADER}0,1,500,50\n1,5,500,50\n"),
            "line 4, column Dest: \"5\" is no node: there are 2, numbered 0 to 1",
        ),
        (format!("2\n{HEADER}0,-1,500,50\n"), "line 3, column Dest: \"-1\" is no node"),
        (format!("2\n{HEADER}0,1.5,500,50\n"), "line 3, column Dest: \"1.5\" is not a whole number"),
        (
            format!("3\n{HEADER}1,1,500,50\n"),
            "line 3, whole line: \"1,1,500,50\" can't be used: it leads from a node to itself",
        ),
        (
            format!("3\n{HEADER}0,1,500,50\n\n# again\n0,1,500,25\n"),
            "line 6, whole line: \"0,1,500,25\" is a second link from 0 to 1, as line 3",
        ),
        (
            format!("3\n{HEADER}0,1,500,0\n"),
            "line 3, column Bandwidth (GB/s): \"0\" can't be used: its bandwidth is not above zero",
        ),
        (format!("3\n{HEADER}0,1,500,-50\n"), "line 3, column Bandwidth (GB/s): \"-50\" can't be used"),
        (
            format!("3\n{HEADER}0,1,-5,50\n"),
            "line 3, column Latency (ns): \"-5\" can't be used: its latency is no time",
        ),
        (format!("3\n{HEADER}0,1,fast,50\n"), "line 3, column Latency (ns): \"fast\" is not a number"),
        (format!("3\n{HEADER}0,1,500\n"), "line 3, column Bandwidth (GB/s): \"\" is missing"),
        (format!("3\n{HEADER}0,1,0,inf\n"), "it takes no time at all"),
        (format!("3\n{HEADER}"), "line 1, whole line: \"3\" is followed by no link"),
        (String::new(), "is empty"),
    ] {
        let error = read::read(&text, "x", Options::default()).unwrap_err().to_string();
        assert!(error.contains(said), "{error}\ninstead of\n{said}");
    }
    let two = format!("2\n{HEADER}0,1,500,50\n0,1,700,25\n1,0,500,inf\n");
    let merged = read::read(&two, "x", Options { merge: true, ..Options::default() }).unwrap();
    assert_eq!(merged.topology.links[0], Link { from: 0, to: 1, latency_ns: 700.0, bandwidth: 75.0 });
    // Units in brackets, or behind an underscore or a blank, count as well; bits are no bytes.
    for (latency, latency_ns) in
        [("latency_ms", 5e6), ("Latency [us]", 5e3), ("latency_s", 5e9), ("Latency us", 5e3), ("latency", 5.0)]
    {
        for bandwidth in ["bandwidth_GBps", "Bandwidth [GB/s]", "bandwidth (gb/s)", "Bandwidth GB/s", "bandwidth"] {
            let text = format!("2\nsrc,dst,{latency},{bandwidth}\n0,1,5,50\n1,0,5,50\n");
            let links = read::read(&text, "x", Options::default()).unwrap().topology.links;
            assert_eq!(links[0], Link { from: 0, to: 1, latency_ns, bandwidth: 50.0 }, "{latency}, {bandwidth}");
        }
    }
    for header in [
        "Latency (ns),Bandwidth (Gb/s)",
        "Latency (ns),Bandwidth [Gbit/s]",
        "Latency (ns),Bandwidth_Gbps",
        "Latency (ns),bandwidth_gbps",
        "Latency (ns),Bandwidth MB/s",
        "latency_minutes_sec,Bandwidth (GB/s)",
    ] {
        let text = format!("2\nSrc,Dest,{header}\n0,1,5,50\n1,0,5,50\n");
        let error = read::read(&text, "x", Options::default()).unwrap_err().to_string();
        assert!(error.contains("has a unit that is not read"), "{header}: {error}");
    }
    // Any order of columns, tabs, decimals, microseconds, no header at all.
    let other =
        read::read("3\nBandwidth (GiB/s)\tDst\tsource\tLatency (us)\n50.5\t1\t0\t0.5\n", "x", Options::default())
            .unwrap();
    assert_eq!(other.topology.links, [Link { from: 0, to: 1, latency_ns: 500.0, bandwidth: 50.5 }]);
    assert!(other.notes.iter().any(|note| note == "Node 2 has no link"), "{:?}", other.notes);
    assert!(other.notes.iter().any(|note| note.contains("Not all nodes can reach each other")));
    let bare = read::read("2\n0,1,5e2,50\n1,0,500,50\n", "x", Options::default()).unwrap();
    assert_eq!((bare.topology.links.len(), bare.notes.len()), (2, 1));
    let cut = Topology { links: made("line:4").links[..4].to_vec(), ..made("line:4") };
    assert_eq!(CollectiveRequest::default().problem(&cut).unwrap_err(), RequestError::NoWay { chunk: 0, node: 3 },);
    for form in [
        "ring:1",
        "mesh:0x4",
        "mesh:99999x99999",
        "torus",
        "cube:70",
        "ring:x",
        "random:8:3",
        "full:5000",
        "",
        "twogroups:4x9",
    ] {
        assert!(Kind::parse(form).is_err(), "{form}");
    }
}

/// A result file of an all_reduce on links without latency that take `T` for a chunk: `transfers` are (from, to, chunk,
/// start in units of `T`).
fn all_reduce_file(nodes: u32, links: &[(u32, u32)], transfers: &[(u32, u32, u32, u32)]) -> String {
    const T: f64 = 976_562.5;
    let mut text = format!(
        "NPUs Count,{nodes}\nLinks Count,{}\nChunks Count,{nodes}\nChunk Size,1048576\nCollective,all_reduce\n\
         SrcID,DestID,Latency (ns),Bandwidth (GiB/s),Chunks (ID:ns:ns)\n",
        links.len()
    );
    for (from, to) in links {
        text += &format!("{from},{to},0,1");
        for (.., chunk, start) in transfers.iter().filter(|(a, b, ..)| (a, b) == (from, to)) {
            text += &format!(",{chunk}:{}:{}", T * f64::from(*start), T * f64::from(start + 1));
        }
        text.push('\n');
    }
    text
}

#[test]
fn chunks_of_an_all_reduce_are_summed_and_copied_one_after_the_other() {
    let check = |text: &str| study::check(&result::read(text, "x", Unit::Gib).unwrap(), None, None).unwrap();
    // The sum of chunk n ends at node n, one chunk at a time around a ring of three.
    let one_by_one: Vec<(u32, u32, u32, u32)> = (0..3)
        .flat_map(|chunk| (0..4).map(move |hop| ((chunk + 1 + hop) % 3, (chunk + 2 + hop) % 3, chunk, 4 * chunk + hop)))
        .collect();
    let ring = [(0, 1), (1, 2), (2, 0)];
    let checked = check(&all_reduce_file(3, &ring, &one_by_one));
    assert_eq!(checked.faults, [] as [String; 0]);
    for index in 0..one_by_one.len() {
        let mut less = one_by_one.clone();
        less.remove(index);
        assert!(!check(&all_reduce_file(3, &ring, &less)).faults.is_empty(), "without {index}");
    }

    // Recursive doubling sends partial sums to several nodes, and no chunk is summed up at one.
    let pairs = [[(0, 1), (1, 0), (2, 3), (3, 2)], [(0, 2), (2, 0), (1, 3), (3, 1)]];
    let doubling: Vec<(u32, u32, u32, u32)> = (0..4)
        .flat_map(|chunk| (0..2).map(move |step| (chunk, step)))
        .flat_map(|(chunk, step)| pairs[step as usize].map(|(from, to)| (from, to, chunk, 2 * chunk + step)))
        .collect();
    let verified = |transfers: &[(u32, u32, u32, u32)]| check(&all_reduce_file(4, &pairs.concat(), transfers));
    let checked = verified(&doubling);
    assert_eq!(checked.faults, [] as [String; 0]);
    assert_eq!(checked.time_ns, 8.0 * 976_562.5);
    for index in 0..doubling.len() {
        let mut less = doubling.clone();
        less.remove(index);
        assert!(!verified(&less).faults.is_empty(), "without {index}");
        // The first step must be over before the second; when that ends is no matter.
        let mut late = doubling.clone();
        late[index].3 += 20;
        let is_first_step = doubling[index].3.is_multiple_of(2);
        assert_eq!(verified(&late).faults.is_empty(), !is_first_step, "late {index}");
    }
    let mut twice = doubling.clone();
    twice.extend([(0, 1, 0, 30), (1, 3, 0, 31)]);
    assert_eq!(verified(&twice).faults, [] as [String; 0], "a whole sum may be sent again");
    // The part of node 0 comes to node 3 on two ways, in sums of which none contains the other.
    let mut twice: Vec<_> = doubling.into_iter().filter(|(.., chunk, _)| *chunk != 0).collect();
    twice.extend([
        (0, 1, 0, 30),
        (0, 2, 0, 30),
        (1, 3, 0, 31),
        (2, 3, 0, 31),
        (3, 2, 0, 33),
        (3, 1, 0, 33),
        (1, 0, 0, 34),
    ]);
    assert!(!verified(&twice).faults.is_empty());
}

#[test]
fn result_files_are_read_in_every_dialect() {
    let topology = sample();
    let (search, clock) = searched(&topology, &CollectiveRequest::default(), Method::Auto, 1, 1000);
    let (schedule, _) = search.best().unwrap();
    let graph = &search.problem.graph;
    let written = result::write(&topology, graph, &schedule, &clock, 5, &CollectiveRequest::default());
    assert!(result::is_result(&written));
    let ours = result::read(&written, "ours", Unit::Gib).unwrap();
    let checked = study::check(&ours, Some(&topology), None).unwrap();
    assert_eq!((checked.faults.as_slice(), checked.time_ns), (&[][..], 3906.25));
    assert_eq!(ours.claimed_ns, Some(3906.25));

    // The same in ps, the end first; truncated, as its writer does.
    let header = |last: &str, time: &str| {
        format!(
            "NPUs Count,5\nLinks Count,8\nChunks Count,5\nChunk Size,1048576,B\n{time}SrcID,DestID,Latency (ns),Bandwidth (GB/s),{last}\n"
        )
    };
    let rows = |cell: &dyn Fn(u32, f64, f64) -> String| {
        let mut text = String::new();
        for (index, link) in topology.links.iter().enumerate() {
            let mut own: Vec<_> =
                schedule.transfers.iter().filter(|transfer| transfer.link as usize == index).collect();
            own.sort_by_key(|transfer| transfer.start);
            let cells: Vec<String> =
                own.iter().map(|of| cell(of.chunk, clock.ns(of.start), clock.ns(of.end(graph)))).collect();
            text += &format!("{},{},{},{},{}\n", link.from, link.to, link.latency_ns, link.bandwidth, cells.join(","));
        }
        text
    };
    let ps = |ns: f64| (ns * 1000.0).floor();
    let in_ps = rows(&|chunk, start, end| format!("{chunk}:{}:{}", ps(end), ps(start)));
    for time in ["Collective Time,3906248,ps\n", "Collective Time,3906248,ns\nSynthesis Time,3.14,s\n"] {
        let file = result::read(&(header("Chunks (ID:ps)", time) + &in_ps), "ps", Unit::Gib).unwrap();
        assert_eq!(file.claimed_ns, Some(3906.248));
        let checked = study::check(&file, Some(&topology), None).unwrap();
        assert_eq!(checked.faults, [] as [String; 0], "{:?}", checked.sentences);
        assert!((checked.time_ns - 3906.25).abs() < 0.01);
        assert_eq!(file.notes.len(), usize::from(time.contains("ns\n")));
    }
    // Without times: only the order of each link.
    let bare = header("Chunks", "") + &rows(&|chunk, _, _| chunk.to_string()).replace("1000,\n", "1000,None\n");
    let file = result::read(&bare, "bare", Unit::Gib).unwrap();
    let checked = study::check(&file, Some(&topology), None).unwrap();
    assert_eq!((checked.faults.as_slice(), checked.time_ns), (&[][..], 3906.25));

    // What is wrong is said.
    let foreign = study::check(&ours, Some(&seed_ring()), None).unwrap();
    assert!(foreign.faults.iter().any(|fault| fault.contains("is it of another graph?")), "{:?}", foreign.faults);
    let short = written.replace(":976.5625:", ":700:");
    let checked = study::check(&result::read(&short, "short", Unit::Gib).unwrap(), Some(&topology), None).unwrap();
    assert!(checked.faults.iter().any(|fault| fault.contains("do not take as long")), "{:?}", checked.faults);
    for (text, said) in [
        (written.replace("NPUs Count,5", "NPUs Count,3"), "is no node: there are 3"),
        (written.replace("Links Count,8", "Links Count,9"), "links are announced, and 8 follow"),
        (written.replace("Chunks (ID:ns:ns)", "Chunks (ID)"), "names no dialect"),
        (written.replace(":0:", ":zero:"), "is not chunk:time:time"),
        (written.replace("Chunks Count,5", "Chunks Count,2"), "a chunk that is not there: there are 2"),
        (written.lines().take(5).collect::<Vec<_>>().join("\n"), "ends before the header"),
    ] {
        let error = result::read(&text, "x", Unit::Gib).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn exported_algorithms_compute_their_collective() {
    for form in ["ring:5", "mesh:3x3", "hypercube:3", "dgx1v", "full:4", "twogroups:4x2", "mesh:8x8"] {
        let topology = made(form);
        for collective in [
            Collective::AllGather,
            Collective::ReduceScatter,
            Collective::AllReduce,
            Collective::Broadcast,
            Collective::AllToAll,
        ] {
            for chunks in [1, 2] {
                if topology.nodes > 16 && (chunks > 1 || collective == Collective::AllToAll) {
                    continue;
                }
                let wanted = CollectiveRequest { collective: Some(collective), chunks, ..CollectiveRequest::default() };
                let (search, _) = searched(&topology, &wanted, Method::Auto, 1, 20_000);
                let (schedule, _) = search.best().unwrap();
                let algo = msccl::write(&search.problem.graph, &schedule, collective, chunks as usize, "x").unwrap();
                let text = algo.to_xml();
                let read = msccl::Algo::read(&text).unwrap_or_else(|error| panic!("{form} {collective}: {error}"));
                assert_eq!(read, algo);
                assert_eq!(msccl::run(&read), Ok(()), "{form} {collective} of {chunks}");
            }
        }
    }
    // What does not compute it is found out.
    let topology = made("ring:4");
    let (search, _) = searched(&topology, &CollectiveRequest::default(), Method::Auto, 1, 1000);
    let (schedule, _) = search.best().unwrap();
    let text = msccl::write(&search.problem.graph, &schedule, Collective::AllGather, 1, "x").unwrap().to_xml();
    let wrong = text.replacen(
        "type=\"r\" srcbuf=\"o\" srcoff=\"1\" dstbuf=\"o\" dstoff=\"1\"",
        "type=\"r\" srcbuf=\"o\" srcoff=\"1\" dstbuf=\"o\" dstoff=\"2\"",
        1,
    );
    assert_ne!(text, wrong);
    assert!(msccl::run(&msccl::Algo::read(&wrong).unwrap()).is_err());
    for (from, to, said) in [
        ("proto=\"Simple\"", "proto=\"Fast\"", "proto is none of"),
        (" maxBytes=\"0\"", "", "lacks maxBytes"),
        ("ngpus=\"4\"", "ngpus=\"5\"", "and 4 follow"),
        ("coll=\"allgather\"", "coll=\"gossip\"", "is no collective"),
        ("<tb id=\"1\"", "<tb id=\"7\"", "was expected"),
        ("dstoff=\"3\"", "dstoff=\"4\"", "lies outside of 4 chunks"),
        ("hasdep=\"1\"", "hasdep=\"0\"", "has not hasdep"),
        ("cnt=\"1\"", "cnt=\"99\"", "is not 1 to 71"),
        ("</algo>", "", "the text ends inside"),
    ] {
        let error = msccl::Algo::read(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(said), "{error} instead of {said}");
    }
    // Ranks that wait for each other in a circle deadlock.
    let gpu = |other: usize| {
        format!(
            "<tb id=\"0\" send=\"{other}\" recv=\"-1\" chan=\"0\"><step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt=\"1\" depid=\"1\" deps=\"0\" hasdep=\"0\"/></tb>\
             <tb id=\"1\" send=\"-1\" recv=\"{other}\" chan=\"0\"><step s=\"0\" type=\"r\" srcbuf=\"o\" srcoff=\"{other}\" dstbuf=\"o\" dstoff=\"{other}\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"1\"/></tb>"
        )
    };
    let stuck = format!(
        "<algo name=\"x\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"allgather\" inplace=\"0\" outofplace=\"1\" minBytes=\"0\" maxBytes=\"0\">\
         <gpu id=\"0\" i_chunks=\"1\" o_chunks=\"2\" s_chunks=\"0\">{}</gpu><gpu id=\"1\" i_chunks=\"1\" o_chunks=\"2\" s_chunks=\"0\">{}</gpu></algo>",
        gpu(1),
        gpu(0)
    );
    assert!(matches!(msccl::run(&msccl::Algo::read(&stuck).unwrap()), Err(msccl::RunError::Deadlock { .. })));
}

/// One thread block receives a chunk, the other one sends it on and has to wait for that, or copies over it.
#[test]
fn accesses_of_thread_blocks_without_an_order_are_found() {
    let topology = made("ring:3:one-way");
    for collective in [Collective::AllGather, Collective::AllReduce, Collective::ReduceScatter] {
        let wanted = CollectiveRequest { collective: Some(collective), chunks: 2, ..CollectiveRequest::default() };
        let (search, _) = searched(&topology, &wanted, Method::Auto, 1, 20_000);
        let (schedule, _) = search.best().unwrap();
        let whole = msccl::write(&search.problem.graph, &schedule, collective, 2, "x").unwrap();
        assert_eq!(msccl::run(&whole), Ok(()), "{collective}");
        let mut unordered = 0;
        for gpu in 0..whole.gpus.len() {
            for block in 0..whole.gpus[gpu].blocks.len() {
                for step in 0..whole.gpus[gpu].blocks[block].steps.len() {
                    let mut without = whole.clone();
                    if without.gpus[gpu].blocks[block].steps[step].depends.take().is_some() {
                        unordered +=
                            usize::from(matches!(msccl::run(&without), Err(msccl::RunError::Unordered { .. })));
                    }
                }
            }
        }
        assert!(unordered > 0, "{collective}");
    }
}

#[test]
fn schedules_are_replayed_and_made_again() {
    let topology = seed_ring();
    let (search, clock) = searched(&topology, &CollectiveRequest::default(), Method::Auto, 1, 1000);
    let (schedule, _) = search.best().unwrap();
    let link = (0..).zip(&topology.links).find(|(_, link)| (link.from, link.to) == (1, 2)).unwrap().0;
    let asked = CollectiveRequest::default();
    let material = Material {
        topology: &topology,
        request: &asked,
        problem: &search.problem,
        clock: &clock,
        schedule: &schedule,
        bound_ns: 80_125.0,
    };
    let damages = [Damage::Link(link), Damage::Node(1)];
    let damaged = robust::damaged(&material, &damages, 1, 1_000_000);
    assert_eq!((damaged[0].half_ns, damaged[0].tenth_ns), (119_187.5, 431_687.5));
    // Chunks 0 and 1 come to 2, 3 and 4 over it.
    assert_eq!(damaged[0].undelivered, 6);
    assert!(damaged[0].resynthesis.as_ref().is_some_and(|again| again.time_ns.is_some()));
    // Without node 1, chunk 0 does not come to 2 and 3, nor theirs to 0 and 4; what is left is a line over the slow
    // pair.
    let node = &damaged[1];
    assert!(node.half_ns > 80_125.0 && node.tenth_ns > node.half_ns && node.undelivered > 0, "{node:?}");
    assert_eq!(node.resynthesis.as_ref().unwrap().time_ns, Some(2_931_187.5));
    let varied = robust::varied(&search.problem, &schedule, &topology, &clock, &robust::VariationOptions::default());
    assert_eq!(varied.nominal_ns, 80_125.0);
    // Five of 500 draws lie beyond the last.
    for (ns, about, share) in
        [(varied.p50_ns, 95_300.0, 0.01), (varied.p95_ns, 106_400.0, 0.015), (varied.p99_ns, 115_300.0, 0.04)]
    {
        assert!((ns / about - 1.0_f64).abs() < share, "{varied:?}");
    }
    let again = |damage: Damage| robust::resynthesize(&material, &damage, 1, 1_000_000);
    let pair = again(Damage::Pair(2, 3));
    assert_eq!(pair.time_ns, Some(2_951_218.75));
    assert_eq!(again(Damage::Pair(0, 1)).time_ns, Some(3_908_250.0));
    assert!(pair.stale.1 > 0);
    assert_eq!(again(Damage::Node(4)).time_ns, Some(60_093.75));
    let nobody = Topology { links: topology.links[..2].to_vec(), nodes: 2, ..topology.clone() };
    let (search, clock) = searched(&nobody, &CollectiveRequest::default(), Method::Auto, 1, 1000);
    let (schedule, _) = search.best().unwrap();
    let material = Material {
        topology: &nobody,
        request: &asked,
        problem: &search.problem,
        clock: &clock,
        schedule: &schedule,
        bound_ns: 0.0,
    };
    let cut = robust::resynthesize(&material, &Damage::Link(0), 1, 1000);
    assert!(cut.time_ns.is_none() && cut.why.unwrap().contains("can't come to node"));
    // An all_reduce loses sums as well.
    let (search, clock) = searched(&topology, &wanted(Collective::AllReduce), Method::Auto, 1, 1000);
    let (schedule, _) = search.best().unwrap();
    let asked = wanted(Collective::AllReduce);
    let material = Material {
        topology: &topology,
        request: &asked,
        problem: &search.problem,
        clock: &clock,
        schedule: &schedule,
        bound_ns: 0.0,
    };
    let damaged = robust::damaged(&material, &[Damage::Link(link)], 1, 0);
    assert!(damaged[0].undelivered > 6 && damaged[0].half_ns > 160_250.0);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn dumps_become_links() {
    let (one, two) = (real::text("topology/nccl/mi355x_1x8_topo.xml"), real::text("topology/nccl/mi355x_2x8_topo.xml"));
    let Dump::Machine(machine) = dump::read(&one).unwrap() else { panic!() };
    assert_eq!((machine.gpus.len(), machine.nics.len()), (8, 8));
    assert!(machine.gpus.iter().all(|gpu| gpu.neighbours.len() == 7 && gpu.generation == "gfx950"));
    let (topology, notes) = machine.topology("node", &Rates::default()).unwrap();
    assert_eq!((topology.nodes, topology.links.len(), notes.len()), (8, 56, 0));
    type Links = Vec<(String, u32)>;
    let odd = |change: &dyn Fn(&mut Links)| {
        let mut changed = machine.clone();
        change(&mut changed.gpus[0].neighbours);
        changed.topology("node", &Rates::default()).unwrap().1
    };
    let own = machine.gpus[0].busid.clone();
    assert_eq!(
        odd(&|all| all.push(all[0].clone())),
        ["GPU 0 has several lines of links to GPU 1: they are added, as NCCL does"]
    );
    assert_eq!(odd(&|all| drop(all.remove(0))), ["GPU 1 has links to GPU 0, and GPU 0 none back"]);
    assert_eq!(odd(&|all| all.push((own.clone(), 1))), ["GPU 0 has a link to itself, which is not used"]);
    let none = odd(&|all| all[0].1 = 0);
    assert_eq!(none[0], "A line of GPU 0 says 0 links to GPU 1: it is not used");
    assert_eq!(
        odd(&|all| all.iter_mut().for_each(|(_, count)| *count = 0)).len(),
        9,
        "some are named, the rest counted"
    );
    let Dump::Machine(machine) = dump::read(&two).unwrap() else { panic!() };
    assert_eq!(machine.nics[0].gbps, 50.0);
    let nearest: Vec<&str> = machine.gpus.iter().map(|gpu| machine.nearest(gpu).unwrap().name.as_str()).collect();
    assert_eq!(nearest[..3], ["ionic_0", "ionic_1", "ionic_2"]);
    assert!((machine.gpus[0].pci_gbps - 63.0).abs() < 0.1, "PCIe 5.0, 16 lanes");
    let (topology, _) = machine.topology("nodes", &Rates { nodes: 2, ..Rates::default() }).unwrap();
    assert_eq!((topology.nodes, topology.links.len()), (16, 2 * 56 + 16));
    assert!(topology.notes().is_empty());
    let (search, _) = searched(&topology, &CollectiveRequest::default(), Method::Auto, 1, 500_000);
    let (schedule, _) = search.best().unwrap();
    assert_eq!(search.problem.faults(&schedule), []);
    assert!(search.time().unwrap() as f64 / search.bound() as f64 <= 1.1);

    let rings = real::text("topology/nccl/mi355x_1x8_graph.xml");
    let Dump::Patterns(Graphs { patterns, .. }) = dump::read(&rings).unwrap() else { panic!() };
    assert_eq!(patterns[0].kind, "rings");
    assert_eq!((patterns[0].channels.len(), patterns[0].channels[0].len()), (28, 8));
    let Dump::Machine(machine) = dump::read(&one).unwrap() else { panic!() };
    let (topology, _) = machine.topology("node", &Rates::default()).unwrap();
    let ring_ns = patterns[0].takes_ns(Collective::AllGather, &topology, None, 1 << 20).unwrap();
    assert!(ring_ns >= all_gather_ns(&topology, Method::Auto, 1), "{ring_ns}");
    let rings = real::text("topology/nccl/mi355x_2x8_graph.xml");
    let Dump::Patterns(Graphs { mut patterns, .. }) = dump::read(&rings).unwrap() else { panic!() };
    let Dump::Machine(machine) = dump::read(&two).unwrap() else { panic!() };
    let rates = Rates { nodes: 2, ..Rates::default() };
    let (topology, _) = machine.topology("nodes", &rates).unwrap();
    patterns.iter_mut().for_each(|pattern| pattern.nodes = 2);
    assert_eq!((patterns[0].channels.len(), patterns[0].ports[0]), (64, Some((0, 7))));
    // Sixteen GPUs in each ring, by eight links between the nodes' ports.
    assert_eq!(patterns[0].edges(Some(0)).len(), 16);
    let takes = |pattern: &dump::Pattern, of| pattern.takes_ns(of, &topology, Some((&machine, &rates)), 1 << 20);
    let ring_ns = takes(&patterns[0], Collective::AllGather).unwrap();
    // 64 channels share 8 ports of 50 GB/s: 15 steps of 131,072 bytes and 3,000 ns.
    assert!((ring_ns - 15.0 * (3000.0 + 131_072.0 / 50.0)).abs() < 0.1, "{ring_ns}");
    assert!(
        takes(&patterns[1], Collective::AllReduce).is_some() && takes(&patterns[1], Collective::AllGather).is_none()
    );
    for wrong in
        ["<system>", "<system version=\"2\"></system>", "<graphs><graph", "<a/>", "<system><cpu><gpu/></cpu></system>"]
    {
        assert!(dump::read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn conditions_of_ones_own() {
    let text = r#"{"chunk_size": 1048576, "chunks": [7, "x"], "preconditions": {"0": [7], "1": ["x"], "2": ["x"]},
        "postconditions": {"3": [7, "x"], "0": [7]}}"#;
    let (custom, size) = read_custom(text).unwrap();
    let wanted = CollectiveRequest {
        collective: None,
        custom: Some(custom),
        chunk_bytes: size.unwrap(),
        ..CollectiveRequest::default()
    };
    let (search, clock) = searched(&made("line:4"), &wanted, Method::Auto, 1, 100_000);
    let (schedule, _) = search.best().unwrap();
    assert_eq!(search.problem.faults(&schedule), []);
    // Chunk x leaves 2 at once, chunk 7 needs three steps.
    assert_eq!(clock.ns(search.time().unwrap()), 60_093.75);
    for (from, to, said) in [
        ("\"0\": [7],", "", "nobody has chunk 7"),
        ("\"3\":", "\"9\":", "is about node 9"),
        ("[7, \"x\"], \"pre", "[7], \"pre", "there is no chunk x"),
        ("\"2\":", "\"two\":", "is no number of a node"),
        ("\"chunks\"", "\"bits\"", "\"chunks\" is no list"),
    ] {
        let wrong = text.replacen(from, to, 1);
        assert_ne!(wrong, text);
        let error = read_custom(&wrong).and_then(|(custom, _)| {
            CollectiveRequest { custom: Some(custom), collective: None, ..CollectiveRequest::default() }
                .problem(&made("line:4"))
                .map(|_| ())
        });
        assert!(error.as_ref().unwrap_err().to_string().contains(said), "{error:?}");
    }
}

#[test]
fn conditions_may_name_a_node_twice_and_ask_for_no_more_than_can_be_held() {
    let text =
        r#"{"chunks": [0, 1], "preconditions": {"0": [0, 0, 1]}, "postconditions": {"1": [0, 0], "2": [1, 0, 1]}}"#;
    let (custom, _) = read_custom(text).unwrap();
    let own = CollectiveRequest { collective: None, custom: Some(custom), ..CollectiveRequest::default() };
    let (search, _) = searched(&made("line:3"), &own, Method::Auto, 1, 200_000);
    assert_eq!(search.problem.copy.as_ref().unwrap().pairs(), 3);
    let (schedule, _) = search.best().unwrap();
    assert_eq!(search.problem.faults(&schedule), []);
    let mesh = made("mesh:64x64");
    let line = made("line:4096");
    let on = |topology: &Topology, wants: &[u32], count: usize| {
        let many = Custom { names: Vec::new(), chunks: vec![(vec![0], wants.to_vec()); count] };
        CollectiveRequest { collective: None, custom: Some(Arc::new(many)), ..CollectiveRequest::default() }
            .problem(topology)
    };
    let of = |wants: &[u32], count: usize| on(&mesh, wants, count);
    assert_eq!(of(&[1], 20_000).unwrap().0.chunks(), 20_000);
    assert_eq!(of(&[1], 50_000).unwrap_err(), RequestError::TooManyHeld(50_000, 4096));
    let all: Vec<u32> = (0..4096).collect();
    assert_eq!(of(&all, 9800).unwrap_err(), RequestError::TooMany(40_140_800));
    assert_eq!(on(&line, &[1], 20_000).unwrap().0.chunks(), 20_000);
    assert_eq!(on(&line, &[4095], 20_000).unwrap_err(), RequestError::TooManySent(81_900_000));
    let scatter = CollectiveRequest { chunks: 4000, ..wanted(Collective::Scatter) };
    let refused = scatter.problem(&made("ring:4000")).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("16,000,000 chunks on 4,000 nodes are more than can be held (at most 100,000,000 pairs"),
        "{refused}"
    );
}

#[test]
fn faults_are_cut_by_their_own_number() {
    // A schedule without transfers for another ring: one fault for the other size, and one for each node that misses
    // the chunk, of which at most 100 are listed.
    let of = made("ring:5");
    let (graph, clock) = of.graph(1 << 20).unwrap();
    let text = result::write(&of, &graph, &Schedule::default(), &clock, 1, &CollectiveRequest::default());
    let file = result::read(&text, "nothing", Unit::Gib).unwrap();
    for (form, faults, is_cut) in [("ring:99", 99, false), ("ring:100", 100, false), ("ring:102", 101, true)] {
        let verified = study::check(&file, Some(&made(form)), Some(wanted(Collective::Broadcast))).unwrap();
        assert_eq!((verified.faults.len(), verified.is_cut), (faults, is_cut), "{form}");
    }
}

#[test]
fn a_long_result_without_times_is_timed() {
    let topology = made("mesh:16x16");
    let (search, clock) = searched(&topology, &CollectiveRequest::default(), Method::Earliest, 1, u64::MAX);
    let (schedule, _) = search.best().unwrap();
    let text = result::write(&topology, &search.problem.graph, &schedule, &clock, 256, &CollectiveRequest::default());
    let without = |cell: &str| cell.split(':').next().unwrap_or_default().to_owned();
    let lines = text.lines().map(|line| match line.starts_with(|first: char| first.is_ascii_digit()) {
        true => line.split(',').map(without).collect::<Vec<_>>().join(","),
        false => line.replace("Chunks (ID:ns:ns)", "Chunks"),
    });
    let text: String = lines.map(|line| line + "\n").collect();
    let file = result::read(&text, "mesh", Unit::Gib).unwrap();
    assert!(!file.has_times());
    let verified = study::check(&file, Some(&topology), None).unwrap();
    assert_eq!((verified.faults.len(), verified.time_ns), (0, 2_564_000.0));
}

#[test]
fn timelines_say_what_happens_when() {
    let topology = seed_ring();
    let mut study = Study::default();
    study.open(Source::Edited(topology.clone())).unwrap();
    study.begin(CollectiveRequest::default(), Method::Auto, 1, 10_000, &mut Silent).unwrap();
    let shown = study.show().unwrap();
    let timeline = shown.timeline.unwrap();
    assert_eq!((timeline.len(), timeline.ns(timeline.end)), (20, 80_125.0));
    let ownership = timeline.ownership();
    assert!(ownership.iter().all(|time| *time <= timeline.end));
    assert_eq!((0..5).filter(|node| ownership[node * 5 + node] == 0).count(), 5);
    assert_eq!(timeline.progress().last(), Some(&(timeline.end, 20)));
    // The critical path is four steps without a pause, along the line.
    assert_eq!(timeline.critical.len(), 4);
    assert!(timeline.critical.iter().all(|index| timeline.slack[*index as usize] == 0));
    let mean: f64 = timeline.utilisation(50).iter().map(|share| share.0).sum::<f64>() / 50.0;
    let busy: f64 = (0..10).map(|link| timeline.busy_share(link)).sum::<f64>() / 10.0;
    assert!((mean - busy).abs() < 1e-9);
    // The transfers under way at an instant are those that have begun and not arrived.
    for time in [0, timeline.end / 3, timeline.end / 2, timeline.end - 1, timeline.end] {
        for link in 0..10 {
            let by_hand = timeline.transfers_on(link).find(|sent| sent.start <= time && time < sent.end);
            assert_eq!(timeline.transfer_at(link, time), by_hand);
        }
    }
    for chunk in 0..5 {
        let tree = timeline.tree(chunk);
        assert_eq!(tree.len(), 4);
        assert!(tree.iter().all(|branch| branch.depth < 4));
    }
    // A single transfer can be delayed by its slack without delaying the end.
    let (_, _, search, _) = study.search().unwrap();
    let (schedule, _) = search.best().unwrap();
    let analysis = collectune::schedule::analysis::analyse(&search.problem.graph, &schedule, 5);
    for (transfer, slack) in schedule.transfers.iter().zip(&analysis.slack) {
        assert!(transfer.end(&search.problem.graph) + slack <= timeline.end);
    }
    // The bottleneck of bandwidth is node 0 or 4; the longest shortest path leads from 0 to 4.
    assert_eq!(shown.cut.0.len(), 4);
    assert!(!shown.bounds.rows.is_empty() && shown.links.rows.len() == 10 && shown.critical.rows.len() == 4);
    for form in [Form::Csv, Form::Json, Form::Perfetto, Form::Msccl, Form::Topology] {
        let file = study.export(form).unwrap();
        assert!(!file.text.is_empty() && !file.name.contains('/'), "{}", file.name);
        if matches!(form, Form::Json | Form::Perfetto) {
            serde_json::from_str::<serde_json::Value>(&file.text).unwrap();
        }
    }
    let again = read::read(&topology_csv(&topology), "again", Options::default()).unwrap();
    assert_eq!(again.topology.links, topology.links);
}

#[test]
fn a_study_never_gets_worse_and_tells_what_damage_does() {
    let mut study = Study::default();
    assert!(study.show().is_err());
    let opened = study.open(Source::Edited(made("dgx1v"))).unwrap();
    assert_eq!(opened.places.len(), 8);
    assert!(study.open(Source::Machine(0, Rates::default())).is_err());
    let mut standing = study.begin(CollectiveRequest::default(), Method::Auto, 1, 100, &mut Silent).unwrap();
    let mut last = f64::INFINITY;
    while standing.is_working {
        let time = standing.time_ns.unwrap_or(f64::INFINITY);
        assert!(time <= last, "never worse");
        last = time;
        standing = study.improve(1000, &mut Silent).unwrap();
    }
    assert_eq!(standing.time_ns, Some(60_693.75));
    assert_eq!(standing.sentence, "60.694 µs: proven optimal, 1.000 times the bound.");
    let links: Vec<Damage> = (0..32).map(Damage::Link).collect();
    assert_eq!(study.damaged(&links, 0).unwrap().rows.len(), 32);
    let varied = study.varied(&robust::VariationOptions::default()).unwrap();
    assert!(varied.p50_ns <= varied.p95_ns && varied.p95_ns <= varied.p99_ns);
}

#[test]
fn a_bound_that_is_raised_is_told_of_the_schedule_that_is_shown() {
    let mut study = Study::default();
    study.open(Source::Edited(made("twogroups:4x2"))).unwrap();
    study.begin(CollectiveRequest::default(), Method::Exact, 1, 50_000, &mut Silent).unwrap();
    let mut shown = study.show().unwrap();
    let mut is_working = true;
    while is_working {
        let standing = study.improve(5000, &mut Silent).unwrap();
        is_working = standing.is_working;
        if standing.time_ns == shown.status.time_ns {
            study.renew(&mut shown).unwrap();
        } else {
            shown = study.show().unwrap();
        }
    }
    assert!(shown == study.show().unwrap(), "what is renewed is what would be shown");
    assert!(shown.sentences[0].contains("proven optimal, though 1.051 times the bound of"), "{}", shown.sentences[0]);
}

#[test]
fn greed_alone_stops_at_its_limit() {
    let (problem, _) = CollectiveRequest::default().problem(&made("mesh:4x4")).unwrap();
    let demand = problem.copy.as_ref().unwrap();
    let task: Task<'_> = problem.task(Phase::Copy).unwrap();
    assert!(exact::is_small(&task));
    let options = GreedyOptions { rule: MatchingRule::Rarest, hold_back: 0.0 };
    let bound = bounds(&problem.graph, demand).best();
    assert!(greedy_schedule(&problem.graph, demand, options, &mut Stream::new(1), bound).is_some());
    assert!(greedy_schedule(&problem.graph, demand, options, &mut Stream::new(1), bound - 1).is_none());
    // A broadcast of one chunk takes as long as the longest way.
    let one = Demand::broadcast(16, 5, 1);
    let schedule = greedy_schedule(&problem.graph, &one, options, &mut Stream::new(1), u64::MAX).unwrap();
    assert_eq!(schedule.end(&problem.graph), bounds(&problem.graph, &one).path_time);
}
