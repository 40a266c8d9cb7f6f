//! Recommendations as the rows of a table for people.

use super::{
    decision::{Decision, KeepReason, MoreRuns, words},
    result::Recommendation,
    wording::{advice_word, source_in_short, support},
};
use crate::{
    order::CompactSort,
    text::{Column, Entry, Listing},
    units::{microseconds, percent, significant},
};

/// Left out where all rows have the same. Where it stands, the default's busbw is shown on demand only.
const GROUP: Column = Column::words("Workload", "collective, nodes × ranks");
const DEFAULT: &str = "Default";

/// Eight that are always shown, which a window of 1,400 pixels holds, and what explains them. The last one is coloured.
const COLUMNS: [Column; 18] = [
    Column::numbers("Size", "message size"),
    Column::words(
        "Advice",
        "deploy the configuration, which beats the default; keep the default; measure the configuration first; or the best \
         known, without a default to compare it with",
    ),
    Column::words("Why", "why the default stays, or no gain is claimed").secondary(),
    Column::words("Configuration", "algorithm, protocol and channels in total that run, or are to be measured"),
    Column::numbers("Time", "time of one operation with that, measured or expected, in microseconds"),
    Column::numbers("busbw", "busbw of that, measured or expected, GB/s"),
    Column::words("90 %", "nine of ten new measurements should fall in here, GB/s").secondary(),
    Column::numbers(DEFAULT, "busbw measured with the library's own choice, GB/s"),
    Column::numbers("Default time", "time of one operation with the library's own choice, in microseconds").secondary(),
    Column::numbers(
        "Gain",
        "busbw of the best known over the default's, in per cent of the default; with its configuration where another one runs",
    ),
    Column::numbers("Gain interval", "the gain lies in here with the chosen probability, in per cent of the default")
        .secondary(),
    Column::numbers("Tied", "measured configurations that can't be told apart from the best one").secondary(),
    Column::numbers("Visible", "the smallest gain that this noise and these runs show half of the time, in per cent")
        .secondary(),
    Column::numbers("More runs", "how many more runs of the choice and the default would decide what is undecided")
        .secondary(),
    Column::words(
        "Best measured",
        "the highest median that was measured, GB/s; with its configuration where it is another",
    )
    .secondary(),
    Column::numbers("Best time", "time of one operation at the highest median that was measured, in microseconds")
        .secondary(),
    Column::words("Chosen by", "who made the choice").secondary(),
    Column::words(
        "Support",
        "measured, interpolated or extrapolated; held to what links carry, where a file of them is open",
    ),
];

/// A row per recommendation, in their order. Collective and scale are a column where they differ.
pub fn recommendations(recommendations: &[Recommendation]) -> Listing {
    let group = |r: &Recommendation| (r.workload.collective, r.workload.scale);
    let groups_differ = recommendations.windows(2).any(|pair| group(&pair[0]) != group(&pair[1]));
    let (mut columns, mut rows) = (COLUMNS.to_vec(), recommendations.iter().map(row).collect::<Vec<_>>());
    if groups_differ {
        let mut groups: Vec<_> = recommendations.iter().map(group).collect();
        groups.compact_sort();
        groups.dedup();
        columns.iter_mut().filter(|column| column.name == DEFAULT).for_each(|column| column.is_secondary = true);
        columns.insert(1, GROUP);
        for (row, (collective, scale)) in rows.iter_mut().zip(recommendations.iter().map(group)) {
            let text = format!("{collective}, {} × {}", scale.nodes, scale.ranks);
            let place = groups.partition_point(|other| *other < (collective, scale));
            row.insert(1, Entry { text, number: Some(place as f64) });
        }
    }
    Listing { columns, rows }
}

