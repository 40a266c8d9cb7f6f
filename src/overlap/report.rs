//! The report of the overlap workbench: the model to use if any, all models compared with those that learn nothing,
//! the predictions of the shown model for each kernel, and the findings of the checks.

use crate::report::{
    Contents, Exhibit, Fact, LoadedFile, Report, Section, Workbench, left_out,
    placement::{Figure, Tab},
    privacy::NameReplacements,
};
use crate::{
    overlap::{
        models::{Kind, LEAST_ABSOLUTE_DEVIATION, PUBLISHED},
        noise::Repeatability,
        result::{FeatureScaling, ImportedScores, Results, ShownPredictions},
        study::{OverlapStudy, StudyError},
        validate::{FOLDS, REPEATS},
    },
    text::{Listing, Problems},
    units::{capitalised, count, significant},
};

// The tabs, by which the page shows the sections.
const MODELS: Tab = Tab::new("models", "Models");
const PREDICTIONS: Tab = Tab::new("predictions", "Predictions");
pub(super) const KERNEL: Tab = Tab::new("kernel", "Predict a kernel");
const FEATURES: Tab = Tab::new("features", "Features");
const CHECKS: Tab = Tab::new("checks", "Checks");

/// The input of a report.
pub struct OverlapReportInput<'a> {
    pub study: &'a OverlapStudy,
    pub files: Vec<LoadedFile>,
    /// The same files: what their owner calls them, maybe with a path, and what of them can't be used.
    pub problems: Vec<(&'a str, &'a Problems)>,
}

/// Makes the report. Returns an error if there is no run of kernels.
pub fn report(material: OverlapReportInput<'_>, contents: &Contents) -> Result<Report, StudyError> {
    let OverlapReportInput { study, mut files, problems } = material;
    let dataset = study.dataset()?;
    let results = study.results()?;
    let (imported, notes) = study.imported()?;
    let repeatability: Vec<String> = study.repeatability().iter().map(Repeatability::sentence).collect();
    let privacy = NameReplacements::of(contents, &mut files, &problems);
    let overlapped = dataset.overlapped().count() as u64;
    let mut summary = match &results.verdict {
        Some(verdict) => verdict.sentences.clone(),
        None => vec!["No kernel overlaps communication: there is no slowdown to learn.".into()],
    };
    summary.extend(unfinished(&results));
    let mut sections = vec![models(&results, &imported).on(MODELS)];
    sections.extend(shown(&results, contents).map(|section| section.on(PREDICTIONS)));
    sections.extend(study.importances().map(|listing| importances(listing).on(FEATURES)));
    if !repeatability.is_empty() {
        let section = Section { title: "Repeatability".into(), text: repeatability, ..Section::default() };
        sections.push(section.on(CHECKS));
    }
    let checks: Vec<String> = study.checks()?.iter().map(|text| sentence(text)).chain(notes).collect();
    if !checks.is_empty() {
        sections.push(Section { title: "Checks".into(), text: checks, ..Section::default() }.on(CHECKS));
    }
    sections.extend(left_out::section(&problems).map(|section| section.on(CHECKS)));
    let mut report = Report {
        workbench: Workbench::Overlap,
        title: format!("Slowdown of {} beside collectives", count(overlapped, "kernel")),
        summary,
        program: concat!("collectune ", env!("CARGO_PKG_VERSION")).into(),
        made_on: contents.made_on.clone(),
        files,
        parameters: parameters(study)?,
        sections,
        figures: figures(&results),
        ..Report::default()
    };
    privacy.apply(&mut report);
    Ok(report)
}

/// The error of the model to use beside that of no model, and how many kernels it is right for.
fn figures(results: &Results) -> Vec<Figure> {
    let of = |kind: Kind| results.models.iter().find(|scores| scores.kind == kind);
    let model = results.verdict.as_ref().filter(|verdict| verdict.is_compared).and_then(|verdict| of(verdict.model));
    let Some((model, mean)) = model.and_then(|model| Some((model, model.mean?))) else { return Vec::new() };
    let error = |pct: f64| format!("{pct:.1} %");
    let spread = model.spread.map_or_else(String::new, |spread| format!("± {:.1} % over repeats; ", spread.mape_pct));
    let mut figures = vec![Figure::new("Mean error", error(mean.mape_pct), format!("{spread}{}", model.kind.title()))];
    if model.kind != Kind::NoSlowdown {
        let none = of(Kind::NoSlowdown).and_then(|none| none.mean);
        figures.extend(none.map(|none| Figure::new("Without a model", error(none.mape_pct), Kind::NoSlowdown.title())));
    }
    figures.push(Figure::new("Within 5 %", format!("{:.0} %", mean.within_5_pct), "of the kernels"));
    figures.extend(model.unseen_names.map(|unseen| {
        Figure::new("Unseen names", error(unseen.mape_pct), "mean error at kernels whose name was never measured")
    }));
    figures
}

