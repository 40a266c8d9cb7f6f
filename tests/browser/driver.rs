//! A browser: Chromium through chromedriver, Firefox through geckodriver, or WebKit through WebKitGTK's driver, by the
//! commands of the WebDriver standard.
//!
//! Starting Chromium costs more than most tests do, so the tests share a few. Each test has a tab of its own, and a
//! server at a port of its own, so that nothing is found that another test kept. In Firefox each test has a browser of
//! its own: scripts that run before a page's own stay until it ends.

use std::{
    env,
    ffi::OsStr,
    io::{BufRead, BufReader},
    net::{TcpListener, TcpStream},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use xtask::server::Server;

/// Browsers that no test uses at the moment.
static IDLE: Mutex<Vec<Driver>> = Mutex::new(Vec::new());

/// The browser of a session, on which it depends how tests do what the standard has no command for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Also those that are made of it.
    Chromium,
    /// With the right to run scripts in the browser itself.
    Firefox,
    /// WebKitGTK's small browser, with what the standard has.
    WebKit,
}

/// A browser session. It ends when it is dropped, and when the tests end.
pub struct Driver {
    agent: ureq::Agent,
    session: String,
    process: Child,
    /// chromedriver stops when nobody can hear it any more.
    _output: BufReader<ChildStdout>,
    kind: Kind,
    /// Requests of Chromium and Firefox beyond loopback come here, where there is nothing.
    proxy: Server,
}

/// An element of the page.
#[derive(Clone, Debug)]
pub struct Element(Value);

impl Element {
    fn id(&self) -> &str {
        // The key by which the standard marks the references of elements.
        self.0["element-6066-11e4-a52e-4f735466cecf"].as_str().unwrap()
    }
}

impl From<Element> for Value {
    fn from(element: Element) -> Self {
        element.0
    }
}

impl Driver {
    /// The browser that `COLLECTUNE_BROWSER` names, `chromium` unless it says `firefox`, with one empty tab: one that
    /// another test has used, or a new one.
    pub fn any() -> Self {
        match env::var("COLLECTUNE_BROWSER").as_deref() {
            Ok("firefox") => Self::start_firefox(),
            Ok("chromium") | Err(_) => {
                let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
                idle.unwrap_or_else(Self::start_chromium)
            }
            Ok(other) => panic!("COLLECTUNE_BROWSER is {other}, neither chromium nor firefox"),
        }
    }

    /// Gives a browser to the next test. It ends instead where its tabs can't be closed with all that was set in them.
    pub fn give_back(self) {
        if self.kind == Kind::Chromium && self.renew().is_ok() {
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(self);
        }
    }

    /// Opens an empty tab and closes all others, with what was set in them.
    fn renew(&self) -> Result<(), String> {
        let tabs = self.get("/window/handles")?;
        let empty = self.try_post("/window/new", &json!({ "type": "tab" }))?;
        for tab in tabs.as_array().into_iter().flatten() {
            self.try_post("/window", &json!({ "handle": tab }))?;
            self.delete("/window")?;
        }
        self.try_post("/window", &json!({ "handle": empty["handle"] }))?;
        // Only a browser's first tab has the focus by itself.
        let focus = json!({ "cmd": "Emulation.setFocusEmulationEnabled", "params": { "enabled": true } });
        self.try_post("/goog/cdp/execute", &focus)?;
        self.try_post("/goog/cdp/execute", &json!({ "cmd": "Browser.resetPermissions", "params": {} }))?;
        self.try_post("/se/log", &json!({ "type": "browser" }))?;
        Ok(())
    }

