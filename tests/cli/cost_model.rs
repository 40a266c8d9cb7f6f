//! What `collectune tuning cost-model` says, and what it refuses.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support::terminal::{collectune, ended, json, text, write};
use tempfile::TempDir;

const H100: [&str; 8] = ["tuning", "cost-model", "--gpu", "h100", "--nodes", "1", "--ranks", "8"];

fn asked(more: &[&str]) -> Vec<String> {
    H100.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

fn refused(words: &[&str]) -> String {
    let output = collectune(words);
    assert!(ended(&output, 1).is_empty());
    text(&output.stderr)
}

#[test]
fn the_choice_of_a_release_is_said_for_people_and_for_programs() {
    let words = asked(&["--library-version", "2.28.9", "--table"]);
    let said = ended(&collectune(&words.iter().map(String::as_str).collect::<Vec<_>>()), 0);
    let sentence = "By its own cost model NCCL 2.28.9 runs all_reduce on 1 node, 8 ranks with RING/LL up to 1 MiB, and \
                    NVLS/SIMPLE beyond.";
    assert!(said.starts_with(sentence), "{said}");
    assert!(said.contains("Latency") && said.contains("272"), "the table has NVLS with 272 GB/s: {said}");
    let words = asked(&["--library-version", "2.29.3", "--collective", "all_gather", "--sizes", "8M", "--json"]);
    let answer = json(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((answer["release"].as_str(), answer["sizes"][0]["protocol"].as_str()), (Some("2.29.2"), Some("ll128")));
    assert!(answer["notes"].to_string().contains("NCCL 2.29.3 has, as far as is known, the model of 2.29.2"));
}

#[test]
fn choices_stand_beside_what_was_measured() {
    let folder = TempDir::new().unwrap();
    let sweep = write(
        &folder,
        "sweep.csv",
        "collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels\n\
         all_reduce,1,8,67108864,300,NVLS,SIMPLE,16\n\
         all_reduce,1,8,67108864,400,RING,SIMPLE,24\n",
    );
    let words = asked(&["--library-version", "2.28.9", "--sweep", &sweep]);
    let said = ended(&collectune(&words.iter().map(String::as_str).collect::<Vec<_>>()), 0);
    assert!(said.contains("it loses most at 64 MiB: 25.0 % of busbw") && said.contains("RING/SIMPLE/24"), "{said}");
    let older = write(
        &folder,
        "older.csv",
        "collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels,nccl_version\n\
         all_reduce,1,8,67108864,300,NVLS,SIMPLE,16,2.19.3\n",
    );
    let words = asked(&["--library-version", "2.28.9", "--sweep", &older, "--json"]);
    let notes = json(&words.iter().map(String::as_str).collect::<Vec<_>>())["notes"].to_string();
    assert!(notes.contains("The measurements are of NCCL 2.19.3, and the model is of NCCL 2.28.9:"), "{notes}");
    let words = asked(&["--set", "2", "--configuration", "default"]);
    let said = text(&collectune(&words.iter().map(String::as_str).collect::<Vec<_>>()).stderr);
    assert!(said.contains("--set is not used") && said.contains("--configuration is not used"), "{said}");
}

#[test]
fn a_log_gives_the_channels_of_another_machine() {
    let folder = TempDir::new().unwrap();
    let head = "n0:1:1 [0] NCCL INFO NCCL version 2.29.7+cuda12.9\n\
                n0:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n";
    let graph = |pattern: u32, gbps: f64| {
        format!(
            "n0:1:1 [0] NCCL INFO Pattern {pattern}, crossNic 0, nChannels 2, bw {gbps}/{gbps}, type PIX/PHB, \
             sameChannels 1\n"
        )
    };
    let log = write(&folder, "debug.log", format!("{head}{}{}", graph(4, 1.2), graph(3, 2.4)));
    let words = ["tuning", "cost-model", "--gpu", "sm_120", &log, "--collective", "broadcast", "--json"];
    let answer = json(&words);
    let first = &answer["sizes"][0];
    assert_eq!(answer["scale"]["nodes"], 2);
    assert_eq!((first["protocol"].as_str(), first["channels"].as_u64()), (Some("ll"), Some(1)));
    let displaced =
        format!("{head}{}{}n0:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Ring\n", graph(4, 1.2), graph(3, 2.4));
    let set = write(&folder, "set.log", displaced.clone());
    let conf = write(&folder, "tuner.conf", "allreduce,0,1024,ring,ll,-1,-1,-1\n");
    let notes = json(&["tuning", "cost-model", "--gpu", "sm_120", &set, &conf, "--json"])["notes"].to_string();
    assert!(notes.contains("the job had NCCL_ALGO=Ring: this is what the library would choose without"), "{notes}");
    assert!(notes.contains("tuner.conf was not used"), "{notes}");
    let wider = write(&folder, "wider.log", displaced.replace("nRanks 2 nNodes 2", "nRanks 4 nNodes 4"));
    let words = ["tuning", "cost-model", "--gpu", "sm_120", &set, &wider];
    assert!(refused(&words).contains("of 2 nodes, 2 ranks") && refused(&words).contains("give the logs of one job"));
    let words = ["tuning", "cost-model", "--gpu", "sm_120", &log, "--nodes", "4", "--ranks", "4"];
    assert!(refused(&words).contains("the log is of a job on 2 nodes, 2 ranks, and its channels hold there only"));
    let without = write(&folder, "init.log", head);
    let words = ["tuning", "cost-model", "--gpu", "h100", &without];
    assert!(refused(&words).contains("NCCL_DEBUG_SUBSYS=INIT,GRAPH"));
    let rccl = write(&folder, "rccl.log", "n0:1:1 [0] NCCL INFO RCCL version : 2.26.6\n");
    assert!(refused(&["tuning", "cost-model", "--gpu", "mi300x", &rccl]).contains("RCCL"));
}

#[test]
fn what_is_not_known_is_refused() {
    let of = |words: &[&str]| refused(&[&["tuning", "cost-model"], words].concat());
    let on = |gpu: &'static str, nodes: &'static str, ranks: &'static str| {
        of(&["--gpu", gpu, "--nodes", nodes, "--ranks", ranks])
    };
    assert!(on("mi300x", "1", "8").contains("\"mi300x\" is no GPU whose channels are known without a log"));
    assert!(on("h800", "1", "8").contains("h800"), "it has fewer links than an H100");
    assert!(on("b200", "2", "16").contains("the channels that NCCL finds on 2 nodes, 16 ranks of B200 are not known"));
    assert!(of(&["--gpu", "h100"]).contains("--nodes 2 --ranks 16"));
    let words = asked(&["--library-version", "2.31"]);
    let said = refused(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(said.contains("the cost model of NCCL 2.31 is not known; known are 2.18.1 to 2.30.7"), "{said}");
    let words = asked(&["--collective", "alltoall"]);
    let said = refused(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(said.contains("its model knows all_reduce, all_gather"), "{said}");
}
