//! Which of the loaded documents a panel is about.

use leptos::prelude::*;

use crate::app::{
    fields::ChoiceField,
    session::{OpenFile, Session},
};

/// The name of an open file.
pub fn name_of(session: Session, file: u32) -> String {
    let name = |files: &Vec<OpenFile>| files.iter().find(|open| open.id == file).map(|o| o.handle.name());
    session.files.with(name).unwrap_or_default()
}

/// A choice among loaded documents. It stays with the newest until another is chosen, and falls back to it when the
/// chosen one is closed.
#[derive(Clone, Copy)]
pub struct DocumentChoice {
    /// All of the kind, by file number.
    pub all: Memo<Vec<u32>>,
    /// The chosen one; `None` where there is none, or none is wanted.
    pub chosen: Memo<Option<u32>>,
    selection: RwSignal<Selection>,
}

#[derive(Clone, Copy, PartialEq)]
enum Selection {
    Newest,
    None,
    File(u32),
}

impl DocumentChoice {
    /// Of the documents that `all` finds.
    pub fn new(all: impl Fn() -> Vec<u32> + Send + Sync + 'static) -> Self {
        Self::with_initial(Box::new(all), Selection::Newest)
    }

    /// Of the documents that `all` finds, none of them until one is chosen.
    pub fn without(all: impl Fn() -> Vec<u32> + Send + Sync + 'static) -> Self {
        Self::with_initial(Box::new(all), Selection::None)
    }

    fn with_initial(all: Box<dyn Fn() -> Vec<u32> + Send + Sync>, selection: Selection) -> Self {
        let all = Memo::new(move |_| all());
        let selection = RwSignal::new(selection);
        let chosen = Memo::new(move |_| {
            let newest = all.with(|all| all.last().copied());
            match selection.get() {
                Selection::None => None,
                Selection::File(file) if all.with(|all| all.contains(&file)) => Some(file),
                _ => newest,
            }
        });
        Self { all, chosen, selection }
    }
}

/// The field of a [`DocumentChoice`].
#[component]
pub fn DocumentField(
    label: &'static str,
    choice: DocumentChoice,
    /// What stands for none of them; without it one must be chosen.
    #[prop(optional)]
    none: Option<&'static str>,
) -> impl IntoView {
    let session: Session = expect_context();
    let choices = move || {
        let files = choice.all.get().into_iter().map(|file| (Some(file), name_of(session, file)));
        none.map(|none| (None, none.to_owned())).into_iter().chain(files).collect::<Vec<_>>()
    };
    let on_value = move |file: Option<u32>| choice.selection.set(file.map_or(Selection::None, Selection::File));
    view! { <ChoiceField label choices value=move || Some(choice.chosen.get()) on_value /> }
}
