//! The page: WebAssembly of the browser's main thread.

#[cfg(target_arch = "wasm32")]
fn main() {
    collectune::app::run();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {}
