//! `collectune policy doctor`: which interface the installed library loads, and what the plugin would do.

use std::{
    env,
    ffi::OsString,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use serde::Serialize;

use super::super::{CliError, FOUND, files, terminal};

/// Say which tuner interface the installed NCCL or RCCL loads, and which mode of Collectune's plugin applies here
///
/// Nothing is loaded or run: the library is read as a file. Exit code 3: something is wrong.
#[derive(Args)]
pub(in crate::cli) struct Doctor {
    /// libnccl.so or librccl.so; that of LD_LIBRARY_PATH or of the usual folders where not given
    #[arg(value_name = "LIBNCCL")]
    library: Option<PathBuf>,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Debug, Default, Serialize)]
struct Findings {
    library: Option<String>,
    version: Option<String>,
    /// Interfaces that the library looks up.
    looks_up: Vec<u32>,
    /// The one that it takes of Collectune's plugin.
    tuner_version: Option<u32>,
    /// `static`, `policy`, `online` or `passive`.
    mode: String,
    problems: Vec<String>,
    notes: Vec<String>,
}

impl Doctor {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        let mut found = Findings::default();
        let path = self.library.clone().or_else(installed);
        match &path {
            None => found.problems.push(
                "no libnccl.so or librccl.so is found; name it (in a Python environment it lies under \
                 site-packages/nvidia/nccl/lib)"
                    .to_owned(),
            ),
            Some(path) => {
                let error = |error| CliError::Open { name: files::name(path), error };
                let strings = Strings::of(File::open(path).map_err(error)?).map_err(error)?;
                found.library = Some(files::name(path));
                found.version = strings.version.clone();
                found.looks_up = strings.looks_up();
                library(&mut found);
            }
        }
        environment(&mut found, &|name| env::var_os(name));
        let is_wrong = !found.problems.is_empty();
        if self.json {
            terminal::write_json(&(serde_json::to_string_pretty(&found).unwrap_or_default() + "\n"))?;
        } else {
            terminal::write(&for_people(&found))?;
        }
        Ok(if is_wrong { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
    }
}

fn library(found: &mut Findings) {
    let offered = 2..=6;
    found.tuner_version = found.looks_up.iter().copied().filter(|version| offered.contains(version)).max();
    match (found.tuner_version, &found.looks_up[..]) {
        (None, []) => found.problems.push("this file looks no tuner plugin up: it is no NCCL from 2.19 on, and no RCCL".to_owned()),
        (None, _) => found.problems.push(
            "this library looks up version 1 alone, or versions above 6, which the plugin does not offer: the job would \
             run untuned"
                .to_owned(),
        ),
        (Some(2), _) => found.notes.push(
            "version 2 has no table of costs: only ring and tree with simple and LL are offered, LL128 with \
             COLLECTUNE_TUNER_V2_LL128=1"
                .to_owned(),
        ),
        _ => {}
    }
}

/// What the variables of the environment come to, in the plugin's order.
fn environment(found: &mut Findings, variable: &dyn Fn(&str) -> Option<OsString>) {
    let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned()).filter(|v| !v.is_empty());
    let file = |name: &str| text(name).map(PathBuf::from);
    match text("NCCL_TUNER_PLUGIN") {
        None => found.notes.push(
            "NCCL_TUNER_PLUGIN is not set: name the plugin by its absolute path, /path/libnccl-tuner-collectune.so"
                .to_owned(),
        ),
        Some(plugin) => {
            let path = Path::new(&plugin);
            // Measured: see docs/plugin.md.
            let opens_no_path = found.version.as_deref().is_some_and(|of| of.split('+').next() == Some("2.27.3"));
            if opens_no_path && path.is_absolute() {
                found.problems.push(
                    "NCCL 2.27.3 opens no path, and would run untuned: set NCCL_TUNER_PLUGIN=collectune, and put the \
                     plugin's folder into LD_LIBRARY_PATH"
                        .to_owned(),
                );
            } else if opens_no_path {
                let file = format!("libnccl-tuner-{plugin}.so");
                let folders = variable("LD_LIBRARY_PATH").unwrap_or_default();
                if !env::split_paths(&folders).any(|folder| folder.join(&file).is_file()) {
                    found
                        .problems
                        .push(format!("{file} is in no folder of LD_LIBRARY_PATH, where NCCL 2.27.3 looks for it"));
                }
            } else if !path.is_absolute() {
                found.problems.push(format!(
                    "NCCL_TUNER_PLUGIN={plugin} is no absolute path: libraries complete short names differently, and run \
                     untuned without an error where nothing is found"
                ));
            } else if !path.exists() {
                found.problems.push(format!("NCCL_TUNER_PLUGIN={plugin} is not there"));
            }
        }
    }
    let overlaps = ["NCCL_WORKLOAD_OVERLAP", "NCCL_OVERLAP_MODE"].iter().find_map(|name| text(name));
    let conf = file("COLLECTUNE_TUNER_CONFIG_OVERLAP")
        .filter(|_| overlaps.as_deref() == Some("1"))
        .or_else(|| file("NCCL_TUNER_CONFIG_FILE"));
    let (policy, folder) = (file("COLLECTUNE_TUNER_POLICY"), file("COLLECTUNE_TUNER_DIR"));
    let asked = text("COLLECTUNE_TUNER_MODE").map(|mode| mode.trim().to_ascii_lowercase());
    let mode = match asked.as_deref() {
        Some(mode @ ("static" | "policy" | "online" | "passive")) => mode,
        Some(other) => {
            found.problems.push(format!("COLLECTUNE_TUNER_MODE={other} is none of static, policy, online, passive"));
            "passive"
        }
        None if conf.is_some() => "static",
        None if policy.is_some() => "policy",
        None if folder.is_some() => "online",
        None => "passive",
    };
    found.mode = mode.to_owned();
    let (needed, name) = match mode {
        "static" => (&conf, "NCCL_TUNER_CONFIG_FILE"),
        "policy" => (&policy, "COLLECTUNE_TUNER_POLICY"),
        "online" => (&folder, "COLLECTUNE_TUNER_DIR"),
        _ => return,
    };
    match needed {
        None => found.problems.push(format!("the mode {mode} needs {name}, which is not set")),
        Some(path) if !path.exists() => found.problems.push(format!("{name}={} is not there", files::name(path))),
        Some(path) if mode == "policy" => {
            let read = std::fs::read(path).map_err(|error| error.to_string());
            let read =
                read.and_then(|bytes| crate::policy::file::Policy::read(&bytes).map_err(|error| error.to_string()));
            if let Err(error) = read {
                found.problems.push(format!("{name}: {} {error}", files::name(path)));
            }
        }
        Some(_) => {}
    }
    if mode == "online" && found.tuner_version.is_some_and(|version| version < 5) {
        found.problems.push(
            "the mode online needs version 5 of the interface (NCCL or RCCL 2.28), which tells the communicator's id: here \
             the plugin stays passive"
                .to_owned(),
        );
    }
}

