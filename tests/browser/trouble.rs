//! What can go wrong is said in words, and nothing has to be dropped again.

use crate::{page::Page, sweep::sweep};

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn bad_files_are_said_and_good_ones_beside_them_read() {
    let page = Page::open();
    let noise: Vec<u8> = (0..20_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    page.drop_files(&[("empty.csv", b""), ("noise.bin", &noise), ("sweep.csv", sweep(10, 6).as_bytes())]);
    page.wait_until_idle();
    for name in ["empty.csv", "noise.bin", "sweep.csv"] {
        page.find("button", &format!("Close {name}"));
    }
    page.wait_for_text("240 rows");
    page.wait_for_text("empty");
    assert!(page.text_in("region", "Answer").contains("GB/s"));
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn rows_that_are_left_out_are_listed() {
    let page = Page::open();
    let text = sweep(10, 6).replacen(",LL,4\n", ",LL,auto\n", 1);
    page.drop_files(&[("sweep.csv", text.as_bytes())]);
    page.wait_until_idle();
    page.wait_for_text("239 rows");
    page.click("button", "1 line left out");
    page.wait_for_text("auto");
    page.wait_for_text("nchannels");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_training_can_be_cancelled() {
    let page = Page::open();
    page.drop_files(&[("sweep.csv", sweep(14, 16).as_bytes())]);
    page.wait_until_idle();
    let answer = page.text_in("region", "Answer");
    page.fill("Trees", "2000");
    page.click("button", "Train");
    page.click("button", "Cancel");
    page.wait_until_idle();
    assert_eq!(page.text_in("region", "Answer"), answer, "what was there stays");
    page.fill("Trees", "20");
    page.click("button", "Train");
    page.wait_until_idle();
    assert!(page.text_in("region", "Answer").contains("GB/s"));
    page.wait_for_text("validated on what was held out");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_worker_that_dies_unseen_is_replaced() {
    let page = Page::open();
    page.drop_files(&[("sweep.csv", sweep(10, 6).as_bytes())]);
    page.wait_until_idle();
    assert!(page.kill_workers() > 0);
    page.wait_for_text("no longer answers");
    page.wait_until_idle();
    page.choose("Size", "16 KiB");
    page.wait_for_text("all_reduce of 16 KiB");
    page.fill("Trees", "20");
    page.click("button", "Train");
    page.wait_until_idle();
    page.wait_for_text("validated on what was held out");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_worker_that_runs_out_of_memory_is_said() {
    let page = Page::open();
    page.drop_files(&[("sweep.csv", sweep(14, 16).as_bytes())]);
    page.wait_until_idle();
    page.fill("Trees", "2000");
    page.click("button", "Train");
    page.find("button", "Cancel");
    // A trap in WebAssembly reaches the page as this event.
    page.run(
        "const error = new ErrorEvent('error', { message: 'Uncaught RuntimeError: unreachable', cancelable: true });
         watched.workers.forEach((worker) => worker.dispatchEvent(error))",
        &[],
    );
    page.wait_for_text("gave it no more memory");
    page.wait_until_idle();
    page.fill("Trees", "20");
    page.click("button", "Train");
    page.wait_until_idle();
    page.wait_for_text("validated on what was held out");
    page.assert_clean();
}
