//! What `collectune tuning train` and `collectune tuning predict` say and write, and how they end.

#![allow(clippy::unwrap_used)]

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use crate::support::{
    archives::{archive, gzipped, tarred},
    real,
    terminal::{collectune, json, text, write},
};
use collectune::{collective::Collective, tuning::simulate::Simulation, units::significant};
use serde_json::Value;
use tempfile::TempDir;

fn stderr(output: &Output) -> String {
    text(&output.stderr)
}

#[track_caller]
fn succeeded(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
}

fn real(name: &str) -> String {
    real::path(&format!("tuning/{name}")).display().to_string()
}

fn simulation() -> Simulation {
    Simulation {
        collectives: vec![Collective::AllReduce],
        nodes: vec![1, 2],
        sizes: (12..22).map(|log2| 1 << log2).collect(),
        channels: vec![1, 4, 8, 16],
        repeats: 2,
        seed: 5,
    }
}

/// Few trees: these tests are about words and shapes, not about accuracy.
const QUICK: [&str; 2] = ["--trees", "10"];

#[test]
fn training_counts_rows_and_scores_everybody() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", simulation().to_csv());
    let report = json(&[&["tuning", "train", &sweep, "--json", "--importances"], &QUICK[..]].concat());
    assert_eq!(report["rows"], simulation().rows());
    assert_eq!(report["default_rows"], 2 * 2 * 10);
    assert_eq!((&report["left_out"], &report["problems"]), (&Value::from(0), &Value::from(Vec::<Value>::new())));
    assert_eq!(
        (&report["preset"], &report["seed"], &report["target"]),
        (&"default".into(), &42.into(), &"time".into())
    );
    assert_eq!(report["parameters"]["trees"], 10);
    for scheme in ["by_size", "by_configuration"] {
        let scores = &report["evaluation"][scheme];
        for key in ["r2", "mae_gbps", "mape_pct", "regret_mean_pct", "regret_max_pct", "top1_pct", "coverage_90"] {
            assert!(scores[key].is_f64(), "{scheme}.{key}: {}", scores[key]);
        }
        for baseline in ["log_linear_interpolation", "nearest_size", "best_single_configuration"] {
            let baseline = scores["baselines"][baseline].as_object().unwrap();
            let keys: Vec<&str> = baseline.keys().map(String::as_str).collect();
            assert_eq!(keys.len(), 6);
            for key in keys {
                assert!(baseline[key].is_f64() || baseline[key].is_null());
            }
        }
    }
    let by_scale = &report["evaluation"]["by_scale"];
    assert!(by_scale["mape_pct"].is_f64() && by_scale["baselines"]["nearest_size"]["regret_mean_pct"].is_f64());
    assert!(by_scale["coverage_90"].is_f64());
    assert!(report["evaluation"]["regret_deployed_mean_pct"].is_f64());
    let deployed = report["deployed"].as_array().unwrap();
    assert_eq!(deployed.len(), 2 * 10);
    let sources =
        ["model", "measured", "default", "log_linear_interpolation", "nearest_size", "best_single_configuration"];
    for size in deployed {
        assert!(size["size_bytes"].is_u64() && sources.contains(&size["source"].as_str().unwrap()), "{size}");
        assert_eq!(size["source"] == "default", size["algo"].is_null());
        assert!(size["held_out_regret_pct"].is_f64());
    }
    let baselines = &report["evaluation"]["by_size"]["baselines"];
    assert!(baselines["log_linear_interpolation"]["mape_pct"].is_f64());
    assert!(baselines["nearest_size"]["mape_pct"].is_null());
    assert!(baselines["nearest_size"]["regret_mean_pct"].is_f64());
    assert_eq!(report["groups"].as_array().unwrap().len(), 2);
    assert_eq!(report["groups"][0]["collective"], "all_reduce");
    assert_eq!(report["groups"][1]["num_gpus"], 16);
    assert_eq!(report["groups"][1]["pairs"][0]["nchannels"], serde_json::json!([1, 4, 8, 16]));
    assert_eq!(report["files"][0]["rows"], simulation().rows());
    let importances = report["importances"].as_array().unwrap();
    let impurities: f64 = importances.iter().map(|i| i["impurity"].as_f64().unwrap()).sum();
    assert!((impurities - 1.0).abs() < 1e-9);
    assert!(importances.iter().all(|i| i["feature"].is_string() && i["permutation_pct"].is_f64()));
}

#[test]
fn the_random_split_is_over_rows_without_those_of_the_default() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", simulation().to_csv());
    let arguments = ["tuning", "train", &sweep, "--json", "--preset", "seed", "--stages", "30", "--target", "printed"];
    let split = |more: &[&str]| json(&[&arguments, more].concat())["random_split"].clone();
    let rows = simulation().rows() - 40;
    let held_out = (rows as f64 * 0.2).ceil() as u64;
    let published = split(&[]);
    assert_eq!((&published["share"], &published["seed"]), (&0.2.into(), &42.into()));
    assert_eq!(published["test"]["rows"], held_out);
    assert_eq!(published["train"]["rows"], rows - held_out);
    assert!(published["train"]["r2"].as_f64() > published["test"]["r2"].as_f64());
    assert!(published["test"]["mae_gbps"].is_f64());
    assert_eq!(split(&[]), published);
    assert_ne!(split(&["--seed", "7"])["test"]["r2"], published["test"]["r2"]);
    assert_eq!(split(&["--test-split", "0.5"])["test"]["rows"], rows / 2);
    assert!(split(&["--test-split", "0"]).is_null());
}

