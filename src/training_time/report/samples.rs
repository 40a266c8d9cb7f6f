//! The sections on samples: what is missing, their health, the regressors, and the files.

use crate::{
    form::RowChoice,
    order::CompactSort,
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    report::{Exhibit, Section, TextFile},
    text::{Column, Entry, Listing},
    training_time::{
        bundle::Bundle,
        catalogue::Catalogue,
        coverage::Coverage,
        listing,
        needs::Need,
        run::Run,
        sampling_files::{NAME, sampling_script},
        scope::Scope,
        settings::Group,
        step::{listing::share, plan::PartQuery},
        study::{Outcome, StudyError, TrainingTimeStudy},
    },
    units::{count, grouped},
};

/// The key of the choice of the regressor that is shown.
pub const SHOWN: &str = "shown";

/// The samples that the run needs and that are missing, with files that sample them.
pub(super) fn missing(study: &TrainingTimeStudy, needs: &[Need]) -> Option<Section> {
    let run = study.settings().run.as_ref().filter(|_| !needs.is_empty())?;
    let hopeless = needs.iter().filter(|need| need.instead.is_none()).count();
    let mut text = vec![match hopeless {
        0 => "The run can be predicted; what was not sampled as it needs it is marked, and here is what stands in."
            .into(),
        _ => "Without samples of these the run can't be predicted:".to_owned(),
    }];
    text.extend(needs.iter().filter(|need| need.instead.is_none()).map(|need| super::sentence(&need.sentence)));
    let script = sampling_script(study.bundle(), run, needs);
    let files = script.into_iter().map(|(text, note)| TextFile { name: NAME.to_owned(), text, note });
    Some(Section {
        title: "What was not sampled".into(),
        text,
        tables: vec![Exhibit::new("missing", "What is missing", listing::needs(needs))],
        files: files.collect(),
        ..Section::default()
    })
}

/// The health of the samples, their noise, and how far they cover what was to be sampled.
pub(super) fn health(study: &TrainingTimeStudy) -> Result<Section, StudyError> {
    let health = study.health()?;
    let columns = vec![
        Column::words("Samples", "operator, or collective with its GPUs"),
        Column::numbers("Rows", "that are odd"),
        Column::numbers("Of", "all rows"),
        Column::words("What is odd", "and what would change without these rows"),
    ];
    let rows = health.flags.iter().map(|flag| {
        vec![
            Entry::text(flag.target.to_string()),
            Entry::number(Some(flag.count as f64), |count| grouped(count as u64)),
            Entry::number(Some(flag.of as f64), |count| grouped(count as u64)),
            Entry::text(format!("{} {}", super::sentence(&flag.what), super::sentence(&flag.effect))),
        ]
    });
    let mut text = vec![if health.flags.is_empty() {
        "Nothing is odd about the samples.".to_owned()
    } else {
        "Nothing is left out unasked: what is marked here is.".to_owned()
    }];
    let mut tables = vec![
        Exhibit::new("health", "What is odd", Listing { columns, rows: rows.collect() }),
        Exhibit::new("samples", "What was sampled", listing::samples(health)),
    ];
    let coverage = study.coverage()?;
    let mut charts = Vec::new();
    if coverage.is_empty() {
        text.push("Give the sampling configurations (YAML) to see which of their points are there.".to_owned());
    } else {
        charts.push(coverage_map(coverage));
        tables.push(Exhibit::new("coverage", "Which points of the samplings are there", listing::coverage(coverage)));
    }
    Ok(Section { text, charts, tables, ..Section::with_form(Group::Samples) })
}

