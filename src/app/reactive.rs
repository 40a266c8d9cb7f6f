//! Reactive parts of views that share their code. A closure in a view, an effect, a `Show` or a `For` of leptos adds 2
//! to 15 kB to the page for each place where it is used; of these only the closure itself is repeated.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use fnv::FnvHasher;
use leptos::{children::ViewFn, html::Dialog, prelude::*};

use super::signal::memo;

/// A part of a view that is drawn again whenever a signal that it reads changes.
pub fn reactive<V: IntoView + 'static>(view: impl Fn() -> V + Send + 'static) -> AnyView {
    fn shared(view: Box<dyn Fn() -> AnyView + Send>) -> AnyView {
        (move || view()).into_any()
    }
    shared(Box::new(move || view().into_any()))
}

/// Runs `work` now, and again whenever a signal that it reads changes, until its owner is disposed of.
pub fn effect(work: impl Fn() + 'static) {
    fn shared(work: Box<dyn Fn()>) {
        Effect::new(work);
    }
    shared(Box::new(work));
}

/// What a view does on an event, behind a pointer: all handlers of one kind of event share their code.
pub fn handler<E: 'static>(act: impl FnMut(E) + 'static) -> Box<dyn FnMut(E)> {
    Box::new(act)
}

/// Opens a dialog over the page while a condition holds, and closes it otherwise.
pub fn modal(dialog: NodeRef<Dialog>, is_open: impl Fn() -> bool + 'static) {
    effect(move || {
        let Some(dialog) = dialog.get() else { return };
        match (is_open(), dialog.open()) {
            (true, false) => drop(dialog.show_modal()),
            (false, true) => dialog.close(),
            _ => {}
        }
    });
}

/// Shows its children while a condition holds, and the fallback otherwise.
#[component]
pub fn Show<W: Fn() -> bool + Send + Sync + 'static>(
    /// Shown while the condition holds.
    children: ChildrenFn,
    /// The condition; it is tracked.
    when: W,
    /// Shown while the condition doesn't hold; nothing by default.
    #[prop(optional, into)]
    fallback: ViewFn,
) -> impl IntoView {
    fn shared(children: ChildrenFn, when: Arc<dyn Fn() -> bool + Send + Sync>, fallback: ViewFn) -> AnyView {
        let when = memo(move || when());
        reactive(move || if when.get() { children() } else { fallback.run() })
    }
    shared(children, Arc::new(when), fallback)
}

type Row = (u64, Arc<dyn Fn() -> AnyView + Send + Sync>);

/// Shows a view for each item. Views of items whose key stays are kept.
#[component]
pub fn For<T, K, V>(
    /// The items; they are tracked.
    each: impl Fn() -> Vec<T> + Send + Sync + 'static,
    /// The key of an item; must be unique.
    key: impl Fn(&T) -> K + Send + Sync + 'static,
    /// The view of an item.
    children: impl Fn(T) -> V + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
    K: Hash,
    V: IntoView + 'static,
{
    fn shared(rows: Arc<dyn Fn() -> Vec<Row> + Send + Sync>) -> AnyView {
        view! { <leptos::prelude::For each=move || rows() key=|row| row.0 children=|row: Row| (row.1)() /> }.into_any()
    }
    let children = Arc::new(children);
    shared(Arc::new(move || {
        let row = |thing: T| -> Row {
            let mut hasher = FnvHasher::default();
            key(&thing).hash(&mut hasher);
            let children = children.clone();
            (hasher.finish(), Arc::new(move || children(thing.clone()).into_any()))
        };
        each().into_iter().map(row).collect()
    }))
}
