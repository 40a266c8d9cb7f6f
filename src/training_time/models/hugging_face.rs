//! A Hugging Face `config.json`: the architecture by `model_type`, never by the name of the file.
//!
//! Fields and defaults as the configuration classes of transformers have them (`configuration_llama.py` and so on).

use super::{
    ModelFileError,
    transformer::{Attention, FeedForward, Layer, MOST_PREDICTION_LAYERS, Norm, Transformer},
};
use crate::text::{
    excerpt,
    yaml::{Fields, KeyError, Node},
};

type Result<T> = std::result::Result<T, ModelFileError>;

/// The architectures that are read, by `model_type`.
pub const MODEL_TYPES: [&str; 11] = [
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "mixtral",
    "qwen3_moe",
    "gpt_oss",
    "gpt2",
    "gpt_neox",
    "deepseek_v2",
    "deepseek_v3",
];

/// Keys that tell a size of a decoder, as they are called in the known architectures.
const FAMILIAR: [&str; 10] = [
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "intermediate_size",
    "vocab_size",
    "n_embd",
    "n_layer",
    "n_head",
    "head_dim",
];

/// What a decoder is made of at least.
const NEEDED: [&str; 5] =
    ["hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"];

/// Keys that change neither the sizes of a model nor what a step computes beside its products, like those that end in
/// `_token_id`, `_eps`, `_coef`, `_cache`, `pdrop` or `dropout`, and those that begin with `_`, `rope_`, `rotary_` or
/// `summary_`.
const WITHOUT_WEIGHT: [&str; 36] = [
    "activation_function",
    "architectures",
    "auto_map",
    "aux_loss_alpha",
    "dtype",
    "ep_size",
    "hidden_act",
    "hidden_activation",
    "initial_context_length",
    "initializer_range",
    "layer_norm_epsilon",
    "max_position_embeddings",
    "max_sequence_length",
    "model_type",
    "n_ctx",
    "n_group",
    "n_positions",
    "norm_topk_prob",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "partial_rotary_factor",
    "pretraining_tp",
    "quantization_config",
    "reorder_and_upcast_attn",
    "return_dict",
    "routed_scaling_factor",
    "scale_attn_weights",
    "scoring_func",
    "seq_aux",
    "swiglu_limit",
    "task_specific_params",
    "topk_group",
    "topk_method",
    "torch_dtype",
    "transformers_version",
];

/// A key of those, or one that says nothing: `false`, 0, or an empty list.
fn is_without_weight(key: &str, value: &Node) -> bool {
    WITHOUT_WEIGHT.contains(&key)
        || ["_token_id", "_eps", "_coef", "pdrop", "dropout", "_cache"].iter().any(|end| key.ends_with(end))
        || ["_", "rope_", "rotary_", "summary_"].iter().any(|start| key.starts_with(start))
        || matches!(value.text(), Some("false" | "null" | "0" | "0.0" | ""))
        || value.is_null()
        || value.items().is_some_and(<[Node]>::is_empty)
}

/// Whether a mapping is such a configuration.
pub(super) fn is_one(root: &Node) -> bool {
    root.get("model_type").is_some() || root.get("text_config").is_some_and(|of| of.get("model_type").is_some())
}

/// A size that a model may have: larger ones are mistakes, and their products exceed what can be counted.
fn limited(node: &Node, key: &'static str, least: u32) -> Result<u32> {
    let most = match key {
        "vocab_size" | "max_window_layers" | "sliding_window" | "n_positions" => 1 << 24,
        "num_hidden_layers" | "n_layer" => 1 << 10,
        "num_nextn_predict_layers" => MOST_PREDICTION_LAYERS,
        _ if key.contains("heads") || key.contains("experts") || key == "n_head" => 1 << 12,
        _ => 1 << 18,
    };
    let value = node.count(key, least)?;
    if value > most {
        return Err(node.wrong(key, format!("{value} is more than any model has ({most})")).into());
    }
    Ok(value)
}

/// A layer's keys by the names of most architectures.
struct Reader<'a> {
    fields: Fields<'a>,
    root: &'a Node,
    missing: Vec<&'static str>,
}

