//! The overlap workbench: which run, which metrics, whose predictions, which kernel.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    form::{Choices, Control, Field, RowChoice},
    math::hash,
    overlap::{
        export::TreesError,
        features::{Settings, chosen},
        files::Loaded,
        models::Kind,
        predict,
        result::{FeatureScaling, OverlapOverview, Run, ShownPredictions},
        study::{self, StudyError},
        validate,
    },
    progress::Progress,
    report::{Contents, Exhibit, Report, Section, TextFile},
    text::{Listing, excerpt},
    units::count,
    workbench::{Attachment, AttachmentKind, Jobs, ReportContext, Study, WorkbenchError},
};

const PREDICTION: &str = "Predict a kernel";
/// The prefix of the keys of metrics that are entered.
const METRIC: &str = "m.";

/// The state of the overlap workbench.
#[derive(Default)]
pub struct Overlap {
    study: study::OverlapStudy,
    choices: Choices,
    studied: Option<OverlapOverview>,
    /// Tells apart what workers did for this run from what they did for another.
    run: u64,
    done: BTreeSet<u32>,
    is_anew: bool,
    prediction: Option<Section>,
    slowdown: Option<f64>,
}

/// The result of a job.
#[derive(Serialize, Deserialize)]
struct Done {
    run: u64,
    jobs: Vec<u32>,
    folds: Vec<u8>,
    importances: Option<Listing>,
}

/// The cost of weighing features, where one fold costs 1.
const IMPORTANCE_COST: f64 = 12.0;

/// The number of the job that computes importances, which follows those of the folds.
fn importance_job() -> u32 {
    validate::jobs().len() as u32
}

/// Does some jobs from the run alone.
///
/// # Errors
/// Returns an error if the run comes from another build, or can't be learnt from.
pub fn work(basis: &[u8], jobs: &[u32], progress: &mut dyn Progress) -> Result<Vec<u8>, WorkbenchError> {
    let importances =
        if jobs.contains(&importance_job()) { Some(study::compute_importances(basis, progress)?) } else { None };
    let folds = study::do_jobs(basis, jobs, progress)?;
    Ok(postcard::to_allocvec(&Done { run: hash(basis), jobs: jobs.to_vec(), folds, importances })?)
}

impl Overlap {
    /// The state after files were loaded.
    #[must_use]
    pub fn new(loaded: Loaded) -> Self {
        Self { study: study::OverlapStudy::new(loaded), ..Self::default() }
    }

    /// The loaded files.
    pub fn loaded(&self) -> &Loaded {
        self.study.loaded()
    }

    /// The study.
    pub const fn study(&mut self) -> &mut study::OverlapStudy {
        &mut self.study
    }

    fn studied(&self) -> Result<&OverlapOverview, WorkbenchError> {
        Ok(self.studied.as_ref().ok_or(StudyError::NothingLoaded)?)
    }

    fn is_complete(&self) -> bool {
        self.done.len() as u32 > importance_job()
    }

    fn settings(&self) -> Result<Settings, WorkbenchError> {
        let run = self.choices.parsed::<u32>("run", "the number of a run")?.unwrap_or(1);
        let columns = self.choices.get("metrics").map(|chosen| {
            let dataset = self.study.loaded().datasets.get(run.saturating_sub(1) as usize);
            let columns = dataset.map_or(&[][..], |dataset| &dataset.columns);
            // A name that no column has is told by the study.
            let named = |name: &str| columns.iter().find(|column| key(column) == name).cloned();
            chosen.split(',').map(|name| named(name).unwrap_or_else(|| name.to_owned())).collect()
        });
        Ok(Settings { dataset: run.saturating_sub(1), columns, ..Settings::default() })
    }

