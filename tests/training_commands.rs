//! What `collectune step` and `collectune layouts` write and say, and how they end.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;

use serde_json::Value;
use support::terminal::{collectune, ended, json, text};
use tempfile::TempDir;

/// Samples of a made-up cluster, with a run.
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/public/examples/simulated_training.zip");

fn sum(of: &Value) -> f64 {
    of.as_object().unwrap().values().map(|value| value.as_f64().unwrap()).sum()
}

#[test]
fn a_step_is_written_with_its_parts() {
    let step = json(&["step", EXAMPLE, "--json"]);
    let total = step["total_us"].as_f64().unwrap();
    let [low, high] = [0, 1].map(|end| step["interval_us"][end].as_f64().unwrap());
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
    let people = ended(&collectune(&["step", EXAMPLE]), 0);
    assert!(people.contains("on 16 GPUs: pp 4, tp 2, dp 2, b 4, m 8; default mode"), "{people}");
}

#[test]
fn the_best_layouts_on_each_number_of_gpus_are_written() {
    let found = json(&["layouts", EXAMPLE, "--gpus", "8,16", "--batch", "64", "--best", "4", "--json"]);
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
    let alone = json(&["layouts", EXAMPLE, "--gpus", "8", "--batch", "64", "--best", "4", "--json"]);
    let of_eight: Vec<&Value> = rows.iter().filter(|row| gpus(row) == 8).map(|row| &row["total_us"]).collect();
    assert_eq!(of_eight, alone["rows"].as_array().unwrap().iter().map(|row| &row["total_us"]).collect::<Vec<_>>());

    let none = json(&["layouts", EXAMPLE, "--gpus", "8", "--batch", "64", "--memory", "3", "--json"]);
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
    let refused = collectune(&["step", EXAMPLE, "--run", &run]);
    assert!(!refused.status.success());
    let why = "line 1, column 18, mp: mp = 3 does not divide h = 32; 2 does";
    assert!(text(&refused.stderr).contains(why), "{}", text(&refused.stderr));
    // Another file than a run is none, though the archive holds one.
    let notes = write("notes.yml", "a: &b [1]\nc: *b\n");
    let refused = collectune(&["step", EXAMPLE, "--run", &notes]);
    assert!(
        !refused.status.success() && text(&refused.stderr).contains("--run names no configuration"),
        "{}",
        text(&refused.stderr)
    );
    let own = write("own.yml", "training_config: [2, 2, 2, 4, 32, 4096, 4096, 8, 4]\nencoders: 32\n");
    let people = ended(&collectune(&["step", EXAMPLE, "--run", &own]), 0);
    assert!(people.contains("on 8 GPUs: pp 2, tp 2, dp 2"), "{people}");
    let no_samples = write("run.yml", "training_config: [4, 2, 2, 4, 32, 4096, 4096, 8, 4]\nencoders: 32\n");
    let nothing = collectune(&["step", &no_samples]);
    assert!(
        !nothing.status.success() && text(&nothing.stderr).contains("there are no samples to study"),
        "{}",
        text(&nothing.stderr)
    );
    assert!(!collectune(&["layouts", EXAMPLE, "--gpus", "0", "--batch", "64"]).status.success());
}
