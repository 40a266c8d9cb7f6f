//! Nothing leaves the tab, and nothing that a file says becomes part of the page.

use std::fs;

use serde_json::json;

use crate::page::Page;

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_worker_can_send_nothing_to_another_host() {
    let page = Page::open();
    let answers = page.run(
        "const attempts = ['http://example.com/', 'https://example.com/'].map((url) => `fetch('${url}')`);
         const script = `Promise.allSettled([${attempts}]).then((all) => postMessage(all.map((one) => one.status)))`;
         const worker = new Worker(URL.createObjectURL(new Blob([script], { type: 'text/javascript' })));
         return new Promise((resolve) => { worker.onmessage = (event) => resolve(event.data); });",
        &[],
    );
    assert_eq!(answers, json!(["rejected", "rejected"]));
    assert!(page.console_errors().iter().any(|message| message.contains("connect-src")), "the policy didn't speak");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_worker_that_would_escape_the_policy_cannot_start() {
    let page = Page::open();
    let outcome = page.run(
        "const worker = new Worker('worker.js');
         return new Promise((resolve) => {
             worker.onerror = () => resolve('refused');
             worker.onmessage = () => resolve('started');
         });",
        &[],
    );
    assert_eq!(outcome, "refused");
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_tests_would_see_a_request() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("index.html"), "<html data-state=idle><img src=http://example.com/secret>").unwrap();
    let page = Page::of(folder.path());
    page.visit("");
    page.wait_until_idle();
    assert!(page.requests().contains(&"http://example.com/secret".to_owned()), "{:?}", page.requests());
}
