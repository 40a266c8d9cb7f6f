//! Small samples of what people have, made by hand.

#![allow(dead_code, reason = "each test uses some of them")]
#![allow(clippy::unwrap_used, reason = "a vector takes everything that is written to it")]

use std::io::Write;

/// The beginning of a log of nccl-tests.
pub const START: &str = "\
# nccl-tests version 2.17.6 nccl-headers=22706 nccl-library=22809
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 4194304 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid   4711 on     secret-a device  0 [0000:05:00] AMD Instinct MI355X
#  Rank  1 Group  0 Pid   4712 on     secret-b device  0 [0000:05:00] AMD Instinct MI355X
#
";
/// The head of its table.
pub const HEADER: &str = "\
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
";
/// The rows of its table.
pub const ROWS: [&str; 3] = [
    "     1048576        262144     float     sum      -1    126.1    8.31    8.31       0    131.1    8.00    8.00       0",
    "     2097152        524288     float     sum      -1    201.1   10.43   10.43       0    183.8   11.41   11.41       0",
    "     4194304       1048576     float     sum      -1    236.0   17.78   17.78       0    234.8   17.87   17.87       0",
];
/// Its end.
pub const END: &str = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 15.0761\n#\n# Collective test concluded: all_reduce_perf\n";

/// A whole log of one run.
pub fn log() -> String {
    format!("{START}{HEADER}{}\n{END}", ROWS.join("\n"))
}

