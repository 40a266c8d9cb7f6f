//! Answers launches from a sweep, as nccl-tests and the library would have on the cluster where it was measured.
//!
//! A launch takes one of the runs that the sweep has of what it asks for, the same at all sizes, so that a run that was
//! slow is slow throughout. On top comes noise of the size of the differences between runs of one configuration: all of
//! it where there is one run, half of it where there are several, as in a smoothed bootstrap (B. Silverman and
//! G. Young, Biometrika 74, 1987). What is drawn depends on the seed and the number of the launch alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::{Job, journal::Requested};
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    launch::{self, Sizes},
    math::{Stream, exp, ln, log2, median},
    tuning::{
        conf::{Reader, choose, rule::Rule},
        plan::duration::{ITERATIONS, START_SECONDS, WARM_UPS},
        platform::Platform,
        read::{Row, RunKind, Sample},
        support::SupportMatrix,
        sweep::Sweep,
    },
};

/// The mean range of 2 to 9 standard normal numbers (L. Tippett, Biometrika 17, 1925).
const MEAN_RANGE: [f64; 8] = [1.128, 1.693, 2.059, 2.326, 2.534, 2.704, 2.847, 2.970];

/// The least and the largest standard deviation of a run in ln time that a sweep is believed to have.
const NOISE: std::ops::RangeInclusive<f64> = 0.001..=0.3;

/// A run of a size: times in µs in place and out of place, and what ran, as far as it is known.
#[derive(Clone, Copy, Debug)]
struct PlayedRun {
    times_us: [f64; 2],
    ran: Configuration,
}

/// The runs of what was asked for at each size, in the order of files and lines; `None` is the default.
type RunsBySize = BTreeMap<u64, Vec<PlayedRun>>;

/// A sweep that answers launches.
pub struct Player {
    runs: BTreeMap<(Job, Option<Configuration>), RunsBySize>,
    /// The standard deviation of ln time of a run at each size.
    noise: BTreeMap<(Job, u64), f64>,
    platform: Platform,
    seed: u64,
    stand_ins: Vec<(Job, Configuration)>,
}

/// A launch to be answered.
#[derive(Clone, Copy, Debug)]
pub struct PlayedLaunch<'a> {
    /// The number of the launch, from 1.
    pub number: u32,
    /// The collective and scale whose program is launched.
    pub job: Job,
    /// The smallest and the largest size, with those between by factors of two.
    pub sizes: Sizes,
    /// What is asked of the library.
    pub requested: Requested,
    /// The rules of the tuner file, and who reads it, where one is asked for.
    pub rules: Option<(&'a [Rule], Reader)>,
}

/// What a launch on a cluster would have left.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// The output as nccl-tests prints it, with its table.
    pub output: String,
    /// The debug lines of the library (`NCCL_DEBUG_FILE`), of rank 0.
    pub debug: String,
    /// How long it took on the cluster, in seconds.
    pub seconds: f64,
}

/// Why a launch can't be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlayError {
    /// The sweep has nothing of a collective and scale.
    #[error("the sweep has no {0} on {1}: choose what it has ({2})")]
    NoJob(Collective, Scale, String),
    /// The sweep has no run of what is asked for.
    #[error("the sweep has no run of {0}")]
    NoRun(String),
}

