//! Counts what anybody in the process allocates, the plugin included: the program's own `malloc` goes before that of
//! the C library, which does the work.

#![allow(unsafe_code)]

use std::{
    ffi::{c_int, c_void},
    sync::atomic::{AtomicU64, Ordering},
};

static COUNT: AtomicU64 = AtomicU64::new(0);

/// The number of allocations so far.
pub fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

fn increment() {
    COUNT.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: the functions of glibc under their other names.
unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
}

#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    increment();
    // SAFETY: as malloc.
    unsafe { __libc_malloc(size) }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    increment();
    // SAFETY: as calloc.
    unsafe { __libc_calloc(count, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    increment();
    // SAFETY: as realloc, with the caller's promise.
    unsafe { __libc_realloc(block, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    const NO_MEMORY: c_int = 12;
    increment();
    // SAFETY: as posix_memalign, with the caller's promise.
    unsafe {
        *block = __libc_memalign(alignment, size);
        if (*block).is_null() { NO_MEMORY } else { 0 }
    }
}
