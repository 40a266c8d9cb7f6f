//! Whether what was deployed before still holds after.

use serde::{Deserialize, Serialize};

use super::{
    Verdict,
    family::{Estimate, Family},
    paired::Match,
    side::{LEAST_RUNS, State, What},
};
use crate::{
    collective::{Configuration, Workload},
    math::exp,
    tuning::{
        aggregate::Point,
        decision::{Decision, GIVEN_AWAY},
        parameters::Confidence,
        snapshot::Deployed,
    },
};

/// What was deployed at a workload, and how it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Where.
    pub workload: Workload,
    /// What was deployed.
    pub deployed: Deployed,
    /// What would run, where that is no configuration: of a tuner file that leaves something open.
    pub effect: Option<String>,
    /// Its busbw after, in GB/s.
    pub busbw_gbps: Option<f64>,
    /// How it stands.
    pub stands: Stands,
}

impl Standing {
    /// The time of one operation after, in µs.
    #[must_use]
    pub fn time_us(&self) -> Option<f64> {
        self.workload.time_us(self.busbw_gbps?)
    }
}

/// How what was deployed stands after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Stands {
    /// Nothing that was measured is faster.
    Best,
    /// It can't be told apart from the best, or lies as little below it as is given away for fewer channels.
    Tied,
    /// The library's default is faster beyond noise now: the default over it, in per cent of it.
    SlowerThanDefault {
        /// What was measured.
        pct: f64,
    },
    /// Something else is faster beyond noise: that over it, in per cent of it.
    Beaten {
        /// What is faster.
        by: Configuration,
        /// What was measured.
        pct: f64,
    },
    /// It was not measured after.
    NotMeasured,
    /// Nothing tells the noise, or not what runs.
    CantTell,
}

impl Stands {
    /// It may stay deployed.
    #[must_use]
    pub const fn holds(&self) -> bool {
        matches!(self, Self::Best | Self::Tied)
    }

    /// Something else should be deployed.
    #[must_use]
    pub const fn fails(&self) -> bool {
        matches!(self, Self::SlowerThanDefault { .. } | Self::Beaten { .. })
    }
}

/// A standing of which it is not known yet whether the default is faster.
pub struct Draft {
    standing: Standing,
    /// Of what is deployed over the default, after.
    over_default: Option<Estimate>,
}

/// How something deployed stands, but for the default, which is compared with all others at once.
#[must_use]
pub fn draft(
    at: &Match<'_>,
    after: &State<'_>,
    deployed: Deployed,
    confidence: Confidence,
    family: &mut Family,
) -> Option<Draft> {
    let workload = *at.workload();
    let what = match deployed {
        Deployed::Unknown => return None,
        Deployed::Default => What::Default,
        Deployed::Configuration(configuration) => What::Asked(configuration),
    };
    let measured = after.point(&workload, what);
    let over_default = match what {
        What::Asked(_) if measured.is_some() => at.lead(family, what, What::Default),
        _ => None,
    };
    let stands = match measured {
        None => Stands::NotMeasured,
        Some(point) => among_others(after, &workload, what, point, confidence),
    };
    let busbw_gbps = measured.map(|point| point.busbw_gbps);
    Some(Draft { standing: Standing { workload, deployed, effect: None, busbw_gbps, stands }, over_default })
}

/// How a measurement stands among all configurations that were asked for; the default against the one that would be
/// deployed instead.
fn among_others(after: &State<'_>, workload: &Workload, what: What, own: &Point, confidence: Confidence) -> Stands {
    let points: Vec<&Point> = after.sweep.points_at(workload).iter().collect();
    let judged = after.judge(confidence).judge(&points, after.sweep.default_at(workload), None);
    let Some(judged) = judged else { return Stands::Best };
    if judged.noise.is_none() || own.repeats < LEAST_RUNS {
        return Stands::CantTell;
    }
    let beaten =
        |by: &Point| Stands::Beaten { by: by.configuration, pct: (by.busbw_gbps / own.busbw_gbps - 1.0) * 100.0 };
    let best = points.iter().max_by(|a, b| a.busbw_gbps.total_cmp(&b.busbw_gbps));
    let is_highest = best.is_none_or(|best| best.busbw_gbps <= own.busbw_gbps);
    match what {
        What::Default if judged.decision == Decision::Deploy => beaten(judged.choice),
        _ if is_highest => Stands::Best,
        What::Default => Stands::Tied,
        What::Asked(configuration) => {
            let runs_as = points.iter().zip(&judged.same_as).find(|(point, _)| point.configuration == configuration);
            // So much was given away for fewer channels when it was chosen.
            let is_near = best.is_some_and(|best| own.busbw_gbps >= best.busbw_gbps * (1.0 - GIVEN_AWAY));
            let is_tied = is_near || runs_as.is_some_and(|(_, same)| judged.tied.contains(same));
            if is_tied { Stands::Tied } else { best.map_or(Stands::Best, |best| beaten(best)) }
        }
    }
}

impl Draft {
    /// The standing, once all are compared with the default; `verdict` judges a difference.
    #[must_use]
    pub fn finish(mut self, verdict: impl Fn(Estimate) -> Verdict) -> Standing {
        if let Some(over_default) = self.over_default
            && verdict(over_default) == Verdict::Slower
        {
            self.standing.stands = Stands::SlowerThanDefault { pct: (exp(-over_default.ln_ratio) - 1.0) * 100.0 };
        }
        self.standing
    }
}
