//! Narrow windows, light and dark, and the picture in the README.

use std::{env, fs, path::Path};

use serde_json::{Value, json};

use crate::{
    page::{Page, key},
    sweep::sweep,
};

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_narrow_window_needs_no_scrolling_sideways() {
    let page = Page::open();
    page.resize(360, 740);
    assert_fits(&page);
    page.click("button", "Open the example");
    page.wait_until_idle();
    assert_fits(&page);
    page.assert_clean();
}

/// Each workbench is in sight in a narrow window, not beyond a rim to be scrolled to.
#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn all_workbenches_are_in_sight_in_a_narrow_window() {
    let page = Page::open();
    page.resize(360, 740);
    let seen = page.run(
        "return [...document.querySelectorAll('.masthead .tab')].map((tab) => {
             const { left, right, top, height } = tab.getBoundingClientRect();
             const at = document.elementFromPoint((left + right) / 2, top + height / 2);
             return left >= 0 && right <= 360 && at === tab ? tab.innerText : `hidden: ${tab.innerText}`;
         })",
        &[],
    );
    assert_eq!(seen, json!(["Tuning", "Policy", "Training time", "Topology", "Overlap"]));
    page.click("link", "Overlap");
    page.wait_for_text("Overlap");
    page.assert_clean();
}

/// At the width of a phone everything fits and is readable, in light and dark, and nothing went wrong.
pub fn assert_fits_a_phone(page: &Page) {
    page.resize(360, 740);
    for scheme in ["light", "dark"] {
        page.prefer_color_scheme(scheme);
        assert_fits(page);
        assert_readable(page, scheme);
    }
    page.assert_clean();
}

/// Nothing is wider than the window.
pub fn assert_fits(page: &Page) {
    assert_eq!(overflow(page), json!([]), "wider than the window");
}

/// What is wider than the window.
pub fn overflow(page: &Page) -> Value {
    page.run(
        "const width = document.documentElement.clientWidth;
         const isClipped = (element) => {
             // What is folded has a place, and is not shown.
             if (element.closest('details:not([open]) > :not(summary)')) return true;
             for (let box = element.parentElement; box; box = box.parentElement) {
                 if (getComputedStyle(box).overflowX !== 'visible' && box !== document.body) return true;
             }
             return false;
         };
         return [...document.body.querySelectorAll('*')]
             .filter((element) => element.getBoundingClientRect().right > width + 1 && !isClipped(element))
             .map((element) => `${element.tagName}.${element.className}`)
             .concat(document.documentElement.scrollWidth > width ? ['the page scrolls'] : []);",
        &[],
    )
}

