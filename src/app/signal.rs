//! Signals of any value. Those of leptos add 2 to 4 kB to the page for each type of value; these keep the value behind
//! a pointer, so that all types share the code.

use std::{any::Any, marker::PhantomData, ops::Deref, sync::Arc};

use leptos::prelude;
use leptos::prelude::{Get as _, GetUntracked as _, Set as _, Track as _, Update as _, With as _, WithUntracked as _};

type AnyValue = Arc<dyn Any + Send + Sync>;

/// Where the value of a signal is.
#[derive(Clone, Copy)]
enum Source {
    Written(prelude::RwSignal<AnyValue>),
    Computed(prelude::Memo<Computed>),
}

/// A computed value, with the comparison that decides whether it has changed.
#[derive(Clone)]
struct Computed {
    value: AnyValue,
    is_same: fn(&dyn Any, &dyn Any) -> bool,
}

impl PartialEq for Computed {
    fn eq(&self, other: &Self) -> bool {
        (self.is_same)(&*self.value, &*other.value)
    }
}

/// A value that can be read, and that what reads it follows.
pub struct Signal<T> {
    source: Source,
    kind: PhantomData<fn() -> T>,
}

/// A [`Signal`] whose value is written.
pub struct RwSignal<T>(Signal<T>);

/// A signal that is computed from others. What reads it follows only changes of its value.
pub fn memo<T: PartialEq + Send + Sync + 'static>(compute: impl Fn() -> T + Send + Sync + 'static) -> Signal<T> {
    fn shared(compute: Box<dyn Fn() -> Computed + Send + Sync>) -> prelude::Memo<Computed> {
        prelude::Memo::new(move |_| compute())
    }
    let is_same = |one: &dyn Any, other: &dyn Any| one.downcast_ref::<T>() == other.downcast_ref::<T>();
    Signal::at(Source::Computed(shared(Box::new(move || Computed { value: Arc::new(compute()), is_same }))))
}

/// The value of a source; `None` where its owner was disposed of.
fn value_of(source: Source, is_tracked: bool) -> Option<AnyValue> {
    let of = |computed: &Computed| computed.value.clone();
    match (source, is_tracked) {
        (Source::Written(signal), true) => signal.try_get(),
        (Source::Written(signal), false) => signal.try_get_untracked(),
        (Source::Computed(memo), true) => memo.try_with(of),
        (Source::Computed(memo), false) => memo.try_with_untracked(of),
    }
}

impl<T: 'static> Signal<T> {
    fn at(source: Source) -> Self {
        Self { source, kind: PhantomData }
    }

    /// Follows the value without reading it.
    pub fn track(self) {
        match self.source {
            Source::Written(signal) => signal.track(),
            Source::Computed(memo) => memo.track(),
        }
    }

    /// What `look` sees of the value, which is followed; `None` where its owner was disposed of.
    pub fn try_with<U>(self, look: impl FnOnce(&T) -> U) -> Option<U> {
        value_of(self.source, true)?.downcast_ref().map(look)
    }

    /// As [`Signal::try_with`], without following the value.
    pub fn try_with_untracked<U>(self, look: impl FnOnce(&T) -> U) -> Option<U> {
        value_of(self.source, false)?.downcast_ref().map(look)
    }

    /// What `look` sees of the value, which is followed.
    ///
    /// # Panics
    /// Where its owner was disposed of; so do the other functions without `try`.
    pub fn with<U>(self, look: impl FnOnce(&T) -> U) -> U {
        self.try_with(look).unwrap_or_else(|| disposed())
    }

    /// As [`Signal::with`], without following the value.
    pub fn with_untracked<U>(self, look: impl FnOnce(&T) -> U) -> U {
        self.try_with_untracked(look).unwrap_or_else(|| disposed())
    }
}

impl<T: Clone + 'static> Signal<T> {
    /// The value, which is followed.
    pub fn get(self) -> T {
        self.with(T::clone)
    }

    /// The value, which is not followed.
    pub fn get_untracked(self) -> T {
        self.with_untracked(T::clone)
    }

    /// As [`Signal::get`]; `None` where its owner was disposed of.
    pub fn try_get(self) -> Option<T> {
        self.try_with(T::clone)
    }

    /// As [`Signal::get_untracked`]; `None` where its owner was disposed of.
    pub fn try_get_untracked(self) -> Option<T> {
        self.try_with_untracked(T::clone)
    }
}

impl<T: Send + Sync + 'static> RwSignal<T> {
    /// A signal with its first value.
    pub fn new(value: T) -> Self {
        fn shared(value: AnyValue) -> Source {
            Source::Written(prelude::RwSignal::new(value))
        }
        Self(Signal::at(shared(Arc::new(value))))
    }

    /// Changes the value in place. Does nothing where its owner was disposed of.
    ///
    /// # Panics
    /// Where something within [`Signal::with`] of the same signal changes it.
    pub fn update(self, change: impl FnOnce(&mut T)) {
        fn shared(source: Source, change: &mut dyn FnMut(&mut dyn Any)) {
            let Source::Written(signal) = source else { return };
            signal.try_update(|value| match Arc::get_mut(value) {
                Some(value) => change(value),
                None => panic!("a signal is changed while it is read"),
            });
        }
        let mut change = Some(change);
        shared(self.0.source, &mut |value| {
            if let Some((change, value)) = change.take().zip(value.downcast_mut::<T>()) {
                change(value);
            }
        });
    }

    /// Replaces the value. Does nothing where its owner was disposed of.
    pub fn set(self, value: T) {
        fn shared(source: Source, value: AnyValue) {
            let Source::Written(signal) = source else { return };
            signal.try_set(value);
        }
        shared(self.0.source, Arc::new(value));
    }
}

#[cold]
fn disposed() -> ! {
    panic!("a signal was read after its owner was disposed of")
}

impl<T> Clone for Signal<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Signal<T> {}

impl<T> Clone for RwSignal<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for RwSignal<T> {}

impl<T> Deref for RwSignal<T> {
    type Target = Signal<T>;

    fn deref(&self) -> &Signal<T> {
        &self.0
    }
}

impl<T> From<RwSignal<T>> for Signal<T> {
    fn from(signal: RwSignal<T>) -> Self {
        signal.0
    }
}

impl<T: Send + Sync + 'static> From<T> for Signal<T> {
    fn from(value: T) -> Self {
        RwSignal::new(value).into()
    }
}

impl From<&str> for Signal<String> {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl<T: Default + Send + Sync + 'static> Default for Signal<T> {
    fn default() -> Self {
        T::default().into()
    }
}

impl<T: Default + Send + Sync + 'static> Default for RwSignal<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}
