//! Holds what was dropped and learnt, and says what a step costs.

mod jobs;

use std::{
    ops::ControlFlow,
    sync::{Arc, OnceLock},
};

pub use jobs::JobRunner;

use super::{
    anatomy::Anatomy,
    bundle::Bundle,
    calibrate::{Applied, CalibrateError, Calibration, Coefficients, Terms, calibrate},
    catalogue::{Catalogue, ClusterEntry},
    coverage::{self, Coverage},
    health::{self, Health, Rule},
    interval::{self, Basis, Draws},
    loaded::DroppedFiles,
    measured::{self, ConvertedSteps, InheritedSettings},
    memory::{self, StageMemory},
    needs::{self, Need},
    prediction::Regressors,
    regressors::{
        Library, Mode, Options,
        jobs::Unreadable,
        what_if::{self, Change, WhatIf},
    },
    run::{Recompute, Run},
    samples::Cluster,
    search::{self, SearchContext, SearchResult},
    step::{self, Plan, Step, StepError},
    steps::StepTable,
};
use crate::{
    progress::{Progress, Silent},
    text::excerpt,
    units::count,
};

/// The settings of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The index of the cluster.
    pub cluster: usize,
    /// The kind of regressors and composition.
    pub mode: Mode,
    /// The run; without one, only samples are checked.
    pub run: Option<Run>,
    /// The changes of the what-if analysis.
    pub changes: Vec<Change>,
    /// The index of the table of measured steps that calibrates, and the number of coefficients.
    pub calibrate: Option<(usize, Terms)>,
    /// On which cluster of the catalogue those were measured; where it is not said, as their path or the samples tell.
    pub measured_on: Option<String>,
    /// The architecture of those steps, where they don't say it.
    pub measured_as: Option<String>,
    /// Use their coefficients also for a model that they make worse.
    pub calibrate_anyway: bool,
    /// The cluster was chosen by hand: its samples stand in for those of another GPU.
    pub stands_in: bool,
    /// The settings of the search for layouts.
    pub search: Option<search::SearchSettings>,
    /// The operator or collective whose settings the parity mode searches on the full grid.
    pub settings_of: Option<String>,
    /// The amount of device memory that is kept free, in GiB.
    pub reserve_gib: f64,
    /// The seed of the draws.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cluster: 0,
            mode: Mode::Default,
            run: None,
            changes: Vec::new(),
            calibrate: None,
            measured_on: None,
            measured_as: None,
            calibrate_anyway: false,
            stands_in: false,
            search: None,
            settings_of: None,
            reserve_gib: memory::RESERVE_GIB,
            seed: interval::SEED,
        }
    }
}

/// The reason why a study has no answer.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// No samples were dropped; with the files of which nothing can be used, and why.
    #[error(
        "there are no samples to study, which takes a folder with samples of operators and collectives \
         (Perlmutter/operator, Perlmutter/nccl), and a run configuration{}",
        refused(.0)
    )]
    NothingLoaded(Vec<(String, String)>),
    /// Returned when there is no run to predict.
    #[error("there is no run to predict: give a run configuration, or type one")]
    NoRun,
    /// The run is of a GPU that no chosen samples are of.
    #[error("{0}")]
    OtherGpu(String),
    /// The run can't be composed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The measured steps can't be used for calibration.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// The result of a job comes from another build.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// A message comes from another build.
    #[error("the parts of this page are of different builds; reload it")]
    Message(#[from] postcard::Error),
}

fn refused(files: &[(String, String)]) -> String {
    files.iter().map(|(name, why)| format!(". {} can't be used: {why}", excerpt(name))).collect()
}

impl StudyError {
    fn nothing_loaded(bundle: &Bundle) -> Self {
        const MOST_LISTED: usize = 3;
        let files = bundle.refused().take(MOST_LISTED).map(|(name, why)| (name.to_owned(), why.to_owned()));
        Self::NothingLoaded(files.collect())
    }
}

/// The regressors of a cluster and, for a calibration, those of its operators on the cluster of the measured steps.
struct ClusterRegressors {
    /// Notes on how the all-reduce tables are used.
    tables: Vec<String>,
    cluster: Arc<Cluster>,
    catalogue: Arc<Catalogue>,
    options: Options,
    library: Library,
    steps: Option<StepCalibration>,
    measured_on: Option<String>,
    health: Health,
    coverage: OnceLock<Vec<Coverage>>,
    search_regressors: OnceLock<Vec<u32>>,
}

