//! What happens after a drop, and after a choice: the worker answers, other workers do the jobs that are left, round by
//! round, and the answer is shown after each.

use std::{rc::Rc, sync::Arc, time::Duration};

use futures::channel::oneshot;
use js_sys::ArrayBuffer;
use leptos::{prelude::*, task::spawn_local};

use super::{
    Session,
    notice::Remedy,
    task::{Stop, Task},
    workbench::{Desk, Line, StudyState},
    workers::{Held, failure::Failure},
};
use crate::{
    app::{
        clipboard,
        diagnostics::{self, now_ms},
        js_error::describe,
        words::words,
    },
    form::{Choices, Control},
    plot::{Chart, Pick},
    progress::Step,
    report::Workbench,
    schedule::timeline::Timeline,
    workbench::{WorkbenchAnswer, WorkbenchQuestion, WorkbenchView},
    worker::protocol::{Request, Response},
};

/// How long a search that is left may still work on what it has begun.
const LEAVING: Duration = Duration::from_millis(600);

/// Of what is chosen, and of each value, no more is told.
const MOST_CHOICES: usize = 12;
const MOST_OF_A_CHOICE: usize = 60;

fn about(workbench: Workbench, question: WorkbenchQuestion) -> Request {
    Request::Study { workbench, question: Box::new(question) }
}

impl Session {
    /// Chooses a value of a field; the usual one takes the choice back.
    pub fn choose(self, workbench: Workbench, key: &str, value: &str) {
        let desk = self.desk(workbench);
        desk.drag.set_value(None);
        let shown = desk.shown.get_untracked();
        let form = shown.as_ref().map(|shown| shown.form.as_slice()).unwrap_or_default();
        let field = form.iter().find(|field| field.key == key);
        desk.choices.update(|choices| {
            if let Some(leader) = field {
                let led = form.iter().filter(|field| leader.leads.contains(&field.group));
                led.for_each(|field| choices.clear(&field.key));
            }
            if field.is_some_and(|field| field.usual == value) {
                choices.clear(key);
            } else {
                choices.set(key, value);
            }
        });
        self.study(workbench);
    }

    /// Chooses the series of a point that was pinned, where a field offers it; takes it back where the point was let go.
    pub fn pick(self, workbench: Workbench, chart: &Chart, pick: Option<Pick>) {
        let shown = self.desk(workbench).shown.get_untracked();
        let form = shown.as_ref().map(|shown| shown.form.as_slice()).unwrap_or_default();
        let of_chart = |label: &str| chart.series.iter().any(|series| series.name == label);
        let picked = pick.and_then(|pick| chart.series.get(pick.series)).map(|series| series.name.as_str());
        let chosen = form.iter().filter(|field| field.picked).find_map(|field| {
            let Control::One(options) = &field.control else { return None };
            let option = match picked {
                Some(name) => options.iter().find(|(_, label)| label == name).map(|(value, _)| value.clone()),
                None => options.iter().any(|(value, label)| *value == field.value && of_chart(label)).then(String::new),
            };
            Some((field.key.clone(), option.filter(|value| *value != field.value)?))
        });
        if let Some((key, value)) = chosen {
            self.choose(workbench, &key, &value);
        }
    }

    /// Takes choices as an address has them.
    pub fn choose_all(self, workbench: Workbench, choices: Choices) {
        let desk = self.desk(workbench);
        desk.drag.set_value(None);
        if desk.choices.with_untracked(|held| *held != choices) {
            desk.choices.set(choices);
            if untrack(move || self.can_study(workbench)) {
                self.study(workbench);
            }
        }
    }

    /// Answers by what is chosen now.
    pub fn study(self, workbench: Workbench) {
        let desk = self.desk(workbench);
        if desk.line.get_value() != Line::Free && self.is_busy_untracked() {
            desk.line.set_value(Line::Outdated);
            return;
        }
        self.start(Remedy::ReadAgain, async move |run| self.run_study(run, workbench).await);
        // Before the first answer of the worker, so that a Cancel is one of this study.
        desk.state.set(StudyState::UnderWay);
    }

