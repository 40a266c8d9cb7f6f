//! What can be checked of accessibility without a person, on every view: axe-core finds nothing, text has contrast,
//! nothing is wider than a narrow or a magnified window, and the keyboard reaches and shows everything.
//!
//! `COLLECTUNE_PICTURES` names a folder for a picture of each view.

use std::{env, fs, path::Path};

use serde_json::Value;

use crate::{
    look::{contrasts, overflow},
    page::{Page, key},
    share::{fragment, share},
    sweep::{noisy_sweep, sweep},
};

/// axe-core's rules, those of WCAG 2.2 included. Style sheets aren't fetched again for it: the page makes no request.
const AXE: &str = "
    const { violations } = await axe.run(document, {
        preload: false,
        resultTypes: ['violations'],
        rules: { 'target-size': { enabled: true } },
    });
    return violations.flatMap(({ id, help, nodes }) =>
        nodes.map(({ target, any, all, none }) => {
            const why = [...any, ...all, ...none].map((check) => check.message).join('; ');
            return `${id} (${help}): ${target.join(' ')}: ${why}`;
        }));
";

/// What was found on the views so far.
#[derive(Default)]
struct Findings(Vec<String>);

impl Findings {
    /// Looks at the view that is shown, in both themes, in a wide window, a narrow one, and at 200 % of one that is
    /// 1,400 pixels wide.
    fn look(&mut self, page: &Page, view: &str) {
        for (scheme, width) in
            ["light", "dark"].into_iter().flat_map(|scheme| [1400, 700, 360].map(|width| (scheme, width)))
        {
            page.prefer_color_scheme(scheme);
            page.resize(width, 800);
            page.wait_until(|| page.run("return innerWidth", &[]) == width, "the window takes its size");
            if width != 700 {
                take_picture(page, &format!("{view}-{width}-{scheme}"));
            }
            for (what, found) in
                [("axe-core", violations(page)), ("too wide", overflow(page)), ("too faint", contrasts(page).0)]
            {
                let found = found.as_array().unwrap().iter();
                self.0.extend(found.map(|finding| format!("{view}, {width}, {scheme}: {what}: {finding}")));
            }
        }
        page.resize(1280, 800);
    }
}

impl Drop for Findings {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.0.is_empty(), "{}", self.0.join("\n"));
        } else {
            eprintln!("{}", self.0.join("\n"));
        }
    }
}

/// What axe-core finds.
fn violations(page: &Page) -> Value {
    if page.run("return typeof axe", &[]) == "undefined" {
        let file = env::var_os("AXE").expect("AXE is not set; `cargo xtask test --only browser` installs axe-core");
        // Scripts of the driver run under any policy; those of the page would not.
        page.run(&fs::read_to_string(file).unwrap(), &[]);
    }
    page.run(AXE, &[])
}

/// As the views of this file are looked at, the one that is shown.
pub fn assert_accessible(page: &Page, view: &str) {
    Findings::default().look(page, view);
}

/// Keeps a picture of the view where pictures are wanted.
pub fn take_picture(page: &Page, name: &str) {
    if let Some(folder) = env::var_os("COLLECTUNE_PICTURES") {
        fs::write(Path::new(&folder).join(format!("{name}.png")), page.screenshot()).unwrap();
    }
}

