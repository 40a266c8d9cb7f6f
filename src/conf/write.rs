//! Writing of rules as lines of tuner files.

use super::{
    ncclx,
    reader::{Channels, Reader},
    rule::ncclx_ranks,
    words::{ALGORITHMS, COLLECTIVES, PROTOCOLS, word},
};
use crate::collective::{Algorithm, Collective, Protocol, Scale};

/// The names of the fields of a line, to be written as a comment: without the `#` readers would take them for a rule.
pub fn fields(reader: Reader) -> String {
    match reader {
        Reader::Ncclx => ncclx::FIELDS[..ncclx::FIELDS_NEEDED].join(","),
        _ => "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff"
            .to_owned(),
    }
}

/// A rule's line, sizes included at both ends. `pair` is `None` for −1 twice. `None`: the reader has no word for it, or
/// [`sizes_of_line`] has no size for it.
///
/// ```
/// use collectune::{collective::{Algorithm, Collective, Protocol, Scale}, conf::{Reader, write::line}};
/// let scale = Scale { nodes: 2, ranks: 16 };
/// let pair = Some((Algorithm::Tree, Protocol::Ll128));
/// let line = |reader| line(reader, Collective::AllReduce, (0, 65535), pair, 8, scale);
/// assert_eq!(line(Reader::Example).as_deref(), Some("allreduce,0,65535,tree,ll128,8,2,16,-1,-1"));
/// assert_eq!(line(Reader::Ncclx).as_deref(), Some("allreduce,[0,4095],tree,ll128,8,2,8"));
/// ```
pub fn line(
    reader: Reader,
    collective: Collective,
    sizes: (u64, u64),
    pair: Option<(Algorithm, Protocol)>,
    channels: i32,
    scale: Scale,
) -> Option<String> {
    let words = match pair {
        Some((algorithm, protocol)) => Some((word(&ALGORITHMS, &algorithm)?, word(&PROTOCOLS, &protocol)?)),
        None => None,
    };
    let collective = word(&COLLECTIVES, &collective)?;
    let Scale { nodes, ranks } = scale;
    if reader == Reader::Ncclx {
        let (algorithm, protocol) = words?;
        let (min_bytes, max_bytes) = sizes_of_line(reader, sizes, scale)?;
        let (local_ranks, divisor) = ncclx_ranks(scale);
        let first = min_bytes / divisor;
        let last = if max_bytes == u64::MAX { ")".to_owned() } else { format!("{}]", max_bytes / divisor) };
        return Some(format!("{collective},[{first},{last},{algorithm},{protocol},{channels},{nodes},{local_ranks}"));
    }
    let (algorithm, protocol) = words.unwrap_or(("-1", "-1"));
    let (min_bytes, max_bytes) = sizes;
    Some(format!("{collective},{min_bytes},{max_bytes},{algorithm},{protocol},{channels},{nodes},{ranks},-1,-1"))
}

/// The sizes that a line matches which is meant for these, in bytes of the whole collective: NCCLX divides by the ranks
/// and rounds down, so that a range begins and ends at multiples of them. Sizes below the first multiple go to the
/// range before, sizes up to the multiple after the last one to this. `None` where none is left.
pub fn sizes_of_line(reader: Reader, (min_bytes, max_bytes): (u64, u64), scale: Scale) -> Option<(u64, u64)> {
    if reader != Reader::Ncclx {
        return Some((min_bytes, max_bytes));
    }
    let (_, ranks) = ncclx_ranks(scale);
    // A signed number of 64 bits is the largest in such a file; beyond it the end is open.
    let next = |size: u64| size.checked_next_multiple_of(ranks).filter(|next| i64::try_from(*next).is_ok());
    let after = max_bytes.checked_add(1).and_then(next);
    let sizes = (next(min_bytes)?, after.map_or(u64::MAX, |after| after - 1));
    Some(sizes).filter(|(first, last)| first <= last)
}

/// The value that leaves the number of channels to the library: NVIDIA's example takes -1 for one channel and 0 for
/// the library's choice.
pub fn channels_of_library(reader: Reader) -> i32 {
    if reader.behaviour().preset == Channels::Library { -1 } else { 0 }
}
