//! A model travels as what it was made from: the parameters and the aggregated training rows. Opening it fits the
//! model again and compares a hash of its predictions.

use serde::{Deserialize, Serialize};

use super::{
    aggregate::{Point, Target},
    features::ModelInput,
    model::BusbwModel,
    origin::{MeasuredWith, Origin, Origins},
    parameters::Parameters,
    read::{Row, RunKind, Sample},
    runs::{Run, Runs, weighted_median},
    stalls::Screened,
    sweep::Sweep,
};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    learn::LearnError,
    math,
    order::CompactSort,
    text::json::{exact, exact_or_none},
};

/// Stands in every model file.
pub const FORMAT: &str = "collectune-model";

/// The version of the format that this program writes.
pub const VERSION: u32 = 1;

/// The contents of a model file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelFile {
    /// The name of the format, [`FORMAT`].
    pub format: String,
    /// The version of the format, at most [`VERSION`].
    pub version: u32,
    /// The program that wrote it.
    pub program: String,
    /// Says that the training rows are inside.
    pub notice: String,
    /// The parameters with which the model was fitted.
    pub parameters: Parameters,
    /// Which number of a row was the measurement.
    pub target: Target,
    /// Hash of the model's predictions on a fixed grid, 16 hexadecimal digits.
    pub hash: String,
    /// The training rows: medians over repeats.
    pub points: Vec<Point>,
    /// Runs of the library's default.
    pub defaults: Vec<Point>,
    /// The single runs of each of the points, without the files and lines that they came from.
    #[serde(default)]
    pub runs: Vec<Vec<SavedRun>>,
    /// The runs of the default, for each point of `defaults`.
    #[serde(default)]
    pub default_runs: Vec<Vec<SavedRun>>,
    /// What each collective and scale was measured with, such as library and data type.
    #[serde(default)]
    pub measured_with: Vec<(Collective, Scale, Vec<String>)>,
}

/// One run: busbw in GB/s, out-of-place busbw, the number of runs that it is the median of, their spread in per cent,
/// and
/// whether it was set aside.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedRun(
    #[serde(deserialize_with = "exact")] f64,
    #[serde(deserialize_with = "exact_or_none")] Option<f64>,
    u32,
    #[serde(deserialize_with = "exact_or_none")] Option<f64>,
    bool,
);

/// Why a model file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelFileError {
    /// Not JSON of the format.
    #[error("line {line}, column {column}: the model file can't be read: {reason}")]
    Syntax {
        /// The line of the file, from 1.
        line: usize,
        /// The column at which the parser stopped, from 1.
        column: usize,
        /// The message of the JSON parser.
        reason: String,
    },
    /// The file was written by a newer program.
    #[error(
        "the model file is of version {found}, and this program reads up to version {VERSION}; open it with a newer one"
    )]
    Version {
        /// The version of the file.
        found: u32,
    },
    /// Parameters with which a training would not end.
    #[error(
        "the model file asks for more than {} trees or stages, or trees deeper than {}",
        Parameters::MAX_TREES,
        Parameters::MAX_DEPTH
    )]
    Parameters,
    /// A training row that no measurement can be.
    #[error("training row {row} of the model file is no measurement: {workload}, {busbw} GB/s")]
    Row {
        /// Index of the row, from 0.
        row: usize,
        /// Collective, scale and size that stand there.
        workload: String,
        /// The bus bandwidth in the file, in GB/s.
        busbw: f64,
    },
}

#[derive(Deserialize)]
struct Head {
    version: u32,
}

