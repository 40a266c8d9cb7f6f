//! Back undoes a choice, Forward does it again.

use crate::{page::Page, sweep::sweep};

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn back_and_forward_undo_and_redo_choices() {
    let page = Page::with_files(&[("sweep.csv", sweep(12, 8).as_bytes())]);
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
    let page = Page::with_files(&[("sweep.csv", sweep(10, 6).as_bytes())]);
    page.show("Model");
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
    page.wait_for_text("validated on held-out measurements");
    page.run("history.forward()", &[]);
    page.wait_until(|| trees() == "7", "the seed is what it became");
    page.wait_until_idle();
    page.assert_clean();
}

/// A click on a tab and a fragment that is typed make an entry of the browser's own, whose address is written
/// otherwise.
#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn back_leaves_what_the_browser_went_to_by_itself() {
    let page = Page::open();
    page.click("button", "Open the example");
    page.wait_until_idle();
    let tuning = page.fragment();
    assert!(tuning.contains("w=tuning") && tuning.contains("x=1"), "{tuning}");
    page.click("link", "Topology");
    page.wait_for_text("all_gather over dgx1v in");
    page.wait_until_idle();
    assert_eq!(page.fragment(), "#v=1&w=topology&x=1");
    page.run("history.back()", &[]);
    page.wait_until(|| page.fragment() == tuning, "one step leads back to the sweep");
    page.wait_until_idle();

    page.run("history.forward()", &[]);
    page.wait_until(|| page.fragment() == "#v=1&w=topology&x=1", "Forward is still there");
    page.wait_until_idle();
    page.run("location.hash = '#v=1&w=topology&cut=0-1;1-0'", &[]);
    page.wait_until(|| page.fragment() == "#v=1&w=topology&x=1&cut=0-1%3B1-0", "it is written as the page writes it");
    page.wait_until_idle();
    page.run("history.back()", &[]);
    page.wait_until(|| page.fragment() == "#v=1&w=topology&x=1", "one step takes the cut back");
    page.wait_until_idle();
    page.run("history.back()", &[]);
    page.wait_until(|| page.fragment() == tuning, "and one more leads to the sweep");
    page.wait_until_idle();
    page.assert_clean();
}

/// What names a file by its place is undone for that file, also where another one was closed since.
#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn choices_of_the_history_follow_their_files() {
    let log = "allreduce,4194304,1,8,12.34\n".repeat(40);
    let page = Page::with_files(&[
        ("rewards_a.log", log.as_bytes()),
        ("rewards_b.log", log.as_bytes()),
        ("rewards_c.log", log.as_bytes()),
    ]);
    page.unfold();
    page.fill("rewards_b.log: arm", "tree/simple");
    page.wait_until(|| page.fragment().contains("arm.2=tree/simple"), "the arm is part of the address");
    page.fill("rewards_b.log: from line", "20");
    page.wait_until(|| page.fragment().contains("from.2=20"), "the line is part of the address");
    page.wait_until_idle();
    page.click("button", "Close rewards_a.log");
    page.wait_until(|| page.fragment().contains("arm.1=tree/simple&from.1=20"), "both follow their file");
    page.wait_until_idle();
    page.run("history.back()", &[]);
    page.wait_until(|| page.fragment().ends_with("arm.1=tree/simple"), "the line is undone, and the arm stays");
    page.wait_until_idle();
    page.run("history.forward()", &[]);
    page.wait_until(|| page.fragment().contains("arm.1=tree/simple&from.1=20"), "the line is there again");
    page.wait_until_idle();
    page.assert_clean();
}
