//! The rules that a layout must satisfy.

use crate::training_time::{prediction::Mode, run::Run};

/// The most stages that are composed: more than any model has layers.
pub const MOST_STAGES: u32 = 1 << 12;
/// The most GPUs of a run: more than any job has.
pub const MOST_GPUS: u64 = 1 << 20;
/// The most passes that are simulated, each forward and backward: micro-batches times stages times chunks.
pub const MOST_PASSES: u64 = 1 << 18;

/// A rule that a run breaks, with the nearest value that obeys it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The degree or size with this name is zero.
    #[error("{label} is 0: at least 1 is needed; the nearest is {0} = 1", label = words(.0))]
    Zero(&'static str),
    /// Returned when there are more stages than layers.
    #[error(
        "{} = {pipeline} is more than the {layers} layers: each stage needs one; the nearest is pp = {layers}",
        words("pp")
    )]
    TooManyStages {
        /// The number of stages, pp.
        pipeline: u32,
        /// The number of the model's layers.
        layers: u32,
    },
    /// The run has this many stages, more than [`MOST_STAGES`].
    #[error(
        "{label} = {0} is more than the {MOST_STAGES} stages that are composed; the nearest is pp = {MOST_STAGES}",
        label = words("pp")
    )]
    TooWide(u32),
    /// Returned when the run has more GPUs than [`MOST_GPUS`].
    #[error(
        "pp·mp·dp = {gpus} GPUs are more than the {MOST_GPUS} that are composed; the nearest is {} = {nearest}",
        words(.name)
    )]
    TooManyGpus {
        /// The number of GPUs of the run, pp·mp·dp.
        gpus: u64,
        /// The degree to reduce: `mp` or `dp`.
        name: &'static str,
        /// The largest value of that degree that is composed.
        nearest: u64,
    },
    /// A stage has more chunks than there are layers for.
    #[error(
        "{} = {chunks} makes {chunks}·{pipeline} chunks of the {layers} layers: each needs one; the nearest is \
         virtual_stages = {}",
        words("virtual_stages"),
        layers / pipeline
    )]
    TooManyChunks {
        /// The number of chunks of a stage.
        chunks: u32,
        /// The number of stages, pp.
        pipeline: u32,
        /// The number of the model's layers.
        layers: u32,
    },
    /// More micro-batches than can be simulated over so many stages.
    #[error(
        "{} = {micro_batches} micro-batches over {parts} stages and chunks are more than the {MOST_PASSES} passes that are \
         simulated; the nearest is steps_per_update = {nearest}",
        words("steps_per_update")
    )]
    TooLong {
        /// The number of micro-batches of a step.
        micro_batches: u32,
        /// The number of stages times chunks.
        parts: u64,
        /// The largest valid number of micro-batches.
        nearest: u64,
    },
    /// A degree does not divide what it must.
    #[error(
        "{} = {degree} does not divide {} = {whole}; the nearest that does is {nearest}",
        words(.name),
        words(.of)
    )]
    Indivisible {
        /// The name of the degree.
        name: &'static str,
        /// The degree that the run states.
        degree: u32,
        /// The name of what it must divide.
        of: &'static str,
        /// The number that it must divide.
        whole: u32,
        /// The divisor of the whole that is nearest to the degree.
        nearest: u32,
    },
    /// The layers of the stages don't sum to those of the model.
    #[error("layers_per_stage has {stages} numbers that sum to {sum}: {pipeline} are needed that sum to {layers}")]
    Layers {
        /// The number of stages that are listed.
        stages: usize,
        /// The sum of their layers.
        sum: u64,
        /// The number of stages of the pipeline.
        pipeline: u32,
        /// The number of layers of the model.
        layers: u32,
    },
    /// The interleaved schedule works in groups of as many micro-batches as there are stages.
    #[error(
        "{micro_batches} micro-batches can't be interleaved over {pipeline} stages: a multiple of {pipeline} is needed; \
         the nearest is {nearest}"
    )]
    Groups {
        /// The number of micro-batches of a step.
        micro_batches: u32,
        /// The number of stages, pp.
        pipeline: u32,
        /// The nearest multiple of the stages.
        nearest: u32,
    },
}

/// What a key of a run file is, as the fields of the page call it: `Tensor degree (mp)`.
fn words(key: &str) -> String {
    const LABELS: [(&str, &str); 16] = [
        ("pp", "Pipeline stages"),
        ("mp", "Tensor degree"),
        ("dp", "Data-parallel degree"),
        ("ep", "Expert degree"),
        ("gpus_per_node", "GPUs of a node"),
        ("b", "Sequences of a micro-batch"),
        ("steps_per_update", "Micro-batches per step"),
        ("virtual_stages", "Chunks per stage"),
        ("encoders", "Layers"),
        ("h", "Attention heads"),
        ("kv_heads", "Heads of keys and values"),
        ("l", "Sequence length"),
        ("dim", "Hidden size"),
        ("ffn", "Inner size"),
        ("vocabulary", "Vocabulary"),
        ("experts", "Experts"),
    ];
    LABELS.iter().find(|(of, _)| *of == key).map_or_else(|| key.to_owned(), |(_, label)| format!("{label} ({key})"))
}

