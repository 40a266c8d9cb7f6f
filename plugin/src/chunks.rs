//! The chunk sizes of a policy for one communicator.

use collectune::{
    collective::Scale,
    conf::words::{ALGORITHMS, COLLECTIVES, PROTOCOLS},
    policy::chunks::{ChunkSize, MOST_CHUNK_SIZES},
};

/// The number of different collectives, algorithms and protocols together.
const KEYS: usize = COLLECTIVES.len() * ALGORITHMS.len() * PROTOCOLS.len();

/// The chunk sizes of one communicator, by collective, algorithm and protocol; those of equal ones in the order of the
/// policy. They stay as they are while it lives, and a lookup changes nothing, so ranks agree however often and in
/// whatever order the library asks.
pub struct Chunks {
    /// The index of each key's first chunk, and the number of chunks at the end.
    firsts: [u8; KEYS + 1],
    chunks: Box<[Chunk]>,
}

struct Chunk {
    key: usize,
    from_bytes: u64,
    to_bytes: u64,
    chunk_bytes: usize,
}

impl Default for Chunks {
    fn default() -> Self {
        Self { firsts: [0; KEYS + 1], chunks: Box::default() }
    }
}

/// The place of a key among all, by the library's numbers of collective, algorithm and protocol.
fn key(coll: i32, algorithm: i32, protocol: i32) -> Option<usize> {
    let number = |number: i32, count: usize| usize::try_from(number).ok().filter(|number| *number < count);
    let (coll, algorithm) = (number(coll, COLLECTIVES.len())?, number(algorithm, ALGORITHMS.len())?);
    Some((coll * ALGORITHMS.len() + algorithm) * PROTOCOLS.len() + number(protocol, PROTOCOLS.len())?)
}

impl Chunks {
    /// Prepares those that are about communicators of a scale.
    pub fn new(sizes: &[ChunkSize], scale: Scale) -> Self {
        let prepared = |size: &ChunkSize| {
            let coll = COLLECTIVES.iter().position(|(_, known)| *known == size.collective)?;
            Some(Chunk {
                key: key(i32::try_from(coll).ok()?, size.algorithm.code().into(), size.protocol.code().into())?,
                from_bytes: *size.channel_bytes.start(),
                to_bytes: *size.channel_bytes.end(),
                chunk_bytes: usize::try_from(size.chunk_bytes).ok()?,
            })
        };
        let about = sizes.iter().filter(|size| size.scale == scale);
        let mut chunks: Vec<Chunk> = about.take(MOST_CHUNK_SIZES).filter_map(prepared).collect();
        // Stable, so that the first that fits stays the first.
        chunks.sort_by_key(|chunk| chunk.key);
        let mut firsts = [0; KEYS + 1];
        for (key, first) in firsts.iter_mut().enumerate() {
            *first = chunks.partition_point(|chunk| chunk.key < key) as u8;
        }
        Self { firsts, chunks: chunks.into() }
    }

    /// The number of chunk sizes.
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// The size of a chunk in bytes for so many bytes of one channel; `None` leaves the library's.
    pub fn find(&self, coll: i32, algorithm: i32, protocol: i32, channel_bytes: u64) -> Option<usize> {
        let key = key(coll, algorithm, protocol)?;
        let (first, end) = (*self.firsts.get(key)?, *self.firsts.get(key + 1)?);
        let mut of_key = self.chunks.get(usize::from(first)..usize::from(end))?.iter();
        of_key.find(|chunk| (chunk.from_bytes..=chunk.to_bytes).contains(&channel_bytes)).map(|chunk| chunk.chunk_bytes)
    }
}

#[cfg(test)]
mod tests {
    use collectune::collective::{Algorithm, Collective, Protocol};

    use super::*;

    #[test]
    fn the_first_that_fits_holds_and_everything_else_is_the_library_s() {
        let scale = Scale { nodes: 2, ranks: 16 };
        let size = |scale, channel_bytes, chunk_bytes| ChunkSize {
            collective: Collective::AllReduce,
            scale,
            algorithm: Algorithm::Ring,
            protocol: Protocol::Simple,
            channel_bytes,
            chunk_bytes,
        };
        let sizes = [
            size(Scale { nodes: 1, ranks: 8 }, 0..=u64::MAX, 512),
            size(scale, 100..=200, 1024),
            ChunkSize { collective: Collective::Reduce, ..size(scale, 0..=u64::MAX, 4096) },
            size(scale, 150..=u64::MAX, 2048),
        ];
        let chunks = Chunks::new(&sizes, scale);
        assert_eq!(chunks.len(), 3);
        assert_eq!(chunks.find(1, 1, 2, 99), Some(4096));
        for (bytes, expected) in
            [(99, None), (100, Some(1024)), (200, Some(1024)), (201, Some(2048)), (u64::MAX, Some(2048)), (0, None)]
        {
            assert_eq!(chunks.find(4, 1, 2, bytes), expected, "{bytes}");
        }
        for (coll, algorithm, protocol) in [(3, 1, 2), (4, 0, 2), (4, 1, 1), (-1, -1, -1), (i32::MAX, 1, 2)] {
            assert_eq!(chunks.find(coll, algorithm, protocol, 150), None);
        }
        assert_eq!(Chunks::default().find(4, 1, 2, 150), None);
    }
}
