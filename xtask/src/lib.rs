//! The project's own commands, `cargo xtask serve`, `build` and `test`, and what they share with the browser tests.
//!
//! | module | what lives there |
//! |---|---|
//! | [`tools`] | the tools of the build: which, which version, how to install one that is missing |
//! | [`shell`] | running them |
//! | [`server`] | the static server of `serve` and of the browser tests |
//! | [`layers`] | the check that no module imports upward or sideways |
//! | [`circles`] | the check that files do not import each other |
//! | [`site`] | what makes a site of what trunk built: the build's name, the offline copy, headers |
//! | [`notices`] | the third-party notices |
//! | [`plugin`] | the tuner plugin, built as it is deployed |
//! | [`firefox`] | which browser tests don't run in Firefox, and why |
//! | [`weight`] | what the shipped page weighs |

pub mod circles;
pub mod firefox;
pub mod layers;
pub mod notices;
pub mod plugin;
pub mod server;
pub mod shell;
pub mod shorten;
pub mod site;
pub mod tools;
pub mod weight;

use std::path::{Path, PathBuf};

/// What a command answers when it fails: one sentence for people.
pub type Result<T, E = String> = std::result::Result<T, E>;

/// The version that the project carries.
///
/// # Errors
/// When its `Cargo.toml` can't be read or says none.
pub fn version() -> Result<String> {
    let manifest =
        std::fs::read_to_string(root().join("Cargo.toml")).map_err(|error| format!("Cargo.toml: {error}"))?;
    let version = manifest.split("name = \"collectune\"\nversion = \"").nth(1).and_then(|rest| rest.split('"').next());
    version.map(str::to_owned).ok_or_else(|| "Cargo.toml names no version of collectune".to_owned())
}

/// The project's root folder.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// The folder that Cargo builds into.
pub fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}
