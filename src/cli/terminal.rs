//! What is said: the output on stdout; progress, notes and errors beside it on stderr. A terminal takes control
//! characters for commands, and names of files and cells of tables may hold any: people see them written out.

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

use serde::Serialize;

use super::error::{CliError, told};
use crate::{
    progress::Progress,
    text::{is_control, json::indented, visible, visible_lines},
};

/// Whether an error was said: what a command answers after that is without what the error is about.
static HAS_ERRED: AtomicBool = AtomicBool::new(false);

/// Whether an error was said.
pub(super) fn has_erred() -> bool {
    HAS_ERRED.load(Ordering::Relaxed)
}

/// Writes one line `kind: message`. An stderr that is closed hears nothing.
pub(super) fn say(kind: &str, message: &str) {
    HAS_ERRED.fetch_or(kind == "error", Ordering::Relaxed);
    if kind != "error" {
        SAID.lock().unwrap_or_else(PoisonError::into_inner).push(message.to_owned());
    }
    let _ = writeln!(io::stderr(), "{kind}: {}", visible(message));
}

/// The notes and warnings that were written to stderr so far.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The notes and warnings that were written to stderr so far, in their order, for an answer in JSON.
pub(super) fn said() -> Vec<String> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Writes each note to stderr.
pub(super) fn say_notes(notes: impl IntoIterator<Item = impl AsRef<str>>) {
    notes.into_iter().for_each(|note| say("note", note.as_ref()));
}

/// Writes text for people to stdout, control characters written out.
pub(super) fn write(text: &str) -> Result<(), CliError> {
    put(&visible_lines(text))
}

/// Writes a value as JSON.
pub(super) fn write_json(value: &impl Serialize) -> Result<(), CliError> {
    write_as_json(&(indented(value) + "\n"))
}

/// Writes text that is JSON, in which any character of a string may be written as a number.
pub(super) fn write_as_json(json: &str) -> Result<(), CliError> {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if is_control(c) && c != '\n' {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text += &format!("\\u{unit:04x}"));
        } else {
            text.push(c);
        }
    }
    put(&text)
}

/// Writes a file to where files are redirected or piped to, as it is; to a terminal as people read it.
pub(super) fn write_file(text: &str) -> Result<(), CliError> {
    if io::stdout().is_terminal() { write(text) } else { put(text) }
}

/// A reader that has heard enough (`| head`) is no error.
fn put(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(told(format!("the output can't be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Progress in one line of a terminal, wiped out when it is done; silent where stderr is no terminal.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new() -> Self {
        let bar =
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_finish(ProgressFinish::AndClear);
        // How far it is stands in the message: not everything has a total.
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self(bar)
    }
}

impl Progress for Bar {
    fn report(&mut self, doing: &str, done: u64, total: u64) {
        if self.0.is_hidden() {
            return;
        }
        let percent = (done.min(total) * 100).checked_div(total);
        let share = percent.map_or_else(String::new, |percent| format!(" {percent:3} %"));
        self.0.set_message(format!("{}{share}", visible(doing)));
    }
}
