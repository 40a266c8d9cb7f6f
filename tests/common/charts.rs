//! The drawing of charts: what each kind looks like, and that no data can break it.

use collectune::{
    math::{exp2, sin},
    plot::{
        Axis, Chart, Colour, Layout, Mark, Pick, Point, Quantity, Rect, Series, Spacing, Style, Theme, Zoom, beside,
        draw, reading, svg, table, zoom_text,
    },
};
use proptest::prelude::*;

fn axis(label: &str, quantity: Quantity, spacing: Spacing) -> Axis {
    Axis { label: label.to_owned(), quantity, spacing }
}

fn series(name: &str, colour: Colour, mark: Mark, points: Vec<Point>) -> Series {
    Series { name: name.to_owned(), colour, mark, points }
}

fn point(x: f64, y: f64) -> Point {
    Point { x, y, ..Point::default() }
}

/// A latency-bandwidth curve: what a collective's busbw looks like over its sizes.
fn busbw(size: f64, latency_us: f64, peak_gbps: f64) -> f64 {
    size / (latency_us * 1000.0 + size / peak_gbps)
}

fn sizes() -> impl Iterator<Item = f64> {
    (12..=32).map(|power| exp2(f64::from(power)))
}

/// Measured points, the recommended configuration's prediction with its interval, and the default, over sizes.
fn busbw_against_size() -> Chart {
    let curve = |latency, peak| sizes().map(move |size| point(size, busbw(size, latency, peak)));
    let wobble = |index: usize| 1.0 + 0.04 * ((index * 7919 % 13) as f64 / 6.0 - 1.0);
    let measured = curve(40.0, 372.0).enumerate().map(|(index, p)| Point { y: p.y * wobble(index), ..p });
    let interval =
        |p: Point| Point { low: Some(p.y * 0.9), high: Some(p.y * 1.08), note: "RING SIMPLE 24".into(), ..p };
    Chart {
        id: "busbw-size".into(),
        title: "all_reduce on 2 nodes, 16 ranks".into(),
        summary: "busbw rises from 0.1 GB/s at 4 KiB to 370.7 GB/s at 4 GiB; the recommendation is ahead of the \
                  default by up to 28 %."
            .into(),
        x: axis("message size", Quantity::Bytes, Spacing::Logarithmic),
        y: axis("busbw", Quantity::BusbwGbps, Spacing::Linear),
        series: vec![
            series("90 % interval", Colour::Answer, Mark::Band, curve(41.0, 371.0).map(interval).collect()),
            series("default", Colour::Default, Mark::Dashed, curve(55.0, 318.0).collect()),
            series("recommended", Colour::Answer, Mark::Line, curve(41.0, 371.0).map(interval).collect()),
            series("measured best", Colour::Palette(0), Mark::Dots, measured.collect()),
        ],
    }
}

/// One line per algorithm and protocol over the channel count.
fn busbw_against_channels() -> Chart {
    let names = ["RING SIMPLE", "RING LL128", "RING LL", "TREE SIMPLE", "TREE LL128", "TREE LL"];
    let lines = names.iter().enumerate().map(|(index, name)| {
        let best = 8.0 + 6.0 * index as f64;
        let peak = 340.0 - 47.0 * index as f64;
        let y = |channels: f64| {
            peak * (1.0 - ((channels - best) / 64.0) * ((channels - best) / 64.0)) * (channels / (channels + 2.0))
        };
        let points = [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64].map(f64::from).map(|c| point(c, y(c)));
        series(name, Colour::Palette(index as u8), Mark::LineAndDots, points.to_vec())
    });
    Chart {
        id: "busbw-channels".into(),
        title: "16 MiB all_reduce by channels".into(),
        summary: "RING SIMPLE with 8 channels is highest.".into(),
        x: axis("channels", Quantity::Count, Spacing::Linear),
        y: axis("busbw", Quantity::BusbwGbps, Spacing::Linear),
        series: lines.collect(),
    }
}

