//! Finds runs that are contained in two files.

use crate::order::CompactSort;
use std::hash::{Hash, Hasher};

use fnv::FnvHasher;

use super::FileReport;
use crate::tuning::read::Row;

/// Notes on runs that two files contain, with the lines in both. Equal times to the last digit are taken for the same
/// run.
pub(super) fn duplicate_runs(files: &[FileReport], rows: &[Row]) -> Vec<String> {
    if rows.first().map(|row| row.file) == rows.last().map(|row| row.file) {
        return Vec::new();
    }
    let mut hashes: Vec<(u64, u32)> = (0_u32..)
        .zip(rows)
        .filter_map(|(index, row)| {
            let times = [row.in_place?.time_us?, row.out_of_place?.time_us?].map(f64::to_bits);
            let mut hasher = FnvHasher::default();
            (row.workload, row.kind, row.ran, row.repeats, times).hash(&mut hasher);
            Some((hasher.finish(), index))
        })
        .collect();
    hashes.compact_sort();
    /// Rows of one file that another file contains, with the first and last line of them in both.
    struct Pair {
        files: [u16; 2],
        rows: u64,
        lines: [(u32, u32); 2],
    }
    let mut pairs: Vec<Pair> = Vec::new();
    for same in hashes.chunk_by(|a, b| a.0 == b.0) {
        let first = &rows[same[0].1 as usize];
        for row in same[1..].iter().map(|(_, index)| &rows[*index as usize]).filter(|row| row.file != first.file) {
            let files = [first.file, row.file];
            let lines = [first.line, row.line];
            match pairs.iter_mut().find(|pair| pair.files == files) {
                Some(pair) => {
                    pair.rows += 1;
                    for (range, line) in pair.lines.iter_mut().zip(lines) {
                        *range = (range.0.min(line), range.1.max(line));
                    }
                }
                None => pairs.push(Pair { files, rows: 1, lines: lines.map(|line| (line, line)) }),
            }
        }
    }
    pairs.compact_sort_by_key(|pair| pair.files);
    let name = |number: u16| files.iter().find(|file| file.number() == number).map_or("a file", |file| &file.name);
    let between = |(first, last): (u32, u32)| {
        if first == last { format!("line {first}") } else { format!("between lines {first} and {last}") }
    };
    let note = |pair: &Pair| {
        let stand = if pair.rows == 1 { "1 row stands" } else { &format!("{} rows stand", pair.rows) };
        format!(
            "{stand} in {} ({}) and again in {} ({}): counted once",
            name(pair.files[0]),
            between(pair.lines[0]),
            name(pair.files[1]),
            between(pair.lines[1])
        )
    };
    pairs.iter().map(note).collect()
}
