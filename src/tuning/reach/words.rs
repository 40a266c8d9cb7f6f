//! The report in words: the headline, what limits it, what to switch on to see more, and the calls as a table.

use super::{
    conditions::{DDA_LOGGED_FROM, Surroundings},
    join::JoinedLogs,
    result::{Path, PathEvidence, PathTotal, Reach, ReachCommunicator, ReachTotal},
};
use crate::{
    text::{Column, Entry, Listing},
    tuning::platform::{Library, Version},
    units::{Size, count, grouped, significant},
};

/// `A tuner file can move 12 of 15 calls (80.0 % of the bytes, and 70.0 % of the time)`.
pub(super) fn headline(total: &ReachTotal) -> String {
    if total.calls == 0 {
        return "No call is known: nothing can be said of what a tuner file can move".to_owned();
    }
    let calls = format!("A tuner file can move {} of {}", grouped(total.reached_calls), count(total.calls, "call"));
    if total.bytes == 0 {
        return format!("{calls}; their bytes are not known");
    }
    let known = if total.unsized_calls > 0 {
        format!(" that are known; those of {} are not", count(total.unsized_calls, "call"))
    } else {
        String::new()
    };
    let bytes_pct = total.reached_bytes as f64 / total.bytes as f64 * 100.0;
    let untimed = if total.untimed_calls > 0 {
        format!(", which is known of {}", count(total.calls - total.untimed_calls, "call"))
    } else {
        String::new()
    };
    let time = if total.time_us > 0.0 {
        format!(", and {:.1} % of the time{untimed}", total.reached_time_us / total.time_us * 100.0)
    } else {
        String::new()
    };
    format!("{calls} ({bytes_pct:.1} % of the bytes{known}{time})")
}

/// Whether the logs were asked for a subsystem; `None` where no line shows what was asked for.
fn is_asked(logs: &JoinedLogs, subsystem: &str) -> Option<bool> {
    let list = logs.environment.get("NCCL_DEBUG_SUBSYS")?;
    let has = |list: &str, name: &str| list.split(',').any(|word| word.trim().eq_ignore_ascii_case(name));
    Some(match list.strip_prefix('^') {
        Some(excluded) => !has(excluded, subsystem),
        None => has(list, subsystem) || has(list, "ALL"),
    })
}

/// What to switch on to see more.
pub(super) fn switch_on(logs: &JoinedLogs, reach: &Reach, at: &Surroundings, has_list: bool) -> Vec<String> {
    let mut all = Vec::new();
    if logs.spoken == 0 {
        return all;
    }
    let counts = &reach.counts;
    let mut lacks = Vec::new();
    if counts.call_lines == 0 && is_asked(logs, "COLL") != Some(true) {
        lacks.push("COLL (no line shows a call)");
    }
    if counts.decision_lines == 0 && is_asked(logs, "TUNING") != Some(true) {
        lacks.push("TUNING (no line shows what ran)");
    }
    let unknown = reach.communicators.iter().any(|communicator| communicator.nodes.is_none());
    if unknown && is_asked(logs, "INIT") != Some(true) {
        lacks.push("INIT (nodes and ranks of some communicator, or the line was torn)");
    }
    if !lacks.is_empty() {
        all.push(format!(
            "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,COLL,TUNING: the log lacks {}. That lines are absent proves \
             nothing where their subsystem was not asked for",
            lacks.join(", ")
        ));
    }
    let is_silent = !logs.names_paths
        && logs.dda_is_possible != Some(false)
        && at.version.is_none_or(|release| release < DDA_LOGGED_FROM);
    if at.may_have_dda() && is_silent && !has_list {
        let version = at.version.map_or("from 2.30.4 on".to_owned(), |release| release.to_string());
        all.push(format!(
            "A run with RCCL_DDA_ENABLE=0, or a list of the job's calls: before RCCL {DDA_LOGGED_FROM} no line shows the \
             calls that DDA takes (RCCL {version}), so that they are missing here"
        ));
    }
    all
}

