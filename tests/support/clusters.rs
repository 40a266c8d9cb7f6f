//! Regressors of the shared samples, and what the example of the specification asks of them.

use std::sync::Arc;

use collectune::training_time::{
    catalogue::Catalogue,
    health::health,
    prediction::{Direction, Mark, Missing, Prediction, Regressors},
    regressors::{Library, Mode, Options},
    samples::{Cluster, Communicator},
    scope::Scope,
};

use super::real;

/// The samples of a cluster.
pub fn cluster(name: &str) -> Arc<Cluster> {
    let mut clusters = real::clusters().clusters.into_iter();
    Arc::new(clusters.find(|cluster| cluster.name == name).unwrap())
}

/// The regressors of samples.
pub fn library(cluster: &Arc<Cluster>, mode: Mode) -> Library {
    let catalogue = Arc::new(Catalogue::built_in());
    let options = Options::new(mode, "fp16", &health(cluster, &catalogue));
    Library::new(Arc::clone(cluster), catalogue, options)
}

/// Example P: what it asks of operators and collectives.
pub fn example() -> Scope {
    Scope::from([
        ("mp", 2.0),
        ("pp", 4.0),
        ("dp", 2.0),
        ("g", 4.0),
        ("b", 4.0),
        ("h", 32.0),
        ("l", 4096.0),
        ("dim", 4096.0),
        ("vocabulary", 50257.0),
    ])
}

const OPERATORS: [&str; 12] = [
    "embedding",
    "RMSlayernorm",
    "linear1",
    "RoPE",
    "flash_atten",
    "linear2",
    "linear3",
    "gelu",
    "linear4",
    "linear_final",
    "parallel_cross_entropy_128",
    "res_add",
];

/// Optimizers with the layers of their stages.
pub const OPTIMIZERS: [(&str, f64); 3] =
    [("firstStage_optimizer", 8.0), ("middleStage_optimizer", 9.0), ("lastStage_optimizer", 6.0)];

fn optimizer_scope(layers: f64) -> Scope {
    example().with("encoders", layers)
}

/// Asks for everything that example P needs.
pub fn ask(regressors: &dyn Regressors) -> Vec<(String, f64, Mark)> {
    let mut said = Vec::new();
    let mut push = |name: String, prediction: Result<Prediction, _>| {
        let prediction: Prediction = prediction.unwrap_or_else(|missing: Missing| panic!("{missing}"));
        said.push((name, prediction.time_us, prediction.mark));
    };
    for name in OPERATORS {
        for (direction, suffix) in [(Direction::Forward, "fwd"), (Direction::Backward, "bwd")] {
            push(format!("{name}_{suffix}"), regressors.operator(name, direction, &example()));
        }
    }
    for (name, layers) in OPTIMIZERS {
        push(name.to_owned(), regressors.operator(name, Direction::Forward, &optimizer_scope(layers)));
    }
    let over = |nodes, per_node| Communicator { nodes, per_node };
    push("pp_p2p".to_owned(), regressors.collective("p2p", 33_554_432, over(2, 1)));
    push("mp_allreduce".to_owned(), regressors.collective("allreduce", 67_108_864, over(1, 2)));
    for (stage, parameters) in [908_869_632, 906_283_008, 707_481_600_u64].into_iter().enumerate() {
        push(format!("dp_allreduce {stage}"), regressors.collective("allreduce_large", parameters, over(1, 2)));
        push(format!("dp_allgather {stage}"), regressors.collective("allgather_large", parameters / 2, over(1, 2)));
    }
    said
}
