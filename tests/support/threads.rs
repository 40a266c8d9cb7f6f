//! Work on all processors.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// `work` of each index below `total`, on all processors.
pub fn on_threads<T: Send>(total: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut done: Vec<(usize, T)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut done = Vec::new();
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= total {
                            return done;
                        }
                        done.push((index, work(index)));
                    }
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