/// What limits the answer, a sentence each without a full stop.
pub(super) fn notes(
    logs: &JoinedLogs,
    reach: &Reach,
    at: &Surroundings,
    has_conf: bool,
    has_list: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    let counts = &reach.counts;
    if counts.not_understood > 0 {
        notes.push(format!(
            "{} like a call or a decision can't be understood (torn, or with unknown names): not counted",
            count(counts.not_understood, "line")
        ));
    }
    if counts.missing_calls > 0 {
        notes.push(format!(
            "{} that another rank logged are not in the lines of rank 0, which begin later or are torn: they are counted, \
             and what ran is not known",
            count(counts.missing_calls, "call")
        ));
    }
    for (name, number) in &counts.unknown_functions {
        notes.push(format!("{} of the function {name}, which is not known: in no total", count(*number, "call")));
    }
    if counts.factor_unknown > 0 {
        notes.push(format!(
            "{} per rank, factor unknown: the log has the bytes of one rank and not how many there are; counted, and \
             compared with nothing",
            count(counts.factor_unknown, "call")
        ));
    }
    if counts.decisions_without_call > 0 {
        notes.push(format!(
            "{} without a call: the log begins later, or is torn",
            count(counts.decisions_without_call, "decision")
        ));
    }
    if counts.decisions_as_calls > 0 {
        notes.push(format!(
            "{} counted as calls, since no line shows the calls; up to NCCL 2.23 one decision may be of several calls",
            count(counts.decisions_as_calls, "decision")
        ));
    }
    let assumed = reach.communicators.iter().filter(|communicator| communicator.is_rank_assumed).count() as u64;
    if assumed > 0 {
        notes.push(format!(
            "{} without a line that says which rank is 0: counted are the calls of the process that logs what runs, or \
             else of the first one",
            count(assumed, "communicator")
        ));
    }
    let in_groups: u64 = reach.lines.iter().map(|line| line.grouped_calls).sum();
    if in_groups > 0 {
        notes.push(format!(
            "{} in groups with others of the same function, type and operation: the tuner may be asked once for their \
             sum, and a rule for their own bytes may not answer",
            count(in_groups, "call")
        ));
    }
    if counts.call_lines > 0 || counts.decision_lines > 0 {
        notes.push("Calls in a captured graph are logged when it is captured, not when it is replayed".to_owned());
    }
    if has_conf && reach.total.paths.iter().any(|of| of.path == Path::Overridden) {
        notes.push(
            "Overridden: the tuner file's answer is not what ran. If the log is of a run with another one, leave the file out"
                .to_owned(),
        );
    }
    if has_conf && reach.lines.iter().any(|line| line.conf_answer.is_none() && line.path == Path::TunerOrLibrary) {
        notes.push(
            "Where nodes, ranks or bytes are not known the tuner file's answer is not known: give nodes and ranks"
                .to_owned(),
        );
    }
    if let Some((library, version)) = at.library.zip(at.version) {
        for (forms, place, number) in &logs.forms {
            if !forms.iter().any(|printed| printed.is_by(library, version)) {
                notes.push(format!(
                    "{} of a form that {library} {version} does not print, the first at line {} of file {}: of another version",
                    count(*number, "line"),
                    place.line,
                    place.file + 1
                ));
            }
        }
    }
    if has_list {
        notes.push(
            "Listed calls are judged by the conditions of the library's source: inferred. Symmetric kernels, copy \
             engines, MSCCL++ and DDA over a fabric depend on what no list says"
                .to_owned(),
        );
    }
    if at.library == Some(Library::Rccl)
        && at.version.is_some_and(|release| release >= Version::release(2, 28, 3))
        && has_conf
    {
        notes.push(
            "RCCL's own table for gfx950 is not loaded beside another tuner; its answers are shown where the log has its \
             \"Applied config\" lines"
                .to_owned(),
        );
    }
    notes
}

