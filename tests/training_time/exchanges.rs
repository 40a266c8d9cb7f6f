//! Collectives that were measured, in the step of an estimate.

use std::ops::ControlFlow;

use collectune::{
    collective::Collective,
    training_time::{
        catalogue::Catalogue,
        estimate::{
            collectives::{Changes, MeasuredCollectives, MeasuredCurve},
            exchange::ExchangeUse,
            given_layout::GivenLayout,
            listing,
            question::{EstimateSettings, Estimated},
            stack::Stack,
        },
        models::known,
        samples::Communicator,
    },
};

const NODE: Communicator = Communicator { nodes: 1, per_node: 8 };
const TWO_NODES: Communicator = Communicator { nodes: 2, per_node: 8 };

/// Tensor groups of a node, replicas between nodes.
fn asked(collectives: MeasuredCollectives, changes: Changes) -> Estimated {
    let layout = Some(GivenLayout { tensor: 8, micro_batch: 1, ..GivenLayout::default() });
    let settings = EstimateSettings { layout, collectives, changes, ..EstimateSettings::default() };
    let model = known("llama-3.1-8b").unwrap();
    settings.answer(&model, &Catalogue::built_in(), &[], &[], |_| ControlFlow::Continue(())).unwrap()
}

fn curve(of: Collective, over: Communicator, points: &[(f64, f64)]) -> Vec<MeasuredCurve> {
    ExchangeUse::of(of).iter().filter_map(|part| MeasuredCurve::new(*part, of, over, points)).collect()
}

fn time_us(answer: &Estimated, of: ExchangeUse) -> (f64, String) {
    let found = answer.exchanges.iter().find(|timed| timed.exchange.of == of).unwrap();
    (found.time_us, found.basis.clone())
}

#[test]
fn an_exchange_takes_as_long_as_it_was_measured() {
    let before = asked(MeasuredCollectives::default(), Changes::default());
    let (links_us, basis) = time_us(&before, ExchangeUse::Tensor);
    assert_eq!(basis, "links");
    // Sums of 32 MiB over a node: 4,096 tokens of width 4,096, two bytes each.
    let bytes = before.exchanges.iter().find(|timed| timed.exchange.of == ExchangeUse::Tensor).unwrap().exchange.bytes;
    assert_eq!(bytes, 33_554_432.0);
    let measured = curve(Collective::AllReduce, NODE, &[(16_777_216.0, 300.0), (67_108_864.0, 900.0)]);
    let after = asked(MeasuredCollectives(measured), Changes::default());
    let (us, basis) = time_us(&after, ExchangeUse::Tensor);
    assert!((us - 500.0).abs() < 1e-9 && basis == "measured", "{us} {basis}");
    assert!(links_us < 500.0 && before.step.time_us < after.step.time_us);
    // What was measured within a node says nothing of what crosses nodes.
    assert_eq!(time_us(&after, ExchangeUse::Gradients), time_us(&before, ExchangeUse::Gradients));
    // Beyond the sizes that were measured the ratio to links stays.
    let small = curve(Collective::AllReduce, NODE, &[(1_048_576.0, 100.0)]);
    let (small_us, basis) = time_us(&asked(MeasuredCollectives(small), Changes::default()), ExchangeUse::Tensor);
    assert!(basis == "measured at other sizes" && small_us > links_us, "{basis} {small_us} {links_us}");
}

/// An exchange that nothing hides takes as much of the step as it was measured to take.
#[test]
fn a_measured_exchange_that_nothing_hides_counts_in_full() {
    let layout = Some(GivenLayout { tensor: 8, micro_batch: 1, ..GivenLayout::default() });
    let asked = |collectives: MeasuredCollectives| {
        let settings = EstimateSettings {
            layout,
            collectives,
            overlaps_reduce: Some(false),
            overlaps_gather: Some(false),
            ..EstimateSettings::default()
        };
        let model = known("llama-3.1-8b").unwrap();
        settings.answer(&model, &Catalogue::built_in(), &[], &[], |_| ControlFlow::Continue(())).unwrap()
    };
    let component = |answer: &Estimated| {
        answer.step.components.iter().find(|(name, _)| *name == "Gradients and parameters").unwrap().1
    };
    let sum = |answer: &Estimated| {
        let of_replicas = [ExchangeUse::Gradients, ExchangeUse::Parameters].map(|of| time_us(answer, of).0);
        of_replicas.iter().sum::<f64>()
    };
    let by_links = asked(MeasuredCollectives::default());
    assert!((component(&by_links) / sum(&by_links) - by_links.exchange_factor).abs() < 1e-9);
    let said = listing::exchanges_in_words(&by_links).unwrap();
    assert!(said.contains("those by links count times 0.5580"), "{said}");
    let over = Communicator { nodes: 8, per_node: 1 };
    let measured = asked(MeasuredCollectives(curve(Collective::ReduceScatter, over, &[(1e6, 3e3), (1e10, 3e5)])));
    assert!((component(&measured) / sum(&measured) - 1.0).abs() < 1e-9, "{} {}", component(&measured), sum(&measured));
    let said = listing::exchanges_in_words(&measured).unwrap();
    assert!(said.ends_with("those that were measured in full"), "{said}");
}

