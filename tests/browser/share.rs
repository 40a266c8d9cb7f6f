//! What was found leaves the page and comes back: as a link, as a file, on paper.

use std::fs;

use serde_json::{Value, json};

use crate::{
    page::{Page, key},
    sweep::sweep,
};

/// What a hostile report says.
const MARKUP: &str = "<img src=x onerror=document.body.remove()><script>document.body.remove()</script>";

/// The page with a sweep that was read and learnt from.
fn studied() -> Page {
    Page::with_files(&[("sweep.csv", sweep(12, 8).as_bytes())])
}

/// A sweep of many workloads, with runs of the default, in which each size has another winner and another gain: a
/// report of it does not fit a link, however well it is packed.
fn irregular_sweep() -> String {
    let text = sweep(12, 4);
    let collectives = ["all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall"];
    let scales = ["1,8", "3,24", "4,32", "8,64", "16,128"];
    let mut lines =
        vec![format!("{},requested_algo,requested_proto,requested_nchannels", text.lines().next().unwrap())];
    let mut seed = 1_u64;
    let mut factor = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        0.5 + (seed >> 40) as f64 / f64::from(1 << 24)
    };
    for workload in collectives.iter().flat_map(|collective| scales.map(|scale| format!("{collective},{scale}"))) {
        for (index, row) in text.lines().skip(1).enumerate() {
            let cells: Vec<&str> = row.split(',').skip(3).collect();
            let [time_us, busbw] = [1, 2].map(|cell| cells[cell].parse::<f64>().unwrap());
            let requested = if index % 16 == 0 { ",,".to_owned() } else { cells[4..].join(",") };
            let factor = factor();
            lines.push(format!(
                "{workload},{},{:.3},{:.4},0,{},{requested}",
                cells[0],
                time_us * factor,
                busbw / factor,
                cells[4..].join(",")
            ));
        }
    }
    lines.join("\n")
}

/// Opens the dialog and waits until everything is written.
pub fn share(page: &Page) {
    page.click("button", "Share");
    page.find("dialog", "Share");
    page.wait_for_text("Ready.");
}

/// The link that the dialog offers.
fn link(page: &Page) -> String {
    let field = page.find("textbox", "The link");
    page.run("return arguments[0].value", &[field.into()]).as_str().unwrap().to_owned()
}

/// The part of the link after the page's address, in the chosen length: `Small`, `Medium` or `Full`.
pub fn fragment(page: &Page, length: &str) -> String {
    choose_length(page, length);
    let address = link(page);
    address[address.find('#').unwrap()..].to_owned()
}

/// Chooses the length of the link.
fn choose_length(page: &Page, length: &str) {
    page.click("radio", length);
    page.find("textbox", "The link");
}

/// What the table of that name says: an object per row, without empty cells. Units of headers are left out, as short
/// links do.
fn cells(page: &Page, table: &str) -> Vec<Value> {
    let region = page.find("region", table);
    let read = "
        const names = [...arguments[0].querySelectorAll('thead th')].map((name) => name.innerText.split(', ')[0]);
        const pairs = (row) => [...row.cells].map((cell, i) => [names[i], cell.innerText]).filter((pair) => pair[1] !== '');
        return [...arguments[0].querySelectorAll('tbody tr')].map((row) => Object.fromEntries(pairs(row)));";
    page.run(read, &[region.into()]).as_array().unwrap().clone()
}

/// Makes sure that the report's table says the same as the answer's, as far as it has its columns.
fn assert_deploys(page: &Page, deployed: &[Value]) {
    page.wait_until(|| cells(page, "What to deploy").len() == deployed.len(), "the table is whole");
    for (shown, deployed) in cells(page, "What to deploy").iter().zip(deployed) {
        let shown = shown.as_object().unwrap();
        for (column, cell) in shown {
            assert_eq!(*cell, deployed[column], "{column} of {deployed}");
        }
        for needed in ["Size", "Advice", "Configuration", "Time", "busbw"] {
            assert!(shown.contains_key(needed), "{needed} is not in {shown:?}");
        }
    }
}

