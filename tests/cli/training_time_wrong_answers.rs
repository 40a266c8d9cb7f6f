//! Ways in which a step's time was wrong without a warning: each case states the sentence, the flag in JSON and the
//! exit code that stand there instead.

#![allow(clippy::unwrap_used)]

use std::{fmt::Write as _, fs, path::Path};

use crate::support::{
    real,
    terminal::{collectune, ended, text},
};
use collectune::training_time::simulate::Simulation;
use serde_json::Value;
use tempfile::TempDir;

/// The run of the example, in the short form.
const LAYOUT: &str = "training_config: [4, 2, 2, 4, 32, 4096, 4096, 8, 4]\nencoders: 32\n";
const STEPS: &str = "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,\
                     data parallelism,pipeline parallelism,iteration time (ms)";

/// The samples of the example in a folder, some of their texts changed; without its run.
struct Samples {
    folder: TempDir,
}

impl Samples {
    fn new() -> Self {
        Self::changed(|_, text| text)
    }

    fn changed(change: impl Fn(&str, String) -> String) -> Self {
        let samples = Self { folder: TempDir::new().unwrap() };
        for (path, text) in Simulation::example().files() {
            if !path.ends_with("_run.yml") {
                let text = change(&path, text);
                samples.file(&path, &text);
            }
        }
        samples
    }

    /// Writes a file and answers its path.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn path(&self) -> String {
        self.folder.path().join("simulated").display().to_string()
    }
}

/// A command with and without `--json`: its code, what it wrote for people, its JSON, what it said.
struct Answer {
    code: Option<i32>,
    people: String,
    json: Value,
    said: String,
}

fn answer(arguments: &[&str]) -> Answer {
    let people = collectune(arguments);
    let output = collectune(&[arguments, &["--json"]].concat());
    assert_eq!(people.status.code(), output.status.code(), "{}", text(&output.stderr));
    assert_eq!(text(&people.stderr), text(&output.stderr), "the same is said with JSON");
    Answer {
        code: output.status.code(),
        people: text(&people.stdout),
        json: serde_json::from_str(&text(&output.stdout)).unwrap_or_default(),
        said: text(&output.stderr),
    }
}

impl Answer {
    /// It answered, and a note of this content stands on stderr and in the JSON.
    #[track_caller]
    fn notes(&self, content: &str) {
        assert_eq!(self.code, Some(0), "{}", self.said);
        assert!(self.said.contains(content), "{content}: {}", self.said);
        let notes = self.json["notes"].as_array().unwrap();
        assert!(notes.iter().any(|note| note.as_str().unwrap().contains(content)), "{content}: {notes:?}");
    }

    /// It did not answer, and says why.
    #[track_caller]
    fn refuses(&self, content: &str) {
        assert_eq!((self.code, self.people.as_str(), &self.json), (Some(1), "", &Value::Null), "{}", self.said);
        assert!(self.said.contains(content), "{content}: {}", self.said);
    }

    fn total_us(&self) -> f64 {
        self.json["total_us"].as_f64().unwrap()
    }
}

