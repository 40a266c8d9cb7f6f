//! What dropped files of training steps become, good and bad: `cargo test --test training_time intake`

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use crate::support::{
    archives::{archive, tarred},
    real,
};
use collectune::{
    intake::{self, FileContent, Outcome, unpack::unpack},
    progress::Silent,
    training_time::{
        bundle::{Bundle, DroppedFile, FileAnswer, FileUse, QuestionKind, Unit, bring_together},
        coverage::coverage,
        health::{LeftOut, Rule, health},
        listing,
        loaded::DroppedFiles,
        needs::{NeededSamples, needs},
        read::TrainingFile,
        regressors::Mode,
        run::{Recompute, Run},
        sampling_files::sampling_script,
        simulate::Simulation,
    },
};

/// What one dropped file becomes, or why it is refused.
fn open(path: &str, bytes: &[u8]) -> Result<Vec<DroppedFile>, String> {
    match intake::open(bytes, path, bytes.len() as u64, 0, None, &mut Silent) {
        (_, FileContent::Training(file)) => Ok(vec![*file]),
        (report, _) => match report.outcome {
            Outcome::Refused(why) => Err(why),
            other => panic!("{other:?}"),
        },
    }
}

fn dropped(files: &[(&str, &str)]) -> Vec<DroppedFile> {
    files.iter().flat_map(|(path, text)| open(path, text.as_bytes()).unwrap()).collect()
}

fn bundle(files: &[(&str, &str)]) -> Bundle {
    bring_together(dropped(files), &Vec::new())
}

const NORM: &str = "b,l,dim,F_dur(us),B_dur(us)\n2,1024,2048,10.5,20.5\n4,1024,2048,20.5,40.5\n";

#[test]
fn bytes_as_people_have_them() {
    let odd = "\u{FEFF}B , L,dim,f_dur(US),B_dur(us)\r\n4.0, 1024 ,2048.0,20.5,40.5\r\n2.0,1024,2048,10.5,20.5";
    let bundle = bundle(&[("Mine/operator/X_layernorm_fp16.csv", odd)]);
    let samples = bundle.clusters[0].operator("layernorm").unwrap();
    assert_eq!((samples.len(), samples.row(0), samples.backward_us[1]), (2, &[4.0, 1024.0, 2048.0][..], 20.5));
    assert_eq!((bundle.clusters[0].name.as_str(), bundle.clusters[0].gpu.as_str()), ("Mine", "X"));
    assert_eq!(samples.places[1].line, 3);
}

#[test]
fn unknown_headers_name_the_nearest() {
    let files = open("X_linear1_fp16.csv", b"mp,b,l,dim,F_dur(ms),B_dur(ms)\n1,2,1024,2048,1,2\n").unwrap();
    let bundle = bring_together(files, &Vec::new());
    let FileUse::Unrecognised(why) = &bundle.files[0].fate else { panic!("{:?}", bundle.files) };
    assert!(why.contains("mp,b,l,dim,F_dur(ms),B_dur(ms)") && why.contains("it lacks F_dur(us), B_dur(us)"), "{why}");
}

#[test]
fn rows_that_cannot_be_used_are_located() {
    let text = "mp,b,h,l,dim,F_dur(us),B_dur(us)\n\
                1,2,16,1024,2048,10,20\n1,2,16,1024,2048,ten,20\n1,2,16,1024,2048,,20\n1,2,16,1024,2048,-1,20\n\
                1,2,16,1024,2048,0,20\n1,2,16,1024,2048,NaN,20\n1,2,16,1024,2048,inf,20\n1.5,2,16,1024,2048,1,2\n\
                0,2,16,1024,2048,1,2\n1,2,16,1024,2040,1,2\n32,2,16,1024,2048,1,2\n1,2\n";
    let bundle = bundle(&[("X_flash_atten_fp16.csv", text)]);
    let problems = &bundle.files[0].problems;
    let messages: Vec<String> = problems.kept.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "line 3, column F_dur(us): \"ten\" is not a time above zero; the row was left out",
            "line 4, column F_dur(us): \"\" is not a time above zero; the row was left out",
            "line 5, column F_dur(us): \"-1\" is not a time above zero; the row was left out",
            "line 6, column F_dur(us): \"0\" is not a time above zero; the row was left out",
            "line 7, column F_dur(us): \"NaN\" is not a time above zero; the row was left out",
            "line 8, column F_dur(us): \"inf\" is not a time above zero; the row was left out",
            "line 9, column mp: \"1.5\" is not a whole number of at least 1; the row was left out",
            "line 10, column mp: \"0\" is not a whole number of at least 1; the row was left out",
            "line 11, column dim: \"2040\" is not divisible by h = 16; the row was left out",
            "line 12, column h: \"16\" is not divisible by mp = 32; the row was left out",
            "line 13, whole line: \"1,2\" has 2 cells where the header has 7; the row was left out",
        ]
    );
    assert_eq!((problems.count, bundle.files[0].rows), (11, 1));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn a_renamed_operator_is_asked_for() {
    let text = real::text("training_time/ett/Perlmutter/operator/NVIDIAA100-SXM4-80GB_linear3_fp16.csv");
    let path = "Perlmutter/operator/NVIDIAA100-SXM4-80GB_renamed_fp16.csv";
    let mut all = DroppedFiles::new(dropped(&[(path, &text)]));
    let asked = all.bundle().questions.clone();
    let QuestionKind::Operator { candidates, new } = &asked[0].asks else { panic!("{asked:?}") };
    for candidate in candidates {
        println!("{} {:.3} {:?}", candidate.operator, candidate.spread, candidate.ruled_out);
    }
    // All with this header and no other; linear_final would have computed faster than the GPU can.
    assert_eq!(
        candidates.iter().filter(|c| c.ruled_out.is_none() || c.operator == "linear_final").count(),
        candidates.len()
    );
    let mut names: Vec<&str> = candidates.iter().map(|candidate| candidate.operator.as_str()).collect();
    assert_eq!(names.last(), Some(&"linear_final"));
    names.sort_unstable();
    assert_eq!(names, ["embedding", "gelu", "linear1", "linear2", "linear3", "linear4", "linear_final"]);
    assert_eq!((new.as_deref(), &all.bundle().files[0].fate), (Some("renamed"), &FileUse::Asked));
    all.answer(path, FileAnswer::Operator("linear3".to_owned()));
    assert_eq!(all.bundle().clusters[0].operator("linear3").unwrap().len(), 1755);
    assert_eq!(all.bundle().questions, []);
}

