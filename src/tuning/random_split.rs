//! The evaluation of rccl-tune-predict: a random share of the rows is held out.
//!
//! Repeats of one configuration fall on both sides, so these figures flatter every model. They stand here because
//! the published ones are of this kind; [`super::validate`] holds out honestly.

use serde::{Deserialize, Serialize};

use super::{
    aggregate::{Point, Target},
    features::ModelInput,
    model::{BusbwModel, MAX_POINTS},
    parameters::Parameters,
    read::{Row, RunKind},
};
use crate::{
    learn::{LearnError, metrics},
    math::Stream,
    progress::Progress,
};

/// How a model does on the rows that it was fitted to and on those that were held out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RandomSplit {
    /// The share that was held out.
    pub share: f64,
    /// Seeds the order of the rows.
    pub seed: u64,
    /// On the rows that the model was fitted to.
    pub train: PartScore,
    /// On the rows that were held out.
    pub test: PartScore,
}

/// Accuracy on one part of the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartScore {
    /// How many rows the part has.
    pub rows: usize,
    /// The coefficient of determination R²; `None` where it is not defined.
    pub r2: Option<f64>,
    /// Mean absolute error in GB/s.
    pub mae_gbps: Option<f64>,
}

/// Holds out a random `share` (above 0 and below 1, rounded up to whole rows) of the rows without those of the
/// default, fits to the others and scores both. At most [`MAX_POINTS`] rows take part, thinned evenly.
///
/// # Errors
/// Fewer than two rows on the fitted side, or parameters outside their range.
pub fn random_split(
    rows: &[Row],
    target: Target,
    parameters: &Parameters,
    share: f64,
    progress: &mut dyn Progress,
) -> Result<RandomSplit, LearnError> {
    let asked: Vec<&Row> = rows.iter().filter(|row| row.kind == RunKind::Asked && row.in_place.is_some()).collect();
    let step = asked.len().div_ceil(MAX_POINTS).max(1);
    let mut points: Vec<Point> = asked.into_iter().step_by(step).filter_map(|row| point(row, target)).collect();
    Stream::new(parameters.seed).shuffle(&mut points);
    let held_out = (points.len() as f64 * share).ceil() as usize;
    let (test, train) = points.split_at(held_out.min(points.len()));
    let model = BusbwModel::fit(train, parameters, progress)?;
    let score = |part: &[Point]| -> Result<PartScore, LearnError> {
        let asks: Vec<ModelInput> = part.iter().map(|point| (point.workload, point.configuration)).collect();
        let predicted = model.predict(&asks)?;
        let pairs: Vec<(f64, f64)> =
            part.iter().zip(predicted).filter_map(|(point, p)| Some((point.busbw_gbps, p?))).collect();
        Ok(PartScore { rows: part.len(), r2: metrics::r2(&pairs), mae_gbps: metrics::mean_absolute_error(&pairs) })
    };
    Ok(RandomSplit { share, seed: parameters.seed, train: score(train)?, test: score(test)? })
}

/// A row as a point of its own, so that repeats are not brought together.
fn point(row: &Row, target: Target) -> Option<Point> {
    let busbw_gbps = target.busbw_gbps(&row.workload, &row.in_place?);
    Some(Point { repeats: row.repeats, ..Point::new(row.workload, row.ran, busbw_gbps) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
        progress::Silent,
        tuning::{
            parameters::Preset,
            read::{RowMarks, Sample},
        },
    };

    fn row(index: u32, kind: RunKind) -> Row {
        Row {
            file: 0,
            line: index,
            workload: Workload {
                collective: Collective::AllReduce,
                scale: Scale { nodes: 2, ranks: 16 },
                size_bytes: 4096 << (index % 10),
            },
            ran: Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Simple, channels: 1 + index % 7 },
            in_place: Some(Sample { time_us: None, busbw_gbps: f64::from(1 + index % 10) }),
            out_of_place: None,
            repeats: 1,
            spread_pct: None,
            kind,
            marks: RowMarks::default(),
            asked: Default::default(),
            evidence: Default::default(),
            origin: 0,
        }
    }

    #[test]
    fn default_rows_take_no_part_and_the_seed_decides() {
        let rows: Vec<Row> =
            (0..90).map(|i| row(i, if i % 9 == 0 { RunKind::Default } else { RunKind::Asked })).collect();
        let split = |seed| {
            let parameters = Parameters { preset: Preset::Seed, stages: 20, seed, ..Parameters::default() };
            random_split(&rows, Target::Printed, &parameters, 0.2, &mut Silent).expect("80 rows are enough")
        };
        assert_eq!((split(1).train.rows, split(1).test.rows), (64, 16));
        assert_eq!(split(1), split(1));
        assert_ne!(split(1).test, split(2).test);
    }

    #[test]
    fn too_few_rows_are_an_error() {
        let rows = [row(0, RunKind::Asked), row(1, RunKind::Asked)];
        let split = random_split(&rows, Target::Time, &Parameters::default(), 0.2, &mut Silent);
        assert!(matches!(split, Err(LearnError::TooFewRows { rows: 1, .. })));
    }
}
