//! How long it takes, in the browser: `cargo xtask bench` runs these alone and shows what they print.

mod charts;
mod training_time;

use std::fmt::Write;

use serde_json::Value;

use crate::{page::Page, support::real, sweep::sweep};

/// Writes down when files are dropped, whenever the line that says what is going on changes, and what kept the
/// page's thread for more than 50 ms.
const WATCH: &str = "
    window.timeline = { steps: [], longTasks: [] };
    addEventListener('drop', () => { timeline.dropped = performance.now(); }, { capture: true });
    new PerformanceObserver((list) => {
        timeline.longTasks.push(...list.getEntries().map((task) => [task.startTime, task.duration]));
    }).observe({ type: 'longtask' });
    let last = '';
    new MutationObserver(() => {
        const line = document.querySelector('section[aria-label=\"Work under way\"]')?.innerText ?? '';
        const rows = document.querySelectorAll('section tbody tr').length > 0;
        const said = `${rows} ${line.split(/[:\\n]/)[0]}`;
        if (said !== last) timeline.steps.push([performance.now(), rows, line.split(/[:\\n]/)[0]]);
        last = said;
    }).observe(document, { subtree: true, childList: true, characterData: true });
";

/// Lets the workers write down how large their linear memory is whenever they say something, and whether it is that
/// they have read all files. It never shrinks, so
/// the last size is the peak until then.
const WATCH_MEMORY: &str = "
    const inWorker = `
        const instantiate = WebAssembly.instantiate;
        WebAssembly.instantiate = async (...options) => {
            const made = await instantiate(...options);
            const sizes = [];
            const post = self.postMessage;
            self.postMessage = (...message) => {
                const bytes = (made.instance ?? made).exports.memory.buffer.byteLength;
                const parts = new Uint8Array(message[0]?.[0] ?? []);
                const hasRead = parts[0] === 2 && parts.at(-1) === 0;
                sizes.push([performance.timeOrigin + performance.now(), bytes, hasRead]);
                post.apply(self, message);
            };
            const channel = new BroadcastChannel('memory');
            channel.onmessage = () => channel.postMessage(sizes);
            return made;
        };
    `;
    window.Blob = class extends Blob {
        constructor(parts, options) {
            super(options?.type === 'text/javascript' ? [inWorker, ...parts] : parts, options);
        }
    };
";

/// The peak of the largest worker's linear memory in bytes, until the training began and until now.
fn worker_memory_bytes(page: &Page) -> (f64, f64) {
    let peaks = page.run(
        "const channel = new BroadcastChannel('memory');
         const sizes = [];
         channel.onmessage = (event) => { if (Array.isArray(event.data)) event.data.forEach((size) => sizes.push(size)); };
         channel.postMessage('how large?');
         await new Promise((resolve) => setTimeout(resolve, 1000));
         const training = performance.timeOrigin + (window.timeline?.steps.find((step) => step[2].startsWith('Training'))?.[0] ?? Infinity);
         const peak = (sizes) => sizes.reduce((peak, size) => Math.max(peak, size[1]), 0);
         return [peak(sizes.filter((size) => size[0] < training)), peak(sizes)];",
        &[],
    );
    (peaks[0].as_f64().unwrap(), peaks[1].as_f64().unwrap())
}

/// From the drop until the worker had read all files, which it says in a message of its own kind
/// (`FromWorker::Reading` without a file).
fn read_ms(page: &Page) -> f64 {
    let end = page.run(
        "const channel = new BroadcastChannel('memory');
         const ends = [];
         channel.onmessage = (event) => {
             if (Array.isArray(event.data)) ends.push(...event.data.filter((message) => message[2]).map(([time]) => time));
         };
         channel.postMessage('how large?');
         await new Promise((resolve) => setTimeout(resolve, 1000));
         return Math.max(...ends) - performance.timeOrigin - timeline.dropped;",
        &[],
    );
    end.as_f64().unwrap()
}

struct Times {
    /// From the drop to the first row of a table.
    table_ms: f64,
    /// To the end of training.
    model_ms: f64,
    /// To the end of validation.
    validated_ms: f64,
    /// When which work began.
    steps_ms: Vec<(f64, String)>,
    /// The tasks that held the page's thread for more than 50 ms: how long after the drop they began, and how long
    /// they took.
    long_tasks_ms: Vec<(f64, f64)>,
}

