//! The errors of the model in validation, beside those of the baselines.

use leptos::prelude::*;

use crate::{
    app::reactive::{Show, reactive},
    app::session::{AnswerBasis, Session, WorkerMemory},
    tuning::{
        result::{FoldScores, Importance, Score, Source},
        wording::{predictors, source, verdict, winner},
    },
    units::significant,
};

/// The table of errors by kind of validation.
#[component]
pub fn Quality() -> impl IntoView {
    let session: Session = expect_context();
    let evaluation = move || {
        session.tuning.evaluation.get().map(|evaluation| {
            view! {
                <Scores
                    heading="Unseen sizes"
                    hint="Nine folds by the rank of the size: each is predicted from the others."
                    scores=evaluation.by_size.clone()
                />
                <Scores
                    heading="Unseen configurations"
                    hint="Five folds by the rank of the configuration: each is predicted from the others."
                    scores=evaluation.by_configuration.clone()
                />
                {(evaluation.by_scale != FoldScores::default())
                    .then(|| {
                        view! {
                            <Scores
                                heading="Unseen scales"
                                hint="A fold for each scale: each is predicted from the others."
                                scores=evaluation.by_scale.clone()
                            />
                        }
                    })}
                {evaluation
                    .regret_deployed_mean_pct
                    .map(|regret| {
                        view! {
                            <p class="verdict">
                                "What is deployed, the default included, loses " {format!("{regret:.1}")}
                                " % of the best measured at held-out sizes."
                            </p>
                        }
                    })}
                <p class="small">
                    "Regret: measured bandwidth lost by following the choice, in per cent of the best measured. "
                    "Top: how often the choice is the best measured, or as fast, in per cent. "
                    "MAPE: mean absolute error in per cent of the measurement."
                </p>
            }
        })
    };
    let pending = move || match (session.tuning.evaluation.with(Option::is_none), session.tuning.basis.get()) {
        (true, AnswerBasis::Measured) => Some("No model has been trained yet."),
        (true, _) => Some("Not validated yet."),
        _ => None,
    };
    view! {
        <section class="panel quality" aria-labelledby="quality-heading">
            <h2 id="quality-heading">"Model quality"</h2>
            {reactive(move || pending().map(|words| view! { <p class="small">{words}</p> }))}
            {reactive(evaluation)}
        </section>
    }
}

#[component]
fn Scores(heading: &'static str, hint: &'static str, scores: FoldScores) -> impl IntoView {
    let best = winner(&scores);
    let row = |(who, score): (Source, &Score)| {
        let cell = |value: Option<f64>, decimals: usize| {
            let text = value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"));
            view! { <td class="numeric">{text}</td> }
        };
        view! {
            <tr class:is-current=best == Some(who)>
                <th scope="row">{source(who)}</th>
                {cell(score.r2, 3)}
                {cell(score.mae_gbps, 2)}
                {cell(score.mape_pct, 1)}
                {cell(score.regret_mean_pct, 1)}
                {cell(score.regret_max_pct, 1)}
                {cell(score.top1_pct, 0)}
            </tr>
        }
    };
    // A baseline that can't predict what was held out has no figures.
    let is_judged = |(_, score): &(Source, &Score)| **score != Score::default();
    let rows = predictors(&scores).into_iter().filter(is_judged).map(row).collect_view();
    let coverage = scores.coverage_90_pct.map(|coverage| {
        view! { <p class="small">{format!("{coverage:.1}")} " % of what was held out lies in its 90 % interval."</p> }
    });
    view! {
        <h3 title=hint>{heading}</h3>
        <div class="table-box" tabindex="0" role="region" aria-label=heading>
            <table class="data scores">
                <thead>
                    <tr>
                        <td></td>
                        <th scope="col" class="numeric" title="Coefficient of determination">"R²"</th>
                        <th scope="col" class="numeric" title="Mean absolute error, GB/s">"MAE"</th>
                        <th scope="col" class="numeric" title="Mean absolute error, % of the measurement">"MAPE"</th>
                        <th scope="col" class="numeric" title="Mean regret, %">"Regret"</th>
                        <th scope="col" class="numeric" title="Largest regret, %">"max"</th>
                        <th scope="col" class="numeric" title="How often the choice is the best, %">"Top"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        <p class="verdict">{verdict(&scores)}</p>
        {coverage}
    }
}

/// The feature importances, computed when the user asks for them.
#[component]
pub fn Importances() -> impl IntoView {
    let session: Session = expect_context();
    let rows = move || {
        session.tuning.importances.get().map(|importances| {
            let row = |importance: &Importance| {
                let impurity = importance.impurity.map_or_else(|| "–".to_owned(), |share| format!("{share:.4}"));
                view! {
                    <tr>
                        <th scope="row">{importance.feature.clone()}</th>
                        <td class="numeric">{impurity}</td>
                        <td class="numeric">{significant(importance.permutation_pct)}</td>
                    </tr>
                }
            };
            view! {
                <div class="table-box" tabindex="0" role="region" aria-label="Feature importance">
                    <table class="data narrow">
                        <thead>
                            <tr>
                                <th scope="col">"Feature"</th>
                                <th scope="col" class="numeric" title="Share of the impurity that its splits removed">
                                    "Impurity"
                                </th>
                                <th
                                    scope="col"
                                    class="numeric"
                                    title="Rise of MAPE in points when its values are shuffled"
                                >
                                    "Permutation"
                                </th>
                            </tr>
                        </thead>
                        <tbody>{importances.iter().map(row).collect_view()}</tbody>
                    </table>
                </div>
            }
        })
    };
    let can_ask = move || {
        session.tuning.importances.with(Option::is_none)
            && session.worker_memory.get() >= WorkerMemory::Model
            && session.task.with(Option::is_none)
    };
    view! {
        <Show when=move || session.tuning.basis.get() != AnswerBasis::Measured>
            <section class="panel" aria-labelledby="importances-heading">
                <div class="panel-head">
                    <h2 id="importances-heading">"Feature importance"</h2>
                    <Show when=can_ask>
                        <button type="button" on:click=move |_| session.ask_importances()>"Compute"</button>
                    </Show>
                </div>
                {rows}
                <p class="small">
                    "How much the prediction needs each feature. A small importance of algorithm or channels says "
                    "nothing about regret, because most of the variance comes from the size."
                </p>
            </section>
        </Show>
    }
}
