//! The shared samples of clusters.

use std::{path::Path, sync::Arc};

use collectune::training_time::{
    prediction::{Direction, Mark, Missing, Prediction, Regressors},
    samples::{
        Cluster, CollectiveRow, CollectiveSamples, Communicator, Family, OperatorSamples, Place, Setting, SettingOf,
    },
    scope::Scope,
};

use super::real;

/// A folder of samples as a cluster.
pub fn cluster(name: &str) -> Option<Arc<Cluster>> {
    let folder = real::path(&format!("training_time/ett/{name}"))?;
    let mut cluster = Cluster { name: name.to_owned(), ..Cluster::default() };
    for kind in ["operator", "nccl"] {
        let mut files: Vec<_> =
            std::fs::read_dir(folder.join(kind)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in &files {
            read(file, &mut cluster);
        }
    }
    for samples in &mut cluster.collectives {
        samples.rows.sort_by_key(|row| (row.communicator, row.elements));
        samples.rows.dedup_by_key(|row| (row.communicator, row.elements, row.time_us.to_bits()));
    }
    Some(Arc::new(cluster))
}

fn read(file: &Path, cluster: &mut Cluster) {
    let text = std::fs::read_to_string(file).unwrap();
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
    let (gpu, rest) = stem.split_once('_').unwrap_or((&stem, ""));
    gpu.clone_into(&mut cluster.gpu);
    let name = rest.split_once("_fp16").map_or(rest, |(name, _)| name).to_owned();
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    if header[0] == "GPU" {
        cluster.settings.extend(records.iter().map(setting));
        return;
    }
    let number = |record: &csv::StringRecord, column: usize| record[column].parse::<f64>().unwrap();
    if header[0] == "shape" {
        let rows = records.iter().map(|record| CollectiveRow {
            elements: number(record, 0) as u64,
            communicator: Communicator { nodes: number(record, 1) as u32, per_node: number(record, 2) as u32 },
            time_us: number(record, 3),
            place: Place::default(),
        });
        match cluster.collectives.iter_mut().find(|samples| samples.collective == name) {
            Some(samples) => samples.rows.extend(rows),
            None => cluster.collectives.push(CollectiveSamples {
                collective: name,
                precision: "fp16".to_owned(),
                rows: rows.collect(),
            }),
        }
        return;
    }
    let inputs: Vec<String> = header.iter().filter(|name| !name.contains("dur")).cloned().collect();
    if inputs.iter().any(|name| name == "param_tensors" || name == "params") {
        return;
    }
    let mut samples = OperatorSamples { operator: name, precision: "fp16".to_owned(), inputs, ..Default::default() };
    for record in &records {
        let width = samples.inputs.len();
        samples.values.extend((0..width).map(|column| number(record, column)));
        samples.forward_us.push(number(record, width));
        if header.len() > width + 1 {
            samples.backward_us.push(number(record, width + 1));
        }
        samples.places.push(Place::default());
    }
    cluster.operators.push(samples);
}

fn setting(record: &csv::StringRecord) -> Setting {
    let at = record.iter().position(|cell| cell == "rforest" || cell == "xgboost").unwrap();
    let value = |key: &str| {
        let from = record[at + 1].find(&format!("'{key}'")).unwrap() + key.len() + 3;
        record[at + 1][from..].split([',', '}']).next().unwrap().trim().to_owned()
    };
    let whole = |key: &str| value(key).parse::<u32>().unwrap();
    let number = |key: &str| value(key).parse::<f64>().unwrap();
    let family = if &record[at] == "rforest" {
        Family::Forest {
            trees: whole("n_estimators"),
            max_depth: value("max_depth").parse().ok(),
            min_samples_leaf: whole("min_samples_leaf"),
            min_samples_split: whole("min_samples_split"),
        }
    } else {
        Family::Boosted {
            rounds: whole("n_estimators"),
            max_depth: whole("max_depth"),
            learning_rate: number("learning_rate"),
            gamma: number("gamma"),
            min_child_weight: number("min_child_weight"),
            subsample: number("subsample"),
            colsample_bytree: number("colsample_bytree"),
        }
    };
    let of = match &record[3] {
        "bwd" => SettingOf::Backward,
        "fwd" | "dur" => SettingOf::Forward,
        nodes => SettingOf::Communicator(
            Some(Communicator { nodes: nodes.parse().unwrap(), per_node: record[4].parse().unwrap() })
                .filter(|communicator| communicator.nodes > 0),
        ),
    };
    Setting { function: record[1].to_owned(), precision: record[2].to_owned(), of, family, error: None }
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
