//! One communicator of one rank: what it follows, its count of calls, its failure.

use std::{fs, io, io::Read, path::Path};

use collectune::{
    collective::Scale,
    conf::{
        strict::{LineContent, Rule, lines},
        words::{ALGORITHMS, PROTOCOLS},
    },
    crc32::Crc32,
    policy::{
        arm::Arm,
        file::{LONGEST, Policy},
        record::{Active, First, Follow, Next, beginning, returning},
    },
};

use crate::{
    agreement::{Agreement, Joined},
    ffi::{Logger, remember},
    log::Log,
    profiler::Profiled,
    ranges::{MOST_RULES, Ranges},
    rewards::{Communicator, Question},
    settings::{Mode, Settings},
    table::Table,
};

/// What the library says when it creates a communicator.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Ranks of the communicator.
    pub ranks: usize,
    /// Nodes of the communicator.
    pub nodes: usize,
    /// The communicator's identifier, the same on all ranks; from version 5 on.
    pub comm_id: Option<u64>,
}

/// What the library asks about.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The collective's number (`ncclFunc_t`).
    pub coll: i32,
    /// The size.
    pub bytes: u64,
    /// Operations in the group.
    pub pipe_ops: i32,
}

/// What may be chosen for a call.
pub trait Offer {
    /// Whether an algorithm with a protocol can run, by their numbers (`NCCL_ALGO_*`, `NCCL_PROTO_*`).
    fn has(&self, algorithm: u8, protocol: u8) -> bool;
}

/// What the library is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Algorithm and protocol by their numbers; `None` leaves them to the library.
    pub pair: Option<(u8, u8)>,
    /// The most channels; `None` leaves them to the library.
    pub channels: Option<u8>,
}

impl Answer {
    /// All is left to the library.
    pub const UNTOUCHED: Self = Self { pair: None, channels: None };

    /// The arm that asks for the same; `None` where only the channels are limited, which no arm does.
    fn arm(self) -> Option<Arm> {
        match self {
            Self { pair: None, channels: None } => Some(Arm::Auto),
            Self { pair: None, channels: Some(_) } => None,
            Self { pair: Some((algorithm, protocol)), channels } => Some(Arm::Forced {
                algorithm: ALGORITHMS.get(usize::from(algorithm))?.1,
                protocol: PROTOCOLS.get(usize::from(protocol))?.1,
                channels: channels.map_or(0, u32::from),
            }),
        }
    }
}

/// Which arm of a policy a call runs, for the application's log.
#[derive(Clone, Copy, Debug)]
pub struct LastDecision {
    /// The number of the call of its key, from 0.
    pub call: u64,
    /// The arm's place in the policy.
    pub arm: u32,
    /// The probability with which it was chosen.
    pub propensity: f64,
    /// The policy's generation.
    pub generation: u64,
}

/// Why a call can't be answered. The library fails the collective; that is meant: an answer that other ranks don't give
/// hangs the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A record can be neither read nor proposed: `ncclSystemError`.
    System,
    /// A panic: `ncclInternalError`.
    Internal,
}

impl Failure {
    /// As `ncclResult_t`.
    pub const fn code(self) -> i32 {
        match self {
            Self::System => 2,
            Self::Internal => 3,
        }
    }
}

/// What a communicator follows.
enum Plan {
    /// Nothing: the library chooses.
    Passive,
    Rules(Box<Ranges>),
    Policy(Box<Table>),
}

/// What a library of version 2 leaves to the plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct V2 {
    /// The user has chosen the algorithm or the protocol.
    pub is_forced: bool,
    /// LL128 may be chosen.
    pub has_ll128: bool,
}

/// One communicator of one rank.
pub struct Context {
    log: Log,
    scale: Scale,
    overlap: bool,
    logs_choices: bool,
    v2: V2,
    plan: Plan,
    /// Questions so far, over all collectives.
    calls: u64,
    /// The number of the question before which something happens: an epoch begins, or nothing goes any more.
    next_event: u64,
    /// The question that fails on purpose.
    drill: Option<u64>,
    epochs: Option<Epochs>,
    failed: Option<Failure>,
    /// Where what is answered is kept, for the log of rewards.
    rewards: Option<Communicator>,
}

