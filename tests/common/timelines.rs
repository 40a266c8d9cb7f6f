//! Timelines and heat maps: what they look like, how they read, and how they are pointed at and walked.

use collectune::plot::{
    Axis, Chart, Colour, Layout, Mark, Pick, Point, Quantity, Series, Spacing, Style, Theme, Walk, beside, draw,
    legend_text, reading, svg, table,
};

fn axis(label: &str, quantity: Quantity) -> Axis {
    Axis { label: label.to_owned(), quantity, spacing: Spacing::Linear }
}

fn names(label: &str, names: impl IntoIterator<Item = impl ToString>) -> Axis {
    Axis::of_names(label, names.into_iter().map(|name| name.to_string()).collect())
}

fn series(name: &str, colour: Colour, mark: Mark, points: Vec<Point>) -> Series {
    Series { name: name.to_owned(), colour, mark, points }
}

fn layout(chart: &Chart, style: &Style) -> Layout {
    let mut sheet = String::new();
    let backend = plotters_svg::SVGBackend::with_string(&mut sheet, style.size_in_units());
    draw(chart, style, backend).expect("a string takes any drawing")
}

/// One step in the one-forward-one-backward schedule: a forward takes 12.4 ms, a backward 23.1 ms after 4.6 ms of
/// recomputation, a transfer 1.3 ms.
fn pipeline(stages: usize, micro_batches: usize) -> Chart {
    const FORWARD: f64 = 12_400.0;
    const RECOMPUTE: f64 = 4_600.0;
    const BACKWARD: f64 = 23_100.0;
    const TRANSFER: f64 = 1_300.0;
    let orders: Vec<Vec<(bool, usize)>> = (0..stages)
        .map(|stage| {
            let ahead = (stages - stage - 1).min(micro_batches);
            let mut order: Vec<_> = (0..ahead).map(|batch| (true, batch)).collect();
            for batch in 0..micro_batches {
                order.extend((batch + ahead < micro_batches).then_some((true, batch + ahead)));
                order.push((false, batch));
            }
            order
        })
        .collect();
    let mut ends = [vec![vec![None; micro_batches]; stages], vec![vec![None; micro_batches]; stages]];
    let (mut next, mut free) = (vec![0; stages], vec![0.0_f64; stages]);
    let mut spans = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    let span = |start, length, row, what: &str, batch: usize| Point {
        note: format!("{what}{batch}, micro-batch {} of {micro_batches}", batch + 1),
        ..Point::span(start, start + length, row)
    };
    while next.iter().zip(&orders).any(|(next, order)| *next < order.len()) {
        for stage in 0..stages {
            let Some(&(is_forward, batch)) = orders[stage].get(next[stage]) else { continue };
            let before = match (is_forward, stage) {
                (true, 0) => Some(0.0),
                (true, stage) => ends[0][stage - 1][batch].map(|end: f64| end + TRANSFER),
                (false, stage) if stage + 1 == stages => ends[0][stage][batch],
                (false, stage) => ends[1][stage + 1][batch].map(|end: f64| end + TRANSFER),
            };
            let Some(before) = before else { continue };
            let start = free[stage].max(before);
            let link = if is_forward { stage.checked_sub(1) } else { Some(stage).filter(|stage| stage + 1 < stages) };
            if let Some(link) = link {
                spans[3].push(span(before - TRANSFER, TRANSFER, 2 * link + 1, "P", batch));
            }
            let end = if is_forward {
                spans[0].push(span(start, FORWARD, 2 * stage, "F", batch));
                start + FORWARD
            } else {
                spans[2].push(span(start, RECOMPUTE, 2 * stage, "R", batch));
                spans[1].push(span(start + RECOMPUTE, BACKWARD, 2 * stage, "B", batch));
                start + RECOMPUTE + BACKWARD
            };
            ends[usize::from(!is_forward)][stage][batch] = Some(end);
            free[stage] = end;
            next[stage] += 1;
        }
    }
    let row = |row: usize| match row % 2 {
        0 => format!("{}", row / 2),
        _ => format!("{} ↔ {}", row / 2, row / 2 + 1),
    };
    let [forward, backward, recompute, transfer] = spans;
    Chart {
        id: "pipeline".into(),
        title: format!("One step, {stages} stages and {micro_batches} micro-batches"),
        summary: "The first stage waits longest.".into(),
        x: axis("Time", Quantity::TimeUs),
        y: names("Stage", (0..2 * stages - 1).map(row)),
        series: vec![
            series("Transfer", Colour::Muted, Mark::Spans, transfer),
            series("Forward", Colour::Answer, Mark::Spans, forward),
            series("Recomputation", Colour::Palette(4), Mark::Spans, recompute),
            series("Backward", Colour::Palette(0), Mark::Spans, backward),
        ],
    }
}

