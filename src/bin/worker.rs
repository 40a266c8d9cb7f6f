//! The worker.

#[cfg(target_arch = "wasm32")]
fn main() {
    web_sys::console::debug_1(&"worker".into());
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {}
