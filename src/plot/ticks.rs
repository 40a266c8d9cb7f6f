//! Ticks at round values, thinned until their labels have room.

use super::{
    Axis, Quantity, Spacing,
    measure::shortened,
    scale::{Scale, round_up},
    table::{time_unit, value_text},
};
use crate::{
    math::{exp2, log2, pow},
    order::CompactSort,
    units::{Size, with_minus},
};

/// The ticks of one axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ticks {
    /// Position along the axis in CSS pixels, and label.
    pub labelled: Vec<(f64, String)>,
    /// Positions of the finer gridlines between the labelled ticks.
    pub fine: Vec<f64>,
}

/// More ticks than this are never tried, whatever the data.
const MOST: usize = 200;

/// The space that labels need along their axis.
pub(super) struct Room<'a> {
    /// Extent of a label along the axis in CSS pixels.
    pub extent: &'a dyn Fn(&str) -> f64,
    /// The smallest gap between two labels.
    pub gap: f64,
    /// The least distance of two ticks, however short their labels.
    pub least: f64,
    /// The most that the name of a category takes in CSS pixels, across the axis or along it.
    pub longest: f64,
}

impl Room<'_> {
    fn holds(&self, ticks: &[(f64, String)]) -> bool {
        ticks.windows(2).all(|pair| {
            let needed = f64::midpoint((self.extent)(&pair[0].1), (self.extent)(&pair[1].1)) + self.gap;
            (pair[1].0 - pair[0].0).abs() >= needed.max(self.least)
        })
    }

    /// The first of several sets of ticks, from dense to sparse, that has room; else the last one's first tick.
    fn first_that_fits(&self, sets: impl Iterator<Item = Vec<(f64, String)>>) -> Vec<(f64, String)> {
        let mut last = Vec::new();
        for set in sets {
            if self.holds(&set) {
                return set;
            }
            last = set;
        }
        last.truncate(1);
        last
    }
}

/// The ticks for an axis whose series have these values.
pub(super) fn ticks(axis: &Axis, scale: &Scale, values: &[f64], room: &Room<'_>) -> Ticks {
    let by_powers = match (&axis.quantity, scale.spacing()) {
        (Quantity::Names(names), _) => return categories(scale, names, room),
        (Quantity::Count, _) => return counts(scale, values, room),
        (quantity, Spacing::Linear) => return in_proportion(scale, quantity, room),
        (Quantity::Bytes, Spacing::Logarithmic) => powers_of_two(scale, room),
        (quantity, Spacing::Logarithmic) => decades(scale, quantity, room),
        (quantity, Spacing::SymmetricLogarithmic) => both_sides(scale, quantity, room),
    };
    // The part that is shown may lie between two powers.
    if scale.is_part() && by_powers.labelled.len() < 3 {
        let steps = in_proportion(scale, &axis.quantity, room);
        if steps.labelled.len() > by_powers.labelled.len() {
            return steps;
        }
    }
    by_powers
}

/// Ticks at multiples of a step that is round in the unit of the quantity.
fn in_proportion(scale: &Scale, quantity: &Quantity, room: &Room<'_>) -> Ticks {
    match quantity {
        Quantity::Bytes => steps(scale, room, binary_step, &|value, _| value_text(value, &Quantity::Bytes)),
        Quantity::TimeUs => {
            let (low, high) = scale.ends();
            let (name, unit_us) = time_unit(low.abs().max(high.abs()));
            steps(scale, room, round_up, &|us, step| format!("{} {name}", decimal(us / unit_us, step / unit_us)))
        }
        Quantity::Share => steps(scale, room, round_up, &|share, step| decimal(share * 100.0, step * 100.0)),
        _ => steps(scale, room, round_up, &decimal),
    }
}

fn at(scale: &Scale, value: f64, label: String) -> Option<(f64, String)> {
    scale.place(value).map(|place| (place, label))
}

/// A value with as many decimals as its step needs.
fn decimal(value: f64, step: f64) -> String {
    let largest = value.abs().max(step);
    if !(1e-4..1e7).contains(&largest) && value != 0.0 {
        return with_minus(format!("{:e}", (value / step).round() * step).chars().take(9).collect());
    }
    let decimals = (-(log2(step) / std::f64::consts::LOG2_10 + 1e-9).floor()).clamp(0.0, 6.0) as usize;
    with_minus(format!("{value:.decimals$}"))
}

fn binary_step(value: f64) -> f64 {
    exp2(log2(value).ceil())
}

