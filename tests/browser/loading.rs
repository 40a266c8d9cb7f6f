//! The page arrives whole, from any folder, or says in words why it can't.

use std::{fs, path::Path};

use crate::page::Page;

/// A copy of the built page that a test may break.
fn copy(change: impl Fn(&str) -> Option<&'static [u8]>) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(std::env::var_os("COLLECTUNE_DIST").expect("COLLECTUNE_DIST is not set")).unwrap() {
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
    let parts = page
        .run("const { glue, module } = collectune; return [typeof await glue, (await module).constructor.name]", &[]);
    assert_eq!(parts, serde_json::json!(["string", "Module"]));
    assert!(!page.text().contains("is loading"), "{}", page.text());
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn code_that_is_missing_is_said() {
    let folder = copy(|_| None);
    let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let wasm = files.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "wasm")).unwrap();
    fs::remove_file(wasm).unwrap();
    let page = open_broken(folder.path());
    page.wait_for_text("The page's code could not be loaded. Check the connection and reload the page.");
    page.wait_for_text("_bg.wasm: 404");
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
    page.before_loading("delete globalThis.WebAssembly");
    page.visit("");
    page.wait_for_state("failed");
    page.wait_for_text("This browser has no WebAssembly");
}
