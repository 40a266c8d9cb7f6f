//! Models read from files: their parameters and operations, and what is said of files that are no model.

use collectune::training_time::{
    catalogue::Catalogue,
    estimate::{
        device::Precision,
        question::EstimateSettings,
        stack::{Recomputation, Sharding, Stack},
    },
    models::{self, Attention, KNOWN, ModelFileError, known},
};
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
        let mut model = models::read(&real::text(&format!("step/configs/{file}.json"))).unwrap();
        assert_eq!(model.prediction_layers, u32::from(file == "deepseek-v3"), "{name}");
        model.set_prediction_layers(0);
        let found = [model.parameters(), model.active_parameters(), model.matrix_parameters()];
        assert_eq!(found, counts, "{name}");
        assert_eq!(model.attention_flop_per_token(sequence), attention_flop, "{name}");
        assert_eq!(model.training_flop_per_token(sequence), training_flop, "{name}");
        let notes = models::read_file(&real::text(&format!("step/configs/{file}.json"))).unwrap().notes;
        let parallel = "These keys are not used: use_parallel_residual";
        let expected = if file.starts_with("gpt-neox") { vec![parallel] } else { vec![] };
        assert_eq!(notes, expected, "{name}");
    }
}

#[test]
fn keys_of_a_config_that_may_weigh_something_are_named() {
    let notes = |more: &str| {
        let text = LLAMA.replace("\"vocab_size\": 100", &format!("\"vocab_size\": 100, {more}"));
        models::read_file(&text).unwrap().notes
    };
    assert_eq!(
        notes("\"num_kv_shared_layers\": 8, \"altup\": [1], \"eos_token_id\": 2"),
        ["These keys are not used: num_kv_shared_layers, altup"]
    );
    assert_eq!(notes("\"num_kv_shared_layers\": 0, \"altup\": [], \"rope_theta\": 1e6"), Vec::<String>::new());
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn multi_token_prediction_has_the_published_operations_with_shared_data() {
    let text = real::text("step/measured_steps.csv");
    let rows = text.lines().filter(|line| line.ends_with("with MTP") && line.contains(",mxfp8,4096,"));
    let (mut model, mut ratios) = (known("deepseek-v3").unwrap(), Vec::new());
    let with = model.training_flop_per_token(4096);
    model.set_prediction_layers(0);
    let without = model.training_flop_per_token(4096);
    for row in rows {
        let fields: Vec<&str> = row.split(',').collect();
        let of = |at: usize| fields[at].parse::<f64>().unwrap();
        let (tokens_per_s, tflops) = (of(21), of(22));
        ratios.push(tflops * 1e12 / tokens_per_s / without);
    }
    // Both are printed as whole numbers.
    assert!(ratios.len() > 8 && ratios.iter().all(|published| (1.036..1.041).contains(published)), "{ratios:?}");
    assert!((with / without - 1.041).abs() < 0.001, "{}", with / without);
}

#[test]
fn layers_of_multi_token_prediction_are_read_and_can_be_left_out() {
    let whole = known("deepseek-v3").unwrap();
    assert_eq!((whole.depth(), whole.prediction_layers), (62, 1));
    let mut model = whole.clone();
    model.set_prediction_layers(0);
    assert_eq!((model.depth(), model.parameters()), (61, 671_026_419_200));
    // A layer with its experts, the projection of 2 × 7168 by 7168, and three norms.
    assert_eq!(whole.parameters() - model.parameters(), 11_507_286_272 + 2 * 7168 * 7168 + 3 * 7168);
    model.set_prediction_layers(3);
    model.set_prediction_layers(1);
    assert_eq!(model, whole);
    let megatron = "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --vocab-size 128 --seq-length 64";
    let read = |more: &str| models::read(&format!("{megatron} {more}")).unwrap();
    assert_eq!((read("").prediction_layers, read("").depth()), (0, 4));
    assert_eq!((read("--mtp-num-layers 2").prediction_layers, read("--mtp-num-layers 2").depth()), (2, 6));
    let torchtitan = "[model]\nname = \"deepseek_v3\"\nflavor = \"671B\"\n[training]\n";
    assert_eq!(models::read(torchtitan).unwrap().prediction_layers, 0);
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

/// The parameters of a configuration in which a part of the text is another one.
fn parameters(text: &str, from: &str, to: &str) -> u64 {
    assert!(text.contains(from), "{from}");
    models::read(&text.replace(from, to)).unwrap().parameters()
}

/// What `configuration_mistral.py` and its siblings of transformers say.
#[test]
fn what_a_configuration_lacks_is_as_its_class_has_it() {
    const KV: &str = "\"num_key_value_heads\": 2,";
    let mistral =
        LLAMA.replace("llama", "mistral").replace("\"num_attention_heads\": 4", "\"num_attention_heads\": 16");
    let of = |to: &str| parameters(&mistral, KV, to);
    assert_eq!(of("\"num_key_value_heads\": null,"), of("\"num_key_value_heads\": 16,"));
    assert_eq!(of(""), of("\"num_key_value_heads\": 8,"));
    let flop = |to: &str| models::read(&mistral.replace(KV, to)).unwrap().training_flop_per_token(32_768);
    assert_eq!(flop("\"num_key_value_heads\": 2,"), flop("\"num_key_value_heads\": 2, \"sliding_window\": 4096,"));
    assert!(flop("\"num_key_value_heads\": 2, \"sliding_window\": null,") > flop("\"num_key_value_heads\": 2,"));

    let experts = ", \"num_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32}";
    let qwen = mistral.replace("mistral", "qwen3_moe").replace('}', experts);
    assert_eq!(parameters(&qwen, KV, ""), parameters(&qwen, KV, "\"num_key_value_heads\": 4,"));
    assert_eq!(parameters(&qwen, "num_experts\"", "num_local_experts\""), models::read(&qwen).unwrap().parameters());

    let deepseek = "{\"model_type\": \"deepseek_v3\", \"hidden_size\": 64, \"intermediate_size\": 128, \"vocab_size\": 100, \
        \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"kv_lora_rank\": 8, \"qk_nope_head_dim\": 16, \
        \"qk_rope_head_dim\": 8, \"v_head_dim\": 16, \"n_routed_experts\": 8, \"num_experts_per_tok\": 2, \
        \"moe_intermediate_size\": 32, \"q_lora_rank\": 1536}";
    let ranked = models::read(deepseek).unwrap().parameters();
    assert_eq!(parameters(deepseek, ", \"q_lora_rank\": 1536", ""), ranked);
    assert!(parameters(deepseek, "1536", "null") < ranked);
}

#[test]
fn the_part_for_texts_of_a_multimodal_model_is_read() {
    let whole = format!(r#"{{"model_type": "llava", "text_config": {LLAMA}}}"#);
    assert_eq!(models::read(&whole), models::read(LLAMA));
}

/// Llama 3.1 8B as a script starts it.
const SCRIPT: &str = r#"#!/bin/bash
# --num-layers 99 is what a comment says
TP=2
HIDDEN=4096
LAYERS=${LAYERS:-32}
MODEL_ARGS=(
    --num-layers $LAYERS --hidden-size "${HIDDEN}"
    --ffn-hidden-size 14336
    --num-attention-heads 32 --group-query-attention --num-query-groups 8
    --swiglu --normalization RMSNorm --position-embedding-type rope
    --untie-embeddings-and-output-weights --disable-bias-linear
    --vocab-size 128256 --seq-length 8192
)
TRAINING_ARGS="--micro-batch-size 1 --global_batch_size=128 \
    --bf16 --use-distributed-optimizer --recompute-granularity selective"
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py ${MODEL_ARGS[@]} $TRAINING_ARGS \
    --tensor-model-parallel-size $TP --sequence-parallel --lr 3e-4
"#;

#[test]
fn a_script_of_megatron_is_its_model_and_its_layout() {
    let file = models::read_file(SCRIPT).unwrap();
    assert_eq!(file.missing, []);
    assert_eq!(file.model, known("llama-3.1-8b").ok());
    assert_eq!(models::read(SCRIPT), known("llama-3.1-8b"));
    let training = file.training;
    let degrees = [training.tensor, training.pipeline, training.context, training.data, training.micro_batches];
    assert_eq!(degrees, [2, 1, 1, 8, 16].map(Some));
    assert_eq!([training.micro_batch, training.global_batch, training.sequence], [1, 128, 8192].map(Some));
    assert_eq!([training.sequence_parallel, training.distributed_optimizer], [Some(true); 2]);
    assert_eq!([training.recompute.as_deref(), training.precision.as_deref()], [Some("selective"), Some("bf16")]);
    assert_eq!((training.replicate, file.notes), (None, vec!["These options are not used: lr".to_owned()]));
    let instances = "--use-distributed-optimizer --num-distributed-optimizer-instances 4";
    let hybrid = models::read_file(&SCRIPT.replace("--use-distributed-optimizer", instances)).unwrap();
    assert_eq!((hybrid.training.replicate, hybrid.notes.len()), (Some(4), 1));
}

/// A script that chooses one of two models, with what stands before it.
fn chooses(head: &str) -> String {
    format!(
        r#"#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
{head}
NNODES=${{SLURM_NNODES:-1}}
WORLD=$((NNODES * SLURM_GPUS_ON_NODE))  # it's 32, of 24" racks
if [ "$SIZE" = "8B" ]; then
  LAYERS=32; HIDDEN=4096; FFN=14336; GROUPS=(--group-query-attention --num-query-groups 8)
elif [[ $SIZE == 1* && -n $SIZE ]]; then
  LAYERS=16; HIDDEN=2048; FFN=8192; GROUPS=()
else
  echo "no such size \"$SIZE\""; exit 1
fi
case $SIZE in
  13B | 1B) TP=1 ;;
  *) TP=2 ;;
esac
for HEADS in 32 64; do
  ARGS=(
    --num-layers $LAYERS --hidden-size $HIDDEN  # don't
    --num-attention-heads $HEADS --ffn-hidden-size ${{FFN}} "${{GROUPS[@]}}"
    --swiglu --vocab-size 128256 --seq-length 8192 --bf16
  )
done
OTHER="--num-layers 99"
[ $((TP * 2)) -ge 4 ] && ARGS+=(--sequence-parallel)
HOST=$(scontrol show hostnames "$LIST" | tr -d '"' | head -1)
torchrun --nproc_per_node=${{SLURM_GPUS_ON_NODE}} --nnodes "$NNODES" pretrain_gpt.py "${{ARGS[@]}}" \
  --tensor-model-parallel-size $TP --micro-batch-size 1 --global-batch-size $((WORLD * 4))
"#
    )
}

#[test]
fn the_conditions_of_a_script_are_followed() {
    let sizes = |head: &str| {
        let file = models::read_file(&chooses(head)).unwrap();
        let model = file.model.clone().unwrap();
        let training = &file.training;
        assert_eq!(
            (training.global_batch, training.data.zip(training.tensor).map(|(a, b)| a * b)),
            (Some(128), Some(32))
        );
        let layers: u32 = model.layers.iter().map(|(_, count)| count).sum();
        let said: Vec<String> = file.notes.into_iter().filter(|note| note.starts_with("Line")).collect();
        ((model.hidden, layers, training.tensor, training.sequence_parallel), said)
    };
    let large = (4096, 32, Some(2), Some(true));
    assert_eq!(sizes("SIZE=8B"), (large, vec![]));
    assert_eq!(sizes("SIZE=${1:-1B}").0, (2048, 16, Some(1), Some(false)));
    assert_eq!(sizes("SIZE=13B").0, (2048, 16, Some(1), Some(false)));
    // What the script is given decides: it is taken as the first condition asks for, and told.
    let (found, said) = sizes("SIZE=$1");
    assert_eq!((found, said.len()), (large, 1));
    let told = "Line 7: [ \"$SIZE\" = \"8B\" ] is taken to hold: the file does not say $SIZE. Otherwise";
    assert!(said[0].starts_with(told), "{said:?}");
}

const TRAINS: &str = "torchrun --nnodes 8 --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \
     --num-attention-heads 32 --seq-length 4096 --vocab-size 32000 --bf16 --position-embedding-type rope \
     --micro-batch-size 1 --global-batch-size 512 --tensor-model-parallel-size";

/// The tensor degree of a script, in which `TRAIN` stands for a training's command up to its tensor degree.
fn tensor_degree(script: &str) -> u32 {
    let file = models::read_file(&script.replace("TRAIN", TRAINS)).unwrap();
    assert_eq!(file.missing, [], "{script}");
    assert!(file.model.is_some() && file.notes.is_empty(), "{script}: {:?}", file.notes);
    file.training.tensor.unwrap()
}

#[test]
fn a_script_is_followed_as_a_shell_runs_it() {
    for (script, degree) in [
        // Here-documents are no commands, unless nothing else trains.
        ("TP=2\ncat <<EOT > /dev/null\nTP=8\nEOT\nTRAIN $TP", 2),
        ("TRAIN 2\n: <<'COMMENT'\nTRAIN 8\ndon't\nCOMMENT\n", 2),
        ("cat > run.sh <<-'EOT'\n\tTRAIN 8\n\tEOT\nTRAIN 2", 2),
        ("sbatch <<EOT\nTRAIN 4\nEOT", 4),
        ("cat <<< word\nTRAIN 4", 4),
        // Loops.
        ("TP=1\nwhile [ $TP -lt 4 ]; do TP=$((TP*2)); done\nTRAIN $TP", 4),
        ("TP=1\nuntil [ $TP -ge 4 ]; do TP=$((TP*2)); done\nTRAIN $TP", 4),
        ("TP=1\nfor i in 1 2 3; do TP=$((TP*2)); done\nTRAIN $TP", 8),
        ("TP=1\nfor i in {1..3}; do TP=$((TP*2)); done\nTRAIN $TP", 8),
        ("TP=1\nfor i in $(seq 2); do TP=$((TP*2)); done\nTRAIN $TP", 4),
        ("TP=1\nfor ((i=0;i<2;i++)); do TP=$((TP*2)); done\nTRAIN $TP", 4),
        ("for TP in 2 4 8; do [ $TP -eq 4 ] && break; done\nTRAIN $TP", 4),
        ("L='2 4 8'\nfor TP in $L; do if [ $TP -eq 8 ]; then continue; fi; X=$TP; done\nTRAIN $X", 4),
        ("while true; do TRAIN 2; sleep 5; done", 2),
        // Conditions that are turned around.
        ("TP=2\nif ! [ 1 -eq 1 ]; then TP=8; fi\nTRAIN $TP", 2),
        ("TP=2\n! false && TP=4\nTRAIN $TP", 4),
        // Assignments, and where they end.
        ("TP=1\n((TP++))\nTRAIN $TP", 2),
        ("TP=1\n(( TP *= 4 ))\nTRAIN $TP", 4),
        ("TP=4\nunset TP\nTRAIN ${TP:-2}", 2),
        ("TP=2\n(TP=8; echo $TP)\nTRAIN $TP", 2),
        ("TP=2\nOMP_NUM_THREADS=1 TP=4 TRAIN $TP", 2),
        // What ends a script, and what only prints.
        ("TRAIN 2\nexit 0\nTRAIN 8", 2),
        ("TRAIN 2\n(exit 1)\nif [ -z \"$1\" ]; then exit 1; fi\n", 2),
        ("usage() { echo usage; exit 1; }\nTRAIN 2", 2),
        ("TRAIN 2\necho \"to resume: TRAIN 8\"", 2),
        ("TRAIN 2\necho 'for the large model use --num-layers 99 --tensor-model-parallel-size 8'", 2),
        // Expansions.
        ("A=(1 2)\nA[1]=4\nTRAIN ${A[1]}", 4),
        ("A=(1 2 4 8)\nTRAIN ${A[2]}", 4),
        ("A=(1 2 4 8)\nTRAIN ${#A[@]}", 4),
        ("declare -A TPS=([7b]=2 [70b]=8)\nMODEL=7b\nTRAIN ${TPS[$MODEL]}", 2),
        ("SIZE=tp_2\nTP=${SIZE//tp_/}\nTRAIN $TP", 2),
        ("S=x2y\nTRAIN ${S:1:1}", 2),
        ("S=x2y\nTRAIN ${S: -2:1}", 2),
        ("L=1,2,4,8\nTRAIN ${L##*,}", 8),
        ("L=4,2,1\nTRAIN ${L%%,*}", 4),
        ("L=llama-tp4\nTRAIN ${L#*-tp}", 4),
        ("V=abcd\nTRAIN ${#V}", 4),
        ("TP_7B=2\nV=TP_7B\nTRAIN ${!V}", 2),
        ("let TP=1+1\nTRAIN $TP", 2),
        ("declare -i TP=2*2\nTRAIN $TP", 4),
        ("TRAIN $((2**2))", 4),
        ("TRAIN $((1<<2))", 4),
        ("N=8\nTRAIN $(( N > 4 ? 4 : 2 ))", 4),
        ("A=2\nB=A\nTRAIN $((B*2))", 4),
        ("TRAIN $((010))", 8),
    ] {
        assert_eq!(tensor_degree(script), degree, "{script}");
    }
}

#[test]
fn what_of_a_script_is_not_followed_is_named_with_its_text() {
    let open = |script: &str| {
        let file = models::read_file(&script.replace("TRAIN", TRAINS)).unwrap();
        let reasons: Vec<String> = file.missing.into_iter().map(|field| field.reason).collect();
        (reasons, file.notes)
    };
    for (script, reason) in [
        ("TRAIN $TP", "line 1: $TP is not assigned in this file"),
        ("TRAIN $((TP * 2))", "line 1: $TP is not assigned in this file"),
        ("A=(1 2)\nTRAIN ${A[@]:1:1}", "line 2: ${A[@]:1:1} is an expansion that is not followed"),
        ("S=x\nTRAIN ${S@Q}", "line 2: ${S@Q} is an expansion that is not followed"),
        ("TRAIN $((5 & 4))", "line 1: $((5…)) is an expansion that is not followed"),
        ("TP=$(expr 2 \\* 2)\nTRAIN $TP", "line 2: $(expr…) is what a command prints, and none is run"),
    ] {
        assert_eq!(open(script).0, [reason], "{script}");
    }
    // A loop that never ends, and one of which nothing says how often.
    let (_, notes) = open("I=1\nwhile [ $I -gt 0 ]; do I=$((I+1)); done\nTRAIN 2");
    assert_eq!(notes, ["Line 2: the loop is not followed to its end: it has too many rounds"]);
    let (_, notes) = open("TP=1\nfor i in $(ls); do TP=$((TP*2)); done\nTRAIN $TP");
    assert!(notes[0].starts_with("Line 2: the loop over $(ls) is taken to have one round. Otherwise"), "{notes:?}");
    let (_, notes) = open("TP=1\nwhile read x; do TP=$((TP*2)); done\nTRAIN $TP");
    assert!(notes[0].starts_with("Line 2: read x is taken to hold: nothing in the file decides it"), "{notes:?}");
    // Several trainings: the last one counts.
    let (_, notes) = open("for TP in 1 2 4; do TRAIN $TP; done");
    assert!(notes[0].starts_with("It trains 3 models one after the other: the last counts"), "{notes:?}");
}

#[test]
fn words_that_megatron_does_not_know_are_refused() {
    let whole = format!("{TRAINS} 2 --recompute-num-layers 8");
    for (more, wrong) in [
        (
            "--recompute-granularity everything",
            "line 1, recompute_granularity: one of full, selective was expected, not",
        ),
        ("--recompute-method foo", "line 1, recompute_method: one of uniform, block was expected, not \"foo\""),
        ("--normalization Foo", "line 1, normalization: one of LayerNorm, RMSNorm was expected, not \"Foo\""),
        (
            "--use-megatron-fsdp --data-parallel-sharding-strategy optim_gradz",
            "one of no_shard, optim, optim_grads, optim_grads_params was expected, not \"optim_gradz\"",
        ),
        ("--fp16", "line 1, fp16: bf16 and fp16 exclude each other, and Megatron refuses both: leave one out"),
    ] {
        let error = models::read_file(&format!("{whole} {more}")).unwrap_err().to_string();
        assert!(error.contains(wrong), "{error}");
    }
    let noted = |more: &str| models::read_file(&format!("{whole} {more}")).unwrap().notes.join("; ");
    let uniform = noted("--recompute-granularity full --recompute-method uniform");
    assert!(
        uniform.starts_with("recompute_num_layers 8: as many layers are computed again at once there"),
        "{uniform}"
    );
    let alone = noted("--data-parallel-sharding-strategy optim_grads_params");
    assert!(alone.starts_with("data_parallel_sharding_strategy optim_grads_params is not used"), "{alone}");
    assert_eq!(noted("--data-parallel-sharding-strategy no_shard"), "");
    // Megatron-DeepSpeed's words.
    let model = |more: &str| models::read(&format!("{whole} {more}")).unwrap();
    assert_eq!(model("--normalization rmsnorm"), model("--normalization RMSNorm"));
    let grouped = "--group-query-attention --num-query-groups 8";
    assert_eq!(model("--num-key-value-heads 8"), model(grouped));
}

#[test]
fn a_window_counts_where_the_architecture_has_one() {
    let read = |text: &str| models::read_file(text).unwrap();
    let slid = read(&LLAMA.replacen('{', "{\"sliding_window\": 4096, ", 1));
    assert_eq!(
        (slid.model, slid.notes),
        (read(LLAMA).model, vec!["These keys are not used: sliding_window".to_owned()])
    );
    let of = |window: &str| {
        read(&LLAMA.replace("\"llama\"", "\"mistral\"").replacen('{', &format!("{{\"sliding_window\": {window}, "), 1))
    };
    assert_ne!(of("4096").model, of("null").model);
}

#[test]
fn configurations_of_other_programs_are_named() {
    for (text, program) in [
        ("pipe_parallel_size: 4\nmodel_parallel_size: 2\nnum_layers: 44\nzero_optimization: {stage: 1}\n", "GPT-NeoX"),
        ("\"pipe-parallel-size\": 4\ntrain_micro_batch_size_per_gpu: 4\n", "GPT-NeoX"),
        ("base_model: NousResearch/Llama-2-7b-hf\nmodel_type: LlamaForCausalLM\n", "Axolotl"),
    ] {
        let error = models::read_file(text).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("this looks like a configuration of {program}, which is not read")),
            "{error}"
        );
    }
}

