//! Compares two measured states, such as before and after a new driver, firmware or cabling: what got slower or faster
//! beyond noise, and whether what was deployed is still right.
//!
//! [`state`] makes a [`Snapshot`] ready, [`passes`] brings the passes behind it to one level. [`overall`] computes the
//! change that everything has in common, [`paired`] compares each size relative to it, [`pooled`] takes all
//! configurations of a size together, [`relative`] names those that changed relative to the others. [`family`] makes
//! intervals that hold at once over all of it, [`resample`] draws campaigns in which nothing changed. [`deployment`]
//! compares what was deployed with what was measured after. [`listing`], [`chart`], [`words`] and [`export`] write it.

mod chart;
pub mod deployment;
mod export;
mod family;
mod listing;
mod overall;
mod paired;
mod passes;
mod placement;
mod pooled;
pub mod relative;
mod resample;
mod state;
mod words;

use serde::{Deserialize, Serialize};

use self::{
    deployment::{DeployedCheck, draft},
    family::{ChangeInterval, Estimate, Family, RawDifference, student_errors},
    overall::{MedianChange, OverallChange, median_change},
    paired::{CommonChange, WorkloadPair},
    placement::{SamePlacement, same_placement},
    pooled::SizeChanges,
    relative::RelativeChange,
    state::{MeasuredArm, MeasuredState},
};
use super::{
    conf::{Effect, Reader, Rule, choose},
    parameters::Confidence,
    platform::Library,
    support::SupportMatrix,
};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    math::{exp, ln},
    plot::Chart,
    report::snapshot::{DeployedChoice, Drift, Snapshot, SnapshotGroup},
    text::Listing,
};

/// The settings of a comparison of two measured states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareQuestion {
    /// The probability, in 0..1, with which all intervals hold at once, and so no change is reported between two equal
    /// campaigns.
    pub level: f64,
    /// The smallest change that matters, in per cent of busbw: the interval of a change must lie beyond it as a whole.
    pub least_pct: f64,
    /// In per cent: [`ChangeVerdict::NoChange`] needs that a change of this size would have been seen; else the verdict
    /// is [`ChangeVerdict::CantTell`].
    pub telling_pct: f64,
}

impl Default for CompareQuestion {
    fn default() -> Self {
        Self { level: 0.9, least_pct: 1.0, telling_pct: 5.0 }
    }
}

/// A tuner file that is deployed.
#[derive(Clone, Copy, Debug)]
pub struct DeployedConf<'a> {
    /// The rules of the file, as its reader finds them.
    pub rules: &'a [Rule],
    /// The tuner reader that reads the file.
    pub reader: Reader,
    /// The library whose rules say what can run.
    pub library: Library,
}

/// The result of a comparison, as the page shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompareAnswer {
    /// The findings in sentences, the most important first.
    pub summary: Vec<String>,
    /// Whether anything became slower by more than noise explains.
    pub got_slower: bool,
    /// Whether both sides measured anything in the same placement.
    pub has_common: bool,
    /// A row per size and thing compared.
    pub by_size: Listing,
    /// Whether what was deployed still holds, a row per size.
    #[serde(rename = "standing")]
    pub deployed_check: Listing,
    /// Sizes and configurations that only one side has.
    #[serde(rename = "apart")]
    pub unmatched: Listing,
    /// The change over size, for each collective and scale.
    pub charts: Vec<Chart>,
    /// Notes on other differences between the sides, and on assumptions.
    pub notes: Vec<String>,
    /// The changes in Markdown, for a pull request.
    pub markdown: String,
    /// The whole result as JSON.
    pub json: String,
}

/// The arms that a difference compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Subject {
    /// The default: the library chooses by itself.
    Default,
    /// The configuration that was deployed before, compared with itself.
    Deployed(Configuration),
    /// The highest of all arms that both sides measured.
    Best,
    /// The trimmed mean of the changes of all arms that both sides measured.
    All {
        /// How many there are, the default among them.
        of: usize,
    },
}

