//! Whether what was deployed before still holds after.

use serde::{Deserialize, Serialize};

use super::{
    ChangeVerdict,
    family::{Estimate, Family},
    paired::WorkloadPair,
    state::{MIN_RUNS, MeasuredArm, MeasuredState},
};
use crate::{
    collective::{Configuration, Workload},
    math::exp,
    report::snapshot::DeployedChoice,
    tuning::{
        aggregate::Point,
        decision::{Decision, MAX_LOSS_FOR_FEWER_CHANNELS},
        parameters::Confidence,
    },
};

/// What was deployed at a workload, and whether it should stay deployed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeployedCheck {
    /// The collective, scale and message size of the rule.
    pub workload: Workload,
    /// The configuration or default that was deployed.
    pub deployed: DeployedChoice,
    /// What would run in words, where a tuner file leaves algorithm, protocol or channels open.
    pub effect: Option<String>,
    /// Its bus bandwidth in the state after, in GB/s.
    pub busbw_gbps: Option<f64>,
    /// Whether it should stay deployed.
    #[serde(rename = "stands")]
    pub status: DeployedStatus,
}

impl DeployedCheck {
    /// The time of one operation after, in µs.
    pub fn time_us(&self) -> Option<f64> {
        self.workload.time_us(self.busbw_gbps?)
    }
}

/// How what was deployed compares with everything that was measured after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum DeployedStatus {
    /// Nothing that was measured is faster.
    Best,
    /// It can't be told apart from the best, or lies as little below it as is given away for fewer channels.
    Tied,
    /// The library's default is faster beyond noise now: the default over it, in per cent of it.
    SlowerThanDefault {
        /// The measured difference in per cent of what is deployed.
        pct: f64,
    },
    /// Something else is faster beyond noise: that over it, in per cent of it.
    Beaten {
        /// The configuration that is faster.
        by: Configuration,
        /// The measured difference in per cent of what is deployed.
        pct: f64,
    },
    /// The state after did not measure it.
    NotMeasured,
    /// The noise is not known, or what runs is not.
    CantTell,
}

impl DeployedStatus {
    /// Whether it may stay deployed.
    pub const fn holds(&self) -> bool {
        matches!(self, Self::Best | Self::Tied)
    }

    /// Something else should be deployed.
    pub const fn fails(&self) -> bool {
        matches!(self, Self::SlowerThanDefault { .. } | Self::Beaten { .. })
    }
}

/// A standing of which it is not known yet whether the default is faster.
pub struct DeployedCheckDraft {
    deployed_check: DeployedCheck,
    /// Of what is deployed over the default, after.
    over_default: Option<Estimate>,
}

/// How something deployed stands, but for the default, which is compared with all others at once.
pub fn draft(
    at: &WorkloadPair<'_>,
    after: &MeasuredState<'_>,
    deployed: DeployedChoice,
    confidence: Confidence,
    family: &mut Family,
) -> Option<DeployedCheckDraft> {
    let workload = *at.workload();
    let arm = match deployed {
        DeployedChoice::Unknown => return None,
        DeployedChoice::Default => MeasuredArm::Default,
        DeployedChoice::Configuration(configuration) => MeasuredArm::Asked(configuration),
    };
    let measured = after.point(&workload, arm);
    let over_default = match arm {
        MeasuredArm::Asked(_) if measured.is_some() => at.lead(family, arm, MeasuredArm::Default),
        _ => None,
    };
    let status = match measured {
        None => DeployedStatus::NotMeasured,
        Some(point) => among_others(after, &workload, arm, point, confidence),
    };
    let busbw_gbps = measured.map(|point| point.busbw_gbps);
    Some(DeployedCheckDraft {
        deployed_check: DeployedCheck { workload, deployed, effect: None, busbw_gbps, status },
        over_default,
    })
}

/// How a measurement stands among all configurations that were asked for; the default against the one that would be
/// deployed instead.
fn among_others(
    after: &MeasuredState<'_>,
    workload: &Workload,
    arm: MeasuredArm,
    own: &Point,
    confidence: Confidence,
) -> DeployedStatus {
    let points: Vec<&Point> = after.sweep.points_at(workload).iter().collect();
    let judged = after.judge(confidence).judge(&points, after.sweep.default_at(workload), None);
    let Some(judged) = judged else { return DeployedStatus::Best };
    if judged.noise.is_none() || own.repeats < MIN_RUNS {
        return DeployedStatus::CantTell;
    }
    let beaten = |by: &Point| DeployedStatus::Beaten {
        by: by.configuration,
        pct: (by.busbw_gbps / own.busbw_gbps - 1.0) * 100.0,
    };
    let best = points.iter().max_by(|a, b| a.busbw_gbps.total_cmp(&b.busbw_gbps));
    let is_highest = best.is_none_or(|best| best.busbw_gbps <= own.busbw_gbps);
    match arm {
        MeasuredArm::Default if judged.decision == Decision::Deploy => beaten(judged.choice),
        _ if is_highest => DeployedStatus::Best,
        MeasuredArm::Default => DeployedStatus::Tied,
        MeasuredArm::Asked(configuration) => {
            let runs_as = points.iter().zip(&judged.same_as).find(|(point, _)| point.configuration == configuration);
            // So much was given away for fewer channels when it was chosen.
            let is_near =
                best.is_some_and(|best| own.busbw_gbps >= best.busbw_gbps * (1.0 - MAX_LOSS_FOR_FEWER_CHANNELS));
            let is_tied = is_near || runs_as.is_some_and(|(_, same)| judged.tied.contains(same));
            if is_tied { DeployedStatus::Tied } else { best.map_or(DeployedStatus::Best, |best| beaten(best)) }
        }
    }
}

impl DeployedCheckDraft {
    /// The standing, once all are compared with the default; `verdict` judges a difference.
    pub fn finish(mut self, verdict: impl Fn(Estimate) -> ChangeVerdict) -> DeployedCheck {
        if let Some(over_default) = self.over_default
            && verdict(over_default) == ChangeVerdict::Slower
        {
            self.deployed_check.status =
                DeployedStatus::SlowerThanDefault { pct: (exp(-over_default.ln_ratio) - 1.0) * 100.0 };
        }
        self.deployed_check
    }
}
