//! What is asked of a model and a GPU, as people choose it, and the answer to it: of the layout that was given, or of
//! the best one.

use std::ops::ControlFlow;

use super::{
    answer::{Calibrated, ComparedTrace, OWN_STEPS, StepEstimate},
    collectives::{Changes, MeasuredCollectives},
    device::{Device, DeviceError, Precision},
    efficiency::AttentionKernel,
    exchange::TimedExchange,
    factors::{LEARNT, MeasuredColumns},
    given_layout::GivenLayout,
    layouts::{self, Layouts, MOST_GPUS, SearchLimits},
    library::LibraryModel,
    own_steps::{NamedStep, OwnStep, by_name},
    stack::{Recomputation, Sharding, Stack},
    step::{Degrees, LayoutError, Schedule, StepQuestion},
};
use crate::{
    conf::machine::Version,
    cost_model::CostModelError,
    text::excerpt,
    training_time::{
        catalogue::Catalogue,
        memory::{GIB, RESERVE_GIB, capacity_bytes},
        models::{ModelFile, TrainingSettings, Transformer},
        step::listing::time,
        trace::Trace,
    },
    units::{count, counted_noun},
};

/// A step that is asked about; `None` is chosen as usual.
#[derive(Clone, Debug, PartialEq)]
pub struct EstimateSettings {
    /// The GPU's name in the catalogue.
    pub gpu: String,
    /// The number of GPUs of all replicas and stages together.
    pub gpus: u64,
    /// Tokens of a sequence, of all ranks that share it.
    pub sequence: u32,
    /// Sequences of a step; `None` for about four million tokens.
    pub global_batch: Option<u64>,
    /// Sequences of a replica in a step, for where the batch of all replicas is not said and the layout is.
    pub replica_batch: Option<u64>,
    /// The layout; `None` for the best one.
    pub layout: Option<GivenLayout>,
    /// What files say of a layout, with the usual values of the rest: on it a layout stands that is given in part.
    pub said: GivenLayout,
    /// The order in which a stage computes forward and backward passes.
    pub schedule: Schedule,
    /// The type of the factors of a product; results are in 16 bits.
    pub precision: Precision,
    /// The training program, whose fusion, overlap and defaults the times depend on.
    pub stack: Stack,
    /// How attention is computed; `None` as the software usually does.
    pub attention: Option<AttentionKernel>,
    /// The price of a GPU for an hour, in any currency.
    pub price_per_gpu_hour: Option<f64>,
    /// Memory that is kept free, in GiB.
    pub reserve_gib: f64,
    /// What replicas may share in the layouts that are searched; empty for what the software usually does.
    pub shardings: Vec<Sharding>,
    /// Groups of replicas, each with a whole copy of what is sharded, of layouts that are searched; empty for one.
    pub replicates: Vec<u32>,
    /// The most layouts that are listed, the fastest ones.
    pub listed: usize,
    /// Whether norms and residuals are split along the sequence; `None` as the software usually does.
    pub is_sequence_parallel: Option<bool>,
    /// Whether gradients are reduced beside the backward pass; `None` as the software usually does.
    pub overlaps_reduce: Option<bool>,
    /// Whether parameters are gathered beside the forward pass; `None` as the software usually does.
    pub overlaps_gather: Option<bool>,
    /// Bytes of a gradient in memory and where it is exchanged; `None` as the software usually does.
    pub gradient_bytes: Option<u32>,
    /// The version of NCCL whose cost model times the exchanges that it knows; `None`: the bandwidth of links does.
    pub nccl: Option<Version>,
    /// Collectives that were measured on the cluster.
    pub collectives: MeasuredCollectives,
    /// Times that are asked about instead of the expected ones.
    pub changes: Changes,
    /// What files say differently of the training, a sentence each.
    pub contradictions: Vec<String>,
    /// Seed of the draws of the factors.
    pub seed: u64,
}

