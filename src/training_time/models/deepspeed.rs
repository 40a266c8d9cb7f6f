//! DeepSpeed's JSON configuration, which says how a model is trained and not which.

use super::{MissingField, ModelFile, ModelFileError, TrainingSettings};
use crate::text::{
    whole,
    yaml::{Fields, Node},
};

type Result<T> = std::result::Result<T, ModelFileError>;

const BATCH: [&str; 3] = ["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"];

/// Keys that only such a configuration has.
pub(super) const KEYS: [&str; 3] = [BATCH[0], BATCH[1], "zero_optimization"];

/// Whether a mapping is such a configuration.
pub(super) fn is_one(root: &Node) -> bool {
    KEYS.iter().any(|key| root.get(key).is_some())
}

fn is_auto(node: &Node) -> bool {
    node.text() == Some("auto")
}

/// Reads a configuration.
///
/// # Errors
/// Returns an error if a value is not what its key asks for, or if states are kept outside of the GPU.
pub(super) fn read(root: &Node) -> Result<ModelFile> {
    let mut fields = Fields::of(root, "the configuration")?;
    let mut missing = Vec::new();
    let mut ask =
        |key: &str, reason: &str| missing.push(MissingField { key: key.to_owned(), reason: reason.to_owned() });
    ask("model", "DeepSpeed's configuration has no model: add a config.json of Hugging Face, or arguments");
    let mut batch = [None; 3];
    for (found, key) in batch.iter_mut().zip(BATCH) {
        *found = match fields.optional(key) {
            Some(node) if is_auto(node) => {
                ask(key, "it is \"auto\": its value is decided elsewhere");
                None
            }
            Some(node) => Some(node.count(key, 1)?),
            None => None,
        };
    }
    if let [Some(_), None, None] = batch {
        ask(BATCH[1], "the file does not say it");
    } else if batch.iter().flatten().count() < 2 {
        ask(
            BATCH[0],
            "two of train_batch_size, train_micro_batch_size_per_gpu and gradient_accumulation_steps are needed",
        );
    }
    if batch[1].is_none() && batch[2].is_some() {
        ask(BATCH[1], "without it the steps of accumulation are not used: it is train_batch_size ÷ (steps × replicas)");
    }
    let mut notes = Vec::new();
    let mut unused = Vec::new();
    let mut training = TrainingSettings {
        global_batch: batch[0],
        micro_batch: batch[1],
        micro_batches: batch[2],
        zero: Some(0),
        software: Some("deepspeed"),
        ..TrainingSettings::default()
    };
    if let [Some(global), Some(micro), Some(steps)] = batch {
        let each = u64::from(micro) * u64::from(steps);
        if !u64::from(global).is_multiple_of(each) {
            let nearest = (u64::from(global) / each).max(1) * each;
            let message = format!("{global} is no multiple of {micro}·{steps} = {each} (nearest: {nearest})");
            return Err(root.get(BATCH[0]).unwrap_or(root).wrong(BATCH[0], message).into());
        }
        training.data = u32::try_from(u64::from(global) / each).ok();
    }
    if let Some(node) = fields.optional("zero_optimization") {
        let mut zero = Fields::of(node, "zero_optimization")?;
        if let Some(node) = zero.optional("cpu_offload")
            && node.flag("cpu_offload")?
        {
            let message = "states are kept outside of the GPU, of which no step can be estimated".to_owned();
            return Err(node.wrong("cpu_offload", message).into());
        }
        for key in ["offload_optimizer", "offload_param"] {
            let device = zero.optional(key).and_then(|of| of.get("device")).filter(|of| of.text() != Some("none"));
            if let Some(device) = device {
                let message = format!(
                    "{} keeps states outside of the GPU, of which no step can be estimated",
                    device.described()
                );
                return Err(device.wrong(key, message).into());
            }
        }
        let stage = zero.optional("stage").map_or(Ok(0), |node| node.count("stage", 0))?;
        if stage > 3 {
            return Err(node.get("stage").unwrap_or(node).unexpected("stage", "0, 1, 2 or 3").into());
        }
        training.zero = Some(stage);
        for key in ["mics_shard_size", "zero_hpz_partition_size"] {
            let size = zero.optional(key).and_then(Node::text).and_then(whole).filter(|size| *size > 1);
            notes.extend(size.map(|size| {
                format!(
                    "{key} ({size}) is not used: parameters count as sharded over all replicas; give dp_replicate, the \
                         number of groups of replicas with a whole copy each"
                )
            }));
        }
        training.overlap_reduce = Some(match zero.optional("overlap_comm") {
            Some(node) if !is_auto(node) => node.flag("overlap_comm")?,
            _ => stage == 3,
        });
        unused.extend(zero.rest().map(|(key, ..)| format!("zero_optimization.{key}")));
    }
    let mut is_open = false;
    for (key, precision) in [("bf16", "bf16"), ("bfloat16", "bf16"), ("fp16", "fp16")] {
        match fields.optional(key).and_then(|of| of.get("enabled")) {
            Some(node) if is_auto(node) => {
                is_open = true;
                ask(key, "it is \"auto\": its value is decided elsewhere");
            }
            Some(node) if node.flag(key)? => training.precision = Some(precision.to_owned()),
            _ => {}
        }
    }
    if let Some(node) = fields.optional("tensor_parallel").and_then(|of| of.get("autotp_size")) {
        training.tensor = Some(node.count("autotp_size", 0)?.max(1));
    }
    if training.precision.is_none() && !is_open {
        notes.push(super::NO_FP32.to_owned());
    }
    unused.extend(fields.rest().map(|(key, ..)| key.to_owned()));
    notes.extend(super::unused_keys(&unused));
    Ok(ModelFile { training, missing, notes, ..ModelFile::default() })
}
