//! Measured kernels, and what their slowdown beside communication is.

use std::{collections::HashMap, hash::Hash};

use serde::{Deserialize, Serialize};

/// One launch of a kernel, alone and beside a collective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// The name without parameters, as the profiler shortens it.
    pub name: String,
    /// The number of the line, row or record in its file, from 1.
    pub line: u64,
    /// The duration in ns without communication beside it.
    pub alone_ns: f64,
    /// The duration in the distributed run.
    pub duration_ns: f64,
    /// The share of [`Kernel::duration_ns`] that overlaps communication, from 0 to 1.
    pub overlap_ratio: f64,
    /// The profiler's metrics, one for each column of the [`Dataset`].
    pub metrics: Vec<f64>,
}

impl Kernel {
    /// The slowdown s of `duration = alone · (1 + overlap ratio · s)`: a relative increase, 0 without overlap.
    pub fn slowdown(&self) -> f64 {
        slowdown(self.duration_ns / self.alone_ns, self.overlap_ratio)
    }

    /// Whether the kernel ran at the same time as a collective.
    pub fn is_overlapped(&self) -> bool {
        self.overlap_ratio != 0.0
    }
}

/// The slowdown of a kernel whose duration is `ratio` times that alone.
pub fn slowdown(ratio: f64, overlap_ratio: f64) -> f64 {
    if overlap_ratio == 0.0 { 0.0 } else { (ratio - 1.0) / overlap_ratio }
}

/// The duration of a kernel over that alone, by its slowdown. No kernel takes less than no time.
pub fn ratio(slowdown: f64, overlap_ratio: f64) -> f64 {
    (1.0 + overlap_ratio * slowdown).max(0.0)
}

/// The first of these kernels that has what each has, by its index.
fn first_with<K: Eq + Hash>(kernels: &[&Kernel], what: impl Fn(&Kernel) -> K) -> Vec<usize> {
    let mut known: HashMap<K, usize> = HashMap::with_capacity(kernels.len());
    let first = |(index, kernel): (usize, &&Kernel)| *known.entry(what(kernel)).or_insert(index);
    kernels.iter().enumerate().map(first).collect()
}

/// The bits of numbers and of the first `metrics` metrics of a kernel.
fn bits<const N: usize>(kernel: &Kernel, numbers: [f64; N], metrics: usize) -> Vec<u64> {
    numbers.iter().chain(kernel.metrics.iter().take(metrics)).map(|number| number.to_bits()).collect()
}

/// The first of these kernels that each is equal to: of the same name, durations, overlap ratio and metrics, of which
/// the first `metrics` count. Most are only equal to themselves.
pub fn first_equals(kernels: &[&Kernel], metrics: usize) -> Vec<usize> {
    let times = |kernel: &Kernel| [kernel.alone_ns, kernel.duration_ns, kernel.overlap_ratio];
    first_with(kernels, |kernel| (kernel.name.clone(), bits(kernel, times(kernel), metrics)))
}

/// The share of kernels that may have the name and the times of an earlier one by chance: times are whole clock ticks.
const EQUAL_BY_CHANCE: f64 = 0.1;

/// How many of these kernels have the name, durations and overlap ratio of an earlier one with other metrics, of which
/// the first `metrics` count: the launches of a run that was profiled twice. `None` where it may be chance.
pub fn profiled_again(kernels: &[&Kernel], metrics: usize) -> Option<u64> {
    let again = |firsts: Vec<usize>| firsts.iter().enumerate().filter(|(at, first)| at != *first).count();
    let rows = again(first_equals(kernels, 0)).saturating_sub(again(first_equals(kernels, metrics)));
    (metrics > 0 && rows as f64 > EQUAL_BY_CHANCE * kernels.len() as f64).then_some(rows as u64)
}

