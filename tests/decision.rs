//! What the decisions promise, on simulated noise and on real sweeps: `cargo test --test decision -- --nocapture`
//! prints the tables.

#![allow(clippy::unwrap_used)]

mod support;

use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    math::{Stream, exp, median},
    tuning::{
        aggregate::{Point, Target},
        decision::{Decision, Judge, Judged, MoreRuns, deviations::Deviations},
        parameters::{Confidence, Screening},
        read::{Asked, Evidence, Kind, Marks, Row, Sample},
        runs::Runs,
        stalls::{Half, Screened, Stall},
        sweep::Sweep,
    },
};
use support::real::{SWEEPS, rows};

const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

/// Everything that a judge looks at.
struct Court {
    runs: Runs,
    screened: Screened,
    sweep: Sweep,
    deviations: Deviations,
    confidence: Confidence,
}

impl Court {
    fn new(rows: &[Row], screening: &Screening) -> Self {
        let runs = Runs::new(rows.to_vec(), Target::Time);
        let screened = Screened::new(&runs, screening);
        let sweep = runs.sweep(|place, run| screened.keep(place, run));
        let deviations = Deviations::new(&runs, &screened);
        Self { runs, screened, sweep, deviations, confidence: Confidence::default() }
    }

    fn judge(&self, workload: &Workload) -> Option<Judged<'_>> {
        let Self { runs, screened, deviations, confidence, .. } = self;
        let judge = Judge { runs, screened, deviations, confidence: *confidence };
        let points: Vec<&Point> = self.sweep.points_at(workload).iter().collect();
        judge.judge(&points, self.sweep.default_at(workload), None)
    }
}

#[derive(Clone, Copy)]
enum Noise {
    Normal,
    /// One run in ten is ten times as far off.
    Contaminated,
    /// A slow tail.
    Exponential,
}

impl Noise {
    fn draw(self, stream: &mut Stream) -> f64 {
        match self {
            Self::Normal => stream.normal(),
            Self::Contaminated if stream.unit() < 0.1 => 10.0 * stream.normal(),
            Self::Contaminated => stream.normal(),
            Self::Exponential => collectune::math::ln(1.0 - stream.unit()),
        }
    }
}

/// A sweep of some sizes with a default and configurations that are all as fast as it, but for the first one's gain.
struct Simulated {
    configurations: u32,
    sizes: u32,
    repeats: u32,
    deviation: f64,
    /// Of the default's noise over that of the others.
    of_default: f64,
    noise: Noise,
    gain: f64,
}

impl Simulated {
    fn rows(&self, stream: &mut Stream) -> Vec<Row> {
        let mut rows = Vec::new();
        for repeat in 0..self.repeats {
            for configuration in 0..=self.configurations {
                for size in 0..self.sizes {
                    let is_default = configuration == 0;
                    let deviation = self.deviation * if is_default { self.of_default } else { 1.0 };
                    let gain = if configuration == 1 { self.gain } else { 0.0 };
                    let mut busbw_gbps = || 100.0 * exp(gain + deviation * self.noise.draw(stream));
                    let [in_place, out_of_place] =
                        [busbw_gbps(), busbw_gbps()].map(|busbw_gbps| Some(Sample { time_us: None, busbw_gbps }));
                    // Large sizes, so that no counts are aliases of each other.
                    let size_bytes = 1 << (34 + size);
                    rows.push(Row {
                        file: 0,
                        line: rows.len() as u32 + 2 + repeat,
                        workload: Workload { collective: Collective::Reduce, scale: SCALE, size_bytes },
                        ran: Configuration {
                            algorithm: Algorithm::Ring,
                            protocol: if is_default { Protocol::Simple } else { Protocol::Ll },
                            channels: configuration.max(1),
                        },
                        in_place,
                        out_of_place,
                        repeats: 1,
                        spread_pct: None,
                        kind: if is_default { Kind::Default } else { Kind::Asked },
                        marks: Marks::default(),
                        asked: Asked::default(),
                        evidence: Evidence::Executed,
                        origin: 0,
                    });
                }
            }
        }
        rows
    }

    /// Any gain is worth a rule here.
    fn court(&self, stream: &mut Stream) -> Court {
        let confidence = Confidence { minimum_gain_pct: 0.0, ..Confidence::default() };
        Court { confidence, ..Court::new(&self.rows(stream), &Screening::default()) }
    }

