//! Matches the measured duration of each collective with the tuner's decision about it.
//!
//! What the library does, by its source (NVIDIA/nccl, src/enqueue.cc and src/plugin/profiler.cc, 2.27 to 2.30):
//!
//! - Of a group, `ncclPrepareTasks` asks the tuner about all collectives of a communicator first, in the thread that
//!   launches the group; those of one kind within four times the size of each other are one query about the sum of
//!   their bytes.
//! - After the launch, the same thread starts an event for each collective (`hostStreamPlanTask`). Only the events of
//!   captured graphs come from another thread, some time later and any number of times (`hostStreamPlanCallback`).
//! - When a collective runs on the GPU, its channels are told one by one by a thread of the library, with the GPU's
//!   timestamps.
//!
//! So a collective belongs to a query for certain where, between two moments at which nothing is open, there was one
//! query and one event, of the same thread, collective and size, with the algorithm and protocol that were answered.
//! Only these are logged; all others are counted.
//!
//! Nothing here allocates, waits, or reads a file or a clock. All memory is static: what the library hands back is a
//! number that is looked up in it, never a pointer that is followed.

use std::{
    cell::Cell,
    sync::{
        Mutex, TryLockError,
        atomic::{
            AtomicBool, AtomicU32, AtomicU64,
            Ordering::{AcqRel, Acquire, Relaxed, Release},
        },
    },
};

use collectune::{
    conf::words::{ALGORITHMS, PROTOCOLS},
    policy::arm::Arm,
};

use crate::decision::LastDecision;

/// The most communicators of which this process is rank 0 at the same time.
const MAX_COMMUNICATORS: usize = 32;
/// The most collectives of a communicator that were launched and not yet written.
const SLOTS_PER_COMMUNICATOR: usize = 2048;

static STATES: [CommunicatorState; MAX_COMMUNICATORS] = {
    let mut all = [const { CommunicatorState::new(0) }; MAX_COMMUNICATORS];
    let mut number = 0;
    while number < MAX_COMMUNICATORS {
        all[number].number = number;
        number += 1;
    }
    all
};
/// Separate from the rest and all zeros, so that it takes no space in the file and no memory before it is used.
static SLOT_POOL: [[Slot; SLOTS_PER_COMMUNICATOR]; MAX_COMMUNICATORS] =
    [const { [const { Slot::new() }; SLOTS_PER_COMMUNICATOR] }; MAX_COMMUNICATORS];

/// A query of the library to the tuner, with the decision.
#[derive(Clone, Copy, Debug)]
pub struct TunerQuery {
    /// The collective's number (`ncclFunc_t`).
    pub coll: i32,
    /// Size in bytes, as the library passes it to the tuner.
    pub bytes: u64,
    /// The decided arm; `None` where no arm corresponds to the decision because only the channels were limited.
    pub arm: Option<Arm>,
    /// The decision of a policy, if one decided.
    pub last: Option<LastDecision>,
    /// Whether the job computes at the same time.
    pub overlap: bool,
}

/// A launched collective, as its event describes it.
#[derive(Clone, Copy, Debug)]
pub struct Launched {
    /// The collective's number; `None` for one about which no tuner is asked.
    pub coll: Option<i32>,
    /// Size in bytes, as the library passes it to a tuner; `None` for an unknown data type.
    pub bytes: Option<u64>,
    /// Algorithm and protocol by their numbers; `None` for one that a tuner can't choose.
    pub pair: Option<(u8, u8)>,
    /// Number of channels.
    pub channels: u8,
}

