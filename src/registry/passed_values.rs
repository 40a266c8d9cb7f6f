//! The values that one workbench passes to another. The page passes them on, so that workbenches don't depend on each
//! other.

use crate::{
    collective::{Collective, Scale},
    form::Choices,
    report::Workbench,
    training_time,
    tuning::{
        result::Recommendation,
        wording::{Advice, advice},
    },
    workbench::{PassedValue, TimeCurve},
};

/// The workbench that has a use for a value.
pub const fn receiver(passed: &PassedValue) -> Workbench {
    match passed {
        PassedValue::Curve(_) | PassedValue::Slowdown(_) => Workbench::TrainingTime,
    }
}

/// Chooses a value among the choices of its [`receiver`].
pub fn receive(passed: &PassedValue, choices: &mut Choices) {
    training_time::form::receive(passed, choices);
}

/// The times of a collective as it would be deployed, for the curves of a training step that are this collective.
/// `None` where a step has no such collective, or less than two sizes have a figure.
pub fn tuned_curve(answer: &[Recommendation], of: Collective, scale: Scale) -> Option<PassedValue> {
    if !training_time::form::has_curve(of) {
        return None;
    }
    let ranks = scale.ranks.max(1);
    let own = answer.iter().filter(|found| (found.workload.collective, found.workload.scale) == (of, scale));
    let points: Vec<(u64, f64)> = own
        .filter_map(|found| {
            let size_bytes = found.workload.size_bytes;
            let time_us = of.time_us(ranks, size_bytes, expected_gbps(found)?);
            // nccl-tests counts the bytes that all ranks gather, samples of a step those that one rank contributes.
            let given = if of == Collective::AllGather { size_bytes / u64::from(ranks) } else { size_bytes };
            (time_us.is_finite() && time_us > 0.0 && given > 0).then_some((given, time_us))
        })
        .collect();
    let (nodes, collective) = (scale.nodes.max(1), of);
    (points.len() > 1)
        .then(|| PassedValue::Curve(TimeCurve { collective, nodes, per_node: ranks.div_ceil(nodes), points }))
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
        let chosen = |curve: PassedValue| {
            let mut choices = Choices::default();
            receive(&curve, &mut choices);
            choices.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect::<Vec<_>>()
        };
        let lines = "2x8\n1048576:20.97\n1073741824:10737".to_owned();
        let both = ["tensor", "gradient"].map(|key| (format!("x.{key}-curve"), lines.clone()));
        assert_eq!(found.map(chosen), Some(both.to_vec()));
        // A rank contributes its share of the gathered bytes.
        let found = tuned_curve(&answer(Collective::AllGather, scale, &points), Collective::AllGather, scale);
        assert!(chosen(found.expect("a curve"))[0].1.starts_with("2x8\n65536:10.49\n"));
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
        let mut choices = Choices::default();
        receive(&PassedValue::Slowdown(1.25), &mut choices);
        assert_eq!(choices.iter().collect::<Vec<_>>(), [("x.operators", "1.250")]);
    }
}
