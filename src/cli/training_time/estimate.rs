//! `collectune training-time estimate`: the time of a step without samples.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde::Serialize;

use super::bundle;
use crate::{
    cli::{
        arguments::{self, Measured},
        error::{CliError, refuse},
        files::{self, Reads},
        json::object,
        table, terminal,
    },
    collective::{Collective, Scale, Workload},
    conf::machine::{Gpu, Version},
    intake::Mapping,
    report::Workbench,
    text::{Problems, visible},
    training_time::{
        bundle::DroppedFile,
        catalogue::Catalogue,
        estimate::{
            answer::ComparedTrace,
            collectives::{MeasuredCollectives, MeasuredCurve, without_stalls},
            device::Precision,
            efficiency::AttentionKernel,
            exchange::{ExchangeUse, TimedExchange},
            given_layout::GivenLayout,
            layouts::{MOST_GPUS, RankedLayout},
            listing::{self, name_of},
            own_steps::{self, NamedStep},
            question::{EstimateSettings, Estimated},
            stack::{GRADIENTS, Recomputation, Sharding, Stack},
            step::Schedule,
        },
        memory::{GIB, RESERVE_GIB},
        models::{self, KNOWN, MOST_PREDICTION_LAYERS, ModelFile, Transformer},
        read::TrainingFile,
        samples::Communicator,
        step::listing::time,
        trace::{self, Trace},
    },
    tuning::{
        aggregate::Target,
        origin::{Aspect, aspect_of},
        runs::aggregate,
    },
    units::{Size, count},
};

/// Estimate the time of a step and the best layout without samples: from a model and the name of a GPU
///
/// Kernels are a roofline with measured shares of the peaks, exchanges the bandwidth of links, and the software is
/// factors that were learnt from published steps. The interval holds nine of ten steps of sources that were left out;
/// three steps of your own (--steps) narrow it.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune training-time estimate llama-3.1-8b --gpu H100 --gpus 64
  collectune training-time estimate config.json --gpu H100 --gpus 64 --collectives all_reduce.log sweep.csv
  collectune training-time estimate config.json --gpu B200 --gpus 256 --sequence 8192 --tp 2 --pp 4 --steps steps.csv")]
pub(in crate::cli) struct Estimate {
    /// A config.json of Hugging Face, arguments of Megatron-LM (a script or a log), TorchTitan's TOML, or a known
    /// model, like llama-3.1-8b
    ///
    /// DeepSpeed's JSON beside it says how it is trained. TorchTitan's TOML says both. The iterations that a log of
    /// Megatron-LM has are measured steps, as those of --steps.
    #[arg(value_name = "MODEL", required_unless_present = "known")]
    model: Vec<String>,

    /// List the models that are known by name
    #[arg(long)]
    known: bool,

    /// The GPU, by its name in the catalogue
    #[arg(long, value_name = "NAME", default_value = "H100")]
    gpu: String,

    /// The number of GPUs [default: as the files say, else 64]
    #[arg(long, value_name = "N", value_parser = arguments::up_to::<u64>(MOST_GPUS))]
    gpus: Option<u64>,

    /// Tokens of a sequence [default: as the files say, else 4096]
    #[arg(long, value_name = "N", value_parser = arguments::up_to::<u32>(1 << 24))]
    sequence: Option<u32>,

    /// Sequences of a step over all replicas [default: as the files say, else about four million tokens]
    #[arg(long, value_name = "N", value_parser = arguments::up_to::<u64>(1 << 32))]
    batch: Option<u64>,

    /// Layers of multi-token prediction that are trained [default: as the files say]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(MOST_PREDICTION_LAYERS)))]
    mtp_layers: Option<u32>,

    #[command(flatten)]
    layout: LayoutArguments,

    /// The order of micro-batches [default: as the files say, else 1f1b]
    #[arg(long, value_name = "NAME", value_parser = named(&Schedule::ALL))]
    schedule: Option<Schedule>,

