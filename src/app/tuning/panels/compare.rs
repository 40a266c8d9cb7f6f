//! Compare panel: two measured states, such as before and after a change of driver, firmware or topology.

use leptos::prelude::*;

use super::{
    super::worker_query::WorkerQuery,
    documents::{DocumentChoice, DocumentField, name_of},
    shared::Failed,
};
use crate::{
    app::{
        chart::ChartView,
        fields::{ChoiceField, NumberField, prevent_submit},
        listing::ListingView,
        reactive::{Show, reactive},
        report::ReportReader,
        session::Session,
        text_file::{Notes, TextFile},
        theme::ActiveTheme,
    },
    intake::{FileReport, Outcome, files::FileToLoad},
    plot::Chart,
    tuning::compare::{CompareAnswer, CompareQuestion, LoadedDeployment},
    worker::protocol::{ComparedState, Request, Response},
};

/// The number of the only loaded sweep; files are numbered from 1.
const LOADED: u32 = 0;
/// The number of all loaded sweeps together.
const TOGETHER: u32 = u32::MAX - 1;
/// The number of the report that was opened from a link.
const LINKED: u32 = u32::MAX;

/// The states that can be compared, with their numbers and names: reports first, because they are older than what is
/// loaded, then sweeps.
fn states(session: Session, reader: ReportReader) -> Vec<(u32, String)> {
    let named = |file: u32| (file, name_of(session, file));
    let mut states = Vec::new();
    states.extend(reader.report_from_link().map(|report| (LINKED, format!("{}, from a link", report.title))));
    states.extend(session.documents.with(|all| all.reports.clone()).into_iter().map(named));
    let is_sweep = |file: &&FileReport| matches!(file.outcome, Outcome::Loaded { .. });
    let sweeps = session.reports.with(|files| files.iter().filter(is_sweep).map(|file| file.id).collect::<Vec<_>>());
    if let [only] = sweeps[..] {
        states.push((LOADED, name_of(session, only)));
    } else if !sweeps.is_empty() {
        states.extend(sweeps.into_iter().map(named));
        states.push((TOGETHER, "all that is loaded".to_owned()));
    }
    states
}

/// A state as the request to the worker names it; `None` if it is gone.
fn compared_state(session: Session, reader: ReportReader, state: u32) -> Option<ComparedState> {
    Some(match state {
        LOADED | TOGETHER => ComparedState::Loaded,
        LINKED => ComparedState::Snapshot(Box::new(reader.report_from_link()?.snapshot?)),
        file => {
            let mapping =
                session.files.with(|files| Some(files.iter().find(|open| open.id == file)?.mapping.clone()))?;
            let mapping = mapping.map(|(_, mapping)| mapping);
            ComparedState::Files(vec![FileToLoad { id: file, name: name_of(session, file), mapping }])
        }
    })
}

/// The choice of two states, and what changed between them.
#[component]
pub fn ComparePanel() -> impl IntoView {
    let (session, reader): (Session, ReportReader) = (expect_context(), expect_context());
    let states = Memo::new(move |_| states(session, reader));
    let several = Memo::new(move |_| states.with(|states| states.len() > 1));
    view! {
        <section class="panel" aria-labelledby="change-heading">
            <div class="panel-head">
                <h2 id="change-heading">"Compare"</h2>
                <span class="small">"Before and after a driver, a firmware, a topology."</span>
            </div>
            <Show
                when=move || several.get()
                fallback=|| view! {
                    <p class="small">
                        "Drop a second sweep, or a report of an earlier one (it must hold its measurements), to see what \
                         changed beyond noise and whether what was deployed still holds."
                    </p>
                }
            >
                <StateComparison states />
            </Show>
        </section>
    }
}

