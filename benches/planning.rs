//! What to measure next: how fast launches are chosen, and on the real sweeps how good they are.
//!
//! `cargo bench --bench planning` first prints, for each strategy, the launches spent and what is still lost (busbw of
//! the best found below the best there is, mean over sizes and sweeps), where the real sweeps are there.

#![allow(clippy::unwrap_used, missing_docs)]

use std::hint::black_box;

use collectune::{
    progress::Silent,
    tuning::{
        plan::{
            self, PlanQuestion,
            explore::LaunchThresholds,
            replay::{ReplayStep, Strategy, StrategyReplay},
        },
        simulate::Simulation,
        support::SupportMatrix,
    },
};
use criterion::{Criterion, criterion_group, criterion_main};

#[allow(dead_code, reason = "other benches take other parts")]
mod simulated;

#[allow(dead_code, reason = "tests take the other parts")]
#[path = "../tests/support/real.rs"]
mod real;

/// What is lost after a share of the grid's launches; a strategy that has ended stays where it is.
fn after(spent: &[ReplayStep], launches: usize) -> f64 {
    launches.checked_sub(1).map_or(100.0, |last| spent[last.min(spent.len() - 1)].regret_mean_pct)
}

fn curve() {
    const SEEDS: u64 = 20;
    let sweeps = real::SWEEPS.map(real::sweep);
    let rehearsals: Vec<StrategyReplay> = sweeps.iter().map(|sweep| StrategyReplay::new(sweep).unwrap()).collect();
    let follow = |r: &StrategyReplay, strategy| r.follow(&r.order(strategy, LaunchThresholds::default()));
    println!("Mean regret in per cent over six sweeps, after a share of the launches of the grid");
    println!("{:>6} {:>8} {:>8} {:>8} {:>8}", "share", "ours", "racing", "grid", "random");
    for share in [10, 20, 30, 40, 50, 60, 70, 80, 90, 100] {
        let mean = |strategy: &dyn Fn(u64) -> Strategy, seeds: u64| {
            let of = |r: &StrategyReplay, seed| after(&follow(r, strategy(seed)), r.launches() * share / 100);
            let all = rehearsals.iter().flat_map(|r| (0..seeds).map(move |seed| of(r, seed)));
            all.sum::<f64>() / (rehearsals.len() as u64 * seeds) as f64
        };
        println!(
            "{share:>4} % {:>8.2} {:>8.2} {:>8.2} {:>8.2}",
            mean(&|_| Strategy::Ours, 1),
            mean(&|_| Strategy::Racing, 1),
            mean(&|_| Strategy::Grid, 1),
            mean(&Strategy::Random, SEEDS),
        );
    }
}

fn planning(criterion: &mut Criterion) {
    if cfg!(shared_data) {
        curve();
    } else {
        println!("Real sweeps are left out: they need ../shared/data");
    }
    let mut group = criterion.benchmark_group("plan");
    group.sample_size(10);
    // All but a few configurations of six collectives at four scales were measured.
    let sweep = simulated::sweep(&Simulation { channels: (1..=24).collect(), ..Simulation::of_rows(1) });
    let question = PlanQuestion { runs: 20, repeats: 1, channels: vec![1, 2, 4, 8, 16, 24], ..PlanQuestion::default() };
    group.bench_function("twenty_runs_for_24_groups", |bencher| {
        bencher.iter(|| black_box(plan::plan(&sweep, None, &[], &SupportMatrix::default(), &question, &mut Silent)));
    });
    if cfg!(shared_data) {
        let real = real::sweep("all_reduce_3n_median");
        let rehearsal = StrategyReplay::new(&real).unwrap();
        group.bench_function("a_real_sweep_from_nothing_to_the_end", |bencher| {
            bencher.iter(|| black_box(rehearsal.order(Strategy::Ours, LaunchThresholds::default())));
        });
        let mut sparse = real.clone();
        sparse.points.retain(|point| point.configuration.channels % 16 == 0 || point.configuration.channels == 1);
        group.bench_function("twenty_runs_for_a_sparse_real_sweep", |bencher| {
            bencher
                .iter(|| black_box(plan::plan(&sparse, None, &[], &SupportMatrix::default(), &question, &mut Silent)));
        });
    }
    group.finish();
}

criterion_group!(benches, planning);
criterion_main!(benches);
