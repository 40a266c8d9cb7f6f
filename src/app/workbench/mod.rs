//! The page of any workbench: its form and its report, both drawn from data. Tuning has a page of its own around them.

mod form;

use leptos::prelude::*;

use super::{
    files::Files,
    list::ListLimit,
    network::NetworkView,
    report::SectionView,
    session::{Session, StudyState},
    welcome::Welcome,
    words::words,
};
use crate::{
    app::reactive::{For, Show, effect, reactive},
    report::{Fact, Report, Section, Workbench},
};
use form::{ChoiceBar, GroupForm};

/// The page of the workbench, or its welcome page if there is nothing to study.
#[component]
pub fn WorkbenchPage(workbench: Workbench) -> impl IntoView {
    let session: Session = expect_context();
    let has_files = move || session.can_study(workbench);
    study_when_free(session, workbench);
    let is_made = move || !session.needs_files(workbench) && session.documents.with(|all| !all.has(workbench));
    view! {
        <Show when=has_files fallback=move || view! { <Welcome workbench lead=words(workbench).lead reads=words(workbench).reads /> }>
            <div class="bench">
                <main class="bench-main">
                    <h1 class="visually-hidden">{workbench.name()}</h1>
                    <Show when=move || session.shows_example() && !is_made()>
                        <p class="simulated">{words(workbench).example}</p>
                    </Show>
                    <Show when=is_made>
                        <p class="simulated">{words(workbench).made}</p>
                    </Show>
                    <WorkbenchBody workbench />
                </main>
                <aside class="bench-side" aria-label="Loaded files">
                    <Show when=move || session.has_files()>
                        <Files />
                    </Show>
                    <ComputedWith workbench />
                </aside>
            </div>
        </Show>
    }
}

/// Studies a workbench that was not studied, as soon as nothing else is under way. Generated data needs no file.
pub fn study_when_free(session: Session, workbench: Workbench) {
    effect(move || {
        let is_free = session.task.with(Option::is_none);
        let is_new = session.state_of(workbench).study.with(|state| *state == StudyState::NotStudied);
        if is_free && is_new && session.can_study(workbench) {
            session.study(workbench);
        }
    });
}

/// The choices and the answer.
#[component]
fn WorkbenchBody(workbench: Workbench) -> impl IntoView {
    let session: Session = expect_context();
    let state = session.state_of(workbench);
    let title = move || state.shown.with(|shown| shown.as_ref().map(|shown| shown.report.title.clone()));
    let summary = move || {
        let sentences = state.shown.with(|shown| shown.as_ref().map(|shown| shown.report.summary.clone()));
        let sentence = |text: String| view! { <p class="sentence">{text}</p> };
        sentences.unwrap_or_default().into_iter().map(sentence).collect_view()
    };
    view! {
        {reactive(move || why_unanswered(session, workbench))}
        <Show when=move || state.has_answer()>
            <ChoiceBar workbench />
            <section class="panel answer" aria-labelledby="answer-heading">
                <h2 id="answer-heading">{reactive(title)}</h2>
                {reactive(summary)}
            </section>
            <Show when=move || state.network.with(Option::is_some)>
                <NetworkView workbench />
            </Show>
            <div class="panels">
                <Sections workbench />
            </div>
        </Show>
    }
}

/// The sections of the answer, each with the fields of its group.
#[component]
pub fn Sections(
    workbench: Workbench,
    /// Those of the column beside the answer.
    #[prop(optional)]
    is_aside: bool,
) -> impl IntoView {
    let state = expect_context::<Session>().state_of(workbench);
    // What stands at a place is drawn anew where it is of another group.
    let sections = move || {
        let all = state.shown.get();
        let kind = |(index, section): (usize, &Section)| {
            (index, section.form.as_ref().map(|group| group.number), section.placement.is_folded)
        };
        let is_here = |(_, section): &(usize, &Section)| section.placement.is_aside == is_aside;
        all.iter()
            .flat_map(|shown| shown.report.sections.iter().enumerate().filter(is_here).map(kind))
            .collect::<Vec<_>>()
    };
    let section = move |(index, ..): (usize, Option<u8>, bool)| {
        let find = move |report: &Report| report.sections.get(index).cloned();
        // A section that two answers have in common is not drawn again.
        let section = Memo::new(move |_| state.shown.with(|shown| find(&shown.as_ref()?.report)));
        let group = Signal::derive(move || section.with(|section| Some(section.as_ref()?.form.as_ref()?.number)));
        let submit = Signal::derive(move || section.with(|section| section.as_ref()?.placement.submit.clone()));
        let form = view! { <GroupForm workbench group submit /> }.into_any();
        view! { <SectionView section=section id=format!("section-{index}") form /> }
    };
    view! { <For each=sections key=|section| *section children=section /> }
}

/// Why the choices are not answered, with a button that tries again.
pub fn why_unanswered(session: Session, workbench: Workbench) -> Option<AnyView> {
    let state = session.state_of(workbench);
    let (heading, why, is_wrong) = match state.study.get() {
        StudyState::Refused(why) => {
            let alert = view! {
                <section class="panel" role="alert">
                    <h2>{words(workbench).refused}</h2>
                    <p class="wrong">{why}</p>
                </section>
            };
            return Some(alert.into_any());
        }
        StudyState::Failed(why) => ("The study has stopped", why, true),
        // A partial answer is continued by the button in the status line.
        StudyState::Cancelled if !state.is_partial() => {
            ("The study was cancelled", "Choose something else or press the button to start again.".to_owned(), false)
        }
        _ => return None,
    };
    let older =
        state.has_answer().then(|| view! { <p class="small">"The results below are from an earlier study."</p> });
    let view = view! {
        <section class="panel" role=if is_wrong { "alert" } else { "status" }>
            <h2>{heading}</h2>
            <p class:wrong=is_wrong>{why}</p>
            {older}
            <button type="button" class="study-again" on:click=move |_| session.study(workbench)>"Study again"</button>
        </section>
    };
    Some(view.into_any())
}

/// The parameters that the answer was computed with.
#[component]
fn ComputedWith(workbench: Workbench) -> impl IntoView {
    let state = expect_context::<Session>().state_of(workbench);
    let row = |Fact { name, value }: Fact| view! { <dt>{name}</dt> <dd>{value}</dd> };
    let listed = ListLimit::initial();
    let facts = move || {
        let first = |shown: &crate::workbench::WorkbenchView| {
            shown.report.parameters.iter().take(listed.get()).cloned().collect::<Vec<_>>()
        };
        let facts = state.shown.with(|shown| shown.as_ref().map(|shown| first(shown)));
        facts.unwrap_or_default().into_iter().map(row).collect_view()
    };
    let all = move || state.shown.with(|shown| shown.as_ref().map_or(0, |shown| shown.report.parameters.len()));
    view! {
        <Show when=move || state.has_answer()>
            <section class="panel" aria-labelledby="basis-heading">
                <h2 id="basis-heading">"Computed with"</h2>
                <dl class="facts">{reactive(facts)}</dl>
                {listed.more_button(all)}
            </section>
        </Show>
    }
}
