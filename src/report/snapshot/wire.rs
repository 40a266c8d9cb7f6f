//! A snapshot as JSON, column by column: a list of places beside a list of their bandwidths is a third of a list of
//! objects, and deflates to less.
//!
//! Of a group: `sizes`, and for each what was `deployed`; `algorithms`, `protocols`, `channels` name configurations;
//! each entry of `at`, `ran`, `busbw_gbps` is a place: which size, which configuration (`!n`, which is −1 − n: the
//! default, which chose configuration n), and its runs or their median. Of medians, `runs` and `spread_pct` say more.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{DeployedChoice, Drift, Measurement, Snapshot, SnapshotGroup, SnapshotRuns, SnapshotSize};
use crate::collective::{Algorithm, Collective, Configuration, Protocol, Scale};

/// A snapshot that can't be read, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {expected} was expected")]
pub struct SnapshotError {
    /// The place in the JSON, such as `groups[1].channels`.
    pub place: String,
    /// The expected value, in words.
    pub expected: String,
}

/// A whole sweep has fewer; more is no sweep.
const MAX_GROUPS: usize = 100;
const MAX_PLACES: usize = 100_000;
const MAX_WORDS: usize = 16;
const MAX_WORD_LENGTH: usize = 80;

const LIBRARY: i64 = -1;
const UNKNOWN: i64 = -2;

impl Snapshot {
    /// The snapshot as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let groups: Vec<Value> = self.groups.iter().map(group_value).collect();
        json!({ "program": self.program, "whole": self.is_whole, "groups": groups })
    }

    /// From JSON, whoever wrote it.
    ///
    /// # Errors
    /// Something is missing, of another kind, or out of bounds; where and why.
    pub fn from_value(value: &Value) -> Result<Self, SnapshotError> {
        let top = JsonPart { value: object(value, "")?, place: String::new() };
        let listed = top.list("groups", MAX_GROUPS)?;
        let mut places = 0;
        let mut groups = Vec::with_capacity(listed.len());
        for (number, value) in listed.iter().enumerate() {
            let place = format!("groups[{number}]");
            let group = group(&JsonPart { value: object(value, &place)?, place }, &mut places)?;
            groups.push(group);
        }
        let mut snapshot = Self { program: top.word("program")?, is_whole: top.flag("whole"), groups };
        snapshot.put_in_order();
        Ok(snapshot)
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
        set("drift_pct", super::rounded(deviation_pct).into());
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

/// An object and where it stands.
struct JsonPart<'a> {
    value: &'a Map<String, Value>,
    place: String,
}

fn object<'a>(value: &'a Value, place: &str) -> Result<&'a Map<String, Value>, SnapshotError> {
    let problem = || SnapshotError { place: place.to_owned(), expected: "an object".to_owned() };
    value.as_object().ok_or_else(problem)
}

impl<'a> JsonPart<'a> {
    fn wrong(&self, name: &str, expected: impl Into<String>) -> SnapshotError {
        let dot = if self.place.is_empty() { "" } else { "." };
        SnapshotError { place: format!("{}{dot}{name}", self.place), expected: expected.into() }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    fn list(&self, name: &str, most: usize) -> Result<&'a [Value], SnapshotError> {
        let list = self.get(name).and_then(Value::as_array).ok_or_else(|| self.wrong(name, "a list"))?;
        if list.len() > most {
            return Err(self.wrong(name, format!("a list of at most {most}")));
        }
        Ok(list)
    }

    /// A list of as many things as another one has.
    fn as_long(&self, name: &str, other: usize) -> Result<&'a [Value], SnapshotError> {
        let list = self.list(name, MAX_PLACES)?;
        if list.len() == other { Ok(list) } else { Err(self.wrong(name, format!("a list of {other}"))) }
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    fn word(&self, name: &str) -> Result<String, SnapshotError> {
        let text = self.get(name).and_then(Value::as_str).ok_or_else(|| self.wrong(name, "a text"))?;
        Ok(plain(text))
    }

