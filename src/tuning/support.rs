//! The support matrix: which combinations can run. That of RCCL on MI300 and MI355 was measured. The first line that
//! matches counts.
//!
//! A combination that the library has ruled out is an 'ignore' entry of its cost table: a tuner's rule for it is passed
//! over. What a sweep saw running outweighs the built-in lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    aggregate::Point,
    platform::{Gpu, Library, Platform},
    sizes::boundary,
    sweep::Sweep,
};
use crate::collective::{Algorithm, Collective, Protocol, Scale, Workload};

/// One line of the support matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SupportRule {
    /// Collectives it is about; empty: all.
    pub collectives: Vec<Collective>,
    /// Algorithms it is about; empty: all.
    pub algorithms: Vec<Algorithm>,
    /// Protocols it is about; empty: all.
    pub protocols: Vec<Protocol>,
    /// The smallest number of nodes that the rule is about.
    pub min_nodes: u32,
    /// The largest number of nodes that the rule is about.
    pub max_nodes: u32,
    /// With at least this many ranks on a node.
    pub min_per_node: u32,
    /// Up to and including this size in bytes.
    pub max_bytes: u64,
    /// Whether the library runs the combination, or what it runs instead.
    pub outcome: SupportOutcome,
    /// The reason in words, or what happens instead.
    pub reason: String,
}

/// Whether a combination that is asked for runs, and what happens if it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SupportOutcome {
    /// What is asked for is what runs.
    Runs,
    /// This runs whatever is asked; the channels are obeyed.
    Becomes(Algorithm, Protocol),
    /// The library has ruled it out: its entry of the cost table is 'ignore'.
    RuledOut(Substitute),
}

/// The effect of an environment variable that asks for a combination which the library has ruled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Substitute {
    /// Something else runs without a word.
    Another,
    /// Nothing does, or the job ends with an error.
    Nothing,
}

impl SupportRule {
    /// Whether a scale has as many ranks on a node as it is about.
    const fn is_about_scale(&self, scale: Scale) -> bool {
        let nodes = if scale.nodes == 0 { 1 } else { scale.nodes };
        scale.ranks.div_ceil(nodes) >= self.min_per_node
    }

    fn is_about(&self, collective: Collective, algorithm: Algorithm, protocol: Protocol, nodes: u32) -> bool {
        fn has<T: PartialEq>(list: &[T], item: &T) -> bool {
            list.is_empty() || list.contains(item)
        }
        has(&self.collectives, &collective)
            && has(&self.algorithms, &algorithm)
            && has(&self.protocols, &protocol)
            && (self.min_nodes..=self.max_nodes).contains(&nodes)
    }
}

const UNKNOWN: &str = "not known to run";

/// The combinations that can run where a tuner file is deployed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SupportMatrix {
    /// The combinations that a sweep saw running, by their number of nodes: a sweep may have tens of thousands of
    /// scales.
    measured: BTreeMap<u32, Vec<SupportRule>>,
    rules: Vec<SupportRule>,
}

impl SupportMatrix {
    /// By these lines and what a sweep saw, which outweighs them: measured combinations run; where nothing but Direct
    /// ran up to a size, Direct runs up to there.
    pub fn new(lines: Vec<SupportRule>, sweep: &Sweep) -> Self {
        let mut measured: BTreeMap<u32, Vec<SupportRule>> = BTreeMap::new();
        for group in sweep.groups() {
            let rules = measured.entry(group.scale.nodes).or_default();
            let (collective, nodes) = (group.collective, group.scale.nodes);
            let line = |algorithm, max_bytes, outcome| SupportRule {
                collectives: vec![collective],
                algorithms: Vec::from_iter(algorithm),
                protocols: Vec::new(),
                min_nodes: nodes,
                max_nodes: nodes,
                min_per_node: 1,
                max_bytes,
                outcome,
                reason: "the sweep saw nothing but Direct run at these sizes".to_owned(),
            };
            let points = sweep.points_of(collective, group.scale);
            let of_sizes = || points.chunk_by(|a, b| a.workload.size_bytes == b.workload.size_bytes);
            let is_direct = |at: &&[Point]| at.iter().all(|point| point.configuration.algorithm == Algorithm::Direct);
            let size = |at: &[Point]| at[0].workload.size_bytes;
            if let Some(last) = of_sizes().take_while(is_direct).last().map(size) {
                let next = of_sizes().find(|at| !is_direct(at)).map(size);
                let known = lines.iter().find(|rule| {
                    matches!(rule.outcome, SupportOutcome::Becomes(Algorithm::Direct, _))
                        && rule.is_about(collective, Algorithm::Ring, Protocol::Simple, nodes)
                });
                let known = known.map(|rule| rule.max_bytes).filter(|known| *known >= last);
                let end = match (known, next) {
                    (Some(known), Some(next)) if known < next => known,
                    (_, Some(next)) => boundary(last, next) - 1,
                    (known, None) => known.unwrap_or(last),
                };
                rules.push(line(None, end, SupportOutcome::Becomes(Algorithm::Direct, Protocol::Simple)));
            }
            for pair in &group.pairs {
                let of_pair = |point: &&Point| {
                    (point.configuration.algorithm, point.configuration.protocol) == (pair.algorithm, pair.protocol)
                };
                if points.iter().filter(of_pair).all(Point::is_impossible) {
                    continue;
                }
                if !matches!(pair.algorithm, Algorithm::Direct | Algorithm::None) && pair.protocol != Protocol::None {
                    let mut line = line(Some(pair.algorithm), u64::MAX, SupportOutcome::Runs);
                    line.protocols.push(pair.protocol);
                    rules.push(line);
                }
            }
        }
        Self { measured, rules: lines }
    }

