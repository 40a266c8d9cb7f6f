//! The page and its workers: one program, compiled once, that finds out where it was started.

#[cfg(target_arch = "wasm32")]
fn main() {
    if collectune::app::has_a_window() {
        collectune::app::run();
    } else {
        collectune::app::backstage::run();
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {}