/// How many collectives were not logged, by reason.
#[derive(Debug)]
pub struct Counts {
    /// It ran in a group with other collectives.
    pub grouped: AtomicU64,
    /// The tuner was not asked: a captured graph, or a kernel that the library chooses itself.
    pub unasked: AtomicU64,
    /// Its size, algorithm or protocol differs from the decision.
    pub mismatched: AtomicU64,
    /// No arm corresponds to the decision.
    pub unnamed: AtomicU64,
    /// All slots were in use.
    pub full: AtomicU64,
    /// Two threads used the communicator at the same time.
    pub contended: AtomicU64,
    /// Its timestamps are not plausible.
    pub implausible: AtomicU64,
    /// A channel never stopped.
    pub unfinished: AtomicU64,
}

impl Counts {
    const fn new() -> Self {
        Self {
            grouped: AtomicU64::new(0),
            unasked: AtomicU64::new(0),
            mismatched: AtomicU64::new(0),
            unnamed: AtomicU64::new(0),
            full: AtomicU64::new(0),
            contended: AtomicU64::new(0),
            implausible: AtomicU64::new(0),
            unfinished: AtomicU64::new(0),
        }
    }

    /// Each count with its reason, for the log.
    pub fn each(&self) -> [(u64, &'static str); 8] {
        [
            (self.grouped.load(Relaxed), "in a group with others"),
            (self.unasked.load(Relaxed), "without a question to the tuner"),
            (self.mismatched.load(Relaxed), "otherwise than the tuner answered"),
            (self.unnamed.load(Relaxed), "of an arm without a name"),
            (self.full.load(Relaxed), "beyond the room for what runs at once"),
            (self.contended.load(Relaxed), "in two threads at once"),
            (self.implausible.load(Relaxed), "with times that can't be"),
            (self.unfinished.load(Relaxed), "that never ended"),
        ]
    }

    fn reset(&self) {
        let all = [&self.grouped, &self.unasked, &self.mismatched, &self.unnamed];
        let all = all.into_iter().chain([&self.full, &self.contended, &self.implausible, &self.unfinished]);
        all.for_each(|count| count.store(0, Relaxed));
    }
}

fn increment(count: &AtomicU64) {
    count.fetch_add(1, Relaxed);
}

/// The memory of one communicator.
pub struct CommunicatorState {
    number: usize,
    /// Odd while the state is in use; it identifies the communicator, so that stale handles are recognised.
    generation_tag: AtomicU32,
    batch: Mutex<Batch>,
    /// A thread found `batch` locked, so an entry is missing in it.
    was_contended: AtomicBool,
    /// The number of slots given out so far.
    head: AtomicU64,
    ranks: AtomicU64,
    pub counts: Counts,
}

/// The queries and launches between two moments at which none is pending.
struct Batch {
    queries: u32,
    events: u32,
    first: Option<TunerQuery>,
    thread: u64,
    /// The slot of the first event, if that matches the first query.
    slot: Option<(usize, u32)>,
    mismatch: MismatchReason,
    is_ambiguous: bool,
}

#[derive(Clone, Copy)]
enum MismatchReason {
    Different,
    Unnamed,
    Full,
}

impl Batch {
    const EMPTY: Self = Self {
        queries: 0,
        events: 0,
        first: None,
        thread: 0,
        slot: None,
        mismatch: MismatchReason::Different,
        is_ambiguous: false,
    };
}

/// A collective in progress. Times and decision are valid while the state says so.
struct Slot {
    /// How often the slot was used, above 32 bits; the number of channels that have not stopped, from bit 8 on; flags
    /// below.
    state: AtomicU64,
    /// In nanoseconds of the GPU's clock.
    start: AtomicU64,
    stop: AtomicU64,
    bytes: AtomicU64,
    arm: AtomicU64,
    call: AtomicU64,
    /// The bits of an `f64`.
    propensity: AtomicU64,
    generation: AtomicU64,
}

const IS_TAKEN: u64 = 1;
/// Query and collective are known to belong together.
const IS_MATCHED: u64 = 2;
/// The collective is known not to be logged.
const IS_REJECTED: u64 = 4;
/// More channels stopped than the collective has.
const HAS_EXCESS_STOPS: u64 = 8;
const ONE_CHANNEL: u64 = 1 << 8;
const CHANNELS: u64 = 0xFFFF * ONE_CHANNEL;
const NO_CALL: u64 = u64::MAX;

impl Slot {
    const fn new() -> Self {
        Self {
            state: AtomicU64::new(0),
            start: AtomicU64::new(0),
            stop: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            arm: AtomicU64::new(0),
            call: AtomicU64::new(0),
            propensity: AtomicU64::new(0),
            generation: AtomicU64::new(0),
        }
    }