fn with_sweep() -> Page {
    Page::with_files(&[("sweep.csv", noisy_sweep().as_bytes())])
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_first_visit() {
    let mut found = Findings::default();
    let page = Page::open();
    found.look(&page, "welcome");
    for dialog in ["commands", "about"] {
        page.run("document.querySelector(`[data-open=${arguments[0]}]`).click()", &[dialog.into()]);
        found.look(&page, dialog);
        page.press(key::ESCAPE);
    }
    page.click("checkbox", "Keep the files");
    page.drop_files(&[("sweep.csv", sweep(6, 3).as_bytes())]);
    page.wait_until_idle();
    page.unfold();
    page.click("button", "Close sweep.csv");
    page.find("button", "Remove sweep.csv");
    found.look(&page, "welcome-kept");
    page.visit("#v=1&w=tuning&c=all_reduce&n=2&r=16&s=1048576");
    page.wait_for_text("This link shows");
    found.look(&page, "welcome-awaited");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn each_side_of_the_workbench() {
    let mut found = Findings::default();
    let page = with_sweep();
    for panel in ["Answer", "Heat map", "Model", "Noise", "Tuner files", "Coverage", "Measure next", "A/B", "Compare"] {
        page.click("tab", panel);
        page.wait_until_idle();
        found.look(&page, &format!("panel-{}", panel.to_lowercase().replace(['/', ' '], "-")));
    }
    page.click("tab", "Answer");
    for menu in ["Columns of Optimal configurations", "Options of Optimal configurations", "Options of busbw"] {
        page.click("button", menu);
        found.look(&page, &format!("menu-{}", menu.to_lowercase().replace(' ', "-")));
        page.press(key::ESCAPE);
    }
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_part_of_a_chart_and_the_line_of_a_point() {
    let mut found = Findings::default();
    let page = with_sweep();
    page.run("document.querySelector('.chart-stage').focus()", &[]);
    for key in [key::RIGHT, key::DOWN, key::ENTER, "+"] {
        page.press(key);
    }
    page.find("button", "Reset zoom");
    page.run("document.querySelector('.chart-switches button:last-child').click()", &[]);
    page.wait_for_text("Time over message size");
    found.look(&page, "chart-part");
    page.run("document.querySelector('.chart-line').click()", &[]);
    page.wait_until(
        || page.run("return !!document.querySelector('dialog[open] mark')", &[]) == true,
        "the line is shown",
    );
    found.look(&page, "chart-line");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_schedule_over_its_network() {
    let mut found = Findings::default();
    let page = Page::open_at("#v=1&w=topology&graph=ring&with=tacos&cut=0-1");
    page.wait_for_text("all_gather over ring:5 in");
    page.wait_until_idle();
    found.look(&page, "topology");
    page.choose("Compare with", "TACOS");
    page.fill("Path of chunk", "2");
    page.find("region", "Path of the chunk");
    found.look(&page, "topology-compared");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn work_under_way() {
    let mut found = Findings::default();
    let page = with_sweep();
    page.show("Model");
    page.fill("Trees", "2000");
    page.click("button", "Train");
    page.find("button", "Cancel");
    // From now on its workers work, and nobody hears them.
    page.run("watched.workers.forEach((worker) => { worker.onmessage = null })", &[]);
    found.look(&page, "busy");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn sharing_and_reports() {
    let mut found = Findings::default();
    let page = with_sweep();
    share(&page);
    page.click("radio", "Full");
    page.unfold();
    page.fill("Note", "Measured at night.");
    page.click("button", "Add note");
    page.find("button", "Remove the note on The whole report");
    page.find("textbox", "The link");
    page.wait_until(
        || page.run("return document.querySelectorAll('.share .way-do :disabled').length", &[]) == 0,
        "all is written",
    );
    found.look(&page, "share");
    let fragment = fragment(&page, "Full");
    let file = page.download(|| page.click("button", "Save HTML"));
    page.press(key::ESCAPE);

    page.drop_files(&[("report.html", &file)]);
    page.wait_for_text("Opened from report.html");
    page.wait_until_idle();
    found.look(&page, "report-from-file");
    page.visit(&fragment);
    page.wait_for_text("Opened from a link");
    page.wait_until_idle();
    found.look(&page, "report-from-link");
    page.visit(&fragment[..fragment.len() / 2]);
    page.wait_for_text("This link shows no report");
    found.look(&page, "damaged-link");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn questions_and_bad_files() {
    let mut found = Findings::default();
    let page = Page::open();
    page.drop_files(&[("foreign.csv", b"what,bytes,way,speed\nallreduce,4096,ring,1.5\nallreduce,8192,ring,2.5\n")]);
    page.find("dialog", "");
    found.look(&page, "mapping");
    page.press(key::ESCAPE);
    page.wait_until_idle();
    page.reload();
    page.drop_files(&[("empty.csv", b""), ("noise.bin", &[0, 159, 146, 150, 255, 254, 1, 2, 3])]);
    page.wait_until_idle();
    found.look(&page, "bad-files");
    let text = sweep(10, 6).replacen(",LL,4\n", ",LL,auto\n", 1);
    page.drop_files(&[("sweep.csv", text.as_bytes())]);
    page.wait_until_idle();
    page.unfold();
    found.look(&page, "left-out");
    page.visit("#v=1&w=tuning&c=broadcast&n=4&r=32&s=1048576");
    page.wait_for_text("Not loaded");
    found.look(&page, "not-loaded");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn documents_without_a_sweep() {
    let mut found = Findings::default();
    let page = Page::with_files(&[(
        "old.conf",
        b"allreduce,4096,1048576,-1,simple,8,2,16,-1,-1\nalltoall,0,4096,ring,ll,4,2,16,-1,-1\n",
    )]);
    found.look(&page, "conf-alone");
    page.click("tab", "Answer");
    page.wait_until_idle();
    found.look(&page, "answer-without-sweep");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_page_that_has_stopped() {
    let mut found = Findings::default();
    let page = with_sweep();
    page.run(
        "const error = new window.WebAssembly.RuntimeError('unreachable');
         window.dispatchEvent(new window.ErrorEvent('error', { message: 'Uncaught RuntimeError: unreachable', error }))",
        &[],
    );
    page.find("dialog", "The page has stopped");
    found.look(&page, "stopped");
}
