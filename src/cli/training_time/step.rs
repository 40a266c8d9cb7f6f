//! `collectune training-time step`: what a training step costs.

use clap::Args;
use serde::Serialize;
use serde_json::Map;

use super::bundle::{self, BundleArguments, Opened};
use crate::{
    cli::{error::CliError, files::TOLD, json::object, table, terminal},
    training_time::{
        calibrate::Calibration,
        interval::Basis,
        memory::GIB,
        needs,
        prediction::{Direction, Mark},
        samples::Cluster,
        step::{
            Component, StageTime, SuspectTime,
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
#[command(after_help = "Examples:
  collectune training-time step Perlmutter --run llemma_7b.yml
  collectune training-time step Perlmutter --run llemma_7b.yml --mode parity --json")]
pub(in crate::cli) struct Step {
    #[command(flatten)]
    bundle: BundleArguments,
}

impl Step {
    pub(super) fn run(self) -> Result<(), CliError> {
        let Opened { mut study, settings } = self.bundle.open()?;
        bundle::learn(&mut study, settings)?;
        let calibration = bundle::calibration(&study)?;
        let outcome = study.outcome(calibration.as_ref()).map_err(bundle::with_remedy)?;
        terminal::say_notes(needs::points(&outcome.plan).into_iter().map(|need| need.sentence));
        let samples = study.bundle().clusters.get(study.settings().cluster);
        if self.bundle.json {
            return terminal::write_json(&json(&outcome, calibration.as_ref(), samples));
        }
        let stands_in = samples.and_then(|samples| study.bundle().stands_in(&outcome.plan.run, samples));
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

/// The JSON output; unknown values are null.
fn json(outcome: &Outcome, calibration: Option<&Calibration>, samples: Option<&Cluster>) -> impl Serialize {
    let stage = |(index, stage): (usize, &StageTime)| {
        // Parity's stages are kinds of stages, and have no memory of their own.
        let memory = outcome.memory.get(index).filter(|_| outcome.memory.len() == outcome.step.stages.len());
        object! {
            layers: stage.layers,
            parameters: stage.parameters,
            forward_us: stage.forward_us,
            backward_us: stage.backward_us,
            memory_gib: memory.map(|memory| memory.total() / GIB),
            /// The first part that does not fit.
            too_much: memory.zip(outcome.capacity_bytes).and_then(|(memory, bytes)| memory.first_too_much(bytes)),
        }
    };
    let mut components = Map::new();
    for (component, time) in outcome.step.components.iter() {
        components.insert(Component::key(component).to_owned(), time.into());
    }
    object! {
        mode: outcome.plan.mode.name(),
        /// The cluster whose samples are used.
        cluster: samples.map_or("", |samples| samples.name.as_str()),
        /// The GPU of the samples.
        gpu: samples.map_or("", |samples| samples.gpu.as_str()),
        total_us: outcome.step.total_us,
        /// Holds about nine of ten steps, as measured steps tell; null where they don't.
        interval_us: Some(outcome.interval_us).filter(|_| outcome.basis.is_interval()),
        /// How far it is known as far as the errors of samples, or measured steps, tell; null before errors are
        /// computed.
        spread_us: Some(outcome.interval_us).filter(|_| outcome.basis != Basis::Nothing),
        /// The meaning of the spreads.
        spread: outcome.basis.title(),
        /// Of the measured steps, how many in a hundred lie in such a spread.
        spread_held_percent: outcome.applied.as_ref().and_then(|applied| applied.held_percent),
        /// In µs; they sum to the total.
        components: components,
        /// Shares of the step's time; what is suspect counts with what it takes at least.
        marks: bundle::marks(&outcome.marks),
        /// Suspect times, each with the reason.
        doubts: outcome.plan.suspect_times().into_iter().map(doubt).collect::<Vec<_>>(),
        unchanged_us: outcome.unchanged_us,
        tokens_per_second_per_gpu: outcome.tokens_per_gpu,
        stages: outcome.step.stages.iter().enumerate().map(stage).collect::<Vec<_>>(),
        /// GiB that a device offers.
        capacity_gib: outcome.capacity_bytes.map(|bytes| bytes / GIB),
        /// The sentence when a stage does not fit, or that all do.
        fits: listing::fits(&outcome.memory, outcome.capacity_bytes),
        calibration: calibration,
        /// Whether its coefficients are used here, and whether they help models like the run's.
        calibration_is_used: outcome.applied.as_ref().map(|applied| applied.is_used),
        calibration_helps: outcome.applied.as_ref().map(|applied| applied.helps),
        /// The notes that were also written to stderr.
        notes: terminal::said(),
    }
}

fn doubt(doubt: SuspectTime) -> impl Serialize {
    object! {
        name: doubt.name,
        direction: doubt.direction.map(|direction| match direction {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
        }),
        time_us: doubt.time_us,
        at_least_us: doubt.least_us,
        why: doubt.why,
    }
}
