//! What is known besides samples: GPUs, clusters, operators, collectives and architectures.
//!
//! All of it is data: a file of YAML or JSON with `catalogue: 1`, with [`Expression`]s where a value depends on the
//! run. What is built in is such a file as well, `built_in.yaml`.

pub(super) mod architecture;
mod read;
mod write;

pub use architecture::{Architecture, LayerItem, Parameters};

use super::{
    expression::{Expression, ExpressionError},
    samples::Communicator,
    scope::Scope,
};
use crate::text::yaml::{KeyError, Node};

/// The factor by which data in a cache may move faster than the memory's bandwidth allows; up to about three was
/// found on the GPUs of the shared samples. Times are flagged as impossible only beyond this factor.
pub const CACHED: f64 = 4.0;

/// The largest plausible bandwidth of one GPU's links in GB/s: ports of 800 Gb/s have 100 between nodes, the fastest
/// links within one 900.
pub const fn most_gbps(communicator: Communicator) -> f64 {
    if communicator.nodes > 1 { 200.0 } else { 2000.0 }
}

/// Everything that is known besides samples. Names are unique within a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue {
    /// The GPUs with their peaks.
    pub gpus: Vec<Gpu>,
    /// The clusters with the bandwidths of their networks.
    pub clusters: Vec<ClusterEntry>,
    /// The operators with their inputs and features.
    pub operators: Vec<Operator>,
    /// The collectives of a training step with their roles.
    pub collectives: Vec<Collective>,
    /// The architectures; the first one is that of the reference implementation.
    pub architectures: Vec<Architecture>,
}

/// A GPU model with its peaks; `None` where the catalogue states no figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// The name, such as `A100-SXM4-80GB`.
    pub name: String,
    /// Other names that files use, such as `NVIDIAA100-SXM4-80GB`.
    pub aliases: Vec<String>,
    /// Dense peak rate in TFLOP/s for each precision, such as `fp16`.
    pub peak_tflops: Vec<(String, f64)>,
    /// Size of its memory in GiB.
    pub memory_gib: Option<f64>,
    /// Bandwidth of its memory in GB/s (1e9 B/s).
    pub memory_gbps: Option<f64>,
    /// The number of its multiprocessors, or compute units.
    pub multiprocessors: Option<u32>,
    /// Bandwidth of its links to the GPUs beside it, in GB/s in one direction.
    pub link_gbps: Option<f64>,
    /// How many GPUs such links join.
    pub linked_gpus: Option<u32>,
    /// Bandwidth of its share of the network beyond them, in GB/s in one direction.
    pub network_gbps: Option<f64>,
    /// Whose measured efficiency of kernels it has; `None` for that of all measured GPUs together.
    pub kernels: Option<String>,
}

impl Gpu {
    /// The dense peak rate for a precision, in FLOP/s.
    pub fn peak_flops(&self, precision: &str) -> Option<f64> {
        let peak = self.peak_tflops.iter().find(|(known, _)| known.eq_ignore_ascii_case(precision));
        peak.map(|(_, tflops)| tflops * 1e12)
    }

    /// The least time in µs of this much computing and moving, where the peaks are known; 0 where they are not.
    pub fn floor_us(&self, precision: &str, flop: f64, bytes: f64) -> f64 {
        let computing = self.peak_flops(precision).map_or(0.0, |peak| flop / peak * 1e6);
        let moving = self.memory_gbps.map_or(0.0, |gbps| bytes / gbps / 1e3);
        computing.max(moving)
    }
}

/// A cluster, whose figures stand in where no collective was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterEntry {
    /// The name by which files and settings mean the cluster, ignoring case.
    pub name: String,
    /// The name of its GPU.
    pub gpu: String,
    /// The number of GPUs in a node.
    pub gpus_per_node: u32,
    /// The number of nodes; `None` if not stated.
    pub nodes: Option<u32>,
    /// Bandwidth of a GPU to others of its node, in GB/s.
    pub intra_gbps: Option<f64>,
    /// Bandwidth between nodes for each GPU, in GB/s.
    pub inter_gbps_per_gpu: Option<f64>,
    /// Latency of a message in µs.
    pub latency_us: Option<f64>,
    /// The job behind steps that were measured on the cluster, used where their table does not state it.
    pub steps: Option<StepsEntry>,
}

