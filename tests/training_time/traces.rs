//! Traces of torch.profiler as measured steps.
//!
//! `cargo test --test training_time traces -- --nocapture` prints how much nearer a traced step brings an answer.

use std::ops::ControlFlow;

use collectune::{
    collective::Collective,
    intake::{self, FileContent, Outcome},
    math::{Stream, exp, ln},
    progress::Silent,
    training_time::{
        catalogue::Catalogue,
        estimate::{
            device::{Device, Precision},
            efficiency::AttentionKernel,
            factors::{LEARNT, MeasuredColumns},
            given_layout::GivenLayout,
            listing,
            question::{EstimateSettings, Estimated},
            stack::{Recomputation, Sharding, Stack},
            step::{Degrees, Schedule, StepColumns, StepQuestion},
        },
        models::{Transformer, known},
        read::TrainingFile,
        samples::Communicator,
        trace::{self, ProcessGroup, Trace, TraceError, TracedParts},
    },
};
use proptest::prelude::*;

use super::support::real;

/// The traces of a file that was dropped.
fn all_opened(name: &str, bytes: &[u8]) -> (Outcome, Vec<Trace>) {
    let (report, content) = intake::open(bytes, name, bytes.len() as u64, 0, None, &mut Silent);
    let traces = match content {
        FileContent::Training(file) => match file.part {
            TrainingFile::Traces(traces) => traces,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    (report.outcome, traces)
}

/// The trace of a file that was dropped.
fn opened(name: &str, bytes: &[u8]) -> (Outcome, Option<Trace>) {
    let (outcome, mut traces) = all_opened(name, bytes);
    (outcome, traces.pop())
}

fn real_trace(name: &str) -> Trace {
    opened(name, &real::file(&format!("jobs/{name}"))).1.unwrap()
}

/// The figures of the specification of traces, section 8: computed there by another program.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn real_traces_have_the_published_figures() {
    let trace = real_trace("hta_nccl_data.json.gz");
    assert_eq!((trace.steps, trace.world_size, trace.gpu.as_deref()), (3, Some(2), Some("NVIDIA A100-PG509-200")));
    let parts = trace.parts;
    for (found, published) in [(parts.exposed_us, 39_559.466), (parts.communication_us, 46_876.492)] {
        assert!((found * 3.0 / published - 1.0).abs() < 1e-6, "{} is not {published}", found * 3.0);
    }
    // The three steps, and 0.1 ms between them.
    assert!((0.0..200.0).contains(&(trace.step_us * 3.0 - 667_105.339)), "{}", trace.step_us);
    // The steps of ResNet-50: its parameters are reduced once a step, three times.
    let reduced: Vec<_> = trace.collectives.iter().filter(|of| of.collective == Collective::AllReduce).collect();
    let elements: f64 = reduced.iter().map(|of| of.size_bytes / 4.0).sum();
    assert!((elements, reduced.iter().all(|of| of.calls == 3)) == (25_557_032.0, true), "{reduced:?}");
    assert!(reduced.iter().all(|of| of.over(8) == Communicator { nodes: 1, per_node: 2 }));
    assert_eq!(trace.inputs, None);

    let amd = real_trace("tracelens_mi300_resnet.json.gz");
    assert_eq!((amd.steps, amd.gpu.as_deref()), (3, Some("AMD Instinct MI300X")));
    assert_eq!(amd.left_out, ["the sizes of 5 kernels of collectives, which it does not say"]);
    let sizes: Vec<f64> = amd.collectives.iter().map(|of| of.size_bytes).collect();
    assert_eq!(sizes, [2.0 * 2_873_320.0, 2.0 * 8_816_192.0]);
    // A trace of a job of 128 ranks.
    assert_eq!(real_trace("hta_sampled_rank-0.json.gz").world_size, Some(128));
}

/// An event of a trace.
fn traced(cat: &str, name: &str, at_ms: f64, time_ms: f64, args: &str) -> String {
    let (ts, dur) = (1e3 * at_ms, 1e3 * time_ms);
    format!(
        r#"{{"ph": "X", "cat": "{cat}", "name": "{name}", "pid": 0, "tid": 7, "ts": {ts}, "dur": {dur}, "args": {{{args}}}}}"#
    )
}

/// A trace of two steps of 1,000 ms: products for 500, attention for 100, and an exchange of which 150 of 200 are
/// hidden; then a kernel after the last step, of which half is inside.
fn two_steps() -> String {
    let mut events = vec![];
    let mut event = |cat: &str, name: &str, at_ms: f64, time_ms: f64, args: &str| {
        events.push(traced(cat, name, at_ms, time_ms, args));
    };
    for (number, at) in [(4, 1e6), (5, 1e6 + 1000.0)] {
        event("user_annotation", &format!("ProfilerStep#{number}"), at, 1000.0, "");
        event("gpu_user_annotation", &format!("ProfilerStep#{number}"), at + 300.0, 900.0, "");
        for micro_batch in 0..4 {
            let at = at + 10.0 * f64::from(micro_batch);
            event("cpu_op", "aten::embedding", at, 5.0, r#""Input Dims": [[128256, 4096], [2, 2048], [], [], []]"#);
            event("cpu_op", "aten::embedding", at, 5.0, r#""Input Dims": [[8192, 4096], [2, 2048]]"#);
        }
        event("kernel", "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", at, 500.0, "");
        let call = r#""Collective name": "_allgather_base", "dtype": "BFloat16", "In msg nelems": 1048576,
            "Out msg nelems": 8388608, "Group size": 8, "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]""#;
        event("kernel", "ncclDevKernel_AllGather_RING_LL", at + 350.0, 200.0, call);
        event("kernel", "void flash_fwd_kernel", at + 600.0, 100.0, "");
    }
    event("kernel", "void gelu", 1e6 + 1900.0, 200.0, "");
    event("kernel", "broken", 1e6, -1.0, "");
    format!(
        r#"{{"schemaVersion": 1, "deviceProperties": [{{"id": 0, "name": "NVIDIA H100 80GB HBM3"}}],
        "distributedInfo": {{"rank": 0, "world_size": 64, "pg_config": [
            {{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 64}}, {{"pg_desc": "mesh_tp", "pg_size": 2}},
            {{"pg_desc": "mesh_dp_shard", "pg_size": 32}}]}},
        "traceEvents": [{}]}}"#,
        events.join(",\n")
    )
}

#[test]
fn a_step_s_parts_are_those_of_its_kernels() {
    let (outcome, trace) = opened("rank0.pt.trace.json", two_steps().as_bytes());
    let trace = trace.unwrap();
    assert!(
        matches!(outcome, Outcome::Known { ref notes, .. } if notes == &["Left out: 1 events without a time or a name"])
    );
    assert_eq!((trace.steps, trace.step_us), (2, 1e6));
    let parts = TracedParts { compute_us: 55e4, attention_us: 10e4, exposed_us: 5e4, communication_us: 20e4 };
    assert_eq!(trace.parts, parts);
    let inputs = trace.inputs.unwrap();
    assert_eq!((inputs.hidden, inputs.micro_batch, inputs.tokens, inputs.micro_batches), (4096, 2, 2048, 4));
    let [gathered] = &trace.collectives[..] else { panic!("{:?}", trace.collectives) };
    assert_eq!((gathered.collective, gathered.size_bytes, gathered.calls), (Collective::AllGather, 16_777_216.0, 2));
}

/// Steps of the host that take `host_ms` each, of which the GPU takes a second each; `marked` on two of its streams.
fn ahead(steps: u32, host_ms: f64, marked: bool) -> Trace {
    let mut events = Vec::new();
    for step in 0..steps {
        let (name, step) = (format!("ProfilerStep#{step}"), f64::from(step));
        events.push(traced("user_annotation", &name, host_ms * step, host_ms, ""));
        let at = 1000.0 * step + 5.0;
        for late in [0.0, 100.0].into_iter().filter(|_| marked) {
            events.push(traced("gpu_user_annotation", &name, at + late, 900.0, ""));
        }
        events.push(traced("kernel", "void gemm", at, 950.0, ""));
    }
    trace::read(&format!(r#"{{"traceEvents": [{}]}}"#, events.join(","))).unwrap()
}

#[test]
fn steps_are_those_of_the_gpu_where_the_host_runs_ahead() {
    for host_ms in [300.0, 650.0] {
        for marked in [true, false] {
            let trace = ahead(3, host_ms, marked);
            assert!((trace.step_us / 1e6 - 1.0).abs() < 0.02, "{host_ms} {marked}: {}", trace.step_us);
            assert!((trace.parts.compute_us / 0.95e6 - 1.0).abs() < 0.01, "{host_ms} {marked}: {:?}", trace.parts);
        }
    }
    // A host that waits for each step is the measure.
    assert_eq!(ahead(3, 1000.0, true).step_us, 1e6);
}

#[test]
fn kernels_at_the_same_time_count_once() {
    let events = |times: usize| {
        let mut events = vec![traced("user_annotation", "ProfilerStep#1", 0.0, 1000.0, "")];
        for _ in 0..times {
            events.push(traced("kernel", "void gemm", 100.0, 500.0, ""));
            events.push(traced("Kernel", "void flash_fwd_kernel", 300.0, 400.0, ""));
        }
        trace::read(&format!(r#"{{"traceEvents": [{}]}}"#, events.join(","))).unwrap().parts
    };
    let parts = TracedParts { compute_us: 2e5, attention_us: 4e5, exposed_us: 0.0, communication_us: 0.0 };
    assert_eq!([1, 2, 3].map(events), [parts; 3]);
}

#[test]
fn ranks_in_one_file_and_kernels_outside_of_the_steps_are_refused() {
    let step = |number: u32, at: f64| traced("user_annotation", &format!("ProfilerStep#{number}"), at, 1000.0, "");
    let kernel = |at: f64| traced("kernel", "void gemm", at, 500.0, "");
    let read = |events: &[String]| trace::read(&format!(r#"{{"traceEvents": [{}]}}"#, events.join(",")));
    let merged = [step(1, 0.0), step(1, 0.5), step(2, 1000.0), step(2, 1000.5), kernel(100.0)];
    assert_eq!(read(&merged), Err(TraceError::SeveralRanks));
    assert_eq!(read(&[step(1, 1000.0), kernel(100.0)]), Err(TraceError::NoKernel));
    assert!(read(&[step(1, 0.0), step(2, 1000.0), kernel(100.0)]).is_ok());
}

fn asked(settings: &EstimateSettings, trace: &Trace) -> Estimated {
    let model = known("llama-3.1-8b").unwrap();
    let traces = [("rank0.json".to_owned(), trace.clone())];
    settings.answer(&model, &Catalogue::built_in(), &[], &traces, |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn a_trace_is_a_measured_step_of_the_layout_that_its_groups_say() {
    let trace = trace::read(&two_steps()).unwrap();
    let settings = EstimateSettings::default();
    let answer = asked(&settings, &trace);
    assert_eq!((answer.own_steps, &answer.unused_steps[..]), (1, &[][..]));
    let [compared] = &answer.traces[..] else { panic!("one trace") };
    let GivenLayout { tensor, pipeline, micro_batch, .. } = compared.layout;
    assert_eq!((compared.gpus, tensor, pipeline, micro_batch), (64, 2, 1, 2));
    assert!(listing::headline(&answer).ends_with("by 1 step of your own"));
    // Traces of two ranks of a job are one step.
    let model = known("llama-3.1-8b").unwrap();
    let both = [("rank0.json".to_owned(), trace.clone()), ("rank1.json".to_owned(), trace.clone())];
    let twice = settings.answer(&model, &Catalogue::built_in(), &[], &both, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((twice.own_steps, twice.step.time_us), (1, answer.step.time_us));

    let unused = |settings: &EstimateSettings, trace: &Trace| asked(settings, trace).unused_steps;
    let other = EstimateSettings { gpu: "A100".into(), ..settings.clone() };
    assert_eq!(unused(&other, &trace), ["rank0.json: it is of H100-SXM5-80GB, and the step of A100-SXM4-80GB"]);
    let mut wide = trace.clone();
    wide.inputs.as_mut().unwrap().hidden = 8192;
    let why = "rank0.json: it is of a model of width 8192, and 4096 is the width of the one that is asked about";
    assert_eq!(unused(&settings, &wide), [why]);
    let mut other = trace.clone();
    other.inputs.as_mut().unwrap().vocabulary = 151_936;
    let why = "rank0.json: it embeds 151936 tokens, and the vocabulary of the one that is asked about has 128256";
    assert_eq!(unused(&settings, &other), [why]);
    // A tensor group splits the table.
    other.inputs.as_mut().unwrap().vocabulary = 128_256 / 2;
    assert_eq!(unused(&settings, &other), [] as [String; 0]);
    other.gpu = Some("NVIDIA GeForce RTX 4090".to_owned());
    let why = unused(&settings, &other)[0].clone();
    assert!(why.starts_with("rank0.json: it is of a \"NVIDIA GeForce RTX 4090\", which"), "{why}");
    assert!(why.contains("to the aliases of its GPU") && why.ends_with("only if its GPU is a H100-SXM5-80GB"), "{why}");
    // Without groups, and where nothing else says the layout, it is told which one is taken.
    let mut plain = trace.clone();
    plain.groups.clear();
    let told = |settings: &EstimateSettings| {
        let said = listing::warnings(&asked(settings, &plain));
        said.iter().any(|said| said.starts_with("A trace names no group of tensor or pipeline ranks"))
    };
    let with_layout = EstimateSettings { layout: Some(GivenLayout::default()), ..settings.clone() };
    assert_eq!((told(&settings), told(&with_layout)), (true, false));
    // A later stage embeds nothing: it is the same step.
    let mut later = trace.clone();
    later.inputs = None;
    let both = [("rank0.json".to_owned(), trace.clone()), ("rank1.json".to_owned(), later)];
    let twice = settings.answer(&model, &Catalogue::built_in(), &[], &both, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((twice.own_steps, twice.step.time_us), (1, answer.step.time_us));
    // Groups of hybrid sharding.
    let mut hybrid = trace.clone();
    hybrid.groups.push(ProcessGroup { name: "mesh_dp_replicate".into(), ranks: 4 });
    assert_eq!(asked(&settings, &hybrid).traces[0].layout.replicate, 4);
    let mut odd = trace.clone();
    odd.groups[1].ranks = 3;
    assert!(unused(&settings, &odd)[0].contains("tp 3 × pp 1 × cp 1, which does not divide its 64 ranks"));
    // A layout that is not possible for the model is said too.
    let mut stages = trace;
    stages.groups[1].ranks = 64;
    assert!(unused(&settings, &stages)[0].starts_with("rank0.json: tp = 64 does not divide the attention heads (32)"));
}

#[test]
fn what_is_no_use_is_refused_with_what_to_do() {
    assert_eq!(trace::read(r#"{"traceEvents": []}"#), Err(TraceError::NoStep));
    let host = r#"{"traceEvents": [{"cat": "user_annotation", "name": "ProfilerStep#1", "ts": 1, "dur": 5}]}"#;
    assert_eq!(trace::read(host), Err(TraceError::NoKernel));
    let torn = two_steps();
    let (outcome, trace) = opened("torn.json", &torn.as_bytes()[..torn.len() / 2]);
    assert!(trace.is_none());
    let Outcome::Refused(why) = outcome else { panic!("{outcome:?}") };
    assert!(why.starts_with("torn.json is a trace that can't be read as JSON: EOF while parsing"), "{why}");
}

fn columns(model: &Transformer, device: &Device, degrees: Degrees, micro_batch: u32) -> StepColumns {
    StepQuestion {
        model,
        device,
        degrees,
        virtual_stages: 1,
        schedule: Schedule::default(),
        sequence: 4096,
        global_batch: 512,
        micro_batch,
        precision: Precision::Bf16,
        stack: Stack::MegatronCore,
        attention: AttentionKernel::Flash3,
        recomputation: Recomputation::Nothing,
        sharding: Sharding::Optimizer,
        is_sequence_parallel: true,
        gradient_bytes: None,
        overlaps_reduce: true,
        overlaps_gather: true,
    }
    .columns()
}

/// Clusters whose factors are drawn as they differ between published sources: a step is measured on one layout, and
/// others are predicted.
#[test]
fn a_traced_step_says_more_than_its_time() {
    let model = known("llama-3.1-8b").unwrap();
    let device = Device::of(&Catalogue::built_in(), "H100").unwrap();
    let degrees = |tensor, pipeline, data| Degrees { tensor, pipeline, context: 1, expert: 1, data, replicate: 1 };
    let measured = columns(&model, &device, degrees(8, 1, 8), 1);
    let asked = [(1, 1, 64, 1), (2, 1, 32, 2), (4, 2, 8, 2), (8, 4, 2, 1), (2, 4, 8, 4)]
        .map(|(tensor, pipeline, data, batch)| columns(&model, &device, degrees(tensor, pipeline, data), batch));
    let mut stream = Stream::new(7);
    let mut errors: [Vec<f64>; 3] = Default::default();
    for _ in 0..200 {
        let real = LEARNT.scaled([0.1, 0.2, 0.5, 0.35, 0.5, 0.5].map(|spread| exp(spread * stream.normal())));
        let mut noisy = |us: f64| us * exp(0.02 * stream.normal());
        let [compute, attention, exchange] = real.on(&measured.times.minus(measured.bubble)).parts();
        let parts = TracedParts {
            compute_us: noisy(compute),
            attention_us: noisy(attention),
            exposed_us: noisy(exchange),
            communication_us: 0.0,
        };
        let step =
            MeasuredColumns { columns: measured, time_us: noisy(real.time_us(&measured)), weight: 1.0, parts: None };
        let found =
            [LEARNT, LEARNT.moved_by(&[step]), LEARNT.moved_by(&[MeasuredColumns { parts: Some(parts), ..step }])];
        for (errors, found) in errors.iter_mut().zip(found) {
            errors.extend(asked.iter().map(|of| ln(found.time_us(of) / real.time_us(of)).abs()));
        }
    }
    let [without, timed, traced] = errors.map(|mut errors| {
        errors.sort_by(f64::total_cmp);
        errors[errors.len() / 2] * 100.0
    });
    println!(
        "other layouts, median error: {without:.1} % without steps, {timed:.1} % by a step, {traced:.1} % by a trace"
    );
    assert!(traced < 0.5 * timed.min(without), "{without} {timed} {traced}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_damage_to_a_trace_panics(at in 0.0_f64..1.0, with in any::<u8>(), cut in 0.0_f64..1.0) {
        let mut bytes = two_steps().into_bytes();
        let place = (at * bytes.len() as f64) as usize;
        bytes[place] = with;
        let _ = opened("damaged.json", &bytes);
        bytes.truncate((cut * bytes.len() as f64) as usize);
        let _ = opened("damaged.json", &bytes);
    }

    #[test]
    fn numbers_of_any_size_are_read(ts in any::<f64>(), dur in any::<f64>(), size in any::<u32>(), elements in any::<f64>()) {
        let number = |value: f64| if value.is_finite() { format!("{value:e}") } else { "null".to_owned() };
        let json = two_steps().replacen("\"ts\": 1000000000", &format!("\"ts\": {}", number(ts)), 3)
            .replace("\"dur\": 500", &format!("\"dur\": {}", number(dur)))
            .replace("\"In msg nelems\": 1048576", &format!("\"In msg nelems\": {}", number(elements)))
            .replace("\"Group size\": 8", &format!("\"Group size\": {size}"))
            .replace("\"world_size\": 64", &format!("\"world_size\": {size}"))
            .replace("\"pg_size\": 2", &format!("\"pg_size\": {size}"));
        if let Ok(trace) = trace::read(&json) {
            let _ = EstimateSettings::default().answer(&known("llama-3.1-8b").unwrap(), &Catalogue::built_in(), &[], &[("a".to_owned(), trace)], |_| ControlFlow::Break(()));
        }
    }
}
