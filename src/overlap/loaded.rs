//! Joins dropped files, independent of their order: each run becomes a dataset.

use std::hash::{Hash, Hasher};

use fnv::FnvHasher;

use super::{
    kernel::Dataset,
    merge::{self, Merged},
    read::{KernelTable, Kind},
    trace::{self, Launch},
};
use crate::collective::is_communication;

/// What a dropped file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelFile {
    /// A table, with the kind of its columns.
    Table(Kind, KernelTable),
    /// The kernel launches of one run, in the order of the file.
    Trace(Vec<Launch>),
    /// The scaler that standardises the features of a model.
    Scaler(Box<super::imported::Scaler>),
    /// A model that XGBoost saved as JSON.
    Model(Box<super::imported::Imported>),
}

/// The contents of a file with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedKernelFile {
    /// The name of the file, as it was dropped.
    pub name: String,
    /// What was read of the file.
    pub part: KernelFile,
}

/// The contents of all files together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The runs, each named after its files.
    pub datasets: Vec<Dataset>,
    /// The models of XGBoost that were dropped.
    pub models: Vec<super::imported::Imported>,
    /// The scalers that were dropped: a model takes the first that has its features.
    pub scalers: Vec<super::imported::Scaler>,
    /// How statistics and metrics were joined, by dataset.
    pub merged: Vec<(String, Merged)>,
    /// Pairs of files with the same contents.
    pub duplicates: Vec<(String, String)>,
    /// What the report says about the files, a sentence each.
    pub notes: Vec<String>,
}

/// Brings parts together: merged features are a dataset each; statistics take the metrics of which the most rows belong
/// to them; a trace with communication takes the durations of one without.
pub fn bring_together(parts: Vec<NamedKernelFile>) -> Loaded {
    let mut loaded = Loaded::default();
    let mut statistics: Vec<(String, KernelTable)> = Vec::new();
    let mut metrics: Vec<(String, KernelTable)> = Vec::new();
    let mut traces: Vec<(String, Vec<Launch>)> = Vec::new();
    let mut seen: Vec<(u64, String)> = Vec::new();
    for NamedKernelFile { name, part } in parts {
        let hash = match &part {
            KernelFile::Table(_, reading) => Some(content(reading)),
            KernelFile::Trace(launches) => Some(content_of_trace(launches)),
            KernelFile::Model(_) | KernelFile::Scaler(_) => None,
        };
        if let Some(hash) = hash {
            if let Some((_, earlier)) = seen.iter().find(|(other, _)| *other == hash) {
                loaded.duplicates.push((earlier.clone(), name));
                continue;
            }
            seen.push((hash, name.clone()));
        }
        if let KernelFile::Table(_, reading) = &part {
            loaded.notes.extend(reading.notes.iter().map(|note| format!("{name}: {note}")));
        }
        match part {
            KernelFile::Table(Kind::Merged, reading) => {
                let pairs = reading.statistics.iter().zip(&reading.metrics);
                let kernels = pairs.map(|(statistic, metric)| merge::kernel(statistic, &metric.values)).collect();
                let KernelTable { columns, contradictions, .. } = reading;
                loaded.datasets.push(Dataset { name, columns, kernels, contradictions });
            }
            KernelFile::Table(Kind::Statistics, reading) => statistics.push((name, reading)),
            KernelFile::Table(_, reading) => metrics.push((name, reading)),
            KernelFile::Trace(launches) => traces.push((name, launches)),
            KernelFile::Model(model) => loaded.models.push(*model),
            KernelFile::Scaler(scaler) => loaded.scalers.push(*scaler),
        }
    }
    time_traces(traces, &mut statistics, &mut loaded.notes);
    let mut used = vec![false; metrics.len()];
    for (name, reading) in statistics {
        let merges = metrics.iter().enumerate().map(|(index, (with, metrics))| {
            (index, merge::merge(format!("{name} + {with}"), &reading.statistics, &metrics.columns, &metrics.metrics))
        });
        // The first of those with the most matches.
        let best = merges.reduce(|best, next| if next.1.1.matched > best.1.1.matched { next } else { best });
        match best.filter(|(_, (_, merged))| merged.matched > 0) {
            Some((index, (dataset, merged))) => {
                used[index] = true;
                loaded.merged.push((dataset.name.clone(), merged));
                loaded.datasets.push(Dataset { contradictions: reading.contradictions, ..dataset });
            }
            None => {
                loaded.notes.push(format!(
                    "{name} has no metrics beside it: what is learnt knows names, durations and overlap alone"
                ));
                let kernels = reading.statistics.iter().map(|statistic| merge::kernel(statistic, &[])).collect();
                let contradictions = reading.contradictions;
                loaded.datasets.push(Dataset { name, columns: Vec::new(), kernels, contradictions });
            }
        }
    }
    for ((name, _), _) in metrics.iter().zip(used).filter(|(_, used)| !used) {
        loaded.notes.push(format!(
            "{name} has metrics without durations: give the slowdown statistics, or a GPU trace of the distributed run, beside it"
        ));
    }
    for (earlier, later) in &loaded.duplicates {
        loaded.notes.push(format!(
            "{earlier} and {later} have the same content: it counts once; errors of a model on the rows that it was \
             trained on say nothing about new kernels"
        ));
    }
    loaded
}

