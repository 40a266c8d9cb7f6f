//! Holds what was dropped and learnt, and says what a step costs.

use std::{
    ops::ControlFlow,
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Serialize};

use super::{
    anatomy::Anatomy,
    bundle::Bundle,
    calibrate::{CalibrateError, Calibration, Coefficients, Measured, Terms, calibrate},
    catalogue::{Catalogue, ClusterEntry},
    coverage::{self, Coverage},
    dropped::Dropped,
    health::{self, Health},
    interval::{self, Draws},
    measured,
    memory::{self, StageMemory},
    needs::{self, Need},
    prediction::Regressors,
    regressors::{
        Library, Mode, Options, SavedRegressor,
        jobs::{Job, Task, Unreadable},
        what_if::{Change, To, WhatIf},
    },
    run::Run,
    samples::{Cluster, Place},
    search::{self, Found, Knowledge},
    step::{self, Plan, Step, StepError},
    steps::StepTable,
};
use crate::{
    progress::{Progress, Silent},
    text::excerpt,
};

/// How it is studied.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Which cluster, by index.
    pub cluster: usize,
    /// Which regressors and composition.
    pub mode: Mode,
    /// What is trained; without it only samples are looked at.
    pub run: Option<Run>,
    /// What is changed.
    pub changes: Vec<Change>,
    /// Which table of measured steps calibrates, by index, with how many coefficients.
    pub calibrate: Option<(usize, Terms)>,
    /// On which cluster of the catalogue those were measured; where it is not said, as their path or the samples tell.
    pub measured_on: Option<String>,
    /// What is searched.
    pub search: Option<search::Question>,
    /// Of which operator or collective parity's settings are searched on the full grid.
    pub settings_of: Option<String>,
    /// What of a device's memory is kept free, in GiB.
    pub reserve_gib: f64,
    /// Seed of the draws.
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
            search: None,
            settings_of: None,
            reserve_gib: memory::RESERVE_GIB,
            seed: interval::SEED,
        }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// No samples were dropped; with the files of which nothing can be used, and why.
    #[error(
        "there are no samples to study: drop a folder with samples of operators and collectives \
         (Perlmutter/operator, Perlmutter/nccl), and a run configuration{}",
        refused(.0)
    )]
    NothingLoaded(Vec<(String, String)>),
    /// No run to predict.
    #[error("there is no run to predict: drop a run configuration, or type one")]
    NoRun,
    /// A run can't be composed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// Measured steps can't calibrate.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// What a worker did comes from another build.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// A message that another build wrote.
    #[error("the parts of this page are of different builds; reload it")]
    Message(#[from] postcard::Error),
}

fn refused(files: &[(String, String)]) -> String {
    files.iter().map(|(name, why)| format!(". {} can't be used: {why}", excerpt(name))).collect()
}

impl StudyError {
    fn nothing_loaded(bundle: &Bundle) -> Self {
        const TOLD: usize = 3;
        let files = bundle.refused().take(TOLD).map(|(name, why)| (name.to_owned(), why.to_owned()));
        Self::NothingLoaded(files.collect())
    }
}

/// What was learnt of a cluster; and, for a calibration, of its operators on the cluster of the measured steps.
struct Bench {
    cluster: Arc<Cluster>,
    catalogue: Arc<Catalogue>,
    options: Options,
    library: Library,
    steps: Option<(usize, Library, Vec<Measured>)>,
    /// The cluster of those steps, where it was said.
    measured_on: Option<String>,
    health: Health,
    coverage: OnceLock<Vec<Coverage>>,
}

impl Bench {
    /// The cluster that measured steps ran on.
    fn ran_on(&self, steps: &StepTable) -> Option<&ClusterEntry> {
        let said = self.measured_on.as_ref().and_then(|name| self.catalogue.cluster(name));
        said.or_else(|| measured::cluster_entry(steps, &self.cluster, &self.catalogue))
    }
}

/// What a worker needs to do jobs.
#[derive(Serialize, Deserialize)]
struct Package {
    /// That of the samples; that of the measured steps.
    clusters: Vec<Cluster>,
    /// As a file.
    catalogue: String,
    mode: Mode,
    precision: String,
    doubtful: Vec<Place>,
}

/// The workbench's state.
#[derive(Default)]
pub struct Study {
    dropped: Dropped,
    settings: Settings,
    bench: Option<Bench>,
}

/// A job's number holds which library, which regressor and which task.
const OF_STEPS: u32 = 1 << 31;

