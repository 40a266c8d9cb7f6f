//! Why a command ends without success.

/// Why a command ends without success. Any error becomes one by its words: all that is done with it is to say it.
#[derive(Debug)]
pub(super) enum CliError {
    /// It can't be done; the reason, in words for users.
    Told(String),
    /// A check found something, and said what: neither an error nor a success.
    Found,
}

impl<E: std::error::Error> From<E> for CliError {
    fn from(error: E) -> Self {
        Self::Told(error.to_string())
    }
}

/// The error with these words.
pub(super) fn told(why: impl Into<String>) -> CliError {
    CliError::Told(why.into())
}

pub(super) fn refuse<T>(why: impl Into<String>) -> Result<T, CliError> {
    Err(told(why))
}
