//! At home in the browser: keys and commands, what is kept on the device, pasted text, diagnostics.

use std::fs;

use serde_json::json;

use crate::{
    loading::dist,
    look::{assert_fits, assert_readable},
    page::{Page, key},
    support::real,
    sweep::sweep,
};

const DATABASES: &str = "return (await indexedDB.databases()).map((database) => database.name)";

fn theme(page: &Page) -> String {
    page.text_of("return document.documentElement.dataset.theme ?? 'system'")
}

fn is_open(page: &Page, dialog: &str) -> bool {
    page.run("return document.getElementById(arguments[0]).open", &[dialog.into()]) == true
}

/// Waits until the dialog of commands is open, or closed.
fn wait_for_commands(page: &Page, open: bool) {
    page.wait_until(
        || is_open(page, "commands") == open,
        if open { "the commands open" } else { "the commands close" },
    );
}

/// Copies the diagnostics and answers what the clipboard holds then.
fn copied_diagnostics(page: &Page) -> String {
    page.allow_clipboard();
    // The button says for two seconds that it has copied, which a slow machine may take to look for it.
    page.run(
        "window.labels = [];
         new MutationObserver(() => labels.push(...[...document.querySelectorAll('[data-copy]')].map((b) => b.textContent)))
             .observe(document.body, { subtree: true, childList: true, characterData: true });",
        &[],
    );
    page.click("button", "Copy diagnostics");
    page.wait_until(|| page.run("return labels.includes('Copied')", &[]) == true, "the button says that it has copied");
    page.text_of("return navigator.clipboard.readText()")
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_command_is_found_by_its_words_and_run_with_the_keyboard() {
    let page = Page::open();
    page.press_with_control("k");
    page.find("dialog", "Commands and keys");
    page.press("dark");
    page.press(key::ENTER);
    page.wait_until(|| theme(&page) == "dark", "the theme is dark");
    wait_for_commands(&page, false);

    page.press("?");
    wait_for_commands(&page, true);
    assert!(page.look_for("button", "Show the coverage").is_none(), "what the page can't do now is not offered");
    page.press("open example");
    page.press(key::DOWN);
    page.press(key::ENTER);
    page.find("region", "Answer");
    page.wait_until_idle();
    page.press("?");
    wait_for_commands(&page, true);
    page.press("coverage");
    page.press(key::ENTER);
    page.wait_until(|| page.fragment().contains("coverage"), "the coverage is shown");
    wait_for_commands(&page, false);
    page.press("?");
    wait_for_commands(&page, true);
    page.press(key::ESCAPE);
    wait_for_commands(&page, false);
    page.click("button", "Commands and keys");
    page.click("button", "Close");
    wait_for_commands(&page, false);
    page.assert_clean();
}

/// What the list says is what the keys do: every key stands in it as it is pressed.
#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn every_key_is_shown_beside_its_command() {
    let page = Page::open();
    let wrong = page.run(
        "return [...document.querySelectorAll('#commands [data-for]')].filter((command) => {
             const shown = [...command.querySelectorAll('kbd')].map((key) => key.textContent.replace(' ', '+'));
             return shown.join(' ') !== (command.dataset.key ?? '');
         }).map((command) => command.textContent)",
        &[],
    );
    assert_eq!(wrong, json!([]));
    let said = page.text_of("return document.querySelector('#single-keys').parentElement.textContent");
    let single = page.run(
        "return [...document.querySelectorAll('#commands [data-key]')].flatMap(({ dataset }) => dataset.key.split(' '))
             .filter((key) => key.length === 1)",
        &[],
    );
    for key in single.as_array().unwrap() {
        assert!(said.contains(key.as_str().unwrap()), "{said}");
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn keys_of_one_character_leave_fields_alone_and_can_be_switched_off() {
    let page = Page::open();
    page.click("button", "Open the example");
    page.wait_until_idle();
    page.show("Model");
    let field = page.find("textbox", "Trees");
    page.run("arguments[0].focus()", &[field.into()]);
    page.press("?");
    assert!(!is_open(&page, "commands"), "a key in a field is text");
    page.run("document.activeElement.blur()", &[]);

    let before = page.fragment();
    page.press("]");
    page.wait_until(|| page.fragment() != before, "] goes to the next size");
    let after = page.fragment();
    page.press("?");
    wait_for_commands(&page, true);
    page.run("document.querySelector('#single-keys').click()", &[]);
    page.press(key::ESCAPE);
    wait_for_commands(&page, false);
    page.press("[");
    page.press("?");
    assert_eq!(page.fragment(), after);
    assert!(!is_open(&page, "commands"));
    page.press_with_control("k");
    wait_for_commands(&page, true);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn pasted_text_opens_as_a_file_unless_a_field_takes_it() {
    let page = Page::open();
    page.run("document.querySelector('input[name=theme]').focus()", &[]);
    assert!(page.paste(&sweep(10, 6)));
    page.wait_until_idle();
    page.unfold();
    page.find("button", "Close pasted.csv");
    page.wait_for_text("240 rows");

    page.show("Model");
    let field = page.find("textbox", "Trees");
    page.run("arguments[0].focus()", &[field.into()]);
    assert!(!page.paste("a,b\n1,2\n"), "the field takes it");
    page.run("document.activeElement.blur()", &[]);
    assert!(!page.paste("  \n"), "nothing is no file");
    page.press("?");
    wait_for_commands(&page, true);
    assert!(!page.paste("a,b\n1,2\n"), "a dialog is open");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn nothing_is_kept_unless_that_is_switched_on() {
    let page = Page::with_files(&[("secret.csv", sweep(10, 6).as_bytes())]);
    page.unfold();
    page.click("button", "Close secret.csv");
    assert_eq!(page.run(DATABASES, &[]), json!([]));
    assert_eq!(page.run("return Object.keys(localStorage)", &[]), json!(["theme"]));
    assert_eq!(page.run("return [document.cookie, sessionStorage.length]", &[]), json!(["", 0]));
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn kept_files_open_again_and_can_all_be_removed() {
    let page = Page::open();
    page.click("checkbox", "Keep the files that I open");
    page.drop_files(&[("one.csv", sweep(10, 6).as_bytes()), ("two.csv", sweep(8, 6).as_bytes())]);
    page.wait_until_idle();
    // The same file once more is the same file.
    page.unfold();
    page.click("button", "Close two.csv");
    page.wait_until_idle();
    page.unfold();
    page.click("button", "Close one.csv");
    page.reload();
    page.find("button", "two.csv");
    page.click("button", "one.csv");
    page.wait_until_idle();
    page.wait_for_text("240 rows");
    page.unfold();
    page.click("button", "Close one.csv");
    let kept =
        || page.run("return [...document.querySelectorAll('.on-device-file')].map((file) => file.innerText)", &[]);
    page.wait_until(|| kept() == json!(["one.csv", "two.csv"]), "the file opened last is the first");
    for scheme in ["light", "dark"] {
        page.prefer_color_scheme(scheme);
        assert_readable(&page, scheme);
    }
    page.click("button", "Remove two.csv");
    page.wait_until(|| kept() == json!(["one.csv"]), "one is removed");

    let seen = page.in_another_tab(|| {
        let seen = kept();
        page.click("button", "Clear everything");
        page.wait_for_text("All kept files are removed from this device.");
        seen
    });
    assert_eq!(seen, json!(["one.csv"]));
    page.wait_until(|| page.look_for("button", "Clear everything").is_none(), "the other tab has switched off");
    page.wait_until(|| page.run(DATABASES, &[]) == json!([]), "the database is removed");
    assert_eq!(page.run("return Object.keys(localStorage)", &[]), json!(["theme"]));
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_device_without_room_is_said() {
    let page = Page::closed();
    page.before_loading(
        "IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); };",
    );
    page.visit("");
    page.wait_until_idle();
    page.click("checkbox", "Keep the files that I open");
    page.drop_files(&[("one.csv", sweep(10, 6).as_bytes())]);
    page.wait_until_idle();
    page.wait_for_text("Files on this device could not be kept: the browser has no room left for this page");
    page.wait_for_text("240 rows");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_device_without_a_database_is_said() {
    let page = Page::closed();
    page.before_loading("IDBFactory.prototype.open = () => { throw new DOMException('not here', 'SecurityError'); };");
    page.visit("");
    page.wait_until_idle();
    page.click("checkbox", "Keep the files that I open");
    page.drop_files(&[("one.csv", sweep(10, 6).as_bytes())]);
    page.wait_for_text("Files on this device could not be kept: not here");
    page.wait_until_idle();
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn tabs_share_the_theme_and_nothing_else() {
    let page = Page::with_files(&[("sweep.csv", sweep(10, 6).as_bytes())]);
    page.in_another_tab(|| {
        assert!(page.look_for("button", "Close sweep.csv").is_none());
        page.run("document.querySelector('input[name=theme][value=dark]').click()", &[]);
        page.click("button", "Open the example");
        page.wait_until_idle();
    });
    page.wait_until(|| theme(&page) == "dark", "the theme follows");
    page.unfold();
    page.find("button", "Close sweep.csv");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_the_page_is_and_diagnostics_without_data() {
    let page = Page::open();
    let text = sweep(10, 6).replacen(",LL,4\n", ",LL,hidden-word\n", 1);
    page.drop_files(&[("secret-cluster.csv", text.as_bytes())]);
    page.wait_until_idle();
    // What is told there is written when it opens.
    page.wait_for_text("validated on held-out measurements");
    page.click("button", "About");
    let dialog = page.find("dialog", "Collectune");
    let about = page.run("return arguments[0].innerText", &[dialog.into()]).as_str().unwrap().to_owned();
    for part in [
        env!("CARGO_PKG_VERSION"),
        &page.build(),
        "MIT or Apache-2.0",
        "239 rows, 1 left out",
        "Training: ",
        "last error: none",
        page.text_of("return navigator.userAgent.match(/(Chrome|Firefox)\\/\\d+/)[0]").as_str(),
    ] {
        assert!(about.contains(part), "no {part} in {about}");
    }
    for part in ["secret", "hidden-word", "PAGE_"] {
        assert!(!about.contains(part), "{part} in {about}");
    }
    let copied = copied_diagnostics(&page);
    assert!(!copied.trim().is_empty() && about.contains(copied.trim()), "{copied}");
    let notices = page.run("return (await fetch(document.querySelector('#about a').href)).text()", &[]);
    assert_eq!(notices.as_str().unwrap(), fs::read_to_string(dist().join("third-party-notices.txt")).unwrap());
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_dialogs_fit_and_are_readable() {
    let page = Page::open();
    for (width, dialog) in [(1280, "commands"), (1280, "about"), (360, "commands"), (360, "about")] {
        page.resize(width, 740);
        page.run("document.querySelector(`[data-open=${arguments[0]}]`).click()", &[dialog.into()]);
        for scheme in ["light", "dark"] {
            page.prefer_color_scheme(scheme);
            assert_readable(&page, scheme);
            assert_fits(&page);
            if let Some(folder) = std::env::var_os("COLLECTUNE_PICTURES") {
                let file = std::path::Path::new(&folder).join(format!("{dialog}-{width}-{scheme}.png"));
                fs::write(file, page.screenshot()).unwrap();
            }
        }
        page.press(key::ESCAPE);
    }
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_page_that_stops_offers_its_diagnostics() {
    let page = Page::open();
    // A trap in WebAssembly reaches the page as this event.
    page.run(
        "const error = new window.WebAssembly.RuntimeError('unreachable');
         window.dispatchEvent(new window.ErrorEvent('error', { message: 'Uncaught RuntimeError: unreachable', error }))",
        &[],
    );
    page.find("dialog", "The page has stopped");
    page.wait_for_text("last error: Uncaught RuntimeError: unreachable");
    let copied = copied_diagnostics(&page);
    assert!(copied.contains("last error: Uncaught RuntimeError"), "{copied}");
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_first_view_shows_every_workbench() {
    let page = Page::open();
    for workbench in ["Tuning", "Policy", "Training time", "Topology", "Overlap"] {
        assert!(page.text_in("region", workbench).contains("Drop "), "{workbench}");
    }
    let pictures =
        "return [...document.querySelectorAll('.card path')].filter((path) => path.getTotalLength() > 0).length";
    assert!(page.run(pictures, &[]).as_u64() > Some(8), "each has a picture");
    page.click("button", "Open the example of Policy");
    page.wait_until_idle();
    assert_eq!(page.fragment(), "#v=1&w=policy&x=1");
    page.wait_for_text("This is the example: simulated rewards, not measurements.");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn no_workbench_is_longer_than_two_windows() {
    let page = Page::closed();
    page.resize(1400, 900);
    for workbench in ["tuning", "policy", "training-time", "topology", "overlap"] {
        page.visit("");
        page.visit(&format!("#v=1&w={workbench}&x=1"));
        assert_short(&page, workbench);
    }
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn no_workbench_is_longer_than_two_windows_with_shared_data() {
    let of = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), real::file(name))).collect::<Vec<_>>();
    let all = [
        (
            "tuning",
            of(&["tuning/all_reduce_1n.csv", "tuning/all_reduce_2n_median.csv", "tuning/all_reduce_3n_median.csv"]),
        ),
        ("policy", of(&["policy/rewards_2x4_256MB_a.log", "policy/times_auto_2x4_256MB_a.txt"])),
        ("training-time", real::files(&["ett/Perlmutter", "ett/examples"])),
        ("topology", of(&["topology/dgx1v.csv"])),
        ("overlap", of(&["overlap/merged_features_82sm.csv"])),
    ];
    for (workbench, files) in all {
        let page = Page::closed();
        page.resize(1400, 900);
        page.visit("");
        page.wait_until_idle();
        let files = || files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        if workbench == "training-time" {
            // Samples are known by their folders.
            page.drop_folder("measured", &files().collect::<Vec<_>>());
        } else {
            let plain = files().map(|(name, bytes)| (name.rsplit('/').next().unwrap_or(name), bytes));
            page.drop_files(&plain.collect::<Vec<_>>());
        }
        assert_short(&page, workbench);
        page.assert_clean();
    }
}

/// The answer of the workbench on view is in view without scrolling, and no tab makes the page longer than two windows.
fn assert_short(page: &Page, workbench: &str) {
    page.wait_until(|| page.look_for("tab", "").is_some(), "there is an answer");
    page.wait_until_idle();
    let number = |script: &str| page.run(script, &[]).as_u64().unwrap();
    assert_eq!(number("return Math.round(scrollY)"), 0, "{workbench}");
    let answer = "return Math.round(document.querySelector('.answer').getBoundingClientRect().bottom)";
    assert!(number(answer) <= 900, "{workbench}: the answer is in view");
    for tab in 0..number("return document.querySelectorAll('[role=tab]').length") {
        let open =
            format!("const tab = document.querySelectorAll('[role=tab]')[{tab}]; tab.click(); return tab.innerText");
        let name = page.text_of(&open);
        page.wait_until_idle();
        let height_px = number("return document.documentElement.scrollHeight");
        println!("{name} of {workbench}: {height_px} px");
        assert!(height_px <= 1800, "{name} of {workbench} is {height_px} pixels high");
    }
}
