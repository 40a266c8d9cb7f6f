//! Tuning at sizes that were not measured, or once each: intervals of busbw and of gains, and what is deployed by them.

use collectune::{
    collective::{Collective, Configuration, Workload},
    progress::Silent,
    tuning::{
        aggregate::Target,
        decision::Decision,
        parameters::Parameters,
        read::{Row, RunKind},
        result::Recommendation,
        runs::{Runs, aggregate},
        simulate::Simulation,
        study::TuningStudy,
        sweep::Sweep,
        validate,
    },
};

use super::{
    support::{campaigns::read, counts::Count, threads::on_threads},
    table::Table,
};

/// Sizes that are asked for and were not measured.
const LEFT_OUT: [u64; 4] = [1 << 14, 1 << 18, 1 << 22, 1 << 26];

/// Channels that were measured; between them a model may choose any.
const CHANNELS: [u32; 5] = [1, 4, 8, 16, 32];

fn rows(channels: Vec<u32>, repeats: u32, seed: u64) -> Vec<Row> {
    let simulation = Simulation {
        collectives: vec![Collective::AllReduce],
        nodes: vec![2],
        sizes: (12..=28).map(|log2| 1 << log2).collect(),
        channels,
        repeats,
        seed,
    };
    read("simulated.csv", simulation.to_csv().as_bytes())
}

/// The simulated cluster with what is really fastest at each size.
struct World {
    truth: Sweep,
    /// The default is the fastest configuration: nothing can be gained.
    is_default_best: bool,
}

impl World {
    fn new(is_default_best: bool) -> Self {
        Self { truth: aggregate(&rows((1..=32).collect(), 21, 1_000_003), Target::Time), is_default_best }
    }

    fn best(&self, workload: &Workload) -> Configuration {
        self.truth.best_at(workload).unwrap().configuration
    }

    fn busbw(&self, workload: &Workload, configuration: &Configuration) -> f64 {
        let points = self.truth.points_at(workload);
        points.iter().find(|point| point.configuration == *configuration).unwrap().busbw_gbps
    }

    fn default(&self, workload: &Workload) -> f64 {
        if self.is_default_best {
            self.busbw(workload, &self.best(workload))
        } else {
            self.truth.default_at(workload).unwrap().busbw_gbps
        }
    }

    /// A campaign.
    fn measured(&self, repeats: u32, seed: u64) -> Vec<Row> {
        let mut all = rows(CHANNELS.to_vec(), repeats, seed);
        if self.is_default_best {
            all.retain(|row| row.kind == RunKind::Asked);
            let mut defaults = rows((1..=32).collect(), repeats, seed + 500_009);
            defaults.retain(|row| row.kind == RunKind::Asked && row.ran == self.best(&row.workload));
            defaults.iter_mut().for_each(|row| (row.kind, row.line) = (RunKind::Default, row.line + 1_000_000));
            all.extend(defaults);
        }
        all
    }

    /// Learns from a campaign without the sizes that are left out, and answers all sizes.
    fn answered(&self, repeats: u32, seed: u64) -> (TuningStudy, Vec<Recommendation>) {
        let mut rows = self.measured(repeats, seed);
        rows.retain(|row| !LEFT_OUT.contains(&row.workload.size_bytes));
        let mut study = TuningStudy::of_runs(Runs::new(rows, Target::Time), Target::Time);
        let parameters = Parameters::default();
        study.train(parameters.clone(), &mut Silent).unwrap();
        let points = study.sweep().points.clone();
        let fold = |(scheme, fold)| validate::predict_fold(&points, &parameters, scheme, fold, &mut Silent).unwrap();
        let folds: Vec<validate::FoldPredictions> = validate::all_folds(&points).into_iter().map(fold).collect();
        let mut all = study.validate(&folds, &mut Silent).unwrap().1.to_vec();
        let unmeasured: Vec<Workload> =
            self.truth.workloads().filter(|workload| LEFT_OUT.contains(&workload.size_bytes)).collect();
        all.extend(study.recommend(&unmeasured, None, false, &mut Silent).unwrap());
        (study, all)
    }
}

#[derive(Clone, Copy, Default)]
struct Shares {
    /// Something is deployed.
    deployed: Count,
    /// It is no faster than the default.
    wrong: Count,
    /// The whole interval of its gain lies above nothing, and it is no faster.
    wrong_by_interval: Count,
    /// The true gain lies in the interval.
    gain_held: Count,
    /// A new measurement of the choice lies in the interval of its busbw.
    held: Count,
}