fn number(job: &Job, of_steps: bool) -> u32 {
    let task = match job.task {
        Task::Train => 0,
        Task::Validate => 1,
        Task::Search => 2,
    };
    job.regressor << 2 | task | if of_steps { OF_STEPS } else { 0 }
}

/// What a step costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What it is made of, with the changes.
    pub plan: Plan,
    /// Its times, with the changes and the calibration.
    pub step: Step,
    /// 90 % interval of its time in µs.
    pub interval_us: [f64; 2],
    /// The interval is drawn from errors that were computed; else from none yet.
    pub is_drawn: bool,
    /// Shares of its time by where they come from.
    pub marks: [f64; 4],
    /// Memory of each stage.
    pub memory: Vec<StageMemory>,
    /// What a device offers, where it is known.
    pub capacity_bytes: Option<f64>,
    /// Its time in µs without the changes, where there are any.
    pub unchanged_us: Option<f64>,
    /// Tokens per second and GPU.
    pub tokens_per_gpu: f64,
}

/// The best layouts.
#[derive(Clone, Debug, PartialEq)]
pub struct Searched {
    /// With the changes.
    pub found: Found,
    /// The best without them, where there are any.
    pub unchanged: Option<search::Row>,
}

impl Study {
    /// Studies what files hold.
    #[must_use]
    pub fn new(dropped: Dropped) -> Self {
        Self { dropped, ..Self::default() }
    }

    /// What was dropped.
    #[must_use]
    pub fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    /// The same, to be answered; what was learnt is forgotten.
    pub fn dropped_mut(&mut self) -> &mut Dropped {
        self.bench = None;
        &mut self.dropped
    }

    /// What files hold together.
    #[must_use]
    pub fn bundle(&self) -> &Bundle {
        self.dropped.bundle()
    }

    /// How it is studied.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Studies in another way; what was learnt and still holds is kept. Whether everything must be learnt anew.
    ///
    /// # Errors
    /// There is no such cluster.
    pub fn choose(&mut self, settings: Settings) -> Result<bool, StudyError> {
        let (cluster, mode) = (settings.cluster, settings.mode);
        let precision = settings.run.as_ref().map_or("fp16", |run| run.execution.precision.as_str()).to_owned();
        let same = self.bench.is_some() && (self.settings.cluster, self.settings.mode) == (cluster, mode);
        let same = same && self.bench.as_ref().is_some_and(|bench| bench.options.precision == precision);
        if !same {
            self.bench = None;
            let bundle = self.dropped.bundle();
            let samples = bundle.clusters.get(cluster).ok_or_else(|| StudyError::nothing_loaded(bundle))?.clone();
            let health = health::health(&samples, &bundle.catalogue);
            let saved = bundle.models.iter().filter(|model| model.cluster.is_none_or(|of| of == cluster));
            let saved = saved.map(SavedRegressor::from).collect();
            let options = Options { saved, ..Options::new(mode, &precision, &health) };
            let (samples, catalogue) = (Arc::new(samples), Arc::new(bundle.catalogue.clone()));
            let library = Library::new(Arc::clone(&samples), Arc::clone(&catalogue), options.clone());
            self.bench = Some(Bench {
                cluster: samples,
                catalogue,
                options,
                library,
                steps: None,
                health,
                measured_on: None,
                coverage: OnceLock::new(),
            });
        }
        let table = settings.calibrate.map(|(table, _)| table);
        if let Some(bench) = &mut self.bench
            && (bench.steps.as_ref().map(|(known, ..)| *known) != table || bench.measured_on != settings.measured_on)
        {
            bench.measured_on.clone_from(&settings.measured_on);
            bench.steps = table.and_then(|table| {
                let bundle = self.dropped.bundle();
                let steps = bundle.steps.get(table).filter(|steps| steps.suspicion.is_none())?;
                let entry = bench.ran_on(steps)?;
                let on = measured::on_cluster(&bench.cluster, entry, &bundle.reduces, &bench.catalogue);
                let library = Library::new(Arc::new(on), Arc::clone(&bench.catalogue), bench.options.clone());
                Some((table, library, measured::runs(steps, entry, &bench.catalogue)))
            });
        }
        self.settings = settings;
        Ok(!same)
    }

    fn bench(&self) -> Result<&Bench, StudyError> {
        self.bench.as_ref().ok_or_else(|| StudyError::nothing_loaded(self.bundle()))
    }

    /// The health of the cluster's samples.
    ///
    /// # Errors
    /// Nothing was dropped.
    pub fn health(&self) -> Result<&Health, StudyError> {
        Ok(&self.bench()?.health)
    }

