//! Files that sample what is missing: configurations and a batch script for the sampler of estimate-train-time
//! (<https://github.com/DebarghaG/estimate-train-time>, its guides on kernel and NCCL sampling).

use super::{
    bundle::Bundle,
    catalogue::Operator,
    needs::{Need, NeededSamples},
    run::Run,
    samples::Communicator,
};
use crate::{order::CompactSort, text::yaml::scalar};

/// The values of one input around that of a run.
struct Grid {
    start: u64,
    step: u64,
    end: u64,
    sign: &'static str,
}

/// Configurations for all that is missing, and the script that runs them: names and texts.
pub fn sampling_files(bundle: &Bundle, run: &Run, needs: &[Need]) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    let mut kernels: Vec<String> = Vec::new();
    let mut collectives: Vec<(String, Communicator)> = Vec::new();
    for need in needs {
        match &need.what {
            // A name that a shell would read as more than a name has no place in a script.
            NeededSamples::Operator(name) | NeededSamples::Points(name) | NeededSamples::Collective(name, _)
                if !is_plain(name) => {}
            NeededSamples::Operator(name) | NeededSamples::Points(name) if kernels.contains(name) => {}
            NeededSamples::Operator(name) | NeededSamples::Points(name) => {
                let Some(operator) = bundle.catalogue.operator(name) else { continue };
                files.push((format!("{name}.yml"), of_operator(operator, run)));
                kernels.push(name.clone());
            }
            NeededSamples::Collective(name, communicator) => collectives.push((name.clone(), *communicator)),
            NeededSamples::Cluster | NeededSamples::Precision(_) => {}
        }
    }
    collectives.compact_sort();
    for (name, _) in &collectives {
        let file = format!("{name}.yml");
        if files.iter().all(|(known, _)| *known != file) {
            files.push((file, of_collective(name)));
        }
    }
    if !files.is_empty() {
        let precision = if is_plain(&run.execution.precision) { &run.execution.precision } else { "fp16" };
        files.push(("sample.sh".to_owned(), script(&kernels, &collectives, run, precision)));
    }
    files
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// The values of an input around that of a run, which is one of them, on a grid as the published one.
fn grid(input: &str, run: &Run) -> Grid {
    let value = run.scope().get(input).unwrap_or(1.0).max(1.0) as u64;
    let add = |start: u64, step: u64, end: u64| Grid {
        start: value.checked_sub(start).map_or(value, |above| start + above % step),
        step,
        end: end.max(value),
        sign: "add",
    };
    let multiply = |end: u64| {
        // An odd number and its doubles.
        let start = value >> value.trailing_zeros();
        Grid { start, step: 2, end: end.max(value), sign: "mul" }
    };
    match input {
        "mp" | "ep" => multiply(8),
        "b" => multiply(8),
        "h" => add(16, 8, 80),
        "l" => add(1024, 512, 5120),
        "dim" => add(2048, 512, 8192),
        "ffn" => add(4096, 2048, 32768),
        "encoders" => add(4, 1, u64::from(run.model.layers.div_ceil(run.layout.pipeline.max(1))) + 2),
        _ => Grid { start: value, step: 2, end: value, sign: "mul" },
    }
}

fn of_operator(operator: &Operator, run: &Run) -> String {
    let grids: Vec<Grid> = operator.inputs.iter().map(|input| grid(input, run)).collect();
    let is_optimizer = operator.name.ends_with("_optimizer");
    let times: &[&str] = if is_optimizer { &["dur(us)"] } else { &["F_dur(us)", "B_dur(us)"] };
    let columns = operator.inputs.iter().map(String::as_str).chain(times.iter().copied());
    configuration("target_functions", &operator.name, columns, operator.inputs.len(), &grids)
}

fn of_collective(name: &str) -> String {
    // The ranges of the published samplings, joined where one ends and the other begins.
    let grid = match name {
        "p2p" => Grid { start: 2_097_152, step: 65_536, end: 134_217_728, sign: "add" },
        name if name.ends_with("_large") => Grid { start: 134_217_728, step: 600_000, end: 1_200_000_000, sign: "add" },
        _ => Grid { start: 2_097_152, step: 65_536, end: 134_217_728, sign: "add" },
    };
    configuration("nccl_functions", name, ["shape", "nodes", "GPUsPerNode", "dur(us)"].into_iter(), 1, &[grid])
}

