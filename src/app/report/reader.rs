//! The report that is shown, where it came from, and its address.

use std::sync::Arc;

use leptos::{prelude::*, task::spawn_local};

use crate::{
    app::{
        reactive::effect,
        session::{Failure, Session},
        signal::RwSignal,
    },
    intake::Outcome,
    report::{Report, Workbench, link, snapshot::Snapshot},
    worker::protocol::{Request, Response},
};

/// The origin of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A link: the fragment with its `#`.
    Link(String),
    /// A file, by its number and name. Number 0 stands for a file that has been closed.
    File(u32, String),
}

/// The fragment of the address while a report from a file is shown: it can't hold the report.
const FROM_FILE: &str = "#v=1&w=report";

/// A report that was opened or is being opened.
pub struct OpenedReport {
    /// The origin of the report.
    pub source: Source,
    /// The report, or why it can't be read; `None` while it is being opened.
    pub report: Option<Result<Report, String>>,
}

/// The report that is shown in place of a workbench. Copies share it.
#[derive(Clone, Copy)]
pub struct ReportReader {
    shown: RwSignal<Option<Arc<OpenedReport>>>,
    /// The last report from a file, for the way back to it.
    last_file: StoredValue<Option<Arc<OpenedReport>>>,
    /// The last report from a link, to compare with.
    last_link: StoredValue<Option<Arc<OpenedReport>>>,
}

impl ReportReader {
    /// A reader without a report.
    pub fn new() -> Self {
        Self { shown: RwSignal::new(None), last_file: StoredValue::new(None), last_link: StoredValue::new(None) }
    }

    /// The report that is shown in place of a workbench, if any.
    pub fn opened(self) -> Option<Arc<OpenedReport>> {
        self.shown.get()
    }

    /// Whether a report is shown, or would be if it could be read.
    pub fn is_open(self) -> bool {
        self.shown.with(Option::is_some)
    }

    /// The fragment of the address of the report.
    pub fn fragment(self) -> Option<String> {
        self.shown.with(|shown| {
            Some(match &shown.as_ref()?.source {
                Source::Link(fragment) => fragment.clone(),
                Source::File(..) => FROM_FILE.to_owned(),
            })
        })
    }

    /// The report, if it could be read.
    pub fn report(self) -> Option<Report> {
        self.shown.with(|shown| shown.as_ref()?.report.as_ref()?.as_ref().ok().cloned())
    }

    /// Whether a report is shown and could be read.
    pub fn has_report(self) -> bool {
        self.shown.with(|shown| shown.as_ref().is_some_and(|opened| matches!(opened.report, Some(Ok(_)))))
    }

    /// The fragment of the last link to a report, and the title and measurements of the report if it has any to compare
    /// with; `None` also where the fragment is `held`.
    pub fn measured_by_link(self, held: Option<&str>) -> Option<(String, String, Snapshot)> {
        self.last_link.with_value(|last| match &**last.as_ref()? {
            OpenedReport { source: Source::Link(fragment), report: Some(Ok(report)) } if held != Some(fragment) => {
                Some((fragment.clone(), report.title.clone(), report.snapshot.clone()?))
            }
            _ => None,
        })
    }

    /// The title of the report.
    pub fn title(self) -> Option<String> {
        self.shown.with(|shown| match &shown.as_ref()?.report {
            Some(Ok(report)) => Some(report.title.clone()),
            _ => Some("A report".to_owned()),
        })
    }

    /// Follows an address: opens the report that it names, or closes the report. Returns whether the address is that of
    /// a report.
    pub fn open_address(self, fragment: &str) -> bool {
        if !link::is_report(fragment) {
            self.close();
            return false;
        }
        if untrack(move || self.fragment()).as_deref() == Some(fragment) {
            return true;
        }
        if fragment != FROM_FILE {
            // Decoding takes milliseconds and its size is bounded; a worker would have to be started first.
            let report = link::decode(fragment).map_err(|error| error.to_string());
            self.show(OpenedReport { source: Source::Link(fragment.to_owned()), report: Some(report) });
            return true;
        }
        let why = "This address leads to a report that was opened from a file, and it holds no report itself. Open \
                   the file again";
        let closed =
            || Arc::new(OpenedReport { source: Source::File(0, String::new()), report: Some(Err(why.to_owned())) });
        self.shown.set(Some(self.last_file.get_value().unwrap_or_else(closed)));
        true
    }

    /// Opens a report as soon as one is loaded from a file, unless a sweep came with it.
    pub fn open_loaded_reports(self, session: Session) {
        let known = StoredValue::new(Vec::<u32>::new());
        effect(move || {
            let known_before = known.get_value();
            let (files, all) = session.reports.with(|files| {
                let new = files.iter().filter(|file| !known_before.contains(&file.id));
                let has_sweep = new.clone().any(|file| matches!(file.outcome, Outcome::Loaded { .. }));
                let new: Vec<_> = new.filter(|_| !has_sweep).map(|file| (file.id, file.name.clone())).collect();
                (new, files.iter().map(|file| file.id).collect())
            });
            let is_report = |file: u32| session.documents.with_untracked(|all| all.reports.contains(&file));
            known.set_value(all);
            if let Some((file, name)) = files.into_iter().find(|(file, _)| is_report(*file)) {
                self.open_file(session, file, name);
            }
        });
    }

    /// Closes the report, which shows the workbench again.
    pub fn close(self) {
        if self.shown.with_untracked(Option::is_some) {
            self.shown.set(None);
        }
    }

    /// Opens a report that is loaded.
    pub fn open_file(self, session: Session, file: u32, name: String) {
        let source = Source::File(file, name);
        self.shown.set(Some(Arc::new(OpenedReport { source: source.clone(), report: None })));
        spawn_local(async move {
            // While a task is under way, the worker holds the files.
            let is_there = if untrack(move || session.is_busy()) {
                Ok(())
            } else {
                session.ensure_in_worker(Workbench::Tuning).await
            };
            let answer = match is_there {
                Ok(()) => session.ask_quick(Request::OpenReport { file }).await,
                Err(failure) => Err(failure),
            };
            let report = match answer {
                Ok(Response::Report(report)) => Ok(*report),
                Ok(_) => Err(Failure::InvalidMessage.to_string()),
                Err(failure) => Err(failure.to_string()),
            };
            let is_awaited = self.shown.with_untracked(|shown| shown.as_ref().is_some_and(|now| now.source == source));
            if is_awaited {
                self.show(OpenedReport { source, report: Some(report) });
            }
        });
    }

    fn show(self, opened: OpenedReport) {
        let last = if matches!(opened.source, Source::File(..)) { self.last_file } else { self.last_link };
        let opened = Some(Arc::new(opened));
        last.set_value(opened.clone());
        self.shown.set(opened);
    }
}
