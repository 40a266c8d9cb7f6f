//! A plan as a table for people.

use super::{
    agenda::{Item, Reason},
    duration,
};
use crate::{
    text::{Column, Entry, Listing},
    units::Size,
};

/// For people.
#[must_use]
pub const fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::NoDefault => "no default",
        Reason::Uncovered => "a job sends it",
        Reason::Tie => "tie",
        Reason::Gain => "gain",
        Reason::Boundary => "boundary",
        Reason::Reference => "reference",
    }
}

/// A row per item.
#[must_use]
pub fn listing(items: &[Item]) -> Listing {
    let columns = vec![
        Column::numbers("Order", "the most urgent first"),
        Column::words("Collective", "collective"),
        Column::words("Scale", "nodes × ranks"),
        Column::words("Launch", "algorithm, protocol and channels to ask for, or the library's default"),
        Column::words("Sizes", "message sizes of the launch"),
        Column::numbers("Runs", "how often to launch it"),
        Column::numbers("Takes", "how long its launches take, from the times in the sweep"),
        Column::words("For", "what it is measured for"),
        Column::numbers(
            "Expected",
            "by how much busbw should rise with what is learnt, in per cent, root mean square over the measured sizes",
        ),
        Column::words("Why", "why it is worth measuring"),
    ];
    let row = |(order, item): (usize, &Item)| {
        let ends = [item.sizes.first, item.sizes.last].map(|size| Size(size).to_string());
        vec![
            Entry::number(Some(order as f64), |n| format!("{n}")),
            Entry::text(item.collective.name()),
            Entry::text(format!("{} × {}", item.scale.nodes, item.scale.ranks)),
            Entry::text(item.configuration.map_or_else(|| "default".to_owned(), |c| c.to_string())),
            Entry::text(if ends[0] == ends[1] { ends[0].clone() } else { ends.join(" to ") }),
            Entry::number(Some(f64::from(item.repeats)), |n| format!("{n}")),
            Entry::number(item.seconds, duration::words),
            Entry::text(reason(item.reason)),
            Entry::number(item.expected_pct, |pct| format!("{pct:.2} %")),
            Entry::text(item.why.clone()),
        ]
    };
    Listing { columns, rows: (1..).zip(items).map(row).collect() }
}
