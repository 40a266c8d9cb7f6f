//! The reference's results, and regressors that answer with them.

use collectune::training_time::{
    prediction::{Direction, Mark, Missing, Prediction, Regressors},
    run::{Execution, Layout, Model, Run},
    samples::Communicator,
    scope::Scope,
    step::plan::{PartQuery, StepPart},
};
use serde_json::Value;

/// One microsecond for everything.
pub struct One;

pub fn prediction(time_us: f64) -> Prediction {
    Prediction { time_us, mark: Mark::Measured, beyond: None, regressor: 0, least_us: 0.0 }
}

impl Regressors for One {
    fn operator(&self, _: &str, _: Direction, _: &Scope) -> Result<Prediction, Missing> {
        Ok(prediction(1.0))
    }
    fn collective(&self, _: &str, _: u64, _: Communicator) -> Result<Prediction, Missing> {
        Ok(prediction(1.0))
    }
    fn residuals(&self, _: u32, _: Mark) -> &[f64] {
        &[]
    }
}

pub fn gpt(layers: u32, hidden: u32, heads: u32, sequence: u32) -> Model {
    Model {
        layer: [
            "RMSlayernorm",
            "linear1",
            "RoPE",
            "flash_atten",
            "linear2",
            "RMSlayernorm",
            "res_add",
            "linear3",
            "gelu",
            "linear4",
            "res_add",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Model::dense(layers, hidden, heads, sequence)
    }
}

pub fn run(model: Model, layout: [u32; 4], micro_batch: u32, micro_batches: u32) -> Run {
    let [pipeline, tensor, data, gpus_per_node] = layout;
    Run {
        name: "run".to_owned(),
        gpu: None,
        cluster: None,
        model,
        layout: Layout { pipeline, tensor, data, expert: 1, gpus_per_node },
        micro_batch,
        micro_batches,
        execution: Execution::default(),
    }
}

/// The run of a case: `[pp, mp, dp, b, h, l, dim, steps_per_update, gpus_per_node]`.
pub fn run_of(case: &Value) -> Run {
    let of = |at: usize| case["training_config"][at].as_u64().unwrap() as u32;
    let model = gpt(case["encoders"].as_u64().unwrap() as u32, of(6), of(4), of(5));
    run(model, [of(0), of(1), of(2), of(8)], of(3), of(7))
}

/// The time of a part in a case; of what belongs to a stage, of which: its index among first, middle, last.
pub fn time_of(case: &Value, part: &StepPart, stage: Option<usize>) -> f64 {
    let components = &case["components"];
    let of_stage = |key: &str| components[key][stage.unwrap()].as_f64().unwrap();
    match (&part.asked, part.name.as_str()) {
        (_, "allreduce") => components["mp_allreduce"].as_f64().unwrap(),
        (_, "p2p") => components["pp_p2p"].as_f64().unwrap(),
        (_, "allreduce_large") => of_stage("dp_allreduce"),
        (_, "allgather_large") => of_stage("dp_allgather"),
        (_, name) if name.ends_with("_optimizer") => of_stage("optimizer"),
        (PartQuery::Operator(direction, _), name) => {
            let way = if *direction == Direction::Forward { "fwd" } else { "bwd" };
            components[format!("{name}_{way}")].as_f64().unwrap_or_else(|| panic!("{name}_{way}"))
        }
        (asked, name) => panic!("{name} {asked:?}"),
    }
}

/// The times of all parts of a plan in a case; stages are first, middle and last, or all like these.
pub fn times_of(case: &Value, plan: &collectune::training_time::step::Plan) -> Vec<f64> {
    let mut stages = vec![None; plan.parts.len()];
    let last = plan.stages.len() - 1;
    for (index, stage) in plan.stages.iter().enumerate() {
        let kind = if index == 0 {
            0
        } else if index == last {
            2
        } else {
            1
        };
        for used in [&stage.all_reduce, &stage.all_gather, &stage.optimizer].into_iter().flatten() {
            stages[used.part as usize] = Some(kind);
        }
    }
    plan.parts.iter().zip(stages).map(|(part, stage)| time_of(case, part, stage)).collect()
}
