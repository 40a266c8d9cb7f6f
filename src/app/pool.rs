//! Further workers, which share folds among them.

use std::{cell::RefCell, rc::Rc};

use futures::future::try_join_all;
use js_sys::ArrayBuffer;

use super::{
    client::{Client, Weight},
    failure::Failure,
};
use crate::{
    order::CompactSort,
    progress::Step,
    workbench::WorkbenchAnswer,
    worker::protocol::{Request, Response},
};

/// Some workers that hold no document.
#[derive(Clone)]
pub struct Pool(Rc<Vec<Client>>);

/// Shared by the workers while they compute: which folds are left, and how far the others are.
struct Ledger {
    costs: Vec<f64>,
    /// The most expensive last, where it is taken first.
    left: Vec<u32>,
    /// The finished share of each fold.
    shares: Vec<f64>,
}

impl Ledger {
    fn new(costs: &[f64]) -> Self {
        let costs: Vec<f64> = costs.iter().map(|cost| if *cost > 0.0 { *cost } else { 1.0 }).collect();
        let mut left: Vec<u32> = (0..costs.len() as u32).collect();
        left.compact_sort_by(|a, b| costs[*a as usize].total_cmp(&costs[*b as usize]));
        Self { left, shares: vec![0.0; costs.len()], costs }
    }

    fn share(&self) -> f64 {
        let done: f64 = self.costs.iter().zip(&self.shares).map(|(cost, share)| cost * share).sum();
        done / self.costs.iter().sum::<f64>()
    }
}

impl Pool {
    /// As many workers as the machine has spare cores, four at most; they start when they are needed.
    pub fn new(cores: f64) -> Self {
        let members = (cores as usize).saturating_sub(1).clamp(1, 4);
        // An idle member that dies is replaced when it is needed.
        Self(Rc::new((0..members).map(|_| Client::new(|_| ())).collect()))
    }

    /// Starts the workers before there is work.
    pub fn warm_up(&self) {
        self.0.iter().for_each(Client::warm_up);
    }

    /// Ends the workers that are at work.
    pub fn stop(&self) {
        self.0.iter().filter(|member| member.at_work()).for_each(Client::stop);
    }

    /// See [`Client::beat`].
    pub fn beat(&self) -> bool {
        // Every member needs its beat, so no short circuit.
        self.0.iter().fold(false, |silent, member| member.beat() | silent)
    }

    /// Computes every fold of `costs`, each on the next free worker; `request` asks for one, from the rows `training`;
    /// `progress` is told the finished share.
    pub async fn folds(
        &self,
        training: &ArrayBuffer,
        costs: &[f64],
        request: &dyn Fn(u32) -> Request,
        progress: Rc<dyn Fn(f64)>,
    ) -> Result<Vec<Vec<u8>>, Failure> {
        let ledger = Rc::new(RefCell::new(Ledger::new(costs)));
        let member = async |client: &Client| {
            let mut results = Vec::new();
            let mut failed_once = false;
            loop {
                let Some(fold) = ledger.borrow_mut().left.pop() else { return Ok(results) };
                let (shared, told) = (ledger.clone(), progress.clone());
                let report = move |step: Step| {
                    shared.borrow_mut().shares[fold as usize] = step.done as f64 / step.total.max(1) as f64;
                    told(shared.borrow().share());
                };
                let answer = client.ask(Weight::Work, request(fold), &[training.into()], Box::new(report)).await;
                let result = answer.map(|answer| match answer.response {
                    Response::FoldsDone(result) => Some(result),
                    Response::Study(answer) => match *answer {
                        WorkbenchAnswer::Done(result) => Some(result),
                        _ => None,
                    },
                    _ => None,
                });
                match result {
                    Ok(Some(result)) => {
                        results.push(result);
                        ledger.borrow_mut().shares[fold as usize] = 1.0;
                        progress(ledger.borrow().share());
                    }
                    Ok(None) => return Err(Failure::Garbled),
                    Err(failure @ (Failure::Cancelled | Failure::Refused(_))) => return Err(failure),
                    Err(failure) if failed_once || !failure.is_curable() => return Err(failure),
                    Err(_) => {
                        failed_once = true;
                        ledger.borrow_mut().left.push(fold);
                    }
                }
            }
        };
        let results = try_join_all(self.0.iter().map(member)).await?;
        Ok(results.into_iter().flatten().collect())
    }
}
