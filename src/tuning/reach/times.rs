//! How long a job's calls take, where something says how long one takes.

use super::{
    result::{Reach, ReachLine},
    words,
};
use crate::collective::{Scale, Workload};

impl Reach {
    /// Puts in the times of the calls: `one_us` says how long one call of a workload takes now, in µs, whichever path
    /// it takes. Calls whose nodes, ranks or bytes are not known have none.
    #[must_use]
    pub fn with_times(mut self, one_us: &dyn Fn(&Workload) -> Option<f64>) -> Self {
        let communicators = &self.communicators;
        let of_line = |line: &ReachLine| {
            let communicator = communicators.get(line.communicator as usize)?;
            let scale = Scale::new(communicator.nodes?, communicator.ranks?)?;
            let size_bytes = line.size_bytes.filter(|_| !line.is_per_rank)?;
            let workload = Workload { collective: line.collective, scale, size_bytes };
            Some(one_us(&workload)? * line.calls as f64)
        };
        let times: Vec<Option<f64>> = self.lines.iter().map(of_line).collect();
        let total = &mut self.total;
        (total.time_us, total.reached_time_us, total.untimed_calls) = (0.0, 0.0, 0);
        total.paths.iter_mut().for_each(|of| of.time_us = 0.0);
        for (line, time_us) in self.lines.iter_mut().zip(times) {
            line.time_us = time_us;
            match time_us {
                None => total.untimed_calls = total.untimed_calls.saturating_add(line.calls),
                Some(time_us) => {
                    total.time_us += time_us;
                    total.reached_time_us += if line.path.is_reached() { time_us } else { 0.0 };
                    let of_path = total.paths.iter_mut().find(|of| of.path == line.path);
                    of_path.into_iter().for_each(|of| of.time_us += time_us);
                }
            }
        }
        self.headline = words::headline(&self.total);
        self
    }
}
