//! Parsing of lines into rules, separately for each reader.

use std::ops::RangeInclusive;

use super::{
    interval::Interval,
    ncclx,
    number::{atoi, strtoull},
    reader::{Channels, Reader},
    scan::{Piece, fields, pieces},
    strict,
    words::{ALGORITHMS, COLLECTIVES, PROTOCOLS, WILDCARD, find},
};
use crate::collective::{Algorithm, Collective, Protocol, Scale};

/// The fewest fields of a valid line: those up to nRanks.
pub const FIELDS_NEEDED: usize = 8;

/// The fields that a reader keeps of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Line number in the file, from 1.
    pub line: u32,
    /// Index of the piece within the line, from 0: `fgets` splits long lines.
    pub part: u32,
    /// One of the five collectives for which a tuner is called.
    pub collective: Collective,
    /// The smallest message size that matches, in bytes: of the whole collective, or of one rank with `per_rank`.
    pub min_bytes: u64,
    /// The largest message size that matches, in bytes, as `min_bytes`.
    pub max_bytes: u64,
    /// The algorithm; `None` stands for −1, where the reader knows that.
    pub algorithm: Option<Algorithm>,
    /// The protocol; `None` stands for −1, where the reader knows that.
    pub protocol: Option<Protocol>,
    /// Number of channels as written; −1 leaves it to the library.
    pub channels: i32,
    /// The numbers of nodes that match.
    pub nodes: Interval,
    /// The numbers of ranks that match: of all nodes, or of one with `per_rank`.
    pub ranks: Interval,
    /// Sizes count per rank and ranks per node, as NCCLX counts them.
    pub per_rank: bool,
    /// `numPipeOps` as written; −1 matches any.
    pub pipe_ops: i32,
    /// `regBuff` as written; −1 matches any.
    pub reg_buff: i32,
}

impl From<strict::Rule> for Rule {
    fn from(rule: strict::Rule) -> Self {
        // No communicator has more than 2³¹ nodes or ranks.
        let or_any = |number: Option<u32>| number.map_or(-1, |number| i32::try_from(number).unwrap_or(i32::MAX));
        let counts = |number: Option<u32>| number.map_or(Interval::ANY, |number| Interval::only(number.into()));
        let strict::Rule { line, collective, min_bytes, max_bytes, pair, .. } = rule;
        Self {
            line,
            part: 0,
            collective,
            min_bytes,
            max_bytes,
            algorithm: pair.map(|(algorithm, _)| algorithm),
            protocol: pair.map(|(_, protocol)| protocol),
            channels: rule.channels.map_or(-1, i32::from),
            nodes: counts(rule.nodes),
            ranks: counts(rule.ranks),
            per_rank: false,
            pipe_ops: or_any(rule.pipe_ops),
            reg_buff: -1,
        }
    }
}

impl From<ncclx::Rule> for Rule {
    fn from(rule: ncclx::Rule) -> Self {
        let ncclx::Rule { line, collective, bytes_per_rank: bytes, channels, nodes, .. } = rule;
        let end = |bytes: i64| u64::try_from(bytes).ok();
        // No communicator has fewer than one: ranges that differ below it are the same.
        let counts = |of: Interval| match of {
            Interval { min: ..=1, max: i64::MAX } => Interval::ANY,
            Interval { min, max } if max >= 1 => Interval { min: min.max(1), max },
            _ => of,
        };
        let (min_bytes, max_bytes) = match (bytes.min.max(0), bytes.max) {
            // No size is that large: the end is open.
            (min, i64::MAX) => (end(min).unwrap_or(0), u64::MAX),
            (min, max) => end(min).zip(end(max)).unwrap_or((1, 0)),
        };
        Self {
            line,
            part: 0,
            collective,
            min_bytes,
            max_bytes,
            algorithm: Some(rule.algorithm),
            protocol: Some(rule.protocol),
            channels,
            nodes: counts(nodes),
            ranks: counts(rule.local_ranks),
            per_rank: true,
            pipe_ops: -1,
            reg_buff: -1,
        }
    }
}

/// The ranks of a node as NCCLX counts them, and by how many ranks it divides the size of a collective.
///
/// Source: matchesCollective and metaTunerInit of meta-pytorch/torchcomms, comms/ncclx/meta/tuner/MetaTuner.cc.
pub fn ncclx_ranks(Scale { nodes, ranks }: Scale) -> (u32, u64) {
    let local_ranks = ranks.checked_div(nodes).unwrap_or(ranks);
    (local_ranks, (u64::from(nodes) * u64::from(local_ranks)).max(1))
}