    /// Whose predictions are chosen to be shown, as far as it is there.
    pub fn shown(&self) -> Option<ShownPredictions> {
        let chosen = self.choices.get("shown")?;
        let number = chosen.strip_prefix("model-").and_then(|number| number.parse::<u32>().ok());
        let count = self.studied.as_ref().map_or(0, |studied| studied.models.len());
        let number = number.filter(|number| (1..=count).contains(&(*number as usize)));
        let imported = number.map(|number| {
            let model = number.saturating_sub(1);
            let has_scaler = self.studied.as_ref().and_then(|of| of.models.get(model as usize)).is_some_and(|of| of.1);
            let feed = match self.choices.get("scaled") {
                Some("1") => FeatureScaling::Standardised,
                Some("0") => FeatureScaling::Raw,
                _ if has_scaler => FeatureScaling::Scaled,
                _ => FeatureScaling::Raw,
            };
            ShownPredictions::Imported { model, feed }
        });
        imported.or_else(|| Kind::parse(chosen).map(ShownPredictions::Model))
    }

    /// The measured kernel with the name that was entered.
    fn measured(&self) -> Result<predict::KernelQuery, WorkbenchError> {
        let dataset = self.study.dataset()?;
        let measured = match self.choices.parsed::<usize>("launch", "a place in the run")? {
            Some(place) => dataset.kernels.get(place.saturating_sub(1)),
            None => dataset.overlapped().next().or(dataset.kernels.first()),
        };
        let mut measured = measured.map(predict::KernelQuery::of).ok_or(StudyError::NothingLoaded)?;
        if let Some(name) = self.choices.get("name") {
            // What another kernel was measured with says nothing of this one.
            measured.metrics.iter_mut().for_each(|metric| *metric = None);
            name.clone_into(&mut measured.name);
        }
        Ok(measured)
    }

    /// The kernel that is predicted: a measured one, with what was typed instead.
    fn asked(&self) -> Result<predict::KernelQuery, WorkbenchError> {
        let mut asked = self.measured()?;
        let typed = |key: &str| self.choices.parsed::<f64>(key, "a number");
        asked.alone_ns = typed("alone")?.map_or(asked.alone_ns, |us| us * 1000.0);
        asked.overlap_ratio = typed("overlap")?.unwrap_or(asked.overlap_ratio);
        for (name, metric) in self.study.dataset()?.columns.iter().zip(&mut asked.metrics) {
            *metric = typed(&format!("{METRIC}{name}"))?.or(*metric);
        }
        if let Some(ShownPredictions::Model(kind)) = self.shown() {
            asked.model = Some(kind);
        }
        Ok(asked)
    }

    /// Predicts the kernel that is asked for, once every model was compared.
    fn predict(&mut self, progress: &mut dyn Progress) {
        (self.prediction, self.slowdown) = (None, None);
        if !self.is_complete() {
            return;
        }
        let found = self.asked().and_then(|asked| Ok((self.study.predict(&asked, progress)?, asked)));
        let mut section = Section { title: PREDICTION.into(), ..Section::default() };
        match (found, self.study.dataset()) {
            (Ok((answer, asked)), Ok(dataset)) => {
                let times = answer.duration_ns / asked.alone_ns;
                self.slowdown = Some(times).filter(|times| times.is_finite() && *times > 0.0);
                section.text.push(format!(
                    "{}: {} µs alone, of which {} overlap communication.",
                    asked.name,
                    rounded(asked.alone_ns / 1000.0),
                    rounded(asked.overlap_ratio)
                ));
                section.text.extend(answer.sentences());
                let listing = crate::overlap::listing::kernels(dataset, &answer.nearest);
                let mut nearest = Exhibit::new("nearest-kernels", "Nearest measured kernels", listing);
                let values = answer.nearest.iter().map(|index| (index + 1).to_string()).collect();
                nearest.choose = Some(RowChoice { key: "launch".into(), values });
                section.tables.push(nearest);
            }
            (Err(error), _) => section.text.push(format!("{error}.")),
            (_, Err(error)) => section.text.push(format!("{error}.")),
        }
        self.prediction = Some(section);
    }

