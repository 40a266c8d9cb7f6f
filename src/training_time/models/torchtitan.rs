//! TorchTitan's TOML: a model by name and flavour, and how it is trained.
//!
//! Names and defaults as in TorchTitan's `config/job_config.py`; those before it was split into tables are read too.

use super::{MissingField, ModelFile, ModelFileError, TrainingSettings, known};
use crate::text::yaml::{Fields, Node};

type Result<T> = std::result::Result<T, ModelFileError>;

/// Names and flavours of models that are known by another name.
const FLAVOURS: [(&str, &str, &str); 8] = [
    ("llama3", "8B", "llama-3.1-8b"),
    ("llama3", "70B", "llama-3.1-70b"),
    ("llama3", "405B", "llama-3.1-405b"),
    ("llama2", "7B", "llama-2-7b"),
    ("qwen3", "8B", "qwen3-8b"),
    ("qwen3", "30B-A3B", "qwen3-30b-a3b"),
    ("deepseek_v3", "16B", "deepseek-v2-lite"),
    ("deepseek_v3", "671B", "deepseek-v3"),
];

/// Schedules with the name by which each is estimated, and whether a stage has several chunks.
const SCHEDULES: [(&str, &str, bool); 6] = [
    ("1F1B", "1f1b", false),
    ("GPipe", "gpipe", false),
    ("Interleaved1F1B", "1f1b", true),
    ("InterleavedZeroBubble", "zb-h1", true),
    ("ZBVZeroBubble", "zb-h1", true),
    ("DualPipeV", "dualpipe", false),
];

const MOST: u32 = 1 << 18;

/// Whether a text has the tables of such a configuration.
pub(super) fn is_one(text: &str) -> bool {
    // A header may have blanks within its brackets, and a comment behind them.
    let header = |line: &str| {
        let line = line.trim_start_matches('\u{feff}').trim_start().strip_prefix('[')?;
        let (name, rest) = line.split_once(']')?;
        let rest = rest.trim_start();
        (rest.is_empty() || rest.starts_with('#')).then(|| name.trim().to_owned())
    };
    let has = |table: &str| text.lines().any(|line| header(line).is_some_and(|name| name == table));
    has("model") && has("training")
}

/// The tables of a configuration, with the keys that were used.
struct Tables<'a> {
    /// Each with its name and the number of its keys.
    all: Vec<(&'a str, usize, Fields<'a>)>,
    notes: Vec<String>,
    missing: Vec<MissingField>,
}

impl<'a> Tables<'a> {
    fn of(root: &'a Node) -> Result<Self> {
        let entries = root.entries().unwrap_or_default();
        let tables = entries.iter().filter_map(|(name, table)| Some((name.text()?, table, table.entries()?.len())));
        let all = tables.map(|(name, table, keys)| Ok((name, keys, Fields::of(table, name)?)));
        Ok(Self { all: all.collect::<Result<_>>()?, notes: Vec::new(), missing: Vec::new() })
    }

    /// The value of a key in the first of these tables that has it.
    fn find(&mut self, tables: &[&str], key: &str) -> Option<&'a Node> {
        tables.iter().find_map(|name| self.all.iter_mut().find(|(known, ..)| known == name)?.2.optional(key))
    }

    /// The degree of a kind of parallelism, which is 1 where it is not said.
    fn degree(&mut self, key: &str) -> Result<u32> {
        match self.find(&["parallelism", "training", "experimental"], key) {
            Some(node) => Ok(within(node, key)?),
            None => Ok(1),
        }
    }

    /// The number of a key; `None` for −1, which stands for what the rest gives.
    fn open(&mut self, tables: &[&str], key: &str) -> Result<Option<u32>> {
        match self.find(tables, key) {
            Some(node) if node.text() == Some("-1") => Ok(None),
            Some(node) => within(node, key).map(Some),
            None => Ok(None),
        }
    }

    fn flag(&mut self, tables: &[&str], key: &str) -> Result<bool> {
        Ok(self.find(tables, key).map_or(Ok(false), |node| node.flag(key))?)
    }

    fn ask(&mut self, key: &str, reason: String) {
        self.missing.push(MissingField { key: key.to_owned(), reason });
    }

    /// Names of tables of which nothing was used, and of keys that were not in the others.
    fn unused(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (table, keys, fields) in &self.all {
            let rest: Vec<&str> = fields.rest().map(|(key, ..)| key).collect();
            if rest.len() == *keys {
                names.push((*table).to_owned());
            } else {
                names.extend(rest.into_iter().map(|key| format!("{table}.{key}")));
            }
        }
        names
    }
}

