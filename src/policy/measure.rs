//! The commands that measure what the policy workbench reads.

use crate::measure::MeasureCommand;

/// The commands, those for a first measurement first.
pub const COMMANDS: &[MeasureCommand] = &[
    MeasureCommand {
        title: "Rewards that the tuner plugin logs",
        gives: "Leaves a reward log of each communicator in rewards/; the first 1,024 calls of each key try four arms",
        needs: "NCCL 2.27 or later, a folder that all nodes share, the plugin (cargo xtask plugin), and the command of \
                the job, here python train.py",
        file: "",
        lines: r#"plugin=$PWD/target/plugin/libnccl-tuner-collectune.so
{launch} \
    env NCCL_TUNER_PLUGIN="$plugin" NCCL_PROFILER_PLUGIN="$plugin" COLLECTUNE_TUNER_MODE=online \
    COLLECTUNE_TUNER_DIR="$PWD/tuner" COLLECTUNE_TUNER_REWARDS="$PWD/rewards" \
    python train.py"#,
    },
    MeasureCommand {
        title: "Iteration times of a job",
        gives: "Leaves a file of times for each arm and round, in random order",
        needs: "a job that prints the milliseconds of each iteration, a number a line, and nothing else",
        file: "",
        lines: r#"for round in 01 02 03 04 05 06 07 08; do
    for arm in $(shuf -e auto tree_simple tree_ll128 ring_simple); do
        forced=(NCCL_ALGO="${arm%_*}" NCCL_PROTO="${arm#*_}")
        [ "$arm" = auto ] && forced=()
        {launch} \
            env "${forced[@]}" python train.py >"iteration_times_{nodes}x{each}_{last}_${arm}_r$round.txt"
    done
done"#,
    },
];