/// Step time over tensor and pipeline degree; what does not fit into memory has none.
fn layouts() -> Chart {
    let degrees = [1, 2, 4, 8, 16];
    let mut cells = Vec::new();
    for (row, tensor) in degrees[..4].iter().enumerate() {
        for (column, pipeline) in degrees.iter().enumerate() {
            let fits = tensor * pipeline >= 4;
            let (t, p) = (f64::from(*tensor), f64::from(*pipeline));
            let step_us = 9.3e5 * (1.0 + 0.09 * t + 0.34 / t) * (1.0 + (p - 1.0) / 32.0);
            let note = if fits { format!("data {}", 256 / (tensor * pipeline)) } else { "out of memory".into() };
            cells.push(Point { note, ..Point::cell(column, row, fits.then_some(step_us)) });
        }
    }
    let best = Point { note: "fastest".into(), ..Point::cell(2, 1, None) };
    Chart {
        id: "layouts".into(),
        title: "Step time of each layout on 256 GPUs".into(),
        summary: "Tensor 2 with pipeline 2 is fastest.".into(),
        x: names("Pipeline degree", degrees),
        y: names("Tensor degree", &degrees[..4]),
        series: vec![
            series("Step time", Colour::Muted, Mark::Cells(Quantity::TimeUs, Spacing::Linear), cells),
            series("Today", Colour::Palette(0), Mark::Dots, vec![best]),
        ],
    }
}

/// Which rank holds how many bytes of which chunk: many cells, no room for words.
fn ownership() -> Chart {
    let (ranks, chunks) = (64, 48);
    let cells = (0..ranks).flat_map(|rank| {
        (0..chunks).map(move |chunk| Point::cell(chunk, rank, Some(((rank * 31 + chunk * 7) % 64 + 1) as f64)))
    });
    Chart {
        id: "ownership".into(),
        title: "Steps until a rank holds a chunk".into(),
        summary: "All hold all after 64 steps.".into(),
        x: names("Chunk", 0..chunks),
        y: names("Rank", (0..ranks).map(|rank| format!("rank {rank}"))),
        series: vec![series("Steps", Colour::Muted, Mark::Cells(Quantity::Count, Spacing::Linear), cells.collect())],
    }
}

/// The forward of a micro-batch on the first stage.
fn forward(chart: &Chart, batch: usize) -> Pick {
    let is_it = |point: &Point| point.y == 0.0 && point.note.starts_with(&format!("F{batch},"));
    Pick { series: 1, point: chart.series[1].points.iter().position(is_it).expect("a forward of each") }
}

#[test]
fn timelines_and_heat_maps_look_as_they_did() {
    let dark = Style { theme: Theme::Dark, ..Style::default() };
    let wide = Style { width: 1000.0, ..Style::default() };
    let narrow = |theme| Style { width: 360.0, height: 300.0, theme, ..Style::default() };
    for (name, chart, style) in [
        ("pipeline", pipeline(4, 8), wide.clone()),
        ("pipeline_dark", pipeline(4, 8), Style { highlight: Some(Pick { series: 3, point: 9 }), ..dark.clone() }),
        ("pipeline_narrow", pipeline(4, 8), narrow(Theme::Light)),
        ("layouts", layouts(), wide),
        ("layouts_dark", layouts(), Style { highlight: Some(Pick { series: 0, point: 8 }), ..dark }),
        ("layouts_narrow", layouts(), narrow(Theme::Dark)),
    ] {
        insta::assert_snapshot!(name, svg(&chart, &style));
    }
}

/// A document of so many rectangles, besides the frame.
fn rectangles(document: &str) -> usize {
    document.matches("<rect ").count()
}

#[test]
fn bars_and_cells_are_drawn_once_each_and_never_more_than_there_are_pixels() {
    let bare = Style { captions: false, ..Style::default() };
    let bars = pipeline(4, 8);
    let all: usize = bars.series.iter().map(|series| series.points.len()).sum();
    assert_eq!(rectangles(&svg(&bars, &Style { width: 4000.0, ..bare.clone() })), all);
    assert_eq!(rectangles(&svg(&ownership(), &bare)), 64 * 48);
    let dense = Chart {
        series: vec![series(
            "Forward",
            Colour::Answer,
            Mark::Spans,
            (0..20_000).map(|n| Point::span(f64::from(n), f64::from(n) + 0.9, (n % 4) as usize)).collect(),
        )],
        ..pipeline(4, 8)
    };
    let began = std::time::Instant::now();
    let drawn = layout(&dense, &Style::default());
    println!("20,000 bars: {:?}", began.elapsed());
    assert_eq!(drawn.series[0].positions.len(), 20_000);
    assert_eq!(rectangles(&svg(&dense, &bare)), 4, "rows without a gap that can be seen");
    let apart = pipeline(16, 400);
    let all: usize = apart.series.iter().map(|series| series.points.len()).sum();
    let began = std::time::Instant::now();
    let drawn = rectangles(&svg(&apart, &bare));
    println!("{all} bars apart: {:?}, {drawn} drawn", began.elapsed());
    assert!(drawn < 31 * 720, "{drawn}");
}

