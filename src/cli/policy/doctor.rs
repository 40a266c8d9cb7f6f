//! `collectune policy doctor`: which tuner the installed library loads, which file it reads, and what the plugin would
//! do.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;

use super::{
    library_file::{Glibc, Strings, amd_gpu, glibc, header_version, installed, loader_folders},
    tuner_search::{Machine, Place, Search, Tuner},
};
use crate::{
    cli::{arguments, error::CliError, files, terminal},
    conf::{
        built_in::Table,
        strict::{LineContent, lines},
    },
    policy::{file::Policy, read::is_policy},
    text::lossy,
    tuning::{
        conf::{Reader, Severity, lint::lint_for},
        platform::{Library, Platform},
        sweep::Sweep,
        variables,
    },
    units::count,
};

/// Say which tuner the installed NCCL or RCCL loads, which file it reads, and which mode of Collectune's plugin applies
///
/// Nothing is loaded or run: the library is read as a file. Exit code 3: something is wrong.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune policy doctor /usr/lib/x86_64-linux-gnu/libnccl.so.2
  collectune policy doctor /opt/rocm/lib/librccl.so.1 --gpu gfx950 --file rccl_tuner_gfx950.csv")]
pub(in crate::cli) struct Doctor {
    /// libnccl.so or librccl.so; that of LD_LIBRARY_PATH or of the usual folders where not given
    #[arg(value_name = "LIBNCCL")]
    library_file: Option<PathBuf>,

    /// A tuner file or a policy: whether it would be reached
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// The library [default: as its file or the GPU says]
    #[arg(long, value_enum)]
    library: Option<Library>,

    #[command(flatten)]
    machine: arguments::Machine,

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,
}

