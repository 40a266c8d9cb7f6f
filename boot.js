// Starts the page: fetches everything that it will ever need, then hands over to the code compiled from src/main.rs.
//
// What the page finds, before its `main` runs:
//
//     globalThis.collectune = {
//       module: Promise<WebAssembly.Module>,  // compiled once, for the page and all its workers
//       glue: Promise<string>,                // its JavaScript; defines the global `wasm_bindgen`
//       …                                     // and what register.js says there
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
    again.onclick = () => location.reload();
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
  const compile = async (link) => {
    const response = await get(link.href, { mode: "cors", credentials: "same-origin" });
    // Counted on a copy: what is compiled has to be the response itself, or the browser can't keep the result.
    show(response.clone(), Number(link.dataset.bytes)).catch(() => {});
    // Some hosts serve .wasm under another type, which streaming compilation refuses.
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

  const address = document.getElementById("page-glue").href;
  const module = compile(document.getElementById("page-wasm"));
  const glue = get(address).then((response) => response.text());
  // After the text is there, the script comes from the browser's cache.
  const running = glue.then(() => run(address));
  Object.assign(page, { module, glue });

  const start = ([module]) =>
    wasm_bindgen({ module_or_path: module })
      .then(() => boot.remove())
      .catch((error) => fail("The page could not start. Reload it; if that doesn't help, the browser may be too old.", error));
  Promise.all([module, running])
    .then(start, (error) =>
      failForNow("The page's code could not be loaded. Check the connection and reload the page.", error),
    )
    .then(page.arrived);
})();
