//! What to measure next, from the terminal, through the executor and as scripts that run.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fs;

use crate::support::{
    launcher::{collectune, run, stdout},
    worker::with,
};
use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    launch::Sizes,
    progress::Silent,
    tuning::{
        aggregate::Point,
        plan::{self, PlanQuestion, Reason, explore::LaunchThresholds},
        simulate::Simulation,
        support::{SupportMatrix, built_in},
        sweep::Sweep,
    },
    worker::executor::Executor,
};
use proptest::prelude::*;
use serde_json::Value;

/// An all_reduce sweep at two nodes; lines for which `keep` is false are left out.
fn csv(keep: impl Fn(&str) -> bool) -> String {
    let simulation = Simulation {
        collectives: vec![Collective::AllReduce],
        nodes: vec![2],
        channels: vec![1, 2, 4, 8, 16, 24, 32],
        ..Simulation::example()
    };
    simulation.to_csv().lines().filter(|line| keep(line)).map(|line| format!("{line}\n")).collect()
}

fn ask(executor: &mut Executor, question: &PlanQuestion) -> plan::PlanAnswer {
    executor.studies.tuning.loaded.plan(question, None, &mut Silent).unwrap()
}

const TELLS: &str = "#!/bin/sh\nenv | grep ^NCCL_ | sort\necho \"$@\"\n";

#[test]
fn without_a_default_its_runs_come_first() {
    let without = csv(|line| !line.contains(",,,0,"));
    let answer = ask(&mut with(&[("sweep.csv", without)]), &PlanQuestion::default());
    let first = &answer.items[0];
    assert_eq!((first.reason, first.configuration), (Reason::NoDefault, None));
    assert_eq!(answer.listing.rows[0][2].text, "default");
}

#[test]
fn what_was_hidden_and_matters_is_asked_for() {
    // Of TREE/LL128, the best at mid sizes, only one and two channels were run.
    let hides = |line: &str| {
        line.contains("TREE,LL128,") && !line.contains(",TREE,LL128,1,") && !line.contains(",TREE,LL128,2,")
    };
    let answer = ask(&mut with(&[("sweep.csv", csv(|line| !hides(line)))]), &PlanQuestion::default());
    let gains: Vec<Configuration> =
        answer.items.iter().filter(|item| item.reason == Reason::Gain).filter_map(|item| item.configuration).collect();
    let hidden = |c: &&Configuration| (c.algorithm, c.protocol) == (Algorithm::Tree, Protocol::Ll128) && c.channels > 2;
    assert!(gains.iter().any(|c| hidden(&c)), "{gains:?}");
    let listed: Vec<f64> =
        answer.items.iter().filter(|i| i.reason == Reason::Gain).filter_map(|i| i.expected_pct).collect();
    assert!(listed.windows(2).all(|pair| pair[0] >= pair[1]), "{listed:?}");
}

#[test]
fn a_complete_sweep_leaves_nothing_to_gain() {
    let answer =
        ask(&mut with(&[("sweep.csv", csv(|_| true))]), &PlanQuestion { runs: 300, ..PlanQuestion::default() });
    assert!(answer.items.iter().all(|item| item.reason != Reason::Gain), "{:?}", answer.items);
    assert!(
        answer.notes.iter().any(|note| note.contains("all other launches together are expected")),
        "{:?}",
        answer.notes
    );
}

#[test]
fn the_budget_counts_repeats_and_references() {
    let sparse = csv(|line| !line.contains("LL128,"));
    let mut executor = with(&[("sweep.csv", sparse)]);
    for runs in [0, 1, 2, 5, 9, 30, 100] {
        for repeats in [1, 3, 50] {
            let answer = ask(&mut executor, &PlanQuestion { runs, repeats, ..PlanQuestion::default() });
            let launches: u32 = answer.items.iter().map(|item| item.repeats).sum();
            assert!(launches <= runs, "{launches} of {runs}");
            let lines = answer.script.lines().filter(|line| line.starts_with("run ")).count();
            assert_eq!(lines, launches as usize);
            let mut names: Vec<&str> =
                answer.script.lines().filter_map(|line| line.strip_prefix("run ")?.split(' ').next()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), lines, "each launch has its own log");
        }
    }
}

#[test]
fn sizes_that_a_job_sends_go_to_the_top() {
    let workload =
        Workload { collective: Collective::AllReduce, scale: Scale { nodes: 2, ranks: 16 }, size_bytes: 368_640 };
    let question = PlanQuestion { uncovered: vec![(workload, 1000)], ..PlanQuestion::default() };
    let answer = ask(&mut with(&[("sweep.csv", csv(|_| true))]), &question);
    let first = &answer.items[0];
    assert_eq!(first.sizes, Sizes { first: 368_640, last: 368_640 });
    assert!(answer.items[1].why.contains("A job sends 360 KiB in 1,000 calls"), "{:?}", answer.items[1]);
    assert!(answer.script.contains("all_reduce_2n_from368640b_"));
}

