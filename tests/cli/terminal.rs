//! What a terminal is safe from: too many files at once, a report that is lost while it is saved, commands in names and
//! cells, and names that are no text.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::Read,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::Path,
    process::{Command, Output},
    thread,
};

use crate::support::{
    rewards::explored,
    terminal::{collectune, ended, text, write},
};
use collectune::{collective::Collective, tuning::simulate::Simulation};
use serde_json::Value;
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_collectune");
const KERNELS: &str = include_str!("../../public/examples/simulated_kernels.csv");
const RING: &str = "3\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n1,2,500,50\n2,1,500,50\n2,0,500,50\n\
                    0,2,500,50\n";

pub fn sweep() -> String {
    let simulation = Simulation {
        collectives: vec![Collective::AllReduce],
        nodes: vec![1],
        sizes: (12..=20).map(|log2| 1 << log2).collect(),
        channels: vec![1, 4],
        ..Simulation::example()
    };
    simulation.to_csv()
}

/// Runs `collectune` after commands of a shell, such as those that set limits.
fn after(commands: &str, arguments: &[&str]) -> Output {
    let script = format!("{commands}; exec \"$0\" \"$@\"");
    Command::new("sh").args(["-c", &script, BINARY]).args(arguments).output().unwrap()
}

/// Runs `collectune` with arguments that need be no text.
fn with(arguments: &[&OsStr]) -> Output {
    Command::new(BINARY).args(arguments).output().unwrap()
}