/// With the columns that are shown at first, every table of every example fits a window of 1,400 pixels.
#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn no_table_needs_scrolling_sideways() {
    let page = Page::closed();
    page.resize(1400, 900);
    let mut seen = 0;
    let mut wide = Vec::new();
    for workbench in ["tuning", "policy", "training-time", "topology", "overlap"] {
        page.visit("");
        page.visit(&format!("#v=1&w={workbench}&x=1"));
        page.wait_until(|| page.look_for("tab", "").is_some(), "there is an answer");
        page.wait_until_idle();
        let tabs = page.run("return [...document.querySelectorAll('.tabs [role=tab]')].map((tab) => tab.id)", &[]);
        for tab in tabs.as_array().unwrap() {
            page.run("document.getElementById(arguments[0]).click()", std::slice::from_ref(tab));
            page.wait_until_idle();
            page.unfold();
            page.wait_until_idle();
            let tables = page.run(
                "const tables = [];
                 for (const box of document.querySelectorAll('.table-box')) {
                     box.scrollIntoView();
                     const rows = () => box.querySelectorAll('tbody tr').length;
                     for (let [seen, quiet] = [-1, 0]; quiet < 5; seen = rows()) {
                         await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
                         quiet = rows() === seen ? quiet + 1 : 0;
                     }
                     tables.push([box.getAttribute('aria-label'), box.scrollWidth, box.clientWidth]);
                 }
                 return tables;",
                &[],
            );
            let tables = tables.as_array().unwrap();
            seen += tables.len();
            let of_tab = tables.iter().filter(|table| table[1].as_u64() > table[2].as_u64());
            wide.extend(of_tab.map(|table| format!("{workbench}, {tab}: {table}")));
        }
    }
    assert!(seen > 20, "{seen} tables");
    assert!(wide.is_empty(), "{}", wide.join("\n"));
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_first_column_and_the_head_stay_in_view() {
    let page = Page::open();
    page.resize(700, 500);
    page.drop_files(&[("sweep.csv", sweep(28, 4).as_bytes())]);
    page.wait_until_idle();
    assert_eq!(page.rows("Optimal configurations"), 28);
    page.click("button", "Columns of Optimal configurations");
    page.click("menuitem", "All columns");
    page.press(key::ESCAPE);
    let table = page.find("region", "Optimal configurations by size");
    for colours in [
        json!([{ "name": "prefers-color-scheme", "value": "light" }]),
        json!([{ "name": "prefers-color-scheme", "value": "dark" }]),
        json!([{ "name": "forced-colors", "value": "active" }]),
    ] {
        page.emulate(&colours);
        let hidden = page.run(
            "const [box] = arguments;
             box.scrollIntoView();
             box.scrollTo(10000, 60);
             const { left, top } = box.getBoundingClientRect();
             const first = [...box.querySelectorAll('tr > :first-child')];
             const isHidden = (cell) => {
                 const own = cell.getBoundingClientRect();
                 const isHead = cell.closest('thead') !== null;
                 return Math.abs(own.left - left) > 1 || (isHead && Math.abs(own.top - top) > 1)
                     || !getComputedStyle(cell).backgroundColor.startsWith('rgb(');
             };
             if (box.scrollLeft < 50 || box.scrollTop < 50) return ['it does not scroll'];
             const corner = document.elementFromPoint(left + 4, top + 4);
             if (corner.closest('tr > *') !== first[0]) return ['the corner is covered'];
             return first.filter(isHidden).map((cell) => cell.innerText);",
            &[table.clone().into()],
        );
        assert_eq!(hidden, json!([]), "{colours}");
    }
    page.assert_clean();
}

/// In a wide window the lists above the answer show what is chosen in them whole, and no field covers the next.
#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn fields_have_room_for_their_text() {
    for workbench in ["tuning", "policy", "training-time", "topology", "overlap"] {
        let page = Page::open_at(&format!("#v=1&w={workbench}"));
        page.resize(1440, 900);
        if workbench != "topology" {
            page.click("button", "Open the example");
            page.wait_until_idle();
        }
        let cut = page.run(
            "return [...document.querySelectorAll('.question .controls > .field > select')].filter((list) => {
                 const probe = list.cloneNode();
                 probe.style.position = 'absolute';
                 probe.append(new Option(list.selectedOptions[0].text));
                 document.body.append(probe);
                 const needed = probe.offsetWidth;
                 probe.remove();
                 return list.checkVisibility() && list.offsetWidth + 1 < needed;
             }).map((list) => list.parentElement.innerText)",
            &[],
        );
        assert_eq!(cut, json!([]), "{workbench}: lists are cut");
        page.unfold();
        let covered = page.run(
            "const fields = [...document.querySelectorAll('.own input')].filter((field) => field.checkVisibility());
             const boxes = fields.map((field) => field.getBoundingClientRect());
             return boxes.slice(1).filter((box, i) => box.top < boxes[i].bottom && boxes[i].top < box.bottom
                 && box.left < boxes[i].right && boxes[i].left < box.right).length",
            &[],
        );
        assert_eq!(covered, 0, "{workbench}: fields cover others");
        page.assert_clean();
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn text_is_readable_in_light_and_dark() {
    let page = Page::open();
    page.click("button", "Open the example");
    page.wait_until_idle();
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        page.prefer_color_scheme(scheme);
        grounds.push(assert_readable(&page, scheme));
    }
    assert!(grounds[0] > 0.7 && grounds[1] < 0.1, "the grounds have luminances {grounds:?}");
    page.assert_clean();
}