#[test]
fn functions_are_followed_where_they_are_called() {
    let read = |definition: &str, calls: &str| {
        let text = format!(
            "#!/bin/bash\n{definition} {{\n  local layers=$1 hidden=${{2:-4096}}\n  shift 2\n  torchrun --nproc_per_node 8 \
             pretrain_gpt.py --num-layers $layers --hidden-size $hidden --num-attention-heads 32 --vocab-size 128256 \
             --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 \"$@\"\n}}\n{calls}\n"
        );
        let file = models::read_file(&text).unwrap();
        let of_model = file.model.as_ref().map(|model| {
            let layers: u32 = model.layers.iter().map(|(_, count)| count).sum();
            (layers, model.hidden)
        });
        (of_model, file.training.tensor, file)
    };
    let with_tensor = "run 16 2048 --tensor-model-parallel-size 2 2>&1 | tee log";
    for definition in ["run()", "function run", "run ()", "function run()"] {
        let (model, tensor, _) = read(definition, with_tensor);
        assert_eq!((model, tensor), (Some((16, 2048)), Some(2)), "{definition}");
    }
    // Of several calls the last counts, as of several trainings; one is called by another.
    assert_eq!(read("run()", "run 16 2048\nrun 24 1024").0, Some((24, 1024)));
    assert_eq!(read("run()", "both() { run $2 $1; }\nboth 2048 16").0, Some((16, 2048)));
    // What no call says stays open, and is named.
    for calls in ["", "run \"$@\"", "run"] {
        let (model, _, file) = read("run()", calls);
        let told = format!("{:?} {:?}", file.missing, file.notes);
        assert!(model.is_none() && told.contains("layers"), "{calls}: {told}");
    }
    // A function without an end: the script is read line by line.
    assert_eq!(read("run()", "run 16 2048\nagain() { again; again; }\nagain").0, None);
}

