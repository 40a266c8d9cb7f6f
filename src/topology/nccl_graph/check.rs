//! Whether the channels of a graph fit what it states of them, and the machine.

use super::{
    super::dump::{Machine, Pattern, Rates, Stated},
    routes::{KINDS, Route, Routes},
};
use crate::{
    text::excerpt,
    units::{count, first_of},
};

/// More GPUs of a node are not checked.
pub(super) const MOST_GPUS: usize = 128;

/// What is said of a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check {
    /// What its channels are, for people.
    pub kind: String,
    /// How many are listed.
    pub channels: usize,
    /// The bandwidth of each that the file states, in GB/s.
    pub stated_gbps: f64,
    /// What the machine's links give each, in GB/s: of each link its bandwidth over the channels that use it, of all
    /// links the least. `None` without a machine, and for channels that are no rings.
    pub real_gbps: Option<f64>,
    /// The link that gives the least.
    pub tightest: Option<String>,
    /// What is wrong, a clause each.
    pub faults: Vec<String>,
    /// What has to be known, a sentence each.
    pub notes: Vec<String>,
}

/// The uses of links by all channels of a graph.
pub(super) struct Loads {
    pub(super) loads: Vec<f64>,
    /// The worst kind of way between GPUs, as a place in [`KINDS`].
    pub(super) worst: usize,
    /// Pairs of which no way is known.
    pub(super) unknown: Vec<String>,
}

impl Loads {
    pub(super) fn new(routes: &Routes<'_>) -> Self {
        Self { loads: vec![0.0; routes.hops.len()], worst: 0, unknown: Vec::new() }
    }

    pub(super) fn add(&mut self, route: &Route) {
        route.hops.iter().for_each(|(hop, share)| self.loads[*hop] += share);
    }