    /// Which points of the dropped sampling configurations are there; looked at once.
    ///
    /// # Errors
    /// Nothing was dropped.
    pub fn coverage(&self) -> Result<&[Coverage], StudyError> {
        let bench = self.bench()?;
        let samplings = &self.dropped.bundle().samplings;
        let all = || samplings.iter().filter_map(|sampling| coverage::coverage(&bench.cluster, sampling)).collect();
        Ok(bench.coverage.get_or_init(all))
    }

    /// What the run needs of the chosen cluster and nobody sampled as it needs it; what nothing can stand in for comes
    /// first.
    #[must_use]
    pub fn needs(&self) -> Vec<Need> {
        let bundle = self.dropped.bundle();
        let (Some(run), Some(cluster)) = (&self.settings.run, bundle.clusters.get(self.settings.cluster)) else {
            return Vec::new();
        };
        let listed = bundle.runs.iter().find(|configured| configured.run.name == run.name);
        let run = Run { cluster: Some(cluster.name.clone()), ..run.clone() };
        needs::needs(bundle, &run, listed.map_or(&[], |configured| &configured.functions))
    }

    /// The cluster's regressors.
    ///
    /// # Errors
    /// Nothing was dropped.
    pub fn library(&self) -> Result<&Library, StudyError> {
        Ok(&self.bench()?.library)
    }

    /// Jobs in rounds, after each of which there is more to be told: the run's regressors trained, those of measured
    /// steps, those of the search; then the errors of the run's, and of the search's.
    ///
    /// # Errors
    /// Nothing was dropped.
    pub fn rounds(&self) -> Result<Vec<Vec<(u32, f64)>>, StudyError> {
        let bench = self.bench()?;
        let mut rounds: Vec<Vec<(u32, f64)>> = Vec::new();
        let mut known: Vec<u32> = Vec::new();
        let mut push = |jobs: Vec<Job>, of_steps: bool, known: &mut Vec<u32>| {
            let numbered = jobs.iter().map(|job| (number(job, of_steps), job.cost));
            let new: Vec<(u32, f64)> = numbered.filter(|(number, _)| !known.contains(number)).collect();
            known.extend(new.iter().map(|(number, _)| *number));
            rounds.push(new);
        };
        let of_run = bench.library.needed(|rehearsal| self.rehearse(bench, rehearsal));
        push(bench.library.jobs(&of_run, Task::Train), false, &mut known);
        if let Some((_, library, steps)) = &bench.steps {
            let needed = library.needed(|rehearsal| {
                for step in steps {
                    drop(step::plan(&step.run, self.settings.mode, &bench.catalogue, rehearsal));
                }
            });
            push(library.jobs(&needed, Task::Train), true, &mut known);
        }
        if let Some(question) = &self.settings.search {
            let runs = search::space::space(question).runs;
            let needed = bench.library.needed(|rehearsal| {
                let memo = search::Memo::new(rehearsal, &bench.catalogue);
                runs.iter().for_each(|run| drop(step::plan(run, question.mode, &bench.catalogue, &memo)));
            });
            push(bench.library.jobs(&needed, Task::Train), false, &mut known);
            push(bench.library.jobs(&of_run, Task::Validate), false, &mut known);
            push(bench.library.jobs(&needed, Task::Validate), false, &mut known);
        }
        push(bench.library.jobs(&of_run, Task::Validate), false, &mut known);
        if let Some(function) = &self.settings.settings_of {
            push(bench.library.jobs(&bench.library.of_function(function), Task::Search), false, &mut known);
        }
        rounds.retain(|round| !round.is_empty());
        Ok(rounds)
    }

    /// The settings that were found on the full grid, as files of the reference's form: name and text.
    ///
    /// # Errors
    /// Nothing was dropped.
    pub fn found_settings(&self) -> Result<Vec<(String, String)>, StudyError> {
        let library = self.library()?;
        Ok(library.setting_files(&library.found_settings()))
    }

    fn rehearse(&self, bench: &Bench, rehearsal: &dyn Regressors) {
        if let Some(run) = &self.settings.run {
            drop(step::plan(run, self.settings.mode, &bench.catalogue, rehearsal));
        }
    }

    /// What [`work`] needs on another worker.
    ///
    /// # Errors
    /// Nothing was dropped.
    pub fn basis(&self) -> Result<Vec<u8>, StudyError> {
        let bench = self.bench()?;
        let of_steps = bench.steps.as_ref().map(|(table, ..)| {
            let bundle = self.dropped.bundle();
            let entry = bench.ran_on(&bundle.steps[*table]);
            entry.map(|entry| measured::on_cluster(&bench.cluster, entry, &bundle.reduces, &bench.catalogue))
        });
        let clusters = [Some((*bench.cluster).clone()), of_steps.flatten()].into_iter().flatten().collect();
        Ok(postcard::to_allocvec(&Package {
            clusters,
            catalogue: bench.catalogue.to_yaml(),
            mode: bench.options.mode,
            precision: bench.options.precision.clone(),
            doubtful: bench.options.doubtful.clone(),
        })?)
    }

