//! A pool of workers that share jobs.

use std::{cell::RefCell, rc::Rc};

use futures::future::try_join_all;
use js_sys::ArrayBuffer;

use super::{
    client::{Client, JobKind},
    failure::Failure,
};
use crate::{
    order::CompactSort,
    progress::Step,
    workbench::WorkbenchAnswer,
    worker::protocol::{Request, Response},
};

/// Workers that hold no files.
#[derive(Clone)]
pub struct Pool(Rc<Vec<Client>>);

/// The jobs that remain and the progress of the others, shared by the workers of a call.
struct FoldProgress {
    costs: Vec<f64>,
    /// The remaining jobs in ascending order of cost; they are taken from the end.
    pending: Vec<u32>,
    /// The finished share of each job, from 0 to 1.
    shares: Vec<f64>,
}

impl FoldProgress {
    fn new(costs: &[f64]) -> Self {
        let costs: Vec<f64> = costs.iter().map(|cost| if *cost > 0.0 { *cost } else { 1.0 }).collect();
        let mut pending: Vec<u32> = (0..costs.len() as u32).collect();
        pending.compact_sort_by(|a, b| costs[*a as usize].total_cmp(&costs[*b as usize]));
        Self { pending, shares: vec![0.0; costs.len()], costs }
    }

    fn share(&self) -> f64 {
        let done: f64 = self.costs.iter().zip(&self.shares).map(|(cost, share)| cost * share).sum();
        done / self.costs.iter().sum::<f64>()
    }
}

impl Pool {
    /// A pool with a worker for each core but one, at least 1 and at most 4. They start when they are needed.
    pub fn new(cores: f64) -> Self {
        let members = (cores as usize).saturating_sub(1).clamp(1, 4);
        // An idle worker that ends is replaced when it is needed.
        Self(Rc::new((0..members).map(|_| Client::new(|_| ())).collect()))
    }

    /// Starts the workers before there are jobs.
    pub fn warm_up(&self) {
        self.0.iter().for_each(Client::warm_up);
    }

    /// Ends the workers that have a job.
    pub fn stop(&self) {
        self.0.iter().filter(|member| member.is_working()).for_each(Client::stop);
    }

    /// Checks every worker, see [`Client::check_alive`].
    pub fn check_alive(&self) -> bool {
        // Every worker must be checked, so no short circuit.
        self.0.iter().fold(false, |silent, member| member.check_alive() | silent)
    }

    /// Does one job for each of `costs`, each on the next free worker. `request` makes the request of a job, which is
    /// sent with the data `training`; `progress` is called with the finished share, from 0 to 1. A job whose worker
    /// ended is tried again once.
    ///
    /// # Errors
    /// Returns the failure of the first job that could not be done.
    pub async fn folds(
        &self,
        training: &ArrayBuffer,
        costs: &[f64],
        request: &dyn Fn(u32) -> Request,
        progress: Rc<dyn Fn(f64)>,
    ) -> Result<Vec<Vec<u8>>, Failure> {
        let fold_progress = Rc::new(RefCell::new(FoldProgress::new(costs)));
        let member = async |client: &Client| {
            let mut results = Vec::new();
            let mut failed_once = false;
            loop {
                let Some(fold) = fold_progress.borrow_mut().pending.pop() else { return Ok(results) };
                let (shared, on_progress) = (fold_progress.clone(), progress.clone());
                let report = move |step: Step| {
                    shared.borrow_mut().shares[fold as usize] = step.done as f64 / step.total.max(1) as f64;
                    on_progress(shared.borrow().share());
                };
                let answer = client.ask(JobKind::Long, request(fold), &[training.into()], Box::new(report)).await;
                let result = answer.map(|answer| match answer.response {
                    Response::Study(answer) => match *answer {
                        WorkbenchAnswer::Done(result) => Some(result),
                        _ => None,
                    },
                    _ => None,
                });
                match result {
                    Ok(Some(result)) => {
                        results.push(result);
                        fold_progress.borrow_mut().shares[fold as usize] = 1.0;
                        progress(fold_progress.borrow().share());
                    }
                    Ok(None) => return Err(Failure::InvalidMessage),
                    Err(failure @ (Failure::Cancelled | Failure::Refused(_))) => return Err(failure),
                    Err(failure) if failed_once || !failure.can_retry() => return Err(failure),
                    Err(_) => {
                        failed_once = true;
                        fold_progress.borrow_mut().pending.push(fold);
                    }
                }
            }
        };
        let results = try_join_all(self.0.iter().map(member)).await?;
        Ok(results.into_iter().flatten().collect())
    }
}
