//! `tuner-host PLUGIN VERSION ID RANKS NODES COMMAND …`: one rank of a job, in a process of its own, so that each has
//! its own environment. Prints what came of it, then what the plugin said.

mod allocations;
mod profiled;

use std::{
    env,
    io::{Write, stdout},
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use collectune::{
    conf::words::{ALGORITHMS, PROTOCOLS},
    crc32::CRC32,
    math::Stream,
    policy::chunks::grain_bytes,
};
use collectune_plugin_host::{
    Comm, Communicator, Plugin, Table, Version,
    library::{messages, survives_null_contexts},
    real::Nccl,
};

const USAGE: &str = "\
tuner-host PLUGIN VERSION ID RANKS NODES COMMAND
  ask COLL:BYTES[:OPS[:REGISTERED[:ALGORITHM/PROTOCOL]]]…   ask once each, with the named combination ruled out
  chunk COLL:ALGORITHM/PROTOCOL:BYTES…  ask once each for the size of a chunk; - is the library's
  drive CALLS SEED                  random questions and tables; counts what the plugin allocates
  reload TIMES                      load, use and unload it again
  nonsense                          arguments that no library passes
  threads CALLS                     two communicators in two threads, as if each were alone
  epochs EPOCHS LENGTH AT DELAY_MS  a line for each epoch; a delay before that one
  time CALLS                        how long a call takes
  chunk-time CALLS                  how long a question for the size of a chunk takes
  learn EPOCHS LENGTH PAUSE_MS LOG  epochs of an application that logs how long its calls took; LOG - logs nothing
  profile INTERFACE RANK STEPS HOW  a job with the profiler's interface of that version beside the tuner; prints what its log
                                    must hold. HOW is single, mixed, or two: two communicators at once, of the second RANK
  profile-nonsense INTERFACE        arguments that no library passes to a profiler
  profile-time INTERFACE ROUNDS     how long a launch takes with it
  profile-copy COPY INTERFACE STEPS a job whose profiler is another copy of the plugin
  real-profile LIBNCCL [INTERFACE STEPS]
                                    has a real library begin and end the profiler; or a job through its wrapper
  real LIBNCCL                      has a real library load it, and asks through its wrappers";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let [path, version, id, ranks, nodes, command, rest @ ..] = arguments else { return Err(USAGE.to_owned()) };
    let number = |text: &str| text.parse::<u64>().map_err(|_ignored| format!("{text} is no number\n{USAGE}"));
    let version = Version::of(number(version)? as u32).ok_or("versions are 2 to 6")?;
    let comm = Comm { id: number(id)?, ranks: number(ranks)? as usize, nodes: number(nodes)? as usize };
    let plugin = Plugin::open(path)?;
    let numbers = |texts: &[String]| texts.iter().map(|text| number(text)).collect::<Result<Vec<u64>, _>>();
    match command.as_str() {
        "ask" => ask(&plugin, version, comm, rest)?,
        "chunk" => chunk(&plugin, version, comm, rest)?,
        "nonsense" => nonsense(&plugin, version, comm)?,
        "real" => real(path, comm, rest)?,
        "profile" => match rest {
            [interface, rank, steps, word] => {
                let (of, rank, steps) = (number(interface)? as u32, number(rank)? as i32, number(steps)?);
                let interface = plugin.interface(of);
                let options = profiled::JobOptions { version: of, interface, rank, steps, is_mixed: word != "single" };
                match word.as_str() {
                    "single" | "mixed" => profiled::job(&plugin, version, comm, options)?,
                    "two" => profiled::jobs(&plugin, version, comm, options)?,
                    _ => return Err(USAGE.to_owned()),
                }
            }
            _ => return Err(USAGE.to_owned()),
        },
        "profile-copy" => match rest {
            [copy, of, steps] => {
                let (copy, of) = (Plugin::open(copy)?, number(of)? as u32);
                let options = profiled::JobOptions {
                    version: of,
                    interface: copy.interface(of),
                    rank: 0,
                    steps: number(steps)?,
                    is_mixed: false,
                };
                profiled::job(&plugin, version, comm, options)?;
            }
            _ => return Err(USAGE.to_owned()),
        },
        "real-profile" => match rest {
            [library] => println!("version {}", profiled::real(library)?),
            [library, of, steps] => {
                let (nccl, of, steps) = (Nccl::open(library.as_ref())?, number(of)? as u32, number(steps)?);
                let Some(interface) = nccl.wrapped_profiler(of, &plugin) else { return Ok(()) };
                let options = profiled::JobOptions { version: of, interface, rank: 0, steps, is_mixed: true };
                profiled::job(&plugin, version, comm, options)?;
            }
            _ => return Err(USAGE.to_owned()),
        },
        "profile-nonsense" => match &numbers(rest)?[..] {
            [interface] => profiled::nonsense(&plugin, version, comm, *interface as u32)?,
            _ => return Err(USAGE.to_owned()),
        },
        "profile-time" => match &numbers(rest)?[..] {
            [interface, rounds] => profiled::time(&plugin, version, comm, *interface as u32, *rounds)?,
            _ => return Err(USAGE.to_owned()),
        },
        "learn" => match rest {
            [epochs, length, pause_ms, log] => {
                learn(&plugin, version, comm, [number(epochs)?, number(length)?, number(pause_ms)?], log)?;
            }
            _ => return Err(USAGE.to_owned()),
        },
        "drive" | "threads" | "time" | "chunk-time" | "epochs" | "reload" => {
            match (command.as_str(), &numbers(rest)?[..]) {
                ("drive", [calls, seed]) => drive(&plugin, version, comm, *calls, *seed)?,
                ("reload", [times]) => {
                    drop(plugin);
                    reload(path, version, comm, *times)?;
                }
                ("threads", [calls]) => threads(&plugin, version, comm, *calls)?,
                ("time", [calls]) => time(&plugin, version, comm, *calls)?,
                ("chunk-time", [calls]) => chunk_time(&plugin, version, comm, *calls)?,
                ("epochs", [epochs, length, at, delay_ms]) => {
                    epochs_of(
                        &plugin,
                        version,
                        comm,
                        &Epochs { epochs: *epochs, length: *length, at: *at, delay_ms: *delay_ms },
                    )?;
                }
                _ => return Err(USAGE.to_owned()),
            }
        }
        _ => return Err(USAGE.to_owned()),
    }
    Ok(())
}

