//! `collectune tuning lint`: what a tuner file's readers make of it.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::{
    cli::{
        arguments::{self, Machine, Measured},
        error::CliError,
        files, table, terminal,
    },
    conf::built_in::Table,
    text::visible,
    tuning::{
        aggregate::Target,
        conf::{
            Finding, Reader, Severity, against,
            lint::{self, lint_for},
            overlay::{listing, overlay, summary},
            read, readers_of,
        },
        platform::Library,
        runs::aggregate,
        support::SupportMatrix,
        sweep::Sweep,
        variables::{self, VariableFinding},
    },
    units::{count, counted_noun},
};

/// Check how each reader reads a tuner file, line by line
///
/// The C code that reads tuner files reports no errors. The exit code is 3 where something runs that the file does not
/// say.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune tuning lint nccl_tuner.conf --reader dn-tuner
  collectune tuning lint nccl_tuner.conf --sweep merged_metrics.csv --json
  collectune tuning lint nccl_tuner.conf --reader dn-tuner --against rccl-2.30.4-gfx950
  collectune tuning lint --environment job.env --library nccl --library-version 2.30.7")]
pub(in crate::cli) struct Lint {
    /// The tuner file; - is the standard input
    #[arg(value_name = "CONF", required_unless_present = "environment")]
    conf: Option<PathBuf>,

    /// A list of NAME=value, or a log that names variables: which of them the library ignores, limits or takes
    /// otherwise
    #[arg(long, value_name = "FILE", conflicts_with = "conf")]
    environment: Option<PathBuf>,

    /// Who reads it; without it all who know its grammar
    #[arg(long, value_enum)]
    reader: Option<Reader>,

    /// Sweeps to compare it with
    #[arg(long, value_name = "SWEEP", num_args = 1..)]
    sweep: Vec<PathBuf>,

    #[command(flatten)]
    measured: Measured,

    /// The library whose rules say what can run
    #[arg(long, value_enum, default_value_t)]
    library: Library,

    #[command(flatten)]
    machine: Machine,

    /// Compare it with the table that a version of RCCL brings along: at each range of sizes what the file, the table
    /// and both decide
    #[arg(long, value_name = "rccl-VERSION-GPU", requires = "reader", conflicts_with = "json")]
    against: Option<Table>,

    /// List every finding, instead of similar ones together with their number
    #[arg(long, conflicts_with = "json")]
    all: bool,

    /// Write the answer as JSON, with every finding
    #[arg(long)]
    json: bool,
}

impl Lint {
    pub(super) fn run(self) -> Result<(), CliError> {
        match (&self.conf, &self.environment) {
            (Some(conf), _) => self.check_rules(conf),
            (None, Some(environment)) => self.check_variables(environment),
            (None, None) => Ok(()),
        }
    }

    /// Checks the variables of a list or a log.
    fn check_variables(&self, path: &Path) -> Result<(), CliError> {
        let why = "variables are checked, and no tuner file (--environment)";
        arguments::say_unused(&["reader", "sweep", "set", "configuration", "against", "all"], why);
        let text = files::lossy_text(path)?;
        let findings = variables::findings(&text, self.machine.of(self.library));
        if self.json {
            terminal::write_json(&findings)?;
        } else {
            let file = files::name(path);
            let name = visible(&file);
            let line = |finding: &VariableFinding| {
                format!("{name}:{}: {} {}\n", finding.line, finding.severity.name(), visible(&finding.message))
            };
            let lines: String = findings.iter().map(line).collect();
            terminal::write(&format!("{}\n{lines}", count(findings.len() as u64, "finding")))?;
        }
        exit(findings.iter().any(|finding| finding.severity == Severity::Changes))
    }

