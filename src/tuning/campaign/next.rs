//! Which launch of a campaign comes next.
//!
//! First the default warms the clocks of each scale. Then the search: the default, and always the launch from which the
//! planner expects the most, over all collectives and scales; the default again among them, so that a drift is seen.
//! Where nothing is left that is worth a launch, or the budget would not do for more, what is to be deployed and the
//! default are repeated until each was measured [`CampaignSettings::repeats`] times, and what is tied with it as often
//! as that may decide. The launches of the A/B are kept for it, but where there is nothing to deploy yet, they serve
//! the search as well, up to those without which no A/B could confirm what it finds. Nothing is remembered besides the
//! journal and the logs.

use super::{
    CampaignSettings, Job,
    journal::{Journal, JournalEntry, LaunchOutcome, Phase, Requested},
};
use crate::{
    collective::Configuration,
    progress::Progress,
    tuning::{
        ab::script::{AbArm, balanced_order},
        decision::Decision,
        loaded::LoadedTuning,
        plan::{PlanQuestion, PlannedLaunch, Reason},
        result::Recommendation,
        study::TuningStudyError,
        sweep::Sweep,
    },
};

/// The default is launched again after this many other launches of a job.
const REFERENCE_EVERY: usize = 6;

/// The most launches of one configuration.
const MAX_REPEATS: u32 = 9;

/// The runs of each arm without which an A/B judges no rule.
const LEAST_AB_RUNS: u32 = 3;

/// The launches of the default that may fail in a row before the campaign gives up.
const MAX_FAILED_DEFAULTS: usize = 2;

/// A launch that is to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct NextLaunch {
    /// The part of the campaign.
    pub phase: Phase,
    /// The collective and scale whose program is launched.
    pub job: Job,
    /// What is asked of the library.
    pub requested: Requested,
    /// Which launch of the same request in the same phase, from 1.
    pub repeat: u32,
    /// Why it is made, in a sentence.
    pub why: String,
    /// The expected gain of busbw in per cent; `None` where none was estimated.
    pub expected_pct: Option<f64>,
}

/// What the search does next.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchStep {
    /// This launch is worth making, or needed.
    Launch(NextLaunch),
    /// Nothing more, for these reasons.
    Done(Vec<String>),
}

/// How many more launches a budget allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchesLeft(pub Option<u32>);

impl LaunchesLeft {
    /// By launches and by time, at the mean time of the last launches.
    pub fn new(settings: &CampaignSettings, journal: &Journal) -> Self {
        let made = u32::try_from(journal.entries.len()).unwrap_or(u32::MAX);
        let by_count = settings.budget.launches.map(|most| most.saturating_sub(made));
        let each = seconds_each(journal);
        let by_time = settings.budget.seconds.and_then(|most| {
            let left = (most - journal.seconds()).max(0.0);
            // Before the first launch nothing is known of how long one takes.
            (each > 0.0).then_some((left / each) as u32)
        });
        Self(by_count.into_iter().chain(by_time).min())
    }

    fn is_within(self, launches: u32) -> bool {
        self.0.is_none_or(|left| launches <= left)
    }
}

/// How long a launch takes, in seconds: the mean of the last ones; 0 before the first.
fn seconds_each(journal: &Journal) -> f64 {
    /// The number of launches that the mean is taken over.
    const LAST: usize = 10;
    let last = &journal.entries[journal.entries.len().saturating_sub(LAST)..];
    last.iter().map(|entry| entry.seconds).sum::<f64>() / last.len().max(1) as f64
}

/// How long a campaign goes on at most, in seconds; `None` without a budget, or before a launch took any time.
pub fn time_left_s(settings: &CampaignSettings, journal: &Journal) -> Option<f64> {
    let LaunchesLeft(launches) = LaunchesLeft::new(settings, journal);
    let each = seconds_each(journal);
    let by_launches = f64::from(launches.filter(|_| each > 0.0)?) * each;
    let by_budget = settings.budget.seconds.map_or(f64::INFINITY, |most| (most - journal.seconds()).max(0.0));
    Some(by_launches.min(by_budget))
}

/// The launches that the A/B of a campaign takes, with the one of the trimmed file.
pub fn ab_launches(settings: &CampaignSettings) -> u32 {
    let arms = 3 + 2;
    settings.ab.as_ref().map_or(0, |ab| arms * ab.repeats * settings.jobs.len() as u32)
}

/// The launches without which the A/B of a campaign can confirm nothing.
fn least_ab_launches(settings: &CampaignSettings) -> u32 {
    settings.ab.as_ref().map_or(0, |ab| 3 * ab.repeats.min(LEAST_AB_RUNS) * settings.jobs.len() as u32)
}

