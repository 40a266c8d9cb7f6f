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

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn an_opened_report_is_compared_with_ones_own_data_by_one_click() {
    let page = Page::open();
    page.drop_files(&[("before.csv", noisy_sweep().as_bytes())]);
    page.wait_until_idle();
    page.click("button", "Share");
    page.wait_for_text("Ready.");
    let report = page.download(|| page.click("button", "Save HTML"));
    page.click("radio", "Small");
    let small = page.run("return arguments[0].value", &[page.find("textbox", "The link").into()]);
    page.click("radio", "Full");
    let full = page.run("return arguments[0].value", &[page.find("textbox", "The link").into()]);

    let compares = |page: &Page| {
        page.wait_until(|| page.text().contains("slower"), "the change is shown");
        page.wait_until_idle();
        assert!(page.rows("What changed") > 4);
        assert!(
            page.fragment().contains("&p=compare") && page.fragment().contains("after=loaded"),
            "{}",
            page.fragment()
        );
    };
    // With a sweep of one's own: a report of a file, and one of a link.
    let later = Page::open();
    later.drop_files(&[("after.csv", slower().as_bytes())]);
    later.wait_until_idle();
    later.drop_files(&[("before.html", &report)]);
    later.wait_until_idle();
    later.wait_for_text("not verified");
    later.click("button", "Compare with my data");
    compares(&later);
    later.run("history.back()", &[]);
    later.wait_for_text("not verified");
    let full = full.as_str().unwrap();
    later.run("location.hash = arguments[0]", &[full[full.find('#').unwrap()..].into()]);
    later.wait_for_text("Opened from a link");
    later.click("button", "Compare with my data");
    compares(&later);
    assert!(later.fragment().contains("before=link"), "{}", later.fragment());
    later.assert_clean();

    // Without one: it is asked for.
    let later = Page::open_at(&full[full.find('#').unwrap()..]);
    later.wait_for_text("not verified");
    later.click("button", "Compare with my data");
    later.wait_for_text("Drop a sweep of your own");
    later.drop_files(&[("after.csv", slower().as_bytes())]);
    compares(&later);
    later.assert_clean();

    // A small link holds no measurements.
    let small = small.as_str().unwrap();
    let later = Page::open_at(&small[small.find('#').unwrap()..]);
    later.wait_for_text("It can't be compared with other data");
    assert!(later.look_for("button", "Compare with my data").is_none());
    later.assert_clean();
}
