//! Prints what each preset learns and answers, as hashes: `compare.sh` runs it natively and under node.

use std::sync::Arc;

use collectune::{
    collective::Collective,
    intake::{self, FileContent},
    math::{self, Stream},
    overlap::{
        features::Settings,
        kernel::{Dataset, Kernel},
        models::Kind,
        validate::{Job, Scheme, predict_fold},
    },
    progress::Silent,
    training_time::{
        catalogue::Catalogue,
        prediction::{Direction, Regressors},
        regressors::{Library, Mode, Options, jobs::Task},
        samples::{Cluster, CollectiveRow, CollectiveSamples, Communicator, OperatorSamples, SourceLine},
        scope::Scope,
    },
    tuning::{
        aggregate::Target,
        export,
        parameters::{Parameters, Preset},
        runs::aggregate,
        simulate::Simulation,
        study::TuningStudy,
        validate,
    },
};

fn main() {
    let simulation = Simulation {
        collectives: vec![Collective::AllReduce, Collective::AllGather],
        nodes: vec![1, 2, 3],
        sizes: (12..24).map(|log2| 1 << log2).chain([368_640, 8_388_480]).collect(),
        channels: vec![1, 2, 4, 8, 16, 24, 32],
        repeats: 2,
        seed: 11,
    };
    let csv = simulation.to_csv();
    say(&format!("sweep {:016x}", fingerprint(&csv)));
    let (_, content) = intake::open(csv.as_bytes(), "simulated.csv", csv.len() as u64, 0, None, &mut Silent);
    let FileContent::Rows(rows) = content else { panic!("a simulated sweep opens") };
    let sweep = aggregate(&rows, Target::Time);
    for preset in [Preset::Default, Preset::Seed, Preset::Forest, Preset::ExtraTrees] {
        let parameters = Parameters { preset, trees: 60, stages: 60, early_stopping: 20, ..Parameters::default() };
        let folds: Vec<_> = validate::all_folds(&sweep.points)
            .into_iter()
            .map(|(scheme, fold)| {
                validate::predict_fold(&sweep.points, &parameters, scheme, fold, &mut Silent).expect("points to fit")
            })
            .collect();
        let mut study = TuningStudy::new(sweep.clone(), Target::Time);
        study.train(parameters, &mut Silent).expect("points to fit");
        let (evaluation, answer) = study.validate(&folds, &mut Silent).expect("a model");
        let answer = fingerprint(&format!("{evaluation:?}{}", export::json(answer, None)));
        let model = study.model_file(&Default::default()).expect("a model").hash;
        say(&format!("{preset:?}: model {model}, answer {answer:016x}"));
    }
    overlap();
    training_time();
    bandits();
}

/// Every kind of regressor of training time: what it says, and its errors out of fold.
fn training_time() {
    let mut random = Stream::new(5);
    let mut linear = OperatorSamples {
        operator: "linear1".to_owned(),
        precision: "fp16".to_owned(),
        inputs: ["mp", "b", "l", "dim"].map(str::to_owned).to_vec(),
        ..OperatorSamples::default()
    };
    let mut messages = CollectiveSamples { collective: "allreduce".to_owned(), ..CollectiveSamples::default() };
    for row in 0..160_u32 {
        let inputs = [1 << (row % 3), 1 << (row / 3 % 3), 512 * (1 + row % 5), 1024 * (1 + row % 7)].map(f64::from);
        let flop = 6.0 * inputs[1] * inputs[2] * inputs[3] * inputs[3] / inputs[0];
        linear.values.extend(inputs);
        linear.forward_us.push(20.0 + flop / 2e8 * (1.0 + 0.1 * random.unit()));
        linear.backward_us.push(30.0 + flop / 1e8 * (1.0 + 0.1 * random.unit()));
        linear.places.push(SourceLine { file: 0, line: row + 2 });
        messages.rows.push(CollectiveRow {
            elements: 1_000_000 + 60_000 * u64::from(row),
            communicator: Communicator { nodes: 1 + row / 80, per_node: 4 },
            time_us: 30.0 + f64::from(row) * (1.0 + random.unit()),
            place: SourceLine { file: 1, line: row + 2 },
        });
    }
    let cluster = Arc::new(Cluster {
        name: "Perlmutter".to_owned(),
        gpu: "A100".to_owned(),
        operators: vec![linear],
        collectives: vec![messages],
        settings: Vec::new(),
    });
    let catalogue = Arc::new(Catalogue::built_in());
    for mode in [Mode::Default, Mode::Parity] {
        let options = Options { mode, ..Options::default() };
        let library = Library::new(Arc::clone(&cluster), Arc::clone(&catalogue), options);
        let all: Vec<u32> = (0..library.targets().count() as u32).collect();
        let learnt: Vec<Vec<u8>> = [Task::Train, Task::Validate]
            .into_iter()
            .flat_map(|task| library.jobs(&all, task))
            .map(|job| library.work(job, &mut Silent))
            .collect();
        let scope = Scope::from([("mp", 8.0), ("b", 3.0), ("l", 4096.0), ("dim", 8192.0), ("vocabulary", 50257.0)]);
        let linear1 = library.operator("linear1", Direction::Forward, &scope);
        let over = library.collective("allreduce", 7_654_321, Communicator { nodes: 4, per_node: 4 });
        say(&format!("{}: {:016x}", mode.name(), fingerprint(&format!("{learnt:?} {linear1:?} {over:?}"))));
    }
}

