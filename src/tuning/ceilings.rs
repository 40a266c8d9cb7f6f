//! Predictions are held to what the links of the cluster carry, where a file of them is open.

use super::sweep::Sweep;
use crate::{
    ceiling::Ceiling,
    collective::{Collective, Configuration, Scale, Workload},
    text::visible,
    units::{Size, significant},
};

/// The limit that a prediction may not exceed: what the links of the cluster can carry.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedCeiling {
    /// The bus bandwidth in GB/s.
    pub busbw_gbps: f64,
    /// The file that the links stand in.
    pub file: String,
}

impl AppliedCeiling {
    /// To what a prediction is held, or only the upper end of its interval, and by which file.
    pub fn sentence(&self, is_prediction: bool) -> String {
        let what = if is_prediction { "The prediction is held to" } else { "Its interval ends at" };
        format!(
            "{what} {} GB/s: no schedule over the links of {} exceeds that.",
            significant(self.busbw_gbps),
            visible(&self.file)
        )
    }
}

/// The limits of predictions that files of links give, and the measurements that refute some of them.
#[derive(Clone, Debug, Default)]
pub struct Ceilings {
    given: Vec<Ceiling>,
    /// Where a measurement lies above a ceiling: by its number, and in words.
    refuted: Vec<(usize, Collective, Scale, String)>,
}

impl Ceilings {
    /// Ceilings beside what was measured. One that a measurement exceeds is of other links, and holds nothing there.
    pub fn new(given: Vec<Ceiling>, sweep: &Sweep) -> Self {
        let mut refuted = Vec::new();
        for (number, ceiling) in given.iter().enumerate() {
            for group in sweep.groups() {
                let (collective, scale) = (group.collective, group.scale);
                let Some(most) = ceiling.of(collective, scale) else { continue };
                let points = sweep.points_of(collective, scale).iter().chain(sweep.defaults_of(collective, scale));
                let bound = points.filter(|point| Ceiling::holds_for(point.configuration.algorithm));
                let above = bound.filter(|point| point.busbw_gbps > most);
                if let Some(highest) = above.max_by(|a, b| a.busbw_gbps.total_cmp(&b.busbw_gbps)) {
                    let why = format!(
                        "{} is not about the links of {collective} on {scale}: {} GB/s were measured at {}, and no schedule over its \
                         links exceeds {} GB/s. No prediction is held to it",
                        ceiling.file,
                        significant(highest.busbw_gbps),
                        Size(highest.workload.size_bytes),
                        significant(most)
                    );
                    refuted.push((number, collective, scale, why));
                }
            }
        }
        Self { given, refuted }
    }

    /// The ceilings as they were given.
    pub fn given(&self) -> &[Ceiling] {
        &self.given
    }

    /// The lowest ceiling of a configuration at a workload.
    pub fn at(&self, workload: &Workload, configuration: &Configuration) -> Option<AppliedCeiling> {
        let Workload { collective, scale, .. } = *workload;
        if !Ceiling::holds_for(configuration.algorithm) {
            return None;
        }
        let is_refuted =
            |at: usize| self.refuted.iter().any(|(number, c, s, _)| (*number, *c, *s) == (at, collective, scale));
        let of = |(number, ceiling): (usize, &Ceiling)| {
            let busbw_gbps = ceiling.of(collective, scale).filter(|_| !is_refuted(number))?;
            Some(AppliedCeiling { busbw_gbps, file: ceiling.file.clone() })
        };
        self.given.iter().enumerate().filter_map(of).min_by(|a, b| a.busbw_gbps.total_cmp(&b.busbw_gbps))
    }

    /// A prediction, not above its ceiling.
    pub fn hold(&self, workload: &Workload, configuration: &Configuration, busbw_gbps: f64) -> f64 {
        self.at(workload, configuration).map_or(busbw_gbps, |held| busbw_gbps.min(held.busbw_gbps))
    }

