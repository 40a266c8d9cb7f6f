//! Which tuner a library loads, and which file RCCL's built-in tuner reads, in the order in which they are looked for.
//!
//! Source: NVIDIA/nccl and ROCm/rocm-systems, projects/rccl: src/plugin/tuner.cc (03a89144), src/plugin/plugin_open.cc
//! (03a89144), src/plugin/tuner/csv_tuner.cc (22af4d53).

use std::{
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::library_file::{Glibc, Strings};
use crate::{
    conf::built_in::Table,
    tuning::platform::{Gpu, Library, Platform, Version},
};

/// The machine on which a job starts, as its library sees it.
pub(super) struct Machine<'a> {
    /// The library with its version and GPU, as far as they are known.
    pub(super) platform: Platform,
    /// The library's file, and what it tells.
    pub(super) library: Option<(&'a Path, &'a Strings)>,
    /// The value of a variable of the environment that the job gets.
    pub(super) variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The folders in which the loader finds libraries by their names.
    pub(super) folders: &'a [PathBuf],
    /// The glibc, if it is known.
    pub(super) glibc: Option<Glibc>,
}

/// The tuner that a library loads.
#[derive(Clone, Debug)]
pub(super) enum Tuner {
    /// A plugin, by the file in which it lies.
    Plugin(PathBuf, Box<Strings>),
    /// RCCL's built-in CSV tuner with this file.
    CsvFile(PathBuf),
    /// RCCL's built-in CSV tuner with the table that is compiled in under this name.
    CsvEmbedded(String),
    /// None, for this reason.
    None(String),
    /// It depends on what isn't known.
    Unknown(String),
}

/// A place at which the library looks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Place {
    /// A variable, the name of a library, or the path of a file.
    pub(super) place: String,
    /// In words: what lies at this place, or that nothing does.
    pub(super) found: String,
}

/// The tuner that a library loads, and the places at which it looked for it.
#[derive(Clone, Debug)]
pub(super) struct Search {
    /// The tuner that is loaded.
    pub(super) tuner: Tuner,
    /// The places at which the library looked, in this order.
    pub(super) places: Vec<Place>,
    /// The network plugin, if there is one: its library may bring a tuner along.
    pub(super) network: Option<(PathBuf, Strings)>,
}

const TUNER: &str = "NCCL_TUNER_PLUGIN";
const NETWORK: &str = "NCCL_NET_PLUGIN";
const FILE: &str = "NCCL_TUNER_CONFIG_FILE";
const EMBEDDED: &str = "RCCL_TUNER_EMBEDDED_CONFIG";
/// The first version of RCCL with the built-in CSV tuner.
const CSV_SINCE: Version = Version::release(2, 28, 3);