#[test]
fn the_script_of_a_plan_runs() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sweep.csv"), csv(|line| !line.contains("LL128,"))).unwrap();
    for launcher in ["mpirun", "srun"] {
        let arguments = [
            "tuning",
            "plan",
            "sweep.csv",
            "--runs",
            "12",
            "--repeats",
            "2",
            "--launcher",
            launcher,
            "--script",
            "measure.sh",
        ];
        let table = stdout(&collectune(folder.path(), &arguments));
        assert!(table.contains("reference") && table.contains("LL128"), "{table}");
        let script = fs::read_to_string(folder.path().join("measure.sh")).unwrap();
        run(folder.path(), &script, TELLS);
        let log = fs::read_dir(folder.path().join("logs"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.to_string_lossy().contains("_ll128_c32_r2.log"))
            .unwrap();
        let said = fs::read_to_string(log).unwrap();
        for expected in
            ["NCCL_PROTO=LL128", "NCCL_MIN_NCHANNELS=32", "NCCL_MAX_NCHANNELS=32", "-b 4096 -e 268435456 -f 2 -g 1"]
        {
            assert!(said.contains(expected), "{said}");
        }
        assert_eq!(said.contains("-x NCCL_ALGO"), launcher == "mpirun", "{said}");
        fs::remove_dir_all(folder.path().join("logs")).unwrap();
    }
}

#[test]
fn a_plan_is_json_or_arguments_of_rccl_sweep() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sweep.csv"), csv(|line| !line.contains(",,,0,"))).unwrap();
    let json: Value =
        serde_json::from_str(&stdout(&collectune(folder.path(), &["tuning", "plan", "sweep.csv", "--json"]))).unwrap();
    let first = &json["launches"][0];
    assert_eq!((&first["reason"], &first["algo"], &first["runs"]), (&"no default".into(), &Value::Null, &3.into()));
    let lines = stdout(&collectune(folder.path(), &["tuning", "plan", "sweep.csv", "--sweep-arguments"]));
    assert!(lines.starts_with("./rccl_sweep.py --servers servers.txt --nodes 2 --collective all_reduce"), "{lines}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_sweep_can_be_planned_for(
        points in prop::collection::vec(
            (0_usize..7, 0_usize..4, 0_u32..300, prop::sample::select(vec![1_u64, 7, 4096, 5000, 1 << 20, 1 << 53]), 1e-6_f64..1e6, any::<bool>()),
            0..40,
        ),
        runs in 0_u32..50,
        repeats in 0_u32..5,
        change_pct in prop::sample::select(vec![0.0, 1.0, -1.0, f64::NAN, f64::INFINITY]),
        channels in prop::collection::vec(0_u32..300, 0..4),
    ) {
        let mut rows: Vec<Point> = Vec::new();
        let mut defaults = Vec::new();
        for (algorithm, protocol, channels, size_bytes, busbw, is_default) in points {
            let workload = Workload { collective: Collective::AllGather, scale: Scale { nodes: 2, ranks: 16 }, size_bytes };
            let configuration =
                Configuration { algorithm: Algorithm::ALL[algorithm], protocol: Protocol::ALL[protocol], channels };
            let point = Point::new(workload, configuration, busbw);
            if is_default { defaults.push(point) } else { rows.push(point) }
        }
        for points in [&mut rows, &mut defaults] {
            points.sort_by_key(|p| (p.workload, p.configuration));
        }
        rows.dedup_by_key(|p| (p.workload, p.configuration));
        defaults.dedup_by_key(|p| p.workload);
        let sweep = Sweep { points: rows, defaults };
        let worth = LaunchThresholds { change_pct, ..LaunchThresholds::default() };
        let question = PlanQuestion { runs, repeats, worth, channels, ..PlanQuestion::default() };
        let support = SupportMatrix::new(built_in(None), &sweep);
        let answer = plan::plan(&sweep, None, &[], &support, &question, &mut Silent);
        prop_assert!(answer.items.iter().map(|item| item.repeats).sum::<u32>() <= runs);
        prop_assert!(answer.items.iter().all(|item| item.configuration.is_none_or(|c| c.channels > 0)));
        prop_assert_eq!(answer.listing.rows.len(), answer.items.len());
    }
}
