//! What can be chosen in the overlap workbench: its settings, and the table of their fields.

use super::{
    features::{self, chosen},
    kernel::Dataset,
    loaded::Loaded,
    models::Kind,
    predict::KernelQuery,
    result::{FeatureScaling, OverlapOverview, ShownPredictions},
    study::{OverlapStudy, StudyError},
};
use crate::{
    form::{self, Control, Field, Form, Setting},
    units::count,
    workbench::WorkbenchError,
};

#[derive(Clone, Copy)]
pub(super) enum Group {
    Metrics,
    Kernel,
}

impl From<Group> for form::Group {
    fn from(group: Group) -> Self {
        const TITLES: [&str; 2] = ["Metrics", "Predict a kernel"];
        Self { number: group as u8, title: TITLES[group as usize].into() }
    }
}

#[derive(Default)]
pub(super) struct Settings {
    pub study: features::Settings,
    /// Whose predictions are shown; `None` for those of the verdict's model.
    pub shown: Option<ShownPredictions>,
}

impl Settings {
    pub fn fields(form: &mut Form<'_>, study: &OverlapStudy) -> Self {
        let loaded = study.loaded();
        let mut settings = Self::default();
        let name = |(number, run): (usize, &Dataset)| {
            (number.to_string(), format!("{}: {}", run.name, count(run.kernels.len() as u64, "kernel")))
        };
        let runs = Control::One((1..).zip(&loaded.datasets).map(name).collect());
        form.is_listed = loaded.datasets.len() > 1 || form.get("run").is_some();
        let run = form.offered(Field::new("run", "Run", runs).leading(vec![None]).usually("1"));
        let run = run.and_then(|run| run.parse().ok()).unwrap_or(1);
        form.is_listed = true;
        settings.study.dataset = u32::saturating_sub(run, 1);
        form.unlisted("seed", u64::EXPECTED, &mut settings.study.seed);
        settings.shown_fields(form, loaded, study);
        if let Some(dataset) = loaded.datasets.get(settings.study.dataset as usize) {
            form.group(Group::Metrics);
            let keys = dataset.columns.iter().map(|name| (key(name), name.clone())).collect();
            let usual: Vec<String> =
                chosen(dataset, &settings.study).into_iter().map(|column| key(&dataset.columns[column])).collect();
            let field = Field::new("metrics", "Metrics", Control::Many(keys)).usually(usual.join(","));
            let named = |name: &str| dataset.columns.iter().find(|column| key(column) == name).cloned();
            settings.study.columns = form.offered_of(field).map(|chosen| chosen.split(',').filter_map(named).collect());
        }
        settings
    }

    fn shown_fields(&mut self, form: &mut Form<'_>, loaded: &Loaded, study: &OverlapStudy) {
        let mut models = vec![(String::new(), "as the verdict says".to_owned())];
        models.extend(Kind::ALL.map(|kind| (kind.name().to_owned(), kind.title().to_owned())));
        models.extend((1..).zip(&loaded.models).map(|(number, model)| (format!("model-{number}"), model.name.clone())));
        let Some(chosen) = form.offered(Field::new("shown", "Shown", Control::One(models))) else { return };
        let number = chosen.strip_prefix("model-").and_then(|number| number.parse::<u32>().ok());
        let model = number.and_then(|number| number.checked_sub(1));
        let Some((model, imported)) = model.and_then(|model| Some((model, loaded.models.get(model as usize)?))) else {
            self.shown = Kind::parse(chosen).map(ShownPredictions::Model);
            return;
        };
        let has_scaler = study.scaler(imported).is_some();
        let field = if has_scaler {
            let feeds = [("", "by the scaler"), ("0", "as they are"), ("1", "standardised over the run")];
            Field::new("scaled", "Features", Control::one(&feeds))
        } else {
            Field::new("scaled", "features standardised", Control::Switch)
        };
        let feed = match form.chosen(field) {
            Some("1") => FeatureScaling::Standardised,
            Some("0") => FeatureScaling::Raw,
            _ if has_scaler => FeatureScaling::Scaled,
            _ => FeatureScaling::Raw,
        };
        self.shown = Some(ShownPredictions::Imported { model, feed });
    }

    /// The fields of the kernel to predict: a measured one, with what was typed instead.
    pub fn kernel_fields(
        &self,
        form: &mut Form<'_>,
        study: &OverlapStudy,
        studied: &OverlapOverview,
    ) -> Result<KernelQuery, WorkbenchError> {
        let dataset = study.dataset()?;
        form.group(Group::Kernel);
        let mut launch = None;
        let field = Field::new("launch", "Launch", Control::Number).hinted("of the run");
        form.field_of(field.leading(vec![Some(Group::Kernel.into())]), "a place in the run", &mut launch);
        let measured = match launch {
            Some(place) => dataset.kernels.get(usize::saturating_sub(place, 1)),
            None => dataset.overlapped().next().or(dataset.kernels.first()),
        };
        let mut asked = measured.map(KernelQuery::of).ok_or(StudyError::NothingLoaded)?;
        form.field(Field::new("name", "Kernel name", Control::Text(studied.names.clone())), &mut asked.name);
        // A name that was emptied is that of no measured kernel.
        if form.get("name").is_some_and(|name| name.trim().is_empty()) {
            asked.name.clear();
        }
        if form.get("name").is_some() {
            // What another kernel was measured with says nothing of this one.
            asked.metrics.iter_mut().for_each(|metric| *metric = None);
        }
        let number =
            |key: &str, label: &str, usual: f64| Field::new(key, label, Control::Number).usually(rounded(usual));
        let mut alone_us = None;
        form.field(number("alone", "Duration alone, µs", asked.alone_ns / 1000.0), &mut alone_us);
        asked.alone_ns = alone_us.map_or(asked.alone_ns, |us: f64| us * 1000.0);
        form.field(number("overlap", "Overlap ratio, 0 to 1", asked.overlap_ratio), &mut asked.overlap_ratio);
        for ((name, is_given), metric) in studied.columns.iter().zip(&mut asked.metrics) {
            let usual = metric.map(rounded).unwrap_or_default();
            form.is_listed = *is_given;
            form.field(Field::new(&format!("m.{name}"), name, Control::Number).usually(usual).hinted("usual"), metric);
        }
        if let Some(ShownPredictions::Model(kind)) = self.shown {
            asked.model = Some(kind);
        }
        Ok(asked)
    }
}

/// The name of a column in a choice of several.
fn key(column: &str) -> String {
    column.replace(',', ";")
}

/// The value rounded to the digits that a field shows.
pub(super) fn rounded(value: f64) -> String {
    ((value * 1e4).round() / 1e4).to_string()
}