    fn start_chromium() -> Self {
        let proxy = Server::start(Path::new(""), "/", 0).unwrap();
        let mut options = json!({ "args": [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--force-color-profile=srgb",
            "--hide-scrollbars",
            format!("--proxy-server={}", proxy.address()),
        ] });
        if let Some(chrome) = env::var_os("CHROME") {
            options["binary"] = chrome.to_str().unwrap().into();
        }
        let capabilities = json!({
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
            "timeouts": { "script": 120_000 },
        });
        let program = env::var_os("CHROMEDRIVER").unwrap_or_else(|| "chromedriver".into());
        let started = (0..5).find_map(|_| spawn(&program, &["--port=0"], "started successfully on port "));
        Self::begin(
            Kind::Chromium,
            started.expect("chromedriver does not start, or finds no free port"),
            proxy,
            &capabilities,
        )
    }

    /// Starts a Firefox with an empty profile.
    pub fn start_firefox() -> Self {
        let named = |variable| env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set"));
        let (firefox, geckodriver) = (named("FIREFOX"), named("GECKODRIVER"));
        let proxy = Server::start(Path::new(""), "/", 0).unwrap();
        let options = json!({
            "args": ["-headless", "--width=1700", "--height=1400"],
            "binary": firefox.to_str(),
            "prefs": {
                "network.proxy.type": 1,
                "network.proxy.http": "127.0.0.1",
                "network.proxy.http_port": proxy.address().port(),
                "network.proxy.ssl": "127.0.0.1",
                "network.proxy.ssl_port": proxy.address().port(),
                "network.proxy.allow_hijacking_localhost": false,
                // Scripts of tests read and write the clipboard, where a person would be asked.
                "dom.events.testing.asyncClipboard": true,
                "browser.download.useDownloadDir": true,
                "browser.download.alwaysOpenPanel": false,
                // Scripts of tests that run before the page's own come as an address of theirs.
                "security.allow_parent_unrestricted_js_loads": true,
            },
        });
        let capabilities = json!({
            "browserName": "firefox",
            "moz:firefoxOptions": options,
            "timeouts": { "script": 120_000 },
        });
        let started = spawn(&geckodriver, &["--allow-system-access", "--port", "0"], "Listening on 127.0.0.1:");
        Self::begin(
            Kind::Firefox,
            started.expect("geckodriver does not start, or finds no free port"),
            proxy,
            &capabilities,
        )
    }

