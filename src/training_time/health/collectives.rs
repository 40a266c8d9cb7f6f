//! Checks the samples of collectives.

use super::{
    super::{
        catalogue::{Catalogue, most_gbps},
        samples::{Cluster, CollectiveRow, CollectiveSamples},
    },
    Flag, FlagTarget, Health, Rule, Summary,
};
use crate::units::{count, grouped, significant};

/// The number of rows of the running median to either side.
const REACH: usize = 10;
/// Outside of these times the running median a row is left out of the curve.
const FAST: f64 = 0.67;
const SLOW: f64 = 1.5;
/// A message of so many elements takes the bandwidth of its links.
const LARGE_ELEMENTS: u64 = 8 << 20;
/// The bus bandwidth in GB/s that large messages have at least: less than any network between GPUs gives.
const LEAST_GBPS: f64 = 0.5;
/// The fewest rows that a regressor needs.
const ENOUGH: usize = 30;

pub(super) fn look(cluster: &Cluster, catalogue: &Catalogue, health: &mut Health) {
    for samples in &cluster.collectives {
        let mut begin = 0;
        // Rows come by communicator, then elements.
        for rows in samples.rows.chunk_by(|a, b| a.communicator == b.communicator) {
            health.summaries.push(summary(samples, rows));
            Rows { cluster, samples, rows, begin }.look(catalogue, health);
            begin += rows.len();
        }
    }
}

fn summary(samples: &CollectiveSamples, rows: &[CollectiveRow]) -> Summary {
    let mut deviations = Vec::new();
    let mut distinct = 0;
    for equal in rows.chunk_by(|a, b| a.elements == b.elements) {
        distinct += 1;
        let times: Vec<f64> = equal.iter().map(|row| row.time_us).collect();
        if times.len() > 1 {
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            deviations.extend(times.iter().map(|time| (mean / time - 1.0).abs()));
        }
    }
    let noise = (!deviations.is_empty()).then(|| deviations.iter().sum::<f64>() / deviations.len() as f64);
    let ends = rows.first().zip(rows.last()).map(|(low, high)| (low.elements as f64, high.elements as f64));
    let (low, high) = ends.unwrap_or_default();
    Summary {
        target: target(samples, rows),
        precision: samples.precision.clone(),
        rows: rows.len(),
        distinct,
        repeated: rows.len() - distinct,
        distinct_features: distinct,
        noise: [noise, None],
        deviation: [noise, None],
        inputs: vec![("shape".to_owned(), low, high, distinct)],
    }
}

fn target(samples: &CollectiveSamples, rows: &[CollectiveRow]) -> FlagTarget {
    let communicator = rows.first().map(|row| row.communicator).unwrap_or_default();
    FlagTarget::Collective(samples.collective.clone(), communicator)
}

/// The rows of one communicator, by elements; the first one is row `begin` of all.
struct Rows<'a> {
    cluster: &'a Cluster,
    samples: &'a CollectiveSamples,
    rows: &'a [CollectiveRow],
    begin: usize,
}

