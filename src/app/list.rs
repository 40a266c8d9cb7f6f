//! Long lists: the first items are shown, and more on demand. A browser lays out some thousand elements quickly, but
//! not any number.

use leptos::prelude::*;

use super::{
    reactive::{handler, reactive},
    signal::{RwSignal, memo},
};
use crate::text::visible_lines;

/// The number of items that are shown at first.
pub const INITIAL_ITEMS: usize = 60;
/// The number of items that each press of the button adds.
const MORE_ITEMS: usize = 240;

/// The number of items of a list that are shown. Copies share it.
#[derive(Clone, Copy)]
pub struct ListLimit(RwSignal<usize>);

impl ListLimit {
    /// A limit of [`INITIAL_ITEMS`] items.
    pub fn initial() -> Self {
        Self(RwSignal::new(INITIAL_ITEMS))
    }

    /// The number of items that are shown; tracked.
    pub fn get(self) -> usize {
        self.0.get()
    }

    /// A button that shows more of `all` items, if there are more.
    pub fn more_button(self, all: impl Fn() -> usize + Send + Sync + 'static) -> AnyView {
        reactive(move || {
            let rest = all().saturating_sub(self.get());
            let more = move |_| self.0.update(|shown| *shown += MORE_ITEMS);
            (rest > 0).then(|| {
                view! {
                    <button type="button" class="more" on:click=handler(more)>
                        {format!("Show {} of {rest} more", rest.min(MORE_ITEMS))}
                    </button>
                }
            })
        })
    }
}

/// A list of sentences. Control characters that they quote from files are made visible.
#[component]
pub fn Sentences<F>(
    /// The CSS class of the list.
    class: &'static str,
    /// Given a number, returns at most that many sentences and the number of all.
    first: F,
) -> impl IntoView
where
    F: Fn(usize) -> (Vec<String>, usize) + Send + Sync + 'static,
{
    let shown = ListLimit::initial();
    let first = memo(move || first(shown.get()));
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

/// At most `most` of the sentences, and the number of all: for [`Sentences`].
pub fn first_sentences(sentences: &[String], most: usize) -> (Vec<String>, usize) {
    (sentences.iter().take(most).cloned().collect(), sentences.len())
}
