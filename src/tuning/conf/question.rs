//! The questions of the page about tuner files, and the answers.

use serde::{Deserialize, Serialize};

use super::{
    environment::{Environment, best_single, environment},
    expect::Predict,
    export::{self, ConfExport, export},
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
        platform::{Library, Platform},
        support::SupportMatrix,
        sweep::Sweep,
    },
};

/// A question about tuner files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ConfQuestion {
    /// Asks for the findings on a loaded tuner file; answered by [`ConfAnswer::Lint`].
    Lint {
        /// The number of the file, as the page numbers the loaded files.
        file: u32,
        /// For whom; empty: for all readers.
        readers: Vec<Reader>,
        /// The library with which the file is deployed; it decides what can run.
        library: Library,
    },
    /// Asks for the choices of a loaded tuner file; answered by [`ConfAnswer::Overlay`].
    Overlay {
        /// The number of the file, as the page numbers the loaded files.
        file: u32,
        /// The tuner reader that reads the file.
        reader: Reader,
        /// The library with which the file is deployed; it decides what can run.
        library: Library,
    },
    /// Writes tuner files from what is to be deployed. Answers [`ConfAnswer::Export`].
    Export(export::ExportOptions),
    /// One configuration for a whole job. Answers [`ConfAnswer::Environment`].
    Environment {
        /// The collective whose best single configuration is wanted.
        collective: Collective,
        /// Nodes and ranks of the job.
        scale: Scale,
        /// The configuration; `None`: the one that serves all measured sizes best.
        configuration: Option<Configuration>,
        /// The library with which the file is deployed; it decides what can run.
        library: Library,
    },
}

/// The answer to a [`ConfQuestion`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ConfAnswer {
    /// The answer to [`ConfQuestion::Lint`].
    Lint {
        /// The findings, by reader, then line.
        findings: Vec<Finding>,
        /// The findings as a table.
        listing: Listing,
        /// How many there are, in words.
        summary: String,
    },
    /// The answer to [`ConfQuestion::Overlay`].
    Overlay {
        /// A row for each measured size.
        listing: Listing,
        /// The result in a sentence.
        summary: String,
        /// A chart for each collective and scale; the workload is one of it.
        charts: Vec<(Workload, Chart)>,
    },
    /// The answer to [`ConfQuestion::Export`].
    Export {
        /// The files and what must be known.
        export: ConfExport,
        /// The effects of the written rules with this reader, as a table.
        listing: Listing,
    },
    /// The answer to [`ConfQuestion::Environment`].
    Environment(Environment),
}

/// The largest number of findings that are sent to the page.
const MAX_SHOWN: usize = 5000;

/// Why a question has no answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfQuestionError {
    /// The file is no tuner file, or not loaded.
    #[error("this tuner file is not loaded any more; give it again")]
    NoConf,
    /// There is no recommendation that a file could be written from.
    #[error("there is nothing to deploy yet: a sweep is needed first")]
    NothingToDeploy,
}

/// Answers a question. `confs` are the loaded tuner files by their numbers.
///
/// # Errors
/// The file is not loaded, or nothing was measured.
pub fn answer(
    question: &ConfQuestion,
    confs: &[(u32, Vec<u8>)],
    basis: &export::ExportInput<'_>,
    predict: Option<Predict<'_>>,
) -> Result<ConfAnswer, ConfQuestionError> {
    let conf = |number| find(confs, number);
    let sweep: &Sweep = basis.sweep;
    Ok(match question {
        ConfQuestion::Lint { file, readers, library } => {
            let readers = if readers.is_empty() { Reader::ALL } else { readers };
            let mut findings = lint_for(conf(*file)?, readers, *library, sweep);
            let mut summary = lint::summary(&findings);
            if findings.len() > MAX_SHOWN {
                findings.truncate(MAX_SHOWN);
                summary += &format!("; the first {MAX_SHOWN} are shown");
            }
            ConfAnswer::Lint { listing: lint::listing(&findings), summary, findings }
        }
        ConfQuestion::Overlay { file, reader, library } => {
            let rules = rules(confs, *file, *reader)?;
            let support = SupportMatrix::new(library.matrix(), sweep);
            let places = overlay(&rules, *reader, &support, sweep, predict);
            let key = |workload: &Workload| (workload.collective, workload.scale);
            let charts = places
                .chunk_by(|a, b| key(&a.workload) == key(&b.workload))
                .map(|of| {
                    let workload = of[0].workload;
                    (workload, overlay::chart(of, workload.collective, workload.scale, *reader))
                })
                .collect();
            ConfAnswer::Overlay { listing: overlay::listing(&places), summary: overlay::summary(&places), charts }
        }
        ConfQuestion::Export(options) => {
            if basis.recommendations.is_empty() {
                return Err(ConfQuestionError::NothingToDeploy);
            }
            let export = export(basis, options);
            ConfAnswer::Export { listing: export::listing(&export.rows), export }
        }
        ConfQuestion::Environment { collective, scale, configuration, library } => {
            let (configuration, text) = match configuration {
                Some(configuration) => (*configuration, None),
                None => best_single(sweep, *collective, *scale)
                    .map(|(best, text)| (best, Some(text)))
                    .ok_or(ConfQuestionError::NothingToDeploy)?,
            };
            let mut environment = environment(configuration, *library);
            environment.warnings.splice(0..0, text);
            ConfAnswer::Environment(environment)
        }
    })
}

fn find(confs: &[(u32, Vec<u8>)], number: u32) -> Result<&[u8], ConfQuestionError> {
    let found = confs.iter().find(|(file, _)| *file == number);
    found.map(|(_, bytes)| bytes.as_slice()).ok_or(ConfQuestionError::NoConf)
}

/// The rules that a reader finds in a loaded tuner file.
///
/// # Errors
/// The file is not loaded.
pub fn rules(confs: &[(u32, Vec<u8>)], number: u32, reader: Reader) -> Result<Vec<Rule>, ConfQuestionError> {
    Ok(read(find(confs, number)?, reader))
}

/// The findings for several readers, one after the other. An empty sweep says nothing.
#[must_use]
pub fn lint_for(bytes: &[u8], readers: &[Reader], platform: impl Into<Platform>, sweep: &Sweep) -> Vec<Finding> {
    let support = SupportMatrix::new(platform.into().matrix(), sweep);
    let sweep = (!sweep.is_empty()).then_some(sweep);
    readers.iter().flat_map(|reader| lint(bytes, *reader, &support, sweep)).collect()
}
