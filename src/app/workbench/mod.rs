//! The page of any workbench: its form and its report, both drawn from data. Tuning has a page of its own around them.

mod form;

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    chart::ChartView,
    command_line::CopyCommand,
    files::Files,
    focus::Focus,
    list::ListLimit,
    measure::NoFileYet,
    network::NetworkView,
    printing::Printing,
    report::{SectionView, figures_view},
    session::{Session, StudyState},
    tabs::{Tabs, tab_id},
    theme::ActiveTheme,
    welcome::Welcome,
    words::words,
};
use crate::{
    app::{
        reactive::{For, Show, effect, handler, reactive},
        signal::{Signal, memo},
    },
    form::Choices,
    plot::Pick,
    report::{Fact, Report, Section, Workbench, placement::Tab},
};
use form::{Actions, ChoiceBar, GroupForm};

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
                <aside class="bench-side" aria-label="Loaded files">
                    <Show when=move || session.has_files()>
                        <Files />
                    </Show>
                    <ComputedWith workbench />
                    <Show when=is_made>
                        <NoFileYet workbench chooses=false />
                    </Show>
                </aside>
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
    let tabs = memo(move || {
        let has_network = state.network.with(Option::is_some);
        state.shown.with(|shown| shown.as_ref().map(|shown| tabs_of(&shown.report, has_network)).unwrap_or_default())
    });
    let shown = memo(move || {
        let chosen = state.tab.get();
        let is_there = |all: &Vec<Tab>| all.iter().any(|tab| tab.key == chosen);
        tabs.with(|all| if is_there(all) { chosen.clone() } else { first_key(all) })
    });
    let choose = UnsyncCallback::new(move |key: String| {
        state.drag.set_value(None);
        state.tab.set(if tabs.with_untracked(|all| first_key(all)) == key { String::new() } else { key });
    });
    let Printing(is_printing) = expect_context();
    let shows_network =
        move || state.network.with(Option::is_some) && (shown.with(|key| *key == SCHEDULE.key) || is_printing.get());
    view! {
        {reactive(move || why_unanswered(session, workbench))}
        <Show when=move || state.has_answer()>
            <ChoiceBar workbench />
            <AnswerRow is_brief=memo(move || tabs.with(|all| first_key(all)) != shown.get())>
                <Answer workbench />
                <Picture workbench />
            </AnswerRow>
            <Tabs tabs shown choose />
            <div class="panels" role="tabpanel" id="panel" aria-labelledby=move || tab_id(&shown.get())>
                <Show when=shows_network>
                    <NetworkView workbench />
                </Show>
                <Sections workbench tab=shown />
            </div>
        </Show>
    }
}

/// The answer beside the picture that it is read from; the answer alone, in a line, where another tab than the first is
/// shown.
#[component]
pub fn AnswerRow(#[prop(into)] is_brief: Signal<bool>, children: Children) -> impl IntoView {
    let Printing(is_printing) = expect_context();
    let is_brief = move || is_brief.get() && !is_printing.get();
    view! {
        <div class="answer-row" class:is-brief=is_brief>
            {children()}
        </div>
    }
}

/// The first sentences of the answer with its figures, and the others on demand.
#[component]
fn Answer(workbench: Workbench) -> impl IntoView {
    let Printing(is_printing) = expect_context();
    let state = expect_context::<Session>().state_of(workbench);
    let of_report = move |of: fn(&Report) -> Vec<String>| {
        state.shown.with(|shown| shown.as_ref().map(|shown| of(&shown.report)).unwrap_or_default())
    };
    let title = move || of_report(|report| vec![report.title.clone()]);
    let sentence = |text: String| view! { <p class="sentence">{text}</p> };
    let sentences = move |of: fn(&Report) -> Vec<String>| of_report(of).into_iter().map(sentence).collect_view();
    let first = move || sentences(|report| report.summary.iter().take(report.sentences_in_view()).cloned().collect());
    let others = move || sentences(|report| report.summary.iter().skip(report.sentences_in_view()).cloned().collect());
    let has_others = move || {
        let is_cut = |report: &Report| report.summary.len() > report.sentences_in_view();
        state.shown.with(|shown| shown.as_ref().is_some_and(|shown| is_cut(&shown.report)))
    };
    let figures = move || {
        let figures = state.shown.with(|shown| shown.as_ref().map(|shown| shown.report.figures.clone()));
        figures_view(figures.unwrap_or_default())
    };
    view! {
        <section class="panel answer" aria-labelledby="answer-heading">
            <h2 id="answer-heading">{reactive(title)}</h2>
            {reactive(first)}
            {reactive(figures)}
            <Show when=has_others>
                <details class="more" prop:open=move || is_printing.get()>
                    <summary>"More about this answer"</summary>
                    {reactive(others)}
                </details>
            </Show>
            <div class="actions">
                <CopyCommand workbench />
                <Actions workbench />
            </div>
        </section>
    }
}

