//! Applies the user's answers: catalogue entries, questions about files, and rows to leave out.

use super::TrainingTime;
use crate::{
    form::Form,
    training_time::{
        catalogue::Catalogue,
        health::{LeftOut, health},
    },
};

impl TrainingTime {
    /// Adds what is typed of a catalogue, or says why it can't be read.
    pub(super) fn read_catalogue(&mut self) {
        let mut form = Form::new(&self.choices);
        let typed = Self::catalogue(&mut form);
        if typed == self.typed {
            return;
        }
        typed.clone_into(&mut self.typed);
        let read = (!typed.is_empty()).then(|| Catalogue::parse(typed)).transpose();
        self.catalogue_error = read.as_ref().err().map(ToString::to_string);
        self.study.dropped_mut().type_catalogue(read.unwrap_or_default());
    }

    /// Answers about files and rows that are left out, as they were chosen.
    pub(super) fn answer_files(&mut self) {
        self.note_questions();
        let (out, answers) = self.file_fields(&mut Form::new(&self.choices));
        let left_out = self.left_out(out);
        let dropped = self.study.dropped();
        if answers != *dropped.answers() || left_out != dropped.left_out() {
            self.study.dropped_mut().decide(answers, left_out);
            self.note_questions();
        }
    }

    fn note_questions(&mut self) {
        for question in &self.study.bundle().questions {
            if !self.asked.iter().any(|known| known.file == question.file) {
                self.asked.push(question.clone());
            }
        }
    }

    /// The flagged rows that are left out.
    fn left_out(&self, chosen: &str) -> Vec<LeftOut> {
        let known = self.study.dropped().left_out();
        let held: Vec<String> = known.iter().map(key_of).collect();
        let is_as_before = chosen.split(',').filter(|key| !key.is_empty()).eq(held.iter().map(String::as_str));
        if is_as_before || chosen.is_empty() {
            return if chosen.is_empty() { Vec::new() } else { known.to_vec() };
        }
        let bundle = self.study.bundle();
        let flags = bundle.clusters.iter().flat_map(|cluster| health(cluster, &bundle.catalogue).flags);
        let mut all: Vec<LeftOut> = known.to_vec();
        for flag in &flags.collect::<Vec<_>>() {
            let own = LeftOut::from(flag);
            if !all.iter().any(|known| key_of(known) == key_of(&own)) {
                all.push(own);
            }
        }
        all.retain(|rows| chosen.split(',').any(|key| key == key_of(rows)));
        all
    }
}

/// The value that identifies these rows in a choice of several.
pub(super) fn key_of(rows: &LeftOut) -> String {
    let first = rows.places.first().copied().unwrap_or_default();
    format!("{}.{}.{}.{}", rows.cluster, rows.target, first.line, rows.places.len()).replace([',', ' '], "_")
}
