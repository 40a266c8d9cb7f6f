//! Configurations that computed wrong values are no candidates, however fast they are.

use std::collections::BTreeMap;

use super::read::{Row, RunKind};
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale},
    units::{Size, count},
};

/// The runs of a configuration from which wrong values came.
#[derive(Clone, Copy, Default)]
struct WrongRuns {
    runs: u64,
    /// The least and the largest size at which it happened, in bytes.
    sizes: Option<(u64, u64)>,
}

/// Takes out the rows from which wrong values came, and all others of their configurations on the same collective and
/// scale. The default stays but for the wrong rows, since everything is compared with it, and so does a configuration
/// whose name is not known. A note for each collective and scale says what was taken out.
pub fn take_out(rows: &mut Vec<Row>) -> Vec<String> {
    type Group = (Collective, Scale);
    let mut wrong: BTreeMap<Group, BTreeMap<(RunKind, Configuration), WrongRuns>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.marks.has_wrong_values) {
        let group = wrong.entry((row.workload.collective, row.workload.scale)).or_default();
        let found = group.entry(key(row)).or_default();
        found.runs += u64::from(row.repeats);
        let size = row.workload.size_bytes;
        let (least, most) = found.sizes.unwrap_or((size, size));
        found.sizes = Some((least.min(size), most.max(size)));
    }
    if wrong.is_empty() {
        return Vec::new();
    }
    let mut others: BTreeMap<Group, u64> = BTreeMap::new();
    let is_candidate = |kind: RunKind, ran: Configuration| kind == RunKind::Asked && ran.algorithm != Algorithm::None;
    rows.retain(|row| {
        let group = (row.workload.collective, row.workload.scale);
        let is_wrong = row.marks.has_wrong_values;
        let is_of_wrong = wrong.get(&group).is_some_and(|found| found.contains_key(&key(row)));
        if !is_wrong && is_of_wrong && is_candidate(row.kind, row.ran) {
            *others.entry(group).or_default() += 1;
            return false;
        }
        !is_wrong
    });
    wrong
        .iter()
        .map(|((collective, scale), found)| note((*collective, *scale), found, others.get(&(*collective, *scale))))
        .collect()
}

/// The default is one, whatever ran.
fn key(row: &Row) -> (RunKind, Configuration) {
    let any = Configuration { algorithm: Algorithm::None, protocol: Protocol::None, channels: 0 };
    (row.kind, if row.kind == RunKind::Default { any } else { row.ran })
}

fn note(
    (collective, scale): (Collective, Scale),
    found: &BTreeMap<(RunKind, Configuration), WrongRuns>,
    others: Option<&u64>,
) -> String {
    const MAX_NAMED: usize = 6;
    let named = found.iter().take(MAX_NAMED).map(|((kind, ran), wrong)| {
        let who = if *kind == RunKind::Default { "the default".to_owned() } else { ran.to_string() };
        let sizes = match wrong.sizes {
            Some((least, most)) if least < most => format!("{} to {}", Size(least), Size(most)),
            sizes => Size(sizes.unwrap_or_default().0).to_string(),
        };
        format!("{who} ({}, {sizes})", count(wrong.runs, "run"))
    });
    let mut note =
        format!("Wrong values of {collective} on {scale} came out of {}", named.collect::<Vec<_>>().join(", "));
    if found.len() > MAX_NAMED {
        note += &format!(" and {} more", found.len() - MAX_NAMED);
    }
    match others {
        Some(rows) => {
            let (rows, are) = (count(*rows, "other row"), if *rows == 1 { "is" } else { "are" });
            note += &format!(". Such a configuration is no candidate: {rows} of it {are} not used either");
        }
        None => note += ". Such runs are not used",
    }
    note
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::Workload,
        tuning::read::{RowMarks, Sample},
    };

    fn row(line: u32, kind: RunKind, algorithm: Algorithm, size_bytes: u64, has_wrong_values: bool) -> Row {
        let scale = Scale { nodes: 2, ranks: 16 };
        Row {
            file: 0,
            line,
            workload: Workload { collective: Collective::AllReduce, scale, size_bytes },
            ran: Configuration { algorithm, protocol: Protocol::Ll, channels: 8 },
            in_place: Some(Sample { time_us: None, busbw_gbps: 10.0 }),
            out_of_place: None,
            repeats: 1,
            spread_pct: None,
            kind,
            marks: RowMarks { has_wrong_values, ..RowMarks::default() },
            asked: Default::default(),
            evidence: Default::default(),
            origin: 0,
        }
    }

    #[test]
    fn a_configuration_with_wrong_values_is_taken_out_at_all_sizes() {
        let mut rows = vec![
            row(1, RunKind::Asked, Algorithm::Tree, 4096, false),
            row(2, RunKind::Asked, Algorithm::Tree, 8192, true),
            row(3, RunKind::Asked, Algorithm::Tree, 16384, true),
            row(4, RunKind::Asked, Algorithm::Ring, 4096, false),
            row(5, RunKind::Default, Algorithm::Tree, 4096, true),
            row(6, RunKind::Default, Algorithm::Tree, 8192, false),
            row(7, RunKind::Asked, Algorithm::None, 4096, true),
            row(8, RunKind::Asked, Algorithm::None, 8192, false),
        ];
        let notes = take_out(&mut rows);
        assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [4, 6, 8]);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].starts_with("Wrong values of all_reduce on 2 nodes, 16 ranks came out of "), "{notes:?}");
        assert!(notes[0].contains("TREE/LL/8 (2 runs, 8 KiB to 16 KiB)"), "{notes:?}");
        assert!(notes[0].contains("the default (1 run, 4 KiB)"), "{notes:?}");
        assert!(notes[0].ends_with("is no candidate: 1 other row of it is not used either"), "{notes:?}");
        assert!(take_out(&mut rows).is_empty());
    }
}
