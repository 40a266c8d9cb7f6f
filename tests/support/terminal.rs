//! The command line, as somebody at a terminal meets it.

use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Runs `collectune`.
pub fn collectune(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_collectune")).args(arguments).output().unwrap()
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
    std::fs::write(&path, content).unwrap();
    path.display().to_string()
}
