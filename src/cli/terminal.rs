//! What is said to people beside the output: progress, notes and errors, all on stderr.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use super::CliError;
use crate::progress::Progress;

/// Writes one line `kind: message`. An stderr that is closed hears nothing.
pub(super) fn say(kind: &str, message: &str) {
    let _ = writeln!(io::stderr(), "{kind}: {message}");
}

/// Says each note.
pub(super) fn say_notes(notes: &[String]) {
    notes.iter().for_each(|note| say("note", note));
}

/// Writes the output. A reader that has heard enough (`| head`) is no error.
pub(super) fn write(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::Write(error)),
        _ => Ok(()),
    }
}

/// Progress in one line of a terminal, wiped out when it is done; silent where stderr is no terminal.
pub(super) struct Bar {
    is_shown: bool,
    drawn: Option<Instant>,
}

impl Bar {
    pub(super) fn new() -> Self {
        Self { is_shown: io::stderr().is_terminal(), drawn: None }
    }
}

impl Progress for Bar {
    fn report(&mut self, doing: &str, done: u64, total: u64) {
        const EACH: Duration = Duration::from_millis(80);
        if !self.is_shown || self.drawn.is_some_and(|drawn| drawn.elapsed() < EACH) {
            return;
        }
        self.drawn = Some(Instant::now());
        let percent = (done.min(total) * 100).checked_div(total);
        let share = percent.map_or_else(String::new, |percent| format!(" {percent:3} %"));
        let _ = write!(io::stderr(), "\r\x1B[K{doing}{share}");
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            let _ = write!(io::stderr(), "\r\x1B[K");
        }
    }
}
