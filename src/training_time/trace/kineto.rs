//! Traces of torch.profiler (Kineto, `export_chrome_trace`): one JSON object with `traceEvents`.
//!
//! Keys: pytorch torch/csrc/profiler/util.h, and libkineto/src/output_json.cpp, which copies those of
//! `record_param_comms` to the kernels of NCCL.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::{ProcessGroup, Trace, TraceError, TracedCollective, TracedInputs, TracedParts, kernels::KernelClass};
use crate::{collective::Collective, intervals::Intervals, order::CompactSort};

/// Whether a JSON text is a trace.
pub fn is_trace(json: &str) -> bool {
    json.contains("\"traceEvents\"")
}

#[derive(Deserialize)]
struct TraceFile {
    #[serde(rename = "traceEvents")]
    events: Events,
    #[serde(rename = "distributedInfo", default)]
    job: Value,
    #[serde(rename = "deviceProperties", default)]
    devices: Value,
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
struct Events {
    /// Start and end of the steps of the host.
    steps: Vec<(f64, f64)>,
    /// The number of a step with its start on a stream of the GPU.
    gpu_steps: Vec<(u64, f64)>,
    kernels: Vec<Kernel>,
    embeddings: Vec<Embedding>,
    /// Calls of collectives, each with its time in µs.
    calls: Vec<(CollectiveCall, f64)>,
    /// The ranks of each group, by what the trace says of it.
    groups: Vec<(String, Vec<u32>)>,
    broken: u64,
    /// Kernels of collectives of which the trace does not say the sizes.
    without_size: u64,
}

/// A call of a collective: which, in which of [`Events::groups`], and its size in bytes as nccl-tests counts it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CollectiveCall {
    collective: Collective,
    group: usize,
    size_bytes: u64,
}

/// The most groups of ranks whose collectives are kept.
const MOST_GROUPS: usize = 256;

impl<'de> Deserialize<'de> for Events {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EventVisitor;
        impl<'de> Visitor<'de> for EventVisitor {
            type Value = Events;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of events")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
                let mut events = Events::default();
                while let Some(event) = sequence.next_element::<Event<'de>>()? {
                    events.take(&event);
                }
                Ok(events)
            }
        }
        deserializer.deserialize_seq(EventVisitor)
    }
}

impl Events {
    fn take(&mut self, event: &Event<'_>) {
        let is_kernel = event.cat.eq_ignore_ascii_case("kernel");
        let step = event.name.strip_prefix("ProfilerStep#").filter(|_| event.cat.ends_with("user_annotation"));
        let is_embedding = event.cat == "cpu_op" && event.name == "aten::embedding";
        if !is_kernel && step.is_none() && !is_embedding {
            return;
        }
        let (Some(start_us), Some(time_us)) = (event.ts, event.dur) else { return self.broken += 1 };
        // No event of a training step takes hours.
        if !(0.0..1e10).contains(&time_us) || !start_us.is_finite() {
            return self.broken += 1;
        }
        if let Some(number) = step {
            match event.cat == "user_annotation" {
                true => self.steps.push((start_us, start_us + time_us)),
                false => self.gpu_steps.extend(number.parse().ok().map(|number| (number, start_us))),
            }
        } else if is_embedding {
            let inputs = event.args.and_then(|args| embedded(&arguments(args)));
            self.embeddings.extend(inputs.map(|inputs| Embedding { start_us, inputs }));
        } else {
            let class = KernelClass::of(&event.name);
            self.kernels.push(Kernel { class, start_us, end_us: start_us + time_us });
            if class == KernelClass::Communication {
                let arguments = event.args.map(arguments).unwrap_or_default();
                match self.call(&arguments) {
                    Some(call) => self.calls.push((call, time_us)),
                    None if arguments["In msg nelems"].is_number() => {}
                    None => self.without_size += 1,
                }
            }
        }
    }