    fn check_rules(&self, conf: &Path) -> Result<(), CliError> {
        // An empty file is one that the library takes, and has no rule.
        let bytes = files::bytes(conf)?;
        let sweep = match self.sweep[..] {
            [] => {
                arguments::say_unused(&["set", "configuration"], "no sweep is given (--sweep)");
                Sweep::default()
            }
            _ => {
                let opened = files::read_sweeps(&self.sweep, &self.measured)?;
                if !opened.sets.all.is_empty() {
                    terminal::say("note", &opened.sets.note);
                }
                terminal::say_notes(&opened.notes);
                aggregate(&opened.rows, Target::Time)
            }
        };
        let readers = self.reader.as_ref().map_or_else(|| readers_of(&bytes), std::slice::from_ref);
        arguments::say_unused_library(readers);
        let mut platform = self.machine.of(self.library);
        if let Some(table) = &self.against {
            platform.gpu = platform.gpu.or(Some(table.of.gpu));
            platform.version = platform.version.or(table.version);
        }
        let findings = lint_for(&bytes, readers, platform, &sweep);
        if self.json {
            terminal::write_json(&findings)?;
        } else {
            let mut text = for_people(&findings, &visible(&files::name(conf)), readers, self.all);
            if !sweep.is_empty() {
                for reader in readers {
                    let support = SupportMatrix::new(platform.of_reader(*reader).matrix(), &sweep);
                    let places = overlay(&read(&bytes, *reader), *reader, &support, &sweep, None);
                    text += &format!("\nWith {} on the sweep:\n", reader.name());
                    text += &format!("{}{}\n", table::of_listing(&listing(&places)), summary(&places));
                }
            }
            if let (Some(table), Some(reader)) = (&self.against, self.reader) {
                let support = SupportMatrix::new(platform.matrix(), &sweep);
                let ranges = against::against(&read(&bytes, reader), reader, table, &support);
                text += &format!("\nBeside the table of {table}, with {}:\n", reader.name());
                text += &table::of_listing(&against::listing(&ranges));
            }
            terminal::write(&text)?;
        }
        exit(findings.iter().any(|finding| finding.severity == Severity::Changes))
    }
}

/// The end of a check, by whether something runs that does not stand there.
fn exit(changes: bool) -> Result<(), CliError> {
    if changes { Err(CliError::Found) } else { Ok(()) }
}

/// The findings of each reader; those that several readers share stand once, below all their names.
fn for_people(findings: &[Finding], name: &str, readers: &[Reader], all: bool) -> String {
    let told = |reader: Reader| {
        let of: Vec<Finding> = findings.iter().filter(|finding| finding.reader == reader).cloned().collect();
        let lines: String = match all {
            true => of.iter().map(|finding| line(name, finding)).collect(),
            false => lint::alike(&of).iter().map(|alike| grouped(name, alike)).collect(),
        };
        format!("{}\n{lines}", lint::summary(&of))
    };
    let mut texts: Vec<(Vec<&str>, String)> = Vec::new();
    for reader in readers {
        let text = told(*reader);
        match texts.iter_mut().find(|(_, known)| *known == text) {
            Some((names, _)) => names.push(reader.name()),
            None => texts.push((vec![reader.name()], text)),
        }
    }
    let sections: Vec<String> = texts.iter().map(|(names, text)| format!("{}: {text}", names.join(", "))).collect();
    let cut = !all && findings.len() > sections.iter().map(|text| text.lines().count() - 1).sum();
    let rest = if cut { "\n--all lists every finding.\n" } else { "" };
    sections.join("\n") + rest
}

fn line(name: &str, finding: &Finding) -> String {
    let Finding { line, code, severity, message, .. } = finding;
    format!("{name}:{line}: {} {}: {message}\n", severity.name(), code.name())
}

/// The first of some findings that are alike, and where the others are.
fn grouped(name: &str, alike: &lint::SimilarFindings<'_>) -> String {
    const LISTED: usize = 6;
    let text = line(name, alike.first);
    let more = &alike.lines[1..];
    if more.is_empty() {
        return text;
    }
    let listed: Vec<String> = more.iter().take(LISTED).map(u32::to_string).collect();
    let rest = if more.len() > LISTED { ", …" } else { "" };
    let lines = counted_noun(more.len() as u64, "line");
    format!("{} ({} more like it: {lines} {}{rest})\n", text.trim_end(), more.len(), listed.join(", "))
}
