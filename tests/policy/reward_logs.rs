//! From reward logs to decisions: made-up logs, real ones, and everything that is no log.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support::rewards::explored;
use collectune::{
    collective::Scale,
    intake::{self, FileContent, Outcome},
    math::Stream,
    policy::{
        arm::Arm,
        iteration::Iteration,
        read::{Log, LogForm, NamedLog},
        replay,
        request::{Export, Highlight, LatencySource, LogSettings, ReplaySettings, Schedule, Settings},
        result::{Decision, Estimator, Flag, KeyResult, PairKind, PolicyOverview, ReplayResult, StudyError},
        simulate,
        study::PolicyStudy,
    },
    progress::Silent,
    text::Problems,
};

/// What a file holds, and what could not be used.
fn opened(name: &str, bytes: &[u8]) -> Result<(Log, Problems, Vec<String>), String> {
    let (report, content) = intake::open(bytes, name, bytes.len() as u64, 0, None, &mut Silent);
    match (report.outcome, content) {
        (Outcome::Known { problems, notes, .. }, FileContent::Rewards(log)) => Ok((*log, problems, notes)),
        (Outcome::Refused(why), _) => Err(why),
        other => Err(format!("{other:?}")),
    }
}

fn log(name: &str, text: &str) -> Log {
    opened(name, text.as_bytes()).unwrap().0
}

fn study(logs: &[(&str, &str)], settings: Settings) -> (PolicyStudy, PolicyOverview) {
    let logs = logs.iter().map(|(name, text)| NamedLog { name: (*name).to_owned(), log: log(name, text) }).collect();
    let mut study = PolicyStudy::new(logs);
    let studied = study.study(settings, &mut Silent).unwrap();
    (study, studied)
}

fn one(logs: &[(&str, &str)], settings: Settings) -> KeyResult {
    let (_, studied) = study(logs, settings);
    assert_eq!(studied.results.len(), 1);
    studied.results[0].clone()
}

fn round_robin(warm_up: Option<u32>) -> Settings {
    let arms = simulate::ARMS.iter().filter_map(|arm| Arm::parse(arm)).collect();
    Settings { schedule: Schedule { arms, warm_up, ..Schedule::default() }, ..Settings::default() }
}

#[test]
fn a_clear_winner_is_deployed() {
    let text = simulate::log(&simulate::worlds()[0].1, &simulate::ARMS, 64 << 20, 50, 1);
    let of = one(&[("rewards.log", &text)], Settings::default());
    assert_eq!((of.verdict.as_str(), of.chosen()), ("run tree/ll128", Arm::parse("tree/ll128").unwrap()));
    assert_eq!(of.estimator, Estimator::Rejection, "propensities are all 1/K");
    assert!(of.p_better().unwrap() > 0.99);
    assert!(!of.rejection.is_empty() && of.arms.iter().all(|arm| arm.estimate.is_some()));
}

/// The log of one run: values in milliseconds.
fn one_arm(values: impl Iterator<Item = f64>) -> String {
    let lines = values.map(|value| format!("allreduce,67108864,2,8,{value:.4}\n"));
    format!("collType,nBytes,nNodes,nRanks,iteration_ms\n{}", lines.collect::<String>())
}

fn studied(logs: &[(String, String)]) -> KeyResult {
    let logs: Vec<(&str, &str)> = logs.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    one(&logs, Settings::default())
}

fn deploys(of: &KeyResult) -> bool {
    matches!(of.decision, Decision::Deploy(_))
}

#[test]
fn a_log_cut_into_quarters_has_no_winner_among_them() {
    for seed in 0..20 {
        let mut stream = Stream::new(seed);
        let mut level = 10.0;
        let mut value = || {
            level += 0.1 * stream.normal();
            level + 0.2 * stream.normal()
        };
        let quarter = |arm: &str| (format!("rewards_{arm}.log"), one_arm((0..100).map(|_| value())));
        let of = studied(&["auto", "tree_simple", "tree_ll128", "ring_simple"].map(quarter));
        assert!(!deploys(&of), "{:?}", of.sentences);
    }
    let faster =
        |arm: &str, ms: f64| (format!("rewards_{arm}.log"), one_arm((0..100).map(|at| ms + f64::from(at % 7) * 0.01)));
    let of = studied(&[faster("auto", 10.0), faster("tree_simple", 7.0)]);
    assert!(!deploys(&of) && of.sentences[0].contains("one after the other"), "{:?}", of.sentences);
}

/// A log in which arms take turns, each with its mean in the log's unit.
fn in_turn(column: &str, seed: u64, lines: usize, arms: &[(&str, f64)]) -> String {
    let mut stream = Stream::new(seed);
    let line = |at: usize| {
        let (arm, mean) = arms[at % arms.len()];
        format!("allreduce,4194304,2,16,{:.4},{arm}\n", mean * (1.0 + 0.05 * stream.normal()))
    };
    let lines: String = (0..lines).map(line).collect();
    format!("collective,size_bytes,num_nodes,num_gpus,{column},arm\n{lines}")
}

#[test]
fn a_copy_of_a_log_is_no_second_run() {
    let text = in_turn("latency_us", 5, 60, &[("auto", 100.0), ("tree/simple", 97.0)]);
    let (header, lines) = text.split_once('\n').unwrap();
    let twice = format!("{header}\n{lines}{lines}");
    let alone = one(&[("rewards.log", &text)], Settings::default());
    for (logs, said) in [
        (vec![("rewards.log", &text), ("copy.log", &text)], "copy.log is a copy of rewards.log, and counts once"),
        (vec![("rewards.log", &twice)], "rewards.log: the same lines stand there 2 times, and count once"),
    ] {
        let logs: Vec<(&str, &str)> = logs.into_iter().map(|(name, text)| (name, text.as_str())).collect();
        let (study, studied) = study(&logs, Settings::default());
        assert_eq!(studied.results[0], alone, "{said}");
        assert!(study.studied().notes.iter().any(|note| note == said), "{:?}", studied.notes);
    }
}

#[test]
fn times_of_other_kinds_or_units_are_not_compared() {
    let (slow, fast) = ([("auto", 10.0)], [("tree/simple", 1.0)]);
    let logs: Vec<(String, String)> = (1..=8)
        .flat_map(|round: u64| {
            let name = |arm: &str| format!("rewards_{arm}_r{round:02}.log");
            [
                (name("auto"), in_turn("iteration_ms", round, 20, &slow)),
                (name("tree_simple"), in_turn("latency_ms", 100 + round, 20, &fast)),
            ]
        })
        .collect();
    let of = studied(&logs);
    assert!(of.decision == Decision::None && of.sentences[0].contains("which can't be compared"), "{:?}", of.sentences);
    // One of them in milliseconds under a header of microseconds.
    let text = in_turn("latency_us", 3, 400, &[("auto", 100.0), ("tree/simple", 0.09)]);
    let of = one(&[("rewards.log", &text)], Settings::default());
    assert!(
        of.decision == Decision::None && of.sentences[0].ends_with("are both in the same unit?"),
        "{:?}",
        of.sentences
    );
}

#[test]
fn logs_of_which_only_one_arm_is_known_are_no_runs_of_that_arm_alone() {
    let of = |ms: f64| one_arm((0..50).map(|at| ms + f64::from(at % 7) * 0.01));
    let of =
        one(&[("rewards_auto.log", &of(10.0)), ("second.log", &of(9.0)), ("third.log", &of(8.0))], Settings::default());
    let said =
        "Only auto is known: of 100 of 150 lines the arm is not known, and there is nothing to compare yet. Name it.";
    assert_eq!((of.decision, of.sentences[0].as_str()), (Decision::None, said));
}

#[test]
fn a_table_of_means_alone_is_not_called_a_simulation() {
    use collectune::{
        form::Choices,
        policy::form::Policy,
        report::Contents,
        workbench::{ReportContext, Study as _},
    };
    let log = log("overlap.csv", "mode,compute,size,auto,tree_simple\nsequential,default,32KB,8.451,8.668\n");
    let mut policy = Policy::new(vec![NamedLog { name: "overlap.csv".to_owned(), log }]);
    policy.choose(Choices::default(), &mut Silent).unwrap();
    let report = policy.report(ReportContext::default(), &Contents::whole()).unwrap();
    assert_eq!(report.title, "A table of means");
}

#[test]
fn an_arm_with_few_values_does_not_keep_the_others_from_a_verdict() {
    let two = in_turn("latency_us", 7, 400, &[("auto", 100.0), ("tree/simple", 80.0)]);
    let few = in_turn("latency_us", 8, 3, &[("ring/simple", 50.0)]);
    let (_, few) = few.split_once('\n').unwrap();
    let of = one(&[("rewards.log", &format!("{two}{few}"))], Settings::default());
    assert!(deploys(&of) && of.chosen() == Arm::parse("tree/simple").unwrap(), "{:?}", of.sentences);
    let said = "ring/simple is not judged: it has 3 values, and 5 are needed.";
    assert!(of.sentences.iter().any(|sentence| sentence == said), "{:?}", of.sentences);
}

