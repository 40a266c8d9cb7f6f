//! `collectune policy doctor`: which interface the installed library loads, and what the plugin would do.

use std::{
    env,
    ffi::OsString,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;

use crate::{
    cli::{error::CliError, files, terminal},
    conf::strict::{LineContent, lines},
    policy::file::Policy,
    text::lossy,
    units::count,
};

/// Say which tuner interface the installed NCCL or RCCL loads, and which mode of Collectune's plugin applies here
///
/// Nothing is loaded or run: the library is read as a file. Exit code 3: something is wrong.
#[derive(Args)]
#[command(after_help = "Example:
  collectune policy doctor /usr/lib/x86_64-linux-gnu/libnccl.so.2")]
pub(in crate::cli) struct Doctor {
    /// libnccl.so or librccl.so; that of LD_LIBRARY_PATH or of the usual folders where not given
    #[arg(value_name = "LIBNCCL")]
    library: Option<PathBuf>,

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,
}

/// The findings of a check.
#[derive(Debug, Default, Serialize)]
struct Findings {
    library: Option<String>,
    version: Option<String>,
    /// Interfaces that the library looks up.
    looks_up: Vec<u32>,
    /// The one that it takes of Collectune's plugin.
    tuner_version: Option<u32>,
    /// The glibc that the plugin needs at least, `2.28`; where it is named and can be read.
    plugin_needs_glibc: Option<String>,
    /// `static`, `policy`, `online` or `passive`.
    mode: String,
    problems: Vec<String>,
    notes: Vec<String>,
}

impl Findings {
    fn problem(&mut self, what: impl Into<String>) {
        self.problems.push(what.into());
    }

    fn note(&mut self, what: impl Into<String>) {
        self.notes.push(what.into());
    }
}

impl Doctor {
    pub(super) fn run(self) -> Result<(), CliError> {
        let mut found = Findings::default();
        let path = self.library.clone().or_else(installed);
        match &path {
            None => found.problem(
                "no libnccl.so or librccl.so is found; name it (in a Python environment it lies under \
                 site-packages/nvidia/nccl/lib)",
            ),
            Some(path) => {
                let strings = File::open(path).and_then(Strings::of);
                let strings = strings.map_err(|error| files::unopened(path, &error))?;
                found.library = Some(files::name(path));
                found.version = strings.version.clone();
                found.looks_up = strings.looks_up();
                library(&mut found);
            }
        }
        environment(&mut found, &|name| env::var_os(name));
        if self.json {
            terminal::write_json(&found)?;
        } else {
            terminal::write(&for_people(&found))?;
        }
        if found.problems.is_empty() { Ok(()) } else { Err(CliError::Found) }
    }
}

fn library(found: &mut Findings) {
    let offered = 2..=6;
    found.tuner_version = found.looks_up.iter().copied().filter(|version| offered.contains(version)).max();
    match (found.tuner_version, &found.looks_up[..]) {
        (None, []) => found.problem("this file looks no tuner plugin up: it is no NCCL from 2.19 on, and no RCCL"),
        (None, _) => found.problem(
            "this library looks up version 1 alone, or versions above 6, which the plugin does not offer: the job would \
             run untuned",
        ),
        (Some(2), _) => found.note(
            "version 2 has no table of costs: only ring and tree with simple and LL are offered, LL128 with \
             COLLECTUNE_TUNER_V2_LL128=1",
        ),
        _ => {}
    }
}

/// Checks the environment variables in the order in which the plugin reads them.
fn environment(found: &mut Findings, variable: &dyn Fn(&str) -> Option<OsString>) {
    let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned()).filter(|v| !v.is_empty());
    let file = |name: &str| text(name).map(PathBuf::from);
    match text("NCCL_TUNER_PLUGIN") {
        None => found.note(
            "NCCL_TUNER_PLUGIN is not set: name the plugin by its absolute path, /path/libnccl-tuner-collectune.so",
        ),
        Some(plugin) => {
            let path = Path::new(&plugin);
            // Measured: see docs/plugin.md.
            let opens_no_path = found.version.as_deref().is_some_and(|of| of.split('+').next() == Some("2.27.3"));
            if opens_no_path && path.is_absolute() {
                found.problem(
                    "NCCL 2.27.3 opens no path, and would run untuned: set NCCL_TUNER_PLUGIN=collectune, and put the \
                     plugin's folder into LD_LIBRARY_PATH",
                );
            } else if opens_no_path {
                let file = format!("libnccl-tuner-{plugin}.so");
                let folders = variable("LD_LIBRARY_PATH").unwrap_or_default();
                if !env::split_paths(&folders).any(|folder| folder.join(&file).is_file()) {
                    found.problem(format!("{file} is in no folder of LD_LIBRARY_PATH, where NCCL 2.27.3 looks for it"));
                }
            } else if !path.is_absolute() {
                found.problem(format!(
                    "NCCL_TUNER_PLUGIN={plugin} is no absolute path: libraries complete short names differently, and run \
                     untuned without an error where nothing is found"
                ));
            } else if !path.exists() {
                found.problem(format!("NCCL_TUNER_PLUGIN={plugin} is not there"));
            } else {
                match File::open(path).and_then(Strings::of) {
                    Ok(strings) => self::plugin(found, &plugin, &strings, glibc()),
                    Err(error) => found.problem(format!("NCCL_TUNER_PLUGIN={plugin} can't be read: {error}")),
                }
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
            found.problem(format!("COLLECTUNE_TUNER_MODE={other} is none of static, policy, online, passive"));
            "passive"
        }
        None if conf.is_some() => "static",
        None if policy.is_some() => "policy",
        None if folder.is_some() => "online",
        None => "passive",
    };
    found.mode = mode.to_owned();
    let by_mode = [
        ("static", &conf, "NCCL_TUNER_CONFIG_FILE"),
        ("policy", &policy, "COLLECTUNE_TUNER_POLICY"),
        ("online", &folder, "COLLECTUNE_TUNER_DIR"),
    ];
    for (_, _, name) in by_mode.iter().filter(|(of, given, _)| *of != mode && given.is_some()) {
        found.note(format!("{name} is set, and the mode {mode} does not use it"));
    }
    let Some((_, needed, name)) = by_mode.into_iter().find(|(of, ..)| *of == mode) else { return };
    match needed {
        None => found.problem(format!("the mode {mode} needs {name}, which is not set")),
        Some(path) if !path.exists() => found.problem(format!("{name}={} is not there", files::name(path))),
        Some(path) if mode == "online" && !path.is_dir() => {
            found.problem(format!("{name}={} is no folder", files::name(path)));
        }
        Some(path) if mode == "static" => match std::fs::read(path) {
            Ok(bytes) => tuner_file(found, name, path, &bytes),
            Err(error) => found.problem(format!("{name}={} can't be read: {error}", files::name(path))),
        },
        Some(path) if mode == "policy" => {
            let read = std::fs::read(path).map_err(|error| error.to_string());
            match read.and_then(|bytes| Policy::read(&bytes).map_err(|error| error.to_string())) {
                Ok(reading) => {
                    reading.notes.iter().for_each(|note| found.note(format!("{name}: {} {note}", files::name(path))));
                }
                Err(error) => found.problem(format!("{name}: {} {error}", files::name(path))),
            }
        }
        Some(_) => {}
    }
    if mode == "online" && found.tuner_version.is_some_and(|version| version < 5) {
        found.problem(
            "the mode online needs version 5 of the interface (NCCL or RCCL 2.28), which tells the communicator's id: here \
             the plugin stays passive",
        );
    }
}

/// Checks the file under `NCCL_TUNER_PLUGIN`; `here` is the glibc of this machine.
fn plugin(found: &mut Findings, name: &str, strings: &Strings, here: Option<Glibc>) {
    let offers = strings.looks_up();
    if !strings.is_program || !offers.iter().any(|version| (1..=6).contains(version)) {
        found.problem(format!(
            "NCCL_TUNER_PLUGIN={name} is no tuner plugin: it has none of ncclTunerPlugin_v1 to ncclTunerPlugin_v6"
        ));
        return;
    }
    if !strings.is_ours {
        found.note(format!(
            "NCCL_TUNER_PLUGIN={name} is a tuner plugin, and not Collectune's: modes and files are not about it"
        ));
    }
    let Some(needs) = strings.glibc else { return };
    found.plugin_needs_glibc = Some(needs.to_string());
    if let Some(here) = here.filter(|here| *here < needs) {
        found.problem(format!(
            "NCCL_TUNER_PLUGIN={name} needs glibc {needs}, and this machine has {here}: it would not be loaded, and the \
             job would run untuned"
        ));
    }
}

/// A tuner file as the plugin reads it.
fn tuner_file(found: &mut Findings, variable: &str, path: &Path, bytes: &[u8]) {
    const LISTED: usize = 3;
    let mut rules = 0_u64;
    let mut faults = Vec::new();
    for (line, content) in lines(bytes) {
        match content {
            LineContent::Rule(_) => rules += 1,
            LineContent::Fault(fault) => faults.push(format!("line {line}, {fault}")),
            LineContent::Nothing | LineContent::Header => {}
        }
    }
    let skipped = count(faults.len() as u64, "line");
    let first = faults.iter().take(LISTED).cloned().collect::<Vec<_>>().join("; ");
    let name = files::name(path);
    match (rules, faults.is_empty()) {
        (0, true) => found.problem(format!("{variable}={name} has no rule: the library would choose everything")),
        (0, false) => found.problem(format!(
            "{variable}={name} has no rule that can be followed, and {skipped} that can't be read ({first}): the library \
             would choose everything"
        )),
        (_, true) => {}
        (_, false) => found.problem(format!("{variable}={name}: {skipped} would be skipped ({first})")),
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
    if let Some(needs) = &found.plugin_needs_glibc {
        text += &format!("the plugin needs: glibc {needs}\n");
    }
    text += &format!("mode: {}\n", found.mode);
    found.problems.iter().for_each(|problem| text += &format!("problem: {problem}\n"));
    found.notes.iter().for_each(|note| text += &format!("note: {note}\n"));
    text
}

/// A version of glibc: 2 and this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Glibc(u32);

impl std::fmt::Display for Glibc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "2.{}", self.0)
    }
}