    /// Takes in what [`work`] or [`Study::work_here`] did.
    ///
    /// # Errors
    /// It comes from another build.
    pub fn take(&mut self, done: &[(u32, Vec<u8>)]) -> Result<(), StudyError> {
        let bench = self.bench()?;
        for (number, bytes) in done {
            let library = match &bench.steps {
                Some((_, library, _)) if number & OF_STEPS != 0 => library,
                _ => &bench.library,
            };
            library.accept(job(*number).regressor, bytes)?;
        }
        Ok(())
    }

    /// Does a job in this process, on any thread.
    ///
    /// # Errors
    /// Nothing was dropped.
    pub fn work_here(&self, number: u32, progress: &mut dyn Progress) -> Result<(), StudyError> {
        let bench = self.bench()?;
        let library = match &bench.steps {
            Some((_, library, _)) if number & OF_STEPS != 0 => library,
            _ => &bench.library,
        };
        let job = job(number);
        library.accept(job.regressor, &library.work(job, progress))?;
        Ok(())
    }

    /// Whether the run's regressors are all trained.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.is_trained(|bench, rehearsal| self.rehearse(bench, rehearsal))
    }

    fn is_trained(&self, ask: impl FnOnce(&Bench, &dyn Regressors)) -> bool {
        self.bench.as_ref().is_some_and(|bench| {
            let needed = bench.library.needed(|rehearsal| ask(bench, rehearsal));
            needed.iter().all(|regressor| bench.library.is_trained(*regressor))
        })
    }

    /// The cluster of the catalogue that a table of measured steps, by index, ran on; `None` where neither its path nor the
    /// samples name one.
    #[must_use]
    pub fn ran_on(&self, table: usize) -> Option<&str> {
        let steps = self.dropped.bundle().steps.get(table)?;
        self.bench.as_ref()?.ran_on(steps).map(|entry| entry.name.as_str())
    }

    /// Coefficients from the measured steps that are chosen; `None` where none are, or they are not learnt yet.
    ///
    /// # Errors
    /// They can't calibrate.
    pub fn calibration(&self) -> Result<Option<Calibration>, StudyError> {
        let bench = self.bench()?;
        let (Some((_, library, steps)), Some((_, terms))) = (&bench.steps, self.settings.calibrate) else {
            return Ok(None);
        };
        let needed = library.needed(|rehearsal| {
            for step in steps {
                drop(step::plan(&step.run, self.settings.mode, &bench.catalogue, rehearsal));
            }
        });
        if !needed.iter().all(|regressor| library.is_trained(*regressor)) {
            return Ok(None);
        }
        Ok(Some(calibrate(steps, self.settings.mode, terms, &bench.catalogue, library)?))
    }

    /// What the run's step costs.
    ///
    /// # Errors
    /// There is no run, it breaks a rule, or something is missing: all of it is named.
    pub fn outcome(&self, calibration: Option<&Calibration>) -> Result<Outcome, StudyError> {
        let bench = self.bench()?;
        let run = self.settings.run.as_ref().ok_or(StudyError::NoRun)?;
        let changed = WhatIf::new(&bench.library, &self.settings.changes);
        let mode = self.settings.mode;
        let plan = step::plan(run, mode, &bench.catalogue, &changed)?;
        let coefficients = calibration.map_or_else(Coefficients::default, |calibration| calibration.coefficients);
        let plain = plan.step();
        let marks = plan.marks(&plain);
        let step = coefficients.apply(&plan, &plain);
        let is_drawn = plan
            .parts
            .iter()
            .any(|part| !changed.residuals(part.prediction.regressor, part.prediction.mark).is_empty());
        let draws = Draws::new(&changed, self.settings.seed).totals(&plan, &coefficients);
        let floor = calibration.map_or(&[][..], |calibration| &calibration.residuals);
        let interval_us = interval::interval(step.total_us, draws, floor);
        let unchanged_us = if self.settings.changes.is_empty() {
            None
        } else {
            let plan = step::plan(run, mode, &bench.catalogue, &bench.library)?;
            Some(coefficients.total(&plan, &plan.step()))
        };
        let anatomy = Anatomy::of(run, &bench.catalogue);
        let tokens = run.global_batch() as f64 * f64::from(run.model.sequence);
        Ok(Outcome {
            memory: memory::of(run, &anatomy),
            capacity_bytes: self.memory_gib(run).map(|gib| memory::capacity_bytes(gib, self.settings.reserve_gib)),
            tokens_per_gpu: tokens / (step.total_us / 1e6) / run.layout.gpus() as f64,
            plan,
            interval_us,
            is_drawn,
            marks,
            unchanged_us,
            step,
        })
    }

    /// Memory of a device in GiB: what the run says, else the GPU's entry in the catalogue.
    #[must_use]
    pub fn memory_gib(&self, run: &Run) -> Option<f64> {
        let bench = self.bench.as_ref()?;
        run.execution.memory_gib.or_else(|| bench.catalogue.gpu(&bench.cluster.gpu)?.memory_gib)
    }

    /// The best layouts, once what they need is trained. `first` is told the first rows, and may break off there.
    ///
    /// # Errors
    /// Nothing was dropped.
    pub fn searched(
        &self,
        calibration: Option<&Calibration>,
        progress: &mut dyn Progress,
        first: &mut dyn FnMut(&[search::Row]) -> ControlFlow<()>,
    ) -> Result<Option<Searched>, StudyError> {
        let bench = self.bench()?;
        let Some(question) = &self.settings.search else { return Ok(None) };
        let changed = WhatIf::new(&bench.library, &self.settings.changes);
        let least = self.settings.changes.iter().map(|change| match change.to {
            To::Times(factor) => factor.min(1.0),
            To::Table { .. } => 1.0,
        });
        let known = Knowledge {
            regressors: &changed,
            catalogue: &bench.catalogue,
            gpu: bench.catalogue.gpu(&bench.cluster.gpu),
            calibration,
            least_factor: least.product(),
            seed: self.settings.seed,
        };
        let found = search::search(question, &known, progress, first);
        let unchanged = if self.settings.changes.is_empty() || found.is_partial {
            None
        } else {
            let known = Knowledge { regressors: &bench.library, least_factor: 1.0, ..known };
            let question = search::Question { best: 1, everything: false, ..question.clone() };
            search::search(&question, &known, &mut Silent, &mut |_| ControlFlow::Continue(())).rows.into_iter().next()
        };
        Ok(Some(Searched { found, unchanged }))
    }

    /// Whether all that the search needs is trained.
    #[must_use]
    pub fn can_search(&self) -> bool {
        self.is_trained(|bench, rehearsal| {
            if let Some(question) = &self.settings.search {
                let memo = search::Memo::new(rehearsal, &bench.catalogue);
                let runs = search::space::space(question).runs;
                runs.iter().for_each(|run| drop(step::plan(run, question.mode, &bench.catalogue, &memo)));
            }
        })
    }
}