/// Predicted against measured, both logarithmic.
fn predicted_against_measured() -> Chart {
    let pairs = (0..300).map(|index: i32| {
        let measured = exp2(f64::from(index) / 300.0 * 13.0 - 4.0);
        point(measured, measured * (1.0 + 0.2 * sin(f64::from(index) * 12.9898) * sin(f64::from(index) * 0.37)))
    });
    Chart {
        id: "predicted-measured".into(),
        title: "Out-of-fold prediction against measurement".into(),
        summary: "300 points along the diagonal, within 20 %.".into(),
        x: axis("measured busbw", Quantity::BusbwGbps, Spacing::Logarithmic),
        y: axis("predicted busbw", Quantity::BusbwGbps, Spacing::Logarithmic),
        series: vec![
            series("equal", Colour::Muted, Mark::Line, vec![point(0.06, 0.06), point(500.0, 500.0)]),
            series("by size", Colour::Palette(4), Mark::Dots, pairs.collect()),
        ],
    }
}

/// Importances in per cent with whiskers, some of them negative.
fn whiskers() -> Chart {
    let points = [(1.0, 62.0), (2.0, 18.0), (3.0, 9.5), (4.0, 1.2), (5.0, -0.4)];
    let whisker = |(x, y): (f64, f64)| Point { low: Some(y - 6.0), high: Some(y + 7.5), ..point(x, y) };
    Chart {
        id: "importance".into(),
        title: "Permutation importance".into(),
        summary: "Message size matters most.".into(),
        x: axis("feature", Quantity::Count, Spacing::Linear),
        y: axis("loss when shuffled", Quantity::Percent, Spacing::Linear),
        series: vec![series("importance", Colour::Palette(1), Mark::Whiskers, points.map(whisker).to_vec())],
    }
}

fn dark() -> Style {
    Style { theme: Theme::Dark, ..Style::default() }
}

fn layout(chart: &Chart, style: &Style) -> Layout {
    let mut sheet = String::new();
    let backend = plotters_svg::SVGBackend::with_string(&mut sheet, style.size_in_units());
    draw(chart, style, backend).expect("a string takes any drawing")
}

#[test]
fn charts_look_as_they_did() {
    let highlighted = Style { highlight: Some(Pick { series: 2, point: 12 }), ..Style::default() };
    let narrow = Style { width: 360.0, height: 300.0, ..dark() };
    let bare = Style { captions: false, ..Style::default() };
    let empty = Chart { series: Vec::new(), ..busbw_against_size() };
    let line = |n: u8| {
        let name = format!("<b>series & \"{n}\"</b>").repeat(1 + usize::from(n) / 9);
        series(&name, Colour::Palette(n), Mark::Line, vec![point(4096.0, f64::from(n)), point(5000.0, 2.0)])
    };
    let title =
        "A title that is much too long for any picture of an ordinary width, since it names <everything>".into();
    let long = Chart { title, series: (0..24).map(line).collect(), ..busbw_against_size() };
    for (name, chart, style) in [
        ("busbw_against_size", busbw_against_size(), Style::default()),
        ("busbw_against_size_dark", busbw_against_size(), dark()),
        ("busbw_against_size_narrow", busbw_against_size(), narrow),
        ("busbw_against_size_highlighted", busbw_against_size(), highlighted),
        ("busbw_against_channels", busbw_against_channels(), Style::default()),
        ("busbw_against_channels_dark", busbw_against_channels(), dark()),
        ("predicted_against_measured", predicted_against_measured(), Style::default()),
        ("whiskers", whiskers(), Style::default()),
        ("whiskers_bare", whiskers(), bare),
        ("empty", empty, Style::default()),
        ("long_names", long, Style { width: 480.0, height: 300.0, ..Style::default() }),
    ] {
        insta::assert_snapshot!(name, svg(&chart, &style));
    }
}

