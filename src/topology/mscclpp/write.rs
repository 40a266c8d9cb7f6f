//! Writes a schedule as an execution plan: a thread block for each outgoing link of a rank, with operations in the
//! order of time.
//!
//! A plan has no times: what a thread block waits for are signals. Each reader of a link has a channel of its own,
//! since a wait uses up a signal; it counts the signals of the link up to the one that brings what it needs. A
//! reduction goes through scratch: a child puts its sum there, and the parent adds it to its own.

use super::{
    faults::Fault,
    json::{self, ChannelEnd, GpuProgram},
    plan::{Buffer, ChannelType, MOST_CHANNELS, MOST_OPERATIONS, MOST_SEMAPHORES},
    program::Program,
    verdict,
};
use crate::{
    collective::Collective,
    schedule::{graph::Graph, plan::Schedule},
    units::grouped,
};

/// Why a schedule can't be written as a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// MSCCL++ has no such collective, or it is not written here.
    #[error("no plan of MSCCL++ is written for this collective; for all_gather, reduce_scatter and all_reduce one is")]
    Collective,
    /// The schedule has more than `MOST_TRANSFERS` transfers.
    #[error(
        "{} transfers are more than a plan of MSCCL++ is written for (at most {}); take fewer chunks, or save CSV or JSON",
        grouped(*.0 as u64),
        grouped(MOST_TRANSFERS as u64)
    )]
    Transfers(usize),
    /// A thread block needs more operations than MSCCL++ allows, however its link is divided.
    #[error(
        "GPU {gpu} would need more than {MOST_OPERATIONS} operations in a thread block of the link to GPU {to}; take fewer \
         chunks"
    )]
    Operations {
        /// The sending GPU.
        gpu: u32,
        /// The receiving GPU.
        to: u32,
    },
    /// A thread block needs more channels than MSCCL++ has room for.
    #[error(
        "GPU {0} would need more than {MOST_CHANNELS} channels in a thread block; take fewer chunks, or a graph with fewer links"
    )]
    Channels(usize),
    /// A GPU needs more semaphores than MSCCL++ has room for.
    #[error(
        "GPU {0} would need more than {MOST_SEMAPHORES} semaphores; take fewer chunks, or a graph with fewer links"
    )]
    Semaphores(usize),
    /// The plan that was written is wrong.
    #[error("the plan would not run: {0}")]
    Faulty(Box<Fault>),
}

/// The most transfers of a plan: a link has 64 operations in a thread block, and a transfer takes three.
pub const MOST_TRANSFERS: usize = 50_000;
/// The most thread blocks into which the transfers of a link are dealt.
const MOST_PARTS: usize = 16;

/// What a plan is made of.
#[derive(Clone, Copy)]
pub struct PlanInput<'a> {
    /// The name of the plan.
    pub name: &'a str,
    /// The links.
    pub graph: &'a Graph,
    /// The schedule.
    pub schedule: &'a Schedule,
    /// What it computes.
    pub collective: Collective,
    /// The chunks of each GPU.
    pub chunks: usize,
    /// The GPUs of each node, where there are several: between nodes channels are ports.
    pub nodes: Option<&'a [Vec<u32>]>,
}

/// Transfers that go together, as one operation.
#[derive(Clone, Debug)]
struct Put {
    /// The first chunk, and the number of chunks.
    chunk: u32,
    size: u32,
    start: u64,
    end: u64,
    reduces: bool,
    /// The first place in the receiver's scratch, where it reduces.
    slot: u32,
}

/// The transfers of a thread block: those of a link, or a part of them.
#[derive(Clone, Debug)]
struct Lane {
    link: usize,
    from: usize,
    to: usize,
    puts: Vec<Put>,
}

/// A put, by its lane and its place there.
type PutAt = (usize, usize);

/// What a thread block does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Adds what others sent of a chunk that ends here.
    Reduce(u32),
    /// Sends, by the place in its lane.
    Put(usize),
}