#[test]
fn new_operators_and_other_folders() {
    let new = "tokens,experts,F_dur(us),B_dur(us)\n1024,8,10,20\n2048,8,20,40\n";
    let files = [
        ("A/operator/X_route_fp16.csv", new),
        ("A/operator/X_layernorm_fp16.csv", NORM),
        ("B/operator/X_layernorm_fp16.csv", NORM),
    ];
    let bundle = bundle(&files);
    let names: Vec<&str> = bundle.clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    assert_eq!(names, ["A", "B"]);
    assert_eq!(bundle.catalogue.operator("route").unwrap().inputs, ["tokens", "experts"]);
    assert_eq!(bundle.clusters[1].operator("layernorm").unwrap().len(), 2);
}

#[test]
fn two_contents_under_one_name_are_asked_for() {
    let other = "b,l,dim,F_dur(us),B_dur(us)\n2,1024,2048,11.5,21.5\n8,1024,2048,30,60\n";
    let mut all = DroppedFiles::new(dropped(&[("X_layernorm_fp16.csv", NORM), ("X_layernorm_fp16.csv", NORM)]));
    assert_eq!((all.bundle().questions.len(), all.bundle().files[1].duplicate_rows), (0, 2));
    all =
        DroppedFiles::new(dropped(&[("one/../X_layernorm_fp16.csv", NORM), ("one/../X_layernorm_fp16.csv.gz", other)]));
    let questions = all.bundle().questions.clone();
    assert_eq!(questions, [], "files of different names add up");
    all = DroppedFiles::new(dropped(&[("operator/X_layernorm_fp16.csv", NORM), ("nccl/X_layernorm_fp16.csv", other)]));
    let asked = all.bundle().questions[0].clone();
    assert_eq!(asked.asks, QuestionKind::Conflict { with: "operator/X_layernorm_fp16.csv".to_owned() });
    assert_eq!(all.bundle().clusters[0].operator("layernorm").unwrap().len(), 2);
    all.answer(&asked.path, FileAnswer::Both);
    assert_eq!(all.bundle().clusters[0].operator("layernorm").unwrap().len(), 4);
    all.answer(&asked.path, FileAnswer::LeftOut);
    assert!(matches!(&all.bundle().files[1].fate, FileUse::KnownUnused(_)));
}

#[test]
fn settings_and_samples_that_do_not_meet() {
    let settings = "Function,Precision,Propagation,Best_model,Best_config\nbmm,fp16,fwd,rforest,\"{'max_depth': 3}\"\n";
    let bundle = bundle(&[("X_layernorm_fp16.csv", NORM), ("X.csv", settings)]);
    assert_eq!(
        bundle.notes,
        [
            "X: settings without samples, of bmm",
            "X: no settings for layernorm; parity searches them among its small grid"
        ]
    );
}

fn run(text: &str) -> Result<Run, String> {
    let bundle = bundle(&[("run.yml", text)]);
    match &bundle.files[0].fate {
        FileUse::Used => Ok(bundle.runs[0].run.clone()),
        FileUse::Unrecognised(why) => Err(why.clone()),
        other => panic!("{other:?}"),
    }
}

const SHORT: &str = "{'training_config': [4, 2, 2, 4, 32, 4096, 4096, 8, 4], \"encoders\": 32, # layers\n}";

