//! The types of the thread functions of the C library.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_ulong, c_void};

/// The function that a thread runs.
pub type Enter = extern "C" fn(*mut c_void) -> *mut c_void;
/// The type of `pthread_create`.
pub type Create = unsafe extern "C" fn(*mut c_ulong, *const c_void, Enter, *mut c_void) -> c_int;
/// The type of `pthread_join`.
pub type Join = unsafe extern "C" fn(c_ulong, *mut *mut c_void) -> c_int;

/// `pthread_create` and `pthread_join` as this target links them.
#[cfg(not(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub fn threads() -> Option<(Create, Join)> {
    unsafe extern "C" {
        fn pthread_create(thread: *mut c_ulong, how: *const c_void, enter: Enter, argument: *mut c_void) -> c_int;
        fn pthread_join(thread: c_ulong, result: *mut *mut c_void) -> c_int;
    }
    Some((pthread_create, pthread_join))
}
