//! Feeds every reader with mutated samples, on all processors, for as long as one likes: `cargo xtask fuzz`.
//!
//! Each execution is a seed: from it come the sample and its mutations, so that `--reader NAME --seed N` repeats it. An
//! input that panics, or takes longer than two seconds, is made smaller as long as it still does, and printed.

mod memory;
mod mutate;
mod readers;
#[path = "../samples/mod.rs"]
mod samples;
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

const USAGE: &str = "fuzz [--minutes N | --executions N] [--seed N] [--reader NAME]";
/// An input is too slow.
const SLOW: Duration = Duration::from_secs(2);
/// One from a stranger is.
const SLOW_FOR_STRANGERS: Duration = Duration::from_millis(100);
/// And takes too much room.
const MOST_FOR_STRANGERS: usize = 64 << 20;

/// The longest time, in µs, and the most bytes that an input from a stranger took.
static LONGEST_US: AtomicU64 = AtomicU64::new(0);
static MOST_BYTES: AtomicU64 = AtomicU64::new(0);

/// What to do.
struct Options {
    time: Duration,
    executions: u64,
    seed: u64,
    readers: Vec<&'static Reader>,
    /// One seed of one reader, again.
    again: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            time: Duration::MAX,
            executions: u64::MAX,
            seed: 1,
            readers: READERS.iter().collect(),
            again: false,
        };
        let mut limited = false;
        for pair in arguments.chunks(2) {
            let [name, value] = pair else { return Err(USAGE.to_owned()) };
            let number = || value.parse::<u64>().map_err(|_error| format!("{value} is not a number"));
            match name.as_str() {
                "--minutes" => options.time = Duration::from_secs(60 * number()?),
                "--executions" => options.executions = number()?,
                "--seed" => (options.seed, options.again) = (number()?, true),
                "--reader" => {
                    let reader = READERS.iter().find(|reader| reader.name == value);
                    options.readers = vec![reader.ok_or_else(|| format!("there is no reader {value}"))?];
                }
                _ => return Err(USAGE.to_owned()),
            }
            limited |= matches!(name.as_str(), "--minutes" | "--executions");
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
    if !not_understood.is_empty() {
        eprintln!("{}", not_understood.join("\n"));
        return ExitCode::FAILURE;
    }
    for (what, reader, input) in readers::extremes() {
        LONGEST_US.store(0, Ordering::Relaxed);
        MOST_BYTES.store(0, Ordering::Relaxed);
        let wrong = wrong(reader, &input).unwrap_or_default();
        println!("{what}: {} {wrong}", taken());
    }
    LONGEST_US.store(0, Ordering::Relaxed);
    MOST_BYTES.store(0, Ordering::Relaxed);
    // What panics is told once, when it has been made smaller.
    panic::set_hook(Box::new(|_| {}));
    let start = Instant::now();
    let (counts, faults) = if options.again {
        let reader = options.readers[0];
        (vec![1], fault(reader, options.seed, reader.input(options.seed)).into_iter().collect())
    } else {
        run(&options)
    };
    let seconds = start.elapsed().as_secs_f64();
    let total: u64 = counts.iter().sum();
    for (reader, count) in options.readers.iter().zip(&counts) {
        println!("{:<12} {count:>12} executions", reader.name);
    }
    if options.readers.iter().any(|reader| reader.is_bounded()) {
        println!("links and reports took at most {}", taken());
    }
    println!("{total} executions in {seconds:.0} s, {} faults", faults.len());
    for Fault { reader, seed, input, what } in &faults {
        println!(
            "\n{what}\nagain: cargo xtask fuzz --reader {} --seed {seed}\ninput: b\"{}\"",
            reader.name,
            input.escape_ascii()
        );
    }
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs readers in turn on all processors; answers how often each ran, and the faults.
fn run(options: &Options) -> (Vec<u64>, Vec<Fault>) {
    /// Executions that a thread takes at once.
    const BATCH: u64 = 1000;
    /// After so many the answer is clear.
    const MOST_FAULTS: usize = 10;
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let counts: Vec<AtomicU64> = options.readers.iter().map(|_| AtomicU64::new(0)).collect();
    let faults: Mutex<Vec<Fault>> = Mutex::default();
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) && start.elapsed() < options.time {
                    let begin = next.fetch_add(BATCH, Ordering::Relaxed);
                    for execution in begin..(begin + BATCH).min(options.executions) {
                        let turn = (execution % options.readers.len() as u64) as usize;
                        let seed = Stream::new(options.seed ^ execution.rotate_left(24)).next_u64();
                        let reader = options.readers[turn];
                        counts[turn].fetch_add(1, Ordering::Relaxed);
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

/// What an input does wrong, made as small as it gets.
fn fault(reader: &'static Reader, seed: u64, input: Vec<u8>) -> Option<Fault> {
    let what = wrong(reader, &input)?;
    let mut input = input;
    let mut piece = input.len().div_ceil(2);
    while piece > 0 {
        let mut at = 0;
        while at < input.len() {
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

/// What inputs from strangers took at most.
fn taken() -> String {
    let most = MOST_BYTES.load(Ordering::Relaxed) as f64 / 1e6;
    format!("{:.1} ms and {most:.1} MB", LONGEST_US.load(Ordering::Relaxed) as f64 / 1e3)
}

/// The panic's message, or that it took too long or too much room.
fn wrong(reader: &Reader, input: &[u8]) -> Option<String> {
    let mut start = Instant::now();
    let before = memory::watch();
    let mut outcome = panic::catch_unwind(|| (reader.read)(input));
    let bytes = memory::peak_since(before);
    if outcome.is_ok() && reader.is_bounded() {
        let mut time = start.elapsed();
        // Another program may have had the processor.
        for _ in 0..4 {
            if time <= SLOW_FOR_STRANGERS / 2 {
                break;
            }
            start = Instant::now();
            outcome = panic::catch_unwind(|| (reader.read)(input));
            time = time.min(start.elapsed());
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
    match outcome {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Some(format!("{} panics: {}", reader.name, text.unwrap_or_default()))
        }
        Ok(()) if start.elapsed() > SLOW => Some(format!("{} takes longer than {SLOW:?}", reader.name)),
        Ok(()) => None,
    }
}
