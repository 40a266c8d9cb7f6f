//! The values of a mapping by their keys, with messages that name the place, the key and what was expected.

use super::{Node, YamlError};
use crate::text;

/// A value that is not what its key asks for, or a key that is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is not valid YAML.
    #[error(transparent)]
    Text(#[from] YamlError),
    /// A required key is missing.
    #[error("line {line}, column {column}: {key} is missing; {expected} was expected")]
    Missing {
        /// Line of the mapping, from 1.
        line: u32,
        /// Column of the mapping, from 1.
        column: u32,
        /// The key as it stands in the file.
        key: String,
        /// A description of the expected value.
        expected: String,
    },
    /// A value has the wrong kind.
    #[error("line {line}, column {column}, {key}: {expected} was expected, not {found}")]
    Unexpected {
        /// Line of the value, from 1.
        line: u32,
        /// Column of the value, from 1.
        column: u32,
        /// The key as it stands in the file.
        key: String,
        /// A description of the expected value.
        expected: String,
        /// A description of the value that was found.
        found: String,
    },
    /// A value is wrong in another way.
    #[error("line {line}, column {column}, {key}: {message}")]
    Other {
        /// Line of the value, from 1.
        line: u32,
        /// Column of the value, from 1.
        column: u32,
        /// The key as it stands in the file.
        key: String,
        /// A description of the fault.
        message: String,
    },
}

impl Node {
    /// This value is not what was expected of a key.
    pub fn unexpected(&self, key: &str, expected: &str) -> KeyError {
        let (expected, found) = (expected.to_owned(), self.described());
        KeyError::Unexpected { line: self.line, column: self.column, key: text::excerpt(key), expected, found }
    }

    /// The error that the value of a key is wrong.
    pub fn wrong(&self, key: &str, message: impl Into<String>) -> KeyError {
        let message = message.into();
        KeyError::Other { line: self.line, column: self.column, key: text::excerpt(key), message }
    }

    /// A finite number, in quotes or not. Returns [`KeyError::Unexpected`] if the value is no finite number.
    pub fn number(&self, key: &str) -> Result<f64, KeyError> {
        self.text().and_then(text::number).ok_or_else(|| self.unexpected(key, "a number"))
    }

    /// An integer of at least `least`; `4.0` is accepted too. Returns an error if the value is no such integer.
    pub fn whole(&self, key: &str, least: u64) -> Result<u64, KeyError> {
        let whole = self.text().and_then(text::whole).and_then(|whole| u64::try_from(whole).ok());
        whole
            .filter(|whole| *whole >= least)
            .ok_or_else(|| self.unexpected(key, &format!("a whole number of at least {least}")))
    }

    /// As [`Node::whole`], of 32 bits. Returns an error if the value is no such number, or too large.
    pub fn count(&self, key: &str, least: u32) -> Result<u32, KeyError> {
        let whole = self.whole(key, least.into())?;
        u32::try_from(whole).map_err(|_too_large| self.unexpected(key, &format!("a number up to {}", u32::MAX)))
    }

    /// A boolean: `true`, `false`, `yes`, `no`, 1 or 0. Returns [`KeyError::Unexpected`] if the value is none of these.
    pub fn flag(&self, key: &str) -> Result<bool, KeyError> {
        match self.text().unwrap_or_default().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(true),
            "false" | "no" | "off" | "0" => Ok(false),
            _ => Err(self.unexpected(key, "true or false")),
        }
    }

    /// A text that is not empty. Returns an error if the value is no text, or is empty.
    pub fn word(&self, key: &str) -> Result<&str, KeyError> {
        self.text().filter(|text| !text.is_empty()).ok_or_else(|| self.unexpected(key, "a name"))
    }

    /// The members of a list. Returns [`KeyError::Unexpected`] if the value is no list.
    pub fn list(&self, key: &str) -> Result<&[Self], KeyError> {
        self.items().ok_or_else(|| self.unexpected(key, "a list"))
    }

    /// The names of a list. Returns an error if the value is no list of names.
    pub fn words(&self, key: &str) -> Result<Vec<String>, KeyError> {
        self.list(key)?.iter().map(|item| item.word(key).map(str::to_owned)).collect()
    }
}

/// The entries of a mapping, each of which can be taken once.
#[derive(Debug)]
pub struct Fields<'a> {
    node: &'a Node,
    entries: &'a [(Node, Node)],
    taken: Vec<bool>,
}

impl<'a> Fields<'a> {
    /// The entries of a mapping; `what` names it in messages. Returns an error if the node is no mapping.
    pub fn of(node: &'a Node, what: &str) -> Result<Self, KeyError> {
        let entries = node.entries().ok_or_else(|| node.unexpected(what, "a mapping"))?;
        Ok(Self { node, entries, taken: vec![false; entries.len()] })
    }

    /// The value of a key that may be left out; `null` is left out.
    pub fn optional(&mut self, key: &str) -> Option<&'a Node> {
        let at = self.entries.iter().position(|(known, _)| known.text() == Some(key))?;
        self.taken[at] = true;
        self.entries.get(at).map(|(_, value)| value).filter(|value| !value.is_null())
    }

    /// The value of a key under the first of these names.
    pub fn any(&mut self, keys: &[&'static str]) -> Option<(&'static str, &'a Node)> {
        keys.iter().find_map(|key| self.optional(key).map(|node| (*key, node)))
    }

    /// The value of a key that is needed. Returns [`KeyError::Missing`] if the key is missing.
    pub fn needed(&mut self, key: &str, expected: &str) -> Result<&'a Node, KeyError> {
        self.optional(key).ok_or_else(|| self.missing(key, expected))
    }

    /// The error that a key is missing.
    pub fn missing(&self, key: &str, expected: &str) -> KeyError {
        let (line, column) = (self.node.line, self.node.column);
        KeyError::Missing { line, column, key: key.to_owned(), expected: expected.to_owned() }
    }

    /// Refuses entries that were not taken; `expected` says which there may be. Returns an error at the first of them.
    pub fn refuse_rest(&self, expected: &str) -> Result<(), KeyError> {
        self.rest().next().map_or(Ok(()), |(key, node, _)| Err(node.unexpected(key, expected)))
    }

    /// The entries that were not taken.
    pub fn rest(&self) -> impl Iterator<Item = (&'a str, &'a Node, &'a Node)> {
        let left = self.entries.iter().zip(self.taken.clone()).filter(|(_, taken)| !taken);
        left.map(|((key, value), _)| (key.text().unwrap_or_default(), key, value))
    }
}
