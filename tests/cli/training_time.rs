//! What `collectune training-time step` and `collectune training-time layouts` write and say, and how they end.

#![allow(clippy::unwrap_used)]

use std::fs;

use crate::support::{
    archives::gzipped,
    terminal::{collectune, ended, json, text, write},
};
use collectune::training_time::simulate::Simulation;
use serde_json::Value;
use tempfile::TempDir;

/// Samples of a made-up cluster, with a run.
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/public/examples/simulated_training.zip");

fn sum(of: &Value) -> f64 {
    of.as_object().unwrap().values().map(|value| value.as_f64().unwrap()).sum()
}

#[test]
fn a_step_is_written_with_its_parts() {
    let step = json(&["training-time", "step", EXAMPLE, "--json"]);
    let total = step["total_us"].as_f64().unwrap();
    let [low, high] = [0, 1].map(|end| step["spread_us"][end].as_f64().unwrap());
    assert!(low < total && total < high, "{low} {total} {high}");
    assert_eq!(step["mode"], "default");
    let keys: Vec<&str> = step["components"].as_object().unwrap().keys().map(String::as_str).collect();
    for key in [
        "forward",
        "backward",
        "recompute",
        "tensor_all_reduce",
        "p2p",
        "bubble",
        "gradient_all_reduce",
        "optimizer",
        "all_gather",
    ] {
        assert!(keys.contains(&key), "{keys:?}");
    }
    assert!((sum(&step["components"]) / total - 1.0).abs() < 1e-9);
    assert!((sum(&step["marks"]) - 1.0).abs() < 1e-9);
    assert_eq!(step["stages"].as_array().unwrap().len(), 4);
    let people = ended(&collectune(&["training-time", "step", EXAMPLE]), 0);
    assert!(people.contains("on 16 GPUs: pp 4, tp 2, dp 2, b 4, m 8; default mode"), "{people}");
}

#[test]
fn the_best_layouts_on_each_number_of_gpus_are_written() {
    let found =
        json(&["training-time", "layouts", EXAMPLE, "--gpus", "8,16", "--batch", "64", "--best", "4", "--json"]);
    let rows = found["rows"].as_array().unwrap();
    let degree = |row: &Value, key: &str| row[key].as_u64().unwrap();
    let gpus = |row: &Value| degree(row, "tp") * degree(row, "pp") * degree(row, "dp");
    for count in [8, 16] {
        assert_eq!(rows.iter().filter(|row| gpus(row) == count).count(), 4);
    }
    assert!(rows.iter().all(|row| degree(row, "micro_batch") * degree(row, "micro_batches") * degree(row, "dp") == 64));
    let times: Vec<f64> = rows.iter().map(|row| row["total_us"].as_f64().unwrap()).collect();
    assert!(times.is_sorted());
    assert!(rows.iter().map(|row| degree(row, "rank")).is_sorted() && rows[0]["rank"] == 1);
    assert_eq!(found["nothing"], Value::Null);
    // The same as where each is searched alone.
    let alone = json(&["training-time", "layouts", EXAMPLE, "--gpus", "8", "--batch", "64", "--best", "4", "--json"]);
    let of_eight: Vec<&Value> = rows.iter().filter(|row| gpus(row) == 8).map(|row| &row["total_us"]).collect();
    assert_eq!(of_eight, alone["rows"].as_array().unwrap().iter().map(|row| &row["total_us"]).collect::<Vec<_>>());

    let none = json(&["training-time", "layouts", EXAMPLE, "--gpus", "8", "--batch", "64", "--memory", "3", "--json"]);
    let why = none["nothing"].as_str().unwrap();
    println!("{why}");
    assert!(why.contains("because a stage needs more memory than a device has") && why.contains("the smallest needs"));
    assert!(none["dropped"]["memory"].as_u64().unwrap() > 0);
}

#[test]
fn what_can_not_be_predicted_says_why() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let run = write("wide.yml", "training_config: [4, 3, 2, 4, 32, 4096, 4096, 8, 4]\nencoders: 32\n");
    let refused = collectune(&["training-time", "step", EXAMPLE, "--run", &run]);
    assert!(!refused.status.success());
    let why = "line 1, column 22, mp: mp = 3 does not divide h = 32; 2 does";
    assert_eq!(text(&refused.stderr).matches(why).count(), 1, "{}", text(&refused.stderr));
    // Another file than a run is none, though the archive holds one.
    let notes = write("notes.yml", "a: &b [1]\nc: *b\n");
    let refused = collectune(&["training-time", "step", EXAMPLE, "--run", &notes]);
    assert!(
        !refused.status.success() && text(&refused.stderr).contains("notes.yml: no configuration can be read from it"),
        "{}",
        text(&refused.stderr)
    );
    let own = write("own.yml", "training_config: [2, 2, 2, 4, 32, 4096, 4096, 8, 4]\nencoders: 32\n");
    let people = ended(&collectune(&["training-time", "step", EXAMPLE, "--run", &own]), 0);
    assert!(people.contains("on 8 GPUs: pp 2, tp 2, dp 2"), "{people}");
    let no_samples = write("run.yml", "training_config: [4, 2, 2, 4, 32, 4096, 4096, 8, 4]\nencoders: 32\n");
    let nothing = collectune(&["training-time", "step", &no_samples]);
    assert!(
        !nothing.status.success() && text(&nothing.stderr).contains("there are no samples to study"),
        "{}",
        text(&nothing.stderr)
    );
    assert!(!collectune(&["training-time", "layouts", EXAMPLE, "--gpus", "0", "--batch", "64"]).status.success());
}

