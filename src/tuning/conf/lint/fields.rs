//! Findings on the fields of one line.

use super::{Code, LintFindings, Severity};
use crate::{
    collective::{Algorithm, Collective, Protocol},
    text::excerpt,
    tuning::conf::{
        number::{Number, atoi, strtoull},
        reader::{Reader, ReaderBehaviour},
        rule::{Dropped, FIELDS_NEEDED, PieceContent, text},
        scan::{MOST_FIELDS, Piece, fields as cut, trim},
        words::{ALGORITHMS, COLLECTIVES, PROTOCOLS, WILDCARD, find},
    },
    units::count,
};

/// Some editors write it at the begin of a file; C takes it for a part of the first word.
const BYTE_ORDER_MARK: &str = "\u{FEFF}";

/// The fields by their place.
const NAMES: [&str; MOST_FIELDS] = [
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

/// Whether a piece is the header that names the fields.
pub(super) fn is_header_line(piece: &Piece<'_>) -> bool {
    is_header(&cut(piece.text))
}

/// Looks at the fields of a piece of which a reader made `content`.
pub(super) fn fields(piece: &Piece<'_>, content: PieceContent, findings: &mut LintFindings) {
    if matches!(content, PieceContent::Comment | PieceContent::Blank) {
        return;
    }
    let line = piece.line;
    let behaviour = findings.reader.behaviour();
    let piece = &Piece { text: text(piece, findings.reader), ..*piece };
    let marked = piece.text.strip_prefix(BYTE_ORDER_MARK.as_bytes());
    if trim(marked.unwrap_or(piece.text)).starts_with(b"#") {
        let (severity, what) = match content {
            PieceContent::Rule(_) => (Severity::Changes, "is read as a rule"),
            _ => (Severity::Note, "counts as content and is left out"),
        };
        let before = if marked.is_some() { "after a byte order mark" } else { "after blanks" };
        let message =
            format!("only # in the first column makes a comment; here it stands {before}, and the line {what}");
        return findings.push(line, Code::CommentNotFirst, severity, message);
    }
    if piece.has_nul {
        let message = "a NUL byte ends the line; what stands after it is not read";
        findings.push(line, Code::TrailingText, Severity::Note, message);
    }
    let fields = cut(piece.text);
    if is_header(&fields) {
        let message = if behaviour.skips_unknown {
            "the header is skipped with a warning; begin it with #".to_owned()
        } else {
            "the header is read as a rule for allreduce of 0 to 0 bytes on 0 nodes, which matches nothing; begin it with #"
                .to_owned()
        };
        return findings.push(line, Code::HeaderAsRule, Severity::Note, message);
    }
    if empty_fields(piece, content, &behaviour, findings) {
        return;
    }
    if let PieceContent::Dropped(Dropped::TooFewFields(number)) = content {
        if piece.text.trim_ascii().is_empty() {
            let message = "a line of blanks counts as content, has too few fields, and is left out";
            return findings.push(line, Code::TooFewFields, Severity::Note, message);
        }
        let message = format!(
            "the line has {} of the {FIELDS_NEEDED} that are needed and is left out without a word",
            count(number as u64, "field")
        );
        return findings.push(line, Code::TooFewFields, Severity::Dead, message);
    }
    words(line, &fields, findings);
    if matches!(content, PieceContent::Rule(_)) {
        numbers(line, piece.text, &fields, findings);
    }
}

/// A line of names where words and sizes should be.
fn is_header(fields: &[&[u8]]) -> bool {
    let is_name = |field: &[u8]| field.first().is_some_and(u8::is_ascii_alphabetic);
    fields.len() >= FIELDS_NEEDED && find(&COLLECTIVES, fields[0]).is_none() && fields[..3].iter().all(|f| is_name(f))
}

/// Fields in which nothing stands; whether the rest of the line needs no words.
fn empty_fields(
    piece: &Piece<'_>,
    content: PieceContent,
    behaviour: &ReaderBehaviour,
    findings: &mut LintFindings,
) -> bool {
    let raw: Vec<&[u8]> = piece.text.split(|byte| *byte == b',').collect();
    let last = raw.iter().rposition(|field| !field.trim_ascii().is_empty()).unwrap_or(0);
    let place = |index: usize| NAMES.get(index).map_or(String::new(), |name| format!(", {name},"));
    let mut push = |severity, message| findings.push(piece.line, Code::EmptyField, severity, message);
    let used = || raw.iter().take(MOST_FIELDS).enumerate();
    if content == PieceContent::Dropped(Dropped::EmptyField) {
        push(Severity::Dead, "a field holds nothing but blanks: the line is skipped with a warning".to_owned());
        return true;
    }
    if let Some((index, _)) = used().find(|(index, field)| field.is_empty() && *index < last) {
        let what = format!("field {}{} is empty and collapses", index + 1, place(index));
        match content {
            PieceContent::Dropped(Dropped::TooFewFields(left)) => push(
                Severity::Dead,
                format!("{what}: {} are left, too few, and the line is left out", count(left as u64, "field")),
            ),
            PieceContent::Dropped(_) => push(
                Severity::Dead,
                format!("{what}: those after it move one place to the left, and the line is skipped with a warning"),
            ),
            _ => push(Severity::Changes, format!("{what}: those after it move one place to the left")),
        }
        return true;
    }
    let blank = used().find(|(index, field)| trim(field).is_empty() && !field.is_empty() && *index < last);
    if let (Some((index, _)), false) = (blank, behaviour.skips_unknown) {
        let read = match index {
            0 => "allreduce",
            3 => "ring",
            4 => "simple",
            _ => "0",
        };
        let message = format!("field {}{} holds nothing but blanks and is read as {read}", index + 1, place(index));
        push(Severity::Changes, message);
        return false;
    }
    if raw.len() > last + 1 && raw[last + 1..].iter().all(|field| field.is_empty()) {
        push(Severity::Note, "the comma at the end opens an empty field, which collapses".to_owned());
    }
    false
}

/// How a reader interprets the name in a field.
struct FieldWord<'a, T> {
    field: &'a [u8],
    /// The value of the name as it is spelled.
    known: Option<T>,
    /// The value of the name in lower case.
    lower: Option<T>,
    /// The value that a person would read.
    meant: Option<T>,
    /// The value that readers assume for an unknown name.
    guess: T,
    guess_name: &'static str,
    unknown: Code,
}

