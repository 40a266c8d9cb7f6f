//! Overlap: which model to use, and what errors out of fold say of kernels to come.

use collectune::{
    intake::{self, FileContent},
    math::{Stream, exp},
    overlap::{
        features::Settings,
        kernel::Dataset,
        loaded::{KernelFile, NamedKernelFile, bring_together},
        models::{Columns, Kind, Model},
        result::{Results, Score},
        simulate::Simulation,
        study::{OverlapStudy, do_jobs},
        validate::{Job, Scheme, jobs},
    },
    progress::Silent,
};

use super::{
    support::{counts::Count, threads::on_threads},
    table::Table,
};

/// What slowdowns depend on.
#[derive(Clone, Copy, PartialEq)]
enum Truth {
    /// On what was counted, as the example has it.
    Metrics,
    /// On nothing: a common one, and noise.
    Common,
    /// There are none, beside noise of the durations.
    None,
}

fn part(text: &str) -> KernelFile {
    match intake::open(text.as_bytes(), "kernels.csv", text.len() as u64, 0, None, &mut Silent) {
        (_, FileContent::Kernels(part)) => *part,
        (report, _) => panic!("{report:?}"),
    }
}

fn dataset(truth: Truth, layers: u32, seed: u64) -> Dataset {
    let part = part(&Simulation { layers, seed }.to_csv());
    let mut dataset = bring_together(vec![NamedKernelFile { name: "kernels.csv".to_owned(), part }]).datasets.remove(0);
    let mut stream = Stream::new(seed ^ 0x0E);
    if truth != Truth::Metrics {
        for kernel in dataset.kernels.iter_mut().filter(|kernel| kernel.is_overlapped()) {
            let slowdown = if truth == Truth::Common { 0.3 * exp(0.4 * stream.normal()) } else { 0.0 };
            let factor = (1.0 + kernel.overlap_ratio * slowdown) * exp(0.015 * stream.normal());
            kernel.duration_ns = (kernel.alone_ns * factor).round();
        }
    }
    dataset
}

/// The verdict by trees that learn and by the models that do not.
fn judged(dataset: &Dataset) -> Results {
    let mut study = OverlapStudy::new(collectune::overlap::loaded::Loaded {
        datasets: vec![dataset.clone()],
        ..Default::default()
    });
    let studied = study.study(Settings::default()).unwrap();
    let is_wanted =
        |(_, (job, _)): &(u32, (Job, f64))| job.kind == Kind::TreesLad && matches!(job.scheme, Scheme::Kernels(_));
    let wanted: Vec<u32> = (0..).zip(jobs()).filter(is_wanted).map(|(index, _)| index).collect();
    let folds = do_jobs(&studied.run, &wanted, &mut Silent).unwrap();
    study.judge(&[folds], None).unwrap()
}

fn error(results: &Results, kind: Kind) -> f64 {
    results.models.iter().find(|model| model.kind == kind).unwrap().mean.unwrap().mape_pct
}

/// The error of a model that was fitted to one run, on another run of the same process.
fn error_of_new(kind: Kind, dataset: &Dataset, new: &Dataset) -> f64 {
    let chosen = collectune::overlap::features::chosen(dataset, &Settings::default());
    let columns = Columns { names: &dataset.columns, chosen: &chosen };
    let kernels: Vec<_> = dataset.kernels.iter().collect();
    let model = Model::fit(kind, columns, &kernels, 0, &mut Silent).unwrap();
    let asked: Vec<_> = new.overlapped().collect();
    let said = model.predict(columns, &asked).unwrap();
    let pairs: Vec<_> = asked.into_iter().zip(said).collect();
    Score::of(&pairs).unwrap().mape_pct
}

