//! The dropped files, the answers about them, and the rows that the user left out. Whenever one of them changes, the
//! [`Bundle`] is built anew.

use super::{
    bundle::{Answers, Bundle, DroppedFile, FileAnswer, bring_together},
    catalogue::Catalogue,
    health::LeftOut,
    read::TrainingFile,
};
use crate::text::Problems;

/// Dropped files with all answers about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DroppedFiles {
    files: Vec<DroppedFile>,
    answers: Answers,
    left_out: Vec<LeftOut>,
    typed: Option<Catalogue>,
    bundle: Bundle,
}

impl DroppedFiles {
    /// The state after a first drop.
    pub fn new(files: Vec<DroppedFile>) -> Self {
        let mut dropped = Self { files, ..Self::default() };
        dropped.gather();
        dropped
    }

    /// Whether no file was dropped.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The contents of the files together, without the rows that were left out.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Adds the files of a later drop.
    pub fn add(&mut self, files: Vec<DroppedFile>) {
        self.files.extend(files);
        self.gather();
    }

    /// Answers a question about a file, instead of what was answered before.
    pub fn answer(&mut self, path: &str, answer: FileAnswer) {
        self.answers.retain(|(of, _)| of != path);
        self.answers.push((path.to_owned(), answer));
        self.gather();
    }

    /// The answers that were given.
    pub const fn answers(&self) -> &Answers {
        &self.answers
    }

    /// Answers all questions anew, and leaves rows out, instead of what was answered and left out before.
    pub fn decide(&mut self, answers: Answers, left_out: Vec<LeftOut>) {
        (self.answers, self.left_out) = (answers, left_out);
        self.gather();
    }

    /// Leaves rows out, instead of those that were left out before.
    pub fn leave_out(&mut self, rows: Vec<LeftOut>) {
        self.left_out = rows;
        self.gather();
    }

    /// Adds a catalogue that was typed, instead of the one that was typed before.
    pub fn type_catalogue(&mut self, typed: Option<Catalogue>) {
        if typed != self.typed {
            self.typed = typed;
            self.gather();
        }
    }

    /// The rows that the user left out.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    fn gather(&mut self) {
        let typed = self.typed.iter().map(|catalogue| DroppedFile {
            path: "typed catalogue".to_owned(),
            size_bytes: 0,
            part: TrainingFile::Catalogue(Box::new(catalogue.clone())),
            problems: Problems::default(),
            notes: Vec::new(),
        });
        let files = self.files.iter().cloned().chain(typed).collect();
        self.bundle = bring_together(files, &self.answers);
        for left_out in &self.left_out {
            left_out.apply(&mut self.bundle.clusters);
        }
    }
}