/// Measured steps, with the operators of the cluster that they ran on.
struct StepCalibration {
    table: usize,
    ran_on: ClusterEntry,
    library: Library,
    taken: ConvertedSteps,
    /// The calibrations with four and with six coefficients, each fitted once.
    calibrations: [OnceLock<Result<Calibration, CalibrateError>>; 2],
}

impl StepCalibration {
    fn needed(&self, mode: Mode, catalogue: &Catalogue) -> Vec<u32> {
        self.library.needed(|rehearsal| {
            for step in &self.taken.measured {
                drop(step::plan(&step.run, mode, catalogue, rehearsal));
            }
        })
    }
}

impl ClusterRegressors {
    fn has_trained(&self, regressors: &[u32]) -> bool {
        regressors.iter().all(|regressor| self.library.is_trained(*regressor))
    }

    /// Whether no sample computes faster than the run's precision can, so that the GPU's peak bounds what is predicted.
    fn obeys_peak(&self, run: &Run) -> bool {
        self.cluster.operators.iter().all(|samples| samples.precision == run.execution.precision)
            && self.health.flags.iter().all(|flag| flag.rule != Rule::AbovePeak)
    }

    fn ran_on(&self, steps: &StepTable) -> Option<&ClusterEntry> {
        let said = self.measured_on.as_ref().and_then(|name| self.catalogue.cluster(name));
        said.or_else(|| measured::cluster_entry(steps, &self.cluster, &self.catalogue))
    }
}

/// The state of the training time workbench.
#[derive(Default)]
pub struct TrainingTimeStudy {
    dropped: DroppedFiles,
    settings: Settings,
    cluster_regressors: Option<ClusterRegressors>,
}

/// The predicted step of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Its parts, with the changes.
    pub plan: Plan,
    /// Its times, with the changes and the calibration.
    pub step: Step,
    /// The interval of its time, in µs.
    pub interval_us: [f64; 2],
    /// The source of the interval.
    pub basis: Basis,
    /// The calibration as it applies to the model, if there are measured steps.
    pub applied: Option<Applied>,
    /// The shares of the time by mark, in the order of the marks.
    pub marks: [f64; 4],
    /// The memory of each stage.
    pub memory: Vec<StageMemory>,
    /// The usable memory of a device in bytes, if it is known.
    pub capacity_bytes: Option<f64>,
    /// Its time in µs without the changes, where there are any.
    pub unchanged_us: Option<f64>,
    /// Tokens per second and GPU.
    pub tokens_per_gpu: f64,
}

impl Outcome {
    /// Whether no stage needs more memory than a device has, as far as that is known.
    pub fn fits(&self) -> bool {
        let is_too_much = |capacity| self.memory.iter().any(|stage| stage.first_too_much(capacity).is_some());
        !self.capacity_bytes.is_some_and(is_too_much)
    }
}

/// The best layouts, beside the best one without changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Searched {
    /// The result with the changes.
    pub found: SearchResult,
    /// The best layout without the changes, if there are any changes.
    pub unchanged: Option<search::Row>,
}

impl TrainingTimeStudy {
    /// A study of dropped files.
    pub fn new(dropped: DroppedFiles) -> Self {
        Self { dropped, ..Self::default() }
    }

    /// The dropped files with the answers about them.
    pub fn dropped(&self) -> &DroppedFiles {
        &self.dropped
    }

    /// The same, to be answered; what was learnt is forgotten.
    pub fn dropped_mut(&mut self) -> &mut DroppedFiles {
        self.cluster_regressors = None;
        &mut self.dropped
    }

    /// The contents of the dropped files.
    pub fn bundle(&self) -> &Bundle {
        self.dropped.bundle()
    }

