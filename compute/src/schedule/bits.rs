//! Sets of chunks as rows of bits.

/// Rows of equal length, a bit per chunk.
#[derive(Clone, Debug)]
pub struct Rows {
    words: usize,
    bits: Vec<u64>,
}

impl Rows {
    /// Empty sets.
    #[must_use]
    pub fn new(rows: usize, chunks: usize) -> Self {
        let words = chunks.div_ceil(64);
        Self { words, bits: vec![0; rows * words] }
    }

    /// One row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..(row + 1) * self.words]
    }

    /// Whether a chunk is in a row.
    #[must_use]
    pub fn has(&self, row: usize, chunk: usize) -> bool {
        self.bits[row * self.words + chunk / 64] >> (chunk % 64) & 1 == 1
    }

    /// Puts a chunk in.
    pub fn insert(&mut self, row: usize, chunk: usize) {
        self.bits[row * self.words + chunk / 64] |= 1 << (chunk % 64);
    }

    /// Takes a chunk out.
    pub fn remove(&mut self, row: usize, chunk: usize) {
        self.bits[row * self.words + chunk / 64] &= !(1 << (chunk % 64));
    }

    /// How many are in a row.
    #[must_use]
    pub fn count(&self, row: usize) -> usize {
        self.row(row).iter().map(|word| word.count_ones() as usize).sum()
    }

    /// All bits, to be compared or hashed.
    #[must_use]
    pub fn all(&self) -> &[u64] {
        &self.bits
    }
}

/// The place of the `rank`-th set bit, from 0.
#[must_use]
pub fn select(mut word: u64, rank: u32) -> u32 {
    for _ in 0..rank {
        word &= word - 1;
    }
    word.trailing_zeros()
}
