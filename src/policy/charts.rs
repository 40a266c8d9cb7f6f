//! The charts of reward logs and of replays.

use super::{
    pool::Pool,
    request::Highlight,
    result::{ArmResult, KeyResult, Objective, StrategyResult},
};
use crate::{
    bandit::strategies::StrategyKind,
    math::{exp, ln},
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    units::{percent, significant},
};

/// The most dots of a chart; of more, every so-manieth is drawn.
const MOST_DOTS: usize = 4000;

/// The title of the latency axis of a key.
fn latency(of: &KeyResult) -> &'static str {
    match of.objective {
        Objective::Communication => "Latency, ms",
        Objective::Iteration => "Iteration, ms",
    }
}

fn colour(place: usize) -> Colour {
    if place == 0 { Colour::Default } else { Colour::Palette((place - 1) as u8) }
}

/// Emphasises one series: it is drawn on top, and the others in the background. A chart without it is unchanged.
fn emphasise(series: &mut [Series], name: Option<&str>) {
    let Some(place) = name.and_then(|name| series.iter().position(|series| series.name == name)) else { return };
    series.iter_mut().enumerate().filter(|(other, _)| *other != place).for_each(|(_, one)| one.colour = Colour::Muted);
    series[place..].rotate_left(1);
}

/// The latency of each line over time, a series for each arm.
pub fn latencies(pool: &Pool, of: &KeyResult, highlight: &Highlight) -> Chart {
    let total = pool.lines.len() + pool.unattributed.len();
    let each = total.div_ceil(MOST_DOTS).max(1);
    let mut series: Vec<Series> = of
        .arms
        .iter()
        .enumerate()
        .map(|(place, arm)| Series::new(arm.arm.to_string(), colour(place), Mark::Dots, Vec::new()))
        .collect();
    for (index, line) in pool.lines.iter().enumerate().step_by(each) {
        let point = Point { x: (index + 1) as f64, y: line.latency_ms, ..Point::default() };
        series[line.arm].points.push(point);
    }
    let unattributed = pool.unattributed.iter().enumerate().step_by(each);
    let points: Vec<Point> = unattributed
        .map(|(index, value)| Point { x: (pool.lines.len() + index + 1) as f64, y: *value, ..Point::default() })
        .collect();
    series.push(Series::new("no arm known", Colour::Muted, Mark::Dots, points));
    series.retain(|series| !series.points.is_empty());
    emphasise(&mut series, highlight.arm.as_deref());
    let thinned = if each > 1 { format!(" Every {each}th call is drawn.") } else { String::new() };
    Chart {
        id: "policy-latencies".to_owned(),
        title: format!("Over time: {}", pool.key),
        summary: format!("{total} calls with {} arms in the order in which they were logged.{thinned}", series.len()),
        x: Axis::new("Call, in the order of the log", Quantity::Number, Spacing::Linear),
        y: Axis::new(latency(of), Quantity::Number, Spacing::Linear),
        series,
    }
}

/// The posterior densities of the means of the arms.
pub fn posteriors(of: &KeyResult, highlight: &Highlight) -> Option<Chart> {
    let ran: Vec<(usize, &ArmResult)> =
        of.arms.iter().enumerate().filter(|(_, arm)| arm.n > 0 && arm.credible_ms.1 > arm.credible_ms.0).collect();
    let mut series: Vec<Series> = ran
        .iter()
        .map(|(place, arm)| {
            let freedom = (2.0 + arm.n_eff).max(2.0);
            let (low, high) = arm.credible_ms;
            let middle = f64::midpoint(low, high);
            let scale = (high - low) / 2.0 / crate::bandit::student::quantile(0.975, freedom);
            let normal = exp(ln_gamma_ratio(freedom)) / (scale * (freedom * std::f64::consts::PI).sqrt());
            let points = (-40..=40_i32)
                .map(|step| {
                    let t = f64::from(step) / 10.0;
                    let density = normal * exp(-(freedom + 1.0) / 2.0 * ln(1.0 + t * t / freedom));
                    Point { x: middle + scale * t, y: density, note: arm.arm.to_string(), ..Point::default() }
                })
                .collect();
            Series::new(arm.arm.to_string(), colour(*place), Mark::Line, points)
        })
        .collect();
    emphasise(&mut series, highlight.arm.as_deref());
    let best = ran.iter().min_by(|a, b| a.1.mean_ms.total_cmp(&b.1.mean_ms))?;
    Some(Chart {
        id: "policy-posteriors".to_owned(),
        title: "Where each arm's mean lies".to_owned(),
        summary: format!(
            "The lowest mean is that of {}, {} ms; 95 % of its posterior lie between {} and {}.",
            best.1.arm,
            significant(best.1.mean_ms),
            significant(best.1.credible_ms.0),
            significant(best.1.credible_ms.1)
        ),
        x: Axis::new("Mean, ms", Quantity::Number, Spacing::Linear),
        y: Axis::new("Density", Quantity::Number, Spacing::Linear),
        series,
    })
}

