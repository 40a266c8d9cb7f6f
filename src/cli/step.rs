//! `collectune step`: what a training step costs.

use clap::Args;
use serde::Serialize;

use super::{CliError, files::TOLD, steps, table, terminal};
use crate::{
    text::json::indented,
    training_time::{
        calibrate::Calibration,
        interval::Basis,
        memory::GIB,
        needs,
        prediction::{Direction, Mark},
        samples::Cluster,
        step::{
            Component, Step as Times, SuspectTime,
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
        let steps::Opened { mut study, settings, mut notes } = self.bundle.open()?;
        steps::learn(&mut study, settings, &mut notes)?;
        let calibration = steps::calibration(&study, &mut notes)?;
        let outcome = study.outcome(calibration.as_ref()).map_err(steps::told)?;
        needs::points(&outcome.plan).into_iter().for_each(|need| notes.say(need.sentence));
        if self.bundle.json {
            let samples = study.bundle().clusters.get(study.settings().cluster);
            return terminal::write_json(&json(&outcome, calibration.as_ref(), samples, &notes.0));
        }
        let chosen = study.bundle().clusters.get(study.settings().cluster);
        let stands_in = chosen.and_then(|chosen| study.bundle().stands_in(&outcome.plan.run, chosen));
        terminal::write(&for_people(&outcome, stands_in))
    }
}

fn for_people(outcome: &Outcome, stands_in: Option<String>) -> String {
    let [low, high] = outcome.interval_us.map(time);
    let layout = &outcome.plan.run.layout;
    let basis = outcome.basis;
    let interval = if basis.is_interval() { format!(" [{low}, {high}]") } else { String::new() };
    let mut text = format!(
        "{}{interval} on {} GPUs: pp {}, tp {}, dp {}, b {}, m {}; {} mode\n\n",
        time(outcome.step.total_us),
        layout.gpus(),
        layout.pipeline,
        layout.tensor,
        layout.data,
        outcome.plan.run.micro_batch,
        outcome.plan.run.micro_batches,
        outcome.plan.mode.name()
    );
    let marks = Mark::ALL.map(|mark| format!("{} {}", share(outcome.marks[mark as usize]), listing::mark(mark)));
    text += &format!("Of its time {}.\n", marks.join(", "));
    if basis != Basis::Nothing {
        text += &format!("{low} to {high}: {}.\n", basis.source_phrase());
    }
    text.extend(stands_in.map(|whose| format!("{whose}.\n")));
    let doubts = outcome.plan.suspect_times();
    text.extend(doubts.iter().take(TOLD).map(|doubt| format!("Suspect: {}.\n", doubt.why)));
    if doubts.len() > TOLD {
        text += &format!("Suspect: {} more.\n", doubts.len() - TOLD);
    }
    text.extend(listing::fits(&outcome.memory, outcome.capacity_bytes).map(|fits| format!("{fits}\n")));
    text += "\n";
    text += &table::of_listing(&listing::components(&outcome.step));
    text += &format!("\n{}", table::of_listing(&listing::layer(&outcome.plan)));
    text += &format!("\n{}", table::of_listing(&listing::stages(&outcome.step)));
    text += &format!("\n{}", table::of_listing(&listing::memory(&outcome.memory, outcome.capacity_bytes)));
    text
}

#[derive(Serialize)]
struct Report<'a> {
    mode: &'static str,
    /// The cluster whose samples are used.
    cluster: &'a str,
    /// The GPU of the samples.
    gpu: &'a str,
    total_us: f64,
    /// Holds about nine of ten steps, as measured steps tell; null where they don't.
    interval_us: Option<[f64; 2]>,
    /// How far it is known as far as the errors of samples, or measured steps, tell; null before errors are computed.
    spread_us: Option<[f64; 2]>,
    /// The meaning of the spreads.
    spread: &'static str,
    /// Of the measured steps, how many in a hundred lie in such a spread.
    spread_held_percent: Option<f64>,
    /// In µs; they sum to the total.
    components: serde_json::Map<String, serde_json::Value>,
    /// Shares of the step's time; what is suspect counts with what it takes at least.
    marks: Marks,
    /// Suspect times, each with the reason.
    doubts: Vec<DoubtReport>,
    unchanged_us: Option<f64>,
    tokens_per_second_per_gpu: f64,
    stages: Vec<StageReport>,
    /// GiB that a device offers.
    capacity_gib: Option<f64>,
    /// The sentence when a stage does not fit, or that all do.
    fits: Option<String>,
    calibration: Option<&'a Calibration>,
    /// Whether its coefficients are used here, and whether they help models like the run's.
    calibration_is_used: Option<bool>,
    calibration_helps: Option<bool>,
    /// The notes that were also written to stderr.
    notes: &'a [String],
}

#[derive(Serialize)]
struct DoubtReport {
    name: String,
    direction: Option<&'static str>,
    time_us: f64,
    at_least_us: Option<f64>,
    why: String,
}

impl From<SuspectTime> for DoubtReport {
    fn from(doubt: SuspectTime) -> Self {
        let direction = doubt.direction.map(|direction| match direction {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
        });
        let SuspectTime { name, time_us, least_us, why, .. } = doubt;
        Self { name, direction, time_us, at_least_us: least_us, why }
    }
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

fn json(outcome: &Outcome, calibration: Option<&Calibration>, samples: Option<&Cluster>, notes: &[String]) -> String {
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
        cluster: samples.map_or("", |samples| samples.name.as_str()),
        gpu: samples.map_or("", |samples| samples.gpu.as_str()),
        interval_us: Some(outcome.interval_us).filter(|_| outcome.basis.is_interval()),
        spread_us: Some(outcome.interval_us).filter(|_| outcome.basis != Basis::Nothing),
        spread: outcome.basis.title(),
        spread_held_percent: outcome.applied.as_ref().and_then(|applied| applied.held_percent),
        doubts: outcome.plan.suspect_times().into_iter().map(DoubtReport::from).collect(),
        fits: listing::fits(&outcome.memory, outcome.capacity_bytes),
        calibration_is_used: outcome.applied.as_ref().map(|applied| applied.is_used),
        calibration_helps: outcome.applied.as_ref().map(|applied| applied.helps),
        notes,
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