fn configuration<'a>(
    module: &str,
    name: &str,
    columns: impl Iterator<Item = &'a str>,
    inputs: usize,
    grids: &[Grid],
) -> String {
    let function = name.strip_suffix("_large").unwrap_or(name);
    let quoted = |text: &str| format!("'{text}'");
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    let of = |value: fn(&Grid) -> u64| list(grids.iter().map(|grid| value(grid).to_string()).collect());
    let columns = list(columns.map(quoted).collect());
    let starts = of(|grid| grid.start);
    format!(
        "module_name: {module}\nkernel_name: {}\nfunction_name: {}\ncolumns_name: {columns}\nfirst_n_column: {inputs}\n\
         starts: {starts}\nsteps: {}\nends: {}\noperators: {}\nwarmup_shapes: {starts}\nwait: 4\nwarmup: 6\nactive: 10\n\
         shapes: {starts}\nrun: get_all\n",
        scalar(name),
        scalar(function),
        of(|grid| grid.step),
        of(|grid| grid.end),
        list(grids.iter().map(|grid| quoted(grid.sign)).collect()),
    )
}

fn script(kernels: &[String], collectives: &[(String, Communicator)], run: &Run, precision: &str) -> String {
    let nodes = collectives.iter().map(|(_, communicator)| communicator.nodes).max().unwrap_or(1);
    let of_job = collectives.iter().map(|(_, communicator)| communicator.per_node).max().unwrap_or(1);
    let per_node = run.layout.gpus_per_node.max(of_job);
    let mut text = format!(
        "#!/bin/bash\n#SBATCH --nodes={nodes}\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node={per_node}\n\
         #SBATCH --time=06:00:00\n#SBATCH --job-name=sampling\nset -e\n\
         # Run it in the folder of estimate-train-time's sources, with the configurations beside it in missing/.\n\
         # What the profiler looks for stands in the published configuration of the same operator, and is taken from it.\n\
         here=$PWD/missing\ndata=$PWD/src/estimate_train_time/data/configs\n\
         complete() {{\n  python - \"$1\" \"$2\" <<'END'\nimport os, sys, yaml\npublished, wanted = sys.argv[1:]\n\
         whole = yaml.safe_load(open(published)) if os.path.exists(published) else {{}}\n\
         whole.update(yaml.safe_load(open(wanted)))\nyaml.safe_dump(whole, open(wanted, 'w'))\nEND\n}}\n"
    );
    if !kernels.is_empty() {
        text += "\ncd src/estimate_train_time/kernel_sampling\n";
        for name in kernels {
            text += &format!(
                "complete $data/kernel_sampling/collect/{name}.yml $here/{name}.yml\n\
                 python sampling_controller.py --config_path $here/{name}.yml --precision {precision} --parts 1 --part 1\n"
            );
        }
        text += "cd -\n";
    }
    if !collectives.is_empty() {
        text += "\ncd src/estimate_train_time/nccl_sampling\n\
                 head=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n";
        for (name, Communicator { nodes, per_node }) in collectives {
            text += &format!(
                "complete $data/nccl_sampling/test/{name}.yml $here/{name}.yml\n\
                 srun --nodes={nodes} --ntasks={nodes} --export=ALL torchrun --nnodes {nodes} --nproc_per_node {per_node} \
                 --rdzv_id $RANDOM --rdzv_backend c10d --rdzv_endpoint $head:29500 sampling_controller.py \
                 --config_path $here/{name}.yml --precision {precision} --parts 1 --part 1\n"
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training_time::run::{Execution, Layout, Model};

    #[test]
    fn grids_have_the_run_s_values() {
        for (mp, heads, hidden, sequence) in [(2, 32, 4096, 4096), (3, 12, 2304, 3000), (16, 84, 10_000, 512)] {
            let layout = Layout { pipeline: 2, tensor: mp, data: 1, expert: 1, gpus_per_node: 4 };
            let model = Model::dense(7, hidden, heads, sequence);
            let (gpu, cluster, execution) = (None, None, Execution::default());
            let run =
                Run { name: String::new(), gpu, cluster, model, layout, micro_batch: 5, micro_batches: 1, execution };
            for input in ["mp", "b", "h", "l", "dim", "ffn"] {
                let value = run.scope().get(input).unwrap_or_default() as u64;
                let Grid { start, step, end, sign } = grid(input, &run);
                let mut at = start;
                while at < value {
                    at = if sign == "add" { at + step } else { at * step };
                }
                assert_eq!((at, value <= end), (value, true), "{input}: {start}, {step}, {end}, {sign}");
            }
        }
    }
}