#[test]
fn an_arm_that_no_library_runs_for_the_collective_is_not_deployed() {
    let gathered = |text: String| text.replace("all_reduce", "all_gather").replace("allreduce", "allgather");
    let log = gathered(in_turn("latency_us", 7, 400, &[("auto", 100.0), ("tree/simple", 60.0), ("ring/ll", 80.0)]));
    let of = one(&[("rewards.log", &log)], Settings::default());
    assert!(deploys(&of) && of.chosen() == Arm::parse("ring/ll").unwrap(), "{:?}", of.sentences);
    let said = "No library runs all_gather with tree/simple: what was measured under its name is something else";
    assert!(of.sentences.iter().any(|sentence| sentence.starts_with(said)), "{:?}", of.sentences);
    let alone = gathered(in_turn("latency_us", 7, 400, &[("auto", 100.0), ("tree/simple", 60.0)]));
    let of = one(&[("rewards.log", &alone)], Settings::default());
    assert!(!deploys(&of) && of.sentences[0] == format!("{said}: keep auto."), "{:?}", of.sentences);
}

#[test]
fn an_arm_that_varies_more_needs_more_values() {
    let mut stream = Stream::new(9);
    let line = |at: usize| match at % 2 {
        0 => format!("allreduce,4194304,2,16,{:.4},auto\n", 100.0 + stream.normal()),
        _ => format!("allreduce,4194304,2,16,{:.4},tree/simple\n", if stream.unit() < 0.5 { 40.0 } else { 160.0 }),
    };
    let lines: String = (0..120).map(line).collect();
    let text = format!("collective,size_bytes,num_nodes,num_gpus,latency_us,arm\n{lines}");
    let of = one(&[("rewards.log", &text)], Settings::default());
    // 2 · (2.487 / 5)² · (60² + 1) / 2, and not those of auto alone, which would be one.
    assert!(of.lines_needed.is_some_and(|lines| (700..1500).contains(&lines)), "{:?}", of.sentences);
}

#[test]
fn where_nothing_can_be_gained_the_library_keeps_the_choice() {
    let text = simulate::log(&simulate::worlds()[3].1, &simulate::ARMS, 64 << 20, 100, 1);
    let of = one(&[("rewards.log", &text)], Settings::default());
    assert_eq!(of.decision, Decision::Keep, "{of:?}");
    assert!(of.lines_needed.is_some() && of.sentences.iter().any(|s| s.contains("independent values per arm")));
}

#[test]
fn a_drift_is_met_by_turns_and_refused_one_after_the_other() {
    let world = &simulate::worlds()[2].1;
    let text = simulate::log(world, &simulate::ARMS, 64 << 20, 200, 3);
    let of = one(&[("rewards.log", &text)], Settings::default());
    assert!(of.flags.contains(&Flag::Drifting) && !of.flags.contains(&Flag::Sequential), "{of:?}");
    let rising = |from: f64| {
        (0..200).map(|t| format!("{}\n", from + 0.01 * f64::from(t) + 0.05 * f64::from(t % 7))).collect::<String>()
    };
    let (auto, tree) = (rising(10.0), rising(9.0));
    let scale = Some(Scale { nodes: 2, ranks: 8 });
    let given = || LogSettings { scale, size_bytes: Some(1 << 20), ..LogSettings::default() };
    let settings = Settings { logs: vec![given(), given()], ..Settings::default() };
    let of = one(&[("times_auto.txt", &auto), ("times_tree_simple.txt", &tree)], settings);
    assert_eq!(of.verdict, "drifting; no decision");
    assert!(of.sentences[0].contains("one after the other while the machine drifted"));
}

#[test]
fn the_worked_case_the_bandwidth_winner_loses() {
    let job = Iteration { compute_ms: 25.0, multiprocessors: 108 };
    let times = [(2.0, 24, false), (2.6, 4, false), (2.0, 24, true), (2.6, 4, true)];
    let times = times.map(|(time, channels, overlap)| job.time_ms(time, channels, overlap));
    for (said, expected) in times.into_iter().zip([27.0, 27.6, 25.444, 25.096]) {
        assert!((said - expected).abs() < 1e-3);
    }
    let (study, studied) = study(&[("iterations.csv", &simulate::overlap_log(1))], Settings::default());
    let winners: Vec<String> = studied.results.iter().map(|of| of.verdict.clone()).collect();
    assert_eq!(winners, ["run ring/simple/24", "run tree/ll128/4"]);
    assert_eq!(studied.pairs.len(), 1);
    assert_eq!(studied.pairs[0].kind, PairKind::Flip, "{:?}", studied.pairs);
    let files = study.export(&Export::Conf(collectune::conf::Reader::DnTuner)).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["nccl_tuner.conf", "nccl_tuner_overlap.conf"]);
    assert!(files[0].text.contains("allreduce,4194304,33554431,ring,simple,24,1,8,-1,-1"), "{}", files[0].text);
    assert!(files[1].text.contains("allreduce,4194304,33554431,tree,ll128,4,1,8,-1,-1"), "{}", files[1].text);
}

#[test]
fn arms_that_are_alike_flip_within_noise_only() {
    let mut text = "collective,size_bytes,nodes,ranks,iteration_ms,arm,overlap\n".to_owned();
    for step in 0..60_u64 {
        for overlap in 0..2 {
            for (index, arm) in (0..).zip(["auto", "tree/simple", "tree/ll128", "ring/simple", "ring/ll128"]) {
                for size in [1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24] {
                    let noise = collectune::bandit::draws::normal(size + overlap, index, step);
                    text += &format!("allreduce,{size},1,8,{},{arm},{overlap}\n", 10.0 + noise);
                }
            }
        }
    }
    let (_, studied) = study(&[("iterations.csv", &text)], Settings::default());
    assert_eq!(studied.pairs.len(), 5);
    assert!(studied.pairs.iter().all(|pair| pair.kind != PairKind::Flip), "{:?}", studied.pairs);
    assert!(studied.pairs.iter().any(|pair| pair.kind == PairKind::WithinNoise), "four of five by chance");
}

#[test]
fn attribution_takes_the_first_way_that_applies() {
    let world = &simulate::worlds()[0].1;
    let with_arms = simulate::log(world, &simulate::ARMS, 64 << 20, 40, 1);
    let plain: String =
        with_arms.lines().skip(2).map(|line| line.split(',').take(5).collect::<Vec<_>>().join(",") + "\n").collect();
    let words =
        |name: &str, text: &str, settings: Settings| study(&[(name, text)], settings).1.logs[0].attribution.clone();
    assert!(words("r.log", &with_arms, Settings::default()).contains("names the arm of each line"));
    assert!(words("r.log", &plain, Settings::default()).contains("not attributed"));
    assert!(words("r_auto.log", &plain, Settings::default()).contains("file's name"));
    assert!(words("r.log", &plain, round_robin(None)).contains("not attributed"), "a warm-up must be given");
    assert!(words("r.log", &plain, round_robin(Some(0))).contains("took turns by line"));
    // The right warm-up finds the arms; a wrong one credits others.
    assert_eq!(one(&[("r.log", &plain)], round_robin(Some(16))).chosen(), Arm::parse("tree/ll128").unwrap());
    assert_ne!(one(&[("r.log", &plain)], round_robin(Some(15))).chosen(), Arm::parse("tree/ll128").unwrap());
    let given = Settings {
        logs: vec![LogSettings { arm: Arm::parse("ring/ll"), ..LogSettings::default() }],
        ..round_robin(Some(0))
    };
    assert!(words("r.log", &with_arms, given).contains("given for the whole file"));
}

#[test]
fn a_schedule_attributes_calls() {
    let (policy, text) = explored();
    let by = |policy| Settings {
        schedule: Schedule { policies: vec![policy], ..Schedule::default() },
        ..Settings::default()
    };
    let of = one(&[("rewards.log", &text)], by(policy.clone()));
    assert_eq!(of.chosen(), Arm::parse("tree/ll128").unwrap());
    assert_eq!(of.estimator, Estimator::Rejection, "propensities are counts / n");
    let of = one(&[("rewards.log", &text)], by(collectune::policy::file::Policy { seed: 43, ..policy }));
    assert!(of.flags.contains(&Flag::NoTrace), "{of:?}");
    assert!(of.sentences.iter().any(|sentence| sentence.contains("does not seem to have followed it")));
}

#[test]
fn a_strategy_that_learns_is_judged_by_propensities_or_not_at_all() {
    let head = "collType,nBytes,nNodes,nRanks,latency_ms,arm,strategy,propensity\n";
    let mut with = head.to_owned();
    let mut without = head.replace(",propensity", "");
    for step in 0..400_u64 {
        // The favourite has 70 %.
        let u = collectune::bandit::draws::uniform(1, 7, step);
        let (arm, p) = if u < 0.7 {
            ("auto", 0.7)
        } else if u < 0.85 {
            ("tree/ll128", 0.15)
        } else {
            ("ring/simple", 0.15)
        };
        let mean = match arm {
            "auto" => 10.0,
            "tree/ll128" => 9.0,
            _ => 11.0,
        };
        let latency = mean + 0.5 * collectune::bandit::draws::normal(2, 0, step);
        with += &format!("allreduce,1048576,2,8,{latency},{arm},eps_greedy,{p}\n");
        without += &format!("allreduce,1048576,2,8,{latency},{arm},eps_greedy\n");
    }
    let of = one(&[("rewards.log", &with)], Settings::default());
    assert_eq!((of.estimator, of.chosen()), (Estimator::Weighting, Arm::parse("tree/ll128").unwrap()));
    let estimate = of.of_candidate().unwrap().estimate.unwrap();
    assert!(
        estimate.ess > 30.0 && (estimate.snips - 9.0).abs() < 0.3 && (estimate.dr - 9.0).abs() < 0.3,
        "{estimate:?}"
    );
    let of = one(&[("rewards.log", &without)], Settings::default());
    assert_eq!((of.estimator, of.decision), (Estimator::None, Decision::None));
    assert!(of.flags.contains(&Flag::Adaptive) && of.sentences[0].contains("lowest value seen"), "{of:?}");
}

