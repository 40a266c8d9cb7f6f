//! The tuner's interface as NCCL and RCCL declare it, versions 2 to 6.
//!
//! Source: NVIDIA/nccl, src/include/plugin/tuner/tuner_v2.h to tuner_v6.h (RCCL has the same). The library looks up the
//! highest version that it knows as a data symbol, so all of them are exported. Each returns a `ncclResult_t`; any
//! result but success makes the collective fail.

#![allow(unsafe_code, non_upper_case_globals)]

use std::{
    ffi::{c_char, c_double, c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    slice,
};

use crate::{
    context::{Context, Failure, Start},
    decision::{self, Availability, Call, Decision},
    library::{INTERNAL_ERROR, Level, Logger, LoggerFn, NAME, SUCCESS, silence_panics},
};

type Init =
    unsafe extern "C" fn(n_ranks: usize, n_nodes: usize, logger: Option<LoggerFn>, context: *mut *mut c_void) -> c_int;
type InitWithId = unsafe extern "C" fn(
    context: *mut *mut c_void,
    comm_id: u64,
    n_ranks: usize,
    n_nodes: usize,
    logger: Option<LoggerFn>,
    nvl_domain_info: *mut c_void,
    constants: *mut c_void,
) -> c_int;
type End = unsafe extern "C" fn(context: *mut c_void) -> c_int;
type GetCollInfoV2 = unsafe extern "C" fn(
    context: *mut c_void,
    coll: c_int,
    n_bytes: usize,
    coll_net_support: c_int,
    nvls_support: c_int,
    num_pipe_ops: c_int,
    algorithm: *mut c_int,
    protocol: *mut c_int,
    n_channels: *mut c_int,
) -> c_int;
type GetCollInfoV3 = unsafe extern "C" fn(
    context: *mut c_void,
    coll: c_int,
    n_bytes: usize,
    num_pipe_ops: c_int,
    table: *mut *mut f32,
    num_algo: c_int,
    num_proto: c_int,
    n_channels: *mut c_int,
) -> c_int;
type GetCollInfoV4 = unsafe extern "C" fn(
    context: *mut c_void,
    coll: c_int,
    n_bytes: usize,
    num_pipe_ops: c_int,
    table: *mut *mut f32,
    num_algo: c_int,
    num_proto: c_int,
    reg_buff: c_int,
    n_channels: *mut c_int,
) -> c_int;
type GetChunkSize = unsafe extern "C" fn(
    context: *mut c_void,
    coll: c_int,
    n_bytes: usize,
    algo: c_int,
    proto: c_int,
    n_channels: c_int,
    chunk_size: *mut usize,
) -> c_int;

/// `ncclTuner_v2_t`, and with a table of costs `ncclTuner_v3_t` and `ncclTuner_v4_t`.
#[repr(C)]
pub struct Tuner<GetCollInfo> {
    name: *const c_char,
    init: Init,
    get_coll_info: GetCollInfo,
    destroy: End,
}

/// `ncclTuner_v5_t`.
#[repr(C)]
pub struct TunerV5 {
    name: *const c_char,
    init: InitWithId,
    get_coll_info: GetCollInfoV4,
    finalize: End,
}

/// `ncclTuner_v6_t`.
#[repr(C)]
pub struct TunerV6 {
    name: *const c_char,
    init: InitWithId,
    get_coll_info: GetCollInfoV4,
    finalize: End,
    get_chunk_size: Option<GetChunkSize>,
}

// SAFETY: immutable; the name is a static string, the rest are functions.
unsafe impl<GetCollInfo: Sync> Sync for Tuner<GetCollInfo> {}
// SAFETY: as above.
unsafe impl Sync for TunerV5 {}
// SAFETY: as above.
unsafe impl Sync for TunerV6 {}

// SAFETY, for the symbols' names: they are those that the library looks up, and nobody else defines them in this file.
#[unsafe(no_mangle)]
pub static ncclTunerPlugin_v2: Tuner<GetCollInfoV2> =
    Tuner { name: NAME.as_ptr(), init, get_coll_info: get_coll_info_v2, destroy: end };
#[unsafe(no_mangle)]
pub static ncclTunerPlugin_v3: Tuner<GetCollInfoV3> =
    Tuner { name: NAME.as_ptr(), init, get_coll_info: get_coll_info_v3, destroy: end };
#[unsafe(no_mangle)]
pub static ncclTunerPlugin_v4: Tuner<GetCollInfoV4> =
    Tuner { name: NAME.as_ptr(), init, get_coll_info: get_coll_info_v4, destroy: end };
#[unsafe(no_mangle)]
pub static ncclTunerPlugin_v5: TunerV5 =
    TunerV5 { name: NAME.as_ptr(), init: init_with_id, get_coll_info: get_coll_info_v4, finalize: end };
#[unsafe(no_mangle)]
pub static ncclTunerPlugin_v6: TunerV6 = TunerV6 {
    name: NAME.as_ptr(),
    init: init_with_id,
    get_coll_info: get_coll_info_v4,
    finalize: end,
    get_chunk_size: Some(get_chunk_size),
};

unsafe extern "C" fn init(
    n_ranks: usize,
    n_nodes: usize,
    logger: Option<LoggerFn>,
    context: *mut *mut c_void,
) -> c_int {
    // SAFETY: the library's promise about its own pointer is passed on.
    unsafe { start(context, &Start { ranks: n_ranks, nodes: n_nodes, comm_id: None }, Logger(logger)) }
}

unsafe extern "C" fn init_with_id(
    context: *mut *mut c_void,
    comm_id: u64,
    n_ranks: usize,
    n_nodes: usize,
    logger: Option<LoggerFn>,
    _nvl_domain_info: *mut c_void,
    _constants: *mut c_void,
) -> c_int {
    // SAFETY: the library's promise about its own pointer is passed on.
    unsafe { start(context, &Start { ranks: n_ranks, nodes: n_nodes, comm_id: Some(comm_id) }, Logger(logger)) }
}

/// # Safety
/// `context` is null or may be written.
unsafe fn start(context: *mut *mut c_void, start: &Start, logger: Logger) -> c_int {
    if context.is_null() {
        return SUCCESS;
    }
    let begin = AssertUnwindSafe(|| {
        silence_panics();
        Context::start(start, logger).map(Box::new)
    });
    match catch_unwind(begin) {
        Ok(Ok(started)) => {
            // SAFETY: not null, and the library's own variable.
            unsafe { *context = Box::into_raw(started).cast() };
            SUCCESS
        }
        Ok(Err(failure)) => failure.code(),
        Err(_) => {
            logger.say(Level::Warn, c"collectune: internal error while starting; the communicator can't be created");
            INTERNAL_ERROR
        }
    }
}

unsafe extern "C" fn end(context: *mut c_void) -> c_int {
    if context.is_null() {
        return SUCCESS;
    }
    // SAFETY: made by Box::into_raw in `start`, and the library hands it over for the last time.
    let context = unsafe { Box::from_raw(context.cast::<Context>()) };
    match catch_unwind(AssertUnwindSafe(|| drop(context))) {
        Ok(()) => SUCCESS,
        Err(_) => INTERNAL_ERROR,
    }
}

/// Decides about a call and passes the decision to `apply`; for a null context nothing is applied.
///
/// # Safety
/// `context` is null or a pointer that `start` returned, and no other call with it is in progress.
unsafe fn decide(
    context: *mut c_void,
    call: &Call,
    available: &impl Availability,
    apply: impl FnOnce(Decision),
) -> c_int {
    // SAFETY: the caller's promise.
    let Some(context) = (unsafe { context.cast::<Context>().as_mut() }) else { return SUCCESS };
    let answer = catch_unwind(AssertUnwindSafe(|| context.decide(call, available)));
    match answer {
        Ok(Ok(answer)) => {
            apply(answer);
            SUCCESS
        }
        Ok(Err(failure)) => failure.code(),
        Err(_) => match catch_unwind(AssertUnwindSafe(|| context.fail(Failure::Internal))) {
            Ok(failure) => failure.code(),
            Err(_) => INTERNAL_ERROR,
        },
    }
}

/// The library's table of costs: declared as `float**`, in fact one block of floats with a row for each algorithm.
struct Costs<'a> {
    entries: &'a mut [f32],
    protocols: usize,
}

