use collectune::training_time::{
    catalogue::Catalogue,
    step::{self, Component, Mode},
};
use serde_json::Value;

use super::{
    reference::{One, run_of, times_of},
    support::real,
};

fn json(name: &str) -> Value {
    serde_json::from_str(&real::text(&format!("training_time/reference/{name}.json"))).unwrap()
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn parity_composes_all_cases_of_the_reference() {
    let sweep = json("sweep_perlmutter_llemma_7b");
    let cases = sweep["cases"].as_array().unwrap();
    let mut worst: f64 = 0.0;
    for case in cases {
        let run = run_of(case);
        let plan = step::plan(&run, Mode::Parity, &Catalogue::built_in(), &One).unwrap();
        for (stage, kind) in plan.stages.iter().zip(0..) {
            assert_eq!(stage.layers, case["stage_layers"][kind].as_f64().unwrap(), "{run:?}");
            assert_eq!(stage.parameters, case["stage_parameters"][kind].as_f64().unwrap(), "{run:?}");
        }
        let step = plan.evaluate(&times_of(case, &plan));
        let total = case["total_us"].as_f64().unwrap();
        worst = worst.max((step.total_us / total - 1.0).abs());
        assert!((step.components.total() / step.total_us - 1.0).abs() < 1e-12, "{:?}", step.components);
        for (stage, kind) in step.stages.iter().zip(0..) {
            let near = |ours: f64, key: &str| {
                let theirs = case["components"][key][kind].as_f64().unwrap();
                // Messages between stages are apart there.
                let p2p = case["components"]["pp_p2p"].as_f64().unwrap();
                let (a, b) = ((ours - theirs).abs(), (ours - theirs - p2p).abs());
                assert!(a.min(b) <= 1e-8 * theirs.abs().max(1.0), "{key} {ours} {theirs}");
            };
            near(stage.forward_us, "fwd");
            near(stage.backward_us, "bwd");
        }
    }
    println!("{} cases: worst relative deviation {worst:.1e}", cases.len());
    assert_eq!(cases.len(), 42);
    assert!(worst <= 1e-8, "{worst}");
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn shares_of_example_p_are_the_references() {
    let example = json("example_p");
    let plan = step::plan(&run_of(&example["run"]), Mode::Parity, &Catalogue::built_in(), &One).unwrap();
    let step = plan.evaluate(&times_of(&example["run"], &plan));
    // The reference counts tensor all-reduce and messages in all m − 1 + pp slots, ours in m of them and the bubble.
    let share = |component, slots: f64| step.components.of(component) / step.total_us * 100.0 * slots;
    let rounded = |value: f64| (value * 10.0).round() / 10.0;
    assert_eq!(rounded(share(Component::Bubble, 1.0)), 27.1);
    assert_eq!(rounded(share(Component::TensorAllReduce, 11.0 / 8.0)), 13.0);
    assert_eq!(rounded(share(Component::P2p, 11.0 / 8.0)), 5.4);
    assert!((share(Component::GradientAllReduce, 1.0) - 0.26).abs() < 0.005);
    let update = share(Component::AllGather, 1.0) + share(Component::Optimizer, 1.0);
    assert!((update - 0.43).abs() < 0.005, "{update}");
    assert!((step.total_us - 9_480_468.216_239_896).abs() < 1e-4, "{}", step.total_us);
}

/// Example P's components with real layers and messages between nodes at every boundary, as the figures have it.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn ours_simulates_example_p() {
    let example = json("example_p");
    let case = &example["run"];
    let mut run = run_of(case);
    let spans = [None, Some(vec![8, 9, 9, 6])].map(|layers| {
        run.execution.layers_per_stage = layers;
        let plan = step::plan(&run, Mode::Default, &Catalogue::built_in(), &One).unwrap();
        let step = plan.evaluate(&times_of(case, &plan));
        assert!((step.components.total() / step.total_us - 1.0).abs() < 1e-12);
        step
    });
    let near = |ours: f64, theirs: f64| assert!((ours - theirs).abs() <= 1e-3, "{ours} {theirs}");
    let even = &spans[0];
    for (stage, (forward, backward)) in even.stages.iter().zip([
        (202_603.052, 545_223.849),
        (199_596.923, 566_383.707),
        (199_596.923, 566_383.707),
        (193_958.114, 595_006.794),
    ]) {
        near(stage.forward_us, forward);
        near(stage.backward_us, backward);
    }
    near(even.pipeline_us, 8_591_507.424);
    near(spans[1].pipeline_us, 8_838_565.910);
    println!("T_pipe {:.3}, {:.3}; bubble {:.1} %", even.pipeline_us, spans[1].pipeline_us, even.bubble() * 100.0);
    assert_eq!((even.bubble() * 1000.0).round(), 265.0);
}
