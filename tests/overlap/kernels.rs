//! Kernels beside collectives: files in any order become runs, and the promised figures hold on the published data
//! (`cargo test --test overlap -- --nocapture` prints the table of docs/overlap.md).

#![allow(clippy::unwrap_used)]

use crate::support::archives::archive;

use collectune::{
    intake::{self, FileContent, FileReport, Outcome},
    learn::{Table, boosting::Boosting},
    math::Stream,
    overlap::{
        features::{Settings, chosen},
        kernel::Kernel,
        loaded::{KernelFile, NamedKernelFile, bring_together},
        models::{Columns, Kind, Model, PUBLISHED, Predicted},
        predict,
        result::{FeatureScaling, OverlapOverview, Results, Score, ShownPredictions},
        simulate::Simulation,
        study::{OverlapStudy, compute_importances, do_jobs},
    },
    progress::Silent,
    report::{Contents, ReportFormat, Workbench, Written, link, wire},
};

/// A file of the published data.
fn published(name: &str) -> Vec<u8> {
    crate::support::real::file(&format!("overlap/{name}"))
}

fn open(name: &str, bytes: &[u8]) -> (FileReport, FileContent) {
    intake::open(bytes, name, bytes.len() as u64, 0, None, &mut Silent)
}

fn part(name: &str, bytes: &[u8]) -> NamedKernelFile {
    match open(name, bytes) {
        (_, FileContent::Kernels(part)) => NamedKernelFile { name: name.to_owned(), part: *part },
        (report, _) => panic!("{report:?}"),
    }
}

fn study(files: &[(&str, &[u8])]) -> (OverlapStudy, OverlapOverview) {
    let parts = files.iter().map(|(name, bytes)| part(name, bytes)).collect();
    let mut study = OverlapStudy::new(bring_together(parts));
    let studied = study.study(Settings::default()).unwrap();
    (study, studied)
}

/// Everything, on all processors.
fn judged(study: &mut OverlapStudy, studied: &OverlapOverview) -> Results {
    let jobs: Vec<u32> = (0..studied.jobs.len() as u32).collect();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let folds: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let mine: Vec<u32> = jobs.iter().copied().skip(thread).step_by(threads).collect();
                scope.spawn(move || do_jobs(&studied.run, &mine, &mut Silent).unwrap())
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    study.judge(&folds, None).unwrap()
}

fn mean(results: &Results, kind: Kind) -> Score {
    results.models.iter().find(|model| model.kind == kind).unwrap().mean.unwrap()
}

fn close(found: f64, reference: f64, relative: f64) {
    assert!((found - reference).abs() <= relative * reference.abs(), "{found} is not {reference}");
}

