//! Page and terminal give the same answers for the same files and choices, and saved files mean the same when they are
//! read again; over random choices, damaged files and contents.
//!
//! Other tests read these files again: tuner files of every reader in `tests/tuning/tuner_files.rs`,
//! reports in `reports.rs`, models in `tests/cli/train_and_predict.rs`, schedules and their units in
//! `tests/cli/topology_wrong_answers.rs`.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use crate::support::{
    terminal::{collectune, text, write},
    worker,
};
use collectune::{
    collective::{Algorithm, Collective, Scale},
    conf::words::{COLLECTIVES, PROTOCOLS},
    form::Choices,
    intake::Outcome,
    math::Stream,
    overlap::simulate as kernels,
    policy::{
        arm::Arm,
        bands::Bands,
        chunks::{ChunkSize, grain_bytes},
        file::{Choice, Entry, Evidence, Policy},
    },
    progress::Silent,
    report::Workbench,
    topology::{
        export::topology_csv,
        model::{Link, Topology, Unit},
        read::{self as links, Options},
    },
    training_time::simulate as steps,
    tuning::{
        ab::{self, read as runs, rules},
        loaded::predict_folds,
        parameters::Parameters,
        simulate::Simulation,
    },
    workbench::{WorkbenchAnswer, WorkbenchQuestion},
    worker::{
        executor::Executor,
        protocol::{Loaded, Request, Response},
    },
};
use tempfile::TempDir;

/// The messages to the user: all sentences of the page, and of the terminal the lines beside its answer.
struct Said(String);

impl Said {
    /// Removes folders, which only the terminal names, and the kind of each line.
    fn of(folder: &TempDir, text: &str) -> Self {
        Self(text.replace(&format!("{}/", folder.path().display()), ""))
    }

    fn lines(&self) -> BTreeSet<String> {
        let kinds = ["note: ", "warning: ", "error: "];
        let bare = |line: &str| kinds.iter().find_map(|kind| line.strip_prefix(kind)).map(plain);
        self.0.lines().filter_map(bare).collect()
    }

    fn has(&self, sentence: &str) -> bool {
        plain(&self.0).contains(&plain(sentence))
    }
}

/// Removes beginnings and ends of a sentence that differ between page and terminal.
fn plain(text: &str) -> String {
    text.trim().trim_end_matches('.').to_lowercase()
}

/// What the page says of files when they are loaded.
fn of_files(loaded: &Loaded) -> Vec<String> {
    let mut all = loaded.notes.clone();
    for file in &loaded.files {
        match &file.outcome {
            Outcome::Loaded { problems, notes, .. } | Outcome::Known { problems, notes, .. } => {
                all.extend(problems.kept.iter().map(ToString::to_string));
                all.extend(notes.iter().cloned());
            }
            Outcome::NeedsMapping(request) => all.push(request.problem.clone()),
            Outcome::Refused(why) => all.push(why.clone()),
        }
    }
    all
}

/// All texts that a workbench shows, or why it shows nothing.
fn shown(worker: &mut Executor, workbench: Workbench, choices: &[(String, String)]) -> Result<Vec<String>, String> {
    let mut chosen = Choices::default();
    choices.iter().for_each(|(key, value)| chosen.set(key, value));
    let request = Request::Study { workbench, question: Box::new(WorkbenchQuestion::Choose(chosen)), is_held: false };
    match worker.execute(request, Vec::new(), &mut Silent) {
        Ok(Response::Study(answer)) => {
            let WorkbenchAnswer::Shown(shown) = *answer else { panic!() };
            let report = shown.report;
            let tables = report.sections.iter().flat_map(|section| &section.tables);
            let cells = tables.flat_map(|table| &table.listing.rows).flatten().map(|cell| cell.text.clone());
            let texts = report.sections.iter().flat_map(|section| section.text.iter().cloned());
            Ok(report.summary.iter().cloned().chain(texts).chain(cells).collect())
        }
        Err(error) => Err(error.to_string()),
        other => panic!("{other:?}"),
    }
}

