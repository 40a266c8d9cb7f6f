//! A/B panel: which rules of a tuner file a campaign confirms, and the script of the next campaign.

use leptos::prelude::*;

use super::{
    super::worker_query::WorkerQuery,
    documents::{DocumentChoice, DocumentField, name_of},
    shared::{Failed, LauncherField},
};
use crate::{
    app::{
        chart::ChartView,
        fields::{ChoiceField, NumberField, prevent_submit},
        reactive::{Show, reactive},
        theme::ActiveTheme,
    },
    app::{
        listing::ListingView,
        session::Session,
        text_file::{Notes, TextFile},
    },
    collective::Collective,
    tuning::{
        ab::{
            AbAnswer, AbQuestion,
            script::CampaignPlan,
            verdict::{Limits, RuleVerdict},
        },
        launch::{Launcher, Sizes},
    },
    worker::protocol::{Request, Response},
};

/// The verdict on the loaded campaign, and the next campaign.
#[component]
pub fn AbPanel() -> impl IntoView {
    let session: Session = expect_context();
    let any = move || session.documents.with(|all| !all.comparisons.is_empty());
    let has_data = move || session.tuning.workload().is_some();
    view! {
        <section class="panel" aria-labelledby="ab-heading">
            <h2 id="ab-heading">"A/B"</h2>
            <Show
                when=any
                fallback=|| view! {
                    <p class="small">
                        "Drop the per-size statistics of a campaign (per_size_stats.csv), and the tuner file that it ran \
                         beside it, to see which rules to keep."
                    </p>
                }
            >
                <CampaignVerdict />
            </Show>
        </section>
        <Show when=has_data>
            <NextCampaign />
        </Show>
    }
}

#[component]
fn CampaignVerdict() -> impl IntoView {
    let session: Session = expect_context();
    let theme = expect_context::<ActiveTheme>().signal();
    let file = DocumentChoice::new(move || session.documents.with(|all| all.comparisons.clone()));
    let conf = DocumentChoice::new(move || session.documents.with(|all| all.confs.clone()));
    let collective = RwSignal::new(None::<Collective>);
    let limits = RwSignal::new(Limits::default());
    let question = Signal::derive(move || {
        Some(Request::Ab(AbQuestion {
            file: Some(file.chosen.get()?),
            conf: conf.chosen.get(),
            collective: collective.get(),
            ranks: None,
            limits: limits.get(),
        }))
    });
    let found = WorkerQuery::new(session, question);
    fn compared(response: &Response) -> Option<&AbAnswer> {
        if let Response::Ab(answer) = response { Some(answer) } else { None }
    }
    let void = move || {
        let why = found.get(|response| compared(response)?.void.clone())?;
        Some(view! { <p class="wrong" role="alert">"The campaign is void: " {why}</p> })
    };
    let notes = move || {
        found.get(|response| {
            let answer = compared(response)?;
            let problems = answer.problems.kept.iter().map(ToString::to_string).collect();
            Some(view! {
                <Notes notes=answer.notes.clone() />
                <Notes notes=problems warn=true />
            })
        })
    };
    let by_rule = found.listing(|response| Some(&compared(response)?.by_rule));
    let by_size = found.listing(|response| Some(&compared(response)?.by_size));
    let chart = found.chart(|response| compared(response)?.chart.as_ref());
    let row_class = UnsyncCallback::new(move |row: usize| {
        found
            .get_untracked(|response| {
                Some(match compared(response)?.verdicts.get(row)? {
                    RuleVerdict::Keep => "keep",
                    RuleVerdict::Drop(_) => "changes",
                    RuleVerdict::NotJudged(_) => "dead",
                })
            })
            .unwrap_or_default()
    });
    let trimmed = move || {
        let text = found.get(|response| compared(response)?.trimmed.clone())?;
        let name =
            conf.chosen.get().map_or_else(|| "trimmed.conf".to_owned(), |conf| trimmed_name(&name_of(session, conf)));
        Some(view! { <TextFile name about="what is left of the tuner file" text /> })
    };
    let collectives = || {
        let all = Collective::ALL.iter().map(|c| (Some(*c), c.to_string()));
        std::iter::once((None, "as the files say".to_owned())).chain(all).collect::<Vec<_>>()
    };
    view! {
        <form class="own" on:submit=prevent_submit>
            <DocumentField label="Campaign" choice=file />
            <Show when=move || conf.chosen.get().is_some()>
                <DocumentField label="Its tuner file" choice=conf />
            </Show>
            <ChoiceField
                label="Collective"
                choices=collectives
                value=move || Some(collective.get())
                on_value=move |chosen| collective.set(chosen)
            />
            <NumberField
                label="Confidence, %"
                value=move || (limits.get().confidence * 1000.0).round() / 10.0
                range=50.0..=99.9
                step="any"
                on_value=move |pct| limits.update(|limits| limits.confidence = pct / 100.0)
            />
            <NumberField
                label="Smallest gain, %"
                value=move || limits.get().min_gain_pct
                range=0.0..=100.0
                step="any"
                on_value=move |pct| limits.update(|limits| limits.min_gain_pct = pct)
            />
            <NumberField
                label="Largest loss, %"
                value=move || limits.get().max_loss_pct
                range=0.0..=100.0
                step="any"
                on_value=move |pct| limits.update(|limits| limits.max_loss_pct = pct)
            />
        </form>
        <Failed error=found.error />
        {reactive(void)}
        {reactive(notes)}
        <ListingView heading="By rule" listing=by_rule name="ab-by-rule" row_class=row_class />
        <ChartView chart=chart theme />
        <ListingView heading="By size" listing=by_size name="ab-by-size" />
        {reactive(trimmed)}
    }
}

