//! Recommendations as files: CSV, Markdown and JSON, the same from the page and from the terminal.

use serde::Serialize;

use super::{
    decision::{Decision, Gain, KeepReason, MoreRuns, Noise, OutOfPlaceCheck},
    read::{Asked, Evidence},
    result::{PredictionSupport, Recommendation, Source},
};
use crate::{
    collective::Configuration,
    text::{Cell, Table},
};

/// In what a table of recommendations is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExportFormat {
    /// Comma-separated values, of which no spreadsheet takes a cell for a formula.
    #[default]
    Csv,
    /// A table in GitHub-flavoured Markdown.
    Markdown,
    /// JSON: a list of objects.
    Json,
}

impl ExportFormat {
    /// All formats.
    pub const ALL: &[Self] = &[Self::Csv, Self::Markdown, Self::Json];

    /// The name as it is shown on the page and in the terminal.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Markdown => "Markdown",
            Self::Json => "JSON",
        }
    }

    /// How a file's name ends.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Markdown => "md",
            Self::Json => "json",
        }
    }

    /// The media type of a file.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv",
            Self::Markdown => "text/markdown",
            Self::Json => "application/json",
        }
    }

    /// Writes recommendations in their order; `set` is what they were measured with, where that must be told.
    pub fn write(self, recommendations: &[Recommendation], set: Option<&str>) -> String {
        match self {
            Self::Csv => table(recommendations, set).to_csv(),
            Self::Markdown => table(recommendations, set).to_markdown(),
            Self::Json => json(recommendations, set),
        }
    }
}

/// One recommendation under the names of the sweep's columns, in GB/s and µs. What is not known is null.
#[derive(Serialize)]
struct ExportRecord<'a> {
    collective: &'static str,
    num_nodes: u32,
    num_gpus: u32,
    size_bytes: u64,
    algo: Option<&'static str>,
    proto: Option<&'static str>,
    nchannels: Option<u32>,
    predicted_busbw: Option<f64>,
    interval_90: Option<[f64; 2]>,
    measured_best: Option<f64>,
    default_busbw: Option<f64>,
    gain_pct: Option<f64>,
    support: PredictionSupport,
    source: Source,
    /// Where the default is kept, and the fields above are its own: the best that is known else.
    best_known: Option<NamedConfiguration>,
    best_known_busbw: Option<f64>,
    /// deploy, keep_default, measure_first, no_default or unknown.
    decision: &'static str,
    /// Why the default is kept.
    reason: Option<KeepReason>,
    gain: Option<Gain>,
    /// Between the sizes at which the default was measured.
    default_between_busbw: Option<f64>,
    tied: Vec<NamedConfiguration>,
    /// Channels that ran the same.
    aliases: Vec<u32>,
    noise: Option<Noise>,
    out_of_place: Option<OutOfPlaceCheck>,
    asked: Option<Asked>,
    evidence: Option<Evidence>,
    time_us: Option<f64>,
    /// By default_busbw, or else by default_between_busbw.
    default_time_us: Option<f64>,
    measured_best_time_us: Option<f64>,
    best_known_time_us: Option<f64>,
    /// To what the prediction or its interval is held, in a sentence.
    held_to: Option<&'a str>,
    /// Which of several sets of measurements it is about.
    set: Option<&'a str>,
}

/// A configuration under the names of the sweep's columns.
#[derive(Serialize)]
struct NamedConfiguration {
    algo: &'static str,
    proto: &'static str,
    nchannels: u32,
}

impl From<Configuration> for NamedConfiguration {
    fn from(c: Configuration) -> Self {
        Self { algo: c.algorithm.name(), proto: c.protocol.name(), nchannels: c.channels }
    }
}

const fn decision(decision: Decision) -> (&'static str, Option<KeepReason>) {
    match decision {
        Decision::Deploy => ("deploy", None),
        Decision::KeepDefault { reason } => ("keep_default", Some(reason)),
        Decision::MeasureFirst => ("measure_first", None),
        Decision::NoDefault => ("no_default", None),
        Decision::Unknown => ("unknown", None),
    }
}

