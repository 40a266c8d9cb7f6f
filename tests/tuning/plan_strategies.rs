//! What to measure next, rehearsed: `cargo test --test tuning plan_strategies -- --nocapture` prints the tables. The
//! settings of the search were chosen on simulated sweeps; the real ones judge them.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crate::support::real::{SWEEPS, rows, sweep, text};
use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    intake::{self, FileContent},
    math::{Stream, exp, ln, log2, median_and_deviation, pow, sin},
    progress::Silent,
    tuning::{
        aggregate::{Point, Target},
        campaign::{Job, play::Player},
        parameters::Screening,
        plan::{
            explore::LaunchThresholds,
            replay::{ReplayStep, Strategy, StrategyReplay, WITHIN_PCT},
        },
        platform::{Library, Platform},
        read::Placement,
        runs::{Runs, aggregate},
        stalls::Screened,
        sweep::Sweep,
    },
};

/// The first launch after which 17 of 18 winners are found.
fn reached(spent: &[ReplayStep], sizes: usize) -> Option<usize> {
    spent.iter().find(|spent| spent.within * 18 >= sizes * 17).map(|spent| spent.runs)
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn ours_finds_what_racing_search_finds_with_at_most_two_thirds_of_its_runs() {
    let (mut stopped, mut first, mut missed) = (0.0, 0.0, 0);
    println!(
        "launches of the grid, racing search, ours (17 of 18 winners reached after), random order (mean of 20 seeds)"
    );
    for name in SWEEPS {
        let sweep = sweep(name);
        let rehearsal = StrategyReplay::new(&sweep).unwrap();
        let sizes = rehearsal.sizes();
        let follow = |strategy| rehearsal.follow(&rehearsal.order(strategy, LaunchThresholds::default()));
        let (racing, ours) = (follow(Strategy::Racing), follow(Strategy::Ours));
        let (racing_end, ours_end) = (racing.last().unwrap(), ours.last().unwrap());
        let random: usize = (0..20).filter_map(|seed| reached(&follow(Strategy::Random(seed)), sizes)).sum();
        println!(
            "{name:<22} grid {}; racing {} ({}/{sizes}, max {:.2} %); ours {} ({}/{sizes}, mean {:.2} %, max {:.2} %), reached after {:?}; random {:.1}",
            rehearsal.launches(),
            racing_end.runs,
            racing_end.within,
            racing_end.regret_max_pct,
            ours_end.runs,
            ours_end.within,
            ours_end.regret_mean_pct,
            ours_end.regret_max_pct,
            reached(&ours, sizes),
            random as f64 / 20.0,
        );
        assert!(racing_end.has_found(sizes), "{name}: racing search as described finds the winners");
        assert!(ours_end.runs < racing_end.runs, "{name}");
        stopped += ours_end.runs as f64 / racing_end.runs as f64 / SWEEPS.len() as f64;
        first += reached(&ours, sizes).unwrap() as f64 / racing_end.runs as f64 / SWEEPS.len() as f64;
        missed += usize::from(ours_end.regret_max_pct > WITHIN_PCT);
    }
    println!(
        "ours stops after {:.0} % of racing search's runs, and has the winners after {:.0} %; on {missed} of {} sweeps it loses more \
         than {WITHIN_PCT} % at a size",
        stopped * 100.0,
        first * 100.0,
        SWEEPS.len()
    );
    assert!(missed == 0, "winners are missed on {missed} sweeps");
    assert!(stopped <= 0.65, "ours makes {:.1} % of racing search's runs", stopped * 100.0);
}

/// The share of a sweep's measurements that stalled.
fn stalls(name: &str) -> f64 {
    let runs = Runs::new(rows(name), Target::Time);
    let stalls = Screened::new(&runs, &Screening::default()).stalls;
    let in_place = stalls.iter().filter(|stall| stall.placement == Placement::InPlace).count();
    in_place as f64 / runs.len() as f64
}

/// How far in-place and out-of-place busbw of the same run are from how they usually relate, at each size: the
/// relative standard deviation, from the median absolute deviation.
fn deviations_of_placements(name: &str) -> Vec<f64> {
    let mut relations: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for row in rows(name) {
        if let [Some(own), Some(other)] = [row.in_place, row.out_of_place].map(|sample| sample.map(|s| s.busbw_gbps)) {
            relations.entry(row.workload.size_bytes).or_default().push(ln(own / other));
        }
    }
    relations.into_values().map(|mut of| median_and_deviation(&mut of).unwrap().1).collect()
}

/// What searches with the noise of single launches came to.
#[derive(Default)]
struct NoiseFigures {
    replays: usize,
    /// Launches of ours in launches of racing search, mean over the sweeps.
    share: f64,
    /// How often ours ended earlier.
    fewer: usize,
    ours_found: usize,
    racing_found: usize,
}

/// Replays the real sweeps, each 20 times, and prints what came of it.
fn with_noise(has_stalls: bool) -> NoiseFigures {
    const SEEDS: u64 = 20;
    let mut figures = NoiseFigures::default();
    for name in SWEEPS {
        let sweep = sweep(name);
        let group = sweep.groups().remove(0);
        let player = Player::new(&rows(name), Platform::from(Library::Rccl), 0);
        let job = Job { collective: group.collective, scale: group.scale };
        let deviations: Vec<f64> = group.sizes.iter().map(|size| player.noise_at(job, *size)).collect();
        let stalls = if has_stalls { stalls(name) } else { 0.0 };
        let of_placements = deviations_of_placements(name);
        let (mut ours_of, mut racing_of) = (Vec::new(), Vec::new());
        for seed in 1..=SEEDS {
            let replay = || StrategyReplay::new(&sweep).unwrap().with_noise(&deviations, seed);
            let end = |replay: StrategyReplay, strategy| {
                *replay.follow(&replay.order(strategy, LaunchThresholds::default())).last().unwrap()
            };
            // Racing search launches everything three times and takes the median: a stall costs it nothing.
            let racing = end(replay(), Strategy::Racing);
            let ours = end(replay().with_stalls(stalls, &of_placements, seed + SEEDS), Strategy::Ours);
            let sizes = group.sizes.len();
            figures.fewer += usize::from(ours.runs < racing.runs);
            figures.ours_found += usize::from(ours.has_found(sizes));
            figures.racing_found += usize::from(racing.has_found(sizes));
            figures.replays += 1;
            ours_of.push(ours.runs as f64);
            racing_of.push(racing.runs as f64);
        }
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let most = |of: &[f64]| of.iter().copied().fold(0.0, f64::max);
        figures.share += mean(&ours_of) / mean(&racing_of) / SWEEPS.len() as f64;
        println!(
            "{name:<22} noise {:.1} to {:.1} %, {:.2} % stalled; racing {:.1} (at most {}), ours {:.1} (at most {})",
            deviations.iter().copied().fold(f64::INFINITY, f64::min) * 100.0,
            most(&deviations) * 100.0,
            stalls * 100.0,
            mean(&racing_of),
            most(&racing_of),
            mean(&ours_of),
            most(&ours_of)
        );
    }
    let NoiseFigures { replays, share, fewer, ours_found, racing_found } = figures;
    println!(
        "ours stops after {:.0} % of racing search's runs, earlier in {fewer} of {replays}; 17 of 18 winners, and no more than 5 % \
         lost: ours {ours_found}, racing search {racing_found}",
        share * 100.0
    );
    figures
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn with_the_noise_of_single_launches_ours_still_ends_before_racing_search() {
    let NoiseFigures { replays, share, fewer, ours_found, .. } = with_noise(false);
    assert!(share <= 0.65, "{share}");
    assert!(fewer == replays && ours_found * 100 >= replays * 95, "{fewer} {ours_found} of {replays}");
    let NoiseFigures { replays, share, fewer, ours_found, .. } = with_noise(true);
    assert!(share <= 0.65, "{share}");
    assert!(fewer * 100 >= replays * 99 && ours_found * 100 >= replays * 95, "{fewer} {ours_found} of {replays}");
}

/// A wave over channels and sizes, which adds so much at its crest.
struct Wave {
    channels: f64,
    of_channels: f64,
    sizes: f64,
    of_sizes: f64,
    height: f64,
}

impl Wave {
    fn new(stream: &mut Stream, most: f64, height: f64) -> Self {
        let mut phase = || std::f64::consts::TAU * stream.unit();
        let (of_channels, of_sizes) = (phase(), phase());
        let (channels, sizes) = (between(stream, 0.3, most), between(stream, 0.1, 0.9));
        Self { channels, of_channels, sizes, of_sizes, height }
    }

    fn at(&self, octaves: f64, size: f64) -> f64 {
        self.height * sin(self.channels * octaves + self.of_channels) * sin(self.sizes * size + self.of_sizes)
    }
}

/// Evenly over the logarithms.
fn between(stream: &mut Stream, low: f64, high: f64) -> f64 {
    exp(ln(low) + (ln(high) - ln(low)) * stream.unit())
}

/// A sweep that nobody measured: latency, a bandwidth of channels and a ceiling of the fabric, all drawn, waves and
/// humps over channels and sizes, channels that small messages don't use, one channel that is faster than others at
/// some sizes, channels whose last chunk is not full, and what is left of the noise of three runs.
fn simulated(seed: u64) -> Sweep {
    simulated_at(seed, &mut Unmoved)
}

/// How the drawn values of a simulated sweep differ at another scale or on another day.
trait Move {
    /// A factor whose logarithm is normal around that of `middle`, with this standard deviation.
    fn factor(&mut self, middle: f64, deviation: f64) -> f64;
    /// Whether something is drawn anew.
    fn is_new(&mut self, probability: f64) -> bool;
}

/// The scale that is drawn first.
struct Unmoved;

impl Move for Unmoved {
    fn factor(&mut self, _: f64, _: f64) -> f64 {
        1.0
    }

    fn is_new(&mut self, _: f64) -> bool {
        false
    }
}

impl Move for Stream {
    fn factor(&mut self, middle: f64, deviation: f64) -> f64 {
        middle * exp(deviation * self.normal())
    }

    fn is_new(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

/// As [`simulated`], on more nodes: latencies are higher, ceilings and what a channel carries others, and some of the
/// waves and humps.
fn simulated_at(seed: u64, moved: &mut impl Move) -> Sweep {
    let mut stream = Stream::new(seed * 7919 + 13);
    let stream = &mut stream;
    let (ll, ll128, simple) = (Protocol::Ll, Protocol::Ll128, Protocol::Simple);
    let (tree, ring) = (Algorithm::Tree, Algorithm::Ring);
    let pairs: &[(Algorithm, Protocol)] = match stream.below(4) {
        0 => &[(ring, ll), (ring, simple)],
        1 => &[(ring, ll), (ring, ll128), (ring, simple)],
        2 => &[(tree, ll), (ring, ll), (ring, simple)],
        _ => &[(tree, ll), (tree, ll128), (tree, simple), (ring, ll), (ring, ll128), (ring, simple)],
    };
    let channels: &[u32] =
        [&[1, 2, 4, 8, 16, 24, 32, 40, 48][..], &[1, 2, 4, 8, 16, 24, 32, 40, 48, 56]][stream.below(2)];
    let sizes: Vec<f64> = (12..30).map(f64::from).collect();
    let (fabric, start, rough) =
        (between(stream, 40.0, 400.0), between(stream, 8.0, 40.0), between(stream, 0.01, 0.12));
    let (noise_small, noise, knee) =
        (between(stream, 0.004, 0.05), between(stream, 0.002, 0.012), between(stream, 1.5, 6.0));
    let least_bytes = if stream.unit() < 0.6 { between(stream, 4096.0, 65536.0) } else { 0.0 };
    let shared: Vec<Wave> = (0..3).map(|_| Wave::new(stream, 1.2, 0.4 * rough)).collect();
    let (fabric, start) = (fabric * moved.factor(0.9, 0.2), start * moved.factor(1.5, 0.2));
    let least_bytes = least_bytes * moved.factor(1.3, 0.2);
    let mut noises = Stream::new(seed * 104_729 + u64::from(moved.is_new(1.0)));
    let scale = Scale { nodes: 2, ranks: 16 };
    let mut points = Vec::new();
    let mut chunks = Stream::new(seed * 15_485_863 + 7);
    for (algorithm, protocol) in pairs {
        let chunk = (*protocol != ll && chunks.unit() < 0.6)
            .then(|| (between(&mut chunks, 262_144.0, 8_388_608.0), 0.1 + 0.5 * chunks.unit()));
        let (latency, channel, ceiling) = match protocol {
            Protocol::Ll => (0.7, between(stream, 20.0, 80.0), 0.15 + 0.35 * stream.unit()),
            Protocol::Ll128 => (0.9, between(stream, 6.0, 30.0), 0.6 + 0.37 * stream.unit()),
            _ => (1.5, between(stream, 4.0, 24.0), 0.75 + 0.25 * stream.unit()),
        };
        let start = start * latency * (0.7 + 0.6 * stream.unit());
        let (of_channel, ceiling) = (fabric / channel, fabric * ceiling);
        let each = between(stream, 0.02, 0.6) * start / 20.0;
        let (start, each) = (start * moved.factor(1.0, 0.15), each * moved.factor(1.0, 0.3));
        let (of_channel, ceiling) = (of_channel * moved.factor(1.0, 0.15), ceiling * moved.factor(1.0, 0.05));
        let mut waves: Vec<Wave> = Vec::new();
        for _ in 0..5 {
            let height = 0.6 * rough * stream.normal();
            let wave = Wave::new(stream, 2.5, height);
            waves.push(if moved.is_new(0.4) { Wave::new(&mut noises, 2.5, height) } else { wave });
        }
        let humps: Vec<[f64; 5]> = (0..stream.below(3))
            .map(|_| {
                let (channels, size) = (6.0 * stream.unit(), 12.0 + 18.0 * stream.unit());
                let (wide, octaves_wide) = (between(stream, 0.25, 1.2), between(stream, 0.7, 3.0));
                let added = 0.6 * stream.unit() - 0.25;
                let (channels, size) = match moved.is_new(0.4) {
                    true => (6.0 * noises.unit(), 12.0 + 18.0 * noises.unit()),
                    false => (channels, size),
                };
                [channels, wide, size, octaves_wide, added]
            })
            .collect();
        let one_channel = (stream.unit() < 0.25).then(|| (14.0 + 6.0 * stream.unit(), 0.2 + 0.6 * stream.unit()));
        let one_channel = match moved.is_new(0.4) {
            true => (noises.unit() < 0.25).then(|| (14.0 + 6.0 * noises.unit(), 0.2 + 0.6 * noises.unit())),
            false => one_channel,
        };
        for &count in channels {
            for &size in &sizes {
                let bytes = pow(2.0, size);
                let used = if least_bytes > 0.0 { (bytes / least_bytes).max(1.0).ceil() } else { f64::INFINITY };
                let used = f64::from(count).min(used);
                let (octaves, of_used) = (log2(f64::from(count)), log2(used));
                let bandwidth = pow(pow(of_channel * used, -knee) + pow(ceiling, -knee), -1.0 / knee);
                let mut height = ln(bytes / 1000.0 / (start + each * used + bytes / 1000.0 / bandwidth));
                height += shared.iter().map(|wave| wave.at(octaves, size)).sum::<f64>();
                height += waves.iter().map(|wave| wave.at(of_used, size)).sum::<f64>();
                for [channels, width, middle, octaves_wide, added] in &humps {
                    let (a, b) = ((octaves - channels) / width, (size - middle) / octaves_wide);
                    height += added * exp(-a * a - b * b);
                }
                if let Some((from, added)) =
                    one_channel.filter(|(from, _)| count == 1 && (*from..from + 3.0).contains(&size))
                {
                    height += added * (1.0 - (size - from) / 6.0);
                }
                // What a channel sends takes whole chunks.
                if let Some((chunk, share)) = chunk
                    && bytes >= chunk * f64::from(count)
                {
                    let filled = bytes / (chunk * f64::from(count));
                    height += share * ln(filled / filled.ceil());
                }
                let deviation = noise + noise_small / (1.0 + pow(2.0, size - 16.0));
                let normal = stream.normal();
                height += 0.67 * deviation * if moved.is_new(1.0) { noises.normal() } else { normal };
                let configuration = Configuration { algorithm: *algorithm, protocol: *protocol, channels: count };
                let workload = Workload { collective: Collective::AllReduce, scale, size_bytes: bytes as u64 };
                points.push(Point::new(workload, configuration, exp(height)));
            }
        }
    }
    points.sort_by_key(|point| (point.workload, point.configuration));
    Sweep { points, defaults: Vec::new() }
}

#[test]
fn simulated_sweeps_end_as_the_settings_were_chosen() {
    const SWEEPS: u64 = 200;
    let (mut stopped, mut ours_found, mut racing_found) = (0.0, 0, 0);
    for seed in 1..=SWEEPS {
        let rehearsal = StrategyReplay::new(&simulated(seed)).unwrap();
        let follow =
            |strategy| *rehearsal.follow(&rehearsal.order(strategy, LaunchThresholds::default())).last().unwrap();
        let (racing, ours) = (follow(Strategy::Racing), follow(Strategy::Ours));
        stopped += ours.runs as f64 / racing.runs as f64 / SWEEPS as f64;
        ours_found += usize::from(ours.has_found(rehearsal.sizes()));
        racing_found += usize::from(racing.has_found(rehearsal.sizes()));
    }
    println!(
        "{SWEEPS} simulated sweeps: ours stops after {:.0} % of racing search's runs; 17 of 18 winners within {WITHIN_PCT} %, and no \
         more than 5 % lost: ours {ours_found}, racing search {racing_found}",
        stopped * 100.0
    );
    assert!(stopped <= 0.74, "{stopped}");
    assert!(ours_found * 100 >= SWEEPS as usize * 88, "{ours_found} of {SWEEPS}");
}

/// Another day at the same scale: little is changed, and here and there a wave or a hump.
struct OtherDay(Stream);

impl Move for OtherDay {
    fn factor(&mut self, _: f64, _: f64) -> f64 {
        exp(0.02 * self.0.normal())
    }

    fn is_new(&mut self, probability: f64) -> bool {
        // What is always new is noise.
        self.0.unit() < if probability < 1.0 { 0.05 } else { 1.0 }
    }
}

/// Searches from nothing and after other measurements, added up.
#[derive(Default)]
struct PriorFigures {
    pairs: usize,
    launches: [usize; 2],
    /// How often the winners are found ([`ReplayStep::has_found`]).
    found: [usize; 2],
    /// The mean regret after two, four and eight launches, in per cent, as a sum.
    regrets: [[f64; 3]; 2],
}

impl PriorFigures {
    fn add(&mut self, before: &StrategyReplay, target: &StrategyReplay) {
        let worth = LaunchThresholds::default();
        let orders = [target.order(Strategy::Ours, worth), target.order_after(before, worth)];
        for (which, steps) in orders.map(|order| target.follow(&order)).iter().enumerate() {
            let end = steps.last().unwrap();
            self.launches[which] += end.runs;
            self.found[which] += usize::from(end.has_found(target.sizes()));
            for (regret, runs) in self.regrets[which].iter_mut().zip([2, 4, 8]) {
                *regret += steps[runs.min(steps.len()) - 1].regret_mean_pct;
            }
        }
        self.pairs += 1;
    }

    fn show(&self, what: &str) {
        let pairs = self.pairs;
        for (which, from) in ["from nothing", "after others"].into_iter().enumerate() {
            let [two, four, eight] = self.regrets[which].map(|sum| sum / pairs as f64);
            println!(
                "{what}, {from}: {} launches of {pairs} sweeps, winners found on {}; mean regret after 2, 4 and 8 \
                 launches {two:.1}, {four:.1} and {eight:.1} %",
                self.launches[which], self.found[which]
            );
        }
    }
}

#[test]
fn measurements_of_another_scale_or_day_save_launches_on_simulated_sweeps() {
    const SWEEPS: u64 = 40;
    let replay = |sweep: Sweep| StrategyReplay::new(&sweep).unwrap();
    let (mut scale, mut day) = (PriorFigures::default(), PriorFigures::default());
    for seed in 201..=200 + SWEEPS {
        let here = replay(simulated(seed));
        let there = Sweep {
            points: simulated_at(seed, &mut Stream::new(seed))
                .points
                .into_iter()
                .map(|point| {
                    let scale = Scale { nodes: 4, ranks: 32 };
                    Point { workload: Workload { scale, ..point.workload }, ..point }
                })
                .collect(),
            defaults: Vec::new(),
        };
        scale.add(&replay(there), &here);
        day.add(&replay(simulated_at(seed, &mut OtherDay(Stream::new(seed)))), &here);
    }
    scale.show("another scale, simulated");
    day.show("another day, simulated");
    let share = |figures: &PriorFigures| figures.launches[1] as f64 / figures.launches[0] as f64;
    assert!(share(&scale) <= 0.85 && share(&day) <= 0.7, "{} {}", share(&scale), share(&day));
    let begins_better = |figures: &PriorFigures| figures.regrets[1][0] < figures.regrets[0][0] / 2.0;
    assert!(begins_better(&scale) && begins_better(&day));
    let found = |figures: &PriorFigures, of: u64| figures.found[1] * 100 >= SWEEPS as usize * of as usize;
    assert!(found(&scale, 88) && found(&day, 93), "{:?} {:?}", scale.found, day.found);
}

/// A sweep of the other buffers: its columns for in place and out of place are exchanged.
fn other_placement(name: &str) -> StrategyReplay {
    let mut text = text(&format!("tuning/{name}.csv"));
    let line = text.find('\n').unwrap();
    let header = text[..line].replace("_oop", "_other").replace("_ip", "_oop").replace("_other", "_ip");
    text.replace_range(..line, &header);
    match intake::open(text.as_bytes(), name, text.len() as u64, 0, None, &mut Silent) {
        (_, FileContent::Rows(rows)) => StrategyReplay::new(&aggregate(&rows, Target::Time)).unwrap(),
        (report, _) => panic!("{report:?}"),
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn measurements_of_another_scale_or_of_the_other_buffers_save_launches_on_real_sweeps() {
    let replay = |name: &str| StrategyReplay::new(&sweep(name)).unwrap();
    let (mut scale, mut buffers) = (PriorFigures::default(), PriorFigures::default());
    let [two, three] = ["all_reduce_2n_median", "all_reduce_3n_median"].map(replay);
    scale.add(&two, &three);
    scale.add(&three, &two);
    SWEEPS.iter().for_each(|name| buffers.add(&other_placement(name), &replay(name)));
    scale.show("another scale, real");
    buffers.show("the other buffers, real");
    // The other buffers stand in for another day. Between the scales some winners are others: not all are found.
    assert!(buffers.launches[1] * 100 <= buffers.launches[0] * 75, "{:?}", buffers.launches);
    assert!(buffers.found[0] == 6 && buffers.found[1] >= 5, "{:?}", buffers.found);
    assert!(scale.launches[1] < scale.launches[0], "{:?}", scale.launches);
}