    /// The type of products [default: as the files say, else bf16]
    #[arg(long, value_name = "NAME", value_parser = named(&Precision::ALL))]
    precision: Option<Precision>,

    /// The software that trains [default: as the files say, else megatron-core]
    #[arg(long, value_name = "NAME", value_parser = named(&Stack::ALL))]
    stack: Option<Stack>,

    /// How attention is computed [default: as the software usually does]
    #[arg(long, value_name = "NAME", value_parser = named(&AttentionKernel::ALL))]
    attention: Option<AttentionKernel>,

    /// The type of gradients, in memory and where they are exchanged [default: as the files say, else as the software
    /// usually has them]
    #[arg(long, value_name = "NAME", value_parser = named(&GRADIENTS))]
    gradients: Option<u32>,

    /// Time exchanges by the cost model of this version of NCCL where it is known, instead of by the bandwidth of
    /// links: of A100, H100, H200 and B200, within a node, and of H100 and H200 between nodes as well
    #[arg(long, value_name = "VERSION")]
    nccl: Option<Version>,

    /// The channels of exchanges that kernels run beside, each of which takes a multiprocessor from them: what more
    /// channels of a tuner file cost the kernels [default: a share of the time that published steps bear]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1024))]
    channels: Option<u32>,

    /// Steps that were measured: a CSV with gpus, step_s and, where they differ from 1, tp, pp, cp, ep, micro_batch
    #[arg(long, value_name = "CSV", num_args = 1..)]
    steps: Vec<PathBuf>,

    /// Traces of torch.profiler (export_chrome_trace), of Nsight Systems (`nsys export --type sqlite`) or rocprofv3
    /// (`--output-format rocpd`), of this model on this GPU: each is a measured step, with its kernels and collectives
    #[arg(long, value_name = "FILE", num_args = 1..)]
    trace: Vec<PathBuf>,

    /// Sweeps and logs of nccl-tests: exchanges take as long as the library's default was measured, or the fastest
    /// configuration where the default was not
    #[arg(long, value_name = "FILE", num_args = 1..)]
    collectives: Vec<PathBuf>,

    #[command(flatten)]
    measured: Measured,

    /// A catalogue with GPUs of one's own
    #[arg(long, value_name = "YAML", num_args = 1..)]
    catalogue: Vec<PathBuf>,

    /// The price of a GPU for an hour, in any currency: adds what a step and a billion tokens cost
    #[arg(long, value_name = "PRICE", value_parser = arguments::number(0.0..=1e6, "expected a price, such as 2.5"))]
    price: Option<f64>,

    /// What of a GPU's memory is kept free, in GiB
    #[arg(long, value_name = "GIB", default_value_t = RESERVE_GIB, value_parser = bundle::gib())]
    reserve: f64,

    /// How many of the best layouts are listed
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = arguments::up_to::<u32>(1000))]
    best: u32,

    /// Seed of what is drawn at random
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,

    /// Write the answer as JSON
    #[arg(long)]
    json: bool,
}

/// A layout; without any of these, it is as the files say, or else the best one is found.
#[derive(Args)]
struct LayoutArguments {
    /// Find the best layout also where the files say one
    #[arg(long, conflicts_with_all = ["tp", "pp", "cp", "ep", "virtual_stages", "micro_batch", "recompute"])]
    best_layout: bool,

    /// GPUs among which each matrix is split [default: as the files say, else the best layout is found]
    #[arg(long, value_name = "N", value_parser = arguments::up_to::<u32>(4096))]
    tp: Option<u32>,

    /// Stages of the pipeline
    #[arg(long, value_name = "N", value_parser = arguments::up_to::<u32>(4096))]
    pp: Option<u32>,

    /// GPUs among which a sequence is split
    #[arg(long, value_name = "N", value_parser = arguments::up_to::<u32>(4096))]
    cp: Option<u32>,

    /// GPUs over which experts are spread
    #[arg(long, value_name = "N", value_parser = arguments::up_to::<u32>(4096))]
    ep: Option<u32>,

