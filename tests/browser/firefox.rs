//! The main flow once in Firefox. `cargo xtask test` leaves this out, and says so, where there is none.

use std::{
    env, thread,
    time::{Duration, Instant},
};

use serde_json::json;
use xtask::server::Server;

use crate::{driver::Driver, loading::dist};

const PATIENCE: Duration = Duration::from_secs(400);

fn wait_until(driver: &Driver, what: &str, condition: &str) {
    let end = Instant::now() + PATIENCE;
    while driver.run(&format!("return {condition}"), &[]) != true {
        assert!(Instant::now() < end, "{what}: it didn't; {}", driver.run("return document.body.innerText", &[]));
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_example_is_answered_kept_and_opens_without_a_network() {
    let named = |variable| env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set"));
    let (firefox, geckodriver) = (named("FIREFOX"), named("GECKODRIVER"));
    let server = Server::start(&dist(), "/tools/collectune/", 0).unwrap();
    let driver = Driver::start_firefox(firefox.to_str().unwrap(), &geckodriver);
    let idle = "document.documentElement.dataset.state === 'idle'";
    driver.go(&server.url());
    wait_until(&driver, "the page opens", idle);
    let answer = "document.body.innerText.includes('The answer is validated on held-out measurements.')";
    driver.run(
        "window.violations = [];
         addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective))",
        &[],
    );
    driver.click(&driver.select("#open-example")[0]);
    wait_until(&driver, "the example is answered", answer);
    wait_until(&driver, "it comes to rest", idle);
    driver.run("document.querySelector('[data-open=commands]').click()", &[]);
    assert_eq!(driver.run("return document.querySelector('#commands').open", &[]), true);
    assert_eq!(driver.run("return violations", &[]), json!([]));

    driver.go(&format!("{}index.html", server.url()));
    wait_until(&driver, "the page opens from its copy", idle);
    driver.click(&driver.select(".on-device input")[0]);
    let choose = "const [data, input] = [new DataTransfer(), document.querySelector('.file-button input')];
         data.items.add(new File([await (await fetch('examples/simulated_sweep.csv')).text()], 'chosen.csv'));
         input.files = data.files;
         input.dispatchEvent(new Event('change', { bubbles: true }))";
    driver.run(choose, &[]);
    wait_until(&driver, "the chosen file is answered", answer);
    wait_until(&driver, "it comes to rest", idle);
    server.take_down(true);
    // The driver's reload passes by the copy, as a forced one does.
    driver.go(&server.url());
    wait_until(&driver, "the page opens without a network", idle);
    wait_until(
        &driver,
        "the chosen file was kept",
        "document.querySelector('.on-device-file')?.innerText === 'chosen.csv'",
    );
}
