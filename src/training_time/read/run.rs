//! The configuration of a run, in the reference's short form, in the long form, or as vTrain's JSON.

use super::{
    super::{
        catalogue::Catalogue,
        run::{Execution, Layout, Model, Recompute, Run},
        step::rules::nearest_divisor,
    },
    name,
};
use crate::text::yaml::{Fields, KeyError, Node};

type Result<T> = std::result::Result<T, KeyError>;

/// A run as it was configured.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfiguredRun {
    /// The run, with defaults filled in.
    pub run: Run,
    /// Operators that the configuration names besides those of a layer.
    pub functions: Vec<String>,
    /// Bandwidth of a node to others in GB/s and of a GPU within, where the configuration says so.
    pub bandwidths: Option<[f64; 2]>,
    /// Notes, such as on keys that are not understood.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Short,
    Long,
    VTrain,
}

/// The form of a run's configuration; `None` if it is none.
pub(super) fn form(root: &Node) -> Option<Form> {
    let has = |key: &str| root.get(key).is_some();
    match () {
        () if has("training_config") => Some(Form::Short),
        () if has("model") && has("parallel") => Some(Form::Long),
        () if has("tensor_parallel_size") && has("num_layers") => Some(Form::VTrain),
        () => None,
    }
}

/// Reads a configuration. Returns an error with its location if a key is missing or has another kind of value, or if
/// the layout breaks a rule.
pub(super) fn run(root: &Node, form: Form, path: &str, catalogue: &Catalogue) -> Result<ConfiguredRun> {
    let mut fields = Fields::of(root, "the configuration")?;
    let mut configured = match form {
        Form::Short => short(&mut fields, catalogue)?,
        Form::Long => long(&mut fields, catalogue)?,
        Form::VTrain => v_train(&mut fields, catalogue)?,
    };
    configured.run.name = name::stem(path).to_owned();
    let told = |key: &str| {
        // A key with something behind it is meant before one that is spelled alike.
        let begins = KEYS.into_iter().filter(|known| key.strip_prefix(known).is_some_and(|rest| rest.starts_with('_')));
        let near: Vec<&str> = begins.chain(nearest(key, KEYS.into_iter())).filter(|_| form != Form::VTrain).collect();
        let near = near.first().map_or_else(String::new, |near| format!(" (nearest in spelling: {near})"));
        format!("{}{near}", crate::text::excerpt(key))
    };
    let unknown: Vec<String> = fields.rest().map(|(key, ..)| told(key)).collect();
    if !unknown.is_empty() {
        configured.notes.push(format!("These keys say nothing here: {}", unknown.join(", ")));
    }
    check(root, &configured, catalogue)?;
    Ok(configured)
}

/// The keys that the short form and the long form have beside their shape.
const KEYS: [&str; 27] = [
    "gpu_name",
    "cluster",
    "operator_data_folder",
    "nccl_data_folder",
    "function_list",
    "architecture",
    "encoder_function_list",
    "vocabulary",
    "ffn",
    "kv_heads",
    "experts",
    "top_k",
    "fwd_syncs",
    "bwd_syncs",
    "load_balance",
    "layernorm_name",
    "comm_bucket",
    "recompute",
    "zero",
    "schedule",
    "virtual_stages",
    "layers_per_stage",
    "p2p",
    "dp_overlap",
    "memory_gib",
    "gradient_bytes",
    "sequence_parallel",
];

/// The short names of the fields of `training_config`, in order.
const SHORT: [&str; 9] = ["pp", "mp", "dp", "b", "h", "l", "dim", "steps_per_update", "gpus_per_node"];

fn short(fields: &mut Fields<'_>, catalogue: &Catalogue) -> Result<ConfiguredRun> {
    let form = format!("[{}]", SHORT.join(", "));
    let node = fields.needed("training_config", &form)?;
    let list = node.list("training_config")?;
    if list.len() != SHORT.len() {
        let expected = format!("{} numbers, {form},", SHORT.len());
        return Err(node.unexpected("training_config", &expected));
    }
    let mut numbers = [0; SHORT.len()];
    for ((number, item), (place, key)) in numbers.iter_mut().zip(list).zip((1..).zip(SHORT)) {
        *number = item.count(&format!("training_config, number {place} ({key})"), 1)?;
    }
    let [pp, mp, dp, b, h, l, dim, m, g] = numbers;
    let layers = fields.needed("encoders", "the number of layers")?.count("encoders", 1)?;
    let layout = Layout { pipeline: pp, tensor: mp, data: dp, expert: 1, gpus_per_node: g };
    let model = Model::dense(layers, dim, h, l);
    common(fields, model, layout, b, m, catalogue)
}

