//! The profiler interface from the library's side, versions 1 to 6.
//!
//! Source: NVIDIA/nccl, src/include/plugin/profiler/profiler_v1.h to profiler_v6.h, and for the order of calls
//! src/plugin/profiler.cc and src/enqueue.cc.

#![allow(unsafe_code)]

use std::{
    ffi::{CString, c_char, c_int, c_void},
    marker::PhantomData,
    ptr,
    sync::atomic::{AtomicI32, Ordering},
};

use crate::library::{Comm, Logger, Plugin, logger};

/// The mask of events (`ncclProfilerEventMask`), one for the whole process.
static MASK: AtomicI32 = AtomicI32::new(0);

const GROUP: u64 = 1 << 0;
const COLL: u64 = 1 << 1;
const KERNEL_CHANNEL: u64 = 1 << 6;
const COLL_API: u64 = 1 << 9;
const CHANNEL_STOPS: c_int = 22;

type InitV1 = unsafe extern "C" fn(*mut *mut c_void, *mut c_int) -> c_int;
type InitV4 = unsafe extern "C" fn(
    *mut *mut c_void,
    *mut c_int,
    *const c_char,
    u64,
    c_int,
    c_int,
    c_int,
    Option<Logger>,
) -> c_int;
type InitV5 = unsafe extern "C" fn(
    *mut *mut c_void,
    u64,
    *mut c_int,
    *const c_char,
    c_int,
    c_int,
    c_int,
    Option<Logger>,
) -> c_int;

/// The table of functions. The type of the first differs between three groups of versions. In a wrapper all others are
/// null before its `init`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Functions {
    name: *const c_char,
    init: *const c_void,
    start: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *const c_void) -> c_int,
    stop: unsafe extern "C" fn(*mut c_void) -> c_int,
    record: unsafe extern "C" fn(*mut c_void, c_int, *const [u64; 1]) -> c_int,
    finalize: unsafe extern "C" fn(*mut c_void) -> c_int,
}

/// `ncclProfilerEventDescr_v4_t`: the union is only filled as far as the kind of the event needs.
#[repr(C)]
struct DescriptorV4 {
    kind: u8,
    padding: [u8; 7],
    parent: *mut c_void,
    rank: c_int,
    of: Of,
}

/// `ncclProfilerEventDescr_v5_t`.
#[repr(C)]
struct DescriptorV5 {
    kind: u64,
    parent: *mut c_void,
    rank: c_int,
    of: Of,
}

#[repr(C)]
#[derive(Clone, Copy)]
union Of {
    coll: CollEvent,
    kernel: KernelEvent,
    api: ApiEvent,
    /// Larger than the events of version 7, which wrappers of later libraries read.
    all: [u64; 24],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct CollEvent {
    sequence: u64,
    func: *const c_char,
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    root: c_int,
    datatype: *const c_char,
    channels: u8,
    warps: u8,
    algorithm: *const c_char,
    protocol: *const c_char,
    parent_group: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct KernelEvent {
    channel: u8,
    timer: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct ApiEvent {
    func: *const c_char,
    count: usize,
    datatype: *const c_char,
    root: c_int,
    stream: *mut c_void,
    captured: bool,
}

const _: () = assert!(size_of::<DescriptorV5>() == 216 && size_of::<CollEvent>() == 88 && size_of::<Functions>() == 48);

/// A launched collective.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// The number of the collective.
    pub coll: usize,
    /// Number of elements of `ncclFloat32` per rank; a broadcast or an all-gather counts bytes.
    pub count: usize,
    /// The number of the algorithm.
    pub algorithm: usize,
    /// The number of the protocol.
    pub protocol: usize,
    /// Number of channels.
    pub channels: u8,
}

/// `ncclFuncToString`.
const FUNCTIONS: [&std::ffi::CStr; 5] = [c"Broadcast", c"Reduce", c"AllGather", c"ReduceScatter", c"AllReduce"];
/// `ncclAlgoToString`; the last is a kernel about which the tuner is not asked.
const ALGORITHMS: [&std::ffi::CStr; 8] =
    [c"TREE", c"RING", c"COLLNET_DIRECT", c"COLLNET_CHAIN", c"NVLS", c"NVLS_TREE", c"PAT", c"AGxLL_R"];
/// `ncclProtoToString`.
const PROTOCOLS: [&std::ffi::CStr; 3] = [c"LL", c"LL128", c"SIMPLE"];

impl Launch {
    /// The size in bytes that the tuner gets (`ncclFuncMaxSendRecvCount`).
    pub fn bytes(&self, ranks: usize) -> u64 {
        let times = if matches!(self.coll, 2 | 3) { ranks } else { 1 };
        (self.count * 4 * times) as u64
    }

    fn event(&self) -> Of {
        let is_bytes = matches!(self.coll, 0 | 2);
        // Initialise the whole union, as the library does.
        let mut of = Of { all: [0; 24] };
        of.coll = CollEvent {
            sequence: 0,
            func: FUNCTIONS[self.coll].as_ptr(),
            send: ptr::null(),
            receive: ptr::null_mut(),
            count: if is_bytes { self.count * 4 } else { self.count },
            root: 0,
            datatype: if is_bytes { c"ncclInt8" } else { c"ncclFloat32" }.as_ptr(),
            channels: self.channels,
            warps: 16,
            algorithm: ALGORITHMS[self.algorithm].as_ptr(),
            protocol: PROTOCOLS[self.protocol].as_ptr(),
            parent_group: ptr::null_mut(),
        };
        of
    }
}

/// The plugin's handle of an event; 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event(pub usize);

/// A communicator with the profiler's context.
#[derive(Clone, Copy)]
pub struct Profiler<'a> {
    functions: Functions,
    version: u32,
    context: usize,
    /// Not longer than the plugin is loaded.
    plugin: PhantomData<&'a Plugin>,
}

/// The functions of a profiler and the version as which they are called: those of the plugin, or of a library's own
/// wrapper around them.
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    /// The number of the version.
    pub version: u32,
    address: usize,
}

