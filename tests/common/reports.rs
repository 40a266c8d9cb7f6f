//! Reports are written in every form and opened again, also after hostile changes.

#![allow(clippy::unwrap_used)]

use std::{env, fs, path::PathBuf};

use collectune::{
    intake::{
        self, FileContent, Outcome,
        files::{FileSource, FileToLoad, read_files},
    },
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    progress::Silent,
    report::{
        Contents, Exhibit, Fact, LoadedFile, Report, ReportFormat, Section, TextFile, Workbench, WriteOptions, Written,
        annotations::{self, Annotations, Note},
        html,
        link::{self, LinkError, LinkSize},
        markdown, open,
        placement::Placement,
        wire,
    },
    text::{Column, Entry, Listing, is_control},
    tuning::{aggregate::Target, loaded::predict_folds, parameters::Parameters, simulate::Simulation},
    worker::{
        executor::{ExecuteError, Executor},
        protocol::{Request, Response},
    },
};
use proptest::prelude::*;

use crate::support::real;

/// Loads, learns and validates as the page does, with few trees.
fn studied(files: &[(&str, Vec<u8>)]) -> Executor {
    let names: Vec<FileToLoad> =
        (0..).zip(files).map(|(id, (name, _))| FileToLoad { id, name: (*name).to_owned(), mapping: None }).collect();
    let sources = files.iter().map(|(_, bytes)| FileSource::from(bytes.clone()));
    let opened = read_files(&names, sources.collect(), &mut Silent);
    let mut executor = Executor::default();
    executor.take_in(opened, Target::Time, &mut Silent).unwrap();
    let parameters = Parameters { trees: 10, stages: 20, ..Parameters::default() };
    let trained = executor.studies.tuning.loaded.train(parameters.clone(), &mut Silent).unwrap();
    let all: Vec<u32> = (0..trained.folds.len() as u32).collect();
    let folds = predict_folds(&trained.training, &parameters, &all, &mut Silent).unwrap();
    executor.studies.tuning.loaded.validate(&[folds], &mut Silent).unwrap();
    executor
}

/// One collective at twenty sizes on three scales.
fn typical() -> Vec<(&'static str, Vec<u8>)> {
    let sizes: Vec<u64> = (12..32).map(|power| 1 << power).collect();
    let simulation = Simulation {
        sizes,
        nodes: vec![1, 2, 4],
        collectives: vec![collectune::collective::Collective::AllReduce],
        ..Simulation::example()
    };
    vec![("all_reduce.csv", simulation.to_csv().into_bytes())]
}

/// Prints a report's link at each stage of shortening, and returns the final one.
fn measured_link(what: &str, executor: &Executor) -> link::Link {
    let report = executor.report(&Contents::whole()).unwrap();
    println!("{what}: JSON of the whole report {} characters", wire::write(&report).len());
    for link::Reduced { report: coarse, left_out, .. } in link::for_link(&report) {
        let json = wire::write(&coarse);
        let chars = link::of_json(&json).chars;
        println!("  {} characters of JSON, {chars} of a link without {}", json.len(), left_out.last().unwrap());
    }
    let link = full_link(&report);
    println!("  link: {} characters, fits: {}, without {:?}", link.chars, link.fits, link.left_out);
    let opened = link::decode(&link.fragment).unwrap();
    assert_eq!(opened.title, report.title);
    assert_eq!(opened.sections.len(), report.sections.len());
    assert!(opened.sections.iter().any(|section| !section.charts.is_empty()), "curves travel");
    link
}

/// The longest link of a report.
fn full_link(report: &Report) -> link::Link {
    let [.., full] = link::encode(report, 0);
    full
}

