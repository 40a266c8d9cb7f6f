//! Files come in: dropped anywhere (folders too), chosen in a dialog, or pasted as text.

use crate::order::CompactSort;
use std::{cell::RefCell, rc::Rc};

use super::fields;
use futures::channel::oneshot;
use js_sys::Array;
use leptos::{ev, prelude::*, task::spawn_local};
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{
    ClipboardEvent, DataTransfer, DragEvent, EventTarget, File, FileList, FilePropertyBag, FileSystemDirectoryEntry,
    FileSystemDirectoryReader, FileSystemEntry, FileSystemFileEntry, HtmlInputElement,
};

/// More files than anybody wants to read at once: a folder dropped by mistake.
pub const MOST_FILES: usize = 4096;

/// Where opened files go.
pub type OnFiles = UnsyncCallback<Opened>;

/// Files that were opened together.
pub struct Opened {
    /// The handles.
    pub files: Vec<File>,
    /// There were more, which were passed over.
    pub too_many: bool,
}

impl Opened {
    fn new(mut files: Vec<File>) -> Self {
        let too_many = files.len() > MOST_FILES;
        files.truncate(MOST_FILES);
        Self { files, too_many }
    }
}

/// Takes files dropped anywhere on the page and text pasted anywhere; shows where they will go.
#[component]
pub fn DropZone(on_files: OnFiles, collecting: RwSignal<bool>) -> impl IntoView {
    let is_over = RwSignal::new(false);
    // Entering a child comes before leaving its parent, so the page is left when no element is entered.
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
            // Nothing follows where the pointer leaves the window; an element that is gone by then was never left.
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
            on_files.run(Opened::new(files));
            collecting.set(false);
        });
    };
    let paste = move |event: ClipboardEvent| {
        // A dialog asks for something else first.
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
            on_files.run(Opened::new(files));
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

/// A button that opens the browser's dialog.
#[component]
pub fn OpenButton(on_files: OnFiles, #[prop(optional)] primary: bool) -> impl IntoView {
    let input = NodeRef::<leptos::html::Input>::new();
    let chosen = move |event: web_sys::Event| {
        let Some(input) = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok()) else { return };
        let files = listed(input.files());
        // The same file can be chosen again only after this.
        input.set_value("");
        on_files.run(Opened::new(files));
    };
    // The input itself takes the keyboard and the label is its face, so nothing is lost to assistive technology.
    view! {
        <label class="button file-button" class:primary=primary>
            <input node_ref=input type="file" multiple=true class="visually-hidden" on:change=chosen />
            <span>"Open files"</span>
        </label>
    }
}

/// A text as a file of that name.
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

/// What was dropped: entries where the browser tells files from folders, and files where it doesn't.
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

/// Adds an entry's files, those of folders in them too. What can't be read and hidden files are passed over.
async fn collect(entry: FileSystemEntry, files: &mut Vec<File>) {
    let mut waiting = vec![entry];
    while let Some(entry) = waiting.pop() {
        if files.len() > MOST_FILES {
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

/// The same file under its path from the folder that was dropped: the folder may say what the file's content can't.
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

/// A reader hands its entries out in parts, and an empty one at the end.
async fn entries_in(reader: &FileSystemDirectoryReader) -> Vec<FileSystemEntry> {
    let mut entries = Vec::new();
    while entries.len() <= MOST_FILES {
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

/// A pair of callbacks of which one will be called, and what it is called with (`None` for an error).
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
