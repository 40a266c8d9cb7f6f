//! The reference's defects: in parity mode as they are, in the default mode right.

use collectune::training_time::{
    catalogue::Catalogue,
    communicators::Communicators,
    run::Run,
    samples::Communicator,
    step::{self, Component, Mode, Plan, StepError, plan::PartQuery, rules::RuleError},
};

use super::{
    physics::Physics,
    reference::{gpt, run},
};

fn llemma(pp: u32, mp: u32, dp: u32) -> Run {
    run(gpt(32, 4096, 32, 4096), [pp, mp, dp, 4], 4, 8)
}

fn plans(run: &Run) -> [Plan; 2] {
    let physics = Physics::new();
    [Mode::Parity, Mode::Default].map(|mode| step::plan(run, mode, &Catalogue::built_in(), &physics).unwrap())
}

fn layers(plan: &Plan) -> Vec<f64> {
    plan.stages.iter().map(|stage| stage.layers).collect()
}

#[test]
fn defect_1_layers_of_stages_sum_to_the_models() {
    for (pp, parity, counted) in
        [(1, [35.0, 37.0, 34.0], 37.0), (8, [3.0, 4.0, 1.0], 28.0), (16, [1.0, 2.0, -1.0], 28.0)]
    {
        let [theirs, ours] = plans(&llemma(pp, 1, 1));
        assert_eq!(layers(&theirs), parity);
        let middle = f64::from(pp.saturating_sub(2)) * parity[1];
        assert_eq!(if pp == 1 { parity[1] } else { parity[0] + middle + parity[2] }, counted);
        assert_eq!((layers(&ours).iter().sum::<f64>(), ours.stages.len()), (32.0, pp as usize));
    }
    let error = step::plan(&llemma(64, 1, 1), Mode::Default, &Catalogue::built_in(), &Physics::new()).unwrap_err();
    assert_eq!(error, StepError::Rule(RuleError::TooManyStages { pipeline: 64, layers: 32 }));
    assert!(error.to_string().ends_with("the nearest is pp = 32"), "{error}");
}

#[test]
fn defect_2_two_stages_have_no_middle() {
    let [theirs, ours] = plans(&llemma(2, 1, 1));
    assert_eq!(layers(&theirs), [17.0, 18.0, 15.0]);
    assert_eq!(theirs.step().busiest, [1, 1]);
    assert_eq!(layers(&ours), [16.0, 16.0]);
    // With the reference's stages that exist, 17 and 15, the step would be shorter already.
    let mut run = llemma(2, 1, 1);
    run.execution.layers_per_stage = Some(vec![17, 15]);
    let [_, real] = plans(&run);
    assert!(real.step().pipeline_us < theirs.step().pipeline_us);
}

#[test]
fn defect_3_the_optimizer_is_sharded_and_always_there() {
    let optimizer = |plan: &Plan| plan.step().components.of(Component::Optimizer);
    let [theirs, ours] = plans(&llemma(4, 1, 1));
    assert_eq!(optimizer(&theirs), 0.0);
    assert!(optimizer(&ours) > 0.0);
    let alone = optimizer(&ours);
    let mut run = llemma(4, 1, 4);
    let [theirs, ours] = plans(&run);
    assert!((optimizer(&ours) / alone - 0.25).abs() < 1e-12);
    assert!(optimizer(&theirs) > 3.0 * optimizer(&ours));
    run.execution.zero = 0;
    assert!((optimizer(&plans(&run)[1]) / alone - 1.0).abs() < 1e-12);
}

#[test]
fn defect_4_a_data_group_is_not_larger_than_its_ranks() {
    let layout = llemma(1, 1, 2).layout;
    assert_eq!(Communicators::of_reference(&layout).data, Communicator { nodes: 1, per_node: 4 });
    assert_eq!(Communicators::of(&layout).data, Communicator { nodes: 1, per_node: 2 });
}

#[test]
fn defect_5_a_job_of_one_node_pays_no_network() {
    let layout = llemma(4, 1, 1).layout;
    let shapes = |all: Communicators| all.boundaries.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert!(shapes(Communicators::of_reference(&layout)).iter().all(|shape| shape == "2×1"));
    assert!(shapes(Communicators::of(&layout)).iter().all(|shape| shape == "1×2"));
    let [theirs, ours] = plans(&llemma(4, 1, 1));
    assert!(theirs.step().components.of(Component::P2p) > 3.0 * ours.step().components.of(Component::P2p));
}

#[test]
fn defect_7_a_bucket_is_told_in_elements() {
    let mut run = llemma(1, 1, 2);
    run.execution.bucket_elements = 1_260_000_000;
    for plan in plans(&run) {
        let part = plan.parts.iter().find(|part| part.name == "allreduce_large").unwrap();
        let PartQuery::Collective(elements, group) = part.asked else { panic!("{part:?}") };
        // All whole buckets and what remains, each with its latency of 20 µs.
        let messages = elements.div_ceil(1_260_000_000);
        assert!(messages > 5);
        let ranks = f64::from(group.ranks());
        let bandwidth = 2.0 * elements as f64 * 2.0 * (ranks - 1.0) / ranks / 200.0 / 1e3;
        assert!((part.prediction.time_us - bandwidth - 20.0 * messages as f64).abs() < 1e-3);
    }
}

/// Besides: recomputation as asked for, the pipeline as it runs, exchange that hides.
#[test]
fn what_the_reference_can_not_say() {
    let mut run = llemma(4, 2, 2);
    let [parity, full] = plans(&run).map(|plan| plan.step());
    assert!(parity.components.of(Component::Recompute) > 0.0);
    run.execution.recompute = collectune::training_time::run::Recompute::None;
    run.execution.data_overlap = 1.0;
    let [parity_again, none] = plans(&run).map(|plan| plan.step());
    assert_eq!(parity_again.total_us, parity.total_us);
    assert_eq!(none.components.of(Component::Recompute), 0.0);
    assert_eq!(none.components.of(Component::GradientAllReduce), 0.0);
    assert!(none.total_us < full.total_us);
    run.execution.p2p_overlapped = true;
    let hidden = plans(&run)[1].step();
    assert_eq!(hidden.components.of(Component::P2p), 0.0);
    assert!(hidden.total_us < none.total_us);
}