    /// The call that a kernel of NCCL is of; `None` if no step is estimated with such a call, or something is missing.
    fn call(&mut self, arguments: &Value) -> Option<CollectiveCall> {
        let number = |key: &str| arguments[key].as_f64();
        let group_size = count(&arguments["Group size"]);
        let (sent, received) = (number("In msg nelems")?, number("Out msg nelems"));
        let (collective, elements) = match arguments["Collective name"].as_str()?.trim_start_matches('_') {
            "allreduce" | "allreduce_coalesced" => (Collective::AllReduce, sent),
            "allgather" | "allgather_base" | "all_gather_into_tensor_coalesced" => {
                (Collective::AllGather, received.unwrap_or(sent * f64::from(group_size?)))
            }
            "reduce_scatter" | "reduce_scatter_base" | "reduce_scatter_tensor_coalesced" => {
                (Collective::ReduceScatter, sent)
            }
            "all_to_all" | "all_to_allv" | "alltoall_base" => (Collective::AllToAll, sent),
            "send" | "recv" => (Collective::SendRecv, sent.max(received.unwrap_or(0.0))),
            _ => return None,
        };
        let size_bytes = elements * bytes_of(arguments["dtype"].as_str()?)?;
        let size_bytes = (1.0..1e15).contains(&size_bytes).then_some(size_bytes as u64)?;
        Some(CollectiveCall { collective, group: self.group(arguments, group_size?)?, size_bytes })
    }

    /// The index of a call's group, which is added where it is new.
    fn group(&mut self, arguments: &Value, size: u32) -> Option<usize> {
        let said = ["Process Group Ranks", "Global rank start", "Global rank stride"].map(|key| &arguments[key]);
        let key = format!("{size} {said:?}");
        if let Some(known) = self.groups.iter().position(|(known, _)| *known == key) {
            return Some(known);
        }
        let ranks = ranks(arguments, size).filter(|_| self.groups.len() < MOST_GROUPS)?;
        self.groups.push((key, ranks));
        Some(self.groups.len() - 1)
    }
}

fn arguments(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// A count that is stored as a number.
fn count(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|count| u32::try_from(count).ok())
}

