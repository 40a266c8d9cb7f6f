//! Reads the XML files that NCCL and RCCL dump: the machine (`NCCL_TOPO_DUMP_FILE`), and the rings and trees that they
//! use (`NCCL_GRAPH_DUMP_FILE`).

mod pattern;

use std::collections::BTreeMap;

use super::{
    generate::{self, RecipeError},
    model::{Link, Topology, Unit},
    msccl::{Element, parse},
};
use crate::{
    order::{CompactCollect, CompactSort},
    text::{Column, Entry, Listing, number},
    units::{count as count_of, grouped},
};
pub use pattern::{Graphs, MOST_HOPS, Pattern, Stated};

/// The most GPUs, and the most ports, of a node. The largest node that NCCL knows has 576.
pub const MOST_GPUS: usize = 1024;
const MOST_DEV: u32 = 65_535;
/// The number of faulty links that are reported one by one.
const MAX_NAMED: usize = 8;

/// A CPU, or a NUMA domain of one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cpu {
    /// Its name here, with its number.
    pub name: String,
    /// Bandwidth to another one in one direction, as NCCL counts it, in GB/s.
    pub between_gbps: f64,
    /// Whether Intel made it.
    pub is_intel: bool,
}

/// A CPU or a PCI bridge on the way to a GPU or a network port, or its own PCI function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bridge {
    /// Its address on the PCI bus; the name of a CPU.
    pub name: String,
    /// Bandwidth of the PCI link to what is above it, as NCCL counts it, in GB/s; infinite for a CPU.
    pub gbps: f64,
}

/// A GPU of a dumped machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gpu {
    /// Its address on the PCI bus.
    pub busid: String,
    /// Its device number on the node.
    pub dev: u32,
    /// The architecture as the dump names it: `gfx950`, `sm_90`.
    pub generation: String,
    /// The bus addresses of its neighbours over XGMI or NVLink, each with the number of links.
    pub neighbours: Vec<(String, u32)>,
    /// The number of its links to NVLink switches.
    pub to_switches: u32,
    /// Bandwidth of the narrowest PCI link between it and the CPU, in GB/s.
    pub pci_gbps: f64,
    /// The CPU and the bridges above it, from the CPU down.
    pub path: Vec<Bridge>,
}

impl Gpu {
    /// It has links of XGMI or NVLink.
    pub(super) fn is_linked(&self) -> bool {
        !self.neighbours.is_empty() || self.to_switches > 0
    }
}

/// A network port of a machine, as NCCL dumps it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nic {
    /// The name of the port, such as `mlx5_0`.
    pub name: String,
    /// Its device number on the node.
    pub dev: u32,
    /// Bandwidth of the port in one direction, in GB/s.
    pub gbps: f64,
    /// The CPU and the bridges above it, from the CPU down.
    pub path: Vec<Bridge>,
}

/// One node, as it was dumped: its GPUs and network ports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// The GPUs, by device number.
    pub gpus: Vec<Gpu>,
    /// The network ports, by device number.
    pub nics: Vec<Nic>,
    /// The CPUs.
    pub cpus: Vec<Cpu>,
}

/// The rates of links, which a dump does not have. The user can change all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// The bandwidth of one link of each GPU generation in one direction, in GB/s.
    pub links: Vec<(String, f64)>,
    /// The latency of a link within the node, in ns.
    pub latency_ns: f64,
    /// The latency of the network, in ns.
    pub net_latency_ns: f64,
    /// The number of nodes, which a switch connects.
    pub nodes: u32,
}

impl Default for Rates {
    /// XGMI by AMD's data sheets (half of the bandwidth that they give for both directions); NVLink by NCCL
    /// (`src/graph/topo.h`).
    fn default() -> Self {
        const LINKS: [(&str, f64); 12] = [
            ("gfx906", 46.0),
            ("gfx908", 46.0),
            ("gfx90a", 50.0),
            ("gfx942", 64.0),
            ("gfx950", 76.8),
            ("sm_60", 18.0),
            ("sm_70", 20.0),
            ("sm_80", 20.0),
            ("sm_86", 12.0),
            ("sm_90", 20.6),
            ("sm_100", 40.1),
            ("", 20.0),
        ];
        Self {
            links: LINKS.map(|(name, gbps)| (name.to_owned(), gbps)).to_vec(),
            latency_ns: 700.0,
            net_latency_ns: 3000.0,
            nodes: 1,
        }
    }
}