#[test]
fn what_is_open_of_the_batch_or_the_launch_leaves_the_model_whole() {
    let open = SCRIPT.replace("--global_batch_size=128", "--global_batch_size=$(count)");
    let file = models::read_file(&open).unwrap();
    assert_eq!(file.model, known("llama-3.1-8b").ok());
    let told: Vec<_> = file.missing.iter().map(|field| (&*field.key, &*field.reason)).collect();
    assert_eq!(told, [("global_batch_size", "line 14: $(count) is what a command prints, and none is run")]);
    for (from, to) in [("--nproc_per_node 8", "--nproc_per_node gpu"), ("--nnodes 2", "--nnodes 1:4")] {
        let file = models::read_file(&SCRIPT.replace(from, to)).unwrap();
        assert_eq!((file.model, file.missing, file.training.data), (known("llama-3.1-8b").ok(), vec![], None));
    }
    // Without a launcher of its own, each task of a job is a process.
    let job = SCRIPT.replace("torchrun --nproc_per_node 8 --nnodes 2", "srun python");
    let job = format!("#SBATCH -N 2\n#SBATCH --ntasks-per-node=8\n{job}");
    assert_eq!(models::read_file(&job).unwrap().training.data, Some(8));
}

#[test]
fn the_last_of_several_trainings_counts_with_what_starts_it() {
    let of = |starts: &str, more: &str| {
        format!(
            "{starts} python pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 \
             --max-position-embeddings 2048 --vocab-size 32000 --bf16 --micro-batch-size 1 --global-batch-size 64 {more}\n"
        )
    };
    let two = of("srun -N 1 -n 8", "--swiglu --pipeline-model-parallel-size 2") + &of("srun -N 4 -n 32", "");
    let file = models::read_file(&two).unwrap();
    assert_eq!((file.training.pipeline, file.training.data), (Some(1), Some(32)));
    assert_eq!(file.notes, ["It trains 2 models one after the other: the last counts, of line 2"]);
    let nodes = [0, 1].map(|rank| of(&format!("torchrun --nnodes 2 --node_rank={rank} --nproc_per_node 8"), ""));
    let file = models::read_file(&nodes.concat()).unwrap();
    assert_eq!(
        (file.training.data, file.notes.iter().any(|note| note.contains("one after the other"))),
        (Some(16), false)
    );
    for (starts, gpus) in [
        ("srun -N 4 -n 32", Some(32)),
        ("srun --nodes=4 --ntasks-per-node 8", Some(32)),
        ("mpirun -np 16 -x NCCL_DEBUG=INFO", Some(16)),
        ("CUDA_DEVICE_MAX_CONNECTIONS=1", None),
    ] {
        let file = models::read_file(&of(starts, "")).unwrap();
        assert_eq!((file.training.data, &file.notes[..]), (gpus, &[][..]), "{starts}");
    }
}

