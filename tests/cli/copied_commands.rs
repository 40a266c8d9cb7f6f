//! The commands that the page offers to copy: a shell that is given one answers as the page does.

#![allow(clippy::unwrap_used)]

use std::fs;

use collectune::{
    form::Choices,
    intake::files::{FileSource, FileToLoad},
    overlap::simulate as kernels,
    plot::{Chart, Style, svg, with_captions},
    policy::simulate as rewards,
    progress::Silent,
    report::{self, Contents, Report, ReportFormat, Workbench, Written},
    text::Listing,
    training_time::simulate as steps,
    tuning::{
        export,
        result::{Recommended, View},
        sets::SetChoice,
        settings,
        simulate::Simulation,
    },
    workbench::{AttachmentKind, WorkbenchAnswer, WorkbenchQuestion, WorkbenchView},
    worker::{
        executor::Executor,
        protocol::{GivenState, Request, Response},
    },
};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::terminal;

/// What a shell writes, and its exit code.
type Said = (String, Option<i32>);

/// A worker and a folder with the same files.
struct Opened {
    folder: TempDir,
    worker: Executor,
    workbench: Workbench,
}

impl Opened {
    fn new(workbench: Workbench, files: &[(&str, Vec<u8>)], choices: &str) -> Self {
        let folder = TempDir::new().unwrap();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let names = (0..).zip(files).map(|(id, (name, _))| FileToLoad { id, name: (*name).to_owned(), mapping: None });
        let sources = files.iter().map(|(_, bytes)| FileSource::from(bytes.clone()));
        let target = settings::target(&Choices::parse(choices));
        let mut worker = Executor::default();
        let request = Request::Load { files: names.collect(), target, set: SetChoice::Largest };
        let loaded = worker.execute(request, sources.collect(), &mut Silent);
        assert!(matches!(loaded, Ok(Response::Loaded(_))), "{loaded:?}");
        Self { folder, worker, workbench }
    }

    fn ask(&mut self, question: WorkbenchQuestion) -> WorkbenchAnswer {
        let request = Request::Study { workbench: self.workbench, question: Box::new(question), is_held: false };
        match self.worker.execute(request, Vec::new(), &mut Silent) {
            Ok(Response::Study(answer)) => *answer,
            other => panic!("{other:?}"),
        }
    }

    fn shown(&mut self, question: WorkbenchQuestion) -> WorkbenchView {
        match self.ask(question) {
            WorkbenchAnswer::Shown(view) => *view,
            other => panic!("{other:?}"),
        }
    }

    /// What the page shows of some choices when nothing is left to do, with what it keeps of the answers before.
    fn choose(&mut self, choices: &str) -> WorkbenchView {
        let mut kept = Vec::new();
        let mut view = self.shown(WorkbenchQuestion::Choose(Choices::parse(choices)));
        loop {
            kept.extend(view.attachments.iter().filter(|attachment| attachment.kind.is_kept()).cloned());
            let jobs: Vec<u32> = view.jobs.rounds.concat().into_iter().map(|(job, _)| job).collect();
            if !view.jobs.files.is_empty() {
                self.give(&view.jobs.files);
                view = self.shown(WorkbenchQuestion::Choose(Choices::parse(choices)));
            } else if !jobs.is_empty() {
                let done = self.ask(WorkbenchQuestion::Do { basis: view.jobs.basis.clone(), jobs });
                let WorkbenchAnswer::Done(done) = done else { panic!("{done:?}") };
                view = self.shown(WorkbenchQuestion::Take(vec![done]));
            } else if view.jobs.goes_on {
                view = self.shown(WorkbenchQuestion::GoOn(80));
            } else {
                kept.reverse();
                view.attachments.extend(kept);
                return view;
            }
        }
    }

    /// Gives files by themselves, as the page does where two states are compared.
    fn give(&mut self, files: &[u32]) {
        let loaded: Vec<(u32, String)> = files.iter().map(|id| (*id, self.name(*id))).collect();
        let sources =
            loaded.iter().map(|(_, name)| FileSource::from(fs::read(self.folder.path().join(name)).unwrap())).collect();
        let states = loaded.into_iter().map(|(id, name)| GivenState::File(FileToLoad { id, name, mapping: None }));
        self.worker.execute(Request::TakeStates(states.collect()), sources, &mut Silent).unwrap();
    }

