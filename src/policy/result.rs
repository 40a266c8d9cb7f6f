//! What comes out.

use super::{arm::Arm, attribution::Attribution, key::Key, read::Objective};
use crate::bandit::{
    compare::Comparison,
    estimators::{Estimate, Rejection},
    paired::{NotComparable, PairedResult, Unit},
};

/// By what a log is judged; the log decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Estimator {
    /// Each arm's own values are drawn again, in blocks.
    Resampling,
    /// Arms were chosen uniformly at random: a line counts where the strategy agrees with it.
    Rejection,
    /// Lines are weighted by the probability with which their arm was chosen.
    Weighting,
    /// A strategy that learns chose the arms, and nobody knows with which probabilities.
    #[default]
    None,
}

impl Estimator {
    /// Its word in JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Resampling => "resampling",
            Self::Rejection => "rejection",
            Self::Weighting => "weighting",
            Self::None => "none",
        }
    }

    /// For people, in a sentence.
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

/// What to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decision {
    /// Run this one of the key's arms.
    Deploy(u32),
    /// Leave it to the library.
    Keep,
    /// Nothing can be concluded; the library keeps the choice.
    #[default]
    None,
}

/// What makes a result less than it seems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    /// Two modes: mean and median tell different stories.
    Bimodal,
    /// The level changes with time.
    Drifting,
    /// Arms were measured one after the other.
    Sequential,
    /// The latencies of neighbours depend on each other.
    Dependent,
    /// Too few independent values.
    TooFew,
    /// A strategy that learns chose the arms.
    Adaptive,
    /// The log shows no trace of the schedule by which it was attributed.
    NoTrace,
    /// Some lines have no arm.
    Unattributed,
    /// The library's own choice never ran.
    NoAuto,
    /// Latencies of collectives, not of iterations.
    CommunicationOnly,
    /// Each value is itself a mean.
    Means,
}

impl Flag {
    /// Its word in JSON and in verdicts.
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

/// What is known of one arm of a key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArmResult {
    /// The arm.
    pub arm: Arm,
    /// How many values.
    pub n: u64,
    /// Mean, in milliseconds: the statistic of the decision.
    pub mean_ms: f64,
    /// Median, in milliseconds.
    pub median_ms: f64,
    /// Mean without outliers, in milliseconds.
    pub trimmed_ms: f64,
    /// Standard deviation, in milliseconds.
    pub deviation_ms: f64,
    /// Autocorrelation of neighbours.
    pub autocorrelation: f64,
    /// How many independent values they are worth.
    pub n_eff: f64,
    /// Length of blocks in which they are drawn again.
    pub block: u32,
    /// Share of values in the slow one of two modes, where there are two.
    pub slow_share: Option<f64>,
    /// Which share of the variance lies between two groups.
    pub separation: f64,
    /// Where its mean lies with a probability of 95 %, in milliseconds.
    pub credible_ms: (f64, f64),
    /// Beside `auto`.
    pub comparison: Option<Comparison>,
    /// What weighting says of always running it.
    pub estimate: Option<Estimate>,
    /// How sure it is that it is faster than `auto`; `None` where one of the two never ran.
    pub evidence: Option<Evidence>,
}

impl ArmResult {
    /// Beside `auto`, where the two were measured in a way that lets them be compared: what changed between an arm's only run
    /// and the next arm's can't be told from what the arm changes.
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

/// How sure it is that an arm is faster than `auto`, by what is independent in the logs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Evidence {
    /// They were not measured in a way that lets them be compared.
    None(NotComparable),
    /// Their differences were tested.
    Test {
        /// What was tested, and with which outcome.
        certainty: PairedResult,
        /// The probability of so large a gain by chance in any of the arms and keys that were studied together.
        p: f64,
    },
}

impl Evidence {
    /// `24 stretches of the run`.
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

/// What was found for one key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyResult {
    /// The key; `None` only before anything is known.
    pub key: Option<Key>,
    /// What the numbers are.
    pub objective: Objective,
    /// How lines got their arms.
    pub attributions: Vec<Attribution>,
    /// By what it is judged.
    pub estimator: Estimator,
    /// What to do.
    pub decision: Decision,
    /// `keep auto; bimodal`.
    pub verdict: String,
    /// Why, in sentences.
    pub sentences: Vec<String>,
    /// What makes it less than it seems.
    pub flags: Vec<Flag>,
    /// The arms; [`Arm::Auto`] first.
    pub arms: Vec<ArmResult>,
    /// The best other arm, by place.
    pub candidate: Option<u32>,
    /// So many lines per arm would settle it.
    pub lines_needed: Option<u64>,
    /// What walking the log says of strategies, where arms were chosen uniformly at random: name and result.
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

    /// What is known of the candidate.
    #[must_use]
    pub fn of_candidate(&self) -> Option<&ArmResult> {
        self.arms.get(self.candidate? as usize)
    }
}
