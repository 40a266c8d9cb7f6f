//! Runs the futures of leptos, among them the effects that draw the page: in the next microtask, as leptos itself
//! does, or at once where the browser leaves no time for one.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
};

use any_spawner::{CustomExecutor, Executor, PinnedFuture, PinnedLocalFuture};
use async_task::Runnable;

thread_local! {
    static READY: RefCell<VecDeque<Runnable>> = const { RefCell::new(VecDeque::new()) };
    static IS_SCHEDULED: Cell<bool> = const { Cell::new(false) };
}

/// Gives this executor to leptos. To be called before the page is mounted, which would choose another one.
pub fn install() {
    // It fails only where an executor was chosen before, which then stays.
    let _ = Executor::init_local_custom_executor(Microtasks);
}

/// Runs all effects whose signals have changed, and what they wake.
pub fn run_effects() {
    while let Some(ready) = READY.with_borrow_mut(VecDeque::pop_front) {
        ready.run();
    }
}

struct Microtasks;

impl CustomExecutor for Microtasks {
    fn spawn(&self, future: PinnedFuture<()>) {
        self.spawn_local(future);
    }

    fn spawn_local(&self, future: PinnedLocalFuture<()>) {
        let (ready, task) = async_task::spawn_local(future, schedule);
        task.detach();
        ready.schedule();
    }

    fn poll_local(&self) {
        run_effects();
    }
}

fn schedule(ready: Runnable) {
    READY.with_borrow_mut(|queue| queue.push_back(ready));
    if !IS_SCHEDULED.replace(true) {
        wasm_bindgen_futures::spawn_local(async {
            run_effects();
            IS_SCHEDULED.set(false);
        });
    }
}
