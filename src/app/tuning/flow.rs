//! What happens after a drop: load, show the measured winners, train, show the answer, validate.
//!
//! Each run has a number. Whatever an earlier run still brings is dropped, so nothing outdated is ever shown.

use std::{rc::Rc, sync::Arc};

use leptos::{prelude::*, task::spawn_local};
use wasm_bindgen::JsValue;

use super::bench::{Bench, Held, OpenFile, Remedy, Stage, Task, Unvalidated};
use crate::{
    app::{
        client::{Answer, Client, Weight},
        diagnostics,
        failure::Failure,
        pool::Pool,
        workbench::StudyState,
    },
    collective::Workload,
    intake::{FileReport, Mapping, MappingRequest, Outcome},
    progress::Step,
    report::Workbench,
    tuning::{
        address::{Address, Panel},
        parameters::SetAside,
        result::Recommendation,
        sets::SetChoice,
        stalls::Stall,
        study::{MAX_TRAINED_GROUPS, TuningStudyError},
    },
    units::count,
    worker::protocol::{ComparedState, DocumentFiles, FileToLoad, Loaded, Request, Response, Trained, Validated},
};

/// The name of the task of reading files, which the status line shows and Cancel asks for.
const READING: &str = "Reading";

/// Why a run ended early.
pub enum Stop {
    /// A later run took over.
    Overtaken,
    /// The worker could not.
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Bench {
    /// Opens further files and starts over with all of them.
    pub fn open(self, handles: Vec<web_sys::File>, is_example: bool) {
        if handles.is_empty() {
            return;
        }
        let opened = count(handles.len() as u64, "file");
        let new = handles.into_iter().map(|handle| OpenFile {
            id: self.next_id(),
            handle,
            mapping: None,
            is_example,
            not_read: None,
        });
        let new: Vec<OpenFile> = new.collect();
        if is_example && !self.address.with_untracked(|address| address.example) {
            self.address.set(Address::default());
        }
        self.files.update(|files| {
            // The example makes room for what was really measured, and stays alone.
            files.retain(|file| !file.is_example && !is_example);
            files.extend(new);
        });
        self.address.update(|address| address.example = is_example);
        self.announcement.set(format!("{opened} opened, reading."));
        self.load();
    }

    /// Starts the worker before there is anything to do.
    pub fn warm_up(self) {
        self.main().warm_up();
    }

    /// Lets the worker read once before there is anything to read.
    pub fn rehearse(self) {
        drop(self.main().ask(Weight::Glance, Request::Rehearse, &[], Box::new(|_| ())));
    }

    /// Closes a file and starts over with the others.
    pub fn close(self, id: u32) {
        self.files.update(|files| files.retain(|file| file.id != id));
        if self.files.with(Vec::is_empty) {
            self.begin();
            self.finish();
            self.forget();
            // What is studied next must find nothing of them.
            self.lose_held();
            self.address.set(Address::default());
            self.panel.set(Panel::default());
        } else {
            self.load();
        }
    }

    /// Reads a file whose headers were unknown with the mapping of the dialog.
    pub fn map(self, id: u32, mapping: (MappingRequest, Mapping)) {
        self.files.update(move |files| {
            if let Some(file) = files.iter_mut().find(|file| file.id == id) {
                file.mapping = Some(mapping);
            }
        });
        self.load();
    }

    /// Reads a file again that was left out.
    pub fn read_again(self, id: u32) {
        self.files.update(|files| {
            if let Some(file) = files.iter_mut().find(|file| file.id == id) {
                file.not_read = None;
            }
        });
        self.load();
    }

    /// Reads all open files, then trains and validates.
    pub fn load(self) {
        self.drop_remedied_notices();
        self.crew.update_value(|crew| {
            crew.is_unshown = true;
            crew.idle_deaths = 0;
            crew.fatal.clear();
        });
        self.start(Remedy::ReadAgain, async move |run| {
            self.run_load(run, false).await?;
            // What is looked at comes first.
            let here = self.workbench.get_untracked();
            self.run_studies(run, |workbench| workbench == here).await?;
            self.run_train(run).await?;
            self.run_validate(run).await?;
            self.run_studies(run, |workbench| workbench != here).await
        });
    }

    /// Trains with the parameters as they are, then validates.
    pub fn train(self) {
        self.drop_remedied_notices();
        self.crew.update_value(|crew| crew.idle_deaths = 0);
        self.start(Remedy::Train, async move |run| {
            self.run_train(run).await?;
            self.run_validate(run).await
        });
    }

    /// Sets a configuration aside by hand, or brings it back, and learns again.
    pub fn toggle_aside(self, aside: SetAside) {
        self.parameters.update(|parameters| {
            let all = &mut parameters.screening.set_aside;
            if all.contains(&aside) {
                all.retain(|other| *other != aside);
            } else {
                all.push(aside);
            }
        });
        self.train();
    }

    /// Uses a stalled measurement like any other, or sets it aside again. One that has nothing to stand in for it is used
    /// anyway.
    pub fn toggle_stall(self, stall: &Stall) {
        let id = stall.id();
        self.parameters.update(|parameters| {
            let all = &mut parameters.screening.brought_back;
            if stall.set_aside {
                all.push(id);
            } else {
                all.retain(|other| *other != id);
            }
        });
        self.train();
    }

    /// Reads again, where the address names another set of measurements than the loaded one.
    pub fn follow_set(self) {
        let wanted = self.address.with(|address| address.set);
        let is_other = self.sets.with_untracked(|sets| {
            wanted != SetChoice::Largest && wanted != sets.chosen && sets.has(wanted) && !sets.all.is_empty()
        });
        if is_other {
            self.load();
        }
    }

    /// What a new run may mend need not be said any longer.
    fn drop_remedied_notices(self) {
        self.notices.update(|notices| notices.retain(|notice| notice.remedy.is_none()));
    }

    /// Ends what is going on. What is already there stays.
    pub fn cancel(self) {
        if self.leave_search() {
            return;
        }
        let was_reading = self.task.with_untracked(|task| task.as_ref().is_some_and(|task| task.name == READING));
        self.desks.iter().for_each(|desk| desk.give_up(&StudyState::Cancelled, was_reading));
        self.begin();
        self.finish();
        self.announcement.set("Cancelled.".into());
        if was_reading && !self.files.with_untracked(Vec::is_empty) {
            self.notify("Reading was cancelled; the files are still open.".into(), false, Some(Remedy::ReadAgain));
        }
    }

    /// Ends a worker that says nothing, and begins anew; without the file that it was reading.
    pub fn restart(self) {
        let was_reading = self.main().reading().filter(|_| self.main().at_work());
        self.begin();
        if let Some(file) = was_reading {
            self.leave_out(file, &Failure::Silent);
        }
        self.finish();
        // Where the silent one was of the pool, the model is still there.
        if self.held.get_untracked() == Held::Model { self.validate() } else { self.load() }
    }

    /// Computes what was interrupted of the validation again.
    fn validate(self) {
        self.start(Remedy::Train, async move |run| self.run_validate(run).await);
    }

    /// Gives a new worker the files again, without training: somebody asks for something that it needs them for. After a
    /// worker's end nothing is read or computed again by itself, or a Cancel would begin other work.
    pub(super) fn restore(self) {
        let is_idle = self.task.with_untracked(Option::is_none);
        let has_files = !self.files.with_untracked(Vec::is_empty);
        if is_idle && has_files && self.held.get_untracked() == Held::Nothing {
            self.start(Remedy::ReadAgain, async move |run| self.run_load(run, true).await);
        }
    }

    /// The files are read without this one, which ended the worker. False where it is not open any more.
    fn leave_out(self, file: u32, failure: &Failure) -> bool {
        let why = match failure.cause() {
            Failure::OutOfMemory => "the browser gave the worker no more memory while reading it".to_owned(),
            Failure::Silent => "the worker said nothing any more while reading it".to_owned(),
            Failure::Panicked(message) => {
                format!("the worker stopped while reading it, because of a mistake in Collectune: {message}")
            }
            other => format!("the worker stopped while reading it: {other}"),
        };
        let mut name = None;
        self.files.update(|files| {
            if let Some(open) = files.iter_mut().find(|open| open.id == file) {
                open.not_read = Some(why.clone());
                name = Some(open.handle.name());
            }
        });
        let Some(name) = name else { return false };
        self.crew.update_value(|crew| crew.is_unshown = true);
        diagnostics::note_error(&failure.cause().to_string());
        self.notify(format!("{name} is left out: {why}. The other files are read without it."), true, None);
        true
    }

    /// Called once a second while the page is visible.
    pub fn beat(self) {
        let silent = self.crew.with_value(|crew| (crew.main.clone(), crew.pool.clone()));
        let silent = silent.0.beat() | silent.1.beat();
        if self.is_silent.get_untracked() != silent {
            self.is_silent.set(silent);
        }
    }

    /// A worker died although nothing was asked of it: another takes its place, once.
    pub fn on_idle_death(self, failure: &Failure) {
        self.lose_held();
        let deaths = self.crew.try_update_value(|crew| {
            crew.idle_deaths += 1;
            crew.idle_deaths
        });
        if failure.is_curable() && deaths == Some(1) && self.has_data() {
            self.notify(format!("{failure} Your files are being read again."), false, None);
            self.start(Remedy::ReadAgain, async move |run| {
                self.run_load(run, true).await?;
                self.run_train(run).await?;
                self.run_validate(run).await
            });
        } else if !self.files.with_untracked(Vec::is_empty) {
            self.notify_failure(failure, Remedy::ReadAgain);
        }
    }

    /// A question beside the run ended the worker. It is not asked again as long as the same files are loaded.
    pub(super) fn on_fatal(self, request: Request, failure: &Failure) {
        if failure.is_death() {
            self.crew.update_value(|crew| crew.fatal.push(request));
        }
        self.on_idle_death(failure);
    }

    /// Whether a question ended a worker that had the same files.
    pub(super) fn is_fatal(self, request: &Request) -> bool {
        self.crew.with_value(|crew| crew.fatal.contains(request))
    }

    /// The handles of the files that a question is about, in its order.
    pub(super) fn beside(self, request: &Request) -> Vec<JsValue> {
        let Request::Compare { before, after, .. } = request else { return Vec::new() };
        let asked = [before, after]
            .into_iter()
            .filter_map(|side| if let ComparedState::Files(files) = side { Some(files) } else { None });
        let handle = |asked: &FileToLoad| {
            self.files
                .with_untracked(|files| Some(JsValue::from(&files.iter().find(|open| open.id == asked.id)?.handle)))
        };
        asked.flatten().filter_map(handle).collect()
    }

    /// The worker that holds the document.
    pub fn main(self) -> Client {
        self.crew.with_value(|crew| crew.main.clone())
    }

    pub(in crate::app) fn pool(self) -> Pool {
        self.crew.with_value(|crew| crew.pool.clone())
    }

    /// Overtakes the run before, and gives this one its number.
    fn begin(self) -> u32 {
        let (main, pool) = (self.main(), self.pool());
        pool.stop();
        if main.at_work() {
            main.stop();
            self.lose_held();
        }
        self.is_silent.set(false);
        self.desks.iter().for_each(|desk| desk.interrupt());
        self.crew
            .try_update_value(|crew| {
                crew.run += 1;
                crew.run
            })
            .unwrap_or_default()
    }

    fn finish(self) {
        self.task.set(None);
    }

    pub(in crate::app) fn start(self, remedy: Remedy, work: impl AsyncFnOnce(u32) -> Result<(), Stop> + 'static) {
        let run = self.begin();
        self.task.set(Some(Task { name: "Starting", step: Step::default() }));
        spawn_local(async move {
            let end = work(run).await;
            if matches!(end, Err(Stop::Overtaken)) || self.still(run).is_err() {
                return;
            }
            self.finish();
            if let Err(Stop::Failed(failure)) = end
                && failure != Failure::Cancelled
            {
                self.notify_failure(&failure, remedy);
            }
        });
    }

    /// The worker that had something is gone.
    fn lose_held(self) {
        self.held.set(Held::Nothing);
        self.desks.iter().for_each(|desk| desk.is_held.set_value(false));
    }

    /// What is going on, in words: the work, and how far it is.
    fn at_work(self) -> String {
        let task = self.task.get_untracked().unwrap_or_default();
        if task.step.doing.is_empty() { task.name.to_owned() } else { format!("{}, {}", task.name, task.step.doing) }
    }

    /// The number of the run.
    pub(in crate::app) fn crew_run(self) -> Option<u32> {
        self.crew.try_with_value(|crew| crew.run)
    }

    pub(in crate::app) fn still(self, run: u32) -> Result<(), Stop> {
        match self.crew.try_with_value(|crew| crew.run == run) {
            Some(true) => Ok(()),
            _ => Err(Stop::Overtaken),
        }
    }

    /// A job of the run: its progress is the task shown, and the worker's end is noted.
    pub(in crate::app) async fn work(
        self,
        run: u32,
        name: &'static str,
        request: Request,
        beside: &[JsValue],
    ) -> Result<Answer, Stop> {
        self.task.set(Some(Task { name, step: Step::default() }));
        let progress = move |step| {
            if self.still(run).is_ok() {
                self.task.set(Some(Task { name, step }));
            }
        };
        let began_ms = diagnostics::now_ms();
        let answer = self.main().ask(Weight::Work, request, beside, Box::new(progress)).await;
        self.still(run)?;
        diagnostics::note_step(name, diagnostics::now_ms() - began_ms);
        answer.map_err(|failure| {
            self.note_death(&failure);
            failure.during(|| self.at_work()).into()
        })
    }

    /// A worker that died takes with it what it had in its memory.
    pub(in crate::app) fn note_death(self, failure: &Failure) {
        if !matches!(failure, Failure::Refused(_) | Failure::Cancelled) {
            self.lose_held();
        }
    }

    /// Asks the worker something beside the run that it answers at once. Where the worker ends at it, that is noted.
    pub(in crate::app) async fn glance(self, request: Request) -> Result<Response, Failure> {
        self.glances.update(|glances| *glances += 1);
        let answer = self.main().ask(Weight::Glance, request, &[], Box::new(|_| ())).await;
        self.glances.update(|glances| *glances -= 1);
        answer.map(|answer| answer.response).inspect_err(|failure| self.note_death(failure))
    }

    /// `quietly`: what is shown stays, the worker only gets back what it had; unless other files are open since.
    pub(in crate::app) async fn run_load(self, run: u32, quietly: bool) -> Result<(), Stop> {
        let loaded = match self.read_open_files(run, quietly).await {
            Ok(loaded) => loaded,
            Err(stop) => {
                // Whoever waited for the files waits no longer, or would have them read again and again.
                if let Stop::Failed(failure) = &stop {
                    let why = StudyState::Failed(failure.to_string());
                    self.desks.iter().for_each(|desk| desk.give_up(&why, true));
                }
                return Err(stop);
            }
        };
        self.held.set(Held::Sweep);
        let is_unshown = self.crew.try_update_value(|crew| std::mem::take(&mut crew.is_unshown)) == Some(true);
        if !quietly || is_unshown {
            self.show_loaded(loaded);
        }
        self.refresh_view();
        Ok(())
    }

    /// Has the open files read. Where one ends the worker, the others are read without it.
    async fn read_open_files(self, run: u32, quietly: bool) -> Result<Loaded, Stop> {
        loop {
            let (files, handles): (Vec<_>, Vec<_>) = self.files.with_untracked(|files| {
                let both = |file: &OpenFile| {
                    let mapping = file.mapping.as_ref().map(|(_, mapping)| mapping.clone());
                    (FileToLoad { id: file.id, name: file.handle.name(), mapping }, JsValue::from(&file.handle))
                };
                files.iter().filter(|file| file.not_read.is_none()).map(both).unzip()
            });
            self.lose_held();
            if !quietly {
                self.crew.update_value(|crew| crew.unvalidated = None);
                // They start while the first worker reads, and are ready when it has trained.
                self.pool().warm_up();
            }
            let request = Request::Load {
                files,
                target: self.target.get_untracked(),
                set: self.address.with_untracked(|address| address.set),
            };
            match self.work(run, READING, request, &handles).await {
                Ok(Answer { response: Response::Loaded(loaded), .. }) => return Ok(loaded),
                Ok(_) => return Err(Failure::Garbled.into()),
                Err(Stop::Failed(failure)) if failure.is_death() => {
                    let is_left_out = self.main().reading().is_some_and(|file| self.leave_out(file, &failure));
                    if !is_left_out {
                        return Err(failure.into());
                    }
                }
                Err(stop) => return Err(stop),
            }
        }
    }

    async fn run_train(self, run: u32) -> Result<(), Stop> {
        let is_unshown = self.crew.with_value(|crew| crew.is_unshown);
        // A study before may have ended the worker.
        if self.held.get_untracked() == Held::Nothing
            && (is_unshown || self.groups.with_untracked(|all| !all.is_empty()))
        {
            self.run_load(run, true).await?;
        }
        // Of runs of the default alone nothing can be learnt.
        if self.groups.with_untracked(|groups| groups.iter().all(|group| group.points == 0)) {
            return Ok(());
        }
        let count = self.groups.with_untracked(|groups| groups.len());
        if count > MAX_TRAINED_GROUPS {
            // Beside the notes on so many scales it would not be seen.
            self.notify(format!("Nothing is learnt: {}.", TuningStudyError::TooManyScales(count)), false, None);
            return Ok(());
        }
        let parameters = self.parameters.get_untracked();
        self.learnt_with.set(parameters.clone());
        let request = Request::Train { parameters: parameters.clone() };
        let Answer { response: Response::Trained(trained), training: Some(training) } =
            self.work(run, "Training", request, &[]).await?
        else {
            return Err(Failure::Garbled.into());
        };
        let Trained { answer, folds, notes, .. } = trained;
        self.held.set(Held::Model);
        self.answer.set(Arc::new(answer));
        self.stage.set(Stage::Trained);
        self.evaluation.set(None);
        self.importances.set(None);
        self.notes.update(|all| {
            all[1] = notes;
            all[2].clear();
        });
        let unvalidated = Unvalidated { training, parameters, fold_costs: folds };
        self.crew.update_value(|crew| crew.unvalidated = Some(unvalidated));
        self.announce_answer();
        self.refresh_view();
        Ok(())
    }

    async fn run_validate(self, run: u32) -> Result<(), Stop> {
        let unvalidated = self.crew.try_update_value(|crew| crew.unvalidated.clone()).flatten();
        let Some(Unvalidated { training, parameters, fold_costs }) = unvalidated else { return Ok(()) };
        if fold_costs.is_empty() {
            return Ok(());
        }
        let report = move |share: f64| {
            if self.still(run).is_ok() {
                let step =
                    Step { doing: "Predicting what was held out".into(), done: (share * 1000.0) as u64, total: 1000 };
                self.task.set(Some(Task { name: "Validating", step }));
            }
        };
        report(0.0);
        let request = |fold| Request::Folds { training: Vec::new(), parameters: parameters.clone(), folds: vec![fold] };
        let folds = self.pool().folds(&training, &fold_costs, &request, Rc::new(report)).await;
        self.still(run)?;
        let folds = folds.map_err(|failure| failure.during(|| self.at_work()))?;
        let request = Request::Validate { folds };
        let Response::Validated(validated) = self.work(run, "Validating", request, &[]).await?.response else {
            return Err(Failure::Garbled.into());
        };
        let Validated { evaluation, answer, notes } = validated;
        self.held.set(Held::Evaluation);
        self.answer.set(Arc::new(answer));
        self.stage.set(Stage::Validated);
        self.evaluation.set(Some(Arc::new(evaluation)));
        self.notes.update(|all| all[2] = notes);
        self.crew.update_value(|crew| crew.unvalidated = None);
        self.announcement.set("Validation is done.".into());
        self.refresh_view();
        Ok(())
    }

    fn show_loaded(self, loaded: Loaded) {
        let Loaded { files, groups, sets, winners, parameters, notes, documents } = loaded;
        diagnostics::note_loaded(&files);
        let panel = self.panel_about(&files, &documents);
        let workbench = self.workbench_about(&files, &documents);
        let shown_before = self.shown.get_untracked().and_then(Result::ok);
        let accepted: u64 = files.iter().map(|file| accepted_rows(&file.outcome)).sum();
        self.announcement.set(format!("{} read.", count(accepted, "row")));
        self.forget();
        if let Some(parameters) = parameters {
            self.learnt_with.set(parameters.clone());
            self.parameters.set(parameters);
        }
        self.reports.set(Arc::new(files));
        self.documents.set(Arc::new(documents));
        if let Some(panel) = panel {
            self.panel.set(panel);
        }
        if let Some(workbench) = workbench {
            self.workbench.set(workbench);
        }
        self.notes.set([notes, Vec::new(), Vec::new()]);
        self.answer.set(Arc::new(winners));
        self.sets.set(Arc::new(sets));
        self.groups.set(Arc::new(groups));
        self.settle(shown_before);
    }

    /// The panel that is about what has come: a document that is no sweep, where no sweep came with it. Nothing where
    /// nothing new calls for another panel.
    fn panel_about(self, files: &[FileReport], documents: &DocumentFiles) -> Option<Panel> {
        let known = self.reports.with_untracked(|reports| reports.iter().map(|file| file.id).collect::<Vec<_>>());
        let is_new = |file: &u32| !known.contains(file);
        let new_sweep = |file: &FileReport| is_new(&file.id) && matches!(file.outcome, Outcome::Loaded { .. });
        if files.iter().any(new_sweep) {
            return None;
        }
        let about = [
            (&documents.comparisons, Panel::Ab),
            (&documents.jobs, Panel::Coverage),
            (&documents.confs, Panel::TunerFiles),
            (&documents.listings, Panel::Tables),
        ];
        about.into_iter().find(|(of_kind, _)| of_kind.iter().any(is_new)).map(|(_, panel)| panel)
    }

    /// The workbench of what has come; nothing where nothing new has one.
    fn workbench_about(self, files: &[FileReport], documents: &DocumentFiles) -> Option<Workbench> {
        let known = self.reports.with_untracked(|reports| reports.iter().map(|file| file.id).collect::<Vec<_>>());
        let is_new = |file: &u32| !known.contains(file);
        if let Some((workbench, _)) = documents.studied.iter().find(|(_, file)| is_new(file)) {
            return Some(*workbench);
        }
        let is_sweep = |file: &FileReport| is_new(&file.id) && matches!(file.outcome, Outcome::Loaded { .. });
        files.iter().any(is_sweep).then_some(Workbench::Tuning)
    }

    /// Pins down what the address leaves open. Where the view before is gone with its file, another is chosen;
    /// where the address came as a link, it stays, and the page names what to drop.
    fn settle(self, shown_before: Option<Workload>) {
        let (groups, answer) = (self.groups.get_untracked(), self.answer.get_untracked());
        let sets = self.sets.get_untracked();
        let address = self.address.get_untracked();
        let example = self.shows_example();
        let anything = Address { example, ..Address::default() };
        let workload = address.resolve(&groups, &sets, &answer).or_else(|missing| match shown_before {
            Some(_) => anything.resolve(&groups, &sets, &answer),
            None => Err(missing),
        });
        if let Ok(workload) = workload {
            self.address.set(Address::of(&workload, sets.chosen, example));
        }
    }

    /// Empties the page, except for the files, the parameters and the address.
    fn forget(self) {
        self.reports.set(Arc::default());
        self.documents.set(Arc::default());
        self.uncovered.set(Vec::new());
        self.sets.set(Arc::default());
        self.groups.set(Arc::default());
        self.answer.set(Arc::default());
        self.stage.set(Stage::Measured);
        self.evaluation.set(None);
        self.importances.set(None);
        self.view.set(None);
        self.notes.set(Default::default());
        self.desks.iter().for_each(|desk| desk.forget());
    }

    fn announce_answer(self) {
        let sentence = self.recommendation_untracked().map(|r| crate::tuning::wording::sentence(&r));
        self.announcement.set(sentence.unwrap_or_else(|| "The model is trained.".into()));
    }

    fn recommendation_untracked(self) -> Option<Recommendation> {
        untrack(move || self.recommendation())
    }
}

fn accepted_rows(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Loaded { rows, .. } => *rows,
        _ => 0,
    }
}