/// The conclusion that a difference and its interval allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeVerdict {
    /// Faster by more than noise and the smallest change that matters.
    Faster,
    /// Slower by more than noise and the smallest change that matters.
    Slower,
    /// No difference beyond noise, and a large one would have been seen.
    NoChange,
    /// Only a larger change would have been seen.
    CantTell,
}

/// One difference. Bandwidths are medians of busbw in GB/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The collective, scale and message size on both sides.
    pub workload: Workload,
    /// The arms that a difference compares.
    pub subject: Subject,
    /// The configuration that ran before; `None`: the default.
    pub ran_before: Option<Configuration>,
    /// The configuration that ran after; `None`: the default.
    pub ran_after: Option<Configuration>,
    /// busbw before; `None` of [`Subject::All`].
    pub before_gbps: Option<f64>,
    /// busbw after; `None` of [`Subject::All`].
    pub after_gbps: Option<f64>,
    /// after / before − 1 in per cent as it was measured; of [`Subject::All`] the trimmed mean.
    pub measured_pct: f64,
    /// The same less the [`OverallChange`] of its collective and scale, if there are enough sizes for one; for
    /// [`Subject::Best`] also less the bias of choosing the highest.
    pub change_pct: f64,
    /// The interval of [`Difference::change_pct`], which holds at once with all others; `None` where the noise is not
    /// known.
    pub interval_pct: Option<(f64, f64)>,
    /// The smallest change that would have been seen half of the time, in per cent.
    pub visible_pct: Option<f64>,
    /// Whether the change is beyond noise, and in which direction.
    pub verdict: ChangeVerdict,
}

impl Difference {
    /// The times of one operation before and after, in µs.
    pub fn times_us(&self) -> [Option<f64>; 2] {
        [self.before_gbps, self.after_gbps].map(|busbw_gbps| self.workload.time_us(busbw_gbps?))
    }
}

/// The results of a comparison as data, from which sentences and tables are made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareFindings {
    /// The overall change of each collective and scale that has at least [`overall::MIN_SIZES`] sizes in common.
    pub overall: Vec<OverallChange>,
    /// Differences at each size, less the overall change, by workload.
    pub differences: Vec<Difference>,
    /// Configurations that changed relative to the others, by collective and scale, those that changed at the most
    /// sizes first.
    pub relative: Vec<RelativeChange>,
    /// Whether what was deployed should stay deployed, by workload.
    pub deployed_checks: Vec<DeployedCheck>,
    /// The collectives and scales of which both sides hold the same runs, value by value; they are not compared.
    pub same: Vec<(Collective, Scale)>,
    /// The differences between passes that widened an interval, in per cent.
    pub drifts: Vec<(Collective, Scale, f64)>,
    /// Of which configurations wrong values came after, and not before, a sentence for each collective and scale.
    pub wrong_values: Vec<String>,
}

impl CompareFindings {
    /// Whether anything became slower by more than noise explains, or computes wrong values now.
    pub fn got_slower(&self) -> bool {
        !self.wrong_values.is_empty()
            || self.overall.iter().any(|overall| overall.verdict == ChangeVerdict::Slower)
            || self.differences.iter().any(|difference| difference.verdict == ChangeVerdict::Slower)
            || self.relative.iter().any(|relative| relative.relative_pct < 0.0)
    }
}

