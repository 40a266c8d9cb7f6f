//! Steps from the shared samples: `cargo test --release --test training_time measured_steps -- --nocapture`

use std::{
    ops::ControlFlow,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use collectune::{
    progress::Silent,
    training_time::{
        bundle::{Bundle, bring_together},
        calibrate::{Calibration, Coefficients, Measured, Terms, calibrate},
        catalogue::Catalogue,
        interval::{Draws, interval},
        measured::{self, InheritedSettings},
        prediction::{Direction, Mark, Regressors},
        regressors::{Library, Options, jobs::Task},
        run::{Recompute, Run},
        samples::{Cluster, Communicator},
        search::{self, SearchContext, SearchSettings},
        step::{self, Component, Mode, Plan, plan::PartQuery},
        steps::StepTable,
    },
};
use serde_json::Value;

use super::{
    reference::{One, run_of, time_of},
    support::real,
};

fn bundle() -> &'static Bundle {
    static BUNDLE: OnceLock<Bundle> = OnceLock::new();
    let folders = ["ett/Perlmutter", "ett/Vista", "ett/examples", "vtrain", "reference/selene_measured.csv"];
    BUNDLE.get_or_init(|| bring_together(real::dropped(&folders), &Vec::new()))
}

fn named<'a>(bundle: &'a Bundle, name: &str) -> &'a Cluster {
    bundle.clusters.iter().find(|cluster| cluster.name == name).unwrap()
}

fn perlmutter(bundle: &Bundle) -> &Cluster {
    named(bundle, "Perlmutter")
}

fn vista(bundle: &Bundle) -> &Cluster {
    named(bundle, "Vista")
}

fn library(mode: Mode) -> Library {
    let bundle = bundle();
    let options = Options { mode, precision: "fp16".to_owned(), ..Options::default() };
    Library::new(Arc::new(perlmutter(bundle).clone()), Arc::new(bundle.catalogue.clone()), options)
}

