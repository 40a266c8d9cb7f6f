//! The commands with a profiler beside the tuner: what a library does with collectives of which it times the kernels.

use std::{
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use collectune::math::Stream;
use collectune_plugin_host::{
    Comm, Communicator, Plugin, Table, Version,
    profiler::{Event, Interface, Launch, Profiler},
    real::Nccl,
};

use crate::{allocations, init, print_messages};

const LL: usize = 0;
const SIMPLE: usize = 2;
const RING: usize = 1;
/// The number of a kernel about which the tuner is not asked.
const SYMMETRIC: usize = 7;

/// The communicator of one rank, with tuner and profiler.
struct Job<'a> {
    plugin: &'a Plugin,
    profiler: Profiler<'a>,
    tuner: Communicator<'a>,
    comm: Comm,
    interface: u32,
    stream: Stream,
    table: Table,
    /// The GPU's clock, in nanoseconds.
    clock: u64,
    kernels: Sender<Kernel>,
    /// Queries without a launch, where no call of the application ends the batch.
    open: u32,
    /// The expected line of the last collective, before it is known whether another follows.
    expected: Option<String>,
}

/// A running kernel: its event, its start and its end.
struct Kernel {
    event: Event,
    channels: u8,
    start: u64,
    stop: u64,
}

/// The next step of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// One collective.
    Single,
    /// Two collectives of similar size, aggregated in one query.
    Aggregated,
    /// Two collectives in a group, with a query each.
    Grouped,
    /// Two collectives in a group, one of them without a query.
    Beside,
    /// A captured graph: its event comes from another thread.
    Late,
    /// A query without a launch.
    Simulated,
    /// A launch without a query.
    Unasked,
    /// A launch that differs from the decision.
    Otherwise,
    /// A launch that never ends.
    Endless,
}

const STEPS: [Step; 9] = [
    Step::Single,
    Step::Aggregated,
    Step::Grouped,
    Step::Beside,
    Step::Late,
    Step::Simulated,
    Step::Unasked,
    Step::Otherwise,
    Step::Endless,
];

impl Job<'_> {
    fn random(&mut self) -> Launch {
        let coll = self.stream.below(5);
        // Odd sizes, so that the sum of two is never a size itself.
        let count = (1 << self.stream.below(24)) * 2 + 1;
        Launch { coll, count, algorithm: RING, protocol: SIMPLE, channels: 1 + self.stream.below(16) as u8 }
    }

    /// Asks about a collective; returns the launch with the decision.
    fn ask(&mut self, launch: Launch) -> Result<Launch, String> {
        self.table.entries_mut().fill(1.0);
        let bytes = launch.bytes(self.comm.ranks);
        let asked = self.tuner.ask(launch.coll as i32, bytes, 1, 0, &mut self.table);
        asked.map_err(|result| format!("getCollInfo answered {result}"))?;
        let (algorithm, protocol) = self.table.forced().unwrap_or((RING, LL));
        Ok(Launch { algorithm, protocol, ..launch })
    }

    /// Runs the kernel of a collective; returns its duration.
    fn run(&mut self, event: Event, channels: u8) -> u64 {
        let took = 1000 + self.stream.below(1_000_000) as u64;
        let (start, stop) = (self.clock, self.clock + took);
        self.clock = stop + 1 + self.stream.below(5000) as u64;
        if event != Event(0) {
            let _ = self.kernels.send(Kernel { event, channels, start, stop });
        }
        took
    }

    /// Expects a line of the log for a collective.
    fn expect(&mut self, launch: &Launch, took: u64) {
        let last = self.plugin.last_decision();
        let last = last.map_or_else(
            || "- - - -".to_owned(),
            |last| format!("{} {} {} {}", last.arm, last.propensity, last.call, last.generation),
        );
        let (comm, bytes) = (self.comm, launch.bytes(self.comm.ranks));
        self.expected = Some(format!("expect {:x} {} {bytes} {took} {last}", comm.id, launch.coll));
    }

    /// Decides whether the last collective was alone, by the next step: without reports of the application's calls, a
    /// kernel without a query may belong to the same group.
    fn tell(&mut self, next: Option<Step>) {
        if let Some(expected) = self.expected.take()
            && (self.interface >= 5 || next != Some(Step::Unasked))
        {
            println!("{expected}");
        }
    }

    /// Starts the events of collectives and runs them.
    fn launch(&mut self, launches: &[Launch]) -> u64 {
        let events = self.profiler.launch(launches);
        let mut took = 0;
        for (event, launch) in events.iter().zip(launches) {
            took = self.run(*event, launch.channels);
        }
        took
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        self.tell(Some(step));
        let launch = self.random();
        self.profiler.call(step == Step::Late);
        if self.interface >= 5 {
            self.open = 0;
        }
        match step {
            Step::Single => {
                let launch = self.ask(launch)?;
                let is_sure = self.open == 0;
                let took = self.launch(&[launch]);
                if is_sure {
                    self.expect(&launch, took);
                }
                self.open = 0;
            }
            Step::Aggregated => {
                let both = Launch { count: launch.count * 2, ..launch };
                let both = self.ask(both)?;
                let each = Launch { count: launch.count, ..both };
                self.launch(&[each, each]);
                self.open = 0;
            }
            Step::Grouped => {
                let other = self.random();
                self.profiler.call(false);
                let launches = [self.ask(launch)?, self.ask(other)?];
                self.launch(&launches);
                self.open = 0;
            }
            Step::Beside => {
                let launch = self.ask(launch)?;
                let other = Launch { algorithm: SYMMETRIC, ..self.random() };
                self.launch(&[launch, other]);
                self.open = 0;
            }
            Step::Late => {
                let launch = self.ask(launch)?;
                let profiler = &self.profiler;
                let event = thread::scope(|scope| scope.spawn(|| profiler.launch(&[launch])).join());
                let event = event.map_err(|_panic| "a thread panicked".to_owned())?;
                for event in event {
                    self.run(event, launch.channels);
                }
                self.open += 1;
            }
            Step::Simulated => {
                self.ask(launch)?;
                self.open += 1;
            }
            Step::Unasked => {
                self.launch(&[Launch { algorithm: SYMMETRIC, ..launch }]);
                self.open = 0;
            }
            Step::Otherwise => {
                let launch = self.ask(launch)?;
                // `auto` may run everything that the tuner can choose.
                let other = if self.table.forced().is_none() {
                    Launch { algorithm: SYMMETRIC, ..launch }
                } else {
                    Launch { protocol: (launch.protocol + 1) % 3, ..launch }
                };
                self.launch(&[other]);
                self.open = 0;
            }
            Step::Endless => {
                let launch = self.ask(launch)?;
                let events = self.profiler.launch(&[launch]);
                for event in events.into_iter().filter(|event| *event != Event(0)) {
                    let _ = self.profiler.begin_channel(event, 0, self.clock);
                }
                self.open = 0;
            }
        }
        Ok(())
    }
}

