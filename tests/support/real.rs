//! Real measurements, which a clone elsewhere has not: a test that finds none says so and ends.

use std::path::{Path, PathBuf};

use collectune::{
    intake::{self, FileContent},
    progress::Silent,
    training_time::bundle::{Bundle, DroppedFile, bring_together},
    tuning::{
        aggregate::{Target, aggregate},
        read::Row,
        sweep::Sweep,
    },
};

/// The sweeps of the figures.
pub const SWEEPS: [&str; 6] =
    ["all_gather_2n", "all_reduce_1n", "all_reduce_2n_median", "all_reduce_3n_median", "broadcast_1n", "broadcast_2n"];

/// The sweeps that are there, by name: those of the figures and any other CSV file beside them.
pub fn all_sweeps() -> Vec<String> {
    let Some(folder) = path("tuning") else { return Vec::new() };
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = names
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Where a file lies, `tuning/broadcast_1n.csv`; `None`, and a line that says so, where it does not.
/// `COLLECTUNE_DATA` names another folder than the one beside the project.
pub fn path(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let path = std::env::var_os("COLLECTUNE_DATA").map_or(beside, PathBuf::from).join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is not there", path.display());
    None
}

/// What a file holds.
pub fn file(name: &str) -> Option<Vec<u8>> {
    path(name).map(|path| std::fs::read(path).unwrap())
}

/// What a file of text holds.
pub fn text(name: &str) -> Option<String> {
    path(name).map(|path| std::fs::read_to_string(path).unwrap())
}

/// The rows of one of [`SWEEPS`].
pub fn rows(name: &str) -> Option<Vec<Row>> {
    let bytes = file(&format!("tuning/{name}.csv"))?;
    match intake::open(&bytes[..], name, bytes.len() as u64, 0, None, &mut Silent) {
        (_, FileContent::Rows(rows)) => Some(rows),
        (report, _) => panic!("{report:?}"),
    }
}

/// One of [`SWEEPS`], its repeats brought together.
pub fn sweep(name: &str) -> Option<Sweep> {
    rows(name).map(|rows| aggregate(&rows, Target::Time).sweep)
}

/// All files in folders below `training_time/`, by their paths from there or from `training_time/ett/` on.
pub fn files(folders: &[&str]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for folder in folders {
        let roots = [path("training_time/ett")?, path("training_time")?];
        let mut waiting = vec![path(&format!("training_time/{folder}"))?];
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
    Some(files)
}

/// The same files as they are dropped.
pub fn dropped(folders: &[&str]) -> Option<Vec<DroppedFile>> {
    let read = |(name, bytes): (String, Vec<u8>)| match intake::open(
        &bytes[..],
        &name,
        bytes.len() as u64,
        0,
        None,
        &mut Silent,
    ) {
        (_, FileContent::Training(more)) => more,
        _ => {
            println!("{name} is of no use");
            Vec::new()
        }
    };
    files(folders).map(|files| files.into_iter().flat_map(read).collect())
}

/// What the folders of Perlmutter and Vista hold.
pub fn clusters() -> Option<Bundle> {
    dropped(&["ett/Perlmutter", "ett/Vista"]).map(|files| bring_together(files, &Vec::new()))
}