    /// The rules for a number of nodes, those that come first first.
    fn rules(&self, nodes: u32) -> impl Iterator<Item = &SupportRule> {
        self.measured.get(&nodes).into_iter().flatten().chain(&self.rules)
    }

    /// Whether a combination that is asked for runs, and what happens if it does not.
    pub fn outcome(&self, workload: &Workload, algorithm: Algorithm, protocol: Protocol) -> SupportOutcome {
        self.line(workload, algorithm, protocol)
            .map_or(SupportOutcome::RuledOut(Substitute::Nothing), |rule| rule.outcome)
    }

    /// Why the combination runs or not, as the rule that decides it says.
    pub fn reason(&self, workload: &Workload, algorithm: Algorithm, protocol: Protocol) -> &str {
        self.line(workload, algorithm, protocol).map_or(UNKNOWN, |rule| &rule.reason)
    }

    fn line(&self, workload: &Workload, algorithm: Algorithm, protocol: Protocol) -> Option<&SupportRule> {
        self.rules(workload.scale.nodes).find(|rule| {
            workload.size_bytes <= rule.max_bytes
                && rule.is_about_scale(workload.scale)
                && rule.is_about(workload.collective, algorithm, protocol, workload.scale.nodes)
        })
    }

    /// The sizes after which an outcome changes for a collective on `nodes` nodes, as they come.
    pub fn limits(&self, collective: Collective, nodes: u32) -> impl Iterator<Item = u64> {
        let about = move |rule: &&SupportRule| {
            rule.max_bytes < u64::MAX
                && (rule.collectives.is_empty() || rule.collectives.contains(&collective))
                && (rule.min_nodes..=rule.max_nodes).contains(&nodes)
        };
        self.rules(nodes).filter(about).map(|rule| rule.max_bytes)
    }
}

impl Default for SupportMatrix {
    fn default() -> Self {
        Self::new(built_in(None), &Sweep::default())
    }
}

impl Platform {
    /// Which algorithm, protocol and collective can run on so many nodes and ranks there.
    pub fn matrix(&self) -> Vec<SupportRule> {
        match self.library {
            Library::Rccl => built_in(self.gpu),
            Library::Nccl => nccl(self),
        }
    }
}

impl Library {
    /// The support matrix of the library, of whatever version and GPU.
    pub fn matrix(self) -> Vec<SupportRule> {
        Platform::from(self).matrix()
    }
}

const TUNED_COLLECTIVES: [Collective; 5] = [
    Collective::AllReduce,
    Collective::AllGather,
    Collective::ReduceScatter,
    Collective::Broadcast,
    Collective::Reduce,
];
const ANY_NODES: (u32, u32) = (1, u32::MAX);

fn line(
    collectives: &[Collective],
    algorithms: &[Algorithm],
    protocols: &[Protocol],
    (min_nodes, max_nodes): (u32, u32),
    outcome: SupportOutcome,
    reason: &str,
) -> SupportRule {
    SupportRule {
        collectives: collectives.to_vec(),
        algorithms: algorithms.to_vec(),
        protocols: protocols.to_vec(),
        min_nodes,
        max_nodes,
        min_per_node: 1,
        max_bytes: u64::MAX,
        outcome,
        reason: reason.to_owned(),
    }
}