    fn name(&self, id: u32) -> String {
        let mut names: Vec<String> = fs::read_dir(&self.folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names[id as usize].clone()
    }

    /// What the page offers to copy, and what it says is missing.
    fn offered(view: &WorkbenchView) -> (Vec<String>, Vec<String>) {
        let (text, left_out): (String, Vec<String>) = view.attachment(AttachmentKind::Commands).unwrap();
        (text.lines().map(str::to_owned).collect(), left_out)
    }

    /// Gives a line to a shell, which stands in the folder of the files.
    fn shell(&self, line: &str) -> Said {
        let output = terminal::shell(self.folder.path(), line);
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 3)), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        (String::from_utf8(output.stdout).unwrap(), code)
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.shell(&format!("{line} --json")).0).unwrap()
    }

    /// The report of the last answer, as Markdown.
    fn report(&self) -> String {
        let contents = Contents { workbench: self.workbench, ..Contents::whole() };
        let report: Report = self.worker.report(&contents).unwrap();
        match report::write(&report, &ReportFormat::Markdown.into()).unwrap() {
            Written::File { text, .. } => text,
            Written::Links(_) => panic!(),
        }
    }
}

/// The one line that is offered, where nothing is left out.
#[track_caller]
fn only(view: &WorkbenchView) -> String {
    let (lines, left_out) = Opened::offered(view);
    assert_eq!((lines.len(), &left_out[..]), (1, &[][..]), "{lines:?}");
    lines[0].clone()
}

#[track_caller]
fn has_all(said: &str, listing: &Listing) {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = plain(said);
    let visible = listing.without_secondary_columns();
    assert!(!visible.rows.is_empty());
    for cell in visible.rows.iter().flatten() {
        assert!(said.contains(&plain(&cell.text)), "{:?} is not in {said}", cell.text);
    }
}

fn simulation(seed: u64, nodes: &[u32]) -> Vec<u8> {
    let simulation = Simulation {
        collectives: vec![collectune::collective::Collective::AllReduce],
        nodes: nodes.to_vec(),
        sizes: (12..22).map(|log2| 1 << log2).collect(),
        channels: vec![4, 8, 16],
        repeats: 2,
        seed,
    };
    simulation.to_csv().into_bytes()
}

/// A name that a shell would take apart.
const SWEEP: &str = "it's a sweep $(of) 2 nodes.csv";
/// Few trees: these tests compare two doors to one answer, not its accuracy.
const VIEW: &str = "v=1&c=all_reduce&n=2&r=16&s=65536&trees=10";

fn tuning(choices: &str, more: &[(&str, Vec<u8>)]) -> (Opened, WorkbenchView) {
    let files = [&[(SWEEP, simulation(5, &[1, 2]))], more].concat();
    let choices = format!("{VIEW}&{choices}");
    let mut opened = Opened::new(Workbench::Tuning, &files, &choices);
    let view = opened.choose(&choices);
    (opened, view)
}

#[test]
fn a_recommendation_is_that_of_the_page() {
    for choices in [
        "",
        "seed=7&confidence=80&least-gain=2.5",
        "preset=seed&stages=20&depth=3&learning-rate=0.2",
        "preset=forest&keep-stalls=1",
        "algorithms=RING&protocols=LL,SIMPLE&max-channels=8",
        "aside=all_reduce:2x16:RING/LL/8,all_reduce:2x16:RING/LL128/16",
        "busbw=printed&confidence=99.9",
        "p=noise",
        "x=1&dip=50",
    ] {
        let (opened, view) = tuning(choices, &[]);
        let (lines, left_out) = Opened::offered(&view);
        assert_eq!((lines.len(), left_out.len()), (1, usize::from(choices.contains("dip"))), "{choices}: {left_out:?}");
        let line = lines[0].replace(" --all-columns", "");
        let Recommended { answer, .. } = view.attachment(AttachmentKind::Recommendations).unwrap();
        let mut own =
            answer.into_iter().find(|found| found.workload.size_bytes == 65536 && found.workload.scale.nodes == 2);
        // Searched for only where somebody asks for one size.
        own.as_mut().unwrap().exhaustive = None;
        let expected: Value = serde_json::from_str(&export::json(own.as_slice(), None)).unwrap();
        let mut said = opened.json(&line);
        for answer in said.as_array_mut().unwrap() {
            answer.as_object_mut().unwrap().remove("exhaustive");
        }
        assert_eq!(said, expected, "{line}");
    }
}

