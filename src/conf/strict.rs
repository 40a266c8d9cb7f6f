//! The tuner file as Collectune's own plugin reads it.
//!
//! The grammar is that of NVIDIA's example (NVIDIA/nccl, plugins/tuner/example): `colltype,minbytes,maxbytes,algorithm,
//! protocol,channels,nNodes,nRanks[,numPipeOps[,regBuff]]`. What the readers in C guess at is a [`RuleFault`] here, and
//! the line is skipped: an unknown word never becomes ring, nor an unknown collective allreduce. Words are read in any
//! case, blanks may stand anywhere around a field, `#` begins a comment anywhere, sizes may end in K, M or G (powers of
//! 1024), and `auto` and -1 leave a choice to the library.

use super::words::{ALGORITHMS, COLLECTIVES, PROTOCOLS};
use crate::collective::{Algorithm, Collective, Protocol};

/// A rule of Collectune's own plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Line number in the file, from 1.
    pub line: u32,
    /// The collective to which the rule applies.
    pub collective: Collective,
    /// The smallest message size that matches, in bytes.
    pub min_bytes: u64,
    /// The largest message size that matches, in bytes.
    pub max_bytes: u64,
    /// Algorithm and protocol to run; `None` leaves the choice to the library.
    pub pair: Option<(Algorithm, Protocol)>,
    /// The most channels; `None` leaves the number to the library. RCCL's field holds no larger number.
    pub channels: Option<u8>,
    /// Number of nodes that matches; `None` matches any.
    pub nodes: Option<u32>,
    /// Number of ranks that matches; `None` matches any.
    pub ranks: Option<u32>,
    /// Number of aggregated operations that matches; `None` matches any.
    pub pipe_ops: Option<u32>,
    /// It asks for registered or unregistered buffers, which the plugin does not look at: they can differ between
    /// ranks, and what ranks choose must not.
    pub asks_for_registration: bool,
}

/// The names of the fields, in the order of the file.
pub const FIELDS: [&str; 10] = [
    "collective",
    "minbytes",
    "maxbytes",
    "algorithm",
    "protocol",
    "channels",
    "nNodes",
    "nRanks",
    "numPipeOps",
    "regBuff",
];
/// The fewest fields of a valid line: those up to nRanks.
pub const FIELDS_NEEDED: usize = 8;

/// The reason why a line is dropped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleFault {
    /// Too few fields, this many.
    #[error("{0} of the 8 fields that are needed")]
    TooFewFields(usize),
    /// A field that can't be parsed.
    #[error("{field}: \"{text}\" {why}")]
    Field {
        /// The name of the field.
        field: &'static str,
        /// The field's text, cut to [`LONGEST_EXCERPT`] characters.
        text: String,
        /// A phrase that says what is wrong with it.
        why: &'static str,
    },
    /// Only one of algorithm and protocol is left to the library.
    #[error("algorithm and protocol: one is left to the library and the other is not; a tuner can only set both")]
    HalfAChoice,
    /// The smallest size exceeds the largest, given in that order.
    #[error("minbytes {0} is above maxbytes {1}")]
    EmptyRange(u64, u64),
    /// The line contains a NUL byte.
    #[error("a NUL byte: this is not a text line")]
    Nul,
}

/// The most characters of a file that a message repeats.
pub const LONGEST_EXCERPT: usize = 24;

/// The result of parsing one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineContent {
    /// A blank line or a comment.
    Nothing,
    /// The line with the names of the fields.
    Header,
    /// A rule of which every field is valid.
    Rule(Rule),
    /// A line that is dropped, and why.
    Fault(RuleFault),
}

/// The lines of a file, numbered from 1. A line ends with LF, CR LF or CR.
///
/// ```
/// use collectune::conf::strict::{LineContent, lines};
/// let conf = b"# rules\nAllReduce, 0, 64K, Tree, LL, 8, 2, 16 # small\nalltoall,0,1M,ring,simple,4,-1,-1\n";
/// let read: Vec<LineContent> = lines(conf).map(|(_, content)| content).collect();
/// let [LineContent::Nothing, LineContent::Rule(rule), LineContent::Fault(_)] = &read[..] else { panic!() };
/// assert_eq!(rule.max_bytes, 65536);
/// ```
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = (u32, LineContent)> {
    let mut rest = bytes.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(bytes);
    let mut number = 0_u32;
    let mut may_be_header = true;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        number = number.saturating_add(1);
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
        let line = &rest[..end];
        let ending = if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = rest.get(end + ending..).unwrap_or_default();
        let content = content(line, number, may_be_header);
        may_be_header &= content == LineContent::Nothing;
        Some((number, content))
    })
}

