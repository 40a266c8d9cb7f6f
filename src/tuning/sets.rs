//! Measurements that must not be pooled are kept apart.
//!
//! Where the rows of a collective and scale were measured with different libraries, data types, operations or nodes, they
//! fall into sets, and everything is studied on one of them. What a row does not say, where others say different things,
//! sets it apart as well. A collective and scale that was measured in one way only belongs to every set.

use serde::{Deserialize, Serialize};

use super::{
    model_file::fnv1a,
    origin::{Aspect, Origins},
    read::Row,
};
use crate::{
    collective::{Collective, Scale},
    order::Order,
    sorted::{SortedMap, SortedSet},
    units::count,
};

/// Which set of measurements is studied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Choice {
    /// The one with the most rows; of equal ones that which was read first.
    #[default]
    Largest,
    /// The one with this [`Set::key`].
    One(u32),
    /// All together, as though they had been measured in one way.
    Pooled,
}

/// Measurements that can be studied together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Set {
    /// Names it in addresses: a number that its label makes, the same whenever the same is read.
    pub key: u32,
    /// What tells it from the others: `NCCL 2.29.2 · float sum`.
    pub label: String,
    /// Its rows, with those that belong to every set.
    pub rows: u64,
}

/// The sets that rows fall into; none where nothing must be kept apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sets {
    /// All of them, the one with the most rows first.
    pub all: Vec<Set>,
    /// The rows of all together.
    pub pooled_rows: u64,
    /// Which is studied; never [`Choice::Largest`] where there are any.
    pub chosen: Choice,
    /// Which they are, from which files, and which is studied: a sentence for people.
    pub note: String,
}

impl Sets {
    /// What [`Choice::Pooled`] is called.
    pub const POOLED: &str = "all together, pooled";

    /// What is studied, in words; `None` where there is nothing to tell apart.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        match self.chosen {
            Choice::Pooled if !self.all.is_empty() => Some(Self::POOLED),
            Choice::One(key) => self.all.iter().find(|set| set.key == key).map(|set| set.label.as_str()),
            _ => None,
        }
    }

    /// Whether a choice can be made here.
    #[must_use]
    pub fn has(&self, choice: Choice) -> bool {
        match choice {
            Choice::Largest => true,
            Choice::One(key) => self.all.iter().any(|set| set.key == key),
            Choice::Pooled => !self.all.is_empty(),
        }
    }
}

/// A value of each aspect; `None`: not stated.
type Values = [Option<String>; Aspect::ALL.len()];

/// For each aspect, whether it differs.
type Differs = [bool; Aspect::ALL.len()];

/// A value of an aspect, and how many rows have it.
type Value<'a> = (&'a Option<String>, u64);

type Group = (Collective, Scale);

/// Rows of one origin and file.
struct Class {
    group: Group,
    origin: u16,
    file: u16,
    rows: u64,
    /// Index of the first.
    first: usize,
    values: Values,
}

/// Finds the sets that rows fall into and keeps the rows of the one that `choose` chooses; `name` names a file.
pub fn divide(
    rows: &mut Vec<Row>,
    origins: &Origins,
    name: &dyn Fn(u16) -> String,
    choose: &mut dyn FnMut(&[Set]) -> Choice,
) -> Sets {
    let mut classes = classes(rows, origins);
    let differs = differences(&mut classes);
    if differs.is_empty() {
        return Sets::default();
    }
    let apart = Apart { differs, classes };
    let (keys, all): (Vec<Values>, Vec<Set>) = apart.sets().into_iter().unzip();
    let chosen = match choose(&all) {
        Choice::Pooled => Choice::Pooled,
        Choice::One(key) if all.iter().any(|set| set.key == key) => Choice::One(key),
        _ => Choice::One(all[0].key),
    };
    let pooled_rows = rows.len() as u64;
    let studied = all.iter().position(|set| chosen == Choice::One(set.key)).map(|at| &keys[at]);
    if let Some(studied) = studied {
        let of_set = apart.classes.iter().filter(|class| apart.holds(studied, class));
        let kept: SortedSet<(Group, u16)> = of_set.map(|class| (class.group, class.origin)).collect();
        let mut last = None;
        rows.retain(|row| {
            let key = ((row.workload.collective, row.workload.scale), row.origin);
            match last {
                Some((known, keep)) if known == key => keep,
                _ => {
                    let keep = kept.contains(&key);
                    last = Some((key, keep));
                    keep
                }
            }
        });
    }
    let mut sets = Sets { all, pooled_rows, chosen, note: String::new() };
    sets.note = apart.note(&sets, &keys, studied, name);
    sets
}

