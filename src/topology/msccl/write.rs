//! Writes a schedule as an algorithm of MSCCL: each rank has a thread block for each incoming and each outgoing link,
//! with steps in the order of time.

use std::collections::BTreeMap;

use super::rules::{Algo, Gpu, MOST_BLOCKS, MOST_STEPS, Step, ThreadBlock, Type};
use crate::{
    collective::Collective,
    schedule::{graph::Graph, plan::Schedule},
    units::grouped,
};

/// Why a schedule can't be written as an algorithm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// MSCCL does not have the collective, or it is not supported here.
    #[error(
        "no algorithm of MSCCL is written for this collective; for all_gather, reduce_scatter, all_reduce, broadcast and alltoall one is"
    )]
    Collective,
    /// The runtime does not support this many ranks.
    #[error("{0} ranks are more than the 1,024 of the runtime")]
    Ranks(usize),
    /// The schedule has more than `MOST_TRANSFERS` transfers.
    #[error(
        "{} transfers are more than an algorithm of MSCCL is written for (at most {}); take fewer chunks, or save CSV or JSON",
        grouped(*.0 as u64),
        grouped(MOST_TRANSFERS as u64)
    )]
    Transfers(usize),
    /// A rank needs more thread blocks than the runtime has.
    #[error(
        "rank {rank} would need {blocks} thread blocks, and the runtime has {MOST_BLOCKS}: too many links, or too many chunks over one link"
    )]
    Blocks {
        /// The rank that needs them.
        rank: usize,
        /// The number of thread blocks that it needs.
        blocks: usize,
    },
}

/// The most transfers of an algorithm: it is read back and run, which takes about 2 kB for each.
pub const MOST_TRANSFERS: usize = 200_000;

/// The buffer and the offset of a chunk.
type Place = (char, i64);

