//! Traces beside an estimate: a step of one's own with its parts, and collectives that were measured.

use super::{
    answer::ComparedTrace,
    collectives::MeasuredCurve,
    device::Device,
    given_layout::GivenLayout,
    own_steps::{NamedStep, OwnStep},
    question::EstimateSettings,
};
use crate::{
    collective::Collective,
    text::excerpt,
    training_time::{catalogue::Catalogue, models::Transformer, samples::Communicator, trace::Trace},
};

/// Why a trace is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusedTrace {
    /// It is of another GPU.
    #[error("it is of {traced}, and the step of {asked}")]
    OtherGpu {
        /// The GPU of the trace.
        traced: String,
        /// The GPU that is asked about.
        asked: String,
    },
    /// The catalogue does not have its GPU.
    #[error(
        "it is of a {traced:?}, which the catalogue does not have: add that name, without its blanks, to the aliases of \
         its GPU in a catalogue file. A trace counts only if its GPU is a {asked}"
    )]
    UnknownGpu {
        /// The GPU of the trace, as the driver names it.
        traced: String,
        /// The GPU that is asked about.
        asked: String,
    },
    /// It is of a model with other tokens.
    #[error("it embeds {traced} tokens, and the vocabulary of the one that is asked about has {asked}")]
    OtherVocabulary {
        /// The rows of the table that the trace embeds.
        traced: u32,
        /// The vocabulary that is asked about.
        asked: u32,
    },
    /// It is of another model.
    #[error("it is of a model of width {traced}, and {asked} is the width of the one that is asked about")]
    OtherModel {
        /// The width in the trace.
        traced: u32,
        /// The width that is asked about.
        asked: u32,
    },
    /// Its groups do not make its ranks.
    #[error("its groups are tp {tensor} × pp {pipeline} × cp {context}, which does not divide its {ranks} ranks")]
    Groups {
        /// Ranks of a tensor group.
        tensor: u32,
        /// The number of pipeline stages.
        pipeline: u32,
        /// Ranks that share a sequence.
        context: u32,
        /// The number of ranks of the job.
        ranks: u64,
    },
}

/// A degree of a layout.
type Degree = fn(&mut GivenLayout) -> &mut u32;

/// The names of groups by which degrees are known: those of PyTorch's device mesh, as TorchTitan names its dimensions,
/// and those of Megatron-LM (`megatron/core/parallel_state.py`).
const GROUPS: [([&str; 2], Degree); 5] = [
    (["mesh_tp", "TENSOR_MODEL_PARALLEL_GROUP"], |layout| &mut layout.tensor),
    (["mesh_pp", "PIPELINE_MODEL_PARALLEL_GROUP"], |layout| &mut layout.pipeline),
    (["mesh_cp", "CONTEXT_PARALLEL_GROUP"], |layout| &mut layout.context),
    (["mesh_ep", "EXPERT_MODEL_PARALLEL_GROUP"], |layout| &mut layout.expert),
    (["mesh_dp_replicate", "INTER_DISTRIBUTED_OPTIMIZER_INSTANCE_GROUP"], |layout| &mut layout.replicate),
];

impl EstimateSettings {
    /// The steps of traces, and their collectives for the device; with the traces that can't be used.
    pub(super) fn traced(
        &self,
        model: &Transformer,
        catalogue: &Catalogue,
        device: &mut Device,
        traces: &[(String, Trace)],
    ) -> (Vec<NamedStep>, Vec<String>) {
        let (mut steps, mut unused) = (Vec::new(), Vec::new());
        for (name, trace) in traces {
            match self.traced_step(model, catalogue, device, trace) {
                Ok(step) => {
                    steps.push((name.clone(), step));
                    device.collectives.0.extend(curves(trace, device.linked_gpus));
                }
                Err(why) => unused.push(format!("{}: {why}", excerpt(name))),
            }
        }
        // Only the first stage embeds: its batch is that of the others.
        let known: Vec<OwnStep> = steps.iter().map(|(_, step)| *step).filter(|step| step.sequence.is_some()).collect();
        let degrees = |step: &OwnStep| (step.gpus, GivenLayout { micro_batch: 1, ..step.layout });
        for (_, step) in steps.iter_mut().filter(|(_, step)| step.sequence.is_none()) {
            if let Some(first) = known.iter().find(|first| degrees(first) == degrees(step)) {
                step.layout = first.layout;
                (step.sequence, step.global_batch) = (first.sequence, first.global_batch);
            }
        }
        (steps, unused)
    }

