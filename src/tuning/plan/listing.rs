//! A plan as a table for people.

use super::{PlannedLaunch, Reason, duration};
use crate::{
    text::{Column, Entry, Listing},
    units::{Size, microseconds},
};

/// The name as it is shown on the page and in the terminal.
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

const WORKLOAD: &str = "Workload";
const TIME: &str = "Time";

fn times([first, last]: [f64; 2]) -> String {
    if first.total_cmp(&last).is_eq() { microseconds(first) } else { [first, last].map(microseconds).join(" to ") }
}

/// The plan as a table, a row for each launch.
pub fn listing(items: &[PlannedLaunch]) -> Listing {
    let columns = vec![
        Column::numbers("Order", "the most urgent first"),
        Column::words(WORKLOAD, "collective, nodes × ranks"),
        Column::words("Launch", "algorithm, protocol and channels to ask for, or the library's default"),
        Column::words("Sizes", "message sizes of the launch"),
        Column::numbers("Runs", "how often to launch it"),
        Column::numbers("Takes", "how long its launches take, from the times in the sweep"),
        Column::numbers(
            TIME,
            "time of one operation of the smallest and of the largest size, in microseconds: of the same configuration, or the \
             median of what was measured there",
        ),
        Column::words("For", "what it is measured for").secondary(),
        Column::numbers(
            "Expected",
            "by how much busbw should rise with what is learnt, in per cent, root mean square over the measured sizes",
        ),
        Column::words("Why", "why it is worth measuring"),
    ];
    let row = |(order, item): (usize, &PlannedLaunch)| {
        let ends = [item.sizes.first, item.sizes.last].map(|size| Size(size).to_string());
        vec![
            Entry::number(Some(order as f64), |n| format!("{n}")),
            Entry::text(format!("{}, {} × {}", item.collective, item.scale.nodes, item.scale.ranks)),
            Entry::text(item.configuration.map_or_else(|| "default".to_owned(), |c| c.to_string())),
            Entry::text(if ends[0] == ends[1] { ends[0].clone() } else { ends.join(" to ") }),
            Entry::number(Some(f64::from(item.repeats)), |n| format!("{n}")),
            Entry::number(item.seconds, duration::words),
            Entry { text: item.ends_us.map(times).unwrap_or_default(), number: item.ends_us.map(|[first, _]| first) },
            Entry::text(reason(item.reason)),
            Entry::number(item.expected_pct, |pct| format!("{pct:.2} %")),
            Entry::text(item.why.clone()),
        ]
    };
    let group = |item: &PlannedLaunch| (item.collective, item.scale);
    let groups_differ = items.windows(2).any(|pair| group(&pair[0]) != group(&pair[1]));
    let mut listing = Listing { columns, rows: (1..).zip(items).map(row).collect() };
    // At most eight columns are shown: those of the workload only where they differ between rows.
    listing.hide(if groups_differ { TIME } else { WORKLOAD });
    listing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Collective, Scale},
        launch::Sizes,
    };

    #[test]
    fn eight_columns_are_shown_and_the_times_of_the_ends() {
        let item = |nodes| PlannedLaunch {
            collective: Collective::AllReduce,
            scale: Scale { nodes, ranks: 8 * nodes },
            configuration: None,
            sizes: Sizes { first: 4096, last: 1 << 29 },
            repeats: 3,
            reason: Reason::Gain,
            expected_pct: Some(1.0),
            ends_us: Some([8.314, 28_633.0]),
            seconds: Some(60.0),
            why: String::new(),
        };
        let shown = |listing: &Listing| {
            listing.without_secondary_columns().columns.iter().map(|c| c.name.to_string()).collect::<Vec<_>>()
        };
        let one = listing(&[item(2), item(2)]);
        assert_eq!(shown(&one), ["Order", "Launch", "Sizes", "Runs", "Takes", "Time", "Expected", "Why"]);
        assert!(one.rows[0].iter().any(|cell| cell.text == "8.31 µs to 28633 µs"), "{one:?}");
        let two = listing(&[item(2), item(3)]);
        assert_eq!(shown(&two), ["Order", "Workload", "Launch", "Sizes", "Runs", "Takes", "Expected", "Why"]);
    }
}
