//! A/B campaigns: their scripts run, and their logs are judged, from the terminal and through the executor.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fs;

use crate::support::{
    launcher::{collectune, outcome, run, stdout},
    worker::with,
};
use collectune::{
    collective::{Collective, Scale},
    launch::{Launcher, Sizes},
    tuning::ab,
    worker::executor::Executor,
};
use serde_json::Value;

/// A table of nccl-tests, faster by a fifth where a tuner file with rules is loaded.
const MEASURES: &str = r##"#!/bin/sh
echo "# nThread 1 nGpus 1 minBytes 4096 maxBytes 8192 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0"
echo "#"
echo "# Using devices"
for rank in 0 1 2 3 4 5 6 7; do
    echo "#  Rank  $rank Group  0 Pid $((1000 + rank)) on node1 device  $rank [0000:00:00] GPU"
done
echo "#"
echo "#                                                              out-of-place                       in-place"
echo "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"
echo "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)"
if [ -s "${NCCL_TUNER_CONFIG_FILE:-/dev/null}" ]; then
    echo "        4096          1024     float     sum      -1    80.00    0.05    0.09      0    80.00    0.05    0.09      0"
else
    echo "        4096          1024     float     sum      -1   100.00    0.04    0.07      0   100.00    0.04    0.07      0"
fi
echo "# Out of bounds values : 0 OK"
echo "# Avg bus bandwidth    : 0.1"
"##;

#[test]
fn a_campaign_runs_and_is_judged_by_its_logs() {
    let folder = tempfile::tempdir().unwrap();
    let conf = "allreduce,4096,4096,ring,ll,8,1,8\nallreduce,1048576,2097152,ring,ll,8,1,8\n";
    fs::write(folder.path().join("my.conf"), conf).unwrap();
    let arguments = [
        "ab",
        "plan",
        "--collective",
        "all_reduce",
        "--nodes",
        "1",
        "--ranks",
        "8",
        "--plugin",
        "./tuner.so",
        "--conf",
        "my.conf",
        "--repeats",
        "5",
    ];
    let script = stdout(&collectune(folder.path(), &arguments));
    // Without the plugin all arms would be the default.
    let refused = outcome(folder.path(), &script, MEASURES);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("tuner.so: No such file or directory"), "{said}");
    assert!(fs::read_dir(folder.path().join("logs")).unwrap().next().is_none());
    fs::write(folder.path().join("tuner.so"), "").unwrap();
    run(folder.path(), &script, MEASURES);
    let mut logs: Vec<String> = fs::read_dir(folder.path().join("logs"))
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .filter(|path| path.ends_with(".log"))
        .collect();
    logs.sort();
    assert_eq!(logs.len(), 15);
    let mut arguments = vec!["tuning", "ab", "--conf", "my.conf", "--json", "-o", "trimmed.conf"];
    arguments.extend(logs.iter().map(String::as_str));
    let reports: Value = serde_json::from_str(&stdout(&collectune(folder.path(), &arguments))).unwrap();
    let rules = &reports[0]["rules"];
    assert_eq!((&rules[0]["verdict"], &rules[1]["verdict"]), (&"keep".into(), &"drop".into()), "{reports:#}");
    assert!((rules[0]["gain_pct"].as_f64().unwrap() - 25.0).abs() < 0.01);
    // Loading the plugin costs nothing here.
    assert_eq!(reports[1]["rules"].as_array().map(Vec::len), Some(0), "{reports:#}");
    assert!(reports[1]["sizes"][0]["gain_pct"].as_f64().unwrap().abs() < 1e-9);
    let trimmed = fs::read_to_string(folder.path().join("trimmed.conf")).unwrap();
    assert!(
        trimmed.contains("# dropped: allreduce,1048576") && trimmed.ends_with("allreduce,4096,4096,ring,ll,8,1,8\n")
    );
}

#[test]
fn the_executor_compares_what_was_loaded() {
    let runs = "nodes,size_bytes,def_runs,cfg_runs\n1,4096,1.5;1.51;1.52,2;2.01;2.02\n";
    let executor = with(&[("allreduce_1n.per_size_stats.csv", runs.to_owned())]);
    let judged = |executor: &Executor| executor.studies.tuning.loaded.ab(&ab::AbQuestion::default());
    let answer = judged(&executor).unwrap();
    assert_eq!((answer.rules.len(), answer.trimmed), (1, None));
    assert_eq!(answer.by_rule.rows[0][0].text, "4 KiB");
    assert!(answer.chart.is_some());
    // A tuner file of another scale judges nothing: the sizes are judged by themselves, and the answer says so.
    let elsewhere = "allreduce,4096,4096,ring,ll,8,2,16\n".to_owned();
    let executor = with(&[("allreduce_1n.per_size_stats.csv", runs.to_owned()), ("tuner.conf", elsewhere)]);
    let answer = judged(&executor).unwrap();
    assert!(answer.notes[0].starts_with("No rule of the tuner file"), "{:?}", answer.notes);
    assert_eq!((&answer.by_rule.rows[0][0].text[..], answer.chart.is_some()), ("4 KiB", true));
    assert!(judged(&Executor::default()).unwrap_err().to_string().starts_with("there is nothing to compare"));
    let campaign = ab::script::CampaignPlan {
        collective: Collective::AllReduce,
        scale: Scale { nodes: 1, ranks: 8 },
        sizes: Sizes { first: 4096, last: 1 << 20 },
        repeats: 3,
        seed: 1,
        launcher: Launcher::Srun,
        plugin: "p.so".to_owned(),
        conf: "c.conf".to_owned(),
    };
    assert_eq!(campaign.script().lines().filter(|line| line.starts_with("run all_reduce")).count(), 9);
}
