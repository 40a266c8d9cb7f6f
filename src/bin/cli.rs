//! The command line.

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    collectune::cli::run()
}

#[cfg(target_arch = "wasm32")]
fn main() {}