/// The findings of a check.
#[derive(Debug, Default, Serialize)]
struct Findings {
    library: Option<String>,
    version: Option<String>,
    /// The GPU, as far as it decides about a table of the library.
    gpu: Option<String>,
    /// Interfaces that the library looks up.
    looks_up: Vec<u32>,
    /// The one that it takes of Collectune's plugin.
    tuner_version: Option<u32>,
    /// The tuner that the library loads, in words; `None` where it isn't known which library that is.
    tuner: Option<String>,
    /// Where the library looks for a tuner, in this order.
    places: Vec<Place>,
    /// The tuners and tables that would be used if another were not loaded, in words.
    displaced: Vec<String>,
    /// The glibc that the plugin needs at least, `2.28`; where it is named and can be read.
    plugin_needs_glibc: Option<String>,
    /// `static`, `policy`, `online` or `passive`.
    mode: String,
    /// The file that Collectune's plugin follows in this mode, or the folder in which ranks agree.
    follows: Option<String>,
    problems: Vec<String>,
    notes: Vec<String>,
    /// Whether RCCL's built-in tuner reads the file of `NCCL_TUNER_CONFIG_FILE`, instead of the plugin.
    #[serde(skip)]
    is_csv: bool,
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
        let file = self.file.as_deref().map(|file| Ok::<_, CliError>((file, files::bytes(file)?))).transpose()?;
        let variable = |name: &str| env::var_os(name);
        let folders = loader_folders();
        let mut found = Findings::default();
        let path = self.library_file.clone().or_else(|| installed(&folders).filter(|_| self.library.is_none()));
        let mut strings = None;
        match &path {
            None if self.library.is_some() => {}
            None => found.problem(
                "no libnccl.so or librccl.so is found; name it (in a Python environment it lies under \
                 site-packages/nvidia/nccl/lib), or give --library and --library-version",
            ),
            Some(path) => {
                let read = File::open(path).and_then(Strings::of);
                let read = read.map_err(|error| files::unopened(path, &error))?;
                found.library = Some(files::name(path));
                found.version = read.version.clone().or_else(|| header_version(path));
                found.looks_up = read.tuner_versions();
                library(&mut found);
                strings = Some(read);
            }
        }
        let platform = self.platform(path.as_deref(), strings.as_ref(), &mut found, &variable);
        let mut search = None;
        if let Some(platform) = platform {
            let library = path.as_deref().zip(strings.as_ref());
            let machine = Machine { platform, library, variable: &variable, folders: &folders, glibc: glibc() };
            search = Some((platform, machine.search()));
        }
        found.is_csv = search.as_ref().is_some_and(|(_, search)| matches!(search.tuner, Tuner::CsvFile(_)));
        environment(&mut found, &variable);
        if let Some((platform, search)) = &search {
            loaded(&mut found, *platform, search, &variable);
            let all = env::vars_os().map(|(name, value)| (name.to_string_lossy().into_owned(), value));
            variables_of(&mut found, *platform, all.collect());
            if let Some((file, bytes)) = &file {
                reached(&mut found, file, bytes, &search.tuner, &variable);
            }
        } else if let Some((file, _)) = &file {
            found.problem(format!("whether {} would be reached can't be known without the library", files::name(file)));
        }
        if self.json {
            terminal::write_json(&found)?;
        } else {
            terminal::write(&for_people(&found))?;
        }
        if found.problems.is_empty() { Ok(()) } else { Err(CliError::Found) }
    }

    /// The library, its version and the GPU: as they are given, else as files of this machine say. `None` where the
    /// library isn't known.
    fn platform(
        &self,
        path: Option<&Path>,
        strings: Option<&Strings>,
        found: &mut Findings,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Option<Platform> {
        const NODES: &str = "/sys/class/kfd/kfd/topology/nodes";
        let named = || variable("COLLECTUNE_TUNER_GPU")?.to_str()?.parse().ok();
        let gpu = self.machine.gpu.or_else(|| amd_gpu(Path::new(NODES))).or_else(named);
        let is_rccl =
            |path: &Path| path.file_name().is_some_and(|name| lossy(name.as_encoded_bytes()).contains("rccl"));
        let of_file = strings.zip(path).map(|(strings, path)| match strings.is_rccl || is_rccl(path) {
            true => Library::Rccl,
            false => Library::Nccl,
        });
        let library = self.library.or(of_file).or_else(|| self.machine.gpu.map(Library::from))?;
        let told = found.version.as_deref().and_then(|version| version.parse().ok());
        let version = self.machine.library_version.or(told);
        if found.version.is_none() {
            found.version = version.map(|version| version.to_string());
        }
        found.gpu = gpu.map(|gpu| gpu.to_string());
        if version.is_none() {
            found.note(format!("the version of {library} is in no file that was read; --library-version gives it"));
        }
        Some(Platform { version, gpu, ..library.into() })
    }
}

