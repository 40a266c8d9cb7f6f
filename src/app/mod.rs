//! The page.
//!
//! [`session`] holds the state: open files, tasks, notices, workers, and the state of each workbench. [`tuning`] draws
//! the tuning workbench, [`workbench`] draws any other from data, [`welcome`] is shown before anything is open.
//!
//! [`tabs`] is the row of sections that every workbench has. [`drop`] opens files and [`files`] lists them;
//! [`example`] opens examples, [`file_store`] keeps files on the device and [`file_line`] shows a line of one.
//! [`chart`], [`table`] and [`network`] show results, with a [`menu`] each; [`status`] shows tasks and notices,
//! [`found`] what each workbench has; [`measure`] says how to make a file, [`terms`] explains labels, [`focus`] says
//! where the focus goes. [`history`] keeps the address and the history of the browser. [`share`] writes reports,
//! [`report`] shows reports. [`worker_entry`] is the program of the workers.

mod browser_tasks;
pub mod chart;
mod clipboard;
mod command_line;
mod commands;
mod diagnostics;
mod drop;
mod example;
mod executor;
mod export;
mod fields;
mod file_line;
mod file_store;
mod files;
mod focus;
mod found;
mod history;
mod js_error;
mod lazy;
mod list;
mod listing;
mod measure;
mod menu;
mod network;
mod offline;
mod panic_page;
mod pass_value;
mod printing;
mod question;
mod reactive;
mod report;
mod session;
mod share;
mod signal;
mod status;
mod table;
mod tabs;
mod terms;
mod text_file;
mod theme;
mod tuning;
mod welcome;
mod words;
mod workbench;
mod worker_code;
pub mod worker_entry;

use std::cell::Cell;

use crate::app::reactive::{Show, effect, handler, reactive};
use leptos::{mount::mount_to_body, prelude::*};
use wasm_bindgen::JsCast;

use crate::{
    app::signal::{RwSignal, memo},
    form::{self, Choices},
    report::{Workbench, link},
    tuning::address::Address,
    units::grouped,
};
use chart::linked::Links;
use diagnostics::now_ms;
use drop::{DropZone, MAX_FILES, OnFiles, OpenButton, OpenedFiles};
use example::Example;
use file_line::{FileLineDialog, ShownLine};
use file_store::FileStore;
use focus::Focus;
use found::Found;
use printing::Printing;
use report::{ReportPage, ReportReader};
use session::Session;
use share::{Share, ShareDialog};
use status::{Notices, Status};
use terms::Explanation;
use theme::{ActiveTheme, ThemeChoice};
use tuning::{MappingDialog, Tuning};
use welcome::Welcome;
use words::{WorkbenchWords, words};
use workbench::WorkbenchPage;

/// Draws the page into the body of the document.
pub fn run() {
    panic_page::install();
    executor::install();
    mount_to_body(App);
}