/// Writes a schedule as a plan, and runs it here.
///
/// # Errors
/// Returns a [`WriteError`] if MSCCL++ can't express the schedule.
pub fn write(input: &PlanInput<'_>) -> Result<String, WriteError> {
    let PlanInput { graph, collective, .. } = *input;
    if ![Collective::AllGather, Collective::ReduceScatter, Collective::AllReduce].contains(&collective) {
        return Err(WriteError::Collective);
    }
    let mut parts = vec![1_usize; graph.links().len()];
    let mut merges = false;
    loop {
        let draft = Draft::new(input, &parts, merges)?;
        let programs = draft.programs();
        let long = |lane: &usize| programs[*lane].operations.len() > MOST_OPERATIONS;
        let mut over: Vec<usize> = (0..draft.lanes.len()).filter(long).map(|lane| draft.lanes[lane].link).collect();
        over.dedup();
        if over.is_empty() {
            let text = draft.text(input.name, &programs);
            return match verdict(&text).faults.into_iter().next() {
                None => Ok(text),
                Some(fault) => Err(WriteError::Faulty(Box::new(fault))),
            };
        }
        if !merges {
            merges = true;
            continue;
        }
        for link in over {
            // A part must have a put less than before, or nothing changes.
            let puts = draft.lanes.iter().filter(|lane| lane.link == link).map(|lane| lane.puts.len()).max();
            if parts[link] >= MOST_PARTS || puts.is_none_or(|puts| puts <= 1) {
                let of = graph.links()[link];
                return Err(WriteError::Operations { gpu: of.from, to: of.to });
            }
            parts[link] += 1;
        }
    }
}

/// Lanes with all that their thread blocks wait for.
struct Draft {
    ranks: usize,
    lanes: Vec<Lane>,
    /// What each thread block does, in order.
    steps: Vec<Vec<Step>>,
    /// What brings a chunk to a rank: the put of the copy, at [`Self::at`].
    brought: Vec<Option<PutAt>>,
    /// The puts that bring summands of a chunk to a rank, with their places in scratch.
    summands: Vec<Vec<(PutAt, u32)>>,
    /// The lane whose thread block adds up a chunk that ends on a rank.
    adder: Vec<Option<usize>>,
    /// The lanes whose thread blocks wait for the puts of a lane, in the order of lanes.
    readers: Vec<Vec<usize>>,
    /// Semaphores of each rank: from the thread block of one lane to that of another.
    semaphores: Vec<Vec<(usize, usize)>>,
    /// The chunks of scratch of each rank.
    scratch: Vec<u32>,
    /// The chunks of each GPU: the first ones are those of the first GPU.
    per_rank: u32,
    /// The node of each GPU.
    nodes: Vec<usize>,
    collective: Collective,
}

impl Draft {
    fn new(input: &PlanInput<'_>, parts: &[usize], merges: bool) -> Result<Self, WriteError> {
        let PlanInput { graph, schedule, collective, chunks, nodes, .. } = *input;
        let ranks = graph.nodes();
        let places = ranks * ranks * chunks.max(1);
        let mut draft = Self {
            ranks,
            lanes: Vec::new(),
            steps: Vec::new(),
            brought: vec![None; places],
            summands: vec![Vec::new(); places],
            adder: vec![None; places],
            readers: Vec::new(),
            semaphores: vec![Vec::new(); ranks],
            scratch: vec![0; ranks],
            per_rank: chunks.max(1) as u32,
            nodes: vec![0; ranks],
            collective,
        };
        for (node, ranks) in nodes.unwrap_or_default().iter().enumerate() {
            ranks.iter().for_each(|rank| draft.nodes[*rank as usize] = node);
        }
        draft.make_lanes(schedule, graph, parts, merges);
        for lane in 0..draft.lanes.len() {
            let to = draft.lanes[lane].to;
            for place in 0..draft.lanes[lane].puts.len() {
                let Put { chunk, size, reduces, slot, .. } = draft.lanes[lane].puts[place];
                for turn in 0..size {
                    let at = draft.at(to, chunk + turn);
                    if reduces {
                        draft.summands[at].push(((lane, place), slot + turn));
                    } else {
                        draft.brought[at] = Some((lane, place));
                    }
                }
            }
        }
        draft.make_steps();
        draft.find_readers()?;
        Ok(draft)
    }