/// A text with some of its lines damaged.
fn damaged(stream: &mut Stream, text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..stream.below(4) {
        let at = 1 + stream.below(lines.len() - 1);
        match stream.below(4) {
            0 => drop(lines.remove(at)),
            1 => {
                let half = lines[at].len() / 2;
                lines[at].truncate(half);
            }
            2 => lines[at] = lines[at].replacen(|c: char| c.is_ascii_digit(), "x", 1),
            _ => lines.insert(at, "nothing of the kind".to_owned()),
        }
    }
    lines.join("\n") + "\n"
}

/// A reward log, with or without arms, and with a name that may contain one.
fn rewards(stream: &mut Stream) -> (String, String) {
    let name = ["rewards.log", "rewards_tree_simple_r1.log", "times_auto_64MB.log"][stream.below(3)];
    let has_arms = stream.below(2) == 0;
    let header = "collective,size_bytes,num_nodes,num_gpus,latency_ms,arm\n";
    let mut text = if has_arms { header.to_owned() } else { String::new() };
    for line in 0..40 {
        let arm = ["auto", "tree/simple"][line % 2];
        let latency = 12.0 - (line % 2) as f64 + 0.01 * stream.normal();
        let cells = format!("allreduce,67108864,2,8,{latency:.3}");
        text += &if has_arms { format!("{cells},{arm}\n") } else { format!("{cells}\n") };
    }
    (name.to_owned(), damaged(stream, &text))
}

/// Choices as the page's keys and values, and as the terminal's options.
fn given(stream: &mut Stream, log: &str) -> (Vec<(String, String)>, Vec<String>) {
    let options = [
        ("arm.1", "--arm", "tree/simple", true),
        ("from.1", "--from", "11", true),
        ("overlap.1", "--overlap", "1", true),
        ("arms", "--arms", "tree/simple,auto", false),
        ("warm-up", "--warm-up", "3", false),
        ("turns", "--turns", "20", false),
        ("collective", "--collective", "broadcast", false),
        ("size", "--size", "1M", false),
        ("bands", "--bands", "six", false),
        ("seed", "--seed", "5", false),
    ];
    let (mut page, mut terminal) = (Vec::new(), Vec::new());
    for (key, option, value, is_of_log) in options {
        if stream.below(3) == 0 {
            page.push((key.to_owned(), value.to_owned()));
            terminal.extend([option.to_owned(), if is_of_log { format!("{log}={value}") } else { value.to_owned() }]);
        }
    }
    (page, terminal)
}

#[test]
fn policy_says_the_same_in_both_doors() {
    let mut noted = 0;
    for seed in 0..40 {
        let (stream, folder) = (&mut Stream::new(seed), TempDir::new().unwrap());
        let (name, log) = rewards(stream);
        let (page, typed) = given(stream, &name);
        let path = write(&folder, &name, &log);
        let mut arguments = vec!["policy", "replay", &*path, "--seeds", "0"];
        arguments.extend(typed.iter().map(String::as_str));
        let output = collectune(&arguments);
        // The page has fields for what an option names.
        let printed = (text(&output.stderr) + &text(&output.stdout)).replace("--arm LOG=ARM, ", "");
        let said = Said::of(&folder, &printed);
        let mut executor = Executor::default();
        let loaded = worker::load(&mut executor, &[(&name, log.as_bytes())]);
        let mut all = of_files(&loaded);
        match shown(&mut executor, Workbench::Policy, &page) {
            Ok(texts) => {
                assert_eq!(output.status.code(), Some(0), "{seed} {typed:?}: {}", said.0);
                all.extend(texts);
            }
            Err(why) => {
                assert_eq!(output.status.code(), Some(1), "{seed} {typed:?}: {why}\n{}", said.0);
                all.push(why);
            }
        }
        let all = Said(all.join("\n"));
        for line in said.lines() {
            // Notes of a file begin with its name in the terminal; on the page they stand beside it.
            let bare = line.strip_prefix(&format!("{}: ", name.to_lowercase())).unwrap_or(&line);
            assert!(
                all.has(&line) || all.has(bare),
                "{seed} {typed:?}: the terminal says {line:?}, the page {}",
                all.0
            );
            noted += 1;
        }
        // And the other way round: the page's notes on the files and on the study.
        let mut notes = of_files(&loaded);
        notes.extend(executor.studies.policy.study().studied().notes);
        for note in notes {
            assert!(said.has(&note), "{seed} {typed:?}: the page says {note:?}, the terminal {}", said.0);
        }
    }
    assert!(noted > 40, "{noted}");
}

