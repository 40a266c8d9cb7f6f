//! Other times of collectives and operators.

use super::{TrainingTime, settings::decimal};
use crate::{
    collective::Collective,
    form::{ChoiceError, Choices, Control, Field, Form},
    order::CompactSort,
    training_time::{
        estimate::{collectives::MeasuredCurve, exchange::ExchangeUse, question::EstimateSettings},
        models::Transformer,
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
    /// The name of the samples.
    function: &'static str,
    /// The collective by which another curve is measured.
    collective: Collective,
    /// The exchange of an estimated step.
    exchange: ExchangeUse,
}

const CURVES: [ScaledCurve; 5] = [
    ScaledCurve {
        key: "tensor",
        label: "Tensor all-reduce",
        function: "allreduce",
        collective: Collective::AllReduce,
        exchange: ExchangeUse::Tensor,
    },
    ScaledCurve {
        key: "gradient",
        label: "Gradient all-reduce",
        function: "allreduce_large",
        collective: Collective::AllReduce,
        exchange: ExchangeUse::Gradients,
    },
    ScaledCurve {
        key: "gather",
        label: "Parameter all-gather",
        function: "allgather_large",
        collective: Collective::AllGather,
        exchange: ExchangeUse::Parameters,
    },
    ScaledCurve {
        key: "p2p",
        label: "Messages between stages",
        function: "p2p",
        collective: Collective::SendRecv,
        exchange: ExchangeUse::Messages,
    },
    ScaledCurve {
        key: "expert",
        label: "Expert all-to-all",
        function: "alltoall",
        collective: Collective::AllToAll,
        exchange: ExchangeUse::Experts,
    },
];

/// The key of the factor of all operators of a layer.
const OPERATORS: &str = "x.operators";

/// A curve that was typed.
struct TypedCurve {
    /// The GPUs over which it was measured, where it says so.
    over: Option<Communicator>,
    /// Bytes that a rank gives, and µs.
    points: Vec<(f64, f64)>,
}

/// Other times, as they were chosen.
struct OtherTimes {
    /// Factors on [`CURVES`].
    factors: [f64; CURVES.len()],
    /// Curves that take the place of [`CURVES`].
    curves: [Vec<TypedCurve>; CURVES.len()],
    /// The factor on operators.
    operators: f64,
}

/// The fields of other times: of all curves but that of experts, unless there are some.
fn other_times(form: &mut Form<'_>, is_asked: bool, has_experts: bool) -> OtherTimes {
    form.group(Group::WhatIf);
    let is_there = |at: usize| is_asked && (at + 1 < CURVES.len() || has_experts);
    let slider = |least, most, step| Control::Slider { least, most, step };
    let factors = std::array::from_fn(|at| {
        form.is_listed = is_there(at);
        let ScaledCurve { key, label, .. } = &CURVES[at];
        let field = Field::new(&format!("x.{key}"), &format!("{label} ×"), slider(0.1, 4.0, 0.05));
        let mut factor = 1.0;
        decimal(form, field.hinted("times its time"), &mut factor);
        factor
    });
    form.is_listed = is_asked;
    let mut operators = 1.0;
    let field = Field::new(OPERATORS, "Operators of a layer ×", slider(0.5, 2.0, 0.01));
    decimal(form, field.hinted("slowdown beside collectives"), &mut operators);
    let mut has_curves = false;
    form.field(Field::new("x.curves", "other curves", Control::Switch), &mut has_curves);
    let curves = std::array::from_fn(|at| {
        let key = curve_key(CURVES[at].key);
        form.is_listed = is_there(at) && (has_curves || form.get(&key).is_some());
        let field = Field::new(&key, &format!("{}: another curve", CURVES[at].label), Control::Lines);
        let hint = "1x4 (nodes x GPUs), then bytes:microseconds, a pair per line; more such blocks for other GPUs";
        let read = form.chosen(field.hinted(hint)).map(curves);
        match read {
            Some(Ok(curves)) => curves,
            Some(Err(error)) => {
                form.refuse(error);
                Vec::new()
            }
            None => Vec::new(),
        }
    });
    OtherTimes { factors, curves, operators }
}

impl TrainingTime {
    /// The fields of other times, and the changes.
    pub(super) fn changes(form: &mut Form<'_>, run: Option<&Run>) -> Vec<Change> {
        let has_experts = run.is_some_and(|run| run.model.experts > 1);
        let OtherTimes { factors, curves, operators } = other_times(form, run.is_some(), has_experts);
        let change =
            |function: &str, to: To| Change { function: function.to_owned(), communicator: None, direction: None, to };
        let mut changes = Vec::new();
        for ((of, factor), curves) in CURVES.iter().zip(factors).zip(curves) {
            if factor != 1.0 {
                changes.push(change(of.function, To::Times(factor)));
            }
            changes.extend(curves.into_iter().map(|TypedCurve { over, points }| {
                // Samples are of fp16.
                let points = points.into_iter().map(|(bytes, time_us)| (bytes / 2.0, time_us)).collect();
                change(of.function, To::Table { points, over })
            }));
        }
        if operators != 1.0
            && let Some(run) = run
        {
            let mut names = run.model.layer.clone();
            names.compact_sort();
            names.dedup();
            changes.extend(names.iter().map(|name| change(name, To::Times(operators))));
        }
        changes
    }

    /// The same fields of a step that is estimated, with what they say.
    pub(super) fn estimate_changes(form: &mut Form<'_>, model: Option<&Transformer>, settings: &mut EstimateSettings) {
        let has_experts = model.is_some_and(Transformer::has_experts);
        let OtherTimes { factors, curves, operators } = other_times(form, model.is_some(), has_experts);
        settings.changes.operators = operators;
        form.is_listed = model.is_some();
        let field = Field::new("x.channels", "Channels of exchanges beside kernels", Control::text(&[]));
        form.field(field.hinted("each takes a multiprocessor; empty as usual"), &mut settings.changes.channels);
        for ((of, factor), curves) in CURVES.iter().zip(factors).zip(curves) {
            settings.changes.exchanges[of.exchange as usize] = factor;
            for TypedCurve { over, mut points } in curves {
                // Without their number it is over the GPUs of a node.
                let over = over.unwrap_or(Communicator { nodes: 1, per_node: 8 });
                if of.collective == Collective::AllGather {
                    points.iter_mut().for_each(|(bytes, _)| *bytes *= f64::from(over.ranks()));
                }
                settings.collectives.0.extend(MeasuredCurve::new(of.exchange, of.collective, over, &points));
            }
        }
    }
}

fn curve_key(key: &str) -> String {
    format!("x.{key}-curve")
}

/// Chooses what another workbench found for the collectives or operators of a step. A curve takes the place of one over
/// the same GPUs, and stands beside those over others.
pub fn receive(passed: &PassedValue, choices: &mut Choices) {
    match passed {
        PassedValue::Slowdown(times) => choices.set(OPERATORS, &significant(*times)),
        PassedValue::Curve(curve) => {
            let over = format!("{}x{}", curve.nodes, curve.per_node);
            let lines: String =
                curve.points.iter().map(|(bytes, us)| format!("\n{bytes}:{}", significant(*us))).collect();
            for of in curves_of(curve.collective) {
                let key = curve_key(of.key);
                let others = choices.get(&key).map(|typed| blocks(typed).collect::<Vec<_>>()).unwrap_or_default();
                let others = others.into_iter().filter(|block| block.lines().next() != Some(over.as_str()));
                let own = format!("{over}{lines}");
                let all: Vec<String> = others.map(str::to_owned).chain([own]).collect();
                choices.set(&key, &all.join("\n"));
            }
        }
    }
}

/// Whether a step has collectives of this kind.
pub fn has_curve(of: Collective) -> bool {
    curves_of(of).next().is_some()
}

/// The curves of a step that are this collective.
fn curves_of(of: Collective) -> impl Iterator<Item = &'static ScaledCurve> {
    CURVES.iter().filter(move |curve| curve.collective == of)
}

