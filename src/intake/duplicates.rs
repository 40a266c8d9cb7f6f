//! Finds runs that stand twice: in two files, or in one.

use crate::{math::median, order::CompactSort, units::count};
use std::hash::{Hash, Hasher};

use fnv::FnvHasher;

use super::FileReport;
use crate::{
    collective::Algorithm,
    tuning::read::{Row, RunKind},
};

/// A number for each row with both its times, and its index; rows with the same number are the same run. Ascending.
fn hashes(rows: &[Row]) -> Vec<(u64, u32)> {
    let of = |(index, row): (u32, &Row)| {
        let times = [row.in_place?.time_us?, row.out_of_place?.time_us?].map(f64::to_bits);
        let mut hasher = FnvHasher::default();
        (row.workload, row.kind, row.ran, row.repeats, times).hash(&mut hasher);
        Some((hasher.finish(), index))
    };
    let mut hashes: Vec<(u64, u32)> = (0_u32..).zip(rows).filter_map(of).collect();
    hashes.compact_sort();
    hashes
}

/// Takes out rows that a file has twice, such as a sweep that was appended to itself, with a note for each place. Two
/// runs may well take the same time to the last digit: copies are at least this many rows, most of those between the
/// first and the last of them, with the same distance between each and its original.
pub(super) fn take_out_copies(files: &[FileReport], rows: &mut Vec<Row>) -> Vec<String> {
    const LEAST: usize = 8;
    let mut pairs: Vec<(u16, u32, u32)> = Vec::new();
    let hashes = hashes(rows);
    for same in hashes.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
        let mut of_file: Vec<(u16, u32)> =
            same.iter().map(|(_, index)| &rows[*index as usize]).map(|row| (row.file, row.line)).collect();
        of_file.compact_sort();
        let next = of_file.windows(2).filter(|two| two[0].0 == two[1].0 && two[0].1 < two[1].1);
        pairs.extend(next.map(|two| (two[0].0, two[1].1 - two[0].1, two[1].1)));
    }
    pairs.compact_sort();
    let mut copies: Vec<(u16, u32)> = Vec::new();
    let mut notes = Vec::new();
    for block in pairs.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).filter(|block| block.len() >= LEAST) {
        let (file, distance) = (block[0].0, block[0].1);
        let (first, last) = (block[0].2, block[block.len() - 1].2);
        let between = rows.iter().filter(|row| row.file == file && (first..=last).contains(&row.line)).count();
        if block.len() * 2 < between {
            continue;
        }
        copies.extend(block.iter().map(|(_, _, line)| (file, *line)));
        notes.push(format!(
            "{} between lines {first} and {last} of {} stand there {distance} lines before as well: counted once",
            count(block.len() as u64, "row"),
            name(files, file)
        ));
    }
    if !copies.is_empty() {
        copies.compact_sort();
        rows.retain(|row| copies.binary_search(&(row.file, row.line)).is_err());
    }
    notes
}

/// Takes out rows that another file has as well with more digits, or with what ran, as where a log of nccl-tests is
/// opened together with its JSON or with a table that was made of it; with a note for each pair of files. A few runs
/// may well agree in both times to the printed digits: at least these many rows do, and half of those in the file.
pub(super) fn take_out_rounded(files: &[FileReport], rows: &mut Vec<Row>) -> Vec<String> {
    const LEAST: usize = 3;
    /// The most rows with nearly the same time to which each is compared: of thousands of equal runs few tell as much.
    const MOST_NEAR: usize = 64;
    if is_of_one_file(rows) {
        return Vec::new();
    }
    let of = |(index, row): (usize, &Row)| {
        let times = [row.in_place?.time_us?, row.out_of_place?.time_us?];
        let mut hasher = FnvHasher::default();
        // A log may not say what ran by default.
        let ran = Some(row.ran).filter(|_| row.kind != RunKind::Default);
        (row.workload, row.kind, ran, row.repeats).hash(&mut hasher);
        Some((hasher.finish(), times, index))
    };
    let mut all: Vec<(u64, [f64; 2], usize)> = rows.iter().enumerate().filter_map(of).collect();
    all.compact_sort_by(|a, b| a.0.cmp(&b.0).then(a.1[0].total_cmp(&b.1[0])));
    // The file and the line of a row that says less, and the file that says more.
    let mut found: Vec<(u16, u16, u32)> = Vec::new();
    for (at, (key, times, index)) in all.iter().enumerate() {
        let after = all[at + 1..].iter().take(MOST_NEAR);
        let near = after.take_while(|other| other.0 == *key && is_rounded(times[0], other.1[0]));
        for (_, others, other) in near.filter(|(_, others, _)| is_rounded(times[1], others[1])) {
            let (one, other) = (&rows[*index], &rows[*other]);
            if one.file == other.file || (times == others && one.ran == other.ran) {
                continue;
            }
            let says_less = match times == others {
                true => one.ran.algorithm == Algorithm::None,
                false => digits(times) < digits(others),
            };
            let (less, more) = if says_less { (one, other) } else { (other, one) };
            found.push((less.file, more.file, less.line));
        }
    }
    found.compact_sort();
    found.dedup();
    let mut taken: Vec<(u16, u32)> = Vec::new();
    let mut notes = Vec::new();
    for pair in found.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).filter(|pair| pair.len() >= LEAST) {
        let (less, more) = (pair[0].0, pair[0].1);
        if pair.len() * 2 < rows.iter().filter(|row| row.file == less).count() {
            continue;
        }
        taken.extend(pair.iter().map(|(file, _, line)| (*file, *line)));
        notes.push(format!(
            "{} of {} stand in {} as well, with more digits or with what ran: counted once",
            count(pair.len() as u64, "row"),
            name(files, less),
            name(files, more)
        ));
    }
    taken.compact_sort();
    rows.retain(|row| taken.binary_search(&(row.file, row.line)).is_err());
    notes
}