    /// Leaves a search with what it has found; whether there was one. Where the moment that it works on is too long, it is
    /// ended.
    pub fn leave_search(self) -> bool {
        let searching = |desk: &Desk| desk.line.get_value() == Line::Searching;
        let Some(desk) = self.desks.into_iter().find(searching).filter(|_| self.is_busy_untracked()) else {
            return false;
        };
        desk.line.set_value(Line::Left);
        let run = self.crew_run();
        let end = move || {
            if self.crew_run() == run && desk.line.get_value() == Line::Left {
                self.cancel();
            }
        };
        set_timeout(end, LEAVING);
        true
    }

    fn is_busy_untracked(self) -> bool {
        self.task.with_untracked(Option::is_some)
    }

    /// Studies all workbenches but tuning that something was loaded for, the one that is looked at first.
    pub async fn run_studies(self, run: u32, only: impl Fn(Workbench) -> bool) -> Result<(), Stop> {
        for workbench in Workbench::ALL.iter().copied().filter(|workbench| only(*workbench)) {
            // What needs no files is studied where it is looked at.
            let is_wanted = || {
                workbench == self.workbench.get_untracked() || self.documents.with_untracked(|all| all.has(workbench))
            };
            if is_wanted() {
                self.run_study(run, workbench).await?;
            }
        }
        Ok(())
    }

    /// From what was loaded to the whole answer, or why there is none. A worker that ends on the way ends this study
    /// only: what else the run is about goes on with a new one.
    async fn run_study(self, run: u32, workbench: Workbench) -> Result<(), Stop> {
        if self.held.get_untracked() == Held::Nothing {
            self.run_load(run, true).await?;
        }
        let desk = self.desk(workbench);
        if !untrack(move || self.can_study(workbench)) {
            desk.give_up(&StudyState::NotStudied, false);
            return Ok(());
        }
        desk.state.set(StudyState::UnderWay);
        let failure = match self.run_rounds(run, workbench).await {
            Ok(()) => {
                desk.state.set(StudyState::Answered);
                return Ok(());
            }
            Err(Stop::Overtaken) => return Err(Stop::Overtaken),
            Err(Stop::Failed(failure)) => failure,
        };
        desk.line.set_value(Line::Free);
        match failure {
            Failure::Refused(why) => desk.state.set(StudyState::Refused(why)),
            Failure::Cancelled => desk.state.set(StudyState::Cancelled),
            failure => {
                diagnostics::note_error(&failure.cause().to_string());
                desk.state.set(StudyState::Failed(failure.to_string()));
                if !failure.is_curable() {
                    return Err(failure.into());
                }
                if self.workbench.get_untracked() != workbench {
                    self.notify(failure.to_string(), true, None);
                }
            }
        }
        Ok(())
    }

