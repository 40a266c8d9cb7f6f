//! Steps of training: samples are dropped, and what a step is made of is there without another click.

use crate::{look::assert_fits_a_phone, page::Page};

/// The page with the example open, all regressors trained and validated.
fn example() -> Page {
    let page = Page::open_at("#v=1&w=training-time");
    page.click("button", "Open the example");
    page.wait_until_idle();
    page.wait_for_text("Errors are of what regressors had not seen.");
    page
}

fn answer(page: &Page) -> String {
    page.text_of("return document.querySelector('.answer').innerText")
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_example_opens_with_one_click_and_is_answered() {
    let page = Page::open_at("#v=1&w=training-time");
    let before = page.requests().len();
    page.click("button", "Open the example");
    page.wait_until_idle();
    page.wait_for_text("This is the example: simulated samples, not measurements.");
    assert_eq!(page.requests().len(), before, "the example came with the page");
    assert_eq!(page.fragment(), "#v=1&w=training-time&x=1");
    let answer = answer(&page);
    assert!(answer.contains("a step of") && answer.contains("in nine of ten cases"), "{answer}");
    assert_eq!(page.rows("What the time goes into"), 10, "nine components and their sum");
    assert_eq!(page.rows("Memory of each stage"), 4);
    assert!(page.rows("Regressors") > 20 && page.rows("What is odd") > 3);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_choice_is_answered_stands_in_the_address_and_is_undone() {
    let page = example();
    let before = answer(&page);
    page.run("document.querySelectorAll('.controls details').forEach((fold) => { fold.open = true; })", &[]);
    page.fill("Micro-batches per step", "16");
    page.wait_until_idle();
    page.wait_until(|| answer(&page) != before, "the answer is another one");
    assert!(page.fragment().contains("&r.m=16"), "{}", page.fragment());
    page.run("history.back()", &[]);
    page.wait_until(|| answer(&page) == before, "the answer is the one from before");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn layouts_are_searched_by_their_address() {
    let page = Page::open_at("#v=1&w=training-time&x=1&s.gpus=16");
    page.wait_until(|| page.look_for("heading", "Layouts").is_some(), "there is a ranking");
    page.wait_until_idle();
    assert!(page.fragment().contains("&s.gpus=16"), "{}", page.fragment());
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn bad_files_are_located_and_a_pickle_is_refused() {
    let page = Page::open();
    page.drop_files(&[
        (
            "NVIDIAA100-SXM4-80GB_gelu_fp16.csv",
            b"mp,b,l,dim,F_dur(us),B_dur(us)\n1,2,1024,4096,10,soon\n1,2,2048,4096,20,30\n" as &[u8],
        ),
        ("model.pkl", b"\x80\x04\x95\x10\x00\x00\x00"),
    ]);
    page.wait_until_idle();
    page.wait_for_text("1 line left out");
    page.run("document.querySelectorAll('details.problems').forEach((list) => { list.open = true; })", &[]);
    page.wait_for_text("soon");
    page.wait_for_text("pickle");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_workbench_fits_a_narrow_window_and_is_readable() {
    assert_fits_a_phone(&example());
}
