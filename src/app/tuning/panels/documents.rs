//! The choice of a loaded file for a panel.

use leptos::prelude::*;

use crate::app::{
    fields::ChoiceField,
    session::{OpenFile, Session},
};

/// The name of an open file; empty if it is closed.
pub fn name_of(session: Session, file: u32) -> String {
    let name = |files: &Vec<OpenFile>| files.iter().find(|open| open.id == file).map(|o| o.handle.name());
    session.files.with(name).unwrap_or_default()
}

/// A choice among loaded files of a kind, or of none of them, again when the chosen one is closed.
#[derive(Clone, Copy)]
pub struct DocumentChoice {
    /// The numbers of all files of the kind.
    pub all: Memo<Vec<u32>>,
    /// The number of the chosen file; `None` if none is wanted.
    pub chosen: Memo<Option<u32>>,
    selection: RwSignal<Option<u32>>,
}

impl DocumentChoice {
    /// A choice among the files that `all` returns, at first none.
    pub fn new(all: impl Fn() -> Vec<u32> + Send + Sync + 'static) -> Self {
        let all = Memo::new(move |_| all());
        let selection = RwSignal::new(None);
        let chosen = Memo::new(move |_| selection.get().filter(|file| all.with(|all| all.contains(file))));
        Self { all, chosen, selection }
    }
}

/// The list of a [`DocumentChoice`].
#[component]
pub fn DocumentField(
    label: &'static str,
    choice: DocumentChoice,
    /// The name of the option for no file.
    none: &'static str,
) -> impl IntoView {
    let session: Session = expect_context();
    let choices = move || {
        let files = choice.all.get().into_iter().map(|file| (Some(file), name_of(session, file)));
        std::iter::once((None, none.to_owned())).chain(files).collect::<Vec<_>>()
    };
    view! { <ChoiceField label choices value=move || Some(choice.chosen.get()) on_value=move |file| choice.selection.set(file) /> }
}
