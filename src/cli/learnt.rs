//! Learning as the page's workers do it, on threads.

use std::{
    num::NonZero,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use crate::{
    progress::{Progress, Silent},
    tuning::{
        aggregate::Target,
        parameters::Parameters,
        result::{Evaluation, Group},
    },
    worker::{
        executor::{self, ExecuteError, Executor, OpenedFiles},
        protocol::Trained,
    },
};

/// What was learnt from files, and how far to trust it.
pub(super) struct Learnt {
    /// Holds the sweep, the model and its validation.
    pub(super) executor: Executor,
    /// What was measured.
    pub(super) groups: Vec<Group>,
    /// Scores of the model and the baselines.
    pub(super) evaluation: Evaluation,
    /// What must be known about sweep, model and answers.
    pub(super) notes: Vec<String>,
}

impl Learnt {
    /// Learns from what files hold, and validates.
    pub(super) fn learn(
        opened: OpenedFiles,
        target: Target,
        parameters: &Parameters,
        progress: &mut dyn Progress,
    ) -> Result<Self, ExecuteError> {
        let mut executor = Executor::default();
        let loaded = executor.take_in(opened, target, progress)?;
        let trained = executor.train(parameters.clone(), progress)?;
        let folds = predict_folds(&trained, parameters, progress)?;
        let validated = executor.validate(&folds, progress)?;
        let notes = [loaded.notes, trained.notes, validated.notes].concat();
        Ok(Self { executor, groups: loaded.groups, evaluation: validated.evaluation, notes })
    }
}

/// Predicts the folds on as many threads as the machine has processors, each fold by itself.
fn predict_folds(
    trained: &Trained,
    parameters: &Parameters,
    progress: &mut dyn Progress,
) -> Result<Vec<Vec<u8>>, ExecuteError> {
    let total = trained.folds.len();
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(total);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let fold = next.fetch_add(1, Ordering::Relaxed);
                    let predict =
                        || executor::predict_folds(&trained.training, parameters, &[fold as u32], &mut Silent);
                    if fold >= total || sender.send(predict()).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut folds = Vec::with_capacity(total);
        progress.report("Validating", 0, total as u64);
        for fold in receiver {
            folds.push(fold?);
            progress.report("Validating", folds.len() as u64, total as u64);
        }
        Ok(folds)
    })
}
