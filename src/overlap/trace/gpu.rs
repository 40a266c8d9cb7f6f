//! The launches on a GPU: `nsys stats --report cuda_gpu_trace --format csv`, or what
//! `rocprofv3 --kernel-trace --output-format csv` writes.

use crate::{
    overlap::sheet::Sheet,
    text::{Problem, Problems, number},
};

/// A kernel launch on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    pub name: String,
    /// The line number in its file, from 1.
    pub line: u64,
    /// The GPU, as the profiler names it.
    pub device: String,
    /// The time of its start.
    pub start_ns: f64,
    /// Its duration on the GPU, in ns.
    pub duration_ns: f64,
}

/// Reads the launches in the order in which they began; copies and fills of memory are passed over. Returns an error if
/// a needed column is missing, or in an unknown unit; the error completes a sentence that begins with the name of the
/// file.
pub fn launches(sheet: &Sheet, mut problems: Problems) -> Result<(Vec<Launch>, Problems), String> {
    let timed = |begin: &str| {
        let column = sheet.headers().iter().position(|header| header.to_ascii_lowercase().starts_with(begin));
        column.and_then(|column| Some((column, nanoseconds(&sheet.headers()[column])?)))
    };
    let stamp = |name: &str| Some((sheet.find(&[name])?, 1.0));
    let start = timed("start (").or_else(|| stamp("Start_Timestamp")).ok_or("lacks the column Start (ns)")?;
    let duration = timed("duration (").or_else(|| timed("dur ("));
    let end = stamp("End_Timestamp").filter(|_| duration.is_none());
    let length = duration.or(end).ok_or("lacks the column Duration (ns)")?;
    let name = sheet.find(&["Name", "Kernel_Name"]).ok_or("lacks the column Name")?;
    let device = sheet.find(&["Device", "Agent_Id"]);
    let mut launches = Vec::new();
    for row in sheet.rows() {
        let kernel = row.get(name);
        if kernel.starts_with("[CUDA ") || kernel.is_empty() {
            continue;
        }
        let time = |(column, unit): (usize, f64), before: f64, least: f64, expected: &str| {
            let value = number(row.get(column)).map(|value| value * unit - before).filter(|value| *value >= least);
            value.ok_or_else(|| {
                Problem::new(
                    row.line(),
                    &sheet.headers()[column],
                    row.get(column),
                    format!("{expected}; the launch was left out"),
                )
            })
        };
        let times = time(start, 0.0, 0.0, "is not a time").and_then(|start| {
            let (before, expected) = match end {
                Some(_) => (start, "is not a time after its start"),
                None => (0.0, "is not a duration above zero"),
            };
            Ok((start, time(length, before, f64::MIN_POSITIVE, expected)?))
        });
        match times {
            Ok((start_ns, duration_ns)) => launches.push(Launch {
                name: super::ncu::short(kernel).to_owned(),
                line: row.line(),
                device: device.map(|device| row.get(device).to_owned()).unwrap_or_default(),
                start_ns,
                duration_ns,
            }),
            Err(problem) => problems.push(problem),
        }
    }
    crate::order::CompactSort::compact_sort_by(&mut launches[..], |a, b| a.start_ns.total_cmp(&b.start_ns));
    Ok((launches, problems))
}

/// The number of nanoseconds in the unit that a header names.
fn nanoseconds(header: &str) -> Option<f64> {
    let unit = header.rsplit_once('(')?.1.trim_end().strip_suffix(')')?;
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9)]
        .into_iter()
        .find(|(name, _)| unit.trim() == *name)
        .map(|(_, factor)| factor)
}
