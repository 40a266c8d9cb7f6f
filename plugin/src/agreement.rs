//! How the ranks of a communicator agree: on a file system that they share, one proposal wins.
//!
//! A rank writes its proposal to a file of its own and links it to the record's name. `link(2)` makes a name that is not
//! there yet or fails, so exactly one proposal becomes the record, whole and for good; then every rank reads it. Who comes
//! late, dies, or sees other files than the others reads the same record or none.

use std::{
    env,
    fmt::Write as _,
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use collectune::{
    bandit::schedule::Fnv,
    crc32::Crc32,
    math::mix,
    policy::{file::Policy, record::Next},
};

use crate::{files, log::Log};

/// How long to wait between two looks at a folder, at first and at most.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A rank proposes so many looks after the others at most: where all propose at once, a disk makes all of them wait.
const MAX_TURN_POLLS: u64 = 8;
/// So long a rank that has nothing to propose lets the others go first.
const PROPOSAL_HEAD_START: Duration = Duration::from_secs(2);
/// After such a time of waiting, a message.
const WARNING_INTERVAL: Duration = Duration::from_secs(5);

/// Where a communicator's ranks agree.
pub struct Agreement {
    /// `COLLECTUNE_TUNER_DIR`.
    shared: PathBuf,
    /// The communicator's folder in it.
    folder: PathBuf,
    /// This rank's name: host, process, and a number.
    member: String,
    /// Whether others may propose as well.
    has_others: bool,
    timeout: Duration,
}

/// What a new member found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinOutcome {
    /// All ranks.
    Complete,
    /// A record: the others have found each other, or waited long enough.
    Late,
    /// So many ranks after having waited long enough.
    Incomplete(usize),
}

impl Agreement {
    pub fn new(shared: &Path, comm_id: u64, timeout: Duration) -> Self {
        Self {
            shared: shared.to_owned(),
            folder: shared.join(format!("{comm_id:016x}")),
            member: String::new(),
            has_others: false,
            timeout,
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Becomes a member and waits until all ranks are, or until there is a record.
    ///
    /// An error means that this rank is no member, so that the others can't become active either; once it is one, it
    /// follows the record, whatever it is.
    pub fn join(&mut self, ranks: usize, rendezvous: Duration) -> io::Result<JoinOutcome> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        self.has_others = ranks > 1;
        let members = self.folder.join("members");
        fs::create_dir_all(&members)?;
        let host = host();
        // In containers, hosts and processes can have the same names and numbers.
        loop {
            self.member = format!("{host}.{}.{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
            let own = members.join(&self.member);
            match fs::File::create_new(&own) {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    // On a network it may be there all the same.
                    let _ = fs::remove_file(&own);
                    return Err(error);
                }
            }
        }
        let start = Instant::now();
        let mut interval = POLL_INTERVAL;
        loop {
            if self.record(0).exists() {
                return Ok(JoinOutcome::Late);
            }
            let seen = fs::read_dir(&members).map_or(0, Iterator::count);
            if seen >= ranks {
                return Ok(JoinOutcome::Complete);
            }
            if start.elapsed() >= rendezvous {
                return Ok(JoinOutcome::Incomplete(seen));
            }
            thread::sleep(interval);
            interval = (interval * 2).min(MAX_POLL_INTERVAL);
        }
    }

    /// Lets the other ranks propose first, for a while: whoever has nothing to propose would make all passive.
    pub fn wait_for_proposal(&self) {
        let start = Instant::now();
        while start.elapsed() < PROPOSAL_HEAD_START && !self.record(0).exists() {
            thread::sleep(MAX_POLL_INTERVAL);
        }
    }

    /// The record of an epoch with the checksum of its text, proposed where it is not there yet; `None` where it could
    /// neither be read nor proposed in time, which was warnings.
    pub fn agree_on<T>(
        &self,
        epoch: u64,
        log: &mut Log,
        read: impl Fn(&[u8]) -> Option<T>,
        proposal: impl Fn(&Self) -> String,
    ) -> Option<(T, u32)> {
        let start = Instant::now();
        let mut warnings = 0;
        let mut interval = POLL_INTERVAL;
        loop {
            let problem = match files::read(&self.record(epoch)) {
                Ok(bytes) => match read(&bytes) {
                    Some(record) => return Some((record, Crc32::of(&bytes))),
                    None => io::Error::other("the record can't be read"),
                },
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if self.wait_for_turn(epoch) {
                        continue;
                    }
                    match self.propose(epoch, proposal(self).as_bytes()) {
                        Ok(()) => continue,
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            let waited = start.elapsed();
            if waited >= self.timeout {
                log.failure(format_args!(
                    "{}: {problem}; after {} ms, collectives of this communicator fail",
                    self.record(epoch).display(),
                    waited.as_millis()
                ));
                return None;
            }
            if waited.as_secs() / WARNING_INTERVAL.as_secs() > warnings {
                warnings = waited.as_secs() / WARNING_INTERVAL.as_secs();
                log.warn(format_args!("{}: {problem}; waiting", self.record(epoch).display()));
            }
            thread::sleep(interval);
            interval = (interval * 2).min(MAX_POLL_INTERVAL);
        }
    }

    /// Waits until it is this rank's turn to propose, which changes from epoch to epoch; answers whether the record came
    /// before.
    fn wait_for_turn(&self, epoch: u64) -> bool {
        if !self.has_others {
            return false;
        }
        let turn = mix(Fnv::new().text(&self.member).number(epoch).value()) % MAX_TURN_POLLS;
        (0..turn).any(|_| {
            thread::sleep(POLL_INTERVAL);
            self.record(epoch).exists()
        })
    }

    /// Makes a text the record of an epoch, unless another one is it already.
    fn propose(&self, epoch: u64, text: &[u8]) -> io::Result<()> {
        let own = self.folder.join(format!("proposal-{epoch:06}.{}", self.member));
        let written = fs::File::create(&own).and_then(|mut file| {
            file.write_all(text)?;
            file.sync_all()
        });
        let linked = written.and_then(|()| fs::hard_link(&own, self.record(epoch)));
        // What stays behind disturbs nobody.
        let _ = fs::remove_file(&own);
        match linked {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    fn record(&self, epoch: u64) -> PathBuf {
        self.folder.join(format!("epoch-{epoch:06}"))
    }

    /// What this rank would follow next: the policy in `next.policy`, of this communicator or of all that share the
    /// folder, if it is whole, of the same arms and bands, and newer.
    pub fn proposal(&self, present: &Policy) -> Next {
        for folder in [&self.folder, &self.shared] {
            let Ok(bytes) = files::read(&folder.join("next.policy")) else { continue };
            let Ok(reading) = Policy::read(&bytes) else { continue };
            let next = reading.policy;
            if next.generation > present.generation
                && next.arms == present.arms
                && next.bands == present.bands
                && let Ok(text) = String::from_utf8(bytes)
            {
                return Next::Policy(text);
            }
        }
        Next::Keep
    }
}

/// The machine's name, fit for a file's.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| env::var("HOSTNAME").ok());
    let mut plain = String::new();
    for c in name.unwrap_or_default().trim().chars().take(64) {
        let _ = plain.write_char(if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' });
    }
    plain
}