#[test]
fn a_typical_report_fits_a_link() {
    let link = measured_link("simulated, 20 sizes on 3 scales", &studied(&typical()));
    assert!(link.fits && link.chars <= LinkSize::Full.most_chars(), "{} characters", link.chars);
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn a_report_of_real_sweeps_fits_a_link() {
    let names = ["all_reduce_1n.csv", "all_reduce_2n_median.csv", "all_reduce_3n_median.csv"];
    let files = names.map(|name| (name, real::file(&format!("tuning/{name}"))));
    let link = measured_link("real all_reduce on 1, 2 and 3 nodes", &studied(&files));
    assert!(link.fits && link.chars <= LinkSize::Full.most_chars(), "{} characters", link.chars);
}

/// A report that uses every field, with the given words as all texts.
fn filled(words: &str, value: f64) -> Report {
    let text = || words.to_owned();
    let point = |x: f64, y: f64| Point { x, y, ..Point::default() };
    let whisker = Point { low: Some(value), value: Some(value), note: text(), ..point(value, value) };
    let series = Series { name: text(), colour: Colour::Palette(3), mark: Mark::Whiskers, points: vec![whisker] };
    let axis = Axis { label: text(), quantity: Quantity::TimeUs, spacing: Spacing::Linear };
    let bar = Point { value: Some(0.0), note: text(), ..point(value, 0.0) };
    let cell = Point { value: Some(value), ..point(0.0, 0.0) };
    let cells = Mark::Cells(Quantity::Share, Spacing::Logarithmic);
    let areas = |mark, x: &Axis, points| Chart {
        id: "areas".to_owned(),
        title: text(),
        summary: text(),
        x: x.clone(),
        y: Axis::of_names(words, vec!["a".to_owned(), "b".to_owned()]),
        series: vec![Series { name: text(), colour: Colour::Answer, mark, points }],
    };
    let timeline = areas(Mark::Spans, &axis, vec![bar]);
    let heat_map = areas(cells, &timeline.y, vec![cell, Point { value: None, ..point(0.0, 1.0) }]);
    let chart = Chart {
        id: "chart".to_owned(),
        title: text(),
        summary: text(),
        x: axis.clone(),
        y: axis,
        series: vec![series],
    };
    let column =
        |is_numeric| Column { name: text().into(), meaning: text().into(), is_numeric, is_secondary: is_numeric };
    let rows = vec![
        vec![Entry { text: text(), number: Some(value) }, Entry::text(text())],
        vec![Entry::text("12 of 13"), Entry { text: String::new(), number: None }],
    ];
    let listing = Listing { columns: vec![column(true), column(false)], rows };
    let file = TextFile { name: "tuner.conf".to_owned(), text: text(), note: text() };
    Report {
        workbench: Workbench::Overlap,
        title: text(),
        summary: vec![text(), text()],
        program: text(),
        made_on: Some(text()).filter(|day| !day.is_empty()),
        figures: Vec::new(),
        in_view: 0,
        files: vec![LoadedFile { name: Some("a.csv".to_owned()), format: text(), holds: text(), left_out: 3 }],
        parameters: vec![Fact { name: text(), value: text() }],
        sections: vec![Section {
            title: text(),
            text: vec![text()],
            charts: vec![chart, timeline, heat_map],
            tables: vec![Exhibit::new("table", text(), listing)],
            files: vec![file],
            form: None,
            placement: Placement::default(),
        }],
        snapshot: None,
    }
}

proptest! {
    #[test]
    fn every_report_comes_back(words: String, value in prop_oneof![
        any::<f64>().prop_filter("not a number equals nothing", |value| !value.is_nan()),
        Just(f64::INFINITY), Just(16_777_216.0), Just(0.0),
    ]) {
        let report = filled(&words, value);
        let once = wire::read(&wire::write(&report)).unwrap();
        // Rounding a second time changes nothing.
        prop_assert_eq!(&wire::read(&wire::write(&once)).unwrap(), &once);
        let rounded = once.sections[0].charts[0].series[0].points[0].x;
        prop_assert!(rounded == value || (rounded - value).abs() <= value.abs() * 5.1e-5, "{} {}", value, rounded);
        let exact = filled(&words, rounded);
        prop_assert_eq!(&wire::read(&wire::write(&exact)).unwrap(), &exact);
        // In every form.
        let page = html::html(&exact).unwrap();
        prop_assert!(open::is_report(&page));
        prop_assert_eq!(&open::open(&page).unwrap(), &exact);
        let coarse = link::for_link(&exact).swap_remove(0).report;
        prop_assert_eq!(link::decode(&full_link(&exact).fragment).unwrap(), wire::read(&wire::write(&coarse)).unwrap());
    }

    #[test]
    fn no_text_is_read_with_a_panic(json in "[\\[\\]{}\",:0-9a-z]{0,200}") {
        let _ = wire::read(&json);
        let _ = open::open(&json);
        let _ = link::decode(&format!("#v=1&w=report&d={json}"));
    }
}

/// Two sections of what to deploy, whose cells are these words, and more sizes than any link holds.
fn to_deploy(words: &[String], rows: usize) -> Report {
    let word = |at: usize| words.get(at % words.len().max(1)).cloned().unwrap_or_default();
    let columns = ["Size", "Advice", "Configuration", "Gain", "Gain interval", "Support"];
    let row = |at: usize| {
        let gain = at as f64 * 1.7 - 20.0;
        let range = format!("{:.1} to {:.1} %", gain - 2.0, gain + 2.0);
        let advice = if at.is_multiple_of(5) { "keep default".to_owned() } else { word(at) };
        vec![
            Entry::size(4096 << (at % 20)),
            Entry::text(advice),
            Entry::text(word(at / 2)),
            Entry::number(Some(gain), |gain| format!("{gain:.1} %")),
            Entry::text(range),
            Entry::text(word(at / 7)),
        ]
    };
    let listing =
        Listing { columns: columns.map(|name| Column::words(name, "")).to_vec(), rows: (0..rows).map(row).collect() };
    let mut report = filled(&word(0), 1.5);
    report.summary = words.to_vec();
    for title in ["one", "two"] {
        let tables = vec![Exhibit::new(title, "What to deploy", listing.clone())];
        let text = words.iter().map(|word| format!("Note: {word}")).collect();
        report.sections.push(Section { title: title.to_owned(), tables, text, ..Section::default() });
    }
    report
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn every_length_of_a_link_is_kept_and_says_what_it_leaves_out(
        words in proptest::collection::vec(any::<String>(), 0..30),
        repeat in prop_oneof![Just(1), Just(50), Just(1000)],
        rows in 0_usize..400,
        page in 0_usize..500,
    ) {
        let words: Vec<String> = words.iter().map(|word| word.repeat(repeat)).collect();
        for report in [to_deploy(&words, rows), filled(&words.concat(), 2.5)] {
            for (size, link) in LinkSize::ALL.into_iter().zip(link::encode(&report, page)) {
                prop_assert!(link.fits && link.chars == link.fragment.len() + page, "{:?}", link);
                prop_assert!(link.chars <= size.most_chars(), "{:?}: {}", size, link.chars);
                let opened = link::decode(&link.fragment).unwrap();
                let said = opened.sections.first().and_then(|section| section.text.first());
                let is_short = said.is_some_and(|said| said.starts_with("Left out: "));
                prop_assert!(is_short || size != LinkSize::Small, "{:?}", said);
                let told = format!("Left out: {}.", link.left_out.join("; "));
                prop_assert!(!is_short || said == Some(&told));
            }
        }
    }
}

#[test]
fn longer_links_of_other_tables_hold_their_first_rows() {
    let mut report = filled("spans", 1.5);
    let row = |at: u32| vec![Entry::text(format!("link {}", at * at % 10_007)), Entry::text(format!("{at}"))];
    let columns = ["Link", "Uses"].map(|name| Column::words(name, "")).to_vec();
    report.sections[0].tables[0].listing = Listing { columns, rows: (0..3000).map(row).collect() };
    report.sections[0].files[0].text = (0..9000_u32).map(|at| format!("{}\n", at * at % 10_007)).collect();
    let [small, medium, full] = link::encode(&report, 100);
    let rows = |link: &link::Link| link::decode(&link.fragment).unwrap().sections[0].tables[0].listing.rows.len();
    assert!(small.fits && medium.fits && full.fits);
    assert_eq!((rows(&medium), rows(&full)), (20, 20));
    assert!(full.left_out.contains(&"rows of tables after the first 20".to_owned()), "{:?}", full.left_out);
    assert!(full.left_out.contains(&"files".to_owned()), "{:?}", full.left_out);
}

#[test]
fn what_was_left_out_in_vain_comes_back() {
    let mut report = filled("spans", 1.5);
    let points =
        (0..4000_u32).map(|at| Point::new(f64::from(at), f64::from(at * at % 99_991), String::new())).collect();
    report.sections[0].charts[0].series[0].points = points;
    let text: String = (0..400_u32).map(|at| format!("{} ", at * at % 997)).collect();
    annotations::annotate(
        &mut report,
        &Annotations { title: String::new(), notes: vec![Note { about: String::new(), text: text.clone() }] },
    );
    let link = full_link(&report);
    assert!(link.fits);
    assert!(!link.left_out.contains(&"the ends of long notes".to_owned()), "{:?}", link.left_out);
    let opened = link::decode(&link.fragment).unwrap();
    assert!(opened.sections[0].charts.is_empty() && !opened.sections[0].files.is_empty(), "{:?}", link.left_out);
    assert!(opened.summary.contains(&format!("Note: {}", text.trim())), "{:?}", opened.summary);
}

#[test]
fn a_chart_of_measured_points_alone_goes_with_them() {
    let mut report = filled(&"words ".repeat(2000), 1.5);
    let points = (0..4000).map(|at| Point::new(f64::from(at), f64::from(at * at % 997), String::new())).collect();
    let chart = &mut report.sections[0].charts[0];
    (chart.series[0].mark, chart.series[0].colour, chart.series[0].points) = (Mark::Dots, Colour::Muted, points);
    for link::Reduced { report: coarse, .. } in link::for_link(&report) {
        assert!(coarse.sections[0].charts.iter().all(|chart| !chart.series.is_empty()));
    }
}

#[test]
fn the_smallest_form_is_of_rows_that_sizes_share() {
    let mut report = to_deploy(&["deploy".to_owned()], 8);
    let note = Note { about: "two: 64 KiB".to_owned(), text: "Ours.".to_owned() };
    annotations::annotate(&mut report, &Annotations { title: "Friday".to_owned(), notes: vec![note] });
    let opened = link::decode(&link::encode(&report, 100)[0].fragment).unwrap();
    assert_eq!((opened.title.as_str(), opened.sections.len()), ("Friday", 1));
    assert_eq!((opened.files.len(), opened.parameters.len(), opened.snapshot), (0, 0, None));
    let listing = &opened.sections[0].tables[0].listing;
    let rows: Vec<String> = listing
        .rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join("|"))
        .collect();
    assert_eq!(
        rows,
        [
            "one|4 KiB|keep default|||deploy|",
            "one|8 KiB – 64 KiB|deploy|deploy|−18 to −13 % (−20 to −11)|deploy|",
            "one|128 KiB|keep default|||deploy|",
            "one|256 KiB – 512 KiB|deploy|deploy|−9.8 to −8.1 % (−12 to −6.1)|deploy|",
            "two|4 KiB|keep default|||deploy|",
            "two|8 KiB – 32 KiB|deploy|deploy|−18 to −15 % (−20 to −13)|deploy|",
            "two|64 KiB|deploy|deploy|−13 % (−15 to −11)|deploy|Ours.",
            "two|128 KiB|keep default|||deploy|",
            "two|256 KiB – 512 KiB|deploy|deploy|−9.8 to −8.1 % (−12 to −6.1)|deploy|",
        ]
    );
}

