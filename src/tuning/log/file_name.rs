//! Reads the settings in a file's name, such as `all_reduce_2n_ring_ll128_c24.log`.

use std::num::NonZero;

use crate::{
    collective::{Algorithm, Collective, Protocol},
    tuning::read::Asked,
};

/// The settings in a file's name. One that stands there twice with different values is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileName {
    pub(super) collective: Option<Collective>,
    pub(super) nodes: Option<u32>,
    pub(super) ranks: Option<u32>,
    pub(super) asked: Asked,
    /// The name contains the word `default`.
    pub(super) is_default: bool,
}

impl FileName {
    /// Reads the last part of a path.
    pub(super) fn parse(path: &str) -> Self {
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
        let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let mut said = NameParts::default();
        let mut at = 0;
        while at < words.len() {
            at += said.take(&words[at..]);
        }
        Self {
            collective: said.collective.one(),
            nodes: said.nodes.one(),
            ranks: said.ranks.one(),
            asked: Asked {
                algorithm: said.algorithm.one(),
                protocol: said.protocol.one(),
                channels: said.channels.one().and_then(NonZero::new),
            },
            is_default: said.is_default,
        }
    }
}

#[derive(Default)]
struct NameParts {
    collective: Unambiguous<Collective>,
    nodes: Unambiguous<u32>,
    ranks: Unambiguous<u32>,
    algorithm: Unambiguous<Algorithm>,
    protocol: Unambiguous<Protocol>,
    channels: Unambiguous<u16>,
    is_default: bool,
}

/// A value that was said; none where different ones were.
#[derive(Default)]
enum Unambiguous<T> {
    #[default]
    Never,
    One(T),
    Many,
}

impl<T: PartialEq + Copy> Unambiguous<T> {
    fn say(&mut self, value: T) {
        *self = match *self {
            Self::Never => Self::One(value),
            Self::One(said) if said == value => Self::One(said),
            _ => Self::Many,
        };
    }

    fn one(&self) -> Option<T> {
        match self {
            Self::One(value) => Some(*value),
            _ => None,
        }
    }
}

impl NameParts {
    /// Takes the longest meaning at the beginning of a list of words. Returns how many words it has.
    fn take(&mut self, words: &[&str]) -> usize {
        for count in (1..=words.len().min(3)).rev() {
            let joined = words[..count].concat();
            if let Some(collective) = Collective::parse(&joined) {
                self.collective.say(collective);
            } else if let Some(algorithm) = Algorithm::parse(&joined).filter(|a| *a != Algorithm::None) {
                self.algorithm.say(algorithm);
            } else if let Some(protocol) = Protocol::parse(&joined).filter(|p| *p != Protocol::None) {
                self.protocol.say(protocol);
            } else if count > 2 || !self.count(&joined, count == 2) {
                continue;
            }
            return count;
        }
        self.is_default |= words[0] == "default";
        1
    }

    /// Takes a number with its unit before or behind it: `c24`, `24ch`, `2n`, `nodes2`, `16ranks`, `2x8gpu`.
    fn count(&mut self, word: &str, joined: bool) -> bool {
        if let Some((nodes, gpus)) = word.split_once('x').filter(|_| !joined) {
            let gpus = gpus.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let (Ok(nodes), Ok(gpus)) = (nodes.parse::<u32>(), gpus.parse::<u32>()) else { return false };
            let Some(ranks) = nodes.checked_mul(gpus).filter(|n| *n > 0) else { return false };
            self.nodes.say(nodes);
            self.ranks.say(ranks);
            return true;
        }
        let letters = word.trim_matches(|c: char| c.is_ascii_digit());
        let digits = word.trim_matches(|c: char| c.is_ascii_alphabetic());
        let behind = word.ends_with(letters);
        if letters.is_empty() || word.starts_with(letters) == behind {
            return false;
        }
        let Some(number) = digits.parse::<u16>().ok().filter(|n| *n > 0) else { return false };
        // Words that stand apart must be whole ones: `c 24` may mean anything.
        match letters {
            "c" | "ch" | "nch" | "nc" if !joined => self.channels.say(number),
            "channels" | "nchannels" | "channel" => self.channels.say(number),
            "n" if behind && !joined => self.nodes.say(number.into()),
            "node" | "nodes" | "nnodes" => self.nodes.say(number.into()),
            "gpu" | "gpus" | "r" if behind && !joined => self.ranks.say(number.into()),
            "rank" | "ranks" | "nranks" => self.ranks.say(number.into()),
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(name: &str) -> String {
        let FileName { collective, nodes, ranks, asked, is_default } = FileName::parse(name);
        let Asked { algorithm, protocol, channels } = asked;
        format!("{collective:?} {nodes:?} {ranks:?} {algorithm:?} {protocol:?} {channels:?} {is_default}")
            .replace("Some(", "")
            .replace(')', "")
    }

    #[test]
    fn names() {
        for (name, said) in [
            ("all_reduce_2n_ring_ll128_c24.log", "AllReduce 2 None Ring Ll128 24 false"),
            ("runs/ring/AllGather-nvls-tree-Simple-channels-8.txt", "AllGather None None NvlsTree Simple 8 false"),
            ("scale_2x8gpu_alltoall.log", "AllToAll 2 16 None None None false"),
            ("reduce_scatter_perf.default.16ranks.log", "ReduceScatter None 16 None None None true"),
            ("ring_vs_tree_8gpu.log", "None None 8 None None None false"),
            ("c24_c32_monitoring_0x0.log", "None None None None None None false"),
            ("", "None None None None None None false"),
        ] {
            assert_eq!(say(name), said, "{name}");
        }
    }
}
