//! Two measured states, before and after a driver, a firmware, a topology: what got slower or faster beyond noise, and
//! whether what was deployed still holds.
//!
//! [`side`] makes a [`Snapshot`] ready, [`passes`] brings the passes behind it to one level. [`whole`] says what
//! everything changed by, [`paired`] compares each size beside that, [`pooled`] takes all configurations of a size
//! together, [`beside`] names those that changed beside the others, [`family`] says what chance brings over all of it,
//! [`redraw`] what it brings where runs stall. [`standing`] holds what was deployed against what was measured after,
//! [`listing`] and [`chart`] show it, [`words`] says it, [`export`] writes it.

pub mod beside;
pub mod chart;
pub mod export;
pub mod family;
pub mod listing;
pub mod paired;
pub mod passes;
pub mod pooled;
pub mod redraw;
pub mod side;
pub mod standing;
pub mod whole;
pub mod words;

use serde::{Deserialize, Serialize};

use self::{
    beside::Moved,
    family::{Estimate, Family, Interval, Raw, student_errors},
    paired::{Level, Match},
    pooled::AtSize,
    side::{State, What},
    standing::{Standing, draft},
    whole::{Middle, Whole, middle},
};
use super::{
    conf::{Effect, Reader, Rule, choose},
    parameters::Confidence,
    sets::Choice,
    snapshot::{Deployed, Drift, Group, Snapshot},
    support::{Library, Support},
};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    math::{exp, ln},
    plot::Chart,
    text::Listing,
};

/// What is asked of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// All intervals hold at once with this probability, in 0..1: two equal campaigns differ nowhere with it.
    pub level: f64,
    /// The smallest change that matters, in per cent of busbw: the interval of a change must lie beyond it as a whole.
    pub least_pct: f64,
    /// Where a change of this many per cent would have been seen and was not, nothing changed; elsewhere nothing can be
    /// told.
    pub telling_pct: f64,
    /// What is deployed stands in this tuner file; `None`: what the first side recommends.
    pub conf: Option<Deployment>,
    /// Which set of measurements is taken from the files before, and from those after.
    pub sets: [Choice; 2],
}

impl Default for Question {
    fn default() -> Self {
        Self { level: 0.9, least_pct: 1.0, telling_pct: 5.0, conf: None, sets: [Choice::Largest; 2] }
    }
}

/// A loaded tuner file, and where it is deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployment {
    /// The file's number.
    pub file: u32,
    /// Who reads it.
    pub reader: Reader,
    /// The library whose rules say what can run.
    pub library: Library,
}

/// A tuner file that is deployed.
#[derive(Clone, Copy, Debug)]
pub struct Conf<'a> {
    /// Its rules, as its reader finds them.
    pub rules: &'a [Rule],
    /// Who reads it.
    pub reader: Reader,
    /// The library whose rules say what can run.
    pub library: Library,
}

/// What changed, as the page shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What it comes to, in sentences.
    pub summary: Vec<String>,
    /// Something got slower beyond noise.
    pub got_slower: bool,
    /// A row per size and thing compared.
    pub by_size: Listing,
    /// Whether what was deployed still holds, a row per size.
    pub standing: Listing,
    /// Sizes and configurations that only one side has.
    pub apart: Listing,
    /// The change over size, for each collective and scale.
    pub charts: Vec<Chart>,
    /// In what the sides differ besides, and what is assumed.
    pub notes: Vec<String>,
    /// What changed, for a pull request: Markdown.
    pub markdown: String,
    /// All of it for programs: JSON.
    pub json: String,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Subject {
    /// The library's own choice.
    Default,
    /// What was deployed before, with itself.
    Deployed(Configuration),
    /// The highest of all that both sides measured.
    Best,
    /// All that both sides measured, together: the trimmed mean of their changes.
    All {
        /// How many there are, the default among them.
        of: usize,
    },
}

/// What a difference comes down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Faster beyond noise.
    Faster,
    /// Slower beyond noise.
    Slower,
    /// No difference beyond noise, and a large one would have been seen.
    NoChange,
    /// Only a larger change would have been seen.
    CantTell,
}

