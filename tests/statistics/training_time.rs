//! Training time: whether a calibration helps, and what intervals of steps hold.

use collectune::{
    math::{Stream, exp},
    training_time::{
        calibrate::{Coefficients, Measured, Terms, calibrate},
        interval::{Draws, interval},
        run::Run,
        step::{self, Mode, Plan},
    },
};

use super::{
    physics::Physics,
    reference::{gpt, run},
    support::{counts::Count, threads::on_threads},
    table::Table,
};

/// What really is, beside what the samples say.
#[derive(Clone, Copy)]
struct World {
    /// Factors that all steps share.
    coefficients: Coefficients,
    /// Deviation of a factor that each model has for itself.
    of_models: f64,
    /// Deviation of single steps.
    of_steps: f64,
}

/// Layouts of a model, as a campaign measures them.
fn runs(models: usize, each: usize, seed: u64) -> Vec<(usize, Run)> {
    let mut stream = Stream::new(seed);
    let mut all = Vec::new();
    for model in 0..models {
        let heads = [16, 24, 32, 40, 48, 64][model % 6];
        let of = gpt([16, 24, 32, 40][model % 4], heads * 128, heads, 2048);
        for _ in 0..each {
            let mut pick = |of: &[u32]| of[stream.below(of.len())];
            let layout = [pick(&[1, 2, 4, 8]), pick(&[1, 2, 4, 8]), pick(&[1, 2, 4, 8, 16]), 8];
            let (micro_batch, micro_batches) = (pick(&[1, 2, 4]), pick(&[8, 16, 32, 64]));
            all.push((model, run(of.clone(), layout, micro_batch, micro_batches)));
        }
    }
    all
}

fn plan(run: &Run, physics: &Physics) -> Plan {
    step::plan(run, Mode::Default, &physics.catalogue, physics).unwrap()
}

/// Steps of models, and of as many other layouts of the same and of other models.
struct Campaign {
    measured: Vec<Measured>,
    /// With whether the model is among the measured ones.
    new: Vec<(Measured, bool)>,
}

fn campaign(world: &World, physics: &Physics, models: usize, each: usize, seed: u64) -> Campaign {
    let mut stream = Stream::new(seed ^ 0x7E);
    // As many models again are not measured.
    let factors: Vec<f64> = (0..2 * models).map(|_| world.of_models * stream.normal()).collect();
    let mut time = |model: usize, run: Run| {
        let plan = plan(&run, physics);
        let total = world.coefficients.total(&plan, &plan.step());
        Measured { time_us: total * exp(factors[model] + world.of_steps * stream.normal()), run }
    };
    let measured = runs(models, each, seed).into_iter().map(|(model, run)| time(model, run)).collect();
    let new = runs(2 * models, 2, seed ^ 0xFF).into_iter().map(|(model, mut run)| {
        if model >= models {
            // Another sequence length makes it another model.
            run.model.sequence = 4096;
        }
        (time(model, run), model < models)
    });
    Campaign { measured, new: new.collect() }
}

#[derive(Clone, Copy, Default)]
struct Shares {
    /// The calibration is said to help.
    helps: Count,
    /// It makes new steps worse than none does.
    harms: Count,
    /// New steps lie in what is called their 90 % interval…
    intervals: Count,
    /// …and in what is called a range of measured errors.
    ranges: Count,
    /// Mean error of new steps as they are shown, and without any calibration.
    errors: [f64; 2],
}