impl Times {
    /// The longest task that ended before the first row of a table was there: while files were read. 0 where none
    /// took 50 ms.
    fn longest_while_reading_ms(&self) -> f64 {
        let reading = self.long_tasks_ms.iter().filter(|(start_ms, task_ms)| start_ms + task_ms < self.table_ms);
        reading.map(|(_, task_ms)| *task_ms).fold(0.0, f64::max)
    }
}

fn time(page: &Page, files: &[(&str, &[u8])]) -> Times {
    page.drop_files(files);
    page.wait_until_idle();
    page.wait_for_text("validated on held-out measurements");
    let timeline = page.run("return timeline", &[]);
    let dropped = timeline["dropped"].as_f64().unwrap();
    let steps = timeline["steps"].as_array().unwrap();
    let first = |is_it: &dyn Fn(&Value) -> bool| {
        let step = steps.iter().find(|step| step[0].as_f64().unwrap() > dropped && is_it(step));
        step.map_or(f64::NAN, |step| step[0].as_f64().unwrap() - dropped)
    };
    let tasks = timeline["longTasks"].as_array().unwrap().iter();
    Times {
        table_ms: first(&|step| step[1] == true),
        model_ms: first(&|step| step[2].as_str().unwrap().starts_with("Validating")),
        validated_ms: first(&|step| step[2].as_str().unwrap().starts_with("The answer")),
        steps_ms: steps
            .iter()
            .map(|step| (step[0].as_f64().unwrap() - dropped, step[2].as_str().unwrap().to_owned()))
            .filter(|(start_ms, _)| *start_ms > 0.0)
            .collect(),
        long_tasks_ms: tasks
            .map(|task| (task[0].as_f64().unwrap() - dropped, task[1].as_f64().unwrap()))
            .filter(|(start_ms, _)| *start_ms > 0.0)
            .collect(),
    }
}

fn open() -> Page {
    let page = Page::closed();
    page.before_loading(WATCH);
    page.before_loading(WATCH_MEMORY);
    page.visit("");
    page.wait_until_idle();
    page
}

fn report(what: &str, times: &Times) {
    let Times { table_ms, model_ms, validated_ms, steps_ms, long_tasks_ms } = times;
    println!(
        "{what}: table after {table_ms:.0} ms, model's answer after {model_ms:.0} ms, validated after {validated_ms:.0} ms"
    );
    let steps: Vec<String> = steps_ms.iter().map(|(start, doing)| format!("{doing} at {start:.0} ms")).collect();
    println!("{what}: {}", steps.join(", "));
    let tasks: Vec<String> = long_tasks_ms.iter().map(|(start, task)| format!("{task:.0} ms at {start:.0}")).collect();
    println!(
        "{what}: tasks of the page over 50 ms: {}",
        if tasks.is_empty() { "none".to_owned() } else { tasks.join(", ") }
    );
}

/// Writes down what keeps the page's thread from the very start.
const WATCH_LONG_TASKS: &str = "
    window.longTasks = [];
    new PerformanceObserver((list) => {
        longTasks.push(...list.getEntries().map((task) => [task.startTime, task.duration]));
    }).observe({ type: 'longtask', buffered: true });
";

