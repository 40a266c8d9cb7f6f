//! Checks the samples of operators.

use super::{
    super::{
        catalogue::{CACHED, Catalogue, Gpu, Operator},
        samples::{Cluster, OperatorSamples, VOCABULARY, compare},
        scope::Scope,
    },
    Flag, FlagTarget, Health, Rule, Summary,
};
use crate::{
    math::median,
    order::CompactSort,
    units::{count, grouped, significant},
};

/// The factor from which a time is too far from its neighbours to be noise.
const FAR: f64 = 10.0;
/// The share of rows below which faster backward passes count as noise.
const FEW: f64 = 0.01;
/// The fewest rows that a regressor needs.
const ENOUGH: usize = 30;

pub(super) fn look(cluster: &Cluster, catalogue: &Catalogue, health: &mut Health) {
    let gpu = catalogue.gpu(&cluster.gpu);
    let mut degrees: Vec<f64> = cluster.operators.iter().filter_map(degrees_of).flatten().collect();
    degrees.compact_sort_by(f64::total_cmp);
    degrees.dedup();
    for samples in &cluster.operators {
        let known = catalogue.operator(&samples.operator);
        let distinct = Distinct::of(samples.len(), |row| samples.row(row));
        let features = known.and_then(|operator| features(samples, operator));
        let summary = distinct.summary(samples, features.as_deref());
        let mut flags = Flags { cluster, samples, flags: &mut health.flags };
        backward_faster(&mut flags, known);
        far_off(&mut flags, &distinct);
        above_peak(&mut flags, known, gpu);
        above_memory(&mut flags, known, gpu);
        repeated(&mut flags, &summary);
        too_few(&mut flags, &summary);
        few_values(&mut flags, &summary, &degrees);
        health.summaries.push(summary);
    }
}

struct Flags<'a> {
    cluster: &'a Cluster,
    samples: &'a OperatorSamples,
    flags: &'a mut Vec<Flag>,
}

impl Flags<'_> {
    fn raise(&mut self, rule: Rule, rows: Vec<usize>, what: String, effect: &str) {
        if rows.is_empty() {
            return;
        }
        self.flags.push(Flag {
            cluster: self.cluster.name.clone(),
            target: FlagTarget::Operator(self.samples.operator.clone()),
            precision: self.samples.precision.clone(),
            rule,
            count: rows.len(),
            of: self.samples.len(),
            what,
            effect: effect.to_owned(),
            places: rows.iter().filter_map(|row| self.samples.places.get(*row).copied()).collect(),
            rows,
        });
    }
}

/// Rows grouped by equal inputs.
struct Distinct {
    /// The indices of the rows, sorted by inputs.
    order: Vec<usize>,
    /// The index in `order` at which the rows of each distinct input begin, and the end.
    begins: Vec<usize>,
}

impl Distinct {
    fn of<'a>(rows: usize, key: impl Fn(usize) -> &'a [f64]) -> Self {
        let mut order: Vec<usize> = (0..rows).collect();
        order.compact_sort_by(|a, b| compare(key(*a), key(*b)));
        let mut begins: Vec<usize> =
            (0..order.len()).filter(|at| *at == 0 || key(order[*at]) != key(order[*at - 1])).collect();
        begins.push(order.len());
        Self { order, begins }
    }

    fn groups(&self) -> impl Iterator<Item = &[usize]> {
        self.begins.windows(2).filter_map(|pair| self.order.get(pair[0]..pair[1])).filter(|group| !group.is_empty())
    }

    fn summary(&self, samples: &OperatorSamples, features: Option<&[f64]>) -> Summary {
        let inputs = samples.inputs.iter().enumerate().map(|(at, name)| {
            let mut values: Vec<f64> = (0..samples.len()).map(|row| samples.row(row)[at]).collect();
            values.compact_sort_by(f64::total_cmp);
            values.dedup();
            let (low, high) = (values.first().copied(), values.last().copied());
            (name.clone(), low.unwrap_or_default(), high.unwrap_or_default(), values.len())
        });
        let distinct = self.groups().count();
        let width = features.map_or(0, |features| features.len() / samples.len().max(1));
        let by_features = features.filter(|_| width > 0).map(|features| {
            Self::of(samples.len(), |row| features.get(row * width..(row + 1) * width).unwrap_or_default())
        });
        let equal = by_features.as_ref().unwrap_or(self);
        Summary {
            target: FlagTarget::Operator(samples.operator.clone()),
            precision: samples.precision.clone(),
            rows: samples.len(),
            distinct,
            repeated: samples.len() - distinct,
            distinct_features: equal.groups().count(),
            noise: [equal.noise(&samples.forward_us), equal.noise(&samples.backward_us)],
            deviation: [self.noise(&samples.forward_us), self.noise(&samples.backward_us)],
            inputs: inputs.collect(),
        }
    }

    /// The mean of |mean time of equal rows ÷ time − 1| over all rows that have an equal one.
    fn noise(&self, times: &[f64]) -> Option<f64> {
        let mut deviations = Vec::new();
        for group in self.groups().filter(|group| group.len() > 1) {
            let equal: Vec<f64> = group.iter().filter_map(|row| times.get(*row).copied()).collect();
            let mean = equal.iter().sum::<f64>() / equal.len() as f64;
            deviations.extend(equal.iter().map(|time| (mean / time - 1.0).abs()));
        }
        (!deviations.is_empty()).then(|| deviations.iter().sum::<f64>() / deviations.len() as f64)
    }
}

