//! Counts what each thread has allocated, and the most that it had at once.

#![allow(unsafe_code, reason = "an allocator is")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// May be negative: a thread may free what another one allocated.
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// No input may take so many bytes: it is told before the machine has none left.
const MOST: isize = 3 << 30;

thread_local! {
    /// Which input this thread reads: the place of its reader, and its seed.
    pub static INPUT: Cell<(usize, u64)> = const { Cell::new((0, 0)) };
}

fn count(bytes: isize) {
    if bytes > 0 && NOW.try_with(|now| now.get() + bytes > MOST).unwrap_or(false) {
        let (reader, seed) = INPUT.try_with(Cell::get).unwrap_or_default();
        NOW.with(|now| now.set(0));
        super::give_up(reader, seed, "takes more than 3 GiB");
    }
    // A thread that ends has none of these any more.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
}

// SAFETY: everything is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps what `GlobalAlloc` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps what `GlobalAlloc` asks for.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What this thread has now; its peak counts from here.
pub fn watch() -> isize {
    let now = NOW.with(Cell::get);
    PEAK.with(|peak| peak.set(now));
    now
}

/// The most bytes beyond what there was.
pub fn peak_since(before: isize) -> usize {
    usize::try_from(PEAK.with(Cell::get) - before).unwrap_or(0)
}