/// First contentful paint, total blocking time (what tasks take beyond 50 ms each, from that paint until the page is
/// idle), when the page was idle, and the bytes that came, as they lie on the disk.
fn first_load(page: &Page, what: &str) {
    page.wait_until_idle();
    let figures = page.run(
        "const paint = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN;
         const blocking = longTasks.filter(([start]) => start > paint).reduce((sum, [, ms]) => sum + ms - 50, 0);
         const files = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
         const started = performance.getEntriesByName('started')[0]?.startTime ?? NaN;
         return [paint, blocking, started, files.reduce((sum, file) => sum + file.decodedBodySize, 0), files.length]",
        &[],
    );
    let figure = |index: usize| figures[index].as_f64().unwrap_or(f64::NAN);
    println!(
        "first_load/{what}: first contentful paint {:.0} ms, total blocking time {:.0} ms, ready after {:.0} ms; {:.0} kB uncompressed in {} files",
        figure(0),
        figure(1),
        figure(2),
        figure(3) / 1e3,
        figure(4)
    );
}

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn the_first_load() {
    // The element that boot.js removes is the page's face until it is ready.
    const MARK_START: &str = "
        new MutationObserver((changes, observer) => {
            const isGone = (change) => [...change.removedNodes].some((node) => node.id === 'boot');
            if (changes.some(isGone)) { performance.mark('started'); observer.disconnect(); }
        }).observe(document, { subtree: true, childList: true });
    ";
    for (what, bytes_per_s) in [("loopback", None), ("10_Mbit_s_150_ms_uncompressed", Some(1_250_000))] {
        let page = Page::closed();
        page.before_loading(WATCH_LONG_TASKS);
        page.before_loading(MARK_START);
        if let Some(bytes_per_s) = bytes_per_s {
            page.slow_down(bytes_per_s);
        }
        page.visit("");
        first_load(&page, what);
        page.reload();
        first_load(&page, &format!("{what}_again_from_the_copy"));
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn first_answer_with_shared_data() {
    let folder = real::path("tuning");
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let names = ["all_reduce_1n.csv", "all_reduce_2n_median.csv", "all_reduce_3n_median.csv"];
    let contents = names.map(read);
    let files: Vec<(&str, &[u8])> = names.into_iter().zip(contents.iter().map(Vec::as_slice)).collect();
    for _ in 0..3 {
        report("first_answer/three_all_reduce_sweeps", &time(&open(), &files));
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn a_million_rows() {
    let mut text = sweep(1, 0);
    let rows = sweep(16, 64);
    let rows: Vec<&str> = rows.lines().skip(1).collect();
    for row in rows.iter().cycle().take(1_000_000) {
        writeln!(text, "{row}").unwrap();
    }
    let page = open();
    let times = time(&page, &[("million.csv", text.as_bytes())]);
    let what = format!("a_million_rows/{:.0}_MB", text.len() as f64 / 1e6);
    report(&what, &times);
    let (reading, all) = worker_memory_bytes(&page);
    let (reading, all) = (reading / text.len() as f64, all / text.len() as f64);
    println!(
        "{what}: the worker's memory grew to {reading:.1} times the file, and with the training to {all:.1} times"
    );
    let longest_ms = times.longest_while_reading_ms();
    assert!(longest_ms <= 50.0, "the page froze for {longest_ms:.0} ms while the file was read");
    assert!(reading < 4.0, "reading took {reading:.1} times the size of the file");
}

/// A million rows as rccl-sweep writes them, with all columns: the example's rows again and again, each a little slower
/// or faster. At least 60 MB are to be read in a second, until the first row of a table is there.
#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn a_million_rows_in_full_columns() {
    let example = std::fs::read_to_string("public/examples/simulated_sweep.csv").unwrap();
    let (head, rows) = example.split_once('\n').unwrap();
    let columns: Vec<&str> = head.split(',').collect();
    let times = ["time_oop_us", "time_ip_us"].map(|name| columns.iter().position(|column| *column == name).unwrap());
    let mut text = format!("{head}\n");
    for (number, row) in rows.lines().cycle().take(1_000_000).enumerate() {
        for (place, cell) in row.split(',').enumerate() {
            let comma = if place == 0 { "" } else { "," };
            let is_time = times.contains(&place);
            let time_us = cell.parse::<f64>().unwrap_or_default() * (1.0 + (number % 97) as f64 / 2000.0);
            if is_time { write!(text, "{comma}{time_us:.2}").unwrap() } else { write!(text, "{comma}{cell}").unwrap() }
        }
        text.push('\n');
    }
    let page = open();
    let times = time(&page, &[("million.csv", text.as_bytes())]);
    let size_mb = text.len() as f64 / 1e6;
    let what = format!("a_million_rows_in_full_columns/{size_mb:.0}_MB");
    report(&what, &times);
    println!("{what}: {:.0} MB/s until the table is there", size_mb / times.table_ms * 1e3);
    let read_ms = read_ms(&page);
    println!("{what}: read after {read_ms:.0} ms, {:.0} MB/s", size_mb / read_ms * 1e3);
}

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn the_seeds_preset() {
    for (sizes, channels) in [(12, 96), (24, 192)] {
        let page = open();
        page.drop_files(&[("sweep.csv", sweep(sizes, channels).as_bytes())]);
        page.wait_until_idle();
        page.show("Model");
        page.choose("Preset", "Gradient boosting");
        page.run("timeline.steps = []", &[]);
        page.click("button", "Train");
        page.wait_until(|| page.text().contains("Validating"), "the model is trained");
        let steps = page.run("return timeline.steps", &[]);
        let when = |name: &str| {
            let step = steps.as_array().unwrap().iter().find(|step| step[2].as_str().unwrap().starts_with(name));
            step.unwrap()[0].as_f64().unwrap()
        };
        println!("train/seed_model_{}_rows: {:.0} ms", sizes * channels * 4, when("Validating") - when("Training"));
    }
}

/// Writes down when the models of the table that have figures become more.
const WATCH_MODELS: &str = "
    window.models = { grew: [] };
    let known = 0;
    new MutationObserver(() => {
        const rows = [...document.querySelectorAll('[role=region][aria-label=\"Models, out of fold\"] tbody tr')];
        const now = rows.filter((row) => row.cells[1].innerText !== '').length;
        if (now > known) models.grew.push([performance.now(), now]);
        known = now;
    }).observe(document, { subtree: true, childList: true, characterData: true });
";

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn kernels_beside_collectives_with_shared_data() {
    let kernels = real::file("overlap/merged_features_82sm.csv");
    for _ in 0..3 {
        let page = Page::closed();
        page.before_loading(WATCH);
        page.before_loading(WATCH_MODELS);
        page.visit("");
        page.wait_until_idle();
        page.drop_files(&[("merged_features_82sm.csv", &kernels)]);
        page.wait_until_idle();
        page.wait_for_text("Each model was tested on kernels that it was not fitted on.");
        let timeline = page.run("return timeline", &[]);
        let grew = page.run("return models.grew", &[]);
        let dropped = timeline["dropped"].as_f64().unwrap();
        let after = |step: &Value| step[0].as_f64().unwrap() - dropped;
        let steps: Vec<&Value> =
            timeline["steps"].as_array().unwrap().iter().filter(|step| after(step) > 0.0).collect();
        let said = |words: &str| {
            steps.iter().find(|step| step[2].as_str().unwrap().starts_with(words)).map(|step| after(step))
        };
        let (work, all) = (said("").unwrap(), said("Each model").unwrap());
        let models: Vec<String> =
            grew.as_array().unwrap().iter().map(|step| format!("{} after {:.0} ms", step[1], after(step))).collect();
        println!(
            "kernels/469_overlapped: work under way after {work:.0} ms; models {}; complete after {all:.0} ms",
            models.join(", ")
        );
        println!("{}", serde_json::to_string(&steps).unwrap());
        assert!(all < 10_000.0, "the complete answer took {all:.0} ms");
    }
}

/// Writes down when the table of strategies changes.
const WATCH_STRATEGIES: &str = "
    window.replayed = [];
    let known = '';
    new MutationObserver(() => {
        const rows = document.querySelectorAll('[role=region][aria-label=\"Strategies\"] tbody tr');
        const shown = [...rows].map((row) => row.cells[1].innerText).join(' ');
        if (shown !== known) replayed.push(performance.now());
        known = shown;
    }).observe(document, { subtree: true, childList: true, characterData: true });
";

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn a_replay_of_all_strategies() {
    for world in ["clear", "two-modes", "drift"] {
        let page = Page::closed();
        page.before_loading(WATCH_STRATEGIES);
        page.visit("#v=1&w=policy");
        page.wait_until_idle();
        let clock = || page.run("return performance.now()", &[]).as_f64().unwrap();
        page.run("replayed.length = 0", &[]);
        let chosen = clock();
        page.run(&format!("location.hash = '#v=1&w=policy&world={world}'"), &[]);
        page.wait_for_text("200 seeds of 2000 steps");
        page.wait_until_idle();
        let replayed = page.run("return replayed", &[]);
        let after: Vec<f64> =
            replayed.as_array().unwrap().iter().filter_map(|at| Some(at.as_f64()? - chosen)).collect();
        let (first, all) = (after[0], after[after.len() - 1]);
        println!(
            "replay/{world}: 200 seeds of 2000 steps of 17 strategies: first tenth after {first:.0} ms, then {:?}, all after \
             {all:.0} ms",
            after.iter().map(|ms| ms.round()).collect::<Vec<_>>()
        );
        assert!(after.len() >= 3, "a tenth, a third, all: {after:?}");
        assert!(all <= 5000.0, "a replay took {all:.0} ms");
    }
}

/// Writes down how long each frame took: script with all that follows from it, and the drawing of the canvases, which
/// reading a pixel brings about at once.
const WATCH_FRAMES: &str = "
    window.frames_ms = [];
    const ask = window.requestAnimationFrame;
    window.requestAnimationFrame = (callback) => {
        let began = 0;
        const handle = ask.call(window, (time) => {
            began = performance.now();
            callback(time);
        });
        // In the same frame, once what the callback has set going is done.
        ask.call(window, () => {
            for (const canvas of document.querySelectorAll('.network canvas')) {
                canvas.getContext('2d').getImageData(0, 0, 1, 1);
            }
            frames_ms.push(performance.now() - began);
        });
        return handle;
    };
";

/// The value below which a share of sorted values lies, from 0 to 1; there must be at least one value.
fn at(sorted: &[f64], share: f64) -> f64 {
    sorted[(share * (sorted.len() - 1) as f64) as usize]
}

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn frames_of_a_schedule() {
    for (mesh, most_ms) in [("16x16", Some(8.0)), ("32x32", None)] {
        let page = Page::closed();
        page.before_loading(WATCH_FRAMES);
        page.visit(&format!("#v=1&w=topology&graph=mesh&mesh={mesh}"));
        page.wait_until_idle();
        page.wait_for_text(&format!("all_gather over mesh:{mesh} in"));
        page.wait_until_idle();
        page.run("document.querySelector('.network').scrollIntoView(); frames_ms.length = 0", &[]);
        page.click("button", "Play");
        page.run("await new Promise((resolve) => setTimeout(resolve, 8000))", &[]);
        let frames = page.run("return frames_ms.slice(2)", &[]);
        let mut frames: Vec<f64> = frames.as_array().unwrap().iter().filter_map(Value::as_f64).collect();
        frames.sort_by(f64::total_cmp);
        assert!(frames.len() > 60, "only {} frames", frames.len());
        println!(
            "frames/mesh_{mesh}: {} frames, median {:.1} ms, p95 {:.1} ms, longest {:.1} ms",
            frames.len(),
            at(&frames, 0.5),
            at(&frames, 0.95),
            at(&frames, 1.0)
        );
        if let Some(most_ms) = most_ms {
            assert!(at(&frames, 0.95) <= most_ms, "a frame takes {:.1} ms", at(&frames, 0.95));
        }
    }
}

/// Chooses a mesh, and writes down when its schedule is told and what keeps the page's thread meanwhile.
const CHOOSE_MESH: &str = "
    timeline.longTasks.length = 0;
    timeline.chosen = performance.now();
    delete timeline.answered;
    const told = `mesh:${arguments[0]} in`;
    const observer = new MutationObserver(() => {
        if (!timeline.answered && document.querySelector('.answer')?.innerText.includes(told)) {
            timeline.answered = performance.now();
            observer.disconnect();
        }
    });
    observer.observe(document, { subtree: true, childList: true, characterData: true });
    history.replaceState(null, '', location.pathname);
    location.hash = `#v=1&w=topology&graph=mesh&mesh=${arguments[0]}`;
";

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn schedules_of_a_thousand_and_of_four_thousand_nodes() {
    for (mesh, most_ms) in [("32x32", Some(1000.0)), ("64x64", None)] {
        let page = Page::closed();
        page.before_loading(WATCH);
        page.before_loading(WATCH_MEMORY);
        page.visit("#v=1&w=topology&graph=mesh&mesh=4x4");
        page.wait_for_text("all_gather over mesh:4x4 in");
        page.wait_until_idle();
        let mut took = Vec::new();
        for _ in 0..if most_ms.is_some() { 5 } else { 1 } {
            page.run(CHOOSE_MESH, &[mesh.into()]);
            page.wait_for_state("busy");
            page.wait_until_idle();
            page.wait_for_text(&format!("all_gather over mesh:{mesh} in"));
            let timeline = page.run("return timeline", &[]);
            took.push(timeline["answered"].as_f64().unwrap() - timeline["chosen"].as_f64().unwrap());
            let tasks = timeline["longTasks"].as_array().unwrap().iter();
            let tasks: Vec<String> = tasks.map(|task| format!("{:.0}", task[1].as_f64().unwrap())).collect();
            println!(
                "answers/mesh_{mesh}: {:.0} ms from the choice to the schedule; tasks over 50 ms: {}",
                took.last().unwrap(),
                if tasks.is_empty() { "none".to_owned() } else { tasks.join(", ") }
            );
            page.run("location.hash = '#v=1&w=topology&graph=mesh&mesh=4x4'", &[]);
            page.wait_for_text("all_gather over mesh:4x4 in");
            page.wait_until_idle();
        }
        let bytes = worker_memory_bytes(&page).1;
        println!("answers/mesh_{mesh}: the worker's memory grew to {:.0} MB", bytes / 1e6);
        assert!(bytes < 2e9, "of 4 GiB that a worker can have");
        let fastest = took.iter().copied().fold(f64::MAX, f64::min);
        assert!(most_ms.is_none_or(|most_ms| fastest <= most_ms), "{fastest:.0} ms");
    }
}