    /// The rounds of a study.
    async fn run_rounds(self, run: u32, workbench: Workbench) -> Result<(), Stop> {
        let desk = self.desk(workbench);
        self.pool().warm_up();
        if !desk.is_held.get_value() && !desk.done.with_value(Vec::is_empty) {
            self.give_back(run, workbench).await?;
        }
        'choices: loop {
            let question = WorkbenchQuestion::Choose(desk.choices.get_untracked());
            let (mut shown, mut basis) = self.ask_desk(run, workbench, question).await?;
            if shown.jobs.is_anew {
                desk.done.set_value(Vec::new());
            }
            let weight = |rounds: &[Vec<(u32, f64)>]| rounds.iter().flatten().map(|(_, cost)| cost).sum::<f64>();
            let total = weight(&shown.jobs.rounds);
            let mut last_ms = 0;
            loop {
                if desk.line.get_value() == Line::Outdated {
                    continue 'choices;
                }
                let is_left = desk.line.get_value() == Line::Left;
                desk.line.set_value(Line::Free);
                if shown.jobs.rounds.is_empty() && shown.jobs.goes_on && !is_left {
                    let began_ms = now_ms();
                    (shown, basis) = self.ask_desk(run, workbench, WorkbenchQuestion::GoOn(last_ms)).await?;
                    last_ms = (now_ms() - began_ms).max(1.0) as u32;
                    continue;
                }
                let (Some(round), Some(rows)) = (shown.jobs.rounds.first().cloned(), basis) else { break };
                let costs: Vec<f64> = round.iter().map(|(_, cost)| *cost).collect();
                let (left, here) = (weight(&shown.jobs.rounds), costs.iter().sum::<f64>());
                let report = move |share: f64| {
                    if self.still(run).is_ok() {
                        let share = (total - left + here * share) / total;
                        let doing = words(workbench).jobs.into();
                        let step = Step { doing, done: (share * 1000.0) as u64, total: 1000 };
                        self.task.set(Some(Task { name: words(workbench).doing, step }));
                    }
                };
                let job = |job: u32| {
                    about(workbench, WorkbenchQuestion::Do { basis: Vec::new(), jobs: vec![round[job as usize].0] })
                };
                let done = self.pool().folds(&rows, &costs, &job, Rc::new(report)).await;
                self.still(run)?;
                let done = done.map_err(|failure| failure.during(|| self.at_study(workbench)))?;
                desk.done.update_value(|all| all.extend(done.iter().cloned()));
                (shown, basis) = self.ask_desk(run, workbench, WorkbenchQuestion::Take(done)).await?;
            }
            let first = shown.report.summary.first().cloned();
            self.announcement.set(first.unwrap_or_else(|| words(workbench).complete.into()));
            return Ok(());
        }
    }

    /// Gives a new worker what the one before had: what is shown, whatever was chosen since.
    async fn give_back(self, run: u32, workbench: Workbench) -> Result<(), Stop> {
        let desk = self.desk(workbench);
        if untrack(move || desk.is_there()) {
            self.ask_desk(run, workbench, WorkbenchQuestion::Choose(desk.answered.get_value())).await?;
            let done = desk.done.get_value();
            if !done.is_empty() {
                self.ask_desk(run, workbench, WorkbenchQuestion::Take(done)).await?;
            }
            desk.line.set_value(Line::Free);
        }
        Ok(())
    }

    /// Makes sure that the worker has what is shown of a workbench. Where it takes the place of another it has not: what
    /// was cancelled is not computed again before somebody wants something of it.
    ///
    /// # Errors
    /// Other work is under way, or this was cancelled or failed.
    pub async fn bring_back(self, workbench: Workbench) -> Result<(), Failure> {
        let desk = self.desk(workbench);
        let is_there = self.held.get_untracked() != Held::Nothing
            && (desk.is_held.get_value() || !untrack(move || desk.is_there()));
        if is_there {
            return Ok(());
        }
        if self.is_busy_untracked() {
            return Err(Failure::Refused("Other work is under way; ask again when it is done.".into()));
        }
        let (end, ended) = oneshot::channel();
        self.start(Remedy::ReadAgain, async move |run| {
            let brought = async {
                if self.held.get_untracked() == Held::Nothing {
                    self.run_load(run, true).await?;
                }
                self.give_back(run, workbench).await
            };
            let brought = brought.await;
            // Whoever waits tells of it.
            let _ = end.send(match brought {
                Ok(()) => Ok(()),
                Err(Stop::Overtaken) => return Err(Stop::Overtaken),
                Err(Stop::Failed(failure)) => Err(failure),
            });
            Ok(())
        });
        ended.await.unwrap_or(Err(Failure::Cancelled))
    }

    /// Asks, and shows what comes back.
    async fn ask_desk(
        self,
        run: u32,
        workbench: Workbench,
        question: WorkbenchQuestion,
    ) -> Result<(Arc<WorkbenchView>, Option<ArrayBuffer>), Stop> {
        let desk = self.desk(workbench);
        desk.line.set_value(if matches!(question, WorkbenchQuestion::GoOn(_)) { Line::Searching } else { Line::Busy });
        let chosen = if let WorkbenchQuestion::Choose(choices) = &question { Some(choices.clone()) } else { None };
        let at = || Stop::Failed(Failure::Garbled);
        let answer = self.work(run, words(workbench).doing, about(workbench, question), &[]).await;
        let answer = answer.map_err(|stop| match stop {
            Stop::Failed(Failure::During(step, cause)) => {
                Failure::During(self.with_choices(workbench, &step), cause).into()
            }
            other => other,
        })?;
        let Response::Study(study) = answer.response else { return Err(at()) };
        let WorkbenchAnswer::Shown(mut shown) = *study else { return Err(at()) };
        if let Some(network) = shown.network.take() {
            desk.network.set(Some(Arc::from(network)));
        }
        let shown: Arc<WorkbenchView> = shown.into();
        if let Some(chosen) = chosen {
            desk.answered.set_value(chosen);
        }
        desk.is_held.set_value(true);
        desk.shown.set(Some(shown.clone()));
        Ok((shown, answer.training))
    }

    /// What a study is at, in words: the workbench, the work, and what is chosen.
    fn at_study(self, workbench: Workbench) -> String {
        self.with_choices(workbench, words(workbench).jobs)
    }

    fn with_choices(self, workbench: Workbench, step: &str) -> String {
        let desk = self.desk(workbench);
        let chosen: Vec<String> = desk.choices.with_untracked(|choices| {
            let label = |key: &str| desk.of_field_untracked(key, |field| field.label.clone());
            let named = |(key, value): (&str, &str)| {
                let value: String = value.chars().take(MOST_OF_A_CHOICE).collect();
                format!("{}: {value}", label(key).unwrap_or_else(|| key.to_owned()))
            };
            choices.iter().take(MOST_CHOICES).map(named).collect()
        });
        let chosen = if chosen.is_empty() { String::new() } else { format!(" ({})", chosen.join("; ")) };
        format!("{}{chosen}, {step}", workbench.name())
    }

    /// Asks for what moves over a network from an instant on; `None` where it can't be had.
    pub fn cut(
        self,
        workbench: Workbench,
        from_ns: f64,
        chunk: Option<u32>,
    ) -> impl Future<Output = Option<Vec<Timeline>>> {
        let question = about(workbench, WorkbenchQuestion::Cut(from_ns, chunk));
        // A worker that took the place of another has nothing to cut from until somebody studies again.
        let is_held = self.desk(workbench).is_held.get_value();
        async move {
            match self.glance(is_held.then_some(question)?).await.ok()? {
                Response::Study(answer) => match *answer {
                    WorkbenchAnswer::Cut(timelines) => Some(timelines),
                    _ => None,
                },
                _ => None,
            }
        }
    }

    /// Has a file made and saves it.
    pub fn save(self, workbench: Workbench, key: String) {
        spawn_local(async move {
            let request = about(workbench, WorkbenchQuestion::Save(key));
            let answer = match self.bring_back(workbench).await {
                Ok(()) => self.glance(request).await,
                Err(failure) => Err(failure),
            };
            let saved = match answer {
                Ok(Response::Study(answer)) => match *answer {
                    WorkbenchAnswer::File(file) => {
                        clipboard::save(&file.name, "text/plain", &file.text).map_err(|error| describe(&error))
                    }
                    _ => Err(Failure::Garbled.to_string()),
                },
                Ok(_) => Err(Failure::Garbled.to_string()),
                Err(failure) => Err(failure.to_string()),
            };
            if let Err(why) = saved {
                self.notify(format!("The file could not be saved: {}.", why.trim_end_matches('.')), true, None);
            }
        });
    }
}