/// What is loaded, and what that takes away.
fn loaded(found: &mut Findings, platform: Platform, search: &Search, variable: &dyn Fn(&str) -> Option<OsString>) {
    let Search { tuner, places, network } = search;
    found.tuner = Some(tuner.to_string());
    found.places.clone_from(places);
    match tuner {
        Tuner::None(why) => {
            if let Some(follows) = found.follows.clone() {
                found.problem(format!("no tuner is loaded, so {follows} is not followed: {why}"));
            }
        }
        Tuner::Unknown(why) => found.note(format!("which tuner is loaded depends on what isn't known: {why}")),
        Tuner::CsvFile(path) => csv_file(found, platform, path),
        Tuner::Plugin(..) | Tuner::CsvEmbedded(_) => {}
    }
    let of_network = network.as_ref().filter(|(_, strings)| !strings.tuner_versions().is_empty());
    let is_loaded = |path: &Path| matches!(tuner, Tuner::Plugin(loaded, _) if loaded == path);
    if let Some((path, strings)) = of_network.filter(|(path, _)| !is_loaded(path)) {
        let what = match strings.ofi.as_deref() {
            Some("") => "the tuner of aws-ofi-nccl".to_owned(),
            Some(version) => format!("the tuner of aws-ofi-nccl {version}"),
            None => "the tuner of the network plugin".to_owned(),
        };
        found.note(format!(
            "{what} in {} is not loaded, because another comes first; unset NCCL_TUNER_PLUGIN to have it",
            path.display()
        ));
        found.displaced.push(format!("{what}, {}", path.display()));
    }
    let table = Table::possible(platform.gpu, platform.version).filter(|_| platform.library == Library::Rccl);
    let Some(table) = table else { return };
    match tuner {
        Tuner::Plugin(_, strings) if strings.is_ours => own_table(found, platform, table, variable),
        Tuner::Plugin(path, _) => found.note(format!(
            "{} takes the table of {table} away; collectune tuning lint FILE --reader READER --library rccl --against {} \
             says which sizes its file leaves open",
            path.display(),
            table.key()
        )),
        Tuner::CsvFile(_) | Tuner::None(_) => {}
        Tuner::CsvEmbedded(_) | Tuner::Unknown(_) => return,
    }
    let doubt = if platform.gpu.is_none() || platform.version.is_none() { ", if it has one" } else { "" };
    found.displaced.push(format!("the table of {table}{doubt}"));
}

/// Whether Collectune's plugin carries the rows of the table that it takes away.
fn own_table(found: &mut Findings, platform: Platform, table: Table, variable: &dyn Fn(&str) -> Option<OsString>) {
    let value = |name: &str| variable(name).and_then(|value| value.into_string().ok()).unwrap_or_default();
    let (gpu, version) = ("COLLECTUNE_TUNER_GPU", "COLLECTUNE_TUNER_LIBRARY_VERSION");
    if let Some(off) =
        ["COLLECTUNE_TUNER_BUILT_IN", "RCCL_TUNER_EMBEDDED_CONFIG"].into_iter().find(|name| value(name) == "0")
    {
        found.note(format!("the plugin takes the table of {table} away, and does not carry its rows: {off}=0"));
        return;
    }
    let carried = value(gpu).parse().ok().zip(value(version).parse().ok());
    match carried.and_then(|(gpu, version)| Table::find(gpu, Some(version))) {
        Some(carried) if carried.of == table.of => {
            found.note(format!("the plugin carries the rows of the table of {carried}, which it takes away"));
        }
        Some(carried) => found.problem(format!(
            "the plugin takes the table of {table} away, and carries the rows of {carried}; set {gpu} and {version} to what \
             runs here"
        )),
        None => {
            let message = format!(
                "the plugin takes the table of {table} away; to have it carry the rows, set {gpu}={} and {version}={}",
                table.of.gpu,
                platform.version.map_or_else(|| "VERSION".to_owned(), |version| version.to_string())
            );
            if platform.gpu.is_some() && platform.version.is_some() {
                found.problem(message);
            } else {
                found.note(format!("{message}, if this runs on that GPU"));
            }
        }
    }
}

/// A file as RCCL's built-in tuner reads it.
fn csv_file(found: &mut Findings, platform: Platform, path: &Path) {
    let name = files::name(path);
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(_) if path.is_dir() => Vec::new(),
        Err(error) => {
            found.problem(format!("{name} can't be read: {error}"));
            return;
        }
    };
    let findings = lint_for(&bytes, &[Reader::Rccl], platform, &Sweep::default());
    let changes: Vec<_> = findings.iter().filter(|finding| finding.severity == Severity::Changes).collect();
    if let Some(first) = changes.first() {
        found.problem(format!(
            "{name}: {} with RCCL's built-in tuner, the first in line {}: {}; collectune tuning lint {name} --reader rccl \
             lists them",
            count(changes.len() as u64, "finding"),
            first.line,
            first.message
        ));
    }
}

