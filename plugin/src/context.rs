//! One communicator of one rank: its mode, the rules or the policy that it follows, its count of calls, its failure.

use std::path::Path;

use collectune::{
    collective::Scale,
    conf::{
        Reader, built_in,
        strict::{self, LineContent, Rule, lines},
    },
    crc32::CRC32,
    policy::{
        file::Policy,
        record::{Active, First, Follow, Next, beginning, returning},
    },
};

use crate::{
    agreement::{Agreement, JoinOutcome},
    chunks::Chunks,
    decision::{Availability, Call, Decision, remember},
    files,
    library::Logger,
    log::Log,
    profiler::ProfilerState,
    ranges::{MOST_RULES, Ranges},
    rewards::{Communicator, TunerQuery},
    settings::{Mode, Settings},
    table::Table,
};

/// The arguments of the library's `init`.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Number of ranks of the communicator.
    pub ranks: usize,
    /// Number of nodes of the communicator.
    pub nodes: usize,
    /// The communicator's identifier, equal on all ranks; `None` before version 5 of the interface.
    pub comm_id: Option<u64>,
}

/// Why a call fails. The library then fails the collective, which is intended: a decision that differs from that of
/// other ranks hangs the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A record can be neither read nor proposed (`ncclSystemError`).
    System,
    /// The plugin panicked (`ncclInternalError`).
    Internal,
}

impl Failure {
    /// The code of the failure as `ncclResult_t`.
    pub const fn code(self) -> i32 {
        match self {
            Self::System => 2,
            Self::Internal => 3,
        }
    }
}

/// The source of a communicator's decisions.
enum Plan {
    /// None: the library chooses.
    Passive,
    Rules(Box<Ranges>),
    Policy(Box<Table>),
}

/// Checks that a library of version 2 leaves to the plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct V2 {
    /// Whether the user forces the algorithm or the protocol.
    pub is_forced: bool,
    /// Whether LL128 may be chosen.
    pub has_ll128: bool,
}

/// The plugin's state for one communicator of one rank.
pub struct Context {
    log: Log,
    scale: Scale,
    overlap: bool,
    logs_choices: bool,
    v2: V2,
    plan: Plan,
    /// The rows of the library's own table, which answer where the plan leaves the choice to the library.
    carried: Option<Box<Ranges>>,
    /// The chunk sizes of the policy; those of later epochs are the same.
    chunks: Chunks,
    /// The number of calls so far, over all collectives.
    calls: u64,
    /// The number of the call before which an epoch begins or the configured failure occurs.
    next_event: u64,
    /// The number of the call that fails on purpose.
    failing_call: Option<u64>,
    epochs: Option<Epochs>,
    failed: Option<Failure>,
    /// The log of rewards that takes the decisions of this communicator.
    rewards: Option<Communicator>,
}

/// The state of a policy that changes while the job runs.
struct Epochs {
    agreement: Agreement,
    /// Calls per epoch.
    length: u64,
    /// The present policy.
    policy: Policy,
}

impl Context {
    /// Reads the environment and the files that it names, and agrees with the other ranks where a shared folder is
    /// given.
    pub fn start(start: &Start, logger: Logger) -> Result<Self, Failure> {
        let mut log = Log::new(logger);
        let settings = Settings::read();
        for complaint in &settings.complaints {
            log.warn(format_args!("{complaint}"));
        }
        // Most libraries have no table, so it is asked for by naming the GPU.
        if let Some(why) = settings.built_in.as_ref().err().filter(|why| !why.is_unasked()) {
            log.info(format_args!("carries no table of the library: {why}"));
        }
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let scale = Scale { nodes: number(start.nodes), ranks: number(start.ranks) };
        let rewards = rewards(&settings, start, &mut log);
        let own = own(&settings, scale, start.comm_id, &mut log);
        let mut this = Self {
            log,
            scale,
            overlap: settings.overlap,
            logs_choices: settings.logs_choices,
            v2: V2 { is_forced: settings.is_forced, has_ll128: settings.has_ll128 },
            plan: Plan::Passive,
            carried: None,
            chunks: Chunks::default(),
            calls: 0,
            next_event: settings.failing_call.unwrap_or(u64::MAX),
            failing_call: settings.failing_call,
            epochs: None,
            failed: None,
            rewards,
        };
        match (&settings.folder, start.comm_id) {
            (Some(folder), Some(comm_id)) if settings.mode != Mode::Passive => {
                let agreement = Agreement::new(folder, comm_id, settings.timeout);
                this.agree(agreement, &settings, own)?;
            }
            _ => {
                let is_online = matches!(own, First::Active(Active { follow: Follow::Online, .. }));
                if is_online {
                    this.log.warn(format_args!(
                        "online needs the communicator's identifier, which the library hands over from NCCL 2.28 on: \
                         passive"
                    ));
                }
                let own = if is_online { First::Passive } else { own };
                // Also a passive plugin takes the library's own table away.
                if own == First::Passive {
                    this.carry(settings.built_in.ok());
                }
                this.apply(own, None)?;
            }
        }
        Ok(this)
    }

