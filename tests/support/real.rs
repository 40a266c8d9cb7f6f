//! Real measurements, which a clone elsewhere has not. A test that reads them carries
//! `#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]`; `build.rs` sets `shared_data`.

use std::path::{Path, PathBuf};

use collectune::{
    intake::{self, FileContent},
    progress::Silent,
    training_time::bundle::{Bundle, DroppedFile, bring_together},
    tuning::{aggregate::Target, read::Row, runs::aggregate, sweep::Sweep},
};

/// The sweeps of the figures.
pub const SWEEPS: [&str; 6] =
    ["all_gather_2n", "all_reduce_1n", "all_reduce_2n_median", "all_reduce_3n_median", "broadcast_1n", "broadcast_2n"];

/// The sweeps that are there, by name: those of the figures and any other CSV file beside them.
pub fn all_sweeps() -> Vec<String> {
    let names = std::fs::read_dir(path("tuning")).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = names
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The path of a file, such as `tuning/broadcast_1n.csv`, which must be there. `COLLECTUNE_DATA` names another folder
/// than the one beside the project.
#[track_caller]
pub fn path(name: &str) -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let path = std::env::var_os("COLLECTUNE_DATA").map_or(beside, PathBuf::from).join(name);
    assert!(path.exists(), "{} is not there", path.display());
    path
}

/// What a file holds.
#[track_caller]
pub fn file(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

/// What a file of text holds.
#[track_caller]
pub fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

/// The rows of one of [`SWEEPS`].
pub fn rows(name: &str) -> Vec<Row> {
    let bytes = file(&format!("tuning/{name}.csv"));
    match intake::open(&bytes[..], name, bytes.len() as u64, 0, None, &mut Silent) {
        (_, FileContent::Rows(rows)) => rows,
        (report, _) => panic!("{report:?}"),
    }
}

/// One of [`SWEEPS`], its repeats brought together.
pub fn sweep(name: &str) -> Sweep {
    aggregate(&rows(name), Target::Time)
}

/// All files in folders below `training_time/`, by their paths from there or from `training_time/ett/` on.
pub fn files(folders: &[&str]) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for folder in folders {
        let roots = [path("training_time/ett"), path("training_time")];
        let mut waiting = vec![path(&format!("training_time/{folder}"))];
        let mut paths = Vec::new();
        while let Some(next) = waiting.pop() {
            if next.is_dir() {
                waiting.extend(std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()));
            } else {
                paths.push(next);
            }
        }
        paths.sort();
        for path in paths {
            let name = roots.iter().find_map(|root| path.strip_prefix(root).ok()).unwrap_or(&path);
            let name = name.display().to_string();
            files.push((name, std::fs::read(&path).unwrap()));
        }
    }
    files
}

/// The same files as they are dropped.
pub fn dropped(folders: &[&str]) -> Vec<DroppedFile> {
    let read = |(name, bytes): (String, Vec<u8>)| match intake::open(
        &bytes[..],
        &name,
        bytes.len() as u64,
        0,
        None,
        &mut Silent,
    ) {
        (_, FileContent::Training(file)) => Some(*file),
        _ => {
            println!("{name} is of no use");
            None
        }
    };
    files(folders).into_iter().flat_map(read).collect()
}

/// What the folders of Perlmutter and Vista hold.
pub fn clusters() -> Bundle {
    bring_together(dropped(&["ett/Perlmutter", "ett/Vista"]), &Vec::new())
}
