//! Schedules of collectives: how long they take to find, from 64 to 4,096 nodes, and what there is to beat.
//!
//! `cargo bench --bench topology` first prints, for graphs on which one greedy schedule is not the shortest, how often
//! restarts and the beam search find the shortest in equal time.

#![allow(clippy::unwrap_used, missing_docs)]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use collectune::{
    math::Stream,
    schedule::{
        bound::bounds,
        greedy::{GreedyOptions, MatchingRule, greedy_schedule},
        problem::Problem,
        synthesize::{Method, Search, SearchState},
    },
    topology::{
        conditions::CollectiveRequest,
        generate::{Kind, Recipe},
        model::Topology,
    },
};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

fn made(form: &str) -> Topology {
    Recipe::new(Kind::parse(form).unwrap()).make().unwrap()
}

fn problem(form: &str) -> Problem {
    CollectiveRequest::default().problem(&made(form)).unwrap().0
}

const RAREST: GreedyOptions = GreedyOptions { rule: MatchingRule::Rarest, hold_back: 0.0 };

/// From 64 nodes to 4,096: one greedy schedule of an all_gather over a mesh.
fn growth(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("synthesize/earliest_mesh");
    group.sample_size(10).warm_up_time(Duration::from_millis(300));
    for side in [8, 16, 32, 64] {
        let problem = problem(&format!("mesh:{side}x{side}"));
        let demand = problem.copy.as_ref().unwrap();
        group.bench_function(BenchmarkId::from_parameter(side * side), |bencher| {
            bencher.iter(|| {
                greedy_schedule(&problem.graph, black_box(demand), RAREST, &mut Stream::new(1), u64::MAX).unwrap()
            });
        });
    }
}

/// Bounds, and the whole way from links to a verified schedule.
fn whole(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("synthesize");
    group.sample_size(10).warm_up_time(Duration::from_millis(300));
    for form in ["mesh:16x16", "mesh:32x32"] {
        let problem = problem(form);
        let demand = problem.copy.as_ref().unwrap();
        group.bench_function(BenchmarkId::new("bounds", form), |bencher| {
            bencher.iter(|| bounds(&problem.graph, black_box(demand)));
        });
    }
    for form in ["mesh:32x32", "torus:16x16", "dgx1v", "twogroups:4x2"] {
        group.bench_function(BenchmarkId::new("auto", form), |bencher| {
            bencher.iter(|| {
                let mut search = Search::new(problem(form), Method::Auto, 1);
                while search.work(100_000) == SearchState::Working {}
                assert!(search.is_optimal());
                search.time()
            });
        });
    }
}

/// How often a method finds the shortest schedule within a time, over seeds.
fn hits(form: &str, method: Method, limit: Duration, seeds: u64) -> (u64, f64) {
    let (mut hits, mut sum) = (0, 0.0);
    for seed in 0..seeds {
        let mut search = Search::new(problem(form), method, seed);
        let begin = Instant::now();
        while search.work(2_000) == SearchState::Working && begin.elapsed() < limit {}
        hits += u64::from(search.is_optimal());
        sum += search.time().unwrap() as f64 / search.proven() as f64;
    }
    (hits, sum / seeds as f64)
}

fn beam_against_restarts(_: &mut Criterion) {
    println!("share of seeds that find the shortest, and mean time over what is proven, in equal time:");
    for form in ["dgx1v", "twogroups:4x2", "torus:4x4", "torus:8x8", "hypercube:4", "random:12:3:7", "random:16:3:3"] {
        for limit in [Duration::from_millis(10), Duration::from_millis(100)] {
            let told: Vec<String> = [Method::Restarts, Method::Beam]
                .map(|method| {
                    let (hits, ratio) = hits(form, method, limit, 20);
                    format!("{} {hits}/20, {ratio:.4}", method.name())
                })
                .into();
            println!("{form}, {limit:?}: {}", told.join("; "));
        }
    }
}

criterion_group!(benches, beam_against_restarts, growth, whole);
criterion_main!(benches);
