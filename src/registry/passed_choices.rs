//! Values that one workbench passes to another, as choices of the receiving one. The page passes them on; workbenches
//! don't depend on each other.

use std::fmt::Write;

use crate::{
    collective::{Collective, Scale},
    report::Workbench,
    training_time::form::OPERATORS,
    tuning::{
        result::Recommendation,
        wording::{Advice, advice},
    },
    units::significant,
};

/// Choices that are passed to another workbench.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedChoices {
    /// The receiving workbench.
    pub to: Workbench,
    /// The keys and values of the choices.
    pub choices: Vec<(String, String)>,
}

/// The times of a collective as it would be deployed, for the curves of a training step that are this collective.
/// `None` where a step has no such collective, or less than two sizes have a figure.
#[must_use]
pub fn tuned_curve(answer: &[Recommendation], of: Collective, scale: Scale) -> Option<PassedChoices> {
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
    Some(PassedChoices { to: Workbench::TrainingTime, choices })
}

/// The expected bus bandwidth of a workload once its recommendation is followed, in GB/s.
fn expected_gbps(found: &Recommendation) -> Option<f64> {
    match advice(found) {
        Advice::Deploy => found.predicted_busbw_gbps,
        Advice::KeepDefault | Advice::MeasureFirst => {
            found.default.map(|default| default.busbw_gbps).or(found.default_between_gbps)
        }
        Advice::Unknown => None,
    }
}

/// The factor by which kernels are slower at the same time as collectives, for the operators of a training step.
#[must_use]
pub fn slowdown(times: f64) -> PassedChoices {
    PassedChoices { to: Workbench::TrainingTime, choices: vec![(OPERATORS.to_owned(), significant(times))] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{collective::Workload, tuning::decision::Decision};

    fn answer(of: Collective, scale: Scale, points: &[(u64, f64)]) -> Vec<Recommendation> {
        let found = |&(size_bytes, busbw): &(u64, f64)| Recommendation {
            decision: Decision::Deploy,
            predicted_busbw_gbps: Some(busbw),
            ..Recommendation::unknown(Workload { collective: of, scale, size_bytes })
        };
        points.iter().map(found).collect()
    }

    #[test]
    fn a_tuned_collective_becomes_curves() {
        let scale = Scale { nodes: 2, ranks: 16 };
        let points = [(1 << 20, 93.75), (1 << 30, 187.5)];
        let found = tuned_curve(&answer(Collective::AllReduce, scale, &points), Collective::AllReduce, scale);
        // 1 MiB · 2 · 15/16 at 93.75 GB/s are 20.97 µs.
        let lines = "2x8\n1048576:20.97\n1073741824:10737".to_owned();
        let both = ["tensor", "gradient"].map(|key| (format!("x.{key}-curve"), lines.clone()));
        assert_eq!(found.map(|found| found.choices), Some(both.to_vec()));
        // What a rank gives of an all-gather is a share of what all gather.
        let found = tuned_curve(&answer(Collective::AllGather, scale, &points), Collective::AllGather, scale);
        assert!(found.is_some_and(|found| found.choices[0].1.starts_with("2x8\n65536:10.49\n")));
    }

    #[test]
    fn what_a_step_has_no_use_for_is_not_handed_over() {
        let scale = Scale { nodes: 1, ranks: 8 };
        let points = [(1 << 20, 100.0), (1 << 30, 200.0)];
        assert_eq!(tuned_curve(&answer(Collective::Reduce, scale, &points), Collective::Reduce, scale), None);
        let one = answer(Collective::AllReduce, scale, &points[..1]);
        assert_eq!(tuned_curve(&one, Collective::AllReduce, scale), None);
        let mut unknown = answer(Collective::AllReduce, scale, &points);
        unknown.iter_mut().for_each(|found| found.decision = Decision::Unknown);
        assert_eq!(tuned_curve(&unknown, Collective::AllReduce, scale), None);
        assert_eq!(slowdown(1.25).choices, [("x.operators".to_owned(), "1.250".to_owned())]);
    }
}
