//! What was dropped, what was answered, and what was left out by hand: of these the [`Bundle`] is made again whenever
//! one of them changes.

use super::{
    bundle::{Answer, Answers, Bundle, DroppedFile, bring_together},
    health::LeftOut,
};

/// Dropped files with all answers about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dropped {
    files: Vec<DroppedFile>,
    answers: Answers,
    left_out: Vec<LeftOut>,
    bundle: Bundle,
}

impl Dropped {
    /// What these files hold.
    #[must_use]
    pub fn new(files: Vec<DroppedFile>) -> Self {
        let mut dropped = Self { files, ..Self::default() };
        dropped.gather();
        dropped
    }

    /// Nothing was dropped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What the files hold together, without the rows that were left out.
    #[must_use]
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Adds files of a later drop.
    pub fn add(&mut self, files: Vec<DroppedFile>) {
        self.files.extend(files);
        self.gather();
    }

    /// Answers a question about a file, instead of what was answered before.
    pub fn answer(&mut self, path: &str, answer: Answer) {
        self.answers.retain(|(of, _)| of != path);
        self.answers.push((path.to_owned(), answer));
        self.gather();
    }

    /// What was answered.
    #[must_use]
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

    /// What is left out by hand.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    fn gather(&mut self) {
        self.bundle = bring_together(self.files.clone(), &self.answers);
        for left_out in &self.left_out {
            left_out.apply(&mut self.bundle.clusters);
        }
    }
}
