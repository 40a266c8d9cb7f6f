//! Attributes the lines of a log to arms, by the first method that applies; the result names the method.

use super::{
    arm::Arm,
    file::{Choice, Policy},
    key::{BandKey, Key},
    read::{Log, LogForm, PartialKey, Row},
    request::{LogSettings, Schedule},
    result::Attribution,
};
use crate::{
    bandit::{
        schedule::{block_length, fill_block},
        series::period_p,
    },
    collective::Collective,
    units::{Size, count},
};

/// One line of a log with its key and arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    pub key: Key,
    /// The arm that ran; `None` if it could not be attributed.
    pub arm: Option<Arm>,
    /// Latency of the call or iteration, in milliseconds.
    pub latency_ms: f64,
    /// The probability with which the arm was chosen, between 0 and 1.
    pub propensity: Option<f64>,
    pub line: u32,
}

/// A log whose lines are attributed to arms.
#[derive(Clone, Debug, PartialEq)]
pub struct Attributed {
    pub how: Attribution,
    /// The lines, in file order.
    pub lines: Vec<Observation>,
    pub notes: Vec<String>,
    /// The log shows no trace of the schedule by which it was attributed: P of its period by chance.
    pub no_trace: Option<f64>,
}

/// Attributes each line of a log to a key and an arm. `elsewhere` are the keys of other logs. Returns a sentence
/// without its subject if a key lacks something that is stated nowhere.
pub fn attribute(
    log: &Log,
    settings: &LogSettings,
    schedule: &Schedule,
    elsewhere: &[PartialKey],
) -> Result<Attributed, String> {
    let mut notes = Vec::new();
    let keys = keys(log, settings, elsewhere, &mut notes)?;
    let policies = &schedule.policies;
    let arms = &schedule.arms;
    // A log that tells no generations ran by one policy.
    let policy_of = |row: &Row| match row.generation {
        Some(own) => policies.iter().find(|policy| policy.generation == own),
        None => policies.first().filter(|_| policies.len() == 1),
    };
    let by_policy = log.rows.iter().any(|row| row.call.is_some() && policy_of(row).is_some());
    let has_arms = log.rows.iter().any(|row| row.arm.is_some());
    if let Some(given) = settings.arm {
        let is_other = |arm: u16| log.numbered_arms || log.arms.get(usize::from(arm)) != Some(&given);
        if log.rows.iter().any(|row| row.arm.is_some_and(is_other)) {
            notes.push(format!(
                "It names the arms of its lines itself: {given}, which is given for all of them, stands instead"
            ));
        } else if let Some(named) = log.name.arm.filter(|named| *named != given) {
            notes.push(format!("Its name says {named}: {given}, which is given, stands instead"));
        }
    }
    let has_calls = log.rows.iter().any(|row| row.call.is_some());
    let has_generations = log.rows.iter().any(|row| row.generation.is_some());
    // Dealt by a policy, whether or not its file is here.
    let is_dealt = by_policy || (has_calls && has_generations && !policies.is_empty());
    let how = if settings.arm.is_some() {
        Attribution::Given
    } else if has_arms && log.numbered_arms && arms.is_empty() {
        notes.push("It names arms by numbers, and nobody says which is which".to_owned());
        Attribution::None
    } else if has_arms {
        Attribution::Columns
    } else if is_dealt {
        Attribution::Schedule
    } else if has_calls && arms.len() > 1 {
        Attribution::CallTurns
    } else if log.name.arm.is_some() {
        Attribution::Name
    } else if arms.len() > 1 && schedule.warm_up.is_some() && log.form != LogForm::Times {
        Attribution::LineTurns
    } else {
        Attribution::None
    };
    if has_calls && !has_arms && !by_policy && !policies.is_empty() && how != Attribution::Given {
        notes.push(if has_generations {
            "There is no policy file of the generations in its lines".to_owned()
        } else {
            format!("It does not say by which of {} policy files its lines ran", policies.len())
        });
    }
    let mut counts = std::collections::BTreeMap::new();
    let mut dealt = DealtArms::default();
    let mut lines = Vec::with_capacity(log.rows.len());
    let mut beyond = 0_u64;
    for row in &log.rows {
        let Some(key) = keys[row.key as usize] else { continue };
        let turn = counts.entry(row.key).or_insert(u64::from(schedule.warm_up.unwrap_or(0)));
        let by_line = *turn;
        *turn += 1;
        if row.line < settings.from_line {
            continue;
        }
        let takes_turns = |call: u64| schedule.turns.is_none_or(|turns| call < u64::from(turns));
        let mut propensity = row.propensity;
        let arm = match how {
            Attribution::Given => settings.arm,
            Attribution::Columns if log.numbered_arms => {
                let arm = row.arm.and_then(|arm| arms.get(usize::from(arm)).copied());
                beyond += u64::from(arm.is_none());
                arm
            }
            Attribution::Columns => row.arm.and_then(|arm| log.arms.get(usize::from(arm)).copied()),
            Attribution::Name => log.name.arm,
            Attribution::CallTurns => row
                .call
                .filter(|call| takes_turns(*call))
                .and_then(|call| arms.get((call % arms.len() as u64) as usize).copied()),
            Attribution::LineTurns => takes_turns(by_line).then(|| arms[(by_line % arms.len() as u64) as usize]),
            Attribution::Schedule => {
                let ran = policy_of(row).zip(row.call).and_then(|(policy, call)| {
                    let (place, propensity) = dealt.place(policy, &key.in_band(&policy.bands), call)?;
                    Some((*policy.arms.get(place)?, propensity))
                });
                propensity = propensity.or(ran.map(|(_, propensity)| propensity));
                ran.map(|(arm, _)| arm)
            }
            Attribution::None => None,
        };
        lines.push(Observation { key, arm, latency_ms: row.latency_ms, propensity, line: row.line });
    }
    let before = log.rows.iter().filter(|row| row.line < settings.from_line).count() as u64;
    if before > 0 {
        notes.push(format!("{} before line {} left out", count(before, "line"), settings.from_line));
    }
    if beyond > 0 {
        notes.push(format!("{}: the arm's number is beyond the table of arms", count(beyond, "line")));
    }
    let no_trace = match how {
        Attribution::Schedule | Attribution::CallTurns | Attribution::LineTurns => trace(&lines, arms.len()),
        _ => None,
    };
    Ok(Attributed { how, lines, notes, no_trace })
}

