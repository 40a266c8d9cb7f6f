//! The commands that measure what the training-time workbench reads.

use super::sampling_files::{NAME, SAMPLER};
use crate::measure::MeasureCommand;

/// The commands, those for a first measurement first.
pub const COMMANDS: &[MeasureCommand] = &[
    MeasureCommand {
        title: "A model, without any samples",
        gives: "Leaves config.json; give it, and the step is estimated from the name of a GPU",
        needs: "the model's page on Hugging Face; models known by name need no file (collectune training-time estimate)",
        file: "",
        lines: "curl -LO https://huggingface.co/Qwen/Qwen3-8B/resolve/main/config.json",
    },
    MeasureCommand {
        title: "Steps of your own",
        gives: "Writes steps.csv, a row a run with the time that your training printed. Drop it beside config.json, or \
                give it in a terminal with collectune training-time estimate config.json --steps steps.csv; cp, ep, \
                virtual_stages, recompute, sharding and dp_replicate are columns too",
        needs: "the times of three runs or more that differ in layout, batch or GPUs, so that the interval becomes narrow",
        file: "",
        lines: "cat >steps.csv <<'END'
gpus,step_s,tp,pp,micro_batch,global_batch,sequence
{ranks},2.46,1,1,2,64,4096
END",
    },
    MeasureCommand {
        title: "A trace of steps",
        gives: "Leaves trace-0.json.gz and so on, of three steps each; give those of one rank or of several beside \
                config.json",
        needs: "PyTorch. In the training loop: from trace_steps import steps, then for batch in steps(loader, rank)",
        file: "",
        lines: "cat >trace_steps.py <<'END'
from torch.profiler import ProfilerActivity, profile, schedule

def steps(batches, rank):
    name = 'trace-' + str(rank) + '.json.gz'
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True,
                 schedule=schedule(wait=2, warmup=2, active=3, repeat=1),
                 on_trace_ready=lambda traced: traced.export_chrome_trace(name)) as traced:
        for batch in batches:
            yield batch
            traced.step()
END",
    },
    MeasureCommand {
        title: "Samples of operators and collectives",
        gives: "Save it as sample.py; it leaves a table of each operator or collective in samples/: give the folder",
        needs: "PyTorch. Operators take about a minute on one GPU: python sample.py. Collectives: {launch on each node} \
                torchrun --nnodes {nodes} --nproc_per_node {each} --rdzv_backend c10d --rdzv_endpoint HOST:29500 \
                sample.py, for each number of nodes and of GPUs a node that the run uses",
        file: NAME,
        lines: SAMPLER,
    },
    MeasureCommand {
        title: "The run to predict",
        gives: "Writes run.yml, in which every value can be changed",
        needs: "",
        file: "",
        lines: "cat >run.yml <<'END'
model: {layers: 32, hidden: 4096, heads: 32, sequence: 4096}
parallel: {pp: 1, tp: 1, dp: {ranks}, gpus_per_node: {each}}
batch: {micro: 4, micro_batches: 8}
END",
    },
];
