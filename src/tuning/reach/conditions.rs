//! The paths that never ask a tuner, by the conditions of the libraries' sources: a prediction for calls without a log.
//!
//! Sources: ROCm/rocm-systems projects/rccl (DDA from c2c4b25f and 3dc4fb13 on, first in 2.30.4; the thresholds of the
//! direct all_gather as of 2.31); NVIDIA/nccl src/enqueue.cc. Symmetric kernels and copy engines depend on how buffers
//! are registered, MSCCL++ on graphs: nothing of that is in a list of calls.

use super::{call_list::ListedCall, result::Path};
use crate::{
    collective::{Collective, Scale},
    tuning::data_type::DataType,
    tuning::platform::{Gpu, Library, Platform, Version},
};

/// What is known of where calls run.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    pub(super) library: Option<Library>,
    pub(super) version: Option<Version>,
    pub(super) gpu: Option<Gpu>,
    pub(super) environment: Vec<(String, String)>,
}

/// The variables of the environment of which these conditions, and those of [`Surroundings::may_have_dda`], read.
pub(super) const VARIABLES: [&str; 5] = [
    "RCCL_DDA_ENABLE",
    "RCCL_DDA_THRESHOLD",
    "RCCL_DIRECT_ALLGATHER_DISABLE",
    "RCCL_DIRECT_ALLGATHER_THRESHOLD",
    "NCCL_LAUNCH_ORDER_IMPLICIT",
];

/// The first release that logs which path a call takes, and in which `NCCL_ALGO` keeps DDA off.
pub(super) const DDA_LOGGED_FROM: Version = Version::release(2, 31, 2);

impl Surroundings {
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.variable(name)?.trim().parse().ok()
    }

    /// Whether a tuner that is a plugin sets what runs whatever the environment says: by the interface up to version 2,
    /// that of NCCL 2.19 to 2.21.
    pub(super) fn tuner_wins(&self) -> bool {
        self.library == Some(Library::Nccl) && self.version.is_some_and(|release| release < Version::release(2, 22, 0))
    }

    /// The first release that reads `NCCL_ALGO` and `NCCL_PROTO` as lists by collective (`src/graph/tuning.cc`).
    pub(super) const LISTS_BY_COLLECTIVE_FROM: Version = Version::new(2, 24);

    /// Whether the library reads lists by collective, as all do whose version is not known to be older.
    pub(super) fn has_lists_by_collective(&self) -> bool {
        self.version.is_none_or(|release| release.is_from(Self::LISTS_BY_COLLECTIVE_FROM))
    }

    /// Whether the library is RCCL with DDA, as far as is known, and DDA is not switched off.
    pub(super) fn may_have_dda(&self) -> bool {
        self.library == Some(Library::Rccl)
            && self.version.is_none_or(|release| release >= Platform::DDA_FROM)
            && self.number("RCCL_DDA_ENABLE").is_none_or(|value| value != 0)
            && self.number("NCCL_LAUNCH_ORDER_IMPLICIT").is_none_or(|value| value == 0)
            && !(self.variable("NCCL_ALGO").is_some() && self.version.is_some_and(|release| release >= DDA_LOGGED_FROM))
    }
}

/// The path that a call takes before a tuner is asked, and the condition; `None` where a tuner is asked.
pub(super) fn path(call: &ListedCall, at: &Surroundings) -> Option<(Path, String)> {
    if call.scale.ranks == 1 {
        return Some((Path::OneRank, "one rank: a copy".to_owned()));
    }
    if call.size_bytes == 0 {
        return Some((Path::Empty, "no element".to_owned()));
    }
    if call.collective.is_point_to_point() {
        return Some((Path::P2p, format!("{} is made of point-to-point transfers", call.collective)));
    }
    match at.library {
        Some(Library::Nccl) => None,
        Some(Library::Rccl) => direct(call, at).or_else(|| dda(call, at)),
        None => Some((Path::Unknown, "the library is not known".to_owned())),
    }
}

fn direct(call: &ListedCall, at: &Surroundings) -> Option<(Path, String)> {
    let asked = at.number("RCCL_DIRECT_ALLGATHER_THRESHOLD");
    let is_disabled = at.variable("RCCL_DIRECT_ALLGATHER_DISABLE").is_some_and(|value| value.trim() != "0");
    if call.collective != Collective::AllGather
        || !call.scale.ranks.is_multiple_of(8)
        || asked == Some(-1)
        || is_disabled
    {
        return None;
    }
    let Some(gpu) = at.gpu else {
        return Some((Path::Unknown, "the architecture is not known: a direct all_gather may run".to_owned()));
    };
    let of_architecture = Platform::direct_all_gather_bytes(gpu, call.scale)?;
    let threshold_bytes = asked.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(of_architecture);
    let condition = format!("direct all_gather: {} ≤ {threshold_bytes} bytes in all", call.size_bytes);
    (call.size_bytes <= threshold_bytes).then_some((Path::Direct, condition))
}

fn dda(call: &ListedCall, at: &Surroundings) -> Option<(Path, String)> {
    /// Bytes above which an all_reduce over IPC is cut into slices.
    const FLAT_BYTES: u64 = 262_144;
    const RANKS: u32 = 8;
    if !at.may_have_dda() {
        return None;
    }
    let ListedCall { collective, size_bytes, scale, data_type, is_sum, .. } = call;
    if !matches!(collective, Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter) {
        return None;
    }
    // The form over IPC: all ranks on one node. The form over a fabric needs one that joins the nodes.
    if *scale != (Scale { nodes: 1, ranks: RANKS }) {
        return None;
    }
    let unknown = |what: &str| Some((Path::Unknown, format!("{what} is not known: DDA may take it")));
    let Some(gpu) = at.gpu else { return unknown("the architecture") };
    // Of some release, if not of this one.
    Platform::dda_bytes(gpu, Platform::DDA_FROM)?;
    let Some(release) = at.version else { return unknown("the version") };
    let of_release_bytes = Platform::dda_bytes(gpu, release)?;
    let asked = at.number("RCCL_DDA_THRESHOLD").and_then(|bytes| u64::try_from(bytes).ok());
    let threshold_bytes = asked.filter(|_| gpu == Gpu::Gfx(0x950)).unwrap_or(of_release_bytes);
    let element_bytes: u64 = match data_type {
        None => 2,
        Some(DataType { name: "fp32" | "fp16" | "bf16", bytes }) => (*bytes).into(),
        Some(_) => return None,
    };
    let is_cut_evenly = *collective != Collective::AllReduce
        || *size_bytes <= FLAT_BYTES
        || ((size_bytes / element_bytes).is_multiple_of(8) && (size_bytes / u64::from(RANKS)).is_multiple_of(16));
    if *size_bytes > threshold_bytes || size_bytes % 16 != 0 || !is_cut_evenly || *is_sum == Some(false) {
        return None;
    }
    let assumed = if data_type.is_none() || is_sum.is_none() { "; a sum of bf16, fp16 or fp32 is assumed" } else { "" };
    let condition = format!(
        "DDA of RCCL {release}: {RANKS} ranks on one node, {size_bytes} ≤ {threshold_bytes} bytes, RCCL_DDA_ENABLE not \
         0{assumed}"
    );
    Some((Path::Dda, condition))
}
