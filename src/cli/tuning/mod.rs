//! `collectune tuning`: from sweeps of collectives to what to deploy.

mod ab;
mod chart;
mod compare;
mod cost_model;
mod coverage;
mod export;
mod learnt;
mod lint;
mod plan;
mod predict;
mod train;
mod trained;

pub(super) use self::learnt::{FromSweeps, train};

use super::commands;

commands! {
    /// Sweeps of collectives: which algorithm, protocol and channels to deploy, and how sure that is
    ///
    /// Reads sweeps (tables of rccl-sweep, logs of nccl-tests and rccl-tests, saved models), logs of jobs and tuner
    /// files.
    Tuning {
        Predict(predict::Predict),
        Train(train::Train),
        Chart(chart::Chart),
        Plan(plan::Plan),
        Export(export::Export),
        Lint(lint::Lint),
        Coverage(coverage::Coverage),
        CostModel(cost_model::CostModelOf),
        AbPlan(ab::AbPlan),
        Ab(ab::Ab),
        Compare(compare::Compare),
    }
}
