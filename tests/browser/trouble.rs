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
        page.unfold();
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
    page.wait_for_text("1 line left out");
    page.unfold();
    page.wait_for_text("auto");
    page.wait_for_text("nchannels");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_training_can_be_cancelled() {
    let page = Page::with_files(&[("sweep.csv", sweep(14, 16).as_bytes())]);
    let answer = page.text_in("region", "Answer");
    page.show("Model");
    page.fill("Trees", "2000");
    page.click("button", "Train");
    page.click("button", "Cancel");
    page.wait_until_idle();
    page.show("Answer");
    assert_eq!(page.text_in("region", "Answer"), answer, "what was there stays");
    page.show("Model");
    page.fill("Trees", "20");
    page.click("button", "Train");
    page.wait_until_idle();
    page.show("Answer");
    assert!(page.text_in("region", "Answer").contains("GB/s"));
    page.wait_for_text("validated on held-out measurements");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_worker_that_dies_unseen_is_replaced() {
    let page = Page::with_files(&[("sweep.csv", sweep(10, 6).as_bytes())]);
    assert!(page.kill_workers() > 0);
    page.wait_for_text("no longer answers");
    page.wait_until_idle();
    page.choose("Size", "16 KiB");
    page.wait_for_text("all_reduce of 16 KiB");
    page.show("Model");
    page.fill("Trees", "20");
    page.click("button", "Train");
    page.wait_until_idle();
    page.wait_for_text("validated on held-out measurements");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_worker_that_runs_out_of_memory_is_said() {
    let page = Page::with_files(&[("sweep.csv", sweep(14, 16).as_bytes())]);
    page.show("Model");
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
    page.wait_for_text("validated on held-out measurements");
    page.assert_clean();
}

/// Before the page loads: workers that panic at any study whose choices hold the key `fatal`, and that run out of
/// memory when they come to a file whose name begins with `killer`. Both as the page sees them in earnest: the message
/// of the worker's panic hook, and the event of a trap.
const DYING_WORKERS: &str = "
    window.deaths = 0;
    const text = (buffer) => Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join('');
    window.Worker = class extends Worker {
        constructor(...options) {
            super(...options);
            Object.assign(this, { killers: new Set(), waiting: 0, isSilent: false });
            this.addEventListener('message', (event) => {
                if (this.isSilent) return event.stopImmediatePropagation();
                const [kind, some, file] = new Uint8Array(event.data[0]);
                // FromWorker::Done and Failed.
                if (kind === 3 || kind === 4) this.waiting -= 1;
                // FromWorker::Reading with a file's number.
                if (kind !== 2 || some !== 1 || !this.killers.has(file)) return;
                this.isSilent = true;
                const trap = { message: 'Uncaught RuntimeError: unreachable', cancelable: true };
                setTimeout(() => this.die(new ErrorEvent('error', trap)));
            });
        }
        postMessage(message, ...rest) {
            if (!Array.isArray(message)) return super.postMessage(message, ...rest);
            const sent = text(message[0]);
            // A file's number stands before the length of its name.
            for (const found of sent.matchAll(/killer/g)) this.killers.add(sent.charCodeAt(found.index - 2));
            if (!/fatal/.test(sent)) {
                this.waiting += 1;
                return super.postMessage(message, ...rest);
            }
            const words = 'panicked at src/made/up.rs:1:1: a test';
            const panicked = new window.Uint8Array([5, words.length, ...[...words].map((letter) => letter.charCodeAt(0))]);
            // Once what was asked before is answered.
            const panic = () => {
                if (this.waiting > 0) return setTimeout(panic, 5);
                this.die(new window.MessageEvent('message', { data: [panicked.buffer] }));
            };
            setTimeout(panic);
        }
        die(event) {
            if (this.isDead) return;
            Object.assign(this, { isDead: true, isSilent: false });
            window.deaths += 1;
            this.terminate();
            this.dispatchEvent(event);
        }
    };
";

fn with_dying_workers(fragment: &str) -> Page {
    let page = Page::closed();
    page.before_loading(DYING_WORKERS);
    page.visit(fragment);
    page
}

fn deaths(page: &Page) -> u64 {
    page.run("return deaths", &[]).as_u64().unwrap()
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_study_that_ends_its_worker_is_told_and_not_begun_again() {
    let page = with_dying_workers("#v=1&w=topology&fatal=1&collective=all_gather");
    page.wait_for_text("The study has stopped");
    page.wait_until_idle();
    let text = page.text();
    for part in ["Topology", "fatal: 1", "Synthesizing", "a mistake in Collectune", "src/made/up.rs:1:1"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Two beats of the page: whatever would begin again has begun.
    page.run("await new Promise((done) => setTimeout(done, 2500))", &[]);
    assert_eq!((deaths(&page), page.state().as_str()), (1, "idle"));
    page.click("button", "Study again");
    page.wait_until(|| deaths(&page) == 2, "it is asked once more");
    page.wait_until_idle();
    // Something else is chosen, or other files are open: it is studied.
    page.visit("#v=1&w=topology");
    page.wait_for_text("all_gather over dgx1v");
    page.wait_until_idle();
    assert!(!page.text().contains("The study has stopped"), "{}", page.text());
    page.visit("#v=1&w=topology&fatal=2");
    page.wait_for_text("The study has stopped");
    page.wait_for_text("The results below are from an earlier study.");
    page.wait_until_idle();
    page.drop_files(&[("sweep.csv", sweep(6, 3).as_bytes())]);
    page.wait_for_text("validated on held-out measurements");
    page.wait_until_idle();
    assert_eq!(deaths(&page), 3);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_file_that_ends_the_worker_is_left_out_and_the_others_are_read() {
    let page = with_dying_workers("");
    page.wait_until_idle();
    let good = sweep(10, 6);
    page.drop_files(&[
        ("killer-one.csv", good.as_bytes()),
        ("sweep.csv", good.as_bytes()),
        ("killer-two.csv", good.as_bytes()),
    ]);
    page.wait_for_text("killer-one.csv is left out");
    page.wait_for_text("killer-two.csv is left out");
    page.wait_for_text("validated on held-out measurements");
    page.wait_until_idle();
    assert_eq!(deaths(&page), 2);
    page.wait_for_text("240 rows");
    let text = page.text();
    assert_eq!(text.matches("Not read: the browser gave the worker no more memory").count(), 2, "{text}");
    // It is tried again when somebody asks, and left out again.
    page.click("button", "Try again");
    page.wait_until(|| deaths(&page) == 3, "the file is read again");
    page.wait_until_idle();
    page.unfold();
    page.click("button", "Close killer-one.csv");
    page.wait_until_idle();
    page.unfold();
    page.click("button", "Close killer-two.csv");
    page.wait_until_idle();
    assert!(!page.text().contains("Not read"), "{}", page.text());
    assert_eq!(deaths(&page), 3);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_file_that_ends_the_worker_alone_leaves_an_idle_page() {
    let page = with_dying_workers("#v=1&w=topology");
    page.wait_until_idle();
    page.drop_files(&[("killer.csv", b"5\nSrc,Dest\n")]);
    page.wait_for_text("killer.csv is left out");
    page.wait_until_idle();
    page.find("button", "Try again");
    assert_eq!(deaths(&page), 1);
    page.assert_clean();
}
