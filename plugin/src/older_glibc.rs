//! What Rust's standard library takes of glibc from versions after 2.28, as calls of the kernel, so that the plugin
//! loads on machines of that age: `gettid` came with 2.30, `stat64` and `fstat64` became symbols of the library with
//! 2.33; functions of threads, which moved into the C library with 2.34, are taken by the version that they had before.
//!
//! The names stay inside the plugin: they are hidden, so the process that loads it keeps its own.

#![allow(unsafe_code)]

use std::{
    arch::global_asm,
    ffi::{c_char, c_int, c_long, c_void},
};

use crate::pthread::{Create, Join};

#[cfg(target_arch = "x86_64")]
mod number {
    use super::c_long;

    pub const NEWFSTATAT: c_long = 262;
    pub const GETTID: c_long = 186;
}

/// Numbers of the system call table that newer architectures share (include/uapi/asm-generic/unistd.h).
#[cfg(target_arch = "aarch64")]
mod number {
    use super::c_long;

    pub const NEWFSTATAT: c_long = 79;
    pub const GETTID: c_long = 178;
}

/// Relative to the working directory.
const AT_FDCWD: c_int = -100;
/// The file descriptor itself, with an empty path.
const AT_EMPTY_PATH: c_int = 0x1000;

unsafe extern "C" {
    /// Sets `errno` as the library's own functions do.
    fn syscall(number: c_long, ...) -> c_long;
}

// On both architectures `struct stat64` is what the kernel writes.
unsafe extern "C" fn stat64(path: *const c_char, buffer: *mut c_void) -> c_int {
    // SAFETY: the caller's pointers are handed over as they are, under the same conditions.
    unsafe { syscall(number::NEWFSTATAT, AT_FDCWD, path, buffer, 0) as c_int }
}

unsafe extern "C" fn fstat64(file: c_int, buffer: *mut c_void) -> c_int {
    // SAFETY: as above; the path is empty and ends.
    unsafe { syscall(number::NEWFSTATAT, file, c"".as_ptr(), buffer, AT_EMPTY_PATH) as c_int }
}

unsafe extern "C" fn gettid() -> c_int {
    // SAFETY: it takes nothing.
    unsafe { syscall(number::GETTID) as c_int }
}

#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp {to}"
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b {to}"
    };
}

macro_rules! hidden {
    ($name:literal, $to:path) => {
        global_asm!(
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            jump!(),
            to = sym $to,
        );
    };
}

hidden!("stat64", stat64);
hidden!("fstat64", fstat64);
hidden!("gettid", gettid);

#[cfg(target_arch = "x86_64")]
macro_rules! first_version {
    () => {
        "GLIBC_2.2.5"
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! first_version {
    () => {
        "GLIBC_2.17"
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! answer_address {
    ($name:literal) => {
        concat!("mov rax, qword ptr [rip + ", $name, "@GOTPCREL]\nret")
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! answer_address {
    ($name:literal) => {
        concat!("adrp x0, :got:", $name, "\nldr x0, [x0, :got_lo12:", $name, "]\nret")
    };
}

/// Defines a function that returns the address of a function in the version of the machine's first glibc, which all
/// later ones keep; 0 where the process has none: before glibc 2.34 it is in a library of its own, which a program may
/// be linked without.
macro_rules! first {
    ($own:literal, $outside:literal, $name:literal) => {
        global_asm!(
            concat!(".symver ", $outside, ", ", $name, "@", first_version!()),
            concat!(".weak ", $outside),
            concat!(".globl ", $own),
            concat!(".hidden ", $own),
            concat!(".type ", $own, ", @function"),
            concat!($own, ":"),
            answer_address!($outside),
        );
    };
}

first!("collectune_where_pthread_create_is", "collectune_pthread_create", "pthread_create");
first!("collectune_where_pthread_join_is", "collectune_pthread_join", "pthread_join");

unsafe extern "C" {
    safe fn collectune_where_pthread_create_is() -> usize;
    safe fn collectune_where_pthread_join_is() -> usize;
}

/// `pthread_create` and `pthread_join` of the running C library.
pub fn threads() -> Option<(Create, Join)> {
    let (create, join) = (collectune_where_pthread_create_is(), collectune_where_pthread_join_is());
    // SAFETY: a function of this type lies there unless it is 0, which is the type's `None`.
    unsafe {
        std::mem::transmute::<usize, Option<Create>>(create).zip(std::mem::transmute::<usize, Option<Join>>(join))
    }
}