/// P that the arms' latencies differ as much by chance, where that is likely: of the first key's attributed lines.
/// Turns of a schedule have no period, so lines are first put in an order in which they have one.
fn trace(lines: &[Observation], arms: usize) -> Option<f64> {
    let key = lines.first()?.key;
    let of_key = || lines.iter().filter(move |line| line.key == key && line.arm.is_some());
    let mut by_arm: Vec<(Arm, Vec<f64>)> = Vec::new();
    for line in of_key() {
        let Some(arm) = line.arm else { continue };
        match by_arm.iter_mut().find(|(known, _)| *known == arm) {
            Some((_, values)) => values.push(line.latency_ms),
            None => by_arm.push((arm, vec![line.latency_ms])),
        }
    }
    let rounds = by_arm.iter().map(|(_, values)| values.len()).min()?;
    let turns: Vec<f64> = (0..rounds).flat_map(|round| by_arm.iter().map(move |(_, values)| values[round])).collect();
    if by_arm.len() < 2 || arms == 1 {
        return None;
    }
    let p = period_p(&turns, by_arm.len(), 7);
    (p >= 0.05).then_some(p)
}

/// The arms that policies deal out call by call. Of each schedule the last block is cached.
#[derive(Default)]
pub(super) struct DealtArms {
    of: Option<(u64, u64, u64)>,
    order: Vec<u8>,
}