/// Whether two times in µs may be one, of which one was printed with fewer digits: two decimals, or four digits.
fn is_rounded(one_us: f64, other_us: f64) -> bool {
    (one_us - other_us).abs() <= (5.1e-5 * one_us).max(0.0051)
}

/// How many decimals two times have together, up to six each.
fn digits(times: &[f64; 2]) -> u32 {
    let of = |time_us: &f64| {
        let mut scaled = *time_us;
        let mut decimals = 0;
        while decimals < 6 && (scaled - scaled.round()).abs() > 1e-9 * scaled {
            (scaled, decimals) = (10.0 * scaled, decimals + 1);
        }
        decimals
    };
    times.iter().map(of).sum()
}

/// Takes out rows that are the medians of runs which are here as well, as where a sweep was opened together with the
/// table of its medians, with a note for each file of such rows. A row counts as one if there are as many other runs
/// of its configuration as it says it is the median of, and its time is the median of theirs.
pub(super) fn take_out_medians(files: &[FileReport], rows: &mut Vec<Row>) -> Vec<String> {
    /// Times are printed with two decimals.
    const TOLERANCE: f64 = 1e-3;
    if rows.iter().all(|row| row.repeats == 1) {
        return Vec::new();
    }
    let of = |row: &Row| {
        let mut hasher = FnvHasher::default();
        (row.workload, row.kind, row.ran).hash(&mut hasher);
        Some((hasher.finish(), row.in_place.or(row.out_of_place)?.time_us?))
    };
    let single = rows.iter().filter(|row| row.repeats == 1);
    let mut runs: Vec<(u64, f64, u16)> =
        single.filter_map(|row| of(row).map(|(key, us)| (key, us, row.file))).collect();
    runs.compact_sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let file_of_runs = |row: &Row| {
        let (key, time_us) = of(row).filter(|_| row.repeats > 1)?;
        let from = runs.partition_point(|run| run.0 < key);
        let same = runs[from..].iter().take_while(|run| run.0 == key && run.2 != row.file);
        let mut times: Vec<f64> = same.map(|run| run.1).collect();
        let median_us = (times.len() == row.repeats as usize).then(|| median(&mut times))??;
        ((median_us - time_us).abs() <= TOLERANCE * time_us).then(|| runs[from].2)
    };
    let mut found: Vec<(u16, u32, u16)> =
        rows.iter().filter_map(|row| Some((row.file, row.line, file_of_runs(row)?))).collect();
    found.compact_sort();
    rows.retain(|row| found.binary_search_by(|of| (of.0, of.1).cmp(&(row.file, row.line))).is_err());
    let note = |of_file: &[(u16, u32, u16)]| {
        let (table, runs) = (name(files, of_file[0].0), name(files, of_file[0].2));
        match of_file.len() {
            1 => format!("1 row of {table} is the median of runs in {runs}: the runs count, not the median"),
            rows => format!("{rows} rows of {table} are medians of runs in {runs}: the runs count, not the medians"),
        }
    };
    found.chunk_by(|a, b| a.0 == b.0).map(note).collect()
}

/// Whether all rows are of one file; those of several stand one file after the other.
fn is_of_one_file(rows: &[Row]) -> bool {
    rows.first().map(|row| row.file) == rows.last().map(|row| row.file)
}

fn name(files: &[FileReport], number: u16) -> &str {
    files.iter().find(|file| file.number() == number).map_or("a file", |file| &file.name)
}

/// Notes on runs that two files contain, with the lines in both. Equal times to the last digit are taken for the same
/// run.
pub(super) fn duplicate_runs(files: &[FileReport], rows: &[Row]) -> Vec<String> {
    if is_of_one_file(rows) {
        return Vec::new();
    }
    let hashes = hashes(rows);
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
    let between = |(first, last): (u32, u32)| {
        if first == last { format!("line {first}") } else { format!("between lines {first} and {last}") }
    };
    let note = |pair: &Pair| {
        let stand = if pair.rows == 1 { "1 row stands" } else { &format!("{} rows stand", pair.rows) };
        format!(
            "{stand} in {} ({}) and again in {} ({}): counted once",
            name(files, pair.files[0]),
            between(pair.lines[0]),
            name(files, pair.files[1]),
            between(pair.lines[1])
        )
    };
    pairs.iter().map(note).collect()
}
