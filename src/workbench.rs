//! The contract between a workbench and the page: choices in, a form and a report out, jobs that any worker can do in
//! between. The page draws any workbench by it.
//!
//! A [`Study`] holds what was loaded for a workbench, and what came out of it. The page sends
//! [`WorkbenchQuestion::Choose`], shows what comes back, has the [`Jobs`] done by other workers, gives the results in
//! with [`WorkbenchQuestion::Take`], and shows what comes back then, until nothing is left to do. A search that one
//! worker does alone is continued by [`WorkbenchQuestion::GoOn`].
//!
//! [`registry`](crate::registry) lists the workbenches.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    collective::Collective,
    command::Commands,
    form::{ChoiceError, Choices, Field},
    plot::Chart,
    progress::Progress,
    report::{Contents, Exhibit, LoadedFile, Report, Section, TextFile},
    text::Problems,
};

/// The reason why a question can't be answered. Messages are shown to users.
#[derive(Debug, thiserror::Error)]
pub enum WorkbenchError {
    /// A choice is not valid.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The workbench can't answer; the error is its own.
    #[error(transparent)]
    Study(Box<dyn std::error::Error + Send + Sync>),
    /// The workbench has no jobs.
    #[error("this workbench has no jobs")]
    NoJobs,
    /// There is no file with this key.
    #[error("there is no file {0:?} to save")]
    NoFile(String),
    /// There is no more of an attachment than was given.
    #[error("there is nothing more to show")]
    NoDetail,
    /// A message comes from another build.
    #[error("the parts of this page are of different builds; reload it")]
    Message(#[from] postcard::Error),
}

/// A question to a workbench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WorkbenchQuestion {
    /// Studies what is loaded by these choices; what was computed before and still holds is kept. Answered by
    /// [`WorkbenchAnswer::Shown`].
    Choose(Choices),
    /// Carries out some of [`Jobs::rounds`], on any worker. Answered by [`WorkbenchAnswer::Done`].
    Do {
        /// The data from [`Jobs::basis`].
        basis: Vec<u8>,
        /// The numbers of the jobs.
        jobs: Vec<u32>,
    },
    /// Adopts the results of jobs, in any order. Answered by [`WorkbenchAnswer::Shown`].
    Take(Vec<Vec<u8>>),
    /// Works on for a moment, where [`Jobs::goes_on`]; the moment before took so many ms, 0 where there was none.
    /// Answered by [`WorkbenchAnswer::Shown`].
    GoOn(u32),
    /// The file with this key. Answered by [`WorkbenchAnswer::File`].
    Save(String),
    /// More of an attachment, which [`Study::detail`] gives for a request of the attachment's kind. Answered by
    /// [`WorkbenchAnswer::Detail`].
    Detail(Attachment),
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WorkbenchAnswer {
    /// The answer to [`WorkbenchQuestion::Choose`], [`WorkbenchQuestion::Take`] and [`WorkbenchQuestion::GoOn`].
    Shown(Box<WorkbenchView>),
    /// The same, where the page holds what was shown last.
    Changed(Box<ViewChange>),
    /// The answer to [`WorkbenchQuestion::Do`], to be passed to [`WorkbenchQuestion::Take`] unchanged.
    Done(Vec<u8>),
    /// The answer to [`WorkbenchQuestion::Save`].
    File(TextFile),
    /// The answer to [`WorkbenchQuestion::Detail`].
    Detail(Attachment),
}

/// Everything that the page shows of a workbench.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkbenchView {
    /// The fields of the form.
    pub form: Vec<Field>,
    /// The files that can be saved: key and label.
    pub files: Vec<(String, String)>,
    /// The report on the results so far.
    pub report: Report,
    /// The remaining jobs.
    pub jobs: Jobs,
    /// What the page draws or uses beside the report: of each kind at most one.
    pub attachments: Vec<Attachment>,
}

/// What differs between the view that was sent last and the next one. Attachments hold only what is new of themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ViewChange {
    form: Vec<Part<Field>>,
    files: Vec<(String, String)>,
    /// The report without its sections.
    report: Report,
    sections: Vec<Part<SectionChange>>,
    /// The remaining jobs.
    pub jobs: Jobs,
    attachments: Vec<Attachment>,
}

