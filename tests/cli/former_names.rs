//! Commands under the names that they once had: they do what they do under their names of today, and no help names
//! them.

#![allow(clippy::unwrap_used)]

use crate::support::terminal::{collectune, ended, text, write};
use tempfile::TempDir;

const KERNELS: &str = include_str!("../../public/examples/simulated_kernels.csv");
const TRAINING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/public/examples/simulated_training.zip");
const RING: &str = "3\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n1,2,500,50\n2,1,500,50\n2,0,500,50\n\
                    0,2,500,50\n";

/// Commands as they once were, and the words that their first words became. `{}` is the folder of their files.
const FORMER: [(&str, &str, &str); 30] = [
    ("train", "tuning train", "{}/sweep.csv --trees 5"),
    ("train", "tuning train", "{}/sweep.csv --trees 5 --json"),
    ("train", "tuning train", "{}/sweep.csv --preset wheel"),
    ("predict", "tuning predict", "{}/sweep.csv --trees 5 --collective all_reduce --nodes 1 --ranks 8"),
    ("predict", "tuning predict", "{}/sweep.csv --trees 5 --collective broadcast --nodes 1 --ranks 8 --json"),
    ("conf export", "tuning export", "{}/sweep.csv --trees 5 --reader dn-tuner"),
    ("conf lint", "tuning lint", "{}/tuned.conf --reader rccl --json"),
    ("conf lint", "tuning lint", "{}/tuned.conf --sweep {}/sweep.csv"),
    ("coverage", "tuning coverage", "--batches 1,8 --hidden 4096 --nodes 1 --ranks 8 --sweep {}/sweep.csv"),
    ("coverage", "tuning coverage", ""),
    ("plan", "tuning plan", "{}/sweep.csv --runs 12 --launcher srun"),
    ("plan", "tuning plan", "{}/sweep.csv --json"),
    ("ab", "tuning ab", "{}/allreduce_1n.per_size_stats.csv --conf {}/tuned.conf --json"),
    ("ab", "tuning ab", "{}/sweep.csv"),
    ("ab plan", "tuning ab-plan", "--collective all_reduce --nodes 2 --ranks 16 --plugin /a.so --conf a.conf"),
    ("ab plan", "tuning ab-plan", "--collective all_reduce"),
    ("compare", "tuning compare", "{}/sweep.csv {}/sweep.csv --markdown"),
    ("compare", "tuning compare", "{}/sweep.csv {}/nothing.csv"),
    ("chart", "tuning chart", "{}/sweep.csv --trees 5 --against default --dark"),
    ("overlap", "overlap models", "{}/kernels.csv --columns nothing"),
    ("overlap", "overlap models", "--json {}/sweep.csv"),
    ("step", "training-time step", TRAINING),
    ("step", "training-time step", "{}/sweep.csv --json"),
    ("layouts", "training-time layouts", "{}/sweep.csv --gpus 8 --batch 8"),
    ("layouts", "training-time layouts", "--gpus 0"),
    ("synthesize", "topology synthesize", "{}/ring.csv --collective all_gather --save-topology {}/saved.csv"),
    ("synthesize", "topology synthesize", "mesh:0x3"),
    ("verify", "topology verify", "{}/ring.csv"),
    ("verify", "topology verify", "{}/schedule.csv --graph {}/ring.csv --json"),
    ("verify", "topology verify", "{}/schedule.csv --latency 5"),
];

/// All that a command tells: its code, its output, and what it says beside; how long it took aside.
fn told(words: &str, arguments: &str, folder: &str) -> String {
    let arguments = arguments.replace("{}", folder);
    let typed: Vec<&str> = words.split(' ').chain(arguments.split_whitespace()).collect();
    let output = collectune(&typed);
    let told = format!("{:?}\n{}\n{}", output.status.code(), text(&output.stdout), text(&output.stderr));
    let untimed = |line: &str| line.split(" in ").next().unwrap().to_owned();
    told.lines().map(|line| if line.ends_with(" ms.") { untimed(line) } else { line.to_owned() + "\n" }).collect()
}

#[test]
fn former_names_do_what_todays_names_do() {
    let folder = TempDir::new().unwrap();
    write(&folder, "sweep.csv", crate::terminal::sweep());
    write(&folder, "tuned.conf", "allreduce,4096,4096,ring,ll,8,1,8\n");
    let runs = "nodes,size_bytes,def_runs,cfg_runs\n1,4096,1.5;1.51;1.52,2;2.01;2.02\n";
    write(&folder, "allreduce_1n.per_size_stats.csv", runs);
    write(&folder, "kernels.csv", KERNELS);
    let ring = write(&folder, "ring.csv", RING);
    let schedule = folder.path().join("schedule.csv").display().to_string();
    ended(&collectune(&["topology", "synthesize", &ring, "-o", &schedule]), 0);
    let path = folder.path().display().to_string();
    for (then, now, arguments) in FORMER {
        let (was, is) = (told(then, arguments, &path), told(now, arguments, &path));
        assert_eq!(was, is, "{then} {arguments}");
        assert!(is.starts_with("Some(0)") || is.len() > 20, "{now} {arguments}: {is}");
        assert!(!is.contains("unrecognized subcommand"), "{now} {arguments}: {is}");
        // `overlap` alone names the workbench.
        if then != "overlap" {
            assert_eq!(told(then, "--help", ""), told(now, "--help", ""), "{then}");
            assert_eq!(told(&format!("help {then}"), "", ""), told(&format!("help {now}"), "", ""), "{then}");
        }
    }
    // What is a workbench now, and was a command.
    assert_eq!(told("conf", "", ""), told("tuning", "", ""));
}

#[test]
fn only_todays_names_are_told() {
    let help = |words: &[&str]| ended(&collectune(&[words, &["--help"]].concat()), 0);
    let commands = |help: &str| {
        let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap().to_owned();
        list.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect::<Vec<_>>()
    };
    let all = [
        "tuning",
        "policy",
        "training-time",
        "topology",
        "overlap",
        "tune",
        "reach",
        "report",
        "measure",
        "completions",
        "help",
    ];
    assert_eq!(commands(&help(&[])), all);
    assert!(help(&[]).lines().count() <= 40, "it fits a screen");
    // Each command of a workbench shows how it is called.
    for workbench in &all[..5] {
        for command in commands(&help(&[workbench])).iter().filter(|command| *command != "help") {
            let example = format!("  collectune {workbench} {command} ");
            assert!(help(&[workbench, command]).contains(&example), "{workbench} {command}");
        }
    }
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let completions = ended(&collectune(&["completions", shell]), 0);
        assert!(completions.contains("training-time") && completions.contains("ab-plan"), "{shell}");
        assert!(!completions.contains("conf lint") && !completions.contains("collectune,train)"), "{shell}");
    }
}
