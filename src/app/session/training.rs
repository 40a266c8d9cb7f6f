//! Trains and validates the model of the tuning workbench.

use std::{rc::Rc, sync::Arc};

use leptos::prelude::*;

use super::{
    Session,
    notice::NoticeAction,
    task::{RunError, Task},
    tuning::AnswerBasis,
    workers::{Unvalidated, WorkerMemory, client::Answer, failure::Failure},
};
use crate::{
    progress::Step,
    tuning::{
        parameters::SetAside,
        result::{Recommendation, Trained, Validated},
        stalls::Stall,
        study::{MAX_TRAINED_GROUPS, TuningStudyError},
    },
    worker::protocol::{Request, Response},
};

impl Session {
    /// Trains with the current parameters, then validates.
    pub fn train(self) {
        self.dismiss_actionable_notices();
        self.workers.update_value(|workers| workers.idle_crashes = 0);
        self.start(NoticeAction::Train, async move |run| {
            self.run_train(run).await?;
            self.run_validate(run).await
        });
    }

    /// Sets a configuration aside at all sizes of a scale, or uses it again; then trains again.
    pub fn toggle_set_aside(self, aside: SetAside) {
        self.tuning.parameters.update(|parameters| {
            let all = &mut parameters.screening.set_aside;
            if all.contains(&aside) {
                all.retain(|other| *other != aside);
            } else {
                all.push(aside);
            }
        });
        self.train();
    }

    /// Uses a stalled run like any other, or sets it aside again; then trains again. A stalled run that has no repeat
    /// is used in any case.
    pub fn toggle_stall(self, stall: &Stall) {
        let id = stall.id();
        self.tuning.parameters.update(|parameters| {
            let all = &mut parameters.screening.brought_back;
            if stall.set_aside {
                all.push(id);
            } else {
                all.retain(|other| *other != id);
            }
        });
        self.train();
    }

    /// Validates again what an interrupted validation left.
    pub(super) fn validate(self) {
        self.start(NoticeAction::Train, async move |run| self.run_validate(run).await);
    }

    pub(super) async fn run_train(self, run: u32) -> Result<(), RunError> {
        let files_changed = self.workers.with_value(|workers| workers.files_changed);
        // An earlier study may have ended the worker.
        if self.worker_memory.get_untracked() == WorkerMemory::Nothing
            && (files_changed || self.tuning.groups.with_untracked(|all| !all.is_empty()))
        {
            self.run_load(run, true).await?;
        }
        // Without runs of forced configurations there is nothing to train on.
        if self.tuning.groups.with_untracked(|groups| groups.iter().all(|group| group.points == 0)) {
            return Ok(());
        }
        let count = self.tuning.groups.with_untracked(|groups| groups.len());
        if count > MAX_TRAINED_GROUPS {
            // A notice, because it would be lost among the notes on so many scales.
            self.notify(format!("Nothing is learnt: {}.", TuningStudyError::TooManyScales(count)), false, None);
            return Ok(());
        }
        let parameters = self.tuning.parameters.get_untracked();
        self.tuning.trained_with.set(parameters.clone());
        let request = Request::Train { parameters: parameters.clone() };
        let Answer { response: Response::Trained(trained), training: Some(training) } =
            self.run_job(run, "Training", request, &[]).await?
        else {
            return Err(Failure::InvalidMessage.into());
        };
        let Trained { answer, folds, notes, .. } = trained;
        self.worker_memory.set(WorkerMemory::Model);
        self.tuning.answer.set(Arc::new(answer));
        self.tuning.basis.set(AnswerBasis::Trained);
        self.tuning.evaluation.set(None);
        self.tuning.importances.set(None);
        self.tuning.notes.update(|all| {
            all[1] = notes;
            all[2].clear();
        });
        let unvalidated = Unvalidated { training, parameters, fold_costs: folds };
        self.workers.update_value(|workers| workers.unvalidated = Some(unvalidated));
        self.announce_answer();
        self.refresh_view();
        Ok(())
    }

    pub(super) async fn run_validate(self, run: u32) -> Result<(), RunError> {
        let unvalidated = self.workers.try_update_value(|workers| workers.unvalidated.clone()).flatten();
        let Some(Unvalidated { training, parameters, fold_costs }) = unvalidated else { return Ok(()) };
        if fold_costs.is_empty() {
            return Ok(());
        }
        let report = move |share: f64| {
            if self.ensure_current(run).is_ok() {
                let step =
                    Step { doing: "Predicting what was held out".into(), done: (share * 1000.0) as u64, total: 1000 };
                self.task.set(Some(Task { name: "Validating", step }));
            }
        };
        report(0.0);
        let request = |fold| Request::Folds { training: Vec::new(), parameters: parameters.clone(), folds: vec![fold] };
        let folds = self.pool().folds(&training, &fold_costs, &request, Rc::new(report)).await;
        self.ensure_current(run)?;
        let folds = folds.map_err(|failure| failure.during(|| self.describe_task()))?;
        let request = Request::Validate { folds };
        let Response::Validated(validated) = self.run_job(run, "Validating", request, &[]).await?.response else {
            return Err(Failure::InvalidMessage.into());
        };
        let Validated { evaluation, answer, notes } = validated;
        self.worker_memory.set(WorkerMemory::Evaluation);
        self.tuning.answer.set(Arc::new(answer));
        self.tuning.basis.set(AnswerBasis::Validated);
        self.tuning.evaluation.set(Some(Arc::new(evaluation)));
        self.tuning.notes.update(|all| all[2] = notes);
        self.workers.update_value(|workers| workers.unvalidated = None);
        self.announcement.set("Validation is done.".into());
        self.refresh_view();
        Ok(())
    }

    fn announce_answer(self) {
        let sentence = self.recommendation_untracked().map(|r| crate::tuning::wording::sentence(&r));
        self.announcement.set(sentence.unwrap_or_else(|| "The model is trained.".into()));
    }

    fn recommendation_untracked(self) -> Option<Recommendation> {
        untrack(move || self.tuning.recommendation())
    }
}