fn words(line: u32, fields: &[&[u8]], findings: &mut LintFindings) {
    let lower = |field: &[u8]| field.to_ascii_lowercase();
    let collective = FieldWord {
        field: fields[0],
        known: find(&COLLECTIVES, fields[0]),
        lower: find(&COLLECTIVES, &lower(fields[0])),
        meant: std::str::from_utf8(fields[0]).ok().and_then(Collective::parse),
        guess: Collective::AllReduce,
        guess_name: "allreduce",
        unknown: Code::UnknownCollective,
    };
    word(line, &collective, findings);
    let (algorithm, protocol) = (fields[3], fields[4]);
    let wildcards = (algorithm == WILDCARD, protocol == WILDCARD);
    if wildcards.0 != wildcards.1 {
        half_wildcard(line, wildcards.0, findings);
    }
    let is_understood = |is_wildcard: bool| is_wildcard && wildcards.0 != wildcards.1;
    let both = wildcards == (true, true) && findings.reader.behaviour().has_wildcards;
    if !both && !is_understood(wildcards.0) {
        let word_of = FieldWord {
            field: algorithm,
            known: find(&ALGORITHMS, algorithm),
            lower: find(&ALGORITHMS, &lower(algorithm)),
            meant: std::str::from_utf8(algorithm).ok().and_then(Algorithm::parse),
            guess: Algorithm::Ring,
            guess_name: "ring",
            unknown: Code::UnknownAlgorithm,
        };
        word(line, &word_of, findings);
    }
    if !both && !is_understood(wildcards.1) {
        let word_of = FieldWord {
            field: protocol,
            known: find(&PROTOCOLS, protocol),
            lower: find(&PROTOCOLS, &lower(protocol)),
            meant: std::str::from_utf8(protocol).ok().and_then(Protocol::parse),
            guess: Protocol::Simple,
            guess_name: "simple",
            unknown: Code::UnknownProtocol,
        };
        word(line, &word_of, findings);
    }
}