/// A log of a strategy that runs tree/simple with 90 % while the machine is quiet and with 10 % while it is busy, by
/// which everything takes `busy_ms` more; tree/simple takes `tree_ms` where auto takes 10.
fn depending_on_load(seed: u64, tree_ms: f64, busy_ms: f64) -> String {
    let mut stream = Stream::new(seed);
    let mut text = "collective,bytes,nodes,ranks,latency_ms,arm,propensity\n".to_owned();
    for _ in 0..2000 {
        let is_busy = stream.unit() < 0.5;
        let share = if is_busy { 0.1 } else { 0.9 };
        let is_tree = stream.unit() < share;
        let (arm, p) = if is_tree { ("tree/simple", share) } else { ("auto", 1.0 - share) };
        let latency =
            if is_tree { tree_ms } else { 10.0 } + if is_busy { busy_ms } else { 0.0 } + 0.3 * stream.normal();
        text += &format!("allreduce,4194304,2,8,{latency:.4},{arm},{p:.1}\n");
    }
    text
}

#[test]
fn nothing_is_decided_by_means_that_propensities_contradict() {
    for seed in 0..5 {
        // A millisecond slower, and faster in the mean; then the other way round.
        for (tree_ms, busy_ms) in [(11.0, 5.0), (9.0, -5.0)] {
            let of = one(&[("r.csv", &depending_on_load(seed, tree_ms, busy_ms))], Settings::default());
            assert_eq!((of.estimator, of.decision), (Estimator::Weighting, Decision::None), "{tree_ms}: {of:?}");
            assert!(of.sentences[0].contains("weighted by propensities, the other way round"), "{:?}", of.sentences);
        }
        // Without other load the arms are judged as ever.
        let of = one(&[("r.csv", &depending_on_load(seed, 9.0, 0.0))], Settings::default());
        assert_eq!(of.chosen(), Arm::parse("tree/simple").unwrap(), "{of:?}");
        let of = one(&[("r.csv", &depending_on_load(seed, 10.0, 0.0))], Settings::default());
        assert_eq!(of.decision, Decision::Keep, "{of:?}");
    }
    let missing = depending_on_load(1, 9.0, 0.0).replacen(",0.9\n", ",\n", 1);
    let of = one(&[("r.csv", &missing)], Settings::default());
    assert!(
        of.sentences.iter().any(|said| said == "Propensities are not used: 1 line without one among 2000."),
        "{of:?}"
    );
}

#[test]
fn every_form_of_a_log_is_read() {
    let form = |name: &str, text: &str| {
        let (log, ..) = opened(name, text.as_bytes()).unwrap_or_else(|why| panic!("{why}"));
        (log.form, log.rows.len(), log.rows.first().map(|row| row.latency_ms))
    };
    assert_eq!(form("r.log", "# a comment\n\nallreduce,4194304,1,8,12.34\n"), (LogForm::Plain, 1, Some(12.34)));
    assert_eq!(
        form("r.csv", "latency_us,nRanks,nNodes,bytes,collective\n12340,8,1,4194304,ncclAllReduce\n").0,
        LogForm::Headed
    );
    let seconds = form("r.csv", "collective,size_bytes,nodes,ranks,latency_s\nallreduce,4194304,1,8,0.5\n");
    assert_eq!(seconds, (LogForm::Headed, 1, Some(500.0)));
    let nanoseconds = form("r.csv", "collective,bytes,nodes,ranks,latency_ns\nallreduce,4M,1,8,500000\n");
    assert_eq!(nanoseconds, (LogForm::Headed, 1, Some(0.5)));
    assert_eq!(form("r.log", "allreduce,4M,1,8,12.34\nallreduce,4 MiB,1,8,12.34\n"), (LogForm::Plain, 2, Some(12.34)));
    assert_eq!(form("r.log", "# collectune-rewards 1\nallreduce,4194304,1,8,12.34\n").0, LogForm::Own);
    assert_eq!(form("times_auto_64MB.txt", "12.5\n13.5\n"), (LogForm::Times, 2, Some(12.5)));
    let episodes = r#"[{"episode":0,"arm_idx":3,"arm_label":"auto","mean_ms":9.7},{"episode":1,"arm_idx":0,"arm_label":"tree_simple","mean_ms":9.9}]"#;
    assert_eq!(form("ucb1_64MB.json", episodes), (LogForm::Episodes, 2, Some(9.7)));
    let table = r#"[{"arm":"auto","count":50,"mean_ms":9.7},{"arm":"tree_simple","count":50,"mean_ms":9.5}]"#;
    assert_eq!(form("arms.json", table), (LogForm::ArmTable, 0, None));
    let nested = r#"{"sequential":{"64KB":{"auto":8.443,"tree_simple":8.495}},"overlap":{"64KB":{"auto":9.1,"tree_simple":8.9}}}"#;
    assert_eq!(form("policy.json", nested), (LogForm::ArmTable, 0, None));
    // BOM, CR LF, a lone CR, quotes, blanks.
    for text in [
        "\u{FEFF}allreduce,4194304,1,8,12.34\r\nallreduce,4194304,1,8,12.34\r\n",
        "allreduce,4194304,1,8,12.34\rallreduce,4194304,1,8,12.34\r",
        " \"allreduce\" , 4194304 ,1, 8 ,12.34\nallreduce,4194304,1,8,\"12.34\"\n",
    ] {
        assert_eq!(form("r.log", text), (LogForm::Plain, 2, Some(12.34)), "{text:?}");
    }
    // Neither a tuner file nor a sweep.
    assert!(opened("c.conf", b"allreduce,0,4096,tree,ll,8,2,16,-1,-1\n").is_err());
    let measured = b"collective,size_bytes,algorithm,protocol,channels,nodes,ranks,pipeOps,regBuff,cost_metric,bandwidth_gbps,latency_us\nallreduce,4096,ring,ll,2,1,8,-1,-1,1.0,2.0,3.0\n";
    assert!(opened("m.csv", measured).is_err());
}

/// Lines in the middle of good ones.
fn problems(line: &str) -> String {
    let good = "allreduce,4194304,1,8,12.34\n".repeat(3);
    match opened("r.log", format!("{good}{line}\n{good}").as_bytes()) {
        Ok((log, problems, _)) => {
            assert_eq!(log.rows.len() as u64 + problems.count, 7, "{line}");
            problems.kept.iter().map(ToString::to_string).collect()
        }
        Err(why) => why,
    }
}

#[test]
fn a_bad_line_costs_itself_and_says_why() {
    for (line, said) in [
        (
            "allreduce,4194304,1,8,nan",
            "line 4, column latency_ms: \"nan\" is not a positive finite number; the line was left out",
        ),
        ("allreduce,,1,8,3", "line 4, column nBytes: \"\" is not a whole number below 2⁶⁴"),
        ("ALLREDUCE , 4M , 1 , 8 , 3ms", "line 4, column latency_ms: \"3ms\" is not a positive finite number"),
        ("allreduce,4Q,1,8,3", "line 4, column nBytes: \"4Q\" is not a whole number"),
        ("allreduce,4194304,1,8,12,34", "has 6 fields where 5 are expected"),
        ("allreduce,4194304,1,8", "has 4 fields where 5 are expected"),
        ("allreduce,0,1,8,3", "column nBytes: \"0\" is less than 1"),
        ("allreduce,18446744073709551616,1,8,3", "column nBytes: \"18446744073709551616\" is not a whole number"),
        ("allreduce,-4,1,8,3", "column nBytes: \"-4\" is not a whole number"),
        ("allreduce,4096.5,1,8,3", "column nBytes"),
        ("allreduce,4096,1,8,0", "column latency_ms: \"0\" is not a positive finite number"),
        ("allreduce,4096,1,8,-1", "column latency_ms: \"-1\" is not a positive finite number"),
        ("allreduce,4096,1,8,1e309", "column latency_ms: \"1e309\" is not a positive finite number"),
        ("allreduce,4096,1,8,inf", "column latency_ms"),
        ("allreduce,4096,16,8,3", "column nNodes: \"16\" is more than the 8 ranks"),
        ("allreduce,4096,0,8,3", "column nNodes: \"0\" is less than 1"),
        ("allreduce,4096,1,0,3", "column nRanks: \"0\" is less than 1"),
        ("allreduce,4096,1,99999999999,3", "column nRanks: \"99999999999\" is more than there can be"),
        ("allmadeup,4096,1,8,3", "column collType: \"allmadeup\" is no collective that is known"),
        ("\"allreduce,4096,1,8,3", "opens a quote that is not closed"),
        ("allre\0duce,4096,1,8,3", "is a binary file"),
    ] {
        let told = problems(line);
        assert!(told.contains(said), "{line}: {told}");
    }
    let (log, problems, _) = opened("r.log", b"allreduce,4096,1,8,3\nallreduce,4096,1,8,3").unwrap();
    assert_eq!(log.rows.len(), 1);
    assert!(problems.kept[0].to_string().contains("has no line end: it may be torn"));
}