#[test]
fn a_log_measures_the_run_of_its_last_arguments() {
    let arguments = |tensor: u32| {
        format!(
            "  hidden_size ..................... 1024\n  max_position_embeddings ......... 2048\n\
             \x20 num_attention_heads ............. 16\n  num_layers ...................... 24\n\
             \x20 padded_vocab_size ............... 51200\n  seq_length ...................... 2048\n\
             \x20 world_size ...................... 32\n  tensor_model_parallel_size ...... {tensor}\n"
        )
    };
    let steps = |ms: &str| {
        format!(" iteration 10/ 500 | elapsed time per iteration (ms): {ms} | global batch size: 128 |\n").repeat(5)
    };
    let log = arguments(2) + &steps("1700.0").repeat(4) + &arguments(8) + &steps("3000.0/3005.2");
    let file = models::read_file(&log).unwrap();
    let measured = file.measured.unwrap();
    assert_eq!((file.training.tensor, measured.time_us, measured.iterations), (Some(8), 3e6, 5));
}

#[test]
fn arguments_in_a_log_are_read_with_the_defaults_of_megatron() {
    let log = "using world size: 64\n------ arguments ------\n  add_bias_linear ................. True\n\
               \x20 ffn_hidden_size ................. 49152\n  hidden_size ..................... 12288\n\
               \x20 kv_channels ..................... 128\n  max_position_embeddings ......... 2048\n\
               \x20 num_attention_heads ............. 96\n  num_experts ..................... None\n\
               \x20 num_layers ...................... 96\n  padded_vocab_size ............... 51200\n\
               \x20 swiglu .......................... False\n  world_size ...................... 64\n\
               \x20 tensor_model_parallel_size ...... 8\n  pipeline_model_parallel_size .... 8\n";
    assert_eq!(models::read(log), known("gpt3-175b"));
    assert_eq!(models::read_file(log).unwrap().training.data, Some(1));
}

