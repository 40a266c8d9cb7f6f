//! Tuning at measured sizes: *deploy* or *keep the default*, the interval of a gain, what is tied with the best.

use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    math::{Stream, exp, ln, median},
    tuning::{
        decision::{Decision, MoreRuns},
        parameters::{Confidence, Screening},
        read::{Asked, Evidence, Row, RowMarks, RunKind, Sample},
    },
};

use super::{
    support::{counts::Count, court::Court, threads::on_threads},
    table::Table,
};

const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

#[derive(Clone, Copy)]
enum Noise {
    Normal,
    /// One run in ten is ten times as far off.
    Contaminated,
    /// A slow tail.
    Exponential,
    /// One run in fifty takes three times as long.
    Stalls,
}

impl Noise {
    /// In standard deviations, of which there are so many in a hundred per cent.
    fn draw(self, deviation: f64, stream: &mut Stream) -> f64 {
        let normal = stream.normal();
        deviation
            * match self {
                Self::Normal => normal,
                Self::Contaminated if stream.unit() < 0.1 => 10.0 * normal,
                Self::Contaminated => normal,
                Self::Exponential => ln(1.0 - stream.unit()),
                Self::Stalls if stream.unit() < 0.02 => normal - ln(3.0) / deviation,
                Self::Stalls => normal,
            }
    }
}

/// What all sizes of a launch have in common, beside their own noise.
#[derive(Clone, Copy)]
enum Level {
    Constant,
    /// Each launch has its own, with this deviation.
    OfLaunches(f64),
    /// From launch to launch it walks by this deviation.
    Walk(f64),
    /// One launch in twenty it jumps, with this deviation.
    Steps(f64),
}

/// A sweep of some sizes with a default and configurations that are all as fast as it, but for the first one's gain.
#[derive(Clone, Copy)]
struct Simulated {
    configurations: u32,
    sizes: u32,
    repeats: u32,
    deviation: f64,
    /// Of the default's noise over that of the others.
    of_default: f64,
    noise: Noise,
    level: Level,
    /// All repeats of a configuration one after the other, and not one pass over all after the other.
    back_to_back: bool,
    /// Bandwidths are printed with two decimals, and this is about what they are: half of it to one and a half, a size
    /// each.
    printed_gbps: Option<f64>,
    /// Only the default is printed so: the times of the others have more digits.
    default_alone: bool,
    gain: f64,
}

const BASE: Simulated = Simulated {
    configurations: 20,
    sizes: 10,
    repeats: 3,
    deviation: 0.03,
    of_default: 1.0,
    noise: Noise::Normal,
    level: Level::Constant,
    back_to_back: false,
    printed_gbps: None,
    default_alone: false,
    gain: 0.0,
};

impl Simulated {
    fn rows(&self, stream: &mut Stream) -> Vec<Row> {
        let launches: Vec<(u32, u32)> = if self.back_to_back {
            (0..=self.configurations).flat_map(|c| (0..self.repeats).map(move |r| (r, c))).collect()
        } else {
            (0..self.repeats).flat_map(|r| (0..=self.configurations).map(move |c| (r, c))).collect()
        };
        let (mut rows, mut walk) = (Vec::new(), 0.0);
        let heights: Vec<f64> = match self.printed_gbps {
            Some(height) => (0..self.sizes).map(|_| height * (0.5 + stream.unit())).collect(),
            None => Vec::new(),
        };
        for (_, configuration) in launches {
            let level = match self.level {
                Level::Constant => 0.0,
                Level::OfLaunches(deviation) => deviation * stream.normal(),
                Level::Walk(step) => {
                    walk += step * stream.normal();
                    walk
                }
                Level::Steps(deviation) => {
                    if stream.below(20) == 0 {
                        walk = deviation * stream.normal();
                    }
                    walk
                }
            };
            for size in 0..self.sizes {
                let is_default = configuration == 0;
                let deviation = self.deviation * if is_default { self.of_default } else { 1.0 };
                let gain = if configuration == 1 { self.gain } else { 0.0 };
                let mut busbw_gbps = || {
                    let factor = exp(gain + level + self.noise.draw(deviation, stream));
                    match heights.get(size as usize) {
                        Some(height) if is_default || !self.default_alone => (height * factor * 100.0).round() / 100.0,
                        Some(height) => height * factor,
                        None => 100.0 * factor,
                    }
                };
                let [in_place, out_of_place] =
                    [busbw_gbps(), busbw_gbps()].map(|busbw_gbps| Some(Sample { time_us: None, busbw_gbps }));
                // Large sizes, so that no counts are aliases of each other.
                let size_bytes = 1 << (34 + size);
                rows.push(Row {
                    file: 0,
                    line: rows.len() as u32 + 2,
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
                    kind: if is_default { RunKind::Default } else { RunKind::Asked },
                    marks: RowMarks::default(),
                    asked: Asked::default(),
                    evidence: Evidence::Executed,
                    origin: 0,
                });
            }
        }
        rows
    }

