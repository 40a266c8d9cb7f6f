//! `collectune verify`: whether a schedule in a file can be run, and how good it is.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use serde::Serialize;

use super::{
    CliError, FOUND, files,
    synthesize::{TopologyCliError, WantedArguments, text, topology},
    terminal,
};
use crate::topology::{model::Unit, msccl, result, study};

/// Check a schedule that somebody else made: durations, one chunk per link at a time, causality, completeness
///
/// Reads the result files of TACOS, its forks and BEAN TACOS (`chunk`, `chunk:end:start` in ps, `chunk:start:end` in ns), and
/// algorithms of MSCCL as XML, which are run. The exit code is 3 where something is wrong.
#[derive(Args)]
pub(super) struct Verify {
    /// A result file, or an algorithm of MSCCL
    #[arg(value_name = "RESULT")]
    result: PathBuf,

    /// The topology that it is for, as a file or as a form; the result's own links where not given
    #[arg(long, value_name = "GRAPH")]
    graph: Option<PathBuf>,

    #[command(flatten)]
    wanted: WantedArguments,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Checked {
    verified: bool,
    dialect: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_ns: Option<f64>,
    faults: Vec<String>,
    #[serde(skip)]
    sentences: Vec<String>,
}

impl Verify {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        let text = text(&self.result)?;
        let checked = if text.trim_start().starts_with('<') { algorithm(&text) } else { self.schedule(&text)? };
        if self.json {
            terminal::write_json(&(serde_json::to_string_pretty(&checked).unwrap_or_default() + "\n"))?;
        } else {
            let faults = checked.faults.iter().map(|fault| format!("- {fault}\n")).collect::<String>();
            terminal::write(&(checked.sentences.join("\n") + "\n" + &faults))?;
        }
        Ok(if checked.verified { ExitCode::SUCCESS } else { ExitCode::from(FOUND) })
    }

    fn schedule(&self, text: &str) -> Result<Checked, CliError> {
        let name = files::name(&self.result);
        let unit = if self.wanted.is_decimal() { Unit::Gb } else { Unit::Gib };
        let result = result::read(text, &name, unit).map_err(|error| TopologyCliError::Read(name, error))?;
        let topology = self.graph.as_ref().map(|path| topology(path, &self.wanted)).transpose()?;
        let wanted = self.wanted.asked()?;
        let about = self.wanted.about(&self.result);
        let verified = study::check(&result, topology.as_ref(), wanted).map_err(|error| about(error.into()))?;
        Ok(Checked {
            verified: verified.faults.is_empty(),
            dialect: verified.dialect,
            time_ns: Some(verified.time_ns),
            bound_ns: Some(verified.bound_ns),
            faults: verified.faults,
            sentences: verified.sentences,
        })
    }
}

fn algorithm(text: &str) -> Checked {
    let read = msccl::Algo::read(text).map_err(|error| error.to_string());
    let (sentence, faults) = match read.and_then(|algo| msccl::verdict(&algo)) {
        Ok(sentence) => (sentence, Vec::new()),
        Err(why) => ("It can't be run.".to_owned(), vec![why]),
    };
    let dialect = "algorithm of MSCCL".to_owned();
    Checked { verified: faults.is_empty(), dialect, time_ns: None, bound_ns: None, faults, sentences: vec![sentence] }
}