/// Compares two sides. `conf` is what is deployed; without it, the recommendations of the first side are.
pub fn compare(
    before: &Snapshot,
    after: &Snapshot,
    conf: Option<&DeployedConf<'_>>,
    question: &CompareQuestion,
) -> CompareAnswer {
    let SamePlacement { before, after, notes } = same_placement(before, after);
    let (before, after) = (&*before, &*after);
    let findings = find_differences(before, after, conf, question);
    let mut answer = CompareAnswer {
        summary: words::summary(&findings),
        got_slower: findings.got_slower(),
        by_size: listing::by_size(&findings.overall, &findings.differences, &findings.relative),
        deployed_check: listing::deployed_check(&findings.deployed_checks),
        unmatched: listing::unmatched(before, after),
        charts: chart::charts(&findings),
        notes: notes.into_iter().chain(words::notes(before, after, &findings, question)).collect(),
        has_common: after.workloads().any(|workload| before.at(&workload).is_some()),
        ..CompareAnswer::default()
    };
    answer.markdown = export::markdown(&answer, &findings);
    answer.json = export::json(&answer, &findings, question);
    answer
}

/// The share of the probability of a false alarm that is spent on overall changes. [`SHARE_OF_SIZES`] is spent on
/// differences at single sizes, and the rest on configurations that changed relative to the others.
const SHARE_OF_OVERALL: f64 = 0.2;
/// The share of the probability of a false alarm that is spent on differences at single sizes.
const SHARE_OF_SIZES: f64 = 0.5;

/// A workload that both sides measured.
struct ComparedWorkload<'a> {
    at: WorkloadPair<'a>,
    /// The arms that both states measured there; none where both hold the same runs.
    common: Vec<MeasuredArm>,
    is_same: bool,
}