#[test]
fn people_get_tables_and_no_progress_in_a_pipe() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", simulation().to_csv());
    let output = collectune(&[&["tuning", "train", &sweep], &QUICK[..]].concat());
    succeeded(&output);
    let said = text(&output.stdout);
    for part in ["all_reduce on 2 nodes, 16 ranks: 10 sizes", "Unseen sizes", "Unseen configurations", "Random split"] {
        assert!(said.contains(part), "{said}");
    }
    let scores: Vec<&str> = said.lines().filter(|line| line.starts_with("model ")).collect();
    assert_eq!(scores.len(), 3);
    assert!(said.contains("What is deployed at unseen sizes"), "{said}");
    assert!(!stderr(&output).contains('\r') && !stderr(&output).contains("Growing"), "{}", stderr(&output));
}

#[test]
fn bad_rows_are_left_out_and_listed() {
    let folder = TempDir::new().unwrap();
    let mut lines: Vec<String> = simulation().to_csv().lines().map(str::to_owned).collect();
    let data_lines = lines.len() - 1;
    for (line, bad) in [(5, "RING,auto"), (9, "WHEEL,8")] {
        let (algorithm, channels) = bad.split_once(',').unwrap();
        let mut cells: Vec<&str> = lines[line].split(',').collect();
        (cells[16], cells[18]) = (algorithm, channels);
        lines[line] = cells.join(",");
    }
    lines.insert(20, "cut,off".to_owned());
    let sweep = write(&folder, "sweep.csv", lines.join("\r\n"));
    let output = collectune(&[&["tuning", "train", &sweep, "--json"], &QUICK[..]].concat());
    succeeded(&output);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["rows"], data_lines - 2);
    assert_eq!(report["left_out"], 3);
    let problems = report["problems"].as_array().unwrap();
    let lines: Vec<u64> = problems.iter().map(|problem| problem["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [6, 10, 21]);
    assert_eq!((&problems[0]["column"], &problems[0]["text"]), (&"nchannels".into(), &"auto".into()));
    assert_eq!(problems[1]["column"], "algo");
    assert!(
        problems.iter().all(|p| p["expected"].as_str().unwrap().contains("left out") && p["file"] == sweep.as_str())
    );
    let told = stderr(&output);
    assert!(told.contains("line 6, column nchannels: \"auto\" is not a whole number; the row was left out"), "{told}");
}

#[test]
fn many_bad_rows_are_counted() {
    let folder = TempDir::new().unwrap();
    let bad = "broken\n".repeat(40);
    let sweep = write(&folder, "sweep.csv", simulation().to_csv() + &bad);
    let output = collectune(&[&["tuning", "train", &sweep], &QUICK[..]].concat());
    succeeded(&output);
    assert_eq!(stderr(&output).lines().filter(|line| line.starts_with("warning")).count(), 6);
    assert!(stderr(&output).contains("35 lines more left out"), "{}", stderr(&output));
}

#[test]
fn a_saved_model_answers_as_the_sweep_does() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", simulation().to_csv());
    let model = folder.path().join("model.json").display().to_string();
    for preset in ["default", "seed", "forest", "extra-trees"] {
        let learning = ["--preset", preset, "--trees", "10", "--stages", "20", "--seed", "3"];
        succeeded(&collectune(
            &[&["tuning", "train", &sweep, "--save", &model, "--test-split", "0"], &learning[..]].concat(),
        ));
        let question = ["--collective", "all_reduce", "--nodes", "2", "--ranks", "16", "--json"];
        let from_sweep = json(&[&["tuning", "predict", &sweep], &question[..], &learning[..]].concat());
        let output = collectune(&[&["tuning", "predict", "--model", &model], &question[..]].concat());
        succeeded(&output);
        assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), from_sweep, "{preset}");
        assert!(!stderr(&output).contains("differently"), "{}", stderr(&output));
    }
    let text = std::fs::read_to_string(&model).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    let busbw = &mut file["points"][3]["busbw_gbps"];
    *busbw = (busbw.as_f64().unwrap() * 1.5).into();
    let changed = write(&folder, "changed.json", file.to_string());
    let output = collectune(&[
        "tuning",
        "predict",
        "--model",
        &changed,
        "--collective",
        "all_reduce",
        "--nodes",
        "2",
        "--ranks",
        "16",
    ]);
    succeeded(&output);
    assert!(
        stderr(&output).contains("note: The model of the opened file predicts differently here"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn answers_have_the_columns_of_a_sweep() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", simulation().to_csv());
    let question =
        ["tuning", "predict", &sweep, "--collective", "AllReduce", "--nodes", "2", "--ranks", "16", "--json"];
    let ask = |more: &[&str]| json(&[&question[..], &QUICK, more].concat());
    let all = ask(&[]);
    let sizes: Vec<u64> = all.as_array().unwrap().iter().map(|r| r["size_bytes"].as_u64().unwrap()).collect();
    assert_eq!(sizes, simulation().sizes);
    for answer in all.as_array().unwrap() {
        assert_eq!(
            (&answer["collective"], &answer["num_nodes"], &answer["num_gpus"]),
            (&"all_reduce".into(), &2.into(), &16.into())
        );
        assert!(answer["algo"].is_string() && answer["proto"].is_string() && answer["nchannels"].is_u64());
        let [low, high] = [0, 1].map(|end| answer["interval_90"][end].as_f64().unwrap());
        let predicted = answer["predicted_busbw"].as_f64().unwrap();
        assert!(low <= predicted && predicted <= high);
        // Where the default is kept, the fields are its own, and the gain that of the best known beside it.
        let is_kept = answer["decision"] == "keep_default";
        assert_eq!(is_kept, answer["best_known_busbw"].is_f64(), "{answer}");
        let best = answer["best_known_busbw"].as_f64().unwrap_or(predicted);
        let gain = (best / answer["default_busbw"].as_f64().unwrap() - 1.0) * 100.0;
        assert!((gain - answer["gain_pct"].as_f64().unwrap()).abs() < 1e-9);
        assert!(answer["measured_best"].is_f64());
        assert!(is_kept || answer["nchannels"].as_u64() <= Some(16), "{answer}");
    }
    let between = ask(&["--size", "1.5M"]);
    assert_eq!((between.as_array().unwrap().len(), &between[0]["size_bytes"]), (1, &(3 << 19).into()));
    assert_ne!(between[0]["support"], "measured");
    assert!(
        between[0]["measured_best"].is_null()
            && between[0]["default_busbw"].is_null()
            && between[0]["gain_pct"].is_null()
    );
    let several = ask(&["--sizes", "64K,4K,1M"]);
    let sizes: Vec<u64> = several.as_array().unwrap().iter().map(|r| r["size_bytes"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [4096, 65536, 1 << 20]);
}

#[test]
fn the_search_stays_where_it_is_allowed() {
    let folder = TempDir::new().unwrap();
    let ring_only: String = {
        let csv = simulation().to_csv();
        csv.lines().filter(|line| !line.contains(",TREE,")).flat_map(|line| [line, "\n"]).collect()
    };
    let sweep = write(&folder, "sweep.csv", ring_only);
    let question =
        ["tuning", "predict", &sweep, "--collective", "all_reduce", "--nodes", "2", "--ranks", "16", "--json"];
    let ask = |more: &[&str]| json(&[&question[..], &QUICK, &["--preset", "extra-trees"], more].concat());
    for answer in ask(&["--protocols", "Simple", "--max-channels", "6"]).as_array().unwrap() {
        assert_eq!((&answer["algo"], &answer["proto"]), (&"RING".into(), &"SIMPLE".into()));
        assert!(answer["nchannels"].as_u64() <= Some(6));
    }
    assert!(ask(&[]).as_array().unwrap().iter().all(|answer| answer["algo"] == "RING"));
    for answer in ask(&["--algorithms", "tree", "--protocols", "ll,LL128"]).as_array().unwrap() {
        assert_eq!((&answer["algo"], &answer["support"]), (&"TREE".into(), &"extrapolated".into()));
    }
    assert!(ask(&["--algorithms", "nvls"]).as_array().unwrap().iter().all(|answer| answer["algo"].is_null()));
}

#[test]
fn the_exhaustive_search_never_promises_less() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", simulation().to_csv());
    let question =
        ["tuning", "predict", &sweep, "--collective", "all_reduce", "--nodes", "2", "--ranks", "16", "--json"];
    let [coarse, all] = [&[][..], &["--exhaustive"]].map(|more| json(&[&question[..], &QUICK, more].concat()));
    for (coarse, all) in coarse.as_array().unwrap().iter().zip(all.as_array().unwrap()) {
        if coarse["source"] == "model" {
            assert!(all["predicted_busbw"].as_f64() >= coarse["predicted_busbw"].as_f64());
        }
    }
}

#[test]
fn what_was_not_measured_is_said() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", simulation().to_csv());
    let ask = |more: &[&str]| collectune(&[&["tuning", "predict", &sweep, "--trees", "10"], more].concat());
    let output = ask(&["--collective", "broadcast", "--nodes", "2", "--ranks", "16"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("broadcast was not measured"), "{}", stderr(&output));
    assert!(stderr(&output).contains("all_reduce on 1 node, 8 ranks; all_reduce on 2 nodes, 16 ranks"));
    let output = ask(&["--collective", "all_reduce", "--nodes", "4", "--ranks", "32"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--size"), "{}", stderr(&output));
    let output = ask(&["--collective", "all_reduce", "--nodes", "4", "--ranks", "32", "--size", "1M", "--json"]);
    succeeded(&output);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer[0]["support"], "extrapolated");
    assert!(answer[0]["predicted_busbw"].as_f64() > Some(0.0));
    assert!(stderr(&output).contains("extrapolated from the nearest scales"), "{}", stderr(&output));
}

#[test]
fn times_stand_beside_bandwidths() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", simulation().to_csv());
    let question = ["tuning", "predict", &sweep, "--collective", "all_reduce", "--nodes", "2", "--ranks", "16"];
    for answer in json(&[&question[..], &["--json"], &QUICK].concat()).as_array().unwrap() {
        let moved = answer["size_bytes"].as_f64().unwrap() * 2.0 * 15.0 / 16.0 / 1e3;
        for (time, busbw) in [("time_us", "predicted_busbw"), ("measured_best_time_us", "measured_best")] {
            let expected = moved / answer[busbw].as_f64().unwrap();
            let time = answer[time].as_f64().unwrap();
            assert!((time / expected - 1.0).abs() < 1e-9, "{time} is not {expected}: {answer}");
        }
    }
    let shown = |more: &[&str]| {
        let output = collectune(&[&question[..], &QUICK, more].concat());
        succeeded(&output);
        String::from_utf8(output.stdout).unwrap()
    };
    let head = |text: &str| text.lines().find(|line| line.contains("Advice")).unwrap().to_owned();
    let short = head(&shown(&[]));
    let names: Vec<&str> = short.split("  ").map(str::trim).filter(|name| !name.is_empty()).collect();
    assert_eq!(names, ["Size", "Advice", "Configuration", "Time", "busbw GB/s", "Default GB/s", "Gain", "Support"]);
    let all = shown(&["--all-columns"]);
    assert!(["Why", "90 %", "Best time", "Chosen by"].iter().all(|name| head(&all).contains(name)), "{all}");
    assert!(all.lines().filter(|line| line.contains(" µs")).count() >= 3, "{all}");
}

#[test]
fn the_heat_map_is_drawn() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", simulation().to_csv());
    let ask = |more: &[&str]| collectune(&[&["tuning", "chart", &sweep], &QUICK[..], more].concat());
    let output = ask(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("more than one chart is meant; say --collective"), "{}", stderr(&output));
    let output = ask(&["--nodes", "7"]);
    assert!(stderr(&output).contains("that was not measured; say --collective"), "{}", stderr(&output));
    let drawn = |more: &[&str]| {
        let output = ask(&[&["--nodes", "2"], more].concat());
        succeeded(&output);
        String::from_utf8(output.stdout).unwrap()
    };
    let light = drawn(&[]);
    assert!(light.starts_with("<svg ") && light.trim_end().ends_with("</svg>"));
    assert!(light.contains("Loss against the best, all_reduce on 2 nodes, 16 ranks"), "{light}");
    let wide = drawn(&["--dark", "--width", "1400", "--against", "default"]);
    assert!(wide.contains("width=\"1400\"") && wide.contains("Loss against the default"));
    assert_ne!(light.find("#FFFFFF"), wide.find("#FFFFFF"));
    let busbw = drawn(&["--of", "busbw-over-size"]);
    assert!(busbw.contains("busbw over message size") && busbw.contains("busbw (GB/s)"), "{busbw}");
    let time = drawn(&["--of", "time-over-size"]);
    assert!(time.contains("Time over message size") && !time.contains("busbw (GB/s)"), "{time}");
}

