//! Sets of chunks as rows of bits, in blocks that the compiler vectorises.

/// Words in a block.
const LANES: usize = 8;

/// A part of a row: [`BLOCK_SIZE`] chunks, a bit each.
pub type Block = [u64; LANES];

/// Sets of chunks, one in each row.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Blocks per row.
    width: usize,
    blocks: Vec<Block>,
}

impl Rows {
    /// Creates empty sets.
    pub fn new(rows: usize, chunks: usize) -> Self {
        let width = chunks.div_ceil(64 * LANES);
        Self { width, blocks: vec![[0; LANES]; rows * width] }
    }

    /// The blocks of a row.
    pub fn row(&self, row: usize) -> &[Block] {
        &self.blocks[row * self.width..(row + 1) * self.width]
    }

    fn word(&mut self, row: usize, chunk: usize) -> &mut u64 {
        &mut self.blocks[row * self.width + chunk / (64 * LANES)][chunk / 64 % LANES]
    }

    /// Whether a chunk is in a row.
    pub fn has(&self, row: usize, chunk: usize) -> bool {
        self.blocks[row * self.width + chunk / (64 * LANES)][chunk / 64 % LANES] >> (chunk % 64) & 1 == 1
    }

    /// Adds a chunk to a row.
    pub fn insert(&mut self, row: usize, chunk: usize) {
        *self.word(row, chunk) |= 1 << (chunk % 64);
    }

    /// Removes a chunk from a row.
    pub fn remove(&mut self, row: usize, chunk: usize) {
        *self.word(row, chunk) &= !(1 << (chunk % 64));
    }

    /// The number of chunks in a row.
    pub fn count(&self, row: usize) -> usize {
        self.row(row).iter().map(|block| count(block) as usize).sum()
    }

    /// All words, for comparing and hashing.
    pub fn all(&self) -> &[u64] {
        self.blocks.as_flattened()
    }
}

/// The chunks of `a` that are not in `b`.
pub fn difference(a: &Block, b: &Block) -> Block {
    std::array::from_fn(|lane| a[lane] & !b[lane])
}

/// The chunks that are in both.
pub fn intersection(a: &Block, b: &Block) -> Block {
    std::array::from_fn(|lane| a[lane] & b[lane])
}

/// Whether the block has no chunk.
pub fn is_empty(block: &Block) -> bool {
    block.iter().fold(0, |all, word| all | word) == 0
}

/// The number of chunks in the block.
pub fn count(block: &Block) -> u32 {
    // Most words have at most one bit; counting bits is slow where the processor has no instruction for it.
    let count = |word: &u64| if word & word.wrapping_sub(1) == 0 { u32::from(*word != 0) } else { word.count_ones() };
    block.iter().map(count).sum()
}

/// The offset in the block of its `rank`-th chunk, counted from 0.
pub fn select(block: &Block, mut rank: u32) -> Option<u32> {
    for (lane, word) in (0..).zip(block) {
        let count = word.count_ones();
        if rank < count {
            let rest = (0..rank).fold(*word, |word, _| word & (word - 1));
            return Some(lane * 64 + rest.trailing_zeros());
        }
        rank -= count;
    }
    None
}

/// The offsets in the block of its chunks, ascending.
pub fn iter(block: &Block) -> impl Iterator<Item = u32> + '_ {
    (0..).zip(block).flat_map(|(lane, word)| {
        let mut word = *word;
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.trailing_zeros())?;
            word &= word - 1;
            Some(lane * 64 + bit)
        })
    })
}

/// Chunks per block.
pub const BLOCK_SIZE: usize = 64 * LANES;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const CHUNKS: usize = 3 * BLOCK_SIZE - 5;

    fn chunks() -> impl Strategy<Value = BTreeSet<usize>> {
        // Few chunks, and runs in which whole words are full.
        let few = proptest::collection::btree_set(0..CHUNKS, 0..40);
        let run = (0..CHUNKS, 0..200_usize).prop_map(|(first, count)| (first..CHUNKS.min(first + count)).collect());
        prop_oneof![few, run]
    }

    /// The chunks of a row, by its blocks.
    fn listed(rows: &Rows, row: usize) -> BTreeSet<usize> {
        let of_block = |(at, block)| iter(block).map(move |bit| at * BLOCK_SIZE + bit as usize);
        rows.row(row).iter().enumerate().flat_map(of_block).collect()
    }

    proptest! {
        #[test]
        fn rows_are_sets(first in chunks(), second in chunks()) {
            let mut rows = Rows::new(2, CHUNKS);
            let empty = rows.all().to_vec();
            first.iter().for_each(|chunk| rows.insert(0, *chunk));
            second.iter().for_each(|chunk| rows.insert(1, *chunk));
            prop_assert_eq!((listed(&rows, 0), listed(&rows, 1)), (first.clone(), second.clone()));
            prop_assert_eq!((rows.count(0), rows.count(1)), (first.len(), second.len()));
            prop_assert!((0..CHUNKS).all(|chunk| rows.has(1, chunk) == second.contains(&chunk)));
            for (at, (a, b)) in rows.row(0).iter().zip(rows.row(1)).enumerate() {
                let here = |chunk: &&usize| **chunk / BLOCK_SIZE == at;
                let offsets = |block: &Block| iter(block).map(|bit| at * BLOCK_SIZE + bit as usize).collect::<Vec<_>>();
                prop_assert!(offsets(&difference(a, b)).iter().eq(first.difference(&second).filter(here)));
                prop_assert!(offsets(&intersection(a, b)).iter().eq(first.intersection(&second).filter(here)));
                prop_assert_eq!(is_empty(a), count(a) == 0);
                let selected: Vec<_> = (0..count(a)).map(|rank| select(a, rank)).collect();
                prop_assert_eq!(selected, iter(a).map(Some).collect::<Vec<_>>());
                prop_assert_eq!(select(a, count(a)), None);
            }
            for chunk in &second {
                rows.remove(1, *chunk);
                rows.remove(1, *chunk);
            }
            first.iter().for_each(|chunk| rows.remove(0, *chunk));
            prop_assert_eq!(rows.all(), &empty[..]);
        }
    }
}
