//! Findings on a tuner file, line by line, for one of its readers: what the file says against what would run.

mod fields;
mod library;
mod measured;
mod ncclx;
mod neighbours;
mod ranges;
mod rules;
mod strict;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub(super) use self::measured::{beside_default, most_channels};

use super::{
    reader::Reader,
    rule::{PIPE_OPS, PieceContent, REG_BUFF, Rule, content},
    scan::{LONGEST_READ, Piece, fields as cut, pieces},
};
use crate::{
    collective::{Algorithm, Collective, Protocol},
    order::{CompactCollect, CompactSort},
    text::{Column, Entry, Listing},
    tuning::{platform::Platform, support::SupportMatrix, sweep::Sweep},
    units::count,
};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something else runs than what stands there.
    Changes,
    /// The line has no effect.
    Dead,
    /// Worth knowing; nothing goes wrong.
    Note,
}

impl Severity {
    /// The name as it is shown on the page and in the terminal.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Changes => "changes",
            Self::Dead => "dead",
            Self::Note => "note",
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $item:ident = $name:literal,)+) => {
        /// The kind of a finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Code { $($(#[$doc])* $item,)+ }

        impl Code {
            /// All kinds of findings.
            pub const ALL: &[Self] = &[$(Self::$item),+];

            /// The name of the kind, as reports and JSON have it.
            pub const fn name(self) -> &'static str { match self { $(Self::$item => $name),+ } }
        }
    };
}

codes! {
    /// One of algorithm and protocol is −1.
    HalfWildcard = "half-wildcard",
    /// No reader knows the collective.
    UnknownCollective = "unknown-collective",
    /// The reader does not know the algorithm.
    UnknownAlgorithm = "unknown-algorithm",
    /// The reader does not know the protocol.
    UnknownProtocol = "unknown-protocol",
    /// A word that is known in lower case only.
    UpperCase = "upper-case",
    /// An earlier rule matches the same workloads and wins.
    Overlap = "overlap",
    /// Sizes that no rule matches.
    Gap = "gap",
    /// A rule that nothing matches.
    EmptyRange = "empty-range",
    /// A combination that can't run.
    Unsupported = "unsupported",
    /// A combination instead of which something else runs.
    Substituted = "substituted",
    /// A line that is read in pieces.
    LongLine = "long-line",
    /// The header is taken for a rule.
    HeaderAsRule = "header-as-rule",
    /// A number of channels that is out of bounds, or not what it seems.
    Channels = "channels",
    /// A rule for what was not measured.
    OutsideSweep = "outside-sweep",
    /// A line with fewer than eight fields.
    TooFewFields = "too-few-fields",
    /// A field in which nothing stands.
    EmptyField = "empty-field",
    /// A number that can't be parsed, is too large, or is negative.
    BadNumber = "bad-number",
    /// Text after a number, or after the last field.
    TrailingText = "trailing-text",
    /// A comment with blanks before it.
    CommentNotFirst = "comment-not-first",
    /// A condition on registered buffers or aggregated calls: it is not looked at, or not known of a job.
    Registration = "registration",
    /// Sizes that rows of the library's own table decide, which any other tuner takes away.
    DisplacedTable = "displaced-table",
    /// A file without a valid rule, which still displaces the library's own table.
    EmptyDisplaces = "empty-displaces",
    /// Far fewer or far more channels than both neighbouring rules.
    ChannelSpike = "channel-spike",
    /// A rule for sizes at which the library doesn't ask a tuner.
    DeadRow = "dead-row",
    /// A narrow hole between rules that were meant to meet.
    BoundaryGap = "boundary-gap",
    /// A file, or a part of it, that is of another form than the reader's.
    Form = "form",
    /// A chunk size that the library can't use, limits, or uses at other sizes than the rule says.
    ChunkSize = "chunk-size",
}

/// A finding on a line of a tuner file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Line in the file, from 1.
    pub line: u32,
    /// The kind of the finding.
    pub code: Code,
    /// Whether the line does something else, nothing, or what it says.
    pub severity: Severity,
    /// A sentence that says what would happen.
    pub message: String,
    /// The reader to which it would happen.
    pub reader: Reader,
}

/// Collects the findings of one reader.
struct LintFindings {
    reader: Reader,
    found: Vec<Finding>,
}

impl LintFindings {
    fn push(&mut self, line: u32, code: Code, severity: Severity, message: impl Into<String>) {
        self.found.push(Finding { line, code, severity, message: message.into(), reader: self.reader });
    }