    fn shares(&self, sweeps: u32) -> Shares {
        let mut stream = Stream::new(7);
        let mut counts = [0.0; 4];
        for _ in 0..sweeps {
            let court = self.court(&mut stream);
            for workload in court.sweep.workloads() {
                let judged = court.judge(&workload).unwrap();
                let is_first = |c: &Configuration| c.channels == 1;
                let gain = judged.gain.unwrap();
                let truth = if is_first(&judged.choice.configuration) { (exp(self.gain) - 1.0) * 100.0 } else { 0.0 };
                let seen = [
                    judged.decision == Decision::Deploy,
                    judged.decision == Decision::Deploy && is_first(&judged.choice.configuration),
                    judged.tied.iter().any(is_first),
                    (gain.low_pct..=gain.high_pct).contains(&truth),
                ];
                counts.iter_mut().zip(seen).for_each(|(count, seen)| *count += f64::from(u8::from(seen)));
            }
        }
        let all = f64::from(sweeps * self.sizes);
        let [deployed, right, tied, held] = counts.map(|count| count / all * 100.0);
        Shares { deployed, right, tied, held }
    }
}

/// In per cent of the sizes.
struct Shares {
    /// Something is deployed.
    deployed: f64,
    /// The one that gains is deployed.
    right: f64,
    /// It is among the tied ones.
    tied: f64,
    /// The true gain of the choice lies in its interval.
    held: f64,
}

const BASE: Simulated = Simulated {
    configurations: 20,
    sizes: 10,
    repeats: 3,
    deviation: 0.03,
    of_default: 1.0,
    noise: Noise::Normal,
    gain: 0.0,
};

/// At the level of 90 % the interval leaves 5 % on either side. 400 decisions tell a share of 5 % to within 2 points.
#[test]
fn noise_alone_is_deployed_no_more_often_than_stated() {
    println!("{:<28} {:>12} {:>12} {:>12}", "nothing gains, in %", "deployed", "best tied", "gain held");
    for (name, simulated) in [
        ("3 repeats", BASE),
        ("2 repeats", Simulated { repeats: 2, ..BASE }),
        ("5 repeats", Simulated { repeats: 5, ..BASE }),
        ("1 configuration", Simulated { configurations: 1, ..BASE }),
        ("54 configurations", Simulated { configurations: 54, ..BASE }),
        ("1 size, 1 configuration", Simulated { configurations: 1, sizes: 1, ..BASE }),
        ("1 size, 5 configurations", Simulated { configurations: 5, sizes: 1, ..BASE }),
        ("every tenth run far off", Simulated { noise: Noise::Contaminated, ..BASE }),
        ("a slow tail", Simulated { noise: Noise::Exponential, ..BASE }),
        ("a default twice as noisy", Simulated { of_default: 2.0, ..BASE }),
    ] {
        let Shares { deployed, tied, held, .. } = simulated.shares(400 / simulated.sizes);
        println!("{name:<28} {deployed:>12.1} {tied:>12.1} {held:>12.1}");
        assert!(deployed <= 5.0 + 2.0, "{name}: {deployed} %");
        assert!(tied >= 90.0 - 2.0, "{name}: {tied} %");
        assert!(held >= 90.0 - 2.0, "{name}: {held} %");
    }
}

#[test]
fn real_gains_are_found() {
    println!("{:<28} {:>12} {:>12} {:>12} {:>12}", "one gains, in %", "deployed", "the right", "tied", "gain held");
    for (gain, least_right) in [(0.05, 5.0), (0.1, 40.0), (0.2, 95.0)] {
        let Shares { deployed, right, tied, held } = Simulated { gain, ..BASE }.shares(20);
        println!("{:<28} {deployed:>12.1} {right:>12.1} {tied:>12.1} {held:>12.1}", format!("{:.1}", gain * 100.0));
        assert!(right >= least_right && deployed - right <= 5.0, "{gain}: {right} of {deployed} %");
        assert!(tied >= 88.0 && held >= 88.0, "{gain}: {tied}, {held}");
    }
}

