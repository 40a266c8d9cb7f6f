//! Rings for a machine: the orders of GPUs in which all channels together carry the most, by local search.

use super::{
    super::dump::{self, Dump, Machine, Rates},
    check::{Loads, MOST_GPUS, check},
    routes::{KINDS, Route, Routes},
};
use crate::{
    math::Stream,
    text::number,
    units::{count, first_of},
};

/// The most channels that are tried; NCCL has 64.
const MOST_CHANNELS: usize = 16;
/// How many rings are looked at, over all numbers of channels.
const MOST_TRIED: usize = 100_000;
/// Starts of the search for each number of channels.
const STARTS: u64 = 4;
/// Starts of the search for rings with a use less of the tightest link, and the steps in which each ring is looked for.
const STARTS_WITH_LESS: u64 = 60;
const STEPS_OF_A_RING: usize = 400;

/// Why no graph file is written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// The graph is no machine that NCCL dumped.
    #[error("a graph file of NCCL is written for a machine: give what NCCL_TOPO_DUMP_FILE wrote")]
    NoMachine,
    /// Several nodes.
    #[error("graph files are written for one node, and these are {0}")]
    Nodes(u32),
    /// Fewer than two GPUs, or more than are searched.
    #[error("graph files are written for 2 to {MOST_GPUS} GPUs, and the machine has {0}")]
    Gpus(usize),
    /// Two GPUs have the same device number.
    #[error("the dump has GPU {0} twice")]
    Twice(u32),
    /// No way between two GPUs is known.
    #[error("the dump says no way between GPU {0} and GPU {1}")]
    NoWay(u32, u32),
    /// What was written is wrong.
    #[error("the graph file would be wrong: {0}")]
    Faulty(String),
}

/// Rings for a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Rings {
    /// The GPUs of each channel by their device numbers, in order.
    pub channels: Vec<Vec<u32>>,
    /// What each channel carries, in GB/s.
    pub each_gbps: f64,
    /// The link that gives no more.
    pub tightest: String,
    /// The graph file.
    pub text: String,
}

impl Rings {
    /// What the rings are, in a sentence.
    pub fn sentence(&self) -> String {
        let orders: Vec<String> = self
            .channels
            .iter()
            .map(|channel| channel.iter().map(u32::to_string).collect::<Vec<_>>().join(" "))
            .collect();
        format!(
            "Rings for the machine, as a graph file of NCCL: {} of {} GB/s, so that the busbw is at most {:.1} GB/s ({}). The \
             tightest link is {}.",
            count(self.channels.len() as u64, "channel"),
            self.each_gbps,
            self.total_gbps(),
            first_of(4, &orders, String::clone),
            self.tightest
        )
    }

    /// What all channels carry, in GB/s: the most that the bus bandwidth can be.
    pub fn total_gbps(&self) -> f64 {
        self.each_gbps * self.channels.len() as f64
    }
}

/// What NCCL expects of a channel at most, in GB/s (`speedArrayIntra` and its relatives in `search.cc`).
fn most_of_a_channel(machine: &Machine) -> f64 {
    let generation = machine.gpus.first().map_or("", |gpu| &gpu.generation);
    match generation.strip_prefix("sm_").and_then(number) {
        Some(sm) if sm >= 100.0 => 90.0,
        Some(sm) if sm >= 90.0 => 60.0,
        _ => 40.0,
    }
}

/// The GPUs of a ring by their places, in order.
type Order = Vec<usize>;

/// The search for rings.
struct Search<'a> {
    routes: &'a Routes<'a>,
    /// The way from each GPU to each other.
    ways: Vec<Vec<Route>>,
    tried: usize,
}