impl<'a> ExportRecord<'a> {
    fn new(r: &'a Recommendation, set: Option<&'a str>) -> Self {
        let (decision, reason) = decision(r.decision);
        let runs = r.runs();
        let time_us = |busbw: Option<f64>| r.workload.time_us(busbw?);
        Self {
            collective: r.workload.collective.name(),
            num_nodes: r.workload.scale.nodes,
            num_gpus: r.workload.scale.ranks,
            size_bytes: r.workload.size_bytes,
            algo: runs.configuration.map(|c| c.algorithm.name()),
            proto: runs.configuration.map(|c| c.protocol.name()),
            nchannels: runs.configuration.map(|c| c.channels),
            predicted_busbw: runs.busbw_gbps,
            interval_90: runs.interval_90.map(|i| [i.low_gbps, i.high_gbps]),
            best_known: r.best_known().map(|(configuration, _)| configuration.into()),
            best_known_busbw: r.best_known().map(|(_, busbw)| busbw),
            measured_best: r.measured_best.map(|m| m.busbw_gbps),
            default_busbw: r.default.map(|m| m.busbw_gbps),
            gain_pct: r.gain_pct,
            support: r.support,
            source: r.source,
            decision,
            reason,
            gain: r.gain,
            default_between_busbw: r.default_between_gbps,
            tied: r.tied.iter().copied().map(NamedConfiguration::from).collect(),
            aliases: r.aliases.iter().map(|alias| alias.channels).collect(),
            noise: r.noise,
            out_of_place: r.out_of_place,
            asked: r.measured.map(|m| m.asked),
            evidence: r.measured.map(|m| m.evidence),
            time_us: time_us(runs.busbw_gbps),
            default_time_us: time_us(r.default.map(|m| m.busbw_gbps).or(r.default_between_gbps)),
            measured_best_time_us: time_us(r.measured_best.map(|m| m.busbw_gbps)),
            best_known_time_us: time_us(r.best_known().map(|(_, busbw)| busbw)),
            held_to: r.held_to.as_deref(),
            set,
        }
    }
}

/// The recommendations as indented JSON: a list of {collective, num_nodes, num_gpus, size_bytes, algo, proto,
/// nchannels, predicted_busbw, interval_90, measured_best, default_busbw, gain_pct, support, source}, bandwidths in
/// GB/s: of what runs once the advice is followed, with {best_known, best_known_busbw} where that is the default; and
/// of the decision {decision, reason, gain, default_between_busbw, tied, aliases, noise, out_of_place, asked,
/// evidence}; the times in microseconds that belong to the bandwidths {time_us, default_time_us, measured_best_time_us,
/// best_known_time_us}; `held_to`, a sentence, where a prediction is held to what links carry; and the `set` of
/// measurements, null where there is only one.
pub fn json(recommendations: &[Recommendation], set: Option<&str>) -> String {
    let records: Vec<ExportRecord<'_>> = recommendations.iter().map(|r| ExportRecord::new(r, set)).collect();
    crate::text::json::indented(&records) + "\n"
}