/// The rows by group, origin and file, in the order in which they were met.
fn classes(rows: &[Row], origins: &Origins) -> Vec<Class> {
    let mut found: SortedMap<(Group, u16, u16), (usize, u64)> = SortedMap::new();
    let key = |row: &Row| ((row.workload.collective, row.workload.scale), row.origin, row.file);
    let mut first = 0;
    for same in rows.chunk_by(|a, b| key(a) == key(b)) {
        found.entry(key(&same[0])).or_insert((first, 0)).1 += same.len() as u64;
        first += same.len();
    }
    let class = |((group, origin, file), (first, rows))| {
        let values = origins.get(origin).values().clone();
        Class { group, origin, file, rows, first, values }
    };
    let mut classes: Vec<Class> = found.into_iter().map(class).collect();
    classes.order_by_key(|class| class.first);
    classes
}

/// In what the rows of each group differ; groups that were measured in one way are left out. Where a value is a shorter
/// spelling of one other, it becomes that one.
fn differences(classes: &mut [Class]) -> SortedMap<Group, Differs> {
    let mut known: SortedMap<(Group, usize), SortedSet<String>> = SortedMap::new();
    for class in &*classes {
        for (aspect, value) in class.values.iter().enumerate() {
            if let Some(value) = value {
                known.entry((class.group, aspect)).or_default().insert(value.clone());
            }
        }
    }
    let mut differs: SortedMap<Group, Differs> = SortedMap::new();
    for ((group, aspect), values) in &known {
        let mut distinct = values.len();
        for short in values.iter() {
            let mut longer = values.iter().filter(|long| is_short_for(short, long));
            if let (Some(long), None) = (longer.next(), longer.next()) {
                distinct -= 1;
                let of_group = classes.iter_mut().filter(|class| class.group == *group);
                let stated = of_group.filter_map(|class| class.values[*aspect].as_mut());
                stated.filter(|value| *value == short).for_each(|value| value.clone_from(long));
            }
        }
        if distinct > 1 {
            differs.entry(*group).or_default()[*aspect] = true;
        }
    }
    differs
}

/// `2.29.2` is short for `NCCL 2.29.2+cuda12.9`.
fn is_short_for(short: &str, long: &str) -> bool {
    let Some((before, after)) = long.split_once(short) else { return false };
    let is_boundary = |c: char| matches!(c, ' ' | '+' | '-');
    short != long
        && (before.is_empty() || before.ends_with(' '))
        && (after.is_empty() || after.starts_with(is_boundary))
}

/// What is kept apart.
struct Apart {
    differs: SortedMap<Group, Differs>,
    classes: Vec<Class>,
}

impl Apart {
    fn differs(&self, class: &Class) -> Differs {
        self.differs.get(&class.group).copied().unwrap_or_default()
    }

    /// The rows belong to a set.
    fn holds(&self, set: &Values, class: &Class) -> bool {
        let differs = self.differs(class);
        (0..differs.len()).all(|aspect| !differs[aspect] || class.values[aspect] == set[aspect])
    }

    /// The aspects in which any group differs.
    fn aspects(&self) -> impl Iterator<Item = usize> {
        (0..Aspect::ALL.len()).filter(|aspect| self.differs.values().any(|differs| differs[*aspect]))
    }

