//! Files that are kept on this device, once the user has switched that on.
//!
//! The switch is an entry of the local storage. The files are in a database (IndexedDB), each under the time at which
//! it was opened. Both are empty while the switch is off. A connection to the database is closed after each operation,
//! so that tabs don't block each other and each sees what the others stored.

use crate::units::file_size;
use js_sys::{Array, Promise};
use leptos::{ev, prelude::*, task::spawn_local};
use wasm_bindgen::{JsCast, prelude::*};
use wasm_bindgen_futures::JsFuture;
use web_sys::{DomException, EventTarget, File, IdbDatabase, IdbFactory, IdbObjectStore, IdbTransactionMode};

use super::{
    drop::{OnFiles, OpenedFiles},
    js_error::describe,
    reactive::{For, Show, handler},
    session::Session,
    signal::RwSignal,
    theme::storage,
};

const DATABASE: &str = "collectune";
const OBJECT_STORE: &str = "files";
const SWITCH_KEY: &str = "keep";
/// The number of files that are kept; the oldest are removed first.
const MAX_FILES: u32 = 20;

/// The files that are kept, as this tab knows them. Copies share them.
#[derive(Clone, Copy)]
pub struct FileStore {
    is_on: RwSignal<bool>,
    files: leptos::prelude::RwSignal<Vec<StoredFile>, LocalStorage>,
    session: Session,
}

#[derive(Clone)]
struct StoredFile {
    opened_ms: f64,
    file: File,
}

impl FileStore {
    /// Reads the switch, and follows changes by other tabs.
    pub fn new(session: Session) -> Self {
        let file_store = Self {
            is_on: RwSignal::new(is_switched_on()),
            files: leptos::prelude::RwSignal::new_local(Vec::new()),
            session,
        };
        window_event_listener(ev::storage, move |event| {
            if event.key().is_none_or(|key| key == SWITCH_KEY) {
                file_store.is_on.set(is_switched_on());
                file_store.list();
            }
        });
        file_store.list();
        file_store
    }

    /// Stores files that were opened, if the switch is on.
    pub fn add(self, files: &[File]) {
        if !is_switched_on() {
            return;
        }
        let files = files.to_vec();
        self.change("could not be kept", async move || {
            let connection = Connection::open(IdbTransactionMode::Readwrite).await?;
            let store = &connection.store;
            let mut present = connection.list().await?;
            for (index, file) in files.iter().enumerate() {
                let is_same = |kept: &StoredFile| {
                    let one = |file: &File| (file.name(), file.size(), file.last_modified());
                    one(&kept.file) == one(file)
                };
                for same in present.extract_if(.., |kept| is_same(kept)) {
                    store.delete(&same.opened_ms.into())?;
                }
                // Files that were opened together differ by fractions of a millisecond.
                store.put_with_key(file, &(js_sys::Date::now() + index as f64 / 1000.0).into())?;
            }
            let surplus = (present.len() + files.len()).saturating_sub(MAX_FILES as usize);
            for oldest in present.iter().take(surplus) {
                store.delete(&oldest.opened_ms.into())?;
            }
            connection.finish().await
        });
    }

    fn remove(self, opened_ms: f64) {
        self.change("could not be removed", async move || {
            let connection = Connection::open(IdbTransactionMode::Readwrite).await?;
            connection.store.delete(&opened_ms.into())?;
            connection.finish().await
        });
    }

    fn switch(self, on: bool) {
        if !on {
            self.clear();
            return;
        }
        let stored = storage().is_some_and(|storage| storage.set_item(SWITCH_KEY, "on").is_ok());
        self.is_on.set(stored);
        if !stored {
            self.session.notify("This browser keeps nothing for the page, so files can't be kept.".into(), true, None);
        }
    }

    /// Removes the switch, the files and the database.
    fn clear(self) {
        let _ = storage().map(|storage| storage.remove_item(SWITCH_KEY));
        self.is_on.set(false);
        self.change("could not all be removed", async move || {
            let deletion = factory()?.delete_database(DATABASE)?;
            wait_for(&deletion, "success").await?;
            let text = "All kept files are removed from this device. What stays is the theme and the copy of the page \
                        for offline use; the browser removes both with the site's data.";
            self.session.notify(text.into(), false, None);
            Ok(())
        });
    }

    fn list(self) {
        if is_switched_on() {
            self.change("could not be listed", async || Ok(()));
        } else {
            self.files.set(Vec::new());
        }
    }

    /// Changes the stored files and lists them again; shows a notice if that fails.
    fn change(self, failed: &'static str, work: impl AsyncFnOnce() -> Result<(), JsValue> + 'static) {
        spawn_local(async move {
            let worked = work().await;
            let files = if worked.is_ok() && is_switched_on() {
                match Connection::open(IdbTransactionMode::Readonly).await {
                    Ok(connection) => connection.list().await,
                    Err(error) => Err(error),
                }
            } else {
                worked.map(|()| Vec::new())
            };
            match files {
                Ok(mut files) => {
                    files.reverse();
                    self.files.set(files);
                }
                Err(error) => {
                    let no_room = error.dyn_ref::<DomException>().is_some_and(|e| e.name() == "QuotaExceededError");
                    let why = if no_room {
                        "the browser has no room left for this page; remove some of them".to_owned()
                    } else {
                        describe(&error)
                    };
                    self.session.notify(format!("Files on this device {failed}: {why}."), true, None);
                }
            }
        });
    }
}

