//! The step with real layers, real communicators and a simulated pipeline.

use super::{
    component::{Component, Times},
    plan::{Builder, PartUse, Plan, Stage, sum},
    result::{StageTime, Step},
};
use crate::{
    pipeline::{Pipeline, Timed},
    training_time::{
        anatomy::Anatomy,
        communicators::Communicators,
        prediction::{Direction, Missing, Mode, Regressors},
        run::{Recompute, Run},
    },
};

/// Layers of each stage: those of the run, or as even as they can be, the remainder to the first.
pub fn layers(run: &Run) -> Vec<u32> {
    let (all, stages) = (run.model.layers, run.layout.pipeline.max(1));
    let listed = run.execution.layers_per_stage.clone();
    listed.unwrap_or_else(|| (0..stages).map(|stage| all / stages + u32::from(stage < all % stages)).collect())
}

/// The parts of the step. Returns all missing samples.
pub(super) fn plan(run: &Run, anatomy: &Anatomy, regressors: &dyn Regressors) -> Result<Plan, Vec<Missing>> {
    let mut builder = Builder::new(regressors);
    let (model, layout, execution) = (&run.model, &run.layout, &run.execution);
    let groups = Communicators::of(layout);
    let tokens = f64::from(run.micro_batch) * f64::from(model.sequence) * f64::from(model.hidden);
    let sync = (layout.tensor > 1).then(|| builder.collective("allreduce", tokens, u64::MAX, groups.tensor));
    let syncs =
        |count: u32| sync.map(|part| PartUse { part, count: f64::from(count), component: Component::TensorAllReduce });
    let exchange = super::experts::exchange(run, groups.expert, &mut builder);
    let ways = exchange.map(|part| PartUse { part, count: 2.0, component: Component::AllToAll });
    let mut forward = builder.operators(&anatomy.layer, Direction::Forward, Component::Forward);
    let mut backward = builder.operators(&anatomy.layer, Direction::Backward, Component::Backward);
    let again = |used: &PartUse| PartUse { component: Component::Recompute, ..*used };
    let recompute: Vec<PartUse> = match execution.recompute {
        Recompute::None => Vec::new(),
        Recompute::Selective => {
            let pairs = forward.iter().zip(&anatomy.layer).filter(|(_, op)| op.is_attention);
            pairs.map(|(used, _)| again(used)).collect()
        }
        Recompute::Full => {
            let all = forward.iter().map(again);
            all.chain(syncs(model.forward_syncs)).chain(ways).collect()
        }
    };
    forward.extend(syncs(model.forward_syncs).into_iter().chain(ways));
    backward.extend(syncs(model.backward_syncs).into_iter().chain(ways));
    backward.extend(recompute);
    let [first, last] = builder.ends(anatomy, sync);
    let count = layers(run);
    let stages = count.len();
    let stages = count.iter().enumerate().map(|(index, layers)| {
        let (is_first, is_last) = (index == 0, index + 1 == stages);
        let layers = f64::from(*layers);
        let (dense, experts) = anatomy.parameters.of_stage(layers, is_first, is_last);
        let message = groups.boundaries.get(index).map(|boundary| {
            let elements = (tokens / f64::from(layout.tensor.max(1))).floor();
            let part = builder.collective("p2p", elements, u64::MAX, *boundary);
            PartUse { part, count: 1.0, component: Component::P2p }
        });
        let mut stage = Stage { layers, parameters: dense + experts, message, ..Stage::default() };
        let data =
            [(dense, groups.data, layout.data), (experts, groups.expert_data, layout.data / layout.expert.max(1))];
        for (parameters, group, ranks) in
            data.into_iter().filter(|(parameters, _, ranks)| *ranks > 1 && *parameters > 0.0)
        {
            let mut exchange = |name: &str, elements: f64, component| {
                let part = builder.collective(name, elements, execution.bucket_elements, group);
                PartUse { part, count: 1.0, component }
            };
            stage.all_reduce.push(exchange("allreduce_large", parameters, Component::GradientAllReduce));
            let share = (parameters / f64::from(ranks)).floor();
            stage.all_gather.push(exchange("allgather_large", share, Component::AllGather));
        }
        stage.optimizer = vec![optimizer(run, (dense, experts), (layers, is_first, is_last), &mut builder)];
        stage
    });
    let stages = stages.collect();
    if !builder.missing.is_empty() {
        return Err(builder.missing);
    }
    Ok(Plan {
        mode: Mode::Default,
        run: run.clone(),
        parts: builder.parts,
        layer: [forward, backward],
        first,
        last,
        stages,
    })
}

/// The optimizer of a stage, in proportion to its parameters: the samples are of a GPT whose MLP is four times as wide
/// as its hidden size, on a stage that is first, in the middle or last.
fn optimizer(run: &Run, (dense, experts): (f64, f64), stage: (f64, bool, bool), builder: &mut Builder<'_>) -> PartUse {
    let (layers, is_first, is_last) = stage;
    let name = match (is_first, is_last) {
        (true, _) => "firstStage_optimizer",
        (false, false) => "middleStage_optimizer",
        (false, true) => "lastStage_optimizer",
    };
    let scope = run.scope().with("encoders", layers);
    let part = builder.operator(name, Direction::Forward, &scope);
    let (sampled, _) = Anatomy::sampled(run).of_stage(layers, is_first, is_last && !is_first);
    let (ranks, expert_ranks) = if run.execution.zero == 0 {
        (1.0, 1.0)
    } else {
        (f64::from(run.layout.data.max(1)), f64::from((run.layout.data / run.layout.expert.max(1)).max(1)))
    };
    let count = (dense / ranks + experts / expert_ranks) / sampled.max(1.0);
    PartUse { part, count, component: Component::Optimizer }
}

