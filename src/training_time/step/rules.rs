//! What a layout must obey.

use crate::training_time::{regressors::Mode, run::Run};

/// A rule that a run breaks, with the nearest value that obeys it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A degree or size of zero.
    #[error("{0} is 0: at least 1 is needed; the nearest is {0} = 1")]
    Zero(&'static str),
    /// More stages than layers.
    #[error("pp = {pipeline} is more than the {layers} layers: each stage needs one; the nearest is pp = {layers}")]
    TooManyStages {
        /// Stages.
        pipeline: u32,
        /// Layers.
        layers: u32,
    },
    /// A degree that must divide something.
    #[error("{name} = {degree} does not divide {of} = {whole}; the nearest that does is {nearest}")]
    Indivisible {
        /// Name of the degree.
        name: &'static str,
        /// The degree.
        degree: u32,
        /// What it must divide.
        of: &'static str,
        /// Its value.
        whole: u32,
        /// The nearest divisor.
        nearest: u32,
    },
    /// Layers of stages that don't sum to the model's.
    #[error("layers_per_stage has {stages} numbers that sum to {sum}: {pipeline} are needed that sum to {layers}")]
    Layers {
        /// How many there are.
        stages: usize,
        /// Their sum.
        sum: u64,
        /// How many are needed.
        pipeline: u32,
        /// Their sum.
        layers: u32,
    },
    /// The interleaved schedule works in groups of as many micro-batches as there are stages.
    #[error(
        "{micro_batches} micro-batches can't be interleaved over {pipeline} stages: a multiple of {pipeline} is needed; \
         the nearest is {nearest}"
    )]
    Groups {
        /// Micro-batches.
        micro_batches: u32,
        /// Stages.
        pipeline: u32,
        /// The nearest multiple.
        nearest: u32,
    },
}

/// The divisor of `whole` that is nearest to `degree`, the smaller of two.
fn nearest_divisor(whole: u32, degree: u32) -> u32 {
    let divides = |d: &u32| *d > 0 && whole.is_multiple_of(*d);
    let below = (1..=degree.min(whole)).rev().find(divides).unwrap_or(1);
    let above = (degree..=whole).find(divides).unwrap_or(below);
    if above.abs_diff(degree) < below.abs_diff(degree) { above } else { below }
}

fn divides(name: &'static str, degree: u32, of: &'static str, whole: u32) -> Result<(), Broken> {
    if whole.is_multiple_of(degree) {
        return Ok(());
    }
    Err(Broken::Indivisible { name, degree, of, whole, nearest: nearest_divisor(whole, degree) })
}

/// Looks whether a run obeys them. Parity mode also composes stages that can't be, as the reference does.
///
/// # Errors
/// The first rule that it breaks.
pub fn check(run: &Run, mode: Mode) -> Result<(), Broken> {
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
        return Err(Broken::Zero(name));
    }
    divides("mp", layout.tensor, "h", model.heads)?;
    if mode == Mode::Parity {
        return Ok(());
    }
    if layout.pipeline > model.layers {
        return Err(Broken::TooManyStages { pipeline: layout.pipeline, layers: model.layers });
    }
    divides("ep", layout.expert, "dp", layout.data)?;
    divides("ep", layout.expert, "experts", model.experts.max(1))?;
    if let Some(layers) = &execution.layers_per_stage {
        let sum = layers.iter().map(|count| u64::from(*count)).sum();
        if layers.len() != layout.pipeline as usize || sum != u64::from(model.layers) || layers.contains(&0) {
            let (pipeline, stages) = (layout.pipeline, layers.len());
            return Err(Broken::Layers { stages, sum, pipeline, layers: model.layers });
        }
    }
    if execution.virtual_stages > 1 && !run.micro_batches.is_multiple_of(layout.pipeline) {
        let (micro_batches, pipeline) = (run.micro_batches, layout.pipeline);
        let below = (micro_batches / pipeline * pipeline).max(pipeline);
        let above = micro_batches.div_ceil(pipeline).saturating_mul(pipeline);
        let nearest = if above - micro_batches < micro_batches.abs_diff(below) { above } else { below };
        return Err(Broken::Groups { micro_batches, pipeline, nearest });
    }
    Ok(())
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
