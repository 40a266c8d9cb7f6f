//! What changes in a view, without a copy of the framework's code for each place: a closure in a view, an effect, a `Show`
//! or a `For` of leptos is two to fifteen kilobytes of the page by itself, of which these share all but the closure.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use fnv::FnvHasher;
use leptos::{children::ViewFn, prelude::*};

/// A part of a view that follows the signals that it reads.
pub fn live<V: IntoView + 'static>(view: impl Fn() -> V + Send + 'static) -> AnyView {
    fn shared(view: Box<dyn Fn() -> AnyView + Send>) -> AnyView {
        (move || view()).into_any()
    }
    shared(Box::new(move || view().into_any()))
}

/// Does something now, and again whenever a signal that it reads has changed; as long as its owner lives.
pub fn follow(work: impl Fn() + 'static) {
    fn shared(work: Box<dyn Fn()>) {
        Effect::new(work);
    }
    shared(Box::new(work));
}

/// Its children while a condition holds, else the fallback.
#[component]
pub fn Show<W: Fn() -> bool + Send + Sync + 'static>(
    /// Shown while the condition holds.
    children: ChildrenFn,
    /// The condition.
    when: W,
    /// Shown while it does not; nothing, where there is none.
    #[prop(optional, into)]
    fallback: ViewFn,
) -> impl IntoView {
    fn shared(children: ChildrenFn, when: Arc<dyn Fn() -> bool + Send + Sync>, fallback: ViewFn) -> AnyView {
        let when = ArcMemo::new(move |_| when());
        live(move || if when.get() { children() } else { fallback.run() })
    }
    shared(children, Arc::new(when), fallback)
}

type Row = (u64, Arc<dyn Fn() -> AnyView + Send + Sync>);

/// A view for each of several things; that of a thing whose key stays is kept.
#[component]
pub fn For<T, K, V>(
    /// The things.
    each: impl Fn() -> Vec<T> + Send + Sync + 'static,
    /// What tells them apart.
    key: impl Fn(&T) -> K + Send + Sync + 'static,
    /// The view of one.
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
