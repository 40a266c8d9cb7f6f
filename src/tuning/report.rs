//! The report of the tuning workbench: what to deploy for each collective and scale, how far to trust it, the files.

mod measurements;
pub(super) mod trust;

use crate::{
    collective::{Collective, Scale},
    plot::Chart,
    report::{
        Contents, Exhibit, Fact, LoadedFile, Report, Section, TextFile, Workbench, left_out,
        privacy::NameReplacements,
        snapshot::{Extent, Snapshot},
    },
    text::Problems,
    tuning::{
        campaign::{history, journal::Journal},
        conf::{
            export::{self, ExportInput, export},
            reader::Reader,
        },
        decision::Decision,
        doubts::doubts,
        listing, plan,
        platform::Platform,
        result::{Group, Recommendation},
        study::{TuningStudy, TuningStudyError},
        wording,
    },
    units::{grouped, significant},
};
use std::collections::BTreeMap;

/// The most collectives and scales that have a section.
const MOST_GROUPS: usize = 50;
/// The number of collectives and scales beyond which only [`MOST_OF_MANY`] of them have a section, as each takes
/// time.
const MANY_GROUPS: usize = 1000;
const MOST_OF_MANY: usize = 10;
/// The most heat maps of a report.
const MOST_HEAT_MAPS: usize = 10;
const MOST_CELLS: usize = 12_000;

/// The input of a report.
pub struct TuningReportInput<'a> {
    /// The study.
    pub study: &'a TuningStudy,
    /// The loaded files.
    pub files: Vec<LoadedFile>,
    /// The same files: what their owner calls them, maybe with a path, and what of them can't be used.
    pub problems: Vec<(&'a str, &'a Problems)>,
    /// The names of the files with measurements.
    pub names: &'a [String],
    /// The names of all files, by the numbers that runs refer to.
    pub numbered: &'a BTreeMap<u16, String>,
    /// Notes about all files.
    pub notes: Vec<String>,
    /// The set of measurements that was studied, if there are several.
    pub set: Option<&'a str>,
    /// The journals of the campaigns that measured, by their files' numbers.
    pub journals: &'a [(u32, Journal)],
    /// The plan of what to measure next.
    pub plan: plan::PlanAnswer,
}

/// Makes the report.
///
/// # Errors
/// Returns an error if nothing was measured, or if the model can't be evaluated.
pub fn report(material: TuningReportInput<'_>, contents: &Contents) -> Result<Report, TuningStudyError> {
    let TuningReportInput { study, mut files, problems, names, numbered, mut notes, set, journals, plan } = material;
    if study.sweep().is_empty() {
        return Err(TuningStudyError::NothingMeasured);
    }
    let answer = study.to_deploy()?;
    let answer = &answer[..];
    let privacy = NameReplacements::of(contents, &mut files, &problems);
    let mut sections = Vec::new();
    let mut predicted = Vec::new();
    let groups = study.groups();
    let mut mine: BTreeMap<(Collective, Scale), Vec<Recommendation>> = BTreeMap::new();
    for recommendation in answer {
        let of = (recommendation.workload.collective, recommendation.workload.scale);
        mine.entry(of).or_default().push(recommendation.clone());
    }
    let most = if groups.len() > MANY_GROUPS { MOST_OF_MANY } else { MOST_GROUPS };
    let mut heat_maps = (MOST_HEAT_MAPS, MOST_CELLS);
    for group in groups.iter().take(most) {
        let mine = mine.get(&(group.collective, group.scale)).map_or(&[][..], Vec::as_slice);
        sections.push(of_group(study, group, mine, contents, (&mut predicted, &mut heat_maps))?);
    }
    if groups.len() > most {
        notes.push(format!(
            "Only the first {most} of {} collectives and scales have sections of their own here; load fewer at once to \
             have all of them",
            grouped(groups.len() as u64)
        ));
    }
    if contents.deployables {
        let names = if contents.file_names { names } else { &[] };
        let level = study.confidence().level;
        let between_sizes = study.between_sizes()?;
        let basis = ExportInput {
            sweep: study.sweep(),
            recommendations: answer,
            between_sizes: &between_sizes,
            names,
            set,
            level,
        };
        sections.push(deployables(&basis, study.platform()));
    }
    sections.extend(study.evaluation().map(|evaluation| trust::section(evaluation, predicted)));
    let noise = measurements::noise(study, answer, numbered);
    // Stalled runs are listed there.
    notes.retain(|note| noise.as_ref().is_none_or(|noise| !noise.text.contains(note)));
    sections.extend(noise);
    sections.extend(measurements::dips(study, answer));
    sections.extend(journals.iter().filter_map(|(_, journal)| history::section(journal, None, false)));
    sections.extend(measurements::next(plan));
    sections.extend(left_out::section(&problems));
    notes.extend(doubts(answer));
    if !notes.is_empty() {
        sections.push(Section { title: "What must be known".into(), text: notes, ..Section::default() });
    }
    let mut summary = summary(answer);
    summary.extend(measurements::open_questions(answer));
    match (study.evaluation(), study.parameters()) {
        (Some(evaluation), _) => summary.extend(trust::held_out_regret(evaluation)),
        (None, Some(_)) => summary.push("How far to trust it was not tested: validation has not run.".into()),
        (None, None) if study.sweep().points.is_empty() => {
            summary.push(
                "Only the library's default was measured: its curve, and where it dips, is all that can be told."
                    .into(),
            );
        }
        (None, None) => summary.push("Nothing was learnt: these are the measured winners.".into()),
    }
    let measured_with = set.map(|set| Fact { name: "Measured with".into(), value: set.to_owned() }).into_iter();
    let extent = if contents.measurements { Extent::Whole } else { Extent::Thinned };
    let mut report = Report {
        snapshot: Some(Snapshot::new(study, extent)?),
        workbench: Workbench::Tuning,
        title: title(study.groups()),
        summary,
        program: concat!("collectune ", env!("CARGO_PKG_VERSION")).into(),
        made_on: contents.made_on.clone(),
        files,
        parameters: measured_with.chain(parameters(study)).collect(),
        sections,
        ..Report::default()
    };
    privacy.apply(&mut report);
    Ok(report)
}

