//! What the measurements say against answers of their own: sentences that stand beside these.

use super::result::Recommendation;
use crate::units::{Size, first_of, percent};

/// The default may differ from the same configuration asked for by this much, in per cent, before it is said.
const LEAST_DIFFERENCE_PCT: f64 = 5.0;

/// The most sizes that a sentence lists.
const MOST_LISTED: usize = 6;

/// Where the default ran the configuration that is chosen and took another time, and where out-of-place runs
/// contradict the choice: a sentence each for a collective and scale, without a full stop. Answers of one scale follow
/// each other.
pub fn doubts(answers: &[Recommendation]) -> Vec<String> {
    let mut said = Vec::new();
    let group = |answer: &Recommendation| (answer.workload.collective, answer.workload.scale);
    for answers in answers.chunk_by(|a, b| group(a) == group(b)) {
        let (collective, scale) = group(&answers[0]);
        let of = format!("{collective} on {scale}");
        if let Some(sizes) = listed(answers, same_but_other) {
            said.push(format!(
                "{of}: the default ran the chosen configuration itself, and was measured against it at {sizes}: the two were measured \
                 in another state, so that gains over the default may be wrong here. Measure both in turn"
            ));
        }
        let contradicts =
            |answer: &Recommendation| answer.out_of_place.filter(|check| check.contradicts).map(|check| check.gain_pct);
        if let Some(sizes) = listed(answers, contradicts) {
            said.push(format!("{of}: the gain by the out-of-place runs contradicts the one shown at {sizes}"));
        }
    }
    said
}

/// The gain over a default that ran the same, where it is surely another time.
fn same_but_other(answer: &Recommendation) -> Option<f64> {
    let default = answer.default.as_ref()?;
    let gain = answer.gain.filter(|_| Some(default.configuration) == answer.configuration)?;
    let is_other = gain.low_pct > LEAST_DIFFERENCE_PCT || gain.high_pct < -LEAST_DIFFERENCE_PCT;
    is_other.then_some(gain.pct)
}

/// Sizes with their gains, `64 MiB (−60.5 %), 256 MiB (−58.2 %) and 3 more`; `None` of none.
fn listed(answers: &[Recommendation], gain_pct: impl Fn(&Recommendation) -> Option<f64>) -> Option<String> {
    let all: Vec<(u64, f64)> =
        answers.iter().filter_map(|answer| Some((answer.workload.size_bytes, gain_pct(answer)?))).collect();
    let name = |(size_bytes, gain_pct): &(u64, f64)| format!("{} ({})", Size(*size_bytes), percent(*gain_pct));
    (!all.is_empty()).then(|| first_of(MOST_LISTED, &all, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
        tuning::{
            decision::{Gain, NoiseBasis, OutOfPlaceCheck},
            result::MeasuredBusbw,
        },
    };

    fn answer(size_bytes: u64, default: Algorithm, low_pct: f64, high_pct: f64) -> Recommendation {
        let scale = Scale { nodes: 2, ranks: 16 };
        let of = |algorithm| Configuration { algorithm, protocol: Protocol::Simple, channels: 16 };
        Recommendation {
            configuration: Some(of(Algorithm::Ring)),
            default: Some(MeasuredBusbw {
                configuration: of(default),
                busbw_gbps: 100.0,
                repeats: 3,
                spread_pct: None,
                out_of_place_gbps: None,
                asked: Default::default(),
                evidence: Default::default(),
            }),
            gain: Some(Gain {
                pct: (low_pct + high_pct) / 2.0,
                low_pct,
                high_pct,
                level: 0.9,
                basis: NoiseBasis::Repeats,
            }),
            ..Recommendation::unknown(Workload { collective: Collective::AllReduce, scale, size_bytes })
        }
    }

    #[test]
    fn the_same_configuration_in_another_state_is_named() {
        let answers = [
            answer(1 << 20, Algorithm::Ring, 28.0, 34.0),
            answer(2 << 20, Algorithm::Ring, -72.0, -68.0),
            answer(4 << 20, Algorithm::Ring, 3.0, 6.0),
            answer(8 << 20, Algorithm::Tree, 28.0, 34.0),
        ];
        let said = doubts(&answers);
        assert_eq!(said.len(), 1);
        assert!(said[0].contains("measured against it at 1 MiB (+31.0 %), 2 MiB (−70.0 %): the two"), "{said:?}");
        assert!(doubts(&answers[2..]).is_empty());
    }

    #[test]
    fn out_of_place_runs_that_contradict_are_named() {
        let contradicting = |size_bytes: u64| Recommendation {
            out_of_place: Some(OutOfPlaceCheck { gain_pct: -60.5, contradicts: true }),
            ..answer(size_bytes, Algorithm::Tree, 20.0, 30.0)
        };
        let answers: Vec<Recommendation> = (0..8).map(|at| contradicting(1 << at)).collect();
        let said = doubts(&answers);
        assert!(said[0].ends_with("32 B (−60.5 %) and 2 more"), "{said:?}");
    }
}
