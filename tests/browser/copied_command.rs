//! The command that the page offers to copy, run in a terminal.

use crate::{
    page::Page,
    support::terminal::{ended, shell},
    sweep::sweep,
};

/// Copies the command of the answer on view.
fn copied(page: &Page) -> String {
    page.click("button", "Copy as command");
    let shown = page.text_in("group", "Command");
    page.wait_until(
        || page.run("return navigator.clipboard.readText()", &[]) == shown.as_str(),
        "the command is copied",
    );
    shown
}

/// The sentences of the answer on view.
fn sentences(page: &Page) -> Vec<String> {
    let read = "return [...document.querySelectorAll('.answer .sentence')].map((of) => of.innerText)";
    let sentences: Vec<String> = serde_json::from_value(page.run(read, &[])).unwrap();
    assert!(!sentences.is_empty());
    sentences
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_command_on_view_gives_the_answer_in_a_terminal() {
    let page = Page::open();
    page.allow_clipboard();
    page.drop_files(&[("a sweep.csv", sweep(12, 8).as_bytes())]);
    page.wait_until_idle();
    let files = page.scratch().join("files");
    let agrees = || {
        let line = copied(&page);
        let said = ended(&shell(&files, &line), 0);
        for sentence in sentences(&page) {
            assert!(said.contains(&sentence), "{line}: {said} has not {sentence}");
        }
    };
    agrees();
    page.run("location.hash += '&least-gain=4&trees=20'", &[]);
    page.wait_until(|| copied(&page).contains("--trees 20 --minimum-gain 4"), "the command follows");
    page.wait_until_idle();
    agrees();
    // Each tab has it at the same place, and so has the list of commands.
    for (tab, begin) in [("Heat map", "chart"), ("Model", "train"), ("Noise", "predict"), ("Measure next", "plan")] {
        page.show(tab);
        let line = copied(&page);
        assert!(line.starts_with(&format!("collectune tuning {begin} 'a sweep.csv' ")), "{line}");
    }
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_schedule_has_its_command() {
    let page = Page::open_at("#v=1&w=topology&graph=ring&ring=5&collective=all_reduce");
    page.allow_clipboard();
    page.wait_until_idle();
    let line = copied(&page);
    assert_eq!(line, "collectune topology synthesize ring:5 --time-limit 5s --collective all_reduce");
    let said = ended(&shell(page.scratch(), &line), 0);
    sentences(&page).iter().for_each(|sentence| assert!(said.contains(sentence), "{said} has not {sentence}"));
    page.assert_clean();
}