/// A section without its charts and tables, and what differs in those.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SectionChange {
    section: Section,
    charts: Vec<Part<Chart>>,
    tables: Vec<Part<Exhibit>>,
}

/// An item of a list after a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Part<T> {
    /// The item that was at this place before.
    Kept(u32),
    /// Another item.
    New(T),
}

/// The parts of a list: of items that were there before, their places.
fn parts<T: PartialEq, U>(before: &[&T], after: &[T], new: impl Fn(&T) -> U) -> Vec<Part<U>> {
    let place = |item: &T| before.iter().position(|of| *of == item);
    after.iter().map(|item| place(item).map_or_else(|| Part::New(new(item)), |at| Part::Kept(at as u32))).collect()
}

/// The list of these parts.
fn joined<T: Clone, U>(before: &[&T], parts: Vec<Part<U>>, new: impl Fn(U) -> T) -> Vec<T> {
    let item = |part| match part {
        Part::Kept(place) => before.get(place as usize).map(|item| (*item).clone()),
        Part::New(item) => Some(new(item)),
    };
    parts.into_iter().filter_map(item).collect()
}

/// The fields, sections, charts and tables of a view.
fn items(view: &WorkbenchView) -> (Vec<&Field>, Vec<&Section>, Vec<&Chart>, Vec<&Exhibit>) {
    let sections = &view.report.sections;
    let charts = sections.iter().flat_map(|section| &section.charts);
    let tables = sections.iter().flat_map(|section| &section.tables);
    (view.form.iter().collect(), sections.iter().collect(), charts.collect(), tables.collect())
}

impl ViewChange {
    /// What `after` changes in `before`.
    pub fn new(before: &WorkbenchView, after: &WorkbenchView) -> Self {
        let (fields, sections, charts, tables) = items(before);
        let WorkbenchView { form, files, report, jobs, attachments } = after;
        let section = |section: &Section| {
            let Section { title, text, charts: drawn, tables: listed, files, form, placement } = section;
            SectionChange {
                charts: parts(&charts, drawn, Clone::clone),
                tables: parts(&tables, listed, Clone::clone),
                section: Section {
                    title: title.clone(),
                    text: text.clone(),
                    charts: Vec::new(),
                    tables: Vec::new(),
                    files: files.clone(),
                    form: form.clone(),
                    placement: placement.clone(),
                },
            }
        };
        Self {
            form: parts(&fields, form, Clone::clone),
            files: files.clone(),
            sections: parts(&sections, &report.sections, section),
            report: Report {
                workbench: report.workbench,
                title: report.title.clone(),
                summary: report.summary.clone(),
                program: report.program.clone(),
                made_on: report.made_on.clone(),
                files: report.files.clone(),
                parameters: report.parameters.clone(),
                sections: Vec::new(),
                snapshot: report.snapshot.clone(),
                figures: report.figures.clone(),
                in_view: report.in_view,
            },
            jobs: jobs.clone(),
            attachments: attachments.clone(),
        }
    }

    /// The view after the change.
    pub fn apply(self, before: &WorkbenchView) -> WorkbenchView {
        let (fields, sections, charts, tables) = items(before);
        let section = |of: SectionChange| Section {
            charts: joined(&charts, of.charts, |chart| chart),
            tables: joined(&tables, of.tables, |table| table),
            ..of.section
        };
        WorkbenchView {
            form: joined(&fields, self.form, |field| field),
            files: self.files,
            report: Report { sections: joined(&sections, self.sections, section), ..self.report },
            jobs: self.jobs,
            attachments: self.attachments,
        }
    }
}

impl WorkbenchView {
    /// The content of the attachment of a kind; `None` where there is none, or it comes from another build.
    pub fn attachment<T: DeserializeOwned>(&self, kind: AttachmentKind) -> Option<T> {
        self.attachments.iter().find(|attachment| attachment.kind == kind)?.read().ok()
    }
}

/// What the content of an [`Attachment`] is, and so what type it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttachmentKind {
    /// A link graph with schedules on it: [`Network`](crate::topology::network::Network). A detail is asked for by a
    /// [`CutRequest`](crate::topology::network::CutRequest) and is a timeline for each of the network's that is cut.
    Network,
    /// Series that mark points of the chart of busbw over size, of a workload: `(Workload, Vec<Series>)`.
    Marks,
    /// What to deploy at each measured workload: [`Recommended`](crate::tuning::result::Recommended).
    Recommendations,
    /// The charts of a workload: [`View`](crate::tuning::result::View).
    Charts,
    /// The factor by which a kernel is slower at the same time as collectives, for another workbench: an `f64`.
    Slowdown,
    /// The command lines that give the answer in a terminal, and what of it they leave out: `(String, Vec<String>)`.
    Commands,
}

