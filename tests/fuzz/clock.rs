//! How long a thread was at work. On a machine that others use as well, the clock on the wall tells nothing.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

/// What this thread has worked so far, where the system tells it; else the time since the first call.
pub fn busy() -> Duration {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|told| told.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| BEGIN.elapsed(), Duration::from_nanos)
}
