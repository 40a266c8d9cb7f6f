//! Predictions of collectives over sampled communicators and others.

use super::library::{Library, RegressorTarget};
use crate::{
    math,
    order::CompactSort,
    training_time::{
        catalogue::most_gbps,
        prediction::{Extrapolation, Mark, Mode, Prediction},
        samples::{Communicator, family_of},
    },
};

/// The difference between the communicators that were sampled and the one that is asked for.
fn beyond(asked: Communicator, sampled: &[Communicator]) -> Extrapolation {
    /// The most communicators that a sentence lists.
    const NAMED: usize = 12;
    let ranks = || sampled.iter().map(|of| f64::from(of.ranks()));
    let names: Vec<String> = sampled.iter().take(NAMED).map(ToString::to_string).collect();
    let more = sampled.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let told = match sampled {
        [only] => format!("over {asked} GPUs: only {only} was sampled"),
        _ => format!("over {asked} GPUs: {}{more} were sampled", names.join(", ")),
    };
    Extrapolation {
        input: "GPUs".to_owned(),
        value: f64::from(asked.ranks()),
        low: ranks().fold(f64::INFINITY, f64::min),
        high: ranks().fold(0.0, f64::max),
        told: Some(told),
    }
}

/// The curves from which a collective over a communicator is predicted.
enum CurveSource {
    /// The curve of exactly this communicator.
    Exact(u32),
    /// Those of fewer and of more GPUs; the same one where there are none on one side.
    Between {
        low: (Communicator, u32),
        high: (Communicator, u32),
        sampled: Vec<Communicator>,
    },
    /// A single rank needs no curve.
    Alone,
    Nothing,
}

impl Library {
    /// As the reference: the regressor of exactly these GPUs, or the one over all that were sampled.
    fn parity_regressor(&self, name: &str, communicator: Communicator) -> Option<u32> {
        let of = |communicator| self.find(&RegressorTarget::Collective { name: name.to_owned(), communicator });
        of(Some(communicator)).or_else(|| of(None))
    }

    pub(super) fn parity_collective(
        &self,
        name: &str,
        elements: u64,
        communicator: Communicator,
    ) -> Option<Prediction> {
        self.message(self.parity_regressor(name, communicator)?, elements, communicator)
    }

    /// The curve of these GPUs; where there is none, bus bandwidth between the curves around them, over ranks, beyond
    /// them that of the nearest. Where no GPUs at all were sampled, the cluster's entry in the catalogue.
    pub(super) fn curve(&self, name: &str, elements: u64, communicator: Communicator) -> Option<Prediction> {
        self.curve_without(None, name, elements, communicator)
    }

    /// The same as if one of the curves were not there.
    pub(super) fn curve_without(
        &self,
        without: Option<u32>,
        name: &str,
        elements: u64,
        communicator: Communicator,
    ) -> Option<Prediction> {
        let (low, high, sampled) = match self.around(without, name, communicator) {
            CurveSource::Exact(regressor) => return self.message(regressor, elements, communicator),
            CurveSource::Alone => {
                // Nobody to talk to.
                let regressor = self.find(&RegressorTarget::Wire)?;
                return Some(Prediction { time_us: 0.0, mark: Mark::Measured, beyond: None, regressor, least_us: 0.0 });
            }
            CurveSource::Nothing => return self.wire(name, elements, communicator),
            CurveSource::Between { low, high, sampled } => (low, high, sampled),
        };
        let ranks = f64::from(communicator.ranks());
        let factor = |of: Communicator| self.busbw_factor(name, of);
        let bandwidth = |(of, regressor): (Communicator, u32)| {
            let said = self.message(regressor, elements, of)?;
            Some((elements as f64 * factor(of)? / said.time_us, said))
        };
        let (mut speed, mut said) = bandwidth(low)?;
        if low.0 != high.0 {
            let (fast, other) = bandwidth(high)?;
            let (from, to) = (f64::from(low.0.ranks()), f64::from(high.0.ranks()));
            let share = if to > from { ((ranks - from) / (to - from)).clamp(0.0, 1.0) } else { 0.0 };
            speed += (fast - speed) * share;
            said.mark = said.mark.max(other.mark);
        }
        let beyond = beyond(communicator, &sampled);
        let time_us = elements as f64 * factor(communicator)? / speed;
        let mark = said.mark.max(Mark::Extrapolated);
        let least_us = said.least_us * factor(communicator)? / factor(low.0)?;
        let regressor = said.regressor;
        Some(Prediction { time_us, mark, beyond: said.beyond.or(Some(beyond)), regressor, least_us })
            .filter(|said| said.time_us.is_finite())
    }

