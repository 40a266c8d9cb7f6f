//! The results of a policy study, and the reasons why there may be none.

use serde::Serialize;

use super::{arm::Arm, key::Key, request::Settings};
use crate::{
    bandit::{
        compare::Comparison,
        estimators::{Estimate, Rejection},
        paired::{NotComparable, PairedResult, Unit},
    },
    conf::Reader,
    plot::Chart,
    text::Listing,
};

/// The estimator by which a log is judged; the log determines it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Estimator {
    /// The values of each arm are resampled in blocks.
    Resampling,
    /// Arms were chosen uniformly at random: a line counts where the strategy agrees with it.
    Rejection,
    /// Lines are weighted by the probability with which their arm was chosen.
    Weighting,
    /// A learning strategy chose the arms with unknown probabilities.
    #[default]
    None,
}

impl Estimator {
    /// The keyword in JSON, such as `weighting`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Resampling => "resampling",
            Self::Rejection => "rejection",
            Self::Weighting => "weighting",
            Self::None => "none",
        }
    }

    /// A phrase for use within a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Resampling => "Judged by resampling: each arm's own values are drawn again in blocks.",
            Self::Rejection => {
                "Judged by rejection: arms were chosen uniformly at random, and a line counts where a strategy agrees with it."
            }
            Self::Weighting => {
                "Judged by weighting: lines count by the probabilities with which their arms were chosen."
            }
            Self::None => "Not judged: no estimator can be trusted on this log.",
        }
    }
}

/// The decision on a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decision {
    /// Run the arm with this index.
    Deploy(u32),
    /// Leave the choice to the library.
    Keep,
    /// Nothing can be concluded; the choice stays with the library.
    #[default]
    None,
}

/// A reason why a result is weaker than it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    /// The latencies have two modes, so that mean and median disagree.
    Bimodal,
    /// The level of the latencies changes over time.
    Drifting,
    /// The arms were measured one after the other.
    Sequential,
    /// Successive latencies are correlated, so that they count as fewer.
    Dependent,
    /// There are too few independent values.
    TooFew,
    /// A learning strategy chose the arms.
    Adaptive,
    /// The log shows no trace of the schedule by which it was attributed.
    NoTrace,
    /// Some lines are attributed to no arm.
    Unattributed,
    /// The library's own choice never ran.
    NoAuto,
    /// The latencies are those of collectives, not of iterations.
    CommunicationOnly,
    /// Each value is itself a mean.
    Means,
    /// Arms ran at other rates than the propensities say, which are not used.
    Propensities,
    /// The arms took turns in the same order from the first to the last line.
    FixedTurns,
}

impl Flag {
    /// The keyword in JSON and in verdicts.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Bimodal => "bimodal",
            Self::Drifting => "drifting",
            Self::Sequential => "sequential",
            Self::Dependent => "dependent",
            Self::TooFew => "too-few",
            Self::Adaptive => "adaptive",
            Self::NoTrace => "no-trace",
            Self::Unattributed => "unattributed",
            Self::NoAuto => "no-auto",
            Self::CommunicationOnly => "communication-only",
            Self::Means => "means",
            Self::Propensities => "propensities",
            Self::FixedTurns => "fixed-turns",
        }
    }
}

/// The result of one arm of a key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArmResult {
    /// The arm, with its channels if it asks for any.
    pub arm: Arm,
    /// The number of values on which the figures rest.
    pub n: u64,
    /// Mean in milliseconds, by which the decision is made.
    pub mean_ms: f64,
    /// Median in milliseconds, which no decision rests on.
    pub median_ms: f64,
    /// Mean without outliers, in milliseconds.
    pub trimmed_ms: f64,
    /// Standard deviation of the values, in milliseconds.
    pub deviation_ms: f64,
    /// Correlation of each value with the next, from -1 to 1.
    pub autocorrelation: f64,
    /// The effective number of independent values.
    pub n_eff: f64,
    /// The length of the blocks that are resampled.
    pub block: u32,
    /// Share of values in the slow one of two modes, where there are two.
    pub slow_share: Option<f64>,
    /// The share of the variance between two groups, between 0 and 1.
    pub separation: f64,
    /// The 95 % credible interval of the mean, in milliseconds.
    pub credible_ms: (f64, f64),
    /// The comparison with `auto`; `None` where the log can't compare the two.
    pub comparison: Option<Comparison>,
    /// The weighted estimate of always running this arm.
    pub estimate: Option<Estimate>,
    /// The evidence that the arm is faster than `auto`; `None` if one of the two never ran.
    pub evidence: Option<Evidence>,
}

