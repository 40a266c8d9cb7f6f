use std::{ops::ControlFlow, time::Instant};

use collectune::{
    math::Stream,
    progress::Silent,
    training_time::{
        run::Recompute,
        search::{self, LeftOutReason, SearchContext, SearchResult, SearchSettings, space, views},
        step::Mode,
    },
};

use super::{
    physics::Physics,
    reference::{gpt, run},
};

fn llemma() -> SearchSettings {
    SearchSettings::new(run(gpt(32, 4096, 32, 4096), [1, 1, 1, 8], 1, 1), 1024, 1024)
}

fn find(question: &SearchSettings, physics: &Physics) -> SearchResult {
    let gpu = physics.catalogue.gpu("A100");
    let known = SearchContext::new(physics, &physics.catalogue, gpu);
    search::search(question, &known, &mut Silent, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn layouts_are_counted_as_the_figures_have_it() {
    let mut question = llemma();
    let all = space::space(&question);
    assert_eq!(all.layouts, 66);
    let of = |reason| all.dropped.of(reason);
    assert_eq!(all.layouts - of(LeftOutReason::Heads), 51);
    assert_eq!(all.layouts - of(LeftOutReason::Heads) - of(LeftOutReason::Stages), 36);
    assert_eq!(all.layouts - of(LeftOutReason::Heads) - of(LeftOutReason::Stages) - of(LeftOutReason::Node), 24);
    assert_eq!((all.runs.len(), of(LeftOutReason::Batch)), (100, 20));
    let physics = Physics::new();
    question.reserve_gib = 0.0;
    for (zero, gib, fit) in [(0, 40.0, 95), (0, 80.0, 99), (1, 40.0, 99), (1, 80.0, 100)] {
        question.run.execution.zero = zero;
        question.memory_gib = Some(gib);
        let found = find(&question, &physics);
        println!("zero {zero}, {gib} GiB: {} of 100 fit", found.candidates);
        assert_eq!(found.candidates, fit, "zero {zero}, {gib} GiB");
        assert_eq!(found.dropped.of(LeftOutReason::Memory), 100 - fit);
    }
}

#[test]
fn a_pruned_search_finds_the_same_first_ten() {
    let mut stream = Stream::new(11);
    let mut skipped = 0;
    for _ in 0..40 {
        let pick = |stream: &mut Stream, of: &[u32]| of[stream.below(of.len())];
        let heads = pick(&mut stream, &[16, 32, 48, 64]);
        let hidden = heads * pick(&mut stream, &[64, 128]);
        let mut model =
            gpt(pick(&mut stream, &[12, 24, 36, 48]), hidden, heads, pick(&mut stream, &[1024, 2048, 4096]));
        if stream.below(3) == 0 {
            (model.experts, model.top_k, model.load_balance) = (8, 2, 1.0 + stream.unit());
        }
        let node = pick(&mut stream, &[1, 4, 8]);
        let gpus = pick(&mut stream, &[16, 24, 64, 128]);
        let mut question = SearchSettings::new(run(model, [1, 1, 1, node], 1, 1), gpus, 4 * u64::from(gpus));
        question.recompute = vec![Recompute::Full, Recompute::None];
        question.best = 10;
        question.tensor_between_nodes = stream.below(2) == 0;
        question.memory_gib = (stream.below(2) == 0).then_some(80.0);
        let physics = Physics {
            efficiency: 0.3 + 0.4 * stream.unit(),
            intra_gbps: 50.0 + 400.0 * stream.unit(),
            inter_gbps: 1.0 + 50.0 * stream.unit(),
            sampled_tensor: f64::from(pick(&mut stream, &[0, 1, 4, 64])),
            ..Physics::new()
        };
        let pruned = find(&question, &physics);
        question.everything = true;
        let whole = find(&question, &physics);
        assert_eq!(pruned.rows[..], whole.rows[..pruned.rows.len()]);
        assert_eq!(pruned.rows.len(), 10.min(whole.rows.len()));
        let best_covered = |found: &SearchResult| found.covered.as_ref().map(|row| (row.layout, row.total_us));
        assert_eq!(best_covered(&pruned), best_covered(&whole));
        assert_eq!((whole.looked_at, whole.candidates), (whole.rows.len() as u64, pruned.candidates));
        assert!(whole.rows.is_sorted_by(|a, b| a.total_us <= b.total_us));
        skipped += whole.looked_at - pruned.looked_at;
    }
    println!("{skipped} candidates were not looked at");
    assert!(skipped > 0);
}

#[test]
fn ranks_are_shared_by_what_the_draws_cannot_tell_apart() {
    let question = llemma();
    let mut physics = Physics::new();
    let uncertain = find(&question, &physics);
    physics.residuals = vec![0.0];
    let certain = find(&question, &physics);
    let ranks = |found: &SearchResult| found.rows.iter().filter_map(|row| row.rank).collect::<Vec<u32>>();
    assert_eq!(ranks(&certain), (1..=20).collect::<Vec<u32>>());
    let shared = ranks(&uncertain);
    let ties = shared.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(shared.is_sorted() && shared[0] == 1 && ties > 0, "{shared:?}");
    for row in &uncertain.rows {
        let [low, high] = row.interval_us.unwrap();
        assert!(low < row.total_us && row.total_us < high);
    }
}

#[test]
fn views_hold_what_rows_hold() {
    let mut question = llemma();
    question.everything = true;
    let found = find(&question, &Physics::new());
    let map = views::by_degrees(&found);
    let cells = &map.series[0].points;
    assert_eq!(cells.len(), 4 * 6);
    for cell in cells.iter().filter(|cell| cell.value.is_some()) {
        let (tensor, pipeline) = ([1, 2, 4, 8][cell.y as usize], [1, 2, 4, 8, 16, 32][cell.x as usize]);
        let own = found.rows.iter().filter(|row| (row.layout.tensor, row.layout.pipeline) == (tensor, pipeline));
        let fastest = own.map(|row| row.total_us).fold(f64::INFINITY, f64::min);
        assert_eq!(cell.value, Some(fastest), "tp {tensor}, pp {pipeline}");
    }
    let front = views::pareto(&found.rows);
    for row in &found.rows {
        let beaten = |at: &usize| {
            let other = &found.rows[*at];
            other.total_us <= row.total_us && other.memory_bytes <= row.memory_bytes
        };
        assert!(front.iter().any(beaten));
    }
    assert_eq!(views::time_over_memory(&found).series.len(), 4);
    let listing = search::listing::layouts(&found.rows, found.basis);
    assert_eq!(listing.rows.len(), 100);
}

#[test]
fn a_search_without_any_layout_says_why() {
    let mut question = llemma();
    question.memory_gib = Some(1.0);
    let found = find(&question, &Physics::new());
    let sentence = found.nothing().unwrap();
    println!("{sentence}");
    assert!(sentence.contains("12 because the tensor group is larger than a node"), "{sentence}");
    assert!(sentence.contains("100 because a stage needs more memory than a device has"), "{sentence}");
    assert!(
        sentence.contains("the loosest limit: more memory") && sentence.contains("the smallest needs"),
        "{sentence}"
    );
    question.memory_gib = None;
    question.mode = Mode::Parity;
    assert!(find(&question, &Physics::new()).nothing().is_none());
}

/// `cargo test --release --test training_time how_long -- --nocapture`
#[test]
fn how_long_a_search_of_1024_gpus_takes() {
    let question = llemma();
    let physics = Physics::new();
    let gpu = physics.catalogue.gpu("A100");
    let known = SearchContext::new(&physics, &physics.catalogue, gpu);
    for everything in [false, true] {
        let question = SearchSettings { everything, ..question.clone() };
        let start = Instant::now();
        let mut first = None;
        let found = search::search(&question, &known, &mut Silent, &mut |_| {
            first = Some(start.elapsed());
            ControlFlow::Continue(())
        });
        println!(
            "1,024 GPUs, {} of {} candidates: {:.0?}, first rows after {:.0?}",
            found.looked_at,
            found.candidates,
            start.elapsed(),
            first
        );
        assert!(start.elapsed().as_secs() < 5);
    }
}
