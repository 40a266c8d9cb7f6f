//! What comes before what: vector clocks of thread blocks.
//!
//! Each thread block, and each proxy of a port, knows how many operations of every other one are sure to be done. It
//! grows by signals, semaphores, barriers and packets. A relaxed signal says only that the peer runs: what it seems
//! to order is kept apart.

use std::rc::Rc;

/// How many operations of each thread block are done, thread blocks of all ranks one after the other, and proxies after
/// them. No thread block has more than 128, which MSCCL++ and the passes of a pipeline here see to, and no proxy more
/// than [`MOST_COUNTED`].
type Clock = Vec<u8>;

/// The most operations that a clock counts.
pub(super) const MOST_COUNTED: usize = u8::MAX as usize;

/// What a thread block knows of all others.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// What is sure to be done.
    strict: Clock,
    /// What would be done if relaxed signals ordered data.
    loose: Clock,
    /// The ranks that are sure to run in this launch.
    pub(super) runs: Rc<Vec<bool>>,
}

/// Whether an operation of another thread block comes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// It does.
    Before,
    /// Only if a relaxed signal ordered data.
    Relaxed,
    /// In some orders of execution it does not.
    None,
}

impl Known {
    /// What a thread block of a rank knows at the start.
    pub(super) fn at_start(blocks: usize, ranks: usize, rank: usize) -> Self {
        let mut runs = vec![false; ranks];
        runs[rank] = true;
        Self { strict: vec![0; blocks], loose: vec![0; blocks], runs: Rc::new(runs) }
    }

    /// Learns what another one knew. Of a relaxed signal only that its ranks run is sure.
    pub(super) fn learn(&mut self, other: &Self, is_relaxed: bool) {
        let join = |own: &mut Clock, other: &Clock| {
            own.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
        };
        if !is_relaxed {
            join(&mut self.strict, &other.strict);
        }
        join(&mut self.loose, &other.loose);
        if self.runs.iter().zip(&*other.runs).any(|(own, other)| *other && !own) {
            Rc::make_mut(&mut self.runs).iter_mut().zip(&*other.runs).for_each(|(own, other)| *own |= *other);
        }
    }

    /// Notes that the first operations of the thread block itself are done.
    pub(super) fn done(&mut self, own: usize, operations: usize) {
        self.strict[own] = operations as u8;
        self.loose[own] = operations as u8;
    }

    /// How many operations of a thread block are sure to be done.
    pub(super) fn done_of(&self, block: usize) -> usize {
        self.strict[block] as usize
    }

    /// Whether an operation, by its place in its thread block, comes before.
    pub(super) fn order(&self, block: usize, operation: usize) -> Order {
        match (self.strict[block] as usize > operation, self.loose[block] as usize > operation) {
            (true, _) => Order::Before,
            (false, true) => Order::Relaxed,
            (false, false) => Order::None,
        }
    }
}