    /// The settings of the study.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Studies in another way; what was learnt and still holds is kept. Whether everything must be learnt anew.
    ///
    /// # Errors
    /// Returns an error if there is no such cluster.
    pub fn choose(&mut self, settings: Settings) -> Result<bool, StudyError> {
        let (cluster, mode) = (settings.cluster, settings.mode);
        let precision = settings.run.as_ref().map_or("fp16", |run| run.execution.precision.as_str()).to_owned();
        let same = self.cluster_regressors.is_some() && (self.settings.cluster, self.settings.mode) == (cluster, mode);
        let same = same
            && self
                .cluster_regressors
                .as_ref()
                .is_some_and(|cluster_regressors| cluster_regressors.options.precision == precision);
        if !same {
            self.cluster_regressors = None;
            let bundle = self.dropped.bundle();
            let samples = bundle.clusters.get(cluster).ok_or_else(|| StudyError::nothing_loaded(bundle))?;
            let (samples, tables) = measured::with_tables(samples, &bundle.reduces, &bundle.catalogue, mode);
            let health = health::health(&samples, &bundle.catalogue);
            let saved = bundle.models.iter().filter(|model| model.cluster.is_none_or(|of| of == cluster));
            let saved = saved.cloned().collect();
            let options = Options { saved, ..Options::new(mode, &precision, &health) };
            let (samples, catalogue) = (Arc::new(samples), Arc::new(bundle.catalogue.clone()));
            let library = Library::new(Arc::clone(&samples), Arc::clone(&catalogue), options.clone());
            self.cluster_regressors = Some(ClusterRegressors {
                tables,
                cluster: samples,
                catalogue,
                options,
                library,
                steps: None,
                health,
                measured_on: None,
                coverage: OnceLock::new(),
                search_regressors: OnceLock::new(),
            });
        }
        let table = settings.calibrate.map(|(table, _)| table);
        if let Some(cluster_regressors) = &mut self.cluster_regressors {
            cluster_regressors.measured_on.clone_from(&settings.measured_on);
            let bundle = self.dropped.bundle();
            let steps = table.and_then(|table| bundle.steps.get(table)).filter(|steps| steps.suspicion.is_none());
            let found = steps
                .zip(table)
                .and_then(|(steps, table)| Some((steps, table, cluster_regressors.ran_on(steps)?.clone())));
            match found {
                None => cluster_regressors.steps = None,
                Some((steps, table, entry)) => {
                    let search = settings.search.as_ref().map(|question| &question.run);
                    let run = settings.run.as_ref().or(search);
                    let heritage = InheritedSettings { named: settings.measured_as.as_deref(), run };
                    let taken = measured::runs(steps, &entry, &cluster_regressors.catalogue, heritage);
                    match cluster_regressors
                        .steps
                        .as_mut()
                        .filter(|known| (known.table, &known.ran_on) == (table, &entry))
                    {
                        // The regressors stay as they are, whatever the steps inherit.
                        Some(known) if known.taken == taken => {}
                        Some(known) => (known.taken, known.calibrations) = (taken, Default::default()),
                        None => {
                            let on = measured::on_cluster(
                                &cluster_regressors.cluster,
                                &entry,
                                &bundle.reduces,
                                &cluster_regressors.catalogue,
                            );
                            let catalogue = Arc::clone(&cluster_regressors.catalogue);
                            let library = Library::new(Arc::new(on), catalogue, cluster_regressors.options.clone());
                            let calibrations = Default::default();
                            cluster_regressors.steps =
                                Some(StepCalibration { table, ran_on: entry, library, taken, calibrations });
                        }
                    }
                }
            }
        }
        if let Some(cluster_regressors) = &mut self.cluster_regressors
            && self.settings.search != settings.search
        {
            cluster_regressors.search_regressors = OnceLock::new();
        }
        self.settings = settings;
        Ok(!same)
    }

    fn cluster_regressors(&self) -> Result<&ClusterRegressors, StudyError> {
        self.cluster_regressors.as_ref().ok_or_else(|| StudyError::nothing_loaded(self.bundle()))
    }

    /// The health of the cluster's samples.
    ///
    /// # Errors
    /// Returns an error if no file was dropped.
    pub fn health(&self) -> Result<&Health, StudyError> {
        Ok(&self.cluster_regressors()?.health)
    }