#[component]
fn App() -> impl IntoView {
    let printing = Printing::new();
    provide_context(ActiveTheme::new(printing));
    provide_context(printing);
    provide_context(Links::default());
    provide_context(ShownLine::new());
    let fragment = history::fragment();
    let address = Address::parse(&fragment);
    let names_example = address.as_ref().is_ok_and(|address| address.example);
    let choices = if address.is_ok() { Choices::parse(&fragment) } else { Choices::default() };
    let broken_link = address.err().filter(|_| !link::is_report(&fragment));
    let reader = ReportReader::new();
    provide_context(reader);
    let workbench = Workbench::of(&fragment);
    let session = Session::new(workbench, &choices, names_example);
    session.state_of(workbench).tab.set(form::tab(&fragment));
    provide_context(session);
    provide_context(Focus::new(session));
    reader.open_address(&fragment);
    reader.open_loaded_reports(session);
    let collecting = RwSignal::new(false);
    let file_store = FileStore::new(session);
    provide_context(file_store);
    let on_files = OnFiles::new(move |OpenedFiles { files, too_many }| {
        if too_many {
            session.notify(format!("Only the first {} files were opened.", grouped(MAX_FILES as u64)), true, None);
        }
        reader.close();
        file_store.add(&files);
        session.open(files, false);
    });
    provide_context(on_files);
    let example = Example::fetch(session);
    provide_context(example);
    commands::listen();
    offline::notify_of_update(session);
    history::synchronize(session, reader, example, broken_link);
    let share = Share::new();
    provide_context(share);
    check_workers_every_second(session);
    show_state(session, collecting, example);

    let tab = move |workbench: Workbench| {
        let is_shown = move || !reader.is_open() && session.workbench.get() == workbench;
        let is_loaded = move || session.has_files_of(workbench);
        view! {
            <a
                class="tab"
                class:is-loaded=is_loaded
                href=workbench.fragment()
                title=move || is_loaded().then_some("Files are open for this workbench")
                aria-current=move || is_shown().then_some("page")
            >
                {workbench.name()}
            </a>
        }
    };
    let has_files = move || session.has_files() || !session.needs_files(session.workbench.get());
    let is_reading = move || reader.is_open();
    view! {
        <header class="masthead">
            // web/boot.js listens to it.
            <button type="button" id="skip">"Skip to the content"</button>
            <a class="wordmark" href="#">"Collectune"</a>
            <nav aria-label="Workbenches">
                {Workbench::ALL.iter().copied().map(tab).collect_view()}
            </nav>
            <div class="masthead-tools">
                <Show when=has_files>
                    <OpenButton on_files />
                </Show>
                <Show when=move || share.has_report(session, reader)>
                    <button type="button" class="share" on:click=handler(move |_| share.open())>"Share"</button>
                </Show>
                <ThemeChoice />
                <button type="button" class="quiet" data-open="commands" title="Commands and keys (?)" aria-label="Commands and keys">"?"</button>
                <button type="button" class="quiet" data-open="about">"About"</button>
            </div>
        </header>
        <Status />
        <Notices />
        <Found />
        <Show when=is_reading fallback=move || view! { <ShownWorkbench /> }>
            <ReportPage />
        </Show>
        <ShareDialog />
        <MappingDialog />
        <FileLineDialog />
        <DropZone on_files collecting />
        <Explanation />
        <div class="visually-hidden" role="status" aria-live="polite">{reactive(move || session.announcement.get())}</div>
    }
}

/// The chosen workbench, or its welcome page if no file is open.
#[component]
fn ShownWorkbench() -> impl IntoView {
    let session: Session = expect_context();
    let here = memo(move || session.workbench.get());
    let welcome = || {
        let WorkbenchWords { lead, reads, .. } = words(Workbench::Tuning);
        view! { <Welcome workbench=Workbench::Tuning lead reads /> }
    };
    let shows_tuning = move || {
        let has_own = session.has_files() && !session.shows_other_example(Workbench::Tuning);
        has_own || !session.needs_files(Workbench::Tuning)
    };
    let tuning = move || {
        view! {
            <Show when=shows_tuning fallback=welcome>
                <Tuning />
            </Show>
        }
    };
    reactive(move || match here.get() {
        Workbench::Tuning => tuning().into_any(),
        workbench => view! { <WorkbenchPage workbench /> }.into_any(),
    })
}

/// Checks once a second whether the workers still answer, while the page is visible. A check that comes late is left
/// out: the page itself was busy and could not receive messages, so the workers' silence means nothing.
fn check_workers_every_second(session: Session) {
    const LATE_MS: f64 = 1500.0;
    let last_ms = Cell::new(now_ms());
    let check = move || {
        let before_ms = last_ms.replace(now_ms());
        let is_late = last_ms.get() - before_ms > LATE_MS;
        if !is_late && document().visibility_state() == web_sys::VisibilityState::Visible {
            session.check_workers();
        }
    };
    if let Ok(handle) = set_interval_with_handle(check, std::time::Duration::from_secs(1)) {
        on_cleanup(move || handle.clear());
    }
}

/// Sets `data-state` of `<html>` to `loading`, `busy`, `idle` or `failed`, for style sheets and tests.
fn show_state(session: Session, collecting: RwSignal<bool>, example: Example) {
    let state = memo(move || {
        if example.has_failed() {
            "failed"
        } else if !example.is_settled() {
            "loading"
        } else if collecting.get() || session.is_busy() {
            "busy"
        } else {
            "idle"
        }
    });
    effect(move || {
        if let Some(root) = document().document_element() {
            let root: web_sys::HtmlElement = root.unchecked_into();
            let _ = root.set_attribute("data-state", state.get());
        }
    });
}
