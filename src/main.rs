//! The page.

#[cfg(target_arch = "wasm32")]
fn main() {
    collectune::app::run();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {}
