//! The commands that make files: they run, with programs in the place of the cluster's that write what those write;
//! what they leave is read; and the documents have the same commands.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{env, fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use collectune::{
    collective::{Collective, Scale},
    intake::{self, Outcome},
    launch::{Launcher, Sizes},
    measure::{MeasureCommand, MeasureValues, markdown},
    progress::Silent,
    registry::measure_commands,
    report::Workbench,
};
use tempfile::TempDir;

/// `mpirun` and `srun`: run the program once.
const LAUNCHER: &str = r#"while [ $# -gt 0 ]; do
    case $1 in
        -np | --map-by | -x | -N | -n) shift 2 ;;
        --*) shift ;;
        *) break ;;
    esac
done
exec "$@""#;

/// A program of nccl-tests, or of a newer rccl-tests where `RCCL` is set. It has the options that the commands use.
const TESTS: &str = r##"columns=
while [ $# -gt 0 ]; do
    case $1 in
        --help) [ -z "$RCCL" ] || echo "	[-A,--output_algo_proto_channels <0/1> enable algorithm/protocol/channels output (default: 0)]"; exit ;;
        -b) first=$2; shift 2 ;;
        -e) last=$2; shift 2 ;;
        -f) [ "$2" = 2 ] || exit 2; shift 2 ;;
        -g) [ "$2" = 1 ] || exit 2; shift 2 ;;
        -A) [ -n "$RCCL" ] || exit 2; columns=" ${NCCL_ALGO:-RING} ${NCCL_PROTO:-SIMPLE} ${NCCL_MAX_NCHANNELS:-8}"; shift 2 ;;
        *) exit 2 ;;
    esac
done
[ -z "$RCCL" ] || echo "rccl-tests: Version develop:ae3e635"
echo "# nThread 1 nGpus 1 minBytes $first maxBytes $last step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0"
echo "#"
echo "# Using devices"
for rank in $(seq 0 15); do
    echo "#  Rank $rank Group  0 Pid   1$rank on    host-$((rank / 8)) device $((rank % 8)) [0x0$rank] GPU"
done
echo "#"
echo "    4096          1024     float     sum      -1    20.00    0.20    0.38      0    20.10    0.20    0.38      0$columns"
echo "# Out of bounds values : 0 OK"
echo "# Avg bus bandwidth    : 0.38"
if [ -n "$NCCL_DEBUG_FILE" ]; then
    log=$(echo "$NCCL_DEBUG_FILE" | sed 's/%h/host-0/; s/%p/10/')
    echo "host-0:10:10 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}" >"$log"
fi
[ -z "$NCCL_TOPO_DUMP_FILE" ] || cat >"$NCCL_TOPO_DUMP_FILE" <<'END'
<system version="1">
  <cpu numaid="0">
    <gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="0000:02:00.0" count="4" tclass="0x030200"/></gpu>
  </cpu>
</system>
END
[ -z "$NCCL_GRAPH_DUMP_FILE" ] || cat >"$NCCL_GRAPH_DUMP_FILE" <<'END'
<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="20" speedinter="20" latencyinter="0" typeintra="NVL" typeinter="PIX" samechannels="1">
    <channel><gpu dev="0"/><gpu dev="1"/></channel>
  </graph>
</graphs>
END
exit 0"##;

/// Any script in Python: the merging of rccl-sweep, a job.
const PYTHON: &str = r#"case $1 in
    merge_metrics.py)
        echo "collective,num_nodes,num_gpus,size_bytes,time_ip_us,busbw_ip,algo,proto,nchannels" >"$5"
        echo "all_reduce_perf,2,16,4096,20.1,0.38,RING,SIMPLE,4" >>"$5" ;;
    train.py)
        if [ -n "$COLLECTUNE_TUNER_REWARDS" ]; then
            mkdir -p "$COLLECTUNE_TUNER_REWARDS"
            cat >"$COLLECTUNE_TUNER_REWARDS/nccl_tuner_rewards_00000000000000ab.log" <<'END'
# collectune-rewards 1
collective,size_bytes,num_nodes,num_gpus,latency_us,arm,propensity,call,generation,overlap,rank,timestamp
all_reduce,4194304,2,16,120.5,auto,0.25,1,1,0,0,1.5
END
        fi
        if [ -n "$NCCL_DEBUG_FILE" ]; then
            log=$(echo "$NCCL_DEBUG_FILE" | sed 's/%h/host-0/; s/%p/10/')
            echo "host-0:10:10 [0] NCCL INFO AllReduce: opCount 1 sendbuff 0x1 recvbuff 0x2 count 1024 datatype 7 op 0 root 0 comm 0x3 [nranks=16] stream 0x4" >"$log"
        fi
        echo 12.5; echo 12.75 ;;
esac"#;

const NSYS: &str = r#"case $1 in
    profile)
        for option in "$@"; do
            case $option in --output=*) name=${option#--output=} ;; esac
        done
        touch "$(echo "$name" | sed 's/%q{[A-Z_]*}/0/').nsys-rep" ;;
    stats)
        [ -e "$8" ] || exit 2
        {
            echo "Start (ns),Duration (ns),CorrId,GrdX,Device,Ctx,Strm,Name"
            echo "1000,2000,1,8,GPU (0),1,7,gemm_kernel(float*)"
        } >"$7_cuda_gpu_trace.csv" ;;
