//! Strategies against the reference figures: 200 seeds of 2,000 steps in four worlds.

#![allow(clippy::unwrap_used, reason = "tests")]

use collectune::{
    bandit::{
        environment::{Environment, Simulation},
        replay::{CHECKPOINTS, StrategyOutcome, StrategyReplay},
        statistics::Statistics,
        strategies::StrategyKind,
    },
    progress::Silent,
};

fn worlds() -> [Simulation; 4] {
    [Simulation::clear(), Simulation::two_modes(), Simulation::drift(), Simulation::nothing_to_gain()]
}

/// Regret at the end with its standard error, and the share of the best arm at the end in per cent.
type Cell = (f64, f64, f64);

/// A strategy and what an independent implementation gave in the four worlds. Without randomness of its own, the first
/// numbers must agree to 0.01 %.
const REFERENCE: [(StrategyKind, bool, [Cell; 4]); 15] = [
    (StrategyKind::Auto, true, [(3000.0, 0.0, 0.0), (8437.3, 0.0, 0.0), (2075.0, 0.0, 0.0), (0.0, 0.0, 100.0)]),
    (StrategyKind::Uniform, false, [(2253.0, 2.5, 24.0), (9027.6, 16.8, 24.0), (2090.5, 2.5, 26.0), (75.0, 0.1, 25.0)]),
    (
        StrategyKind::EpsGreedy { epsilon: 0.1 },
        false,
        [(240.8, 2.2, 92.0), (3471.0, 224.0, 52.0), (1539.0, 12.0, 70.0), (59.3, 2.6, 48.0)],
    ),
    (
        StrategyKind::EpsDecay { c: 5.0 },
        false,
        [(125.5, 0.8, 99.0), (3118.0, 287.0, 54.0), (1471.0, 15.0, 76.0), (61.3, 3.0, 43.0)],
    ),
    (
        StrategyKind::Ucb1,
        true,
        [(31.945, 0.6, 100.0), (4235.613, 99.0, 46.0), (1113.092, 9.0, 66.0), (62.914, 1.0, 43.0)],
    ),
    (
        StrategyKind::Ucb1Raw { c: std::f64::consts::SQRT_2 },
        true,
        [(32.868, 0.6, 100.0), (5777.560, 605.0, 40.0), (1226.326, 12.0, 69.0), (63.206, 1.0, 38.0)],
    ),
    (
        StrategyKind::SlidingUcb { window: 400 },
        true,
        [(120.505, 1.1, 98.0), (5788.895, 74.0, 35.0), (307.467, 3.5, 90.0), (69.483, 0.5, 28.0)],
    ),
    (
        StrategyKind::Thompson,
        false,
        [(36.6, 0.6, 100.0), (3535.0, 161.0, 51.0), (1665.0, 13.0, 50.0), (60.2, 1.5, 47.0)],
    ),
    (
        StrategyKind::ThompsonRaw,
        false,
        [(25.8, 0.5, 100.0), (5846.0, 622.0, 39.0), (1656.0, 13.0, 52.0), (57.2, 1.5, 52.0)],
    ),
    (
        StrategyKind::DiscountedThompson { gamma: 0.99 },
        false,
        [(273.4, 1.2, 91.0), (6691.0, 64.0, 28.0), (411.9, 2.2, 84.0), (70.7, 0.3, 29.0)],
    ),
    (
        StrategyKind::RoundRobin { rounds: 5, gate: None },
        true,
        [(205.650, 41.6, 91.0), (7122.902, 675.0, 26.0), (2109.487, 19.0, 6.0), (72.525, 3.1, 28.0)],
    ),
    (
        StrategyKind::RoundRobin { rounds: 10, gate: Some(0.05) },
        true,
        [(133.200, 33.5, 97.0), (7870.119, 654.0, 27.0), (2189.170, 6.0, 1.0), (25.020, 3.0, 76.0)],
    ),
    (
        StrategyKind::Elimination { delta: 0.05 },
        true,
        [(232.278, 4.6, 100.0), (8843.136, 163.0, 26.0), (2400.769, 5.0, 0.0), (75.125, 0.1, 25.0)],
    ),
    (
        StrategyKind::EpochThompson { calls: 64, floor: 0.01, keep: 1.0 },
        false,
        [(163.8, 0.3, 97.0), (3910.0, 106.0, 46.0), (1659.0, 9.5, 51.0), (61.2, 1.5, 46.0)],
    ),
    (
        StrategyKind::EpochThompson { calls: 64, floor: 0.01, keep: 0.9 },
        false,
        [(170.2, 0.7, 97.0), (5147.0, 93.0, 37.0), (862.6, 4.9, 89.0), (65.0, 0.9, 37.0)],
    ),
];

fn play(world: Simulation, strategies: Vec<StrategyKind>, seeds: u32) -> Vec<StrategyOutcome> {
    let replay = StrategyReplay { environment: Environment::Simulated(world), auto: 3, steps: 2000, strategies };
    replay.run(0, seeds, &mut Silent)
}

fn regret(tally: &StrategyOutcome) -> Statistics {
    Statistics::of(&tally.regret_at(CHECKPOINTS - 1))
}

