//! A thread beside the library's. The standard library's own takes a dozen functions of glibc 2.34, where they moved into the
//! C library; these two are taken as older machines have them.

#![allow(unsafe_code)]

use std::{
    ffi::{c_ulong, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

use crate::pthread::Join;

type Job = Box<dyn FnOnce() + Send>;

#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
use crate::older_glibc::threads;

#[cfg(not(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64"))))]
use crate::pthread::threads;

/// A thread that must be waited for.
pub struct Thread {
    name: c_ulong,
    join: Join,
}

impl Thread {
    /// Begins one; a panic ends it and nothing else.
    pub fn begin(job: impl FnOnce() + Send + 'static) -> Option<Self> {
        let (create, join) = threads()?;
        let job: Box<Job> = Box::new(Box::new(job));
        let argument = Box::into_raw(job);
        let mut name = 0;
        // SAFETY: the function takes the box over; the thread's name is written before it returns.
        let result = unsafe { create(&raw mut name, ptr::null(), enter, argument.cast()) };
        if result == 0 {
            return Some(Self { name, join });
        }
        // SAFETY: no thread took it.
        drop(unsafe { Box::from_raw(argument) });
        None
    }

    /// Waits for its end.
    pub fn join(self) {
        // SAFETY: it was begun, and is waited for once.
        unsafe { (self.join)(self.name, ptr::null_mut()) };
    }
}

extern "C" fn enter(argument: *mut c_void) -> *mut c_void {
    // SAFETY: `begin` handed the box over.
    let job = unsafe { Box::from_raw(argument.cast::<Job>()) };
    // A panic may not leave a function of C.
    let _ = catch_unwind(AssertUnwindSafe(job));
    ptr::null_mut()
}
