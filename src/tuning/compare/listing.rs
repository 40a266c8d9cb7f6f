//! The tables of a comparison: changes, what was deployed, what only one state measured.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ChangeVerdict, Difference, Subject, deployment::DeployedCheck, overall::OverallChange, relative::RelativeChange,
    words,
};
use crate::{
    collective::{Collective, Configuration, Scale},
    order::CompactSort,
    report::snapshot::{Snapshot, SnapshotGroup},
    text::{Column, Entry, Listing},
    units::{Size, counted_noun, from_to_microseconds, microseconds, percent, significant},
};

const COLLECTIVE: Column = Column::words("Collective", "collective");
const SCALE: Column = Column::words("Scale", "nodes × ranks");
const SIZE: Column = Column::numbers("Size", "message size");

fn at(collective: Collective, scale: Scale) -> [Entry; 2] {
    [Entry::text(collective.name()), Entry::text(format!("{} × {}", scale.nodes, scale.ranks))]
}

const WORKLOAD: &str = "Workload";
const INTERVAL: &str = "Interval";

fn workload(collective: Collective, scale: Scale) -> Entry {
    Entry::text(format!("{collective}, {} × {}", scale.nodes, scale.ranks))
}

fn ran(configuration: Option<Configuration>) -> String {
    configuration.map_or_else(|| "default".to_owned(), |configuration| configuration.to_string())
}

/// The subject of a difference in words, as tables and charts name it.
pub fn compared(difference: &Difference) -> String {
    match difference.subject {
        Subject::Default => "default".to_owned(),
        Subject::Deployed(configuration) => format!("deployed: {configuration}"),
        Subject::Best if difference.ran_before == difference.ran_after => {
            format!("best: {}", ran(difference.ran_before))
        }
        Subject::Best => format!("best: {} → {}", ran(difference.ran_before), ran(difference.ran_after)),
        Subject::All { of } => format!("all {of} together"),
    }
}

/// A row for each collective and scale as a whole, one per size and thing compared, then one for each configuration
/// that changed beside the others.
pub fn by_size(overall: &[OverallChange], differences: &[Difference], relative: &[RelativeChange]) -> Listing {
    let groups_differ = {
        let of_wholes = overall.iter().map(|of| (of.collective, of.scale));
        let of_differences = differences.iter().map(|of| (of.workload.collective, of.workload.scale));
        let of_moved = relative.iter().map(|of| (of.collective, of.scale));
        let mut groups = of_wholes.chain(of_differences).chain(of_moved);
        groups.next().is_some_and(|first| groups.any(|other| other != first))
    };
    let columns = vec![
        SIZE,
        Column::words(WORKLOAD, "collective, nodes × ranks"),
        Column::words(
            "Compared",
            "everything at all sizes; the default, what was deployed, the best that both sides measured, or all that \
             both measured together",
        ),
        Column::numbers("Before", "median busbw before, GB/s"),
        Column::numbers("After", "median busbw after, GB/s"),
        Column::numbers("Time", "time of one operation before and after, in microseconds"),
        Column::numbers(
            "Own change",
            "after over before, in per cent of before, beside what everything of its collective and scale changed by \
             (a row of its own, where at least five sizes tell it); of the best less what choosing it brings",
        ),
        Column::words(INTERVAL, "where that change lies; all intervals hold at once with the level"),
        Column::words("Verdict", "slower or faster beyond noise; no change where a large one would have been seen"),
        Column::numbers("Visible", "the smallest change that these runs would show half of the time, in per cent")
            .secondary(),
    ];
    let range = |(low, high): (f64, f64)| {
        let text = format!("{} to {}", percent(low).trim_end_matches(" %"), percent(high));
        Entry { text, number: Some(low) }
    };
    let overall_row = |overall: &OverallChange| {
        vec![
            Entry {
                text: words::stretch(overall.sizes, overall.first_bytes, overall.last_bytes),
                number: Some(overall.first_bytes as f64),
            },
            workload(overall.collective, overall.scale),
            Entry::text("everything"),
            Entry::default(),
            Entry::default(),
            Entry::default(),
            Entry::number(Some(overall.change_pct), percent),
            overall.interval_pct.map(range).unwrap_or_default(),
            Entry::text(overall.verdict.word()),
            Entry::default(),
        ]
    };
    let row = |difference: &Difference| {
        let interval = difference.interval_pct.map(range);
        let [before_us, after_us] = difference.times_us();
        vec![
            Entry::size(difference.workload.size_bytes),
            workload(difference.workload.collective, difference.workload.scale),
            Entry::text(compared(difference)),
            Entry::number(difference.before_gbps, significant),
            Entry::number(difference.after_gbps, significant),
            Entry {
                text: from_to_microseconds(before_us, after_us).unwrap_or_default(),
                number: after_us.or(before_us),
            },
            Entry::number(Some(difference.change_pct), percent),
            interval.unwrap_or_default(),
            Entry::text(difference.verdict.word()),
            Entry::number(difference.visible_pct, |visible| format!("{visible:.1} %")),
        ]
    };
    let relative_row = |relative: &RelativeChange| {
        let verdict = if relative.relative_pct < 0.0 { ChangeVerdict::Slower } else { ChangeVerdict::Faster };
        vec![
            Entry { text: words::sizes(relative), number: Some(relative.first_bytes as f64) },
            workload(relative.collective, relative.scale),
            Entry::text(format!("{} beside the others", ran(relative.configuration))),
            Entry::default(),
            Entry::default(),
            Entry::default(),
            Entry::number(Some(relative.relative_pct), percent),
            range(relative.interval_pct),
            Entry::text(verdict.word()),
            Entry::default(),
        ]
    };
    let rows =
        overall.iter().map(overall_row).chain(differences.iter().map(row)).chain(relative.iter().map(relative_row));
    let mut listing = Listing { columns, rows: rows.collect() };
    // At most eight columns are shown: those of the workload only where they differ between rows.
    listing.hide(if groups_differ { INTERVAL } else { WORKLOAD });
    listing
}