/// The features of all rows, row-major; `None` where one can't be evaluated.
fn features(samples: &OperatorSamples, operator: &Operator) -> Option<Vec<f64>> {
    let mut all = Some(Vec::with_capacity(samples.len() * operator.features.len()));
    each_scope(samples, |_, scope| match operator.features(scope) {
        Ok(features) => all.iter_mut().for_each(|all| all.extend_from_slice(&features)),
        Err(_) => all = None,
    });
    all
}

/// Flags matrix products whose backward pass is faster than the forward pass, although it does twice the work.
fn backward_faster(flags: &mut Flags<'_>, known: Option<&Operator>) {
    let samples = flags.samples;
    let multiplies = known.is_some_and(Operator::multiplies);
    if !multiplies || samples.backward_us.is_empty() {
        return;
    }
    let pairs = || samples.forward_us.iter().zip(&samples.backward_us);
    let rows: Vec<usize> =
        pairs().enumerate().filter(|(_, (forward, backward))| backward < forward).map(|(row, _)| row).collect();
    if (rows.len() as f64) < FEW * samples.len() as f64 {
        return;
    }
    let mut ratios: Vec<f64> = pairs().map(|(forward, backward)| backward / forward).collect();
    let ratio = median(&mut ratios).unwrap_or_default();
    let what = format!(
        "backward is faster than forward in {} of {}, and computes twice as much; median backward ÷ forward {}",
        grouped(rows.len() as u64),
        count(samples.len() as u64, "row"),
        significant(ratio)
    );
    let effect =
        "Predictions of its times are doubtful; without these rows they rest on the others, if enough are left";
    flags.raise(Rule::BackwardFaster, rows, what, effect);
}

/// Flags times that differ by [`FAR`] from the lowest median of the rows that differ in one input only. Inputs with
/// fewer than three values there don't count.
fn far_off(flags: &mut Flags<'_>, distinct: &Distinct) {
    let samples = flags.samples;
    let lines = lines(samples, distinct);
    for (way, times) in [("", &samples.forward_us), (" backward", &samples.backward_us)] {
        if times.len() != samples.len() {
            continue;
        }
        let lowest = lowest_medians(samples, &lines, times);
        let is = |far: fn(f64, f64) -> bool| -> Vec<usize> {
            (0..samples.len()).filter(|row| lowest[*row].is_some_and(|median| far(times[*row], median))).collect()
        };
        let above = is(|time, median| time > FAR * median);
        let below = is(|time, median| time * FAR < median);
        let effect = "They pull every prediction near them; without them it rests on the neighbours";
        let largest = above.iter().map(|row| times[*row]).fold(0.0, f64::max);
        let mut neighbours: Vec<f64> = above.iter().filter_map(|row| lowest[*row]).collect();
        let beside = median(&mut neighbours).unwrap_or_default();
        let what = format!(
            "{} of {} {} more than {FAR} times as slow{way} as their neighbours (about {} µs; the largest {} µs)",
            grouped(above.len() as u64),
            count(samples.len() as u64, "row"),
            if above.len() == 1 { "is" } else { "are" },
            significant(beside),
            grouped(largest.round() as u64)
        );
        flags.raise(Rule::FarAbove, above, what, effect);
        let what = format!(
            "{} of {} take less than a tenth of the time of their neighbours{way}",
            grouped(below.len() as u64),
            count(samples.len() as u64, "row")
        );
        flags.raise(Rule::FarBelow, below, what, effect);
    }
}

