//! The main flow once in Firefox and once in WebKit. `cargo xtask test` leaves out, and says so, what is not there. All
//! other tests run in Chromium, and by `cargo xtask firefox` in Firefox as well.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use xtask::server::Server;

use crate::{driver::Driver, loading::dist};

const PATIENCE: Duration = Duration::from_secs(400);

const IDLE: &str = "document.documentElement?.dataset.state === 'idle'";
const ANSWERED: &str = "document.body?.innerText.includes('The answer is validated on held-out measurements.')";

fn wait_until(driver: &Driver, what: &str, condition: &str) {
    let end = Instant::now() + PATIENCE;
    while driver.run(&format!("return {condition}"), &[]) != true {
        let text = || driver.run("return document.body?.innerText ?? ''", &[]);
        assert!(Instant::now() < end, "{what}: it didn't; {}", text());
        thread::sleep(Duration::from_millis(100));
    }
}

/// Opens the example, then a file that is chosen and to be kept, then the page without a network.
fn the_main_flow(driver: &Driver) -> Server {
    let server = Server::start(&dist(), "/tools/collectune/", 0).unwrap();
    driver.go(&server.url());
    wait_until(driver, "the page opens", IDLE);
    driver.run(
        "window.violations = [];
         addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective))",
        &[],
    );
    driver.click(&driver.select("#open-example")[0]);
    wait_until(driver, "the example is answered", ANSWERED);
    wait_until(driver, "it comes to rest", IDLE);
    driver.run("document.querySelector('[data-open=commands]').click()", &[]);
    assert_eq!(driver.run("return document.querySelector('#commands').open", &[]), true);
    assert_eq!(driver.run("return violations", &[]), json!([]));

    driver.go(&format!("{}index.html", server.url()));
    wait_until(driver, "the page opens from its copy", IDLE);
    driver.click(&driver.select(".on-device input")[0]);
    let choose = "const [data, input] = [new DataTransfer(), document.querySelector('.file-button input')];
         data.items.add(new File([await (await fetch('examples/simulated_sweep.csv')).text()], 'chosen.csv'));
         input.files = data.files;
         input.dispatchEvent(new Event('change', { bubbles: true }))";
    driver.run(choose, &[]);
    wait_until(driver, "the chosen file is answered", ANSWERED);
    wait_until(driver, "it comes to rest", IDLE);
    server.take_down(true);
    // The driver's reload passes by the copy, as a forced one does.
    driver.go(&server.url());
    wait_until(driver, "the page opens without a network", IDLE);
    server
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn firefox_answers_keeps_files_and_opens_without_a_network() {
    let driver = Driver::start_firefox();
    let _server = the_main_flow(&driver);
    wait_until(
        &driver,
        "the chosen file was kept",
        "document.querySelector('.on-device-file')?.innerText === 'chosen.csv'",
    );
}

/// A session that is driven keeps nothing on the device there, so that a file that is kept is not asked for.
#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn webkit_answers_and_opens_without_a_network() {
    let driver = Driver::start_webkit();
    let _server = the_main_flow(&driver);
    driver.click(&driver.select("#open-example")[0]);
    wait_until(&driver, "the example is answered without a network", ANSWERED);
}