/// The recommendations as a table, with the columns of the JSON and the interval in two of them; the last one is the
/// set of measurements, where there are several.
pub fn table(recommendations: &[Recommendation], set: Option<&str>) -> Table {
    let columns = [
        "collective",
        "num_nodes",
        "num_gpus",
        "size_bytes",
        "algo",
        "proto",
        "nchannels",
        "predicted_busbw",
        "interval_90_low",
        "interval_90_high",
        "measured_best",
        "default_busbw",
        "gain_pct",
        "support",
        "source",
        "decision",
        "reason",
        "gain_low_pct",
        "gain_high_pct",
        "gain_basis",
        "best_known",
        "best_known_busbw",
        "tied",
        "aliases",
        "visible_gain_pct",
        "more_runs",
        "time_us",
        "default_time_us",
        "measured_best_time_us",
        "best_known_time_us",
        "held_to",
    ];
    let mut table = Table::new(columns.into_iter().chain(set.map(|_| "set")));
    for r in recommendations.iter().map(|r| ExportRecord::new(r, set)) {
        let text = |text: Option<&str>| text.map_or(Cell::Empty, Cell::from);
        let mut row = vec![
            r.collective.into(),
            r.num_nodes.into(),
            r.num_gpus.into(),
            r.size_bytes.into(),
            text(r.algo),
            text(r.proto),
            r.nchannels.map_or(Cell::Empty, Cell::from),
            Cell::number(r.predicted_busbw, 4),
            Cell::number(r.interval_90.map(|i| i[0]), 4),
            Cell::number(r.interval_90.map(|i| i[1]), 4),
            Cell::number(r.measured_best, 4),
            Cell::number(r.default_busbw, 4),
            Cell::number(r.gain_pct, 2),
            super::wording::support(r.support).into(),
            super::wording::source(r.source).into(),
            r.decision.into(),
            text(r.reason.map(KeepReason::short)),
            Cell::number(r.gain.map(|gain| gain.low_pct), 2),
            Cell::number(r.gain.map(|gain| gain.high_pct), 2),
            text(r.gain.map(|gain| gain.basis.name())),
            r.best_known.map_or(Cell::Empty, |c| format!("{}/{}/{}", c.algo, c.proto, c.nchannels).into()),
            Cell::number(r.best_known_busbw, 4),
            (r.tied.len() as u64).into(),
            (r.aliases.len() as u64).into(),
            Cell::number(r.noise.map(|noise| noise.visible_gain_pct), 2),
            match r.noise.map(|noise| noise.more_runs) {
                Some(MoreRuns::Runs(runs)) => runs.into(),
                Some(MoreRuns::OutOfReach) => "out of reach".into(),
                Some(MoreRuns::Decided) | None => Cell::Empty,
            },
            Cell::number(r.time_us, 2),
            Cell::number(r.default_time_us, 2),
            Cell::number(r.measured_best_time_us, 2),
            Cell::number(r.best_known_time_us, 2),
            text(r.held_to),
        ];
        row.extend(set.map(Cell::from));
        table.push(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Collective, Protocol, Scale, Workload},
        tuning::{aggregate::Point, recommend::measured, result::Interval},
    };

    fn recommendations() -> Vec<Recommendation> {
        let configuration = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll128, channels: 24 };
        let workload =
            Workload { collective: Collective::AllReduce, scale: Scale { nodes: 2, ranks: 16 }, size_bytes: 16 << 20 };
        let measured = |busbw_gbps| measured(&Point { repeats: 3, ..Point::new(workload, configuration, busbw_gbps) });
        let known = Recommendation {
            configuration: Some(configuration),
            predicted_busbw_gbps: Some(312.5),
            interval_90: Some(Interval { low_gbps: 301.25, high_gbps: 325.0 }),
            measured_best: Some(measured(315.0)),
            default: Some(measured(250.0)),
            gain_pct: Some(25.0),
            decision: Decision::Deploy,
            support: PredictionSupport::Interpolated,
            source: Source::Model,
            ..Recommendation::unknown(workload)
        };
        let unknown = Recommendation {
            configuration: None,
            predicted_busbw_gbps: None,
            interval_90: None,
            measured_best: None,
            default: None,
            gain_pct: None,
            ..known.clone()
        };
        vec![known, unknown]
    }

    #[test]
    fn json_has_the_columns_of_a_sweep() {
        let read: serde_json::Value =
            serde_json::from_str(&ExportFormat::Json.write(&recommendations(), None)).unwrap();
        let expected = serde_json::json!({
            "collective": "all_reduce", "num_nodes": 2, "num_gpus": 16, "size_bytes": 16_777_216,
            "algo": "RING", "proto": "LL128", "nchannels": 24, "predicted_busbw": 312.5,
            "interval_90": [301.25, 325.0], "measured_best": 315.0, "default_busbw": 250.0, "gain_pct": 25.0,
            "support": "interpolated", "source": "model", "best_known": null, "best_known_busbw": null,
            "decision": "deploy", "reason": null, "gain": null,
            "default_between_busbw": null, "tied": [], "aliases": [], "noise": null, "out_of_place": null, "asked": null,
            "evidence": null, "time_us": 100.663_296, "default_time_us": 125.829_12,
            "measured_best_time_us": 99.864_380_952_380_95, "best_known_time_us": null, "held_to": null, "set": null,
        });
        assert_eq!(read[0], expected);
        assert!(read[1]["algo"].is_null() && read[1]["interval_90"].is_null());
    }

    #[test]
    fn tables_have_a_row_per_recommendation() {
        let csv = ExportFormat::Csv.write(&recommendations(), None);
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(
            lines[1],
            "all_reduce,2,16,16777216,RING,LL128,24,312.5000,301.2500,325.0000,315.0000,250.0000,25.00,interpolated,model,\
             deploy,,,,,,,0,0,,,100.66,125.83,99.86,,"
        );
        assert_eq!(lines[2], "all_reduce,2,16,16777216,,,,,,,,,,interpolated,model,deploy,,,,,,,0,0,,,,,,,");
        assert_eq!(ExportFormat::Markdown.write(&recommendations(), None).lines().count(), 4);
        let set = ExportFormat::Csv.write(&recommendations(), Some("NCCL 2.29.2"));
        assert!(set.lines().next().is_some_and(|header| header.ends_with(",set")), "{set}");
        assert!(set.lines().skip(1).all(|line| line.ends_with(",NCCL 2.29.2")), "{set}");
    }
}
