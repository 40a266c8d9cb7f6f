//! Models read from files: their parameters and operations, and what is said of files that are no model.

use collectune::training_time::models::{self, KNOWN, ModelFileError, known};
use proptest::prelude::*;

use crate::support::real;

/// A row of the expected figures: parameters, active ones, those of matrices, the sequence, and FLOP.
struct Expected {
    name: String,
    counts: [u64; 3],
    sequence: u32,
    attention_flop: f64,
    training_flop: f64,
}

fn expected() -> Vec<Expected> {
    let text = real::text("step/configs_expected.csv");
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let whole = |at: usize| fields[at].parse::<u64>().unwrap();
        Expected {
            name: fields[0].to_owned(),
            counts: [whole(1), whole(2), whole(3)],
            sequence: whole(4) as u32,
            attention_flop: fields[5].parse().unwrap(),
            training_flop: fields[7].parse().unwrap(),
        }
    };
    text.lines().skip(1).filter(|line| !line.is_empty()).map(row).collect()
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn parameters_and_flop_of_published_models_are_exact_with_shared_data() {
    let all = expected();
    assert_eq!(all.len(), 16);
    for Expected { name, counts, sequence, attention_flop, training_flop } in all {
        let file = name.split_whitespace().next().unwrap();
        let model = models::read(&real::text(&format!("step/configs/{file}.json"))).unwrap();
        let found = [model.parameters(), model.active_parameters(), model.matrix_parameters()];
        assert_eq!(found, counts, "{name}");
        assert_eq!(model.attention_flop_per_token(sequence), attention_flop, "{name}");
        assert_eq!(model.training_flop_per_token(sequence), training_flop, "{name}");
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn known_models_are_those_of_their_configurations_with_shared_data() {
    for (name, _) in KNOWN.iter().filter(|(name, _)| *name != "gpt3-175b") {
        let file = models::read(&real::text(&format!("step/configs/{name}.json"))).unwrap();
        assert_eq!(known(&name.to_uppercase()), Ok(file), "{name}");
    }
    // The number that its paper gives (arXiv 2005.14165), of a vocabulary that is padded.
    let gpt3 = known("gpt3-175b").unwrap().parameters() as f64;
    assert!((gpt3 / 1e9 - 175.0).abs() < 0.5, "{gpt3}");
}

const LLAMA: &str = r#"{
  "model_type": "llama",
  "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
  "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100
}"#;

fn refused(text: &str) -> String {
    models::read(text).unwrap_err().to_string()
}

#[test]
fn a_model_that_is_not_known_says_what_is_missing() {
    let encoder = r#"{"model_type": "bert", "hidden_size": 768, "vocab_size": 30522}"#;
    let said = refused(encoder);
    for part in ["\"bert\" is not known", "It has hidden_size, vocab_size", "it lacks num_hidden_layers"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(models::read(r#"{"a": 1}"#), Err(ModelFileError::NotAModel));
    let lacking = LLAMA.replace("\"vocab_size\": 100", "\"a\": 1").replace("\"intermediate_size\": 128,", "");
    assert_eq!(refused(&lacking), "a llama needs intermediate_size, vocab_size, which are missing");
}

#[test]
fn sizes_that_contradict_each_other_are_refused_with_their_place() {
    let heads = LLAMA.replace("\"num_attention_heads\": 4", "\"num_attention_heads\": 6");
    assert_eq!(
        refused(&heads),
        "line 4, column 26, num_attention_heads: 6 heads do not divide the hidden size of 64, and there is no head_dim"
    );
    let kv = LLAMA.replace("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3");
    assert!(refused(&kv).contains("3 heads of keys and values do not divide 4 heads of queries"), "{}", refused(&kv));
    let text = LLAMA.replace("\"vocab_size\": 100", "\"vocab_size\": \"many\"");
    assert!(refused(&text).starts_with("line 4, column 69, vocab_size: a whole number"), "{}", refused(&text));
    let mixture = LLAMA
        .replace("llama", "mixtral")
        .replace("\"vocab_size\": 100", "\"vocab_size\": 100, \"num_local_experts\": 4, \"num_experts_per_tok\": 5");
    assert!(refused(&mixture).contains("can't be processed by 5 of 4 experts"), "{}", refused(&mixture));
    let deep = LLAMA.replace("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 4000000000");
    assert!(refused(&deep).contains("4000000000 is more than any model has (1024)"), "{}", refused(&deep));
}

#[test]
fn the_part_for_texts_of_a_multimodal_model_is_read() {
    let whole = format!(r#"{{"model_type": "llava", "text_config": {LLAMA}}}"#);
    assert_eq!(models::read(&whole), models::read(LLAMA));
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in "\\PC{0,300}") {
        let _ = models::read(&text);
    }

    #[test]
    fn no_number_is_too_large(
        at in 0_usize..MODEL_KEYS.len(),
        value in prop_oneof![Just("0".to_owned()), Just("4294967295".to_owned()), Just("null".to_owned()),
                             Just("[1]".to_owned()), any::<u32>().prop_map(|value| value.to_string())],
        kind in 0_usize..models::MODEL_TYPES.len(),
    ) {
        let mut fields: Vec<String> =
            MODEL_KEYS.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, key)| format!("{key}: 64")).collect();
        fields.push(format!("{}: {value}", MODEL_KEYS[at]));
        let text = format!("{{model_type: {}, {}}}", models::MODEL_TYPES[kind], fields.join(", "));
        if let Ok(model) = models::read(&text) {
            let _ = (model.parameters(), model.active_parameters(), model.training_flop_per_token(4096));
        }
    }
}

const MODEL_KEYS: [&str; 20] = [
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "vocab_size",
    "head_dim",
    "num_local_experts",
    "num_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
    "kv_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
    "n_routed_experts",
    "n_embd",
    "n_layer",
    "n_head",
    "first_k_dense_replace",
];