    /// The fields above the report.
    fn bar(&self) -> Result<Vec<Field>, WorkbenchError> {
        let studied = self.studied()?;
        let field =
            |key: &str, label: &str, control, usual: &str| Field::new(&self.choices, key, label, control, usual);
        let mut fields = Vec::new();
        if studied.runs.len() > 1 {
            let name = |(at, run): (usize, &Run)| {
                ((at + 1).to_string(), format!("{}: {}", run.name, count(run.kernels, "kernel")))
            };
            let runs = studied.runs.iter().enumerate().map(name).collect();
            fields.push(field("run", "Run", Control::One(runs), "1").leading());
        }
        let mut models = vec![(String::new(), "as the verdict says".to_owned())];
        models.extend(Kind::ALL.map(|kind| (kind.name().to_owned(), kind.title().to_owned())));
        models.extend((1..).zip(&studied.models).map(|(number, (name, _))| (format!("model-{number}"), name.clone())));
        fields.push(field("shown", "Shown", Control::One(models), ""));
        if let Some(ShownPredictions::Imported { model, .. }) = self.shown() {
            if studied.models.get(model as usize).is_some_and(|of| of.1) {
                let feeds = [("", "by the scaler"), ("0", "as they are"), ("1", "standardised over the run")];
                let feeds = feeds.map(|(value, name)| (value.to_owned(), name.to_owned())).to_vec();
                fields.push(field("scaled", "Features", Control::One(feeds), ""));
            } else {
                fields.push(field("scaled", "features standardised", Control::Switch, ""));
            }
        }
        let usual: Vec<String> = self.usual_columns()?.iter().map(|name| key(name)).collect();
        let columns = studied.columns.iter().map(|(name, _)| (key(name), name.clone())).collect();
        fields.push(field("metrics", "Metrics", Control::Many(columns), &usual.join(",")).of("Metrics"));
        Ok(fields)
    }

    /// The columns that models are given as long as nothing is chosen.
    fn usual_columns(&self) -> Result<Vec<String>, WorkbenchError> {
        let dataset = self.study.dataset()?;
        let chosen = chosen(dataset, &Settings::default());
        Ok(chosen.into_iter().map(|column| dataset.columns[column].clone()).collect())
    }

    /// The fields of the kernel to predict.
    fn kernel_fields(&self) -> Result<Vec<Field>, WorkbenchError> {
        let studied = self.studied()?;
        let field = |key: &str, label: &str, control, usual: String| {
            Field::new(&self.choices, key, label, control, usual).of(PREDICTION)
        };
        let measured = self.measured()?;
        let mut fields = vec![
            field("launch", "Launch", Control::Number, String::new()).hinted("of the run").leading(),
            field("name", "Kernel name", Control::Text(studied.names.clone()), measured.name.clone()),
            field("alone", "Duration alone, µs", Control::Number, rounded(measured.alone_ns / 1000.0)),
            field("overlap", "Overlap ratio, 0 to 1", Control::Number, rounded(measured.overlap_ratio)),
        ];
        for ((name, is_given), metric) in studied.columns.iter().zip(&measured.metrics) {
            if *is_given {
                let usual = metric.map(rounded).unwrap_or_default();
                fields.push(field(&format!("{METRIC}{name}"), name, Control::Number, usual).hinted("usual"));
            }
        }
        Ok(fields)
    }
}

impl From<StudyError> for WorkbenchError {
    fn from(error: StudyError) -> Self {
        Self::Study(Box::new(error))
    }
}

impl Study for Overlap {
    fn choose(&mut self, choices: Choices, progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        self.choices = choices;
        let settings = self.settings()?;
        self.is_anew = self.studied.as_ref().is_none_or(|studied| studied.settings != settings);
        if self.is_anew {
            (self.studied, self.done) = (None, BTreeSet::default());
            let studied = self.study.study(settings)?;
            self.run = hash(&studied.run);
            self.studied = Some(studied);
        }
        self.study.show(self.shown());
        self.predict(progress);
        Ok(())
    }

