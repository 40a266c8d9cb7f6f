//! Logs of a campaign become per-size files: a log's name tells its arm.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    read::{BALANCED, COLLECTIVE, EMPTY, RANKS},
    script::AbArm,
};
use crate::{
    collective::{Collective, Scale},
    order::CompactCollect,
    tuning::{aggregate::Target, read::Row},
};

/// Runs of one arm at one size: busbw in GB/s by file and line.
type Runs = BTreeMap<(u32, u16, u32), f64>;

/// Takes the arms' rows out of those of a sweep. The default's stay in it as well; what ran with a tuner file is no
/// run of the default, and what was asked of the library is not known of it. `names` are the files by their numbers.
///
/// A text for each collective, scale and arm that stands beside a default, with the number of one of its files.
pub fn take(rows: &mut Vec<Row>, names: &[(u32, &str)]) -> Vec<(u32, String)> {
    let arm_of: BTreeMap<u32, (AbArm, u32)> =
        names.iter().filter_map(|(id, name)| Some((*id, AbArm::and_repeat_of_name(name)?))).compact_collect();
    let mut campaigns: BTreeMap<(Collective, Scale), BTreeMap<u64, BTreeMap<AbArm, Runs>>> = BTreeMap::new();
    rows.retain(|row| {
        let Some((arm, repeat)) = arm_of.get(&u32::from(row.file)) else { return true };
        if let Some(sample) = row.in_place.or(row.out_of_place) {
            let sizes = campaigns.entry((row.workload.collective, row.workload.scale)).or_default();
            let runs = sizes.entry(row.workload.size_bytes).or_default().entry(*arm).or_default();
            runs.insert((*repeat, row.file, row.line), Target::Time.busbw_gbps(&row.workload, &sample));
        }
        *arm == AbArm::Default
    });
    let mut texts = Vec::new();
    for ((collective, scale), sizes) in campaigns {
        let has = |arm: AbArm| sizes.values().any(|arms| arms.contains_key(&arm));
        for arm in [AbArm::Conf, AbArm::Empty].into_iter().filter(|arm| has(*arm) && has(AbArm::Default)) {
            let file = sizes.values().filter_map(|arms| arms.get(&arm)?.keys().next()).map(|(_, file, _)| *file).next();
            texts.push((u32::from(file.unwrap_or_default()), text(collective, scale, arm, &sizes)));
        }
    }
    texts
}

fn text(collective: Collective, scale: Scale, arm: AbArm, sizes: &BTreeMap<u64, BTreeMap<AbArm, Runs>>) -> String {
    let mut text = format!("{COLLECTIVE}{collective}\n{RANKS}{}\n{BALANCED}\n", scale.ranks);
    if arm == AbArm::Empty {
        text += EMPTY;
        text.push('\n');
    }
    text += "nodes,size_bytes,def_runs,cfg_runs\n";
    for (size_bytes, arms) in sizes {
        let runs = |arm: AbArm| {
            let runs = arms.get(&arm).into_iter().flat_map(BTreeMap::values);
            runs.map(|busbw| format!("{busbw:.6}")).collect::<Vec<_>>().join(";")
        };
        // Writing to memory cannot fail.
        let _ = writeln!(text, "{},{size_bytes},{},{}", scale.nodes, runs(AbArm::Default), runs(arm));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Configuration, Protocol, Workload},
        tuning::{
            ab::{AbQuestion, judge},
            read::{RunKind, Sample},
        },
    };

    fn row(file: u16, busbw_gbps: f64) -> Row {
        let scale = Scale { nodes: 2, ranks: 16 };
        Row {
            file,
            line: 7,
            workload: Workload { collective: Collective::AllReduce, scale, size_bytes: 1 << 20 },
            ran: Configuration { algorithm: Algorithm::None, protocol: Protocol::None, channels: 0 },
            in_place: Some(Sample { time_us: None, busbw_gbps }),
            out_of_place: None,
            repeats: 1,
            spread_pct: None,
            kind: RunKind::Default,
            marks: Default::default(),
            asked: Default::default(),
            evidence: Default::default(),
            origin: 0,
        }
    }

    #[test]
    fn logs_of_three_arms_are_two_comparisons() {
        let names: Vec<(u32, String)> = (0..9)
            .map(|i| (i, format!("all_reduce_2n_{}_r{}.log", AbArm::ALL[i as usize % 3].word(), i / 3 + 1)))
            .chain([(9, "other_sweep.csv".to_owned())])
            .collect();
        let names: Vec<(u32, &str)> = names.iter().map(|(id, name)| (*id, name.as_str())).collect();
        let mut rows: Vec<Row> = (0..10).map(|i| row(i, 10.0 + f64::from(i % 3) + f64::from(i) / 100.0)).collect();
        let texts = take(&mut rows, &names);
        assert_eq!(rows.iter().map(|row| row.file).collect::<Vec<_>>(), [0, 3, 6, 9]);
        assert_eq!(texts.len(), 2);
        let conf = b"allreduce,0,2000000,ring,ll,8,2,16\n";
        let answer = judge(&texts[0].1, "", Some(conf), &AbQuestion::default());
        assert_eq!(answer.rules[0].verdict.word(), "keep", "{answer:?}");
        assert!(answer.notes.iter().all(|note| !note.contains("default first")), "{:?}", answer.notes);
        // The empty file has no rules to be kept or dropped.
        let empty = judge(&texts[1].1, "", Some(conf), &AbQuestion::default());
        assert_eq!((empty.trimmed, empty.rules.len(), empty.by_rule.rows.len()), (None, 0, 0));
        assert_eq!(empty.by_size.rows.len(), 1);
        // The logs say how many ranks ran: 1 MiB × 2 · 15/16 over 10.03 and 11.04 GB/s.
        let effect = answer.effects[0];
        let times = [effect.default_us, effect.conf_us].map(|time_us| time_us.map(f64::round));
        assert_eq!((effect.default_gbps, effect.conf_gbps, times), (10.03, 11.04, [Some(196.0), Some(178.0)]));
        assert!(answer.by_size.rows[0].iter().any(|cell| cell.text == "196.0 → 178.1 µs"), "{:?}", answer.by_size);
        assert!(empty.notes[0].contains("empty tuner file"));
    }

    #[test]
    fn without_a_default_there_is_nothing_to_compare() {
        let mut rows = vec![row(0, 1.0)];
        assert!(take(&mut rows, &[(0, "all_reduce_2n_conf_r1.log")]).is_empty() && rows.is_empty());
    }
}