    fn whole(&self, name: &str, value: &Value, most: u64) -> Result<u64, SnapshotError> {
        let number = value.as_u64().filter(|number| *number <= most);
        number.ok_or_else(|| self.wrong(name, format!("a whole number up to {most}")))
    }

    fn number(&self, name: &str, most: u64) -> Result<u32, SnapshotError> {
        let value = self.get(name).unwrap_or(&Value::Null);
        Ok(self.whole(name, value, most)?.try_into().unwrap_or(u32::MAX))
    }

    fn signed(&self, name: &str, value: &Value) -> Result<i64, SnapshotError> {
        value.as_i64().ok_or_else(|| self.wrong(name, "a whole number"))
    }

    /// A number above zero, or zero where that may be.
    fn positive(&self, name: &str, value: &Value, from_zero: bool) -> Result<f64, SnapshotError> {
        const MAX: f64 = 1e9;
        const MIN: f64 = 1e-9;
        let number = value.as_f64().filter(|n| (MIN..=MAX).contains(n) || (from_zero && (0.0..=MAX).contains(n)));
        number.ok_or_else(|| self.wrong(name, "a number above zero"))
    }

    fn named<T>(&self, name: &str, value: &Value, parse: fn(&str) -> Option<T>) -> Result<T, SnapshotError> {
        let known = value.as_str().and_then(parse);
        known.ok_or_else(|| self.wrong(name, "a name that this version knows"))
    }
}

/// The text without characters other than those of names and versions: it stands in sentences, where nothing may be
/// markup.
fn plain(text: &str) -> String {
    let is_part = |c: &char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '.' | '+' | '-' | ':' | '_' | ',' | '·');
    text.chars().filter(is_part).take(MAX_WORD_LENGTH).collect()
}

/// Limits of sizes, nodes, ranks, channels and repeats, as the reader of sweeps has them.
const MAX_BYTES: u64 = 1 << 53;
const MAX_NODES: u64 = 1_000_000;
const MAX_RANKS: u64 = 10_000_000;
const MAX_CHANNELS: u64 = 1024;
const MAX_REPEATS: u64 = 1_000_000;

