//! The sections on the measurements: noise, stalls, dips, and what to measure next.

use std::collections::BTreeMap;

use crate::{
    order::CompactSort,
    report::{Exhibit, Section},
    text::Listing,
    tuning::{hotspots, plan, record, result::Recommendation, study::TuningStudy},
    units::{count, percent},
};

/// The most rows of tables that can be looked up elsewhere; further rows are only counted.
const SHOWN: usize = 30;
/// The number of launches of the plan that are shown.
const NEXT: usize = 8;

/// Cuts a table to its first rows, and returns a sentence about the others.
fn cut(listing: &mut Listing, most: usize, noun: &str) -> Option<String> {
    let rest = listing.rows.len().saturating_sub(most);
    listing.rows.truncate(most);
    (rest > 0).then(|| format!("{rest} more {noun} are not shown."))
}

/// The smallest gain that is distinguishable from noise, and the runs that stalled.
pub(super) fn noise(study: &TuningStudy, answer: &[Recommendation], names: &BTreeMap<u16, String>) -> Option<Section> {
    let mut text: Vec<String> = study.screened().notes();
    let mut visible: Vec<f64> = answer
        .iter()
        .filter_map(|r| r.noise.map(|noise| noise.visible_gain_pct))
        .filter(|gain| gain.is_finite())
        .collect();
    visible.compact_sort_by(f64::total_cmp);
    if let [low, .., high] = visible[..] {
        let middle = visible[visible.len() / 2];
        let range = [low, middle, high].map(|gain| percent(gain).trim_start_matches('+').to_owned());
        text.insert(
            0,
            format!(
                "The smallest gain that these runs show half of the time is {} in the middle of all sizes, between {} and {}.",
                range[1], range[0], range[2]
            ),
        );
    }
    let mut stalls = record::stall_listing(&study.screened().stalls, names);
    let mut tables = Vec::new();
    if !stalls.rows.is_empty() {
        text.extend(cut(&mut stalls, SHOWN, "measurements"));
        tables.push(Exhibit::new("stalls", "Measurements that stalled", stalls));
    }
    (!text.is_empty()).then(|| Section { title: "Noise".into(), text, tables, ..Section::default() })
}

/// The sizes at which busbw falls although the message grows.
pub(super) fn dips(study: &TuningStudy, answer: &[Recommendation]) -> Option<Section> {
    let found = hotspots::find(study.sweep(), answer, hotspots::HotspotRule::default());
    if found.is_empty() {
        return None;
    }
    let mut listing = hotspots::listing(&found);
    let mut text = vec![format!(
        "{} in which busbw falls by more than {} % though the message grows.",
        if found.len() == 1 {
            "There is a range of sizes".to_owned()
        } else {
            format!("There are {} ranges of sizes", found.len())
        },
        hotspots::HotspotRule::default().threshold_pct
    )];
    text.extend(cut(&mut listing, SHOWN, "ranges"));
    Some(Section {
        title: "Hotspots".into(),
        text,
        tables: vec![Exhibit::new("hotspots", "Hotspots", listing)],
        ..Section::default()
    })
}

/// The first launches of a plan.
pub(super) fn next(plan: plan::PlanAnswer) -> Option<Section> {
    let plan::PlanAnswer { mut listing, notes, .. } = plan;
    if listing.rows.is_empty() {
        return None;
    }
    let mut text = vec!["Each row is a launch of nccl-tests over its sizes, the most urgent first.".to_owned()];
    text.extend(cut(&mut listing, NEXT, "launches"));
    text.extend(notes);
    Some(Section {
        title: "What to measure next".into(),
        text,
        tables: vec![Exhibit::new("measure-next", "Launches", listing)],
        ..Section::default()
    })
}

/// Sentences on undecided workloads and missing defaults.
pub(super) fn open_questions(answer: &[Recommendation]) -> Vec<String> {
    use crate::tuning::decision::{Decision, KeepReason};
    let number = |of: fn(&Decision) -> bool| answer.iter().filter(|r| of(&r.decision)).count() as u64;
    let undecided = number(|decision| {
        matches!(
            decision,
            Decision::KeepDefault {
                reason: KeepReason::Uncertain | KeepReason::Rounded | KeepReason::Contradicted | KeepReason::OtherState
            }
        )
    });
    let blind = number(|decision| matches!(decision, Decision::NoDefault));
    let at = |n: u64| format!("At {}", count(n, "workload"));
    let mut text = Vec::new();
    if undecided > 0 {
        text.push(format!(
            "{} something promises more than the default, which may be noise or rounding: the default stays.",
            at(undecided)
        ));
    }
    if blind > 0 {
        text.push(format!(
            "{} the default was not measured: the best known is named, and no gain is claimed.",
            at(blind)
        ));
    }
    text
}
