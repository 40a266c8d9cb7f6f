//! `collectune conf`: write tuner files, and say what their readers make of them.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Subcommand};

use super::{
    CliError, FOUND,
    arguments::{self, Deployment, Learning, Machine, Measured},
    files,
    learnt::Learnt,
    save,
    table::Table,
    terminal,
};
use crate::tuning::{
    aggregate::{Target, aggregate},
    conf::{
        Finding, Reader, Severity,
        export::{ConfExport, ExportOptions, loading},
        lint,
        overlay::{listing, overlay, summary},
        question::{ConfAnswer, ConfQuestion, lint_for},
        read,
    },
    support::SupportMatrix,
    sweep::Sweep,
};
use crate::{collective::Scale, order::CompactSort, report::wire::leaf, text::visible, units::count};

/// Tuner files: write one from a sweep, or say what a reader makes of one
#[derive(Subcommand)]
pub(super) enum Conf {
    Export(ExportConf),
    Lint(LintConf),
}

impl Conf {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        match self {
            Self::Export(command) => command.run(),
            Self::Lint(command) => command.run(),
        }
    }
}

/// Write a tuner file from a sweep
///
/// Rules are merged over adjacent sizes and meet at the geometric mean of measured ones. Where the default wins, a gap
/// keeps it; NVIDIA's example can't keep it, and nothing is written for a scale that it would make slower.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune conf export merged_metrics.csv --reader dn-tuner -o nccl_tuner.conf
  collectune conf export all_reduce_*.csv --reader rccl --architecture gfx942 -o rccl_tuner_gfx942.csv")]
pub(super) struct ExportConf {
    /// Sweeps, or a saved model; - is the standard input
    #[arg(required = true, value_name = "SWEEP")]
    sweeps: Vec<PathBuf>,

    /// Who will read it
    #[arg(long, value_enum)]
    reader: Reader,

    #[command(flatten)]
    deployment: Deployment,

    #[command(flatten)]
    machine: Machine,

    /// A file for each scale, its nodes and ranks in the name
    #[arg(long)]
    by_scale: bool,

    /// Let the lowest rule begin at 0 and the highest have no end; NVIDIA's example needs that always
    #[arg(long)]
    open_ends: bool,

    /// The GPU's architecture in the name that RCCL looks for [default: gfx950]
    #[arg(long, value_name = "ARCH")]
    architecture: Option<String>,

    /// Where to write it; without it the text goes to the standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    measured: Measured,

    #[command(flatten)]
    learning: Learning,
}

