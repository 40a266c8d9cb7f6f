//! A sweep without a cluster: a latency-bandwidth model of collectives, for examples and benchmarks.
//!
//! The time of an operation is a + m / b (R. Hockney, "The communication challenge for MPP", Parallel Computing 20,
//! 1994): a is a start plus the hops of the algorithm, each with the protocol's latency in the node or on the
//! network; m is what each rank must move (size × busbw factor); b is what the channels carry, each up to its
//! protocol's ceiling, until the fabric saturates. The figures are of the order that two-node clusters of eight GPUs
//! show. They are made up, and so is every file that comes from here.

use std::io::{self, Write};

use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    math::{Stream, exp, log2, pow},
};

/// The settings of a simulated sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The collectives, each at all scales.
    pub collectives: Vec<Collective>,
    /// Which numbers of nodes, of [`Simulation::GPUS_PER_NODE`] each.
    pub nodes: Vec<u32>,
    /// The message sizes in bytes.
    pub sizes: Vec<u64>,
    /// The channel counts of each algorithm and protocol.
    pub channels: Vec<u32>,
    /// The number of runs of each configuration.
    pub repeats: u32,
    /// The seed of the noise.
    pub seed: u64,
}

impl Simulation {
    /// The number of GPUs of a node.
    pub const GPUS_PER_NODE: u32 = 8;

    /// The sweep of the page's example.
    pub fn example() -> Self {
        Self {
            collectives: vec![Collective::AllReduce, Collective::AllGather],
            nodes: vec![1, 2],
            sizes: (12..=22).chain([24, 26, 28]).map(|log2| 1 << log2).collect(),
            channels: vec![1, 4, 8, 16, 32],
            repeats: 3,
            seed: 1,
        }
    }

    /// A sweep of at least this many rows, with many different configurations.
    pub fn of_rows(rows: u64) -> Self {
        let mut sweep = Self {
            collectives: Collective::ALL[..6].to_vec(),
            nodes: vec![1, 2, 4, 8],
            sizes: (12..30).map(|log2| 1 << log2).collect(),
            channels: (1..=64).collect(),
            repeats: 1,
            seed: 1,
        };
        sweep.repeats = u32::try_from(rows.div_ceil(sweep.rows().max(1))).unwrap_or(u32::MAX);
        sweep
    }

    /// How many rows it has.
    pub fn rows(&self) -> u64 {
        let scales = self.collectives.iter().flat_map(|c| self.nodes.iter().map(|n| (*c, *n)));
        let runs: usize = scales.map(|(c, n)| pairs(c, n).len() * self.channels.len() + 1).sum();
        u64::from(self.repeats) * (runs * self.sizes.len()) as u64
    }

