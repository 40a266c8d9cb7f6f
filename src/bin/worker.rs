//! The worker.

#[cfg(target_arch = "wasm32")]
fn main() {
    collectune::app::backstage::run();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {}
