//! The way in: how to make a file, what was found in the files of several workbenches, what a label's terms mean, and
//! where the focus goes when what had it is gone.

use std::fs;

use crate::{
    accessibility::{assert_accessible, take_picture},
    loading::dist,
    look::assert_fits,
    page::{Page, key},
    sweep::sweep,
};

/// The name of what has the focus: its label, or its tag.
fn focused(page: &Page) -> String {
    page.text_of(
        "const element = document.activeElement;
         return element.ariaLabel ?? `${element.tagName} ${element.innerText ?? ''}`.trim();",
    )
}

/// The explanation that is shown; empty where none is.
fn explanation(page: &Page) -> String {
    page.text_of(
        "const tip = document.getElementById('explanation');
         return tip.matches(':popover-open') ? tip.innerText : '';",
    )
}

fn example(name: &str) -> Vec<u8> {
    fs::read(dist().join("examples").join(name)).unwrap()
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn commands_that_make_a_file_follow_the_fields_and_are_copied() {
    let page = Page::open();
    page.allow_clipboard();
    page.click("button", "I have no file yet");
    page.find("region", "A sweep with nccl-tests or rccl-tests");
    page.choose("Collective", "reduce_scatter");
    page.fill("Smallest size", "1M");
    page.fill("Nodes", "4");
    page.choose("Launcher", "srun");
    page.wait_until(
        || page.text_in("region", "One launch of the default").contains("srun -N 4"),
        "the commands follow the fields",
    );
    page.click("button", "Copy One launch of the default");
    page.wait_for_text("Copied.");
    let copied = page.text_of("return navigator.clipboard.readText()");
    assert_eq!(
        copied,
        r#"srun -N 4 -n 32 --ntasks-per-node=8 --export=ALL \
    env NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,TUNING NCCL_DEBUG_FILE="$PWD/debug.%h.%p.log" \
    ./build/reduce_scatter_perf -b 1048576 -e 536870912 -f 2 -g 1 >reduce_scatter_4n_default.log"#
    );
    let script = String::from_utf8(page.download(|| page.click("button", "Save sweep.sh"))).unwrap();
    assert!(script.starts_with("#!/usr/bin/env bash\n# A sweep of reduce_scatter on 4 nodes, 32 ranks."), "{script}");

    // What can't be used is said, and changes nothing.
    page.fill("Largest size", "$(reboot)");
    page.wait_for_text("the smallest first");
    assert!(!page.text_in("region", "One launch of the default").contains("reboot"));
    page.fill("Largest size", "2G");
    page.wait_until(
        || page.text_in("region", "One launch of the default").contains("-e 2147483648"),
        "the size is taken",
    );

    page.choose("Files for", "Topology");
    page.find("region", "What NCCL or RCCL sees");
    assert!(page.look_for("region", "One launch of the default").is_none(), "those of one workbench at a time");
    page.wait_until(
        || page.look_for("textbox", "Smallest size").is_none() && page.look_for("combobox", "Launcher").is_some(),
        "only what changes a command is asked for",
    );
    assert_accessible(&page, "no-file-yet");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn each_workbench_says_how_to_make_its_files() {
    let page = Page::open();
    for (workbench, command) in [
        ("Overlap", "Metrics of the kernels"),
        ("Training time", "Samples of operators"),
        ("Policy", "Rewards that the tuner plugin logs"),
        ("Topology", "What NCCL or RCCL sees"),
    ] {
        page.click("link", workbench);
        page.wait_until_idle();
        page.click("button", "I have no file yet");
        page.find("region", command);
        assert!(page.look_for("combobox", "Files for").is_none(), "it is the workbench that is shown");
        page.resize(360, 740);
        assert_fits(&page);
        page.resize(1280, 800);
    }
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn files_of_several_workbenches_are_told_and_lead_there() {
    let page = Page::with_files(&[("sweep.csv", sweep(6, 3).as_bytes())]);
    assert!(page.look_for("region", "What was found").is_none(), "one workbench needs no list");
    let kernels = example("simulated_kernels.csv");
    page.drop_files(&[
        ("kernels.csv", &kernels),
        ("ring.csv", b"2\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,0,500,50\n"),
        ("bad.png", b"\x89PNG\r\n"),
    ]);
    page.wait_until_idle();
    let found = page.text_in("region", "What was found");
    for line in [
        "Tuning: 1 sweep, 72 rows",
        "Topology: 1 file, topology, 2 nodes, 2 links",
        "Overlap: 1 file",
        "1 file not read.",
    ] {
        assert!(found.contains(line), "{line} is not in\n{found}");
    }
    take_picture(&page, "what-was-found");
    assert_accessible(&page, "what-was-found");
    page.run("[...document.querySelectorAll('.found a')].find((link) => link.innerText === 'Topology').click()", &[]);
    page.wait_until(|| page.fragment().contains("w=topology"), "the line leads to its workbench");
    page.wait_until_idle();
    page.click("button", "Dismiss what was found");
    assert!(page.look_for("region", "What was found").is_none());
    page.wait_until(
        || page.run("return document.activeElement.tagName", &[]) == "MAIN",
        "the focus goes on to the content",
    );
    // Files that come later show it again.
    page.drop_files(&[("sweep-2.csv", sweep(5, 3).as_bytes())]);
    page.wait_until_idle();
    assert!(page.text_in("region", "What was found").contains("Tuning: 2 sweeps"));
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_term_in_a_label_is_explained_on_hover_and_focus() {
    let page = Page::open();
    page.click("button", "Open the example");
    page.wait_until_idle();
    assert_eq!(explanation(&page), "");
    // A field, from the keyboard.
    page.tab_to("combobox", "Collective");
    page.wait_until(|| explanation(&page).contains("operation of all ranks together"), "the field's term is explained");
    let described = page
        .text_of("return document.getElementById(document.activeElement.getAttribute('aria-describedby')).innerText");
    assert!(described.contains("operation of all ranks together"), "{described}");
    take_picture(&page, "explanation");
    page.press(key::ESCAPE);
    assert_eq!(explanation(&page), "", "Escape takes it away");
    // A figure, and the header of a column with its own hint, under the pointer.
    let over = |what: &str| {
        page.point_at(what);
        explanation(&page)
    };
    assert!(over(".figures dt .term").contains(": "), "{}", explanation(&page));
    // The head of a table is drawn when the table comes into view.
    page.run("document.querySelector('.table-box').scrollIntoView()", &[]);
    page.wait_until(
        || page.run("return document.querySelector('th .term') !== null", &[]) == true,
        "a column uses a term",
    );
    let header = over("th .term");
    assert!(header.lines().count() > 1, "the column's hint, and the term: {header}");
    page.point_at("h1");
    assert_eq!(explanation(&page), "", "it goes with the pointer");
    // Within a narrow window, wherever the label is.
    page.resize(360, 740);
    assert!(!over(".figures dt .term").is_empty());
    assert_fits(&page);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_focus_goes_on_when_a_file_is_closed_or_a_notice_dismissed() {
    let page = Page::open();
    let [first, second] = ["all_reduce", "broadcast"].map(|collective| sweep(4, 2).replace("all_reduce", collective));
    page.drop_files(&[
        ("a.csv", first.as_bytes()),
        ("b.csv", second.as_bytes()),
        ("c.csv", b"nothing"),
        ("d.csv", b""),
    ]);
    page.wait_until_idle();
    page.unfold();
    page.tab_to("button", "Close a.csv");
    page.press(key::ENTER);
    page.wait_until_idle();
    assert_eq!(focused(&page), "Close b.csv");
    page.tab_to("button", "Close d.csv");
    page.press(key::ENTER);
    page.wait_until_idle();
    assert_eq!(focused(&page), "Close c.csv", "the last one's before");
    for file in ["c.csv", "b.csv"] {
        page.unfold();
        page.tab_to("button", &format!("Close {file}"));
        page.press(key::ENTER);
        page.wait_until_idle();
    }
    assert!(focused(&page).starts_with("INPUT"), "files can be opened next: {}", focused(&page));

    page.visit("#v=1&c=nonsense");
    page.reload();
    page.tab_to("button", "Dismiss");
    page.press(key::ENTER);
    page.wait_until(|| page.run("return document.activeElement.tagName", &[]) != "BODY", "the focus is not lost");
    assert_eq!(focused(&page).split(' ').next(), Some("MAIN"));
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_nccl_chooses_by_itself_is_shown_without_any_file() {
    let page = Page::open_at("");
    page.click("button", "See what NCCL chooses by itself");
    page.wait_for_text("By its own cost model NCCL 2.30.7 runs all_reduce on 1 node, 8 ranks with");
    page.wait_until_idle();
    page.wait_for_text("This is what the library believes, and no measurement");
    page.choose("Collective", "all_gather");
    page.wait_until_idle();
    page.choose("GPU", "B200");
    page.wait_until_idle();
    page.fill("Version of NCCL", "2.28.9");
    page.wait_until_idle();
    page.wait_for_text(
        "By its own cost model NCCL 2.28.9 runs all_gather on 1 node, 8 ranks with RING/LL up to 8 MiB, RING/LL128 up to \
         32 MiB, and RING/SIMPLE beyond.",
    );
    // What is not known is refused beside the field, and nothing else is lost.
    page.fill("Nodes", "2");
    page.wait_until_idle();
    page.wait_for_text("the channels that NCCL finds on 2 nodes, 16 ranks of B200 are not known");
    page.fill("Nodes", "1");
    page.wait_for_text("RING/LL128 up to 32 MiB");
    page.wait_until_idle();
    // Its address is all that a colleague needs.
    let address = page.fragment();
    page.visit("");
    page.wait_until_idle();
    page.visit(&address);
    page.wait_for_text("RING/LL128 up to 32 MiB");
    page.wait_until_idle();
    page.assert_clean();
}