fn print_messages() {
    for message in messages() {
        println!("{} {}", if message.level == 2 { "WARN" } else { "INFO" }, message.text);
    }
}

fn init(plugin: &Plugin, version: Version, comm: Comm, logs: bool) -> Result<Communicator<'_>, String> {
    plugin.init(version, comm, logs).map_err(|result| {
        print_messages();
        format!("init answered {result}")
    })
}

/// The name of a combination, `tree/ll`, or `-`.
fn name(pair: Option<(usize, usize)>) -> String {
    let word = |(algorithm, protocol): (usize, usize)| {
        Some(format!("{}/{}", ALGORITHMS.get(algorithm)?.0, PROTOCOLS.get(protocol)?.0))
    };
    pair.and_then(word).unwrap_or_else(|| "-".to_owned())
}

/// The library's numbers of an algorithm and a protocol that are written as `tree/ll`.
fn pair_of(text: &str) -> Option<(usize, usize)> {
    let (algorithm, protocol) = text.split_once('/')?;
    let algorithm = ALGORITHMS.iter().position(|(word, _)| *word == algorithm)?;
    Some((algorithm, PROTOCOLS.iter().position(|(word, _)| *word == protocol)?))
}

fn chunk(plugin: &Plugin, version: Version, comm: Comm, questions: &[String]) -> Result<(), String> {
    const OWN: usize = 12_345;
    let mut communicator = init(plugin, version, comm, true)?;
    for question in questions {
        let [coll, pair, bytes] = question.split(':').collect::<Vec<_>>()[..] else { return Err(USAGE.to_owned()) };
        let (algorithm, protocol) = pair_of(pair).ok_or(USAGE)?;
        let (Ok(coll), Ok(bytes)) = (coll.parse(), bytes.parse()) else { return Err(USAGE.to_owned()) };
        match communicator.ask_chunk(coll, bytes, algorithm as i32, protocol as i32, OWN) {
            None => println!("{question} = not asked"),
            Some(OWN) => println!("{question} = -"),
            Some(size) => println!("{question} = {size}"),
        }
    }
    println!("end {}", communicator.end());
    print_messages();
    Ok(())
}