#[test]
fn spans_and_cells_are_read_in_words() {
    let bars = pipeline(4, 8);
    let second = forward(&bars, 1).point;
    let sentence = |chart: &Chart, series, point| reading(chart, Pick { series, point }).unwrap().sentence();
    assert_eq!(
        sentence(&bars, 1, second),
        "Forward: Time 12.40 ms to 24.80 ms, Stage 0, length 12.40 ms; F1, micro-batch 2 of 8"
    );
    let cells = layouts();
    assert_eq!(sentence(&cells, 0, 2), "Step time: Pipeline degree 4, Tensor degree 1, value 1.455 s; data 64");
    assert_eq!(sentence(&cells, 0, 0), "Step time: Pipeline degree 1, Tensor degree 1; out of memory");
    assert_eq!(legend_text(&cells.series[0]), "Step time: 1.295 s – 2.407 s");
    assert_eq!(legend_text(&bars.series[0]), "Transfer");
}

#[test]
fn the_table_names_categories_and_tells_lengths_and_values() {
    let bars = table(&pipeline(4, 8));
    assert_eq!(bars.headers, ["Series", "Time", "Stage", "Length", "Note"]);
    assert_eq!(bars.numeric, [false, true, false, true, false]);
    assert!(
        bars.rows.contains(&["Forward", "12.40 ms", "0", "12.40 ms", "F1, micro-batch 2 of 8"].map(Into::into).into())
    );
    let cells = table(&layouts());
    assert_eq!(cells.headers, ["Series", "Pipeline degree", "Tensor degree", "Value", "Note"]);
    assert_eq!(cells.rows[2], ["Step time", "4", "1", "1.455 s", "data 64"]);
    assert_eq!(cells.rows[0], ["Step time", "1", "1", "", "out of memory"]);
    let share = Point { low: Some(0.25), high: Some(0.5), ..Point::cell(1, 0, Some(0.375)) };
    let measured = series("Share", Colour::Muted, Mark::Cells(Quantity::Share, Spacing::Linear), vec![share]);
    let chart = Chart { series: vec![measured], ..layouts() };
    assert_eq!(table(&chart).rows[0][3..], ["37.50 %", "25.00", "50.00"]);
    let reading = reading(&chart, Pick { series: 0, point: 0 }).unwrap();
    assert_eq!(reading.interval, "25.00 – 50.00 %");
}

#[test]
fn bars_and_cells_are_pointed_at_where_they_lie() {
    let chart = pipeline(4, 8);
    let drawn = layout(&chart, &Style::default());
    for place in drawn.series.iter().flat_map(|series| &series.positions) {
        let area = place.area.expect("a bar has an area");
        assert!(drawn.plot.contains(area.left, area.top) && drawn.plot.contains(area.right, area.bottom), "{area:?}");
        let found = drawn.nearest(place.x, place.y, 48.0).and_then(|pick| drawn.place(pick)).unwrap();
        assert_eq!((found.x, found.y), (place.x, place.y));
    }
    // Between the first four forwards of stage 0 and its first backward lies nothing.
    let last = forward(&chart, 3);
    let bar = drawn.place(last).unwrap().area.unwrap();
    let y = f64::midpoint(bar.top, bar.bottom);
    assert_eq!(drawn.nearest(bar.right - 1.0, bar.top + 1.0, 48.0), Some(last));
    assert!(drawn.nearest(bar.right + 2.0, y, 48.0).is_some(), "nearly on it");
    assert_eq!(drawn.nearest(bar.right + 10.0, y, 48.0), None);
    let cells = layouts();
    let drawn = layout(&cells, &Style::default());
    let cell = drawn.place(Pick { series: 0, point: 7 }).unwrap().area.unwrap();
    assert_eq!(drawn.nearest(cell.left + 1.0, cell.bottom - 1.0, 48.0), Some(Pick { series: 0, point: 7 }));
    let dot = drawn.place(Pick { series: 1, point: 0 }).unwrap();
    let corner = dot.area.unwrap();
    assert!(cell.contains(corner.left, corner.top) && cell.contains(corner.right, corner.bottom), "{corner:?}");
    assert_eq!(drawn.nearest(corner.left + 5.0, corner.top + 5.0, 48.0), Some(dot.pick));
    assert_eq!(beside(&cells, &drawn, Pick { series: 0, point: 7 }), [dot.pick]);
    assert_eq!(beside(&cells, &drawn, Pick { series: 0, point: 2 }), []);
}