#[test]
fn sweeps_come_packed_and_through_a_pipe() {
    let folder = TempDir::new().unwrap();
    let csv = simulation().to_csv();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(csv.as_bytes()).unwrap();
    let packed = write(&folder, "sweep.csv.gz", packer.finish().unwrap());
    assert_eq!(json(&[&["tuning", "train", &packed, "--json"], &QUICK[..]].concat())["rows"], simulation().rows());
    let mut child = Command::new(env!("CARGO_BIN_EXE_collectune"))
        .args(["tuning", "train", "-", "--json", "--trees", "10"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(csv.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["rows"], simulation().rows());
}

#[test]
fn files_that_cannot_be_used_are_refused() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", simulation().to_csv());
    let binary = write(&folder, "sweep.xlsx", b"PK\x03\x04");
    let empty = write(&folder, "empty.csv", "");
    let foreign = write(&folder, "foreign.csv", "a,b\n1,2\n3,4\n");
    std::fs::create_dir(folder.path().join("hollow").display().to_string()).unwrap();
    for path in [
        &binary,
        &empty,
        &foreign,
        &folder.path().join("absent.csv").display().to_string(),
        &folder.path().join("hollow").display().to_string(),
    ] {
        let output = collectune(&["tuning", "train", path]);
        assert_eq!(output.status.code(), Some(1), "{path}");
        assert!(stderr(&output).starts_with("error: ") && output.stdout.is_empty(), "{}", stderr(&output));
    }
    // The others are answered; the code says that one is missing.
    let output = collectune(&[&["tuning", "train", &sweep, &binary, "--json"], &QUICK[..]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("sweep.xlsx is a zip archive"), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["files"][1]["refused"].as_str().unwrap().contains("zip archive"));
    assert!(report["files"][0]["refused"].is_null());
}

/// A log of nccl-tests of eight ranks on `gpu`, `factor` times as fast as the usual.
fn log_of(gpu: &str, factor: f64) -> String {
    let rows = (12..24).map(|log2_size| {
        let size = 1_u64 << log2_size;
        let time = (20.0 + size as f64 / 50_000.0) / factor;
        let busbw = size as f64 / time / 1000.0;
        let half = format!("{time:.2} {busbw:.2} {:.2} 0", busbw * 1.75);
        format!("{size} {} float sum -1 {half} {half}\n", size / 4)
    });
    let devices = (0..8).map(|rank| format!("#  Rank {rank} Group 0 Pid {rank} on host device {rank} [0] {gpu}\n"));
    format!(
        "# Collective test starting: all_reduce_perf\n{}# size count type redop root time algbw busbw #wrong time algbw \
         busbw #wrong\n{}# Avg bus bandwidth : 1\n",
        devices.collect::<String>(),
        rows.collect::<String>()
    )
}

#[test]
fn logs_tell_the_gpu_which_keeps_them_apart_and_names_the_file() {
    let folder = TempDir::new().unwrap();
    let write_all = |run: &str, gpu: &str, faster: f64| {
        let runs = [("default", 1.0), ("ring_ll_c8", 1.1), ("ring_ll_c16", 1.2)];
        runs.map(|(configuration, factor)| {
            let name = format!("all_reduce_1n_{configuration}_{run}.log");
            write(&folder, &name, log_of(gpu, factor * faster))
        })
    };
    let own: Vec<String> =
        [write_all("r1", "AMD Instinct MI300X", 1.0), write_all("r2", "AMD Instinct MI300X", 1.001)].concat();
    let others: Vec<String> = write_all("r3", "AMD Instinct MI355X", 3.0).to_vec();
    let export = |files: &[String], options: &[&str]| {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let path = folder.path().join("out.csv").display().to_string();
        let command =
            [&["tuning", "export", "--reader", "rccl", "-o", &path], &files[..], &QUICK[..], options].concat();
        let output = collectune(&command);
        succeeded(&output);
        (String::from_utf8(output.stdout.clone()).unwrap(), stderr(&output))
    };
    let (told, _) = export(&own, &[]);
    assert!(told.contains("# there under the name rccl_tuner_gfx942.csv"), "{told}");
    let (told, _) = export(&own, &["--gpu", "gfx950"]);
    assert!(told.contains("# there under the name rccl_tuner_gfx950.csv"), "{told}");
    let (_, said) = export(&[own, others].concat(), &[]);
    assert!(said.contains("kept apart: MI300X (") && said.contains("Used is MI300X"), "{said}");
}

#[test]
fn folders_of_logs_are_read_with_the_configuration_that_is_given() {
    let folder = TempDir::new().unwrap();
    let runs = ["ring_ll_c8", "ring_ll_c16", "tree_ll_c8", "unsaid"];
    for (run, factor) in runs.iter().zip([1.0, 1.1, 0.9, 0.8]) {
        std::fs::create_dir_all(folder.path().join("runs/nested").display().to_string()).unwrap();
        write(&folder, &format!("runs/nested/{run}.log"), log_of("x", factor));
    }
    let path = folder.path().join("runs").display().to_string();
    let output = collectune(&[&["tuning", "train", &path, "--json"], &QUICK[..]].concat());
    succeeded(&output);
    assert!(stderr(&output).contains("unsaid.log does not say which algorithm ran"), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("--configuration RING/LL128/24, or --configuration default"),
        "{}",
        stderr(&output)
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["rows"], 36);
    let report = json(&[&["tuning", "train", &path, "--json", "--configuration", "default"], &QUICK[..]].concat());
    assert_eq!((&report["rows"], &report["default_rows"]), (&48.into(), &12.into()));
    let usage = collectune(&["tuning", "train", &path, "--configuration", "RING/8"]);
    assert_eq!(usage.status.code(), Some(2));
    assert!(stderr(&usage).contains("ALGORITHM/PROTOCOL/CHANNELS"), "{}", stderr(&usage));
}

#[test]
fn an_archive_is_read_as_the_folder_that_it_was_made_from() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("day")).unwrap();
    let sweep = Simulation { seed: 7, ..Simulation::example() }.to_csv();
    let files = [("day/sweep.csv", sweep.as_str()), ("day/notes.txt", "no sweep"), ("day/.lock", "")];
    files.iter().for_each(|(name, content)| drop(write(&folder, name, content)));
    let day = folder.path().join("day").display().to_string();
    let zip = write(&folder, "day.zip", archive(&files));
    let tgz = write(&folder, "day.tgz", gzipped(&tarred(&files)));
    let train = |path: &str| collectune(&[&["tuning", "train", path, "--json"], &QUICK[..]].concat());
    let answer = |path: &str| {
        let output = train(path);
        succeeded(&output);
        assert!(stderr(&output).contains("warning: ") && stderr(&output).contains("notes.txt"), "{}", stderr(&output));
        text(&output.stdout)
    };
    let of_folder = answer(&day);
    assert_eq!(answer(&zip).replace(&format!("{zip}/day"), &day), of_folder);
    assert_eq!(answer(&tgz).replace(&format!("{tgz}/day"), &day), of_folder);
    // One that is damaged is an error, and what stands beside it is answered.
    let torn = write(&folder, "torn.zip", &archive(&files)[..400]);
    let output = collectune(&[&["tuning", "train", &torn, &day, "--json"], &QUICK[..]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("error: ") && stderr(&output).contains("torn.zip is a zip archive that breaks off")
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["files"][0]["refused"].as_str().unwrap().contains("breaks off"), "{}", report["files"]);
    assert!(
        report["files"].as_array().unwrap().iter().any(|file| file["name"].as_str().unwrap().ends_with("sweep.csv"))
    );
}

#[test]
fn wrong_arguments_are_usage_errors() {
    let workload = ["--collective", "all_reduce", "--nodes", "2", "--ranks", "16"];
    for arguments in [
        &[][..],
        &["tuning", "train"],
        &["teach", "sweep.csv"],
        &["tuning", "train", "sweep.csv", "--preset", "best"],
        &["tuning", "train", "sweep.csv", "--test-split", "1"],
        &["tuning", "train", "sweep.csv", "--stages", "0"],
        &["tuning", "train", "sweep.csv", "--depth", "-1"],
        &["tuning", "train", "sweep.csv", "--learning-rate", "2"],
        &["tuning", "train", "sweep.csv", "--learning-rate", "NaN"],
        &["tuning", "predict", "sweep.csv"],
        &[&["tuning", "predict"], &workload[..]].concat(),
        &[&["tuning", "predict", "sweep.csv", "--model", "model.json"], &workload[..]].concat(),
        &[&["tuning", "predict", "sweep.csv", "--size", "16M", "--sizes", "1M"], &workload[..]].concat(),
        &[&["tuning", "predict", "sweep.csv", "--size", "big"], &workload[..]].concat(),
        &[&["tuning", "predict", "sweep.csv", "--size", "0"], &workload[..]].concat(),
        &[&["tuning", "predict", "sweep.csv", "--algorithms", "wheel"], &workload[..]].concat(),
        &["tuning", "predict", "sweep.csv", "--collective", "all_redoce", "--nodes", "2", "--ranks", "16"],
        &["tuning", "predict", "sweep.csv", "--collective", "all_reduce", "--nodes", "0", "--ranks", "16"],
    ] {
        let output = collectune(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
    for arguments in [&["--help"][..], &["tuning", "train", "--help"], &["tuning", "predict", "--help"], &["--version"]]
    {
        succeeded(&collectune(arguments));
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn real_sweeps_are_answered_with_what_ran_in_them() {
    for (name, rows, defaults, collective, nodes) in [
        ("all_gather_2n.csv", 1458, 0, "all_gather", 2),
        ("all_reduce_1n.csv", 1674, 54, "all_reduce", 1),
        ("all_reduce_2n_median.csv", 990, 18, "all_reduce", 2),
        ("all_reduce_3n_median.csv", 990, 18, "all_reduce", 3),
        ("broadcast_1n.csv", 1080, 0, "broadcast", 1),
        ("broadcast_2n.csv", 1458, 0, "broadcast", 2),
    ] {
        let path = real(name);
        let report = json(&["tuning", "train", &path, "--json", "--test-split", "0"]);
        assert_eq!((&report["rows"], &report["default_rows"]), (&rows.into(), &defaults.into()), "{name}");
        let group = &report["groups"][0];
        let pairs: Vec<(&Value, &Value)> =
            group["pairs"].as_array().unwrap().iter().map(|pair| (&pair["algo"], &pair["proto"])).collect();
        let (nodes, ranks) = (nodes.to_string(), (nodes * 8).to_string());
        let question =
            ["tuning", "predict", &path, "--collective", collective, "--nodes", &nodes, "--ranks", &ranks, "--json"];
        let answers = json(&question);
        assert_eq!(answers.as_array().unwrap().len(), group["sizes_bytes"].as_array().unwrap().len());
        for answer in answers.as_array().unwrap() {
            assert!(pairs.contains(&(&answer["algo"], &answer["proto"])), "{name}: {answer}");
        }
    }
}

/// A sweep in which one configuration is the fastest, measured with one version of the library.
fn sweep_of(version: &str, fastest: &str, sizes: u32) -> String {
    let mut text = "collective,num_nodes,num_gpus,size_bytes,time_ip_us,algo,proto,nchannels,nccl_version\n".to_owned();
    for size in (12..12 + sizes).map(|log2| 1_u64 << log2) {
        for configuration in ["TREE,LL,2", "TREE,LL,8", "RING,LL,2", "RING,LL,8"] {
            let slower = if configuration == fastest { 1.0 } else { 1.5 };
            let time_us = (8.0 + size as f64 / 40_000.0) * slower;
            text += &format!("all_reduce,2,16,{size},{time_us:.4},{configuration},{version}\n");
        }
    }
    text
}

#[test]
fn sets_of_measurements_are_chosen_by_number_or_name() {
    let folder = TempDir::new().unwrap();
    let old = write(&folder, "old.csv", sweep_of("2.26.6", "TREE,LL,8", 10));
    let new = write(&folder, "new.csv", sweep_of("2.29.2", "RING,LL,8", 12));
    let question = [
        "tuning",
        "predict",
        &old,
        &new,
        "--collective",
        "all_reduce",
        "--nodes",
        "2",
        "--ranks",
        "16",
        "--size",
        "64K",
        "--json",
    ];
    let ask = |set: &[&str]| {
        let answer = json(&[&question[..], &QUICK, set].concat())[0].clone();
        (answer["set"].as_str().map(str::to_owned), answer["algo"].as_str().unwrap().to_owned())
    };
    let (newer, older) =
        ((Some("NCCL 2.29.2".to_owned()), "RING".to_owned()), (Some("NCCL 2.26.6".to_owned()), "TREE".to_owned()));
    assert_eq!((ask(&[]), ask(&["--set", "1"])), (newer.clone(), newer));
    assert_eq!((ask(&["--set", "2"]), ask(&["--set", "2.26"])), (older.clone(), older));
    assert_eq!(ask(&["--set", "all"]).0.as_deref(), Some("all together, pooled"));
    let output = collectune(&[&question[..], &QUICK].concat());
    let notes: Vec<String> =
        stderr(&output).lines().filter(|line| line.contains("kept apart")).map(str::to_owned).collect();
    assert_eq!(notes.len(), 1, "{}", stderr(&output));
    assert!(
        notes[0].ends_with("--set takes another of 1 (NCCL 2.29.2, 48 rows), 2 (NCCL 2.26.6, 40 rows)"),
        "{notes:?}"
    );
    let unknown = collectune(&[&question[..], &["--set", "NCCL"]].concat());
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr(&unknown).contains("--set NCCL names no set, or more than one"), "{}", stderr(&unknown));

    let report = json(&[&["tuning", "train", &old, &new, "--json", "--set", "2"][..], &QUICK].concat());
    assert_eq!(
        (&report["set"], &report["groups"][0]["sizes_bytes"].as_array().unwrap().len()),
        (&"NCCL 2.26.6".into(), &10)
    );
    assert!(json(&[&["tuning", "train", &old, "--json"][..], &QUICK].concat())["set"].is_null());
    assert_eq!(json(&["tuning", "plan", &old, &new, "--runs", "3", "--json", "--set", "2"])["set"], "NCCL 2.26.6");
    let conf =
        collectune(&[&["tuning", "export", &old, &new, "--reader", "dn-tuner", "--set", "2"][..], &QUICK].concat());
    succeeded(&conf);
    let file = text(&conf.stdout);
    assert!(
        file.contains("# measured with: NCCL 2.26.6\n") && !file.contains("new.csv") && file.contains(",tree,"),
        "{file}"
    );
}

/// The simulated sweep with rows of NVLS, as NCCL runs it on one node, and of NVLS_TREE on several: a fifth faster than
/// RING/SIMPLE with the same channels.
fn with_nvls(simulation: &Simulation) -> String {
    let csv = simulation.to_csv();
    let mut lines: Vec<String> = csv.lines().map(str::to_owned).collect();
    for line in csv.lines() {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        if (cells[19].as_str(), cells[20].as_str()) != ("RING", "SIMPLE") {
            continue;
        }
        for place in [8, 9, 10, 12, 13, 14] {
            let value: f64 = cells[place].parse().unwrap();
            cells[place] = format!("{:.4}", if [8, 12].contains(&place) { value / 1.2 } else { value * 1.2 });
        }
        let name = if cells[2] == "1" { "NVLS" } else { "NVLS_TREE" };
        [16, 19, 23].iter().for_each(|place| cells[*place] = name.to_owned());
        lines.push(cells.join(","));
    }
    lines.join("\n") + "\n"
}

fn all_reduce(nodes: &[u32]) -> Simulation {
    Simulation {
        collectives: vec![Collective::AllReduce],
        nodes: nodes.to_vec(),
        sizes: (14..=28).step_by(2).map(|log2| 1 << log2).collect(),
        channels: vec![8, 16, 32],
        repeats: 3,
        seed: 7,
    }
}

#[test]
fn nvls_is_an_algorithm_like_any_other() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", with_nvls(&all_reduce(&[1, 2])));
    let on = |nodes: &'static str, more: &[&str]| -> Vec<String> {
        let ranks = if nodes == "1" { "8" } else { "16" };
        let asked = [
            "tuning",
            "predict",
            &sweep,
            "--collective",
            "all_reduce",
            "--nodes",
            nodes,
            "--ranks",
            ranks,
            "--size",
            "256M",
        ];
        [&asked, &QUICK[..], more].concat().iter().map(|word| (*word).to_owned()).collect()
    };
    let algorithm = |arguments: Vec<String>| {
        let words: Vec<&str> = arguments.iter().map(String::as_str).chain(["--json"]).collect();
        json(&words)[0]["algo"].clone()
    };
    assert_eq!((algorithm(on("1", &[])), algorithm(on("2", &[]))), ("NVLS".into(), "NVLS_TREE".into()));
    // It was measured on one node only; NCCL, which the sweep is of, may run it on two, and RCCL does not.
    assert_eq!(algorithm(on("2", &["--algorithms", "NVLS"])), "NVLS");
    let refused = |more: &[&str], why: &str| {
        let words = on("2", &[&["--algorithms", "NVLS"], more].concat());
        let said = collectune(&words.iter().map(String::as_str).collect::<Vec<_>>());
        succeeded(&said);
        let note = format!("NVLS is not searched for all_reduce on 2 nodes, 16 ranks: {why}");
        assert!(stderr(&said).contains(&note), "{}", stderr(&said));
    };
    refused(&["--library", "rccl"], "RCCL substitutes NVLS and PAT (--library and --gpu say where it runs)");
    refused(&["--gpu", "a100"], "NVLS needs compute capability 9.0 and NVSwitch");
    refused(&["--library-version", "2.16"], "NVLS runs from NCCL 2.17 on");

    let drawn = collectune(&[&["tuning", "chart", &sweep, "--nodes", "1"], &QUICK[..]].concat());
    succeeded(&drawn);
    assert!(text(&drawn.stdout).contains("NVLS/SIMPLE/8"));
    let report = collectune(&[&["report", &sweep], &QUICK[..]].concat());
    succeeded(&report);
    let rule = text(&report.stdout)
        .lines()
        .find(|line| line.starts_with("allreduce,") && line.contains(",nvls_tree,"))
        .map(str::to_owned);
    assert!(rule.is_some(), "{}", text(&report.stdout));
    let plan = json(&["tuning", "plan", &sweep, "--gpu", "h100", "--json"]);
    assert!(
        plan["launches"].as_array().is_some_and(|launches| launches.iter().all(|of| of["algo"] != "PAT")),
        "{plan}"
    );
}

/// Eight nodes, each with a link to every other, of so many GiB/s.
fn mesh(gib_per_second: f64) -> String {
    let mut csv = "8\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n".to_owned();
    for (from, to) in (0..8).flat_map(|from| (0..8).map(move |to| (from, to))).filter(|(from, to)| from != to) {
        csv += &format!("{from},{to},500,{gib_per_second:.6}\n");
    }
    csv
}

#[test]
fn links_hold_what_is_predicted_beyond_the_largest_size() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", all_reduce(&[1]).to_csv());
    let other = write(&folder, "ring.csv", "3\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,1,9\n1,2,1,9\n2,0,1,9\n");
    let asked = |more: &[&str]| {
        let ask = [
            "tuning",
            "predict",
            &sweep,
            "--collective",
            "all_reduce",
            "--nodes",
            "1",
            "--ranks",
            "8",
            "--size",
            "64G",
        ];
        collectune(&[&ask, &QUICK[..], more].concat())
    };
    let answer = |more: &[&str]| -> Value {
        let output = asked(&[more, &["--json"]].concat());
        succeeded(&output);
        serde_json::from_str::<Value>(&text(&output.stdout)).unwrap()[0].clone()
    };
    let number = |of: &Value, key: &str| of[key].as_f64().unwrap();
    let high = |of: &Value| of["interval_90"][1].as_f64().unwrap();
    let free = answer(&[]);
    assert!(free["held_to"].is_null(), "{free}");
    // Seven links of each rank carry more than was measured, and less than is expected of 64 GiB.
    let last = [
        "tuning",
        "predict",
        &sweep,
        "--collective",
        "all_reduce",
        "--nodes",
        "1",
        "--ranks",
        "8",
        "--size",
        "256M",
        "--json",
    ];
    let measured = number(&json(&[&last, &QUICK[..]].concat())[0], "measured_best");
    let expected = number(&free, "predicted_busbw");
    assert!(expected > measured * 1.0001, "{expected} after {measured}");
    let most = f64::midpoint(measured, expected);
    let (mesh, narrow) =
        (write(&folder, "mesh.csv", mesh(most / 7.0 / 1.073_741_824)), write(&folder, "narrow.csv", mesh(10.0)));
    let held_to = format!("{} GB/s: no schedule over the links of ", significant(most));
    let held = answer(&["--topology", &mesh]);
    assert!(high(&held) <= most + 1e-3, "{held}");
    assert!((number(&held, "predicted_busbw") - most).abs() < 1e-3, "{held}");
    assert!(held["held_to"].as_str().is_some_and(|why| why.contains(&held_to) && why.contains("mesh.csv")), "{held}");
    // A graph among the files holds as well.
    let beside = collectune(
        &[
            &[
                "tuning",
                "predict",
                &sweep,
                &mesh,
                "--collective",
                "all_reduce",
                "--nodes",
                "1",
                "--ranks",
                "8",
                "--size",
                "64G",
            ],
            &QUICK[..],
        ]
        .concat(),
    );
    assert!(text(&beside.stdout).contains(&format!("The prediction is held to {held_to}")), "{}", text(&beside.stdout));
    assert!(!stderr(&beside).contains("is not used"), "{}", stderr(&beside));
    // What was measured is above these links: they are another cluster's.
    let refuted = answer(&["--topology", &narrow]);
    assert_eq!((&refuted["predicted_busbw"], high(&refuted)), (&free["predicted_busbw"], high(&free)));
    let said = stderr(&asked(&["--topology", &narrow]));
    assert!(said.contains("narrow.csv is not about the links of all_reduce on 1 node, 8 ranks: "), "{said}");
    let said = stderr(&asked(&["--topology", &other]));
    assert!(said.contains("ring.csv: it has 3 nodes, and no measured scale has as many ranks"), "{said}");
    let wrong = asked(&["--topology", &sweep]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        stderr(&wrong).contains("it holds no links; a link graph (CSV) or the dump of a machine was expected"),
        "{}",
        stderr(&wrong)
    );
    let report = collectune(&[&["report", &sweep, "--topology", &mesh], &QUICK[..]].concat());
    succeeded(&report);
    assert!(
        text(&report.stdout).contains(&format!("are held to {held_to}mesh.csv exceeds that")),
        "{}",
        text(&report.stdout)
    );
}