/// The share of possible points that are there, for each value of each input.
fn coverage_map(all: &[Coverage]) -> Chart {
    let mut values: Vec<(&str, f64)> =
        all.iter().flat_map(|one| &one.values).map(|value| (value.input.as_str(), value.value)).collect();
    values.compact_sort_by(|a, b| a.0.cmp(b.0).then(a.1.total_cmp(&b.1)));
    // What one sampling alone has would leave a column empty but for it.
    let shared = values.chunk_by(|a, b| a == b).filter(|same| same.len() > 1 || all.len() == 1);
    let values: Vec<(&str, f64)> = shared.map(|same| same[0]).collect();
    let shown: Vec<&Coverage> = all.iter().filter(|one| !one.values.is_empty()).collect();
    let mut points = Vec::new();
    for (row, one) in shown.iter().enumerate() {
        for (column, (input, value)) in values.iter().enumerate() {
            let found = one.values.iter().find(|known| known.input == *input && known.value == *value);
            let found = found.filter(|known| known.possible > 0);
            let share = found.map(|known| known.sampled as f64 / known.possible as f64);
            let note = found.map_or_else(String::new, |known| {
                format!("{}, {input} {value}: {} of {}", one.function, known.sampled, known.possible)
            });
            points.push(Point { note, ..Point::cell(column, row, share) });
        }
    }
    let (sampled, possible) = all.iter().fold((0, 0), |(sampled, possible), one| {
        (sampled + one.sampled, possible + one.intended.saturating_sub(one.impossible))
    });
    Chart {
        id: "training-time-coverage".to_owned(),
        title: "Coverage of the samplings".to_owned(),
        summary: format!("{} of the points that can be are there.", share(sampled as f64 / possible.max(1) as f64)),
        x: Axis::of_names("Input", values.iter().map(|(input, value)| format!("{input} {value}")).collect()),
        y: Axis::of_names("Samples", shown.iter().map(|one| one.function.clone()).collect()),
        series: vec![Series::new("Sampled", Colour::Answer, Mark::Cells(Quantity::Share, Spacing::Linear), points)],
    }
}

/// All regressors, and one of them beside its samples: that which is chosen, or that of the collective that takes the
/// longest.
pub(super) fn regressors(
    study: &TrainingTimeStudy,
    outcome: Option<&Outcome>,
    (shown, input): (Option<u32>, Option<String>),
) -> Result<Section, StudyError> {
    let library = study.library()?;
    let mut all = Exhibit::new("regressors", "Regressors", library.listing());
    let values = library.listed().map(|regressor| regressor.to_string()).collect();
    all.choose = Some(RowChoice { key: SHOWN.into(), values });
    let slowest = || {
        let collectives = outcome?.plan.parts.iter().filter(|part| matches!(part.asked, PartQuery::Collective(..)));
        let slowest = collectives.max_by(|a, b| a.prediction.time_us.total_cmp(&b.prediction.time_us))?;
        Some(slowest.prediction.regressor)
    };
    let scope = study.settings().run.as_ref().map_or_else(Scope::default, Run::scope);
    let chart = shown
        .or_else(slowest)
        .or_else(|| library.listed().last())
        .and_then(|regressor| library.chart(regressor, input.as_deref(), &scope));
    let errors = "Errors are of rows whose features were held out, three folds, beside those of a trivial model. Open a row \
                  to see it beside its samples.";
    let unusable =
        library.unusable().iter().map(|(of, why)| format!("The saved regressor of {of} is not used: {why}."));
    Ok(Section {
        text: std::iter::once(errors.to_owned()).chain(unusable).collect(),
        charts: chart.into_iter().collect(),
        tables: vec![all],
        ..Section::with_form(Group::Regressors)
    })
}

/// All files, and how each is used.
pub(super) fn files(bundle: &Bundle) -> Section {
    let listing = listing::files(bundle);
    Section {
        title: "Files".into(),
        text: bundle.notes.iter().map(|note| super::sentence(note)).collect(),
        tables: vec![Exhibit::new("files", "What became of each file", listing)],
        ..Section::default()
    }
}

/// The catalogue without what the user entered, which is listed beside it.
pub(super) fn catalogue(catalogue: &Catalogue, error: Option<&str>) -> Section {
    let known = [
        count(catalogue.gpus.len() as u64, "GPU"),
        count(catalogue.clusters.len() as u64, "cluster"),
        count(catalogue.operators.len() as u64, "operator"),
        count(catalogue.collectives.len() as u64, "collective"),
    ];
    let mut text = vec![format!(
        "It knows {} and {}. On the page more can be typed, as YAML or JSON with `catalogue: 1`; an entry of the same name \
         replaces the one before.",
        known.join(", "),
        count(catalogue.architectures.len() as u64, "architecture")
    )];
    text.extend(error.map(|why| format!("What is typed can't be read: {why}.")));
    Section { text, ..Section::with_form(Group::Catalogue) }
}

/// The reasons why dropped configurations are not valid runs.
pub(super) fn refused_runs(bundle: &Bundle) -> Vec<String> {
    let is_configuration = |name: &str| [".yml", ".yaml", ".json"].iter().any(|end| name.to_lowercase().ends_with(end));
    let refused = bundle.refused().filter(|(name, _)| is_configuration(name));
    refused.take(3).map(|(name, why)| super::sentence(&format!("{name} is left out: {why}"))).collect()
}
