//! Configurations that computed wrong values are no candidates, however fast they are.

use super::read::{Row, RunKind};
use crate::{
    collective::{Algorithm, Collective, Configuration, Scale},
    units::{Size, count, first_of},
};

/// The runs of a configuration on a collective and scale from which wrong values came.
struct WrongRuns {
    group: (Collective, Scale),
    kind: RunKind,
    ran: Configuration,
    runs: u64,
    /// The least and the largest size at which it happened, in bytes.
    sizes: (u64, u64),
}

impl WrongRuns {
    fn has(&self, row: &Row) -> bool {
        let group = (row.workload.collective, row.workload.scale);
        // The default is one, whatever ran.
        (self.group, self.kind) == (group, row.kind) && (self.ran == row.ran || row.kind == RunKind::Default)
    }

    fn in_words(&self) -> String {
        let who = if self.kind == RunKind::Default { "the default".to_owned() } else { self.ran.to_string() };
        let (least, most) = self.sizes;
        let sizes = if least < most { format!("{} to {}", Size(least), Size(most)) } else { Size(least).to_string() };
        format!("{who} ({}, {sizes})", count(self.runs, "run"))
    }
}

/// Takes out the rows from which wrong values came, and all others of their configurations on the same collective and
/// scale. The default stays but for the wrong rows, since everything is compared with it, and so does a configuration
/// whose name is not known. A note for each collective and scale says what was taken out.
pub fn take_out(rows: &mut Vec<Row>) -> Vec<String> {
    let mut wrong: Vec<WrongRuns> = Vec::new();
    for row in rows.iter().filter(|row| row.marks.has_wrong_values) {
        let (group, size) = ((row.workload.collective, row.workload.scale), row.workload.size_bytes);
        match wrong.iter_mut().find(|found| found.has(row)) {
            Some(found) => {
                found.runs += u64::from(row.repeats);
                found.sizes = (found.sizes.0.min(size), found.sizes.1.max(size));
            }
            None => wrong.push(WrongRuns {
                group,
                kind: row.kind,
                ran: row.ran,
                runs: row.repeats.into(),
                sizes: (size, size),
            }),
        }
    }
    let mut groups: Vec<((Collective, Scale), u64)> = Vec::new();
    for found in &wrong {
        if !groups.iter().any(|(group, _)| *group == found.group) {
            groups.push((found.group, 0));
        }
    }
    if groups.is_empty() {
        return Vec::new();
    }
    rows.retain(|row| {
        let is_candidate = row.kind == RunKind::Asked && row.ran.algorithm != Algorithm::None;
        let is_of_wrong = !row.marks.has_wrong_values && is_candidate && wrong.iter().any(|found| found.has(row));
        if is_of_wrong {
            let group = (row.workload.collective, row.workload.scale);
            groups.iter_mut().filter(|(of, _)| *of == group).for_each(|(_, others)| *others += 1);
        }
        !row.marks.has_wrong_values && !is_of_wrong
    });
    groups.iter().map(|(group, others)| note(*group, &wrong, *others)).collect()
}

fn note(group: (Collective, Scale), wrong: &[WrongRuns], others: u64) -> String {
    const MAX_NAMED: usize = 6;
    let of_group: Vec<&WrongRuns> = wrong.iter().filter(|found| found.group == group).collect();
    let named = first_of(MAX_NAMED, &of_group, |found| found.in_words());
    let (collective, scale) = group;
    let rest = match others {
        0 => "Such runs are not used".to_owned(),
        1 => "Such a configuration is no candidate: 1 other row of it is not used either".to_owned(),
        _ => format!("Such a configuration is no candidate: {} of it are not used either", count(others, "other row")),
    };
    format!("Wrong values of {collective} on {scale} came out of {named}. {rest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Protocol, Workload},
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