/// Writes a schedule with `chunks` chunks per node as an algorithm. Returns an [`ExportError`] if the runtime lacks the
/// collective or enough thread blocks, or the schedule is too long.
pub fn write(
    graph: &Graph,
    schedule: &Schedule,
    collective: Collective,
    chunks: usize,
    name: &str,
) -> Result<Algo, ExportError> {
    let ranks = graph.nodes();
    let (n, k) = (ranks as i64, chunks as i64);
    if ranks > 1024 {
        return Err(ExportError::Ranks(ranks));
    }
    let (word, total, sizes, in_place) = match collective {
        Collective::AllGather => ("allgather", n * k, [k, n * k, 0], true),
        Collective::ReduceScatter => ("reducescatter", n * k, [n * k, k, 0], true),
        Collective::AllReduce => ("allreduce", n * k, [n * k, n * k, 0], true),
        Collective::Broadcast => ("broadcast", k, [k, k, 0], true),
        Collective::AllToAll => ("alltoall", n * k, [n * k, n * k, 0], false),
        _ => return Err(ExportError::Collective),
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
    let mut algo = Algo {
        name: name.chars().take(200).map(plain).collect(),
        collective: word.to_owned(),
        chunks: total,
        channels: 1,
        in_place,
        out_of_place: !in_place,
        gpus: vec![Gpu { chunks: sizes, blocks: Vec::new() }; ranks],
    };
    let mut relayed: BTreeMap<(u32, u32), i64> = BTreeMap::new();
    let mut scratch = vec![0_i64; ranks];
    // The place of a chunk on a node. The chunks of an alltoall are numbered by sender, receiver and index, without
    // those from a node to itself.
    let mut place = |node: u32, chunk: u32, is_source: bool| -> Place {
        match collective {
            Collective::AllGather | Collective::Broadcast => ('o', i64::from(chunk)),
            Collective::AllToAll => {
                let per_sender = (n - 1) * k;
                let (from, rest) = (i64::from(chunk) / per_sender, i64::from(chunk) % per_sender);
                let to = rest / k + i64::from(rest / k >= from);
                let turn = rest % k;
                match i64::from(node) {
                    node if node == from && is_source => ('i', to * k + turn),
                    node if node == to => ('o', from * k + turn),
                    at => {
                        let next = &mut scratch[at as usize];
                        let slot = relayed.entry((node, chunk)).or_insert_with(|| {
                            *next += 1;
                            *next - 1
                        });
                        ('s', *slot)
                    }
                }
            }
            _ => ('i', i64::from(chunk)),
        }
    };
    // The transfers of each link by time; a link may need several channels.
    let mut by_end: Vec<(u64, usize)> =
        schedule.transfers.iter().enumerate().map(|(at, of)| (of.end(graph), at)).collect();
    by_end.sort_by_cached_key(|(end, _)| *end);
    let mut count = vec![0_usize; graph.links().len()];
    // The thread blocks of a link on a channel, as (sender's, receiver's).
    let mut blocks: BTreeMap<(u32, usize), (usize, usize)> = BTreeMap::new();
    // The step that last brought a chunk to a node.
    let mut brought: BTreeMap<(u32, u32), (usize, usize)> = BTreeMap::new();
    for (_, index) in by_end {
        let transfer = schedule.transfers[index];
        let link = graph.links()[transfer.link as usize];
        let (from, to) = (link.from as usize, link.to as usize);
        let channel = count[transfer.link as usize] / (MOST_STEPS - 1);
        count[transfer.link as usize] += 1;
        algo.channels = algo.channels.max(channel + 1);
        let (out, into) = *blocks.entry((transfer.link, channel)).or_insert_with(|| {
            algo.gpus[from].blocks.push(ThreadBlock { send: Some(to), receive: None, channel, steps: Vec::new() });
            algo.gpus[to].blocks.push(ThreadBlock { send: None, receive: Some(from), channel, steps: Vec::new() });
            (algo.gpus[from].blocks.len() - 1, algo.gpus[to].blocks.len() - 1)
        });
        let is_reducing = index < schedule.reducing;
        let source = place(link.from, transfer.chunk, true);
        let destination = place(link.to, transfer.chunk, false);
        // A send waits for the step that brought the chunk; a reduction waits for the one before it.
        let awaited_by_send = brought.get(&(link.from, transfer.chunk)).copied();
        let awaited_by_receive = if is_reducing { brought.get(&(link.to, transfer.chunk)).copied() } else { None };
        for (rank, awaited) in [(from, awaited_by_send), (to, awaited_by_receive)] {
            if let Some((block, step)) = awaited {
                algo.gpus[rank].blocks[block].steps[step].is_awaited = true;
            }
        }
        let step = |what, source, destination, depends| Step {
            what,
            source,
            destination,
            count: 1,
            depends,
            is_awaited: false,
        };
        algo.gpus[from].blocks[out].steps.push(step(Type::Send, source, source, awaited_by_send));
        let what = if is_reducing { Type::ReceiveReduceCopy } else { Type::Receive };
        let steps = &mut algo.gpus[to].blocks[into].steps;
        steps.push(step(what, destination, destination, awaited_by_receive));
        brought.insert((link.to, transfer.chunk), (into, steps.len() - 1));
    }
    if collective == Collective::AllToAll {
        for (rank, gpu) in algo.gpus.iter_mut().enumerate() {
            // Copies of a rank's own data, divided into pieces that a step can have.
            let own = rank as i64 * k;
            let pieces = (0..k).step_by(64).map(|at| (at, (k - at).min(64)));
            let steps = pieces.map(|(at, count)| Step {
                what: Type::Copy,
                source: ('i', own + at),
                destination: ('o', own + at),
                count,
                depends: None,
                is_awaited: false,
            });
            gpu.blocks.push(ThreadBlock { steps: steps.collect(), ..ThreadBlock::default() });
            gpu.chunks[2] = scratch[rank];
        }
    }
    for (rank, gpu) in algo.gpus.iter().enumerate() {
        if gpu.blocks.len() > MOST_BLOCKS {
            return Err(ExportError::Blocks { rank, blocks: gpu.blocks.len() });
        }
    }
    Ok(algo)
}