#[test]
fn points_lie_where_the_layout_says() {
    let chart = busbw_against_size();
    let layout = layout(&chart, &Style::default());
    assert_eq!(
        layout.series.iter().map(|series| series.index).collect::<Vec<_>>(),
        [1, 2, 3],
        "bands are not pointed at"
    );
    let places = &layout.series[1].positions;
    assert_eq!(places.len(), 21);
    assert!(places.windows(2).all(|pair| pair[0].x < pair[1].x && pair[0].y >= pair[1].y), "the curve rises");
    let steps: Vec<f64> = places.windows(2).map(|pair| pair[1].x - pair[0].x).collect();
    assert!(steps.iter().all(|step| (step - steps[0]).abs() < 1e-6), "sizes are logarithmic");
    for series in &layout.series {
        for place in &series.positions {
            assert!(layout.plot.contains(place.x, place.y), "{place:?}");
            assert!(layout.nearest(place.x, place.y, 1.0).is_some());
        }
    }
    let pick = Pick { series: 2, point: 12 };
    let place = layout.place(pick).unwrap();
    assert_eq!(layout.nearest(place.x - 1.0, place.y - 1.0, 20.0), Some(pick));
    let neighbours = beside(&chart, &layout, pick);
    assert_eq!(neighbours, [Pick { series: 1, point: 12 }, Pick { series: 3, point: 12 }]);
}

#[test]
fn the_page_and_a_file_have_one_layout() {
    let chart = busbw_against_size();
    let page = Style { pixel_ratio: 2.0, ..Style::default() };
    let (one, two) = (layout(&chart, &Style::default()), layout(&chart, &page));
    assert_eq!(one, two, "places are CSS pixels, whatever the screen");
}

#[test]
fn hidden_series_are_neither_drawn_nor_pointed_at() {
    let chart = busbw_against_size();
    let hidden = ["default".to_owned()].into_iter().collect();
    let style = Style { hidden, ..Style::default() };
    assert!(layout(&chart, &style).series.iter().all(|series| series.index != 1));
    assert!(svg(&chart, &Style::default()).contains(">\ndefault\n<"));
    assert!(!svg(&chart, &style).contains(">\ndefault\n<"));
    let all = Style { hidden: chart.series.iter().map(|series| series.name.clone()).collect(), ..Style::default() };
    assert!(svg(&chart, &all).contains("Every series is switched off in the legend"));
}

/// The ends of the drawn points' x values.
fn shown(chart: &Chart, layout: &Layout) -> (f64, f64) {
    let places = layout.series.iter().flat_map(|series| &series.positions);
    let xs = places.map(|place| chart.series[place.pick.series].points[place.pick.point].x);
    xs.fold((f64::INFINITY, 0.0), |(low, high), x| (x.min(low), x.max(high)))
}

#[test]
fn a_part_of_a_chart_is_drawn_alone() {
    let chart = busbw_against_size();
    let part = |zoom| Style { zoom, ..Style::default() };
    let all = layout(&chart, &Style::default());
    let zoom = Zoom { x: Some((30_000.0, 1_100_000.0)), y: None };
    let zoomed = layout(&chart, &part(zoom));
    assert_eq!(shown(&chart, &zoomed), (32768.0, 1048576.0));
    assert!(zoom_text(&chart, &zoomed).ends_with("points shown, message size 32 KiB to 1 MiB"));
    let outside = all.series[1].positions.last().unwrap().pick;
    assert!(all.place(outside).is_some() && zoomed.place(outside).is_none(), "what is outside isn't pointed at");
    let highest = |layout: &Layout| {
        let places = layout.series.iter().flat_map(|series| &series.positions);
        places.map(|place| place.y).fold(f64::INFINITY, f64::min)
    };
    assert!(highest(&zoomed) < zoomed.plot.top + 0.25 * zoomed.plot.height(), "the other axis fits what is shown");
    let bare = Style { captions: false, ..part(zoom) };
    let (plot, units) = (layout(&chart, &bare).plot, bare.units_per_pixel());
    let document = svg(&chart, &bare);
    let lines =
        document.split(" points=\"").skip(1).flat_map(|rest| rest.split('"').next().unwrap().split_whitespace());
    let xs: Vec<f64> = lines.map(|place| place.split(',').next().unwrap().parse::<f64>().unwrap() / units).collect();
    assert!(xs.len() > 60);
    assert!(xs.iter().all(|x| (plot.left - 1.0..=plot.right + 1.0).contains(x)), "lines end at the edges: {xs:?}");

    // From the picture and back.
    let Rect { top, bottom, .. } = all.plot;
    let [from, to] = [4, 12].map(|point| all.series[1].positions[point].x);
    let selected = all.selection((to + 2.0, 100.0), (from - 2.0, 104.0));
    assert_eq!((selected.top, selected.bottom), (top, bottom));
    let selected = all.zoom_to(Zoom::default(), selected);
    assert_eq!(selected.y, None);
    let sizes = |point: usize| chart.series[2].points[point].x;
    assert_eq!(shown(&chart, &layout(&chart, &part(selected))), (sizes(4), sizes(12)));
    let out = layout(&chart, &part(selected)).scaled(selected, None, 100.0);
    assert!(out.is_all());
    let right = layout(&chart, &part(selected)).moved(selected, 0.5, 0.0);
    let (low, high) = shown(&chart, &layout(&chart, &part(right)));
    assert!(low > sizes(4) && high > sizes(12), "{low} {high}");
}