fn count(page: &Page, selector: &str) -> u64 {
    page.run("return document.querySelectorAll(arguments[0]).length", &[selector.into()]).as_u64().unwrap()
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_link_carries_the_report_to_another_browser() {
    let page = studied();
    let deployed = cells(&page, "Optimal configurations");
    share(&page);
    choose_length(&page, "Full");
    let address = link(&page);
    assert!((2_000..=8_000).contains(&address.len()), "{}", address.len());
    page.click("button", "Close");
    page.assert_clean();

    let fragment = &address[address.find('#').unwrap()..];
    let other = Page::open_at(fragment);
    other.wait_for_text("Opened from a link: not verified.");
    assert_deploys(&other, &deployed);
    assert_eq!(other.fragment(), fragment);
    let requests = other.requests();
    let is_told = requests.iter().any(|target| target.contains("w=report"));
    assert!(!requests.is_empty() && !is_told, "no server sees the report: {requests:?}");

    other.reload();
    other.wait_for_text("Opened from a link: not verified.");
    assert_deploys(&other, &deployed);
    other.click("button", "Start your own");
    other.wait_for_text("Drop files or a folder anywhere");
    other.run("history.back()", &[]);
    other.wait_for_text("Opened from a link: not verified.");
    other.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_travels_is_chosen() {
    let page = studied();
    page.allow_clipboard();
    share(&page);
    choose_length(&page, "Full");
    let before = link(&page).len();
    for part in ["Charts", "Tuner files", "Measurements", "File names", "Today's date"] {
        page.click("checkbox", part);
    }
    page.wait_for_text("Ready.");
    page.wait_until(|| link(&page).len() < before, "the link gets shorter");
    let report: Value = serde_json::from_slice(&page.download(|| page.click("button", "Save JSON"))).unwrap();
    let text = report.to_string();
    assert!(!text.contains("sweep.csv") && !text.contains("\"charts\"") && !text.contains("nccl_tuner"), "{text}");
    assert!(report["made_on"].is_null(), "{text}");
    page.click("button", "Copy link");
    page.wait_for_text("Copied.");
    assert_eq!(page.text_of("return navigator.clipboard.readText()"), link(&page));
    page.click("button", "Copy Markdown");
    page.wait_until(
        || page.text_of("return navigator.clipboard.readText()").contains("| Size |"),
        "the Markdown is in the clipboard",
    );
    page.press(key::ESCAPE);
    page.wait_until(|| page.look_for("dialog", "Share").is_none(), "Escape closes the dialog");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_saved_report_is_live_again_when_it_is_dropped() {
    let page = studied();
    let deployed = cells(&page, "Optimal configurations");
    share(&page);
    for (form, name) in [("HTML", "report.html"), ("JSON", "report.json")] {
        let saved = page.download(|| page.click("button", &format!("Save {form}")));
        let other = Page::with_files(&[(name, &saved)]);
        other.wait_for_text(&format!("Opened from {name}: not verified."));
        assert_deploys(&other, &deployed);
        assert!(count(&other, ".report .chart canvas") > 1);
        other.click("button", "Back to the workbench");
        other.click("button", "Show the report");
        other.wait_for_text("not verified");
        other.assert_clean();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_saved_page_shows_everything_from_the_disk_without_scripts() {
    let page = studied();
    share(&page);
    let saved = page.download(|| page.click("button", "Save HTML"));
    page.press(key::ESCAPE);
    page.drop_files(&[("report.html", &saved)]);
    page.wait_until_idle();
    page.wait_for_text("not verified");
    let (tables, charts) = (count(&page, ".report table.data"), count(&page, ".report .chart"));
    assert!(tables > 2 && charts > 1, "{tables} tables, {charts} charts");
    let deployed = cells(&page, "What to deploy");

    let path = page.scratch().join("saved.html");
    fs::write(&path, &saved).unwrap();
    page.allow_scripts(false);
    page.go(&format!("file://{}", path.display()));
    assert!(count(&page, "table") >= tables, "{} tables", count(&page, "table"));
    assert!(count(&page, "svg") >= charts, "{} charts", count(&page, "svg"));
    let text = page.text();
    for row in &deployed {
        assert!(text.contains(row["Size"].as_str().unwrap()), "{row} is missing in:\n{text}");
    }
    assert_eq!(page.run("return performance.getEntriesByType('resource').length", &[]), 0, "it asks for something");
    page.allow_scripts(true);
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_a_report_says_is_text() {
    let page = studied();
    share(&page);
    let saved = page.download(|| page.click("button", "Save JSON"));
    let mut report: Value = serde_json::from_slice(&saved).unwrap();
    poison(&mut report);
    page.press(key::ESCAPE);
    page.drop_files(&[("hostile.json", report.to_string().as_bytes())]);
    page.wait_until_idle();
    page.wait_for_text("not verified");
    assert!(page.text().matches(MARKUP).count() > 20, "{}", page.text());
    let made = "return [...document.querySelectorAll('[onerror], script:not([src])')].map((made) => made.outerHTML)";
    assert_eq!(page.run(made, &[]), json!([]));
    page.run("dispatchEvent(new Event('beforeprint'))", &[]);
    page.wait_until(|| count(&page, ".chart-paper svg") > 0, "the charts are drawn for paper");
    assert_eq!(page.run(made, &[]), json!([]));
    page.assert_clean();
}

/// Appends markup to all texts that are free.
fn poison(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(poison),
        Value::Object(fields) => {
            for (name, field) in fields {
                let is_free = ["title", "summary", "program", "name", "holds", "format", "meaning", "text", "note"];
                match field {
                    Value::String(text) if is_free.contains(&name.as_str()) => text.push_str(MARKUP),
                    Value::Array(items) if is_free.contains(&name.as_str()) => {
                        for item in items {
                            match item {
                                Value::String(text) => text.push_str(MARKUP),
                                other => poison(other),
                            }
                        }
                    }
                    _ if name == "snapshot" => {}
                    other => poison(other),
                }
            }
        }
        _ => {}
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_damaged_link_says_so() {
    let page = studied();
    share(&page);
    let address = link(&page);
    let fragment = &address[address.find('#').unwrap()..];
    let cut = Page::open_at(&fragment[..fragment.len() / 2]);
    cut.find("heading", "This link shows no report");
    cut.wait_for_text("The link was cut on its way");
    assert!(!cut.text().contains("GB/s"), "nothing stands in for the report:\n{}", cut.text());
    cut.reload();
    cut.find("heading", "This link shows no report");

    // A character in the middle is another one.
    let middle = fragment.len() / 2;
    let other = if fragment.as_bytes()[middle] == b'A' { "B" } else { "A" };
    cut.visit(&format!("{}{other}{}", &fragment[..middle], &fragment[middle + 1..]));
    cut.wait_for_text("The link is damaged");
    cut.visit("#v=1&w=report&d=%%%");
    cut.find("heading", "This link shows no report");
    cut.visit("#v=1&w=report");
    cut.find("heading", "This report is not open");
    cut.click("button", "Start your own");
    cut.wait_for_text("Drop files or a folder anywhere");
    cut.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn each_length_of_a_link_says_what_it_leaves_out() {
    let all = irregular_sweep();
    let page = Page::with_files(&[("everything.csv", all.as_bytes())]);
    share(&page);
    assert!(page.download(|| page.click("button", "Save HTML")).len() > 100_000);
    let mut rows = Vec::new();
    for (length, most) in [("Small", 2_000), ("Medium", 4_000), ("Full", 8_000)] {
        choose_length(&page, length);
        page.wait_for_text("Left out: charts, files, parameters, measurements");
        let address = link(&page);
        assert!(address.len() <= most, "{length}: {}", address.len());
        let name = page.run("return arguments[0].parentElement.innerText", &[page.find("radio", length).into()]);
        assert!(name.as_str().unwrap().contains("characters"), "{name}");
        let other = Page::open_at(&address[address.find('#').unwrap()..]);
        other.wait_for_text("Opened from a link: not verified.");
        other.wait_for_text("Left out: charts");
        let is_short = other.text().contains("rows, those that gain least or come last.");
        rows.push((other.rows("What to deploy"), is_short));
        other.assert_clean();
    }
    let [(small, is_small_short), (medium, is_medium_short), (full, _)] = rows[..] else { panic!("{rows:?}") };
    assert!(small > 10 && small < medium && is_small_short, "{rows:?}");
    assert!(medium <= full && (medium == full || is_medium_short), "{rows:?}");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_small_link_fits_a_chat_and_is_a_qr_code() {
    let page = studied();
    share(&page);
    let address = link(&page);
    assert!(address.len() <= 2_000, "{}", address.len());
    page.unfold();
    let code = page.find("img", "QR code that opens the small link");
    // The drawing is black on white with a frame, and large enough to be scanned, in both themes.
    let read = "
        const text = decodeURIComponent(arguments[0].src.split(',').slice(1).join(','));
        const svg = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
        return [svg.namespaceURI, svg.viewBox.baseVal.width, arguments[0].getBoundingClientRect().width,
                svg.getAttribute('shape-rendering'), svg.children[0].getAttribute('fill'),
                svg.children[1].getAttribute('stroke'), arguments[0].naturalWidth > 0]";
    for scheme in ["light", "dark"] {
        page.prefer_color_scheme(scheme);
        let drawn = page.run(read, &[code.clone().into()]);
        let (modules, width) = (drawn[1].as_f64().unwrap(), drawn[2].as_f64().unwrap());
        assert_eq!(drawn[0], "http://www.w3.org/2000/svg");
        // 17 modules, and 4 for each version, within the frame.
        assert!((modules as u64 - 8 - 17).is_multiple_of(4) && width >= 2.0 * modules, "{drawn}");
        assert_eq!(drawn.as_array().unwrap()[3..], ["crispEdges".into(), "#fff".into(), "#000".into(), json!(true)]);
        crate::look::assert_fits(&page);
    }
    let saved = String::from_utf8(page.download(|| page.click("button", "Save QR code as SVG"))).unwrap();
    assert_eq!(Some(saved), collectune::report::link::qr_svg(&address));

    let other = Page::open_at(&address[address.find('#').unwrap()..]);
    other.wait_for_text("Opened from a link: not verified.");
    other.wait_for_text("Left out: charts, files, parameters");
    assert!(other.rows("What to deploy") > 1);
    other.assert_clean();
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_title_and_notes_travel_in_every_form() {
    let page = studied();
    share(&page);
    page.unfold();
    page.fill("Title", "After the firmware <b>");
    page.wait_for_text("Ready.");
    for (about, text) in [
        ("The whole report", "Node 3 was <i>warm</i>."),
        ("How far to trust it", "Not on Mondays."),
        ("all_reduce on 2 nodes, 16 ranks: 16 KiB", "Our gradients."),
    ] {
        page.choose("Note on", about);
        page.fill("Note", text);
        page.click("button", "Add note");
        page.find("button", &format!("Remove the note on {about}"));
    }
    // They are there when the dialog opens again.
    page.press(key::ESCAPE);
    page.wait_until(|| page.look_for("dialog", "Share").is_none(), "Escape closes the dialog");
    share(&page);
    let title = page.run("return arguments[0].value", &[page.find("textbox", "Title").into()]);
    assert_eq!(title, "After the firmware <b>");
    page.click("button", "Remove the note on How far to trust it");
    page.wait_until(|| page.look_for("button", "Remove the note on How far").is_none(), "the note is gone");
    page.wait_for_text("Ready.");

    let says_it = |page: &Page| {
        page.wait_for_text("not verified");
        page.find("heading", "After the firmware <b>");
        page.wait_for_text("Subject: all_reduce on 2 nodes, 16 ranks.");
        page.wait_for_text("Note: Node 3 was <i>warm</i>.");
        let is_noted =
            |row: &Value| row["Note"] == "Our gradients." && row["Size"].as_str().unwrap().contains("16 KiB");
        page.wait_until(|| cells(page, "What to deploy").iter().any(is_noted), "the workload has its note");
        assert!(!page.text().contains("Not on Mondays"));
        page.assert_clean();
    };
    let addresses = ["Small", "Full"].map(|length| {
        choose_length(&page, length);
        link(&page)
    });
    for address in addresses {
        says_it(&Page::open_at(&address[address.find('#').unwrap()..]));
    }
    for (form, name) in [("HTML", "report.html"), ("JSON", "report.json")] {
        let saved = page.download(|| page.click("button", &format!("Save {form}")));
        let other = Page::with_files(&[(name, &saved)]);
        says_it(&other);
    }
    let markdown = String::from_utf8(page.download(|| page.click("button", "Save Markdown"))).unwrap();
    assert!(
        markdown.starts_with("# After the firmware &lt;b&gt;") && markdown.contains("Our gradients."),
        "{markdown}"
    );
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn sharing_asks_for_nothing() {
    let page = studied();
    let before = page.requests();
    share(&page);
    for form in ["HTML", "Markdown", "JSON"] {
        page.download(|| page.click("button", &format!("Save {form}")));
    }
    choose_length(&page, "Full");
    page.click("button", "Copy link");
    let address = link(&page);
    page.click("button", "Close");
    page.run("location.hash = arguments[0]", &[address[address.find('#').unwrap()..].into()]);
    page.wait_for_text("not verified");
    let chart = page.text_of("return document.querySelector('.chart-title').innerText");
    page.download(|| page.choose_from_menu(&chart, "Save as SVG"));
    page.print();
    assert_eq!(page.requests()[before.len()..], [] as [String; 0]);
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn paper_has_charts_and_all_rows_and_no_controls() {
    let page = Page::closed();
    // The page's own listener takes the drawings away, and comes after this one.
    page.before_loading(
        "addEventListener('afterprint', () => { window.drawn = document.querySelectorAll('.chart-paper svg').length })",
    );
    page.visit("");
    page.wait_until_idle();
    page.drop_files(&[("sweep.csv", sweep(12, 8).as_bytes())]);
    page.wait_until_idle();
    page.prefer_color_scheme("dark");
    let answer = page.print();
    assert!((2..=12).contains(&answer), "{answer} pages");
    assert_eq!(page.run("return window.drawn", &[]), 2, "the charts are drawn when the pages are laid out");
    page.wait_until(|| count(&page, ".chart-paper svg") == 0, "afterwards they are gone");

    page.emulate_paper();
    let controls = page.run(
        "return [...document.querySelectorAll('button:not(.row-button, thead button), input, select')]
             .filter((control) => control.checkVisibility()).map((control) => control.outerHTML)",
        &[],
    );
    assert_eq!(controls, json!([]), "controls are on paper");
    let ground = page.run("return getComputedStyle(document.body).backgroundColor", &[]);
    assert_eq!(ground, "rgb(255, 255, 255)", "paper is white");
    let said = page.text();
    assert!(said.starts_with("Collectune") && said.contains("Tuning") && !said.contains("Topology"), "{said}");
    assert!(said.contains("sweep.csv"), "{said}");
    let day = page.text_of("return getComputedStyle(document.documentElement).getPropertyValue('--today')");
    assert!(day.len() == 12 && day.starts_with("\"20"), "{day}");
    // Buttons would not be repeated on further pages.
    let boxes = "return [...document.querySelectorAll('.data thead button')]
         .filter((button) => button.getClientRects().length).length";
    assert_eq!(page.run(boxes, &[]), 0, "the heads of tables are text");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn sharing_works_from_the_keyboard_and_in_a_narrow_window() {
    let page = studied();
    page.resize(360, 740);
    page.tab_to("button", "Share");
    page.press(key::ENTER);
    page.find("dialog", "Share");
    page.wait_for_text("Ready.");
    crate::look::assert_fits(&page);
    for scheme in ["light", "dark"] {
        page.prefer_color_scheme(scheme);
        crate::look::assert_readable(&page, scheme);
    }
    page.tab_to("checkbox", "Charts");
    page.press(" ");
    page.wait_for_text("Ready.");
    page.tab_to("button", "Save JSON");
    page.download(|| page.press(key::ENTER));
    let address = link(&page);
    page.press(key::ESCAPE);
    page.visit(&address[address.find('#').unwrap()..]);
    page.wait_for_text("not verified");
    crate::look::assert_fits(&page);
    for scheme in ["light", "dark"] {
        page.prefer_color_scheme(scheme);
        crate::look::assert_readable(&page, scheme);
    }
    page.assert_clean();
}