impl Rates {
    /// The bandwidth of one link of a GPU generation in one direction, in GB/s.
    pub fn link_gbps(&self, generation: &str) -> f64 {
        let of = |name: &str| self.links.iter().find(|(known, _)| known == name).map(|(_, gbps)| *gbps);
        of(generation).or_else(|| of("")).unwrap_or(20.0)
    }

    /// Whether the table has a rate for the generation.
    pub(super) fn knows(&self, generation: &str) -> bool {
        self.links.iter().any(|(known, _)| known == generation && !known.is_empty())
    }

    /// A row for each generation, with the rate of one link in GB/s and where it comes from.
    pub fn listing(&self) -> Listing {
        const COLUMNS: [Column; 3] = [
            Column::words("Generation", "of the GPU, as the dump names it; the last row is for all others"),
            Column::numbers("GB/s", "of one XGMI or NVLink in one direction"),
            Column::words("From", "where the usual rate comes from"),
        ];
        let usual = Self::default();
        let from = |name: &str, gbps: f64| match name {
            name if usual.link_gbps(name) != gbps => "chosen here",
            "" => "a guess",
            name if name.starts_with("gfx") => "AMD's data sheets, half of both directions",
            _ => "NCCL, src/graph/topo.h",
        };
        let name = |name: &str| if name.is_empty() { "others".to_owned() } else { name.to_owned() };
        let row = |(of, gbps): &(String, f64)| {
            vec![
                Entry::text(name(of)),
                Entry::number(Some(*gbps), |gbps| gbps.to_string()),
                Entry::text(from(of, *gbps)),
            ]
        };
        Listing { columns: COLUMNS.to_vec(), rows: self.links.iter().map(row).collect() }
    }
}

/// What a dump of NCCL or RCCL describes.
#[derive(Clone, Debug, PartialEq)]
pub enum Dump {
    /// The GPUs and ports of one node.
    Machine(Machine),
    /// Rings and trees, a pattern for each graph of the dump.
    Patterns(Graphs),
}

/// Whether a text begins like a dump.
pub fn is_dump(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    ["<system", "<graphs"].iter().any(|tag| text.starts_with(tag))
        || (text.starts_with("<?xml") && ["<system", "<graphs"].iter().any(|tag| text.contains(tag)))
}

/// Reads a dump.
///
/// # Errors
/// Returns a message if the text is not a dump.
pub fn read(text: &str) -> Result<Dump, String> {
    let root = parse(text)?;
    match root.name.as_str() {
        "system" => {
            let mut machine = Machine::default();
            for cpu in root.named("cpu") {
                let name = format!("cpu {}", cpu.get("numaid").unwrap_or("0"));
                machine.cpus.push(Cpu {
                    name: name.clone(),
                    between_gbps: between_cpus_gbps(cpu),
                    is_intel: cpu.get("vendor").is_some_and(|vendor| vendor == "GenuineIntel"),
                });
                let path = Bridge { name, gbps: f64::INFINITY };
                walk(cpu, &mut vec![path], f64::INFINITY, &mut machine)?;
            }
            machine.gpus.compact_sort_by_key(|gpu| gpu.dev);
            machine.nics.compact_sort_by_key(|nic| nic.dev);
            machine.nics.dedup_by(|a, b| a.name == b.name && a.dev == b.dev);
            if machine.gpus.is_empty() {
                return Err("it has no GPU".to_owned());
            }
            for (count, what) in [(machine.gpus.len(), "GPUs"), (machine.nics.len(), "network ports")] {
                if count > MOST_GPUS {
                    let (count, most) = (grouped(count as u64), grouped(MOST_GPUS as u64));
                    return Err(format!(
                        "it has {count} {what}, and one node has at most {most}: dump one node, and join several here"
                    ));
                }
            }
            Ok(Dump::Machine(machine))
        }
        "graphs" => {
            let patterns: Vec<Pattern> = root.named("graph").map(pattern::read).collect::<Result<_, _>>()?;
            let hops: u64 = patterns.iter().map(Pattern::hops).sum();
            if hops > MOST_HOPS {
                let most = grouped(MOST_HOPS);
                return Err(format!("its channels pass {} GPUs, and those of one node at most {most}", grouped(hops)));
            }
            let stated = root.named("graph").map(pattern::stated).collect();
            let version = root.get("version").map(str::to_owned);
            Ok(Dump::Patterns(Graphs { version, patterns, stated }))
        }
        other => Err(format!("<{other}> is neither a topology (<system>) nor graphs (<graphs>)")),
    }
}

