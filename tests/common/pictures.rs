//! The pictures of the first view: what each workbench answers, drawn from the charts of the simulated examples. Each
//! line of a picture is a path of SVG: its classes in style/page.css, a colon, and its data.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::{fmt::Write, fs};

use collectune::{
    math::{cos, ln, sin},
    plot::{Axis, Chart, Colour, Mark, Series, Spacing},
    report::Workbench,
};
use tempfile::TempDir;

use crate::support::terminal::{collectune, report_of};

const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 96.0;
/// The space around what is drawn.
const MARGIN: f64 = 6.0;
/// The most points of a line, or dots of a series.
const MOST: usize = 60;

/// A workbench, what its report is made of, the chart that is drawn, and the names of its series that are left out.
const PICTURES: [(Workbench, &str, &str, &[&str]); 4] = [
    (Workbench::Tuning, "simulated_sweep.csv", "busbw-over-size-all_reduce-1n8r", &["90 % interval"]),
    (Workbench::Policy, "simulated_rewards.csv", "policy-posteriors", &[]),
    (Workbench::TrainingTime, "simulated_training.zip", "training-time-pipeline", &[]),
    (Workbench::Overlap, "simulated_kernels.csv", "overlap-predicted-over-measured-trees-lad", &[]),
];

fn path(workbench: Workbench) -> String {
    format!("src/app/pictures/{}.txt", workbench.key())
}

/// All pictures with the workbenches that they are of.
fn pictures() -> Vec<(Workbench, String)> {
    let of_chart = |(workbench, example, id, without): (Workbench, &str, &str, &[&str])| {
        let report = report_of(&format!("public/examples/{example}"));
        let charts = report.sections.iter().flat_map(|section| &section.charts);
        let chart = charts.into_iter().find(|chart| chart.id == id).unwrap_or_else(|| panic!("{example} has no {id}"));
        (workbench, drawn(chart, without))
    };
    PICTURES.into_iter().map(of_chart).chain([(Workbench::Topology, network())]).collect()
}

/// Where a value is on an axis, before it is scaled.
fn position(axis: &Axis, value: f64) -> f64 {
    match axis.spacing {
        Spacing::Linear => value,
        Spacing::Logarithmic => ln(value),
        Spacing::SymmetricLogarithmic => value.signum() * ln(1.0 + value.abs()),
    }
}

fn drawn(chart: &Chart, without: &[&str]) -> String {
    let shown: Vec<&Series> = chart.series.iter().filter(|series| !without.contains(&series.name.as_str())).collect();
    let points = || shown.iter().flat_map(|series| &series.points);
    let ends = |of: &dyn Fn(&collectune::plot::Point) -> Vec<f64>| {
        let all: Vec<f64> = points().flat_map(of).collect();
        (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let is_rows = shown.iter().any(|series| series.mark == Mark::Spans);
    let across = ends(&|p| vec![position(&chart.x, p.x), position(&chart.x, p.x + p.value.unwrap_or_default())]);
    let down = ends(&|p| vec![position(&chart.y, p.y), position(&chart.y, p.y) + f64::from(u8::from(is_rows))]);
    let x =
        |value: f64| MARGIN + (position(&chart.x, value) - across.0) / (across.1 - across.0) * (WIDTH - 2.0 * MARGIN);
    let y = |value: f64| {
        let share = (position(&chart.y, value) - down.0) / (down.1 - down.0);
        MARGIN + if is_rows { share } else { 1.0 - share } * (HEIGHT - 2.0 * MARGIN)
    };
    let mut paths = String::new();
    for (place, series) in shown.iter().enumerate() {
        let colour = match series.colour {
            Colour::Answer => "answer".to_owned(),
            Colour::Default => "default".to_owned(),
            Colour::Muted => "muted".to_owned(),
            Colour::Palette(_) => format!("c{}", place % 3),
        };
        let step = series.points.len().div_ceil(MOST);
        let mut data = String::new();
        let mut is_drawn_before = false;
        for point in series.points.iter().step_by(step) {
            let (left, top) = (x(point.x), y(point.y));
            // A line has a gap where there is no value.
            let continues = std::mem::replace(&mut is_drawn_before, top.is_finite());
            if !top.is_finite() {
                continue;
            }
            match series.mark {
                Mark::Spans => {
                    let right = x(point.x + point.value.unwrap_or_default());
                    let bottom = y(point.y + 0.8);
                    write!(data, "M{left:.1} {top:.1}H{right:.1}V{bottom:.1}H{left:.1}z").unwrap();
                }
                Mark::Dots | Mark::Rings => write!(data, "M{left:.1} {top:.1}h0").unwrap(),
                _ => write!(data, "{}{left:.1} {top:.1}", if continues { 'L' } else { 'M' }).unwrap(),
            }
        }
        let kind = match series.mark {
            Mark::Spans => "bars",
            Mark::Dots | Mark::Rings => "dots",
            Mark::Dashed => "dashed",
            _ => "line",
        };
        writeln!(paths, "{kind} {colour}: {data}").unwrap();
    }
    paths
}

/// The links of the generated graph that the workbench begins with, between nodes on a circle; in front those that the
/// schedule keeps busy the longest.
fn network() -> String {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("schedule.csv").display().to_string();
    assert!(collectune(&["topology", "synthesize", "dgx1v", "-o", &file]).status.success());
    let text = fs::read_to_string(&file).unwrap();
    let node = |place: &str, nodes: f64| {
        let angle = std::f64::consts::TAU * (place.parse::<f64>().unwrap() / nodes - 0.25);
        let radius = HEIGHT / 2.0 - MARGIN;
        (WIDTH / 2.0 + 1.8 * radius * cos(angle), HEIGHT / 2.0 + radius * sin(angle))
    };
    let links = || text.lines().skip_while(|line| !line.starts_with("SrcID")).skip(1);
    let transfers = |link: &str| link.split(',').skip(4).filter(|cell| cell.split(':').count() == 3).count();
    let most = links().map(transfers).max().unwrap();
    let (mut idle, mut busy) = (String::new(), String::new());
    for link in links() {
        let mut cells = link.split(',');
        let (from, to) = (node(cells.next().unwrap(), 8.0), node(cells.next().unwrap(), 8.0));
        let data = if transfers(link) == most { &mut busy } else { &mut idle };
        write!(data, "M{:.1} {:.1}L{:.1} {:.1}", from.0, from.1, to.0, to.1).unwrap();
    }
    let mut nodes = String::new();
    for place in 0..8 {
        let (left, top) = node(&place.to_string(), 8.0);
        write!(nodes, "M{left:.1} {top:.1}h0").unwrap();
    }
    format!("line muted: {idle}\nline answer: {busy}\nnodes: {nodes}\n")
}

#[test]
fn the_pictures_are_those_of_the_examples() {
    for (workbench, picture) in pictures() {
        let file = path(workbench);
        let held = fs::read_to_string(&file).unwrap_or_default();
        assert!(held == picture, "{file}: cargo test --test common write_the_pictures -- --ignored writes it anew");
    }
}

#[test]
#[ignore = "writes src/app/pictures anew"]
fn write_the_pictures() {
    for (workbench, picture) in pictures() {
        fs::write(path(workbench), picture).unwrap();
    }
}