impl ModelFile {
    /// The file of a fitted model.
    ///
    /// # Errors
    /// Returns an error if the model can't be evaluated.
    pub fn new(
        model: &BusbwModel,
        parameters: &Parameters,
        target: Target,
        sweep: &Sweep,
        runs: &Runs,
        screened: &Screened,
        measured_with: &MeasuredWith,
    ) -> Result<Self, LearnError> {
        let saved = |points: &[Point], kind| {
            let of = |point: &Point| {
                let found = runs.of(&point.workload, kind, point.configuration);
                found.map_or_else(Vec::new, |(place, first, runs)| {
                    let run = |(run, index): (&Run, usize)| {
                        let aside = !screened.keep(place, index).busbw;
                        SavedRun(run.busbw_gbps, run.out_of_place_gbps(), run.repeats, run.spread_pct(), aside)
                    };
                    runs.iter().zip(first..).map(run).collect()
                })
            };
            points.iter().map(of).collect()
        };
        Ok(Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            program: concat!("collectune ", env!("CARGO_PKG_VERSION")).to_owned(),
            notice:
                "This file contains the training rows: the runs of the measured sweep and their medians, without the \
                     names and lines of the files that they came from."
                    .to_owned(),
            parameters: parameters.clone(),
            target,
            hash: hash(model, &sweep.points)?,
            points: sweep.points.clone(),
            defaults: sweep.defaults.clone(),
            runs: saved(&sweep.points, RunKind::Asked),
            default_runs: saved(&sweep.defaults, RunKind::Default),
            measured_with: measured_with
                .iter()
                .map(|((collective, scale), words)| (*collective, *scale, words.clone()))
                .collect(),
        })
    }

    /// The text of the file: JSON.
    pub fn to_text(&self) -> String {
        crate::text::json::compact(self)
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// Not a model file, one of a newer version, or one whose rows are no measurements.
    pub fn read(text: &str) -> Result<Self, ModelFileError> {
        let syntax = |error: serde_json::Error| ModelFileError::Syntax {
            line: error.line(),
            column: error.column(),
            reason: error.to_string(),
        };
        let head: Head = serde_json::from_str(text).map_err(syntax)?;
        if head.version > VERSION {
            return Err(ModelFileError::Version { found: head.version });
        }
        let file: Self = serde_json::from_str(text).map_err(syntax)?;
        if !file.parameters.end() {
            return Err(ModelFileError::Parameters);
        }
        let rows = file.points.iter().chain(&file.defaults);
        if let Some((row, point)) = rows.enumerate().find(|(_, point)| !is_measurement(point)) {
            let Workload { collective, scale, size_bytes } = point.workload;
            let workload = format!("{collective} of {size_bytes} bytes on {scale}");
            return Err(ModelFileError::Row { row, workload, busbw: point.busbw_gbps });
        }
        Ok(file)
    }

    /// How many points have runs whose median is another: a file that was changed by hand. The points count.
    pub fn contradictions(&self) -> u64 {
        let pairs = self.points.iter().zip(&self.runs).chain(self.defaults.iter().zip(&self.default_runs));
        pairs.filter(|(point, runs)| !runs.is_empty() && !are_of(point, runs)).count() as u64
    }

    /// The training rows as rows of a sweep, so that they can be aggregated with others: the runs of each point where
    /// their median is the point, the point itself where they are missing or contradict it.
    /// `origins` gets what they were measured with.
    pub fn rows(&self, file: u16, origins: &mut Origins) -> impl Iterator<Item = Row> {
        let number = |(collective, scale, values): &(Collective, Scale, Vec<String>)| {
            let number = origins.number(&Origin::of_values(values), Origins::MAX_OF_A_FILE);
            ((*collective, *scale), number.unwrap_or(0))
        };
        let numbers: Vec<((Collective, Scale), u16)> = self.measured_with.iter().map(number).collect();
        let origin_of = move |of: &Workload| {
            let own = numbers.iter().find(|(group, _)| *group == (of.collective, of.scale));
            own.map_or(0, |(_, number)| *number)
        };
        let kinds =
            [(&self.points, &self.runs, RunKind::Asked), (&self.defaults, &self.default_runs, RunKind::Default)];
        let rows = kinds.into_iter().flat_map(|(points, runs, kind)| {
            points.iter().enumerate().flat_map(move |(index, point)| {
                let whole = SavedRun(point.busbw_gbps, point.out_of_place_gbps, point.repeats, point.spread_pct, false);
                let runs = runs.get(index).filter(|runs| are_of(point, runs)).cloned();
                runs.unwrap_or_else(|| vec![whole]).into_iter().map(move |run| (point, kind, run))
            })
        });
        rows.zip(1_u32..).map(
            move |((point, kind, SavedRun(busbw_gbps, out_of_place_gbps, repeats, spread_pct, _)), line)| Row {
                file,
                line,
                workload: point.workload,
                ran: point.configuration,
                in_place: Some(Sample { time_us: None, busbw_gbps }),
                out_of_place: out_of_place_gbps.map(|busbw_gbps| Sample { time_us: None, busbw_gbps }),
                repeats,
                spread_pct,
                kind,
                marks: point.marks,
                asked: point.asked,
                evidence: point.evidence,
                origin: origin_of(&point.workload),
            },
        )
    }
}

/// Runs that are measurements and of which a point is the median.
fn are_of(point: &Point, runs: &[SavedRun]) -> bool {
    let is_busbw = |busbw: &f64| busbw.is_finite() && *busbw > 0.0;
    let mut used: Vec<(f64, u32)> = runs.iter().filter(|run| !run.4).map(|run| (run.0, run.2)).collect();
    runs.iter().all(|run| {
        is_busbw(&run.0) && run.1.as_ref().is_none_or(is_busbw) && run.2 > 0 && run.3.is_none_or(|spread| spread >= 0.0)
    }) && weighted_median(&mut used) == Some(point.busbw_gbps)
}

fn is_measurement(point: &Point) -> bool {
    let Workload { scale, size_bytes, .. } = point.workload;
    let busbw = point.busbw_gbps;
    let is_busbw = |busbw: f64| busbw.is_finite() && busbw > 0.0;
    let out_of_place_is_busbw = point.out_of_place_gbps.is_none_or(is_busbw);
    scale.nodes > 0
        && scale.ranks > 0
        && size_bytes > 0
        && point.repeats > 0
        && is_busbw(busbw)
        && out_of_place_is_busbw
}

const GRID_CHANNELS: [u32; 7] = [1, 2, 4, 8, 16, 32, 48];

/// A hash (FNV-1a over the bits) of the predictions for every measured algorithm and protocol at sizes from 1 KiB
/// to 4 GiB and seven channel counts.
///
/// # Errors
/// Returns an error if the model can't be evaluated.
pub fn hash(model: &BusbwModel, points: &[Point]) -> Result<String, LearnError> {
    let mut pairs: Vec<ModelInput> = points
        .iter()
        .map(|p| {
            let workload = Workload { size_bytes: 0, ..p.workload };
            (workload, Configuration { channels: 0, ..p.configuration })
        })
        .collect();
    pairs.compact_sort();
    pairs.dedup();
    let mut asks = Vec::new();
    for (workload, configuration) in pairs {
        for size in (10..=32).step_by(2) {
            for channels in GRID_CHANNELS {
                let workload = Workload { size_bytes: 1 << size, ..workload };
                asks.push((workload, Configuration { channels, ..configuration }));
            }
        }
    }
    let bytes: Vec<u8> =
        model.predict(&asks)?.into_iter().flat_map(|busbw| busbw.unwrap_or(-1.0).to_bits().to_le_bytes()).collect();
    Ok(format!("{:016x}", math::hash(&bytes)))
}