fn work(library: &Library, ask: impl FnOnce(&dyn Regressors), task: Task) {
    let jobs = library.jobs(&library.needed(ask), task);
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

fn json(name: &str) -> Value {
    serde_json::from_str(&real::text(&format!("training_time/reference/{name}.json"))).unwrap()
}

fn plan(run: &Run, library: &Library) -> Plan {
    step::plan(run, library.mode(), &bundle().catalogue, library).unwrap()
}

fn parity() -> &'static Library {
    static PARITY: OnceLock<Library> = OnceLock::new();
    PARITY.get_or_init(|| library(Mode::Parity))
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn parity_totals_are_the_references() {
    let (library, sweep) = (parity(), json("sweep_perlmutter_llemma_7b"));
    let cases = sweep["cases"].as_array().unwrap();
    work(
        library,
        |rehearsal| {
            for case in cases {
                let _ = step::plan(&run_of(case), Mode::Parity, &Catalogue::built_in(), rehearsal);
            }
        },
        Task::Train,
    );
    let mut deviations: Vec<f64> = Vec::new();
    for case in cases {
        let total = plan(&run_of(case), library).step().total_us;
        let reference = case["total_us"].as_f64().unwrap();
        deviations.push((total / reference - 1.0) * 100.0);
        println!("{} {:.3} s, reference {:.3} s", case["training_config"], total / 1e6, reference / 1e6);
    }
    let mut absolute: Vec<f64> = deviations.iter().map(|deviation| deviation.abs()).collect();
    absolute.sort_by(f64::total_cmp);
    println!("{} totals: median deviation {:.2} %, worst {:.2} %", cases.len(), absolute[21], absolute[41]);
    assert!(absolute[21] <= 1.0 && absolute[41] <= 5.0);

    let example = json("example_p");
    let plan = plan(&run_of(&example["run"]), library);
    let total = plan.step().total_us;
    println!("example P: {total:.0} µs");
    assert!((9_372_000.0..=9_556_000.0).contains(&total), "{total}");
    for part in &plan.parts {
        let (key, stage) = match (&part.asked, part.name.as_str()) {
            (PartQuery::Operator(Direction::Forward, _), name) if !name.ends_with("_optimizer") => {
                (format!("{name}_fwd"), 0)
            }
            (PartQuery::Operator(Direction::Backward, _), name) => (format!("{name}_bwd"), 0),
            (_, "p2p") => ("pp_p2p".to_owned(), 0),
            (_, "allreduce") => ("mp_allreduce".to_owned(), 0),
            (PartQuery::Collective(elements, _), name) => {
                let parameters = example["run"]["stage_parameters"].as_array().unwrap();
                let of =
                    |parameters: &Value| [1, 2].map(|share| parameters.as_u64().unwrap() / share).contains(elements);
                let stage = parameters.iter().position(of).unwrap();
                (if name == "allreduce_large" { "dp_allreduce" } else { "dp_allgather" }.to_owned(), stage)
            }
            (_, name) => {
                let stages = ["firstStage_optimizer", "middleStage_optimizer", "lastStage_optimizer"];
                ("optimizer".to_owned(), stages.iter().position(|stage| *stage == name).unwrap())
            }
        };
        let band = &example["seeds_0_to_14"]["components_mean_min_max"][&key][stage];
        let [low, high] = [1, 2].map(|end| band[end].as_f64().unwrap());
        let time = part.prediction.time_us;
        let margin = 0.02 * time_of(&example["run"], part, Some(stage));
        assert!(time >= low - margin && time <= high + margin, "{key}: {time} [{low}, {high}]");
    }
}

/// The order of section 7, of the layouts that it lists.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn layouts_of_16_gpus_rank_as_the_figures_have_it() {
    let (library, bundle) = (parity(), bundle());
    let mut question = SearchSettings::new(bundle.runs[0].run.clone(), 16, 64);
    (question.mode, question.micro_batches, question.tensor_between_nodes) = (Mode::Parity, vec![4], true);
    let known = SearchContext::new(library, &bundle.catalogue, bundle.catalogue.gpu("A100"));
    let found = search::search(&question, &known, &mut Silent, &mut |_| ControlFlow::Continue(()));
    let of = |row: &search::Row| (row.layout.pipeline, row.layout.tensor, row.layout.data);
    let rows: Vec<_> = found.rows.iter().filter(|row| row.layout.tensor <= 8).collect();
    for row in &rows {
        println!("parity {:?} {:.3} s", of(row), row.total_us / 1e6);
    }
    let expected = [
        ((8, 2, 1), 9.343),
        ((4, 4, 1), 9.413),
        ((4, 2, 2), 9.480),
        ((4, 1, 4), 10.301),
        ((8, 1, 2), 10.319),
        ((2, 4, 2), 11.069),
        ((2, 2, 4), 11.830),
        ((2, 1, 8), 12.858),
        ((1, 4, 4), 14.612),
        ((1, 2, 8), 17.847),
        ((1, 1, 16), 24.897),
        ((1, 8, 2), 109.750),
        ((2, 8, 1), 111.209),
    ];
    assert_eq!(rows.len(), expected.len());
    for (layout, seconds) in expected {
        let row = rows.iter().find(|row| of(row) == layout).unwrap();
        assert!((row.total_us / 1e6 / seconds - 1.0).abs() <= 0.05, "{layout:?} {}", row.total_us);
    }
    // Layouts further apart than seeds are stand in the same order.
    let place = |layout| rows.iter().position(|row| of(row) == layout).unwrap();
    for (index, (slow, time)) in expected.iter().enumerate() {
        for (fast, other) in &expected[..index] {
            assert!(time / other < 1.02 || place(*fast) < place(*slow), "{fast:?} {slow:?}");
        }
    }
    let ours = ours();
    question.mode = Mode::Default;
    let known = SearchContext::new(ours, &bundle.catalogue, bundle.catalogue.gpu("A100"));
    for row in search::search(&question, &known, &mut Silent, &mut |_| ControlFlow::Continue(())).rows {
        let [low, high] = row.interval_us.unwrap();
        println!(
            "default {:?} {:.3} s [{:.3}, {:.3}], rank {:?}, marks {:.2?}",
            of(&row),
            row.total_us / 1e6,
            low / 1e6,
            high / 1e6,
            row.rank,
            row.marks
        );
    }
}