    /// What each channel gets in GB/s, and the link that gives the least.
    pub(super) fn least(&self, routes: &Routes<'_>) -> Option<(f64, usize)> {
        let used = self.loads.iter().enumerate().filter(|(_, load)| **load > 0.0);
        let each = used.map(|(hop, load)| (routes.hops[hop].gbps / load, hop));
        each.min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// Checks a graph against what it states, and against a machine with its rates.
pub fn check(pattern: &Pattern, stated: &Stated, machine: Option<(&Machine, &Rates)>) -> Check {
    let mut found = Check {
        kind: pattern.kind.clone(),
        channels: pattern.channels.len(),
        stated_gbps: pattern.speed_gbps,
        ..Check::default()
    };
    words(pattern, stated, &mut found);
    orders(pattern, machine.map(|(machine, _)| machine), &mut found);
    if let Some((machine, rates)) = machine {
        links(pattern, stated, machine, rates, &mut found);
    }
    found
}

/// Numbers and words of the graph.
fn words(pattern: &Pattern, stated: &Stated, found: &mut Check) {
    let listed = pattern.channels.len();
    match stated.channels {
        None => found.faults.push("nchannels is missing".to_owned()),
        Some(channels) if channels as usize > listed => found.faults.push(format!(
            "nchannels is {channels}, and {} listed: NCCL takes the others for channels of GPU 0 alone",
            if listed == 1 { "1 channel is".to_owned() } else { format!("{listed} are") }
        )),
        Some(channels) if (channels as usize) < listed => found.faults.push(format!(
            "nchannels is {channels}, and {listed} are listed: NCCL searches and uses {channels} of them"
        )),
        Some(_) => {}
    }
    for (key, word) in [("typeintra", &stated.intra), ("typeinter", &stated.inter)] {
        if !KINDS.contains(&word.as_str()) && listed > 0 {
            found.faults.push(format!("{key} is \"{}\", which NCCL takes for LOC", excerpt(word)));
        }
    }
    if stated.crosses_nics {
        found.notes.push("NCCL passes over it where NCCL_CROSS_NIC is 0.".to_owned());
    }
    if !stated.decimals.is_empty() {
        let all = first_of(4, &stated.decimals, |dev| format!("{dev} is GPU {}", hexadecimal(*dev)));
        found.notes.push(format!("NCCL from 2.19 on reads device numbers as hexadecimal: {all}."));
    }
    if (pattern.is_ring() || (1..=3).contains(&stated.pattern)) && listed > 0 && pattern.speed_gbps <= 0.0 {
        found.faults.push("speedintra is not above 0".to_owned());
    }
}

/// A number whose decimal digits are read as hexadecimal ones.
fn hexadecimal(dev: u32) -> u32 {
    u32::from_str_radix(&dev.to_string(), 16).unwrap_or(dev)
}

/// Whether each channel passes each GPU once.
fn orders(pattern: &Pattern, machine: Option<&Machine>, found: &mut Check) {
    let mut all: Vec<u32> = match machine {
        Some(machine) => machine.gpus.iter().map(|gpu| gpu.dev).collect(),
        None => pattern.channels.iter().flatten().copied().collect(),
    };
    all.sort_by_cached_key(|dev| u64::from(*dev));
    all.dedup();
    let is_path = pattern.is_ring() || pattern.is_tree();
    for (number, channel) in pattern.channels.iter().enumerate() {
        let mut say = |what: String| found.faults.push(format!("channel {number} {what}"));
        let names = |of: &[u32]| first_of(8, of, |dev| format!("GPU {dev}"));
        let mut seen: Vec<u32> = Vec::new();
        let mut again: Vec<u32> = Vec::new();
        for dev in channel {
            if seen.contains(dev) { again.push(*dev) } else { seen.push(*dev) }
        }
        let missing: Vec<u32> = all.iter().filter(|dev| !seen.contains(dev)).copied().collect();
        let unknown: Vec<u32> = seen.iter().filter(|dev| !all.contains(dev)).copied().collect();
        if !again.is_empty() && is_path {
            say(format!("passes {} again", names(&again)));
        }
        if !missing.is_empty() && is_path {
            say(format!("leaves out {}", names(&missing)));
        }
        if !unknown.is_empty() {
            say(format!("has {}, which the machine has not", names(&unknown)));
        }
    }
    // Of many alike the first are enough.
    const MAX_NAMED: usize = 20;
    let more = found.faults.len().saturating_sub(MAX_NAMED) as u64;
    found.faults.truncate(MAX_NAMED);
    if more > 0 {
        found.faults.push(count(more, "more fault"));
    }
}

/// What the links give.
fn links(pattern: &Pattern, stated: &Stated, machine: &Machine, rates: &Rates, found: &mut Check) {
    if !found.faults.is_empty() || !pattern.is_ring() || pattern.channels.is_empty() {
        return;
    }
    if machine.gpus.len() > MOST_GPUS {
        let gpus = machine.gpus.len();
        found.notes.push(format!("What the links give is not checked for {gpus} GPUs, only up to {MOST_GPUS}."));
        return;
    }
    let routes = Routes::new(machine, rates);
    let mut loads = Loads::new(&routes);
    let place = |dev: u32| machine.gpus.iter().position(|gpu| gpu.dev == dev);
    for (channel, ports) in pattern.channels.iter().zip(&pattern.ports) {
        let places: Vec<usize> = channel.iter().filter_map(|dev| place(*dev)).collect();
        let back = places.first().filter(|_| ports.is_none());
        let closed: Vec<usize> = places.iter().chain(back).copied().collect();
        for pair in closed.windows(2).filter(|pair| pair[0] != pair[1]) {
            match routes.between(pair[0], pair[1]) {
                Some(route) => {
                    loads.add(&route);
                    loads.worst = loads.worst.max(route.kind);
                }
                None => loads
                    .unknown
                    .push(format!("GPU {} and GPU {}", machine.gpus[pair[0]].dev, machine.gpus[pair[1]].dev)),
            }
        }
        if let (Some((first, last)), Some(enters), Some(leaves)) = (ports, places.first(), places.last()) {
            for (dev, gpu, is_leaving) in [(first, enters, false), (last, leaves, true)] {
                let Some(nic) = machine.nics.iter().find(|nic| nic.dev == *dev) else {
                    loads.unknown.push(format!("network port {dev}"));
                    continue;
                };
                if let Some(route) = routes.to_port(&machine.gpus[*gpu], nic, is_leaving) {
                    loads.add(&route);
                }
            }
        }
    }
    let least = loads.least(&routes);
    found.real_gbps = least.map(|(gbps, _)| gbps);
    found.tightest = least.map(|(_, hop)| routes.hops[hop].name.clone());
    ports(pattern, machine, found);
    if !loads.unknown.is_empty() {
        let of = first_of(4, &loads.unknown, String::clone);
        found.notes.push(format!("No way is known of {of}, so that what the links give may be less."));
    }
    if let (Some(real), Some(tightest)) = (found.real_gbps, &found.tightest)
        && found.stated_gbps > real * (1.0 + 1e-6)
    {
        let stated = found.stated_gbps;
        found.faults.push(format!(
            "each channel states {stated} GB/s, and gets {real:.2} at most: {tightest} gives no more, and NCCL believes \
             what is stated"
        ));
    }
    let stated_kind = KINDS.iter().position(|kind| *kind == stated.intra);
    if stated_kind.is_some_and(|kind| kind < loads.worst) {
        found.notes.push(format!(
            "typeintra is {}, and the worst way is {}: NCCL takes what is stated, LL128 among it.",
            stated.intra, KINDS[loads.worst]
        ));
    }
}

/// What the network ports give, in each direction.
fn ports(pattern: &Pattern, machine: &Machine, found: &mut Check) {
    for nic in machine.nics.iter().filter(|nic| nic.gbps > 0.0) {
        let of = |is: &dyn Fn(&(u32, u32)) -> bool| pattern.ports.iter().flatten().filter(|ports| is(ports)).count();
        let uses = of(&|(first, _)| *first == nic.dev).max(of(&|(_, last)| *last == nic.dev));
        let each = nic.gbps / uses as f64;
        if uses > 0 && found.real_gbps.is_none_or(|real| each < real) {
            found.real_gbps = Some(each);
            found.tightest = Some(format!("network port {}", nic.name));
        }
    }
}
