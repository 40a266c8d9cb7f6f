//! Readers of links, machines, schedules and conditions, and what is done with what they read.

use collectune::{
    collective::Collective,
    form::Choices,
    intake::{self, FileContent, Outcome},
    progress::Silent,
    registry::Studies,
    report::Workbench,
    schedule::synthesize::{Method, Search},
    topology::network::Network,
    topology::{
        conditions::{CollectiveRequest, read_custom},
        dump::{self, Dump, Rates},
        generate::{Kind, Recipe},
        layout,
        model::{Topology, Unit},
        msccl, mscclpp,
        nccl_graph::{self, GraphError},
        read, result, study,
    },
    workbench::{AttachmentKind, ReportContext, WorkbenchAnswer, WorkbenchQuestion},
};

/// Graphs up to this size are searched.
const SMALL: u32 = 12;

fn known(bytes: &[u8]) {
    let (report, content) = intake::open(bytes, "a.csv", bytes.len() as u64, 1, None, &mut Silent);
    if let Outcome::Known { problems, .. } = &report.outcome {
        assert!(problems.kept.iter().all(|problem| problem.line > 0), "a problem without a place");
    }
    assert!(!matches!(content, FileContent::Topology(_)) || matches!(report.outcome, Outcome::Known { .. }));
}

/// Nodes have places, and what is found passes the verifier and is never below what is proven.
fn search(topology: &Topology, wanted: &CollectiveRequest) {
    assert_eq!(layout::places(topology).len(), topology.nodes as usize, "a node without a place");
    if topology.nodes > SMALL || topology.links.len() > 64 || wanted.chunks > 4 {
        return;
    }
    let Ok((problem, clock)) = wanted.problem(topology) else { return };
    let mut search = Search::new(problem, Method::Earliest, 1);
    search.work(2000);
    if let Some((schedule, _)) = search.best() {
        assert_eq!(search.problem.faults(&schedule), [], "a wrong schedule");
        assert!(search.time() >= Some(search.bound()), "below the bound");
        assert!(clock.ns(schedule.end(&search.problem.graph)).is_finite(), "no time");
    }
}

/// A topology; its notes, its places, a schedule on it.
pub fn topologies(bytes: &[u8]) {
    known(bytes);
    let text = String::from_utf8_lossy(bytes);
    for merge in [false, true] {
        if let Ok(reading) = read::read(&text, "a", read::Options { unit: Unit::Gib, merge }) {
            search(&reading.topology, &CollectiveRequest::default());
            let reduce = CollectiveRequest { collective: Some(Collective::AllReduce), ..CollectiveRequest::default() };
            search(&reading.topology, &reduce);
        } else if let Err(error) = read::read(&text, "a", read::Options { unit: Unit::Gib, merge }) {
            assert!(error.0.iter().all(|problem| problem.line > 0), "a problem without a place");
        }
    }
}

/// A result file, checked on its own links and on others.
pub fn results(bytes: &[u8]) {
    known(bytes);
    let Ok(file) = result::read(&String::from_utf8_lossy(bytes), "a", Unit::Gib) else { return };
    if file.topology.nodes > SMALL || file.chunks > 64 {
        return;
    }
    let _ = study::check(&file, None, None);
    let ring = Recipe::new(Kind::Ring { nodes: 5, one_way: false }).make().ok();
    let reduce = CollectiveRequest { collective: Some(Collective::AllReduce), ..CollectiveRequest::default() };
    let _ = study::check(&file, ring.as_ref(), Some(reduce));
}

/// A dump: its links, and the rings and trees over a machine.
pub fn dumps(bytes: &[u8]) {
    known(bytes);
    match dump::read(&String::from_utf8_lossy(bytes)) {
        Ok(Dump::Machine(machine)) => {
            let _ = machine.listing();
            // What is written fits what the links give.
            if machine.gpus.len() <= 4
                && let Err(GraphError::Faulty(why)) = nccl_graph::rings(&machine, &Rates::default())
            {
                panic!("{why}");
            }
            for nodes in [1, 2, 1000] {
                let Ok((topology, _)) = machine.topology("a", &Rates { nodes, ..Rates::default() }) else { continue };
                if nodes < 3 && topology.graph(1 << 20).is_ok() {
                    search(&topology, &CollectiveRequest::default());
                }
            }
        }
        Ok(Dump::Patterns(graphs)) => {
            for (pattern, stated) in graphs.patterns.iter().zip(&graphs.stated) {
                let _ = nccl_graph::check(pattern, stated, None);
            }
            let full = Recipe::new(Kind::Full(8)).make();
            for mut pattern in graphs.patterns {
                let Ok(full) = &full else { return };
                let takes = pattern.takes_ns(Collective::AllReduce, full, None, 1 << 20);
                assert!(takes.is_none_or(|ns| ns >= 0.0), "a time that is none");
                pattern.nodes = 3;
                let _ = (pattern.edges(None), pattern.edges(Some(1)));
            }
        }
        Err(why) => assert!(!why.is_empty(), "refused for no reason"),
    }
}

