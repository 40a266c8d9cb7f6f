//! Traces of torch.profiler (Kineto, `export_chrome_trace`): one JSON object with `traceEvents`.
//!
//! Keys: pytorch torch/csrc/profiler/util.h, and libkineto/src/output_json.cpp, which copies those of
//! `record_param_comms` to the kernels of NCCL.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{ProcessGroup, Trace, TraceError, TracedCollective, TracedInputs, TracedParts, kernels::KernelClass};
use crate::{collective::Collective, intervals::Intervals, order::CompactSort};

/// Whether a JSON text is a trace.
pub fn is_trace(json: &str) -> bool {
    json.contains("\"traceEvents\"")
}

#[derive(Deserialize)]
struct TraceFile<'a> {
    #[serde(rename = "traceEvents", borrow)]
    events: Events<'a>,
    #[serde(rename = "distributedInfo", default)]
    job: Option<Job>,
    #[serde(rename = "deviceProperties", default)]
    devices: Vec<DeviceProperties>,
}

#[derive(Deserialize)]
struct DeviceProperties {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Job {
    world_size: Option<u32>,
    #[serde(default)]
    pg_config: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    pg_desc: String,
    #[serde(default)]
    pg_size: u32,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    ts: Option<f64>,
    dur: Option<f64>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

/// A launch: what it does, with its start and end in µs.
struct Kernel {
    class: KernelClass,
    start_us: f64,
    end_us: f64,
}

/// An embedding that the host called: where it starts, and its inputs.
struct Embedding {
    start_us: f64,
    inputs: TracedInputs,
}

/// What is kept of the events.
#[derive(Default)]
struct Events<'a> {
    steps: Vec<(f64, f64)>,
    kernels: Vec<Kernel>,
    embeddings: Vec<Embedding>,
    collectives: Vec<(CollectiveArguments<'a>, f64)>,
    broken: u64,
    /// Kernels of collectives of which the trace does not say the sizes.
    without_size: u64,
}

/// What a kernel of NCCL says of its call.
#[derive(Deserialize)]
struct CollectiveArguments<'a> {
    #[serde(rename = "Collective name", borrow, default)]
    name: Cow<'a, str>,
    #[serde(rename = "dtype", borrow, default)]
    dtype: Cow<'a, str>,
    #[serde(rename = "In msg nelems")]
    sent: Option<f64>,
    #[serde(rename = "Out msg nelems")]
    received: Option<f64>,
    #[serde(rename = "Group size")]
    size: Option<u32>,
    #[serde(rename = "Process Group Ranks", borrow, default)]
    ranks: Cow<'a, str>,
    #[serde(rename = "Global rank start")]
    first_rank: Option<u32>,
    #[serde(rename = "Global rank stride")]
    stride: Option<u32>,
}

#[derive(Deserialize)]
struct OperatorArguments<'a> {
    #[serde(rename = "Input Dims", borrow)]
    inputs: Option<Vec<&'a RawValue>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Events<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EventVisitor;
        impl<'de> Visitor<'de> for EventVisitor {
            type Value = Events<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of events")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
                let mut events = Events::default();
                while let Some(event) = sequence.next_element::<Event<'de>>()? {
                    events.take(event);
                }
                Ok(events)
            }
        }
        deserializer.deserialize_seq(EventVisitor)
    }
}

impl<'a> Events<'a> {
    fn take(&mut self, event: Event<'a>) {
        let is_kernel = event.cat == "kernel";
        // Steps of the host: those of the GPU (`gpu_user_annotation`) are where its kernels are.
        let is_step = event.cat == "user_annotation" && event.name.starts_with("ProfilerStep#");
        let is_embedding = event.cat == "cpu_op" && event.name == "aten::embedding";
        if !is_kernel && !is_step && !is_embedding {
            return;
        }
        let (Some(start_us), Some(time_us)) = (event.ts, event.dur) else { return self.broken += 1 };
        // Above 2⁵³ ns a time has no fraction left.
        if !(0.0..1e10).contains(&time_us) || !start_us.is_finite() {
            return self.broken += 1;
        }
        if is_step {
            self.steps.push((start_us, start_us + time_us));
        } else if is_embedding {
            let inputs = event.args.and_then(|args| embedded(args.get()));
            self.embeddings.extend(inputs.map(|inputs| Embedding { start_us, inputs }));
        } else {
            let class = KernelClass::of(&event.name);
            self.kernels.push(Kernel { class, start_us, end_us: start_us + time_us });
            if class == KernelClass::Communication {
                match event.args.and_then(|args| serde_json::from_str::<CollectiveArguments<'a>>(args.get()).ok()) {
                    Some(call) if call.sent.is_some() => self.collectives.push((call, time_us)),
                    _ => self.without_size += 1,
                }
            }
        }
    }
}