    /// Follows what the ranks agree on, whatever this rank would do by itself.
    fn agree(&mut self, mut agreement: Agreement, settings: &Settings, own: First) -> Result<(), Failure> {
        let proposal = match agreement.join(self.scale.ranks as usize, settings.rendezvous) {
            Ok(JoinOutcome::Complete) => {
                if own == First::Passive {
                    agreement.wait_for_proposal();
                }
                own
            }
            Ok(JoinOutcome::Late) => First::Passive,
            Ok(JoinOutcome::Incomplete(seen)) => {
                self.log.warn(format_args!(
                    "{seen} of {} ranks are in {} after {} ms: is it shared by all nodes? Proposing to be passive",
                    self.scale.ranks,
                    agreement.folder().display(),
                    settings.rendezvous.as_millis()
                ));
                First::Passive
            }
            Err(error) => {
                self.log.warn(format_args!("{}: {error}: passive", agreement.folder().display()));
                return Ok(());
            }
        };
        let first = agreement.agree_on(0, &mut self.log, First::read, |_| proposal.text());
        let (first, checksum) = first.ok_or(Failure::System)?;
        let folder = agreement.folder().display();
        match &first {
            First::Passive => self.log.warn(format_args!("agreed to be passive in {folder}: the library chooses")),
            First::Active(_) => {
                self.log.info(format_args!("agreed on {first} with checksum {checksum:08X} in {folder}"));
            }
        }
        if let First::Active(active) = &first
            && active.scale != self.scale
        {
            self.log.failure(format_args!("the record is of a communicator of {}", active.scale));
            return Err(Failure::System);
        }
        self.apply(first, Some(agreement))
    }

    /// Prepares the agreed rules or policy; in online mode also the epochs.
    fn apply(&mut self, first: First, agreement: Option<Agreement>) -> Result<(), Failure> {
        let First::Active(active) = first else { return Ok(()) };
        self.overlap = active.overlap;
        self.carry(active.built_in);
        if active.follow == Follow::Static {
            self.plan = Plan::Rules(Box::new(self.rules(active.text.as_bytes())));
            return Ok(());
        }
        let reading = match Policy::read(active.text.as_bytes()) {
            Ok(reading) => reading,
            // The policy was read before it was proposed, so another program wrote this.
            Err(error) => {
                self.log.failure(format_args!("the policy of the record {error}"));
                return Err(Failure::System);
            }
        };
        for note in &reading.notes {
            self.log.warn(format_args!("policy: {note}"));
        }
        self.plan = Plan::Policy(Box::new(self.table(&reading.policy)));
        let given = &reading.policy.chunk_sizes;
        self.chunks = Chunks::new(given, self.scale);
        if !given.is_empty() {
            self.log.info(format_args!(
                "{} chunk sizes, {} of them about {}, by the bytes of one channel",
                given.len(),
                self.chunks.len(),
                self.scale
            ));
        }
        if let (Follow::Online, Some(agreement)) = (active.follow, agreement) {
            self.epochs = Some(Epochs { agreement, length: active.epoch.max(1), policy: reading.policy });
        }
        self.schedule_next_event(0);
        Ok(())
    }

    /// Prepares the rows of the library's own table.
    fn carry(&mut self, table: Option<built_in::Table>) {
        let Some(table) = table else { return };
        let rows = strict::read(table.text(Reader::Collectune).as_bytes());
        let (ranges, about) = Ranges::new(&rows, self.scale, false);
        self.carried = Some(Box::new(ranges));
        self.log.info(format_args!(
            "carries the {} rows of {table}'s own table, {about} of them about {}",
            rows.len(),
            self.scale
        ));
    }

