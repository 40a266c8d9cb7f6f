//! Which configuration a library runs after its tuner plugin has read a tuner file.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    reader::{Channels, Reader},
    rule::Rule,
    words::COLLECTIVES,
};
use crate::{
    collective::{Algorithm, Configuration, Protocol, Workload},
    tuning::support::{SupportMatrix, SupportOutcome},
};

/// Which entry of the library's cost table is made the cheapest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Entry {
    /// No entry is forced: the library chooses.
    Library,
    /// The entry of this algorithm and protocol.
    Forced(Algorithm, Protocol),
    /// Memory outside the table is read and written; then the library chooses, if it still can.
    OutsideTable,
}

/// The algorithm, protocol and channels that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Effect {
    /// The entry of the cost table: algorithm and protocol.
    pub entry: Entry,
    /// The number of channels, or that the library chooses it.
    pub channels: Channels,
}

impl Effect {
    /// The effect of having no tuner file: the library chooses everything.
    pub const LIBRARY: Self = Self { entry: Entry::Library, channels: Channels::Library };

    /// Where algorithm, protocol and channels are all given.
    pub const fn configuration(self) -> Option<Configuration> {
        match (self.entry, self.channels) {
            (Entry::Forced(algorithm, protocol), Channels::Count(channels)) => {
                Some(Configuration { algorithm, protocol, channels })
            }
            _ => None,
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |channels: u32| if channels == 1 { "channel" } else { "channels" };
        let library = match self.entry {
            Entry::Forced(algorithm, protocol) => {
                return match self.channels {
                    Channels::Library => write!(f, "{algorithm}/{protocol}, channels of the library's choice"),
                    Channels::Count(channels) => write!(f, "{algorithm}/{protocol}/{channels}"),
                    Channels::Negative(number) => write!(f, "{algorithm}/{protocol} on {number} channels: undefined"),
                };
            }
            Entry::OutsideTable => {
                f.write_str("memory outside the cost table is overwritten, then ")?;
                "the library's choice"
            }
            Entry::Library => "the library's choice",
        };
        match self.channels {
            Channels::Library => f.write_str(library),
            Channels::Count(channels) => write!(f, "{library} on {channels} {}", of(channels)),
            Channels::Negative(number) => write!(f, "{library} on {number} channels: undefined"),
        }
    }
}

/// The effect of a tuner file on a workload, and the rule that causes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleChoice {
    /// The algorithm, protocol and channels that run.
    pub effect: Effect,
    /// The rule that applies, by its index; `None` where none does.
    pub rule: Option<usize>,
}

/// The effect on a workload of the first rule that matches and whose combination the library has not ruled out; a rule
/// for a combination that is ruled out makes the search go on. Collectives other than the five of NCCL's tuner
/// interface run as the library chooses: a tuner is not asked about them.
pub fn choose(rules: &[Rule], reader: Reader, support: &SupportMatrix, workload: &Workload) -> RuleChoice {
    let Workload { collective, scale, size_bytes } = *workload;
    if !COLLECTIVES.iter().any(|(_, known)| *known == collective) {
        return RuleChoice { effect: Effect::LIBRARY, rule: None };
    }
    for (index, rule) in rules.iter().enumerate() {
        if rule.collective == collective
            && rule.is_about(scale)
            && rule.sizes_on(scale).contains(&size_bytes)
            && let Some(entry) = entry(rule, support, workload)
        {
            return RuleChoice {
                effect: Effect { entry, channels: rule.requested_channels(reader) },
                rule: Some(index),
            };
        }
    }
    RuleChoice { effect: Effect { entry: Entry::Library, channels: reader.behaviour().preset }, rule: None }
}

/// The entry that a rule makes the cheapest; `None` where the library has ruled it out.
fn entry(rule: &Rule, support: &SupportMatrix, workload: &Workload) -> Option<Entry> {
    match (rule.algorithm, rule.protocol) {
        (None, None) => Some(Entry::Library),
        (Some(algorithm), Some(protocol)) => forced(algorithm, protocol, support, workload),
        _ => Some(Entry::OutsideTable),
    }
}

