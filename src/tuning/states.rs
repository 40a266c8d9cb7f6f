//! The measured states that can be compared with each other: what is loaded, one of its files by itself, and reports.

use std::{collections::BTreeMap, fmt, str::FromStr};

use crate::report::snapshot::Snapshot;

/// Which measured state. As text: `loaded`, `link`, or the number of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateKey {
    /// All loaded measurements, with the latest answer.
    Loaded,
    /// The report that the page was last opened with by a link.
    Link,
    /// A loaded report, or what one loaded file measures by itself.
    File(u32),
}

impl fmt::Display for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loaded => f.write_str("loaded"),
            Self::Link => f.write_str("link"),
            Self::File(file) => write!(f, "{file}"),
        }
    }
}

impl FromStr for StateKey {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "loaded" => Self::Loaded,
            "link" => Self::Link,
            file => Self::File(file.parse()?),
        })
    }
}

/// States beside the loaded measurements.
#[derive(Debug, Default)]
pub struct States {
    /// The numbers of the loaded reports.
    reports: Vec<u32>,
    /// The numbers of the loaded files with measurements, also of those of another set.
    sweeps: Vec<u32>,
    /// The title of the report of the link, if one was given.
    link: Option<String>,
    /// What was read of files and of the link: the measurements, or why there are none.
    given: BTreeMap<StateKey, Result<Snapshot, String>>,
}

impl States {
    /// The loaded reports and the loaded files with measurements, before any is read by itself.
    pub fn of(reports: Vec<u32>, sweeps: Vec<u32>) -> Self {
        Self { reports, sweeps, ..Self::default() }
    }

    /// All that can be compared, with their names: reports first, because they are older than what is loaded, then
    /// sweeps. `name` is the name of a file.
    pub fn named(&self, name: impl Fn(u32) -> String) -> Vec<(StateKey, String)> {
        let file = |file: &u32| (StateKey::File(*file), name(*file));
        let mut states: Vec<_> =
            self.link.iter().map(|title| (StateKey::Link, format!("{title}, from a link"))).collect();
        states.extend(self.reports.iter().map(file));
        match &self.sweeps[..] {
            [] => {}
            [only] => states.push((StateKey::Loaded, name(*only))),
            several => {
                states.extend(several.iter().map(file));
                states.push((StateKey::Loaded, "all that is loaded".to_owned()));
            }
        }
        states
    }

    /// Whether a state is not several files together.
    pub fn is_single(&self, state: StateKey) -> bool {
        state != StateKey::Loaded || self.sweeps.len() < 2
    }

    /// Takes what was read of a file.
    pub fn take_file(&mut self, file: u32, read: Result<Snapshot, String>) {
        self.given.insert(StateKey::File(file), read);
    }

    /// Takes the measurements within the report of a link.
    pub fn take_link(&mut self, title: String, snapshot: Snapshot) {
        self.link = Some(title);
        self.given.insert(StateKey::Link, Ok(snapshot));
    }

    /// What was read of a state; `None` where it has not been read.
    pub fn get(&self, state: StateKey) -> Option<Result<&Snapshot, &str>> {
        self.given.get(&state).map(|read| read.as_ref().map_err(String::as_str))
    }

    /// Forgets the files that are in none of these states: a sweep of a million rows has a large snapshot.
    pub fn keep(&mut self, used: &[StateKey]) {
        self.given.retain(|state, _| *state == StateKey::Link || used.contains(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_named_in_an_address() {
        for state in [StateKey::Loaded, StateKey::Link, StateKey::File(7)] {
            assert_eq!(state.to_string().parse(), Ok(state));
        }
        assert!("-1".parse::<StateKey>().is_err());
    }

    #[test]
    fn reports_come_before_sweeps_and_a_single_sweep_is_what_is_loaded() {
        let mut states = States::of(vec![4], vec![2]);
        states.take_link("Earlier".to_owned(), Snapshot::default());
        let name = |file: u32| format!("file {file}");
        let keys = |states: &States| states.named(name).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        assert_eq!(keys(&states), [StateKey::Link, StateKey::File(4), StateKey::Loaded]);
        assert_eq!(states.named(name)[2].1, "file 2");
        states.sweeps.push(3);
        let [StateKey::Link, StateKey::File(4), StateKey::File(2), StateKey::File(3), StateKey::Loaded] =
            keys(&states)[..]
        else {
            panic!("{:?}", states.named(name))
        };
        states.take_file(2, Err("empty".to_owned()));
        states.keep(&[StateKey::File(3)]);
        assert!(states.get(StateKey::File(2)).is_none() && states.get(StateKey::Link).is_some());
    }
}