#[test]
fn groups_of_heads_without_their_flag_are_named_as_unused() {
    let file = models::read_file(&SCRIPT.replace("--group-query-attention ", "")).unwrap();
    let heads = |file: &models::ModelFile| match file.model.as_ref().unwrap().layers[0].0.attention {
        Attention::Grouped { heads, kv_heads, .. } => (heads, kv_heads),
        Attention::Latent { .. } => (0, 0),
    };
    assert_eq!(heads(&file), (32, 32));
    assert!(file.notes.iter().any(|note| note.starts_with("num_query_groups 8 is not used:")), "{:?}", file.notes);
    let with_flag = models::read_file(SCRIPT).unwrap();
    assert_eq!((heads(&with_flag), with_flag.notes.len()), ((32, 8), 1));
}

#[test]
fn arguments_that_are_open_or_contradict_each_other_are_named() {
    let open = SCRIPT.replace("HIDDEN=4096\n", "");
    let file = models::read_file(&open).unwrap();
    assert_eq!(file.model, None);
    let told: Vec<_> = file.missing.iter().map(|field| (&*field.key, &*field.reason)).collect();
    assert_eq!(told, [("hidden_size", "line 6: $HIDDEN is not assigned in this file")]);
    for (from, to, said) in [
        ("--num-query-groups 8", "--num-query-groups 5", "5 heads of keys and values do not divide 32"),
        ("--swiglu", "--swiglu --num-experts 8 --moe-router-topk 9", "processed by 9 of 8 experts"),
        (
            "--bf16",
            "--bf16 --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 5",
            "5 layers do not divide the 32 layers of 2 stages into chunks",
        ),
        (
            "--position-embedding-type rope",
            "--max-position-embeddings 2048",
            "2048 learned positions are fewer than the 8192 tokens of a sequence",
        ),
        ("pretrain_gpt.py", "pretrain_t5.py", "pretrain_t5.py trains no decoder"),
        ("--swiglu", "--swiglu --num-experts 8 --expert-model-parallel-size 3", "evenly over 3 GPUs (nearest: 2)"),
        ("--swiglu", "--swiglu --num-experts 8 --moe-layer-freq '([0]*3+[1]*2)'", "lists 5 layers, and there are 32"),
        (
            "--vocab-size 128256",
            "--vocab-size many",
            "line 12, vocab_size: a whole number from 1 to 16777216 was expected, not \"many\"",
        ),
    ] {
        let text = SCRIPT.replace(from, to);
        assert!(refused(&text).contains(said), "{said}: {}", refused(&text));
    }
    // Other GPUs and another batch may be asked about.
    for (from, to, key, said) in [
        (
            "--global_batch_size=128",
            "--global_batch_size=100",
            "global_batch_size",
            "100 is no multiple of micro batch·replicas = 1·8 = 8 (nearest: 96)",
        ),
        ("TP=2", "TP=3", "world_size", "tensor·pipeline·context is 3, which does not divide 16 GPUs (nearest: 15)"),
    ] {
        let file = models::read_file(&SCRIPT.replace(from, to)).unwrap();
        assert!(file.model.is_some());
        let told: Vec<_> = file.missing.iter().map(|field| (&*field.key, &*field.reason)).collect();
        assert_eq!(told, [(key, said)]);
    }
}