fn within(node: &Node, key: &str) -> Result<u32> {
    let number = node.count(key, 1)?;
    if number > MOST {
        return Err(node.unexpected(key, &format!("at most {MOST}")).into());
    }
    Ok(number)
}

/// Reads a configuration.
///
/// # Errors
/// Returns an error if a value is not what its key asks for, or a schedule is not known.
pub(super) fn read(root: &Node) -> Result<ModelFile> {
    let mut tables = Tables::of(root)?;
    let mut model = None;
    let named = ["name", "flavor"].map(|key| tables.find(&["model"], key).and_then(Node::text));
    match named {
        [Some(name), Some(flavour)] => {
            let of = |(known, kind, _): &&(&str, &str, &str)| *known == name && kind.eq_ignore_ascii_case(flavour);
            match FLAVOURS.iter().find(of) {
                Some((.., ours)) => {
                    let mut ours = known(ours)?;
                    // TorchTitan's models have no multi-token prediction.
                    ours.set_prediction_layers(0);
                    model = Some(ours);
                }
                None => {
                    let all: Vec<String> =
                        FLAVOURS.iter().map(|(name, flavour, _)| format!("{name} {flavour}")).collect();
                    let reason = format!(
                        "{name} {flavour} is not known (known are {}): give its config.json of Hugging Face as well",
                        all.join(", ")
                    );
                    tables.ask("model.flavor", reason);
                }
            }
        }
        _ => tables.ask("model", "name and flavor say the model, and one is missing".to_owned()),
    }
    let training = training(&mut tables)?;
    let mut unused = tables.unused();
    let outside = root.entries().unwrap_or_default().iter().filter(|(_, value)| value.entries().is_none());
    unused.extend(outside.filter_map(|(key, _)| key.text().map(str::to_owned)));
    if !unused.is_empty() {
        tables.notes.push(format!("Not used: {}", unused.join(", ")));
    }
    Ok(ModelFile { model, training, measured: None, missing: tables.missing, notes: tables.notes })
}

fn training(of: &mut Tables<'_>) -> Result<TrainingSettings> {
    const DATA: [&str; 2] = ["parallelism", "training"];
    const MICRO_BATCH: &str = "pipeline_parallel_microbatch_size";
    let tensor = of.degree("tensor_parallel_degree")?;
    let pipeline = of.degree("pipeline_parallel_degree")?;
    let replicated = of.open(&DATA, "data_parallel_replicate_degree")?;
    let sharded = of.open(&DATA, "data_parallel_shard_degree")?;
    let of_replica = match of.open(&["training"], "local_batch_size")? {
        Some(batch) => batch,
        None => of.open(&["training"], "batch_size")?.unwrap_or(8),
    };
    let (schedule, has_chunks) = schedule(of)?;
    let micro_batch = match of.open(&["parallelism"], MICRO_BATCH)? {
        Some(size) if pipeline > 1 => size,
        None if pipeline > 1 => 1,
        _ => of_replica,
    };
    if !of_replica.is_multiple_of(micro_batch)
        && let Some(node) = of.find(&["parallelism"], MICRO_BATCH)
    {
        let message = format!("{micro_batch} does not divide local_batch_size, which is {of_replica}");
        return Err(node.wrong(MICRO_BATCH, message).into());
    }
    if replicated.is_none() && sharded.is_none() && of.find(&DATA, "data_parallel_replicate_degree").is_some() {
        of.ask(
            "data_parallel_replicate_degree",
            "it is -1 as data_parallel_shard_degree is: only one of them can be what the rest gives; 1 counts"
                .to_owned(),
        );
    }
    let replicated = replicated.unwrap_or(1);
    let compiles = of.flag(&["compile", "training"], "enable")? || of.flag(&["training"], "compile")?;
    let training = TrainingSettings {
        software: Some(if compiles { "torchtitan" } else { "torchtitan-eager" }),
        sequence: Some(of.open(&["training"], "seq_len")?.unwrap_or(2048)),
        micro_batch: Some(micro_batch),
        micro_batches: Some((of_replica / micro_batch).max(1)),
        global_batch: of.open(&["training"], "global_batch_size")?,
        tensor: Some(tensor),
        pipeline: Some(pipeline),
        context: Some(of.degree("context_parallel_degree")?),
        expert: Some(of.degree("expert_parallel_degree")?),
        data: sharded.map(|sharded| sharded.saturating_mul(replicated)),
        replicate: Some(replicated).filter(|groups| *groups > 1 && sharded != Some(1)),
        schedule: (pipeline > 1).then_some(schedule),
        virtual_stages: (pipeline > 1 && has_chunks).then_some(2),
        sequence_parallel: Some(tensor > 1),
        zero: Some(if sharded == Some(1) { 0 } else { zero(of, pipeline)? }),
        recompute: recomputed(of)?,
        precision: of.find(&["training"], "mixed_precision_param").and_then(Node::text).map(str::to_owned),
        fp8: has_fp8(of)?.then(|| "float8".to_owned()),
        ..TrainingSettings::default()
    };
    if training.precision.as_deref() == Some("float32") {
        of.notes.push(super::NO_FP32.to_owned());
    }
    Ok(training)
}

