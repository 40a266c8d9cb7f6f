//! Where collectives run: the library, its version, and the GPU's architecture, as far as they change what can run.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::collective::Algorithm;

/// The library, whose support matrix holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Library {
    /// RCCL on MI300 and MI355.
    #[default]
    Rccl,
    /// NCCL, for GPUs of NVIDIA.
    Nccl,
}

/// A library's version. What can run changes with the first two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version {
    /// The major version: 2 of 2.27.5.
    pub major: u32,
    /// The minor version: 27 of 2.27.5.
    pub minor: u32,
}

/// A release of a library, with its patch level: which paths stand in front of a tuner, and what is logged, changes
/// with that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Release {
    /// The major version: 2 of 2.30.4.
    pub major: u32,
    /// The minor version: 30 of 2.30.4.
    pub minor: u32,
    /// The patch level: 4 of 2.30.4; 0 where it is not said.
    pub patch: u32,
}

/// The architecture of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gpu {
    /// NVIDIA's compute capability times ten, from 70 (V100) on: 90 for H100.
    Sm(u32),
    /// AMD's, the hexadecimal number in its name: 0x950 of gfx950 for MI355X.
    Gfx(u32),
}

/// A library on a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// Which one it is: NCCL or RCCL.
    pub library: Library,
    /// Its version; `None`: not known, and whatever some version runs may run.
    pub version: Option<Version>,
    /// The GPU; `None`: not known, and whatever some GPU runs may run.
    pub gpu: Option<Gpu>,
    /// The network reduces by itself (SHARP with its plugin). Where it is not said to, CollNet may run and is not
    /// tried.
    pub sharp: bool,
}

/// A text that names no version, or no GPU.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlatformError {
    /// The text, where a version was expected.
    #[error("{0:?} is no version of a library: 2.27 or 2.27.5 was expected")]
    Version(String),
    /// The text, where a GPU was expected.
    #[error("{0:?} is no GPU that is known: sm_90, h100, b200, gfx942, mi300x or the like was expected")]
    Gpu(String),
}

/// GPUs by the names that people use.
const NAMES: [(&str, Gpu); 17] = [
    ("v100", Gpu::Sm(70)),
    ("t4", Gpu::Sm(75)),
    ("a100", Gpu::Sm(80)),
    ("a40", Gpu::Sm(86)),
    ("l40s", Gpu::Sm(89)),
    ("l40", Gpu::Sm(89)),
    ("h100", Gpu::Sm(90)),
    ("h200", Gpu::Sm(90)),
    ("gh200", Gpu::Sm(90)),
    ("b200", Gpu::Sm(100)),
    ("gb200", Gpu::Sm(100)),
    ("b300", Gpu::Sm(103)),
    ("mi250x", Gpu::Gfx(0x90a)),
    ("mi300x", Gpu::Gfx(0x942)),
    ("mi325x", Gpu::Gfx(0x942)),
    ("mi350x", Gpu::Gfx(0x950)),
    ("mi355x", Gpu::Gfx(0x950)),
];

