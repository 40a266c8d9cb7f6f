//! Small samples of what people have, made by hand.

#![allow(dead_code, reason = "each test uses some of them")]

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
{"rank":0,"group":0,"pid":1,"hostname":"secret-a","device":0,"device_hex":"05","device_info":"x"},
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
/// A comparison of a conf with the default.
pub const COMPARISON: &str = "\
nodes,size_bytes,def_median,cfg_median,gain_pct,psup,def_min,def_max,cfg_min,cfg_max,n_def,n_cfg,def_runs,cfg_runs,def_exec,cfg_exec,cfg_applied_ch,ch_trimmed
1,4096,0.32,0.36,12.5,1.0,0.31,0.32,0.35,0.36,3,3,0.32;0.32;0.31,0.36;0.35;0.36,TREE/LL/1,TREE/LL/2,16,yes
1,8192,0.55,0.68,23.636,1.0,0.54,0.57,0.68,0.7,3,3,0.56;0.55;0.54,0.68;0.68;0.7,TREE/LL/1,TREE/LL/4,4,
";