/// All text that is shown has contrast enough. Answers the luminance of the ground.
pub fn assert_readable(page: &Page, scheme: &str) -> f64 {
    let (faint, ground) = contrasts(page);
    assert_eq!(faint, json!([]), "contrast below 4.5 in {scheme}");
    ground
}

/// The texts with too little contrast, and the luminance of the ground.
pub fn contrasts(page: &Page) -> (Value, f64) {
    let mut measured = page.run(CONTRASTS, &[]);
    (measured["faint"].take(), measured["ground"].as_f64().unwrap())
}

/// The contrast of all visible text with its ground, as WCAG 2 computes it; what is disabled is exempt.
const CONTRASTS: &str = "
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const rgba = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
    const luminance = (colour) => {
        const [r, g, b] = colour.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const groundOf = (element) => {
        const own = rgba(getComputedStyle(element).backgroundColor);
        if (own[3] === 1) return own;
        const below = element.parentElement ? groundOf(element.parentElement) : [255, 255, 255, 1];
        return over(own, below);
    };
    const faint = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        const text = walker.currentNode.textContent.trim();
        if (!text || element.closest(':disabled, [aria-disabled=true]') || !element.checkVisibility()) continue;
        const ground = groundOf(element);
        const [a, b] = [luminance(over(rgba(getComputedStyle(element).color), ground)), luminance(ground)];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) faint.push(`${contrast.toFixed(2)}: ${text.slice(0, 40)}`);
    }
    return { faint, ground: luminance(groundOf(document.body)) };
";

/// How much of the picture may differ: fonts and the times of day do.
const TOLERANCE: f64 = 0.06;

/// The pictures in the README: a workbench, and the choices of its example.
const PICTURES: [(&str, &str); 5] = [
    ("tuning", "&c=all_reduce&n=2&r=16&s=4194304"),
    ("policy", ""),
    ("training-time", ""),
    ("topology", ""),
    ("overlap", ""),
];

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_pictures_in_the_readme_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/screenshots");
    let page = Page::closed();
    page.prefer_color_scheme("light");
    page.resize(1400, 900);
    for (workbench, choices) in PICTURES {
        page.visit("");
        page.visit(&format!("#v=1&w={workbench}&x=1{choices}"));
        page.wait_until(|| page.look_for("tab", "").is_some(), "there is an answer");
        page.wait_until_idle();
        let current = page.screenshot();
        let path = folder.join(format!("{workbench}.png"));
        if env::var_os("COLLECTUNE_TAKE_SCREENSHOT").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &current).unwrap();
            continue;
        }
        let share = difference(&page, &fs::read(&path).unwrap_or_default(), &current);
        assert!(
            share <= TOLERANCE,
            "docs/screenshots/{workbench}.png shows another page ({:.1} % of its points differ); take it anew:\n\
             COLLECTUNE_TAKE_SCREENSHOT=1 cargo xtask test --only browser",
            share * 100.0
        );
    }
    page.assert_clean();
}

/// The share of points whose colours differ visibly; 1 where the sizes do.
fn difference(page: &Page, one: &[u8], other: &[u8]) -> f64 {
    let share = page.run(
        "const points = async (bytes) => {
             const image = await createImageBitmap(new Blob([new Uint8Array(bytes)], { type: 'image/png' }));
             const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
             canvas.drawImage(image, 0, 0);
             return [image.width, canvas.getImageData(0, 0, image.width, image.height).data];
         };
         const [[width, a], [otherWidth, b]] = [await points(arguments[0]), await points(arguments[1])];
         if (width !== otherWidth || a.length !== b.length) return 1;
         let differing = 0;
         for (let i = 0; i < a.length; i += 4) {
             if (Math.max(Math.abs(a[i] - b[i]), Math.abs(a[i + 1] - b[i + 1]), Math.abs(a[i + 2] - b[i + 2])) > 40) differing += 1;
         }
         return differing / (a.length / 4);",
        &[Value::from(one), Value::from(other)],
    );
    share.as_f64().unwrap()
}