/// The blocks of a text of curves: each begins with a line that says over how many GPUs it is, but maybe the first.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut starts: Vec<usize> = vec![0];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if at > 0 && line.contains(['x', '×']) {
            starts.push(at);
        }
        at += line.len();
    }
    starts.push(at);
    let block = |ends: [usize; 2]| text[ends[0]..ends[1]].trim();
    let ends: Vec<[usize; 2]> = starts.windows(2).map(|ends| [ends[0], ends[1]]).collect();
    ends.into_iter().map(block).filter(|block| !block.is_empty())
}

/// Bytes and microseconds, a pair per line; the first line of a block may say over how many nodes and GPUs of each:
/// `2x8`.
fn curves(text: &str) -> Result<Vec<TypedCurve>, ChoiceError> {
    let wrong = |line: &str| ChoiceError::new("Curve", line, "bytes and microseconds");
    let pair = |line: &str| {
        let mut numbers = line.split([' ', '\t', ':', ';']).filter(|word| !word.is_empty()).map(str::parse::<f64>);
        let is_usable = |number: f64| number > 0.0 && number.is_finite();
        match (numbers.next(), numbers.next()) {
            (Some(Ok(bytes)), Some(Ok(time_us))) if is_usable(bytes) && is_usable(time_us) => Ok((bytes, time_us)),
            _ => Err(wrong(line)),
        }
    };
    let block = |block: &str| {
        let mut rest = block.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
        let over = rest.peek().and_then(|line| {
            let (nodes, per_node) = line.split_once(['x', '×'])?;
            let count = |text: &str| text.trim().parse::<u32>().ok().filter(|count| (1..=1 << 20).contains(count));
            Some(Communicator { nodes: count(nodes)?, per_node: count(per_node)? })
        });
        let points = rest.skip(usize::from(over.is_some())).map(pair).collect::<Result<Vec<_>, _>>()?;
        if points.is_empty() { Err(wrong(block)) } else { Ok(TypedCurve { over, points }) }
    };
    let read = blocks(text).map(block).collect::<Result<Vec<_>, _>>()?;
    if read.is_empty() { Err(wrong(text)) } else { Ok(read) }
}
