//! Models that are known by name, as their `config.json` has them.

use super::{ModelFileError, Transformer, hugging_face};
use crate::text::yaml;

/// Names of models with the fields of their configuration (as their authors published them) that are not the default.
pub const KNOWN: [(&str, &str); 15] = [
    (
        "llama-2-7b",
        "{model_type: llama, hidden_size: 4096, intermediate_size: 11008, num_hidden_layers: 32, \
         num_attention_heads: 32, vocab_size: 32000}",
    ),
    (
        "llama-3.1-8b",
        "{model_type: llama, hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32, \
         num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 128256}",
    ),
    (
        "llama-3.1-70b",
        "{model_type: llama, hidden_size: 8192, intermediate_size: 28672, num_hidden_layers: 80, \
         num_attention_heads: 64, num_key_value_heads: 8, vocab_size: 128256}",
    ),
    (
        "llama-3.1-405b",
        "{model_type: llama, hidden_size: 16384, intermediate_size: 53248, num_hidden_layers: 126, \
         num_attention_heads: 128, num_key_value_heads: 8, vocab_size: 128256}",
    ),
    (
        "mistral-7b-v0.1",
        "{model_type: mistral, hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32, \
         num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 32000, sliding_window: 4096}",
    ),
    (
        "mixtral-8x7b",
        "{model_type: mixtral, hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32, \
         num_attention_heads: 32, num_key_value_heads: 8, num_local_experts: 8, num_experts_per_tok: 2, \
         vocab_size: 32000}",
    ),
    (
        "qwen2.5-7b",
        "{model_type: qwen2, hidden_size: 3584, intermediate_size: 18944, num_hidden_layers: 28, \
         num_attention_heads: 28, num_key_value_heads: 4, vocab_size: 152064}",
    ),
    (
        "qwen3-8b",
        "{model_type: qwen3, hidden_size: 4096, intermediate_size: 12288, num_hidden_layers: 36, \
         num_attention_heads: 32, num_key_value_heads: 8, head_dim: 128, vocab_size: 151936}",
    ),
    (
        "qwen3-30b-a3b",
        "{model_type: qwen3_moe, hidden_size: 2048, intermediate_size: 6144, moe_intermediate_size: 768, \
         num_hidden_layers: 48, num_attention_heads: 32, num_key_value_heads: 4, head_dim: 128, \
         num_experts: 128, num_experts_per_tok: 8, vocab_size: 151936}",
    ),
    (
        "gpt-oss-120b",
        "{model_type: gpt_oss, hidden_size: 2880, intermediate_size: 2880, num_hidden_layers: 36, \
         num_attention_heads: 64, num_key_value_heads: 8, head_dim: 64, num_local_experts: 128, \
         num_experts_per_tok: 4, sliding_window: 128, attention_bias: true, vocab_size: 201088}",
    ),
    ("gpt2-xl", "{model_type: gpt2, n_embd: 1600, n_head: 25, n_layer: 48, n_positions: 1024, vocab_size: 50257}"),
    (
        "gpt-neox-20b",
        "{model_type: gpt_neox, hidden_size: 6144, intermediate_size: 24576, num_hidden_layers: 44, \
         num_attention_heads: 64, vocab_size: 50432}",
    ),
    (
        "deepseek-v2-lite",
        "{model_type: deepseek_v2, first_k_dense_replace: 1, qk_nope_head_dim: 128, qk_rope_head_dim: 64, \
         v_head_dim: 128, kv_lora_rank: 512, hidden_size: 2048, intermediate_size: 10944, \
         moe_intermediate_size: 1408, num_hidden_layers: 27, num_attention_heads: 16, \
         q_lora_rank: null, n_routed_experts: 64, n_shared_experts: 2, num_experts_per_tok: 6, vocab_size: 102400}",
    ),
    (
        "deepseek-v3",
        "{model_type: deepseek_v3, first_k_dense_replace: 3, qk_nope_head_dim: 128, qk_rope_head_dim: 64, \
         v_head_dim: 128, kv_lora_rank: 512, hidden_size: 7168, intermediate_size: 18432, \
         moe_intermediate_size: 2048, num_hidden_layers: 61, num_attention_heads: 128, \
         q_lora_rank: 1536, n_routed_experts: 256, n_shared_experts: 1, num_experts_per_tok: 8, \
         topk_method: noaux_tc, num_nextn_predict_layers: 1, vocab_size: 129280}",
    ),
    ("gpt3-175b", "{model_type: gpt2, n_embd: 12288, n_layer: 96, n_head: 96, n_positions: 2048, vocab_size: 51200}"),
];

/// A model by its name, in any case.
///
/// # Errors
/// Returns an error if the name is not known.
pub fn known(name: &str) -> Result<Transformer, ModelFileError> {
    let found = KNOWN.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let (_, text) = found.ok_or(ModelFileError::NotAModel)?;
    Ok(hugging_face::read(&yaml::parse(text)?)?.0)
}