fn unfinished(results: &Results) -> Option<String> {
    let missing: Vec<&str> = results
        .models
        .iter()
        .filter(|model| model.mean.is_none() && !model.is_impossible)
        .map(|model| model.kind.title())
        .collect();
    (results.verdict.is_some() && !missing.is_empty())
        .then(|| format!("Not yet compared: {}.", missing.join("; ")))
        .or_else(|| {
            let all = REPEATS as usize;
            let is_partial = |repeats: usize| repeats > 0 && repeats < all;
            let possible = results.models.iter().filter(|model| !model.is_impossible);
            let repeats = possible.map(|model| model.repeats.len()).min().unwrap_or(0);
            is_partial(repeats).then(|| format!("So far over {repeats} of {all} repeats."))
        })
}

fn models(results: &Results, imported: &[ImportedScores]) -> Section {
    let mut text = vec![format!(
        "Each model predicts only kernels that it has not seen: {REPEATS} repeats of {FOLDS} folds, mean ± standard deviation; \
         unseen names are {FOLDS} folds of kernel names. Errors are of durations."
    )];
    let mut tables = vec![Exhibit::new("overlap-models", "Models, out of fold", results.listing.clone())];
    if !imported.is_empty() {
        text.extend(imported.iter().map(|judged| sentence(&judged.sentence())));
        let listing = crate::overlap::listing::imported(imported);
        tables.push(Exhibit::new("overlap-dropped-models", "Dropped models", listing));
    }
    Section { title: "Models".into(), text, tables, ..Section::default() }
}

/// The section on the predictions that are shown.
fn shown(results: &Results, contents: &Contents) -> Option<Section> {
    let title = match results.shown? {
        ShownPredictions::Model(kind) => kind.title(),
        ShownPredictions::Imported { feed: FeatureScaling::Standardised, .. } => "Dropped model, features standardised",
        ShownPredictions::Imported { feed: FeatureScaling::Scaled, .. } => "Dropped model, features by the scaler",
        ShownPredictions::Imported { .. } => "Dropped model, features as they are",
    };
    let charts = [&results.predicted_over_measured, &results.errors];
    let charts = charts.into_iter().flatten().filter(|_| contents.charts).cloned().collect();
    let names = Exhibit::new("overlap-kernel-names", "Kernel names", results.names.clone());
    Some(Section { title: title.into(), charts, tables: vec![names], ..Section::default() }.as_picture())
}

fn importances(listing: &Listing) -> Section {
    Section {
        title: "Features".into(),
        text: vec![format!("What these need: {}.", Kind::TreesLad.title())],
        tables: vec![Exhibit::new("overlap-features", "Feature importance", listing.clone())],
        ..Section::default()
    }
}

fn parameters(study: &OverlapStudy) -> Result<Vec<Fact>, StudyError> {
    let dataset = study.dataset()?;
    let columns: Vec<String> = study.columns()?.into_iter().filter(|(_, is_given)| *is_given).map(|(n, _)| n).collect();
    let fact = |name: &str, value: String| Fact { name: name.into(), value };
    let trees = |p: crate::learn::boosting::Parameters| {
        format!("{} of depth {}, learning rate {}", p.stages, p.depth, significant(p.learning_rate))
    };
    Ok(vec![
        fact("Run", dataset.name.clone()),
        fact("Kernels", count(dataset.kernels.len() as u64, "kernel")),
        fact("Features", columns.join(", ")),
        fact(Kind::TreesPublished.title(), trees(PUBLISHED)),
        fact(Kind::TreesLad.title(), trees(LEAST_ABSOLUTE_DEVIATION)),
        fact("Seed", study.settings().seed.to_string()),
    ])
}

/// The text as a sentence, with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    capitalised(text) + if text.ends_with(['.', '?']) { "" } else { "." }
}
