//! What the file of a library or plugin tells by its strings: nothing of it is loaded or run.

use std::{
    collections::BTreeSet,
    env, fmt,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use crate::{text::lossy, tuning::platform::Gpu};

/// A version of glibc: 2 and this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Glibc(pub(super) u32);

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "2.{}", self.0)
    }
}

/// The glibc of this machine: the highest version that its library defines.
pub(super) fn glibc() -> Option<Glibc> {
    const FOLDERS: [&str; 5] = ["/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"];
    let path = FOLDERS.iter().map(|folder| Path::new(folder).join("libc.so.6")).find(|path| path.is_file())?;
    Strings::of(File::open(path).ok()?).ok()?.glibc
}

/// The strings of a library that tell its tuner interface.
#[derive(Clone, Debug, Default)]
pub(super) struct Strings {
    /// It begins as a program or library of Linux does.
    pub(super) is_program: bool,
    /// Whether it is Collectune's plugin.
    pub(super) is_ours: bool,
    /// Whether a string says that it is RCCL: its version, or the network plugin that it alone looks for.
    pub(super) is_rccl: bool,
    /// Whether it is RCCL with the built-in CSV tuner.
    pub(super) has_csv_tuner: bool,
    /// The tuner tables that are compiled into RCCL, `rccl_tuner_gfx950.csv`.
    pub(super) embedded: BTreeSet<String>,
    /// The version of aws-ofi-nccl, of a plugin that is it; empty where it can't be read.
    pub(super) ofi: Option<String>,
    /// The highest version of glibc that it names.
    pub(super) glibc: Option<Glibc>,
    versions: [bool; 16],
    /// The version of NCCL or RCCL.
    pub(super) version: Option<String>,
}

impl Strings {
    const SYMBOL: &'static [u8] = b"ncclTunerPlugin_v";
    const VERSIONS: [&'static [u8]; 2] = [b"NCCL version ", b"RCCL version : "];
    /// Words that RCCL prints with its version, and the name of the network plugin that it alone looks for.
    const RCCL: [&'static [u8]; 2] = [b"RCCL version", b"librccl-net"];
    const CSV_TUNER: &'static [u8] = b"Using built-in CSV tuner";
    const EMBEDDED: &'static [u8] = b"rccl_tuner_gfx";
    const OFI: &'static [u8] = b"aws-ofi-nccl";
    const GLIBC: &'static [u8] = b"GLIBC_2.";
    const OURS: &'static [u8] = b"collectune_tuner_last_decision";
    const PROGRAM: &'static [u8] = b"\x7FELF";
    /// The bytes at the end of one piece that are searched again with the next.
    const TAIL: usize = 64;

    /// Reads a file piece by piece: libraries have hundreds of megabytes.
    pub(super) fn of(mut file: impl Read) -> std::io::Result<Self> {
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
        let has = |words: &[u8]| memchr::memmem::find(bytes, words).is_some();
        self.is_ours |= has(Self::OURS);
        self.is_rccl |= Self::RCCL.iter().any(|words| has(words));
        self.has_csv_tuner |= has(Self::CSV_TUNER);
        for at in memchr::memmem::find_iter(bytes, Self::EMBEDDED) {
            let name = word_at(&bytes[at..]);
            if name.ends_with(".csv") {
                self.embedded.insert(name);
            }
        }
        for at in memchr::memmem::find_iter(bytes, Self::OFI) {
            let rest = bytes[at + Self::OFI.len()..].strip_prefix(b" ").unwrap_or_default();
            let version = Some(word_at(rest)).filter(|text| text.starts_with(|c: char| c.is_ascii_digit()));
            let known = self.ofi.get_or_insert_default();
            *known = version.filter(|version| version.len() > known.len()).unwrap_or_else(|| known.clone());
        }
        // The words also stand in messages whose version is put in when they are printed.
        let versions = Self::VERSIONS
            .iter()
            .flat_map(|words| memchr::memmem::find_iter(bytes, words).map(|at| word_at(&bytes[at + words.len()..])));
        for text in versions.collect::<Vec<String>>() {
            let is_version = text.starts_with(|c: char| c.is_ascii_digit());
            if is_version && self.version.as_ref().is_none_or(|known| known.len() < text.len()) {
                self.version = Some(text);
            }
        }
    }

    /// The versions of the tuner's interface that a library looks up, or a plugin has.
    pub(super) fn tuner_versions(&self) -> Vec<u32> {
        (0..).zip(&self.versions).filter(|(_, seen)| **seen).map(|(version, _)| version).collect()
    }
}

/// The word that begins a text: up to 40 letters, digits, full stops, and signs of versions.
fn word_at(text: &[u8]) -> String {
    let word = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-' | b'_');
    text.iter().take_while(word).take(40).map(|byte| char::from(*byte)).collect()
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

/// The folders in which programs find libraries, besides those of `LD_LIBRARY_PATH`. The loader's cache may name more.
const FOLDERS: [&str; 6] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib", "/usr/local/cuda/lib64", "/opt/rocm/lib", "/usr/lib"];

/// The folders in which a program finds libraries by their names: those of `LD_LIBRARY_PATH` and the usual ones.
pub(super) fn loader_folders() -> Vec<PathBuf> {
    let path = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    env::split_paths(&path).chain(FOLDERS.iter().map(PathBuf::from)).collect()
}

/// The library that a program would load.
pub(super) fn installed(folders: &[PathBuf]) -> Option<PathBuf> {
    const NAMES: [&str; 4] = ["libnccl.so.2", "libnccl.so", "librccl.so.1", "librccl.so"];
    folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name))).find(|path| path.is_file())
}

