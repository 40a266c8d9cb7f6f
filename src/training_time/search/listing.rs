//! The layouts of a search as tables.

use super::{Row, SearchResult};
use crate::{
    text::{Column, Entry, Listing},
    training_time::{
        interval::Basis,
        memory::GIB,
        prediction::Mark,
        run::Recompute,
        step::listing::{share, time},
    },
    units::grouped,
};

/// The rows in order, with what their intervals stand on.
pub fn layouts(rows: &[Row], basis: Basis) -> Listing {
    let columns = vec![
        Column::numbers("Rank", "by step time; layouts that the intervals can't tell apart share it"),
        Column::numbers("GPUs", "in all"),
        Column::numbers("tp", "tensor degree"),
        Column::numbers("pp", "pipeline stages"),
        Column::numbers("dp", "data-parallel degree"),
        Column::numbers("ep", "expert degree"),
        Column::numbers("b", "sequences of a micro-batch"),
        Column::numbers("m", "micro-batches per step and replica"),
        Column::words("Recompute", "what is computed again in the backward pass"),
        Column::numbers("Step", "predicted time of a step"),
        Column::words(
            basis.title(),
            if basis.is_interval() {
                "of the step's time"
            } else {
                "of the step's time: no interval that holds nine of ten steps"
            },
        ),
        Column::numbers("Tokens/s/GPU", "tokens per second and GPU"),
        Column::numbers("MFU", "share of the GPUs' peak that the model's operations come to"),
        Column::numbers("Memory", "of the fullest stage"),
        Column::numbers("Bubble", "share of the busiest stage's pipeline time that it waits"),
        Column::numbers("Extrapolated", "share of the step's time that is extrapolated or suspect"),
    ];
    let whole = |value: u32| Entry::number(Some(f64::from(value)), |value| format!("{value}"));
    let is_one = rows.windows(2).all(|pair| pair[0].layout.gpus() == pair[1].layout.gpus());
    let row = |row: &Row| {
        let layout = &row.layout;
        let beyond = row.marks[Mark::Extrapolated as usize] + row.marks[Mark::Suspect as usize];
        vec![
            Entry::number(row.rank.map(f64::from), |rank| format!("{rank}")),
            Entry::number((!is_one).then_some(layout.gpus() as f64), |gpus| format!("{gpus}")),
            whole(layout.tensor),
            whole(layout.pipeline),
            whole(layout.data),
            if layout.expert > 1 { whole(layout.expert) } else { Entry::default() },
            whole(row.micro_batch),
            whole(row.micro_batches),
            Entry::text(recompute(row.recompute)),
            Entry::number(Some(row.total_us), time),
            Entry::text(
                row.interval_us.map_or_else(String::new, |[low, high]| format!("{} – {}", time(low), time(high))),
            ),
            Entry::number(Some(row.tokens_per_gpu), |tokens| grouped(tokens.round() as u64)),
            Entry::number(row.utilisation, share),
            Entry::number(Some(row.memory_bytes), |bytes| format!("{:.1} GiB", bytes / GIB)),
            Entry::number(Some(row.bubble), share),
            Entry::number(Some(beyond), share),
        ]
    };
    Listing { columns, rows: rows.iter().map(row).collect() }.without_empty_columns()
}

/// A table of the reasons for which layouts were left out.
pub fn dropped(found: &SearchResult) -> Listing {
    let columns = vec![
        Column::words("Reason", "why a layout is left out"),
        Column::numbers("How many", "layouts; from the batch on, layouts with a micro-batch and recomputation"),
        Column::words("What would help", "to let more through"),
    ];
    let row = |(reason, count): (super::LeftOutReason, u64)| {
        vec![
            Entry::text(crate::units::capitalised(reason.sentence())),
            Entry::number(Some(count as f64), |count| format!("{count}")),
            Entry::text(reason.remedy()),
        ]
    };
    Listing { columns, rows: found.dropped.iter().map(row).collect() }
}

/// The keyword of a recomputation.
pub const fn recompute(recompute: Recompute) -> &'static str {
    match recompute {
        Recompute::Full => "full",
        Recompute::Selective => "selective",
        Recompute::None => "none",
    }
}
