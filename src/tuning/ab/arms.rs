//! Logs of a campaign become per-size files: a log's name tells its arm.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    read::{BALANCED, COLLECTIVE, DIFFER, EMPTY, NOTE, RANKS, TIMED, WRONG},
    script::AbArm,
};
use crate::{
    collective::{Collective, Scale},
    order::{CompactCollect, CompactSort},
    text::excerpt,
    tuning::{
        aggregate::Target,
        origin::{Aspect, Origins},
        read::Row,
    },
    units::count,
};

/// Runs of one arm at one size: busbw in GB/s by file and line.
type Runs = BTreeMap<(u32, u16, u32), f64>;

/// The arms of a campaign of one collective and scale.
#[derive(Default)]
struct LoggedCampaign {
    sizes: BTreeMap<u64, BTreeMap<AbArm, Runs>>,
    /// The arms with their files.
    files: Vec<(AbArm, u32)>,
    /// The arms with the origins of their rows.
    origins: Vec<(AbArm, u16)>,
    /// The arms with the sizes at which wrong values came out of a run, in bytes.
    wrong: Vec<(AbArm, u64)>,
    /// Logs that were left out as copies of others, a sentence each, with their arms.
    copies: Vec<(AbArm, String)>,
}

fn add<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

impl LoggedCampaign {
    /// What two arms state differently, in words; empty where they agree, or one of them does not say it.
    fn differences(&self, arm: AbArm, origins: &Origins) -> String {
        let values = |arm: AbArm, aspect: usize| {
            let of_arm = self.origins.iter().filter(|(of, _)| *of == arm);
            let stated = of_arm.filter_map(|(_, number)| origins.get(*number).values()[aspect].as_deref());
            let mut all: Vec<&str> = stated.collect();
            all.compact_sort();
            all.dedup();
            all
        };
        let differs = |aspect: &Aspect| {
            let [default, other] = [AbArm::Default, arm].map(|arm| values(arm, *aspect as usize));
            !default.is_empty() && !other.is_empty() && default != other
        };
        Aspect::ALL.into_iter().filter(differs).map(Aspect::words).collect::<Vec<_>>().join(", ")
    }

    /// How each of two arms was timed, in words, where they were timed differently; empty where they agree, or one of
    /// them does not say it.
    fn timings(&self, arm: AbArm, origins: &Origins) -> String {
        let [default, other] = [AbArm::Default, arm].map(|arm| {
            let of_arm = self.origins.iter().filter(|(of, _)| *of == arm);
            let mut all: Vec<String> =
                of_arm.filter_map(|(_, number)| Some(origins.get(*number).timing()?.to_string())).collect();
            all.compact_sort();
            all.dedup();
            all.join(", ")
        });
        if default.is_empty() || other.is_empty() || default == other {
            return String::new();
        }
        format!("{default} of the default, {other} of the tuner file")
    }
}

/// The comparisons of the logs of campaigns.
#[derive(Default)]
pub struct TakenComparisons {
    /// A text for each collective, scale and arm that stands beside a default, with the number of one of its files.
    pub texts: Vec<(u32, String)>,
    /// The numbers of all files that are part of one.
    pub files: Vec<u32>,
    /// What became of logs of the arms with a tuner file, and of copies, a sentence each.
    pub notes: Vec<String>,
    /// Why logs of arms make no comparison, a sentence for each collective and scale.
    pub lacking: Vec<String>,
}

