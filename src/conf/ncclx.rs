//! The tuner file of NCCLX, Meta's NCCL, as its built-in tuner reads it: a CSV of its own grammar, or JSON.
//!
//! Source: meta-pytorch/torchcomms 59426ba4, comms/ncclx/meta/tuner. A line is
//! `collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks[,chunkSize]`, with `*`, a number or an
//! interval as `[0,1048576]` or `(1,)` for the bytes of a rank, the nodes and the ranks of a node. Sizes count per
//! rank: of the bytes that a tuner is asked about, a rank has those divided by nodes × (ranks / nodes), rounded down.
//! A line that can't be read makes the creation of a communicator fail, unless `NCCLX_TUNER_IGNORE_CONFIG_ERRORS=1`
//! leaves it out.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::value::RawValue;

use super::{
    interval::Interval,
    strict::excerpt,
    words::{ALGORITHMS, COLLECTIVES, PROTOCOLS, find},
};
use crate::collective::{Algorithm, Collective, Protocol};

/// A rule of NCCLX's tuner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Line number in the file, from 1; in JSON that on which the rule begins.
    pub line: u32,
    /// The collective to which the rule applies.
    pub collective: Collective,
    /// The bytes of one rank that match; only those from 0 on can occur.
    pub bytes_per_rank: Interval,
    /// The algorithm that the rule asks for; there is no word for the library's choice.
    pub algorithm: Algorithm,
    /// The protocol that the rule asks for, as the algorithm.
    pub protocol: Protocol,
    /// The number of channels, which NCCLX does not check; −1 leaves it to the library.
    pub channels: i32,
    /// The numbers of nodes that match.
    pub nodes: Interval,
    /// The numbers of ranks of a node that match.
    pub local_ranks: Interval,
    /// The chunk size in bytes; 0 leaves it to the library.
    pub chunk_bytes: u64,
}

/// The names of the fields, in the order of a line; JSON has the same names.
pub const FIELDS: [&str; 8] =
    ["collective", "bytesPerRank", "algorithm", "protocol", "channels", "nNodes", "nLocalRanks", "chunkSize"];
/// The fewest fields of a valid line: those up to nLocalRanks.
pub const FIELDS_NEEDED: usize = 7;
/// In JSON, the object of a rule in which each field stands.
const OBJECTS: [&str; 8] = ["filter", "filter", "config", "config", "config", "filter", "filter", "config"];

/// The reason why a line, or a whole file, can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleFault {
    /// Too few fields, this many.
    #[error("{0} of the 7 fields that are needed ({fields})", fields = FIELDS[..FIELDS_NEEDED].join(","))]
    TooFewFields(usize),
    /// The names of the fields, where a rule was expected.
    #[error("these are the names of the fields, where a rule was expected; begin the line with #")]
    Header,
    /// A field that can't be parsed.
    #[error("{field}: \"{text}\" {why}")]
    Field {
        /// The name of the field.
        field: &'static str,
        /// The beginning of the field's text, with a dot for each control character.
        text: String,
        /// A phrase that says what was expected.
        why: &'static str,
    },
    /// JSON in which something is missing or of another kind.
    #[error("{0}")]
    Form(&'static str),
    /// No JSON, with the message of its parser.
    #[error("this is no valid JSON: {0}")]
    Json(String),
}

/// The rules of a file, and its lines that can't be read, each with its number from 1; comments and empty lines are
/// left out. A file that begins with a bracket or a brace is JSON; NCCLX tells by the name, which ends in `.json`.
///
/// ```
/// use collectune::conf::{interval::Interval, ncclx::lines};
/// let file = b"# rules\nallreduce,[0,1048576],ring,ll128,-1,*,8\nallgather,(5,2),ring,simple,4,2,8\n";
/// let read = lines(file);
/// let [(2, Ok(rule)), (3, Err(fault))] = &read[..] else { panic!() };
/// assert_eq!((rule.nodes, rule.local_ranks), (Interval::ANY, Interval::only(8)));
/// assert!(fault.to_string().starts_with("bytesPerRank: \"(5,2)\" "));
/// ```
pub fn lines(bytes: &[u8]) -> Vec<(u32, Result<Rule, RuleFault>)> {
    if is_json(bytes) {
        return json(bytes);
    }
    let numbered = (1..).zip(bytes.split(|byte| *byte == b'\n').map(trim));
    let content = numbered.filter(|(_, line)| !line.is_empty() && line[0] != b'#');
    content.map(|(number, line)| (number, of_line(line, number))).collect()
}