#[test]
fn what_is_no_log_is_refused_in_a_sentence() {
    let refused = |bytes: &[u8]| match opened("rewards.log", bytes) {
        Err(why) => why,
        Ok((log, ..)) => panic!("{log:?}"),
    };
    let said = |bytes: &[u8], words: &str| {
        let why = refused(bytes);
        assert!(why.contains(words), "{why}");
    };
    said(b"", "is empty");
    said(b"# only\n# comments\n", "rewards.log");
    said(b"allreduce,4096,1,8,3\0\n\0\0\0\0", "is a binary file");
    said(&[b'\xFF', b'\xFE', b'a', 0, b'\n', 0], "rewards.log");
    let torn = "allreduce,4096,1,8,3\n".to_owned() + &"allreduce,4096,1,8,-1\n".repeat(9);
    said(torn.as_bytes(), "has 10 lines of which 1 can be read: line 2");
    assert_eq!(refused(torn.as_bytes()).matches("column latency_ms").count(), 5, "the first five");
    // One line as long as nobody writes, and many lines.
    let long = [b"allreduce,4096,1,8,3\n".repeat(3), vec![b'1'; 8 << 20], b"\n".to_vec()].concat();
    let (log, problems, _) = opened("rewards.log", &long).unwrap();
    assert_eq!(log.rows.len(), 3);
    assert!(problems.kept[0].to_string().contains("longer than any line"));
    // UTF-16 with its mark, and gzip, are logs like any other.
    let wide: Vec<u8> = [0xFF, 0xFE]
        .into_iter()
        .chain("allreduce,4096,1,8,3\r\n".repeat(4).encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    assert_eq!(opened("rewards.log", &wide).unwrap().0.rows.len(), 4);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, b"allreduce,4096,1,8,3\n".repeat(4).as_slice()).unwrap();
    assert_eq!(opened("rewards.log.gz", &packed.finish().unwrap()).unwrap().0.rows.len(), 4);
}

/// Repeats a line, in no memory.
struct Endless(&'static [u8], usize);

impl std::io::Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut filled = 0;
        while self.1 > 0 && filled + self.0.len() <= buffer.len() {
            buffer[filled..filled + self.0.len()].copy_from_slice(self.0);
            filled += self.0.len();
            self.1 -= 1;
        }
        Ok(filled)
    }
}

#[test]
fn ten_million_lines_and_a_line_of_two_gigabytes_are_met() {
    let source = Endless(b"allreduce,4096,1,8,3\n", 10_000_000);
    let (report, _) = intake::open(source, "rewards.log", 210_000_000, 0, None, &mut Silent);
    assert!(
        matches!(&report.outcome, Outcome::Refused(why) if why.contains("more than 4000000 lines")),
        "{:?}",
        report.outcome
    );
    let head = std::io::Cursor::new(b"allreduce,4096,1,8,3\n".to_vec());
    let source = std::io::Read::chain(head, Endless(b"1111111111111111", 2 << 26));
    let (report, _) = intake::open(source, "rewards.log", 2 << 30, 0, None, &mut Silent);
    assert!(matches!(report.outcome, Outcome::Known { .. }), "{:?}", report.outcome);
}

#[test]
fn what_is_odd_is_kept_and_said() {
    let notes = |text: &str| opened("r.csv", text.as_bytes()).unwrap().2.join("\n");
    let line = "allreduce,4194304,1,8,12.34\n".repeat(20);
    assert!(notes(&(line.clone() + "allreduce,4194304,1,8,99999\n")).contains("a thousand times off the median"));
    assert!(notes("allreduce,4194304,1,8,0.0001\nallreduce,4194304,1,8,0.0001\n").contains("faster than 10 TB/s"));
    let headed = "collective,bytes,nodes,ranks,latency_ms,rank,timestamp,call,colour\n";
    let rows =
        |cells: &[&str]| cells.iter().map(|cells| format!("allreduce,4096,1,8,3,{cells},red\n")).collect::<String>();
    let all = notes(&(headed.to_owned() + &rows(&["0,1,0", "1,1,0", "0,2,1", "1,2,1"])));
    assert!(all.contains("Every rank wrote: 2 lines of other ranks were left out, only those of rank 0"), "{all}");
    assert!(all.contains("Columns that are not used: colour"), "{all}");
    let all = notes(&(headed.to_owned() + &rows(&["0,5,0", "0,3,1"])));
    assert!(all.contains("Time goes backwards 1 time"), "{all}");
    let all = notes(&(headed.to_owned() + &rows(&["0,1,5", "0,2,5", "0,3,3", "0,4,9"])));
    for said in ["repeats the call", "lower call", "calls that were not logged"] {
        assert!(all.contains(said), "{all}");
    }
    // Two runs in one file.
    let again = headed.to_owned() + &rows(&["0,1,0"]) + headed + &rows(&["0,2,1"]);
    assert!(notes(&again).contains("The header stands 1 time more, first in line 3"));
}

#[test]
fn propensities_and_numbers_of_arms_that_can_not_be() {
    let head = "collective,bytes,nodes,ranks,latency_ms,arm,propensity\n";
    let told = |lines: &str| {
        let good = "allreduce,4096,1,8,3,0,0.5\nallreduce,4096,1,8,3,1,0.5\n".repeat(3);
        opened("r.csv", format!("{head}{good}{lines}").as_bytes())
            .unwrap()
            .1
            .kept
            .iter()
            .map(ToString::to_string)
            .collect::<String>()
    };
    for p in ["0", "1.5", "-0.1", "nan"] {
        assert!(told(&format!("allreduce,4096,1,8,3,0,{p}\n")).contains("is no probability above 0, up to 1"), "{p}");
    }
    assert!(told("allreduce,4096,1,8,3,99,0.5\n").contains("beyond any table of arms"));
    // Beyond the table that its owner gave.
    let text = head.to_owned() + &"allreduce,4096,1,8,3,0,0.5\nallreduce,4096,1,8,3,7,0.5\n".repeat(9);
    let (_, studied) = study(&[("r.csv", &text)], round_robin(None));
    assert!(
        studied.notes.join("\n").contains("9 lines: the arm's number is beyond the table of arms"),
        "{:?}",
        studied.notes
    );
    // Not summing to one over the arms: both ran as often as the other, and propensities say nothing.
    let text = head.to_owned() + &"allreduce,4096,1,8,3,0,0.9\nallreduce,4096,1,8,4,3,0.9\n".repeat(30);
    let of = one(&[("r.csv", &text)], round_robin(None));
    assert!(of.estimator == Estimator::Resampling && of.flags.contains(&Flag::Propensities), "{of:?}");
    assert!(of.arms.iter().all(|arm| arm.estimate.is_none()));
}

#[test]
fn equal_latencies_one_arm_one_line_four_lines() {
    let head = "collective,bytes,nodes,ranks,latency_ms,arm\n";
    let text = head.to_owned() + &"allreduce,4096,1,8,3,auto\nallreduce,4096,1,8,3,tree/simple\n".repeat(20);
    let (mut study_, studied) = study(&[("r.csv", &text)], Settings::default());
    assert_eq!(studied.results[0].decision, Decision::Keep, "{:?}", studied.results[0]);
    let start = ReplaySettings { world: LatencySource::Key(0), steps: 300, seeds: 3, strategies: Vec::new() };
    let replayed = replay(&mut study_, &start);
    assert!(replayed.strategies.iter().all(|of| of.regret_ms.iter().all(|regret| regret.abs() < 1e-9)));
    study_.key(0, &Highlight::default()).unwrap();
    for lines in [1, 4] {
        let text = head.to_owned() + &"allreduce,4096,1,8,3,auto\n".repeat(lines);
        let of = one(&[("r.csv", &text)], Settings::default());
        assert_eq!(of.decision, Decision::None);
        assert!(of.sentences[0].contains("Only the library's own choice ran"), "{:?}", of.sentences);
    }
    let of =
        one(&[("r.csv", &(head.to_owned() + &"allreduce,4096,1,8,3,tree/simple\n".repeat(30)))], Settings::default());
    assert!(of.sentences[0].contains("Only tree/simple ran"), "{:?}", of.sentences);
}

fn replay(study: &mut PolicyStudy, start: &ReplaySettings) -> ReplayResult {
    let prepared = study.prepare(start).unwrap();
    // In any order, and a round twice.
    let rounds = prepared.rounds.iter().rev().chain(&prepared.rounds[..1]);
    let played: Vec<Vec<u8>> = rounds.map(|round| replay::play(&prepared.game, round, &mut Silent).unwrap()).collect();
    study.bring_together(&prepared.game, &played, &Highlight::default()).unwrap().clone()
}

