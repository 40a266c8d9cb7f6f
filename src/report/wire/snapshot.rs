//! A snapshot as JSON, column by column: lists of points and of their bandwidths take a third of a list of objects, and
//! deflate to less.
//!
//! A group has `sizes`, and for each size what was `deployed`. `algorithms`, `protocols` and `channels` are the columns
//! of the configurations. The entries of `at`, `ran` and `busbw_gbps` are points: the index of the size, the index of
//! the configuration (−1 − n for the default that ran configuration n), and the runs or their median. For medians,
//! `runs` and `spread_pct` have the number of runs and their spread.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Cursor, WireError};
use crate::{
    collective::{Algorithm, Collective, Configuration, Protocol, Scale},
    report::snapshot::{
        DeployedChoice, Drift, MAX_RUNS, Measurement, Snapshot, SnapshotGroup, SnapshotRuns, SnapshotSize, rounded,
    },
};

type Result<T> = std::result::Result<T, WireError>;

/// The most collectives and scales of a snapshot; sweeps have fewer.
const MAX_GROUPS: usize = 100;
const MAX_PLACES: usize = 100_000;
const MAX_WORDS: usize = 16;
const MAX_WORD_LENGTH: usize = 80;

const LIBRARY: i64 = -1;
const UNKNOWN: i64 = -2;

/// The limits of sizes, nodes, ranks, channels and repeats; those of the reader of sweeps.
const MAX_BYTES: u64 = 1 << 53;
const MAX_NODES: u64 = 1_000_000;
const MAX_RANKS: u64 = 10_000_000;
const MAX_CHANNELS: u64 = 1024;
const MAX_REPEATS: u64 = 1_000_000;

impl Snapshot {
    /// The snapshot in the JSON of a report file.
    pub fn to_value(&self) -> Value {
        let groups: Vec<Value> = self.groups.iter().map(group_value).collect();
        json!({ "program": self.program, "whole": self.is_whole, "groups": groups })
    }

    /// Reads a snapshot from JSON, which may come from a stranger. Returns an error with its place if a value is
    /// missing, of the wrong kind, or out of bounds.
    pub fn from_value(value: &Value) -> Result<Self> {
        read(Cursor::new(value))
    }
}

fn group_value(group: &SnapshotGroup) -> Value {
    let mut known: BTreeMap<Configuration, usize> = BTreeMap::new();
    for at in &group.sizes {
        let of_places = at.measured.iter().chain(&at.default).map(|measurement| measurement.configuration);
        let deployed =
            if let DeployedChoice::Configuration(configuration) = at.deployed { Some(configuration) } else { None };
        of_places.chain(deployed).for_each(|configuration| {
            known.insert(configuration, 0);
        });
    }
    known.values_mut().enumerate().for_each(|(number, place)| *place = number);
    let number = |configuration: &Configuration| known.get(configuration).map_or(0, |number| *number as i64);
    let deployed = group.sizes.iter().map(|at| match &at.deployed {
        DeployedChoice::Unknown => UNKNOWN,
        DeployedChoice::Default => LIBRARY,
        DeployedChoice::Configuration(configuration) => number(configuration),
    });
    let mut value = Map::new();
    let mut set = |name: &str, column: Value| value.insert(name.to_owned(), column);
    set("collective", group.collective.name().into());
    set("nodes", group.scale.nodes.into());
    set("ranks", group.scale.ranks.into());
    set("measured_with", group.measured_with.clone().into());
    if let Some(Drift { deviation_pct, passes }) = group.drift {
        set("drift_pct", rounded(deviation_pct).into());
        set("passes", passes.into());
    }
    set("sizes", group.sizes.iter().map(|at| at.size_bytes).collect());
    set("deployed", deployed.collect());
    set("algorithms", known.keys().map(|c| c.algorithm.name()).collect());
    set("protocols", known.keys().map(|c| c.protocol.name()).collect());
    set("channels", known.keys().map(|c| c.channels).collect());
    let places = || {
        group.sizes.iter().enumerate().flat_map(|(at, size)| {
            let asked = size.measured.iter().map(move |measurement| (at, measurement, false));
            asked.chain(size.default.iter().map(move |measurement| (at, measurement, true)))
        })
    };
    let ran = |measurement: &Measurement, is_default: bool| {
        let number = number(&measurement.configuration);
        if is_default { !number } else { number }
    };
    set("at", places().map(|(at, ..)| at).collect());
    set("ran", places().map(|(_, measurement, is_default)| ran(measurement, is_default)).collect());
    let busbw = places().map(|(_, measurement, _)| match &measurement.runs {
        SnapshotRuns::Each(runs) => Value::from(runs.clone()),
        SnapshotRuns::Median { busbw_gbps, .. } => Value::from(*busbw_gbps),
    });
    set("busbw_gbps", busbw.collect());
    if places().any(|(_, measurement, _)| matches!(measurement.runs, SnapshotRuns::Median { .. })) {
        set("runs", places().map(|(_, measurement, _)| measurement.runs.count()).collect());
        let spread = places().map(|(_, measurement, _)| match &measurement.runs {
            SnapshotRuns::Median { spread_pct: Some(spread), .. } => Value::from(*spread),
            _ => Value::Null,
        });
        set("spread_pct", spread.collect());
    }
    let executed: Vec<usize> =
        places().enumerate().filter(|(_, (_, measurement, _))| measurement.executed).map(|(at, _)| at).collect();
    if !executed.is_empty() {
        set("executed", executed.into());
    }
    Value::Object(value)
}

