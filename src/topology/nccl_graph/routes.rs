//! The links of a machine, each in both directions, and the way between two GPUs over them, as NCCL takes it.

use super::super::dump::{Bridge, Gpu, Machine, Nic, Rates};

/// The kinds of ways, from the best to the worst. See `PATH_LOC` and those that follow it in NCCL's `graph.h`.
pub(super) const KINDS: [&str; 10] = ["LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"];
/// Over NVLink or xGMI.
const NVL: usize = 1;
/// Over NVLink through another GPU.
const NVB: usize = 2;
/// Through one PCI bridge.
const PIX: usize = 4;
/// Through several PCI bridges.
const PXB: usize = 5;
/// Through the CPU.
const PHB: usize = 8;
/// From one CPU to another.
const SYS: usize = 9;

/// What NCCL counts for each byte between two GPUs through an Intel CPU (`INTEL_P2P_OVERHEAD`).
const INTEL_SHARE: f64 = 1.2;

/// A link in one direction.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    /// What it is, for people.
    pub(super) name: String,
    /// Its bandwidth in GB/s.
    pub(super) gbps: f64,
}

/// A way: its links, each with the bytes that a byte takes there, and the place of its kind in [`KINDS`].
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    pub(super) hops: Vec<(usize, f64)>,
    pub(super) kind: usize,
}

/// An element of the PCI tree.
struct Element {
    name: String,
    /// The element above; its own place for a CPU.
    above: usize,
}

/// The links of a machine.
pub(super) struct Routes<'a> {
    machine: &'a Machine,
    rates: &'a Rates,
    elements: Vec<Element>,
    pub(super) hops: Vec<Hop>,
    /// The first of the links between CPUs.
    first_between: usize,
    /// Links between GPUs and to their switches, by their ends; `None` is a switch.
    direct: Vec<(Option<usize>, Option<usize>, usize)>,
}

impl<'a> Routes<'a> {
    pub(super) fn new(machine: &'a Machine, rates: &'a Rates) -> Self {
        let mut routes =
            Self { machine, rates, elements: Vec::new(), hops: Vec::new(), first_between: 0, direct: Vec::new() };
        for cpu in &machine.cpus {
            routes.element(&Bridge { name: cpu.name.clone(), gbps: f64::INFINITY }, None);
        }
        let paths = machine.gpus.iter().map(|gpu| &gpu.path).chain(machine.nics.iter().map(|nic| &nic.path));
        for path in paths {
            let mut above = None;
            for bridge in path {
                above = Some(routes.element(bridge, above));
            }
        }
        routes.first_between = routes.hops.len();
        for from in &machine.cpus {
            for to in &machine.cpus {
                let name = format!("{} to {}", from.name, to.name);
                routes.hops.push(Hop { name, gbps: from.between_gbps.min(to.between_gbps) });
            }
        }
        routes.connect();
        routes
    }

    /// The element of a bridge; a new one has a link in both directions, up and down.
    fn element(&mut self, bridge: &Bridge, above: Option<usize>) -> usize {
        let known = self.elements.iter().position(|element| element.name == bridge.name);
        known.unwrap_or_else(|| {
            let place = self.elements.len();
            self.elements.push(Element { name: bridge.name.clone(), above: above.unwrap_or(place) });
            for way in ["up from", "down to"] {
                self.hops.push(Hop { name: format!("PCIe {way} {}", bridge.name), gbps: bridge.gbps });
            }
            place
        })
    }

    fn connect(&mut self) {
        let Self { machine, rates, .. } = *self;
        let mut add = |from: Option<usize>, to: Option<usize>, name: String, gbps: f64| {
            self.direct.push((from, to, self.hops.len()));
            self.hops.push(Hop { name, gbps });
        };
        for (place, gpu) in machine.gpus.iter().enumerate() {
            let each = rates.link_gbps(&gpu.generation);
            for (target, other) in machine.gpus.iter().enumerate().filter(|(target, _)| *target != place) {
                let lines = gpu.neighbours.iter().filter(|(busid, _)| *busid == other.busid);
                let count: f64 = lines.map(|(_, count)| f64::from(*count)).sum();
                if count > 0.0 {
                    add(Some(place), Some(target), format!("GPU {} to GPU {}", gpu.dev, other.dev), count * each);
                }
            }
            if gpu.to_switches > 0 {
                let gbps = f64::from(gpu.to_switches) * each;
                add(Some(place), None, format!("GPU {} to its switches", gpu.dev), gbps);
                add(None, Some(place), format!("the switches to GPU {}", gpu.dev), gbps);
            }
        }
    }

