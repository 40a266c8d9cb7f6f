//! What `collectune policy export` and `collectune policy watch` say and write, of what a job's ranks agreed on.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;

use collectune::{
    collective::Scale,
    policy::{
        file::{Choice, Policy},
        record::{Active, First, Follow, Next},
    },
};
use support::{
    rewards::explored,
    terminal::{collectune, ended, text, write},
};
use tempfile::TempDir;

fn first(follow: Follow, policy: &Policy) -> String {
    let scale = Scale { nodes: 2, ranks: 8 };
    First::Active(Active { follow, scale, overlap: false, epoch: 64, text: policy.text() }).text()
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
        ended(&collectune(&watch), 0);
        assert!(!offered.exists());
    }
    write(&folder, "epoch-000000", first(Follow::Online, &policy));
    ended(&collectune(&watch), 0);
    assert_eq!(generation(&fs::read_to_string(offered).unwrap()), 4);
}