/// Whether there is something to deploy: a configuration of a job that is tuned, whose gain over the default is beyond
/// noise.
///
/// # Errors
/// Returns an error if the trained model can't be evaluated.
pub fn has_gain(settings: &CampaignSettings, loaded: &LoadedTuning) -> Result<bool, TuningStudyError> {
    let is_tuned = |r: &Recommendation| {
        settings.jobs.iter().any(|job| (job.collective, job.scale) == (r.workload.collective, r.workload.scale))
    };
    Ok(loaded.study.to_deploy()?.iter().any(|r| r.decision == Decision::Deploy && is_tuned(r)))
}

/// What the search of a campaign does next. `loaded` are the measurements of its logs; `None` before there are any.
/// `elsewhere` are those of earlier campaigns, which say only what to expect.
///
/// # Errors
/// Returns an error if nothing can be planned from the measurements.
pub fn search(
    settings: &CampaignSettings,
    journal: &Journal,
    loaded: Option<&LoadedTuning>,
    elsewhere: Option<&Sweep>,
    progress: &mut dyn Progress,
) -> Result<SearchStep, TuningStudyError> {
    let state = SearchState { settings, journal, loaded, elsewhere };
    let left = LaunchesLeft::new(settings, journal);
    if !left.is_within(1) {
        return Ok(SearchStep::Done(vec!["The budget allows no further launch".to_owned()]));
    }
    for job in &settings.jobs {
        if let Some(launch) = state.warm_up(*job) {
            return Ok(SearchStep::Launch(launch));
        }
        match state.first_default(*job) {
            Ok(Some(launch)) => return Ok(SearchStep::Launch(launch)),
            Ok(None) => {}
            Err(why) => return Ok(SearchStep::Done(vec![why])),
        }
    }
    let Some(loaded) = loaded else {
        return Ok(SearchStep::Done(vec!["No launch of the default left a table that can be read".to_owned()]));
    };
    let mut why = Vec::new();
    let wanted = state.wanted(loaded)?;
    let missing: u32 = wanted.iter().map(|(_, _, launches)| launches).sum();
    let may_deploy = state.may_deploy(loaded)?;
    let is_searched = left.is_within(missing + 1 + ab_launches(settings));
    if is_searched {
        match state.most_gain(loaded, progress)? {
            Ok(launch) => return Ok(SearchStep::Launch(launch)),
            Err(notes) => why.extend(notes),
        }
    } else {
        let rest = match may_deploy {
            true => "The rest of the budget is for repeating what is to be deployed, and for the A/B",
            false => "The rest of the budget would do for an A/B alone, and nothing is to be deployed",
        };
        why.push(rest.to_owned());
    }
    let reserve = if may_deploy { ab_launches(settings) } else { least_ab_launches(settings) };
    if !left.is_within(1 + reserve) {
        return Ok(SearchStep::Done(why));
    }
    if let Some(launch) = settings.jobs.iter().find_map(|job| state.reference(*job, Phase::Confirm)) {
        return Ok(SearchStep::Launch(launch));
    }
    let confirmed =
        wanted.into_iter().max_by_key(|(_, requested, launches)| (*launches, *requested == Requested::Default));
    if let Some((job, requested, _)) = confirmed {
        let times = settings.repeats;
        let what = match requested {
            Requested::Default => "The default",
            _ => "To be deployed",
        };
        let why = format!("{what}: to be measured {times} times");
        return Ok(SearchStep::Launch(state.launch(Phase::Confirm, job, requested, why)));
    }
    if !is_searched {
        match state.most_gain(loaded, progress)? {
            Ok(launch) => return Ok(SearchStep::Launch(launch)),
            Err(notes) => why = notes,
        }
    }
    for job in &settings.jobs {
        if let Some(launch) = state.tie(*job, loaded, progress)? {
            return Ok(SearchStep::Launch(launch));
        }
    }
    Ok(SearchStep::Done(why))
}

