//! Cases in which `collectune topology synthesize` and `collectune topology verify` once gave a wrong answer without a
//! word: each asserts the sentence, the flag in the JSON and the exit code.

#![allow(clippy::unwrap_used)]

use crate::support::{
    real,
    terminal::{collectune, ended, json, text, write},
};
use collectune::{
    collective::Collective,
    progress::Silent,
    schedule::synthesize::Method,
    topology::{
        conditions::CollectiveRequest,
        dump::{self, Dump, Rates},
        export::{Form, topology_csv},
        generate::{Kind, Recipe},
        model::{Link, Topology, Unit},
        read::{self, Options},
        result,
        study::{self, Source, Study},
    },
};
use proptest::prelude::{ProptestConfig, Strategy, prop, proptest};
use serde_json::Value;
use tempfile::TempDir;

/// Five nodes in a ring with one slow pair.
const RING: &str = "5\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n1,2,500,50\n2,1,500,50\n2,3,500,1\n\
                    3,2,500,1\n3,4,500,50\n4,3,500,50\n4,0,500,50\n0,4,500,50\n";
const HEADER: &str = "Src,Dest,Latency (ns),Bandwidth (GB/s)\n";

#[track_caller]
fn refused(arguments: &[&str], code: i32, why: &str) {
    let output = collectune(arguments);
    ended(&output, code);
    let said = text(&output.stderr);
    assert!(said.contains(why), "{arguments:?}: {said}");
}

