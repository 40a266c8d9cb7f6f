//! Runs a plan once, and says whether it is right in every order of execution: clocks ([`super::order`]) tell what
//! another order could change.

use std::{collections::VecDeque, rc::Rc};

use super::{
    faults::{Fault, FaultKind},
    memory::{Access, Content, FirstWrite, KNOWN, Memory, Packet, add},
    order::{Known, MOST_COUNTED, Order},
    plan::{Buffer, Kind, MOST_FAULTS, MOST_SEMAPHORES, Operation, Plan, Span},
    ports::Ports,
};
use crate::{
    math::Stream,
    text::excerpt,
    units::{count, first_of},
};

/// More thread blocks times operations are not run: each operation may keep two bytes for each thread block.
const MOST_WORK: usize = 1 << 27;
/// More cells of buffers are not run.
const MOST_CELLS: usize = 1 << 22;

/// What a run shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// What is wrong.
    pub faults: Vec<Fault>,
    /// What has to be known, a sentence each.
    pub notes: Vec<String>,
}

/// What is known where a signal comes from, and whether it is relaxed.
type Message = (Rc<Known>, bool);

struct Machine<'a> {
    plan: &'a Plan,
    memory: Memory<'a>,
    /// Rank and number of each thread block, of all ranks one after the other.
    places: Vec<(usize, usize)>,
    /// What each thread block knows, and after them what the proxy of each port knows.
    known: Vec<Known>,
    ports: Ports,
    /// The proxy that carries out the running operation.
    acting: Option<usize>,
    next: Vec<usize>,
    /// Barriers of each thread block so far.
    barriers: Vec<u32>,
    /// Since the last barrier of each thread block: how many threads waited, whether data was accessed, and what was
    /// put over ports, by the end of the channel and the thread.
    waited: Vec<usize>,
    has_accessed: Vec<bool>,
    posted: Vec<Vec<(usize, usize)>>,
    /// How many operations of the running thread block itself the packets of the current cell answer: those are done
    /// there without a barrier.
    answered: usize,
    /// Signals that were not waited for yet, at each end of the channels of each rank.
    signals: Vec<Vec<VecDeque<Message>>>,
    /// Releases of each semaphore of each rank that were not acquired; `None` for what it begins with.
    releases: Vec<Vec<VecDeque<Option<Rc<Known>>>>>,
    /// The thread blocks that stand at each barrier, those of a rank after those of the ranks before.
    meeting: Vec<Vec<usize>>,
    /// Of each thread block, and of each proxy, the ranks whose user buffers it accesses (of a thread block all but its
    /// own), each with the last operation that does.
    abroad: Vec<Vec<(usize, usize)>>,
    found: Found,
}

/// Faults and notes, each kind once at a place.
#[derive(Default)]
struct Found {
    run: Run,
    said: Vec<(FaultKind, usize, usize, usize)>,
    /// The ranks whose buffers others access in an order that only relaxed signals give, each with the first of those.
    relaxed: Vec<(usize, usize)>,
    /// A `flush` waits for fewer channels than it names.
    has_vain_flush: bool,
}

/// Runs a plan.
pub fn run(plan: &Plan) -> Run {
    run_in_turns(plan, None)
}

