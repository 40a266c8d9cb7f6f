//! What tests ask of a browser that the WebDriver standard has no command for. Chromium does it by the DevTools
//! protocol, Firefox by scripts with the browser's own rights.

use std::{fmt::Write as _, path::Path};

use serde_json::{Value, json};

use crate::driver::{Driver, Kind};

impl Driver {
    /// A command of the Chrome DevTools Protocol.
    ///
    /// # Panics
    /// In Firefox. Tests that need it are named in `xtask/src/firefox.rs`.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        assert_eq!(self.kind(), Kind::Chromium, "only Chromium has {command}: name the test in xtask/src/firefox.rs");
        self.post("/goog/cdp/execute", json!({ "cmd": command, "params": parameters }))
    }

    /// The body of a JavaScript function of `arguments` that runs in Firefox itself; `tab` is what shows the page.
    fn in_firefox(&self, body: &str, arguments: &[Value]) -> Value {
        assert_eq!(self.kind(), Kind::Firefox, "only Chromium and Firefox do more than the standard");
        self.post("/moz/context", json!({ "context": "chrome" }));
        let script = format!("const tab = window.gBrowser.selectedBrowser; {body}");
        let answer = self.post("/execute/sync", json!({ "script": script, "args": arguments }));
        self.post("/moz/context", json!({ "context": "content" }));
        answer
    }

    /// Runs a script whenever a document opens in this tab, before anything of its own.
    pub fn before_loading(&self, script: &str) {
        match self.kind() {
            Kind::Chromium => {
                self.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": script }));
            }
            _ => {
                self.in_firefox(
                    "const source = arguments[0];
                     const inProcess = (source) => Services.obs.addObserver((page) => {
                         if (!/^https?:/.test(page.location?.href)) return;
                         const scope = Cu.Sandbox(page, { sandboxPrototype: page, wantXrays: false });
                         Cu.evalInSandbox(source, scope);
                     }, 'content-document-global-created');
                     const code = `(${inProcess})(${JSON.stringify(source)})`;
                     Services.ppmm.loadProcessScript(`data:,${encodeURIComponent(code)}`, true);",
                    &[script.into()],
                );
            }
        }
    }

    /// Makes the system say these media features, each with its `name` and `value`.
    pub fn emulate(&self, features: &Value) {
        match self.kind() {
            Kind::Chromium => {
                self.devtools("Emulation.setEmulatedMedia", &json!({ "features": features }));
            }
            _ => {
                self.in_firefox(
                    "const of = (name) => arguments[0].find((feature) => feature.name === name)?.value ?? 'none';
                     tab.browsingContext.prefersColorSchemeOverride = of('prefers-color-scheme');
                     tab.browsingContext.forcedColorsOverride = of('forced-colors');
                     Services.prefs.setIntPref('ui.prefersReducedMotion', Number(of('prefers-reduced-motion') === 'reduce'));",
                    std::slice::from_ref(features),
                );
            }
        }
    }

    /// Shows the page as it would be printed.
    pub fn emulate_paper(&self) {
        match self.kind() {
            Kind::Chromium => {
                self.devtools("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
            }
            _ => {
                self.in_firefox("tab.browsingContext.mediumOverride = 'print'", &[]);
            }
        }
    }

    /// Sets the size of what shows the page, in CSS pixels.
    pub fn resize(&self, width: u32, height: u32) {
        match self.kind() {
            Kind::Chromium => {
                let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
                self.devtools("Emulation.setDeviceMetricsOverride", &size);
            }
            _ => {
                let mut style = String::new();
                for (side, pixels) in [("width", width), ("height", height)] {
                    let _ = write!(style, "min-{side}:{pixels}px;max-{side}:{pixels}px;");
                }
                self.in_firefox("tab.style.cssText = arguments[0]", &[style.into()]);
                self.run(
                    "const [width, height] = arguments;
                     for (let frame = 0; frame < 100 && (innerWidth !== width || innerHeight !== height); frame += 1) {
                         await new Promise((done) => setTimeout(done, 10));
                     }",
                    &[width.into(), height.into()],
                );
            }
        }
    }

    /// Switches the page's scripts off, or on again. The tests' own run all the same.
    pub fn allow_scripts(&self, are_allowed: bool) {
        match self.kind() {
            Kind::Chromium => {
                self.devtools("Emulation.setScriptExecutionDisabled", &json!({ "value": !are_allowed }));
            }
            _ => {
                self.in_firefox("tab.browsingContext.allowJavascript = arguments[0]", &[are_allowed.into()]);
            }
        }
    }

    /// Lets the page read and write the clipboard without asking. Firefox is started so.
    pub fn allow_clipboard(&self) {
        if self.kind() == Kind::Chromium {
            let permissions = json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] });
            self.devtools("Browser.grantPermissions", &permissions);
        }
    }

    /// Saves downloads in a folder without asking.
    pub fn download_to(&self, folder: &Path) {
        match self.kind() {
            Kind::Chromium => {
                let behaviour = json!({ "behavior": "allow", "downloadPath": folder });
                self.devtools("Browser.setDownloadBehavior", &behaviour);
            }
            _ => {
                self.in_firefox(
                    "Services.prefs.setStringPref('browser.download.dir', arguments[0]);
                     Services.prefs.setIntPref('browser.download.folderList', 2);",
                    &[folder.to_str().into()],
                );
            }
        }
    }

    /// Drags files and folders from the desktop over the window and drops them at a place in it.
    pub fn drop_paths(&self, paths: &[std::path::PathBuf], (x, y): (f64, f64)) {
        match self.kind() {
            Kind::Chromium => {
                for event in ["dragEnter", "dragOver", "drop"] {
                    let data = json!({ "items": [], "files": paths, "dragOperationsMask": 1 });
                    self.devtools("Input.dispatchDragEvent", &json!({ "type": event, "x": x, "y": y, "data": data }));
                }
            }
            _ => {
                assert!(paths.iter().all(|path| path.is_file()), "a script drops no folder in Firefox");
                // What a person chooses in a field is dropped, so that the files are those on disk.
                self.run(
                    "const field = document.createElement('input');
                     Object.assign(field, { type: 'file', multiple: true, id: 'dropped-by-a-test' });
                     field.style.cssText = 'position:fixed;top:0;left:0';
                     (document.querySelector('dialog[open]') ?? document.body).append(field);",
                    &[],
                );
                let names: Vec<&str> = paths.iter().filter_map(|path| path.to_str()).collect();
                self.type_into(&self.select("#dropped-by-a-test")[0], &names.join("\n"));
                self.run(
                    "const [x, y] = arguments;
                     const [field, dataTransfer] = [document.querySelector('#dropped-by-a-test'), new DataTransfer()];
                     for (const file of field.files) dataTransfer.items.add(file);
                     field.remove();
                     const target = document.elementFromPoint(x, y) ?? document.body;
                     for (const type of ['dragenter', 'dragover', 'drop']) {
                         target.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
                     }",
                    &[x.into(), y.into()],
                );
            }
        }
    }

    /// Warnings and errors that the console shows since the last call.
    pub fn console_faults(&self) -> Vec<String> {
        match self.kind() {
            Kind::Chromium => {
                let messages = self.post("/se/log", json!({ "type": "browser" }));
                let messages = messages.as_array().unwrap_or_else(|| panic!("the log is {messages}"));
                let is_fault = |message: &&Value| message["level"] == "SEVERE" || message["level"] == "WARNING";
                messages.iter().filter(is_fault).map(|message| message["message"].to_string()).collect()
            }
            _ => {
                let messages = self.in_firefox(
                    "const messages = Services.console.getMessageArray();
                     Services.console.reset();
                     return messages
                         .filter((message) => message instanceof Ci.nsIScriptError && /^http:/.test(message.sourceName))
                         .filter((message) => !(message.flags & Ci.nsIScriptError.warningFlag) && !(message.flags & 8))
                         .map((message) => `${message.category}: ${message.errorMessage}`);",
                    &[],
                );
                messages.as_array().into_iter().flatten().map(ToString::to_string).collect()
            }
        }
    }
}