fn ask(plugin: &Plugin, version: Version, comm: Comm, questions: &[String]) -> Result<(), String> {
    let mut communicator = init(plugin, version, comm, true)?;
    for question in questions {
        let parts: Vec<&str> = question.split(':').collect();
        let number = |place: usize, otherwise: u64| {
            parts.get(place).map_or(Ok(otherwise), |text| text.parse().map_err(|_ignored| USAGE.to_owned()))
        };
        let mut table = Table::new(7, 3);
        if let Some(pair) = parts.get(4) {
            let (algorithm, protocol) = pair_of(pair).ok_or(USAGE)?;
            table.rule_out(algorithm, protocol);
        }
        let (coll, bytes) = (number(0, 0)? as i32, number(1, 0)?);
        match communicator.ask(coll, bytes, number(2, 1)? as i32, number(3, 0)? as i32, &mut table) {
            Ok(channels) => print!("{question} = {} {channels}", name(table.forced())),
            Err(result) => print!("{question} ! {result}"),
        }
        if !table.guards_are_intact() {
            return Err("the words around the table were written".to_owned());
        }
        match plugin.last_decision() {
            Some(last) => {
                println!(" call {} arm {} p {} generation {}", last.call, last.arm, last.propensity, last.generation);
            }
            None => println!(),
        }
    }
    println!("end {}", communicator.end());
    print_messages();
    Ok(())
}

/// Random queries, mostly such as a library makes; equal for equal seeds.
struct Questions {
    stream: Stream,
    /// A stream of their own for questions that only version 6 asks.
    chunk_stream: Stream,
    tables: [Table; 2],
    before: Vec<f32>,
}

impl Questions {
    fn new(seed: u64) -> Self {
        let (stream, chunk_stream) = (Stream::new(seed), Stream::new(seed));
        Self { stream, chunk_stream, tables: [Table::new(6, 3), Table::new(7, 3)], before: vec![0.0; 21] }
    }

    /// Makes a query; returns what the library would run, as a number.
    fn ask(&mut self, communicator: &mut Communicator<'_>) -> Result<u32, String> {
        let stream = &mut self.stream;
        let table = &mut self.tables[usize::from(stream.below(4) > 0)];
        table.fill(stream);
        let size = table.entries().len();
        self.before[..size].copy_from_slice(table.entries());
        let coll = stream.below(5) as i32;
        let bytes = (1_u64 << stream.below(36)) + stream.below(4096) as u64;
        let (pipe_ops, reg_buff) = (1 + (stream.below(8) / 7) as i32, stream.below(2) as i32);
        let channels = communicator
            .ask(coll, bytes, pipe_ops, reg_buff, table)
            .map_err(|result| format!("getCollInfo answered {result}"))?;
        if !table.guards_are_intact() || !table.was_changed_as_allowed(&self.before) || !(0..256).contains(&channels) {
            return Err(format!("collective {coll} of {bytes} bytes: {:?} became {:?}", self.before, table.entries()));
        }
        let forced = table.forced().map_or(0, |(algorithm, protocol)| 1 + algorithm as u32 * 3 + protocol as u32);
        Ok(forced << 8 | channels as u32)
    }

