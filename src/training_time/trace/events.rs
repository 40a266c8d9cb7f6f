//! What is kept of the events of a trace, whichever profiler wrote it, and what they say of a step.

use super::{Trace, TraceError, TracedInputs, TracedParts, collectives::Calls, kernels::KernelClass};
use crate::{intervals::Intervals, order::CompactSort};

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

/// What is kept of the events of one rank.
#[derive(Default)]
pub(super) struct Events {
    /// Start and end of the steps of the host.
    pub(super) steps: Vec<(f64, f64)>,
    /// The number of a step with its start on a stream of the GPU.
    pub(super) gpu_steps: Vec<(u64, f64)>,
    /// The collectives that its kernels are of.
    pub(super) calls: Calls,
    kernels: Vec<Kernel>,
    embeddings: Vec<Embedding>,
    broken: u64,
}

/// The start and the end in µs of an event, where they are possible: no event of a training step takes hours.
pub(super) fn times(start_us: Option<f64>, time_us: Option<f64>) -> Option<(f64, f64)> {
    let (start_us, time_us) = (start_us?, time_us?);
    ((0.0..1e10).contains(&time_us) && start_us.is_finite()).then_some((start_us, start_us + time_us))
}

impl Events {
    /// Adds an event that can't be used.
    pub(super) fn add_broken(&mut self) {
        self.broken += 1;
    }

    /// Adds a kernel, and returns what it does.
    pub(super) fn add_kernel(&mut self, name: &str, (start_us, end_us): (f64, f64)) -> KernelClass {
        let class = KernelClass::of(name);
        self.kernels.push(Kernel { class, start_us, end_us });
        class
    }

    /// Adds an embedding that the host called, by the shapes of its inputs.
    pub(super) fn add_embedding(&mut self, start_us: f64, inputs: TracedInputs) {
        self.embeddings.push(Embedding { start_us, inputs });
    }

    /// Whether a kernel was added.
    pub(super) fn has_kernels(&self) -> bool {
        !self.kernels.is_empty()
    }

    /// The trace that these events make.
    ///
    /// # Errors
    /// Returns an error if no step is marked, steps of several ranks are, or no kernel ran in them.
    pub(super) fn trace(self) -> Result<Trace, TraceError> {
        let Self { mut steps, gpu_steps, calls, mut kernels, embeddings, broken } = self;
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
        let (collectives, without_size) = calls.alike();
        let mut left_out = Vec::new();
        if broken > 0 {
            left_out.push(format!("{broken} events without a time or a name"));
        }
        if without_size > 0 {
            left_out.push(format!("the sizes of {without_size} kernels of collectives, which it does not say"));
        }
        Ok(Trace {
            steps: steps.len() as u32,
            step_us: (end_us - start_us) / number,
            parts: parts(&kernels, start_us, end_us, number),
            inputs: inputs(&embeddings, host.0, host.1, steps.len() as f64),
            collectives,
            left_out,
            ..Trace::default()
        })
    }
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
