//! What `collectune reach` says and how it ends.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support::{
    archives::tarred,
    terminal::{collectune, ended, json, text, write},
};
use tempfile::TempDir;

const LOG: &str = "\
n0:7:7 [0] NCCL INFO RCCL version : 2.28.3-Unknown
n0:7:7 [0] NCCL INFO TUNER/Plugin: Using Example (v5)
n0:7:7 [0] NCCL INFO comm 0x5600 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0
n0:7:7 [0] NCCL INFO AllReduce: opCount 1 sendbuff 0x7 recvbuff 0x8 count 1024 datatype 9 op 0 root 0 comm 0x5600 [nranks=8] stream 0x57
n0:7:7 [0] NCCL INFO AllReduce: 2048 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}
n0:7:7 [0] NCCL INFO AlltoAll: opCount 2 sendbuff 0x7 recvbuff 0x8 count 384 datatype 9 op 0 root 0 comm 0x5600 [nranks=8] stream 0x57
";

#[test]
fn a_log_is_answered_for_people_and_for_programs() {
    let folder = TempDir::new().unwrap();
    let log = write(&folder, "job.log", LOG);
    let conf = write(&folder, "a.conf", "allreduce,0,4095,ring,ll,32,1,8,-1,-1\n");
    let said = ended(&collectune(&["reach", &log, "--conf", &conf]), 0);
    assert!(said.starts_with("A tuner file can move 1 of 2 calls (25.0 % of the bytes).\n"), "{said}");
    assert!(said.contains("job.log:5") && said.contains("RING/LL/32"), "{said}");
    let reach = json(&["reach", &log, "--conf", &conf, "--json"]);
    assert_eq!(reach["total"]["paths"][0]["path"], "tuner");
    let line = reach["lines"].as_array().unwrap().iter().find(|line| line["path"] == "tuner").unwrap();
    assert_eq!((line["rule"].as_u64(), line["size_bytes"].as_u64()), (Some(1), Some(2048)));
    assert_eq!((line["evidence"]["line"]["line"].as_u64(), line["calls"].as_u64()), (Some(5), Some(1)));
    // An archive is read as its files; one that is damaged is refused.
    let packed = write(&folder, "job.tar", tarred(&[("job.log", LOG)]));
    let plain = text(&collectune(&["reach", &log, "--json"]).stdout);
    assert_eq!(
        text(&collectune(&["reach", &packed, "--json"]).stdout),
        plain.replace(&log, &format!("{packed}/job.log"))
    );
    let torn = write(&folder, "torn.tar", &tarred(&[("job.log", LOG)])[..700]);
    let refused = collectune(&["reach", &log, &torn]);
    assert!(
        ended(&refused, 1).is_empty() && text(&refused.stderr).contains("torn.tar is a tar archive that breaks off")
    );
    // Without the conf nothing shows who decided.
    let without = json(&["reach", &log, "--json"]);
    assert_eq!(without["total"]["paths"][0]["path"], "tuner-or-library");
}

#[test]
fn a_list_is_judged_by_the_version() {
    let folder = TempDir::new().unwrap();
    let list = write(&folder, "calls.csv", "collective,nodes,ranks,bytes\nall_reduce,1,8,458752\n");
    let of = |more: &[&str]| {
        let typed =
            [&["reach", &list, "--json", "--library-version", "2.30.4", "--architecture", "mi355x"], more].concat();
        json(&typed)["lines"][0]["path"].as_str().unwrap().to_owned()
    };
    assert_eq!(of(&[]), "dda");
    assert_eq!(of(&["--env", "RCCL_DDA_ENABLE=0"]), "tuner-or-library");
    assert_eq!(of(&["--library", "nccl"]), "tuner-or-library");
    let wrong = collectune(&["reach", &list, "--env", "RCCL_DDA_ENABLE"]);
    assert!(ended(&wrong, 2).is_empty() && text(&wrong.stderr).contains("it must be NAME=VALUE"));
}

