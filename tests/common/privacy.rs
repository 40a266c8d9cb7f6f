//! Reports have no names of files and folders if that is switched off, and never paths.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeSet, fs, path::Path};

use collectune::{
    collective::Collective,
    form::Choices,
    overlap,
    policy::{file::Policy, simulate},
    progress::Silent,
    registry::work,
    report::{Contents, Report, ReportFormat, Workbench, Written, link, wire, write},
    training_time::{self, catalogue::Catalogue},
    tuning::{loaded::predict_folds, parameters::Parameters, simulate::Simulation},
    workbench::{WorkbenchAnswer, WorkbenchQuestion, WorkbenchView},
    worker::{
        executor::Executor,
        protocol::{Request, Response},
    },
};
use proptest::prelude::*;

/// A machine of two GPUs as NCCL dumps it.
const DUMP: &str = r#"<system version="2">
  <cpu host_hash="0x1" numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:01:00.0" class="0x030200" vendor="0x10de" device="0x20b0" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="80" rank="0" gdr="1"><nvlink target="0000:02:00.0" count="4" tclass="0x030200"/></gpu>
    </pci>
    <pci busid="0000:02:00.0" class="0x030200" vendor="0x10de" device="0x20b0" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="80" rank="1" gdr="1"><nvlink target="0000:01:00.0" count="4" tclass="0x030200"/></gpu>
    </pci>
  </cpu>
</system>
"#;
const LINKS: &str = "Src,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n1,2,500,50\n2,1,500,50\n2,0,500,50\n0,2,500,50\nx,1,2,3\n";

type Files = Vec<(String, Vec<u8>)>;

/// Files of each workbench, all called by a word, some with a line that can't be read.
fn files(workbench: Workbench, word: &str) -> Vec<Files> {
    let path = |end: &str| format!("{word}Folder/Sub{word}/{word}{end}");
    match workbench {
        Workbench::Tuning => {
            let simulation = Simulation { sizes: vec![4096, 1 << 20], channels: vec![1, 8], ..Simulation::example() };
            let collectives = vec![Collective::AllReduce];
            let csv = Simulation { collectives, ..simulation }.to_csv();
            let broken = format!("{}\n{}", csv.lines().next().unwrap(), "what,is,this");
            vec![
                vec![(path(".csv"), csv.clone().into_bytes())],
                vec![(path(".csv"), csv.clone().into_bytes()), (format!("{word}.csv"), (csv + &broken).into_bytes())],
            ]
        }
        Workbench::Policy => {
            let (policy, log) = crate::support::rewards::explored();
            let world = &simulate::worlds()[0].1;
            let told = simulate::log(world, &["auto", "ring/simple"], 1 << 20, 40, 1);
            vec![
                vec![(path("_rewards.csv"), told.into_bytes())],
                vec![(path(".csv"), log.into_bytes()), (path(".json"), Policy::text(&policy).into_bytes())],
            ]
        }
        Workbench::Overlap => {
            let csv = overlap::simulate::Simulation::example().to_csv();
            vec![vec![(path("-kernels.csv"), csv.into_bytes())]]
        }
        Workbench::Topology => {
            let solved = crate::support::worker::with(&[("a.csv", LINKS.replace("x,1,2,3\n", ""))]);
            let schedule = saved(solved, "csv");
            let algorithm = saved(crate::support::worker::with(&[("a.csv", LINKS.replace("x,1,2,3\n", ""))]), "xml");
            vec![
                vec![(path("Dump.xml"), DUMP.into())],
                vec![(path(".csv"), LINKS.into())],
                vec![
                    (path(".csv"), LINKS.replace("x,1,2,3\n", "").into_bytes()),
                    (path("_result.csv"), schedule.into_bytes()),
                    (path("-algo.xml"), algorithm.into_bytes()),
                ],
            ]
        }
        Workbench::TrainingTime => {
            let samples = training_time::simulate::Simulation::example().files();
            let named = |name: &str| match name.rsplit_once('/') {
                Some((_, leaf)) => format!("{word}Cluster/{leaf}"),
                None => format!("{word}_{name}"),
            };
            let all: Files = samples.iter().map(|(name, text)| (named(name), text.clone().into_bytes())).collect();
            let archived = crate::support::archives::archive(&all);
            let mut loose = all;
            let operator = loose.iter().find(|(name, _)| name.contains("linear1")).cloned();
            loose.extend(operator.map(|(name, bytes)| (name.replace("linear1", word), bytes)));
            let model = r#"{"model_type": "mixtral", "hidden_size": 1024, "intermediate_size": 2048, "num_hidden_layers": 8,
                "num_attention_heads": 8, "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2}"#;
            let steps = "gpus,step_s,tp\n64,2.5,1\n64,2.9,3\n";
            let estimated = vec![
                (format!("{word}_config.json"), model.as_bytes().to_vec()),
                (format!("{word}_steps.csv"), steps.as_bytes().to_vec()),
            ];
            vec![loose, vec![(format!("{word}.zip"), archived)], estimated]
        }
    }
}