fn long(fields: &mut Fields<'_>, catalogue: &Catalogue) -> Result<ConfiguredRun> {
    let mut model = Fields::of(fields.needed("model", "a mapping")?, "model")?;
    let mut needed = |keys: &[&'static str], expected: &str| match model.any(keys) {
        Some((key, node)) => node.count(key, 1),
        None => Err(model.missing(keys[0], expected)),
    };
    let dense = Model::dense(
        needed(&["layers", "E", "encoders"], "the number of layers")?,
        needed(&["hidden", "dim"], "the hidden size")?,
        needed(&["heads", "h"], "the number of heads")?,
        needed(&["sequence", "l"], "the sequence length")?,
    );
    let mut parallel = Fields::of(fields.needed("parallel", "a mapping")?, "parallel")?;
    let mut degree = |keys: &[&'static str]| parallel.any(keys).map_or(Ok(1), |(key, node)| node.count(key, 1));
    let layout = Layout {
        pipeline: degree(&["pp", "pipeline"])?,
        tensor: degree(&["tp", "mp", "tensor"])?,
        data: degree(&["dp", "data"])?,
        expert: degree(&["ep", "expert"])?,
        gpus_per_node: match parallel.optional("gpus_per_node") {
            Some(node) => node.count("gpus_per_node", 1)?,
            None => fields.needed("gpus_per_node", "the GPUs of a node")?.count("gpus_per_node", 1)?,
        },
    };
    parallel.refuse_rest("pp, tp, dp, ep or gpus_per_node")?;
    let batch_node = fields.needed("batch", "a mapping with micro and global")?;
    let mut batch = Fields::of(batch_node, "batch")?;
    let micro = batch.needed("micro", "sequences of a micro-batch")?.count("micro", 1)?;
    let m = match batch.optional("global") {
        Some(node) => micro_batches(node, "global", node.count("global", 1)?, micro, layout.data)?,
        None => batch.needed("micro_batches", "their number per step, or global")?.count("micro_batches", 1)?,
    };
    batch.refuse_rest("micro, global or micro_batches")?;
    // What the model says beside its shape are the same keys as in the short form.
    let mut configured = common(fields, dense, layout, micro, m, catalogue)?;
    model_keys(&mut model, &mut configured, catalogue)?;
    model.refuse_rest("a key of the model")?;
    Ok(configured)
}

fn v_train(fields: &mut Fields<'_>, catalogue: &Catalogue) -> Result<ConfiguredRun> {
    let mut count = |key: &str| fields.needed(key, "a whole number")?.count(key, 1);
    let dense =
        Model::dense(count("num_layers")?, count("hidden_size")?, count("num_attention_heads")?, count("max_length")?);
    let (tensor, data, pipeline) =
        (count("tensor_parallel_size")?, count("data_parallel_size")?, count("pipeline_parallel_size")?);
    let (micro, global) = (count("micro_batch_size")?, count("global_batch_size")?);
    let global_node = fields.needed("global_batch_size", "a whole number")?;
    let m = micro_batches(global_node, "global_batch_size", global, micro, data)?;
    let mut optional = |key: &str, default: u32| fields.optional(key).map_or(Ok(default), |node| node.count(key, 1));
    let gpus_per_node = optional("node_size", 8)?;
    let vocabulary = optional("vocab_size", 50257)?;
    let layout = Layout { pipeline, tensor, data, expert: 1, gpus_per_node };
    if let Some(node) = fields.optional("num_gpus")
        && u64::from(node.count("num_gpus", 1)?) != layout.gpus()
    {
        let message = format!("{} GPUs are not tensor·data·pipeline = {}", node.described(), layout.gpus());
        return Err(node.wrong("num_gpus", message));
    }
    let recomputes = fields.optional("use_checkpoint").map_or(Ok(true), |node| node.flag("use_checkpoint"))?;
    let mut bandwidth = |key: &str| fields.optional(key).map(|node| node.number(key)).transpose();
    // Gb/s of a node, and GB/s of a GPU.
    let (inter, intra) = (bandwidth("inter_node_bandwidth")?, bandwidth("intra_node_bandwidth")?);
    let gpt = catalogue.architecture("gpt");
    let execution = Execution {
        recompute: if recomputes { Recompute::Full } else { Recompute::None },
        zero: 0,
        ..Execution::default()
    };
    let model = Model { vocabulary, norm: "layernorm".to_owned(), ..dense };
    let gpu = fields.optional("gpu_name").map(|node| node.word("gpu_name").map(str::to_owned)).transpose()?;
    let mut configured = ConfiguredRun {
        run: Run { execution, gpu, ..new(model, layout, micro, m) },
        functions: Vec::new(),
        bandwidths: intra.map(|intra| [inter.unwrap_or(800.0) / 8.0, intra]),
        notes: Vec::new(),
    };
    if inter.or(intra).is_some() {
        let note = "inter_node_bandwidth and intra_node_bandwidth change nothing: the samples' curves count, and where there \
                    are none the cluster's entry in the catalogue";
        configured.notes.push(note.to_owned());
    }
    if let Some(gpt) = gpt {
        configured.run.model = configured.run.model.with_layer_of(gpt);
    }
    Ok(configured)
}

fn new(model: Model, layout: Layout, micro_batch: u32, micro_batches: u32) -> Run {
    Run {
        name: String::new(),
        gpu: None,
        cluster: None,
        model,
        layout,
        micro_batch,
        micro_batches,
        execution: Execution::default(),
    }
}

fn micro_batches(node: &Node, key: &str, global: u32, micro: u32, data: u32) -> Result<u32> {
    let per_slot = u64::from(micro) * u64::from(data);
    if u64::from(global) % per_slot != 0 {
        let near = (u64::from(global) / per_slot).max(1) * per_slot;
        return Err(node.wrong(key, format!("{global} is not divisible by micro·dp = {per_slot}; {near} is")));
    }
    Ok((u64::from(global) / per_slot) as u32)
}

/// Reads the keys that both forms share.
fn common(
    fields: &mut Fields<'_>,
    model: Model,
    layout: Layout,
    micro_batch: u32,
    micro_batches: u32,
    catalogue: &Catalogue,
) -> Result<ConfiguredRun> {
    let mut run = new(model, layout, micro_batch, micro_batches);
    run.gpu = fields.optional("gpu_name").map(|node| node.word("gpu_name").map(str::to_owned)).transpose()?;
    if let Some((key, node)) = fields.any(&["cluster", "operator_data_folder", "nccl_data_folder"]) {
        let text = node.word(key)?;
        let parts: Vec<&str> = text.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
        let named =
            if key == "cluster" { parts.last() } else { parts.len().checked_sub(2).and_then(|at| parts.get(at)) };
        run.cluster = named.map(|name| (*name).to_owned());
    }
    for key in ["operator_data_folder", "nccl_data_folder"] {
        fields.optional(key);
    }
    execution(fields, &mut run.execution)?;
    let functions = fields.optional("function_list").map(|node| node.words("function_list")).transpose()?;
    let mut configured =
        ConfiguredRun { run, functions: functions.unwrap_or_default(), bandwidths: None, notes: Vec::new() };
    model_keys(fields, &mut configured, catalogue)?;
    Ok(configured)
}

/// Keys that describe the model, of the configuration itself or of its part `model`.
fn model_keys(fields: &mut Fields<'_>, configured: &mut ConfiguredRun, catalogue: &Catalogue) -> Result<()> {
    let model = &mut configured.run.model;
    let named = fields.optional("architecture");
    let architecture = match named {
        Some(node) => {
            let name = node.word("architecture")?;
            let known = catalogue.architectures.iter().map(|architecture| architecture.name.as_str());
            let found = catalogue.architecture(name);
            found.map(Some).ok_or_else(|| node.wrong("architecture", unknown("architecture", name, known)))?
        }
        // A layer that is spelled out is of no named architecture.
        None if model.layer.is_empty() && model.architecture.is_none() => catalogue.architectures.first(),
        None => None,
    };
    let listed = fields.optional("encoder_function_list");
    if let Some(architecture) = architecture {
        *model = model.clone().with_layer_of(architecture);
    }
    if let Some(node) = listed {
        model.layer = node.words("encoder_function_list")?;
        if model.layer.is_empty() {
            return Err(node.unexpected("encoder_function_list", "at least one operator"));
        }
        if named.is_none() {
            model.architecture = None;
        }
    }
    let mut count = |key: &str, value: &mut u32, least: u32| {
        fields.optional(key).map_or(Ok(()), |node| node.count(key, least).map(|read| *value = read))
    };
    count("vocabulary", &mut model.vocabulary, 1)?;
    count("ffn", &mut model.ffn, 1)?;
    count("kv_heads", &mut model.kv_heads, 1)?;
    count("experts", &mut model.experts, 1)?;
    count("top_k", &mut model.top_k, 1)?;
    count("fwd_syncs", &mut model.forward_syncs, 0)?;
    count("bwd_syncs", &mut model.backward_syncs, 0)?;
    if let Some(node) = fields.optional("load_balance") {
        model.load_balance = node.number("load_balance")?;
        if model.load_balance < 1.0 {
            return Err(node.unexpected("load_balance", "a number of at least 1"));
        }
    }
    if let Some(node) = fields.optional("layernorm_name") {
        node.word("layernorm_name")?.clone_into(&mut model.norm);
    }
    Ok(())
}

fn execution(fields: &mut Fields<'_>, execution: &mut Execution) -> Result<()> {
    if let Some(node) = fields.optional("comm_bucket") {
        execution.bucket_elements = node.whole("comm_bucket", 1)?;
    }
    if let Some(node) = fields.optional("recompute") {
        execution.recompute = match node.text().unwrap_or_default() {
            "full" => Recompute::Full,
            "selective" => Recompute::Selective,
            // Without quotes it is what stands for nothing.
            "none" => Recompute::None,
            _ => return Err(node.unexpected("recompute", "full, selective or none")),
        };
    }
    if let Some(node) = fields.optional("zero") {
        execution.zero = match node.text() {
            Some("0") => 0,
            Some("1") => 1,
            _ => return Err(node.unexpected("zero", "0 or 1")),
        };
    }
    let schedule = fields.optional("schedule");
    let chunks = fields.optional("virtual_stages");
    let is_chunked = chunks.is_some();
    if let Some(node) = chunks {
        execution.virtual_stages = node.count("virtual_stages", 1)?;
    }
    match schedule.map(|node| (node, node.text().unwrap_or_default())) {
        None => {}
        Some((node, "1f1b")) if execution.virtual_stages > 1 => {
            let chunks = execution.virtual_stages;
            return Err(node.wrong("schedule", format!("1f1b has one chunk a stage, and virtual_stages is {chunks}")));
        }
        Some((_, "1f1b")) => {}
        Some((node, "interleaved")) if is_chunked && execution.virtual_stages < 2 => {
            return Err(node.wrong("schedule", "interleaved has at least 2 chunks a stage, and virtual_stages is 1"));
        }
        Some((_, "interleaved")) => execution.virtual_stages = execution.virtual_stages.max(2),
        Some((node, _)) => return Err(node.unexpected("schedule", "1f1b or interleaved")),
    }
    if let Some(node) = fields.optional("layers_per_stage") {
        let layers = node.list("layers_per_stage")?.iter().map(|item| item.count("layers_per_stage", 0));
        execution.layers_per_stage = Some(layers.collect::<Result<_>>()?);
    }
    if let Some(node) = fields.optional("p2p") {
        execution.p2p_overlapped = match node.text() {
            Some("blocking") => false,
            Some("overlapped") => true,
            _ => return Err(node.unexpected("p2p", "blocking or overlapped")),
        };
    }
    if let Some(node) = fields.optional("dp_overlap") {
        execution.data_overlap = node.number("dp_overlap")?;
        if !(0.0..=1.0).contains(&execution.data_overlap) {
            return Err(node.unexpected("dp_overlap", "a share from 0 to 1"));
        }
    }
    if let Some(node) = fields.optional("memory_gib") {
        let memory = node.number("memory_gib")?;
        if memory <= 0.0 {
            return Err(node.unexpected("memory_gib", "a number above zero"));
        }
        execution.memory_gib = Some(memory);
    }
    if let Some(node) = fields.optional("gradient_bytes") {
        execution.gradient_bytes = node.count("gradient_bytes", 1)?;
    }
    if let Some(node) = fields.optional("sequence_parallel") {
        execution.sequence_parallel = node.flag("sequence_parallel")?;
    }
    if let Some(node) = fields.optional("precision") {
        execution.precision = node.word("precision")?.to_ascii_lowercase();
    }
    Ok(())
}

/// A name that nothing is known of, and the known ones nearest in spelling.
fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let name = crate::text::excerpt(name);
    match nearest(&name, known).as_slice() {
        [] => format!("there is no {kind} \"{name}\""),
        near => format!("there is no {kind} \"{name}\"; nearest in spelling: {}", near.join(", ")),
    }
}