impl Search<'_> {
    fn loads(&self, rings: &[Order]) -> Loads {
        let mut loads = Loads::new(self.routes);
        for ring in rings {
            for (from, to) in ring.iter().zip(ring.iter().cycle().skip(1)) {
                loads.add(&self.ways[*from][*to]);
            }
        }
        loads
    }

    /// What is to be small: the time of a byte of each channel on the tightest link, then the sum of squares of all.
    fn cost(&mut self, rings: &[Order]) -> (f64, f64) {
        self.tried += 1;
        let loads = self.loads(rings).loads;
        let times = loads.iter().zip(&self.routes.hops).map(|(load, hop)| load / hop.gbps);
        times.fold((0.0, 0.0), |(most, squares), time| (f64::max(most, time), squares + time * time))
    }

    /// Improves rings until no exchange of two GPUs and no turned stretch helps.
    fn improve(&mut self, rings: &mut [Order]) -> (f64, f64) {
        let is_less = |a: (f64, f64), b: (f64, f64)| {
            a.0 < b.0 * (1.0 - 1e-9) || a.0 <= b.0 * (1.0 + 1e-9) && a.1 < b.1 * (1.0 - 1e-9)
        };
        let gpus = self.ways.len();
        let mut best = self.cost(rings);
        loop {
            let before = best;
            for ring in 0..rings.len() {
                for (from, to) in (1..gpus).flat_map(|from| (from + 1..gpus).map(move |to| (from, to))) {
                    for is_turned in [false, true] {
                        if self.tried >= MOST_TRIED {
                            return best;
                        }
                        let old = rings[ring].clone();
                        match is_turned {
                            true => rings[ring][from..=to].reverse(),
                            false => rings[ring].swap(from, to),
                        }
                        let cost = self.cost(rings);
                        if is_less(cost, best) { best = cost } else { rings[ring] = old }
                    }
                }
            }
            if !is_less(best, before) {
                return best;
            }
        }
    }

    /// The best rings of a number of channels, with the time of a byte on the tightest link.
    fn best(&mut self, channels: usize) -> (f64, Vec<Order>) {
        let gpus = self.ways.len();
        let mut best: Option<((f64, f64), Vec<Order>)> = None;
        for start in 0..STARTS {
            let mut stream = Stream::new(start);
            let one = |turn: usize| {
                let mut ring: Vec<usize> = (0..gpus).collect();
                match start {
                    // All in the order of their numbers, every second one the other way round.
                    0 if turn % 2 == 1 => ring[1..].reverse(),
                    0 => {}
                    _ => stream.shuffle(&mut ring[1..]),
                }
                ring
            };
            let mut rings: Vec<Order> = (0..channels).map(one).collect();
            let cost = self.improve(&mut rings);
            if best.as_ref().is_none_or(|(least, _)| cost.0 < least.0 * (1.0 - 1e-9)) {
                best = Some((cost, rings));
            }
            if self.tried >= MOST_TRIED {
                break;
            }
        }
        let (mut time, mut rings) = best.map(|((time, _), rings)| (time, rings)).unwrap_or_default();
        while let Some(better) = self.with_less(channels, &rings) {
            (time, rings) = (self.cost(&better).0, better);
        }
        (time, rings)
    }

    /// Rings that use the tightest link once less than these, made one after the other with what the others leave;
    /// `None` where no start finds any. Where all links are alike, exchanges rarely find the rings that use each
    /// equally often.
    fn with_less(&mut self, channels: usize, rings: &[Order]) -> Option<Vec<Order>> {
        let loads = self.loads(rings);
        let (each, tightest) = loads.least(self.routes)?;
        let uses = loads.loads[tightest];
        let most = (1.0 / each) * (uses - 1.0) / uses * (1.0 + 1e-9);
        (0..STARTS_WITH_LESS).find_map(|start| {
            let (mut stream, mut made) = (Stream::new(start), Vec::new());
            let mut loads = Loads::new(self.routes);
            while made.len() < channels {
                let mut ring = vec![0];
                let mut steps = STEPS_OF_A_RING;
                if !self.extend(&mut ring, &mut loads, most, &mut stream, &mut steps) {
                    return None;
                }
                made.push(ring);
            }
            Some(made)
        })
    }

    /// Goes on with a ring to any GPU that no link keeps from it, and back from where there is none.
    fn extend(
        &mut self,
        ring: &mut Vec<usize>,
        loads: &mut Loads,
        most: f64,
        stream: &mut Stream,
        steps: &mut usize,
    ) -> bool {
        let from = ring[ring.len() - 1];
        let is_last = ring.len() == self.ways.len();
        let mut next: Vec<usize> =
            if is_last { vec![ring[0]] } else { (0..self.ways.len()).filter(|gpu| !ring.contains(gpu)).collect() };
        stream.shuffle(&mut next);
        for to in next {
            if *steps == 0 || self.tried >= MOST_TRIED {
                return false;
            }
            *steps -= 1;
            self.tried += usize::from(steps.is_multiple_of(8));
            let hops = &self.routes.hops;
            let is_free = |(hop, share): &(usize, f64)| (loads.loads[*hop] + share) / hops[*hop].gbps <= most;
            if !self.ways[from][to].hops.iter().all(is_free) {
                continue;
            }
            loads.add(&self.ways[from][to]);
            if is_last {
                return true;
            }
            ring.push(to);
            if self.extend(ring, loads, most, stream, steps) {
                return true;
            }
            ring.pop();
            self.ways[from][to].hops.iter().for_each(|(hop, share)| loads.loads[*hop] -= share);
        }
        false
    }
}

