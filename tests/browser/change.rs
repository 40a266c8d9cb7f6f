//! Before and after.

use crate::{page::Page, sweep::noisy_sweep};

/// The same sweep when everything takes three times as long.
fn slower() -> String {
    let text = noisy_sweep();
    let mut slower = String::new();
    for (index, line) in text.lines().enumerate() {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        if index > 0 {
            cells[4] = format!("{:.2}", cells[4].parse::<f64>().unwrap() * 3.0);
            cells[5] = format!("{:.3}", cells[5].parse::<f64>().unwrap() / 3.0);
        }
        slower += &(cells.join(",") + "\n");
    }
    slower
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn two_sweeps_are_compared() {
    let page = Page::open();
    page.drop_files(&[("before.csv", noisy_sweep().as_bytes()), ("after.csv", slower().as_bytes())]);
    page.wait_until_idle();
    page.click("tab", "Compare");
    page.wait_for_text("slower");
    page.wait_until_idle();
    assert!(page.rows("What changed") > 4);
    page.find("group", "Content of comparison.md");
    page.click("button", "Swap");
    page.wait_for_text("faster");
    page.wait_until_idle();
    crate::look::assert_fits(&page);
    for scheme in ["light", "dark"] {
        page.prefer_color_scheme(scheme);
        crate::look::assert_readable(&page, scheme);
    }
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_report_is_the_state_before() {
    let page = Page::open();
    page.drop_files(&[("before.csv", noisy_sweep().as_bytes())]);
    page.wait_until_idle();
    page.click("button", "Share");
    page.wait_for_text("Ready.");
    let report = page.download(|| page.click("button", "Save HTML"));
    let later = Page::open();
    later.drop_files(&[("before.html", &report)]);
    later.wait_until_idle();
    later.wait_for_text("not verified");
    later.drop_files(&[("after.csv", slower().as_bytes())]);
    later.wait_until_idle();
    later.click("tab", "Compare");
    later.wait_for_text("slower");
    later.wait_until_idle();
    later.assert_clean();
}
