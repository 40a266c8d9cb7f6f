//! What is set aside, brought back and decided anew, in conversations with a worker.

#![allow(clippy::unwrap_used)]

use collectune::{
    collective::{Collective, Scale, Workload},
    math::Stream,
    progress::Silent,
    tuning::{
        decision::{Decision, KeepReason},
        loaded::predict_folds,
        parameters::{Confidence, Parameters, Preset, Screening, SetAside},
        read::Placement,
        record::{self, RecordQuestion},
        result::{PredictionSupport, Recommendation, Trained},
        simulate::Simulation,
    },
    worker::executor::Executor,
};

use crate::support::worker::{load, train};

const SCALE: Scale = Scale { nodes: 2, ranks: 16 };

fn workload(size_bytes: u64) -> Workload {
    Workload { collective: Collective::AllReduce, scale: SCALE, size_bytes }
}

fn record(worker: &mut Executor, workload: Option<Workload>) -> record::RecordAnswer {
    worker.studies.tuning.loaded.record(&RecordQuestion { workload })
}

fn parameters() -> Parameters {
    Parameters { preset: Preset::ExtraTrees, trees: 8, ..Parameters::default() }
}

/// The line of [`changed`] whose time is another one.
const LINE: u32 = 100;

/// A sweep whose 100th line stalled in place: its time is ten times what it was.
fn with_a_stall() -> (String, u32) {
    (changed(10.0).join("\n"), LINE)
}

/// The lines of a sweep in which the in-place time of the 100th is multiplied.
fn changed(factor: f64) -> Vec<String> {
    let simulation = Simulation {
        collectives: vec![Collective::AllReduce],
        nodes: vec![2],
        sizes: (12..21).map(|log2| 1 << log2).collect(),
        channels: vec![1, 4, 8, 16],
        repeats: 3,
        seed: 4,
    };
    let csv = simulation.to_csv();
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let change = |(index, line): (usize, &str)| {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        if index + 1 == LINE as usize {
            for (cell, name) in cells.iter_mut().zip(&header) {
                match *name {
                    "time_ip_us" => *cell = format!("{:.2}", cell.parse::<f64>().unwrap() * factor),
                    "algbw_ip" | "busbw_ip" => *cell = format!("{:.2}", cell.parse::<f64>().unwrap() / factor),
                    _ => {}
                }
            }
        }
        cells.join(",")
    };
    csv.lines().enumerate().map(change).collect()
}

#[test]
fn a_lone_run_that_is_too_fast_in_place_is_not_deployed() {
    let all = changed(0.1);
    let header: Vec<&str> = all[0].split(',').collect();
    let columns = ["size_bytes", "algo", "proto", "nchannels", "requested_algo"]
        .map(|name| header.iter().position(|column| *column == name).unwrap());
    let what = |line: &str| columns.map(|column| line.split(',').nth(column).unwrap().to_owned());
    let fast = &all[LINE as usize - 1];
    let lone: Vec<&str> =
        all.iter().filter(|line| *line == fast || what(line) != what(fast)).map(String::as_str).collect();
    assert_eq!(lone.len() + 2, all.len());
    let size_bytes = what(fast)[0].parse().unwrap();
    let decision = |lines: &[&str]| {
        let loaded = load(&mut Executor::default(), &[("fast.csv", lines.join("\n").as_bytes())]);
        let of_size = loaded.winners.into_iter().find(|winner| winner.workload == workload(size_bytes)).unwrap();
        (of_size.decision, of_size.gain_pct.unwrap())
    };
    let (decided, gain_pct) = decision(&lone);
    assert_eq!(decided, Decision::KeepDefault { reason: KeepReason::Contradicted });
    assert!(gain_pct > 300.0, "{gain_pct}");
    // Without the out-of-place times nothing contradicts it.
    let column = header.iter().position(|column| *column == "time_oop_us").unwrap();
    let bare = |line: &&str| {
        let cells = line.split(',').enumerate().filter(|(index, _)| !(column..column + 4).contains(index));
        cells.map(|(_, cell)| cell).collect::<Vec<_>>().join(",")
    };
    let bare: Vec<String> = lone.iter().map(bare).collect();
    assert_eq!(decision(&bare.iter().map(String::as_str).collect::<Vec<_>>()).0, Decision::Deploy);
}

