//! With the keyboard alone: everything is reached, in order, and seen when it is; and what the system asks for, less
//! motion or colours of its own, is given.

use serde_json::{Value, json};

use crate::{
    page::{Page, key},
    sweep::noisy_sweep,
};

fn with_sweep() -> Page {
    Page::with_files(&[("sweep.csv", noisy_sweep().as_bytes())])
}

/// All that Tab should reach, in the order of the document. Of the buttons of a choice that is the chosen one. In
/// Firefox it is everything that can be scrolled as well.
const STOPS: &str = "
    const isControl = (element) => element.tabIndex >= 0 && element.matches(
        'a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary, [tabindex=\"0\"]');
    const canScroll = (element) => navigator.userAgent.includes('Firefox') && element.matches('body *')
        && ['X', 'Y'].some((side) => ['auto', 'scroll'].includes(getComputedStyle(element)[`overflow${side}`]))
        && (element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight);
    window.stops = [...document.querySelectorAll('*')]
        .filter((stop) => (isControl(stop) || canScroll(stop)) && stop.checkVisibility({ visibilityProperty: true })
            && !(stop.type === 'radio' && !stop.checked));
    stops[0].focus({ focusVisible: true });
    return stops.length;
";

/// What is wrong with where the focus is: not the stop that is next, not seen, or not told from the rest.
const AT_STOP: &str = "
    const [index] = arguments;
    for (let frame = 0; frame < 120 && document.activeElement !== stops[index]; frame += 1) {
        await new Promise(requestAnimationFrame);
    }
    const stop = document.activeElement;
    const name = (element) => {
        const text = element?.getAttribute?.('aria-label') ?? element?.innerText ?? '';
        return element ? `${element.tagName}#${element.id} ${text.slice(0, 30)}` : 'nothing';
    };
    if (stop !== stops[index]) return `the focus is on ${name(stop)}, not on ${name(stops[index])}`;
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const shown = stop.closest('.segment, .file-button') ?? stop;
    const box = shown.getBoundingClientRect();
    if (box.width < 1 || box.height < 1) return `${name(stop)} has no size`;
    if (box.bottom <= 0 || box.top >= innerHeight) return `${name(stop)} is outside the window`;
    const x = Math.min(Math.max((box.left + box.right) / 2, 0), innerWidth - 1);
    const ys = [box.top + 2, (box.top + box.bottom) / 2, box.bottom - 2].map((y) => Math.min(Math.max(y, 0), innerHeight - 1));
    const isOnTop = (y) => {
        const top = document.elementFromPoint(x, y);
        return top && (shown.contains(top) || top.contains(shown) || top.closest('label')?.contains(shown));
    };
    if (!ys.some(isOnTop)) return `${name(stop)} is covered by ${name(document.elementFromPoint(x, ys[1]))}`;
    for (let element = stop; element; element = element.parentElement) {
        const { outlineStyle, outlineWidth } = getComputedStyle(element);
        if (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2) return null;
    }
    return `${name(stop)} doesn't show that it has the focus`;
";