/// The entry that runs where a tuner makes this one the cheapest; `None` where the library has ruled it out.
pub fn forced(algorithm: Algorithm, protocol: Protocol, support: &SupportMatrix, workload: &Workload) -> Option<Entry> {
    match support.outcome(workload, algorithm, protocol) {
        SupportOutcome::Runs => Some(Entry::Forced(algorithm, protocol)),
        SupportOutcome::Becomes(algorithm, protocol) => Some(Entry::Forced(algorithm, protocol)),
        SupportOutcome::RuledOut(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Collective, Scale},
        tuning::conf::read,
    };

    fn runs(conf: &str, reader: Reader, collective: Collective, nodes: u32, size_bytes: u64) -> String {
        let workload = Workload { collective, scale: Scale { nodes, ranks: nodes * 8 }, size_bytes };
        choose(&read(conf.as_bytes(), reader), reader, &SupportMatrix::default(), &workload).effect.to_string()
    }

    const ALL: [Reader; 3] = [Reader::Example, Reader::DnTuner, Reader::Rccl];

    fn all(conf: &str, nodes: u32, size_bytes: u64) -> [String; 3] {
        ALL.map(|reader| runs(conf, reader, Collective::AllReduce, nodes, size_bytes))
    }

    #[test]
    fn the_first_rule_that_can_run_wins() {
        let conf = "allreduce,0,4096,tree,simple,4,-1,-1\nallreduce,0,8192,ring,ll,8,-1,-1\n";
        // On one node the library has ruled TREE/SIMPLE out, so the search goes on.
        assert_eq!(all(conf, 1, 4096), ["RING/LL/8"; 3]);
        assert_eq!(all(conf, 2, 4096), ["TREE/SIMPLE/4"; 3]);
        assert_eq!(all(conf, 2, 8192), ["RING/LL/8"; 3]);
    }

    #[test]
    fn a_gap_is_one_channel_or_the_library_s_choice() {
        let gap = ["the library's choice on 1 channel", "the library's choice", "the library's choice"];
        assert_eq!(all("allreduce,0,4096,ring,ll,8,2,16\n", 2, 4097), gap);
        assert_eq!(all("allreduce,0,4096,ring,ll,8,2,16\n", 1, 4096), gap);
        assert_eq!(all("allreduce,4096,0,ring,ll,8,2,16\n", 2, 4096), gap);
        // Never asked about.
        assert_eq!(ALL.map(|reader| runs("", reader, Collective::AllToAll, 2, 1)), ["the library's choice"; 3]);
    }

    #[test]
    fn minus_one_means_something_else_to_each() {
        let outside = "memory outside the cost table is overwritten, then the library's choice on 8 channels";
        let library = "the library's choice";
        for (rule, expected) in [
            ("-1,-1,8", ["RING/SIMPLE/8", "the library's choice on 8 channels", library]),
            ("-1,ll,8", ["RING/LL/8", outside, library]),
            ("tree,-1,8", ["TREE/SIMPLE/8", outside, library]),
            (
                "ring,ll,-1",
                ["RING/LL/1", "RING/LL, channels of the library's choice", "RING/LL, channels of the library's choice"],
            ),
            ("ring,ll,0", ["RING/LL, channels of the library's choice"; 3]),
            (
                "ring,ll,-2",
                [
                    "RING/LL on -2 channels: undefined",
                    "RING/LL on -2 channels: undefined",
                    "RING/LL, channels of the library's choice",
                ],
            ),
        ] {
            assert_eq!(all(&format!("allreduce,0,4096,{rule},2,16\n"), 2, 1024), expected, "{rule}");
        }
    }

    #[test]
    fn a_rule_for_alltoall_is_one_for_allreduce() {
        let expected = ["RING/SIMPLE/8", "RING/SIMPLE/8", "the library's choice"];
        assert_eq!(all("alltoall,0,4096,ring,simple,8,2,16\n", 2, 1024), expected);
    }

    #[test]
    fn direct_runs_whatever_is_asked() {
        let conf = "allgather,0,-1,ring,ll,8,2,16\n";
        let run = |size_bytes| runs(conf, Reader::Rccl, Collective::AllGather, 2, size_bytes);
        assert_eq!([run(4 << 20), run((4 << 20) + 1)], ["Direct/SIMPLE/8", "RING/LL/8"]);
    }
}