impl Player {
    /// Takes the rows of a sweep.
    pub fn new(rows: &[Row], platform: Platform, seed: u64) -> Self {
        let mut runs: BTreeMap<(Job, Option<Configuration>), RunsBySize> = BTreeMap::new();
        let mut spreads: BTreeMap<(Job, u64), Vec<f64>> = BTreeMap::new();
        let mut ordered: Vec<&Row> = rows.iter().collect();
        ordered.sort_by_key(|row| (row.file, row.line));
        for row in ordered {
            let job = Job { collective: row.workload.collective, scale: row.workload.scale };
            let size = row.workload.size_bytes;
            let Some(first) = row.in_place.or(row.out_of_place) else { continue };
            let time = |sample: Sample| {
                sample.time_us.unwrap_or_else(|| job.collective.time_us(job.scale.ranks, size, sample.busbw_gbps))
            };
            let times_us = [time(first), time(row.out_of_place.unwrap_or(first))];
            if !times_us.iter().all(|time| time.is_finite() && *time > 0.0) {
                continue;
            }
            if let Some(spread) = row.spread_pct
                && let Some(range) = MEAN_RANGE.get(row.repeats.saturating_sub(2) as usize)
            {
                spreads.entry((job, size)).or_default().push(spread / 100.0 / range);
            }
            let of = runs.entry((job, asked(row))).or_default();
            of.entry(size).or_default().push(PlayedRun { times_us, ran: row.ran });
        }
        for ((job, _), sizes) in &runs {
            for (size, of_size) in sizes {
                let heights = of_size.iter().map(|run| ln(run.times_us[0]));
                let (low, high) =
                    heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), h| (low.min(h), high.max(h)));
                if let Some(range) = of_size.len().checked_sub(2).and_then(|more| MEAN_RANGE.get(more)) {
                    spreads.entry((*job, *size)).or_default().push((high - low) / range);
                }
            }
        }
        let noise = spreads
            .into_iter()
            .filter_map(|(key, mut of)| Some((key, median(&mut of)?.clamp(*NOISE.start(), *NOISE.end()))))
            .collect();
        let mut player = Self { runs, noise, platform, seed, stand_ins: Vec::new() };
        player.stand_in();
        player
    }

    /// The relative standard deviation of the time of one launch at a size; 1 % where no configuration was run twice.
    pub fn noise_at(&self, job: Job, size_bytes: u64) -> f64 {
        self.noise.get(&(job, size_bytes)).copied().unwrap_or(0.01)
    }

    /// Where a job has no run of the default, the configuration that serves all its sizes best stands in for it.
    fn stand_in(&mut self) {
        for job in self.jobs() {
            if self.runs.contains_key(&(job, None)) {
                continue;
            }
            let own = || self.runs.iter().filter(|((of, _), _)| *of == job);
            let most = own().map(|(_, sizes)| sizes.len()).max().unwrap_or(0);
            let height = |sizes: &RunsBySize| -> f64 {
                let of_size =
                    |runs: &Vec<PlayedRun>| runs.iter().map(|run| ln(run.times_us[0])).sum::<f64>() / runs.len() as f64;
                sizes.values().map(of_size).sum()
            };
            let best = own()
                .filter(|(_, sizes)| sizes.len() == most)
                .min_by(|(_, a), (_, b)| height(a).total_cmp(&height(b)))
                .and_then(|((_, configuration), sizes)| Some(((*configuration)?, sizes.clone())));
            if let Some((configuration, mut sizes)) = best {
                let all: BTreeSet<u64> = own().flat_map(|(_, sizes)| sizes.keys().copied()).collect();
                for size in all {
                    if let Some((runs, _)) = self.runs_at(job, Some(configuration), size) {
                        sizes.entry(size).or_insert_with(|| runs.to_vec());
                    }
                }
                self.runs.insert((job, None), sizes);
                self.stand_ins.push((job, configuration));
            }
        }
    }

    /// The jobs of which the sweep has no run of the default, each with the configuration that stands in for it.
    pub fn stand_ins(&self) -> &[(Job, Configuration)] {
        &self.stand_ins
    }

    /// The collectives and scales of the sweep.
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs: Vec<Job> = self.runs.keys().map(|(job, _)| *job).collect();
        jobs.dedup();
        jobs
    }

    /// The smallest and the largest size of a job that its default was measured at, or else anything.
    ///
    /// # Errors
    /// Returns `NoJob` if the sweep has nothing of it.
    pub fn sizes(&self, job: Job) -> Result<Sizes, PlayError> {
        let any = || self.runs.iter().filter(|((of, _), _)| *of == job).flat_map(|(_, sizes)| sizes.keys());
        let (Some(first), Some(last)) = (any().min(), any().max()) else {
            let known: Vec<String> = self.jobs().iter().map(Job::to_string).collect();
            return Err(PlayError::NoJob(job.collective, job.scale, known.join("; ")));
        };
        Ok(Sizes::to_cover(*first, *last, job.scale.ranks))
    }

    /// The channel counts that the sweep asked for, ascending.
    pub fn channels(&self) -> Vec<u32> {
        let mut channels: Vec<u32> = self.configurations().iter().map(|c| c.channels).filter(|c| *c > 0).collect();
        channels.sort_unstable();
        channels.dedup();
        channels
    }

    /// The configurations that may be planned and that the sweep can't answer for.
    pub fn unanswered(&self) -> Vec<Configuration> {
        let known = self.configurations();
        let mut all = Vec::new();
        for algorithm in Algorithm::ALL {
            for protocol in Protocol::ALL {
                let with = self.channels().into_iter();
                all.extend(with.map(|channels| Configuration { algorithm: *algorithm, protocol: *protocol, channels }));
            }
        }
        all.retain(|configuration| !known.contains(configuration));
        all
    }

    fn configurations(&self) -> Vec<Configuration> {
        let mut all: Vec<Configuration> = self.runs.keys().filter_map(|(_, configuration)| *configuration).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Answers a launch with runs of the sweep, drawn at random where there are several.
    ///
    /// # Errors
    /// Returns `NoJob` or `NoRun` if the sweep has nothing of what is asked for.
    pub fn play(&self, launch: &PlayedLaunch<'_>) -> Result<Played, PlayError> {
        let job = launch.job;
        self.sizes(job)?;
        let mut stream = Stream::new(self.seed ^ u64::from(launch.number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let turn = stream.next_u64();
        let support = SupportMatrix::new(self.platform.matrix(), &Sweep::default());
        let mut rows = Vec::new();
        let sizes: BTreeSet<u64> =
            self.runs.iter().filter(|((of, _), _)| *of == job).flat_map(|(_, of)| of.keys().copied()).collect();
        let covered = |size: &u64| {
            let asked = Sizes::to_cover(*size, *size, job.scale.ranks);
            (launch.sizes.first..=launch.sizes.last).contains(&asked.first)
        };
        for size in sizes.into_iter().filter(covered) {
            let workload = Workload { collective: job.collective, scale: job.scale, size_bytes: size };
            let configuration = match (launch.requested, launch.rules) {
                (Requested::Configuration(configuration), _) => Some(configuration),
                (Requested::TunerFile | Requested::EmptyTunerFile, Some((rules, reader))) => {
                    choose(rules, reader, &support, &workload).effect.configuration()
                }
                _ => None,
            };
            // One place of a launch draws as many numbers whatever it asks for.
            let noise = [stream.normal(), stream.normal()];
            let Some((of_size, share)) = self.runs_at(job, configuration, size) else { continue };
            let run = of_size[(turn % of_size.len() as u64) as usize];
            let deviation = share * self.noise_at(job, size);
            let mut index = 0;
            let times_us = run.times_us.map(|time| {
                index += 1;
                time * exp(deviation * noise[index - 1])
            });
            rows.push((workload, PlayedRun { times_us, ..run }));
        }
        if rows.is_empty() {
            return Err(PlayError::NoRun(launch.requested.to_string()));
        }
        let iterations = f64::from(WARM_UPS + ITERATIONS);
        let measured: f64 = rows.iter().map(|(_, run)| run.times_us.iter().sum::<f64>() * iterations / 1e6).sum();
        Ok(Played { output: output(job, &rows), debug: debug(job, &rows), seconds: START_SECONDS + measured })
    }

    /// The runs of what is asked for at a size, or of what the library runs there instead, and the share of the noise
    /// that is added to one.
    fn runs_at(&self, job: Job, configuration: Option<Configuration>, size: u64) -> Option<(&[PlayedRun], f64)> {
        let of = |configuration: Option<Configuration>| self.runs.get(&(job, configuration))?.get(&size);
        let found = of(configuration).or_else(|| {
            // RCCL runs Direct at small sizes whatever is asked for, on as many channels or nearly so.
            let asked = configuration?;
            let distance =
                |channels: u32| (log2(f64::from(channels.max(1))) - log2(f64::from(asked.channels.max(1)))).abs();
            let direct = self.runs.iter().filter(|((of, c), sizes)| {
                *of == job && c.is_some_and(|c| c.algorithm == Algorithm::Direct) && sizes.contains_key(&size)
            });
            direct
                .min_by(|((_, a), _), ((_, b), _)| {
                    let of = |c: &Option<Configuration>| distance(c.map_or(0, |c| c.channels));
                    of(a).total_cmp(&of(b))
                })
                .and_then(|(_, sizes)| sizes.get(&size))
        })?;
        let share = if found.len() > 1 { 0.5 } else { 1.0 };
        (!found.is_empty()).then_some((found.as_slice(), share))
    }
}

/// What a row asked for; where the file doesn't say it, what ran. `None` for the default.
fn asked(row: &Row) -> Option<Configuration> {
    if row.kind == RunKind::Default {
        return None;
    }
    let asked = row.asked;
    Some(Configuration {
        algorithm: asked.algorithm.unwrap_or(row.ran.algorithm),
        protocol: asked.protocol.unwrap_or(row.ran.protocol),
        channels: asked.channels.map_or(row.ran.channels, |channels| u32::from(channels.get())),
    })
}

/// The process and host of a rank in the logs that are written here.
fn rank_line(rank: u32, scale: Scale) -> (u32, String) {
    let per_node = scale.ranks.div_ceil(scale.nodes.max(1)).max(1);
    (1000 + rank, format!("node{}", rank / per_node))
}

/// The output of nccl-tests: its head and its table.
fn output(job: Job, rows: &[(Workload, PlayedRun)]) -> String {
    let Job { collective, scale } = job;
    let program = launch::program(collective);
    let ends = [rows.first(), rows.last()].map(|row| row.map_or(0, |(workload, _)| workload.size_bytes));
    let mut text = format!(
        "# Simulated from a sweep.\n# Collective test starting: {program}\n# nThread 1 nGpus 1 minBytes {} maxBytes {} step: 2(factor) \
         warmup iters: {WARM_UPS} iters: {ITERATIONS} agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n",
        ends[0], ends[1]
    );
    // Writing to memory can't fail.
    for rank in 0..scale.ranks {
        let (pid, host) = rank_line(rank, scale);
        let _ =
            writeln!(text, "#  Rank {rank:2} Group  0 Pid {pid:6} on {host} device {rank:2} [0000:00:00] simulated");
    }
    text += "#\n#                                                              out-of-place                       in-place\n\
             #       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n\
             #        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n";
    let reduces = matches!(collective, Collective::AllReduce | Collective::ReduceScatter | Collective::Reduce);
    let redop = if reduces { "sum" } else { "none" };
    let per_rank = matches!(collective, Collective::AllGather | Collective::ReduceScatter);
    for (workload, run) in rows {
        let size = workload.size_bytes;
        let count = size / 4 / if per_rank { u64::from(scale.ranks) } else { 1 };
        let cells = |time_us: f64| {
            let algbw = size as f64 / time_us / 1000.0;
            let busbw = algbw * collective.busbw_factor(scale.ranks);
            format!("{time_us:10.3} {algbw:9.4} {busbw:9.4}       0")
        };
        let [in_place, out_of_place] = run.times_us.map(cells);
        let _ = writeln!(text, "{size:12}  {count:12}     float  {redop:>6}      -1 {out_of_place} {in_place}");
    }
    let _ = writeln!(text, "# Out of bounds values : 0 OK\n#\n# Collective test concluded: {program}");
    text
}

/// What rank 0 says that it decided, as NCCL does from version 2.24 on: sizes of all_gather and reduce_scatter are
/// those of one rank.
fn debug(job: Job, rows: &[(Workload, PlayedRun)]) -> String {
    let Job { collective, scale } = job;
    let name = match collective {
        Collective::AllReduce => "AllReduce",
        Collective::AllGather => "AllGather",
        Collective::ReduceScatter => "ReduceScatter",
        Collective::Broadcast => "Broadcast",
        Collective::Reduce => "Reduce",
        // Nothing is decided about the others.
        _ => return String::new(),
    };
    let (pid, host) = rank_line(0, scale);
    let per_rank = matches!(collective, Collective::AllGather | Collective::ReduceScatter);
    let mut text = String::new();
    for (workload, run) in rows {
        let Configuration { algorithm, protocol, channels } = run.ran;
        let is_known = algorithm != Algorithm::None && algorithm != Algorithm::Direct && channels > 0;
        if !is_known {
            continue;
        }
        let bytes = workload.size_bytes / if per_rank { u64::from(scale.ranks.max(1)) } else { 1 };
        let _ = writeln!(
            text,
            "{host}:{pid}:{pid} [0] NCCL INFO {name}: {bytes} Bytes -> Algo {algorithm} proto {protocol} channel{{Lo..Hi}}={{0..{}}}",
            channels - 1
        );
    }
    text
}