/// The name of a trimmed tuner file: `tuner.trimmed.conf` for `tuner.conf`.
fn trimmed_name(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension)) => format!("{stem}.trimmed.{extension}"),
        None => format!("{name}.trimmed.conf"),
    }
}

/// The script of a campaign with three arms for the collective and scale shown.
#[component]
fn NextCampaign() -> impl IntoView {
    let session: Session = expect_context();
    let repeats = RwSignal::new(6_u32);
    let launcher = RwSignal::new(Launcher::default());
    let plugin = RwSignal::new("/path/to/libnccl-tuner.so".to_owned());
    let conf = RwSignal::new("/path/to/tuner.conf".to_owned());
    let question = Signal::derive(move || {
        let shown = session.tuning.workload()?;
        let sizes = session.tuning.groups.with(|groups| {
            let group = groups.iter().find(|g| (g.collective, g.scale) == (shown.collective, shown.scale))?;
            Some(Sizes::to_cover(*group.sizes.first()?, *group.sizes.last()?))
        })?;
        Some(Request::AbScript(CampaignPlan {
            collective: shown.collective,
            scale: shown.scale,
            sizes,
            repeats: repeats.get(),
            seed: 42,
            launcher: launcher.get(),
            plugin: plugin.get(),
            conf: conf.get(),
        }))
    });
    let found = WorkerQuery::new(session, question);
    let script = move || {
        let shown = session.tuning.workload()?;
        let text = found.get(|response| match response {
            Response::AbScript(script) => Some(script.clone()),
            _ => None,
        })?;
        let name = format!("ab_{}_{}n.sh", shown.collective, shown.scale.nodes);
        Some(view! { <TextFile name about="three arms in a balanced order" text /> })
    };
    view! {
        <section class="panel" aria-labelledby="campaign-heading">
            <div class="panel-head">
                <h2 id="campaign-heading">"The next campaign"</h2>
                <span class="small">"No plugin, the plugin with the tuner file, the plugin with an empty one."</span>
            </div>
            <form class="own" on:submit=prevent_submit>
                <NumberField
                    label="Launches of each arm"
                    value=move || repeats.get()
                    range=1..=CampaignPlan::MAX_REPEATS
                    on_value=move |number| repeats.set(number)
                />
                <LauncherField launcher />
                <label class="field">
                    <span>"Path of the plugin"</span>
                    <input type="text" spellcheck="false" autocomplete="off" bind:value=plugin />
                </label>
                <label class="field">
                    <span>"Path of the tuner file"</span>
                    <input type="text" spellcheck="false" autocomplete="off" bind:value=conf />
                </label>
            </form>
            {reactive(script)}
        </section>
    }
}
