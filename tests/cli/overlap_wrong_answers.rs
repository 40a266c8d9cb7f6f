//! Cases in which `collectune overlap models` once gave a wrong answer without a word: each asserts the sentence, the
//! flag in the JSON and the exit code.

#![allow(clippy::unwrap_used)]

use crate::support::{
    real,
    terminal::{collectune, ended, report_of, text, write},
};
use collectune::{
    intake::{self, FileContent},
    overlap::{
        features::Settings,
        loaded::{NamedKernelFile, bring_together},
        models::Kind,
        simulate::Simulation,
        study::{OverlapStudy, do_jobs},
        validate::{Scheme, jobs},
    },
    progress::Silent,
};
use serde_json::Value;
use tempfile::TempDir;

const HEADER: &str = "id,kShortName,kDemangledName,ground_truth,duration,overlap_ratio,slowdown,ID,Kernel Name,Compute \
                      throughput,Memory throughput\n";

/// A row of merged features.
fn row(name: &str, alone: f64, duration: f64, overlap: f64, metrics: [f64; 2]) -> String {
    let slowdown = if overlap == 0.0 { 0.0 } else { (duration / alone - 1.0) / overlap };
    format!("1,{name},{name},{alone},{duration},{overlap},{slowdown},1,{name},{},{}\n", metrics[0], metrics[1])
}

/// Numbers that look drawn: the same in each run.
fn noise(place: u64) -> f64 {
    let mixed = place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1_u64 << 24) as f64
}

/// Kernels whose slowdowns no metric tells.
fn untold(rows: u64, names: u64) -> Vec<String> {
    let of = |place: u64| {
        let alone = (1000.0 + 9000.0 * noise(7 * place)).round();
        let overlap = (0.2 + 0.8 * noise(7 * place + 1)).min(1.0);
        let duration = (alone * (1.0 + overlap * 2.0 * noise(7 * place + 2))).round();
        let metrics = [100.0 * noise(7 * place + 3), 100.0 * noise(7 * place + 4)].map(f64::round);
        row(&format!("kernel_{}", place % names), alone, duration, overlap, metrics)
    };
    (0..rows).map(of).collect()
}

fn overlap(arguments: &[&str]) -> std::process::Output {
    collectune(&[&["overlap", "models"], arguments].concat())
}

/// The report of a command that ends with 0, and what it says besides.
#[track_caller]
fn report(arguments: &[&str]) -> (Value, String) {
    let output = overlap(&[arguments, &["--json"]].concat());
    (serde_json::from_str(&ended(&output, 0)).unwrap(), text(&output.stderr))
}

fn mape(report: &Value, model: &str) -> f64 {
    let models = report["models"].as_array().unwrap();
    models.iter().find(|of| of["name"] == model).unwrap()["mape_pct"].as_f64().unwrap()
}

