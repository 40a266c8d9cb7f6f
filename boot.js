// Starts the page: fetches everything that it will ever need, then hands over to the code compiled from src/main.rs.
//
// What the page finds, before its `main` runs:
//
//     globalThis.collectune = {
//       workerModule: Promise<WebAssembly.Module>,  // src/bin/worker.rs, compiled once for all workers
//       workerGlue: Promise<string>,                // its JavaScript; defines the global `wasm_bindgen`
//     }
//
// Both are there by then: without its worker the page would be of no use, and starting one later needs no request.
// A worker is
//
//     new Worker(URL.createObjectURL(new Blob([workerGlue, BOOTSTRAP], { type: "text/javascript" })))
//
// where BOOTSTRAP is the text below, and the first message to it is `{ module: workerModule }`. A worker from a blob
// inherits the content security policy of index.html; one from a URL would not. The bootstrap keeps messages that
// arrive before `main` of src/bin/worker.rs has set `self.onmessage`, and gives them to it in order; a failure to
// start becomes the worker's `error` event.
//
//     self.onmessage = (first) => {
//       const early = [];
//       self.onmessage = (event) => early.push(event);
//       wasm_bindgen({ module_or_path: first.data.module }).then(
//         () => early.forEach((event) => self.onmessage(event)),
//         (error) => setTimeout(() => { throw error; }),
//       );
//     };
//
// While this script works, <html data-state> is "loading"; where it gives up, "failed". From `main` on the page sets
// "busy" and "idle". The element #boot is removed when `main` has returned.

(() => {
  "use strict";
  const boot = document.getElementById("boot");
  const bar = boot.querySelector("progress");

  const fail = (sentence, error) => {
    document.documentElement.dataset.state = "failed";
    const text = document.createElement("p");
    text.setAttribute("role", "alert");
    text.textContent = error ? `${sentence} (${error.message ?? error})` : sentence;
    boot.replaceChildren(text);
    if (!boot.isConnected) document.body.prepend(boot);
  };

  if (typeof WebAssembly !== "object" || typeof WebAssembly.compile !== "function") {
    fail("This browser has no WebAssembly, or it is switched off. Open the page in a current Firefox, Chrome, Edge or Safari.");
    return;
  }
  if (location.protocol === "file:") {
    fail("A browser doesn't run this page from a file. Serve its folder, for example with `cargo xtask serve`, and open that address.");
    return;
  }

  const parts = [];
  const part = (promise) => {
    parts.push(promise);
    bar.max = parts.length;
    promise.then(() => (bar.value += 1), () => {});
    return promise;
  };

  // The names of the worker's files never change, so a cache must ask whether they still hold.
  const get = async (url, options) => {
    const response = await fetch(url, options);
    if (!response.ok) throw new Error(`${new URL(url, location.href).pathname}: ${response.status} ${response.statusText}`);
    return response;
  };
  // Some hosts serve .wasm under another type, which streaming compilation refuses.
  const compile = async (url, options) => {
    const response = await get(url, options);
    return response.headers.get("content-type") === "application/wasm"
      ? WebAssembly.compileStreaming(response)
      : WebAssembly.compile(await response.arrayBuffer());
  };

  bar.value = 0;
  const fresh = { cache: "no-cache" };
  const page = document.getElementById("page-glue").href;
  const pageGlue = part(import(page));
  const pageModule = part(compile(document.getElementById("page-wasm").href, { mode: "cors", credentials: "same-origin" }));
  const workerGlue = part(get("worker.js", fresh).then((response) => response.text()));
  const workerModule = part(compile("worker_bg.wasm", fresh));
  globalThis.collectune = { workerModule, workerGlue };

  const start = ([glue, module]) =>
    glue
      .default({ module_or_path: module })
      .then(() => boot.remove())
      .catch((error) => fail("The page could not start. Reload it; if that doesn't help, the browser may be too old.", error));
  Promise.all([pageGlue, pageModule, workerGlue, workerModule]).then(start, (error) =>
    fail("The page's code could not be loaded. Check the connection and reload the page.", error),
  );
})();