/// What NCCL counts between two CPUs in one direction, in GB/s (`ncclTopoGetInterCpuBw` in `topo.cc`, `topo.h`).
fn between_cpus_gbps(cpu: &Element) -> f64 {
    let number = |key: &str| cpu.get(key).and_then(integer).unwrap_or(0);
    // Of AMD the family is base and extended family: 0x8f for Zen 1 and 2, 0xaf for 3 and 4, 0xbf for 5.
    let (family, model) = (number("familyid"), number("modelid"));
    match (cpu.get("arch").unwrap_or_default(), cpu.get("vendor").unwrap_or_default()) {
        ("ppc64", _) => 32.0,
        ("arm64", _) => 6.0,
        (_, "AuthenticAMD") if family >= 0xbf => 32.0,
        (_, "AuthenticAMD") if family >= 0xaf => 24.0,
        (_, "AuthenticAMD") => 16.0,
        (_, "GenuineIntel") if family == 6 && model >= 0xcf => 40.0,
        (_, "GenuineIntel") if family == 6 && model >= 0x8f => 22.0,
        (_, "GenuineIntel") if family == 6 && model >= 0x55 => 10.0,
        _ => 6.0,
    }
}

/// What NCCL counts for a PCI link of a speed and a width, in GB/s (`kvDictPciGen` in `topo.cc`: hundreds of Mb/s for
/// each lane).
fn counted_pci_gbps(speed: Option<f64>, width: Option<f64>) -> f64 {
    let lane = match speed {
        Some(speed) if speed >= 64.0 => 480.0,
        Some(speed) if speed >= 32.0 => 240.0,
        Some(speed) if speed >= 16.0 => 120.0,
        Some(speed) if speed < 5.0 => 15.0,
        Some(speed) if speed < 8.0 => 30.0,
        _ => 60.0,
    };
    width.filter(|width| *width > 0.0).unwrap_or(16.0) * lane / 80.0
}

fn walk(element: &Element, path: &mut Vec<Bridge>, gbps: f64, machine: &mut Machine) -> Result<(), String> {
    for child in &element.children {
        match child.name.as_str() {
            "pci" => {
                let speed = child.get("link_speed").and_then(|speed| number(speed.split_whitespace().next()?));
                let width = child.get("link_width").and_then(number);
                // GT/s per lane, with the 128b/130b code that PCIe has from 8 GT/s on.
                let own = match (speed, width) {
                    (Some(speed), Some(width)) if speed > 0.0 && width > 0.0 => {
                        speed * width / 8.0 * if speed >= 8.0 { 128.0 / 130.0 } else { 0.8 }
                    }
                    _ => f64::INFINITY,
                };
                let name = child.get("busid").unwrap_or_default().to_ascii_lowercase();
                path.push(Bridge { name, gbps: counted_pci_gbps(speed, width) });
                walk(child, path, gbps.min(own), machine)?;
                path.pop();
            }
            "gpu" => {
                let Some(dev) = child.get("dev").and_then(dev) else {
                    return Err(format!("line {}: a GPU without dev from 0 to {MOST_DEV}", child.line));
                };
                let links = child.children.iter().filter(|link| ["xgmi", "nvlink"].contains(&link.name.as_str()));
                let (mut neighbours, mut to_switches) = (Vec::new(), 0);
                for link in links {
                    let count = link.get("count").and_then(integer).unwrap_or(1);
                    // PCI class 0x0680 is a switch.
                    if link.get("tclass").is_some_and(|class| class.starts_with("0x0680")) {
                        to_switches = u32::saturating_add(to_switches, count);
                    } else {
                        neighbours.push((link.get("target").unwrap_or_default().to_ascii_lowercase(), count));
                    }
                }
                machine.gpus.push(Gpu {
                    busid: path.last().map(|own| own.name.clone()).unwrap_or_default(),
                    dev,
                    generation: child
                        .get("gcn")
                        .map_or_else(|| format!("sm_{}", child.get("sm").unwrap_or("")), str::to_owned),
                    neighbours,
                    to_switches,
                    pci_gbps: if gbps.is_finite() { gbps } else { 0.0 },
                    path: path.clone(),
                });
            }
            "net" => {
                let mbps = child.get("speed").and_then(number).unwrap_or(0.0);
                machine.nics.push(Nic {
                    name: child.get("name").unwrap_or_default().to_owned(),
                    dev: child.get("dev").and_then(dev).unwrap_or(machine.nics.len() as u32),
                    gbps: mbps / 8000.0,
                    path: path.clone(),
                });
            }
            "nic" => walk(child, path, gbps, machine)?,
            _ => {}
        }
    }
    Ok(())
}

