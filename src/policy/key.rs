//! Keys: what a policy chooses an arm for.

use std::fmt;

use super::bands::Bands;
use crate::{
    collective::{Collective, Scale, Workload},
    conf::words::{COLLECTIVES, word},
    math::hash,
    units::Size,
};

/// The unit of analysis of reward logs: calls of one collective at one exact message size, scale and overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The collective of the calls.
    pub collective: Collective,
    /// The nodes and ranks of the communicator.
    pub scale: Scale,
    /// The message size that the library passes to a tuner, in bytes.
    pub size_bytes: u64,
    /// Whether the job computes at the same time; `None` if that is unknown.
    pub overlap: Option<bool>,
}

impl Key {
    /// The key without its overlap.
    pub const fn workload(&self) -> Workload {
        Workload { collective: self.collective, scale: self.scale, size_bytes: self.size_bytes }
    }

    /// The key under which a policy lists this size.
    pub fn in_band(&self, bands: &Bands) -> BandKey {
        BandKey {
            collective: self.collective,
            band: bands.of(self.size_bytes),
            scale: self.scale,
            overlap: self.overlap == Some(true),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} on {}", self.collective, Size(self.size_bytes), self.scale)?;
        match self.overlap {
            None => Ok(()),
            Some(false) => write!(f, ", without overlap"),
            Some(true) => write!(f, ", with overlap"),
        }
    }
}

/// The key that a communicator looks up in a policy: a collective, a band of message sizes, a scale, and whether the
/// job overlaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BandKey {
    /// One of the five collectives for which a tuner is called.
    pub collective: Collective,
    /// The index of the band of message sizes.
    pub band: u32,
    /// The communicator's nodes and ranks, all of which must match.
    pub scale: Scale,
    /// The value of `NCCL_WORKLOAD_OVERLAP`; false where it is not set.
    pub overlap: bool,
}

impl BandKey {
    /// FNV-1a of `allreduce/5/2/8/0`: collective, band, nodes, ranks, overlap.
    ///
    /// ```
    /// use collectune::{collective::{Collective, Scale}, policy::key::BandKey};
    /// let scale = Scale { nodes: 2, ranks: 8 };
    /// let key = BandKey { collective: Collective::AllReduce, band: 5, scale, overlap: false };
    /// assert_eq!(key.hash(), 0xD8FD_171D_3B55_A31B);
    /// ```
    pub fn hash(&self) -> u64 {
        let Scale { nodes, ranks } = self.scale;
        let collective = word(&COLLECTIVES, &self.collective).unwrap_or_default();
        let Self { band, overlap, .. } = self;
        hash(format!("{collective}/{band}/{nodes}/{ranks}/{}", u8::from(*overlap)).as_bytes())
    }
}
