//! The script that samples operators and collectives: all of them, or what a run lacks.

use std::fmt::Write as _;

use super::{
    bundle::Bundle,
    catalogue::Operator,
    needs::{Need, NeededSamples},
    run::Run,
    samples::{Communicator, DIVISIONS},
    scope::Scope,
};
use crate::order::CompactSort;

/// A script of Python that needs PyTorch only. It samples operators on one GPU, and under `torchrun` collectives; its
/// tables are those that the workbench reads.
pub const SAMPLER: &str = include_str!("sampler.py");

/// The name under which the script is saved.
pub const NAME: &str = "sample.py";

/// The line of the script that its points replace.
const WANTED: &str = "WANTED = {}\n";

/// The most points of an operator.
const MOST_POINTS: usize = 128;

/// The script that samples what is missing, with how it is run; `None` where it can sample none of it.
pub fn sampling_script(bundle: &Bundle, run: &Run, needs: &[Need]) -> Option<(String, String)> {
    let mut operators: Vec<&Operator> = Vec::new();
    let mut communicators: Vec<Communicator> = Vec::new();
    for need in needs {
        match &need.what {
            NeededSamples::Operator(name) | NeededSamples::Points(name) => {
                let found = bundle.catalogue.operator(name).filter(|operator| is_sampled(operator));
                operators.extend(found.filter(|found| operators.iter().all(|known| known.name != found.name)));
            }
            NeededSamples::Collective(_, communicator) => communicators.push(*communicator),
            NeededSamples::Cluster | NeededSamples::Precision(_) => {}
        }
    }
    communicators.compact_sort();
    communicators.dedup();
    let precision = if run.execution.precision == "fp16" { "fp16" } else { "bf16" };
    let mut how: Vec<String> = Vec::new();
    if !operators.is_empty() {
        how.push(format!("python {NAME} --precision {precision}"));
    }
    how.extend(communicators.iter().map(|Communicator { nodes, per_node }| {
        let meeting = if *nodes > 1 { " --rdzv_backend c10d --rdzv_endpoint HOST:29500" } else { "" };
        format!("torchrun --nnodes {nodes} --nproc_per_node {per_node}{meeting} {NAME} --precision {precision}")
    }));
    if how.is_empty() {
        return None;
    }
    let mut points = String::from("WANTED = {\n");
    for operator in operators {
        let _ = writeln!(points, "    \"{}\": {:?},", operator.name, points_of(operator, run));
    }
    Some((SAMPLER.replacen(WANTED, &(points + "}\n"), 1), format!("Run it on the cluster: {}", how.join("; "))))
}

/// Whether the script has an operator with these inputs.
fn is_sampled(operator: &Operator) -> bool {
    let inputs: Vec<String> = operator.inputs.iter().map(|input| format!("\"{input}\"")).collect();
    SAMPLER.contains(&format!("    \"{}\": ([{}], ", operator.name, inputs.join(", ")))
}

/// Points around those of a run, which is the first: other degrees and micro-batches, half of the sequence, and
/// narrower models whose heads are as wide.
fn points_of(operator: &Operator, run: &Run) -> Vec<Vec<u64>> {
    let scope = run.scope();
    let of_stage = run.model.layers.div_ceil(run.layout.pipeline.max(1));
    let value = |input: &String| match input.as_str() {
        "encoders" => u64::from(of_stage),
        name => scope.get(name).unwrap_or(1.0).max(1.0) as u64,
    };
    let own: Vec<u64> = operator.inputs.iter().map(value).collect();
    let mut points = Vec::new();
    for quarters in [4, 3, 2] {
        let narrowed: Vec<u64> = operator
            .inputs
            .iter()
            .zip(&own)
            .map(|(input, value)| match input.as_str() {
                "dim" | "h" | "ffn" => value * quarters / 4,
                _ => *value,
            })
            .collect();
        let mut others = vec![narrowed];
        for (at, input) in operator.inputs.iter().enumerate() {
            let values: Vec<u64> = match input.as_str() {
                "mp" | "ep" => [1, 2, 4, 8].into_iter().filter(|degree| *degree != own[at]).collect(),
                "b" => [1, 2, 4, 8].into_iter().filter(|size| *size != own[at]).collect(),
                "l" => vec![own[at] / 2],
                "encoders" => vec![own[at] / 2, own[at].saturating_sub(1), own[at] + 1, own[at] + 2],
                _ => Vec::new(),
            };
            let with = |point: &Vec<u64>, value: u64| {
                let mut point = point.clone();
                point[at] = value;
                point
            };
            let more: Vec<Vec<u64>> =
                others.iter().flat_map(|point| values.iter().map(move |value| with(point, *value))).collect();
            others.extend(more);
        }
        points.extend(others.into_iter().filter(|point| is_whole(operator, point)));
    }
    let mut seen = std::collections::BTreeSet::new();
    points.retain(|point| seen.insert(point.clone()));
    points.truncate(MOST_POINTS);
    points
}

/// Whether heads and widths divide as they must.
fn is_whole(operator: &Operator, point: &[u64]) -> bool {
    let mut scope = Scope::default();
    for (input, value) in operator.inputs.iter().zip(point) {
        scope.set(input, *value as f64);
    }
    let divides = |[whole, part]: &[&str; 2]| match (scope.get(whole), scope.get(part)) {
        (Some(whole), Some(part)) => part > 0.0 && whole % part == 0.0,
        _ => true,
    };
    point.iter().all(|value| *value > 0) && DIVISIONS.iter().all(divides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training_time::{
        catalogue::Catalogue,
        run::{Execution, Layout, Model},
    };

    #[test]
    fn the_script_has_every_operator_of_the_catalogue_but_a_fused_one() {
        let missing: Vec<String> = Catalogue::built_in()
            .operators
            .iter()
            .filter(|operator| !is_sampled(operator))
            .map(|operator| operator.name.clone())
            .collect();
        assert_eq!(missing, ["ScaledUpperTriangMaskedSoftmax"]);
        assert!(SAMPLER.contains(WANTED));
    }

    #[test]
    fn points_begin_with_the_run_s_and_all_divide() {
        let catalogue = Catalogue::built_in();
        for (mp, heads, hidden, sequence) in [(2, 32, 4096, 4096), (3, 12, 2304, 3000), (16, 96, 12_288, 512)] {
            let layout = Layout { pipeline: 2, tensor: mp, data: 1, expert: 1, gpus_per_node: 4 };
            let model = Model::dense(7, hidden, heads, sequence);
            let (gpu, cluster, execution) = (None, None, Execution::default());
            let run =
                Run { name: String::new(), gpu, cluster, model, layout, micro_batch: 5, micro_batches: 1, execution };
            for (name, first, least) in [
                ("linear1", [mp, 5, sequence, hidden].map(u64::from).to_vec(), 60),
                ("softmax", [mp, 5, heads, sequence].map(u64::from).to_vec(), 40),
                ("middleStage_optimizer", [mp, hidden, 4].map(u64::from).to_vec(), 30),
            ] {
                let points = points_of(catalogue.operator(name).unwrap(), &run);
                assert_eq!(points[0], first, "{name}");
                assert!((least..=MOST_POINTS).contains(&points.len()), "{name}: {}", points.len());
            }
        }
    }
}
