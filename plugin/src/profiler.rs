//! The profiler's interface as NCCL and RCCL declare it, versions 1 to 6.
//!
//! Source: NVIDIA/nccl, src/include/plugin/profiler/profiler_v1.h to profiler_v6.h. Which values a library fills in,
//! and from which thread it calls, is in src/plugin/profiler.cc (src/misc/profiler.cc before 2.27). As with the tuner,
//! the library takes the highest version that it knows as a data symbol.
//!
//! Only from version 4 on do events of a kernel's channels carry the GPU's timestamps. Versions 1 and 2 have no such
//! events; in version 3 a thread of the library notices with a delay that a channel began or ended, and the event of a
//! collective does not say how many channels it has. So for these three versions the plugin asks for no events.

#![allow(unsafe_code, non_upper_case_globals)]

use std::{
    cell::Cell,
    env,
    ffi::{CStr, c_char, c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    library::{Logger, LoggerFn, NAME, SUCCESS, silence_panics},
    log::Log,
    rewards::{Communicator, Handle, Launched},
    writer::{LogHeader, Writer},
};

const GROUP: u64 = 1;
const COLL: u64 = 1 << 1;
const KERNEL_CHANNEL: u64 = 1 << 6;
/// Only from version 5 on.
const COLL_API: u64 = 1 << 9;
/// The events that the plugin asks for: collectives, and the channels of their kernels.
const MASK: c_int = (COLL | KERNEL_CHANNEL) as c_int;
/// `ncclProfilerKernelChStop`.
const CHANNEL_STOPS: c_int = 22;

type InitV1 = unsafe extern "C" fn(context: *mut *mut c_void, mask: *mut c_int) -> c_int;
type InitV4 = unsafe extern "C" fn(
    context: *mut *mut c_void,
    mask: *mut c_int,
    name: *const c_char,
    comm_id: u64,
    n_nodes: c_int,
    n_ranks: c_int,
    rank: c_int,
    logger: Option<LoggerFn>,
) -> c_int;
type InitV5 = unsafe extern "C" fn(
    context: *mut *mut c_void,
    comm_id: u64,
    mask: *mut c_int,
    name: *const c_char,
    n_nodes: c_int,
    n_ranks: c_int,
    rank: c_int,
    logger: Option<LoggerFn>,
) -> c_int;
type StartEvent<Descriptor> =
    unsafe extern "C" fn(context: *mut c_void, handle: *mut *mut c_void, descriptor: *const Descriptor) -> c_int;
type StopEvent = unsafe extern "C" fn(handle: *mut c_void) -> c_int;
type RecordState = unsafe extern "C" fn(handle: *mut c_void, state: c_int, arguments: *const StateArguments) -> c_int;
type Finalize = unsafe extern "C" fn(context: *mut c_void) -> c_int;

/// `ncclProfilerEventDescr_v4_t`, as far as it is read.
#[repr(C)]
pub struct DescriptorV4 {
    kind: u8,
    parent: *mut c_void,
    rank: c_int,
    of: EventDetails,
}

/// `ncclProfilerEventDescr_v5_t` and `ncclProfilerEventDescr_v6_t`, as far as they are read.
#[repr(C)]
pub struct DescriptorV5 {
    kind: u64,
    parent: *mut c_void,
    rank: c_int,
    of: EventDetails,
}

/// The part of a descriptor that depends on the kind of the event; equal in versions 4 to 6.
#[repr(C)]
union EventDetails {
    coll: Coll,
    channel: Channel,
    api: Api,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Coll {
    number: u64,
    func: *const c_char,
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    root: c_int,
    datatype: *const c_char,
    n_channels: u8,
    n_warps: u8,
    algorithm: *const c_char,
    protocol: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Channel {
    channel: u8,
    timer: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Api {
    func: *const c_char,
    count: usize,
    datatype: *const c_char,
    root: c_int,
    stream: *mut c_void,
    is_captured: u8,
}

/// `ncclProfilerEventStateArgs_v4_t` and later, where a channel ends.
#[repr(C)]
pub struct StateArguments {
    timer: u64,
}

/// `ncclProfiler_v1_t` to `ncclProfiler_v6_t`.
#[repr(C)]
pub struct Profiler<Init, Descriptor> {
    name: *const c_char,
    init: Init,
    start_event: StartEvent<Descriptor>,
    stop_event: StopEvent,
    record_state: RecordState,
    finalize: Finalize,
}

// SAFETY: immutable; the name is a static string, the rest are functions.
unsafe impl<Init: Sync, Descriptor> Sync for Profiler<Init, Descriptor> {}

const fn old() -> Profiler<InitV1, c_void> {
    Profiler { name: NAME.as_ptr(), init: init_v1, start_event: start_nothing, stop_event, record_state, finalize }
}

// SAFETY, for `no_mangle`: the library looks these symbols up by name, and nothing else in this file defines them.
#[unsafe(no_mangle)]
pub static ncclProfiler_v1: Profiler<InitV1, c_void> = old();
#[unsafe(no_mangle)]
pub static ncclProfiler_v2: Profiler<InitV1, c_void> = old();
#[unsafe(no_mangle)]
pub static ncclProfiler_v3: Profiler<InitV1, c_void> = old();
#[unsafe(no_mangle)]
pub static ncclProfiler_v4: Profiler<InitV4, DescriptorV4> =
    Profiler { name: NAME.as_ptr(), init: init_v4, start_event: start_v4, stop_event, record_state, finalize };
#[unsafe(no_mangle)]
pub static ncclProfiler_v5: Profiler<InitV5, DescriptorV5> =
    Profiler { name: NAME.as_ptr(), init: init_v5, start_event: start_v5, stop_event, record_state, finalize };
#[unsafe(no_mangle)]
pub static ncclProfiler_v6: Profiler<InitV5, DescriptorV5> =
    Profiler { name: NAME.as_ptr(), init: init_v6, start_event: start_v5, stop_event, record_state, finalize };

/// What the last `init` of the profiler in the calling thread did. The library starts the profiler in the thread that
/// creates the communicator, before the tuner of the same communicator (src/init.cc), which takes this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProfilerState {
    /// No profiler was started.
    #[default]
    Absent,
    /// The interface has no GPU timestamps.
    WithoutTimestamps,
    /// This rank does not log: another rank does, no log was asked for, or it failed with a message.
    NotLogging,
    /// This rank writes the log of rewards.
    Logging { communicator: Communicator, comm_id: u64, ranks: usize, nodes: usize },
}

thread_local! {
    static LAST: Cell<ProfilerState> = const { Cell::new(ProfilerState::Absent) };
}

impl ProfilerState {
    /// Takes the state; the next call returns `Absent`.
    pub fn take() -> Self {
        LAST.take()
    }
}

/// The number of communicators that are logged in this process.
static LOGGED: AtomicUsize = AtomicUsize::new(0);
/// The communicators that are logged, with their writers.
static WRITERS: Mutex<Vec<(Communicator, Writer)>> = Mutex::new(Vec::new());

/// The folder of the logs (`COLLECTUNE_TUNER_REWARDS`).
fn folder() -> Option<PathBuf> {
    env::var_os("COLLECTUNE_TUNER_REWARDS").filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn begin(header: LogHeader, rank: c_int, logger: Logger) -> ProfilerState {
    let (Some(folder), 0) = (folder(), rank) else { return ProfilerState::NotLogging };
    let mut log = Log::new(logger);
    let Some(communicator) = Communicator::begin(header.ranks as u64) else {
        log.warn(format_args!("rewards: too many communicators at once; nothing is logged of this one"));
        return ProfilerState::NotLogging;
    };
    let Some(writer) = Writer::begin(&folder, header, communicator, log) else {
        communicator.end();
        return ProfilerState::NotLogging;
    };
    WRITERS.lock().unwrap_or_else(PoisonError::into_inner).push((communicator, writer));
    LOGGED.fetch_add(1, Ordering::AcqRel);
    ProfilerState::Logging { communicator, comm_id: header.comm_id, ranks: header.ranks, nodes: header.nodes }
}

/// # Safety
/// `context` and `mask` are null or may be written.
unsafe fn init(context: *mut *mut c_void, mask: *mut c_int, header: LogHeader, rank: c_int, logger: Option<LoggerFn>) {
    silence_panics();
    let profiled = catch_unwind(|| begin(header, rank, Logger(logger))).unwrap_or(ProfilerState::NotLogging);
    LAST.set(profiled);
    let (number, asks) = match profiled {
        ProfilerState::Logging { communicator, .. } => (communicator.as_number(), Some(MASK)),
        // The mask applies to the whole process: it stays where another communicator is logged.
        _ => (0, (LOGGED.load(Ordering::Acquire) == 0).then_some(0)),
    };
    // SAFETY: the caller's promise. What is stored is a number, which nobody follows.
    unsafe {
        if let Some(context) = context.as_mut() {
            *context = number as *mut c_void;
        }
        if let (Some(mask), Some(asks)) = (mask.as_mut(), asks) {
            *mask = asks;
        }
    }
}

unsafe extern "C" fn init_v1(context: *mut *mut c_void, mask: *mut c_int) -> c_int {
    LAST.set(if folder().is_some() { ProfilerState::WithoutTimestamps } else { ProfilerState::NotLogging });
    // SAFETY: the library's own variables, or null.
    unsafe {
        if let Some(context) = context.as_mut() {
            *context = std::ptr::null_mut();
        }
        if let Some(mask) = mask.as_mut() {
            *mask = 0;
        }
    }
    SUCCESS
}

fn header(version: u32, comm_id: u64, n_nodes: c_int, n_ranks: c_int) -> LogHeader {
    let number = |count: c_int| usize::try_from(count).unwrap_or(0);
    LogHeader { comm_id, nodes: number(n_nodes), ranks: number(n_ranks), version }
}

unsafe extern "C" fn init_v4(
    context: *mut *mut c_void,
    mask: *mut c_int,
    _name: *const c_char,
    comm_id: u64,
    n_nodes: c_int,
    n_ranks: c_int,
    rank: c_int,
    logger: Option<LoggerFn>,
) -> c_int {
    // SAFETY: the library passes its own variables, or null, as `init` asks for.
    unsafe { init(context, mask, header(4, comm_id, n_nodes, n_ranks), rank, logger) };
    SUCCESS
}

unsafe extern "C" fn init_v5(
    context: *mut *mut c_void,
    comm_id: u64,
    mask: *mut c_int,
    _name: *const c_char,
    n_nodes: c_int,
    n_ranks: c_int,
    rank: c_int,
    logger: Option<LoggerFn>,
) -> c_int {
    // SAFETY: as above.
    unsafe { init(context, mask, header(5, comm_id, n_nodes, n_ranks), rank, logger) };
    SUCCESS
}

unsafe extern "C" fn init_v6(
    context: *mut *mut c_void,
    comm_id: u64,
    mask: *mut c_int,
    _name: *const c_char,
    n_nodes: c_int,
    n_ranks: c_int,
    rank: c_int,
    logger: Option<LoggerFn>,
) -> c_int {
    // SAFETY: as above.
    unsafe { init(context, mask, header(6, comm_id, n_nodes, n_ranks), rank, logger) };
    SUCCESS
}

unsafe extern "C" fn finalize(context: *mut c_void) -> c_int {
    let end = || {
        let Some(communicator) = Communicator::from_number(context as usize) else { return };
        let mut writers = WRITERS.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = writers.iter().position(|(own, _)| *own == communicator) else { return };
        let (_, writer) = writers.swap_remove(place);
        if writers.is_empty() {
            // The library may unload the plugin after this, so nothing may stay behind.
            *writers = Vec::new();
        }
        drop(writers);
        LOGGED.fetch_sub(1, Ordering::AcqRel);
        communicator.close_batch();
        writer.end();
        communicator.end();
    };
    let _ = catch_unwind(AssertUnwindSafe(end));
    SUCCESS
}

/// The bytes of a C string; empty for null.
///
/// # Safety
/// The pointer is null or a string that ends with NUL and lives as long as the result.
unsafe fn word<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}

/// `ncclFuncToString`, in the order of `ncclFunc_t`.
const FUNCTIONS: [&[u8]; 5] = [b"Broadcast", b"Reduce", b"AllGather", b"ReduceScatter", b"AllReduce"];
/// `ncclAlgoToString`.
const ALGORITHMS: [&[u8]; 7] = [b"TREE", b"RING", b"COLLNET_DIRECT", b"COLLNET_CHAIN", b"NVLS", b"NVLS_TREE", b"PAT"];
/// `ncclProtoToString`.
const PROTOCOLS: [&[u8]; 3] = [b"LL", b"LL128", b"SIMPLE"];

fn place(words: &[&[u8]], word: &[u8]) -> Option<u8> {
    words.iter().position(|known| *known == word).map(|place| place as u8)
}

/// `ncclTypeSize` for the name that `ncclDatatypeToString` gives; some releases have no name for some types.
fn type_size(name: &[u8]) -> Option<u64> {
    match name.strip_prefix(b"ncclFloat8") {
        Some(_) => Some(1),
        None if name.ends_with(b"t8") => Some(1),
        None if name.ends_with(b"t16") => Some(2),
        None if name.ends_with(b"t32") => Some(4),
        None if name.ends_with(b"t64") => Some(8),
        None => None,
    }
}

/// # Safety
/// The words of the descriptor are null or end with NUL.
unsafe fn launched(coll: &Coll, ranks: u64) -> Launched {
    const ALL_GATHER: u8 = 2;
    const REDUCE_SCATTER: u8 = 3;
    // SAFETY: the caller's promise.
    let [func, datatype, algorithm, protocol] =
        unsafe { [word(coll.func), word(coll.datatype), word(coll.algorithm), word(coll.protocol)] };
    let func = place(&FUNCTIONS, func);
    // The size as `ncclFuncMaxSendRecvCount` computes it for the tuner.
    let times = if matches!(func, Some(ALL_GATHER | REDUCE_SCATTER)) { ranks } else { 1 };
    let bytes = type_size(datatype).and_then(|size| (coll.count as u64).checked_mul(size)?.checked_mul(times));
    Launched {
        coll: func.map(i32::from),
        bytes,
        pair: place(&ALGORITHMS, algorithm).zip(place(&PROTOCOLS, protocol)),
        channels: coll.n_channels,
    }
}

/// Starts an event. Returns the handle that the library keeps for it; `None` for events that need none.
///
/// # Safety
/// `of` holds the details of an event of this `kind`.
unsafe fn start(context: *mut c_void, kind: u64, parent: *mut c_void, of: &EventDetails) -> Option<Handle> {
    let communicator = Communicator::from_number(context as usize)?;
    match kind {
        GROUP => Some(Handle::GROUP),
        COLL => {
            let ranks = communicator.place()?.ranks();
            // SAFETY: the caller's promise.
            communicator.launch(&unsafe { launched(&of.coll, ranks) })
        }
        KERNEL_CHANNEL => {
            let channel = Handle::from_number(parent as usize).of_channel()?;
            // SAFETY: the caller's promise.
            channel.begin_channel(unsafe { of.channel.timer });
            Some(channel)
        }
        COLL_API => {
            // SAFETY: the caller's promise.
            communicator.call(unsafe { of.api.is_captured } != 0);
            None
        }
        _ => None,
    }
}

/// # Safety
/// `handle` is null or may be written; `of` holds the details of an event of this `kind`.
unsafe fn started(
    context: *mut c_void,
    handle: *mut *mut c_void,
    kind: u64,
    parent: *mut c_void,
    of: &EventDetails,
) -> c_int {
    // SAFETY: the caller's promise.
    let started = catch_unwind(AssertUnwindSafe(|| unsafe { start(context, kind, parent, of) }));
    let number = started.unwrap_or(None).map_or(0, Handle::as_number);
    // SAFETY: the caller's promise. What is stored is a number, which nobody follows.
    if let Some(handle) = unsafe { handle.as_mut() } {
        *handle = number as *mut c_void;
    }
    SUCCESS
}

unsafe extern "C" fn start_v4(context: *mut c_void, handle: *mut *mut c_void, event: *const DescriptorV4) -> c_int {
    // SAFETY: the library's own descriptor, or null. Only the union's member of this kind is initialised.
    match unsafe { event.as_ref() } {
        // SAFETY: the descriptor says of which kind it is.
        Some(event) => unsafe { started(context, handle, u64::from(event.kind), event.parent, &event.of) },
        None => SUCCESS,
    }
}

unsafe extern "C" fn start_v5(context: *mut c_void, handle: *mut *mut c_void, event: *const DescriptorV5) -> c_int {
    // SAFETY: as above.
    match unsafe { event.as_ref() } {
        // SAFETY: as above.
        Some(event) => unsafe { started(context, handle, event.kind, event.parent, &event.of) },
        None => SUCCESS,
    }
}

unsafe extern "C" fn start_nothing(_context: *mut c_void, handle: *mut *mut c_void, _event: *const c_void) -> c_int {
    // SAFETY: the library's own variable, or null.
    if let Some(handle) = unsafe { handle.as_mut() } {
        *handle = std::ptr::null_mut();
    }
    SUCCESS
}

/// Nothing to do: the event of a collective ends when it was launched, and that of a channel when its stop was
/// recorded.
unsafe extern "C" fn stop_event(_handle: *mut c_void) -> c_int {
    SUCCESS
}

unsafe extern "C" fn record_state(handle: *mut c_void, state: c_int, arguments: *const StateArguments) -> c_int {
    if state == CHANNEL_STOPS {
        let record = || {
            // SAFETY: for this state the library passes these arguments, or null.
            if let Some(arguments) = unsafe { arguments.as_ref() } {
                Handle::from_number(handle as usize).end_channel(arguments.timer);
            }
        };
        let _ = catch_unwind(AssertUnwindSafe(record));
    }
    SUCCESS
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// The layout is that of a C compiler on 64-bit Linux.
    #[test]
    fn descriptors_have_the_layout_of_the_headers() {
        assert_eq!((offset_of!(DescriptorV4, parent), offset_of!(DescriptorV4, of)), (8, 24));
        assert_eq!((offset_of!(DescriptorV5, parent), offset_of!(DescriptorV5, of)), (8, 24));
        assert_eq!((offset_of!(Coll, count), offset_of!(Coll, datatype), offset_of!(Coll, n_channels)), (32, 48, 56));
        assert_eq!((offset_of!(Coll, algorithm), offset_of!(Coll, protocol)), (64, 72));
        assert_eq!((offset_of!(Channel, timer), offset_of!(Api, is_captured)), (8, 40));
    }

    #[test]
    fn sizes_are_what_the_tuner_is_told() {
        let sizes =
            ["ncclInt8", "ncclFloat8e4m3", "ncclBfloat16", "ncclFloat16", "ncclFloat32", "ncclUint64", "Unknown"];
        let sizes = sizes.map(|name| type_size(name.as_bytes()));
        assert_eq!(sizes, [Some(1), Some(1), Some(2), Some(2), Some(4), Some(8), None]);
        assert_eq!((place(&FUNCTIONS, b"AllReduce"), place(&ALGORITHMS, b"AGxLL_R")), (Some(4), None));
    }
}
