//! Channel counts that run the same: at small sizes the library uses fewer channels than planned.

use super::printed;
use crate::{
    math::{ln, median},
    tuning::{aggregate::Point, read::Evidence},
};

/// The library gives a channel at least this much to do before it uses another one: 512 threads of 64 bytes, the
/// largest of NCCL's thresholds (`NCCL_SIMPLE_THREAD_THRESHOLD`, src/include/comm.h). Above, the plan is what runs.
const BYTES_PER_CHANNEL: u64 = 512 * 64;

/// The largest difference of the bandwidths of aliases, as a share, however noisy they are.
const SAME_AT_MOST: f64 = 0.03;

/// The largest difference of the medians of aliases, in their standard deviations.
const DEVIATIONS: f64 = 2.5;

/// For each point of one workload, ordered by configuration, the index of the point whose alias it is, or its own.
///
/// The requested channels are an upper bound of those that run. So from some count on, all counts of an algorithm and
/// protocol run the same and have the same busbw: these are aliases of the smallest of them. `deviation` is that of ln
/// busbw of one run. Counts that were seen to be executed are never aliases.
pub fn aliases(points: &[&Point], deviation: f64) -> Vec<usize> {
    let mut of: Vec<usize> = (0..points.len()).collect();
    let mut begin = 0;
    let pair = |point: &Point| (point.configuration.algorithm, point.configuration.protocol);
    for same in points.chunk_by(|a, b| pair(a) == pair(b)) {
        let first = begin + first_of_the_same(same, deviation);
        begin += same.len();
        of[first..begin].fill(first);
    }
    of
}

fn first_of_the_same(points: &[&Point], deviation: f64) -> usize {
    let last = points.len() - 1;
    let mut first = last;
    while let Some(next) = first.checked_sub(1) {
        let point = points[next];
        let channels = u64::from(point.configuration.channels.max(1));
        let is_planned = points[next..].iter().all(|point| point.evidence != Evidence::Executed);
        if !is_planned
            || point.workload.size_bytes / channels > BYTES_PER_CHANNEL
            || !is_one(&points[next..], deviation)
        {
            break;
        }
        first = next;
    }
    first
}

fn is_one(points: &[&Point], deviation: f64) -> bool {
    let mut values: Vec<f64> = points.iter().map(|point| ln(point.busbw_gbps)).collect();
    let Some(middle) = median(&mut values) else { return true };
    points.iter().all(|point| {
        let noise = DEVIATIONS * deviation * (std::f64::consts::FRAC_PI_2 / f64::from(point.repeats)).sqrt();
        // Two roundings of one number are at most a digit apart.
        let digit = printed::deviation(point.busbw_gbps) * 12.0_f64.sqrt();
        (ln(point.busbw_gbps) - middle).abs() <= noise.min(SAME_AT_MOST).max(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload};

    fn points(size_bytes: u64, busbw: &[(u32, f64)], evidence: Evidence) -> Vec<Point> {
        let scale = Scale { nodes: 1, ranks: 8 };
        let workload = Workload { collective: Collective::AllReduce, scale, size_bytes };
        let point = |(channels, busbw): &(u32, f64)| {
            let configuration =
                Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels: *channels };
            Point { repeats: 3, evidence, ..Point::new(workload, configuration, *busbw) }
        };
        busbw.iter().map(point).collect()
    }

    fn found(points: &[Point], deviation: f64) -> Vec<usize> {
        aliases(&points.iter().collect::<Vec<_>>(), deviation)
    }

    const CURVE: [(u32, f64); 6] = [(1, 1.0), (2, 1.4), (4, 1.8), (8, 1.81), (16, 1.79), (32, 1.8)];

    #[test]
    fn counts_beyond_what_runs_are_aliases_of_the_first() {
        assert_eq!(found(&points(65536, &CURVE, Evidence::Planned), 0.01), [0, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn what_was_executed_is_no_alias() {
        assert_eq!(found(&points(65536, &CURVE, Evidence::Executed), 0.01), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_plateau_of_large_messages_is_none() {
        assert_eq!(found(&points(64 << 20, &CURVE, Evidence::Planned), 0.01), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn noise_does_not_make_different_ones_the_same() {
        assert_eq!(found(&points(65536, &CURVE, Evidence::Planned), 0.5), [0, 1, 2, 2, 2, 2]);
        let falling = [(1, 1.0), (2, 2.0), (4, 1.5), (8, 1.0)];
        assert_eq!(found(&points(65536, &falling, Evidence::Planned), 0.01), [0, 1, 2, 3]);
    }

    #[test]
    fn pairs_are_kept_apart() {
        let mut all = points(4096, &[(1, 1.0), (2, 1.0)], Evidence::Planned);
        let mut others = points(4096, &[(1, 1.0), (2, 1.0)], Evidence::Planned);
        others.iter_mut().for_each(|point| point.configuration.protocol = Protocol::Simple);
        all.append(&mut others);
        assert_eq!(found(&all, 0.01), [0, 0, 2, 2]);
    }

    #[test]
    fn a_channel_that_has_enough_to_do_is_used_as_planned() {
        let one_and_two = |size_bytes| found(&points(size_bytes, &[(1, 1.0), (2, 1.0)], Evidence::Planned), 0.01);
        assert_eq!(one_and_two(BYTES_PER_CHANNEL), [0, 0]);
        assert_eq!(one_and_two(BYTES_PER_CHANNEL + 1), [0, 1]);
        assert_eq!(one_and_two(2 * BYTES_PER_CHANNEL), [0, 1]);
    }

    #[test]
    fn one_count_that_was_executed_keeps_those_below_it_apart() {
        let mut some = points(65536, &CURVE, Evidence::Planned);
        some[4].evidence = Evidence::Executed;
        assert_eq!(found(&some, 0.01), [0, 1, 2, 3, 4, 5]);
        some[4].evidence = Evidence::Planned;
        some[2].evidence = Evidence::Executed;
        assert_eq!(found(&some, 0.01), [0, 1, 2, 3, 3, 3]);
    }

    #[test]
    fn medians_are_the_same_within_their_errors_and_within_a_printed_digit() {
        let apart = |ln_ratio: f64, repeats: u32, deviation: f64| {
            let mut both = points(4096, &[(1, 100.0), (2, 100.0 * crate::math::exp(ln_ratio))], Evidence::Planned);
            both.iter_mut().for_each(|point| point.repeats = repeats);
            found(&both, deviation) != [0, 0]
        };
        // Each lies off their middle by half of it: 2.5 standard errors of a median of 9 runs are 1 %, of 4 runs 1.6 %.
        assert_eq!([0.018, 0.022, 0.033].map(|ln_ratio| apart(ln_ratio, 9, 0.01)), [false, true, true]);
        assert_eq!([0.018, 0.029, 0.033].map(|ln_ratio| apart(ln_ratio, 4, 0.01)), [false, false, true]);
        // Not more than 3 %, however noisy.
        assert_eq!([0.058, 0.062].map(|ln_ratio| apart(ln_ratio, 1, 0.5)), [false, true]);
        // Without known noise only what is equal, or a digit apart as it was printed.
        let without = |busbw: [f64; 2]| found(&points(4096, &[(1, busbw[0]), (2, busbw[1])], Evidence::Planned), 0.0);
        assert_eq!(without([1.23456, 1.23456]), [0, 0]);
        assert_eq!(without([1.23456, 1.23457]), [0, 1]);
        assert_eq!(without([0.05, 0.06]), [0, 0]);
        assert_eq!(without([0.05, 0.08]), [0, 1]);
    }
}