impl Reader<'_> {
    /// A whole number above zero that is needed; 1 where it is missing, which is told at the end.
    fn count(&mut self, key: &'static str) -> Result<u32> {
        match self.fields.optional(key) {
            Some(node) => limited(node, key, 1),
            None => {
                self.missing.push(key);
                Ok(1)
            }
        }
    }

    fn count_or(&mut self, key: &'static str, otherwise: u32) -> Result<u32> {
        Ok(self.optional_count(key)?.unwrap_or(otherwise))
    }

    fn optional_count(&mut self, key: &'static str) -> Result<Option<u32>> {
        self.fields.optional(key).map(|node| limited(node, key, 0)).transpose()
    }

    /// As [`Self::optional_count`], of what is at least 1.
    fn optional_positive(&mut self, key: &'static str) -> Result<Option<u32>> {
        self.fields.optional(key).map(|node| limited(node, key, 1)).transpose()
    }

    fn flag(&mut self, key: &'static str, otherwise: bool) -> Result<bool> {
        Ok(self.fields.optional(key).map_or(Ok(otherwise), |node| node.flag(key))?)
    }

    /// A whole number that the architecture has by default; `None` where the file says `null` or 0.
    fn count_unless_null(&mut self, key: &'static str, otherwise: Option<u32>) -> Result<Option<u32>> {
        let otherwise = otherwise.filter(|_| !self.is_null(key));
        Ok(self.optional_count(key)?.or(otherwise).filter(|count| *count > 0))
    }

    /// Whether the file says `null` for a key, which is not the same as nothing.
    fn is_null(&self, key: &str) -> bool {
        self.root.get(key).is_some_and(Node::is_null)
    }

    /// The value of a key is wrong beside another one.
    fn wrong(&self, key: &str, message: String) -> ModelFileError {
        self.root.get(key).unwrap_or(self.root).wrong(key, message).into()
    }

    fn head_width(&mut self, hidden: u32, heads: u32, heads_key: &'static str) -> Result<u32> {
        match self.optional_positive("head_dim")? {
            Some(width) => Ok(width),
            None if hidden.is_multiple_of(heads) => Ok(hidden / heads),
            None => Err(self.wrong(
                heads_key,
                format!("{heads} heads do not divide the hidden size of {hidden}, and there is no head_dim"),
            )),
        }
    }
}

/// The part for texts of a model for texts and images.
pub(super) fn text_part(root: &Node) -> Option<&Node> {
    root.get("text_config").filter(|of| of.get("model_type").is_some())
}

/// Reads a configuration. Answers as well which of its keys may weigh something, and are not used.
///
/// # Errors
/// Returns an error if its architecture is not known, a size is missing, or sizes contradict each other.
pub(super) fn read(root: &Node) -> Result<(Transformer, Vec<String>)> {
    let root = text_part(root).unwrap_or(root);
    let mut fields = Fields::of(root, "the configuration")?;
    let model_type = fields.needed("model_type", "the architecture's name")?.word("model_type")?.to_owned();
    if !MODEL_TYPES.contains(&model_type.as_str()) {
        let found = FAMILIAR.iter().filter(|key| root.get(key).is_some()).copied().collect();
        let missing = NEEDED.iter().filter(|key| root.get(key).is_none()).copied().collect();
        return Err(ModelFileError::UnknownType { model_type: excerpt(&model_type), found, missing });
    }
    let mut reader = Reader { fields, root, missing: Vec::new() };
    let model = match model_type.as_str() {
        "gpt2" => gpt2(&mut reader)?,
        "gpt_neox" => gpt_neox(&mut reader)?,
        "deepseek_v2" | "deepseek_v3" => deepseek(&mut reader, &model_type)?,
        other => gated(&mut reader, other)?,
    };
    if !reader.missing.is_empty() {
        return Err(ModelFileError::Missing { model_type, keys: reader.missing });
    }
    let unused = reader.fields.rest().filter(|(key, _, value)| !is_without_weight(key, value));
    Ok((model, unused.map(|(key, ..)| excerpt(key)).collect()))
}

/// Layers one by one become runs of equal ones.
pub(super) fn runs(layers: impl Iterator<Item = Layer>) -> Vec<(Layer, u32)> {
    let mut runs: Vec<(Layer, u32)> = Vec::new();
    for layer in layers {
        match runs.last_mut() {
            Some((last, count)) if *last == layer => *count += 1,
            _ => runs.push((layer, 1)),
        }
    }
    runs
}