/// Ticks at multiples of a step.
fn steps(scale: &Scale, room: &Room<'_>, round: fn(f64) -> f64, label: &dyn Fn(f64, f64) -> String) -> Ticks {
    let (low, high) = scale.ends();
    let set = |step: f64| {
        let first = (low / step).ceil();
        let count = (((high / step).floor() - first).max(0.0) as usize).min(MOST);
        let nth = |n| (first + n as f64) * step;
        let inside = (0..=count).map(nth).filter(|value| (low..=high).contains(value));
        inside.filter_map(|value| at(scale, value, label(value, step))).collect::<Vec<_>>()
    };
    let densest = (scale.length() / room.least.max(1.0)).clamp(1.0, MOST as f64);
    let step = round((high - low) / densest);
    let wider = std::iter::successors(Some(step), |step| Some(round(step * 1.5)));
    Ticks { labelled: room.first_that_fits(wider.take(8).map(set)), fine: Vec::new() }
}

/// Ticks at powers of two, or at each second, fourth, tenth and so on of them, with fine gridlines at the others.
fn powers_of_two(scale: &Scale, room: &Room<'_>) -> Ticks {
    let (low, high) = scale.ends();
    let (first, last) = (log2(low).ceil() as i32, log2(high).floor() as i32);
    let label = |power: i32| match u32::try_from(power) {
        Ok(power @ 0..=62) => Size(1 << power).to_string(),
        _ => format!("2^{power} B"),
    };
    let set = |step: i32| {
        let multiples = (first..=last).filter(|power| power.rem_euclid(step) == 0);
        multiples.filter_map(|power| at(scale, exp2(f64::from(power)), label(power))).collect::<Vec<_>>()
    };
    let labelled = room.first_that_fits([1, 2, 4, 5, 10, 20, 40, 100, 200, 400].into_iter().map(set));
    let octave = scale.length() / f64::from((last - first).max(1));
    let rest = (first..=last).filter(|_| octave >= 7.0).filter_map(|power| scale.place(exp2(f64::from(power))));
    let fine = rest.filter(|place| labelled.iter().all(|(tick, _)| (tick - place).abs() > 0.5)).collect();
    Ticks { labelled, fine }
}

/// Ticks at 1, 2 and 5 times powers of ten, or at the powers only, or at each third, tenth and so on of them.
fn decades(scale: &Scale, quantity: &Quantity, room: &Room<'_>) -> Ticks {
    let (low, high) = scale.ends();
    let decade = |value: f64| log2(value) / std::f64::consts::LOG2_10;
    let (first, last) = (decade(low).floor() as i32, decade(high).ceil() as i32);
    let set = |(factors, step): (&[f64], i32)| {
        let powers = (first..=last).filter(|power| power.rem_euclid(step) == 0);
        let values =
            powers.flat_map(|power| factors.iter().map(move |factor| (factor * pow(10.0, f64::from(power)), power)));
        let inside = values.filter(|(value, _)| (low..=high).contains(value));
        inside.filter_map(|(value, power)| at(scale, value, power_label(value, power, quantity))).collect::<Vec<_>>()
    };
    let sets: [(&[f64], i32); 7] =
        [(&[1.0, 2.0, 5.0], 1), (&[1.0], 1), (&[1.0], 3), (&[1.0], 6), (&[1.0], 12), (&[1.0], 30), (&[1.0], 60)];
    let labelled = room.first_that_fits(sets.into_iter().map(set));
    let wide = scale.length() / f64::from((last - first).max(1)) >= 60.0;
    let between = (first..=last)
        .filter(|_| wide)
        .flat_map(|power| (1..10).map(move |n| f64::from(n) * pow(10.0, f64::from(power))));
    let places = between.filter(|value| (low..=high).contains(value)).filter_map(|value| scale.place(value));
    let fine = places.filter(|place| labelled.iter().all(|(tick, _)| (tick - place).abs() > 0.5)).collect();
    Ticks { labelled, fine }
}