    /// Any gain is worth a rule here.
    fn court(&self, stream: &mut Stream) -> Court {
        let confidence = Confidence { minimum_gain_pct: 0.0, ..Confidence::default() };
        Court { confidence, ..Court::new(&self.rows(stream), &Screening::default()) }
    }

    /// Of so many decisions in all.
    fn shares(&self, decisions: u32) -> Shares {
        let sweeps = decisions / self.sizes;
        let of_sweep = |sweep: usize| {
            let mut shares = Shares::default();
            let court = self.court(&mut Stream::new(700 + sweep as u64));
            let mut any = false;
            for workload in court.sweep.workloads() {
                let judged = court.judge(&workload).unwrap();
                let is_first = |c: &Configuration| c.channels == 1;
                let is_right = is_first(&judged.choice.configuration);
                let truth = if is_right { (exp(self.gain) - 1.0) * 100.0 } else { 0.0 };
                let deploys = judged.decision == Decision::Deploy;
                any |= deploys;
                shares.deployed.add(deploys);
                shares.right.add(deploys && is_right);
                shares.wrong.add(deploys && !is_right);
                shares.tied.add(judged.tied.iter().any(is_first));
                if let Some(gain) = judged.gain {
                    shares.held.add((gain.low_pct..=gain.high_pct).contains(&truth));
                }
            }
            shares.sweeps.add(any);
            shares
        };
        on_threads(sweeps as usize, of_sweep).into_iter().reduce(Shares::plus).unwrap()
    }
}

#[derive(Clone, Copy, Default)]
struct Shares {
    /// Something is deployed.
    deployed: Count,
    /// At any of the sizes of a sweep.
    sweeps: Count,
    /// The one that gains is deployed.
    right: Count,
    /// Another one is.
    wrong: Count,
    /// The one that gains is among the tied ones.
    tied: Count,
    /// The true gain of the choice lies in its interval.
    held: Count,
}

impl Shares {
    fn plus(self, other: Self) -> Self {
        Self {
            deployed: self.deployed.plus(other.deployed),
            sweeps: self.sweeps.plus(other.sweeps),
            right: self.right.plus(other.right),
            wrong: self.wrong.plus(other.wrong),
            tied: self.tied.plus(other.tied),
            held: self.held.plus(other.held),
        }
    }
}

/// At the level of 90 % the interval leaves 5 % on either side.
#[test]
fn noise_alone_is_deployed_no_more_often_than_stated() {
    const DECISIONS: u32 = 400;
    let mut table = Table::new(
        "verdicts where nothing gains",
        &["design", "false *deploy*", "sweeps with any", "best is tied", "gain is held"],
    );
    for (name, simulated) in [
        ("3 repeats", BASE),
        ("1 repeat", Simulated { repeats: 1, ..BASE }),
        ("2 repeats", Simulated { repeats: 2, ..BASE }),
        ("5 repeats", Simulated { repeats: 5, ..BASE }),
        ("20 repeats", Simulated { repeats: 20, ..BASE }),
        ("1 configuration", Simulated { configurations: 1, ..BASE }),
        ("54 configurations", Simulated { configurations: 54, ..BASE }),
        ("1 size, 1 configuration", Simulated { configurations: 1, sizes: 1, ..BASE }),
        ("1 size, 5 configurations", Simulated { configurations: 5, sizes: 1, ..BASE }),
        ("every tenth run far off", Simulated { noise: Noise::Contaminated, ..BASE }),
        ("a slow tail", Simulated { noise: Noise::Exponential, ..BASE }),
        ("one run in fifty stalls", Simulated { noise: Noise::Stalls, ..BASE }),
        ("a default twice as noisy", Simulated { of_default: 2.0, ..BASE }),
        ("a default five times as noisy", Simulated { of_default: 5.0, ..BASE }),
        ("a default five times as noisy, 5 repeats", Simulated { of_default: 5.0, repeats: 5, ..BASE }),
        ("0.2 to 0.5 GB/s, printed with two decimals", Simulated { printed_gbps: Some(0.35), ..BASE }),
        ("0.2 to 0.5 GB/s, printed, 0.5 % of noise", Simulated { printed_gbps: Some(0.35), deviation: 0.005, ..BASE }),
        ("0.03 to 0.09 GB/s, printed", Simulated { printed_gbps: Some(0.06), ..BASE }),
        (
            "0.03 to 0.09 GB/s, printed, 0.5 % of noise",
            Simulated { printed_gbps: Some(0.06), deviation: 0.005, ..BASE },
        ),
        (
            "0.03 to 0.09 GB/s, the default alone printed",
            Simulated { printed_gbps: Some(0.06), default_alone: true, ..BASE },
        ),
        (
            "0.03 to 0.09 GB/s, the default alone printed, 0.5 % of noise",
            Simulated { printed_gbps: Some(0.06), deviation: 0.005, default_alone: true, ..BASE },
        ),
        ("launches differ by 5 %", Simulated { level: Level::OfLaunches(0.05), ..BASE }),
        ("the level walks, 1 % a launch", Simulated { level: Level::Walk(0.01), ..BASE }),
        ("the level jumps, 10 %", Simulated { level: Level::Steps(0.1), ..BASE }),
        ("the level jumps, 10 %, 5 repeats", Simulated { level: Level::Steps(0.1), repeats: 5, ..BASE }),
    ] {
        let Shares { deployed, sweeps, tied, held, .. } = simulated.shares(DECISIONS);
        let any: &dyn std::fmt::Display = if simulated.sizes == 1 { &"–" } else { &sweeps };
        table.row(&[&name, &deployed, any, &tied, &held]);
        table.at_most(deployed, 0.05);
        if simulated.repeats == 1 {
            // One run of everything tells no noise: nothing is claimed.
            table.check(deployed.of == 0 && held.all == 0, "nothing is claimed");
            continue;
        }
        table.at_least(tied, 0.9);
        table.at_least(held, 0.9);
    }
    table.settle();
}