impl ExportConf {
    fn run(self) -> Result<ExitCode, CliError> {
        let opened = files::read(&self.sweeps, None, &self.measured, files::Reads::Sweeps)?;
        self.output.iter().try_for_each(|path| save::check("tuner file", path))?;
        if self.reader != Reader::Rccl {
            arguments::say_unused(&["architecture"], "only the name that RCCL looks for has it (--reader rccl)");
        }
        let parameters = self.learning.parameters(opened.parameters.clone());
        let mut bar = terminal::Bar::new();
        let learnt = Learnt::learn(opened, self.learning.target, &parameters, &mut bar)?;
        drop(bar);
        terminal::say_notes(&learnt.notes);
        let mut scales: Vec<Scale> = learnt.groups.iter().map(|group| group.scale).collect();
        scales.compact_sort();
        scales.dedup();
        let scales = scales.len();
        let options = ExportOptions {
            reader: self.reader,
            library: self.deployment.library,
            by_scale: self.by_scale,
            open_ends: self.open_ends,
            architecture: self.architecture,
            version: self.machine.library_version,
            gpu: self.machine.gpu,
        };
        let ConfAnswer::Export { export, listing } = learnt.executor.tuning.conf(&ConfQuestion::Export(options))?
        else {
            return Err(CliError::NoConf { reader: self.reader.name(), remedy: "" });
        };
        export.warnings.iter().for_each(|warning| terminal::say("warning", warning));
        export.refusals.iter().for_each(|refusal| terminal::say("error", &refusal.message()));
        if export.files.is_empty() {
            let others = scales > export.refusals.len() && !export.refusals.is_empty() && !self.by_scale;
            let remedy = if others { "; --by-scale writes a file for each of the other scales" } else { "" };
            return Err(CliError::NoConf { reader: self.reader.name(), remedy });
        }
        match self.output {
            None => terminal::write_file(&export.files.iter().map(|file| file.text.as_str()).collect::<String>())?,
            Some(path) => {
                let saved = save_all(&export, &path)?;
                let first = saved.first().map(|(name, _)| leaf(name)).unwrap_or_default();
                let told: String = saved
                    .iter()
                    .map(|(name, rules)| format!("{} saved as {}.\n", count(*rules as u64, "rule"), visible(name)))
                    .collect();
                // RCCL finds it by this name without a variable.
                let offered = export.files.first().map_or("", |file| file.name.as_str());
                let looked_for = match self.reader {
                    Reader::Rccl if offered != first => format!("# there under the name {offered}\n"),
                    _ => String::new(),
                };
                let table = Table::of(&listing).lines();
                terminal::write(&format!("{table}\n{told}\n{}{looked_for}", loading(self.reader, &first)))?;
            }
        }
        // Not all that was asked for is written.
        Ok(if export.refusals.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Saves the files of an export; of several, each under the name with its own scale. Answers their names, and how many
/// rules each has.
fn save_all(export: &ConfExport, path: &Path) -> Result<Vec<(String, usize)>, CliError> {
    let mut saved = Vec::new();
    for file in &export.files {
        let path = match export.files.len() {
            1 => path.to_owned(),
            _ => {
                // The offered name ends in the scale.
                let scale =
                    file.name.rsplit_once('.').and_then(|(stem, _)| stem.rsplit_once('_')).map_or("", |(_, s)| s);
                let mut name = path.file_stem().unwrap_or_default().to_owned();
                name.push(format!("_{scale}"));
                if let Some(extension) = path.extension() {
                    name.push(".");
                    name.push(extension);
                }
                path.with_file_name(name)
            }
        };
        save::save("tuner file", &path, &file.text)?;
        saved.push((files::name(&path), file.rules));
    }
    Ok(saved)
}

/// Say what a tuner file's readers make of it, line by line
///
/// The C code that reads tuner files never complains. The exit code is 3 where anything else runs than what stands
/// there.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune conf lint nccl_tuner.conf --reader dn-tuner
  collectune conf lint nccl_tuner.conf --sweep merged_metrics.csv --json")]
pub(super) struct LintConf {
    /// The tuner file; - is the standard input
    #[arg(value_name = "CONF")]
    conf: PathBuf,

    /// Who reads it; without it all of them
    #[arg(long, value_enum)]
    reader: Option<Reader>,

    /// Sweeps to hold it against
    #[arg(long, value_name = "SWEEP", num_args = 1..)]
    sweep: Vec<PathBuf>,

    #[command(flatten)]
    measured: Measured,

    #[command(flatten)]
    deployment: Deployment,

    #[command(flatten)]
    machine: Machine,

    /// List every finding; otherwise those that are alike stand together, with how many there are
    #[arg(long, conflicts_with = "json")]
    all: bool,

    /// Write JSON, with every finding
    #[arg(long)]
    json: bool,
}

impl LintConf {
    fn run(self) -> Result<ExitCode, CliError> {
        let bytes = files::bytes(&self.conf)?;
        if bytes.trim_ascii().is_empty() {
            return Err(CliError::Told(format!("{} is empty: there is no rule to judge", files::name(&self.conf))));
        }
        let sweep = match self.sweep[..] {
            [] => {
                arguments::say_unused(&["set"], "no sweep is given (--sweep)");
                Sweep::default()
            }
            _ => {
                let opened = files::read(&self.sweep, None, &self.measured, files::Reads::Sweeps)?;
                if !opened.sets.all.is_empty() {
                    terminal::say("note", &opened.sets.note);
                }
                terminal::say_notes(&opened.notes);
                aggregate(&opened.rows, Target::Time).sweep
            }
        };
        let readers = self.reader.as_ref().map_or(Reader::ALL, std::slice::from_ref);
        let platform = self.machine.of(self.deployment.library);
        let findings = lint_for(&bytes, readers, platform, &sweep);
        if self.json {
            terminal::write_json(&(serde_json::to_string_pretty(&findings).unwrap_or_default() + "\n"))?;
        } else {
            let mut text = for_people(&findings, &visible(&files::name(&self.conf)), readers, self.all);
            if !sweep.is_empty() {
                let support = SupportMatrix::new(platform.matrix(), &sweep);
                for reader in readers {
                    let places = overlay(&read(&bytes, *reader), *reader, &support, &sweep, None);
                    text += &format!("\nWith {} on the sweep:\n", reader.name());
                    text += &format!("{}{}\n", Table::of(&listing(&places)).lines(), summary(&places));
                }
            }
            terminal::write(&text)?;
        }
        let changes = findings.iter().any(|finding| finding.severity == Severity::Changes);
        Ok(if changes { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
    }
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
    let lines = if more.len() == 1 { "line" } else { "lines" };
    format!("{} ({} more like it: {lines} {}{rest})\n", text.trim_end(), more.len(), listed.join(", "))
}
