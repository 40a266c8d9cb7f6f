//! Recommendations as the rows of a table for people: what stands in a cell, and by what it is sorted and found.

use super::{
    result::Recommendation,
    wording::{advice_word, source_in_short, support},
};
use crate::{
    collective::Workload,
    units::{Size, percent, significant},
};

/// One cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// What is shown.
    pub text: String,
    /// By what it is sorted; text where it is no number.
    pub number: Option<f64>,
}

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its header.
    pub name: &'static str,
    /// What stands in it, with the unit and the base.
    pub meaning: &'static str,
    /// Numbers are set flush right.
    pub is_numeric: bool,
}

/// A table for people.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Its columns.
    pub columns: Vec<Column>,
    /// A cell per column.
    pub rows: Vec<Vec<Entry>>,
}

const fn words(name: &'static str, meaning: &'static str) -> Column {
    Column { name, meaning, is_numeric: false }
}

const fn numbers(name: &'static str, meaning: &'static str) -> Column {
    Column { name, meaning, is_numeric: true }
}

/// Left out where all rows have the same.
const GROUP: [Column; 2] = [words("Collective", "collective"), words("Scale", "nodes × ranks")];

const COLUMNS: [Column; 12] = [
    numbers("Size", "message size"),
    words("Advice", "deploy the configuration, or keep the default, which is expected to be as fast"),
    words("Algorithm", "algorithm to deploy"),
    words("Protocol", "protocol to deploy"),
    numbers("Channels", "channels to deploy, in total"),
    numbers("busbw", "busbw expected of the choice, GB/s"),
    words("90 %", "nine of ten new measurements should fall in here, GB/s"),
    numbers("Default", "busbw measured with the library's own choice, GB/s"),
    numbers("Gain", "expected busbw over the default's, in per cent of the default"),
    words("Best measured", "the highest median that was measured, GB/s; with its configuration where it is another"),
    words("Support", "measured, interpolated or extrapolated"),
    words("Chosen by", "who made the choice"),
];

impl Listing {
    /// A row per recommendation, in their order. Collective and scale are columns where they differ.
    #[must_use]
    pub fn of(recommendations: &[Recommendation]) -> Self {
        let group = |r: &Recommendation| (r.workload.collective, r.workload.scale);
        let groups_differ = recommendations.windows(2).any(|pair| group(&pair[0]) != group(&pair[1]));
        let (mut columns, mut rows) = (COLUMNS.to_vec(), recommendations.iter().map(row).collect::<Vec<_>>());
        if groups_differ {
            columns.splice(1..1, GROUP);
            rows.iter_mut().zip(recommendations).for_each(|(row, r)| drop(row.splice(1..1, group_cells(r))));
        }
        Self { columns, rows }
    }

    /// The rows to show: those in which every word of `filter` occurs in some cell, in any case, ordered by a
    /// column (ascending or descending, empty cells last) or as they came.
    #[must_use]
    pub fn order(&self, sort: Option<(usize, bool)>, filter: &str) -> Vec<usize> {
        let words: Vec<String> = filter.split_whitespace().map(str::to_ascii_lowercase).collect();
        let holds = |row: &[Entry]| {
            let cells: Vec<String> = row.iter().map(|cell| cell.text.to_ascii_lowercase()).collect();
            words.iter().all(|word| cells.iter().any(|cell| cell.contains(word)))
        };
        let mut order: Vec<usize> = (0..self.rows.len()).filter(|index| holds(&self.rows[*index])).collect();
        if let Some((column, descending)) = sort {
            order.sort_by(|a, b| {
                let (a, b) = (self.rows[*a].get(column), self.rows[*b].get(column));
                let is_empty = |cell: Option<&Entry>| cell.is_none_or(|cell| cell.text.is_empty());
                let (a_empty, b_empty) = (is_empty(a), is_empty(b));
                let ordering = match (a.zip(b), a.and_then(|a| a.number).zip(b.and_then(|b| b.number))) {
                    (_, Some((a, b))) => a.total_cmp(&b),
                    (Some((a, b)), None) => a.text.cmp(&b.text),
                    (None, None) => std::cmp::Ordering::Equal,
                };
                a_empty.cmp(&b_empty).then(if descending { ordering.reverse() } else { ordering })
            });
        }
        order
    }
}

fn text(text: String) -> Entry {
    Entry { text, number: None }
}

fn group_cells(recommendation: &Recommendation) -> [Entry; 2] {
    let Workload { collective, scale, .. } = recommendation.workload;
    let number = f64::from(scale.nodes) * 1e9 + f64::from(scale.ranks);
    [text(collective.to_string()), Entry { text: format!("{} × {}", scale.nodes, scale.ranks), number: Some(number) }]
}