    /// Asks for the chunk sizes of a collective's three parts; returns how many of them the plugin gives.
    fn ask_chunks(&mut self, communicator: &mut Communicator<'_>) -> Result<u64, String> {
        const OWN: usize = 12_345;
        let stream = &mut self.chunk_stream;
        let (coll, algorithm, protocol) = (stream.below(5), stream.below(7), stream.below(3));
        let bytes = (1_u64 << stream.below(30)) + stream.below(4096) as u64;
        let mut given = 0;
        for part in [bytes / 2, bytes, bytes / 3] {
            match communicator.ask_chunk(coll as i32, part, algorithm as i32, protocol as i32, OWN) {
                None | Some(OWN) => {}
                Some(size) if size as u64 >= grain_bytes(PROTOCOLS[protocol].1) => given += 1,
                Some(size) => return Err(format!("{} gets chunks of {size} bytes", PROTOCOLS[protocol].0)),
            }
        }
        Ok(given)
    }
}

fn drive(plugin: &Plugin, version: Version, comm: Comm, calls: u64, seed: u64) -> Result<(), String> {
    let before = allocations::count();
    let mut communicator = init(plugin, version, comm, seed.is_multiple_of(2))?;
    println!("allocations of init {}", allocations::count() - before);
    let mut questions = Questions::new(seed);
    // The first access of a thread makes the loader allocate its thread-local variables.
    questions.ask(&mut communicator)?;
    let before = allocations::count();
    let (mut forced, mut chunks) = (0_u64, 0);
    let mut checksum = CRC32.digest();
    for _ in 0..calls {
        let answer = questions.ask(&mut communicator)?;
        chunks += questions.ask_chunks(&mut communicator)?;
        forced += u64::from(answer >> 8 != 0);
        checksum.update(&answer.to_le_bytes());
    }
    println!("allocations of {calls} calls {}", allocations::count() - before);
    println!("chunk sizes {chunks}");
    println!("forced {forced} digest {:08X} end {}", checksum.finalize(), communicator.end());
    print_messages();
    Ok(())
}

fn nonsense(plugin: &Plugin, version: Version, comm: Comm) -> Result<(), String> {
    let mut communicator = init(plugin, version, comm, true)?;
    println!("survived {}", communicator.survives_invalid_arguments() && survives_null_contexts(plugin));
    println!("name {} end {}", plugin.name(version), communicator.end());
    Ok(())
}

fn digest(plugin: &Plugin, version: Version, comm: Comm, calls: u64, seed: u64) -> Result<u32, String> {
    let mut communicator = init(plugin, version, comm, true)?;
    let mut questions = Questions::new(seed);
    let mut checksum = CRC32.digest();
    for _ in 0..calls {
        checksum.update(&questions.ask(&mut communicator)?.to_le_bytes());
        if let Some(last) = plugin.last_decision() {
            checksum.update(&last.call.to_le_bytes());
        }
    }
    if communicator.end() == 0 { Ok(checksum.finalize()) } else { Err("the end failed".to_owned()) }
}

fn threads(plugin: &Plugin, version: Version, comm: Comm, calls: u64) -> Result<(), String> {
    let one = || digest(plugin, version, comm, calls, 1);
    let other = || digest(plugin, version, Comm { id: comm.id + 1, ..comm }, calls, 2);
    let alone = (one()?, other()?);
    let together = thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = scope.spawn(other);
        (one.join(), other.join())
    });
    match together {
        (Ok(one), Ok(other)) => println!("same {}", (one?, other?) == alone && alone.0 != alone.1),
        _ => return Err("a thread panicked".to_owned()),
    }
    Ok(())
}