/// What `-J` writes, without the last brackets.
pub const JSON: &str = r#"{"version":3,"start_time":"2026-11-21 10:00:00","args":["/home/secret/build/all_gather_perf","-J","x"],
"env":["USER=secret","HF_TOKEN=secret","NCCL_ALGO=Ring","NCCL_PROTO=Simple","NCCL_MIN_NCHANNELS=8","NCCL_MAX_NCHANNELS=8"],
"nccl_version":22809,"config":{"nthreads":1,"ngpus":1,"warmup_iters":5,"iterations":20,"devices":[
{"rank":0,"group":0,"pid":1,"hostname":"secret-a","device":0,"device_hex":"05","device_info":"NVIDIA H100 80GB HBM3"},
{"rank":1,"group":0,"pid":2,"hostname":"secret-a","device":1,"device_hex":"15","device_info":"x"}]},
"results":[{"size":1048576,"count":131072,"type":"float","redop":"none","root":"    -1","out_of_place":{"time":126.1,"alg_bw":8.315432,"bus_bw":4.157716,"nwrong":0.000000},"in_place":{"time":131.1,"alg_bw":7.998291,"bus_bw":3.999146,"nwrong":null},"actual_iterations":20,"experiment_name":""},
{"size":2097152,"count":262144,"type":"float","redop":"none","root":"    -1","out_of_place":null,"in_place":{"time":183.8,"alg_bw":11.41,"bus_bw":5.705,"nwrong":"nan"},"actual_iterations":20,"experiment_name":""}"#;

/// A decision among the debug lines.
pub const DECISION: &str =
    "a:1:1 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..23}\n";
/// A call among the debug lines.
pub const CALL: &str = "a:1:1 [0] NCCL INFO AllReduce: opCount 2a sendbuff 0x7 recvbuff 0x8 count 1024 datatype 9 op 0 root 0 \
                        comm 0x2f [nranks=16]\n";
/// A cost table among the debug lines.
pub const COSTS: &str = "a:1:1 [0] NCCL INFO Latency/AlgBw |    Tree/    LL |    Ring/Simple |\n\
                         a:1:1 [0] NCCL INFO     AllReduce |     9.6/   3.0 |    20.0/  24.0 |\n";
/// What rccl-tests report with `-Z csv`.
pub const REPORT: &str = "\
numCycle,collective,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inplace,time,algbw,busbw,#wrong
0,AllReduce,2,2,1,1,1048576,float,sum,0,126.1,8.31,8.31,0
0,AllReduce,2,2,1,1,1048576,float,sum,1,131.1,8.0,8.0,N/A
1,AllReduce,2,2,1,1,1048576,float,sum,0,127.1,8.25,8.25,0
1,AllReduce,2,2,1,1,1048576,float,sum,1,128.1,8.0,8.0,0
";
/// A tuner's conf.
pub const CONF: &str = "\
# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff
allreduce,0,1048575,tree,ll,8,2,16,-1,-1
allreduce,1048576,18446744073709551615,ring,ll128,24,2,16,-1,-1
allgather,4096,8388608,-1,simple,112,1,8,-1,-1
alltoall,0,4294967296,-1,-1,16,-1,-1

broadcast, 4096 ,\t65536,RING,Simple,-1,1,8 # why
";
/// A tuner file of NCCLX.
pub const NCCLX: &str = "\
# collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks,chunkSize
allreduce,[0,1048576],ring,ll128,-1,2,8,524288
allgather,(1048576,),ring,simple,,*,[1,8)
reduce,(5,5),tree,ll,-2,(,4],8,0,more
allreduce,7,ring,LL,1,1
";
/// A tuner file of NCCLX as JSON.
pub const NCCLX_JSON: &str = r#"{"rules": [
  {"filter": {"collective": "allreduce", "bytesPerRank": "[0,1048576]", "nNodes": 2}, "config": {"algorithm": "ring",
    "protocol": "ll128", "channels": 4, "chunkSize": 3840}},
  {"filter": {"collective": "allgather", "nLocalRanks": "(1,)"}, "config": {"algorithm": "tree", "protocol": null}}
]}"#;
/// A comparison of a conf with the default.
pub const COMPARISON: &str = "\
nodes,size_bytes,def_median,cfg_median,gain_pct,psup,def_min,def_max,cfg_min,cfg_max,n_def,n_cfg,def_runs,cfg_runs,def_exec,cfg_exec,cfg_applied_ch,ch_trimmed
1,4096,0.32,0.36,12.5,1.0,0.31,0.32,0.35,0.36,3,3,0.32;0.32;0.31,0.36;0.35;0.36,TREE/LL/1,TREE/LL/2,16,yes
1,8192,0.55,0.68,23.636,1.0,0.54,0.57,0.68,0.7,3,3,0.56;0.55;0.54,0.68;0.68;0.7,TREE/LL/1,TREE/LL/4,4,
";
/// Merged features of kernels.
pub const MERGED: &str = "\
id,kShortName,kDemangledName,ground_truth,duration,overlap_ratio,slowdown,ID,Kernel Name,Compute throughput,SM,Memory throughput,L2 hit rate
1,norm,\"void norm<float, int>(int)\",68257,70656,0.0,0.0,0,norm,36.48,108,66.23,53.59
2,gemm,\"void gemm<float, 4>(int)\",100098,147474,0.5,0.9465923395072828,1,gemm,12.01,108,37.7,100.8
3,gemm,\"void gemm<float, 4>(int)\",4160,4192,1.0,0.007692307692307693,2,gemm,0.02,108,0.38,91.14
4,relu,relu(),3840,9872,0.01,157.08333333333334,3,relu,0.5,108,7.1,9.9
";
/// Slowdown statistics of the same.
pub const STATISTICS: &str = "\
id,kShortName,kDemangledName,ground_truth,duration,overlap_ratio,slowdown
1,norm,norm(),68257,70656,0.0,0.0
2,gemm,gemm(),100098,147474,0.5,0.9465923395072828
3,gemm,gemm(),4160,4192,1.0,0.007692307692307693
";
/// Kernel metrics of the same.
pub const METRICS: &str = "\
ID,Kernel Name,Compute throughput,SM,Memory throughput,DRAM throughput,Achieved occupancy,Maximum occupancy,L1 hit rate,L2 hit rate
0,norm,36.48,108,66.23,66.23,65.35,75,44.48,53.59
1,gemm,12.01,108,37.70,37.70,49.91,100,0.09,15.86
";
/// What `ncu --csv` prints.
pub const NCU: &str = "\
==PROF== Connected to process 4711 (/usr/bin/python3)
\"ID\",\"Process ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"
\"0\",\"4711\",\"void at::native::<unnamed>::norm<float, 4>(int)\",\"GPU Speed Of Light Throughput\",\"Memory Throughput\",\"%\",\"66.23\"
\"0\",\"4711\",\"void at::native::<unnamed>::norm<float, 4>(int)\",\"Memory Workload Analysis\",\"Memory Throughput\",\"Gbyte/second\",\"1,234.5\"
\"1\",\"4711\",\"gemm\",\"GPU Speed Of Light Throughput\",\"Memory Throughput\",\"%\",\"6.5\"
==PROF== Disconnected from process 4711
";
/// What `nsys stats --report cuda_gpu_trace --format csv` prints.
pub const TRACE: &str = "\
Processing [run.sqlite] with [cuda_gpu_trace.py]...
Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,Device,Ctx,Strm,Name
0,1000,1,1,1,1,GPU (0),1,7,\"void gemm<float, 4>(int)\"
500,2000,2,1,1,1,GPU (0),1,20,ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)
2000,1500,3,1,1,1,GPU (0),1,7,\"void gemm<float, 4>(int)\"
4000,10,4,,,,GPU (0),1,7,[CUDA memset]
";
/// A model of XGBoost.
pub const XGBOOST: &str = r#"{"learner":{"attributes":{},"feature_names":["ground_truth","Compute throughput"],"feature_types":["float","float"],
"gradient_booster":{"model":{"gbtree_model_param":{"num_parallel_tree":"1","num_trees":"2"},"iteration_indptr":[0,1,2],"tree_info":[0,0],
"trees":[{"default_left":[0,0,0],"id":0,"left_children":[1,-1,-1],"loss_changes":[2.5,0,0],"parents":[2147483647,0,0],"right_children":[2,-1,-1],
"split_conditions":[4.5,-0.25,0.5],"split_indices":[1,0,0],"split_type":[0,0,0],"sum_hessian":[4,2,2]},
{"id":1,"left_children":[-1],"right_children":[-1],"split_conditions":[0.125],"split_indices":[0]}]},"name":"gbtree"},
"learner_model_param":{"base_score":"5E-1","num_class":"0","num_feature":"2","num_target":"1"},
"objective":{"name":"reg:squarederror"}},"version":[2,1,0]}"#;

