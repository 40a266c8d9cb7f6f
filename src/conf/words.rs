//! The keywords of tuner files, which readers match exactly and in lower case.

use crate::collective::{Algorithm, Collective, Protocol};

/// The collectives for which a tuner is called.
pub const COLLECTIVES: [(&str, Collective); 5] = [
    ("broadcast", Collective::Broadcast),
    ("reduce", Collective::Reduce),
    ("allgather", Collective::AllGather),
    ("reducescatter", Collective::ReduceScatter),
    ("allreduce", Collective::AllReduce),
];

/// The names of algorithms in tuner files, in lower case.
pub const ALGORITHMS: [(&str, Algorithm); 7] = [
    ("tree", Algorithm::Tree),
    ("ring", Algorithm::Ring),
    ("collnet_direct", Algorithm::CollnetDirect),
    ("collnet_chain", Algorithm::CollnetChain),
    ("nvls", Algorithm::Nvls),
    ("nvls_tree", Algorithm::NvlsTree),
    ("pat", Algorithm::Pat),
];

/// The names of protocols in tuner files, in lower case.
pub const PROTOCOLS: [(&str, Protocol); 3] =
    [("ll", Protocol::Ll), ("ll128", Protocol::Ll128), ("simple", Protocol::Simple)];

/// Leaves the choice to the library, where a reader understands it.
pub const WILDCARD: &[u8] = b"-1";

/// The meaning of a keyword, or `None` if it is unknown.
pub fn find<T: Copy>(words: &[(&str, T)], text: &[u8]) -> Option<T> {
    words.iter().find(|(word, _)| word.as_bytes() == text).map(|(_, meaning)| *meaning)
}

/// The keyword for a value, or `None` where tuner files have none.
pub fn word<T: PartialEq>(words: &[(&'static str, T)], meaning: &T) -> Option<&'static str> {
    words.iter().find(|(_, of)| of == meaning).map(|(word, _)| *word)
}
