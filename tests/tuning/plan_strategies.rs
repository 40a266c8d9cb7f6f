//! What to measure next, rehearsed: `cargo test --test tuning plan_strategies -- --nocapture` prints the tables. The
//! settings of the search were chosen on simulated sweeps; the real ones judge them.

#![allow(clippy::unwrap_used)]

use crate::support::real::{SWEEPS, sweep};
use collectune::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    math::{Stream, exp, ln, log2, pow, sin},
    tuning::{
        aggregate::Point,
        plan::{
            explore::LaunchThresholds,
            replay::{ReplayStep, Strategy, StrategyReplay},
        },
        sweep::Sweep,
    },
};

/// A winner is found where no more than this is lost, in per cent.
const FOUND_PCT: f64 = 2.0;

/// The first launch after which 17 of 18 winners are found.
fn reached(spent: &[ReplayStep], sizes: usize) -> Option<usize> {
    spent.iter().find(|spent| spent.within * 18 >= sizes * 17).map(|spent| spent.runs)
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs ../shared/data")]
fn ours_finds_what_racing_search_finds_with_at_most_three_quarters_of_its_runs() {
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
        assert!(racing_end.within * 18 >= sizes * 17, "{name}: racing search as described finds the winners");
        assert!(ours_end.within * 18 >= sizes * 17, "{name}: ours finds {} of {sizes}", ours_end.within);
        stopped += ours_end.runs as f64 / racing_end.runs as f64 / SWEEPS.len() as f64;
        first += reached(&ours, sizes).unwrap() as f64 / racing_end.runs as f64 / SWEEPS.len() as f64;
        missed += usize::from(ours_end.regret_max_pct > FOUND_PCT);
    }
    println!(
        "ours stops after {:.0} % of racing search's runs, and has the winners after {:.0} %; on {missed} of {} sweeps it loses more \
         than {FOUND_PCT} % at a size",
        stopped * 100.0,
        first * 100.0,
        SWEEPS.len()
    );
    assert!(missed <= 1, "winners are missed on {missed} sweeps");
    assert!(stopped <= 0.75, "ours makes {:.1} % of racing search's runs", stopped * 100.0);
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
/// some sizes, and what is left of the noise of three runs.
fn simulated(seed: u64) -> Sweep {
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
    let scale = Scale { nodes: 2, ranks: 16 };
    let mut points = Vec::new();
    for (algorithm, protocol) in pairs {
        let (latency, channel, ceiling) = match protocol {
            Protocol::Ll => (0.7, between(stream, 20.0, 80.0), 0.15 + 0.35 * stream.unit()),
            Protocol::Ll128 => (0.9, between(stream, 6.0, 30.0), 0.6 + 0.37 * stream.unit()),
            _ => (1.5, between(stream, 4.0, 24.0), 0.75 + 0.25 * stream.unit()),
        };
        let start = start * latency * (0.7 + 0.6 * stream.unit());
        let (of_channel, ceiling) = (fabric / channel, fabric * ceiling);
        let each = between(stream, 0.02, 0.6) * start / 20.0;
        let mut waves: Vec<Wave> = Vec::new();
        for _ in 0..5 {
            let height = 0.6 * rough * stream.normal();
            waves.push(Wave::new(stream, 2.5, height));
        }
        let humps: Vec<[f64; 5]> = (0..stream.below(3))
            .map(|_| {
                let (channels, size) = (6.0 * stream.unit(), 12.0 + 18.0 * stream.unit());
                [channels, between(stream, 0.25, 1.2), size, between(stream, 0.7, 3.0), 0.6 * stream.unit() - 0.25]
            })
            .collect();
        let one_channel = (stream.unit() < 0.25).then(|| (14.0 + 6.0 * stream.unit(), 0.2 + 0.6 * stream.unit()));
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
                let deviation = noise + noise_small / (1.0 + pow(2.0, size - 16.0));
                height += 0.67 * deviation * stream.normal();
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
    const SWEEPS: u64 = 40;
    let (mut stopped, mut ours_found, mut racing_found) = (0.0, 0, 0);
    for seed in 1..=SWEEPS {
        let rehearsal = StrategyReplay::new(&simulated(seed)).unwrap();
        let follow =
            |strategy| *rehearsal.follow(&rehearsal.order(strategy, LaunchThresholds::default())).last().unwrap();
        let (racing, ours) = (follow(Strategy::Racing), follow(Strategy::Ours));
        stopped += ours.runs as f64 / racing.runs as f64 / SWEEPS as f64;
        ours_found += usize::from(ours.regret_max_pct <= FOUND_PCT);
        racing_found += usize::from(racing.regret_max_pct <= FOUND_PCT);
    }
    println!(
        "{SWEEPS} simulated sweeps: ours stops after {:.0} % of racing search's runs; all winners within {FOUND_PCT} %: ours \
         {ours_found}, racing search {racing_found}",
        stopped * 100.0
    );
    assert!(stopped <= 0.88, "{stopped}");
    assert!(ours_found * 100 >= SWEEPS as usize * 95, "{ours_found} of {SWEEPS}");
}