    /// Starts WebKitGTK's browser with an empty profile, on a screen that nobody sees.
    pub fn start_webkit() -> Self {
        let named = |variable| env::var(variable).unwrap_or_else(|_| panic!("{variable} is not set"));
        // The driver takes no port by itself.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.expect("a free port").port();
        let arguments = ["-a", &named("WEBKITDRIVER"), &format!("--port={port}")];
        let (process, output) = run(OsStr::new("xvfb-run"), &arguments);
        let end = Instant::now() + Duration::from_secs(90);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "WebKit's driver does not listen at port {port}");
            thread::sleep(Duration::from_millis(50));
        }
        let capabilities = json!({
            "browserName": "MiniBrowser",
            "webkitgtk:browserOptions": { "binary": named("WEBKIT"), "args": ["--automation"] },
            "timeouts": { "script": 120_000 },
        });
        let proxy = Server::start(Path::new(""), "/", 0).unwrap();
        Self::begin(Kind::WebKit, (process, output, port), proxy, &capabilities)
    }

    fn begin(
        kind: Kind,
        (process, output, port): (Child, BufReader<ChildStdout>, u16),
        proxy: Server,
        wanted: &Value,
    ) -> Self {
        let session = format!("http://127.0.0.1:{port}/session");
        let mut driver = Self { agent: agent(), session, process, _output: output, kind, proxy };
        let session = driver.post("", json!({ "capabilities": { "alwaysMatch": wanted } }));
        driver.session = format!("{}/{}", driver.session, session["sessionId"].as_str().unwrap());
        driver
    }

    /// Opens an address, or goes to another fragment of the open one.
    pub fn go(&self, url: &str) {
        self.post("/url", json!({ "url": url }));
    }

    /// Loads the page again.
    pub fn reload(&self) {
        if self.kind == Kind::Chromium {
            self.post("/refresh", json!({}));
            return;
        }
        // The driver's own passes by what service workers kept, as a forced one does.
        let script = "document.documentElement.dataset.state = 'leaving'; setTimeout(() => location.reload());";
        self.post("/execute/sync", json!({ "script": script, "args": [] }));
    }

    /// The body of a JavaScript function of `arguments`; answers what it returns, after its promise.
    pub fn run(&self, body: &str, arguments: &[Value]) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1];
             (async (...arguments) => {{ {body} }})(...arguments)
               .then((value) => done({{ value }}), (error) => done({{ error: String(error) }}));"
        );
        let mut answer = self.post("/execute/async", json!({ "script": script, "args": arguments }));
        assert!(answer["error"].is_null(), "the script failed: {}\n{body}", answer["error"]);
        answer["value"].take()
    }

    /// The browser that this session drives, as it was started.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The elements that a CSS selector finds, in the order of the document.
    pub fn select(&self, css: &str) -> Vec<Element> {
        let found = self.post("/elements", json!({ "using": "css selector", "value": css }));
        found.as_array().unwrap().iter().cloned().map(Element).collect()
    }

    /// The name by which assistive technology knows an element; none for one that has left the page.
    pub fn accessible_name(&self, element: &Element) -> Option<String> {
        self.get(&format!("/element/{}/computedlabel", element.id())).ok()?.as_str().map(str::to_owned)
    }

    /// Whether a person can see an element.
    pub fn is_shown(&self, element: &Element) -> bool {
        self.get(&format!("/element/{}/displayed", element.id())).is_ok_and(|shown| shown == true)
    }

    /// Clicks where an element is.
    pub fn click(&self, element: &Element) {
        self.post(&format!("/element/{}/click", element.id()), json!({}));
    }

    /// Types into an element.
    pub fn type_into(&self, element: &Element, text: &str) {
        self.post(&format!("/element/{}/value", element.id()), json!({ "text": text }));
    }

    /// Presses and releases one key after another, wherever the focus is. Special keys have the code points that
    /// WebDriver gives them (see [`crate::page::key`]).
    pub fn press(&self, keys: &str) {
        let strokes: Vec<Value> = keys
            .chars()
            .flat_map(|key| [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })])
            .collect();
        self.post("/actions", json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": strokes }] }));
    }

    /// Presses a key while a modifier is held.
    pub fn press_with(&self, modifier: &str, key: &str) {
        let strokes = json!([
            { "type": "keyDown", "value": modifier },
            { "type": "keyDown", "value": key },
            { "type": "keyUp", "value": key },
            { "type": "keyUp", "value": modifier },
        ]);
        self.post("/actions", json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": strokes }] }));
    }

    /// Does one thing after another with the mouse, each an action of a pointer in the standard.
    pub fn point(&self, actions: &[Value]) {
        let pointer = json!({ "type": "pointer", "id": "mouse", "actions": actions });
        self.post("/actions", json!({ "actions": [pointer] }));
    }

    /// Turns the wheel at a place in the window, downwards where `by` is above zero, maybe while a key is held.
    pub fn turn_wheel(&self, (x, y): (f64, f64), by: f64, held: Option<&str>) {
        let turn = json!({ "type": "scroll", "x": x.round() as i64, "y": y.round() as i64, "deltaX": 0, "deltaY": by.round() as i64, "origin": "viewport" });
        let keys = |kind: &str| held.map_or(json!({ "type": "pause" }), |key| json!({ "type": kind, "value": key }));
        let pause = json!({ "type": "pause" });
        self.post(
            "/actions",
            json!({ "actions": [
                { "type": "key", "id": "keyboard", "actions": [keys("keyDown"), pause, keys("keyUp")] },
                { "type": "wheel", "id": "wheel", "actions": [pause, turn, pause] },
            ] }),
        );
    }

    /// Opens another tab and goes there. Answers the tab before.
    pub fn open_tab(&self) -> String {
        let here = self.tab();
        let tab = self.post("/window/new", json!({ "type": "tab" }));
        self.go_to_tab(tab["handle"].as_str().unwrap());
        here
    }

    /// The tab that is driven.
    pub fn tab(&self) -> String {
        self.get("/window").unwrap().as_str().unwrap().to_owned()
    }

    /// Drives another tab.
    pub fn go_to_tab(&self, tab: &str) {
        self.post("/window", json!({ "handle": tab }));
    }

    /// Closes the tab that is driven.
    pub fn close_tab(&self) {
        self.delete("/window").unwrap();
    }

    /// What the window shows, as PNG.
    pub fn screenshot(&self) -> Vec<u8> {
        let encoded = self.get("/screenshot").unwrap();
        BASE64_STANDARD.decode(encoded.as_str().unwrap()).unwrap()
    }

    /// The page on paper of that size, as PDF.
    pub fn print(&self, paper: Value) -> Vec<u8> {
        let encoded = self.post("/print", paper);
        BASE64_STANDARD.decode(encoded.as_str().unwrap()).unwrap()
    }

    /// The targets of all requests beyond loopback since the browser was started.
    pub fn requests_beyond(&self) -> Vec<String> {
        self.proxy.requests()
    }

    /// A command of the driver with its parameters. Answers its value.
    #[expect(clippy::needless_pass_by_value, reason = "callers write it in place")]
    pub fn post(&self, path: &str, body: Value) -> Value {
        self.try_post(path, &body).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn try_post(&self, path: &str, body: &Value) -> Result<Value, String> {
        answer_value(self.agent.post(format!("{}{path}", self.session)).send_json(body))
    }

    fn get(&self, path: &str) -> Result<Value, String> {
        answer_value(self.agent.get(format!("{}{path}", self.session)).call())
    }

    fn delete(&self, path: &str) -> Result<Value, String> {
        answer_value(self.agent.delete(format!("{}{path}", self.session)).call())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Where the browser is gone already, there is nothing left to close.
        let _ = self.delete("");
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn agent() -> ureq::Agent {
    let configuration = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .timeout_global(Some(Duration::from_secs(180)))
        .build();
    configuration.new_agent()
}

/// Runs a driver in a folder for temporary files, until standard input is closed: by us, or because the tests ended.
/// Idle browsers are in a static, which is not dropped.
const UNTIL_CLOSED: &str = r#"
    export TMPDIR="$(mktemp -d)"
    "$@" &
    # Only the driver holds the output, so that it ends with it.
    exec >/dev/null
    cat
    trap '' TERM
    kill 0
    wait
    for attempt in 1 2 3 4 5; do rm -rf "$TMPDIR" && break; sleep 0.2; done
"#;

/// Starts a program until nobody wants it any more. Answers what it prints.
fn run(program: &OsStr, arguments: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut process = Command::new("sh")
        .args(["-c", UNTIL_CLOSED, "sh"])
        .arg(program)
        .args(arguments)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let output = BufReader::new(process.stdout.take().unwrap());
    (process, output)
}

/// Starts a driver, which says behind `marker` which port it took; none where another program was quicker to take it.
fn spawn(program: &OsStr, arguments: &[&str], marker: &str) -> Option<(Child, BufReader<ChildStdout>, u16)> {
    let (mut process, mut output) = run(program, arguments);
    let mut line = String::new();
    while output.read_line(&mut line).unwrap() > 0 {
        if let Some((_, port)) = line.split_once(marker) {
            let port = port.trim().trim_end_matches('.').parse().unwrap();
            return Some((process, output, port));
        }
        line.clear();
    }
    drop(process.stdin.take());
    process.wait().unwrap();
    None
}

/// The value of an answer, or the message of an error.
fn answer_value(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<Value, String> {
    let mut answer = answer.map_err(|error| error.to_string())?;
    let body = answer.body_mut().with_config().limit(u64::MAX).read_json::<Value>();
    let mut value = body.map_err(|error| error.to_string())?["value"].take();
    match value["error"].as_str() {
        Some(error) if !answer.status().is_success() => Err(format!("{error}: {}", value["message"])),
        _ => Ok(value.take()),
    }
}