fn job(number: u32) -> Job {
    let task = match number & 3 {
        0 => Task::Train,
        1 => Task::Validate,
        _ => Task::Search,
    };
    Job { regressor: (number & !OF_STEPS) >> 2, task, cost: 0.0 }
}

/// Does jobs of [`Study::rounds`] from [`Study::basis`] alone, on any worker.
pub struct Workshop {
    /// Of the samples; of the measured steps.
    libraries: Vec<Library>,
}

impl Workshop {
    /// Reads the basis.
    ///
    /// # Errors
    /// It comes from another build.
    pub fn new(basis: &[u8]) -> Result<Self, StudyError> {
        let Package { clusters, catalogue, mode, precision, doubtful } = postcard::from_bytes(basis)?;
        let catalogue = Arc::new(Catalogue::parse(&catalogue).unwrap_or_default());
        let options = Options { mode, precision, doubtful, ..Options::default() };
        let library = |cluster| Library::new(Arc::new(cluster), Arc::clone(&catalogue), options.clone());
        Ok(Self { libraries: clusters.into_iter().map(library).collect() })
    }

    /// Does some jobs: their numbers, with what is for [`Study::take`].
    pub fn work(&self, jobs: &[u32], progress: &mut dyn Progress) -> Vec<(u32, Vec<u8>)> {
        let mut done = Vec::new();
        for (count, number) in jobs.iter().enumerate() {
            progress.report("Learning from samples", count as u64, jobs.len() as u64);
            let place = if number & OF_STEPS == 0 { self.libraries.first() } else { self.libraries.get(1) };
            if let Some(library) = place {
                let job = job(*number);
                // What takes minutes says itself how far it is.
                let bytes =
                    if job.task == Task::Search { library.work(job, progress) } else { library.work(job, &mut Silent) };
                done.push((*number, bytes));
            }
        }
        done
    }
}