/// Finds the changes between two states, as data.
pub fn find_differences(
    before: &Snapshot,
    after: &Snapshot,
    conf: Option<&DeployedConf<'_>>,
    question: &CompareQuestion,
) -> CompareFindings {
    let (old, new) = (MeasuredState::new(before), MeasuredState::new(after));
    let levelled = [before, after].map(passes::levelled);
    let [even_old, even_new] = [(&levelled[0], &old), (&levelled[1], &new)]
        .map(|(snapshot, measured)| snapshot.as_ref().map(|snapshot| MeasuredState::levelled(snapshot, measured)));
    let (even_old, even_new) = (even_old.as_ref().unwrap_or(&old), even_new.as_ref().unwrap_or(&new));
    let same = the_same(before, after);
    let workloads = || before.workloads().filter(|workload| after.at(workload).is_some());
    let places: Vec<ComparedWorkload<'_>> = (0..)
        .zip(workloads())
        .map(|(number, workload)| {
            let at = WorkloadPair::new(even_old, even_new, workload, number);
            let is_same = same.contains(&(workload.collective, workload.scale));
            let common = if is_same { Vec::new() } else { at.common().collect() };
            ComparedWorkload { at, common, is_same }
        })
        .collect();
    let sizes: Vec<SizeChanges> =
        places.iter().map(|place| SizeChanges::new(even_old, even_new, *place.at.workload(), &place.common)).collect();
    let groups: Vec<&[SizeChanges]> = sizes.chunk_by(|a, b| a.group() == b.group()).collect();
    let drifts = Drifts::new(before, after);
    let wrong = 1.0 - question.level;
    let mut overall_family = Family::new(1.0 - SHARE_OF_OVERALL * wrong);
    let levels: Vec<OverallLevel> = (1..)
        .zip(&groups)
        .map(|(seed, sizes)| {
            OverallLevel::new(sizes, &drifts.errors(sizes[0].group(), seed), seed, &mut overall_family)
        })
        .collect();
    let mut changes = Family::new(1.0 - SHARE_OF_SIZES * wrong);
    let mut estimates: Vec<(Difference, Estimate)> = Vec::new();
    let mut leads = Family::new(question.level);
    let mut drafts = Vec::new();
    let mut open = Vec::new();
    // The judgements of all workloads must hold at once (Bonferroni).
    let one_of = wrong / places.len().max(1) as f64;
    let confidence = Confidence { level: 1.0 - one_of, minimum_gain_pct: question.least_pct };
    let support = conf.map(|conf| SupportMatrix::new(conf.library.matrix(), &new.sweep));
    let levels_of_sizes =
        groups.iter().zip(&levels).flat_map(|(sizes, level)| sizes.iter().map(move |_| level.level()));
    for (number, ((place, all), level)) in places.iter().zip(&sizes).zip(levels_of_sizes).enumerate() {
        let workload = place.at.workload();
        let (deployed, effect) = match conf.zip(support.as_ref()) {
            Some((conf, support)) => deployed_by(choose(conf.rules, conf.reader, support, workload).effect),
            None => (before.at(workload).map(|at| at.deployed).unwrap_or_default(), None),
        };
        let not_judged = Difference {
            workload: *workload,
            subject: Subject::Default,
            ran_before: None,
            ran_after: None,
            before_gbps: None,
            after_gbps: None,
            measured_pct: 0.0,
            change_pct: 0.0,
            interval_pct: None,
            visible_pct: None,
            verdict: ChangeVerdict::CantTell,
        };
        for (subject, of) in subjects(&place.common, deployed) {
            let estimate = place.at.change(&mut changes, &of, &level);
            let highest = |state: &MeasuredState<'_>| {
                let measured = of.iter().filter_map(|arm| Some((*arm, state.point(workload, *arm)?.busbw_gbps)));
                measured.max_by(|a, b| a.1.total_cmp(&b.1))
            };
            let (Some(estimate), Some(before), Some(after)) = (estimate, highest(&old), highest(&new)) else {
                continue;
            };
            let ran = |arm: MeasuredArm| {
                if let MeasuredArm::Asked(configuration) = arm { Some(configuration) } else { None }
            };
            let difference = Difference {
                subject,
                ran_before: ran(before.0),
                ran_after: ran(after.0),
                before_gbps: Some(before.1),
                after_gbps: Some(after.1),
                measured_pct: pct(ln(after.1 / before.1)),
                ..not_judged
            };
            estimates.push((difference, estimate));
        }
        if let Some(pooled) = all.pooled() {
            let subject = Subject::All { of: pooled.of };
            let difference = Difference { subject, measured_pct: pct(pooled.ln_ratio), ..not_judged };
            let errors = pooled.errors(number);
            let raw = RawDifference { ln_ratio: pooled.ln_ratio, rounded: pooled.rounded, errors: &errors };
            estimates.push((difference, level.relative(&mut changes, &raw, false)));
        }
        match effect {
            Some(effect) => open.push(DeployedCheck {
                workload: *workload,
                deployed,
                effect: Some(effect),
                busbw_gbps: None,
                status: deployment::DeployedStatus::CantTell,
            }),
            // A copy of the first side makes the same recommendations, so there is nothing to check.
            None if place.is_same && conf.is_none() => {}
            None => {
                let at = WorkloadPair::new(&old, &new, *workload, number);
                drafts.extend(draft(&at, &new, deployed, confidence, &mut leads));
            }
        }
    }
    let interval = changes.intervals();
    let judged = |(difference, estimate): (Difference, Estimate)| judged(difference, interval(estimate), question);
    let of_overall = overall_family.intervals();
    let overall =
        levels.iter().zip(&groups).filter_map(|(level, sizes)| level.overall(sizes, &of_overall, question)).collect();
    let lead = leads.intervals();
    let verdict = |estimate| verdict(&lead(estimate), question);
    let mut deployed_checks: Vec<DeployedCheck> =
        drafts.into_iter().map(|draft| draft.finish(verdict)).chain(open).collect();
    crate::order::CompactSort::compact_sort_by_key(&mut deployed_checks[..], |check| check.workload);
    let relative = relative_changes(&groups, (1.0 - SHARE_OF_OVERALL - SHARE_OF_SIZES) * wrong, question);
    let differences = estimates.into_iter().map(judged).collect();
    let is_new = |told: &&String| !before.wrong_values.contains(told);
    let wrong_values = after.wrong_values.iter().filter(is_new).cloned().collect();
    CompareFindings { overall, differences, relative, deployed_checks, same, drifts: drifts.noticeable(), wrong_values }
}

