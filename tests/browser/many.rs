//! What a file or a report holds many of: the page draws what is looked at, and answers meanwhile.

use collectune::{
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    report::{self, Exhibit, Report, ReportFormat, Section, Workbench, Written},
    text::{Column, Entry, Listing},
};
use serde_json::Value;

use crate::page::{Page, key};

/// Watches how long the page's own thread is busy at a time, from now on.
const WATCH_TASKS: &str = "
    window.long = [];
    new PerformanceObserver((list) => long.push(...list.getEntries().map((entry) => entry.duration)))
        .observe({ type: 'longtask' });
";

/// By the clock, divided by how many programs ask for each processor: others must make no fault of the page's.
fn longest_task_ms(page: &Page) -> f64 {
    page.run("return Math.max(0, ...long)", &[]).as_f64().unwrap() / programs_per_processor()
}

/// In the mean of the last minute; at least 1.
fn programs_per_processor() -> f64 {
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let running = load.and_then(|text| text.split(' ').next()?.parse::<f64>().ok()).unwrap_or(1.0);
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (running / processors as f64).max(1.0)
}

fn elements(page: &Page) -> u64 {
    page.run("return document.querySelectorAll('*').length", &[]).as_u64().unwrap()
}

/// A measurement at each of so many node counts.
fn of_node_counts(all: u32) -> String {
    let mut text =
        String::from("collective,num_nodes,num_gpus,size_bytes,time_ip_us,busbw_ip,errors_ip,algo,proto,nchannels\n");
    for nodes in 1..=all {
        let (ranks, time_us) = (f64::from(nodes * 8), f64::from(100 + nodes % 7));
        let busbw = 1_048_576.0 / time_us / 1000.0 * 2.0 * (ranks - 1.0) / ranks;
        text += &format!("all_reduce,{nodes},{ranks},1048576,{time_us},{busbw:.4},0,RING,LL,4\n");
    }
    text
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn sixty_thousand_scales() {
    let page = Page::open();
    page.run(WATCH_TASKS, &[]);
    page.drop_files(&[("scales.csv", of_node_counts(60_000).as_bytes())]);
    page.wait_for_text("60,000 rows");
    page.find("region", "Answer");
    page.wait_until_idle();
    page.unfold();
    page.wait_for_text("Nothing is learnt: 60,000 collectives and scales are more than the 2,000");
    assert!(!page.text().contains("no longer answers"), "{}", page.text());
    let longest = longest_task_ms(&page);
    assert!(longest < 5000.0, "the page's own thread was busy for {longest} ms");
    assert!(elements(&page) < 10_000, "{} elements", elements(&page));
    // Each of them is found all the same.
    page.fill("Find in Scale", "59999 nodes");
    page.choose("Scale", "59999 nodes");
    page.wait_until(|| page.fragment().contains("&n=59999&"), "it is shown");
    page.wait_for_text("on 59999 nodes");
    page.click("checkbox", "All collectives and scales");
    page.find("button", "further rows");
    page.wait_until_idle();
    assert!(elements(&page) < 20_000, "{} elements", elements(&page));
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn hundreds_of_files() {
    let page = Page::open();
    let text = of_node_counts(4);
    let names: Vec<String> = (0..600).map(|number| format!("part-{number:03}.csv")).collect();
    let mut files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), text.as_bytes())).collect();
    files.push(("unreadable.bin", b"\0\x01\x02 nothing"));
    page.drop_files(&files);
    page.wait_until_idle();
    let listed = || page.run("return document.querySelectorAll('.file').length", &[]);
    assert_eq!(listed(), 60);
    // What could not be read stands first.
    assert_eq!(page.text_of("return document.querySelector('.file-name').innerText"), "unreadable.bin");
    page.fill("Filter files", "part-59");
    page.wait_until(|| listed() == 10, "the files of that name are listed");
    page.unfold();
    page.find("button", "Close part-599.csv");
    page.fill("Filter files", key::BACKSPACE);
    page.click("button", "Show 240 of 541 more");
    page.wait_until(|| listed() == 300, "further ones are shown");
    page.assert_clean();
}