/// The inputs of an embedding: a table, and the numbers of its rows.
fn embedded(arguments: &str) -> Option<TracedInputs> {
    let inputs = serde_json::from_str::<OperatorArguments<'_>>(arguments).ok()?.inputs?;
    let pair = |at: usize| -> Option<[u32; 2]> { serde_json::from_str(inputs.get(at)?.get()).ok() };
    let ([vocabulary, hidden], [micro_batch, tokens]) = (pair(0)?, pair(1)?);
    let is_there = [vocabulary, hidden, micro_batch, tokens].iter().all(|size| *size > 0);
    is_there.then_some(TracedInputs { vocabulary, hidden, micro_batch, tokens, micro_batches: 1 })
}

/// Bytes of an element, by PyTorch's name of the type.
fn bytes_of(dtype: &str) -> Option<f64> {
    Some(match dtype {
        "Double" | "Long" => 8.0,
        "Float" | "Int" => 4.0,
        "Half" | "BFloat16" | "Short" => 2.0,
        "Char" | "Byte" | "Bool" => 1.0,
        other if other.starts_with("Float8") => 1.0,
        _ => return None,
    })
}

impl CollectiveArguments<'_> {
    /// The collective with its size as nccl-tests counts it; `None` of one that no step is estimated with.
    fn call(&self) -> Option<(Collective, f64)> {
        let (sent, received) = (self.sent?, self.received);
        let (collective, elements) = match self.name.trim_start_matches('_') {
            "allreduce" | "allreduce_coalesced" => (Collective::AllReduce, sent),
            "allgather" | "allgather_base" | "all_gather_into_tensor_coalesced" => {
                (Collective::AllGather, received.unwrap_or(sent * f64::from(self.size?)))
            }
            "reduce_scatter" | "reduce_scatter_base" | "reduce_scatter_tensor_coalesced" => {
                (Collective::ReduceScatter, sent)
            }
            "all_to_all" | "all_to_allv" | "alltoall_base" => (Collective::AllToAll, sent),
            "send" | "recv" => (Collective::SendRecv, sent.max(received.unwrap_or(0.0))),
            _ => return None,
        };
        let size_bytes = elements * bytes_of(&self.dtype)?;
        (size_bytes > 0.0 && size_bytes < 1e15).then_some((collective, size_bytes))
    }

    /// The ranks of the group; a list that was cut off is continued by its stride.
    fn ranks(&self) -> Option<Vec<u32>> {
        let size = self.size.filter(|size| (2..=1 << 20).contains(size))?;
        let listed: Vec<u32> = self
            .ranks
            .trim_matches(['[', ']'])
            .split(',')
            .map_while(|rank| rank.trim().parse().ok())
            .collect();
        if listed.len() == size as usize {
            return Some(listed);
        }
        let stride = match listed[..] {
            [one, other, ..] => other.checked_sub(one)?,
            _ => self.stride?,
        };
        let first = listed.first().copied().or(self.first_rank)?;
        (0..size).map(|at| first.checked_add(at.checked_mul(stride)?)).collect()
    }
}