#[test]
fn sizes_of_ones_own_are_answered_beside_the_one_on_view() {
    let (opened, view) = tuning("sizes=96K,3M", &[]);
    let line = only(&view);
    assert!(line.contains("--sizes 64K,96K,3M"), "{line}");
    let section = view.report.sections.iter().find(|section| section.title == "Sizes of your own").unwrap();
    has_all(&opened.shell(&line).0, &section.tables[0].listing);
    // Where these are searched otherwise, the command is about the size on view alone, and says so.
    let (_, view) = tuning("sizes=96K&own-max-channels=4", &[]);
    let (lines, left_out) = Opened::offered(&view);
    assert!(lines[0].contains("--size 64K") && left_out.len() == 2, "{lines:?}{left_out:?}");
}

#[test]
fn a_heat_map_is_drawn_as_on_the_page() {
    for choices in ["p=heat-map", "p=heat-map&h=default&preset=forest&least-gain=3"] {
        let (opened, view) = tuning(choices, &[]);
        let line = only(&view);
        opened.shell(&line);
        let drawn = fs::read_to_string(opened.folder.path().join("heat-map.svg")).unwrap();
        let shown: View = view.attachment(AttachmentKind::Charts).unwrap();
        let chart: Chart = shown.heat_map.unwrap();
        let style = Style { width: 960.0, height: chart.height().unwrap(), ..Style::default() };
        assert_eq!(drawn, svg(&chart, &with_captions(&chart, style)), "{line}");
    }
}

#[test]
fn a_model_is_trained_and_validated_as_on_the_page() {
    for choices in ["p=model", "p=model&preset=seed&stages=25&importances=1&seed=3"] {
        let (opened, view) = tuning(choices, &[]);
        let line = only(&view);
        let said = opened.json(&format!("{line} --test-split 0"));
        let evaluation = opened.worker.studies.tuning.loaded.study.evaluation().unwrap();
        let scores = &evaluation.by_size.model;
        assert_eq!(said["evaluation"]["by_size"]["mape_pct"].as_f64(), scores.mape_pct, "{line}");
        assert_eq!(said["evaluation"]["by_size"]["regret_mean_pct"].as_f64(), scores.regret_mean_pct);
        assert_eq!(said["evaluation"]["regret_deployed_mean_pct"].as_f64(), evaluation.regret_deployed_mean_pct);
        assert_eq!(!said["importances"].as_array().unwrap().is_empty(), choices.contains("importances"));
    }
}

const CONF: &str = "allreduce,0,65536,tree,ll,8,2,16,-1,-1\nallreduce,65537,4294967295,ring,simple,16,2,16,-1,-1\n";

#[test]
fn a_tuner_file_is_written_and_checked_as_on_the_page() {
    for choices in [
        "p=tuner-files&reader=collectune",
        "p=tuner-files&reader=dn-tuner&open-ends=1&least-gain=0.5",
        "p=tuner-files&reader=rccl&architecture=gfx942&all-readers=1",
        "p=tuner-files&reader=rccl&library-version=2.31.2",
        "p=tuner-files&reader=dn-tuner&gpu=gfx950&library-version=2.30.4",
        "p=tuner-files&reader=collectune&gpu=mi355x&without-built-in=1",
    ] {
        let (opened, view) = tuning(choices, &[("-old.conf", CONF.into())]);
        let (lines, left_out) = Opened::offered(&view);
        let [lint, export] = &lines[..] else { panic!("{lines:?}") };
        assert!(left_out.is_empty(), "{left_out:?}");
        let section = |title: &str| view.report.sections.iter().find(|section| section.title == title).unwrap();
        let written = &section("Write a tuner file").files;
        assert_eq!(opened.shell(export).0.trim_end(), written[0].text.trim_end(), "{export}");
        let findings = opened.json(lint);
        let check = section("What this tuner file does");
        let listed = check.tables.first().map_or(0, |table| table.listing.rows.len());
        assert_eq!(findings.as_array().unwrap().len(), listed, "{lint}");
    }
}

