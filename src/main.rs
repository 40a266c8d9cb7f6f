//! The page.

#[cfg(target_arch = "wasm32")]
fn main() {
    let root = web_sys::window().and_then(|window| window.document()).and_then(|document| document.document_element());
    if let Some(root) = root {
        let _ = root.set_attribute("data-state", "idle");
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {}
