//! The report of the topology workbench: the schedule and how good it is, its bounds, its links, and files that run it.

use crate::report::{
    Contents, Exhibit, Fact, LoadedFile, Report, Section, Workbench, left_out,
    placement::{Figure, Tab},
    privacy::NameReplacements,
};
use crate::{
    text::{Listing, Problems},
    topology::{
        export::Form,
        listing,
        model::Unit,
        study::{SearchStatus, Shown, Study, StudyError},
    },
    units::{Size, count},
};

/// The input of a report.
pub struct TopologyReportInput<'a> {
    pub study: &'a Study,
    /// The schedule that was found, if any.
    pub shown: Option<&'a Shown>,
    /// Whether the search goes on: it may still find a better schedule, and its time is not over.
    pub is_searching: bool,
    /// The title and the text that are shown if there is no schedule.
    pub nothing: (String, Vec<String>),
    /// The sections that follow the schedule.
    pub more: Vec<Section>,
    pub files: Vec<LoadedFile>,
    /// The same files: what their owner calls them, maybe with a path, and what of them can't be used.
    pub problems: Vec<(&'a str, &'a Problems)>,
}

/// The longest file that goes into a report, in bytes.
const LONGEST: usize = 256 << 10;
// The tabs, by which the page shows the sections.
const LINKS: Tab = Tab::new("links", "Links");
const CRITICAL_PATH: Tab = Tab::new("critical-path", "Critical path");
const UTILISATION: Tab = Tab::new("utilisation", "Utilisation");
pub(super) const ROBUSTNESS: Tab = Tab::new("robustness", "Robustness");
pub(super) const COMPARISON: Tab = Tab::new("comparison", "Comparison");
pub(super) const RUN: Tab = Tab::new("run", "Run it");
pub(super) const MACHINE: Tab = Tab::new("machine", "Machine");
pub(super) const FILES: Tab = Tab::new("files", "Files");

/// The most rows of a table.
const MOST_ROWS: usize = 500;

/// Makes the report. Returns an error if there is no topology.
pub fn report(material: TopologyReportInput<'_>, contents: &Contents) -> Result<Report, StudyError> {
    let TopologyReportInput { study, shown, is_searching, nothing, more, mut files, problems } = material;
    let privacy = NameReplacements::of(contents, &mut files, &problems);
    let mut report = Report {
        workbench: Workbench::Topology,
        program: concat!("collectune ", env!("CARGO_PKG_VERSION")).into(),
        made_on: contents.made_on.clone(),
        files,
        ..Report::default()
    };
    match shown {
        Some(shown) => {
            let (wanted, ..) = study.search()?;
            let time = shown.status.time_ns.map_or_else(String::new, listing::time);
            report.title = format!("{} over {} in {time}", wanted.key(), study.topology()?.name);
            report.summary.clone_from(&shown.sentences);
            report.figures = figures(shown, is_searching);
            report.parameters = parameters(study)?;
            report.sections = found(shown, study.topology()?.unit, contents);
            report.sections.extend(more);
        }
        None => (report.title, report.summary) = nothing,
    }
    if contents.deployables && shown.is_some() {
        let written = [Form::Csv, Form::Mscclpp, Form::Msccl, Form::Topology]
            .into_iter()
            .filter_map(|form| study.export(form).ok());
        let short = written.filter(|file| file.text.len() <= LONGEST);
        let section = Section { title: "Files".into(), files: short.collect(), ..Section::default() };
        report.sections.push(section.on(FILES));
    }
    report.sections.extend(left_out::section(&problems).map(|section| section.on(FILES)));
    privacy.apply(&mut report);
    Ok(report)
}

/// The time of the schedule beside what no schedule can beat.
fn figures(shown: &Shown, is_searching: bool) -> Vec<Figure> {
    let status = &shown.status;
    let Some(time_ns) = status.time_ns else { return Vec::new() };
    let sure = match status {
        SearchStatus { is_optimal: true, .. } => "proven to be the shortest",
        SearchStatus { is_optimal_in_parts: true, .. } => "the shortest of those that reduce before they copy",
        _ if is_searching => "so far: the search goes on",
        _ => "not proven to be the shortest",
    };
    // Where nothing has to be sent, nothing bounds the time.
    let above = (status.bound_ns > 0.0).then(|| format!("{:.1} %", (time_ns / status.bound_ns - 1.0) * 100.0));
    // L4 is for collectives in which not every node wants every chunk.
    let has_load = shown.bounds.rows.iter().any(|row| row[0].text.starts_with("L4"));
    let largest = if has_load { "the largest of L2, L3 and L4" } else { "the larger one of L2 and L3" };
    vec![
        Figure::new("Time", listing::time(time_ns), "of the verified schedule"),
        Figure::new("Lower bound", listing::time(status.bound_ns), largest),
        Figure::new("Above the bound", above.unwrap_or_else(|| "–".to_owned()), sure),
    ]
}

/// The schedule, in the order in which it is read.
fn found(shown: &Shown, unit: Unit, contents: &Contents) -> Vec<Section> {
    let section = |title: &str, id: &str, table: &str, listing: &Listing| {
        let mut listing = listing.clone();
        let more = listing.rows.len().saturating_sub(MOST_ROWS);
        listing.rows.truncate(MOST_ROWS);
        let tables = vec![Exhibit::new(id, table, listing)];
        let text = (more > 0).then(|| format!("{} are left out of this table.", count(more as u64, "row")));
        Section { title: title.into(), text: text.into_iter().collect(), tables, ..Section::default() }
    };
    let mut bounds = section("Bounds", "topology-bounds", "Lower bounds", &shown.bounds);
    bounds.text.push("What no schedule can beat, in the cost model of TACOS: a link carries one chunk at a time and is busy for latency and transfer.".into());
    let mut sections = Vec::new();
    if !shown.links.rows.is_empty() {
        let mut links = shown.links.clone();
        for column in links.columns.iter_mut().filter(|column| column.name == "Bandwidth") {
            column.name = format!("Bandwidth, {}", unit.name()).into();
        }
        sections.push(section("Links", "topology-links", "Every link", &links).on(LINKS));
        let critical = section("Critical path", "topology-critical", "What decides the time", &shown.critical);
        sections.push(critical.on(CRITICAL_PATH));
    }
    sections.push(bounds.on(CRITICAL_PATH));
    let mut charts: Vec<_> = [&shown.utilisation, &shown.progress].into_iter().flatten().cloned().collect();
    charts.retain(|_| contents.charts);
    if !charts.is_empty() {
        sections.push(Section { title: "Utilisation".into(), charts, ..Section::default() }.on(UTILISATION));
    }
    sections
}

fn parameters(study: &Study) -> Result<Vec<Fact>, StudyError> {
    let topology = study.topology()?;
    let (wanted, _, _, seed) = study.search()?;
    let fact = |name: &str, value: String| Fact { name: name.into(), value };
    Ok(vec![
        fact("Topology", topology.name.clone()),
        fact("Nodes", count(u64::from(topology.nodes), "node")),
        fact("Links", count(topology.links.len() as u64, "link")),
        fact("Bandwidths in", topology.unit.name().into()),
        fact("Collective", wanted.words()),
        fact("Chunk", Size(wanted.chunk_bytes).to_string()),
        fact("Seed", seed.to_string()),
    ])
}