fn for_people(found: &Findings) -> String {
    let mut text = String::new();
    if let Some(library) = &found.library {
        text += &format!("library: {library}\n");
        text += &format!("version: {}\n", found.version.as_deref().unwrap_or("not told"));
        let versions: Vec<String> = found.looks_up.iter().map(|version| format!("v{version}")).collect();
        text +=
            &format!("looks up: {}\n", if versions.is_empty() { "nothing".to_owned() } else { versions.join(", ") });
        if let Some(version) = found.tuner_version {
            text += &format!("takes of the plugin: v{version}\n");
        }
    }
    text += &format!("mode: {}\n", found.mode);
    found.problems.iter().for_each(|problem| text += &format!("problem: {problem}\n"));
    found.notes.iter().for_each(|note| text += &format!("note: {note}\n"));
    text
}

/// What of a library's bytes tells its tuner interface.
#[derive(Default)]
struct Strings {
    versions: [bool; 16],
    version: Option<String>,
}

impl Strings {
    const SYMBOL: &'static [u8] = b"ncclTunerPlugin_v";
    const VERSION: &'static [u8] = b"NCCL version ";
    /// So much of one piece is looked at again with the next.
    const TAIL: usize = 64;

    /// Reads a file piece by piece: libraries have hundreds of megabytes.
    fn of(mut file: impl Read) -> std::io::Result<Self> {
        let mut found = Self::default();
        let mut buffer = vec![0; 1 << 20];
        let mut kept = 0;
        loop {
            let read = file.read(&mut buffer[kept..])?;
            let filled = kept + read;
            found.look(&buffer[..filled]);
            if read == 0 {
                return Ok(found);
            }
            let tail = filled.min(Self::TAIL);
            buffer.copy_within(filled - tail..filled, 0);
            kept = tail;
        }
    }