esac"#;

const ROCPROF: &str = r#"while [ "$1" != -o ]; do shift; done
{
    echo '"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"'
    echo '"KERNEL_DISPATCH","Agent 2",1,33,"gemm_kernel(float*)",1,1000,3000'
} >"$(echo "$2" | sed 's/%rank%/0/')_kernel_trace.csv""#;

const NCU: &str = r#"{
    echo '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"'
    echo '"0","1","python","127.0.0.1","gemm_kernel(float*)","1","7","GPU Speed Of Light Throughput","Memory Throughput","%","45.2"'
} >"$3""#;

/// The programs, by their paths in the folder in which the commands run.
const PROGRAMS: [(&str, &str); 10] = [
    ("mpirun", LAUNCHER),
    ("srun", LAUNCHER),
    ("python", PYTHON),
    ("nsys", NSYS),
    ("rocprofv3", ROCPROF),
    ("ncu", NCU),
    ("rccl_sweep.py", "exit 0"),
    (
        "curl",
        r#"echo '{"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257}' >config.json"#,
    ),
    ("pip", "exit 0"),
    ("date", "echo 12:00:00"),
];

/// What each command leaves: a file, and its format as the page names it.
fn leaves(workbench: Workbench) -> Vec<&'static [(&'static str, &'static str)]> {
    match workbench {
        Workbench::Tuning => vec![
            &[
                ("logs/all_reduce_2n_default_r1.log", "nccl-tests log"),
                ("logs/all_reduce_2n_Tree_LL128_c24_r3.log", "nccl-tests log"),
            ],
            &[("all_reduce_2n_default.log", "nccl-tests log"), ("debug.host-0.10.log", "debug log of NCCL")],
            &[("merged_metrics.csv", "rccl-sweep CSV")],
            &[("job.host-0.10.log", "debug log of NCCL")],
        ],
        Workbench::Policy => vec![
            &[("rewards/nccl_tuner_rewards_00000000000000ab.log", "reward log of Collectune")],
            &[
                ("iteration_times_2x8_512M_auto_r01.txt", "list of times"),
                ("iteration_times_2x8_512M_tree_ll128_r08.txt", "list of times"),
            ],
        ],
        Workbench::TrainingTime => vec![
            &[("config.json", "model")],
            &[("steps.csv", "measured steps of one's own")],
            // A module of the training script, which writes traces.
            &[],
            &[
                ("samples/operator/STUB_layernorm_bf16.csv", "samples of an operator"),
                ("samples/operator/STUB_expert_down_bf16.csv", "samples of an operator"),
                ("samples/operator/STUB_lastStage_optimizer_bf16.csv", "samples of an optimizer"),
                ("samples/nccl/STUB_allreduce_bf16_2_8.csv", "samples of a collective"),
                ("samples/nccl/STUB_p2p_bf16_2_1.csv", "samples of a collective"),
            ],
            &[("run.yml", "configuration of a training run")],
        ],
        Workbench::Topology => vec![
            &[("topology.xml", "topology dump of NCCL"), ("graph.xml", "graph dump of NCCL")],
            &[("links.csv", "topology")],
        ],
        Workbench::Overlap => vec![
            &[("beside_cuda_gpu_trace.csv", "GPU trace"), ("alone_cuda_gpu_trace.csv", "GPU trace")],
            &[("beside_kernel_trace.csv", "GPU trace"), ("alone_kernel_trace.csv", "GPU trace")],
            &[("kernels.csv", "kernel metrics of Nsight Compute")],
        ],
    }
}