/// The next launch of an A/B in a balanced order; `None` where all were made. `phase` is one of the two A/Bs. A launch
/// with the tuner file that failed is made again: without it nothing is known of the file.
pub fn ab(settings: &CampaignSettings, journal: &Journal, phase: Phase) -> Option<NextLaunch> {
    let repeats = settings.ab.as_ref()?.repeats;
    let state = SearchState { settings, journal, loaded: None, elsewhere: None };
    settings.jobs.iter().find_map(|job| {
        let order = balanced_order(repeats, settings.seed);
        // The empty file was compared already.
        let arms = order.into_iter().filter(|(arm, _)| phase == Phase::Ab || *arm != AbArm::Empty);
        let requested = |arm: AbArm| match arm {
            AbArm::Default => Requested::Default,
            AbArm::Conf => Requested::TunerFile,
            AbArm::Empty => Requested::EmptyTunerFile,
        };
        let is_made = |requested: Requested, repeat: u32| {
            let mut own =
                journal.of(*job, phase).filter(|entry| (entry.requested, entry.repeat) == (requested, repeat));
            own.any(|entry| requested != Requested::TunerFile || entry.outcome == LaunchOutcome::Measured)
        };
        arms.map(|(arm, repeat)| (requested(arm), repeat)).find(|(arm, repeat)| !is_made(*arm, *repeat)).map(
            |(arm, repeat)| {
                let why = match arm {
                    Requested::Default => "Without a tuner file",
                    Requested::EmptyTunerFile => "What an empty tuner file costs",
                    _ => "With the tuner file",
                };
                NextLaunch { repeat, ..state.launch(phase, *job, arm, why.to_owned()) }
            },
        )
    })
}

#[derive(Clone, Copy)]
struct SearchState<'a> {
    settings: &'a CampaignSettings,
    journal: &'a Journal,
    loaded: Option<&'a LoadedTuning>,
    elsewhere: Option<&'a Sweep>,
}