    /// The coverage of the dropped sampling configurations, computed once.
    ///
    /// # Errors
    /// Returns an error if no file was dropped.
    pub fn coverage(&self) -> Result<&[Coverage], StudyError> {
        let cluster_regressors = self.cluster_regressors()?;
        let samplings = &self.dropped.bundle().samplings;
        let all = || {
            samplings.iter().filter_map(|sampling| coverage::coverage(&cluster_regressors.cluster, sampling)).collect()
        };
        Ok(cluster_regressors.coverage.get_or_init(all))
    }

    /// The samples that the run needs and the chosen cluster lacks, those without a substitute first.
    pub fn needs(&self) -> Vec<Need> {
        let bundle = self.dropped.bundle();
        let (Some(run), Some(cluster_regressors)) = (&self.settings.run, &self.cluster_regressors) else {
            return Vec::new();
        };
        let listed = bundle.runs.iter().find(|configured| configured.run.name == run.name);
        let functions = listed.map_or(&[][..], |configured| &configured.functions);
        let mut needs: Vec<Need> =
            needs::of_cluster(bundle, &cluster_regressors.cluster, run, functions, self.settings.mode);
        if let Err(error) = self.refuse_others(run) {
            needs.insert(0, Need::of_samples(error.to_string()));
        }
        needs
    }

    /// Notes on the answer besides the needs of the run: substitutes, what measured steps inherit, which all-reduce
    /// tables are used, and settings of the run that have no effect.
    pub fn notes(&self) -> Vec<String> {
        let bundle = self.dropped.bundle();
        let search = self.settings.search.as_ref().map(|question| &question.run);
        let run = self.settings.run.as_ref().or(search);
        let mut notes: Vec<String> = Vec::new();
        if let (Some(run), Some(cluster_regressors)) = (run, &self.cluster_regressors) {
            let chosen = bundle.clusters.get(self.settings.cluster);
            notes.extend(chosen.and_then(|chosen| bundle.stands_in(run, chosen)));
            let ignored = step::ignored(run, self.settings.mode, &cluster_regressors.catalogue);
            notes.extend(ignored);
            let entry = cluster_regressors.catalogue.cluster_of(&cluster_regressors.cluster);
            notes.extend(entry.and_then(|entry| entry.exceeded(&run.layout)).filter(|_| search.is_none()));
            let precision = &run.execution.precision;
            match cluster_regressors.catalogue.gpu(&cluster_regressors.cluster.gpu) {
                None => notes.push(format!(
                    "The catalogue does not know the GPU {}: no time is held against what it can compute or move",
                    excerpt(&cluster_regressors.cluster.gpu)
                )),
                Some(gpu) if gpu.peak_flops(precision).is_none() => notes.push(format!(
                    "The catalogue knows no peak of {} in {}: no time is held against what it can compute",
                    gpu.name,
                    excerpt(precision)
                )),
                Some(_) => {}
            }
        }
        if let Some(question) = &self.settings.search {
            if question.mode == Mode::Parity && question.recompute.iter().any(|again| *again != Recompute::Full) {
                notes.push("Parity computes everything again: what is to be tried instead changes no time".to_owned());
            }
            if question.run.execution.layers_per_stage.is_some() {
                notes.push(
                    "layers_per_stage is that of the run's own layout: the search spreads layers evenly".to_owned(),
                );
            }
        }
        let saved = bundle.models.len() as u64;
        if saved > 0 && self.settings.mode == Mode::Default {
            notes.push(format!("{} not used: they are parity's", count(saved, "saved regressor")));
        }
        if let Some(cluster_regressors) = &self.cluster_regressors {
            notes.extend(cluster_regressors.tables.iter().cloned());
            notes.extend(cluster_regressors.steps.iter().flat_map(|steps| steps.taken.notes.iter().cloned()));
        }
        notes
    }

    /// Refuses a run of a GPU that no chosen samples are of, unless they were chosen by hand.
    fn refuse_others(&self, run: &Run) -> Result<(), StudyError> {
        let bundle = self.dropped.bundle();
        let chosen = bundle.clusters.get(self.settings.cluster).filter(|_| !self.settings.stands_in);
        match chosen.and_then(|chosen| bundle.other_gpu(run, chosen)) {
            Some(why) => Err(StudyError::OtherGpu(why)),
            None => Ok(()),
        }
    }

    /// The regressors of the cluster.
    ///
    /// # Errors
    /// Returns an error if no file was dropped.
    pub fn library(&self) -> Result<&Library, StudyError> {
        Ok(&self.cluster_regressors()?.library)
    }