/// Takes out logs of arms whose launch stands in another log as well: most of its rows have the workload and both times
/// of rows there. A launch that counts twice would make chance look like evidence. Answers which are left out, each
/// with the log that has the same launch. `name` gives a file's name.
fn take_out_copies(
    rows: &mut Vec<Row>,
    arm_of: &BTreeMap<u32, (AbArm, u32)>,
    name: &impl Fn(u16) -> String,
) -> Vec<(u16, u16)> {
    /// Fewer rows of files with different names may have equal times by chance.
    const LEAST: usize = 2;
    let times = |row: &Row| {
        let times = [row.in_place?.time_us?, row.out_of_place?.time_us?].map(f64::to_bits);
        arm_of.contains_key(&u32::from(row.file)).then_some((row.workload, times))
    };
    let mut first: BTreeMap<_, u16> = BTreeMap::new();
    let mut same: BTreeMap<(u16, u16), usize> = BTreeMap::new();
    for row in rows.iter() {
        let Some(key) = times(row) else { continue };
        let file = *first.entry(key).or_insert(row.file);
        if file != row.file {
            *same.entry((row.file, file)).or_default() += 1;
        }
    }
    let mut rows_of: BTreeMap<u16, usize> = BTreeMap::new();
    rows.iter().for_each(|row| *rows_of.entry(row.file).or_default() += 1);
    let is_copy = |((file, of), found): &(&(u16, u16), &usize)| {
        let all = rows_of.get(file).copied().unwrap_or_default();
        (**found >= LEAST || name(*file) == name(*of)) && **found * 2 > all
    };
    let copies: Vec<(u16, u16)> = same.iter().filter(is_copy).map(|(pair, _)| *pair).collect();
    rows.retain(|row| copies.iter().all(|(file, _)| *file != row.file));
    copies
}

/// Takes the arms' rows out of those of a sweep. The default's stay in it as well; what ran with a tuner file is no
/// run of the default, and what was asked of the library is not known of it. `names` are the files by their numbers,
/// `origins` those of the rows.
pub fn take(rows: &mut Vec<Row>, origins: &Origins, names: &[(u32, &str)]) -> TakenComparisons {
    let arm_of: BTreeMap<u32, (AbArm, u32)> =
        names.iter().filter_map(|(id, name)| Some((*id, AbArm::and_repeat_of_name(name)?))).compact_collect();
    let mut campaigns: BTreeMap<(Collective, Scale), LoggedCampaign> = BTreeMap::new();
    let name = |file: u16| {
        let named = names.iter().find(|(id, _)| *id == u32::from(file)).map_or("", |(_, name)| *name);
        excerpt(named)
    };
    let of_file: BTreeMap<u16, (Collective, Scale)> =
        rows.iter().map(|row| (row.file, (row.workload.collective, row.workload.scale))).compact_collect();
    let mut taken = TakenComparisons::default();
    let is_ab = arm_of.values().any(|(arm, _)| *arm != AbArm::Default);
    for (file, of) in if is_ab { take_out_copies(rows, &arm_of, &name) } else { Vec::new() } {
        let note = format!("{} holds the launch of {} again: counted once", name(file), name(of));
        if let Some((key, (arm, _))) = of_file.get(&file).zip(arm_of.get(&file.into())) {
            campaigns.entry(*key).or_default().copies.push((*arm, note.clone()));
        }
        taken.files.push(file.into());
        taken.notes.push(note);
    }
    rows.retain(|row| {
        let Some((arm, repeat)) = arm_of.get(&u32::from(row.file)) else { return true };
        if let Some(sample) = row.in_place.or(row.out_of_place) {
            let campaign = campaigns.entry((row.workload.collective, row.workload.scale)).or_default();
            add(&mut campaign.files, (*arm, row.file.into()));
            add(&mut campaign.origins, (*arm, row.origin));
            if row.marks.has_wrong_values {
                add(&mut campaign.wrong, (*arm, row.workload.size_bytes));
                return *arm == AbArm::Default;
            }
            let runs = campaign.sizes.entry(row.workload.size_bytes).or_default().entry(*arm).or_default();
            runs.insert((*repeat, row.file, row.line), Target::Time.busbw_gbps(&row.workload, &sample));
        }
        *arm == AbArm::Default
    });
    for ((collective, scale), campaign) in campaigns {
        let files = |arm: AbArm| campaign.files.iter().filter(move |(of, _)| *of == arm).map(|(_, file)| *file);
        let has = |arm: AbArm| files(arm).next().is_some();
        let with_file = files(AbArm::Conf).count() + files(AbArm::Empty).count();
        if with_file > 0 {
            let logs = count(with_file as u64, "log");
            let of = format!("{collective} on {scale}: {logs} of the arms conf and empty");
            taken
                .notes
                .push(format!("{of} ran with a tuner file and say nothing of the default: only an A/B uses them"));
            if !has(AbArm::Default) {
                taken.lacking.push(format!(
                    "{of}, and no log of the arm default of this collective and scale: there is nothing to compare them \
                     with"
                ));
            }
        } else if has(AbArm::Default) {
            let logs = count(files(AbArm::Default).count() as u64, "log");
            taken.lacking.push(format!(
                "{collective} on {scale}: {logs} of the arm default, and none of an arm with a tuner file (conf, empty)"
            ));
        }
        for arm in [AbArm::Conf, AbArm::Empty].into_iter().filter(|arm| has(*arm) && has(AbArm::Default)) {
            taken.files.extend(files(AbArm::Default).chain(files(arm)));
            let first = files(arm).min().unwrap_or_default();
            taken.texts.push((first, text((collective, scale), arm, &campaign, origins)));
        }
    }
    taken
}