#[test]
fn learning_is_recommended_where_it_helps_and_its_error_is_that_of_new_kernels() {
    const RUNS: usize = 20;
    let mut table = Table::new(
        "models of slowdowns",
        &[
            "slowdowns depend on",
            "launches",
            "learning is recommended",
            "no model is",
            "error of trees: out of fold, on a new run",
            "the same with every row twice",
        ],
    );
    for (name, truth, layers) in [
        ("nothing, there are none", Truth::None, 4),
        ("nothing, a common one and noise", Truth::Common, 4),
        ("the metrics", Truth::Metrics, 4),
        ("the metrics", Truth::Metrics, 12),
    ] {
        let of_run = |seed: usize| {
            let seed = 2 * seed as u64 + 1;
            let run = dataset(truth, layers, seed);
            let results = judged(&run);
            let model = results.verdict.as_ref().unwrap().model;
            let new = error_of_new(Kind::TreesLad, &run, &dataset(truth, layers, seed + 1));
            let mut twice = run.clone();
            twice.kernels.extend(run.kernels.clone());
            let twice = if layers == 4 { Some(error(&judged(&twice), Kind::TreesLad)) } else { None };
            (model, error(&results, Kind::TreesLad), new, twice)
        };
        let all = on_threads(if layers == 4 { RUNS } else { RUNS / 2 }, of_run);
        let (mut learns, mut none) = (Count::default(), Count::default());
        all.iter().for_each(|(model, ..)| {
            learns.add(model.learns());
            none.add(*model == Kind::NoSlowdown);
        });
        let mean = |of: &dyn Fn(usize) -> f64| (0..all.len()).map(of).sum::<f64>() / all.len() as f64;
        let (out_of_fold, new) = (mean(&|at| all[at].1), mean(&|at| all[at].2));
        let twice = all[0].3.map(|_| mean(&|at| all[at].3.unwrap()));
        let launches = layers * 24;
        let errors = format!("{out_of_fold:.2} %, {new:.2} %");
        let twice_told = twice.map_or_else(|| "–".to_owned(), |twice| format!("{twice:.2} %"));
        table.row(&[&name, &launches, &learns, &none, &errors, &twice_told]);
        if truth == Truth::Metrics {
            table.at_least(learns, 0.8);
        } else {
            table.at_most(learns, 0.05);
        }
        table.check((out_of_fold / new - 1.0).abs() < 0.15, "errors out of fold are those of new kernels");
        table.check(twice.is_none_or(|twice| twice > 0.9 * out_of_fold), "equal rows are held out together");
    }
    table.settle();
}

/// Two runs of one program: the error of durations by the slowdowns of the other run is that of noise twice.
#[test]
fn runs_repeat_as_well_as_their_noise_lets_them() {
    let mut table = Table::new(
        "how well slowdowns repeat",
        &["noise of slowdowns", "error that is told", "error that noise makes"],
    );
    for noise in [0.05, 0.2, 0.5] {
        let (mut told, mut made, mut runs) = (0.0, 0.0, 0.0);
        for seed in 0..20 {
            let first = dataset(Truth::Metrics, 8, seed);
            let mut stream = Stream::new(seed ^ 0x51);
            let truth: Vec<f64> = first.kernels.iter().map(collectune::overlap::kernel::Kernel::slowdown).collect();
            let mut again = || {
                let mut run = first.clone();
                for (kernel, slowdown) in run.kernels.iter_mut().zip(&truth) {
                    let slowdown = slowdown * exp(noise * stream.normal());
                    kernel.duration_ns = kernel.alone_ns * (1.0 + kernel.overlap_ratio * slowdown);
                }
                run
            };
            let (a, b) = (again(), again());
            let of: Vec<f64> =
                b.overlapped().zip(a.overlapped()).map(|(b, a)| (a.duration_ns / b.duration_ns - 1.0).abs()).collect();
            made += of.iter().sum::<f64>() / of.len() as f64 * 100.0;
            let pair = collectune::overlap::noise::repeatability(&[a, b]);
            assert!(!pair[0].is_copy());
            told += pair[0].mape_pct;
            runs += 1.0;
            assert!(collectune::overlap::noise::repeatability(&[first.clone(), first])[0].is_copy());
        }
        table.row(&[
            &format!("{:.0} %", noise * 100.0),
            &format!("{:.2} %", told / runs),
            &format!("{:.2} %", made / runs),
        ]);
        table.check((told / made - 1.0).abs() < 0.02, "the error is that of the noise");
    }
    table.settle();
}
