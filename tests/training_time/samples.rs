//! What is taken in of real samples: `cargo test --test training_time samples`

#![allow(clippy::unwrap_used)]

use crate::support::real;
use collectune::training_time::{
    bundle::{Bundle, FileUse},
    health::{FlagTarget, Rule, health},
    samples::{Communicator, SettingTarget},
};

fn rows(bundle: &Bundle, cluster: usize, collective: &str) -> usize {
    bundle.clusters[cluster].collective(collective).unwrap().rows.len()
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn both_clusters_are_read_as_a_whole() {
    let bundle = real::clusters();
    let names: Vec<(&str, &str)> = bundle.clusters.iter().map(|c| (c.name.as_str(), c.gpu.as_str())).collect();
    assert_eq!(names, [("Perlmutter", "NVIDIAA100-SXM4-80GB"), ("Vista", "NVIDIAGH200120GB")]);
    let all: usize = bundle.files.iter().map(|file| file.rows).sum();
    println!("{} files, {all} rows, {} notes", bundle.files.len(), bundle.notes.len());
    assert_eq!(bundle.questions, []);
    for file in &bundle.files {
        assert_eq!(file.problems.count, 0, "{file:?}");
        let is_old = file.path.ends_with("_optimizer_fp16.csv") && !file.path.contains("Stage");
        assert_eq!(matches!(file.fate, FileUse::KnownUnused(_)), is_old, "{file:?}");
    }
    // The fallback files are the union of the others.
    assert_eq!(rows(&bundle, 0, "allgather_large"), 6402);
    assert_eq!(rows(&bundle, 0, "allreduce"), 8645);
    assert_eq!(rows(&bundle, 0, "allreduce_large"), 9648);
    assert_eq!(rows(&bundle, 0, "p2p"), 2017 + 1995);
    let perlmutter = &bundle.clusters[0];
    let linear2 = perlmutter.operator("linear2").unwrap();
    assert_eq!((linear2.len(), &linear2.inputs[..]), (351, &["mp", "b", "l", "dim"].map(str::to_owned)[..]));
    assert_eq!(perlmutter.operators.len(), 21);
    let settings = |cluster: usize, collectives: bool| {
        let of = |setting: &&collectune::training_time::samples::Setting| {
            matches!(setting.of, SettingTarget::Communicator(_)) == collectives
        };
        bundle.clusters[cluster].settings.iter().filter(of).count()
    };
    assert_eq!([settings(0, false), settings(0, true), settings(1, false), settings(1, true)], [39, 24, 39, 10]);
}

/// The flags that the general rules raise on the shared samples, with their exact counts.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn flags_of_the_reference() {
    let bundle = real::clusters();
    let over = |nodes, per_node| Communicator { nodes, per_node };
    let operator = |name: &str| FlagTarget::Operator(name.to_owned());
    let gather = |nodes| FlagTarget::Collective("allgather_large".to_owned(), over(nodes, 1));
    let large = |name: &str| FlagTarget::Collective(name.to_owned(), over(1, 4));
    let both: Vec<_> = bundle.clusters.iter().map(|cluster| health(cluster, &bundle.catalogue)).collect();
    for flag in both.iter().flat_map(|health| &health.flags) {
        println!("{} {} {:?} {} of {}: {}", flag.cluster, flag.target, flag.rule, flag.count, flag.of, flag.what);
    }
    let count = |cluster: usize, target: &FlagTarget, rule: Rule| {
        let flags = both[cluster].flags.iter().filter(|flag| flag.target == *target && flag.rule == rule);
        flags.map(|flag| (flag.count, flag.of)).next().unwrap_or_default()
    };
    assert_eq!(count(1, &operator("flash_atten"), Rule::BackwardFaster), (3936, 4068));
    assert_eq!(count(1, &operator("firstStage_optimizer"), Rule::FarAbove), (48, 585));
    assert_eq!(count(1, &gather(4), Rule::AboveLink), (79, 195));
    assert_eq!(count(1, &gather(8), Rule::AboveLink), (179, 195));
    assert_eq!(count(1, &gather(2), Rule::AboveLink), (0, 0));
    assert_eq!(count(0, &large("allgather_large"), Rule::SlowBeside), (349, 1777));
    assert_eq!(count(0, &large("allgather_large"), Rule::FastBeside), (409, 1777));
    assert_eq!(count(0, &large("allreduce_large"), Rule::SlowBeside), (214, 1777));
    assert_eq!(count(0, &large("allreduce_large"), Rule::FastBeside), (0, 0));
    assert_eq!(count(0, &operator("flash_atten"), Rule::Repeated), (85, 4071));
    for (name, only) in [
        ("linear2", "only mp 1 "),
        ("middleStage_optimizer", "only mp 1, 2 "),
        ("lastStage_optimizer", "only mp 1, 2 "),
    ] {
        let flag = both[0].flags.iter().find(|flag| flag.target == operator(name) && flag.rule == Rule::FewValues);
        assert!(flag.unwrap().what.starts_with(only), "{flag:?}");
    }
    // All 48 are of one tensor degree, and slower than a tenth of a second.
    let first = both[1]
        .flags
        .iter()
        .find(|flag| flag.rule == Rule::FarAbove && flag.target == operator("firstStage_optimizer"));
    let samples = bundle.clusters[1].operator("firstStage_optimizer").unwrap();
    let flagged = &first.unwrap().rows;
    assert!(flagged.iter().all(|row| samples.row(*row)[0] == 1.0 && samples.forward_us[*row] > 100_000.0));
    let slow = samples.forward_us.iter().filter(|time| **time > 100_000.0).count();
    assert_eq!(slow, flagged.len());
}
