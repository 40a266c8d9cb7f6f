//! Feeds every reader with mutated samples, on all processors, for any length of time: `cargo xtask fuzz`.
//!
//! Each execution is a seed: from it come the sample and its mutations, so that `--reader NAME --seed N` repeats it.
//! The processor time and the allocated memory of each are measured. An input that panics, or takes too much time or
//! memory, is made smaller as long as it still does, printed, and saved below `target/fuzz`, from where
//! `--reader NAME --input FILE` reads it again. Studies are fed like readers: with a line of choices and a file. Each
//! question to the worker is timed by itself.

mod clock;
mod memory;
mod mutate;
mod readers;
#[path = "../support/samples.rs"]
mod samples;
mod studies;
mod topologies;

use std::{
    env,
    num::NonZero,
    panic,
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use collectune::math::Stream;
use readers::{READERS, Reader};

const USAGE: &str = "fuzz [--minutes N | --executions N | --each N] [--seed N] [--reader NAME]... [--threads N] [--input FILE]; \
                     NAME may be readers, or studies, for all of them";
/// The limit of time for a reader's input.
const SLOW: Duration = Duration::from_secs(2);
/// The limit of time for a question to a study.
const SLOW_QUESTION: Duration = Duration::from_secs(10);
/// The limit of memory for an input.
const MOST: usize = 1 << 30;
/// The elapsed time after which an input is taken never to end.
const NEVER: Duration = Duration::from_secs(300);
/// The limit of time for an input from a stranger, such as a link.
const SLOW_FOR_STRANGERS: Duration = Duration::from_millis(100);
/// The limit of memory for an input from a stranger.
const MOST_FOR_STRANGERS: usize = 64 << 20;

/// The longest time, in µs, and the most bytes that an input from a stranger took.
static LONGEST_US: AtomicU64 = AtomicU64::new(0);
static MOST_BYTES: AtomicU64 = AtomicU64::new(0);

/// Which readers are fed, how many inputs each, and from which seed.
struct Options {
    time: Duration,
    executions: u64,
    seed: u64,
    readers: Vec<&'static Reader>,
    /// One seed of one reader.
    again: bool,
    /// A saved input.
    input: Option<Vec<u8>>,
    threads: usize,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            time: Duration::MAX,
            executions: u64::MAX,
            seed: 1,
            readers: READERS.iter().collect(),
            again: false,
            input: None,
            threads: thread::available_parallelism().map_or(1, NonZero::get),
        };
        let mut limited = false;
        let (mut chosen, mut each): (Vec<&'static Reader>, Option<u64>) = (Vec::new(), None);
        for pair in arguments.chunks(2) {
            let [name, value] = pair else { return Err(USAGE.to_owned()) };
            let number = || value.parse::<u64>().map_err(|_error| format!("{value} is not a number"));
            match name.as_str() {
                "--minutes" => options.time = Duration::from_secs(60 * number()?),
                "--executions" => options.executions = number()?,
                "--seed" => (options.seed, options.again) = (number()?, true),
                "--reader" => {
                    let before = chosen.len();
                    chosen.extend(READERS.iter().filter(|reader| match value.as_str() {
                        "readers" => !reader.is_study(),
                        "studies" => reader.is_study(),
                        name => reader.name == name,
                    }));
                    if chosen.len() == before {
                        return Err(format!("there is no reader {value}"));
                    }
                }
                "--each" => each = Some(number()?),
                "--threads" => options.threads = number()?.clamp(1, 256) as usize,
                "--input" => options.input = Some(std::fs::read(value).map_err(|error| format!("{value}: {error}"))?),
                _ => return Err(USAGE.to_owned()),
            }
            limited |= matches!(name.as_str(), "--minutes" | "--executions" | "--each");
        }
        if !chosen.is_empty() {
            options.readers = chosen;
        }
        if let Some(each) = each {
            options.executions = each.saturating_mul(options.readers.len() as u64);
        }
        options.again &= options.readers.len() == 1 && !limited;
        if !limited {
            options.executions = 1_000_000;
        }
        Ok(options)
    }
}

/// What went wrong with an input.
struct Fault {
    reader: &'static Reader,
    seed: u64,
    input: Vec<u8>,
    what: String,
}