#[test]
fn the_calls_of_a_job_cost_what_they_cost_on_the_page() {
    let job = "host:1:1 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x2 count 16384 datatype 7 op 0 root 0 comm 0x3 [nranks=16] stream 0x4\n";
    for (choices, more) in [
        ("p=coverage&calls.batches=1,4&calls.hidden=4096&calls.each=12", vec![]),
        (
            "p=coverage&calls.batches=2&calls.type=float32&calls.c=all_reduce&rules=1&reader=dn-tuner",
            vec![("tuned.conf", CONF)],
        ),
        ("p=coverage&steps=2&preset=forest", vec![("job.log", job)]),
    ] {
        let more: Vec<(&str, Vec<u8>)> =
            more.into_iter().map(|(name, text)| (name, text.as_bytes().to_vec())).collect();
        let (opened, view) = tuning(choices, &more);
        let line = only(&view);
        let section = view.report.sections.iter().find(|section| !section.charts.is_empty()).unwrap();
        let (said, _) = opened.shell(&line);
        assert!(said.contains(section.text.last().unwrap()), "{line}: {said} has not {:?}", section.text);
        has_all(&said, &section.tables[0].listing);
    }
}

#[test]
fn what_to_measure_next_is_that_of_the_page() {
    for choices in ["p=plan", "p=plan&launches=12&repeats=2&launcher=srun&only-shown=1&seed=9"] {
        let (opened, view) = tuning(choices, &[]);
        let line = only(&view);
        let files = || view.report.sections.iter().flat_map(|section| &section.files);
        let sweep = files().find(|file| file.note == "rccl-sweep").unwrap();
        assert_eq!(opened.shell(&format!("{line} --sweep-arguments")).0.trim_end(), sweep.text.trim_end(), "{line}");
        opened.shell(&format!("{line} --script measure.sh"));
        let script = fs::read_to_string(opened.folder.path().join("measure.sh")).unwrap();
        assert_eq!(script, files().find(|file| file.name == "measure.sh").unwrap().text, "{line}");
    }
}

#[test]
fn a_campaign_is_judged_and_planned_as_on_the_page() {
    let campaign = "nodes,size_bytes,def_runs,cfg_runs\n\
                    2,16384,10;10.1;9.9;10;10.05;9.95,12;12.1;11.9;12;12.05;11.95\n\
                    2,131072,20;20.1;19.9;20;20.05;19.95,20.1;20.2;20;20.1;20.15;20.05\n";
    let more = [("all_reduce_2n.per_size_stats.csv", campaign.into()), ("judged.conf", CONF.into())];
    for choices in [
        "p=ab",
        "p=ab&keep-confidence=80&keep-gain=0.5&keep-loss=1&campaign-c=all_reduce&arm-launches=9&arm-launcher=srun&plugin=/opt/my%20tuner.so",
    ] {
        let (opened, view) = tuning(choices, &more);
        let (lines, left_out) = Opened::offered(&view);
        let [judge, plan] = &lines[..] else { panic!("{lines:?}") };
        assert!(left_out.is_empty(), "{left_out:?}");
        let section = |title: &str| view.report.sections.iter().find(|section| section.title == title).unwrap();
        let (said, _) = opened.shell(judge);
        has_all(&said, &section("A/B").tables[0].listing);
        has_all(&said, &section("A/B").tables[1].listing);
        assert_eq!(opened.shell(plan).0.trim_end(), section("The next A/B").files[0].text.trim_end(), "{plan}");
    }
}