#[test]
fn variables_that_exclude_a_tuner_files_answer_count_for_a_list() {
    let folder = TempDir::new().unwrap();
    let calls =
        write(&folder, "calls.csv", "collective,num_nodes,num_gpus,size_bytes,calls\nall_reduce,2,16,65536,3\n");
    let conf = write(&folder, "a.conf", "allreduce,0,1048576,tree,ll,16,2,16,-1,-1\n");
    let path = |variables: &[&str]| {
        let mut asked = vec!["reach", &calls, "--library", "nccl", "--conf", &conf, "--reader", "example", "--json"];
        asked.extend(variables.iter().flat_map(|variable| ["--env", variable]));
        json(&asked)["lines"][0]["path"].as_str().unwrap().to_owned()
    };
    assert_eq!(path(&[]), "tuner");
    for open in ["NCCL_ALGO=Ring,Tree", "NCCL_ALGO=tree", "NCCL_PROTO=LL", "NCCL_ALGO=bogus", "NCCL_PROTO=^Simple"] {
        assert_eq!(path(&[open]), "tuner", "{open}");
    }
    for excluding in ["NCCL_ALGO=Ring", "NCCL_ALGO=^tree", "NCCL_PROTO=allreduce:LL128"] {
        assert_eq!(path(&[excluding]), "env", "{excluding}");
    }
    assert_eq!(path(&["NCCL_TUNER_PLUGIN=none"]), "library");
}

#[test]
fn a_sweep_gives_the_calls_their_times() {
    let folder = TempDir::new().unwrap();
    let calls =
        "collective,nodes,ranks,bytes,calls\nall_reduce,1,8,458752,10\nall_reduce,1,8,64M,2\nalltoall,1,8,4096,5\n";
    let list = write(&folder, "calls.csv", calls);
    let mut sweep = "collective,num_nodes,num_gpus,size_bytes,time_ip_us,algo,proto,nchannels,requested_algo,\
                     requested_proto,requested_nchannels\n"
        .to_owned();
    sweep += "all_reduce,1,8,458752,20,RING,LL,8,,,\nall_reduce,1,8,67108864,400,RING,SIMPLE,32,,,\n";
    let sweep = write(&folder, "sweep.csv", sweep);
    let on = ["reach", &list, "--library-version", "2.30.4", "--gpu", "gfx950"];
    let typed = [&on[..], &["--sweep", &sweep]].concat();
    let said = ended(&collectune(&typed), 0);
    // DDA takes both all_reduce; no sweep has a time of the alltoall.
    assert!(said.contains("0.0 % of the time, which is known of 12 calls)") && said.contains("% of time"), "{said}");
    let without_dda = [&typed[..], &["--env", "RCCL_DDA_THRESHOLD=1000000", "--json"]].concat();
    let total = &json(&without_dda)["total"];
    let number = |name: &str| total[name].as_f64().unwrap();
    assert!((number("time_us") - 1000.0).abs() < 1.0 && number("untimed_calls") == 5.0, "{total}");
    assert!((number("reached_time_us") - 800.0).abs() < 1.0, "{total}");
    let wrong = collectune(&["reach", &list, "--sweep", &list]);
    assert!(ended(&wrong, 1).is_empty() && text(&wrong.stderr).contains("calls.csv"), "{}", text(&wrong.stderr));
    let unused = collectune(&[&on[..], &["--configuration", "default"]].concat());
    assert!(text(&unused.stderr).contains("--configuration") && text(&unused.stderr).contains("no sweep is given"));
}

