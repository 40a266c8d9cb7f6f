//! Tells the tests whether real measurements stand beside the project: those that need them are ignored where there are
//! none.

use std::{env, path::PathBuf};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(shared_data)");
    // A path that is not there, watched, would have everything built again each time. A test says when the folder has
    // come or gone since: `tests/common/shared_data.rs`.
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=COLLECTUNE_DATA");
    let folder = env::var_os("COLLECTUNE_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    if folder.is_dir() {
        println!("cargo::rustc-cfg=shared_data");
    }
}