#[test]
fn two_states_are_compared_as_on_the_page() {
    for choices in ["p=compare", "p=compare&change-confidence=80&least-change=3&before=2&after=1"] {
        let files = [("after.csv", simulation(6, &[2])), ("before.csv", simulation(5, &[2]))];
        let choices = format!("{VIEW}&{choices}");
        let mut opened = Opened::new(Workbench::Tuning, &files, &choices);
        let view = opened.choose(&choices);
        let line = only(&view);
        let section = view.report.sections.iter().find(|section| section.title == "Compare").unwrap();
        let (said, code) = opened.shell(&line);
        assert!(
            !section.text.is_empty() && section.text.iter().all(|sentence| said.contains(sentence)),
            "{line}: {said}"
        );
        assert_eq!(code == Some(3), section.placement.is_bad);
        has_all(&said, &section.tables[0].listing);
    }
}

/// The report of any workbench is what the page offers where nothing else says it.
fn reports(workbench: Workbench, files: &[(&str, Vec<u8>)], all: &[&str]) {
    for choices in all {
        let mut opened = Opened::new(workbench, files, choices);
        let view = opened.choose(choices);
        let line = only(&view);
        assert!(line.starts_with("collectune report"), "{choices}: {line}");
        assert_eq!(opened.shell(&line).0, opened.report(), "{line}");
    }
}

#[test]
fn kernels_are_slowed_down_as_on_the_page() {
    let files = [("some kernels.csv", kernels::Simulation::example().to_csv().into_bytes())];
    for (choices, option) in [("", ""), ("shown=forest", "--model forest"), ("seed=7", "--seed 7")] {
        let mut opened = Opened::new(Workbench::Overlap, &files, choices);
        let view = opened.choose(choices);
        let line = only(&view);
        assert!(line.starts_with("collectune overlap models 'some kernels.csv'") && line.contains(option), "{line}");
        let (said, _) = opened.shell(&line);
        for sentence in &view.report.summary {
            assert!(said.contains(sentence), "{line}: {said} has not {sentence}");
        }
    }
    reports(Workbench::Overlap, &files, &["launch=3&alone=500&shown=forest", "overlap=0.5"]);
}

#[test]
fn steps_take_as_long_as_on_the_page() {
    let mut files = steps::Simulation::example().files();
    files.sort_unstable();
    let files: Vec<(&str, Vec<u8>)> =
        files.iter().map(|(name, text)| (name.as_str(), text.clone().into_bytes())).collect();
    reports(Workbench::TrainingTime, &files, &["", "r.tp=4&r.m=16", "s.gpus=32&s.batch=64"]);
}

#[test]
fn rewards_are_judged_and_replayed_as_on_the_page() {
    let log =
        rewards::log(&rewards::worlds()[0].1, &["auto", "tree/simple", "tree/ll128", "ring/simple"], 4 << 20, 40, 1);
    let files = [("rewards.log", log.into_bytes())];
    for (files, choices) in [
        (&files[..], "seeds=20&steps=300"),
        (&files[..], "seeds=20&steps=300&bands=six&strategy=1"),
        (&[], "seeds=20&steps=300"),
        (&[], "world=drift&seeds=20&steps=300"),
    ] {
        let mut opened = Opened::new(Workbench::Policy, files, choices);
        let view = opened.choose(choices);
        let line = only(&view);
        assert!(line.starts_with("collectune policy replay"), "{line}");
        let (said, _) = opened.shell(&line);
        let tables = view.report.sections.iter().flat_map(|section| &section.tables);
        let table = tables.into_iter().find(|table| table.title.contains("trateg")).unwrap();
        has_all(&said, &table.listing);
    }
    reports(Workbench::Policy, &files, &["seeds=20&steps=300&world=two-modes", "seeds=20&steps=300&eps=0.2"]);
    reports(Workbench::Policy, &[], &["world=own&means.own=10,9,8&seeds=20&steps=300"]);
}