    /// Changes the state, unless the slot is used for another collective by now.
    fn change(&self, tag: u32, change: impl Fn(u64) -> u64) {
        let own = |state: u64| ((state >> 32) as u32 == tag && state & IS_TAKEN != 0).then(|| change(state));
        let _ = self.state.fetch_update(AcqRel, Acquire, own);
    }

    fn is_of(&self, tag: u32) -> bool {
        let state = self.state.load(Acquire);
        (state >> 32) as u32 == tag && state & IS_TAKEN != 0
    }
}

/// A collective as it is logged.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The number of its slot: ascending in the order of launches.
    pub number: u64,
    pub coll: u8,
    pub bytes: u64,
    /// In nanoseconds of the GPU's clock.
    pub start: u64,
    /// In nanoseconds of the GPU's clock.
    pub stop: u64,
    pub arm: Arm,
    pub last: Option<LastDecision>,
    pub overlap: bool,
}

/// Packs arm, collective and overlap into a number.
fn packed(query: &TunerQuery, arm: Arm) -> u64 {
    let rest = (query.coll as u64 & 0xFF) << 48 | u64::from(query.overlap) << 56;
    match arm {
        Arm::Auto => rest,
        Arm::Forced { algorithm, protocol, channels } => {
            rest | 1 << 57
                | (algorithm.code() as u64 & 0xFF) << 40
                | (protocol.code() as u64 & 0xFF) << 32
                | u64::from(channels)
        }
    }
}

/// The arm of a packed number.
fn unpacked(packed: u64) -> Arm {
    let byte = |shift: u32| (packed >> shift) as usize & 0xFF;
    match (packed >> 57 & 1, ALGORITHMS.get(byte(40)), PROTOCOLS.get(byte(32))) {
        (1, Some((_, algorithm)), Some((_, protocol))) => {
            Arm::Forced { algorithm: *algorithm, protocol: *protocol, channels: packed as u32 }
        }
        _ => Arm::Auto,
    }
}

/// A communicator as the library and the tuner hold it. After its end, calls with it do nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Communicator {
    place: usize,
    generation_tag: u32,
}

/// A collective or one of its channels, as the library holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u64);

const KIND: u64 = 0b11;

impl Handle {
    /// The handle of a group. It is not used, but a library before 2.28 starts no event below a group without a handle.
    pub const GROUP: Self = Self(1);

    /// The handle of a collective.
    fn new(place: usize, slot: usize, tag: u32) -> Self {
        Self(u64::from(tag) << 32 | (place as u64) << 16 | (slot as u64) << 2 | 2)
    }

    /// The handle of a channel of the collective.
    pub fn of_channel(self) -> Option<Self> {
        (self.0 & KIND == 2).then_some(Self(self.0 | KIND))
    }

    pub fn as_number(self) -> usize {
        self.0 as usize
    }

    pub fn from_number(number: usize) -> Self {
        Self(number as u64)
    }

    /// The slot of a collective or a channel; `None` if it is used for another one by now.
    fn slot(self) -> Option<(&'static Slot, u32)> {
        if self.0 & 2 == 0 {
            return None;
        }
        let place = STATES.get((self.0 >> 16) as usize & 0xFFFF)?;
        let slot = place.slots().get((self.0 >> 2) as usize & (SLOTS_PER_COMMUNICATOR - 1))?;
        let tag = (self.0 >> 32) as u32;
        slot.is_of(tag).then_some((slot, tag))
    }