impl SearchState<'_> {
    fn launch(&self, phase: Phase, job: Job, requested: Requested, why: String) -> NextLaunch {
        let made = self.journal.of(job, phase).filter(|entry| entry.requested == requested).count();
        NextLaunch { phase, job, requested, repeat: made as u32 + 1, why, expected_pct: None }
    }

    fn warm_up(&self, job: Job) -> Option<NextLaunch> {
        let made = self.journal.of(job, Phase::WarmUp).count() as u32;
        let why = "Warms the clocks and counts for nothing: the first launches on cold clocks are low";
        (made < self.settings.warm_ups).then(|| self.launch(Phase::WarmUp, job, Requested::Default, why.to_owned()))
    }

    /// The default, where it was never measured. The error is why the campaign can't go on.
    fn first_default(&self, job: Job) -> Result<Option<NextLaunch>, String> {
        let is_measured = self.journal.measured(job, Requested::Default) > 0;
        if is_measured && self.loaded.is_some() {
            return Ok(None);
        }
        let failed = self.journal.of(job, Phase::Search).filter(|entry| entry.requested == Requested::Default);
        let failed: Vec<_> = failed.collect();
        if failed.len() >= MAX_FAILED_DEFAULTS {
            let why = failed.last().and_then(|entry| entry.outcome.failure());
            let why = why.unwrap_or_else(|| "its log has no table that can be read".to_owned());
            return Err(format!("The default of {job} can't be measured: {why}"));
        }
        let why = "The default, without which no gain can be told".to_owned();
        Ok(Some(self.launch(Phase::Search, job, Requested::Default, why)))
    }

    /// The default beside the others, where it was last launched long ago.
    fn reference(&self, job: Job, phase: Phase) -> Option<NextLaunch> {
        let counts = |entry: &&JournalEntry| entry.job == job && entry.phase.counts();
        let latest = self.journal.entries.iter().rev().filter(counts);
        let since = latest.take_while(|entry| entry.requested != Requested::Default).count();
        let why = "Beside the others, to tell the day from the configuration".to_owned();
        (since >= REFERENCE_EVERY).then(|| self.launch(phase, job, Requested::Default, why))
    }

    /// The configurations of a job that were launched, one for each launch, and those that are excluded.
    fn launched(&self, job: Job) -> Vec<Configuration> {
        let launched =
            self.journal.entries.iter().filter(|entry| entry.job == job).filter_map(|entry| match entry.requested {
                Requested::Configuration(configuration) => Some(configuration),
                _ => None,
            });
        launched.chain(self.settings.excluded.iter().copied()).collect()
    }

    fn plan(
        &self,
        job: Job,
        loaded: &LoadedTuning,
        progress: &mut dyn Progress,
    ) -> Result<(Vec<PlannedLaunch>, Vec<String>), TuningStudyError> {
        let told = loaded.platform().unwrap_or_default();
        let given = self.settings.platform;
        let platform = crate::tuning::platform::Platform {
            version: given.version.or(told.version),
            gpu: given.gpu.or(told.gpu),
            ..given
        };
        let question = PlanQuestion {
            of: Some((job.collective, job.scale)),
            // One more launch than is made: a tie comes only after the gains.
            runs: 2,
            repeats: 1,
            worth: self.settings.worth,
            channels: self.settings.channels.clone(),
            launched: self.launched(job),
            platform: Some(platform),
            seed: self.settings.seed,
            ..PlanQuestion::default()
        };
        let answer = loaded.plan(&question, self.elsewhere, progress)?;
        Ok((answer.items, answer.notes))
    }

    /// The launch from which the most is expected, or why none is worth it.
    fn gain(
        &self,
        job: Job,
        loaded: &LoadedTuning,
        progress: &mut dyn Progress,
    ) -> Result<Result<NextLaunch, Vec<String>>, TuningStudyError> {
        let (items, _) = self.plan(job, loaded, progress)?;
        let found = items.into_iter().find(|item| item.reason == Reason::Gain).and_then(|item| {
            let launch = self.launch(Phase::Search, job, Requested::Configuration(item.configuration?), item.why);
            Some(NextLaunch { expected_pct: item.expected_pct, ..launch })
        });
        let why = || format!("{job}: {}", self.settings.worth.end());
        Ok(found.ok_or_else(|| vec![why()]))
    }

    /// The launch from which the most is expected over all jobs, the default first where it is due; or why none is
    /// worth it.
    fn most_gain(
        &self,
        loaded: &LoadedTuning,
        progress: &mut dyn Progress,
    ) -> Result<Result<NextLaunch, Vec<String>>, TuningStudyError> {
        let worth = |launch: &NextLaunch| launch.expected_pct.unwrap_or(f64::INFINITY);
        let (mut best, mut why): (Option<NextLaunch>, Vec<String>) = (None, Vec::new());
        for job in &self.settings.jobs {
            if let Some(launch) = self.reference(*job, Phase::Search) {
                return Ok(Ok(launch));
            }
            match self.gain(*job, loaded, progress)? {
                Ok(launch) if best.as_ref().is_none_or(|best| worth(&launch) > worth(best)) => best = Some(launch),
                Ok(_) => {}
                Err(notes) => why.extend(notes),
            }
        }
        Ok(best.ok_or(why))
    }

    /// Whether there is something to deploy, or the model was not asked yet.
    fn may_deploy(&self, loaded: &LoadedTuning) -> Result<bool, TuningStudyError> {
        Ok(loaded.study.recommendations().is_empty() || has_gain(self.settings, loaded)?)
    }

    /// What is to be deployed and the default, where they were measured too few times, with the launches that are
    /// missing.
    fn wanted(&self, loaded: &LoadedTuning) -> Result<Vec<(Job, Requested, u32)>, TuningStudyError> {
        let deployed = loaded.study.to_deploy()?;
        let mut wanted = Vec::new();
        for job in &self.settings.jobs {
            let own = deployed
                .iter()
                .filter(|r| (r.workload.collective, r.workload.scale) == (job.collective, job.scale))
                .filter_map(|r| r.configuration);
            let mut requested: Vec<Requested> = own.map(Requested::Configuration).collect();
            requested.push(Requested::Default);
            requested.sort_unstable();
            requested.dedup();
            for requested in requested {
                let measured = self.journal.measured(*job, requested);
                let missing = self.settings.repeats.saturating_sub(measured);
                let attempts =
                    self.journal.of(*job, Phase::Confirm).filter(|entry| entry.requested == requested).count();
                // What never left a measurement is tried once; what did may fail now and then.
                let most = if measured == 0 { 1 } else { 2 * self.settings.repeats };
                if missing > 0 && (attempts as u32) < most {
                    wanted.push((*job, requested, missing));
                }
            }
        }
        Ok(wanted)
    }

    fn tie(
        &self,
        job: Job,
        loaded: &LoadedTuning,
        progress: &mut dyn Progress,
    ) -> Result<Option<NextLaunch>, TuningStudyError> {
        let (items, _) = self.plan(job, loaded, progress)?;
        let ties = items.into_iter().filter(|item| item.reason == Reason::Tie);
        let launches = ties.filter_map(|item| {
            let requested = Requested::Configuration(item.configuration?);
            let launch = self.launch(Phase::Confirm, job, requested, item.why);
            Some(NextLaunch { expected_pct: item.expected_pct, ..launch })
        });
        let is_within = |launch: &NextLaunch| {
            let made = self.journal.of(job, Phase::Confirm).filter(|entry| entry.requested == launch.requested).count();
            (made as u32) < MAX_REPEATS
        };
        Ok(launches.into_iter().find(is_within))
    }
}
