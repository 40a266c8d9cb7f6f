//! Jobs that are done on all processors.

use std::{
    num::NonZero,
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use super::terminal::Bar;
use crate::progress::{Progress, Silent};

/// Does the jobs from 0 up to `total`, each on whatever processor is free, and answers what they gave, in any order.
/// Meanwhile a bar says what is being done. Returns the error of a job; others may then be left undone.
pub(super) fn each<T: Send, E: Send>(
    doing: &str,
    total: usize,
    job: impl Fn(u32) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let work = |progress: &mut dyn Progress| {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= total {
                return Ok(done);
            }
            progress.report(doing, number as u64, total as u64);
            done.push(job(number as u32)?);
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(total);
    let done: Result<Vec<Vec<T>>, E> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| work(&mut Silent))).collect();
        let own = work(&mut Bar::new());
        others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))).chain([own]).collect()
    });
    Ok(done?.into_iter().flatten().collect())
}