/// Runs a plan; with a seed thread blocks take turns, an operation each, in an order that is drawn from it.
pub fn run_in_turns(plan: &Plan, seed: Option<u64>) -> Run {
    if let Some(why) = Memory::misfit(plan) {
        return Run { faults: vec![Fault::of_plan(FaultKind::Load, why)], notes: Vec::new() };
    }
    let (thread_blocks, operations) =
        (plan.gpus.iter().map(|gpu| gpu.blocks.len()).sum::<usize>(), plan.operations().count());
    let clocks = thread_blocks + plan.gpus.iter().map(|gpu| gpu.ends.len() - gpu.memory_ends).sum::<usize>();
    let chunks: usize = plan.gpus.iter().flat_map(|gpu| gpu.chunks).map(|chunks| chunks as usize).sum();
    if clocks.saturating_mul(operations.max(clocks)) > MOST_WORK || chunks.saturating_mul(12) > MOST_CELLS {
        let why = format!(
            "{thread_blocks} thread blocks with {operations} operations on {chunks} chunks are more than are run here"
        );
        return Run { faults: vec![Fault::of_plan(FaultKind::Unchecked, why)], notes: Vec::new() };
    }
    if let Some(why) = unknown_of_ports(plan) {
        return Run { faults: vec![Fault::of_plan(FaultKind::Unchecked, why)], notes: Vec::new() };
    }
    let mut machine = Machine::new(plan);
    if machine.finish(seed.map(Stream::new)) {
        let ends: Vec<Known> = (0..plan.gpus.len()).map(|rank| machine.at_end(rank)).collect();
        machine.check_ends(&ends);
        machine.check_next_launch(&ends);
        machine.check_counters();
        machine.check_results();
    }
    let mut run = machine.found.finish();
    if let Some(reduction) = &plan.other_reduction {
        run.notes.push(format!("reduce_op \"{}\" has no effect: MSCCL++ always adds.", excerpt(reduction)));
    }
    run
}

/// What a plan does with ports that is not run here; `None` for most.
fn unknown_of_ports(plan: &Plan) -> Option<String> {
    let is_packets = |operation: &&Operation| operation.is_over_port && matches!(operation.kind, Kind::Packets { .. });
    if let Some(operation) = plan.operations().find(is_packets) {
        return Some(format!("{} over ports is not run here", operation.word));
    }
    for (rank, gpu) in plan.gpus.iter().enumerate() {
        let mut puts = vec![0; gpu.ends.len()];
        for operation in gpu.blocks.iter().flat_map(|block| &block.operations) {
            if operation.is_over_port && matches!(operation.kind, Kind::Copy { .. }) {
                operation.channels.iter().for_each(|end| puts[*end] += 1);
            }
        }
        if puts.iter().any(|count| *count > MOST_COUNTED) {
            return Some(format!("more than {MOST_COUNTED} puts over a port of GPU {rank} are not run here"));
        }
    }
    None
}

impl Found {
    fn fault(&mut self, kind: FaultKind, at: (usize, usize, u32), other: usize, what: String) {
        let (gpu, block, operation) = at;
        // A place of its own for each kind: ranks for what happens between ranks, thread blocks within a rank.
        let place = match kind {
            FaultKind::Early | FaultKind::Late => (kind, gpu, other, 0),
            FaultKind::Data => (kind, gpu, block, operation as usize),
            _ => (kind, gpu, block, other),
        };
        if self.run.faults.len() < MOST_FAULTS && !self.said.contains(&place) {
            self.said.push(place);
            let (gpu, block) = (Some(gpu as u32), Some(block as u32));
            self.run.faults.push(Fault { kind, gpu, block, operation: Some(operation), what });
        }
    }

    fn relaxed(&mut self, owner: usize, by: usize) {
        if !self.relaxed.iter().any(|(known, _)| *known == owner) {
            self.relaxed.push((owner, by));
        }
    }

    fn finish(mut self) -> Run {
        if !self.relaxed.is_empty() {
            let of = first_of(4, &self.relaxed, |(from, to)| format!("of GPU {from} by GPU {to}"));
            self.run.notes.push(format!(
                "Accesses to buffers {of} are ordered by relaxed signals alone, which MSCCL++ does not promise to order data."
            ));
        }
        if self.has_vain_flush {
            let note = "A flush waits for as many channels as it has destinations in dst_buff, and one has fewer.";
            self.run.notes.push(note.to_owned());
        }
        self.run
    }
}