/// The rules of a file; lines that are no valid rule are left out.
pub fn read(bytes: &[u8]) -> Vec<Rule> {
    lines(bytes).into_iter().filter_map(|(_, content)| content.ok()).collect()
}

/// Whether a file, of which this is all or the begin, is one for NCCLX and not for another reader of tuner files: JSON
/// with its rules, or lines with an algorithm where others have a size.
pub fn is_ncclx(bytes: &[u8]) -> bool {
    /// The number of lines that are looked at.
    const SAMPLE: usize = 20;
    if is_json(bytes) {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        let rules = serde_json::from_str::<Object<'_>>(text).ok().and_then(|file| file.get("rules").copied());
        let first = rules.and_then(|rules| serde_json::from_str::<Vec<Object<'_>>>(rules.get()).ok());
        return first
            .is_some_and(|all| all.iter().any(|rule| rule.contains_key("filter") || rule.contains_key("config")));
    }
    let is_rule = |line: &[u8]| {
        let fields: Vec<Vec<u8>> = fields(line).into_iter().map(<[u8]>::to_ascii_lowercase).collect();
        let names = fields.len() >= FIELDS_NEEDED && find(&COLLECTIVES, &fields[0]).is_some();
        names && find(&ALGORITHMS, &fields[2]).is_some() && find(&PROTOCOLS, &fields[3]).is_some()
    };
    let all = || bytes.split(|byte| *byte == b'\n').map(trim).filter(|line| !line.is_empty());
    let mut rules = all().filter(|line| line[0] != b'#').take(SAMPLE).peekable();
    if rules.peek().is_some() {
        return rules.any(|line| is_rule(line) || is_header(&fields(line)));
    }
    all().any(|line| is_header(&fields(trim(line.trim_ascii_start().strip_prefix(b"#").unwrap_or_default()))))
}

fn is_json(bytes: &[u8]) -> bool {
    matches!(trim(bytes).first(), Some(b'{' | b'['))
}

/// The text without what NCCLX takes for blanks around it.
fn trim(text: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let begin = text.iter().position(|byte| !is_blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !is_blank(byte)).map_or(begin, |last| last + 1);
    &text[begin..end]
}

/// The fields of a line, as far as they are read: a comma inside brackets of either kind separates nothing.
fn fields(line: &[u8]) -> Vec<&[u8]> {
    let mut depth = 0_usize;
    let separates = move |byte: &u8| {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        *byte == b',' && depth == 0
    };
    line.split(separates).take(FIELDS.len()).map(trim).collect()
}

fn is_header(fields: &[&[u8]]) -> bool {
    let name =
        |index: usize| fields.get(index).is_some_and(|field| field.eq_ignore_ascii_case(FIELDS[index].as_bytes()));
    name(0) && name(1)
}

fn of_line(line: &[u8], number: u32) -> Result<Rule, RuleFault> {
    let fields = fields(line);
    if is_header(&fields) {
        return Err(RuleFault::Header);
    }
    if fields.len() < FIELDS_NEEDED {
        return Err(RuleFault::TooFewFields(fields.len()));
    }
    rule(&fields, number).map_err(|(_, fault)| fault)
}

/// The rule of the fields, in the order of a line; the error names the field by its index.
fn rule(fields: &[&[u8]], line: u32) -> Result<Rule, (usize, RuleFault)> {
    let field = |index: usize| fields.get(index).copied().unwrap_or_default();
    let fault =
        |index: usize, why| (index, RuleFault::Field { field: FIELDS[index], text: excerpt(field(index)), why });
    let range = |index: usize| match field(index) {
        [] => Ok(Interval::ANY),
        text => interval(trim(text)).ok_or_else(|| {
            fault(index, "is not *, a whole number, or an interval as [0,1048576] or (1,) whose ends are in order")
        }),
    };
    Ok(Rule {
        line,
        collective: find(&COLLECTIVES, field(0)).ok_or_else(|| {
            fault(0, "is not allreduce, allgather, reducescatter, broadcast or reduce, in lower case")
        })?,
        bytes_per_rank: range(1)?,
        algorithm: find(&ALGORITHMS, field(2)).ok_or_else(|| {
            fault(2, "is not ring, tree, nvls, nvls_tree, pat, collnet_direct or collnet_chain, in lower case")
        })?,
        protocol: find(&PROTOCOLS, field(3)).ok_or_else(|| fault(3, "is not ll, ll128 or simple, in lower case"))?,
        channels: match field(4) {
            [] => -1,
            text => whole(text)
                .and_then(|number| i32::try_from(number).ok())
                .ok_or_else(|| fault(4, "is not a whole number of 32 bits"))?,
        },
        nodes: range(5)?,
        local_ranks: range(6)?,
        chunk_bytes: match field(7) {
            [] => 0,
            text => whole(text)
                .and_then(|number| u64::try_from(number).ok())
                .ok_or_else(|| fault(7, "is not a whole number of bytes from 0"))?,
        },
    })
}

/// `*`, a number, or an interval with round ends that are excluded, square ones that belong to it, and empty ones that
/// are open. Ends that are not in order are an error; `(5,5)` is empty and none.
fn interval(text: &[u8]) -> Option<Interval> {
    let [first @ (b'(' | b'['), inside @ .., last] = text else {
        return if text == b"*" { Some(Interval::ANY) } else { whole(text).map(Interval::only) };
    };
    let includes_max = match last {
        b')' => false,
        b']' => true,
        _ => return None,
    };
    let comma = inside.iter().position(|byte| *byte == b',')?;
    let (from, to) = (trim(&inside[..comma]), trim(&inside[comma + 1..]));
    let end = |text: &[u8]| if text.is_empty() { Some(None) } else { whole(text).map(Some) };
    let (from, to) = (end(from)?, end(to)?);
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        return None;
    }
    let min = from.map_or(Some(i64::MIN), |from| from.checked_add(i64::from(*first == b'(')));
    let max = to.map_or(Some(i64::MAX), |to| to.checked_sub(i64::from(!includes_max)));
    Some(min.zip(max).map_or(Interval::NONE, |(min, max)| Interval { min, max }))
}