/// An algorithm of MSCCL: what is read is written and read again, and runs or does not.
pub fn algorithms(bytes: &[u8]) {
    known(bytes);
    let Ok(algo) = msccl::Algo::read(&String::from_utf8_lossy(bytes)) else { return };
    let again = msccl::Algo::read(&algo.to_xml());
    assert_eq!(again.as_ref(), Ok(&algo), "it reads otherwise than it was written");
    let _ = msccl::verdict(&algo);
}

/// Plans of MSCCL++, which are run.
pub fn plans(bytes: &[u8]) {
    known(bytes);
    let found = mscclpp::verdict(&String::from_utf8_lossy(bytes));
    assert!(!found.sentence().is_empty());
}

/// Conditions, as a search takes them.
pub fn conditions(bytes: &[u8]) {
    known(bytes);
    let Ok((custom, size)) = read_custom(&String::from_utf8_lossy(bytes)) else { return };
    let Ok(line) = Recipe::new(Kind::Line(4)).make() else { return };
    let chunk_bytes = size.unwrap_or(1 << 20);
    let wanted =
        CollectiveRequest { collective: None, chunk_bytes, custom: Some(custom), ..CollectiveRequest::default() };
    search(&line, &wanted);
    for dead in [[0].as_slice(), &[1, 3]] {
        let _ = wanted.without(dead);
    }
}

/// What an address says of links: whatever it is, the form stays.
pub fn choices(bytes: &[u8]) {
    let mut choices = Choices::parse(&String::from_utf8_lossy(bytes));
    // Sizes that take long are another matter.
    choices.set("limit", "0.1");
    let is_small = |text: &str| text.split(|c: char| !c.is_ascii_digit()).all(|number| number.len() < 2);
    for key in
        ["ring", "line", "mesh", "torus", "hypercube", "full", "switch", "fattree", "twogroups", "random", "chunks"]
    {
        if !choices.get(key).is_none_or(is_small) || choices.get("hypercube").is_some_and(|of| of > "3") {
            return;
        }
    }
    let mut studies = Studies::default();
    let shown =
        studies.answer(Workbench::Topology, WorkbenchQuestion::Choose(choices), ReportContext::default(), &mut Silent);
    let Ok(WorkbenchAnswer::Shown(shown)) = shown else { panic!("no form") };
    assert!(shown.form.iter().any(|field| field.key == "graph"), "the form is gone");
    let network = shown.attachment::<Network>(AttachmentKind::Network);
    assert!(network.is_some_and(|network| {
        network.timelines.iter().all(|(_, timeline)| timeline.nodes as usize == network.alive().len())
    }));
}

pub fn topology_files() -> [&'static str; 3] {
    [
        "5\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n1,2,500,50\n2,3,500,1\n3,2,500,1\n3,4,500,50\n4,0,500,50\n",
        "3\nBandwidth (GiB/s)\tDst\tsource\tLatency (us)\n50.5\t1\t0\t0.5\n50\t2\t1\t1\n25\t0\t2\t1\n",
        "3\n# a triangle\n0;1;5e2;1e1\n1;2;500;inf\n2;0;1;0.5\n1;0;3;7\n",
    ]
}

pub fn result_files() -> [&'static str; 3] {
    [
        "NPUs Count,3\nLinks Count,3\nChunks Count,3\nChunk Size,1048576,B\nCollective Time,40062500,ps\nSrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks (ID:ps)\n0,1,500,50,0:20031250:0,2:40062500:20031250\n1,2,500,50,1:20031250:0,0:40062500:20031250\n2,0,500,50,2:20031250:0,1:40062500:20031250\n",
        "NPUs Count,3\r\nLinks Count,3\r\nChunks Count,3\r\nChunk Size,1048576\r\nCollective Time,40062.5,ns\r\nSynthesis Time,0.1,s\r\nSrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks (ID:ns:ns)\r\n0,1,500,50,0:0:20031.25,2:20031.25:40062.5\r\n1,2,500,50,1:0:20031.25,0:20031.25:40062.5\r\n2,0,500,50,2:0:20031.25,1:20031.25:40062.5\r\n",
        "NPUs Count,2\nLinks Count,2\nChunks Count,2\nChunk Size,1048576,B\nSrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks\n0,1,500,50,0,None\n1,0,500,50,1\n",
    ]
}