#[test]
fn a_stall_is_named_set_aside_and_brought_back() {
    let (csv, line) = with_a_stall();
    let mut worker = Executor::default();
    load(&mut worker, &[("noisy.csv", csv.as_bytes())]);
    let notes = |worker: &Executor| worker.studies.tuning.loaded.study.notes().join("; ");
    assert!(notes(&worker).contains("stalled, all set aside;"), "{}", notes(&worker));
    let all = record(&mut worker, None);
    let stall = all.stalls.iter().find(|stall| stall.line == line && stall.placement == Placement::InPlace).unwrap();
    assert!((5.0..20.0).contains(&stall.times_slower()) && stall.set_aside && stall.of == 3, "{stall:?}");
    let row = all.stall_listing.rows.iter().find(|row| row.iter().any(|cell| cell.text == "noisy.csv 100")).unwrap();
    assert_eq!(row.len(), all.stall_listing.columns.len());

    let one = record(&mut worker, Some(stall.workload));
    let measured = one.measured.iter().find(|m| m.runs.iter().any(|run| run.line == line)).unwrap();
    assert_eq!((measured.runs.len(), measured.repeats), (3, 2));
    assert_eq!(measured.runs.iter().filter(|run| !run.is_used).map(|run| run.line).collect::<Vec<_>>(), [line]);
    assert!(measured.spread_pct.unwrap() < 50.0 && measured.runs[0].file == "noisy.csv");
    assert_eq!(one.listing.rows.len(), one.measured.len());
    assert!(one.noise.is_some() && one.measured.last().unwrap().is_default);

    let before = train(&mut worker, &parameters());
    let kept = Screening { keep_stalls: true, ..Screening::default() };
    let after = train(&mut worker, &Parameters { screening: kept, ..parameters() });
    assert_ne!(before.training, after.training);
    assert!(notes(&worker).contains("stalled, all used;"), "{}", notes(&worker));
    let measured_anew = record(&mut worker, Some(stall.workload));
    let again = measured_anew.measured.iter().find(|m| m.configuration == measured.configuration).unwrap();
    assert_eq!(again.repeats, 3);
    assert!(again.spread_pct.unwrap() > 50.0 && measured_anew.stalls.iter().all(|stall| !stall.set_aside));
    assert_eq!(train(&mut worker, &parameters()).training, before.training);
}

#[test]
fn a_configuration_is_set_aside_by_hand_and_comes_back() {
    let (csv, _) = with_a_stall();
    let mut worker = Executor::default();
    let loaded = load(&mut worker, &[("a.csv", csv.as_bytes())]);
    let chosen = loaded.winners[4].configuration.unwrap();
    let aside = SetAside { collective: Collective::AllReduce, scale: SCALE, configuration: chosen };
    let screening = Screening { set_aside: vec![aside], ..Screening::default() };
    let trained = train(&mut worker, &Parameters { screening, ..parameters() });
    assert_eq!(trained.groups[0].points + 9, loaded.groups[0].points);
    assert!(trained.answer.iter().all(|answer| answer.configuration != Some(chosen)));
    let record = record(&mut worker, Some(loaded.winners[4].workload));
    let set_aside: Vec<_> = record.measured.iter().filter(|m| m.is_set_aside).map(|m| m.configuration).collect();
    assert_eq!(set_aside, [chosen]);
    assert_eq!(train(&mut worker, &parameters()).groups, loaded.groups);
}