/// RCCL's matrix on MI300 and MI355; on a GPU that is known, with the sizes up to which all_gather runs Direct there.
pub fn built_in(gpu: Option<Gpu>) -> Vec<SupportRule> {
    use Algorithm::{CollnetChain, CollnetDirect, Direct, Nvls, NvlsTree, Pat, Ring, Tree};
    use Protocol::{Ll, Ll128, Simple};
    use Substitute::{Another, Nothing};
    use SupportOutcome::{Becomes, RuledOut, Runs};
    let direct = |nodes, mib: u64, reason| SupportRule {
        max_bytes: mib << 20,
        ..line(&[Collective::AllGather], &[], &[], nodes, Becomes(Direct, Simple), reason)
    };
    let mut lines = match gpu {
        None | Some(Gpu::Gfx(0x950)) => vec![
            direct((1, 1), 8, "on one node all_gather runs Direct/SIMPLE up to 8 MiB whatever is asked"),
            direct((2, 2), 4, "on two nodes all_gather runs Direct/SIMPLE up to 4 MiB whatever is asked"),
        ],
        Some(Gpu::Gfx(0x942)) => {
            vec![direct(ANY_NODES, 4, "on gfx942 all_gather runs Direct/SIMPLE up to 4 MiB whatever is asked")]
        }
        Some(_) => Vec::new(),
    };
    lines.extend([
        line(
            &[],
            &[Direct],
            &[],
            ANY_NODES,
            RuledOut(Nothing),
            "Direct is the library's own choice and can't be asked for",
        ),
        line(&[], &[Nvls, NvlsTree, Pat], &[], ANY_NODES, RuledOut(Another), "RCCL substitutes NVLS and PAT"),
        line(&[], &[CollnetDirect, CollnetChain], &[], ANY_NODES, RuledOut(Nothing), "COLLNET ends with an error"),
        line(
            &TUNED_COLLECTIVES,
            &[Ring],
            &[Ll128],
            (1, 1),
            RuledOut(Another),
            "on one node SIMPLE runs instead of LL128",
        ),
        line(&TUNED_COLLECTIVES, &[Ring], &[Simple, Ll, Ll128], ANY_NODES, Runs, ""),
        line(&[Collective::AllReduce], &[Tree], &[Ll], ANY_NODES, Runs, ""),
        line(
            &[Collective::AllReduce],
            &[Tree],
            &[Simple, Ll128],
            (1, 1),
            RuledOut(Another),
            "on one node RING runs instead of TREE",
        ),
        line(&[Collective::AllReduce], &[Tree], &[Simple, Ll128], (2, u32::MAX), Runs, ""),
        line(&[], &[Tree], &[], ANY_NODES, RuledOut(Nothing), "TREE runs all_reduce only"),
        line(&[], &[], &[], ANY_NODES, RuledOut(Nothing), "takes no algorithm and no protocol"),
    ]);
    lines
}