/// The known names that are nearest in spelling, at most three.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    use crate::order::CompactSort;
    let lower = name.to_ascii_lowercase();
    let mut scored: Vec<(usize, &str)> = known.map(|k| (distance(&lower, &k.to_ascii_lowercase()), k)).collect();
    scored.compact_sort_by_key(|(distance, _)| *distance);
    let near = |(distance, known): &&(usize, &str)| *distance * 2 <= known.len().max(name.len());
    scored.iter().filter(near).take(3).map(|(_, known)| *known).collect()
}

/// Insertions, deletions and replacements from one word to the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(80).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(80).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The names of a size in the forms of a configuration.
const PIPELINE: [&str; 3] = ["pp", "pipeline", "pipeline_parallel_size"];
const TENSOR: [&str; 4] = ["tp", "mp", "tensor", "tensor_parallel_size"];
const HEADS: [&str; 3] = ["heads", "h", "num_attention_heads"];
const HIDDEN: [&str; 3] = ["hidden", "dim", "hidden_size"];
const LAYERS: [&str; 4] = ["layers", "encoders", "E", "num_layers"];

/// A size by the name that the configuration has for it, and where it stands there; the first of the names where it
/// has none.
fn said<'a>(root: &'a Node, names: &[&'static str]) -> (&'static str, &'a Node) {
    let short = root.get("training_config").and_then(Node::items);
    let found = names.iter().find_map(|name| {
        let in_list = || short?.get(SHORT.iter().position(|known| known == name)?);
        let of = |part: &str| root.get(part)?.get(name);
        Some((*name, in_list().or_else(|| of("model")).or_else(|| of("parallel")).or_else(|| root.get(name))?))
    });
    found.unwrap_or((names.first().copied().unwrap_or_default(), root))
}