fn ours() -> &'static Library {
    static OURS: OnceLock<Library> = OnceLock::new();
    OURS.get_or_init(|| library(Mode::Default))
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn example_p_in_the_default_mode() {
    let (library, bundle) = (ours(), bundle());
    let run = &bundle.runs[0].run;
    let begin = Instant::now();
    let ask = |rehearsal: &dyn Regressors| drop(step::plan(run, Mode::Default, &bundle.catalogue, rehearsal));
    work(library, ask, Task::Train);
    println!("trained in {:.2?}", begin.elapsed());
    let begin = Instant::now();
    let plan = plan(run, library);
    let step = plan.step();
    println!("{:.3} s, in {:.2?}", step.total_us / 1e6, begin.elapsed());
    work(library, ask, Task::Validate);
    let begin = Instant::now();
    let draws = Draws::new(library, 42).totals(&plan, &Coefficients::default());
    let [low, high] = interval(step.total_us, draws, &[]);
    println!("[{:.3}, {:.3}] s, in {:.2?}; marks {:.3?}", low / 1e6, high / 1e6, begin.elapsed(), plan.marks(&step));
    for (component, time) in step.components.iter() {
        println!("{:20} {:8.1} ms {:5.1} %", component.key(), time / 1e3, time / step.total_us * 100.0);
    }
    assert!(low < step.total_us && step.total_us < high);
    // linear2 was sampled for one tensor degree only.
    let extrapolated = plan.parts.iter().filter(|part| part.prediction.mark >= Mark::Extrapolated);
    let names: Vec<&str> = extrapolated.map(|part| part.name.as_str()).collect();
    println!("extrapolated: {names:?}");
    assert!(names.iter().filter(|name| **name == "linear2").count() == 2);
}

/// A message of P over two nodes at 25 GB/s instead of 2.9 makes P faster by about 5 %.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn a_faster_network_shortens_example_p() {
    let example = json("example_p");
    let case = &example["run"];
    let plan = step::plan(&run_of(case), Mode::Parity, &Catalogue::built_in(), &One).unwrap();
    let mut times = super::reference::times_of(case, &plan);
    let before = plan.evaluate(&times).total_us;
    let p2p = plan.parts.iter().position(|part| part.name == "p2p").unwrap();
    times[p2p] = 2.0 * 33_554_432.0 / 25e3;
    let gain = (1.0 - plan.evaluate(&times).total_us / before) * 100.0;
    println!("p2p {:.1} ms: step {gain:.2} % faster", times[p2p] / 1e3);
    assert!((gain - 4.8).abs() < 0.1, "{gain}");
}

/// Defect 6: what lies outside of the samples.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn defect_6_what_was_not_sampled_is_not_made_up() {
    let (theirs, ours) = (parity(), ours());
    let within = Communicator { nodes: 1, per_node: 2 };
    let at = |library: &Library, elements| library.collective("allreduce", elements, within).unwrap();
    assert_eq!(at(theirs, 1_000).time_us, at(theirs, 1_000_000).time_us);
    assert!(at(ours, 1_000_000).time_us > at(ours, 1_000).time_us);
    assert_eq!(at(ours, 1_000).mark, Mark::Extrapolated);
    // 16 ranks over 4 nodes.
    let over = Communicator { nodes: 4, per_node: 4 };
    assert!(ours.collective("allreduce_large", 200_000_000, over).unwrap().mark >= Mark::Extrapolated);
}