/// What changes a policy while the job runs.
struct Epochs {
    agreement: Agreement,
    /// Questions per epoch.
    length: u64,
    /// What is followed now.
    policy: Policy,
}

impl Context {
    /// Reads the environment and the files that it names, and agrees with the other ranks where it says where.
    pub fn start(start: &Start, logger: Logger) -> Result<Self, Failure> {
        let mut log = Log::new(logger);
        let settings = Settings::read();
        for complaint in &settings.complaints {
            log.warn(format_args!("{complaint}"));
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
            calls: 0,
            next_event: settings.drill.unwrap_or(u64::MAX),
            drill: settings.drill,
            epochs: None,
            failed: None,
            rewards,
        };
        match (&settings.folder, start.comm_id) {
            (Some(folder), Some(comm_id)) if settings.mode != Mode::Passive => {
                let agreement = Agreement::new(folder, comm_id, settings.timeout);
                this.agree(agreement, &settings, own)?;
            }
            _ => match own {
                First::Active(Active { follow: Follow::Online, .. }) => {
                    this.log.warn(format_args!(
                        "online needs the communicator's identifier, which the library hands over from NCCL 2.28 on: \
                         passive"
                    ));
                }
                own => this.follow(own, None)?,
            },
        }
        Ok(this)
    }