impl Rows<'_> {
    fn look(&self, catalogue: &Catalogue, health: &mut Health) {
        let all = || count(self.rows.len() as u64, "row");
        let number = |rows: &[usize]| grouped(rows.len() as u64);
        let communicator = self.rows.first().map(|row| row.communicator).unwrap_or_default();
        if let Some(collective) = catalogue.collective(&self.samples.collective) {
            let most = most_gbps(communicator);
            let speeds: Vec<Option<f64>> = self
                .rows
                .iter()
                .map(|row| collective.busbw_gbps(row.elements, row.communicator, row.time_us))
                .collect();
            let is_above = |row: &usize| speeds[*row].is_some_and(|gbps| gbps > most);
            let rows: Vec<usize> = (0..self.rows.len()).filter(is_above).collect();
            let fastest = speeds.iter().flatten().copied().fold(0.0, f64::max);
            let what = format!(
                "{} of {} {} have more than {most} GB/s of bus bandwidth, up to {}",
                number(&rows),
                all(),
                if communicator.nodes > 1 { "between nodes" } else { "within a node" },
                significant(fastest)
            );
            let effect = "Such messages would cost next to nothing; without these rows the curve rests on the others";
            self.raise(health, Rule::AboveLink, rows, what, effect);
            let is_large = |row: &CollectiveRow| row.elements >= LARGE_ELEMENTS;
            if self.rows.iter().any(is_large) && fastest < LEAST_GBPS {
                let fastest = significant(fastest);
                let what =
                    format!("all {} have at most {fastest} GB/s of bus bandwidth: are its times nanoseconds?", all());
                let effect = "Its messages would cost far more than on any network";
                self.raise(health, Rule::FarAbove, (0..self.rows.len()).collect(), what, effect);
            }
        }
        let medians = running_medians(self.rows);
        let beside = |is: fn(f64) -> bool| -> Vec<usize> {
            (0..self.rows.len()).filter(|row| is(self.rows[*row].time_us / medians[*row])).collect()
        };
        let effect = "The curve of the default mode leaves them out by itself; parity trains on them";
        let slow = beside(|ratio| ratio > SLOW);
        let what = format!("{} of {} take more than {SLOW} × the running median", number(&slow), all());
        self.raise(health, Rule::SlowBeside, slow, what, effect);
        let fast = beside(|ratio| ratio < FAST);
        let what = format!("{} of {} take less than {FAST} × the running median", number(&fast), all());
        self.raise(health, Rule::FastBeside, fast, what, effect);
        let repeats = |row: &usize| *row > 0 && self.rows[*row].elements == self.rows[*row - 1].elements;
        let repeated: Vec<usize> = (0..self.rows.len()).filter(repeats).collect();
        let distinct = self.rows.len() - repeated.len();
        let what = format!("{} of {} repeat a size", number(&repeated), all());
        self.raise(health, Rule::Repeated, repeated, what, "All of them train; the curve takes their mean");
        if self.rows.len() < ENOUGH || distinct < 2 {
            let what = format!("{} with {}: too few to train", all(), count(distinct as u64, "distinct size"));
            let rows = (0..self.rows.len()).collect();
            self.raise(health, Rule::TooFew, rows, what, "Only its measured rows are used");
        }
    }

    fn raise(&self, health: &mut Health, rule: Rule, rows: Vec<usize>, what: String, effect: &str) {
        if rows.is_empty() {
            return;
        }
        health.flags.push(Flag {
            cluster: self.cluster.name.clone(),
            target: target(self.samples, self.rows),
            precision: self.samples.precision.clone(),
            rule,
            count: rows.len(),
            of: self.rows.len(),
            what,
            effect: effect.to_owned(),
            places: rows.iter().filter_map(|row| self.rows.get(*row)).map(|row| row.place).collect(),
            rows: rows.into_iter().map(|row| self.begin + row).collect(),
        });
    }
}

/// The median of the rows around each, cut at the ends: rows max(0, i − 10) to min(n − 1, i + 10). The window stays
/// sorted while it moves.
fn running_medians(rows: &[CollectiveRow]) -> Vec<f64> {
    let mut window: Vec<f64> = Vec::with_capacity(2 * REACH + 1);
    let place = |window: &[f64], time: f64| window.partition_point(|known| known.total_cmp(&time).is_lt());
    let mut medians = Vec::with_capacity(rows.len());
    let mut to = 0;
    for row in 0..rows.len() {
        while to < (row + REACH + 1).min(rows.len()) {
            let time = rows[to].time_us;
            window.insert(place(&window, time), time);
            to += 1;
        }
        if row > REACH {
            let left = place(&window, rows[row - REACH - 1].time_us);
            window.remove(left);
        }
        let middle = window.len() / 2;
        medians.push(if window.len() % 2 == 1 {
            window[middle]
        } else {
            f64::midpoint(window[middle - 1], window[middle])
        });
    }
    medians
}
