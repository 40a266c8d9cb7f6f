//! The report: what a workbench found, in one form that travels, whatever the workbench is.
//!
//! A [`Report`] is complete without the data: what was loaded and left out, the parameters and the seed, and
//! [`Section`]s of text, tables, charts and files to deploy. Everything that shows a report (the page, a
//! self-contained HTML file, Markdown, the terminal) shows sections, and knows no workbench. The module
//! `report` in the folder of a workbench fills one.

pub mod annotations;
pub mod html;
pub(crate) mod left_out;
pub mod link;
pub mod markdown;
pub mod open;
pub mod placement;
pub(crate) mod privacy;
pub mod snapshot;
pub mod wire;
mod write;

use serde::{Deserialize, Serialize};

pub use self::write::{Links, ReportFormat, WriteOptions, Written, file_stem, write};
use self::{
    placement::{Figure, Placement, RowMark, Tab},
    snapshot::Snapshot,
};
use crate::{
    form::{self, Group, RowChoice},
    plot::{self, Chart, ChartTable, FileLine},
    text::{Column, Entry, Listing},
};

/// A workbench, which makes reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workbench {
    /// From sweeps to algorithm, protocol and channels.
    #[default]
    Tuning,
    /// From reward logs to a tuner policy.
    Policy,
    /// From samples to the time of a training step.
    TrainingTime,
    /// From a link graph to a schedule of a collective.
    Topology,
    /// From kernel metrics to the slowdown of overlapped kernels.
    Overlap,
}

impl Workbench {
    /// All workbenches, in their order on the page.
    pub const ALL: &[Self] = &[Self::Tuning, Self::Policy, Self::TrainingTime, Self::Topology, Self::Overlap];

    /// The name on its tab.
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
    pub fn of(fragment: &str) -> Self {
        let fragment = form::restored(fragment);
        let key = form::value(&fragment, "w");
        Self::ALL.iter().copied().find(|workbench| Some(workbench.key()) == key).unwrap_or_default()
    }

    /// The address fragment that opens it.
    pub fn fragment(self) -> String {
        format!("#v=1&w={}", self.key())
    }

    /// The keyword in files and links.
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

/// A report: the results of a workbench in a form that all outputs share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The workbench that made it.
    pub workbench: Workbench,
    /// The subject, in one line.
    pub title: String,
    /// The answer in a few sentences, to be read first.
    pub summary: Vec<String>,
    /// The program with its version, such as `collectune 0.1.0`.
    pub program: String,
    /// The date of the report, such as `2026-11-22`, if the maker includes it.
    pub made_on: Option<String>,
    /// The files that were loaded.
    pub files: Vec<LoadedFile>,
    /// The parameters of the computation, including the seed.
    pub parameters: Vec<Fact>,
    /// The sections, in reading order.
    pub sections: Vec<Section>,
    /// The measurements that a comparison with a later state needs.
    pub snapshot: Option<Snapshot>,
    /// At most four figures of the answer, which the page that made it shows beside the summary; they do not travel.
    pub figures: Vec<Figure>,
    /// How many sentences of the summary that page shows at once, the others on demand: the answer, and what makes it
    /// doubtful; 0 as 1. It does not travel.
    pub in_view: usize,
}

impl Report {
    /// How many sentences of the summary are shown at once. Where there are no figures there is no answer, and all of
    /// them say why.
    pub fn sentences_in_view(&self) -> usize {
        if self.figures.is_empty() { self.summary.len() } else { self.in_view.max(1) }
    }

    /// Adds sentences to the summary that make the answer another one than was asked for.
    pub fn say_in_view(&mut self, told: Vec<String>) {
        let at = self.sentences_in_view().min(self.summary.len());
        self.in_view = at + told.len();
        self.summary.splice(at..at, told);
    }
}

/// A file from which a report was made. Never includes a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedFile {
    /// The name, if the user lets it travel.
    pub name: Option<String>,
    /// A description of the format, such as `rccl-sweep CSV, medians with spread`.
    pub format: String,
    /// A description of the contents, such as `4,609 rows`.
    pub holds: String,
    /// The number of lines that were left out.
    pub left_out: u64,
}

