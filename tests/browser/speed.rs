//! How long it takes, in the browser: `cargo xtask bench` runs these alone and shows what they print.

use std::fmt::Write;

use serde_json::Value;

use crate::{
    page::Page,
    sweep::{real_sweeps, sweep},
};

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

struct Times {
    /// From the drop to the first row of a table.
    table_ms: f64,
    /// To the end of training.
    model_ms: f64,
    /// To the end of validation.
    validated_ms: f64,
    /// The longest task on the page's thread after the drop; 0 where none took 50 ms.
    longest_task_ms: f64,
}

fn time(page: &Page, files: &[(&str, &[u8])]) -> Times {
    page.drop_files(files);
    page.wait_until_idle();
    page.wait_for_text("validated on what was held out");
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
        longest_task_ms: tasks
            .filter(|task| task[0].as_f64().unwrap() > dropped)
            .map(|task| task[1].as_f64().unwrap())
            .fold(0.0, f64::max),
    }
}

fn open() -> Page {
    let page = Page::closed();
    page.before_loading(WATCH);
    page.visit("");
    page.wait_until_idle();
    page
}

fn report(what: &str, times: &Times) {
    let Times { table_ms, model_ms, validated_ms, longest_task_ms } = times;
    println!(
        "{what}: table after {table_ms:.0} ms, model's answer after {model_ms:.0} ms, validated after {validated_ms:.0} ms; \
         longest task of the page {longest_task_ms:.0} ms"
    );
}

#[test]
#[ignore = "needs the built page: cargo xtask bench"]
fn first_answer() {
    let Some(folder) = real_sweeps() else { return };
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
    let rows = sweep(16, 16);
    let rows: Vec<&str> = rows.lines().skip(1).collect();
    for row in rows.iter().cycle().take(1_000_000) {
        writeln!(text, "{row}").unwrap();
    }
    let times = time(&open(), &[("million.csv", text.as_bytes())]);
    report(&format!("a_million_rows/{:.0}_MB", text.len() as f64 / 1e6), &times);
    assert!(times.longest_task_ms <= 50.0, "the page froze for {:.0} ms", times.longest_task_ms);
}
