//! The runs behind an answer: for each configuration what was requested, what ran, and the files and lines of its runs;
//! and the runs that stalled.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    decision::Noise,
    read::{Asked, Evidence, Placement, RowMarks, RunKind},
    recommend::Recommender,
    runs::{PointRuns, Run, weighted_median},
    stalls::Stall,
};
use crate::{
    collective::{Configuration, Workload},
    text::{Column, Entry, Listing},
    units::percent,
};

/// The settings of a look-up of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordQuestion {
    /// The runs and the stalls of this workload; `None`: the stalls of all.
    pub workload: Option<Workload>,
}

/// The runs behind the points of a workload, and the stalled runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordAnswer {
    /// The measured configurations of the workload, the default last.
    pub measured: Vec<RecordedConfiguration>,
    /// The measured configurations as a table.
    pub listing: Listing,
    /// The stalled runs, by workload.
    pub stalls: Vec<Stall>,
    /// The stalled runs as a table.
    pub stall_listing: Listing,
    /// The noise of the workload, and the smallest gain that it lets one see.
    pub noise: Option<Noise>,
}

/// The runs of one configuration, or of the default, at one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedConfiguration {
    /// The configuration that ran most often.
    pub configuration: Configuration,
    /// These are runs of the library's default.
    pub is_default: bool,
    /// Median of the runs that are used, in GB/s; `None` where all are set aside.
    pub busbw_gbps: Option<f64>,
    /// How many runs that is the median of.
    pub repeats: u32,
    /// (max − min) / median of them in per cent.
    pub spread_pct: Option<f64>,
    /// The median of the out-of-place measurements of these runs, in GB/s.
    pub out_of_place_gbps: Option<f64>,
    /// Whether noise hides any difference from the best one.
    pub is_tied: bool,
    /// The configuration with fewer channels that ran the same at this size.
    pub alias_of: Option<Configuration>,
    /// Whether it was set aside by hand.
    pub is_set_aside: bool,
    /// The settings that were asked of the library most often.
    pub asked: Asked,
    /// The source from which it is known what ran.
    pub evidence: Evidence,
    /// Warnings that the rows' other columns give.
    pub marks: RowMarks,
    /// All runs, in the order of files and lines.
    pub runs: Vec<RecordedRun>,
}

/// One run, or several of which it is the median.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedRun {
    /// The name of the file.
    pub file: String,
    /// Line in it, from 1.
    pub line: u32,
    /// The bus bandwidth in GB/s.
    pub busbw_gbps: f64,
    /// The out-of-place bus bandwidth of the run, in GB/s; `None` where it was not measured.
    pub out_of_place_gbps: Option<f64>,
    /// How many runs it is the median of.
    pub repeats: u32,
    /// Whether the run is used.
    pub is_used: bool,
}

/// Looks up what a question asks for; `names` are those of the files.
pub fn answer(recommender: &Recommender<'_>, question: &RecordQuestion, names: &BTreeMap<u16, String>) -> RecordAnswer {
    let judge = &recommender.judge;
    let asked_for = |stall: &&Stall| question.workload.is_none_or(|workload| stall.workload == workload);
    let stalls: Vec<Stall> = judge.screened.stalls.iter().filter(asked_for).copied().collect();
    let stall_listing = stall_listing(&stalls, names);
    let Some(workload) = question.workload else {
        return RecordAnswer { stalls, stall_listing, ..RecordAnswer::default() };
    };
    let (points, judged) = recommender.judged(&workload);
    let same_as = |configuration: Configuration| {
        let same_as = judged.as_ref()?.same_as.iter();
        let found = points.iter().zip(same_as).find(|(point, _)| point.configuration == configuration);
        found.map(|(_, same)| *same).filter(|same| *same != configuration)
    };
    let is_tied =
        |configuration: &Configuration| judged.as_ref().is_some_and(|judged| judged.tied.contains(configuration));
    let measured = judge.runs.at(&workload).map(|(place, first, runs)| {
        let mut measured = measured(recommender, place, first, runs, names);
        if !measured.is_default {
            measured.alias_of = same_as(place.configuration);
            measured.is_tied = is_tied(&measured.alias_of.unwrap_or(place.configuration));
        }
        measured
    });
    let measured: Vec<RecordedConfiguration> = measured.collect();
    let listing = listing(&measured);
    RecordAnswer { measured, listing, stalls, stall_listing, noise: judged.and_then(|judged| judged.noise) }
}

