//! Lists that may be long: the first items are shown, and further ones when somebody asks for them. A browser lays out
//! some thousands of elements without being felt, and not any number.

use leptos::prelude::*;

use super::reactive::reactive;
use crate::text::visible_lines;

/// So many items are shown at first.
pub const INITIAL_ITEMS: usize = 60;
/// So many more with each press of the button.
const MORE_ITEMS: usize = 240;

/// How much of a list is shown.
#[derive(Clone, Copy)]
pub struct ListLimit(RwSignal<usize>);

impl ListLimit {
    /// The first items.
    pub fn initial() -> Self {
        Self(RwSignal::new(INITIAL_ITEMS))
    }

    /// At most so many items are shown now.
    pub fn get(self) -> usize {
        self.0.get()
    }

    /// A button that shows more of `all` items, where there are more.
    pub fn more_button(self, all: impl Fn() -> usize + Send + Sync + 'static) -> AnyView {
        reactive(move || {
            let rest = all().saturating_sub(self.get());
            let more = move |_| self.0.update(|shown| *shown += MORE_ITEMS);
            (rest > 0).then(|| {
                view! {
                    <button type="button" class="more" on:click=more>
                        {format!("Show {} of {rest} more", rest.min(MORE_ITEMS))}
                    </button>
                }
            })
        })
    }
}

/// Sentences as a list; what they repeat of files is shown as it can be read.
#[component]
pub fn Sentences<F>(
    /// The list's class.
    class: &'static str,
    /// The first of them, as many as it is given, and how many there are in all.
    first: F,
) -> impl IntoView
where
    F: Fn(usize) -> (Vec<String>, usize) + Send + Sync + 'static,
{
    let shown = ListLimit::initial();
    let first = Memo::new(move |_| first(shown.get()));
    let items = move || {
        first.with(|(texts, _)| {
            texts.iter().map(|text| view! { <li>{visible_lines(text).into_owned()}</li> }).collect_view()
        })
    };
    view! {
        <ul class=class>{reactive(items)}</ul>
        {shown.more_button(move || first.with(|(_, all)| *all))}
    }
}

/// The first of some sentences, and how many there are: for [`Sentences`].
pub fn first_sentences(sentences: &[String], most: usize) -> (Vec<String>, usize) {
    (sentences.iter().take(most).cloned().collect(), sentences.len())
}