/// A file that the topology workbench offers to save.
fn saved(mut executor: Executor, key: &str) -> String {
    explore(&mut executor, Workbench::Topology, true);
    match ask(&mut executor, Workbench::Topology, WorkbenchQuestion::Save(key.to_owned())) {
        WorkbenchAnswer::File(file) => file.text,
        other => panic!("{other:?}"),
    }
}

fn ask(executor: &mut Executor, workbench: Workbench, question: WorkbenchQuestion) -> WorkbenchAnswer {
    match crate::support::worker::ask(
        executor,
        Request::Study { workbench, question: Box::new(question), is_held: false },
    ) {
        Response::Study(answer) => *answer,
        other => panic!("{other:?}"),
    }
}

/// Studies files as the page does; with `is_whole`, until nothing is left to be done.
fn explore(executor: &mut Executor, workbench: Workbench, is_whole: bool) {
    let shown = |answer: WorkbenchAnswer| -> WorkbenchView {
        match answer {
            WorkbenchAnswer::Shown(shown) => *shown,
            other => panic!("{other:?}"),
        }
    };
    let mut at = shown(ask(executor, workbench, WorkbenchQuestion::Choose(Choices::default())));
    loop {
        if let Some(round) = at.jobs.rounds.first().filter(|_| is_whole) {
            let jobs: Vec<u32> = round.iter().map(|(job, _)| *job).collect();
            let done = work(workbench, &at.jobs.basis, &jobs, &mut Silent).unwrap();
            at = shown(ask(executor, workbench, WorkbenchQuestion::Take(vec![done])));
        } else if at.jobs.goes_on {
            at = shown(ask(executor, workbench, WorkbenchQuestion::GoOn(5000)));
        } else {
            return;
        }
    }
}

/// What a workbench finds in files.
fn studied(workbench: Workbench, files: &Files, is_whole: bool) -> Executor {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
    let mut executor = Executor::default();
    crate::support::worker::load(&mut executor, &files);
    if workbench != Workbench::Tuning {
        explore(&mut executor, workbench, is_whole);
    } else if is_whole {
        let parameters = Parameters { trees: 5, stages: 10, ..Parameters::default() };
        let trained = executor.studies.tuning.loaded.train(parameters.clone(), &mut Silent).unwrap();
        let all: Vec<u32> = (0..trained.folds.len() as u32).collect();
        let folds = predict_folds(&trained.training, &parameters, &all, &mut Silent).unwrap();
        executor.studies.tuning.loaded.validate(&[folds], &mut Silent).unwrap();
    }
    executor
}

fn report(executor: &Executor, workbench: Workbench, file_names: bool) -> Report {
    executor.report(&Contents { workbench, file_names, ..Contents::whole() }).unwrap()
}

/// All texts of a report in every form.
fn all_that_leaves(report: &Report) -> Vec<(ReportFormat, String)> {
    let all = ReportFormat::ALL.iter().map(|form| {
        let text = match write(report, &(*form).into()).unwrap() {
            Written::File { name, text, .. } => format!("{name}\n{text}"),
            Written::Links(links) => {
                let opened = links.sizes.iter().map(|link| wire::write(&link::decode(&link.fragment).unwrap()));
                opened.chain(links.subjects.iter().cloned()).collect::<Vec<_>>().join("\n")
            }
        };
        (*form, text)
    });
    all.collect()
}

/// Asserts that no form of the report contains the word, in upper or lower case.
fn is_nowhere(word: &str, report: &Report) {
    for (form, text) in all_that_leaves(report) {
        let lower = text.to_ascii_lowercase();
        if let Some(at) = lower.find(&word.to_ascii_lowercase()) {
            let around = &text[text.floor_char_boundary(at.saturating_sub(80))..text.ceil_char_boundary(at + 80)];
            panic!("{word} in the {} of {:?}: … {around} …", form.name(), report.workbench);
        }
    }
}

