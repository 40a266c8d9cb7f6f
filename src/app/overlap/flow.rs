//! What happens after a drop of kernels: those models that learn nothing are compared, then round by round the others,
//! then features are weighed. The answer is shown after each step.

use std::{rc::Rc, sync::Arc};

use js_sys::ArrayBuffer;
use leptos::prelude::*;

use crate::{
    app::{
        client::Answer,
        failure::Failure,
        tuning::{Bench, Held, Remedy, Stop},
    },
    overlap::{
        features::Settings,
        request::{self, Question, Shown, Studied},
    },
    progress::Step,
    report::{Contents, Workbench},
    worker::protocol::{Request, Response},
};

fn about(question: Question) -> Request {
    Request::Overlap(Box::new(question))
}

impl Bench {
    /// Compares the models anew, with other settings.
    pub fn study_with(self, change: impl FnOnce(&mut Settings)) {
        self.kernels.settings.update(change);
        self.study();
    }

    /// Compares the models.
    pub fn study(self) {
        self.start(Remedy::ReadAgain, async move |run| {
            if self.held.get_untracked() == Held::Nothing {
                self.run_load(run, true).await?;
            }
            self.run_study(run).await
        });
    }

    /// Shows the predictions of another model.
    pub fn show_model(self, shown: Option<Shown>) {
        self.kernels.shown.set(shown);
        // A comparison under way tells of it with its next step.
        if self.task.with_untracked(Option::is_none) {
            self.start(Remedy::ReadAgain, async move |run| {
                if self.held.get_untracked() == Held::Nothing {
                    self.run_load(run, true).await?;
                    self.run_study_again(run).await?;
                }
                self.run_judge(run, Vec::new()).await
            });
        }
    }

    /// From the loaded kernels to the whole answer.
    pub async fn run_study(self, run: u32) -> Result<(), Stop> {
        if self.documents.with_untracked(|all| all.kernels.is_empty()) {
            return Ok(());
        }
        let kernels = self.kernels;
        kernels.is_complete.set(false);
        kernels.folds.set_value(Vec::new());
        self.pool().warm_up();
        let (studied, rows) = match self.ask_study(run).await {
            Err(Stop::Failed(Failure::Refused(why))) => {
                kernels.error.set(Some(why));
                return Ok(());
            }
            other => other?,
        };
        let costs = studied.jobs.clone();
        let rounds = studied.rounds.clone();
        kernels.error.set(None);
        kernels.studied.set(Some(Arc::new(studied)));
        self.run_judge(run, Vec::new()).await?;
        if self.kernels.report.with_untracked(|report| report.as_ref().is_none_or(|report| report.sections.len() < 2)) {
            // Nothing overlaps.
            return Ok(());
        }
        let total: f64 = costs.iter().sum();
        let mut done = 0.0;
        for round in rounds {
            let costs: Vec<f64> = round.iter().filter_map(|job| costs.get(*job as usize).copied()).collect();
            let weight: f64 = costs.iter().sum();
            let report = move |share: f64| {
                if self.still(run).is_ok() {
                    let share = (done + weight * share) / total;
                    let doing = "Predicting what was held out".into();
                    let step = Step { doing, done: (share * 1000.0) as u64, total: 1000 };
                    self.task.set(Some(crate::app::tuning::Task { name: "Comparing", step }));
                }
            };
            let request = |job: u32| about(Question::Folds { run: Vec::new(), jobs: vec![round[job as usize]] });
            let folds = self.pool().folds(&rows, &costs, &request, Rc::new(report)).await;
            self.still(run)?;
            done += weight;
            self.run_judge(run, folds?).await?;
        }
        self.work(run, "Weighing features", about(Question::Importances), &[]).await?;
        self.run_judge(run, Vec::new()).await?;
        kernels.is_complete.set(true);
        let verdict = kernels.report.with_untracked(|report| report.as_ref()?.summary.first().cloned());
        self.announcement.set(verdict.unwrap_or_else(|| "All models were compared.".into()));
        Ok(())
    }

    /// Gives a new worker what the one before had learnt.
    pub async fn run_study_again(self, run: u32) -> Result<(), Stop> {
        if untrack(move || self.kernels.is_there()) {
            self.ask_study(run).await?;
            let folds = self.kernels.folds.get_value();
            let question = Question::Judge { folds, shown: self.kernels.shown.get_untracked() };
            self.work(run, "Comparing", about(question), &[]).await?;
        }
        Ok(())
    }

    async fn ask_study(self, run: u32) -> Result<(Studied, ArrayBuffer), Stop> {
        let question = Question::Study(self.kernels.settings.get_untracked());
        let Answer { response: Response::Overlap(answer), training: Some(rows) } =
            self.work(run, "Comparing", about(question), &[]).await?
        else {
            return Err(Failure::Garbled.into());
        };
        match *answer {
            request::Answer::Studied(studied) => Ok((*studied, rows)),
            _ => Err(Failure::Garbled.into()),
        }
    }

    /// Takes further folds in and shows the answer.
    async fn run_judge(self, run: u32, folds: Vec<Vec<u8>>) -> Result<(), Stop> {
        self.kernels.folds.update_value(|all| all.extend(folds.iter().cloned()));
        let question = Question::Judge { folds, shown: self.kernels.shown.get_untracked() };
        self.work(run, "Comparing", about(question), &[]).await?;
        let contents = Contents { workbench: Workbench::Overlap, ..Contents::whole() };
        let Response::Report(report) = self.work(run, "Comparing", Request::Report(contents), &[]).await?.response
        else {
            return Err(Failure::Garbled.into());
        };
        self.kernels.report.set(Some(report.into()));
        Ok(())
    }
}
