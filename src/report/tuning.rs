//! The report of the tuning workbench: what to deploy for each collective and scale, how far to trust it, the files.

use super::{Contents, Exhibit, Fact, LoadedFile, Report, Section, TextFile, Workbench};
use crate::{
    text::{Column, Entry, Listing},
    tuning::{
        conf::{
            export::{self, Basis, export},
            reader::Reader,
        },
        decision::Decision,
        listing,
        result::{Evaluation, FoldScores, Group, Recommendation},
        snapshot::{Extent, Snapshot},
        study::{Study, StudyError},
        wording,
    },
    units::significant,
};

/// What a report is made of.
pub struct Material<'a> {
    /// The sweep, and what was learnt from it.
    pub study: &'a Study,
    /// What was loaded, and what was left out.
    pub files: Vec<LoadedFile>,
    /// Names of the files with measurements.
    pub names: &'a [String],
    /// Which of several sets of measurements it is.
    pub set: Option<&'a str>,
    /// What must be known about the whole.
    pub notes: Vec<String>,
}

/// Makes the report.
///
/// # Errors
/// Nothing was measured, or the model can't be asked.
pub fn report(material: Material<'_>, contents: &Contents) -> Result<Report, StudyError> {
    let Material { study, mut files, names, set, notes } = material;
    if study.sweep().is_empty() {
        return Err(StudyError::NothingMeasured);
    }
    let winners;
    let answer = match study.recommendations() {
        [] => {
            winners = study.winners()?;
            &winners[..]
        }
        answered => answered,
    };
    if !contents.file_names {
        files.iter_mut().for_each(|file| file.name = None);
    }
    let mut sections = Vec::new();
    for group in study.groups() {
        sections.push(of_group(study, group, answer, contents)?);
    }
    sections.extend(study.evaluation().map(trust));
    if contents.deployables {
        let names = if contents.file_names { names } else { &[] };
        let level = study.confidence().level;
        let basis = Basis { sweep: study.sweep(), recommendations: answer, names, set, level };
        sections.push(deployables(&basis));
    }
    if !notes.is_empty() {
        sections.push(Section { title: "What must be known".into(), text: notes, ..Section::default() });
    }
    let measured_with = set.map(|set| Fact { name: "Measured with".into(), value: set.to_owned() }).into_iter();
    let extent = if contents.measurements { Extent::Whole } else { Extent::Thinned };
    Ok(Report {
        snapshot: Some(Snapshot::new(study, extent)?),
        workbench: Workbench::Tuning,
        title: title(study.groups()),
        summary: summary(answer),
        program: concat!("collectune ", env!("CARGO_PKG_VERSION")).into(),
        made_on: contents.made_on.clone(),
        files,
        parameters: measured_with.chain(parameters(study)).collect(),
        sections,
    })
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
    study: &Study,
    group: &Group,
    answer: &[Recommendation],
    contents: &Contents,
) -> Result<Section, StudyError> {
    let mine: Vec<Recommendation> = answer
        .iter()
        .filter(|r| (r.workload.collective, r.workload.scale) == (group.collective, group.scale))
        .cloned()
        .collect();
    let mut charts = Vec::new();
    if let Some(first) = mine.first().filter(|_| contents.charts) {
        let view = study.view(&first.workload)?;
        charts.push(view.busbw_over_size);
        charts.extend(view.predicted_over_measured);
    }
    let id = format!("{}-{}n{}r", group.collective, group.scale.nodes, group.scale.ranks);
    Ok(Section {
        title: format!("{} on {}", group.collective, group.scale),
        text: vec![wording::group(group)],
        charts,
        tables: vec![Exhibit { id, title: "What to deploy".into(), listing: listing::recommendations(&mine) }],
        files: Vec::new(),
    })
}

/// How far to trust it.
fn trust(evaluation: &Evaluation) -> Section {
    let mut rows = Vec::new();
    let ways: [(&str, &FoldScores); 3] = [
        ("an unseen size", &evaluation.by_size),
        ("an unseen configuration", &evaluation.by_configuration),
        ("an unseen scale", &evaluation.by_scale),
    ];
    for (way, scores) in ways {
        for (source, score) in wording::contestants(scores) {
            let numbers =
                [score.r2, score.mae_gbps, score.mape_pct, score.regret_mean_pct, score.regret_max_pct, score.top1_pct];
            if numbers.iter().any(Option::is_some) {
                let words = [Entry::text(way), Entry::text(wording::source(source))];
                rows.push(words.into_iter().chain(numbers.map(|n| Entry::number(n, significant))).collect());
            }
        }
    }
    let columns = vec![
        Column::words("Held out", "what the predictor had not seen"),
        Column::words("Predictor", "who predicts"),
        Column::numbers("R²", "coefficient of determination over all held-out points"),
        Column::numbers("MAE", "mean absolute error, GB/s"),
        Column::numbers("MAPE", "mean absolute error, in per cent of the measurement"),
        Column::numbers("Mean regret", "bandwidth lost by taking this predictor's choice, in per cent of the best"),
        Column::numbers("Largest regret", "the largest of those, in per cent"),
        Column::numbers("Best chosen", "share of workloads at which the choice is the best measured, in per cent"),
    ];
    let table = Exhibit { id: "evaluation".into(), title: "Out of fold".into(), listing: Listing { columns, rows } };
    let mut text = vec![wording::verdict(&evaluation.by_size)];
    text.extend(evaluation.by_size.coverage_90_pct.map(|coverage| {
        format!("The 90 % intervals hold {} % of the measurements at unseen sizes.", significant(coverage))
    }));
    Section { title: "How far to trust it".into(), text, tables: vec![table], ..Section::default() }
}

/// The tuner file of each reader, and what each will run.
fn deployables(basis: &Basis<'_>) -> Section {
    let mut section = Section { title: "Tuner files".into(), ..Section::default() };
    for reader in Reader::ALL {
        let options = export::Options { reader: *reader, open_ends: true, ..export::Options::default() };
        let written = export(basis, &options);
        let about = |sentence: String| format!("{}: {sentence}", reader.name());
        section.text.extend(written.warnings.into_iter().map(about));
        section.text.extend(written.refusals.iter().map(|refusal| about(refusal.message())));
        if written.files.is_empty() {
            continue;
        }
        section.tables.push(Exhibit {
            id: format!("tuner-rules-{}", reader.key()),
            title: format!("What {} will run", reader.name()),
            listing: export::listing(&written.rows),
        });
        let note = written.loading;
        let file = |file: export::File| TextFile { name: file.name, text: file.text, note: about(note.clone()) };
        section.files.extend(written.files.into_iter().map(file));
    }
    section
}

fn parameters(study: &Study) -> Vec<Fact> {
    let Some(parameters) = study.parameters() else { return Vec::new() };
    let fact = |name: &str, value: String| Fact { name: name.into(), value };
    vec![
        fact("Model", parameters.preset.name().into()),
        fact("Seed", parameters.seed.to_string()),
        fact("Confidence", format!("{} %", significant(parameters.confidence.level * 100.0))),
        fact("Smallest gain worth a rule", format!("{} %", significant(parameters.confidence.minimum_gain_pct))),
    ]
}
