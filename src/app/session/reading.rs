//! Opens and closes files, has the worker read them, and shows what it read.

use std::sync::Arc;

use js_sys::{Array, ArrayBuffer};
use leptos::prelude::*;
use wasm_bindgen::JsValue;

use super::{
    Session,
    notice::NoticeAction,
    open_file::OpenFile,
    task::RunError,
    workbench::StudyState,
    workers::{client::Answer, failure::Failure},
};
use crate::{
    app::diagnostics,
    collective::Workload,
    intake::{
        FileReport, Mapping, MappingRequest, Outcome,
        files::{DocumentFiles, FileToLoad, apart},
        unpack::{UnpackedFile, is_archive},
    },
    order::CompactSort,
    report::Workbench,
    tuning::{
        address::{Address, Panel},
        sets::SetChoice,
        settings,
    },
    units::count,
    worker::protocol::{Loaded, Request, Response},
};

/// The name of the task of reading files; the status line shows it, and `cancel` recognises the task by it.
pub(super) const READING: &str = "Reading";

impl Session {
    /// Opens further files and reads all of them. The example replaces all others, and is replaced by them.
    pub fn open(self, mut handles: Vec<web_sys::File>, is_example: bool) {
        handles.retain(|handle| {
            let is_again = !is_example && self.is_open(handle);
            if is_again {
                self.notify(format!("{} is open already.", handle.name()), false, None);
            }
            !is_again
        });
        if handles.is_empty() {
            return;
        }
        let opened = count(handles.len() as u64, "file");
        let mut names = self.files.with_untracked(|files| {
            let stay = files.iter().filter(|file| !file.is_example && !is_example);
            stay.map(|file| file.handle.name()).collect::<Vec<String>>()
        });
        let new = handles.into_iter().map(|handle| OpenFile {
            id: self.next_id(),
            handle: named_apart(handle, &mut names),
            mapping: None,
            is_example,
            not_read: None,
        });
        let new: Vec<OpenFile> = new.collect();
        if is_example && !self.tuning.names_example.get_untracked() {
            self.set_address(Address::default());
        }
        self.files.update(|files| {
            // The example is replaced by other files, and replaces them.
            files.retain(|file| !file.is_example && !is_example);
            files.extend(new);
        });
        self.tuning.names_example.set(is_example);
        self.announcement.set(format!("{opened} opened, reading."));
        self.load();
    }

    /// Whether the same file is open and was read: of two with one content each number would count twice.
    fn is_open(self, handle: &web_sys::File) -> bool {
        let of = |file: &web_sys::File| (file.name(), file.size() as u64, file.last_modified() as u64);
        let is_same = |file: &OpenFile| !file.is_example && file.not_read.is_none() && of(&file.handle) == of(handle);
        self.files.with_untracked(|files| files.iter().any(is_same))
    }

    /// Closes a file and reads the others again.
    pub fn close(self, id: u32) {
        self.files.update(|files| files.retain(|file| file.id != id));
        if self.files.with(Vec::is_empty) {
            self.begin_run();
            self.end_run();
            self.clear();
            // The worker must not keep the files that were closed.
            self.forget_worker_memory();
            self.announcement.set("All files are closed.".to_owned());
            self.set_address(Address::default());
            self.set_panel(Panel::default());
        } else {
            self.load();
        }
    }

    /// Reads a table with unknown headers by the columns that the user chose.
    pub fn read_with_mapping(self, id: u32, mapping: (MappingRequest, Mapping)) {
        self.files.update(move |files| {
            if let Some(file) = files.iter_mut().find(|file| file.id == id) {
                file.mapping = Some(mapping);
            }
        });
        self.load();
    }

    /// Reads a file again that was left out because the worker ended.
    pub fn read_again(self, id: u32) {
        self.files.update(|files| {
            if let Some(file) = files.iter_mut().find(|file| file.id == id) {
                file.not_read = None;
            }
        });
        self.load();
    }

