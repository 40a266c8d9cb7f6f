//! Policy: winners among arms, P(better), drift.

use collectune::{
    bandit::paired::{self, Value},
    intake::{self, FileContent},
    math::Stream,
    policy::{
        judge::LARGEST_P,
        read::NamedLog,
        request::Settings,
        result::{Decision, Flag, KeyResult},
        study::PolicyStudy,
    },
    progress::Silent,
};

use super::{
    support::{counts::Count, threads::on_threads},
    table::Table,
};

const ARMS: [&str; 4] = ["auto", "tree/simple", "tree/ll128", "ring/simple"];

/// How values come about.
#[derive(Clone, Copy)]
enum Design {
    /// So many turns in one run, shuffled, whose level goes like this.
    Turns(u32, Level),
    /// Eight rounds of a run an arm, as the exported script has them, with 5 % between runs.
    Rounds {
        /// The level walks from run to run.
        walks: bool,
    },
    /// One log of the library's choice, cut into as many parts as there are arms.
    Cut,
}

/// How the level of the machine goes.
#[derive(Clone, Copy)]
enum Level {
    Constant,
    RandomWalk,
    Steps,
    /// Neighbouring values have nine tenths in common.
    Correlated,
}

/// A value of an arm, in ms, with its run and round.
struct Line {
    run: usize,
    round: Option<u32>,
    arm: usize,
    latency: f64,
}

/// The second arm is faster by a share, the others are like `auto`.
fn made(design: Design, arms: usize, faster: f64, seed: u64) -> Vec<Line> {
    let mut stream = Stream::new(seed);
    let mut lines = Vec::new();
    let own = |arm: usize| if arm == 1 { 1.0 - faster } else { 1.0 };
    let (mut at, mut wave) = (100.0, 0.0);
    match design {
        Design::Turns(turns, level) => {
            for _ in 0..turns {
                let mut order: Vec<usize> = (0..arms).collect();
                stream.shuffle(&mut order);
                for arm in order {
                    match level {
                        Level::Constant => {}
                        Level::RandomWalk => at += stream.normal(),
                        Level::Steps if stream.below(40) == 0 => at = 100.0 + 15.0 * stream.normal(),
                        Level::Steps => {}
                        Level::Correlated => wave = 0.9 * wave + 3.0 * stream.normal(),
                    }
                    let latency = (at + wave + 5.0 * stream.normal()) * own(arm);
                    lines.push(Line { run: 0, round: None, arm, latency });
                }
            }
        }
        Design::Rounds { walks } => {
            for round in 1..=8 {
                for arm in 0..arms {
                    at += if walks { 2.0 * stream.normal() } else { 0.0 };
                    let of_run = (at + 5.0 * stream.normal()) * own(arm);
                    let run = lines.len() / 20;
                    let line = |latency: f64| Line { run, round: Some(round), arm, latency };
                    lines.extend((0..20).map(|_| line(of_run + stream.normal())));
                }
            }
        }
        Design::Cut => {
            for arm in 0..arms {
                for _ in 0..100 {
                    at += stream.normal();
                    lines.push(Line { run: arm, round: None, arm, latency: at + 2.0 * stream.normal() });
                }
            }
        }
    }
    lines
}

/// Whether the test of differences finds a winner.
fn is_found(lines: &[Line], arms: usize) -> bool {
    let p = |arm: usize| {
        let own = lines.iter().filter(|line| line.arm == 0 || line.arm == arm);
        let value =
            |line: &Line| Value { run: line.run, round: line.round, is_auto: line.arm == 0, latency: line.latency };
        paired::compare(&own.map(value).collect::<Vec<Value>>()).map_or(1.0, |of| of.p)
    };
    paired::corrected(&(1..arms).map(p).collect::<Vec<f64>>()).iter().any(|p| *p <= LARGEST_P)
}

/// The log of turns, or those of rounds and parts, as they are read and judged.
fn judged(lines: &[Line]) -> KeyResult {
    let line = |of: &Line| {
        let arm = ARMS[of.arm];
        format!("allreduce,67108864,2,8,{:.4},{arm}\n", of.latency / 10.0)
    };
    let mut logs: Vec<(String, String)> = lines
        .chunk_by(|a, b| a.run == b.run)
        .map(|run| {
            let round = run[0].round.map_or_else(String::new, |round| format!("_r{round:02}"));
            let name = format!("rewards_{}{round}.log", ARMS[run[0].arm].replace('/', "_"));
            let head = "collType,nBytes,nNodes,nRanks,iteration_ms,arm\n".to_owned();
            (name, head + &run.iter().map(line).collect::<String>())
        })
        .collect();
    // As a folder lists them.
    logs.sort();
    let log = |(name, text): (String, String)| {
        let (_, content) = intake::open(text.as_bytes(), &name, text.len() as u64, 0, None, &mut Silent);
        match content {
            FileContent::Rewards(log) => NamedLog { name, log: *log },
            other => panic!("{other:?}"),
        }
    };
    let mut study = PolicyStudy::new(logs.into_iter().map(log).collect());
    let mut studied = study.study(Settings::default(), &mut Silent).unwrap();
    assert_eq!(studied.results.len(), 1);
    studied.results.remove(0)
}

