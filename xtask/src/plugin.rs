//! The tuner plugin, built as it is deployed.

use std::{fs, path::PathBuf};

use crate::{
    Result,
    shell::{cargo, run},
    target,
};

/// The name under which NCCL and RCCL find a plugin that is called `collectune`.
pub const FILE: &str = "libnccl-tuner-collectune.so";

/// Builds the plugin with its own profile. Returns its path, in the form that the library takes.
///
/// # Errors
/// Returns an error if it can't be built.
pub fn build() -> Result<PathBuf> {
    run(cargo().args(["build", "--quiet", "--package", "collectune-plugin", "--profile", "plugin"]))?;
    let folder = target().join("plugin");
    // A library's name in Rust has no hyphens.
    let built = folder.join("libnccl_tuner_collectune.so");
    let place = folder.join(FILE);
    let shown = |error| format!("{}: {error}", place.display());
    // Put in place at once: a job may have the one before open.
    let beside = folder.join(format!("{FILE}.{}", std::process::id()));
    fs::copy(&built, &beside).and_then(|_| fs::rename(&beside, &place)).map_err(shown)?;
    Ok(place)
}