    /// Reads all open files, then studies what was read.
    pub fn load(self) {
        self.dismiss_actionable_notices();
        self.workers.update_value(|workers| {
            workers.files_changed = true;
            workers.idle_crashes = 0;
            workers.fatal_questions.clear();
        });
        self.start(NoticeAction::ReadAgain, async move |run| {
            self.run_load(run, false).await?;
            // The shown workbench comes first.
            let here = self.workbench.get_untracked();
            self.run_studies(run, |workbench| workbench == here).await?;
            self.run_studies(run, |workbench| workbench != here).await
        });
    }

    /// Reads again if another set of measurements, or another column of them, is chosen than the loaded one.
    pub fn reload_other_set(self) {
        let wanted = self.tuning.address.with(|address| address.set);
        let target = self.state_of(Workbench::Tuning).choices.with(settings::target);
        let is_other = self.tuning.sets.with_untracked(|sets| {
            wanted != SetChoice::Largest && wanted != sets.chosen && sets.has(wanted) && !sets.all.is_empty()
        });
        let is_read = self.workers.with_value(|workers| workers.target);
        if is_other || is_read.is_some_and(|read| read != target) && self.tuning.has_data() {
            self.load();
        }
    }

    /// Has a new worker read the files again, without training, when something is asked that needs them. After the end
    /// of a worker nothing is read or computed without such a request; otherwise a Cancel would start other work.
    pub fn reload_lost_files(self) {
        let is_idle = self.task.with_untracked(Option::is_none);
        let has_files = !self.files.with_untracked(Vec::is_empty);
        if is_idle && has_files && !self.is_in_worker.get_untracked() {
            self.start(NoticeAction::ReadAgain, async move |run| self.run_load(run, true).await);
        }
    }

    /// Leaves out a file that ended the worker while it was read. Returns false if it is no longer open.
    pub(super) fn exclude_file(self, file: u32, failure: &Failure) -> bool {
        let why = match failure.cause() {
            Failure::OutOfMemory => "the browser gave the worker no more memory while reading it".to_owned(),
            Failure::NotResponding => "the worker stopped responding while reading it".to_owned(),
            Failure::Panicked(message) => {
                format!("the worker stopped while reading it, because of a mistake in Collectune: {message}")
            }
            other => format!("the worker stopped while reading it: {other}"),
        };
        let is_open = self.leave_out(file, &why);
        if is_open {
            diagnostics::note_error(&failure.cause().to_string());
        }
        is_open
    }

    /// Leaves out a file, and says why. Returns false if it is no longer open.
    fn leave_out(self, file: u32, why: &str) -> bool {
        let mut name = None;
        self.files.update(|files| {
            if let Some(open) = files.iter_mut().find(|open| open.id == file) {
                open.not_read = Some(why.to_owned());
                name = Some(open.handle.name());
            }
        });
        let Some(name) = name else { return false };
        self.workers.update_value(|workers| workers.files_changed = true);
        self.notify(format!("{name} is left out: {why}. The other files are read without it."), true, None);
        true
    }

    /// Opens the files of an archive instead of it; those that can't be opened stand last, with the reason.
    fn replace_archive(self, archive: u32, unpacked: Vec<UnpackedFile>, contents: &[ArrayBuffer]) {
        let mut unpacked: Vec<(UnpackedFile, &ArrayBuffer)> = unpacked.into_iter().zip(contents).collect();
        unpacked.compact_sort_by_key(|(file, _)| file.refused.is_some());
        let mut is_example = false;
        self.files.update(|files| {
            files.retain(|file| {
                is_example |= file.id == archive && file.is_example;
                file.id != archive
            });
            for (UnpackedFile { name, refused, .. }, content) in unpacked {
                if let Ok(handle) = web_sys::File::new_with_blob_sequence(&Array::of1(content), &name) {
                    let not_read = refused.map(|why| format!("it {why}"));
                    files.push(OpenFile { id: self.next_id(), handle, mapping: None, is_example, not_read });
                }
            }
        });
    }

