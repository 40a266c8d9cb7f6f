//! Training and validation in parts that any worker can do, each from the samples alone.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use super::{
    library::Library,
    model::{Grid, Model, Validation},
};
use crate::{
    progress::Progress,
    training_time::{
        prediction::{Direction, Missing, Mode, Prediction, Regressors},
        samples::{Communicator, RegressorFamily},
        scope::Scope,
    },
};

/// A task for a regressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Task {
    /// Train the regressor on all of its rows.
    Train,
    /// Find its errors where it had not seen the answer.
    Validate,
    /// Search the full grid for the settings of the parity mode.
    Search,
}

/// One task of one regressor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The number of the regressor.
    pub regressor: u32,
    /// What is done with the regressor.
    pub task: Task,
    /// The expected duration relative to other jobs.
    pub cost: f64,
}

#[derive(Serialize, Deserialize)]
enum Done {
    Train(Model),
    Validate(Validation),
    Search(Option<(RegressorFamily, f64)>),
}

/// The result of a job can't be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what a worker learnt could not be read")]
pub struct Unreadable;

impl Library {
    /// The jobs for some regressors, the longest first: training of those that are not trained yet.
    pub fn jobs(&self, regressors: &[u32], task: Task) -> Vec<Job> {
        let is_open = |regressor: &&u32| match task {
            Task::Train => !self.is_trained(**regressor),
            Task::Validate => self.validation(**regressor).is_none(),
            Task::Search => !self.is_searched(**regressor),
        };
        let mut jobs: Vec<Job> = regressors
            .iter()
            .filter(is_open)
            .map(|&regressor| Job { regressor, task, cost: self.cost(regressor, task) })
            .collect();
        crate::order::CompactSort::compact_sort_by(jobs.as_mut_slice(), |a, b| b.cost.total_cmp(&a.cost));
        jobs
    }

    /// Rows times trees times how often they are fitted, in millions of rows; curves cost nearly nothing.
    fn cost(&self, regressor: u32, task: Task) -> f64 {
        let (Some(sampled), Some(target)) = (self.sampled(regressor), self.target(regressor)) else { return 0.0 };
        let rows = sampled.len() as f64 / 1e6;
        let trees = match self.setting(target).map(|setting| setting.family) {
            _ if self.mode() == Mode::Default => match target {
                super::RegressorTarget::Collective { .. } => 3.0,
                _ => 300.0,
            },
            // Whole trees are some times deeper than six splits.
            Some(RegressorFamily::Forest { trees, .. }) => 2.0 * f64::from(trees),
            Some(RegressorFamily::Boosted { rounds, max_depth, .. }) => f64::from(rounds) * f64::from(max_depth) / 6.0,
            None => 3.0 * 1650.0,
        };
        let inputs = sampled.inputs().filter(|(_, values)| values.len() > 1).count();
        match task {
            Task::Train => rows * trees,
            Task::Validate => rows * trees * (2.0 + inputs as f64),
            // Two thirds of the rows three times, of each point of the grid.
            Task::Search => rows * 2.0 * 150_000.0,
        }
    }

    /// Carries out a job. The result is to be passed to [`Library::accept`].
    pub fn work(&self, job: Job, progress: &mut dyn Progress) -> Vec<u8> {
        let done = match job.task {
            Task::Train => Done::Train(self.fit(job.regressor, progress)),
            Task::Search => Done::Search(self.search(job.regressor, Grid::Full, progress).ok()),
            // Too few rows have no errors to show.
            Task::Validate => Done::Validate(self.validate(job.regressor, progress).unwrap_or_default()),
        };
        postcard::to_stdvec(&done).unwrap_or_default()
    }

    /// Takes in what came out of a job, here or elsewhere.
    ///
    /// # Errors
    /// Returns an error if the bytes are none of [`Library::work`].
    pub fn accept(&self, regressor: u32, bytes: &[u8]) -> Result<(), Unreadable> {
        match postcard::from_bytes(bytes) {
            Ok(Done::Train(model)) => self.set_model(regressor, model),
            Ok(Done::Validate(validation)) => self.set_validation(regressor, validation),
            Ok(Done::Search(best)) => self.set_best(regressor, best),
            // What exactly is wrong helps nobody.
            Err(_) => return Err(Unreadable),
        }
        Ok(())
    }

    /// The regressors that are asked when `ask` asks, without training any: what it is told are no times.
    pub fn needed(&self, ask: impl FnOnce(&dyn Regressors)) -> Vec<u32> {
        let rehearsal = Rehearsal { library: self, asked: RefCell::default() };
        ask(&rehearsal);
        rehearsal.asked.into_inner()
    }
}

/// Records which regressors would be used.
struct Rehearsal<'a> {
    library: &'a Library,
    asked: RefCell<Vec<u32>>,
}

impl Rehearsal<'_> {
    fn note(&self, regressors: &[u32]) -> Option<Prediction> {
        let mut asked = self.asked.borrow_mut();
        for regressor in regressors {
            if !asked.contains(regressor) {
                asked.push(*regressor);
            }
        }
        let regressor = *regressors.first()?;
        Some(Prediction { time_us: 1.0, mark: Default::default(), beyond: None, regressor, least_us: 0.0 })
    }
}

impl Regressors for Rehearsal<'_> {
    fn operator(&self, name: &str, direction: Direction, _scope: &Scope) -> Result<Prediction, Missing> {
        let regressors = self.library.asked_for_operator(name, direction);
        self.note(&regressors).ok_or_else(|| Missing::Operator(name.to_owned()))
    }

    fn collective(&self, name: &str, _elements: u64, communicator: Communicator) -> Result<Prediction, Missing> {
        let regressors = self.library.asked_for_collective(name, communicator);
        self.note(&regressors).ok_or_else(|| Missing::Collective { collective: name.to_owned(), communicator })
    }

    fn residuals(&self, _regressor: u32, _mark: crate::training_time::prediction::Mark) -> &[f64] {
        &[]
    }
}