fn main() -> ExitCode {
    let options = match Options::parse(&env::args().skip(1).collect::<Vec<_>>()) {
        Ok(options) => options,
        Err(sentence) => {
            eprintln!("{sentence}");
            return ExitCode::from(2);
        }
    };
    let not_understood = readers::not_understood();
    if !not_understood.is_empty() && options.input.is_none() {
        eprintln!("{}", not_understood.join("\n"));
        return ExitCode::FAILURE;
    }
    let is_whole = options.input.is_none() && !options.again && options.readers.len() == READERS.len();
    for (what, reader, input) in readers::extremes().into_iter().filter(|_| is_whole) {
        LONGEST_US.store(0, Ordering::Relaxed);
        MOST_BYTES.store(0, Ordering::Relaxed);
        let wrong = wrong(reader, &input).unwrap_or_default();
        println!("{what}: {} {wrong}", taken());
    }
    LONGEST_US.store(0, Ordering::Relaxed);
    MOST_BYTES.store(0, Ordering::Relaxed);
    // A panic is reported once, after its input has been made smaller.
    panic::set_hook(Box::new(|_| {}));
    let start = Instant::now();
    let (counts, faults) = if let Some(input) = &options.input {
        let reader = options.readers[0];
        let found = wrong(reader, input);
        if let Some((time, what)) = studies::longest() {
            println!("the longest question: {what}, {:.2} s", time.as_secs_f64());
        }
        (vec![1], found.map(|what| Fault { reader, seed: 0, input: input.clone(), what }).into_iter().collect())
    } else if options.again {
        let reader = options.readers[0];
        let input = reader.input(options.seed);
        // It is there to be looked at even if the execution never ends.
        if let Some(path) = save(reader, options.seed, &input) {
            println!("the input is saved as {path}");
        }
        let place = READERS.iter().position(|known| known.name == reader.name).unwrap_or(0);
        memory::INPUT.set((place, options.seed));
        (vec![1], fault(reader, options.seed, input).into_iter().collect())
    } else {
        run(&options)
    };
    let seconds = start.elapsed().as_secs_f64();
    let total: u64 = counts.iter().sum();
    for (reader, count) in options.readers.iter().zip(&counts) {
        println!("{:<20} {count:>12} executions", reader.name);
    }
    if options.readers.iter().any(|reader| reader.is_bounded()) {
        println!("links and reports took at most {}", taken());
    }
    println!("{total} executions in {seconds:.0} s, {} faults", faults.len());
    println!(
        "the longest input took {:.2} s, and the most room {:.1} MB",
        SLOWEST_US.load(Ordering::Relaxed) as f64 / 1e6,
        LARGEST.load(Ordering::Relaxed) as f64 / 1e6
    );
    for Fault { reader, seed, input, what } in &faults {
        /// Longer inputs are only saved.
        const PRINTED: usize = 2000;
        println!("\n{what}\nagain: cargo xtask fuzz --reader {} --seed {seed}", reader.name);
        if let Some(path) = save(reader, *seed, input) {
            println!("or:    cargo xtask fuzz --reader {} --input {path}", reader.name);
        }
        println!("input: b\"{}\"", input[..input.len().min(PRINTED)].escape_ascii());
    }
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Saves an input, and returns where.
fn save(reader: &Reader, seed: u64, input: &[u8]) -> Option<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("target/fuzz");
    std::fs::create_dir_all(&folder).ok()?;
    let path = folder.join(format!("{}-{seed}", reader.name));
    std::fs::write(&path, input).ok()?;
    Some(path.display().to_string())
}

/// Reports an input that does not end, and ends the program.
fn give_up(reader: usize, seed: u64, what: &str) -> ! {
    let reader = &READERS[reader.min(READERS.len() - 1)];
    eprintln!("\n{} {what}\nagain: cargo xtask fuzz --reader {} --seed {seed}", reader.name, reader.name);
    std::process::exit(1)
}

