//! `collectune step`: what a training step costs.

use clap::Args;
use serde::Serialize;

use super::{CliError, steps, table, terminal};
use crate::{
    text::json::indented,
    training_time::{
        calibrate::Calibration,
        memory::GIB,
        prediction::Mark,
        step::{
            Component, Step as Times,
            listing::{self, share, time},
        },
        study::Outcome,
    },
};

/// Predict the time of a training step, and what it is made of
///
/// From samples of operators on one GPU and of collectives on a few nodes: its time with an interval, its components,
/// where they come from, and the memory of each stage.
#[derive(Args)]
pub(super) struct Step {
    #[command(flatten)]
    bundle: steps::Bundle,
}

impl Step {
    pub(super) fn run(self) -> Result<(), CliError> {
        let (mut study, settings) = self.bundle.open()?;
        steps::learn(&mut study, settings)?;
        let calibration = steps::calibration(&study)?;
        let outcome = study.outcome(calibration.as_ref()).map_err(steps::told)?;
        if self.bundle.json {
            return terminal::write_json(&json(&outcome, calibration.as_ref()));
        }
        terminal::write(&for_people(&outcome))
    }
}

fn for_people(outcome: &Outcome) -> String {
    let [low, high] = outcome.interval_us;
    let layout = &outcome.plan.run.layout;
    let mut text = format!(
        "{} [{}, {}] on {} GPUs: pp {}, tp {}, dp {}, b {}, m {}; {} mode\n\n",
        time(outcome.step.total_us),
        time(low),
        time(high),
        layout.gpus(),
        layout.pipeline,
        layout.tensor,
        layout.data,
        outcome.plan.run.micro_batch,
        outcome.plan.run.micro_batches,
        outcome.plan.mode.name()
    );
    let marks = Mark::ALL.map(|mark| format!("{} {}", share(outcome.marks[mark as usize]), listing::mark(mark)));
    text += &format!("Of its time {}.\n\n", marks.join(", "));
    text += &table::of_listing(&listing::components(&outcome.step));
    text += &format!("\n{}", table::of_listing(&listing::layer(&outcome.plan)));
    text += &format!("\n{}", table::of_listing(&listing::stages(&outcome.step)));
    text += &format!("\n{}", table::of_listing(&listing::memory(&outcome.memory, outcome.capacity_bytes)));
    text
}

#[derive(Serialize)]
struct Report<'a> {
    mode: &'static str,
    total_us: f64,
    interval_us: [f64; 2],
    /// In µs; they sum to the total.
    components: serde_json::Map<String, serde_json::Value>,
    /// Shares of the step's time.
    marks: Marks,
    unchanged_us: Option<f64>,
    tokens_per_second_per_gpu: f64,
    stages: Vec<StageReport>,
    /// GiB that a device offers.
    capacity_gib: Option<f64>,
    calibration: Option<&'a Calibration>,
}

#[derive(Serialize)]
pub(super) struct Marks {
    measured: f64,
    interpolated: f64,
    extrapolated: f64,
    suspect: f64,
}

impl Marks {
    pub(super) fn of(marks: &[f64; 4]) -> Self {
        let of = |mark: Mark| marks[mark as usize];
        Self {
            measured: of(Mark::Measured),
            interpolated: of(Mark::Interpolated),
            extrapolated: of(Mark::Extrapolated),
            suspect: of(Mark::Suspect),
        }
    }
}

#[derive(Serialize)]
struct StageReport {
    layers: f64,
    parameters: f64,
    forward_us: f64,
    backward_us: f64,
    memory_gib: Option<f64>,
    /// The first part that does not fit.
    too_much: Option<&'static str>,
}

/// Components by their keys, in order.
fn components(step: &Times) -> serde_json::Map<String, serde_json::Value> {
    // One by one: to collect them brings a sort of its own.
    let mut all = serde_json::Map::new();
    for (component, time) in step.components.iter() {
        all.insert(Component::key(component).to_owned(), time.into());
    }
    all
}

fn json(outcome: &Outcome, calibration: Option<&Calibration>) -> String {
    let stage = |(index, stage): (usize, &crate::training_time::step::StageTime)| {
        // Parity's stages are kinds of stages, and have no memory of their own.
        let memory = outcome.memory.get(index).filter(|_| outcome.memory.len() == outcome.step.stages.len());
        StageReport {
            layers: stage.layers,
            parameters: stage.parameters,
            forward_us: stage.forward_us,
            backward_us: stage.backward_us,
            memory_gib: memory.map(|memory| memory.total() / GIB),
            too_much: memory.zip(outcome.capacity_bytes).and_then(|(memory, bytes)| memory.first_too_much(bytes)),
        }
    };
    let report = Report {
        mode: outcome.plan.mode.name(),
        total_us: outcome.step.total_us,
        interval_us: outcome.interval_us,
        components: components(&outcome.step),
        marks: Marks::of(&outcome.marks),
        unchanged_us: outcome.unchanged_us,
        tokens_per_second_per_gpu: outcome.tokens_per_gpu,
        stages: outcome.step.stages.iter().enumerate().map(stage).collect(),
        capacity_gib: outcome.capacity_bytes.map(|bytes| bytes / GIB),
        calibration,
    };
    indented(&report) + "\n"
}
