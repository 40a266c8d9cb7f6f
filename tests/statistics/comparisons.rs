//! Tuning: a tuner file judged by runs with it and without it.

use std::fmt::Write;

use collectune::{
    collective::{Collective, Scale},
    launch::Sizes,
    math::{Stream, exp},
    tuning::ab::{
        AbAnswer, AbQuestion, judge,
        script::{AbArm, CampaignPlan, balanced_order},
        verdict::RuleVerdict,
    },
};

use super::{support::counts::Count, table::Table};

/// Rules of a tuner file, and the sizes of each.
const RULES: usize = 4;
const SIZES: usize = 4;

#[derive(Clone, Copy)]
struct Design {
    repeats: u32,
    /// Of single runs.
    deviation: f64,
    /// Of launches, which have it in common at all sizes.
    of_launches: f64,
    /// Of a walk from launch to launch.
    walk: f64,
    /// Bandwidths are printed with two decimals, and this is what they are.
    printed_gbps: Option<f64>,
    /// Of every rule.
    gain: f64,
    /// The third launch of the tuner file is so much slower.
    disturbed: f64,
}

const BASE: Design =
    Design { repeats: 9, deviation: 0.02, of_launches: 0.0, walk: 0.0, printed_gbps: None, gain: 0.0, disturbed: 0.0 };

fn made(design: &Design, seed: u64) -> AbAnswer {
    let mut stream = Stream::new(seed ^ 0xAB);
    let campaign = CampaignPlan {
        collective: Collective::AllReduce,
        scale: Scale { nodes: 1, ranks: 8 },
        sizes: Sizes { first: 4096, last: 1 << 27 },
        repeats: design.repeats,
        seed,
        launcher: Default::default(),
        plugin: String::new(),
        conf: String::new(),
    };
    let mut runs = vec![[Vec::new(), Vec::new()]; RULES * SIZES];
    let mut level = 0.0;
    for (arm, repeat) in balanced_order(campaign.repeats, campaign.seed) {
        level += design.walk * stream.normal();
        let mut common = level + design.of_launches * stream.normal();
        let of_arm = match arm {
            AbArm::Default => 0,
            AbArm::Conf => 1,
            AbArm::Empty => continue,
        };
        if of_arm == 1 {
            common += design.gain - if repeat == 3 { design.disturbed } else { 0.0 };
        }
        for runs in &mut runs {
            let factor = exp(common + design.deviation * stream.normal());
            runs[of_arm].push(match design.printed_gbps {
                Some(height) => format!("{:.2}", height * factor),
                None => format!("{:.6}", 100.0 * factor),
            });
        }
    }
    let mut text = "# collective: all_reduce\n# the arms ran in a balanced order\n".to_owned();
    text += "nodes,size_bytes,def_runs,cfg_runs\n";
    let mut conf = String::new();
    for (size, [default, with]) in runs.iter().enumerate() {
        let bytes = 4096_u64 << size;
        writeln!(text, "1,{bytes},{},{}", default.join(";"), with.join(";")).unwrap();
        if size % SIZES == 0 {
            let last = (4096_u64 << (size + SIZES - 1)) + 1;
            writeln!(conf, "allreduce,{bytes},{last},ring,ll,8,1,8").unwrap();
        }
    }
    let answer = judge(&text, "", Some(conf.as_bytes()), &AbQuestion::default());
    assert_eq!((answer.rules.len(), answer.problems.count), (RULES, 0), "{:?}", answer.problems);
    assert!(answer.rules.iter().all(|rule| rule.effects.len() == SIZES));
    answer
}

#[derive(Default)]
struct Shares {
    kept: Count,
    any_kept: Count,
    /// The probability of being better is said to be 95 % or more.
    sure: Count,
    /// The true gain of a size lies in its interval.
    held: Count,
    void: Count,
    /// Some run is called disturbed.
    disturbed: Count,
    /// The one that was is.
    right: Count,
}