/// Runs readers in turn on all processors. Returns how often each ran, and the faults.
fn run(options: &Options) -> (Vec<u64>, Vec<Fault>) {
    /// Executions that a thread takes at once.
    const BATCH: u64 = 50;
    /// The number of faults after which the run ends.
    const MOST_FAULTS: usize = 10;
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let counts: Vec<AtomicU64> = options.readers.iter().map(|_| AtomicU64::new(0)).collect();
    let faults: Mutex<Vec<Fault>> = Mutex::default();
    let start = Instant::now();
    // What each thread reads, and since when.
    let reading: Vec<Mutex<Option<(Instant, usize, u64)>>> = (0..options.threads).map(|_| Mutex::default()).collect();
    let left = AtomicU64::new(options.threads as u64);
    thread::scope(|scope| {
        scope.spawn(|| {
            while left.load(Ordering::Relaxed) > 0 {
                thread::sleep(Duration::from_millis(200));
                for of_thread in &reading {
                    let now = of_thread.lock().map_or(None, |now| *now);
                    if let Some((_, reader, seed)) = now.filter(|(since, ..)| since.elapsed() > NEVER) {
                        give_up(reader, seed, "does not end");
                    }
                }
            }
        });
        for own in &reading {
            let (left, next, stop, counts, faults) = (&left, &next, &stop, &counts, &faults);
            scope.spawn(move || {
                let _ended = Ended(left);
                while !stop.load(Ordering::Relaxed) && start.elapsed() < options.time {
                    let begin = next.fetch_add(BATCH, Ordering::Relaxed);
                    for execution in begin..(begin + BATCH).min(options.executions) {
                        let turn = (execution % options.readers.len() as u64) as usize;
                        let seed = Stream::new(options.seed ^ execution.rotate_left(24)).next_u64();
                        let reader = options.readers[turn];
                        counts[turn].fetch_add(1, Ordering::Relaxed);
                        let place = READERS.iter().position(|known| known.name == reader.name).unwrap_or(0);
                        memory::INPUT.set((place, seed));
                        if let Ok(mut now) = own.lock() {
                            *now = Some((Instant::now(), place, seed));
                        }
                        let Some(fault) = fault(reader, seed, reader.input(seed)) else { continue };
                        let Ok(mut faults) = faults.lock() else { return };
                        if faults.iter().all(|known| known.what != fault.what) {
                            faults.push(fault);
                        }
                        if faults.len() >= MOST_FAULTS {
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                    if begin + BATCH >= options.executions {
                        return;
                    }
                }
            });
        }
    });
    (counts.into_iter().map(AtomicU64::into_inner).collect(), faults.into_inner().unwrap_or_default())
}

/// Counts the running threads down when one ends, also by a panic.
struct Ended<'a>(&'a AtomicU64);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What an input does wrong, made as small as it gets in some seconds.
fn fault(reader: &'static Reader, seed: u64, input: Vec<u8>) -> Option<Fault> {
    const SOME: Duration = Duration::from_secs(20);
    let what = wrong(reader, &input)?;
    let start = Instant::now();
    let mut input = input;
    let mut piece = input.len().div_ceil(2);
    while piece > 0 {
        let mut at = 0;
        while at < input.len() && start.elapsed() < SOME {
            let mut smaller = input.clone();
            smaller.drain(at..(at + piece).min(input.len()));
            if wrong(reader, &smaller).as_ref() == Some(&what) {
                input = smaller;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    Some(Fault { reader, seed, input, what })
}

/// The most time and memory that inputs from strangers took.
fn taken() -> String {
    let most = MOST_BYTES.load(Ordering::Relaxed) as f64 / 1e6;
    format!("{:.1} ms and {most:.1} MB", LONGEST_US.load(Ordering::Relaxed) as f64 / 1e3)
}

/// The longest time, in µs, and the most bytes of any input.
static SLOWEST_US: AtomicU64 = AtomicU64::new(0);
static LARGEST: AtomicU64 = AtomicU64::new(0);

/// The panic's message, or that it took too long or too much room.
fn wrong(reader: &Reader, input: &[u8]) -> Option<String> {
    let read = || {
        studies::begin();
        let start = clock::busy();
        let outcome = panic::catch_unwind(|| (reader.read)(input));
        (outcome, clock::busy().saturating_sub(start))
    };
    let before = memory::watch();
    let (mut outcome, mut time) = read();
    let bytes = memory::peak_since(before);
    if outcome.is_ok() && reader.is_bounded() {
        // Another program may have slowed it down: measure again.
        for _ in 0..4 {
            if time <= SLOW_FOR_STRANGERS / 2 {
                break;
            }
            let (again, again_time) = read();
            (outcome, time) = (again, time.min(again_time));
        }
        LONGEST_US.fetch_max(time.as_micros() as u64, Ordering::Relaxed);
        MOST_BYTES.fetch_max(bytes as u64, Ordering::Relaxed);
        if time > SLOW_FOR_STRANGERS {
            return Some(format!("{} takes longer than {SLOW_FOR_STRANGERS:?}", reader.name));
        }
        if bytes > MOST_FOR_STRANGERS {
            return Some(format!("{} takes more than {} MiB", reader.name, MOST_FOR_STRANGERS >> 20));
        }
    }
    LARGEST.fetch_max(bytes as u64, Ordering::Relaxed);
    let question = studies::longest();
    let longest = question.map_or(time, |(time, _)| time);
    SLOWEST_US.fetch_max(longest.as_micros() as u64, Ordering::Relaxed);
    match outcome {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Some(format!("{} panics: {}", reader.name, text.unwrap_or_default()))
        }
        Ok(()) if bytes > MOST => Some(format!("{} takes more than {} MiB", reader.name, MOST >> 20)),
        Ok(()) => match question {
            Some((time, what)) if time > SLOW_QUESTION => {
                Some(format!("{}: {what} takes longer than {SLOW_QUESTION:?}", reader.name))
            }
            None if time > SLOW => Some(format!("{} takes longer than {SLOW:?}", reader.name)),
            _ => None,
        },
    }
}