/// One difference. Bandwidths are medians of busbw in GB/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Where.
    pub workload: Workload,
    /// What is compared.
    pub subject: Subject,
    /// What ran before; `None`: the default.
    pub ran_before: Option<Configuration>,
    /// What ran after; `None`: the default.
    pub ran_after: Option<Configuration>,
    /// busbw before; `None` of [`Subject::All`].
    pub before_gbps: Option<f64>,
    /// busbw after; `None` of [`Subject::All`].
    pub after_gbps: Option<f64>,
    /// after / before − 1 in per cent as it was measured; of [`Subject::All`] the trimmed mean.
    pub measured_pct: f64,
    /// The same beside what everything of its collective and scale changed by ([`Whole`]), where enough sizes tell
    /// that; of [`Subject::Best`] less what choosing the highest brings.
    pub change_pct: f64,
    /// The interval of [`Difference::change_pct`], which holds together with all others; `None` while nothing tells the
    /// noise.
    pub interval_pct: Option<(f64, f64)>,
    /// The smallest change that would have been seen half of the time, in per cent.
    pub visible_pct: Option<f64>,
    /// What it comes down to.
    pub verdict: Verdict,
}

impl Difference {
    /// The times of one operation before and after, in µs.
    #[must_use]
    pub fn times_us(&self) -> [Option<f64>; 2] {
        [self.before_gbps, self.after_gbps].map(|busbw_gbps| self.workload.time_us(busbw_gbps?))
    }
}

/// All that was found, before it is put into words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// What everything of a collective and scale changed by, where enough sizes tell it.
    pub wholes: Vec<Whole>,
    /// Differences beside that, by workload.
    pub differences: Vec<Difference>,
    /// Configurations that changed beside the others, by collective and scale, those that did at most sizes first.
    pub moved: Vec<Moved>,
    /// What was deployed, by workload.
    pub standings: Vec<Standing>,
    /// Both sides hold the same runs of these, value by value: nothing is compared.
    pub same: Vec<(Collective, Scale)>,
    /// How far the passes of each side lie from each other where that widened something, in per cent.
    pub drifts: Vec<(Collective, Scale, f64)>,
}

impl Findings {
    /// Something got slower beyond noise.
    #[must_use]
    pub fn got_slower(&self) -> bool {
        self.wholes.iter().any(|whole| whole.verdict == Verdict::Slower)
            || self.differences.iter().any(|difference| difference.verdict == Verdict::Slower)
            || self.moved.iter().any(|moved| moved.beside_pct < 0.0)
    }
}

/// Compares two sides; what is deployed stands in `conf`, or else is what the first side recommends.
#[must_use]
pub fn change(before: &Snapshot, after: &Snapshot, conf: Option<&Conf<'_>>, question: &Question) -> Answer {
    let findings = find(before, after, conf, question);
    let mut answer = Answer {
        summary: words::summary(&findings),
        got_slower: findings.got_slower(),
        by_size: listing::by_size(&findings.wholes, &findings.differences, &findings.moved),
        standing: listing::standing(&findings.standings),
        apart: listing::apart(before, after),
        charts: chart::charts(&findings),
        notes: words::notes(before, after, &findings, question),
        ..Answer::default()
    };
    answer.markdown = export::markdown(&answer, &findings);
    answer.json = export::json(&answer, &findings, question);
    answer
}

/// Of the chance that anything is called changed where nothing is, so much is for what everything changed by, so much
/// for what is compared at each size, and the rest for configurations beside the others.
const OF_WHOLES: f64 = 0.2;
const OF_SIZES: f64 = 0.5;

/// A workload that both sides measured.
struct Place<'a> {
    at: Match<'a>,
    /// What both measured there; nothing where both hold the same runs.
    common: Vec<What>,
    is_same: bool,
}