    /// The curves from which a collective over a communicator is predicted: those within one node or over several, as
    /// asked for; among them those with the same or the nearest number of GPUs per node.
    fn around(&self, without: Option<u32>, name: &str, communicator: Communicator) -> CurveSource {
        let mut curves: Vec<(Communicator, u32)> = Vec::new();
        for (number, target) in self.targets().enumerate() {
            match target {
                RegressorTarget::Collective { name: family, communicator: Some(of) }
                    if family == family_of(name) && without != Some(number as u32) =>
                {
                    curves.push((*of, number as u32));
                }
                _ => {}
            }
        }
        if let Some((_, exact)) = curves.iter().find(|(of, _)| *of == communicator) {
            return CurveSource::Exact(*exact);
        }
        if communicator.ranks() <= 1 {
            return CurveSource::Alone;
        }
        let same_class = |(of, _): &(Communicator, u32)| (of.nodes <= 1) == (communicator.nodes <= 1);
        if curves.iter().any(same_class) {
            curves.retain(same_class);
        } else if self.gbps(communicator).is_some() {
            // What the catalogue knows of the network says more than curves of another one.
            return CurveSource::Nothing;
        }
        let mut sampled: Vec<Communicator> = curves.iter().map(|(of, _)| *of).collect();
        sampled.compact_sort();
        let per_node = |of: Communicator| f64::from(of.per_node.max(1));
        let away = |of: Communicator| math::ln(per_node(of) / per_node(communicator)).abs();
        let Some(nearest) = curves.iter().map(|(of, _)| away(*of)).min_by(f64::total_cmp) else {
            return CurveSource::Nothing;
        };
        curves.retain(|(of, _)| away(*of) <= nearest);
        curves.compact_sort_by_key(|(of, _)| of.ranks());
        let next = curves.partition_point(|(of, _)| of.ranks() <= communicator.ranks());
        let last = curves.len() - 1;
        CurveSource::Between { low: curves[next.max(1) - 1], high: curves[next.min(last)], sampled }
    }

    /// The least time of a message, by what no link carries.
    pub(super) fn sending_us(&self, regressor: u32, elements: u64, communicator: Communicator) -> f64 {
        let Some(RegressorTarget::Collective { name, .. }) = self.target(regressor) else { return 0.0 };
        let factor = self.busbw_factor(name, communicator).unwrap_or_default();
        2e-3 * elements as f64 * factor / most_gbps(communicator)
    }

    /// The regressors that a prediction of a collective uses.
    pub(super) fn asked_for_collective(&self, name: &str, communicator: Communicator) -> Vec<u32> {
        if self.mode() == Mode::Parity {
            return self.parity_regressor(name, communicator).into_iter().collect();
        }
        match self.around(None, name, communicator) {
            CurveSource::Exact(regressor) => vec![regressor],
            CurveSource::Between { low, high, .. } => vec![low.1, high.1],
            CurveSource::Alone | CurveSource::Nothing => self.find(&RegressorTarget::Wire).into_iter().collect(),
        }
    }

    /// Bus bandwidth is twice the elements times this over the time.
    fn busbw_factor(&self, name: &str, communicator: Communicator) -> Option<f64> {
        // In a millionth of a second, a million elements of two bytes are 2 TB/s.
        match self.catalogue.collective(name).or_else(|| self.catalogue.collective(family_of(name))) {
            Some(collective) => Some(collective.busbw_gbps(1_000_000, communicator, 1.0)? / 2e3),
            None => Some(1.0),
        }
    }

    /// The bandwidth of the communicator's links according to the catalogue, in GB/s.
    fn gbps(&self, communicator: Communicator) -> Option<f64> {
        let entry = self.catalogue.cluster_of(&self.cluster)?;
        if communicator.nodes <= 1 {
            return entry.intra_gbps;
        }
        // A ring enters and leaves each node by the links of all its GPUs.
        let links = entry.inter_gbps_per_gpu? * f64::from(communicator.per_node);
        Some(entry.intra_gbps.map_or(links, |inside| inside.min(links)))
    }

    /// From the latency and the bandwidth that the catalogue gives the cluster.
    fn wire(&self, name: &str, elements: u64, communicator: Communicator) -> Option<Prediction> {
        let entry = self.catalogue.cluster_of(&self.cluster)?;
        let gbps = self.gbps(communicator)?;
        let bytes = 2.0 * elements as f64;
        let time_us =
            entry.latency_us.unwrap_or_default() + bytes * self.busbw_factor(name, communicator)? / gbps / 1e3;
        let regressor = self.find(&RegressorTarget::Wire)?;
        Some(Prediction { time_us, mark: Mark::Extrapolated, beyond: None, regressor, least_us: 0.0 })
            .filter(|said| said.time_us.is_finite())
    }
}