#[test]
fn tuning_says_the_same_in_both_doors() {
    let mut noted = 0;
    for seed in 0..3 {
        let (stream, folder) = (&mut Stream::new(100 + seed), TempDir::new().unwrap());
        let simulation = Simulation {
            collectives: vec![Collective::AllReduce],
            nodes: vec![1],
            sizes: (14..=17).map(|log2| 1 << log2).collect(),
            channels: vec![1, 4],
            repeats: 2,
            seed,
        };
        let sweep = damaged(stream, &simulation.to_csv());
        let path = write(&folder, "sweep.csv", &sweep);
        let output = collectune(&["tuning", "train", &path, "--test-split", "0"]);
        let said = Said::of(&folder, &text(&output.stderr));
        let mut executor = Executor::default();
        let loaded = worker::load(&mut executor, &[("sweep.csv", sweep.as_bytes())]);
        let mut notes = of_files(&loaded);
        let trained = executor.studies.tuning.loaded.train(Parameters::default(), &mut Silent).unwrap();
        let folds: Vec<u32> = (0..trained.folds.len() as u32).collect();
        let folds = predict_folds(&trained.training, &Parameters::default(), &folds, &mut Silent).unwrap();
        notes.extend(trained.notes);
        notes.extend(executor.studies.tuning.loaded.validate(&[folds], &mut Silent).unwrap().notes);
        let all = Said(notes.join("\n"));
        for line in said.lines() {
            let bare = line.strip_prefix("sweep.csv: ").unwrap_or(&line);
            assert!(all.has(bare), "{seed}: the terminal says {line:?}, the page {}", all.0);
            noted += 1;
        }
        for note in &notes {
            assert!(said.has(note), "{seed}: the page says {note:?}, the terminal {}", said.0);
        }
    }
    assert!(noted > 0);
}

