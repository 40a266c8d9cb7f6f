//! What `collectune policy export` and `collectune policy watch` say and write, of what a job's ranks agreed on.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;

use crate::support::{
    rewards::explored,
    terminal::{collectune, ended, text, write},
};
use collectune::{
    collective::Scale,
    policy::{
        file::{Choice, Entry, Policy},
        record::{Active, First, Follow, Next},
    },
    tuning::simulate::Simulation,
};
use tempfile::TempDir;

fn first(follow: Follow, policy: &Policy) -> String {
    let scale = Scale { nodes: 2, ranks: 8 };
    First::Active(Active { follow, scale, overlap: false, epoch: 64, built_in: None, text: policy.text() }).text()
}

fn generation(text: &str) -> u64 {
    Policy::read(text.as_bytes()).unwrap().policy.generation
}

#[test]
fn what_ranks_agreed_on_attributes_their_log_and_the_next_policy_counts_on() {
    let folder = TempDir::new().unwrap();
    let (policy, rewards) = explored();
    let log = write(&folder, "rewards.log", rewards);
    let record = write(&folder, "epoch-000000", first(Follow::Policy, &policy));
    let keeps = write(&folder, "epoch-000001", Next::Keep.text());
    let export = ["policy", "export", &log, "--schedule", &record, &keeps];
    let written = Policy::read(ended(&collectune(&export), 0).as_bytes()).unwrap().policy;
    let arms: Vec<String> = written.arms.iter().map(ToString::to_string).collect();
    assert!(matches!(written.keys[0].choice, Choice::Fixed(arm) if arms[arm as usize] == "tree/ll128"), "{written:?}");
    assert_eq!(written.generation, 4, "one above the record's");
    // What is replaced counts as well.
    let newer = write(&folder, "next.json", Policy { generation: 9, ..policy }.text());
    let output = [&export[..], &["--policy", "-o", &newer]].concat();
    ended(&collectune(&output), 0);
    assert_eq!(generation(&fs::read_to_string(&newer).unwrap()), 10);
    ended(&collectune(&[&output[..], &["--generation", "2"]].concat()), 0);
    assert_eq!(generation(&fs::read_to_string(&newer).unwrap()), 2);
}

#[test]
fn a_record_that_can_not_be_read_is_named() {
    let folder = TempDir::new().unwrap();
    let (policy, rewards) = explored();
    let log = write(&folder, "rewards.log", rewards);
    let whole = write(&folder, "epoch-000000", first(Follow::Online, &policy));
    let next = Next::Policy(policy.text()).text();
    let torn = write(&folder, "epoch-000001", &next[..next.len() / 2]);
    let ranks = folder.path().display().to_string();
    for arguments in
        [&["policy", "export", &log, "--schedule", &whole, &torn][..], &["policy", "watch", &log, &ranks, "--once"]]
    {
        let output = collectune(arguments);
        let told = text(&output.stderr);
        assert!(!output.status.success() && told.contains(&format!("{torn} does not end with a line")), "{told}");
    }
    assert!(!folder.path().join("next.policy").exists());
}

#[test]
fn ranks_are_offered_a_policy_only_where_they_take_one_up() {
    let folder = TempDir::new().unwrap();
    let (policy, rewards) = explored();
    let log = write(&folder, "rewards.log", rewards);
    let ranks = folder.path().display().to_string();
    let watch = ["policy", "watch", &log, &ranks, "--once"];
    let offered = folder.path().join("next.policy");
    for fixed in [first(Follow::Policy, &policy), First::Passive.text()] {
        write(&folder, "epoch-000000", fixed);
        let told = refused(&watch);
        assert!(told.contains("its ranks take up no new policies") && told.contains("no policy was written"), "{told}");
        assert!(!offered.exists());
    }
    write(&folder, "epoch-000000", first(Follow::Online, &policy));
    ended(&collectune(&watch), 0);
    let written = fs::read_to_string(offered).unwrap();
    assert_eq!(generation(&written), 4);
    let evidence = Policy::read(written.as_bytes()).unwrap().policy.evidence;
    assert!(evidence[0].n.iter().all(|n| *n > 0), "it says that rewards come in: {evidence:?}");
    assert!(refused(&watch).contains("generation 4 is there and no rank has begun an epoch since"));
}

