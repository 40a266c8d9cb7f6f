//! The coverage of samples: which points of the intended grids were sampled.

use serde::{Deserialize, Serialize};

use super::{
    read::{MOST_POINTS, Sampling},
    samples::{Cluster, DIVISIONS, OperatorSamples, compare},
};
use crate::order::CompactSort;

/// The share of a sampling grid that the samples of one operator or collective cover.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// The name of the operator or collective.
    pub function: String,
    /// The number of points of the intended grid.
    pub intended: usize,
    /// The number of points that no model can have, as the size of a head, the heads or the width of a rank would not
    /// be whole.
    pub impossible: usize,
    /// The number of possible points that are sampled.
    pub sampled: usize,
    /// The number of distinct sampled points outside the grid.
    pub beside: usize,
    /// By input and intended value: how many possible points there are, and how many of them are sampled.
    pub values: Vec<ValueCoverage>,
    /// The first points that are missing.
    #[serde(skip)]
    pub missing: Vec<Vec<f64>>,
}

/// The coverage of the points that have one value of one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueCoverage {
    /// The name of the input.
    pub input: String,
    /// The value of the input.
    pub value: f64,
    /// The number of possible points with this value.
    pub possible: usize,
    /// The number of those points that are sampled.
    pub sampled: usize,
}

/// The coverage of a cluster by each sampling; `None` for what the cluster has no samples of.
pub fn coverage(cluster: &Cluster, sampling: &Sampling) -> Option<Coverage> {
    if let Some(samples) = cluster.operator(&sampling.function) {
        let order: Option<Vec<usize>> = sampling.inputs[..sampling.axes.len()]
            .iter()
            .map(|input| samples.inputs.iter().position(|known| known.eq_ignore_ascii_case(input)))
            .collect();
        let order = order.filter(|order| order.len() == samples.inputs.len())?;
        return Some(of_points(sampling, points(samples, &order)));
    }
    let samples = cluster.collective(&sampling.function)?;
    // Of a collective only the shape has an axis; a point is there if any communicator has it.
    (sampling.axes.len() == 1)
        .then(|| of_points(sampling, samples.rows.iter().map(|row| vec![row.elements as f64]).collect()))
}

fn points(samples: &OperatorSamples, order: &[usize]) -> Vec<Vec<f64>> {
    (0..samples.len()).map(|row| order.iter().map(|at| samples.row(row)[*at]).collect()).collect()
}

fn of_points(sampling: &Sampling, mut sampled: Vec<Vec<f64>>) -> Coverage {
    /// The most missing points that are listed.
    const NAMED: usize = 100;
    sampled.compact_sort_by(|a, b| compare(a, b));
    sampled.dedup();
    let at = |name: &str| {
        let inputs = sampling.inputs.iter().take(sampling.axes.len());
        inputs.clone().position(|input| input == name)
    };
    let divisions: Vec<(usize, usize)> = DIVISIONS.iter().filter_map(|[a, b]| at(a).zip(at(b))).collect();
    let mut coverage = Coverage { function: sampling.function.clone(), ..Coverage::default() };
    let axes: Vec<Vec<f64>> = sampling.axes.iter().map(super::read::Axis::values).collect();
    let mut counts: Vec<Vec<(usize, usize)>> = axes.iter().map(|values| vec![(0, 0); values.len()]).collect();
    let mut met = 0;
    sampling.each(|point| {
        coverage.intended += 1;
        let is_there = sampled.binary_search_by(|known| compare(known, point)).is_ok();
        met += usize::from(is_there);
        if divisions.iter().any(|(whole, part)| point[*whole] % point[*part] != 0.0) {
            coverage.impossible += 1;
            return;
        }
        coverage.sampled += usize::from(is_there);
        if !is_there && coverage.missing.len() < NAMED {
            coverage.missing.push(point.to_vec());
        }
        for ((axis, counts), value) in axes.iter().zip(&mut counts).zip(point) {
            let place = axis.partition_point(|known| known < value);
            if let Some((possible, there)) = counts.get_mut(place) {
                *possible += 1;
                *there += usize::from(is_there);
            }
        }
    });
    if sampling.points() > MOST_POINTS {
        coverage.intended = sampling.points();
    }
    coverage.beside = sampled.len() - met;
    for ((input, values), counts) in sampling.inputs.iter().zip(&axes).zip(&counts) {
        // A map of thousands of sizes tells nothing.
        if values.len() > NAMED {
            continue;
        }
        coverage.values.extend(values.iter().zip(counts).map(|(value, (possible, sampled))| ValueCoverage {
            input: input.clone(),
            value: *value,
            possible: *possible,
            sampled: *sampled,
        }));
    }
    coverage
}
