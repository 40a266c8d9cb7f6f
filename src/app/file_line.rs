//! The line of a file from which a point of a chart comes: where it stands, and a dialog that shows it.

use leptos::{html, prelude::*, task::spawn_local};

use super::{
    reactive::{handler, modal, reactive},
    session::{Session, workers::client::JobKind},
    signal::RwSignal,
};
use crate::{
    intake::lines::FileLines,
    plot::FileLine,
    text::{visible, visible_lines},
    units::count,
    worker::protocol::{Request, Response},
};

/// The line that the dialog shows. Copies share it.
#[derive(Clone, Copy)]
pub struct ShownLine {
    shown: RwSignal<Option<FileLine>>,
    content: RwSignal<Option<Result<FileLines, String>>>,
}

impl ShownLine {
    pub fn new() -> Self {
        Self { shown: RwSignal::new(None), content: RwSignal::new(None) }
    }

    /// Opens the dialog, and has the worker look for the line.
    pub fn open(self, session: Session, line: FileLine) {
        self.content.set(None);
        self.shown.set(Some(line));
        let (_, handles) = session.to_load(&[line.file.into()]);
        spawn_local(async move {
            let request = Request::ReadLine(line.line);
            let answer = session.main().ask(JobKind::Quick, request, &handles, Box::new(|_| ())).await;
            let content = match answer.map(|answer| answer.response) {
                Ok(Response::Lines(lines)) => Ok(lines),
                Ok(_) => return,
                Err(failure) => Err(failure.to_string()),
            };
            if self.shown.get_untracked() == Some(line) {
                self.content.set(Some(content));
            }
        });
    }
}

/// Where a point comes from: `sweep.csv, line 214, and 4 more lines`; `None` if the file is not open.
pub fn place_text(session: Session, line: FileLine) -> Option<String> {
    let name = session.files.with(|files| {
        let file = files.iter().find(|file| file.id == u32::from(line.file))?;
        Some(file.handle.name())
    })?;
    let others =
        if line.others > 0 { format!(", and {}", count(line.others.into(), "more line")) } else { String::new() };
    Some(format!("{}, line {}{others}", visible(&name), line.line))
}

/// The button that shows the line.
#[component]
pub fn FileLineButton(line: FileLine, text: String) -> impl IntoView {
    let (session, shown): (Session, ShownLine) = (expect_context(), expect_context());
    view! {
        <button type="button" class="chart-line" on:click=handler(move |_| shown.open(session, line))>{text}</button>
    }
}

/// The dialog, empty while it is closed.
#[component]
pub fn FileLineDialog() -> impl IntoView {
    let (session, ShownLine { shown, content }): (Session, ShownLine) = (expect_context(), expect_context());
    let dialog = NodeRef::<html::Dialog>::new();
    modal(dialog, move || shown.with(Option::is_some));
    let heading = move || place_text(session, FileLine { others: 0, ..shown.get()? });
    let body = move || {
        let line = shown.get()?;
        Some(match content.get() {
            None => view! { <p role="status">"Looking for the line …"</p> }.into_any(),
            Some(Err(why)) => view! { <p class="wrong" role="alert">{why}</p> }.into_any(),
            Some(Ok(found)) => lines(found, line.line).into_any(),
        })
    };
    view! {
        <dialog node_ref=dialog class="share-dialog" aria-labelledby="file-line-heading" on:close=handler(move |_| shown.set(None))>
            <div class="share-head">
                <h2 id="file-line-heading">{reactive(heading)}</h2>
                <button type="button" class="quiet" aria-label="Close" on:click=handler(move |_| shown.set(None))>"×"</button>
            </div>
            {reactive(body)}
        </dialog>
    }
}

/// The cells of the line with their headers, and the lines around it as they stand in the file.
fn lines(FileLines { lines, cells }: FileLines, wanted: u32) -> impl IntoView {
    let cell = |(header, cell): (String, String)| {
        view! { <dt>{visible_lines(&header).into_owned()}</dt><dd>{visible_lines(&cell).into_owned()}</dd> }
    };
    let line = |(number, text): (u32, String)| {
        let text = format!("{number:>7}  {}\n", visible(&text));
        if number == wanted { view! { <mark>{text}</mark> }.into_any() } else { text.into_any() }
    };
    let cells = cells.into_iter().map(cell).collect_view();
    view! {
        <dl class="chart-values line-cells">{cells}</dl>
        <pre class="line-text" tabindex="0" aria-label="Lines of the file">{lines.into_iter().map(line).collect_view()}</pre>
    }
}
