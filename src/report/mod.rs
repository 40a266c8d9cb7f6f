//! The report: what a workbench found, in one form that travels, whatever the workbench is.
//!
//! A [`Report`] is complete without the data: what was loaded and left out, the parameters and the seed, and
//! [`Section`]s of text, tables, charts and files to deploy. Everything that shows a report (the page, a
//! self-contained HTML file, Markdown, the terminal) shows sections, and knows no workbench. [`tuning`] fills one from
//! the tuning workbench, [`overlap`] from the overlap workbench; others get a module beside them.

pub mod html;
mod left_out;
pub mod link;
pub mod markdown;
pub mod open;
pub mod overlap;
pub mod policy;
mod privacy;
pub mod topology;
pub mod training_time;
pub mod tuning;
pub mod wire;
mod write;

use serde::{Deserialize, Serialize};

pub use self::write::{Form, Written, file_stem, write};
use crate::{
    form::{self, RowChoice},
    plot::Chart,
    text::{Column, Entry, Listing},
    tuning::snapshot::Snapshot,
};

/// What made a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workbench {
    /// From a sweep to algorithm, protocol and channels.
    #[default]
    Tuning,
    /// From reward logs to a tuner policy.
    Policy,
    /// From samples to the time of a training step.
    TrainingTime,
    /// From a link graph to a collective.
    Topology,
    /// From kernel metrics to the slowdown of overlapped kernels.
    Overlap,
}

impl Workbench {
    /// All of them, in their order on the page.
    pub const ALL: &[Self] = &[Self::Tuning, Self::Policy, Self::TrainingTime, Self::Topology, Self::Overlap];

    /// The name on its tab.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tuning => "Tuning",
            Self::Policy => "Policy",
            Self::TrainingTime => "Training time",
            Self::Topology => "Topology",
            Self::Overlap => "Overlap",
        }
    }

    /// The workbench that a fragment names (`w=`), [`Workbench::Tuning`] where it names none.
    ///
    /// ```
    /// use collectune::report::Workbench;
    /// assert_eq!(Workbench::of("#v=1&w=overlap"), Workbench::Overlap);
    /// assert_eq!(Workbench::of("#v%3D1%26w%3Doverlap"), Workbench::Overlap);
    /// assert_eq!(Workbench::of("#v=1&w=attic"), Workbench::Tuning);
    /// ```
    #[must_use]
    pub fn of(fragment: &str) -> Self {
        let fragment = form::restored(fragment);
        let key = form::value(&fragment, "w");
        Self::ALL.iter().copied().find(|workbench| Some(workbench.key()) == key).unwrap_or_default()
    }

    /// The fragment that leads to it.
    #[must_use]
    pub fn fragment(self) -> String {
        format!("#v=1&w={}", self.key())
    }

    /// Its word in files and links.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Tuning => "tuning",
            Self::Policy => "policy",
            Self::TrainingTime => "training-time",
            Self::Topology => "topology",
            Self::Overlap => "overlap",
        }
    }
}

/// What a workbench found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What made it.
    pub workbench: Workbench,
    /// One line: what it is about.
    pub title: String,
    /// The answer in a few sentences, to be read first.
    pub summary: Vec<String>,
    /// The program and version that made it: `collectune 0.1.0`.
    pub program: String,
    /// The day on which it was made, `2026-11-22`, where the maker says so.
    pub made_on: Option<String>,
    /// What was loaded.
    pub files: Vec<LoadedFile>,
    /// What it was computed with, the seed included, in words.
    pub parameters: Vec<Fact>,
    /// What was found, in the order in which it is read.
    pub sections: Vec<Section>,
    /// What a comparison with a later state needs of a sweep.
    pub snapshot: Option<Snapshot>,
}

/// A file that a report stands on. Never a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedFile {
    /// Its name, where its owner lets it travel.
    pub name: Option<String>,
    /// What it is: `rccl-sweep CSV, medians with spread`.
    pub format: String,
    /// What is in it: `4,609 rows`.
    pub holds: String,
    /// Lines that were left out.
    pub left_out: u64,
}

/// The loaded files as a table.
fn loaded(files: &[LoadedFile]) -> Listing {
    const COLUMNS: [Column; 4] = [
        Column::words("File", "its name, where it may travel"),
        Column::words("Format", "what it is"),
        Column::words("Holds", "what is in it"),
        Column::numbers("Left out", "lines that can't be used"),
    ];
    let row = |file: &LoadedFile| {
        vec![
            Entry::text(file.name.as_deref().unwrap_or("(not named)")),
            Entry::text(&*file.format),
            Entry::text(&*file.holds),
            Entry::number(Some(file.left_out as f64), |lines| format!("{lines}")),
        ]
    };
    Listing { columns: COLUMNS.to_vec(), rows: files.iter().map(row).collect() }
}

/// Something with a name and a value, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// Its value, with the unit.
    pub value: String,
}

/// A part of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Sentences, a paragraph each.
    pub text: Vec<String>,
    /// Charts.
    pub charts: Vec<Chart>,
    /// Tables.
    pub tables: Vec<Exhibit>,
    /// Files to deploy or to run.
    pub files: Vec<TextFile>,
}

/// A table with a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Exhibit {
    /// A name that stays the same between versions of the data: file name of exports.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The table.
    pub listing: Listing,
    /// Its rows are choices, where the report was made on this page; this does not travel.
    pub choose: Option<RowChoice>,
}

impl Exhibit {
    /// A table that is only looked at.
    #[must_use]
    pub fn new(id: impl Into<String>, title: impl Into<String>, listing: Listing) -> Self {
        Self { id: id.into(), title: title.into(), listing, choose: None }
    }
}

/// A file of text that travels inside a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextFile {
    /// The name to offer; no path.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What it is for and how it is deployed, in a sentence.
    pub note: String,
}

/// What goes into a report besides the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// Whose answer.
    pub workbench: Workbench,
    /// Names of the loaded files.
    pub file_names: bool,
    /// Charts.
    pub charts: bool,
    /// Files to deploy.
    pub deployables: bool,
    /// What a comparison with a later sweep needs beyond the answer: every measured configuration.
    pub measurements: bool,
    /// The day to put on it.
    pub made_on: Option<String>,
}

impl Contents {
    /// What a file holds.
    #[must_use]
    pub const fn whole() -> Self {
        Self {
            workbench: Workbench::Tuning,
            file_names: true,
            charts: true,
            deployables: true,
            measurements: true,
            made_on: None,
        }
    }
}

impl Default for Contents {
    fn default() -> Self {
        Self::whole()
    }
}
