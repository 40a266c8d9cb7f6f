//! The section on the accuracy of predictions.

use crate::{
    plot::Chart,
    report::{Exhibit, Section},
    text::{Column, Entry, Listing},
    tuning::{
        result::{Evaluation, FoldScores},
        wording,
    },
    units::significant,
};

/// The errors and the regret on held-out measurements.
pub(in crate::tuning) fn section(evaluation: &Evaluation, charts: Vec<Chart>) -> Section {
    let mut rows = Vec::new();
    let ways: [(&str, &FoldScores); 3] = [
        ("an unseen size", &evaluation.by_size),
        ("an unseen configuration", &evaluation.by_configuration),
        ("an unseen scale", &evaluation.by_scale),
    ];
    for (way, scores) in ways {
        for (source, score) in wording::predictors(scores) {
            let numbers =
                [score.r2, score.mae_gbps, score.mape_pct, score.regret_mean_pct, score.regret_max_pct, score.top1_pct];
            if numbers.iter().any(Option::is_some) {
                let words = [Entry::text(way), Entry::text(wording::source(source))];
                rows.push(words.into_iter().chain(numbers.map(|n| Entry::number(n, significant))).collect());
            }
        }
    }
    let columns = vec![
        Column::words("Held out", "what the predictor had not seen"),
        Column::words("Predictor", "who predicts"),
        Column::numbers("R²", "coefficient of determination over all held-out points"),
        Column::numbers("MAE", "mean absolute error, GB/s"),
        Column::numbers("MAPE", "mean absolute error, in per cent of the measurement"),
        Column::numbers("Mean regret", "bandwidth lost by taking this predictor's choice, in per cent of the best"),
        Column::numbers("Largest regret", "the largest of those, in per cent"),
        Column::numbers("Best chosen", "share of workloads at which the choice is the best measured, in per cent"),
    ];
    let table = Exhibit::new("evaluation", "Out of fold", Listing { columns, rows });
    let mut text = vec![wording::verdict(&evaluation.by_size)];
    text.extend(held_out_regret(evaluation));
    text.extend(evaluation.by_size.coverage_90_pct.map(|coverage| {
        format!("The 90 % intervals hold {} % of the measurements at unseen sizes.", significant(coverage))
    }));
    Section { title: "How far to trust it".into(), text, charts, tables: vec![table], ..Section::default() }
}

/// A sentence on the regret of the deployed choices at held-out sizes.
pub(super) fn held_out_regret(evaluation: &Evaluation) -> Option<String> {
    let lost = format!("{:.2}", evaluation.regret_deployed_mean_pct?);
    Some(match evaluation.regret_deployed_nested_mean_pct {
        Some(nested) => format!(
            "What is deployed at unseen sizes, the default included, loses {lost} % of the best on average; {nested:.2} % where who \
             answers is chosen without those sizes."
        ),
        None => {
            format!("What is deployed at unseen sizes, the default included, loses {lost} % of the best on average.")
        }
    })
}
