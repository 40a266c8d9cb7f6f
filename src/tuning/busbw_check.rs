//! Whether the busbw that a file prints is what its times and numbers of ranks make.

use super::read::Row;
use crate::{
    collective::{Collective, Scale},
    units::{count, significant},
};

/// Below this busbw, in GB/s, two decimals say too little about its factor.
const LEAST_BUSBW_GBPS: f64 = 5.0;
/// Rounding moves factors by less than this share.
const MAX_ROUNDING: f64 = 0.005;

/// Rows of a file, collective and scale, by the factor from size / time to their busbw.
struct Factors {
    of: (u16, Collective, Scale),
    rows: u64,
    /// The number of those whose factor is not that of their ranks.
    others: u64,
    /// The sum of the factors of these.
    sum: f64,
}

/// Notes on the files in which most rows of a collective and scale print a busbw whose factor is not that of their
/// number of ranks, such as where ranks were counted on one node. `name` names a file.
pub fn contradicted_ranks(rows: &[Row], name: &dyn Fn(u16) -> String) -> Vec<String> {
    let mut all: Vec<Factors> = Vec::new();
    let mut last = 0;
    for row in rows {
        let Some(factor) = factor(row) else { continue };
        let of = (row.file, row.workload.collective, row.workload.scale);
        if all.get(last).is_none_or(|factors| factors.of != of) {
            last = all.iter().position(|factors| factors.of == of).unwrap_or(all.len());
        }
        if last == all.len() {
            all.push(Factors { of, rows: 0, others: 0, sum: 0.0 });
        }
        let factors = &mut all[last];
        factors.rows += 1;
        if (factor / of.1.busbw_factor(of.2.ranks) - 1.0).abs() > MAX_ROUNDING {
            factors.others += 1;
            factors.sum += factor;
        }
    }
    all.iter().filter(|factors| factors.others * 2 > factors.rows).map(|factors| factors.note(name)).collect()
}

impl Factors {
    fn note(&self, name: &dyn Fn(u16) -> String) -> String {
        let (file, collective, scale) = self.of;
        let usual = self.sum / self.others as f64;
        let has_usual = |ranks: &u32| (usual / collective.busbw_factor(*ranks) - 1.0).abs() < MAX_ROUNDING / 5.0;
        let others: Vec<u32> = (2..=1024).filter(has_usual).collect();
        let of = match others[..] {
            [ranks] => format!(", as with {ranks} ranks"),
            _ => String::new(),
        };
        format!(
            "{}: in {} of {} of {collective} on {scale}, busbw is not what time and ranks make: it is {} times size / time{of}, not {}. \
             Ranks count over all nodes: mend the number of ranks, or the unit of busbw or time",
            name(file),
            self.others,
            count(self.rows, "row"),
            significant(usual),
            significant(collective.busbw_factor(scale.ranks)),
        )
    }
}

/// The factor from size / time to busbw, where busbw is printed with enough digits. The median of an even number of
/// runs is of two runs, whose busbw and time need not agree; the sizes of hypercube leave out what a rank keeps.
fn factor(row: &Row) -> Option<f64> {
    let Row { workload, repeats, .. } = row;
    let sample = row.in_place.or(row.out_of_place)?;
    let factor = sample.busbw_gbps * sample.time_us? * 1000.0 / workload.size_bytes as f64;
    let is_comparable = repeats % 2 == 1 && workload.collective != Collective::Hypercube && workload.scale.ranks > 1;
    (is_comparable && sample.busbw_gbps >= LEAST_BUSBW_GBPS).then_some(factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Configuration, Protocol, Workload},
        tuning::read::{RowMarks, RunKind, Sample},
    };

    /// Rows of all_reduce on two nodes with these ranks, whose busbw has the factor of `factor_of` ranks.
    fn rows(ranks: u32, factor_of: u32) -> Vec<Row> {
        let of = |exponent: u32| {
            let (size_bytes, time_us) = (1 << exponent, f64::from(exponent) * 100.0);
            let busbw = Collective::AllReduce.busbw_gbps(factor_of, size_bytes, time_us);
            let sample = Sample { time_us: Some(time_us), busbw_gbps: (busbw * 100.0).round() / 100.0 };
            let scale = Scale { nodes: 2, ranks };
            Row {
                file: 0,
                line: exponent,
                workload: Workload { collective: Collective::AllReduce, scale, size_bytes },
                ran: Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Simple, channels: 8 },
                in_place: Some(sample),
                out_of_place: None,
                repeats: 1,
                spread_pct: None,
                kind: RunKind::Asked,
                marks: RowMarks::default(),
                asked: Default::default(),
                evidence: Default::default(),
                origin: 0,
            }
        };
        (12..30).map(of).collect()
    }

    #[test]
    fn ranks_of_one_node_are_named() {
        let name = |_| "sweep.csv".to_owned();
        assert!(contradicted_ranks(&rows(16, 16), &name).is_empty());
        let notes = contradicted_ranks(&rows(8, 16), &name);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].starts_with("sweep.csv: in "), "{notes:?}");
        assert!(notes[0].contains("1.875 times size / time, as with 16 ranks, not 1.750"), "{notes:?}");
    }

    #[test]
    fn a_few_rows_and_busbw_of_few_digits_are_no_reason() {
        let mut all = rows(8, 8);
        all.extend(rows(8, 16).into_iter().take(14));
        assert!(contradicted_ranks(&all, &|_| String::new()).is_empty());
    }
}
