//! The sizes that a job actually sends: which rule each hits, its time now and with a tuner file, what to measure next.
//!
//! A deployment gains nothing where the job's sizes fall between its rules. [`calls`] finds the calls of a job, this
//! module compares them with rules and measurements, and [`costs`] draws the library's own estimates.

pub mod calls;
mod costs;
mod paths;
mod present;

use serde::{Deserialize, Serialize};

pub use self::present::{histogram, listing, sentence};
use super::{
    conf::{
        choose::{Effect, choose},
        expect::{Expectations, Expected, Predict},
        reader::Reader,
        rule::{Rule, conditions},
        words::COLLECTIVES,
    },
    job::{CollectiveCall, JobLog},
    platform::Library,
    reach::{JobPlace, Path, Reach},
    support::SupportMatrix,
    sweep::Sweep,
};
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
    order::CompactSort,
    plot::Chart,
    text::Listing,
    units::count,
};

/// The number of GPUs of a node that is assumed if nothing says it.
const GPUS_PER_NODE: u32 = 8;

/// The settings of a coverage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoverageQuestion {
    /// Typed calls; `None`: those of the loaded logs.
    pub typed: Option<calls::TypedCalls>,
    /// The tuner file, by its file's number; `None`: only what runs now.
    pub conf: Option<u32>,
    /// The tuner reader that reads the file.
    pub reader: Reader,
    /// The library, which decides what can run.
    pub library: Library,
    /// The scale of calls whose communicator the log does not say, and the number of nodes of a communicator with as
    /// many ranks.
    pub scale: Option<Scale>,
    /// The number of logged steps times the number of ranks that logged: sums are divided by it, and so are those of
    /// one step of one rank.
    pub divide_by: u32,
    /// Where the job runs: it decides the paths of its calls.
    pub on: JobPlace,
}

impl Default for CoverageQuestion {
    fn default() -> Self {
        Self {
            typed: None,
            conf: None,
            reader: Reader::default(),
            library: Library::default(),
            scale: None,
            divide_by: 1,
            on: JobPlace::default(),
        }
    }
}

/// The coverage of a job's calls, as the page shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoverageAnswer {
    /// The calls, the most expensive first. Not sent to the page, which shows the listing.
    #[serde(skip)]
    pub lines: Vec<CoverageLine>,
    /// The lines as a table.
    pub listing: Listing,
    /// The sums. Not sent to the page, which shows the sentence.
    #[serde(skip)]
    pub total: CoverageTotal,
    /// The totals in a sentence.
    pub sentence: String,
    /// How often each size is called.
    pub histogram: Chart,
    /// Charts of the library's cost model beside the measurements.
    pub costs: Vec<Chart>,
    /// The workloads that are called, can have a rule and were never measured, with the number of calls per step; the
    /// most expensive first.
    pub measure_next: Vec<(Workload, u64)>,
    /// Sentences on calls that are not judged or not comparable, for the user.
    pub notes: Vec<String>,
    /// Which of the calls a tuner is asked about; `None` until it is put there. Not sent to the page, which shows its
    /// own sections of it.
    #[serde(skip)]
    pub reach: Option<Reach>,
}

/// One collective, size and scale that a job calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoverageLine {
    /// The collective, scale and message size.
    pub workload: Workload,
    /// The number of calls per step.
    pub calls: f64,
    /// The configuration that ran most often, as the log says.
    pub seen: Option<Configuration>,
    /// The effect of the tuner file; `None` without one.
    pub effect: Option<Effect>,
    /// The rule, or lack of one, that decides the effect.
    pub hit: Hit,
    /// The expected bandwidth of a call without the tuner file: of what the log says that ran, where that is known,
    /// else of the default.
    pub now: Option<Expected>,
    /// What the default of the measurements ran where `now` is its time, and the log says that another algorithm or
    /// protocol ran.
    pub default_ran: Option<Configuration>,
    /// One call with the tuner file.
    pub with_conf: Option<Expected>,
    /// Whether this size was measured at this scale.
    pub is_measured: bool,
    /// The paths of these calls through the library, each with its share, from 0 to 1, the largest first; empty where
    /// they were not looked for.
    pub paths: Vec<(Path, f64)>,
}

impl CoverageLine {
    /// The share of these calls, from 0 to 1, about which a tuner is asked; 1 where the paths were not looked for.
    pub fn asked(&self) -> f64 {
        if self.paths.is_empty() { 1.0 } else { self.share(Path::is_reached) }
    }

    /// The share of these calls, from 0 to 1, whose path no line shows.
    pub fn untold(&self) -> f64 {
        self.share(|path| path == Path::Unknown)
    }

    fn share(&self, of: impl Fn(Path) -> bool) -> f64 {
        self.paths.iter().filter(|(path, _)| of(*path)).map(|(_, share)| share).sum()
    }