#[test]
fn the_smallest_form_of_an_opened_smallest_form_is_the_same() {
    let mut report = to_deploy(&["deploy".to_owned(), "measure first".to_owned()], 8);
    let note = |about: &str| Note { about: about.to_owned(), text: "Ours.".to_owned() };
    let notes = vec![note("two: 64 KiB"), note("one"), note("")];
    annotations::annotate(&mut report, &Annotations { title: String::new(), notes });
    let small = |report: &Report| link::decode(&link::encode(report, 100)[0].fragment).unwrap();
    let once = small(&report);
    let again = small(&once);
    assert_eq!(again.sections[0].tables[0].listing.rows, once.sections[0].tables[0].listing.rows);
    assert_eq!((&again.summary, &again.sections[0].text[1..]), (&once.summary, &once.sections[0].text[1..]));
}

/// The links of sweeps that were learnt from, and their lengths.
fn lengths(names: &[&str]) -> Vec<link::Link> {
    let files: Vec<_> = names.iter().map(|name| (*name, real::file(&format!("tuning/{name}.csv")))).collect();
    let report = studied(&files).report(&Contents::whole()).unwrap();
    let links = link::encode(&report, 100);
    for (size, link) in LinkSize::ALL.into_iter().zip(&links) {
        let opened = link::decode(&link.fragment).unwrap();
        let rows: usize = opened
            .sections
            .iter()
            .flat_map(|section| &section.tables)
            .filter(|table| table.title == "What to deploy")
            .map(|table| table.listing.rows.len())
            .sum();
        println!(
            "{}: {} characters, {rows} rows of what to deploy, without {:?}",
            size.name(),
            link.chars,
            link.left_out
        );
    }
    links.into()
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn real_sweeps_fit_a_small_link() {
    let whole = |links: &[link::Link]| !links[0].left_out.iter().any(|what| what.contains("rows, those"));
    let two = lengths(&["all_reduce_2n_median", "all_reduce_3n_median"]);
    assert!(two.iter().all(|link| link.fits) && whole(&two), "{:?}", two[0].left_out);
    let six = lengths(&real::SWEEPS);
    assert!(six.iter().all(|link| link.fits));
}

#[test]
fn a_qr_code_is_read_back() {
    for length in [60, 700, 1990, 2953] {
        let letters = (0..length).map(|at| char::from(b'a' + (at * at % 23) as u8));
        let address: String = "https://tuning.example/#v=1&w=report&d=".chars().chain(letters).take(length).collect();
        let svg = link::qr_svg(&address).unwrap();
        let width: usize = svg.split("viewBox=\"0 0 ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        // Each run of dark modules is `M<x> <y>.5h<length>`.
        let mut dark = vec![false; width * width];
        for run in svg.split("stroke=\"#000\" d=\"M").nth(1).unwrap().split('"').next().unwrap().split('M') {
            let (x, rest) = run.split_once(' ').unwrap();
            let (y, length) = rest.split_once(".5h").unwrap();
            let [x, y, length] = [x, y, length].map(|number| number.parse::<usize>().unwrap());
            dark[y * width + x..y * width + x + length].fill(true);
        }
        let is_dark = |x: usize, y: usize| dark[y * width + x];
        let frame =
            |at: usize| (0..4).all(|edge| !is_dark(at, edge) && !is_dark(edge, at) && !is_dark(at, width - 1 - edge));
        assert!((0..width).all(frame), "four white modules around it");
        const SCALE: usize = 4;
        let grey = |x: usize, y: usize| if is_dark(x / SCALE, y / SCALE) { 0 } else { 255 };
        let mut picture = rqrr::PreparedImage::prepare_from_greyscale(width * SCALE, width * SCALE, grey);
        let found = picture.detect_grids();
        assert_eq!(found.len(), 1, "{length}");
        assert_eq!(found[0].decode().unwrap().1, address);
    }
    assert_eq!(link::qr_svg(&"a".repeat(2954)), None);
}

#[test]
fn a_title_and_notes_are_in_every_form() {
    let report = filled("plain", 1.0);
    let note = |about: &str, text: &str| Note { about: about.to_owned(), text: text.to_owned() };
    let notes = vec![
        note("", "<i>whole</i>"),
        note("plain", "<i>section</i>"),
        note("plain: 12 of 13", "<i>row</i>"),
        note("gone", "<i>gone</i>"),
    ];
    let annotations = Annotations { title: "<b>Friday</b>".to_owned(), notes };
    for form in ReportFormat::ALL {
        let options = WriteOptions { form: *form, annotations: annotations.clone(), page: String::new() };
        let said: Vec<String> = match collectune::report::write(&report, &options).unwrap() {
            Written::Links(links) => {
                assert_eq!(links.subjects, ["plain", "plain: plain", "plain: 12 of 13"]);
                links.sizes.iter().map(|link| wire::write(&link::decode(&link.fragment).unwrap())).collect()
            }
            Written::File { name, text, .. } => {
                assert!(name.starts_with("collectune-b-friday-b"), "{name}");
                vec![text.replace("&lt;", "<").replace("&gt;", ">").replace("\\u003c", "<").replace("\\u003e", ">")]
            }
        };
        for text in said {
            for words in ["<b>Friday</b>", "<i>whole</i>", "<i>section</i>", "<i>row</i>", "gone: <i>gone</i>"] {
                assert!(text.contains(words), "{words} is not in the {}: {text}", form.name());
            }
        }
    }
}

#[test]
fn what_is_not_finite_travels() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let read = wire::read(&wire::write(&filled("x", value))).unwrap();
        let point = &read.sections[0].charts[0].series[0].points[0];
        let number = read.sections[0].tables[0].listing.rows[0][0].number.unwrap();
        assert!(
            [point.x, point.low.unwrap(), number]
                .iter()
                .all(|n| n.to_bits() == value.to_bits() || n.is_nan() && value.is_nan())
        );
        html::html(&read).unwrap();
    }
}