fn names(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

/// Cuts a table into files of so many rows, each with the header.
fn cut(table: &str, rows: usize, folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let lines: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    for (number, rows) in lines[1..].chunks(rows).enumerate() {
        fs::write(folder.join(format!("part_{number:03}.csv")), format!("{}\n{}\n", lines[0], rows.join("\n")))
            .unwrap();
    }
}

#[test]
fn more_files_than_may_be_open_are_read() {
    const LIMIT: &str = "ulimit -n 64";
    let folder = TempDir::new().unwrap();
    let measured = folder.path().join("sweeps");
    cut(&sweep(), 1, &measured);
    let count = names(&measured).len();
    assert!(count > 100, "{count} files");
    let measured = measured.display().to_string();
    let said = ended(&after(LIMIT, &["tuning", "plan", &measured, "--json"]), 0);
    assert!(!serde_json::from_str::<Value>(&said).unwrap()["launches"].as_array().unwrap().is_empty());
    let trained = ended(&after(LIMIT, &["tuning", "train", &measured, "--trees", "10", "--json"]), 0);
    let trained: Value = serde_json::from_str(&trained).unwrap();
    assert_eq!(trained["rows"].as_u64().unwrap(), sweep().lines().count() as u64 - 1);
    // One by one as well as in a folder; both states of a comparison.
    let each: Vec<String> =
        names(Path::new(&measured)).iter().map(|name| format!("{measured}/{}", name.display())).collect();
    let each: Vec<&str> = each.iter().map(String::as_str).collect();
    ended(&after(LIMIT, &[&["tuning", "plan"], &each[..], &["--json"]].concat()), 0);
    ended(&after(LIMIT, &["tuning", "compare", &each.join(","), &measured, "--json"]), 0);
    let conf = write(&folder, "a.conf", "allreduce,0,131071,ring,simple,8,-1,-1\n");
    ended(&after(LIMIT, &["tuning", "lint", &conf, "--reader", "rccl", "--sweep", &measured, "--json"]), 0);
    let report = ended(&after(LIMIT, &["report", &measured, "--trees", "10"]), 0);
    assert!(report.contains("part_000.csv") && report.contains(&format!("part_{:03}.csv", count - 1)), "{report}");

    let kernels = folder.path().join("kernels");
    fs::create_dir(&kernels).unwrap();
    (0..70).for_each(|number| fs::write(kernels.join(format!("run_{number:02}.csv")), KERNELS).unwrap());
    let output = after(LIMIT, &["overlap", "models", &kernels.display().to_string(), "--json", "--run", "1"]);
    assert!(!text(&output.stderr).contains("Too many open files"), "{}", text(&output.stderr));
    ended(&output, 0);
    let rewards = folder.path().join("rewards");
    cut(&explored().1, 2, &rewards);
    let output = after(LIMIT, &["policy", "replay", &rewards.display().to_string(), "--seeds", "0", "--json"]);
    let logs: Value = serde_json::from_str(&ended(&output, 0)).unwrap();
    assert_eq!(logs["logs"].as_array().unwrap().len(), 100);
}

#[test]
fn a_file_that_can_not_be_opened_is_named() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", sweep());
    let circle = folder.path().join("circle.csv");
    symlink("circle.csv", &circle).unwrap();
    let output = collectune(&["tuning", "plan", &sweep, &circle.display().to_string()]);
    ended(&output, 1);
    assert!(text(&output.stderr).contains("circle.csv can't be opened"), "{}", text(&output.stderr));
    // What fails when it is its turn leaves the others, and the code says that something was left out.
    let socket = folder.path().join("socket.csv");
    let _listener = UnixListener::bind(&socket).unwrap();
    let output = collectune(&["tuning", "plan", &socket.display().to_string(), &sweep]);
    assert!(ended(&output, 1).contains("all_reduce"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("socket.csv can't be read"), "{}", text(&output.stderr));
}

#[test]
fn a_pipe_in_a_folder_that_nobody_writes_into_is_not_waited_for() {
    let folder = TempDir::new().unwrap();
    write(&folder, "sweep.csv", sweep());
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe.csv")).status().unwrap().success());
    ended(&collectune(&["tuning", "plan", &folder.path().display().to_string()]), 0);
}

/// Each command that saves a file, with the name of that file at its end.
fn that_save(folder: &TempDir) -> Vec<(Vec<String>, String)> {
    let sweep = write(folder, "sweep.csv", sweep());
    let kernels = write(folder, "kernels.csv", KERNELS);
    let ring = write(folder, "ring.csv", RING);
    let rewards = write(folder, "rewards.log", explored().1);
    let policy = explored().0.text();
    let schedule = write(folder, "schedule.json", policy);
    let runs = "nodes,size_bytes,def_runs,cfg_runs\n1,4096,1.5;1.51;1.52,2;2.01;2.02\n";
    let runs = write(folder, "allreduce_1n.per_size_stats.csv", runs);
    let conf = write(folder, "tuned.conf", "allreduce,4096,4096,ring,ll,8,1,8\n");
    let commands: [(&[&str], &str); 14] = [
        (&["tuning", "train", &sweep, "--trees", "5", "--save"], "model.json"),
        (&["tuning", "plan", &sweep, "--script"], "measure.sh"),
        (&["tuning", "export", &sweep, "--reader", "dn-tuner", "--trees", "5", "-o"], "out.conf"),
        (&["report", &sweep, "--trees", "5", "-o"], "report.html"),
        (&["report", &sweep, "--trees", "5", "-o"], "report.md"),
        (&["report", &sweep, "--trees", "5", "-o"], "report.json"),
        (&["tuning", "chart", &sweep, "--trees", "5", "-o"], "loss.svg"),
        (&["tuning", "compare", &sweep, &sweep, "-o"], "change.md"),
        (&["tuning", "ab", &runs, "--conf", &conf, "-o"], "trimmed.conf"),
        (&["overlap", "models", &kernels, "--predictions"], "predictions.csv"),
        (&["overlap", "models", &kernels, "--xgboost"], "trees.json"),
        (&["topology", "synthesize", &ring, "-o"], "schedule.csv"),
        (&["topology", "synthesize", &ring, "--save-topology"], "topology.csv"),
        (&["policy", "export", &rewards, "--schedule", &schedule, "--policy", "-o"], "policy.json"),
    ];
    let of = |(arguments, name): (&[&str], &str)| {
        (arguments.iter().map(|word| (*word).to_owned()).collect(), name.to_owned())
    };
    commands.map(of).into()
}

#[test]
fn a_full_disk_leaves_what_was_there() {
    let folder = TempDir::new().unwrap();
    for (arguments, name) in that_save(&folder) {
        let path = write(&folder, &name, "before");
        let before = names(folder.path());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain([&path[..]]).collect();
        // No byte may be written to a file, and the program is told so, as by a full disk.
        let output = after("ulimit -f 0; trap '' XFSZ", &arguments);
        let said = text(&output.stderr);
        ended(&output, 1);
        assert!(said.contains(&format!("can't be saved as {path}: File too large")), "{arguments:?}: {said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "before", "{arguments:?}");
        assert_eq!(names(folder.path()), before, "{arguments:?}");
        ended(&collectune(&arguments), 0);
        assert!(fs::read(&path).unwrap().len() > 20, "{arguments:?}");
        assert_eq!(names(folder.path()), before, "{arguments:?}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn nothing_is_saved_over_what_is_read() {
    let folder = TempDir::new().unwrap();
    for (arguments, name) in that_save(&folder) {
        // The last file that is named, which for a policy and a trimmed tuner file is what is read beside the logs.
        let input = arguments.iter().rev().find(|word| Path::new(word).is_file()).unwrap();
        let before = fs::read(input).unwrap();
        let linked = folder.path().join("linked").join(&name);
        fs::create_dir_all(linked.parent().unwrap()).unwrap();
        let symbolic = folder.path().join("symbolic").join(&name);
        fs::create_dir_all(symbolic.parent().unwrap()).unwrap();
        fs::hard_link(input, &linked).unwrap();
        symlink(input, &symbolic).unwrap();
        let dotted = folder.path().join(".").join("linked").join("..").join("linked").join(&name);
        for output in [&linked, &symbolic, &dotted] {
            let output = output.display().to_string();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain([&output[..]]).collect();
            let refused = collectune(&arguments);
            ended(&refused, 1);
            let said = text(&refused.stderr);
            assert!(
                said.contains(&format!("is not saved as {output}, which is one of the files")),
                "{arguments:?}: {said}"
            );
            assert_eq!(fs::read(input).unwrap(), before);
        }
        fs::remove_file(linked).unwrap();
        fs::remove_file(symbolic).unwrap();
    }
    // A file of a folder that is read.
    let measured = folder.path().join("measured");
    fs::create_dir(&measured).unwrap();
    fs::write(measured.join("sweep.csv"), sweep()).unwrap();
    let script = measured.join("sweep.csv").display().to_string();
    ended(&collectune(&["tuning", "plan", &measured.display().to_string(), "--script", &script]), 1);
    assert_eq!(fs::read_to_string(script).unwrap(), sweep());
}

#[test]
fn what_is_saved_over_keeps_its_rights_and_its_links() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", sweep());
    let script = write(&folder, "measure.sh", "before");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
    let link = folder.path().join("link.sh");
    symlink("measure.sh", &link).unwrap();
    ended(&collectune(&["tuning", "plan", &sweep, "--script", &link.display().to_string()]), 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&script).unwrap().starts_with("#!/"));
    assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o7777, 0o750);
    // A link to what is not there yet makes it.
    let dangling = folder.path().join("dangling.sh");
    symlink("new.sh", &dangling).unwrap();
    ended(&collectune(&["tuning", "plan", &sweep, "--script", &dangling.display().to_string()]), 0);
    assert!(fs::symlink_metadata(&dangling).unwrap().is_symlink() && folder.path().join("new.sh").is_file());
    // Others may read a new file as they may read any that is made.
    let fresh = folder.path().join("fresh.sh").display().to_string();
    ended(&after("umask 022", &["tuning", "plan", &sweep, "--script", &fresh]), 0);
    assert_eq!(fs::metadata(fresh).unwrap().permissions().mode() & 0o777, 0o644);
    let nowhere = folder.path().join("nowhere").join("a.sh").display().to_string();
    let output = collectune(&["tuning", "plan", &sweep, "--script", &nowhere]);
    ended(&output, 1);
    assert!(
        text(&output.stderr).contains(&format!("the script can't be saved as {nowhere}")),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn pipes_and_devices_are_written_into() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", sweep());
    let plan = ["tuning", "plan", &sweep, "--script"];
    let saved = folder.path().join("measure.sh").display().to_string();
    ended(&collectune(&[&plan[..], &[&saved]].concat()), 0);
    let script = fs::read_to_string(&saved).unwrap();
    let listing = ended(&collectune(&["tuning", "plan", &sweep]), 0);

    // What is said after the script stands behind it, through a pipe as well as in a file.
    let piped = ended(&collectune(&[&plan[..], &["/dev/stdout"]].concat()), 0);
    assert_eq!(piped, format!("{script}{listing}"));
    let redirected = folder.path().join("redirected");
    let to = format!("exec >{}", redirected.display());
    ended(&after(&to, &[&plan[..], &["/dev/stdout"]].concat()), 0);
    assert_eq!(fs::read_to_string(&redirected).unwrap(), piped);
    let third = folder.path().join("third");
    ended(&after(&format!("exec 3>{}", third.display()), &[&plan[..], &["/dev/fd/3"]].concat()), 0);
    assert_eq!(fs::read_to_string(&third).unwrap(), script);

    ended(&collectune(&[&plan[..], &["/dev/null"]].concat()), 0);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let full = collectune(&[&plan[..], &["/dev/full"]].concat());
    ended(&full, 1);
    assert!(text(&full.stderr).contains("the script can't be saved as /dev/full"), "{}", text(&full.stderr));
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || {
            let mut read = String::new();
            fs::File::open(pipe).unwrap().read_to_string(&mut read).unwrap();
            read
        }
    });
    ended(&collectune(&[&plan[..], &[&pipe.display().to_string()]].concat()), 0);
    assert_eq!(reader.join().unwrap(), script);
    assert!(!fs::metadata(&pipe).unwrap().is_file());
}

