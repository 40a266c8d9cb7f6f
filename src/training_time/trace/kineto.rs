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

use super::{
    ProcessGroup, Trace, TraceError,
    collectives::{Calls, CollectiveCall},
    events::{self, Events},
    kernels::KernelClass,
    shapes,
};
use crate::collective::Collective;

/// Whether a JSON text is a trace.
pub fn is_trace(json: &str) -> bool {
    json.contains("\"traceEvents\"")
}

#[derive(Deserialize)]
struct TraceFile {
    #[serde(rename = "traceEvents")]
    events: EventList,
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

/// The list of events, of which only what counts is kept as it is read.
struct EventList(Events);

impl<'de> Deserialize<'de> for EventList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EventVisitor;
        impl<'de> Visitor<'de> for EventVisitor {
            type Value = EventList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of events")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
                let mut events = Events::default();
                while let Some(event) = sequence.next_element::<Event<'de>>()? {
                    take(&mut events, &event);
                }
                Ok(EventList(events))
            }
        }
        deserializer.deserialize_seq(EventVisitor)
    }
}

fn take(events: &mut Events, event: &Event<'_>) {
    let is_kernel = event.cat.eq_ignore_ascii_case("kernel");
    let step = event.name.strip_prefix("ProfilerStep#").filter(|_| event.cat.ends_with("user_annotation"));
    let is_embedding = event.cat == "cpu_op" && event.name == "aten::embedding";
    if !is_kernel && step.is_none() && !is_embedding {
        return;
    }
    let Some((start_us, end_us)) = events::times(event.ts, event.dur) else { return events.add_broken() };
    if let Some(number) = step {
        match event.cat == "user_annotation" {
            true => events.steps.push((start_us, end_us)),
            false => events.gpu_steps.extend(number.parse().ok().map(|number| (number, start_us))),
        }
    } else if is_embedding {
        if let Some(inputs) = event.args.and_then(|args| shapes::embedded(&arguments(args)["Input Dims"])) {
            events.add_embedding(start_us, inputs);
        }
    } else if events.add_kernel(&event.name, (start_us, end_us)) == KernelClass::Communication {
        let arguments = event.args.map(arguments).unwrap_or_default();
        match call(&mut events.calls, &arguments) {
            Some(call) => events.calls.add(call, end_us - start_us),
            None if arguments["In msg nelems"].is_number() => {}
            None => events.calls.add_without_size(),
        }
    }
}

/// The call that a kernel of NCCL is of; `None` if no step is estimated with such a call, or something is missing.
fn call(calls: &mut Calls, arguments: &Value) -> Option<CollectiveCall> {
    let number = |key: &str| arguments[key].as_f64();
    let group_size = shapes::count(&arguments["Group size"]);
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
    let size = group_size?;
    let said = ["Process Group Ranks", "Global rank start", "Global rank stride"].map(|key| &arguments[key]);
    let group = calls.group(format!("{size} {said:?}"), || ranks(arguments, size))?;
    Some(CollectiveCall { collective, group, size_bytes })
}

fn arguments(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
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
        _ => shapes::count(&arguments["Global rank stride"])?,
    };
    let first = listed.first().copied().or_else(|| shapes::count(&arguments["Global rank start"]))?;
    (0..size).map(|at| first.checked_add(at.checked_mul(stride)?)).collect()
}

/// Reads a trace. Events without a time are left out and counted.
///
/// # Errors
/// Returns an error if the text is no JSON, no step is marked in it, or it has no kernel.
pub fn read(json: &str) -> Result<Trace, TraceError> {
    let TraceFile { events: EventList(events), job, devices } =
        serde_json::from_str(json).map_err(|error| TraceError::Json(error.to_string()))?;
    let group = |group: &Value| {
        Some(ProcessGroup { name: group["pg_desc"].as_str()?.to_owned(), ranks: shapes::count(&group["pg_size"])? })
    };
    Ok(Trace {
        gpu: devices[0]["name"].as_str().map(str::to_owned),
        world_size: shapes::count(&job["world_size"]),
        groups: job["pg_config"].as_array().into_iter().flatten().filter_map(group).collect(),
        ..events.trace()?
    })
}