    /// The step of a trace: its layout by its groups, or else as files and question say; its batch by what it embeds.
    fn traced_step(
        &self,
        model: &Transformer,
        catalogue: &Catalogue,
        device: &Device,
        trace: &Trace,
    ) -> Result<OwnStep, UnusedTrace> {
        // The catalogue has the driver's names without their blanks.
        if let Some(traced) = trace.gpu.as_deref() {
            let asked = device.name.clone();
            match catalogue.gpu(&traced.replace(' ', "")) {
                Some(known) if known.name == asked => {}
                Some(other) => return Err(UnusedTrace::OtherGpu { traced: other.name.clone(), asked }),
                None => return Err(UnusedTrace::UnknownGpu { traced: excerpt(traced), asked }),
            }
        }
        if let Some(inputs) = trace.inputs.filter(|inputs| inputs.hidden != model.hidden) {
            return Err(UnusedTrace::OtherModel { traced: inputs.hidden, asked: model.hidden });
        }
        let gpus = trace.world_size.map_or(self.gpus, u64::from);
        let mut layout = self.layout.unwrap_or_default();
        let ranks_of = |names: &[&str; 2]| {
            let own = trace.groups.iter().find(|group| names.contains(&group.name.as_str()));
            own.map(|group| group.ranks.max(1))
        };
        // Of a rank that is in one such group, the others are left out where they are of one rank.
        let has_groups = GROUPS.iter().any(|(names, _)| ranks_of(names).is_some());
        let says_layout = has_groups || self.layout.is_some() || gpus == 1;
        if has_groups {
            for (names, degree) in &GROUPS {
                *degree(&mut layout) = ranks_of(names).unwrap_or(1);
            }
        }
        let GivenLayout { tensor, pipeline, context, .. } = layout;
        if let Some(inputs) = trace.inputs {
            // Programs add rows to the vocabulary, and split it among the ranks of a tensor group or not.
            let is_alike = |rows: u64| {
                let own = u64::from(model.vocabulary);
                (own..=own + own / 8 + 1024).contains(&rows)
            };
            let rows = u64::from(inputs.vocabulary);
            if !is_alike(rows) && !is_alike(rows * u64::from(tensor)) {
                return Err(UnusedTrace::OtherVocabulary { traced: inputs.vocabulary, asked: model.vocabulary });
            }
        }
        let product = layout.replica_gpus().max(1);
        if !gpus.is_multiple_of(product) {
            return Err(UnusedTrace::Groups { tensor, pipeline, context, ranks: gpus });
        }
        let mut step = OwnStep {
            gpus,
            layout,
            says_layout,
            sequence: None,
            global_batch: None,
            time_us: trace.step_us,
            line: None,
            parts: Some(trace.parts),
        };
        if let Some(inputs) = trace.inputs {
            step.layout.micro_batch = inputs.micro_batch;
            step.sequence = Some(inputs.tokens.saturating_mul(context));
            let of_replica = u64::from(inputs.micro_batch) * u64::from(inputs.micro_batches);
            step.global_batch = Some(of_replica.saturating_mul(gpus / product));
        }
        Ok(step)
    }

    /// A traced step beside what is computed for it; `None` if its layout is not possible.
    pub(super) fn compared(
        &self,
        model: &Transformer,
        device: &Device,
        name: String,
        step: &OwnStep,
    ) -> Option<ComparedTrace> {
        let columns = self.measured(model, device, step).ok()?.columns();
        Some(ComparedTrace {
            name,
            gpus: step.gpus,
            layout: step.layout,
            step_us: step.time_us,
            parts: step.parts?,
            computed_us: columns.times.minus(columns.bubble).parts(),
        })
    }
}

/// A collective over some GPUs, with the times in µs over sizes in bytes.
type Measured = (Collective, Communicator, Vec<(f64, f64)>);

/// The collectives of a trace, by what a step exchanges: the shortest of at least three calls.
fn curves(trace: &Trace, gpus_per_node: u32) -> Vec<MeasuredCurve> {
    /// Calls that are needed: of fewer, even the shortest may have waited.
    const CALLS: u32 = 3;
    let mut groups: Vec<Measured> = Vec::new();
    for call in trace.collectives.iter().filter(|call| call.calls >= CALLS) {
        let (over, point) = (call.over(gpus_per_node), (call.size_bytes, call.shortest_us));
        match groups.iter_mut().find(|(collective, known, _)| (*collective, *known) == (call.collective, over)) {
            Some((.., points)) => points.push(point),
            None => groups.push((call.collective, over, vec![point])),
        }
    }
    groups
        .iter()
        .flat_map(|(collective, over, points)| MeasuredCurve::for_every_use(*collective, *over, points))
        .collect()
}
