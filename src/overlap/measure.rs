//! The commands that measure what the overlap workbench reads.

use crate::measure::MeasureCommand;

/// The commands, those for a first measurement first.
pub const COMMANDS: &[MeasureCommand] = &[
    MeasureCommand {
        title: "Launches of kernels, beside collectives and alone",
        gives: "Leaves beside_cuda_gpu_trace.csv and alone_cuda_gpu_trace.csv: durations in the job and on one GPU \
                without any collective",
        needs: "Nsight Systems, and the command of the job, here python train.py",
        file: "",
        lines: r"{launch} \
    nsys profile --trace=cuda --output=beside.%q{{rank}} python train.py
nsys stats --report cuda_gpu_trace --format csv --output beside beside.0.nsys-rep
nsys profile --trace=cuda --output=alone python train.py
nsys stats --report cuda_gpu_trace --format csv --output alone alone.nsys-rep",
    },
    MeasureCommand {
        title: "Launches of kernels on GPUs of AMD",
        gives: "Leaves beside_kernel_trace.csv and alone_kernel_trace.csv, with the same as above",
        needs: "rocprofv3 of ROCm, and the command of the job, here python train.py",
        file: "",
        lines: r"{launch} \
    rocprofv3 --kernel-trace --output-format csv -d . -o beside.%rank% -- python train.py
mv beside.0_kernel_trace.csv beside_kernel_trace.csv
rocprofv3 --kernel-trace --output-format csv -d . -o alone -- python train.py",
    },
    MeasureCommand {
        title: "Metrics of the kernels",
        gives: "Leaves kernels.csv: throughput, occupancy and hit rates of each kernel, which models learn from",
        needs: "Nsight Compute; on one GPU, because it runs each kernel several times, which a collective does not bear",
        file: "",
        lines: r"ncu --csv --log-file kernels.csv --section SpeedOfLight --section Occupancy \
    --section MemoryWorkloadAnalysis python train.py",
    },
];