impl Costs<'_> {
    fn index(&self, algorithm: u8, protocol: u8) -> Option<usize> {
        let (algorithm, protocol) = (usize::from(algorithm), usize::from(protocol));
        (protocol < self.protocols).then_some(algorithm * self.protocols + protocol)
    }
}

impl Availability for Costs<'_> {
    /// Entries below zero (−1.0) mark combinations that can't run.
    fn has(&self, algorithm: u8, protocol: u8) -> bool {
        self.index(algorithm, protocol).and_then(|index| self.entries.get(index)).is_some_and(|cost| *cost >= 0.0)
    }
}

/// The most rows and columns that are accepted; libraries have fewer.
const MOST_ALGORITHMS: c_int = 64;
const MOST_PROTOCOLS: c_int = 16;

unsafe extern "C" fn get_coll_info_v3(
    context: *mut c_void,
    coll: c_int,
    n_bytes: usize,
    num_pipe_ops: c_int,
    table: *mut *mut f32,
    num_algo: c_int,
    num_proto: c_int,
    n_channels: *mut c_int,
) -> c_int {
    // SAFETY: the library's promises about its own arguments are passed on.
    unsafe { get_coll_info_v4(context, coll, n_bytes, num_pipe_ops, table, num_algo, num_proto, 0, n_channels) }
}