fn group(part: &JsonPart<'_>, places: &mut usize) -> Result<SnapshotGroup, SnapshotError> {
    let (algorithms, protocols) = (part.list("algorithms", MAX_PLACES)?, part.list("protocols", MAX_PLACES)?);
    let channels = part.as_long("channels", algorithms.len())?;
    if protocols.len() != algorithms.len() {
        return Err(part.wrong("protocols", "as many as algorithms"));
    }
    let mut configurations = Vec::with_capacity(channels.len());
    for ((algorithm, protocol), channels) in algorithms.iter().zip(protocols).zip(channels) {
        configurations.push(Configuration {
            algorithm: part.named("algorithms", algorithm, Algorithm::parse)?,
            protocol: part.named("protocols", protocol, Protocol::parse)?,
            channels: part.whole("channels", channels, MAX_CHANNELS)? as u32,
        });
    }
    let configuration = |name: &str, number: i64| {
        let known = usize::try_from(number).ok().and_then(|number| configurations.get(number)).copied();
        known.ok_or_else(|| part.wrong(name, format!("one of {} configurations", configurations.len())))
    };
    let sizes_bytes = part.list("sizes", MAX_PLACES)?;
    let mut sizes = Vec::with_capacity(sizes_bytes.len());
    for (size, deployed) in sizes_bytes.iter().zip(part.as_long("deployed", sizes_bytes.len())?) {
        let deployed = match part.signed("deployed", deployed)? {
            UNKNOWN => DeployedChoice::Unknown,
            LIBRARY => DeployedChoice::Default,
            number => DeployedChoice::Configuration(configuration("deployed", number)?),
        };
        let size_bytes = part.whole("sizes", size, MAX_BYTES)?;
        sizes.push(SnapshotSize { size_bytes, deployed, default: None, measured: Vec::new() });
    }
    let at = part.list("at", MAX_PLACES)?;
    *places += at.len() + sizes.len() + configurations.len();
    if *places > MAX_PLACES {
        return Err(part.wrong("at", format!("at most {MAX_PLACES} places in all groups")));
    }
    let ran = part.as_long("ran", at.len())?;
    let busbw = part.as_long("busbw_gbps", at.len())?;
    let optional = |name: &str| part.get(name).map(|_| part.as_long(name, at.len())).transpose();
    let (counts, spreads) = (optional("runs")?, optional("spread_pct")?);
    let mut executed = vec![false; at.len()];
    for number in part.get("executed").map(|_| part.list("executed", MAX_PLACES)).transpose()?.unwrap_or_default() {
        if let Some(place) = number.as_u64().and_then(|number| executed.get_mut(usize::try_from(number).ok()?)) {
            *place = true;
        }
    }
    for (place, at) in at.iter().enumerate() {
        let number = part.whole("at", at, MAX_PLACES as u64)? as usize;
        let known = sizes.len();
        let of_size = sizes.get_mut(number).ok_or_else(|| part.wrong("at", format!("one of {known} sizes")))?;
        let number = part.signed("ran", &ran[place])?;
        let is_default = number < 0;
        let configuration = configuration("ran", if is_default { !number } else { number })?;
        let entry = |column: Option<&'_ [Value]>| column.and_then(|column| column.get(place)).cloned();
        let runs = runs(part, &busbw[place], entry(counts), entry(spreads))?;
        let measurement = Measurement { configuration, executed: executed[place], runs };
        if is_default {
            of_size.default = Some(measurement);
        } else {
            of_size.measured.push(measurement);
        }
    }
    let scale = Scale { nodes: part.number("nodes", MAX_NODES)?, ranks: part.number("ranks", MAX_RANKS)? };
    let collective = part.named("collective", part.get("collective").unwrap_or(&Value::Null), Collective::parse)?;
    let drift = match (part.get("drift_pct"), part.get("passes")) {
        (Some(drift), Some(passes)) => Some(Drift {
            deviation_pct: part.positive("drift_pct", drift, true)?,
            passes: part.whole("passes", passes, MAX_REPEATS)? as u32,
        }),
        _ => None,
    };
    let words = part.get("measured_with").map(|_| part.list("measured_with", MAX_WORDS)).transpose()?;
    let word = |value: &Value| {
        let text = value.as_str().ok_or_else(|| part.wrong("measured_with", "texts"))?;
        Ok(plain(text))
    };
    let measured_with = words.unwrap_or_default().iter().map(word).collect::<Result<Vec<String>, SnapshotError>>()?;
    Ok(SnapshotGroup { collective, scale, measured_with, drift, sizes })
}

fn runs(
    part: &JsonPart<'_>,
    busbw: &Value,
    count: Option<Value>,
    spread: Option<Value>,
) -> Result<SnapshotRuns, SnapshotError> {
    if let Some(runs) = busbw.as_array() {
        if runs.is_empty() || runs.len() > super::MAX_RUNS {
            return Err(part.wrong("busbw_gbps", format!("1 to {} runs", super::MAX_RUNS)));
        }
        let each: Result<Vec<f64>, _> = runs.iter().map(|run| part.positive("busbw_gbps", run, false)).collect();
        return Ok(SnapshotRuns::Each(each?));
    }
    let busbw_gbps = part.positive("busbw_gbps", busbw, false)?;
    let runs = count.map(|count| part.whole("runs", &count, MAX_REPEATS)).transpose()?.unwrap_or(1).max(1) as u32;
    let spread = spread.filter(|spread| !spread.is_null() && runs > 1);
    let spread_pct = spread.map(|spread| part.positive("spread_pct", &spread, true)).transpose()?;
    Ok(SnapshotRuns::Median { busbw_gbps, runs, spread_pct })
}
