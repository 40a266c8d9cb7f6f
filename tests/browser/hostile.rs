//! Short files and links that once took the page down: it says what is wrong, reads what stands beside, and is idle
//! again within ten seconds.

use std::time::{Duration, Instant};

use crate::{page::Page, support::hostile};

const LONGEST: Duration = Duration::from_secs(10);

/// Waits until the page is idle, which takes no longer than it may.
#[track_caller]
fn idle_since(page: &Page, begin: Instant) {
    page.wait_until_idle();
    assert!(begin.elapsed() < LONGEST, "the page was idle after {:?}; it says:\n{}", begin.elapsed(), page.text());
}

/// Drops a file between two good ones: why it is not read is told, and they are read.
#[track_caller]
fn refused(name: &str, bytes: &[u8], why: &str) {
    let page = Page::open();
    let sweep = hostile::good_sweep();
    let begin = Instant::now();
    page.drop_files(&[("a.csv", &sweep), (name, bytes), ("b.csv", &sweep)]);
    page.wait_for_text(why);
    idle_since(&page, begin);
    for name in ["a.csv", name, "b.csv"] {
        page.unfold();
        page.find("button", &format!("Close {name}"));
    }
    assert!(page.text_in("region", "Answer").contains("GB/s"), "{}", page.text());
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_workbook_of_ampersands_is_refused() {
    refused("ampersands.xlsx", &hostile::ampersands(), "is a workbook without a table of kernels");
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_workbook_with_one_text_in_many_cells_is_refused() {
    refused("cells.xlsx", &hostile::one_text_in_many_cells(), "has more than 256 MiB of text");
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn archives_whose_entries_share_a_stream_are_refused() {
    refused("sheets.xlsx", &hostile::sheets_of_one_stream(), "share their bytes");
    refused("samples.zip", &hostile::samples_of_one_stream(), "share their bytes");
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn an_archive_that_has_changed_is_refused() {
    refused("changed.xlsx", &hostile::changed(), "the checksum of xl/worksheets/sheet1.xml is wrong");
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_dump_of_thousands_of_gpus_is_refused() {
    refused("dump.xml", &hostile::dump(4097), "it has 4,097 GPUs, and one node has at most 1,024");
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_link_to_a_graph_of_millions_of_links_is_refused() {
    let page = Page::closed();
    let begin = Instant::now();
    page.visit("#v=1&w=topology&graph=full&full=1500");
    page.wait_for_text("at most 200,000 links can be made");
    idle_since(&page, begin);
    // The form is there, and a smaller one is answered.
    page.visit("#v=1&w=topology&graph=full&full=6");
    page.wait_for_text("proven optimal");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn links_that_ask_for_much_are_refused() {
    let page = Page::open();
    for (what, json) in hostile::reports() {
        let fragment = hostile::fragment(&json);
        // What packs better than any report is refused sooner.
        let begin = Instant::now();
        page.visit("#v=1&w=tuning");
        page.visit(&fragment);
        page.find("heading", "This link shows no report");
        idle_since(&page, begin);
        let said = page.text();
        let is_told = said.contains("holds more than any report") || said.contains("unpacks to more than any report");
        assert!(is_told, "{what}: {said}");
    }
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn report_files_that_ask_for_much_are_refused() {
    for (what, json) in hostile::reports().into_iter().take(4) {
        refused("report.json", json.as_bytes(), &format!("{what}, and"));
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_sweep_of_thousands_of_scales_is_answered() {
    let page = Page::open();
    let begin = Instant::now();
    page.drop_files(&[("sweep.csv", &hostile::many_scales(60_000))]);
    page.wait_for_text("60,000 rows");
    idle_since(&page, begin);
    assert!(page.text_in("region", "Answer").contains("GB/s"), "{}", page.text());
    assert!(!page.text().contains("no longer answers"), "a healthy worker was given up:\n{}", page.text());
    page.assert_clean();
}