const STATISTICS: &str = "id,kShortName,kDemangledName,ground_truth,duration,overlap_ratio,slowdown\n";

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn the_shipped_pair_merges_to_the_shipped_file() {
    let (xlsx, metrics, merged) = (
        published("slowdown_stats_output_device_0.xlsx"),
        published("kernel_metric_output.csv"),
        published("merged_features.csv"),
    );
    let parts = || vec![part("stats.xlsx", &xlsx), part("metrics.csv", &metrics), part("merged.csv", &merged)];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let loaded = bring_together(order.iter().map(|index| parts()[*index].clone()).collect());
        let of = |name: &str| loaded.datasets.iter().find(|dataset| dataset.name.contains(name)).unwrap();
        let (pair, shipped) = (of("stats.xlsx"), of("merged.csv"));
        assert_eq!((pair.kernels.len(), &pair.columns), (619, &shipped.columns));
        for (ours, theirs) in pair.kernels.iter().zip(&shipped.kernels) {
            assert_eq!((&ours.name, &ours.metrics), (&theirs.name, &theirs.metrics));
            assert_eq!((ours.alone_ns, ours.duration_ns), (theirs.alone_ns, theirs.duration_ns));
            assert!((ours.overlap_ratio - theirs.overlap_ratio).abs() < 1e-12);
        }
        let (_, merge) = &loaded.merged[0];
        assert_eq!(
            (merge.matched, merge.passed_over, merge.statistics_left_over, merge.metrics_left_over),
            (619, 0, 0, 0)
        );
        close(pair.kernels.iter().map(Kernel::slowdown).sum(), 356.38254339608307, 1e-9);
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn the_published_model_predicts_as_published() {
    let (merged, model) = (published("merged_features.csv"), published("xgb_model.json"));
    let (_, studied) = study(&[("merged.csv", &merged), ("model.json", &model)]);
    let raw = studied.imported[0].raw.unwrap();
    close(raw.mae, 1.1174428876295175, 1e-6);
    close(raw.rmse, 3.8778980905545346, 1e-6);
    close(raw.within_5_pct, 59.65346534653465, 1e-9);
    close(raw.within_10_pct, 68.06930693069307, 1e-9);
    close(raw.within_15_pct, 71.78217821782178, 1e-9);
    close(raw.total_error_pct, -9.02468, 1e-5);
    assert!((raw.mape_pct - 17.2).abs() < 0.05 && (raw.r2 + 0.057).abs() < 0.0005, "{raw:?}");
    assert_ne!(studied.imported[0].standardised, Some(raw));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn no_slowdown_scores_as_in_the_reference() {
    let merged = published("merged_features.csv");
    let (_, studied) = study(&[("merged.csv", &merged)]);
    let score = mean(&studied.results, Kind::NoSlowdown);
    for (found, reference) in [
        (score.r2, -0.05468596),
        (score.mae, 1.10650210),
        (score.rmse, 3.87399205),
        (score.mape_pct, 16.08821016),
        (score.within_5_pct, 62.623762),
        (score.within_10_pct, 71.039604),
        (score.within_15_pct, 74.752475),
        (score.total_error_pct, -9.28559422),
    ] {
        close(found, reference, 1e-6);
    }
    let told = studied.checks.join("\n");
    assert!(told.contains("SM is 108 in every row") && told.contains("L2 hit rate is above 100 %"), "{told}");
    assert!(told.contains("overlap by less than 5 %") && told.contains("−3666.4 %"), "{told}");
}

/// XGBoost's own predictions for a generated table (benches/against_xgboost/compare.py).
#[test]
fn the_published_preset_agrees_with_xgboost() {
    #[derive(serde::Deserialize)]
    struct Reference {
        trained_on: usize,
        features: Vec<Vec<f64>>,
        target: Vec<f64>,
        predicted: Vec<f64>,
    }
    let text = include_str!("../../benches/against_xgboost/reference.json");
    let Reference { trained_on, features, target, predicted } = serde_json::from_str(text).unwrap();
    let mut all = Table::new(&["a", "b", "c", "d"]);
    features.iter().for_each(|row| all.push(row));
    let training = all.take(&(0..trained_on).collect::<Vec<usize>>());
    let boosting = Boosting::fit(&training, &target[..trained_on], PUBLISHED, &mut Silent).unwrap();
    let said = boosting.predict(&all).unwrap();
    let largest = said.iter().zip(&predicted).map(|(ours, theirs)| (ours - theirs).abs()).fold(0.0, f64::max);
    assert!(largest < 1e-4, "{largest}");
}

/// The reference's own protocol: scikit-learn's `KFold(5, shuffle=True, random_state=r)` for r from 0 to 4, over all
/// rows; the errors of the rows that overlap.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn the_published_preset_scores_as_in_the_reference() {
    let merged = published("merged_features.csv");
    let loaded = bring_together(vec![part("merged.csv", &merged)]);
    let dataset = &loaded.datasets[0];
    let chosen = chosen(dataset, &Settings::default());
    let columns = Columns { names: &dataset.columns, chosen: &chosen };
    let mut repeats = Vec::new();
    for seed in 0..5 {
        let folds = crate::support::kfold::shuffled(dataset.kernels.len(), 5, seed);
        let mut pairs = Vec::new();
        for fold in 0..5 {
            let (held_out, training): (Vec<_>, Vec<_>) =
                dataset.kernels.iter().enumerate().partition(|(row, _)| folds[*row] == fold);
            let training: Vec<&Kernel> = training.into_iter().map(|(_, kernel)| kernel).collect();
            let asked: Vec<&Kernel> =
                held_out.into_iter().map(|(_, kernel)| kernel).filter(|kernel| kernel.is_overlapped()).collect();
            let model = Model::fit(Kind::TreesPublished, columns, &training, 0, &mut Silent).unwrap();
            pairs.extend(asked.iter().copied().zip(model.predict(columns, &asked).unwrap()));
        }
        repeats.push(Score::of(&pairs).unwrap());
    }
    let (mean, spread) = Score::mean_and_spread(&repeats).unwrap();
    println!("R² s {:.3} ± {:.3}, MAPE {:.3} ± {:.3} %", mean.r2, spread.r2, mean.mape_pct, spread.mape_pct);
    assert!((mean.mape_pct - 25.0).abs() <= 1.2 && (mean.r2 + 0.09).abs() <= 0.17, "{mean:?}");
    // XGBoost 3.2.0 with tree_method="exact".
    close(mean.mape_pct, 24.99662, 1e-5);
}

/// The accuracy that docs/overlap.md states, over its folds.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn the_default_keeps_its_promise() {
    for (name, limits, verdict) in [
        ("merged_features.csv", (13.6, 0.0), Kind::NameMedian),
        ("merged_features_82sm.csv", (11.7, 53.0), Kind::TreesLad),
    ] {
        let bytes = published(name);
        let (mut study, studied) = study(&[(name, &bytes)]);
        let results = judged(&mut study, &studied);
        println!("{name}");
        for model in &results.models {
            let (mean, spread) = (model.mean.unwrap(), model.spread.unwrap());
            let cell = |of: fn(&Score) -> f64| format!("{:.3} ± {:.3}", of(&mean), of(&spread));
            let numbers: [fn(&Score) -> f64; 8] = [
                |s| s.r2,
                |s| s.mae,
                |s| s.rmse,
                |s| s.mape_pct,
                |s| s.within_5_pct,
                |s| s.within_10_pct,
                |s| s.within_15_pct,
                |s| s.total_error_pct,
            ];
            let cells = numbers.map(cell);
            let unseen = model.unseen_names.unwrap().mape_pct;
            println!("| {} | {} | {unseen:.1} |", model.kind.name(), cells.join(" | "));
        }
        let default = mean(&results, Kind::TreesLad);
        assert!(default.mape_pct <= limits.0, "{default:?}");
        assert!(default.within_5_pct >= limits.1, "{default:?}");
        assert!(default.mape_pct <= mean(&results, Kind::NameMedian).mape_pct);
        assert_eq!(results.verdict.unwrap().model, verdict);
        assert_eq!(results.listing.rows.len(), 7);
        assert!(results.predicted_over_measured.unwrap().series[1].points.len() > 400);
    }
}