    /// The time of these calls per step without the tuner file, in µs; `None` where it is not known.
    pub fn now_us(&self) -> Option<f64> {
        Some(self.now?.time_us? * self.calls)
    }

    /// Whether it was never measured, although the library asks a tuner about it.
    pub fn is_worth_measuring(&self) -> bool {
        !self.is_measured && COLLECTIVES.iter().any(|(_, known)| *known == self.workload.collective)
    }

    /// The time of these calls per step with the tuner file, in µs, where it changes the calls about which a tuner is
    /// asked and no others; `None` where it is not known.
    pub fn with_conf_us(&self) -> Option<f64> {
        self.if_asked_us(self.asked())
    }

    /// As [`Self::with_conf_us`], if a tuner is asked about the calls of unknown paths as well.
    pub fn with_untold_us(&self) -> Option<f64> {
        self.if_asked_us(self.asked() + self.untold())
    }

    fn if_asked_us(&self, share: f64) -> Option<f64> {
        let with_us = self.with_conf?.time_us?;
        if share >= 1.0 {
            return Some(with_us * self.calls);
        }
        let now_us = self.now?.time_us?;
        Some((now_us + (with_us - now_us) * share) * self.calls)
    }
}

/// How a tuner file applies to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hit {
    /// The rule of this line.
    Rule(u32),
    /// No rule of the file matches.
    Gap,
    /// A tuner is not asked about this collective, or there is no tuner file.
    Untuned,
}

/// Times and calls of one training step, over all lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoverageTotal {
    /// Calls of collectives in one step.
    pub calls: f64,
    /// Calls that hit a rule, and that no line shows on a path without a tuner.
    pub covered: f64,
    /// Calls about which a tuner is asked.
    pub asked: f64,
    /// Calls whose path no line shows.
    pub untold: f64,
    /// Calls whose time is known, with the tuner file too if there is one. The two sums below are of these calls.
    pub known: f64,
    /// Their time now, in microseconds.
    pub now_us: f64,
    /// The part of it in calls about which a tuner is asked.
    pub asked_us: f64,
    /// Their time with the tuner file, in microseconds, where it changes what a tuner is asked about and nothing else.
    pub with_conf_us: Option<f64>,
    /// The same if a tuner is asked about the calls of unknown paths as well.
    pub with_untold_us: Option<f64>,
}

/// The reason why no coverage can be computed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoverageError {
    /// No collective call is known.
    #[error(
        "no collective call is known: a log is needed with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=COLL or TUNING, or sizes that \
             are typed"
    )]
    NoCalls,
    /// The calls, whose number is given, are logged by the bytes of one rank, without the number of ranks.
    #[error(
        "the log has the bytes of one rank and not how many ranks there are ({0} times): log with \
         NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING"
    )]
    PerRank(u64),
    /// The communicator is not known.
    #[error("the log does not say how many ranks the communicators have: say nodes and ranks")]
    NoScale,
}

/// The measurements and tuner file from which a coverage is computed.
#[derive(Clone, Copy)]
pub struct CoverageInput<'a> {
    /// The measurements; may be empty.
    pub sweep: &'a Sweep,
    /// The tuner file's rules, if there is one.
    pub rules: Option<&'a [Rule]>,
    /// A model's expectations, if there is one.
    pub predict: Option<Predict<'a>>,
    /// The paths of the calls; `None`: a tuner is taken to be asked about all of them.
    pub reach: Option<&'a Reach>,
}