/// The inputs of an embedding: a table, and the numbers of its rows.
fn embedded(arguments: &Value) -> Option<TracedInputs> {
    let inputs = &arguments["Input Dims"];
    let size = |input: usize, axis: usize| count(&inputs[input][axis]).filter(|size| *size > 0);
    let is_pair = |input: usize| inputs[input].as_array().is_some_and(|sizes| sizes.len() == 2);
    let found = TracedInputs {
        vocabulary: size(0, 0)?,
        hidden: size(0, 1)?,
        micro_batch: size(1, 0)?,
        tokens: size(1, 1)?,
        micro_batches: 1,
    };
    (is_pair(0) && is_pair(1)).then_some(found)
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

/// The ranks of a group; a list that was cut off is continued by its stride.
fn ranks(arguments: &Value, size: u32) -> Option<Vec<u32>> {
    let size = Some(size).filter(|size| (2..=1 << 20).contains(size))?;
    let text = arguments["Process Group Ranks"].as_str().unwrap_or_default();
    let listed: Vec<u32> =
        text.trim_matches(['[', ']']).split(',').map_while(|rank| rank.trim().parse().ok()).collect();
    if listed.len() == size as usize {
        return Some(listed);
    }
    let stride = match listed[..] {
        [one, other, ..] => other.checked_sub(one)?,
        _ => count(&arguments["Global rank stride"])?,
    };
    let first = listed.first().copied().or_else(|| count(&arguments["Global rank start"]))?;
    (0..size).map(|at| first.checked_add(at.checked_mul(stride)?)).collect()
}

/// Reads a trace. Events without a time are left out and counted.
///
/// # Errors
/// Returns an error if the text is no JSON, no step is marked in it, or it has no kernel.
pub fn read(json: &str) -> Result<Trace, TraceError> {
    let TraceFile { events, job, devices } =
        serde_json::from_str(json).map_err(|error| TraceError::Json(error.to_string()))?;
    let Events { mut steps, gpu_steps, mut kernels, embeddings, calls, groups, broken, without_size } = events;
    steps.compact_sort_by(|a, b| a.0.total_cmp(&b.0));
    steps.dedup();
    let host = steps.first().zip(steps.last()).map(|(a, b)| (a.0, b.1)).ok_or(TraceError::NoStep)?;
    let step_us = (host.1 - host.0) / steps.len() as f64;
    if steps.windows(2).any(|pair| pair[1].0 < pair[0].1 - OVERLAP * step_us) {
        return Err(TraceError::SeveralRanks);
    }
    kernels.compact_sort_by(|a, b| a.start_us.total_cmp(&b.start_us));
    if kernels.is_empty() {
        return Err(TraceError::NoKernel);
    }
    let (start_us, end_us, number) = span(host, steps.len(), gpu_steps, &kernels);
    if !kernels.iter().any(|kernel| kernel.start_us < end_us && kernel.end_us > start_us) {
        return Err(TraceError::NoKernel);
    }
    let mut trace = Trace {
        gpu: devices[0]["name"].as_str().map(str::to_owned),
        steps: steps.len() as u32,
        step_us: (end_us - start_us) / number,
        parts: parts(&kernels, start_us, end_us, number),
        inputs: inputs(&embeddings, host.0, host.1, steps.len() as f64),
        collectives: alike(calls, &groups),
        ..Trace::default()
    };
    trace.world_size = count(&job["world_size"]);
    let group = |group: &Value| {
        Some(ProcessGroup { name: group["pg_desc"].as_str()?.to_owned(), ranks: count(&group["pg_size"])? })
    };
    trace.groups = job["pg_config"].as_array().into_iter().flatten().filter_map(group).collect();
    if broken > 0 {
        trace.left_out.push(format!("{broken} events without a time"));
    }
    if without_size > 0 {
        trace.left_out.push(format!("the sizes of {without_size} kernels of collectives, which it does not say"));
    }
    Ok(trace)
}

/// Of a step: the steps of one rank follow each other with less than this in common.
const OVERLAP: f64 = 0.01;

/// How much longer a step of the GPU is where the host runs ahead of it: the host waits for the GPU only in places.
const AHEAD: f64 = 1.05;

/// Of a step: where the GPU's steps are not marked and its kernels run on for longer after the last step of the host,
/// the host runs ahead.
const LATE: f64 = 0.5;

/// From where to where steps are counted, and how many: as the host has them, or, where it runs ahead, as the GPU.
fn span(host: (f64, f64), steps: usize, mut gpu_steps: Vec<(u64, f64)>, kernels: &[Kernel]) -> (f64, f64, f64) {
    let number = steps as f64;
    let step_us = (host.1 - host.0) / number;
    // A step is marked on each stream.
    gpu_steps.compact_sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    gpu_steps.dedup_by_key(|step| step.0);
    if let ([(_, first), .., (_, last)], true) = (&gpu_steps[..], gpu_steps.len() == steps) {
        let between = number - 1.0;
        return match (last - first) / between > AHEAD * step_us {
            true => (*first, *last, between),
            false => (host.0, host.1, number),
        };
    }
    let end_us = kernels.iter().map(|kernel| kernel.end_us).fold(host.1, f64::max);
    if end_us <= host.1 + LATE * step_us {
        return (host.0, host.1, number);
    }
    let starts = kernels.iter().map(|kernel| kernel.start_us).filter(|start| *start >= host.0);
    (starts.fold(host.1, f64::min), end_us, number)
}

/// What the time between the first step's start and the last one's end goes into, per step. Of kernels of several
/// streams at once, the time counts once.
fn parts(kernels: &[Kernel], start_us: f64, end_us: f64, steps: f64) -> TracedParts {
    let inside = |class: KernelClass| {
        kernels.iter().filter(move |kernel| kernel.class == class).filter_map(move |kernel| {
            let clipped = (kernel.start_us.max(start_us), kernel.end_us.min(end_us));
            (clipped.1 > clipped.0).then_some(clipped)
        })
    };
    let attends = Intervals::of(inside(KernelClass::Attention));
    let communicates = Intervals::of(inside(KernelClass::Communication));
    let mut others: Vec<(f64, f64)> = inside(KernelClass::Compute).chain(inside(KernelClass::Attention)).collect();
    others.compact_sort_by(|a, b| a.0.total_cmp(&b.0));
    let computes = Intervals::of(others);
    TracedParts {
        compute_us: (computes.total() - attends.total()) / steps,
        attention_us: attends.total() / steps,
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
fn alike(mut calls: Vec<(CollectiveCall, f64)>, groups: &[(String, Vec<u32>)]) -> Vec<TracedCollective> {
    calls.compact_sort_by(|a, b| a.0.cmp(&b.0));
    let of = |same: &[(CollectiveCall, f64)]| TracedCollective {
        collective: same[0].0.collective,
        ranks: groups[same[0].0.group].1.clone(),
        size_bytes: same[0].0.size_bytes as f64,
        shortest_us: same.iter().map(|(_, time_us)| *time_us).fold(f64::INFINITY, f64::min),
        calls: same.len() as u32,
    };
    calls.chunk_by(|a, b| a.0 == b.0).map(of).collect()
}
