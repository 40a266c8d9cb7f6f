//! An interpreter of algorithms: it checks that an algorithm computes its collective in whatever order its thread
//! blocks run, and never deadlocks.
//!
//! A connection, from one rank to another on a channel, buffers the chunks of a few steps: two in RCCL (its buffer of
//! `NCCL_STEPS` slots takes `MSCCL_CHUNKSTEPS` of them for each), if the chunks of a step fit one of them, as
//! `minBytes` and `maxBytes` ensure. An algorithm that does not deadlock with a smaller buffer does not with a larger
//! one.

use std::collections::{HashMap, VecDeque};

use super::{
    accesses::{Clock, OrderedAccesses},
    rules::{Algo, Step, Type},
};
use crate::order::CompactSort;

/// The number of steps whose chunks a connection of RCCL buffers.
pub const STEPS_PER_CONNECTION: usize = 2;

/// Why an algorithm is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// All remaining steps wait for each other.
    #[error("it stands still: rank {rank}, thread block {block}, step {step} waits for ever")]
    Deadlock {
        /// The rank of one of them.
        rank: usize,
        /// The thread block's index on its rank.
        block: usize,
        /// The step's index in its thread block.
        step: usize,
    },
    /// A step reads a chunk that was never written.
    #[error("rank {rank}, thread block {block}, step {step} reads what was never written")]
    Unwritten {
        /// The rank of the step.
        rank: usize,
        /// The thread block's index on its rank.
        block: usize,
        /// The step's index in its thread block.
        step: usize,
    },
    /// Two steps of different thread blocks access a chunk, one of them writes it, and neither waits for the other.
    #[error(
        "rank {rank}, thread block {block}, step {step} and thread block {other_block}, step {other_step} access the same \
         chunk, and neither waits for the other: which comes first is chance"
    )]
    Unordered {
        /// The rank on which both thread blocks run.
        rank: usize,
        /// The thread block of one of them.
        block: usize,
        /// The index of the first step in its thread block.
        step: usize,
        /// The thread block of the other.
        other_block: usize,
        /// The index of the other step in its thread block.
        other_step: usize,
    },
    /// A step receives another number of chunks than it expects.
    #[error("rank {rank}, thread block {block}, step {step} receives {expected} chunks, and {sent} were sent")]
    Count {
        /// The rank of the step.
        rank: usize,
        /// The thread block's index on its rank.
        block: usize,
        /// The step's index in its thread block.
        step: usize,
        /// The number of chunks that it expects.
        expected: usize,
        /// The number of chunks that were sent.
        sent: usize,
    },
    /// Chunks are sent and never received.
    #[error("rank {from} sends to rank {to} on channel {channel} what is never received")]
    Unreceived {
        /// The sending rank, from 0.
        from: usize,
        /// The receiving rank, from 0.
        to: usize,
        /// The channel over which they are connected.
        channel: usize,
    },
    /// A result differs from that of the collective.
    #[error("rank {rank} ends with the wrong chunk {chunk}")]
    Wrong {
        /// The rank of the wrong result.
        rank: usize,
        /// The index of the wrong chunk.
        chunk: i64,
    },
    /// The interpreter does not know the result of this collective.
    #[error("what {0} should compute is not known here")]
    Unknown(String),
}

impl RunError {
    /// What it means for an algorithm of this collective: a sentence without its full stop.
    pub fn meaning(&self, collective: &str) -> String {
        match self {
            Self::Deadlock { .. } | Self::Count { .. } | Self::Unreceived { .. } => "It can't be run".to_owned(),
            Self::Unwritten { .. } | Self::Wrong { .. } => format!("It does not compute its {collective}"),
            Self::Unordered { .. } => format!("It does not always compute its {collective}"),
            Self::Unknown(_) => "It can't be checked".to_owned(),
        }
    }
}

/// The input chunks that are summed in a value, as (rank, chunk), ascending.
type Value = Vec<(u32, i64)>;

/// The chunks of a step that were sent, with the clock of their sender where accesses are ordered.
type Message = (Vec<Value>, Option<Clock>);