/// An application that calls only an allreduce of 64 MiB, for which the third arm is the fastest. Its log has call
/// numbers and generations, but no arms: these follow from the policy.
fn learn(plugin: &Plugin, version: Version, comm: Comm, how: [u64; 3], log: &str) -> Result<(), String> {
    const MEANS_MS: [f64; 4] = [10.5, 10.0, 9.0, 11.0];
    let [epochs, length, pause_ms] = how;
    let shown = |error: std::io::Error| format!("{log}: {error}");
    let mut communicator = init(plugin, version, comm, true)?;
    let mut log_file = None;
    if log != "-" {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(log).map_err(shown)?;
        writeln!(file, "collType,nBytes,nNodes,nRanks,latency_ms,call,generation").map_err(shown)?;
        log_file = Some(file);
    }
    let mut stream = Stream::new(comm.id);
    let mut table = Table::new(7, 3);
    for epoch in 0..epochs {
        let mut checksum = CRC32.digest();
        let (mut counts, mut generation) = ([0_u32; 4], 0);
        for _ in 0..length {
            table.entries_mut().fill(1.0);
            let asked = communicator.ask(4, 64 << 20, 1, 0, &mut table);
            asked.map_err(|result| format!("getCollInfo answered {result}"))?;
            let last = plugin.last_decision().ok_or("no policy decided")?;
            let arm = last.arm as usize;
            counts[arm.min(3)] += 1;
            generation = last.generation;
            checksum.update(&last.call.to_le_bytes());
            checksum.update(&last.arm.to_le_bytes());
            let latency = MEANS_MS[arm.min(3)] + stream.unit() - 0.5;
            if let Some(file) = &mut log_file {
                let (ranks, nodes) = (comm.ranks, comm.nodes);
                let line = format!("allreduce,67108864,{nodes},{ranks},{latency:.4},{},{generation}\n", last.call);
                file.write_all(line.as_bytes()).map_err(shown)?;
            }
        }
        println!("epoch {epoch} generation {generation} counts {counts:?} digest {:08X}", checksum.finalize());
        thread::sleep(Duration::from_millis(pause_ms));
    }
    println!("end {}", communicator.end());
    print_messages();
    Ok(())
}

/// A real library loads the plugin by its own code, and its wrappers around earlier versions give the answers of these.
fn real(path: &str, comm: Comm, rest: &[String]) -> Result<(), String> {
    let [library] = rest else { return Err(USAGE.to_owned()) };
    let (plugin, nccl) = (Plugin::open(path)?, Nccl::open(library.as_ref())?);
    let taken = nccl.load()?;
    let newest = Version::ALL.into_iter().find(|version| taken == Some(plugin.address(*version)));
    let shown = newest.map_or_else(|| "none".to_owned(), |version| format!("v{}", version.number()));
    println!("version {} takes {shown}", nccl.version());
    let Some(newest) = newest else { return Ok(()) };
    for version in Version::ALL {
        let Some(wrapped) = nccl.wrapped(version, &plugin) else { continue };
        let same = digest(&wrapped, newest, comm, 10_000, 1)? == digest(&plugin, version, comm, 10_000, 1)?;
        println!("wrapper of v{} same {same}", version.number());
    }
    Ok(())
}

/// A library unloads its plugin with its last communicator.
fn reload(path: &str, version: Version, comm: Comm, times: u64) -> Result<(), String> {
    let is_loaded = || std::fs::read_to_string("/proc/self/maps").is_ok_and(|maps| maps.contains(path));
    let mut digests = Vec::new();
    for _ in 0..times {
        let plugin = Plugin::open(path)?;
        digests.push(thread::scope(|scope| scope.spawn(|| digest(&plugin, version, comm, 1000, 1)).join()));
        digests.push(Ok(digest(&plugin, version, comm, 1000, 1)));
        drop(plugin);
    }
    let first = digests.first().and_then(|first| first.as_ref().ok()).cloned();
    let same = digests.iter().all(|digest| digest.as_ref().ok() == first.as_ref());
    println!("same {same} loaded {}", is_loaded());
    Ok(())
}

struct Epochs {
    epochs: u64,
    length: u64,
    at: u64,
    delay_ms: u64,
}

