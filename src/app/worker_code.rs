//! The code of the workers, which `web/boot.js` fetches after that of the page, once for all workers.

use std::cell::RefCell;

use gloo_file::{Blob, ObjectUrl};
use js_sys::{Array, Object, Promise, Reflect};
use wasm_bindgen::{JsCast, prelude::*};
use wasm_bindgen_futures::JsFuture;
use web_sys::Worker;

/// The first code that a worker runs: keeps messages that arrive before `main` of the worker listens.
const BOOTSTRAP: &str = r"
self.onmessage = (first) => {
  const early = [];
  self.onmessage = (event) => early.push(event);
  wasm_bindgen({ module_or_path: first.data.module }).then(
    () => early.forEach((event) => self.onmessage(event)),
    (error) => setTimeout(() => { throw error; }),
  );
};";

/// The code of the workers: the compiled module, and the address of a blob with the script.
#[derive(Clone)]
pub struct WorkerCode {
    module: JsValue,
    script: ObjectUrl,
}

thread_local! {
    static CODE: RefCell<Option<WorkerCode>> = const { RefCell::new(None) };
}

#[wasm_bindgen]
extern "C" {
    /// The compiled module and its script. Fetches them again if they did not arrive.
    #[wasm_bindgen(js_namespace = collectune, js_name = parts)]
    fn fetched() -> Promise;
}

/// Whether the code has arrived.
pub fn is_loaded() -> bool {
    CODE.with_borrow(Option::is_some)
}

/// The code, as soon as it has arrived. Returns what the browser threw if it could not be fetched.
pub async fn load() -> Result<WorkerCode, JsValue> {
    if let Some(code) = CODE.with_borrow(Clone::clone) {
        return Ok(code);
    }
    let both: Array = JsFuture::from(fetched()).await?.dyn_into()?;
    let (module, glue) = (both.get(0), both.get(1));
    let script = glue.as_string().ok_or("the worker's code is no text")? + BOOTSTRAP;
    let script = Blob::new_with_options(script.as_str(), Some("text/javascript")).into();
    let code = WorkerCode { module, script };
    CODE.set(Some(code.clone()));
    Ok(code)
}

impl WorkerCode {
    /// Starts a worker with this code. Returns what the browser threw if it could not be started.
    pub fn start_worker(&self) -> Result<Worker, JsValue> {
        let worker = Worker::new(&self.script)?;
        let first = Object::new();
        Reflect::set(&first, &"module".into(), &self.module)?;
        worker.post_message(&first)?;
        Ok(worker)
    }
}