/// A table of the loaded files.
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

/// A name with a value, both as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What the value is, as a table's row is headed.
    pub name: String,
    /// The value, with its unit.
    pub value: String,
}

/// A section of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// The heading, by which the page's tabs name it.
    pub title: String,
    /// The paragraphs in reading order, without markup.
    pub text: Vec<String>,
    /// The charts, in the order in which they are drawn.
    pub charts: Vec<Chart>,
    /// The tables, in reading order.
    pub tables: Vec<Exhibit>,
    /// Files to deploy or to run.
    pub files: Vec<TextFile>,
    /// The group of fields that stand in it, on the page that made it; this does not travel.
    pub form: Option<Group>,
    /// What only the page shows of it; this does not travel.
    pub placement: Placement,
}

impl Section {
    /// A section for the fields of a group, under its title.
    pub fn with_form(group: impl Into<Group>) -> Self {
        let group = group.into();
        Self { title: group.title.clone().into_owned(), form: Some(group), ..Self::default() }
    }

    /// The same, its first chart drawn beside the answer.
    #[must_use]
    pub const fn as_picture(mut self) -> Self {
        self.placement.is_picture = true;
        self
    }

    /// The same on this tab.
    #[must_use]
    pub fn on(mut self, tab: Tab) -> Self {
        self.placement.tab = Some(tab);
        self
    }
}

/// A table with a title.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Exhibit {
    /// A name that stays the same between versions of the data: file name of exports.
    pub id: String,
    /// The title, which says what the table shows.
    pub title: String,
    /// The table as data, which the page can sort and filter.
    pub listing: Listing,
    /// Its rows are choices, where the report was made on this page; this does not travel.
    pub choose: Option<RowChoice>,
    /// The marks of its rows on the page that it was made on, none for none; they do not travel.
    pub marks: Vec<RowMark>,
    /// The line of a loaded file that shows each row, none for none; on the page that it was made on, a row opens it.
    /// They do not travel.
    pub lines: Vec<Option<FileLine>>,
}

impl Exhibit {
    /// A table whose rows can't be chosen.
    pub fn new(id: impl Into<String>, title: impl Into<String>, listing: Listing) -> Self {
        Self { id: id.into(), title: title.into(), listing, choose: None, marks: Vec::new(), lines: Vec::new() }
    }

    /// The numbers behind a chart, a row for each point.
    pub fn of_chart(chart: &Chart) -> Self {
        let ChartTable { headers, numeric, rows, numbers } = plot::table(chart);
        let column = |(name, is_numeric): (String, bool)| Column {
            name: name.into(),
            meaning: "".into(),
            is_numeric,
            is_secondary: false,
        };
        let row = |(texts, numbers): (Vec<String>, Vec<Option<f64>>)| {
            texts.into_iter().zip(numbers).map(|(text, number)| Entry { text, number }).collect()
        };
        let columns = headers.into_iter().zip(numeric).map(column).collect();
        let listing = Listing { columns, rows: rows.into_iter().zip(numbers).map(row).collect() };
        Self::new(&*chart.id, format!("Data of {}", chart.title), listing)
    }
}

/// A text file within a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextFile {
    /// The suggested file name, without a path.
    pub name: String,
    /// The contents of the file in UTF-8.
    pub text: String,
    /// A sentence that says what the file is for and how it is deployed.
    pub note: String,
}

/// The parts that a report includes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// The workbench whose results are reported.
    pub workbench: Workbench,
    /// Whether names of loaded files are included.
    pub file_names: bool,
    /// Whether the charts of its sections are included.
    pub charts: bool,
    /// Whether files to deploy are included.
    pub deployables: bool,
    /// Whether every measured configuration is included, for a comparison with a later sweep.
    pub measurements: bool,
    /// The date of the report.
    pub made_on: Option<String>,
}

impl Contents {
    /// Everything that a file can hold.
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
