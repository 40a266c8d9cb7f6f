//! The commands that measure what the training-time workbench reads.

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
        gives: "Writes steps.csv, a row a run with the time that your training printed; give it beside config.json",
        needs: "three runs or more narrow the interval; cp, ep, virtual_stages, sequence, global_batch, recompute and \
                sharding are columns too",
        file: "",
        lines: "cat >steps.csv <<'END'
gpus,step_s,tp,pp,micro_batch
{ranks},2.46,1,1,2
END",
    },
    MeasureCommand {
        title: "Samples of operators",
        gives: "Leaves a table of each operator in kernel_sampling/sampling_data/; give the folder",
        needs: "a GPU, PyTorch, and some hours",
        file: "",
        lines: r#"git clone https://github.com/DebarghaG/estimate-train-time.git
cd estimate-train-time && pip install -e '.[gpu]' && cd src/estimate_train_time/kernel_sampling
for config in ../data/configs/kernel_sampling/collect/*.yml; do
    python sampling_controller.py --config_path "$config" --precision fp16 --parts 1 --part 1
done"#,
    },
    MeasureCommand {
        title: "Samples of collectives",
        gives: "Leaves a table of each collective in nccl_sampling/sampling_data/; give the folder beside the operators'",
        needs: "the same sources on all nodes; repeat it for each number of nodes and of GPUs that the run uses",
        file: "",
        lines: r#"cd estimate-train-time/src/estimate_train_time/nccl_sampling
for name in allreduce allreduce_large allgather_large p2p; do
    each={each}
    [ $name = p2p ] && each=1
    {launch on each node} torchrun --nnodes {nodes} --nproc_per_node $each \
        --rdzv_id $RANDOM --rdzv_backend c10d --rdzv_endpoint "$(hostname):29500" sampling_controller.py \
        --config_path ../data/configs/nccl_sampling/test/$name.yml --precision fp16 --parts 1 --part 1
done"#,
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