impl Default for EstimateSettings {
    fn default() -> Self {
        Self {
            gpu: "H100".to_owned(),
            gpus: 64,
            sequence: 4096,
            global_batch: None,
            replica_batch: None,
            layout: None,
            said: GivenLayout::default(),
            schedule: Schedule::default(),
            precision: Precision::default(),
            stack: Stack::default(),
            attention: None,
            price_per_gpu_hour: None,
            reserve_gib: RESERVE_GIB,
            shardings: Vec::new(),
            replicates: Vec::new(),
            listed: 20,
            is_sequence_parallel: None,
            overlaps_reduce: None,
            overlaps_gather: None,
            gradient_bytes: None,
            nccl: None,
            collectives: MeasuredCollectives::default(),
            changes: Changes::default(),
            contradictions: Vec::new(),
            seed: 42,
        }
    }
}

/// Why nothing can be estimated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EstimateError {
    /// The layout is not possible.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The number of GPUs is no multiple of the layout's.
    #[error("tp × pp × cp = {product} does not divide {gpus} GPUs")]
    Product {
        /// The product of the degrees.
        product: u64,
        /// The number of GPUs of all replicas and stages together.
        gpus: u64,
    },
    /// The version of NCCL is not known.
    #[error(transparent)]
    CostModel(#[from] CostModelError),
    /// Nothing says which channels NCCL finds on such a GPU.
    #[error("NCCL's cost model is known for A100, H100, H200 and B200 behind NVSwitches, and not for {name}")]
    NoCostModel {
        /// The GPU's name in the catalogue.
        name: String,
    },
    /// There are more GPUs than are searched.
    #[error("{gpus} GPUs: layouts are searched on 1 to {MOST_GPUS}")]
    TooManyGpus {
        /// The number of GPUs of all replicas and stages together.
        gpus: u64,
    },
    /// A rule leaves every layout out.
    #[error("no layout of {gpus} {} is possible; {left_out}", counted_noun(*gpus, "GPU"))]
    NonePossible {
        /// The number of GPUs of all replicas and stages together.
        gpus: u64,
        /// How many layouts which rule left out.
        left_out: String,
    },
    /// A measured step is faster than the hardware allows.
    #[error(
        "{} is less than the {} in which {gpus} × {name} at their peak in {precision} do the operations of {batch} \
         sequences of {sequence} tokens; it is of another model, global_batch or sequence",
        time(*time_us),
        time(*least_us)
    )]
    TooFast {
        /// The measured time in µs.
        time_us: f64,
        /// The least time in µs.
        least_us: f64,
        /// The number of GPUs on which it was measured.
        gpus: u64,
        /// The GPU's name in the catalogue.
        name: String,
        /// The type of the products.
        precision: &'static str,
        /// Sequences of a step over all replicas, as the table or the question has them.
        batch: u64,
        /// Tokens of a sequence, as the table or the question has them.
        sequence: u32,
    },
    /// A measured step can't have fitted into memory.
    #[error(
        "its layout needs about {needs_gib:.0} GiB a GPU, and {name} has {has_gib:.0}: it ran with another layout, \
         recompute or sharding"
    )]
    TooLarge {
        /// What the layout needs, in GiB.
        needs_gib: f64,
        /// The GPU's name in the catalogue.
        name: String,
        /// What a GPU has, in GiB.
        has_gib: f64,
    },
    /// Each possible layout needs more memory than a GPU has.
    #[error(
        "the model fits on no layout of {}: the smallest needs {least_gib:.1} GiB a GPU, and {name} has {memory_gib:.1} GiB, \
         of which {reserve_gib:.1} are to be kept free; {}",
        count(*gpus, "GPU"),
        match () {
            () if least_gib <= memory_gib => "keep less free",
            () if *gpus == 1 => "more GPUs or a smaller sequence may do",
            () => "more GPUs, more sharding or a smaller sequence may do",
        }
    )]
    NothingFits {
        /// The number of GPUs of all replicas and stages together.
        gpus: u64,
        /// The GPU's name in the catalogue.
        name: String,
        /// What the smallest layout needs, in GiB.
        least_gib: f64,
        /// What a GPU has, in GiB.
        memory_gib: f64,
        /// What of it is kept free, in GiB.
        reserve_gib: f64,
    },
}

impl From<DeviceError> for EstimateError {
    fn from(error: DeviceError) -> Self {
        Self::Layout(error.into())
    }
}

