//! The button that copies the command lines of an answer, and shows them.

use leptos::prelude::*;

use super::{
    reactive::{Show, handler, reactive},
    session::Session,
    signal::{RwSignal, memo},
    text_file::Notes,
};
use crate::{report::Workbench, workbench::AttachmentKind};

/// A button that copies the command lines that give the answer on view; they are shown below it once it was pressed.
#[component]
pub fn CopyCommand(workbench: Workbench) -> impl IntoView {
    let session: Session = expect_context();
    let shown = session.state_of(workbench).shown;
    let commands =
        memo(move || shown.with(|shown| shown.as_ref()?.attachment::<(String, Vec<String>)>(AttachmentKind::Commands)));
    let text = move || commands.with(|told| told.as_ref().map(|(text, _)| text.clone()).unwrap_or_default());
    let left_out = move || {
        let notes = commands.get().map(|(_, left_out)| left_out).unwrap_or_default();
        view! { <Notes notes /> }
    };
    let is_open = RwSignal::new(false);
    let copy = move |_| {
        is_open.set(true);
        session.copy(untrack(text), "select the command");
    };
    view! {
        <Show when=move || !text().is_empty()>
            <div class="command-line">
                <button type="button" class="copy-command" on:click=handler(copy)>"Copy as command"</button>
                <Show when=move || is_open.get()>
                    <pre class="text" tabindex="0" role="group" aria-label="Command">{reactive(text)}</pre>
                    {reactive(left_out)}
                </Show>
            </div>
        </Show>
    }
}