/// The glibc of this machine: the highest version that its library defines.
fn glibc() -> Option<Glibc> {
    const FOLDERS: [&str; 5] = ["/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"];
    let path = FOLDERS.iter().map(|folder| Path::new(folder).join("libc.so.6")).find(|path| path.is_file())?;
    Strings::of(File::open(path).ok()?).ok()?.glibc
}

/// The strings of a library that tell its tuner interface.
#[derive(Default)]
struct Strings {
    /// It begins as a program or library of Linux does.
    is_program: bool,
    /// Whether it is Collectune's plugin.
    is_ours: bool,
    /// The highest version of glibc that it names.
    glibc: Option<Glibc>,
    versions: [bool; 16],
    version: Option<String>,
}

impl Strings {
    const SYMBOL: &'static [u8] = b"ncclTunerPlugin_v";
    const VERSION: &'static [u8] = b"NCCL version ";
    const GLIBC: &'static [u8] = b"GLIBC_2.";
    const OURS: &'static [u8] = b"collectune_tuner_last_decision";
    const PROGRAM: &'static [u8] = b"\x7FELF";
    /// The bytes at the end of one piece that are searched again with the next.
    const TAIL: usize = 64;

    /// Reads a file piece by piece: libraries have hundreds of megabytes.
    fn of(mut file: impl Read) -> std::io::Result<Self> {
        let mut found = Self::default();
        let mut buffer = vec![0; 1 << 20];
        let mut kept = 0;
        loop {
            let read = file.read(&mut buffer[kept..])?;
            let filled = kept + read;
            // Before the first piece nothing was kept.
            found.is_program |= kept == 0 && buffer[..filled].starts_with(Self::PROGRAM);
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
        found_glibc(self, bytes);
        self.is_ours |= memchr::memmem::find(bytes, Self::OURS).is_some();
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

/// A version's digits may be cut off by the end of a piece; the next piece has them whole.
fn found_glibc(found: &mut Strings, bytes: &[u8]) {
    for at in memchr::memmem::find_iter(bytes, Strings::GLIBC) {
        let rest = &bytes[at + Strings::GLIBC.len()..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits < rest.len()
            && let Ok(minor) = lossy(&rest[..digits]).parse()
        {
            found.glibc = found.glibc.max(Some(Glibc(minor)));
        }
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
        assert!(problems("2.27.5+cuda12.9", "/bin/sh").contains("/bin/sh is no tuner plugin"));
    }

    #[test]
    fn a_plugin_is_told_from_other_libraries_and_says_what_it_needs() {
        let of = |bytes: &[u8], here: u32| {
            let mut found = Findings::default();
            plugin(&mut found, "x.so", &Strings::of(bytes).unwrap(), Some(Glibc(here)));
            (found.plugin_needs_glibc, found.problems.join("\n"), found.notes.join("\n"))
        };
        let ours = b"\x7FELF\0ncclTunerPlugin_v4\0collectune_tuner_last_decision\0GLIBC_2.2.5\0GLIBC_2.28\0GLIBC_2.4\0";
        assert_eq!(of(ours, 28), (Some("2.28".to_owned()), String::new(), String::new()));
        assert!(of(ours, 17).1.contains("needs glibc 2.28, and this machine has 2.17"));
        assert!(of(b"\x7FELF\0ncclTunerPlugin_v4\0", 17).2.contains("not Collectune's"));
        for other in [&b"\x7FELF\0cosf\0GLIBC_2.27\0"[..], b"ncclTunerPlugin_v4\0", b""] {
            assert!(of(other, 36).1.contains("is no tuner plugin"));
        }
    }

    #[test]
    fn a_tuner_file_without_a_rule_is_a_problem() {
        let of = |text: &str| {
            let mut found = Findings::default();
            tuner_file(&mut found, "NCCL_TUNER_CONFIG_FILE", Path::new("a.conf"), text.as_bytes());
            found.problems.join("\n")
        };
        let rule = "allreduce,0,65536,tree,ll,8,2,16\n";
        assert_eq!(of(rule), "");
        assert_eq!(of(&format!("\u{FEFF}{rule}")), "");
        let bad = of(&"allreduce,0,65536,oak,ll,8,2,16\n".repeat(10));
        assert!(
            bad.contains("no rule that can be followed, and 10 lines that can't be read (line 1, algorithm"),
            "{bad}"
        );
        assert!(of(&format!("{rule}hello\n")).contains("1 line would be skipped (line 2"));
        assert!(of("# nothing\n").contains("has no rule: the library would choose everything"));
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