/// Finds rings for a machine of one node, and writes them as a graph file: the number of channels with which all
/// together carry the most, and of several such the least from 2 on.
///
/// # Errors
/// Returns a [`GraphError`] if the machine has too few or too many GPUs, or a dump lacks ways between them.
pub fn rings(machine: &Machine, rates: &Rates) -> Result<Rings, GraphError> {
    if rates.nodes > 1 {
        return Err(GraphError::Nodes(rates.nodes));
    }
    let gpus = machine.gpus.len();
    if !(2..=MOST_GPUS).contains(&gpus) {
        return Err(GraphError::Gpus(gpus));
    }
    // GPUs are sorted by device number.
    if let Some(pair) = machine.gpus.windows(2).find(|pair| pair[0].dev == pair[1].dev) {
        return Err(GraphError::Twice(pair[0].dev));
    }
    let routes = Routes::new(machine, rates);
    let way = |from: usize, to: usize| match from == to {
        true => Ok(Route::default()),
        false => routes
            .between(from, to)
            .filter(|route| route.hops.iter().all(|(hop, _)| routes.hops[*hop].gbps > 0.0))
            .ok_or(GraphError::NoWay(machine.gpus[from].dev, machine.gpus[to].dev)),
    };
    let ways = (0..gpus).map(|from| (0..gpus).map(|to| way(from, to)).collect()).collect::<Result<_, _>>()?;
    let mut search = Search { routes: &routes, ways, tried: 0 };
    let most_each = most_of_a_channel(machine);
    let mut best: Option<(f64, Vec<Order>)> = None;
    for channels in 2..=MOST_CHANNELS {
        let (time, found) = search.best(channels);
        let each = (1.0 / time).min(most_each);
        let total = |each: f64, channels: usize| each * channels as f64;
        if best.as_ref().is_none_or(|(known, rings)| total(each, channels) > total(*known, rings.len()) * 1.001) {
            best = Some((each, found));
        }
        if search.tried >= MOST_TRIED {
            break;
        }
    }
    let (each, found) = best.unwrap_or_default();
    let worst = found.iter().flat_map(|ring| ring.iter().zip(ring.iter().cycle().skip(1)));
    let worst = worst.map(|(from, to)| search.ways[*from][*to].kind).max().unwrap_or_default();
    // Rounded down: what is stated must not be more than there is.
    let each_gbps = (each * 100.0).floor() / 100.0;
    let dev = |place: &usize| machine.gpus[*place].dev;
    let channels: Vec<Vec<u32>> = found.iter().map(|ring| ring.iter().map(dev).collect()).collect();
    let text = text(&channels, each_gbps, KINDS[worst], &kind_of_ports(machine, &routes));
    let tightest = search.loads(&found).least(&routes).map(|(_, hop)| routes.hops[hop].name.clone());
    let rings = Rings { channels, each_gbps, tightest: tightest.unwrap_or_default(), text };
    faultless(&rings, machine, rates).map(|()| rings)
}

/// The worst way from a GPU to its network port.
fn kind_of_ports(machine: &Machine, routes: &Routes<'_>) -> String {
    let ways = machine.gpus.iter().filter_map(|gpu| routes.to_port(gpu, machine.nearest(gpu)?, true));
    KINDS[ways.map(|route| route.kind).max().unwrap_or(4)].to_owned()
}

/// Reads the file back, and checks it.
fn faultless(rings: &Rings, machine: &Machine, rates: &Rates) -> Result<(), GraphError> {
    let Dump::Patterns(graphs) = dump::read(&rings.text).map_err(GraphError::Faulty)? else {
        return Err(GraphError::Faulty("it is no graph file".to_owned()));
    };
    let checks = graphs.patterns.iter().zip(&graphs.stated);
    let mut faults = checks.flat_map(|(pattern, stated)| check(pattern, stated, Some((machine, rates))).faults);
    faults.next().map_or(Ok(()), |fault| Err(GraphError::Faulty(fault)))
}

/// The file. NCCL reads device numbers as hexadecimal.
fn text(channels: &[Vec<u32>], each_gbps: f64, intra: &str, inter: &str) -> String {
    let is_same = u8::from(channels.windows(2).all(|pair| pair[0] == pair[1]));
    let gpu = |dev: &u32| match dev {
        dev @ 0..=9 => format!("      <gpu dev=\"{dev}\"/>\n"),
        dev => format!("      <gpu dev=\"{dev:#x}\"/>\n"),
    };
    let channel =
        |gpus: &Vec<u32>| format!("    <channel>\n{}    </channel>\n", gpus.iter().map(gpu).collect::<String>());
    format!(
        "<graphs version=\"1\">\n  <graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"{}\" speedintra=\"{each_gbps}\" \
         speedinter=\"{each_gbps}\" latencyinter=\"0\" typeintra=\"{intra}\" typeinter=\"{inter}\" \
         samechannels=\"{is_same}\">\n{}  </graph>\n</graphs>\n",
        channels.len(),
        channels.iter().map(channel).collect::<String>()
    )
}
