//! What `collectune tuning lint`, `export` and `collectune tuning coverage` say and write, and how they end.

#![allow(clippy::unwrap_used)]

use crate::support::terminal::{collectune, ended, text, write};
use collectune::{
    collective::Collective,
    tuning::{
        conf::{Reader, read},
        simulate::Simulation,
    },
};
use serde_json::Value;
use tempfile::TempDir;

fn simulated(folder: &TempDir) -> String {
    let simulation = Simulation {
        collectives: vec![Collective::AllReduce],
        nodes: vec![1],
        sizes: (12..=20).map(|log2| 1 << log2).collect(),
        channels: vec![1, 4, 16],
        ..Simulation::example()
    };
    write(folder, "sweep.csv", simulation.to_csv())
}

#[test]
fn lint_ends_with_3_where_something_else_runs() {
    let folder = TempDir::new().unwrap();
    let conf = write(&folder, "a.conf", "# ours\nallreduce,0,4095,TREE,ll,4,2,16\n");
    let output = collectune(&["tuning", "lint", &conf, "--reader", "dn-tuner", "--json"]);
    let findings: Value = serde_json::from_str(&ended(&output, 3)).unwrap();
    let first = &findings[0];
    assert_eq!(
        (first["line"].as_u64(), first["code"].as_str(), first["severity"].as_str(), first["reader"].as_str()),
        (Some(2), Some("upper-case"), Some("changes"), Some("dn-tuner"))
    );
    assert_eq!(first["message"].as_str(), Some("\"TREE\" is known in lower case only: it is read as ring"));

    // No communicator has more nodes than ranks.
    let swapped = write(&folder, "swapped.conf", "allreduce,0,4095,ring,ll,4,16,2,-1,-1\n");
    let said = ended(&collectune(&["tuning", "lint", &swapped, "--reader", "rccl"]), 0);
    assert!(said.contains("no communicator has 16 nodes and 2 ranks in all: the rule never matches"), "{said}");

    // The third reader skips the line: it has no effect, and nothing else runs.
    ended(&collectune(&["tuning", "lint", &conf, "--reader", "rccl"]), 0);
    let all: Value = serde_json::from_str(&ended(&collectune(&["tuning", "lint", &conf, "--json"]), 3)).unwrap();
    let readers: Vec<&str> = all.as_array().unwrap().iter().filter_map(|f| f["reader"].as_str()).collect();
    // Our own plugin reads any case.
    let others = Reader::OF_CONF.iter().filter(|reader| **reader != Reader::Collectune);
    assert!(others.clone().all(|reader| readers.contains(&reader.key())), "{readers:?}");
    let nccl = |conf: &str, more: &[&str]| collectune(&[&["tuning", "lint", conf, "--library", "nccl"], more].concat());
    assert_eq!(ended(&nccl(&conf, &["--reader", "collectune", "--json"]), 0), "[]\n");

    let clean = write(&folder, "b.conf", "# ours\nallreduce,0,4095,tree,ll,4,2,16\n");
    let said = ended(&nccl(&clean, &["--reader", "dn-tuner"]), 0);
    assert_eq!(said, "DN-TUNER: 0 change what runs, 0 dead, 0 notes\n");
    // RCCL may have a table of its own, which the file takes away.
    let rccl = |more: &[&str]| collectune(&[&["tuning", "lint", &clean, "--reader", "dn-tuner"], more].concat());
    assert!(ended(&rccl(&[]), 0).contains("note displaced-table: "));
    let known = ["--gpu", "gfx950", "--library-version", "2.30.4"];
    assert!(ended(&rccl(&known), 3).contains("changes displaced-table: "));
    assert!(!ended(&rccl(&["--gpu", "gfx942"]), 0).contains("displaced-table"));
    let said = ended(&rccl(&["--against", "rccl-2.30.4-gfx950"]), 3);
    assert!(
        said.contains("changes displaced-table") && said.contains("Beside the table of RCCL 2.30.4 gfx950"),
        "{said}"
    );
    let range = said.lines().find(|line| line.contains("524287")).unwrap();
    assert!(
        range.contains("16384") && range.matches("RING/LL, channels of the library's choice").count() == 2,
        "{range}"
    );
    let wrong = collectune(&["tuning", "lint", &clean, "--reader", "dn-tuner", "--against", "rccl-2.30.4-gfx942"]);
    assert!(ended(&wrong, 2).is_empty() && text(&wrong.stderr).contains("has no table for gfx942"));
    let missing = collectune(&["tuning", "lint", "nowhere.conf"]);
    assert!(ended(&missing, 1).is_empty() && text(&missing.stderr).contains("nowhere.conf can't be opened"));
}

