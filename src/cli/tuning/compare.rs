//! `collectune tuning compare`: what got slower between two measured states.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::{
    cli::{
        arguments::{self, Measured},
        error::{CliError, refuse},
        files::{self, Reads},
        save, table, terminal,
    },
    report::snapshot::Snapshot,
    tuning::{
        compare::{self, CompareAnswer, CompareQuestion, DeployedConf},
        conf::{Reader, read, reader_of},
        platform::Library,
        study::TuningStudyError,
    },
};

/// Find what got slower or faster between two states, such as before and after a new driver
///
/// A state is a sweep, or a report that this program made (JSON or HTML). The exit code is 3 where anything got slower
/// beyond noise: everything as a whole, any size, or one configuration.
#[derive(Args)]
#[command(after_help = "Examples:
  collectune tuning compare before.csv after.csv
  collectune tuning compare report.html run1.csv,run2.csv,run3.csv --markdown -o change.md
  collectune tuning compare before/ after/ --conf nccl_tuner.conf --reader rccl --json")]
pub(in crate::cli) struct Compare {
    /// The state before: a sweep or a report; a folder with files of one sweep, or several with commas between them
    #[arg(value_name = "BEFORE")]
    before: PathBuf,

    /// The state after: a sweep or a report, likewise
    #[arg(value_name = "AFTER")]
    after: PathBuf,

    /// The set of measurements of the state before, as --set of other commands takes it: two sets of one file can be
    /// compared
    #[arg(long, value_name = "SET")]
    set_before: Option<String>,

    /// The set of measurements of the state after
    #[arg(long, value_name = "SET")]
    set_after: Option<String>,

    /// Probability, in per cent, that no change is reported between equal states
    #[arg(long, value_name = "PCT", default_value = "90", value_parser = arguments::level)]
    level: f64,

    /// The smallest change that counts, in per cent of busbw
    #[arg(long, value_name = "PCT", default_value = "1", value_parser = arguments::minimum_gain)]
    least: f64,

    /// The tuner file that is deployed; without it what the state before recommends
    #[arg(long, value_name = "CONF")]
    conf: Option<PathBuf>,

    /// Who reads the tuner file [default: that of its grammar: ncclx, else example]
    #[arg(long, value_enum, requires = "conf")]
    reader: Option<Reader>,

    /// The library whose rules say what can run
    #[arg(long, value_enum, default_value_t)]
    library: Library,

    /// Write the answer as JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,

    /// Write Markdown, with the changes only
    #[arg(long)]
    markdown: bool,

    /// Write to a file; *.json and *.md say the form
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Compare {
    pub(super) fn run(self) -> Result<(), CliError> {
        let before = state("before", &self.before, self.set_before.clone())?;
        let after = state("after", &self.after, self.set_after.clone())?;
        let conf = self.conf.as_deref().map(files::bytes).transpose()?;
        let of_file = conf.as_deref().map_or_else(Reader::default, |bytes| reader_of(bytes, Reader::default()));
        let reader = self.reader.unwrap_or(of_file);
        if conf.is_none() {
            arguments::say_unused(&["library"], "no tuner file is given (--conf)");
        } else {
            arguments::say_unused_library(&[reader]);
        }
        let rules = conf.map(|bytes| read(&bytes, reader));
        let library = self.library.of_reader(reader);
        let conf = rules.as_deref().map(|rules| DeployedConf { rules, reader, library });
        let question = CompareQuestion { level: self.level, least_pct: self.least, ..CompareQuestion::default() };
        let answer = compare::compare(&before, &after, conf.as_ref(), &question);
        let ends_with = |end: &str| self.output.as_ref().is_some_and(|path| path.extension().is_some_and(|e| e == end));
        let is_json = self.json || (!self.markdown && ends_with("json"));
        let text = match () {
            () if is_json => answer.json.clone(),
            () if self.markdown || ends_with("md") => answer.markdown.clone(),
            () => for_people(&answer),
        };
        match &self.output {
            None if is_json => terminal::write_as_json(&text)?,
            None if self.markdown => terminal::write_file(&text)?,
            None => terminal::write(&text)?,
            Some(path) => save::save("comparison", path, text)?,
        }
        if answer.got_slower {
            return Err(CliError::Found);
        }
        if answer.has_common {
            Ok(())
        } else {
            refuse("nothing was compared: the two sides have no measurement in common")
        }
    }
}

/// One of the two states.
fn state(when: &'static str, path: &Path, set: Option<String>) -> Result<Snapshot, CliError> {
    let option = if when == "before" { "--set-before" } else { "--set-after" };
    let opened = files::read(&parts(path), &Measured { set, configuration: None }, Reads::State(option))?;
    if !opened.sets.note.is_empty() {
        terminal::say("note", &opened.sets.note);
    }
    terminal::say_notes(&opened.notes);
    if opened.rows.is_empty() {
        let option = if when == "before" { "set_before" } else { "set_after" };
        arguments::say_unused(&[option], "a report holds one set");
    } else {
        files::say_unused(&opened, Reads::Sweeps, &[]);
    }
    let snapshot = opened.snapshot(&mut terminal::Bar::new());
    Ok(snapshot.map_err(|why| TuningStudyError::NoState(when, why))?)
}

/// The files that an argument names: one that is there with its commas, else what stands between them.
fn parts(path: &Path) -> Vec<PathBuf> {
    if path.exists() {
        return vec![path.to_owned()];
    }
    #[cfg(unix)]
    {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
        let parts = path.as_os_str().as_bytes().split(|byte| *byte == b',').filter(|part| !part.is_empty());
        parts.map(|part| PathBuf::from(OsStr::from_bytes(part))).collect()
    }
    #[cfg(not(unix))]
    path.to_string_lossy().split(',').filter(|part| !part.is_empty()).map(PathBuf::from).collect()
}

fn for_people(answer: &CompareAnswer) -> String {
    terminal::say_notes(&answer.notes);
    let mut text = answer.summary.join("\n") + "\n";
    for (title, listing) in [
        ("", &answer.by_size),
        ("What was deployed:\n", &answer.deployed_check),
        ("Only on one side:\n", &answer.unmatched),
    ] {
        if !listing.rows.is_empty() {
            text += &format!("\n{title}{}", table::of_listing(listing));
        }
    }
    text
}
