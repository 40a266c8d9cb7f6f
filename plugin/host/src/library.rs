//! The tuner interface from the library's side, versions 2 to 6.
//!
//! Source: NVIDIA/nccl, src/include/plugin/tuner/tuner_v2.h to tuner_v6.h, and for version 2
//! src/plugin/tuner/tuner_v2.cc.

#![allow(unsafe_code)]

use std::{
    cell::RefCell,
    ffi::{CStr, OsStr, OsString, c_char, c_double, c_int, c_ulong, c_void},
    ptr,
};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::table::{IGNORE, Table};

/// A version of the tuner's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Since NCCL 2.21.
    V2,
    /// Since NCCL 2.22.
    V3,
    /// Since NCCL 2.24.
    V4,
    /// Since NCCL 2.28.
    V5,
    /// Since NCCL 2.30.
    V6,
}

impl Version {
    /// All versions, the oldest first.
    pub const ALL: [Self; 5] = [Self::V2, Self::V3, Self::V4, Self::V5, Self::V6];

    /// The number of the version.
    pub const fn number(self) -> u32 {
        self as u32 + 2
    }

    /// The version with a number; `None` for an unknown one.
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.number() == number)
    }
}

/// The library's description of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comm {
    /// The identifier, equal on all ranks.
    pub id: u64,
    /// Number of ranks.
    pub ranks: usize,
    /// Number of nodes.
    pub nodes: usize,
}

/// The last decision of the plugin, as the application asks for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastDecision {
    /// The number of the call of its key, from 0.
    pub call: u64,
    /// The index of the arm.
    pub arm: u32,
    /// The probability with which the arm was chosen.
    pub propensity: f64,
    /// The generation of the policy.
    pub generation: u64,
}

/// A message of the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The level: 2 for WARN, 3 for INFO.
    pub level: i32,
    /// The text of the message.
    pub text: String,
}

thread_local! {
    static MESSAGES: RefCell<Vec<Message>> = const { RefCell::new(Vec::new()) };
}

/// The library's logger. It is declared without variadic arguments, which Rust can't define; the calling conventions of
/// Linux on x86-64 and AArch64 pass pointers in the same way.
pub(crate) unsafe extern "C" fn logger(
    level: c_int,
    subsystem: c_ulong,
    file: *const c_char,
    _line: c_int,
    format: *const c_char,
    text: *const c_char,
) {
    assert!(subsystem == 0x40 && !file.is_null());
    // SAFETY: strings that live through the call.
    let (format, text) = unsafe { (CStr::from_ptr(format), CStr::from_ptr(text)) };
    assert!(format == c"%s", "{format:?}");
    let text = text.to_string_lossy().into_owned();
    MESSAGES.with_borrow_mut(|all| all.push(Message { level, text }));
}

pub(crate) type Logger = unsafe extern "C" fn(c_int, c_ulong, *const c_char, c_int, *const c_char, *const c_char);
type Init = unsafe extern "C" fn(usize, usize, Option<Logger>, *mut *mut c_void) -> c_int;
type InitV5 = unsafe extern "C" fn(
    *mut *mut c_void,
    u64,
    usize,
    usize,
    Option<Logger>,
    *mut NvlDomainInfo,
    *mut Constants,
) -> c_int;
type AskV2 =
    unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, c_int, c_int, *mut c_int, *mut c_int, *mut c_int) -> c_int;
type AskV3 = unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, *mut *mut f32, c_int, c_int, *mut c_int) -> c_int;
type AskV4 =
    unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, *mut *mut f32, c_int, c_int, c_int, *mut c_int) -> c_int;
type AskChunk = unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, c_int, c_int, *mut usize) -> c_int;
type End = unsafe extern "C" fn(*mut c_void) -> c_int;
type Last = unsafe extern "C" fn(*mut u64, *mut u32, *mut c_double, *mut u64) -> c_int;

#[repr(C)]
struct TunerV2 {
    name: *const c_char,
    init: Init,
    ask: AskV2,
    end: End,
}