/// The folds follow the order of the rows; what is recommended does not.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn the_verdict_is_that_of_the_rows_in_any_order() {
    for (name, verdict) in [("merged_features.csv", Kind::NameMedian), ("merged_features_82sm.csv", Kind::TreesLad)] {
        let text = String::from_utf8(published(name)).unwrap();
        let (header, rows) = text.split_once('\n').unwrap();
        for seed in 1..=6 {
            let mut stream = Stream::new(seed);
            let mut lines: Vec<(u64, &str)> = rows.lines().map(|line| (stream.next_u64(), line)).collect();
            lines.sort_unstable();
            let shuffled: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
            let (mut study, studied) = study(&[(name, format!("{header}\n{shuffled}").as_bytes())]);
            assert_eq!(judged(&mut study, &studied).verdict.unwrap().model, verdict, "{name} {seed}");
        }
    }
}

/// Kernels of three names, of which one is slowed down by what its metric says.
fn merged(rows: usize) -> String {
    let mut text = "id,kShortName,kDemangledName,ground_truth,duration,overlap_ratio,slowdown,ID,Kernel Name,Compute \
                    throughput,SM,Memory throughput,FP64 share\n"
        .to_owned();
    for row in 0..rows {
        let name = ["gemm", "norm", "relu"][row % 3];
        // No two launches take the same time: rows with equal times and other metrics are one run, profiled twice.
        let alone = 1000.0 * (1 + row % 7) as f64 + row as f64 / 1e6;
        let overlap = if row % 5 == 0 { 0.0 } else { 0.25 * (1 + row % 4) as f64 };
        let memory = (row * 37 % 90) as f64;
        let slowdown = if name == "gemm" { memory / 50.0 } else { 0.1 };
        let duration = alone * (1.0 + overlap * slowdown);
        let told = if overlap == 0.0 { 0.0 } else { (duration / alone - 1.0) / overlap };
        text += &format!(
            "{row},{name},\"void {name}<a, b>()\",{alone},{duration},{overlap},{told},{row},{name},{},108,{memory},0.5\n",
            50 + row % 9
        );
    }
    text
}

#[test]
fn learning_wins_where_there_is_something_to_learn() {
    let text = merged(300);
    let (mut study, studied) = study(&[("merged.csv", text.as_bytes())]);
    assert_eq!(studied.columns.iter().map(|(_, given)| *given).collect::<Vec<_>>(), [true, true, false, false]);
    assert_eq!(studied.runs[0].names, 3);
    let results = judged(&mut study, &studied);
    let verdict = results.verdict.unwrap();
    assert!(verdict.model.learns(), "{verdict:?}");
    let listing = compute_importances(&studied.run, &mut Silent).unwrap();
    let rise = |feature: &str| listing.rows.iter().find(|row| row[0].text == feature).unwrap()[1].number.unwrap();
    // In these rows compute throughput identifies the kernel, and memory throughput determines its slowdown.
    assert!(rise("Compute throughput") > 1.0 && rise("Memory throughput") > 1.0, "{listing:?}");

    let question = predict::KernelQuery {
        name: "gemm".to_owned(),
        alone_ns: 3000.0,
        overlap_ratio: 0.5,
        metrics: vec![None, Some(80.0), None, None],
        model: Some(Kind::TreesLad),
    };
    let answer = study.predict(&question, &mut Silent).unwrap();
    let true_ns = 3000.0 * 1.8;
    assert!(answer.low_ns.unwrap() < true_ns && true_ns < answer.high_ns.unwrap(), "{answer:?}");
    assert!(answer.low_ns.unwrap() < answer.duration_ns && answer.duration_ns > 3000.0 * 1.3, "{answer:?}");
    assert!(!answer.is_unseen && answer.nearest.len() == 5);
    let unseen =
        study.predict(&predict::KernelQuery { name: "softmax".to_owned(), ..question.clone() }, &mut Silent).unwrap();
    assert!(unseen.is_unseen);
    let mut wrong = |question: predict::KernelQuery| study.predict(&question, &mut Silent).unwrap_err().to_string();
    let of = || question.clone();
    assert_eq!(
        wrong(predict::KernelQuery { overlap_ratio: 1.5, ..of() }),
        "the overlap ratio is 1.5; it must be from 0 to 1"
    );
    assert_eq!(
        wrong(predict::KernelQuery { alone_ns: -5000.0, ..of() }),
        "the duration alone in µs is −5; it must be above 0 and at most a day"
    );
    assert!(wrong(predict::KernelQuery { alone_ns: 1e300, ..of() }).contains("is 1.000e297; it must be"));
    for share in [-10.0, 1000.0] {
        let metrics = vec![None, Some(share), None, None];
        let said = wrong(predict::KernelQuery { metrics, ..of() });
        assert!(said.contains("it must be from 0 to 100"), "{said}");
    }
}

