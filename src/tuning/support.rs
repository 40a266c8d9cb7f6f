//! What can run: RCCL on MI300 and MI355, as measured. Data, first match wins.

use serde::{Deserialize, Serialize};

use crate::collective::{Algorithm, Collective, Protocol};

/// One line of the support matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SupportRule {
    /// Collectives it is about; empty: all.
    pub collectives: Vec<Collective>,
    /// Algorithms it is about; empty: all.
    pub algorithms: Vec<Algorithm>,
    /// Protocols it is about; empty: all.
    pub protocols: Vec<Protocol>,
    /// From this many nodes…
    pub min_nodes: u32,
    /// …to this many.
    pub max_nodes: u32,
    /// Whether it runs as asked.
    pub runs: bool,
    /// What happens instead, for people.
    pub reason: String,
}

/// Why a combination can't run on `nodes` nodes; `None` where it can.
#[must_use]
pub fn obstacle(
    rules: &[SupportRule],
    collective: Collective,
    algorithm: Algorithm,
    protocol: Protocol,
    nodes: u32,
) -> Option<&str> {
    fn has<T: PartialEq>(list: &[T], item: &T) -> bool {
        list.is_empty() || list.contains(item)
    }
    let rule = rules.iter().find(|rule| {
        has(&rule.collectives, &collective)
            && has(&rule.algorithms, &algorithm)
            && has(&rule.protocols, &protocol)
            && (rule.min_nodes..=rule.max_nodes).contains(&nodes)
    });
    match rule {
        Some(rule) if rule.runs => None,
        Some(rule) => Some(&rule.reason),
        None => Some("not known to run"),
    }
}

/// The built-in matrix.
#[must_use]
pub fn built_in() -> Vec<SupportRule> {
    use Algorithm::{CollnetChain, CollnetDirect, Direct, Nvls, NvlsTree, Pat, Ring, Tree};
    use Protocol::{Ll, Ll128, Simple};
    let five = [
        Collective::AllReduce,
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::Broadcast,
        Collective::Reduce,
    ];
    let rule =
        |collectives: &[Collective], algorithms: &[Algorithm], protocols: &[Protocol], nodes, runs, reason: &str| {
            let (min_nodes, max_nodes) = nodes;
            SupportRule {
                collectives: collectives.to_vec(),
                algorithms: algorithms.to_vec(),
                protocols: protocols.to_vec(),
                min_nodes,
                max_nodes,
                runs,
                reason: reason.to_owned(),
            }
        };
    let any = (1, u32::MAX);
    vec![
        rule(&[], &[Direct], &[], any, false, "Direct is the library's own choice and can't be asked for"),
        rule(&[], &[Nvls, NvlsTree, Pat], &[], any, false, "RCCL substitutes NVLS and PAT"),
        rule(&[], &[CollnetDirect, CollnetChain], &[], any, false, "COLLNET ends with an error"),
        rule(&five, &[Ring], &[Ll128], (1, 1), false, "on one node SIMPLE runs instead of LL128"),
        rule(&five, &[Ring], &[Simple, Ll, Ll128], any, true, ""),
        rule(&[Collective::AllReduce], &[Tree], &[Ll], any, true, ""),
        rule(
            &[Collective::AllReduce],
            &[Tree],
            &[Simple, Ll128],
            (1, 1),
            false,
            "on one node RING runs instead of TREE",
        ),
        rule(&[Collective::AllReduce], &[Tree], &[Simple, Ll128], (2, u32::MAX), true, ""),
        rule(&[], &[Tree], &[], any, false, "TREE runs all_reduce only"),
        rule(&[], &[], &[], any, false, "takes no algorithm and no protocol"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_match_wins() {
        let rules = built_in();
        let runs = |c, a, p, nodes| obstacle(&rules, c, a, p, nodes).is_none();
        assert!(runs(Collective::AllReduce, Algorithm::Tree, Protocol::Ll, 1));
        assert!(!runs(Collective::AllReduce, Algorithm::Tree, Protocol::Simple, 1));
        assert!(runs(Collective::AllReduce, Algorithm::Tree, Protocol::Simple, 2));
        assert!(!runs(Collective::Broadcast, Algorithm::Tree, Protocol::Ll, 2));
        assert!(!runs(Collective::AllGather, Algorithm::Ring, Protocol::Ll128, 1));
        assert!(!runs(Collective::AllToAll, Algorithm::Ring, Protocol::Simple, 2));
        assert!(!runs(Collective::AllReduce, Algorithm::Nvls, Protocol::Simple, 4));
    }
}