/// What no sweep can tell: whether something changed between the repeats of one configuration and those of the next.
/// Nothing is stated of it.
#[test]
fn repeats_back_to_back_hide_what_changes_between_them() {
    let mut table = Table::new(
        "verdicts on repeats back to back",
        &["design", "false *deploy*", "sweeps with any", "gain is held"],
    );
    for (name, level) in [
        ("nothing changes", Level::Constant),
        ("the level walks, 1 % a launch", Level::Walk(0.01)),
        ("the level jumps, 10 %", Level::Steps(0.1)),
    ] {
        let simulated = Simulated { level, back_to_back: true, ..BASE };
        let Shares { deployed, sweeps, held, .. } = simulated.shares(400);
        table.row(&[&name, &deployed, &sweeps, &held]);
    }
    table.settle();
}

#[test]
fn real_gains_are_found() {
    let mut table = Table::new(
        "verdicts where one of 20 gains",
        &["noise", "repeats", "gain", "*deploy*", "of these another one", "it is tied", "gain is held"],
    );
    for (deviation, repeats) in [(0.03, 3), (0.03, 5), (0.03, 20), (0.01, 3)] {
        for (percent, least) in [(2, 0.0), (5, 0.05), (10, 0.4), (20, 0.95)] {
            let gain = ln(1.0 + f64::from(percent) / 100.0);
            let Shares { deployed, wrong, right, tied, held, .. } =
                Simulated { gain, repeats, deviation, ..BASE }.shares(200);
            let noise = format!("{:.0} %", deviation * 100.0);
            table.row(&[&noise, &repeats, &format!("{percent} %"), &deployed, &wrong, &tied, &held]);
            table.at_least(right, least);
            table.at_most(wrong, 0.05);
            table.at_least(tied, 0.9);
            table.at_least(held, 0.9);
        }
    }
    table.settle();
}

/// A gain of the size that is called visible is deployed about half of the time; and with as many more runs as are said
/// to decide, one that was seldom seen before is.
#[test]
fn what_is_said_to_be_visible_is_seen_half_of_the_time() {
    let mut table = Table::new("verdicts on gains called visible", &["design", "*deploy*"]);
    let mut stream = Stream::new(3);
    let court = BASE.court(&mut stream);
    let visible: Vec<f64> = court
        .sweep
        .workloads()
        .map(|workload| court.judge(&workload).unwrap().noise.unwrap().visible_gain_pct)
        .collect();
    let mean = visible.iter().sum::<f64>() / visible.len() as f64;
    let deployed = Simulated { gain: ln(1.0 + mean / 100.0), ..BASE }.shares(300).deployed;
    table.row(&[&format!("3 repeats, a gain of {mean:.1} %, which is called visible"), &deployed]);
    table.check((0.3..0.75).contains(&deployed.share()), "about half of the time");

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
    let before = undecided.shares(100).deployed;
    table.row(&[&"3 repeats, a gain of 6 %", &before]);
    let deployed = Simulated { repeats, ..undecided }.shares(100).deployed;
    table.row(&[&format!("{repeats} repeats, the number that is said to decide it, a gain of 6 %"), &deployed]);
    table.check(deployed.share() > before.share() + 0.1, "more runs decide");
    table.settle();
}