impl ClusterEntry {
    /// In words, that a layout has more GPUs or other nodes than the cluster.
    pub fn exceeded(&self, layout: &super::run::Layout) -> Option<String> {
        if layout.gpus_per_node != self.gpus_per_node {
            return Some(format!(
                "The run has {} GPUs a node, and {} has {} in the catalogue",
                layout.gpus_per_node, self.name, self.gpus_per_node
            ));
        }
        let gpus = u64::from(self.nodes?) * u64::from(self.gpus_per_node);
        (layout.gpus() > gpus).then(|| {
            format!("The run has {} GPUs, and {} has {gpus} of them in the catalogue", layout.gpus(), self.name)
        })
    }
}

/// The job behind measured steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepsEntry {
    /// The architecture of the model.
    pub architecture: String,
    /// Whether the optimizer was sharded: 0 or 1.
    pub zero: u8,
}

/// How to predict an operator that was not sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StandIn {
    /// From all sampled matrix products together, by shape.
    Gemm,
    /// From another operator, scaled by the number of bytes that both touch.
    Operator(String),
}

/// An operator: what it is sampled by, and what its time depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// The name, as in the names of its sample files.
    pub name: String,
    /// The columns of its samples that hold inputs.
    pub inputs: Vec<String>,
    /// The features that regressors use, in this order.
    pub features: Vec<Expression>,
    /// Count, m, k, n of a matrix product; of one product, count is 1.
    pub gemm: Option<[Expression; 4]>,
    /// The number of floating-point operations of the forward pass.
    pub flop: Option<Expression>,
    /// The number of bytes that the forward pass touches at least, in fp16.
    pub bytes: Option<Expression>,
    /// Bytes touched at least, where regressors see none: only what is faster than a GPU's memory is told by it.
    pub least_bytes: Option<Expression>,
    /// Backward time over forward time, where only forward was sampled.
    pub backward_factor: Option<f64>,
    /// How to predict it where it was not sampled.
    pub stands_in_for: Option<StandIn>,
}

impl Operator {
    /// The features, in order.
    ///
    /// # Errors
    /// Returns an error if a name has no value, or a divisor is zero.
    pub fn features(&self, scope: &Scope) -> Result<Vec<f64>, ExpressionError> {
        self.features.iter().map(|feature| feature.evaluate(scope)).collect()
    }

    /// Count, m, k, n of a matrix product; `None` for another operator.
    ///
    /// # Errors
    /// Returns an error if a name has no value, or a divisor is zero.
    pub fn gemm(&self, scope: &Scope) -> Result<Option<[f64; 4]>, ExpressionError> {
        let Some(gemm) = &self.gemm else { return Ok(None) };
        let mut shape = [0.0; 4];
        for (side, expression) in shape.iter_mut().zip(gemm) {
            *side = expression.evaluate(scope)?;
        }
        Ok(Some(shape))
    }

    /// Floating-point operations forward, 2·count·m·k·n of a matrix product; backward is twice that. `None` where
    /// nothing is known of it.
    ///
    /// # Errors
    /// Returns an error if a name has no value, or a divisor is zero.
    pub fn flop(&self, scope: &Scope) -> Result<Option<f64>, ExpressionError> {
        if let Some(flop) = &self.flop {
            return flop.evaluate(scope).map(Some);
        }
        Ok(self.gemm(scope)?.map(|[count, m, k, n]| 2.0 * count * m * k * n))
    }

    /// Whether it computes twice as much backward: a matrix product, or what says its operations.
    pub const fn multiplies(&self) -> bool {
        self.gemm.is_some() || self.flop.is_some()
    }