fn title(groups: &[Group]) -> String {
    match groups {
        [] => "Nothing measured".into(),
        [group] => format!("{} on {}", group.collective, group.scale),
        [first, rest @ ..] if rest.iter().all(|group| group.collective == first.collective) => {
            format!("{} on {} scales", first.collective, groups.len())
        }
        _ => format!("{} collectives and scales", groups.len()),
    }
}

fn summary(answer: &[Recommendation]) -> Vec<String> {
    let deployed: Vec<&Recommendation> =
        answer.iter().filter(|recommendation| matches!(recommendation.decision, Decision::Deploy)).collect();
    let mut summary = vec![format!(
        "Something else than the default is worth deploying at {} of {} measured workloads.",
        deployed.len(),
        answer.len()
    )];
    let gain = |recommendation: &Recommendation| recommendation.gain.map(|gain| gain.pct).unwrap_or_default();
    let largest = deployed.into_iter().max_by(|a, b| gain(a).total_cmp(&gain(b)));
    summary.extend(largest.map(wording::sentence));
    summary
}

fn of_group(
    study: &TuningStudy,
    group: &Group,
    mine: &[Recommendation],
    contents: &Contents,
    (predicted, (maps, cells)): (&mut Vec<Chart>, &mut (usize, usize)),
) -> Result<Section, TuningStudyError> {
    let mut charts = Vec::new();
    if let Some(first) = mine.first().filter(|_| contents.charts) {
        let view = study.view(&first.workload)?;
        charts.push(view.busbw_over_size);
        let size = |chart: &Chart| chart.series.iter().map(|series| series.points.len()).sum::<usize>();
        if let Some(map) = view.heat_map.filter(|map| *maps > 0 && size(map) <= *cells) {
            (*maps, *cells) = (*maps - 1, *cells - size(&map));
            charts.push(map);
        }
        predicted.extend(view.predicted_over_measured);
    }
    let id = format!("{}-{}n{}r", group.collective, group.scale.nodes, group.scale.ranks);
    Ok(Section {
        title: format!("{} on {}", group.collective, group.scale),
        text: vec![wording::group(group)],
        charts,
        tables: vec![Exhibit::new(id, "What to deploy", listing::recommendations(mine))],
        ..Section::default()
    })
}

/// The tuner file of each reader, and what each will run.
fn deployables(basis: &ExportInput<'_>, platform: &Platform) -> Section {
    let mut section = Section { title: "Tuner files".into(), ..Section::default() };
    // The file for NCCLX is written where it is asked for: with a fifth one a report of three scales fits no link.
    for reader in Reader::OF_CONF {
        let Platform { library, version, gpu, .. } = *platform;
        let options =
            export::ExportOptions { reader: *reader, library, version, gpu, ..export::ExportOptions::default() };
        let written = export(basis, &options);
        let about = |sentence: String| format!("{}: {sentence}", reader.name());
        section.text.extend(written.warnings.into_iter().map(about));
        section.text.extend(written.refusals.iter().map(|refusal| about(refusal.message())));
        if written.files.is_empty() {
            continue;
        }
        section.tables.push(Exhibit::new(
            format!("tuner-rules-{}", reader.key()),
            format!("What {} will run", reader.name()),
            export::listing(&written.rows),
        ));
        let note = written.loading;
        let file = |file: export::ConfFile| TextFile { name: file.name, text: file.text, note: about(note.clone()) };
        section.files.extend(written.files.into_iter().map(file));
    }
    section
}

fn parameters(study: &TuningStudy) -> Vec<Fact> {
    let Some(parameters) = study.parameters() else { return Vec::new() };
    let fact = |name: &str, value: String| Fact { name: name.into(), value };
    vec![
        fact("Model", parameters.preset.name().into()),
        fact("Seed", parameters.seed.to_string()),
        fact("Confidence", format!("{} %", significant(parameters.confidence.level * 100.0))),
        fact("Smallest gain worth a rule", format!("{} %", significant(parameters.confidence.minimum_gain_pct))),
    ]
}