/// The stage of ZeRO that FSDP is like: 2 where parameters stay gathered until the backward pass.
fn zero(of: &mut Tables<'_>, pipeline: u32) -> Result<u32> {
    const KEY: &str = "fsdp_reshard_after_forward";
    let Some(node) = of.find(&["parallelism", "training"], KEY) else { return Ok(3) };
    match node.text().unwrap_or_default() {
        "never" => return Ok(2),
        "always" if pipeline > 1 => {
            of.notes.push(format!("{KEY} = \"always\" is estimated as \"never\", since there are stages"));
        }
        "always" | "default" => {}
        _ => return Err(node.unexpected(KEY, "default, always or never").into()),
    }
    Ok(3)
}

/// The name of the schedule by which this one is estimated, and whether a stage has several chunks.
fn schedule(of: &mut Tables<'_>) -> Result<(&'static str, bool)> {
    const KEY: &str = "pipeline_parallel_schedule";
    let Some(node) = of.find(&["parallelism", "experimental"], KEY) else { return Ok(("1f1b", false)) };
    let word = node.text().unwrap_or_default();
    let Some((name, ours, has_chunks)) = SCHEDULES.iter().find(|(name, ..)| name.eq_ignore_ascii_case(word)) else {
        let names: Vec<&str> = SCHEDULES.iter().map(|(name, ..)| *name).collect();
        return Err(node.unexpected(KEY, &names.join(", ")).into());
    };
    if *has_chunks && *ours != "1f1b" || *name == "DualPipeV" {
        of.notes.push(format!("The schedule {name} is estimated as {ours}"));
    }
    Ok((ours, *has_chunks))
}

/// What the backward pass computes again, by our own names; `None` where the file leaves it to memory.
fn recomputed(of: &mut Tables<'_>) -> Result<Option<String>> {
    const TABLE: [&str; 1] = ["activation_checkpoint"];
    let mode = of.find(&TABLE, "mode");
    let option = of.find(&TABLE, "selective_ac_option").and_then(Node::text).unwrap_or("2");
    let name = match mode.map(|node| (node, node.text().unwrap_or_default())) {
        Some((_, "none")) => Some("none"),
        Some((_, "full")) => Some("layers"),
        None | Some((_, "selective")) => {
            if option != "op" {
                of.notes.push(format!(
                    "Of every {option} layers one is computed again: estimated as every second product (operators)"
                ));
            }
            Some("operators")
        }
        Some((_, "memory_budget")) => {
            of.notes.push("A budget of memory decides what is computed again: the least that fits is taken".to_owned());
            None
        }
        Some((node, _)) => return Err(node.unexpected("mode", "none, selective, full or memory_budget").into()),
    };
    Ok(name.map(str::to_owned))
}

/// Whether products are in 8 bits: converters alone decide, since the tables of their settings convert nothing.
fn has_fp8(of: &mut Tables<'_>) -> Result<bool> {
    let converters = of.find(&["model"], "converters");
    let listed = converters.and_then(Node::items).unwrap_or_default().iter();
    let mut names = listed.chain(converters).filter_map(Node::text);
    let is_converted = names.any(|name| name.contains("float8") || name.split('.').next_back() == Some("mx"));
    Ok(is_converted | of.flag(&["float8"], "enable_float8_linear")?)
}