    /// Chunks of layers per stage
    #[arg(long, value_name = "N", value_parser = arguments::up_to::<u32>(4096))]
    virtual_stages: Option<u32>,

    /// Sequences of a micro-batch
    #[arg(long, value_name = "N", value_parser = arguments::up_to::<u32>(65_536))]
    micro_batch: Option<u32>,

    /// What the backward pass computes again, of a layout that is given [default: the least that fits]
    #[arg(long, value_name = "WHAT", value_parser = named(&Recomputation::NAMES))]
    recompute: Option<Recomputation>,

    /// What replicas share; of several, the first is that of a layout that is given [default: as the software usually
    /// does]
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = named(&Sharding::ALL))]
    sharding: Vec<Sharding>,

    /// Hybrid sharding: groups of replicas, each with a whole copy of what is sharded; of several numbers, the first is
    /// that of a layout that is given [default: as the files say, else 1]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = arguments::up_to::<u32>(65_536))]
    dp_replicate: Vec<u32>,
}

/// One of some values by their names.
fn named<T: Copy + Send + Sync + 'static>(all: &'static [(T, &'static str)]) -> impl TypedValueParser<Value = T> {
    let find = move |text: String| own_steps::by_name(all, &text).ok_or("it is none of these");
    PossibleValuesParser::new(all.iter().map(|(_, name)| *name)).try_map(find)
}

impl LayoutArguments {
    /// The layout that is given, in part or whole, on top of what files say.
    fn given(&self, settings: &EstimateSettings) -> Option<GivenLayout> {
        let degrees = [self.tp, self.pp, self.cp, self.ep, self.virtual_stages, self.micro_batch];
        if self.best_layout || settings.layout.is_none() && degrees.iter().all(Option::is_none) {
            return None;
        }
        let mut layout = settings.layout.unwrap_or(settings.said);
        let places = [
            &mut layout.tensor,
            &mut layout.pipeline,
            &mut layout.context,
            &mut layout.expert,
            &mut layout.virtual_stages,
            &mut layout.micro_batch,
        ];
        for (place, degree) in places.into_iter().zip(degrees) {
            *place = degree.unwrap_or(*place);
        }
        layout.recomputation = self.recompute.or(layout.recomputation);
        layout.sharding = self.sharding.first().copied().or(layout.sharding);
        layout.replicate = self.dp_replicate.first().copied().unwrap_or(layout.replicate);
        Some(layout)
    }
}

impl Estimate {
    pub(super) fn run(self) -> Result<(), CliError> {
        if self.known {
            let names: String = KNOWN.iter().map(|(name, _)| format!("{name}\n")).collect();
            return terminal::write(&names);
        }
        let Asked { name, mut model, mut settings, mut steps, says_gpus } = read_models(&self.model)?;
        model.set_prediction_layers(self.mtp_layers.unwrap_or(model.prediction_layers));
        let mut catalogue = Catalogue::built_in();
        for path in &self.catalogue {
            let text = files::lossy_text(path)?;
            match Catalogue::parse(&text) {
                Ok(own) => {
                    let name = visible(&files::name(path)).into_owned();
                    if own.gpus.is_empty() {
                        terminal::say("warning", &format!("{name} is not used: it has no GPU"));
                    }
                    let replaced = catalogue.extend(own);
                    if !replaced.is_empty() {
                        let told = format!("{name}: Replaces what is built in: {}", replaced.join("; "));
                        terminal::say("note", &told);
                    }
                }
                Err(error) => return refuse(format!("{}: {error}", visible(&files::name(path)))),
            }
        }
        for path in &self.steps {
            steps.extend(own(path)?);
        }
        let traces = traces(&self.trace)?;
        settings.gpu.clone_from(&self.gpu);
        if self.gpus.is_none() && settings.layout.is_some() && !says_gpus {
            let note = format!("no file says the number of GPUs: {} count (--gpus)", settings.gpus);
            terminal::say("note", &note);
        }
        settings.gpus = self.gpus.unwrap_or(settings.gpus);
        settings.limit_sequence(&model);
        settings.sequence = self.sequence.unwrap_or(settings.sequence);
        settings.global_batch = self.batch.or(settings.global_batch);
        settings.set_layout(self.layout.given(&settings));
        if settings.layout.is_none() {
            let why = "without --tp, --pp, --cp, --ep, --virtual-stages or --micro-batch the best layout is found";
            arguments::say_unused(&["recompute"], why);
        }
        settings.schedule = self.schedule.unwrap_or(settings.schedule);
        settings.precision = self.precision.unwrap_or(settings.precision);
        settings.stack = self.stack.unwrap_or(settings.stack);
        settings.attention = self.attention;
        settings.gradient_bytes = self.gradients.or(settings.gradient_bytes);
        settings.nccl = self.nccl;
        settings.changes.channels = self.channels;
        settings.price_per_gpu_hour = self.price;
        settings.collectives = measured(&self.collectives, &self.measured, &self.gpu)?;
        settings.reserve_gib = self.reserve;
        if !self.layout.sharding.is_empty() {
            settings.shardings.clone_from(&self.layout.sharding);
        }
        if !self.layout.dp_replicate.is_empty() {
            settings.replicates.clone_from(&self.layout.dp_replicate);
        }
        settings.listed = self.best as usize;
        settings.seed = self.seed;
        let answer = match settings.answer(&model, &catalogue, &steps, &traces, |_| ControlFlow::Continue(())) {
            Ok(answer) => answer,
            Err(error) => return refuse(error.to_string()),
        };
        let notes = [listing::warnings(&answer), listing::notes(&answer)].concat();
        terminal::say_notes(&notes);
        terminal::say_notes(answer.unchanged_us.map(|before_us| {
            format!("With --channels the step takes {} instead of {}", time(answer.step.time_us), time(before_us))
        }));
        if self.json {
            return terminal::write_json(&json(&model, &answer));
        }
        terminal::write(&for_people(&name, &model, &answer))
    }
}

/// The model that is asked about, with its name, and what its files say.
struct Asked {
    name: String,
    model: Transformer,
    settings: EstimateSettings,
    /// The steps that logs among the files measured, one a log.
    steps: Vec<NamedStep>,
    /// Whether a file says the number of GPUs.
    says_gpus: bool,
}

/// Reads what some words name, by name or in a file.
fn read_models(words: &[String]) -> Result<Asked, CliError> {
    let mut found: Option<(String, Transformer)> = None;
    let (mut missing, mut open, mut steps, mut trained) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for word in words {
        let (name, file) = model(word)?;
        match EstimateSettings::logged_step(&file) {
            Some(Some(step)) => steps.push((name.clone(), step)),
            Some(None) => {
                terminal::say("note", &format!("{name}: its steps are not used: it does not say on how many GPUs"));
            }
            None => {}
        }
        file.notes.iter().for_each(|note| terminal::say("note", &format!("{name}: {note}")));
        let say = |open: &models::MissingField| format!("{name}, {}: {}", open.key, open.reason);
        let (of_model, others): (Vec<_>, Vec<_>) = file.missing.iter().partition(|open| open.key == "model");
        let told: Vec<String> = of_model.iter().chain(&others).map(|field| say(field)).collect();
        match file.model {
            Some(_) if found.is_some() => return refuse(format!("{name} is a second model; give one")),
            None if of_model.is_empty() => {
                open.extend(told.iter().map(|open| format!("{open}; the sizes of a model in this file are not used")));
                missing.extend(told);
            }
            model => {
                // A number that is said and does not fit the layout stays, unless another is given.
                let stays = |key: &str| key == "global_batch_size" && file.training.global_batch.is_some();
                open.extend(others.iter().map(|field| {
                    let counts = if stays(&field.key) { "--batch gives another" } else { "what is usual counts" };
                    format!("{}; {counts}", say(field))
                }));
                match model {
                    Some(model) => found = Some((name.clone(), model)),
                    None => missing.extend(told),
                }
            }
        }
        trained.push((name, file.training));
    }
    match found {
        Some((name, model)) => {
            open.iter().for_each(|open| terminal::say("note", open));
            let settings = EstimateSettings::of_files(trained.iter().map(|(name, file)| (name.as_str(), file)));
            let says_gpus = trained.iter().any(|(_, file)| file.data.is_some());
            Ok(Asked { name, model, settings, steps, says_gpus })
        }
        None => refuse(format!(
            "there is no model: {}. Say it there, or give the model by its name or its config.json as well",
            missing.join("; ")
        )),
    }
}

/// What a word names: a model that is known by name, or else a file.
fn model(word: &str) -> Result<(String, ModelFile), CliError> {
    if let Ok(model) = models::known(word) {
        return Ok((word.to_owned(), ModelFile { model: Some(model), ..ModelFile::default() }));
    }
    let path = Path::new(word);
    if !path.exists() {
        let known: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
        return refuse(format!(
            "there is no file {}, and no model of this name is known; known are {}",
            visible(word),
            known.join(", ")
        ));
    }
    let text = files::lossy_text(path)?;
    let name = files::name(path);
    let name = visible(&name).into_owned();
    match models::read_file(&text) {
        Ok(file) => Ok((name, file)),
        Err(_) if text.lines().next().is_some_and(|header| header.contains("step_s")) => {
            refuse(format!("{name}: these are measured steps, not a model: give them with --steps"))
        }
        Err(_) if text.contains("\"traceEvents\"") => {
            refuse(format!("{name}: this is a trace, not a model: give it with --trace"))
        }
        Err(error) => refuse(format!("{name}: {error}")),
    }
}

/// Steps of one's own; rows that can't be read are named.
fn own(path: &Path) -> Result<Vec<NamedStep>, CliError> {
    let text = files::lossy_text(path)?;
    let mut problems = Problems::default();
    let name = files::name(path);
    let read = own_steps::read_text(&text, &mut problems);
    files::say_problems(&name, &problems);
    match read {
        Ok(steps) => Ok(steps.into_iter().map(|step| (name.clone(), step)).collect()),
        Err(error) => refuse(format!("{}: {error}", visible(&name))),
    }
}

/// The traces of files. Fails if one can't be read.
fn traces(paths: &[PathBuf]) -> Result<Vec<(String, Trace)>, CliError> {
    const READS: Reads = Reads::Of(Workbench::TrainingTime);
    let (mut traces, mut files_with_traces) = (Vec::new(), 0);
    if paths.is_empty() {
        return Ok(traces);
    }
    let opened = files::read_untold(paths, &Measured::default(), READS)?;
    for file in &opened.files {
        if let Some(why) = files::refusal(&file.name, &file.outcome, READS) {
            return refuse(why);
        }
        files::tell(file, READS, paths);
    }
    for DroppedFile { path, part, .. } in opened.parts.samples.into_iter().map(|(_, file)| file) {
        match part {
            TrainingFile::Traces(of) => {
                files_with_traces += 1;
                traces.extend(trace::named(&path, of));
            }
            _ => return refuse(format!("{} is no trace of training steps", visible(&path))),
        }
    }
    if files_with_traces < opened.files.len() {
        return refuse("a file that --trace names is no trace of training steps");
    }
    Ok(traces)
}

/// The collectives of sweeps and logs, for a step on GPUs of this name. What another GPU measured is named.
fn measured(paths: &[PathBuf], measured: &Measured, gpu: &str) -> Result<MeasuredCollectives, CliError> {
    if paths.is_empty() {
        arguments::say_unused(&["set", "configuration"], "no collectives are given (--collectives)");
        return Ok(MeasuredCollectives::default());
    }
    // A log of nccl-tests that says nothing else measured the library's own choice.
    let configuration = measured.configuration.clone().or_else(|| Mapping::configuration("default").ok());
    let opened = files::read_sweeps(paths, &Measured { configuration, set: measured.set.clone() })?;
    let mut others: Vec<&String> =
        opened.measured_with.values().flatten().filter(|with| is_other_gpu(with, gpu)).collect();
    others.sort_unstable();
    others.dedup();
    for other in others {
        terminal::say("warning", &format!("collectives were measured on {other}; the step is that of {gpu}"));
    }
    let sweep = aggregate(&opened.rows, Target::Time);
    let mut fastest: BTreeMap<Workload, f64> = BTreeMap::new();
    for point in &sweep.points {
        let best = fastest.entry(point.workload).or_insert(point.busbw_gbps);
        *best = best.max(point.busbw_gbps);
    }
    fastest.extend(sweep.defaults.iter().map(|default| (default.workload, default.busbw_gbps)));
    let mut groups: BTreeMap<(Collective, Scale), Vec<(f64, f64)>> = BTreeMap::new();
    for (workload, busbw_gbps) in fastest {
        let points = groups.entry((workload.collective, workload.scale)).or_default();
        points.extend(workload.time_us(busbw_gbps).map(|time_us| (workload.size_bytes as f64, time_us)));
    }
    let mut curves = Vec::new();
    for ((collective, scale), points) in groups {
        let over = Communicator { nodes: scale.nodes, per_node: scale.ranks.div_ceil(scale.nodes.max(1)) };
        let [points, stalled] = without_stalls(points);
        for (bytes, times) in stalled {
            let size = Size(bytes as u64);
            let what = format!(
                "{collective} on {scale} is not used at {size}: it took {times:.1} times as long as larger sizes; measure it \
                 again"
            );
            terminal::say("warning", &what);
        }
        if ExchangeUse::of(collective).is_empty() {
            let what = format!("{collective} on {scale} is not used: an estimated step has no {collective}");
            terminal::say("note", &what);
        }
        curves.extend(MeasuredCurve::for_every_use(collective, over, &points));
    }
    Ok(MeasuredCollectives(curves))
}

/// Whether a text of what collectives were measured with names a GPU, and another one than this.
fn is_other_gpu(with: &str, gpu: &str) -> bool {
    let same = |name: &str| name.eq_ignore_ascii_case(gpu) || name.parse::<Gpu>().ok() == gpu.parse::<Gpu>().ok();
    aspect_of(with) == Some(Aspect::Gpu) && gpu.parse::<Gpu>().is_ok() && !with.split('+').any(same)
}

fn for_people(name: &str, model: &Transformer, answer: &Estimated) -> String {
    let parameters = model.parameters() as f64 / 1e9;
    let active = model.active_parameters() as f64 / 1e9;
    let active = if active < parameters { format!(", {active:.2} billion of them active") } else { String::new() };
    let mut text = format!("{name}: {parameters:.2} billion parameters{active}\n{}.\n", listing::headline(answer));
    text += &format!("{}.\n", listing::layout_in_words(answer));
    let sequences = count(answer.global_batch, "sequence");
    text += &format!("Each step has {sequences} of {}.\n\n", count(answer.sequence.into(), "token"));
    for (figure, value) in listing::figures(answer) {
        text += &format!("{figure}: {value}\n");
    }
    text += &format!("\n{}", table::of_listing(&listing::components(&answer.step)));
    if !answer.exchanges.is_empty() {
        text += &format!("\n{}", table::of_listing(&listing::exchanges(answer)));
        text += &listing::exchanges_in_words(answer).map_or_else(String::new, |words| format!("{words}.\n"));
    }
    for trace in &answer.traces {
        text += &format!("\n{}\n{}", listing::trace_in_words(trace), table::of_listing(&listing::trace(trace)));
    }
    text += &format!("\n{}", table::of_listing(&listing::memory(&answer.step)));
    text += &format!("\n{}.\n", answer.layouts.in_words());
    text += &format!("\n{}", table::of_listing(&listing::layouts(&answer.layouts.ranked)));
    text
}

fn json(model: &Transformer, answer: &Estimated) -> impl Serialize {
    let components: serde_json::Map<String, serde_json::Value> =
        answer.step.components.iter().map(|(name, us)| ((*name).to_owned(), (*us).into())).collect();
    object! {
        parameters: model.parameters(),
        active_parameters: model.active_parameters(),
        gpu: &answer.gpu,
        gpus: answer.step.gpus,
        tp: answer.degrees.tensor,
        pp: answer.degrees.pipeline,
        cp: answer.degrees.context,
        ep: answer.degrees.expert,
        dp: answer.degrees.data,
        dp_replicate: answer.degrees.replicate,
        virtual_stages: answer.virtual_stages,
        micro_batch: answer.micro_batch,
        micro_batches: answer.micro_batches,
        global_batch: answer.global_batch,
        sequence: answer.sequence,
        recompute: name_of(&Recomputation::ALL, answer.recomputation),
        sharding: name_of(&Sharding::ALL, answer.sharding),
        attention: name_of(&AttentionKernel::ALL, answer.attention),
        step_us: answer.step.time_us,
        /// Holds nine of ten steps of sources that were left out.
        interval_us: answer.step.interval_us,
        /// Where the time goes, in µs on the busiest stage.
        components_us: components,
        tokens_per_second_per_gpu: answer.step.tokens_per_s_per_gpu,
        mfu: answer.step.model_flop_share,
        /// What ranks of the busiest stage exchange.
        exchanges: answer.exchanges.iter().map(exchange).collect::<Vec<_>>(),
        /// Steps of traces, beside what is computed for them.
        traces: answer.traces.iter().map(traced).collect::<Vec<_>>(),
        memory_gib: answer.step.memory_bytes / GIB,
        fits: answer.step.first_too_much.is_none(),
        price_per_step: answer.price_per_step,
        price_per_billion_tokens: answer.price_per_billion_tokens(),
        own_steps: answer.own_steps,
        fitting_layouts: answer.layouts.fitting,
        layouts: answer.layouts.ranked.iter().map(ranked).collect::<Vec<_>>(),
        /// The notes that were also written to stderr.
        notes: terminal::said(),
    }
}

fn exchange(timed: &TimedExchange) -> impl Serialize {
    let group = timed.exchange.group;
    object! {
        exchange: timed.exchange.of.name(),
        collective: listing::collective(&timed.exchange).name(),
        ranks: group.ranks,
        ranks_of_a_node: group.linked,
        size_bytes: timed.exchange.message_bytes(),
        calls: timed.times,
        time_us: timed.time_us,
        /// `links`, `measured`, or what was measured nearby.
        from: &timed.basis,
    }
}

fn traced(trace: &ComparedTrace) -> impl Serialize {
    let [compute_us, attention_us, exposed_us] = trace.computed_us;
    object! {
        file: &trace.name,
        gpus: trace.gpus,
        tp: trace.layout.tensor,
        pp: trace.layout.pipeline,
        cp: trace.layout.context,
        micro_batch: trace.layout.micro_batch,
        step_us: trace.step_us,
        kernels_us: trace.parts.compute_us,
        attention_us: trace.parts.attention_us,
        /// Communication while no other kernel runs.
        exposed_us: trace.parts.exposed_us,
        communication_us: trace.parts.communication_us,
        /// The first three by kernels alone and links, before any factor.
        computed_us: object! { kernels_us: compute_us, attention_us: attention_us, exposed_us: exposed_us },
    }
}

fn ranked(layout: &RankedLayout) -> impl Serialize {
    object! {
        tp: layout.degrees.tensor,
        pp: layout.degrees.pipeline,
        cp: layout.degrees.context,
        ep: layout.degrees.expert,
        dp: layout.degrees.data,
        dp_replicate: layout.degrees.replicate,
        virtual_stages: layout.virtual_stages,
        micro_batch: layout.micro_batch,
        recompute: name_of(&Recomputation::ALL, layout.recomputation),
        sharding: name_of(&Sharding::ALL, layout.sharding),
        step_us: layout.time_us,
        interval_us: layout.interval_us,
        /// The share of draws of the errors, common and its own, in which it is the fastest.
        best: layout.best_share,
        memory_gib: layout.memory_bytes / GIB,
    }
}
