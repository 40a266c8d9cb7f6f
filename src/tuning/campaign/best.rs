//! The fastest configurations that a campaign has seen so far, size by size, and what each launch added to them.

use std::collections::BTreeMap;

use super::{
    Job,
    journal::{Brought, Requested},
};
use crate::{
    math::median,
    order::CompactCollect,
    text::{Column, Entry, Listing},
    tuning::{aggregate::Target, read::Row},
    units::{Size, percent, significant},
};

/// A median has to be higher by this factor to count as faster: the last digit of a table is no gain.
const LEAST_STEP: f64 = 1.001;

/// The busbw in GB/s of each launch by what it asked for.
type Seen = BTreeMap<Requested, Vec<f64>>;

/// What was measured at each collective, scale and size, as it was measured: without the corrections of
/// [`super::drift`], and with stalls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BestSoFar {
    seen: BTreeMap<(Job, u64), Seen>,
}

/// The fastest at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// What the fastest launches asked for.
    pub requested: Requested,
    /// Its busbw in GB/s, the median of its launches.
    pub busbw_gbps: f64,
    /// The busbw in GB/s of the default, the median of its launches; `None` if it wasn't measured.
    pub default_gbps: Option<f64>,
}

impl Best {
    /// The gain over the default, in per cent of busbw.
    pub fn gain_pct(&self) -> Option<f64> {
        // Of tiny messages a table may print 0.00.
        self.default_gbps.filter(|default| *default > 0.0).map(|default| (self.busbw_gbps / default - 1.0) * 100.0)
    }
}

const COLUMNS: [Column; 6] = [
    Column::words("Workload", "collective, nodes × ranks"),
    Column::numbers("Size", "the message size"),
    Column::numbers("Default", "busbw of the default, the median of its launches"),
    Column::numbers("Best so far", "the highest busbw, the median of its launches"),
    Column::numbers("Gain", "of the best so far over the default"),
    Column::words("Configuration", "what the best so far asked for"),
];

impl BestSoFar {
    /// Takes the rows of the log of a launch. Returns what it brought.
    pub fn take(&mut self, job: Job, requested: Requested, rows: &[Row]) -> Brought {
        let before = self.of(job);
        let mut busbw: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for row in rows {
            // As everywhere else, in place counts where there is both.
            if let Some(sample) = row.in_place.as_ref().or(row.out_of_place.as_ref())
                && (row.workload.collective, row.workload.scale) == (job.collective, job.scale)
            {
                let of_size = busbw.entry(row.workload.size_bytes).or_default();
                of_size.push(Target::Time.busbw_gbps(&row.workload, sample));
            }
        }
        for (size, mut values) in busbw {
            if let Some(value) = median(&mut values) {
                self.seen.entry((job, size)).or_default().entry(requested).or_default().push(value);
            }
        }
        let after = self.of(job);
        let mut brought = Brought { sizes: 0, most_pct: 0.0, mean_gain_pct: None };
        for (size, best) in after.iter().filter(|(_, best)| best.requested == requested) {
            if let Some(before) = before.get(size).filter(|before| best.busbw_gbps > before.busbw_gbps * LEAST_STEP) {
                brought.sizes += 1;
                brought.most_pct = brought.most_pct.max((best.busbw_gbps / before.busbw_gbps - 1.0) * 100.0);
            }
        }
        let gains: Vec<f64> = after.values().filter_map(Best::gain_pct).collect();
        brought.mean_gain_pct = (!gains.is_empty()).then(|| gains.iter().sum::<f64>() / gains.len() as f64);
        brought
    }

    /// The fastest so far at each size of a collective and scale.
    pub fn of(&self, job: Job) -> BTreeMap<u64, Best> {
        let of_job = self.seen.range((job, 0)..=(job, u64::MAX));
        of_job.filter_map(|((_, size), seen)| Some((*size, best(seen)?))).compact_collect()
    }

    /// A row for each size of a collective and scale; `None` for all of them.
    pub fn listing(&self, of: Option<Job>) -> Listing {
        let row = |((job, size), seen): (&(Job, u64), &Seen)| {
            let best = best(seen).filter(|_| of.is_none_or(|of| of == *job))?;
            let speed = |busbw_gbps: f64| format!("{} GB/s", significant(busbw_gbps));
            Some(vec![
                Entry::text(job.to_string()),
                Entry::number(Some(*size as f64), |_| Size(*size).to_string()),
                Entry::number(best.default_gbps, speed),
                Entry::number(Some(best.busbw_gbps), speed),
                Entry::number(best.gain_pct(), percent),
                Entry::text(best.requested.to_string()),
            ])
        };
        Listing { columns: COLUMNS.to_vec(), rows: self.seen.iter().filter_map(row).collect() }
    }
}

/// The fastest of what was asked for at one size; among equals the default.
fn best(seen: &Seen) -> Option<Best> {
    let medians = seen.iter().filter_map(|(requested, values)| Some((*requested, median(&mut values.clone())?)));
    let medians: Vec<(Requested, f64)> = medians.collect();
    let default_gbps = medians.iter().find(|(requested, _)| *requested == Requested::Default).map(|(_, busbw)| *busbw);
    let first = medians.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best });
    first.map(|(requested, busbw_gbps)| Best { requested, busbw_gbps, default_gbps })
}