impl Shares {
    fn add(&mut self, world: &World, answer: &Recommendation, new: &Sweep) {
        let deploys = answer.decision == Decision::Deploy;
        self.deployed.add(deploys);
        let Some(choice) = answer.configuration else {
            self.wrong.add(false);
            return;
        };
        let gain = world.busbw(&answer.workload, &choice) / world.default(&answer.workload) - 1.0;
        self.wrong.add(deploys && gain <= 0.0);
        if let Some(stated) = answer.gain {
            self.wrong_by_interval.add(stated.low_pct > 0.0 && gain <= 0.0);
            self.gain_held.add((stated.low_pct..=stated.high_pct).contains(&(gain * 100.0)));
        }
        let point = new.points_at(&answer.workload).iter().find(|point| point.configuration == choice).unwrap();
        if let Some(stated) = answer.interval_90 {
            self.held.add((stated.low_gbps..=stated.high_gbps).contains(&point.busbw_gbps));
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            deployed: self.deployed.plus(other.deployed),
            wrong: self.wrong.plus(other.wrong),
            wrong_by_interval: self.wrong_by_interval.plus(other.wrong_by_interval),
            gain_held: self.gain_held.plus(other.gain_held),
            held: self.held.plus(other.held),
        }
    }
}

const CAMPAIGNS: usize = 8;

/// At measured sizes and at those that were left out, and the mean shares of held-out measurements in their intervals.
fn shares(is_default_best: bool, repeats: u32) -> ([Shares; 2], [f64; 2]) {
    let world = World::new(is_default_best);
    let of_campaign = |seed: usize| {
        let (study, answers) = world.answered(repeats, 2 * seed as u64);
        let new = aggregate(&rows((1..=32).collect(), repeats, 2 * seed as u64 + 1), Target::Time);
        let mut shares = [Shares::default(); 2];
        for answer in &answers {
            shares[usize::from(LEFT_OUT.contains(&answer.workload.size_bytes))].add(&world, answer, &new);
        }
        let of = study.evaluation().unwrap();
        (shares, [&of.by_size, &of.by_configuration].map(|scores| scores.coverage_90_pct.unwrap()))
    };
    let all = on_threads(CAMPAIGNS, of_campaign);
    let mean = |which: usize| all.iter().map(|(_, held)| held[which]).sum::<f64>() / all.len() as f64;
    let held = [mean(0), mean(1)];
    let sum = |which: usize| all.iter().map(|(shares, _)| shares[which]).reduce(Shares::plus).unwrap();
    ([sum(0), sum(1)], held)
}

const COLUMNS: [&str; 9] = [
    "the default is",
    "repeats",
    "sizes",
    "*deploy*",
    "and is no faster than the default",
    "interval above nothing, and no faster",
    "gain is held",
    "new measurement is held",
    "held-out measurements held: by size, by configuration",
];

fn rows_of(table: &mut Table, is_default_best: bool, repeats: u32) -> [Shares; 2] {
    let (of, [by_size, by_configuration]) = shares(is_default_best, repeats);
    let default = if is_default_best { "the fastest" } else { "a library's choice" };
    let held = format!("{by_size:.1} %, {by_configuration:.1} %");
    for (place, sizes) in ["measured", "left out"].into_iter().enumerate() {
        let Shares { deployed, wrong, wrong_by_interval, gain_held, held: new } = of[place];
        table.row(&[&default, &repeats, &sizes, &deployed, &wrong, &wrong_by_interval, &gain_held, &new, &held]);
    }
    of
}

#[test]
fn intervals_of_what_was_not_measured_hold_and_single_runs_deploy_as_seldom_as_stated() {
    let mut table = Table::new("predictions", &COLUMNS);
    for (is_default_best, repeats) in [(true, 3), (true, 1), (false, 3), (false, 1)] {
        let [measured, left_out] = rows_of(&mut table, is_default_best, repeats);
        table.at_most(measured.wrong, 0.05);
        table.at_most(left_out.wrong, 0.05);
        table.at_least(measured.gain_held, 0.9);
        table.at_least(measured.held.plus(left_out.held), 0.9);
    }
    table.settle();
}
