//! The tables of a step.

use super::{
    component::Component,
    plan::{PartQuery, PartUse, Plan},
    result::Step,
};
use crate::{
    text::{Column, Entry, Listing},
    training_time::{
        memory::{GIB, StageMemory},
        prediction::{Direction, Mark, Prediction, plain},
    },
    units::{Size, significant},
};

/// A time as people write it: `9.48 s`, `22.0 ms`, `233 µs`.
pub fn time(time_us: f64) -> String {
    if time_us == 0.0 {
        return "0 µs".to_owned();
    }
    let (value, unit) = match time_us.abs() {
        large if large >= 1e6 => (time_us / 1e6, "s"),
        middle if middle >= 1e3 => (time_us / 1e3, "ms"),
        _ => (time_us, "µs"),
    };
    format!("{} {unit}", significant(value))
}

/// A share as a percentage.
pub fn share(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn time_cell(time_us: f64) -> Entry {
    Entry::number(Some(time_us), time)
}

fn share_cell(of: f64) -> Entry {
    Entry::number(Some(of), share)
}

/// A table of the components of the step's time.
pub fn components(step: &Step) -> Listing {
    let columns = vec![
        Column::words("Component", "what the time of a step goes into"),
        Column::numbers("Time", "of the busiest stage, over all micro-batches"),
        Column::numbers("Share", "of the step"),
    ];
    let row = |(component, time): (Component, f64)| {
        vec![Entry::text(component.title()), time_cell(time), share_cell(time / step.total_us)]
    };
    let mut rows: Vec<Vec<Entry>> = step.components.iter().map(row).collect();
    rows.push(vec![Entry::text("Step"), time_cell(step.total_us), share_cell(1.0)]);
    Listing { columns, rows }
}

/// A table of the stages.
pub fn stages(step: &Step) -> Listing {
    let columns = vec![
        Column::numbers("Stage", "from 0"),
        Column::numbers("Layers", "of the stage"),
        Column::numbers("Parameters", "on one rank, in millions (M)"),
        Column::numbers("Forward", "one micro-batch, with messages that block"),
        Column::numbers("Backward", "one micro-batch, with what is computed again and messages that block"),
        Column::numbers("Gradients", "the gradients' all-reduce"),
        Column::numbers("All-gather", "of the updated parameters"),
        Column::numbers("Optimizer", "as far as this rank updates"),
    ];
    let row = |(index, stage): (usize, &super::StageTime)| {
        vec![
            Entry::number(Some(index as f64), |at| format!("{at}")),
            Entry::number(Some(stage.layers), |layers| format!("{layers}")),
            Entry::number(Some(stage.parameters), |parameters| format!("{:.1} M", parameters / 1e6)),
            time_cell(stage.forward_us),
            time_cell(stage.backward_us),
            time_cell(stage.all_reduce_us),
            time_cell(stage.all_gather_us),
            time_cell(stage.optimizer_us),
        ]
    };
    Listing { columns, rows: step.stages.iter().enumerate().map(row).collect() }
}

/// A table of the operators and collectives of one layer.
pub fn layer(plan: &Plan) -> Listing {
    let columns = vec![
        Column::words("Operator", "operator or collective"),
        Column::words("Pass", "forward, backward, or computed again in the backward pass"),
        Column::numbers("Times", "how often in a layer"),
        Column::numbers("Each", "one of them"),
        Column::numbers("Layer", "all of them in one layer and micro-batch"),
        Column::numbers("Share", "of the layer"),
        Column::words("Where from", "whether the time was measured, interpolated, extrapolated, or is suspect"),
        Column::words("Beyond", "the worst input, where it is extrapolated"),
    ];
    // What a layer that is computed again sends once more counts with what its backward pass sends.
    let mut uses: Vec<(usize, PartUse)> = Vec::new();
    for (way, used) in [0, 1].iter().flat_map(|way| plan.layer[*way].iter().map(move |used| (*way, used))) {
        let same = |(of, known): &&mut (usize, PartUse)| {
            (*of, known.part, known.component) == (way, used.part, used.component)
        };
        match uses.iter_mut().find(same) {
            Some((_, known)) => known.count += used.count,
            None => uses.push((way, *used)),
        }
    }
    let of =
        |used: &PartUse| plan.parts.get(used.part as usize).map_or(0.0, |part| used.count * part.prediction.time_us);
    let all: f64 = uses.iter().map(|(_, used)| of(used)).sum();
    let row = |(way, used): &(usize, PartUse)| {
        let part = plan.parts.get(used.part as usize)?;
        let pass = match (used.component, way) {
            (Component::Recompute, _) => "again",
            (_, 0) => "forward",
            _ => "backward",
        };
        Some(vec![
            Entry::text(part.name.clone()),
            Entry::text(pass),
            Entry::number(Some(used.count), plain),
            time_cell(part.prediction.time_us),
            time_cell(of(used)),
            share_cell(of(used) / all),
            Entry::text(mark(part.prediction.mark)),
            Entry::text(beyond(&part.prediction)),
        ])
    };
    Listing { columns, rows: uses.iter().filter_map(row).collect() }
}

/// A table of the times of all parts.
pub fn parts(plan: &Plan) -> Listing {
    let columns = vec![
        Column::words("Operator or collective", "what was asked"),
        Column::words("Of", "direction of an operator; bytes and GPUs (nodes × GPUs of each) of a collective"),
        Column::numbers("Time", "predicted"),
        Column::words("Where from", "whether the time was measured, interpolated, extrapolated, or is suspect"),
        Column::words("Beyond", "the worst input, where it is extrapolated"),
    ];
    let row = |part: &super::StepPart| {
        let of = match &part.asked {
            PartQuery::Operator(Direction::Forward, _) if part.name.ends_with("_optimizer") => "whole stage".to_owned(),
            PartQuery::Operator(Direction::Forward, _) => "forward".to_owned(),
            PartQuery::Operator(Direction::Backward, _) => "backward".to_owned(),
            PartQuery::Collective(elements, communicator) => {
                format!("{} over {communicator} GPUs", Size(elements.saturating_mul(2)))
            }
        };
        vec![
            Entry::text(part.name.clone()),
            Entry::text(of),
            time_cell(part.prediction.time_us),
            Entry::text(mark(part.prediction.mark)),
            Entry::text(beyond(&part.prediction)),
        ]
    };
    Listing { columns, rows: plan.parts.iter().map(row).collect() }
}

/// A table of the memory of each stage in GiB.
pub fn memory(stages: &[StageMemory], capacity_bytes: Option<f64>) -> Listing {
    let mut columns = vec![Column::numbers("Stage", "from 0")];
    let names = StageMemory::default().parts().map(|(name, _)| name);
    columns.extend(names.map(|name| Column::numbers(name, "on one rank")));
    columns.push(Column::numbers("Total", "on one rank"));
    columns.push(Column::words("Too much", "the first that does not fit"));
    let gib = |bytes: f64| Entry::number(Some(bytes), |bytes| format!("{:.2} GiB", bytes / GIB));
    let row = |(index, stage): (usize, &StageMemory)| {
        let mut row = vec![Entry::number(Some(index as f64), |at| format!("{at}"))];
        row.extend(stage.parts().map(|(_, bytes)| gib(bytes)));
        row.push(gib(stage.total()));
        row.push(Entry::text(capacity_bytes.and_then(|bytes| stage.first_too_much(bytes)).unwrap_or_default()));
        row
    };
    Listing { columns, rows: stages.iter().enumerate().map(row).collect() }
}

/// Whether all stages fit, in a sentence; `None` where the memory of a device is not known.
pub fn fits(stages: &[StageMemory], capacity_bytes: Option<f64>) -> Option<String> {
    let capacity = capacity_bytes?;
    let (stage, memory) = stages.iter().enumerate().max_by(|a, b| a.1.total().total_cmp(&b.1.total()))?;
    let needs = format!("stage {stage} needs {:.1} GiB of {:.1}", memory.total() / GIB, capacity / GIB);
    Some(match memory.first_too_much(capacity) {
        Some(what) => format!("It does not fit: {needs}; the first that is too much: {}.", what.to_ascii_lowercase()),
        None => format!("It fits: {needs}."),
    })
}

/// The name of a mark.
pub const fn mark(mark: Mark) -> &'static str {
    match mark {
        Mark::Measured => "measured",
        Mark::Interpolated => "interpolated",
        Mark::Extrapolated => "extrapolated",
        Mark::Suspect => "suspect",
    }
}

fn beyond(prediction: &Prediction) -> String {
    prediction.beyond.as_ref().map_or_else(String::new, ToString::to_string)
}