/// The first of the kernels with which each is held out, by its index: those that are equal to it, the same launch with
/// another time, and the same launch where the run was profiled twice. The first `metrics` metrics count.
pub fn held_out_with(kernels: &[&Kernel], metrics: usize) -> Vec<usize> {
    let mut firsts = first_equals(kernels, metrics);
    if metrics > 0 {
        let asked = |kernel: &Kernel| [kernel.alone_ns, kernel.overlap_ratio];
        let launches = first_with(kernels, |kernel| (kernel.name.clone(), bits(kernel, asked(kernel), metrics)));
        joined(&mut firsts, &launches);
    }
    if profiled_again(kernels, metrics).is_some() {
        joined(&mut firsts, &first_equals(kernels, 0));
    }
    firsts
}

/// Joins the groups of `firsts` that `others` have in one group.
fn joined(firsts: &mut [usize], others: &[usize]) {
    fn first_of(firsts: &[usize], mut index: usize) -> usize {
        while firsts[index] != index {
            index = firsts[index];
        }
        index
    }
    for (index, other) in others.iter().enumerate() {
        let (a, b) = (first_of(firsts, index), first_of(firsts, *other));
        firsts[a.max(b)] = a.min(b);
    }
    for index in 0..firsts.len() {
        firsts[index] = first_of(firsts, index);
    }
}

/// Kernels of one run, in the order of their launches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dataset {
    /// The names of the files that hold the run.
    pub name: String,
    /// The columns besides durations: the [`standard`](crate::overlap::read::STANDARD) metrics that are available, in
    /// their order, then every other numeric column.
    pub columns: Vec<String>,
    /// The kernel launches, in the order of the file.
    pub kernels: Vec<Kernel>,
    /// Rows whose slowdown is not that of their durations, which count; and the first one's line.
    pub contradictions: (u64, Option<u64>),
}

impl Dataset {
    /// The number of columns that are standard metrics, which come first. One of the further columns may be a row
    /// number.
    pub fn standard_metrics(&self) -> usize {
        let is_standard = |name: &&String| super::read::STANDARD.iter().any(|(standard, _)| standard == name);
        self.columns.iter().take_while(is_standard).count()
    }

    /// The launches that ran at the same time as a collective.
    pub fn overlapped(&self) -> impl Iterator<Item = &Kernel> + Clone {
        self.kernels.iter().filter(|kernel| kernel.is_overlapped())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, [alone_ns, duration_ns]: [f64; 2], metric: f64) -> Kernel {
        Kernel { name: name.to_owned(), line: 1, alone_ns, duration_ns, overlap_ratio: 0.5, metrics: vec![metric] }
    }

    #[test]
    fn rows_of_one_launch_are_held_out_together() {
        let firsts = |kernels: &[Kernel], metrics| held_out_with(&kernels.iter().collect::<Vec<_>>(), metrics);
        let run =
            |metric: f64| (0..20).map(move |at| kernel("a", [100.0 + f64::from(at), 150.0], f64::from(at) + metric));
        // Equal, and equal but for the time beside the collective; another time alone is another launch.
        let mut rows: Vec<Kernel> = run(0.0).collect();
        rows.extend([
            kernel("a", [100.0, 150.0], 0.0),
            kernel("a", [101.0, 170.0], 1.0),
            kernel("a", [99.0, 150.0], 2.0),
            kernel("b", [100.0, 150.0], 0.0),
        ]);
        assert_eq!(firsts(&rows, 1)[20..], [0, 1, 22, 23]);
        // Times that are equal by chance say nothing; those of a run that was profiled twice do.
        rows.push(kernel("a", [105.0, 150.0], 77.0));
        assert_eq!(firsts(&rows, 1)[24], 24);
        let twice: Vec<Kernel> = run(0.0).chain(run(0.25)).collect();
        assert_eq!(firsts(&twice, 1), (0..20).chain(0..20).collect::<Vec<_>>());
        // A third row that has the metrics of one and the times of the other joins both.
        let mut thrice = twice;
        thrice.push(kernel("a", [103.0, 190.0], 3.25));
        assert_eq!(firsts(&thrice, 1)[40], 3);
        // Without metrics only equal rows are one.
        assert_eq!(firsts(&rows, 0)[20..], [0, 21, 22, 23, 5]);
    }
}
