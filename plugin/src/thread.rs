//! Starts threads. The standard library's threads need a dozen functions of glibc 2.34, where they moved into the C
//! library; the two functions used here exist in older versions.

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

/// A running thread, which must be joined.
pub struct Thread {
    name: c_ulong,
    join: Join,
}

impl Thread {
    /// Starts a thread; a panic ends only the thread. `None` where none can be started.
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
        // SAFETY: no thread was started, so the box still belongs to this function.
        drop(unsafe { Box::from_raw(argument) });
        None
    }

    /// Waits for the end of the thread.
    pub fn join(self) {
        // SAFETY: the thread was started, and `self` is consumed, so it is joined only once.
        unsafe { (self.join)(self.name, ptr::null_mut()) };
    }
}

extern "C" fn enter(argument: *mut c_void) -> *mut c_void {
    // SAFETY: `begin` handed the box over.
    let job = unsafe { Box::from_raw(argument.cast::<Job>()) };
    // A panic must not unwind out of a function that C calls.
    let _ = catch_unwind(AssertUnwindSafe(job));
    ptr::null_mut()
}