    /// What the ranks agree on is followed, whatever this rank wanted.
    fn agree(&mut self, mut agreement: Agreement, settings: &Settings, own: First) -> Result<(), Failure> {
        let proposal = match agreement.join(self.scale.ranks as usize, settings.rendezvous) {
            Ok(Joined::All) => {
                if own == First::Passive {
                    agreement.stand_back();
                }
                own
            }
            Ok(Joined::Late) => First::Passive,
            Ok(Joined::Few(seen)) => {
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
        let first = agreement.settle(0, &mut self.log, First::read, |_| proposal.text());
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
        self.follow(first, Some(agreement))
    }

    /// Lays out what is followed; online, also what may come later.
    fn follow(&mut self, first: First, agreement: Option<Agreement>) -> Result<(), Failure> {
        let First::Active(active) = first else { return Ok(()) };
        self.overlap = active.overlap;
        if active.follow == Follow::Static {
            self.plan = Plan::Rules(Box::new(self.rules(active.text.as_bytes())));
            return Ok(());
        }
        let reading = match Policy::read(active.text.as_bytes()) {
            Ok(reading) => reading,
            // It was read before it was proposed: another program wrote this.
            Err(error) => {
                self.log.failure(format_args!("the policy of the record {error}"));
                return Err(Failure::System);
            }
        };
        for note in &reading.notes {
            self.log.warn(format_args!("policy: {note}"));
        }
        self.plan = Plan::Policy(Box::new(self.table(&reading.policy)));
        if let (Follow::Online, Some(agreement)) = (active.follow, agreement) {
            self.epochs = Some(Epochs { agreement, length: active.epoch.max(1), policy: reading.policy });
        }
        self.await_event(0);
        Ok(())
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
                    self.log.warn(format_args!("line {number}, {fault}; the line was skipped"))
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

    /// What the library is told.
    pub fn decide(&mut self, call: &Call, offer: &impl Offer) -> Result<Answer, Failure> {
        if self.calls == self.next_event {
            self.event()?;
        }
        self.calls += 1;
        let (answer, last) = match &mut self.plan {
            Plan::Passive => (Answer::UNTOUCHED, None),
            Plan::Rules(ranges) => {
                let (answer, new) = ranges.decide(call, offer);
                if let Some(line) = new {
                    self.log.info(format_args!("{} bytes: line {line} applies", call.bytes));
                }
                (answer, None)
            }
            Plan::Policy(table) => {
                let (answer, last, new) = table.decide(call, offer);
                if let Some(new) = new {
                    self.log.info(format_args!("{}, band {}: arm {}", new.collective, new.band, new.arm));
                }
                (answer, last)
            }
        };
        remember(last);
        if let Some(rewards) = self.rewards {
            let arm = match (&self.plan, last) {
                (Plan::Policy(table), Some(last)) => Some(table.name(last.arm)),
                _ => answer.arm(),
            };
            rewards.ask(&Question { coll: call.coll, bytes: call.bytes, arm, last, overlap: self.overlap });
        }
        Ok(answer)
    }

    /// What happens between two questions.
    #[cold]
    fn event(&mut self) -> Result<(), Failure> {
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        assert!(self.drill != Some(self.calls), "a drill");
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
        self.await_event(self.calls);
        Ok(())
    }

    /// Finds the next question, after `now`, before which something happens.
    fn await_event(&mut self, now: u64) {
        let epoch =
            self.epochs.as_ref().map_or(u64::MAX, |epochs| (now / epochs.length + 1).saturating_mul(epochs.length));
        let drill = self.drill.filter(|drill| *drill >= now).unwrap_or(u64::MAX);
        self.next_event = epoch.min(drill);
    }

    /// After a panic: nothing is answered any more.
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

    /// What a library of version 2 leaves to the plugin.
    pub fn v2(&self) -> V2 {
        self.v2
    }
}

impl Epochs {
    /// Agrees on what an epoch follows; answers whether that is another policy than before.
    fn begin(&mut self, number: u64, log: &mut Log) -> Result<bool, Failure> {
        let Self { agreement, policy, .. } = self;
        let next = agreement.settle(number, log, Next::read, |agreement| agreement.proposal(policy).text());
        let (next, _) = next.ok_or(Failure::System)?;
        let Next::Policy(text) = next else { return Ok(false) };
        match Policy::read(text.as_bytes()) {
            Ok(reading) => {
                *policy = reading.policy;
                Ok(true)
            }
            // It was read before it was proposed: another program wrote this.
            Err(error) => {
                log.failure(format_args!("the policy of epoch {number} {error}"));
                Err(Failure::System)
            }
        }
    }
}

/// Where the profiler waits for what this communicator is answered: it was begun before, by the same thread.
fn rewards(settings: &Settings, start: &Start, log: &mut Log) -> Option<Communicator> {
    let profiled = Profiled::take();
    settings.rewards.as_ref()?;
    match profiled {
        Profiled::Here { communicator, comm_id, ranks, nodes } => {
            let is_same =
                (ranks, nodes) == (start.ranks, start.nodes) && start.comm_id.is_none_or(|own| own == comm_id);
            if !is_same {
                log.warn(format_args!("rewards: the profiler was begun for another communicator; nothing is logged"));
            }
            is_same.then_some(communicator)
        }
        Profiled::Old => {
            log.warn(format_args!(
                "rewards: this library doesn't tell a profiler when a collective ran on the GPU; nothing is logged. NCCL \
                 2.27 and later do"
            ));
            None
        }
        Profiled::Not => {
            log.warn(format_args!(
                "COLLECTUNE_TUNER_REWARDS is set, and no profiler was begun: set NCCL_PROFILER_PLUGIN to the path of this \
                 plugin as well"
            ));
            None
        }
        Profiled::Silent => None,
    }
}

/// What this rank by itself would follow.
fn own(settings: &Settings, scale: Scale, comm_id: Option<u64>, log: &mut Log) -> First {
    let active = |follow, text: String| {
        First::Active(Active { follow, scale, overlap: settings.overlap, epoch: settings.epoch, text })
    };
    match &settings.mode {
        Mode::Passive => First::Passive,
        Mode::Static(path) => match file(path) {
            Ok(bytes) => {
                log.info(format_args!("{} has the checksum {:08X}", path.display(), Crc32::of(&bytes)));
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

/// The text of a policy file that can be followed.
fn policy(path: &Path, log: &mut Log) -> Option<String> {
    let bytes = match file(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            log.warn(format_args!("{}: {error}: passive", path.display()));
            return None;
        }
    };
    match Policy::read(&bytes) {
        Ok(_) => {
            log.info(format_args!("{} has the checksum {:08X}", path.display(), Crc32::of(&bytes)));
            String::from_utf8(bytes).ok()
        }
        Err(error) => {
            log.warn(format_args!("{} {error}: passive", path.display()));
            None
        }
    }
}

/// A whole file. Neither a folder nor a pipe, which could hold up the job, nor more than a policy may have.
pub fn file(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("is no file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > LONGEST { Err(io::Error::other("has more than 16 MiB")) } else { Ok(bytes) }
}
