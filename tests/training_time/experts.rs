use std::ops::ControlFlow;

use collectune::{
    math::Stream,
    progress::Silent,
    training_time::{
        anatomy::Anatomy,
        catalogue::Catalogue,
        memory,
        run::{Recompute, Run},
        search::{self, SearchContext, SearchSettings},
        step::{self, Component, Mode, Step},
    },
};

use super::{
    physics::Physics,
    reference::{gpt, run},
};

fn mixture(data: u32, expert: u32) -> Run {
    let mut model = gpt(32, 4096, 32, 4096);
    model.architecture = Some("mixture".to_owned());
    let catalogue = Catalogue::built_in();
    let items = &catalogue.architecture("mixture").unwrap().layer;
    model.layer = items.iter().map(|item| item.operator.clone()).collect();
    (model.ffn, model.kv_heads, model.vocabulary) = (14336, 8, 32000);
    (model.experts, model.top_k) = (8, 2);
    let mut run = run(model, [1, 1, data, 8], 1, 8);
    run.layout.expert = expert;
    run
}

fn step_of(run: &Run) -> Step {
    step::plan(run, Mode::Default, &Catalogue::built_in(), &Physics::new()).unwrap().step()
}

#[test]
fn two_exchanges_per_expert_layer_and_direction() {
    let mut run = mixture(8, 8);
    let plan = step::plan(&run, Mode::Default, &Catalogue::built_in(), &Physics::new()).unwrap();
    let part = plan.parts.iter().position(|part| part.name == "alltoall").unwrap() as u32;
    let count = |way: usize| {
        let uses = plan.layer[way].iter().filter(|used| used.part == part);
        uses.map(|used| (used.component, used.count)).collect::<Vec<_>>()
    };
    let two = (Component::AllToAll, 2.0);
    // Full recomputation sends the tokens again.
    assert_eq!((count(0), count(1)), (vec![two], vec![two, two]));
    let each = plan.parts[part as usize].prediction.time_us;
    let all = plan.step().components.of(Component::AllToAll);
    assert!((all / (each * 6.0 * 32.0 * 8.0) - 1.0).abs() < 1e-12);
    run.execution.recompute = Recompute::None;
    assert!((step_of(&run).components.of(Component::AllToAll) / (each * 4.0 * 32.0 * 8.0) - 1.0).abs() < 1e-12);
    assert_eq!(step_of(&mixture(8, 1)).components.of(Component::AllToAll), 0.0);
}

#[test]
fn uneven_experts_cost_time_and_memory() {
    let even = mixture(8, 8);
    let mut uneven = even.clone();
    uneven.model.load_balance = 1.5;
    let (a, b) = (step_of(&even), step_of(&uneven));
    let rises = |component| b.components.of(component) / a.components.of(component);
    println!(
        "load 1.5: all-to-all ×{:.2}, forward ×{:.2}, step ×{:.2}",
        rises(Component::AllToAll),
        rises(Component::Forward),
        b.total_us / a.total_us
    );
    assert!(rises(Component::AllToAll) > 1.4 && rises(Component::AllToAll) <= 1.5);
    assert!(rises(Component::Forward) > 1.1 && rises(Component::Forward) < 1.5);
    let catalogue = Catalogue::built_in();
    let of = |run: &Run| memory::of(run, &Anatomy::of(run, &catalogue))[0];
    assert!(of(&uneven).recompute > of(&even).recompute);
    assert_eq!(of(&uneven).weights, of(&even).weights);
}

#[test]
fn experts_are_shared_by_the_expert_ranks() {
    let catalogue = Catalogue::built_in();
    let of = |run: &Run| Anatomy::of(run, &catalogue).parameters;
    let whole = of(&mixture(1, 1));
    let layers = 32.0;
    // 46,702,792,704 with a vocabulary that is padded to a multiple of 128, as 32,000 is.
    assert_eq!(layers * (whole.layer + whole.experts) + whole.first + whole.last, 46_702_792_704.0);
    let shared = of(&mixture(8, 8));
    assert_eq!((shared.layer, shared.experts * 8.0), (whole.layer, whole.experts));
    let weights = |run: &Run| memory::of(run, &Anatomy::of(run, &catalogue))[0].weights;
    assert!(weights(&mixture(8, 8)) < weights(&mixture(8, 1)) / 4.0);
}

