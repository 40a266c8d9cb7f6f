//! Charts: a part of one is shown, its axes are switched, what is pointed at is marked elsewhere, and a point leads to
//! the line of the file that it comes from.

use crate::{
    page::{Page, key},
    sweep::noisy_sweep,
};

fn with_sweep() -> Page {
    let page = Page::with_files(&[("sweep.csv", noisy_sweep().as_bytes())]);
    page.run("document.querySelector('.chart-stage').scrollIntoView({ block: 'center' })", &[]);
    page.wait_until(|| page.run("return !!document.querySelector('.chart-over')", &[]) == true, "the chart is drawn");
    page
}

/// A place in the first chart, as shares of its width and height.
fn place(page: &Page, x: f64, y: f64) -> (f64, f64) {
    let at = page.run(
        "const box = document.querySelector('.chart-stage').getBoundingClientRect();
         return [box.left + arguments[0] * box.width, box.top + arguments[1] * box.height]",
        &[x.into(), y.into()],
    );
    (at[0].as_f64().unwrap(), at[1].as_f64().unwrap())
}

/// What the first chart says to those who hear the page.
fn said(page: &Page) -> String {
    page.text_of("return document.querySelector('.chart [role=status]').textContent")
}

/// How many pixels are drawn over the first chart.
fn marked_pixels(page: &Page) -> u64 {
    let count = page.run(
        "const canvas = document.querySelector('.chart-over');
         const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
         copy.drawImage(canvas, 0, 0);
         const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
         return data.filter((value, index) => index % 4 === 3 && value > 0).length",
        &[],
    );
    count.as_u64().unwrap()
}

/// Presses a switch of the first chart.
fn switch(page: &Page, name: &str) {
    page.run(
        "const switches = [...document.querySelector('.chart-switches').querySelectorAll('button:not([hidden])')];
         switches.find((button) => button.innerText === arguments[0]).click()",
        &[name.into()],
    );
}

fn is_zoomed(page: &Page) -> bool {
    page.look_for("button", "Reset zoom").is_some()
}

/// How far the box beside a point stands out above or below the first chart, in pixels, at points all over it.
const STANDS_OUT: &str = "
    const [stage, over, tip] = ['.chart-stage', '.chart-over', '.chart-tip'].map((name) => document.querySelector(name));
    const { left, top, bottom, width, height } = stage.getBoundingClientRect();
    const boxes = [];
    for (let at = 0; at < 400; at += 1) {
        const place = { clientX: left + width * (at % 20) / 20, clientY: top + height * Math.floor(at / 20) / 20, bubbles: true };
        over.dispatchEvent(new PointerEvent('pointermove', place));
        await new Promise((resolve) => requestAnimationFrame(resolve));
        const box = tip.getBoundingClientRect();
        if (!tip.hidden) boxes.push(Math.max(top - box.top, box.bottom - bottom));
    }
    return [boxes.length, Math.max(...boxes)];
