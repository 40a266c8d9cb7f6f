//! Tests that need real measurements are ignored where there are none, which is decided when they are built.

use std::{env, path::PathBuf};

#[test]
fn the_tests_are_built_for_the_data_that_are_here() {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let folder = env::var_os("COLLECTUNE_DATA").map_or_else(beside, PathBuf::from);
    let (there, folder) = (folder.is_dir(), folder.display());
    assert_eq!(cfg!(shared_data), there, "{folder} has come or gone since the tests were built: touch build.rs");
}
