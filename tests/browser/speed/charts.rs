//! What a chart of thousands of points takes, redrawn frame by frame: a point that is pointed at, other data in the
//! chart, as after a moved slider, and a part that is shown.

use serde_json::Value;

use super::at;
use crate::{page::Page, sweep::sweep};

/// The most that a frame may take, in ms: one of a screen with 60 of them in a second.
const FRAME_MS: f64 = 16.0;

/// How many times as long as usual a loop that always does the same takes while the machine does not get on with what
/// it is given. On a virtual machine of two cores, a loop of 8 ms with nothing beside it takes 10 to 19 ms at p95.
const SLOW: f64 = 1.3;

/// Does something before each frame, as a browser does with what its user did and with what a worker has sent, and
/// writes down how long the page's thread works for it: for the event, and in the frame after it, in which the chart is
/// drawn, with the drawing of the canvases, which reading a pixel brings about at once. Before and after each frame the
/// same loop runs, whose longer time is written down beside the frame's.
const FRAMES: &str = "
    const [kind, count] = arguments;
    const over = document.querySelector('.chart-over');
    over.scrollIntoView({ block: 'center' });
    const box = over.getBoundingClientRect();
    // Who moves a slider or clicks a switch does not point at the chart.
    if (kind === 'data') {
        over.dispatchEvent(new PointerEvent('pointerleave'));
    }
    const inTime = [...document.querySelectorAll('.chart-switches button')].find((button) => button.textContent === 'Time');
    const begin = () => new Promise((done) => requestAnimationFrame(() => done(performance.now())));
    const turn = () => new Promise((done) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => done(performance.now());
        port2.postMessage(0);
    });
    const end = async () => {
        await turn();
        for (const canvas of over.parentElement.querySelectorAll('canvas')) {
            canvas.getContext('2d').getImageData(0, 0, 1, 1);
        }
        return performance.now();
    };
    const loop = () => {
        const began = performance.now();
        let value = 1;
        for (let step = 0; step < 200000; step += 1) {
            value = (value * 16807 + step) % 2147483647;
        }
        window.looped = value;
        return performance.now() - began;
    };
    const took = [];
    for (let number = 0; number < count; number += 1) {
        await begin();
        await end();
        const before = loop();
        // Asked for before the page asks for it, so that it begins before the page draws.
        const next = begin();
        const began = performance.now();
        const at = {
            clientX: box.left + box.width * (0.15 + 0.7 * number / count),
            clientY: box.top + box.height * (0.2 + 0.5 * (number % 7) / 7),
            bubbles: true,
            cancelable: true,
        };
        switch (kind) {
            case 'point': over.dispatchEvent(new PointerEvent('pointermove', at)); break;
            case 'data': case 'data_with_tip': inTime.click(); break;
            case 'zoom':
                over.dispatchEvent(new WheelEvent('wheel', { ...at, ctrlKey: true, deltaY: number % 40 < 20 ? -10 : 10 }));
        }
        const handled = await turn() - began;
        const drawing = await next;
        const frame = handled + await end() - drawing;
        took.push([frame, Math.max(before, loop())]);
    }
    return took;
";

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn a_chart_of_four_thousand_points_redraws_in_one_frame() {
    let page = Page::with_files(&[("sweep.csv", sweep(20, 50).as_bytes())]);
    page.wait_until(|| page.run("return !!document.querySelector('.chart-over')", &[]) == true, "the chart is drawn");
    page.wait_until_idle();
    // Nothing at all is done in the first: what the frame itself takes, and the reading of a pixel.
    let late: Vec<String> = ["unchanged", "point", "data_with_tip", "data", "zoom"]
        .into_iter()
        .filter_map(|kind| {
            let measured = page.run(FRAMES, &[kind.into(), 200.into()]);
            let number = |value: &Value| value.as_f64().unwrap();
            let frames: Vec<(f64, f64)> =
                measured.as_array().unwrap().iter().skip(5).map(|frame| (number(&frame[0]), number(&frame[1]))).collect();
            let mut loops: Vec<f64> = frames.iter().map(|frame| frame.1).collect();
            loops.sort_by(f64::total_cmp);
            let usual_ms = at(&loops, 0.5);
            let quiet = frames.iter().filter(|frame| frame.1 <= SLOW * usual_ms);
            let mut took: Vec<f64> = quiet.map(|frame| frame.0).collect();
            took.sort_by(f64::total_cmp);
            println!(
                "chart/4000_points_{kind}: {} frames, median {:.1} ms, p95 {:.1} ms, longest {:.1} ms; {} left out: the \
                 loop beside them took more than {SLOW} times its usual {usual_ms:.2} ms",
                took.len(),
                at(&took, 0.5),
                at(&took, 0.95),
                at(&took, 1.0),
                frames.len() - took.len()
            );
            assert!(took.len() * 2 > frames.len(), "{kind}: the machine is too busy to tell");
            let p95_ms = at(&took, 0.95);
            (p95_ms > FRAME_MS).then(|| format!("{kind}: a frame takes {p95_ms:.1} ms"))
        })
        .collect();
    assert!(late.is_empty(), "{late:?}");
}