impl ArmResult {
    /// The comparison with `auto`, if the two were measured so that they can be compared. A change between the only
    /// run of one arm and the next arm's can't be told from the effect of the arm.
    pub fn compared(&self) -> Option<Comparison> {
        self.comparison.filter(|_| matches!(self.evidence, Some(Evidence::Test { .. })))
    }

    /// The probability that its mean is below `auto`'s; `None` where the log can't compare them.
    pub fn p_better(&self) -> Option<f64> {
        self.compared().map(|of| of.p_better)
    }
}

/// The evidence that an arm is faster than `auto`, by the independent units of the logs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Evidence {
    /// They were not measured in a way that lets them be compared.
    None(NotComparable),
    /// No library runs the arm for this collective: what was measured under its name is something else.
    CannotRun,
    /// The differences were tested, and `p` is the result.
    Test {
        /// The tested differences and the outcome.
        certainty: PairedResult,
        /// The probability of so large a gain by chance in any of the arms and keys that were studied together.
        p: f64,
    },
}

impl Evidence {
    /// The units of a test in words, such as `24 stretches of the run`.
    pub fn units(certainty: &PairedResult) -> String {
        let PairedResult { units, runs, .. } = *certainty;
        match certainty.unit {
            Unit::Round => format!("{units} rounds"),
            Unit::Run => format!("{units} runs"),
            Unit::Stretch if runs > 1 => format!("{units} stretches of {runs} runs"),
            Unit::Stretch => format!("{units} stretches of the log"),
            Unit::Sample => format!("{units} runs of each"),
        }
    }
}

/// The result of one key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyResult {
    /// The key; `None` only before the study.
    pub key: Option<Key>,
    /// Whether the numbers are times of collectives or of iterations.
    pub objective: Objective,
    /// How lines were attributed to arms.
    pub attributions: Vec<Attribution>,
    /// The estimator by which the key is judged.
    pub estimator: Estimator,
    /// The arm to run, or that nothing can be concluded.
    pub decision: Decision,
    /// The decision and its flags, such as `keep auto; bimodal`.
    pub verdict: String,
    /// The reasons for the decision, a whole sentence each.
    pub sentences: Vec<String>,
    /// The reasons why the result is weaker than it looks.
    pub flags: Vec<Flag>,
    /// The arms; [`Arm::Auto`] is first.
    pub arms: Vec<ArmResult>,
    /// The index of the best arm besides `auto`.
    pub candidate: Option<u32>,
    /// The number of lines per arm that would settle the decision.
    pub lines_needed: Option<u64>,
    /// The name of each strategy and its estimate by rejection sampling, where arms were chosen uniformly at random.
    pub rejection: Vec<(String, Rejection)>,
}

impl KeyResult {
    /// The arm to run: the candidate if it is deployed, otherwise `auto`.
    pub fn chosen(&self) -> Arm {
        match self.decision {
            Decision::Deploy(arm) => self.arms.get(arm as usize).map(|of| of.arm).unwrap_or_default(),
            _ => Arm::Auto,
        }
    }

    /// P(better) of the candidate; `None` where the log can't compare it with `auto`.
    pub fn p_better(&self) -> Option<f64> {
        self.of_candidate()?.p_better()
    }

    /// The fewest independent values among `auto` and the candidate, or all arms that ran.
    pub fn n_eff(&self) -> f64 {
        let ran = self.arms.iter().enumerate().filter(|(_, arm)| arm.n > 0);
        let compared = ran.filter(|(place, _)| *place == 0 || self.candidate.is_none_or(|c| c as usize == *place));
        let least = compared.map(|(_, arm)| arm.n_eff).fold(f64::INFINITY, f64::min);
        if least.is_finite() { least } else { 0.0 }
    }