/// A workbook with slowdown statistics, its parts stored as they are.
pub fn workbook() -> Vec<u8> {
    let sheet = "<worksheet><sheetData>\
        <row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"B1\" t=\"inlineStr\"><is><t>ground_truth</t></is></c>\
        <c r=\"C1\" t=\"inlineStr\"><is><t>duration</t></is></c><c r=\"D1\" t=\"inlineStr\"><is><t>overlap_ratio</t></is></c></row>\
        <row r=\"2\"><c r=\"A2\" t=\"inlineStr\"><is><t>a&lt;b&gt;</t></is></c><c r=\"B2\"><v>100</v></c><c r=\"C2\"><v>1.2E2</v></c>\
        <c r=\"D2\"><v>0.5</v></c></row></sheetData></worksheet>";
    let entries =
        [("xl/worksheets/sheet1.xml", sheet), ("xl/sharedStrings.xml", "<sst><si><t>kShortName</t></si></sst>")];
    let mut writer = ::zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored = ::zip::write::SimpleFileOptions::default().compression_method(::zip::CompressionMethod::Stored);
    for (name, text) in entries {
        writer.start_file(name, stored).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Samples of operators and collectives, settings of regressors, measured steps and all-reduce times.
pub const TRAINING: [(&str, &str); 7] = [
    (
        "X_flash_atten_fp16.csv",
        "mp,b,h,l,dim,F_dur(us),B_dur(us)\n1,2,16,1024,2048,10.5,30.25\n2,2,16,1024,2048,6,19\n",
    ),
    ("X_lastStage_optimizer_fp16.csv", "mp,dim,encoders,dur(us)\n1.0,2048.0,11.0,17808.6\n1.0,2560.0,10.0,24059.6\n"),
    (
        "X_allreduce_fp16_2_1.csv",
        "shape,nodes,GPUsPerNode,dur(us)\n134217728.0,2.0,1.0,230128.6\n2097152,2,1,98.4958\n",
    ),
    (
        "X.csv",
        "GPU,Function,Precision,Propagation,Best_model,Best_config,Best_error%\n\
         X,flash_atten,fp16,fwd,rforest,\"{'max_depth': None, 'n_estimators': 400}\",0.068\n\
         X,flash_atten,fp16,bwd,xgboost,\"{'gamma': 0.1, 'subsample': 0.8}\",0.068\n",
    ),
    ("X.csv", "Function,Precision,Nodes,GPUsPerNode,Best_model,Best_config\nallreduce,fp16,0,0,rforest,\"{}\"\n"),
    (
        "steps.csv",
        "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,data \
         parallelism,pipeline parallelism,iteration time (ms),recompute\n2,16,8,1024,16,24,1024,1,1,2,372.160408,full\n",
    ),
    (
        "AR_GPU8_1M",
        "size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s)\n1048576,262144,float,92790,19.78,92150,19.91\n",
    ),
];

/// Configurations: runs in three forms, a sampling, a catalogue.
pub const CONFIGURATIONS: [&str; 8] = [
    "{'training_config': [4, 2, 2, 4, 32, 4096, 4096, 8, 4], # pp\n \"encoders\": 32, 'fwd_syncs': 2,\n}\n",
    "model: {layers: 32, hidden: 4096, heads: 32, sequence: 4096}\nparallel:\n  pp: 4\n  tp: 2\n  gpus_per_node: 4\n\
     batch: {micro: 4, global: 64}\nlayers_per_stage:\n- 8\n- 9\n- 9\n- 6\n",
    "{\"tensor_parallel_size\": 2, \"data_parallel_size\": 2, \"pipeline_parallel_size\": 4, \"global_batch_size\": 64, \
     \"micro_batch_size\": 4, \"num_layers\": 32, \"hidden_size\": 4096, \"num_attention_heads\": 32, \"max_length\": 4096}",
    "kernel_name: linear1\ncolumns_name: ['mp', 'b', 'F_dur(us)']\nstarts: [1, 2]\nsteps: [2, 2]\nends: [16, 8]\n\
     operators: ['mul', 'add']\n",
    "catalogue: 1\noperators:\n  - {name: x, inputs: [mp, b], features: [\"b//mp\", \"ceil(b/3)\"], gemm: [b, mp, \"2\"]}\n\
     architectures:\n  - {name: y, variables: {z: 2}, layer: [x, {operator: x, repeat: z}]}\n",
    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 4\nseq_len = 8_192\n[parallelism]\n\
     pipeline_parallel_degree = 2\npipeline_parallel_schedule = \"1F1B\"\n[compile]\nenable = true\n",
    "N=32\ntorchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $N --hidden-size 4096 --num-attention-heads 32 \\\n\
     --seq-length 2048 --vocab-size 50257 --micro-batch-size 2 --global-batch-size=64 --swiglu --bf16\n",
    "  num_layers ...... 2\n  hidden_size ...... 64\n  num_attention_heads ...... 4\n  padded_vocab_size ...... 128\n\
     \x20 seq_length ...... 16\n  world_size ...... 4\n iteration 2/ 9 | elapsed time per iteration (ms): 12.5 | \
     global batch size: 4 |\n",
];
