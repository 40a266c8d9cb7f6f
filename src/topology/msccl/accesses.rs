//! Whether the accesses of thread blocks to one chunk have an order, or may run in any: then an algorithm computes
//! something else from run to run.
//!
//! Each thread block has a vector clock: how many steps of every other one are sure to be done. It grows by what is
//! received and by the steps that are waited for; a full connection is no order, since libraries may buffer more. Of
//! each chunk the last write and the reads after it are kept (Flanagan and Freund, FastTrack, PLDI 2009).

use super::rules::{Algo, Step};
use crate::order::CompactSort;

/// How many steps of each thread block are done, thread blocks of all ranks one after the other.
pub(super) type Clock = Vec<u32>;

/// More entries of clocks, as thread blocks times steps, are not computed.
const MOST_ENTRIES: usize = 1 << 26;

/// A step of a thread block: its number among all thread blocks, and the index of the step.
type At = (usize, u32);

/// The accesses to a chunk that have to be done before others.
#[derive(Clone, Default)]
struct Accesses {
    write: Option<At>,
    reads: Vec<At>,
}

/// The clocks of a run, and the accesses so far.
pub(super) struct OrderedAccesses {
    /// The number of the first thread block of each rank.
    first: Vec<usize>,
    clocks: Vec<Clock>,
    /// The steps that others wait for, ascending, with how many of them still do and the clock after the step.
    awaited: Vec<(At, u32, Clock)>,
    /// The chunks of each buffer, three buffers of a rank after those of the ranks before.
    buffers: Vec<Vec<Accesses>>,
}

/// A step that accesses a chunk in no order with another one: the thread block on the same rank and its step.
pub(super) struct Unordered {
    pub(super) block: usize,
    pub(super) step: usize,
}

impl OrderedAccesses {
    /// Before the first step of an algorithm; `None` for one that is too large.
    pub(super) fn new(algo: &Algo) -> Option<Self> {
        let mut first = Vec::new();
        let (mut blocks, mut steps) = (0, 0);
        for gpu in &algo.gpus {
            first.push(blocks);
            blocks += gpu.blocks.len();
            steps += gpu.blocks.iter().map(|block| block.steps.len()).sum::<usize>();
        }
        if blocks.saturating_mul(steps.max(blocks)) > MOST_ENTRIES {
            return None;
        }
        let mut all: Vec<At> = Vec::new();
        for (gpu, first) in algo.gpus.iter().zip(&first) {
            let depends = gpu.blocks.iter().flat_map(|block| &block.steps).filter_map(|step| step.depends);
            all.extend(depends.map(|(of, at)| (first + of, at as u32)));
        }
        all.compact_sort();
        let awaited = all.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32, Clock::new())).collect();
        let buffers = vec![Vec::new(); 3 * algo.gpus.len()];
        Some(Self { first, clocks: vec![vec![0; blocks]; blocks], awaited, buffers })
    }

    fn awaited(&mut self, step: At) -> Option<&mut (At, u32, Clock)> {
        let at = self.awaited.partition_point(|(of, ..)| *of < step);
        self.awaited.get_mut(at).filter(|(of, ..)| *of == step)
    }

    /// A step begins: what it waited for is done, and so is what came before that which it receives.
    pub(super) fn begin(&mut self, rank: usize, block: usize, step: &Step, received: Option<&Clock>) {
        let own = self.first[rank] + block;
        if let Some((of, at)) = step.depends
            && let Some((_, left, after)) = self.awaited((self.first[rank] + of, at as u32))
        {
            *left -= 1;
            let after = if *left == 0 { std::mem::take(after) } else { after.clone() };
            join(&mut self.clocks[own], &after);
        }
        if let Some(received) = received {
            join(&mut self.clocks[own], received);
        }
    }

    /// A step of a thread block accesses a chunk of its rank's buffer.
    pub(super) fn access(
        &mut self,
        (rank, block, step): (usize, usize, usize),
        (buffer, chunk): (usize, usize),
        is_write: bool,
    ) -> Result<(), Unordered> {
        let own = self.first[rank] + block;
        let clock = &self.clocks[own];
        let chunks = &mut self.buffers[3 * rank + buffer];
        if chunks.len() <= chunk {
            chunks.resize(chunk + 1, Accesses::default());
        }
        let accesses = &mut chunks[chunk];
        let earlier = accesses.write.iter().chain(accesses.reads.iter().filter(|_| is_write));
        let is_unordered = |(of, at): &&At| *of != own && clock[*of] <= *at;
        if let Some((of, at)) = earlier.into_iter().find(is_unordered) {
            return Err(Unordered { block: of - self.first[rank], step: *at as usize });
        }
        if is_write {
            (accesses.write, accesses.reads) = (Some((own, step as u32)), Vec::new());
        } else {
            accesses.reads.retain(|(of, _)| *of != own);
            accesses.reads.push((own, step as u32));
        }
        Ok(())
    }

    /// A step is done. Returns the clock that goes with what it sends.
    pub(super) fn end(&mut self, (rank, block, step): (usize, usize, usize), sends: bool) -> Option<Clock> {
        let own = self.first[rank] + block;
        self.clocks[own][own] = step as u32 + 1;
        let clock = self.clocks[own].clone();
        if let Some((.., after)) = self.awaited((own, step as u32)) {
            after.clone_from(&clock);
        }
        sends.then_some(clock)
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
}