/// Finds what changed.
#[must_use]
pub fn find(before: &Snapshot, after: &Snapshot, conf: Option<&Conf<'_>>, question: &Question) -> Findings {
    let (old, new) = (State::new(before), State::new(after));
    let levelled = [before, after].map(passes::levelled);
    let [even_old, even_new] = [(&levelled[0], &old), (&levelled[1], &new)]
        .map(|(snapshot, measured)| snapshot.as_ref().map(|snapshot| State::levelled(snapshot, measured)));
    let (even_old, even_new) = (even_old.as_ref().unwrap_or(&old), even_new.as_ref().unwrap_or(&new));
    let same = the_same(before, after);
    let workloads = || before.workloads().filter(|workload| after.at(workload).is_some());
    let places: Vec<Place<'_>> = (0..)
        .zip(workloads())
        .map(|(number, workload)| {
            let at = Match::new(even_old, even_new, workload, number);
            let is_same = same.contains(&(workload.collective, workload.scale));
            let common = if is_same { Vec::new() } else { at.common().collect() };
            Place { at, common, is_same }
        })
        .collect();
    let sizes: Vec<AtSize> =
        places.iter().map(|place| AtSize::new(even_old, even_new, *place.at.workload(), &place.common)).collect();
    let groups: Vec<&[AtSize]> = sizes.chunk_by(|a, b| a.group() == b.group()).collect();
    let drifts = Drifts::new(before, after);
    let wrong = 1.0 - question.level;
    let mut whole_changes = Family::new(1.0 - OF_WHOLES * wrong);
    let levels: Vec<GroupLevel> = (1..)
        .zip(&groups)
        .map(|(seed, sizes)| GroupLevel::new(sizes, &drifts.errors(sizes[0].group(), seed), seed, &mut whole_changes))
        .collect();
    let mut changes = Family::new(1.0 - OF_SIZES * wrong);
    let mut estimates: Vec<(Difference, Estimate)> = Vec::new();
    let mut leads = Family::new(question.level);
    let mut drafts = Vec::new();
    let mut open = Vec::new();
    let one_of = wrong / places.len().max(1) as f64;
    let confidence = Confidence { level: 1.0 - one_of, minimum_gain_pct: question.least_pct };
    let support = conf.map(|conf| Support::new(conf.library.matrix(), &new.sweep));
    let levels_of_sizes =
        groups.iter().zip(&levels).flat_map(|(sizes, level)| sizes.iter().map(move |_| level.level()));
    for (number, ((place, all), level)) in places.iter().zip(&sizes).zip(levels_of_sizes).enumerate() {
        let workload = place.at.workload();
        let (deployed, effect) = match conf.zip(support.as_ref()) {
            Some((conf, support)) => told(choose(conf.rules, conf.reader, support, workload).effect),
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
            verdict: Verdict::CantTell,
        };
        for (subject, of) in subjects(&place.common, deployed) {
            let estimate = place.at.change(&mut changes, &of, &level);
            let highest = |state: &State<'_>| {
                let measured = of.iter().filter_map(|what| Some((*what, state.point(workload, *what)?.busbw_gbps)));
                measured.max_by(|a, b| a.1.total_cmp(&b.1))
            };
            let (Some(estimate), Some(before), Some(after)) = (estimate, highest(&old), highest(&new)) else {
                continue;
            };
            let ran = |what: What| if let What::Asked(configuration) = what { Some(configuration) } else { None };
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
            let raw = Raw { ln_ratio: pooled.ln_ratio, rounded: pooled.rounded, errors: &errors };
            estimates.push((difference, level.beside(&mut changes, &raw, false)));
        }
        match effect {
            Some(effect) => open.push(Standing {
                workload: *workload,
                deployed,
                effect: Some(effect),
                busbw_gbps: None,
                stands: standing::Stands::CantTell,
            }),
            // What the first side recommends, a copy of it recommends as well.
            None if place.is_same && conf.is_none() => {}
            None => {
                let at = Match::new(&old, &new, *workload, number);
                drafts.extend(draft(&at, &new, deployed, confidence, &mut leads));
            }
        }
    }
    let interval = changes.intervals();
    let judged = |(difference, estimate): (Difference, Estimate)| judged(difference, interval(estimate), question);
    let of_whole = whole_changes.intervals();
    let wholes =
        levels.iter().zip(&groups).filter_map(|(level, sizes)| level.whole(sizes, &of_whole, question)).collect();
    let lead = leads.intervals();
    let verdict = |estimate| verdict(&lead(estimate), question);
    let mut standings: Vec<Standing> = drafts.into_iter().map(|draft| draft.finish(verdict)).chain(open).collect();
    crate::order::CompactSort::compact_sort_by_key(&mut standings[..], |standing| standing.workload);
    let moved = moved(&groups, (1.0 - OF_WHOLES - OF_SIZES) * wrong, question);
    let differences = estimates.into_iter().map(judged).collect();
    Findings { wholes, differences, moved, standings, same, drifts: drifts.told() }
}

