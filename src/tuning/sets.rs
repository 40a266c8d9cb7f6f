//! Measurements that must not be pooled are kept apart.
//!
//! Where the rows of a collective and scale were measured with different libraries, data types, operations, launches,
//! nodes, GPUs or environments, they fall into sets, and everything is studied on one of them. What a row does not
//! say, where others say different things, sets it apart as well. A collective and scale that was measured in one way
//! only belongs to every set.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    origin::{Aspect, Origins},
    read::Row,
};
use crate::{
    collective::{Collective, Scale},
    math::hash,
    order::{CompactCollect, CompactSort},
    units::{count, grouped},
};

/// Which set of measurements is studied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetChoice {
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
    /// The values in which it differs from the other sets, such as `NCCL 2.29.2 · float sum`.
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
    /// Which is studied; never [`SetChoice::Largest`] where there are any.
    pub chosen: SetChoice,
    /// Which they are, from which files, and which is studied: a sentence for people.
    pub note: String,
}

impl Sets {
    /// The name of [`SetChoice::Pooled`] in forms, options and addresses.
    pub const POOLED: &str = "all together, pooled";

    /// The name of the set that is studied; `None` where there is only one.
    pub fn label(&self) -> Option<&str> {
        match self.chosen {
            SetChoice::Pooled if !self.all.is_empty() => Some(Self::POOLED),
            SetChoice::One(key) => self.all.iter().find(|set| set.key == key).map(|set| set.label.as_str()),
            _ => None,
        }
    }

    /// Whether a choice can be made here.
    pub fn has(&self, choice: SetChoice) -> bool {
        match choice {
            SetChoice::Largest => true,
            SetChoice::One(key) => self.all.iter().any(|set| set.key == key),
            SetChoice::Pooled => !self.all.is_empty(),
        }
    }
}

/// A value of each aspect, by its number among those of the aspect ([`Names`]).
type Values = [u32; Aspect::ALL.len()];

/// For each aspect, whether it differs.
type Differs = [bool; Aspect::ALL.len()];

type GroupKey = (Collective, Scale);

/// The values of an aspect, ascending; `None` where it is not stated.
struct Names<'a>(Vec<Option<&'a str>>);

impl<'a> Names<'a> {
    const NOT_STATED: u32 = 0;

    fn of(aspect: usize, used: &[u16], origins: &'a Origins) -> Self {
        let mut all = vec![None];
        all.extend(used.iter().map(|origin| origins.get(*origin).values()[aspect].as_deref()));
        all.compact_sort();
        all.dedup();
        Self(all)
    }

    fn number(&self, value: Option<&str>) -> u32 {
        self.0.binary_search(&value).map_or(Self::NOT_STATED, |at| at as u32)
    }

    fn get(&self, number: u32) -> Option<&'a str> {
        self.0.get(number as usize).copied().flatten()
    }
}

/// Rows of one origin and file.
struct Class {
    group: GroupKey,
    origin: u16,
    file: u16,
    rows: u64,
    /// The index of the first row of the class.
    first: usize,
    values: Values,
}

/// The most sets that can be chosen; there are as many ways of measuring as the files say.
const MAX: usize = 500;

