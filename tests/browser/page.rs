//! The person at the browser.

use std::{
    fs,
    io::Read,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use flate2::read::ZlibDecoder;
use serde_json::{Value, json};
use tempfile::TempDir;
use xtask::server::Server;

use crate::{
    driver::{Driver, Element, Kind},
    loading::dist,
    support::archives::archive,
};

/// Where the page lies on its host: a folder of its own.
const PREFIX: &str = "/tools/collectune/";
/// How long something may take to appear, on a machine whose cores have four times as much to do as they can. It ends a
/// test that waits in vain, and says nothing of how quick the page is.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long training and validation may take there.
const LONG_PATIENCE: Duration = Duration::from_secs(400);

/// Browsers ask these for updates, accounts and their start page, whatever the page does.
const BROWSERS_OWN_HOSTS: [&str; 9] = [
    "google.com",
    "googleapis.com",
    "gstatic.com",
    "gvt1.com",
    "duckduckgo.com",
    "mozilla.com",
    "mozilla.net",
    "mozilla.org",
    "firefox.com",
];

/// Keys that have no character, as WebDriver names them.
pub mod key {
    /// Goes to the next control.
    pub const TAB: &str = "\u{e004}";
    /// Activates a control.
    pub const ENTER: &str = "\u{e007}";
    /// Takes away what is selected.
    pub const BACKSPACE: &str = "\u{e003}";
    /// Downwards, in a list.
    pub const DOWN: &str = "\u{e015}";
    /// Upwards, in a list: to the one before.
    pub const UP: &str = "\u{e013}";
    /// To the first of a list.
    pub const HOME: &str = "\u{e011}";
    /// To the last of a list.
    pub const END: &str = "\u{e010}";
    /// Closes what is on top.
    pub const ESCAPE: &str = "\u{e00c}";
    /// Held for capitals, and with other keys.
    pub const SHIFT: &str = "\u{e008}";
    /// Held for commands.
    pub const CONTROL: &str = "\u{e009}";
    /// To the right, in a row.
    pub const RIGHT: &str = "\u{e014}";
}

/// Watches what a test asks about later. It runs before anything of the page does.
const WATCH: &str = "
    window.watched = { violations: [], workers: [] };
    addEventListener('securitypolicyviolation', (event) => {
        watched.violations.push(`${event.effectiveDirective}: ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
    });
    window.Worker = class extends Worker {
        constructor(...options) {
            super(...options);
            watched.workers.push(this);
        }
    };
";

/// The open page.
pub struct Page {
    server: Server,
    /// Given back at the end.
    driver: Option<Driver>,
    scratch: TempDir,
    /// How many requests beyond loopback the browser had sent when the test began.
    requests_before: usize,
}

impl Page {
    /// A browser beside the served page, which is not open yet.
    pub fn closed() -> Self {
        Self::of(&dist())
    }

    /// As [`Page::closed`], for another folder than the built page's.
    pub fn of(dist: &std::path::Path) -> Self {
        let server = Server::start(dist, PREFIX, 0).unwrap();
        let driver = Driver::any();
        let requests_before = driver.requests_beyond().len();
        let page = Self { server, driver: Some(driver), scratch: tempfile::tempdir().unwrap(), requests_before };
        page.before_loading(WATCH);
        page.resize(1280, 800);
        page
    }

    fn driver(&self) -> &Driver {
        self.driver.as_ref().expect("a browser until the end")
    }

    /// Runs a script whenever a document opens, before anything of its own.
    pub fn before_loading(&self, script: &str) {
        self.driver().before_loading(script);
    }

    /// Opens the page and waits until it is idle.
    pub fn open() -> Self {
        Self::open_at("")
    }

    /// Opens the page with a fragment (`#…`) and waits until it is idle.
    pub fn open_at(fragment: &str) -> Self {
        let page = Self::closed();
        page.visit(fragment);
        page.wait_until_idle();
        page
    }

    /// Opens the page, drops files on it, and waits for their answers.
    pub fn with_files(files: &[(&str, &[u8])]) -> Self {
        let page = Self::open();
        page.drop_files(files);
        page.wait_until_idle();
        page
    }

    /// Goes to a fragment, without waiting for anything.
    pub fn visit(&self, fragment: &str) {
        self.driver().go(&format!("{}{fragment}", self.server.url()));
    }

    /// Loads the page again and waits until it is idle.
    pub fn reload(&self) {
        self.driver().reload();
        self.wait_until_idle();
    }

    /// `loading`, `failed` (both said by boot.js), `busy` or `idle`.
    pub fn state(&self) -> String {
        self.text_of("return document.documentElement.dataset.state")
    }

    /// Waits until files are read, the model is trained and validation is filled in. What the browser still has to do
    /// (an event on its way, a frame to be drawn) may be the beginning of work, so it is waited for as well.
    pub fn wait_until_idle(&self) {
        /// How often a page may be busy again at once: one that asks without end fails instead of holding all tests up.
        const MOST: u32 = 2000;
        for _ in 0..MOST {
            self.wait_for_state("idle");
            let is_still_idle = self.run(
                "for (let task = 0; task < 3; task += 1) {
                     await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
                 }
                 return document.documentElement.dataset.state === 'idle';",
                &[],
            );
            if is_still_idle == true {
                return;
            }
        }
        panic!("the page is busy again and again; it says:\n{}", self.text());
    }

    /// Waits for a [`Page::state`].
    pub fn wait_for_state(&self, expected: &str) {
        let mut state = String::new();
        let reached = wait(LONG_PATIENCE, || {
            state = self.state();
            (state == expected || state == "failed").then_some(())
        });
        assert!(
            reached.is_some() && state == expected,
            "the page is {state}, not {expected}; it says:\n{}",
            self.text()
        );
    }

    /// All text that the page shows.
    pub fn text(&self) -> String {
        self.text_of("return document.body?.innerText ?? ''")
    }

    /// Waits until the page shows a text somewhere.
    pub fn wait_for_text(&self, text: &str) {
        let found = wait(PATIENCE, || self.text().contains(text).then_some(()));
        assert!(found.is_some(), "\"{text}\" is not on the page:\n{}", self.text());
    }

    /// Waits until something is so; `what` says what.
    pub fn wait_until(&self, is_so: impl Fn() -> bool, what: &str) {
        assert!(
            wait(PATIENCE, || is_so().then_some(())).is_some(),
            "{what}: it didn't; the page says:\n{}",
            self.text()
        );
    }

    /// The text of what [`Page::find`] finds.
    pub fn text_in(&self, role: &str, name: &str) -> String {
        let element = self.find(role, name);
        self.driver().run("return arguments[0].innerText", &[element.into()]).as_str().unwrap().to_owned()
    }

    /// How many rows the table of that name has, its head left out. They are drawn some at a time, so they are counted
    /// when no further ones come.
    pub fn rows(&self, table: &str) -> u64 {
        let region = self.find("region", table);
        self.driver()
            .run(
                "const [region] = arguments;
                 const place = scrollY;
                 region.scrollIntoView({ block: 'nearest' });
                 const rows = () => region.querySelectorAll('tbody tr').length;
                 let [seen, quiet] = [-1, 0];
                 while (quiet < 5) {
                     await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
                     quiet = rows() === seen ? quiet + 1 : 0;
                     seen = rows();
                 }
                 scrollTo(0, place);
                 return seen;",
                &[region.into()],
            )
            .as_u64()
            .unwrap()
    }

    /// The part of the address from its `#`.
    pub fn fragment(&self) -> String {
        self.text_of("return location.hash")
    }

    /// Waits for a visible element of a role whose accessible name contains `name`.
    pub fn find(&self, role: &str, name: &str) -> Element {
        wait(PATIENCE, || self.look_for(role, name))
            .unwrap_or_else(|| panic!("no {role} \"{name}\" on the page; it says:\n{}", self.text()))
    }

    /// As [`Page::find`], without waiting.
    pub fn look_for(&self, role: &str, name: &str) -> Option<Element> {
        self.driver().select(selector(role)).into_iter().find(|element| {
            self.driver().accessible_name(element).is_some_and(|found| found.contains(name))
                && self.driver().is_shown(element)
        })
    }

    /// Clicks what [`Page::find`] finds.
    pub fn click(&self, role: &str, name: &str) {
        let element = self.find(role, name);
        // The driver does not know of the rows that stay in view above what scrolls.
        self.run("arguments[0].scrollIntoView({ block: 'nearest' })", &[element.clone().into()]);
        self.driver().click(&element);
    }

    /// Chooses an entry from the menu of a table or a chart, by the beginning of its title.
    pub fn choose_from_menu(&self, title: &str, entry: &str) {
        self.click("button", &format!("Options of {title}"));
        self.click("menuitem", entry);
    }

    /// Saves one of the files that an answer offers.
    pub fn save_from_menu(&self, file: &str) {
        self.click("button", "Save a file");
        self.click("menuitem", file);
    }

    /// Shows a tab of the workbench, by its name, and waits until the page is idle.
    pub fn show(&self, tab: &str) {
        self.click("tab", tab);
        self.wait_until_idle();
    }

    /// Replaces the text of a field and leaves it.
    pub fn fill(&self, name: &str, text: &str) {
        let field = self.find("textbox", name);
        self.driver().run("arguments[0].select()", &[field.clone().into()]);
        self.driver().type_into(&field, text);
        self.press(key::TAB);
    }

    /// Chooses an option, by its text, from a list.
    pub fn choose(&self, list: &str, option: &str) {
        let list = self.find("combobox", list);
        let chosen = self.driver().run(
            "const [list, text] = arguments;
             const option = [...list.options].find((option) => option.text.includes(text));
             if (!option) return [...list.options].map((option) => option.text).join();
             list.value = option.value;
             list.dispatchEvent(new Event('input', { bubbles: true }));
             list.dispatchEvent(new Event('change', { bubbles: true }));
             return null;",
            &[list.into(), option.into()],
        );
        assert!(chosen.is_null(), "the list has no \"{option}\", only {chosen}");
    }

    /// Opens everything that is folded.
    pub fn unfold(&self) {
        self.run("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })", &[]);
    }

    /// Presses keys, one after the other, wherever the focus is.
    ///
    /// In Firefox Tab leaves the page for the browser's own controls after the last stop. Its driver goes on sending
    /// keys to the page, which don't activate anything then, until the window has the focus again.
    pub fn press(&self, keys: &str) {
        self.driver().press(keys);
        if keys.contains(key::TAB) && self.driver().kind() == Kind::Firefox {
            self.run("if (!document.hasFocus()) window.focus()", &[]);
        }
    }

    /// Presses a key while Control is held.
    pub fn press_with_control(&self, key: &str) {
        self.driver().press_with(key::CONTROL, key);
    }

    /// Presses a key while Shift is held.
    pub fn press_with_shift(&self, key: &str) {
        self.driver().press_with(key::SHIFT, key);
    }

    /// Moves the mouse onto the first element that a selector finds, in the middle of the window.
    pub fn point_at(&self, css: &str) {
        let place = self.run(
            "const element = document.querySelector(arguments[0]);
             element.scrollIntoView({ block: 'center' });
             const { left, right, top, bottom } = element.getBoundingClientRect();
             return [(left + right) / 2, (top + bottom) / 2];",
            &[css.into()],
        );
        self.driver().point(&[moved((place[0].as_f64().unwrap(), place[1].as_f64().unwrap()))]);
    }

    /// Moves the mouse from one place in the window to another while its button is pressed.
    pub fn drag(&self, from: (f64, f64), to: (f64, f64)) {
        let middle = (f64::midpoint(from.0, to.0), f64::midpoint(from.1, to.1));
        self.driver().point(&[moved(from), pressed(), moved(middle), moved(to), released()]);
    }

    /// Clicks twice at a place in the window.
    pub fn double_click(&self, at: (f64, f64)) {
        self.driver().point(&[moved(at), pressed(), released(), pressed(), released()]);
    }

    /// Turns the wheel at a place in the window, downwards where `by` is above zero.
    pub fn turn_wheel(&self, at: (f64, f64), by: f64, with_control: bool) {
        self.driver().turn_wheel(at, by, with_control.then_some(key::CONTROL));
    }

    /// Pastes a text where the focus is. Answers whether the page took it.
    pub fn paste(&self, text: &str) -> bool {
        self.run(
            "const data = new DataTransfer();
             data.setData('text/plain', arguments[0]);
             // Firefox takes the text itself.
             const text = { dataType: 'text/plain', data: arguments[0] };
             const options = { clipboardData: data, ...text, bubbles: true, cancelable: true };
             return !(document.activeElement ?? document.body).dispatchEvent(new ClipboardEvent('paste', options));",
            &[text.into()],
        ) == true
    }

    /// Takes the network away, or gives it back.
    pub fn unplug(&self, is_unplugged: bool) {
        self.server.take_down(is_unplugged);
    }

    /// Opens the page in another tab as well, does something there, and closes that tab.
    pub fn in_another_tab<T>(&self, act: impl FnOnce() -> T) -> T {
        let here = self.driver().open_tab();
        self.before_loading(WATCH);
        self.visit("");
        self.wait_until_idle();
        let answer = act();
        self.driver().close_tab();
        self.driver().go_to_tab(&here);
        answer
    }

    /// Does something in a tab that was open before, while another one is.
    pub fn back_in(&self, tab: &str, act: impl FnOnce()) {
        let here = self.driver().tab();
        self.driver().go_to_tab(tab);
        act();
        self.driver().go_to_tab(&here);
    }

    /// The tab that is driven.
    pub fn tab(&self) -> String {
        self.driver().tab()
    }

    /// The build that the page says it is of.
    pub fn build(&self) -> String {
        self.text_of("return document.documentElement.dataset.build")
    }

    /// The network as a telephone has it: so many bytes a second, and a round trip of 150 ms.
    pub fn slow_down(&self, bytes_per_s: u32) {
        self.driver().devtools("Network.enable", &json!({}));
        let conditions = json!({ "offline": false, "latency": 150, "downloadThroughput": bytes_per_s, "uploadThroughput": bytes_per_s });
        self.driver().devtools("Network.emulateNetworkConditions", &conditions);
    }

    /// Presses Tab until the focus is on what [`Page::find`] finds.
    pub fn tab_to(&self, role: &str, name: &str) {
        let element = self.find(role, name);
        for _ in 0..200 {
            if self.driver().run("return document.activeElement === arguments[0]", &[element.clone().into()]) == true {
                return;
            }
            self.press(key::TAB);
        }
        panic!("Tab doesn't reach the {role} \"{name}\"");
    }

    /// The content of the file that the page saves when `save` asks for it.
    pub fn download(&self, save: impl Fn()) -> Vec<u8> {
        let folder = self.scratch.path().join("downloads");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        self.driver().download_to(&folder);
        save();
        let saved = wait(PATIENCE, || {
            let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            let is_whole = |file: &PathBuf| {
                let is_growing =
                    file.extension().is_some_and(|extension| extension == "crdownload" || extension == "part");
                !is_growing && fs::metadata(file).is_ok_and(|file| file.len() > 0)
            };
            files.into_iter().find(is_whole)
        });
        fs::read(saved.expect("the page saves a file")).unwrap()
    }

    /// A folder that is gone when the test ends.
    pub fn scratch(&self) -> &std::path::Path {
        self.scratch.path()
    }

    /// Opens any address.
    pub fn go(&self, url: &str) {
        self.driver().go(url);
    }

    /// Prints on A4. Answers how many pages that takes.
    pub fn print(&self) -> usize {
        let document = self.driver().print(json!({ "page": { "width": 21, "height": 29.7 }, "shrinkToFit": false }));
        // Firefox compresses what says which objects are pages.
        let mut parts = vec![document.clone()];
        for (at, _) in document.windows(7).enumerate().filter(|(_, window)| window == b"stream\n") {
            let mut inflated = Vec::new();
            // Stops at the end of the stream, or at once where it is no such stream.
            let _ = ZlibDecoder::new(&document[at + 7..]).read_to_end(&mut inflated);
            parts.push(inflated);
        }
        let text: String = parts.concat().iter().map(|byte| char::from(*byte)).collect();
        text.matches("/Type /Page").count() - text.matches("/Type /Pages").count()
    }

    /// Shows the page as it would be printed.
    pub fn emulate_paper(&self) {
        self.driver().emulate_paper();
        self.run("dispatchEvent(new Event('beforeprint'))", &[]);
    }

    /// Drags files from the desktop over the window and drops them.
    pub fn drop_files(&self, files: &[(&str, &[u8])]) {
        let folder = self.scratch.path().join("files");
        fs::create_dir_all(&folder).unwrap();
        let paths: Vec<PathBuf> = files
            .iter()
            .map(|(name, content)| {
                fs::write(folder.join(name), content).unwrap();
                folder.join(name)
            })
            .collect();
        self.drop_paths(&paths);
    }

    /// As [`Page::drop_files`], for a folder that holds files by their paths in it. A script can't drop a folder in
    /// Firefox: there it is packed as an archive of the same name.
    pub fn drop_folder(&self, name: &str, files: &[(&str, &[u8])]) {
        if self.driver().kind() == Kind::Firefox {
            self.drop_files(&[(&format!("{name}.zip"), &archive(files))]);
            return;
        }
        let folder = self.scratch.path().join(name);
        for (path, content) in files {
            let file = folder.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        self.drop_paths(&[folder]);
    }

    /// Drops, and waits until the page was told.
    fn drop_paths(&self, paths: &[PathBuf]) {
        self.run(
            "window.dropped = false;
             addEventListener('drop', () => setTimeout(() => { window.dropped = true; }), { once: true, capture: true });",
            &[],
        );
        self.driver().drop_paths(paths, (400.0, 300.0));
        self.wait_until(|| self.run("return window.dropped", &[]) == true, "what is dropped reaches the page");
    }

    /// Switches scripts off, or on again. The tests' own scripts run all the same.
    pub fn allow_scripts(&self, are_allowed: bool) {
        self.driver().allow_scripts(are_allowed);
    }

    /// Why the browser would not install the page.
    pub fn installability_errors(&self) -> Value {
        self.driver().devtools("Page.getInstallabilityErrors", &json!({}))["installabilityErrors"].take()
    }

    /// Lets the page read and write the clipboard without asking.
    pub fn allow_clipboard(&self) {
        self.driver().allow_clipboard();
    }

    /// Sets the size of the window's content in CSS pixels.
    pub fn resize(&self, width: u32, height: u32) {
        self.driver().resize(width, height);
    }

    /// Makes the system prefer `light` or `dark`.
    pub fn prefer_color_scheme(&self, scheme: &str) {
        self.emulate(&json!([{ "name": "prefers-color-scheme", "value": scheme }]));
    }

    /// Makes the system say these media features, each with its `name` and `value`.
    pub fn emulate(&self, features: &Value) {
        self.driver().emulate(features);
    }

    /// The body of a JavaScript function of `arguments`.
    pub fn run(&self, body: &str, arguments: &[Value]) -> Value {
        self.driver().run(body, arguments)
    }

    /// What [`Page::run`] answers, as text.
    pub fn text_of(&self, body: &str) -> String {
        self.run(body, &[]).as_str().unwrap_or_default().to_owned()
    }

    /// Ends a worker of the page, as the system does when memory runs out; the page isn't told.
    pub fn kill_workers(&self) -> u64 {
        self.run("watched.workers.forEach((worker) => worker.terminate()); return watched.workers.length", &[])
            .as_u64()
            .unwrap()
    }

    /// What the window shows, as PNG, with the mouse out of the way.
    pub fn screenshot(&self) -> Vec<u8> {
        self.driver().point(&[moved((0.0, 0.0))]);
        self.driver().screenshot()
    }

    /// The targets of all requests so far: paths of the page's own host, and whatever went to another one.
    pub fn requests(&self) -> Vec<String> {
        let is_browsers = |target: &String| BROWSERS_OWN_HOSTS.iter().any(|host| host_of(target).ends_with(host));
        let beyond = self.driver().requests_beyond().split_off(self.requests_before);
        self.server.requests().into_iter().chain(beyond).filter(|target| !is_browsers(target)).collect()
    }

    /// Makes sure that nothing went wrong behind the scenes: no error in the console, nothing that the content
    /// security policy had to stop, no request to another host.
    pub fn assert_clean(&self) {
        let violations = self.run("return watched.violations", &[]);
        assert_eq!(violations, json!([]), "the content security policy had to stop something");
        assert_eq!(self.console_errors(), Vec::<String>::new(), "the console shows errors");
        let requests = self.requests();
        let foreign: Vec<&String> = requests.iter().filter(|target| !target.starts_with(PREFIX)).collect();
        assert_eq!(foreign, Vec::<&String>::new(), "requests left the page's folder");
    }

    /// Warnings and errors in the console since the last call.
    pub fn console_errors(&self) -> Vec<String> {
        self.driver().console_faults()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // A browser in which a test failed may be in any state.
        match self.driver.take() {
            Some(driver) if !thread::panicking() => driver.give_back(),
            _ => {}
        }
    }
}

/// The mouse goes to a place in the window.
fn moved((x, y): (f64, f64)) -> Value {
    json!({ "type": "pointerMove", "x": x.round() as i64, "y": y.round() as i64, "duration": 0 })
}

/// The mouse's left button goes down.
fn pressed() -> Value {
    json!({ "type": "pointerDown", "button": 0 })
}

/// The mouse's left button comes up.
fn released() -> Value {
    json!({ "type": "pointerUp", "button": 0 })
}

/// The host of a proxied request, `host:port` or `http://host/…`; nothing for a path of the page's own host.
fn host_of(target: &str) -> &str {
    target.strip_prefix("http://").unwrap_or(target).split(['/', ':']).next().unwrap_or_default()
}

/// Asks until there is an answer, or patience is at its end.
fn wait<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + patience;
    loop {
        let answer = ask();
        if answer.is_some() || Instant::now() > end {
            return answer;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// The elements that can have a role.
fn selector(role: &str) -> &str {
    match role {
        "button" => {
            "button:not([role=tab], [role^=menuitem]), summary, input[type=button], input[type=submit], [role=button]"
        }
        "checkbox" => "input[type=checkbox], [role=checkbox], [role=switch]",
        "combobox" => "select, [role=combobox]",
        "dialog" => "dialog[open], [role=dialog], [role=alertdialog]",
        "group" => "fieldset, [role=group]",
        "heading" => "h1, h2, h3, h4, [role=heading]",
        "img" => "img, canvas, svg, [role=img]",
        "link" => "a[href], [role=link]",
        "menuitem" => "[role^=menuitem]",
        "radio" => "input[type=radio], [role=radio]",
        "region" => "section, [role=region]",
        "tab" => "[role=tab]",
        "table" => "table, [role=table], [role=grid]",
        "textbox" => "input:not([type=checkbox]):not([type=radio]):not([type=button]):not([type=submit]), textarea",
        _ => panic!("where elements of the role {role} are found is not written down yet"),
    }
}