impl Rule {
    /// Whether it is about communicators of a scale, calls that are not grouped and buffers that are not registered.
    pub fn is_about(&self, scale: Scale) -> bool {
        let ranks = if self.per_rank { ncclx_ranks(scale).0 } else { scale.ranks };
        // Casts as in C: `config->nNodes == (int)ctx->nNodes`.
        let fits = |wanted: Interval, number: u32| wanted.contains(i64::from(number as i32));
        fits(self.nodes, scale.nodes)
            && fits(self.ranks, ranks)
            && fits(Interval::of_c(self.pipe_ops), PIPE_OPS)
            && fits(Interval::of_c(self.reg_buff), REG_BUFF)
    }

    /// The only scale that the rule is about, where there is only one and some communicator has it.
    pub fn scale(&self) -> Option<Scale> {
        let (nodes, ranks) = (self.nodes.count()?, self.ranks.count()?);
        let ranks = if self.per_rank { nodes.checked_mul(ranks)? } else { ranks };
        Some(Scale { nodes, ranks }).filter(|_| nodes > 0 && ranks > 0)
    }

    /// The message sizes that the rule matches on a scale, in bytes of the whole collective as a tuner is asked about
    /// them; an empty range where there are none.
    pub fn sizes_on(&self, scale: Scale) -> RangeInclusive<u64> {
        if !self.per_rank || self.min_bytes > self.max_bytes {
            return self.min_bytes..=self.max_bytes;
        }
        let (_, ranks) = ncclx_ranks(scale);
        let after = self.max_bytes.checked_add(1).and_then(|after| after.checked_mul(ranks));
        match self.min_bytes.checked_mul(ranks) {
            Some(first) => first..=after.map_or(u64::MAX, |after| after - 1),
            None => RangeInclusive::new(1, 0),
        }
    }

    /// Whether another rule says the same, wherever in a file it stands.
    pub fn says(&self, other: &Self) -> bool {
        Self { line: other.line, part: other.part, ..*self } == *other
    }

    /// The number of channels that this rule makes the library use.
    pub fn requested_channels(&self, reader: Reader) -> Channels {
        let behaviour = reader.behaviour();
        match self.channels {
            -1 => behaviour.preset,
            number if number < 1 && behaviour.checks_channels => behaviour.preset,
            number => Channels::of(number),
        }
    }
}

/// That rules hold under conditions that the calls of a job are taken to meet or not to meet, in a sentence without a
/// full stop; `None` where no rule has such a condition.
pub fn conditions(rules: &[Rule]) -> Option<String> {
    const LISTED: usize = 8;
    let mut lines: Vec<u32> =
        rules.iter().filter(|rule| rule.pipe_ops != -1 || rule.reg_buff != -1).map(|rule| rule.line).collect();
    lines.dedup();
    let words: Vec<String> = lines.iter().take(LISTED).map(u32::to_string).collect();
    let more = lines.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!words.is_empty()).then(|| {
        format!(
            "Lines {}{more} of the tuner file hold by numPipeOps or regBuff: calls are taken to be by themselves \
             (numPipeOps {PIPE_OPS}) and on buffers that are not registered (regBuff {REG_BUFF}). Where a job aggregates \
             calls or registers buffers, other lines decide",
            words.join(", ")
        )
    })
}

/// `numPipeOps` of a collective that is not aggregated with others.
pub const PIPE_OPS: u32 = 1;
/// `regBuff` of a collective on buffers that are not registered.
pub const REG_BUFF: u32 = 0;

/// The result of parsing one piece of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceContent {
    /// A line that starts with `#`.
    Comment,
    /// A line without any field.
    Blank,
    /// A line that became a rule.
    Rule(Rule),
    /// A line that the reader drops. Only RCCL logs that it does.
    Dropped(Dropped),
}

/// The reason why a reader drops a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// Too few fields, this many after empty ones were collapsed.
    TooFewFields(usize),
    /// A field that consists of blanks only.
    EmptyField,
    /// A collective, algorithm or protocol that the reader doesn't know.
    UnknownWord,
}