    /// These files as a request names them, with their handles; files that are closed are left out.
    pub fn to_load(self, numbers: &[u32]) -> (Vec<FileToLoad>, Vec<JsValue>) {
        let open = |files: &Vec<OpenFile>| {
            files.iter().filter(|file| numbers.contains(&file.id)).map(OpenFile::to_load).unzip()
        };
        self.files.with_untracked(open)
    }

    /// Reads the open files. With `quietly`, what is shown stays, unless other files have been opened since.
    pub(super) async fn run_load(self, run: u32, quietly: bool) -> Result<(), RunError> {
        let loaded = match self.read_open_files(run, quietly).await {
            Ok(loaded) => loaded,
            Err(stop) => {
                // Ends the waiting studies, which would otherwise have the files read again and again.
                if let RunError::Failed(failure) = &stop {
                    let why = StudyState::Failed(failure.to_string());
                    self.workbenches.iter().for_each(|state| state.end_study(&why, true));
                }
                return Err(stop);
            }
        };
        self.is_in_worker.set(true);
        let files_changed =
            self.workers.try_update_value(|workers| std::mem::take(&mut workers.files_changed)) == Some(true);
        if !quietly || files_changed {
            self.show_loaded(loaded);
        }
        Ok(())
    }

    /// Has the open files read, archives unpacked before. A file that can't be unpacked or ends the worker is left out,
    /// and the others are read.
    async fn read_open_files(self, run: u32, quietly: bool) -> Result<Loaded, RunError> {
        loop {
            let (files, handles): (Vec<_>, Vec<_>) = self.files.with_untracked(|files| {
                files.iter().filter(|file| file.not_read.is_none()).map(OpenFile::to_load).unzip()
            });
            let archive = files.iter().position(|file| is_archive(&file.name));
            let archive_id = archive.map(|at| files[at].id);
            let (request, handles) = match archive {
                Some(at) => (Request::Unpack(files[at].clone()), vec![handles[at].clone()]),
                None => {
                    self.forget_worker_memory();
                    if !quietly {
                        // The pool starts while the main worker reads, so that it is ready after training.
                        self.pool().warm_up();
                    }
                    let target = self.state_of(Workbench::Tuning).choices.with_untracked(settings::target);
                    self.workers.update_value(|workers| workers.target = Some(target));
                    let set = self.tuning.address.with_untracked(|address| address.set);
                    (Request::Load { files, target, set }, handles)
                }
            };
            match (self.run_job(run, READING, request, &handles).await, archive_id) {
                (Ok(Answer { response: Response::Loaded(loaded), .. }), None) => return Ok(loaded),
                (Ok(Answer { response: Response::Unpacked(unpacked), attachments }), Some(id)) => {
                    self.replace_archive(id, unpacked, &attachments);
                }
                (Ok(_), _) => return Err(Failure::InvalidMessage.into()),
                (Err(RunError::Failed(Failure::Refused(why))), Some(id)) => {
                    self.leave_out(id, &format!("it {why}"));
                }
                (Err(RunError::Failed(failure)), _) if failure.ended_worker() => {
                    let is_left_out = self.main().reading().is_some_and(|file| self.exclude_file(file, &failure));
                    if !is_left_out {
                        return Err(failure.into());
                    }
                }
                (Err(stop), _) => return Err(stop),
            }
        }
    }