/// The rules of a file; lines that are no valid rule are dropped.
pub fn read(bytes: &[u8]) -> Vec<Rule> {
    let rule = |(_, content)| match content {
        LineContent::Rule(rule) => Some(rule),
        _ => None,
    };
    lines(bytes).filter_map(rule).collect()
}

fn content(line: &[u8], number: u32, may_be_header: bool) -> LineContent {
    if line.contains(&0) {
        return LineContent::Fault(RuleFault::Nul);
    }
    let end = line.iter().position(|byte| *byte == b'#').unwrap_or(line.len());
    let text = line[..end].trim_ascii();
    if text.is_empty() {
        return LineContent::Nothing;
    }
    // Without an allocation for each line; what stands after the tenth field is not known and not read.
    let mut fields = [&b""[..]; FIELDS.len()];
    let mut count = 0;
    for (place, field) in fields.iter_mut().zip(text.split(|byte| *byte == b',')) {
        *place = field.trim_ascii();
        count += 1;
    }
    let fields = &fields[..count];
    if may_be_header && is_header(fields) {
        return LineContent::Header;
    }
    match rule(fields, number) {
        Ok(rule) => LineContent::Rule(rule),
        Err(fault) => LineContent::Fault(fault),
    }
}

/// Whether the line is the header `collective_type,min_bytes` and so on, with names in place of a collective and a
/// size.
fn is_header(fields: &[&[u8]]) -> bool {
    let is_name = |field: &&[u8]| field.first().is_some_and(u8::is_ascii_alphabetic);
    fields.len() >= FIELDS_NEEDED && find(&COLLECTIVES, fields[0]).is_none() && fields[..3].iter().all(is_name)
}

fn rule(fields: &[&[u8]], line: u32) -> Result<Rule, RuleFault> {
    if fields.len() < FIELDS_NEEDED {
        return Err(RuleFault::TooFewFields(fields.len()));
    }
    let fault = |index: usize, why| RuleFault::Field { field: FIELDS[index], text: excerpt(fields[index]), why };
    let collective = find(&COLLECTIVES, fields[0]).ok_or_else(|| fault(0, "is no collective that a tuner decides"))?;
    let size = |index: usize| size(fields[index]).ok_or_else(|| fault(index, "is not a size in bytes"));
    let min_bytes = size(1)?;
    let max_bytes = if fields[2] == b"-1" { u64::MAX } else { size(2)? };
    let algorithm = choice(&ALGORITHMS, fields[3]).ok_or_else(|| fault(3, "is not known"))?;
    let protocol = choice(&PROTOCOLS, fields[4]).ok_or_else(|| fault(4, "is not known"))?;
    let pair = match (algorithm, protocol) {
        (Some(algorithm), Some(protocol)) => Some((algorithm, protocol)),
        (None, None) => None,
        _ => return Err(RuleFault::HalfAChoice),
    };
    let channels = match fields[5] {
        b"0" => None,
        field if is_open(field) => None,
        field => Some(whole(field).and_then(|n| u8::try_from(n).ok()).ok_or_else(|| fault(5, "is not in -1 to 255"))?),
    };
    let count = |index: usize, least: u32| match fields.get(index) {
        None => Ok(None),
        Some(field) if field.is_empty() && index >= FIELDS_NEEDED => Ok(None),
        Some(field) if is_open(field) => Ok(None),
        Some(field) => match whole(field).and_then(|n| u32::try_from(n).ok()) {
            Some(number) if number >= least => Ok(Some(number)),
            _ => Err(fault(index, "is neither a number of them nor -1")),
        },
    };
    if min_bytes > max_bytes {
        return Err(RuleFault::EmptyRange(min_bytes, max_bytes));
    }
    Ok(Rule {
        line,
        collective,
        min_bytes,
        max_bytes,
        pair,
        channels,
        nodes: count(6, 1)?,
        ranks: count(7, 1)?,
        pipe_ops: count(8, 0)?,
        asks_for_registration: count(9, 0)?.is_some(),
    })
}

/// The meaning of a word, ignoring case.
fn find<T: Copy>(words: &[(&str, T)], field: &[u8]) -> Option<T> {
    words.iter().find(|(word, _)| word.as_bytes().eq_ignore_ascii_case(field)).map(|(_, meaning)| *meaning)
}

/// The meaning of a word, or `Some(None)` where it leaves the choice to the library.
fn choice<T: Copy>(words: &[(&str, T)], field: &[u8]) -> Option<Option<T>> {
    if is_open(field) { Some(None) } else { find(words, field).map(Some) }
}

fn is_open(field: &[u8]) -> bool {
    field == b"-1" || field.eq_ignore_ascii_case(b"auto")
}