#[test]
fn schedules_take_as_long_as_on_the_page() {
    let links = "4\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,2,500,50\n2,3,500,50\n3,0,500,50\n";
    let files = [("my links.csv", links.as_bytes().to_vec())];
    for (files, choices) in [
        (&[][..], "graph=ring&ring=5&collective=all_reduce&chunk=4%20MiB&limit=1"),
        (&[], "graph=mesh&mesh=3x3&collective=broadcast&root=4&chunks=2&bandwidth=25&slower=10&limit=1&seed=3"),
        (&files, "limit=1"),
        (&files, "collective=reduce_scatter&unit=gb&limit=1"),
    ] {
        let mut opened = Opened::new(Workbench::Topology, files, choices);
        let view = opened.choose(choices);
        let line = only(&view);
        assert!(line.starts_with("collectune topology synthesize"), "{line}");
        let (said, _) = opened.shell(&line);
        for sentence in &view.report.summary {
            assert!(said.contains(sentence), "{line}: {said} has not {sentence}");
        }
    }
    reports(Workbench::Topology, &[], &["graph=ring&ring=6&cut=0-1&limit=1"]);
    reports(Workbench::Topology, &files, &["add=0-2&limit=1"]);
}

#[test]
fn a_folder_stands_for_its_files_and_a_run_is_brought_back_by_its_name() {
    let halves = [
        ("run 1/a.csv", simulation(5, &[1])),
        ("run 1/b.csv", simulation(6, &[2])),
        ("alone.csv", simulation(7, &[2])),
    ];
    let choices = format!("{VIEW}&back=2:40:in&keep-stalls=1");
    let mut opened = Opened::new(Workbench::Tuning, &halves, &choices);
    let view = opened.choose(&choices);
    let line = only(&view);
    assert!(
        line.starts_with("collectune tuning predict 'run 1' alone.csv ")
            && line.contains("--bring-back alone.csv:40:in"),
        "{line}"
    );
    opened.shell(&line);
}

#[test]
fn a_step_without_samples_is_that_of_the_page() {
    let script = "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 24 --hidden-size 2048 \
                  --num-attention-heads 16 --seq-length 2048 --vocab-size 50257 --micro-batch-size 2 \
                  --tensor-model-parallel-size 2 --global-batch-size 64 --recompute-granularity full\n";
    let toml = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\nseq_len = 4096\n[compile]\nenable = true\n";
    let zero =
        r#"{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 2}}"#;
    let config = r#"{"model_type": "qwen3", "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936}"#;
    let steps = "gpus,step_s,tp,micro_batch\n16,2.9,1,2\n16,3.1,2,2\n16,3.6,4,4\n";
    let mine = "catalogue: 1\ngpus:\n  - {name: Mine, peak_tflops: {bf16: 500}, memory_gib: 64, memory_gbps: 3000, \
                multiprocessors: 100, link_gbps: 200, linked_gpus: 4, network_gbps: 25}\n";
    for (choices, files) in [
        ("", vec![("config.json", config)]),
        ("", vec![("run.sh", script)]),
        ("e.given=0&e.gpus=32", vec![("run.sh", script)]),
        ("e.tp=4&e.recompute=none&e.sharding=gradients&e.replicate=2", vec![("run.sh", script)]),
        ("e.gpus=128", vec![("llama.toml", toml)]),
        ("", vec![("config.json", config), ("ds.json", zero)]),
        ("e.gpu=B200-SXM-180GB&e.gpus=256&e.sequence=8192&e.precision=fp8&e.price=3", vec![("config.json", config)]),
        (
            "e.gpus=16&e.given=1&e.tp=2&e.b=4&e.recompute=layers&e.stack=torchtitan",
            vec![("config.json", config), ("steps.csv", steps)],
        ),
        ("e.given=1&e.schedule=zb-h1", vec![("config.json", config)]),
        ("e.model=llama-2-7b&e.gpu=Mine&e.gpus=8&e.batch=64", vec![("config.json", config), ("mine.yaml", mine)]),
    ] {
        let files: Vec<(&str, Vec<u8>)> =
            files.into_iter().map(|(name, text)| (name, text.as_bytes().to_vec())).collect();
        let choices = format!("v=1&{choices}");
        let mut opened = Opened::new(Workbench::TrainingTime, &files, &choices);
        let view = opened.choose(&choices);
        let line = only(&view);
        let said = opened.shell(&line).0;
        let section = |title: &str| view.report.sections.iter().find(|section| section.title == title).unwrap();
        has_all(&said, &section("Step").tables[0].listing);
        has_all(&said, &section("Memory").tables[0].listing);
        let headline = view.report.summary[0].trim_end_matches('.');
        assert!(said.contains(headline), "{line}: {headline}");
    }
}