pub fn dump_files() -> [&'static str; 3] {
    [
        "<system version=\"1\">\n<cpu numaid=\"0\" affinity=\"f\" arch=\"x86_64\">\n<pci busid=\"0000:0a:00.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n<pci busid=\"0000:0b:00.0\" link_speed=\"32 GT/s\" link_width=\"16\"><gpu dev=\"0\" gcn=\"gfx950\" rank=\"0\"><xgmi target=\"0000:0c:00.0\" count=\"1\" tclass=\"0x120000\"/></gpu></pci>\n<pci busid=\"0000:0c:00.0\"><gpu dev=\"1\" gcn=\"gfx950\"><xgmi target=\"0000:0b:00.0\" count=\"2\"/></gpu></pci>\n<pci busid=\"0000:0d:00.0\"><nic><net name=\"ionic_0\" dev=\"0\" speed=\"400000\"/></nic></pci>\n</pci></cpu></system>\n",
        "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"a\"><gpu dev=\"0x1\" sm=\"90\"><nvlink target=\"b\" count=\"18\" tclass=\"0x068000\"/></gpu></pci><pci busid=\"b\"><gpu dev=\"0\" sm=\"70\"/></pci></cpu></system>",
        "<graphs version=\"1\"><graph id=\"0\" pattern=\"4\" nchannels=\"2\" speedintra=\"12\"><channel><net dev=\"0\"/><gpu dev=\"0\"/><gpu dev=\"0x1\"/><gpu dev=\"2\"/><net dev=\"1\"/></channel><channel><gpu dev=\"1\"/><gpu dev=\"0\"/></channel></graph><graph id=\"1\" pattern=\"1\"><channel><gpu dev=\"7\"/><gpu dev=\"3\"/></channel></graph></graphs>",
    ]
}

/// An exported algorithm, and a short one by hand.
/// A small plan for each collective.
pub fn plan_files() -> Vec<String> {
    saved("plan", &[Collective::AllGather, Collective::AllReduce, Collective::ReduceScatter])
}

pub fn algorithm_files() -> Vec<String> {
    let by_hand = "<algo name=\"t\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"allgather\" inplace=\"1\" outofplace=\"0\" minBytes=\"0\" maxBytes=\"0\"><gpu id=\"0\" i_chunks=\"0\" o_chunks=\"2\" s_chunks=\"0\"><tb id=\"0\" send=\"1\" recv=\"1\" chan=\"0\"><step s=\"0\" type=\"s\" srcbuf=\"o\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/><step s=\"1\" type=\"r\" srcbuf=\"o\" srcoff=\"1\" dstbuf=\"o\" dstoff=\"1\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/></tb></gpu><gpu id=\"1\" i_chunks=\"0\" o_chunks=\"2\" s_chunks=\"0\"><tb id=\"0\" send=\"0\" recv=\"0\" chan=\"0\"><step s=\"0\" type=\"r\" srcbuf=\"o\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/><step s=\"1\" type=\"s\" srcbuf=\"o\" srcoff=\"1\" dstbuf=\"o\" dstoff=\"1\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/></tb></gpu></algo>";
    let mut all = vec![by_hand.to_owned()];
    all.extend(saved("xml", &[Collective::AllGather, Collective::AllReduce, Collective::AllToAll]));
    all
}

/// Schedules of a ring as files of a kind.
fn saved(kind: &str, collectives: &[Collective]) -> Vec<String> {
    let mut all = Vec::new();
    for collective in collectives {
        let mut studies = Studies::default();
        let choices = Choices::parse(&format!("#graph=ring&ring=3&limit=0.1&collective={}", collective.name()));
        let ask = WorkbenchQuestion::Choose(choices);
        let _ = studies.answer(Workbench::Topology, ask, ReportContext::default(), &mut Silent);
        let ask = WorkbenchQuestion::Save(kind.to_owned());
        if let Ok(WorkbenchAnswer::File(file)) =
            studies.answer(Workbench::Topology, ask, ReportContext::default(), &mut Silent)
        {
            all.push(file.text);
        }
    }
    all
}

pub fn condition_files() -> [&'static str; 2] {
    [
        r#"{"chunk_size": 1048576, "chunks": [7, "x"], "preconditions": {"0": [7], "1": ["x"], "2": ["x"]}, "postconditions": {"3": [7, "x"], "0": [7]}}"#,
        r#"{"chunks": [0], "preconditions": {"0": [0]}, "postconditions": {"1": [0], "2": [0]}}"#,
    ]
}

pub fn fragments() -> [&'static str; 4] {
    [
        "#v=1&w=topology&graph=ring&ring=5&cut=0-1,1-0&slow=2-3*0.1&dead=4&weak=3*0.5&add=0-2,2-0*25*700&remove=1-2",
        "#graph=mesh&mesh=2x3&collective=own&conditions=0%20-%3E%201,2%0A3%20-%3E%20all&chunk=64K&latency=10&slower=5",
        "#graph=fattree&fattree=2x3:2&collective=broadcast&root=2&chunks=2&by=restarts&unit=gb&with=tacos,earliest&seeds=5",
        "#graph=random&random=8:2:1&collective=alltoall&by=exact&seed=3&sigma=0.3&draws=9&every=1&dead=1,2",
    ]
}