#[test]
fn runs_in_three_forms() {
    let short = run(SHORT).unwrap();
    assert_eq!(
        (short.layout.gpus(), short.global_batch(), short.model.ffn, short.model.vocabulary),
        (16, 64, 16384, 50257)
    );
    assert_eq!(short.model.layer.len(), 11);
    let long = "model: {layers: 32, hidden: 4096, heads: 32, sequence: 4096, kv_heads: 8}\n\
                parallel: {pp: 4, tp: 2, dp: 2, gpus_per_node: 4}\nbatch: {micro: 4, global: 64}\n\
                recompute: none\nzero: 0\nschedule: interleaved\nlayers_per_stage: [8, 9, 9, 6]\nfuture: 1\n";
    let run_of_long = run(long).unwrap();
    assert_eq!(
        (run_of_long.micro_batches, run_of_long.model.kv_heads, run_of_long.execution.virtual_stages),
        (8, 8, 2)
    );
    assert_eq!((run_of_long.execution.recompute, run_of_long.execution.zero), (Recompute::None, 0));
    assert_eq!(bundle(&[("run.yml", long)]).files[0].notes, ["These keys say nothing here: future"]);
    let v_train = "{\"num_gpus\": 16, \"tensor_parallel_size\": 2, \"data_parallel_size\": 2, \
                   \"pipeline_parallel_size\": 4, \"global_batch_size\": 64, \"micro_batch_size\": 4, \"num_layers\": 32, \
                   \"hidden_size\": 4096, \"num_attention_heads\": 32, \"max_length\": 4096, \"use_checkpoint\": true, \
                   \"intra_node_bandwidth\": 235, \"gpu_name\": \"A100\"}";
    let of_v_train = bundle(&[("v.json", v_train)]).runs[0].clone();
    assert_eq!((of_v_train.run.micro_batches, of_v_train.run.layout.gpus_per_node), (8, 8));
    assert_eq!(
        (of_v_train.bandwidths, of_v_train.run.model.architecture.as_deref()),
        (Some([100.0, 235.0]), Some("gpt"))
    );
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn a_published_run_is_the_short_form() {
    let short = run(SHORT).unwrap();
    let text = real::text("training_time/ett/examples/llemma_7b_4_2_2_P.yml");
    let published = run(&text).unwrap();
    assert_eq!(
        (published.cluster.as_deref(), published.gpu.as_deref()),
        (Some("Perlmutter"), Some("NVIDIAA100-SXM4-80GB"))
    );
    assert_eq!(
        (&published.model.layer, published.layout, published.micro_batches),
        (&short.model.layer, short.layout, 8)
    );
}

#[test]
fn runs_that_break_a_rule() {
    for (from, to, message) in [
        ("\"encoders\": 32,", "", "line 1, column 1: encoders is missing; the number of layers was expected"),
        (
            "4096, 8, 4]",
            "4096, 8]",
            "line 1, column 21, training_config: 9 numbers, [pp, mp, dp, b, h, l, dim, steps_per_update, gpus_per_node], \
             was expected, not a list of 8",
        ),
        (
            "4, 32, 4096",
            "4, many, 4096",
            "line 1, column 34, training_config, number 5 (h): a whole number of at least 1 was expected, not \"many\"",
        ),
        (
            "[4, 2",
            "[0, 2",
            "line 1, column 22, training_config, number 1 (pp): a whole number of at least 1 was expected, not \"0\"",
        ),
        (
            "[4, 2",
            "[40, 2",
            "line 1, column 22, pp: pp = 40 is more than the 32 layers: a stage would have none; 32 is the most",
        ),
        ("[4, 2", "[4, 3", "line 1, column 25, mp: mp = 3 does not divide h = 32; 2 does"),
        (
            "32, # layers",
            "32, encoder_function_list: [linaer1]",
            "line 1, column 97, encoder_function_list: there is no operator \"linaer1\"; nearest in spelling: linear1, \
             linear2, linear3",
        ),
        (
            "32, # layers",
            "32, layers_per_stage: [8, 8, 8, 9]",
            "line 1, column 91, layers_per_stage: they sum to 33, not to encoders = 32",
        ),
        (
            "32, # layers",
            "32, layers_per_stage: [8, 8, 16]",
            "line 1, column 91, layers_per_stage: 3 numbers for pp = 4 stages",
        ),
        (
            "32, # layers",
            "32, recompute: some",
            "line 1, column 84, recompute: full, selective or none was expected, not \"some\"",
        ),
        (
            "32, # layers",
            "32, dp_overlap: 2",
            "line 1, column 85, dp_overlap: a share from 0 to 1 was expected, not \"2\"",
        ),
    ] {
        assert_eq!(run(&SHORT.replace(from, to)), Err(message.to_owned()), "{to}");
    }
    // Each form has names of its own.
    let long = "model: {layers: 32, hidden: 4096, heads: 32, sequence: 4096}\nparallel: {pp: 1, tp: 3, dp: 16, \
                gpus_per_node: 8}\nbatch: {micro: 4, micro_batches: 8}\n";
    let wrong = "line 2, column 23, tp: tp = 3 does not divide heads = 32; 2 does";
    assert_eq!(run(long), Err(wrong.to_owned()));
    let wrong = "line 1, column 42, heads: heads = 31 does not divide hidden = 4096; 32 does";
    assert_eq!(run(&long.replace("tp: 3", "tp: 1").replace("heads: 32", "heads: 31")), Err(wrong.to_owned()));
}

#[test]
fn yaml_that_is_refused() {
    let refused = |text: &str| {
        let files = open("run.yml", text.as_bytes()).unwrap();
        let [DroppedFile { part: TrainingFile::Unrecognised(why), .. }] = &files[..] else { panic!("{files:?}") };
        why.clone()
    };
    for (text, words) in [
        ("training_config: &a [1]\nencoders: *a\n".to_owned(), "\"*a\": aliases are not read; write the value out"),
        (format!("training_config: {}\n", "[".repeat(40)), "deeper than 16"),
        (format!("training_config: [1]\n# {}\n", "x".repeat(70_000)), "more than 64 kB"),
    ] {
        let why = refused(&text);
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn measured_steps() {
    let header = "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,\
                  data parallelism,pipeline parallelism,iteration time (ms)\n";
    let good = "2,16,8,1024,16,24,1024,1,1,2,372.16\n";
    let text = format!("{header}{good}8,32,4,1024,16,24,1024,2,2,1,219.7\n8,30,4,1024,16,24,1024,2,2,2,219.7\n");
    let bundle = bundle(&[("steps.csv", &text)]);
    let problems: Vec<String> = bundle.files[0].problems.kept.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "line 3, column # GPUs: \"8\" is not tensor·data·pipeline = 4; the row was left out",
            "line 4, column global batch: \"30\" is not divisible by micro batch·data = 8; the row was left out",
        ]
    );
    let step = &bundle.steps[0].steps[0];
    assert_eq!(
        (step.time_us, step.vocabulary, step.recompute, step.micro_batches()),
        (372_160.0, 50257, Recompute::Full, 2)
    );
    // In seconds.
    let seconds = format!("{header}{}", good.replace("372.16", "0.37216"));
    let mut all = DroppedFiles::new(dropped(&[("steps.csv", &seconds)]));
    let asked = all.bundle().questions.clone();
    let QuestionKind::Unit { unit: Unit::Seconds, suspicion } = &asked[0].asks else { panic!("{asked:?}") };
    assert!(suspicion.contains("1000 times") && suspicion.ends_with("are they seconds?"), "{suspicion}");
    all.answer("steps.csv", FileAnswer::Unit(Unit::Seconds));
    assert_eq!((all.bundle().questions.len(), all.bundle().steps[0].steps[0].time_us.round()), (0, 372_160.0));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn shared_steps_and_tables_are_read() {
    let paths = ["vtrain/ground_truth_multi.csv", "vtrain/ground_truth_single.csv", "reference/selene_measured.csv"];
    let texts = paths.map(|path| real::text(&format!("training_time/{path}")));
    let files: Vec<(&str, &str)> = paths.iter().copied().zip(texts.iter().map(String::as_str)).collect();
    let bundle = bundle(&files);
    let counts: Vec<usize> = bundle.steps.iter().map(|table| table.steps.len()).collect();
    assert_eq!((counts[0], counts[1], bundle.questions.len()), (73, 1020, 0));
    assert!(bundle.files.iter().all(|file| file.problems.count == 0), "{:?}", bundle.files);
    assert!(bundle.steps[2].steps.iter().any(|step| step.recompute == Recompute::Selective && step.sequence_parallel));
    for (name, ranks) in [("a100/AR_GPU2", 2), ("a100/AR_GPU4", 4), ("a100/AR_GPU8", 8), ("v100/AR_GPU8", 8)] {
        let text = real::text(&format!("training_time/vtrain/trace/{name}_1M_1024M_LUT"));
        // Without its name the bus bandwidth tells the ranks.
        for path in [format!("{name}_1M_1024M_LUT"), "table.csv".to_owned()] {
            let table = bring_together(dropped(&[(&path, &text)]), &Vec::new()).reduces.remove(0);
            assert_eq!((table.ranks, table.points[0].0), (ranks, 1 << 20), "{path}");
        }
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn bytes_for_elements_are_suspected() {
    let files = real::dropped(&["ett/Vista/nccl"]);
    let mut files = files;
    for file in &mut files {
        if file.path.ends_with("allreduce_large_fp16_2_1.csv")
            && let TrainingFile::Collective(rows) = &mut file.part
        {
            rows.iter_mut().for_each(|row| row.elements *= 2);
        }
    }
    let mut all = DroppedFiles::new(files);
    let asked = all.bundle().questions.clone();
    let QuestionKind::Unit { unit: Unit::Bytes, suspicion } = &asked[0].asks else { panic!("{asked:?}") };
    assert!(asked.len() == 1 && suspicion.contains("bytes instead of elements"), "{asked:?}");
    assert!(asked[0].path.ends_with("allreduce_large_fp16_2_1.csv"));
    all.answer(&asked[0].path, FileAnswer::Unit(Unit::Bytes));
    assert_eq!(all.bundle().questions, []);
}

/// The files of an archive, opened one by one.
fn unpacked(name: &str, bytes: &[u8]) -> Vec<DroppedFile> {
    let files = unpack(Box::new(bytes), name).unwrap();
    files.iter().flat_map(|file| open(&file.name, &file.bytes).unwrap()).collect()
}

#[test]
fn archives_name_the_cluster_whose_folder_they_do_not_hold() {
    for (entry, name) in [("Mine/operator/X_layernorm_fp16.csv", "Mine"), ("operator/X_layernorm_fp16.csv", "yours")] {
        for archive in [tarred(&[(entry, NORM)]), archive(&[(entry, NORM)])] {
            let bundle = bring_together(unpacked("sent/yours.tgz", &archive), &Vec::new());
            assert_eq!((bundle.clusters.len(), bundle.clusters[0].name.as_str()), (1, name));
        }
    }
}

#[test]
fn pickles_stay_closed() {
    let why = open("X_linear1_fwd.pkl", b"\x80\x04\x95\x10\0\0\0\0\0\0\0\x8c\x07sklearn").unwrap_err();
    assert!(why.contains("a Python pickle, which runs the code that it holds"), "{why}");
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn what_a_run_lacks_is_named() {
    let mut files = real::dropped(&["ett/Perlmutter"]);
    let text = real::text("training_time/ett/examples/llemma_7b_4_2_2_P.yml");
    files.extend(dropped(&[("P.yml", &text)]));
    let complete = bring_together(files.clone(), &Vec::new());
    let configured = &complete.runs[0];
    assert_eq!(needs(&complete, &configured.run, &configured.functions, Mode::Default), []);
    // One operator in another precision.
    let mut mixed = complete.clone();
    let gelu = mixed.clusters[0].operators.iter_mut().find(|samples| samples.operator == "gelu").unwrap();
    gelu.precision = "bf16".to_owned();
    let found = needs(&mixed, &configured.run, &configured.functions, Mode::Default);
    let said: Vec<(&str, &str)> = found.iter().map(|need| (need.sentence.as_str(), need.purpose.as_str())).collect();
    let expected = "The run is fp16, the samples of gelu are bf16: these are used, and marked extrapolated";
    assert_eq!(said, [(expected, "gelu")]);
    // Over four nodes, in another precision, and without an operator.
    let mut run = configured.run.clone();
    (run.layout.tensor, run.layout.data) = (8, 4);
    run.execution.precision = "bf16".to_owned();
    files.retain(|file| !file.path.contains("_gelu_") && !file.path.contains("p2p"));
    let less = bring_together(files, &Vec::new());
    let found = needs(&less, &run, &[], Mode::Default);
    let lacking: Vec<(String, bool)> = found.iter().map(|need| (need.what.text(), need.instead.is_some())).collect();
    let expected = [
        ("operator gelu", false),
        ("samples in bf16", true),
        ("allreduce_large over 4×1", true),
        ("allgather_large over 4×1", true),
        ("p2p over 2×1", true),
    ];
    let is_expected = |(what, instead): &(&str, bool)| lacking.contains(&((*what).to_owned(), *instead));
    println!("{lacking:?}\n{}", listing::needs(&found).to_table().to_markdown());
    assert!(expected[..2].iter().chain(&expected[4..]).all(is_expected), "{lacking:?}");
    assert!(found[1].sentence.contains("bf16") && found[1].sentence.contains("fp16"));
    // The reference's groups, and its one regressor over any GPUs.
    let parity = needs(&less, &run, &[], Mode::Parity);
    let said = |what: &str| parity.iter().find(|need| need.what.text() == what).map(|need| need.sentence.as_str());
    let reduce = said("allreduce over 2×4");
    assert!(reduce.is_none() && said("p2p over 2×1").is_some_and(|said| said.contains("nor over any other GPUs")));
    assert!(said("allgather_large over 4×1").is_none());
    let lacking: Vec<(String, bool)> = parity.iter().map(|need| (need.what.text(), need.instead.is_some())).collect();
    let expected = [("operator gelu", false), ("p2p over 2×1", false), ("samples in bf16", true)];
    assert_eq!(lacking, expected.map(|(what, instead)| (what.to_owned(), instead)));
    let (script, how) = sampling_script(&less, &run, &found).unwrap();
    assert!(script.contains("    \"gelu\": [[8, 4, 4096, 4096], ") && !script.contains("\"linear1\": [["), "{how}");
    assert!(how.contains("python sample.py --precision bf16; torchrun --nnodes 2 --nproc_per_node 1 "), "{how}");
    assert_eq!(needs(&Bundle::default(), &run, &[], Mode::Default)[0].what, NeededSamples::Cluster);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn coverage_of_the_published_samplings() {
    let bundle = real::clusters();
    let files = real::dropped(&["ett/sampling"]);
    let samplings = bring_together(files, &Vec::new()).samplings;
    let of = |cluster: usize, name: &str| {
        let sampling = samplings.iter().find(|sampling| sampling.function == name).unwrap();
        coverage(&bundle.clusters[cluster], sampling).unwrap()
    };
    for name in ["linear1", "linear2", "linear3", "linear4", "linear_final", "embedding", "gelu"] {
        assert_eq!(of(1, name).intended, 1755, "{name}");
    }
    assert_eq!((of(0, "linear1").sampled, of(0, "linear2").sampled), (1755, 351));
    assert_eq!([of(0, "layernorm").intended, of(0, "RMSlayernorm").intended, of(0, "res_add").intended], [351; 3]);
    let linear2 = of(0, "linear2");
    let degrees: Vec<(f64, usize)> =
        linear2.values.iter().filter(|v| v.input == "mp").map(|v| (v.value, v.sampled)).collect();
    assert_eq!(degrees, [(1.0, 351), (2.0, 0), (4.0, 0), (8.0, 0), (16.0, 0)]);
    for name in ["RoPE", "flash_atten", "baddbmm", "bmm", "fillmask"] {
        let coverage = of(0, name);
        println!(
            "{name}: {} intended, {} impossible, {} sampled",
            coverage.intended, coverage.impossible, coverage.sampled
        );
        assert_eq!(coverage.intended, 10530, "{name}");
    }
    let all: Vec<_> = samplings.iter().filter_map(|s| coverage(&bundle.clusters[0], s)).collect();
    assert_eq!(listing::coverage(&all).rows.len(), all.len());
}

/// Mean deviation of rows with equal features, as the reference's table has it.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn noise_is_the_reference_s() {
    let bundle = real::clusters();
    let table = real::text("training_time/reference/operator_scores.csv");
    let all: Vec<_> = bundle.clusters.iter().map(|cluster| health(cluster, &bundle.catalogue)).collect();
    let mut compared = 0;
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let health = &all[bundle.clusters.iter().position(|cluster| cluster.name == cells[0]).unwrap()];
        let Some(summary) = health.summaries.iter().find(|summary| summary.target.to_string() == cells[1]) else {
            continue;
        };
        assert_eq!(summary.distinct_features.to_string(), cells[4], "{line}");
        if let Ok(expected) = cells[5].parse::<f64>() {
            let way = usize::from(cells[2] == "bwd");
            let noise = summary.noise[way].unwrap() * 100.0;
            assert!((noise - expected).abs() < 0.006, "{line}: {noise}");
            compared += 1;
        }
    }
    println!("{compared} noise floors");
    assert!(compared >= 50);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn rows_can_be_left_out() {
    let files = real::dropped(&["ett/Vista"]);
    let mut all = DroppedFiles::new(files);
    let before = all.bundle().clusters[0].operator("firstStage_optimizer").unwrap().len();
    let found = health(&all.bundle().clusters[0], &all.bundle().catalogue);
    let flag = found.flags.iter().find(|flag| flag.rule == Rule::FarAbove).unwrap();
    let gather = found.flags.iter().find(|flag| flag.rule == Rule::AboveLink).unwrap();
    all.leave_out(vec![LeftOut::from(flag), LeftOut::from(gather)]);
    let cluster = &all.bundle().clusters[0];
    assert_eq!(cluster.operator("firstStage_optimizer").unwrap().len(), before - 48);
    let again = health(cluster, &all.bundle().catalogue);
    assert!(again.flags.iter().all(|flag| flag.rule != Rule::FarAbove));
    all.leave_out(Vec::new());
    assert_eq!(all.bundle().clusters[0].operator("firstStage_optimizer").unwrap().len(), before);
}

/// The page's example is what the generator makes. `UPDATE_EXAMPLES=1 cargo test` writes it anew.
#[test]
fn the_example_is_current_and_needs_nothing() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("public/examples/simulated_training.zip");
    let files = Simulation::example().files();
    let made = archive(&files);
    if std::env::var_os("UPDATE_EXAMPLES").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let shipped = std::fs::read(&path).unwrap_or_default();
    assert!(
        shipped == made,
        "{} is out of date: run UPDATE_EXAMPLES=1 cargo test --test training_time intake",
        path.display()
    );
    println!("{} files, {} bytes packed", files.len(), shipped.len());
    let bundle = bring_together(unpacked("simulated_training.zip", &shipped), &Vec::new());
    assert!(
        bundle.files.iter().all(|file| file.fate == FileUse::Used && file.problems.count == 0),
        "{:?}",
        bundle.files
    );
    assert_eq!((bundle.clusters.len(), bundle.clusters[0].name.as_str(), bundle.questions.len()), (1, "simulated", 0));
    assert_eq!(needs(&bundle, &bundle.runs[0].run, &[], Mode::Default), []);
    assert_eq!(listing::files(&bundle).rows.len(), files.len());
    let health = health(&bundle.clusters[0], &bundle.catalogue);
    assert!(
        !health.flags.is_empty() && health.flags.iter().all(|flag| flag.rule != Rule::AbovePeak),
        "{:?}",
        health.flags
    );
}

/// Samples of `count` rows, all different or all the same.
fn norms(count: u32, is_varied: bool) -> String {
    let row = |n: u32| format!("{},1024,2048,{}.5,20.5\n", if is_varied { n + 1 } else { 4 }, n + 10);
    format!("b,l,dim,F_dur(us),B_dur(us)\n{}", (0..count).map(row).collect::<String>())
}

#[test]
fn too_few_rows_teach_nothing_and_say_so() {
    use collectune::training_time::{
        prediction::{Direction, Mark, Regressors},
        regressors::{Library, Options},
        scope::Scope,
    };
    let asked = |text: &str, batch: f64| {
        let bundle = bundle(&[("X_layernorm_fp16.csv", text)]);
        let flags = health(&bundle.clusters[0], &bundle.catalogue).flags;
        let flag = flags.into_iter().find(|flag| flag.rule == Rule::TooFew).map(|flag| (flag.what, flag.effect));
        let (cluster, catalogue) = (bundle.clusters[0].clone(), bundle.catalogue);
        let library = Library::new(cluster.into(), catalogue.into(), Options::default());
        let scope = Scope::from([("b", batch), ("l", 1024.0), ("dim", 2048.0)]);
        let said = library.operator("layernorm", Direction::Forward, &scope);
        (said.map(|said| (said.time_us, said.mark)).map_err(|error| error.to_string()), flag)
    };
    let (said, flag) = asked(&norms(29, true), 4.0);
    assert_eq!(said, Ok((13.5, Mark::Measured)));
    let (what, effect) = flag.unwrap();
    assert!(what.ends_with("too few to train") && effect == "Only its measured rows are used", "{what}: {effect}");
    let (said, _) = asked(&norms(29, true), 40.0);
    assert_eq!(
        said.unwrap_err(),
        "operator layernorm has 29 rows with 29 distinct features: too few to learn from, and what is asked for is not \
         among them"
    );
    let (said, flag) = asked(&norms(40, false), 8.0);
    assert_eq!(
        said.unwrap_err(),
        "operator layernorm has 40 rows with 1 distinct feature: too few to learn from, and what is asked for is not \
         among them"
    );
    assert!(flag.is_some());
    assert!(asked(&norms(30, true), 40.0).0.is_ok());
}

/// Samples of another precision are used, and say so.
#[test]
fn another_precision_is_extrapolated() {
    use collectune::training_time::{
        prediction::{Direction, Mark, Regressors},
        regressors::{Library, Options},
        scope::Scope,
    };
    let bundle = bundle(&[("X_layernorm_fp16.csv", &norms(40, true))]);
    let mark = |precision: &str| {
        let options = Options { precision: precision.to_owned(), ..Options::default() };
        let library = Library::new(bundle.clusters[0].clone().into(), bundle.catalogue.clone().into(), options);
        let scope = Scope::from([("b", 4.0), ("l", 1024.0), ("dim", 2048.0)]);
        library.operator("layernorm", Direction::Forward, &scope).unwrap().mark
    };
    assert_eq!((mark("fp16"), mark("bf16"), mark("")), (Mark::Measured, Mark::Extrapolated, Mark::Measured));
}

/// Degrees and sizes of 0, from wherever they come, are named with the nearest value that may be.
#[test]
fn zero_is_named_with_the_nearest_value() {
    use collectune::training_time::{regressors::Mode, step::rules};
    let good = run(SHORT).unwrap();
    type Change = (&'static str, &'static str, fn(&mut Run));
    let change: [Change; 6] = [
        ("Pipeline stages", "pp", |run| run.layout.pipeline = 0),
        ("Tensor degree", "mp", |run| run.layout.tensor = 0),
        ("Data-parallel degree", "dp", |run| run.layout.data = 0),
        ("Sequences of a micro-batch", "b", |run| run.micro_batch = 0),
        ("Micro-batches per step", "steps_per_update", |run| run.micro_batches = 0),
        ("GPUs of a node", "gpus_per_node", |run| run.layout.gpus_per_node = 0),
    ];
    for (label, name, change) in change {
        let mut run = good.clone();
        change(&mut run);
        for mode in [Mode::Default, Mode::Parity] {
            let error = rules::check(&run, mode).unwrap_err().to_string();
            assert_eq!(error, format!("{label} ({name}) is 0: at least 1 is needed; the nearest is {name} = 1"));
        }
    }
}

/// A log of Megatron-LM with its arguments and iterations, of which the first are of a batch that still grows.
const LOG: &str = "using world size: 16, data-parallel size: 8\n------------------------ arguments ------------------------\n\
                   \x20 ffn_hidden_size ................. 14336\n  group_query_attention ........... True\n\
                   \x20 hidden_size ..................... 4096\n  num_attention_heads ............. 32\n\
                   \x20 num_layers ...................... 32\n  num_query_groups ................ 8\n\
                   \x20 padded_vocab_size ............... 128256\n  seq_length ...................... 8192\n\
                   \x20 swiglu .......................... True\n  micro_batch_size ................ 1\n\
                   \x20 global_batch_size ............... 128\n  tensor_model_parallel_size ...... 2\n\
                   \x20 normalization ................... RMSNorm\n  add_bias_linear ................. False\n\
                   \x20 position_embedding_type ......... rope\n  untie_embeddings_and_output_weights  True\n\
                   \x20 world_size ...................... 16\n\
                   \x20iteration        1/     100 | elapsed time per iteration (ms): 9123.4 | global batch size:    64 |\n\
                   \x20iteration        2/     100 | elapsed time per iteration (ms): 7000.0 | global batch size:   128 |\n\
                   \x20iteration        3/     100 | elapsed time per iteration (ms): 6400.0 | global batch size:   128 |\n\
                   \x20iteration        4/     100 | elapsed time per iteration (ms): 6500.0 | global batch size:   128 |\n\
                   \x20iteration        5/     100 | elapsed time per iteration (ms): nan | global batch size:   128 |\n";

#[test]
fn a_training_log_is_a_model_with_its_layout_and_a_measured_step() {
    let read = bundle(&[("train.log", LOG)]);
    assert_eq!(read.files[0].fate, FileUse::Used);
    assert_eq!(
        read.files[0].holds,
        "a model of 7.50 billion parameters; a step took 6.500 s, the median of 3 iterations"
    );
    let (name, step) = &read.own_steps_of("train.log")[0];
    assert_eq!((name.as_str(), step.line), ("train.log", Some(LOG.lines().count() as u64 - 1)));
    assert_eq!((step.gpus, step.layout.tensor, step.global_batch, step.time_us), (16, 2, Some(128), 6_500_000.0));
    // A log of iterations whose batch still grows measured that batch, not the one of the arguments.
    let growing: String =
        LOG.lines().filter(|line| !line.contains("size:   128")).map(|line| format!("{line}\n")).collect();
    let (_, step) = &bundle(&[("train.log", &growing)]).own_steps_of("train.log")[0];
    assert_eq!((step.global_batch, step.time_us), (Some(64), 9_123_400.0));
    // What comes before the arguments, a shell's trace of hundreds of kilobytes, hides none of them.
    let traced = format!("{}{LOG}", "+ export A=B\n".repeat(40_000));
    assert_eq!(bundle(&[("slurm.out", &traced)]).own_steps_of("slurm.out").len(), 1);
    // It is no step of another model, whose file is beside it.
    let toml = "[model]\nname = \"llama3\"\nflavor = \"70B\"\n[training]\nseq_len = 8192\n";
    assert_eq!(bundle(&[("train.log", LOG), ("llama.toml", toml)]).own_steps_of("llama.toml"), []);
    // A log of the library is none of training, whatever else is in it.
    let logged = format!("{LOG}node1:1:2 [0] NCCL INFO Bootstrap : Using eth0\n");
    assert!(open("nccl.log", logged.as_bytes()).is_err());
    // Of a long log it is said how much was read.
    let line = LOG.lines().rev().nth(1).unwrap();
    let long = format!("{LOG}{}", format!("{line}\n").repeat((8 << 20) / line.len()));
    let read = bundle(&[("train.log", &long)]);
    assert_eq!(read.own_steps_of("train.log").len(), 1);
    assert!(
        read.files[0].notes.iter().any(|note| note == "Only its first 8 MiB were read"),
        "{:?}",
        read.files[0].notes
    );
    let unsaid = LOG.replace("world_size ......", "world ......");
    let read = bundle(&[("train.log", &unsaid)]);
    assert_eq!(read.own_steps_of("train.log"), []);
    assert!(read.files[0].notes.iter().any(|note| note.contains("on how many GPUs")), "{:?}", read.files[0].notes);
}

#[test]
fn what_starts_a_run_is_its_model_and_its_settings() {
    let script = "#!/bin/bash\nset -e\ntorchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\\n\
                  \x20 --num-attention-heads 32 --seq-length 2048 --vocab-size 50257 --micro-batch-size 2 --global-batch-size 64\n";
    let zero =
        r#"{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 2}}"#;
    let toml = "# Llama\n[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n";
    for (name, text, has_model) in [("run.sh", script, true), ("ds.json", zero, false), ("llama.toml", toml, true)] {
        let read = bundle(&[(name, text)]);
        assert_eq!(read.files[0].fate, FileUse::Used, "{name}: {:?}", read.files);
        assert_eq!(read.model_files[0].1.model.is_some(), has_model, "{name}");
    }
    let FileUse::Unrecognised(why) = &bundle(&[("bad.toml", &toml.replace("= 1", "= one"))]).files[0].fate else {
        panic!("no value of TOML is without quotes")
    };
    assert!(why.contains("line 6, column"), "{why}");
}
