//! What was found in the files of several workbenches: a line for each, which leads there.

use leptos::prelude::*;

use super::{focus::Focus, report::ReportReader, session::Session};
use crate::{
    app::{
        reactive::{handler, reactive},
        signal::RwSignal,
    },
    intake::{FileReport, Outcome},
    report::Workbench,
    units::count,
};

/// A line for each workbench that has files, where more than one has, until it is dismissed.
#[component]
pub fn Found() -> impl IntoView {
    let session: Session = expect_context();
    let focus: Focus = expect_context();
    let reader: ReportReader = expect_context();
    // The number of the last file when it was dismissed; files that are opened later show it again.
    let dismissed = RwSignal::new(0);
    let last = move || session.reports.with(|files| files.iter().map(|file| file.id).max().unwrap_or_default());
    let dismiss = move |_| {
        dismissed.set(last());
        focus.go_on(Vec::new());
    };
    let line = move |(workbench, holds): (Workbench, String)| {
        let is_here = move || session.workbench.get() == workbench;
        view! {
            <li>
                <a href=workbench.fragment() aria-current=move || is_here().then_some("page")>
                    {workbench.name()}
                </a>
                {format!(": {holds}")}
            </li>
        }
    };
    let not_read = move || {
        let refused = |file: &&FileReport| matches!(file.outcome, Outcome::Refused(_) | Outcome::NeedsMapping(_));
        let refused = session.reports.with(|files| files.iter().filter(refused).count());
        let failed = session.files.with(|files| files.iter().filter(|file| file.not_read.is_some()).count());
        match (refused + failed) as u64 {
            0 => String::new(),
            number => format!("{} not read.", count(number, "file")),
        }
    };
    reactive(move || {
        let found: Vec<_> = Workbench::ALL.iter().filter_map(|of| Some((*of, holds(session, *of)?))).collect();
        (found.len() > 1 && last() > dismissed.get() && !reader.is_open()).then(|| {
            view! {
                <section class="notice found" aria-label="What was found">
                    <ul>{found.into_iter().map(line).collect_view()}</ul>
                    <p class="wrong">{not_read()}</p>
                    <button type="button" class="quiet" aria-label="Dismiss what was found" on:click=handler(dismiss)>
                        "×"
                    </button>
                </section>
            }
        })
    })
}

/// What the files of a workbench hold; `None` if it has no files.
fn holds(session: Session, workbench: Workbench) -> Option<String> {
    let counted = |number: usize, name: &str| (number > 0).then(|| count(number as u64, name));
    let parts = if workbench == Workbench::Tuning {
        let rows = |file: &FileReport| match file.outcome {
            Outcome::Loaded { rows, .. } => Some(rows),
            _ => None,
        };
        let rows = session.reports.with(|files| files.iter().filter_map(rows).collect::<Vec<_>>());
        session.documents.with(|documents| {
            [
                counted(rows.len(), "sweep"),
                counted(rows.iter().sum::<u64>() as usize, "row"),
                counted(documents.confs.len(), "tuner file"),
                counted(documents.jobs.len(), "log"),
                counted(documents.comparisons.len(), "comparison"),
                counted(documents.listings.len(), "table"),
                counted(documents.journals.len(), "journal"),
            ]
        })
    } else {
        let files: Vec<u32> = session.documents.with(|documents| documents.of(workbench).collect());
        let format = match files.as_slice() {
            [only] => session.reports.with(|reports| format_of(reports.iter().find(|file| file.id == *only)?)),
            _ => None,
        };
        [counted(files.len(), "file"), format, None, None, None, None, None]
    };
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What a file is and what it holds.
fn format_of(file: &FileReport) -> Option<String> {
    match &file.outcome {
        Outcome::Known { format, holds, .. } if holds.is_empty() => Some(format.clone()),
        Outcome::Known { format, holds, .. } => Some(format!("{format}, {holds}")),
        _ => None,
    }
}