#[component]
fn StateComparison(states: Memo<Vec<(u32, String)>>) -> impl IntoView {
    let (session, reader): (Session, ReportReader) = (expect_context(), expect_context());
    let theme = expect_context::<ActiveTheme>().signal();
    let selected = RwSignal::new([None, None]);
    // The selected state while it exists; by default the first before, and the last single one after.
    let chosen = move |side: usize| {
        states.with(|states| {
            let is_there = |selection: &u32| states.iter().any(|(state, _)| state == selection);
            let mut by_themselves = states.iter().filter(|(state, _)| *state != TOGETHER);
            let other = if side == 0 { by_themselves.next() } else { by_themselves.next_back() };
            selected.get()[side].filter(is_there).or(other.map(|(state, _)| *state))
        })
    };
    let choose = move |side: usize| move |state: u32| selected.update(|selected| selected[side] = Some(state));
    let swap = move |_| selected.set(untrack(move || [chosen(1), chosen(0)]));
    let conf = DocumentChoice::without(move || session.documents.with(|all| all.confs.clone()));
    let has_conf = Memo::new(move |_| session.documents.with(|all| !all.confs.is_empty()));
    let asked = RwSignal::new(CompareQuestion::default());
    let question = Signal::derive(move || {
        let (before, after) = (chosen(0)?, chosen(1)?);
        let (reader_of_conf, library) = (session.tuning.reader.get(), session.tuning.library.get());
        let deployment = |file| LoadedDeployment { file, reader: reader_of_conf, library };
        let question = CompareQuestion { conf: conf.chosen.get().map(deployment), ..asked.get() };
        let (before, after) = (compared_state(session, reader, before)?, compared_state(session, reader, after)?);
        Some(Request::Compare { before, after, question })
    });
    let found = WorkerQuery::new(session, question);
    fn changed(response: &Response) -> Option<&CompareAnswer> {
        if let Response::Compared(answer) = response { Some(answer) } else { None }
    }
    let summary = move || {
        found.get(|response| {
            let answer = changed(response)?;
            let sentence = |text: &String| view! { <p class="sentence">{text.clone()}</p> };
            Some(view! {
                <div class="verdict-of-change" class:wrong=answer.got_slower role="status">
                    {answer.summary.iter().map(sentence).collect_view()}
                </div>
                <Notes notes=answer.notes.clone() />
            })
        })
    };
    let charts = move || {
        let charts = found.get(|response| Some(changed(response)?.charts.clone())).unwrap_or_default();
        let chart = |chart: Chart| view! { <ChartView chart=Signal::stored(Some(std::sync::Arc::new(chart))) theme /> };
        view! { <div class="charts">{charts.into_iter().map(chart).collect_view()}</div> }
    };
    let markdown = move || {
        let text = found.get(|response| Some(changed(response)?.markdown.clone()))?;
        Some(view! { <TextFile name="comparison.md" about="for a pull request" text /> })
    };
    let by_size = found.listing(|response| Some(&changed(response)?.by_size));
    let standing = found.listing(|response| Some(&changed(response)?.deployed_check));
    let one_sided = found.listing(|response| Some(&changed(response)?.unmatched));
    let has_one_sided = Memo::new(move |_| one_sided.with(|listing| !listing.rows.is_empty()));
    view! {
        <form class="own" on:submit=prevent_submit>
            <ChoiceField label="Before" choices=move || states.get() value=move || chosen(0) on_value=choose(0) />
            <ChoiceField label="After" choices=move || states.get() value=move || chosen(1) on_value=choose(1) />
            <button type="button" on:click=swap>"Swap"</button>
            <Show when=move || has_conf.get()>
                <DocumentField label="Deployed" choice=conf none="what was best before" />
            </Show>
            <NumberField
                label="Confidence, %"
                value=move || (asked.get().level * 1000.0).round() / 10.0
                range=50.0..=99.0
                step="any"
                on_value=move |pct| asked.update(|asked| asked.level = pct / 100.0)
            />
            <NumberField
                label="Smallest change that matters, %"
                value=move || asked.get().least_pct
                range=0.0..=100.0
                step="any"
                on_value=move |pct| asked.update(|asked| asked.least_pct = pct)
            />
        </form>
        <Failed error=found.error />
        {reactive(summary)}
        {reactive(charts)}
        <ListingView heading="What changed" listing=by_size name="change-by-size" />
        <ListingView heading="What is deployed" listing=standing name="change-of-deployed" />
        <Show when=move || has_one_sided.get()>
            <ListingView heading="Measured on one side only" listing=one_sided name="change-apart" />
        </Show>
        {reactive(markdown)}
    }
}