fn size(field: &[u8]) -> Option<u64> {
    let (last, digits) = field.split_last()?;
    match last.to_ascii_uppercase() {
        b'K' => whole(digits)?.checked_mul(1 << 10),
        b'M' => whole(digits)?.checked_mul(1 << 20),
        b'G' => whole(digits)?.checked_mul(1 << 30),
        _ => whole(field),
    }
}

/// The value of a field that consists of digits only.
fn whole(field: &[u8]) -> Option<u64> {
    if !field.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// The beginning of a field, without control characters.
pub(super) fn excerpt(field: &[u8]) -> String {
    // No character has more than four bytes: what is left of a longer field has more than are shown.
    let text = String::from_utf8_lossy(&field[..field.len().min(4 * (LONGEST_EXCERPT + 1))]).into_owned();
    let shown: String = text.chars().take(LONGEST_EXCERPT).map(|c| if c.is_control() { '·' } else { c }).collect();
    if text.chars().count() > LONGEST_EXCERPT { shown + "…" } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> LineContent {
        let mut all = lines(text.as_bytes());
        let first = all.next().unwrap().1;
        assert!(all.next().is_none(), "{text}");
        first
    }

    fn fault(text: &str) -> String {
        match one(text) {
            LineContent::Fault(fault) => fault.to_string(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_rule_in_any_dress() {
        let plain = one("allreduce,1024,65536,tree,ll128,8,2,16,-1,-1");
        let expected = Rule {
            line: 1,
            collective: Collective::AllReduce,
            min_bytes: 1024,
            max_bytes: 65536,
            pair: Some((Algorithm::Tree, Protocol::Ll128)),
            channels: Some(8),
            nodes: Some(2),
            ranks: Some(16),
            pipe_ops: None,
            asks_for_registration: false,
        };
        assert_eq!(plain, LineContent::Rule(expected));
        for dressed in [
            "  AllReduce , 1K,\t64k ,TREE,LL128 , 8,2,16 # for two nodes",
            "allreduce,1024,65536,tree,ll128,8,2,16\r\n",
            "allreduce,1024,65536,tree,ll128,8,2,16\r",
            "\u{FEFF}allreduce,1024,65536,tree,ll128,8,2,16,,",
            "allreduce,1024,65536,tree,ll128,8,2,16,-1,-1,7,8",
        ] {
            assert_eq!(one(dressed), plain, "{dressed}");
        }
        let open = "allgather,0,-1,auto,-1,-1,AUTO,-1,2,1";
        let LineContent::Rule(rule) = one(open) else { panic!("{open}") };
        assert_eq!((rule.max_bytes, rule.pair, rule.channels, rule.nodes), (u64::MAX, None, None, None));
        assert_eq!((rule.pipe_ops, rule.asks_for_registration), (Some(2), true));
        let all = "allreduce,0,18446744073709551615,ring,ll,0,-1,-1";
        assert!(matches!(one(all), LineContent::Rule(Rule { max_bytes: u64::MAX, channels: None, .. })));
    }

    #[test]
    fn what_c_guesses_at_is_a_fault() {
        for (line, expected) in [
            ("alltoall,0,1,ring,ll,1,-1,-1", "collective: \"alltoall\" is no collective that a tuner decides"),
            ("allreduce,,1,ring,ll,1,-1,-1", "minbytes: \"\" is not a size in bytes"),
            ("allreduce,-1,1,ring,ll,1,-1,-1", "minbytes: \"-1\" is not a size in bytes"),
            ("allreduce,0,1.5M,ring,ll,1,-1,-1", "maxbytes: \"1.5M\" is not a size in bytes"),
            (
                "allreduce,0,99999999999999999999,ring,ll,1,-1,-1",
                "maxbytes: \"99999999999999999999\" is not a size in bytes",
            ),
            ("allreduce,0,17179869184G,ring,ll,1,-1,-1", "maxbytes: \"17179869184G\" is not a size in bytes"),
            ("allreduce,0,1,rnig,ll,1,-1,-1", "algorithm: \"rnig\" is not known"),
            ("allreduce,0,1,ring,ll256,1,-1,-1", "protocol: \"ll256\" is not known"),
            ("allreduce,0,1,ring,ll,256,-1,-1", "channels: \"256\" is not in -1 to 255"),
            ("allreduce,0,1,ring,ll,-2,-1,-1", "channels: \"-2\" is not in -1 to 255"),
            ("allreduce,0,1,ring,ll,1,0,-1", "nNodes: \"0\" is neither a number of them nor -1"),
            ("allreduce,0,1,ring,ll,1,1,many", "nRanks: \"many\" is neither a number of them nor -1"),
            ("allreduce,8,4,ring,ll,1,-1,-1", "minbytes 8 is above maxbytes 4"),
            ("allreduce,0,1,ring,ll,1,-1", "7 of the 8 fields that are needed"),
            ("allreduce,0,1,ring\0,ll,1,-1,-1", "a NUL byte: this is not a text line"),
        ] {
            assert_eq!(fault(line), expected, "{line}");
        }
        for half in ["-1,simple", "tree,auto"] {
            assert!(fault(&format!("allgather,4096,8388608,{half},112,1,8,-1,-1")).contains("one is left"), "{half}");
        }
        assert!(fault(&format!("{},0,1,ring,ll,1,-1,-1", "é".repeat(90))).contains("…"));
    }

    #[test]
    fn a_header_stands_only_before_the_rules() {
        let header = "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks";
        let text = format!("# x\r\r{header}\n{header}\n");
        let all: Vec<(u32, LineContent)> = lines(text.as_bytes()).collect();
        assert_eq!(all[2], (3, LineContent::Header));
        assert!(matches!(all[3], (4, LineContent::Fault(_))));
    }

    #[test]
    fn lines_end_as_on_any_system() {
        let rule = |bytes: u64| format!("allreduce,0,{bytes},ring,ll,1,-1,-1");
        for ending in ["\n", "\r\n", "\r"] {
            let text = [rule(1), String::new(), rule(2), rule(3)].join(ending);
            let found: Vec<(u32, u64)> = read(text.as_bytes()).iter().map(|rule| (rule.line, rule.max_bytes)).collect();
            assert_eq!(found, [(1, 1), (3, 2), (4, 3)], "{ending:?}");
        }
    }

    #[test]
    fn sizes_and_counts_are_whole_numbers() {
        let max_bytes = |text: &str| match one(&format!("allreduce,0,{text},ring,ll,1,-1,-1")) {
            LineContent::Rule(rule) => Some(rule.max_bytes),
            _ => None,
        };
        let read = ["3", "3K", "3m", "3G", "+3", "K", "3T", "3 K"].map(max_bytes);
        assert_eq!(read, [Some(3), Some(3 << 10), Some(3 << 20), Some(3 << 30), None, None, None, None]);
        let LineContent::Rule(least) = one("allreduce,0,0,ring,ll,255,1,1,0,0") else { panic!() };
        assert_eq!((least.max_bytes, least.channels, least.nodes, least.ranks), (0, Some(255), Some(1), Some(1)));
        assert_eq!((least.pipe_ops, least.asks_for_registration), (Some(0), true));
        let LineContent::Rule(open) = one("allreduce,0,0,ring,ll,1,-1,-1,-1,-1") else { panic!() };
        assert_eq!((open.pipe_ops, open.asks_for_registration), (None, false));
        for wrong in ["0,1", "1,0", "+2,1"] {
            assert!(fault(&format!("allreduce,0,1,ring,ll,1,{wrong}")).contains("is neither a number"), "{wrong}");
        }
    }

    #[test]
    fn a_header_has_names_and_no_collective() {
        let is_header = |line: &str| one(line) == LineContent::Header;
        assert!(is_header("what,from,to,algorithm,protocol,channels,nodes,ranks"));
        assert!(is_header("what1,from2,to3,4,5,6,7,8"), "only the first three need be names");
        for no_header in [
            "what,from,to,algorithm,protocol,channels,nodes",
            "allreduce,from,to,algorithm,protocol,channels,nodes,ranks",
            "alltoall,0,1,ring,ll,1,-1,-1",
            "1what,from,to,algorithm,protocol,channels,nodes,ranks",
            "what,from,2to,algorithm,protocol,channels,nodes,ranks",
        ] {
            assert!(!is_header(no_header), "{no_header}");
        }
    }

    #[test]
    fn a_field_that_is_cut_ends_with_dots_whatever_it_consists_of() {
        for (character, shown) in [("a", 'a'), ("é", 'é'), ("𝄞", '𝄞'), ("\x1B", '·')] {
            let of = |count: usize| excerpt(character.repeat(count).as_bytes());
            let whole = String::from(shown).repeat(LONGEST_EXCERPT);
            assert_eq!(of(LONGEST_EXCERPT), whole);
            assert_eq!([25, 26, 1000].map(of), [(); 3].map(|()| format!("{whole}…")), "{character:?}");
        }
        let no_text = [0xFF; 30];
        assert_eq!(excerpt(&no_text[..24]), "\u{FFFD}".repeat(24));
        assert_eq!(excerpt(&no_text), "\u{FFFD}".repeat(24) + "…");
    }
}