#[test]
fn samples_of_another_gpu_are_not_those_of_the_run() {
    let samples = Samples::new();
    for gpu in ["H100", "Banana"] {
        let run = samples.file("run.yml", &format!("gpu_name: {gpu}\n{LAYOUT}"));
        let refused = answer(&["training-time", "step", &samples.path(), "--run", &run]);
        refused.refuses(&format!("the run is of the GPU {gpu}, and there are samples of SimulatedGPU (simulated)"));
        assert!(refused.said.contains("--cluster NAME"), "{}", refused.said);
        let layouts = ["training-time", "layouts", &samples.path(), "--run", &run, "--gpus", "8", "--batch", "64"];
        answer(&layouts).refuses(&format!("the run is of the GPU {gpu}"));
        // Somebody may want just that.
        let chosen = answer(&["training-time", "step", &samples.path(), "--run", &run, "--cluster", "simulated"]);
        let sentence =
            format!("Samples of SimulatedGPU (simulated) stand in for those of GPU {gpu}, which the run names");
        chosen.notes(&sentence);
        assert!(chosen.people.contains(&sentence), "{}", chosen.people);
        assert_eq!((&chosen.json["gpu"], &chosen.json["cluster"]), (&"SimulatedGPU".into(), &"simulated".into()));
    }
    // Another cluster with no word of the GPU: the only samples stand in, and that is said.
    let run = samples.file("run.yml", &format!("cluster: Frontier\n{LAYOUT}"));
    let other = answer(&["training-time", "step", &samples.path(), "--run", &run]);
    let sentence = "Samples of SimulatedGPU (simulated) stand in for those of cluster Frontier";
    other.notes(sentence);
    assert!(other.people.contains(sentence), "{}", other.people);
    // The same GPU by another of its names, and the cluster's own, are what they are.
    let run = samples.file("run.yml", &format!("gpu_name: simulatedgpu\ncluster: Simulated\n{LAYOUT}"));
    let own = answer(&["training-time", "step", &samples.path(), "--run", &run]);
    assert!(own.code == Some(0) && !own.said.contains("stand in for those of"), "{}", own.said);
}

#[test]
fn keys_that_say_nothing_are_named() {
    let samples = Samples::new();
    let run = samples.file("run.yml", &format!("{LAYOUT}zero_stage: 3\nfuture: 1\n"));
    let named = answer(&["training-time", "step", &samples.path(), "--run", &run]);
    named.notes("These keys say nothing here: zero_stage (nearest in spelling: zero), future");
    // What contradicts another key is refused.
    let run = samples.file("run.yml", &format!("{LAYOUT}schedule: 1f1b\nvirtual_stages: 3\n"));
    answer(&["training-time", "step", &samples.path(), "--run", &run])
        .refuses("1f1b has one chunk a stage, and virtual_stages is 3");
    let run = samples.file("run.yml", &format!("{LAYOUT}schedule: interleaved\nvirtual_stages: 1\n"));
    answer(&["training-time", "step", &samples.path(), "--run", &run])
        .refuses("interleaved has at least 2 chunks a stage");
    // What no operator depends on is said to change nothing.
    let run = samples.file("run.yml", &format!("{LAYOUT}ffn: 11008\nkv_heads: 8\n"));
    let wide = answer(&["training-time", "step", &samples.path(), "--run", &run]);
    wide.notes("ffn = 11008 changes no time");
    wide.notes("kv_heads = 8 changes no time");
    // The norm that a run names is the one that is asked for.
    let run = samples.file("run.yml", &format!("{LAYOUT}layernorm_name: layernorm\n"));
    answer(&["training-time", "step", &samples.path(), "--run", &run])
        .refuses("there are no samples of operator layernorm");
    let run = samples.file(
        "run.yml",
        &format!("{LAYOUT}recompute: none\nsequence_parallel: 1\nvirtual_stages: 2\np2p: overlapped\n"),
    );
    let parity = answer(&["training-time", "step", &samples.path(), "--run", &run, "--mode", "parity"]);
    parity.notes("knows no recompute none, interleaved chunks, overlapped messages, sequence_parallel");
    let run = samples.file("run.yml", &format!("{LAYOUT}precision: banana\ntop_k: 2\n"));
    let odd = answer(&["training-time", "step", &samples.path(), "--run", &run]);
    odd.notes("The catalogue knows no peak of SimulatedGPU in banana");
    odd.notes("top_k and load_balance change nothing where experts is 1");
    // Columns, samplings, saved regressors that nothing uses.
    let path = samples.folder.path().join("simulated/nccl/SimulatedGPU_p2p_fp16_1_2.csv");
    let table = fs::read_to_string(&path).unwrap();
    let wide: String = table
        .lines()
        .enumerate()
        .map(|(at, line)| format!("{line},{}\n", if at == 0 { "algorithm".to_owned() } else { at.to_string() }))
        .collect();
    fs::write(&path, wide).unwrap();
    let sampling = "kernel_name: gelu\ncolumns_name: [mp, b, l, dim]\nstarts: [1, 1, 1024, 2048]\nsteps: [2, 2, 2, 2048]\n\
                    ends: [8, 16, 4096, 6144]\noperators: [mul, mul, mul, add]\n";
    let sampling = samples.file("gelu.yml", sampling);
    let moe = samples.file("moe.yml", &fs::read_to_string(&sampling).unwrap().replace("gelu", "moe"));
    let run = samples.file("run.yml", LAYOUT);
    let told = answer(&["training-time", "step", &samples.path(), &sampling, &moe, "--run", &run]);
    told.notes("These columns say nothing here: algorithm");
    told.notes("of the sampling of gelu, 144 of 180 points are there that can be");
    told.notes("of the sampling of moe there are no samples");
    // Of several runs the first is taken, and that is said.
    samples.file("simulated/a.yml", LAYOUT);
    samples.file("simulated/b.yml", LAYOUT);
    answer(&["training-time", "step", &samples.path()])
        .notes("of 2 run configurations a is taken; --run takes another");
}