fn row(recommendation: &Recommendation) -> Vec<Entry> {
    let number = |value: Option<f64>, text: fn(f64) -> String| Entry {
        text: value.map(text).unwrap_or_default(),
        number: value,
    };
    let workload = recommendation.workload;
    let choice = recommendation.configuration;
    let interval =
        recommendation.interval_90.map(|i| format!("{} – {}", significant(i.low_gbps), significant(i.high_gbps)));
    let best = recommendation.measured_best;
    let best_text = best.map(|b| match choice {
        Some(choice) if choice == b.configuration => gbps(b.busbw_gbps),
        _ => format!("{} {}", gbps(b.busbw_gbps), b.configuration),
    });
    vec![
        Entry { text: Size(workload.size_bytes).to_string(), number: Some(workload.size_bytes as f64) },
        text(advice_word(recommendation).to_owned()),
        text(choice.map(|c| c.algorithm.to_string()).unwrap_or_default()),
        text(choice.map(|c| c.protocol.to_string()).unwrap_or_default()),
        number(choice.map(|c| f64::from(c.channels)), |channels| format!("{channels}")),
        number(recommendation.predicted_busbw_gbps, gbps),
        Entry { text: interval.unwrap_or_default(), number: recommendation.interval_90.map(|i| i.low_gbps) },
        number(recommendation.default.map(|d| d.busbw_gbps), gbps),
        number(recommendation.gain_pct, percent),
        Entry { text: best_text.unwrap_or_default(), number: best.map(|b| b.busbw_gbps) },
        text(support(recommendation.support).to_owned()),
        text(source_in_short(recommendation.source).to_owned()),
    ]
}

/// Three decimals: one digit more than nccl-tests prints, since the page computes busbw from the time.
fn gbps(value: f64) -> String {
    format!("{value:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Collective, Configuration, Protocol, Scale},
        tuning::result::{Source, Support},
    };

    fn one(size_bytes: u64, algorithm: Algorithm, gain_pct: Option<f64>) -> Recommendation {
        Recommendation {
            workload: Workload { collective: Collective::AllReduce, scale: Scale { nodes: 2, ranks: 16 }, size_bytes },
            configuration: Some(Configuration { algorithm, protocol: Protocol::Ll, channels: 8 }),
            predicted_busbw_gbps: Some(17.65),
            interval_90: None,
            measured_best: None,
            default: None,
            gain_pct,
            support: Support::Measured,
            source: Source::Model,
            exhaustive: None,
        }
    }

    fn listing() -> Listing {
        Listing::of(&[
            one(1 << 20, Algorithm::Tree, Some(-3.0)),
            one(4096, Algorithm::Ring, None),
            one(16 << 20, Algorithm::Tree, Some(24.0)),
        ])
    }

    fn column(name: &str) -> usize {
        COLUMNS.iter().position(|column| column.name == name).unwrap()
    }

    #[test]
    fn rows_sort_by_value_and_not_by_letters() {
        let listing = listing();
        assert_eq!(listing.order(None, ""), [0, 1, 2]);
        assert_eq!(listing.order(Some((column("Size"), false)), ""), [1, 0, 2]);
        assert_eq!(listing.order(Some((column("Algorithm"), false)), ""), [1, 0, 2]);
        assert_eq!(listing.order(Some((99, true)), ""), [0, 1, 2]);
    }

    #[test]
    fn empty_cells_come_last_either_way() {
        let gain = column("Gain");
        assert_eq!(listing().order(Some((gain, false)), ""), [0, 2, 1]);
        assert_eq!(listing().order(Some((gain, true)), ""), [2, 0, 1]);
    }

    #[test]
    fn every_word_of_a_filter_must_occur() {
        assert_eq!(listing().order(None, "tree mib"), [0, 2]);
        assert_eq!(listing().order(None, "keep"), [0]);
        assert_eq!(listing().order(None, "RING kib"), [1]);
        assert_eq!(listing().order(None, "nvls"), [0_usize; 0]);
    }

    #[test]
    fn collective_and_scale_are_columns_where_they_differ() {
        assert_eq!(listing().columns.len(), listing().rows[0].len());
        let mut two = [one(4096, Algorithm::Ring, None), one(4096, Algorithm::Ring, None)];
        two[1].workload.scale = Scale { nodes: 3, ranks: 24 };
        let listing = Listing::of(&two);
        assert_eq!(listing.columns[1..3], GROUP);
        assert_eq!(listing.columns.len(), listing.rows[1].len());
        assert_eq!(listing.rows[1][2].text, "3 × 24");
        assert_eq!(listing.order(Some((2, true)), ""), [1, 0]);
    }

    #[test]
    fn numbers_have_fixed_decimals() {
        let listing = listing();
        assert_eq!(listing.rows[0][column("busbw")].text, "17.650");
        assert_eq!(listing.rows[0][column("Gain")].text, "−3.0 %");
        assert_eq!(listing.rows[2][column("Size")].text, "16 MiB");
    }
}
