//! Verdicts between measured sizes: all doors give one, none says more than its interval bears, and on real sweeps with
//! sizes left out those that are deployed gain.

#![allow(clippy::unwrap_used)]

use crate::support::{real, worker};
use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    math::Stream,
    progress::Silent,
    report::{Contents, Report, Workbench},
    tuning::{
        aggregate::{Point, Target},
        conf::{
            choose::{Effect, Entry, choose},
            export::{ExportOptions, export},
            read,
            reader::{Channels, Reader},
        },
        decision::Decision,
        export::json,
        loaded::predict_folds,
        parameters::{Confidence, Parameters},
        recommend::BetweenSizes,
        result::Recommendation,
        runs::Runs,
        simulate::Simulation,
        study::TuningStudy,
        support::{SupportMatrix, built_in},
        sweep::Sweep,
        validate::{self, FoldPredictions},
    },
    worker::executor::Executor,
};

/// Trained and validated.
fn learnt(runs: Runs, parameters: &Parameters) -> TuningStudy {
    let mut study = TuningStudy::of_runs(runs, Target::Time);
    study.train(parameters.clone(), &mut Silent).unwrap();
    let points = study.sweep().points.clone();
    let folds: Vec<FoldPredictions> = validate::all_folds(&points)
        .into_iter()
        .map(|(scheme, fold)| validate::predict_fold(&points, parameters, scheme, fold, &mut Silent).unwrap())
        .collect();
    study.validate(&folds, &mut Silent).unwrap();
    study
}

/// What a recommendation makes a reader run that can keep the default.
fn effect(recommendation: &Recommendation) -> Effect {
    match recommendation.configuration.filter(|_| recommendation.decision.names_configuration()) {
        Some(Configuration { algorithm, protocol, channels }) => {
            Effect { entry: Entry::Forced(algorithm, protocol), channels: Channels::of(channels as i32) }
        }
        None => Effect::LIBRARY,
    }
}

fn simulation(seed: u64) -> Simulation {
    let mut random = Stream::new(seed);
    let mut sizes: Vec<u64> = (14..28).filter(|_| random.below(3) > 0).map(|log2| 1 << log2).collect();
    // Sizes that are no powers of two, and some that lie next to each other.
    sizes.extend([(5 << 18) + 4 * random.below(9999) as u64, 1 << 20, (1 << 20) + 4]);
    sizes.sort_unstable();
    sizes.dedup();
    Simulation {
        collectives: vec![Collective::AllReduce],
        nodes: vec![2],
        sizes,
        channels: vec![1, 8, 16],
        repeats: 1 + random.below(3) as u32,
        seed,
    }
}

/// Sizes on, between and beyond measured ones.
fn sizes(measured: &[u64], random: &mut Stream) -> Vec<u64> {
    let mut all = measured.to_vec();
    for pair in measured.windows(2) {
        let width = (pair[1] - pair[0]) as usize;
        all.extend((0..6).map(|_| pair[0] + random.below(width) as u64));
        all.extend([pair[0] + 1, pair[1] - 1, pair[0].midpoint(pair[1])]);
    }
    all.extend([1, measured[0] - 1, measured[measured.len() - 1] + 1, measured[measured.len() - 1] * 16]);
    all
}