/// A whole number with or without a sign, as C++'s `std::stoll` takes it, and nothing after it.
fn whole(text: &[u8]) -> Option<i64> {
    let begin = text.iter().position(|byte| !matches!(byte, b' ' | b'\t'..=b'\r'))?;
    std::str::from_utf8(&text[begin..]).ok()?.parse().ok()
}

/// An object of JSON: of a name that occurs twice, the last one counts.
type Object<'a> = BTreeMap<String, &'a RawValue>;

fn json(bytes: &[u8]) -> Vec<(u32, Result<Rule, RuleFault>)> {
    let whole_file = |fault| vec![(1, Err(fault))];
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => return whole_file(RuleFault::Form("these bytes are no text in UTF-8")),
    };
    let file: Object<'_> = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(error) if error.is_data() => {
            return whole_file(RuleFault::Form("this is no object of JSON; expected was {\"rules\": [ … ]}"));
        }
        Err(error) => {
            let line = u32::try_from(error.line()).unwrap_or(u32::MAX).max(1);
            return vec![(line, Err(RuleFault::Json(error.to_string())))];
        }
    };
    let rules = file.get("rules").and_then(|rules| serde_json::from_str::<Vec<&RawValue>>(rules.get()).ok());
    let Some(rules) = rules else {
        return whole_file(RuleFault::Form("there is no list \"rules\"; expected was {\"rules\": [ … ]}"));
    };
    // The values are parts of the text, in its order.
    let mut place = (0, 1_u32);
    let mut line_of = |value: &RawValue| {
        let at = value.get().as_ptr().addr().saturating_sub(text.as_ptr().addr()).min(bytes.len());
        let between = bytes.get(place.0..at).unwrap_or_default();
        place = (at, place.1.saturating_add(memchr::memchr_iter(b'\n', between).count() as u32));
        place.1
    };
    let numbered: Vec<(u32, &RawValue)> = rules.into_iter().map(|rule| (line_of(rule), rule)).collect();
    numbered.into_iter().map(|(line, rule)| located(rule, line)).collect()
}

