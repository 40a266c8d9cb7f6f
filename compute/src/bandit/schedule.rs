//! Which arm each call of a key runs, as a pure function of seed, key and call number: all ranks of a communicator
//! compute the same, and a log is attributed afterwards without a word from the plugin.

use crate::math::{GOLDEN, mix};

/// The most calls in a block.
pub const MAX_BLOCK_CALLS: usize = 1024;
/// The most arms of a policy.
pub const MAX_ARMS: usize = 64;

/// The number of calls in a block with these counts per arm.
pub fn block_length(counts: &[u32]) -> usize {
    counts.iter().map(|count| *count as usize).sum()
}

/// Deals the arms of a block into `order`: arm i as often as `counts[i]` says, shuffled. Call c of the key runs entry
/// c mod n of block ⌊c/n⌋. Only the first [`block_length`] entries are written, and fewer where `order` is shorter.
///
/// ```
/// use collectune_compute::bandit::schedule::fill_block;
/// let mut order = [0; 8];
/// fill_block(&[2, 2, 2, 2], 1, 2, 0, &mut order);
/// assert_eq!(order, [0, 1, 2, 3, 2, 0, 1, 3]);
/// fill_block(&[2, 2, 2, 2], 1, 2, 1, &mut order);
/// assert_eq!(order, [1, 1, 3, 2, 2, 3, 0, 0]);
/// fill_block(&[2, 2, 2, 2], 42, 0xD8FD_171D_3B55_A31B, 0, &mut order);
/// assert_eq!(order, [2, 1, 3, 3, 1, 2, 0, 0]);
/// ```
pub fn fill_block(counts: &[u32], seed: u64, key_hash: u64, block: u64, order: &mut [u8]) {
    let length = fill_in_order(counts, order);
    let order = &mut order[..length];
    let mut shuffle = Shuffle::new(seed, key_hash, block, length);
    while shuffle.step(order) {}
}

/// Writes the arms in their order, each as often as its count says, and returns the number of entries.
pub fn fill_in_order(counts: &[u32], order: &mut [u8]) -> usize {
    let arms = (0..=u8::MAX).zip(counts).flat_map(|(arm, count)| std::iter::repeat_n(arm, *count as usize));
    order.iter_mut().zip(arms).map(|(entry, arm)| *entry = arm).count()
}

/// The shuffle of a block, one swap at a time: the next block can be shuffled while the present one runs, without a
/// long pause.
#[derive(Clone, Debug)]
pub struct Shuffle {
    state: u64,
    /// The entry that is swapped next; 0 when done.
    last: usize,
}

impl Shuffle {
    /// Starts the shuffle of a block of `length` calls that [`fill_in_order`] has written.
    pub const fn new(seed: u64, key_hash: u64, block: u64, length: usize) -> Self {
        let state = mix(seed ^ mix(key_hash) ^ mix(block.wrapping_add(1).wrapping_mul(GOLDEN)));
        Self { state, last: length.saturating_sub(1) }
    }

    /// Swaps two entries of the block; returns `false` if it is shuffled already.
    pub fn step(&mut self, order: &mut [u8]) -> bool {
        let last = self.last;
        if last == 0 || last >= order.len() {
            return false;
        }
        self.state = self.state.wrapping_add(GOLDEN);
        let other = ((u128::from(mix(self.state)) * (last as u128 + 1)) >> 64) as usize;
        order.swap(last, other);
        self.last = last - 1;
        true
    }
}