    fn rules(&mut self, text: &[u8]) -> Ranges {
        let mut rules: Vec<Rule> = Vec::new();
        for (number, content) in lines(text) {
            match content {
                LineContent::Rule(rule) => {
                    if rule.asks_for_registration {
                        self.log.warn(format_args!(
                            "line {number}: regBuff is not looked at, because it can differ between ranks"
                        ));
                    }
                    rules.push(rule);
                }
                LineContent::Fault(fault) => {
                    self.log.warn(format_args!("line {number}, {fault}; the line was skipped"));
                }
                LineContent::Nothing | LineContent::Header => {}
            }
        }
        let (ranges, about) = Ranges::new(&rules, self.scale, self.logs_choices);
        if about > MOST_RULES {
            self.log
                .warn(format_args!("{about} rules are about {}; those after {MOST_RULES} are left out", self.scale));
        }
        self.log.info(format_args!(
            "static: {} rules, {about} of them about {}, overlap {}",
            rules.len(),
            self.scale,
            u8::from(self.overlap)
        ));
        ranges
    }

    fn table(&mut self, policy: &Policy) -> Table {
        let before = match &self.plan {
            Plan::Policy(table) => Some(&**table),
            _ => None,
        };
        for (place, arm) in policy.arms.iter().enumerate().filter(|(_, arm)| arm.channels() > u32::from(u8::MAX)) {
            self.log.warn(format_args!("arm {place}, {arm}: more than 255 channels; the library chooses their number"));
        }
        let table = Table::new(policy, self.scale, self.overlap, self.logs_choices, before);
        let about = policy.keys.iter().filter(|key| key.scale == self.scale).count();
        self.log.info(format_args!(
            "policy of generation {}: {} keys, {about} of them about {}, overlap {}",
            policy.generation,
            policy.keys.len(),
            self.scale,
            u8::from(self.overlap)
        ));
        table
    }

    /// The decision about the next call.
    pub fn decide(&mut self, call: &Call, available: &impl Availability) -> Result<Decision, Failure> {
        if self.calls == self.next_event {
            self.process_event()?;
        }
        self.calls += 1;
        let (answer, last) = match &mut self.plan {
            Plan::Passive => (Decision::DEFER, None),
            Plan::Rules(ranges) => {
                let (answer, new) = ranges.decide(call, available);
                if let Some(line) = new {
                    self.log.info(format_args!("{} bytes: line {line} applies", call.bytes));
                }
                (answer, None)
            }
            Plan::Policy(table) => {
                let (answer, last, new) = table.decide(call, available);
                if let Some(new) = new {
                    self.log.info(format_args!("{}, band {}: arm {}", new.collective, new.band, new.arm));
                }
                (answer, last)
            }
        };
        let answer = match &mut self.carried {
            Some(rows) if answer == Decision::DEFER => rows.decide(call, available).0,
            _ => answer,
        };
        remember(last);
        if let Some(rewards) = self.rewards {
            let arm = match (&self.plan, last) {
                (Plan::Policy(table), Some(last)) => Some(table.name(last.arm)),
                _ => answer.arm(),
            };
            rewards.ask(&TunerQuery { coll: call.coll, bytes: call.bytes, arm, last, overlap: self.overlap });
        }
        Ok(answer)
    }

    /// The size of a chunk in bytes for so many bytes of one channel, by the library's numbers of collective, algorithm
    /// and protocol; `None` leaves the library's.
    pub fn chunk_bytes(&self, coll: i32, algorithm: i32, protocol: i32, channel_bytes: u64) -> Option<usize> {
        self.chunks.find(coll, algorithm, protocol, channel_bytes)
    }

    /// Handles the event before the next call: the beginning of an epoch, or the configured failure.
    #[cold]
    fn process_event(&mut self) -> Result<(), Failure> {
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        assert!(self.failing_call != Some(self.calls), "a drill");
        if let Some(epochs) = &mut self.epochs {
            let number = self.calls / epochs.length;
            if self.calls.is_multiple_of(epochs.length) && number > 0 {
                match epochs.begin(number, &mut self.log) {
                    Ok(false) => {}
                    Ok(true) => {
                        let policy = epochs.policy.clone();
                        self.plan = Plan::Policy(Box::new(self.table(&policy)));
                    }
                    Err(failure) => {
                        self.failed = Some(failure);
                        return Err(failure);
                    }
                }
            }
        }
        self.schedule_next_event(self.calls);
        Ok(())
    }

    /// Finds the first call after `now` before which an event occurs.
    fn schedule_next_event(&mut self, now: u64) {
        let epoch =
            self.epochs.as_ref().map_or(u64::MAX, |epochs| (now / epochs.length + 1).saturating_mul(epochs.length));
        let failing_call = self.failing_call.filter(|failing_call| *failing_call >= now).unwrap_or(u64::MAX);
        self.next_event = epoch.min(failing_call);
    }