impl AttachmentKind {
    /// Whether the page keeps it until another is given: what does not change is not given again.
    pub const fn is_kept(self) -> bool {
        matches!(self, Self::Network | Self::Recommendations | Self::Charts)
    }
}

/// What one workbench passes to another, which [`registry`](crate::registry) names.
#[derive(Clone, Debug, PartialEq)]
pub enum PassedValue {
    /// The factor by which kernels are slower at the same time as collectives.
    Slowdown(f64),
    /// The times of a collective.
    Curve(TimeCurve),
}

/// The times of a collective between some GPUs, by size.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeCurve {
    /// The collective.
    pub collective: Collective,
    /// The number of nodes.
    pub nodes: u32,
    /// The number of GPUs of a node.
    pub per_node: u32,
    /// Bytes that a rank gives, and µs.
    pub points: Vec<(u64, f64)>,
}

/// A part of an answer that is neither form nor report, which any workbench may give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// What it is.
    pub kind: AttachmentKind,
    /// The value in postcard's format.
    content: Vec<u8>,
}

impl Attachment {
    /// An attachment with this content.
    ///
    /// # Errors
    /// Returns an error if it can't be written.
    pub fn new(kind: AttachmentKind, content: &impl Serialize) -> Result<Self, postcard::Error> {
        Ok(Self { kind, content: postcard::to_allocvec(content)? })
    }

    /// The content.
    ///
    /// # Errors
    /// Returns an error if it is of another type, or of another build.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, postcard::Error> {
        postcard::from_bytes(&self.content)
    }
}

/// Jobs that any worker can carry out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Jobs {
    /// The data that the jobs need.
    pub basis: Vec<u8>,
    /// Rounds of jobs, after each of which there is more to be told: numbers, and how long each takes relative to the
    /// others.
    pub rounds: Vec<Vec<(u32, f64)>>,
    /// Nothing that was done for earlier choices holds any more.
    pub is_anew: bool,
    /// The study itself can find something better by [`WorkbenchQuestion::GoOn`]: each takes a moment (a tenth of a
    /// second, or so), so that a search is left by asking no more, and nothing that was found is lost.
    pub goes_on: bool,
    /// The next of these moments is as long as a training: it can only be left by ending the worker.
    pub is_long: bool,
    /// Loaded files that the answer needs by themselves: whoever has them gives them, and asks again.
    pub files: Vec<u32>,
}

/// The loaded files for use in a report.
#[derive(Clone, Debug, Default)]
pub struct ReportContext<'a> {
    /// The entries of the loaded files.
    pub files: Vec<LoadedFile>,
    /// The same files: what their owner calls them, maybe with a path, and what of them can't be used.
    pub problems: Vec<(&'a str, &'a Problems)>,
}

/// A workbench: loaded files, settings and results behind a protocol of choices, jobs and reports.
pub trait Study {
    /// Studies by these choices; what was computed before and still holds is kept.
    ///
    /// # Errors
    /// Returns an error if a choice is not valid, or if nothing was loaded.
    fn choose(&mut self, choices: Choices, progress: &mut dyn Progress) -> Result<(), WorkbenchError>;

    /// Takes in what a worker did.
    ///
    /// # Errors
    /// Returns an error if it comes from another build, or can't be used.
    fn take(&mut self, done: &[u8], progress: &mut dyn Progress) -> Result<(), WorkbenchError>;

    /// Draws conclusions from what was taken in: once, however much it was.
    ///
    /// # Errors
    /// Returns an error if nothing is there to study.
    fn conclude(&mut self, _: &mut dyn Progress) -> Result<(), WorkbenchError> {
        Ok(())
    }

    /// Searches on for a moment, where [`Jobs::goes_on`]. Nothing here has a clock: `last_ms` is how long the moment
    /// before took, 0 where there was none.
    ///
    /// # Errors
    /// Returns an error if nothing is there to study.
    fn go_on(&mut self, _last_ms: u32, _: &mut dyn Progress) -> Result<(), WorkbenchError> {
        Ok(())
    }

