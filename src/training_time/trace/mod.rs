//! Traces of training steps: where the time of one rank's kernels goes.
//!
//! A trace measures what an estimate computes: how long kernels take, and how much of exchanges nothing hides. Its step
//! counts as one of one's own, with its parts.

mod collectives;
mod database;
mod events;
mod kernels;
mod kineto;
mod ranges;
mod shapes;

pub use self::{
    database::read as read_database,
    kineto::{is_trace, read},
};
use super::samples::Communicator;
use crate::{collective::Collective, sqlite::SqliteError};

/// A trace of one rank over some steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The GPU's name, where the trace has it.
    pub gpu: Option<String>,
    /// The number of ranks of the job, where the trace has it.
    pub world_size: Option<u32>,
    /// The groups of ranks to which this rank belongs.
    pub groups: Vec<ProcessGroup>,
    /// The number of steps that it covers, at least 1.
    pub steps: u32,
    /// Which ranges its steps are, where torch.profiler did not mark them: a sentence without a full stop.
    pub steps_by: Option<String>,
    /// The time of a step in µs, the mean.
    pub step_us: f64,
    /// What a step's time goes into.
    pub parts: TracedParts,
    /// What the first stage embeds, where shapes were recorded.
    pub inputs: Option<TracedInputs>,
    /// Collectives of which the trace has the sizes.
    pub collectives: Vec<TracedCollective>,
    /// Events that were left out, in words.
    pub left_out: Vec<String>,
}

/// Ranks that exchange something, by the name that the software gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessGroup {
    /// The description, such as `mesh_tp` or `TENSOR_MODEL_PARALLEL_GROUP`.
    pub name: String,
    /// The number of its ranks.
    pub ranks: u32,
}

/// Times in µs of a step on one rank. What is missing to the step's time is neither: waiting for the host or for other
/// stages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TracedParts {
    /// Kernels that are neither attention nor communication, one after the other.
    pub compute_us: f64,
    /// Kernels of attention, one after the other.
    pub attention_us: f64,
    /// Communication while no other kernel ran.
    pub exposed_us: f64,
    /// Communication in all, whether other kernels ran beside it or not.
    pub communication_us: f64,
}

/// The tokens that a stage embeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracedInputs {
    /// Rows of the table on this rank.
    pub vocabulary: u32,
    /// The width of the model.
    pub hidden: u32,
    /// The number of sequences of a micro-batch on this rank.
    pub micro_batch: u32,
    /// Tokens of a sequence on this rank.
    pub tokens: u32,
    /// The number of micro-batches that this rank computes in a step.
    pub micro_batches: u32,
}

/// Calls of a collective that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedCollective {
    /// The collective of all calls.
    pub collective: Collective,
    /// The ranks of its group, in ascending order.
    pub ranks: Vec<u32>,
    /// The size in bytes, as nccl-tests counts it.
    pub size_bytes: f64,
    /// The shortest of the calls in µs: others waited longer for other ranks.
    pub shortest_us: f64,
    /// The number of calls of this size in the trace.
    pub calls: u32,
}

impl TracedCollective {
    /// The nodes and the GPUs of each, where ranks are numbered node by node.
    pub fn over(&self, gpus_per_node: u32) -> Communicator {
        let mut nodes: Vec<u32> = self.ranks.iter().map(|rank| rank / gpus_per_node.max(1)).collect();
        nodes.dedup();
        let nodes = nodes.len().max(1) as u32;
        Communicator { nodes, per_node: (self.ranks.len() as u32).div_ceil(nodes) }
    }
}

/// The traces of a file, each with the file's name; several with their number as well.
pub fn named(file: &str, traces: Vec<Trace>) -> impl Iterator<Item = (String, Trace)> {
    let of = traces.len();
    traces.into_iter().enumerate().map(move |(index, trace)| {
        let name = if of > 1 { format!("{file}, rank {} of {of}", index + 1) } else { file.to_owned() };
        (name, trace)
    })
}

/// Why a trace can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// The text is no JSON; the reader says why and where.
    #[error("is a trace that can't be read as JSON: {0}")]
    Json(String),
    /// No span is named `ProfilerStep`, so that no step can be told from another.
    #[error(
        "is a trace in which no step is marked (ProfilerStep): call step() of torch.profiler after each training step, \
         with a schedule"
    )]
    NoStep,
    /// Steps have more than a hundredth of their time in common, as where traces of several ranks stand in one file.
    #[error(
        "is a trace of several ranks that can't be told apart, since steps overlap or a process has several GPUs: give \
         the trace of each rank by itself"
    )]
    SeveralRanks,
    /// The database can't be read.
    #[error(transparent)]
    Sqlite(#[from] SqliteError),
    /// The database is of another program.
    #[error(
        "is a SQLite database, and neither an export of Nsight Systems (nsys export --type sqlite) nor of rocprofv3 \
         (--output-format rocpd)"
    )]
    OtherDatabase,
    /// The profile has no kernels.
    #[error(
        "is a profile without kernels of a GPU: run nsys profile --trace=cuda,nvtx, or rocprofv3 --kernel-trace \
         --marker-trace"
    )]
    NoKernelTable,
    /// The kernels of CUDA graphs were not traced one by one, with the number of launches of such graphs.
    #[error(
        "is a profile with {0} launches of CUDA graphs, whose kernels it does not have: run nsys profile \
         --cuda-graph-trace=node"
    )]
    Graphs(u64),
    /// No range of the profile is called a step, and no optimizer of PyTorch is marked.
    #[error(
        "is a profile in which no step is marked: put torch.cuda.nvtx.range_push(\"step\") and range_pop() around each \
         training step, or train within torch.autograd.profiler.emit_nvtx(record_shapes=True)"
    )]
    NoRange,
    /// Only the host was traced.
    #[error("is a trace without kernels of a GPU in its steps: trace with ProfilerActivity.CUDA as well")]
    NoKernel,
}