    /// The values of an aspect where it differs, with their rows, in the order in which they were met.
    fn values(&self, aspect: usize) -> Vec<Value<'_>> {
        let mut values: Vec<Value<'_>> = Vec::new();
        for class in self.classes.iter().filter(|class| self.differs(class)[aspect]) {
            match values.iter_mut().find(|(value, _)| **value == class.values[aspect]) {
                Some((_, rows)) => *rows += class.rows,
                None => values.push((&class.values[aspect], class.rows)),
            }
        }
        values
    }

    /// The sets, the one with the most rows first: what the rows of each group that differs are, and in aspects in which
    /// that group does not differ its own value, or else the most frequent one.
    fn sets(&self) -> Vec<(Values, Set)> {
        let aspects: Vec<(usize, Vec<Value<'_>>)> =
            self.aspects().map(|aspect| (aspect, self.values(aspect))).collect();
        let mut found: Vec<Values> = Vec::new();
        for class in self.classes.iter().filter(|class| self.differs.contains_key(&class.group)) {
            let mut set = Values::default();
            for (aspect, values) in &aspects {
                let own = &class.values[*aspect];
                let is_known = own.is_some() && values.iter().any(|(value, _)| *value == own);
                set[*aspect] = if self.differs(class)[*aspect] || is_known {
                    own.clone()
                } else {
                    let most = values.iter().copied().reduce(|most, next| if next.1 > most.1 { next } else { most });
                    most.and_then(|(value, _)| value.clone())
                };
            }
            if !found.contains(&set) {
                found.push(set);
            }
        }
        let nodes = self.nodes();
        let described = |values: Values| {
            let label = self.label(&values, &nodes);
            let rows = self.classes.iter().filter(|class| self.holds(&values, class)).map(|class| class.rows).sum();
            (values, Set { key: fnv1a(label.bytes()) as u32, label, rows })
        };
        let mut sets: Vec<(Values, Set)> = found.into_iter().map(described).collect();
        sets.order_by_key(|(_, set)| std::cmp::Reverse(set.rows));
        sets
    }

    /// The sets of nodes that are told apart, as they are counted.
    fn nodes(&self) -> SortedSet<String> {
        let values = self.values(Aspect::Nodes as usize);
        values.into_iter().filter_map(|(value, _)| value.clone()).collect()
    }

    /// What tells a set from the others.
    fn label(&self, values: &Values, nodes: &SortedSet<String>) -> String {
        let mut label = String::new();
        for aspect in self.aspects() {
            let kind = Aspect::ALL[aspect];
            if !label.is_empty() {
                label += if kind == Aspect::Operation && self.aspects().any(|a| a == Aspect::DataType as usize) {
                    " "
                } else {
                    " · "
                };
            }
            match (kind, &values[aspect]) {
                (Aspect::Library, None) => label += "library not stated",
                (Aspect::DataType, None) => label += "data type not stated",
                (Aspect::Operation, None) => label += "operation not stated",
                (Aspect::Nodes, None) => label += "nodes not stated",
                (Aspect::Nodes, Some(value)) => {
                    let number = nodes.iter().position(|known| known == value).map_or(0, |at| at + 1);
                    label += &format!("node set {number}");
                }
                (_, Some(value)) => label += value,
            }
        }
        label
    }

    fn note(&self, sets: &Sets, keys: &[Values], studied: Option<&Values>, name: &dyn Fn(u16) -> String) -> String {
        /// The most sets, and files of each, that are named.
        const NAMED: usize = 6;
        let mut told = Vec::new();
        for (set, values) in sets.all.iter().zip(keys).take(NAMED) {
            let mut files: SortedMap<u16, u64> = SortedMap::new();
            let own = self.classes.iter().filter(|class| self.differs.contains_key(&class.group));
            for class in own.filter(|class| self.holds(values, class)) {
                *files.entry(class.file).or_default() += class.rows;
            }
            let named =
                files.iter().take(NAMED).map(|(file, rows)| format!("{} of {}", count(*rows, "row"), name(*file)));
            let named: Vec<String> = named.collect();
            told.push(format!("{} ({}{})", set.label, named.join(", "), more(files.len(), NAMED)));
        }
        let shown = match studied {
            Some(_) => format!("Used is {}", sets.label().unwrap_or_default()),
            None => "They are pooled because you chose so; such conclusions don't carry over".to_owned(),
        };
        let mut note = format!(
            "These measurements were taken in {} ways and are kept apart: {}{}. {shown}",
            sets.all.len(),
            told.join("; "),
            more(sets.all.len(), NAMED),
        );
        if let Some(set) = studied {
            self.strangers(set).iter().for_each(|stranger| note += stranger);
        }
        note
    }

    /// Groups that belong to every set, though what they say is not what this one is.
    fn strangers(&self, set: &Values) -> Vec<String> {
        let mut said: Vec<String> = Vec::new();
        for class in &self.classes {
            let differs = self.differs(class);
            for aspect in self.aspects().filter(|aspect| !differs[*aspect] && *aspect != Aspect::Nodes as usize) {
                if let (Some(own), Some(of_set)) = (&class.values[aspect], &set[aspect])
                    && own != of_set
                {
                    let (collective, scale) = class.group;
                    let text =
                        format!("; {collective} on {scale} was measured with {own} only and belongs to every set");
                    if !said.contains(&text) {
                        said.push(text);
                    }
                }
            }
        }
        said
    }
}