/// The head of a job of Slurm says its size with what starts the processes, in each of the usual forms.
#[test]
fn the_size_of_a_job_is_that_of_its_head_and_its_launcher() {
    let model = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --vocab-size 128 --seq-length 64";
    for (head, launcher, gpus) in [
        ("#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n", "srun python", 32),
        ("#SBATCH -N 4\n#SBATCH --gres=gpu:h100:8\n", "srun python", 32),
        ("#SBATCH -N4 --gpus-per-node h100:8 # all of them\n", "srun python", 32),
        ("#SBATCH -N 4 -G 16\n", "srun python", 16),
        ("#SBATCH --nodes=4\n", "srun --ntasks-per-node=8 python", 32),
        ("#SBATCH --nodes=4 --ntasks-per-node=4 --gpus-per-node=8\n", "srun python", 16),
        ("#SBATCH --nodes=4 --gpus-per-node=8\n", "srun -N 2 --ntasks-per-node=8 python", 16),
        ("", "deepspeed --num_nodes 2 --num_gpus 8", 16),
    ] {
        let text = format!("#!/bin/bash\n{head}{launcher} pretrain_gpt.py {model}\n");
        let file = models::read_file(&text).unwrap();
        assert_eq!(file.training.data, Some(gpus), "{text}: {:?}", file.notes);
        assert!(!file.notes.iter().any(|note| note.contains("num_gpus")), "{:?}", file.notes);
    }
}

#[test]
fn what_megatron_shares_and_computes_again_is_read() {
    let of = |more: &str| {
        let text =
            format!("--num-layers 32 --hidden-size 64 --num-attention-heads 4 --vocab-size 128 --seq-length 64 {more}");
        models::read_file(&text).unwrap()
    };
    for (more, kind) in [
        ("--recompute-activations", "selective"),
        ("--checkpoint-activations", "full"),
        ("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", "full"),
        ("", "none"),
    ] {
        assert_eq!(of(more).training.recompute.as_deref(), Some(kind), "{more}");
        assert!(!of(more).notes.iter().any(|note| note.contains("recompute_method")), "{:?}", of(more).notes);
    }
    let block = of("--recompute-granularity full --recompute-method block --recompute-num-layers 4");
    assert!(block.notes[0].contains("block: 4 of 32 layers are computed again there"), "{:?}", block.notes);
    let modules = of("--recompute-granularity selective --recompute-modules mlp");
    assert!(modules.notes[0].starts_with("recompute_modules mlp: the estimate"), "{:?}", modules.notes);
    let several = of("--recompute-granularity selective --recompute-modules core_attn mlp --bf16");
    assert!(several.notes[0].starts_with("recompute_modules core_attn mlp: the estimate"), "{:?}", several.notes);
    let usual = of("--recompute-granularity selective --recompute-modules core_attn --bf16");
    assert!(!usual.notes.iter().any(|note| note.contains("recompute_modules")), "{:?}", usual.notes);
    for (more, zero) in [
        ("--use-torch-fsdp2", Some(3)),
        ("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params", Some(3)),
        ("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads", Some(2)),
        ("--deepspeed --zero-stage 1", Some(1)),
        ("--zero-stage 0", Some(0)),
        ("", None),
    ] {
        assert_eq!(of(more).training.zero, zero, "{more}");
    }
    assert_eq!(of("--deepspeed").training.software, Some("megatron-lm"));
    // Bars part the stages' chunks.
    let chunks = |pipeline: u32, layout: &str| {
        of(&format!("--pipeline-model-parallel-size {pipeline} --pipeline-model-parallel-layout \"{layout}\""))
    };
    for (pipeline, layout, number) in [
        (2, "Et*3|(tt|)*6mL", Some(4)),
        (4, "Et|(tt|)*5t|L", Some(2)),
        (3, "Ett|tt|tt|tL", None),
        (2, "Ett|ttL", Some(1)),
    ] {
        let file = chunks(pipeline, layout);
        assert_eq!(file.training.virtual_stages, number, "{layout}");
        assert!(file.notes[0].starts_with("pipeline_model_parallel_layout has"), "{:?}", file.notes);
    }
}

#[test]
fn deepspeed_says_how_and_asks_for_the_model() {
    let text = r#"{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4,
        "zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}"#;
    let file = models::read_file(text).unwrap();
    let training = &file.training;
    assert_eq!([training.data, training.zero, training.micro_batches], [8, 3, 4].map(Some));
    assert_eq!((training.overlap_reduce, training.precision.as_deref()), (Some(true), Some("bf16")));
    assert_eq!(file.missing.len(), 1);
    assert!(refused(text).contains("add a config.json"), "{}", refused(text));
    let auto = models::read_file(&text.replace("64", "\"auto\"")).unwrap();
    assert_eq!(auto.missing[1].key, "train_batch_size");
    let wrong = refused(&text.replace("64", "60"));
    assert!(wrong.contains("60 is no multiple of 2·4 = 8 (nearest: 56)"), "{wrong}");
    let mics = models::read_file(&text.replace("\"stage\": 3", "\"stage\": 3, \"mics_shard_size\": 8")).unwrap();
    assert!(mics.notes[0].starts_with("mics_shard_size (8) is not used"), "{:?}", mics.notes);
    let off = models::read_file(&text.replace("\"stage\": 3", "\"stage\": 3, \"mics_shard_size\": -1")).unwrap();
    assert!(off.notes.is_empty(), "{:?}", off.notes);
    let offload = refused(&text.replace("\"stage\": 3", "\"stage\": 3, \"offload_param\": {\"device\": \"cpu\"}"));
    assert!(offload.contains("outside of the GPU"), "{offload}");
}

