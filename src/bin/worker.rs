//! The worker of the page: a separate program, so that the page doesn't wait for code that only workers use.

#[cfg(target_arch = "wasm32")]
fn main() {
    collectune::app::worker_entry::run();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {}