/// A gain of the size that is called visible is deployed about half of the time; and with as many more runs as are said
/// to decide, one that was seldom seen before is.
#[test]
fn what_is_said_to_be_visible_is_seen_half_of_the_time() {
    let mut stream = Stream::new(3);
    let court = BASE.court(&mut stream);
    let visible: Vec<f64> = court
        .sweep
        .workloads()
        .map(|workload| court.judge(&workload).unwrap().noise.unwrap().visible_gain_pct)
        .collect();
    let mean = visible.iter().sum::<f64>() / visible.len() as f64;
    let gain = collectune::math::ln(1.0 + mean / 100.0);
    let Shares { deployed, .. } = Simulated { gain, ..BASE }.shares(30);
    println!("a gain of {mean:.1} % is called visible and deployed at {deployed:.1} % of the sizes");
    assert!((30.0..75.0).contains(&deployed), "{deployed}");

    let undecided = Simulated { gain: 0.06, ..BASE };
    let court = undecided.court(&mut stream);
    let mut more: Vec<f64> = court
        .sweep
        .workloads()
        .filter_map(|workload| match court.judge(&workload).unwrap().noise.unwrap().more_runs {
            MoreRuns::Runs(runs) => Some(f64::from(runs)),
            _ => None,
        })
        .collect();
    let repeats = BASE.repeats + median(&mut more).unwrap() as u32;
    let Shares { deployed, .. } = Simulated { repeats, ..undecided }.shares(10);
    println!("with {repeats} instead of {} repeats a gain of 6 % is deployed at {deployed:.1} %", BASE.repeats);
    let Shares { deployed: before, .. } = undecided.shares(10);
    assert!(deployed > before + 10.0, "{repeats}: {before} {deployed}");
}

/// How the sizes of each real sweep end: deploy, keep the default, no default measured; and what stalled in place.
#[test]
fn real_sweeps_end_as_they_did() {
    println!("{:<22} {:>8} {:>8} {:>8} {:>10} {:>8}", "", "deploy", "keep", "no def.", "ambiguous", "stalls");
    for (name, expected) in SWEEPS.iter().zip([[0, 0, 18], [9, 9, 0], [2, 16, 0], [3, 15, 0], [0, 0, 18], [0, 0, 18]]) {
        let Some(rows) = rows(name) else { return };
        let court = Court::new(&rows, &Screening::default());
        let mut counts = [0; 3];
        let mut ambiguous = 0;
        for workload in court.sweep.workloads() {
            let judged = court.judge(&workload).unwrap();
            match judged.decision {
                Decision::Deploy => counts[0] += 1,
                Decision::KeepDefault { .. } => counts[1] += 1,
                Decision::NoDefault => counts[2] += 1,
                Decision::Unknown => panic!("{workload:?}"),
            }
            ambiguous += usize::from(judged.tied.len() > 1);
            assert!(judged.tied.contains(&judged.choice.configuration));
            let noise = judged.noise.unwrap();
            assert!(noise.visible_gain_pct > 0.0 && noise.visible_gain_pct.is_finite(), "{noise:?}");
            if let Some(gain) = judged.gain {
                assert!(gain.low_pct <= gain.pct && gain.pct <= gain.high_pct, "{gain:?}");
                assert_eq!(judged.decision == Decision::Deploy, gain.low_pct > court.confidence.minimum_gain_pct);
            }
        }
        let stalls = court.screened.stalls.iter().filter(|stall| stall.half == Half::InPlace).count();
        println!("{name:<22} {:>8} {:>8} {:>8} {ambiguous:>10} {stalls:>8}", counts[0], counts[1], counts[2]);
        assert_eq!(counts, expected, "{name}");
    }
}

/// The noisy sweeps have few stalls beyond what the quiet ones have, and no place loses more than half of its runs.
#[test]
fn stalls_of_real_sweeps_are_few() {
    for (name, most) in [("all_gather_2n", 10), ("all_reduce_1n", 2), ("broadcast_1n", 3), ("broadcast_2n", 80)] {
        let Some(rows) = rows(name) else { return };
        let court = Court::new(&rows, &Screening::default());
        let in_place = |stall: &&Stall| stall.half == Half::InPlace;
        let found = court.screened.stalls.iter().filter(in_place).count();
        assert!(found <= most, "{name}: {found}");
        for (place, first, runs) in court.runs.places() {
            let used = (first..first + runs.len()).filter(|run| court.screened.keep(place, *run).run).count();
            assert!(2 * used >= runs.len(), "{name}: {place:?}");
        }
        let kept = Screening { keep_stalls: true, ..Screening::default() };
        let all = Court::new(&rows, &kept);
        assert_eq!(all.sweep, collectune::tuning::aggregate::aggregate(&rows, Target::Time).sweep);
        assert_eq!(all.screened.stalls.len(), court.screened.stalls.len());
    }
}