/// Groups of rows that differ in one input only, for each input, if a group has enough rows.
fn lines(samples: &OperatorSamples, distinct: &Distinct) -> Vec<Vec<usize>> {
    /// The fewest points of a line for which a median is meaningful.
    const LEAST: usize = 3;
    let mut lines = Vec::new();
    for axis in 0..samples.inputs.len() {
        // Sorted by the other inputs first, the rows of one line are neighbours.
        let mut order = distinct.order.clone();
        let without = |row: usize| {
            let inputs = samples.row(row);
            inputs[..axis].iter().chain(inputs.get(axis + 1..).unwrap_or_default())
        };
        order.compact_sort_by(|a, b| {
            let differs = without(*a).zip(without(*b)).map(|(a, b)| a.total_cmp(b)).find(|ordering| ordering.is_ne());
            differs.unwrap_or(std::cmp::Ordering::Equal)
        });
        let of_axis = order.chunk_by(|a, b| without(*a).eq(without(*b)));
        lines.extend(of_axis.filter(|line| line.len() >= LEAST).map(<[usize]>::to_vec));
    }
    lines
}

/// The lowest of the medians of the lines through each row.
fn lowest_medians(samples: &OperatorSamples, lines: &[Vec<usize>], times: &[f64]) -> Vec<Option<f64>> {
    let mut lowest: Vec<Option<f64>> = vec![None; samples.len()];
    for line in lines {
        let mut values: Vec<f64> = line.iter().map(|row| times[*row]).collect();
        let Some(middle) = median(&mut values) else { continue };
        for row in line {
            lowest[*row] = Some(lowest[*row].map_or(middle, |known| known.min(middle)));
        }
    }
    lowest
}

fn above_peak(flags: &mut Flags<'_>, known: Option<&Operator>, gpu: Option<&Gpu>) {
    let samples = flags.samples;
    let peak = gpu.and_then(|gpu| gpu.peak_flops(&samples.precision));
    let (Some(operator), Some(peak)) = (known, peak) else { return };
    if !operator.multiplies() {
        return;
    }
    let mut rows = Vec::new();
    let mut fastest = 0.0_f64;
    each_scope(samples, |row, scope| {
        let flop = operator.flop(scope).ok().flatten().unwrap_or_default();
        let speed = flop / samples.forward_us[row] * 1e6;
        let backward = samples.backward_us.get(row).map_or(0.0, |time| 2.0 * flop / time * 1e6);
        fastest = fastest.max(speed).max(backward);
        if speed > peak || backward > peak {
            rows.push(row);
        }
    });
    let what = format!(
        "{} of {} would have computed faster than the GPU's {} TFLOP/s, up to {}{}",
        grouped(rows.len() as u64),
        count(samples.len() as u64, "row"),
        significant(peak / 1e12),
        significant(fastest / 1e12),
        unit_hint(fastest / peak)
    );
    flags.raise(Rule::AbovePeak, rows, what, "Predictions near them are below what the hardware can do");
    let shortest = samples.forward_us.iter().copied().fold(f64::INFINITY, f64::min);
    if fastest < LEAST_OF_PEAK * peak && shortest > LONG_US {
        let what = format!(
            "none of {} computes faster than {} TFLOP/s, and none takes less than {} µs: are its times nanoseconds?",
            count(samples.len() as u64, "row"),
            significant(fastest / 1e12),
            significant(shortest)
        );
        flags.raise(Rule::FarAbove, (0..samples.len()).collect(), what, "Predictions are far above what it takes");
    }
}

/// What a product or attention reaches at least of the peak, where it takes longer than [`LONG_US`].
const LEAST_OF_PEAK: f64 = 0.01;

/// A time in µs that no launch alone takes.
const LONG_US: f64 = 500.0;

/// A hint at milliseconds: no GPU exceeds its peak by such a factor, but times in ms look a thousand times too short.
fn unit_hint(times_too_fast: f64) -> &'static str {
    if times_too_fast > 100.0 { ": are its times milliseconds?" } else { "" }
}

