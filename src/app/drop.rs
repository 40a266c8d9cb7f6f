//! Opens files: dropped anywhere on the page (folders too), chosen in the dialog of the browser, or pasted as text.

use crate::order::CompactSort;
use std::{cell::RefCell, rc::Rc};

use super::{fields, reactive::handler, signal::RwSignal};
use futures::channel::oneshot;
use js_sys::Array;
use leptos::{ev, prelude::*, task::spawn_local};
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{
    ClipboardEvent, DataTransfer, DragEvent, EventTarget, File, FileList, FilePropertyBag, FileSystemDirectoryEntry,
    FileSystemDirectoryReader, FileSystemEntry, FileSystemFileEntry, HtmlInputElement,
};

/// The number of files that are opened at once. A folder with more was probably dropped by mistake.
pub const MAX_FILES: usize = 4096;

/// Called with the files that a user opened.
pub type OnFiles = UnsyncCallback<OpenedFiles>;

/// Files that were opened together.
pub struct OpenedFiles {
    /// The handles of the files, at most [`MAX_FILES`].
    pub files: Vec<File>,
    /// Whether there were more files, which are not opened.
    pub too_many: bool,
}

impl OpenedFiles {
    fn new(mut files: Vec<File>) -> Self {
        let too_many = files.len() > MAX_FILES;
        files.truncate(MAX_FILES);
        Self { files, too_many }
    }
}

/// Takes files dropped anywhere on the page, and text pasted anywhere; shows a frame while files are dragged over the
/// page.
#[component]
pub fn DropZone(on_files: OnFiles, collecting: RwSignal<bool>) -> impl IntoView {
    let is_over = RwSignal::new(false);
    // The event of entering a child comes before that of leaving its parent; the page is left when no element is
    // entered.
    let entered: Rc<RefCell<Vec<EventTarget>>> = Rc::default();
    let enter = {
        let entered = entered.clone();
        move |event: DragEvent| {
            if holds_files(&event) {
                event.prevent_default();
                entered.borrow_mut().extend(event.target());
                is_over.set(true);
            }
        }
    };
    let leave = {
        let entered = entered.clone();
        move |event: DragEvent| {
            let left = event.target();
            // No event follows when the pointer leaves the window, nor for an element that was removed meanwhile.
            let left_window = event.related_target().is_none();
            entered.borrow_mut().retain(|target| !left_window && Some(target) != left.as_ref());
            if entered.borrow().is_empty() {
                is_over.set(false);
            }
        }
    };
    let over = |event: DragEvent| {
        if holds_files(&event) {
            event.prevent_default();
            if let Some(transfer) = event.data_transfer() {
                transfer.set_drop_effect("copy");
            }
        }
    };
    let drop = move |event: DragEvent| {
        entered.borrow_mut().clear();
        is_over.set(false);
        if !holds_files(&event) {
            return;
        }
        event.prevent_default();
        // The event's data is gone after the handler, so the entries are taken here.
        let Some(transfer) = event.data_transfer() else { return };
        let (entries, plain) = entries_of(&transfer);
        collecting.set(true);
        spawn_local(async move {
            let mut files = plain;
            for entry in entries {
                collect(entry, &mut files).await;
            }
            on_files.run(OpenedFiles::new(files));
            collecting.set(false);
        });
    };
    let paste = move |event: ClipboardEvent| {
        // A dialog is open.
        if fields::is_typing(&event) || document().query_selector("dialog[open]").is_ok_and(|open| open.is_some()) {
            return;
        }
        let Some(transfer) = event.clipboard_data() else { return };
        let mut files = listed(transfer.files());
        if files.is_empty() {
            let text = transfer.get_data("text/plain").unwrap_or_default();
            files.extend((!text.trim().is_empty()).then(|| text_as_file("pasted.csv", &text)).flatten());
        }
        if !files.is_empty() {
            event.prevent_default();
            on_files.run(OpenedFiles::new(files));
        }
    };
    let listeners = [
        window_event_listener(ev::dragenter, enter),
        window_event_listener(ev::dragleave, leave),
        window_event_listener(ev::dragover, over),
        window_event_listener(ev::drop, drop),
        window_event_listener(ev::paste, paste),
    ];
    on_cleanup(move || listeners.into_iter().for_each(WindowListenerHandle::remove));
    view! {
        <div class="drop-overlay" class:is-over=move || is_over.get() aria-hidden="true">
            <p>"Drop to open"</p>
        </div>
    }
}