#[test]
fn bars_of_a_long_run_keep_their_places() {
    let mut report = filled("x", 1.0);
    let bars = &mut report.sections[0].charts[1].series[0].points;
    *bars = vec![Point::span(61_234_567.25, 61_234_789.5, 0), Point::span(0.126_456_7, 3.2, 1)];
    let read = wire::read(&wire::write(&report)).unwrap();
    let bars: Vec<_> =
        read.sections[0].charts[1].series[0].points.iter().map(|bar| (bar.x, bar.value, bar.y)).collect();
    assert_eq!(bars, [(61_234_567.0, Some(222.25), 0.0), (0.126_46, Some(3.0735), 1.0)]);
}

const HOSTILE: [&str; 9] = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' onmouseover='alert(1)",
    "<!--<script>",
    "]]>&lt;b&gt;",
    "```\n# Title\n<script>alert(1)</script>\n```\n````",
    "[x](javascript:alert(1)) ![y](https://e.vil/z) **b** <https://e.vil> www.e.vil",
    "\u{2028}\u{2029}\0\u{1b}[31m\r\n- item\n1. one\n    code",
];

#[test]
fn no_word_becomes_html() {
    let plain = html::html(&filled("plain", 1.0)).unwrap();
    let tags = |page: &str| page.matches('<').count();
    for words in HOSTILE {
        let page = html::html(&filled(words, 1.0)).unwrap();
        assert_eq!(tags(&page), tags(&plain), "{words}");
        assert_eq!(page.matches("<script").count(), 1, "the data, and nothing else");
        // Quotes in words are escaped: as many attributes as in a plain page.
        let body = |page: &str| {
            page.split_once("</head>")
                .unwrap()
                .1
                .replace(" class=\"wide\"", "")
                .replace(" class=\"n\"", "")
                .matches('"')
                .count()
        };
        assert_eq!(body(&page), body(&plain), "{words}");
        assert!(!page.contains('\0') && !page.contains('\u{1b}'), "{words}");
    }
    assert!(
        !plain.contains("style=\"") && !plain.contains("http://")
            || plain.matches("http://").count() == plain.matches("xmlns=\"http://www.w3.org/2000/svg\"").count()
    );
    assert!(plain.contains("default-src 'none'") && !plain.contains("src=") && !plain.contains("https://"));
}

