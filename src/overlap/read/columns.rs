//! The known columns of kernel tables.

/// The metrics that the profiler counts for every kernel: the name that a dataset has for each, as in the features of
/// the published module, and the names that profilers have for it (Nsight Compute, sections and raw metrics). All are
/// per cent of the peak.
pub const STANDARD: [(&str, &[&str]); 7] = [
    (
        "Compute throughput",
        &["compute throughput", "compute (sm) throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed"],
    ),
    ("Memory throughput", &["memory throughput", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"]),
    (
        "DRAM throughput",
        &[
            "dram throughput",
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        ],
    ),
    ("Achieved occupancy", &["achieved occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"]),
    ("Maximum occupancy", &["maximum occupancy", "theoretical occupancy", "sm__maximum_warps_per_active_cycle_pct"]),
    ("L1 hit rate", &["l1 hit rate", "l1/tex hit rate", "l1tex__t_sector_hit_rate.pct"]),
    ("L2 hit rate", &["l2 hit rate", "lts__t_sector_hit_rate.pct"]),
];

pub(super) const SHORT_NAME: &[&str] = &["kShortName"];
pub(super) const KERNEL_NAME: &[&str] = &["Kernel Name", "kernel_name", "kernel"];
/// Durations are in ns, unless the name ends in another unit.
pub(super) const ALONE: &[&str] = &["ground_truth", "alone_ns", "isolated_ns", "alone_us", "isolated_us"];
pub(super) const DURATION: &[&str] = &["duration", "duration_ns", "overlapped_ns", "duration_us", "overlapped_us"];
pub(super) const OVERLAP: &[&str] = &["overlap_ratio"];
pub(super) const SLOWDOWN: &[&str] = &["slowdown"];
/// Columns that number rows or name them, and are no features.
pub(super) const LABELS: &[&str] = &[
    "id",
    "kShortName",
    "kDemangledName",
    "Kernel Name",
    "kernel_name",
    "kernel",
    "process id",
    "context",
    "stream",
    "device",
    "cc",
];

/// The contents of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Durations and metrics of each launch.
    Merged,
    /// Durations and overlap of each launch.
    Statistics,
    /// The profiler's metrics of each launch, without durations.
    Metrics,
    /// Nsight Compute's `--csv`: a row for each metric of each launch.
    Ncu,
    /// The launches on a GPU: `nsys stats --report cuda_gpu_trace --format csv`, or what
    /// `rocprofv3 --kernel-trace --output-format csv` writes.
    Trace,
}

impl Kind {
    /// A description of the table, and a noun for its rows.
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Merged => ("merged features of kernels", "kernel"),
            Self::Statistics => ("slowdown statistics", "kernel"),
            Self::Metrics => ("kernel metrics", "kernel"),
            Self::Ncu => ("kernel metrics of Nsight Compute", "kernel"),
            Self::Trace => ("GPU trace", "launch"),
        }
    }
}

/// The contents of a table with these headers; `None` if it does not belong to this workbench.
pub fn kind<S: AsRef<str>>(headers: &[S]) -> Option<Kind> {
    let has = |names: &[&str]| {
        headers.iter().any(|header| names.iter().any(|name| header.as_ref().trim().eq_ignore_ascii_case(name)))
    };
    let begins = |names: &[&str]| {
        let is = |header: &str| names.iter().any(|name| header.to_ascii_lowercase().starts_with(name));
        headers.iter().any(|header| is(header.as_ref().trim()))
    };
    let is_named = has(SHORT_NAME) || has(KERNEL_NAME);
    let metrics = STANDARD.iter().filter(|(_, names)| has(names)).count();
    // A table that lacks one of the three is still one of kernels; the message names what it lacks.
    let durations = [ALONE, DURATION, OVERLAP].iter().filter(|names| has(names)).count();
    if has(&["metric name"]) && has(&["metric value"]) && is_named {
        Some(Kind::Ncu)
    } else if (begins(&["start ("]) && begins(&["duration (", "dur ("]) && has(&["name"]))
        || [&["start_timestamp"], &["end_timestamp"], &["kernel_name"]].into_iter().all(|names| has(names))
    {
        Some(Kind::Trace)
    } else if is_named && durations >= 2 {
        Some(if metrics > 0 { Kind::Merged } else { Kind::Statistics })
    } else if has(KERNEL_NAME) && (metrics > 0 || has(&["id"])) && durations == 0 {
        Some(Kind::Metrics)
    } else {
        None
    }
}

/// The number of bytes and lines before the header in the output of a profiler; (0, 0) if it begins with the header.
pub fn preamble(head: &str) -> (usize, u64) {
    let mut bytes = 0;
    for (lines, line) in (0..).zip(head.split_inclusive('\n')) {
        let begun = line.trim_start_matches(['"', ' ']);
        // Lines of numbers, which are most lines of most tables, are no headers.
        if begun.starts_with(|first: char| first.is_ascii_alphabetic()) {
            let lower = begun.to_ascii_lowercase();
            let is_header = (lower.contains("kernel name")
                && (lower.starts_with("id\"") || lower.contains("metric name")))
                || (lower.starts_with("start (") && lower.contains("corrid"));
            if is_header {
                return (bytes, lines);
            }
        }
        bytes += line.len();
    }
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_told_by_their_headers() {
        let kind = |headers: &str| kind(&headers.split(',').collect::<Vec<_>>());
        let statistics = "id,kShortName,kDemangledName,ground_truth,duration,overlap_ratio,slowdown";
        let metrics = "ID,Kernel Name,Compute throughput,SM,Memory throughput";
        assert_eq!(kind(statistics), Some(Kind::Statistics));
        assert_eq!(kind(metrics), Some(Kind::Metrics));
        assert_eq!(kind(&format!("{statistics},{metrics}")), Some(Kind::Merged));
        assert_eq!(kind("ID,Kernel Name,Section Name,Metric Name,Metric Unit,Metric Value"), Some(Kind::Ncu));
        assert_eq!(kind("Start (ns),Duration (ns),CorrId,Device,Strm,Name"), Some(Kind::Trace));
        let dispatches = "Kind,Agent_Id,Queue_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp";
        assert_eq!(kind(dispatches), Some(Kind::Trace));
        assert_eq!(kind("Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp"), None);
        assert_eq!(kind("collective,size_bytes,duration"), None);
        assert_eq!(kind("id,kShortName,duration,overlap_ratio"), Some(Kind::Statistics));
    }

    #[test]
    fn what_profilers_print_before_is_passed_over() {
        assert_eq!(preamble("==PROF== x\n\"ID\",\"Kernel Name\",\"Metric Name\"\n"), (11, 1));
        assert_eq!(preamble("\nProcessing [x]...\nStart (ns),Duration (ns),CorrId,Name\n"), (19, 2));
        assert_eq!(preamble("ID,Kernel Name\n"), (0, 0));
    }
}
