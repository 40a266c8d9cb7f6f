//! Where collectives run: the library, its version, and the GPU's architecture, as far as they change what can run.

use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::conf::machine::{Gpu, PlatformError, Version};

use crate::{
    collective::{Algorithm, Scale},
    conf::Reader,
};

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

impl Library {
    /// The library that loads a reader, of one that was chosen: NCCLX's tuner is a part of a kind of NCCL.
    pub const fn of_reader(self, reader: Reader) -> Self {
        match reader {
            Reader::Ncclx => Self::Nccl,
            Reader::Example | Reader::DnTuner | Reader::Rccl | Reader::Collectune => self,
        }
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rccl => "RCCL",
            Self::Nccl => "NCCL",
        })
    }
}

impl From<Gpu> for Library {
    /// The library for GPUs of this vendor.
    fn from(gpu: Gpu) -> Self {
        match gpu {
            Gpu::Sm(_) => Self::Nccl,
            Gpu::Gfx(_) => Self::Rccl,
        }
    }
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

impl From<Library> for Platform {
    fn from(library: Library) -> Self {
        Self { library, ..Self::default() }
    }
}

impl Platform {
    /// The platform on which a reader reads, of one that was chosen.
    pub const fn of_reader(self, reader: Reader) -> Self {
        Self { library: self.library.of_reader(reader), ..self }
    }

    /// Up to how many bytes in all RCCL 2.31 runs all_gather directly, without asking a tuner; `None` where it never
    /// does.
    ///
    /// Source: the thresholds by architecture of ROCm/rocm-systems, projects/rccl.
    pub fn direct_all_gather_bytes(gpu: Gpu, Scale { nodes, ranks }: Scale) -> Option<u64> {
        const MIB: u64 = 1 << 20;
        match (gpu, nodes) {
            _ if !ranks.is_multiple_of(8) => None,
            (Gpu::Gfx(0x950), 1) => Some(8 * MIB),
            (Gpu::Gfx(0x950), 2..64) => Some(u64::from(nodes) * 2 * MIB),
            // The default of RCCL_DIRECT_ALLGATHER_THRESHOLD.
            (Gpu::Gfx(0x950), 64..) => Some(72 * MIB),
            (Gpu::Gfx(0x942), _) => Some(4 * MIB),
            _ => None,
        }
    }

    /// The first RCCL with DDA.
    pub const DDA_FROM: Version = Version::release(2, 30, 4);

    /// Up to how many bytes in all RCCL's DDA runs all_reduce, all_gather and reduce_scatter of 8 ranks on one node,
    /// without asking a tuner, where `RCCL_DDA_ENABLE` doesn't switch it off and the type is fp32, fp16 or bf16 and the
    /// operation the sum; `None` where it never does.
    ///
    /// Source: ROCm/rocm-systems, projects/rccl, from c2c4b25f and 3dc4fb13 on.
    pub fn dda_bytes(gpu: Gpu, version: Version) -> Option<u64> {
        const MIB: u64 = 1 << 20;
        match gpu {
            _ if version < Self::DDA_FROM => None,
            Gpu::Gfx(0x942) => Some(8 * MIB),
            Gpu::Gfx(0x950) if version < Version::release(2, 30, 7) => Some(64 * MIB),
            Gpu::Gfx(0x950) => Some(128 * MIB),
            _ => None,
        }
    }

    /// The platform that measurements name, `NCCL 2.27.5` and `H100` among other words; of different versions the
    /// oldest, of different GPUs none. `None` where they name neither, or different libraries.
    pub fn from_words<'a>(words: impl Iterator<Item = &'a str> + Clone) -> Option<Self> {
        let mut gpus = words.clone().filter_map(|word| word.parse::<Gpu>().ok());
        let gpu = gpus.next().filter(|first| gpus.all(|gpu| gpu == *first));
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
        let Some(first) = all.next() else {
            return gpu.map(|gpu| Self { gpu: Some(gpu), ..Library::from(gpu).into() });
        };
        let known = all.try_fold(first, |known, next| {
            let version = known.version.zip(next.version).map(|(a, b)| a.min(b));
            (known.library == next.library).then_some(Self { version, ..known })
        })?;
        Some(Self { gpu: gpu.filter(|gpu| Library::from(*gpu) == known.library), ..known })
    }

    /// What speaks against answers for this platform, a sentence each without a full stop: its GPU runs another
    /// library, or measurements are of another library or GPU.
    pub fn contradictions(&self, measured: Option<Self>) -> Vec<String> {
        let Self { library, gpu, .. } = *self;
        let other = gpu.filter(|gpu| Library::from(*gpu) != library);
        let vendor = other.map(|gpu| format!("{gpu} runs {}, and the library is {library}", Library::from(gpu)));
        let name = |of: &Self| {
            let version = of.version.map_or_else(String::new, |version| format!(" {version}"));
            let gpu = of.gpu.map_or_else(String::new, |gpu| format!(" on {gpu}"));
            format!("{}{version}{gpu}", of.library)
        };
        let is_other = |of: &Self| of.library != library || of.gpu.zip(gpu).is_some_and(|(one, other)| one != other);
        let elsewhere = measured.filter(is_other).map(|of| {
            let asked = name(&Self { version: None, ..*self });
            format!(
                "the measurements are of {}, and the answer is for {asked}: what runs and what is fast there is not \
                     known from them",
                name(&of)
            )
        });
        vendor.into_iter().chain(elsewhere).collect()
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
        self.version.is_some_and(|version| !version.is_from(Version::new(major, minor)))
    }

    /// The most channels of a communicator: `MAXCHANNELS` in `src/include/device.h` of NCCL, 64 from 2.26 on, and of
    /// RCCL.
    pub fn most_channels(&self) -> u32 {
        match self.library {
            Library::Rccl => 128,
            Library::Nccl if self.is_before(2, 26) => 32,
            Library::Nccl => 64,
        }
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
    fn measurements_tell_their_library() {
        let told = |words: &[&str]| Platform::from_words(words.iter().copied());
        let nccl = Platform { version: Some(version("2.27.5")), ..Library::Nccl.into() };
        assert_eq!(told(&["float", "NCCL 2.27.5", "sum"]), Some(nccl));
        assert_eq!(told(&["NCCL 2.29.2", "NCCL 2.27.5"]), Some(nccl));
        assert_eq!(told(&["NCCL 2.27.5", "RCCL 2.26.6"]), None);
        assert_eq!(told(&["float", "2.27.5"]), None);
        let on = |gpu: u32, of: Platform| Some(Platform { gpu: Some(Gpu::Gfx(gpu)), ..of });
        assert_eq!(told(&["MI355X", "float"]), on(0x950, Library::Rccl.into()));
        let rccl = Platform { version: Some(version("2.27.7")), ..Library::Rccl.into() };
        assert_eq!(told(&["RCCL 2.27.7", "MI300X"]), on(0x942, rccl));
        assert_eq!(told(&["RCCL 2.27.7", "MI300X", "MI355X"]), Some(rccl));
        assert_eq!(told(&["RCCL 2.27.7", "H100"]), Some(rccl));
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
        let of = |minor, gpu| Platform { version: Some(Version::new(2, minor)), gpu, ..Library::Nccl.into() };
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
