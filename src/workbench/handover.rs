//! What one workbench found and another can use: plain numbers, as choices of the one that takes them. The page hands them
//! over; no workbench knows of the other.

use std::fmt::Write;

use super::training_time::OPERATORS;
use crate::{
    collective::{Collective, Scale},
    report::Workbench,
    tuning::{
        result::Recommendation,
        wording::{Advice, advice},
    },
    units::significant,
};

/// Choices for another workbench.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Which takes them.
    pub to: Workbench,
    /// Keys and values.
    pub choices: Vec<(String, String)>,
}

/// The times of a collective as it would be deployed, for the curves of a training step that are this collective. `None`
/// where a step has no such collective, or less than two sizes have a figure.
#[must_use]
pub fn tuned_curve(answer: &[Recommendation], of: Collective, scale: Scale) -> Option<Handover> {
    let keys: &[&str] = match of {
        Collective::AllReduce => &["tensor", "gradient"],
        Collective::AllGather => &["gather"],
        Collective::SendRecv => &["p2p"],
        Collective::AllToAll => &["expert"],
        _ => return None,
    };
    let ranks = scale.ranks.max(1);
    let own = answer.iter().filter(|found| (found.workload.collective, found.workload.scale) == (of, scale));
    let points: Vec<(u64, f64)> = own
        .filter_map(|found| {
            let size_bytes = found.workload.size_bytes;
            let time_us = of.time_us(ranks, size_bytes, expected_gbps(found)?);
            // nccl-tests counts what all ranks gather, samples of a step what one rank gives.
            let given = if of == Collective::AllGather { size_bytes / u64::from(ranks) } else { size_bytes };
            (time_us.is_finite() && time_us > 0.0 && given > 0).then_some((given, time_us))
        })
        .collect();
    if points.len() < 2 {
        return None;
    }
    let mut lines = format!("{}x{}", scale.nodes.max(1), ranks.div_ceil(scale.nodes.max(1)));
    for (size_bytes, time_us) in points {
        let _ = write!(lines, "\n{size_bytes}:{}", significant(time_us));
    }
    let choices = keys.iter().map(|key| (format!("x.{key}-curve"), lines.clone())).collect();
    Some(Handover { to: Workbench::TrainingTime, choices })
}

/// What is to be expected of a workload once its recommendation is followed, in GB/s of bus bandwidth.
fn expected_gbps(found: &Recommendation) -> Option<f64> {
    match advice(found) {
        Advice::Deploy => found.predicted_busbw_gbps,
        Advice::KeepDefault => found.default.map(|default| default.busbw_gbps).or(found.default_between_gbps),
        Advice::Unknown => None,
    }
}

/// How many times longer kernels take beside collectives, for the operators of a training step.
#[must_use]
pub fn slowdown(times: f64) -> Handover {
    Handover { to: Workbench::TrainingTime, choices: vec![(OPERATORS.to_owned(), significant(times))] }
}