/// The device number of a GPU or a port, if it is valid.
fn dev(text: &str) -> Option<u32> {
    integer(text).filter(|dev| *dev <= MOST_DEV)
}

/// A whole number as dumps write it: `7` or `0x7`.
fn integer(text: &str) -> Option<u32> {
    match text.trim().strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.trim().parse().ok(),
    }
}

impl Machine {
    /// The port that shares the most bridges with a GPU; ports at equal distance take turns.
    pub fn nearest(&self, gpu: &Gpu) -> Option<&Nic> {
        let shared = |nic: &Nic| nic.path.iter().zip(&gpu.path).take_while(|(a, b)| a.name == b.name).count();
        let most = self.nics.iter().map(&shared).max()?;
        let near: Vec<&Nic> = self.nics.iter().filter(|nic| shared(nic) == most).collect();
        near.get(gpu.dev as usize % near.len().max(1)).copied()
    }

    /// The index of each GPU by its bus address.
    fn places(&self) -> BTreeMap<&str, usize> {
        self.gpus.iter().enumerate().rev().map(|(place, gpu)| (gpu.busid.as_str(), place)).compact_collect()
    }

    /// What is odd about the lines of links between GPUs, a sentence each, of which the first are named: no link
    /// counted, a line that is there again (NCCL adds its links), links in one direction only, or to itself.
    fn odd_links(&self, places: &BTreeMap<&str, usize>) -> Vec<String> {
        let mut odd = Vec::new();
        for (from, gpu) in self.gpus.iter().enumerate() {
            for (index, (target, count)) in gpu.neighbours.iter().enumerate() {
                let Some(to) = places.get(target.as_str()).copied() else { continue };
                let other = &self.gpus[to];
                let is_of = |target: &str, place: usize| places.get(target) == Some(&place);
                let links_back = other.neighbours.iter().filter(|(target, _)| is_of(target, from));
                let back: u64 = links_back.map(|(_, count)| u64::from(*count)).sum();
                let (dev, other) = (gpu.dev, other.dev);
                let is_again = gpu.neighbours[..index].iter().any(|(earlier, _)| earlier == target);
                odd.extend(match () {
                    () if to == from => Some(format!("GPU {dev} has a link to itself, which is not used")),
                    () if *count == 0 => {
                        Some(format!("A line of GPU {dev} says 0 links to GPU {other}: it is not used"))
                    }
                    () if is_again => Some(format!(
                        "GPU {dev} has several lines of links to GPU {other}: they are added, as NCCL does"
                    )),
                    () if back == 0 => Some(format!("GPU {dev} has links to GPU {other}, and GPU {other} none back")),
                    () => None,
                });
            }
        }
        let more = odd.len().saturating_sub(MAX_NAMED) as u64;
        odd.truncate(MAX_NAMED);
        if more > 0 {
            odd.push(format!("{} of links between GPUs like these", count_of(more, "more line")));
        }
        odd
    }