/// The overall change of a collective and scale with its errors, one for each round of draws.
struct OverallLevel {
    /// `None` with too few sizes. Then nothing is subtracted, and the drift of passes counts as an error of every
    /// difference.
    median_change: Option<(MedianChange, Estimate)>,
    errors: Vec<f32>,
}

impl OverallLevel {
    /// `drift` is the error in each round by which campaigns may differ as their passes do.
    fn new(sizes: &[SizeChanges], drift: &[f32], seed: u64, overall: &mut Family) -> Self {
        let Some(median_change) = median_change(sizes) else {
            return Self { median_change: None, errors: drift.to_vec() };
        };
        let errors = student_errors(median_change.error, median_change.freedom, 0x3401E + seed);
        let of_overall: Vec<f32> = errors.iter().zip(drift).map(|(own, drift)| own + drift).collect();
        let estimate = overall.add(&RawDifference {
            ln_ratio: median_change.ln_ratio,
            rounded: median_change.rounded,
            errors: &of_overall,
        });
        Self { median_change: Some((median_change, estimate)), errors }
    }

    fn level(&self) -> CommonChange<'_> {
        let (ln_ratio, rounded) =
            self.median_change.map_or((0.0, 0.0), |(median_change, _)| (median_change.ln_ratio, median_change.rounded));
        CommonChange { ln_ratio, rounded, errors: &self.errors }
    }

    fn overall(
        &self,
        sizes: &[SizeChanges],
        interval: impl Fn(Estimate) -> ChangeInterval,
        question: &CompareQuestion,
    ) -> Option<OverallChange> {
        let (median_change, estimate) = self.median_change?;
        let (collective, scale) = sizes.first()?.group();
        let interval = interval(estimate);
        Some(OverallChange {
            collective,
            scale,
            sizes: median_change.sizes,
            first_bytes: median_change.between_bytes[0],
            last_bytes: median_change.between_bytes[1],
            change_pct: pct(interval.ln_ratio),
            interval_pct: interval
                .half_width
                .map(|half| (pct(interval.ln_ratio - half), pct(interval.ln_ratio + half))),
            verdict: verdict(&interval, question),
        })
    }
}

/// The collectives and scales of which both sides hold the same runs.
fn the_same(before: &Snapshot, after: &Snapshot) -> Vec<(Collective, Scale)> {
    let key = |group: &SnapshotGroup| (group.collective, group.scale);
    let is_there =
        |group: &&SnapshotGroup| after.groups.iter().any(|other| key(other) == key(group) && group.has_runs_of(other));
    before.groups.iter().filter(is_there).map(key).collect()
}

/// The configurations whose change differs from that of the others, of all collectives and scales.
fn relative_changes(groups: &[&[SizeChanges]], chance: f64, question: &CompareQuestion) -> Vec<RelativeChange> {
    // Each collective and scale has the same share of the chance (Bonferroni).
    let chance = chance / groups.len().max(1) as f64;
    let is_beyond = |interval: &ChangeInterval| {
        matches!(verdict(interval, question), ChangeVerdict::Slower | ChangeVerdict::Faster)
    };
    groups.iter().flat_map(|sizes| relative::relative_changes(sizes, chance, is_beyond)).collect()
}

/// The subjects of comparison at a workload, each with the arms of which the highest is taken.
fn subjects(common: &[MeasuredArm], deployed: DeployedChoice) -> Vec<(Subject, Vec<MeasuredArm>)> {
    let mut subjects = Vec::new();
    if common.contains(&MeasuredArm::Default) {
        subjects.push((Subject::Default, vec![MeasuredArm::Default]));
    }
    let mut rest = common.len() - subjects.len();
    if let DeployedChoice::Configuration(configuration) = deployed
        && common.contains(&MeasuredArm::Asked(configuration))
    {
        subjects.push((Subject::Deployed(configuration), vec![MeasuredArm::Asked(configuration)]));
        rest -= 1;
    }
    if rest > 0 {
        subjects.push((Subject::Best, common.to_vec()));
    }
    subjects
}