struct Machine<'a> {
    algo: &'a Algo,
    /// Whether input and output are one buffer.
    in_place: bool,
    per_rank: i64,
    /// The buffers of each rank; for in-place calls input and output stay separate here and are mapped to each other.
    buffers: Vec<[Vec<Option<Value>>; 3]>,
    /// The index of each thread block's next step.
    next: Vec<Vec<usize>>,
    /// The chunks that were sent and not yet received, step by step, by (sender, receiver, channel).
    sent: HashMap<(usize, usize, usize), VecDeque<Message>>,
    /// The order of accesses; `None` where the algorithm is too large for it.
    accesses: Option<OrderedAccesses>,
    /// The number of steps that a connection buffers.
    holds: usize,
}

/// Runs an algorithm with the buffers of RCCL. Returns a [`RunError`] if it does not compute its collective.
pub fn run(algo: &Algo) -> Result<(), RunError> {
    run_with_capacity(algo, STEPS_PER_CONNECTION)
}

/// Runs an algorithm with connections that buffer `holds` steps. Returns a [`RunError`] if it does not compute its
/// collective.
pub fn run_with_capacity(algo: &Algo, holds: usize) -> Result<(), RunError> {
    // Run it in each mode for which it may be chosen.
    if algo.in_place {
        run_as(algo, holds, true)?;
    }
    if algo.out_of_place || !algo.in_place {
        run_as(algo, holds, false)?;
    }
    Ok(())
}

fn run_as(algo: &Algo, holds: usize, in_place: bool) -> Result<(), RunError> {
    let per_rank = algo.chunks / algo.gpus.len().max(1) as i64;
    let mut machine = Machine {
        algo,
        in_place,
        per_rank,
        buffers: Vec::new(),
        next: algo.gpus.iter().map(|gpu| vec![0; gpu.blocks.len()]).collect(),
        sent: HashMap::new(),
        accesses: OrderedAccesses::new(algo),
        holds: holds.max(1),
    };
    for (rank, gpu) in algo.gpus.iter().enumerate() {
        let [input, output, scratch] = gpu.chunks;
        // In place, input and output are one buffer, whichever of the two a step names.
        let (input, output) = if in_place { (input.max(output), input.max(output)) } else { (input, output) };
        let mut buffers = [input, output, scratch].map(|chunks| vec![None; chunks.max(0) as usize]);
        let mut fill = |buffer: usize, from: i64, count: i64| {
            for chunk in 0..count {
                if let Some(slot) = buffers[buffer].get_mut((from + chunk) as usize) {
                    *slot = Some(vec![(rank as u32, chunk)]);
                }
            }
        };
        match (algo.collective.as_str(), in_place) {
            ("allgather", true) => fill(1, rank as i64 * per_rank, per_rank),
            ("allgather", false) => fill(0, 0, per_rank),
            ("broadcast", true) => fill(1, 0, algo.chunks),
            _ => fill(0, 0, algo.chunks),
        }
        machine.buffers.push(buffers);
    }
    machine.finish()?;
    machine.check()
}

