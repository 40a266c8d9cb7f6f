//! One rank of a job: the program `tuner-host` in a process and an environment of its own.
#![allow(dead_code, reason = "each test uses its part")]

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

/// The plugin in its release build, built once.
pub fn plugin() -> &'static Path {
    static PLUGIN: OnceLock<PathBuf> = OnceLock::new();
    PLUGIN.get_or_init(|| xtask::plugin::build().unwrap())
}

/// A rank to be started as a process.
pub struct Rank(Command);

/// The output of a rank.
#[derive(Debug)]
pub struct Printed {
    pub out: String,
    pub err: String,
    pub is_success: bool,
}

impl Rank {
    /// A rank of a communicator of 16 ranks on 2 nodes, without any setting of the plugin.
    pub fn new(version: u32) -> Self {
        Self::of(version, 1, 16, 2)
    }

    pub fn of(version: u32, id: u64, ranks: u32, nodes: u32) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tuner-host"));
        for (name, _) in env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("NCCL_") || name.starts_with("COLLECTUNE_TUNER_") {
                command.env_remove(&*name);
            }
        }
        command.arg(plugin()).args([version.to_string(), id.to_string(), ranks.to_string(), nodes.to_string()]);
        command.stdin(Stdio::null());
        Self(command)
    }

    pub fn with(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    pub fn command(mut self, words: &[&str]) -> Command {
        self.0.args(words);
        self.0
    }

    pub fn run(self, words: &[&str]) -> Printed {
        let output = self.command(words).output().unwrap();
        Printed {
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
            is_success: output.status.success(),
        }
    }

    /// Asks the queries; returns the answers and the messages.
    pub fn ask(self, questions: &[&str]) -> (Vec<String>, Vec<String>) {
        let printed = self.run(&[&["ask"], questions].concat());
        assert!(printed.is_success && printed.err.is_empty(), "{printed:?}");
        let answer =
            |line: &str| line.split_once(" = ").or(line.split_once(" ! ")).map(|(_, answer)| answer.to_owned());
        let answers: Vec<String> = printed.out.lines().take(questions.len()).filter_map(answer).collect();
        assert_eq!(answers.len(), questions.len(), "{printed:?}");
        assert!(printed.out.contains("\nend 0\n") || printed.out.starts_with("end 0\n"), "{printed:?}");
        (answers, printed.out.lines().skip(questions.len() + 1).map(str::to_owned).collect())
    }
}

/// The real libraries that `COLLECTUNE_NCCL` names.
pub fn libraries() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = env::split_paths(&env::var_os("COLLECTUNE_NCCL").unwrap_or_default()).collect();
    while let Some(path) = folders.pop() {
        if path.is_dir() {
            folders.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libnccl.so")) {
            found.push(path);
        }
    }
    found.sort();
    assert!(!found.is_empty(), "COLLECTUNE_NCCL names no libnccl.so");
    found
}