fn measured(
    recommender: &Recommender<'_>,
    place: &PointRuns,
    first: usize,
    runs: &[Run],
    names: &BTreeMap<u16, String>,
) -> RecordedConfiguration {
    let screened = recommender.judge.screened;
    let is_default = place.kind == RunKind::Default;
    let sweep = recommender.sweep;
    let point = if is_default {
        sweep.default_at(&place.workload)
    } else {
        sweep.points_at(&place.workload).iter().find(|point| point.configuration == place.configuration)
    };
    let mut out_of_place: Vec<(f64, u32)> =
        runs.iter().filter_map(|run| run.out_of_place_gbps().map(|out_of_place| (out_of_place, run.repeats))).collect();
    let one = |(run, index): (&Run, usize)| RecordedRun {
        file: names.get(&run.file).cloned().unwrap_or_default(),
        line: run.line,
        busbw_gbps: run.busbw_gbps,
        out_of_place_gbps: run.out_of_place_gbps(),
        repeats: run.repeats,
        is_used: screened.keep(place, index).busbw,
    };
    RecordedConfiguration {
        configuration: place.configuration,
        is_default,
        busbw_gbps: point.map(|point| point.busbw_gbps),
        repeats: point.map_or(0, |point| point.repeats),
        spread_pct: point.and_then(|point| point.spread_pct),
        out_of_place_gbps: point.map_or_else(|| weighted_median(&mut out_of_place), |point| point.out_of_place_gbps),
        is_tied: false,
        alias_of: None,
        is_set_aside: point.is_none(),
        asked: point.map_or_else(|| runs.first().map(|run| run.asked).unwrap_or_default(), |point| point.asked),
        evidence: runs.iter().map(|run| run.evidence).max().unwrap_or_default(),
        marks: runs.iter().fold(RowMarks::default(), |marks, run| marks.union(run.marks)),
        runs: runs.iter().zip(first..).map(one).collect(),
    }
}

const COLUMNS: [Column; 11] = [
    Column::words("Configuration", "algorithm, protocol and channels that ran, or were planned to"),
    Column::words("Standing", "tied with the best, an alias of one with fewer channels, the default, set aside"),
    Column::numbers("busbw", "median of the runs that are used, in place, GB/s"),
    Column::numbers("Runs", "how many runs that is the median of"),
    Column::numbers("Spread", "(max − min) / median of those runs, in per cent"),
    Column::numbers("Out of place", "median of the out-of-place runs, GB/s"),
    Column::numbers("Difference", "out-of-place busbw over in-place busbw, minus one, in per cent").secondary(),
    Column::numbers("Stalled", "runs that are not used"),
    Column::words("Asked", "what was asked of the library").secondary(),
    Column::words("Known from", "how it is known what ran").secondary(),
    Column::words("Lines", "where the runs stand").secondary(),
];

fn listing(measured: &[RecordedConfiguration]) -> Listing {
    let row = |m: &RecordedConfiguration| {
        let out_of_place =
            m.out_of_place_gbps.zip(m.busbw_gbps).map(|(out_of_place, busbw)| (out_of_place / busbw - 1.0) * 100.0);
        let unused = m.runs.iter().filter(|run| !run.is_used).count();
        vec![
            Entry::text(m.configuration.to_string()),
            Entry::text(standing(m)),
            Entry::number(m.busbw_gbps, gbps),
            Entry::number(Some(f64::from(m.repeats)), |runs| format!("{runs}")),
            Entry::number(m.spread_pct, |spread| format!("{spread:.1} %")),
            Entry::number(m.out_of_place_gbps, gbps),
            Entry::number(out_of_place, percent),
            Entry::number(Some(unused as f64).filter(|unused| *unused > 0.0), |unused| format!("{unused}")),
            Entry::text(if m.is_default { "nothing".to_owned() } else { asked(&m.asked) }),
            Entry::text(evidence(m.evidence, m.marks)),
            Entry::text(lines(&m.runs)),
        ]
    };
    Listing { columns: COLUMNS.to_vec(), rows: measured.iter().map(row).collect() }
}