    fn show_loaded(self, loaded: Loaded) {
        let Loaded { files, groups, sets, winners, notes, documents } = loaded;
        diagnostics::note_loaded(&files);
        let panel = self.panel_about(&files, &documents);
        let workbench = self.workbench_about(&files, &documents);
        let shown_before = self.tuning.shown.get_untracked().and_then(Result::ok);
        let accepted: u64 = files.iter().map(|file| accepted_rows(&file.outcome)).sum();
        self.announcement.set(format!("{} read.", count(accepted, "row")));
        self.clear();
        self.reports.set(Arc::new(files));
        self.documents.set(Arc::new(documents));
        if let Some(panel) = panel {
            self.set_panel(panel);
        }
        if let Some(workbench) = workbench {
            self.workbench.set(workbench);
        }
        self.tuning.notes.set([notes, Vec::new()]);
        self.tuning.answer.set(Arc::new(winners));
        self.tuning.sets.set(Arc::new(sets));
        self.tuning.groups.set(Arc::new(groups));
        self.resolve_address(shown_before);
    }

    /// The panel for what was just loaded, if it was no sweep; `None` if nothing new calls for another panel.
    fn panel_about(self, files: &[FileReport], documents: &DocumentFiles) -> Option<Panel> {
        let known = self.reports.with_untracked(|reports| reports.iter().map(|file| file.id).collect::<Vec<_>>());
        let is_new = |file: &u32| !known.contains(file);
        let new_sweep = |file: &FileReport| is_new(&file.id) && matches!(file.outcome, Outcome::Loaded { .. });
        if files.iter().any(new_sweep) {
            return None;
        }
        let panels = [
            (&documents.comparisons, Panel::Ab),
            (&documents.jobs, Panel::Coverage),
            (&documents.confs, Panel::TunerFiles),
            (&documents.journals, Panel::Campaign),
            (&documents.listings, Panel::Tables),
        ];
        panels.into_iter().find(|(of_kind, _)| of_kind.iter().any(is_new)).map(|(_, panel)| panel)
    }

    /// The workbench of the file that was just loaded; `None` if nothing new belongs to one.
    fn workbench_about(self, files: &[FileReport], documents: &DocumentFiles) -> Option<Workbench> {
        let known = self.reports.with_untracked(|reports| reports.iter().map(|file| file.id).collect::<Vec<_>>());
        let is_new = |file: &u32| !known.contains(file);
        if let Some((workbench, _)) = documents.studied.iter().find(|(_, file)| is_new(file)) {
            return Some(*workbench);
        }
        let is_sweep = |file: &FileReport| is_new(&file.id) && matches!(file.outcome, Outcome::Loaded { .. });
        files.iter().any(is_sweep).then_some(Workbench::Tuning)
    }

    /// Fills in what the address leaves open. If the workload shown before was closed with its file, another one is
    /// chosen; an address from a link stays, and the page says what to open.
    fn resolve_address(self, shown_before: Option<Workload>) {
        let (groups, answer) = (self.tuning.groups.get_untracked(), self.tuning.answer.get_untracked());
        let sets = self.tuning.sets.get_untracked();
        let address = self.tuning.address.get_untracked();
        let example = self.shows_example();
        let anything = Address { example, ..Address::default() };
        let workload = address.resolve(&groups, &sets, &answer).or_else(|missing| match shown_before {
            Some(_) => anything.resolve(&groups, &sets, &answer),
            None => Err(missing),
        });
        if let Ok(workload) = workload {
            self.set_address(Address::of(&workload, sets.chosen, example));
        }
    }

    /// Resets everything that was computed; files, parameters and address stay.
    pub(super) fn clear(self) {
        self.reports.set(Arc::default());
        self.documents.set(Arc::default());
        self.tuning.clear();
        self.workbenches.iter().for_each(|state| state.clear());
    }
}

fn accepted_rows(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Loaded { rows, .. } => *rows,
        _ => 0,
    }
}

/// A file under a name that no other open file has: fields, tables and commands name files by it.
fn named_apart(handle: web_sys::File, names: &mut Vec<String>) -> web_sys::File {
    let name = handle.name();
    let apart = apart(&name, names);
    names.push(apart.clone());
    let is_named = apart == name;
    let renamed = (!is_named).then(|| web_sys::File::new_with_blob_sequence(&Array::of1(&handle), &apart).ok());
    renamed.flatten().unwrap_or(handle)
}