/// Times of all parts of the pipeline: chunk after chunk.
struct Passes {
    /// Forward and backward, of each part of the model in the order in which a micro-batch passes them.
    times: [Vec<f64>; 2],
    delay: Vec<f64>,
    /// The times of one micro-batch on each stage, forward and backward.
    load: Vec<[Times; 2]>,
}

fn passes(plan: &Plan, times: &[f64]) -> Passes {
    let stages = plan.stages.len();
    let chunks = chunks(plan);
    let layer = [0, 1].map(|way| sum(&plan.layer[way], times));
    let ends = [0, 1].map(|way| [sum(&plan.first[way], times), sum(&plan.last[way], times)]);
    let parts = stages * chunks;
    let hides = plan.run.execution.p2p_overlapped;
    let mut passes = Passes {
        times: [vec![0.0; parts], vec![0.0; parts]],
        delay: vec![0.0; parts],
        load: vec![<_>::default(); stages],
    };
    let message = |stage: usize| plan.stages[stage].message.map(|message| sum(&[message], times));
    for part in 0..parts {
        let stage = part % stages;
        let before = message((part + stages - 1) % stages).filter(|_| part > 0);
        let after = message(stage).filter(|_| part + 1 < parts);
        if let (true, Some(after)) = (hides, &after) {
            passes.delay[part] = after.total();
        }
        for way in [0, 1] {
            let mut pass = Times::default();
            pass.add_all(&layer[way], plan.stages[stage].layers / chunks as f64);
            if part == 0 {
                pass.add_all(&ends[way][0], 1.0);
            }
            if part + 1 == parts {
                pass.add_all(&ends[way][1], 1.0);
            }
            let sent = if way == 0 { &after } else { &before };
            if let (false, Some(sent)) = (hides, sent) {
                pass.add_all(sent, 1.0);
            }
            passes.times[way][part] = pass.total();
            passes.load[stage][way].add_all(&pass, 1.0);
        }
    }
    passes
}

fn chunks(plan: &Plan) -> usize {
    if plan.stages.len() > 1 { plan.run.execution.virtual_stages.max(1) as usize } else { 1 }
}

impl Passes {
    fn pipeline(&self, micro_batches: u32) -> Pipeline<'_> {
        let [forward, backward] = &self.times;
        Pipeline {
            stages: self.load.len(),
            micro_batches: micro_batches as usize,
            forward,
            backward,
            delay: &self.delay,
        }
    }
}

/// Every operation of the pipeline with its times.
pub(super) fn timeline(plan: &Plan, times: &[f64]) -> Vec<Timed> {
    let mut operations = Vec::new();
    passes(plan, times).pipeline(plan.run.micro_batches).run(|operation| operations.push(operation));
    operations
}

/// The step with given times of parts. Not a number where the pipeline can't run, which [`super::rules`] refuse before.
pub(super) fn evaluate(plan: &Plan, times: &[f64]) -> Step {
    let passes = passes(plan, times);
    let batches = f64::from(plan.run.micro_batches);
    let pipeline_us = passes.pipeline(plan.run.micro_batches).makespan().unwrap_or(f64::NAN);
    let both = |stage: usize| passes.load[stage][0].total() + passes.load[stage][1].total();
    let longest = |time: &dyn Fn(usize) -> f64| {
        (1..passes.load.len()).fold(0, |best, stage| if time(stage) > time(best) { stage } else { best })
    };
    let busiest = longest(&both);
    let ends: Vec<[Times; 3]> = plan
        .stages
        .iter()
        .map(|stage| [&stage.all_reduce, &stage.all_gather, &stage.optimizer].map(|uses| sum(uses, times)))
        .collect();
    let reducing = longest(&|stage| ends[stage][0].total());
    let updating = longest(&|stage| ends[stage][1].total() + ends[stage][2].total());
    let shown = 1.0 - plan.run.execution.data_overlap.clamp(0.0, 1.0);
    let mut components = Times::default();
    passes.load[busiest].iter().for_each(|load| components.add_all(load, batches));
    components.add(Component::Bubble, pipeline_us - batches * both(busiest));
    components.add_all(&ends[reducing][0], shown);
    components.add_all(&ends[updating][1], 1.0);
    components.add_all(&ends[updating][2], 1.0);
    let (gather, optimizer_us) = (ends[updating][1].total(), ends[updating][2].total());
    let exchange_us = shown * ends[reducing][0].total() + gather;
    Step {
        total_us: pipeline_us + exchange_us + optimizer_us,
        pipeline_us,
        exchange_us,
        optimizer_us,
        components,
        busiest: [busiest; 2],
        updating: [reducing, updating],
        stages: (plan.stages.iter().zip(&passes.load).zip(&ends))
            .map(|((stage, load), ends)| StageTime {
                layers: stage.layers,
                parameters: stage.parameters,
                forward_us: load[0].total(),
                backward_us: load[1].total(),
                all_reduce_us: ends[0].total(),
                all_gather_us: ends[1].total(),
                optimizer_us: ends[2].total(),
            })
            .collect(),
    }
}