/// The choice that a tuner file makes; in words where it leaves algorithm, protocol or channels open.
fn deployed_by(effect: Effect) -> (DeployedChoice, Option<String>) {
    match effect.configuration() {
        Some(configuration) => (DeployedChoice::Configuration(configuration), None),
        None if effect == Effect::LIBRARY => (DeployedChoice::Default, None),
        None => (DeployedChoice::Unknown, Some(effect.to_string())),
    }
}

/// How much two campaigns may differ as a whole without a change, estimated from the passes over each.
struct Drifts(Vec<(Collective, Scale, Vec<Drift>)>);

impl Drifts {
    fn new(before: &Snapshot, after: &Snapshot) -> Self {
        let of = |group: &SnapshotGroup| {
            let key = (group.collective, group.scale);
            let other = after.groups.iter().find(|other| (other.collective, other.scale) == key)?;
            Some((key.0, key.1, [group, other].into_iter().filter_map(|group| group.drift).collect()))
        };
        Self(before.groups.iter().filter_map(of).collect())
    }

    /// The error of ln of after / before in each round. A campaign whose passes show no drift is taken to drift like
    /// the other.
    fn errors(&self, (collective, scale): (Collective, Scale), seed: u64) -> Vec<f32> {
        let of = self.0.iter().find(|of| (of.0, of.1) == (collective, scale));
        let known = of.map_or(&[][..], |(_, _, known)| known);
        let squares: f64 = known.iter().map(|drift| drift.deviation_pct / 100.0).map(|share| share * share).sum();
        let freedom: f64 = known.iter().map(|drift| f64::from(drift.passes.saturating_sub(1))).sum();
        student_errors((2.0 * squares / known.len().max(1) as f64).sqrt(), freedom, seed)
    }

    /// The drifts that are large enough to be shown, in per cent of busbw.
    fn noticeable(self) -> Vec<(Collective, Scale, f64)> {
        const MIN_SHOWN_PCT: f64 = 0.05;
        let largest = |(collective, scale, known): (Collective, Scale, Vec<Drift>)| {
            (collective, scale, known.iter().map(|drift| drift.deviation_pct).fold(0.0, f64::max))
        };
        self.0.into_iter().map(largest).filter(|(_, _, deviation_pct)| *deviation_pct >= MIN_SHOWN_PCT).collect()
    }
}

/// The change in per cent of a logarithm of a ratio, bounded so that it is finite.
fn pct(ln_ratio: f64) -> f64 {
    const MAX_LN_RATIO: f64 = 50.0;
    (exp(ln_ratio.clamp(-MAX_LN_RATIO, MAX_LN_RATIO)) - 1.0) * 100.0
}

fn verdict(interval: &ChangeInterval, question: &CompareQuestion) -> ChangeVerdict {
    let ChangeInterval { ln_ratio, half_width } = *interval;
    let Some(half_width) = half_width else { return ChangeVerdict::CantTell };
    let least = ln(1.0 + question.least_pct.max(0.0) / 100.0);
    match () {
        () if ln_ratio - half_width > least => ChangeVerdict::Faster,
        () if ln_ratio + half_width < -least => ChangeVerdict::Slower,
        () if pct(half_width + least) <= question.telling_pct => ChangeVerdict::NoChange,
        () => ChangeVerdict::CantTell,
    }
}

fn judged(difference: Difference, interval: ChangeInterval, question: &CompareQuestion) -> Difference {
    let ChangeInterval { ln_ratio, half_width } = interval;
    let least = ln(1.0 + question.least_pct.max(0.0) / 100.0);
    Difference {
        change_pct: pct(ln_ratio),
        interval_pct: half_width.map(|half| (pct(ln_ratio - half), pct(ln_ratio + half))),
        visible_pct: half_width.map(|half| pct(half + least)),
        verdict: verdict(&interval, question),
        ..difference
    }
}
