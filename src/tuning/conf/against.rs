//! A tuner file beside a table of the library: what each decides by itself, and what the two decide one after the
//! other.

use super::{
    choose::{Effect, choose},
    reader::Reader,
    rule::Rule,
};
use crate::{
    collective::{Collective, Scale, Workload},
    conf::built_in::Table,
    order::CompactSort,
    text::{Column, Entry, Listing},
    tuning::support::SupportMatrix,
};

/// A range of sizes within which neither the file nor the table changes its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgainstRange {
    /// The collective that a rule or a row names.
    pub collective: Collective,
    /// The number of nodes and ranks.
    pub scale: Scale,
    /// The smallest message size of the range, in bytes.
    pub min_bytes: u64,
    /// The largest message size of the range, in bytes; it belongs to the range.
    pub max_bytes: u64,
    /// The effect of the file by itself, and the line of the rule that causes it; no line in a gap.
    pub own: (Effect, Option<u32>),
    /// The effect of the table by itself; no row in a gap.
    pub table: Option<Effect>,
    /// The effect of the file with the table's rows after its own.
    pub merged: Effect,
}

/// Every size of the collectives and scales that a rule or a row names, as ranges, in the order of collectives, scales
/// and sizes. Rules for any number of nodes or ranks are looked up at the scales of the others.
pub fn against(rules: &[Rule], reader: Reader, table: &Table, support: &SupportMatrix) -> Vec<AgainstRange> {
    let rows = table.rules(reader);
    let scale = |rule: &Rule| Some((rule.collective, rule.scale()?));
    let mut places: Vec<(Collective, Scale)> = rules.iter().chain(&rows).filter_map(scale).collect();
    places.compact_sort();
    places.dedup();
    let mut all: Vec<AgainstRange> = Vec::new();
    for (collective, scale) in places {
        // Only the rules that can match here: a large file has many scales.
        let is_about = |rule: &&Rule| rule.collective == collective && rule.is_about(scale);
        let own: Vec<Rule> = rules.iter().filter(is_about).copied().collect();
        let merged: Vec<Rule> = own.iter().copied().chain(rows.iter().filter(is_about).copied()).collect();
        let mut starts: Vec<u64> = vec![0];
        for rule in &merged {
            let sizes = rule.sizes_on(scale);
            starts.push(*sizes.start());
            starts.extend(sizes.end().checked_add(1));
        }
        starts.extend(support.limits(collective, scale.nodes).map(|limit| limit + 1));
        starts.compact_sort();
        starts.dedup();
        for (index, min_bytes) in starts.iter().copied().enumerate() {
            let max_bytes = starts.get(index + 1).map_or(u64::MAX, |next| next - 1);
            let at = Workload { collective, scale, size_bytes: min_bytes };
            let by = |rules: &[Rule]| choose(rules, reader, support, &at);
            let (of_own, of_table) = (by(&own), by(&rows));
            let range = AgainstRange {
                collective,
                scale,
                min_bytes,
                max_bytes,
                own: (of_own.effect, of_own.rule.and_then(|index| own.get(index)).map(|rule| rule.line)),
                table: of_table.rule.map(|_| of_table.effect),
                merged: by(&merged).effect,
            };
            let joins = |last: &&mut AgainstRange| {
                AgainstRange { min_bytes: last.min_bytes, ..range.clone() }
                    == AgainstRange { max_bytes, ..(**last).clone() }
            };
            match all.last_mut().filter(joins) {
                Some(last) => last.max_bytes = max_bytes,
                None => all.push(range),
            }
        }
    }
    all
}

/// The ranges as a table.
pub fn listing(ranges: &[AgainstRange]) -> Listing {
    let columns = vec![
        Column::words("Collective", "collective"),
        Column::words("Scale", "nodes × ranks"),
        Column::numbers("From", "the smallest size, in bytes"),
        Column::numbers("To", "the largest size, in bytes, included"),
        Column::words("This file", "what the file decides by itself"),
        Column::numbers("Line", "the rule that applies; none in a gap"),
        Column::words("The table", "what the library's own table decides by itself"),
        Column::words("Both", "what the file decides with the table's rows after its own"),
    ];
    let bytes = |bytes: u64| Entry {
        text: if bytes == u64::MAX { "∞".to_owned() } else { bytes.to_string() },
        number: Some(bytes as f64),
    };
    let row = |range: &AgainstRange| {
        vec![
            Entry::text(range.collective.name()),
            Entry::text(format!("{} × {}", range.scale.nodes, range.scale.ranks)),
            bytes(range.min_bytes),
            bytes(range.max_bytes),
            Entry::text(range.own.0.to_string()),
            Entry::number(range.own.1.map(f64::from), |line| format!("{line:.0}")),
            Entry::text(range.table.map_or_else(|| "no row".to_owned(), |effect| effect.to_string())),
            Entry::text(range.merged.to_string()),
        ]
    };
    Listing { columns, rows: ranges.iter().map(row).collect() }
}