    /// A range of sizes of rules in words, in the bytes of which this reader's rules tell.
    fn sizes(&self, start: u64, end: u64) -> String {
        let of = if self.reader == Reader::Ncclx { " per rank" } else { "" };
        ranges::sizes(start, end) + of
    }
}

/// The findings on a tuner file for one reader, ascending by line. `support` says what can run; with a `sweep`, rules
/// are compared with the measurements.
pub fn lint(bytes: &[u8], reader: Reader, support: &SupportMatrix, sweep: Option<&Sweep>) -> Vec<Finding> {
    lint_on(bytes, reader, support, sweep, None)
}

/// The findings of [`lint`], and those that depend on where the file is deployed.
fn lint_on(
    bytes: &[u8],
    reader: Reader,
    support: &SupportMatrix,
    sweep: Option<&Sweep>,
    platform: Option<Platform>,
) -> Vec<Finding> {
    let mut findings = LintFindings { reader, found: Vec::new() };
    let kept = match reader {
        Reader::Collectune => strict::strict(bytes, support, &mut findings),
        Reader::Ncclx => ncclx::ncclx(bytes, support, &mut findings),
        Reader::Example | Reader::DnTuner | Reader::Rccl => as_c(bytes, support, &mut findings),
    };
    conditions(&kept, &mut findings);
    ranges::ranges(&kept, support, sweep, &mut findings);
    neighbours::neighbours(&kept, &mut findings);
    if let Some(platform) = platform {
        library::library(&kept, platform, support, &mut findings);
    }
    if let Some(sweep) = sweep {
        measured::measured(&kept, sweep, &mut findings);
    }
    let mut found = findings.found;
    // That the library never asks a tuner there says more than what runs instead.
    let is_dead = |of: &&Finding| of.code == Code::DeadRow && of.severity == Severity::Dead;
    let dead: BTreeSet<u32> = found.iter().filter(is_dead).map(|of| of.line).compact_collect();
    found.retain(|of| of.code != Code::Substituted || !dead.contains(&of.line));
    found.compact_sort_by_key(|finding| (finding.line, finding.code));
    found
}

/// Names the lines that hold for some buffers or calls only, of which no sweep and no log of calls says anything.
fn conditions(rules: &[Rule], findings: &mut LintFindings) {
    for rule in rules {
        let pipe_ops = (rule.pipe_ops != -1).then(|| format!("calls with numPipeOps {}", rule.pipe_ops));
        let reg_buff = (rule.reg_buff != -1).then(|| format!("buffers with regBuff {}", rule.reg_buff));
        let of: Vec<String> = pipe_ops.into_iter().chain(reg_buff).collect();
        if !of.is_empty() {
            let message = format!(
                "the rule holds for {} only; without a word on them calls are taken to be by themselves (numPipeOps \
                 {PIPE_OPS}), on buffers that are not registered (regBuff {REG_BUFF})",
                of.join(" and ")
            );
            findings.push(rule.line, Code::Registration, Severity::Note, message);
        }
    }
}