/// Finds the sets that rows fall into and keeps the rows of the one that `choose` chooses; `name` names a file.
pub fn divide(
    rows: &mut Vec<Row>,
    origins: &Origins,
    name: &dyn Fn(u16) -> String,
    choose: &mut dyn FnMut(&[Set]) -> SetChoice,
) -> Sets {
    let used: BTreeSet<u16> = rows.chunk_by(|a, b| a.origin == b.origin).map(|same| same[0].origin).compact_collect();
    let used: Vec<u16> = used.into_iter().collect();
    let names = std::array::from_fn(|aspect| Names::of(aspect, &used, origins));
    let mut classes = classes(rows, origins, &names);
    let differs = differences(&mut classes, &names);
    if differs.is_empty() {
        return Sets::default();
    }
    let apart = Division::new(differs, classes, names);
    let (mut keys, mut all): (Vec<Values>, Vec<Set>) = apart.sets().into_iter().unzip();
    let ways = all.len();
    keys.truncate(MAX);
    all.truncate(MAX);
    let chosen = match choose(&all) {
        SetChoice::Pooled => SetChoice::Pooled,
        SetChoice::One(key) if all.iter().any(|set| set.key == key) => SetChoice::One(key),
        _ => SetChoice::One(all[0].key),
    };
    let pooled_rows = rows.len() as u64;
    let studied = all.iter().position(|set| chosen == SetChoice::One(set.key)).map(|at| &keys[at]);
    if let Some(studied) = studied {
        let of_set = apart.classes.iter().filter(|class| apart.holds(studied, class));
        let kept: BTreeSet<(GroupKey, u16)> = of_set.map(|class| (class.group, class.origin)).compact_collect();
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
    sets.note = apart.note(&sets, ways, &keys, studied, name);
    sets
}

/// The rows by group, origin and file, in the order in which they were met.
fn classes(rows: &[Row], origins: &Origins, names: &[Names<'_>; Aspect::ALL.len()]) -> Vec<Class> {
    let key = |row: &Row| ((row.workload.collective, row.workload.scale), row.origin, row.file);
    let mut first = 0;
    let mut classes: Vec<Class> = Vec::new();
    for same in rows.chunk_by(|a, b| key(a) == key(b)) {
        let (group, origin, file) = key(&same[0]);
        classes.push(Class { group, origin, file, rows: same.len() as u64, first, values: Values::default() });
        first += same.len();
    }
    classes.compact_sort_by_key(|class| (class.group, class.origin, class.file));
    classes.dedup_by(|next, kept| {
        let is_same = (next.group, next.origin, next.file) == (kept.group, kept.origin, kept.file);
        if is_same {
            kept.rows += next.rows;
        }
        is_same
    });
    for class in &mut classes {
        let values = origins.get(class.origin).values();
        class.values = std::array::from_fn(|aspect| names[aspect].number(values[aspect].as_deref()));
    }
    classes.compact_sort_by_key(|class| class.first);
    classes
}

/// In what the rows of each group differ; groups that were measured in one way are left out. Where a value is a shorter
/// spelling of one other, it becomes that one.
fn differences(classes: &mut [Class], names: &[Names<'_>; Aspect::ALL.len()]) -> BTreeMap<GroupKey, Differs> {
    // The values of each group and aspect that are stated.
    let mut known: Vec<(GroupKey, usize, u32)> = Vec::new();
    for class in &*classes {
        for (aspect, value) in class.values.iter().enumerate().filter(|(_, value)| **value != Names::NOT_STATED) {
            known.push((class.group, aspect, *value));
        }
    }
    known.compact_sort();
    known.dedup();
    let mut differs: BTreeMap<GroupKey, Differs> = BTreeMap::new();
    let mut renamed: Vec<((GroupKey, usize, u32), u32)> = Vec::new();
    for of_aspect in known.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (group, aspect, _) = of_aspect[0];
        let longer = longer(of_aspect.iter().map(|(.., value)| *value), &names[aspect]);
        if of_aspect.len() - longer.len() > 1 {
            differs.entry(group).or_default()[aspect] = true;
        }
        renamed.extend(longer.into_iter().map(|(short, long)| ((group, aspect, short), long)));
    }
    for class in classes.iter_mut().filter(|_| !renamed.is_empty()) {
        for aspect in 0..Aspect::ALL.len() {
            let key = (class.group, aspect, class.values[aspect]);
            if let Ok(at) = renamed.binary_search_by(|(known, _)| known.cmp(&key)) {
                class.values[aspect] = renamed[at].1;
            }
        }
    }
    differs
}

/// Values that are short for exactly one other, with that one, ascending.
fn longer(values: impl Iterator<Item = u32>, names: &Names<'_>) -> Vec<(u32, u32)> {
    let stated: BTreeMap<&str, u32> = values.filter_map(|value| Some((names.get(value)?, value))).compact_collect();
    // What each long one could be written as: its parts from a word's beginning to where one may end.
    let mut found: Vec<(u32, u32)> = Vec::new();
    for (long, number) in &stated {
        let begins = long.match_indices(' ').map(|(at, _)| at + 1);
        for begin in [0].into_iter().chain(begins) {
            let ends = long.match_indices(SPELLING_ENDS).map(|(at, _)| at).chain([long.len()]);
            let parts = ends.filter(|end| *end > begin).filter_map(|end| stated.get(&long[begin..end]));
            found.extend(parts.filter(|short| is_short_for(names.get(**short), long)).map(|short| (*short, *number)));
        }
    }
    found.compact_sort();
    found.dedup();
    found.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1).map(|same| same[0]).collect()
}

/// Where a shorter spelling may end.
const SPELLING_ENDS: [char; 3] = [' ', '+', '-'];

/// `2.29.2` is short for `NCCL 2.29.2+cuda12.9`.
fn is_short_for(short: Option<&str>, long: &str) -> bool {
    let Some((short, (before, after))) = short.and_then(|short| Some((short, long.split_once(short)?))) else {
        return false;
    };
    short != long
        && (before.is_empty() || before.ends_with(' '))
        && (after.is_empty() || after.starts_with(SPELLING_ENDS))
}

/// The aspects by which sets are kept apart, and the classes of rows.
struct Division<'a> {
    differs: BTreeMap<GroupKey, Differs>,
    classes: Vec<Class>,
    names: [Names<'a>; Aspect::ALL.len()],
    /// The aspects in which any group differs.
    aspects: Vec<usize>,
}

impl<'a> Division<'a> {
    fn new(differs: BTreeMap<GroupKey, Differs>, classes: Vec<Class>, names: [Names<'a>; Aspect::ALL.len()]) -> Self {
        let is_any = |aspect: &usize| differs.values().any(|differs| differs[*aspect]);
        let aspects = (0..Aspect::ALL.len()).filter(is_any).collect();
        Self { differs, classes, names, aspects }
    }

    fn differs(&self, class: &Class) -> Differs {
        self.differs.get(&class.group).copied().unwrap_or_default()
    }

    /// The rows belong to a set.
    fn holds(&self, set: &Values, class: &Class) -> bool {
        let differs = self.differs(class);
        only(*set, differs) == only(class.values, differs)
    }

    /// The rows of each value of an aspect where it differs.
    fn rows(&self, aspect: usize) -> Vec<u64> {
        let mut rows = vec![0; self.names[aspect].0.len()];
        for class in self.classes.iter().filter(|class| self.differs(class)[aspect]) {
            rows[class.values[aspect] as usize] += class.rows;
        }
        rows
    }

    /// The value that most rows have where it differs; of several, the one that was met first.
    fn most_frequent(&self, aspect: usize, rows: &[u64]) -> u32 {
        let values = self.classes.iter().filter(|class| self.differs(class)[aspect]).map(|class| class.values[aspect]);
        let more = |most: u32, next: u32| if rows[next as usize] > rows[most as usize] { next } else { most };
        values.reduce(more).unwrap_or(Names::NOT_STATED)
    }

    /// The sets, the one with the most rows first: what the rows of each group that differs are, and in aspects in
    /// which that group does not differ its own value, or else the most frequent one.
    fn sets(&self) -> Vec<(Values, Set)> {
        let aspects: Vec<(usize, Vec<u64>, u32)> = self
            .aspects
            .iter()
            .map(|aspect| {
                let rows = self.rows(*aspect);
                let most = self.most_frequent(*aspect, &rows);
                (*aspect, rows, most)
            })
            .collect();
        let mut found: Vec<(Values, usize)> = Vec::new();
        // Rows of groups that differ in the same, by what they are in it.
        let mut rows: Vec<((Differs, Values), u64)> = Vec::new();
        for class in &self.classes {
            let differs = self.differs(class);
            rows.push(((differs, only(class.values, differs)), class.rows));
            if !self.differs.contains_key(&class.group) {
                continue;
            }
            let mut set = Values::default();
            for (aspect, known, most) in &aspects {
                let own = class.values[*aspect];
                let is_known = own != Names::NOT_STATED && known[own as usize] > 0;
                set[*aspect] = if differs[*aspect] || is_known { own } else { *most };
            }
            found.push((set, class.first));
        }
        found.compact_sort();
        found.dedup_by_key(|(set, _)| *set);
        found.compact_sort_by_key(|(_, first)| *first);
        rows.compact_sort_by_key(|(key, _)| *key);
        let rows: BTreeMap<(Differs, Values), u64> = rows
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| (same[0].0, same.iter().map(|(_, rows)| *rows).sum()))
            .compact_collect();
        let mut masks: Vec<Differs> = rows.keys().map(|(differs, _)| *differs).collect();
        masks.dedup();
        let nodes = self.nodes();
        let described = |(values, _): (Values, usize)| {
            let label = self.label(&values, &nodes);
            let of_mask = |differs: &Differs| rows.get(&(*differs, only(values, *differs)));
            let rows = masks.iter().filter_map(of_mask).sum();
            (values, Set { key: hash(label.as_bytes()) as u32, label, rows })
        };
        let mut sets: Vec<(Values, Set)> = found.into_iter().map(described).collect();
        sets.compact_sort_by_key(|(_, set)| std::cmp::Reverse(set.rows));
        sets
    }

    /// The different sets of nodes, numbered as they occur.
    fn nodes(&self) -> Vec<u32> {
        let rows = self.rows(Aspect::Nodes as usize);
        (1..rows.len() as u32).filter(|number| rows[*number as usize] > 0).collect()
    }

    /// The values in which a set differs from the others, in words.
    fn label(&self, values: &Values, nodes: &[u32]) -> String {
        let mut label = String::new();
        for aspect in self.aspects.iter().copied() {
            let kind = Aspect::ALL[aspect];
            if !label.is_empty() {
                let is_typed = self.aspects.contains(&(Aspect::DataType as usize));
                label += if kind == Aspect::Operation && is_typed { " " } else { " · " };
            }
            match (kind, self.names[aspect].get(values[aspect])) {
                (Aspect::Library, None) => label += "library not stated",
                (Aspect::DataType, None) => label += "data type not stated",
                (Aspect::Operation, None) => label += "operation not stated",
                (Aspect::Root, None) => label += "root not stated",
                (Aspect::Launches, None) => label += "launches not stated",
                (Aspect::Nodes, None) => label += "nodes not stated",
                (Aspect::Gpu, None) => label += "GPU not stated",
                (Aspect::Environment, None) => label += "environment not stated",
                (Aspect::Nodes, Some(_)) => {
                    let number = nodes.binary_search(&values[aspect]).map_or(0, |at| at + 1);
                    label += &format!("node set {number}");
                }
                (_, Some(value)) => label += value,
            }
        }
        label
    }

    fn note(
        &self,
        sets: &Sets,
        ways: usize,
        keys: &[Values],
        studied: Option<&Values>,
        name: &dyn Fn(u16) -> String,
    ) -> String {
        let mut told = Vec::new();
        for (set, values) in sets.all.iter().zip(keys).take(MAX_NAMED) {
            let mut files: BTreeMap<u16, u64> = BTreeMap::new();
            let own = self.classes.iter().filter(|class| self.differs.contains_key(&class.group));
            for class in own.filter(|class| self.holds(values, class)) {
                *files.entry(class.file).or_default() += class.rows;
            }
            let named =
                files.iter().take(MAX_NAMED).map(|(file, rows)| format!("{} of {}", count(*rows, "row"), name(*file)));
            let named: Vec<String> = named.collect();
            told.push(format!("{} ({}{})", set.label, named.join(", "), more(files.len(), MAX_NAMED)));
        }
        let shown = match studied {
            Some(_) => format!("Used is {}", sets.label().unwrap_or_default()),
            None => "They are pooled because you chose so; such conclusions don't carry over".to_owned(),
        };
        let mut note = format!(
            "These measurements were taken in {} ways and are kept apart: {}{}. {shown}",
            grouped(ways as u64),
            told.join("; "),
            more(ways, MAX_NAMED),
        );
        if ways > sets.all.len() {
            note += &format!("; only the {} with the most rows can be chosen", sets.all.len());
        }
        if let Some(set) = studied {
            note += &self.strangers(set);
        }
        note
    }

    /// Groups that belong to every set, though what they say is not what this one is.
    fn strangers(&self, set: &Values) -> String {
        let mut found: Vec<((GroupKey, usize, u32), usize)> = Vec::new();
        for class in &self.classes {
            let differs = self.differs(class);
            for aspect in self.aspects.iter().copied() {
                let (own, of_set) = (class.values[aspect], set[aspect]);
                let is_told = !differs[aspect] && aspect != Aspect::Nodes as usize;
                if is_told && own != of_set && own != Names::NOT_STATED && of_set != Names::NOT_STATED {
                    found.push(((class.group, aspect, own), class.first));
                }
            }
        }
        found.compact_sort();
        found.dedup_by_key(|(stranger, _)| *stranger);
        found.compact_sort_by_key(|(_, first)| *first);
        let mut said = String::new();
        for (((collective, scale), aspect, own), _) in found.iter().take(MAX_NAMED) {
            let own = self.names[*aspect].get(*own).unwrap_or_default();
            said += &format!("; {collective} on {scale} was measured with {own} only and belongs to every set");
        }
        said + &more(found.len(), MAX_NAMED)
    }
}

/// The most sets, files of each and groups that are named.
const MAX_NAMED: usize = 6;

/// The values of the aspects that differ.
fn only(values: Values, differs: Differs) -> Values {
    std::array::from_fn(|aspect| if differs[aspect] { values[aspect] } else { 0 })
}

fn more(all: usize, named: usize) -> String {
    if all > named { format!(" and {} more", grouped((all - named) as u64)) } else { String::new() }
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
                kind: read::RunKind::Asked,
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
            None => SetChoice::Largest,
            Some("all") => SetChoice::Pooled,
            Some(label) => SetChoice::One(sets.iter().find(|set| set.label == label).unwrap().key),
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
        labels.compact_sort();
        assert!(labels[0].0.starts_with("max · node set ") && labels[1].0.starts_with("sum · node set "), "{labels:?}");
        assert_eq!(kept, [(0, 3)], "of equal ones that which was read first");
        assert_ne!(sets.all[0].key, sets.all[1].key);
    }
}
