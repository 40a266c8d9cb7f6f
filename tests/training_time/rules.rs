use std::ops::ControlFlow;

use collectune::{
    progress::Silent,
    training_time::{
        catalogue::Catalogue,
        run::Run,
        search::{self, LeftOutReason, SearchContext, SearchSettings, space},
        step::{self, Mode, rules},
    },
};

use super::{
    physics::Physics,
    reference::{One, gpt, run},
};

fn small() -> Run {
    run(gpt(32, 4096, 32, 4096), [2, 2, 2, 4], 1, 8)
}

#[track_caller]
fn refused(change: impl Fn(&mut Run), mode: Mode, says: &str) {
    let mut run = small();
    change(&mut run);
    let error = step::plan(&run, mode, &Catalogue::built_in(), &Physics::new()).unwrap_err().to_string();
    println!("{error}");
    assert_eq!(error, says);
}

/// What a file or a link may ask for and no machine has the memory for.
#[test]
fn what_is_too_large_to_compose_names_the_nearest() {
    let ours = Mode::Default;
    refused(
        |run| run.micro_batches = u32::MAX,
        ours,
        "Micro-batches per step (steps_per_update) = 4294967295 micro-batches over 2 stages and chunks are more than \
         the 262144 passes that are simulated; the nearest is steps_per_update = 131072",
    );
    let interleaved = |run: &mut Run| {
        (run.layout.pipeline, run.execution.virtual_stages, run.model.layers) = (3, 5, 32);
    };
    refused(
        |run| {
            interleaved(run);
            run.micro_batches = 30_000;
        },
        ours,
        "Micro-batches per step (steps_per_update) = 30000 micro-batches over 15 stages and chunks are more than the \
         262144 passes that are simulated; the nearest is steps_per_update = 17475",
    );
    let mut nearest = small();
    interleaved(&mut nearest);
    nearest.micro_batches = 17_475;
    assert_eq!(rules::check(&nearest, ours), Ok(()));
    for mode in [ours, Mode::Parity] {
        refused(
            |run| (run.layout.pipeline, run.model.layers) = (u32::MAX, u32::MAX),
            mode,
            "Pipeline stages (pp) = 4294967295 is more than the 4096 stages that are composed; the nearest is pp = 4096",
        );
    }
    refused(
        |run| run.execution.virtual_stages = u32::MAX,
        ours,
        "Chunks per stage (virtual_stages) = 4294967295 makes 4294967295·2 chunks of the 32 layers: each needs one; \
         the nearest is virtual_stages = 16",
    );
    refused(
        |run| run.model.heads = 24,
        ours,
        "Attention heads (h) = 24 does not divide Hidden size (dim) = 4096; the nearest that does is 16",
    );
    // A large prime: its divisors are not tried one by one.
    refused(
        |run| (run.model.heads, run.layout.tensor) = (4_294_967_291, 2_000_000_000),
        ours,
        "Tensor degree (mp) = 2000000000 does not divide Attention heads (h) = 4294967291; the nearest that does is 1",
    );
    // Parity simulates nothing, and takes as many as there are.
    let mut long = small();
    long.micro_batches = u32::MAX;
    assert!(step::plan(&long, Mode::Parity, &Catalogue::built_in(), &Physics::new()).is_ok());
    // No number of GPUs or sequences is too large to be told.
    let mut wide = small();
    (wide.layout.data, wide.layout.tensor) = (u32::MAX, u32::MAX);
    (wide.micro_batch, wide.micro_batches) = (u32::MAX, u32::MAX);
    wide.layout.pipeline = u32::MAX;
    assert_eq!((wide.layout.gpus(), wide.global_batch()), (u64::MAX, u64::MAX));
    wide.layout.pipeline = 4;
    wide.model.heads = u32::MAX;
    assert!(rules::check(&wide, ours).is_err());
    // More GPUs than any machine has are a mistyped number, in parity too.
    let refused = step::plan(&wide, Mode::Parity, &Catalogue::built_in(), &One).err().map(|why| why.to_string());
    assert!(refused.as_ref().is_some_and(|why| why.contains("GPUs")), "{refused:?}");
}

#[test]
fn a_search_drops_what_is_too_large() {
    let physics = Physics::new();
    let known = SearchContext::new(&physics, &physics.catalogue, None);
    let find =
        |question: &SearchSettings| search::search(question, &known, &mut Silent, &mut |_| ControlFlow::Continue(()));
    let mut question = SearchSettings::new(small(), 8, 4_000_000_000);
    let found = find(&question);
    let why = found.nothing().unwrap();
    println!("{why}");
    assert!(why.contains("are more micro-batches and stages than are simulated"), "{why}");
    assert_eq!(found.dropped.of(LeftOutReason::Size), found.dropped.iter().map(|(_, count)| count).sum::<u64>() - 1);
    question.global_batch = u64::MAX;
    assert!(find(&question).rows.is_empty());
    (question.global_batch, question.run.execution.virtual_stages) = (64, u32::MAX);
    let found = find(&question);
    assert!(found.rows.iter().all(|row| row.layout.pipeline == 1) && found.dropped.of(LeftOutReason::Stages) > 0);
    // Twice the same is the same.
    question.run.execution.virtual_stages = 1;
    let once = space::space(&question);
    (question.gpus, question.micro_batches) = (vec![8, 8], [&question.micro_batches[..]; 2].concat());
    let twice = space::space(&question);
    assert_eq!((twice.layouts, twice.dropped, twice.runs), (once.layouts, once.dropped, once.runs));
}