#[test]
fn what_can_t_be_used_is_named() {
    let folder = TempDir::new().unwrap();
    let prose = write(&folder, "prose.txt", "nothing of the kind\n");
    let log = write(&folder, "job.log", LOG);
    let alone = collectune(&["reach", &prose]);
    assert!(ended(&alone, 1).is_empty());
    assert!(text(&alone.stderr).contains("prose.txt has no line of NCCL or RCCL and is no list of calls"));
    // Beside a log that is answered it is an error all the same.
    let both = collectune(&["reach", &prose, &log]);
    assert!(ended(&both, 1).contains("of 2 calls"));
    let list = write(&folder, "calls.csv", "collective,nodes,ranks,bytes\nall_reduce,8,1,64\nall_reduce,1,8,64\n");
    let some = collectune(&["reach", &list, "--library", "nccl"]);
    assert!(ended(&some, 0).starts_with("A tuner file can move 1 of 1 call "));
    assert!(text(&some.stderr).contains("line 2, column num_gpus: \"1\" is not at least one rank for each node"));
}

#[test]
fn what_is_given_and_not_used_is_named() {
    let folder = TempDir::new().unwrap();
    let log = write(&folder, "job.log", LOG);
    let again = write(&folder, "again.log", LOG);
    let list = write(&folder, "calls.csv", "collective,nodes,ranks,bytes,phase\nall_reduce,1,8,458752,x\n");
    let given = ["--nodes", "2", "--ranks", "16", "--env", "NCCL_IB_HCA=mlx5", "--env", "NCCL_ALGO=Ring"];
    let reach = json(&[&["reach", &log, &again, &list, "--json"][..], &given[..]].concat());
    assert_eq!(reach["total"]["calls"], 3, "the log that stands twice counts once");
    let notes: Vec<&str> = reach["notes"].as_array().unwrap().iter().filter_map(|note| note.as_str()).collect();
    let has = |part: &str| notes.iter().any(|note| note.contains(part));
    assert!(has("again.log have the same content: it counts once"), "{notes:?}");
    assert!(has("calls.csv: the column phase is not read"), "{notes:?}");
    assert!(has("NCCL_IB_HCA decides no path") && !has("NCCL_ALGO decides"), "{notes:?}");
    assert!(has("2 nodes, 16 ranks, as given, is used for no communicator"), "{notes:?}");
    let used = json(&["reach", &log, "--nodes", "1", "--ranks", "8", "--env", "NCCL_ALGO=Ring", "--json"]);
    let unused = used["notes"].to_string();
    assert!(!unused.contains("not used") && !unused.contains("as given"), "{unused}");

    let covered = collectune(&[&["tuning", "coverage", &log, &again][..], &given[..]].concat());
    let said = text(&covered.stderr);
    assert!(said.contains("again.log have the same content: it counts once"), "{said}");
    assert!(said.contains("NCCL_IB_HCA decides no path") && !said.contains("NCCL_ALGO decides"), "{said}");
    assert!(said.contains("2 nodes, 16 ranks, as given, is the scale of no call"), "{said}");
    let once = text(&collectune(&["tuning", "coverage", &log]).stdout);
    assert_eq!(ended(&covered, 0), once);
}

/// DDA is a matter of the data type and the operation: names of frameworks are read, and unknown ones are named.
#[test]
fn data_types_and_operations_are_known_by_any_name_or_named() {
    let folder = TempDir::new().unwrap();
    let of = |data_type: &str, redop: &str| {
        let lines = format!(
            "collective,nodes,ranks,bytes,calls,data_type,redop\nall_reduce,1,8,458752,10,{data_type},{redop}\n\
             all_reduce,1,8,1048576,1,bf16,sum\n"
        );
        let list = write(&folder, "calls.csv", lines);
        let output = collectune(&["reach", &list, "--library-version", "2.30.4", "--gpu", "gfx950", "--json"]);
        let reach: serde_json::Value = serde_json::from_str(&ended(&output, 0)).unwrap();
        (reach["total"]["reached_calls"].as_u64().unwrap(), text(&output.stderr))
    };
    let usual = of("bf16", "sum").0;
    for (data_type, redop) in [
        ("ncclBfloat16", "ncclSum"),
        ("torch.bfloat16", "SUM"),
        ("__nv_bfloat16", "add"),
        ("f16", "sum"),
        ("f32", "sum"),
    ] {
        assert_eq!(of(data_type, redop).0, usual, "{data_type} {redop}");
    }
    assert!(of("int32", "sum").0 > usual && of("bf16", "max").0 > usual);
    for (data_type, redop, said) in [
        ("f32x", "sum", "\"f32x\" is no data type that is known; the row was left out"),
        ("bf16", "median", "\"median\" is no operation that is known; the row was left out"),
    ] {
        let (_, told) = of(data_type, redop);
        assert!(told.contains(said), "{told}");
    }
}