/// Statistics of the traces: each with communication, timed by the first one without, if there is one.
fn time_traces(
    traces: Vec<(String, Vec<Launch>)>,
    statistics: &mut Vec<(String, KernelTable)>,
    notes: &mut Vec<String>,
) {
    let communicates = |launches: &[Launch]| launches.iter().any(|launch| is_communication(&launch.name));
    let (distributed, alone): (Vec<_>, Vec<_>) = traces.into_iter().partition(|(_, launches)| communicates(launches));
    let by = alone.first();
    for (name, _) in alone.iter().skip(1) {
        let first = by.map_or("", |(first, _)| first);
        notes.push(format!("{name} is a second trace without collectives: durations alone are those of {first}"));
    }
    if distributed.is_empty()
        && let Some((name, _)) = by
    {
        notes.push(format!("{name} has no kernel of a collective: give the trace of a distributed run beside it"));
    }
    for (name, launches) in distributed {
        let timing = trace::statistics(&launches, by.map(|(_, launches)| launches.as_slice()));
        let how = by.map_or_else(
            || "the median of its launches that overlap nothing".to_owned(),
            |(alone, _)| format!("the same launch in {alone}"),
        );
        notes.push(format!(
            "{name}: {} kernels beside {} of collectives; a kernel alone takes as long as {how}",
            timing.statistics.len(),
            timing.communication
        ));
        if timing.unknown > 0 {
            notes.push(format!("{name}: {} kernels have no duration alone and were left out", timing.unknown));
        }
        statistics.push((name, KernelTable { statistics: timing.statistics, ..KernelTable::default() }));
    }
}

fn content_of_trace(launches: &[Launch]) -> u64 {
    let mut hasher = FnvHasher::default();
    for Launch { name, device, start_ns, duration_ns, .. } in launches {
        (name, device, start_ns.to_bits(), duration_ns.to_bits()).hash(&mut hasher);
    }
    hasher.finish()
}

/// Tells contents apart, by names and the bits of numbers.
fn content(reading: &KernelTable) -> u64 {
    let mut hasher = FnvHasher::default();
    for statistic in &reading.statistics {
        let timed = [statistic.timed.alone_ns, statistic.timed.duration_ns, statistic.timed.overlap_ratio];
        (&statistic.name, timed.map(f64::to_bits)).hash(&mut hasher);
    }
    for metric in &reading.metrics {
        (&metric.name, metric.values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>()).hash(&mut hasher);
    }
    hasher.finish()
}