/// The level and the smallest gain decide anew without a new training: validation stays.
#[test]
fn confidence_decides_anew_without_training() {
    let (csv, _) = with_a_stall();
    let mut worker = Executor::default();
    load(&mut worker, &[("a.csv", csv.as_bytes())]);
    let trained = train(&mut worker, &parameters());
    let folds: Vec<u32> = (0..trained.folds.len() as u32).collect();
    let done = predict_folds(&trained.training, &parameters(), &folds, &mut Silent).unwrap();
    let validated = worker.studies.tuning.loaded.validate(&[done], &mut Silent).unwrap();
    let deployed =
        |answer: &[Recommendation]| answer.iter().filter(|answer| answer.decision == Decision::Deploy).count();
    assert!(deployed(&validated.answer) > 0);

    let decide = |worker: &mut Executor, level, minimum_gain_pct| {
        train(worker, &Parameters { confidence: Confidence { level, minimum_gain_pct }, ..parameters() })
    };
    let demanding = decide(&mut worker, 0.9, 1e6);
    assert_eq!(deployed(&demanding.answer), 0);
    assert_eq!(demanding.training, trained.training);
    assert!(demanding.answer.iter().all(|answer| answer.interval_90.is_some()), "validation was lost");
    let widths = |trained: &Trained| -> Vec<f64> {
        trained.answer.iter().filter_map(|answer| answer.gain.map(|gain| gain.high_pct - gain.low_pct)).collect()
    };
    let (narrow, wide) = (widths(&decide(&mut worker, 0.6, 0.0)), widths(&decide(&mut worker, 0.98, 0.0)));
    assert!(narrow.iter().sum::<f64>() < wide.iter().sum::<f64>());
    let again = decide(&mut worker, parameters().confidence.level, parameters().confidence.minimum_gain_pct);
    let decisions =
        |answer: &[Recommendation]| answer.iter().map(|a| (a.configuration, a.decision)).collect::<Vec<_>>();
    assert_eq!(decisions(&again.answer), decisions(&validated.answer));
}

/// A reopened model knows the runs and decides as before; it no longer knows their files and lines.
#[test]
fn a_reopened_model_decides_as_before() {
    let (csv, line) = with_a_stall();
    let mut worker = Executor::default();
    load(&mut worker, &[("a.csv", csv.as_bytes())]);
    let trained = train(&mut worker, &parameters());
    let file = worker.studies.tuning.loaded.model_file().unwrap().to_text();
    let stalls = record(&mut worker, None).stalls;
    let mut elsewhere = Executor::default();
    load(&mut elsewhere, &[("model.json", file.as_bytes())]);
    let again = train(&mut elsewhere, &parameters());
    assert_eq!((again.answer, again.notes), (trained.answer, vec![]));
    let reopened = record(&mut elsewhere, None).stalls;
    let what = |stall: &collectune::tuning::stalls::Stall| {
        (stall.workload, stall.configuration, stall.repeat, stall.placement)
    };
    assert_eq!(reopened.iter().map(what).collect::<Vec<_>>(), stalls.iter().map(what).collect::<Vec<_>>());
    assert!(stalls.iter().any(|stall| stall.line == line));
}

/// Between measured sizes the gain is over what the default's neighbouring sizes let expect.
#[test]
fn between_sizes_the_default_is_interpolated() {
    let (csv, _) = with_a_stall();
    let mut worker = Executor::default();
    load(&mut worker, &[("a.csv", csv.as_bytes())]);
    let trained = train(&mut worker, &parameters());
    let recommend = |worker: &mut Executor| {
        let study = &worker.studies.tuning.loaded.study;
        study.recommend(&[100_000, 1 << 30].map(workload), Some(&Default::default()), true, &mut Silent).unwrap()
    };
    let before = recommend(&mut worker);
    assert!(before[0].gain.is_none() && before[0].default_between_gbps.is_some(), "no interval is known yet");
    assert_eq!(before[0].decision, Decision::MeasureFirst, "without an interval nothing is deployed");
    let folds: Vec<u32> = (0..trained.folds.len() as u32).collect();
    let done = predict_folds(&trained.training, &parameters(), &folds, &mut Silent).unwrap();
    worker.studies.tuning.loaded.validate(&[done], &mut Silent).unwrap();
    let [between, beyond] = &recommend(&mut worker)[..] else { panic!() };
    let (gain, default) = (between.gain.unwrap(), between.default_between_gbps.unwrap());
    let expected = (between.predicted_busbw_gbps.unwrap() / default - 1.0) * 100.0;
    assert!((gain.pct - expected).abs() < 1e-6 && gain.low_pct < gain.pct && gain.pct < gain.high_pct);
    assert!(between.gain_pct.is_none() && between.default.is_none(), "the default was not measured here");
    assert_eq!((beyond.decision, beyond.gain), (Decision::MeasureFirst, None));
}

