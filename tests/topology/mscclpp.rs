//! Execution plans of MSCCL++: what the interpreter says of public plans and of wrong ones, and that every plan which
//! is written is right.

#![allow(clippy::unwrap_used)]

use crate::support::real;
use collectune::{
    collective::Collective,
    math::Stream,
    schedule::synthesize::Method,
    topology::{
        conditions::CollectiveRequest,
        generate::{Kind, Recipe},
        mscclpp::{FaultKind, Plan, PlanInput, Verdict, WriteError, run_in_turns, verdict, write},
    },
};
use proptest::prelude::*;
use serde_json::Value;

fn plan(name: &str) -> Verdict {
    verdict(&real::text(&format!("schedules/plans/{name}.json")))
}

/// The kinds of faults, with the GPU.
fn kinds(verdict: &Verdict) -> Vec<(FaultKind, Option<u32>)> {
    let mut kinds: Vec<_> = verdict.faults.iter().map(|fault| (fault.kind, fault.gpu)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn public_plans_are_right_but_for_one_that_is_refused_with_shared_data() {
    for (name, ranks, blocks) in [
        ("allreduce", 2, 16),
        ("allreduce_packet", 2, 4),
        ("reduce", 2, 2),
        ("reduce_pack", 2, 6),
        ("reduce_pack_tbg", 2, 12),
        ("transfer_pack", 2, 5),
        ("ring4_allgather", 4, 4),
        ("ring4_both_ways_allgather", 4, 8),
        ("full4_allgather", 4, 12),
        ("ring4_allreduce", 4, 4),
    ] {
        let found = plan(name);
        assert_eq!(found.faults, [], "{name}");
        assert_eq!((found.ranks, found.blocks, found.notes.len()), (ranks, blocks, 0), "{name}: {found:?}");
        assert!(found.sentence().starts_with("It computes its all"), "{name}");
    }
    let relaxed = plan("reduce_nvls");
    assert_eq!(relaxed.faults, []);
    assert_eq!(relaxed.notes.len(), 1);
    assert!(relaxed.notes[0].contains("ordered by relaxed signals alone"), "{:?}", relaxed.notes);
    let refused = plan("allreduce_pipeline");
    assert!(refused.sentence().starts_with("MSCCL++ does not run it"), "{}", refused.sentence());
    for why in ["output_chunks is 0, and MSCCL++ divides by it", "a switch channel has no buffer_type"] {
        assert!(refused.faults.iter().any(|fault| fault.what == why), "{why}: {:?}", refused.faults);
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn faults_are_found_where_they_were_made_with_shared_data() {
    use FaultKind::{Data, Deadlock, Early, Late, LeftOver, NoSync, Race};
    let of_kind = |name: &str| {
        let mut kinds: Vec<FaultKind> = plan(name).faults.iter().map(|fault| fault.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    };
    // The signals for which nobody waits are left over as well.
    assert_eq!(of_kind("wrong_reduce_no_wait"), [Race, Early, Late, LeftOver, Data]);
    let stands = plan("wrong_allreduce_no_signal");
    assert_eq!(stands.faults.len(), 1, "{:?}", stands.faults);
    let fault = &stands.faults[0];
    assert_eq!((fault.kind, fault.gpu, fault.block, fault.operation), (Deadlock, Some(0), Some(3), Some(6)));
    let chunk = plan("wrong_ring4_chunk");
    assert_eq!(kinds(&chunk), [(Data, Some(0)), (Data, Some(3))], "{:?}", chunk.faults);
    assert!(chunk.faults.iter().all(|fault| fault.what == "ends with the wrong chunk 1"), "{:?}", chunk.faults);
    assert_eq!(kinds(&plan("wrong_ring4_no_nop")), [(NoSync, Some(1))]);
    let early: Vec<_> = (0..4).map(|gpu| (Early, Some(gpu))).collect();
    let found = plan("wrong_ring4_no_handshake");
    assert_eq!((kinds(&found), found.faults.len()), (early, 4), "{:?}", found.faults);
}

/// A schedule of a form as a plan.
fn written(form: &str, collective: Collective, chunks: u32, nodes: Option<&[Vec<u32>]>) -> Result<String, WriteError> {
    let recipe = Recipe::new(Kind::parse(form).unwrap());
    let topology = recipe.make().unwrap();
    let wanted = CollectiveRequest { collective: Some(collective), chunks, ..CollectiveRequest::default() };
    let (search, _) = crate::schedules::searched(&topology, &wanted, Method::Auto, 1, 200_000);
    let (schedule, _) = search.best().unwrap();
    let graph = &search.problem.graph;
    let name = format!("{form} {collective}");
    write(&PlanInput { name: &name, graph, schedule: &schedule, collective, chunks: chunks as usize, nodes })
}

#[test]
fn every_plan_that_is_written_is_right() {
    for form in ["ring:4", "ring:5", "torus:4x4", "hypercube:3", "full:4", "full:8", "dgx1v", "mesh:3x3"] {
        for collective in [Collective::AllGather, Collective::ReduceScatter, Collective::AllReduce] {
            for chunks in [1, 2] {
                let text =
                    written(form, collective, chunks, None).unwrap_or_else(|why| panic!("{form} {collective}: {why}"));
                let found = verdict(&text);
                assert_eq!((found.faults, found.notes), (vec![], vec![]), "{form} {collective} {chunks}\n{text}");
            }
        }
    }
}

#[test]
fn plans_have_the_operations_that_their_links_need() {
    let counts = |form: &str, collective: Collective| {
        let text = written(form, collective, 1, None).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        let gpu = &json["gpus"][0];
        let blocks = gpu["threadblocks"].as_array().unwrap().iter();
        let operations: Vec<usize> = blocks.map(|block| block["ops"].as_array().unwrap().len()).collect();
        (operations, gpu["channels"].to_string(), gpu["scratch_chunks"].as_u64().unwrap())
    };
    let (operations, channels, scratch) = counts("full:4", Collective::AllGather);
    assert_eq!((operations, scratch), (vec![8, 5, 5], 0));
    assert!(channels.contains("[1,1,2,2,3,3]"), "{channels}");
    let (operations, channels, scratch) = counts("ring:4:one-way", Collective::AllGather);
    assert_eq!((operations, scratch), (vec![18], 0));
    assert!(channels.contains("[1,3]"), "{channels}");
    // Half of what goes round adds up in scratch.
    let (operations, _, scratch) = counts("ring:4:one-way", Collective::AllReduce);
    assert_eq!((operations, scratch), (vec![39], 3));
}

/// A plan with one change, drawn from a stream: an operation is dropped or swapped with the next, or a number is
/// shifted.
fn changed(text: &str, stream: &mut Stream) -> String {
    let mut json: Value = serde_json::from_str(text).unwrap();
    let gpus = json["gpus"].as_array_mut().unwrap();
    let gpu = stream.below(gpus.len());
    let blocks = gpus[gpu]["threadblocks"].as_array_mut().unwrap();
    let block = stream.below(blocks.len());
    let operations = blocks[block]["ops"].as_array_mut().unwrap();
    let at = stream.below(operations.len() - 1);
    match stream.below(3) {
        0 => drop(operations.remove(at)),
        1 => operations.swap(at, at + 1),
        _ => {
            let buffers: Vec<usize> =
                (0..operations.len()).filter(|at| operations[*at].get("src_buff").is_some()).collect();
            let at = buffers[stream.below(buffers.len())];
            let key = ["src_buff", "dst_buff"][stream.below(2)];
            let index = &mut operations[at][key][0]["index"];
            *index = Value::from(if *index == 0 { 1 } else { index.as_u64().unwrap() - 1 });
        }
    }
    json.to_string()
}

#[test]
fn changed_plans_that_pass_are_right_in_any_order() {
    let plans: Vec<String> = [
        ("ring:4", Collective::AllGather),
        ("full:4", Collective::AllReduce),
        ("ring:4", Collective::ReduceScatter),
        ("hypercube:3", Collective::AllReduce),
    ]
    .into_iter()
    .map(|(form, collective)| written(form, collective, 1, None).unwrap())
    .collect();
    let mut stream = Stream::new(7);
    let mut passed = 0;
    for round in 0..200 {
        let text = changed(&plans[round % plans.len()], &mut stream);
        if !verdict(&text).faults.is_empty() {
            continue;
        }
        passed += 1;
        let plan = Plan::read(&text).unwrap();
        for seed in 0..100 {
            assert_eq!(run_in_turns(&plan, Some(seed)).faults, [], "{round}, {seed}");
        }
    }
    // What does no harm: a doubled barrier less, two operations that do not depend on each other in another order.
    assert!((2..=60).contains(&passed), "{passed} of 200");
}

/// A plan of two GPUs, of which the first thread blocks are given, with four chunks in each buffer.
fn of_two(collective: &str, whole: &str, operations: [&str; 2]) -> String {
    let gpu = |rank: usize| {
        let peer = 1 - rank;
        let remote = |letter: &str, kind: &str| {
            format!("{{\"rank\": {peer}, \"type\": \"{letter}\", \"access_channel_types\": [\"{kind}\"]}}")
        };
        let remotes: Vec<String> =
            ["memory", "port"].iter().flat_map(|kind| ["i", "s"].map(|letter| remote(letter, kind))).collect();
        format!(
            "{{\"id\": {rank}, \"input_chunks\": 4, \"output_chunks\": 4, \"scratch_chunks\": 4, \"channels\": \
             [{{\"channel_type\": \"memory\", \"connected_to\": [{peer}, {peer}]}}, {{\"channel_type\": \"port\", \
             \"connected_to\": [{peer}, {peer}]}}], \"remote_buffers\": [{}], \"threadblocks\": [{{\"id\": 0, \"ops\": [{}], \
             \"channels\": [{{\"channel_type\": \"memory\", \"channel_ids\": [0, 1]}}, {{\"channel_type\": \"port\", \
             \"channel_ids\": [0, 1]}}], \"remote_buffer_refs\": [{{\"access_channel_type\": \"memory\", \
             \"remote_buffer_ids\": [0, 1]}}, {{\"access_channel_type\": \"port\", \"remote_buffer_ids\": [2, 3]}}]}}]}}",
            remotes.join(", "),
            operations[rank]
        )
    };
    format!(
        "{{\"name\": \"two\", \"collective\": \"{collective}\", \"protocol\": \"Simple\", \"inplace\": true, {whole} \
         \"gpus\": [{}, {}]}}",
        gpu(0),
        gpu(1)
    )
}

/// Operations of [`of_two`], in words: `put i0 s1 port`, `signal 0 1 port`, `wait 0`, `copy i0 s0`, `nop`.
fn operations(words: &str) -> String {
    let one = |operation: &str| {
        let words: Vec<&str> = operation.split_whitespace().collect();
        let kind = if words.contains(&"port") { "port" } else { "memory" };
        let channels: Vec<&str> = words[1..].iter().filter(|word| word.parse::<u32>().is_ok()).copied().collect();
        let spans: Vec<&str> =
            words[1..].iter().filter(|word| word.starts_with(['i', 's', 'I', 'S'])).copied().collect();
        let span = |word: &str| {
            let (letter, index) = word.split_at(1);
            let buffer = match letter {
                "I" => "\"buffer_id\": 0".to_owned(),
                "S" => "\"buffer_id\": 1".to_owned(),
                local => format!("\"type\": \"{local}\""),
            };
            format!("{{{buffer}, \"index\": {index}, \"size\": 1}}")
        };
        let (sources, destinations) = spans.split_at(if words[0] == "flush" { 0 } else { spans.len().div_ceil(2) });
        let list = |spans: &[&str]| spans.iter().map(|word| span(word)).collect::<Vec<_>>().join(", ");
        let mut text = format!("{{\"name\": \"{}\"", words[0]);
        if !sources.is_empty() {
            text += &format!(", \"src_buff\": [{}]", list(sources));
        }
        if !destinations.is_empty() {
            text += &format!(", \"dst_buff\": [{}]", list(destinations));
        }
        if !channels.is_empty() {
            text += &format!(", \"channel_ids\": [{}]", channels.join(", "));
        }
        text + &format!(", \"channel_type\": \"{kind}\"}}")
    };
    words.split(';').map(one).collect::<Vec<_>>().join(", ")
}

/// What is wrong with a plan of an unknown collective on two GPUs, and what is noted.
fn said_of_two(whole: &str, first: &str, second: &str) -> (String, Vec<String>) {
    let found = verdict(&of_two("none", whole, [&operations(first), &operations(second)]));
    (found.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "), found.notes)
}

#[test]
fn a_put_over_a_port_ends_when_its_port_says_so() {
    let says = |first: &str, second: &str| said_of_two("", first, second).0;
    // The same thread puts and signals: the proxy keeps the order, and the answer says that it is done.
    let answers = "signal 1; wait 0 port; nop; signal 0; nop; wait 1";
    assert_eq!(says("wait 1; put i0 I1 0 port; signal 0 port; wait 0; nop; signal 1", answers), "");
    // Without an answer the source may still be read at the end.
    let silent = "signal 1; wait 0 port";
    let said = says("wait 1; put i0 I1 0 port; signal 0 port", silent);
    assert!(
        said.contains("put may still access user buffers of GPU 0 when that has ended, for nothing flushes"),
        "{said}"
    );
    assert_eq!(says("wait 1; put i0 I1 0 port; signal 0 port; flush 0 i0 port", silent), "");
    // The kernel counts destinations.
    let (said, notes) = said_of_two("", "wait 1; put i0 I1 0 port; signal 0 port; flush 0 port", silent);
    assert!(said.contains("(late)"), "{said}");
    assert_eq!(notes, ["A flush waits for as many channels as it has destinations in dst_buff, and one has fewer."]);
    // The signal of another channel does not wait for the put, be it a port or memory.
    for signal in ["signal 1 port", "signal 0"] {
        let wait = signal.replace("signal", "wait");
        let first = format!("wait 1; put i0 I1 0 port; nop; {signal}; flush 0 i0 port");
        let said = says(&first, &format!("signal 1; {wait}; nop; copy i1 s0"));
        assert!(
            said.contains(
                "copy accesses chunk 1 of i on GPU 1 in no order with GPU 0, thread block 0, operation 1, whose put"
            ),
            "{signal}: {said}"
        );
    }
    // Another thread's signal may overtake the put.
    let said = says("wait 1; nop; put i0 I1 0 port; signal 1 0 port; flush 0 i0 port", "signal 1; wait 0 1 port");
    assert!(said.contains("signal with no nop after another thread put over its port (no barrier)"), "{said}");
    // What is written is not there for the thread that puts.
    let said = says("wait 1; nop; copy i1 i0; put i0 I1 0 port; nop; signal 0 port; flush 0 i0 port", silent);
    assert!(said.contains("put and operation 2 access chunk 0 of i on GPU 0 with no nop between"), "{said}");
    // The source is overwritten while the proxy may still read it.
    let said = says("wait 1; put i0 I1 0 port; nop; copy i1 i0; nop; signal 0 port; flush 0 i0 port", silent);
    assert!(said.contains("copy accesses chunk 0 of i on GPU 0 in no order with GPU 0"), "{said}");
}

#[test]
fn scratch_is_not_overwritten_before_the_launch_before_is_done_with_it() {
    let says = |whole: &str, first: &str, second: &str| said_of_two(whole, first, second).0;
    // The first does not hear from the second before it writes there again.
    let takes = "wait 0; nop; copy s1 i0";
    let said = says("", "put i0 S1; nop; signal 0", takes);
    assert_eq!(
        said,
        "gpu 0, thread block 0, operation 0: put writes chunk 1 of s on GPU 1, where GPU 1 may not be done with the \
         launch before (early)"
    );
    let handshake = format!("rlxsignal 1; {takes}");
    assert_eq!(says("", "rlxwait 1; nop; put i0 S1; nop; signal 0", &handshake), "");
    let answers = format!("{takes}; nop; signal 1");
    assert_eq!(says("", "put i0 S1; nop; signal 0; wait 1", &answers), "");
    // A put over a port into scratch may come after the next launch has begun there.
    let said = says("", "rlxwait 1; nop; put i0 S1 0 port", "rlxsignal 1; copy i0 s1");
    assert!(said.contains("(race)"), "{said}");
}

#[test]
fn operands_that_the_kernel_takes_otherwise_are_refused() {
    let says = |whole: &str, first: &str| {
        let found = verdict(&of_two("none", whole, [&operations(first), &operations("nop")]));
        assert!(found.sentence().starts_with("MSCCL++ does not run it"), "{}", found.sentence());
        found.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    let at = "gpu 0, thread block 0, operation 0: ";
    for (operation, what) in [
        ("put i0 s1 I0 I1", "put takes all sources from the buffer of the first"),
        ("put i0 i1 I0", "put takes a source for each destination, and has 2 and 1"),
        ("put I0 i0", "put takes its source 0 as a local buffer, and it is a remote buffer"),
        ("copy i0 I0", "copy takes its destination 0 as a local buffer, and it is a remote buffer"),
        ("pws i0 I0 0", "pws sends no signal over memory"),
        ("pwsf i0 I0 0 port", "pwsf reads from a wrong place over ports"),
        ("put i0 I0 port", "put takes a channel for each of its 1 destinations, and has 0"),
        ("re i0 s0 i1 i2", "re passes over its destination 1"),
    ] {
        let said = says("", operation);
        assert!(said.starts_with(&format!("{at}{what}")), "{operation}: {said}");
    }
    let said = says("\"use_double_scratch_buffer\": true,", "put i0 S0");
    assert!(said.contains("accesses scratch of another GPU always in its first half"), "{said}");
    let plain = written("ring:4", Collective::AllReduce, 1, None).unwrap();
    let other = verdict(&plain.replace("\"reduce_op\": \"sum\"", "\"reduce_op\": \"max\""));
    assert_eq!(other.notes, ["reduce_op \"max\" has no effect: MSCCL++ always adds."]);
}

#[test]
fn plans_of_many_chunks_are_written_for_every_collective() {
    for (form, most) in
        [("ring:2", 16), ("ring:4", 16), ("full:4", 16), ("hypercube:3", 8), ("dgx1v", 8), ("mesh:3x3", 4)]
    {
        for collective in [Collective::AllGather, Collective::ReduceScatter, Collective::AllReduce] {
            let text = written(form, collective, most, None).unwrap_or_else(|why| panic!("{form} {collective}: {why}"));
            assert_eq!(verdict(&text).faults, [], "{form} {collective}");
        }
    }
}

#[test]
fn a_plan_between_nodes_uses_ports_there() {
    for (form, groups) in [("ring:8", [vec![0, 1, 2, 3], vec![4, 5, 6, 7]]), ("full:4", [vec![0, 1], vec![2, 3]])] {
        for collective in [Collective::AllGather, Collective::ReduceScatter, Collective::AllReduce] {
            for chunks in [1, 3] {
                let text =
                    written(form, collective, chunks, Some(&groups)).unwrap_or_else(|why| panic!("{form}: {why}"));
                assert!(text.contains("\"port\""), "{form} {collective}");
                assert_eq!(verdict(&text).faults, [], "{form} {collective} {chunks}");
                assert_eq!(verdict(&text).notes, [""; 0], "{form} {collective} {chunks}");
            }
        }
    }
    let groups = [vec![0, 1], vec![2, 3]];
    let text = written("ring:4", Collective::AllReduce, 1, Some(&groups)).unwrap();
    assert_eq!(verdict(&text).faults, []);
    let json: Value = serde_json::from_str(&text).unwrap();
    let channels = json["gpus"][0]["channels"].to_string();
    assert!(channels.contains("\"memory\"") && channels.contains("\"port\""), "{channels}");
    let port = &json["gpus"][0]["channels"][1];
    assert_eq!((port["channel_type"].as_str(), port["connected_to"][0].as_u64()), (Some("port"), Some(3)));
}

#[test]
fn what_can_not_be_written_is_refused_with_a_remedy() {
    let refused = |form: &str, collective, chunks| written(form, collective, chunks, None).unwrap_err().to_string();
    assert!(
        refused("ring:4", Collective::Broadcast, 1).contains("for all_gather, reduce_scatter and all_reduce one is")
    );
    let many = written("ring:8", Collective::AllGather, 64, None);
    assert!(many.as_ref().is_ok_and(|text| verdict(text).faults.is_empty()) || many.is_err(), "{many:?}");
}

#[test]
fn what_is_no_plan_is_said_with_its_place() {
    let says = |text: &str| verdict(text).faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    assert!(says("{").contains("is no JSON"));
    let empty = says("{\"gpus\": []}");
    assert!(empty.contains("collective is no text (schema)") && empty.contains("inplace is neither"), "{empty}");
    let text = written("ring:4", Collective::AllGather, 1, None).unwrap();
    let wrong = |from: &str, to: &str| says(&text.replacen(from, to, 1));
    let said = wrong("\"name\": \"signal\"", "\"name\": \"shout\"");
    assert!(said.starts_with("gpu 0, thread block 0, operation 5: there is no operation \"shout\" (load)"), "{said}");
    let said = wrong("\"connected_to\": [1", "\"connected_to\": [2");
    assert!(said.contains("has no memory channel back"), "{said}");
    let said = wrong("\"index\": 0, \"size\": 1", "\"index\": 9, \"size\": 1");
    assert!(said.contains("chunks 9 to 9 of o on GPU 0, which has 4 (bounds)"), "{said}");
    let unknown = verdict(&text.replace("allgather", "gossip<b>"));
    assert!(unknown.sentence().ends_with("what \"gossip<b>\" computes is not known here."), "{}", unknown.sentence());
    let said = says(&text.replacen("\"buffer_alignment\": 16", "\"buffer_alignment\": 0", 1));
    assert_eq!(said, "buffer_alignment is 0 (load)");
    let signal = "{\"name\": \"signal\", \"channel_ids\": [1], \"channel_type\": \"memory\"}";
    let one_way = written("ring:4:one-way", Collective::AllGather, 1, None).unwrap();
    let said = says(&one_way.replacen(signal, &format!("{signal}, {signal}"), 1));
    assert!(said.contains("leaves for the next launch 1 signal from GPU 0 without a wait (left over)"), "{said}");
    let said = wrong("\"output_chunks\": 4", "\"output_chunks\": 5");
    assert!(said.contains("GPU 0 has 1 chunks of input and 5 of output, which is no allgather"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_numbers_are_survived(places in prop::collection::vec((0_usize..6000, 0_u32..100), 1..8)) {
        let mut text = written("ring:4", Collective::AllReduce, 1, None).unwrap();
        for (place, number) in places {
            // The next digit after the place becomes another number.
            if let Some(at) = text.get(place..).and_then(|rest| rest.find(|c: char| c.is_ascii_digit())) {
                text.replace_range(place + at..place + at + 1, &number.to_string());
            }
        }
        let found = verdict(&text);
        prop_assert!(found.faults.iter().all(|fault| !fault.what.is_empty()));
        prop_assert!(!found.sentence().is_empty());
    }
}