    /// Records that a channel of the collective started, in nanoseconds of the GPU's clock.
    pub fn begin_channel(self, at: u64) {
        if let Some((slot, _)) = self.slot() {
            slot.start.fetch_min(at, AcqRel);
        }
    }

    /// Records that a channel stopped, in nanoseconds of the GPU's clock.
    pub fn end_channel(self, at: u64) {
        if self.0 & KIND != KIND {
            return;
        }
        let Some((slot, tag)) = self.slot() else { return };
        slot.stop.fetch_max(at, AcqRel);
        // A second stop of the same channel can't be told from one of another channel: then the times are not used.
        slot.change(tag, |state| if state & CHANNELS == 0 { state | HAS_EXCESS_STOPS } else { state - ONE_CHANNEL });
    }
}

thread_local! {
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// A number that identifies the calling thread, never reused.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    THREAD.with(|thread| {
        if thread.get() == 0 {
            thread.set(NEXT.fetch_add(1, Relaxed));
        }
        thread.get()
    })
}

impl Communicator {
    /// Takes a free state for a communicator of `ranks` ranks; `None` where all are in use.
    pub fn begin(ranks: u64) -> Option<Self> {
        for (number, place) in STATES.iter().enumerate() {
            let generation_tag = place.generation_tag.load(Acquire);
            let next = generation_tag.wrapping_add(1);
            if generation_tag & 1 == 0
                && place.generation_tag.compare_exchange(generation_tag, next, AcqRel, Relaxed).is_ok()
            {
                place.counts.reset();
                place.ranks.store(ranks, Relaxed);
                place.was_contended.store(false, Relaxed);
                *place.batch.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Batch::EMPTY;
                return Some(Self { place: number, generation_tag: next });
            }
        }
        None
    }

    /// Reconstructs a communicator from the number that the library holds.
    pub fn from_number(number: usize) -> Option<Self> {
        let (place, generation_tag) = (number & 0xFFFF, (number >> 16) as u32);
        (generation_tag & 1 == 1).then_some(Self { place, generation_tag })
    }

    /// The number that the library holds; never 0.
    pub fn as_number(self) -> usize {
        self.place | (self.generation_tag as usize) << 16
    }