impl Interface {
    /// A wrapper at an address.
    ///
    /// # Safety
    /// At the address is a profiler of this version, and it stays there.
    pub(crate) const unsafe fn at(version: u32, address: usize) -> Self {
        Self { version, address }
    }
}

impl Plugin {
    /// The plugin's own profiler of a version.
    pub fn interface(&self, version: u32) -> Interface {
        let functions: &Functions = self.named(&format!("ncclProfiler_v{version}"));
        Interface { version, address: ptr::from_ref(functions) as usize }
    }

    /// Starts the profiler of a communicator, before the tuner as in the library.
    ///
    /// # Errors
    /// Returns the plugin's result, if it is not success.
    pub fn profile(&self, interface: Interface, comm: Comm, rank: i32) -> Result<Profiler<'_>, i32> {
        let Interface { version, address } = interface;
        let functions = address as *const Functions;
        let name = CString::new("group").unwrap_or_default();
        let mut context = ptr::null_mut();
        let (nodes, ranks) = (comm.nodes as c_int, comm.ranks as c_int);
        // SAFETY: the functions are of these types, as the headers say. A wrapper has all but the first only after
        // that.
        let (result, functions) = unsafe {
            let (init, mask) = ((*functions).init, MASK.as_ptr());
            let result = match version {
                1..=3 => std::mem::transmute::<*const c_void, InitV1>(init)(&raw mut context, mask),
                4 => std::mem::transmute::<*const c_void, InitV4>(init)(
                    &raw mut context,
                    mask,
                    name.as_ptr(),
                    comm.id,
                    nodes,
                    ranks,
                    rank,
                    Some(logger as Logger),
                ),
                _ => std::mem::transmute::<*const c_void, InitV5>(init)(
                    &raw mut context,
                    comm.id,
                    mask,
                    name.as_ptr(),
                    nodes,
                    ranks,
                    rank,
                    Some(logger as Logger),
                ),
            };
            (result, *functions)
        };
        let context = context as usize;
        if result == 0 { Ok(Profiler { functions, version, context, plugin: PhantomData }) } else { Err(result) }
    }
}

// SAFETY: the library calls it from several threads.
unsafe impl Send for Profiler<'_> {}
// SAFETY: as above.
unsafe impl Sync for Profiler<'_> {}