/// A button that opens the file dialog of the browser.
#[component]
pub fn OpenButton(on_files: OnFiles, #[prop(optional)] primary: bool) -> impl IntoView {
    let input = NodeRef::<leptos::html::Input>::new();
    let chosen = move |event: web_sys::Event| {
        let Some(input) = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok()) else { return };
        let files = listed(input.files());
        // Otherwise choosing the same file again would make no event.
        input.set_value("");
        on_files.run(OpenedFiles::new(files));
    };
    // The input itself takes the keyboard; the label only draws it, so assistive technology sees a file input.
    view! {
        <label class="button file-button" class:primary=primary>
            <input node_ref=input type="file" multiple=true class="visually-hidden" on:change=handler(chosen) />
            <span>"Open files"</span>
        </label>
    }
}

/// A text as a file named `name`.
pub fn text_as_file(name: &str, text: &str) -> Option<File> {
    let kind = FilePropertyBag::new();
    kind.set_type("text/csv");
    File::new_with_str_sequence_and_options(&Array::of1(&text.into()), name, &kind).ok()
}

fn holds_files(event: &DragEvent) -> bool {
    event.data_transfer().is_some_and(|transfer| transfer.types().iter().any(|kind| kind == "Files"))
}

fn listed(files: Option<FileList>) -> Vec<File> {
    files.map(|files| (0..files.length()).filter_map(|index| files.item(index)).collect()).unwrap_or_default()
}

/// The dropped entries where the browser tells files from folders, otherwise the files.
fn entries_of(transfer: &DataTransfer) -> (Vec<FileSystemEntry>, Vec<File>) {
    let items = transfer.items();
    let items = (0..items.length()).filter_map(|index| items.get(index)).filter(|item| item.kind() == "file");
    let (mut entries, mut files) = (Vec::new(), Vec::new());
    for item in items {
        match item.webkit_get_as_entry() {
            Ok(Some(entry)) => entries.push(entry),
            _ => files.extend(item.get_as_file().ok().flatten()),
        }
    }
    (entries, files)
}

/// Adds the files of an entry, including those in folders. Hidden files and what can't be read are left out.
async fn collect(entry: FileSystemEntry, files: &mut Vec<File>) {
    let mut waiting = vec![entry];
    while let Some(entry) = waiting.pop() {
        if files.len() > MAX_FILES {
            return;
        }
        if entry.is_directory() {
            let mut inside = entries_in(&entry.unchecked_into::<FileSystemDirectoryEntry>().create_reader()).await;
            inside.retain(|entry| !entry.name().starts_with('.'));
            inside.compact_sort_by_key(|entry| std::cmp::Reverse(entry.name()));
            waiting.extend(inside);
        } else {
            let path = entry.full_path();
            files.extend(file_of(&entry.unchecked_into()).await.and_then(|file| with_path(file, &path)));
        }
    }
}

/// The same file, named by its path within the dropped folder: readers use folder names that the content doesn't hold.
fn with_path(file: File, path: &str) -> Option<File> {
    let path = path.trim_start_matches('/');
    if !path.contains('/') {
        return Some(file);
    }
    File::new_with_blob_sequence(&Array::of1(&file), path).ok()
}

async fn file_of(entry: &FileSystemFileEntry) -> Option<File> {
    let (on_file, on_error, answer) = once();
    entry.file_with_callback_and_callback(on_file.as_ref().unchecked_ref(), on_error.as_ref().unchecked_ref());
    answer.await.ok()??.dyn_into().ok()
}

/// All entries of a folder. The browser returns them in batches, the last of which is empty.
async fn entries_in(reader: &FileSystemDirectoryReader) -> Vec<FileSystemEntry> {
    let mut entries = Vec::new();
    while entries.len() <= MAX_FILES {
        let (on_part, on_error, answer) = once();
        let asked = reader.read_entries_with_callback_and_callback(
            on_part.as_ref().unchecked_ref(),
            on_error.as_ref().unchecked_ref(),
        );
        let part = if asked.is_ok() { answer.await.ok().flatten() } else { None };
        let part: Vec<FileSystemEntry> =
            part.map(|part| Array::from(&part).iter().map(JsCast::unchecked_into).collect()).unwrap_or_default();
        if part.is_empty() {
            break;
        }
        entries.extend(part);
    }
    entries
}

type Once = Closure<dyn FnMut(JsValue)>;

/// Two callbacks, one of which will be called, and a receiver of the value (`None` for an error).
fn once() -> (Once, Once, oneshot::Receiver<Option<JsValue>>) {
    let (sender, receiver) = oneshot::channel();
    let sender = Rc::new(RefCell::new(Some(sender)));
    let send = |sender: &RefCell<Option<oneshot::Sender<_>>>, value| {
        if let Some(sender) = sender.take() {
            let _ = sender.send(value);
        }
    };
    let other = sender.clone();
    let on_value = Once::new(move |value| send(&sender, Some(value)));
    let on_error = Once::new(move |_| send(&other, None));
    (on_value, on_error, receiver)
}
