//! Nothing leaves the tab, and nothing that a file says becomes part of the page.

use std::fs;

use serde_json::json;

use crate::{
    offline,
    page::{Page, key},
    sweep::sweep,
};

/// What a hostile file says.
const MARKUP: &str = "<img src=x onerror=document.body.remove()>";

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn once_idle_the_page_asks_for_nothing() {
    let page = Page::open();
    let before = page.requests();
    page.drop_files(&[("sweep.csv", sweep(8, 4).as_bytes())]);
    page.wait_until_idle();
    page.show("Model");
    page.fill("Trees", "2000");
    page.click("button", "Train");
    page.click("button", "Cancel");
    page.wait_until_idle();
    page.choose("Preset", "boosting");
    page.fill("Stages", "20");
    page.click("button", "Train");
    page.wait_until_idle();
    page.show("Answer");
    page.choose("Size", "16 KiB");
    page.download(|| page.choose_from_menu("Optimal configurations", "Save as CSV"));
    page.allow_clipboard();
    page.click("button", "Share");
    page.find("dialog", "Share");
    // What can be copied and saved can be so once it is made.
    page.wait_until(
        || page.run("return document.querySelectorAll('dialog[open] button:disabled').length", &[]) == 0,
        "the forms of the report are made",
    );
    page.click("button", "Copy link");
    page.run(
        "document.querySelectorAll('dialog[open] button[aria-label^=Copy]').forEach((button) => button.click())",
        &[],
    );
    page.download(|| {
        let save =
            "document.querySelectorAll('dialog[open] button[aria-label^=Save]').forEach((button) => button.click())";
        page.run(save, &[]);
    });
    page.press(key::ESCAPE);
    page.unfold();
    page.click("button", "Close sweep.csv");
    page.click("button", "Open the example");
    page.wait_until_idle();
    assert_eq!(page.requests()[before.len()..], [] as [String; 0]);
    page.assert_clean();
}

/// A host that sends no headers: the policy of the page alone holds, and lets the page work.
#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn without_headers_the_pages_own_policy_holds() {
    let folder = offline::deployed();
    fs::remove_file(folder.path().join("_headers")).unwrap();
    let page = Page::of(folder.path());
    page.visit("");
    page.wait_until_idle();
    page.click("button", "Open the example");
    page.wait_until_idle();
    assert!(page.text_in("region", "Answer").contains("GB/s"));
    page.assert_clean();
    let refused = page.run(
        "const refused = (work) => Promise.resolve().then(work).then(() => 'done', () => 'refused');
         return Promise.all([
             refused(() => fetch('http://example.com/')),
             refused(() => {
                 document.head.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1' }));
                 return window.ran ?? Promise.reject();
             }),
             refused(() => navigator.serviceWorker.register('service-worker.js?another')),
         ])",
        &[],
    );
    assert_eq!(refused, json!(["refused", "refused", "refused"]));
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn headers_come_with_every_file() {
    let page = Page::open();
    let policies = page.run(
        "const names = ['', 'service-worker.js', 'examples/simulated_sweep.csv', document.getElementById('page-glue').href];
         return Promise.all(names.map(async (name) => {
             const { headers } = await fetch(name, { cache: 'no-store' });
             return ['content-security-policy', 'x-content-type-options', 'referrer-policy'].map((one) => headers.get(one));
         }))",
        &[],
    );
    for headers in policies.as_array().unwrap() {
        let policy = headers[0].as_str().unwrap();
        assert!(policy.contains("worker-src 'self' blob:") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!((&headers[1], &headers[2]), (&json!("nosniff"), &json!("no-referrer")));
    }
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_a_file_says_is_text() {
    let page = Page::open();
    let unknown = format!("{MARKUP},b\n{MARKUP},2\n3,4\n");
    let name = format!("{MARKUP}.csv").replace('/', "");
    page.drop_files(&[(&name, unknown.as_bytes())]);
    page.wait_until_idle();
    page.find("dialog", "Which column is which?");
    page.wait_for_text(MARKUP);
    page.click("button", "Not now");
    page.click("button", "Close");

    let text = sweep(10, 6).replacen(",RING,", &format!(",{MARKUP},"), 3);
    page.drop_files(&[("sweep.csv", text.as_bytes())]);
    page.wait_until_idle();
    page.unfold();
    page.wait_for_text(MARKUP);
    page.visit(&format!("#v=1&w=tuning&c={MARKUP}"));
    page.wait_for_text("The link can't be read");
    let made = "return [...document.querySelectorAll('[onerror], script:not([src])')].map((made) => made.outerHTML)";
    assert_eq!(page.run(made, &[]), json!([]));
    page.assert_clean();
}

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
        "const worker = new Worker(document.getElementById('page-glue').href);
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