#[test]
fn all_doors_give_one_verdict_at_every_size() {
    let (mut deployed, mut first, mut kept) = (0, 0, 0);
    for seed in 0..12 {
        let mut random = Stream::new(seed ^ 0xd00f);
        let csv = simulation(seed).to_csv();
        let mut own = worker::with(&[("sweep.csv", csv)]);
        let confidence = Confidence { minimum_gain_pct: [0.0, 1.0, 5.0][random.below(3)], ..Confidence::default() };
        let parameters = Parameters { trees: 5, confidence, ..Parameters::default() };
        let trained = worker::train(&mut own, &parameters);
        if seed % 3 > 0 {
            let folds: Vec<u32> = (0..trained.folds.len() as u32).collect();
            let done = predict_folds(&trained.training, &parameters, &folds, &mut Silent).unwrap();
            own.studies.tuning.loaded.validate(&[done], &mut Silent).unwrap();
        }
        let study = &own.studies.tuning.loaded.study;
        let group = &study.groups()[0];
        let asked = sizes(&group.sizes, &mut random);
        let workload = |size_bytes| Workload { collective: group.collective, scale: group.scale, size_bytes };
        let workloads: Vec<Workload> = asked.iter().copied().map(workload).collect();
        let answers = study.recommend(&workloads, None, false, &mut Silent).unwrap();
        let between_sizes: Vec<BetweenSizes> = study.between_sizes().unwrap();
        let to_deploy = study.to_deploy().unwrap();
        let basis = collectune::tuning::conf::export::ExportInput {
            sweep: study.sweep(),
            recommendations: &to_deploy,
            between_sizes: &between_sizes,
            names: &[],
            set: None,
            level: study.confidence().level,
        };
        let report = report(&own);
        for reader in [Reader::DnTuner, Reader::Rccl, Reader::Collectune] {
            let options = ExportOptions { reader, ..ExportOptions::default() };
            let exported = export(&basis, &options);
            let text = exported.files.first().map_or("", |file| &file.text);
            let rules = read(text.as_bytes(), reader);
            let support = SupportMatrix::new(built_in(None), study.sweep());
            for answer in &answers {
                let runs = choose(&rules, reader, &support, &answer.workload).effect;
                assert_eq!(runs, effect(answer), "seed {seed}, {reader:?}: {answer:#?}\n{text}");
            }
            let rules_of =
                |text: &str| text.lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
            let attached = report.sections.iter().flat_map(|section| &section.files);
            let attached: Vec<_> = attached.filter(|file| file.note.starts_with(reader.name())).collect();
            assert_eq!(attached.len(), exported.files.len());
            assert!(attached.iter().all(|file| rules_of(&file.text) == rules_of(text)), "{attached:?}\n{text}");
        }
        for answer in &answers {
            match answer.decision {
                Decision::Deploy => {
                    deployed += 1;
                    let gain = answer.gain.expect("a gain");
                    assert!(gain.low_pct > confidence.minimum_gain_pct, "{answer:#?}");
                    assert!(gain.low_pct <= gain.pct && gain.pct <= gain.high_pct, "{answer:#?}");
                    let default = answer.default.map(|d| d.busbw_gbps).or(answer.default_between_gbps).unwrap();
                    let told = (answer.predicted_busbw_gbps.unwrap() / default - 1.0) * 100.0;
                    assert!((told - gain.pct).abs() < 1e-6, "{told} is not the gain of {answer:#?}");
                }
                Decision::MeasureFirst => first += 1,
                _ => kept += 1,
            }
        }
        // The table, its exports and the chart say what the answers say.
        let records: serde_json::Value = serde_json::from_str(&json(&answers, None)).unwrap();
        for (answer, record) in answers.iter().zip(records.as_array().unwrap()) {
            let named = answer.decision.names_configuration();
            let own = answer.configuration.map(|c| c.channels);
            let ran = answer.default.map(|default| default.configuration.channels);
            let shown = record["nchannels"].as_u64().map(|n| n as u32);
            match answer.decision {
                Decision::KeepDefault { .. } => assert_eq!(shown, ran, "{record}"),
                _ => assert_eq!(shown, own, "{record}"),
            }
            assert_eq!(named, matches!(record["decision"].as_str(), Some("deploy" | "no_default")), "{record}");
        }
        let chart = study.view(&workload(group.sizes[0])).unwrap().busbw_over_size;
        let line = chart.series.iter().find(|series| series.name == "To deploy");
        for answer in to_deploy.iter() {
            let x = answer.workload.size_bytes as f64;
            let drawn = line.and_then(|line| line.points.iter().find(|point| point.x == x)).map(|point| point.y);
            assert_eq!(drawn.is_some_and(f64::is_finite), answer.decision.names_configuration(), "{answer:#?}");
        }
    }
    println!("{deployed} deployed, {first} to be measured first, {kept} kept");
    assert!(deployed > 100 && first > 100 && kept > 100, "{deployed} {first} {kept}");
}

fn report(own: &Executor) -> Report {
    own.report(&Contents { workbench: Workbench::Tuning, ..Contents::whole() }).unwrap()
}