/// The version in the header that is installed with a library, `rccl.h` or `nccl.h`: RCCL puts its version together
/// when it prints it.
pub(super) fn header_version(library: &Path) -> Option<String> {
    const HEADERS: [&str; 3] = ["rccl/rccl.h", "rccl.h", "nccl.h"];
    const LONGEST: u64 = 1 << 20;
    let include = library.parent()?.join("../include");
    let path = HEADERS.iter().map(|name| include.join(name)).find(|path| path.is_file())?;
    let mut text = Vec::new();
    File::open(path).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
    let text = lossy(&text).into_owned();
    let number = |name: &str| {
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            (words.next() == Some("#define") && words.next() == Some(name)).then(|| words.next()?.parse().ok())?
        };
        text.lines().find_map(line)
    };
    let [major, minor, patch]: [u32; 3] = [number("NCCL_MAJOR")?, number("NCCL_MINOR")?, number("NCCL_PATCH")?];
    Some(format!("{major}.{minor}.{patch}"))
}

/// The GPU of an AMD machine by its kernel driver's list of nodes (`/sys/class/kfd/kfd/topology/nodes`): the first
/// whose `gfx_target_version` is not 0, 90500 for gfx950.
pub(super) fn amd_gpu(nodes: &Path) -> Option<Gpu> {
    let mut folders: Vec<PathBuf> = fs::read_dir(nodes).ok()?.filter_map(|node| Some(node.ok()?.path())).collect();
    folders.sort();
    let version = |folder: &PathBuf| {
        let text = fs::read_to_string(folder.join("properties")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("gfx_target_version "))?;
        line.trim().parse::<u32>().ok().filter(|version| *version > 0)
    };
    let version = folders.iter().find_map(version)?;
    format!("gfx{}{:x}{:x}", version / 10_000, version / 100 % 100, version % 100).parse().ok()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

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
            assert_eq!(strings.tuner_versions(), [2, 3, 4]);
            assert_eq!(strings.version.as_deref(), Some("2.27.3+cuda12.8"));
            assert!(!strings.is_rccl && strings.ofi.is_none());
        }
        let told =
            Strings::of(&b"NCCL version %s\0NCCL version 2.32.3 compiled with\0NCCL version 2.32.3+cuda13.4\0"[..]);
        assert_eq!(told.unwrap().version.as_deref(), Some("2.32.3+cuda13.4"));
    }

    #[test]
    fn rccl_tells_its_tables_and_aws_ofi_nccl_its_version() {
        let rccl =
            b"\x7FELF RCCL version : %s\0Using built-in CSV tuner, config: %s\0rccl_tuner_gfx950.csv\0rccl_tuner_gfx";
        let ofi = b"\x7FELF aws-ofi-nccl\0Initializing aws-ofi-nccl 1.16.2\0aws-ofi-nccl git";
        for padding in [0, (1 << 20) - 70, (1 << 20) - 16] {
            let of = |bytes: &[u8]| Strings::of(&[vec![b'\n'; padding], bytes.to_vec()].concat()[..]).unwrap();
            let told = of(rccl);
            assert!(told.is_rccl && told.has_csv_tuner && told.version.is_none(), "{told:?}");
            assert_eq!(told.embedded.iter().collect::<Vec<_>>(), ["rccl_tuner_gfx950.csv"]);
            assert_eq!(of(ofi).ofi.as_deref(), Some("1.16.2"));
        }
    }

    #[test]
    fn the_header_beside_a_library_has_its_version() {
        let folder = TempDir::new().unwrap();
        let library = folder.path().join("lib/librccl.so.1");
        fs::create_dir_all(folder.path().join("include/rccl")).unwrap();
        fs::create_dir_all(folder.path().join("lib")).unwrap();
        assert_eq!(header_version(&library), None);
        let header = folder.path().join("include/rccl/rccl.h");
        fs::write(&header, "#define NCCL_MAJOR 2\n#define NCCL_MINOR 30\n#define NCCL_PATCH 4\n").unwrap();
        assert_eq!(header_version(&library).as_deref(), Some("2.30.4"));
        fs::write(&header, "#define NCCL_MAJOR 2\n#define NCCL_MINOR x\n").unwrap();
        assert_eq!(header_version(&library), None);
    }

    #[test]
    fn the_kernel_driver_tells_the_gpu() {
        let nodes = TempDir::new().unwrap();
        let node = |number: u32, version: u32| {
            let folder = nodes.path().join(number.to_string());
            fs::create_dir_all(&folder).unwrap();
            let text = format!("cpu_cores_count 0\ngfx_target_version {version}\nvendor_id 4098\n");
            fs::write(folder.join("properties"), text).unwrap();
        };
        let gpu = || amd_gpu(nodes.path()).map(|gpu| gpu.to_string());
        assert_eq!(gpu(), None);
        node(0, 0);
        assert_eq!(gpu(), None);
        for (version, expected) in [(90_500, "gfx950"), (90_402, "gfx942"), (90_010, "gfx90a"), (110_000, "gfx1100")] {
            node(1, version);
            assert_eq!(gpu().as_deref(), Some(expected));
        }
        assert_eq!(amd_gpu(Path::new("/nowhere")), None);
    }
}