#[test]
fn no_word_becomes_markdown() {
    for words in HOSTILE {
        let text = markdown::markdown(&filled(words, 1.0));
        // What stands in a block of code is shown as it is.
        let (mut outside, mut fence) = (String::new(), None::<usize>);
        for line in text.lines() {
            let ticks = line.len() - line.trim_start_matches('`').len();
            match fence {
                None if ticks >= 3 => fence = Some(ticks),
                Some(open) if ticks >= open && line.len() == ticks => fence = None,
                Some(_) => {}
                None => outside += &format!("{line}\n"),
            }
        }
        assert_eq!(fence, None, "every block of code ends: {words}");
        let known = ["<details>", "</details>", "<summary>", "</summary>"];
        let bare = known.iter().fold(outside.clone(), |text, tag| text.replace(tag, ""));
        assert!(!bare.contains('<'), "{words}: {bare}");
        let mut marks = String::new();
        let mut letters = bare.chars();
        while let Some(c) = letters.next() {
            // An escaped character is no markup.
            if c == '\\' {
                letters.next();
            } else {
                marks.push(c);
            }
        }
        let bare = marks;
        assert!(
            !bare.contains("](") && !bare.contains("**") && !bare.contains("://") && !bare.contains("www."),
            "{words}"
        );
        let headings = outside.lines().filter(|line| line.starts_with('#')).count();
        assert_eq!(headings, 4, "title, section, table, how it was made: {outside}");
        let lists = outside
            .lines()
            .filter(|line| line.starts_with("- ") || line.starts_with("1. ") || line.starts_with("    "));
        assert_eq!(lists.count(), 2, "the program and one parameter: {outside}");
    }
}

#[test]
fn controls_are_shown_and_names_are_isolated() {
    let words = "gpj\u{202e}exe\u{1b}[31m\u{9b}2J\u{7}\u{2066}\u{61c} @user #12";
    let report = filled(words, 1.0);
    let page = html::html(&report).unwrap();
    let left = |text: &str| text.chars().find(|c| is_control(*c) && !matches!(c, '\n' | '\t'));
    assert_eq!(left(&page), None);
    let shown = "gpj\\u{202e}exe\\u{1b}[31m\\u{9b}2J\\u{7}\\u{2066}\\u{61c} @user #12";
    // The title, the cells of words, and the names of files; not what is said of columns.
    for around in ["<h1>", "<td>"] {
        assert!(page.contains(&format!("{around}<bdi>{shown}</bdi>")), "{around}: {page}");
    }
    assert!(page.contains("<summary><bdi>tuner.conf</bdi>") && page.contains("<bdi>a.csv</bdi>"));
    assert_eq!(page.matches("<bdi>").count(), page.matches("</bdi>").count());
    // The data in its head is the same report.
    assert_eq!(open::open(&page).unwrap().title, words);
    let text = markdown::markdown(&report);
    assert_eq!(left(&text), None);
    assert!(text.contains("gpj&lt;U+202E&gt;exe&lt;U+001B&gt;"), "{text}");
    let outside: String = text.split("```").step_by(2).collect();
    assert!(outside.contains("@&#8203;user \\#&#8203;12") && !outside.contains("@user"), "{text}");
}