    /// The choices that [`Study::choose`] was given last; what is not among them is as usual.
    fn choices(&self) -> &Choices;

    /// The commands that give the last answer by options of their own, where there are some, on files with these names.
    /// Of the choices, `changed` are those that are not usual, each of which is a field of the `form` or has none.
    fn commands(&self, _files: &[String], _changed: &Choices, _form: &[Field]) -> Option<Commands> {
        None
    }

    /// The fields of the form with their current values.
    ///
    /// # Errors
    /// Returns an error if nothing was loaded.
    fn form(&self) -> Result<Vec<Field>, WorkbenchError>;

    /// The files that can be saved: key and label.
    fn files(&self) -> Vec<(String, String)>;

    /// One of these files.
    ///
    /// # Errors
    /// Returns an error if there is no such file, or it can't be made.
    fn file(&self, key: &str, progress: &mut dyn Progress) -> Result<TextFile, WorkbenchError>;

    /// The remaining jobs.
    ///
    /// # Errors
    /// Returns an error if nothing was loaded.
    fn jobs(&self) -> Result<Jobs, WorkbenchError>;

    /// What is drawn or used beside the report. What is large is given only where it changed since this was asked last.
    ///
    /// # Errors
    /// Returns an error if an attachment can't be written.
    fn attachments(&mut self) -> Result<Vec<Attachment>, WorkbenchError> {
        Ok(Vec::new())
    }

    /// More of an attachment, for a request of the same kind.
    ///
    /// # Errors
    /// Returns [`WorkbenchError::NoDetail`] where there is no more of this kind, or an error if the request comes from
    /// another build.
    fn detail(&self, _: &Attachment) -> Result<Attachment, WorkbenchError> {
        Err(WorkbenchError::NoDetail)
    }

    /// The part of the report that the page shows by the choices; as long as a workbench has no panels, all of it.
    ///
    /// # Errors
    /// Returns an error if nothing was loaded.
    fn shown(&self, material: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError> {
        self.report(material, contents)
    }

    /// The report on the results so far.
    ///
    /// # Errors
    /// Returns an error if nothing was loaded.
    fn report(&self, material: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError>;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{form::Control, plot::Axis, report::placement::Placement, text::Listing};

    /// A view of few different parts, so that two of them have many in common.
    fn view() -> impl Strategy<Value = WorkbenchView> {
        let section = (0_u8..3, proptest::collection::vec(0_u8..4, 0..3), proptest::collection::vec(0_u8..4, 0..3));
        let sections = proptest::collection::vec(section, 0..5);
        (proptest::collection::vec((0_u8..6, 0_u8..2), 0..6), sections, 0_u8..3).prop_map(
            |(fields, sections, title)| {
                let field = |(key, value): (u8, u8)| Field {
                    value: value.to_string(),
                    ..Field::new(&key.to_string(), "A field", Control::Number)
                };
                let axis = || Axis::of_names("", Vec::new());
                let chart = |id: &u8| Chart {
                    id: id.to_string(),
                    title: String::new(),
                    summary: String::new(),
                    x: axis(),
                    y: axis(),
                    series: Vec::new(),
                };
                let section = |(title, charts, tables): (u8, Vec<u8>, Vec<u8>)| Section {
                    title: title.to_string(),
                    charts: charts.iter().map(chart).collect(),
                    tables: tables
                        .iter()
                        .map(|id| Exhibit::new(id.to_string(), "A table", Listing::default()))
                        .collect(),
                    placement: Placement { lead: format!("{} charts", charts.len()), ..Placement::default() },
                    ..Section::default()
                };
                let sections = sections.into_iter().map(section).collect();
                let report = Report { title: title.to_string(), sections, ..Report::default() };
                WorkbenchView { form: fields.into_iter().map(field).collect(), report, ..WorkbenchView::default() }
            },
        )
    }

    proptest! {
        #[test]
        fn a_view_is_what_was_sent_before_and_what_changed(before in view(), after in view()) {
            let change = ViewChange::new(&before, &after);
            prop_assert_eq!(ViewChange::new(&after, &after).apply(&after), after.clone());
            prop_assert_eq!(change.apply(&before), after);
        }
    }
}