pub(super) fn read(at: Cursor<'_>) -> Result<Snapshot> {
    at.object()?;
    let mut places = 0;
    within(&at.field("groups"), MAX_GROUPS)?;
    let groups = at.field("groups").list(|at| group(at, &mut places))?;
    let (program, is_whole) = (name(&at.field("program"))?, at.field("whole").flag()?);
    let mut snapshot = Snapshot { program, is_whole, groups, out_of_place: Vec::new(), wrong_values: Vec::new() };
    snapshot.put_in_order();
    Ok(snapshot)
}

/// The length of a list, which must be there.
fn within(at: &Cursor<'_>, most: usize) -> Result<usize> {
    let length = at.value().as_array().ok_or_else(|| at.expected("a list"))?.len();
    if length <= most { Ok(length) } else { Err(at.expected(format!("a list of at most {most}"))) }
}

/// The values of a column, which must have as many as another one.
fn column<T>(at: &Cursor<'_>, other: Option<usize>, read: impl FnMut(Cursor<'_>) -> Result<T>) -> Result<Vec<T>> {
    let length = within(at, MAX_PLACES)?;
    match other {
        Some(other) if length != other => Err(at.expected(format!("a list of {other}"))),
        _ => at.list(read),
    }
}

/// The text with only the characters of names and versions: it is used within sentences, where it must not become
/// markup.
fn name(at: &Cursor<'_>) -> Result<String> {
    let is_part = |c: &char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '.' | '+' | '-' | ':' | '_' | ',' | '·');
    Ok(at.text()?.chars().filter(is_part).take(MAX_WORD_LENGTH).collect())
}

fn whole(at: &Cursor<'_>, most: u64) -> Result<u64> {
    let number = at.value().as_u64().filter(|number| *number <= most);
    number.ok_or_else(|| at.expected(format!("a whole number up to {most}")))
}

fn signed(at: &Cursor<'_>) -> Result<i64> {
    at.value().as_i64().ok_or_else(|| at.expected("a whole number"))
}

/// A number above zero, or from zero on if `from_zero`.
fn positive(at: &Cursor<'_>, from_zero: bool) -> Result<f64> {
    const MAX: f64 = 1e9;
    const MIN: f64 = 1e-9;
    let number = at.value().as_f64().filter(|n| (MIN..=MAX).contains(n) || (from_zero && (0.0..=MAX).contains(n)));
    number.ok_or_else(|| at.expected("a number above zero"))
}

fn named<T>(at: &Cursor<'_>, parse: fn(&str) -> Option<T>) -> Result<T> {
    at.value().as_str().and_then(parse).ok_or_else(|| at.expected("a name that this version knows"))
}