fn made(form: &str) -> Topology {
    Recipe::new(Kind::parse(form).unwrap()).make().unwrap()
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

/// How many links lie between all pairs of nodes, by breadth first search.
fn hops(topology: &Topology) -> u64 {
    let mut sum = 0;
    for from in 0..topology.nodes {
        let mut at = vec![u64::MAX; topology.nodes as usize];
        at[from as usize] = 0;
        let mut open = vec![from];
        let mut next = 0;
        while let Some(&node) = open.get(next) {
            next += 1;
            for link in topology.links.iter().filter(|link| link.from == node) {
                if at[link.to as usize] == u64::MAX {
                    at[link.to as usize] = at[node as usize] + 1;
                    open.push(link.to);
                }
            }
        }
        sum += at.iter().sum::<u64>();
    }
    sum
}

#[test]
fn an_alltoall_of_many_nodes_is_held_against_what_all_links_carry() {
    const TAU: f64 = 20_031.25;
    // What is known of each: the load of all links, and the cut through the middle.
    for (form, least, most_ratio) in [
        ("ring:24", 72.0, 1.15),
        ("torus:5x5", 15.0, 1.25),
        ("torus:6x6", 27.0, 1.25),
        ("hypercube:5", 16.0, 1.25),
        ("mesh:6x6", 54.0, 1.25),
        ("line:20", 100.0, 1.15),
    ] {
        let found = json(&["topology", "synthesize", form, "--collective", "alltoall", "--time-limit", "1s", "--json"]);
        let (time, bound) = (found["time_ns"].as_f64().unwrap(), found["bound_ns"].as_f64().unwrap());
        assert_eq!(found["verified"], true, "{form}");
        assert!(bound >= least * TAU - 1e-6 && time >= bound, "{form}: {bound} for {}", least * TAU);
        assert!(time <= most_ratio * bound, "{form}: {time} for {bound}");
        let topology = made(form);
        let load = (hops(&topology) as f64 / topology.links.len() as f64).ceil() * TAU;
        assert!(bound >= load - 1e-6, "{form}: {bound} for {load}");
        // What finer chunks could reach is no more than what whole ones need.
        assert!(found["fluid_bound_ns"].as_f64().unwrap() <= bound + 1e-6, "{form}: {found}");
    }
    let said = ended(
        &collectune(&["topology", "synthesize", "torus:5x5", "--collective", "alltoall", "--time-limit", "1s"]),
        0,
    );
    assert!(said.contains("L4, all links together"), "{said}");
}

#[test]
fn no_schedule_beats_the_load_of_all_links() {
    for seed in 0..40 {
        let form = format!("random:{}:{}:{seed}", 4 + seed % 9, 1 + seed % 3);
        let mut topology = made(&form);
        for (place, link) in topology.links.iter_mut().enumerate() {
            link.bandwidth = [50.0, 25.0, 100.0, 10.0][(place + seed as usize) % 4];
            link.latency_ns = [500.0, 0.0, 3000.0][(place * 7 + seed as usize) % 3];
        }
        for collective in [Collective::AllToAll, Collective::Scatter, Collective::Gather] {
            let wanted = CollectiveRequest { collective: Some(collective), ..CollectiveRequest::default() };
            for method in [Method::Routed, Method::Exact] {
                let mut study = Study::default();
                study.open(Source::Edited(topology.clone())).unwrap();
                let mut standing = study.begin(wanted.clone(), method, seed, 3000, &mut Silent).unwrap();
                while standing.time_ns.is_none() {
                    standing = study.improve(3000, &mut Silent).unwrap();
                }
                let time = standing.time_ns.unwrap();
                assert!(time >= standing.bound_ns && time >= standing.proven_ns, "{form} {collective}: {standing:?}");
                let (_, clock, search, _) = study.search().unwrap();
                let fluid = clock.fluid_bound_ns(search.bounds()[0]);
                assert!(fluid <= time, "{form} {collective}: {fluid} for {time}");
            }
        }
    }
}

#[test]
fn units_survive_saving() {
    let folder = TempDir::new().unwrap();
    let ring = write(&folder, "ring.csv", RING);
    let (graph, schedule) = (path(&folder, "graph.csv"), path(&folder, "schedule.csv"));
    let output = collectune(&[
        "topology",
        "synthesize",
        &ring,
        "--decimal",
        "--save-topology",
        &graph,
        "-o",
        &schedule,
        "--json",
    ]);
    let found: Value = serde_json::from_str(&ended(&output, 0)).unwrap();
    assert_eq!(found["time_ns"], 85_886.08);
    assert!(text(&output.stderr).contains("programs that take them for GiB/s are 7 % off"), "{}", text(&output.stderr));
    assert!(std::fs::read_to_string(&graph).unwrap().contains("Latency (ns),Bandwidth (10^9 B/s)\n"));
    for arguments in
        [&["topology", "synthesize", &graph, "--json"][..], &["topology", "synthesize", &graph, "--decimal", "--json"]]
    {
        assert_eq!(json(arguments)["time_ns"], 85_886.08, "{arguments:?}");
    }
    for arguments in [
        &["topology", "verify", &schedule, "--json"][..],
        &["topology", "verify", &schedule, "--graph", &graph, "--json"],
        &["topology", "verify", &schedule, "--graph", &ring, "--decimal", "--json"],
    ] {
        let checked = json(arguments);
        assert_eq!((&checked["verified"], &checked["time_ns"]), (&true.into(), &85_886.08.into()), "{arguments:?}");
    }
    // On the links in other units it is another schedule.
    ended(&collectune(&["topology", "verify", &schedule, "--graph", &ring]), 3);
    // What says GiB/s is GiB/s, and other units are refused.
    let gib = write(&folder, "gib.csv", RING.replace("GB/s", "GiB/s"));
    let output = collectune(&["topology", "synthesize", &gib, "--decimal", "--json"]);
    let found: Value = serde_json::from_str(&ended(&output, 0)).unwrap();
    assert_eq!(found["time_ns"], 80_125.0);
    assert!(text(&output.stderr).contains("the header says that bandwidths are in GiB/s, and that counts"));
    let gbit = write(&folder, "gbit.csv", RING.replace("GB/s", "Gbit/s"));
    refused(
        &["topology", "synthesize", &gbit],
        1,
        "line 2, whole line: \"Bandwidth (Gbit/s)\" has a unit that is not read",
    );
    let ms = write(&folder, "ms.csv", RING.replace("Latency (ns)", "Latency (ms)").replace(",500,", ",0.0005,"));
    assert_eq!(json(&["topology", "synthesize", &ms, "--json"])["time_ns"], 80_125.0);
}

#[test]
fn saved_schedules_say_what_they_are_of() {
    let folder = TempDir::new().unwrap();
    let saved = path(&folder, "saved.csv");
    for collective in
        ["all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce", "scatter", "gather", "alltoall"]
    {
        for chunks in ["1", "2"] {
            let mut arguments =
                vec!["topology", "synthesize", "mesh:2x3", "--collective", collective, "--chunks", chunks];
            if ["broadcast", "reduce", "scatter", "gather"].contains(&collective) {
                arguments.extend(["--root", "4"]);
            }
            arguments.extend(["--time-limit", "100ms", "-o", &saved, "--json"]);
            let found = json(&arguments);
            let checked = json(&["topology", "verify", &saved, "--graph", "mesh:2x3", "--json"]);
            assert_eq!(checked["verified"], true, "{collective} of {chunks}: {checked}");
            assert_eq!(checked["time_ns"], found["time_ns"], "{collective} of {chunks}");
            assert_eq!(checked["bound_ns"], found["bound_ns"], "{collective} of {chunks}");
        }
    }
    // The last is an alltoall of two chunks.
    refused(
        &["topology", "verify", &saved, "--collective", "all_gather"],
        1,
        "--collective all_gather: the file says that it is a schedule of alltoall",
    );
    let less = collectune(&["topology", "verify", &saved, "--chunks", "1"]);
    assert!(ended(&less, 3).contains("the result has 60 chunks, and alltoall of 1 chunk of 1 MiB per node has 30"));
    let own = r#"{"chunks": [7], "preconditions": {"0": [7]}, "postconditions": {"2": [7]}}"#;
    let own = write(&folder, "own.json", own);
    json(&["topology", "synthesize", "line:3", "--conditions", &own, "-o", &saved, "--json"]);
    assert_eq!(json(&["topology", "verify", &saved, "--conditions", &own, "--json"])["verified"], true);
    let without = ended(&collectune(&["topology", "verify", &saved]), 3);
    assert!(without.contains("the result is a schedule of conditions of one's own, which are not given"), "{without}");
}

/// Two ranks that send each other what they have, in so many steps, before they receive: then each adds up.
fn exchange(sends: usize, received: usize) -> String {
    let step = |s: usize, kind: &str, from: (char, usize), to: (char, usize), depends: (i64, i64), awaited: u8| {
        format!(
            "<step s=\"{s}\" type=\"{kind}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" cnt=\"1\" depid=\"{}\" \
             deps=\"{}\" hasdep=\"{awaited}\"/>\n",
            from.0, from.1, to.0, to.1, depends.0, depends.1
        )
    };
    let gpu = |rank: usize| {
        let mut first = String::new();
        for chunk in 0..sends {
            first += &step(chunk, "s", ('i', chunk), ('s', chunk), (-1, -1), 0);
        }
        for chunk in 0..received {
            first += &step(sends + chunk, "r", ('i', chunk), ('s', chunk), (-1, -1), 1);
        }
        let mut second = String::new();
        for chunk in 0..sends {
            second += &step(2 * chunk, "cpy", ('i', chunk), ('o', chunk), (-1, -1), 0);
            let awaited = (sends + chunk.min(received - 1)) as i64;
            second += &step(2 * chunk + 1, "re", ('s', chunk), ('o', chunk), (0, awaited), 0);
        }
        format!(
            "<gpu id=\"{rank}\" i_chunks=\"{sends}\" o_chunks=\"{sends}\" s_chunks=\"{sends}\"><tb id=\"0\" send=\"{0}\" recv=\"{0}\" \
             chan=\"0\">\n{first}</tb><tb id=\"1\" send=\"-1\" recv=\"-1\" chan=\"0\">\n{second}</tb></gpu>\n",
            1 - rank
        )
    };
    format!(
        "<algo name=\"pairs\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"{sends}\" ngpus=\"2\" coll=\"allreduce\" inplace=\"0\" \
         outofplace=\"1\" minBytes=\"0\" maxBytes=\"0\">\n{}{}</algo>\n",
        gpu(0),
        gpu(1)
    )
}

#[test]
fn a_connection_holds_what_two_steps_send() {
    let folder = TempDir::new().unwrap();
    for sends in [1, 2] {
        let pairs = write(&folder, "pairs.xml", exchange(sends, sends));
        let said = ended(&collectune(&["topology", "verify", &pairs]), 0);
        assert!(said.contains("It computes its allreduce on 2 ranks and never stands still."), "{said}");
        assert_eq!(json(&["topology", "verify", &pairs, "--json"])["verified"], true);
    }
    // A third send waits for a receive that never begins.
    let pairs = write(&folder, "three.xml", exchange(3, 3));
    let output = collectune(&["topology", "verify", &pairs, "--json"]);
    let checked: Value = serde_json::from_str(&ended(&output, 3)).unwrap();
    assert_eq!(checked["verified"], false);
    assert!(
        checked["faults"].to_string().contains("it stands still: rank 0, thread block 0, step 2 waits for ever"),
        "{checked}"
    );
    // Two are sent and one received: the other never is.
    let less = write(&folder, "less.xml", exchange(2, 1));
    let said = ended(&collectune(&["topology", "verify", &less]), 3);
    assert!(said.contains("never received") || said.contains("never written"), "{said}");
    let torn = write(&folder, "torn.xml", exchange(1, 1).replace("</algo>", ""));
    let said = ended(&collectune(&["topology", "verify", &torn]), 3);
    assert!(said.contains("- line ") && !said.contains("line 1: line"), "{said}");
}

/// The algorithms that RCCL ships, where their folder is named.
#[test]
#[ignore = "needs a folder of RCCL's algorithms, which RCCL_ALGORITHMS names"]
fn the_algorithms_of_rccl_run() {
    let folder = std::env::var_os("RCCL_ALGORITHMS").unwrap();
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in files {
        let said = ended(&collectune(&["topology", "verify", &file.display().to_string()]), 0);
        assert!(said.contains("never stands still"), "{}: {said}", file.display());
    }
}

#[test]
fn an_algorithm_is_held_against_the_graph_that_is_given() {
    let folder = TempDir::new().unwrap();
    let algorithm = path(&folder, "ring.xml");
    ended(&collectune(&["topology", "synthesize", "ring:4", "-o", &algorithm, "--json"]), 0);
    let said = ended(&collectune(&["topology", "verify", &algorithm, "--graph", "ring:4"]), 0);
    assert!(said.contains("Every pair of ranks that it connects is a link of ring:4."), "{said}");
    let output = collectune(&["topology", "verify", &algorithm, "--graph", "line:4", "--json"]);
    let checked: Value = serde_json::from_str(&ended(&output, 3)).unwrap();
    assert_eq!(checked["verified"], false);
    assert!(
        checked["faults"].to_string().contains("rank 0 sends to rank 3, and line:4 has no link there"),
        "{checked}"
    );
    let said = ended(&collectune(&["topology", "verify", &algorithm, "--graph", "ring:5"]), 3);
    assert!(said.contains("it is for 4 ranks, and ring:5 has 5 nodes"), "{said}");
    let said = ended(&collectune(&["topology", "verify", &algorithm, "--collective", "all_reduce"]), 3);
    assert!(said.contains("it is an algorithm of allgather, and allreduce was asked for"), "{said}");
    ended(&collectune(&["topology", "verify", &algorithm, "--collective", "all_gather"]), 0);
    refused(
        &["topology", "verify", &algorithm, "--chunk", "2MiB"],
        1,
        "--chunk has no effect: an algorithm of MSCCL says itself",
    );
    refused(&["topology", "verify", &algorithm, "--decimal"], 1, "--decimal has no effect without --graph");
}

#[test]
fn times_beyond_what_is_counted_are_refused() {
    let folder = TempDir::new().unwrap();
    let long = write(&folder, "long.csv", format!("2\n{HEADER}0,1,1e308,50\n1,0,500,50\n"));
    let why = "line 3, column Latency (ns): \"1e308\" can't be used: its latency is more than 8,796 s, the longest that is counted";
    refused(&["topology", "synthesize", &long, "--json"], 1, why);
    refused(
        &["topology", "synthesize", "ring:4", "--latency", "1e300", "--json"],
        1,
        "its latency is more than 8,796 s",
    );
    refused(
        &["topology", "synthesize", "ring:4", "--bandwidth", "1e-12"],
        1,
        "a chunk keeps it busy for more than 8,796 s",
    );
    refused(
        &["topology", "synthesize", "ring:4", "--latency", "8e12", "--chunks", "200000"],
        1,
        "each take longer than is counted",
    );
    // The longest is counted right.
    let found = json(&["topology", "synthesize", "ring:4", "--latency", "8e12", "--chunk", "1", "--json"]);
    assert!((found["time_ns"].as_f64().unwrap() / 16e12 - 1.0).abs() < 1e-9, "{found}");
    assert_eq!(found["proven_optimal"], true);
}

#[test]
fn a_synthesizer_that_can_not_do_it_says_so() {
    let output = collectune(&["topology", "synthesize", "mesh:3x4", "--synthesizer", "symmetric", "--json"]);
    assert_eq!(ended(&output, 1), "");
    let said = text(&output.stderr);
    assert!(
        said.contains("symmetric makes no schedule here: it is for all_gather") && said.contains("--synthesizer auto"),
        "{said}"
    );
    assert!(!said.contains("time limit") && !said.contains("time-limit"), "{said}");
    refused(&["report", "mesh:3x4", "--choices", "by=symmetric"], 1, "makes no schedule here: it is for all_gather");
    let output = collectune(&[
        "topology",
        "synthesize",
        "random:20:3:1",
        "--synthesizer",
        "exact",
        "--collective",
        "alltoall",
        "--time-limit",
        "300ms",
        "--json",
    ]);
    let found: Value = serde_json::from_str(&ended(&output, 0)).unwrap();
    let note = "exact found nothing better than routed: it is for up to 16 nodes and 128 chunks";
    assert_eq!(found["notes"], serde_json::json!([note]));
    assert!(text(&output.stderr).contains(note));
}

#[test]
fn what_has_no_effect_is_refused() {
    let folder = TempDir::new().unwrap();
    let ring = write(&folder, "ring.csv", RING);
    let schedule = path(&folder, "schedule.csv");
    ended(&collectune(&["topology", "synthesize", &ring, "-o", &schedule, "--json"]), 0);
    let synthesize = |arguments: &[&str], code: i32, why: &str| {
        refused(&[&["topology", "synthesize"], arguments].concat(), code, why);
    };
    synthesize(&[&ring, "--nodes", "0"], 2, "--nodes");
    synthesize(&[&ring, "--nodes", "2"], 1, "--nodes has no effect");
    synthesize(&["ring:5", "--nodes", "2"], 1, "--nodes has no effect: ring:5 is a form without that");
    synthesize(&[&ring, "--bandwidth", "100"], 1, "--bandwidth has no effect");
    synthesize(
        &["ring:5", "--slow-bandwidth", "1"],
        1,
        "--slow-bandwidth has no effect: ring:5 is a form without that",
    );
    synthesize(&["ring:5", "--rate", "gfx950=80"], 1, "--rate has no effect");
    synthesize(&["dgx1v", "--bandwidth", "80"], 1, "--bandwidth has no effect");
    synthesize(&["ring:5", "--merge"], 1, "--merge has no effect");
    synthesize(&[&ring, "--root", "3"], 1, "--root has no effect: all_gather has no root");
    let own = |size: &str| {
        format!(r#"{{{size}"chunks": [7], "preconditions": {{"0": [7]}}, "postconditions": {{"2": [7]}}}}"#)
    };
    let sized = write(&folder, "sized.json", own(r#""chunk_size": 1048576, "#));
    synthesize(&[&ring, "--conditions", &sized, "--collective", "broadcast"], 2, "cannot be used with");
    synthesize(&[&ring, "--conditions", &sized, "--chunk", "2MiB"], 1, "sized.json says that a chunk has 1 MiB");
    json(&["topology", "synthesize", &ring, "--conditions", &sized, "--chunk", "1MiB", "--json"]);
    for (text, why) in [
        (own(r#""chunk_size": 0, "#), "\"chunk_size\" is 0, no whole number of bytes"),
        (own(r#""collective": "x", "#), "\"collective\" is none of chunk_size, chunks"),
        (own("").replace("[7], \"pre", "[7, 7], \"pre"), "\"chunks\" names 7 twice"),
    ] {
        synthesize(&[&ring, "--conditions", &write(&folder, "bad.json", text)], 1, why);
    }
    // A cell too many, and a column that is not used.
    let six = write(&folder, "six.csv", RING.replace("0,1,500,50\n", "0,1,500,50,7,8\n"));
    synthesize(&[&six], 1, "line 3, whole line: \"0,1,500,50,7,8\" has 6 cells, and a link has 4 here");
    let wide = RING.replace("(GB/s)\n", "(GB/s),Cost\n").replace(",50\n", ",50,9\n").replace(",1\n", ",1,9\n");
    let output = collectune(&["topology", "synthesize", &write(&folder, "wide.csv", wide), "--json"]);
    ended(&output, 0);
    assert!(text(&output.stderr).contains("of a link two nodes, latency and bandwidth are used, not Cost"));
    // The file says how large a chunk is, and where it is from.
    refused(
        &["topology", "verify", &schedule, "--chunk", "2MiB"],
        1,
        "--chunk 2 MiB: the file says that a chunk has 1 MiB",
    );
    ended(&collectune(&["topology", "verify", &schedule, "--chunk", "1MiB"]), 0);
    refused(&["topology", "verify", &schedule, "--merge"], 1, "--merge has no effect without --graph");
    let saved = std::fs::read_to_string(&schedule).unwrap();
    let stranger = write(&folder, "stranger.csv", saved.replacen("Chunk Size", "Colour,red\nChunk Size", 1));
    assert!(ended(&collectune(&["topology", "verify", &stranger]), 0).contains("line 4: \"Colour\" is not used."));
    // Without times nothing tells that the links are others.
    let plain = "NPUs Count,2\nLinks Count,2\nChunks Count,2\nChunk Size,1048576,B\nSrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks\n\
                 0,1,500,50,0\n1,0,500,50,1\n";
    let plain = write(&folder, "plain.csv", plain);
    let other = write(&folder, "other.csv", format!("2\n{HEADER}0,1,500,25\n1,0,500,50\n"));
    let said = ended(&collectune(&["topology", "verify", &plain, "--graph", &other]), 0);
    assert!(
        said.contains("1 link of the result has another latency or bandwidth in the graph, first that from 0 to 1"),
        "{said}"
    );
    let nothing = "NPUs Count,2\nLinks Count,1\nChunks Count,1\nChunk Size,1048576,B\nSrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks\n\
                   0,1,500,50\n";
    let there =
        write(&folder, "there.json", r#"{"chunks": [0], "preconditions": {"0": [0]}, "postconditions": {"0": [0]}}"#);
    let nothing = write(&folder, "nothing.csv", nothing);
    let said = ended(&collectune(&["topology", "verify", &nothing, "--conditions", &there]), 0);
    assert!(said.contains("Nothing is wrong with it; nothing has to be sent."), "{said}");
    for (choices, why) in [
        ("by=magic", "Synthesizer: \"magic\" is not one of auto, tacos"),
        ("unit=miles", "Bandwidths in: \"miles\" is not gib or gb"),
        ("sigma=7", "Spread of durations: \"7\" is not a number from 0 to 3"),
        ("limit=soon", "\"soon\" is not a number of seconds"),
        ("with=earliest,magic", "Compared with: \"magic\" is not one of"),
        ("seeds=100000", "Seeds: \"100000\" is not a number from 1 to 10000"),
    ] {
        refused(&["report", &ring, "--choices", choices], 1, why);
    }
    let output = collectune(&["report", &ring, "--choices", "colour=red&collective=broadcast", "--no-charts"]);
    ended(&output, 0);
    assert!(text(&output.stderr).contains("--choices: colour is not used here"), "{}", text(&output.stderr));
    // An all_gather has no root, so that none can be wrong.
    let output = collectune(&["report", &ring, "--choices", "root=77", "--no-charts"]);
    ended(&output, 0);
    assert!(text(&output.stderr).contains("--choices: root is not used here"), "{}", text(&output.stderr));
    refused(&["report", &ring, "--choices", "collective=broadcast&root=77"], 1, "there is no node 77 to be the root");
    synthesize(&["random:4:9:1"], 1, "9 links from each of 4 nodes: at least 1 and at most one to each other node");
    let beta = RING.replace("Bandwidth (GB/s)", "beta");
    let output = collectune(&["topology", "synthesize", &write(&folder, "beta.csv", beta), "--json"]);
    ended(&output, 0);
    assert!(text(&output.stderr).contains("beta is read as a bandwidth in GB/s, not as a time per byte"));
}

#[test]
fn rates_of_dumps_that_are_guessed_are_named() {
    let dump = |generation: &str, links: bool| {
        let link = |target: &str| {
            let link = format!("<nvlink target=\"{target}\" count=\"2\" tclass=\"0x030200\"/>");
            if links { link } else { String::new() }
        };
        let gpu = |bus: &str, dev: u32, target: &str| {
            format!(
                "<pci busid=\"{bus}\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"{dev}\" sm=\"{generation}\">{}</gpu></pci>",
                link(target)
            )
        };
        format!(
            "<system version=\"1\"><cpu numaid=\"0\">{}{}</cpu></system>",
            gpu("0000:01:00.0", 0, "0000:02:00.0"),
            gpu("0000:02:00.0", 1, "0000:01:00.0")
        )
    };
    let folder = TempDir::new().unwrap();
    let of = |name: &str, text: String, arguments: &[&str]| {
        let file = write(&folder, name, text);
        let output = collectune(&[&["topology", "synthesize", &file, "--json"], arguments].concat());
        (output.status.code(), text_of(&output.stderr))
    };
    let (code, said) = of("guessed.xml", dump("75", true), &[]);
    assert!(
        code == Some(0) && said.contains("What a link of sm_75 carries is not known: 20 GB/s is a guess"),
        "{said}"
    );
    let (code, said) = of("known.xml", dump("80", true), &[]);
    assert!(code == Some(0) && !said.contains("guess"), "{said}");
    let (code, said) = of("pcie.xml", dump("75", false), &[]);
    assert!(code == Some(0) && said.contains("2 GPUs without XGMI or NVLink: links over PCIe"), "{said}");
    let (code, said) = of("other.xml", dump("80", true), &["--rate", "sm_90=20"]);
    assert!(
        code == Some(1) && said.contains("--rate sm_90 has no effect: the GPUs of") && said.contains("are of sm_80"),
        "{said}"
    );
    let (code, said) = of("set.xml", dump("75", true), &["--rate", "sm_75=25"]);
    assert!(code == Some(0) && !said.contains("guess"), "{said}");
    let (code, said) = of("bandwidth.xml", dump("80", true), &["--bandwidth", "20"]);
    assert!(code == Some(1) && said.contains("--bandwidth has no effect"), "{said}");
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn the_rate_of_a_real_dump_can_be_given() {
    let real = real::path("topology/nccl/mi355x_1x8_topo.xml");
    let found = json(&["topology", "synthesize", &real.display().to_string(), "--rate", "gfx950=80", "--json"]);
    assert_eq!(found["verified"], true, "{found}");
}

fn text_of(bytes: &[u8]) -> String {
    text(bytes)
}

#[test]
fn robustness_is_in_the_json() {
    let found = json(&["topology", "synthesize", "ring:4", "--robustness", "--json"]);
    let robustness = &found["robustness"];
    assert_eq!(
        (robustness["links"].as_array().map(Vec::len), robustness["nodes"].as_array().map(Vec::len)),
        (Some(8), Some(4))
    );
    assert!(
        robustness["p99_ns"].as_f64() > robustness["p50_ns"].as_f64() && robustness["draws"] == 500,
        "{robustness}"
    );
    let halved = |link: &Value| link["At a half ns"].as_f64() > found["time_ns"].as_f64();
    assert!(robustness["links"].as_array().unwrap().iter().any(halved), "{robustness}");
    assert!(json(&["topology", "synthesize", "ring:4", "--json"]).get("robustness").is_none());
}

/// A topology in which every node can be reached, of any units.
fn any_topology() -> impl Strategy<Value = Topology> {
    let rate =
        prop::sample::select(vec![50.0, 0.1, 46.566_128_730_773_93, 1e-3, 123.456, 7.0 / 3.0, 400.0, f64::INFINITY]);
    let latency = prop::sample::select(vec![500.0, 0.25, 1e6, 1.0 / 3.0, 700.125]);
    let links = prop::collection::vec((rate, latency), 2..14);
    (links, prop::bool::ANY).prop_map(|(rates, is_decimal)| {
        let nodes = rates.len() as u32;
        let link = |(from, (bandwidth, latency_ns))| Link { from, to: (from + 1) % nodes, latency_ns, bandwidth };
        let links = (0..).zip(rates).map(link).collect();
        let unit = if is_decimal { Unit::Gb } else { Unit::Gib };
        Topology { name: "any".to_owned(), nodes, links, unit, ..Topology::default() }
    })
}

#[track_caller]
fn is_the_same_after_saving(topology: &Topology, collective: Collective, chunks: u32, root: u32, seed: u64) {
    let again = read::read(&topology_csv(topology), "any", Options::default()).unwrap();
    assert_eq!(&again.topology, topology);
    assert!(again.notes.is_empty(), "{:?}", again.notes);
    let root = if collective.has_root() { root } else { 0 };
    let wanted = CollectiveRequest {
        collective: Some(collective),
        chunks,
        root,
        chunk_bytes: 1 << 16,
        ..CollectiveRequest::default()
    };
    let mut study = Study::default();
    study.open(Source::Edited(topology.clone())).unwrap();
    let mut standing = study.begin(wanted.clone(), Method::Auto, seed, 2000, &mut Silent).unwrap();
    while standing.time_ns.is_none() {
        standing = study.improve(2000, &mut Silent).unwrap();
    }
    let saved = study.export(Form::Csv).unwrap().text;
    let file = result::read(&saved, "any", Unit::default()).unwrap();
    assert_eq!(&file.topology, topology);
    let checked = study::check(&file, None, None).unwrap();
    assert!(checked.faults.is_empty(), "{:?}", checked.faults);
    assert_eq!(Some(checked.time_ns), standing.time_ns);
    assert_eq!(checked.bound_ns, standing.bound_ns);
    assert!(checked.sentences[0].starts_with(&wanted.words()), "{:?}", checked.sentences);
}

/// A ring of seven whose times differ by less than the rounding that a file's times are forgiven.
#[test]
fn saved_starts_that_are_close_to_other_ends_stay_where_they_are() {
    let third = 1.0 / 3.0;
    let links = [
        (0.25, 0.001),
        (500.0, 50.0),
        (500.0, 123.456),
        (third, 0.001),
        (500.0, 123.456),
        (500.0, f64::INFINITY),
        (third, 123.456),
    ];
    let link =
        |(from, (latency_ns, bandwidth)): (u32, (f64, f64))| Link { from, to: (from + 1) % 7, latency_ns, bandwidth };
    let links = (0..).zip(links).map(link).collect();
    let topology = Topology { name: "any".to_owned(), nodes: 7, links, unit: Unit::Gib, ..Topology::default() };
    is_the_same_after_saving(&topology, Collective::ReduceScatter, 1, 0, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn saved_and_read_again_means_the_same(
        topology in any_topology(),
        collective in prop::sample::select(vec![
            Collective::AllGather, Collective::ReduceScatter, Collective::AllReduce, Collective::Broadcast, Collective::Reduce,
            Collective::Scatter, Collective::Gather, Collective::AllToAll,
        ]),
        chunks in 1_u32..3,
        root in 0_u32..2,
        seed in 0_u64..100,
    ) {
        is_the_same_after_saving(&topology, collective, chunks, root, seed);
    }
}

/// A node of H100s with so many links to NVLink switches each.
fn switched(links: &[u32]) -> String {
    let gpu = |(dev, links): (usize, &u32)| {
        format!(
            "<pci busid=\"0000:{dev}5:00.0\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"{dev}\" sm=\"90\">\
             <nvlink target=\"0000:c1:00.0\" count=\"{links}\" tclass=\"0x068000\"/></gpu></pci>"
        )
    };
    let gpus: String = links.iter().enumerate().map(gpu).collect();
    format!("<system version=\"1\"><cpu numaid=\"0\">{gpus}</cpu></system>")
}

#[test]
fn no_port_of_a_dump_with_nvlink_switches_is_overloaded_and_the_switch_is_named() {
    let ports = [18.0, 18.0, 4.0].map(|links| links * Rates::default().link_gbps("sm_90"));
    let Dump::Machine(machine) = dump::read(&switched(&[18, 18, 4])).unwrap() else { panic!() };
    let (topology, _) = machine.topology("node", &Rates::default()).unwrap();
    for (node, port) in (0..).zip(ports) {
        let sum = |is_its: &dyn Fn(&Link) -> bool| -> f64 {
            topology.links.iter().filter(|link| is_its(link)).map(|link| link.bandwidth).sum()
        };
        let (out, into) = (sum(&|link| link.from == node), sum(&|link| link.to == node));
        assert!(out <= port * 1.000_001 && into <= port * 1.000_001, "{node}: {out} and {into} of {port}");
    }
    let folder = TempDir::new().unwrap();
    let node = write(&folder, "node.xml", switched(&[18, 18, 4]));
    let output = collectune(&["topology", "synthesize", &node, "--collective", "gather", "--root", "2", "--json"]);
    let found: Value = serde_json::from_str(&ended(&output, 0)).unwrap();
    // Two chunks go through four links of 20.6 GB/s, beside the latency.
    let least_ns = 700.0 + 2.0 * 1_048_576.0 / ports[2];
    assert!(found["time_ns"].as_f64().unwrap() >= least_ns * 0.999_999, "{found}");
    let said = text(&output.stderr);
    assert!(said.contains("The NVLink switch is unrolled: each of the 2 links out of a GPU"), "{said}");
    assert!(said.contains("could be faster through the switch"), "{said}");
    // A GPU without links of its own is reached over PCIe, in both directions.
    let bare = switched(&[18, 18, 4]).replace("<nvlink target=\"0000:c1:00.0\" count=\"4\" tclass=\"0x068000\"/>", "");
    let Dump::Machine(machine) = dump::read(&bare).unwrap() else { panic!() };
    let (topology, _) = machine.topology("node", &Rates::default()).unwrap();
    assert_eq!(topology.links.len(), 6);
    assert!(topology.links.iter().all(|link| (link.from == 2 || link.to == 2) == (link.bandwidth < 40.0)));
}

#[test]
fn what_a_fat_tree_says_of_its_links_holds_for_slow_ones_too() {
    let said = |arguments: &[&str]| {
        let output = collectune(&[&["topology", "synthesize"], arguments, &["--time-limit", "100ms"]].concat());
        ended(&output, 0);
        text(&output.stderr)
    };
    let equal = said(&["fattree:2x4"]);
    assert!(equal.contains("each of the 7 links out of a node has an equal share of its port's bandwidth"), "{equal}");
    assert!(equal.contains("nothing contends above"), "{equal}");
    let slow = said(&["fattree:2x4", "--slow-bandwidth", "5"]);
    assert!(!slow.contains("nothing contends above") && !slow.contains("equal share"), "{slow}");
    assert!(
        slow.contains("each of the 3 links out of a node within its leaf has 1/7 of its port's bandwidth"),
        "{slow}"
    );
    assert!(slow.contains("between leaves each pair of nodes has 1/7 of the slow bandwidth"), "{slow}");
    let over = said(&["fattree:2x4:3", "--slow-bandwidth", "5"]);
    assert!(over.contains("between leaves each pair of nodes has 1/12 of the slow bandwidth"), "{over}");
}

#[test]
fn a_time_that_a_schedule_does_not_take_is_a_fault() {
    let folder = TempDir::new().unwrap();
    let graph = write(
        &folder,
        "ring.csv",
        "4\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,2,500,50\n2,3,500,50\n3,0,500,50\n",
    );
    let schedule = path(&folder, "schedule.csv");
    ended(&collectune(&["topology", "synthesize", &graph, "-o", &schedule]), 0);
    let right = std::fs::read_to_string(&schedule).unwrap();
    assert!(right.contains("Collective Time,60093.75,ns"), "{right}");
    let verify = |claimed: &str, code: i32| {
        let file = write(&folder, "claimed.csv", right.replace("Collective Time,60093.75,ns", claimed));
        let output = collectune(&["topology", "verify", &file, "--graph", &graph, "--json"]);
        let found: Value = serde_json::from_str(&ended(&output, code)).unwrap();
        assert_eq!(found["verified"], code == 0, "{claimed}: {found}");
        let people = ended(&collectune(&["topology", "verify", &file, "--graph", &graph]), code);
        assert_eq!(people.contains("Nothing is wrong with it"), code == 0, "{people}");
        (found["faults"].to_string(), people)
    };
    for wrong in ["Collective Time,50000,ns", "Collective Time,60095.75,ns", "Collective Time,70,us"] {
        let (faults, people) = verify(wrong, 3);
        assert!(faults.contains("its last transfer ends at 60.094 µs") && people.contains("It can be run"), "{people}");
        assert!(people.contains("- its collective time is said to be"), "{people}");
    }
    for rounded in ["Collective Time,60094,ns", "Collective Time,60093750,ps", "Collective Time,60.0938,us"] {
        verify(rounded, 0);
    }
    // Without times only the order of the transfers is known: some may wait, and none can end earlier.
    let bare: String = right
        .replace("Chunks (ID:ns:ns)", "Chunks")
        .lines()
        .map(|line| {
            let cells = line.split(',').map(|cell| match cell.split(':').collect::<Vec<_>>()[..] {
                [chunk, _, _] => chunk,
                _ => cell,
            });
            cells.collect::<Vec<_>>().join(",") + "\n"
        })
        .collect();
    for (claimed, code) in [("50000", 3), ("60093.75", 0), ("70000", 0)] {
        let file = write(&folder, "bare.csv", bare.replace("60093.75", claimed));
        ended(&collectune(&["topology", "verify", &file, "--graph", &graph]), code);
    }
}
