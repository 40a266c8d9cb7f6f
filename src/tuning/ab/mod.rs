//! A/B: runs with the library's default against runs with a tuner file, and which of its rules to keep.
//!
//! [`read`] turns a campaign's per-size file into trials, [`rank`] says how likely their difference is by chance,
//! [`rules`] finds the ranges of a tuner file, [`rccl_sweep`] judges them as rccl-sweep's authors do, [`verdict`]
//! judges them without the flaws of that, [`trim`] writes what is left of the file, [`script`] writes the next
//! campaign, and [`listing`] shows it all. [`arms`] makes per-size files of a campaign's logs, [`outcome`] is what
//! becomes of a rule.

pub(crate) mod arms;
pub(crate) mod listing;
mod outcome;
mod rank;
mod rccl_sweep;
pub mod read;
pub mod rules;
pub mod script;
pub mod trim;
pub mod verdict;

use serde::{Deserialize, Serialize};

use crate::{
    collective::Collective,
    conf::ncclx,
    plot::Chart,
    text::{Listing, Problems},
};

/// The settings with which an A/B campaign is judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AbQuestion {
    /// Which loaded comparison, by its file's number; `None`: the first.
    pub file: Option<u32>,
    /// Whose rules are judged, by the file's number; `None`: the first conf, or each size by itself without one.
    pub conf: Option<u32>,
    /// The collective, which a per-size file does not name; `None`: by the file's name, else that of the rules.
    pub collective: Option<Collective>,
    /// Ranks over all nodes, which a per-size file does not say; `None`: as the rules say.
    pub ranks: Option<u32>,
    /// When a rule is kept.
    pub limits: verdict::Limits,
}

/// A judged comparison, as the page shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AbAnswer {
    /// Why nothing can be concluded from the campaign; `None` where something can.
    pub void: Option<String>,
    /// Notes on the campaign: sizes that one arm lacks, biases, disturbed runs.
    pub notes: Vec<String>,
    /// Lines that could not be used.
    pub problems: Problems,
    /// The rules in the order of the tuner file. Not sent to the page, which shows the verdicts and the listing.
    #[serde(skip)]
    pub rules: Vec<verdict::JudgedRule>,
    /// The effect of the second arm at each size, also where it has no rule. Not sent to the page, which shows the
    /// listing.
    #[serde(skip)]
    pub effects: Vec<verdict::SizeEffect>,
    /// The verdict on each rule, in the order of the tuner file.
    pub verdicts: Vec<outcome::RuleVerdict>,
    /// The table of rules: the verdict beside that of rccl-sweep's rule.
    pub by_rule: Listing,
    /// The table of measured sizes, a row for each.
    pub by_size: Listing,
    /// Gain over size, with intervals.
    pub chart: Option<Chart>,
    /// The trimmed conf; `None` where no conf with rules was judged.
    pub trimmed: Option<String>,
}

/// Judges a campaign: `text` is its per-size file, `name` that file's name, `conf` the tuner file that its second arm
/// ran.
pub fn judge(text: &str, name: &str, conf: Option<&[u8]>, question: &AbQuestion) -> AbAnswer {
    let mut campaign = read::read(text);
    let is_ncclx = conf.is_some_and(ncclx::is_ncclx);
    let conf = conf.filter(|_| !campaign.is_empty_conf && !is_ncclx);
    let known = conf.map(rules::of_conf);
    let has_no_rule = known.as_ref().is_some_and(Vec::is_empty);
    let known = known.filter(|rules| !rules.is_empty());
    // Sizes under a file without rules are measured, and nothing is there to be kept or dropped.
    let has_rules = !campaign.is_empty_conf && !has_no_rule;
    let given = question.collective;
    let contradicts = given.zip(campaign.collective).filter(|(given, own)| given != own);
    let collective = campaign
        .collective
        .or(given)
        .or_else(|| rules::collective_of_name(name))
        .or_else(|| rules::only_collective(known.as_deref().unwrap_or_default()));
    let ranges = known.unwrap_or_else(|| rules::each_size(&campaign));
    let nodes = campaign.trials.first().and_then(|trial| trial.nodes);
    let ranks = || question.ranks.or_else(|| rules::only_ranks(&ranges, collective, nodes));
    campaign.ranks = campaign.ranks.or_else(ranks);
    let mut judgement = verdict::judge(&campaign, &ranges, collective, question.limits);
    let (by_size, chart) = (listing::by_size(&campaign, collective, &judgement), listing::chart(&judgement));
    let effects = judgement.rules.iter().flat_map(|judged| judged.effects.iter().copied()).collect();
    if !has_rules {
        judgement.rules.clear();
    }
    if let Some((given, own)) = contradicts {
        judgement.notes.push(format!("These logs are of {own}: {given}, which is given, is not used"));
    }
    let tells_no_time = |trial: &read::Trial| campaign.times_us(collective, trial) == [None; 2];
    if !campaign.trials.is_empty() && campaign.trials.iter().all(tells_no_time) {
        let what = if collective.is_none() { "the collective" } else { "how many ranks ran" };
        judgement.notes.push(format!("Neither the campaign nor the tuner file says {what}: no times can be told"));
    }
    if let (Some(given), Some(own)) = (question.ranks, campaign.ranks)
        && given != own
    {
        judgement.notes.push(format!("These logs are of {own} ranks: {given}, which is given, is not used"));
    }
    if is_ncclx {
        judgement.notes.push(
            "The tuner file is one of NCCLX, whose rules are not judged here: each size is judged by itself".to_owned(),
        );
    }
    if has_no_rule {
        judgement.notes.push("The tuner file has no rule: there is nothing to keep or to drop".to_owned());
    }
    let is_kept = |judged: &verdict::JudgedRule| judged.verdict == outcome::RuleVerdict::Keep;
    let trimmed = conf.filter(|_| has_rules).map(|conf| trim::trim(conf, &judgement));
    if trimmed.is_some() && !campaign.trials.is_empty() && !judgement.rules.iter().any(is_kept) {
        judgement.notes.push(
            "No rule is kept: deploy no tuner file. With NVIDIA's example a file without rules runs every collective on \
             one channel"
                .to_owned(),
        );
    }
    AbAnswer {
        by_rule: listing::by_rule(&judgement.rules),
        by_size,
        chart,
        effects,
        trimmed,
        void: judgement.void,
        notes: judgement.notes,
        problems: campaign.problems,
        verdicts: judgement.rules.iter().map(|rule| rule.verdict.clone()).collect(),
        rules: judgement.rules,
    }
}