#[test]
fn regret_is_that_of_the_reference() {
    let strategies: Vec<StrategyKind> = REFERENCE.iter().map(|(kind, ..)| *kind).collect();
    let mut wrong = Vec::new();
    for (index, world) in worlds().into_iter().enumerate() {
        let tallies = play(world, strategies.clone(), 200);
        for ((kind, is_certain, cells), tally) in REFERENCE.iter().zip(&tallies) {
            let (expected, error, best) = cells[index];
            let of = regret(tally);
            let own_error = of.deviation() / of.n.sqrt();
            let at_end = Statistics::of(&tally.best_at_end).mean * 100.0;
            // What is printed with one decimal is off by up to half of it.
            let tolerance = if *is_certain {
                (expected * 1e-4).max(if matches!(kind, StrategyKind::Auto) { 0.05 } else { 5e-4 })
            } else {
                4.0 * std::f64::consts::SQRT_2 * error + 0.05
            };
            println!(
                "G{} {:<24} {:>9.3} ± {own_error:.1} ({at_end:.1} %), reference {expected} ± {error} ({best} %)",
                index + 1,
                kind.title(),
                of.mean
            );
            // The share at the end has no stated error: that of 200 seeds is at most 3.5 points.
            let slack = if *is_certain { 0.6 } else { 15.0 };
            if (of.mean - expected).abs() > tolerance || (at_end - best).abs() > slack {
                wrong.push(format!("G{} {}: {} not {expected}", index + 1, kind.title(), of.mean));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn seed_0_alone() {
    for (world, expected) in worlds().into_iter().zip([42.5, 4135.798, 1126.274, 63.85]) {
        let regret = regret(&play(world, vec![StrategyKind::Ucb1], 1)[0]).mean;
        assert!((regret - expected).abs() < 1e-3 * expected.max(1.0) * 0.1, "{regret} {expected}");
    }
}

#[test]
fn steps_to_converge_where_one_arm_is_clearly_better() {
    let cases = [
        (StrategyKind::Ucb1, true, Some(44.0), 0.995),
        (StrategyKind::Ucb1Raw { c: std::f64::consts::SQRT_2 }, true, Some(76.0), 1.0),
        (StrategyKind::Elimination { delta: 0.05 }, true, Some(289.0), 1.0),
        (StrategyKind::Thompson, false, Some(26.0), 1.0),
        (StrategyKind::ThompsonRaw, false, Some(12.0), 1.0),
        (StrategyKind::EpsDecay { c: 5.0 }, false, Some(360.0), 1.0),
        (StrategyKind::EpochThompson { calls: 64, floor: 0.01, keep: 1.0 }, false, Some(71.0), 1.0),
        (StrategyKind::EpsGreedy { epsilon: 0.1 }, false, None, 0.225),
    ];
    let tallies = play(Simulation::clear(), cases.iter().map(|case| case.0).collect(), 200);
    for ((kind, is_certain, median, share), tally) in cases.into_iter().zip(&tallies) {
        let mut steps: Vec<f64> =
            tally.converged.iter().map(|step| if *step < 0 { f64::INFINITY } else { f64::from(*step) }).collect();
        let did = steps.iter().filter(|step| step.is_finite()).count() as f64 / 200.0;
        let own = collectune::math::median(&mut steps).unwrap();
        println!("{}: {own} ({:.1} %), reference {median:?} ({:.1} %)", kind.title(), did * 100.0, share * 100.0);
        let error = (share * (1.0 - share) / 200.0_f64).sqrt().max(1.0 / 200.0);
        assert!((did - share).abs() < if is_certain { 1e-9 } else { 4.0 * std::f64::consts::SQRT_2 * error });
        match median {
            None => assert!(own.is_infinite()),
            Some(median) if is_certain => assert!((own - median).abs() < 0.6),
            // The error of a median of 200, from the quartiles as if they were normal.
            Some(median) => {
                let error = 1.2533 * (steps[150] - steps[50]) / 1.349 / 200.0_f64.sqrt();
                assert!((own - median).abs() < 4.0 * std::f64::consts::SQRT_2 * error.max(1.0), "{error}");
            }
        }
    }
}

/// Scaled latencies change no decision of a strategy that is invariant to the unit, and most of the raw ones'.
#[test]
fn a_hundredth_of_the_latency_is_a_hundredth_of_the_regret() {
    let scaled = Simulation::normal(&[0.1, 0.09, 0.11, 0.105], 0.01);
    let strategies = StrategyKind::ALL.to_vec();
    let (whole, small) = (play(Simulation::clear(), strategies.clone(), 40), play(scaled, strategies.clone(), 40));
    for ((kind, whole), small) in strategies.iter().zip(&whole).zip(&small) {
        let (whole, small) = (regret(whole).mean, regret(small).mean * 100.0);
        if kind.is_raw() {
            assert!(small > 10.0 * whole, "{}: {whole} {small}", kind.title());
        } else {
            assert!((small - whole).abs() <= 1e-6 * whole.max(1.0), "{}: {whole} {small}", kind.title());
        }
    }
    let raw = [StrategyKind::Ucb1Raw { c: std::f64::consts::SQRT_2 }, StrategyKind::ThompsonRaw];
    let tallies = play(Simulation::normal(&[0.1, 0.09, 0.11, 0.105], 0.01), raw.to_vec(), 200);
    let [ucb, thompson] = [0, 1].map(|index| regret(&tallies[index]).mean);
    println!("raw strategies on a hundredth: {ucb:.2}, {thompson:.2}");
    assert!((ucb - 21.2).abs() < 0.1 && (thompson - 20.7).abs() < 0.5);
}