/// Checks every line as the readers in C read it. Returns the rules that the reader keeps.
fn as_c(bytes: &[u8], support: &SupportMatrix, findings: &mut LintFindings) -> Vec<Rule> {
    let mut kept: Vec<Rule> = Vec::new();
    let mut all = pieces(bytes).peekable();
    let mut of_line: Vec<(Piece<'_>, PieceContent)> = Vec::new();
    while let Some(piece) = all.next() {
        of_line.push((piece, content(&piece, findings.reader)));
        if all.peek().is_some_and(|next| next.line == piece.line) {
            continue;
        }
        line(&of_line, findings);
        for (piece, content) in of_line.drain(..) {
            if let PieceContent::Rule(rule) = content
                && !fields::is_header_line(&piece)
            {
                rules::rule(&rule, support, findings);
                kept.push(rule);
            }
        }
    }
    kept
}

/// The findings of one line, read in one or more pieces.
fn line(of_line: &[(Piece<'_>, PieceContent)], findings: &mut LintFindings) {
    let [(first, read), tails @ ..] = of_line else { return };
    fields::fields(first, *read, findings);
    if tails.is_empty() || tails.iter().all(|(tail, _)| tail.text.is_empty()) {
        return;
    }
    let length: usize = of_line.iter().map(|(piece, _)| piece.text.len()).sum();
    let new_rules = tails.iter().filter(|(_, content)| matches!(content, PieceContent::Rule(_))).count();
    let whole: Vec<u8> = of_line.iter().flat_map(|(piece, _)| piece.text).copied().collect();
    let is_cut_in_a_field =
        matches!(read, PieceContent::Rule(_) | PieceContent::Dropped(_)) && cut(&whole) != cut(first.text);
    let (severity, what) = match (new_rules, is_cut_in_a_field) {
        (0, false) => (Severity::Note, "which has no effect"),
        (0, true) => (Severity::Changes, "and a field is cut in two"),
        _ => (Severity::Changes, "and becomes a rule"),
    };
    findings.push(
        first.line,
        Code::LongLine,
        severity,
        format!(
            "the line is {length} bytes long and the buffer holds {LONGEST_READ}: the rest is read as a line of its own, \
             {what}"
        ),
    );
    for (tail, content) in tails {
        if matches!(content, PieceContent::Rule(_)) {
            fields::fields(tail, *content, findings);
        }
    }
}

/// The findings as a table, a row for each.
pub fn listing(findings: &[Finding]) -> Listing {
    let columns = vec![
        Column::numbers("Line", "line in the file"),
        Column::words("Severity", "changes: something else runs; dead: the line has no effect; note: to be known"),
        Column::words("Code", "what kind of finding"),
        Column::words("Reader", "the program that reads the file"),
        Column::words("What happens", "what the reader makes of it"),
    ];
    let row = |finding: &Finding| {
        vec![
            Entry::number(Some(f64::from(finding.line)), |line| format!("{line:.0}")),
            Entry { text: finding.severity.name().to_owned(), number: Some(f64::from(finding.severity as u8)) },
            Entry::text(finding.code.name()),
            Entry::text(finding.reader.name()),
            Entry::text(finding.message.clone()),
        ]
    };
    Listing { columns, rows: findings.iter().map(row).collect() }
}

/// Findings of one kind: the same, with other lines and numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimilarFindings<'a> {
    /// The first finding of the kind.
    pub first: &'a Finding,
    /// The lines of all, in their order.
    pub lines: Vec<u32>,
}

/// Brings together findings of one reader that differ in lines, sizes and scales alone, in the order of the first of
/// each: what changes comes before what is dead, and that before notes.
pub fn alike(findings: &[Finding]) -> Vec<SimilarFindings<'_>> {
    let mut places: BTreeMap<(Severity, Code, String), usize> = BTreeMap::new();
    let mut all: Vec<SimilarFindings<'_>> = Vec::new();
    for finding in findings {
        let next = all.len();
        let place = *places.entry((finding.severity, finding.code, shape(&finding.message))).or_insert(next);
        match all.get_mut(place) {
            Some(same) => same.lines.push(finding.line),
            None => all.push(SimilarFindings { first: finding, lines: vec![finding.line] }),
        }
    }
    all.compact_sort_by_key(|of| of.first.severity);
    all
}

/// A message without what differs from line to line: its numbers with their units, and the names of collectives,
/// algorithms and protocols.
fn shape(message: &str) -> String {
    let plain = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_unit = matches!(
            bare,
            "B" | "KiB" | "MiB" | "GiB" | "node" | "nodes" | "rank" | "ranks" | "rule" | "rules" | "range" | "ranges"
        );
        let is_name = Collective::parse(bare).is_some()
            || bare.contains('/')
            || Algorithm::parse(bare).is_some()
            || Protocol::parse(bare).is_some();
        bare.contains(|c: char| c.is_ascii_digit()) || is_unit || is_name
    };
    message.split(' ').map(|word| if plain(word) { "·" } else { word }).collect::<Vec<_>>().join(" ")
}

/// How many there are of each severity: `8 change what runs, 2 dead, 40 notes`.
pub fn summary(findings: &[Finding]) -> String {
    let of = |severity| findings.iter().filter(|finding| finding.severity == severity).count() as u64;
    let changes = of(Severity::Changes);
    let verb = if changes == 1 { "changes" } else { "change" };
    format!("{changes} {verb} what runs, {} dead, {}", of(Severity::Dead), count(of(Severity::Note), "note"))
}

/// The findings for several readers, one after the other. An empty sweep says nothing.
pub fn lint_for(bytes: &[u8], readers: &[Reader], platform: impl Into<Platform>, sweep: &Sweep) -> Vec<Finding> {
    let platform = platform.into();
    let measured = (!sweep.is_empty()).then_some(sweep);
    let of = |reader: &Reader| {
        let platform = platform.of_reader(*reader);
        lint_on(bytes, *reader, &SupportMatrix::new(platform.matrix(), sweep), measured, Some(platform))
    };
    readers.iter().flat_map(of).collect()
}