fn group(part: Cursor<'_>, places: &mut usize) -> Result<SnapshotGroup> {
    part.object()?;
    let algorithms = column(&part.field("algorithms"), None, |at| named(&at, Algorithm::parse))?;
    let count = Some(algorithms.len());
    let protocols = column(&part.field("protocols"), count, |at| named(&at, Protocol::parse))?;
    let channels = column(&part.field("channels"), count, |at| Ok(whole(&at, MAX_CHANNELS)? as u32))?;
    let configurations = algorithms.into_iter().zip(protocols).zip(channels);
    let configurations: Vec<Configuration> = configurations
        .map(|((algorithm, protocol), channels)| Configuration { algorithm, protocol, channels })
        .collect();
    let configuration = |at: &Cursor<'_>, number: i64| {
        let known = usize::try_from(number).ok().and_then(|number| configurations.get(number)).copied();
        known.ok_or_else(|| at.expected(format!("one of {} configurations", configurations.len())))
    };
    let sizes_bytes = column(&part.field("sizes"), None, |at| whole(&at, MAX_BYTES))?;
    let deployed = column(&part.field("deployed"), Some(sizes_bytes.len()), |at| {
        Ok(match signed(&at)? {
            UNKNOWN => DeployedChoice::Unknown,
            LIBRARY => DeployedChoice::Default,
            number => DeployedChoice::Configuration(configuration(&at, number)?),
        })
    })?;
    let sizes = sizes_bytes.into_iter().zip(deployed);
    let mut sizes: Vec<SnapshotSize> = sizes
        .map(|(size_bytes, deployed)| SnapshotSize { size_bytes, deployed, default: None, measured: Vec::new() })
        .collect();
    let known = sizes.len();
    let at = column(&part.field("at"), None, |at| {
        let number = whole(&at, MAX_PLACES as u64)? as usize;
        if number < known { Ok(number) } else { Err(at.expected(format!("one of {known} sizes"))) }
    })?;
    *places += at.len() + known + configurations.len();
    if *places > MAX_PLACES {
        return Err(part.field("at").expected(format!("at most {MAX_PLACES} places in all groups")));
    }
    let count = Some(at.len());
    let ran = column(&part.field("ran"), count, |at| {
        let number = signed(&at)?;
        Ok((configuration(&at, if number < 0 { !number } else { number })?, number < 0))
    })?;
    let busbw = column(&part.field("busbw_gbps"), count, runs)?;
    let counts = part.field("runs").optional(|at| column(&at, count, |at| whole(&at, MAX_REPEATS)))?;
    let spreads =
        part.field("spread_pct").optional(|at| column(&at, count, |at| at.optional(|at| positive(&at, true))))?;
    let mut executed = vec![false; at.len()];
    part.field("executed").list(|at| {
        let place = at.value().as_u64().and_then(|place| executed.get_mut(usize::try_from(place).ok()?));
        place.into_iter().for_each(|place| *place = true);
        Ok(())
    })?;
    for (place, ((of_size, (configuration, is_default)), mut runs)) in at.into_iter().zip(ran).zip(busbw).enumerate() {
        if let SnapshotRuns::Median { runs, spread_pct, .. } = &mut runs {
            *runs = counts.as_ref().map_or(1, |counts| counts[place].max(1) as u32);
            *spread_pct = spreads.as_ref().and_then(|spreads| spreads[place]).filter(|_| *runs > 1);
        }
        let measurement = Measurement { configuration, executed: executed[place], runs };
        if is_default {
            sizes[of_size].default = Some(measurement);
        } else {
            sizes[of_size].measured.push(measurement);
        }
    }
    let drift = part.field("drift_pct").optional(|at| positive(&at, true))?;
    let passes = part.field("passes").optional(|at| Ok(whole(&at, MAX_REPEATS)? as u32))?;
    let words = part.field("measured_with");
    if !words.value().is_null() {
        within(&words, MAX_WORDS)?;
    }
    Ok(SnapshotGroup {
        collective: named(&part.field("collective"), Collective::parse)?,
        scale: Scale {
            nodes: whole(&part.field("nodes"), MAX_NODES)? as u32,
            ranks: whole(&part.field("ranks"), MAX_RANKS)? as u32,
        },
        measured_with: words.list(|at| name(&at))?,
        drift: drift.zip(passes).map(|(deviation_pct, passes)| Drift { deviation_pct, passes }),
        sizes,
    })
}

/// The runs of a point, or their median.
fn runs(at: Cursor<'_>) -> Result<SnapshotRuns> {
    match at.value() {
        Value::Array(runs) if runs.is_empty() || runs.len() > MAX_RUNS => {
            Err(at.expected(format!("1 to {MAX_RUNS} runs")))
        }
        Value::Array(_) => Ok(SnapshotRuns::Each(at.list(|at| positive(&at, false))?)),
        _ => Ok(SnapshotRuns::Median { busbw_gbps: positive(&at, false)?, runs: 1, spread_pct: None }),
    }
}
