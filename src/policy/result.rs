//! The results of a policy study.

use super::{arm::Arm, attribution::Attribution, key::Key, read::Objective};
use crate::bandit::{
    compare::Comparison,
    estimators::{Estimate, Rejection},
    paired::{NotComparable, PairedResult, Unit},
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
    /// The keyword in JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Resampling => "resampling",
            Self::Rejection => "rejection",
            Self::Weighting => "weighting",
            Self::None => "none",
        }
    }

    /// A phrase for use within a sentence.
    #[must_use]
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
    /// Successive latencies are correlated.
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
}

impl Flag {
    /// The keyword in JSON and in verdicts.
    #[must_use]
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
        }
    }
}

/// The result of one arm of a key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArmResult {
    /// The arm.
    pub arm: Arm,
    /// The number of values.
    pub n: u64,
    /// Mean in milliseconds, by which the decision is made.
    pub mean_ms: f64,
    /// Median in milliseconds.
    pub median_ms: f64,
    /// Mean without outliers, in milliseconds.
    pub trimmed_ms: f64,
    /// Standard deviation in milliseconds.
    pub deviation_ms: f64,
    /// Autocorrelation at lag 1.
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
    /// The comparison with `auto`.
    pub comparison: Option<Comparison>,
    /// The weighted estimate of always running this arm.
    pub estimate: Option<Estimate>,
    /// The evidence that the arm is faster than `auto`; `None` if one of the two never ran.
    pub evidence: Option<Evidence>,
}

impl ArmResult {
    /// The comparison with `auto`, if the two were measured so that they can be compared. A change between the only
    /// run of one arm and the next arm's can't be told from the effect of the arm.
    #[must_use]
    pub fn compared(&self) -> Option<Comparison> {
        self.comparison.filter(|_| matches!(self.evidence, Some(Evidence::Test { .. })))
    }

    /// The probability that its mean is below `auto`'s; `None` where the log can't compare them.
    #[must_use]
    pub fn p_better(&self) -> Option<f64> {
        self.compared().map(|of| of.p_better)
    }
}

/// The evidence that an arm is faster than `auto`, by the independent units of the logs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Evidence {
    /// They were not measured in a way that lets them be compared.
    None(NotComparable),
    /// The differences were tested.
    Test {
        /// The tested differences and the outcome.
        certainty: PairedResult,
        /// The probability of so large a gain by chance in any of the arms and keys that were studied together.
        p: f64,
    },
}

impl Evidence {
    /// The units of a test in words, such as `24 stretches of the run`.
    #[must_use]
    pub fn units(certainty: &PairedResult) -> String {
        let units = certainty.units;
        match certainty.unit {
            Unit::Round => format!("{units} rounds"),
            Unit::Run => format!("{units} runs"),
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
    /// What the numbers measure.
    pub objective: Objective,
    /// How lines were attributed to arms.
    pub attributions: Vec<Attribution>,
    /// The estimator by which the key is judged.
    pub estimator: Estimator,
    /// The decision.
    pub decision: Decision,
    /// The decision and its flags, such as `keep auto; bimodal`.
    pub verdict: String,
    /// The reasons, in sentences.
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
    /// The arm to run.
    #[must_use]
    pub fn chosen(&self) -> Arm {
        match self.decision {
            Decision::Deploy(arm) => self.arms.get(arm as usize).map(|of| of.arm).unwrap_or_default(),
            _ => Arm::Auto,
        }
    }

    /// P(better) of the candidate; `None` where the log can't compare it with `auto`.
    #[must_use]
    pub fn p_better(&self) -> Option<f64> {
        self.of_candidate()?.p_better()
    }

    /// The fewest independent values among `auto` and the candidate, or all arms that ran.
    #[must_use]
    pub fn n_eff(&self) -> f64 {
        let ran = self.arms.iter().enumerate().filter(|(_, arm)| arm.n > 0);
        let compared = ran.filter(|(place, _)| *place == 0 || self.candidate.is_none_or(|c| c as usize == *place));
        let least = compared.map(|(_, arm)| arm.n_eff).fold(f64::INFINITY, f64::min);
        if least.is_finite() { least } else { 0.0 }
    }

    /// The result of the candidate.
    #[must_use]
    pub fn of_candidate(&self) -> Option<&ArmResult> {
        self.arms.get(self.candidate? as usize)
    }
}