/// Writes the switch again, with a value that it did not have: other tabs then list the files again.
fn tell_other_tabs() {
    if is_switched_on() {
        let _ = storage().map(|storage| storage.set_item(SWITCH_KEY, &format!("on {}", js_sys::Date::now())));
    }
}

fn is_switched_on() -> bool {
    storage().and_then(|storage| storage.get_item(SWITCH_KEY).ok()?).is_some()
}

/// The databases of the browser. Returns an error where it has none or forbids them.
fn factory() -> Result<IdbFactory, JsValue> {
    window().indexed_db()?.ok_or_else(|| js_sys::Error::new("this browser has no database for pages").into())
}

/// A connection to the database with one transaction. Closed when dropped.
struct Connection {
    database: IdbDatabase,
    store: IdbObjectStore,
}

impl Connection {
    /// Opens the database, and creates it if it doesn't exist.
    async fn open(mode: IdbTransactionMode) -> Result<Self, JsValue> {
        let request = factory()?.open_with_u32(DATABASE, 1)?;
        let next = Promise::race(&Array::of2(&next_event(&request, "upgradeneeded"), &next_event(&request, "success")));
        let happened: web_sys::Event = JsFuture::from(next).await?.unchecked_into();
        let database: IdbDatabase = request.result()?.unchecked_into();
        if happened.type_() == "upgradeneeded" {
            database.create_object_store(OBJECT_STORE)?;
            wait_for(&request, "success").await?;
        }
        let store = database.transaction_with_str_and_mode(OBJECT_STORE, mode)?.object_store(OBJECT_STORE)?;
        Ok(Self { database, store })
    }

    /// The stored files, the oldest first.
    async fn list(&self) -> Result<Vec<StoredFile>, JsValue> {
        let (keys, files) = (self.store.get_all_keys()?, self.store.get_all()?);
        wait_for(&files, "success").await?;
        let (keys, files) = (Array::from(&keys.result()?), Array::from(&files.result()?));
        let both = |(key, file): (JsValue, JsValue)| {
            Some(StoredFile { opened_ms: key.as_f64()?, file: file.dyn_into().ok()? })
        };
        Ok(keys.iter().zip(files.iter()).filter_map(both).collect())
    }

    /// Waits until what was changed has been written, and tells other tabs.
    async fn finish(&self) -> Result<(), JsValue> {
        let transaction = self.store.transaction();
        // If the quota is exceeded, only the transaction says so.
        let written = wait_for(&transaction, "complete").await;
        written.map_err(|error| transaction.error().map_or(error, JsValue::from))?;
        tell_other_tabs();
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.database.close();
    }
}

/// Waits for the event `good` of a request or a transaction. Returns its error if another event comes first.
async fn wait_for(target: &EventTarget, good: &str) -> Result<(), JsValue> {
    JsFuture::from(next_event(target, good)).await.map(drop).map_err(|event| {
        let failed = event.unchecked_into::<web_sys::Event>().target();
        let error = failed.and_then(|target| js_sys::Reflect::get(&target, &"error".into()).ok());
        error.filter(JsValue::is_object).unwrap_or_else(|| js_sys::Error::new("it was given up").into())
    })
}

/// A promise of the event `good`; it is rejected with an `error` or `abort` event.
fn next_event(target: &EventTarget, good: &str) -> Promise {
    Promise::new(&mut |resolve, reject| {
        for (name, then) in [(good, &resolve), ("error", &reject), ("abort", &reject)] {
            // Adding a listener to a valid target does not fail.
            let _ = target.add_event_listener_with_callback(name, then);
        }
    })
}

/// The switch, and the list of the stored files.
#[component]
pub fn StoredFiles() -> impl IntoView {
    let file_store: FileStore = expect_context();
    view! {
        <section class="on-device" aria-label="Kept on this device">
            <label class="check">
                <input
                    type="checkbox"
                    prop:checked=move || file_store.is_on.get()
                    on:change:target=move |event| file_store.switch(event.target().checked())
                />
                <span>"Keep the files that I open on this device"</span>
            </label>
            <Show when=move || file_store.is_on.get()>
                <p class="small">
                    "The last 20, in this browser only. Anyone who uses this browser can open them. Switching off removes them."
                </p>
                <ul class="on-device-files">
                    <For each=move || file_store.files.get() key=|kept| kept.opened_ms.to_bits() children=|one| view! { <Row one /> } />
                </ul>
                <button type="button" on:click=handler(move |_| file_store.clear())>"Clear everything"</button>
            </Show>
        </section>
    }
}

#[component]
fn Row(one: StoredFile) -> impl IntoView {
    let file_store: FileStore = expect_context();
    let on_files: OnFiles = expect_context();
    let StoredFile { opened_ms, file } = one;
    let (name, size) = (file.name(), file_size(file.size() as u64));
    let remove = format!("Remove {name}");
    let open = move |_| on_files.run(OpenedFiles { files: vec![file.clone()], too_many: false });
    view! {
        <li>
            <button type="button" class="quiet on-device-file" on:click=handler(open)>{name}</button>
            <span class="small">{size}</span>
            <button type="button" class="quiet" aria-label=remove on:click=handler(move |_| file_store.remove(opened_ms))>"×"</button>
        </li>
    }
}