#[repr(C)]
struct TunerV3 {
    name: *const c_char,
    init: Init,
    ask: AskV3,
    end: End,
}

#[repr(C)]
struct TunerV4 {
    name: *const c_char,
    init: Init,
    ask: AskV4,
    end: End,
}

#[repr(C)]
struct TunerV5 {
    name: *const c_char,
    init: InitV5,
    ask: AskV4,
    end: End,
}

#[repr(C)]
struct TunerV6 {
    v5: TunerV5,
    ask_chunk: Option<AskChunk>,
}

const _: () = assert!(size_of::<TunerV2>() == 32 && size_of::<TunerV5>() == 32 && size_of::<TunerV6>() == 40);

/// `ncclNvlDomainInfo_v5_t`.
#[repr(C)]
struct NvlDomainInfo([c_int; 3]);

/// `ncclTunerConstants_v5_t`.
#[repr(C)]
#[derive(Clone, PartialEq)]
struct Constants {
    base_latencies: [[c_double; 3]; 7],
    hw_latencies: [[[c_double; 3]; 7]; 3],
    bandwidths: [[[c_double; 3]; 4]; 5],
}

const _: () = assert!(size_of::<Constants>() == 1152);

/// The loaded plugin.
pub struct Plugin {
    // Never unloaded before the entries, which point into it.
    library: Library,
    path: OsString,
    /// The address of a wrapper around the plugin's tuner.
    elsewhere: Option<usize>,
}