/// The thread that reports kernels: several at once, in any order, with their channels in any order.
fn notice(profiler: &Profiler<'_>, kernels: &Receiver<Kernel>, seed: u64) {
    const AT_ONCE: usize = 24;
    let mut stream = Stream::new(seed);
    let mut running: Vec<Kernel> = Vec::new();
    loop {
        let next = kernels.recv().ok();
        let is_over = next.is_none();
        running.extend(next);
        while running.len() > AT_ONCE || is_over && !running.is_empty() {
            let Kernel { event, channels, start, stop } = running.swap_remove(stream.below(running.len()));
            let (first, last) = (stream.below(channels.into()) as u8, stream.below(channels.into()) as u8);
            let between = |stream: &mut Stream| start + stream.below((stop - start) as usize) as u64;
            let mut ends = Vec::new();
            for channel in 0..channels {
                let begin = if channel == first { start } else { between(&mut stream) };
                let end = if channel == last { stop } else { between(&mut stream) };
                ends.push((profiler.begin_channel(event, channel, begin), end));
            }
            while !ends.is_empty() {
                let (channel, end) = ends.swap_remove(stream.below(ends.len()));
                profiler.end_channel(channel, end);
            }
        }
        if is_over {
            return;
        }
    }
}

/// The options of a job with a profiler.
#[derive(Clone, Copy)]
pub struct JobOptions {
    /// The version of the profiler's interface.
    pub version: u32,
    /// The functions of the plugin, or of a library's wrapper around them.
    pub interface: Interface,
    /// The rank of this process.
    pub rank: i32,
    pub steps: u64,
    /// Whether the job mixes all steps, or runs one collective at a time.
    pub is_mixed: bool,
}

/// Runs a job with one communicator, and prints the lines that its log must have.
pub fn job(plugin: &Plugin, version: Version, comm: Comm, options: JobOptions) -> Result<(), String> {
    let profiler =
        plugin.profile(options.interface, comm, options.rank).map_err(|result| format!("init answered {result}"))?;
    println!("mask {} context {}", Profiler::mask(), profiler.has_context());
    let tuner = init(plugin, version, comm, true)?;
    let (kernels, told) = channel();
    let noticing = profiler;
    let mut job = Job {
        plugin,
        profiler,
        tuner,
        comm,
        interface: options.version,
        stream: Stream::new(comm.id),
        table: Table::new(7, 3),
        clock: 1_700_000_000_000_000_000,
        kernels,
        open: 0,
        expected: None,
    };
    let ran = thread::scope(|scope| {
        scope.spawn(move || notice(&noticing, &told, comm.id));
        let mut ran = Ok(());
        for number in 0..options.steps {
            let is_other = options.is_mixed && job.stream.below(3) == 0;
            let step = if is_other { STEPS[job.stream.below(STEPS.len())] } else { Step::Single };
            ran = job.step(step);
            if ran.is_err() {
                break;
            }
            // Like a GPU, not faster than the log can be written.
            if number % 256 == 255 {
                thread::sleep(Duration::from_millis(25));
            }
        }
        job.tell(None);
        // Ends the other thread.
        job.kernels = channel().0;
        ran
    });
    ran?;
    let (tuner, profiler) = (job.tuner.end(), job.profiler.end());
    println!("end {tuner} {profiler}");
    print_messages();
    Ok(())
}

