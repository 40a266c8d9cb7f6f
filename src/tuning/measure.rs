//! The commands that measure what the tuning workbench reads.

use crate::measure::MeasureCommand;

/// The commands, those for a first measurement first.
pub const COMMANDS: &[MeasureCommand] = &[
    MeasureCommand {
        title: "A sweep with nccl-tests or rccl-tests",
        gives: "Leaves a log of each launch in logs/: the default and all that can be asked for, three times, in random \
                order",
        needs: "the programs of nccl-tests or rccl-tests, built with MPI=1, in the folder that NCCL_TESTS names",
        file: "sweep.sh",
        lines: r#"{script}# Programs of rccl-tests print what ran where they are asked to: -M 1, in newer versions -A 1.
sizes='{sizes}'
sizes+=$("$tests/{program}" --help 2>&1 | sed -n 's/.*\[-\([AM]\),--output_algo_proto_channels.*/ -\1 1/p')
for round in 1 2 3; do
    for arm in $(shuf -e default {arms}); do
        request=()
        if [[ $arm =~ c([0-9]+)$ ]]; then
            request=(NCCL_MIN_{channels}="${BASH_REMATCH[1]}" NCCL_MAX_{channels}="${BASH_REMATCH[1]}")
        fi
        if [[ $arm =~ ^([A-Z].*)_(.*)_c ]]; then
            request+=(NCCL_ALGO="${BASH_REMATCH[1]}" NCCL_PROTO="${BASH_REMATCH[2]}")
        fi
        run "{collective}_{nodes}n_${arm}_r$round.log" "$sizes" {program} ${request[@]+"${request[@]}"}
    done
done
"#,
    },
    MeasureCommand {
        title: "One launch of the default",
        gives: "Leaves a log with the default's times, and one of each process that says which algorithm, protocol and \
                channels ran; give all of them",
        needs: "the same programs, in ./build",
        file: "",
        lines: r#"{launch} \
    env NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,TUNING NCCL_DEBUG_FILE="$PWD/debug.%h.%p.log" \
    ./build/{program} {sizes} -g 1 >{collective}_{nodes}n_default.log"#,
    },
    MeasureCommand {
        title: "A sweep with rccl-sweep",
        gives: "Leaves merged_metrics.csv",
        needs: "the nodes' addresses in servers.txt, and RCCL and rccl-tests in the folder that MY_PATH names",
        file: "",
        lines: r"./rccl_sweep.py --servers servers.txt --nodes {nodes} --collective {collective} \
    --algo {algorithms} --proto LL,LL128,SIMPLE --channels 1,2,4,8,16,24,32 \
    --min-size {first} --max-size {last}
python merge_metrics.py --base-path sweep_results -o merged_metrics.csv",
    },
    MeasureCommand {
        title: "The sizes that a job sends",
        gives: "Leaves a debug log of each process, with the job's collectives and what the library chose for them: \
                Coverage shows what a tuner file would change",
        needs: "the command of the job, here python train.py",
        file: "",
        lines: r#"{launch} \
    env NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING NCCL_DEBUG_FILE="$PWD/job.%h.%p.log" \
    python train.py"#,
    },
];