fn word<T: Copy + PartialEq>(line: u32, word: &FieldWord<'_, T>, findings: &mut LintFindings) {
    if word.known.is_some() {
        return;
    }
    let skips = findings.reader.behaviour().skips_unknown;
    let text = shown(word.field);
    let code = if word.lower.is_some() { Code::UpperCase } else { word.unknown };
    let why = if code == Code::UpperCase { "is known in lower case only" } else { "is not known" };
    let (severity, what) = if skips {
        (Severity::Dead, "the line is skipped with a warning".to_owned())
    } else if word.meant == Some(word.guess) {
        (Severity::Note, format!("it is read as {}, which is what is meant", word.guess_name))
    } else if word.unknown == Code::UnknownCollective {
        let caught = "the rule catches every all_reduce size that no earlier rule covers";
        (Severity::Changes, format!("it is read as {}, and {caught}", word.guess_name))
    } else {
        (Severity::Changes, format!("it is read as {}", word.guess_name))
    };
    findings.push(line, code, severity, format!("\"{text}\" {why}: {what}"));
}

fn half_wildcard(line: u32, is_algorithm: bool, findings: &mut LintFindings) {
    let (any, other, guess) =
        if is_algorithm { ("algorithm", "protocol", "ring") } else { ("protocol", "algorithm", "simple") };
    let (severity, what) = match findings.reader {
        Reader::Example => (Severity::Changes, format!("-1 is no word here and is read as {guess}, which is forced")),
        Reader::DnTuner => (
            Severity::Changes,
            "the cost table is indexed at -1: memory outside the table is read and written, and what runs is undefined"
                .to_owned(),
        ),
        Reader::Rccl | Reader::Collectune | Reader::Ncclx => {
            (Severity::Dead, "-1 is not known here: the line is skipped with a warning".to_owned())
        }
    };
    findings.push(
        line,
        Code::HalfWildcard,
        severity,
        format!("{any} is -1 and {other} is not: {what}; write both words"),
    );
}

fn numbers(line: u32, whole: &[u8], fields: &[&[u8]], findings: &mut LintFindings) {
    for (index, field) in fields.iter().enumerate() {
        let is_last = index + 1 == fields.len();
        match index {
            1 | 2 => number(line, index, field, &strtoull(field), is_last, findings),
            5.. => number(line, index, field, &atoi(field), is_last, findings),
            _ => {}
        }
    }
    let more = whole.split(|byte| *byte == b',').filter(|field| !field.is_empty()).count();
    if more > MOST_FIELDS {
        let message = match findings.reader {
            Reader::Rccl => {
                "fields after the tenth are ignored; newer builds take the next two for partitionMode and localGroup"
            }
            _ => "fields after the tenth are ignored",
        };
        findings.push(line, Code::TrailingText, Severity::Note, message);
    }
}

fn number<T: Copy + std::fmt::Display>(
    line: u32,
    index: usize,
    field: &[u8],
    number: &Number<'_, T>,
    is_last: bool,
    findings: &mut LintFindings,
) {
    if trim(field).is_empty() {
        return;
    }
    let (name, text, value) = (NAMES[index], shown(field), number.value);
    let is_size = matches!(index, 1 | 2);
    let bad = if !number.has_digits {
        Some("is no number")
    } else if number.overflows {
        Some("is too large")
    } else if is_size && number.is_negative && field != b"-0" {
        Some("is negative")
    } else {
        None
    };
    if let Some(why) = bad {
        let message = format!("{name} \"{text}\" {why} and is read as {value}");
        return findings.push(line, Code::BadNumber, Severity::Changes, message);
    }
    let rest = number.rest.trim_ascii();
    if !rest.is_empty() {
        let (severity, what) = if is_last && rest.starts_with(b"#") {
            (Severity::Note, "the comment after it is swallowed")
        } else {
            (Severity::Changes, "what stands after the digits is not read")
        };
        let message = format!("{name} \"{text}\" is read as {value}: {what}");
        findings.push(line, Code::TrailingText, severity, message);
    }
}

/// Bytes of a file, fit to be shown.
fn shown(field: &[u8]) -> String {
    excerpt(&String::from_utf8_lossy(field).replace(BYTE_ORDER_MARK, "(byte order mark)"))
}
