//! What the tuner's and the profiler's interfaces have in common: result codes, the library's logger, the plugin's
//! name.

#![allow(unsafe_code)]

use std::{
    ffi::{CStr, c_char, c_int, c_ulong},
    sync::Once,
};

/// The name under which the plugin appears in the library's log.
pub const NAME: &CStr = c"collectune";

/// `ncclSuccess`.
pub const SUCCESS: c_int = 0;
/// `ncclInternalError`.
pub const INTERNAL_ERROR: c_int = 3;

/// `ncclDebugLogger_t`.
pub type LoggerFn = unsafe extern "C" fn(c_int, c_ulong, *const c_char, c_int, *const c_char, ...);

/// The level of a message (`ncclDebugLogLevel`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Level {
    /// Something does not work as configured.
    Warn = 2,
    /// Which files were loaded.
    Info = 3,
}

/// The library's logger; `None` where it passes none.
#[derive(Clone, Copy)]
pub struct Logger(pub Option<LoggerFn>);

impl Logger {
    /// Logs a text. It is passed as an argument of the format, never as the format.
    pub fn say(self, level: Level, text: &CStr) {
        const TUNING: c_ulong = 0x40;
        if let Some(logger) = self.0 {
            // SAFETY: the library's function lives as long as the library, the strings live through the call and end
            // with NUL, and the format takes one string.
            unsafe { logger(level as c_int, TUNING, c"collectune".as_ptr(), 0, c"%s".as_ptr(), text.as_ptr()) };
        }
    }
}

/// Suppresses Rust's message about a panic, which would go to the standard error of the job. The hook belongs to the
/// plugin's own copy of the standard library, not to the host's.
pub fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}