#[test]
fn names_need_be_no_text() {
    let folder = TempDir::new().unwrap();
    let file = |name: &[u8]| folder.path().join(OsStr::from_bytes(name));
    let (input, ring, conf) = (file(b"sweep\xFF.csv"), file(b"ring\xFF.csv"), file(b"tuned\xFE.conf"));
    fs::write(&input, sweep()).unwrap();
    fs::write(&ring, RING).unwrap();
    fs::write(&conf, "allreduce,0,131071,ring,simple,8,-1,-1\n").unwrap();
    let word = OsStr::new;
    let [input, ring, conf] = [&input, &ring, &conf].map(|path| path.as_os_str());
    let report = file(b"report\xFF.md");
    let schedule = file(b"schedule\xFF.csv");
    let written = file(b"out\xFF.conf");
    let model = file(b"model\xFF.json");
    for arguments in [
        &[word("report"), input, word("--trees"), word("5"), word("-o"), report.as_os_str()][..],
        &[word("topology"), word("synthesize"), ring, word("-o"), schedule.as_os_str()],
        &[word("topology"), word("verify"), schedule.as_os_str(), word("--graph"), ring],
        &[word("tuning"), word("export"), input, word("--reader"), word("dn-tuner"), word("-o"), written.as_os_str()],
        &[word("tuning"), word("lint"), conf, word("--reader"), word("rccl")],
        &[word("tuning"), word("train"), input, word("--trees"), word("5"), word("--save"), model.as_os_str()],
    ] {
        ended(&with(arguments), 0);
    }
    assert!(report.is_file() && schedule.is_file() && written.is_file() && model.is_file());
    let two = [input.as_bytes(), b",", input.as_bytes()].concat();
    ended(&with(&[word("tuning"), word("compare"), OsStr::from_bytes(&two), input]), 0);
    // Of several scales each has its own file, under the name as it is given.
    let scales = Simulation { collectives: vec![Collective::AllReduce], channels: vec![1, 4], ..Simulation::example() };
    let scales = write(&folder, "scales.csv", scales.to_csv());
    let all = ["tuning", "export", &scales, "--reader", "dn-tuner", "--by-scale", "--trees", "5", "-o"].map(word);
    let each = file(b"each\xFF.conf");
    ended(&with(&[&all[..], &[each.as_os_str()]].concat()), 0);
    let written = names(folder.path()).iter().filter(|name| name.as_bytes().starts_with(b"each\xFF_")).count();
    assert!(written > 1, "{written}");
    let wrong = with(&[word("report"), input, word("-o"), file(b"report\xFF.pdf").as_os_str()]);
    ended(&wrong, 2);
    assert!(text(&wrong.stderr).contains("ends in .html, .md or .json"), "{}", text(&wrong.stderr));
}