#[test]
fn what_leaves_comes_back() {
    let text = merged(120);
    let (mut study, studied) = study(&[("merged.csv", text.as_bytes())]);
    judged(&mut study, &studied);
    let csv = study.predictions(ShownPredictions::Model(Kind::TreesLad)).unwrap();
    assert_eq!(csv.text.lines().count(), 121);
    for kind in [Kind::TreesPublished, Kind::TreesLad] {
        let file = study.trees(kind, &mut Silent).unwrap();
        let (report, content) = open(&file.name, file.text.as_bytes());
        let FileContent::Kernels(part) = content else { panic!("{report:?}") };
        let KernelFile::Model(model) = *part else { panic!("{report:?}") };
        let dataset = study.dataset().unwrap();
        let kernels: Vec<_> = dataset.overlapped().collect();
        let said = model.predict(dataset, &kernels, FeatureScaling::Raw, None).unwrap();
        let off =
            |(kernel, said): (&&Kernel, &Predicted)| (said.ratio * kernel.alone_ns / kernel.duration_ns - 1.0).abs();
        let mean = kernels.iter().zip(&said).map(off).sum::<f64>() / said.len() as f64;
        assert!(mean < 0.1, "{kind:?} {mean}");
        // The saved model makes the same predictions as the model itself.
        let columns = Columns { names: &dataset.columns, chosen: &chosen(dataset, &Settings::default()) };
        let all: Vec<&Kernel> = dataset.kernels.iter().collect();
        let ours = Model::fit(kind, columns, &all, 42, &mut Silent).unwrap().predict(columns, &kernels).unwrap();
        let apart = ours.iter().zip(&said).map(|(ours, theirs)| (ours.ratio / theirs.ratio - 1.0).abs());
        assert!(apart.fold(0.0, f64::max) < 1e-5, "{kind:?}");
    }
}

#[test]
fn the_unit_of_durations_is_that_of_their_names() {
    let table = |[alone, duration]: [&str; 2], times: [f64; 2]| {
        let text = format!(
            "kShortName,{alone},{duration},overlap_ratio\ngemm,{0},{1},0.5\ngemm,{0},{1},0.25\n",
            times[0], times[1]
        );
        let KernelFile::Table(_, read) = part("run.csv", text.as_bytes()).part else { panic!() };
        let timed = read.statistics[0].timed;
        (timed.alone_ns, timed.duration_ns, read.notes.join("\n"))
    };
    let (in_us, in_ns) = ([40.0, 50.0], [40e3, 50e3]);
    let without = ["ground_truth", "duration"];
    assert_eq!(table(["alone_us", "duration_us"], in_us), (40e3, 50e3, String::new()));
    assert_eq!(table(["alone_ns", "duration_ns"], in_us), (40.0, 50.0, String::new()));
    assert_eq!(table(without, in_ns), (40e3, 50e3, String::new()));
    let (alone, _, said) = table(without, in_us);
    assert!(alone == 40.0 && said.contains("ground_truth has no unit") && said.contains("duration_us"), "{said}");
}

#[test]
fn durations_in_other_units_are_named() {
    let told = |alone: &str| {
        let text = format!("{STATISTICS}1,a,a(),{alone},120,0.5,\n2,b,b(),100,130,0.5,\n3,c,c(),100,110,0.2,\n");
        let FileContent::Kernels(part) = open("stats.csv", text.as_bytes()).1 else { panic!() };
        let loaded = bring_together(vec![NamedKernelFile { name: "stats.csv".into(), part: *part }]);
        collectune::overlap::checks::check(&loaded.datasets[0])
            .first()
            .map(collectune::overlap::checks::Check::sentence)
            .unwrap_or_default()
    };
    let said = "the durations of 1 kernel of 3 (the first in line 2) are 20 times apart or more";
    assert!(told("0.1").starts_with(said) && told("100000").starts_with(said), "{}", told("0.1"));
    assert!(!told("90").contains("unit"), "{}", told("90"));
}

#[test]
fn rows_that_can_not_be_used_are_located() {
    let text = format!(
        "{STATISTICS}1,a,a(),100,120,0.5,0.4\n2,b,b(),fast,120,0.5,0.4\n3,c,c(),100,120,1.5,0.4\n4,d,d(),-100,120,0.5,0.4\n\
         5,e,e(),100,,0.5,0.4\n6,f,f(),100,120,0.5,7\n7,,g(),100,120,0.5,0.4\n8,h,h()\n"
    );
    let (report, content) = open("stats.csv", text.as_bytes());
    let Outcome::Known { holds, problems, .. } = report.outcome else { panic!("{report:?}") };
    assert_eq!(holds, "2 kernels");
    let mut told: Vec<String> = problems.kept.iter().map(ToString::to_string).collect();
    told.sort();
    assert_eq!(
        told,
        [
            "line 3, column ground_truth: \"fast\" is not a number; the row was left out",
            "line 4, column overlap_ratio: \"1.5\" is not a share from 0 to 1; the row was left out",
            "line 5, column ground_truth: \"-100\" is not a duration above zero; the row was left out",
            "line 6, column duration: \"\" is no number: it is missing; the row was left out",
            "line 8, column kShortName: \"\" is no kernel's name: it is missing; the row was left out",
            "line 9, whole line: \"8,h,h()\" has 3 cells where the header has 7; the row was left out",
        ]
    );
    let FileContent::Kernels(part) = content else { panic!() };
    let loaded = bring_together(vec![NamedKernelFile { name: "stats.csv".into(), part: *part }]);
    let checks = collectune::overlap::checks::check(&loaded.datasets[0]);
    assert!(checks[0].sentence().contains("the slowdown of 1 row (the first in line 7)"), "{checks:?}");
    let alone = loaded.notes.iter().filter(|note| note.contains("has no metrics beside it")).count();
    assert_eq!(alone, 1, "{:?}", loaded.notes);
}

