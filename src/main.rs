//! The page.

#[cfg(target_arch = "wasm32")]
fn main() {
    web_sys::console::debug_1(&"page".into());
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {}