impl ChangeVerdict {
    /// The verdict in a word or two.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoChange => "no change",
            Self::CantTell => "can't tell",
        }
    }
}

/// Whether what was deployed still holds, a row per size.
pub fn deployed_check(deployed_checks: &[DeployedCheck]) -> Listing {
    let columns = vec![
        COLLECTIVE,
        SCALE,
        SIZE,
        Column::words("Deployed", "what was to be deployed before"),
        Column::numbers("After", "its median busbw after, GB/s"),
        Column::numbers("Time", "time of one operation after, in microseconds"),
        Column::words("Stands", "how it stands among what was measured after"),
    ];
    let row = |deployed_check: &DeployedCheck| {
        let [collective, scale] = at(deployed_check.workload.collective, deployed_check.workload.scale);
        vec![
            collective,
            scale,
            Entry::size(deployed_check.workload.size_bytes),
            Entry::text(words::deployed(deployed_check)),
            Entry::number(deployed_check.busbw_gbps, significant),
            Entry::number(deployed_check.time_us(), microseconds),
            Entry::text(words::deployed_status(deployed_check)),
        ]
    };
    Listing { columns, rows: deployed_checks.iter().map(row).collect() }
}

/// The most configurations that are named; of more the number is given.
const MAX_NAMED: usize = 6;

/// The collectives, sizes and configurations that only one state measured, a row for each kind.
pub fn unmatched(before: &Snapshot, after: &Snapshot) -> Listing {
    let columns = vec![
        COLLECTIVE,
        SCALE,
        Column::words("Measured", "on which side alone"),
        Column::words("What", "sizes and configurations that the other side lacks"),
    ];
    let groups = |snapshot: &Snapshot| -> BTreeMap<(Collective, Scale), SnapshotGroup> {
        let mut groups = BTreeMap::new();
        groups.extend(snapshot.groups.iter().map(|group| ((group.collective, group.scale), group.clone())));
        groups
    };
    let (old, new) = (groups(before), groups(after));
    let mut rows = Vec::new();
    let mut keys: Vec<(Collective, Scale)> = old.keys().chain(new.keys()).copied().collect();
    keys.compact_sort();
    keys.dedup();
    for key in keys {
        let [collective, scale] = at(key.0, key.1);
        let mut push = |when: &str, arm: String| {
            rows.push(vec![collective.clone(), scale.clone(), Entry::text(when), Entry::text(arm)]);
        };
        match (old.get(&key), new.get(&key)) {
            (Some(_), None) => push("before", "all of it".to_owned()),
            (None, Some(_)) => push("after", "all of it".to_owned()),
            (Some(old), Some(new)) => {
                for (when, own, other, is_whole) in
                    [("before", old, new, after.is_whole), ("after", new, old, before.is_whole)]
                {
                    let sizes = lacking(sizes(own), &sizes(other).into_iter().collect::<Vec<_>>());
                    if !sizes.is_empty() {
                        push(
                            when,
                            named("size", &sizes.iter().map(|bytes| Size(*bytes).to_string()).collect::<Vec<_>>()),
                        );
                    }
                    // A thinned side carries few configurations, whatever was measured.
                    let missing = lacking(configurations(own), &configurations(other).into_iter().collect::<Vec<_>>());
                    if is_whole && !missing.is_empty() {
                        push(
                            when,
                            named("configuration", &missing.iter().map(ToString::to_string).collect::<Vec<_>>()),
                        );
                    }
                }
            }
            (None, None) => {}
        }
    }
    Listing { columns, rows }
}

