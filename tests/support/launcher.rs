//! The terminal, and scripts that start jobs, with launchers of ours in the place of the cluster's.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

/// Runs `collectune` in a folder.
pub fn collectune(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_collectune")).current_dir(folder).args(arguments).output().unwrap()
}

/// What a command that must succeed wrote.
pub fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Runs a script that must succeed without a word on stderr.
pub fn run(folder: &Path, script: &str, launcher: &str) {
    let output = outcome(folder, script, launcher);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a script with `mpirun` and `srun` replaced by `launcher`, a script itself.
pub fn outcome(folder: &Path, script: &str, launcher: &str) -> Output {
    for name in ["mpirun", "srun"] {
        let path = folder.join(name);
        fs::write(&path, launcher).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    Command::new("bash").current_dir(folder).env("PATH", path).arg("-c").arg(script).output().unwrap()
}