    /// Whether all regressors of the run are trained.
    pub fn is_ready(&self) -> bool {
        self.cluster_regressors.as_ref().is_some_and(|cluster_regressors| {
            cluster_regressors.has_trained(
                &cluster_regressors.library.needed(|rehearsal| self.record_needed(cluster_regressors, rehearsal)),
            )
        })
    }

    /// The settings that were found on the full grid, as files of the reference's form: name and text.
    ///
    /// # Errors
    /// Returns an error if no file was dropped.
    pub fn found_settings(&self) -> Result<Vec<(String, String)>, StudyError> {
        let library = self.library()?;
        Ok(library.setting_files(&library.found_settings()))
    }

    fn record_needed(&self, cluster_regressors: &ClusterRegressors, rehearsal: &dyn Regressors) {
        if let Some(run) = &self.settings.run {
            drop(step::plan(run, self.settings.mode, &cluster_regressors.catalogue, rehearsal));
        }
    }

    /// The cluster of the catalogue that a table of measured steps, by index, ran on; `None` where neither its path nor
    /// the samples name one.
    pub fn ran_on(&self, table: usize) -> Option<&str> {
        let steps = self.dropped.bundle().steps.get(table)?;
        self.cluster_regressors.as_ref()?.ran_on(steps).map(|entry| entry.name.as_str())
    }

    /// The name of the cluster whose samples are used; empty before any.
    pub fn samples_of(&self) -> &str {
        self.cluster_regressors.as_ref().map_or("", |regressors| &regressors.cluster.name)
    }

    /// Coefficients from the measured steps that are chosen; `None` where none are, or they are not learnt yet.
    ///
    /// # Errors
    /// Returns an error if they can't calibrate.
    pub fn calibration(&self) -> Result<Option<Calibration>, StudyError> {
        let cluster_regressors = self.cluster_regressors()?;
        let (Some(steps), Some((_, terms))) = (&cluster_regressors.steps, self.settings.calibrate) else {
            return Ok(None);
        };
        let name = |gpu: &str| cluster_regressors.catalogue.gpu(gpu).map(|known| known.name.clone());
        if let (Some(of_steps), Some(of_samples)) = (name(&steps.ran_on.gpu), name(&cluster_regressors.cluster.gpu))
            && of_steps != of_samples
        {
            return Err(StudyError::OtherGpu(format!(
                "the measured steps ran on {}, whose GPU is {of_steps}, and the samples are of {of_samples}: choose the \
                 cluster whose samples are of that GPU",
                steps.ran_on.name
            )));
        }
        let mode = self.settings.mode;
        let is_trained = |regressor: &u32| steps.library.is_trained(*regressor);
        let calibration = &steps.calibrations[usize::from(terms == Terms::Six)];
        if calibration.get().is_none() && !steps.needed(mode, &cluster_regressors.catalogue).iter().all(is_trained) {
            return Ok(None);
        }
        let fit = || {
            let left_out = steps.taken.left_out.clone();
            calibrate(&steps.taken.measured, left_out, mode, terms, &cluster_regressors.catalogue, &steps.library)
        };
        Ok(Some(calibration.get_or_init(fit).clone()?))
    }