fn found(design: Design, arms: usize, faster: f64, logs: u64) -> Count {
    let mut count = Count::default();
    (0..logs).for_each(|seed| count.add(is_found(&made(design, arms, faster, seed), arms)));
    count
}

const DESIGNS: [(&str, Design, f64); 7] = [
    ("one run, constant level", Design::Turns(60, Level::Constant), 0.05),
    ("one run, random walk", Design::Turns(60, Level::RandomWalk), 0.05),
    ("one run, steps", Design::Turns(60, Level::Steps), 0.05),
    ("one run, correlated (0.9)", Design::Turns(60, Level::Correlated), 0.05),
    ("8 rounds", Design::Rounds { walks: false }, 0.1),
    ("8 rounds, the level walks", Design::Rounds { walks: true }, 0.1),
    ("one log cut into parts, random walk", Design::Cut, 0.1),
];

#[test]
fn arms_that_are_alike_have_no_winner_and_a_faster_one_is_found() {
    const LOGS: u64 = 400;
    let mut table = Table::new("winners among arms", &["design", "arms", "false winners", "a gain", "it is found"]);
    for (name, design, faster) in DESIGNS {
        for arms in [2, 4] {
            let none = found(design, arms, 0.0, LOGS);
            let some = found(design, arms, faster, LOGS);
            let is_cut = matches!(design, Design::Cut);
            let gain: &dyn std::fmt::Display = if is_cut { &"–" } else { &format!("{:.0} %", faster * 100.0) };
            let some_told: &dyn std::fmt::Display = if is_cut { &"–" } else { &some };
            table.row(&[&name, &arms, &none, gain, some_told]);
            table.check(none.share() <= 0.05, "at most 5 % of these logs");
            if is_cut {
                table.check(none.of == 0, "no repeats, no winner");
            } else {
                table.at_least(some, 0.75);
            }
        }
    }
    table.settle();
}

/// The whole of the judgement: what it shows beside the decision, and that it deploys no more than the test finds.
#[test]
fn what_is_shown_of_equal_arms_is_as_sure_as_it_says() {
    const LOGS: usize = 80;
    let mut table = Table::new(
        "judgements of equal arms",
        &[
            "design",
            "arms",
            "*run …*",
            "P(better) of 0.95 and more",
            "95 % interval holds no gain",
            "flagged as drifting",
        ],
    );
    for (name, design, _) in DESIGNS {
        for arms in [2, 4] {
            let results = on_threads(LOGS, |seed| judged(&made(design, arms, 0.0, 5000 + seed as u64)));
            let [mut deployed, mut sure, mut held, mut drifting] = [Count::default(); 4];
            for of in &results {
                deployed.add(matches!(of.decision, Decision::Deploy(_)));
                if let Some(p) = of.p_better() {
                    sure.add(p >= 0.95);
                }
                drifting.add(of.flags.contains(&Flag::Drifting));
                for comparison in of.arms[1..].iter().filter_map(collectune::policy::result::ArmResult::compared) {
                    held.add(comparison.gain_low_pct <= 0.0 && 0.0 <= comparison.gain_high_pct);
                }
            }
            table.row(&[&name, &arms, &deployed, &sure, &held, &drifting]);
            table.at_most(deployed, 0.05);
            if matches!(design, Design::Turns(_, Level::Constant)) {
                table.at_most(drifting, 0.02);
            }
            if arms == 2 {
                table.at_most(sure, 0.05);
                table.at_least(held, 0.95);
            }
            if matches!(design, Design::Cut) {
                table.check(sure.all == 0 && held.all == 0, "nothing is stated of arms that ran one after the other");
            }
        }
    }
    table.settle();
}

/// P(better) of an arm whose true gain is drawn: of those that it calls so probable, how many are better.
#[test]
fn p_better_is_as_often_right_as_it_says() {
    let mut table = Table::new("how often P(better) is right", &["P(better)", "the arm is better"]);
    let results = on_threads(240, |seed| {
        let faster = 0.02 * Stream::new(seed as u64 ^ 0xB).normal();
        let lines = made(Design::Turns(60, Level::Constant), 2, faster, 9000 + seed as u64);
        (judged(&lines).p_better().unwrap(), faster > 0.0)
    });
    for (low, high) in [(0.0, 0.05), (0.05, 0.3), (0.3, 0.7), (0.7, 0.95), (0.95, 1.001)] {
        let mut count = Count::default();
        results.iter().filter(|(p, _)| (low..high).contains(p)).for_each(|(_, better)| count.add(*better));
        table.row(&[&format!("{low:.2} to {:.2}", f64::min(high, 1.0)), &count]);
        table.at_least(count, f64::max(low, 0.001));
        table.at_most(count, f64::min(high, 0.999));
    }
    table.settle();
}