/// NCCL's matrix. What depends on a version or a GPU that is not known may run, as may CollNet and NVLS where nobody
/// says whether the switches reduce.
pub fn nccl(platform: &Platform) -> Vec<SupportRule> {
    use Algorithm::{CollnetChain, CollnetDirect, Nvls, NvlsTree, Pat, Ring, Tree};
    use Protocol::{Ll, Ll128, Simple};
    use SupportOutcome::{RuledOut, Runs};
    let (all_reduce, gathers) = ([Collective::AllReduce], [Collective::AllGather, Collective::ReduceScatter]);
    let nothing = RuledOut(Substitute::Nothing);
    let between_nodes = (2, u32::MAX);
    let sm = match platform.gpu {
        Some(Gpu::Sm(sm)) => Some(sm),
        _ => None,
    };
    let mut lines = Vec::new();
    if sm.is_some_and(|sm| sm < 70) {
        lines.push(line(&[], &[], &[Ll128], ANY_NODES, nothing, "LL128 needs compute capability 7.0"));
    }
    if sm.is_some_and(|sm| sm < 90) {
        lines.push(line(
            &[],
            &[Nvls, NvlsTree],
            &[],
            ANY_NODES,
            nothing,
            "NVLS needs compute capability 9.0 and NVSwitch",
        ));
    }
    lines.push(line(&[], &[NvlsTree], &[], (1, 1), nothing, "NVLS_TREE runs between nodes, and NVLS in one"));
    lines.push(line(&[], &[CollnetDirect, CollnetChain], &[], (1, 1), nothing, "COLLNET runs between nodes"));
    lines.push(SupportRule {
        min_per_node: 2,
        ..line(
            &gathers,
            &[Pat],
            &[],
            ANY_NODES,
            nothing,
            "PAT runs with one rank per node (others with NCCL_PAT_ENABLE=2)",
        )
    });
    for (minor, algorithms, collectives, reason) in [
        (17, &[Nvls][..], &[][..], "NVLS runs from NCCL 2.17 on"),
        (18, &[NvlsTree], &[], "NVLS_TREE runs from NCCL 2.18 on"),
        (19, &[Nvls], &gathers, "all_gather and reduce_scatter run NVLS from NCCL 2.19 on"),
        (20, &[CollnetDirect], &gathers, "all_gather and reduce_scatter run COLLNET_DIRECT from NCCL 2.20 on"),
        (23, &[Pat], &[], "PAT runs from NCCL 2.23 on"),
    ] {
        if platform.is_before(2, minor) {
            lines.push(line(collectives, algorithms, &[], ANY_NODES, nothing, reason));
        }
    }
    lines.extend([
        line(&TUNED_COLLECTIVES, &[Ring], &[Simple, Ll, Ll128], ANY_NODES, Runs, ""),
        line(&all_reduce, &[Tree], &[Simple, Ll, Ll128], ANY_NODES, Runs, ""),
        line(&all_reduce, &[Nvls], &[Simple], ANY_NODES, Runs, ""),
        line(&all_reduce, &[NvlsTree, CollnetDirect, CollnetChain], &[Simple], between_nodes, Runs, ""),
        line(&gathers, &[Nvls, Pat], &[Simple], ANY_NODES, Runs, ""),
        line(&gathers, &[CollnetDirect], &[Simple], between_nodes, Runs, ""),
        line(&[], &[Tree], &[], ANY_NODES, nothing, "TREE runs all_reduce only"),
        line(&all_reduce, &[Pat], &[], ANY_NODES, nothing, "PAT runs all_gather and reduce_scatter only"),
        line(
            &all_reduce,
            &[Nvls, NvlsTree, CollnetDirect, CollnetChain],
            &[],
            ANY_NODES,
            nothing,
            "NVLS, NVLS_TREE and COLLNET run with SIMPLE only",
        ),
        line(
            &gathers,
            &[],
            &[],
            ANY_NODES,
            nothing,
            "all_gather and reduce_scatter take RING, and with SIMPLE also PAT, NVLS and COLLNET_DIRECT",
        ),
        line(
            &[Collective::Broadcast, Collective::Reduce],
            &[],
            &[],
            ANY_NODES,
            nothing,
            "broadcast and reduce take RING only",
        ),
        line(&[], &[], &[], ANY_NODES, nothing, "not known to run"),
    ]);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_match_wins() {
        let support = SupportMatrix::default();
        let runs = |collective, algorithm, protocol, nodes| {
            let scale = Scale { nodes, ranks: 8 * nodes };
            let workload = Workload { collective, scale, size_bytes: 1 << 30 };
            support.outcome(&workload, algorithm, protocol) == SupportOutcome::Runs
        };
        assert!(runs(Collective::AllReduce, Algorithm::Tree, Protocol::Ll, 1));
        assert!(!runs(Collective::AllReduce, Algorithm::Tree, Protocol::Simple, 1));
        assert!(runs(Collective::AllReduce, Algorithm::Tree, Protocol::Simple, 2));
        assert!(!runs(Collective::Broadcast, Algorithm::Tree, Protocol::Ll, 2));
        assert!(!runs(Collective::AllGather, Algorithm::Ring, Protocol::Ll128, 1));
        assert!(!runs(Collective::AllToAll, Algorithm::Ring, Protocol::Simple, 2));
        assert!(!runs(Collective::AllReduce, Algorithm::Nvls, Protocol::Simple, 4));
    }

    /// A row of docs/tuning.md: algorithm, protocols, collectives with the minor version from which they run it, and
    /// where.
    type Documented = (Algorithm, Vec<Protocol>, BTreeMap<Collective, u32>, &'static str);

    fn documented() -> Vec<Documented> {
        let table = include_str!("../../docs/tuning.md").split("| algorithm | protocols | collectives").nth(1).unwrap();
        let rows = table.lines().skip(2).take_while(|line| line.starts_with("| "));
        let row = |line: &'static str| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let mut from = BTreeMap::new();
            for part in cells[2].split("; ") {
                let (names, minor) = match part.rsplit_once(" 2.") {
                    Some((names, minor)) => (names, minor.parse().unwrap()),
                    None => (part, 0),
                };
                from.extend(names.split(", ").map(|name| (Collective::parse(name).unwrap(), minor)));
            }
            let protocols = cells[1].split(", ").map(|name| Protocol::parse(name).unwrap()).collect();
            (Algorithm::parse(cells[0]).unwrap(), protocols, from, cells[3])
        };
        rows.map(row).collect()
    }

    #[test]
    fn what_the_document_says_of_nccl_is_what_the_matrix_says() {
        let table = documented();
        assert_eq!(table.len(), 7);
        for minor in 14..=30 {
            let version = Some(super::super::platform::Version::release(2, minor, 0));
            let platform = Platform { version, gpu: Some(Gpu::Sm(90)), ..Library::Nccl.into() };
            let support = SupportMatrix::new(nccl(&platform), &Sweep::default());
            for scale in [(1, 8), (2, 16), (2, 2)].map(|(nodes, ranks)| Scale { nodes, ranks }) {
                for (algorithm, protocols, from, place) in &table {
                    for (collective, protocol) in TUNED_COLLECTIVES
                        .into_iter()
                        .flat_map(|it| [Protocol::Ll, Protocol::Ll128, Protocol::Simple].map(|protocol| (it, protocol)))
                    {
                        let is_there =
                            (!place.contains("between nodes") || *algorithm == Algorithm::Nvls || scale.nodes > 1)
                                && (!place.starts_with("one rank per node") || scale.ranks == scale.nodes);
                        let is_known = from.get(&collective).is_some_and(|from| minor >= *from);
                        let expected = is_there && is_known && protocols.contains(&protocol);
                        let workload = Workload { collective, scale, size_bytes: 1 << 20 };
                        let runs = support.outcome(&workload, *algorithm, protocol) == SupportOutcome::Runs;
                        assert_eq!(runs, expected, "{algorithm} {protocol} {collective} on {scale}, 2.{minor}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_a_sweep_saw_outweighs_the_matrix() {
        use crate::{
            collective::{Configuration, Scale},
            tuning::aggregate::Point,
        };
        let workload = |nodes, size_bytes| Workload {
            collective: Collective::AllGather,
            scale: Scale { nodes, ranks: nodes * 8 },
            size_bytes,
        };
        let point = |nodes, size_bytes, algorithm| {
            let configuration = Configuration { algorithm, protocol: Protocol::Simple, channels: 4 };
            Point::new(workload(nodes, size_bytes), configuration, 1.0)
        };
        let (direct, ring) = (Algorithm::Direct, Algorithm::Ring);
        let points = vec![
            point(1, 1 << 20, ring),
            point(2, 1 << 22, direct),
            point(2, 1 << 23, ring),
            point(3, 1 << 20, direct),
            point(3, 1 << 22, ring),
        ];
        let support = SupportMatrix::new(built_in(None), &Sweep { points, defaults: Vec::new() });
        let outcome = |nodes, size_bytes| support.outcome(&workload(nodes, size_bytes), ring, Protocol::Simple);
        let becomes = SupportOutcome::Becomes(direct, Protocol::Simple);
        // Measured to run, whatever the matrix says.
        assert_eq!(outcome(1, 1 << 10), SupportOutcome::Runs);
        // The matrix knows where between the two measured sizes it ends.
        assert_eq!((outcome(2, 4 << 20), outcome(2, (4 << 20) + 4)), (becomes, SupportOutcome::Runs));
        assert_eq!((outcome(3, (2 << 20) - 1), outcome(3, 2 << 20)), (becomes, SupportOutcome::Runs));
        assert_eq!((outcome(4, 1 << 10), outcome(5, 1 << 30)), (SupportOutcome::Runs, SupportOutcome::Runs));
        assert_eq!(support.limits(Collective::AllGather, 3).collect::<Vec<_>>(), [(2 << 20) - 1]);
    }

    #[test]
    fn the_matrix_of_nccl_rules_out_what_no_version_runs() {
        let support = SupportMatrix::new(nccl(&Platform::from(Library::Nccl)), &Sweep::default());
        for collective in TUNED_COLLECTIVES {
            let workload = Workload { collective, scale: Scale { nodes: 4, ranks: 4 }, size_bytes: 1 << 20 };
            for algorithm in Algorithm::ALL {
                for protocol in [Protocol::Ll, Protocol::Ll128, Protocol::Simple] {
                    let runs = support.outcome(&workload, *algorithm, protocol) == SupportOutcome::Runs;
                    let of = format!("{collective} {algorithm}/{protocol}");
                    assert_eq!(runs, collective.can_run(*algorithm, protocol), "{of}");
                }
            }
        }
    }
}
