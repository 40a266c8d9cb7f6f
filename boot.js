// Starts the page: fetches everything that it will ever need, then hands over to the code compiled from src/main.rs.
//
// What the page finds, before its `main` runs:
//
//     globalThis.collectune = {
//       module: Promise<WebAssembly.Module>,  // compiled once, for the page and all its workers
//       glue: Promise<string>,                // its JavaScript; defines the global `wasm_bindgen`
//     }
//
// Both are there by then: without its workers the page would be of no use, and starting one later needs no request.
// A worker is
//
//     new Worker(URL.createObjectURL(new Blob([glue, BOOTSTRAP], { type: "text/javascript" })))
//
// where BOOTSTRAP is the text below, and the first message to it is `{ module }`. `main` finds no window there, and
// listens to the page. A worker from a blob inherits the content security policy of index.html; one from a URL would
// not. The bootstrap keeps messages that arrive before `main` has set `self.onmessage`, and gives them to it in order;
// a failure to start becomes the worker's `error` event.
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

  const get = async (url, options) => {
    const response = await fetch(url, options);
    if (!response.ok) throw new Error(`${new URL(url).pathname}: ${response.status} ${response.statusText}`);
    return response;
  };
  // Some hosts serve .wasm under another type, which streaming compilation refuses.
  const compile = async (url) => {
    const response = await get(url, { mode: "cors", credentials: "same-origin" });
    return response.headers.get("content-type") === "application/wasm"
      ? WebAssembly.compileStreaming(response)
      : WebAssembly.compile(await response.arrayBuffer());
  };
  const run = (url) =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = url;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${new URL(url).pathname} could not be loaded`));
      document.head.append(script);
    });

  bar.value = 0;
  const address = document.getElementById("page-glue").href;
  const module = part(compile(document.getElementById("page-wasm").href));
  const glue = part(get(address).then((response) => response.text()));
  // After the text is there, the script comes from the browser's cache.
  const running = part(glue.then(() => run(address)));
  globalThis.collectune = { module, glue };

  const start = ([module]) =>
    wasm_bindgen({ module_or_path: module })
      .then(() => boot.remove())
      .catch((error) => fail("The page could not start. Reload it; if that doesn't help, the browser may be too old.", error));
  Promise.all([module, running]).then(start, (error) =>
    fail("The page's code could not be loaded. Check the connection and reload the page.", error),
  );
})();
