//! The command line, as somebody at a terminal meets it.

use std::{
    env, fs,
    path::Path,
    process::{Command, Output},
};

use collectune::report::{self, Report};
use serde_json::Value;
use tempfile::TempDir;

/// Runs `collectune`.
pub fn collectune(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_collectune")).args(arguments).output().unwrap()
}

/// The report on an input, read again from the JSON that `collectune report` writes.
#[track_caller]
pub fn report_of(input: &str) -> Report {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("report.json").display().to_string();
    ended(&collectune(&["report", input, "-o", &file]), 0);
    report::open::open(&fs::read_to_string(&file).unwrap()).unwrap()
}

/// What a shell says to a line, in a folder and with `collectune` among its programs.
pub fn shell(folder: &Path, line: &str) -> Output {
    let mut path = vec![Path::new(env!("CARGO_BIN_EXE_collectune")).parent().unwrap().to_owned()];
    path.extend(env::split_paths(&env::var_os("PATH").unwrap()));
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder).env("PATH", env::join_paths(path).unwrap()).output().unwrap()
}

/// What was written, all of it text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What a command wrote that ends with a code.
#[track_caller]
pub fn ended(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// What a command that must succeed wrote, as JSON.
#[track_caller]
pub fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&ended(&collectune(arguments), 0)).unwrap()
}

/// Writes a file and answers its path.
pub fn write(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path.display().to_string()
}