#[test]
fn a_replay_comes_in_jobs_and_tells_what_learning_costs() {
    let (name, world) = &simulate::worlds()[0];
    assert_eq!(*name, "One arm is clearly better");
    let mut study = PolicyStudy::default();
    let source = LatencySource::Simulation(world.clone(), simulate::ARMS.map(str::to_owned).to_vec(), 3);
    let start = ReplaySettings { world: source, steps: 500, seeds: 23, strategies: Vec::new() };
    let replayed = replay(&mut study, &start);
    assert_eq!(replayed.seeds, 23);
    let of = |key: &str| replayed.strategies.iter().find(|of| of.strategy == key).unwrap();
    assert!((of("auto").regret_ms.last().unwrap() - 750.0).abs() < 1e-9);
    assert!(of("ucb1").regret_ms.last().unwrap() < &60.0);
    assert_eq!(of("best-fixed").converges_after, Some(0));
    assert!(of("ucb1").paid_back_after.is_some() && of("uniform").converges_after.is_none());
    assert!(replayed.sentences.iter().any(|sentence| sentence.contains("loses least")), "{:?}", replayed.sentences);
    let shares = replayed.shares.unwrap();
    assert_eq!(shares.series.len(), 4);
    let nothing =
        LatencySource::Simulation(simulate::worlds()[3].1.clone(), simulate::ARMS.map(str::to_owned).to_vec(), 3);
    let replayed =
        replay(&mut study, &ReplaySettings { world: nothing, steps: 500, seeds: 20, strategies: Vec::new() });
    assert!(replayed.sentences.iter().any(|sentence| sentence.contains("learning here costs more than it finds")));
}

#[test]
fn exports_deploy_what_was_decided_and_nothing_else() {
    use collectune::{conf::Reader, policy::file::Policy};
    let arms = &simulate::ARMS;
    let better = simulate::log(&simulate::worlds()[0].1, arms, 64 << 20, 60, 1);
    let nothing = simulate::log(&simulate::worlds()[3].1, arms, 1 << 20, 60, 2);
    let (study, studied) = study(&[("a.log", &better), ("b.log", &nothing)], Settings::default());
    assert_eq!(studied.verdicts.len(), 2);
    let conf = |reader| study.export(&Export::Conf(reader)).unwrap();
    let rules = |text: &str| text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    let dn = conf(Reader::DnTuner);
    assert_eq!(rules(&dn[0].text), ["allreduce,33554432,134217727,tree,ll128,-1,2,8,-1,-1"]);
    let policy = study.export(&Export::Policy(7)).unwrap();
    let reading = Policy::read(policy[0].text.as_bytes()).unwrap();
    assert!(reading.notes.is_empty());
    let policy = reading.policy;
    assert_eq!((policy.generation, policy.keys.len(), policy.evidence.len()), (7, 2, 2));
    let script = study.export(&Export::Script("srun ./train 'a b'".to_owned())).unwrap().remove(0).text;
    assert!(script.contains("run rewards_tree_ll128_r01.log NCCL_ALGO=Tree NCCL_PROTO=LL128"), "{script}");
    assert!(script.contains("run rewards_auto_r01.log\n"));
}

/// NVIDIA's example runs one channel where no rule matches, so it gets a file only where every size is known to gain.
#[test]
fn a_reader_that_cannot_keep_the_default_gets_no_rule_that_nothing_was_measured_for() {
    use collectune::conf::Reader;
    let arms = &simulate::ARMS;
    let better = |size: u64, seed: u64| simulate::log(&simulate::worlds()[0].1, arms, size, 60, seed);
    let nothing = simulate::log(&simulate::worlds()[3].1, arms, 1 << 20, 60, 2);
    let refused = |logs: &[(&str, &str)]| {
        let (study, _) = study(logs, Settings::default());
        study.export(&Export::Conf(Reader::Example)).unwrap_err().to_string()
    };
    let one_size = refused(&[("a.log", &better(64 << 20, 1))]);
    assert!(one_size.contains("runs one channel where no rule matches"), "{one_size}");
    assert!(one_size.contains("was measured at 64 MiB alone"), "{one_size}");
    let kept = refused(&[("a.log", &better(64 << 20, 1)), ("b.log", &nothing)]);
    assert!(kept.contains("nothing is known to beat the library's choice for all_reduce of 1 MiB"), "{kept}");

    let (study, studied) =
        study(&[("a.log", &better(64 << 20, 1)), ("c.log", &better(1 << 20, 3))], Settings::default());
    assert!(studied.verdicts.iter().all(|verdict| verdict.starts_with("run tree/ll128")), "{:?}", studied.verdicts);
    let file = study.export(&Export::Conf(Reader::Example)).unwrap().remove(0);
    let read = collectune::conf::read(file.text.as_bytes(), Reader::Example);
    assert_eq!((read.first().unwrap().min_bytes, read.last().unwrap().max_bytes), (0, u64::MAX));
    assert!(read.windows(2).all(|pair| pair[0].max_bytes + 1 == pair[1].min_bytes));
    for words in
        ["nothing was measured below", " on; the rule below", "every communicator of another scale runs on one"]
    {
        assert!(file.note.contains(words), "{words}: {}", file.note);
    }
}

#[test]
fn a_band_with_two_winners_is_split_and_said() {
    let mut text = "collective,bytes,nodes,ranks,iteration_ms,arm\n".to_owned();
    for step in 0..40_u64 {
        for (size, fast) in [(5 << 20, "tree/simple"), (16 << 20, "ring/simple")] {
            for arm in ["auto", "tree/simple", "ring/simple"] {
                let noise = collectune::bandit::draws::normal(size, arm.len() as u64, step);
                let mean = if arm == fast {
                    9.0
                } else if arm == "auto" {
                    10.0
                } else {
                    12.0
                };
                text += &format!("allreduce,{size},2,8,{},{arm}\n", mean + 0.2 * noise);
            }
        }
    }
    let (study, studied) = study(&[("r.csv", &text)], Settings::default());
    // Each is worse beyond doubt at the other size: neither can be deployed for the band as it is.
    assert_eq!(studied.verdicts, ["keep auto", "keep auto"], "{:?}", studied.sentences);
    assert!(studied.notes.iter().any(|note| note.contains("lies in the same band")), "{:?}", studied.notes);
    drop(study);
    let bands = "1M,8M,32M".parse::<collectune::policy::bands::Bands>().unwrap();
    let (_, studied) = self::study(&[("r.csv", &text)], Settings { bands, ..Settings::default() });
    assert_eq!(studied.verdicts, ["run tree/simple", "run ring/simple"]);
    for wrong in ["8M,1M", "1M,1M", "", "abc"] {
        assert!(wrong.parse::<collectune::policy::bands::Bands>().is_err(), "{wrong}");
    }
}

#[test]
fn questions_that_have_no_answer_say_why() {
    let mut study = PolicyStudy::default();
    assert!(matches!(study.study(Settings::default(), &mut Silent), Err(StudyError::NothingLoaded)));
    assert!(study.key(0, &Highlight::default()).is_err() && study.export(&Export::Policy(1)).is_err());
    let times = log("times.txt", "1.0\n2.0\n");
    let mut study = PolicyStudy::new(vec![NamedLog { name: "times.txt".to_owned(), log: times }]);
    let error = study.study(Settings::default(), &mut Silent).unwrap_err().to_string();
    assert!(error.contains("says nothing of size, nodes and ranks"), "{error}");
    let start = ReplaySettings { world: LatencySource::Key(0), steps: 1, seeds: 1, strategies: Vec::new() };
    assert!(study.prepare(&start).is_err());
    assert!(replay::play(&[1, 2, 3], &[0], &mut Silent).unwrap_err().to_string().contains("different builds"));
}

/// A table of arms and times, and times of one arm: neither says what was exchanged between how many ranks.
#[test]
fn what_logs_lack_is_asked_for_in_the_form() {
    use collectune::{
        form::Choices,
        report::{Contents, Report, Workbench},
        workbench::{WorkbenchAnswer, WorkbenchQuestion},
        worker::protocol::{Request, Response},
    };
    let turns: String = (0..60_u32)
        .map(|at| format!("{},{}\n", ["auto", "ring/simple"][at as usize % 2], 100 + at * 7 % 5 - at % 2 * 20))
        .collect();
    let table = format!("arm,latency_us\n{turns}");
    let times: String = (0..30_u32).map(|at| format!("{}.5\n", 100 + at * 7 % 5)).collect();
    for (name, text, arm) in [("arms.csv", &table, ""), ("times.txt", &times, "arm.1=auto&")] {
        let mut worker = crate::support::worker::with(&[(name, text.clone())]);
        let mut choose = |choices: &str| -> (Report, Vec<String>) {
            let is_simulated = choices.contains("world");
            let question = Box::new(WorkbenchQuestion::Choose(Choices::parse(choices)));
            let request = Request::Study { workbench: Workbench::Policy, question, is_held: false };
            let Response::Study(answer) = crate::support::worker::ask(&mut worker, request) else { panic!() };
            let WorkbenchAnswer::Shown(shown) = *answer else { panic!() };
            assert!(!is_simulated || shown.jobs.rounds.is_empty(), "what is not shown is not computed");
            (shown.report, shown.form.into_iter().map(|field| field.key).collect())
        };
        let (asked, form) = choose("");
        let lacking = format!("No log can be used: {name} says nothing of size, nodes and ranks");
        assert!(asked.summary[0].starts_with(&lacking), "{:?}", asked.summary);
        assert!(asked.sections[0].form.is_some() && form.iter().any(|key| key == "size"), "{form:?}");
        let said = format!("#{arm}size=1M&nodes=1&ranks=8&collective=all_reduce");
        let (answered, form) = choose(&said);
        assert!(!answered.figures.is_empty() && !form.contains(&"key".to_owned()), "{:?}", answered.summary);
        // The only key has no field, and another one that an address names is not passed over.
        let (answered, _) = choose(&format!("{said}&key=9"));
        let told = |sentence: &String| sentence.starts_with("Key: 9 was chosen and is not there, all_reduce");
        assert!(answered.summary.iter().any(told), "{:?}", answered.summary);
        choose("#world=drift");
        // A report of this would hold no answer.
        let contents = Contents { workbench: Workbench::Policy, ..Contents::whole() };
        let refused = worker.execute(Request::Report(contents), Vec::new(), &mut Silent).unwrap_err().to_string();
        assert!(refused.contains("no log can be used"), "{refused}");
    }
}