fn text((collective, scale): (Collective, Scale), arm: AbArm, of: &LoggedCampaign, origins: &Origins) -> String {
    let mut text = format!("{COLLECTIVE}{collective}\n{RANKS}{}\n{BALANCED}\n", scale.ranks);
    if arm == AbArm::Empty {
        text += EMPTY;
        text.push('\n');
    }
    for (_, copy) in of.copies.iter().filter(|(of, _)| [AbArm::Default, arm].contains(of)) {
        text += &format!("{NOTE}{copy}\n");
    }
    let differences = of.differences(arm, origins);
    if !differences.is_empty() {
        text += &format!("{DIFFER}{differences}\n");
    }
    let timings = of.timings(arm, origins);
    if !timings.is_empty() {
        text += &format!("{TIMED}{timings}\n");
    }
    let mut wrong: Vec<u64> = of.wrong.iter().filter(|(of, _)| *of == arm).map(|(_, size)| *size).collect();
    wrong.compact_sort();
    for size_bytes in wrong {
        text += &format!("{WRONG}{size_bytes}\n");
    }
    text += "nodes,size_bytes,def_runs,cfg_runs\n";
    for (size_bytes, arms) in &of.sizes {
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
            origin::{Origin, Timing},
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

    /// Logs of two arms in turn.
    const TWO_ARMS: [(u32, &str); 8] = [
        (0, "all_reduce_2n_default_r1.log"),
        (1, "all_reduce_2n_conf_r1.log"),
        (2, "all_reduce_2n_default_r2.log"),
        (3, "all_reduce_2n_conf_r2.log"),
        (4, "all_reduce_2n_default_r3.log"),
        (5, "all_reduce_2n_conf_r3.log"),
        (6, "all_reduce_2n_default_r4.log"),
        (7, "all_reduce_2n_conf_r4.log"),
    ];

    #[test]
    fn logs_of_three_arms_are_two_comparisons() {
        let names: Vec<(u32, String)> = (0..9)
            .map(|i| (i, format!("all_reduce_2n_{}_r{}.log", AbArm::ALL[i as usize % 3].word(), i / 3 + 1)))
            .chain([(9, "other_sweep.csv".to_owned())])
            .collect();
        let names: Vec<(u32, &str)> = names.iter().map(|(id, name)| (*id, name.as_str())).collect();
        let mut rows: Vec<Row> = (0..10).map(|i| row(i, 10.0 + f64::from(i % 3) + f64::from(i) / 100.0)).collect();
        let taken = take(&mut rows, &Origins::default(), &names);
        let texts = taken.texts;
        assert_eq!(taken.files.iter().copied().collect::<std::collections::BTreeSet<u32>>(), (0..9).collect());
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
        let taken = take(&mut rows, &Origins::default(), &[(0, "all_reduce_2n_conf_r1.log")]);
        assert!(taken.texts.is_empty() && taken.files.is_empty() && rows.is_empty());
    }

    #[test]
    fn a_tuner_file_that_gives_wrong_values_is_dropped_there() {
        let of = |file: u16, wrong_file: u16| {
            let mut row = row(file, 10.0 + f64::from(file % 2) + f64::from(file) / 100.0);
            row.marks.has_wrong_values = file == wrong_file;
            row
        };
        let conf = b"allreduce,0,2000000,ring,ll,8,2,16\n";
        let judged = |wrong_file: u16| {
            let mut rows: Vec<Row> = (0..8).map(|file| of(file, wrong_file)).collect();
            let taken = take(&mut rows, &Origins::default(), &TWO_ARMS);
            judge(&taken.texts[0].1, "", Some(conf), &AbQuestion::default()).rules.remove(0).verdict
        };
        // Of the default, the run is not used; of the tuner file, a rule that holds there is not kept.
        assert_eq!(judged(2).word(), "keep");
        let verdict = judged(3);
        assert_eq!((verdict.word(), verdict.reason()), ("drop", "wrong values came out of a run with it at 1 MiB"));
    }

    #[test]
    fn arms_that_were_timed_with_other_options_are_compared_and_that_is_told() {
        let mut origins = Origins::default();
        let mut number = |iterations: Option<u32>| {
            let mut origin = Origin::default();
            origin.timed(iterations.map(|iterations| Timing { warm_ups: 5, iterations, gpus: 1 }));
            origins.number(&origin, 100).unwrap_or_default()
        };
        let [some, many, unknown] = [Some(20), Some(100), None].map(&mut number);
        let conf = b"allreduce,0,2000000,ring,ll,8,2,16\n";
        let judged = |of_default: u16, of_conf: u16| {
            let own = |file: u16| if file.is_multiple_of(2) { of_default } else { of_conf };
            let row = |file: u16| Row { origin: own(file), ..row(file, 10.0 + f64::from(file % 2)) };
            let mut rows: Vec<Row> = (0..8).map(row).collect();
            let taken = take(&mut rows, &origins, &TWO_ARMS);
            let answer = judge(&taken.texts[0].1, "", Some(conf), &AbQuestion::default());
            (answer.rules[0].verdict.word(), answer.notes.join(" "))
        };
        let (verdict, notes) = judged(some, many);
        assert!(verdict == "keep" && notes.contains("nccl-tests -w 5 -n 20 -g 1 of the default"), "{notes}");
        assert!(notes.contains("nccl-tests -w 5 -n 100 -g 1 of the tuner file"), "{notes}");
        for (of_default, of_conf) in [(some, some), (some, unknown), (unknown, many)] {
            assert!(!judged(of_default, of_conf).1.contains("nccl-tests"));
        }
    }

    #[test]
    fn arms_of_other_nodes_or_libraries_say_nothing_about_a_tuner_file() {
        let mut origins = Origins::default();
        let mut number = |library: &str, nodes: u64| {
            let mut origin = Origin::default();
            origin.library("NCCL", library);
            origin.nodes([nodes]);
            origins.number(&origin, 100).unwrap_or_default()
        };
        let [first, other, unknown] = [number("2.28.3", 1), number("2.29.2", 2), number("", 1)];
        let conf = b"allreduce,0,2000000,ring,ll,8,2,16\n";
        let judged = |of_default: u16, of_conf: u16| {
            let of = |i: u16| if i.is_multiple_of(2) { of_default } else { of_conf };
            let mut rows: Vec<Row> = (0..6)
                .map(|i| Row { origin: of(i), ..row(i, 10.0 + f64::from(i % 2) + f64::from(i) / 100.0) })
                .collect();
            judge(&take(&mut rows, &origins, &TWO_ARMS).texts[0].1, "", Some(conf), &AbQuestion::default())
        };
        assert_eq!(judged(first, first).rules[0].verdict.word(), "keep");
        assert_eq!(judged(first, unknown).rules[0].verdict.word(), "keep");
        let apart = judged(first, other);
        assert_eq!(apart.rules[0].verdict.word(), "not judged");
        let why = apart.rules[0].verdict.reason();
        assert!(why.contains("the arms differ in more than the tuner file: the library's version, the nodes"), "{why}");
    }
}