#[test]
fn what_no_library_runs_is_never_chosen() {
    let rows = |algorithm: &'static str, time_us: f64| {
        (0..3).map(move |repeat| {
            let time_us = time_us + f64::from(repeat) / 10.0;
            format!("broadcast_perf,2,16,1048576,{time_us:.2},{:.2},{algorithm}\n", 1_048_576.0 / time_us / 1e3)
        })
    };
    let header = "collective,num_nodes,num_gpus,size_bytes,time_ip,busbw_ip,algo,proto,nchannels\n";
    let all = rows("DEFAULT,DEFAULT,0", 100.0).chain(rows("RING,SIMPLE,8", 80.0)).chain(rows("TREE,LL,8", 50.0));
    let mut worker = Executor::default();
    let loaded = load(&mut worker, &[("broadcast.csv", (header.to_owned() + &all.collect::<String>()).as_bytes())]);
    let answer = &loaded.winners[0];
    assert_eq!(answer.decision, Decision::Deploy);
    assert_eq!(answer.configuration.unwrap().to_string(), "RING/SIMPLE/8");
    let notes = worker.studies.tuning.loaded.study.notes().join("; ");
    assert!(notes.contains("broadcast on 2 nodes, 16 ranks: TREE/LL is never chosen"), "{notes}");
}

/// A sweep in which all configurations and the default are equally fast, and launches differ by 5 %.
fn equally_fast(repeats: u32) -> String {
    let mut stream = Stream::new(5);
    let mut near_one = |deviation: f64| 1.0 + deviation * stream.normal();
    let mut csv = "collective,num_nodes,num_gpus,size_bytes,time_ip,busbw_ip,algo,proto,nchannels\n".to_owned();
    let of_algorithm = |algorithm: &'static str| {
        ["LL", "SIMPLE"]
            .into_iter()
            .flat_map(move |protocol| [4, 8, 16].map(move |channels| format!("{algorithm},{protocol},{channels}")))
    };
    let configurations: Vec<String> =
        ["RING", "TREE"].into_iter().flat_map(of_algorithm).chain(["DEFAULT,DEFAULT,0".to_owned()]).collect();
    for configuration in &configurations {
        for _ in 0..repeats {
            // A launch is fast or slow at all of its sizes.
            let of_launch = near_one(0.05);
            for log2 in 12..27 {
                let bytes: u64 = 1 << log2;
                let time_us = (20.0 + bytes as f64 / 1e5) * of_launch * near_one(0.01);
                let busbw_gbps = Collective::AllReduce.busbw_gbps(SCALE.ranks, bytes, time_us);
                csv += &format!("all_reduce_perf,2,16,{bytes},{time_us:.3},{busbw_gbps:.3},{configuration}\n");
            }
        }
    }
    csv
}

/// What a model promises of channels that nobody measured is not deployed, and has no interval: nothing that validation
/// left out says how wrong it is there.
#[test]
fn channels_beyond_those_that_were_measured_are_not_deployed() {
    for repeats in [1, 3] {
        let mut worker = Executor::default();
        load(&mut worker, &[("equal.csv", equally_fast(repeats).as_bytes())]);
        let trained = train(&mut worker, &Parameters::default());
        assert_eq!(trained.answer.len(), 15);
        for answer in trained.answer.iter().filter(|answer| answer.support == PredictionSupport::Extrapolated) {
            assert_ne!(answer.decision, Decision::Deploy, "{answer:?}");
            assert!(answer.gain.is_none() && answer.interval_90.is_none(), "{answer:?}");
        }
    }
}