impl Machine<'_> {
    fn finish(&mut self) -> Result<(), RunError> {
        loop {
            let mut is_moving = false;
            for rank in 0..self.algo.gpus.len() {
                for block in 0..self.algo.gpus[rank].blocks.len() {
                    while self.advance(rank, block)? {
                        is_moving = true;
                    }
                }
            }
            if is_moving {
                continue;
            }
            for (rank, gpu) in self.algo.gpus.iter().enumerate() {
                for (block, of) in gpu.blocks.iter().enumerate() {
                    let step = self.next[rank][block];
                    if step < of.steps.len() {
                        return Err(RunError::Deadlock { rank, block, step });
                    }
                }
            }
            let mut left: Vec<_> = self.sent.iter().filter(|(_, sent)| !sent.is_empty()).map(|(of, _)| *of).collect();
            left.compact_sort();
            return match left.first() {
                Some(&(from, to, channel)) => Err(RunError::Unreceived { from, to, channel }),
                None => Ok(()),
            };
        }
    }

    /// Whether the next step of a thread block has all that it waits for.
    fn is_ready(&self, rank: usize, block: usize) -> bool {
        let step = self.algo.gpus[rank].blocks[block].steps.get(self.next[rank][block]);
        step.is_some_and(|step| {
            step.depends.is_none_or(|(of, at)| self.next[rank].get(of).is_some_and(|next| *next > at))
        })
    }

    /// Runs the next step of a thread block; `false` if it has to wait for data or for space in a connection.
    fn advance(&mut self, rank: usize, block: usize) -> Result<bool, RunError> {
        if !self.is_ready(rank, block) {
            return Ok(false);
        }
        let own = &self.algo.gpus[rank].blocks[block];
        let (send, receive, channel) = (own.send, own.receive, own.channel);
        let number = self.next[rank][block];
        let step = own.steps[number];
        let mut sends = None;
        if matches!(step.what, Type::Nop | Type::Copy | Type::Reduce) {
            self.access(rank, block, &step, None)?;
        }
        match step.what {
            Type::Nop => {}
            Type::Copy => {
                let values = self.read(rank, block, step.source, step.count)?;
                self.store(rank, step.destination, &values);
            }
            Type::Reduce => {
                let values = self.sum(rank, block, &step, step.destination, &[])?;
                self.store(rank, step.destination, &values);
            }
            what => {
                let to = send.filter(|_| what.sends()).map(|to| (rank, to, channel));
                let is_full = |to| self.sent.get(&to).is_some_and(|sent| sent.len() >= self.holds);
                if to.is_some_and(is_full) {
                    return Ok(false);
                }
                let mut received = None;
                let got = if what.receives() {
                    let from = receive.map(|from| (from, rank, channel));
                    let Some(got) = from.and_then(|from| self.sent.get_mut(&from)?.pop_front()) else {
                        return Ok(false);
                    };
                    let (got, clock) = got;
                    received = clock;
                    if got.len() as i64 != step.count {
                        let (expected, sent) = (step.count as usize, got.len());
                        return Err(RunError::Count { rank, block, step: self.next[rank][block], expected, sent });
                    }
                    Some(got)
                } else {
                    None
                };
                self.access(rank, block, &step, received.as_ref())?;
                let values = match got {
                    Some(got) if matches!(what, Type::Receive | Type::ReceiveCopySend) => got,
                    Some(got) => self.sum(rank, block, &step, step.source, &got)?,
                    None => self.read(rank, block, step.source, step.count)?,
                };
                if what.receives() && what != Type::ReceiveReduceSend {
                    self.store(rank, step.destination, &values);
                }
                sends = to.map(|to| (to, values));
            }
        }
        let clock = self.accesses.as_mut().and_then(|order| order.end((rank, block, number), sends.is_some()));
        if let Some((to, values)) = sends {
            self.sent.entry(to).or_default().push_back((values, clock));
        }
        self.next[rank][block] += 1;
        Ok(true)
    }

    /// Notes what a step reads and writes, and fails if another one does so in no order with it.
    fn access(&mut self, rank: usize, block: usize, step: &Step, received: Option<&Clock>) -> Result<(), RunError> {
        let number = self.next[rank][block];
        let Some(mut order) = self.accesses.take() else { return Ok(()) };
        order.begin(rank, block, step, received);
        use Type::{Nop, Receive, ReceiveCopySend, ReceiveReduceSend, Reduce, Send};
        let reads = !matches!(step.what, Nop | Receive | ReceiveCopySend);
        let writes = !matches!(step.what, Nop | Send | ReceiveReduceSend);
        // A local reduction reads both.
        let adds = step.what == Reduce;
        let places = [(step.source, reads, false), (step.destination, adds, false), (step.destination, writes, true)];
        for ((buffer, offset), _, is_write) in places.into_iter().filter(|(_, is_accessed, _)| *is_accessed) {
            for at in offset..offset + step.count {
                let (buffer, Some(chunk)) = self.place(rank, (buffer, at)) else { continue };
                let place = (buffer, chunk);
                order.access((rank, block, number), place, is_write).map_err(|other| RunError::Unordered {
                    rank,
                    block,
                    step: number,
                    other_block: other.block,
                    other_step: other.step,
                })?;
            }
        }
        self.accesses = Some(order);
        Ok(())
    }

    fn read(
        &self,
        rank: usize,
        block: usize,
        (buffer, offset): (char, i64),
        count: i64,
    ) -> Result<Vec<Value>, RunError> {
        let value = |at: i64| {
            let (buffer, at) = self.place(rank, (buffer, offset + at));
            self.buffers[rank][buffer].get(at?)?.clone()
        };
        let unwritten = || RunError::Unwritten { rank, block, step: self.next[rank][block] };
        (0..count).map(|at| value(at).ok_or_else(unwritten)).collect()
    }

    /// The sum of what is received, or read at the source, and what is at another place.
    fn sum(
        &self,
        rank: usize,
        block: usize,
        step: &Step,
        with: (char, i64),
        got: &[Value],
    ) -> Result<Vec<Value>, RunError> {
        let own = self.read(rank, block, with, step.count)?;
        let got = if got.is_empty() { self.read(rank, block, step.source, step.count)? } else { got.to_vec() };
        let add = |(mut a, b): (Value, Value)| {
            a.extend(b);
            a.compact_sort();
            a
        };
        Ok(own.into_iter().zip(got).map(add).collect())
    }

    fn store(&mut self, rank: usize, (buffer, offset): (char, i64), values: &[Value]) {
        for (at, value) in (offset..).zip(values) {
            let (buffer, at) = self.place(rank, (buffer, at));
            if let Some(slot) = at.and_then(|at| self.buffers[rank][buffer].get_mut(at)) {
                *slot = Some(value.clone());
            }
        }
    }

    /// The index of a buffer and the offset in it; for in-place calls, part of the input or the output is the other.
    fn place(&self, rank: usize, (buffer, offset): (char, i64)) -> (usize, Option<usize>) {
        let own = rank as i64 * self.per_rank;
        let (buffer, offset) = match (self.in_place, self.algo.collective.as_str(), buffer) {
            (true, "allgather", 'i') => ('o', offset + own),
            (true, "broadcast", 'i') => ('o', offset),
            (true, "reducescatter", 'o') => ('i', offset + own),
            (true, "allreduce", 'o') => ('i', offset),
            (_, _, other) => (other, offset),
        };
        (index(buffer), usize::try_from(offset).ok())
    }

    fn check(&self) -> Result<(), RunError> {
        let ranks = self.algo.gpus.len() as u32;
        let (in_place, per_rank) = (self.in_place, self.per_rank);
        let all = |chunk: i64| -> Value { (0..ranks).map(|rank| (rank, chunk)).collect() };
        for rank in 0..ranks {
            let own = i64::from(rank) * per_rank;
            let parts = |chunk: i64| ((chunk / per_rank.max(1)) as u32, chunk % per_rank.max(1));
            // For each chunk of the result its buffer, its offset and its value.
            let expected: Vec<(usize, i64, Value)> = match self.algo.collective.as_str() {
                "allgather" => (0..self.algo.chunks).map(|chunk| (1, chunk, vec![parts(chunk)])).collect(),
                "allreduce" => (0..self.algo.chunks).map(|chunk| (usize::from(!in_place), chunk, all(chunk))).collect(),
                "reducescatter" if in_place => (own..own + per_rank).map(|chunk| (0, chunk, all(chunk))).collect(),
                "reducescatter" => (0..per_rank).map(|chunk| (1, chunk, all(own + chunk))).collect(),
                "alltoall" => (0..self.algo.chunks)
                    .map(|chunk| (1, chunk, vec![(parts(chunk).0, own + parts(chunk).1)]))
                    .collect(),
                "broadcast" => {
                    // The root is the rank whose program keeps its own chunks.
                    let is_root =
                        |of: u32| self.buffers.iter().all(|buffers| buffers[1].first() == Some(&Some(vec![(of, 0)])));
                    let root = (0..ranks).find(|of| is_root(*of)).unwrap_or(0);
                    (0..self.algo.chunks).map(|chunk| (1, chunk, vec![(root, chunk)])).collect()
                }
                other => return Err(RunError::Unknown(other.to_owned())),
            };
            for (buffer, chunk, value) in expected {
                let slot = self.buffers[rank as usize][buffer].get(chunk as usize);
                if slot != Some(&Some(value)) {
                    return Err(RunError::Wrong { rank: rank as usize, chunk });
                }
            }
        }
        Ok(())
    }
}

fn index(buffer: char) -> usize {
    match buffer {
        'i' => 0,
        'o' => 1,
        _ => 2,
    }
}