#[test]
fn a_pin_survives_a_new_chart() {
    let before = busbw_against_size();
    let mut after = before.clone();
    after.series.remove(0);
    after.series[1].points.remove(0);
    let pick = Pick { series: 2, point: 12 };
    assert_eq!(after.same_point(&before, pick), Some(Pick { series: 1, point: 11 }));
    assert_eq!(after.same_point(&before, Pick { series: 2, point: 0 }), None);
    assert_eq!(after.same_point(&before, Pick { series: 0, point: 3 }), None);
    assert_eq!(after.same_point(&before, Pick { series: 9, point: 9 }), None);
}

#[test]
fn the_table_has_every_point() {
    let table = table(&busbw_against_size());
    let headers = ["Series", "message size", "busbw (GB/s)", "busbw (GB/s), low", "busbw (GB/s), high", "Note"];
    assert_eq!(table.headers, headers);
    assert_eq!(table.numeric, [false, true, true, true, true, false]);
    assert_eq!(table.rows.len(), 4 * 21);
    assert_eq!(table.rows[12], ["90 % interval", "16 MiB", "194.6", "175.1", "210.1", "RING SIMPLE 24"]);
    assert_eq!(table.rows[33], ["default", "16 MiB", "155.7", "", "", ""]);
    assert!(table.rows.iter().all(|row| row.len() == table.headers.len()));
    let bare = collectune::plot::table(&busbw_against_channels());
    assert_eq!(bare.headers, ["Series", "channels", "busbw (GB/s)"]);
    assert_eq!(bare.rows[0][1], "1");
}

#[test]
fn a_reading_is_a_sentence() {
    let reading = reading(&busbw_against_size(), Pick { series: 2, point: 12 }).unwrap();
    assert_eq!(
        reading.sentence(),
        "recommended: message size 16 MiB, busbw 194.6 GB/s, between 175.1 and 210.1 GB/s; RING SIMPLE 24"
    );
    assert_eq!(collectune::plot::reading(&whiskers(), Pick { series: 7, point: 0 }), None);
}

/// A document that a strict reader takes: one root, every element closed, no stray markup.
fn well_formed(document: &str) -> bool {
    let mut open = Vec::new();
    let mut rest = document;
    while let Some(start) = rest.find('<') {
        let Some(end) = rest[start..].find('>').map(|end| start + end) else { return false };
        let tag = &rest[start + 1..end];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return false;
            }
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap_or_default());
        }
        rest = &rest[end + 1..];
    }
    open.is_empty() && !document.contains("NaN") && document.chars().all(|c| c == '\n' || !c.is_control())
}

#[test]
fn names_are_text_and_nothing_else() {
    let evil = "</text><script>alert(1)</script>\u{0}\u{202e}&\"'\u{ffff}";
    let mut chart = busbw_against_size();
    evil.clone_into(&mut chart.title);
    evil.clone_into(&mut chart.summary);
    evil.clone_into(&mut chart.x.label);
    evil.clone_into(&mut chart.series[1].name);
    let document = svg(&chart, &Style::default());
    assert!(well_formed(&document));
    assert!(!document.contains("<script"));
}

