//! Back undoes a choice, Forward does it again.

use crate::{page::Page, sweep::sweep};

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn back_and_forward_undo_and_redo_choices() {
    let page = Page::open();
    page.drop_files(&[("sweep.csv", sweep(12, 8).as_bytes())]);
    page.wait_until_idle();
    page.choose("Size", "64 KiB");
    page.wait_for_text("all_reduce of 64 KiB");
    page.choose("Size", "1 MiB");
    page.wait_for_text("all_reduce of 1 MiB");
    page.click("tab", "Noise");
    page.wait_until(|| page.fragment().ends_with("&p=noise"), "the panel is part of the address");

    page.run("history.back()", &[]);
    page.wait_for_text("all_reduce of 1 MiB");
    page.run("history.back()", &[]);
    page.wait_for_text("all_reduce of 64 KiB");
    page.run("history.forward()", &[]);
    page.wait_for_text("all_reduce of 1 MiB");
    page.wait_until_idle();
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn how_to_learn_is_a_choice_as_well() {
    let page = Page::open();
    page.drop_files(&[("sweep.csv", sweep(10, 6).as_bytes())]);
    page.wait_until_idle();
    let trees = || {
        page.run("return [...document.querySelectorAll('.field')].find((f) => f.innerText.startsWith('Seed')).querySelector('input').value", &[])
    };
    let before = trees();
    page.fill("Seed", "7");
    page.click("button", "Train");
    page.wait_until_idle();
    assert_eq!(trees(), "7");

    page.run("history.back()", &[]);
    page.wait_until(|| trees() == before, "the seed is what it was");
    page.wait_until_idle();
    page.wait_for_text("validated on what was held out");
    page.run("history.forward()", &[]);
    page.wait_until(|| trees() == "7", "the seed is what it became");
    page.wait_until_idle();
    page.assert_clean();
}