    fn direct(&self, from: Option<usize>, to: Option<usize>) -> Option<usize> {
        self.direct.iter().find(|(a, b, _)| (*a, *b) == (from, to)).map(|(.., hop)| *hop)
    }

    /// The place of an element, and those above it up to the CPU.
    fn up(&self, path: &[Bridge]) -> Vec<usize> {
        let Some(last) = path.last() else { return Vec::new() };
        let mut all: Vec<usize> =
            self.elements.iter().position(|element| element.name == last.name).into_iter().collect();
        while let Some(place) = all.last()
            && self.elements[*place].above != *place
        {
            all.push(self.elements[*place].above);
        }
        all
    }

    /// The way over PCI; `None` where it is not known.
    fn over_pci(&self, from: &[Bridge], to: &[Bridge], are_gpus: bool) -> Option<Route> {
        let (from, to) = (self.up(from), self.up(to));
        let (from_cpu, to_cpu) = (*from.last()?, *to.last()?);
        let meet = from.iter().position(|place| to.contains(place));
        let (rise, fall) = match meet {
            Some(place) => {
                let at = to.iter().position(|other| *other == from[place])?;
                (&from[..place], &to[..at])
            }
            None => (&from[..from.len() - 1], &to[..to.len() - 1]),
        };
        let passes_cpu = meet.is_none_or(|place| from[place] == from_cpu);
        let is_intel = self.machine.cpus.get(from_cpu).is_some_and(|cpu| cpu.is_intel);
        let share = if passes_cpu && are_gpus && is_intel { INTEL_SHARE } else { 1.0 };
        let mut hops: Vec<(usize, f64)> = rise.iter().map(|place| (2 * place, share)).collect();
        if meet.is_none() {
            hops.push((self.first_between + from_cpu * self.machine.cpus.len() + to_cpu, 1.0));
        }
        hops.extend(fall.iter().rev().map(|place| (2 * place + 1, share)));
        // The bridges that it passes, of which those above both ends count once.
        let bridges = (rise.len() + fall.len()).saturating_sub(1);
        let kind = match () {
            () if meet.is_none() => SYS,
            () if passes_cpu => PHB,
            () if bridges <= 1 => PIX,
            () => PXB,
        };
        Some(Route { hops, kind })
    }

    /// The way between two GPUs, by their places.
    pub(super) fn between(&self, from: usize, to: usize) -> Option<Route> {
        if let Some(hop) = self.direct(Some(from), Some(to)) {
            return Some(Route { hops: vec![(hop, 1.0)], kind: NVL });
        }
        if let (Some(out), Some(back)) = (self.direct(Some(from), None), self.direct(None, Some(to))) {
            return Some(Route { hops: vec![(out, 1.0), (back, 1.0)], kind: NVL });
        }
        let through = (0..self.machine.gpus.len()).filter_map(|gpu| {
            let (first, second) = (self.direct(Some(from), Some(gpu))?, self.direct(Some(gpu), Some(to))?);
            Some((self.hops[first].gbps.min(self.hops[second].gbps), first, second))
        });
        if let Some((_, first, second)) = through.max_by(|a, b| a.0.total_cmp(&b.0)) {
            return Some(Route { hops: vec![(first, 1.0), (second, 1.0)], kind: NVB });
        }
        let [from, to] = [from, to].map(|place| &self.machine.gpus[place].path);
        self.over_pci(from, to, true)
    }

    /// The way between a GPU and a network port, in the direction that is asked for.
    pub(super) fn to_port(&self, gpu: &Gpu, nic: &Nic, leaves: bool) -> Option<Route> {
        match leaves {
            true => self.over_pci(&gpu.path, &nic.path, false),
            false => self.over_pci(&nic.path, &gpu.path, false),
        }
    }
}