    /// Marks the communicator as failed, after a panic: all further calls fail.
    pub fn fail(&mut self, failure: Failure) -> Failure {
        if self.failed.is_none() {
            self.failed = Some(failure);
            self.log.failure(format_args!(
                "internal error at call {}: collectives of this communicator fail from here on",
                self.calls
            ));
        }
        self.next_event = self.calls;
        failure
    }

    /// The checks that a library of version 2 leaves to the plugin.
    pub fn v2(&self) -> V2 {
        self.v2
    }
}

impl Epochs {
    /// Agrees on the policy of an epoch; returns whether it differs from the present one.
    fn begin(&mut self, number: u64, log: &mut Log) -> Result<bool, Failure> {
        let Self { agreement, policy, .. } = self;
        let next = agreement.agree_on(number, log, Next::read, |agreement| agreement.proposal(policy).text());
        let (next, _) = next.ok_or(Failure::System)?;
        let Next::Policy(text) = next else { return Ok(false) };
        match Policy::read(text.as_bytes()) {
            Ok(reading) => {
                *policy = reading.policy;
                Ok(true)
            }
            // The policy was read before it was proposed, so another program wrote this.
            Err(error) => {
                log.failure(format_args!("the policy of epoch {number} {error}"));
                Err(Failure::System)
            }
        }
    }
}

/// Takes the log of rewards that the profiler started for this communicator, earlier in the same thread.
fn rewards(settings: &Settings, start: &Start, log: &mut Log) -> Option<Communicator> {
    let profiled = ProfilerState::take();
    settings.rewards.as_ref()?;
    match profiled {
        ProfilerState::Logging { communicator, comm_id, ranks, nodes } => {
            let is_same =
                (ranks, nodes) == (start.ranks, start.nodes) && start.comm_id.is_none_or(|own| own == comm_id);
            if !is_same {
                log.warn(format_args!("rewards: the profiler was begun for another communicator; nothing is logged"));
            }
            is_same.then_some(communicator)
        }
        ProfilerState::WithoutTimestamps => {
            log.warn(format_args!(
                "rewards: this library doesn't tell a profiler when a collective ran on the GPU; nothing is logged. NCCL \
                 2.27 and later do"
            ));
            None
        }
        ProfilerState::Absent => {
            log.warn(format_args!(
                "COLLECTUNE_TUNER_REWARDS is set, and no profiler was begun: set NCCL_PROFILER_PLUGIN to the path of this \
                 plugin as well"
            ));
            None
        }
        ProfilerState::NotLogging => None,
    }
}

/// What this rank would follow by itself.
fn own(settings: &Settings, scale: Scale, comm_id: Option<u64>, log: &mut Log) -> First {
    let active = |follow, text: String| {
        let (overlap, epoch, built_in) = (settings.overlap, settings.epoch, settings.built_in.as_ref().ok().copied());
        First::Active(Active { follow, scale, overlap, epoch, built_in, text })
    };
    match &settings.mode {
        Mode::Passive => First::Passive,
        Mode::Static(path) => match files::read(path) {
            Ok(bytes) => {
                log.info(format_args!("{} has the checksum {:08X}", path.display(), CRC32.checksum(&bytes)));
                active(Follow::Static, String::from_utf8_lossy(&bytes).into_owned())
            }
            Err(error) => {
                log.warn(format_args!("{}: {error}: passive", path.display()));
                First::Passive
            }
        },
        Mode::Policy(path) => policy(path, log).map_or(First::Passive, |text| active(Follow::Policy, text)),
        Mode::Online(None) => active(Follow::Online, beginning(scale, comm_id.unwrap_or(0)).text()),
        Mode::Online(Some(path)) => match policy(path, log).map(|text| Policy::read(text.as_bytes())) {
            Some(Ok(reading)) => active(Follow::Online, returning(reading.policy).text()),
            Some(Err(_)) | None => First::Passive,
        },
    }
}

/// The text of a valid policy file; `None` after a warning.
fn policy(path: &Path, log: &mut Log) -> Option<String> {
    let bytes = match files::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            log.warn(format_args!("{}: {error}: passive", path.display()));
            return None;
        }
    };
    match Policy::read(&bytes) {
        Ok(_) => {
            log.info(format_args!("{} has the checksum {:08X}", path.display(), CRC32.checksum(&bytes)));
            String::from_utf8(bytes).ok()
        }
        Err(error) => {
            log.warn(format_args!("{} {error}: passive", path.display()));
            None
        }
    }
}
