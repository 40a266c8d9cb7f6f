//! Files come in by dropping them anywhere: whole folders and archives, and with a frame that says so.

use crate::{
    page::Page,
    support::archives::{archive, gzipped, tarred},
    sweep::sweep,
};

/// A sweep of all_reduce, and the same of broadcast.
fn two_sweeps() -> [String; 2] {
    ["all_reduce", "broadcast"].map(|collective| sweep(6, 3).replace("all_reduce", collective))
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_folder_is_read_whole() {
    let page = Page::open();
    let [all_reduce, broadcast] = two_sweeps();
    page.drop_folder(
        "campaign",
        &[
            ("one/metrics.csv", all_reduce.as_bytes()),
            ("two/deeper/metrics.csv", broadcast.as_bytes()),
            (".git/metrics.csv", all_reduce.as_bytes()),
        ],
    );
    page.wait_until_idle();
    let files = page.run("return document.querySelectorAll('.file').length", &[]);
    assert_eq!(files, 2, "hidden folders are passed over: {}", page.text());
    page.choose("Collective", "broadcast");
    page.wait_for_text("broadcast of");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn an_archive_is_opened_as_its_files() {
    let page = Page::open();
    let [all_reduce, broadcast] = two_sweeps();
    let inner = archive(&[("again.csv", &all_reduce)]);
    let campaign = gzipped(&tarred(&[
        ("./logs/metrics.csv", broadcast.as_bytes()),
        ("./logs/inner.zip", &inner),
        ("./logs/.hidden.csv", b"1"),
        ("./tuner.conf", b"allreduce,0,4095,ring,ll,32,1,8,-1,-1\n"),
    ]));
    let torn = &inner[..inner.len() / 2];
    page.drop_files(&[("first.csv", all_reduce.as_bytes()), ("campaign.tgz", &campaign), ("torn.zip", torn)]);
    page.wait_until_idle();
    page.wait_for_text(
        "torn.zip is left out: it is a zip archive that breaks off: its directory is missing. The other",
    );
    page.unfold();
    let names = page.run("return [...document.querySelectorAll('.file-name')].map(name => name.textContent)", &[]);
    let opened = ["logs/metrics.csv", "tuner.conf", "logs/inner.zip"].map(|name| format!("campaign.tgz/{name}"));
    assert_eq!(names, serde_json::json!(["first.csv", "torn.zip", opened[0], opened[1], opened[2]]));
    page.wait_for_text("Not read: it is an archive within an archive, which stays closed; unpack it.");
    page.choose("Collective", "broadcast");
    page.wait_for_text("broadcast of");
    // What is closed stays closed, and the archive within it is opened by itself where that is asked for.
    page.click("button", "Close torn.zip");
    page.wait_until_idle();
    page.click("button", "Try again");
    page.wait_until_idle();
    page.unfold();
    page.wait_for_text("campaign.tgz/logs/inner.zip/again.csv");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_frame_shows_for_files_and_does_not_flicker() {
    let page = Page::open();
    let after = |events: &str| {
        page.run(
            &format!(
                "const [files, text] = [new DataTransfer(), new DataTransfer()];
                 files.items.add(new File(['1'], 'sweep.csv'));
                 text.setData('text/plain', 'words');
                 const [outer, inner] = [document.querySelector('.welcome'), document.querySelector('h1')];
                 const drag = (kind, on, dataTransfer, relatedTarget) =>
                     on.dispatchEvent(new DragEvent(kind, {{ dataTransfer, relatedTarget, bubbles: true, cancelable: true }}));
                 {events}
                 await new Promise(requestAnimationFrame);
                 return document.querySelector('.drop-overlay').checkVisibility();"
            ),
            &[],
        ) == true
    };
    assert!(!after("drag('dragenter', outer, text);"), "words are no files");
    assert!(after("drag('dragenter', outer, files);"));
    assert!(after("drag('dragenter', inner, files, outer); drag('dragleave', outer, files, inner);"), "into a child");
    assert!(after("drag('dragenter', outer, files, inner); drag('dragleave', inner, files, outer);"), "and back");
    assert!(!after("drag('dragleave', outer, files, null);"), "out of the window");
    page.assert_clean();
}
