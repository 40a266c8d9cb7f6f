//! Reward logs: how fast they are read and judged, and how fast strategies play.
//!
//! `cargo bench --bench policy`. The page has five seconds for 200 seeds of 2,000 steps of all strategies, and shows
//! the first tenth as soon as it is there.

#![allow(clippy::unwrap_used, missing_docs)]

use std::hint::black_box;

use collectune::{
    bandit::{
        environment::{Environment, Simulation},
        replay::StrategyReplay,
        strategies::StrategyKind,
    },
    intake::{self, FileContent},
    policy::{read::NamedLog, simulate, study::PolicyStudy},
    progress::Silent,
};
use criterion::{Criterion, criterion_group, criterion_main};

fn clear_environment() -> StrategyReplay {
    StrategyReplay {
        environment: Environment::Simulated(Simulation::clear()),
        auto: 3,
        steps: 2000,
        strategies: StrategyKind::ALL.to_vec(),
    }
}

fn replay(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("policy");
    group.sample_size(10);
    let replay = clear_environment();
    group.bench_function("replay_20_seeds_of_2000_steps_17_strategies", |b| {
        b.iter(|| black_box(replay.run(0, 20, &mut Silent)));
    });
    group.bench_function("replay_200_seeds_of_2000_steps_17_strategies", |b| {
        b.iter(|| black_box(replay.run(0, 200, &mut Silent)));
    });
    let log = simulate::log(&Simulation::clear(), &simulate::ARMS, 64 << 20, 25_000, 1);
    let open = || {
        let (_, content) = intake::open(log.as_bytes(), "rewards.log", log.len() as u64, 0, None, &mut Silent);
        match content {
            FileContent::Rewards(log) => *log,
            other => panic!("{other:?}"),
        }
    };
    group.bench_function("read_100000_lines", |b| b.iter(|| black_box(open())));
    let log = open();
    group.bench_function("judge_100000_lines", |b| {
        b.iter(|| {
            let mut study = PolicyStudy::new(vec![NamedLog { name: "rewards.log".to_owned(), log: log.clone() }]);
            black_box(study.study(Default::default(), &mut Silent).unwrap())
        });
    });
}

criterion_group!(benches, replay);
criterion_main!(benches);