fn told(report: &Value, key: &str) -> String {
    report[key].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn equal_rows_are_held_out_together_and_named() {
    let folder = TempDir::new().unwrap();
    let rows = untold(60, 4);
    let once = write(&folder, "once.csv", HEADER.to_owned() + &rows.concat());
    let twice = write(&folder, "twice.csv", HEADER.to_owned() + &rows.concat() + &rows.concat());
    let ((once, _), (twice, said)) = (report(&[&once]), report(&[&twice]));
    for model in ["trees-published", "trees-lad", "forest"] {
        let (honest, doubled) = (mape(&once, model), mape(&twice, model));
        assert!(doubled > 0.6 * honest, "{model}: {doubled} of equal rows, {honest} of different ones");
    }
    let sentence = "60 rows of 120 are equal to an earlier one in name, durations, overlap and metrics (the first in line 62, equal to \
                    line 2): equal rows are held out together";
    assert!(told(&twice, "checks").contains(sentence) && said.contains(sentence), "{said}");
    assert!(!told(&once, "checks").contains("are equal to"));
    // The same kernel, run again with another outcome, is a measurement of its own, and is named as well.
    let again: Vec<String> = rows
        .iter()
        .map(|row| {
            let mut cells: Vec<String> = row.trim().split(',').map(str::to_owned).collect();
            cells[4] = (cells[4].parse::<f64>().unwrap() + 1.0).to_string();
            cells.remove(6);
            cells.insert(6, String::new());
            cells.join(",") + "\n"
        })
        .collect();
    let again = write(&folder, "again.csv", HEADER.to_owned() + &rows.concat() + &again.concat());
    let (again, _) = report(&[&again]);
    let sentence =
        "60 rows of 120 have the metrics, duration alone and overlap of an earlier one, and took another time";
    assert!(told(&again, "checks").contains(sentence), "{}", told(&again, "checks"));
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn equal_rows_of_the_published_run_do_not_leak() {
    let path = real::path("overlap/merged_features.csv");
    let published = std::fs::read_to_string(path).unwrap();
    let (header, rows) = published.split_once('\n').unwrap();
    let doubled = format!("{header}\n{rows}{rows}").into_bytes();
    let (_, content) = intake::open(&doubled[..], "doubled.csv", doubled.len() as u64, 0, None, &mut Silent);
    let FileContent::Kernels(part) = content else { panic!() };
    let mut study =
        OverlapStudy::new(bring_together(vec![NamedKernelFile { name: "doubled.csv".to_owned(), part: *part }]));
    let studied = study.study(Settings::default()).unwrap();
    assert!(studied.checks.join(" ").contains("404 rows of 808 are equal"), "{:?}", studied.checks);
    // The folds of one model, in the first two repeats.
    let of_repeats = |scheme| matches!(scheme, Scheme::Kernels(0 | 1));
    let jobs = (0..).zip(jobs()).filter(|(_, (job, _))| job.kind == Kind::TreesPublished && of_repeats(job.scheme));
    let jobs: Vec<u32> = jobs.map(|(number, _)| number).collect();
    let folds = do_jobs(&studied.run, &jobs, &mut Silent).unwrap();
    let results = study.judge(&[folds], None).unwrap();
    let published = results.models.iter().find(|model| model.kind == Kind::TreesPublished).unwrap();
    assert_eq!(published.repeats.len(), 2);
    // 26.8 % with each row once; 5.5 % where equal rows lie in different folds.
    let error = published.mean.unwrap().mape_pct;
    assert!((20.0..35.0).contains(&error), "{error}");
}

#[test]
fn how_slowdowns_repeat_is_no_bound_of_models() {
    let folder = TempDir::new().unwrap();
    let rows = untold(60, 4);
    let other: Vec<String> = untold(120, 4).split_off(60);
    // The same kernels, whose slowdowns have nothing to do with each other.
    let second = rows.iter().zip(&other).map(|(row, other)| {
        let mut cells: Vec<String> = row.trim().split(',').map(str::to_owned).collect();
        let slowdown: f64 = other.split(',').nth(6).unwrap().parse().unwrap();
        let (alone, overlap): (f64, f64) = (cells[3].parse().unwrap(), cells[5].parse().unwrap());
        cells[4] = (alone * (1.0 + overlap * slowdown)).to_string();
        cells[6] = slowdown.to_string();
        cells.join(",") + "\n"
    });
    let second: String = second.collect();
    let first = write(&folder, "first.csv", HEADER.to_owned() + &rows.concat());
    let second = write(&folder, "second.csv", HEADER.to_owned() + &second);
    let (both, said) = report(&[&first, &second]);
    let pair = &both["repeatability"][0];
    let (repeats, none) = (pair["mape_pct"].as_f64().unwrap(), pair["no_slowdown_mape_pct"].as_f64().unwrap());
    assert!(repeats > 0.0 && none > 0.0, "{pair}");
    assert!(
        said.contains("are two runs of one program") && said.contains("No slowdown at all misses the same"),
        "{said}"
    );
    assert!(said.contains("a model that learns from many launches can err less than either"), "{said}");
    assert!(!said.contains("No model can be expected"), "{said}");
    assert!(said.contains("there are 2 runs; --run takes another than 1"), "{said}");
    // Copies say nothing of how slowdowns repeat.
    let more = rows.concat() + &row("kernel_0", 500.0, 600.0, 0.5, [1.0, 2.0]);
    let copy = write(&folder, "copy.csv", HEADER.to_owned() + &more);
    let (copies, said) = report(&[&first, &copy]);
    assert!(said.contains("hold the same launches: 60 of 60 kernels have the same durations"), "{said}");
    assert_eq!(copies["repeatability"][0]["equal"], 60);
}

#[test]
fn errors_on_training_rows_are_called_so() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = write(&folder, "run.csv", HEADER.to_owned() + &untold(80, 4).concat());
    let other = write(&folder, "other.csv", HEADER.to_owned() + &untold(200, 5)[100..].concat());
    for model in ["trees-lad", "trees-published"] {
        let trees = path(&format!("{model}.json"));
        ended(&overlap(&[&run, "--model", model, "--xgboost", &trees]), 0);
        let (own, said) = report(&[&run, &trees]);
        let imported = &own["imported"][0];
        assert_eq!(
            (&imported["trained_on_these"], &imported["trained_on_rows"]),
            (&"raw".into(), &80.into()),
            "{model}"
        );
        assert!(
            said.contains("was trained on 80 of these kernels, features as they are: its error on them says nothing"),
            "{said}"
        );
        // What the trees say is understood: those of least absolute deviation say ln(duration / duration alone).
        assert!(imported["raw"]["mape_pct"].as_f64().unwrap() < 20.0, "{imported}");
        let (others, said) = report(&[&other, &trees]);
        assert!(others["imported"][0]["trained_on_these"].is_null(), "{others}");
        assert!(said.contains("nothing tells whether these kernels were in the training of"), "{said}");
        let table = ended(&overlap(&[&run, &trees]), 0);
        assert!(table.contains("of its training"), "{table}");
    }
}

/// Numbers of scikit-learn's `StandardScaler` over the 495 training rows of the published model.
const SCALER: &str = r#"{"mean": [455686.4707070707, 24.188929292929334, 49.12092929292923, 39.38486868686868, 53.252060606060645,
82.86616161616162, 7.03707070707071, 61.42420202020198], "scale": [947642.0846933919, 31.92120777355194, 30.53489909219872,
34.22938181928257, 32.86044632569068, 27.985979379547686, 14.345656637063943, 26.016390787650636]}"#;

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn a_scaler_can_be_given_with_a_model() {
    let (run, model) = (real::path("overlap/merged_features.csv"), real::path("overlap/xgb_model.json"));
    let (run, model) = (run.display().to_string(), model.display().to_string());
    let folder = TempDir::new().unwrap();
    let scaler = write(&folder, "scaler.json", SCALER);
    let (without, said) = report(&[&run, &model]);
    let imported = &without["imported"][0];
    assert!((imported["standardised"]["mape_pct"].as_f64().unwrap() - 19.3).abs() < 0.05, "{imported}");
    assert!(imported["trained_on_these"].is_null() && imported["trained_on_rows"] == 495, "{imported}");
    assert!(said.contains("give the scaler beside it, as JSON: {\"mean\""), "{said}");
    let (with, said) = report(&[&run, &model, "--scaler", &scaler]);
    let imported = &with["imported"][0];
    assert!((imported["scaled"]["mape_pct"].as_f64().unwrap() - 6.0).abs() < 0.05, "{imported}");
    assert_eq!(imported["trained_on_these"], "scaled");
    assert!(
        said.contains("was trained on 495 of these kernels, features by the scaler: its error on them says nothing"),
        "{said}"
    );
    let output = overlap(&[&run, &model, "--scaler", &run]);
    ended(&output, 1);
    assert!(text(&output.stderr).contains("it holds no scaler"));
    // One that fits no model is named, and one that is none is refused.
    let other = write(&folder, "other.json", r#"{"mean_": [1, 2], "scale_": [1, 1]}"#);
    let small = write(&folder, "other_run.csv", HEADER.to_owned() + &untold(30, 3).concat());
    let output = overlap(&[&small, &other]);
    ended(&output, 0);
    assert!(text(&output.stderr).contains("scales 2 features: no model beside it is scaled by it"));
    let broken = write(&folder, "broken.json", r#"{"mean": [1, 2], "scale": [1, 0]}"#);
    let small = write(&folder, "small.csv", HEADER.to_owned() + &untold(30, 3).concat());
    let output = overlap(&[&small, &broken]);
    assert!(ended(&output, 1).contains("No slowdown at all"));
    let said = text(&output.stderr);
    assert!(
        said.contains("is a scaler whose scale 0 is not above zero") && said.contains("what was told is told without"),
        "{said}"
    );
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn a_model_of_something_else_is_told_from_one_of_slowdowns() {
    let folder = TempDir::new().unwrap();
    let text = real::text("overlap/xgb_model.json");
    let mut model: Value = serde_json::from_str(&text).unwrap();
    // Of durations in ns, say.
    model["learner"]["learner_model_param"]["base_score"] = "5E5".into();
    let model = write(&folder, "model.json", model.to_string());
    let (_, said) = report(&[&real::path("overlap/merged_features.csv").display().to_string(), &model]);
    assert!(said.contains("it was probably trained on something else than the slowdown"), "{said}");
    assert!(!said.contains("nothing tells whether"), "{said}");
}

#[test]
fn one_kernel_name_is_studied_without_unseen_names() {
    let folder = TempDir::new().unwrap();
    let one = write(&folder, "one.csv", HEADER.to_owned() + &untold(40, 1).concat());
    let (report, said) = report(&[&one]);
    assert!(mape(&report, "trees-lad") > 0.0 && report["models"][4]["unseen_names"].is_null(), "{report}");
    assert!(
        said.contains(
            "all kernels that overlap are called kernel_0: how a model does for names that were never measured"
        )
    );
    assert_eq!(report["models_compared"], true);
}

#[test]
fn too_few_kernels_are_said_to_be_too_few() {
    let folder = TempDir::new().unwrap();
    let same = untold(1, 1)[0].repeat(5);
    for (name, rows) in [("one.csv", untold(1, 1).concat()), ("equal.csv", same)] {
        let path = write(&folder, name, HEADER.to_owned() + &rows);
        let (few, _) = report(&[&path]);
        assert_eq!(few["models_compared"], false, "{few}");
        assert!(
            few["verdict"].as_str().unwrap().starts_with("Nothing can be compared: when kernels are held out"),
            "{few}"
        );
        let markdown = ended(&collectune(&["report", &path]), 0);
        assert!(markdown.contains("Nothing can be compared") && !markdown.contains("Not yet compared"), "{markdown}");
    }
    let none = write(&folder, "none.csv", HEADER.to_owned() + &row("a", 100.0, 110.0, 0.0, [1.0, 2.0]));
    let (none, said) = report(&[&none]);
    assert!(said.contains("no kernel overlaps communication") && none["models_compared"] == false, "{said}");
}

#[test]
fn overlap_in_per_cent_is_read_and_said() {
    let folder = TempDir::new().unwrap();
    let shares = HEADER.to_owned() + &untold(40, 3).concat();
    let per_cent: Vec<String> = shares
        .lines()
        .enumerate()
        .map(|(at, line)| {
            let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
            if at > 0 {
                cells[5] = (cells[5].parse::<f64>().unwrap() * 100.0).to_string();
            }
            cells.join(",")
        })
        .collect();
    let shares = write(&folder, "shares.csv", shares);
    let per_cent = write(&folder, "per_cent.csv", per_cent.join("\n"));
    let ((shares, _), (per_cent, said)) = (report(&[&shares]), report(&[&per_cent]));
    assert!((mape(&shares, "name-median") - mape(&per_cent, "name-median")).abs() < 1e-6);
    let sentence = "no shares: they were read as per cent, 0 to 100";
    assert!(said.contains(sentence) && told(&per_cent, "notes").contains(sentence), "{said}");
    // One value that is no share is an error of its row alone.
    let one = write(
        &folder,
        "one.csv",
        HEADER.to_owned() + &untold(9, 3).concat() + &row("a", 100.0, 150.0, 1.5, [1.0, 1.0]),
    );
    let output = overlap(&[&one]);
    assert!(text(&output.stderr).contains("\"1.5\" is not a share from 0 to 1; the row was left out"));
}

#[test]
fn a_column_that_is_not_there_is_refused() {
    let folder = TempDir::new().unwrap();
    let run = write(&folder, "run.csv", HEADER.to_owned() + &untold(30, 3).concat());
    let output = overlap(&[&run, "--columns", "foo", "--json"]);
    assert_eq!(ended(&output, 1), "");
    let said = text(&output.stderr);
    assert!(
        said.contains("there is no column foo to learn from; ")
            && said.contains("has Compute throughput, Memory throughput"),
        "{said}"
    );
    let output = overlap(&[&run, "--columns", "Compute throughput,bar"]);
    ended(&output, 1);
    assert!(text(&output.stderr).contains("there is no column bar"));
    // As a column is written does not matter, and it is used.
    let (one, _) = report(&[&run, "--columns", "compute throughput"]);
    assert_eq!(one["columns"], serde_json::json!(["Compute throughput"]));
    // In a report what is chosen is used, and what is no choice is named.
    let output = collectune(&["report", &run, "--choices", "metrics=Memory%20throughput,foo&shown=forest&colour=red"]);
    let markdown = ended(&output, 0);
    assert!(
        markdown.contains("## Random forest") && markdown.contains("Metrics: foo was chosen and is not there."),
        "{markdown}"
    );
    assert!(text(&output.stderr).contains("--choices: colour is not used here"), "{}", text(&output.stderr));
    let markdown = ended(&collectune(&["report", &run, "--choices", "shown=model-3"]), 0);
    assert!(
        markdown.contains("Shown: model-3 was chosen and is not there, as the verdict says is taken instead."),
        "{markdown}"
    );
}

#[test]
fn the_model_that_is_named_is_the_one_that_is_saved() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let run = write(&folder, "run.csv", HEADER.to_owned() + &untold(40, 3).concat());
    let trees = path("trees.json").display().to_string();
    let output = overlap(&[&run, "--model", "forest", "--xgboost", &trees]);
    ended(&output, 1);
    let said = text(&output.stderr);
    assert!(said.contains("Random forest can't be saved as a model of XGBoost: only boosted trees can"), "{said}");
    assert!(!path("trees.json").exists());
    // The verdict's model has no trees here: the answer is given, and no other model saved.
    let output = overlap(&[&run, "--xgboost", &trees]);
    let answer = ended(&output, 1);
    let said = text(&output.stderr);
    assert!(
        answer.contains("Median of each kernel name") && said.contains("no trees are saved: the verdict is"),
        "{said}"
    );
    assert!(said.contains("--model trees-lad") && !path("trees.json").exists());
    ended(&overlap(&[&run, "--model", "trees-published", "--xgboost", &trees]), 0);
    assert!(std::fs::read_to_string(path("trees.json")).unwrap().contains("slowdown: duration = ground_truth"));
}

#[test]
fn files_that_are_not_used_are_named() {
    let folder = TempDir::new().unwrap();
    let run = write(&folder, "run.csv", HEADER.to_owned() + &untold(30, 3).concat());
    let graph = write(&folder, "graph.csv", "2\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n");
    let output = overlap(&[&run, &graph]);
    ended(&output, 0);
    assert!(text(&output.stderr).contains("graph.csv is not used: it holds "));
    let statistics = "kShortName,ground_truth,duration,overlap_ratio,power\na,100,120,0.5,70\na,100,130,0.5,71\n";
    let statistics = write(&folder, "statistics.csv", statistics);
    let (report, _) = report(&[&statistics]);
    assert!(told(&report, "notes").contains("durations and overlap are used, not power"), "{report}");
    let patchy = "Kernel Name,ground_truth,duration,overlap_ratio,Memory throughput,power\n";
    let rows: String = (0..9)
        .map(|at| {
            format!("a,100,{},0.5,{},{}\n", 120 + at, at, if at == 4 { "n/a".to_owned() } else { at.to_string() })
        })
        .collect();
    let patchy = write(&folder, "patchy.csv", patchy.to_owned() + &rows);
    let output = overlap(&[&patchy, "--json"]);
    assert!(ended(&output, 0).contains("the column power has no number in 1 row: nothing can be learnt from it"));
}

/// Found by mutated tables: durations above zero whose quotient is no number.
#[test]
fn durations_that_make_no_slowdown_cost_their_row() {
    let folder = TempDir::new().unwrap();
    let name = "kShortName,ground_truth,duration,overlap_ratio,power\n";
    let rows = "a,1e-308,2,1,70\nb,100,120,1e-308,70\nc,100,120,0.5,70\n".to_owned();
    let table = write(&folder, "run.csv", name.to_owned() + &rows + &untold(1, 1).concat());
    let output = overlap(&[&table]);
    let said = text(&output.stderr);
    assert!(said.contains("line 2, column ground_truth: \"1e-308\" is too small for a slowdown"), "{said}");
    assert!(!said.contains("line 4"), "{said}");
}

#[test]
fn a_standard_metric_that_is_missing_is_named() {
    let whole = Simulation { layers: 4, seed: 3 }.to_csv();
    // Without the column of the achieved occupancy.
    let cut = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        [&cells[..12], &cells[13..]].concat().join(",") + "\n"
    };
    let less: String = whole.lines().map(cut).collect();
    assert!(whole.contains("Achieved occupancy") && !less.contains("Achieved occupancy"));
    let folder = TempDir::new().unwrap();
    let (whole, less) = (write(&folder, "whole.csv", whole), write(&folder, "less.csv", less));
    let sentence = "1 of the 7 standard metrics is missing (Achieved occupancy): all models learn without it";
    let (found, said) = report(&[&less]);
    assert!(told(&found, "checks").contains(sentence) && said.contains(sentence), "{said}");
    assert!(said.contains("which as published had all 7"), "{said}");
    let shown = report_of(&less);
    let checks = shown.sections.iter().flat_map(|section| &section.text).any(|text| text.contains(sentence));
    assert!(checks, "{shown:?}");
    let (found, said) = report(&[&whole]);
    assert!(!told(&found, "checks").contains("missing") && !said.contains("missing"), "{said}");
    // The settings are the published ones, whatever the metrics are.
    let people = ended(&overlap(&[&less]), 0);
    assert!(people.contains("Boosted trees, published settings") && !people.contains("as published\n"), "{people}");
}