/// The estimate of a step by [`EstimateSettings`]: the layout, its times, and what they were corrected by.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimated {
    /// The layout that the answer is of.
    pub degrees: Degrees,
    /// Chunks of layers per stage.
    pub virtual_stages: u32,
    /// The order in which a stage computes forward and backward passes.
    pub schedule: Schedule,
    /// Sequences that a replica computes at once: `b`, at least 1.
    pub micro_batch: u32,
    /// Micro-batches of a replica in a step.
    pub micro_batches: u64,
    /// What the backward pass computes again, to keep fewer activations.
    pub recomputation: Recomputation,
    /// What each replica holds only a share of.
    pub sharding: Sharding,
    /// The kernel that computes attention.
    pub attention: AttentionKernel,
    /// Sequences of a step over all replicas.
    pub global_batch: u64,
    /// Tokens of a sequence, of all ranks that share it.
    pub sequence: u32,
    /// The time of the step of this layout, and what follows from it.
    pub step: StepEstimate,
    /// The time of this layout's step in µs without the times that are asked about; `None` where nothing is changed.
    pub unchanged_us: Option<f64>,
    /// What ranks of the busiest stage exchange.
    pub exchanges: Vec<TimedExchange>,
    /// The factor on exchanges by the bandwidth of links that nothing hides.
    pub exchange_factor: f64,
    /// Collectives that were measured and say nothing about this layout.
    pub unused_collectives: Vec<String>,
    /// All layouts that were looked at.
    pub layouts: Layouts,
    /// The GPU's name in the catalogue.
    pub gpu: String,
    /// Whether its own kernels were measured.
    pub is_measured: bool,
    /// The steps of one's own that moved the factors.
    pub own_steps: usize,
    /// The steps of traces, beside what is computed for them.
    pub traces: Vec<ComparedTrace>,
    /// What files say differently of the training, a sentence each.
    pub contradictions: Vec<String>,
    /// Steps of one's own that were not used, each with the reason.
    pub unused_steps: Vec<String>,
    /// Whether the model has experts, whose kernels differ most.
    pub has_experts: bool,
    /// Where those stand that moved the factors: file and line.
    used_steps: Vec<String>,
    /// Why the factors that they give can't be: with them a step would be faster than the GPUs at their peak.
    too_fast: Option<EstimateError>,
    /// Steps of one's own that were used and are far from what is computed without them, in words.
    pub doubtful_steps: Vec<String>,
    /// Measurements of steps of one's own that lie outside of the interval to which they lead, where there are enough
    /// for it to be theirs.
    pub steps_outside: usize,
    /// Steps of one's own of the very run that is asked about: the place of each, and its time in µs.
    pub measured_here: Vec<(String, f64)>,
    /// Steps of one's own that do not say their batch or sequence, for which those of the question were taken.
    pub steps_without_batch: usize,
    /// Rows of one's own steps, and traces, that do not say their layout: tp and pp are taken as 1.
    pub without_layout: [usize; 2],
    /// Whether more ranks share attention than there are heads of keys and values.
    pub copies_heads: bool,
    /// The price of a step, where one of a GPU's hour is given.
    pub price_per_step: Option<f64>,
}

impl Estimated {
    /// The price of a billion tokens, where one of a GPU's hour is given.
    pub fn price_per_billion_tokens(&self) -> Option<f64> {
        self.price_per_step.map(|price| price / self.step.tokens * 1e9)
    }
}

/// What steps of one's own are used for.
struct OwnStepsUse {
    calibrated: Calibrated,
    unused: Vec<String>,
    doubtful: Vec<String>,
    outside: usize,
    /// The runs that were used, with the place and the time of each.
    runs: Vec<(Run, String, f64)>,
}

/// What makes two steps of a model on a GPU ones of the same run.
#[derive(PartialEq)]
struct Run {
    degrees: Degrees,
    chunks: u32,
    micro_batch: u32,
    recomputation: Recomputation,
    sharding: Sharding,
    sequence: u32,
    global_batch: u64,
}

