//! Draws elements when they come near the visible part of the page. A report may hold a hundred charts and tables;
//! drawing all of them at once would block the page.

use std::{cell::Cell, rc::Rc};

use js_sys::{Array, Function, Object, Reflect};
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::Element;

use super::{printing::Printing, reactive::effect};
use crate::app::signal::RwSignal;

/// The number of elements that are drawn wherever they are; an ordinary page has no more.
const EAGER_ELEMENTS: usize = 24;

/// The distance from the window within which an element counts as near.
const VIEWPORT_MARGIN: &str = "800px 0px";

thread_local! {
    /// The number of elements on the page that are drawn wherever they are.
    static EAGER_COUNT: Cell<usize> = const { Cell::new(0) };
}

#[wasm_bindgen]
extern "C" {
    type IntersectionObserver;
    #[wasm_bindgen(constructor, catch)]
    fn new(callback: &Function, options: &Object) -> Result<IntersectionObserver, JsValue>;
    #[wasm_bindgen(method)]
    fn observe(this: &IntersectionObserver, element: &Element);
    #[wasm_bindgen(method)]
    fn disconnect(this: &IntersectionObserver);
}

/// Calls back once an element is near the visible part of the page, until it is dropped.
struct ViewportWatch {
    observer: IntersectionObserver,
    _callback: Closure<dyn Fn(Array)>,
}

impl ViewportWatch {
    fn new(element: &Element, on_near: impl Fn() + 'static) -> Option<Self> {
        let callback = Closure::<dyn Fn(Array)>::new(move |entries: Array| {
            let is_near =
                |entry: JsValue| Reflect::get(&entry, &"isIntersecting".into()).is_ok_and(|near| near.is_truthy());
            if entries.iter().any(is_near) {
                on_near();
            }
        });
        let options = Object::new();
        Reflect::set(&options, &"rootMargin".into(), &VIEWPORT_MARGIN.into()).ok()?;
        let observer = IntersectionObserver::new(callback.as_ref().unchecked_ref(), &options).ok()?;
        observer.observe(element);
        Some(Self { observer, _callback: callback })
    }
}

impl Drop for ViewportWatch {
    fn drop(&mut self) {
        self.observer.disconnect();
    }
}

/// Whether an element is or was near the visible part of the page: what was drawn stays. While the browser prints, all
/// elements are.
pub fn is_near_viewport(element: impl Fn() -> Option<Element> + 'static) -> RwSignal<bool> {
    let is_at_once = EAGER_COUNT.get() < EAGER_ELEMENTS;
    if is_at_once {
        EAGER_COUNT.set(EAGER_COUNT.get() + 1);
        on_cleanup(|| EAGER_COUNT.set(EAGER_COUNT.get().saturating_sub(1)));
    }
    let is_near = RwSignal::new(is_at_once);
    if is_at_once {
        return is_near;
    }
    let Printing(is_printing) = expect_context();
    effect(move || {
        if is_printing.get() && !is_near.get_untracked() {
            is_near.set(true);
        }
    });
    let watch: Rc<Cell<Option<ViewportWatch>>> = Rc::default();
    let current_watch = StoredValue::new_local(watch);
    effect(move || {
        let (Some(element), false) = (element(), is_near.get()) else {
            current_watch.with_value(|watch| watch.set(None));
            return;
        };
        // The browser reports it within a frame. Without the observer every element counts as near.
        let watch = ViewportWatch::new(&element, move || {
            is_near.set(true);
        });
        if watch.is_none() {
            is_near.set(true);
        }
        current_watch.with_value(|current| current.set(watch));
    });
    is_near
}
