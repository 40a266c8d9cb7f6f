//! Execution plans of MSCCL++, which run inside a node today: a reader, an interpreter that says whether a plan
//! computes its collective in every order of execution, and a writer.
//!
//! Rules are those of microsoft/mscclpp, commit 1f5f065d7b13: `src/core/executor/execution_plan.cc`, `executor.cc`,
//! `src/core/include/execution_common.hpp` and `execution_kernel.hpp`. Nothing here was run on a GPU.

mod faults;
mod json;
mod memory;
mod order;
mod plan;
mod ports;
mod program;
mod run;
mod write;

use crate::units::count;

pub use self::{
    faults::{Fault, FaultKind},
    plan::Plan,
    run::{Run, run, run_in_turns},
    write::{MOST_TRANSFERS, PlanInput, WriteError, write},
};

/// What runs a plan, and how, in sentences.
pub const HOW_TO_RUN: &str = "A plan for the executor of MSCCL++, for calls in place: load it with mscclpp.ExecutionPlan, or \
                              register it in mscclpp.ExecutionPlanRegistry for programs that call NCCL. An interpreter ran \
                              it here, and no GPU did.";

/// Whether a text looks like an execution plan: JSON with GPUs that have thread blocks.
pub fn is_plan(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
        && ["\"gpus\"", "\"threadblocks\""].iter().all(|key| text.contains(key))
}

/// What is wrong with a plan, and what can be said of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The collective that the plan names, as it writes it; empty where it names none.
    pub collective: String,
    /// The number of ranks.
    pub ranks: usize,
    /// The number of thread blocks of all ranks.
    pub blocks: usize,
    /// The pairs of ranks between which it moves data, sender and receiver, ascending.
    pub pairs: Vec<(u32, u32)>,
    /// What is wrong: none for a plan that is right.
    pub faults: Vec<Fault>,
    /// What has to be known, a sentence each.
    pub notes: Vec<String>,
}

impl Verdict {
    /// What becomes of the plan, in a sentence.
    pub fn sentence(&self) -> String {
        let Self { collective, ranks, faults, .. } = self;
        let is = |kind: &[FaultKind]| faults.iter().any(|fault| kind.contains(&fault.kind));
        if faults.is_empty() && !memory::KNOWN.contains(&collective.as_str()) {
            return format!(
                "Nothing is wrong with the order of its operations on {}; what \"{}\" computes is not known here.",
                count(*ranks as u64, "rank"),
                crate::text::excerpt(collective)
            );
        }
        if faults.is_empty() {
            return format!(
                "It computes its {collective} on {}, in every order of execution.",
                count(*ranks as u64, "rank")
            );
        }
        let what =
            if is(&[FaultKind::Schema, FaultKind::Load, FaultKind::Limit, FaultKind::Bounds, FaultKind::Operands]) {
                "MSCCL++ does not run it".to_owned()
            } else if is(&[FaultKind::Unchecked]) {
                return "Whether it is right is not known: it is too large to be run here.".to_owned();
            } else if is(&[FaultKind::Deadlock]) {
                "It stands still".to_owned()
            } else if is(&[FaultKind::Data]) {
                format!("It does not compute its {collective}")
            } else {
                format!("It does not always compute its {collective}")
            };
        format!("{what}: {}.", count(faults.len() as u64, "fault"))
    }
}

/// Reads a plan and runs it.
pub fn verdict(text: &str) -> Verdict {
    match Plan::read(text) {
        Err(faults) => Verdict { faults, ..Verdict::default() },
        Ok(plan) => {
            let Run { faults, notes } = run(&plan);
            let blocks = plan.gpus.iter().map(|gpu| gpu.blocks.len()).sum();
            let (collective, pairs) = (plan.collective.clone(), plan.pairs());
            Verdict { collective, ranks: plan.gpus.len(), blocks, pairs, faults, notes }
        }
    }
}