impl Machine<'_> {
    fn text(&self, name: &str) -> Option<String> {
        (self.variable)(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
    }

    /// Looks for the tuner.
    pub(super) fn search(&self) -> Search {
        let mut places = Vec::new();
        let network = self.network();
        let tuner = self.tuner(network.as_ref(), &mut places);
        Search { tuner, places, network }
    }

    fn tuner(&self, network: Option<&(PathBuf, Strings)>, places: &mut Vec<Place>) -> Tuner {
        let named = self.text(TUNER);
        let place = named.as_ref().map_or_else(|| "libnccl-tuner.so".to_owned(), |name| format!("{TUNER}={name}"));
        let mut add = |place: String, found: String| places.push(Place { place, found });
        if named.as_ref().is_some_and(|name| name.eq_ignore_ascii_case("none")) {
            add(place, "no tuner at all is loaded".to_owned());
            return Tuner::None(format!("{TUNER}=none"));
        }
        match self.open(named.as_deref(), "libnccl-tuner") {
            Ok((path, strings)) => {
                add(place, path.display().to_string());
                return self.taken(path, strings);
            }
            Err(why) => add(place, why),
        }
        let place = self
            .text(NETWORK)
            .map_or_else(|| "the network plugin".to_owned(), |name| format!("the network plugin, {NETWORK}={name}"));
        match network {
            Some((path, strings)) => {
                add(place, path.display().to_string());
                return self.taken(path.clone(), strings.clone());
            }
            None => add(place, "none is found".to_owned()),
        }
        if self.platform.library == Library::Nccl {
            return Tuner::None("no plugin is found, and NCCL brings no tuner table along".to_owned());
        }
        let has_csv_tuner = self.has_csv_tuner();
        if has_csv_tuner == Some(false) {
            return Tuner::None(format!("no plugin is found, and RCCL has a built-in tuner from {CSV_SINCE} on only"));
        }
        match (self.csv(places), has_csv_tuner) {
            (tuner @ (Tuner::CsvFile(_) | Tuner::CsvEmbedded(_)), None) => Tuner::Unknown(format!(
                "{tuner}, if this version of RCCL has it, as some from {CSV_SINCE} on do (--library-version)"
            )),
            (tuner, _) => tuner,
        }
    }

    /// Whether the library has the built-in CSV tuner; `None` where that can't be known.
    fn has_csv_tuner(&self) -> Option<bool> {
        match (self.library, self.platform.version) {
            (Some((_, strings)), _) if strings.has_csv_tuner => Some(true),
            (_, Some(version)) if !version.is_from(CSV_SINCE) => Some(false),
            (None, Some(_)) => Some(true),
            _ => None,
        }
    }

    /// The tuner in a library that was opened: where it has none, the search ends without one.
    fn taken(&self, path: PathBuf, strings: Strings) -> Tuner {
        let offers = strings.tuner_versions();
        let known = self.library.map(|(_, library)| library.tuner_versions()).filter(|known| !known.is_empty());
        let fits = |version: &u32| known.as_ref().is_none_or(|known| known.contains(version));
        if offers.iter().any(fits) {
            return Tuner::Plugin(path, Box::new(strings));
        }
        let what = if offers.is_empty() { "has no tuner" } else { "has no version that the library looks up" };
        Tuner::None(format!("{} {what}, and nothing else is looked for", path.display()))
    }

    /// The library of the network plugin.
    fn network(&self) -> Option<(PathBuf, Strings)> {
        let prefix = if self.platform.library == Library::Rccl { "librccl-net" } else { "libnccl-net" };
        match self.text(NETWORK) {
            None => self.open(None, prefix).ok(),
            // From 2.27 on, a list.
            Some(names) => names
                .split(',')
                .filter(|name| !name.eq_ignore_ascii_case("none"))
                .find_map(|name| self.open(Some(name), prefix).ok()),
        }
    }

    /// The plugin that the loader opens by a name, or by the default one: the name as it is, then completed. The error
    /// says what was tried.
    fn open(&self, named: Option<&str>, prefix: &str) -> Result<(PathBuf, Strings), String> {
        let plain = named.map_or_else(|| format!("{prefix}.so"), str::to_owned);
        let is_file = |name: &str| name.contains('/') || (name.starts_with("lib") && name.ends_with(".so"));
        let completed = named.filter(|name| !is_file(name)).map(|name| format!("{prefix}-{name}.so"));
        // Measured: NCCL 2.27.3 completes every name.
        let completes_all = self.platform.version == Some(Version::release(2, 27, 3)) && prefix == "libnccl-tuner";
        let all = match named {
            Some(name) if completes_all => vec![format!("{prefix}-{name}.so")],
            _ => std::iter::once(plain).chain(completed).collect(),
        };
        let mut why = None;
        for name in &all {
            let path = match name.contains('/') {
                true => Some(PathBuf::from(name)).filter(|path| path.is_file()),
                false => self.folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file()),
            };
            let Some(path) = path else { continue };
            let strings = match File::open(&path).and_then(Strings::of) {
                Ok(strings) => strings,
                Err(error) => {
                    why = Some(format!("{} can't be read: {error}", path.display()));
                    continue;
                }
            };
            let is_too_new = |needs: &Glibc| self.glibc.is_some_and(|here| here < *needs);
            if !strings.is_program {
                why = Some(format!("{} is no library", path.display()));
            } else if let Some(needs) = strings.glibc.filter(is_too_new) {
                why = Some(format!("{} needs glibc {needs}, which is not here", path.display()));
            } else {
                return Ok((path, strings));
            }
        }
        Err(why.unwrap_or_else(|| match all.iter().any(|name| !name.contains('/')) {
            true => format!(
                "not there (the loader's own cache and paths in programs, which may name more folders than {}, are not \
                 looked at)",
                self.folders.len()
            ),
            false => "not there".to_owned(),
        }))
    }

    /// The file that RCCL's built-in CSV tuner reads: the first that can be opened, whole.
    fn csv(&self, places: &mut Vec<Place>) -> Tuner {
        let mut add = |place: String, found: &str| places.push(Place { place, found: found.to_owned() });
        if let Some(name) = self.text(FILE) {
            let path = PathBuf::from(&name);
            if File::open(&path).is_ok() {
                add(format!("{FILE}={name}"), "read");
                return Tuner::CsvFile(path);
            }
            add(format!("{FILE}={name}"), "can't be opened, which is passed over in silence");
        }
        let gfx = match self.platform.gpu {
            Some(gpu @ Gpu::Gfx(_)) => Some(gpu),
            _ => None,
        };
        let mut folders = Vec::new();
        match self.library.and_then(|(path, _)| path.parent()) {
            Some(folder) => folders.extend([folder.join("tuner"), folder.join("../share/rccl/tuner")]),
            None => add(
                "tuner/ and ../share/rccl/tuner/ beside the library".to_owned(),
                "not known, because the library's file is not",
            ),
        }
        let rocm = (self.variable)("ROCM_PATH").map_or_else(|| PathBuf::from("/opt/rocm"), PathBuf::from);
        folders.push(rocm.join("share/rccl/tuner"));
        for folder in folders {
            let names = gfx.map(|gpu| format!("rccl_tuner_{gpu}.csv")).into_iter();
            for path in names.chain(["rccl_tuner.csv".to_owned()]).map(|name| folder.join(name)) {
                let is_there = File::open(&path).is_ok();
                add(path.display().to_string(), if is_there { "read" } else { "not there" });
                if is_there {
                    return Tuner::CsvFile(path);
                }
            }
            let others = if gfx.is_none() { of_gpus(&folder) } else { Vec::new() };
            if !others.is_empty() {
                let all = others.join(", ");
                add(format!("{}/{all}", folder.display()), "read on that GPU");
                return Tuner::Unknown(format!(
                    "RCCL's built-in CSV tuner, whose file depends on the GPU (--gpu): {all}"
                ));
            }
        }
        self.embedded(gfx, places)
    }

    /// The table that is compiled into the library.
    fn embedded(&self, gfx: Option<Gpu>, places: &mut Vec<Place>) -> Tuner {
        let mut add = |found: String| places.push(Place { place: "compiled into the library".to_owned(), found });
        if self.text(EMBEDDED).is_some_and(|value| value == "0") {
            add(format!("turned off by {EMBEDDED}=0"));
            return Tuner::None(format!("no plugin and no file is found, and {EMBEDDED}=0"));
        }
        let all: Vec<String> = match self.library {
            Some((_, strings)) => strings.embedded.iter().cloned().collect(),
            None => {
                let known = gfx.and_then(|gpu| Table::find(gpu, self.platform.version));
                known.map(|table| format!("rccl_tuner_{}.csv", table.of.gpu)).into_iter().collect()
            }
        };
        let of_gpu = |gpu: Gpu| all.iter().find(|name| **name == format!("rccl_tuner_{gpu}.csv"));
        match (gfx, &all[..]) {
            (_, []) => {
                add("no table".to_owned());
                Tuner::None("no plugin, no file and no compiled-in table is found".to_owned())
            }
            (None, _) => {
                add(all.join(", "));
                Tuner::Unknown(format!("RCCL's built-in CSV tuner, on the GPU of {} (--gpu)", all.join(", ")))
            }
            (Some(gpu), _) => match of_gpu(gpu) {
                Some(name) => {
                    add(name.clone());
                    Tuner::CsvEmbedded(name.clone())
                }
                None => {
                    add(format!("{}, and nothing for {gpu}", all.join(", ")));
                    Tuner::None(format!("no plugin and no file is found, and no table for {gpu} is compiled in"))
                }
            },
        }
    }
}

