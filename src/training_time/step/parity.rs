//! The step as the reference composes it (estimate-train-time, `mml_3d_prediction.py`), defects included.

use super::{
    component::{Component, Times},
    plan::{Builder, PartUse, Plan, Stage, sum},
    result::{StageTime, Step},
};
use crate::training_time::{
    anatomy::Anatomy,
    communicators::Communicators,
    prediction::{Direction, Missing, Mode, Regressors},
    run::Run,
};

const OPTIMIZERS: [&str; 3] = ["firstStage_optimizer", "middleStage_optimizer", "lastStage_optimizer"];

/// Layers of the first, middle and last stage: ⌈(E+5)/pp⌉ − 2, ⌊(E+5)/pp⌋, ⌊(E+5)/pp⌋ − 3.
fn layers(run: &Run) -> [f64; 3] {
    let (all, stages) = (f64::from(run.model.layers) + 5.0, f64::from(run.layout.pipeline.max(1)));
    [(all / stages).ceil() - 2.0, (all / stages).floor(), (all / stages).floor() - 3.0]
}

/// The parts of the step. Returns all missing samples.
pub(super) fn plan(run: &Run, anatomy: &Anatomy, regressors: &dyn Regressors) -> Result<Plan, Vec<Missing>> {
    let mut builder = Builder::new(regressors);
    let (model, layout, scope) = (&run.model, &run.layout, run.scope());
    let groups = Communicators::of_reference(layout);
    let tokens = f64::from(run.micro_batch) * f64::from(model.sequence) * f64::from(model.hidden);
    let sync = (layout.tensor > 1).then(|| builder.collective("allreduce", tokens, u64::MAX, groups.tensor));
    let syncs =
        |count: u32| sync.map(|part| PartUse { part, count: f64::from(count), component: Component::TensorAllReduce });
    let mut forward = builder.operators(&anatomy.layer, Direction::Forward, Component::Forward);
    let mut backward = builder.operators(&anatomy.layer, Direction::Backward, Component::Backward);
    let recompute = forward.iter().map(|used| PartUse { component: Component::Recompute, ..*used }).collect::<Vec<_>>();
    forward.extend(syncs(model.forward_syncs));
    backward.extend(syncs(model.backward_syncs));
    backward.extend(recompute);
    backward.extend(syncs(model.forward_syncs));
    let [first, last] = builder.ends(anatomy, sync);
    let message = (layout.pipeline > 1).then(|| {
        let elements = (tokens / f64::from(layout.tensor.max(1))).floor();
        let part = builder.collective("p2p", elements, u64::MAX, groups.boundaries[0]);
        PartUse { part, count: 1.0, component: Component::P2p }
    });
    let bucket = run.execution.bucket_elements;
    let data = f64::from(layout.data.max(1));
    let layers = layers(run);
    let stages = [0, 1, 2].map(|kind| {
        let (parameters, _) = anatomy.parameters.of_stage(layers[kind], kind == 0, kind == 2);
        let mut stage = Stage { layers: layers[kind], parameters, message, ..Stage::default() };
        if layout.data > 1 {
            let mut exchange = |name: &str, elements: f64, component| {
                vec![PartUse { part: builder.collective(name, elements, bucket, groups.data), count: 1.0, component }]
            };
            stage.all_reduce = exchange("allreduce_large", parameters, Component::GradientAllReduce);
            stage.all_gather = exchange("allgather_large", (parameters / data).floor(), Component::AllGather);
            let scope = scope.clone().with("encoders", layers[kind]);
            let part = builder.operator(OPTIMIZERS[kind], Direction::Forward, &scope);
            stage.optimizer = vec![PartUse { part, count: 1.0, component: Component::Optimizer }];
        }
        stage
    });
    if !builder.missing.is_empty() {
        return Err(builder.missing);
    }
    let (mode, parts, stages) = (Mode::Parity, builder.parts, stages.into());
    Ok(Plan { mode, run: run.clone(), parts, layer: [forward, backward], first, last, stages })
}

/// The step with given times of parts: (m − 1 + pp) · (max forward + max backward) + all-reduce of the first stage +
/// the longest update.
pub(super) fn evaluate(plan: &Plan, times: &[f64]) -> Step {
    let [forward, backward] = [0, 1].map(|way| {
        let layer = sum(&plan.layer[way], times);
        let ends = [sum(&plan.first[way], times), Times::default(), sum(&plan.last[way], times)];
        let mut stages = ends;
        for (kind, stage) in stages.iter_mut().enumerate() {
            stage.add_all(&layer, plan.stages[kind].layers);
            // Forward the last stage sends nothing, backward the first.
            let ends_here = if way == 0 { 2 } else { 0 };
            if let Some(message) = plan.stages[kind].message.filter(|_| kind != ends_here) {
                stage.add_all(&sum(&[message], times), 1.0);
            }
        }
        stages
    });
    let longest = |stages: &[Times; 3]| {
        (1..3).fold(0, |best, kind| if stages[kind].total() > stages[best].total() { kind } else { best })
    };
    let (f, b) = (longest(&forward), longest(&backward));
    let slot = forward[f].total() + backward[b].total();
    let (batches, stages) = (f64::from(plan.run.micro_batches), f64::from(plan.run.layout.pipeline));
    let bubble = (stages - 1.0) * slot;
    let ends: Vec<[Times; 3]> = plan
        .stages
        .iter()
        .map(|stage| [&stage.all_reduce, &stage.all_gather, &stage.optimizer].map(|uses| sum(uses, times)))
        .collect();
    let update = |kind: usize| ends[kind][1].total() + ends[kind][2].total();
    let slowest = (1..3).fold(0, |best, kind| if update(kind) > update(best) { kind } else { best });
    let mut components = Times::default();
    components.add_all(&forward[f], batches);
    components.add_all(&backward[b], batches);
    components.add(Component::Bubble, bubble);
    components.add_all(&ends[0][0], 1.0);
    components.add_all(&ends[slowest][1], 1.0);
    components.add_all(&ends[slowest][2], 1.0);
    let pipeline_us = (batches + stages - 1.0) * slot;
    Step {
        total_us: pipeline_us + ends[0][0].total() + update(slowest),
        pipeline_us,
        exchange_us: ends[0][0].total() + ends[slowest][1].total(),
        optimizer_us: ends[slowest][2].total(),
        components,
        busiest: [f, b],
        updating: [0, slowest],
        stages: (0..3)
            .map(|kind| StageTime {
                layers: plan.stages[kind].layers,
                parameters: plan.stages[kind].parameters,
                forward_us: forward[kind].total(),
                backward_us: backward[kind].total(),
                all_reduce_us: ends[kind][0].total(),
                all_gather_us: ends[kind][1].total(),
                optimizer_us: ends[kind][2].total(),
            })
            .collect(),
    }
}