    /// The least time in µs of one pass forward on a GPU, by its peaks; 0 where nothing is known. What a cache holds
    /// moves [`CACHED`] times as fast as memory.
    pub fn least_us(&self, gpu: &Gpu, precision: &str, scope: &Scope) -> f64 {
        let flop = self.flop(scope).ok().flatten().unwrap_or_default();
        let declared = || self.least_bytes.as_ref()?.evaluate(scope).ok();
        let bytes = self.bytes(scope).ok().flatten().or_else(declared).unwrap_or_default();
        gpu.floor_us(precision, flop, bytes / CACHED)
    }

    /// Bytes that it touches forward at least, in fp16: 2·count·(m·k + k·n + m·n) of a matrix product. `None` where
    /// nothing is known of it.
    ///
    /// # Errors
    /// Returns an error if a name has no value, or a divisor is zero.
    pub fn bytes(&self, scope: &Scope) -> Result<Option<f64>, ExpressionError> {
        if let Some(bytes) = &self.bytes {
            return bytes.evaluate(scope).map(Some);
        }
        Ok(self.gemm(scope)?.map(|[count, m, k, n]| 2.0 * count * (m * k + k * n + m * n)))
    }
}

/// The purpose of a collective in a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// All-reduce of activations over the tensor-parallel group.
    Tensor,
    /// All-reduce of gradients over the data-parallel group.
    Gradient,
    /// All-gather of parameters over the data-parallel group.
    Gather,
    /// Point-to-point messages between neighbouring pipeline stages.
    Pipeline,
    /// All-to-all of tokens over the expert-parallel group.
    Expert,
}

/// A collective of a training step.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// The name that files use, such as `allreduce_large`.
    pub name: String,
    /// What a training step uses it for.
    pub role: Role,
    /// Bus bandwidth is 2·shape·this over the time, n being the ranks.
    pub busbw_factor: Expression,
    /// The message size in elements.
    pub shape: Expression,
    /// The nodes of its communicator; less than 1 counts as 1.
    pub nodes: Expression,
    /// The GPUs on each node of its communicator; less than 1 counts as 1.
    pub per_node: Expression,
}

impl Collective {
    /// Its communicator in a run.
    ///
    /// # Errors
    /// Returns an error if a name has no value, or a divisor is zero.
    pub fn communicator(&self, scope: &Scope) -> Result<Communicator, ExpressionError> {
        let whole = |expression: &Expression| expression.evaluate(scope).map(|value| value.max(1.0) as u32);
        Ok(Communicator { nodes: whole(&self.nodes)?, per_node: whole(&self.per_node)? })
    }

    /// Bus bandwidth in GB/s of a message of fp16 elements. `None` for one rank.
    pub fn busbw_gbps(&self, elements: u64, communicator: Communicator, time_us: f64) -> Option<f64> {
        let scope = Scope::from([("n", f64::from(communicator.ranks()))]);
        let factor = self.busbw_factor.evaluate(&scope).ok()?;
        Some(2.0 * elements as f64 * factor / time_us / 1e3).filter(|gbps| gbps.is_finite() && *gbps > 0.0)
    }
}

/// The names that expressions may speak of, besides an operator's inputs and an architecture's variables.
/// `parameters` are those of a stage on one rank.
pub const NAMES: [&str; 19] = [
    "mp",
    "pp",
    "dp",
    "ep",
    "b",
    "l",
    "dim",
    "h",
    "kv_heads",
    "ffn",
    "vocabulary",
    "E",
    "experts",
    "top_k",
    "nodes",
    "g",
    "n",
    "encoders",
    "parameters",
];

impl Catalogue {
    /// The catalogue of `built_in.yaml`, which dropped catalogues extend.
    pub fn built_in() -> Self {
        // That it can be read is a test.
        Self::parse(include_str!("built_in.yaml")).unwrap_or_default()
    }

