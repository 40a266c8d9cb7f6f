//! The drawing of charts: what each kind looks like, and that no data can break it.

use std::collections::BTreeSet;

use collectune::plot::{
    Axis, Chart, Colour, Layout, Mark, Pick, Point, Quantity, Series, Spacing, Style, Theme, draw, svg, table,
};

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
    (12..=32).map(|power| f64::from(power).exp2())
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
        let y = |channels: f64| peak * (1.0 - ((channels - best) / 64.0).powi(2)) * (channels / (channels + 2.0));
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
        let measured = (f64::from(index) / 300.0 * 13.0 - 4.0).exp2();
        point(measured, measured * (1.0 + 0.2 * (f64::from(index) * 12.9898).sin() * (f64::from(index) * 0.37).cos()))
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

#[allow(dead_code)]
fn unused(_: BTreeSet<String>) {
    let _ = (table(&whiskers()), layout(&whiskers(), &dark()));
}