fn more(all: usize, named: usize) -> String {
    if all > named { format!(" and {} more", all - named) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Configuration, Protocol, Workload},
        tuning::{origin::Origin, read},
    };

    const REDUCE: Collective = Collective::AllReduce;
    const GATHER: Collective = Collective::AllGather;

    /// Rows of a file: collective, library, data type, operation, nodes, how many.
    type Lot<'a> = (u16, Collective, &'a str, &'a str, &'a str, u64, u64);

    fn rows(lots: &[Lot<'_>]) -> (Vec<Row>, Origins) {
        let mut origins = Origins::default();
        let mut rows = Vec::new();
        for (file, collective, library, datatype, redop, nodes, count) in lots {
            let mut origin = Origin::default();
            origin.library("NCCL", library);
            origin.measured_type(datatype, redop);
            origin.nodes(Some(*nodes).filter(|nodes| *nodes > 0));
            let number = origins.number(&origin, 100).unwrap();
            let scale = Scale { nodes: 2, ranks: 16 };
            rows.extend((0..*count).map(|line| Row {
                file: *file,
                line: line as u32 + 2,
                workload: Workload { collective: *collective, scale, size_bytes: 4096 },
                ran: Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll, channels: 8 },
                in_place: None,
                out_of_place: None,
                repeats: 1,
                spread_pct: None,
                kind: read::Kind::Asked,
                marks: Default::default(),
                asked: Default::default(),
                evidence: Default::default(),
                origin: number,
            }));
        }
        (rows, origins)
    }

    /// The sets, and how many rows of each file are kept.
    fn divided(lots: &[Lot<'_>], choice: Option<&str>) -> (Sets, Vec<(u16, usize)>) {
        let (mut rows, origins) = rows(lots);
        let mut choose = |sets: &[Set]| match choice {
            None => Choice::Largest,
            Some("all") => Choice::Pooled,
            Some(label) => Choice::One(sets.iter().find(|set| set.label == label).unwrap().key),
        };
        let sets = divide(&mut rows, &origins, &|file| format!("{file}.log"), &mut choose);
        (sets, rows.chunk_by(|a, b| a.file == b.file).map(|same| (same[0].file, same.len())).collect())
    }

    fn labels(sets: &Sets) -> Vec<(&str, u64)> {
        sets.all.iter().map(|set| (set.label.as_str(), set.rows)).collect()
    }

    #[test]
    fn what_agrees_stays_together() {
        let lots = [(0, REDUCE, "2.29.2", "float", "sum", 1, 3), (1, REDUCE, "", "", "", 0, 2)];
        assert_eq!(divided(&lots, None), (Sets::default(), vec![(0, 3), (1, 2)]));
        // A shorter spelling is no other build.
        let lots = [(0, REDUCE, "2.29.2", "", "", 1, 3), (1, REDUCE, "2.29.2+cuda12.9", "", "", 1, 3)];
        assert!(divided(&lots, None).0.all.is_empty());
        let lots = [lots[0], lots[1], (2, REDUCE, "2.29.2+cuda13.0", "", "", 1, 4)];
        assert_eq!(divided(&lots, None).0.all.len(), 3);
    }

    #[test]
    fn libraries_are_sets_and_what_says_nothing_is_another() {
        let lots = [
            (0, REDUCE, "2.26.6", "float", "sum", 1, 3),
            (1, REDUCE, "2.29.2", "float", "sum", 1, 5),
            (2, REDUCE, "", "float", "sum", 1, 1),
            (3, GATHER, "", "float", "none", 1, 2),
        ];
        let (sets, kept) = divided(&lots, None);
        assert_eq!(labels(&sets), [("NCCL 2.29.2", 7), ("NCCL 2.26.6", 5), ("library not stated", 3)]);
        assert_eq!((sets.label(), sets.pooled_rows), (Some("NCCL 2.29.2"), 11));
        assert_eq!(kept, [(1, 5), (3, 2)]);
        assert_eq!(
            sets.note,
            "These measurements were taken in 3 ways and are kept apart: NCCL 2.29.2 (5 rows of 1.log); NCCL 2.26.6 (3 \
             rows of 0.log); library not stated (1 row of 2.log). Used is NCCL 2.29.2"
        );
        let (sets, kept) = divided(&lots, Some("library not stated"));
        assert_eq!((sets.label(), kept), (Some("library not stated"), vec![(2, 1), (3, 2)]));
        let (sets, kept) = divided(&lots, Some("all"));
        assert_eq!((sets.label(), kept.len()), (Some(Sets::POOLED), 4));
        assert!(sets.note.ends_with("conclusions don't carry over"), "{}", sets.note);
    }

    #[test]
    fn groups_that_differ_in_different_things() {
        let lots = [
            (0, REDUCE, "2.26.6", "float", "sum", 1, 3),
            (0, REDUCE, "2.29.2", "float", "sum", 1, 4),
            (1, GATHER, "2.26.6", "float", "", 1, 2),
            (1, GATHER, "2.26.6", "half", "", 1, 2),
        ];
        let (sets, _) = divided(&lots, None);
        assert_eq!(labels(&sets), [("NCCL 2.29.2 · float", 6), ("NCCL 2.26.6 · float", 5), ("NCCL 2.26.6 · half", 5)]);
        assert!(
            sets.note.ends_with(
                "all_gather on 2 nodes, 16 ranks was measured with NCCL 2.26.6 only and belongs to every set"
            ),
            "{}",
            sets.note
        );
    }

    #[test]
    fn nodes_are_counted_not_named() {
        let lots = [(0, REDUCE, "", "float", "sum", 1, 3), (1, REDUCE, "", "float", "max", 2, 3)];
        let (sets, kept) = divided(&lots, None);
        let mut labels = labels(&sets);
        labels.sort_unstable();
        assert!(labels[0].0.starts_with("max · node set ") && labels[1].0.starts_with("sum · node set "), "{labels:?}");
        assert_eq!(kept, [(0, 3)], "of equal ones that which was read first");
        assert_ne!(sets.all[0].key, sets.all[1].key);
    }
}
