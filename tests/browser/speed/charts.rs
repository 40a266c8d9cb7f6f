//! What a chart of thousands of points takes, redrawn frame by frame: a point that is pointed at, other data in the
//! chart, as after a moved slider, and a part that is shown.

use serde_json::Value;

use crate::{page::Page, sweep::sweep};

/// The most that a frame may take, in ms: one of a screen with 60 of them in a second.
const FRAME_MS: f64 = 16.0;

/// Does something before each frame, as a browser does with what its user did and with what a worker has sent, and
/// writes down how long the page's thread works for it: for the event, and in the frame after it, in which the chart is
/// drawn, with the drawing of the canvases, which reading a pixel brings about at once.
const FRAMES: &str = "
    const [kind, count] = arguments;
    const over = document.querySelector('.chart-over');
    over.scrollIntoView({ block: 'center' });
    const box = over.getBoundingClientRect();
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
    const took = [];
    for (let number = 0; number < count; number += 1) {
        await begin();
        await end();
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
            case 'data': inTime.click(); break;
            case 'zoom':
                over.dispatchEvent(new WheelEvent('wheel', { ...at, ctrlKey: true, deltaY: number % 40 < 20 ? -10 : 10 }));
        }
        const handled = await turn() - began;
        const drawing = await next;
        took.push(handled + await end() - drawing);
    }
    return took;
";

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn a_chart_of_four_thousand_points_redraws_in_one_frame() {
    let page = Page::with_files(&[("sweep.csv", sweep(20, 50).as_bytes())]);
    page.wait_until(|| page.run("return !!document.querySelector('.chart-over')", &[]) == true, "the chart is drawn");
    // Nothing at all is done in the first: what the frame itself takes, and the reading of a pixel.
    let late: Vec<String> = ["unchanged", "point", "data", "zoom"]
        .into_iter()
        .filter_map(|kind| {
            let took = page.run(FRAMES, &[kind.into(), 200.into()]);
            let mut took: Vec<f64> = took.as_array().unwrap().iter().skip(5).filter_map(Value::as_f64).collect();
            took.sort_by(f64::total_cmp);
            let at = |share: f64| took[(share * (took.len() - 1) as f64) as usize];
            println!(
                "chart/4000_points_{kind}: {} frames, median {:.1} ms, p95 {:.1} ms, longest {:.1} ms",
                took.len(),
                at(0.5),
                at(0.95),
                at(1.0)
            );
            (at(0.95) > FRAME_MS).then(|| format!("{kind}: a frame takes {:.1} ms", at(0.95)))
        })
        .collect();
    assert!(late.is_empty(), "{late:?}");
}
