//! A real A/B campaign recomputes to its printed digits, and the peers' verdicts on it come out.

#![allow(clippy::unwrap_used)]

use crate::support::real;
use collectune::tuning::ab::{
    AbQuestion, judge, read,
    script::{AbArm, CampaignPlan},
    trim,
    verdict::RuleVerdict,
};
use proptest::prelude::*;

const STATISTICS: &str = "tuning/ab/allreduce_1n.per_size_stats.csv";
const CONF: &str = "tuning/ab/allreduce_1n_candidate.conf";

/// As the publishers print: so many decimals at most, zeros at the end left out but for one.
fn printed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let short = text.trim_end_matches('0');
    if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn the_campaign_recomputes_to_its_printed_digits() {
    let text = real::text(STATISTICS);
    let comparison = read::read(&text);
    assert_eq!((comparison.problems.count, comparison.trials.len()), (0, 18), "{:?}", comparison.problems);
    for (trial, line) in comparison.trials.iter().zip(text.lines().skip(1)) {
        let (default, conf) = trial.medians().unwrap();
        let computed = [
            printed(default, 2),
            printed(conf, 2),
            printed(trial.gain_pct().unwrap(), 3),
            printed(trial.psup().unwrap(), 4),
        ];
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(computed.join(","), cells[2..6].join(","), "{line}");
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn the_peers_keep_the_first_eight_rules_and_drop_the_last_four_for_the_published_reasons() {
    let (text, conf) = (real::text(STATISTICS), real::text(CONF));
    let answer = judge(&text, STATISTICS, Some(conf.as_bytes()), &AbQuestion::default());
    assert_eq!((answer.void, answer.rules.len()), (None, 12));
    assert!(answer.rules[..8].iter().all(|rule| rule.peers == RuleVerdict::Keep));
    let reasons: Vec<&str> = answer.rules[8..].iter().map(|rule| rule.peers.reason()).collect();
    assert_eq!(
        reasons,
        [
            "best gain only -0.3%",
            "best gain only -1.0%",
            "contains a regression of -7.4% (landmine)",
            "contains a regression of -65.8% (landmine)",
        ]
    );
    let ours: Vec<&str> = answer.rules.iter().map(|rule| rule.verdict.word()).collect();
    assert_eq!(ours, [["keep"; 5].as_slice(), &["drop"; 7]].concat());
    // The campaign ran another conf: at 128 KiB a tree where this one asks for a ring. Its runs validate no such rule.
    for rule in &answer.rules[5..8] {
        let reason = rule.verdict.reason();
        assert!(
            reason.starts_with("not validated: at ") && reason.contains(" ran, where the rule asks for "),
            "{reason}"
        );
    }
    assert!(answer.rules[5].notes[0].contains("TREE/LL/32 ran, where the rule asks for RING/LL/8"));
    assert!(answer.notes.iter().any(|note| note.starts_with("Run 9 of the conf")), "{:?}", answer.notes);
    assert!(answer.notes.iter().any(|note| note.contains("always runs the default first")));
    let trimmed = answer.trimmed.unwrap();
    assert!(trim::is_untested(&trimmed));
    assert_eq!(trimmed.lines().filter(|line| line.starts_with("allreduce,")).count(), 5);
    assert_eq!(trimmed.lines().filter(|line| line.starts_with("# dropped: allreduce,")).count(), 7);
    assert_eq!(answer.by_size.rows.len(), 18);
    for rule in &answer.rules {
        println!("{:<60} {:?} {:?}", rule.rule.text, rule.verdict, rule.peers);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_read_and_judged(text in any::<String>(), conf in any::<Vec<u8>>(), name in any::<String>()) {
        let answer = judge(&text, &name, Some(&conf), &AbQuestion::default());
        prop_assert!(answer.problems.kept.iter().all(|problem| problem.line > 0));
        let _ = AbArm::of_name(&name);
    }

    #[test]
    fn any_cells_are_read_and_judged(
        rows in prop::collection::vec(("[0-9.;,eE+-]{0,40}", "[0-9]{0,20}", "[0-9.;]{0,60}", "[0-9.;]{0,60}"), 0..20),
        rules in prop::collection::vec("[a-z,0-9-]{0,60}", 0..20),
    ) {
        let mut text = "nodes,size_bytes,def_runs,cfg_runs\n".to_owned();
        for (nodes, size, default, conf) in &rows {
            text += &format!("{nodes},{size},{default},{conf}\n");
        }
        let conf = rules.iter().map(|rule| format!("allreduce,0,99999999,{rule}\n")).collect::<String>();
        let answer = judge(&text, "x", Some(conf.as_bytes()), &AbQuestion::default());
        for rule in answer.rules {
            prop_assert!((0.0..=1.0).contains(&rule.better));
        }
        // Where no line is a rule there is nothing to trim.
        let trimmed = answer.trimmed.unwrap_or_default();
        prop_assert!(trimmed.lines().all(|line| line.len() <= 254 || !line.starts_with('#')));
    }

    #[test]
    fn any_path_is_one_word_of_the_script(plugin in any::<String>(), conf in any::<String>()) {
        let campaign = CampaignPlan {
            collective: collectune::collective::Collective::AllReduce,
            scale: collectune::collective::Scale { nodes: 1, ranks: 8 },
            sizes: collectune::launch::Sizes { first: 4, last: 8 },
            repeats: 1,
            seed: 1,
            launcher: Default::default(),
            plugin,
            conf,
        };
        prop_assert_eq!(campaign.script().lines().filter(|line| line.starts_with("run all_reduce_1n_")).count(), 3);
    }
}