/// The operators of a dense architecture, with experts: the MLP's are the experts'.
#[test]
fn a_dense_architecture_with_experts_is_a_mixture() {
    let catalogue = Catalogue::built_in();
    let mut dense = run(gpt(32, 4096, 32, 4096), [1, 1, 8, 8], 1, 8);
    let named = catalogue.architecture("neox-flash").unwrap();
    dense.model.architecture = Some(named.name.clone());
    dense.model.layer = named.layer.iter().map(|item| item.operator.clone()).collect();
    let mut mixture = dense.clone();
    (mixture.model.experts, mixture.model.top_k) = (8, 2);
    let mut spelled_out = mixture.clone();
    spelled_out.model.architecture = None;
    let of = |run: &Run| Anatomy::of(run, &catalogue);
    assert_eq!(of(&mixture).layer, of(&spelled_out).layer);
    assert_eq!(of(&mixture).parameters, of(&spelled_out).parameters);
    assert!(of(&mixture).parameters.experts > 7.9 * of(&dense).parameters.layer * 8.0 / 12.0);
    // Each token visits two of them.
    let flop = |run: &Run| of(run).flop[0];
    assert!(flop(&mixture) > 1.4 * flop(&dense), "{} {}", flop(&mixture), flop(&dense));
}

#[test]
fn the_search_finds_an_expert_degree() {
    let mut question = SearchSettings::new(mixture(1, 1), 64, 64);
    question.memory_gib = Some(80.0);
    let physics = Physics::new();
    let gpu = physics.catalogue.gpu("A100");
    let known = SearchContext::new(&physics, &physics.catalogue, gpu);
    let found = search::search(&question, &known, &mut Silent, &mut |_| ControlFlow::Continue(()));
    assert!(found.rows.iter().any(|row| row.layout.expert > 1));
    assert!(found.rows.iter().all(|row| row.layout.data % row.layout.expert == 0));
    assert!(found.rows.iter().all(|row| 8 % row.layout.expert == 0));
    println!("best: {}", search::views::words(&found.rows[0]));
}

#[test]
fn components_add_up_whatever_runs() {
    let mut stream = Stream::new(5);
    let mut ran = 0;
    for _ in 0..400 {
        let mut pick = |of: &[u32]| of[stream.below(of.len())];
        let mut run = if pick(&[0, 1]) == 0 { mixture(8, pick(&[1, 2, 8])) } else { mixture(1, 1) };
        if run.layout.data == 1 {
            run.model = gpt(24, 2048, 16, 2048);
        }
        run.layout.pipeline = pick(&[1, 2, 3, 4, 8]);
        run.layout.tensor = pick(&[1, 2, 4, 8]);
        (run.micro_batch, run.micro_batches) = (pick(&[1, 2, 4]), pick(&[1, 4, 7, 8, 24]));
        run.execution.recompute = [Recompute::Full, Recompute::Selective, Recompute::None][pick(&[0, 1, 2]) as usize];
        run.execution.virtual_stages = pick(&[1, 1, 2, 3]);
        run.execution.zero = pick(&[0, 1]) as u8;
        run.execution.p2p_overlapped = pick(&[0, 1]) == 1;
        run.execution.sequence_parallel = pick(&[0, 1]) == 1;
        run.execution.data_overlap = f64::from(pick(&[0, 1, 2])) / 2.0;
        for mode in [Mode::Parity, Mode::Default] {
            let Ok(plan) = step::plan(&run, mode, &Catalogue::built_in(), &Physics::new()) else { continue };
            let step = plan.step();
            ran += 1;
            assert!((step.components.total() / step.total_us - 1.0).abs() < 1e-9, "{run:?} {step:?}");
            assert!((plan.marks(&step).iter().sum::<f64>() - 1.0).abs() < 1e-9);
            // In parity mode a stage may have less than no layers.
            if mode == Mode::Default {
                assert!(step.components.iter().all(|(_, time)| time >= -1e-6 * step.total_us), "{run:?} {step:?}");
                let timeline = plan.timeline();
                let end = timeline.iter().map(|timed| timed.end).fold(0.0, f64::max);
                assert!((end / step.pipeline_us - 1.0).abs() < 1e-12);
            }
        }
    }
    println!("{ran} steps");
    assert!(ran > 500);
}