/// Runs two communicators at once; with `neighbour`, this process is not rank 0 of the second.
pub fn jobs(plugin: &Plugin, version: Version, comm: Comm, options: JobOptions) -> Result<(), String> {
    let other = Comm { id: comm.id + 1, ..comm };
    let ran = thread::scope(|scope| {
        let one = scope.spawn(|| job(plugin, version, comm, JobOptions { rank: 0, ..options }));
        let other = scope.spawn(|| job(plugin, version, other, options));
        (one.join(), other.join())
    });
    match ran {
        (Ok(one), Ok(other)) => one.and(other),
        _ => Err("a thread panicked".to_owned()),
    }
}

/// A real library starts and ends the profiler; returns the library's version.
pub fn real(library: &str) -> Result<i32, String> {
    let nccl = Nccl::open(library.as_ref())?;
    nccl.profile()?;
    Ok(nccl.version())
}

/// Calls the profiler with invalid arguments.
pub fn nonsense(plugin: &Plugin, version: Version, comm: Comm, interface: u32) -> Result<(), String> {
    let begin =
        || plugin.profile(plugin.interface(interface), comm, 0).map_err(|result| format!("init answered {result}"));
    let before = begin()?;
    let tuner = init(plugin, version, comm, true)?;
    let survived = before.survives_invalid_arguments();
    println!("end {} {}", tuner.end(), before.end());
    // More communicators at the same time than the plugin has room for.
    let many: Result<Vec<_>, String> = (0..40)
        .map(|id| {
            let comm = Comm { id, ..comm };
            plugin.profile(plugin.interface(interface), comm, 0).map_err(|result| format!("init answered {result}"))
        })
        .collect();
    let many = many?;
    let with = many.iter().filter(|profiler| profiler.has_context()).count();
    let ends = many.into_iter().all(|profiler| profiler.end() == 0);
    println!("survived {survived} at once {with} ends {ends}");
    Ok(())
}

/// Measures the time of a collective with a profiler, in the launching thread and in the one that reports its channels.
pub fn time(plugin: &Plugin, version: Version, comm: Comm, interface: u32, rounds: u64) -> Result<(), String> {
    const ROUND: usize = 1024;
    const CHANNELS: u8 = 8;
    let profiler =
        plugin.profile(plugin.interface(interface), comm, 0).map_err(|result| format!("init answered {result}"))?;
    let mut tuner = init(plugin, version, comm, true)?;
    let launch = Launch { coll: 4, count: 1 << 20, algorithm: RING, protocol: LL, channels: CHANNELS };
    let bytes = launch.bytes(comm.ranks);
    let (mut table, mut clock) = (Table::new(7, 3), 1_700_000_000_000_000_000);
    let mut events = Vec::with_capacity(ROUND);
    let (mut asks, mut launches, mut channels) = (Vec::new(), Vec::new(), Vec::new());
    let mut least = u64::MAX;
    for _ in 0..rounds {
        events.clear();
        let before = allocations::count();
        let start = Instant::now();
        for _ in 0..ROUND {
            tuner.ask(4, bytes, 1, 0, &mut table).map_err(|result| format!("getCollInfo answered {result}"))?;
            profiler.launch_into(&[], &mut events);
        }
        asks.push(start.elapsed().as_nanos() as f64 / ROUND as f64);
        table.entries_mut().fill(1.0);
        let start = Instant::now();
        for _ in 0..ROUND {
            profiler.call(false);
            tuner.ask(4, bytes, 1, 0, &mut table).map_err(|result| format!("getCollInfo answered {result}"))?;
            let (algorithm, protocol) = table.forced().unwrap_or((RING, LL));
            profiler.launch_into(&[Launch { algorithm, protocol, ..launch }], &mut events);
            table.entries_mut().fill(1.0);
        }
        launches.push(start.elapsed().as_nanos() as f64 / ROUND as f64);
        let start = Instant::now();
        for event in &events {
            for channel in 0..CHANNELS {
                let channel = profiler.begin_channel(*event, channel, clock);
                profiler.end_channel(channel, clock + 1000);
            }
            clock += 2000;
        }
        channels.push(start.elapsed().as_nanos() as f64 / (ROUND * usize::from(CHANNELS)) as f64);
        least = least.min(allocations::count() - before);
        thread::sleep(Duration::from_millis(25));
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_unstable_by(f64::total_cmp);
        times[times.len() / 2]
    };
    println!(
        "a launch with its question {:.0} ns, the question alone {:.0} ns, a channel {:.0} ns, allocations {least}",
        median(&mut launches),
        median(&mut asks),
        median(&mut channels),
    );
    println!("end {} {}", tuner.end(), profiler.end());
    print_messages();
    Ok(())
}
