//! What regressors say of the shared samples, against the figures of the specification.

#![allow(clippy::unwrap_used)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use crate::support::{
    clusters::{self, OPTIMIZERS, ask, cluster, example, library},
    real,
};
use collectune::{
    learn::metrics,
    math,
    progress::Silent,
    training_time::{
        prediction::{Direction, Mark, Regressors},
        regressors::{Library, Mode, RegressorTarget, jobs::Task, validate},
        samples::{Cluster, Communicator},
    },
};

/// Does jobs on as many threads as there are.
fn work(library: &Library, regressors: &[u32], task: Task) {
    let jobs = library.jobs(regressors, task);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    library.accept(job.regressor, &library.work(*job, &mut Silent)).unwrap();
                }
            });
        }
    });
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn parity_lies_within_the_seeds_of_the_reference() {
    let cluster = cluster("Perlmutter");
    let reference = real::text("training_time/reference/example_p.json");
    let reference: serde_json::Value = serde_json::from_str(&reference).unwrap();
    let library = library(&cluster, Mode::Parity);
    let needed = library.needed(|regressors| drop(ask(regressors)));
    let begin = Instant::now();
    work(&library, &needed, Task::Train);
    println!("{} regressors in {:.2?}, {:.1} MB", needed.len(), begin.elapsed(), library.size_bytes() as f64 / 1e6);
    let bands = &reference["seeds_0_to_14"]["components_mean_min_max"];
    let begin = Instant::now();
    let said = ask(&library);
    println!("asked in {:.2?}", begin.elapsed());
    let mut outside = Vec::new();
    for (name, time_us, mark) in said {
        let band = match name.split_once(' ') {
            Some((name, stage)) => bands[name][stage.parse::<usize>().unwrap()].clone(),
            None if name.ends_with("optimizer") => {
                let stage = OPTIMIZERS.iter().position(|(known, _)| *known == name).unwrap();
                bands["optimizer"][stage].clone()
            }
            None => bands[&name][0].clone(),
        };
        let (mean, low, high) = (band[0].as_f64().unwrap(), band[1].as_f64().unwrap(), band[2].as_f64().unwrap());
        let fits = time_us >= low - 0.02 * mean && time_us <= high + 0.02 * mean;
        println!("{name:32} {time_us:10.1} [{low:9.1}, {high:9.1}] {mark:?} {}", if fits { "" } else { "OUTSIDE" });
        if !fits {
            outside.push(name);
        }
    }
    assert!(outside.is_empty(), "{outside:?}");
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn marks_of_the_example_are_those_of_the_specification() {
    let cluster = cluster("Perlmutter");
    for mode in [Mode::Parity, Mode::Default] {
        let library = library(&cluster, mode);
        let needed = library.needed(|regressors| drop(ask(regressors)));
        work(&library, &needed, Task::Train);
        let said = ask(&library);
        for (name, time_us, mark) in &said {
            println!("{} {name:32} {time_us:10.1} {mark:?}", mode.name());
        }
        let targets = &said[..27];
        let of = |mark| targets.iter().filter(|(_, _, held)| *held == mark).count();
        assert_eq!((of(Mark::Measured), of(Mark::Interpolated)), (22, 3));
        let linear2: Vec<_> = targets.iter().filter(|(name, ..)| name.starts_with("linear2")).collect();
        let expected = if mode == Mode::Parity { Mark::Suspect } else { Mark::Extrapolated };
        assert!(linear2.iter().all(|(_, _, mark)| *mark == expected));
        if mode == Mode::Default {
            // What FLOP and bytes say of it.
            assert!((1050.0..=1140.0).contains(&linear2[0].1) && (1950.0..=2090.0).contains(&linear2[1].1));
        }
        let beyond = library.operator("linear2", Direction::Forward, &example()).unwrap().beyond.unwrap();
        assert_eq!((beyond.input.as_str(), beyond.value, beyond.low, beyond.high), ("mp", 2.0, 1.0, 1.0));
    }
}

/// All operator targets but Vista's first stage, whose rows are corrupt.
fn operator_targets(library: &Library) -> Vec<u32> {
    let is_wanted = |target: &RegressorTarget| match target {
        RegressorTarget::Operator { name, .. } => {
            !(name == "firstStage_optimizer"
                && library
                    .find(&RegressorTarget::Collective {
                        name: "allreduce".to_owned(),
                        communicator: Some(Communicator { nodes: 1, per_node: 2 }),
                    })
                    .is_none())
        }
        _ => false,
    };
    library.targets().enumerate().filter(|(_, target)| is_wanted(target)).map(|(number, _)| number as u32).collect()
}

fn median_and_mean(values: &[f64]) -> (f64, f64) {
    (math::median(&mut values.to_vec()).unwrap(), metrics::mean(values).unwrap())
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn grouped_errors_stay_below_their_floors() {
    let (mut grouped, mut trivial, mut collectives, mut straight) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for name in ["Perlmutter", "Vista"] {
        let cluster = cluster(name);
        let library = library(&cluster, Mode::Default);
        let targets = operator_targets(&library);
        work(&library, &targets, Task::Validate);
        for regressor in targets {
            let score = library.score(regressor).unwrap();
            let target = library.targets().nth(regressor as usize).unwrap();
            println!(
                "{name} {target}: {:.2?} {:.2?} {:.2?}",
                score.grouped_percent, score.trivial_percent, score.beyond_percent
            );
            grouped.extend(score.grouped_percent);
            trivial.extend(score.trivial_percent);
        }
        // Each file by itself: the two ranges of all-reduce are two.
        for samples in &cluster.collectives {
            let alone = Cluster { collectives: vec![samples.clone()], operators: Vec::new(), ..(*cluster).clone() };
            let library = clusters::library(&Arc::new(alone), Mode::Default);
            for (number, target) in library.targets().enumerate() {
                let RegressorTarget::Collective { name: collective, communicator: Some(communicator) } = target else {
                    continue;
                };
                if name == "Vista" && collective == "allgather" && communicator.nodes > 2 {
                    continue;
                }
                work(&library, &[number as u32], Task::Validate);
                let score = library.score(number as u32).unwrap();
                println!(
                    "{name} {} {communicator}: {:.2?} {:.2?}",
                    samples.collective, score.grouped_percent, score.trivial_percent
                );
                collectives.extend(score.grouped_percent);
                straight.extend(score.trivial_percent);
            }
        }
    }
    let (median, mean) = median_and_mean(&grouped);
    println!(
        "{} operator targets: median {median:.2} mean {mean:.2}, power law alone {:.2?}",
        grouped.len(),
        median_and_mean(&trivial)
    );
    let (curve_median, curve_mean) = median_and_mean(&collectives);
    println!(
        "{} collectives: median {curve_median:.2} mean {curve_mean:.2}, straight {:.2?}",
        collectives.len(),
        median_and_mean(&straight)
    );
    assert_eq!((grouped.len(), collectives.len()), (77, 29));
    assert!(median <= 2.6 && curve_median <= 1.0);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn what_lies_outside_the_samples_is_predicted_within_the_floors() {
    let mut errors: Vec<(&str, f64, Vec<f64>)> =
        vec![("dim", 6144.0, vec![]), ("l", 4096.0, vec![]), ("b", 4.0, vec![]), ("mp", 1.0, vec![])];
    for name in ["Perlmutter", "Vista"] {
        let cluster = cluster(name);
        let library = library(&cluster, Mode::Default);
        for (input, above, medians) in &mut errors {
            for regressor in operator_targets(&library) {
                let Some(RegressorTarget::Operator { name: operator, .. }) = library.targets().nth(regressor as usize)
                else {
                    continue;
                };
                let is_gemm = operator.starts_with("linear") || operator.ends_with("bmm");
                if *input == "mp" && !is_gemm {
                    continue;
                }
                let pairs = validate::beyond(&library, regressor, input, *above, &mut Silent).unwrap();
                let mut off: Vec<f64> = pairs.iter().map(|(m, p)| (p / m - 1.0).abs() * 100.0).collect();
                let mape = metrics::mean(&off);
                println!(
                    "{name} {operator} {regressor} {input}: mean {mape:.2?}, median {:.2?}",
                    math::median(&mut off)
                );
                medians.extend(mape);
            }
        }
    }
    for ((input, above, values), floor) in errors.iter().zip([6.0, 3.0, 4.0, 9.0]) {
        let (median, mean) = median_and_mean(values);
        println!("{input} > {above}: median {median:.2} mean {mean:.2} of {}; floor {floor}", values.len());
    }
    for ((input, _, values), floor) in errors.iter().zip([6.0, 3.0, 4.0, 9.0]) {
        assert!(median_and_mean(values).0 <= floor, "{input}");
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn what_workers_learn_is_what_is_learnt_here_and_can_be_shown() {
    let cluster = cluster("Perlmutter");
    let (here, there) = (library(&cluster, Mode::Default), library(&cluster, Mode::Default));
    let over = Communicator { nodes: 2, per_node: 1 };
    let curve = RegressorTarget::Collective { name: "p2p".to_owned(), communicator: Some(over) };
    let gelu = RegressorTarget::Operator { name: "gelu".to_owned(), direction: Direction::Forward };
    let regressors = [here.find(&curve).unwrap(), here.find(&gelu).unwrap()];
    assert!(regressors.iter().all(|regressor| !here.is_trained(*regressor)));
    work(&here, &regressors, Task::Train);
    let asked = example().with("l", 4000.0);
    for elements in [1 << 10, 33_554_432, 33_554_433, 1 << 30] {
        assert_eq!(here.collective("p2p", elements, over), there.collective("p2p", elements, over));
    }
    let said = here.operator("gelu", Direction::Forward, &asked).unwrap();
    assert_eq!(Ok(&said), there.operator("gelu", Direction::Forward, &asked).as_ref());
    assert_eq!(said.mark, Mark::Interpolated);
    assert!(here.accept(0, &[9, 9]).is_err());
    // What nobody sampled: GPUs between those that were, and a product of matrices of another shape.
    let wider = here.collective("allreduce_large", 500_000_000, Communicator { nodes: 4, per_node: 4 }).unwrap();
    let widest = here.collective("allreduce_large", 500_000_000, Communicator { nodes: 2, per_node: 4 }).unwrap();
    assert!(wider.mark == Mark::Extrapolated && wider.time_us > widest.time_us && wider.time_us < 1.2 * widest.time_us);
    let gated = example().with("ffn", 11008.0);
    let down = here.operator("down", Direction::Forward, &gated).unwrap();
    println!("down {:.0} µs, {:?}", down.time_us, down.mark);
    let flop = 2.0 * 16384.0 * 5504.0 * 4096.0;
    assert!(down.mark == Mark::Extrapolated && (200e12..312e12).contains(&(flop / down.time_us * 1e6)));
    work(&here, &regressors, Task::Validate);
    let listing = here.listing();
    let row = listing.rows.iter().find(|row| row[0].text == "p2p 2×1").unwrap();
    println!("{:?}", row.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>());
    assert!(row[4].number.unwrap() < row[5].number.unwrap());
    assert_eq!(here.residuals(regressors[1], Mark::Interpolated).len(), 1755);
    let chart = here.curve_chart(regressors[0]).unwrap();
    println!("{}", chart.summary);
    assert!(chart.series.iter().all(|series| !series.points.is_empty() && series.points.len() <= 400));
    let chart = here.input_chart(regressors[1], "l", &example()).unwrap();
    assert_eq!((chart.series[0].points.len(), chart.series[1].points.len()), (9, 9));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn settings_that_were_found_are_written_as_the_files_have_them() {
    let cluster = cluster("Perlmutter");
    let bare = Arc::new(Cluster { settings: Vec::new(), ..(*cluster).clone() });
    let searched = library(&bare, Mode::Parity);
    let target =
        RegressorTarget::Operator { name: "parallel_cross_entropy_128".to_owned(), direction: Direction::Backward };
    let regressor = searched.find(&target).unwrap();
    work(&searched, &[regressor], Task::Train);
    // A worker's model says nothing of its setting; asked here, the search is done here.
    work(&searched, &[regressor], Task::Validate);
    let files = searched.setting_files(&searched.found_settings());
    let [(name, text)] = &files[..] else { panic!("{files:?}") };
    println!("{name}\n{text}");
    assert_eq!(name, "NVIDIAA100-SXM4-80GB_operators.csv");
    assert!(text.starts_with("GPU,Function,Precision,Propagation,Best_model,Best_config,Best_error%\n"));
    assert!(text.contains("parallel_cross_entropy_128,fp16,bwd,"));
    let published = library(&cluster, Mode::Parity);
    let all: Vec<_> = cluster.settings.clone();
    assert_eq!(published.setting_files(&all).len(), 2);
}