fn row(recommendation: &Recommendation) -> Vec<Entry> {
    let workload = recommendation.workload;
    let time = |busbw: Option<f64>| Entry::number(busbw.and_then(|busbw| workload.time_us(busbw)), microseconds);
    let runs = recommendation.runs();
    let choice = runs.configuration;
    // Two measurements of the same configuration differ by noise, which no deployment gains.
    let is_same = recommendation.decision == Decision::KeepDefault { reason: KeepReason::Same };
    let gain = recommendation.gain.filter(|_| !is_same);
    // Where the default stays, the gain is that of what does not run.
    let gain_of = |pct: f64| match recommendation.configuration {
        Some(of) if choice != Some(of) => format!("{} {of}", percent(pct)),
        _ => percent(pct),
    };
    let interval = runs.interval_90.map(|i| format!("{} – {}", significant(i.low_gbps), significant(i.high_gbps)));
    let best = recommendation.measured_best;
    let best_text = best.map(|b| match choice {
        Some(choice) if choice == b.configuration => gbps(b.busbw_gbps),
        _ => format!("{} {}", gbps(b.busbw_gbps), b.configuration),
    });
    vec![
        Entry::size(workload.size_bytes),
        Entry::text(advice_word(recommendation)),
        Entry::text(recommendation.decision.why()),
        Entry::text(choice.map(|c| c.to_string()).unwrap_or_default()),
        time(runs.busbw_gbps),
        Entry::number(runs.busbw_gbps, gbps),
        Entry { text: interval.unwrap_or_default(), number: runs.interval_90.map(|i| i.low_gbps) },
        Entry::number(recommendation.default.map(|d| d.busbw_gbps), gbps),
        time(recommendation.default.map(|d| d.busbw_gbps)),
        Entry::number(gain.map(|gain| gain.pct).or(recommendation.gain_pct).filter(|_| !is_same), gain_of),
        Entry { text: gain.as_ref().map(words::range).unwrap_or_default(), number: gain.map(|gain| gain.low_pct) },
        Entry::number(Some(recommendation.tied.len() as f64).filter(|tied| *tied > 0.0), |tied| format!("{tied}")),
        Entry::number(recommendation.noise.map(|noise| noise.visible_gain_pct), percent),
        more_runs(recommendation),
        Entry { text: best_text.unwrap_or_default(), number: best.map(|b| b.busbw_gbps) },
        time(best.map(|b| b.busbw_gbps)),
        Entry::text(source_in_short(recommendation.source).to_owned()),
        Entry::text(match recommendation.held_to.is_some() {
            true => format!("{}, held to links", support(recommendation.support)),
            false => support(recommendation.support).to_owned(),
        }),
    ]
}

fn more_runs(recommendation: &Recommendation) -> Entry {
    let more = recommendation.noise.map_or(MoreRuns::Decided, |noise| noise.more_runs);
    let number = match more {
        MoreRuns::Decided => None,
        MoreRuns::Runs(runs) => Some(f64::from(runs)),
        MoreRuns::OutOfReach => Some(f64::INFINITY),
    };
    Entry { text: more.words(), number }
}