fn refused(name: &str, bytes: &[u8]) -> String {
    match open(name, bytes).0.outcome {
        Outcome::Refused(why) => why,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn files_that_can_not_be_used_are_refused_with_a_reason() {
    let lacking = STATISTICS.replace("overlap_ratio,", "") + "1,a,a(),100,120,0.4\n";
    assert!(refused("s.csv", lacking.as_bytes()).contains("lacks the column overlap_ratio; it has id, kShortName"));
    assert!(refused("s.xlsx", b"PK\x03\x04 and no more").contains("is a zip archive that breaks off"));
    let no_workbook = archive(&[("readme.txt", "hello")]);
    assert!(refused("s.xlsx", &no_workbook).contains("is a zip archive, and no Excel workbook"));
    let bomb = archive(&[("xl/worksheets/sheet1.xml", &"<row></row>".repeat(1 << 20))]);
    assert!(bomb.len() < 100_000);
    assert!(refused("s.xlsx", &bomb).contains("more than 200 times its size"), "{}", refused("s.xlsx", &bomb));
    let torn = archive(&[("xl/worksheets/sheet1.xml", "<worksheet><row><c")]);
    assert!(refused("s.xlsx", &torn).contains("is no XML at byte 16"), "{}", refused("s.xlsx", &torn));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn models_that_can_not_be_used_are_refused_with_a_reason() {
    let model = String::from_utf8(published("xgb_model.json")).unwrap();
    let other = model.replace("reg:squarederror", "binary:logistic");
    assert!(refused("m.json", other.as_bytes()).contains("is a model for binary:logistic; only regression"));
    let cycle = model.replacen("\"left_children\":[1,", "\"left_children\":[2,", 1);
    assert!(
        refused("m.json", cycle.as_bytes()).contains("is reached twice"),
        "{}",
        refused("m.json", cycle.as_bytes())
    );
    assert!(refused("m.json", &model.as_bytes()[..5000]).contains("begins like a model of XGBoost, but is no JSON"));
}

#[test]
fn workbooks_with_shared_texts_and_missing_cells_are_read() {
    let shared = "<sst><si><t>kShortName</t></si><si><t>ground_truth</t></si><si><t>duration</t></si><si><t>overlap_ratio</t></si><si><t>a&lt;b&gt;</t></si></sst>";
    let sheet = "<worksheet><sheetData>\
        <row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"B1\" t=\"s\"><v>1</v></c><c r=\"C1\" t=\"s\"><v>2</v></c><c r=\"D1\" t=\"s\"><v>3</v></c></row>\
        <row r=\"2\"><c r=\"A2\" t=\"s\"><v>4</v></c><c r=\"B2\"><v>100</v></c><c r=\"C2\"><v>1.2E2</v></c><c r=\"D2\"><v>0.5</v></c></row>\
        <row r=\"4\"><c r=\"A4\" t=\"s\"><v>4</v></c><c r=\"C4\"><v>120</v></c><c r=\"D4\"><v>0.5</v></c></row></sheetData></worksheet>";
    let bytes = archive(&[("xl/worksheets/sheet1.xml", sheet), ("xl/sharedStrings.xml", shared)]);
    let (report, content) = open("stats.xlsx", &bytes);
    let Outcome::Known { format, holds, problems, .. } = report.outcome else { panic!("{report:?}") };
    assert_eq!((format.as_str(), holds.as_str()), ("slowdown statistics", "1 kernel"));
    assert_eq!(
        problems.kept[0].to_string(),
        "line 4, column ground_truth: \"\" is no number: it is missing; the row was left out"
    );
    let FileContent::Kernels(part) = content else { panic!() };
    let KernelFile::Table(_, reading) = *part else { panic!() };
    assert_eq!(reading.statistics[0].name, "a<b>");
    close(reading.statistics[0].timed.duration_ns, 120.0, 1e-12);
}

#[test]
fn traces_and_profiles_become_kernels() {
    let header = "Processing [x.sqlite] with [cuda_gpu_trace.py]...\nStart (ns),Duration (ns),CorrId,GrdX,Device,Ctx,Strm,Name\n";
    let distributed = format!(
        "{header}0,1000,1,1,A100 (0),1,7,\"void gemm<float, 4>(int)\"\n500,2000,2,1,A100 (0),1,20,ncclDevKernel_AllReduce_Sum_f32\n\
         2000,1500,3,1,A100 (0),1,7,\"void gemm<float, 4>(int)\"\n4000,10,4,,A100 (0),1,7,[CUDA memset]\n5000,x,5,1,A100 (0),1,7,relu\n"
    );
    let alone = format!(
        "{header}0,900,1,1,A100 (0),1,7,\"void gemm<float, 4>(int)\"\n1000,1200,2,1,A100 (0),1,7,\"void gemm<float, 4>(int)\"\n"
    );
    let ncu = "==PROF== Connected to process 1\n\"ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
               \"0\",\"gemm\",\"x\",\"Memory Throughput\",\"%\",\"66.23\"\n\"1\",\"gemm\",\"x\",\"Memory Throughput\",\"%\",\"6.5\"\n==PROF== Disconnected\n";
    let parts = vec![
        part("ncu.csv", ncu.as_bytes()),
        part("run.csv", distributed.as_bytes()),
        part("alone.csv", alone.as_bytes()),
    ];
    let loaded = bring_together(parts);
    let kernels: Vec<_> = loaded.datasets[0]
        .kernels
        .iter()
        .map(|k| (k.name.as_str(), k.alone_ns, k.duration_ns, k.overlap_ratio, k.metrics[0]))
        .collect();
    assert_eq!(kernels, [("gemm", 900.0, 1000.0, 0.5, 66.23), ("gemm", 1200.0, 1500.0, 1.0 / 3.0, 6.5)]);
    // rocprofv3 says the same in other columns.
    let dispatches = |rows: &[[&str; 3]]| {
        let header = "\"Kind\",\"Agent_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n";
        let row =
            |[name, start, end]: &[&str; 3]| format!("\"KERNEL_DISPATCH\",\"Agent 2\",\"{name}\",1,{start},{end}\n");
        header.to_owned() + &rows.iter().map(row).collect::<String>()
    };
    let gemm = "void gemm<float, 4>(int)";
    let beside =
        [[gemm, "0", "1000"], ["ncclDevKernel_Generic", "500", "2500"], [gemm, "2000", "3500"], ["relu", "9", "9"]];
    let of_amd = bring_together(vec![
        part("ncu.csv", ncu.as_bytes()),
        part("run.csv", dispatches(&beside).as_bytes()),
        part("alone.csv", dispatches(&[[gemm, "0", "900"], [gemm, "1000", "2200"]]).as_bytes()),
    ]);
    // Above the table of nsys stands a line.
    let below = |kernel: &Kernel| Kernel { line: kernel.line + 1, ..kernel.clone() };
    assert_eq!(of_amd.datasets[0].kernels.iter().map(below).collect::<Vec<_>>(), loaded.datasets[0].kernels);
    let (report, _) = open("run.csv", dispatches(&beside).as_bytes());
    let Outcome::Known { holds, problems, .. } = report.outcome else { panic!("{report:?}") };
    assert_eq!(holds, "3 launches");
    assert!(problems.kept[0].to_string().contains("is not a time after its start"), "{problems:?}");
    let (report, _) = open("run.csv", distributed.as_bytes());
    let Outcome::Known { holds, problems, .. } = report.outcome else { panic!("{report:?}") };
    assert_eq!(holds, "3 launches");
    assert_eq!(
        problems.kept[0].to_string(),
        "line 7, column Duration (ns): \"x\" is not a duration above zero; the launch was left out"
    );
    let json = r#"[{"Kernel Name":"gemm","ground_truth":900,"duration":1000,"overlap_ratio":0.5,"Memory throughput":66.2,"fp32":0.75}]"#;
    let loaded = bring_together(vec![part("k.json", json.as_bytes())]);
    assert_eq!(loaded.datasets[0].columns, ["Memory throughput", "fp32"]);
}

#[test]
fn the_worker_does_the_same() {
    use collectune::{
        form::Choices,
        intake::files::{FileSource, FileToLoad},
        tuning::aggregate::Target,
        workbench::{WorkbenchAnswer, WorkbenchQuestion, WorkbenchView},
        worker::{
            executor::Executor,
            protocol::{Request, Response},
        },
    };
    let text = merged(60).into_bytes();
    let mut executor = Executor::default();
    let ask = |executor: &mut Executor, question| match executor.execute(
        Request::Study { workbench: Workbench::Overlap, question: Box::new(question), is_held: false },
        Vec::new(),
        &mut Silent,
    ) {
        Ok(Response::Study(answer)) => *answer,
        other => panic!("{other:?}"),
    };
    let choose = |pairs: &[(&str, &str)]| {
        let mut choices = Choices::default();
        pairs.iter().for_each(|(key, value)| choices.set(key, value));
        WorkbenchQuestion::Choose(choices)
    };
    let request = Request::Study { workbench: Workbench::Overlap, question: Box::new(choose(&[])), is_held: false };
    let nothing = executor.execute(request, Vec::new(), &mut Silent);
    assert!(nothing.unwrap_err().to_string().contains("there is no kernel to study"));
    let files = vec![FileToLoad { id: 7, name: "merged.csv".to_owned(), mapping: None }];
    let source = FileSource::from(text);
    let load = Request::Load { files, target: Target::Time, set: Default::default() };
    let Response::Loaded(loaded) = executor.execute(load, vec![source], &mut Silent).unwrap() else { panic!() };
    assert!(loaded.documents.of(Workbench::Overlap).eq([7]));
    let shown = |answer: WorkbenchAnswer| match answer {
        WorkbenchAnswer::Shown(shown) => *shown,
        other => panic!("{other:?}"),
    };
    let first = shown(ask(&mut executor, choose(&[])));
    assert!(first.jobs.is_anew && first.form.iter().all(|field| field.key != "launch"));
    let models = |shown: &WorkbenchView| shown.report.sections[0].tables[0].listing.clone();
    let mape = |shown: &WorkbenchView, model: usize| models(shown).rows[model][1].text.clone();
    assert!(!mape(&first, 2).is_empty() && mape(&first, 4).is_empty(), "{:?}", models(&first));
    let all: Vec<u32> = first.jobs.rounds.iter().flatten().map(|(job, _)| *job).collect();
    let done = all.chunks(40).map(|jobs| {
        // Any worker can do them, from the run alone.
        let question = WorkbenchQuestion::Do { basis: first.jobs.basis.clone(), jobs: jobs.to_vec() };
        match ask(&mut Executor::default(), question) {
            WorkbenchAnswer::Done(done) => done,
            other => panic!("{other:?}"),
        }
    });
    let done: Vec<Vec<u8>> = done.collect();
    let partly = shown(ask(&mut executor, WorkbenchQuestion::Take(done[..1].to_vec())));
    assert!(!mape(&partly, 4).is_empty() && partly.report.summary.last().unwrap().starts_with("So far over"));
    assert_eq!(partly.jobs.rounds.iter().flatten().count(), all.len() - 40, "what was done is not asked for again");
    let other = shown(ask(&mut executor, choose(&[("shown", "forest")])));
    assert!(!other.jobs.is_anew, "what was done holds for another model that is shown");
    let whole = shown(ask(&mut executor, WorkbenchQuestion::Take(done.clone())));
    assert!(
        whole.jobs.rounds.is_empty()
            && models(&whole).rows.iter().all(|row| row.iter().all(|cell| !cell.text.is_empty()))
    );

    let typed = shown(ask(&mut executor, choose(&[("shown", "forest"), ("launch", "3"), ("overlap", "2")])));
    let prediction = &typed.report.sections[2];
    assert!(prediction.text[0].contains("the overlap ratio is 2; it must be from 0 to 1"), "{prediction:?}");
    let typed = shown(ask(&mut executor, choose(&[("shown", "forest"), ("name", "ours"), ("overlap", "1")])));
    let prediction = &typed.report.sections[2];
    assert!(prediction.text.iter().any(|text| text.starts_with("No kernel of this name")), "{prediction:?}");
    assert_eq!(prediction.tables[0].choose.as_ref().unwrap().values.len(), prediction.tables[0].listing.rows.len());

    let without =
        first.form.iter().find(|field| field.key == "metrics").unwrap().value.split_once(',').unwrap().1.to_owned();
    let fewer = shown(ask(&mut executor, choose(&[("shown", "forest"), ("metrics", &without)])));
    assert!(fewer.jobs.is_anew && !fewer.jobs.rounds.is_empty());
    let stale = shown(ask(&mut executor, WorkbenchQuestion::Take(done.clone())));
    assert_eq!(stale.jobs.rounds, fewer.jobs.rounds, "what was done with other metrics is not taken in");
    shown(ask(&mut executor, choose(&[("shown", "forest")])));
    shown(ask(&mut executor, WorkbenchQuestion::Take(done)));
    // What the page shows, and what travels.
    let contents = Contents { workbench: Workbench::Overlap, file_names: false, ..Contents::whole() };
    let report = executor.report(&contents).unwrap();
    let titles: Vec<&str> = report.sections.iter().map(|section| section.title.as_str()).collect();
    assert_eq!(titles[..4], ["Models", "Random forest", "Predict a kernel", "Features"]);
    assert_eq!((report.sections[0].tables[0].listing.rows.len(), report.sections[1].charts.len()), (7, 2));
    assert!(report.summary[0].contains('%') && report.summary.iter().all(|sentence| !sentence.contains("Not yet")));
    let json = wire::write(&report);
    assert!(!json.contains("merged.csv"), "names of files stay at home");
    assert_eq!(wire::write(&wire::read(&json).unwrap()), json);
    for form in ReportFormat::ALL {
        match collectune::report::write(&report, &(*form).into()).unwrap() {
            Written::Links(links) => {
                for link in links.sizes {
                    let decoded = link::decode(&link.fragment).unwrap();
                    assert!(link.fits && decoded.sections[0].tables[0].listing.rows.len() == 7, "{:?}", link.left_out);
                }
            }
            Written::File { name, text, .. } => {
                assert!(name.starts_with("collectune-slowdown-of-") && text.contains("Random forest"), "{name}");
            }
        }
    }
}

#[test]
fn the_terminal_says_it_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("merged.csv"), merged(60)).unwrap();
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_collectune")).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, markdown, told) = run(&["report", &path("merged.csv")]);
    assert_eq!(code, Some(0), "{told}");
    assert!(markdown.starts_with("# Slowdown of ") && markdown.contains("No slowdown at all"), "{markdown}");
    let (merged, said, trees) = (path("merged.csv"), path("said.csv"), path("trees.json"));
    let (code, json, told) = run(&[
        "overlap",
        "models",
        &merged,
        "--json",
        "--model",
        "trees-lad",
        "--predictions",
        &said,
        "--xgboost",
        &trees,
    ]);
    assert_eq!(code, Some(0), "{told}");
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let names: Vec<&str> =
        report["models"].as_array().unwrap().iter().map(|model| model["name"].as_str().unwrap()).collect();
    assert_eq!(names, Kind::ALL.map(Kind::name));
    for key in ["mape_pct", "within_5_pct", "within_10_pct", "within_15_pct", "r2"] {
        let model = &report["models"][4];
        assert!(model[key].is_number() && model["spread"][key].is_number() && model["unseen_names"][key].is_number());
    }
    assert!(report["verdict"].as_str().unwrap().ends_with('.'));
    assert!(std::fs::read_to_string(&said).unwrap().starts_with("line,kernel,"));
    let (code, table, _) = run(&["overlap", "models", &merged, &trees]);
    assert!(code == Some(0) && table.contains("No slowdown at all") && table.contains("standardised"), "{table}");
    let (code, _, told) = run(&["overlap", "models", &merged, "--run", "2"]);
    assert!(code == Some(1) && told.contains("there is no run 2; there is 1"), "{told}");
    let (code, _, told) = run(&["overlap", "models", &trees]);
    assert!(code == Some(1) && told.contains("there is no kernel to study"), "{told}");
}

#[test]
fn two_runs_of_one_program_tell_how_slowdowns_repeat() {
    let first = merged(200);
    let second: String = first
        .lines()
        .enumerate()
        .map(|(at, line)| {
            let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
            if at > 0 {
                // The quoted name has a comma in it.
                let duration: f64 = cells[5].parse().unwrap();
                cells[5] = format!("{}", duration * if at % 2 == 0 { 1.1 } else { 0.95 });
            }
            cells.join(",") + "\n"
        })
        .collect();
    let (_, studied) = study(&[("a.csv", first.as_bytes()), ("b.csv", second.as_bytes()), ("c.csv", first.as_bytes())]);
    assert_eq!(studied.runs.len(), 2);
    assert!(
        studied.repeatability[0].mape_pct > 5.0 && studied.repeatability[0].mape_pct < 10.0,
        "{:?}",
        studied.repeatability
    );
    assert!(
        studied.notes.iter().any(|note| note.contains("a.csv and c.csv have the same content")),
        "{:?}",
        studied.notes
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_text_after_a_header_is_read(rows in "([a-c0-9.,\"\n=-]|nan|1e400|0\\.5,){0,80}") {
        for header in [STATISTICS, "ID,Kernel Name,Memory throughput\n", "Start (ns),Duration (ns),CorrId,Name\n",
            "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"\n"] {
            let text = format!("{header}{rows}");
            let (report, content) = open("x.csv", text.as_bytes());
            if let Outcome::Known { problems, .. } = &report.outcome {
                proptest::prop_assert!(problems.kept.iter().all(|problem| problem.line > 1));
            }
            if let FileContent::Kernels(part) = content {
                let mut study = OverlapStudy::new(bring_together(vec![NamedKernelFile { name: "x.csv".into(), part: *part }]));
                let _ = study.study(Settings::default());
            }
        }
    }

    #[test]
    fn any_sheet_is_read(xml in "(<row>|</row>|<c t='s'>|<c r='B1'>|<c>|</c>|<v>|</v>|<t>|&lt;|&|1|a|<|>|<!--|]]>){0,60}") {
        let bytes = archive(&[("xl/worksheets/sheet1.xml", xml.as_str()), ("xl/sharedStrings.xml", xml.as_str())]);
        let _ = open("x.xlsx", &bytes);
        let _ = open("x.xlsx", &bytes[..bytes.len() / 2]);
    }
}

/// The page's example is what the generator makes. `UPDATE_EXAMPLES=1 cargo test` writes it anew.
#[test]
fn the_example_is_current_and_learning_helps_on_it() {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("public/examples/simulated_kernels.csv");
    let made = Simulation::example().to_csv();
    if std::env::var_os("UPDATE_EXAMPLES").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let shipped = std::fs::read(&path).unwrap_or_default();
    assert!(
        shipped == made.as_bytes(),
        "{} is out of date: run UPDATE_EXAMPLES=1 cargo test --test overlap",
        path.display()
    );
    let (report, _) = open("simulated_kernels.csv", &shipped);
    assert!(matches!(report.outcome, Outcome::Known { problems, .. } if problems.count == 0));
    let (mut study, studied) = study(&[("simulated_kernels.csv", &shipped)]);
    let results = judged(&mut study, &studied);
    assert!(mean(&results, Kind::TreesLad).mape_pct < mean(&results, Kind::NoSlowdown).mape_pct / 2.0);
    println!("{}", results.verdict.unwrap().sentences.join("\n"));
}
