//! What happens after a drop, and after a choice: the worker answers, other workers do the jobs that are left, round by
//! round, and the answer is shown after each.

use std::{rc::Rc, sync::Arc};

use js_sys::ArrayBuffer;
use leptos::{prelude::*, task::spawn_local};

use super::{
    state::{Desk, Line},
    words::words,
};
use crate::{
    app::{
        client::Weight,
        clipboard,
        diagnostics::now_ms,
        failure::Failure,
        parts::describe,
        tuning::{Bench, Held, Remedy, Stop, Task},
    },
    form::{Choices, Control},
    plot::{Chart, Pick},
    progress::Step,
    report::Workbench,
    schedule::film::Film,
    workbench::{Answer, Question, Shown, needs_files},
    worker::protocol::{Request, Response},
};

fn about(workbench: Workbench, question: Question) -> Request {
    Request::Study { workbench, question: Box::new(question) }
}

impl Bench {
    /// What is shown of a workbench.
    pub fn desk(self, workbench: Workbench) -> Desk {
        self.desks[workbench as usize]
    }

    /// Whether there is nothing to show before something is loaded.
    pub fn needs_files(self, workbench: Workbench) -> bool {
        self.desk(workbench).choices.with(|choices| needs_files(workbench, choices))
    }

    /// Whether there is anything to study: loaded files, or an example that is made.
    pub fn can_study(self, workbench: Workbench) -> bool {
        !self.needs_files(workbench) || self.documents.with(|all| all.has(workbench))
    }

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
        self.start(Remedy::ReadAgain, async move |run| {
            if self.held.get_untracked() == Held::Nothing {
                self.run_load(run, true).await?;
                self.give_back(run, workbench).await?;
            }
            self.run_study(run, workbench).await
        });
    }

    /// Leaves a search with what it has found; whether there was one.
    pub fn leave_search(self) -> bool {
        let desk = self.desk(self.workbench.get_untracked());
        let searches = desk.line.get_value() != Line::Free
            && self.is_busy_untracked()
            && desk.shown.with_untracked(|shown| shown.as_ref().is_some_and(|shown| shown.jobs.goes_on));
        if searches {
            desk.line.set_value(Line::Left);
        }
        searches
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

    /// From what was loaded to the whole answer.
    async fn run_study(self, run: u32, workbench: Workbench) -> Result<(), Stop> {
        if !untrack(move || self.can_study(workbench)) {
            return Ok(());
        }
        let desk = self.desk(workbench);
        self.pool().warm_up();
        'choices: loop {
            let question = Question::Choose(desk.choices.get_untracked());
            let Some((mut shown, mut basis)) = self.ask_desk(run, workbench, question).await? else { return Ok(()) };
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
                    let next = self.ask_desk(run, workbench, Question::GoOn(last_ms)).await?;
                    let Some(next) = next else { return Ok(()) };
                    last_ms = (now_ms() - began_ms).max(1.0) as u32;
                    (shown, basis) = next;
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
                let job =
                    |job: u32| about(workbench, Question::Do { basis: Vec::new(), jobs: vec![round[job as usize].0] });
                let done = self.pool().folds(&rows, &costs, &job, Rc::new(report)).await;
                self.still(run)?;
                let done = done?;
                desk.done.update_value(|all| all.extend(done.iter().cloned()));
                let Some(next) = self.ask_desk(run, workbench, Question::Take(done)).await? else { return Ok(()) };
                (shown, basis) = next;
            }
            let first = shown.report.summary.first().cloned();
            self.announcement.set(first.unwrap_or_else(|| words(workbench).complete.into()));
            return Ok(());
        }
    }

    /// Gives a new worker what the one before had.
    pub async fn give_back(self, run: u32, workbench: Workbench) -> Result<(), Stop> {
        let desk = self.desk(workbench);
        if untrack(move || desk.is_there()) {
            self.ask_desk(run, workbench, Question::Choose(desk.choices.get_untracked())).await?;
            let done = desk.done.get_value();
            if !done.is_empty() {
                self.ask_desk(run, workbench, Question::Take(done)).await?;
            }
            desk.line.set_value(Line::Free);
        }
        Ok(())
    }

    /// Asks, and shows what comes back; `None` where the workbench refuses, and says why.
    async fn ask_desk(
        self,
        run: u32,
        workbench: Workbench,
        question: Question,
    ) -> Result<Option<(Arc<Shown>, Option<ArrayBuffer>)>, Stop> {
        let desk = self.desk(workbench);
        desk.line.set_value(Line::Busy);
        let answer = self.work(run, words(workbench).doing, about(workbench, question), &[]).await;
        let answer = match answer {
            Err(Stop::Failed(Failure::Refused(why))) => {
                desk.line.set_value(Line::Free);
                desk.error.set(Some(why));
                return Ok(None);
            }
            other => other?,
        };
        match answer.response {
            Response::Study(study) => match *study {
                Answer::Shown(mut shown) => {
                    if let Some(network) = shown.network.take() {
                        desk.network.set(Some(Arc::from(network)));
                    }
                    let shown: Arc<Shown> = shown.into();
                    desk.error.set(None);
                    desk.shown.set(Some(shown.clone()));
                    Ok(Some((shown, answer.training)))
                }
                _ => Err(Failure::Garbled.into()),
            },
            _ => Err(Failure::Garbled.into()),
        }
    }

    /// Asks for what moves over a network from an instant on; `None` where it can't be had.
    pub fn cut(
        self,
        workbench: Workbench,
        from_ns: f64,
        chunk: Option<u32>,
    ) -> impl Future<Output = Option<Vec<Film>>> {
        let question = about(workbench, Question::Cut(from_ns, chunk));
        let answer = self.main().ask(Weight::Glance, question, &[], Box::new(|_| ()));
        async move {
            match answer.await.ok()?.response {
                Response::Study(answer) => match *answer {
                    Answer::Cut(films) => Some(films),
                    _ => None,
                },
                _ => None,
            }
        }
    }

    /// Has a file made and saves it.
    pub fn save(self, workbench: Workbench, key: String) {
        self.glances.update(|glances| *glances += 1);
        let answer = self.main().ask(Weight::Glance, about(workbench, Question::Save(key)), &[], Box::new(|_| ()));
        spawn_local(async move {
            let answer = answer.await.map(|answer| answer.response);
            self.glances.update(|glances| *glances -= 1);
            let saved = match answer {
                Ok(Response::Study(answer)) => match *answer {
                    Answer::File(file) => {
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