impl DealtArms {
    /// The arm of a call, by place among the policy's, and the probability with which it was chosen.
    pub(super) fn place(&mut self, policy: &Policy, key: &BandKey, call: u64) -> Option<(usize, f64)> {
        let Some(entry) = policy.entry(key) else { return Some((0, 1.0)) };
        match &entry.choice {
            Choice::Counts(_) if call >= policy.explores_until(key) => Some((0, 1.0)),
            Choice::Fixed(arm) => Some((*arm as usize, 1.0)),
            Choice::Counts(counts) => {
                let length = block_length(counts) as u64;
                let (block, place) = (call / length, call % length);
                let hash = key.hash();
                let of = Some((policy.generation, hash, block));
                if self.of != of {
                    self.order.resize(length as usize, 0);
                    fill_block(counts, policy.seed, hash, block, &mut self.order);
                    self.of = of;
                }
                let arm = usize::from(*self.order.get(place as usize)?);
                Some((arm, f64::from(counts[arm]) / length as f64))
            }
        }
    }
}

/// The complete keys of a log; `None` for one that lacks something that is stated nowhere, if other keys don't.
fn keys(
    log: &Log,
    settings: &LogSettings,
    elsewhere: &[PartialKey],
    notes: &mut Vec<String>,
) -> Result<Vec<Option<Key>>, String> {
    let given = PartialKey {
        collective: settings.collective,
        scale: settings.scale,
        size_bytes: settings.size_bytes,
        overlap: settings.overlap,
    };
    let one = |key: &PartialKey| {
        let named = PartialKey {
            collective: key.collective.or(given.collective),
            scale: key.scale.or(given.scale).or(log.name.scale),
            size_bytes: key.size_bytes.or(given.size_bytes).or(log.name.size_bytes),
            overlap: key.overlap.or(given.overlap),
        };
        // What all other logs agree on that are about the same.
        let agrees = |other: &&PartialKey| {
            named.scale.is_none_or(|scale| other.scale == Some(scale))
                && named.size_bytes.is_none_or(|size| other.size_bytes == Some(size))
        };
        let mut fitting = elsewhere.iter().filter(agrees);
        let other = fitting.next().copied().filter(|first| fitting.all(|other| other == first));
        let mut named = other.map_or(named, |other| PartialKey {
            collective: named.collective.or(other.collective),
            scale: named.scale.or(other.scale),
            size_bytes: named.size_bytes.or(other.size_bytes),
            overlap: named.overlap,
        });
        if named.collective.is_none() {
            notes.push("It names no collective: taken for all_reduce".to_owned());
            named.collective = Some(Collective::AllReduce);
        }
        named.completed(&given).ok_or_else(|| {
            let missing = match (named.size_bytes, named.scale) {
                (None, None) => "size, nodes and ranks",
                (None, _) => "size",
                _ => "nodes and ranks",
            };
            format!("says nothing of {missing}, and nor does its name: give them, or name it like times_tree_simple_2x8_64MB.txt")
        })
    };
    let keys: Vec<Result<Key, String>> = log.keys.iter().map(one).collect();
    notes.dedup();
    let own = |what: &str, given: Option<String>, of: fn(&PartialKey) -> Option<String>| {
        let given = given?;
        let all: Option<Vec<String>> = log.keys.iter().map(of).collect();
        let is_unused = all.is_some_and(|all| !all.is_empty() && !all.contains(&given));
        is_unused.then(|| format!("It says its {what} itself: {given}, which is given, is not used"))
    };
    let collective = |key: &PartialKey| Some(key.collective?.to_string());
    let scale = |key: &PartialKey| Some(key.scale?.to_string());
    let size = |key: &PartialKey| Some(Size(key.size_bytes?).to_string());
    let overlap = |key: &PartialKey| Some(if key.overlap? { "overlap" } else { "no overlap" }.to_owned());
    notes.extend(own("collective", collective(&given), collective));
    notes.extend(own("nodes and ranks", scale(&given), scale));
    notes.extend(own("size", size(&given), size));
    notes.extend(own("overlap", overlap(&given), overlap));
    let lacking = keys.iter().find_map(|key| key.as_ref().err().cloned());
    if let Some(lacking) = lacking {
        if keys.iter().all(Result::is_err) {
            return Err(lacking);
        }
        let is_lacking = |row: &&Row| keys.get(row.key as usize).is_some_and(Result::is_err);
        let lines = log.rows.iter().filter(is_lacking).count() as u64;
        notes.push(format!("{} left out: their key {lacking}", count(lines, "line")));
    }
    Ok(keys.into_iter().map(Result::ok).collect())
}