#[test]
fn a_large_chart_is_drawn_in_time() {
    let zigzag = |n: i32| point(f64::from(n), if n % 2 == 0 { 0.0 } else { 1e9 });
    let points: Vec<Point> = (0..20_000).map(zigzag).collect();
    let marks = [Mark::Line, Mark::Dashed, Mark::Dots, Mark::LineAndDots, Mark::Band, Mark::Whiskers, Mark::Rings];
    let all = marks
        .iter()
        .enumerate()
        .map(|(n, mark)| series(&format!("{n}"), Colour::Palette(n as u8), mark.clone(), points.clone()));
    let chart = Chart { series: all.collect(), ..busbw_against_channels() };
    let start = std::time::Instant::now();
    assert_eq!(layout(&chart, &Style::default()).series.len(), 6);
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn thousands_of_dots_at_few_places_are_few_squares_that_cover_as_much() {
    let mut chart = predicted_against_measured();
    // 1 dot, 2 dots and 2,497 dots at three places; all but 0.1 % of what is below the last is covered.
    let places = [1, 2, 2497].iter().zip([1.0, 10.0, 100.0]);
    let dots = places.flat_map(|(&count, x)| std::iter::repeat_n(point(x, x), count)).collect();
    chart.series = vec![series("measured", Colour::Palette(0), Mark::Dots, dots)];
    let document = svg(&chart, &Style::default());
    let opacity = |square: &str| square.split_once("opacity=\"")?.1.split_once('"')?.0.parse::<f64>().ok();
    let squares: Vec<f64> =
        document.lines().filter(|line| line.starts_with("<rect")).skip(1).filter_map(opacity).collect();
    assert_eq!(squares.len(), 3, "{squares:?}");
    for (drawn, expected) in squares.iter().zip([0.35, 1.0 - 0.65 * 0.65, 1.0]) {
        assert!((drawn - expected).abs() < 0.002, "{squares:?}");
    }
    // In a picture of more pixels than are counted, those that lie beyond are drawn one by one.
    let largest = Style { width: Style::LARGEST, height: Style::LARGEST, pixel_ratio: 16.0, ..Style::default() };
    assert!(svg(&chart, &largest).matches("<rect").count() > 2000);
}

fn hostile_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<f64>(),
        4 => -1e3..1e6,
        1 => Just(0.0),
        1 => Just(-0.0),
        1 => Just(f64::MAX),
        1 => Just(f64::MIN_POSITIVE),
        1 => Just(5e-324),
        1 => Just(1e100),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(f64::NEG_INFINITY),
    ]
}

fn hostile_chart() -> impl Strategy<Value = Chart> {
    let quantity = prop::sample::select(vec![
        Quantity::Bytes,
        Quantity::BusbwGbps,
        Quantity::Count,
        Quantity::TimeUs,
        Quantity::Percent,
        Quantity::Number,
        Quantity::Gib,
        Quantity::Share,
        Quantity::Names(Vec::new()),
        Quantity::Names(vec![String::new(), "<b>".to_owned(), "name".repeat(40)]),
    ]);
    let spacing = prop::sample::select(vec![Spacing::Linear, Spacing::Logarithmic, Spacing::SymmetricLogarithmic]);
    let axis = (any::<String>(), quantity.clone(), spacing.clone()).prop_map(|(label, quantity, spacing)| Axis {
        label,
        quantity,
        spacing,
    });
    let end = || prop::option::of(hostile_number());
    let number = hostile_number;
    let point = (number(), number(), end(), end(), end()).prop_map(|(x, y, low, high, value)| Point {
        x,
        y,
        low,
        high,
        value,
        ..Point::default()
    });
    let marks = vec![
        Mark::Line,
        Mark::Dashed,
        Mark::Dots,
        Mark::LineAndDots,
        Mark::Band,
        Mark::Whiskers,
        Mark::Spans,
        Mark::Rings,
    ];
    let mark = prop_oneof![
        7 => prop::sample::select(marks),
        2 => (quantity, spacing).prop_map(|(quantity, spacing)| Mark::Cells(quantity, spacing)),
    ];
    let series = (any::<String>(), any::<u8>(), mark, prop::collection::vec(point, 0..12))
        .prop_map(|(name, colour, mark, points)| Series { name, colour: Colour::Palette(colour), mark, points });
    (any::<String>(), axis.clone(), axis, prop::collection::vec(series, 0..5)).prop_map(|(title, x, y, series)| Chart {
        id: String::new(),
        summary: title.clone(),
        title,
        x,
        y,
        series,
    })
}