#[test]
fn a_file_of_ncclx_is_checked_as_ncclx_reads_it() {
    let folder = TempDir::new().unwrap();
    let clean = write(&folder, "a.csv", "allreduce,[0,1048576],ring,ll128,-1,*,8\n");
    assert_eq!(ended(&collectune(&["tuning", "lint", &clean]), 0), "NCCLX: 0 change what runs, 0 dead, 0 notes\n");
    let wrong =
        "{\"rules\": [{\n\"filter\": {\"collective\": \"allreduce\"},\n\"config\": {\"algorithm\": \"best\"}}]}";
    let json = write(&folder, "b.json", wrong);
    let said = ended(&collectune(&["tuning", "lint", &json]), 3);
    assert!(said.contains("b.json:3: changes unknown-algorithm: algorithm: \"best\" is not ring, tree"), "{said}");
    // The grammar of the others is none of its own, nor its own one of theirs.
    let conf = write(&folder, "c.conf", "allreduce,0,4095,tree,ll,4,2,16\n");
    let said = ended(&collectune(&["tuning", "lint", &conf, "--reader", "ncclx"]), 3);
    assert!(said.contains("algorithm: \"4095\" is not ring"), "{said}");
    let said = ended(&collectune(&["tuning", "lint", &clean, "--reader", "rccl"]), 3);
    assert!(said.contains("bad-number: minbytes \"[0\" is no number"), "{said}");
}

#[test]
fn variables_of_a_job_are_checked() {
    let folder = TempDir::new().unwrap();
    let list = write(&folder, "job.env", "NCCL_DEBUG=INFO\nexport NCCL_MIN_NCHANNELS=32 NCCL_MAX_NCHANNELS=16\n");
    let lint = |more: &[&str]| collectune(&[&["tuning", "lint", "--environment", &list], more].concat());
    let said = ended(&lint(&["--library", "nccl"]), 3);
    assert!(
        said.starts_with("1 finding\n") && said.contains("job.env:2: changes ") && said.contains(": 32 channels"),
        "{said}"
    );
    let found: Value = serde_json::from_str(&ended(&lint(&["--library", "nccl", "--json"]), 3)).unwrap();
    assert_eq!((found[0]["name"].as_str(), found[0]["effective"].as_str()), (Some("NCCL_MAX_NCHANNELS"), Some("32")));
    let log = write(&folder, "job.log", "h:1:2 [0] NCCL INFO NCCL_NTHREADS set by environment to 256.\n");
    assert_eq!(ended(&collectune(&["tuning", "lint", "--environment", &log]), 0), "0 findings\n");
}

#[test]
fn what_is_exported_lints_clean_and_is_read_back() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    for reader in Reader::ALL {
        let conf = folder.path().join(format!("{}.conf", reader.key())).display().to_string();
        let output = collectune(&["tuning", "export", &sweep, "--reader", reader.key(), "-o", &conf]);
        if *reader == Reader::Example && output.status.code() == Some(1) {
            assert!(text(&output.stderr).contains("this reader can't keep the default"), "{}", text(&output.stderr));
            continue;
        }
        let said = ended(&output, 0);
        assert!(said.contains("What this reader will run") && said.contains("_TUNER_CONFIG_FILE="), "{said}");
        let bytes = std::fs::read(&conf).unwrap();
        assert!(text(&bytes).starts_with("# collectune "), "{}", text(&bytes));
        assert!(!text(&bytes).contains(&folder.path().display().to_string()));
        assert!(!read(&bytes, *reader).is_empty());
        let lint = collectune(&["tuning", "lint", &conf, "--reader", reader.key(), "--sweep", &sweep, "--json"]);
        let findings: Value = serde_json::from_slice(&lint.stdout).unwrap();
        let changes = findings.as_array().unwrap().iter().filter(|f| f["severity"] == "changes");
        // With NVIDIA's example the collectives that were not measured run on one channel.
        let changes: Vec<_> = changes.filter(|f| f["code"] != "gap").collect();
        assert!(changes.is_empty(), "{changes:?}");
    }
    // Without -o the text goes to the standard output.
    let said = ended(&collectune(&["tuning", "export", &sweep, "--reader", "dn-tuner"]), 0);
    assert!(said.starts_with("# collectune ") && said.lines().all(|line| line.len() <= 254));
}

#[test]
fn coverage_of_typed_calls() {
    let folder = TempDir::new().unwrap();
    let sweep = simulated(&folder);
    let conf = write(&folder, "a.conf", "allreduce,0,131071,ring,simple,8,-1,-1\n");
    let arguments = [
        "tuning",
        "coverage",
        "--batches",
        "1,8,45",
        "--hidden",
        "8192",
        "--type",
        "bf16",
        "--calls",
        "160",
        "--nodes",
        "1",
        "--ranks",
        "8",
        "--conf",
        &conf,
        "--reader",
        "rccl",
        "--sweep",
        &sweep,
        "--json",
    ];
    let report: Value = serde_json::from_str(&ended(&collectune(&arguments), 0)).unwrap();
    assert_eq!(report["total"]["calls"].as_f64(), Some(480.0));
    let lines = report["lines"].as_array().unwrap();
    let hits = |size: u64| lines.iter().find(|line| line["size_bytes"] == size).unwrap()["hits"].as_str();
    assert_eq!([16_384, 131_072, 737_280].map(hits), [Some("rule"), Some("gap"), Some("gap")]);
    assert!(report["measure_next"].as_array().unwrap().iter().any(|next| next["size_bytes"] == 737_280));

    let nothing = collectune(&["tuning", "coverage"]);
    assert!(ended(&nothing, 1).is_empty() && text(&nothing.stderr).contains("give logs of the job"));
    ended(&collectune(&["tuning", "coverage", "--batches", "1", "--conf", &conf]), 2);
}