    /// The communicator's state; `None` after its end.
    pub fn place(self) -> Option<&'static CommunicatorState> {
        STATES.get(self.place).filter(|place| place.generation_tag.load(Acquire) == self.generation_tag)
    }

    /// Records a query to the tuner.
    pub fn ask(self, query: &TunerQuery) {
        let Some(place) = self.place() else { return };
        place.with_batch(|batch| {
            if batch.events > 0 {
                place.close(batch);
            }
            let thread = this_thread();
            if batch.queries == 0 {
                (batch.first, batch.thread) = (Some(*query), thread);
            } else if batch.thread != thread {
                batch.is_ambiguous = true;
            }
            batch.queries += 1;
        });
    }

    /// Records that the application called a collective, which versions from 5 on report. Queries before it that led to
    /// no launch will not, or only in a captured graph.
    pub fn call(self, is_captured: bool) {
        let Some(place) = self.place() else { return };
        place.with_batch(|batch| {
            if batch.queries > 0 || batch.is_ambiguous {
                place.close(batch);
            }
            batch.is_ambiguous = is_captured;
        });
    }

    /// Records the launch of a collective; returns the handle for the library if its channels are of interest.
    pub fn launch(self, launched: &Launched) -> Option<Handle> {
        let place = self.place()?;
        let handle = place.with_batch(|batch| {
            if batch.queries == 0 || batch.thread != this_thread() {
                increment(&place.counts.unasked);
                return None;
            }
            batch.events += 1;
            if batch.events > 1 || batch.queries > 1 || batch.is_ambiguous {
                return None;
            }
            let query = batch.first?;
            let has_same = launched.coll == Some(query.coll) && launched.bytes == Some(query.bytes);
            let Some(arm) = query.arm else {
                batch.mismatch = MismatchReason::Unnamed;
                return None;
            };
            let runs_it = match (arm, launched.pair) {
                (_, None) => false,
                (Arm::Auto, Some(_)) => true,
                (Arm::Forced { algorithm, protocol, .. }, Some(pair)) => {
                    pair == (algorithm.code() as u8, protocol.code() as u8)
                }
            };
            if !has_same || !runs_it || launched.channels == 0 {
                batch.mismatch = MismatchReason::Different;
                return None;
            }
            let Some((slot, tag)) = place.take_slot(&query, arm, launched.channels) else {
                batch.mismatch = MismatchReason::Full;
                return None;
            };
            batch.slot = Some((slot, tag));
            Some(Handle::new(self.place, slot, tag))
        });
        match handle {
            Some(handle) => handle,
            None => {
                increment(&place.counts.contended);
                None
            }
        }
    }

    /// Decides the open batch: nothing more will be added to it.
    pub fn close_batch(self) {
        let Some(place) = self.place() else { return };
        place.with_batch(|batch| place.close(batch));
    }

    /// Frees the state for another communicator.
    pub fn end(self) {
        let Some(place) = self.place() else { return };
        for slot in place.slots() {
            // Handles of this communicator are stale from here on.
            let freed = |state: u64| (state & IS_TAKEN != 0).then_some(state & !0xFFFF_FFFF);
            let _ = slot.state.fetch_update(AcqRel, Acquire, freed);
        }
        place.generation_tag.store(self.generation_tag.wrapping_add(1), Release);
    }
}

impl CommunicatorState {
    const fn new(number: usize) -> Self {
        Self {
            number,
            generation_tag: AtomicU32::new(0),
            batch: Mutex::new(Batch::EMPTY),
            was_contended: AtomicBool::new(false),
            head: AtomicU64::new(0),
            ranks: AtomicU64::new(0),
            counts: Counts::new(),
        }
    }