impl Profiler<'_> {
    /// The events that the plugin asked for, over all communicators of the process.
    pub fn mask() -> i32 {
        MASK.load(Ordering::Relaxed)
    }

    /// Whether the plugin returned a context.
    pub fn has_context(&self) -> bool {
        self.context != 0
    }

    fn start(&self, kind: u64, parent: usize, of: Of) -> Event {
        let mut handle = ptr::null_mut();
        let (context, parent) = (self.context as *mut c_void, parent as *mut c_void);
        // SAFETY: the descriptor is of the version.
        let result = unsafe {
            if self.version == 4 {
                let event = DescriptorV4 { kind: kind as u8, padding: [0xA5; 7], parent, rank: 0, of };
                (self.functions.start)(context, &raw mut handle, (&raw const event).cast())
            } else {
                let event = DescriptorV5 { kind, parent, rank: 0, of };
                (self.functions.start)(context, &raw mut handle, (&raw const event).cast())
            }
        };
        assert_eq!(result, 0);
        Event(handle as usize)
    }

    /// Reports a call of the application, from version 5 on.
    pub fn call(&self, captured: bool) {
        if self.version >= 5 && Self::mask() != 0 {
            let mut of = Of { all: [0; 24] };
            let func = FUNCTIONS[4].as_ptr();
            let datatype = c"ncclFloat32".as_ptr();
            of.api = ApiEvent { func, count: 1, datatype, root: 0, stream: ptr::null_mut(), captured };
            let api = self.start(COLL_API, 0, of);
            self.stop(api);
        }
    }

    /// Launches the collectives of a group; returns their events, some of which may be 0.
    pub fn launch(&self, launches: &[Launch]) -> Vec<Event> {
        let mut events = Vec::with_capacity(launches.len());
        self.launch_into(launches, &mut events);
        events
    }

    /// As [`Profiler::launch`], without allocation.
    pub fn launch_into(&self, launches: &[Launch], events: &mut Vec<Event>) {
        if Self::mask() == 0 {
            return;
        }
        let group = self.start(GROUP, 0, Of { all: [0; 24] });
        let first = events.len();
        for launch in launches {
            // Before 2.28, a group without a handle starts no events.
            let is_told = self.version > 4 || group != Event(0);
            events.push(if is_told { self.start(COLL, group.0, launch.event()) } else { Event(0) });
        }
        for event in &events[first..] {
            self.stop(*event);
        }
        self.stop(group);
    }

    /// Reports the start of a channel on the GPU.
    pub fn begin_channel(&self, of: Event, channel: u8, at: u64) -> Event {
        let mut event = Of { all: [0; 24] };
        event.kernel = KernelEvent { channel, timer: at };
        self.start(KERNEL_CHANNEL, of.0, event)
    }

    /// Reports the stop of a channel.
    pub fn end_channel(&self, channel: Event, at: u64) {
        if channel != Event(0) {
            // SAFETY: what the plugin gave out, and the argument of this state.
            let result = unsafe { (self.functions.record)(channel.0 as *mut c_void, CHANNEL_STOPS, &raw const *&[at]) };
            assert_eq!(result, 0);
            self.stop(channel);
        }
    }

    fn stop(&self, event: Event) {
        if event != Event(0) {
            // SAFETY: what the plugin gave out.
            let result = unsafe { (self.functions.stop)(event.0 as *mut c_void) };
            assert_eq!(result, 0);
        }
    }

    /// Ends the profiler; returns the plugin's result.
    pub fn end(self) -> i32 {
        if self.context == 0 {
            return 0;
        }
        // SAFETY: what the plugin gave out.
        unsafe { (self.functions.finalize)(self.context as *mut c_void) }
    }

    /// Passes null pointers, invalid numbers, and events of an ended communicator; returns whether nothing comes of
    /// them.
    pub fn survives_invalid_arguments(&self) -> bool {
        let mut handle = ptr::dangling_mut::<c_void>();
        let none = ptr::null_mut();
        let functions = self.functions;
        let mut results = Vec::new();
        // SAFETY: this is to be survived, that is what is tried.
        unsafe {
            results.push((functions.start)(none, &raw mut handle, ptr::null()));
            results.push((functions.start)(none, ptr::null_mut(), ptr::null()));
            for number in [0, 1, 2, 3, 7, 0xFFFF, 0x1_0000, usize::MAX, usize::MAX - 1, 0x0001_0000_0000_0002] {
                let made_up = number as *mut c_void;
                results.push((functions.record)(made_up, CHANNEL_STOPS, &raw const *&[5]));
                results.push((functions.record)(made_up, CHANNEL_STOPS, ptr::null()));
                results.push((functions.record)(made_up, -1, ptr::null()));
                results.push((functions.stop)(made_up));
                results.push((functions.finalize)((number & !1) as *mut c_void));
                let empty = Of { all: [0; 24] };
                let stale = Profiler { context: number & !0x1_0000, ..*self };
                for kind in [GROUP, COLL, KERNEL_CHANNEL, COLL_API, 4, 8, 1 << 12, u64::from(u8::MAX)] {
                    let _ = self.start(kind, number, empty);
                    let _ = stale.start(kind, number, empty);
                }
            }
        }
        results.iter().all(|result| *result == 0)
    }
}