/// The chart that the answer is read from, of the first section that has one.
#[component]
fn Picture(workbench: Workbench) -> impl IntoView {
    let session: Session = expect_context();
    let state = session.state_of(workbench);
    let theme = expect_context::<ActiveTheme>().signal();
    let chart = memo(move || {
        let of = |report: &Report| {
            report.sections.iter().find(|section| section.placement.is_picture)?.charts.first().cloned()
        };
        state.shown.with(|shown| of(&shown.as_ref()?.report).map(Arc::new))
    });
    let pick = move |pick: Option<Pick>| {
        if let Some(chart) = chart.get_untracked() {
            session.choose_series(workbench, &chart, pick);
        }
    };
    view! {
        <Show when=move || chart.with(Option::is_some)>
            <section class="panel picture-panel" aria-label="Picture of the answer">
                <ChartView chart theme on_pick=pick />
            </section>
        </Show>
    }
}

/// The tab of the network view, which is no section of the report.
const SCHEDULE: Tab = Tab::new("schedule", "Schedule");

/// The tabs of a report, in the order of their first sections.
fn tabs_of(report: &Report, has_network: bool) -> Vec<Tab> {
    let mut tabs: Vec<Tab> = has_network.then_some(SCHEDULE).into_iter().collect();
    for tab in report.sections.iter().filter_map(|section| section.placement.tab.as_ref()) {
        if !tabs.contains(tab) {
            tabs.push(tab.clone());
        }
    }
    tabs
}

fn first_key(tabs: &[Tab]) -> String {
    tabs.first().map(|tab| tab.key.clone().into_owned()).unwrap_or_default()
}

/// The sections of the answer, each with the fields of its group.
#[component]
pub fn Sections(
    workbench: Workbench,
    /// The key of the tab whose sections are shown; all of them on paper, and without it.
    #[prop(optional, into)]
    tab: Option<Signal<String>>,
) -> impl IntoView {
    let state = expect_context::<Session>().state_of(workbench);
    let Printing(is_printing) = expect_context();
    // A section is told by its group and its place among those of the group, so that its fields stay, with the focus,
    // when sections of other groups come or go.
    let sections = move || {
        let all = state.shown.get();
        let wanted = tab.map(Signal::get).filter(|_| !is_printing.get());
        let Some(shown) = all else { return Vec::new() };
        let sections = &shown.report.sections;
        let is_here = |(_, section): &(usize, &Section)| {
            let tab = section.placement.tab.as_ref();
            wanted.as_ref().is_none_or(|wanted| tab.is_none_or(|tab| tab.key == *wanted))
        };
        let kind = |(index, section): (usize, &Section)| {
            let group = group_of(section);
            let before = sections.iter().take(index).filter(|other| group_of(other) == group).count();
            (group, before, section.placement.is_folded)
        };
        sections.iter().enumerate().filter(is_here).map(kind).collect::<Vec<_>>()
    };
    let section = move |(group, place, _): (Option<u8>, usize, bool)| {
        let is_of_group = move |section: &&Section| group_of(section) == group;
        let find = move |report: &Report| report.sections.iter().filter(is_of_group).nth(place).cloned();
        // A section that two answers have in common is not drawn again.
        let section = memo(move || state.shown.with(|shown| find(&shown.as_ref()?.report)));
        let submit = memo(move || section.with(|section| section.as_ref()?.placement.submit.clone()));
        let form = view! { <GroupForm workbench group submit /> }.into_any();
        let id = format!("section-{}-{place}", group.map_or(0, |number| number + 1));
        view! { <SectionView section=section id form /> }
    };
    view! { <For each=sections key=|section| *section children=section /> }
}

/// The number of the group whose form a section has.
fn group_of(section: &Section) -> Option<u8> {
    section.form.as_ref().map(|group| group.number)
}

/// Why the choices are not answered, with a button that tries again.
pub fn why_unanswered(session: Session, workbench: Workbench) -> Option<AnyView> {
    let state = session.state_of(workbench);
    // Where the form was never shown, a wrong choice of an address can't be mended in it.
    let has_choices = workbench != Workbench::Tuning && state.choices.with(|choices| !choices.is_empty());
    let focus: Focus = expect_context();
    let reset = move || {
        let click = handler(move |_| {
            focus.go_on(Vec::new());
            session.choose_all(workbench, Choices::default());
        });
        view! { <button type="button" class="study-again" on:click=click>"Take back all choices"</button> }
    };
    let (heading, why, is_wrong) = match state.study.get() {
        StudyState::Refused(why) => {
            let alert = view! {
                <section class="panel" role="alert">
                    <h2>{words(workbench).refused}</h2>
                    <p class="wrong">{why}</p>
                    {has_choices.then(reset)}
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
            <button type="button" class="study-again" on:click=handler(move |_| session.study(workbench))>"Study again"</button>
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
            <details class="panel">
                <summary>"Computed with"</summary>
                <dl class="facts">{reactive(facts)}</dl>
                {listed.more_button(all)}
            </details>
        </Show>
    }
}