proptest! {
    #[test]
    fn no_script_is_too_strange(parts in prop::collection::vec(
        prop_oneof![
            Just("--num-layers ".to_owned()), Just("A=$A$A$A\n".to_owned()), Just("${".to_owned()),
            Just("--hidden-size 64 --num-attention-heads 4 --vocab-size 9 --seq-length 8 ".to_owned()),
            Just("  num_layers ...... 3\n".to_owned()), Just("--moe-layer-freq [1]*9 --num-experts 4 ".to_owned()),
            "[ -~\n]{0,20}",
        ], 0..12,
    )) {
        let text = format!("--num-layers 2 {}", parts.concat());
        if let Ok(model) = models::read(&text) {
            let _ = (model.parameters(), model.active_parameters(), model.training_flop_per_token(4096));
        }
    }

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

const TORCHTITAN: &str = r#"
[job]
description = "Llama 3 8B"

[model]
name = "llama3"
flavor = "8B"
converters = ["float8"]

[training]
local_batch_size = 4
seq_len = 8_192
steps = 1000

[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 2
pipeline_parallel_degree = 1

[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"

[compile]
enable = true
"#;

#[test]
fn torchtitan_says_the_model_the_layout_and_what_is_not_used() {
    let file = models::read_file(TORCHTITAN).unwrap();
    assert_eq!(file.model, known("llama-3.1-8b").ok());
    assert_eq!(file.missing, []);
    let training = &file.training;
    assert_eq!([training.sequence, training.micro_batch, training.micro_batches], [8192, 4, 1].map(Some));
    assert_eq!([training.tensor, training.data, training.zero], [Some(2), None, Some(3)]);
    assert_eq!((training.software, training.fp8.as_deref()), (Some("torchtitan"), Some("float8")));
    assert_eq!(training.recompute.as_deref(), Some("operators"));
    assert_eq!(file.notes, ["Not used: job, training.steps"]);

    // Converters alone decide on 8 bits: a list or one, in either place of their names.
    let precision = |converters: &str, table: &str| {
        let text = TORCHTITAN.replace("converters = [\"float8\"]", converters) + table;
        models::read_file(&text).unwrap().training.fp8
    };
    for (converters, has_fp8) in [
        ("converters = \"float8\"", true),
        ("converters = [\"quantize.linear.float8\"]", true),
        ("converters = [\"quantize.linear.mx\"]", true),
        ("converters = []", false),
        ("", false),
    ] {
        let found = precision(converters, "\n[quantize.linear.float8]\nenable_fsdp_float8_all_gather = false\n");
        assert_eq!(found.is_some(), has_fp8, "{converters}");
    }

    // The batch of all replicas follows from the number of GPUs, which the file leaves open.
    let settings = EstimateSettings { gpus: 64, ..EstimateSettings::default() }.as_trained(training);
    assert_eq!(settings.batch(), 4 * 32);
    assert_eq!((settings.stack, settings.precision), (Stack::TorchTitan, Precision::Fp8));
    let layout = settings.layout.unwrap();
    assert_eq!((layout.recomputation, layout.sharding), (Some(Recomputation::Operators), Some(Sharding::Parameters)));
}

/// A model of Megatron on 64 GPUs, with more arguments.
fn megatron(more: &str) -> String {
    format!(
        "torchrun --nnodes 8 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
         --seq-length 4096 --max-position-embeddings 4096 --padded-vocab-size 128256 --tensor-model-parallel-size 4 \
         --pipeline-model-parallel-size 2 {more}"
    )
}

#[test]
fn what_several_files_say_is_put_together_in_any_order() {
    let training = |text: &str| models::read_file(text).unwrap().training;
    let arguments = training(&megatron("--micro-batch-size 1 --global-batch-size 256 --bf16"));
    let engine = training(
        r#"{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 1},
            "bf16": {"enabled": true}}"#,
    );
    let both = [("run.sh", &arguments), ("ds.json", &engine)];
    let settings = EstimateSettings::of_files(both.into_iter());
    let layout = settings.layout.unwrap();
    assert_eq!([layout.tensor, layout.pipeline, layout.micro_batch], [4, 2, 2]);
    assert_eq!((settings.gpus, settings.batch(), layout.sharding), (64, 256, Some(Sharding::Optimizer)));
    let [contradiction] = &settings.contradictions[..] else { panic!("{:?}", settings.contradictions) };
    assert!(contradiction.starts_with("run.sh and ds.json differ in micro_batch"), "{contradiction}");
    assert_eq!(settings, EstimateSettings::of_files(both.into_iter().rev()));
    assert_eq!(EstimateSettings::of_files([("run.sh", &arguments)].into_iter()).contradictions, [] as [String; 0]);
}

#[test]
fn the_micro_batches_of_a_replica_say_the_batch_of_all() {
    let training = |text: &str| models::read_file(text).unwrap().training;
    let arguments = training(&megatron("--micro-batch-size 1 --global-batch-size 256 --bf16"));
    let engine = training(r#"{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2}"#);
    let settings = EstimateSettings::of_files([("run.sh", &arguments), ("ds.json", &engine)].into_iter());
    assert_eq!(settings.batch(), 2 * 2 * 8);
    assert!(settings.contradictions[0].contains("micro_batch, micro_batches, global_batch"), "{settings:?}");
    // Of as many replicas as are asked for, the steps of accumulation can be others.
    let all = r#"{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}"#;
    let told = |gpus: u64| {
        let settings = EstimateSettings { gpus, ..EstimateSettings::default().as_trained(&training(all)) };
        let model = known("llama-3.1-8b").unwrap();
        settings.answer(&model, &Catalogue::built_in(), &[], &[], |_| std::ops::ControlFlow::Break(())).unwrap()
    };
    assert_eq!(told(8).contradictions, [] as [String; 0]);
    let other = told(16).contradictions;
    assert!(other[0].starts_with("A replica has 4 sequences of a step of 64, shared by 16 replicas"), "{other:?}");
}

#[test]
fn a_batch_that_is_not_said_is_that_of_the_program() {
    let file = models::read_file(&megatron("--micro-batch-size 1 --bf16")).unwrap();
    assert_eq!(EstimateSettings::default().as_trained(&file.training).batch(), 8);
    assert!(file.notes.iter().any(|note| note.starts_with("Without global_batch_size")), "{:?}", file.notes);
    // The number of micro-batches is nothing without their size.
    let steps = models::read_file(r#"{"train_batch_size": 64, "gradient_accumulation_steps": 4}"#).unwrap();
    let open: Vec<&str> = steps.missing.iter().map(|open| open.key.as_str()).collect();
    assert_eq!(open, ["model", "train_micro_batch_size_per_gpu"]);
    let keys = r#"{"train_batch_size": 64, "zero_optimization": {"stage": 3, "reduce_bucket_size": 5}, "fp16": {"enabled": true}}"#;
    let notes = models::read_file(keys).unwrap().notes;
    assert_eq!(notes, ["These keys are not used: zero_optimization.reduce_bucket_size"]);
}

#[test]
fn toml_with_comments_blanks_and_a_byte_order_mark_is_recognised() {
    let usual = models::read_file(TORCHTITAN).unwrap();
    for (from, to) in [
        ("[model]", "[model]   # the model"),
        ("[training]", "[ training ]"),
        ("\n[job]", "\u{feff}[job]"),
        ("\n", "\r\n"),
    ] {
        assert_eq!(models::read_file(&TORCHTITAN.replace(from, to)).unwrap().model, usual.model, "{to}");
    }
}

#[test]
fn the_bytes_of_a_gradient_are_those_that_megatron_has() {
    let bytes = |more: &str| {
        let text = SCRIPT.replace("--bf16", more);
        models::read_file(&text).unwrap().training.gradient_bytes
    };
    let found = ["--bf16", "--bf16 --grad-reduce-in-bf16", "--fp16", "--fp16 --accumulate-allreduce-grads-in-fp32"];
    assert_eq!(found.map(bytes), [4, 2, 2, 4].map(Some));
}

#[test]
fn a_part_for_texts_is_told_and_missing_sizes_are_the_first_that_is_said() {
    let text = r#"{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 128, "vocab_size": 256}"#;
    let both = format!(r#"{{"model_type": "llava", "text_config": {text}}}"#);
    let file = models::read_file(&both).unwrap();
    assert_eq!(file.model, models::read_file(text).unwrap().model);
    assert!(file.notes[0].starts_with("It is a model for texts and others"), "{:?}", file.notes);
    let few = refused(r#"{"model_type": "mistral", "hidden_size": 4096}"#);
    let said =
        "a mistral needs num_hidden_layers, num_attention_heads, intermediate_size, vocab_size, which are missing";
    assert_eq!(few, said);
}

#[test]
fn torchtitans_pipelines_older_tables_and_open_questions() {
    let piped = TORCHTITAN.replace(
        "pipeline_parallel_degree = 1",
        "pipeline_parallel_degree = 4\npipeline_parallel_schedule = \"Interleaved1F1B\"",
    );
    let training = models::read_file(&piped).unwrap().training;
    assert_eq!([training.micro_batch, training.micro_batches, training.virtual_stages], [1, 4, 2].map(Some));
    let uneven = piped.replace("[parallelism]", "[parallelism]\npipeline_parallel_microbatch_size = 3");
    assert!(refused(&uneven).contains("3 does not divide local_batch_size, which is 4"), "{}", refused(&uneven));
    let twice = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\n[parallelism]\n\
                 data_parallel_shard_degree = -1\ndata_parallel_replicate_degree = -1\n";
    let open = models::read_file(twice).unwrap().missing;
    assert_eq!(open[0].key, "data_parallel_replicate_degree", "{open:?}");

    let reshards = |text: &str, word: &str| {
        let of = format!("[parallelism]\nfsdp_reshard_after_forward = \"{word}\"");
        let file = models::read_file(&text.replace("[parallelism]", &of)).unwrap();
        (file.training.zero, file.notes.iter().any(|note| note.contains("is estimated as \"never\"")))
    };
    assert_eq!(["default", "always", "never"].map(|word| reshards(TORCHTITAN, word).0), [3, 3, 2].map(Some));
    assert_eq!(["default", "always"].map(|word| reshards(&piped, word)), [(Some(3), false), (Some(3), true)]);

    let odd = TORCHTITAN.replace("[parallelism]", "[parallelism]\nfsdp_reshard_after_forward = \"often\"");
    assert!(refused(&odd).contains("default, always or never"), "{}", refused(&odd));

    let old = "[model]\nname = \"llama3\"\nflavor = \"70B\"\n[training]\nbatch_size = 2\ntensor_parallel_degree = 8\n\
               data_parallel_shard_degree = 16\ndata_parallel_replicate_degree = 2\n";
    let file = models::read_file(old).unwrap();
    assert_eq!([file.training.tensor, file.training.micro_batch, file.training.data], [8, 2, 32].map(Some));
    assert_eq!(file.training.software, Some("torchtitan-eager"));
    assert_eq!((file.training.replicate, file.notes.len()), (Some(2), 1));
    assert!(file.notes[0].starts_with("Of every 2 layers one is computed again"), "{:?}", file.notes);
    let settings = EstimateSettings::default().as_trained(&file.training);
    assert_eq!((settings.gpus, settings.layout.unwrap().replicate, settings.replicates), (256, 2, vec![2]));
    // Replicas that share nothing are no hybrid.
    let replicas = models::read_file(&old.replace("shard_degree = 16", "shard_degree = 1")).unwrap().training;
    assert_eq!((replicas.replicate, replicas.zero), (None, Some(0)));

    let outside = models::read_file(&format!("seed = 1\n{TORCHTITAN}")).unwrap();
    assert_eq!(outside.notes, ["Not used: job, training.steps, seed"]);
    let unknown = models::read_file(&TORCHTITAN.replace("8B\"\nconv", "9B\"\nconv")).unwrap();
    assert_eq!((unknown.model, unknown.missing[0].key.as_str()), (None, "model.flavor"));
    for (from, to, said) in [
        (
            "seq_len = 8_192",
            "seq_len = \"long\"",
            "line 12, column 11, seq_len: a whole number of at least 1 was expected",
        ),
        ("steps = 1000", "steps = ", "line 13, column 9: "),
        (
            "mode = \"selective\"",
            "mode = \"some\"",
            "none, selective, full or memory_budget was expected, not \"some\"",
        ),
        (
            "parallel_degree = 1",
            "parallel_degree = 2\npipeline_parallel_schedule = \"Eager1F1B\"",
            "1F1B, GPipe, Interleaved1F1B",
        ),
    ] {
        let text = TORCHTITAN.replace(from, to);
        assert!(refused(&text).contains(said), "{said}: {}", refused(&text));
    }
}