fn shares(design: &Design, campaigns: u64) -> Shares {
    let mut shares = Shares::default();
    let truth = (exp(design.gain) - 1.0) * 100.0;
    for seed in 0..campaigns {
        let answer = made(design, seed);
        let is_kept = |verdict: &RuleVerdict| *verdict == RuleVerdict::Keep;
        for rule in &answer.rules {
            shares.kept.add(is_kept(&rule.verdict));
            shares.sure.add(rule.better >= 0.95 - 1e-9);
            for effect in &rule.effects {
                let (low, high) = effect.interval_90_pct.unwrap();
                shares.held.add((low..=high).contains(&truth));
            }
        }
        shares.any_kept.add(answer.verdicts.iter().any(is_kept));
        shares.void.add(answer.void.is_some());
        let called: Vec<&String> = answer.notes.iter().filter(|note| note.contains("it was disturbed")).collect();
        shares.disturbed.add(!called.is_empty());
        shares.right.add(called.iter().any(|note| note.starts_with("Run 3 of the conf")));
    }
    shares
}

#[test]
fn a_tuner_file_that_changes_nothing_keeps_few_rules() {
    let mut table = Table::new(
        "A/B where nothing gains",
        &[
            "design",
            "runs an arm",
            "false *keep*, rules",
            "campaigns with any",
            "P(better) of 0.95 and more",
            "gain is held, sizes",
        ],
    );
    let designs = [
        ("runs differ by 2 %", BASE),
        ("runs differ by 5 %", Design { deviation: 0.05, ..BASE }),
        ("launches differ by 5 %, their runs by 1 %", Design { deviation: 0.01, of_launches: 0.05, ..BASE }),
        ("the level walks, 2 % a launch", Design { walk: 0.02, ..BASE }),
        ("0.35 GB/s, printed with two decimals", Design { printed_gbps: Some(0.35), ..BASE }),
    ];
    for (name, design) in designs {
        for repeats in [3, 5, 9] {
            let Shares { kept, any_kept, sure, held, .. } = shares(&Design { repeats, ..design }, 200);
            table.row(&[&name, &repeats, &kept, &any_kept, &sure, &held]);
            // The four rules of a campaign share its launches: campaigns are independent of each other.
            table.check(
                Count { of: kept.of.div_ceil(4), all: kept.all / 4 }.is_at_most(0.05),
                "at most 5 % of the rules",
            );
            table.check(Count { of: sure.of.div_ceil(4), all: sure.all / 4 }.is_at_most(0.05), "as sure as stated");
            let of_campaigns = Count { of: held.of / 16, all: held.all / 16 };
            table.check(of_campaigns.is_at_least(0.9), "intervals hold nine of ten");
        }
    }
    table.settle();
}

#[test]
fn a_tuner_file_that_gains_keeps_its_rules() {
    let mut table = Table::new(
        "A/B where every rule gains",
        &["design", "runs an arm", "gain", "*keep*, rules", "gain is held, sizes"],
    );
    for (name, design) in [
        ("runs differ by 2 %", BASE),
        ("launches differ by 5 %, their runs by 1 %", Design { deviation: 0.01, of_launches: 0.05, ..BASE }),
    ] {
        for repeats in [3, 5, 9] {
            for percent in [2, 5, 10, 20] {
                let gain = collectune::math::ln(1.0 + f64::from(percent) / 100.0);
                let Shares { kept, held, .. } = shares(&Design { repeats, gain, ..design }, 50);
                table.row(&[&name, &repeats, &format!("{percent} %"), &kept, &held]);
                if percent == 20 && repeats == 9 {
                    table.at_least(kept, 0.9);
                }
            }
        }
    }
    table.settle();
}

#[test]
fn ordinary_runs_are_not_disturbed_and_disturbed_ones_are() {
    let mut table = Table::new(
        "A/B and disturbed runs",
        &[
            "nine runs an arm, which differ by",
            "launches by",
            "one run is slower by",
            "a run is called disturbed",
            "the right one",
            "campaign is void",
        ],
    );
    for (deviation, of_launches) in [(0.01, 0.0), (0.02, 0.0), (0.03, 0.0), (0.05, 0.0), (0.01, 0.02), (0.01, 0.05)] {
        for disturbed in [0.0, 0.05, 0.1, 0.3] {
            let Shares { disturbed: called, right, void, .. } =
                shares(&Design { deviation, of_launches, disturbed, ..BASE }, 100);
            let percent = |share: f64| format!("{:.0} %", share * 100.0);
            table.row(&[&percent(deviation), &percent(of_launches), &percent(disturbed), &called, &right, &void]);
            if disturbed == 0.0 {
                table.at_most(called, 0.05);
                table.at_most(void, 0.05);
            } else if deviation == 0.01 && of_launches == 0.0 {
                table.at_least(right, 0.9);
            }
        }
    }
    table.settle();
}