impl FromStr for Version {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        let mut parts = text.trim().trim_start_matches(['v', 'V']).split(['.', '+', '-']);
        let mut number = || parts.next().and_then(|part| part.parse().ok());
        match (number(), number()) {
            (Some(major), Some(minor)) => Ok(Self { major, minor }),
            _ => Err(PlatformError::Version(text.to_owned())),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Release {
    /// The release of these numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }
}

impl FromStr for Release {
    type Err = PlatformError;

    /// Reads `2.30.4`, `2.29.7+cuda12.9`, `2.26.6-Unknown` and `2.30`.
    fn from_str(text: &str) -> Result<Self, PlatformError> {
        let Version { major, minor } = text.parse()?;
        let patch = text.split(['.', '+', '-']).nth(2).and_then(|patch| patch.parse().ok()).unwrap_or(0);
        Ok(Self { major, minor, patch })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl From<Release> for Version {
    fn from(release: Release) -> Self {
        Self { major: release.major, minor: release.minor }
    }
}

impl FromStr for Gpu {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        let plain = text.trim().to_ascii_lowercase().replace(['_', '-', ' '], "");
        let by_name = NAMES.iter().find(|(name, _)| *name == plain || name.strip_suffix('x') == Some(&plain));
        let by_number = || {
            // What follows the number (sm_90a, gfx942:sramecc+) says nothing here.
            let sm = plain.strip_prefix("sm").map(|rest| rest.trim_end_matches(|c: char| c.is_ascii_alphabetic()));
            let gfx = plain.strip_prefix("gfx").map(|rest| rest.split(':').next().unwrap_or_default());
            let sm = sm.and_then(|digits| digits.parse().ok()).filter(|sm| (10..1000).contains(sm)).map(Self::Sm);
            sm.or_else(|| gfx.and_then(|digits| u32::from_str_radix(digits, 16).ok()).map(Self::Gfx))
        };
        by_name.map(|(_, gpu)| *gpu).or_else(by_number).ok_or_else(|| PlatformError::Gpu(text.to_owned()))
    }
}

impl From<Library> for Platform {
    fn from(library: Library) -> Self {
        Self { library, ..Self::default() }
    }
}

impl Platform {
    /// The platform that measurements name, `NCCL 2.27.5` among other words; of different versions the oldest. `None`
    /// where they name none, or different libraries.
    pub fn from_words<'a>(words: impl Iterator<Item = &'a str>) -> Option<Self> {
        let one = |word: &str| -> Option<Self> {
            let (family, version) = word.split_once(' ')?;
            let library = match family {
                "NCCL" => Library::Nccl,
                "RCCL" => Library::Rccl,
                _ => return None,
            };
            Some(Self { version: version.parse().ok(), ..library.into() })
        };
        let mut all = words.filter_map(one);
        let first = all.next()?;
        all.try_fold(first, |known, next| {
            let version = known.version.zip(next.version).map(|(a, b)| a.min(b));
            (known.library == next.library).then_some(Self { version, ..known })
        })
    }

    /// The library that runs what was seen to run: NVLS, PAT and CollNet run with NCCL, Direct with RCCL; `None` where
    /// neither was seen, or both.
    pub fn from_algorithms(algorithms: impl Iterator<Item = Algorithm>) -> Option<Self> {
        let library = |algorithm: Algorithm| match algorithm {
            Algorithm::Direct => Some(Library::Rccl),
            Algorithm::Tree | Algorithm::Ring | Algorithm::None => None,
            _ => Some(Library::Nccl),
        };
        let mut libraries = algorithms.filter_map(library);
        let first = libraries.next()?;
        libraries.all(|other| other == first).then(|| first.into())
    }

    /// The version is known, and older than this.
    pub(super) fn is_before(&self, major: u32, minor: u32) -> bool {
        self.version.is_some_and(|version| version < Version { major, minor })
    }

    /// The algorithms beside TREE and RING that are worth a launch: those that are known to be there, as far as the
    /// matrix does not rule them out.
    pub fn tried_algorithms(&self, nodes: u32) -> Vec<Algorithm> {
        let has_nvls = self.library == Library::Nccl && matches!(self.gpu, Some(Gpu::Sm(90..)));
        let tried = |algorithm: &Algorithm| match algorithm {
            Algorithm::Nvls => has_nvls && (nodes == 1 || self.sharp),
            Algorithm::NvlsTree => has_nvls && nodes > 1,
            Algorithm::CollnetDirect | Algorithm::CollnetChain => self.sharp && self.library == Library::Nccl,
            Algorithm::Pat => self.library == Library::Nccl && self.version.is_some(),
            _ => false,
        };
        Algorithm::ALL.iter().copied().filter(tried).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Collective, Protocol, Scale, Workload},
        tuning::{
            support::{SupportMatrix, SupportOutcome},
            sweep::Sweep,
        },
    };

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn versions_and_gpus_are_read_as_people_write_them() {
        assert_eq!(version("2.27.5"), Version { major: 2, minor: 27 });
        assert_eq!(version("v2.9+cuda12.4").to_string(), "2.9");
        assert!(version("2.9") < version("2.27"));
        let release = |text: &str| text.parse::<Release>().unwrap();
        assert_eq!(release("2.29.7+cuda12.9"), Release::new(2, 29, 7));
        assert_eq!(release("2.26.6-Unknown").to_string(), "2.26.6");
        assert!(release("2.30") < release("2.30.4") && "2".parse::<Release>().is_err());
        for (text, gpu) in [
            ("h100", Gpu::Sm(90)),
            ("sm_90a", Gpu::Sm(90)),
            ("SM100", Gpu::Sm(100)),
            ("gfx90a", Gpu::Gfx(0x90a)),
            ("gfx942:sramecc+", Gpu::Gfx(0x942)),
            ("MI355X", Gpu::Gfx(0x950)),
            ("mi300", Gpu::Gfx(0x942)),
        ] {
            assert_eq!(text.parse(), Ok(gpu), "{text}");
        }
        for wrong in ["", "sm", "gfx", "gfxzz", "toaster", "sm_1", "x100"] {
            assert!(wrong.parse::<Gpu>().is_err(), "{wrong}");
        }
        assert!("two".parse::<Version>().unwrap_err().to_string().contains("2.27 or 2.27.5 was expected"));
    }

    #[test]
    fn measurements_tell_their_library() {
        let told = |words: &[&str]| Platform::from_words(words.iter().copied());
        let nccl = Platform { version: Some(version("2.27")), ..Library::Nccl.into() };
        assert_eq!(told(&["float", "NCCL 2.27.5", "sum"]), Some(nccl));
        assert_eq!(told(&["NCCL 2.29.2", "NCCL 2.27.5"]), Some(nccl));
        assert_eq!(told(&["NCCL 2.27.5", "RCCL 2.26.6"]), None);
        assert_eq!(told(&["float", "2.27.5"]), None);
    }

    #[test]
    fn what_ran_tells_the_library() {
        use Algorithm::{Direct, Nvls, Pat, Ring, Tree};
        let seen = |algorithms: &[Algorithm]| {
            Platform::from_algorithms(algorithms.iter().copied()).map(|platform| platform.library)
        };
        assert_eq!(seen(&[Ring, Nvls, Pat]), Some(Library::Nccl));
        assert_eq!(seen(&[Direct, Ring]), Some(Library::Rccl));
        assert_eq!((seen(&[Ring, Tree]), seen(&[Direct, Nvls])), (None, None));
    }

    fn runs(platform: Platform, collective: Collective, algorithm: Algorithm, nodes: u32, per_node: u32) -> bool {
        let support = SupportMatrix::new(platform.matrix(), &Sweep::default());
        let workload = Workload { collective, scale: Scale { nodes, ranks: nodes * per_node }, size_bytes: 1 << 20 };
        let outcomes = [Protocol::Ll, Protocol::Ll128].map(|protocol| support.outcome(&workload, algorithm, protocol));
        assert!(outcomes.iter().all(|outcome| *outcome != SupportOutcome::Runs), "{algorithm} runs SIMPLE only");
        support.outcome(&workload, algorithm, Protocol::Simple) == SupportOutcome::Runs
    }

    #[test]
    fn algorithms_run_from_their_version_on_and_where_they_can() {
        use Algorithm::{CollnetChain, CollnetDirect, Nvls, NvlsTree, Pat};
        use Collective::{AllGather, AllReduce, Broadcast, ReduceScatter};
        let of = |minor, gpu| Platform { version: Some(Version { major: 2, minor }), gpu, ..Library::Nccl.into() };
        let hopper = |minor| of(minor, Some(Gpu::Sm(90)));
        let ampere = |minor| of(minor, Some(Gpu::Sm(80)));
        for (platform, collective, algorithm, nodes, per_node, expected) in [
            (hopper(27), AllReduce, Nvls, 1, 8, true),
            (hopper(16), AllReduce, Nvls, 1, 8, false),
            (ampere(27), AllReduce, Nvls, 1, 8, false),
            (hopper(18), AllGather, Nvls, 1, 8, false),
            (hopper(19), AllGather, Nvls, 1, 8, true),
            (hopper(27), Broadcast, Nvls, 1, 8, false),
            (hopper(27), AllReduce, NvlsTree, 1, 8, false),
            (hopper(27), AllReduce, NvlsTree, 2, 8, true),
            (hopper(17), AllReduce, NvlsTree, 2, 8, false),
            (hopper(27), AllGather, NvlsTree, 2, 8, false),
            (hopper(27), AllReduce, CollnetChain, 2, 8, true),
            (hopper(27), AllReduce, CollnetChain, 1, 8, false),
            (hopper(27), AllGather, CollnetChain, 2, 8, false),
            (ampere(19), ReduceScatter, CollnetDirect, 2, 8, false),
            (ampere(20), ReduceScatter, CollnetDirect, 2, 8, true),
            (ampere(27), AllGather, Pat, 4, 1, true),
            (ampere(27), AllGather, Pat, 4, 8, false),
            (ampere(22), AllGather, Pat, 4, 1, false),
            (ampere(27), AllReduce, Pat, 4, 1, false),
            // Of what is not known, whatever some version and GPU runs may run.
            (Library::Nccl.into(), AllReduce, Nvls, 1, 8, true),
            (Library::Rccl.into(), AllReduce, Nvls, 1, 8, false),
        ] {
            let found = runs(platform, collective, algorithm, nodes, per_node);
            assert_eq!(found, expected, "{platform:?} {collective} {algorithm} {nodes} × {per_node}");
        }
    }

    #[test]
    fn what_is_known_to_be_there_is_tried() {
        let hopper = Platform { gpu: Some(Gpu::Sm(90)), version: Some(version("2.27")), ..Library::Nccl.into() };
        assert_eq!(hopper.tried_algorithms(1), [Algorithm::Nvls, Algorithm::Pat]);
        assert_eq!(hopper.tried_algorithms(2), [Algorithm::NvlsTree, Algorithm::Pat]);
        assert_eq!(Platform { sharp: true, ..hopper }.tried_algorithms(2).len(), 5);
        assert!(
            Platform::from(Library::Nccl).tried_algorithms(1).is_empty()
                && Platform::default().tried_algorithms(2).is_empty()
        );
    }

    #[test]
    fn direct_ends_where_the_architecture_says() {
        let limit = |gpu| {
            let matrix = Platform { gpu, ..Library::Rccl.into() }.matrix();
            let support = SupportMatrix::new(matrix, &Sweep::default());
            support.limits(Collective::AllGather, 1).collect::<Vec<u64>>()
        };
        assert_eq!(limit(None), [8 << 20]);
        assert_eq!(limit(Some(Gpu::Gfx(0x950))), [8 << 20]);
        assert_eq!(limit(Some(Gpu::Gfx(0x942))), [4 << 20]);
        assert!(limit(Some(Gpu::Gfx(0x90a))).is_empty());
    }
}