#[test]
fn a_file_that_can_not_be_used_ends_the_command() {
    let samples = Samples::new();
    let run = samples.file("run.yml", LAYOUT);
    for (name, content, says) in [
        ("catalogue.yml", "catalogue: 1\nops: []\n", "ops: gpus, clusters, operators"),
        (
            "grid.yml",
            "kernel_name: gelu\ncolumns_name: [b]\nstarts: [x]\nsteps: [1]\nends: [2]\noperators: [add]\n",
            "starts",
        ),
        ("SimulatedGPU_gelu_fp16_fwd.json", "{\"gradient_booster\": 1}", "learner is not there"),
        ("SimulatedGPU_gelu_fp16_bwd.json", "{\"gradient_booster\": ", "is no JSON"),
        ("SimulatedGPU_odd_fp16.csv", "mp,b,l,dim,F_dur(ms),B_dur(ms)\n1,1,1,1,1,1\n", "it lacks F_dur(us)"),
    ] {
        // Named, or in the folder of the samples.
        let named = samples.file(name, content);
        let refused = answer(&["training-time", "step", &samples.path(), &named, "--run", &run]);
        assert_eq!(refused.code, Some(1), "{name}: {}", refused.said);
        refused.refuses(says);
        fs::remove_file(named).unwrap();
        let inside = samples.file(&format!("simulated/{name}"), content);
        answer(&["training-time", "step", &samples.path(), "--run", &run]).refuses(name);
        let without =
            answer(&["training-time", "step", &samples.path(), "--run", &run, "--answer", &format!("{name}=out")]);
        without.notes("left out by hand");
        fs::remove_file(inside).unwrap();
    }
    // What is of no use in a folder is named, and the others answer.
    samples.file("simulated/README.md", "# Samples\n\nOf a cluster.\n");
    samples.file(
        "simulated/sweep.csv",
        "collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels\nall_reduce,1,8,1024,1.5,RING,LL,4\n",
    );
    let answered = answer(&["training-time", "step", &samples.path(), "--run", &run]);
    answered.notes("README.md");
    answered.notes("sweep.csv is not used: it holds");
    // Named, it was meant.
    let readme = samples.file("simulated/README.md", "# Samples\n\nOf a cluster.\n");
    answer(&["training-time", "step", &samples.path(), &readme, "--run", &run]).refuses("README.md");
}

#[test]
fn configurations_are_known_wherever_their_keys_stand() {
    let samples = Samples::new();
    let comment = "# a comment that says nothing of the run\n".repeat(2000);
    let late = samples.file("late.yml", &format!("{comment}{LAYOUT}"));
    let refused = answer(&["training-time", "step", &samples.path(), "--run", &late]);
    refused.refuses("the text has more than 64 kB");
    assert!(!refused.said.contains("is not a table"), "{}", refused.said);
    for (name, content) in [
        ("long.yml", "model:\n\tlayers: 32\nparallel:\n\tpp: 4\n"),
        ("short.yml", "training_config:\n\t- 4\nencoders: 32\n"),
    ] {
        let tabs = samples.file(name, content);
        let refused = answer(&["training-time", "step", &samples.path(), "--run", &tabs]);
        refused.refuses("a tab can't indent; use blanks");
        assert!(!refused.said.contains("is not a table"), "{}", refused.said);
    }
    let between =
        samples.file("between.yml", "training_config\t:\t[4, 2, 2, 4, 32, 4096, 4096, 8, 4]\nencoders\t:\t32\n");
    assert_eq!(answer(&["training-time", "step", &samples.path(), "--run", &between]).code, Some(0));
}

