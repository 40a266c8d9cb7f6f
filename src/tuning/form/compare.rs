//! What changed between two measured states.

use super::{Learnt, Tuning};
use crate::{
    report::{Exhibit, Section, TextFile},
    tuning::{
        compare::{CompareAnswer, CompareQuestion},
        conf::Reader,
        platform::Library,
        settings::Group,
        states::{StateKey, States},
    },
};

/// What the changes depend on: the states, the limits, the tuner file that is deployed and what was learnt.
type CompareKey = ([StateKey; 2], CompareQuestion, Option<(u32, Reader, Library)>, Learnt);

/// The changes that were found last, and the files that are wanted to find others.
#[derive(Default)]
pub(super) struct Compared {
    answer: Option<(CompareKey, CompareAnswer)>,
    /// The files whose measurements by themselves are wanted.
    pub unread: Vec<u32>,
}

impl Tuning {
    /// Takes a state to compare with.
    pub fn take_state(&mut self, take: impl FnOnce(&mut States)) {
        take(&mut self.loaded.files.states);
        self.compared.answer = None;
    }

    pub(super) fn compared(&mut self) -> Vec<Section> {
        let lead = "Before and after a driver, a firmware, a topology.";
        let mut section = Section::led(Group::Compare, lead);
        let Some(states) = self.settings.compared else {
            return vec![section.saying(
                "Drop a second sweep, or a report of an earlier one (it must hold its measurements), to see what \
                 changed beyond noise and whether what was deployed still holds.",
            )];
        };
        let given = &mut self.loaded.files.states;
        given.keep(&states);
        let unread = states.iter().filter(|state| given.get(**state).is_none());
        let unread = unread.filter_map(|state| if let StateKey::File(file) = state { Some(*file) } else { None });
        self.compared.unread = unread.collect();
        self.compared.unread.dedup();
        if !self.compared.unread.is_empty() {
            return vec![section];
        }
        let export = &self.settings.export;
        let conf = self.settings.deployed.map(|file| (file, export.reader, export.library));
        let key = (states, self.settings.compare.clone(), conf, self.learnt());
        let answer = match self.compared.answer.take() {
            Some((of, answer)) if of == key => answer,
            _ => match self.loaded.compare(states, conf, &self.settings.compare) {
                Ok(answer) => answer,
                Err(error) => return vec![super::sections::failed(section, &error)],
            },
        };
        let (_, answer) = self.compared.answer.insert((key, answer));
        section.text.clone_from(&answer.summary);
        section.placement.is_bad = answer.got_slower;
        section.placement = section.placement.noted(answer.notes.iter().cloned());
        section.charts.clone_from(&answer.charts);
        let table = |id: &str, title: &str, listing: &_| Exhibit::new(id, title, Clone::clone(listing));
        section.tables.extend([
            table("change-by-size", "What changed", &answer.by_size),
            table("change-of-deployed", "What is deployed", &answer.deployed_check),
        ]);
        if !answer.unmatched.rows.is_empty() {
            section.tables.push(table("change-apart", "Measured on one side only", &answer.unmatched));
        }
        let (name, note) = ("comparison.md".to_owned(), "for a pull request".to_owned());
        section.files.push(TextFile { name, text: answer.markdown.clone(), note });
        vec![section]
    }
}