/// 0.05 GB/s as it is printed is 0.045 to 0.055, and 0.0545 may be 1 % less: between two such sizes as well.
#[test]
fn no_gain_within_the_rounding_of_both_neighbours_is_deployed_between_them() {
    let workload = |size_bytes| {
        let scale = Scale { nodes: 1, ranks: 8 };
        Workload { collective: Collective::Broadcast, scale, size_bytes }
    };
    let point = |size_bytes, channels, busbw_gbps| {
        let ran = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels };
        Point::new(workload(size_bytes), ran, busbw_gbps)
    };
    let sizes: Vec<u64> = (18..30).map(|log2| 1 << log2).collect();
    let decision = |default_gbps: f64| {
        let points = sizes.iter().flat_map(|size| [point(*size, 1, 0.031_234), point(*size, 2, 0.054_512)]).collect();
        let defaults = sizes.iter().map(|size| point(*size, 4, default_gbps)).collect();
        let study = learnt(Runs::of_points(Sweep { points, defaults }), &Parameters::default());
        let between: Vec<Workload> = sizes[3..8].iter().map(|size| workload(size + size / 2)).collect();
        study.recommend(&between, None, false, &mut Silent).unwrap()
    };
    for answer in decision(0.05) {
        assert_eq!(answer.decision, Decision::MeasureFirst, "{answer:#?}");
        let gain = answer.gain.unwrap();
        assert!(gain.low_pct < -0.5 && gain.high_pct > 20.0, "{gain:?}");
    }
    // More digits are of a time: nothing is rounded.
    for answer in decision(0.050_012) {
        assert_eq!(answer.decision, Decision::Deploy, "{answer:#?}");
    }
}

/// Every third size of each sweep is left out with its default, three times; what is then said of it is held against
/// what was measured there.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn what_is_deployed_at_sizes_that_were_left_out_gains() {
    let confidence = Confidence::default();
    let parameters = Parameters { confidence, ..Parameters::default() };
    let (mut gained, mut all, mut inside, mut told) = (0, 0, 0, 0);
    println!(
        "sweep: deployed, of them gained; to be measured first, of them gained; kept, of them gained; inside/intervals"
    );
    for name in real::SWEEPS {
        let rows = real::rows(name);
        let whole = TuningStudy::of_runs(Runs::new(rows.clone(), Target::Time), Target::Time);
        let sizes = whole.groups()[0].sizes.clone();
        let mut counts = [[0_usize; 2]; 3];
        let (mut inside_here, mut told_here) = (0, 0);
        for offset in 0..3 {
            let left_out = |size: u64| sizes.iter().position(|s| *s == size).is_some_and(|at| at % 3 == offset);
            let kept: Vec<_> = rows.iter().filter(|row| !left_out(row.workload.size_bytes)).copied().collect();
            let study = learnt(Runs::new(kept, Target::Time), &parameters);
            for size_bytes in sizes.iter().copied().filter(|size| left_out(*size)) {
                let workload = Workload { size_bytes, ..rows[0].workload };
                let answer = study.recommend(&[workload], None, false, &mut Silent).unwrap().remove(0);
                let measured = answer.configuration.and_then(|choice| {
                    whole.sweep().points_at(&workload).iter().find(|point| point.configuration == choice)
                });
                let Some((own, default)) = measured.zip(whole.sweep().default_at(&workload)) else { continue };
                let gain = (own.busbw_gbps / default.busbw_gbps - 1.0) * 100.0;
                let kind = match answer.decision {
                    Decision::Deploy => 0,
                    Decision::MeasureFirst => 1,
                    _ => 2,
                };
                counts[kind][0] += 1;
                counts[kind][1] += usize::from(gain > 0.0);
                if let Some(said) = answer.gain {
                    told_here += 1;
                    inside_here += usize::from((said.low_pct..=said.high_pct).contains(&gain));
                }
                if kind == 0 {
                    println!(
                        "    {size_bytes:>10} {}: {:.1} ({:.1} to {:.1}) %, measured {gain:.1} %",
                        answer.configuration.unwrap(),
                        answer.gain.unwrap().pct,
                        answer.gain.unwrap().low_pct,
                        answer.gain.unwrap().high_pct
                    );
                }
            }
        }
        println!("  {name:<22} {counts:?} {inside_here}/{told_here}");
        gained += counts[0][1];
        all += counts[0][0];
        inside += inside_here;
        told += told_here;
    }
    println!("deployed: {gained} of {all} gained; intervals held {inside} of {told}");
    assert!(all > 0 && gained as f64 >= 0.9 * all as f64, "{gained} of {all}");
    assert!(inside as f64 >= 0.85 * told as f64, "{inside} of {told}");
}
