//! Makes the [`Snapshot`] of a sweep, and runs of a snapshot.

mod drift;

use std::collections::BTreeMap;

use super::{
    decision::{Decision, deviations::OwnSpread},
    origin::{Aspect, MeasuredWith, Origins, TIMING_OPTIONS, Timing},
    read::{Evidence, Placement, Row, RunKind},
    result::Recommendation,
    runs::{PointRuns, Run, Runs},
    stalls::{Screened, mean_range},
    study::{TuningStudy, TuningStudyError},
};
use crate::{
    collective::{Collective, Configuration, Scale, Workload},
    math::exp,
    order::{CompactCollect, CompactSort},
    report::snapshot::{
        DeployedChoice, Drift, Extent, MAX_RUNS, Measurement, OUT_OF_PLACE, Snapshot, SnapshotGroup, SnapshotRuns,
        SnapshotSize, rounded,
    },
};

/// The libraries, data types and operations of rows, and a short number for each set of nodes, which distinguishes
/// them without naming a node.
pub fn measured_with(rows: &[Row], origins: &Origins) -> MeasuredWith {
    /// The most different origins that are listed.
    const MAX: usize = 8;
    let key = |row: &Row| (row.workload.collective, row.workload.scale, row.origin);
    let mut words = MeasuredWith::new();
    let mut in_place: Vec<(Collective, Scale)> = Vec::new();
    for same in rows.chunk_by(|a, b| key(a) == key(b)) {
        let (collective, scale, origin) = key(&same[0]);
        let of_group = words.entry((collective, scale)).or_default();
        for (aspect, value) in Aspect::ALL.into_iter().zip(origins.get(origin).values()) {
            let Some(value) = value else { continue };
            let word = match aspect {
                Aspect::Nodes => format!("node set {}", value.chars().take(4).collect::<String>()),
                _ => value.clone(),
            };
            if of_group.len() < MAX && !of_group.contains(&word) {
                of_group.push(word);
            }
        }
    }
    for ((collective, scale), timings) in timings(rows, origins) {
        if let ([timing], Some(of_group)) = (&timings[..], words.get_mut(&(collective, scale))) {
            of_group.push(timing.to_string());
        }
    }
    // Where no run is in place, the runs out of place stand in.
    for row in rows.iter().filter(|row| row.in_place.is_some()) {
        let group = (row.workload.collective, row.workload.scale);
        if in_place.last() != Some(&group) {
            in_place.push(group);
        }
    }
    in_place.compact_sort();
    for (group, of_group) in &mut words {
        if in_place.binary_search(group).is_err() {
            of_group.push(OUT_OF_PLACE.to_owned());
        }
        of_group.compact_sort();
    }
    words
}

/// How the rows of each collective and scale were timed, as far as their files say it: ascending, each once.
fn timings(rows: &[Row], origins: &Origins) -> BTreeMap<(Collective, Scale), Vec<Timing>> {
    let key = |row: &Row| (row.workload.collective, row.workload.scale, row.origin);
    let mut timings: BTreeMap<(Collective, Scale), Vec<Timing>> = BTreeMap::new();
    for same in rows.chunk_by(|a, b| key(a) == key(b)) {
        let (collective, scale, origin) = key(&same[0]);
        let of_group = timings.entry((collective, scale)).or_default();
        of_group.extend(origins.get(origin).timing().filter(|timing| !of_group.contains(timing)));
    }
    timings.values_mut().for_each(|of_group| of_group.compact_sort());
    timings
}

/// The most ways of timing that a sentence names.
const MAX_TIMINGS: usize = 3;