/// A report with as many sections as `parts`, each with a chart, and a table of so many columns.
fn large(parts: usize, columns: usize) -> Report {
    let axis = |label: &str| Axis { label: label.to_owned(), quantity: Quantity::Count, spacing: Spacing::Linear };
    let points = (0..200).map(|x| Point { x: f64::from(x), y: f64::from(x * x % 97), ..Point::default() });
    let series = Series {
        name: "measured".into(),
        colour: Colour::Palette(0),
        mark: Mark::LineAndDots,
        points: points.collect(),
    };
    let cells = |row: usize| (0..columns).map(|column| Entry::text(format!("{row}/{column}"))).collect::<Vec<_>>();
    let section = |part: usize| Section {
        title: format!("Part {part}"),
        charts: vec![Chart {
            id: format!("chart-{part}"),
            title: format!("Chart {part}"),
            summary: format!("What chart {part} shows."),
            x: axis("step"),
            y: axis("value"),
            series: vec![series.clone()],
        }],
        tables: vec![Exhibit::new(
            format!("table-{part}"),
            format!("Table {part}"),
            Listing {
                columns: (0..columns).map(|_| Column::words("Cell", "a cell")).collect(),
                rows: (0..20).map(cells).collect(),
            },
        )],
        ..Section::default()
    };
    Report {
        workbench: Workbench::Tuning,
        title: "A large report".into(),
        program: "collectune 0.1.0".into(),
        sections: (1..=parts).map(section).collect(),
        ..Report::default()
    }
}

fn file(report: &Report) -> String {
    match report::write(report, &ReportFormat::Json.into()).unwrap() {
        Written::File { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_report_of_a_hundred_charts_and_tables() {
    let page = Page::open();
    page.run(WATCH_TASKS, &[]);
    page.drop_files(&[("large.json", file(&large(100, 8)).as_bytes())]);
    page.find("heading", "A large report");
    page.wait_until(
        || page.run("return document.querySelectorAll('.report-section').length", &[]) == 100,
        "all is there",
    );
    page.wait_until_idle();
    let canvases = || page.run("return document.querySelectorAll('canvas').length", &[]).as_u64().unwrap();
    assert!(canvases() < 100, "{} canvases before anybody comes near", canvases());
    let longest = longest_task_ms(&page);
    assert!(longest < 2000.0, "the page's own thread was busy for {longest} ms");
    // A chart far down is drawn when it comes into view, or when the keyboard comes to its place.
    page.click("button", "Part 90");
    let is_drawn = |chart: u32| {
        let css = format!("return !!document.querySelector('[aria-label=\"Chart {chart}\"] canvas')");
        page.run(&css, &[]) == true
    };
    page.wait_until(|| is_drawn(90), "it is drawn");
    assert!(!is_drawn(60), "one that nobody looks at is not");
    page.wait_until(|| page.rows("Table 90") == 20, "the table beside it as well");
    page.run("document.querySelector('[aria-label=\"What chart 60 shows.\"]').focus()", &[]);
    page.wait_until(
        || page.text_of("return document.activeElement.getAttribute('aria-label')") == "Chart 60",
        "the keyboard finds the chart at its place",
    );
    page.press(key::RIGHT);
    // On paper everything is.
    page.run("dispatchEvent(new Event('beforeprint'))", &[]);
    page.wait_until(
        || page.run("return document.querySelectorAll('.chart-paper svg').length", &[]) == 100,
        "all charts are drawn for paper",
    );
    let rows = page.run("return document.querySelectorAll('tbody tr').length", &[]);
    assert!(rows.as_u64().unwrap() >= 2000, "{rows} rows on paper");
    page.run("dispatchEvent(new Event('afterprint'))", &[]);
    page.assert_clean();
}

#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn a_table_of_a_thousand_columns() {
    let page = Page::open();
    page.run(WATCH_TASKS, &[]);
    page.drop_files(&[("wide.json", file(&large(1, 1000)).as_bytes())]);
    page.find("heading", "A large report");
    page.wait_until_idle();
    assert_eq!(page.rows("Table 1"), 8);
    let longest = longest_task_ms(&page);
    assert!(longest < 4000.0, "the page's own thread was busy for {longest} ms");
    page.click("button", "Show 12 further rows");
    page.wait_until(|| page.rows("Table 1") == 20, "the others are shown");
    page.assert_clean();
}

/// The address changes with each choice, and no change of it makes the browser ask the host for anything.
#[test]
#[ignore = "needs the built page: cargo xtask test --only browser"]
fn changes_of_the_address_ask_for_nothing() {
    let page = Page::open();
    page.click("button", "Open the example");
    page.wait_until_idle();
    let before = page.requests().len();
    for panel in ["Noise", "Coverage", "Answer"] {
        page.click("tab", panel);
        page.wait_until_idle();
    }
    page.click("button", "Larger size");
    for fragment in ["#v=1&w=topology", "#v=1&w=overlap", "#v=1&w=policy", "#v=1&w=tuning"] {
        page.visit(fragment);
        page.wait_until_idle();
    }
    page.run("history.back()", &[]);
    page.wait_until_idle();
    let asked = page.requests().split_off(before);
    assert_eq!(asked, [] as [String; 0]);
    let icon = page.run("return document.querySelector('link[rel=icon]').href.slice(0, 19)", &[]);
    assert_eq!(icon, Value::from("data:image/svg+xml,"));
    page.assert_clean();
}
