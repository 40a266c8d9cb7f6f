//! The ranges of a tuner file that a campaign can judge.

use serde::{Deserialize, Serialize};

use super::read::MeasuredCampaign;
use crate::{
    collective::{Algorithm, Collective, Protocol},
    conf::built_in,
    tuning::conf::{Reader, Rule, read},
};

/// One rule: the workloads that it matches, and what it asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleRange {
    /// Line in the file, from 1; 0 where there is no file.
    pub line: u64,
    /// The rule as it stands.
    pub text: String,
    /// The collective; `None` matches whatever was measured.
    pub collective: Option<Collective>,
    /// The smallest message size of the range, in bytes.
    pub min_bytes: u64,
    /// The largest message size of the range, in bytes, inclusive.
    pub max_bytes: u64,
    /// The number of nodes; `None` matches any.
    pub nodes: Option<u32>,
    /// Ranks over all nodes; `None` matches any.
    pub ranks: Option<u32>,
    /// Algorithm and protocol; `None`: the library's choice.
    pub pair: Option<(Algorithm, Protocol)>,
    /// Channels; `None`: the library's choice.
    pub channels: Option<u32>,
    /// Whether it is a row of the library's own table, which the file repeats since it displaces that table.
    #[serde(default)]
    pub is_built_in: bool,
}

/// The collective and scale of a run, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunScale {
    /// The collective of the run; `None` matches the rules of any.
    pub collective: Option<Collective>,
    /// The number of nodes; `None` matches the rules of any number.
    pub nodes: Option<u32>,
    /// Ranks over all nodes; `None` matches the rules of any number.
    pub ranks: Option<u32>,
}

impl RuleRange {
    /// Whether the rule matches a size in a run; what is not known matches.
    pub fn holds(&self, run: &RunScale, size_bytes: u64) -> bool {
        self.is_about(run) && (self.min_bytes..=self.max_bytes).contains(&size_bytes)
    }

    /// Whether the rule matches some size in a run; what is not known matches.
    pub fn is_about(&self, run: &RunScale) -> bool {
        self.collective.zip(run.collective).is_none_or(|(own, asked)| own == asked)
            && self.nodes.zip(run.nodes).is_none_or(|(own, asked)| own == asked)
            && self.ranks.zip(run.ranks).is_none_or(|(own, asked)| own == asked)
    }
}

/// The rules that DN-TUNER finds in a tuner file, without a header: DN-TUNER takes it for a rule that matches nothing.
pub fn of_conf(conf: &[u8]) -> Vec<RuleRange> {
    let lines: Vec<&[u8]> = conf.split(|byte| *byte == b'\n').collect();
    let text = |line: u32| lines.get(line as usize - 1).map(|line| String::from_utf8_lossy(line).trim().to_owned());
    let count = |number: i32| u32::try_from(number).ok();
    let built_in = built_in::rows(Reader::Rccl);
    let range = |rule: Rule| RuleRange {
        is_built_in: built_in.iter().any(|own| Rule { line: rule.line, ..*own } == rule),
        line: rule.line.into(),
        text: text(rule.line).unwrap_or_default(),
        collective: Some(rule.collective),
        min_bytes: rule.min_bytes,
        max_bytes: rule.max_bytes,
        nodes: rule.nodes.count(),
        ranks: rule.ranks.count().filter(|ranks| *ranks > 0),
        pair: rule.algorithm.zip(rule.protocol),
        channels: count(rule.channels).filter(|channels| *channels > 0),
    };
    let rules =
        read(conf, Reader::DnTuner).into_iter().filter(|rule| rule.nodes.count() != Some(0) || rule.max_bytes != 0);
    rules.map(range).collect()
}

/// Each measured size as a range of its own, where there is no tuner file.
pub fn each_size(campaign: &MeasuredCampaign) -> Vec<RuleRange> {
    let range = |trial: &super::read::Trial| RuleRange {
        line: 0,
        text: String::new(),
        collective: None,
        min_bytes: trial.size_bytes,
        max_bytes: trial.size_bytes,
        nodes: trial.nodes,
        ranks: None,
        pair: None,
        channels: None,
        is_built_in: false,
    };
    campaign.trials.iter().map(range).collect()
}

/// The collective that a file's name begins with: `allreduce_1n.per_size_stats.csv`.
pub fn collective_of_name(name: &str) -> Option<Collective> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let ends = name.match_indices(['_', '.', '-']).map(|(at, _)| at).chain([name.len()]);
    ends.filter_map(|end| Collective::parse(&name[..end])).next_back()
}

/// The collective of all rules, where there is one.
pub fn only_collective(ranges: &[RuleRange]) -> Option<Collective> {
    let first = ranges.first()?.collective?;
    ranges.iter().all(|range| range.collective == Some(first)).then_some(first)
}

/// The ranks of the rules that can be about a collective on so many nodes, where these agree.
pub fn only_ranks(ranges: &[RuleRange], collective: Option<Collective>, nodes: Option<u32>) -> Option<u32> {
    let is_meant = |range: &&RuleRange| {
        range.collective.zip(collective).is_none_or(|(own, asked)| own == asked)
            && range.nodes.zip(nodes).is_none_or(|(own, asked)| own == asked)
    };
    let mut ranks = ranges.iter().filter(is_meant).filter_map(|range| range.ranks);
    let first = ranks.next()?;
    ranks.all(|other| other == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_and_other_lines_are_not() {
        let conf = b"collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n# note\n\
                     allreduce,4096,8192,tree,ll,2,1,8,-1,-1\nallgather,1,2,-1,-1,4,-1,-1\n";
        let rules = of_conf(conf);
        assert_eq!(
            rules.iter().map(|r| (r.line, r.nodes, r.channels)).collect::<Vec<_>>(),
            [(3, Some(1), Some(2)), (4, None, Some(4))]
        );
        assert_eq!(rules[0].pair, Some((Algorithm::Tree, Protocol::Ll)));
        let of = |collective, nodes, ranks| RunScale { collective: Some(collective), nodes: Some(nodes), ranks };
        assert!(rules[0].holds(&of(Collective::AllReduce, 1, None), 8192));
        assert!(rules[0].holds(&of(Collective::AllReduce, 1, Some(8)), 8192));
        assert!(!rules[0].holds(&of(Collective::AllReduce, 1, Some(4)), 8192));
        assert!(!rules[0].holds(&of(Collective::AllReduce, 2, None), 8192));
        assert!(!rules[0].holds(&of(Collective::AllGather, 1, None), 8192));
        assert_eq!(only_collective(&rules), None);
        assert_eq!(only_ranks(&rules, Some(Collective::AllReduce), Some(1)), Some(8));
        assert_eq!(only_ranks(&rules, Some(Collective::AllReduce), Some(2)), None);
        assert_eq!(only_ranks(&rules, Some(Collective::AllGather), None), None);
    }

    #[test]
    fn a_file_s_name_tells_the_collective() {
        for (name, collective) in [
            ("allreduce_1n.per_size_stats.csv", Some(Collective::AllReduce)),
            ("ab/all_gather_5n.csv", Some(Collective::AllGather)),
            ("per_size_stats.csv", None),
            ("reduce_scatter_2n.csv", Some(Collective::ReduceScatter)),
        ] {
            assert_eq!(collective_of_name(name), collective, "{name}");
        }
    }
}