/// What everything of a collective and scale changed by, and how that errs, by round.
struct GroupLevel {
    /// `None` where too few sizes tell it: then nothing is taken off, and what passes differ in is noise of everything.
    middle: Option<(Middle, Estimate)>,
    errors: Vec<f32>,
}

impl GroupLevel {
    /// `drift` is what both campaigns may differ in for their passes alone, by round.
    fn new(sizes: &[AtSize], drift: &[f32], seed: u64, wholes: &mut Family) -> Self {
        let Some(middle) = middle(sizes) else { return Self { middle: None, errors: drift.to_vec() } };
        let errors = student_errors(middle.error, middle.freedom, 0x3401E + seed);
        let of_whole: Vec<f32> = errors.iter().zip(drift).map(|(own, drift)| own + drift).collect();
        let estimate = wholes.add(&Raw { ln_ratio: middle.ln_ratio, rounded: middle.rounded, errors: &of_whole });
        Self { middle: Some((middle, estimate)), errors }
    }

    fn level(&self) -> Level<'_> {
        let (ln_ratio, rounded) = self.middle.map_or((0.0, 0.0), |(middle, _)| (middle.ln_ratio, middle.rounded));
        Level { ln_ratio, rounded, errors: &self.errors }
    }

    fn whole(&self, sizes: &[AtSize], interval: impl Fn(Estimate) -> Interval, question: &Question) -> Option<Whole> {
        let (middle, estimate) = self.middle?;
        let (collective, scale) = sizes.first()?.group();
        let interval = interval(estimate);
        Some(Whole {
            collective,
            scale,
            sizes: middle.sizes,
            first_bytes: sizes.first()?.size_bytes(),
            last_bytes: sizes.last()?.size_bytes(),
            change_pct: pct(interval.ln_ratio),
            interval_pct: interval
                .half_width
                .map(|half| (pct(interval.ln_ratio - half), pct(interval.ln_ratio + half))),
            verdict: verdict(&interval, question),
        })
    }
}

/// Collectives and scales of which both sides hold the same runs.
fn the_same(before: &Snapshot, after: &Snapshot) -> Vec<(Collective, Scale)> {
    let key = |group: &Group| (group.collective, group.scale);
    let is_there =
        |group: &&Group| after.groups.iter().any(|other| key(other) == key(group) && group.has_runs_of(other));
    before.groups.iter().filter(is_there).map(key).collect()
}

/// What changed beside the others, in all collectives and scales.
fn moved(groups: &[&[AtSize]], chance: f64, question: &Question) -> Vec<Moved> {
    let chance = chance / groups.len().max(1) as f64;
    let is_beyond = |interval: &Interval| matches!(verdict(interval, question), Verdict::Slower | Verdict::Faster);
    groups.iter().flat_map(|sizes| beside::moved(sizes, chance, is_beyond)).collect()
}