/// Parses one piece as `reader` does.
pub fn content(piece: &Piece<'_>, reader: Reader) -> PieceContent {
    let behaviour = reader.behaviour();
    let text = text(piece, reader);
    let start = if behaviour.trims_lines { super::scan::trim(text) } else { text };
    match start.first() {
        Some(b'#') => return PieceContent::Comment,
        None if behaviour.trims_lines || piece.text.is_empty() => return PieceContent::Blank,
        _ => {}
    }
    let fields = fields(text);
    if behaviour.skips_unknown && fields.iter().any(|field| field.is_empty()) {
        return PieceContent::Dropped(Dropped::EmptyField);
    }
    if fields.len() < FIELDS_NEEDED {
        return PieceContent::Dropped(Dropped::TooFewFields(fields.len()));
    }
    let collective = find(&COLLECTIVES, fields[0]);
    let algorithm = find(&ALGORITHMS, fields[3]);
    let protocol = find(&PROTOCOLS, fields[4]);
    if behaviour.skips_unknown && (collective.is_none() || algorithm.is_none() || protocol.is_none()) {
        return PieceContent::Dropped(Dropped::UnknownWord);
    }
    let is_wildcard = |field: &[u8]| behaviour.has_wildcards && field == WILDCARD;
    let or_any = |field: Option<&&[u8]>| field.map_or(-1, |field| atoi(field).value);
    PieceContent::Rule(Rule {
        line: piece.line,
        part: piece.part,
        collective: collective.unwrap_or(Collective::AllReduce),
        min_bytes: strtoull(fields[1]).value,
        max_bytes: strtoull(fields[2]).value,
        algorithm: (!is_wildcard(fields[3])).then_some(algorithm.unwrap_or(Algorithm::Ring)),
        protocol: (!is_wildcard(fields[4])).then_some(protocol.unwrap_or(Protocol::Simple)),
        channels: atoi(fields[5]).value,
        nodes: Interval::of_c(atoi(fields[6]).value),
        ranks: Interval::of_c(atoi(fields[7]).value),
        per_rank: false,
        pipe_ops: or_any(fields.get(8)),
        reg_buff: or_any(fields.get(9)),
    })
}

/// The part of a piece that a reader sees: RCCL ends a line at a carriage return as well.
pub fn text<'a>(piece: &Piece<'a>, reader: Reader) -> &'a [u8] {
    let end = memchr::memchr(b'\r', piece.text).filter(|_| reader.behaviour().trims_lines);
    &piece.text[..end.unwrap_or(piece.text.len())]
}

/// The rules that a reader finds in a file, in its order.
///
/// ```
/// use collectune::conf::{Reader, read};
/// let conf = b"# rules\nallreduce,0,4095,TREE,ll,8,2,16\nalltoall,0,65536,ring,simple,4,-1,-1\n";
/// assert_eq!(read(conf, Reader::Example).len(), 2); // a ring rule, and one for allreduce
/// assert_eq!(read(conf, Reader::Rccl).len(), 0);
/// ```
pub fn read(bytes: &[u8], reader: Reader) -> Vec<Rule> {
    match reader {
        Reader::Collectune => return strict::read(bytes).into_iter().map(Rule::from).collect(),
        Reader::Ncclx => return ncclx::read(bytes).into_iter().map(Rule::from).collect(),
        Reader::Example | Reader::DnTuner | Reader::Rccl => {}
    }
    let rule = |piece: Piece<'_>| match content(&piece, reader) {
        PieceContent::Rule(rule) => Some(rule),
        _ => None,
    };
    pieces(bytes).filter_map(rule).collect()
}

/// The readers for which a file is written: NCCLX has a grammar of its own, which no other reader knows.
pub fn readers_of(bytes: &[u8]) -> &'static [Reader] {
    if ncclx::is_ncclx(bytes) { &[Reader::Ncclx] } else { Reader::OF_CONF }
}