#[test]
fn lines_of_a_shell_are_a_block_of_code_in_markdown() {
    let mut report = filled("words", 1.0);
    let note = "NVIDIA's example: # Of one line.\nexport NCCL_TUNER_CONFIG_FILE=/a/nccl_tuner.conf\n";
    report.sections.iter_mut().flat_map(|section| &mut section.files).for_each(|file| file.note = note.to_owned());
    let text = markdown::markdown(&report);
    let block = "NVIDIA's example:\n\n```sh\n# Of one line.\nexport NCCL_TUNER_CONFIG_FILE=/a/nccl_tuner.conf\n```\n";
    assert!(text.contains(block) && !text.contains("\\# Of one line."), "{text}");
}

#[test]
fn nothing_is_left_out_that_was_not_there() {
    // A curve with a gap: its points are no numbers there.
    let mut report = filled("words", 1.0);
    for point in
        report.sections.iter_mut().flat_map(|s| &mut s.charts).flat_map(|c| &mut c.series).flat_map(|s| &mut s.points)
    {
        point.y = f64::NAN;
    }
    let links = link::encode(&report, 30);
    for left_out in links.iter().map(|link| link.left_out.join("; ")) {
        assert!(!left_out.contains("timelines") && !left_out.contains("long notes"), "{left_out}");
    }
}

#[test]
fn every_cut_and_every_change_of_a_link_is_told() {
    let link = full_link(&filled("words", 1.5)).fragment;
    assert!(link::is_report(&link) && link::decode(&link).is_ok());
    for end in 0..link.len() {
        let error = link::decode(&link[..end]).expect_err("it was cut");
        let data = link.find("&d=").unwrap() + 3;
        match error {
            LinkError::Cut { found, whole } => assert_eq!((found, whole), (end - data, link.len() - data)),
            LinkError::CutEarly => assert!(end < data + 12),
            LinkError::NoReport | LinkError::Damaged => assert!(end < data, "{end}: {error}"),
            other => panic!("{end}: {other}"),
        }
    }
    let data = link.find("&d=").unwrap() + 3;
    for at in data..link.len() {
        let mut changed = link.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        match link::decode(&changed) {
            // The last character of base64url may have unused bits.
            Ok(report) => assert!(at + 1 == link.len() && report.title == "words", "{at}"),
            Err(LinkError::Damaged | LinkError::Cut { .. }) => {}
            Err(other) => panic!("{at}: {other}"),
        }
    }
    // Sentences end, and pages write links as HTML.
    for around in [
        format!("{link})."),
        format!("https://tuning.example/x/{link}"),
        link.replace('&', "&amp;"),
        link.replacen('#', "", 1),
        // Mail breaks lines.
        format!("{}\r\n  {}", &link[..data + 40], &link[data + 40..]),
        format!("{}%20{}", &link[..data + 40], &link[data + 40..]),
    ] {
        assert_eq!(link::decode(&around).map(|report| report.title), Ok("words".to_owned()), "{around}");
    }
    // Chats and mail scanners percent-encode addresses a second time.
    for equals in ["%3D", "%3d"] {
        let again = link.replace('=', equals).replace('&', "%26");
        assert!(link::is_report(&again), "{again}");
        for again in [format!("https://tuning.example/x/{again}"), again] {
            assert_eq!(link::decode(&again).map(|report| report.title), Ok("words".to_owned()), "{again}");
        }
    }
    assert_eq!(link::decode(&link.replace("v=1", "v=7")), Err(LinkError::Newer(7)));
    assert_eq!(link::decode("#v=1&w=tuning&c=all_reduce"), Err(LinkError::NoReport));
    assert!(matches!(link::decode(&format!("{link}{}", "A".repeat(100_000))), Err(LinkError::TooLong(_))));
}