/// The calls of each path as a table.
pub fn path_listing(total: &ReachTotal) -> Listing {
    let columns = vec![
        Column::words("Path", "The way of the calls through the library"),
        Column::words("Meaning", ""),
        Column::words("A tuner file can move them", ""),
        Column::numbers("Calls", ""),
        Column::numbers("% of calls", ""),
        Column::numbers("Bytes", "Of the calls whose bytes are known"),
        Column::numbers("% of bytes", "Of the bytes that are known"),
        TIME,
        TIME_SHARE,
    ];
    let share = |part: u64, whole: u64| {
        let share = (whole > 0).then(|| part as f64 / whole as f64 * 100.0);
        Entry::number(share, |pct| format!("{pct:.1}"))
    };
    let row = |of: &PathTotal| {
        vec![
            Entry::text(of.path.name()),
            Entry::text(of.path.meaning()),
            Entry::text(if of.path.is_reached() { "yes" } else { "no" }),
            Entry::number(Some(of.calls as f64), |_| grouped(of.calls)),
            share(of.calls, total.calls),
            Entry::size(of.bytes),
            share(of.bytes, total.bytes),
            Entry::number(Some(of.time_us).filter(|time| *time > 0.0), significant),
            time_share(Some(of.time_us).filter(|time| *time > 0.0), total),
        ]
    };
    Listing { columns, rows: total.paths.iter().map(row).collect() }.without_empty_columns()
}

const TIME: Column = Column::numbers("Time, µs", "Of all these calls, as the default was measured or is predicted");
const TIME_SHARE: Column = Column::numbers("% of time", "Of the time that is known");

fn time_share(time_us: Option<f64>, total: &ReachTotal) -> Entry {
    Entry::number(time_us.map(|time| time / total.time_us * 100.0), |pct| format!("{pct:.1}"))
}

const COLUMNS: [Column; 13] = [
    Column::words("Communicator", "Its number, ranks and nodes as far as they are known"),
    Column::words("Collective", ""),
    Column::numbers("Size", "Bytes of a call as a tuner sees them, of all ranks"),
    Column::numbers("Calls", ""),
    Column::words("Path", "The way of the call; a tuner file can move tuner, tuner-or-library, own-table and library"),
    Column::words("Ran", "Algorithm, protocol and channels, as the log says"),
    Column::words("Tuner file's answer", "The configuration that its rule gives the call"),
    Column::numbers("Rule", "The line of the tuner file"),
    Column::numbers("% of calls", ""),
    Column::numbers("% of bytes", ""),
    TIME,
    TIME_SHARE,
    Column::words("Evidence", "The first line that shows it, or the condition from which it is inferred"),
];

/// The lines of a report as a table; columns that say nothing are left out.
pub fn listing(reach: &Reach) -> Listing {
    let row = |line: &super::result::ReachLine| {
        let communicator = reach.communicators.get(line.communicator as usize).copied().unwrap_or_default();
        let ReachCommunicator { ranks, nodes, .. } = communicator;
        let known = [ranks.map(|n| count(n.into(), "rank")), nodes.map(|n| count(n.into(), "node"))];
        let known: Vec<String> = known.into_iter().flatten().collect();
        let known = if known.is_empty() { String::new() } else { format!(": {}", known.join(", ")) };
        let size = match line.size_bytes {
            Some(bytes) if line.is_per_rank => {
                Entry { text: format!("{} per rank, factor unknown", Size(bytes)), number: None }
            }
            Some(bytes) => Entry::size(bytes),
            None => Entry::default(),
        };
        let evidence = match &line.evidence {
            PathEvidence::Line(place) => {
                let file = reach.files.get(place.file as usize).map(String::as_str).unwrap_or_default();
                format!("{file}:{}", place.line)
            }
            PathEvidence::Inferred(condition) => format!("inferred: {condition}"),
        };
        let of_group = if line.grouped_calls > 0 { " (grouped)" } else { "" };
        vec![
            Entry::text(format!("{}{known}", line.communicator + 1)),
            Entry::text(line.collective.name()),
            size,
            Entry::number(Some(line.calls as f64), |_| grouped(line.calls)),
            Entry::text(format!("{}{of_group}", line.path.name())),
            Entry::text(line.ran.map(|ran| ran.as_known()).unwrap_or_default()),
            Entry::text(line.conf_answer.clone().unwrap_or_default()),
            Entry::number(line.rule.map(f64::from), |rule| format!("{rule:.0}")),
            Entry::number(Some(line.calls_pct), |pct| format!("{pct:.1}")),
            Entry::number(line.bytes_pct, |pct| format!("{pct:.1}")),
            Entry::number(line.time_us, significant),
            time_share(line.time_us, &reach.total),
            Entry::text(evidence),
        ]
    };
    Listing { columns: COLUMNS.to_vec(), rows: reach.lines.iter().map(row).collect() }.without_empty_columns()
}