impl Run {
    const fn of(question: &StepQuestion<'_>) -> Self {
        let StepQuestion {
            degrees, virtual_stages, micro_batch, recomputation, sharding, sequence, global_batch, ..
        } = *question;
        let chunks = if degrees.pipeline > 1 { virtual_stages } else { 1 };
        Self { degrees, chunks, micro_batch, recomputation, sharding, sequence, global_batch }
    }
}

/// Tokens of a step, where no batch is given.
const USUAL_TOKENS: u64 = 4 << 20;

impl StepQuestion<'_> {
    /// Why no step takes this time: the GPUs at their peak need longer.
    fn too_fast(&self, time_us: f64) -> Option<EstimateError> {
        let least_us = self.least_us();
        (time_us < least_us).then(|| EstimateError::TooFast {
            time_us,
            least_us,
            gpus: self.degrees.gpus(),
            name: self.device.name.clone(),
            precision: self.precision.name(),
            batch: self.global_batch,
            sequence: self.sequence,
        })
    }
}

/// A measured step whose layout needs more than this many times the GPU's memory is not believed: estimates of memory
/// are within 13 % of published figures.
const MOST_OF_MEMORY: f64 = 1.5;

/// The largest micro-batch that is searched.
const MOST_MICRO_BATCH: u32 = 64;

impl EstimateSettings {
    /// Takes a layout, or none, so that the best is found: then the batch that the layout before gave to all replicas
    /// stays.
    pub fn set_layout(&mut self, layout: Option<GivenLayout>) {
        if layout.is_none() && self.layout.is_some() && self.replica_batch.is_some() {
            self.global_batch = Some(self.batch());
        }
        self.layout = layout;
    }

    /// With a sequence that the model has positions for, where it has learned ones.
    pub fn limit_sequence(&mut self, model: &Transformer) {
        if model.positions > 0 {
            self.sequence = self.sequence.min(model.positions);
        }
    }

    /// The question about a layout.
    fn question<'a>(&self, model: &'a Transformer, device: &'a Device, layout: GivenLayout) -> StepQuestion<'a> {
        let GivenLayout { tensor, pipeline, context, expert, replicate, virtual_stages, micro_batch, .. } = layout;
        let data = u32::try_from(self.gpus / layout.replica_gpus().max(1)).unwrap_or(u32::MAX).max(1);
        StepQuestion {
            model,
            device,
            degrees: Degrees { tensor, pipeline, context, expert, data, replicate },
            virtual_stages,
            schedule: self.schedule,
            sequence: self.sequence,
            global_batch: self.batch(),
            micro_batch,
            precision: self.precision,
            stack: self.stack,
            attention: self.attention.unwrap_or_else(|| device.usual_attention(self.stack.attention())),
            recomputation: layout.recomputation.unwrap_or_default(),
            sharding: layout.sharding.unwrap_or(self.stack.sharding()),
            is_sequence_parallel: self.is_sequence_parallel.unwrap_or(self.stack != Stack::MegatronLm),
            overlaps_reduce: self.overlaps_reduce.unwrap_or(self.stack.overlaps_gradients()),
            overlaps_gather: self.overlaps_gather.unwrap_or(self.stack.overlaps_gradients()),
            gradient_bytes: self.gradient_bytes,
        }
    }