/// As the page does: choices in, a form and a report out, jobs in between.
#[test]
fn the_page_asks_and_is_answered() {
    use collectune::{
        form::Choices,
        report::{Workbench, markdown},
        workbench::{WorkbenchAnswer, WorkbenchQuestion, WorkbenchView},
        worker::protocol::{Request, Response},
    };
    let text = simulate::log(&simulate::worlds()[0].1, &simulate::ARMS, 64 << 20, 50, 1);
    let mut worker =
        crate::support::worker::with(&[("rewards.log", text), ("iterations.csv", simulate::overlap_log(1))]);
    let mut ask = |question| {
        let request = Request::Study { workbench: Workbench::Policy, question: Box::new(question), is_held: false };
        match crate::support::worker::ask(&mut worker, request) {
            Response::Study(answer) => *answer,
            other => panic!("{other:?}"),
        }
    };
    let shown = |answer: WorkbenchAnswer| -> WorkbenchView {
        match answer {
            WorkbenchAnswer::Shown(shown) => *shown,
            other => panic!("{other:?}"),
        }
    };
    let first = shown(ask(WorkbenchQuestion::Choose(Choices::parse("#seeds=20&steps=300"))));
    assert_eq!(first.report.sections[0].tables[0].listing.rows.len(), 3);
    assert!(first.form.iter().any(|field| field.key == "key") && first.jobs.is_anew);
    assert!(first.report.summary.iter().any(|sentence| sentence.contains("deploy it")), "{:?}", first.report.summary);
    let mut rounds = 0;
    let mut last = first;
    while let Some(round) = last.jobs.rounds.first() {
        let jobs = round.iter().map(|(job, _)| *job).collect();
        let WorkbenchAnswer::Done(done) = ask(WorkbenchQuestion::Do { basis: last.jobs.basis.clone(), jobs }) else {
            panic!()
        };
        last = shown(ask(WorkbenchQuestion::Take(vec![done])));
        rounds += 1;
    }
    assert!(rounds >= 2);
    let strategies = last.report.sections.iter().find(|section| section.title == "Strategies").unwrap();
    assert_eq!((strategies.charts.len(), strategies.tables[0].listing.rows.len()), (2, 17));
    // Another strategy's shares need no further work; another world does.
    let same = shown(ask(WorkbenchQuestion::Choose(Choices::parse("#seeds=20&steps=300&strategy=6"))));
    assert!(same.jobs.rounds.is_empty() && !same.jobs.is_anew);
    let other = shown(ask(WorkbenchQuestion::Choose(Choices::parse(
        "#seeds=20&steps=300&world=own&means.own=10,9.5,11&wave.own=0.3",
    ))));
    assert!(other.jobs.is_anew && !other.jobs.rounds.is_empty());
    assert!(other.form.iter().any(|field| field.key == "wave.own"));
    // What is done for a world that is left says nothing of this one.
    let WorkbenchAnswer::Done(late) = ask(WorkbenchQuestion::Do { basis: other.jobs.basis, jobs: vec![0] }) else {
        panic!()
    };
    let now = shown(ask(WorkbenchQuestion::Choose(Choices::parse("#seeds=20&steps=300&world=drift"))));
    assert!(!now.jobs.rounds.is_empty());
    let still = shown(ask(WorkbenchQuestion::Take(vec![late])));
    assert_eq!(still.jobs.rounds, now.jobs.rounds);
    for (key, _) in &now.files {
        if key == "example" {
            continue;
        }
        let WorkbenchAnswer::File(file) = ask(WorkbenchQuestion::Save(key.clone())) else { panic!("{key}") };
        assert!(!file.text.is_empty(), "{key}");
    }
    // A file that can't be written is offered, and says why it is not.
    let request = Request::Study {
        workbench: Workbench::Policy,
        question: Box::new(WorkbenchQuestion::Save("example".to_owned())),
        is_held: false,
    };
    let refused = worker.execute(request, Vec::new(), &mut Silent).unwrap_err().to_string();
    assert!(refused.contains("no tuner file is written for NVIDIA's example"), "{refused}");
    let page = markdown::markdown(&last.report);
    assert!(page.contains("run tree/ll128") && page.contains("flip"), "{page}");
    // What can't be chosen is said.
    for wrong in [
        "#arms=bush",
        "#bands=8M,1M",
        "#arm.1=bush",
        "#world=own&means.own=10,x",
        "#size=much",
        "#world=own&means.own=10",
        "#nodes=9&ranks=8",
    ] {
        let request = Request::Study {
            workbench: Workbench::Policy,
            question: Box::new(WorkbenchQuestion::Choose(Choices::parse(wrong))),
            is_held: false,
        };
        let answer = worker.execute(request, Vec::new(), &mut Silent);
        assert!(answer.is_err(), "{wrong}");
    }
}

#[test]
fn without_any_log_strategies_play_in_a_simulation() {
    use collectune::{
        form::Choices,
        policy::form::Policy,
        report::Contents,
        workbench::{ReportContext, Study as _},
    };
    let mut policy = Policy::new(Vec::new());
    policy.choose(Choices::parse("#seeds=5&steps=200"), &mut Silent).unwrap();
    assert!(!policy.jobs().unwrap().rounds.is_empty() && policy.files().is_empty());
    assert!(policy.report(ReportContext::default(), &Contents::whole()).is_ok());
    assert!(policy.form().unwrap().iter().any(|field| field.key == "world"));
}

#[test]
fn a_policy_that_is_dropped_attributes_and_counts_on() {
    use collectune::policy::file::with_checksum;
    let (policy, rewards) = explored();
    let record = with_checksum(format!("collectune-record 1 next\n{}\n", policy.text()));
    for file in [policy.text(), record] {
        let (study, studied) = study(&[("rewards.log", &rewards), ("epoch-000003", &file)], Settings::default());
        assert_eq!(studied.results[0].chosen(), Arm::parse("tree/ll128").unwrap());
        assert!(studied.logs[0].attribution.contains("schedule of the policy file"), "{:?}", studied.logs);
        assert_eq!((study.next_generation(), studied.tables.len()), (4, 1));
        let row: Vec<&str> = studied.tables[0].listing.rows[0].iter().map(|entry| entry.text.as_str()).collect();
        assert_eq!(row[..3], ["all_reduce", "32 MiB to 128 MiB", "2 nodes, 8 ranks"]);
        assert_eq!(row[4], "auto 2, tree/simple 2, tree/ll128 2, ring/simple 2");
    }
    let refused = |text: &str| opened("collectune.policy.json", text.as_bytes()).unwrap_err();
    let text = policy.text();
    assert!(refused(&text[..text.len() - 9]).contains("is torn"), "{}", refused(&text[..text.len() - 9]));
    assert!(refused(&text.replace("\"generation\":3", "\"generation\":4")).contains("was changed or torn"));
    let kept = with_checksum("collectune-record 1 keep\n\n".to_owned());
    assert!(refused(&kept).contains("carries no policy"), "{}", refused(&kept));
}

#[test]
fn means_in_tables_are_shown_and_episodes_are_observations() {
    let table = "# mean iteration time, ms\nmode,compute,size,auto,tree_simple,ring_ll128\n\
                 sequential,default,32KB,8.451,8.668,8.328\noverlap,default,64KB,8.4,x,9\nsequential,default,1MB,,,\n";
    let (log, problems, notes) = opened("overlap.csv", table.as_bytes()).unwrap();
    let rows = log.table.unwrap().rows;
    let text: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(|entry| entry.text.as_str()).collect()).collect();
    assert_eq!(text[0], ["sequential", "default", "32KB", "ring_ll128", "8.451", "8.668", "8.328"]);
    assert_eq!((text.len(), text[1][3], problems.count), (2, "auto", 1));
    assert!(notes[0].contains("no spread"));
    let episodes = "log,size,episode,arm,mean_ms\nucb1,256KB,0,auto,9.7\nucb1,256KB,1,tree_simple,9.8\n\
                    ucb1,64MB,0,auto,99\nucb1,64MB,1,nonsense,9\nucb1,64MB,2,auto,-1\nucb1,,0,auto,9\n";
    let (log, problems, _) = opened("episodes.csv", episodes.as_bytes()).unwrap();
    assert_eq!((log.form, log.rows.len(), log.keys.len(), problems.count), (LogForm::Episodes, 4, 3, 2));
    let given = LogSettings { scale: Some(Scale { nodes: 1, ranks: 8 }), ..LogSettings::default() };
    let logs = vec![NamedLog { name: "episodes.csv".to_owned(), log }];
    let studied =
        PolicyStudy::new(logs).study(Settings { logs: vec![given], ..Settings::default() }, &mut Silent).unwrap();
    assert_eq!(studied.results.len(), 2);
    assert!(studied.notes.join("\n").contains("left out: their key says nothing of size"), "{:?}", studied.notes);
    assert!(studied.results.iter().all(|of| of.decision == Decision::None && of.flags.contains(&Flag::Adaptive)));
    assert!(opened("none.csv", b"size,auto,tree_simple\n").is_err());
    let episodes = "size,episode,arm,mean_ms\n64MB,0,auto,9\nlarge,1,auto,9\n64MB,2,tree_simple,9\n";
    let (log, problems, _) = opened("episodes.csv", episodes.as_bytes()).unwrap();
    assert_eq!((log.rows.len(), log.keys.len(), &log.strategies[..]), (3, 2, &["episodes".to_owned()][..]));
    let told = "line 3, column size: \"large\" is not a size, like 64M; the line counts without one";
    assert_eq!(problems.kept[0].to_string(), told);
}