/// Flags times that are shorter than the memory's bandwidth allows.
fn above_memory(flags: &mut Flags<'_>, known: Option<&Operator>, gpu: Option<&Gpu>) {
    let samples = flags.samples;
    let (Some(operator), Some(gpu)) = (known, gpu) else { return };
    let Some(gbps) = gpu.memory_gbps else { return };
    let mut rows = Vec::new();
    let mut fastest = 0.0_f64;
    each_scope(samples, |row, scope| {
        // The time of computing is checked by another rule, so the operations are left out here.
        let least_us = operator.least_us(gpu, "", scope);
        let shortest =
            samples.backward_us.get(row).map_or(samples.forward_us[row], |back| back.min(samples.forward_us[row]));
        if shortest < least_us {
            rows.push(row);
            fastest = fastest.max(least_us / shortest * CACHED);
        }
    });
    let what = format!(
        "{} of {} would have moved their bytes up to {} times as fast as the GPU's memory with {} GB/s can{}",
        grouped(rows.len() as u64),
        count(samples.len() as u64, "row"),
        significant(fastest),
        significant(gbps),
        unit_hint(fastest)
    );
    flags.raise(Rule::AboveMemory, rows, what, "Predictions near them are below what the hardware can do");
}

/// Calls `each` with every row and the names of its inputs.
pub(in super::super) fn each_scope(samples: &OperatorSamples, mut each: impl FnMut(usize, &Scope)) {
    let mut scope = Scope::default();
    scope.set("vocabulary", VOCABULARY);
    for row in 0..samples.len() {
        for (name, value) in samples.inputs.iter().zip(samples.row(row)) {
            scope.set(name, *value);
        }
        each(row, &scope);
    }
}

fn repeated(flags: &mut Flags<'_>, summary: &Summary) {
    let samples = flags.samples;
    if summary.repeated == 0 {
        return;
    }
    let distinct = Distinct::of(samples.len(), |row| samples.row(row));
    let mut rows: Vec<usize> = distinct.groups().flat_map(|group| group[1..].iter().copied()).collect();
    rows.compact_sort();
    let noise = summary.deviation.iter().flatten().map(|share| format!("{} %", significant(share * 100.0)));
    let what = format!(
        "{} of {} repeat the inputs of another; equal inputs differ by {} on average",
        grouped(rows.len() as u64),
        count(samples.len() as u64, "row"),
        noise.collect::<Vec<_>>().join(" forward and ")
    );
    flags.raise(Rule::Repeated, rows, what, "All of them train; their median is shown as measured");
}

fn too_few(flags: &mut Flags<'_>, summary: &Summary) {
    if summary.rows >= ENOUGH && summary.distinct > 1 {
        return;
    }
    let what = format!(
        "{} with {}: too few to train",
        count(summary.rows as u64, "row"),
        count(summary.distinct as u64, "distinct input")
    );
    flags.raise(Rule::TooFew, (0..summary.rows).collect(), what, "Only its measured rows are used");
}

/// The tensor-parallel degrees in an operator's samples, ascending.
fn degrees_of(samples: &OperatorSamples) -> Option<Vec<f64>> {
    let at = samples.inputs.iter().position(|input| input == "mp")?;
    let mut values: Vec<f64> = (0..samples.len()).map(|row| samples.row(row)[at]).collect();
    values.compact_sort_by(f64::total_cmp);
    values.dedup();
    Some(values)
}

/// Flags operators that were sampled with fewer tensor degrees than other operators of the cluster.
fn few_values(flags: &mut Flags<'_>, summary: &Summary, all: &[f64]) {
    let Some(own) = degrees_of(flags.samples) else { return };
    let is_missing = |value: &&f64| own.binary_search_by(|known| known.total_cmp(value)).is_err();
    let missing: Vec<f64> = all.iter().filter(is_missing).copied().collect();
    if missing.is_empty() {
        return;
    }
    let what = format!("only mp {} was sampled, where others have mp {} as well", listed(&own), listed(&missing));
    let effect = "Other tensor degrees are extrapolated; sample them to have them measured";
    flags.raise(Rule::FewValues, (0..summary.rows).collect(), what, effect);
}

/// The first values, and the number of the others.
fn listed(values: &[f64]) -> String {
    /// The most values that a sentence lists.
    const NAMED: usize = 12;
    let first = values.iter().take(NAMED).map(f64::to_string).collect::<Vec<_>>().join(", ");
    match values.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