fn write_program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/bash\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs a script of Python as one process and as the first of many, on a PyTorch that computes nothing.
fn python(command: &MeasureCommand, values: &MeasureValues, at: &Path) {
    fs::write(at.join(command.file), command.text(values)).unwrap();
    fs::write(at.join("torch.py"), include_str!("torch.py")).unwrap();
    for ranks in [&[][..], &[("RANK", "0"), ("WORLD_SIZE", "16"), ("LOCAL_RANK", "0"), ("LOCAL_WORLD_SIZE", "8")]] {
        let mut program = Command::new("python3");
        let output = program.current_dir(at).arg(command.file).envs(ranks.iter().copied()).output();
        let output = output.unwrap_or_else(|error| panic!("python3: {error}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.is_empty(), "{}: {said}", command.title);
    }
}

/// Runs a command in a folder with the programs in it.
fn run(command: &MeasureCommand, values: &MeasureValues, rccl: bool) -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for (name, text) in PROGRAMS {
        write_program(&at.join(name), text);
    }
    for collective in MeasureValues::COLLECTIVES {
        write_program(&at.join("build").join(format!("{collective}_perf")), TESTS);
    }
    if command.file.ends_with(".py") {
        python(command, values, at);
        return folder;
    }
    let mut bash = Command::new("bash");
    bash.current_dir(at).env("PATH", format!("{}:{}", at.display(), env::var("PATH").unwrap()));
    if rccl {
        bash.env("RCCL", "1");
    }
    let output = bash.arg("-c").arg(command.text(values)).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{}: {said}\n{}", command.title, command.text(values));
    folder
}

fn format(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = path.file_name().unwrap().to_string_lossy();
    match intake::open(&bytes[..], &name, bytes.len() as u64, 1, None, &mut Silent).0.outcome {
        Outcome::Loaded { format, problems, .. } | Outcome::Known { format, problems, .. } if problems.count == 0 => {
            format
        }
        other => panic!("{}: {other:?}", path.display()),
    }
}

#[test]
fn each_command_runs_and_leaves_what_is_read() {
    for workbench in Workbench::ALL.iter().copied() {
        let (commands, leaves) = (measure_commands(workbench), leaves(workbench));
        assert_eq!(commands.len(), leaves.len(), "{workbench:?}: each command has its files here");
        for launcher in [Launcher::Mpirun, Launcher::Srun] {
            for (command, files) in commands.iter().zip(&leaves) {
                let folder = run(command, &MeasureValues { launcher, ..MeasureValues::default() }, false);
                for (file, expected) in *files {
                    let found = format(&folder.path().join(file));
                    assert!(found.contains(expected), "{file}: {found}, not {expected}");
                }
            }
        }
    }
}

#[test]
fn a_sweep_has_every_configuration_of_its_collective() {
    let sweep = &measure_commands(Workbench::Tuning)[0];
    for (collective, launches, one) in [
        (Collective::AllReduce, 1 + 6 * 7, "all_reduce_4n_Ring_Simple_c32_r2.log"),
        (Collective::AllGather, 1 + 3 * 7, "all_gather_4n_Ring_LL_c1_r2.log"),
        (Collective::AllToAll, 1 + 6, "alltoall_4n_c16_r2.log"),
    ] {
        let scale = Scale { nodes: 4, ranks: 16 };
        let values =
            MeasureValues { collective, scale, sizes: Sizes { first: 4096, last: 4096 }, launcher: Launcher::Srun };
        for rccl in [false, true] {
            let folder = run(sweep, &values, rccl);
            let logs = fs::read_dir(folder.path().join("logs")).unwrap();
            let logs = logs.filter(|log| log.as_ref().unwrap().path().extension().is_some_and(|e| e == "log"));
            assert_eq!(logs.count(), 3 * launches, "{collective}");
            let log = folder.path().join("logs").join(one);
            let expected = if rccl { "rccl-tests log" } else { "nccl-tests log" };
            assert_eq!(format(&log), expected);
        }
    }
}

#[test]
fn what_is_chosen_stands_in_every_command() {
    let values = MeasureValues {
        collective: Collective::ReduceScatter,
        sizes: Sizes { first: 1 << 20, last: 3840 << 20 },
        scale: Scale { nodes: 3, ranks: 12 },
        launcher: Launcher::Srun,
    };
    let all = Workbench::ALL.iter().flat_map(|workbench| measure_commands(*workbench));
    let all: Vec<String> = all.map(|command| command.text(&values)).collect();
    assert!(all[0].contains("launch=(srun -N 3 -n 12 --ntasks-per-node=4 --export=ALL)"), "{}", all[0]);
    assert!(all[0].contains("sizes='-b 1048576 -e 4026531840 -f 2'") && all[0].contains("reduce_scatter_perf"));
    assert!(all[1].contains("./build/reduce_scatter_perf -b 1048576 -e 4026531840 -f 2 -g 1"));
    assert!(
        all[2].contains("--nodes 3 --collective reduce_scatter ") && all[2].contains("--algo RING --proto"),
        "{}",
        all[2]
    );
    assert!(all[2].contains("--min-size 1M --max-size 3840M"), "{}", all[2]);
    for (word, _) in values.words() {
        assert!(all.iter().all(|text| !text.contains(word)), "{word} was left in\n{}", all.join("\n"));
    }
}

#[test]
fn the_documents_have_the_same_commands() {
    const MARKS: [&str; 2] = ["<!-- commands: written by tests/common/measure.rs -->\n", "<!-- end of commands -->"];
    for workbench in Workbench::ALL.iter().copied() {
        let path = format!("docs/{}.md", workbench.key().replace('-', "_"));
        let text = fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once(MARKS[0]).unwrap_or_else(|| panic!("{path} has no {}", MARKS[0]));
        let (held, after) = rest.split_once(MARKS[1]).unwrap_or_else(|| panic!("{path} has no {}", MARKS[1]));
        let wanted = format!("\n{}\n", markdown(measure_commands(workbench), &MeasureValues::default(), false));
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, format!("{before}{}{wanted}{}{after}", MARKS[0], MARKS[1])).unwrap();
        } else {
            assert_eq!(held, wanted, "{path} is out of date: run UPDATE_DOCS=1 cargo test --test common measure");
        }
    }
}