#[test]
fn an_error_names_the_file_that_it_is_about() {
    let folder = TempDir::new().unwrap();
    let sweep = write(&folder, "sweep.csv", sweep());
    let ring = write(&folder, "ring.csv", RING);
    let schedule = folder.path().join("schedule.csv").display().to_string();
    ended(&collectune(&["topology", "synthesize", &ring, "-o", &schedule]), 0);
    let log = write(&folder, "rewards.log", explored().1);
    let broken = write(&folder, "broken.json", "{\"format\":\"collectune-model\",\"version\":1,\"program\":7}");
    let newer = write(&folder, "newer.json", "{\"format\":\"collectune-model\",\"version\":99}");
    let torn = write(&folder, "torn.json", "{\"chunks\": [1");
    let far =
        write(&folder, "far.json", r#"{"chunks": [1], "preconditions": {"0": [1]}, "postconditions": {"9": [1]}}"#);
    let binary = write(&folder, "binary.bin", b"\xFF\xFEa\0\0\xD8b\0\0\0\0\0");
    let pieces = write(&folder, "pieces.csv", "4\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n");
    let catalogue = write(&folder, "catalogue.yml", "clusters: [\n");
    const TRAINING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/public/examples/simulated_training.zip");
    let workload = ["--collective", "all_reduce", "--nodes", "1", "--ranks", "8"];
    let missing = folder.path().join("missing").display().to_string();
    let mut commands: Vec<(Vec<&str>, &str)> = vec![
        (
            [&["tuning", "predict", "--model", &broken][..], &workload].concat(),
            "broken.json can't be used: line 1, column",
        ),
        (
            [&["tuning", "predict", "--model", &newer][..], &workload].concat(),
            "newer.json can't be used: the model file is of version 99",
        ),
        (vec!["topology", "synthesize", "ring:4", "--conditions", &torn], "torn.json can't be used"),
        (vec!["topology", "synthesize", &ring, "--conditions", &far], "ring.csv with "),
        (vec!["topology", "synthesize", &ring, "--conditions", &far], "far.json: "),
        (
            vec!["topology", "synthesize", &ring, "--root", "7", "--collective", "broadcast"],
            "ring.csv: there is no node 7",
        ),
        (vec!["topology", "synthesize", &pieces], "pieces.csv"),
        (vec!["topology", "synthesize", &broken], "broken.json can't be used"),
        (vec!["topology", "verify", &sweep], "sweep.csv can't be used"),
        (vec!["topology", "verify", &binary], "binary.bin is no text"),
        (vec!["policy", "export", &log, "--schedule", &broken], "broken.json "),
        (vec!["training-time", "step", TRAINING, "--run", &catalogue], "catalogue.yml"),
        (vec!["training-time", "step", TRAINING, "--calibrate", &sweep], "sweep.csv"),
        (vec!["report", &broken], "broken.json can't be used"),
        (vec!["tuning", "compare", &broken, &sweep], "broken.json can't be used"),
        (vec!["tuning", "train", &catalogue], "catalogue.yml"),
    ];
    for option in ["--conf", "--sweep"] {
        let reader: &[&str] = if option == "--conf" { &["--reader", "rccl"] } else { &[] };
        commands.push(([&["tuning", "coverage", &log, option, &missing], reader].concat(), "missing can't be opened"));
    }
    for arguments in [
        &["tuning", "ab", &sweep, "--conf", &missing][..],
        &["tuning", "compare", &sweep, &sweep, "--conf", &missing],
        &["tuning", "lint", &missing],
        &["topology", "verify", &schedule, "--graph", &missing],
        &["topology", "synthesize", "ring:4", "--conditions", &missing],
        &["policy", "replay", &log, "--schedule", &missing],
        &["training-time", "step", TRAINING, "--run", &missing],
        &["training-time", "step", TRAINING, "--calibrate", &missing],
        &["policy", "doctor", &missing],
        &[&["tuning", "predict", "--model", &missing][..], &workload].concat(),
    ] {
        commands.push((arguments.to_vec(), "missing can't be opened"));
    }
    for (arguments, why) in commands {
        let output = collectune(&arguments);
        ended(&output, 1);
        assert!(text(&output.stderr).contains(why), "{arguments:?}: {}", text(&output.stderr));
    }
    // However long its path is.
    let deep = folder.path().join("a_folder_with_a_long_name".repeat(5));
    fs::create_dir(&deep).unwrap();
    let deep = deep.join("broken.json");
    fs::copy(&broken, &deep).unwrap();
    let output = collectune(&["tuning", "train", &deep.display().to_string()]);
    assert!(text(&output.stderr).contains("/broken.json can't be used"), "{}", text(&output.stderr));
}

#[test]
fn no_control_character_reaches_the_terminal() {
    const HOSTILE: &str = "evil\u{1b}]0;owned\u{7}\u{1b}[31m\u{9b}2J\r\u{8}\nfirst\u{202e}gpj.csv";
    let folder = TempDir::new().unwrap();
    // In a name, in a cell, in a header, and in what can't be used.
    let header = "collective,num_nodes,num_gpus,size_bytes,busbw_ip,algo,proto,nchannels,nccl_version\n";
    let row = |size: u64, algorithm: &str| {
        format!("all_reduce,1,8,{size},{},{algorithm},LL,2,\"2.2\u{1b}[5m\u{9b}\u{202e}\"\n", size / 1000)
    };
    let rows: String = (12..20).map(|log2| row(1 << log2, "RING")).collect();
    let hostile = write(&folder, HOSTILE, format!("{header}{rows}{}", row(4096, "\u{1b}[7mWHEEL\u{9b}\u{7}")));
    let kernels = write(&folder, &format!("kernels{HOSTILE}"), KERNELS.replace("_gemm_", "_\u{1b}[31m\u{9d}_"));
    let log = write(&folder, &format!("rewards{HOSTILE}"), explored().1);
    let ring = write(&folder, &format!("ring{HOSTILE}"), RING.replace("50\n0,2", "50\n0,\u{1b}[2m"));
    let binary = write(&folder, &format!("binary{HOSTILE}"), b"\x7FELF\0\0\0\0");
    let conf = write(&folder, &format!("conf{HOSTILE}"), "allreduce,0,1,\u{1b}[1mTREE\u{9b},ll,4,2,16\n");
    for arguments in [
        &["tuning", "train", &hostile, "--trees", "5"][..],
        &["tuning", "train", &hostile, "--trees", "5", "--json"],
        &["tuning", "predict", &hostile, "--trees", "5", "--collective", "all_reduce", "--nodes", "1", "--ranks", "8"],
        &["tuning", "plan", &hostile],
        &["tuning", "compare", &hostile, &hostile],
        &["tuning", "compare", &hostile, &hostile, "--json"],
        &["tuning", "coverage", &hostile],
        &["report", &hostile, "--trees", "5"],
        &["overlap", "models", &kernels],
        &["overlap", "models", &kernels, "--json"],
        &["policy", "replay", &log, "--seeds", "0"],
        &["policy", "replay", &log, "--seeds", "0", "--json"],
        &["topology", "synthesize", &ring],
        &["topology", "verify", &ring],
        &["tuning", "train", &binary],
        &["tuning", "train", &format!("{hostile}/absent")],
        &["tuning", "lint", &conf],
        &["tuning", "lint", &conf, "--json"],
        &["training-time", "step", &hostile],
        &["tuning", "train", &hostile, &format!("--{HOSTILE}")],
        &[HOSTILE],
    ] {
        let output = collectune(arguments);
        for (stream, said) in [("stdout", text(&output.stdout)), ("stderr", text(&output.stderr))] {
            let left = said.chars().find(|c| collectune::text::is_control(*c) && !matches!(c, '\n' | '\t'));
            assert_eq!(left, None, "{arguments:?}: {stream}: {said:?}");
            let begins = |line: &str| line.starts_with("first");
            assert!(!said.lines().any(begins), "{arguments:?}: {stream}: a name makes a line: {said}");
        }
    }
    let said = text(&collectune(&["tuning", "train", &binary]).stderr);
    assert!(said.contains("evil\\u{1b}]0;owned\\u{7}") && said.contains("\\nfirst\\u{202e}gpj.csv"), "{said}");
    // Programs get the name as it is.
    let trained: Value =
        serde_json::from_slice(&collectune(&["tuning", "train", &hostile, "--trees", "5", "--json"]).stdout).unwrap();
    assert_eq!(trained["files"][0]["name"].as_str(), Some(&hostile[..]));
}
