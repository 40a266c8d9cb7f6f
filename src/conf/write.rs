//! Writing of rules as lines of tuner files.

use super::{
    reader::{Channels, Reader},
    words::{ALGORITHMS, COLLECTIVES, PROTOCOLS, word},
};
use crate::collective::{Algorithm, Collective, Protocol, Scale};

/// The header line, as a comment: without the `#` readers would take it for a rule.
pub const FIELDS: &str =
    "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff";

/// A rule's line, sizes included at both ends. `pair` is `None` for −1 twice. `None`: tuner files have no word for it.
///
/// ```
/// use collectune::{collective::{Algorithm, Collective, Protocol, Scale}, conf::write::line};
/// let scale = Scale { nodes: 2, ranks: 16 };
/// let pair = Some((Algorithm::Tree, Protocol::Ll128));
/// let line = line(Collective::AllReduce, (0, 65535), pair, 8, scale);
/// assert_eq!(line.as_deref(), Some("allreduce,0,65535,tree,ll128,8,2,16,-1,-1"));
/// ```
pub fn line(
    collective: Collective,
    (min_bytes, max_bytes): (u64, u64),
    pair: Option<(Algorithm, Protocol)>,
    channels: i32,
    Scale { nodes, ranks }: Scale,
) -> Option<String> {
    let (algorithm, protocol) = match pair {
        Some((algorithm, protocol)) => (word(&ALGORITHMS, &algorithm)?, word(&PROTOCOLS, &protocol)?),
        None => ("-1", "-1"),
    };
    let collective = word(&COLLECTIVES, &collective)?;
    Some(format!("{collective},{min_bytes},{max_bytes},{algorithm},{protocol},{channels},{nodes},{ranks},-1,-1"))
}

/// The value that leaves the number of channels to the library: NVIDIA's example takes -1 for one channel and 0 for
/// the library's choice.
pub fn channels_of_library(reader: Reader) -> i32 {
    if reader.behaviour().preset == Channels::Library { -1 } else { 0 }
}