impl<'a> Machine<'a> {
    fn new(plan: &'a Plan) -> Self {
        let ranks = plan.gpus.len();
        let places: Vec<(usize, usize)> =
            (0..ranks).flat_map(|rank| (0..plan.gpus[rank].blocks.len()).map(move |block| (rank, block))).collect();
        let (blocks, ports) = (places.len(), Ports::new(plan, places.len()));
        let count = blocks + ports.ranks.len();
        let of = places.iter().map(|(rank, _)| *rank).chain(ports.ranks.iter().copied());
        let begin = |begin: &u32| (0..(*begin).min(1 << 10)).map(|_| None).collect();
        Self {
            plan,
            memory: Memory::new(plan),
            known: of.map(|rank| Known::at_start(count, ranks, rank)).collect(),
            places,
            ports,
            acting: None,
            next: vec![0; blocks],
            barriers: vec![0; blocks],
            waited: vec![0; blocks],
            has_accessed: vec![false; blocks],
            posted: vec![Vec::new(); blocks],
            answered: 0,
            signals: plan.gpus.iter().map(|gpu| vec![VecDeque::new(); gpu.ends.len()]).collect(),
            releases: plan.gpus.iter().map(|gpu| gpu.semaphores.iter().map(begin).collect()).collect(),
            meeting: vec![Vec::new(); ranks * MOST_SEMAPHORES],
            abroad: vec![Vec::new(); count],
            found: Found::default(),
        }
    }

