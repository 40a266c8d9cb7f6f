//! How the ranks of a communicator agree through a shared file system: one proposal becomes the record.
//!
//! A rank writes its proposal to a file of its own and links it to the record's name. `link(2)` creates a name or fails
//! if it exists, so exactly one proposal becomes the record, whole and permanent; then every rank reads it. A rank that
//! starts late, dies, or sees other files than the others reads the same record or none.

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
    crc32::CRC32,
    math::{hash, mix},
    policy::{file::Policy, record::Next},
};

use crate::{files, log::Log};

/// The pause between two polls of a folder: it doubles from this value up to [`MAX_POLL_INTERVAL`].
const POLL_INTERVAL: Duration = Duration::from_millis(1);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The most polls for which a rank delays its proposal: if all ranks proposed at once, a disk would slow all of them
/// down.
const MAX_TURN_POLLS: u64 = 8;
/// How long a rank without a policy of its own lets the others propose first.
const PROPOSAL_HEAD_START: Duration = Duration::from_secs(2);
/// The interval of warnings while a rank waits.
const WARNING_INTERVAL: Duration = Duration::from_secs(5);

/// The shared state by which the ranks of a communicator agree.
pub struct Agreement {
    /// The shared folder (`COLLECTUNE_TUNER_DIR`).
    shared: PathBuf,
    /// The communicator's folder within the shared one.
    folder: PathBuf,
    /// This rank's unique name: host, process, and a counter.
    member: String,
    /// Whether the communicator has other ranks, which may propose as well.
    has_others: bool,
    timeout: Duration,
}

/// The outcome of waiting for the other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinOutcome {
    /// All ranks are members.
    Complete,
    /// There is a record already: the other ranks have proposed and agreed.
    Late,
    /// Only this many ranks are members after the rendezvous time.
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

    /// Becomes a member, and waits until all ranks are members, until there is a record, or until `rendezvous` has
    /// passed.
    ///
    /// # Errors
    /// Those of the file system. Then this rank is no member, so the others can't become active either. A member
    /// follows the record, whatever it is.
    pub fn join(&mut self, ranks: usize, rendezvous: Duration) -> io::Result<JoinOutcome> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        self.has_others = ranks > 1;
        let members = self.folder.join("members");
        fs::create_dir_all(&members)?;
        let host = host();
        // In containers, hosts and processes of different ranks can have equal names and numbers.
        loop {
            self.member = format!("{host}.{}.{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
            let own = members.join(&self.member);
            match fs::File::create_new(&own) {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    // On a network file system the file may exist although its creation failed.
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

    /// Waits up to [`PROPOSAL_HEAD_START`] for the record of another rank: a proposal of a rank without a policy would
    /// make all ranks passive.
    pub fn wait_for_proposal(&self) {
        let start = Instant::now();
        while start.elapsed() < PROPOSAL_HEAD_START && !self.record(0).exists() {
            thread::sleep(MAX_POLL_INTERVAL);
        }
    }

    /// Returns the record of an epoch with the checksum of its text, and proposes one where there is none. `None`,
    /// after a message, if the record could be neither read nor proposed within the timeout.
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
                    Some(record) => return Some((record, CRC32.checksum(&bytes))),
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

    /// Waits until it is this rank's turn to propose; the order changes from epoch to epoch. Returns whether the record
    /// appeared before.
    fn wait_for_turn(&self, epoch: u64) -> bool {
        if !self.has_others {
            return false;
        }
        let turn = mix(hash(format!("{}{epoch}", self.member).as_bytes())) % MAX_TURN_POLLS;
        (0..turn).any(|_| {
            thread::sleep(POLL_INTERVAL);
            self.record(epoch).exists()
        })
    }

    /// Makes a text the record of an epoch, unless there is one.
    fn propose(&self, epoch: u64, text: &[u8]) -> io::Result<()> {
        let own = self.folder.join(format!("proposal-{epoch:06}.{}", self.member));
        let written = fs::File::create(&own).and_then(|mut file| {
            file.write_all(text)?;
            file.sync_all()
        });
        let linked = written.and_then(|()| fs::hard_link(&own, self.record(epoch)));
        // A file that can't be removed does no harm.
        let _ = fs::remove_file(&own);
        match linked {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    fn record(&self, epoch: u64) -> PathBuf {
        self.folder.join(format!("epoch-{epoch:06}"))
    }

    /// The proposal of this rank for the next epoch: the policy in `next.policy`, of this communicator or of all in the
    /// shared folder, if it is complete, has the same arms, bands and chunk sizes, and is newer than the present one.
    /// The library asks for chunk sizes after all questions of a group, so they can't change between two calls.
    pub fn proposal(&self, present: &Policy) -> Next {
        for folder in [&self.folder, &self.shared] {
            let Ok(bytes) = files::read(&folder.join("next.policy")) else { continue };
            let Ok(reading) = Policy::read(&bytes) else { continue };
            let next = reading.policy;
            if next.generation > present.generation
                && next.arms == present.arms
                && next.bands == present.bands
                && next.chunk_sizes == present.chunk_sizes
                && let Ok(text) = String::from_utf8(bytes)
            {
                return Next::Policy(text);
            }
        }
        Next::Keep
    }
}

/// The host name, restricted to characters that file names may have.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| env::var("HOSTNAME").ok());
    let mut plain = String::new();
    for c in name.unwrap_or_default().trim().chars().take(64) {
        let _ = plain.write_char(if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' });
    }
    plain
}
