//! What `collectune topology synthesize`, `collectune topology verify` and `collectune report` say and write of links
//! and schedules, and how they end.

#![allow(clippy::unwrap_used)]

use crate::support::{
    archives::gzipped,
    real,
    terminal::{collectune, ended, json, text, write},
};
use collectune::report::{self, Workbench};
use serde_json::Value;
use tempfile::TempDir;

/// Five nodes in a ring with one slow pair: 80,125 ns is optimal for an all_gather of 1 MiB.
const RING: &str = "5\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n1,2,500,50\n2,1,500,50\n2,3,500,1\n\
                    3,2,500,1\n3,4,500,50\n4,3,500,50\n4,0,500,50\n0,4,500,50\n";
const HEADER: &str = "Src,Dest,Latency (ns),Bandwidth (GB/s)\n";

#[track_caller]
fn refused(arguments: &[&str], code: i32, why: &str) {
    let output = collectune(arguments);
    ended(&output, code);
    assert!(text(&output.stderr).contains(why), "{arguments:?}: {}", text(&output.stderr));
}

fn read(folder: &TempDir, name: &str) -> String {
    std::fs::read_to_string(folder.path().join(name)).unwrap()
}

#[test]
fn a_schedule_is_told_with_its_bound_and_its_proof() {
    let folder = TempDir::new().unwrap();
    let ring = write(&folder, "ring.csv", RING);
    let found = json(&["topology", "synthesize", &ring, "--json"]);
    assert_eq!((found["time_ns"].as_f64(), found["bound_ns"].as_f64()), (Some(80_125.0), Some(80_125.0)));
    assert_eq!((found["verified"].as_bool(), found["proven_optimal"].as_bool()), (Some(true), Some(true)));
    assert!(found["synthesis_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{found}");
    assert!((found["fluid_bound_ns"].as_f64().unwrap() - 76_593.137).abs() < 0.001, "{found}");
    assert_eq!((found["transfers"].as_u64(), found["faults"].as_array().map(Vec::len)), (Some(20), Some(0)));
    let packed = write(&folder, "ring.csv.gz", gzipped(RING.as_bytes()));
    assert_eq!(json(&["topology", "synthesize", &packed, "--json"])["time_ns"], found["time_ns"]);
    let said = ended(&collectune(&["topology", "synthesize", &ring]), 0);
    for words in ["80.125 µs: proven optimal", "20 transfers, checked", "Found by earliest", "must come to", "L2"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// The bounds of an all_reduce are those of its halves, and of both together.
#[test]
fn the_bounds_of_halves_are_told_as_such_with_their_sum() {
    let command = ["topology", "synthesize", "ring:4", "--collective", "all_reduce"];
    let found = json(&[&command[..], &["--json"]].concat());
    let of = |key: &str| found[key].as_f64().unwrap();
    assert_eq!((of("time_ns"), of("bound_ns"), of("fluid_bound_ns")), (80_125.0, 80_125.0, 58_593.75));
    let flag = |key: &str| found[key].as_bool();
    assert_eq!(["proven_optimal", "bounds_in_parts"].map(flag), [Some(false), Some(true)]);
    let said = ended(&collectune(&command), 0);
    let row = |start: &str| {
        let row = said.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {said}"));
        row.to_owned()
    };
    assert!(row("L2").contains("40062.5") && row("L2").ends_with("adding up, and the same of copying"), "{said}");
    assert!(row("L1 of both").contains("58593.75") && row("the largest of both").contains("80125"), "{said}");
    let one = json(&["topology", "synthesize", "ring:4", "--json"]);
    assert_eq!(one["bounds_in_parts"], false);
}

/// An algorithm that runs and adds nothing up.
#[test]
fn an_algorithm_that_runs_and_computes_something_else_is_told_so() {
    let folder = TempDir::new().unwrap();
    let step = |kind: &str, from: &str, to: &str| {
        format!(
            "<step s=\"0\" type=\"{kind}\" srcbuf=\"{from}\" srcoff=\"0\" dstbuf=\"{to}\" dstoff=\"0\" cnt=\"1\" \
             depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>"
        )
    };
    let gpu = |rank: u32| {
        let (other, send, receive) = (1 - rank, step("s", "i", "i"), step("r", "o", "o"));
        format!(
            "<gpu id=\"{rank}\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"0\"><tb id=\"0\" send=\"{other}\" recv=\"-1\" \
             chan=\"0\">{send}</tb><tb id=\"1\" send=\"-1\" recv=\"{other}\" chan=\"0\">{receive}</tb></gpu>"
        )
    };
    let text = format!(
        "<algo name=\"x\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"1\" ngpus=\"2\" coll=\"allreduce\" \
         inplace=\"0\" outofplace=\"1\" minBytes=\"0\" maxBytes=\"0\">{}{}</algo>",
        gpu(0),
        gpu(1)
    );
    let file = write(&folder, "copies.xml", text);
    let said = ended(&collectune(&["topology", "verify", &file]), 3);
    assert!(said.starts_with("It does not compute its allreduce.\n- rank 0 ends with the wrong chunk 0"), "{said}");
}

/// What adds up is planned backwards; the bottleneck is told as the data go.
#[test]
fn the_bottleneck_of_a_sum_is_where_parts_leave() {
    let folder = TempDir::new().unwrap();
    // A ring of five whose first link leads one way only: one link leaves node 0, two lead to it.
    let links = (0..5).flat_map(|node| [(node, (node + 1) % 5), ((node + 1) % 5, node)]).filter(|link| *link != (0, 1));
    let lines: String = links.map(|(from, to)| format!("{from},{to},500,50\n")).collect();
    let ring = write(&folder, "cut.csv", format!("5\n{HEADER}{lines}"));
    let said = |collective: &str| ended(&collectune(&["topology", "synthesize", &ring, "--collective", collective]), 0);
    let sum = said("reduce_scatter");
    assert!(sum.contains("The bottleneck: 4 chunks must leave node 0 over 1 link."), "{sum}");
    let gather = said("all_gather");
    assert!(gather.contains("must come to node 1 over 1 link"), "{gather}");
}

#[test]
fn what_is_asked_for_can_be_chosen() {
    let folder = TempDir::new().unwrap();
    let ring = write(&folder, "ring.csv", RING);
    let time = |arguments: &[&str]| {
        let found = json(&[&["topology", "synthesize", "--json"], arguments].concat());
        assert_eq!(found["verified"], true, "{arguments:?}");
        found["time_ns"].as_f64().unwrap()
    };
    assert_eq!(time(&[&ring, "--chunks", "4"]), 320_500.0);
    assert_eq!(time(&[&ring, "--decimal"]), 85_886.08);
    assert_eq!(time(&[&ring, "--collective", "all_reduce"]), 160_250.0);
    assert_eq!(time(&["line:3", "--collective", "broadcast", "--root", "1"]), 20_031.25);
    assert_eq!(time(&["line:3", "--collective", "broadcast"]), 40_062.5);
    assert_eq!(time(&["ring:5", "--chunk", "512KiB"]), 2.0 * (500.0 + 9_765.625));
    for collective in ["reduce_scatter", "reduce", "scatter", "gather", "alltoall"] {
        assert!(time(&["ring:4", "--collective", collective]) >= 20_031.25, "{collective}");
    }
    let own = write(
        &folder,
        "own.json",
        r#"{"chunk_size": 1048576, "chunks": [7], "preconditions": {"0": [7]}, "postconditions": {"2": [7]}}"#,
    );
    assert_eq!(time(&["line:3", "--conditions", &own]), 40_062.5);
    for synthesizer in ["auto", "tacos", "earliest", "restarts", "beam", "symmetric", "exact"] {
        let limit = ["--synthesizer", synthesizer, "--time-limit", "300ms", "--seed", "3"];
        assert!(time(&[&["ring:5"], &limit[..]].concat()) >= 40_062.5, "{synthesizer}");
    }
    // Two dimensions of a mesh with links of two speeds; a switch shares its ports.
    let rates = ["--latency", "500", "--bandwidth", "50", "--slow-bandwidth", "5", "--slow-latency", "500"];
    assert_eq!(time(&[&["mesh:4x4"], &rates[..], &["--time-limit", "3s"]].concat()), 647_531.25);
    assert_eq!(time(&["switch:5", "--latency", "0", "--bandwidth", "4"]), 976_562.5);
    let twice = write(&folder, "twice.csv", format!("2\n{HEADER}0,1,500,50\n0,1,500,50\n1,0,500,100\n"));
    assert_eq!(time(&[&twice, "--merge"]), 500.0 + 9_765.625);
}

#[test]
fn a_schedule_is_saved_in_every_form_and_verified_again() {
    let folder = TempDir::new().unwrap();
    let ring = write(&folder, "ring.csv", RING);
    for name in ["found.csv", "found.json", "found.trace.json", "found.xml"] {
        let path = folder.path().join(name).display().to_string();
        ended(&collectune(&["topology", "synthesize", &ring, "-o", &path, "--json"]), 0);
    }
    let again = folder.path().join("again.csv").display().to_string();
    ended(&collectune(&["topology", "synthesize", "mesh:2x3", "--save-topology", &again]), 0);
    assert!(read(&folder, "again.csv").starts_with("6\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n"));

    let saved = folder.path().join("found.csv").display().to_string();
    let checked = json(&["topology", "verify", &saved, "--graph", &ring, "--json"]);
    assert_eq!((checked["verified"].as_bool(), checked["time_ns"].as_f64()), (Some(true), Some(80_125.0)));
    assert_eq!((checked["bound_ns"].as_f64(), checked["faults"].as_array().map(Vec::len)), (Some(80_125.0), Some(0)));
    let said = ended(&collectune(&["topology", "verify", &saved]), 0);
    assert!(said.contains("Nothing is wrong with it; it takes 1.000 times the bound"), "{said}");
    let found: Value = serde_json::from_str(&read(&folder, "found.json")).unwrap();
    assert!(found.is_object(), "{found}");
    let trace: Value = serde_json::from_str(&read(&folder, "found.trace.json")).unwrap();
    assert!(trace.as_array().or(trace["traceEvents"].as_array()).is_some_and(|events| events.len() > 20));
    let algorithm = folder.path().join("found.xml").display().to_string();
    let said = ended(&collectune(&["topology", "verify", &algorithm]), 0);
    assert!(said.contains("It computes its allgather on 5 ranks and never stands still."), "{said}");
}

#[test]
fn robustness_has_links_and_nodes() {
    let said = ended(&collectune(&["topology", "synthesize", "ring:4", "--robustness"]), 0);
    for words in ["in half of the runs", "0 to 1", "Undelivered", "Node", "New ns"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// Faults that the verifier finds are named with their places, and the exit code is 3.
#[test]
fn a_wrong_schedule_ends_with_3() {
    let folder = TempDir::new().unwrap();
    let ring = write(&folder, "ring.csv", RING);
    let path = folder.path().join("found.csv").display().to_string();
    ended(&collectune(&["topology", "synthesize", &ring, "-o", &path, "--json"]), 0);
    let saved = read(&folder, "found.csv");
    // The first transfer of the first link is left out.
    let lines: Vec<String> = saved
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let is_link = cells.len() > 4 && cells[0] == "0" && cells[1] == "1";
            if is_link { [&cells[..4], &cells[5..]].concat().join(",") } else { line.to_owned() }
        })
        .collect();
    let less = write(&folder, "less.csv", lines.join("\n"));
    let output = collectune(&["topology", "verify", &less, "--graph", &ring, "--json"]);
    let checked: Value = serde_json::from_str(&ended(&output, 3)).unwrap();
    assert_eq!(checked["verified"], false);
    let faults = checked["faults"].to_string();
    assert!(faults.contains("never comes to node") || faults.contains("never comes there"), "{faults}");
    assert!(ended(&collectune(&["topology", "verify", &less]), 3).contains("It can't be run"));
    // It is for another graph.
    let said = ended(&collectune(&["topology", "verify", &path, "--graph", "line:5"]), 3);
    assert!(said.contains("from 0 to 4, which the graph has not: is it of another graph?"), "{said}");
    // It is for another collective.
    let said = ended(&collectune(&["topology", "verify", &path, "--graph", &ring, "--collective", "alltoall"]), 3);
    assert!(said.contains("It can't be run"), "{said}");
    let xml = write(&folder, "broken.xml", "<algo name=\"x\"></algo>");
    assert!(ended(&collectune(&["topology", "verify", &xml]), 3).contains("- line 1"), "an attribute is missing");
}

#[test]
fn bad_input_is_told_with_its_place() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, links: &str| write(&folder, name, links);
    for (name, content, why) in [
        ("count.csv", format!("five\n{HEADER}0,1,500,50\n"), "line 1, whole line: \"five\" is not the number of nodes"),
        ("id.csv", format!("2\n{HEADER}0,1,500,50\n1,7,500,50\n"), "line 4, column Dest: \"7\" is no node"),
        ("loop.csv", format!("2\n{HEADER}0,0,500,50\n"), "line 3, whole line: \"0,0,500,50\" can't be used"),
        ("twice.csv", format!("2\n{HEADER}0,1,500,50\n0,1,500,5\n"), "is a second link from 0 to 1, as line 3"),
        ("zero.csv", format!("2\n{HEADER}0,1,500,0\n1,0,500,50\n"), "line 3, column Bandwidth (GB/s): \"0\" can't"),
        ("minus.csv", format!("2\n{HEADER}0,1,500,-5\n1,0,500,50\n"), "column Bandwidth (GB/s): \"-5\" can't"),
        ("text.csv", format!("2\n{HEADER}0,1,soon,50\n"), "line 3, column Latency (ns): \"soon\" is not a number"),
        ("apart.csv", format!("4\n{HEADER}0,1,500,50\n1,0,500,50\n"), "chunk 0 can't come to node 2"),
        ("dump.xml", "<system version=\"1\"/>".to_owned(), "it has no GPU"),
        ("graphs.xml", "<graphs version=\"1\"/>".to_owned(), "give the dump of the machine"),
    ] {
        let path = file(name, &content);
        refused(&["topology", "synthesize", &path, "--json"], 1, why);
    }
    let apart = folder.path().join("apart.csv").display().to_string();
    refused(&["topology", "synthesize", &apart], 1, "Nodes 2, 3 have no links");
    let one_way = file("one_way.csv", &format!("2\n{HEADER}0,1,500,50\n"));
    let why = "node 1's part of chunk 0 can't come to node 0, which adds up";
    refused(&["topology", "synthesize", &one_way, "--collective", "reduce"], 1, why);
    refused(&["topology", "synthesize", "nowhere.csv"], 1, "can't be opened");
    refused(&["topology", "synthesize", "torus:4xq"], 1, "is no topology");
    refused(&["topology", "synthesize", "ring:5", "--root", "9", "--collective", "broadcast"], 1, "there is no node 9");
    refused(&["topology", "synthesize", "ring:5", "--chunks", "0"], 1, "at least one chunk");
    refused(&["topology", "synthesize", "ring:5", "--collective", "gossip"], 2, "is not one of all_reduce");
    refused(&["topology", "synthesize", "ring:5", "--synthesizer", "magic"], 2, "possible values");
    refused(&["topology", "synthesize", "ring:5", "--time-limit", "soon"], 2, "is no time");
    refused(&["topology", "synthesize", "ring:5", "--chunk", "much"], 2, "--chunk");
    refused(&["topology", "synthesize", "ring:5", "--latency=-1"], 2, "--latency");
    refused(&["topology", "synthesize", "ring:5", "--bandwidth", "0"], 1, "bandwidth is not above zero");
    refused(&["topology", "synthesize", "ring:5", "--rate", "gfx950"], 2, "write gfx950=76.8");
    refused(
        &["topology", "synthesize", "ring:5", "-o", "schedule.txt"],
        2,
        "ends in .plan.json, .csv, .json, .trace.json or .xml",
    );
    let own = file("own.json", r#"{"chunks": [0], "preconditions": {"9": [0]}, "postconditions": {"1": [0]}}"#);
    refused(
        &["topology", "synthesize", "ring:5", "--conditions", &own],
        1,
        "chunk 0 is about node 9, and there is no such node",
    );
    let none = file("none.json", r#"{"chunks": 3}"#);
    refused(&["topology", "synthesize", "ring:5", "--conditions", &none], 1, "\"chunks\" is no list");
    let result = file(
        "result.csv",
        "NPUs Count,2\nLinks Count,1\nSrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks\n0,x,1,1,0\n",
    );
    refused(&["topology", "verify", &result], 1, "line 4");
    refused(&["topology", "verify", "nowhere.csv"], 1, "can't be opened");
}

#[test]
fn a_report_of_links_comes_in_every_form() {
    let folder = TempDir::new().unwrap();
    let ring = write(&folder, "ring.csv", RING);
    let markdown = ended(&collectune(&["report", &ring, "--date", "2026-11-22"]), 0);
    for words in ["# all_gather over ring in 80.125 µs", "proven optimal", "## Bounds", "## Robustness", "ring.csv"] {
        assert!(markdown.contains(words), "{words}: {markdown}");
    }
    for name in ["r.html", "r.json", "r.md"] {
        let path = folder.path().join(name).display().to_string();
        ended(&collectune(&["report", &ring, "-o", &path]), 0);
        assert!(read(&folder, name).contains("80.125"), "{name}");
    }
    let html = read(&folder, "r.html");
    let opened = report::open::open(&html).unwrap();
    assert_eq!(opened.workbench, Workbench::Topology);
    let link = ended(&collectune(&["report", &ring, "--link", "--site", "https://example.org/", "--no-charts"]), 0);
    assert!(link.starts_with("https://example.org/#") && link.len() < 20_000, "{} characters", link.len());

    // Choices are given as in the page's address, and a form needs no file.
    let said = ended(&collectune(&["report", &ring, "--choices", "collective=all_reduce&cut=0-1,1-0"]), 0);
    assert!(said.contains("Without the links between 0 and 1"), "{said}");
    let said = ended(&collectune(&["report", "mesh:3x3", "--no-tuner-files"]), 0);
    assert!(said.contains("# all_gather over mesh:3x3 in 80.125 µs") && !said.contains("<algo"), "{said}");
    refused(&["report", "mesh:3xq"], 1, "is no topology");
    refused(&["report", &ring, "--choices", "cut=0-2"], 1, "is not a link of this graph");

    // A schedule is checked in it.
    let found = folder.path().join("found.csv").display().to_string();
    ended(&collectune(&["topology", "synthesize", &ring, "-o", &found, "--json"]), 0);
    let said = ended(&collectune(&["report", &ring, &found]), 0);
    assert!(said.contains("Nothing is wrong with it; it takes 1.000 times the bound of 80.125 µs"), "{said}");
    let said = ended(&collectune(&["report", &found]), 0);
    assert!(said.contains("Nothing is wrong with it"), "{said}");
    refused(&["report", &write(&folder, "id.csv", format!("2\n{HEADER}0,7,500,50\n"))], 1, "nothing could be read");
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn a_dump_of_machines_is_joined() {
    let dump = real::path("topology/nccl/mi355x_2x8_topo.xml");
    let dump = dump.display().to_string();
    let found = json(&["topology", "synthesize", &dump, "--nodes", "2", "--json", "--time-limit", "2s"]);
    assert_eq!((found["verified"].as_bool(), found["faults"].as_array().map(Vec::len)), (Some(true), Some(0)));
    assert!(found["time_ns"].as_f64() >= found["bound_ns"].as_f64(), "{found}");
    let faster = json(&["topology", "synthesize", &dump, "--rate", "gfx950=153.6", "--json"]);
    let usual = json(&["topology", "synthesize", &dump, "--json"]);
    let refused = collectune(&["topology", "synthesize", &dump, "--decimal"]);
    assert!(!refused.status.success(), "a dump has no unit to choose");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("--decimal has no effect") && said.contains("--rate (in GB/s)"), "{said}");
    assert!(faster["time_ns"].as_f64() < usual["time_ns"].as_f64(), "{faster} {usual}");
    let said = ended(&collectune(&["report", &dump, "--choices", "machines=2&limit=1"]), 0);
    assert!(said.contains("GPUs and their ports"), "{said}");
}

#[test]
fn a_plan_of_mscclpp_is_saved_and_judged() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dgx.plan.json").display().to_string();
    let output = collectune(&["topology", "synthesize", "dgx1v", "--collective", "all_reduce", "-o", &path]);
    assert!(text(&output.stderr).contains("A plan for the executor of MSCCL++"), "{}", text(&output.stderr));
    let said = ended(&collectune(&["topology", "verify", &path, "--graph", "dgx1v"]), 0);
    assert_eq!(
        said,
        "It computes its allreduce on 8 ranks, in every order of execution.\n\
         Every pair of ranks between which it moves data is a link of dgx1v.\n"
    );
    let found = json(&["topology", "verify", &path, "--json"]);
    assert_eq!((found["verified"].as_bool(), found["dialect"].as_str()), (Some(true), Some("plan of MSCCL++")));
    let elsewhere = ended(&collectune(&["topology", "verify", &path, "--graph", "full:4"]), 3);
    assert!(elsewhere.contains("it is for 8 ranks, and full:4 has 4 nodes"), "{elsewhere}");
    let ring = ended(&collectune(&["topology", "verify", &path, "--graph", "ring:8"]), 3);
    assert!(ring.contains("and ring:8 has no link there"), "{ring}");
    let plan = std::fs::read_to_string(&path).unwrap();
    let wrong = write(&folder, "wrong.json", plan.replacen("\"name\": \"wait\"", "\"name\": \"nop\"", 1));
    let said = ended(&collectune(&["topology", "verify", &wrong]), 3);
    assert!(said.starts_with("It does not") && said.contains("- gpu 0, thread block 0, operation"), "{said}");
    refused(&["topology", "verify", &path, "--chunks", "2"], 1, "a plan of MSCCL++ says itself what it computes");
    let broadcast = folder.path().join("b.plan.json").display().to_string();
    refused(
        &["topology", "synthesize", "ring:4", "--collective", "broadcast", "-o", &broadcast],
        1,
        "no plan of MSCCL++ is written for this collective",
    );
}

/// A machine with four GPUs, two behind each of two CPUs, as NCCL dumps it.
fn machine() -> String {
    let gpu = |dev: u32| {
        format!(
            "<pci busid=\"0000:0{dev}:00.0\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"{dev}\" \
             sm=\"80\" rank=\"{dev}\"/></pci>"
        )
    };
    let cpu = |number: u32| {
        let gpus: String = (2 * number..2 * number + 2).map(gpu).collect();
        format!(
            "<cpu numaid=\"{number}\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"175\" modelid=\"1\">{gpus}</cpu>"
        )
    };
    format!("<system version=\"1\">{}{}</system>", cpu(0), cpu(1))
}

#[test]
fn rings_for_a_machine_are_written_and_hold() {
    let folder = TempDir::new().unwrap();
    let (machine, rings) = (write(&folder, "topology.xml", machine()), folder.path().join("rings.xml"));
    let rings = rings.to_str().unwrap();
    let output = collectune(&["topology", "rings", &machine, "-o", rings]);
    let said = ended(&output, 0);
    // PCIe 4.0 has 24 GB/s, as much as Zen 4 between its CPUs.
    assert!(said.contains("2 channels of 12 GB/s, so that the busbw is at most 24.0 GB/s"), "{said}");
    assert!(text(&output.stderr).contains("set NCCL_GRAPH_FILE to it on every rank"), "{}", text(&output.stderr));
    let held = ended(&collectune(&["topology", "verify", rings, "--graph", &machine]), 0);
    assert!(
        held.contains("Nothing is wrong with 2 channels of rings, and no link of the machine carries more"),
        "{held}"
    );
    assert!(held.contains("Rings: 2 channels of 12 GB/s stated, 12.00 by"), "{held}");
    let more = read(&folder, "rings.xml").replace("speedintra=\"12\"", "speedintra=\"20\"");
    let more = write(&folder, "more.xml", more);
    let said = ended(&collectune(&["topology", "verify", &more, "--graph", &machine]), 3);
    assert!(said.contains("- rings: each channel states 20 GB/s, and gets 12.00 at most"), "{said}");
    let alone = ended(&collectune(&["topology", "verify", &more]), 0);
    assert!(alone.contains("what the links of a machine give is not checked"), "{alone}");
    let found = json(&["topology", "rings", &machine, "--json"]);
    assert_eq!((found["total_gbps"].as_f64(), found["channels"][0].as_array().map(Vec::len)), (Some(24.0), Some(4)));
    refused(&["topology", "verify", rings, "--chunk", "1MiB"], 1, "a graph file has channels, and no collective");
    refused(&["topology", "verify", &machine], 1, "topology.xml is a machine; give what NCCL_GRAPH_DUMP_FILE wrote");
    refused(&["topology", "rings", rings], 1, "is no dump of a machine");
    refused(&["topology", "rings", &machine, "--rate", "gfx950=80"], 1, "--rate gfx950 has no effect");
}

#[test]
fn what_no_file_can_hold_is_refused_before_the_search() {
    let folder = TempDir::new().unwrap();
    let plan = folder.path().join("a.plan.json");
    let command = ["topology", "synthesize", "ring:4", "--chunks", "1000000", "-o", plan.to_str().unwrap()];
    refused(&command, 1, "12,000,000 transfers are more than a plan of MSCCL++ is written for (at most 50,000)");
    assert!(!plan.exists());
}

#[test]
fn json_that_is_no_plan_is_not_taken_for_a_schedule() {
    let folder = TempDir::new().unwrap();
    for content in ["{}", "[]", " {\"gpus\": []}"] {
        let file = write(&folder, "a.json", content);
        refused(&["topology", "verify", &file], 1, "a.json is JSON, and no execution plan of MSCCL++");
    }
}