    /// Writes it as rccl-sweep's merged CSV, in the form with what was requested; `run_id` says that it is simulated.
    /// Each repeat runs every configuration and the default over all sizes.
    ///
    /// # Errors
    /// The errors of writing to `out`.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let mut noise = Stream::new(self.seed);
        writeln!(out, "{HEADER}")?;
        for repeat in 1..=self.repeats {
            for &collective in &self.collectives {
                for &nodes in &self.nodes {
                    let scale = Scale { nodes, ranks: nodes * Self::GPUS_PER_NODE };
                    for (algorithm, protocol) in pairs(collective, nodes) {
                        for &channels in &self.channels {
                            let asked = Configuration { algorithm, protocol, channels };
                            for &size_bytes in &self.sizes {
                                let workload = Workload { collective, scale, size_bytes };
                                write_row(&mut out, repeat, &workload, asked, true, &mut noise)?;
                            }
                        }
                    }
                    for &size_bytes in &self.sizes {
                        let workload = Workload { collective, scale, size_bytes };
                        write_row(&mut out, repeat, &workload, default_choice(&workload), false, &mut noise)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The CSV text that [`Simulation::write`] writes.
    pub fn to_csv(&self) -> String {
        let mut bytes = Vec::new();
        // Writing to memory cannot fail.
        let _ = self.write(&mut bytes);
        String::from_utf8(bytes).unwrap_or_default()
    }
}

const HEADER: &str = "run_id,collective,num_nodes,num_gpus,size_bytes,count,data_type,redop,time_oop_us,algbw_oop,\
                      busbw_oop,errors_oop,time_ip_us,algbw_ip,busbw_ip,errors_ip,algo,proto,nchannels,\
                      requested_algo,requested_proto,requested_nchannels,substituted,measured_algo_raw,nchannels_source";

/// The algorithms and protocols that run on MI300-class nodes with RCCL.
fn pairs(collective: Collective, nodes: u32) -> Vec<(Algorithm, Protocol)> {
    use {
        Algorithm::{None as NoAlgorithm, Ring, Tree},
        Protocol::{Ll, Ll128, None as NoProtocol, Simple},
    };
    match (collective, nodes) {
        (Collective::AllReduce, 1) => vec![(Tree, Ll), (Ring, Ll), (Ring, Simple)],
        (Collective::AllReduce, _) => {
            vec![(Tree, Ll), (Tree, Ll128), (Tree, Simple), (Ring, Ll), (Ring, Ll128), (Ring, Simple)]
        }
        (Collective::AllGather | Collective::ReduceScatter | Collective::Broadcast | Collective::Reduce, 1) => {
            vec![(Ring, Ll), (Ring, Simple)]
        }
        (Collective::AllGather | Collective::ReduceScatter | Collective::Broadcast | Collective::Reduce, _) => {
            vec![(Ring, Ll), (Ring, Ll128), (Ring, Simple)]
        }
        _ => vec![(NoAlgorithm, NoProtocol)],
    }
}

/// A library's choice: sensible thresholds, a fixed number of channels, and room for improvement.
fn default_choice(workload: &Workload) -> Configuration {
    let several = workload.scale.nodes > 1;
    let (algorithm, protocol) = match (workload.collective, workload.size_bytes) {
        (Collective::AllReduce, ..=262_144) => (Algorithm::Tree, Protocol::Ll),
        (Collective::AllReduce, ..=2_097_152) if several => (Algorithm::Tree, Protocol::Simple),
        (Collective::AllReduce, ..=1_048_576) => (Algorithm::Ring, Protocol::Ll),
        (c, _) if pairs(c, 1) == [(Algorithm::None, Protocol::None)] => (Algorithm::None, Protocol::None),
        (_, ..=65_536) => (Algorithm::Ring, Protocol::Ll),
        (_, ..=1_048_576) if several => (Algorithm::Ring, Protocol::Ll128),
        _ => (Algorithm::Ring, Protocol::Simple),
    };
    Configuration { algorithm, protocol, channels: 32 }
}

/// Microseconds of one operation, without noise.
fn time_us(workload: &Workload, configuration: &Configuration) -> f64 {
    let Workload { collective, scale, size_bytes } = *workload;
    let Configuration { algorithm, protocol, channels } = *configuration;
    // Start, hop in the node, hop on the network (us); ceiling of a channel (GB/s); share of the fabric.
    let (start, node_hop, network_hop, channel_gbps, share) = match protocol {
        Protocol::Ll => (7.0, 0.7, 4.5, 2.4, 0.24),
        Protocol::Ll128 => (9.0, 1.3, 6.5, 11.0, 0.93),
        Protocol::Simple | Protocol::None => (11.0, 2.6, 12.0, 17.0, 1.0),
    };
    let (nodes, ranks, channels) = (f64::from(scale.nodes), f64::from(scale.ranks), f64::from(channels));
    let passes = if collective == Collective::AllReduce { 2.0 } else { 1.0 };
    let hops = match algorithm {
        Algorithm::Tree => (ranks / nodes - 1.0) * node_hop + log2(nodes).ceil() * network_hop,
        Algorithm::None => 2.0 * node_hop + (nodes - 1.0) * network_hop / 4.0,
        _ => (ranks - nodes) * node_hop + (nodes - 1.0) * network_hop,
    };
    let fabric = if scale.nodes == 1 { 380.0 } else { 300.0 * pow(nodes / 2.0, -0.05) };
    let fabric = fabric * share * if algorithm == Algorithm::Tree { 0.92 } else { 1.0 };
    let latency = start + passes * hops + 0.16 * channels;
    let moved = size_bytes as f64 * collective.busbw_factor(scale.ranks);
    let time = latency + moved / 1000.0 / saturating(channels * channel_gbps, fabric);
    // Two humps over the channels: one channel takes a shorter way for these.
    let shorter = matches!(collective, Collective::Broadcast | Collective::Reduce)
        && scale.nodes > 1
        && configuration.channels == 1
        && (32_768..=524_288).contains(&size_bytes);
    if shorter { 0.45 * time } else { time }
}

/// The smaller of two bandwidths, with a soft knee where they meet.
fn saturating(a: f64, b: f64) -> f64 {
    pow(pow(a, -4.0) + pow(b, -4.0), -0.25)
}

/// A factor on a time: a few per cent at small sizes, one at large ones, and now and then a stall.
fn disturbance(size_bytes: u64, noise: &mut Stream) -> f64 {
    let small = 16_384.0 / (16_384.0 + size_bytes as f64);
    let factor = exp((0.008 + 0.02 * small) * noise.normal());
    if noise.unit() < 0.004 { factor * (1.5 + 4.0 * noise.unit()) } else { factor }
}

fn write_row(
    out: &mut impl Write,
    repeat: u32,
    workload: &Workload,
    ran: Configuration,
    asked: bool,
    noise: &mut Stream,
) -> io::Result<()> {
    let Workload { collective, scale, size_bytes } = *workload;
    let per_rank = matches!(collective, Collective::AllGather | Collective::ReduceScatter);
    let count = size_bytes / 4 / if per_rank { u64::from(scale.ranks) } else { 1 };
    let redop = match collective {
        Collective::AllReduce | Collective::ReduceScatter | Collective::Reduce => "sum",
        _ => "none",
    };
    let expected = time_us(workload, &ran);
    let mut sample = || {
        let time_us = (expected * disturbance(size_bytes, noise) * 100.0).round() / 100.0;
        let algbw = size_bytes as f64 / time_us / 1000.0;
        let busbw = algbw * collective.busbw_factor(scale.ranks);
        format!("{},{},{},0", Decimals(time_us), Decimals(algbw), Decimals(busbw))
    };
    let (out_of_place, in_place) = (sample(), sample());
    let Configuration { algorithm, protocol, channels } = ran;
    let (nodes, ranks) = (scale.nodes, scale.ranks);
    write!(
        out,
        "simulated_{repeat},{collective}_perf,{nodes},{ranks},{size_bytes},{count},float,{redop},{out_of_place},\
         {in_place},{algorithm},{protocol},{channels},"
    )?;
    if asked {
        write!(out, "{algorithm},{protocol},{channels}")?;
    } else {
        write!(out, ",,")?;
    }
    writeln!(out, ",0,{algorithm},simulated")
}

/// Two decimals without trailing zeros, as pandas prints them: `15.0`, `0.27`.
struct Decimals(f64);

impl std::fmt::Display for Decimals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hundredths = (self.0 * 100.0).round() as u64;
        let (whole, rest) = (hundredths / 100, hundredths % 100);
        if rest.is_multiple_of(10) { write!(f, "{whole}.{}", rest / 10) } else { write!(f, "{whole}.{rest:02}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_plausible() {
        let scale = Scale { nodes: 2, ranks: 16 };
        let best = |collective, scale: Scale, size_bytes| {
            let workload = Workload { collective, scale, size_bytes };
            pairs(collective, scale.nodes)
                .into_iter()
                .flat_map(|(algorithm, protocol)| {
                    [1, 4, 8, 16, 32].map(|channels| Configuration { algorithm, protocol, channels })
                })
                .map(|c| (collective.busbw_gbps(scale.ranks, size_bytes, time_us(&workload, &c)), c))
                .max_by(|a, b| a.0.total_cmp(&b.0))
                .expect("there are configurations")
        };
        let (small, by) = best(Collective::AllReduce, scale, 4096);
        assert!((0.1..0.5).contains(&small) && (by.algorithm, by.protocol) == (Algorithm::Tree, Protocol::Ll), "{by}");
        let (_, by) = best(Collective::AllReduce, scale, 4 << 20);
        assert!((by.algorithm, by.protocol) == (Algorithm::Tree, Protocol::Ll128), "{by}");
        let (large, by) = best(Collective::AllReduce, scale, 1 << 28);
        assert!((270.0..310.0).contains(&large) && (by.algorithm, by.protocol) == (Algorithm::Ring, Protocol::Simple));
        let (intra, _) = best(Collective::AllReduce, Scale { nodes: 1, ranks: 8 }, 1 << 28);
        assert!((340.0..380.0).contains(&intra), "{intra}");
        let (_, by) = best(Collective::Broadcast, scale, 65_536);
        assert_eq!(by.channels, 1);
    }

    #[test]
    fn rows_are_counted() {
        let example = Simulation::example();
        assert_eq!(example.to_csv().lines().count() as u64, example.rows() + 1);
        let large = Simulation::of_rows(1_000_000);
        assert!((1_000_000..1_100_000).contains(&large.rows()), "{}", large.rows());
    }
}
