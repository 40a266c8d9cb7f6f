//! Has the worker write the report in all formats, one after the other, whenever its contents change.

use std::sync::Arc;

use leptos::{prelude::*, task::spawn_local};

use crate::{
    app::{
        clipboard,
        js_error::describe,
        report::ReportReader,
        session::{Failure, Session},
        signal::RwSignal,
    },
    report::{Contents, ReportFormat, WriteOptions, Written, annotations::Annotations, link::LinkSize},
    worker::protocol::{Request, Response},
};

/// The report in a format, or why it could not be written.
pub type Outcome = Result<Written, String>;

/// The report in all formats. Copies share it.
#[derive(Clone, Copy)]
pub struct ReportWriter {
    session: Session,
    reader: ReportReader,
    /// The parts that the report contains.
    pub contents: RwSignal<Contents>,
    /// The title and the notes that the user adds.
    pub annotations: RwSignal<Annotations>,
    /// What is kept of them while the page is open, and under which name.
    kept: KeptAnnotations,
    key: StoredValue<String>,
    /// The size of the link that is shown.
    pub link_size: RwSignal<LinkSize>,
    forms: RwSignal<Arc<WrittenForms>>,
    /// The message in the dialog.
    pub message: RwSignal<String>,
}

/// The title and the notes of each report that was shared, by the workbench or the address of the report.
pub type KeptAnnotations = StoredValue<Vec<(String, Annotations)>>;

/// The formats written so far.
#[derive(Clone, Default)]
struct WrittenForms {
    done: Vec<(ReportFormat, Arc<Outcome>)>,
    /// The number of changes of the contents; results for earlier contents are discarded.
    round: u32,
    is_writing: bool,
}

impl ReportWriter {
    /// Starts writing the report of the workbench, or of the opened report.
    pub fn open(session: Session, reader: ReportReader, kept: KeptAnnotations) -> Self {
        let workbench = session.workbench.get_untracked();
        let of_report = untrack(move || Some(reader.fragment()? + &reader.title().unwrap_or_default()));
        let key = of_report.unwrap_or_else(|| workbench.key().to_owned());
        let annotations = kept.with_value(|kept| kept.iter().find(|(of, _)| *of == key).map(|(_, one)| one.clone()));
        let whole = Contents { workbench, made_on: Some(today()), ..Contents::whole() };
        let writer = Self {
            session,
            reader,
            contents: RwSignal::new(whole),
            annotations: RwSignal::new(annotations.unwrap_or_default()),
            kept,
            key: StoredValue::new(key),
            link_size: RwSignal::new(LinkSize::Small),
            forms: RwSignal::default(),
            message: RwSignal::default(),
        };
        writer.write();
        writer
    }

    /// The report in a format; `None` before it is written.
    pub fn written(self, form: ReportFormat) -> Option<Arc<Outcome>> {
        self.forms.with(|forms| forms.done.iter().find(|(done, _)| *done == form).map(|(_, text)| text.clone()))
    }

    /// Whether formats remain to be written.
    pub fn is_writing(self) -> bool {
        self.forms.with(|forms| forms.is_writing)
    }

    /// Changes the contents and writes all formats again.
    pub fn choose(self, change: impl FnOnce(&mut Contents)) {
        self.contents.update(change);
        self.write();
    }

    /// Changes the title and the notes, and writes all formats again.
    pub fn annotate(self, change: impl FnOnce(&mut Annotations)) {
        self.annotations.update(change);
        let (key, annotations) = (self.key.get_value(), self.annotations.get_untracked());
        self.kept.update_value(|kept| {
            kept.retain(|(of, _)| *of != key);
            kept.push((key, annotations));
        });
        self.write();
    }

    /// Stops writing; formats that are written stay.
    pub fn stop(self) {
        let round = self.forms.with_untracked(|forms| forms.round + 1);
        self.forms.update(|forms| {
            let forms = Arc::make_mut(forms);
            (forms.round, forms.is_writing) = (round, false);
        });
        self.set_message("Cancelled.".to_owned());
    }

    /// Shows a message in the dialog.
    pub fn set_message(self, text: String) {
        self.message.set(text);
    }

    /// Saves a text as a file.
    pub fn save(self, name: &str, media_type: &str, text: &str) {
        self.set_message(match clipboard::save(name, media_type, text) {
            Ok(()) => format!("Saved as {name}."),
            Err(error) => format!("The file could not be saved: {}.", describe(&error)),
        });
    }

    /// Copies a text to the clipboard. If the browser forbids it, shows what to do `otherwise`.
    pub fn copy(self, text: String, otherwise: &'static str) {
        spawn_local(async move {
            self.set_message(if clipboard::copy(&text).await {
                "Copied.".to_owned()
            } else {
                format!("The browser does not let the page copy; {otherwise}.")
            });
        });
    }

    fn write(self) {
        let round = self.forms.with_untracked(|forms| forms.round + 1);
        self.forms.set(Arc::new(WrittenForms { done: Vec::new(), round, is_writing: true }));
        self.set_message("Writing …".to_owned());
        spawn_local(async move {
            let is_there = match untrack(move || self.reader.has_report()) {
                true => Ok(()),
                false => self.session.ensure_in_worker(self.session.workbench.get_untracked()).await,
            };
            for form in ReportFormat::ALL {
                let Some(contents) = self.contents.try_get_untracked() else { return };
                let Some(annotations) = self.annotations.try_get_untracked() else { return };
                let options = WriteOptions { form: *form, annotations, page: page_address() };
                let request = match untrack(move || self.reader.report()) {
                    Some(report) => Request::WriteOpened { report: Box::new(report), options },
                    None => Request::WriteReport { contents, options },
                };
                let answer = match &is_there {
                    Ok(()) => self.session.ask_quick(request).await,
                    Err(failure) => Err(failure.clone()),
                };
                let outcome = match answer {
                    Ok(Response::Written(written)) => Ok(written),
                    Ok(_) => Err(Failure::InvalidMessage.to_string()),
                    Err(failure) => Err(failure.to_string()),
                };
                // The dialog was closed, or the contents have changed.
                if self.forms.try_with_untracked(|forms| forms.round) != Some(round) {
                    return;
                }
                self.forms.update(|forms| {
                    let forms = Arc::make_mut(forms);
                    forms.done.push((*form, Arc::new(outcome)));
                    forms.is_writing = forms.done.len() < ReportFormat::ALL.len();
                });
            }
            self.set_message("Ready.".to_owned());
        });
    }
}

/// The local date as `2026-11-22`.
pub fn today() -> String {
    let now = js_sys::Date::new_0();
    format!("{:04}-{:02}-{:02}", now.get_full_year(), now.get_month() + 1, now.get_date())
}

/// The address of the page without the fragment.
pub fn page_address() -> String {
    let address = window().location().href().unwrap_or_default();
    address.split('#').next().unwrap_or_default().to_owned()
}
