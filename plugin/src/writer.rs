//! Writes the log of rewards in a thread of its own.

use std::{
    collections::VecDeque,
    fmt::Write as _,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use collectune::conf::words::COLLECTIVES;

use crate::{
    log::Log,
    rewards::{Communicator, Measured},
    thread::Thread,
};

/// How often the thread looks for finished collectives.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The number of collectives per channel whose GPU timestamps the library keeps (`MAX_PROFILER_EVENTS_PER_CHANNEL`);
/// read later, the timestamps are those of a later collective.
const TIMESTAMP_RING: usize = 64;
/// The first line of a log of rewards as Collectune writes it (`collectune::policy::read`, which the plugin does
/// without).
const FORMAT_LINE: &str = "# collectune-rewards 1";
/// The number of polls without a new collective after which all lines are written: then none of them was overwritten.
const IDLE_POLLS: u32 = 50;
const HEADER: &str =
    "collective,size_bytes,num_nodes,num_gpus,latency_us,arm,propensity,call,generation,overlap,rank,timestamp";

/// What the header of a log says about its communicator.
#[derive(Clone, Copy, Debug)]
pub struct LogHeader {
    /// The communicator's identifier.
    pub comm_id: u64,
    pub nodes: usize,
    pub ranks: usize,
    /// The version of the profiler's interface.
    pub version: u32,
}

/// A log that is written in the background.
pub struct Writer {
    shared: Arc<Shared>,
    thread: Thread,
    communicator: Communicator,
    path: PathBuf,
    log: Log,
}

#[derive(Default)]
struct Shared {
    is_over: Mutex<bool>,
    over: Condvar,
    written: AtomicU64,
    /// Lines dropped because their timestamps were those of a later collective.
    late: AtomicU64,
    /// Lines that could not be written.
    lost: AtomicU64,
    error: Mutex<Option<io::Error>>,
}

/// Opens the file of a communicator, with a header if it is new.
fn open(folder: &Path, header: &LogHeader) -> (PathBuf, io::Result<File>) {
    let path = folder.join(format!("nccl_tuner_rewards_{:016x}.log", header.comm_id));
    let open = || {
        if !folder.is_dir() {
            fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        if file.metadata()?.len() == 0 {
            let first = format!(
                "{FORMAT_LINE}\n# latency_us: from the start of the first channel to the end of the last one on rank 0, by the GPU's \
                 global timer (profiler interface, version {})\n{HEADER}\n",
                header.version
            );
            file.write_all(first.as_bytes())?;
        }
        Ok(file)
    };
    let file = open();
    (path, file)
}

impl Writer {
    /// Opens the file and starts the thread; `None`, after a warning, if one of them fails.
    pub fn begin(folder: &Path, header: LogHeader, communicator: Communicator, mut log: Log) -> Option<Self> {
        let (path, file) = open(folder, &header);
        let file = match file {
            Ok(file) => file,
            Err(error) => {
                log.warn(format_args!("rewards: {}: {error}; nothing is logged", path.display()));
                return None;
            }
        };
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        // Slots given out before belong to an earlier communicator.
        let from = communicator.place()?.head();
        let lines = LineBuffer { file, header, held: VecDeque::new(), text: String::new() };
        let Some(thread) = Thread::begin(move || run(&own, communicator, from, lines)) else {
            log.warn(format_args!("rewards: no thread can be begun; nothing is logged"));
            return None;
        };
        log.info(format_args!("rewards: latencies are logged in {}", path.display()));
        Some(Self { shared, thread, communicator, path, log })
    }

    /// Writes the remaining lines, stops the thread, and logs a summary.
    pub fn end(mut self) {
        *self.shared.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.over.notify_all();
        self.thread.join();
        let Some(place) = self.communicator.place() else { return };
        place.count_unfinished();
        let mut left = String::new();
        let late = [(self.shared.late.load(Relaxed), "with the times of a later one")];
        let lost = [(self.shared.lost.load(Relaxed), "that could not be written")];
        for (count, why) in place.counts.each().into_iter().chain(late).chain(lost).filter(|(count, _)| *count > 0) {
            let _ = write!(left, "{}{count} {why}", if left.is_empty() { "; left out: " } else { ", " });
        }
        let (written, path) = (self.shared.written.load(Relaxed), self.path.display());
        // An empty log is reported as a warning to the user who asked for one.
        let is_empty = written == 0 && !left.is_empty();
        let say = if is_empty { Log::warn } else { Log::info };
        say(&mut self.log, format_args!("rewards: {written} collectives were logged in {path}{left}"));
        let error = self.shared.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(error) = error {
            self.log.warn(format_args!("rewards: {path}: {error}"));
        }
    }
}

fn run(shared: &Shared, communicator: Communicator, mut from: u64, mut lines: LineBuffer) {
    let Some(place) = communicator.place() else { return };
    let mut idle = 0;
    loop {
        let is_over = shared.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = if *is_over {
            true
        } else {
            let (is_over, _) = shared.over.wait_timeout(is_over, POLL_INTERVAL).unwrap_or_else(PoisonError::into_inner);
            *is_over
        };
        idle = IDLE_POLLS.min(idle) + 1;
        place.take(&mut from, |measured| {
            lines.push(measured, shared);
            idle = 0;
        });
        lines.write(if is_over || idle > IDLE_POLLS { 0 } else { TIMESTAMP_RING }, shared);
        if is_over {
            return;
        }
    }
}

/// Lines that are not written yet.
struct LineBuffer {
    file: File,
    header: LogHeader,
    /// In the order of launches, as long as a later collective can show that their timestamps are not their own.
    held: VecDeque<Measured>,
    text: String,
}

impl LineBuffer {
    /// Adds a line. Collectives of a communicator run one after the other, so a line that started no earlier than one
    /// launched after it has the timestamps of a later collective, and is dropped.
    fn push(&mut self, new: Measured, shared: &Shared) {
        let before = self.held.len();
        self.held.retain(|held| held.number > new.number || held.start < new.start);
        let mut late = before - self.held.len();
        let place = self.held.partition_point(|held| held.number < new.number);
        if self.held.range(place..).any(|after| new.start >= after.start) {
            late += 1;
        } else {
            self.held.insert(place, new);
        }
        shared.late.fetch_add(late as u64, Relaxed);
    }

    /// Writes all lines but the last `but`.
    fn write(&mut self, but: usize, shared: &Shared) {
        self.text.clear();
        let count = self.held.len().saturating_sub(but);
        for measured in self.held.drain(..count) {
            line(&mut self.text, &self.header, &measured);
        }
        if count == 0 {
            return;
        }
        match self.file.write_all(self.text.as_bytes()) {
            Ok(()) => {
                shared.written.fetch_add(count as u64, Relaxed);
            }
            Err(error) => {
                shared.lost.fetch_add(count as u64, Relaxed);
                shared.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        }
    }
}

fn line(text: &mut String, header: &LogHeader, measured: &Measured) {
    let Measured { coll, bytes, start, stop, arm, last, overlap, .. } = *measured;
    let collective = COLLECTIVES.get(usize::from(coll)).map_or("", |(word, _)| word);
    let ns = stop - start;
    let (us, rest) = (ns / 1000, ns % 1000);
    let _ = write!(text, "{collective},{bytes},{},{},{us}.{rest:03},{arm}", header.nodes, header.ranks);
    let _ = match last {
        Some(last) => write!(text, ",{},{},{}", last.propensity, last.call, last.generation),
        None => write!(text, ",1,,"),
    };
    let (s, rest) = (start / 1_000_000_000, start % 1_000_000_000);
    let _ = writeln!(text, ",{},0,{s}.{rest:09}", u8::from(overlap));
}

#[cfg(test)]
mod tests {
    use collectune::policy::arm::Arm;

    use super::*;

    fn measured(number: u64, start: u64) -> Measured {
        let arm = Arm::parse("ring/ll").unwrap();
        Measured { number, coll: 2, bytes: 64, start, stop: start + 1234, arm, last: None, overlap: false }
    }

    #[test]
    fn a_line_with_the_times_of_a_later_collective_is_left_out() {
        let folder = std::env::temp_dir().join(format!("collectune-writer-{}", std::process::id()));
        let header = LogHeader { comm_id: 0xAB, nodes: 2, ranks: 8, version: 5 };
        for _ in 0..2 {
            let (path, file) = open(&folder, &header);
            let mut lines = LineBuffer { file: file.unwrap(), header, held: VecDeque::new(), text: String::new() };
            let shared = Shared::default();
            // The third was read too late, and the first is told last.
            for (number, start) in [(1, 2000), (2, 7000), (3, 5000), (4, 7000), (0, 1000)] {
                lines.push(measured(number, start), &shared);
            }
            lines.write(1, &shared);
            assert_eq!((shared.late.load(Relaxed), shared.written.load(Relaxed)), (1, 3));
            lines.write(0, &shared);
            assert!(path.ends_with("nccl_tuner_rewards_00000000000000ab.log"));
        }
        let text = fs::read_to_string(folder.join("nccl_tuner_rewards_00000000000000ab.log")).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[2], lines.len()), (FORMAT_LINE, HEADER, 11));
        assert_eq!(lines[3], "allgather,64,2,8,1.234,ring/ll,1,,,0,0,0.000001000");
        assert!(lines[3..7] == lines[7..]);
    }
}