#[test]
fn hostile_json_is_told_with_its_place() {
    let report = wire::write(&filled("w", 1.0));
    for (from, to, told) in [
        (
            "\"collectune_report\":1",
            "\"collectune_report\":3",
            "made by a newer Collectune (format 3; this one reads up to 1)",
        ),
        ("\"collectune_report\":1", "\"collectune_report\":-1", "collectune_report: a version"),
        ("\"collectune_report\":1", "\"other\":1", "no report of Collectune"),
        ("\"overlap\"", "\"attic\"", "at workbench: a workbench that this version knows"),
        ("\"12 of 13\"", "12", "at sections[0].tables[0].columns[0].text[1]: text"),
        ("\"whiskers\"", "\"pie\"", "at sections[0].charts[0].series[0].mark: a mark"),
        ("\"colour\":3", "\"colour\":300", "series[0].colour: a number up to 255"),
        ("\"x\":[1]", "\"x\":[1,2]", "series[0].y: 2, as many as there are in x,"),
        ("\"y\":[1]", "\"y\":[null]", "series[0].y[0]: a number"),
        ("\"values\":[1]", "\"values\":[1,2]", "series[0].values: 1, as many as there are in x,"),
        ("\"names\",\"linear\"", "\"manes\",\"linear\"", "charts[1].y[1]: a quantity"),
        ("[\"a\",\"b\"]", "[\"a\",1]", "charts[1].y[3][1]: text"),
        (",[\"a\",\"b\"]", "", "charts[1].y[1]: a quantity"),
        ("[\"\",\"share\",\"log\"]", "\"share\"", "charts[2].series[0].value: a label, a quantity and a spacing"),
        ("\"left_out\":3", "\"left_out\":-3", "files[0].left_out: a whole number"),
        ("\"parameters\":[[", "\"parameters\":[[\"a\",", "parameters[0]: a name and a value"),
        ("\"summary\":[", "\"summary\":{\"a\":[", "is not JSON"),
    ] {
        assert!(report.contains(from), "{from}: {report}");
        let error = wire::read(&report.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.contains(told), "{to}: {error}");
    }
    // A later field, and an earlier one twice.
    let later = report.replacen("\"title\":\"w\"", "\"later\":{\"a\":[1]},\"title\":\"v\",\"title\":\"w\"", 1);
    assert_eq!(wire::read(&later).unwrap(), wire::read(&report).unwrap());
    assert_eq!(wire::read("{\"collectune_report\":1,\"workbench\":\"tuning\"}").unwrap(), Report::default());
    for huge in ["1e999", "-1e999", "123456789012345678901234567890"] {
        let _ = wire::read(&report.replacen("\"x\":[1]", &format!("\"x\":[{huge}]"), 1));
    }
    assert!(wire::read(&"[".repeat(1_000_000)).is_err());
    assert!(wire::read(&format!("{{\"collectune_report\":1,\"a\":[{}0]}}", "0,".repeat(1_000_000))).is_err());
}

#[test]
fn golden_files_of_every_version_open() {
    let samples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/samples/reports");
    for version in 1..=wire::VERSION {
        for extension in ["json", "html", "link"] {
            let path = samples.join(format!("v{version}.{extension}"));
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let report = match extension {
                "link" => link::decode(text.trim()).unwrap(),
                _ => open::open(&text).unwrap(),
            };
            assert_eq!(report.title, "all_reduce on 2 nodes, 16 ranks", "{}", path.display());
            assert_eq!(report.workbench, Workbench::Tuning);
            let section = &report.sections[0];
            assert_eq!(section.tables[0].listing.columns[0].name, "Size");
            assert_eq!(section.tables[0].listing.rows[0][0].number, Some(4096.0));
            assert!(section.charts[0].series.iter().any(|series| series.colour == Colour::Answer));
        }
    }
}

/// Writes the golden files of the newest version: once for each, by hand.
#[test]
#[ignore = "golden files are never written again"]
fn write_golden_files() {
    let simulation =
        Simulation { sizes: vec![4096, 1 << 20, 16 << 20], channels: vec![1, 8, 32], ..Simulation::example() };
    let text = simulation.to_csv();
    let wanted = |line: &str| line.starts_with("run_id,") || line.contains(",all_reduce_perf,2,16,");
    let text: String = text.lines().filter(|line| wanted(line)).map(|line| format!("{line}\n")).collect();
    let executor = studied(&[("sweep.csv", text.into_bytes())]);
    let report = executor.report(&Contents { made_on: Some("2026-11-22".to_owned()), ..Contents::whole() }).unwrap();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/samples/reports");
    fs::create_dir_all(&folder).unwrap();
    let path = |extension: &str| folder.join(format!("v{}.{extension}", wire::VERSION));
    fs::write(path("json"), wire::write(&report) + "\n").unwrap();
    fs::write(path("html"), html::html(&report).unwrap()).unwrap();
    fs::write(path("link"), full_link(&report).fragment + "\n").unwrap();
}

fn dropped(name: &str, text: &str) -> Executor {
    let (report, content) = intake::open(text.as_bytes(), name, text.len() as u64, 0, None, &mut Silent);
    assert!(matches!(&report.outcome, Outcome::Known { format, .. } if format == "report"), "{:?}", report.outcome);
    assert!(matches!(content, FileContent::Report(_)));
    let mut executor = Executor::default();
    let source = FileSource::from(text.as_bytes().to_vec());
    let request = Request::Load {
        files: vec![FileToLoad { id: 7, name: name.to_owned(), mapping: None }],
        target: Target::Time,
        set: Default::default(),
    };
    match executor.execute(request, vec![source], &mut Silent).unwrap() {
        Response::Loaded(loaded) => assert_eq!(loaded.documents.reports, [7]),
        other => panic!("{other:?}"),
    }
    executor
}

