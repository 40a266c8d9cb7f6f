//! The command line of Collectune, native only.

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    collectune::cli::run()
}

#[cfg(target_arch = "wasm32")]
fn main() {}