#[test]
fn no_step_of_more_gpus_than_there_are() {
    let samples = Samples::new();
    let run = samples.file("run.yml", &LAYOUT.replace("[4, 2, 2,", "[4, 2, 1000000000,"));
    for mode in ["default", "parity"] {
        let refused = answer(&["training-time", "step", &samples.path(), "--run", &run, "--mode", mode]);
        refused.refuses(
            "pp·mp·dp = 8000000000 GPUs are more than the 1048576 that are composed; the nearest is Data-parallel \
             degree (dp) = 131072",
        );
    }
    // More than the cluster has is said.
    let run = samples.file("run.yml", &LAYOUT.replace("[4, 2, 2,", "[4, 2, 64,"));
    let large = answer(&["training-time", "step", &samples.path(), "--run", &run]);
    let wide = samples.file("wide.yml", &LAYOUT.replace("8, 4]", "8, 8]"));
    answer(&["training-time", "step", &samples.path(), "--run", &wide])
        .notes("The run has 8 GPUs a node, and simulated has 4");
    large.notes("The run has 512 GPUs, and simulated has 256 of them in the catalogue");
}

#[cfg(unix)]
#[test]
fn links_to_folders_are_followed() {
    use std::os::unix::fs::symlink;
    let samples = Samples::new();
    let run = samples.file("run.yml", LAYOUT);
    let linked = samples.folder.path().join("linked");
    fs::create_dir(&linked).unwrap();
    for folder in ["operator", "nccl"] {
        symlink(Path::new(&samples.path()).join(folder), linked.join(folder)).unwrap();
    }
    symlink(Path::new(&samples.path()).join("simulated_catalogue.yml"), linked.join("catalogue.yml")).unwrap();
    // A link back to where it stands is followed once.
    symlink(&linked, linked.join("again")).unwrap();
    let direct = answer(&["training-time", "step", &samples.path(), "--run", &run]);
    let behind = answer(&["training-time", "step", &linked.display().to_string(), "--run", &run]);
    assert_eq!((behind.code, behind.total_us()), (Some(0), direct.total_us()), "{}", behind.said);
}