fn epochs_of(plugin: &Plugin, version: Version, comm: Comm, how: &Epochs) -> Result<(), String> {
    let mut communicator = init(plugin, version, comm, true)?;
    // All ranks ask the same queries.
    let mut questions = Questions::new(comm.id);
    let mut first_calls_us = Vec::new();
    for epoch in 0..how.epochs {
        if epoch == how.at {
            thread::sleep(Duration::from_millis(how.delay_ms));
        }
        let mut checksum = CRC32.digest();
        let (mut generation, mut arms) = (0, 0_u64);
        for call in 0..how.length {
            let start = Instant::now();
            let answer = match questions.ask(&mut communicator) {
                Ok(answer) => answer,
                Err(error) => {
                    print_messages();
                    return Err(error);
                }
            };
            if call == 0 && epoch > 0 {
                first_calls_us.push(start.elapsed().as_micros());
            }
            checksum.update(&answer.to_le_bytes());
            if let Some(last) = plugin.last_decision() {
                checksum.update(&last.call.to_le_bytes());
                checksum.update(&last.arm.to_le_bytes());
                checksum.update(&last.propensity.to_le_bytes());
                generation = last.generation;
                arms |= 1 << last.arm;
            }
        }
        // Print whole lines, so that the output of a killed rank is a prefix of that of the others.
        let line = format!("epoch {epoch} generation {generation} arms {arms:b} digest {:08X}\n", checksum.finalize());
        stdout().write_all(line.as_bytes()).and_then(|()| stdout().flush()).map_err(|error| error.to_string())?;
    }
    first_calls_us.sort_unstable();
    let last = first_calls_us.len().saturating_sub(1);
    let quantile = |percent: usize| first_calls_us.get(last * percent / 100).copied().unwrap_or(0);
    println!("first calls: median {} us, p99 {} us, slowest {} us", quantile(50), quantile(99), quantile(100));
    println!("end {}", communicator.end());
    print_messages();
    Ok(())
}

/// The number of different questions that are timed.
const ROUND: usize = 4096;

fn time(plugin: &Plugin, version: Version, comm: Comm, calls: u64) -> Result<(), String> {
    let mut communicator = init(plugin, version, comm, true)?;
    let mut stream = Stream::new(3);
    let questions: Vec<(i32, u64)> =
        (0..ROUND).map(|_| (stream.below(5) as i32, (1_u64 << stream.below(34)) + stream.below(4096) as u64)).collect();
    let mut table = Table::new(7, 3);
    let mut ask = |place: usize| {
        let (coll, bytes) = questions[place % ROUND];
        communicator.ask(coll, bytes, 1, 0, &mut table).map_err(|result| format!("getCollInfo answered {result}"))
    };
    print_times(calls as usize, |place| ask(place).map(|_channels| ()))?;
    println!("end {}", communicator.end());
    Ok(())
}

fn chunk_time(plugin: &Plugin, version: Version, comm: Comm, calls: u64) -> Result<(), String> {
    let mut communicator = init(plugin, version, comm, true)?;
    let mut stream = Stream::new(3);
    let mut below = |count: usize| stream.below(count) as i32;
    let questions: Vec<([i32; 3], u64)> =
        (0..ROUND).map(|_| ([below(5), below(2), below(3)], (1_u64 << below(30)) + below(4096) as u64)).collect();
    print_times(calls as usize, |place| {
        let ([coll, algorithm, protocol], bytes) = questions[place % ROUND];
        let size = communicator.ask_chunk(coll, bytes, algorithm, protocol, 12_345);
        size.map(|_size| ()).ok_or_else(|| "this version does not ask".to_owned())
    })?;
    println!("end {}", communicator.end());
    Ok(())
}

/// Calls once for each question, then so often in a row, then as often with the clock.
fn print_times(calls: usize, mut ask: impl FnMut(usize) -> Result<(), String>) -> Result<(), String> {
    for place in 0..ROUND {
        ask(place)?;
    }
    let start = Instant::now();
    for place in 0..calls {
        ask(place)?;
    }
    let mean_ns = start.elapsed().as_nanos() as f64 / calls as f64;
    let mut each: Vec<u32> = Vec::with_capacity(calls);
    for place in 0..calls {
        let start = Instant::now();
        ask(place)?;
        each.push(u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX));
    }
    each.sort_unstable();
    let quantile = |share: f64| each[((each.len() - 1) as f64 * share) as usize];
    println!(
        "mean {mean_ns:.1} ns, one by one with the clock: median {} ns, p99.9 {} ns, worst {} ns",
        quantile(0.5),
        quantile(0.999),
        quantile(1.0)
    );
    Ok(())
}