/// Each line of a log that names everything anew costs no more than the first.
#[test]
fn keys_arms_and_strategies_have_an_end() {
    let lines = |line: &dyn Fn(u32) -> String| (0..60_000).map(|number| line(60_000 - number)).collect::<String>();
    let means = format!("size,strategy,arm,mean_ms,episode\n{}", lines(&|n| format!("{n},s{n},auto,9,1\n")));
    let head = "collective,bytes,nodes,ranks,latency_ms,strategy,arm\n";
    let keys = format!("{head}{}", lines(&|n| format!("allreduce,{},1,8,9,s{n},auto\n", n.min(20_000))));
    for (name, text, left_out) in [("means.csv", means, 60_000 - 16_384), ("rewards.log", keys, 20_000 - 16_384)] {
        let (log, problems, _) = opened(name, text.as_bytes()).unwrap();
        assert_eq!((log.keys.len(), log.strategies.len(), problems.count), (16_384, 16, left_out), "{name}");
        assert!(problems.kept[0].to_string().contains("one key more than the 16,384"), "{}", problems.kept[0]);
    }
    let mixed = |arms: [&str; 3]| {
        let rows: String = arms.iter().map(|arm| format!("allreduce,4096,1,8,9,s,{arm}\n")).collect();
        let problems = opened("rewards.log", format!("{head}{rows}").as_bytes()).unwrap().1;
        problems.kept.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert!(mixed(["auto", "tree/ll", "1"]).contains("line 4, column arm: \"1\" is a number where lines before name"));
    assert!(mixed(["99", "auto", "tree/ll"]).contains("\"99\" is beyond any table of arms"));
    assert!(!mixed(["99", "auto", "tree/ll"]).contains("is a name"));
    assert!(mixed(["0", "1", "-1"]).contains("line 4, column arm: \"-1\" is a name where lines before have a number"));
    let arms = format!("{head}{}", lines(&|n| format!("allreduce,4096,1,8,9,s,tree/ll/{}\n", n.min(70))));
    let (log, problems, _) = opened("rewards.log", arms.as_bytes()).unwrap();
    assert_eq!((log.arms.len(), problems.count), (64, 6));
    assert!(log.rows.iter().all(|row| row.arm.is_some()));
    let told = problems.kept[0].to_string();
    assert!(told.contains("column arm: \"tree/ll/6\" is one arm more than the 64"), "{told}");
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn real_tables_of_means_are_read() {
    for (name, rows, keys) in [
        ("overlap_1x8_a100.csv", true, 0),
        ("profile_v3_a100.csv", true, 0),
        ("same_cluster_2x4_a100.csv", true, 0),
        ("ucb1_episodes.csv", false, 3),
    ] {
        // Of 20 its size is a guess: `4MB?`.
        let guessed = if rows { 0 } else { 20 };
        let text = crate::support::real::text(&format!("policy/{name}"));
        let (log, problems, _) = opened(name, text.as_bytes()).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#')).count() - 1;
        let read = if rows { log.table.unwrap().rows.len() } else { log.rows.len() };
        assert_eq!((read, log.keys.len(), problems.count), (lines, keys, guessed), "{name}");
    }
}

/// What is chosen in a chart is shown in all that have it.
#[test]
fn an_arm_or_a_strategy_is_shown_out_in_every_chart() {
    use collectune::{
        form::Choices,
        plot::{Chart, Colour},
        policy::form::Policy,
        report::Contents,
        workbench::{ReportContext, Study as _},
    };
    let text = simulate::log(&simulate::worlds()[0].1, &simulate::ARMS, 64 << 20, 50, 1);
    let mut policy = Policy::new(vec![NamedLog { name: "rewards.log".to_owned(), log: log("rewards.log", &text) }]);
    let mut charts = |choices: &str| -> Vec<Chart> {
        policy.choose(Choices::parse(choices), &mut Silent).unwrap();
        while let Some((jobs, basis)) = policy.jobs().ok().and_then(|of| Some((of.rounds.first()?.clone(), of.basis))) {
            let jobs: Vec<u32> = jobs.iter().map(|(job, _)| *job).collect();
            let done = collectune::registry::work(collectune::report::Workbench::Policy, &basis, &jobs, &mut Silent);
            policy.take(&done.unwrap(), &mut Silent).unwrap();
            policy.conclude(&mut Silent).unwrap();
        }
        let report = policy.report(ReportContext::default(), &Contents::whole()).unwrap();
        report.sections.into_iter().flat_map(|section| section.charts).collect()
    };
    let coloured = |chart: &Chart| -> Vec<String> {
        let shown = chart.series.iter().filter(|series| series.colour != Colour::Muted);
        shown.map(|series| series.name.clone()).collect()
    };
    let all = charts("#seeds=5&steps=200");
    assert_eq!(all.len(), 4, "latencies, posteriors, regret, shares");
    assert!(all.iter().all(|chart| coloured(chart).len() == chart.series.len()));
    let of_arm = charts("#seeds=5&steps=200&arm=ring/simple");
    for chart in [&of_arm[0], &of_arm[1], &of_arm[3]] {
        assert_eq!(coloured(chart), ["ring/simple"], "{}", chart.title);
        assert_eq!(chart.series.last().unwrap().name, "ring/simple", "it lies on top");
    }
    let of_strategy = charts("#seeds=5&steps=200&strategy=6");
    assert_eq!(
        (coloured(&of_strategy[2]), of_strategy[3].title.as_str()),
        (vec!["ucb1".to_owned()], "Shares of arms: ucb1")
    );
    let form = policy.form().unwrap();
    let picked: Vec<&str> = form.iter().filter(|field| field.picked).map(|field| field.key.as_str()).collect();
    assert_eq!(picked, ["arm", "strategy"]);
}

#[test]
fn files_are_made_with_what_the_form_says() {
    use collectune::{
        form::Choices,
        policy::file::Policy as File,
        policy::form::Policy,
        report::{Contents, Workbench},
        workbench::{ReportContext, Study as _},
    };
    let (policy, rewards) = explored();
    let named = |name: &str, text: &str| NamedLog { name: name.to_owned(), log: log(name, text) };
    let mut study = Policy::new(vec![named("rewards.log", &rewards), named("next.policy", &policy.text())]);
    let mut saved = |choices: &str, key: &str| {
        study.choose(Choices::parse(choices), &mut Silent).unwrap();
        study.file(key, &mut Silent).unwrap().text
    };
    let generation = |text: String| File::read(text.as_bytes()).unwrap().policy.generation;
    assert_eq!(generation(saved("", "policy")), 4, "one above the file that was dropped");
    assert_eq!(generation(saved("#generation=17", "policy")), 17);
    assert_eq!(generation(saved("#generation=", "policy")), 4, "an emptied field is as it was");
    assert!(saved("#command=%20", "script").contains("command=(./job)"));
    assert!(saved("#command=srun%20python%20train.py", "script").contains("command=(srun python train.py)"));
    let conf = saved("", "collectune");
    assert!(conf.contains("allreduce,33554432,134217727,tree,ll128,"), "{conf}");
    study.choose(Choices::parse("#generation=17"), &mut Silent).unwrap();
    let report =
        study.report(ReportContext::default(), &Contents { workbench: Workbench::Policy, ..Contents::whole() });
    let files = report.unwrap().sections.into_iter().flat_map(|section| section.files);
    let file = files.into_iter().find(|file| file.name == "collectune.policy.json").unwrap();
    assert_eq!(generation(file.text), 17, "a report has the same file");
}

/// Each worker's share is taken in by itself, and told of once.
#[test]
fn what_workers_bring_is_brought_together_once() {
    use collectune::{
        form::Choices,
        policy::form::Policy,
        registry::work,
        report::{Contents, Workbench},
        workbench::{ReportContext, Study as _},
    };
    let mut policy = Policy::new(Vec::new());
    policy.choose(Choices::parse("#seeds=20&steps=100&world=clear"), &mut Silent).unwrap();
    let jobs = policy.jobs().unwrap();
    let strategies = |policy: &Policy| {
        let report = policy.report(ReportContext::default(), &Contents::whole()).unwrap();
        report.sections.into_iter().filter(|section| section.title == "Strategies").count()
    };
    for (job, _) in jobs.rounds.iter().flatten() {
        let done = work(Workbench::Policy, &jobs.basis, &[*job], &mut Silent).unwrap();
        policy.take(&done, &mut Silent).unwrap();
        assert_eq!(strategies(&policy), 0);
    }
    assert!(policy.jobs().unwrap().rounds.is_empty());
    policy.conclude(&mut Silent).unwrap();
    assert_eq!(strategies(&policy), 1);
}

#[test]
fn of_several_policies_each_attributes_its_own_generation() {
    let (policy, rewards) = explored();
    let other = collectune::policy::file::Policy { generation: 7, seed: 43, ..policy.clone() };
    let both = |rewards: &str, other: &collectune::policy::file::Policy| {
        let files = [("rewards.log", rewards), ("a.policy", &policy.text()), ("b.policy", &other.text())];
        study(&files, Settings::default()).1
    };
    let schedule = "from the schedule of the policy file and the calls of the log";
    let studied = both(&rewards, &other);
    assert_eq!((studied.logs[0].attribution.as_str(), studied.notes.is_empty()), (schedule, true), "{studied:?}");
    // Nothing says which of them it was: other ways are tried, and why is said.
    let untold = rewards.replace(",generation", "").replace(",3\n", "\n");
    let notes = |studied: &PolicyOverview| studied.notes.join("\n");
    let studied = both(&untold, &other);
    assert!(studied.logs[0].attribution.starts_with("not attributed"), "{:?}", studied.logs);
    let why = "rewards.log: It does not say by which of 2 policy files its lines ran";
    assert!(notes(&studied).contains(why), "{}", notes(&studied));
    let unknown = rewards.replace(",3\n", ",9\n");
    let studied = both(&unknown, &other);
    let why = "rewards.log: There is no policy file of the generations in its lines";
    assert!(notes(&studied).contains(why), "{}", notes(&studied));
    // Lines that an unknown policy dealt are not held to have taken turns.
    let arms = policy.arms[..2].to_vec();
    let turns = Settings { schedule: Schedule { arms, ..Schedule::default() }, ..Settings::default() };
    let files = [("rewards.log", unknown.as_str()), ("a.policy", &policy.text()), ("b.policy", &other.text())];
    let (_, studied) = study(&files, turns);
    assert_eq!(studied.logs[0].attribution, schedule, "{studied:?}");
    assert!(notes(&studied).contains(why), "{}", notes(&studied));
    // The same file twice is one; another one of the same generation is said.
    assert!(both(&untold, &policy).notes.is_empty());
    let studied = both(&rewards, &collectune::policy::file::Policy { generation: 3, ..other });
    let told = "b.policy and a.policy have different policies of generation 3; lines are attributed by a.policy";
    assert!(notes(&studied).contains(told), "{}", notes(&studied));
    let settings =
        Settings { schedule: Schedule { policies: vec![policy], ..Schedule::default() }, ..Settings::default() };
    let (given, studied) = study(&[("rewards.log", &untold)], settings);
    assert_eq!((studied.logs[0].attribution.as_str(), given.next_generation()), (schedule, 4));
}

#[test]
fn where_the_library_keeps_the_choice_its_own_reader_is_told_so() {
    let text = simulate::log(&simulate::worlds()[3].1, &simulate::ARMS, 1 << 20, 60, 2);
    let (study, _) = study(&[("r.log", &text)], Settings::default());
    let files = study.export(&Export::Conf(collectune::conf::Reader::Collectune)).unwrap();
    let rules = collectune::conf::read(files[0].text.as_bytes(), collectune::conf::Reader::Collectune);
    assert_eq!(rules.len(), 1, "{}", files[0].text);
    assert!(files[0].text.contains("allreduce,1048576,4194303,auto,auto,"), "{}", files[0].text);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, cases: 64, ..Default::default() })]

    #[test]
    fn any_text_after_a_header_is_read(rows in "([a-c0-9.,\"\n#-]|nan|1e400|allreduce,4096,1,8,3\n|,auto|,0\\.5){0,60}") {
        for head in [
            "allreduce,4096,1,8,3\n",
            "collective,bytes,nodes,ranks,latency_ms,arm,propensity\n",
            "collType,nBytes,nNodes,nRanks,latency_us,call,generation,rank\n",
            "# collectune-rewards 1\nallreduce,4096,1,8,3\n",
            "1.5\n",
        ] {
            let text = format!("{head}{rows}");
            if let Ok((log, problems, _)) = opened("times_auto_2x4_64MB.txt", text.as_bytes()) {
                proptest::prop_assert!(problems.kept.iter().all(|problem| problem.line > 0));
                let mut study = PolicyStudy::new(vec![NamedLog { name: "r.log".to_owned(), log }]);
                let _ = study.study(round_robin(Some(3)), &mut Silent);
            }
        }
    }

    #[test]
    fn any_json_is_read(inside in "(\\{|\\}|\\[|\\]|,|:|\"arm\"|\"arm_idx\"|\"mean_ms\"|\"auto\"|1|-1|1e999|null){0,40}") {
        let _ = opened("episodes.json", format!("[{{\"arm_idx\":0,\"mean_ms\":1,{inside}").as_bytes());
        let _ = opened("episodes.json", format!("{{\"mean_ms\":1,\"arm\":{inside}").as_bytes());
    }

    #[test]
    fn any_bytes_are_no_policy_or_a_whole_one(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200), text in ".{0,60}") {
        use collectune::policy::file::{Policy, with_checksum};
        let _ = Policy::read(&bytes);
        let _ = Policy::read(with_checksum(text).as_bytes());
    }
}