/// Defect 8: an operator that was sampled for one tensor degree only.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn defect_8_one_sampled_degree_is_extrapolated_by_its_work() {
    let (theirs, ours, bundle) = (parity(), ours(), bundle());
    let scope = bundle.runs[0].run.scope();
    let linear2 = |library: &Library, direction| library.operator("linear2", direction, &scope).unwrap();
    let [wrong, forward] = [theirs, ours].map(|library| linear2(library, Direction::Forward));
    let backward = linear2(ours, Direction::Backward);
    println!("linear2: parity {:.0}, ours {:.0} and {:.0} µs", wrong.time_us, forward.time_us, backward.time_us);
    assert!(wrong.time_us < 700.0 && wrong.mark == Mark::Suspect);
    assert!(forward.time_us > 881.0 && forward.mark == Mark::Extrapolated);
    assert!((1000.0..1250.0).contains(&forward.time_us) && (1850.0..2250.0).contains(&backward.time_us));
}

/// Defect 9: rows that are wrong.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn defect_9_corrupt_samples_are_named_and_can_be_left_out() {
    use collectune::training_time::health::{LeftOut, health};
    let bundle = bundle();
    let health = health(vista(bundle), &bundle.catalogue);
    let wrong = health.flags.iter().find(|flag| flag.target.to_string() == "firstStage_optimizer").unwrap();
    println!("{} rows of {}: {}", wrong.count, wrong.of, wrong.what);
    // The inputs of one of them.
    let samples = vista(bundle).operator("firstStage_optimizer").unwrap();
    let row = samples.places.iter().position(|place| wrong.places.contains(place)).unwrap();
    let mut scope = bundle.runs[0].run.scope();
    samples.inputs.iter().zip(samples.row(row)).for_each(|(input, value)| scope.set(input, *value));
    let predict = |left_out: Option<LeftOut>| {
        let mut clusters = [vista(bundle).clone()];
        left_out.iter().for_each(|left_out| left_out.apply(&mut clusters));
        let [cluster] = clusters;
        let options = Options { precision: "fp16".to_owned(), ..Options::default() };
        let library = Library::new(Arc::new(cluster), Arc::new(bundle.catalogue.clone()), options);
        library.operator("firstStage_optimizer", Direction::Forward, &scope).unwrap().time_us
    };
    let (with, without) = (predict(None), predict(Some(LeftOut::from(wrong))));
    println!("first stage's optimizer on Vista: {with:.0} µs with them, {without:.0} µs without");
    assert!(with > 3.0 * without);
}

fn table(name: &str) -> &'static StepTable {
    bundle().steps.iter().find(|table| table.name.contains(name)).unwrap()
}

/// The measured steps of a table and what predicts them, trained.
fn steps(name: &str) -> (Vec<Measured>, Library) {
    let (bundle, table) = (bundle(), table(name));
    let samples = perlmutter(bundle);
    let entry = match name {
        "selene" => bundle.catalogue.cluster("Selene").unwrap(),
        _ => bundle.catalogue.cluster("vTrain").unwrap(),
    };
    assert_eq!(measured::cluster_entry(table, samples, &bundle.catalogue).map(|found| &found.name), Some(&entry.name));
    let cluster = measured::on_cluster(samples, entry, &bundle.reduces, &bundle.catalogue);
    println!("{}: {} steps, {} all-reduce rows", table.name, table.steps.len(), cluster.collectives[0].rows.len());
    let library = Library::new(Arc::new(cluster), Arc::new(bundle.catalogue.clone()), Options::default());
    let taken = measured::runs(table, entry, &bundle.catalogue, InheritedSettings::default());
    assert!(taken.left_out.is_empty(), "{:?}", taken.left_out);
    assert!(taken.notes[0].contains("gpt with the optimizer not sharded is taken"), "{:?}", taken.notes);
    let runs = taken.measured;
    let ask = |rehearsal: &dyn Regressors| {
        for step in &runs {
            let _ = step::plan(&step.run, Mode::Default, &bundle.catalogue, rehearsal);
        }
    };
    work(&library, ask, Task::Train);
    (runs, library)
}

