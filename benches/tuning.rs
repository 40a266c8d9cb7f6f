//! How fast the tuning workbench reads, learns, searches and validates: `cargo bench`.

mod simulated;

use std::{hint::black_box, time::Duration};

use collectune::{
    collective::Collective,
    intake,
    learn::boosting::Boosting,
    progress::Silent,
    tuning::{
        aggregate::Target,
        model::BusbwModel,
        parameters::Parameters,
        search::SearchSpace,
        simulate::Simulation,
        study::TuningStudy,
        validate::{self, FoldScheme},
    },
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// About as many rows, sizes and channels as the three all_reduce sweeps that were published.
fn all_reduce_of_three_scales() -> Simulation {
    Simulation {
        collectives: vec![Collective::AllReduce],
        nodes: vec![1, 2, 3],
        sizes: (12..30).map(|log2| 1 << log2).collect(),
        channels: vec![1, 2, 4, 8, 16, 24, 32, 40, 48],
        repeats: 1,
        seed: 1,
    }
}

fn parse(criterion: &mut Criterion) {
    let csv = Simulation::of_rows(50_000).to_csv();
    let mut group = criterion.benchmark_group("parse");
    group.sample_size(10).throughput(Throughput::Bytes(csv.len() as u64));
    group.bench_function("sweep_csv", |bencher| {
        bencher.iter(|| intake::open(csv.as_bytes(), "sweep.csv", csv.len() as u64, 0, None, &mut Silent));
    });
}

fn train(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("train");
    group.sample_size(10).measurement_time(Duration::from_secs(8));
    for rows in [4609, 18_432] {
        let (table, busbw) = simulated::seed_rows(rows);
        let parameters = Parameters::default().boosting();
        group.bench_function(format!("seed_model_{rows}_rows"), |bencher| {
            bencher.iter(|| Boosting::fit(&table, &busbw, parameters, &mut Silent));
        });
    }
    let sweep = simulated::sweep(&all_reduce_of_three_scales());
    group.bench_function("default_model_all_reduce_three_scales", |bencher| {
        bencher.iter(|| BusbwModel::fit(&sweep.points, &Parameters::default(), &mut Silent));
    });
    group.bench_function("default_answer_all_reduce_three_scales", |bencher| {
        bencher.iter(|| {
            let mut study = TuningStudy::new(sweep.clone(), Target::Time);
            study.train(Parameters::default(), &mut Silent).map(<[_]>::len)
        });
    });
}

fn search(criterion: &mut Criterion) {
    let parameters = Parameters::default();
    let sweep = simulated::sweep(&all_reduce_of_three_scales());
    let model = BusbwModel::fit(&sweep.points, &parameters, &mut Silent).expect("points to fit");
    let space = SearchSpace::new(&sweep, &parameters.search, &collectune::tuning::platform::Platform::default());
    let workloads: Vec<_> = sweep.workloads().collect();
    let mut group = criterion.benchmark_group("search");
    group.sample_size(10).throughput(Throughput::Elements(workloads.len() as u64));
    group.bench_function("workloads", |bencher| {
        bencher.iter(|| {
            for workload in &workloads {
                black_box(space.coarse_to_fine(workload, &mut |asks| model.predict(asks)).expect("finite numbers"));
            }
        });
    });
    group.bench_function("workloads_exhaustively", |bencher| {
        bencher.iter(|| {
            for workload in &workloads {
                black_box(space.exhaustive(workload, &mut |asks| model.predict(asks)).expect("finite numbers"));
            }
        });
    });
}

fn validate(criterion: &mut Criterion) {
    let sweep = simulated::sweep(&all_reduce_of_three_scales());
    let mut group = criterion.benchmark_group("validate");
    group.sample_size(10);
    for (name, scheme) in
        [("one_fold_of_sizes", FoldScheme::Size), ("one_fold_of_configurations", FoldScheme::Configuration)]
    {
        group.bench_function(name, |bencher| {
            bencher.iter(|| validate::predict_fold(&sweep.points, &Parameters::default(), scheme, 0, &mut Silent));
        });
    }
}

criterion_group!(benches, parse, train, search, validate);
criterion_main!(benches);
