//! `collectune conf`: write tuner files, and say what their readers make of them.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Subcommand};

use super::{
    CliError, FOUND,
    arguments::{Deployment, Learning, Measured},
    files,
    learnt::Learnt,
    save,
    table::Table,
    terminal,
};
use crate::text::visible;
use crate::tuning::{
    aggregate::{Target, aggregate},
    conf::{
        Finding, Reader, Severity,
        export::{Export, Options},
        lint,
        overlay::{listing, overlay, summary},
        question::{Answer, Question, lint_for},
        read,
    },
    support::Support,
    sweep::Sweep,
};

/// Tuner files: write one from a sweep, or say what a reader makes of one
#[derive(Subcommand)]
pub(super) enum Conf {
    Export(ExportConf),
    Lint(LintConf),
}

impl Conf {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        match self {
            Self::Export(command) => command.run().map(|()| ExitCode::SUCCESS),
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
    fn run(self) -> Result<(), CliError> {
        let opened = files::read(&self.sweeps, None, &self.measured, files::Reads::Sweeps)?;
        self.output.iter().try_for_each(|path| save::check("tuner file", path))?;
        let parameters = self.learning.parameters(opened.parameters.clone());
        let mut bar = terminal::Bar::new();
        let learnt = Learnt::learn(opened, self.learning.target, &parameters, &mut bar)?;
        drop(bar);
        terminal::say_notes(&learnt.notes);
        let options = Options {
            reader: self.reader,
            library: self.deployment.library,
            by_scale: self.by_scale,
            open_ends: self.open_ends,
            architecture: self.architecture,
        };
        let Answer::Export { export, listing } = learnt.executor.conf(&Question::Export(options))? else {
            return Err(CliError::NoConf { reader: self.reader.name() });
        };
        export.warnings.iter().for_each(|warning| terminal::say("warning", warning));
        export.refusals.iter().for_each(|refusal| terminal::say("error", &refusal.message()));
        if export.files.is_empty() {
            return Err(CliError::NoConf { reader: self.reader.name() });
        }
        match self.output {
            None => terminal::write_file(&export.files.iter().map(|file| file.text.as_str()).collect::<String>()),
            Some(path) => {
                let saved = save_all(&export, &path)?;
                let table = Table::of(&listing).lines();
                terminal::write(&format!("{table}\n{saved}\n{}", export.loading))
            }
        }
    }
}

/// Saves the files of an export; of several, each under the name with its own scale. Says what was saved.
fn save_all(export: &Export, path: &Path) -> Result<String, CliError> {
    let mut saved = String::new();
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
        saved += &format!("{} rules saved as {}.\n", file.rules, visible(&files::name(&path)));
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

    /// Write JSON
    #[arg(long)]
    json: bool,
}

impl LintConf {
    fn run(self) -> Result<ExitCode, CliError> {
        let bytes = files::bytes(&self.conf)?;
        let sweep = match self.sweep[..] {
            [] => Sweep::default(),
            _ => {
                let opened = files::read(&self.sweep, None, &self.measured, files::Reads::Sweeps)?;
                if !opened.sets.all.is_empty() {
                    terminal::say("note", &opened.sets.note);
                }
                aggregate(&opened.rows, Target::Time).sweep
            }
        };
        let readers = self.reader.as_ref().map_or(Reader::ALL, std::slice::from_ref);
        let findings = lint_for(&bytes, readers, self.deployment.library, &sweep);
        if self.json {
            terminal::write_json(&(serde_json::to_string_pretty(&findings).unwrap_or_default() + "\n"))?;
        } else {
            let mut text = for_people(&findings, &visible(&files::name(&self.conf)), readers);
            if !sweep.is_empty() {
                let support = Support::new(self.deployment.library.matrix(), &sweep);
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

fn for_people(findings: &[Finding], name: &str, readers: &[Reader]) -> String {
    let mut text = String::new();
    for reader in readers {
        let of: Vec<Finding> = findings.iter().filter(|finding| finding.reader == *reader).cloned().collect();
        text += &format!("{}: {}\n", reader.name(), lint::summary(&of));
        for Finding { line, code, severity, message, .. } in &of {
            text += &format!("{name}:{line}: {} {}: {message}\n", severity.name(), code.name());
        }
        text += "\n";
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}
