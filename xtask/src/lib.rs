//! The project's own commands, `cargo xtask serve`, `build` and `test`, and what they share with the browser tests.
//!
//! | module | what lives there |
//! |---|---|
//! | [`tools`] | the tools of the build: which, which version, how to install one that is missing |
//! | [`shell`] | running them |
//! | [`server`] | the static server of `serve` and of the browser tests |
//! | [`layers`] | the check that no module imports upward or sideways |
//! | [`weight`] | what the shipped page weighs |

pub mod layers;
pub mod server;
pub mod shell;
pub mod tools;
pub mod weight;

use std::path::{Path, PathBuf};

/// What a command answers when it fails: one sentence for people.
pub type Result<T, E = String> = std::result::Result<T, E>;

/// The project's root folder.
#[must_use]
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}