/// The rules that a job's calls match, and their times with and without the tuner file.
///
/// # Errors
/// Returns an error if there are no calls, or their scale is not known.
pub fn coverage(
    job: &JobLog,
    basis: &CoverageInput<'_>,
    question: &CoverageQuestion,
) -> Result<CoverageAnswer, CoverageError> {
    let CoverageInput { sweep, rules, predict, reach } = *basis;
    let typed = question.typed.as_ref().map(calls::TypedCalls::job);
    let job = typed.as_ref().unwrap_or(job);
    let support = SupportMatrix::new(question.library.of_reader(question.reader).matrix(), sweep);
    let expectations = Expectations::new(sweep, &support, predict);
    let scales = Scales::new(sweep, job, question.scale);
    let mut notes = Vec::new();
    let mut lines: Vec<CoverageLine> = Vec::new();
    let (calls, per_rank) = calls::of(job);
    let paths = reach.map(paths::of);
    for (call, count) in calls {
        let workload = Workload {
            collective: call.collective,
            scale: scales.of(call.ranks).ok_or(CoverageError::NoScale)?,
            size_bytes: call.size_bytes,
        };
        let choice = rules.map(|rules| (rules, choose(rules, question.reader, &support, &workload)));
        let is_tuned = COLLECTIVES.iter().any(|(_, known)| *known == call.collective);
        let hit = match &choice {
            Some((rules, choice)) if is_tuned => {
                choice.rule.and_then(|index| rules.get(index)).map_or(Hit::Gap, |rule| Hit::Rule(rule.line))
            }
            _ => Hit::Untuned,
        };
        let effect = choice.map(|(_, choice)| choice.effect);
        let seen = seen(job, &call);
        let (now, default_ran) = now(&expectations, sweep, &workload, seen);
        lines.push(CoverageLine {
            workload,
            // Typed calls are those of one step of one rank already.
            calls: count as f64 / if typed.is_some() { 1.0 } else { f64::from(question.divide_by.max(1)) },
            seen,
            effect,
            hit,
            now,
            default_ran,
            with_conf: effect.and_then(|effect| expectations.of(effect, &workload)),
            is_measured: sweep.default_at(&workload).is_some() || !sweep.points_at(&workload).is_empty(),
            paths: paths.as_ref().map(|paths| paths.of_call(&call)).unwrap_or_default(),
        });
    }
    if lines.is_empty() {
        return Err(if per_rank > 0 { CoverageError::PerRank(per_rank) } else { CoverageError::NoCalls });
    }
    if per_rank > 0 {
        notes.push(format!(
            "{} of all_gather or reduce_scatter: per rank, factor unknown, and not compared with anything; log with \
             NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING to have the ranks",
            count(per_rank, "call")
        ));
    }
    if let Some(left_out) = question.typed.as_ref().map(calls::TypedCalls::left_out).filter(|left_out| *left_out > 0) {
        notes.push(format!("{} left out: its bytes are 0 or beyond all measure", count(left_out, "batch size")));
    }
    let weight = |line: &CoverageLine| {
        (line.now_us().is_some(), line.now_us().unwrap_or(line.calls * line.workload.size_bytes as f64))
    };
    lines.compact_sort_by(|a, b| {
        let ((a_known, a), (b_known, b)) = (weight(a), weight(b));
        b_known.cmp(&a_known).then(b.total_cmp(&a))
    });
    let measure_next = measure_next(&lines);
    if job.torn_lines > 0 {
        let torn = count(job.torn_lines, "line");
        notes.push(format!("torn and not counted: {torn} of the logs"));
    }
    if !sweep.is_empty() && lines.iter().all(|line| line.now.is_none()) {
        notes.push(
            "the default was measured at none of these scales and sizes: what they cost now is not known".to_owned(),
        );
    }
    notes.extend(rules.and_then(conditions));
    notes.extend(scales.guessed(&lines));
    let total = total(&lines, rules.is_some());
    Ok(CoverageAnswer {
        listing: listing(&lines, rules.is_some()),
        sentence: sentence(&total),
        total,
        histogram: histogram(&lines),
        costs: costs::charts(&job.costs, sweep, &lines),
        measure_next,
        lines,
        notes,
        reach: None,
    })
}

/// The expected bandwidth of a call as the job makes it, and what the default ran where that is another algorithm or
/// protocol than the log says, and stands in for it.
fn now(
    expectations: &Expectations<'_>,
    sweep: &Sweep,
    workload: &Workload,
    seen: Option<Configuration>,
) -> (Option<Expected>, Option<Configuration>) {
    let default = expectations.default(workload);
    let pair = |configuration: Configuration| (configuration.algorithm, configuration.protocol);
    let by_default = sweep.default_at(workload).map(|point| point.configuration);
    let is_known = |ran: &Configuration| ran.algorithm != Algorithm::None && ran.protocol != Protocol::None;
    match (seen, by_default.filter(is_known)) {
        (Some(seen), Some(ran)) if pair(ran) != pair(seen) => match expectations.configuration(workload, seen) {
            Some(expected) => (Some(expected), None),
            None => (default, default.and(Some(ran))),
        },
        (Some(seen), _) => (default.or_else(|| expectations.configuration(workload, seen)), None),
        (None, _) => (default, None),
    }
}

/// The configuration that the log names most often for a call; the first of several that it names equally often.
fn seen(job: &JobLog, call: &CollectiveCall) -> Option<Configuration> {
    let of_call = job.decisions.iter().filter(|(decision, _)| {
        !decision.is_per_rank && (decision.collective, decision.size_bytes) == (call.collective, call.size_bytes)
    });
    of_call.min_by_key(|(_, count)| std::cmp::Reverse(**count)).map(|(decision, _)| decision.configuration)
}

fn measure_next(lines: &[CoverageLine]) -> Vec<(Workload, u64)> {
    let mut next: Vec<&CoverageLine> = lines.iter().filter(|line| line.is_worth_measuring()).collect();
    // Times are not known for all of them, so bytes per step decide the order.
    next.compact_sort_by(|a, b| {
        let bytes = |line: &CoverageLine| line.calls * line.workload.size_bytes as f64;
        bytes(b).total_cmp(&bytes(a))
    });
    next.into_iter().map(|line| (line.workload, line.calls.round().max(1.0) as u64)).collect()
}

