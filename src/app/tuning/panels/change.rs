//! Compare: two measured states, before and after a driver, a firmware, a topology.

use leptos::prelude::*;

use super::{
    super::{Bench, inquiry::Inquiry},
    documents::{DocumentChoice, DocumentField, name_of},
    listing::ListingView,
    text_file::{Notes, TextFile},
    tuner_files::Failed,
};
use crate::{
    app::{
        chart::ChartView,
        fields::{ChoiceField, NumberField, stay},
        live::{Show, live},
        report::Reader,
        theme::ActiveTheme,
    },
    intake::{FileReport, Outcome},
    plot::Chart,
    tuning::compare::{CompareAnswer, CompareQuestion, LoadedDeployment},
    worker::protocol::{ComparedState, FileToLoad, Request, Response},
};

/// Stands for the only sweep that is loaded, where a file has a number.
const LOADED: u32 = 0;
/// Stands for several loaded sweeps together.
const TOGETHER: u32 = u32::MAX - 1;
/// Stands for the report that was opened from a link.
const LINKED: u32 = u32::MAX;

/// What can be compared, by number: reports first, which are older than what is loaded, then sweeps.
fn states(bench: Bench, reader: Reader) -> Vec<(u32, String)> {
    let named = |file: u32| (file, name_of(bench, file));
    let mut states = Vec::new();
    states.extend(reader.linked().map(|report| (LINKED, format!("{}, from a link", report.title))));
    states.extend(bench.documents.with(|all| all.reports.clone()).into_iter().map(named));
    let is_sweep = |file: &&FileReport| matches!(file.outcome, Outcome::Loaded { .. });
    let sweeps = bench.reports.with(|files| files.iter().filter(is_sweep).map(|file| file.id).collect::<Vec<_>>());
    if let [only] = sweeps[..] {
        states.push((LOADED, name_of(bench, only)));
    } else if !sweeps.is_empty() {
        states.extend(sweeps.into_iter().map(named));
        states.push((TOGETHER, "all that is loaded".to_owned()));
    }
    states
}

/// A state as the worker is asked about it.
fn side(bench: Bench, reader: Reader, state: u32) -> Option<ComparedState> {
    Some(match state {
        LOADED | TOGETHER => ComparedState::Loaded,
        LINKED => ComparedState::Snapshot(Box::new(reader.linked()?.snapshot?)),
        file => {
            let mapping = bench.files.with(|files| Some(files.iter().find(|open| open.id == file)?.mapping.clone()))?;
            let mapping = mapping.map(|(_, mapping)| mapping);
            ComparedState::Files(vec![FileToLoad { id: file, name: name_of(bench, file), mapping }])
        }
    })
}

/// Two states, and what changed between them.
#[component]
pub fn ChangePanel() -> impl IntoView {
    let (bench, reader): (Bench, Reader) = (expect_context(), expect_context());
    let states = Memo::new(move |_| states(bench, reader));
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
                <Comparison states />
            </Show>
        </section>
    }
}

#[component]
fn Comparison(states: Memo<Vec<(u32, String)>>) -> impl IntoView {
    let (bench, reader): (Bench, Reader) = (expect_context(), expect_context());
    let theme = expect_context::<ActiveTheme>().signal();
    let wishes = RwSignal::new([None, None]);
    // The state that is wished for, as long as it is there; else the first before, and the last by itself after.
    let chosen = move |place: usize| {
        states.with(|states| {
            let is_there = |wish: &u32| states.iter().any(|(state, _)| state == wish);
            let mut by_themselves = states.iter().filter(|(state, _)| *state != TOGETHER);
            let other = if place == 0 { by_themselves.next() } else { by_themselves.next_back() };
            wishes.get()[place].filter(is_there).or(other.map(|(state, _)| *state))
        })
    };
    let choose = move |place: usize| move |state: u32| wishes.update(|wishes| wishes[place] = Some(state));
    let swap = move |_| wishes.set(untrack(move || [chosen(1), chosen(0)]));
    let conf = DocumentChoice::without(move || bench.documents.with(|all| all.confs.clone()));
    let has_conf = Memo::new(move |_| bench.documents.with(|all| !all.confs.is_empty()));
    let asked = RwSignal::new(CompareQuestion::default());
    let question = Signal::derive(move || {
        let (before, after) = (chosen(0)?, chosen(1)?);
        let (reader_of_conf, library) = (bench.reader.get(), bench.library.get());
        let deployment = |file| LoadedDeployment { file, reader: reader_of_conf, library };
        let question = CompareQuestion { conf: conf.chosen.get().map(deployment), ..asked.get() };
        let (before, after) = (side(bench, reader, before)?, side(bench, reader, after)?);
        Some(Request::Compare { before, after, question })
    });
    let found = Inquiry::new(bench, question);
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
    let apart = found.listing(|response| Some(&changed(response)?.unmatched));
    let is_apart = Memo::new(move |_| apart.with(|listing| !listing.rows.is_empty()));
    view! {
        <form class="own" on:submit=stay>
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
        {live(summary)}
        {live(charts)}
        <ListingView heading="What changed" listing=by_size name="change-by-size" />
        <ListingView heading="What is deployed" listing=standing name="change-of-deployed" />
        <Show when=move || is_apart.get()>
            <ListingView heading="Measured on one side only" listing=apart name="change-apart" />
        </Show>
        {live(markdown)}
    }
}