/// The variables that the library ignores, limits, or takes otherwise than they are written.
fn variables_of(found: &mut Findings, platform: Platform, mut all: Vec<(String, OsString)>) {
    all.retain(|(name, _)| name.starts_with("NCCL_"));
    all.sort();
    let text: String = all
        .iter()
        .map(|(name, value)| {
            let value = value.to_string_lossy();
            let quote = if value.contains('"') { '\'' } else { '"' };
            format!("{name}={quote}{}{quote}\n", value.replace(['\n', '\r'], " "))
        })
        .collect();
    for finding in variables::findings(&text, platform) {
        match finding.severity {
            Severity::Changes => found.problem(finding.message),
            Severity::Dead | Severity::Note => {
                // Where the network plugin was found, it is said with its path.
                let is_said = finding.name == "NCCL_TUNER_PLUGIN"
                    && found.displaced.iter().any(|what| what.starts_with("the tuner of aws-ofi-nccl"));
                if !is_said {
                    found.note(finding.message);
                }
            }
        }
    }
}

/// Whether a tuner file or a policy is reached.
fn reached(
    found: &mut Findings,
    file: &Path,
    bytes: &[u8],
    tuner: &Tuner,
    variable: &dyn Fn(&str) -> Option<OsString>,
) {
    let name = files::name(file);
    let is_policy = is_policy(&lossy(bytes));
    let option = if is_policy { "COLLECTUNE_TUNER_POLICY" } else { "NCCL_TUNER_CONFIG_FILE" };
    let given = variable(option).filter(|value| !value.is_empty()).map(PathBuf::from);
    let is_same = |other: &Path| match (fs::canonicalize(file), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => file == other,
    };
    let set = format!("set {option} to its absolute path");
    match tuner {
        Tuner::Plugin(path, strings) if strings.is_ours => match found.follows.clone() {
            Some(follows) if is_same(Path::new(&follows)) => {
                let other = match variable("COLLECTUNE_TUNER_DIR") {
                    Some(_) => ", unless the ranks agree on what another of them proposes",
                    None => "",
                };
                found.note(format!("{name} would be reached by {}, in the mode {}{other}", path.display(), found.mode));
            }
            Some(_) if found.mode == "online" && given.as_deref().is_some_and(is_same) => {
                found.note(format!("{name} would be reached: the mode online begins with it"));
            }
            Some(follows) => found.problem(format!(
                "{name} would not be reached: the plugin follows {follows}, in the mode {}; {set}, and COLLECTUNE_TUNER_MODE",
                found.mode
            )),
            None => found.problem(format!(
                "{name} would not be reached: the plugin follows no file, in the mode {}; {set}",
                found.mode
            )),
        },
        Tuner::Plugin(path, _) if is_policy => found.problem(format!(
            "{name} would not be reached: {} is not Collectune's plugin, which alone reads policies",
            path.display()
        )),
        Tuner::Plugin(path, _) if given.as_deref().is_some_and(is_same) => found.note(format!(
            "whether {name} is reached can't be known: NCCL_TUNER_CONFIG_FILE names it, and {} is a plugin of which is not \
             known what it reads",
            path.display()
        )),
        Tuner::Plugin(path, _) => found.problem(format!(
            "{name} would not be reached: {option} does not name it, and {} is loaded",
            path.display()
        )),
        Tuner::CsvFile(path) if !is_policy && is_same(path) => {
            found.note(format!("{name} would be reached by RCCL's built-in CSV tuner"));
        }
        Tuner::CsvFile(_) | Tuner::CsvEmbedded(_) if is_policy => found.problem(format!(
            "{name} would not be reached: {tuner}, is loaded, and reads no policies; set NCCL_TUNER_PLUGIN to the absolute \
             path of Collectune's plugin"
        )),
        Tuner::CsvFile(_) | Tuner::CsvEmbedded(_) => {
            found.problem(format!("{name} would not be reached: {tuner}, is loaded; {set}"));
        }
        Tuner::None(why) => found.problem(format!("{name} would not be reached, because no tuner is loaded: {why}")),
        Tuner::Unknown(why) => found.note(format!("whether {name} would be reached can't be known: {why}")),
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
    match text("NCCL_TUNER_PLUGIN").filter(|name| !name.eq_ignore_ascii_case("none")) {
        None if found.is_csv || text("NCCL_TUNER_PLUGIN").is_some() => {}
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
    found.follows = needed.as_deref().map(files::name);
    match needed {
        None => found.problem(format!("the mode {mode} needs {name}, which is not set")),
        Some(_) if found.is_csv && mode == "static" => {}
        Some(path) if !path.exists() => found.problem(format!("{name}={} is not there", files::name(path))),
        Some(path) if mode == "online" && !path.is_dir() => {
            found.problem(format!("{name}={} is no folder", files::name(path)));
        }
        Some(path) if mode == "static" => match fs::read(path) {
            Ok(bytes) => tuner_file(found, name, path, &bytes),
            Err(error) => found.problem(format!("{name}={} can't be read: {error}", files::name(path))),
        },
        Some(path) if mode == "policy" => {
            let read = fs::read(path).map_err(|error| error.to_string());
            match read.and_then(|bytes| Policy::read(&bytes).map_err(|error| error.to_string())) {
                Ok(reading) => {
                    reading.notes.iter().for_each(|note| found.note(format!("{name}: {} {note}", files::name(path))));
                    let sizes = count(reading.policy.chunk_sizes.len() as u64, "chunk size");
                    if !reading.policy.chunk_sizes.is_empty() && found.tuner_version.is_some_and(|version| version < 6)
                    {
                        found.note(format!(
                            "{name}: {} gives {sizes}, for which only version 6 of the interface asks (NCCL and RCCL 2.30)",
                            files::name(path)
                        ));
                    }
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
    let offers = strings.tuner_versions();
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
    if let Some(gpu) = &found.gpu {
        text += &format!("GPU: {gpu}\n");
    }
    for Place { place, found } in &found.places {
        text += &format!("looked for: {place}: {found}\n");
    }
    if let Some(tuner) = &found.tuner {
        text += &format!("tuner: {tuner}\n");
    }
    found.displaced.iter().for_each(|what| text += &format!("displaced: {what}\n"));
    if let Some(needs) = &found.plugin_needs_glibc {
        text += &format!("the plugin needs: glibc {needs}\n");
    }
    match &found.follows {
        Some(follows) => text += &format!("mode of the plugin: {}, {follows}\n", found.mode),
        None => text += &format!("mode of the plugin: {}\n", found.mode),
    }
    found.problems.iter().for_each(|problem| text += &format!("problem: {problem}\n"));
    found.notes.iter().for_each(|note| text += &format!("note: {note}\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_online_needs_an_interface_that_tells_the_communicator() {
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

    const GFX950: &str = "rccl-2.30.4-gfx950";

    fn rccl() -> Platform {
        let table: Table = GFX950.parse().unwrap();
        Platform { version: table.version, gpu: Some(table.of.gpu), ..Library::Rccl.into() }
    }

    fn search(tuner: Tuner, network: Option<(PathBuf, Strings)>) -> Search {
        Search { tuner, places: Vec::new(), network }
    }

    fn ours() -> Tuner {
        let strings = Strings::of(&b"\x7FELF ncclTunerPlugin_v6 collectune_tuner_last_decision "[..]).unwrap();
        Tuner::Plugin("/p/ours.so".into(), Box::new(strings))
    }

    #[test]
    fn a_table_that_the_plugin_takes_away_must_be_carried() {
        let told = |variables: &[(&str, &str)], platform: Platform| {
            let mut found = Findings::default();
            let set =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
            loaded(&mut found, platform, &search(ours(), None), &set);
            found
        };
        let bare = told(&[], rccl());
        assert_eq!(bare.displaced, ["the table of RCCL 2.30.4 gfx950"]);
        let remedy = "set COLLECTUNE_TUNER_GPU=gfx950 and COLLECTUNE_TUNER_LIBRARY_VERSION=2.30.4";
        assert!(bare.problems[0].ends_with(remedy), "{bare:?}");
        let (gpu, version) = (("COLLECTUNE_TUNER_GPU", "mi355x"), ("COLLECTUNE_TUNER_LIBRARY_VERSION", "2.30.4"));
        let carried = told(&[gpu, version], rccl());
        assert!(carried.problems.is_empty() && carried.notes[0].contains("carries the rows"), "{carried:?}");
        let newer = told(&[gpu, ("COLLECTUNE_TUNER_LIBRARY_VERSION", "2.31.2")], rccl());
        assert!(newer.problems[0].contains("carries the rows of RCCL 2.31.2 gfx950"), "{newer:?}");
        let off = told(&[("RCCL_TUNER_EMBEDDED_CONFIG", "0")], rccl());
        assert!(off.problems.is_empty() && off.notes[0].ends_with("RCCL_TUNER_EMBEDDED_CONFIG=0"), "{off:?}");
        // Nothing is claimed of a GPU that isn't known, and nothing said of one without a table.
        let unknown = told(&[], Platform { gpu: None, ..rccl() });
        assert!(unknown.problems.is_empty() && unknown.displaced[0].ends_with("if it has one"), "{unknown:?}");
        let other = told(&[], Platform { gpu: "gfx942".parse().ok(), ..rccl() });
        assert!(other.displaced.is_empty() && other.problems.is_empty() && other.notes.is_empty(), "{other:?}");
    }

    #[test]
    fn what_another_tuner_takes_away_is_listed() {
        let ofi = Strings::of(&b"\x7FELF ncclTunerPlugin_v4 aws-ofi-nccl 1.16.2\0 "[..]).unwrap();
        let network = Some((PathBuf::from("/p/librccl-net.so"), ofi.clone()));
        let nothing = |_: &str| None;
        let of = |tuner: Tuner| {
            let mut found = Findings { follows: Some("/p/a.conf".to_owned()), ..Findings::default() };
            loaded(&mut found, rccl(), &search(tuner, network.clone()), &nothing);
            found
        };
        let found = of(ours());
        assert_eq!(found.displaced[0], "the tuner of aws-ofi-nccl 1.16.2, /p/librccl-net.so");
        let mut found = found;
        variables_of(
            &mut found,
            rccl(),
            vec![
                ("NCCL_TUNER_PLUGIN".to_owned(), "/p/ours.so".into()),
                ("NCCL_NET_PLUGIN".to_owned(), "ofi".into()),
                ("NCCL_ALGO".to_owned(), "ring;allreduce:tree".into()),
                ("PATH".to_owned(), "NCCL_NTHREADS=100".into()),
            ],
        );
        let all = [found.problems.clone(), found.notes.clone()].concat().join("\n");
        assert_eq!(all.matches("aws-ofi-nccl").count(), 1, "{all}");
        assert!(found.problems.iter().any(|problem| problem.starts_with("NCCL_ALGO wins over the tuner")), "{all}");
        assert!(!all.contains("NCCL_NTHREADS"), "{all}");
        let itself = of(Tuner::Plugin("/p/librccl-net.so".into(), Box::new(ofi)));
        assert_eq!(itself.displaced, ["the table of RCCL 2.30.4 gfx950"]);
        let none = of(Tuner::None("NCCL_TUNER_PLUGIN=none".to_owned()));
        assert!(none.problems[0].starts_with("no tuner is loaded, so /p/a.conf is not followed"), "{none:?}");
        assert_eq!(none.displaced.len(), 2, "{none:?}");
    }

    #[test]
    fn a_file_is_reached_where_the_loaded_tuner_reads_it() {
        let folder = tempfile::TempDir::new().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let conf = write("a.conf", "allreduce,0,65536,tree,ll,8,2,16\n");
        let policy = write("a.policy.json", &Policy { arms: vec![Default::default()], ..Policy::default() }.text());
        let other = write("b.conf", "");
        let plugin = Tuner::Plugin("/p/other.so".into(), Box::default());
        let of = |file: &Path, tuner: &Tuner, follows: Option<&Path>, set: Option<&Path>| {
            let mut found =
                Findings { mode: "static".to_owned(), follows: follows.map(files::name), ..Findings::default() };
            let variable =
                |name: &str| set.filter(|_| name == "NCCL_TUNER_CONFIG_FILE").map(|path| path.as_os_str().to_owned());
            reached(&mut found, file, &fs::read(file).unwrap(), tuner, &variable);
            let is_reached = found.problems.is_empty();
            (is_reached, [found.problems, found.notes].concat().join("\n"))
        };
        let csv = Tuner::CsvFile(folder.path().join("../").join(folder.path().file_name().unwrap()).join("a.conf"));
        let own = Tuner::CsvEmbedded("rccl_tuner_gfx950.csv".to_owned());
        let none = Tuner::None("NCCL_TUNER_PLUGIN=none".to_owned());
        let unknown = Tuner::Unknown("the GPU".to_owned());
        for (file, tuner, follows, set, is_reached, words) in [
            (&conf, &ours(), Some(&conf), None, true, "would be reached by /p/ours.so, in the mode static"),
            (&conf, &ours(), Some(&other), None, false, "the plugin follows "),
            (&policy, &ours(), None, None, false, "follows no file, in the mode static; set COLLECTUNE_TUNER_POLICY"),
            (&policy, &plugin, None, None, false, "which alone reads policies"),
            (&conf, &plugin, None, Some(&conf), true, "can't be known: NCCL_TUNER_CONFIG_FILE names it"),
            (&conf, &plugin, None, Some(&other), false, "NCCL_TUNER_CONFIG_FILE does not name it"),
            (&conf, &csv, None, None, true, "would be reached by RCCL's built-in CSV tuner"),
            (&other, &csv, None, None, false, "set NCCL_TUNER_CONFIG_FILE to its absolute path"),
            (&policy, &csv, None, None, false, "reads no policies"),
            (
                &conf,
                &own,
                None,
                None,
                false,
                "with its own rccl_tuner_gfx950.csv, is loaded; set NCCL_TUNER_CONFIG_FILE",
            ),
            (&conf, &none, None, None, false, "no tuner is loaded: NCCL_TUNER_PLUGIN=none"),
            (&conf, &unknown, None, None, true, "can't be known: the GPU"),
        ] {
            let (is, told) = of(file, tuner, follows.map(PathBuf::as_path), set.map(PathBuf::as_path));
            assert!(is == is_reached && told.contains(words), "{tuner}: {told}");
        }
    }

    #[test]
    fn a_file_without_rules_still_takes_the_table_away() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("rccl_tuner.csv");
        let told = |path: &Path| {
            let mut found = Findings::default();
            loaded(&mut found, rccl(), &search(Tuner::CsvFile(path.to_owned()), None), &|_| None);
            assert_eq!(found.displaced, ["the table of RCCL 2.30.4 gfx950"]);
            found.problems.join("\n")
        };
        for text in ["", "# nothing\n"] {
            fs::write(&path, text).unwrap();
            assert!(told(&path).contains("with RCCL's built-in tuner, the first in line 1"), "{text}: {}", told(&path));
        }
        assert!(told(folder.path()).contains("with RCCL's built-in tuner, the first in line 1"));
        let table: Table = GFX950.parse().unwrap();
        fs::write(&path, table.text(Reader::Rccl)).unwrap();
        assert_eq!(told(&path), "");
    }
}