    /// A sentence for each measured collective and scale: which ceiling limits its predictions, or why none does.
    pub fn notes(&self, sweep: &Sweep) -> Vec<String> {
        let mut notes: Vec<String> = self.refuted.iter().map(|(.., why)| why.clone()).collect();
        for (number, ceiling) in self.given.iter().enumerate() {
            for group in sweep.groups() {
                let (collective, scale) = (group.collective, group.scale);
                let is_refuted = self.refuted.iter().any(|(n, c, s, _)| (*n, *c, *s) == (number, collective, scale));
                if let Some(most) = ceiling.of(collective, scale).filter(|_| !is_refuted) {
                    notes.push(format!(
                        "Predictions of {collective} on {scale} are held to {} GB/s: no schedule over the links of {} exceeds that, unless \
                         switches reduce (NVLS, COLLNET)",
                        significant(most),
                        ceiling.file
                    ));
                }
            }
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Protocol},
        tuning::aggregate::Point,
    };

    const SCALE: Scale = Scale { nodes: 1, ranks: 8 };
    const AT: Workload = Workload { collective: Collective::AllReduce, scale: SCALE, size_bytes: 1 << 20 };

    fn configuration(algorithm: Algorithm) -> Configuration {
        Configuration { algorithm, protocol: Protocol::Simple, channels: 8 }
    }

    fn ceiling(file: &str, busbw_gbps: f64) -> Ceiling {
        let busbw_gbps = vec![(Collective::AllReduce, busbw_gbps)];
        Ceiling { file: file.to_owned(), ranks: 8, nodes: None, busbw_gbps }
    }

    fn measured(algorithm: Algorithm, busbw_gbps: f64) -> Sweep {
        Sweep { points: vec![Point::new(AT, configuration(algorithm), busbw_gbps)], defaults: Vec::new() }
    }

    #[test]
    fn the_lowest_ceiling_of_the_scale_holds() {
        let given = vec![ceiling("wide.csv", 500.0), ceiling("narrow.csv", 400.0)];
        let ceilings = Ceilings::new(given, &measured(Algorithm::Ring, 300.0));
        let ring = configuration(Algorithm::Ring);
        assert_eq!(ceilings.at(&AT, &ring), Some(AppliedCeiling { busbw_gbps: 400.0, file: "narrow.csv".to_owned() }));
        assert_eq!((ceilings.hold(&AT, &ring, 450.0), ceilings.hold(&AT, &ring, 390.0)), (400.0, 390.0));
        // Of another number of ranks, of another collective, and where switches reduce, nothing is known.
        let other = Workload { scale: Scale { nodes: 2, ranks: 16 }, ..AT };
        assert_eq!(ceilings.at(&other, &ring), None);
        assert_eq!(ceilings.at(&Workload { collective: Collective::Reduce, ..AT }, &ring), None);
        assert_eq!(ceilings.hold(&AT, &configuration(Algorithm::Nvls), 450.0), 450.0);
    }

    #[test]
    fn a_measurement_above_it_refutes_a_ceiling() {
        let sweep = measured(Algorithm::Tree, 410.0);
        let ceilings = Ceilings::new(vec![ceiling("wide.csv", 500.0), ceiling("narrow.csv", 400.0)], &sweep);
        let held = ceilings.at(&AT, &configuration(Algorithm::Ring)).map(|held| held.file);
        assert_eq!(held.as_deref(), Some("wide.csv"));
        let notes = ceilings.notes(&sweep);
        assert!(
            notes[0].starts_with("narrow.csv is not about the links of all_reduce on 1 node, 8 ranks: 410.0 GB/s"),
            "{notes:?}"
        );
        assert!(
            notes[1].starts_with("Predictions of all_reduce on 1 node, 8 ranks are held to 500.0 GB/s"),
            "{notes:?}"
        );
        // What switches reduce says nothing of the links.
        let nvls = measured(Algorithm::Nvls, 480.0);
        assert!(
            Ceilings::new(vec![ceiling("narrow.csv", 400.0)], &nvls).at(&AT, &configuration(Algorithm::Ring)).is_some()
        );
    }
}
