//! What a worker is made of: the code that `web/boot.js` fetches right behind the page's, once for all workers.

use std::cell::RefCell;

use gloo_file::{Blob, ObjectUrl};
use js_sys::{Array, Object, Promise, Reflect};
use wasm_bindgen::{JsCast, prelude::*};
use wasm_bindgen_futures::JsFuture;
use web_sys::Worker;

/// The bootstrap of `web/boot.js`: keeps what arrives before the worker's `main` listens.
const BOOTSTRAP: &str = r"
self.onmessage = (first) => {
  const early = [];
  self.onmessage = (event) => early.push(event);
  wasm_bindgen({ module_or_path: first.data.module }).then(
    () => early.forEach((event) => self.onmessage(event)),
    (error) => setTimeout(() => { throw error; }),
  );
};";

/// A worker's code: compiled module, and the address of a blob with its script.
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
    /// The compiled module and its script; where they did not arrive, asks for them again.
    #[wasm_bindgen(js_namespace = collectune, js_name = parts)]
    fn fetched() -> Promise;
}

/// Whether the parts have arrived.
pub fn is_loaded() -> bool {
    CODE.with_borrow(Option::is_some)
}

/// The parts, once they have arrived.
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
    /// A worker that is about to start.
    pub fn start_worker(&self) -> Result<Worker, JsValue> {
        let worker = Worker::new(&self.script)?;
        let first = Object::new();
        Reflect::set(&first, &"module".into(), &self.module)?;
        worker.post_message(&first)?;
        Ok(worker)
    }
}
