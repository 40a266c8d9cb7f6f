//! The status line and the notices.

use crate::app::reactive::{For, Show, handler, reactive};
use leptos::prelude::*;

use crate::{report::Workbench, text::visible_lines, tuning::result::AnswerBasis};

use super::{
    focus::Focus,
    offline,
    report::ReportReader,
    session::{Notice, NoticeAction, Session, StudyState},
    words::words,
};

/// A line of constant height: the task under way with a Cancel button, otherwise what the answer is based on.
#[component]
pub fn Status() -> impl IntoView {
    let session: Session = expect_context();
    let task = move || session.current_task();
    let working = move || task().is_some();
    view! {
        <section class="status" aria-label="Work under way">
            <Show when=working fallback=|| view! { <IdleStatus /> }>
                <TaskStatus />
            </Show>
        </section>
    }
}

#[component]
fn TaskStatus() -> impl IntoView {
    let session: Session = expect_context();
    let words = move || {
        let task = session.current_task().unwrap_or_default();
        if task.step.doing.is_empty() { task.name.to_owned() } else { format!("{}: {}", task.name, task.step.doing) }
    };
    let share = move || {
        let step = session.current_task().unwrap_or_default().step;
        (step.total > 0).then(|| (step.done.min(step.total) as f64 / step.total as f64).clamp(0.0, 1.0))
    };
    let percent = move || share().map(|share| format!("{:.0} %", share * 100.0));
    view! {
        <span class="status-words">{words}</span>
        <progress max="1" value=share aria-label=words></progress>
        <span class="status-percent">{reactive(percent)}</span>
        <Show when=move || session.is_silent.get()>
            <span class="status-silent">"The worker has not responded for some time."</span>
            <button type="button" on:click=handler(move |_| session.restart())>"Restart it"</button>
        </Show>
        <button type="button" class="cancel" on:click=handler(move |_| session.cancel())>"Cancel"</button>
    }
}

#[component]
fn IdleStatus() -> impl IntoView {
    let session: Session = expect_context();
    let reader: ReportReader = expect_context();
    // An opened report shows this by itself.
    let here = move || session.workbench.get();
    let has_answer = move || session.tuning.has_data() && !reader.is_open() && here() == Workbench::Tuning;
    // The panels of tuning are answered as they are shown; its status is that of training.
    let is_other = move || here() != Workbench::Tuning && !reader.is_open();
    let has_shown = move || is_other() && session.state_of(here()).has_answer();
    let is_partial = move || has_shown() && session.state_of(here()).is_partial();
    let is_complete = move || session.state_of(here()).study.with(|state| *state == StudyState::Answered);
    // Other settings were chosen and their training was cancelled, or the worker was ended since.
    let is_earlier = move || session.state_of(here()).goes_on() || !session.is_in_worker.get();
    let state = move || match (has_answer(), session.tuning.basis.get()) {
        _ if is_partial() => words(here()).partial,
        _ if has_shown() && is_complete() => words(here()).complete,
        _ if has_shown() => "These choices have not been answered yet.",
        (false, _) => "",
        (true, AnswerBasis::Measured) => "The answer is based on measurements only.",
        (true, AnswerBasis::Trained) => "The answer is that of the model, which is not validated.",
        (true, AnswerBasis::Validated) if is_earlier() => {
            "The answer is that of the last training that was validated, with the settings of then."
        }
        (true, AnswerBasis::Validated) => "The answer is validated on held-out measurements.",
    };
    // A worker that was ended has to learn again before it can be asked more.
    let untrained = move || has_answer() && (session.state_of(here()).is_partial() || !session.is_in_worker.get());
    view! {
        <span class="status-words">{state}</span>
        <Show when=untrained>
            <button type="button" class="train" on:click=handler(move |_| session.study(here()))>"Train"</button>
        </Show>
        <Show when=is_partial>
            <button type="button" class="train" on:click=handler(move |_| session.study(here()))>{move || words(here()).again}</button>
        </Show>
    }
}

/// The notices, until they are dismissed.
#[component]
pub fn Notices() -> impl IntoView {
    let session: Session = expect_context();
    view! {
        <div class="notices">
            <For
                each=move || session.notices.get()
                key=|notice| notice.id
                children=move |notice| view! { <NoticeView notice /> }
            />
        </div>
    }
}

#[component]
fn NoticeView(notice: Notice) -> impl IntoView {
    let session: Session = expect_context();
    let Notice { id, text, is_error, action } = notice;
    let focus: Focus = expect_context();
    let dismiss = move || {
        let others = session.notices.with_untracked(|notices| {
            let at = notices.iter().position(|notice| notice.id == id).unwrap_or_default();
            let (before, after) = (notices.iter().take(at).rev(), notices.iter().skip(at + 1));
            after.chain(before).map(|other| format!("#notice-{} .quiet", other.id)).collect()
        });
        focus.go_on(others);
        session.notices.update(|notices| notices.retain(|notice| notice.id != id));
    };
    let button = action.map(|action| {
        let (label, act): (_, fn(Session)) = match action {
            NoticeAction::ReadAgain => ("Read again", Session::load),
            NoticeAction::Reload => ("Reload the page", |_| offline::reload()),
        };
        let act = move |_| {
            dismiss();
            act(session);
        };
        view! {
            <button type="button" on:click=handler(act)>
                {label}
            </button>
        }
    });
    view! {
        <div class="notice" id=format!("notice-{id}") class:is-error=is_error role=if is_error { "alert" } else { "status" }>
            <p>{visible_lines(&text).into_owned()}</p>
            {button}
            <button type="button" class="quiet" aria-label="Dismiss" on:click=handler(move |_| dismiss())>"×"</button>
        </div>
    }
}
