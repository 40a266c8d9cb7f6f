//! What a moved slider costs: how many bytes the answer takes, whole and as what changed, and how long it takes.
//!
//! `cargo bench --bench answers`. The page is to have its answer within 50 ms.

#![allow(clippy::unwrap_used, missing_docs)]

use std::{collections::BTreeMap, hint::black_box, time::Instant};

use collectune::{
    form::Choices,
    progress::Silent,
    registry::{Studies, work},
    report::Workbench,
    workbench::{ReportContext, ViewChange, WorkbenchAnswer, WorkbenchQuestion, WorkbenchView},
    worker::executor::Executor,
};

#[allow(dead_code, reason = "tests take the other parts")]
#[path = "../tests/support/worker.rs"]
mod worker;

/// How often each slider is moved.
const MOVES: usize = 20;

fn studies(example: Option<&str>) -> Studies {
    let mut worker = Executor::default();
    let files = example.map(|name| (name, std::fs::read(format!("public/examples/{name}")).unwrap()));
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    worker::load(&mut worker, &files);
    std::mem::take(&mut worker.studies)
}

fn ask(studies: &mut Studies, workbench: Workbench, question: WorkbenchQuestion) -> WorkbenchView {
    match studies.answer(workbench, question, ReportContext::default(), &mut Silent) {
        Ok(WorkbenchAnswer::Shown(shown)) => *shown,
        other => panic!("{other:?}"),
    }
}

/// Has everything done that the choices need.
fn finish(studies: &mut Studies, workbench: Workbench, choices: &Choices) -> WorkbenchView {
    let mut done: BTreeMap<Vec<u32>, Vec<u8>> = BTreeMap::new();
    let mut shown = ask(studies, workbench, WorkbenchQuestion::Choose(choices.clone()));
    loop {
        let question = match shown.jobs.rounds.first() {
            Some(round) => {
                let jobs: Vec<u32> = round.iter().map(|(job, _)| *job).collect();
                let basis = &shown.jobs.basis;
                let of = || work(workbench, basis, &jobs, &mut Silent).unwrap();
                WorkbenchQuestion::Take(vec![done.entry(jobs.clone()).or_insert_with(of).clone()])
            }
            None if shown.jobs.goes_on => WorkbenchQuestion::GoOn(50),
            None => return shown,
        };
        shown = ask(studies, workbench, question);
    }
}

fn main() {
    for (workbench, example, always, key, values) in [
        (Workbench::Overlap, Some("simulated_kernels.csv"), "", "overlap", ["0.5", "0.6"]),
        (Workbench::Policy, Some("simulated_rewards.csv"), "#seeds=20", "strategy", ["2", "3"]),
        (Workbench::TrainingTime, Some("simulated_training.zip"), "", "x.p2p", ["0.5", "0.6"]),
        (Workbench::TrainingTime, Some("simulated_training.zip"), "#s.gpus=64&s.batch=512", "x.p2p", ["0.5", "0.6"]),
        (Workbench::Topology, None, "#graph=ring&limit=0.1", "sigma", ["0.1", "0.3"]),
    ] {
        let mut studies = studies(example);
        let mut choices = Choices::parse(always);
        let mut before = finish(&mut studies, workbench, &choices);
        let (mut whole, mut changed, mut times_ms) = (0, 0, Vec::new());
        for at in 0..MOVES {
            choices.set(key, values[at % values.len()]);
            let began = Instant::now();
            let after = ask(&mut studies, workbench, WorkbenchQuestion::Choose(choices.clone()));
            let change = ViewChange::new(&before, &after);
            let bytes = postcard::to_allocvec(&change).unwrap().len();
            times_ms.push(began.elapsed().as_secs_f64() * 1e3);
            changed = bytes;
            whole = postcard::to_allocvec(&after).unwrap().len();
            black_box(change.apply(&before));
            before = after;
        }
        times_ms.sort_by(f64::total_cmp);
        let median_ms = times_ms[times_ms.len() / 2];
        println!("{} {always} {key}: {whole} bytes, {changed} of them changed; {median_ms:.1} ms", workbench.name());
    }
}
