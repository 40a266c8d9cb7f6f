//! The report of the topology workbench: the schedule and how good it is, its bounds, its links, and files that run it.

use super::{Contents, Exhibit, Fact, LoadedFile, Report, Section, TextFile, Workbench, left_out, privacy::Names};
use crate::{
    text::{Listing, Problems},
    topology::{
        export::Form,
        listing,
        study::{Study, StudyError},
    },
    units::{Size, count},
};

/// What a report is made of.
pub struct Material<'a> {
    /// The links, and what was found.
    pub study: &'a Study,
    /// What was loaded, and what was left out.
    pub files: Vec<LoadedFile>,
    /// The same files: what their owner calls them, maybe with a path, and what of them can't be used.
    pub problems: Vec<(&'a str, &'a Problems)>,
}

/// The longest file that goes into a report, in bytes.
const LONGEST: usize = 2 << 20;
/// The most rows of a table.
const MOST_ROWS: usize = 500;

/// Makes the report.
///
/// # Errors
/// There is no schedule.
pub fn report(material: Material<'_>, contents: &Contents) -> Result<Report, StudyError> {
    let Material { study, mut files, problems } = material;
    let topology = study.topology()?;
    let (wanted, _, _, seed) = study.search()?;
    let shown = study.show()?;
    let privacy = Names::of(contents, &mut files, &problems);
    let mut charts: Vec<_> = [&shown.progress, &shown.utilisation].into_iter().flatten().cloned().collect();
    charts.retain(|_| contents.charts);
    let exhibit = |id: &str, title: &str, listing: &Listing| {
        let mut listing = listing.clone();
        listing.rows.truncate(MOST_ROWS);
        Exhibit::new(id, title, listing)
    };
    let mut sections = vec![
        Section {
            title: "Bounds".into(),
            text: vec!["What no schedule can beat, in the cost model of TACOS: a link carries one chunk at a time and is busy for latency and transfer.".into()],
            tables: vec![exhibit("topology-bounds", "Lower bounds", &shown.bounds)],
            ..Section::default()
        },
        Section {
            title: "Schedule".into(),
            charts,
            tables: vec![
                exhibit("topology-critical", "Critical path", &shown.critical),
                exhibit("topology-links", "Links", &shown.links),
            ],
            ..Section::default()
        },
    ];
    if contents.deployables {
        let written = [Form::Csv, Form::Msccl, Form::Topology].into_iter().filter_map(|form| study.export(form).ok());
        let short = written.filter(|file| file.text.len() <= LONGEST);
        let files: Vec<TextFile> =
            short.map(|file| TextFile { name: file.name, text: file.text, note: file.note }).collect();
        sections.push(Section { title: "Files".into(), files, ..Section::default() });
    }
    sections.extend(left_out::section(&problems));
    let fact = |name: &str, value: String| Fact { name: name.into(), value };
    let time = shown.standing.time_ns.map_or_else(String::new, listing::time);
    let mut report = Report {
        workbench: Workbench::Topology,
        title: format!("{} over {} in {time}", wanted.key(), topology.name),
        summary: shown.sentences,
        program: concat!("collectune ", env!("CARGO_PKG_VERSION")).into(),
        made_on: contents.made_on.clone(),
        files,
        parameters: vec![
            fact("Topology", topology.name.clone()),
            fact("Nodes", count(u64::from(topology.nodes), "node")),
            fact("Links", count(topology.links.len() as u64, "link")),
            fact("Bandwidths in", topology.unit.name().into()),
            fact("Collective", wanted.words()),
            fact("Chunk", Size(wanted.chunk_bytes).to_string()),
            fact("Seed", seed.to_string()),
        ],
        sections,
        snapshot: None,
    };
    privacy.leave(&mut report);
    Ok(report)
}