/// That rows of a collective and scale, which are compared with each other, were timed with other options of
/// nccl-tests, a sentence each.
pub fn timed_differently(rows: &[Row], origins: &Origins) -> Vec<String> {
    let several = timings(rows, origins).into_iter().filter(|(_, timings)| timings.len() > 1);
    let sentence = |((collective, scale), timings): ((Collective, Scale), Vec<Timing>)| {
        let named: Vec<String> = timings.iter().take(MAX_TIMINGS).map(ToString::to_string).collect();
        let rest = timings.len() - named.len();
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        format!(
            "{collective} on {scale}: runs that are compared with each other were timed with {}{more} ({TIMING_OPTIONS}); a \
             difference between them may be one of the options",
            named.join(", ")
        )
    };
    several.map(sentence).collect()
}

/// The most tied configurations of a size that a thinned snapshot keeps: those with the fewest channels.
const MAX_TIED: usize = 3;

impl Snapshot {
    /// A snapshot of what was measured, and of what is to be deployed by the last answer or, before any training, by
    /// the measured winners. Returns an error if the trained model can't be evaluated; never before training.
    pub fn new(study: &TuningStudy, extent: Extent) -> Result<Self, TuningStudyError> {
        let answer = study.to_deploy()?;
        let answer: BTreeMap<Workload, &Recommendation> =
            answer.iter().rev().map(|recommendation| (recommendation.workload, recommendation)).compact_collect();
        let groups = groups(study, &answer, extent, Placement::InPlace);
        // Links have no room, and no report carries them.
        let out_of_place = match extent {
            Extent::Whole => self::groups(study, &answer, extent, Placement::OutOfPlace),
            Extent::Thinned => Vec::new(),
        };
        let program = concat!("collectune ", env!("CARGO_PKG_VERSION")).to_owned();
        Ok(Self { program, is_whole: extent == Extent::Whole, groups, out_of_place, wrong_values: Vec::new() })
    }

    /// Adds what each collective and scale was measured with.
    pub fn measured_with(&mut self, words: &MeasuredWith) {
        for group in &mut self.groups {
            group.measured_with = words.get(&(group.collective, group.scale)).cloned().unwrap_or_default();
        }
        for group in &mut self.out_of_place {
            group.measured_with = words.get(&(group.collective, group.scale)).cloned().unwrap_or_default();
            group.measured_with.push(OUT_OF_PLACE.to_owned());
            group.measured_with.compact_sort();
        }
    }

    /// The runs, as they were taken from a file.
    pub fn runs(&self) -> Runs {
        let mut runs = Runs::default();
        for group in &self.groups {
            let SnapshotGroup { collective, scale, .. } = *group;
            for at in &group.sizes {
                let workload = Workload { collective, scale, size_bytes: at.size_bytes };
                let mut push = |measurement: &Measurement, kind| {
                    runs.push(workload, kind, measurement.configuration, &measurement.lines());
                };
                at.measured.iter().for_each(|measurement| push(measurement, RunKind::Asked));
                at.default.iter().for_each(|measurement| push(measurement, RunKind::Default));
            }
        }
        runs
    }
}

/// What was measured of each collective and scale in one placement; where no run is in place, those out of place stand
/// in, and are no placement of their own.
fn groups(
    study: &TuningStudy,
    answer: &BTreeMap<Workload, &Recommendation>,
    extent: Extent,
    placement: Placement,
) -> Vec<SnapshotGroup> {
    let (runs, screened) = (study.runs(), study.screened());
    let mut groups: Vec<SnapshotGroup> = Vec::new();
    for (place, first, of_place) in runs.places() {
        let Workload { collective, scale, size_bytes } = place.workload;
        let Some(measurement) = measurement(place, first, of_place, screened, extent, placement) else { continue };
        if groups.last().is_none_or(|group| (group.collective, group.scale) != (collective, scale)) {
            let drift = Drift::new(runs, screened, (collective, scale));
            groups.push(SnapshotGroup { collective, scale, measured_with: Vec::new(), drift, sizes: Vec::new() });
        }
        let Some(group) = groups.last_mut() else { continue };
        let advice = || answer.get(&place.workload).copied();
        if group.sizes.last().is_none_or(|at| at.size_bytes != size_bytes) {
            let deployed = advice().map(deployed).unwrap_or_default();
            group.sizes.push(SnapshotSize { size_bytes, deployed, default: None, measured: Vec::new() });
        }
        let Some(at) = group.sizes.last_mut() else { continue };
        if place.kind == RunKind::Default {
            at.default = Some(measurement);
        } else if extent == Extent::Whole || advice().is_some_and(|r| is_kept(r, &measurement.configuration)) {
            at.measured.push(measurement);
        }
    }
    groups
}

