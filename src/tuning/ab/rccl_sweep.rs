//! The verdict of rccl-sweep's authors, rule by rule, as their validate_tuner_config.py gives it.
//!
//! It is shown beside ours for comparison, and has known flaws: gain and psup may come from different sizes of a rule,
//! a difference in the last printed decimal can cross a limit, and sizes that are missing in one arm are ignored.

use super::{outcome::RuleVerdict, read::Trial};

/// In per cent: a rule with a size that is slower by more than this is a "landmine", and a rule whose best gain is less
/// than this is dropped.
const LIMIT_PCT: f64 = 2.0;
/// A rule whose best psup is below this is dropped.
const PSUP: f64 = 0.95;

/// Judges a rule by the trials of its sizes.
pub fn verdict(trials: &[&Trial]) -> RuleVerdict {
    let gains = trials.iter().filter_map(|trial| trial.gain_pct());
    let (worst, best) = gains.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), g| (low.min(g), high.max(g)));
    let psup = trials.iter().filter_map(|trial| trial.psup()).fold(0.0, f64::max);
    if best < worst {
        RuleVerdict::Drop("no size was measured".to_owned())
    } else if worst < -LIMIT_PCT {
        RuleVerdict::Drop(format!("contains a regression of {worst:.1}% (landmine)"))
    } else if best < LIMIT_PCT {
        RuleVerdict::Drop(format!("best gain only {best:.1}%"))
    } else if psup < PSUP {
        RuleVerdict::Drop(format!("best P(sup) only {psup:.2}"))
    } else {
        RuleVerdict::Keep
    }
}