    /// The usual settings with what files say of the training, by their names.
    pub fn of_files<'a>(files: impl Iterator<Item = (&'a str, &'a TrainingSettings)>) -> Self {
        let (training, contradictions) = TrainingSettings::together(files);
        Self { contradictions, ..Self::default().as_trained(&training) }
    }

    /// With what a file says of the training: a layout where it has one, the batch, the sequence, and how it computes.
    #[must_use]
    pub fn as_trained(mut self, file: &TrainingSettings) -> Self {
        self.sequence = file.sequence.unwrap_or(self.sequence);
        let of_replica = file.micro_batch.zip(file.micro_batches).zip(file.data);
        let product = of_replica.map(|((size, number), data)| u64::from(size) * u64::from(number) * u64::from(data));
        self.global_batch = file.global_batch.map(u64::from).or(product).or(self.global_batch);
        let each = file.micro_batch.zip(file.micro_batches).map(|(size, number)| u64::from(size) * u64::from(number));
        // Of a batch of all replicas and their number it follows; an accumulation of DeepSpeed's is said.
        let is_said = file.global_batch.is_none() || file.software == Some("deepspeed");
        self.replica_batch = each.filter(|_| is_said).or(self.replica_batch);
        if file.tensor.is_some_and(|tensor| tensor > 1) {
            self.is_sequence_parallel = file.sequence_parallel.or(self.is_sequence_parallel);
        }
        self.overlaps_reduce = file.overlap_reduce.or(self.overlaps_reduce);
        self.overlaps_gather = file.overlap_gather.or(self.overlaps_gather);
        self.gradient_bytes = file.gradient_bytes.or(self.gradient_bytes);
        if let Some(data) = file.data {
            let degrees = [file.tensor.unwrap_or(1), file.pipeline.unwrap_or(1), file.context.unwrap_or(1)];
            self.gpus = degrees.into_iter().fold(data.into(), |gpus: u64, degree| gpus.saturating_mul(degree.into()));
        }
        if file.fp8.is_some() {
            self.precision = Precision::Fp8;
        }
        let sharding = match (file.zero, file.distributed_optimizer) {
            (Some(0), _) | (None, Some(false)) => Some(Sharding::Nothing),
            (Some(1), _) | (None, Some(true)) => Some(Sharding::Optimizer),
            (Some(2), _) => Some(Sharding::Gradients),
            (Some(_), _) => Some(Sharding::Parameters),
            (None, None) => None,
        };
        self.shardings.extend(sharding);
        self.replicates.extend(file.replicate);
        if let Some(stack) = file.software.and_then(|name| by_name(&Stack::ALL, name)) {
            self.stack = stack;
        }
        if let Some(schedule) = file.schedule.and_then(|name| by_name(&Schedule::ALL, name)) {
            self.schedule = schedule;
        }
        let recomputation = file.recompute.as_deref().and_then(|name| by_name(&Recomputation::NAMES, name));
        self.said = GivenLayout {
            tensor: file.tensor.unwrap_or(1),
            pipeline: file.pipeline.unwrap_or(1),
            context: file.context.unwrap_or(1),
            expert: file.expert.unwrap_or(1),
            replicate: file.replicate.unwrap_or(1),
            virtual_stages: file.virtual_stages.unwrap_or(1),
            micro_batch: file.micro_batch.unwrap_or(1),
            recomputation,
            sharding,
        };
        if file.tensor.is_some() || file.micro_batch.is_some() {
            self.layout = Some(self.said);
        }
        self
    }

    /// What the search divides among how many groups of replicas: each combination once, as the number of groups makes
    /// no difference where nothing is sharded.
    fn searched_shardings(&self) -> Vec<(Sharding, u32)> {
        let usual = [self.stack.sharding()];
        let kinds = if self.shardings.is_empty() { &usual[..] } else { &self.shardings };
        let groups = if self.replicates.is_empty() { &[1][..] } else { &self.replicates };
        let mut all: Vec<(Sharding, u32)> = Vec::new();
        for next in kinds.iter().flat_map(|kind| groups.iter().map(|groups| (*kind, *groups))) {
            let is_same = |known: &(Sharding, u32)| *known == next || known.0 == next.0 && next.0 == Sharding::Nothing;
            if !all.iter().any(is_same) {
                all.push(next);
            }
        }
        all
    }

    /// The step that a log measured, of the layout that its arguments say; `None` of a file without any, and
    /// `Some(None)` where the arguments don't say on how many GPUs it ran.
    pub fn logged_step(file: &ModelFile) -> Option<Option<OwnStep>> {
        let measured = file.measured?;
        let settings = Self::default().as_trained(&file.training);
        Some(file.training.data.and(settings.layout).map(|layout| OwnStep {
            gpus: settings.gpus,
            layout,
            says_layout: true,
            sequence: file.training.sequence,
            global_batch: measured.global_batch.or(settings.global_batch),
            time_us: measured.time_us,
            line: Some(measured.line),
            parts: None,
        }))
    }

    /// Sequences of a step: as given for all replicas or for each, or about four million tokens, in as many sequences
    /// as all GPUs can share.
    pub fn batch(&self) -> u64 {
        let of_layout = self
            .replica_batch
            .zip(self.layout)
            .map(|(batch, layout)| batch.saturating_mul((self.gpus / layout.replica_gpus().max(1)).max(1)));
        self.global_batch.or(of_layout).unwrap_or_else(|| {
            // A multiple of the GPUs, so that any number of them that divides it can share it.
            (USUAL_TOKENS / u64::from(self.sequence).max(1)).max(1).next_multiple_of(self.gpus.max(1))
        })
    }

    fn library(&self, gpu: &str) -> Result<Option<LibraryModel>, EstimateError> {
        let Some(version) = self.nccl else { return Ok(None) };
        let model = LibraryModel::of(gpu, version)?;
        model.map(Some).ok_or_else(|| EstimateError::NoCostModel { name: gpu.to_owned() })
    }

    /// Answers for a model.
    ///
    /// # Errors
    /// Returns an error if the layout that was given is not possible, or no layout fits into memory.
    pub fn answer(
        &self,
        model: &Transformer,
        catalogue: &Catalogue,
        own: &[NamedStep],
        traces: &[(String, Trace)],
        mut progress: impl FnMut(f64) -> ControlFlow<()>,
    ) -> Result<Estimated, EstimateError> {
        let answer = self.answer_by(model, catalogue, own, traces, &mut progress)?;
        let Some(too_fast) = answer.too_fast.clone() else { return Ok(answer) };
        // What makes a step faster than the hardware is of another model or batch than it says.
        let without = self.answer_by(model, catalogue, &[], &[], &mut progress)?;
        let places = answer.used_steps.join("; ");
        let mut unused_steps = answer.unused_steps;
        unused_steps.push(format!("{places}: with what was measured a step would be too fast: {too_fast}"));
        let Estimated { steps_without_batch, without_layout, doubtful_steps, .. } = answer;
        Ok(Estimated { unused_steps, steps_without_batch, without_layout, doubtful_steps, ..without })
    }

    fn answer_by(
        &self,
        model: &Transformer,
        catalogue: &Catalogue,
        own: &[NamedStep],
        traces: &[(String, Trace)],
        progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
    ) -> Result<Estimated, EstimateError> {
        if self.gpus == 0 || self.gpus > MOST_GPUS {
            return Err(EstimateError::TooManyGpus { gpus: self.gpus });
        }
        let mut device = Device::of(catalogue, &self.gpu)?;
        device.collectives.clone_from(&self.collectives);
        device.library = self.library(&device.name)?;
        let (traced, mut unused_steps) = self.traced(model, catalogue, &mut device, traces);
        // Steps of one's own ran with what was measured, and without what is only asked about.
        let steps: Vec<&NamedStep> = own.iter().chain(&traced).collect();
        let is_open = |(_, step): &&&NamedStep| step.sequence.is_none() || step.global_batch.is_none();
        let steps_without_batch = steps.iter().filter(is_open).count();
        let has_none = |(_, step): &&NamedStep| !step.says_layout;
        let without_layout = [own, &traced[..]].map(|steps| steps.iter().filter(has_none).count());
        let OwnStepsUse { calibrated, unused, doubtful: doubtful_steps, outside: steps_outside, runs } =
            self.calibrated(model, &device, &steps);
        unused_steps.extend(unused);
        let traces = traced.into_iter().filter_map(|(name, step)| self.compared(model, &device, name, &step)).collect();
        device.changes = self.changes;
        let limits = SearchLimits {
            gpus: self.gpus,
            reserve_gib: self.reserve_gib,
            listed: self.listed,
            most_micro_batch: MOST_MICRO_BATCH,
            shardings: self.searched_shardings(),
            seed: self.seed,
        };
        if let Some(kernel) = self.attention {
            device.check_attention(kernel)?;
        }
        let template = self.question(model, &device, GivenLayout::default());
        let found = layouts::search(&template, &calibrated, &limits, progress)?;
        let question = match (self.layout, found.ranked.first()) {
            (Some(layout), _) => self.given(model, &device, layout)?,
            (None, Some(best)) => StepQuestion {
                degrees: best.degrees,
                virtual_stages: best.virtual_stages,
                micro_batch: best.micro_batch,
                recomputation: best.recomputation,
                sharding: best.sharding,
                ..template
            },
            (None, None) if found.least_memory_bytes == 0.0 => {
                return Err(EstimateError::NonePossible { gpus: self.gpus, left_out: found.left_out_in_words() });
            }
            (None, None) => {
                return Err(EstimateError::NothingFits {
                    gpus: self.gpus,
                    name: device.name.clone(),
                    least_gib: found.least_memory_bytes / GIB,
                    memory_gib: device.memory_gib,
                    reserve_gib: self.reserve_gib,
                });
            }
        };
        let asked = Run::of(&question);
        let used_steps = runs.iter().map(|(_, place, _)| place.clone()).collect();
        let measured_here = runs.into_iter().filter(|(run, ..)| *run == asked);
        let measured_here = measured_here.map(|(_, place, time_us)| (place, time_us)).collect();
        let step = question.estimate(&calibrated, self.reserve_gib);
        let fastest_us = found.ranked.iter().map(|row| row.time_us).fold(step.time_us, f64::min);
        let too_fast = question.too_fast(fastest_us).filter(|_| calibrated.own_steps > 0);
        let unchanged_us = (device.changes != Changes::default()).then(|| {
            let mut unchanged = device.clone();
            unchanged.changes = Changes::default();
            calibrated.factors.time_us(&StepQuestion { device: &unchanged, ..question.clone() }.columns())
        });
        let exchanges: Vec<TimedExchange> = question
            .exchanges()
            .into_iter()
            .map(|(exchange, times)| {
                let (source, basis) = device.basis(&exchange);
                TimedExchange { exchange, times, time_us: device.exchange_us(&exchange), source, basis }
            })
            .collect();
        let hours = step.time_us / 3.6e9 * self.gpus as f64;
        Ok(Estimated {
            degrees: question.degrees,
            virtual_stages: question.virtual_stages,
            schedule: question.schedule,
            micro_batch: question.micro_batch,
            micro_batches: question.micro_batches(),
            recomputation: question.recomputation,
            sharding: question.sharding,
            attention: question.attention,
            global_batch: question.global_batch,
            sequence: question.sequence,
            price_per_step: self.price_per_gpu_hour.map(|price| price * hours),
            step,
            unused_collectives: device.collectives.unused(&exchanges),
            exchanges,
            exchange_factor: calibrated.factors.exchange,
            gpu: device.name.clone(),
            is_measured: device.is_measured,
            unchanged_us,
            own_steps: calibrated.own_steps,
            traces,
            copies_heads: question.check_kv_heads().is_err(),
            contradictions: self.contradictions.iter().cloned().chain(self.other_batch(&question)).collect(),
            unused_steps,
            has_experts: model.has_experts(),
            used_steps,
            too_fast,
            doubtful_steps,
            steps_outside,
            measured_here,
            steps_without_batch,
            without_layout,
            layouts: found,
        })
    }

    /// That the sequences of each replica, as a file says them, are not those of the answer; `None` where they are.
    fn other_batch(&self, question: &StepQuestion<'_>) -> Option<String> {
        let said = self.replica_batch.filter(|_| self.layout.is_some() && self.global_batch.is_some())?;
        let replicas = question.degrees.data;
        let each = question.global_batch / u64::from(replicas).max(1);
        (said != each).then(|| {
            format!(
                "A replica has {each} sequences of a step of {}, shared by {replicas} replicas, where the file says {said}: \
                 micro-batch × steps of accumulation. The former counts",
                question.global_batch
            )
        })
    }

    /// The question about the layout that was given, with the least recomputation that fits.
    fn given<'a>(
        &self,
        model: &'a Transformer,
        device: &'a Device,
        layout: GivenLayout,
    ) -> Result<StepQuestion<'a>, EstimateError> {
        let product = layout.replica_gpus();
        if product == 0 || !self.gpus.is_multiple_of(product) {
            return Err(EstimateError::Product { product, gpus: self.gpus });
        }
        let mut question = self.question(model, device, layout);
        question.check()?;
        if layout.recomputation.is_none() {
            let capacity = capacity_bytes(device.memory_gib, self.reserve_gib);
            let fits = |recomputation: Recomputation| {
                StepQuestion { recomputation, ..question.clone() }.memory().total() <= capacity
            };
            let mut kinds = Recomputation::ALL.into_iter().map(|(kind, _)| kind);
            let least = kinds.find(|kind| self.stack.recomputes(*kind) && fits(*kind));
            question.recomputation = least.unwrap_or(Recomputation::Layers);
        }
        Ok(question)
    }

    /// The question of which a step of one's own is the measured answer.
    ///
    /// # Errors
    /// Returns an error if its layout is not possible, or it is faster than the hardware allows.
    pub(super) fn measured<'a>(
        &self,
        model: &'a Transformer,
        device: &'a Device,
        step: &OwnStep,
    ) -> Result<StepQuestion<'a>, EstimateError> {
        let settings = Self {
            gpus: step.gpus,
            sequence: step.sequence.unwrap_or(self.sequence),
            global_batch: Some(step.global_batch.unwrap_or_else(|| self.batch())),
            ..self.clone()
        };
        // What the step does not say is as it is asked for.
        let asked = self.layout.unwrap_or_default();
        let of_search = self.shardings.first().copied().filter(|_| self.shardings.len() == 1);
        let layout = GivenLayout {
            recomputation: step.layout.recomputation.or(asked.recomputation),
            sharding: step.layout.sharding.or(asked.sharding).or(of_search),
            ..step.layout
        };
        let question = settings.given(model, device, layout)?;
        let (needs, has) = (question.memory().total(), device.memory_gib * GIB);
        if needs > MOST_OF_MEMORY * has {
            let (needs_gib, name) = (needs / GIB, device.name.clone());
            return Err(EstimateError::TooLarge { needs_gib, name, has_gib: device.memory_gib });
        }
        question.too_fast(step.time_us).map_or(Ok(question), Err)
    }

    /// The factors, moved by steps of one's own.
    fn calibrated(&self, model: &Transformer, device: &Device, steps: &[&NamedStep]) -> OwnStepsUse {
        let (mut columns, mut runs) = (Vec::new(), Vec::new());
        let (mut unused, mut doubtful) = (Vec::new(), Vec::new());
        // Several measurements of one run are one step together, and so are traces of ranks of one job: they say no
        // more of other layouts than one does.
        for (name, step) in steps {
            let OwnStep { time_us, parts, line, .. } = *step;
            let line = line.map(|line| format!(", line {line}")).unwrap_or_default();
            let place = excerpt(name) + &line;
            let question = match self.measured(model, device, step) {
                Ok(question) => question,
                Err(error) => {
                    let taken = if step.says_layout { "" } else { ". It does not say tp and pp, which are taken as 1" };
                    unused.push(format!("{place}: {error}{taken}"));
                    continue;
                }
            };
            let found = question.columns();
            if LEARNT.is_far_from(&found, time_us) {
                doubtful.push(format!(
                    "{place}: {}, where {} is computed",
                    time(time_us),
                    time(LEARNT.time_us(&found))
                ));
            }
            columns.push(MeasuredColumns { columns: found, time_us, weight: 1.0, parts });
            runs.push((Run::of(&question), place, time_us));
        }
        for (step, (its, ..)) in columns.iter_mut().zip(&runs) {
            step.weight /= runs.iter().filter(|(other, ..)| other == its).count() as f64;
        }
        let factors = if columns.is_empty() { LEARNT } else { LEARNT.moved_by(&columns) };
        let own_steps = columns.iter().map(|step| step.weight).sum::<f64>().round() as usize;
        let calibrated = Calibrated { factors, before: LEARNT, own_steps };
        let is_outside = |step: &&MeasuredColumns| {
            let [low, high] = calibrated.interval_us(&step.columns);
            own_steps >= OWN_STEPS && !(low..=high).contains(&step.time_us)
        };
        let outside = columns.iter().filter(is_outside).count();
        OwnStepsUse { calibrated, unused, doubtful, outside, runs }
    }
}
