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

/// A choice among loaded files of a kind: the newest, until the user chooses another one, and again when that one is
/// closed.
#[derive(Clone, Copy)]
pub struct DocumentChoice {
    /// The numbers of all files of the kind.
    pub all: Memo<Vec<u32>>,
    /// The number of the chosen file; `None` if there is none or none is wanted.
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
    /// A choice among the files that `all` returns, at first the newest.
    pub fn new(all: impl Fn() -> Vec<u32> + Send + Sync + 'static) -> Self {
        Self::with_initial(Box::new(all), Selection::Newest)
    }

    /// A choice among the files that `all` returns, at first none.
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

/// The list of a [`DocumentChoice`].
#[component]
pub fn DocumentField(
    label: &'static str,
    choice: DocumentChoice,
    /// The name of the option for no file; without it a file must be chosen.
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
