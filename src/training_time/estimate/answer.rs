//! The answer: the time of a step with its interval, where it goes, and what follows from it.

use super::{
    factors::{Factors, WITH_OWN_STEPS, WITHOUT_STEPS},
    given_layout::GivenLayout,
    layer::Times,
    step::{StepColumns, StepQuestion},
};
use crate::training_time::{
    memory::{StageMemory, capacity_bytes},
    trace::TracedParts,
};

/// A step's time, estimated without samples.
#[derive(Clone, Debug, PartialEq)]
pub struct StepEstimate {
    /// The time of the whole step in µs.
    pub time_us: f64,
    /// The ends of a 90 % interval in µs, by the errors of published steps of sources that were left out.
    pub interval_us: [f64; 2],
    /// Where the time goes, in µs on the busiest stage: they add up to the time.
    pub components: Vec<(&'static str, f64)>,
    /// Tokens per second and GPU.
    pub tokens_per_s_per_gpu: f64,
    /// The model's operations over what the GPUs' peak allows, without what is computed again: MFU, as a share.
    pub model_flop_share: f64,
    /// The number of GPUs of the layout.
    pub gpus: u64,
    /// Tokens of a step over all replicas.
    pub tokens: f64,
    /// Memory of a rank of the fullest stage, in bytes.
    pub memory: StageMemory,
    /// The sum of it, in bytes.
    pub memory_bytes: f64,
    /// What a GPU has, less what is kept free.
    pub capacity_bytes: f64,
    /// What first exceeds the memory, if something does.
    pub first_too_much: Option<&'static str>,
}

/// A traced step, beside what is computed for it before any factor.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedTrace {
    /// The name of the trace's file, without its path.
    pub name: String,
    /// The GPUs of its job.
    pub gpus: u64,
    /// The layout of its job, by its groups or as files and question say.
    pub layout: GivenLayout,
    /// The time of its step in µs.
    pub step_us: f64,
    /// What the step's time goes into on the traced rank.
    pub parts: TracedParts,
    /// The same by kernels alone and the bandwidth of links, in µs: kernels that are not attention, attention, and
    /// exchanges that nothing hides.
    pub computed_us: [f64; 3],
}

/// The factors of an answer, and how uncertain they leave it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibrated {
    /// Factors on the columns of a step.
    pub factors: Factors,
    /// The factors before the steps of one's own moved them.
    pub before: Factors,
    /// The number of steps of one's own that moved them.
    pub own_steps: usize,
}

/// The steps of one's own from which on the interval is theirs.
pub const OWN_STEPS: usize = 3;

impl Calibrated {
    /// The ends of the distribution of errors that these factors have.
    const fn ends(self) -> [f64; 2] {
        if self.own_steps < OWN_STEPS { WITHOUT_STEPS } else { WITH_OWN_STEPS }
    }

    /// The ends of the interval of a step in µs.
    pub fn interval_us(&self, columns: &StepColumns) -> [f64; 2] {
        // Measured steps make nothing less certain, whichever part they give the time to.
        let doubt = self.factors.doubt(columns).min(self.before.doubt(columns));
        self.factors.interval_us(columns, doubt, self.ends())
    }

    /// The same without times below `least_us`, in which no hardware does the step.
    pub(super) fn possible_interval_us(&self, columns: &StepColumns, least_us: f64) -> [f64; 2] {
        let [low_us, high_us] = self.interval_us(columns);
        [low_us.max(least_us.min(self.factors.time_us(columns))), high_us]
    }
}

impl StepQuestion<'_> {
    /// Tokens of a step over all replicas.
    fn tokens(&self) -> f64 {
        self.global_batch as f64 * f64::from(self.sequence)
    }

    /// The time in µs in which the GPUs at their peak do the model's operations: no step is faster.
    pub fn least_us(&self) -> f64 {
        let flop = self.tokens() * self.model.training_flop_per_token(self.sequence);
        flop / (self.degrees.gpus() as f64 * self.device.peak_flops(self.precision)) * 1e6
    }

    /// The answer, where `reserve_gib` of the memory is kept free.
    pub fn estimate(&self, calibrated: &Calibrated, reserve_gib: f64) -> StepEstimate {
        let columns = self.columns();
        let factors = &calibrated.factors;
        let time_us = factors.time_us(&columns);
        let gpus = self.degrees.gpus();
        let tokens = self.tokens();
        let memory = self.memory();
        let capacity_bytes = capacity_bytes(self.device.memory_gib, reserve_gib);
        StepEstimate {
            time_us,
            interval_us: calibrated.possible_interval_us(&columns, self.least_us()),
            components: components(factors, &columns, time_us),
            tokens_per_s_per_gpu: tokens / (time_us / 1e6) / gpus as f64,
            model_flop_share: self.least_us() / time_us,
            gpus,
            tokens,
            memory,
            memory_bytes: memory.total(),
            capacity_bytes,
            first_too_much: memory.first_too_much(capacity_bytes),
        }
    }
}

fn components(factors: &Factors, columns: &StepColumns, time_us: f64) -> Vec<(&'static str, f64)> {
    let all = factors.on(&columns.times);
    let (waits, again) = (factors.on(&columns.bubble), factors.on(&columns.recomputed));
    let optimizer = columns.optimizer_us * factors.compute;
    let data = factors.on(&columns.data_exchange).total();
    let messages = factors.on(&columns.messages).total();
    let of_experts = |times: Times| times.experts + times.sorting;
    let sent = |times: Times| times.exchange + times.measured;
    let found = [
        ("Products and element-wise operators", all.compute - waits.compute - again.compute - optimizer),
        ("Attention", all.attention - waits.attention - again.attention),
        ("Experts", of_experts(all) - of_experts(waits) - of_experts(again)),
        ("Recomputation", again.total()),
        ("Exchanges of layers", sent(all) - sent(waits) - sent(again) - data - messages),
        ("Messages between stages", messages),
        ("Pipeline bubble", waits.total()),
        ("Gradients and parameters", data),
        ("Optimizer", optimizer),
        ("Waiting for the host", (time_us - all.total()).max(0.0)),
    ];
    // Differences of large sums leave a remainder where there is nothing.
    found.into_iter().filter(|(_, us)| *us > 1e-9 * time_us).collect()
}