fn total(lines: &[CoverageLine], has_conf: bool) -> CoverageTotal {
    let zero = has_conf.then_some(0.0);
    let mut total = CoverageTotal { with_conf_us: zero, with_untold_us: zero, ..CoverageTotal::default() };
    for line in lines {
        total.calls += line.calls;
        total.asked += line.calls * line.asked();
        total.untold += line.calls * line.untold();
        if matches!(line.hit, Hit::Rule(_)) {
            total.covered += line.calls * (line.asked() + line.untold());
        }
        let with = if has_conf { line.with_conf_us().zip(line.with_untold_us()) } else { Some((0.0, 0.0)) };
        if let (Some(now), Some((with, with_untold))) = (line.now_us(), with) {
            total.known += line.calls;
            total.now_us += now;
            total.asked_us += now * line.asked();
            total.with_conf_us = total.with_conf_us.map(|sum| sum + with);
            total.with_untold_us = total.with_untold_us.map(|sum| sum + with_untold);
        }
    }
    total
}

/// Finds the scale of a communicator.
struct Scales {
    measured: Vec<Scale>,
    /// The scales that the log names.
    told: Vec<Scale>,
    asked: Option<Scale>,
}

impl Scales {
    fn new(sweep: &Sweep, job: &JobLog, asked: Option<Scale>) -> Self {
        let mut measured: Vec<Scale> = sweep.groups().into_iter().map(|group| group.scale).collect();
        measured.compact_sort();
        measured.dedup();
        Self { measured, told: job.scales.iter().copied().collect(), asked }
    }

    /// The scale of a communicator with this number of ranks: the given one, one of the log, or a measured one; else
    /// the number of nodes that the ranks need. Without ranks the given scale, else the only one of the log or of the
    /// measurements.
    fn of(&self, ranks: Option<u32>) -> Option<Scale> {
        fn only(scales: &[Scale]) -> Option<Scale> {
            scales.first().filter(|_| scales.len() == 1).copied()
        }
        let Some(ranks) = ranks else {
            return self.asked.or_else(|| only(&self.told)).or_else(|| only(&self.measured));
        };
        let nodes = ranks.div_ceil(self.per_node()).max(1);
        Some(self.known().find(|scale| scale.ranks == ranks).copied().unwrap_or(Scale { nodes, ranks }))
    }

    fn known(&self) -> impl Iterator<Item = &Scale> {
        self.asked.iter().chain(&self.told).chain(&self.measured)
    }

    fn per_node(&self) -> u32 {
        self.known().map(|scale| scale.ranks / scale.nodes.max(1)).max().unwrap_or(GPUS_PER_NODE).max(1)
    }

    /// Sentences on the scales of some lines that are guessed, and on a given one that is not used.
    fn guessed(&self, lines: &[CoverageLine]) -> Vec<String> {
        let mut scales: Vec<Scale> = lines.iter().map(|line| line.workload.scale).collect();
        scales.compact_sort();
        scales.dedup();
        let told: Vec<&Scale> =
            self.told.iter().filter(|told| scales.iter().any(|of| of.ranks == told.ranks)).collect();
        let several = told.windows(2).filter(|pair| {
            pair[0].ranks == pair[1].ranks && self.asked.is_none_or(|asked| asked.ranks != pair[0].ranks)
        });
        let several: Vec<String> = several
            .map(|pair| {
                format!(
                    "the log has communicators of {} on {} and on {}: its calls are taken for the first",
                    count(pair[0].ranks.into(), "rank"),
                    count(pair[0].nodes.into(), "node"),
                    count(pair[1].nodes.into(), "node")
                )
            })
            .collect();
        let unused = self.asked.filter(|asked| !scales.contains(asked)).map(|asked| {
            format!("{asked}, as given, is the scale of no call: the logs say communicators of other ranks")
        });
        scales.retain(|scale| self.known().all(|known| known != scale));
        let note = |scale: Scale| {
            let (ranks, nodes) = (count(scale.ranks.into(), "rank"), count(scale.nodes.into(), "node"));
            format!(
                "communicators of {ranks} are taken for {nodes}, at {} GPUs a node: say nodes and ranks where it is \
                 otherwise",
                self.per_node()
            )
        };
        several.into_iter().chain(unused).chain(scales.into_iter().map(note)).collect()
    }
}

/// The collectives of some lines.
fn collectives(lines: &[CoverageLine]) -> Vec<Collective> {
    let mut all: Vec<Collective> = lines.iter().map(|line| line.workload.collective).collect();
    all.compact_sort();
    all.dedup();
    all
}