    fn slots(&self) -> &'static [Slot] {
        SLOT_POOL.get(self.number).map_or(&[], |slots| slots.as_slice())
    }

    /// Runs `change` on the open batch; `None` where another thread holds it, and the entry is lost.
    fn with_batch<T>(&self, change: impl FnOnce(&mut Batch) -> T) -> Option<T> {
        let mut batch = match self.batch.try_lock() {
            Ok(batch) => batch,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                self.was_contended.store(true, Release);
                return None;
            }
        };
        if self.was_contended.swap(false, AcqRel) {
            batch.is_ambiguous = true;
        }
        Some(change(&mut batch))
    }

    /// Decides whether the batch is one query with its launch, and empties it.
    fn close(&self, batch: &mut Batch) {
        let is_matched = batch.queries == 1 && batch.events == 1 && !batch.is_ambiguous;
        if let Some((slot, tag)) = batch.slot
            && let Some(slot) = self.slots().get(slot)
        {
            let verdict = if is_matched { IS_MATCHED } else { IS_REJECTED };
            slot.change(tag, |state| state | verdict);
        }
        let events = u64::from(batch.events);
        if !is_matched {
            self.counts.grouped.fetch_add(events, Relaxed);
        } else if batch.slot.is_none() {
            increment(match batch.mismatch {
                MismatchReason::Different => &self.counts.mismatched,
                MismatchReason::Unnamed => &self.counts.unnamed,
                MismatchReason::Full => &self.counts.full,
            });
        }
        *batch = Batch::EMPTY;
    }

    /// Takes a free slot. The caller holds the batch, so no other thread does the same at this time.
    fn take_slot(&self, query: &TunerQuery, arm: Arm, channels: u8) -> Option<(usize, u32)> {
        /// How many slots in a row may hold collectives that never end.
        const TRIES: u64 = 8;
        let head = self.head.load(Relaxed);
        for number in head..head + TRIES {
            let at = number as usize % SLOTS_PER_COMMUNICATOR;
            let slot = self.slots().get(at)?;
            let state = slot.state.load(Acquire);
            if state & IS_TAKEN != 0 {
                continue;
            }
            slot.start.store(u64::MAX, Relaxed);
            slot.stop.store(0, Relaxed);
            slot.bytes.store(query.bytes, Relaxed);
            slot.arm.store(packed(query, arm), Relaxed);
            let last = query.last.unwrap_or(LastDecision { call: NO_CALL, arm: 0, propensity: 1.0, generation: 0 });
            slot.call.store(last.call, Relaxed);
            slot.propensity.store(last.propensity.to_bits(), Relaxed);
            slot.generation.store(last.generation, Relaxed);
            let tag = ((state >> 32) as u32).wrapping_add(1);
            slot.state.store((u64::from(tag) << 32) | (u64::from(channels) * ONE_CHANNEL) | IS_TAKEN, Release);
            self.head.store(number + 1, Release);
            return Some((at, tag));
        }
        None
    }

    /// Passes the decided collectives to `found` in the order of their launches, and frees their slots. `from` is the
    /// slot to begin with, and is advanced.
    ///
    /// Only one thread may do this at a time.
    pub fn take(&self, from: &mut u64, mut found: impl FnMut(Measured)) {
        let head = self.head.load(Acquire);
        *from = (*from).max(head.saturating_sub(SLOTS_PER_COMMUNICATOR as u64));
        let mut is_first = true;
        for number in *from..head {
            let Some(slot) = self.slots().get(number as usize % SLOTS_PER_COMMUNICATOR) else { return };
            let state = slot.state.load(Acquire);
            let is_decided = state & IS_REJECTED != 0 || state & IS_MATCHED != 0 && state & CHANNELS == 0;
            if state & IS_TAKEN != 0 && is_decided {
                match state & (IS_REJECTED | HAS_EXCESS_STOPS) {
                    0 => self.read(slot, number, &mut found),
                    HAS_EXCESS_STOPS => increment(&self.counts.implausible),
                    _ => {}
                }
                // After the decision only an excess stop can change the slot.
                slot.state.fetch_and(!0xFFFF_FFFF, AcqRel);
            } else if state & IS_TAKEN != 0 {
                is_first = false;
            }
            if is_first {
                *from = number + 1;
            }
        }
    }

    fn read(&self, slot: &Slot, number: u64, found: &mut impl FnMut(Measured)) {
        let (start, stop) = (slot.start.load(Acquire), slot.stop.load(Acquire));
        // The library reports 0 for a timestamp that was not read.
        if start == 0 || stop <= start {
            increment(&self.counts.implausible);
            return;
        }
        let call = slot.call.load(Relaxed);
        let last = LastDecision {
            call,
            arm: 0,
            propensity: f64::from_bits(slot.propensity.load(Relaxed)),
            generation: slot.generation.load(Relaxed),
        };
        let arm = slot.arm.load(Relaxed);
        found(Measured {
            number,
            coll: (arm >> 48) as u8,
            bytes: slot.bytes.load(Relaxed),
            start,
            stop,
            arm: unpacked(arm),
            last: (call != NO_CALL).then_some(last),
            overlap: arm >> 56 & 1 == 1,
        });
    }

    /// Counts the collectives that have not ended, when the communicator ends.
    pub fn count_unfinished(&self) {
        let is_open = |slot: &&Slot| {
            let state = slot.state.load(Acquire);
            state & IS_TAKEN != 0 && state & IS_REJECTED == 0
        };
        self.counts.unfinished.fetch_add(self.slots().iter().filter(is_open).count() as u64, Relaxed);
    }

    /// Number of ranks of the communicator.
    pub fn ranks(&self) -> u64 {
        self.ranks.load(Relaxed)
    }

    /// The number of slots given out so far.
    pub fn head(&self) -> u64 {
        self.head.load(Acquire)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const ARM: &str = "tree/ll128/300";

    fn query(bytes: u64, call: u64) -> TunerQuery {
        let last = LastDecision { call, arm: 1, propensity: 0.25, generation: 7 };
        TunerQuery { coll: 4, bytes, arm: Arm::parse(ARM), last: Some(last), overlap: true }
    }

    const fn launched(bytes: u64) -> Launched {
        Launched { coll: Some(4), bytes: Some(bytes), pair: Some((0, 1)), channels: 2 }
    }

    fn run(handle: Handle, start: u64, stop: u64) {
        let channel = handle.of_channel().unwrap();
        assert_eq!(channel.of_channel(), None);
        for (begin, end) in [(start + 5, stop), (start, stop - 5)] {
            handle.begin_channel(begin);
            channel.end_channel(end);
        }
    }

    fn taken(place: &CommunicatorState, from: &mut u64) -> Vec<Measured> {
        let mut all = Vec::new();
        place.take(from, |measured| all.push(measured));
        all
    }

    #[test]
    fn one_query_and_one_launch_are_matched() {
        let own = Communicator::begin(8).unwrap();
        assert_eq!(Communicator::from_number(own.as_number()), Some(own));
        let place = own.place().unwrap();
        let mut from = place.head();
        let mut handles = Vec::new();
        for call in 0..10 {
            own.ask(&query(1024 + call, call));
            handles.push(own.launch(&launched(1024 + call)).unwrap());
        }
        // They end in another order, and the last is not sure before it is settled.
        for (call, handle) in handles.iter().enumerate().rev() {
            run(*handle, 1000 * (call as u64 + 1), 1000 * (call as u64 + 1) + 100);
        }
        let all = taken(place, &mut from);
        assert_eq!(all.len(), 9);
        own.close_batch();
        let all: Vec<Measured> = all.into_iter().chain(taken(place, &mut from)).collect();
        for (call, measured) in all.iter().enumerate() {
            let last = measured.last.unwrap();
            assert_eq!((last.call, last.generation, measured.bytes), (call as u64, 7, 1024 + call as u64));
            assert_eq!((measured.stop - measured.start, measured.arm.to_string().as_str()), (100, ARM));
            assert!(measured.overlap && measured.coll == 4);
        }
        assert_eq!(all.len(), 10);
        assert!(place.counts.each().iter().all(|(count, _)| *count == 0), "{:?}", place.counts);
        // What is stale does nothing.
        own.end();
        own.ask(&query(1, 1));
        run(handles[0], 1, 10);
        assert!(own.place().is_none() && own.launch(&launched(1)).is_none());
    }

    #[test]
    fn ambiguous_launches_are_counted() {
        let own = Communicator::begin(8).unwrap();
        let place = own.place().unwrap();
        let mut from = place.head();
        let count = |place: &CommunicatorState| place.counts.each().map(|(count, _)| count);
        // Two collectives by one query, about the sum of their bytes.
        own.ask(&query(2048, 0));
        assert!(own.launch(&launched(1024)).is_none() && own.launch(&launched(1024)).is_none());
        own.close_batch();
        assert_eq!(count(place), [2, 0, 0, 0, 0, 0, 0, 0]);
        // The first of a group looks as if it were alone.
        own.ask(&query(2048, 1));
        let first = own.launch(&launched(2048)).unwrap();
        assert!(own.launch(&launched(64)).is_none());
        run(first, 10, 100);
        own.close_batch();
        assert_eq!(count(place), [4, 0, 0, 0, 0, 0, 0, 0]);
        // Two queries.
        own.ask(&query(64, 2));
        own.ask(&query(2048, 3));
        assert!(own.launch(&launched(2048)).is_none());
        own.close_batch();
        assert_eq!(count(place), [5, 0, 0, 0, 0, 0, 0, 0]);
        // No query, or one of another thread.
        assert!(own.launch(&launched(2048)).is_none());
        own.ask(&query(2048, 4));
        thread::scope(|scope| scope.spawn(|| assert!(own.launch(&launched(2048)).is_none())).join().unwrap());
        assert_eq!(count(place), [5, 2, 0, 0, 0, 0, 0, 0]);
        // A query that is followed by another call never ran.
        own.call(false);
        own.ask(&query(64, 5));
        run(own.launch(&launched(64)).unwrap(), 10, 100);
        own.call(true);
        own.ask(&query(64, 6));
        assert!(own.launch(&launched(64)).is_none());
        own.close_batch();
        assert_eq!(count(place), [6, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(taken(place, &mut from).iter().map(|m| m.last.unwrap().call).collect::<Vec<_>>(), [5]);
        // Another protocol, another size, no name.
        for (query, launched) in [
            (query(64, 7), Launched { pair: Some((0, 2)), ..launched(64) }),
            (query(64, 8), launched(65)),
            (TunerQuery { arm: None, ..query(64, 9) }, launched(64)),
        ] {
            own.ask(&query);
            assert!(own.launch(&launched).is_none());
        }
        own.close_batch();
        assert_eq!(count(place), [6, 2, 2, 1, 0, 0, 0, 0]);
        // A clock that stands still, a channel that ends twice, one that never does.
        for call in 10..13 {
            own.ask(&query(64, call));
            let handle = own.launch(&launched(64)).unwrap();
            match call {
                10 => run(handle, 0, 50),
                11 => {
                    run(handle, 10, 50);
                    handle.of_channel().unwrap().end_channel(60);
                }
                _ => handle.begin_channel(10),
            }
        }
        own.close_batch();
        assert!(taken(place, &mut from).is_empty());
        place.count_unfinished();
        assert_eq!(count(place)[6..], [2, 1]);
        own.end();
    }

    #[test]
    fn concurrent_threads_log_no_wrong_match() {
        let own = Communicator::begin(8).unwrap();
        let place = own.place().unwrap();
        let mut from = place.head();
        let single = |call: u64| {
            own.ask(&query(64, call));
            let handle = own.launch(&launched(64));
            handle.into_iter().for_each(|handle| run(handle, 10, 100));
        };
        // The event of one, then the query of the next comes while another thread is at it.
        own.ask(&query(64, 0));
        {
            let _held = place.batch.lock().unwrap();
            assert!(own.launch(&launched(64)).is_none());
            own.ask(&query(64, 1));
        }
        assert!(own.launch(&launched(64)).is_none());
        single(2);
        own.close_batch();
        assert_eq!(taken(place, &mut from).iter().map(|m| m.last.unwrap().call).collect::<Vec<_>>(), [2]);
        assert_eq!((place.counts.contended.load(Relaxed), place.counts.grouped.load(Relaxed)), (1, 1));
        own.end();
    }

    #[test]
    fn collectives_that_never_end_use_bounded_memory() {
        let own = Communicator::begin(8).unwrap();
        let place = own.place().unwrap();
        let mut from = place.head();
        for call in 0..3 * SLOTS_PER_COMMUNICATOR as u64 {
            own.ask(&query(64, call));
            let _ = own.launch(&launched(64));
        }
        own.close_batch();
        assert!(taken(place, &mut from).is_empty());
        place.count_unfinished();
        let (full, unfinished) = (place.counts.full.load(Relaxed), place.counts.unfinished.load(Relaxed));
        assert_eq!((full, unfinished), (2 * SLOTS_PER_COMMUNICATOR as u64, SLOTS_PER_COMMUNICATOR as u64));
        own.end();
        assert!(Communicator::begin(8).is_some());
    }
}