/// Three decimals: one digit more than nccl-tests prints, since the page computes busbw from the time.
fn gbps(value: f64) -> String {
    format!("{value:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
        tuning::{
            aggregate::Point,
            decision::{Decision, KeepReason},
            recommend::measured,
            result::{PredictionSupport, Source},
        },
    };

    fn one(size_bytes: u64, algorithm: Algorithm, gain_pct: Option<f64>) -> Recommendation {
        let scale = Scale { nodes: 2, ranks: 16 };
        let decision = match gain_pct {
            None => Decision::NoDefault,
            Some(gain) if gain <= 0.0 => Decision::KeepDefault { reason: KeepReason::NotFaster },
            Some(_) => Decision::Deploy,
        };
        let configuration = Configuration { algorithm, protocol: Protocol::Ll, channels: 8 };
        let workload = Workload { collective: Collective::AllReduce, scale, size_bytes };
        let default = gain_pct.map(|_| measured(&Point::new(workload, configuration, 17.65)));
        Recommendation {
            configuration: Some(configuration),
            predicted_busbw_gbps: Some(17.65),
            default,
            gain_pct,
            decision,
            support: PredictionSupport::Measured,
            source: Source::Model,
            ..Recommendation::unknown(workload)
        }
    }

    fn listing() -> Listing {
        recommendations(&[
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
        assert_eq!(listing.visible_rows(None, ""), [0, 1, 2]);
        assert_eq!(listing.visible_rows(Some((column("Size"), false)), ""), [1, 0, 2]);
        assert_eq!(listing.visible_rows(Some((column("Configuration"), false)), ""), [1, 0, 2]);
        assert_eq!(listing.visible_rows(Some((99, true)), ""), [0, 1, 2]);
    }

    #[test]
    fn empty_cells_come_last_either_way() {
        let gain = column("Gain");
        assert_eq!(listing().visible_rows(Some((gain, false)), ""), [0, 2, 1]);
        assert_eq!(listing().visible_rows(Some((gain, true)), ""), [2, 0, 1]);
    }

    #[test]
    fn every_word_of_a_filter_must_occur() {
        assert_eq!(listing().visible_rows(None, "tree mib"), [0, 2]);
        assert_eq!(listing().visible_rows(None, "keep"), [0]);
        assert_eq!(listing().visible_rows(None, "best known"), [1]);
        assert_eq!(listing().visible_rows(None, "RING kib"), [1]);
        assert_eq!(listing().visible_rows(None, "nvls"), [0_usize; 0]);
    }

    #[test]
    fn eight_columns_are_shown_and_the_others_on_demand() {
        let shown = |listing: &Listing| {
            listing.without_secondary_columns().columns.iter().map(|c| c.name.to_string()).collect::<Vec<_>>()
        };
        let names = ["Size", "Advice", "Configuration", "Time", "busbw", "Default", "Gain", "Support"];
        assert_eq!(shown(&listing()), names);
        let mut two = [one(4096, Algorithm::Ring, None), one(4096, Algorithm::Ring, None)];
        two[1].workload.scale = Scale { nodes: 3, ranks: 24 };
        assert_eq!(shown(&recommendations(&two)).len(), 8);
    }

    #[test]
    fn time_stands_beside_busbw() {
        let listing = recommendations(&[one(1 << 20, Algorithm::Tree, Some(24.0))]);
        let text = |name: &str| listing.rows[0][column(name)].text.clone();
        // 1 MiB × 2 · 15/16 over 17.65 GB/s.
        assert_eq!((text("Time").as_str(), text("Default time").as_str()), ("111.4 µs", "111.4 µs"));
        assert_eq!(text("Best time"), "");
    }

    #[test]
    fn collective_and_scale_are_a_column_where_they_differ() {
        assert_eq!(listing().columns.len(), listing().rows[0].len());
        let mut two = [one(4096, Algorithm::Ring, None), one(4096, Algorithm::Ring, None)];
        two[1].workload.scale = Scale { nodes: 3, ranks: 24 };
        let listing = recommendations(&two);
        assert_eq!(listing.columns[1], GROUP);
        assert_eq!(listing.columns.len(), listing.rows[1].len());
        assert_eq!(listing.rows[1][1].text, "all_reduce, 3 × 24");
        assert_eq!(listing.visible_rows(Some((1, true)), ""), [1, 0]);
    }

    #[test]
    fn a_gain_of_what_does_not_run_is_named() {
        let mut kept = one(1 << 20, Algorithm::Ring, Some(0.2));
        kept.decision = Decision::KeepDefault { reason: KeepReason::Uncertain };
        if let Some(default) = &mut kept.default {
            default.configuration.algorithm = Algorithm::Tree;
        }
        let row = &recommendations(&[kept]).rows[0];
        assert_eq!(
            (row[column("Configuration")].text.as_str(), row[column("Gain")].text.as_str()),
            ("TREE/LL/8", "+0.2 % RING/LL/8")
        );
    }

    #[test]
    fn numbers_have_fixed_decimals() {
        let listing = listing();
        assert_eq!(listing.rows[0][column("busbw")].text, "17.650");
        assert_eq!(listing.rows[0][column("Gain")].text, "−3.0 %");
        assert_eq!(listing.rows[2][column("Size")].text, "16 MiB");
    }
}
