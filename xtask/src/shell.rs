//! Running programs.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{Result, root, tools};

/// A program to be run from the project's root, with the tools of [`tools::folders`] on its path.
pub fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.current_dir(root()).stdin(Stdio::null());
    if let Ok(path) = search_path() {
        command.env("PATH", path);
    }
    if let Some(flag) = forget_home() {
        command.env(WASM_FLAGS, flag);
    }
    command
}

/// Cargo adds these to the flags of `.cargo/config.toml`.
const WASM_FLAGS: &str = "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS";

/// The compiler's option by which the places in panic messages don't name the folder of whoever built the page, so
/// that the page is the same from everywhere. None where that can't be said in a list separated by spaces.
fn forget_home() -> Option<String> {
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")))?;
    let home = home.to_str().filter(|home| !home.contains([' ', '=']))?;
    let others = env::var(WASM_FLAGS).unwrap_or_default();
    Some(format!("{others} --remap-path-prefix={home}/registry/src=crates").trim().to_owned())
}

/// `cargo`, the one that runs this program.
pub fn cargo() -> Command {
    command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs to the end, showing what the program prints.
///
/// # Errors
/// Returns an error if it can't be started, or fails.
pub fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status = command.status().map_err(|error| format!("`{shown}` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}` failed ({status})")) }
}

/// All that a program prints.
///
/// # Errors
/// Returns an error if it can't be started, or fails.
pub fn output(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command.output().map_err(|error| format!("`{shown}` could not be started: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("`{shown}` failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// The first line that the program prints, if it can be run and succeeds.
pub fn first_line(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}

/// The place of a program on the path of [`command`].
pub fn find(program: &str) -> Option<PathBuf> {
    env::split_paths(&search_path().ok()?).map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn search_path() -> Result<std::ffi::OsString, env::JoinPathsError> {
    let inherited = env::var_os("PATH").unwrap_or_default();
    env::join_paths(tools::folders().into_iter().chain(env::split_paths(&inherited)))
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    std::iter::once(program)
        .chain(command.get_args())
        .map(std::ffi::OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}