#[test]
fn overlap_and_training_time_say_the_same_in_both_doors() {
    let (stream, folder) = (&mut Stream::new(7), TempDir::new().unwrap());
    let rows = kernels::Simulation { layers: 2, ..kernels::Simulation::example() }.to_csv();
    let rows = damaged(stream, &rows);
    let path = write(&folder, "kernels.csv", &rows);
    let output = collectune(&["overlap", "models", &path]);
    let said = Said::of(&folder, &text(&output.stderr));
    let mut executor = Executor::default();
    let loaded = worker::load(&mut executor, &[("kernels.csv", rows.as_bytes())]);
    let mut all = of_files(&loaded);
    match shown(&mut executor, Workbench::Overlap, &[]) {
        Ok(texts) => all.extend(texts),
        Err(why) => all.push(why),
    }
    let all = Said(all.join("\n"));
    for line in said.lines() {
        let bare = line.strip_prefix("kernels.csv: ").unwrap_or(&line);
        assert!(all.has(bare), "the terminal says {line:?}, the page {}", all.0);
    }
    for note in of_files(&loaded) {
        assert!(said.has(&note), "the page says {note:?}, the terminal {}", said.0);
    }

    let files = steps::Simulation::example().files();
    let mut loads: Vec<(String, String)> = Vec::new();
    for (path, text) in &files {
        let text = if path.ends_with(".csv") { damaged(stream, text) } else { text.clone() };
        let place = folder.path().join("step").join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(&place, &text).unwrap();
        loads.push((path.clone(), text));
    }
    let output = collectune(&["training-time", "step", &folder.path().join("step").display().to_string()]);
    let said = Said(text(&output.stderr).replace(&format!("{}/step/", folder.path().display()), ""));
    assert_eq!(output.status.code(), Some(0), "{}", said.0);
    let loads: Vec<(&str, &[u8])> = loads.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let mut executor = Executor::default();
    let loaded = worker::load(&mut executor, &loads);
    for note in of_files(&loaded) {
        // Of many lines of a file that were left out the terminal tells the first few and how many there are.
        assert!(said.has(&note) || said.0.contains("more left out"), "the page says {note:?}, the terminal {}", said.0);
    }
    let mut all = of_files(&loaded);
    all.extend(shown(&mut executor, Workbench::TrainingTime, &[]).unwrap());
    let all = Said(all.join("\n"));
    let missing: Vec<String> = said
        .lines()
        .into_iter()
        .filter(|line| {
            let bare = line.split_once(": ").map_or(line.as_str(), |(_, bare)| bare);
            // Missing and suspicious samples are tables on the page.
            let is_of_a_table = line.starts_with("of ") || line.starts_with("odd samples");
            !all.has(line) && !all.has(bare) && !line.contains("more left out") && !is_of_a_table
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}\nthe page: {}", all.0);
}

/// Damaged files of links are refused in the same words.
#[test]
fn topology_says_the_same_in_both_doors() {
    let graph = "4\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,2,500,50\n2,3,500,50\n3,0,500,50\n1,0,500,50\n2,1,500,50\n\
                 3,2,500,50\n0,3,500,50\n";
    let mut refused = 0;
    for seed in 0..12 {
        let (stream, folder) = (&mut Stream::new(seed), TempDir::new().unwrap());
        let text_of = damaged(stream, graph);
        let path = write(&folder, "ring.csv", &text_of);
        let output = collectune(&["topology", "synthesize", &path, "--collective", "all_gather"]);
        let said = Said::of(&folder, &text(&output.stderr));
        let mut executor = Executor::default();
        let loaded = worker::load(&mut executor, &[("ring.csv", text_of.as_bytes())]);
        let is_refused = matches!(loaded.files[0].outcome, Outcome::Refused(_) | Outcome::NeedsMapping(_));
        if is_refused {
            assert_ne!(output.status.code(), Some(0), "{seed}: {text_of}{}", said.0);
            refused += 1;
        } else {
            for note in of_files(&loaded) {
                assert!(said.has(&note), "{seed}: the page says {note:?}, the terminal {}", said.0);
            }
        }
    }
    assert!(refused > 2, "{refused}");
}

#[test]
fn policy_files_mean_the_same_when_they_are_read_again() {
    for seed in 0..200 {
        let stream = &mut Stream::new(seed);
        let mut bounds: Vec<u64> = (0..1 + stream.below(9)).map(|_| 1 << (8 + stream.below(24))).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let bands = Bands::new(bounds).unwrap();
        let names = ["tree/simple", "tree/ll", "tree/ll128", "ring/simple/24", "ring/ll", "ring/ll128/7"];
        let mut arms = vec![Arm::Auto];
        arms.extend(names.iter().take(stream.below(names.len() + 1)).filter_map(|name| Arm::parse(name)));
        let mut keys: Vec<Entry> = Vec::new();
        for _ in 0..stream.below(12) {
            let nodes = 1 + stream.below(8) as u32;
            let choice = if stream.below(2) == 0 {
                Choice::Fixed(stream.below(arms.len()) as u32)
            } else {
                Choice::Counts(arms.iter().map(|_| 1 + stream.below(5) as u32).collect())
            };
            let entry = Entry {
                collective: [Collective::AllReduce, Collective::AllGather, Collective::Broadcast][stream.below(3)],
                band: stream.below(bands.len()) as u32,
                scale: Scale { nodes, ranks: 8 * nodes },
                overlap: [None, Some(false), Some(true)][stream.below(3)],
                choice,
            };
            let place = |of: &Entry| (of.collective, of.band, of.scale, of.overlap);
            if keys.iter().all(|known| place(known) != place(&entry)) {
                keys.push(entry);
            }
        }
        let evidence = keys.iter().enumerate().map(|(key, _)| Evidence {
            key: key as u32,
            n: arms.iter().map(|_| stream.below(1000) as u64).collect(),
            mean_ms: arms.iter().map(|_| stream.unit() * 100.0).collect(),
            p_better: stream.unit(),
            gain_pct: 50.0 * stream.unit() - 10.0,
        });
        let evidence = evidence.collect();
        let chunk_sizes = (0..stream.below(9) as u64).map(|n| {
            let (_, collective) = COLLECTIVES[stream.below(COLLECTIVES.len())];
            let (algorithm, protocol) =
                ([Algorithm::Ring, Algorithm::Tree][stream.below(2)], PROTOCOLS[stream.below(3)].1);
            let chunk_bytes = grain_bytes(protocol) * (1 + stream.below(100) as u64);
            let to = if stream.below(9) == 0 { u64::MAX } else { n * 1000 + stream.below(1000) as u64 };
            let channel_bytes = to.min(n * 1000)..=to;
            // Each of a scale of its own, so that none comes before another.
            let scale = Scale { nodes: 1, ranks: n as u32 };
            ChunkSize { collective, scale, algorithm, protocol, channel_bytes, chunk_bytes }
        });
        let chunk_sizes = chunk_sizes.collect();
        let policy = Policy {
            generation: stream.next_u64(),
            library: [None, Some("2.28.9".to_owned())][stream.below(2)].clone(),
            bands,
            seed: stream.next_u64(),
            arms,
            keys,
            evidence,
            unrewarded_calls: [None, Some(stream.next_u64() >> 20)][stream.below(2)],
            chunk_sizes,
        };
        let again = Policy::read(policy.text().as_bytes()).unwrap();
        assert_eq!((again.policy, again.notes), (policy, Vec::new()), "{seed}");
    }
}

#[test]
fn graphs_mean_the_same_when_they_are_read_again() {
    for seed in 0..200 {
        let stream = &mut Stream::new(seed);
        let nodes = 2 + stream.below(9) as u32;
        let unit = [Unit::Gib, Unit::Gb][stream.below(2)];
        let mut links: Vec<Link> = Vec::new();
        for from in 0..nodes {
            for to in (0..nodes).filter(|to| *to != from) {
                if to == (from + 1) % nodes || stream.below(3) == 0 {
                    links.push(Link {
                        from,
                        to,
                        latency_ns: 1e4 * stream.unit(),
                        bandwidth: 0.1 + 900.0 * stream.unit(),
                    });
                }
            }
        }
        let topology = Topology { name: "a".to_owned(), nodes, links, unit, labels: Vec::new(), shape: None };
        // Decimal units are stated in the file; the other units are the default.
        for usual in if unit == Unit::Gb { vec![Unit::Gib, Unit::Gb] } else { vec![Unit::Gib] } {
            let again =
                links::read(&topology_csv(&topology), "a", Options { unit: usual, merge: false }).unwrap().topology;
            assert_eq!((again.nodes, again.unit, &again.links), (nodes, unit, &topology.links), "{seed}");
        }
    }
}

#[test]
fn trimmed_tuner_files_keep_the_rules_that_were_kept() {
    for seed in 0..60 {
        let stream = &mut Stream::new(seed);
        let (mut conf, mut table) = (String::from("# ours\n"), String::from("nodes,size_bytes,def_runs,cfg_runs\n"));
        for rule in 0..6_u32 {
            let size = 4096_u64 << rule;
            conf += &format!("allreduce,{size},{size},tree,ll,{},1,8,-1,-1\n", 1 + stream.below(16));
            let gain = [0.8, 1.0, 1.2][stream.below(3)];
            let mut arm = |factor: f64| {
                let run = |_: usize| format!("{:.4}", 10.0 * factor * (1.0 + 0.003 * stream.normal()));
                (0..9).map(run).collect::<Vec<_>>().join(";")
            };
            table += &format!("1,{size},{},{}\n", arm(1.0), arm(gain));
        }
        let answer = ab::judge(&table, "all_reduce.csv", Some(conf.as_bytes()), &Default::default());
        let kept = answer.rules.iter().filter(|of| of.verdict.word() == "keep").map(|of| of.rule.text.clone());
        let left = rules::of_conf(answer.trimmed.as_deref().unwrap().as_bytes());
        let left: Vec<String> = left.into_iter().map(|rule| rule.text).collect();
        assert_eq!(left, kept.collect::<Vec<_>>(), "{seed}: {:?}", answer.trimmed);
        // And the table says the same when it is read again.
        let read = runs::read(&table);
        assert_eq!((read.trials.len(), read.problems.count), (6, 0));
    }
}