/// Draws, shuffles, what strategies play, and what logs come to.
fn bandits() {
    use collectune::{
        bandit::{
            draws,
            environment::{Environment, Simulation},
            replay::StrategyReplay,
            schedule,
            strategies::StrategyKind,
        },
        policy::{read, simulate, study},
    };
    let drawn: Vec<(f64, f64)> = (0..50).map(|i| (draws::uniform(7, 2, i), draws::normal(7, 2, i))).collect();
    say(&format!("draws: {:016x}", fingerprint(&format!("{drawn:?}"))));
    let mut order = vec![0; 64];
    schedule::fill_block(&[61, 1, 1, 1], 42, 0xD8FD_171D_3B55_A31B, 3, &mut order);
    say(&format!("shuffle: {order:?}"));
    for (world, name) in
        [(Simulation::clear(), "clear"), (Simulation::two_modes(), "two modes"), (Simulation::drift(), "drift")]
    {
        let replay = StrategyReplay {
            environment: Environment::Simulated(world),
            auto: 3,
            steps: 500,
            strategies: StrategyKind::ALL.to_vec(),
        };
        let tallies = replay.run(0, 3, &mut Silent);
        say(&format!("{name}: {:016x}", fingerprint(&format!("{tallies:?}"))));
    }
    let log = simulate::overlap_log(1);
    let (_, content) = intake::open(log.as_bytes(), "log.csv", log.len() as u64, 0, None, &mut Silent);
    let FileContent::Rewards(log) = content else { panic!("a simulated log opens") };
    let mut study = study::PolicyStudy::new(vec![read::NamedLog { name: "log.csv".to_owned(), log: *log }]);
    let studied = study.study(Default::default(), &mut Silent).expect("keys");
    say(&format!("judged: {:016x}", fingerprint(&format!("{:?}", studied.results))));
}

/// Every model of slowdowns, out of fold.
fn overlap() {
    let mut random = Stream::new(3);
    let kernels = (1..=120).map(|line| Kernel {
        name: ["gemm", "norm", "relu"][random.below(3)].to_owned(),
        line,
        alone_ns: 1e3 + 1e6 * random.unit(),
        duration_ns: 1e3 + 2e6 * random.unit(),
        overlap_ratio: 0.01 * random.below(101) as f64,
        metrics: vec![100.0 * random.unit(), random.below(5) as f64, random.normal()],
    });
    let dataset = Dataset {
        name: "simulated".to_owned(),
        columns: ["a", "b", "c"].map(str::to_owned).to_vec(),
        kernels: kernels.collect(),
        contradictions: (0, None),
    };
    for kind in Kind::ALL {
        let job = Job { kind, scheme: Scheme::Kernels(0), fold: 1 };
        let said = predict_fold(&dataset, &Settings::default(), job, &mut Silent).expect("kernels to fit");
        say(&format!("{}: {:016x}", kind.name(), fingerprint(&format!("{said:?}"))));
    }
}

fn fingerprint(text: &str) -> u64 {
    math::hash(text.as_bytes())
}

#[cfg(not(target_arch = "wasm32"))]
fn say(line: &str) {
    println!("{line}");
}

#[cfg(target_arch = "wasm32")]
fn say(line: &str) {
    web_sys::console::log_1(&line.into());
}