    /// The index of a chunk on a rank.
    fn at(&self, rank: usize, chunk: u32) -> usize {
        rank * self.ranks * self.per_rank as usize + chunk as usize
    }

    fn make_lanes(&mut self, schedule: &Schedule, graph: &Graph, parts: &[usize], merges: bool) {
        let mut of_link: Vec<Vec<Put>> = vec![Vec::new(); graph.links().len()];
        let mut order: Vec<usize> = (0..schedule.transfers.len()).collect();
        order.sort_by_cached_key(|at| schedule.transfers[*at].start);
        for at in order {
            let transfer = schedule.transfers[at];
            let (start, end, reduces) = (transfer.start, transfer.end(graph), at < schedule.reducing);
            let put = Put { chunk: transfer.chunk, size: 1, start, end, reduces, slot: 0 };
            of_link[transfer.link as usize].push(put);
        }
        // What brings a chunk to a rank, to tell whether neighbours came together.
        let mut came = [false, true].map(|_| vec![None; self.brought.len()]);
        for (link, puts) in of_link.iter().enumerate() {
            let to = graph.links()[link].to as usize;
            for (place, put) in puts.iter().enumerate() {
                came[usize::from(put.reduces)][self.at(to, put.chunk)] = Some((link, place));
            }
        }
        for (link, puts) in of_link.into_iter().enumerate() {
            let (from, to) = (graph.links()[link].from, graph.links()[link].to);
            let mut all: Vec<Put> = Vec::new();
            for put in puts {
                let is_next = |last: &Put| {
                    let of = |chunk: u32, reduces: bool| came[usize::from(reduces)][self.at(from as usize, chunk)];
                    let is_alike = |reduces: bool| match (of(put.chunk - 1, reduces), of(put.chunk, reduces)) {
                        (None, None) => true,
                        // Sums are made chunk by chunk.
                        (Some((a, place)), Some((b, next))) => !reduces && !put.reduces && a == b && place + 1 == next,
                        _ => false,
                    };
                    last.chunk + last.size == put.chunk
                        && last.reduces == put.reduces
                        && is_alike(true)
                        && (put.reduces || is_alike(false))
                };
                match all.last_mut().filter(|last| merges && is_next(last)) {
                    Some(last) => (last.size, last.end) = (last.size + 1, last.end.max(put.end)),
                    None => all.push(put),
                }
            }
            let scratch = &mut self.scratch[to as usize];
            for put in all.iter_mut().filter(|put| put.reduces) {
                put.slot = *scratch;
                *scratch += put.size;
            }
            let each = all.len().div_ceil(parts[link].max(1)).max(1);
            let (from, to) = (from as usize, to as usize);
            self.lanes.extend(all.chunks(each).map(|puts| Lane { link, from, to, puts: puts.to_vec() }));
        }
        // Somebody has to wait for what comes to a rank that sends nothing.
        for rank in 0..self.ranks {
            if !self.lanes.iter().any(|lane| lane.from == rank) {
                self.lanes.push(Lane { link: usize::MAX, from: rank, to: rank, puts: Vec::new() });
            }
        }
    }