    /// The result of the candidate.
    pub fn of_candidate(&self) -> Option<&ArmResult> {
        self.arms.get(self.candidate? as usize)
    }
}

/// What the numbers of a log measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// The time of collectives, which does not include the computation that they slow down.
    #[default]
    Communication,
    /// The time of iterations of the job.
    Iteration,
}

/// How the lines of a log were attributed to arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attribution {
    /// A column of the log names the arm of each line.
    Columns,
    /// The policy's seed and counts, together with the column `call`.
    Schedule,
    /// Arms took turns, by the column `call`.
    CallTurns,
    /// The name of the file.
    Name,
    /// The user named one arm for the whole file.
    Given,
    /// Arms took turns by line, after a warm-up of given length.
    LineTurns,
    /// The lines could not be attributed.
    None,
}

impl Attribution {
    /// How lines were attributed, as a clause of a report.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Columns => "the log names the arm of each line",
            Self::Schedule => "from the schedule of the policy file and the calls of the log",
            Self::CallTurns => "arms took turns by the calls of the log",
            Self::Name => "from the file's name",
            Self::Given => "as given for the whole file",
            Self::LineTurns => "arms took turns by line, after the given warm-up",
            Self::None => "not attributed: the log does not say which arm ran",
        }
    }
}

/// The same key measured with and without overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The key, whose overlap is `None`.
    pub key: Key,
    /// The fastest arm without overlap, and with overlap.
    pub winners: [Arm; 2],
    /// P(the mode's winner is better than the other mode's winner), in each mode; `None` where it is the same arm, or
    /// not known.
    pub p_better: [Option<f64>; 2],
    /// Whether the fastest arms differ.
    pub kind: PairKind,
}

/// Whether overlap changes the fastest arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairKind {
    /// The same arm is fastest with and without overlap.
    Same,
    /// The same arm is fastest in both, and it is deployed in one of them alone.
    DecidedApart,
    /// The winners differ, and each is better in its mode beyond doubt.
    Flip,
    /// The winners differ by no more than noise: of K arms that are all alike, (K − 1)/K of the cells do.
    WithinNoise,
}

impl PairKind {
    /// A word or two for tables, such as `flip`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::DecidedApart => "same, deployed in one of them",
            Self::Flip => "flip",
            Self::WithinNoise => "within noise",
        }
    }
}

/// A reward log of the study, as the list of files shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogFile {
    /// The name of the file, as it was dropped.
    pub name: String,
    /// How its lines were attributed to arms, or why they were not.
    pub attribution: String,
    /// Whether nothing of it could be used.
    pub is_refused: bool,
}

/// A table that is shown and not analysed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnanalysedTable {
    /// The name of the file, as it was dropped.
    pub name: String,
    /// Whether it lists what a policy runs; otherwise it holds means.
    pub is_policy: bool,
    /// What the file holds, a row for each of its entries.
    pub listing: Listing,
}

/// The result of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyOverview {
    /// The logs, in the order in which they were dropped.
    pub logs: Vec<LogFile>,
    /// The settings of the study.
    pub settings: Settings,
    /// The names of the keys, in index order.
    pub keys: Vec<String>,
    /// The verdict on each key, such as `keep auto; bimodal`.
    pub verdicts: Vec<String>,
    /// The sentences about each key. The first says what to do.
    pub sentences: Vec<Vec<String>>,
    /// A table of the keys, a row for each.
    pub listing: Listing,
    /// A row for each key that was measured with and without overlap; empty where none was.
    pub overlap: Listing,
    /// Tables that are shown and not analysed.
    pub tables: Vec<UnanalysedTable>,
    /// Notes that concern all logs together, a sentence each.
    pub notes: Vec<String>,
    /// A key can be replayed, in the order of their places.
    pub can_replay: Vec<bool>,
    /// The full result for each key.
    pub results: Vec<KeyResult>,
    /// The keys that were measured with and without overlap.
    pub pairs: Vec<Pair>,
}

/// Charts and tables of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyCharts {
    /// A table of the arms, a row for each.
    pub arms: Listing,
    /// Latency over time, a series for each arm.
    pub latencies: Chart,
    /// The posterior densities of the means of the arms.
    pub posteriors: Option<Chart>,
    /// A table of estimates from the lines of the log; empty where the log supports none.
    pub estimates: Listing,
}