/// What is compared at a workload, each of those that are the highest of themselves.
fn subjects(common: &[What], deployed: Deployed) -> Vec<(Subject, Vec<What>)> {
    let mut subjects = Vec::new();
    if common.contains(&What::Default) {
        subjects.push((Subject::Default, vec![What::Default]));
    }
    let mut rest = common.len() - subjects.len();
    if let Deployed::Configuration(configuration) = deployed
        && common.contains(&What::Asked(configuration))
    {
        subjects.push((Subject::Deployed(configuration), vec![What::Asked(configuration)]));
        rest -= 1;
    }
    if rest > 0 {
        subjects.push((Subject::Best, common.to_vec()));
    }
    subjects
}

/// What a tuner file makes run: something that can be deployed, or in words what can't.
fn told(effect: Effect) -> (Deployed, Option<String>) {
    match effect.configuration() {
        Some(configuration) => (Deployed::Configuration(configuration), None),
        None if effect == Effect::LIBRARY => (Deployed::Default, None),
        None => (Deployed::Unknown, Some(effect.to_string())),
    }
}

/// What both campaigns may differ in as a whole, by the passes over each of them.
struct Drifts(Vec<(Collective, Scale, Vec<Drift>)>);

impl Drifts {
    fn new(before: &Snapshot, after: &Snapshot) -> Self {
        let of = |group: &Group| {
            let key = (group.collective, group.scale);
            let other = after.groups.iter().find(|other| (other.collective, other.scale) == key)?;
            Some((key.0, key.1, [group, other].into_iter().filter_map(|group| group.drift).collect()))
        };
        Self(before.groups.iter().filter_map(of).collect())
    }

    /// How ln of after / before errs for that, by round: a campaign whose passes don't tell drifts like the other.
    fn errors(&self, (collective, scale): (Collective, Scale), seed: u64) -> Vec<f32> {
        let of = self.0.iter().find(|of| (of.0, of.1) == (collective, scale));
        let known = of.map_or(&[][..], |(_, _, known)| known);
        let squares: f64 = known.iter().map(|drift| drift.deviation_pct / 100.0).map(|share| share * share).sum();
        let freedom: f64 = known.iter().map(|drift| f64::from(drift.passes.saturating_sub(1))).sum();
        student_errors((2.0 * squares / known.len().max(1) as f64).sqrt(), freedom, seed)
    }

    /// Those that widen something by as much as is shown of it, in per cent of busbw.
    fn told(self) -> Vec<(Collective, Scale, f64)> {
        const LEAST_SHOWN_PCT: f64 = 0.05;
        let largest = |(collective, scale, known): (Collective, Scale, Vec<Drift>)| {
            (collective, scale, known.iter().map(|drift| drift.deviation_pct).fold(0.0, f64::max))
        };
        self.0.into_iter().map(largest).filter(|(_, _, deviation_pct)| *deviation_pct >= LEAST_SHOWN_PCT).collect()
    }
}

/// A ratio of which no more is known than that it is beyond all measure stays a number.
fn pct(ln_ratio: f64) -> f64 {
    const BEYOND: f64 = 50.0;
    (exp(ln_ratio.clamp(-BEYOND, BEYOND)) - 1.0) * 100.0
}

fn verdict(interval: &Interval, question: &Question) -> Verdict {
    let Interval { ln_ratio, half_width } = *interval;
    let Some(half_width) = half_width else { return Verdict::CantTell };
    let least = ln(1.0 + question.least_pct.max(0.0) / 100.0);
    match () {
        () if ln_ratio - half_width > least => Verdict::Faster,
        () if ln_ratio + half_width < -least => Verdict::Slower,
        () if pct(half_width + least) <= question.telling_pct => Verdict::NoChange,
        () => Verdict::CantTell,
    }
}

fn judged(difference: Difference, interval: Interval, question: &Question) -> Difference {
    let Interval { ln_ratio, half_width } = interval;
    let least = ln(1.0 + question.least_pct.max(0.0) / 100.0);
    Difference {
        change_pct: pct(ln_ratio),
        interval_pct: half_width.map(|half| (pct(ln_ratio - half), pct(ln_ratio + half))),
        visible_pct: half_width.map(|half| pct(half + least)),
        verdict: verdict(&interval, question),
        ..difference
    }
}