#[test]
fn another_group_keeps_the_ratio_to_its_links() {
    let before = asked(MeasuredCollectives::default(), Changes::default());
    // Twice as slow as links would be, at any size, over two nodes and by another collective.
    let bytes = 1e9;
    let links =
        asked(MeasuredCollectives(curve(Collective::AllReduce, TWO_NODES, &[(bytes, 1.0)])), Changes::default());
    let ratio = time_us(&links, ExchangeUse::Gradients).0 / time_us(&before, ExchangeUse::Gradients).0;
    let slower = curve(Collective::AllReduce, TWO_NODES, &[(bytes, 2.0 / ratio)]);
    let after = asked(MeasuredCollectives(slower), Changes::default());
    let (us, basis) = time_us(&after, ExchangeUse::Gradients);
    assert!((us / time_us(&before, ExchangeUse::Gradients).0 - 2.0).abs() < 1e-9, "{us}");
    assert_eq!(basis, "as all_reduce over 2×8");
    // The group's own curve comes before it.
    let own = Communicator { nodes: 8, per_node: 1 };
    let reduced = before.exchanges.iter().find(|timed| timed.exchange.of == ExchangeUse::Gradients).unwrap();
    let points = [(reduced.exchange.bytes, 9e4)];
    let both =
        [curve(Collective::AllReduce, TWO_NODES, &[(bytes, 1.0)]), curve(Collective::ReduceScatter, own, &points)];
    let (us, basis) = time_us(&asked(MeasuredCollectives(both.concat()), Changes::default()), ExchangeUse::Gradients);
    assert!((us - 9e4).abs() < 1e-6 && basis == "measured", "{us} {basis}");
}

#[test]
fn what_was_measured_and_is_not_used_is_named() {
    let measured = [
        curve(Collective::AllToAll, NODE, &[(1e6, 50.0)]),
        curve(Collective::AllReduce, NODE, &[(1e6, 50.0)]),
        curve(Collective::Broadcast, NODE, &[(1e6, 50.0)]),
        curve(Collective::AllReduce, Communicator { nodes: 1, per_node: 1 }, &[(1e6, 50.0)]),
        curve(Collective::AllReduce, NODE, &[(0.0, 5.0), (f64::NAN, 5.0), (5.0, f64::INFINITY)]),
    ];
    let answer = asked(MeasuredCollectives(measured.concat()), Changes::default());
    assert_eq!(answer.unused_collectives, ["alltoall over 1×8"]);
}

#[test]
fn a_slower_exchange_or_operator_is_a_slower_step() {
    let before = asked(MeasuredCollectives::default(), Changes::default());
    let mut changes = Changes { operators: 1.25, ..Changes::default() };
    assert!(asked(MeasuredCollectives::default(), changes).step.time_us > before.step.time_us);
    changes = Changes::default();
    changes.exchanges[ExchangeUse::Tensor as usize] = 3.0;
    let after = asked(MeasuredCollectives::default(), changes);
    let own = |answer: &Estimated| time_us(answer, ExchangeUse::Tensor).0;
    assert!((own(&after) / own(&before) - 3.0).abs() < 1e-9);
    assert!(after.step.time_us > before.step.time_us);
}

#[test]
fn an_exchange_is_timed_by_the_cost_model_of_a_version_of_nccl() {
    let of = |gpu: &str, nccl: &str| {
        let layout = Some(GivenLayout { tensor: 8, micro_batch: 1, ..GivenLayout::default() });
        let nccl = Some(nccl.parse().unwrap());
        let settings = EstimateSettings { gpu: gpu.to_owned(), layout, nccl, ..EstimateSettings::default() };
        let model = known("llama-3.1-8b").unwrap();
        settings.answer(&model, &Catalogue::built_in(), &[], &[], |_| ControlFlow::Continue(()))
    };
    let answer = of("H100", "2.28.9").unwrap();
    let (us, basis) = time_us(&answer, ExchangeUse::Tensor);
    // Sums of 32 MiB over eight H100 with NVLS: 25 µs and 272 GB/s, times 1.25.
    let by_model = 1.25 * (25.0 + 33_554_432.0 / 272e3);
    assert!((us - by_model).abs() < 0.01 * by_model && basis == "cost model of NCCL 2.28.9", "{us} {by_model} {basis}");
    assert!(listing::notes(&answer)[0].contains("by NCCL's cost model"), "{:?}", listing::notes(&answer));
    // The version counts: before 2.19 the library had less of NVLS.
    assert!(time_us(&of("H100", "2.18.1").unwrap(), ExchangeUse::Tensor).0 > us);
    // Between nodes of A100 nothing says the channels: links decide.
    assert_eq!(time_us(&of("A100", "2.28.9").unwrap(), ExchangeUse::Gradients).1, "links");
    let refused = |gpu: &str, nccl: &str| of(gpu, nccl).unwrap_err().to_string();
    assert!(refused("MI300X", "2.28.9").contains("is known for A100, H100, H200 and B200"));
    assert!(refused("H100", "2.31").contains("the cost model of NCCL 2.31 is not known"));
}

#[test]
fn more_channels_cost_the_kernels_beside_exchanges() {
    let step_us = |channels, stack| {
        let layout = Some(GivenLayout { tensor: 8, micro_batch: 1, ..GivenLayout::default() });
        let changes = Changes { channels, ..Changes::default() };
        let settings = EstimateSettings { layout, changes, stack, ..EstimateSettings::default() };
        let model = known("llama-3.1-8b").unwrap();
        let answer = settings.answer(&model, &Catalogue::built_in(), &[], &[], |_| ControlFlow::Continue(())).unwrap();
        (answer.step.time_us, answer.unchanged_us)
    };
    for stack in [Stack::MegatronCore, Stack::TorchTitan] {
        let [none, few, many] = [0, 8, 32].map(|channels| step_us(Some(channels), stack).0);
        // Each channel takes about the same from what is hidden.
        assert!(none < few && few < many, "{none} {few} {many}");
        assert!(((many - none) / (few - none) - 4.0).abs() < 0.05, "{none} {few} {many}");
        let (changed, unchanged) = step_us(Some(8), stack);
        assert!(changed == few && unchanged == Some(step_us(None, stack).0));
    }
}
