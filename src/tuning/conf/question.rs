//! What the page asks about tuner files, and the answers.

use serde::{Deserialize, Serialize};

use super::{
    environment::{Environment, best_single, environment},
    expect::Predict,
    export::{self, Export, export},
    lint::{self, Finding, lint},
    overlay::{self, overlay},
    reader::Reader,
    rule::{Rule, read},
};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    plot::Chart,
    text::Listing,
    tuning::{
        platform::Platform,
        support::{Library, Support},
        sweep::Sweep,
    },
};

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Question {
    /// What is wrong with a loaded tuner file. Answers [`Answer::Lint`].
    Lint {
        /// The file's number.
        file: u32,
        /// For whom; empty: for all readers.
        readers: Vec<Reader>,
        /// Where it is deployed.
        library: Library,
    },
    /// What a loaded tuner file would choose. Answers [`Answer::Overlay`].
    Overlay {
        /// The file's number.
        file: u32,
        /// Who reads it.
        reader: Reader,
        /// Where it is deployed.
        library: Library,
    },
    /// Writes tuner files from what is to be deployed. Answers [`Answer::Export`].
    Export(export::Options),
    /// One configuration for a whole job. Answers [`Answer::Environment`].
    Environment {
        /// The collective that decides.
        collective: Collective,
        /// Nodes and ranks of the job.
        scale: Scale,
        /// The configuration; `None`: the one that serves all measured sizes best.
        configuration: Option<Configuration>,
        /// Where it is deployed.
        library: Library,
    },
}

/// What comes out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Of [`Question::Lint`].
    Lint {
        /// The findings, by reader, then line.
        findings: Vec<Finding>,
        /// The same as a table.
        listing: Listing,
        /// How many there are, in words.
        summary: String,
    },
    /// Of [`Question::Overlay`].
    Overlay {
        /// A row for each measured size.
        listing: Listing,
        /// What it comes to, in words.
        summary: String,
        /// A chart for each collective and scale; the workload is one of it.
        charts: Vec<(Workload, Chart)>,
    },
    /// Of [`Question::Export`].
    Export {
        /// The files and what must be known.
        export: Export,
        /// What this reader will run, as a table.
        listing: Listing,
    },
    /// Of [`Question::Environment`].
    Environment(Environment),
}

/// So many findings go to the page at once.
const MOST_SHOWN: usize = 5000;

/// Why a question has no answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// The file is no tuner file, or not loaded.
    #[error("this tuner file is not loaded any more; give it again")]
    NoConf,
    /// There are no recommendations.
    #[error("there is nothing to deploy yet: a sweep is needed first")]
    NothingToDeploy,
}

/// Answers a question. `confs` are the loaded tuner files by their numbers.
///
/// # Errors
/// The file is not loaded, or nothing was measured.
pub fn answer(
    question: &Question,
    confs: &[(u32, Vec<u8>)],
    basis: &export::Basis<'_>,
    predict: Option<Predict<'_>>,
) -> Result<Answer, QuestionError> {
    let conf = |number| find(confs, number);
    let sweep: &Sweep = basis.sweep;
    Ok(match question {
        Question::Lint { file, readers, library } => {
            let readers = if readers.is_empty() { Reader::ALL } else { readers };
            let mut findings = lint_for(conf(*file)?, readers, *library, sweep);
            let mut summary = lint::summary(&findings);
            if findings.len() > MOST_SHOWN {
                findings.truncate(MOST_SHOWN);
                summary += &format!("; the first {MOST_SHOWN} are shown");
            }
            Answer::Lint { listing: lint::listing(&findings), summary, findings }
        }
        Question::Overlay { file, reader, library } => {
            let rules = rules(confs, *file, *reader)?;
            let support = Support::new(library.matrix(), sweep);
            let places = overlay(&rules, *reader, &support, sweep, predict);
            let key = |workload: &Workload| (workload.collective, workload.scale);
            let charts = places
                .chunk_by(|a, b| key(&a.workload) == key(&b.workload))
                .map(|of| {
                    let workload = of[0].workload;
                    (workload, overlay::chart(of, workload.collective, workload.scale, *reader))
                })
                .collect();
            Answer::Overlay { listing: overlay::listing(&places), summary: overlay::summary(&places), charts }
        }
        Question::Export(options) => {
            if basis.recommendations.is_empty() {
                return Err(QuestionError::NothingToDeploy);
            }
            let export = export(basis, options);
            Answer::Export { listing: export::listing(&export.rows), export }
        }
        Question::Environment { collective, scale, configuration, library } => {
            let (configuration, text) = match configuration {
                Some(configuration) => (*configuration, None),
                None => best_single(sweep, *collective, *scale)
                    .map(|(best, text)| (best, Some(text)))
                    .ok_or(QuestionError::NothingToDeploy)?,
            };
            let mut environment = environment(configuration, *library);
            environment.warnings.splice(0..0, text);
            Answer::Environment(environment)
        }
    })
}

fn find(confs: &[(u32, Vec<u8>)], number: u32) -> Result<&[u8], QuestionError> {
    let found = confs.iter().find(|(file, _)| *file == number);
    found.map(|(_, bytes)| bytes.as_slice()).ok_or(QuestionError::NoConf)
}

/// The rules that a reader finds in a loaded tuner file.
///
/// # Errors
/// The file is not loaded.
pub fn rules(confs: &[(u32, Vec<u8>)], number: u32, reader: Reader) -> Result<Vec<Rule>, QuestionError> {
    Ok(read(find(confs, number)?, reader))
}

/// The findings for several readers, one after the other. An empty sweep says nothing.
#[must_use]
pub fn lint_for(bytes: &[u8], readers: &[Reader], platform: impl Into<Platform>, sweep: &Sweep) -> Vec<Finding> {
    let support = Support::new(platform.into().matrix(), sweep);
    let sweep = (!sweep.is_empty()).then_some(sweep);
    readers.iter().flat_map(|reader| lint(bytes, *reader, &support, sweep)).collect()
}
