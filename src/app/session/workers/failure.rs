//! The ways in which a job of a worker can fail, with what the user can do.

use thiserror::Error;

use crate::worker::protocol::BUILD;

/// Why a job was not answered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// The worker can't do it, for this reason.
    #[error("{0}")]
    Refused(String),
    /// The page ended the worker.
    #[error("It was cancelled.")]
    Cancelled,
    /// Another job ended the worker before this one began.
    #[error("The worker stopped during another request before it came to this one. Try again.")]
    EndedByOtherJob,
    /// The worker ended during this work, for this reason.
    #[error("{0}: {1}")]
    During(String, Box<Failure>),
    /// The worker panicked, with this message.
    #[error(
        "The worker stopped because of a mistake in Collectune. Your files are still open; if it happens again with \
         the same files, please report this: {0}"
    )]
    Panicked(String),
    /// The worker ended without a panic, which is how WebAssembly runs out of memory.
    #[error(
        "The worker stopped, most likely because the browser gave it no more memory. Remove a file, or split the \
         sweep into one file per collective and scale, then go on."
    )]
    OutOfMemory,
    /// The browser reported an error in the worker.
    #[error("The worker stopped: {0}. Your files are still open.")]
    Crashed(String),
    /// The worker stopped sending messages.
    #[error("The worker no longer answers and was ended. Your files are still open.")]
    NotResponding,
    /// The worker is of another build than the page.
    #[error(
        "The page ({BUILD}) and its worker ({0}) are of different versions, so one of them comes from an old cache. \
         Reload the page; your files have to be opened again."
    )]
    WrongBuild(String),
    /// The message of the worker can't be decoded.
    #[error("The worker's answer could not be read. Reload the page; your files have to be opened again.")]
    InvalidMessage,
    /// The code of the workers could not be fetched.
    #[error("The workers' code could not be loaded: {0}. Check the connection, then try again.")]
    NotLoaded(String),
    /// The browser could not start the worker.
    #[error("The worker could not be started: {0}. Reload the page; check that the browser allows workers.")]
    NotStarted(String),
}

impl Failure {
    /// Classifies the message of a worker's `error` event. A panic is reported before it ends the worker, so a trap
    /// without one is a failed allocation.
    pub fn of_error_event(message: &str) -> Self {
        let lower = message.to_ascii_lowercase();
        let starved = ["unreachable", "memory", "allocation", "out of bounds"];
        match lower.as_str() {
            "" => Self::Crashed("the browser does not say why".to_owned()),
            text if starved.iter().any(|word| text.contains(word)) => Self::OutOfMemory,
            _ => Self::Crashed(message.to_owned()),
        }
    }

    /// Whether a new worker with the same files may succeed.
    pub fn can_retry(&self) -> bool {
        !matches!(self.cause(), Self::WrongBuild(_) | Self::InvalidMessage | Self::NotStarted(_))
    }

    /// Whether a job ended the worker.
    pub fn ended_worker(&self) -> bool {
        matches!(self.cause(), Self::Panicked(_) | Self::OutOfMemory | Self::Crashed(_) | Self::NotResponding)
    }

    /// Whether it is no error of this job itself, and not to be reported.
    pub const fn is_expected(&self) -> bool {
        matches!(self, Self::Cancelled | Self::EndedByOtherJob)
    }

    /// Adds the work during which the worker ended, if it did.
    pub fn during(self, what: impl FnOnce() -> String) -> Self {
        if self.ended_worker() && !matches!(self, Self::During(..)) {
            Self::During(what(), Box::new(self))
        } else {
            self
        }
    }

    /// The reason without the work, which could name files and choices.
    pub fn cause(&self) -> &Self {
        match self {
            Self::During(_, cause) => cause.cause(),
            other => other,
        }
    }
}
