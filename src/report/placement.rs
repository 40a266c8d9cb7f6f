//! How the page of a workbench shows the sections of its own report. Nothing of it travels in links and files.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// What only the page shows of a section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// A few words beside the heading.
    pub lead: String,
    /// The label of the button that makes the choices of the form together; without it each is made at once.
    pub submit: Option<String>,
    /// Shown folded.
    pub is_folded: bool,
    /// If it is folded: open at first, because something is in it.
    pub is_open: bool,
    /// Why there is no answer.
    pub error: Option<String>,
    /// The text says that something got worse.
    pub is_bad: bool,
    /// The notes below the text.
    pub notes: Vec<Note>,
    /// The figures below the heading.
    pub figures: Vec<Figure>,
    /// The tab that shows it; `None` for all of them.
    pub tab: Option<Tab>,
    /// Its first chart is what the answer is read from: the page draws it beside the answer instead of in the section.
    pub is_picture: bool,
}

/// A tab of a workbench, which shows some sections of its report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tab {
    /// The value of `tab=` in an address: letters, digits and hyphens, unique in its workbench.
    pub key: Cow<'static, str>,
    /// The label on the page, a word or a few.
    pub name: Cow<'static, str>,
}

impl Figure {
    /// A figure: its name, its value with the unit, and what it is or where it comes from.
    pub fn new(name: &str, value: String, note: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value, note: note.into() }
    }
}

impl Tab {
    /// A tab of this name in addresses, and this label.
    pub const fn new(key: &'static str, name: &'static str) -> Self {
        Self { key: Cow::Borrowed(key), name: Cow::Borrowed(name) }
    }
}

/// A figure with its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// The value, with its unit.
    pub value: String,
    /// What it is or where it comes from, in a few words.
    pub note: String,
}

/// A note, a sentence without a full stop or with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The sentence.
    pub text: String,
    /// Whether it is a warning.
    pub is_warning: bool,
}

/// How a row of a table is marked on the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowMark {
    /// Not at all.
    #[default]
    Plain,
    /// To be kept, or as good as the best.
    Good,
    /// Not what it seems to be, or to be dropped.
    Changed,
    /// Without effect, or set aside.
    Dead,
}

impl Placement {
    /// The same with further notes.
    #[must_use]
    pub fn noted(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes.into_iter().map(|text| Note { text, is_warning: false }));
        self
    }

    /// The same with further warnings.
    #[must_use]
    pub fn warned(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(warnings.into_iter().map(|text| Note { text, is_warning: true }));
        self
    }
}