/// The divisor of `whole` that is nearest to `degree`, the smaller of two.
pub fn nearest_divisor(whole: u32, degree: u32) -> u32 {
    let small = (1..=whole.isqrt()).filter(|divisor| whole.is_multiple_of(*divisor));
    let all = small.flat_map(|divisor| [divisor, whole / divisor]);
    all.min_by_key(|divisor| (divisor.abs_diff(degree), *divisor)).unwrap_or(1)
}

fn divides(name: &'static str, degree: u32, of: &'static str, whole: u32) -> Result<(), RuleError> {
    if whole.is_multiple_of(degree) {
        return Ok(());
    }
    Err(RuleError::Indivisible { name, degree, of, whole, nearest: nearest_divisor(whole, degree) })
}

/// Looks whether a run obeys them. Parity mode also composes stages that can't be, as the reference does.
///
/// # Errors
/// Returns the first rule that the run breaks.
pub fn check(run: &Run, mode: Mode) -> Result<(), RuleError> {
    let (model, layout, execution) = (&run.model, &run.layout, &run.execution);
    let positive = [
        ("pp", layout.pipeline),
        ("mp", layout.tensor),
        ("dp", layout.data),
        ("ep", layout.expert),
        ("gpus_per_node", layout.gpus_per_node),
        ("b", run.micro_batch),
        ("steps_per_update", run.micro_batches),
        ("encoders", model.layers),
        ("h", model.heads),
        ("l", model.sequence),
        ("dim", model.hidden),
        ("kv_heads", model.kv_heads),
        ("ffn", model.ffn),
        ("vocabulary", model.vocabulary),
    ];
    if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
        return Err(RuleError::Zero(name));
    }
    divides("mp", layout.tensor, "h", model.heads)?;
    if layout.pipeline > MOST_STAGES {
        return Err(RuleError::TooWide(layout.pipeline));
    }
    if layout.gpus() > MOST_GPUS {
        let replica = u64::from(layout.pipeline) * u64::from(layout.tensor);
        let (name, nearest) = if replica <= MOST_GPUS {
            ("dp", MOST_GPUS / replica)
        } else {
            let most = MOST_GPUS / u64::from(layout.pipeline);
            ("mp", nearest_divisor(model.heads, u32::try_from(most).unwrap_or(u32::MAX)).into())
        };
        return Err(RuleError::TooManyGpus { gpus: layout.gpus(), name, nearest });
    }
    if mode == Mode::Parity {
        return Ok(());
    }
    divides("h", model.heads, "dim", model.hidden)?;
    let (pipeline, layers) = (layout.pipeline, model.layers);
    if pipeline > layers {
        return Err(RuleError::TooManyStages { pipeline, layers });
    }
    let parts = parts(pipeline, execution.virtual_stages);
    if parts > u64::from(layers) {
        return Err(RuleError::TooManyChunks { chunks: execution.virtual_stages, pipeline, layers });
    }
    if !is_short(run) {
        let most = MOST_PASSES / parts;
        let stages = u64::from(pipeline);
        let nearest = if execution.virtual_stages > 1 { most / stages * stages } else { most };
        return Err(RuleError::TooLong { micro_batches: run.micro_batches, parts, nearest: nearest.max(1) });
    }
    divides("ep", layout.expert, "dp", layout.data)?;
    divides("ep", layout.expert, "experts", model.experts.max(1))?;
    if let Some(layers) = &execution.layers_per_stage {
        let sum = layers.iter().map(|count| u64::from(*count)).sum();
        if layers.len() != pipeline as usize || sum != u64::from(model.layers) || layers.contains(&0) {
            return Err(RuleError::Layers { stages: layers.len(), sum, pipeline, layers: model.layers });
        }
    }
    if execution.virtual_stages > 1 && !run.micro_batches.is_multiple_of(pipeline) {
        let micro_batches = run.micro_batches;
        let below = (micro_batches / pipeline * pipeline).max(pipeline);
        let above = micro_batches.div_ceil(pipeline).saturating_mul(pipeline);
        let nearest = if above - micro_batches < micro_batches.abs_diff(below) { above } else { below };
        return Err(RuleError::Groups { micro_batches, pipeline, nearest });
    }
    Ok(())
}

/// The parts that a micro-batch passes one after the other: the chunks of all stages. Without a pipeline there is one.
pub fn parts(pipeline: u32, virtual_stages: u32) -> u64 {
    let chunks = if pipeline > 1 { virtual_stages.max(1) } else { 1 };
    u64::from(pipeline) * u64::from(chunks)
}

/// Whether the pipeline is small enough to be simulated quickly.
pub fn is_short(run: &Run) -> bool {
    let parts = parts(run.layout.pipeline, run.execution.virtual_stages);
    parts.saturating_mul(run.micro_batches.into()) <= MOST_PASSES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_divisors() {
        let of = |whole, degree| nearest_divisor(whole, degree);
        assert_eq!((of(32, 3), of(32, 7), of(40, 7), of(32, 100), of(5, 4)), (2, 8, 8, 32, 5));
    }
}