/// The Llama family: gated, with RMS norms, and the mixtures made of it.
fn gated(reader: &mut Reader<'_>, model_type: &str) -> Result<Transformer> {
    let hidden = reader.count("hidden_size")?;
    let layers = reader.count("num_hidden_layers")?;
    let heads = reader.count("num_attention_heads")?;
    // The defaults of transformers' configurations, where `null` means as many as heads of queries.
    let usual = match model_type {
        _ if reader.is_null("num_key_value_heads") => heads,
        "mistral" | "mixtral" | "gpt_oss" => 8,
        "qwen3_moe" => 4,
        _ => heads,
    };
    let kv_heads = reader.optional_positive("num_key_value_heads")?.unwrap_or(usual);
    // Only Qwen3's configuration has a width of heads of its own where the file has none.
    let is_open = model_type == "qwen3" && reader.root.get("head_dim").is_none();
    let width = if is_open { 128 } else { reader.head_width(hidden, heads, "num_attention_heads")? };
    if !heads.is_multiple_of(kv_heads) && reader.missing.is_empty() {
        let message = format!("{kv_heads} heads of keys and values do not divide {heads} heads of queries");
        return Err(reader.wrong("num_key_value_heads", message));
    }
    let is_gpt_oss = model_type == "gpt_oss";
    let asked_bias = reader.flag("attention_bias", is_gpt_oss)?;
    let window = windows(reader, model_type, layers)?;
    let dense_width = reader.count("intermediate_size")?;
    let mlp_bias = reader.flag("mlp_bias", false)?;
    let experts = experts(reader, model_type, dense_width)?;
    let sparse_step = reader.count_or("decoder_sparse_step", 1)?.max(1);
    let dense_only = reader.fields.optional("mlp_only_layers");
    let dense_only = dense_only.and_then(Node::items).unwrap_or_default();
    let dense_only: Vec<u64> =
        dense_only.iter().map(|node| node.whole("mlp_only_layers", 0)).collect::<std::result::Result<_, KeyError>>()?;
    let layer = |index: u32| Layer {
        attention: Attention::Grouped {
            heads,
            kv_heads,
            width,
            has_bias: asked_bias || model_type == "qwen2",
            has_output_bias: asked_bias && model_type != "qwen2",
            has_qk_norms: model_type.starts_with("qwen3"),
            has_sinks: is_gpt_oss,
            window: window[index as usize],
        },
        feed_forward: match experts {
            Some(experts) if !dense_only.contains(&index.into()) && (index + 1).is_multiple_of(sparse_step) => experts,
            _ => FeedForward::Dense { width: dense_width, is_gated: true, has_bias: mlp_bias },
        },
    };
    with_rms_norms(reader, hidden, runs((0..layers).map(layer)))
}

/// A model without learned positions, of these layers.
fn with_rms_norms(reader: &mut Reader<'_>, hidden: u32, layers: Vec<(Layer, u32)>) -> Result<Transformer> {
    Ok(Transformer {
        hidden,
        vocabulary: reader.count("vocab_size")?,
        is_tied: reader.flag("tie_word_embeddings", false)?,
        positions: 0,
        norm: Norm::Rms,
        layers,
        prediction_layers: 0,
    })
}

/// The window of each layer.
fn windows(reader: &mut Reader<'_>, model_type: &str, layers: u32) -> Result<Vec<Option<u32>>> {
    // `LlamaAttention` has none, whatever the file says.
    if model_type == "llama" {
        return Ok(vec![None; layers as usize]);
    }
    let usual = match model_type {
        "mistral" => Some(4096),
        "gpt_oss" => Some(128),
        _ => None,
    };
    let window = reader.count_unless_null("sliding_window", usual)?;
    let types = reader.fields.optional("layer_types").and_then(Node::items);
    let is_used = reader.flag("use_sliding_window", !model_type.starts_with("qwen"))?;
    let first = reader.optional_count("max_window_layers")?.unwrap_or(layers);
    Ok((0..layers)
        .map(|index| {
            let slides = match (types.and_then(|types| types.get(index as usize)), model_type) {
                (Some(kind), _) => kind.text() == Some("sliding_attention"),
                (None, "gpt_oss") => index.is_multiple_of(2),
                (None, "qwen2" | "qwen3" | "qwen3_moe") => is_used && index >= first,
                (None, _) => is_used,
            };
            window.filter(|_| slides)
        })
        .collect())
}

fn experts(reader: &mut Reader<'_>, model_type: &str, dense_width: u32) -> Result<Option<FeedForward>> {
    let (count_key, width_key) = match model_type {
        "mixtral" | "gpt_oss" => ("num_local_experts", None),
        // transformers takes both names.
        "qwen3_moe" if reader.root.get("num_local_experts").is_some() => {
            ("num_local_experts", Some("moe_intermediate_size"))
        }
        "qwen3_moe" => ("num_experts", Some("moe_intermediate_size")),
        _ => return Ok(None),
    };
    let experts = reader.count(count_key)?;
    let top_k = reader.count("num_experts_per_tok")?;
    let width = width_key.map_or(Ok(dense_width), |key| reader.count(key))?;
    check_experts(reader, experts, top_k, count_key)?;
    let is_gpt_oss = model_type == "gpt_oss";
    let (has_router_bias, has_bias) = (is_gpt_oss, is_gpt_oss);
    Ok(Some(FeedForward::Experts { experts, top_k, width, shared_width: 0, has_router_bias, has_bias }))
}

