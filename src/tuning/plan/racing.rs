//! Racing search, the reference: how rccl-sweep's successor explores a grid.
//!
//! Each algorithm and protocol is launched at anchors; one is dropped only if it is far below the best at every size.
//! Then, for each size and each that is near the best there, the neighbours of its best channel count are launched, and
//! the step below the fewest channels that come close to the leader, until nothing new is asked for.

use crate::collective::Configuration;

/// Launched first for each algorithm and protocol.
const ANCHORS: [u32; 4] = [1, 8, 24, 48];
/// An algorithm and protocol that is further than this below the best is out of the race.
const ELIMINATION_RATIO: f64 = 0.85;
/// A best channel count is given up only for one that is faster by more than this.
const MIN_SPEEDUP_TO_MOVE: f64 = 1.02;
/// Within this of the leader fewer channels are tried.
const TIE_RATIO: f64 = 0.995;

/// The launches that racing search makes of a grid, in its order; `busbw(launch, size)` measures.
pub fn race(launches: &[Configuration], sizes: usize, busbw: &dyn Fn(usize, usize) -> f64) -> Vec<usize> {
    let pair = |launch: usize| (launches[launch].algorithm, launches[launch].protocol);
    // Launches are ascending: those of a pair stand together, by channels.
    let all: Vec<usize> = (0..launches.len()).collect();
    let ladders: Vec<&[usize]> = all.chunk_by(|a, b| pair(*a) == pair(*b)).collect();
    let mut made: Vec<usize> = Vec::new();
    for ladder in &ladders {
        made.extend(ladder.iter().filter(|launch| ANCHORS.contains(&launches[**launch].channels)));
    }
    let leader = |made: &[usize], size: usize| made.iter().map(|launch| busbw(*launch, size)).fold(0.0, f64::max);
    let best_of = |made: &[usize], ladder: &[usize], size: usize| {
        let own = ladder.iter().copied().filter(|launch| made.contains(launch));
        own.reduce(|best, next| if busbw(next, size) > busbw(best, size) { next } else { best })
    };
    let is_near = |made: &[usize], ladder: &[usize], size: usize| {
        best_of(made, ladder, size).is_some_and(|best| busbw(best, size) >= ELIMINATION_RATIO * leader(made, size))
    };
    let alive: Vec<&[usize]> =
        ladders.into_iter().filter(|ladder| (0..sizes).any(|size| is_near(&made, ladder, size))).collect();
    let mut standing: Vec<Option<usize>> = vec![None; alive.len() * sizes];
    loop {
        let mut asked: Vec<usize> = Vec::new();
        for (size, (number, ladder)) in (0..sizes).flat_map(|size| alive.iter().enumerate().map(move |l| (size, l))) {
            let Some(best) = best_of(&made, ladder, size).filter(|_| is_near(&made, ladder, size)) else { continue };
            let place = &mut standing[number * sizes + size];
            let current = match *place {
                Some(current) if busbw(best, size) <= busbw(current, size) * MIN_SPEEDUP_TO_MOVE => current,
                _ => best,
            };
            *place = Some(current);
            let step = current - ladder[0];
            asked.extend([step.wrapping_sub(1), step + 1].iter().filter_map(|step| ladder.get(*step)));
            let close = TIE_RATIO * leader(&made, size);
            let fewest = ladder.iter().position(|launch| made.contains(launch) && busbw(*launch, size) >= close);
            asked.extend(fewest.and_then(|step| ladder.get(step.wrapping_sub(1))));
        }
        let before = made.len();
        for launch in asked {
            if !made.contains(&launch) {
                made.push(launch);
            }
        }
        if made.len() == before {
            return made;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Protocol};

    #[test]
    fn anchors_first_then_uphill_and_never_where_nothing_is_near() {
        let launches: Vec<Configuration> = [Protocol::Ll, Protocol::Simple]
            .into_iter()
            .flat_map(|protocol| {
                [1, 2, 4, 8, 16, 24, 32, 40, 48].map(|channels| Configuration {
                    algorithm: Algorithm::Ring,
                    protocol,
                    channels,
                })
            })
            .collect();
        // One protocol is best at 16 channels, the other far below everywhere.
        let busbw = |launch: usize, _size: usize| {
            let channels = f64::from(launches[launch].channels);
            let peak = 100.0 - (channels - 16.0).abs();
            if launches[launch].protocol == Protocol::Ll { peak } else { peak * 0.5 }
        };
        let order = race(&launches, 1, &busbw);
        let named = |launch: &usize| (launches[*launch].protocol, launches[*launch].channels);
        let channels: Vec<u32> = order.iter().map(|launch| launches[*launch].channels).collect();
        assert_eq!(channels[..8], [1, 8, 24, 48, 1, 8, 24, 48]);
        assert!(order[8..].iter().all(|launch| named(launch).0 == Protocol::Ll));
        assert_eq!(channels[8..], [4, 16]);
    }
}