/// Who reads a file for which no reader was named: the usual one, unless the file has a grammar that it can't read.
pub fn reader_of(bytes: &[u8], usual: Reader) -> Reader {
    let known = readers_of(bytes);
    if known.contains(&usual) { usual } else { known[0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str, reader: Reader) -> Rule {
        let [rule] = read(line.as_bytes(), reader)[..] else { panic!("{line}") };
        rule
    }

    #[test]
    fn each_field_is_read_from_its_place() {
        let rule = one("allreduce,10,20,tree,ll128,3,4,5,6,7", Reader::Example);
        assert_eq!((rule.min_bytes, rule.max_bytes, rule.channels), (10, 20, 3));
        assert_eq!((rule.nodes, rule.ranks), (Interval::only(4), Interval::only(5)));
        assert_eq!((rule.pipe_ops, rule.reg_buff), (6, 7));
        let short = one("allreduce,10,20,tree,ll128,3,4,5", Reader::Example);
        assert_eq!((short.pipe_ops, short.reg_buff), (-1, -1));
    }

    #[test]
    fn a_rule_is_about_the_scale_on_which_all_of_its_numbers_fit() {
        let is_about = |numbers: &str| {
            let rule = one(&format!("allreduce,0,1,ring,ll,1,{numbers}"), Reader::Example);
            rule.is_about(Scale { nodes: 2, ranks: 16 })
        };
        for fits in ["2,16,-1,-1", "-1,-1,-1,-1", "2,16,1,0", "-1,16,1,-1"] {
            assert!(is_about(fits), "{fits}");
        }
        for other in ["1,16,-1,-1", "2,8,-1,-1", "2,16,2,0", "2,16,0,0", "2,16,1,1", "1,8,-1,-1"] {
            assert!(!is_about(other), "{other}");
        }
    }

    #[test]
    fn a_rule_has_a_scale_where_there_is_one_alone_that_a_communicator_has() {
        let scale = |numbers: &str| one(&format!("allreduce,0,1,ring,ll,1,{numbers}"), Reader::Example).scale();
        assert_eq!(scale("2,16"), Some(Scale { nodes: 2, ranks: 16 }));
        assert_eq!(scale("1,1"), Some(Scale { nodes: 1, ranks: 1 }));
        assert_eq!(["-1,16", "2,-1", "0,16", "2,0"].map(scale), [None; 4]);
        let per_rank = one("allreduce,*,ring,ll,1,2,8", Reader::Ncclx);
        assert_eq!(per_rank.scale(), Some(Scale { nodes: 2, ranks: 16 }));
    }

    #[test]
    fn ranges_of_ncclx_that_no_communicator_tells_apart_are_the_same() {
        let nodes = |text: &str| one(&format!("allreduce,*,ring,ll,1,{text},8"), Reader::Ncclx).nodes;
        for any in ["*", "[1,)", "[0,)", "[-5,)"] {
            assert_eq!(nodes(any), Interval::ANY, "{any}");
        }
        assert_eq!(nodes("[2,)"), Interval { min: 2, max: i64::MAX });
        assert_eq!([nodes("[0,4]"), nodes("[1,4]")], [Interval { min: 1, max: 4 }; 2]);
        assert_eq!([nodes("[0,1]"), nodes("[-3,1]")], [Interval::only(1); 2]);
        assert!(!nodes("[-3,0]").contains(1));
        let sizes = |text: &str| {
            let rule = one(&format!("allreduce,{text},ring,ll,1,*,*"), Reader::Ncclx);
            (rule.min_bytes, rule.max_bytes)
        };
        assert_eq!([sizes("*"), sizes("[0,)"), sizes("[-1,)")], [(0, u64::MAX); 3]);
        assert_eq!([sizes("[0,7]"), sizes("[5,7]")], [(0, 7), (5, 7)]);
        // No message has fewer bytes than none.
        let (min, max) = sizes("[-7,-5]");
        assert!(min > max);
    }

    #[test]
    fn sizes_of_one_rank_are_those_of_all_that_round_down_to_them() {
        let on = |text: &str, nodes: u32| {
            let rule = one(&format!("allreduce,{text},ring,ll,1,*,*"), Reader::Ncclx);
            rule.sizes_on(Scale { nodes, ranks: 8 * nodes })
        };
        assert_eq!([on("[2,3]", 1), on("[2,3]", 2)], [16..=31, 32..=63]);
        assert_eq!(on("[2,)", 1), 16..=u64::MAX);
        assert!(on("[9223372036854775806,9223372036854775806]", 1).is_empty());
        let whole = one("allreduce,2,3,ring,ll,1,-1,-1", Reader::Example);
        assert_eq!(whole.sizes_on(Scale { nodes: 2, ranks: 16 }), 2..=3);
    }

    #[test]
    fn rules_say_the_same_wherever_they_stand() {
        let all = read(
            b"allreduce,0,1,ring,ll,1,1,1\n\nallreduce,0,1,ring,ll,1,1,1\nallreduce,0,2,ring,ll,1,1,1",
            Reader::Rccl,
        );
        assert!(all[0].says(&all[1]) && all[0] != all[1] && !all[0].says(&all[2]));
    }
}