/// The files of the example, one of them renamed, with measured steps in seconds beside them.
fn untold(folder: &TempDir) -> (String, String) {
    for (path, text) in Simulation::example().files() {
        let path = folder.path().join(path.replace("_linear3_", "_renamed_"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let header = "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,\
                  data parallelism,pipeline parallelism,iteration time (ms)\n";
    // Twelve layouts: of each step another number of micro-batches.
    let row = |step: u32| {
        let (batch, seconds) = (16 * (step + 1), 0.37 + 0.1 * f64::from(step));
        format!("2,{batch},8,1024,16,24,1024,1,1,2,{seconds:.5}\n")
    };
    let rows: String = (0..12).map(row).collect();
    let steps = write(folder, "steps.csv", format!("{header}{rows}"));
    (folder.path().join("simulated").display().to_string(), steps)
}

#[test]
fn what_files_do_not_tell_is_asked_and_answered() {
    let folder = TempDir::new().unwrap();
    let (samples, steps) = untold(&folder);
    let asked = collectune(&["training-time", "step", &samples]);
    let said = text(&asked.stderr);
    assert_eq!(asked.status.code(), Some(1));
    assert!(said.contains("renamed_fp16.csv: Which operator is it: linear2, linear3"), "{said}");
    assert!(said.contains("It does not count until --answer"), "{said}");
    assert!(said.contains("there are no samples of operator linear3"), "{said}");
    let answer = "SimulatedGPU_renamed_fp16.csv=linear3";
    let told = collectune(&["training-time", "step", &samples, "--answer", answer]);
    assert!(ended(&told, 0).contains("linear3"));
    assert!(!text(&told.stderr).contains("Which operator"));
    for (wrong, why) in [
        ("SimulatedGPU_renamed_fp16.csv=linear9", "linear9 is no answer; linear2, linear3"),
        ("elsewhere.csv=linear3", "nothing is asked of it"),
        ("renamed", "--answer takes FILE=ANSWER"),
    ] {
        let refused = collectune(&["training-time", "step", &samples, "--answer", wrong]);
        assert!(refused.status.code() == Some(1) && text(&refused.stderr).contains(why), "{}", text(&refused.stderr));
    }

    // Steps in seconds are not calibrated on before somebody says that they are.
    let seconds = collectune(&["training-time", "step", &samples, "--answer", answer, "--calibrate", &steps]);
    let said = text(&seconds.stderr);
    assert!(seconds.status.code() == Some(1) && said.contains("are they seconds? It does not count until"), "{said}");
    assert!(said.contains("its times have a doubtful unit") && said.contains("steps.csv=seconds"), "{said}");
    let calibrate =
        ["training-time", "step", &samples, "--answer", answer, "--answer", "steps.csv=seconds", "--calibrate", &steps];
    let said = text(&collectune(&calibrate).stderr);
    // They are of one model, and the run is of another.
    assert!(said.contains("not calibrated: all of the 12 measured steps"), "{said}");
    // A table that the bundle has besides is not the one that is named.
    let own = fs::read_to_string(&steps).unwrap().replace("1,1,2,0.", "1,1,2,1.");
    fs::write(format!("{samples}/own.csv"), own).unwrap();
    let said = text(&collectune(&calibrate).stderr);
    assert!(!said.contains("--calibrate takes one table"), "{said}");
    let nowhere = [&calibrate[..], &["--measured-on", "nowhere"]].concat();
    let said = text(&collectune(&nowhere).stderr);
    assert!(said.contains("--measured-on nowhere: the catalogue knows"), "{said}");
}

#[test]
fn what_was_not_sampled_is_said_before() {
    let folder = TempDir::new().unwrap();
    let run = write(
        &folder,
        "other.yml",
        "training_config: [2, 2, 32, 4, 32, 4096, 4096, 8, 4]\nencoders: 32\nprecision: bf16\n",
    );
    let other = collectune(&["training-time", "step", EXAMPLE, "--run", &run]);
    let (out, said) = (ended(&other, 0), text(&other.stderr));
    assert!(said.contains("note: The run is bf16, the samples are fp16"), "{said}");
    assert!(said.contains("note: allreduce_large was not sampled over 16×2 but over 1×2"), "{said}");
    assert!(said.contains("odd samples, on which predictions are suspect"), "{said}");
    assert!(out.contains("% extrapolated"), "{out}");
}

#[test]
fn what_is_too_large_is_refused() {
    let folder = TempDir::new().unwrap();
    for (name, config, says) in [
        ("long.yml", "[2, 2, 2, 4, 32, 4096, 4096, 4294967295, 4]\nencoders: 32", "the nearest is steps_per_update = "),
        ("wide.yml", "[4294967295, 1, 1, 1, 32, 4096, 4096, 8, 4]\nencoders: 4294967295", "the nearest is pp = 4096"),
        (
            "chunks.yml",
            "[2, 2, 2, 4, 32, 4096, 4096, 8, 4]\nencoders: 32\nvirtual_stages: 4294967295\nschedule: interleaved",
            "the nearest is virtual_stages = 16",
        ),
    ] {
        let run = write(&folder, name, format!("training_config: {config}\n"));
        for mode in ["default", "parity"].iter().take(if name == "wide.yml" { 2 } else { 1 }) {
            let refused = collectune(&["training-time", "step", EXAMPLE, "--run", &run, "--mode", mode]);
            let said = text(&refused.stderr);
            assert!(refused.status.code() == Some(1) && said.contains(says), "{name}: {said}");
        }
    }
    let none = json(&["training-time", "layouts", EXAMPLE, "--gpus", "8", "--batch", "4000000000", "--json"]);
    assert!(none["nothing"].as_str().unwrap().contains("than are simulated"), "{none}");
    for wrong in [["--memory", "nan"], ["--reserve", "inf"], ["--coefficients", "5"]] {
        let arguments = [&["training-time", "layouts", EXAMPLE, "--gpus", "8", "--batch", "64"], &wrong[..]].concat();
        assert_eq!(collectune(&arguments).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_step_is_estimated_from_a_script_and_deepspeed_s_settings() {
    let folder = TempDir::new().unwrap();
    let script = write(
        &folder,
        "train.sh",
        "TP=2\ntorchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 24 --hidden-size 2048 \\\n\
         --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 50257 --bf16 \\\n\
         --tensor-model-parallel-size $TP --micro-batch-size 4 --global-batch-size 512 --lr 1e-4\n",
    );
    let said = collectune(&["training-time", "estimate", &script, "--json"]);
    assert!(text(&said.stderr).contains("options are not used: lr"), "{}", text(&said.stderr));
    let answer: Value = serde_json::from_str(&ended(&said, 0)).unwrap();
    let of = |key: &str| answer[key].as_u64().unwrap();
    assert_eq!((of("gpus"), of("tp"), of("dp"), of("micro_batch"), of("global_batch")), (32, 2, 16, 4, 512));
    // What is typed wins.
    let typed = json(&["training-time", "estimate", &script, "--gpus", "16", "--tp", "4", "--json"]);
    assert_eq!((typed["gpus"].as_u64(), typed["tp"].as_u64(), typed["dp"].as_u64()), (Some(16), Some(4), Some(4)));

    let settings = |text: &str| write(&folder, "ds.json", text);
    let zero = settings(
        r#"{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3}}"#,
    );
    let answer = json(&["training-time", "estimate", "gpt2-xl", &zero, "--gpus", "8", "--json"]);
    assert_eq!((answer["sharding"].as_str(), answer["micro_batch"].as_u64()), (Some("parameters"), Some(2)));
    assert_eq!((answer["global_batch"].as_u64(), answer["dp"].as_u64()), (Some(256), Some(8)));
    let packed = write(&folder, "ds_config.json.gz", gzipped(&fs::read(&zero).unwrap()));
    let unpacked = json(&["training-time", "estimate", "gpt2-xl", &packed, "--gpus", "8", "--json"]);
    assert!(answer["step_us"].is_number() && unpacked["step_us"] == answer["step_us"], "{unpacked}");
    let alone = collectune(&["training-time", "estimate", &zero]);
    assert!(text(&alone.stderr).contains("DeepSpeed's configuration has no model"), "{}", text(&alone.stderr));
    assert_eq!(alone.status.code(), Some(1));
    let two = collectune(&["training-time", "estimate", "gpt2-xl", "llama-2-7b"]);
    assert!(text(&two.stderr).contains("llama-2-7b is a second model"), "{}", text(&two.stderr));
    let none = collectune(&["training-time", "estimate", "nowhere.json"]);
    assert!(text(&none.stderr).contains("no model of this name is known; known are llama-2-7b"));
    let unused = collectune(&["training-time", "estimate", "gpt2-xl", "--recompute", "layers"]);
    assert!(text(&unused.stderr).contains("--recompute is not used"), "{}", text(&unused.stderr));
}

/// What nccl-tests measured, and a trace of torch.profiler, in an estimated step.
#[test]
fn an_estimate_takes_what_was_measured() {
    let folder = TempDir::new().unwrap();
    let sweep = write(
        &folder,
        "sweep.csv",
        "collective,num_nodes,num_gpus,size_bytes,time_ip,busbw_ip,algo,proto,nchannels\n\
         all_reduce_perf,1,8,16777216,200,146.8,DEFAULT,DEFAULT,0\nall_reduce_perf,1,8,33554432,400,146.8,DEFAULT,DEFAULT,0\n\
         all_reduce_perf,1,8,33554432,300,195.7,RING,SIMPLE,16\nbroadcast_perf,1,8,33554432,400,83.9,DEFAULT,DEFAULT,0\n",
    );
    let asked = ["training-time", "estimate", "llama-3.1-8b", "--tp", "8", "--json", "--collectives", &sweep];
    let said = collectune(&asked);
    let notes = text(&said.stderr);
    assert!(notes.contains("broadcast on 1 node, 8 ranks is not used: an estimated step has no broadcast"), "{notes}");
    let answer: Value = serde_json::from_str(&ended(&said, 0)).unwrap();
    let tensor = &answer["exchanges"][0];
    assert_eq!((tensor["collective"].as_str(), tensor["from"].as_str()), (Some("all_reduce"), Some("measured")));
    // The default's time, though a configuration is faster.
    assert!((tensor["time_us"].as_f64().unwrap() - 400.0).abs() < 1.0, "{tensor}");

    // The notes are in the JSON as well, and a size that stalled is one of them.
    let header = "collective,num_nodes,num_gpus,size_bytes,time_ip,busbw_ip,algo,proto,nchannels\n";
    let rows = (20..30).map(|log2| {
        let bytes: u64 = 1 << log2;
        let time_us = (20.0 + bytes as f64 / 1e5) * if log2 == 25 { 50.0 } else { 1.0 };
        let busbw_gbps = bytes as f64 / time_us / 1e3 * 1.75;
        format!("all_reduce_perf,1,8,{bytes},{time_us:.2},{busbw_gbps:.2},DEFAULT,DEFAULT,0\n")
    });
    let stalled = write(&folder, "stalled.csv", &(header.to_owned() + &rows.collect::<String>()));
    let answer = json(&["training-time", "estimate", "llama-3.1-8b", "--tp", "8", "--json", "--collectives", &stalled]);
    let told = answer["notes"].to_string();
    assert!(told.contains("all_reduce on 1 node, 8 ranks is not used at 32 MiB: it took 1"), "{told}");

    let events = |step: u32| {
        let at = f64::from(step) * 3.6e7;
        format!(
            r#"{{"cat": "user_annotation", "name": "ProfilerStep#{step}", "ts": {at}, "dur": 3.6e7}},
            {{"cat": "kernel", "name": "nvjet", "ts": {at}, "dur": 27e6}},
            {{"cat": "kernel", "name": "flash_fwd", "ts": {}, "dur": 3e6}}"#,
            at + 27e6
        )
    };
    let traced = format!(r#"{{"distributedInfo": {{"world_size": 8}}, "traceEvents": [{},{}]}}"#, events(1), events(2));
    let trace = write(&folder, "rank0.json", &traced);
    let answer = json(&["training-time", "estimate", "llama-3.1-8b", "--trace", &trace, "--json"]);
    let found = &answer["traces"][0];
    assert_eq!((answer["own_steps"].as_u64(), found["file"].as_str()), (Some(1), Some(trace.as_str())));
    assert_eq!((found["step_us"].as_f64(), found["kernels_us"].as_f64()), (Some(3.6e7), Some(2.7e7)));
    let people = ended(&collectune(&["training-time", "estimate", "llama-3.1-8b", "--trace", &trace]), 0);
    assert!(people.contains("rank0.json has a step of 36.00 s on 8 GPUs, taken as tp 1, pp 1, cp 1"), "{people}");
    // What is no trace is refused.
    for (name, content, why) in [
        ("none.json", r#"{"traceEvents": []}"#, "no step is marked"),
        ("sweep.csv", "", "is no trace of training steps"),
    ] {
        let path = if content.is_empty() { sweep.clone() } else { write(&folder, name, content) };
        let refused = collectune(&["training-time", "estimate", "llama-3.1-8b", "--trace", &path]);
        let said = text(&refused.stderr);
        assert!(refused.status.code() == Some(1) && said.contains(why), "{said}");
    }
}