/// ln Γ((ν + 1)/2) − ln Γ(ν/2), for ν degrees of freedom.
fn ln_gamma_ratio(freedom: f64) -> f64 {
    crate::bandit::student::ln_gamma((freedom + 1.0) / 2.0) - crate::bandit::student::ln_gamma(freedom / 2.0)
}

/// Cumulative regret over steps, where one strategy may be shown out by its title.
pub fn regret(strategies: &[StrategyResult], words: &str, shown_out: Option<&str>) -> Chart {
    let series =
        strategies.iter().filter(|of| of.strategy != StrategyKind::Oracle.key()).enumerate().map(|(place, of)| {
            let point = |index: usize| Point {
                x: f64::from(of.steps[index]),
                y: of.regret_ms[index],
                low: Some(of.regret_spread_ms[index].0),
                high: Some(of.regret_spread_ms[index].1),
                note: format!("{}: {} ms", of.title, significant(of.regret_ms[index])),
                ..Point::default()
            };
            Series::new(
                of.title.clone(),
                if of.strategy == StrategyKind::Auto.key() { Colour::Default } else { Colour::Palette(place as u8) },
                if of.is_raw { Mark::Dashed } else { Mark::Line },
                (0..of.steps.len()).map(point).collect(),
            )
        });
    let mut series: Vec<Series> = series.collect();
    emphasise(&mut series, shown_out);
    let least = strategies.iter().filter(|of| of.strategy != StrategyKind::Oracle.key() && !of.is_raw);
    let least = least.min_by(|a, b| a.regret_ms.last().unwrap_or(&0.0).total_cmp(b.regret_ms.last().unwrap_or(&0.0)));
    Chart {
        id: "policy-regret".to_owned(),
        title: "Cumulative regret".to_owned(),
        summary: least.map_or_else(String::new, |of| {
            let regret = of.regret_ms.last().copied().unwrap_or(0.0);
            format!("{words}. Least at the end: {}, {} ms.", of.title, significant(regret))
        }),
        x: Axis::new("Step", Quantity::Number, Spacing::Logarithmic),
        y: Axis::new("Regret, ms", Quantity::Number, Spacing::SymmetricLogarithmic),
        series,
    }
}

/// The share of steps that one strategy gives to each arm, over the steps of the replay.
pub fn shares(of: &StrategyResult, arms: &[String], steps: u32, highlight: &Highlight) -> Chart {
    let stretch = f64::from(steps) / of.arm_shares.len().max(1) as f64;
    // An arm has the colour that it has in the charts of its key.
    let hue = |place: usize| arms[..place].iter().filter(|arm| *arm != "auto").count() as u8;
    let mut series: Vec<Series> = arms
        .iter()
        .enumerate()
        .map(|(place, arm)| {
            Series::new(
                arm.clone(),
                if arm == "auto" { Colour::Default } else { Colour::Palette(hue(place)) },
                Mark::Line,
                (0..)
                    .zip(&of.arm_shares)
                    .map(|(index, shares)| {
                        let share = shares.get(place).copied().unwrap_or(0.0) * 100.0;
                        Point {
                            x: (f64::from(index) + 0.5) * stretch,
                            y: share,
                            note: format!("{arm}: {}", percent(share).trim_start_matches('+')),
                            ..Point::default()
                        }
                    })
                    .collect(),
            )
        })
        .collect();
    emphasise(&mut series, highlight.arm.as_deref());
    let last = of.arm_shares.last().and_then(|shares| {
        let most = shares.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some(format!("At the end {} has {:.0} %.", arms.get(most.0)?, most.1 * 100.0))
    });
    Chart {
        id: format!("policy-shares-{}", of.strategy),
        title: format!("Shares of arms: {}", of.title),
        summary: last.unwrap_or_default(),
        x: Axis::new("Step", Quantity::Number, Spacing::Linear),
        y: Axis::new("Calls", Quantity::Percent, Spacing::Linear),
        series,
    }
}