";

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_values_beside_a_point_are_seen_whole() {
    let page = with_sweep();
    let seen = page.run(STANDS_OUT, &[]);
    assert!(seen[0].as_u64().unwrap() > 50 && seen[1].as_f64().unwrap() <= 0.5, "{seen}");
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_part_of_a_chart_is_shown() {
    let page = with_sweep();
    let (from, to) = (place(&page, 0.3, 0.5), place(&page, 0.7, 0.52));
    page.drag(from, to);
    page.find("button", "Reset zoom");
    page.wait_until(|| said(&page).contains("points shown, Message size"), "what is shown is said");
    assert!(!page.text().contains("Unpin"), "a drag pins nothing");
    let part = said(&page);
    page.double_click(place(&page, 0.5, 0.1));
    page.wait_until(|| !is_zoomed(&page), "a double click shows all of it");
    page.wait_until(|| said(&page) != part && said(&page).contains("4 KiB to 512 KiB"), "and says so");

    // The wheel scrolls the page, and zooms with Ctrl.
    let before = page.run("return scrollY", &[]).as_f64().unwrap();
    page.turn_wheel(place(&page, 0.5, 0.5), 60.0, false);
    page.wait_until(|| page.run("return scrollY", &[]).as_f64().unwrap() > before, "the wheel scrolls the page");
    assert!(!is_zoomed(&page));
    let scale = page.run("return devicePixelRatio", &[]);
    page.turn_wheel(place(&page, 0.5, 0.5), -120.0, true);
    page.find("button", "Reset zoom");
    assert_eq!(page.run("return devicePixelRatio", &[]), scale, "the page keeps its size");
    page.click("button", "Reset zoom");
    page.wait_until(|| !is_zoomed(&page), "the button shows all of it");
    let is_focused = "return document.activeElement.className === 'chart-stage'";
    assert_eq!(page.run(is_focused, &[]), true, "the focus stays in the chart");

    // The same with keys.
    page.press("+");
    page.find("button", "Reset zoom");
    page.wait_until(|| said(&page).contains("16 KiB to 128 KiB"), "half of it is said");
    page.press_with_shift(key::RIGHT);
    page.wait_until(|| said(&page).contains("32 KiB to 256 KiB"), "it moves to the right");
    page.press("-");
    page.wait_until(|| !is_zoomed(&page), "and back");
    page.press("+");
    page.find("button", "Reset zoom");
    page.press("0");
    page.wait_until(|| !is_zoomed(&page), "0 shows all of it");
    page.press(key::RIGHT);
    page.press(key::ENTER);
    page.find("button", "Unpin");

    // Another size keeps what is shown; another chart is shown whole.
    page.press("+");
    page.find("button", "Reset zoom");
    page.choose("Size", "64 KiB");
    page.wait_for_text("all_reduce of 64 KiB");
    assert!(is_zoomed(&page));
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_is_pointed_at_is_marked_in_chart_and_table() {
    let page = with_sweep();
    let marked = "return [...document.querySelectorAll('tr.is-marked')].map((row) => row.innerText).join()";
    assert_eq!(page.text_of(marked), "");
    page.run("document.querySelector('.chart-stage').focus()", &[]);
    page.press(key::RIGHT);
    page.press(key::RIGHT);
    page.wait_until(|| said(&page).contains("Message size "), "a point is read");
    let words = said(&page);
    let size = words.split("Message size ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    page.wait_until(|| page.text_of(marked).contains(size), "the row of its size is marked");
    assert_eq!(page.text_of(marked).matches("KiB").count(), 1, "and no other");
    page.press(key::ESCAPE);
    page.wait_until(|| page.text_of(marked).is_empty(), "until nothing is pointed at");
    page.wait_until(|| marked_pixels(&page) == 0, "the drawing has no mark");

    let row = "const row = [...document.querySelectorAll('table.data tbody tr')].find((row) => row.innerText.includes('64 KiB'));
               row.dispatchEvent(new MouseEvent(arguments[0] ? 'mouseenter' : 'mouseleave'));
               if (!arguments[0]) row.parentElement.dispatchEvent(new MouseEvent('mouseleave'));";
    page.run(row, &[true.into()]);
    page.wait_until(|| marked_pixels(&page) > 50, "the size of a row is marked in the chart");
    page.run(row, &[false.into()]);
    page.wait_until(|| marked_pixels(&page) == 0, "until the pointer leaves it");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn axes_are_switched_and_stay_so() {
    let page = with_sweep();
    let pressed =
        "return [...document.querySelectorAll('.chart-switches [aria-pressed=true]')].map((b) => b.innerText).join()";
    page.run("document.querySelector('.chart-stage').focus()", &[]);
    page.press(key::RIGHT);
    page.press(key::ENTER);
    page.wait_until(|| said(&page).contains("busbw"), "a point is pinned");
    let values = || page.text_of("return document.querySelector('.chart-readout').innerText");
    assert!(values().contains("GB/s"), "{}", values());
    switch(&page, "Time");
    page.wait_for_text("Time over message size, all_reduce on 2 nodes, 16 ranks");
    page.wait_until(|| !values().contains("GB/s") && values().contains("µs"), "the pinned point has its time");
    switch(&page, "Linear y");
    page.wait_until(|| page.text_of(pressed) == "Linear y,Time", "both are on");
    page.show("Heat map");
    page.show("Answer");
    page.wait_until(|| page.text_of(pressed) == "Linear y,Time", "as they were");
    switch(&page, "Time");
    page.wait_for_text("busbw over message size, all_reduce on 2 nodes, 16 ranks");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_point_leads_to_the_line_of_its_file() {
    let page = with_sweep();
    page.run("document.querySelector('.chart-stage').focus()", &[]);
    page.press(key::RIGHT);
    // The series of what was measured, below that which is entered first.
    while !said(&page).starts_with("Measured") {
        let before = said(&page);
        page.press(key::DOWN);
        page.wait_until(|| said(&page) != before, "the next series is read");
    }
    page.press(key::ENTER);
    let text = page.text_of("return document.querySelector('.chart-line').innerText");
    assert!(text.starts_with("sweep.csv, line ") && text.ends_with(" more lines"), "{text}");
    let number: usize = text.split([' ', ',']).find_map(|word| word.parse().ok()).unwrap();
    page.click("button", &text);
    let dialog = || page.text_in("dialog", &format!("sweep.csv, line {number}"));
    page.wait_until(|| dialog().contains("size_bytes"), "the line has its headers");
    let sweep = noisy_sweep();
    let line = sweep.lines().nth(number - 1).unwrap();
    assert!(
        page.text_of("return document.querySelector('dialog[open] mark').innerText").contains(line),
        "{}",
        dialog()
    );
    assert!(dialog().contains(sweep.lines().nth(number).unwrap()), "the next line stands below it");
    page.press(key::ESCAPE);
    page.wait_until(|| page.run("return !document.querySelector('dialog[open]')", &[]) == true, "Escape closes it");
    assert_eq!(page.text_of("return document.activeElement.innerText"), text, "the focus goes back");
    page.assert_clean();
}