#[test]
fn a_dropped_report_opens_by_its_content() {
    let report = filled("<b>&\u{2028}</script>", 2.5);
    for (name, text) in [("x.txt", wire::write(&report)), ("download", html::html(&report).unwrap())] {
        let mut executor = dropped(name, &text);
        let opened = match executor.execute(Request::OpenReport { file: 7 }, Vec::new(), &mut Silent).unwrap() {
            Response::Report(opened) => opened,
            other => panic!("{other:?}"),
        };
        assert_eq!(*opened, report);
        let missing = executor.execute(Request::OpenReport { file: 8 }, Vec::new(), &mut Silent);
        assert!(matches!(missing, Err(ExecuteError::NoReport)));
        // And it is written again.
        for form in ReportFormat::ALL {
            let request = Request::WriteOpened { report: opened.clone(), options: (*form).into() };
            match executor.execute(request, Vec::new(), &mut Silent).unwrap() {
                Response::Written(Written::Links(links)) => {
                    for link in links.sizes {
                        let again = link::decode(&format!("https://x.example/{}", link.fragment)).unwrap();
                        assert_eq!(again.title, report.title);
                    }
                }
                Response::Written(Written::File { name, text, .. }) => {
                    assert!(name.ends_with(form.extension()) && !text.is_empty());
                }
                other => panic!("{other:?}"),
            }
        }
    }
    let cut = html::html(&report).unwrap();
    let cut = &cut[..cut.find("\"sections\"").unwrap()];
    let (told, _) = intake::open(cut.as_bytes(), "cut.html", cut.len() as u64, 0, None, &mut Silent);
    assert!(matches!(&told.outcome, Outcome::Refused(why) if why.contains("missing or cut off")), "{:?}", told.outcome);
}

#[test]
fn names_stay_at_home_where_they_are_not_to_travel() {
    let simulation = Simulation { sizes: vec![4096, 1 << 20], channels: vec![1, 8], ..Simulation::example() };
    let executor = studied(&[("/home/secret-user/secret-cluster.csv", simulation.to_csv().into_bytes())]);
    let text = |contents: &Contents| wire::write(&executor.report(contents).unwrap());
    let shown = text(&Contents::whole());
    assert!(shown.contains("secret-cluster.csv") && !shown.contains("secret-user"), "names, and never a path");
    assert!(!text(&Contents { file_names: false, ..Contents::whole() }).contains("secret"));
}

#[test]
fn the_terminal_writes_what_the_page_writes() {
    let simulation = Simulation { sizes: vec![4096, 1 << 20, 16 << 20], channels: vec![1, 8], ..Simulation::example() };
    let csv = simulation.to_csv();
    let folder = tempfile::tempdir().unwrap();
    let sweep = folder.path().join("sweep.csv");
    fs::write(&sweep, &csv).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_collectune"));
        command.arg("report").arg(&sweep).args(["--trees", "10", "--stages", "20"]).args(arguments);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let mut executor = studied(&[("sweep.csv", csv.into_bytes())]);
    let mut written = |contents: Contents, options: WriteOptions| match executor
        .execute(Request::WriteReport { contents, options }, Vec::new(), &mut Silent)
        .unwrap()
    {
        Response::Written(Written::File { text, .. }) => text,
        Response::Written(Written::Links(links)) => {
            links.sizes.into_iter().map(|link| link.fragment).collect::<Vec<_>>().join("\n")
        }
        other => panic!("{other:?}"),
    };
    // How much a link holds depends on the address of the page.
    let site = "https://tuning.example/c/";
    let mut page = |contents: Contents, form: ReportFormat| {
        let page = if form == ReportFormat::Link { site.to_owned() } else { String::new() };
        written(contents, WriteOptions { page, ..form.into() })
    };
    assert_eq!(run(&[]), page(Contents::whole(), ReportFormat::Markdown));
    for (name, form) in
        [("r.html", ReportFormat::Html), ("r.json", ReportFormat::Json), ("r.md", ReportFormat::Markdown)]
    {
        let path = folder.path().join(name);
        assert_eq!(run(&["-o", path.to_str().unwrap()]), "");
        assert_eq!(fs::read_to_string(path).unwrap(), page(Contents::whole(), form), "{name}");
    }
    let fragments = page(Contents::whole(), ReportFormat::Link);
    for (size, fragment) in ["--link=small", "--link=medium", "--link"].into_iter().zip(fragments.lines()) {
        let link = run(&[size, "--site", "https://tuning.example/c/#old"]);
        assert_eq!(link, format!("{site}{fragment}\n"));
    }
    let note = |about: &str, text: &str| Note { about: about.to_owned(), text: text.to_owned() };
    let annotations =
        Annotations { title: "Friday".to_owned(), notes: vec![note("", "Warm."), note("all_reduce: 1", "a=b")] };
    let options = WriteOptions { form: ReportFormat::Markdown, annotations, page: String::new() };
    assert_eq!(
        run(&["--title", "Friday", "--note", "Warm.", "--note-for", "all_reduce: 1=a=b"]),
        written(Contents::whole(), options)
    );
    // A report is written again.
    let json = folder.path().join("r.json");
    let again = std::process::Command::new(env!("CARGO_BIN_EXE_collectune")).arg("report").arg(&json).output().unwrap();
    let opened = open::open(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(String::from_utf8(again.stdout).unwrap(), markdown::markdown(&opened));
}

#[test]
fn shells_complete_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let output =
            std::process::Command::new(env!("CARGO_BIN_EXE_collectune")).args(["completions", shell]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        for command in ["tuning", "train", "report", "coverage", "completions", "no-file-names"] {
            assert!(text.contains(command), "{shell}: {command}");
        }
    }
}
