//! Finds the operator that a file samples.

use super::{
    super::{
        catalogue::{Catalogue, Gpu, Operator},
        samples::{OperatorSamples, VOCABULARY},
        scope::Scope,
    },
    Candidate,
};
use crate::{math::ln, order::CompactSort, units::significant};

/// Whether samples have the inputs of an operator, in any order.
pub(super) fn has_inputs(samples: &OperatorSamples, operator: &Operator) -> bool {
    samples.inputs.len() == operator.inputs.len() && operator.inputs.iter().all(|input| samples.inputs.contains(input))
}

/// The operators that have these columns, the likeliest first: those whose work explains the times with the least
/// spread. One that would have computed faster than the GPU can is ruled out, and last.
pub(super) fn candidates(samples: &OperatorSamples, catalogue: &Catalogue, gpu: Option<&Gpu>) -> Vec<Candidate> {
    let operators = catalogue.operators.iter().filter(|operator| has_inputs(samples, operator));
    let mut candidates: Vec<Candidate> = operators.map(|operator| candidate(samples, operator, gpu)).collect();
    candidates.compact_sort_by(|a, b| {
        let ruled_out = a.ruled_out.is_some().cmp(&b.ruled_out.is_some());
        ruled_out.then(a.spread.total_cmp(&b.spread))
    });
    candidates
}

fn candidate(samples: &OperatorSamples, operator: &Operator, gpu: Option<&Gpu>) -> Candidate {
    /// The number of rows that suffice to identify an operator.
    const ROWS: usize = 2000;
    let step = samples.len().div_ceil(ROWS).max(1);
    // Where nothing is known of an operator's work or of the GPU, the work is measured in bytes or in nothing.
    let mut logs: Vec<f64> = Vec::new();
    let mut fastest = 0.0_f64;
    let mut scope = Scope::default();
    scope.set("vocabulary", VOCABULARY);
    for row in (0..samples.len()).step_by(step) {
        for (name, value) in samples.inputs.iter().zip(samples.row(row)) {
            scope.set(name, *value);
        }
        let time_us = samples.forward_us[row];
        let flop = operator.flop(&scope).ok().flatten();
        let bytes = operator.bytes(&scope).ok().flatten();
        fastest = fastest.max(flop.unwrap_or_default() / time_us * 1e6);
        let floor = gpu.map(|gpu| gpu.floor_us(&samples.precision, flop.unwrap_or(0.0), bytes.unwrap_or(0.0)));
        let work = floor.filter(|floor| *floor > 0.0).or(flop).or(bytes).unwrap_or(1.0);
        logs.push(ln(time_us / work));
    }
    let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
    let variance = logs.iter().map(|log| (log - mean) * (log - mean)).sum::<f64>() / logs.len().max(1) as f64;
    let peak = gpu.and_then(|gpu| gpu.peak_flops(&samples.precision)).filter(|peak| fastest > *peak);
    let ruled_out = peak.map(|peak| {
        format!(
            "it would have computed {} TFLOP/s, and the peak is {}",
            significant(fastest / 1e12),
            significant(peak / 1e12)
        )
    });
    Candidate { operator: operator.name.clone(), spread: variance.sqrt(), ruled_out }
}
