//! The panel of open files: rows, what was left out and why, and a button that closes each file.

use leptos::{ev, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::Element;

use super::{
    fields::filter_field,
    focus::Focus,
    list::{INITIAL_ITEMS, ListLimit, Sentences, first_sentences},
    report::ReportReader,
    session::{OpenFile, Session},
    signal::{RwSignal, memo},
};
use crate::{
    app::reactive::{For, Show, handler, reactive},
    intake::{FileReport, MappingRequest, Outcome},
    order::CompactSort,
    text::{Problems, visible, visible_lines},
    tuning::wording::group,
    units::{count, file_size, grouped},
};

/// The number of problems that are listed.
const LISTED: usize = 200;

/// The open files, each with its result.
#[component]
pub fn Files() -> impl IntoView {
    let session: Session = expect_context();
    let shown = ListLimit::initial();
    let filter = RwSignal::new(String::new());
    // In a long list, files that could not be read come first, where they are found.
    let open = memo(move || -> Vec<(u32, String)> {
        let wanted = filter.with(|filter| filter.to_lowercase());
        let mut in_trouble: Vec<u32> =
            session.reports.with(|all| all.iter().filter(is_in_trouble).map(|r| r.id).collect());
        in_trouble.compact_sort();
        session.files.with(|files| {
            let named = |file: &OpenFile| (file.id, file.handle.name());
            let all = files
                .iter()
                .map(|file| (file.not_read.is_none() && in_trouble.binary_search(&file.id).is_err(), named(file)));
            let kept = all.filter(|(_, (_, name))| wanted.is_empty() || name.to_lowercase().contains(&wanted));
            let mut kept: Vec<_> = kept.collect();
            if files.len() > INITIAL_ITEMS {
                kept.compact_sort_by_key(|(is_read, _)| *is_read);
            }
            kept.into_iter().map(|(_, file)| file).collect()
        })
    });
    let is_long = move || session.files.with(|files| files.len() > INITIAL_ITEMS);
    let listed = move || open.with(|open| open.iter().take(shown.get()).cloned().collect::<Vec<_>>());
    let groups = move |most: usize| {
        session.tuning.groups.with(|groups| (groups.iter().take(most).map(group).collect(), groups.len()))
    };
    let notes = move |most: usize| {
        session.tuning.notes.with(|notes| {
            (notes.iter().flatten().take(most).cloned().collect(), notes.iter().map(Vec::len).sum::<usize>())
        })
    };
    let row = |(id, name): (u32, String)| view! { <FileRow id name /> };
    let summary = memo(move || FilesSummary::of(session));
    let badge = |(text, is_wrong): (String, bool)| view! { <span class="badge" class:wrong=is_wrong>{text}</span> };
    let badges = move || summary.with(|summary| summary.badges.clone()).into_iter().map(badge).collect_view();
    view! {
        // A file that asks something of the user is in view.
        <details class="panel open-files" prop:open=move || summary.with(|summary| summary.offers_action)>
            <summary>
                <bdi>{reactive(move || summary.with(|summary| summary.text.clone()))}</bdi>
                {reactive(badges)}
            </summary>
            <Show when=is_long>
                {filter_field("Filter files", filter)}
            </Show>
            <ul class="files">
                <For each=listed key=|(id, _)| *id children=row />
            </ul>
            {shown.more_button(move || open.with(Vec::len))}
            <Sentences class="groups" first=groups />
            <Sentences class="notes" first=notes />
        </details>
    }
}

/// The open files in a line.
#[derive(Clone, PartialEq)]
struct FilesSummary {
    /// Their name or number, and what they hold.
    text: String,
    /// What was not used of them, and whether something is wrong.
    badges: Vec<(String, bool)>,
    /// Whether a file can't be used before the user does something, or is a report that can be shown.
    offers_action: bool,
}

impl FilesSummary {
    fn of(session: Session) -> Self {
        let name = session.files.with(|files| match files.as_slice() {
            [only] => visible(&only.handle.name()).into_owned(),
            files => count(files.len() as u64, "file"),
        });
        let not_read = session.files.with(|files| files.iter().filter(|file| file.not_read.is_some()).count());
        let has_report = session.documents.with(|all| !all.reports.is_empty());
        session.reports.with(|reports| {
            let (mut rows, mut left_out, mut notes, mut holds) = (0, 0, 0, Vec::new());
            for report in reports.iter() {
                let (problems, own_notes) = match &report.outcome {
                    Outcome::Loaded { rows: own, problems, notes, .. } => {
                        rows += own;
                        (problems, notes)
                    }
                    Outcome::Known { holds: own, problems, notes, .. } => {
                        holds.push(own.as_str());
                        (problems, notes)
                    }
                    Outcome::NeedsMapping(_) | Outcome::Refused(_) => continue,
                };
                left_out += problems.count;
                notes += own_notes.len();
            }
            notes += session.tuning.notes.with(|notes| notes.iter().map(Vec::len).sum::<usize>());
            let in_trouble = reports.iter().filter(is_in_trouble).count() + not_read;
            let rows = (rows > 0).then(|| count(rows, "row"));
            let holds = match holds.as_slice() {
                [only] if !only.is_empty() => Some((*only).to_owned()),
                _ => None,
            };
            let parts: Vec<String> = std::iter::once(name).chain(rows).chain(holds).collect();
            let badges = [
                (in_trouble > 0).then(|| (format!("{in_trouble} not read"), true)),
                (left_out > 0).then(|| (format!("{} left out", count(left_out, "line")), true)),
                (notes > 0).then(|| (count(notes as u64, "note"), false)),
            ];
            Self {
                text: parts.join(" · "),
                badges: badges.into_iter().flatten().collect(),
                offers_action: in_trouble > 0 || has_report,
            }
        })
    }
}

/// Whether a file can't be used before the user does something.
fn is_in_trouble(report: &&FileReport) -> bool {
    matches!(report.outcome, Outcome::Refused(_) | Outcome::NeedsMapping(_))
}

#[component]
fn FileRow(id: u32, name: String) -> impl IntoView {
    let session: Session = expect_context();
    let report = memo(move || {
        session.reports.with(|reports| reports.iter().find(|report: &&FileReport| report.id == id).cloned())
    });
    let shown_name = name.clone();
    let name = visible(&name).into_owned();
    let close = format!("Close {name}");
    let left_out = memo(move || {
        session.files.with(|files| files.iter().find(|file| file.id == id).and_then(|file| file.not_read.clone()))
    });
    let is_unread =
        move || report.with(Option::is_none) && left_out.with(Option::is_none) && session.task.with(Option::is_none);
    let not_read = move |why: String| {
        view! {
            <p class="file-facts wrong">"Not read: " {visible_lines(&why).into_owned()} "."</p>
            <button type="button" on:click=handler(move |_| session.read_again(id))>"Try again"</button>
        }
    };
    let reader: ReportReader = expect_context();
    let is_report = move || session.documents.with(|all| all.reports.contains(&id));
    let read = move |_| reader.open_file(session, id, shown_name.clone());
    let focus: Focus = expect_context();
    let on_close = move |event: ev::MouseEvent| {
        focus.go_on(after(&event));
        session.close(id);
    };
    let mapped = move || {
        report.track();
        session.files.with(|files| files.iter().find(|file| file.id == id)?.mapping.clone()).map(|(request, _)| request)
    };
    view! {
        <li class="file" id=format!("file-{id}")>
            <div class="file-head">
                <bdi class="file-name" title=name.clone()>
                    {name.clone()}
                </bdi>
                <button type="button" class="quiet" aria-label=close on:click=handler(on_close)>
                    "×"
                </button>
            </div>
            {reactive(move || report.get().map(|report| view! { <ReportView report /> }))}
            {reactive(move || is_report().then(|| view! { <button type="button" on:click=handler(read.clone())>"Show the report"</button> }))}
            {reactive(move || left_out.get().map(not_read))}
            <Show when=is_unread>
                <p class="small">"Not read."</p>
            </Show>
            {reactive(move || mapped().map(|request| view! { <AskForColumns id request label="Change the columns" /> }))}
        </li>
    }
}

/// What follows a closed file: the button of the next one, else of the one before, else the line of the files, or the
/// button that opens some.
fn after(event: &ev::MouseEvent) -> Vec<String> {
    let closed = event.target().and_then(|target| target.dyn_into::<Element>().ok()?.closest(".file").ok()?);
    let around = |file: Element| [file.next_element_sibling(), file.previous_element_sibling()];
    let buttons = closed.into_iter().flat_map(around).flatten().map(|file| format!("#{} .quiet", file.id()));
    buttons.chain([".open-files > summary", ".welcome-actions input"].map(str::to_owned)).collect()
}

#[component]
fn ReportView(report: FileReport) -> impl IntoView {
    let FileReport { id, size_bytes, outcome, .. } = report;
    match outcome {
        Outcome::Loaded { format, rows, default_rows, problems, notes } => {
            let default = if default_rows > 0 {
                format!(", {} of them default runs", grouped(default_rows))
            } else {
                String::new()
            };
            view! {
                <p class="file-facts">{count(rows, "row")} {default}</p>
                <p class="small">{format} ", " {file_size(size_bytes)}</p>
                <Sentences class="notes" first=move |most| first_sentences(&notes, most) />
                <ProblemList problems />
            }
            .into_any()
        }
        Outcome::Known { format, holds, problems, notes } => {
            // A file without counted parts has no lines that could be left out.
            let is_counted = !holds.is_empty() || problems.count > 0;
            view! {
                <p class="file-facts">{holds}</p>
                <p class="small">{format} ", " {file_size(size_bytes)}</p>
                <Sentences class="notes" first=move |most| first_sentences(&notes, most) />
                {is_counted.then(|| view! { <ProblemList problems /> })}
            }
            .into_any()
        }
        Outcome::NeedsMapping(request) => view! {
            <p class="file-facts wrong">{format!("Not read yet: {}.", request.problem)}</p>
            <AskForColumns id request label="Name the columns" />
        }
        .into_any(),
        Outcome::Refused(reason) => {
            view! { <p class="file-facts wrong">{visible_lines(&reason).into_owned()}</p> }.into_any()
        }
    }
}

#[component]
fn AskForColumns(id: u32, request: MappingRequest, label: &'static str) -> impl IntoView {
    let session: Session = expect_context();
    view! {
        <button type="button" on:click=handler(move |_| session.asking.set(Some((id, request.clone()))))>
            {label}
        </button>
    }
}

/// The table of the lines of a file that were left out: line, column, text, and what was expected.
#[component]
fn ProblemList(problems: Problems) -> impl IntoView {
    let is_open = RwSignal::new(false);
    let Problems { kept, count: all } = problems;
    if all == 0 {
        return view! { <p class="small">"Nothing was left out."</p> }.into_any();
    }
    let listed = kept.len().min(LISTED);
    let rest = all - listed as u64;
    let rows = move || {
        // The rows are built only when the list is opened.
        let row = |problem: &crate::text::Problem| {
            view! {
                <tr>
                    <td class="numeric">{problem.line}</td>
                    <td>
                        <bdi>{visible(&problem.column).into_owned()}</bdi>
                    </td>
                    <td class="verbatim">
                        <bdi>{visible(&problem.text).into_owned()}</bdi>
                    </td>
                    <td>{problem.expected.clone()}</td>
                </tr>
            }
        };
        is_open.get().then(|| kept.iter().take(LISTED).map(row).collect_view())
    };
    view! {
        <details class="problems" on:toggle:target=move |event| is_open.set(event.target().open())>
            <summary>{count(all, "line")} " left out"</summary>
            <div class="table-box" tabindex="0" role="region" aria-label="Lines left out">
                <table class="data">
                    <thead>
                        <tr>
                            <th scope="col" class="numeric">"Line"</th>
                            <th scope="col">"Column"</th>
                            <th scope="col">"Text"</th>
                            <th scope="col">"Why"</th>
                        </tr>
                    </thead>
                    <tbody>{reactive(rows)}</tbody>
                </table>
            </div>
            {(rest > 0).then(|| view! { <p class="small">"and " {count(rest, "further line")}</p> })}
        </details>
    }
    .into_any()
}