fn check_experts(reader: &Reader<'_>, experts: u32, top_k: u32, count_key: &'static str) -> Result<()> {
    if top_k > experts && reader.missing.is_empty() {
        let message = format!("a token can't be processed by {top_k} of {experts} experts ({count_key})");
        return Err(reader.wrong("num_experts_per_tok", message));
    }
    Ok(())
}

fn deepseek(reader: &mut Reader<'_>, model_type: &str) -> Result<Transformer> {
    let hidden = reader.count("hidden_size")?;
    let layers = reader.count("num_hidden_layers")?;
    // Each head has keys and values of its own.
    let _ = reader.fields.optional("num_key_value_heads");
    let attention = Attention::Latent {
        heads: reader.count("num_attention_heads")?,
        query_rank: reader.count_unless_null("q_lora_rank", Some(1536))?,
        kv_rank: reader.count("kv_lora_rank")?,
        nope: reader.count("qk_nope_head_dim")?,
        rope: reader.count("qk_rope_head_dim")?,
        value: reader.count("v_head_dim")?,
    };
    let dense = FeedForward::Dense { width: reader.count("intermediate_size")?, is_gated: true, has_bias: false };
    let experts = reader.count("n_routed_experts")?;
    let top_k = reader.count("num_experts_per_tok")?;
    check_experts(reader, experts, top_k, "n_routed_experts")?;
    let width = reader.count("moe_intermediate_size")?;
    let shared = reader.optional_count("n_shared_experts")?.unwrap_or(0);
    let method = reader.fields.optional("topk_method").and_then(Node::text);
    let mixture = FeedForward::Experts {
        experts,
        top_k,
        width,
        shared_width: shared.saturating_mul(width),
        has_router_bias: method == Some("noaux_tc"),
        has_bias: false,
    };
    let usual = if model_type == "deepseek_v3" { 3.min(layers) } else { 0 };
    let first = reader.count_or("first_k_dense_replace", usual)?;
    if first > layers && reader.missing.is_empty() {
        let message = format!("{first} dense layers are more than all {layers}");
        return Err(reader.wrong("first_k_dense_replace", message));
    }
    let every = reader.count_or("moe_layer_freq", 1)?.max(1);
    let layer = |index: u32| {
        let is_mixture = index >= first && index.is_multiple_of(every);
        Layer { attention, feed_forward: if is_mixture { mixture } else { dense } }
    };
    let mut model = with_rms_norms(reader, hidden, runs((0..layers).map(layer)))?;
    model.set_prediction_layers(reader.count_or("num_nextn_predict_layers", 0)?);
    Ok(model)
}

/// A layer as GPT-2 has it; `has_bias` is that of its attention.
fn gpt_layer(heads: u32, width: u32, feed_forward: u32, has_bias: bool) -> Layer {
    Layer {
        attention: Attention::Grouped {
            heads,
            kv_heads: heads,
            width,
            has_bias,
            has_output_bias: has_bias,
            has_qk_norms: false,
            has_sinks: false,
            window: None,
        },
        feed_forward: FeedForward::Dense { width: feed_forward, is_gated: false, has_bias: true },
    }
}

fn gpt2(reader: &mut Reader<'_>) -> Result<Transformer> {
    let hidden = reader.count("n_embd")?;
    let layers = reader.count("n_layer")?;
    let heads = reader.count("n_head")?;
    let width = reader.head_width(hidden, heads, "n_head")?;
    let inner = reader.optional_count("n_inner")?.unwrap_or(hidden.saturating_mul(4));
    let positions = match reader.optional_count("n_positions")? {
        Some(positions) => positions,
        None => reader.count_or("n_ctx", 1024)?,
    };
    Ok(Transformer {
        hidden,
        vocabulary: reader.count("vocab_size")?,
        is_tied: reader.flag("tie_word_embeddings", true)?,
        positions,
        norm: Norm::Layer,
        layers: vec![(gpt_layer(heads, width, inner, true), layers)],
        prediction_layers: 0,
    })
}

fn gpt_neox(reader: &mut Reader<'_>) -> Result<Transformer> {
    let hidden = reader.count("hidden_size")?;
    let layers = reader.count("num_hidden_layers")?;
    let heads = reader.count("num_attention_heads")?;
    let width = reader.head_width(hidden, heads, "num_attention_heads")?;
    let inner = reader.count("intermediate_size")?;
    let has_bias = reader.flag("attention_bias", true)?;
    Ok(Transformer {
        hidden,
        vocabulary: reader.count("vocab_size")?,
        is_tied: reader.flag("tie_word_embeddings", false)?,
        positions: 0,
        norm: Norm::Layer,
        layers: vec![(gpt_layer(heads, width, inner, has_bias), layers)],
        prediction_layers: 0,
    })
}