    /// What a GPU can send to another through what all share: NVLink switches, or PCIe where one of the two has no
    /// other links. Every port divides its bandwidth equally among those that it leads to, and between two GPUs the
    /// smaller share counts, so that neither port is overloaded. `on_switch` GPUs have links to switches.
    fn shared_gbps(&self, from: &Gpu, to: &Gpu, on_switch: u32, rates: &Rates) -> f64 {
        if from.to_switches > 0 && to.to_switches > 0 {
            let port = |gpu: &Gpu| rates.link_gbps(&gpu.generation) * f64::from(gpu.to_switches);
            return port(from).min(port(to)) / f64::from(on_switch.max(2) - 1);
        }
        if from.is_linked() && to.is_linked() {
            return 0.0;
        }
        from.pci_gbps.min(to.pci_gbps) / f64::from((self.gpus.len() as u32).max(2) - 1)
    }

    /// The machine's links as a topology, with notes: XGMI or NVLink between GPUs; where there is neither, PCIe, whose
    /// lanes all share. Several nodes are connected by a switch, unrolled: a GPU reaches the same GPU of every other
    /// node through its port.
    ///
    /// # Errors
    /// Returns a [`RecipeError`] if the nodes have too many GPUs or links in all.
    pub fn topology(&self, name: &str, rates: &Rates) -> Result<(Topology, Vec<String>), RecipeError> {
        let count = self.gpus.len() as u32;
        let nodes = rates.nodes.max(1);
        if u64::from(nodes) * u64::from(count) > u64::from(generate::MOST) {
            return Err(RecipeError::Size(u64::from(nodes) * u64::from(count)));
        }
        let places = self.places();
        let mut notes = self.odd_links(&places);
        let (mut unknown, mut unlinked, mut guessed) = (0, 0, Vec::<&str>::new());
        let mut inside: Vec<Link> = Vec::new();
        let on_switch = self.gpus.iter().filter(|gpu| gpu.to_switches > 0).count() as u32;
        let most_named = notes.len() + MAX_NAMED;
        for (from, gpu) in (0..).zip(&self.gpus) {
            let mut link = |to: u32, bandwidth: f64| {
                if bandwidth > 0.0 && to != from {
                    inside.push(Link { from, to, latency_ns: rates.latency_ns, bandwidth });
                }
            };
            let per_link = rates.link_gbps(&gpu.generation);
            let is_linked = gpu.is_linked();
            if is_linked && !rates.knows(&gpu.generation) && !guessed.contains(&gpu.generation.as_str()) {
                guessed.push(&gpu.generation);
            }
            unlinked += u64::from(!is_linked);
            for (target, count) in &gpu.neighbours {
                match places.get(target.as_str()) {
                    Some(to) => link(*to as u32, per_link * f64::from(*count)),
                    None if notes.len() < most_named => {
                        notes.push(format!("GPU {} has a link to {target}, which is not in the dump", gpu.dev));
                    }
                    None => unknown += 1,
                }
            }
            for (to, other) in (0..).zip(&self.gpus) {
                link(to, self.shared_gbps(gpu, other, on_switch, rates));
            }
        }
        if on_switch > 2 {
            notes.push(generate::unrolled("NVLink switch", on_switch - 1, "a GPU"));
        }
        for generation in guessed {
            let guess = rates.link_gbps(generation);
            notes.push(format!(
                "What a link of {generation} carries is not known: {guess} GB/s is a guess, to be set as its rate"
            ));
        }
        if unlinked > 0 {
            let gpus = count_of(unlinked, "GPU");
            notes.push(format!("{gpus} without XGMI or NVLink: links over PCIe, which all others share, stand in"));
        }
        let slow = self.nics.iter().filter(|nic| nic.gbps <= 0.0).count() as u64;
        if nodes > 1 && slow > 0 {
            notes.push(format!("{} without a speed left out", count_of(slow, "network port")));
        }
        if unknown > 0 {
            notes.push(format!("{} more links lead to what is not in the dump", grouped(unknown)));
        }
        let ports: Vec<Option<&Nic>> =
            self.gpus.iter().map(|gpu| self.nearest(gpu).filter(|nic| nic.gbps > 0.0)).collect();
        let mut sharing: BTreeMap<u32, u32> = BTreeMap::new();
        for gpu in &self.gpus {
            self.nearest(gpu).into_iter().for_each(|nic| *sharing.entry(nic.dev).or_default() += 1);
        }
        let joined = ports.iter().flatten().count() as u64 * u64::from(nodes) * u64::from(nodes - 1);
        let all = inside.len() as u64 * u64::from(nodes) + joined;
        if all > generate::MOST_LINKS {
            return Err(RecipeError::Links(u64::from(nodes) * u64::from(count), all));
        }
        let mut links = Vec::with_capacity(all as usize);
        for node in 0..nodes {
            links.extend(inside.iter().map(|link| Link {
                from: link.from + node * count,
                to: link.to + node * count,
                ..*link
            }));
        }
        for (index, nic) in (0..count).zip(ports) {
            let Some(nic) = nic else { continue };
            let sharing = sharing.get(&nic.dev).copied().unwrap_or(1);
            let bandwidth = nic.gbps / f64::from(sharing) / f64::from(nodes.max(2) - 1);
            for (a, b) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                let (from, to) = (a * count + index, b * count + index);
                links.push(Link { from, to, latency_ns: rates.net_latency_ns, bandwidth });
            }
        }
        let label = |node: u32, gpu: &Gpu| if nodes > 1 { format!("{node}/{}", gpu.dev) } else { gpu.dev.to_string() };
        let labels = (0..nodes).flat_map(|node| self.gpus.iter().map(move |gpu| label(node, gpu))).collect();
        let groups = (0..nodes).map(|node| (node * count..(node + 1) * count).collect()).collect();
        let shape = (nodes > 1).then_some(super::shape::Shape::Groups(groups));
        Ok((Topology { name: name.to_owned(), nodes: nodes * count, links, unit: Unit::Gb, labels, shape }, notes))
    }

    /// The GPUs with their paths and ports, as a table.
    pub fn listing(&self) -> Listing {
        const COLUMNS: [Column; 6] = [
            Column::numbers("GPU", "its number on the node"),
            Column::words("Bus", "where it is on the PCI bus"),
            Column::words("Generation", "as the dump names it"),
            Column::words("Links", "XGMI or NVLink: how many lead to whom"),
            Column::numbers("PCIe GB/s", "the narrowest PCIe link on its way to the CPU"),
            Column::words("Port", "the nearest network port, its speed in GB/s, and where their ways meet"),
        ];
        let places = self.places();
        let dev = |busid: &str| places.get(busid).map_or(busid.to_owned(), |place| self.gpus[*place].dev.to_string());
        let row = |gpu: &Gpu| {
            let mut links: Vec<String> =
                gpu.neighbours.iter().map(|(to, count)| format!("{count} to {}", dev(to))).collect();
            if gpu.to_switches > 0 {
                links.push(format!("{} to switches", gpu.to_switches));
            }
            let port = self.nearest(gpu).map(|nic| {
                let meet = nic.path.iter().zip(&gpu.path).take_while(|(a, b)| a.name == b.name).last();
                let meet = meet.map_or("nowhere", |(at, _)| &at.name);
                format!("{}, {} GB/s, by {meet}", nic.name, nic.gbps)
            });
            vec![
                Entry::number(Some(f64::from(gpu.dev)), |dev| dev.to_string()),
                Entry::text(gpu.busid.clone()),
                Entry::text(gpu.generation.clone()),
                Entry::text(links.join(", ")),
                Entry::number(Some(gpu.pci_gbps).filter(|gbps| *gbps > 0.0), |gbps| format!("{gbps:.1}")),
                Entry::text(port.unwrap_or_default()),
            ]
        };
        Listing { columns: COLUMNS.to_vec(), rows: self.gpus.iter().map(row).collect() }
    }
}