    /// The predicted step of the run.
    ///
    /// # Errors
    /// Returns an error if there is no run, if it breaks a rule, or, with all of them, if samples are missing.
    pub fn outcome(&self, calibration: Option<&Calibration>) -> Result<Outcome, StudyError> {
        let cluster_regressors = self.cluster_regressors()?;
        let run = self.settings.run.as_ref().ok_or(StudyError::NoRun)?;
        self.refuse_others(run)?;
        let changed = WhatIf::new(&cluster_regressors.library, &self.settings.changes);
        let mode = self.settings.mode;
        let plan = step::plan(run, mode, &cluster_regressors.catalogue, &changed)?;
        let applied = calibration.map(|known| known.applied(&run.model, self.settings.calibrate_anyway));
        let coefficients = applied.as_ref().map_or_else(Coefficients::default, |applied| applied.coefficients);
        let plain = plan.step();
        let marks = plan.marks(&plain);
        let step = coefficients.apply(&plan, &plain);
        let is_drawn = plan
            .parts
            .iter()
            .any(|part| !changed.residuals(part.prediction.regressor, part.prediction.mark).is_empty());
        let draws = Draws::new(&changed, self.settings.seed).totals(&plan, &coefficients);
        let floor = applied.as_ref().map_or(&[][..], |applied| &applied.residuals);
        let basis = match &applied {
            Some(applied) => Basis::Steps(applied.held_percent),
            None if is_drawn => Basis::Samples,
            None => Basis::Nothing,
        };
        let interval_us = interval::interval(step.total_us, draws, floor);
        let unchanged_us = if self.settings.changes.is_empty() {
            None
        } else {
            let plan = step::plan(run, mode, &cluster_regressors.catalogue, &cluster_regressors.library)?;
            Some(coefficients.total(&plan, &plan.step()))
        };
        let anatomy = Anatomy::of(run, &cluster_regressors.catalogue);
        let tokens = run.global_batch() as f64 * f64::from(run.model.sequence);
        Ok(Outcome {
            memory: memory::of(run, &anatomy),
            capacity_bytes: self
                .bundle()
                .memory_gib(run, self.settings.cluster)
                .map(|gib| memory::capacity_bytes(gib, self.settings.reserve_gib)),
            tokens_per_gpu: tokens / (step.total_us / 1e6) / run.layout.gpus() as f64,
            plan,
            interval_us,
            basis,
            applied,
            marks,
            unchanged_us,
            step,
        })
    }

    /// The best layouts, once what they need is trained. `first` is told the first rows, and may break off there.
    ///
    /// # Errors
    /// Returns an error if no file was dropped.
    pub fn searched(
        &self,
        calibration: Option<&Calibration>,
        progress: &mut dyn Progress,
        first: &mut dyn FnMut(&[search::Row]) -> ControlFlow<()>,
    ) -> Result<Option<Searched>, StudyError> {
        let cluster_regressors = self.cluster_regressors()?;
        let Some(question) = &self.settings.search else { return Ok(None) };
        self.refuse_others(&question.run)?;
        let applied = calibration.map(|known| known.applied(&question.run.model, self.settings.calibrate_anyway));
        let changed = WhatIf::new(&cluster_regressors.library, &self.settings.changes);
        let known = SearchContext {
            regressors: &changed,
            catalogue: &cluster_regressors.catalogue,
            gpu: cluster_regressors.catalogue.gpu(&cluster_regressors.cluster.gpu),
            applied: applied.as_ref(),
            least_factor: if cluster_regressors.obeys_peak(&question.run) {
                what_if::least_factor(&self.settings.changes, &cluster_regressors.catalogue)
            } else {
                0.0
            },
            seed: self.settings.seed,
        };
        let found = search::search(question, &known, progress, first);
        let unchanged = if self.settings.changes.is_empty() || found.is_partial {
            None
        } else {
            let known = SearchContext { regressors: &cluster_regressors.library, least_factor: 1.0, ..known };
            let question = search::SearchSettings { best: 1, everything: false, ..question.clone() };
            search::search(&question, &known, &mut Silent, &mut |_| ControlFlow::Continue(())).rows.into_iter().next()
        };
        Ok(Some(Searched { found, unchanged }))
    }

    /// Whether all regressors of the search are trained.
    pub fn can_search(&self) -> bool {
        self.cluster_regressors.as_ref().is_some_and(|cluster_regressors| {
            self.search_regressors(cluster_regressors)
                .iter()
                .all(|regressor| cluster_regressors.library.is_trained(*regressor))
        })
    }

    /// The regressors that the search needs; gone through once for all of its layouts.
    fn search_regressors<'a>(&self, cluster_regressors: &'a ClusterRegressors) -> &'a [u32] {
        let Some(question) = &self.settings.search else { return &[] };
        cluster_regressors.search_regressors.get_or_init(|| {
            cluster_regressors.library.needed(|rehearsal| {
                let memo = search::CachedRegressors::new(rehearsal, &cluster_regressors.catalogue);
                let runs = search::space::space(question).runs;
                runs.iter().for_each(|run| drop(step::plan(run, question.mode, &cluster_regressors.catalogue, &memo)));
            })
        })
    }
}