/// The tuner interface up to version 2 sets what runs whatever the environment says.
#[test]
fn a_tuner_of_nccl_2_20_wins_over_the_environment() {
    let folder = TempDir::new().unwrap();
    let list = write(&folder, "calls.csv", "collective,nodes,ranks,bytes\nall_reduce,1,8,2048\n");
    let conf = write(&folder, "a.conf", "allreduce,0,4095,tree,ll,4,1,8,-1,-1\n");
    let path = |version: &str| {
        let typed = ["reach", &list, "--conf", &conf, "--library", "nccl", "--library-version", version, "--json"];
        let found = json(&[&typed[..], &["--env", "NCCL_ALGO=Ring", "--env", "NCCL_TUNER_PLUGIN=/x.so"]].concat());
        found["lines"][0]["path"].as_str().unwrap().to_owned()
    };
    assert_eq!((path("2.20.5"), path("2.27.5")), ("tuner".to_owned(), "env".to_owned()));
}

/// As the log names it: what RCCL would run is nothing to a job of NCCL.
#[test]
fn coverage_is_of_the_library_that_the_log_names() {
    let folder = TempDir::new().unwrap();
    let log = LOG.replace("RCCL version : 2.28.3-Unknown", "NCCL version 2.27.5+cuda12.4").replace(
        "AllReduce: opCount 1 sendbuff 0x7 recvbuff 0x8 count 1024",
        "AllGather: opCount 1 sendbuff 0x7 recvbuff 0x8 count 32768",
    );
    let log = log.replace("AllReduce: 2048 Bytes", "AllGather: 524288 Bytes");
    let log = write(&folder, "job.log", log);
    let conf = write(&folder, "a.conf", "allgather,0,4194304,ring,ll,4,1,8,-1,-1\n");
    let covered = |more: &[&str]| {
        let typed = ["tuning", "coverage", &log, "--conf", &conf, "--reader", "example", "--json"];
        json(&[&typed[..], more].concat())["lines"][0]["would_run"].as_str().unwrap().to_owned()
    };
    assert_eq!(covered(&[]), covered(&["--library", "nccl"]));
    assert_ne!(covered(&[]), covered(&["--library", "rccl"]));
}

#[test]
fn calls_of_several_ranks_are_told_and_a_list_is_sent_to_reach() {
    let folder = TempDir::new().unwrap();
    let of_rank_1 = LOG
        .replace("n0:7:7 [0]", "n0:8:8 [1]")
        .replace("comm 0x5600 rank 0", "comm 0x5600 rank 1")
        .replace("localRank 0", "localRank 1");
    let logs = [write(&folder, "0.log", LOG), write(&folder, "1.log", of_rank_1)];
    let said = text(&collectune(&["tuning", "coverage", &logs[0], &logs[1]]).stderr);
    assert!(said.contains("of other ranks of the same communicators count as well: say how many ranks log"), "{said}");
    let told = text(&collectune(&["tuning", "coverage", &logs[0], &logs[1], "--logging-ranks", "2"]).stderr);
    assert!(!told.contains("of other ranks"), "{told}");
    let list =
        write(&folder, "calls.csv", "collective,num_nodes,num_gpus,size_bytes,calls\nall_reduce,1,8,458752,61\n");
    let said = text(&collectune(&["tuning", "coverage", &list]).stderr);
    assert!(said.contains("as a list of a job's calls it is read by collectune reach"), "{said}");
}
