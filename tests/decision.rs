//! What the decisions promise, on simulated noise and on real sweeps: `cargo test --test decision -- --nocapture`
//! prints the tables.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    intake::{self, Content},
    math::{Stream, exp, median},
    progress::Silent,
    tuning::{
        aggregate::{Point, Target},
        decision::{Decision, Judge, Judged, deviations::Deviations},
        parameters::{Confidence, Screening},
        read::{Asked, Evidence, Kind, Marks, Row, Sample},
        runs::Runs,
        stalls::Screened,
        sweep::Sweep,
    },
};

const SWEEPS: [&str; 6] =
    ["all_gather_2n", "all_reduce_1n", "all_reduce_2n_median", "all_reduce_3n_median", "broadcast_1n", "broadcast_2n"];

const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

/// The rows of a real sweep; `None`, and a line that says so, where the data are not there.
fn rows(name: &str) -> Option<Vec<Row>> {
    let shared = std::env::var_os("COLLECTUNE_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from);
    let path = shared.join("tuning").join(name).with_extension("csv");
    let Ok(bytes) = std::fs::read(&path) else {
        eprintln!("SKIPPED: {} is not there", path.display());
        return None;
    };
    match intake::open(&bytes[..], name, bytes.len() as u64, 0, None, &mut Silent) {
        (_, Content::Rows(rows)) => Some(rows),
        (report, _) => panic!("{report:?}"),
    }
}

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
        let runs = Runs::new(rows, Target::Time);
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
                    });
                }
            }
        }
        rows
    }

    /// The share of sizes at which something is deployed; the share at which the first configuration is among the
    /// tied ones; the share at which its gain lies in the interval where it is chosen.
    fn shares(&self, sweeps: u32) -> [f64; 3] {
        let mut stream = Stream::new(7);
        let (mut all, mut deployed, mut tied, mut chosen, mut held) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for _ in 0..sweeps {
            let court = Court::new(&self.rows(&mut stream), &Screening::default());
            for workload in court.sweep.workloads() {
                let judged = court.judge(&workload).unwrap();
                let is_first = |c: &Configuration| c.channels == 1;
                all += 1.0;
                deployed += f64::from(u8::from(judged.decision == Decision::Deploy));
                tied += f64::from(u8::from(judged.tied.iter().any(is_first)));
                let gain = judged.gain.unwrap();
                let truth = if is_first(&judged.choice.configuration) { (exp(self.gain) - 1.0) * 100.0 } else { 0.0 };
                chosen += 1.0;
                held += f64::from(u8::from((gain.low_pct..=gain.high_pct).contains(&truth)));
            }
        }
        [deployed / all, tied / all, held / chosen]
    }
}

#[test]
fn noise_alone_is_deployed_no_more_often_than_stated() {
    let base = Simulated {
        configurations: 20,
        sizes: 10,
        repeats: 3,
        deviation: 0.03,
        of_default: 1.0,
        noise: Noise::Normal,
        gain: 0.0,
    };
    for (name, simulated) in [
        ("3 repeats, normal", Simulated { ..base }),
        ("2 repeats, normal", Simulated { repeats: 2, ..base }),
        ("5 repeats, normal", Simulated { repeats: 5, ..base }),
        ("one configuration", Simulated { configurations: 1, ..base }),
        ("54 configurations", Simulated { configurations: 54, ..base }),
        ("one size, one configuration", Simulated { configurations: 1, sizes: 1, ..base }),
        ("one size, 5 configurations", Simulated { configurations: 5, sizes: 1, ..base }),
        ("contaminated", Simulated { noise: Noise::Contaminated, ..base }),
        ("exponential", Simulated { noise: Noise::Exponential, ..base }),
        ("noisy default", Simulated { of_default: 2.0, ..base }),
    ] {
        let sweeps = 600 / simulated.sizes;
        let [deployed, tied, held] = simulated.shares(sweeps);
        println!(
            "{name:<30} deployed {:5.2} %, the best is among the tied {:5.1} %, gain held {:5.1} %",
            deployed * 100.0,
            tied * 100.0,
            held * 100.0
        );
    }
}

#[test]
fn real_sweeps() {
    for name in SWEEPS {
        let Some(rows) = rows(name) else { return };
        let court = Court::new(&rows, &Screening::default());
        println!("{name}: {} stalls", court.screened.stalls.len());
        for workload in court.sweep.workloads() {
            let judged = court.judge(&workload).unwrap();
            println!(
                "  {:>10} {:?} choice {} best {} gain {:?} tied {} noise {:?} aliases {} witness {:?}",
                workload.size_bytes,
                judged.decision,
                judged.choice.configuration,
                court.sweep.best_at(&workload).unwrap().configuration,
                judged.gain.map(|g| (g.low_pct, g.pct, g.high_pct)),
                judged.tied.len(),
                judged.noise.map(|n| (n.spread_pct, n.visible_gain_pct, n.more_runs)),
                judged.same_as.len() - judged.same_as.iter().collect::<std::collections::BTreeSet<_>>().len(),
                judged.witness,
            );
        }
    }
    let _ = median(&mut []);
}