fn standing(measured: &RecordedConfiguration) -> String {
    match measured {
        RecordedConfiguration { is_set_aside: true, .. } => "set aside".to_owned(),
        RecordedConfiguration { is_default: true, .. } => "default".to_owned(),
        RecordedConfiguration { alias_of: Some(same), is_tied, .. } => {
            format!("{}the same as {same}", if *is_tied { "tied, " } else { "" })
        }
        RecordedConfiguration { is_tied: true, .. } => "tied".to_owned(),
        _ => String::new(),
    }
}

/// The settings that were asked of the library, as `RING/LL/8`, with a dash for what was not asked.
pub fn asked(asked: &Asked) -> String {
    if *asked == Asked::default() {
        return String::new();
    }
    let algorithm = asked.algorithm.map_or("–", |algorithm| algorithm.name());
    let protocol = asked.protocol.map_or("–", |protocol| protocol.name());
    let channels = asked.channels.map_or_else(|| "–".to_owned(), |channels| channels.to_string());
    format!("{algorithm}/{protocol}/{channels}")
}

fn evidence(evidence: Evidence, marks: RowMarks) -> String {
    let mut words = match evidence {
        Evidence::Executed => "executed: the library's debug lines",
        Evidence::Planned => "the table; channels are planned",
        Evidence::Asked => "what was asked",
        Evidence::FileName => "the file's name",
        Evidence::Given => "you",
    }
    .to_owned();
    if marks.substituted {
        words += "; not what was asked";
    }
    words
}

/// `a.csv 2, 56, 110; b.csv 7`, shortened where there are many.
fn lines(runs: &[RecordedRun]) -> String {
    const MAX: usize = 12;
    let mut text = String::new();
    for same in runs.get(..runs.len().min(MAX)).unwrap_or_default().chunk_by(|a, b| a.file == b.file) {
        if !text.is_empty() {
            text += "; ";
        }
        text += &same[0].file;
        for (index, run) in same.iter().enumerate() {
            text += if index == 0 { " " } else { ", " };
            text += &run.line.to_string();
        }
    }
    if runs.len() > MAX {
        text += &format!(" and {} more", runs.len() - MAX);
    }
    text
}

const STALL_COLUMNS: [Column; 11] = [
    Column::words("Collective", "collective"),
    Column::words("Scale", "nodes and ranks"),
    Column::numbers("Size", "message size"),
    Column::words("Configuration", "what ran"),
    Column::words("Which", "in place or out of place").secondary(),
    Column::numbers("Repeat", "which of its runs").secondary(),
    Column::numbers("busbw", "of the run, GB/s"),
    Column::numbers("Expected", "median of its siblings, or what its other placement lets expect, GB/s"),
    Column::numbers("Slower", "how many times slower than expected"),
    Column::words("Used", "whether it is used all the same"),
    Column::words("Line", "file and line"),
];

/// Runs that stalled, as a table.
pub fn stall_listing(stalls: &[Stall], names: &BTreeMap<u16, String>) -> Listing {
    let row = |stall: &Stall| {
        let Workload { collective, scale, size_bytes } = stall.workload;
        let default = if stall.is_default { "default, " } else { "" };
        let which = match stall.placement {
            Placement::InPlace => "in place",
            Placement::OutOfPlace => "out of place",
        };
        let used = match (stall.set_aside, stall.of) {
            (true, _) => "set aside",
            (false, 1) => "used: it is the only run",
            (false, _) => "used",
        };
        let file = names.get(&stall.file).map(String::as_str).unwrap_or_default();
        vec![
            Entry::text(collective.to_string()),
            Entry::text(scale.to_string()),
            Entry::size(size_bytes),
            Entry::text(format!("{default}{}", stall.configuration)),
            Entry::text(which),
            Entry { text: format!("{} of {}", stall.repeat, stall.of), number: Some(f64::from(stall.repeat)) },
            Entry::number(Some(stall.busbw_gbps), gbps),
            Entry::number(Some(stall.expected_gbps), gbps),
            Entry::number(Some(stall.times_slower()), |times| format!("{times:.1} ×")),
            Entry::text(used),
            Entry { text: format!("{file} {}", stall.line), number: None },
        ]
    };
    Listing { columns: STALL_COLUMNS.to_vec(), rows: stalls.iter().map(row).collect() }
}

fn gbps(value: f64) -> String {
    format!("{value:.3}")
}