/// A replay that is ready to start.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedReplay {
    /// The encoded game, for [`super::replay::play`].
    pub game: Vec<u8>,
    /// The expected duration of each job relative to the others. The index is the number of the job.
    pub jobs: Vec<f64>,
    /// The jobs in rounds, after each of which results can be shown.
    pub rounds: Vec<Vec<u32>>,
}

/// The results of a replay so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayResult {
    /// The number of seeds so far.
    pub seeds: u32,
    /// A table of the strategies, a row for each.
    pub listing: Listing,
    /// The index of the strategy whose shares are shown.
    pub shown: u32,
    /// The mean cumulative regret of each strategy over steps; `None` before the first seed.
    pub regret: Option<Chart>,
    /// The shares of arms over the steps of one strategy.
    pub shares: Option<Chart>,
    /// What the comparison of strategies says, a whole sentence each.
    pub sentences: Vec<String>,
    /// The full result of each strategy.
    pub strategies: Vec<StrategyResult>,
}

/// The result of one strategy. Latencies and costs are in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StrategyResult {
    /// The strategy's keyword in addresses, files and options.
    pub strategy: &'static str,
    /// The strategy's name with its parameters.
    pub title: String,
    /// Whether its decisions depend on the unit of time. Such a strategy is shown for comparison only.
    pub is_raw: bool,
    /// The numbers of steps at which regret is given.
    pub steps: Vec<u32>,
    /// Mean cumulative pseudo-regret at each of these.
    pub regret_ms: Vec<f64>,
    /// The 95 % interval of that mean.
    pub regret_interval_ms: Vec<(f64, f64)>,
    /// The 5th and 95th percentile over seeds.
    pub regret_spread_ms: Vec<(f64, f64)>,
    /// Mean latency over all steps.
    pub mean_ms: f64,
    /// Median first step from which every window of 100 has 95 pulls of the best arm; `None`: never.
    pub converges_after: Option<u32>,
    /// The share of seeds that converge at all, between 0 and 1.
    pub converged_share: f64,
    /// The share of the best arm in the last 200 steps, between 0 and 1.
    pub best_at_end: f64,
    /// The share of seeds that end on the best arm, between 0 and 1.
    pub ends_on_best: f64,
    /// The sum over exploring pulls of the arm's latency minus that of `auto`; negative if exploring gained.
    pub exploration_ms: f64,
    /// The median number of calls after which exploring has cost no more than `auto`; `None` if it never pays back.
    pub paid_back_after: Option<u32>,
    /// The shares of arms in each stretch of steps.
    pub arm_shares: Vec<Vec<f64>>,
}

/// Why no tuner file can be written for a reader.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no tuner file is written for {}: it can't keep the library's choice, and runs one channel where no rule matches. {why}", .reader.name())]
pub struct ExportError {
    /// The program that would read the file.
    pub reader: Reader,
    /// What the logs lack, in whole sentences.
    pub why: String,
}

/// The reason why a question can't be answered. Messages are shown to users.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// Returned when no log is open.
    #[error(
        "there is no reward log to study, which has lines like allreduce,4194304,1,8,12.34, or times of one arm alone"
    )]
    NothingLoaded,
    /// Returned when there is no key with this index, from 0.
    #[error("there is no key {}", .0 + 1)]
    NoKey(u32),
    /// Returned when no log states enough of its keys, with the reasons.
    #[error("no log can be used: {0}")]
    NoKeys(String),
    /// The key with this name can't be replayed, for this reason.
    #[error("{0} can't be replayed. {1}")]
    NotReplayed(String, String),
    /// A reader that can't keep the library's choice would have to.
    #[error(transparent)]
    NoFile(#[from] ExportError),
    /// The simulation has this many arms, too few or too many.
    #[error("a simulation has 2 to 16 arms, each with a name, and one of them is auto; there are {0}")]
    Arms(usize),
    /// A message comes from another build.
    #[error("the parts of this page are of different builds; reload it")]
    Message(#[from] postcard::Error),
}