/// Walks from the beginning to the end.
fn walk(page: &Page, view: &str) {
    let stops = page.run(STOPS, &[]).as_u64().unwrap();
    assert!(stops > 4, "{view}: only {stops} stops");
    for index in 0..stops {
        if index > 0 {
            page.press(key::TAB);
        }
        assert_eq!(page.run(AT_STOP, &[index.into()]), Value::Null, "{view}, stop {index}");
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn tab_reaches_and_shows_everything() {
    let page = Page::open();
    page.resize(1400, 800);
    walk(&page, "welcome");
    page.drop_files(&[("sweep.csv", noisy_sweep().as_bytes())]);
    page.wait_until_idle();
    for panel in ["Answer", "Heat map", "Model", "Noise", "Tuner files", "Coverage", "Measure next", "A/B", "Compare"] {
        page.run("scrollTo(0, 0)", &[]);
        page.click("tab", panel);
        page.wait_until_idle();
        walk(&page, panel);
    }
    page.resize(360, 740);
    page.run("scrollTo(0, 0)", &[]);
    page.click("tab", "Answer");
    page.wait_until_idle();
    walk(&page, "Answer, narrow");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_first_stop_skips_to_the_content() {
    let page = with_sweep();
    page.run("document.activeElement.blur()", &[]);
    let focused = || page.text_of("return document.activeElement.innerText");
    page.press(key::TAB);
    page.wait_until(|| focused() == "Skip to the content", "the first stop is the way to the content");
    let address = page.fragment();
    page.press(key::ENTER);
    page.wait_until(|| page.text_of("return document.activeElement.tagName") == "MAIN", "it leads to the content");
    page.press(key::TAB);
    let is_question = "return document.activeElement.closest('.question') ? 'question' : ''";
    page.wait_until(|| page.text_of(is_question) == "question", "the question is the first thing there");
    assert_eq!(page.fragment(), address);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn dialogs_keep_the_focus_and_give_it_back() {
    let page = with_sweep();
    for (button, dialog) in [("Share", "Share"), ("Commands and keys", "Commands and keys"), ("About", "Collectune")] {
        page.tab_to("button", button);
        page.press(key::ENTER);
        page.find("dialog", dialog);
        for _ in 0..30 {
            page.press(key::TAB);
            let is_inside = page.run(
                "const here = document.activeElement; return here === document.body || !!here.closest('dialog[open]')",
                &[],
            );
            assert_eq!(is_inside, true, "{dialog}: Tab leaves it");
        }
        page.press(key::ESCAPE);
        page.wait_until(|| page.run("return !document.querySelector('dialog[open]')", &[]) == true, "Escape closes it");
        let name = page
            .text_of("return document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText");
        assert_eq!(name, button, "{dialog}: the focus goes back");
    }
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_list_of_commands_gives_the_focus_back_to_what_had_it() {
    let page = with_sweep();
    page.run("window.held = document.querySelector('.question select'); held.focus()", &[]);
    page.press_with_control("k");
    page.find("dialog", "Commands and keys");
    page.press(key::ESCAPE);
    page.wait_until(|| page.run("return document.activeElement === held", &[]) == true, "the list has the focus again");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_button_of_the_last_size_keeps_the_focus() {
    let page = with_sweep();
    page.run("document.querySelector('.steps button:last-child').focus()", &[]);
    let is_last = || page.run("return document.activeElement.getAttribute('aria-disabled')", &[]) == "true";
    for _ in 0..40 {
        if is_last() {
            break;
        }
        page.press(key::ENTER);
        page.wait_until_idle();
    }
    assert!(is_last(), "the focus is on {}", page.text_of("return document.activeElement.outerHTML"));
    let address = page.fragment();
    page.press(key::ENTER);
    page.wait_until_idle();
    assert_eq!(page.fragment(), address, "there is no larger size");
    page.assert_clean();
}

/// Opens the example of a workbench, gives the focus to the first field that a selector finds in a tab, and presses
/// keys; the same field must have the focus when the answer is renewed.
fn assert_focus_stays(workbench: &str, tab: &str, css: &str, keys: &[&str]) {
    let page = Page::open_at(&format!("#v=1&w={workbench}"));
    page.click("button", "Open the example");
    page.wait_until_idle();
    page.show(tab);
    let focus = "window.held = document.querySelector(arguments[0]); held.focus(); held.select();";
    page.run(focus, &[css.into()]);
    keys.iter().for_each(|keys| page.press(keys));
    page.wait_until_idle();
    let focused = "return document.activeElement === held ? '' : document.activeElement.outerHTML.slice(0, 200)";
    assert_eq!(page.text_of(focused), "", "{workbench}, {tab}: the focus is elsewhere");
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn the_focus_stays_where_a_choice_was_made() {
    let steps = ".report-section .own input[type=number]";
    assert_focus_stays("policy", "Strategies", steps, &["400", key::ENTER]);
    let left_out = ".report-section .many input[type=checkbox]";
    assert_focus_stays("training-time", "Samples", left_out, &[" "]);
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_menu_is_walked_and_gives_the_focus_back() {
    let page = with_sweep();
    page.allow_clipboard();
    let focused = || page.text_of("return document.activeElement.innerText");
    let comes_to = |label: &str| page.wait_until(|| focused() == label, &format!("the focus comes to {label}"));
    let is_closed = || {
        let open = "return document.querySelector('[role=menu], [aria-haspopup][aria-expanded=true]') === null";
        page.wait_until(|| page.run(open, &[]) == true, "the menu closes");
    };
    let button = "Options of Optimal configurations";
    page.tab_to("button", button);
    let before = page.fragment();
    page.press(key::ENTER);
    comes_to("Copy as CSV");
    for (key, label) in [
        (key::DOWN, "Copy as Markdown"),
        (key::END, "Save as JSON"),
        (key::DOWN, "Copy as CSV"),
        (key::UP, "Save as JSON"),
        (key::UP, "Save as Markdown"),
        (key::HOME, "Copy as CSV"),
    ] {
        page.press(key);
        comes_to(label);
    }
    page.press("]");
    page.press(key::ESCAPE);
    is_closed();
    comes_to("⋯");
    assert_eq!(page.fragment(), before, "the page's keys are not for an open menu");

    page.press(key::DOWN);
    comes_to("Copy as CSV");
    page.press(key::ENTER);
    is_closed();
    comes_to("⋯");
    let copied = || page.text_of("return navigator.clipboard.readText()");
    page.wait_until(|| copied().starts_with("collective,"), "the table is copied");

    page.press(key::ENTER);
    comes_to("Copy as CSV");
    page.press(key::TAB);
    is_closed();
    page.click("button", button);
    comes_to("Copy as CSV");
    page.click("heading", "Optimal configurations");
    is_closed();
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_chart_is_walked_and_heard() {
    let page = with_sweep();
    let summary = page.text_of("return document.querySelector('.chart canvas[role=img]').getAttribute('aria-label')");
    assert!(summary.split(' ').count() > 8 && summary.contains("GB/s"), "{summary}");
    page.run("document.querySelector('.chart-stage').focus()", &[]);
    page.press(key::RIGHT);
    page.press(key::RIGHT);
    let said = "return document.querySelector('.chart [role=status]').textContent";
    page.wait_until(|| page.text_of(said).contains("GB/s"), "the point is said");
    page.press(key::ENTER);
    page.find("button", "Unpin");
    page.press(key::ESCAPE);
    let title = page.text_of("return document.querySelector('.chart-title').innerText");
    page.choose_from_menu(&title, "Show data");
    page.wait_until(
        || page.run("return document.querySelectorAll('.chart-data table tbody tr').length > 7", &[]) == true,
        "the same as a table",
    );
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn nothing_moves_for_those_who_want_less_motion() {
    let page = with_sweep();
    page.emulate(&json!([{ "name": "prefers-reduced-motion", "value": "reduce" }]));
    let moving = page.run(
        "return [...document.querySelectorAll('*')]
             .filter((element) => {
                 const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(element);
                 return transitionDuration.split(', ').some((time) => parseFloat(time) > 0)
                     || animationName !== 'none' || scrollBehavior === 'smooth';
             })
             .map((element) => `${element.tagName}.${element.className}`)
             .concat(document.getAnimations().map(() => 'an animation'))",
        &[],
    );
    assert_eq!(moving, json!([]));
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn what_is_chosen_shows_in_the_systems_colours() {
    let page = with_sweep();
    page.emulate(
        &json!([{ "name": "forced-colors", "value": "active" }, { "name": "prefers-color-scheme", "value": "dark" }]),
    );
    let ground = |css: &str| {
        page.run("return getComputedStyle(document.querySelector(arguments[0])).backgroundColor", &[css.into()])
    };
    let chosen = page.run(
        "const probe = document.body.appendChild(document.createElement('i'));
         probe.style.forcedColorAdjust = 'none';
         probe.style.backgroundColor = 'Highlight';
         const colour = getComputedStyle(probe).backgroundColor;
         probe.remove();
         return colour;",
        &[],
    );
    for css in ["[role=tab][aria-selected=true]", ".tab[aria-current=page]", ".segment input:checked + span"] {
        assert_eq!(ground(css), chosen, "{css}");
    }
    assert_ne!(ground(".chart-stage"), "rgba(0, 0, 0, 0)", "the drawing has a ground of its own");
    crate::accessibility::take_picture(&page, "forced-colors");
    page.assert_clean();
}
