//! Times during which something is busy: intervals, merged where they overlap.

/// Disjoint intervals in ascending order, in any unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intervals {
    merged: Vec<(f64, f64)>,
    /// The sum of the lengths of all intervals before each, and of all.
    before: Vec<f64>,
}

impl Intervals {
    /// Merges intervals (start, end), whose starts ascend.
    pub fn of(ascending: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut merged: Vec<(f64, f64)> = Vec::new();
        for (start, end) in ascending {
            match merged.last_mut() {
                Some((_, last)) if start <= *last => *last = last.max(end),
                _ => merged.push((start, end)),
            }
        }
        let mut sum = 0.0;
        let mut before = vec![0.0];
        before.extend(merged.iter().map(|(start, end)| {
            sum += end - start;
            sum
        }));
        Self { merged, before }
    }

    /// The length of all together.
    pub fn total(&self) -> f64 {
        self.before.last().copied().unwrap_or(0.0)
    }

    /// How much of the time from `start` to `end` they cover.
    pub fn covered(&self, start: f64, end: f64) -> f64 {
        /// The number of intervals up to which they are added one by one. What lasts as long as everything overlaps all
        /// of them.
        const FEW: usize = 64;
        let first = self.merged.partition_point(|interval| interval.1 <= start);
        let last = self.merged.partition_point(|interval| interval.0 < end).max(first);
        let inside = &self.merged[first..last];
        let share = |interval: &(f64, f64)| interval.1.min(end) - interval.0.max(start);
        match inside {
            [one, .., other] if inside.len() > FEW => {
                share(one) + (self.before[last - 1] - self.before[first + 1]) + share(other)
            }
            few => few.iter().map(share).sum(),
        }
    }

    /// How much of them others cover.
    pub fn shared_with(&self, others: &Self) -> f64 {
        self.merged.iter().map(|(start, end)| others.covered(*start, *end)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_time_over_many_intervals_is_added_up_at_once() {
        let all: Vec<(f64, f64)> = (0..1000).map(|at| (f64::from(at) * 10.0, f64::from(at) * 10.0 + 4.0)).collect();
        let busy = Intervals::of(all.iter().copied());
        for (start, end) in [(0.0, 1e4), (2.0, 9993.0), (-5.0, 652.0), (641.0, 700.0), (9994.0, 1e9), (50.0, 50.0)] {
            let one_by_one: f64 = all.iter().map(|of| (of.1.min(end) - of.0.max(start)).max(0.0)).sum();
            assert_eq!(busy.covered(start, end), one_by_one, "{start} to {end}");
        }
    }

    #[test]
    fn intervals_that_overlap_are_one() {
        let one = Intervals::of([(0.0, 4.0), (1.0, 2.0), (3.0, 6.0), (8.0, 9.0)]);
        let other = Intervals::of([(5.0, 8.5)]);
        assert_eq!((one.total(), other.total()), (7.0, 3.5));
        assert_eq!((one.shared_with(&other), other.shared_with(&one)), (1.5, 1.5));
        assert_eq!(Intervals::default().covered(0.0, 1.0), 0.0);
    }
}
