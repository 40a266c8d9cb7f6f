//! Other times of collectives and operators.

use super::{TrainingTime, settings::decimal};
use crate::{
    collective::Collective,
    form::{ChoiceError, Choices, Control, Field, Form},
    order::CompactSort,
    training_time::{
        regressors::what_if::{Change, To},
        run::Run,
        samples::Communicator,
        settings::Group,
    },
    units::significant,
    workbench::PassedValue,
};

/// A curve that can be scaled, or given anew.
struct ScaledCurve {
    key: &'static str,
    label: &'static str,
    function: &'static str,
}

const CURVES: [ScaledCurve; 5] = [
    ScaledCurve { key: "tensor", label: "Tensor all-reduce", function: "allreduce" },
    ScaledCurve { key: "gradient", label: "Gradient all-reduce", function: "allreduce_large" },
    ScaledCurve { key: "gather", label: "Parameter all-gather", function: "allgather_large" },
    ScaledCurve { key: "p2p", label: "Messages between stages", function: "p2p" },
    ScaledCurve { key: "expert", label: "Expert all-to-all", function: "alltoall" },
];

/// The key of the factor of all operators of a layer.
const OPERATORS: &str = "x.operators";

impl TrainingTime {
    /// The fields of other times, and the changes.
    pub(super) fn changes(form: &mut Form<'_>, run: Option<&Run>) -> Vec<Change> {
        form.group(Group::WhatIf);
        let is_there = |curve: &ScaledCurve| {
            run.is_some_and(|run| curve.key != CURVES[CURVES.len() - 1].key || run.model.experts > 1)
        };
        let slider = |least, most, step| Control::Slider { least, most, step };
        let factors = CURVES.each_ref().map(|curve| {
            form.is_listed = is_there(curve);
            let field = Field::new(&format!("x.{}", curve.key), &format!("{} ×", curve.label), slider(0.1, 4.0, 0.05));
            let mut factor = 1.0;
            decimal(form, field.hinted("times its time"), &mut factor);
            factor
        });
        form.is_listed = run.is_some();
        let mut slowdown = 1.0;
        let field = Field::new(OPERATORS, "Operators of a layer ×", slider(0.5, 2.0, 0.01));
        decimal(form, field.hinted("slowdown beside collectives"), &mut slowdown);
        let mut has_curves = false;
        form.field(Field::new("x.curves", "other curves", Control::Switch), &mut has_curves);
        let change =
            |function: &str, to: To| Change { function: function.to_owned(), communicator: None, direction: None, to };
        let mut changes = Vec::new();
        for (of, factor) in CURVES.iter().zip(factors) {
            if factor != 1.0 {
                changes.push(change(of.function, To::Times(factor)));
            }
            let key = curve_key(of.key);
            form.is_listed = is_there(of) && (has_curves || form.get(&key).is_some());
            let field = Field::new(&key, &format!("{}: another curve", of.label), Control::Lines);
            let hint = "1x4 (nodes x GPUs), then bytes:microseconds, a pair per line";
            if let Some(lines) = form.chosen(field.hinted(hint)) {
                match curve(lines) {
                    Ok(to) => changes.push(change(of.function, to)),
                    Err(error) => form.refuse(error),
                }
            }
        }
        if slowdown != 1.0
            && let Some(run) = run
        {
            let mut names = run.model.layer.clone();
            names.compact_sort();
            names.dedup();
            changes.extend(names.iter().map(|name| change(name, To::Times(slowdown))));
        }
        changes
    }
}

fn curve_key(key: &str) -> String {
    format!("x.{key}-curve")
}

/// Chooses what another workbench found for the collectives or operators of a step.
pub fn receive(passed: &PassedValue, choices: &mut Choices) {
    match passed {
        PassedValue::Slowdown(times) => choices.set(OPERATORS, &significant(*times)),
        PassedValue::Curve(curve) => {
            let lines =
                curve.points.iter().fold(format!("{}x{}", curve.nodes, curve.per_node), |lines, (bytes, us)| {
                    format!("{lines}\n{bytes}:{}", significant(*us))
                });
            for key in curve_keys(curve.collective) {
                choices.set(&curve_key(key), &lines);
            }
        }
    }
}

/// Whether a step has collectives of this kind.
pub const fn has_curve(of: Collective) -> bool {
    !curve_keys(of).is_empty()
}

/// The curves of a step that are this collective.
const fn curve_keys(of: Collective) -> &'static [&'static str] {
    match of {
        Collective::AllReduce => &["tensor", "gradient"],
        Collective::AllGather => &["gather"],
        Collective::SendRecv => &["p2p"],
        Collective::AllToAll => &["expert"],
        _ => &[],
    }
}

/// Bytes and microseconds, a pair per line; the first line may say over how many nodes and GPUs of each: `2x8`.
fn curve(lines: &str) -> Result<To, ChoiceError> {
    let wrong = |line: &str| ChoiceError::new("Curve", line, "bytes and microseconds");
    let pair = |line: &str| {
        let mut numbers = line.split([' ', '\t', ':', ';']).filter(|word| !word.is_empty()).map(str::parse::<f64>);
        let is_usable = |number: f64| number > 0.0 && number.is_finite();
        match (numbers.next(), numbers.next()) {
            (Some(Ok(bytes)), Some(Ok(time_us))) if is_usable(bytes) && is_usable(time_us) => {
                Ok((bytes / 2.0, time_us))
            }
            _ => Err(wrong(line)),
        }
    };
    let mut rest = lines.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    let over = rest.peek().and_then(|line| {
        let (nodes, per_node) = line.split_once(['x', '×'])?;
        let count = |text: &str| text.trim().parse::<u32>().ok().filter(|count| *count > 0);
        Some(Communicator { nodes: count(nodes)?, per_node: count(per_node)? })
    });
    let points = rest.skip(usize::from(over.is_some())).map(pair).collect::<Result<Vec<_>, _>>()?;
    if points.is_empty() { Err(wrong(lines)) } else { Ok(To::Table { points, over }) }
}