/// `reg_buff` is ignored, because it can differ between ranks.
unsafe extern "C" fn get_coll_info_v4(
    context: *mut c_void,
    coll: c_int,
    n_bytes: usize,
    num_pipe_ops: c_int,
    table: *mut *mut f32,
    num_algo: c_int,
    num_proto: c_int,
    _reg_buff: c_int,
    n_channels: *mut c_int,
) -> c_int {
    let entries = table.cast::<f32>();
    let is_table = (1..=MOST_ALGORITHMS).contains(&num_algo) && (1..=MOST_PROTOCOLS).contains(&num_proto);
    if entries.is_null() || !entries.is_aligned() || !is_table || n_channels.is_null() {
        return SUCCESS;
    }
    let protocols = num_proto as usize;
    // SAFETY: the library hands over a block of num_algo × num_proto floats that is its own until the call returns.
    let entries = unsafe { slice::from_raw_parts_mut(entries, num_algo as usize * protocols) };
    let costs = Costs { entries, protocols };
    // SAFETY: not null, and the library's own variable.
    let n_channels = unsafe { &mut *n_channels };
    let call = Call { coll, bytes: n_bytes as u64, pipe_ops: num_pipe_ops };
    // Apply the decision after the table has been read.
    let mut answer = Decision::DEFER;
    // SAFETY: the library's promise about its context is passed on.
    let result = unsafe { decide(context, &call, &costs, |decided| answer = decided) };
    if let Some((algorithm, protocol)) = answer.pair
        && let Some(index) = costs.index(algorithm, protocol)
        && let Some(entry) = costs.entries.get_mut(index)
    {
        *entry = 0.0;
    }
    if let Some(channels) = answer.channels {
        *n_channels = c_int::from(channels);
    }
    result
}

/// The combinations that version 2 may be given: it passes no table, and the library does not check the answer.
struct Unchecked {
    coll: c_int,
    ll128: bool,
}

impl Availability for Unchecked {
    fn has(&self, algorithm: u8, protocol: u8) -> bool {
        const TREE: u8 = 0;
        const RING: u8 = 1;
        const LL128: u8 = 1;
        const ALLREDUCE: c_int = 4;
        let algorithm = algorithm == RING || algorithm == TREE && self.coll == ALLREDUCE;
        algorithm && protocol <= 2 && (protocol != LL128 || self.ll128)
    }
}

unsafe extern "C" fn get_coll_info_v2(
    context: *mut c_void,
    coll: c_int,
    n_bytes: usize,
    _coll_net_support: c_int,
    _nvls_support: c_int,
    num_pipe_ops: c_int,
    algorithm: *mut c_int,
    protocol: *mut c_int,
    n_channels: *mut c_int,
) -> c_int {
    if algorithm.is_null() || protocol.is_null() || n_channels.is_null() {
        return SUCCESS;
    }
    // SAFETY: null or what `start` gave out, and no other call with it is under way.
    let v2 = unsafe { context.cast::<Context>().as_ref() }.map(Context::v2).unwrap_or_default();
    if v2.is_forced {
        return SUCCESS;
    }
    let call = Call { coll, bytes: n_bytes as u64, pipe_ops: num_pipe_ops };
    let mut answer = Decision::DEFER;
    // SAFETY: the library's promise about its context is passed on.
    let result =
        unsafe { decide(context, &call, &Unchecked { coll, ll128: v2.has_ll128 }, |decided| answer = decided) };
    if let Some((chosen, with)) = answer.pair {
        // SAFETY: not null, and the library's own variables.
        unsafe { (*algorithm, *protocol) = (c_int::from(chosen), c_int::from(with)) };
    }
    if let Some(channels) = answer.channels {
        // SAFETY: as above.
        unsafe { *n_channels = c_int::from(channels) };
    }
    result
}

/// `n_bytes` are those of one channel, which the library passes with `_n_channels` 1, up to three times for a
/// collective. Where nothing is given, its own size stays.
unsafe extern "C" fn get_chunk_size(
    context: *mut c_void,
    coll: c_int,
    n_bytes: usize,
    algo: c_int,
    proto: c_int,
    _n_channels: c_int,
    chunk_size: *mut usize,
) -> c_int {
    // SAFETY: null or what `start` gave out, and no other call with it is under way.
    let context = unsafe { context.cast::<Context>().as_ref() };
    let chunk_bytes = context.and_then(|context| context.chunk_bytes(coll, algo, proto, n_bytes as u64));
    // SAFETY: null or the library's own variable.
    if let (Some(chunk_bytes), Some(chunk_size)) = (chunk_bytes, unsafe { chunk_size.as_mut() }) {
        *chunk_size = chunk_bytes;
    }
    SUCCESS
}

/// Returns the last decision of the calling thread: the number of the call of its key, the arm, the probability with
/// which it was chosen, and the generation of the policy. The result is 0, or 1 where no policy decided.
///
/// # Safety
/// Each pointer is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn collectune_tuner_last_decision(
    call: *mut u64,
    arm: *mut u32,
    propensity: *mut c_double,
    generation: *mut u64,
) -> c_int {
    let Some(last) = decision::last() else { return 1 };
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(place) = call.as_mut() {
            *place = last.call;
        }
        if let Some(place) = arm.as_mut() {
            *place = last.arm;
        }
        if let Some(place) = propensity.as_mut() {
            *place = last.propensity;
        }
        if let Some(place) = generation.as_mut() {
            *place = last.generation;
        }
    }
    0
}