#[test]
fn no_form_of_a_whole_report_has_a_name_of_a_file() {
    for workbench in Workbench::ALL {
        for files in files(*workbench, "acmeSecret") {
            let executor = studied(*workbench, &files, true);
            is_nowhere("acme", &report(&executor, *workbench, false));
            let named = report(&executor, *workbench, true);
            let leaves = all_that_leaves(&named);
            assert!(leaves.iter().any(|(_, text)| text.contains("acmeSecret")), "names travel where they may");
            for folder in ["acmeSecretFolder", "Sub"] {
                is_nowhere(&format!("{folder}/"), &named);
            }
            is_nowhere("FolderSub", &named);
        }
    }
}

/// What the terminal writes of a file in a folder, both called by a word.
#[test]
fn the_terminal_names_no_folder_and_no_file_where_it_may_not() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("acmeSecret")).unwrap();
    let dump = folder.path().join("acmeSecret/acmeDump.xml");
    fs::write(&dump, DUMP).unwrap();
    for (name, more) in [("r.json", None), ("r.html", None), ("r.md", None), ("n.json", Some("--no-file-names"))] {
        let out = folder.path().join(name);
        let arguments = ["report", dump.to_str().unwrap(), "-o", out.to_str().unwrap()];
        let all: Vec<&str> = arguments.into_iter().chain(more).collect();
        crate::support::terminal::ended(&crate::support::terminal::collectune(&all), 0);
        let text = fs::read_to_string(out).unwrap();
        assert!(!text.contains("acmeSecret") && !text.contains(folder.path().to_str().unwrap()), "{name}");
        assert_eq!(text.contains("acmeDump"), more.is_none(), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]
    #[test]
    fn any_word_in_the_names_stays(word in "[a-zA-Z]{2}[a-zA-Z0-9]{4,60}") {
        for workbench in Workbench::ALL {
            for files in files(*workbench, &word) {
                is_nowhere(&word, &report(&studied(*workbench, &files, false), *workbench, false));
            }
        }
    }
}

/// Words of the program: those of reports about simulated files, and of the built-in catalogue.
fn vocabulary() -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut add = |text: &str| {
        let all = text.split(|c: char| !c.is_alphanumeric());
        let listed = all.filter(|word| word.chars().count() > 1 && word.chars().any(char::is_alphabetic));
        words.extend(listed.filter(|word| word.len() < 40).map(str::to_lowercase));
    };
    for workbench in Workbench::ALL {
        for files in files(*workbench, "xxx") {
            let report = report(&studied(*workbench, &files, true), *workbench, false);
            let Written::File { text, .. } = write(&report, &ReportFormat::Markdown.into()).unwrap() else { continue };
            text.split_whitespace().for_each(&mut add);
        }
    }
    let known = Catalogue::built_in();
    known.gpus.iter().for_each(|gpu| add(&gpu.name));
    known.operators.iter().for_each(|operator| add(&operator.name));
    known.collectives.iter().for_each(|collective| add(&collective.name));
    known.architectures.iter().for_each(|architecture| add(&architecture.name));
    // Words of our examples, of the formats that are read, and of common file names.
    "csv tsv json xml yml yaml txt log gz zip conf html md sweep sweeps metrics merged stats statistics results result \
     samples sample kernels rewards reward policy dump topology graph links schedule run runs output simulated fp16 bf16 \
     fp32 fp64 nccl rccl tests test perf node nodes rank ranks default median medians winners tuner tuned training"
        .split_whitespace()
        .for_each(&mut add);
    words.retain(|word| !word.contains("xxx"));
    words
}

const WORDS: &str = "src/report/privacy/words.txt";

/// A word of ordinary reports that the list lacks would be replaced if a file had that name.
#[test]
fn the_vocabulary_has_the_words_of_every_report() {
    let written = fs::read_to_string(WORDS).unwrap();
    let listed: BTreeSet<&str> = written.lines().collect();
    let words = vocabulary();
    let missing: Vec<&String> = words.iter().filter(|word| !listed.contains(word.as_str())).collect();
    assert!(missing.is_empty(), "cargo test --test common write_the_vocabulary -- --ignored adds: {missing:?}");
}

#[test]
#[ignore = "writes src/report/privacy/words.txt anew"]
fn write_the_vocabulary() {
    let words: Vec<String> = vocabulary().into_iter().collect();
    fs::write(Path::new(WORDS), words.join("\n") + "\n").unwrap();
}