/// The files for single GPUs in a folder, by name.
fn of_gpus(folder: &Path) -> Vec<String> {
    let all = fs::read_dir(folder).into_iter().flatten();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
    let is_one = |name: &String| name.starts_with("rccl_tuner_") && name.ends_with(".csv");
    let mut names: Vec<String> = all.filter_map(name).filter(is_one).collect();
    names.sort();
    names
}

impl std::fmt::Display for Tuner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plugin(path, strings) => {
                let what = match &strings.ofi {
                    _ if strings.is_ours => "Collectune's plugin",
                    Some(_) => "the tuner of aws-ofi-nccl",
                    None => "a plugin",
                };
                write!(f, "{what}, {}", path.display())
            }
            Self::CsvFile(path) => write!(f, "RCCL's built-in CSV tuner, with {}", path.display()),
            Self::CsvEmbedded(name) => write!(f, "RCCL's built-in CSV tuner, with its own {name}"),
            Self::None(why) => write!(f, "none: {why}"),
            Self::Unknown(why) => write!(f, "not known: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const RCCL: &[u8] = b"\x7FELF RCCL version : ncclTunerPlugin_v5 ncclTunerPlugin_v4 \
                          Using built-in CSV tuner, config: %s \0rccl_tuner_gfx950.csv\0";
    const PLUGIN: &[u8] = b"\x7FELF ncclTunerPlugin_v4 collectune_tuner_last_decision ";

    /// A machine in a folder: `lib` has the library, and the loader looks there and in `more`.
    struct Made {
        folder: TempDir,
        library: Strings,
        variables: Vec<(String, String)>,
    }

    impl Made {
        fn new(library: &[u8]) -> Self {
            let folder = TempDir::new().unwrap();
            fs::create_dir(folder.path().join("lib")).unwrap();
            let variables = vec![("ROCM_PATH".to_owned(), folder.path().join("rocm").display().to_string())];
            Self { folder, library: Strings::of(library).unwrap(), variables }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
            path
        }

        fn with(mut self, name: &str, value: impl AsRef<Path>) -> Self {
            self.variables.push((name.to_owned(), value.as_ref().display().to_string()));
            self
        }

        fn search_on(&self, gpu: Option<&str>, version: Option<&str>, library: Library) -> Search {
            let variable = |name: &str| {
                let set = self.variables.iter().rev().find(|(known, _)| known == name);
                set.map(|(_, value)| OsString::from(value))
            };
            let platform = Platform {
                version: version.map(|version| version.parse().unwrap()),
                gpu: gpu.map(|gpu| gpu.parse().unwrap()),
                ..library.into()
            };
            let path = self.path("lib/librccl.so.1");
            let folders = [self.path("lib"), self.path("more")];
            let library = Some((path.as_path(), &self.library));
            Machine { platform, library, variable: &variable, folders: &folders, glibc: Some(Glibc(30)) }.search()
        }

        fn search(&self) -> Search {
            self.search_on(Some("gfx950"), Some("2.30.4"), Library::Rccl)
        }

        fn tuner(&self) -> String {
            let root = self.folder.path().display().to_string();
            self.search().tuner.to_string().replace(&root, "")
        }
    }

    #[test]
    fn the_first_file_is_read_whole_and_the_compiled_in_table_last() {
        let made = Made::new(RCCL);
        assert_eq!(made.tuner(), "RCCL's built-in CSV tuner, with its own rccl_tuner_gfx950.csv");
        // From the last place to the first: each comes before those that were made before.
        for name in [
            "rocm/share/rccl/tuner/rccl_tuner.csv",
            "rocm/share/rccl/tuner/rccl_tuner_gfx950.csv",
            "share/rccl/tuner/rccl_tuner.csv",
            "share/rccl/tuner/rccl_tuner_gfx950.csv",
            "lib/tuner/rccl_tuner.csv",
            "lib/tuner/rccl_tuner_gfx950.csv",
        ] {
            made.file(name, b"");
            let expected = name.replace("share/rccl", "lib/../share/rccl").replace("rocm/lib/..", "rocm");
            assert_eq!(made.tuner(), format!("RCCL's built-in CSV tuner, with /{expected}"));
        }
        // A file for another GPU is no file here.
        let made = Made::new(RCCL);
        made.file("lib/tuner/rccl_tuner_gfx942.csv", b"");
        assert_eq!(made.tuner(), "RCCL's built-in CSV tuner, with its own rccl_tuner_gfx950.csv");
        let missing = made.path("missing.csv");
        let made = made.with(FILE, &missing);
        let search = made.search();
        assert!(matches!(search.tuner, Tuner::CsvEmbedded(_)), "{search:?}");
        let silent = search.places.iter().find(|place| place.place.starts_with(FILE)).unwrap();
        assert!(silent.found.contains("passed over in silence"), "{silent:?}");
        // An empty file, or a folder, is taken.
        let empty = made.file("own/empty.csv", b"");
        let made = made.with(FILE, &empty);
        assert_eq!(made.tuner(), "RCCL's built-in CSV tuner, with /own/empty.csv");
        let folder = made.path("own");
        let made = made.with(FILE, folder);
        assert_eq!(made.tuner(), "RCCL's built-in CSV tuner, with /own");
    }

    #[test]
    fn a_gpu_or_version_that_is_not_known_is_said() {
        let made = Made::new(RCCL);
        let tuner = |gpu, version| made.search_on(gpu, version, Library::Rccl).tuner.to_string();
        assert!(tuner(None, None).starts_with("not known: RCCL's built-in CSV tuner, on the GPU of rccl_tuner_gfx950"));
        assert!(
            tuner(Some("gfx942"), None).starts_with("none: no plugin and no file is found, and no table for gfx942")
        );
        made.file("share/rccl/tuner/rccl_tuner_gfx942.csv", b"");
        let told = tuner(None, None);
        assert!(told.contains("whose file depends on the GPU (--gpu): rccl_tuner_gfx942.csv"), "{told}");
        let old = Made::new(b"\x7FELF RCCL version : ncclTunerPlugin_v4 ");
        let tuner = |version| old.search_on(Some("gfx950"), version, Library::Rccl).tuner.to_string();
        assert!(tuner(Some("2.27.7")).contains("has a built-in tuner from 2.28.3 on only"));
        old.file("lib/tuner/rccl_tuner.csv", b"");
        assert!(tuner(None).starts_with("not known: ") && tuner(None).contains("if this version of RCCL has it"));
        let off = Made::new(RCCL).with(EMBEDDED, "0");
        assert_eq!(off.tuner(), "none: no plugin and no file is found, and RCCL_TUNER_EMBEDDED_CONFIG=0");
    }

    #[test]
    fn any_plugin_comes_before_the_built_in_tuner() {
        let made = Made::new(RCCL);
        made.file("more/libnccl-tuner.so", PLUGIN);
        assert_eq!(made.tuner(), "Collectune's plugin, /more/libnccl-tuner.so");
        // A name is completed, unless it is one of a library.
        let named = made.file("lib/libnccl-tuner-mine.so", b"\x7FELF ncclTunerPlugin_v5 ");
        let made = made.with(TUNER, "mine");
        assert_eq!(made.tuner(), "a plugin, /lib/libnccl-tuner-mine.so");
        let made = made.with(TUNER, &named);
        assert_eq!(made.tuner(), "a plugin, /lib/libnccl-tuner-mine.so");
        // What can't be opened falls through to the built-in tuner, and does not come back to the default name.
        let text = made.file("text.so", b"no library");
        let newer = made.file("newer.so", b"\x7FELF ncclTunerPlugin_v4 GLIBC_2.39\0 ");
        for name in [made.path("missing.so"), text, newer] {
            let made = Made { variables: made.variables.clone(), ..Made::new(RCCL) }.with(TUNER, name);
            assert_eq!(made.tuner(), "RCCL's built-in CSV tuner, with its own rccl_tuner_gfx950.csv");
        }
        // One that opens and has no version that is known ends the search.
        let other = made.file("other.so", b"\x7FELF ncclTunerPlugin_v3 ");
        let made = made.with(TUNER, other);
        assert!(made.tuner().contains("/other.so has no version that the library looks up, and nothing else"));
        for none in ["none", "NONE"] {
            let made = Made::new(RCCL).with(TUNER, none);
            assert_eq!(made.tuner(), "none: NCCL_TUNER_PLUGIN=none");
        }
    }

    #[test]
    fn the_library_of_the_network_plugin_comes_second() {
        let ofi = b"\x7FELF ncclNet_v9 ncclTunerPlugin_v4 Initializing aws-ofi-nccl 1.16.2\0 ";
        let made = Made::new(RCCL);
        made.file("more/librccl-net.so", ofi);
        assert_eq!(made.tuner(), "the tuner of aws-ofi-nccl, /more/librccl-net.so");
        // A tuner of a name of its own comes first, and the network plugin is known all the same.
        made.file("lib/libnccl-tuner.so", PLUGIN);
        let search = made.search();
        assert!(matches!(&search.tuner, Tuner::Plugin(_, strings) if strings.is_ours), "{search:?}");
        assert_eq!(search.network.unwrap().1.ofi.as_deref(), Some("1.16.2"));
        // Without a tuner in it, none is loaded, not even the built-in one.
        let made = Made::new(RCCL);
        made.file("more/librccl-net-ib.so", b"\x7FELF ncclNet_v9 ");
        let made = made.with(NETWORK, "missing,ib");
        assert!(made.tuner().starts_with("none: /more/librccl-net-ib.so has no tuner"), "{}", made.tuner());
        let made = made.with(NETWORK, "none");
        assert!(made.tuner().starts_with("RCCL's built-in CSV tuner"));
        // NCCL has other names, and no table.
        let nccl = Made::new(b"\x7FELF ncclTunerPlugin_v4 NCCL version 2.27.5+cuda12.9 ");
        let tuner = |version| nccl.search_on(None, Some(version), Library::Nccl).tuner.to_string();
        assert!(tuner("2.27.5").starts_with("none: no plugin is found, and NCCL brings no tuner table along"));
        nccl.file("lib/libnccl-net.so", ofi);
        assert!(tuner("2.27.5").starts_with("the tuner of aws-ofi-nccl, "));
    }
}