    fn make_steps(&mut self) {
        // By twice the time: a sum comes before the put of the same time that sends it on.
        let mut steps: Vec<Vec<(u64, Step)>> = Vec::new();
        let mut first_sender: Vec<Option<(u64, usize)>> = vec![None; self.brought.len()];
        for (number, lane) in self.lanes.iter().enumerate() {
            let mut of_lane = Vec::new();
            for (place, put) in lane.puts.iter().enumerate() {
                of_lane.push((put.start.saturating_mul(2).saturating_add(1), Step::Put(place)));
                for chunk in (put.chunk..put.chunk + put.size).filter(|_| !put.reduces) {
                    let first = &mut first_sender[self.at(lane.from, chunk)];
                    if first.is_none_or(|(start, _)| put.start < start) {
                        *first = Some((put.start, number));
                    }
                }
            }
            steps.push(of_lane);
        }
        for rank in 0..self.ranks {
            let of_rank: Vec<usize> = (0..self.lanes.len()).filter(|lane| self.lanes[*lane].from == rank).collect();
            // The chunks that end on the rank. Those that nobody sends on are dealt to its thread blocks.
            for turn in 0..self.per_rank as usize {
                let chunk = (rank * self.per_rank as usize + turn) as u32;
                let at = self.at(rank, chunk);
                let ends = self.summands[at].iter().map(|((lane, place), _)| self.lanes[*lane].puts[*place].end);
                let Some(end) = ends.max() else { continue };
                let dealt = of_rank[turn * of_rank.len() / self.per_rank as usize];
                let adder = first_sender[at].map_or(dealt, |(_, lane)| lane);
                steps[adder].push((end.saturating_mul(2), Step::Reduce(chunk)));
                self.adder[at] = Some(adder);
            }
        }
        steps.iter_mut().for_each(|steps| steps.sort_by_cached_key(|(time, _)| *time));
        self.steps = steps.into_iter().map(|steps| steps.into_iter().map(|(_, step)| step).collect()).collect();
    }

    /// The puts that must have come before a step, and the chunks that another thread block must have added up.
    fn needs(&self, lane: usize, step: Step) -> (Vec<PutAt>, Vec<u32>) {
        let rank = self.lanes[lane].from;
        let of_sum = |chunk: u32| self.summands[self.at(rank, chunk)].iter().map(|(put, _)| *put);
        match step {
            Step::Reduce(chunk) => (of_sum(chunk).collect(), Vec::new()),
            Step::Put(place) => {
                let put = &self.lanes[lane].puts[place];
                let chunks = put.chunk..put.chunk + put.size;
                if put.reduces {
                    return (chunks.flat_map(of_sum).collect(), Vec::new());
                }
                let came = chunks.clone().filter_map(|chunk| self.brought[self.at(rank, chunk)]);
                let is_elsewhere = |chunk: &u32| self.adder[self.at(rank, *chunk)].is_some_and(|adder| adder != lane);
                (came.collect(), chunks.filter(is_elsewhere).collect())
            }
        }
    }

