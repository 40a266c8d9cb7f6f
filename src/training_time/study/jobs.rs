//! The training of regressors as jobs that any worker can carry out.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ClusterRegressors, StudyError, TrainingTimeStudy};
use crate::{
    progress::{Progress, Silent},
    training_time::{
        catalogue::Catalogue,
        measured,
        regressors::{
            Library, Mode, Options,
            jobs::{Job, Task},
        },
        samples::{Cluster, SourceLine},
    },
};

/// The data that a worker needs to carry out jobs.
#[derive(Serialize, Deserialize)]
struct JobInput {
    /// The cluster of the samples, and that of the measured steps.
    clusters: Vec<Cluster>,
    catalogue: String,
    mode: Mode,
    precision: String,
    doubtful: Vec<SourceLine>,
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

fn job(number: u32) -> Job {
    let task = match number & 3 {
        0 => Task::Train,
        1 => Task::Validate,
        _ => Task::Search,
    };
    Job { regressor: (number & !OF_STEPS) >> 2, task, cost: 0.0 }
}

impl ClusterRegressors {
    /// The library to which the regressor with this number belongs.
    fn library_of(&self, number: u32) -> &Library {
        let of_steps = self.steps.as_ref().filter(|_| number & OF_STEPS != 0);
        of_steps.map_or(&self.library, |steps| &steps.library)
    }
}

impl TrainingTimeStudy {
    /// Jobs in rounds, after each of which there is more to be told: the run's regressors trained, those of measured
    /// steps, those of the search; then the errors of the run's, and of the search's.
    ///
    /// # Errors
    /// Returns an error if no file was dropped.
    pub fn rounds(&self) -> Result<Vec<Vec<(u32, f64)>>, StudyError> {
        let cluster_regressors = self.cluster_regressors()?;
        let mut rounds: Vec<Vec<(u32, f64)>> = Vec::new();
        let mut known: Vec<u32> = Vec::new();
        let mut push = |jobs: Vec<Job>, of_steps: bool, known: &mut Vec<u32>| {
            let numbered = jobs.iter().map(|job| (number(job, of_steps), job.cost));
            let new: Vec<(u32, f64)> = numbered.filter(|(number, _)| !known.contains(number)).collect();
            known.extend(new.iter().map(|(number, _)| *number));
            rounds.push(new);
        };
        let of_run = cluster_regressors.library.needed(|rehearsal| self.record_needed(cluster_regressors, rehearsal));
        push(cluster_regressors.library.jobs(&of_run, Task::Train), false, &mut known);
        if let Some(steps) = &cluster_regressors.steps {
            let needed = steps.needed(self.settings.mode, &cluster_regressors.catalogue);
            push(steps.library.jobs(&needed, Task::Train), true, &mut known);
        }
        if self.settings.search.is_some() {
            let needed = self.search_regressors(cluster_regressors);
            push(cluster_regressors.library.jobs(needed, Task::Train), false, &mut known);
            push(cluster_regressors.library.jobs(&of_run, Task::Validate), false, &mut known);
            push(cluster_regressors.library.jobs(needed, Task::Validate), false, &mut known);
        }
        push(cluster_regressors.library.jobs(&of_run, Task::Validate), false, &mut known);
        if let Some(function) = &self.settings.settings_of {
            push(
                cluster_regressors.library.jobs(&cluster_regressors.library.of_function(function), Task::Search),
                false,
                &mut known,
            );
        }
        rounds.retain(|round| !round.is_empty());
        Ok(rounds)
    }

    /// The data that [`JobRunner::work`] needs on another worker.
    ///
    /// # Errors
    /// Returns an error if no file was dropped.
    pub fn basis(&self) -> Result<Vec<u8>, StudyError> {
        let cluster_regressors = self.cluster_regressors()?;
        let of_steps = cluster_regressors.steps.as_ref().map(|steps| {
            let bundle = self.dropped.bundle();
            let entry = bundle.steps.get(steps.table).and_then(|table| cluster_regressors.ran_on(table));
            entry.map(|entry| {
                measured::on_cluster(&cluster_regressors.cluster, entry, &bundle.reduces, &cluster_regressors.catalogue)
            })
        });
        let clusters =
            [Some((*cluster_regressors.cluster).clone()), of_steps.flatten()].into_iter().flatten().collect();
        Ok(postcard::to_allocvec(&JobInput {
            clusters,
            catalogue: cluster_regressors.catalogue.to_yaml(),
            mode: cluster_regressors.options.mode,
            precision: cluster_regressors.options.precision.clone(),
            doubtful: cluster_regressors.options.doubtful.clone(),
        })?)
    }

    /// Takes in what [`JobRunner::work`] or [`TrainingTimeStudy::work_here`] did.
    ///
    /// # Errors
    /// Returns an error if the data comes from another build.
    pub fn take(&mut self, done: &[(u32, Vec<u8>)]) -> Result<(), StudyError> {
        let cluster_regressors = self.cluster_regressors()?;
        for (number, bytes) in done {
            cluster_regressors.library_of(*number).accept(job(*number).regressor, bytes)?;
        }
        Ok(())
    }

    /// Does a job in this process, on any thread.
    ///
    /// # Errors
    /// Returns an error if no file was dropped.
    pub fn work_here(&self, number: u32, progress: &mut dyn Progress) -> Result<(), StudyError> {
        let cluster_regressors = self.cluster_regressors()?;
        let (library, job) = (cluster_regressors.library_of(number), job(number));
        library.accept(job.regressor, &library.work(job, progress))?;
        Ok(())
    }
}

/// Does jobs of [`TrainingTimeStudy::rounds`] from [`TrainingTimeStudy::basis`] alone, on any worker.
pub struct JobRunner {
    /// The library of the samples, and that of the measured steps.
    libraries: Vec<Library>,
}

impl JobRunner {
    /// Reads the basis.
    ///
    /// # Errors
    /// Returns an error if the data comes from another build.
    pub fn new(basis: &[u8]) -> Result<Self, StudyError> {
        let JobInput { clusters, catalogue, mode, precision, doubtful } = postcard::from_bytes(basis)?;
        let catalogue = Arc::new(Catalogue::parse(&catalogue).unwrap_or_default());
        let options = Options { mode, precision, doubtful, ..Options::default() };
        let library = |cluster| Library::new(Arc::new(cluster), Arc::clone(&catalogue), options.clone());
        Ok(Self { libraries: clusters.into_iter().map(library).collect() })
    }

    /// Does some jobs: their numbers, with what is for [`TrainingTimeStudy::take`].
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