/// A table of samples with its times, the last columns, changed.
fn scaled(table: &str, factors: &[f64]) -> String {
    let mut lines = table.lines();
    let mut text = format!("{}\n", lines.next().unwrap());
    for line in lines {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        let first = cells.len() - factors.len();
        for (cell, factor) in cells[first..].iter_mut().zip(factors) {
            *cell = (cell.parse::<f64>().unwrap() * factor).to_string();
        }
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    text
}

fn share(answer: &Answer, mark: &str) -> f64 {
    answer.json["marks"][mark].as_f64().unwrap()
}

#[test]
fn what_is_faster_than_the_hardware_is_suspect_by_what_it_would_take() {
    let run = |samples: &Samples| samples.file("run.yml", LAYOUT);
    let sound = Samples::new();
    let sound = answer(&["training-time", "step", &sound.path(), "--run", &run(&sound)]);
    assert!(sound.json["doubts"].as_array().unwrap().is_empty() && share(&sound, "suspect") == 0.0, "{}", sound.people);
    // One operator in milliseconds: its share of the time is nothing, of what it would take a tenth.
    let one =
        Samples::changed(|path, text| if path.contains("_linear1_") { scaled(&text, &[1e-3, 1e-3]) } else { text });
    let one = answer(&["training-time", "step", &one.path(), "--run", &run(&one)]);
    println!("{}{}", one.said, one.people.lines().take(8).collect::<Vec<_>>().join("\n"));
    assert!((0.05..0.25).contains(&share(&one, "suspect")), "{}", one.json["marks"]);
    one.notes("linear1, where");
    one.notes("are its times milliseconds?");
    let doubt = &one.json["doubts"][0];
    assert_eq!((&doubt["name"], &doubt["direction"]), (&"linear1".into(), &"forward".into()));
    assert!(doubt["at_least_us"].as_f64().unwrap() > 100.0 * doubt["time_us"].as_f64().unwrap(), "{doubt}");
    assert!(
        one.people.contains("Suspect: linear1 forward:") && one.people.contains("that the hardware takes at least")
    );
    // In nanoseconds nothing computes as fast as a GPU does.
    let slow =
        Samples::changed(|path, text| if path.contains("_linear1_") { scaled(&text, &[1e3, 1e3]) } else { text });
    let slow = answer(&["training-time", "step", &slow.path(), "--run", &run(&slow)]);
    slow.notes("linear1, where none of");
    slow.notes("are its times nanoseconds?");
    // What moves bytes is held against memory as well; optimizers too.
    for name in ["_RMSlayernorm_", "_firstStage_optimizer_"] {
        let columns: &[f64] = if name.contains("optimizer") { &[1e-3] } else { &[1e-3, 1e-3] };
        let other = Samples::changed(|path, text| if path.contains(name) { scaled(&text, columns) } else { text });
        let other = answer(&["training-time", "step", &other.path(), "--run", &run(&other)]);
        let doubts = other.json["doubts"].as_array().unwrap();
        assert!(doubts.iter().any(|doubt| name.contains(doubt["name"].as_str().unwrap())), "{name}: {doubts:?}");
        other.notes("are its times milliseconds?");
    }
    // All of them.
    let all = Samples::changed(|path, text| match path {
        path if path.contains("_optimizer_") => scaled(&text, &[1e-3]),
        path if path.contains("/operator/") => scaled(&text, &[1e-3, 1e-3]),
        _ => text,
    });
    let all = answer(&["training-time", "step", &all.path(), "--run", &run(&all)]);
    println!("{}", all.json["marks"]);
    assert!(share(&all, "suspect") > 0.5, "{}", all.json["marks"]);
}

#[test]
fn a_backward_pass_that_is_faster_than_its_forward_pass_is_named() {
    let samples =
        Samples::changed(|path, text| if path.contains("_flash_atten_") { scaled(&text, &[1.0, 0.03]) } else { text });
    let run = samples.file("run.yml", LAYOUT);
    let named = answer(&["training-time", "step", &samples.path(), "--run", &run]);
    assert_eq!(named.code, Some(0));
    assert!(named.people.contains("Suspect: flash_atten: its backward pass ("), "{}", named.people);
    assert!(named.people.contains("is faster than its forward pass"), "{}", named.people);
    let doubts = named.json["doubts"].as_array().unwrap();
    let backward = doubts.iter().find(|doubt| doubt["direction"] == "backward").unwrap();
    assert!(backward["why"].as_str().unwrap().contains("computes twice as much"), "{backward}");
    assert!(share(&named, "suspect") > 0.0);
}

#[test]
fn all_reduce_tables_count_for_a_run() {
    let samples = Samples::new();
    // Over the eight GPUs of a node, over which nobody sampled; twice the bytes take twice the time.
    let mut table = "size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s)\n".to_owned();
    for step in 0..12 {
        let bytes = 1_u64 << (20 + step);
        let ns = bytes as f64 / 50.0;
        writeln!(table, "{bytes},{},float,{ns},87.5,{ns},87.5", bytes / 4).unwrap();
    }
    let run = samples.file("run.yml", "training_config: [2, 8, 1, 4, 32, 4096, 4096, 8, 8]\nencoders: 32\n");
    let table = samples.file("tables/AR_GPU8_1M_2G_LUT", &table);
    let without = answer(&["training-time", "step", &samples.path(), "--run", &run]);
    assert!(without.people.contains("over 1×8 GPUs: 1×2, 1×4 were sampled"), "{}", without.people);
    assert!(!without.people.contains("only 8 was sampled") && !without.people.contains("over 1×8 GPUs: only"));
    let with = answer(&["training-time", "step", &samples.path(), &table, "--run", &run]);
    with.notes("its 12 times are those of allreduce over 1×8, where nobody sampled");
    let reduce = |answer: &Answer| answer.json["components"]["tensor_all_reduce"].as_f64().unwrap();
    // 16 layers with six all-reduces of 128 MiB, and that of the embedding, eight times.
    let each_us = 2.0 * 4.0 * 4096.0 * 4096.0 / 50.0 / 1e3;
    assert!((reduce(&with) / (8.0 * 97.0 * each_us) - 1.0).abs() < 0.02, "{} {each_us}", reduce(&with));
    assert!((reduce(&without) / reduce(&with) - 1.0).abs() > 0.1);
    let parity = answer(&["training-time", "step", &samples.path(), &table, "--run", &run, "--mode", "parity"]);
    assert!(parity.said.contains("are not used: parity knows only samples"), "{}", parity.said);
    // Those of another GPU stay away.
    let other = samples.file("a100/AR_GPU8_1M_2G_LUT", &fs::read_to_string(&table).unwrap());
    answer(&["training-time", "step", &samples.path(), &other, "--run", &run])
        .notes("are not used: it is not of SimulatedGPU");
}

/// Measured steps as predicted by the search, each times a factor.
fn predicted(samples: &Samples, run: &str, [hidden, heads, layers]: [u32; 3], factor: f64) -> String {
    let found = collectune(&[
        "training-time",
        "layouts",
        &samples.path(),
        "--run",
        run,
        "--gpus",
        "8,16,32",
        "--batch",
        "64",
        "--micro-batch",
        "1,2,4",
        "--all",
        "--json",
    ]);
    let found: Value = serde_json::from_str(&ended(&found, 0)).unwrap();
    let mut rows = String::new();
    for row in found["rows"].as_array().unwrap() {
        let of = |key: &str| row[key].as_u64().unwrap();
        let (tp, pp, dp, b) = (of("tp"), of("pp"), of("dp"), of("micro_batch"));
        let ms = row["total_us"].as_f64().unwrap() / 1e3 * factor;
        writeln!(rows, "{},64,{b},{hidden},{heads},{layers},4096,{tp},{dp},{pp},{ms}", tp * pp * dp).unwrap();
    }
    assert!(rows.lines().count() >= 20);
    rows
}

#[test]
fn steps_of_flash_attention_are_not_taken_for_plain_ones() {
    let samples = Samples::new();
    let run = samples.file("run.yml", LAYOUT);
    let rows = predicted(&samples, &run, [4096, 32, 32], 1.0);
    let steps = samples.file("steps.csv", &format!("{STEPS}\n{rows}"));
    let plain = answer(&["training-time", "step", &samples.path(), "--run", &run]);
    assert_eq!((&plain.json["interval_us"], &plain.json["spread"]), (&Value::Null, &"Spread of the samples".into()));
    let [low, high] = [0, 1].map(|end| plain.json["spread_us"][end].as_f64().unwrap());
    assert!(low < plain.total_us() && plain.total_us() < high);
    assert!(plain.people.contains("no interval of steps"), "{}", plain.people);
    // What the tool predicted, fed back as measurements, changes nothing.
    let arguments = ["training-time", "step", &samples.path(), "--run", &run, "--calibrate", &steps];
    let again = answer(&arguments);
    println!("{}", again.said);
    again.notes("neox-flash with the optimizer sharded is taken, as of the run to predict");
    assert!((again.total_us() / plain.total_us() - 1.0).abs() < 1e-3, "{} {}", again.total_us(), plain.total_us());
    let [low, high] = [0, 1].map(|end| again.json["spread_us"][end].as_f64().unwrap());
    assert!(low <= again.total_us() && again.total_us() <= high);
    // Other keys are inherited as well.
    let other = samples.file("other.yml", &format!("{LAYOUT}zero: 0\nrecompute: none\nvocabulary: 32000\n"));
    let rows = predicted(&samples, &other, [4096, 32, 32], 1.0);
    let of_other = samples.file("other.csv", &format!("{STEPS}\n{rows}"));
    let plain = answer(&["training-time", "step", &samples.path(), "--run", &other]);
    let again = answer(&["training-time", "step", &samples.path(), "--run", &other, "--calibrate", &of_other]);
    again.notes("with the optimizer not sharded is taken");
    assert!((again.total_us() / plain.total_us() - 1.0).abs() < 1e-3, "{} {}", again.total_us(), plain.total_us());
    // Rows say it themselves, and what does not fit is refused by name.
    let rows = |more: &str| {
        let lines = fs::read_to_string(&steps).unwrap();
        let lines: Vec<String> = lines.lines().skip(1).map(|line| format!("{line},{more}\n")).collect();
        lines.concat()
    };
    for (columns, cells, why) in [
        ("architecture", "nonsense", "the catalogue has no architecture nonsense"),
        ("attention", "plain", "its attention is plain, which nothing that it could inherit has"),
        ("feed-forward width", "11008", "its feed-forward width 11008 is not four times its hidden size 4096"),
        ("kv heads", "8", "its 8 key-value heads are not its 32 heads"),
        ("architecture,attention", "gpt,flash", "its attention is not that of its architecture, gpt"),
    ] {
        let table = samples.file("said.csv", &format!("{STEPS},{columns}\n{}", rows(cells)));
        answer(&["training-time", "step", &samples.path(), "--run", &run, "--calibrate", &table]).refuses(why);
    }
    let table = samples.file("said.csv", &format!("{STEPS},architecture,zero\n{}", rows("neox-flash,1")));
    let said = answer(&["training-time", "step", &samples.path(), "--run", &run, "--calibrate", &table]);
    assert!(said.code == Some(0) && !said.said.contains("without an architecture"), "{}", said.said);
    let table = samples.file("said.csv", &format!("{STEPS},shards\n{}", rows("2")));
    answer(&["training-time", "step", &samples.path(), "--run", &run, "--calibrate", &table])
        .notes("These columns say nothing here: shards");
    // By hand, and as the catalogue has it of published steps.
    answer(&[&arguments[..], &["--measured-as", "gpt"]].concat()).refuses("there are no samples of operator layernorm");
    answer(&[&arguments[..], &["--measured-as", "bert"]].concat()).refuses("the catalogue knows neox-flash, gpt");
    answer(&[&arguments[..], &["--measured-on", "Selene"]].concat())
        .refuses("the measured steps ran on Selene, whose GPU is A100-SXM4-80GB, and the samples are of SimulatedGPU");
    let alone = collectune(&["training-time", "step", &samples.path(), "--run", &run, "--coefficients", "6"]);
    assert_eq!(alone.status.code(), Some(2), "{}", text(&alone.stderr));
}

#[test]
fn a_calibration_that_makes_other_models_worse_is_not_used() {
    let samples = Samples::new();
    let run = samples.file("run.yml", LAYOUT);
    // Two models, one slower and one faster than predicted: what one teaches makes the other worse.
    let model = |hidden: u32, heads: u32, layers: u32, factor: f64| {
        let config = format!("training_config: [2, 2, 2, 1, {heads}, 4096, {hidden}, 8, 4]\nencoders: {layers}\n");
        let run = samples.file("model.yml", &config);
        predicted(&samples, &run, [hidden, heads, layers], factor)
    };
    let rows = model(2048, 16, 24, 1.3) + &model(6144, 32, 24, 0.8);
    let steps = samples.file("steps.csv", &format!("{STEPS}\n{rows}"));
    let plain = answer(&["training-time", "step", &samples.path(), "--run", &run]);
    let arguments = ["training-time", "step", &samples.path(), "--run", &run, "--calibrate", &steps];
    let unused = answer(&arguments);
    println!("{}", unused.said);
    unused.notes("not calibrated: the coefficients of ");
    unused.notes("do not help");
    unused.notes("--calibrate-anyway uses the coefficients");
    assert_eq!((unused.total_us(), &unused.json["calibration_is_used"]), (plain.total_us(), &Value::Bool(false)));
    assert_eq!(unused.json["calibration_helps"], Value::Bool(false));
    let anyway = answer(&[&arguments[..], &["--calibrate-anyway"]].concat());
    anyway.notes("which is worse than without");
    assert_eq!(anyway.json["calibration_is_used"], Value::Bool(true));
    assert!((anyway.total_us() / plain.total_us() - 1.0).abs() > 0.01);
    // One model alone tells nothing of another.
    let steps = samples.file("one.csv", &format!("{STEPS}\n{}", model(2048, 16, 24, 1.3)));
    let one = answer(&["training-time", "step", &samples.path(), "--run", &run, "--calibrate", &steps]);
    one.notes("are of one model, so nothing tells what their coefficients do to another");
    assert_eq!((one.total_us(), &one.json["interval_us"]), (plain.total_us(), &Value::Null));
}

/// What a message tells to do can be done.
#[test]
fn every_option_that_is_named_exists() {
    let samples = Samples::new();
    let run = samples.file("run.yml", &format!("gpu_name: H100\n{LAYOUT}"));
    let mut said = answer(&["training-time", "step", &samples.path(), "--run", &run]).said;
    let broken = samples.file("broken.yml", "catalogue: 2\n");
    said += &answer(&["training-time", "step", &samples.path(), &broken]).said;
    let steps = samples.file("steps.csv", &format!("{STEPS}\n{}", "2,16,8,1024,16,24,1024,1,1,2,0.37\n".repeat(12)));
    said += &answer(&["training-time", "step", &samples.path(), "--calibrate", &steps]).said;
    let help = text(&collectune(&["training-time", "step", "--help"]).stdout);
    let named: Vec<&str> =
        said.split(|c: char| c.is_whitespace() || "=:;,)(".contains(c)).filter(|word| word.starts_with("--")).collect();
    assert!(named.contains(&"--answer") && named.contains(&"--cluster"), "{said}");
    for option in named {
        assert!(help.contains(option), "{option} is no option of step");
    }
}

/// What corrupt rows have taught is suspect in parity too, also where other rows were sampled.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn no_optimizer_of_corrupt_samples_is_measured() {
    let vista = real::path("training_time/ett/Vista");
    let folder = TempDir::new().unwrap();
    let (mut cases, mut named) = (0, 0);
    for hidden in [2048, 4096, 6144, 8192] {
        for layers in [9, 10, 11, 12] {
            let run = folder.path().join("run.yml");
            // The reference's first stage has ⌈(E + 5)/pp⌉ − 2 layers.
            let config = format!(
                "gpu_name: GH200\ntraining_config: [4, 1, 2, 4, 32, 4096, {hidden}, 8, 1]\nencoders: {}\n",
                4 * (layers + 2) - 5
            );
            fs::write(&run, config).unwrap();
            let run = run.display().to_string();
            let output = collectune(&[
                "training-time",
                "step",
                &vista.display().to_string(),
                "--run",
                &run,
                "--mode",
                "parity",
                "--json",
            ]);
            let step: Value = serde_json::from_str(&ended(&output, 0)).unwrap();
            let doubts = step["doubts"].as_array().unwrap();
            let is_named = doubts.iter().any(|doubt| doubt["name"] == "firstStage_optimizer");
            // Sound rows take some milliseconds.
            let is_sound = step["components"]["optimizer"].as_f64().unwrap() < 100_000.0;
            assert!(is_named || is_sound, "hidden {hidden}, {layers} layers: {doubts:?}");
            named += usize::from(is_named);
            cases += 1;
        }
    }
    println!("{named} of {cases} cases are named");
    assert!(named > 0);
}
