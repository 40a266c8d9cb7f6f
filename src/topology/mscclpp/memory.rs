//! The buffers of all ranks, in cells: parts of chunks, as small as thread blocks that share an operation need.

use std::rc::Rc;

use super::{
    order::Known,
    plan::{Buffer, Operation, Plan, Span},
};
use crate::order::CompactSort;

/// What a cell holds: an element of the collective, and the ranks whose parts are added in it, ascending.
pub(super) type Content = (u32, Vec<u32>);

/// An access: the thread block or the proxy, the place of its operation, and the barriers of the thread block before
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) block: usize,
    pub(super) operation: usize,
    pub(super) barriers: u32,
}

/// A packet, with what its sender knew.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) content: Option<Content>,
    pub(super) known: Rc<Known>,
    pub(super) reads: Vec<Access>,
}

/// The first write to scratch.
#[derive(Clone, Debug)]
pub(super) struct FirstWrite {
    pub(super) by: Access,
    /// The ranks that were known to run in this launch.
    pub(super) runs: Rc<Vec<bool>>,
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    pub(super) content: Option<Content>,
    pub(super) packet: Option<Packet>,
    /// The last write of data.
    pub(super) write: Option<Access>,
    /// Reads after it.
    pub(super) reads: Vec<Access>,
    /// Of scratch.
    pub(super) first_write: Option<FirstWrite>,
}

/// Where a cell is: rank, buffer and place.
pub(super) type At = (usize, Buffer, usize);

/// The collectives, by their names in plans, of which it is known what they compute.
pub(super) const KNOWN: [&str; 4] = ["allreduce", "allgather", "reducescatter", "alltoall"];

/// The buffers of all ranks.
pub(super) struct Memory<'a> {
    plan: &'a Plan,
    /// The cells of a chunk.
    pub(super) per_chunk: usize,
    cells: Vec<[Vec<Cell>; 3]>,
}

/// Begin and end of a part of a length: as even as possible, the longer parts first.
fn part(length: usize, (part, parts): (u32, u32)) -> (usize, usize) {
    let (part, parts) = (part as usize, (parts as usize).max(1));
    let begin = |part: usize| part * (length / parts) + part.min(length % parts);
    (begin(part), begin(part + 1))
}

impl<'a> Memory<'a> {
    /// The buffers before the launch.
    pub(super) fn new(plan: &'a Plan) -> Self {
        let is_divided = |operation: &Operation| operation.share.1 > 1 || operation.pass.1 > 1;
        let per_chunk = if plan.operations().any(is_divided) { 12 } else { 1 };
        let empty = |chunks: u32| vec![Cell::default(); chunks as usize * per_chunk];
        let cells = plan.gpus.iter().map(|gpu| gpu.chunks.map(empty)).collect();
        let mut memory = Self { plan, per_chunk, cells };
        for rank in 0..plan.gpus.len() {
            let length = plan.gpus[rank].chunks[0] as usize * per_chunk;
            for place in 0..length {
                let element = match plan.collective.as_str() {
                    "allgather" | "alltoall" => rank * length + place,
                    _ => place,
                };
                memory.at((rank, Buffer::Input, place)).content = Some((element as u32, vec![rank as u32]));
            }
        }
        memory
    }

    /// The cells of a rank's scratch.
    pub(super) fn scratch(&self, rank: usize) -> &[Cell] {
        &self.cells[rank][Buffer::Scratch as usize]
    }

    /// The cell at a place; in place, input and output are one buffer.
    pub(super) fn at(&mut self, at: At) -> &mut Cell {
        let (rank, buffer, place) = self.located(at);
        &mut self.cells[rank][buffer as usize][place]
    }

    fn located(&self, (rank, buffer, place): At) -> At {
        let part = |chunks: u32| rank * chunks as usize * self.per_chunk + place;
        let [input, output, _] = self.plan.gpus[rank].chunks;
        match (self.plan.in_place, self.plan.collective.as_str(), buffer) {
            (true, "allreduce", Buffer::Output) => (rank, Buffer::Input, place),
            (true, "allgather", Buffer::Input) => (rank, Buffer::Output, part(input)),
            (true, "reducescatter", Buffer::Output) => (rank, Buffer::Input, part(output)),
            _ => (rank, buffer, place),
        }
    }

    /// The first cell and the number of cells of a span that an operation is about.
    pub(super) fn range(&self, span: &Span, operation: &Operation) -> (usize, usize) {
        let first = span.index as usize * self.per_chunk;
        let (begin, end) = part(span.size as usize * self.per_chunk, operation.pass);
        let (from, to) = part(end - begin, operation.share);
        (first + begin + from, to - from)
    }

    /// Why the chunks of the ranks don't fit the collective; `None` where they do.
    pub(super) fn misfit(plan: &Plan) -> Option<String> {
        let ranks = plan.gpus.len() as u64;
        let fits = |[input, output, _]: [u32; 3]| {
            let (input, output) = (u64::from(input), u64::from(output));
            match plan.collective.as_str() {
                "allreduce" => input == output,
                "allgather" => output == input * ranks,
                "reducescatter" => input == output * ranks,
                "alltoall" => input == output && input % ranks == 0,
                _ => true,
            }
        };
        let first = plan.gpus.first().map(|gpu| gpu.chunks)?;
        let is_like = |gpu: &super::plan::Gpu| gpu.chunks[..2] == first[..2];
        let wrong = plan.gpus.iter().position(|gpu| !fits(gpu.chunks) || !is_like(gpu))?;
        let [input, output, _] = plan.gpus[wrong].chunks;
        Some(format!("GPU {wrong} has {input} chunks of input and {output} of output, which is no {}", plan.collective))
    }

    /// The chunks of a rank's result that are not what the collective asks for; `None` where that is not known.
    pub(super) fn wrong_chunks(&mut self, rank: usize) -> Option<Vec<usize>> {
        let ranks = self.plan.gpus.len();
        let [input, output, _] = self.plan.gpus[rank].chunks.map(|chunks| chunks as usize * self.per_chunk);
        let all: Vec<u32> = (0..ranks as u32).collect();
        let mut wrong = Vec::new();
        for place in 0..output {
            let expected: Content = match self.plan.collective.as_str() {
                "allreduce" => (place as u32, all.clone()),
                "allgather" => (place as u32, vec![(place / input.max(1)) as u32]),
                "reducescatter" => ((rank * output + place) as u32, all.clone()),
                "alltoall" => {
                    let each = (output / ranks).max(1);
                    let from = place / each;
                    ((from * input + rank * each + place % each) as u32, vec![from as u32])
                }
                _ => return None,
            };
            let chunk = place / self.per_chunk;
            if self.at((rank, Buffer::Output, place)).content.as_ref() != Some(&expected)
                && wrong.last() != Some(&chunk)
            {
                wrong.push(chunk);
            }
        }
        Some(wrong)
    }
}

/// The sum of two contents; `None` for those of different elements.
pub(super) fn add(a: Content, b: &Content) -> Option<Content> {
    let (element, mut ranks) = a;
    ranks.extend(&b.1);
    ranks.compact_sort();
    (element == b.0).then_some((element, ranks))
}