    fn find_readers(&mut self) -> Result<(), WriteError> {
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); self.lanes.len()];
        for lane in 0..self.lanes.len() {
            for step in &self.steps[lane] {
                let (puts, sums) = self.needs(lane, *step);
                for (from, _) in puts {
                    // Lanes are passed in their order.
                    if readers[from].last() != Some(&lane) {
                        readers[from].push(lane);
                    }
                }
                let rank = self.lanes[lane].from;
                for chunk in sums {
                    let Some(adder) = self.adder[self.at(rank, chunk)] else { continue };
                    let pair = (adder, lane);
                    if !self.semaphores[rank].contains(&pair) {
                        self.semaphores[rank].push(pair);
                    }
                }
            }
        }
        if let Some(rank) = self.semaphores.iter().position(|all| all.len() > MOST_SEMAPHORES) {
            return Err(WriteError::Semaphores(rank));
        }
        let mut channels = vec![0_usize; self.lanes.len()];
        for (lane, of) in readers.iter().enumerate() {
            channels[lane] += of.len();
            of.iter().for_each(|reader| channels[*reader] += 1);
        }
        // What nobody sends on is read by the first thread block of the rank that has room.
        for lane in 0..self.lanes.len() {
            if readers[lane].is_empty() && !self.lanes[lane].puts.is_empty() {
                let of_rank = (0..self.lanes.len()).filter(|other| self.lanes[*other].from == self.lanes[lane].to);
                let has_room = |other: &usize| channels[*other] < MOST_CHANNELS - 1;
                let Some(reader) = of_rank.into_iter().find(has_room) else {
                    return Err(WriteError::Channels(self.lanes[lane].to));
                };
                readers[lane].push(reader);
                channels[lane] += 1;
                channels[reader] += 1;
            }
        }
        if let Some(lane) = channels.iter().position(|count| *count > MOST_CHANNELS) {
            return Err(WriteError::Channels(self.lanes[lane].from));
        }
        self.readers = readers;
        Ok(())
    }

    /// How the ends of a lane are connected.
    fn kind(&self, lane: usize) -> ChannelType {
        let Lane { from, to, .. } = self.lanes[lane];
        if self.nodes[from] == self.nodes[to] { ChannelType::Memory } else { ChannelType::Port }
    }

    fn programs(&self) -> Vec<Program> {
        (0..self.lanes.len()).map(|lane| self.program(lane)).collect()
    }

    /// The operations of a thread block.
    fn program(&self, lane: usize) -> Program {
        let own = &self.lanes[lane];
        let mut program = Program::default();
        let of = |from: usize| self.kind(from);
        let incoming: Vec<usize> = (0..self.lanes.len()).filter(|from| self.readers[*from].contains(&lane)).collect();
        for from in &incoming {
            program.channels[of(*from) as usize].push((*from, lane));
        }
        let outgoing: Vec<(usize, usize)> = self.readers[lane].iter().map(|reader| (lane, *reader)).collect();
        program.channels[of(lane) as usize].extend(&outgoing);
        let ready: Vec<(usize, usize)> = incoming.iter().map(|from| (*from, lane)).collect();
        // Ports have no relaxed signals.
        program.on_channels(["rlxsignal", "signal"], &ready, &of);
        program.on_channels(["rlxwait", "wait"], &outgoing, &of);
        program.nop();
        let mut waited = vec![0_usize; self.lanes.len()];
        let mut acquired = vec![0_usize; self.semaphores[own.from].len()];
        for step in &self.steps[lane] {
            let (puts, sums) = self.needs(lane, *step);
            let mut until = vec![0_usize; self.lanes.len()];
            puts.into_iter().for_each(|(from, place)| until[from] = until[from].max(place + 1));
            let mut has_waited = program.wait(&until, &mut waited, lane, &of);
            for chunk in sums {
                let Some(adder) = self.adder[self.at(own.from, chunk)] else { continue };
                // The sums of the other thread block that this one is told of, up to this one.
                let told = self.told(adder, lane);
                let place = told.iter().position(|known| *known == chunk).unwrap_or_default();
                let id = self.semaphores[own.from].iter().position(|pair| *pair == (adder, lane)).unwrap_or_default();
                while acquired[id] <= place {
                    program.on_semaphores("sem_acquire", &[id]);
                    acquired[id] += 1;
                    has_waited = true;
                }
            }
            if has_waited {
                program.nop();
            }
            match *step {
                Step::Reduce(chunk) => {
                    self.reduce(&mut program, own.from, chunk);
                    if self.collective != Collective::ReduceScatter {
                        program.nop();
                    }
                    let told = |pair: &&(usize, usize)| pair.0 == lane && self.told(lane, pair.1).contains(&chunk);
                    let ids = self.semaphores[own.from].iter().enumerate().filter(|(_, pair)| told(pair));
                    let ids: Vec<usize> = ids.map(|(id, _)| id).collect();
                    program.on_semaphores("sem_release", &ids);
                }
                Step::Put(place) => {
                    let put = &own.puts[place];
                    if put.reduces {
                        let has_sum = |chunk: &u32| !self.summands[self.at(own.from, *chunk)].is_empty();
                        let chunks: Vec<u32> = (put.chunk..put.chunk + put.size).filter(has_sum).collect();
                        chunks.iter().for_each(|chunk| self.reduce(&mut program, own.from, *chunk));
                        if !chunks.is_empty() {
                            program.nop();
                        }
                    }
                    self.put(&mut program, own, put, of(lane));
                    if of(lane) == ChannelType::Port && outgoing.len() > 1 {
                        // Each port keeps an order of its own: the signals of the others could come before the data.
                        program.flush(self.channel(&program, own, of(lane)));
                    }
                    program.nop();
                    program.on_channels(["signal", "signal"], &outgoing, &of);
                }
            }
        }
        let mut all = vec![0; self.lanes.len()];
        incoming.iter().for_each(|from| all[*from] = self.lanes[*from].puts.len());
        if program.wait(&all, &mut waited, lane, &of) {
            program.nop();
        }
        if of(lane) == ChannelType::Port && outgoing.len() == 1 && !own.puts.is_empty() {
            // Nothing that was sent is read any more when the launch has ended.
            program.flush(self.channel(&program, own, ChannelType::Port));
        }
        program
    }

    /// The chunks that a thread block adds up and another one of its rank sends on, in the order of the first.
    fn told(&self, adder: usize, lane: usize) -> Vec<u32> {
        let sends = |chunk: u32| {
            let is_sent = |put: &Put| !put.reduces && (put.chunk..put.chunk + put.size).contains(&chunk);
            self.lanes[lane].puts.iter().any(is_sent)
        };
        let sum = |step: &Step| match step {
            Step::Reduce(chunk) if sends(*chunk) => Some(*chunk),
            _ => None,
        };
        self.steps[adder].iter().filter_map(sum).collect()
    }

    /// The buffer in which chunks are: of the whole data, in place.
    fn data(&self) -> Buffer {
        if self.collective == Collective::AllGather { Buffer::Output } else { Buffer::Input }
    }

    fn reduce(&self, program: &mut Program, rank: usize, chunk: u32) {
        let slots: Vec<u32> = self.summands[self.at(rank, chunk)].iter().map(|(_, slot)| *slot).collect();
        program.reduce(self.data(), chunk, &slots);
    }

    fn put(&self, program: &mut Program, lane: &Lane, put: &Put, kind: ChannelType) {
        let to = if put.reduces { (lane.to, Buffer::Scratch, put.slot) } else { (lane.to, self.data(), put.chunk) };
        let channel = self.channel(program, lane, kind);
        program.put((self.data(), put.chunk, put.size), to, kind, channel);
    }

    /// The channel over which a thread block puts.
    fn channel(&self, program: &Program, lane: &Lane, kind: ChannelType) -> usize {
        let channels = &program.channels[kind as usize];
        channels.iter().position(|(from, _)| self.lanes[*from].link == lane.link).unwrap_or_default()
    }

    /// The plan as JSON.
    fn text(&self, name: &str, programs: &[Program]) -> String {
        let (own, all) = (self.per_rank, self.per_rank * self.ranks as u32);
        let (word, [input, output]) = match self.collective {
            Collective::AllGather => ("allgather", [own, all]),
            Collective::ReduceScatter => ("reducescatter", [all, own]),
            _ => ("allreduce", [all, all]),
        };
        // The channels of each rank, in an order that both ends share, and then by peer.
        let mut ends: Vec<[Vec<ChannelEnd>; 2]> = vec![Default::default(); self.ranks];
        for (lane, readers) in self.readers.iter().enumerate() {
            let Lane { from, to, .. } = self.lanes[lane];
            for reader in readers {
                ends[from][self.kind(lane) as usize].push((to, (lane, *reader)));
                ends[to][self.kind(lane) as usize].push((from, (lane, *reader)));
            }
        }
        ends.iter_mut().flatten().for_each(|ends| ends.sort_by_cached_key(|(peer, _)| *peer as u64));
        let gpu = |(rank, ends): (usize, [Vec<ChannelEnd>; 2])| GpuProgram {
            chunks: [input, output, self.scratch[rank]],
            ends,
            semaphores: self.semaphores[rank].len(),
            blocks: programs.iter().zip(&self.lanes).filter(|(_, lane)| lane.from == rank).map(|(of, _)| of).collect(),
        };
        let gpus: Vec<GpuProgram<'_>> = ends.into_iter().enumerate().map(gpu).collect();
        json::plan(name, word, &gpus)
    }
}