impl Plugin {
    /// Loads the plugin as the library does.
    ///
    /// # Errors
    /// Returns the loader's message.
    pub fn open(path: impl AsRef<OsStr>) -> Result<Self, String> {
        // SAFETY: the plugin runs no code when it is loaded.
        let library = unsafe { Library::open(Some(path.as_ref()), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(|error| error.to_string())?;
        Ok(Self { library, path: path.as_ref().to_owned(), elsewhere: None })
    }

    fn symbol<T>(&self, version: Version) -> &T {
        if let Some(address) = self.elsewhere {
            // SAFETY: promised by who said that it lies there.
            return unsafe { &*(address as *const T) };
        }
        self.named(&format!("ncclTunerPlugin_v{}", version.number()))
    }

    /// The symbol of a name.
    pub(crate) fn named<T>(&self, name: &str) -> &T {
        // SAFETY: the symbol of this version is of this type, and lives as long as the library.
        unsafe {
            let symbol = self.library.get::<*const T>(name.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
            &*symbol.into_raw().cast::<T>()
        }
    }

    /// The name in the plugin's tuner table.
    pub fn name(&self, version: Version) -> String {
        // SAFETY: every version begins with a string.
        unsafe { CStr::from_ptr(*self.symbol::<*const c_char>(version)) }.to_string_lossy().into_owned()
    }

    /// The handle of `dlopen`.
    pub(crate) fn handle(&self) -> *mut c_void {
        // SAFETY: opening what is open only counts; it stays open.
        let again = unsafe { Library::open(Some(&self.path), RTLD_NOW | RTLD_LOCAL) };
        again.map_or(ptr::null_mut(), Library::into_raw)
    }

    /// The address of the tuner of a version.
    pub fn address(&self, version: Version) -> usize {
        ptr::from_ref(self.symbol::<*const c_char>(version)) as usize
    }

    /// The same plugin, called through a tuner at another address.
    ///
    /// # Safety
    /// At the address is a tuner of the version that is used from now on, and it stays there.
    pub(crate) unsafe fn through(&self, address: usize) -> Result<Self, String> {
        Ok(Self { elsewhere: Some(address), ..Self::open(&self.path)? })
    }

    fn tuner(&self, version: Version) -> Tuner<'_> {
        match version {
            Version::V2 => Tuner::V2(self.symbol(version)),
            Version::V3 => Tuner::V3(self.symbol(version)),
            Version::V4 => Tuner::V4(self.symbol(version)),
            Version::V5 | Version::V6 => Tuner::V5(self.symbol(version)),
        }
    }

    /// Creates a communicator. With `logs`, the messages are kept for [`messages`].
    ///
    /// # Errors
    /// Returns the plugin's result, if it is not success.
    pub fn init(&self, version: Version, comm: Comm, logs: bool) -> Result<Communicator<'_>, i32> {
        let logger = logs.then_some(logger as Logger);
        let mut context = ptr::null_mut();
        let mut constants = Constants {
            base_latencies: [[1.5; 3]; 7],
            hw_latencies: [[[2.5; 3]; 7]; 3],
            bandwidths: [[[3.5; 3]; 4]; 5],
        };
        let before = constants.clone();
        let mut info = NvlDomainInfo([1, 8, 8]);
        let tuner = self.tuner(version);
        // SAFETY: as the headers say; nulls are allowed and tried as well.
        let result = unsafe {
            match tuner {
                Tuner::V2(TunerV2 { init, .. }) | Tuner::V3(TunerV3 { init, .. }) | Tuner::V4(TunerV4 { init, .. }) => {
                    init(comm.ranks, comm.nodes, logger, &raw mut context)
                }
                Tuner::V5(tuner) => {
                    let (info, constants): (*mut NvlDomainInfo, *mut Constants) =
                        if logs { (&raw mut info, &raw mut constants) } else { (ptr::null_mut(), ptr::null_mut()) };
                    (tuner.init)(&raw mut context, comm.id, comm.ranks, comm.nodes, logger, info, constants)
                }
            }
        };
        assert!(constants == before && info.0 == [1, 8, 8], "the constants are the library's");
        let ask_chunk = (version == Version::V6).then(|| self.symbol::<TunerV6>(version).ask_chunk).flatten();
        if result == 0 { Ok(Communicator { tuner, context, ask_chunk }) } else { Err(result) }
    }

    /// The last decision of the calling thread.
    pub fn last_decision(&self) -> Option<LastDecision> {
        let mut last = LastDecision { call: 0, arm: 0, propensity: 0.0, generation: 0 };
        // SAFETY: the function is of this type and writes through the pointers.
        let result = unsafe {
            let function = self.library.get::<Last>(b"collectune_tuner_last_decision");
            let function = function.unwrap_or_else(|error| panic!("{error}"));
            assert!(function(ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut()) < 2);
            function(&raw mut last.call, &raw mut last.arm, &raw mut last.propensity, &raw mut last.generation)
        };
        (result == 0).then_some(last)
    }
}

/// Takes the plugin's messages in the calling thread since the last call.
pub fn messages() -> Vec<Message> {
    MESSAGES.take()
}

/// The functions of a version.
#[derive(Clone, Copy)]
enum Tuner<'a> {
    V2(&'a TunerV2),
    V3(&'a TunerV3),
    V4(&'a TunerV4),
    V5(&'a TunerV5),
}

/// A communicator with the plugin's context.
pub struct Communicator<'a> {
    tuner: Tuner<'a>,
    context: *mut c_void,
    ask_chunk: Option<AskChunk>,
}

// SAFETY: the library creates communicators in one thread and uses them in another, one call at a time.
unsafe impl Send for Communicator<'_> {}

impl Communicator<'_> {
    /// Asks about a collective; the plugin changes the table. Returns the number of channels, 0 for the library's
    /// choice.
    ///
    /// # Errors
    /// Returns the plugin's result, if it is not success.
    pub fn ask(&mut self, coll: i32, bytes: u64, pipe_ops: i32, reg_buff: i32, table: &mut Table) -> Result<i32, i32> {
        let mut channels: c_int = 0;
        let (algorithms, protocols) = (table.algorithms as c_int, table.protocols as c_int);
        let block = table.entries_mut().as_mut_ptr().cast::<*mut f32>();
        let (context, bytes) = (self.context, bytes as usize);
        // SAFETY: as the headers say.
        let result = unsafe {
            match self.tuner {
                Tuner::V2(tuner) => return self.ask_v2(tuner, coll, bytes, pipe_ops, table),
                Tuner::V3(tuner) => {
                    (tuner.ask)(context, coll, bytes, pipe_ops, block, algorithms, protocols, &raw mut channels)
                }
                Tuner::V4(TunerV4 { ask, .. }) | Tuner::V5(TunerV5 { ask, .. }) => {
                    ask(context, coll, bytes, pipe_ops, block, algorithms, protocols, reg_buff, &raw mut channels)
                }
            }
        };
        if result == 0 { Ok(channels) } else { Err(result) }
    }

    /// Asks for the size of a chunk as the library does: with one channel, its bytes, and the library's own size.
    /// `None` if this version of the interface does not ask.
    ///
    /// # Panics
    /// If the plugin fails, or writes beside the size.
    pub fn ask_chunk(&mut self, coll: i32, bytes: u64, algorithm: i32, protocol: i32, own: usize) -> Option<usize> {
        const GUARD: usize = 0x5AA5_5AA5;
        let mut words = [GUARD, own, GUARD];
        // SAFETY: as the header says.
        let result =
            unsafe { (self.ask_chunk?)(self.context, coll, bytes as usize, algorithm, protocol, 1, &raw mut words[1]) };
        assert!(result == 0 && words[0] == GUARD && words[2] == GUARD, "answered {result}: {words:?}");
        Some(words[1])
    }

    /// Asks for chunk sizes with invalid arguments; returns whether nothing changed.
    fn survives_invalid_chunks(&self) -> bool {
        let Some(ask) = self.ask_chunk else { return true };
        let (context, none) = (self.context, ptr::null_mut());
        let mut size = 77;
        // SAFETY: nulls and wrong numbers are to be survived, that is what is tried.
        let results = unsafe {
            [
                ask(none, 4, 1024, 1, 2, 1, &raw mut size),
                ask(context, 4, 1024, 1, 2, 1, ptr::null_mut()),
                ask(context, 5, 1024, 1, 2, 1, &raw mut size),
                ask(context, i32::MIN, 0, i32::MAX, i32::MIN, 0, &raw mut size),
                ask(context, 4, usize::MAX, 99, 2, -1, &raw mut size),
            ]
        };
        size == 77 && results.iter().all(|result| *result == 0)
    }

    /// As the library's own wrapper around version 2: the chosen combination becomes the cheapest unless it can't run.
    fn ask_v2(&self, tuner: &TunerV2, coll: i32, bytes: usize, pipe_ops: i32, table: &mut Table) -> Result<i32, i32> {
        let (mut algorithm, mut protocol, mut channels): (c_int, c_int, c_int) = (-1, -1, 0);
        // SAFETY: as the header says.
        let result = unsafe {
            (tuner.ask)(
                self.context,
                coll,
                bytes,
                0,
                0,
                pipe_ops,
                &raw mut algorithm,
                &raw mut protocol,
                &raw mut channels,
            )
        };
        assert_eq!(algorithm < 0, protocol < 0, "both or neither");
        if let (Ok(algorithm), Ok(protocol)) = (usize::try_from(algorithm), usize::try_from(protocol)) {
            assert!(algorithm < table.algorithms && protocol < table.protocols);
            let place = algorithm * table.protocols + protocol;
            let entry = &mut table.entries_mut()[place];
            if entry.to_bits() != IGNORE.to_bits() {
                *entry = 0.0;
            }
        }
        if result == 0 { Ok(channels) } else { Err(result) }
    }

    /// Calls the plugin with invalid arguments; returns whether nothing changed.
    pub fn survives_invalid_arguments(&mut self) -> bool {
        let mut channels: c_int = 0;
        let mut table = Table::new(7, 3);
        let before = table.entries().to_vec();
        let block = table.entries_mut().as_mut_ptr().cast::<*mut f32>();
        let (context, none) = (self.context, ptr::null_mut());
        // SAFETY: nulls and wrong numbers are to be survived, that is what is tried.
        let results = unsafe {
            match self.tuner {
                Tuner::V2(TunerV2 { ask, .. }) => {
                    let (mut a, mut p): (c_int, c_int) = (-1, -1);
                    vec![
                        ask(ptr::null_mut(), 4, 1024, 0, 0, 1, &raw mut a, &raw mut p, &raw mut channels),
                        ask(context, 4, 1024, 0, 0, 1, ptr::null_mut(), &raw mut p, &raw mut channels),
                        ask(context, 4, 1024, 0, 0, 1, &raw mut a, ptr::null_mut(), &raw mut channels),
                        ask(context, 4, 1024, 0, 0, 1, &raw mut a, &raw mut p, ptr::null_mut()),
                        ask(context, 5, 1024, 0, 0, 1, &raw mut a, &raw mut p, &raw mut channels),
                        ask(context, -1, 1024, 0, 0, 1, &raw mut a, &raw mut p, &raw mut channels),
                        i32::from(a != -1 || p != -1),
                    ]
                }
                Tuner::V3(TunerV3 { ask, .. }) => {
                    vec![
                        ask(none, 4, 1024, 1, block, 7, 3, &raw mut channels),
                        ask(context, 4, 1024, 1, ptr::null_mut(), 7, 3, &raw mut channels),
                        ask(context, 4, 1024, 1, block, 7, 3, ptr::null_mut()),
                        ask(context, 4, 1024, 1, block, 0, 3, &raw mut channels),
                        ask(context, 4, 1024, 1, block, 7, -3, &raw mut channels),
                        ask(context, 4, 1024, 1, block, i32::MAX, i32::MAX, &raw mut channels),
                        ask(context, 5, 1024, 1, block, 7, 3, &raw mut channels),
                        ask(context, i32::MIN, 1024, 1, block, 7, 3, &raw mut channels),
                    ]
                }
                Tuner::V4(TunerV4 { ask, .. }) | Tuner::V5(TunerV5 { ask, .. }) => {
                    vec![
                        ask(none, 4, 1024, 1, block, 7, 3, 0, &raw mut channels),
                        ask(context, 4, 1024, 1, ptr::null_mut(), 7, 3, 0, &raw mut channels),
                        ask(context, 4, 1024, 1, block, 7, 3, 0, ptr::null_mut()),
                        ask(context, 4, 1024, 1, block, -7, 3, 0, &raw mut channels),
                        ask(context, 4, 1024, 1, block, 7, 0, 0, &raw mut channels),
                        ask(context, 4, 1024, 1, block, i32::MAX, i32::MAX, 0, &raw mut channels),
                        ask(context, 5, 1024, 1, block, 7, 3, 0, &raw mut channels),
                        ask(context, i32::MAX, 1024, 1, block, 7, 3, 0, &raw mut channels),
                    ]
                }
            }
        };
        let unchanged = table.entries().iter().zip(&before).all(|(now, before)| now.to_bits() == before.to_bits());
        unchanged
            && self.survives_invalid_chunks()
            && table.guards_are_intact()
            && channels == 0
            && results.iter().all(|result| *result == 0)
    }

    /// Destroys the communicator; returns the plugin's result.
    pub fn end(self) -> i32 {
        // SAFETY: the context is handed over for the last time.
        unsafe {
            match self.tuner {
                Tuner::V2(TunerV2 { end, .. })
                | Tuner::V3(TunerV3 { end, .. })
                | Tuner::V4(TunerV4 { end, .. })
                | Tuner::V5(TunerV5 { end, .. }) => end(self.context),
            }
        }
    }
}

/// Creates and destroys communicators with null pointers; returns whether the plugin survives.
pub fn survives_null_contexts(plugin: &Plugin) -> bool {
    // SAFETY: nulls are to be survived, that is what is tried.
    unsafe {
        let v2 = plugin.symbol::<TunerV2>(Version::V2);
        let v6 = plugin.symbol::<TunerV5>(Version::V6);
        (v2.init)(8, 1, None, ptr::null_mut()) == 0
            && (v6.init)(ptr::null_mut(), 1, 8, 1, None, ptr::null_mut(), ptr::null_mut()) == 0
            && (v2.end)(ptr::null_mut()) == 0
            && (v6.end)(ptr::null_mut()) == 0
    }
}
