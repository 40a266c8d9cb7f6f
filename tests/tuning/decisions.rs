//! What the decisions say of real sweeps: `cargo test --test tuning decisions -- --nocapture` prints the tables. What
//! they promise is checked on simulated noise in `tests/statistics`.

#![allow(clippy::unwrap_used)]

use crate::support::{
    court::Court,
    real::{SWEEPS, rows},
};
use collectune::tuning::{
    aggregate::Target, decision::Decision, parameters::Screening, read::Placement, runs::aggregate, stalls::Stall,
};

/// How the sizes of each real sweep end: deploy, keep the default, no default measured; and what stalled in place.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn real_sweeps_end_as_they_did() {
    println!("{:<22} {:>8} {:>8} {:>8} {:>10} {:>8}", "", "deploy", "keep", "no def.", "ambiguous", "stalls");
    for (name, expected) in SWEEPS.iter().zip([[0, 0, 18], [9, 9, 0], [2, 16, 0], [3, 15, 0], [0, 0, 18], [0, 0, 18]]) {
        let rows = rows(name);
        let court = Court::new(&rows, &Screening::default());
        let mut counts = [0; 3];
        let mut ambiguous = 0;
        for workload in court.sweep.workloads() {
            let judged = court.judge(&workload).unwrap();
            match judged.decision {
                Decision::Deploy => counts[0] += 1,
                Decision::KeepDefault { .. } => counts[1] += 1,
                Decision::NoDefault => counts[2] += 1,
                Decision::MeasureFirst | Decision::Unknown => panic!("{workload:?}"),
            }
            ambiguous += usize::from(judged.tied.len() > 1);
            assert!(judged.tied.contains(&judged.choice.configuration));
            let noise = judged.noise.unwrap();
            assert!(noise.visible_gain_pct > 0.0 && noise.visible_gain_pct.is_finite(), "{noise:?}");
            if let Some(gain) = judged.gain {
                assert!(gain.low_pct <= gain.pct && gain.pct <= gain.high_pct, "{gain:?}");
                assert_eq!(judged.decision == Decision::Deploy, gain.low_pct > court.confidence.minimum_gain_pct);
            }
        }
        let stalls = court.screened.stalls.iter().filter(|stall| stall.placement == Placement::InPlace).count();
        println!("{name:<22} {:>8} {:>8} {:>8} {ambiguous:>10} {stalls:>8}", counts[0], counts[1], counts[2]);
        assert_eq!(counts, expected, "{name}");
    }
}

/// The noisy sweeps have few stalls beyond what the quiet ones have, and no place loses more than half of its runs.
#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn stalls_of_real_sweeps_are_few() {
    for (name, most) in [("all_gather_2n", 10), ("all_reduce_1n", 2), ("broadcast_1n", 3), ("broadcast_2n", 80)] {
        let rows = rows(name);
        let court = Court::new(&rows, &Screening::default());
        let in_place = |stall: &&Stall| stall.placement == Placement::InPlace;
        let found = court.screened.stalls.iter().filter(in_place).count();
        assert!(found <= most, "{name}: {found}");
        for (place, first, runs) in court.runs.places() {
            let used = (first..first + runs.len()).filter(|run| court.screened.keep(place, *run).busbw).count();
            assert!(2 * used >= runs.len(), "{name}: {place:?}");
        }
        let kept = Screening { keep_stalls: true, ..Screening::default() };
        let all = Court::new(&rows, &kept);
        assert_eq!(all.sweep, aggregate(&rows, Target::Time));
        assert_eq!(all.screened.stalls.len(), court.screened.stalls.len());
    }
}