/// The rules of a layout, each with the nearest value that obeys it; and operators that are known, by the catalogue or
/// as new ones by the samples.
fn check(root: &Node, configured: &ConfiguredRun, catalogue: &Catalogue) -> Result<()> {
    let run = &configured.run;
    let (model, layout) = (&run.model, &run.layout);
    let place = |key: &str| root.get(key).unwrap_or(root);
    if layout.pipeline > model.layers {
        let ((name, node), all) = (said(root, &PIPELINE), model.layers);
        let message = format!(
            "{name} = {} is more than the {all} layers: a stage would have none; {all} is the most",
            layout.pipeline
        );
        return Err(node.wrong(name, message));
    }
    let divides = |keys: &[&'static str], whole: u32, of: &[&'static str], part: u32| {
        if whole.is_multiple_of(part) {
            return Ok(());
        }
        let near = nearest_divisor(whole, part);
        let ((name, node), (of, _)) = (said(root, keys), said(root, of));
        Err(node.wrong(name, format!("{name} = {part} does not divide {of} = {whole}; {near} does")))
    };
    divides(&TENSOR, model.heads, &HEADS, layout.tensor)?;
    divides(&TENSOR, model.hidden, &HIDDEN, layout.tensor)?;
    divides(&HEADS, model.hidden, &HIDDEN, model.heads)?;
    divides(&["kv_heads"], model.heads, &HEADS, model.kv_heads)?;
    divides(&["ep", "expert"], layout.data, &["dp", "data", "data_parallel_size"], layout.expert)?;
    if let Some(stages) = &run.execution.layers_per_stage {
        let sum: u64 = stages.iter().map(|layers| u64::from(*layers)).sum();
        let rule = match () {
            () if stages.len() != layout.pipeline as usize => {
                Some(format!("{} numbers for {} = {} stages", stages.len(), said(root, &PIPELINE).0, layout.pipeline))
            }
            () if stages.contains(&0) => Some("a stage without layers; 1 is the least".to_owned()),
            () if sum != u64::from(model.layers) => {
                Some(format!("they sum to {sum}, not to {} = {}", said(root, &LAYERS).0, model.layers))
            }
            () => None,
        };
        if let Some(rule) = rule {
            return Err(place("layers_per_stage").wrong("layers_per_stage", rule));
        }
    }
    let listed = ["encoder_function_list", "function_list"].into_iter().filter_map(|key| Some((key, root.get(key)?)));
    for (key, node) in listed {
        for item in node.list(key)? {
            let name = item.word(key)?;
            if catalogue.operator(name).is_none() {
                let known = catalogue.operators.iter().map(|operator| operator.name.as_str());
                return Err(item.wrong(key, unknown("operator", name, known)));
            }
        }
    }
    Ok(())
}