fn told(name: &str, terms: Terms, steps: &[Measured], library: &dyn Regressors) -> Calibration {
    let calibration = calibrate(steps, Vec::new(), Mode::Default, terms, &bundle().catalogue, library).unwrap();
    let of = &calibration;
    println!(
        "{name} {terms:?}: uncalibrated {:.1} %; 5×5 folds {:.1} [{:.1}, {:.1}] %, unseen model {:.1} %, Spearman {:.3}, \
         regret {:.1} %, coverage {:.1} %",
        of.uncalibrated.mape,
        of.cross_validated.mape,
        of.repeats[0],
        of.repeats[1],
        of.unseen_model.as_ref().map_or(f64::NAN, |scores| scores.mape),
        of.cross_validated.spearman,
        of.cross_validated.regret,
        of.coverage
    );
    println!("  {:?}", of.coefficients);
    println!(
        "  intervals of other models' residuals hold {:?} %; of those without a calibration {:?} %",
        of.unseen_coverage, of.plain_coverage
    );
    calibration
}

/// Median errors of uncalibrated predictions by one factor after the other: what they share, the model lacks.
fn by_factor(steps: &[Measured], library: &dyn Regressors) {
    let catalogue = &bundle().catalogue;
    let error = |step: &Measured| {
        let total = step::plan(&step.run, Mode::Default, catalogue, library).unwrap().step().total_us;
        (total / step.time_us - 1.0) * 100.0
    };
    let errors: Vec<f64> = steps.iter().map(error).collect();
    type Factor = (&'static str, fn(&Run) -> u32);
    let factors: [Factor; 6] = [
        ("layers", |run| run.model.layers),
        ("tp", |run| run.layout.tensor),
        ("pp", |run| run.layout.pipeline),
        ("dp", |run| run.layout.data),
        ("b", |run| run.micro_batch),
        ("m", |run| run.micro_batches),
    ];
    for (name, of) in factors {
        let mut values: Vec<u32> = steps.iter().map(|step| of(&step.run)).collect();
        values.sort_unstable();
        values.dedup();
        let middle = |value: u32| {
            let own = steps.iter().zip(&errors).filter(|(step, _)| of(&step.run) == value);
            let mut own: Vec<f64> = own.map(|(_, error)| *error).collect();
            own.sort_by(f64::total_cmp);
            format!("{value}: {:+.1} % ({})", own[own.len() / 2], own.len())
        };
        let all: Vec<String> = values.into_iter().map(middle).collect();
        println!("  {name}: {}", all.join(", "));
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn steps_over_several_nodes_are_calibrated() {
    let (runs, library) = steps("ground_truth_multi");
    assert_eq!(runs.len(), 73);
    by_factor(&runs, &library);
    for terms in [Terms::Four, Terms::Six] {
        let found = told("multi", terms, &runs, &library);
        assert!(found.uncalibrated.mape <= 12.0, "{}", found.uncalibrated.mape);
        assert!(found.cross_validated.mape <= 9.0, "{}", found.cross_validated.mape);
        assert!(found.cross_validated.regret <= 5.5, "{}", found.cross_validated.regret);
        assert!((85.0..=95.0).contains(&found.coverage), "{}", found.coverage);
    }
    // Repeats of few layouts determine no coefficients, and are no test of each other.
    let repeats = |layouts: usize| -> Vec<Measured> {
        (0..36)
            .map(|at| Measured {
                time_us: runs[at % layouts].time_us * (1.0 + 0.001 * at as f64),
                ..runs[at % layouts].clone()
            })
            .collect()
    };
    let catalogue = &bundle().catalogue;
    let calibrated = |steps: &[Measured]| calibrate(steps, Vec::new(), Mode::Default, Terms::Four, catalogue, &library);
    let why = calibrated(&repeats(2)).unwrap_err().to_string();
    assert!(why.starts_with("measured steps of 2 layouts can be predicted; at least 10 are needed"), "{why}");
    let [twelve, once] =
        [repeats(12), runs[..12].to_vec()].map(|steps| calibrated(&steps).unwrap().cross_validated.mape);
    assert!(twelve > 0.7 * once, "{twelve} {once}");
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn steps_on_one_node_are_calibrated() {
    let (runs, library) = steps("ground_truth_single");
    assert_eq!(runs.len(), 1020);
    let begin = Instant::now();
    let four = told("single", Terms::Four, &runs, &library);
    println!("in {:.2?}", begin.elapsed());
    let six = told("single", Terms::Six, &runs, &library);
    let best = if six.cross_validated.mape < four.cross_validated.mape { six } else { four };
    assert!(best.cross_validated.mape <= 8.8, "{}", best.cross_validated.mape);
    assert!(best.cross_validated.regret <= 4.0, "{}", best.cross_validated.regret);
    assert!((85.0..=95.0).contains(&best.coverage), "{}", best.coverage);
}

/// The intervals as they are shown, of the steps' residuals and of the draws of their regressors' errors: they hold 85
/// to 95 % of the measured steps. Those of the draws alone hold fewer, and are called a spread.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn steps_lie_in_their_intervals() {
    for (name, each) in [("ground_truth_multi", 1), ("ground_truth_single", 20)] {
        let (runs, library) = steps(name);
        let catalogue = &bundle().catalogue;
        let ask = |rehearsal: &dyn Regressors| {
            for step in runs.iter().step_by(each) {
                drop(step::plan(&step.run, Mode::Default, catalogue, rehearsal));
            }
        };
        work(&library, ask, Task::Validate);
        let calibration = calibrate(&runs, Vec::new(), Mode::Default, Terms::Four, catalogue, &library).unwrap();
        let mut draws = Draws::new(&library, 42);
        let (mut shown, mut spread, mut headlines, mut count) = (0, 0, 0, 0);
        for (at, step) in runs.iter().enumerate().step_by(each) {
            let plan = plan(&step.run, &library);
            let held = |[low, high]: [f64; 2]| usize::from(low <= step.time_us && step.time_us <= high);
            let plain = draws.totals(&plan, &Coefficients::default());
            spread += held(interval(plan.step().total_us, plain, &[]));
            // Predicted, and its interval made, without the step itself.
            let said = calibration.points[at].1;
            let mut others = calibration.residuals.clone();
            others.remove(at);
            let ends = interval(said, draws.totals(&plan, &calibration.coefficients), &others);
            shown += held(ends);
            headlines += usize::from(ends[0] <= said && said <= ends[1]);
            count += 1;
        }
        let percent = |held: usize| held as f64 / f64::from(count) * 100.0;
        println!(
            "{name}, {count} steps: intervals hold {:.0} %, spreads of the samples {:.0} %",
            percent(shown),
            percent(spread)
        );
        assert_eq!(headlines, count as usize);
        assert!((85.0..=95.0).contains(&percent(shown)), "{name}: {}", percent(shown));
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn selene_is_predicted_uncalibrated() {
    let (steps, library) = steps("selene");
    for step in &steps {
        let plan = plan(&step.run, &library);
        let found = plan.step();
        let deviation = (found.total_us / step.time_us - 1.0) * 100.0;
        let marks = plan.marks(&found);
        println!(
            "{} layers, {:?}: {:.2} s, measured {:.2} s, {deviation:+.1} %, bubble {:.1} %, extrapolated {:.0} %",
            step.run.model.layers,
            step.run.execution.recompute,
            found.total_us / 1e6,
            step.time_us / 1e6,
            found.components.of(Component::Bubble) / found.total_us * 100.0,
            (marks[2] + marks[3]) * 100.0
        );
        if step.run.execution.recompute == Recompute::Full {
            assert!(deviation.abs() <= 10.0, "{deviation}");
        }
        assert!(marks[2] + marks[3] > 0.0);
    }
}
