//! Arguments of Megatron-LM: a shell script, a command line, or the list of arguments in a log.
//!
//! Names and defaults as in Megatron-LM's `megatron/training/arguments.py`.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter::Peekable,
    str::Chars,
};

use super::{
    Attention, FeedForward, Layer, MOST_PREDICTION_LAYERS, MeasuredStep, MissingField, ModelFile, ModelFileError,
    NO_FP32, Norm, TrainingSettings, Transformer,
    hugging_face::runs,
    script::{Assumption, Command, LISTS, Script, Word, has_layers},
};
use crate::text::excerpt;

type Result<T> = std::result::Result<T, ModelFileError>;

/// The most conditions of which it is looked whether they make a difference.
const MOST_ASSUMPTIONS: usize = 16;

/// Whether a text has such arguments.
pub(super) fn is_one(text: &str) -> bool {
    text.contains("-num-layers") || text.contains("-num_layers") || text.contains("num_layers ....")
}

/// An argument's value; empty for a flag.
#[derive(Debug)]
struct Argument {
    line: u32,
    value: String,
}

#[derive(Default)]
struct Arguments {
    all: BTreeMap<String, Argument>,
    used: BTreeSet<String>,
    missing: Vec<MissingField>,
    notes: Vec<String>,
    /// The program that trains something else than a decoder, where it does.
    other_program: Option<String>,
}

/// Programs of Megatron-LM whose models are no decoders with attention in each layer.
const OTHER_PROGRAMS: [&str; 7] = [
    "pretrain_bert",
    "pretrain_ict",
    "pretrain_mamba",
    "pretrain_retro",
    "pretrain_t5",
    "pretrain_vision",
    "pretrain_vlm",
];

/// Name and value of a line of a log's list of arguments.
fn listed(line: &str) -> Option<(&str, &str)> {
    let (before, after) = line.split_once(" ...")?;
    let name = before.split_whitespace().next_back()?;
    let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let value = after.trim_start_matches('.').trim();
    (is_name && !value.is_empty()).then_some((name, value))
}

/// The words of a command, of which a quoted one may have several.
fn parts(command: &Command) -> impl Iterator<Item = &str> {
    command.whole.iter().flat_map(|word| word.split_whitespace())
}

/// Leaves the last of several different commands that train a model, and those that train none. Answers the note on it;
/// `None` where there is only one.
fn keep_last_launch(commands: &mut Vec<Command>) -> Option<String> {
    let is_launch = |command: &Command| !command.is_assignment && has_layers(&command.words);
    let last = commands.iter().rposition(is_launch)?;
    // The same training is often written for each node.
    let is_of_node = |part: &str| {
        let option = part.strip_prefix("--").unwrap_or_default();
        ["node", "master", "rdzv", "machine"].iter().any(|of| option.starts_with(of))
    };
    let of_all = |command: &Command| {
        let mut was_of_node = false;
        let is_own = |part: &&str| {
            let is_value = std::mem::replace(&mut was_of_node, is_of_node(part) && !part.contains('='));
            !is_value && !is_of_node(part)
        };
        parts(command).filter(is_own).map(str::to_owned).collect::<Vec<String>>()
    };
    let (words, line) = (of_all(&commands[last]), commands[last].words.first().map_or(1, |word| word.line));
    let before = commands.len();
    commands.retain(|command| !is_launch(command) || of_all(command) == words);
    let others = before - commands.len();
    (others > 0)
        .then(|| format!("It trains {} models one after the other: the last counts, of line {line}", others + 1))
}

/// The processes that `srun` or `mpirun` starts with a command, on these nodes unless it says others, and its line;
/// `None` where it does not say it.
fn tasks(command: &Command, nodes: Option<u32>) -> Option<(u32, u32)> {
    let parts: Vec<&str> = parts(command).collect();
    let is_launcher = |part: &&str| matches!(part.rsplit('/').next(), Some("srun" | "mpirun" | "mpiexec"));
    let first = parts.iter().position(is_launcher)?;
    // What follows the program is the program's own.
    let is_program = |part: &&&str| part.contains("python") || part.contains("torchrun") || part.ends_with(".py");
    let own = parts[first + 1..].iter().take_while(|part| !is_program(part)).copied().collect::<Vec<_>>();
    let value = |names: &[&str]| {
        own.iter().enumerate().find_map(|(at, part)| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let value = if value.is_empty() { own.get(at + 1).copied().unwrap_or_default() } else { value };
            let is_option = name.starts_with('-') && names.contains(&name.trim_start_matches('-'));
            is_option.then(|| value.parse::<u32>().ok())?
        })
    };
    let of_nodes = || value(&["N", "nodes"]).or(nodes)?.checked_mul(value(&["ntasks-per-node"])?);
    let tasks = value(&["n", "np", "ntasks"]).or_else(of_nodes)?;
    Some((tasks, command.words.first()?.line))
}