    /// Reads a file in YAML or JSON.
    ///
    /// # Errors
    /// Returns an error with its location if the file is no valid catalogue.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        Self::read(&crate::text::yaml::parse(text)?)
    }

    /// Reads a file that was parsed.
    ///
    /// # Errors
    /// Returns an error with its location if the file is no valid catalogue.
    pub fn read(root: &Node) -> Result<Self, KeyError> {
        read::catalogue(root)
    }

    /// Takes in another one, whose entries replace those of the same name. Says which were replaced, and what is
    /// doubtful about them. The names that a GPU has besides stay.
    pub fn extend(&mut self, mut other: Self) -> Vec<String> {
        fn merge<T>(kind: &str, into: &mut Vec<T>, from: Vec<T>, name: fn(&T) -> &str, replaced: &mut Vec<String>) {
            for entry in from {
                match into.iter_mut().find(|known| name(known) == name(&entry)) {
                    Some(known) => {
                        replaced.push(format!("{kind} {}", name(&entry)));
                        *known = entry;
                    }
                    None => into.push(entry),
                }
            }
        }
        let mut replaced = Vec::new();
        let mut doubts = Vec::new();
        for gpu in &mut other.gpus {
            let Some(known) = self.gpus.iter().find(|known| known.name == gpu.name) else { continue };
            let new = known.aliases.iter().filter(|alias| !gpu.aliases.contains(alias)).cloned().collect::<Vec<_>>();
            gpu.aliases.extend(new);
            for (precision, tflops) in &gpu.peak_tflops {
                let before = known.peak_flops(precision).map_or(0.0, |flops| flops / 1e12);
                if (1.9..2.1).contains(&(tflops / before)) {
                    doubts.push(format!(
                        "its peak of {tflops} TFLOP/s in {precision} is twice the {before} before: data sheets often give \
                         that of sparse matrices"
                    ));
                }
            }
        }
        merge("GPU", &mut self.gpus, other.gpus, |entry| &entry.name, &mut replaced);
        replaced.extend(doubts);
        merge("cluster", &mut self.clusters, other.clusters, |entry| &entry.name, &mut replaced);
        merge("operator", &mut self.operators, other.operators, |entry| &entry.name, &mut replaced);
        merge("collective", &mut self.collectives, other.collectives, |entry| &entry.name, &mut replaced);
        merge("architecture", &mut self.architectures, other.architectures, |entry| &entry.name, &mut replaced);
        replaced
    }

    /// A GPU by its name or one of its aliases, in any case.
    pub fn gpu(&self, name: &str) -> Option<&Gpu> {
        let is = |known: &String| known.eq_ignore_ascii_case(name);
        self.gpus.iter().find(|gpu| is(&gpu.name) || gpu.aliases.iter().any(is))
    }

    /// The cluster with this name, ignoring case.
    pub fn cluster(&self, name: &str) -> Option<&ClusterEntry> {
        self.clusters.iter().find(|cluster| cluster.name.eq_ignore_ascii_case(name))
    }

    /// The entry of sampled GPUs: of the cluster's name, else the only one with such GPUs.
    pub fn cluster_of(&self, samples: &super::samples::Cluster) -> Option<&ClusterEntry> {
        let by_gpu = || {
            let gpu = &self.gpu(&samples.gpu)?.name;
            let is_same = |entry: &&ClusterEntry| self.gpu(&entry.gpu).is_some_and(|known| known.name == *gpu);
            let mut same = self.clusters.iter().filter(is_same);
            same.next().filter(|_| same.next().is_none())
        };
        self.cluster(&samples.name).or_else(by_gpu)
    }

    /// The operator with this name.
    pub fn operator(&self, name: &str) -> Option<&Operator> {
        self.operators.iter().find(|operator| operator.name == name)
    }

    /// The collective with this name.
    pub fn collective(&self, name: &str) -> Option<&Collective> {
        self.collectives.iter().find(|collective| collective.name == name)
    }

    /// The architecture with this name, ignoring case.
    pub fn architecture(&self, name: &str) -> Option<&Architecture> {
        self.architectures.iter().find(|architecture| architecture.name.eq_ignore_ascii_case(name))
    }

    /// The catalogue as a YAML file, which [`Catalogue::parse`] reads.
    pub fn to_yaml(&self) -> String {
        write::catalogue(self)
    }
}

#[cfg(test)]
mod tests;
