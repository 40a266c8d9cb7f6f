// Starts the page: fetches its code, then that of its workers, and hands over to what is compiled from src/main.rs.
//
// What the page finds, before its `main` runs:
//
//     globalThis.collectune = {
//       parts(): Promise<[WebAssembly.Module, string]>,  // what workers are made of; after a failure, asked for again
//       …                                                // and what register.js says there
//     }
//
// The workers' code, compiled from src/bin/worker.rs, is twice as large as the page's. It comes right behind it, once,
// for all workers: beside it, it would take its share of a slow line. A worker is
//
//     new Worker(URL.createObjectURL(new Blob([glue, BOOTSTRAP], { type: "text/javascript" })))
//
// where `glue` is the second part, JavaScript that defines the global `wasm_bindgen`, and BOOTSTRAP is the text below.
// The first message to it is `{ module }`, the first part. A worker from a blob inherits the content security policy of
// index.html; one from a URL would not. The bootstrap keeps messages that arrive before `main` has set
// `self.onmessage`, and gives them to it in order; a failure to start becomes the worker's `error` event.
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
// "busy" and "idle". The element #boot, the page's face until then, is removed when `main` has returned.
//
// A button with `data-copy="ID"` copies the text of that element, also where the page's own code has stopped.

(() => {
  "use strict";
  const boot = document.getElementById("boot");
  const line = document.getElementById("boot-line");
  const bar = boot.querySelector("progress");
  const page = globalThis.collectune;

  // The theme that was chosen, before the page's code comes to it.
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch (_) {
    // Storage is forbidden; then none was chosen.
  }

  // Paper says on which day it was printed: style/print.css.
  addEventListener("beforeprint", () => {
    document.documentElement.style.setProperty("--today", `"${new Date().toLocaleDateString("sv")}"`);
  });

  const element = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });

  const fail = (sentence, error) => {
    document.documentElement.dataset.state = "failed";
    const text = element("p", error ? `${sentence} (${error.message ?? error})` : sentence);
    text.setAttribute("role", "alert");
    text.className = "boot-failed";
    line.replaceChildren(text);
    if (!boot.isConnected) document.body.prepend(boot);
  };
  // Where another try may do better.
  const failForNow = (sentence, error) => {
    fail(sentence, error);
    const again = element("button", "Try again");
    again.type = "button";
    // A browser may hold what a host refused or broke off, and a reload would be given that again.
    const fetched = (id) => fetch(document.getElementById(id).href, { cache: "reload" }).then((anew) => anew.blob());
    again.onclick = () => {
      again.disabled = true;
      all(["page-wasm", "page-glue"].map(fetched)).catch(() => {}).then(() => location.reload());
    };
    line.append(again);
  };

  document.addEventListener("click", async ({ target }) => {
    if (target.id === "skip") {
      const main = document.querySelector("main");
      main.tabIndex = -1;
      main.focus();
      main.scrollIntoView();
    }
    const source = document.getElementById(target.dataset?.copy);
    if (!source) return;
    const label = target.textContent;
    try {
      await navigator.clipboard.writeText(source.textContent);
      target.textContent = "Copied";
    } catch (_) {
      getSelection().selectAllChildren(source);
      target.textContent = "Selected: copy it yourself";
    }
    setTimeout(() => (target.textContent = label), 2000);
  });

  if (typeof WebAssembly !== "object" || typeof WebAssembly.compile !== "function") {
    fail("This browser has no WebAssembly, or it is switched off. Open the page in a current Firefox, Chrome, Edge or Safari.");
    return;
  }
  if (location.protocol === "file:") {
    fail("A browser doesn't run this page from a file. Serve its folder, for example with `cargo xtask serve`, and open that address.");
    return;
  }

  const get = async (url, options) => {
    const response = await fetch(url, options);
    if (!response.ok) throw new Error(`${new URL(url).pathname}: ${response.status} ${response.statusText}`);
    return response;
  };
  // Content-Length counts what travels, which is compressed; the build has written down how much is left of it here.
  const show = async (response, total) => {
    const text = document.getElementById("boot-bytes");
    const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
    const reader = response.body.getReader();
    let [received, piece] = [0, await reader.read()];
    while (!piece.done) {
      received += piece.value.length;
      text.textContent = total ? `${megabytes(received)} of ${megabytes(total)} MB` : `${megabytes(received)} MB`;
      if (total) bar.value = received / total;
      piece = await reader.read();
    }
  };
  const compile = (response) =>
    // Some hosts serve .wasm under another type, which streaming compilation refuses.
    response.headers.get("content-type") === "application/wasm"
      ? WebAssembly.compileStreaming(response)
      : response.arrayBuffer().then((code) => WebAssembly.compile(code));
  // Here alone: where `Promise.all` stands twice, the minifier makes a function of it that has lost its `this`.
  const all = (promises) => Promise.all(promises);
  const run = (url) =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = url;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${new URL(url).pathname} could not be loaded`));
      document.head.append(script);
    });

  const link = document.getElementById("page-wasm");
  const module = get(link.href, { mode: "cors", credentials: "same-origin" }).then((response) => {
    // Counted on a copy: what is compiled has to be the response itself, or the browser can't keep the result.
    show(response.clone(), Number(link.dataset.bytes)).catch(() => {});
    return compile(response);
  });

  // The name of the workers' code, which the build has written down.
  const { worker } = document.documentElement.dataset;
  let parts;
  let cache = "default";
  page.parts = () => {
    const part = (ending) => get(new URL(worker + ending, location), { cache });
    parts ??= all([part("_bg.wasm").then(compile), part(".js").then((response) => response.text())]).catch((error) => {
      parts = undefined;
      // Browsers keep a host's refusals as well.
      cache = "reload";
      throw error;
    });
    return parts;
  };
  const apart = () => page.parts().catch(() => {});

  const start = ([module]) =>
    wasm_bindgen({ module_or_path: module })
      .then(() => boot.remove())
      .catch((error) => fail("The page could not start. Reload it; if that doesn't help, the browser may be too old.", error));
  all([module, run(document.getElementById("page-glue").href)]).then(start, (error) =>
    failForNow("The page's code could not be loaded. Check the connection and reload the page.", error),
  );
  module.then(apart, () => {}).then(page.arrived);
})();
