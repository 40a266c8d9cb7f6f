//! Decisions, reasons and intervals in words.

use super::{Decision, Gain, KeepReason, MoreRuns, Noise, NoiseBasis};
use crate::units::percent;

impl Decision {
    /// The decision in a word or two.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Deploy => "deploy",
            Self::KeepDefault { .. } => "keep default",
            Self::MeasureFirst => "measure first",
            Self::NoDefault => "best known",
            Self::Unknown => "measure",
        }
    }

    /// Why, in a few words; nothing where the configuration beats the default.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Deploy => "",
            Self::KeepDefault { reason } => reason.short(),
            Self::MeasureFirst => "not measured here",
            Self::NoDefault => "no default measured",
            Self::Unknown => "nothing known",
        }
    }
}

impl KeepReason {
    /// The reason in a few words, for tables.
    pub const fn short(self) -> &'static str {
        match self {
            Self::NotFaster => "nothing faster",
            Self::Uncertain => "may be noise",
            Self::Rounded => "may be rounding",
            Self::Contradicted => "measure again",
            Self::OtherState => "other state",
            Self::TooSmall => "gain too small",
            Self::Same => "runs it already",
        }
    }
}

impl NoiseBasis {
    /// From what the noise is known, in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Repeats => "repeats",
            Self::Spreads => "spreads of medians",
            Self::HeldOut => "held-out errors",
        }
    }
}

impl MoreRuns {
    /// How many, in a few words; nothing where nothing is undecided.
    pub fn words(self) -> String {
        match self {
            Self::Decided => String::new(),
            Self::Runs(runs) => format!("{runs} more"),
            Self::OutOfReach => "out of reach".to_owned(),
        }
    }
}

/// The ends of a gain's interval: `+7.5 to +16.9 %`.
pub fn range(gain: &Gain) -> String {
    let low = percent(gain.low_pct);
    format!("{} to {}", low.trim_end_matches(" %"), percent(gain.high_pct))
}

/// A sentence on what noise leaves undecided and how many runs would decide it; empty where nothing is undecided.
pub fn undecided(noise: Option<&Noise>) -> String {
    let Some(noise) = noise else { return "Nothing tells the noise of these measurements yet.".to_owned() };
    match noise.more_runs {
        MoreRuns::Decided => String::new(),
        MoreRuns::Runs(1) => "About 1 more run of each would decide.".to_owned(),
        MoreRuns::Runs(runs) => format!("About {runs} more runs of each would decide."),
        MoreRuns::OutOfReach => "The difference is too small for more runs to decide within reason.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_have_both_ends() {
        let gain = Gain { pct: 4.7, low_pct: -2.5, high_pct: 10.4, level: 0.9, basis: NoiseBasis::Repeats };
        assert_eq!(range(&gain), "−2.5 to +10.4 %");
    }

    #[test]
    fn what_would_decide_is_said() {
        let noise =
            |more_runs| Noise { spread_pct: 3.0, repeats: 3, default_repeats: 3, visible_gain_pct: 5.0, more_runs };
        assert_eq!(undecided(Some(&noise(MoreRuns::Decided))), "");
        assert!(undecided(Some(&noise(MoreRuns::Runs(5)))).contains("5 more runs"));
        assert!(undecided(Some(&noise(MoreRuns::OutOfReach))).contains("too small"));
        assert!(undecided(None).contains("Nothing tells"));
    }
}
