//! From files to the answer, and what can be done with it.

use std::fs;

use serde_json::json;

use crate::{
    page::{Page, key},
    support::real,
    sweep::{example, noisy_sweep, sweep},
};

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_example_opens_with_one_click() {
    let page = Page::open();
    page.click("button", "Open the example");
    page.wait_until_idle();
    page.wait_for_text("This is the example: a simulated sweep, not a measurement.");
    let rows = String::from_utf8(example()).unwrap().lines().count() - 1;
    page.wait_for_text(&format!("{} rows", grouped(rows)));
    assert!(page.text_in("region", "Answer").contains("GB/s"), "{}", page.text());
    assert!(page.rows("Optimal configurations") > 3);
    page.show("Model");
    let scores = page.text_in("region", "Out of fold");
    let at_unseen_sizes = scores.lines().filter(|line| line.starts_with("an unseen size")).count();
    assert!(at_unseen_sizes >= 4, "the model stands beside three baselines: {scores}");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_dropped_sweep_becomes_the_answer() {
    let page = Page::open();
    let text = sweep(12, 8);
    page.drop_files(&[("sweep.csv", text.as_bytes())]);
    page.wait_until_idle();
    page.wait_for_text("384 rows");
    page.wait_for_text("all_reduce");
    assert!(!page.text().contains("simulated"), "a dropped sweep is no example");
    assert_eq!(page.rows("Optimal configurations"), 12);
    page.choose("Size", "4 KiB");
    page.wait_for_text("all_reduce of 4 KiB");
    assert!(page.text_in("region", "Answer").to_uppercase().contains("TREE"));
    page.choose("Size", "8 MiB");
    page.wait_for_text("all_reduce of 8 MiB");
    assert!(page.text_in("region", "Answer").to_uppercase().contains("RING"));
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn real_sweeps_open_with_shared_data() {
    let folder = real::path("tuning");
    let page = Page::closed();
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "csv"));
    assert!(names.len() >= 6, "{names:?}");
    for path in names {
        page.visit("");
        page.wait_until_idle();
        let name = path.file_name().unwrap().to_str().unwrap();
        let content = fs::read(&path).unwrap();
        let rows = content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count() - 1;
        page.drop_files(&[(name, &content)]);
        page.wait_until_idle();
        page.wait_for_text(&format!("{} rows", grouped(rows)));
        assert!(page.text_in("region", "Answer").contains("GB/s"), "{name}: {}", page.text());
    }
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_closed_file_leaves_no_view_behind() {
    let page = Page::with_files(&[("first.csv", sweep(12, 8).as_bytes())]);
    page.unfold();
    page.click("button", "Close first.csv");
    page.wait_for_text("Drop files or a folder anywhere");
    page.drop_files(&[("second.csv", sweep(6, 8).replace("all_reduce,2,16", "all_gather,1,8").as_bytes())]);
    page.wait_until_idle();
    assert!(page.text_in("region", "Answer").contains("all_gather"), "{}", page.text());
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn another_workload_is_another_answer_and_address() {
    let page = Page::with_files(&[("sweep.csv", sweep(12, 8).as_bytes())]);
    page.choose("Size", "64 KiB");
    page.wait_for_text("all_reduce of 64 KiB");
    assert_eq!(page.fragment(), "#v=1&w=tuning&c=all_reduce&n=2&r=16&s=65536");
    page.click("button", "Larger size");
    page.wait_for_text("all_reduce of 128 KiB");
    assert!(page.fragment().ends_with("&s=131072"), "{}", page.fragment());
    page.run("history.back()", &[]);
    page.wait_for_text("all_reduce of 64 KiB");

    page.unfold();
    page.fill("Sizes", "96K, 3M");
    page.click("button", "Answer");
    page.wait_until_idle();
    page.wait_for_text("96 KiB");
    assert_eq!(page.rows("Answers for sizes of your own"), 2);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn further_columns_are_shown_on_demand() {
    let page = Page::open();
    page.resize(1400, 900);
    page.drop_files(&[("sweep.csv", noisy_sweep().as_bytes())]);
    page.wait_until_idle();
    let rows = page.rows("Optimal configurations");
    let heads = "return [...arguments[0].querySelectorAll('thead th')].map((head) => head.innerText)";
    let table = || page.find("region", "Optimal configurations by size");
    let first = json!(["Size", "Advice", "Configuration", "Time", "busbw, GB/s", "Default, GB/s", "Gain", "Support"]);
    assert_eq!(page.run(heads, &[table().into()]), first);
    let fits = page.run("return arguments[0].scrollWidth <= arguments[0].clientWidth", &[table().into()]);
    assert_eq!(fits, true, "eight columns fit");
    page.click("button", "Columns of Optimal configurations");
    page.click("menuitem", "Why");
    page.click("menuitem", "Best time");
    let further = json!([
        "Size",
        "Advice",
        "Why",
        "Configuration",
        "Time",
        "busbw, GB/s",
        "Default, GB/s",
        "Gain",
        "Best time",
        "Support"
    ]);
    page.wait_until(|| page.run(heads, &[table().into()]) == further, "the columns stand in their order");
    assert_eq!(page.rows("Optimal configurations"), rows);
    let widths = "return [...arguments[0].querySelectorAll('tr')].every((row) => row.cells.length === 10)";
    assert_eq!(page.run(widths, &[table().into()]), true);
    page.click("menuitem", "Best time");
    page.click("menuitem", "Why");
    page.wait_until(|| page.run(heads, &[table().into()]) == first, "they go again");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_heat_map_opens_a_size_and_is_part_of_the_address() {
    let page = Page::with_files(&[("sweep.csv", noisy_sweep().as_bytes())]);
    page.choose("Size", "64 KiB");
    page.wait_for_text("all_reduce of 64 KiB");
    page.show("Heat map");
    page.wait_for_text("Loss against the best, all_reduce on 2 nodes, 16 ranks");
    let stage = "document.querySelector('.heat-map .chart-stage')";
    page.run(&format!("{stage}.scrollIntoView({{ block: 'center' }}); {stage}.focus()"), &[]);
    let said = "return document.querySelector('.heat-map [role=status]').textContent";
    page.press(key::RIGHT);
    page.wait_until(|| page.text_of(said).contains("Configuration default"), "the default's row is the first");
    page.press(key::DOWN);
    page.wait_until(|| page.text_of(said).contains("Configuration TREE/LL/4"), "then what was measured");
    assert!(page.text_of(said).contains("Message size 4 KiB") && page.text_of(said).contains("µs"), "{}", page.text());
    page.press(key::ENTER);
    page.wait_for_text("all_reduce of 4 KiB");
    assert!(page.fragment().ends_with("&s=4096&p=heat-map"), "{}", page.fragment());
    page.show("Answer");
    let pinned = "return [...document.querySelectorAll('.chart-readout')].filter((one) => one.innerText.includes('Unpin')).length";
    page.wait_until(|| page.run(pinned, &[]) == 2, "the same measurement is pinned in the other charts");

    page.show("Heat map");
    page.click("checkbox", "Compare with the default");
    page.wait_for_text("Loss against the default, all_reduce on 2 nodes, 16 ranks");
    assert!(page.fragment().ends_with("&s=4096&p=heat-map&h=default"), "{}", page.fragment());
    page.run("history.back()", &[]);
    page.wait_for_text("Loss against the best, all_reduce on 2 nodes, 16 ranks");
    let click = format!(
        "{stage}.scrollIntoView({{ block: 'center' }});
         const box = {stage}.getBoundingClientRect();
         const at = {{ clientX: box.right - 40, clientY: box.top + box.height / 2, bubbles: true }};
         document.elementFromPoint(at.clientX, at.clientY).dispatchEvent(new MouseEvent('click', at))"
    );
    page.run(&click, &[]);
    page.wait_for_text("all_reduce of 512 KiB");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn an_address_brings_the_example_back() {
    let page = Page::open();
    page.click("button", "Open the example");
    page.wait_until_idle();
    page.choose("Size", "1 MiB");
    page.wait_for_text("of 1 MiB");
    let fragment = page.fragment();
    assert!(fragment.contains("s=1048576") && fragment.contains("x=1"), "{fragment}");
    page.reload();
    page.wait_for_text("of 1 MiB");
    assert_eq!(page.fragment(), fragment);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_example_of_another_workbench_is_not_shown_as_that_of_tuning() {
    let page = Page::open();
    page.click("button", "Open the example");
    page.wait_until_idle();
    let of_tuning = page.fragment();
    page.click("link", "Policy");
    page.click("link", "Tuning");
    page.find("region", "Answer");
    assert!(!page.text().contains("Not loaded"), "the way back shows the example:\n{}", page.text());
    page.click("link", "Policy");
    page.click("button", "Open the example");
    page.wait_until_idle();
    page.wait_for_text("This is the example: simulated rewards, not measurements.");
    page.click("link", "Tuning");
    page.find("button", "Open the example of Tuning");
    assert!(page.look_for("tab", "Answer").is_none() && !page.text().contains("a simulated sweep"), "{}", page.text());
    page.run("location.hash = arguments[0]", &[of_tuning.into()]);
    page.find("region", "Answer");
    page.wait_until_idle();
    page.wait_for_text("This is the example: a simulated sweep, not a measurement.");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn an_address_without_its_data_names_what_to_drop() {
    let page = Page::open_at("#v=1&w=tuning&c=all_reduce&n=2&r=16&s=65536");
    page.wait_for_text("Drop the sweep that was measured there.");
    page.wait_for_text("all_reduce");
    assert!(!page.text().contains("GB/s"), "nothing stands in for the data:\n{}", page.text());
    page.drop_files(&[("sweep.csv", sweep(12, 8).as_bytes())]);
    page.wait_until_idle();
    page.wait_for_text("all_reduce of 64 KiB");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_table_is_saved_as_csv() {
    let page = Page::with_files(&[("sweep.csv", sweep(12, 8).as_bytes())]);
    let saved = page.download(|| page.choose_from_menu("Optimal configurations", "Save as CSV"));
    let text = String::from_utf8(saved).unwrap();
    assert_eq!(text.lines().count(), 13, "{text}");
    assert!(text.lines().next().unwrap().contains("collective"), "{text}");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_the_filter_leaves_is_saved() {
    let page = Page::with_files(&[("sweep.csv", sweep(12, 8).as_bytes())]);
    page.fill("Filter rows", "MiB");
    page.wait_until(|| page.rows("Optimal configurations") == 4, "four of the sizes are in MiB");
    let save = || page.choose_from_menu("Optimal configurations", "Save as CSV");
    let saved = String::from_utf8(page.download(save)).unwrap();
    assert_eq!(saved.lines().count(), 5, "{saved}");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_saved_model_opens_again() {
    let page = Page::with_files(&[("sweep.csv", sweep(12, 8).as_bytes())]);
    let answer = page.text_in("region", "Answer");
    page.show("Model");
    let model = page.download(|| page.click("button", "Save model"));
    page.show("Answer");
    page.unfold();
    page.click("button", "Close sweep.csv");
    page.drop_files(&[("model.json", &model)]);
    page.wait_until_idle();
    assert_eq!(page.text_in("region", "Answer"), answer);
    assert!(!page.text().contains("differ"), "the same model gives the same predictions:\n{}", page.text());
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn everything_works_from_the_keyboard() {
    let page = Page::open();
    page.tab_to("button", "Open the example");
    page.press(key::ENTER);
    page.wait_until_idle();
    page.wait_for_text("GB/s");
    page.tab_to("combobox", "Size");
    let before = page.fragment();
    page.press(key::DOWN);
    page.wait_until(|| page.fragment() != before, "the key chooses another size");
    page.tab_to("button", "Larger size");
    let before = page.fragment();
    page.press(key::ENTER);
    page.wait_until(|| page.fragment() != before, "the button chooses another size");
    let before = page.fragment();
    page.press("[");
    page.wait_until(|| page.fragment() != before, "the shortcut chooses another size");
    page.press("..");
    page.wait_until_idle();
    assert!(page.fragment().ends_with("&p=model"), "the key shows the next section");
    page.tab_to("button", "Train");
    page.press(key::ENTER);
    page.wait_until_idle();
    page.assert_clean();
}

/// `12345` as `12,345`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let (head, tail) = digits.split_at(digits.len() % 3);
    let mut groups: Vec<&str> = tail.as_bytes().chunks(3).map(|group| std::str::from_utf8(group).unwrap()).collect();
    if !head.is_empty() {
        groups.insert(0, head);
    }
    groups.join(",")
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn measurements_of_two_builds_are_shown_one_at_a_time() {
    let of_build = |text: String, version: &str| {
        let mut lines = text.lines();
        let header = format!("{},nccl_version\n", lines.next().unwrap());
        lines.fold(header, |text, line| format!("{text}{line},{version}\n"))
    };
    let (new, old) = (of_build(sweep(12, 8), "2.29.2"), of_build(sweep(10, 8), "2.26.6"));
    let page = Page::with_files(&[("new.csv", new.as_bytes())]);
    assert!(!page.text().contains("Measured with"), "there is nothing to choose");
    page.drop_files(&[("old.csv", old.as_bytes())]);
    page.wait_until_idle();
    page.unfold();
    page.wait_for_text("were taken in 2 ways and are kept apart");
    assert_eq!(page.rows("Optimal configurations"), 12);
    page.choose("Measured with", "NCCL 2.26.6 · 320 rows");
    page.wait_until_idle();
    page.wait_for_text("Used is NCCL 2.26.6");
    assert_eq!(page.rows("Optimal configurations"), 10);
    let fragment = page.fragment();
    assert!(fragment.contains("&m="), "{fragment}");
    page.reload();
    page.wait_for_text("one set of several");
    page.drop_files(&[("old.csv", old.as_bytes()), ("new.csv", new.as_bytes())]);
    page.wait_until_idle();
    page.unfold();
    page.wait_for_text("Used is NCCL 2.26.6");
    assert_eq!((page.rows("Optimal configurations"), page.fragment()), (10, fragment));
    page.assert_clean();
}
