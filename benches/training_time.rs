//! Regressors of training time: how fast they are trained and asked, and what they take.
//!
//! `cargo bench --bench training_time` needs the shared samples. Trained on one thread; the page spreads the regressors
//! over its workers.

#![allow(clippy::unwrap_used, missing_docs)]

use std::{hint::black_box, time::Instant};

use clusters::library;
use collectune::{
    progress::Silent,
    training_time::regressors::{Library, Mode, RegressorTarget, jobs::Task},
};
use criterion::{Criterion, criterion_group, criterion_main};

#[allow(dead_code, reason = "tests take the other parts")]
#[path = "../tests/support/clusters.rs"]
mod clusters;

#[allow(dead_code, reason = "tests take the other parts")]
#[path = "../tests/support/real.rs"]
mod real;

/// Trains, and says how many bytes travel.
fn train(library: &Library, regressors: &[u32]) -> usize {
    let jobs = library.jobs(regressors, Task::Train);
    let work = |job: &collectune::training_time::regressors::jobs::Job| {
        let bytes = library.work(*job, &mut Silent);
        library.accept(job.regressor, &bytes).unwrap();
        bytes.len()
    };
    jobs.iter().map(work).sum()
}

/// Those of the cluster's files.
fn all(library: &Library) -> Vec<u32> {
    let targets = library.targets().enumerate();
    let is_of_files = |target: &RegressorTarget| !matches!(target, RegressorTarget::Gemm(_) | RegressorTarget::Wire);
    targets.filter(|(_, target)| is_of_files(target)).map(|(number, _)| number as u32).collect()
}

fn needed(library: &Library) -> Vec<u32> {
    library.needed(|regressors| drop(clusters::ask(regressors)))
}

fn training(criterion: &mut Criterion) {
    if !cfg!(shared_data) {
        println!("Nothing is timed: this needs ../shared/data");
        return;
    }
    let cluster = clusters::cluster("Perlmutter");
    for mode in [Mode::Default, Mode::Parity] {
        for (name, of) in [("all", all as fn(&Library) -> Vec<u32>), ("example_p", needed)] {
            let library = library(&cluster, mode);
            let regressors = of(&library);
            let begin = Instant::now();
            let bytes = train(&library, &regressors);
            println!(
                "{} {name}: {} regressors in {:.2?}, {:.2} MB in memory, {:.2} MB to travel",
                mode.name(),
                regressors.len(),
                begin.elapsed(),
                library.size_bytes() as f64 / 1e6,
                bytes as f64 / 1e6,
            );
        }
        let mut group = criterion.benchmark_group("train");
        group.sample_size(10);
        group.bench_function(format!("example_p_{}", mode.name()), |bencher| {
            bencher.iter(|| {
                let library = library(&cluster, mode);
                let regressors = needed(&library);
                black_box(train(&library, &regressors))
            });
        });
        group.finish();
        let library = library(&cluster, mode);
        train(&library, &needed(&library));
        criterion.bench_function(&format!("ask/example_p_{}", mode.name()), |bencher| {
            bencher.iter(|| black_box(clusters::ask(&library)));
        });
    }
}

criterion_group!(benches, training);
criterion_main!(benches);
