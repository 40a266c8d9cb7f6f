//! One launch as a process: with a time limit, and ended with all that it started.

use std::{
    fs::{self, File},
    io,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// How often a process is looked at.
const EVERY: Duration = Duration::from_millis(20);

/// How long a process may take to end by itself once it was asked to.
const GRACE: Duration = Duration::from_secs(5);

/// How the processes of a launch ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// By itself, with this exit status.
    Ended(ExitStatus),
    /// It ran for longer than its limit, and was ended.
    TimedOut,
    /// The user stopped the campaign, and it was ended.
    Stopped,
}

/// Whether the user asked to stop (Ctrl-C, or SIGTERM).
static IS_STOPPED: AtomicBool = AtomicBool::new(false);

pub(super) fn is_stopped() -> bool {
    IS_STOPPED.load(Ordering::Relaxed)
}

/// Takes the signals that ask a program to end. From then on a loop has to look at [`is_stopped`].
pub(super) fn take_signals() -> Result<(), String> {
    static TAKEN: OnceLock<Result<(), String>> = OnceLock::new();
    let taken = TAKEN.get_or_init(|| {
        ctrlc::set_handler(|| IS_STOPPED.store(true, Ordering::Relaxed)).map_err(|error| error.to_string())
    });
    taken.clone()
}

/// The variable by which the processes of a campaign's launches are found again: its value is the campaign's folder.
const CAMPAIGN: &str = "COLLECTUNE_CAMPAIGN";

/// Runs a command of the campaign in `folder` until it ends, its output into a file, at most for `limit`. It is the
/// leader of a group of processes, which is ended with it: a launcher that dies leaves no rank behind.
pub(super) fn run(words: &[String], folder: &Path, output: &Path, limit: Duration) -> io::Result<Ending> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command has no words"));
    };
    // A process that still writes into an earlier file of this name does not write into the new one.
    match fs::remove_file(output) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = File::create(output)?;
    let mut command = Command::new(program);
    command.env(CAMPAIGN, folder).args(arguments).stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            end_group(&child, false);
            return Ok(Ending::Ended(status));
        }
        let ending = match () {
            () if is_stopped() => Ending::Stopped,
            () if began.elapsed() >= limit => Ending::TimedOut,
            () => {
                thread::sleep(EVERY);
                continue;
            }
        };
        end(&mut child)?;
        return Ok(ending);
    }
}

/// Ends a process and its group: asked first, then forced.
fn end(child: &mut Child) -> io::Result<()> {
    end_group(child, true);
    let asked = Instant::now();
    while asked.elapsed() < GRACE && child.try_wait()?.is_none() {
        thread::sleep(EVERY);
    }
    end_group(child, false);
    child.wait().map(drop)
}

#[cfg(unix)]
fn end_group(child: &Child, gently: bool) {
    use nix::{
        sys::signal::{Signal, killpg},
        unistd::Pid,
    };
    let signal = if gently { Signal::SIGTERM } else { Signal::SIGKILL };
    if let Ok(pid) = i32::try_from(child.id()) {
        // A group that has ended already is what is wanted.
        let _ = killpg(Pid::from_raw(pid), signal);
    }
}

#[cfg(not(unix))]
fn end_group(_child: &Child, _gently: bool) {}

/// Ends what an earlier process left running of the campaign in `folder`, where it was killed itself. Answers whether
/// there was anything.
#[cfg(unix)]
pub(super) fn end_leftovers(folder: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;

    use nix::{
        sys::signal::{Signal, kill},
        unistd::Pid,
    };
    let mark = [CAMPAIGN.as_bytes(), b"=", folder.as_os_str().as_bytes()].concat();
    let found = || -> Vec<Pid> {
        // Where there is no /proc, nothing is found.
        let all = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        all.filter(|pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            *pid as u32 != std::process::id() && environment.split(|byte| *byte == 0).any(|variable| variable == mark)
        })
        .map(Pid::from_raw)
        .collect()
    };
    let mut left = found();
    let is_any = !left.is_empty();
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        for pid in &left {
            // One that has ended by itself is what is wanted.
            let _ = kill(*pid, signal);
        }
        let asked = Instant::now();
        while !left.is_empty() && asked.elapsed() < GRACE {
            thread::sleep(EVERY);
            left = found();
        }
    }
    is_any
}

#[cfg(not(unix))]
pub(super) fn end_leftovers(_folder: &Path) -> bool {
    false
}