fn hostile_style() -> impl Strategy<Value = Style> {
    let length = || prop_oneof![4 => 1.0..2000.0, 1 => hostile_number()];
    let pick = prop::option::of((0..5_usize, 0..12_usize).prop_map(|(series, point)| Pick { series, point }));
    let part = || prop::option::of((hostile_number(), hostile_number()));
    let zoom = (part(), part()).prop_map(|(x, y)| Zoom { x, y });
    (length(), length(), length(), any::<u32>(), any::<bool>(), pick, zoom).prop_map(
        |(width, height, ratio, fineness, captions, highlight, zoom)| Style {
            width,
            height,
            pixel_ratio: ratio / 500.0,
            fineness,
            captions,
            highlight,
            zoom,
            ..Style::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever numbers and texts come: a well-formed picture, points inside the plot, a table of all points.
    #[test]
    fn no_data_breaks_a_chart(chart in hostile_chart(), style in hostile_style()) {
        prop_assert!(well_formed(&svg(&chart, &style)));
        let layout = layout(&chart, &style);
        for place in layout.series.iter().flat_map(|series| &series.positions) {
            let slack = 1e-6 * (1.0 + layout.plot.right);
            prop_assert!(place.x >= layout.plot.left - slack && place.x <= layout.plot.right + slack, "{place:?} {:?}", layout.plot);
            prop_assert!(place.y >= layout.plot.top - slack && place.y <= layout.plot.bottom + slack, "{place:?} {:?}", layout.plot);
        }
        for zoom in [layout.scaled(style.zoom, None, 0.5), layout.moved(style.zoom, 0.5, -0.5)] {
            let part = Style { zoom, ..style.clone() };
            prop_assert!(well_formed(&svg(&chart, &part)));
        }
        prop_assert_eq!(table(&chart).rows.len(), chart.series.iter().map(|series| series.points.len()).sum::<usize>());
    }

    /// Numbers of ordinary kind always get labelled ticks, and their labels never touch.
    #[test]
    fn tick_labels_never_overlap(
        values in prop::collection::vec((1_u64..1 << 40, 1e-4..1e4), 1..40),
        width in 200.0..2000.0,
        logarithmic in any::<bool>(),
    ) {
        let points: Vec<Point> = values.iter().map(|&(x, y)| point(x as f64, y)).collect();
        let spacing = if logarithmic { Spacing::Logarithmic } else { Spacing::Linear };
        let chart = Chart {
            y: axis("busbw", Quantity::BusbwGbps, spacing),
            series: vec![series("measured", Colour::Muted, Mark::Dots, points)],
            ..busbw_against_size()
        };
        let style = Style { width, captions: false, ..Style::default() };
        let document = svg(&chart, &style);
        let labels = texts(&document);
        let middles: Vec<_> = labels.iter().filter(|label| label.anchor == "middle").collect();
        let rights: Vec<_> = labels.iter().filter(|label| label.anchor == "end" && label.x < width * 4.0).collect();
        prop_assert!(!middles.is_empty() && !rights.is_empty(), "{document}");
        for pair in middles.windows(2) {
            // DejaVu Sans, the widest common interface font, sets no glyph of a size wider than 0.87 em.
            let half = |label: &Label| label.text.chars().count() as f64 * 0.5 * 0.64 * label.size;
            prop_assert!(pair[1].x - pair[0].x > half(pair[0]) + half(pair[1]), "{} {}", pair[0].text, pair[1].text);
        }
        for pair in rights.windows(2) {
            prop_assert!((pair[1].y - pair[0].y).abs() >= 1.4 * pair[0].size);
        }
    }
}

struct Label {
    x: f64,
    y: f64,
    size: f64,
    anchor: String,
    text: String,
}

/// The texts of a document in its own units.
fn texts(document: &str) -> Vec<Label> {
    let label = |element: &str| {
        let attribute = |name: &str| element.split_once(&format!(" {name}=\""))?.1.split('"').next();
        let number = |name| attribute(name)?.parse().ok();
        let text = element.split(['>', '<']).nth(1)?.trim().to_owned();
        let anchor = attribute("text-anchor")?.to_owned();
        Some(Label { x: number("x")?, y: number("y")?, size: number("font-size")?, anchor, text })
    };
    document.split("<text").skip(1).map(|element| label(element).expect("a text with its place")).collect()
}
