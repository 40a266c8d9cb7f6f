//! Sets of chunks as rows of bits.

/// Words that are handled at once.
const LANES: usize = 8;

/// A piece of a row.
pub type Block = [u64; LANES];

/// Rows of equal length, a bit per chunk.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Blocks of a row.
    width: usize,
    blocks: Vec<Block>,
}

impl Rows {
    /// Empty sets.
    #[must_use]
    pub fn new(rows: usize, chunks: usize) -> Self {
        let width = chunks.div_ceil(64 * LANES);
        Self { width, blocks: vec![[0; LANES]; rows * width] }
    }

    /// One row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[Block] {
        &self.blocks[row * self.width..(row + 1) * self.width]
    }

    fn word(&mut self, row: usize, chunk: usize) -> &mut u64 {
        &mut self.blocks[row * self.width + chunk / (64 * LANES)][chunk / 64 % LANES]
    }

    /// Whether a chunk is in a row.
    #[must_use]
    pub fn has(&self, row: usize, chunk: usize) -> bool {
        self.blocks[row * self.width + chunk / (64 * LANES)][chunk / 64 % LANES] >> (chunk % 64) & 1 == 1
    }

    /// Puts a chunk in.
    pub fn insert(&mut self, row: usize, chunk: usize) {
        *self.word(row, chunk) |= 1 << (chunk % 64);
    }

    /// Takes a chunk out.
    pub fn remove(&mut self, row: usize, chunk: usize) {
        *self.word(row, chunk) &= !(1 << (chunk % 64));
    }

    /// How many are in a row.
    #[must_use]
    pub fn count(&self, row: usize) -> usize {
        self.row(row).iter().map(|block| ones(block) as usize).sum()
    }

    /// All bits, to be compared or hashed.
    #[must_use]
    pub fn all(&self) -> &[u64] {
        self.blocks.as_flattened()
    }
}

/// What is in the first and not in the second.
#[must_use]
pub fn without(a: &Block, b: &Block) -> Block {
    std::array::from_fn(|lane| a[lane] & !b[lane])
}

/// What is in both.
#[must_use]
pub fn both(a: &Block, b: &Block) -> Block {
    std::array::from_fn(|lane| a[lane] & b[lane])
}

/// Whether nothing is in it.
#[must_use]
pub fn is_empty(block: &Block) -> bool {
    block.iter().fold(0, |all, word| all | word) == 0
}

/// How many are in it.
#[must_use]
pub fn ones(block: &Block) -> u32 {
    // Most words have no bit or one; counting them takes long where the processor has no instruction for it.
    let count = |word: &u64| if word & word.wrapping_sub(1) == 0 { u32::from(*word != 0) } else { word.count_ones() };
    block.iter().map(count).sum()
}

/// The chunk of the `rank`-th set bit, from 0, counted from the block's first.
#[must_use]
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

/// All chunks of a block, counted from its first.
pub fn each(block: &Block) -> impl Iterator<Item = u32> + '_ {
    (0..).zip(block).flat_map(|(lane, word)| {
        let mut word = *word;
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.trailing_zeros())?;
            word &= word - 1;
            Some(lane * 64 + bit)
        })
    })
}

/// Chunks of a block.
pub const SIZE: usize = 64 * LANES;
