//! The page arrives whole, from any folder, or says in words why it can't.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{page::Page, sweep::sweep};

/// The folder with the built page.
pub fn dist() -> PathBuf {
    let dist = std::env::var_os("COLLECTUNE_DIST");
    dist.expect("COLLECTUNE_DIST is not set; `cargo xtask test --only browser` builds the page and sets it").into()
}

/// The compiled code of the page, or of its workers.
fn wasm_of(folder: &Path, of: &str) -> PathBuf {
    let mut files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    folder.join(files.find(|name| name.starts_with(of) && name.ends_with("_bg.wasm")).unwrap())
}

/// A copy of the built page, its folders left out, that a test may break.
fn copy(change: impl Fn(&str) -> Option<&'static [u8]>) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(dist()).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap();
        if file.is_file() {
            let content = change(name).map_or_else(|| fs::read(&file).unwrap(), <[u8]>::to_vec);
            fs::write(copy.path().join(name), content).unwrap();
        }
    }
    copy
}

fn open_broken(folder: &Path) -> Page {
    let page = Page::of(folder);
    page.visit("");
    page.wait_for_state("failed");
    page
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn everything_arrives_with_the_page() {
    let page = Page::open();
    let parts =
        page.run("const [module, glue] = await collectune.parts(); return [module.constructor.name, typeof glue]", &[]);
    assert_eq!(parts, serde_json::json!(["Module", "string"]));
    assert!(!page.text().contains("is loading"), "{}", page.text());
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn code_that_is_missing_is_said() {
    let folder = copy(|_| None);
    let wasm = wasm_of(folder.path(), "page-");
    let away = wasm.with_extension("away");
    fs::rename(&wasm, &away).unwrap();
    let page = open_broken(folder.path());
    page.wait_for_text("The page's code could not be loaded. Check the connection and reload the page.");
    page.wait_for_text("_bg.wasm: 404");
    fs::rename(&away, &wasm).unwrap();
    page.click("button", "Try again");
    // Until it loads again, the page is the one that failed.
    page.wait_until(|| page.state() != "failed", "another try");
    page.wait_until_idle();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn workers_that_are_missing_are_said_and_asked_for_again() {
    let folder = copy(|_| None);
    let wasm = wasm_of(folder.path(), "worker-");
    let away = wasm.with_extension("away");
    fs::rename(&wasm, &away).unwrap();
    let page = open_broken(folder.path());
    page.wait_for_text("The workers' code could not be loaded");
    page.wait_for_text("_bg.wasm: 404");
    fs::rename(&away, &wasm).unwrap();
    page.drop_files(&[("sweep.csv", sweep(6, 3).as_bytes())]);
    page.wait_for_text("validated on held-out measurements");
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_slow_line_shows_the_page_at_once_and_how_much_has_come() {
    let page = Page::closed();
    page.before_loading(
        "window.seen = [];
         new MutationObserver(() => {
             const [said, bar] = ['#boot-bytes', '#boot-line progress'].map((part) => document.querySelector(part));
             if (said) seen.push([said.textContent, bar.value, document.querySelector('h1').textContent]);
         }).observe(document, { subtree: true, childList: true, characterData: true });",
    );
    page.slow_down(1_000_000);
    page.visit("");
    page.wait_until_idle();
    let seen = page.run("return seen", &[]);
    let seen = seen.as_array().unwrap();
    assert!(!seen.is_empty() && seen.iter().all(|step| step[2] == "Collectune"), "{seen:?}");
    let shares: Vec<f64> = seen.iter().filter_map(|step| step[1].as_f64()).collect();
    let between = shares.iter().filter(|share| **share > 0.0 && **share < 1.0).count();
    assert!(between >= 3 && shares.is_sorted(), "{shares:?}");
    assert_eq!(shares.last(), Some(&1.0));
    let total = fs::metadata(wasm_of(&dist(), "page-")).unwrap().len() as f64 / 1e6;
    let last = seen.last().unwrap()[0].as_str().unwrap();
    assert_eq!(last, format!("{total:.1} of {total:.1} MB"));
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn files_are_taken_before_the_workers_are_there() {
    let page = Page::closed();
    page.slow_down(500_000);
    page.visit("");
    page.wait_for_text("Open files");
    page.drop_files(&[("sweep.csv", sweep(6, 3).as_bytes())]);
    page.wait_for_text("Reading: loading the code for it");
    page.wait_for_text("validated on held-out measurements");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn without_scripts_a_sentence_says_so() {
    let page = Page::closed();
    page.allow_scripts(false);
    page.visit("");
    page.wait_for_text("Scripts are switched off for this page.");
    assert!(!page.text().contains("is loading"), "{}", page.text());
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn code_that_is_broken_is_said() {
    let folder = copy(|name| (name.starts_with("page-") && name.ends_with(".wasm")).then_some(b"\0asm, not"));
    open_broken(folder.path()).wait_for_text("The page's code could not be loaded.");
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_browser_without_webassembly_is_told() {
    let page = Page::closed();
    page.before_loading("delete window.WebAssembly");
    page.visit("");
    page.wait_for_state("failed");
    page.wait_for_text("This browser has no WebAssembly");
}
