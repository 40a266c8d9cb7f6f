//! A lower bound of a layout's time, from little work.

use crate::training_time::{
    anatomy::Anatomy,
    catalogue::Gpu,
    communicators::Communicators,
    prediction::Regressors,
    run::{Recompute, Run},
    step::default_mode::layers,
};

/// The pipeline can't be faster than this: all operations at `factor` of their time at the GPU's peak, and the tensor
/// ranks' all-reduces. Before a stage's first micro-batch and after its last, all stages before it are passed once.
pub(super) fn pipeline_us(
    run: &Run,
    anatomy: &Anatomy,
    gpu: Option<&Gpu>,
    factor: f64,
    regressors: &dyn Regressors,
) -> f64 {
    let (model, precision) = (&run.model, &run.execution.precision);
    let peak = gpu.and_then(|gpu| gpu.peak_flops(precision)).unwrap_or(f64::INFINITY);
    let is_full = run.execution.recompute == Recompute::Full;
    let passes = if is_full { 4.0 } else { 3.0 };
    let [layer, first, last] = anatomy.flop.map(|flop| factor * flop / peak * 1e6);
    let elements = (u64::from(run.micro_batch) * u64::from(model.sequence)).saturating_mul(model.hidden.into());
    let sync = if run.layout.tensor > 1 {
        let group = Communicators::of(&run.layout).tensor;
        regressors.collective("allreduce", elements, group).map_or(0.0, |answer| answer.time_us)
    } else {
        0.0
    };
    let syncs = model.forward_syncs * if is_full { 2 } else { 1 } + model.backward_syncs;
    let layer = passes * layer + f64::from(syncs) * sync;
    let counts = layers(run);
    let mut before = 0.0;
    let mut bound: f64 = 0.0;
    for (stage, count) in counts.iter().enumerate() {
        let ends = if stage == 0 { 3.0 * first + sync } else { 0.0 }
            + if stage + 1 == counts.len() { 3.0 * last } else { 0.0 };
        let own = f64::from(*count) * layer + ends;
        let chunks = if counts.len() > 1 { f64::from(run.execution.virtual_stages.max(1)) } else { 1.0 };
        bound = bound.max(before / chunks + f64::from(run.micro_batches) * own);
        before += own;
    }
    bound
}