/// Ticks at zero and at powers of ten on either side of it, or at each second, third and so on of them. They start
/// from 10 where 1 would be too close to zero.
fn both_sides(scale: &Scale, quantity: &Quantity, room: &Room<'_>) -> Ticks {
    /// The last entry has zero only.
    const FROM_AND_STEP: [(i32, usize); 9] =
        [(0, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (6, 6), (12, 12), (100, 1)];
    let (low, high) = scale.ends();
    let set = |(from, step): (i32, usize)| {
        let powers = || (from..100).step_by(step).map(|power| (pow(10.0, f64::from(power)), power));
        let below = powers().take_while(|(value, _)| -value >= low).map(|(value, power)| (-value, power));
        let mut values: Vec<(f64, i32)> = below.collect();
        values.reverse();
        values.push((0.0, 0));
        values.extend(powers().take_while(|(value, _)| *value <= high));
        let inside = values.into_iter().filter(|(value, _)| (low..=high).contains(value));
        inside.filter_map(|(value, power)| at(scale, value, power_label(value, power, quantity))).collect::<Vec<_>>()
    };
    Ticks { labelled: room.first_that_fits(FROM_AND_STEP.into_iter().map(set)), fine: Vec::new() }
}

fn power_label(value: f64, power: i32, quantity: &Quantity) -> String {
    let (value, power, unit) = match quantity {
        Quantity::TimeUs if value != 0.0 => {
            let (name, unit_us) = time_unit(value);
            (value / unit_us, power - power.div_euclid(3).clamp(0, 2) * 3, format!(" {name}"))
        }
        Quantity::Share => (value * 100.0, power + 2, String::new()),
        _ => (value, power, String::new()),
    };
    let number = match power {
        0..=6 => format!("{value:.0}"),
        -6..=-1 => format!("{value:.*}", power.unsigned_abs() as usize),
        _ => format!("{value:.0e}"),
    };
    with_minus(number) + &unit
}

/// Ticks at all names, or at each second, fourth, eighth and so on of them.
fn categories(scale: &Scale, names: &[String], room: &Room<'_>) -> Ticks {
    // One letter beside the other needs less air than numbers on a scale.
    let room = Room { gap: room.gap / 2.0, least: 0.0, ..*room };
    let set = |power: u32| {
        let chosen = names.iter().enumerate().step_by(1 << power);
        chosen.filter_map(|(n, name)| at(scale, n as f64, shortened(name, 11.5, room.longest))).collect::<Vec<_>>()
    };
    let few = (0..31).filter(|power| names.len() >> power <= MOST);
    Ticks {
        labelled: room.first_that_fits(few.take_while(|power| *power == 0 || names.len() >> power > 0).map(set)),
        fine: Vec::new(),
    }
}

/// Ticks at the values that occur, or at those that are multiples of 2, 4, 8 and so on. The smallest and the largest
/// value are kept if possible.
fn counts(scale: &Scale, values: &[f64], room: &Room<'_>) -> Ticks {
    let (low, high) = scale.ends();
    let is_shown = |value: &f64| scale.place(*value).is_some() && (!scale.is_part() || (low..=high).contains(value));
    let mut values: Vec<f64> = values.iter().copied().filter(is_shown).collect();
    values.compact_sort_by(f64::total_cmp);
    values.dedup();
    let label = |value: f64| at(scale, value, value_text(value, &Quantity::Count));
    let set = |step: u32| {
        let step = f64::from(step);
        let many = values.len() > MOST && (values.len() as f64 / step) > MOST as f64;
        // The quotient by a power of two is exact, and `%` of floats is three kilobytes.
        let chosen = values.iter().filter(|&&value| !many && (value / step).fract() == 0.0);
        chosen.filter_map(|&value| label(value)).collect::<Vec<_>>()
    };
    let whole = values.iter().all(|value| value.fract() == 0.0);
    let doubling = (0..31).map(|power| 1_u32 << power);
    let sets = doubling.map(|step| if whole || step == 1 { set(step) } else { Vec::new() });
    let mut labelled = room.first_that_fits(sets.filter(|set| !set.is_empty()));
    for (end, index) in [(values.first(), 0), (values.last(), usize::MAX)] {
        let Some(tick) = end.and_then(|&value| label(value)) else { continue };
        let mut with_end = labelled.clone();
        with_end.insert(index.min(labelled.len()), tick.clone());
        if labelled.iter().all(|(place, _)| (place - tick.0).abs() > 0.5) && room.holds(&with_end) {
            labelled = with_end;
        }
    }
    Ticks { labelled, fine: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(quantity: Quantity, spacing: Spacing, values: &[f64], length: f64) -> Vec<String> {
        let axis = Axis { label: String::new(), quantity, spacing };
        let scale = Scale::new(&axis, values.iter().copied(), 0.0, length).expect("a scale");
        let room = Room { extent: &|label| label.chars().count() as f64 * 7.0, gap: 10.0, least: 30.0, longest: 90.0 };
        ticks(&axis, &scale, values, &room).labelled.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn sizes_are_powers_of_two_as_far_as_there_is_room() {
        let values = [4096.0, 4294967296.0];
        assert_eq!(
            labels(Quantity::Bytes, Spacing::Logarithmic, &values, 700.0),
            ["4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB", "64 MiB", "256 MiB", "1 GiB", "4 GiB"]
        );
        assert_eq!(
            labels(Quantity::Bytes, Spacing::Logarithmic, &values, 400.0),
            ["4 KiB", "64 KiB", "1 MiB", "16 MiB", "256 MiB", "4 GiB"]
        );
        assert_eq!(labels(Quantity::Bytes, Spacing::Logarithmic, &values, 160.0), ["1 MiB", "1 GiB"]);
        assert_eq!(labels(Quantity::Bytes, Spacing::Logarithmic, &[368640.0], 400.0), ["256 KiB", "512 KiB"]);
    }

    #[test]
    fn bandwidths_are_one_two_five() {
        let linear = |values: &[f64]| labels(Quantity::BusbwGbps, Spacing::Linear, values, 200.0);
        assert_eq!(linear(&[378.0]), ["0", "100", "200", "300"]);
        assert_eq!(linear(&[0.037]), ["0.00", "0.01", "0.02", "0.03"]);
        assert_eq!(linear(&[-12.0, 9.0]), ["−10", "−5", "0", "5", "10"]);
        let logarithmic = |values: &[f64]| labels(Quantity::BusbwGbps, Spacing::Logarithmic, values, 300.0);
        assert_eq!(logarithmic(&[0.02, 370.0]), ["0.1", "1", "10", "100"]);
        assert_eq!(logarithmic(&[3.0, 40.0]), ["5", "10", "20"]);
        let symmetric =
            |values: &[f64], length| labels(Quantity::Percent, Spacing::SymmetricLogarithmic, values, length);
        assert_eq!(symmetric(&[-50.0, 3000.0], 900.0), ["−10", "−1", "0", "1", "10", "100", "1000"]);
        assert_eq!(symmetric(&[-50.0, 3000.0], 400.0), ["−10", "0", "10", "100", "1000"]);
        assert_eq!(symmetric(&[-3000.0, 3000.0], 200.0), ["−100", "0", "100"]);
        assert_eq!(symmetric(&[-0.5, 0.5], 100.0), ["0"]);
    }

    #[test]
    fn counts_are_those_of_the_series() {
        let count = |values: &[f64], length| labels(Quantity::Count, Spacing::Linear, values, length);
        assert_eq!(count(&[1.0, 2.0, 4.0, 8.0, 16.0], 1000.0), ["1", "2", "4", "8", "16"]);
        assert_eq!(count(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], 400.0), ["1", "8", "16", "32", "64"]);
        let all: Vec<f64> = (1..=64).map(f64::from).collect();
        assert_eq!(count(&all, 400.0), ["1", "8", "16", "24", "32", "40", "48", "56", "64"]);
        assert_eq!(count(&[24.0], 400.0), ["24"]);
        assert_eq!(count(&[1.5, 2.5], 400.0).len(), 2);
    }

    #[test]
    fn a_part_between_two_powers_has_ticks_of_its_own() {
        let part = |quantity, ends: (f64, f64), length| {
            let axis = Axis { label: String::new(), quantity, spacing: Spacing::Logarithmic };
            let whole = Scale::new(&axis, [1e3, 1e9].into_iter(), 0.0, length).expect("a scale");
            let room =
                Room { extent: &|label| label.chars().count() as f64 * 7.0, gap: 10.0, least: 30.0, longest: 90.0 };
            let ticks = ticks(&axis, &whole.part(Some(ends)), &[1e3, 1e9], &room);
            ticks.labelled.into_iter().map(|(_, label)| label).collect::<Vec<_>>()
        };
        let mib = f64::from(1 << 20);
        assert_eq!(part(Quantity::Bytes, (1.1 * mib, 1.9 * mib), 400.0), ["1.25 MiB", "1.5 MiB", "1.75 MiB"]);
        assert_eq!(part(Quantity::BusbwGbps, (1.1e4, 1.9e4), 300.0), ["12000", "14000", "16000", "18000"]);
        assert_eq!(
            part(Quantity::Bytes, (0.9 * mib, 17.0 * mib), 400.0),
            ["1 MiB", "2 MiB", "4 MiB", "8 MiB", "16 MiB"]
        );
    }
}