/// Why a value is open in which a variable or an expansion is left.
fn without_value(line: u32, value: &str) -> String {
    let why = match () {
        () if value.contains("${") || value.contains("$((") => "is an expansion that is not followed",
        () if value.contains("$(") => "is what a command prints, and none is run",
        () => "is not assigned in this file",
    };
    format!("line {line}: {} {why}", excerpt(value))
}

impl Arguments {
    /// The arguments of a text, where conditions that it does not decide are assumed to hold or not; what was assumed.
    fn of(text: &str, holds: &[bool]) -> (Self, Vec<Assumption>) {
        let mut arguments = Self::default();
        let mut rest = String::new();
        for (line, number) in text.lines().zip(1_u32..) {
            match listed(line) {
                Some((name, value)) => {
                    arguments.all.insert(name.to_owned(), Argument { line: number, value: value.to_owned() });
                }
                None => rest.push_str(line),
            }
            rest.push('\n');
        }
        let is_script = arguments.all.is_empty();
        let mut script = if is_script { Script::of(&rest, holds) } else { Script::of_log(&rest) };
        if is_script {
            arguments.notes.append(&mut script.notes);
            arguments.notes.extend(keep_last_launch(&mut script.commands));
        }
        let launched = script.commands.iter().filter(|command| has_layers(&command.words)).flat_map(parts);
        let other = launched.filter_map(|part| part.rsplit('/').next()?.strip_suffix(".py"));
        arguments.other_program =
            other.filter(|name| OTHER_PROGRAMS.iter().any(|known| name.starts_with(known))).last().map(excerpt);
        // What is assigned to variables counts where the file does not show the command that gets them.
        let shows = script.commands.iter().any(|command| !command.is_assignment && has_layers(&command.words));
        for command in script.commands.iter().filter(|command| !(shows && command.is_assignment)) {
            let mut pending = None;
            command.words.iter().for_each(|word| arguments.take(word, &mut pending));
        }
        // Words of DeepSpeed's launcher.
        for (name, of_torchrun) in [("num_nodes", "nnodes"), ("num_gpus", "nproc_per_node")] {
            if !arguments.all.contains_key(of_torchrun)
                && let Some(argument) = arguments.all.remove(name)
            {
                arguments.all.insert(of_torchrun.to_owned(), argument);
            }
        }
        // Without a launcher of its own, each task of the job is a process.
        let has_launcher =
            ["world_size", "nnodes", "nproc_per_node"].iter().any(|name| arguments.all.contains_key(*name));
        let nodes = script.slurm.nodes.map(|(nodes, _)| nodes);
        let mut launched = script.commands.iter().filter(|command| has_layers(&command.words));
        let said = launched.find_map(|command| tasks(command, nodes)).or(script.slurm.tasks());
        if let Some((tasks, line)) = said.or(script.slurm.gpus()).filter(|_| !has_launcher) {
            if said.is_none() {
                arguments
                    .notes
                    .push(format!("Line {line}: the job has {tasks} GPUs, and a process on each is assumed"));
            }
            arguments.all.insert("world_size".to_owned(), Argument { line, value: tasks.to_string() });
        }
        (arguments, script.assumptions)
    }

    /// Takes the options of a word, of which a quoted one may have several.
    fn take(&mut self, Word { text, line, .. }: &Word, pending: &mut Option<String>) {
        for part in text.split_whitespace() {
            if let Some(option) = part.strip_prefix("--").filter(|option| !option.starts_with('-')) {
                let (name, value) = option.split_once('=').unwrap_or((option, ""));
                let name = name.replace('-', "_");
                self.all.insert(name.clone(), Argument { line: *line, value: value.to_owned() });
                *pending = value.is_empty().then_some(name);
            } else if let Some(argument) = pending.as_ref().and_then(|name| self.all.get_mut(name)) {
                if !argument.value.is_empty() {
                    argument.value.push(' ');
                }
                argument.value.push_str(part);
                // Of these an option takes as many words as follow.
                pending.take_if(|name| !LISTS.contains(&name.replace('_', "-").as_str()));
            }
        }
    }