fn of_campaign(world: &World, models: usize, each: usize, seed: u64) -> [Shares; 2] {
    let physics = Physics::new();
    let Campaign { measured, new } = campaign(world, &physics, models, each, seed);
    let calibration =
        calibrate(&measured, Vec::new(), Mode::Default, Terms::Four, &physics.catalogue, &physics).unwrap();
    let mut draws = Draws::new(&physics, 42);
    let mut shares = [Shares::default(); 2];
    let mut helps = [false; 2];
    for (step, is_seen) in &new {
        let of = &mut shares[usize::from(!is_seen)];
        let applied = calibration.applied(&step.run.model, false);
        assert_eq!(applied.is_seen, *is_seen);
        helps[usize::from(!is_seen)] = applied.is_used;
        let plan = plan(&step.run, &physics);
        let said = applied.coefficients.total(&plan, &plan.step());
        let [low, high] = interval(said, draws.totals(&plan, &applied.coefficients), &applied.residuals);
        assert!(low <= said && said <= high);
        let is_held = (low..=high).contains(&step.time_us);
        if applied.is_interval() {
            of.intervals.add(is_held);
        } else {
            of.ranges.add(is_held);
        }
        let plain = plan.step().total_us;
        let error = |said: f64| (said / step.time_us - 1.0).abs() * 100.0 * 2.0 / new.len() as f64;
        of.errors[0] += error(said);
        of.errors[1] += error(plain);
    }
    for (of, helps) in shares.iter_mut().zip(helps) {
        of.helps.add(helps);
        of.harms.add(helps && of.errors[0] > of.errors[1]);
    }
    shares
}

#[test]
fn intervals_of_calibrated_steps_hold_and_calibrations_that_do_not_help_are_not_used() {
    const CAMPAIGNS: usize = 30;
    let off = Coefficients { pipeline: 1.2, exchange: 1.5, optimizer: 1.1, pass_us: 200.0, ..Coefficients::default() };
    let mut table = Table::new(
        "calibrations on measured steps",
        &[
            "what is measured",
            "steps",
            "asked for",
            "coefficients are used",
            "and make it worse",
            "mean error as shown, without",
            "in what is called a 90 % interval",
            "in what is called a range of errors",
        ],
    );
    let world = |coefficients, of_models, of_steps| World { coefficients, of_models, of_steps };
    for (name, world) in [
        ("20 % more than predicted, 5 % between steps", world(off, 0.0, 0.05)),
        ("as predicted, 5 % between steps", world(Coefficients::default(), 0.0, 0.05)),
        ("20 % more, 10 % between models", world(off, 0.1, 0.05)),
        ("as predicted, 10 % between models", world(Coefficients::default(), 0.1, 0.05)),
    ] {
        for (models, each) in [(6, 4), (6, 12), (6, 40)] {
            let all = on_threads(CAMPAIGNS, |seed| of_campaign(&world, models, each, seed as u64));
            for (place, asked) in ["measured models", "other models"].into_iter().enumerate() {
                let mut sum = Shares::default();
                for of in all.iter().map(|of| &of[place]) {
                    sum.helps = sum.helps.plus(of.helps);
                    sum.harms = sum.harms.plus(of.harms);
                    sum.intervals = sum.intervals.plus(of.intervals);
                    sum.ranges = sum.ranges.plus(of.ranges);
                    sum.errors = [0, 1].map(|at| sum.errors[at] + of.errors[at] / CAMPAIGNS as f64);
                }
                let errors = format!("{:.1} %, {:.1} %", sum.errors[0], sum.errors[1]);
                let steps = models * each;
                table.row(&[&name, &steps, &asked, &sum.helps, &sum.harms, &errors, &sum.intervals, &sum.ranges]);
                // Steps of a campaign share its calibration: a campaign counts for one.
                if sum.intervals.all > 0 {
                    let of_campaigns = sum.intervals.share() * f64::from(sum.helps.all);
                    let campaigns = Count { of: of_campaigns.round() as u32, all: sum.helps.all };
                    table.check(campaigns.is_at_least(0.85), "85 % and more in 90 % intervals");
                }
                // Whether they help is itself told from a few models: where it is not so, they must cost little.
                table.check(sum.errors[0] <= sum.errors[1] + 1.0, "what is shown is hardly worse than without");
            }
        }
    }
    table.settle();
}