    fn take(&mut self, done: &[u8], progress: &mut dyn Progress) -> Result<(), WorkbenchError> {
        let done: Done = postcard::from_bytes(done)?;
        if done.run != self.run {
            return Ok(());
        }
        self.study.take(&done.folds)?;
        if let Some(importances) = done.importances {
            self.study.set_importances(importances);
        }
        for job in done.jobs {
            self.done.insert(job);
        }
        self.predict(progress);
        Ok(())
    }

    fn form(&self) -> Result<Vec<Field>, WorkbenchError> {
        let mut fields = self.bar()?;
        if self.is_complete() {
            fields.extend(self.kernel_fields()?);
        }
        Ok(fields)
    }

    fn files(&self) -> Vec<(String, String)> {
        let files = [("predictions", "Save predictions"), ("trees", "Save trees")];
        files.map(|(key, label)| (key.to_owned(), label.to_owned())).into()
    }

    fn file(&self, key: &str, progress: &mut dyn Progress) -> Result<TextFile, WorkbenchError> {
        let (file, note) = match key {
            "predictions" => match self.study.shown()? {
                shown @ ShownPredictions::Model(_) => (self.study.predictions(shown)?, "Predictions out of fold"),
                shown => (self.study.predictions(shown)?, "Predictions of the imported model"),
            },
            "trees" => match self.study.shown()? {
                ShownPredictions::Model(kind) => (self.study.trees(kind, progress)?, "For XGBoost"),
                ShownPredictions::Imported { .. } => {
                    return Err(StudyError::Trees(TreesError::NoTrees("An imported model")).into());
                }
            },
            _ => return Err(WorkbenchError::NoFile(key.to_owned())),
        };
        Ok(TextFile { name: file.name, text: file.text, note: note.into() })
    }

    fn jobs(&self) -> Result<Jobs, WorkbenchError> {
        let studied = self.studied()?;
        // Where nothing overlaps there is nothing to learn.
        let nothing = studied.results.verdict.is_none();
        let all = studied.rounds.iter().map(|round| {
            round.iter().filter_map(|job| Some((*job, *studied.jobs.get(*job as usize)?))).collect::<Vec<_>>()
        });
        let mut rounds: Vec<Vec<(u32, f64)>> = all.collect();
        // Beside the last folds: the most expensive job of a round is begun first.
        rounds.last_mut().into_iter().for_each(|last| last.push((importance_job(), IMPORTANCE_COST)));
        rounds.iter_mut().for_each(|round| round.retain(|(job, _)| !nothing && !self.done.contains(job)));
        rounds.retain(|round| !round.is_empty());
        let basis = if rounds.is_empty() { Vec::new() } else { studied.run.clone() };
        Ok(Jobs { basis, rounds, is_anew: self.is_anew, goes_on: false })
    }

    fn attachments(&mut self) -> Result<Vec<Attachment>, WorkbenchError> {
        let slowdown = self.slowdown.map(|slowdown| Attachment::new(AttachmentKind::Slowdown, &slowdown));
        Ok(slowdown.transpose()?.into_iter().collect())
    }

    fn report(&self, material: ReportContext<'_>, contents: &Contents) -> Result<Report, WorkbenchError> {
        let ReportContext { files, problems } = material;
        let material = super::report::OverlapReportInput { study: &self.study, files, problems };
        let mut report = super::report::report(material, contents)?;
        if let (Some(chosen), None) = (self.choices.get("shown"), self.shown()) {
            let chosen = excerpt(chosen);
            report.summary.push(format!("There is nothing called {chosen} to be shown here: the verdict's model is."));
        }
        let at = report.sections.len().min(2);
        report.sections.splice(at..at, self.prediction.clone());
        Ok(report)
    }
}

/// The name of a column in a choice of several.
fn key(column: &str) -> String {
    column.replace(',', ";")
}

/// The value rounded to the digits that a field shows.
fn rounded(value: f64) -> String {
    ((value * 1e4).round() / 1e4).to_string()
}