impl Measurement {
    fn lines(&self) -> Vec<Run> {
        let evidence = if self.executed { Evidence::Executed } else { Evidence::Planned };
        let line = |busbw, repeats, spread| Run::known(self.configuration, busbw, repeats, spread, evidence);
        match &self.runs {
            SnapshotRuns::Each(runs) => runs.iter().map(|busbw| line(*busbw, 1, None)).collect(),
            SnapshotRuns::Median { busbw_gbps, runs, spread_pct } => vec![line(*busbw_gbps, *runs, *spread_pct)],
        }
    }
}

fn deployed(recommendation: &Recommendation) -> DeployedChoice {
    match (recommendation.decision, recommendation.configuration) {
        (Decision::KeepDefault { .. } | Decision::MeasureFirst, _) => DeployedChoice::Default,
        (Decision::Deploy | Decision::NoDefault, Some(configuration)) => DeployedChoice::Configuration(configuration),
        _ => DeployedChoice::Unknown,
    }
}

fn is_kept(recommendation: &Recommendation, configuration: &Configuration) -> bool {
    let of_best = recommendation.measured_best.as_ref().map(|best| best.configuration);
    recommendation.configuration == Some(*configuration)
        || of_best == Some(*configuration)
        || recommendation.tied.iter().take(MAX_TIED).any(|tied| tied == configuration)
}

/// The used runs of a place in a placement; `None` if there are none. A single run that stalled is used in answers,
/// since there is no other, but not in a snapshot: its stall would look like a change.
fn measurement(
    place: &PointRuns,
    first: usize,
    runs: &[Run],
    screened: &Screened,
    extent: Extent,
    placement: Placement,
) -> Option<Measurement> {
    let is_in_place = placement == Placement::InPlace;
    let of_placement: Vec<Run>;
    let runs = if is_in_place {
        runs
    } else {
        of_placement = runs.iter().map(Run::out_of_place).collect::<Option<_>>()?;
        &of_placement[..]
    };
    if let [lone] = runs
        && is_in_place
        && screened.is_stalled(&place.workload, lone)
    {
        return None;
    }
    let is_used = |index: usize| {
        let kept = screened.keep(place, index);
        if is_in_place { kept.busbw } else { kept.out_of_place }
    };
    let used = || runs.iter().zip(first..).filter(|(_, index)| is_used(*index)).map(|(run, _)| run);
    let singles = used().all(|run| run.repeats == 1);
    let count = used().count();
    let measured = if singles && (1..=MAX_RUNS).contains(&count) && extent == Extent::Whole {
        SnapshotRuns::Each(used().map(|run| rounded(run.busbw_gbps)).collect())
    } else {
        let mut values: Vec<(f64, u32)> = used().map(|run| (run.busbw_gbps, run.repeats)).collect();
        let busbw_gbps = rounded(super::runs::weighted_median(&mut values)?);
        let own = OwnSpread::new(place, first, runs, screened);
        // The expected range of so many normal numbers with this deviation, since a spread is (max − min) / median.
        let spread = |deviation: f64| (exp(deviation * mean_range(own.runs)) - 1.0) * 100.0;
        let spread_pct = (own.variance.freedom() > 0.0).then(|| rounded(spread(own.variance.deviation())));
        SnapshotRuns::Median { busbw_gbps, runs: own.runs, spread_pct }
    };
    let executed = used().all(|run| run.evidence == Evidence::Executed);
    Some(Measurement { configuration: place.configuration, executed, runs: measured })
}
