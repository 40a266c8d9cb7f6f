//! The recommendation for the workload shown: what to deploy, the expected busbw and gain, and what they are based on.

use leptos::prelude::*;

use crate::{
    app::session::Session,
    app::{
        command_line::CopyCommand, pass_value::pass_button, reactive::reactive, signal::memo, terms::focusable_term,
        text_file::Notes,
    },
    collective::{Algorithm, Configuration},
    registry::passed_values::tuned_curve,
    report::Workbench,
    tuning::{
        decision::{Decision, words},
        doubts::doubts,
        result::{MeasuredBusbw, Recommendation, Source},
        wording::{Advice, advice, repeats, sentence, source, support, support_meaning},
    },
    units::{count, microseconds, percent, significant},
};

/// The number of configurations that a note names.
const MAX_NAMED: usize = 8;

/// The recommendation for the workload shown.
#[component]
pub fn Answer() -> impl IntoView {
    let session: Session = expect_context();
    let recommendation = memo(move || session.tuning.recommendation());
    let curve = move || {
        let shown = session.tuning.workload()?;
        session.tuning.answer.with(|answer| tuned_curve(answer, shown.collective, shown.scale))
    };
    view! {
        <section class="panel answer" aria-label="Answer">
            {reactive(move || recommendation.get().map(|recommendation| view! { <AnswerView recommendation /> }))}
            <div class="actions">
                <CopyCommand workbench=Workbench::Tuning />
                {pass_button(|| "Use this curve in training time".to_owned(), curve)}
            </div>
        </section>
    }
}

#[component]
fn AnswerView(recommendation: Recommendation) -> impl IntoView {
    let sentence = sentence(&recommendation);
    let workload = recommendation.workload;
    let time = move |busbw: f64| {
        workload.time_us(busbw).map(|time| view! { <dd class="figure-time">{microseconds(time)}</dd> })
    };
    let Recommendation { configuration, predicted_busbw_gbps, interval_90, measured_best, default, .. } =
        recommendation;
    let headline = match (advice(&recommendation), configuration) {
        (Advice::KeepDefault, _) => view! { <span class="choice">"Keep the default"</span> }.into_any(),
        (Advice::MeasureFirst, Some(choice)) => {
            view! { <span class="choice">"Measure first:"</span> <ConfigurationView choice /> }.into_any()
        }
        (Advice::Deploy, Some(choice)) => view! { <ConfigurationView choice /> }.into_any(),
        _ => view! { <span class="choice">"No recommendation"</span> }.into_any(),
    };
    let expected = if recommendation.source == Source::Measured { "Measured" } else { "Predicted" };
    let interval = interval_90.map(|i| {
        view! {
            <span class="figure-note" title="90 % of new measurements are expected in this interval">
                {significant(i.low_gbps)} " – " {significant(i.high_gbps)} " (90 %)"
            </span>
        }
    });
    let notes = notes(&recommendation);
    let certain = recommendation.gain.map_or_else(
        || "over the default".to_owned(),
        |gain| format!("{} at {:.0} %, from {}", words::range(&gain), gain.level * 100.0, gain.basis.name()),
    );
    let gain = recommendation.gain_pct.map(|gain| {
        let is_gain = recommendation.decision == Decision::Deploy;
        view! {
            <div class="figure">
                <dt>{focusable_term("Gain")}</dt>
                <dd class:is-gain=is_gain>{percent(gain)}</dd>
                <dd class="figure-note">{certain.clone()}</dd>
            </div>
        }
    });
    let exhaustive = recommendation.exhaustive.map(|(other, busbw)| {
        view! {
            <p class="warning">
                "Of all configurations " {other.to_string()} " is expected to be the fastest, at " {significant(busbw)}
                " GB/s; the search looks at fewer."
            </p>
        }
    });
    let support_class = format!("support {}", support(recommendation.support));
    view! {
        <div class="answer-head">
            <p class="headline">{headline}</p>
            <span class=support_class title=support_meaning(recommendation.support)>
                {support(recommendation.support)}
            </span>
            <span class="chosen-by">"chosen by " {source(recommendation.source)}</span>
        </div>
        <p class="sentence">{sentence}</p>
        <dl class="figures">
            <div class="figure">
                <dt>{focusable_term(expected)}</dt>
                <dd>
                    {predicted_busbw_gbps.map_or_else(|| "–".to_owned(), significant)} <span class="unit">" GB/s"</span>
                </dd>
                {predicted_busbw_gbps.map(time)}
                <dd>{interval}</dd>
            </div>
            {gain}
            {measured_figure("Default", default, "not measured", time)}
            {measured_figure("Measured best", measured_best, "not measured at this size", time)}
        </dl>
        {exhaustive}
        <Notes notes=notes />
    }
}

/// Notes on the recommendation: ties, configurations that ran the same, noise, runs that contradict it.
fn notes(recommendation: &Recommendation) -> Vec<String> {
    let list = |all: &[Configuration]| {
        let named: Vec<String> = all.iter().take(MAX_NAMED).map(ToString::to_string).collect();
        let rest = all.len().saturating_sub(MAX_NAMED);
        if rest > 0 { format!("{} and {rest} more", named.join(", ")) } else { named.join(", ") }
    };
    let mut notes = Vec::new();
    if recommendation.tied.len() > 1 {
        notes.push(format!("Tied for the best: {}", list(&recommendation.tied)));
    }
    if !recommendation.aliases.is_empty() {
        notes.push(format!("Ran the same here: {}", list(&recommendation.aliases)));
    }
    // Runs that are all the same, as simulated ones may be, have no noise to speak of.
    if let Some(noise) = recommendation.noise.filter(|noise| noise.visible_gain_pct >= 0.05) {
        let more = noise.more_runs.words();
        let more = if more.is_empty() { String::new() } else { format!("; runs that would decide: {more}") };
        notes.push(format!(
            "Single runs vary by {:.1} %, so gains below {} do not show{more}",
            noise.spread_pct,
            percent(noise.visible_gain_pct)
        ));
    }
    notes.extend(doubts(std::slice::from_ref(recommendation)));
    notes
}

#[component]
fn ConfigurationView(choice: Configuration) -> impl IntoView {
    view! {
        <span class="choice">{choice.algorithm.name()}</span>
        <span class="choice">{choice.protocol.name()}</span>
        <span class="choice">{count(u64::from(choice.channels), "channel")}</span>
    }
}

fn measured_figure<T: IntoView>(
    name: &'static str,
    measured: Option<MeasuredBusbw>,
    missing: &'static str,
    time: impl Fn(f64) -> T,
) -> impl IntoView {
    let figure = measured.map(|measured| {
        view! {
            <dd>{significant(measured.busbw_gbps)} <span class="unit">" GB/s"</span></dd>
            {time(measured.busbw_gbps)}
            <dd class="figure-note">{configuration_label(measured.configuration)}</dd>
            <dd class="figure-note">{repeats(&measured)}</dd>
        }
    });
    let missing = measured.is_none().then(|| view! { <dd class="figure-note">{missing}</dd> });
    view! {
        <div class="figure">
            <dt>{focusable_term(name)}</dt>
            {figure}
            {missing}
        </div>
    }
}

/// The configuration that ran, as text.
fn configuration_label(configuration: Configuration) -> String {
    if configuration.algorithm == Algorithm::None {
        "the library's choice".to_owned()
    } else {
        configuration.to_string()
    }
}
