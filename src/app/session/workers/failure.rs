//! What can go wrong with a worker, in words, and what to do about it.

use thiserror::Error;

use crate::worker::protocol::BUILD;

/// Why a job was not answered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// The worker lives and says why it can't.
    #[error("{0}")]
    Refused(String),
    /// The page ended the worker.
    #[error("It was cancelled.")]
    Cancelled,
    /// Another job ended the worker before this one began.
    #[error("The worker stopped at another question before it came to this one. Ask again.")]
    EndedByOtherJob,
    /// The worker ended at this work: what it was about, in words, and how it ended.
    #[error("{0}: {1}")]
    During(String, Box<Failure>),
    /// A mistake of ours.
    #[error(
        "The worker stopped because of a mistake in Collectune. Your files are still open; if it happens again with \
         the same files, please report this: {0}"
    )]
    Panicked(String),
    /// Ended without a panic, which is how WebAssembly runs out of memory.
    #[error(
        "The worker stopped, most likely because the browser gave it no more memory. Remove a file, or split the \
         sweep into one file per collective and scale, then go on."
    )]
    OutOfMemory,
    /// The browser reports an error in it.
    #[error("The worker stopped: {0}. Your files are still open.")]
    Crashed(String),
    /// It doesn't answer.
    #[error("The worker no longer answers and was ended. Your files are still open.")]
    NotResponding,
    /// It belongs to another version.
    #[error(
        "The page ({BUILD}) and its worker ({0}) are of different versions, so one of them comes from an old cache. \
         Reload the page; your files have to be opened again."
    )]
    WrongBuild(String),
    /// It says what nobody understands.
    #[error("The worker's answer could not be read. Reload the page; your files have to be opened again.")]
    InvalidMessage,
    /// Its code did not come.
    #[error("The workers' code could not be loaded: {0}. Check the connection, then try again.")]
    NotLoaded(String),
    /// It never came to life.
    #[error("The worker could not be started: {0}. Reload the page; check that the browser allows workers.")]
    NotStarted(String),
}

impl Failure {
    /// Reads the message of a worker's `error` event. A panic says so before it ends the worker, so a bare trap
    /// is a failed allocation.
    pub fn of_error_event(message: &str) -> Self {
        let lower = message.to_ascii_lowercase();
        let starved = ["unreachable", "memory", "allocation", "out of bounds"];
        match lower.as_str() {
            "" => Self::Crashed("the browser does not say why".to_owned()),
            text if starved.iter().any(|word| text.contains(word)) => Self::OutOfMemory,
            _ => Self::Crashed(message.to_owned()),
        }
    }

    /// Whether a new worker with the same files may do better.
    pub fn can_retry(&self) -> bool {
        !matches!(self.cause(), Self::WrongBuild(_) | Self::InvalidMessage | Self::NotStarted(_))
    }

    /// Whether a job ended the worker.
    pub fn ended_worker(&self) -> bool {
        matches!(self.cause(), Self::Panicked(_) | Self::OutOfMemory | Self::Crashed(_) | Self::NotResponding)
    }

    /// Whether nothing went wrong with this job itself.
    pub const fn is_expected(&self) -> bool {
        matches!(self, Self::Cancelled | Self::EndedByOtherJob)
    }

    /// The same, with what the work was about where the worker ended at it.
    pub fn during(self, what: impl FnOnce() -> String) -> Self {
        if self.ended_worker() && !matches!(self, Self::During(..)) {
            Self::During(what(), Box::new(self))
        } else {
            self
        }
    }

    /// How it ended, without what it was about: this names no file and no choice.
    pub fn cause(&self) -> &Self {
        match self {
            Self::During(_, cause) => cause.cause(),
            other => other,
        }
    }
}
