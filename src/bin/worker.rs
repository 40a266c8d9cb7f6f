//! A worker of the page: a program of its own, so that the page needs not wait for what only workers do.

#[cfg(target_arch = "wasm32")]
fn main() {
    collectune::app::worker_entry::run();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {}