fn refused(arguments: &[&str]) -> String {
    let output = collectune(arguments);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    text(&output.stderr)
}

/// `--once` that did nothing ends with 1, and says what is missing.
#[test]
fn a_watch_says_what_it_waits_for() {
    let folder = TempDir::new().unwrap();
    let (policy, rewards) = explored();
    let ranks = folder.path().display().to_string();
    let absent = folder.path().join("absent").display().to_string();
    let log = folder.path().join("rewards.log").display().to_string();
    let once = |log: &str, folder: &str| refused(&["policy", "watch", log, folder, "--once"]);
    assert!(once(&log, &absent).contains("is not there; waiting for a job with COLLECTUNE_TUNER_DIR="));
    assert!(once(&log, &ranks).contains("holds no communicator's epoch-000000"));
    write(&folder, "epoch-000000", first(Follow::Online, &policy));
    assert!(once(&log, &ranks).contains("rewards.log is not there yet"));
    write(&folder, "rewards.log", "");
    assert!(once(&log, &ranks).contains("the log has no lines yet"));
    write(&folder, "rewards.log", "allreduce,4194304,2,8,12.34\n".repeat(9));
    assert!(once(&log, &ranks).contains("no line of the log says which arm ran: it needs the column arm"));
    write(&folder, "rewards.log", "allreduce,4194304,2,8,12.34\n".repeat(9) + "allreduce,x,2,8,1\nallreduce,y,2,8,1\n");
    let said = once(&log, &ranks);
    assert!(
        said.contains("; 2 lines of ") && said.contains(" can't be read, the first: line 10, column nBytes"),
        "{said}"
    );
    let others = rewards.replace("allreduce", "broadcast");
    assert_ne!(others, rewards);
    write(&folder, "rewards.log", others);
    assert!(once(&log, &ranks).contains("no line of the log is about a key that explores"));
    let decided = Policy { keys: vec![Entry { choice: Choice::Fixed(1), ..policy.keys[0].clone() }], ..policy };
    write(&folder, "epoch-000000", first(Follow::Online, &decided));
    write(&folder, "rewards.log", &rewards);
    assert!(once(&log, &ranks).contains("the policy that runs explores no key"));
    assert!(!folder.path().join("next.policy").exists());
}

/// A first line that is none costs itself; a file of another kind is refused in this command's words, with its options.
#[test]
fn a_bad_line_on_top_costs_itself_and_other_files_are_named() {
    let folder = TempDir::new().unwrap();
    let lines = "allreduce,4194304,1,8,12.34\nallreduce,4194304,1,8,12.5\n".repeat(10);
    for (name, log) in [
        ("a.log", format!("iteration 3 took 12 ms\n{lines}")),
        ("b.log", format!("warming up\ndone\ncollective,size_bytes,num_nodes,num_gpus,latency_us\n{lines}")),
    ] {
        let log = write(&folder, name, log);
        let output = collectune(&["policy", "replay", &log, "--json", "--seeds", "0"]);
        let told = text(&output.stderr);
        assert!(output.status.success() && text(&output.stdout).contains("\"size_bytes\": 4194304"), "{told}");
        assert!(told.contains("line 1, whole line") && told.contains("is neither a header nor a line like"), "{told}");
    }
    let table = write(&folder, "table.csv", "a,b,c\n1,2,3\n4,5,6\n");
    let sweep = write(&folder, "sweep.csv", Simulation::example().to_csv());
    for command in [&["policy", "replay"][..], &["overlap", "models"], &["training-time", "step"]] {
        let output = collectune(&[command, &[&table, &sweep]].concat());
        let told = text(&output.stderr);
        assert!(!output.status.success(), "{told}");
        assert!(told.contains("has the columns a, b, c; this command reads"), "{told}");
        assert!(told.contains("sweep.csv is not used: it holds "), "{told}");
        for absent in ["--configuration", "--set", "drop "] {
            assert!(!told.contains(absent), "{absent}: {told}");
        }
    }
}