/// The real logs. n, mean, median, sd, ρ₁, n_eff, b.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn real_logs_have_the_figures_of_the_reference() {
    let files = [
        ("times_auto_2x4_64MB_a.txt", 0, "auto", (200, 217.654, 143.785, 119.998, 0.290, 110.0, 5)),
        ("rewards_2x4_64MB_a.log", 21, "tree/simple", (180, 221.329, 267.137, 119.219, -0.117, 180.0, 3)),
        ("rewards_2x4_64MB_b.log", 41, "tree/simple", (200, 222.563, 166.649, 119.455, 0.052, 180.0, 2)),
        ("iteration_times_1x8_4MB_auto.txt", 0, "auto", (50, 8.876, 9.708, 1.061, 0.950, 1.3, 12)),
    ];
    let mut logs = Vec::new();
    for (name, from_line, arm, figures) in files {
        let text = crate::support::real::text(&format!("policy/{name}"));
        let settings = || Settings {
            logs: vec![LogSettings { arm: Arm::parse(arm), from_line, ..LogSettings::default() }],
            ..Settings::default()
        };
        let of = one(&[(name, &text)], settings());
        let arm = of.arms.iter().find(|arm| arm.n > 0).unwrap();
        let (n, mean, median, deviation, rho, n_eff, block) = figures;
        assert_eq!((arm.n, arm.block), (n, block), "{name}");
        for (said, expected, tolerance) in [
            (arm.mean_ms, mean, 5e-4),
            (arm.median_ms, median, 6e-4),
            (arm.deviation_ms, deviation, 5e-4),
            (arm.autocorrelation, rho, 5e-4),
            (arm.n_eff, n_eff, 0.3),
        ] {
            assert!((said - expected).abs() <= tolerance, "{name}: {said} {expected}");
        }
        logs.push((name, text, settings().logs[0].clone()));
    }
    let auto = &logs[0];
    for other in &logs[1..3] {
        let settings = Settings { logs: vec![auto.2.clone(), other.2.clone()], ..Settings::default() };
        let of = one(&[(auto.0, &auto.1), (other.0, &other.1)], settings);
        assert_eq!(of.verdict, "keep auto; bimodal", "{of:?}");
        // They ran one after the other: it is not shown.
        assert_eq!(of.p_better(), None);
        let p = of.of_candidate().unwrap().comparison.unwrap().p_better;
        assert!((p - 0.4).abs() < 0.06, "{p}");
        let needed = of.sentences.iter().find(|sentence| sentence.contains("independent values")).unwrap();
        assert!(needed.contains("1505 independent values per arm"), "{needed}");
        println!("{}: {} P(better) = {p:.3}", other.0, of.verdict);
    }
    let (name, text, given) = &logs[3];
    let of = one(&[(name, text)], Settings { logs: vec![given.clone()], ..Settings::default() });
    assert!(of.verdict.starts_with("drifting; no decision"), "{}", of.verdict);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn real_episodes_and_the_whole_of_a_log_lead_to_no_decision() {
    for name in ["rewards_2x4_64MB_a.log", "rewards_2x4_64MB_b.log", "rewards_2x4_256MB_a.log"] {
        let text = crate::support::real::text(&format!("policy/{name}"));
        let of = one(&[(name, &text)], Settings::default());
        assert_eq!(of.verdict.split("; ").find(|word| word.contains("decision")), Some("no decision"), "{of:?}");
        // The schedule that they are said to follow leaves no trace in them.
        let turns = Settings {
            schedule: Schedule { turns: Some(35), ..round_robin(Some(15)).schedule },
            ..Settings::default()
        };
        let of = one(&[(name, &text)], turns);
        assert!(!matches!(of.decision, Decision::Deploy(_)), "{of:?}");
        println!("{name}: {}", of.verdict);
    }
}

#[test]
fn the_example_is_current() {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("public/examples/simulated_rewards.csv");
    let made = simulate::overlap_log(1);
    if std::env::var_os("UPDATE_EXAMPLES").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    assert!(std::fs::read_to_string(&path).is_ok_and(|text| text == made), "run it once with UPDATE_EXAMPLES=1");
}
