//! Policies from reward logs: a log is dropped, and its verdict and a replay are there without another click.

use crate::{look::assert_fits_a_phone, page::Page};

fn example() -> Page {
    let page = Page::open_at("#v=1&w=policy");
    page.click("button", "Open the example");
    page.wait_until_idle();
    page.wait_for_text("This is the example: simulated rewards, not measurements.");
    page
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_example_opens_with_one_click_and_is_judged() {
    let page = example();
    assert_eq!(page.fragment(), "#v=1&w=policy&x=1");
    // 25 ms of computation: the faster arm takes more of the machine, and loses beside it.
    page.wait_for_text("ring/simple/24");
    page.wait_for_text("tree/ll128/4");
    assert!(page.look_for("heading", "Decision").is_some() && page.look_for("heading", "Overlap").is_some());
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_log_that_names_no_arm_is_refused_in_a_sentence() {
    let page = Page::open();
    let line = "allreduce,4194304,1,8,12.34\n".repeat(20);
    page.drop_files(&[("rewards.log", line.as_bytes())]);
    page.wait_until_idle();
    page.wait_for_text("nothing says which arm ran");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_workbench_fits_a_narrow_window_and_is_readable() {
    assert_fits_a_phone(&example());
}