fn sizes(group: &SnapshotGroup) -> Vec<u64> {
    group.sizes.iter().map(|at| at.size_bytes).collect()
}

fn configurations(group: &SnapshotGroup) -> Vec<Configuration> {
    let mut all: BTreeSet<Configuration> = BTreeSet::new();
    let measured = group.sizes.iter().flat_map(|at| &at.measured);
    measured.for_each(|measurement| {
        all.insert(measurement.configuration);
    });
    all.iter().copied().collect()
}

/// The items of `own` that `other` lacks; both are ascending.
fn lacking<T: Ord>(own: Vec<T>, other: &[T]) -> Vec<T> {
    own.into_iter().filter(|item| other.binary_search(item).is_err()).collect()
}

fn named(noun: &str, names: &[String]) -> String {
    let rest = names.len().saturating_sub(MAX_NAMED);
    let noun = counted_noun(names.len() as u64, noun);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{noun} {}{more}", names[..names.len().min(MAX_NAMED)].join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::Workload;

    fn difference(scale: Scale) -> Difference {
        Difference {
            workload: Workload { collective: Collective::AllReduce, scale, size_bytes: 16 << 20 },
            subject: Subject::Default,
            ran_before: None,
            ran_after: None,
            before_gbps: Some(314.5728),
            after_gbps: Some(157.2864),
            measured_pct: -50.0,
            change_pct: -50.0,
            interval_pct: Some((-51.0, -49.0)),
            visible_pct: Some(1.0),
            verdict: ChangeVerdict::Slower,
        }
    }

    fn shown(listing: &Listing) -> Vec<String> {
        listing.without_secondary_columns().columns.iter().map(|column| column.name.to_string()).collect()
    }

    #[test]
    fn eight_columns_are_shown_with_the_times() {
        let here = difference(Scale { nodes: 2, ranks: 16 });
        let one = by_size(&[], &[here], &[]);
        assert_eq!(shown(&one), ["Size", "Compared", "Before", "After", "Time", "Own change", "Interval", "Verdict"]);
        assert!(one.without_secondary_columns().rows[0].iter().any(|cell| cell.text == "100.0 → 200.0 µs"), "{one:?}");
        let everything = OverallChange {
            collective: Collective::AllReduce,
            scale: Scale { nodes: 2, ranks: 16 },
            sizes: 16,
            first_bytes: 4096,
            last_bytes: 128 << 20,
            change_pct: -2.0,
            interval_pct: Some((-2.5, -1.5)),
            verdict: ChangeVerdict::Slower,
        };
        let two = by_size(&[everything], &[here, difference(Scale { nodes: 3, ranks: 24 })], &[]);
        assert_eq!(shown(&two), ["Size", "Workload", "Compared", "Before", "After", "Time", "Own change", "Verdict"]);
        assert!(two.rows.iter().all(|row| row.len() == two.columns.len()));
        // All of a size together have no bandwidth, and so no time.
        let all = Difference { subject: Subject::All { of: 27 }, before_gbps: None, after_gbps: None, ..here };
        assert_eq!(all.times_us(), [None; 2]);
    }

    #[test]
    fn what_is_deployed_has_its_time() {
        let workload = difference(Scale { nodes: 2, ranks: 16 }).workload;
        let deployed = crate::report::snapshot::DeployedChoice::Default;
        let status = crate::tuning::compare::deployment::DeployedStatus::Best;
        let of = DeployedCheck { workload, deployed, effect: None, busbw_gbps: Some(314.5728), status };
        let listing = deployed_check(&[of]);
        assert_eq!((listing.rows[0][5].text.as_str(), listing.columns[5].name.as_ref()), ("100.0 µs", "Time"));
    }
}
