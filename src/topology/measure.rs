//! The commands that make what the topology workbench reads.

use crate::measure::MeasureCommand;

/// The commands, the usual one first.
pub const COMMANDS: &[MeasureCommand] = &[
    MeasureCommand {
        title: "What NCCL or RCCL sees",
        gives: "Leaves topology.xml, the GPUs, links and network ports of a node, and graph.xml, the rings and trees that \
                the library made of them",
        needs: "a program of nccl-tests or rccl-tests, or any other that creates a communicator",
        file: "",
        lines: r#"{launch} \
    env NCCL_TOPO_DUMP_FILE="$PWD/topology.xml" NCCL_GRAPH_DUMP_FILE="$PWD/graph.xml" \
    ./build/{program} -b 1M -e 1M -g 1"#,
    },
    MeasureCommand {
        title: "A graph of links that you know",
        gives: "Writes links.csv: the number of nodes, then each link in one direction",
        needs: "",
        file: "",
        lines: "cat >links.csv <<'END'
4
Src,Dest,Latency (ns),Bandwidth (GB/s)
0,1,500,50
1,2,500,50
2,3,500,50
3,0,500,50
END",
    },
];