    fn value(&mut self, name: &str) -> Option<&Argument> {
        self.used.insert(name.to_owned());
        self.all.get(name).filter(|argument| argument.value != "None")
    }

    fn text(&mut self, name: &str) -> Option<String> {
        self.value(name).map(|argument| argument.value.clone())
    }

    /// One of these words, in any case; a variable that is assigned nowhere is asked for.
    fn word(&mut self, name: &str, known: &[&'static str]) -> Result<Option<&'static str>> {
        let Some(Argument { line, value }) = self.value(name) else { return Ok(None) };
        if value.contains('$') {
            let reason = without_value(*line, value);
            self.missing.push(MissingField { key: name.to_owned(), reason });
            return Ok(None);
        }
        let found = known.iter().find(|known| value.eq_ignore_ascii_case(known));
        found.map(|known| Some(*known)).ok_or_else(|| ModelFileError::Argument {
            line: *line,
            key: name.to_owned(),
            expected: format!("one of {}", known.join(", ")),
            found: excerpt(value),
        })
    }

    /// A flag, or `True` or `False` in a log.
    fn flag(&mut self, name: &str) -> bool {
        self.value(name).is_some_and(|argument| !argument.value.eq_ignore_ascii_case("false"))
    }

    /// A number; a variable that is assigned nowhere is asked for.
    fn count(&mut self, name: &str, most: u32) -> Result<Option<u32>> {
        let Some(Argument { line, value }) = self.value(name) else { return Ok(None) };
        if value.contains('$') {
            let reason = without_value(*line, value);
            self.missing.push(MissingField { key: name.to_owned(), reason });
            return Ok(None);
        }
        match value.parse() {
            Ok(number) if (1..=most).contains(&number) => Ok(Some(number)),
            _ => Err(ModelFileError::Argument {
                line: *line,
                key: name.to_owned(),
                expected: format!("a whole number from 1 to {most}"),
                found: excerpt(value),
            }),
        }
    }

    /// A size without which there is no model; 1 where it is missing.
    fn needed(&mut self, name: &str, most: u32) -> Result<u32> {
        let before = self.missing.len();
        let found = self.count(name, most)?;
        if found.is_none() && self.missing.len() == before {
            let reason = "the file does not say it".to_owned();
            self.missing.push(MissingField { key: name.to_owned(), reason });
        }
        Ok(found.unwrap_or(1))
    }

    fn contradiction(&self, name: &str, message: String) -> ModelFileError {
        let line = self.all.get(name).map_or(1, |argument| argument.line);
        ModelFileError::Contradiction { line, key: name.to_owned(), message }
    }
}

const MOST: u32 = 1 << 18;
const MOST_GPUS: u32 = 1 << 20;

/// Reads arguments.
///
/// # Errors
/// Returns an error if a value is not what its argument asks for, or if values contradict each other.
pub(super) fn read(text: &str) -> Result<ModelFile> {
    let (arguments, assumptions) = Arguments::of(text, &[]);
    let mut file = read_arguments(arguments)?;
    for (at, assumption) in assumptions.into_iter().enumerate().take(MOST_ASSUMPTIONS) {
        let mut holds = vec![true; at];
        holds.push(false);
        let other = read_arguments(Arguments::of(text, &holds).0);
        if other.map(|other| (other.model, other.training)) != Ok((file.model.clone(), file.training.clone())) {
            let Assumption { line, what } = assumption;
            file.notes.push(format!(
                "Line {line}: {what}. Otherwise the model or its training would be another; change the file to choose"
            ));
        }
    }
    file.measured = measured_step(text);
    Ok(file)
}

fn read_arguments(mut arguments: Arguments) -> Result<ModelFile> {
    if let Some(program) = arguments.other_program.take() {
        return Err(ModelFileError::NotADecoder { program });
    }
    let training = training(&mut arguments)?;
    // What is open of the layout and the batch can be chosen: the model is whole without.
    let open = std::mem::take(&mut arguments.missing);
    let model = model(&mut arguments, &training)?;
    let is_whole = arguments.missing.is_empty();
    let of_training = open.into_iter().filter(|field| field.key != "num_layers");
    arguments.missing.extend(of_training.collect::<Vec<_>>());
    let mut notes = std::mem::take(&mut arguments.notes);
    if training.global_batch.is_none() && training.micro_batches.is_some() {
        notes.push("Without global_batch_size a step is one micro-batch of each replica, as in Megatron".to_owned());
    }
    if training.precision.as_deref() == Some("fp32") {
        notes.push(NO_FP32.to_owned());
    }
    let tensor = training.tensor.unwrap_or(1);
    let of_experts = arguments.count("expert_tensor_parallel_size", MOST)?.unwrap_or(tensor);
    if model.has_experts() && of_experts > 1 {
        notes.push(format!(
            "Experts are split over {of_experts} ranks of a tensor group here (expert_tensor_parallel_size, by default the \
             tensor degree), which takes a multiple of tp × ep × pp GPUs; the estimate has them whole, as with 1, which \
             takes more memory"
        ));
    }
    if arguments.all.contains_key("world_size") {
        arguments.used.extend(["nodes", "np", "ntasks", "ntasks_per_node"].map(str::to_owned));
    }
    let rest: Vec<&str> =
        arguments.all.keys().filter(|name| !arguments.used.contains(*name)).map(String::as_str).collect();
    if !rest.is_empty() {
        notes.push(format!("These options are not used: {}", rest.join(", ")));
    }
    Ok(ModelFile { model: is_whole.then_some(model), training, measured: None, missing: arguments.missing, notes })
}

/// The value behind a label of a line of an iteration, such as `global batch size:   512 |`; of two, as some programs
/// print them, the first: `1700.0/1705.2`.
fn labelled<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(label)?;
    rest.trim_start().split([' ', '|', '/']).next()
}

/// What an iteration took, by the lines that a log has of them (`training_log` in `megatron/training/training.py`):
/// ` iteration  100/  500 | … elapsed time per iteration (ms): 6412.5 | … global batch size:  512 | …`. A batch that is
/// still growing is no batch of the run, so that only those count that are as large as the last one. A list of
/// arguments begins another run.
fn measured_step(text: &str) -> Option<MeasuredStep> {
    let mut last_batch = None;
    let mut times: Vec<f64> = Vec::new();
    let mut last_line = 0;
    for (line, number) in text.lines().zip(1_u64..) {
        if listed(line).is_some() {
            times.clear();
        }
        let Some(time) = labelled(line, "elapsed time per iteration (ms):") else { continue };
        let Some(ms) = time.parse::<f64>().ok().filter(|ms| ms.is_finite() && *ms > 0.0 && *ms < 1e9) else { continue };
        let batch = labelled(line, "global batch size:");
        if batch != last_batch {
            times.clear();
            last_batch = batch;
        }
        times.push(ms);
        last_line = number;
    }
    let time_us = crate::math::median(&mut times)? * 1e3;
    let global_batch = last_batch.and_then(|batch| batch.parse().ok());
    Some(MeasuredStep { time_us, global_batch, iterations: times.len(), line: last_line })
}

/// The chunks of a stage by `--pipeline-model-parallel-layout`, such as `Et*3|(tt|)*29mL`: parts between bars, with `*`
/// for repetitions (`PipelineParallelLayerLayout.parse_str_to_list`).
fn chunks(of: &mut Arguments, pipeline: u32) -> Option<u32> {
    let written = of.text("pipeline_model_parallel_layout")?;
    let parts = u64::from(bars(&mut written.chars().peekable(), 0)) + 1;
    let pipeline = u64::from(pipeline);
    let is_whole = parts.is_multiple_of(pipeline);
    of.notes.push(format!(
        "pipeline_model_parallel_layout has {parts} parts: {}",
        if is_whole {
            "the estimate spreads layers evenly over as many chunks".to_owned()
        } else {
            format!("no multiple of {pipeline} stages, and not used")
        }
    ));
    u32::try_from(parts / pipeline).ok().filter(|_| is_whole)
}

/// The bars up to a closing parenthesis, or the end.
fn bars(text: &mut Peekable<Chars<'_>>, depth: u32) -> u32 {
    let mut all = 0_u32;
    while let Some(c) = text.next() {
        let own = match c {
            '|' => 1,
            '(' if depth < 8 => bars(text, depth + 1),
            ')' => break,
            _ => 0,
        };
        let mut times = 1;
        if text.next_if_eq(&'*').is_some() {
            times = 0_u32;
            while let Some(digit) = text.peek().and_then(|c| c.to_digit(10)) {
                times = times.saturating_mul(10).saturating_add(digit);
                text.next();
            }
        }
        all = all.saturating_add(own.saturating_mul(times));
    }
    all
}

fn training(of: &mut Arguments) -> Result<TrainingSettings> {
    let layers = of.count("num_layers", 1 << 10)?;
    let pipeline = of.count("pipeline_model_parallel_size", MOST)?.unwrap_or(1);
    let virtual_stages = match of.count("num_virtual_stages_per_pipeline_rank", MOST)? {
        Some(stages) => Some(stages),
        None if of.all.contains_key("pipeline_model_parallel_layout") => chunks(of, pipeline),
        None => match (of.count("num_layers_per_virtual_pipeline_stage", MOST)?, layers) {
            (Some(each), Some(layers)) if !layers.is_multiple_of(pipeline.saturating_mul(each)) => {
                let message = format!(
                    "{each} layers do not divide the {layers} layers of {pipeline} stages into chunks of the same length"
                );
                return Err(of.contradiction("num_layers_per_virtual_pipeline_stage", message));
            }
            (Some(each), Some(layers)) => Some(layers / pipeline / each),
            _ => None,
        },
    };
    if of.flag("optimizer_cpu_offload") {
        let note =
            "optimizer_cpu_offload: the estimate keeps the optimizer on the GPU, which takes more memory and less time";
        of.notes.push(note.to_owned());
    }
    let is_bf16 = of.flag("bf16");
    let is_fp16 = of.flag("fp16");
    if is_bf16 && is_fp16 {
        let message = "bf16 and fp16 exclude each other, and Megatron refuses both: leave one out".to_owned();
        return Err(of.contradiction("fp16", message));
    }
    let fp8 = of.text("fp8_format");
    let settings = TrainingSettings {
        sequence: of.count("seq_length", 1 << 24)?,
        micro_batch: of.count("micro_batch_size", MOST)?,
        global_batch: of.count("global_batch_size", 1 << 30)?,
        tensor: Some(of.count("tensor_model_parallel_size", MOST)?.unwrap_or(1)),
        pipeline: Some(pipeline),
        context: Some(of.count("context_parallel_size", MOST)?.unwrap_or(1)),
        expert: Some(of.count("expert_model_parallel_size", MOST)?.unwrap_or(1)),
        replicate: of.count("num_distributed_optimizer_instances", MOST)?,
        virtual_stages,
        sequence_parallel: Some(of.flag("sequence_parallel")),
        distributed_optimizer: Some(of.flag("use_distributed_optimizer")),
        overlap_reduce: Some(of.flag("overlap_grad_reduce")),
        overlap_gather: Some(of.flag("overlap_param_gather")),
        gradient_bytes: gradient_bytes(of, is_bf16, is_fp16),
        recompute: Some(recomputation(of, layers)?),
        zero: zero(of)?,
        software: of.flag("deepspeed").then_some("megatron-lm"),
        precision: Some(
            if is_bf16 {
                "bf16"
            } else if is_fp16 {
                "fp16"
            } else {
                "fp32"
            }
            .to_owned(),
        ),
        fp8: if fp8.is_some() { fp8 } else { of.text("fp8") },
        ..TrainingSettings::default()
    };
    layout(of, settings)
}

/// What is computed again; `--recompute-activations` is short for `selective`, and `--checkpoint-activations` was
/// `full` before. What the estimate does not tell apart is noted.
fn recomputation(of: &mut Arguments, layers: Option<u32>) -> Result<String> {
    let (is_short, was_full) = (of.flag("recompute_activations"), of.flag("checkpoint_activations"));
    let method = of.word("recompute_method", &["uniform", "block"])?;
    let number = of.count("recompute_num_layers", 1 << 10)?;
    let kind = match of.word("recompute_granularity", &["full", "selective"])? {
        Some(kind) => kind,
        None if is_short => "selective",
        None if was_full => "full",
        None => "none",
    };
    match number.zip(method).filter(|_| kind == "full") {
        Some((number, "block")) if layers.is_some_and(|all| number < all) => of.notes.push(format!(
            "recompute_method block: {number} of {} layers are computed again there, of each stage; the estimate \
             computes all again, which takes longer and less memory",
            layers.unwrap_or(0)
        )),
        Some((number @ 2.., "uniform")) => of.notes.push(format!(
            "recompute_num_layers {number}: as many layers are computed again at once there, of which one input is kept; \
             the estimate computes each by itself and keeps its input"
        )),
        _ => {}
    }
    // A log has a list of Python.
    let modules = of.text("recompute_modules").unwrap_or_default().replace(['[', ']', '\'', '"', ','], " ");
    let modules: Vec<&str> = modules.split_whitespace().collect();
    if kind == "selective" && !modules.is_empty() && modules != ["core_attn"] {
        let modules = excerpt(&modules.join(" "));
        of.notes
            .push(format!("recompute_modules {modules}: the estimate computes the core of attention again instead"));
    }
    Ok(kind.to_owned())
}

/// What replicas share by FSDP or DeepSpeed, as a stage of ZeRO; `None` where neither is used.
fn zero(of: &mut Arguments) -> Result<Option<u32>> {
    let is_fsdp = of.flag("use_megatron_fsdp") | of.flag("use_custom_fsdp");
    let strategies = ["no_shard", "optim", "optim_grads", "optim_grads_params"];
    let strategy = of.word("data_parallel_sharding_strategy", &strategies)?;
    if of.flag("use_torch_fsdp2") {
        return Ok(Some(3));
    }
    if is_fsdp {
        let stage = strategy.and_then(|strategy| strategies.iter().position(|known| *known == strategy));
        return Ok(Some(stage.unwrap_or(0) as u32));
    }
    if let Some(strategy) = strategy.filter(|strategy| *strategy != strategies[0]) {
        of.notes.push(format!(
            "data_parallel_sharding_strategy {strategy} is not used: it counts with use_megatron_fsdp only"
        ));
    }
    // 0 is usual there, and read as any other number.
    let is_off = of.text("zero_stage").is_some_and(|stage| stage == "0");
    Ok(if is_off { Some(0) } else { of.count("zero_stage", 3)? })
}

/// Bytes of a gradient: 4 with bf16 unless `--grad-reduce-in-bf16`, 2 with fp16, or 4 where that is asked for
/// (`megatron/training/arguments.py`).
fn gradient_bytes(of: &mut Arguments, is_bf16: bool, is_fp16: bool) -> Option<u32> {
    let (is_short, is_long) = (of.flag("grad_reduce_in_bf16"), of.flag("accumulate_allreduce_grads_in_fp32"));
    match () {
        () if is_bf16 && is_short => Some(2),
        () if is_bf16 || is_long => Some(4),
        () => is_fp16.then_some(2),
    }
}

/// The replicas and micro-batches that follow where the number of GPUs is known.
fn layout(of: &mut Arguments, mut settings: TrainingSettings) -> Result<TrainingSettings> {
    let degrees = [settings.tensor, settings.pipeline, settings.context].map(|degree| u64::from(degree.unwrap_or(1)));
    let product: u64 = degrees.iter().product();
    // What starts the processes says the GPUs; arguments that are left open there are no gap of the model, and neither
    // are torchrun's own words, such as `gpu` processes or `1:4` nodes.
    let open = of.missing.len();
    for (name, is_open) in [("nproc_per_node", ["gpu", "auto", "cpu"]), ("nnodes", [":"; 3])] {
        let found = of.all.get(name).is_some_and(|argument| is_open.iter().any(|word| argument.value.contains(word)));
        if found {
            of.used.insert(name.to_owned());
            of.all.remove(name);
        }
    }
    let gpus = match of.count("world_size", MOST_GPUS)? {
        Some(gpus) => Some(u64::from(gpus)),
        None => {
            let (nodes, each) = (of.count("nnodes", MOST_GPUS)?, of.count("nproc_per_node", MOST_GPUS)?);
            nodes.zip(each).map(|(nodes, each)| u64::from(nodes) * u64::from(each))
        }
    };
    of.missing.truncate(open);
    let has_batch = settings.global_batch.is_some() || of.all.contains_key("global_batch_size");
    if !has_batch && settings.micro_batch.is_some() && !of.flag("deepspeed") {
        // Megatron takes the micro-batch of each replica (megatron/training/arguments.py).
        settings.micro_batches = Some(1);
    }
    let Some(gpus) = gpus else { return Ok(settings) };
    if !gpus.is_multiple_of(product) {
        let nearest = (gpus / product).max(1) * product;
        let message =
            format!("tensor·pipeline·context is {product}, which does not divide {gpus} GPUs (nearest: {nearest})");
        // Another number of GPUs may be asked about.
        of.missing.push(MissingField { key: "world_size".to_owned(), reason: message });
        return Ok(settings);
    }
    let data = gpus / product;
    settings.data = u32::try_from(data).ok();
    if let Some((micro, global)) = settings.micro_batch.zip(settings.global_batch) {
        let of_all = u64::from(micro) * data;
        let global = u64::from(global);
        if !global.is_multiple_of(of_all) {
            let nearest = (global / of_all).max(1) * of_all;
            let reason = format!(
                "{global} is no multiple of micro batch·replicas = {micro}·{data} = {of_all} (nearest: {nearest})"
            );
            of.missing.push(MissingField { key: "global_batch_size".to_owned(), reason });
            return Ok(settings);
        }
        settings.micro_batches = u32::try_from(global / of_all).ok();
    }
    Ok(settings)
}

fn model(of: &mut Arguments, training: &TrainingSettings) -> Result<Transformer> {
    let hidden = of.needed("hidden_size", MOST)?;
    let layers = of.needed("num_layers", 1 << 10)?;
    let is_gated = of.flag("swiglu");
    // A log says the opposite of the option.
    let has_bias =
        !of.flag("disable_bias_linear") && (!of.all.contains_key("add_bias_linear") || of.flag("add_bias_linear"));
    of.used.insert("add_bias_linear".to_owned());
    let otherwise = if is_gated { hidden.saturating_mul(8) / 3 / 64 * 64 } else { hidden.saturating_mul(4) };
    let width = of.count("ffn_hidden_size", 1 << 20)?.unwrap_or(otherwise);
    let attention = attention(of, hidden, has_bias)?;
    let dense = FeedForward::Dense { width, is_gated, has_bias };
    let mixture = experts(of, width, is_gated, has_bias, training.expert.unwrap_or(1))?;
    let pattern = pattern(of, layers)?;
    let layer = |is_mixture: &bool| Layer { attention, feed_forward: mixture.filter(|_| *is_mixture).unwrap_or(dense) };
    // Megatron-DeepSpeed writes it in small letters.
    let is_rms = of.word("normalization", &["LayerNorm", "RMSNorm"])? == Some("RMSNorm");
    let is_learned = of.text("position_embedding_type").is_none_or(|kind| kind == "learned_absolute")
        && !of.flag("use_rotary_position_embeddings");
    let positions = match (is_learned, of.count("max_position_embeddings", 1 << 24)?) {
        (false, _) => 0,
        (true, Some(positions)) => match training.sequence {
            Some(sequence) if sequence > positions => {
                let message =
                    format!("{positions} learned positions are fewer than the {sequence} tokens of a sequence");
                return Err(of.contradiction("max_position_embeddings", message));
            }
            _ => positions,
        },
        (true, None) => of.needed("seq_length", 1 << 24)?,
    };
    let mut model = Transformer {
        hidden,
        vocabulary: vocabulary(of, training.tensor.unwrap_or(1))?,
        is_tied: !of.flag("untie_embeddings_and_output_weights"),
        positions,
        norm: if is_rms { Norm::Rms } else { Norm::Layer },
        layers: runs(pattern.iter().map(layer)),
        prediction_layers: 0,
    };
    // Each is like the last layer, in the pattern of experts as well (`get_gpt_mtp_block_spec`).
    model.set_prediction_layers(of.count("mtp_num_layers", MOST_PREDICTION_LAYERS)?.unwrap_or(0));
    Ok(model)
}

/// The vocabulary, padded so that every rank has the same part.
fn vocabulary(of: &mut Arguments, tensor: u32) -> Result<u32> {
    if let Some(padded) = of.count("padded_vocab_size", 1 << 24)? {
        return Ok(padded);
    }
    let size = of.needed("vocab_size", 1 << 24)?;
    let multiple = of.count("make_vocab_size_divisible_by", MOST)?.unwrap_or(128).saturating_mul(tensor);
    Ok(size.div_ceil(multiple).saturating_mul(multiple))
}

fn attention(of: &mut Arguments, hidden: u32, has_bias: bool) -> Result<Attention> {
    let heads = of.needed("num_attention_heads", 1 << 12)?;
    if of.flag("multi_latent_attention") {
        return Ok(Attention::Latent {
            heads,
            query_rank: of.count("q_lora_rank", MOST)?,
            kv_rank: of.count("kv_lora_rank", MOST)?.unwrap_or(32),
            nope: of.count("qk_head_dim", MOST)?.unwrap_or(128),
            rope: of.count("qk_pos_emb_head_dim", MOST)?.unwrap_or(64),
            value: of.count("v_head_dim", MOST)?.unwrap_or(128),
        });
    }
    let groups = of.count("num_query_groups", 1 << 12)?.unwrap_or(1);
    // Megatron-DeepSpeed's.
    let own = of.count("num_key_value_heads", 1 << 12)?.unwrap_or(heads);
    let kv_heads = if of.flag("group_query_attention") {
        groups
    } else {
        // A log has the default of 1 as well.
        if groups != 1 {
            of.notes.push(format!(
                "num_query_groups {groups} is not used: Megatron-LM reads it with group_query_attention, which is not given, \
                 and otherwise has as many heads of keys and values as of queries"
            ));
        }
        own
    };
    if !heads.is_multiple_of(kv_heads) && of.missing.is_empty() {
        let message = format!("{kv_heads} heads of keys and values do not divide {heads} heads of queries");
        return Err(of.contradiction("num_query_groups", message));
    }
    let width = match of.count("kv_channels", MOST)? {
        Some(width) => width,
        None if hidden.is_multiple_of(heads) || !of.missing.is_empty() => (hidden / heads).max(1),
        None => {
            let message =
                format!("{heads} heads do not divide the hidden size of {hidden}, and there is no kv-channels");
            return Err(of.contradiction("num_attention_heads", message));
        }
    };
    Ok(Attention::Grouped {
        heads,
        kv_heads,
        width,
        has_bias: has_bias || of.flag("add_qkv_bias"),
        has_output_bias: has_bias,
        has_qk_norms: of.flag("qk_layernorm"),
        has_sinks: false,
        window: None,
    })
}

fn experts(of: &mut Arguments, width: u32, is_gated: bool, has_bias: bool, ep: u32) -> Result<Option<FeedForward>> {
    let Some(experts) = of.count("num_experts", 1 << 12)? else { return Ok(None) };
    let top_k = of.count("moe_router_topk", 1 << 12)?.unwrap_or(2);
    if top_k > experts {
        let message = format!("a token can't be processed by {top_k} of {experts} experts");
        return Err(of.contradiction("moe_router_topk", message));
    }
    if !experts.is_multiple_of(ep) {
        let nearest =
            (1..=experts).filter(|by| experts.is_multiple_of(*by)).min_by_key(|by| by.abs_diff(ep)).unwrap_or(1);
        let message = format!("{experts} experts can't be spread evenly over {ep} GPUs (nearest: {nearest})");
        return Err(of.contradiction("expert_model_parallel_size", message));
    }
    if !is_gated {
        let message = "experts without a gate (swiglu) are not read".to_owned();
        return Err(of.contradiction("num_experts", message));
    }
    Ok(Some(FeedForward::Experts {
        experts,
        top_k,
        width: of.count("moe_ffn_hidden_size", 1 << 20)?.unwrap_or(width),
        shared_width: of.count("moe_shared_expert_intermediate_size", 1 << 20)?.unwrap_or(0),
        has_router_bias: of.flag("moe_router_enable_expert_bias"),
        has_bias,
    }))
}

/// Which layers have experts, where there are any: every n-th, or a list of 0 and 1 such as `([0]*3+[1]*58)`.
fn pattern(of: &mut Arguments, layers: u32) -> Result<Vec<bool>> {
    let Some(written) = of.text("moe_layer_freq") else { return Ok(vec![true; layers as usize]) };
    if let Ok(every @ 1..) = written.parse::<u32>() {
        return Ok((0..layers).map(|index| index.is_multiple_of(every)).collect());
    }
    let mut pattern = Vec::new();
    for part in written.trim_matches(['(', ')', '\'', '"']).split('+') {
        let (list, times) = part.split_once('*').unwrap_or((part, "1"));
        let times = times.trim().parse::<usize>().unwrap_or(0).min(1 << 10);
        let inner = list.trim().trim_matches(['[', ']']);
        let list: Vec<bool> = inner
            .split(',')
            .filter_map(|flag| match flag.trim() {
                "0" => Some(false),
                "1" => Some(true),
                _ => None,
            })
            .collect();
        if list.len() <= 1 << 10 {
            pattern.extend(list.repeat(times).into_iter().take(1 << 11));
        }
    }
    if pattern.len() != layers as usize && of.missing.is_empty() {
        let message = format!("{} lists {} layers, and there are {layers}", excerpt(&written), pattern.len());
        return Err(of.contradiction("moe_layer_freq", message));
    }
    Ok(pattern)
}