    fn operations(&self, block: usize) -> &'a [Operation] {
        let (rank, number) = self.places[block];
        &self.plan.gpus[rank].blocks[number].operations
    }

    /// Runs all thread blocks to their ends; `false` where some can't go on.
    fn finish(&mut self, mut turns: Option<Stream>) -> bool {
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        loop {
            let mut is_moving = false;
            if let Some(turns) = &mut turns {
                turns.shuffle(&mut order);
            }
            for block in &order {
                while self.advance(*block) {
                    is_moving = true;
                    if turns.is_some() {
                        break;
                    }
                }
            }
            if is_moving {
                continue;
            }
            let mut is_done = true;
            for block in 0..self.places.len() {
                if let Some(operation) = self.operations(block).get(self.next[block]) {
                    is_done = false;
                    let what = format!("{} never ends", operation.word);
                    self.fault(FaultKind::Deadlock, block, operation, 0, what);
                }
            }
            return is_done;
        }
    }

    fn fault(&mut self, kind: FaultKind, block: usize, operation: &Operation, other: usize, what: String) {
        // What is read and added is only known to be wrong where it is known what is computed.
        if kind == FaultKind::Data && !KNOWN.contains(&self.plan.collective.as_str()) {
            return;
        }
        let (rank, number) = self.places[block];
        self.found.fault(kind, (rank, number, operation.number), other, what);
    }

    /// Runs the next operation of a thread block; `false` if it has to wait, or has none.
    fn advance(&mut self, block: usize) -> bool {
        let operations = self.operations(block);
        let Some(operation) = operations.get(self.next[block]) else { return false };
        let rank = self.places[block].0;
        match operation.kind {
            Kind::Nop => self.passed_barrier(block),
            Kind::Flush => self.flush(block, operation),
            Kind::Barrier => return self.meet(block, operation),
            Kind::Signal => self.signal(block, operation, false),
            Kind::RelaxedSignal => self.signal(block, operation, true),
            Kind::Wait | Kind::RelaxedWait => {
                // As many signals as the operation names a channel.
                let needs = |end: &usize| operation.channels.iter().filter(|other| *other == end).count();
                if operation.channels.iter().any(|end| self.signals[rank][*end].len() < needs(end)) {
                    return false;
                }
                for end in &operation.channels {
                    if let Some((known, is_relaxed)) = self.signals[rank][*end].pop_front() {
                        self.known[block].learn(&known, is_relaxed || operation.kind == Kind::RelaxedWait);
                    }
                }
                self.waited[block] = self.waited[block].max(operation.channels.len());
            }
            Kind::SemaphoreAcquire => {
                if operation.semaphores.iter().any(|semaphore| self.releases[rank][*semaphore].is_empty()) {
                    return false;
                }
                for semaphore in &operation.semaphores {
                    if let Some(Some(known)) = self.releases[rank][*semaphore].pop_front() {
                        self.known[block].learn(&known, false);
                    }
                }
                self.waited[block] = self.waited[block].max(operation.semaphores.len());
            }
            Kind::SemaphoreRelease => {
                self.check_accesses_end(block, operation);
                let known = Rc::new(self.known[block].clone());
                for semaphore in &operation.semaphores {
                    self.releases[rank][*semaphore].push_back(Some(Rc::clone(&known)));
                }
            }
            Kind::Copy { .. } | Kind::Reduce | Kind::SwitchReduce | Kind::SwitchStore | Kind::Packets { .. } => {
                if !self.has_packets(operation) {
                    return false;
                }
                self.data(block, operation);
            }
        }
        self.next[block] += 1;
        self.known[block].done(block, self.next[block]);
        if operation.kind == (Kind::Copy { signals: true, is_get: false }) {
            self.signal_now(block, operation, false);
        }
        true
    }

    /// Waits until what was put over ports has ended. The kernel counts destinations there, not channels.
    fn flush(&mut self, block: usize, operation: &Operation) {
        let rank = self.places[block].0;
        let flushed = operation.channels.len().min(operation.destinations.len());
        for end in &operation.channels[..flushed] {
            if let Some(proxy) = self.ports.of(rank, *end) {
                let known = self.known[proxy].clone();
                self.known[block].learn(&known, false);
            }
        }
        self.waited[block] = self.waited[block].max(flushed);
        self.found.has_vain_flush |= flushed < operation.channels.len();
    }

    fn passed_barrier(&mut self, block: usize) {
        self.barriers[block] += 1;
        (self.waited[block], self.has_accessed[block]) = (0, false);
        self.posted[block].clear();
    }

    /// Stands at a barrier; the last one that comes lets all go on.
    fn meet(&mut self, block: usize, operation: &Operation) -> bool {
        let (id, of) = operation.barrier;
        let standing = &mut self.meeting[self.places[block].0 * MOST_SEMAPHORES + id];
        if !standing.contains(&block) {
            standing.push(block);
        }
        if standing.len() < of {
            return false;
        }
        let all = std::mem::take(standing);
        let mut known = self.known[all[0]].clone();
        for other in &all[1..] {
            known.learn(&self.known[*other], false);
        }
        for other in all {
            self.known[other].learn(&known, false);
            self.passed_barrier(other);
            self.next[other] += 1;
            self.known[other].done(other, self.next[other]);
        }
        true
    }

    fn check_accesses_end(&mut self, block: usize, operation: &Operation) {
        if self.has_accessed[block] {
            let what = format!("{} with no nop after data was accessed: other threads may not be done", operation.word);
            self.fault(FaultKind::NoSync, block, operation, 0, what);
        }
    }

    fn signal(&mut self, block: usize, operation: &Operation, is_relaxed: bool) {
        if !is_relaxed {
            self.check_accesses_end(block, operation);
            if self.waited[block] > usize::from(operation.channels.len() == 1) {
                let what = format!("{} with no nop after a wait: other threads may not have waited", operation.word);
                self.fault(FaultKind::NoSync, block, operation, 0, what);
            }
        }
        self.signal_now(block, operation, is_relaxed);
    }

    fn signal_now(&mut self, block: usize, operation: &Operation, is_relaxed: bool) {
        let rank = self.places[block].0;
        let own = Rc::new(self.known[block].clone());
        for (thread, number) in operation.channels.iter().enumerate() {
            let end = self.plan.gpus[rank].ends[*number];
            let known = match self.ports.of(rank, *number) {
                None => Rc::clone(&own),
                Some(proxy) => {
                    if self.posted[block].iter().any(|(of, by)| of == number && *by != thread) {
                        let what = format!("{} with no nop after another thread put over its port", operation.word);
                        self.fault(FaultKind::NoSync, block, operation, 0, what);
                    }
                    // The proxy sends it after what was put before.
                    self.known[proxy].learn(&own, false);
                    Rc::new(self.known[proxy].clone())
                }
            };
            self.signals[end.peer as usize][end.other].push_back((known, is_relaxed));
        }
    }

    /// Whether all packets that an operation reads are there.
    fn has_packets(&mut self, operation: &Operation) -> bool {
        let Kind::Packets { first_packet, .. } = operation.kind else { return true };
        for span in operation.sources.iter().skip(first_packet) {
            let (first, length) = self.memory.range(span, operation);
            for rank in &span.ranks {
                let mut cells = first..first + length;
                if !cells.all(|place| self.memory.at((*rank as usize, span.buffer, place)).packet.is_some()) {
                    return false;
                }
            }
        }
        true
    }

    /// Moves data, and checks each access.
    fn data(&mut self, block: usize, operation: &Operation) {
        let is_put_over_port = operation.is_over_port && matches!(operation.kind, Kind::Copy { .. });
        // One thread puts to each destination over a port.
        let is_by_one = is_put_over_port && operation.destinations.len() <= 1;
        if self.waited[block] > usize::from(is_by_one) {
            let what = format!("{} with no nop after a wait: other threads may not have waited", operation.word);
            self.fault(FaultKind::NoSync, block, operation, 0, what);
        }
        if is_put_over_port {
            return self.post(block, operation);
        }
        self.has_accessed[block] = true;
        let (sources, destinations) = (&operation.sources, &operation.destinations);
        let length = self.memory.range(&sources[0], operation).1;
        if let Kind::Copy { is_get: true, .. } = operation.kind
            && let Some((from, to)) = sources.iter().zip(destinations).find(|(from, to)| from.index != to.index)
        {
            let what = format!(
                "get from chunk {} to chunk {}: MSCCL++ adds the first to the local address and the second to the remote one",
                from.index, to.index
            );
            self.fault(FaultKind::Get, block, operation, 0, what);
        }
        for at in 0..length {
            self.answered = 0;
            match operation.kind {
                Kind::Copy { .. } => {
                    for turn in 0..sources.len().max(destinations.len()) {
                        let content = self.load(block, operation, &sources[turn.min(sources.len() - 1)], at);
                        self.store(block, operation, &destinations[turn.min(destinations.len() - 1)], at, &content);
                    }
                }
                Kind::Packets { first_packet, first_sent } => {
                    let mut sum = None;
                    for (turn, span) in sources.iter().enumerate() {
                        let next = match turn >= first_packet {
                            true => self.take_packet(block, operation, span, at),
                            false => self.load(block, operation, span, at),
                        };
                        sum = self.sum(block, operation, sum, next);
                    }
                    let sum = sum.flatten();
                    for (turn, span) in destinations.iter().enumerate() {
                        match turn >= first_sent {
                            true => self.send_packet(block, operation, span, at, &sum),
                            false => self.store(block, operation, span, at, &sum),
                        }
                    }
                }
                _ => {
                    let mut sum = None;
                    for span in sources {
                        for rank in 0..span.ranks.len() {
                            let one = Span { ranks: vec![span.ranks[rank]], ..span.clone() };
                            let next = self.load(block, operation, &one, at);
                            sum = self.sum(block, operation, sum, next);
                        }
                    }
                    let sum = sum.flatten();
                    for span in destinations {
                        self.store(block, operation, span, at, &sum);
                    }
                }
            }
        }
    }

    /// Puts over ports: proxies carry it out.
    fn post(&mut self, block: usize, operation: &Operation) {
        let rank = self.places[block].0;
        let own = self.known[block].clone();
        for (thread, destination) in operation.destinations.iter().enumerate() {
            let (source, end) = (&operation.sources[thread], operation.channels[thread]);
            let Some(proxy) = self.ports.of(rank, end) else { continue };
            self.known[proxy].learn(&own, false);
            self.acting = Some(proxy);
            self.ports.push(proxy, (block, self.next[block]));
            for at in 0..self.memory.range(source, operation).1 {
                let content = self.load(block, operation, source, at);
                self.store(block, operation, destination, at, &content);
            }
            self.acting = None;
            self.known[proxy].done(proxy, self.ports.count(proxy));
            self.posted[block].push((end, thread));
        }
    }

    /// Adds to a sum, the outer `None` before its first summand; the inner one is of what can't be added.
    fn sum(
        &mut self,
        block: usize,
        operation: &Operation,
        sum: Option<Option<Content>>,
        next: Option<Content>,
    ) -> Option<Option<Content>> {
        let Some(sum) = sum else { return Some(next) };
        let (Some(sum), Some(next)) = (sum, next) else { return Some(None) };
        let added = add(sum, &next);
        if added.is_none() {
            let what = format!("{} adds different elements of the collective", operation.word);
            self.fault(FaultKind::Data, block, operation, 0, what);
        }
        Some(added)
    }

    fn load(&mut self, block: usize, operation: &Operation, span: &Span, at: usize) -> Option<Content> {
        let rank = span.ranks[0] as usize;
        let place = self.memory.range(span, operation).0 + at;
        self.access(block, operation, span, (rank, place), false);
        let content = self.memory.at((rank, span.buffer, place)).content.clone();
        if content.is_none() {
            let chunk = place / self.memory.per_chunk;
            let what = format!(
                "{} reads chunk {chunk} of {} on GPU {rank}, and nothing is there",
                operation.word,
                span.buffer.letter()
            );
            self.fault(FaultKind::Data, block, operation, 0, what);
        }
        content
    }

    fn store(&mut self, block: usize, operation: &Operation, span: &Span, at: usize, content: &Option<Content>) {
        let place = self.memory.range(span, operation).0 + at;
        for rank in &span.ranks {
            let rank = *rank as usize;
            self.access(block, operation, span, (rank, place), true);
            self.memory.at((rank, span.buffer, place)).content.clone_from(content);
        }
    }

    fn take_packet(&mut self, block: usize, operation: &Operation, span: &Span, at: usize) -> Option<Content> {
        let place = self.memory.range(span, operation).0 + at;
        let by = Access { block, operation: self.next[block], barriers: self.barriers[block] };
        let packet = self.memory.at((span.ranks[0] as usize, span.buffer, place)).packet.as_mut()?;
        packet.reads.push(by);
        let (content, known) = (packet.content.clone(), Rc::clone(&packet.known));
        self.answered = self.answered.max(known.done_of(block));
        self.known[block].learn(&known, false);
        content
    }

    fn send_packet(&mut self, block: usize, operation: &Operation, span: &Span, at: usize, content: &Option<Content>) {
        let place = self.memory.range(span, operation).0 + at;
        // What the sender reads is read before the packet is there.
        let mut known = self.known[block].clone();
        known.done(block, self.next[block] + 1);
        let known = Rc::new(known);
        let by = Access { block, operation: self.next[block], barriers: self.barriers[block] };
        for rank in &span.ranks {
            let cell = self.memory.at((*rank as usize, span.buffer, place));
            cell.first_write.get_or_insert_with(|| FirstWrite { by, runs: Rc::clone(&known.runs) });
            let packet = Packet { content: content.clone(), known: Rc::clone(&known), reads: Vec::new() };
            if cell.packet.replace(packet).is_some() {
                let chunk = place / self.memory.per_chunk;
                let what = format!(
                    "{} writes a second packet to chunk {chunk} of {} on GPU {rank} in one launch",
                    operation.word,
                    span.buffer.letter()
                );
                self.fault(FaultKind::Race, block, operation, 0, what);
            }
        }
    }

    /// Checks an access against those before it.
    fn access(
        &mut self,
        block: usize,
        operation: &Operation,
        span: &Span,
        (rank, place): (usize, usize),
        is_write: bool,
    ) {
        let own = self.places[block].0;
        let (actor, number) = match self.acting {
            Some(proxy) => (proxy, self.ports.count(proxy) - 1),
            None => (block, self.next[block]),
        };
        if (rank != own || actor != block) && span.buffer != Buffer::Scratch {
            if !self.known[actor].runs[rank] {
                let what = format!(
                    "{} accesses {} of GPU {rank} before anything came from it in this launch",
                    operation.word,
                    span.buffer.letter()
                );
                self.fault(FaultKind::Early, block, operation, rank, what);
            }
            match self.abroad[actor].iter_mut().find(|(known, _)| *known == rank) {
                Some((_, last)) => *last = number,
                None => self.abroad[actor].push((rank, number)),
            }
        }
        let now = Access { block: actor, operation: number, barriers: self.barriers[block] };
        let cell = self.memory.at((rank, span.buffer, place));
        let earlier: Vec<Access> = cell.write.iter().chain(cell.reads.iter().filter(|_| is_write)).copied().collect();
        if is_write {
            (cell.write, cell.reads) = (Some(now), Vec::new());
            if span.buffer == Buffer::Scratch && cell.first_write.is_none() {
                cell.first_write = Some(FirstWrite { by: now, runs: Rc::clone(&self.known[actor].runs) });
            }
        } else {
            cell.reads.retain(|read| read.block != actor);
            cell.reads.push(now);
        }
        let chunk = place / self.memory.per_chunk;
        for before in earlier {
            if before.block == actor && actor != block {
                // A proxy keeps the order.
                continue;
            }
            let ((by, at), is_proxy) = self.ports.source(before.block, before.operation);
            let (other_rank, other_block) = self.places[by];
            let other = &self.operations(by)[at];
            if before.block == block {
                let is_done = before.barriers != now.barriers || before.operation < self.answered;
                if !is_done && at != self.next[block] {
                    let what = format!(
                        "{} and operation {} access chunk {chunk} of {} on GPU {rank} with no nop between",
                        operation.word,
                        other.number,
                        span.buffer.letter()
                    );
                    self.fault(FaultKind::NoSync, block, operation, 0, what);
                }
                continue;
            }
            match self.known[actor].order(before.block, before.operation) {
                Order::Before => {}
                Order::Relaxed => {
                    self.found.relaxed(rank, own);
                }
                Order::None => {
                    let what = format!(
                        "{} accesses chunk {chunk} of {} on GPU {rank} in no order with GPU {other_rank}, thread block \
                         {other_block}, operation {}{}",
                        operation.word,
                        span.buffer.letter(),
                        other.number,
                        if is_proxy { ", whose put over a port may end later" } else { "" }
                    );
                    self.fault(FaultKind::Race, block, operation, before.block, what);
                }
            }
        }
    }

    /// What a rank knows when all its thread blocks have ended.
    fn at_end(&self, rank: usize) -> Known {
        let ends = (0..self.places.len()).filter(|block| self.places[*block].0 == rank);
        let mut known = Known::at_start(self.known.len(), self.plan.gpus.len(), rank);
        ends.for_each(|end| known.learn(&self.known[end], false));
        known
    }

    /// A rank must not end while others, or puts over its ports, may still access its user buffers.
    fn check_ends(&mut self, ends: &[Known]) {
        let abroad = std::mem::take(&mut self.abroad).into_iter().enumerate();
        for (actor, (owner, at)) in abroad.flat_map(|(actor, of)| of.into_iter().map(move |of| (actor, of))) {
            let ((block, operation), is_proxy) = self.ports.source(actor, at);
            match ends[owner].order(actor, at) {
                Order::Before => {}
                Order::Relaxed => self.found.relaxed(owner, self.places[block].0),
                Order::None => {
                    let operation = &self.operations(block)[operation];
                    let mut what =
                        format!("{} may still access user buffers of GPU {owner} when that has ended", operation.word);
                    if is_proxy && owner == self.places[block].0 {
                        what.push_str(", for nothing flushes the port, and nothing comes back");
                    }
                    self.fault(FaultKind::Late, block, operation, owner, what);
                }
            }
        }
    }

    /// The next launch writes to scratch: what others may still do there for this one must be sure to be done. With a
    /// second scratch that is the launch after it.
    fn check_next_launch(&mut self, ends: &[Known]) {
        let blocks = self.places.len();
        let rank_of = |actor: usize| match actor.checked_sub(blocks) {
            Some(proxy) => self.ports.ranks[proxy],
            None => self.places[actor].0,
        };
        // Each pair of a writer and a rank once, with the first write.
        let mut open: Vec<(usize, usize, Access, usize, usize)> = Vec::new();
        let mut relaxed = Vec::new();
        for owner in 0..ends.len() {
            for (place, cell) in self.memory.scratch(owner).iter().enumerate() {
                let Some(FirstWrite { by: first, runs }) = &cell.first_write else { continue };
                let writer = rank_of(first.block);
                let of_packet = cell.packet.iter().flat_map(|packet| &packet.reads);
                for last in cell.write.iter().chain(&cell.reads).chain(of_packet) {
                    let other = rank_of(last.block);
                    // A launch of a rank begins when that before has ended, and with it all but puts over ports.
                    let ends_there =
                        last.block < blocks || ends[other].order(last.block, last.operation) == Order::Before;
                    let is_told =
                        other == writer || runs[other] || self.plan.has_double_scratch && ends[writer].runs[other];
                    if ends_there && is_told {
                        continue;
                    }
                    match ends[writer].order(last.block, last.operation) {
                        Order::Before => {}
                        Order::Relaxed => relaxed.push((owner, writer)),
                        Order::None if open.iter().any(|of| (of.0, of.1) == (writer, other)) => {}
                        Order::None => open.push((writer, other, *first, owner, place / self.memory.per_chunk)),
                    }
                }
            }
        }
        relaxed.into_iter().for_each(|(owner, by)| self.found.relaxed(owner, by));
        for (_, other, first, owner, chunk) in open {
            let ((block, at), _) = self.ports.source(first.block, first.operation);
            let operation = &self.operations(block)[at];
            let what = format!(
                "{} writes chunk {chunk} of s on GPU {owner}, where GPU {other} may not be done with the launch before",
                operation.word
            );
            // Apart from what it does to user buffers of that rank.
            self.fault(FaultKind::Early, block, operation, ends.len() + other, what);
        }
    }

    /// Signals and semaphores count on from launch to launch: what is left over lets a rank of the next one run ahead.
    fn check_counters(&mut self) {
        for (rank, gpu) in self.plan.gpus.iter().enumerate() {
            let mut left = Vec::new();
            for (end, signals) in gpu.ends.iter().zip(&self.signals[rank]) {
                if !signals.is_empty() {
                    left.push(format!(
                        "{} from GPU {} without a wait",
                        count(signals.len() as u64, "signal"),
                        end.peer
                    ));
                }
            }
            for (number, (begin, releases)) in gpu.semaphores.iter().zip(&self.releases[rank]).enumerate() {
                if releases.len() != *begin as usize {
                    left.push(format!("semaphore {number} at {}, which began at {begin}", releases.len()));
                }
            }
            if !left.is_empty() && self.found.run.faults.len() < MOST_FAULTS {
                let what = format!("leaves for the next launch {}", first_of(3, &left, String::clone));
                let (kind, gpu) = (FaultKind::LeftOver, Some(rank as u32));
                self.found.run.faults.push(Fault { kind, gpu, block: None, operation: None, what });
            }
        }
    }

    fn check_results(&mut self) {
        for rank in 0..self.plan.gpus.len() {
            let wrong = self.memory.wrong_chunks(rank).unwrap_or_default();
            if !wrong.is_empty() && self.found.run.faults.len() < MOST_FAULTS {
                let noun = if wrong.len() == 1 { "chunk" } else { "chunks" };
                let what = format!("ends with the wrong {noun} {}", first_of(8, &wrong, usize::to_string));
                let (kind, gpu) = (FaultKind::Data, Some(rank as u32));
                self.found.run.faults.push(Fault { kind, gpu, block: None, operation: None, what });
            }
        }
    }
}