#[test]
fn rows_are_walked_as_they_lie() {
    let chart = pipeline(4, 8);
    let drawn = layout(&chart, &Style::default());
    let note = |pick: Option<Pick>| {
        let pick = pick.expect("a walk reaches something");
        let point = &chart.series[pick.series].points[pick.point];
        format!("{} in row {}", point.note.split(',').next().unwrap(), point.y)
    };
    let mut at = drawn.walk(None, Walk::Right);
    let mut passed = vec![note(at)];
    for _ in 0..8 {
        at = drawn.walk(at, Walk::Right);
        passed.push(note(at));
    }
    let row = ["F0", "F1", "F2", "F3", "R0", "B0", "F4", "R1", "B1"].map(|bar| format!("{bar} in row 0"));
    assert_eq!(passed, row, "forwards, recomputations and backwards in their order");
    assert_eq!(note(drawn.walk(at, Walk::Left)), "R1 in row 0");
    assert_eq!(note(drawn.walk(at, Walk::Last)), "B7 in row 0");
    assert_eq!(note(drawn.walk(at, Walk::First)), "F0 in row 0");
    assert_eq!(drawn.walk(at, Walk::PreviousSeries), at, "nothing lies above");
    let below = drawn.walk(at, Walk::NextSeries);
    assert!(note(below).ends_with("in row 1"), "{}", note(below));
    let cells = layouts();
    let drawn = layout(&cells, &Style::default());
    let cell = |point| Some(Pick { series: 0, point });
    assert_eq!(drawn.walk(None, Walk::Left), cell(0));
    assert_eq!(drawn.walk(cell(0), Walk::NextSeries), cell(5));
    assert_eq!(drawn.walk(cell(6), Walk::Right), cell(7));
    assert_eq!(drawn.walk(cell(7), Walk::Right), Some(Pick { series: 1, point: 0 }), "the dot in the same place");
    assert_eq!(drawn.walk(Some(Pick { series: 1, point: 0 }), Walk::Right), cell(8));
    assert_eq!(drawn.walk(cell(9), Walk::Right), cell(9));
}

#[test]
fn a_pin_stays_on_its_cell() {
    let before = layouts();
    let mut after = layouts();
    after.series[0].points.remove(0);
    assert_eq!(after.same_point(&before, Pick { series: 0, point: 7 }), Some(Pick { series: 0, point: 6 }));
}

#[test]
fn times_and_shares_have_ticks_in_their_units() {
    let labels = |quantity, spacing, values: &[f64]| {
        let points = values.iter().map(|&value| Point { x: value, y: 1.0, ..Point::default() }).collect();
        let chart = Chart {
            x: Axis { label: "x".into(), quantity, spacing },
            y: axis("y", Quantity::Number),
            series: vec![series("a", Colour::Answer, Mark::Dots, points)],
            ..layouts()
        };
        let document = svg(&chart, &Style { captions: false, width: 420.0, ..Style::default() });
        let middle = document.split("text-anchor=\"middle\"").skip(1);
        middle.filter_map(|text| Some(text.split(['>', '<']).nth(1)?.trim().to_owned())).collect::<Vec<_>>()
    };
    use Spacing::{Linear, Logarithmic};
    assert_eq!(labels(Quantity::TimeUs, Linear, &[400.0]), ["0 µs", "100 µs", "200 µs", "300 µs", "400 µs"]);
    assert_eq!(labels(Quantity::TimeUs, Linear, &[4.1e4]), ["0 ms", "10 ms", "20 ms", "30 ms", "40 ms"]);
    assert_eq!(labels(Quantity::TimeUs, Linear, &[2.2e6]), ["0.0 s", "0.5 s", "1.0 s", "1.5 s", "2.0 s"]);
    assert_eq!(labels(Quantity::TimeUs, Logarithmic, &[20.0, 4e6]), ["100 µs", "1 ms", "10 ms", "100 ms", "1 s"]);
    assert_eq!(labels(Quantity::Share, Linear, &[0.4]), ["0", "5", "10", "15", "20", "25", "30", "35", "40"]);
    assert_eq!(labels(Quantity::Gib, Linear, &[75.0]), ["0", "10", "20", "30", "40", "50", "60", "70"]);
}