    fn look(&mut self, bytes: &[u8]) {
        for at in memchr::memmem::find_iter(bytes, Self::SYMBOL) {
            let digits: String = bytes[at + Self::SYMBOL.len()..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .take(2)
                .map(|b| char::from(*b))
                .collect();
            if let Some(seen) = digits.parse::<usize>().ok().and_then(|version| self.versions.get_mut(version)) {
                *seen = true;
            }
        }
        // The words also stand in messages whose version is put in when they are printed.
        for at in memchr::memmem::find_iter(bytes, Self::VERSION) {
            let rest = &bytes[at + Self::VERSION.len()..];
            let word = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-');
            let text: String = rest.iter().take_while(word).take(40).map(|byte| char::from(*byte)).collect();
            let is_version = text.starts_with(|c: char| c.is_ascii_digit());
            if is_version && self.version.as_ref().is_none_or(|known| known.len() < text.len()) {
                self.version = Some(text);
            }
        }
    }

    fn looks_up(&self) -> Vec<u32> {
        (0..).zip(&self.versions).filter(|(_, seen)| **seen).map(|(version, _)| version).collect()
    }
}

/// The library that a program would load.
fn installed() -> Option<PathBuf> {
    const NAMES: [&str; 4] = ["libnccl.so.2", "libnccl.so", "librccl.so.1", "librccl.so"];
    const FOLDERS: [&str; 6] = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib64",
        "/usr/local/lib",
        "/usr/local/cuda/lib64",
        "/opt/rocm/lib",
        "/usr/lib",
    ];
    let path = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(FOLDERS.iter().map(PathBuf::from));
    folders.flat_map(|folder| NAMES.map(|name| folder.join(name))).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_tells_by_its_strings() {
        let bytes = [
            &b"\x7FELF\0\0NCCL version 2.27.3+cuda12.8\0"[..],
            b"ncclTunerPlugin_v4\0ncclTunerPlugin_v3\0",
            b"ncclTunerPlugin_v2\0",
        ]
        .concat();
        for padding in [0, (1 << 20) - 40, (1 << 20) - 8] {
            let strings = Strings::of(&[vec![0; padding], bytes.clone()].concat()[..]).unwrap();
            assert_eq!(strings.looks_up(), [2, 3, 4]);
            assert_eq!(strings.version.as_deref(), Some("2.27.3+cuda12.8"));
        }
        let told =
            Strings::of(&b"NCCL version %s\0NCCL version 2.32.3 compiled with\0NCCL version 2.32.3+cuda13.4\0"[..]);
        assert_eq!(told.unwrap().version.as_deref(), Some("2.32.3+cuda13.4"));
        let mut found = Findings { looks_up: vec![2, 3, 4], ..Findings::default() };
        library(&mut found);
        let set = |name: &str| (name == "COLLECTUNE_TUNER_DIR").then(|| OsString::from("/"));
        environment(&mut found, &set);
        assert_eq!((found.tuner_version, found.mode.as_str()), (Some(4), "online"));
        assert!(found.problems.join("").contains("needs version 5"));
    }

    #[test]
    fn the_release_that_opens_no_path_is_told_apart() {
        let problems = |version: &str, plugin: &str| {
            let mut found = Findings { version: Some(version.to_owned()), ..Findings::default() };
            environment(&mut found, &|name| (name == "NCCL_TUNER_PLUGIN").then(|| plugin.into()));
            found.problems.join("\n")
        };
        assert!(problems("2.27.3+cuda12.9", "/bin/sh").contains("2.27.3 opens no path"));
        assert!(problems("2.27.3+cuda12.9", "collectune").contains("is in no folder of LD_LIBRARY_PATH"));
        assert_eq!(problems("2.27.5+cuda12.9", "/bin/sh"), "");
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut found = Findings { looks_up: vec![1], ..Findings::default() };
        library(&mut found);
        environment(&mut found, &|name| match name {
            "NCCL_TUNER_PLUGIN" => Some("collectune".into()),
            "COLLECTUNE_TUNER_POLICY" => Some("/nowhere/policy.json".into()),
            _ => None,
        });
        let problems = found.problems.join("\n");
        for said in ["version 1 alone", "no absolute path", "/nowhere/policy.json is not there"] {
            assert!(problems.contains(said), "{problems}");
        }
    }
}