/// A rule of JSON that begins on a line, or its fault on the line of the field that has it.
fn located(raw: &RawValue, line: u32) -> (u32, Result<Rule, RuleFault>) {
    let members: Object<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    let object = |name: &str| members.get(name).and_then(|of| serde_json::from_str::<Object<'_>>(of.get()).ok());
    let (Some(filter), Some(config)) = (object("filter"), object("config")) else {
        return (line, Err(RuleFault::Form("a rule must have an object \"filter\" and an object \"config\"")));
    };
    let value = |index: usize| {
        let of = if OBJECTS[index] == "filter" { &filter } else { &config };
        of.get(FIELDS[index]).copied()
    };
    let at = |index: usize| {
        let before = value(index).map_or(0, |value| value.get().as_ptr().addr() - raw.get().as_ptr().addr());
        let feeds = memchr::memchr_iter(b'\n', raw.get().as_bytes().get(..before).unwrap_or_default()).count();
        line.saturating_add(feeds as u32)
    };
    let mut texts: [Cow<'_, str>; FIELDS.len()] = Default::default();
    for (index, text) in texts.iter_mut().enumerate() {
        let Some(value) = value(index) else { continue };
        match text_of(value.get(), index) {
            Some(known) => *text = known,
            None => {
                let fault = RuleFault::Field {
                    field: FIELDS[index],
                    text: excerpt(value.get().as_bytes()),
                    why: "is neither a whole number nor a text; leave the name out for any",
                };
                return (at(index), Err(fault));
            }
        }
    }
    let fields = texts.each_ref().map(|text| text.as_bytes());
    match rule(&fields, line) {
        Ok(rule) => (line, Ok(rule)),
        Err((index, fault)) => (at(index), Err(fault)),
    }
}

/// The text of a value of JSON as the field of a line; `None` where NCCLX takes none from a value of this kind.
fn text_of(value: &str, index: usize) -> Option<Cow<'_, str>> {
    if value.starts_with('"') {
        let text: String = serde_json::from_str(value).ok()?;
        // A number in quotation marks is one, with blanks around it as well; nothing in them is none.
        let is_number = matches!(index, 4 | 7);
        return if !is_number {
            Some(text.into())
        } else {
            Some(text.trim().to_owned().into()).filter(|text: &Cow<'_, str>| !text.is_empty())
        };
    }
    if matches!(index, 0 | 2 | 3) {
        return Some(Cow::Borrowed(value));
    }
    let whole = |number: f64| {
        // Below 2⁶³, as i64.
        (number.fract() == 0.0 && number.abs() < 9_223_372_036_854_775_808.0).then_some(number as i64)
    };
    match value {
        "true" => Some("1".into()),
        "false" => Some("0".into()),
        _ => {
            let exact = value.parse::<i64>().ok();
            let number = exact.or_else(|| whole(value.parse::<f64>().ok()?))?;
            Some(number.to_string().into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(line: &str) -> String {
        match &lines(line.as_bytes())[..] {
            [(1, Err(fault))] => fault.to_string(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn intervals_as_ncclx_reads_them() {
        let of = |text: &str| interval(text.as_bytes()).map(|Interval { min, max }| (min, max));
        let (least, most) = (i64::MIN, i64::MAX);
        for (text, expected) in [
            ("*", (least, most)),
            ("5", (5, 5)),
            ("-5", (-5, -5)),
            ("+7", (7, 7)),
            ("[2,4]", (2, 4)),
            ("(2,4)", (3, 3)),
            ("(2,4]", (3, 4)),
            ("[2,4)", (2, 3)),
            ("[ 2 ,\t4 ]", (2, 4)),
            ("(1,)", (2, most)),
            ("[2,)", (2, most)),
            ("(,4]", (least, 4)),
            ("(,)", (least, most)),
            ("(5,5)", (6, 4)),
            ("[5,5]", (5, 5)),
            ("(9223372036854775807,)", (1, 0)),
        ] {
            assert_eq!(of(text), Some(expected), "{text}");
        }
        for text in
            ["", "[5]", "[4,2]", "(2,1]", "[1,2,3]", "[a,2]", "[1,2", "1,2]", "1K", "0x10", "9223372036854775808", "("]
        {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn a_line_is_cut_outside_of_brackets() {
        let read = read(b" allreduce , [0,1048576],ring,ll128, ,,(1,),65536,what,ever\r\n\n  # a comment\n");
        let expected = Rule {
            line: 1,
            collective: Collective::AllReduce,
            bytes_per_rank: Interval { min: 0, max: 1 << 20 },
            algorithm: Algorithm::Ring,
            protocol: Protocol::Ll128,
            channels: -1,
            nodes: Interval::ANY,
            local_ranks: Interval { min: 2, max: i64::MAX },
            chunk_bytes: 65536,
        };
        assert_eq!(read, [expected]);
        for channels in ["0", "-2", "2147483647"] {
            let rule = super::read(format!("reduce,*,tree,ll,{channels},2,8").as_bytes());
            assert_eq!(rule[0].channels.to_string(), channels);
        }
    }

    #[test]
    fn a_fault_names_field_text_and_what_was_expected() {
        for (line, expected) in [
            ("allreduce,*,ring,ll,1,1", "6 of the 7 fields that are needed (collective,bytesPerRank,"),
            (
                "collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks",
                "these are the names of the fields",
            ),
            ("AllReduce,*,ring,ll,1,1,8", "collective: \"AllReduce\" is not allreduce, allgather,"),
            ("allreduce,[2,1],ring,ll,1,1,8", "bytesPerRank: \"[2,1]\" is not *, a whole number"),
            ("allreduce,1M,ring,ll,1,1,8", "bytesPerRank: \"1M\" is not *"),
            ("allreduce,*,-1,ll,1,1,8", "algorithm: \"-1\" is not ring, tree,"),
            ("allreduce,*,ring,,1,1,8", "protocol: \"\" is not ll, ll128 or simple"),
            ("allreduce,*,ring,ll,2147483648,1,8", "channels: \"2147483648\" is not a whole number of 32 bits"),
            ("allreduce,*,ring,ll,1,one,8", "nNodes: \"one\" is not *"),
            ("allreduce,*,ring,ll,1,1,[8]", "nLocalRanks: \"[8]\" is not *"),
            ("allreduce,*,ring,ll,1,1,8,-1", "chunkSize: \"-1\" is not a whole number of bytes from 0"),
            ("allreduce,0,65535,tree,ll128,8,2,16,-1,-1", "algorithm: \"65535\" is not ring"),
        ] {
            let told = fault(line);
            assert!(told.starts_with(expected), "{line}: {told}");
        }
    }

    /// JSON of one rule, on the lines 2 to 5.
    fn json(filter: &str, config: &str) -> String {
        format!("{{ \"rules\": [\n{{\n\"filter\": {{{filter}}},\n\"config\": {{{config}}}\n}}]}}")
    }

    const RING: &str = "\"algorithm\": \"ring\", \"protocol\": \"ll\"";

    #[test]
    fn json_says_what_a_line_says() {
        let all = "\"collective\": \"allreduce\", \"bytesPerRank\": \"[0,8)\", \"nNodes\": 2, \"nLocalRanks\": 8.0";
        let config = format!("{RING}, \"channels\": \" 4\", \"chunkSize\": 16");
        let mut rule = read(json(all, &config).as_bytes());
        assert_eq!(rule[0].line, 2);
        rule[0].line = 1;
        assert_eq!(rule, read(b"allreduce,[0,8),ring,ll,4,2,8,16"));
        let absent = read(json("\"collective\": \"reduce\"", RING).as_bytes());
        assert_eq!(Rule { line: 1, ..absent[0] }, read(b"reduce,*,ring,ll,-1,*,*")[0]);
        // The last of two members of a name counts.
        let twice = read(json("\"collective\": 1, \"collective\": \"reduce\"", RING).as_bytes());
        assert_eq!(twice[0].collective, Collective::Reduce);
    }

    #[test]
    fn a_fault_of_json_is_told_on_its_line() {
        let reduce = "\"collective\": \"reduce\"";
        for (text, line, expected) in [
            (json("\"collective\": null", RING), 3, "collective: \"null\" is not allreduce"),
            (json(&format!("{reduce}, \"nNodes\": null"), RING), 3, "nNodes: \"null\" is neither"),
            (json(&format!("{reduce}, \"nNodes\": \" \""), RING), 3, "nNodes: \" \" is not *"),
            (json(&format!("{reduce}, \"nNodes\": 2.5"), RING), 3, "nNodes: \"2.5\" is neither"),
            (json(reduce, &format!("{RING}, \"channels\": [4]")), 4, "channels: \"[4]\" is neither"),
            (json(reduce, &format!("{RING}, \"channels\": \"abc\"")), 4, "channels: \"abc\" is not a whole number"),
            (json(reduce, "\"algorithm\": \"ring\""), 2, "protocol: \"\" is not ll"),
            ("{\"rules\":\n[{\"collective\": 1}]}".to_owned(), 2, "a rule must have an object \"filter\""),
            ("{\"rules\":\n[7]}".to_owned(), 2, "a rule must have an object \"filter\""),
            ("{\"rules\": {}}".to_owned(), 1, "there is no list \"rules\""),
            ("[]".to_owned(), 1, "this is no object of JSON"),
            ("{\"rules\":\n[\n}".to_owned(), 3, "this is no valid JSON: "),
            ("{\"rules\": []} x".to_owned(), 1, "this is no valid JSON: "),
        ] {
            let all = lines(text.as_bytes());
            let [(at, Err(fault))] = &all[..] else { panic!("{text}: {all:?}") };
            assert!(*at == line && fault.to_string().starts_with(expected), "{text}: {at}: {fault}");
        }
        assert!(lines(b"{\"rules\": []}").is_empty());
        assert!(matches!(lines(b"{\"rules\": \"\xff\"}")[..], [(1, Err(RuleFault::Form(_)))]));
    }

    #[test]
    fn its_files_are_told_from_others() {
        for text in [
            "allreduce,[0,1],ring,ll128,-1,2,8\n",
            "# ours\nAllGather,*,tree,simple,,1,8,512\n",
            "collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks\n",
            "# collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks\n",
            "{\"rules\": [{\"filter\": {}}]}",
        ] {
            assert!(is_ncclx(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "allreduce,0,65535,tree,ll128,8,2,16,-1,-1\n",
            "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n",
            "allreduce,1,2,3,4,5,6\n",
            "{\"rules\": [{\"other\": {}}]}",
            "{\"rules\": [",
            "[1,2]",
        ] {
            assert!(!is_ncclx(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn brackets_within_brackets_keep_their_commas() {
        let read = fields(b"[(1,2),[3,4],5],(6,7),8");
        assert_eq!(read, [&b"[(1,2),[3,4],5]"[..], b"(6,7)", b"8"]);
        assert_eq!(fields(b"),1"), [&b")"[..], b"1"]);
    }

    #[test]
    fn one_line_or_rule_in_the_grammar_of_ncclx_tells_a_file() {
        for text in [
            "allreduce,what,ever\nallreduce,*,ring,ll128,-1,2,8\n",
            "{\"rules\": [{\"other\": {}}, {\"config\": {}}]}",
            "{\"rules\": [{\"other\": {}, \"filter\": {}}]}",
        ] {
            assert!(is_ncclx(text.as_bytes()), "{text}");
        }
        for text in [
            "alltoall,*,ring,ll128,-1,2,8\n",
            "allreduce,*,ring,ll128,-1,2\n",
            "allreduce,*,rnig,ll128,-1,2,8\n",
            "allreduce,*,ring,ll256,-1,2,8\n",
            "collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes\n",
            "what,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks\n",
        ] {
            assert!(!is_ncclx(text.as_bytes()), "{text}");
        }
        assert!(!is_ncclx(b"{\"rules\": [{\"filter\": \"\xFF\"}]}"), "no UTF-8");
    }
}
