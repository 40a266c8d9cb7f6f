//! Before and after.

use crate::{
    page::Page,
    share::{fragment, share},
    sweep::{noisy_sweep, slower},
};

/// A report on [`noisy_sweep`] as HTML, and the small and the full link to it.
fn reported() -> (Vec<u8>, [String; 2]) {
    let page = Page::with_files(&[("before.csv", noisy_sweep().as_bytes())]);
    share(&page);
    let report = page.download(|| page.click("button", "Save HTML"));
    (report, ["Small", "Full"].map(|length| fragment(&page, length)))
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn two_sweeps_are_compared() {
    let page = Page::with_files(&[("before.csv", noisy_sweep().as_bytes()), ("after.csv", slower(3.0).as_bytes())]);
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
    let (report, _) = reported();
    let later = Page::with_files(&[("before.html", &report)]);
    later.wait_for_text("not verified");
    later.drop_files(&[("after.csv", slower(3.0).as_bytes())]);
    later.wait_until_idle();
    later.click("tab", "Compare");
    later.wait_for_text("slower");
    later.wait_until_idle();
    later.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn an_opened_report_is_compared_with_ones_own_data_by_one_click() {
    let (report, [small, full]) = reported();
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
    let later = Page::with_files(&[("after.csv", slower(3.0).as_bytes())]);
    later.drop_files(&[("before.html", &report)]);
    later.wait_until_idle();
    later.wait_for_text("not verified");
    later.click("button", "Compare with my data");
    compares(&later);
    later.run("history.back()", &[]);
    later.wait_for_text("not verified");
    later.run("location.hash = arguments[0]", &[full.as_str().into()]);
    later.wait_for_text("Opened from a link");
    later.click("button", "Compare with my data");
    compares(&later);
    assert!(later.fragment().contains("before=link"), "{}", later.fragment());
    later.assert_clean();

    // Without one: it is asked for.
    let later = Page::open_at(&full);
    later.wait_for_text("not verified");
    later.click("button", "Compare with my data");
    later.wait_for_text("Drop a sweep of your own");
    later.drop_files(&[("after.csv", slower(3.0).as_bytes())]);
    compares(&later);
    later.assert_clean();

    // A small link holds no measurements.
    let later = Page::open_at(&small);
    later.wait_for_text("It can't be compared with other data");
    assert!(later.look_for("button", "Compare with my data").is_none());
    later.assert_clean();
}