/// Reads a trace. Events without a time are left out and counted.
///
/// # Errors
/// Returns an error if the text is no JSON, no step is marked in it, or it has no kernel.
pub fn read(json: &str) -> Result<Trace, TraceError> {
    let TraceFile { events, job, devices } =
        serde_json::from_str(json).map_err(|error| TraceError::Json(error.to_string()))?;
    let Events { mut steps, mut kernels, embeddings, collectives, broken, without_size } = events;
    steps.compact_sort_by(|a, b| a.0.total_cmp(&b.0));
    steps.dedup();
    let (start_us, end_us) = steps.first().zip(steps.last()).map(|(a, b)| (a.0, b.1)).ok_or(TraceError::NoStep)?;
    kernels.compact_sort_by(|a, b| a.start_us.total_cmp(&b.start_us));
    if kernels.is_empty() {
        return Err(TraceError::NoKernel);
    }
    let count = steps.len() as f64;
    let mut trace = Trace {
        gpu: devices.into_iter().map(|device| device.name).find(|name| !name.is_empty()),
        steps: steps.len() as u32,
        step_us: (end_us - start_us) / count,
        parts: parts(&kernels, start_us, end_us, count),
        inputs: inputs(&embeddings, start_us, end_us, count),
        collectives: alike(&collectives),
        ..Trace::default()
    };
    if let Some(Job { world_size, pg_config }) = job {
        trace.world_size = world_size;
        trace.groups =
            pg_config.into_iter().map(|group| ProcessGroup { name: group.pg_desc, ranks: group.pg_size }).collect();
    }
    if broken > 0 {
        trace.left_out.push(format!("{broken} events without a time"));
    }
    if without_size > 0 {
        trace.left_out.push(format!("the sizes of {without_size} kernels of collectives, which it does not say"));
    }
    Ok(trace)
}

/// What the time between the first step's start and the last one's end goes into, per step.
fn parts(kernels: &[Kernel], start_us: f64, end_us: f64, steps: f64) -> TracedParts {
    let inside = |class: KernelClass| {
        kernels.iter().filter(move |kernel| kernel.class == class).filter_map(move |kernel| {
            let clipped = (kernel.start_us.max(start_us), kernel.end_us.min(end_us));
            (clipped.1 > clipped.0).then_some(clipped)
        })
    };
    let sum = |class: KernelClass| inside(class).map(|(start, end)| end - start).sum::<f64>();
    let communicates = Intervals::of(inside(KernelClass::Communication));
    let mut others: Vec<(f64, f64)> = inside(KernelClass::Compute).chain(inside(KernelClass::Attention)).collect();
    others.compact_sort_by(|a, b| a.0.total_cmp(&b.0));
    let computes = Intervals::of(others);
    TracedParts {
        compute_us: sum(KernelClass::Compute) / steps,
        attention_us: sum(KernelClass::Attention) / steps,
        exposed_us: (communicates.total() - communicates.shared_with(&computes)) / steps,
        communication_us: communicates.total() / steps,
    }
}

/// The embedding of tokens: that of the largest table, since positions are embedded as well.
fn inputs(embeddings: &[Embedding], start_us: f64, end_us: f64, steps: f64) -> Option<TracedInputs> {
    let inside = || embeddings.iter().filter(|of| (start_us..end_us).contains(&of.start_us)).map(|of| of.inputs);
    let largest = inside().max_by_key(|inputs| inputs.vocabulary)?;
    let calls = inside().filter(|inputs| *inputs == largest).count() as f64;
    Some(TracedInputs { micro_batches: (calls / steps).round().max(1.0) as u32, ..largest })
}

/// Calls of the same collective, ranks and size together.
fn alike(calls: &[(CollectiveArguments<'_>, f64)]) -> Vec<TracedCollective> {
    let mut found: BTreeMap<(Collective, Vec<u32>, u64), (f64, u32)> = BTreeMap::new();
    for (arguments, time_us) in calls {
        let Some(((collective, size_bytes), ranks)) = arguments.call().zip(arguments.ranks()) else { continue };
        let (shortest_us, count) = found.entry((collective, ranks, size_bytes as u64)).or_insert((f64::INFINITY, 0));
        *shortest_us = shortest_us.min(*time_us);
        *count += 1;
    }
    found
        .into_iter()
        .map(|((collective, ranks, size_bytes), (shortest_us, calls))| TracedCollective {
            collective,
            ranks,
            size_bytes: size_bytes as f64,
            shortest_us,
            calls,
        })
        .collect()
}
