//! Configurations in TOML, as the same nodes that [`yaml`](super::yaml) reads.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::yaml::{Node, Value};
use crate::order::CompactSort;

/// The most bytes of a text.
pub const LONGEST: usize = 64 << 10;

/// A fault of a text, with its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct TomlError {
    /// The number of the line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Why the text from there on can't be read.
    pub message: String,
}

/// Reads a text. Tables are mappings with their keys in the order of the text.
///
/// ```
/// use collectune::text::toml;
/// let node = toml::parse("[training]\nseq_len = 8192 # tokens\n")?;
/// let length = node.get("training").and_then(|training| training.get("seq_len"));
/// assert_eq!(length.and_then(|length| length.text()), Some("8192"));
/// assert_eq!(length.map(|length| (length.line, length.column)), Some((2, 11)));
/// # Ok::<(), toml::TomlError>(())
/// ```
///
/// # Errors
/// Returns a [`TomlError`] if the text is longer than [`LONGEST`], or is no TOML.
pub fn parse(text: &str) -> Result<Node, TomlError> {
    if text.len() > LONGEST {
        let message = format!("the text has more than {} kB", LONGEST >> 10);
        return Err(TomlError { line: 1, column: 1, message });
    }
    match DeTable::parse(text) {
        Ok(table) => Ok(node(&Source(text), 0, mapping(&Source(text), table.get_ref()))),
        Err(error) => {
            let (line, column) = Source(text).place(error.span().map_or(0, |span| span.start));
            Err(TomlError { line, column, message: error.message().to_owned() })
        }
    }
}

struct Source<'a>(&'a str);

impl Source<'_> {
    /// Line and column of a byte.
    fn place(&self, at: usize) -> (u32, u32) {
        let before = self.0.get(..at).unwrap_or(self.0);
        let line = before.rsplit('\n').next().unwrap_or_default();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        (number(before.matches('\n').count() + 1), number(line.chars().count() + 1))
    }
}

fn node(source: &Source<'_>, at: usize, value: Value) -> Node {
    let (line, column) = source.place(at);
    Node { line, column, value }
}

fn scalar(text: impl Into<String>, quoted: bool) -> Value {
    Value::Scalar { text: text.into(), quoted }
}

fn mapping(source: &Source<'_>, table: &DeTable<'_>) -> Value {
    let mut entries: Vec<(usize, (Node, Node))> = table
        .iter()
        .map(|(key, value)| {
            let at = key.span().start;
            (at, (node(source, at, scalar(key.get_ref().as_ref(), false)), of(source, value)))
        })
        .collect();
    entries.compact_sort_by_key(|(at, _)| *at);
    Value::Mapping(entries.into_iter().map(|(_, entry)| entry).collect())
}

fn of(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Node {
    let inner = match value.get_ref() {
        DeValue::String(text) => scalar(text.as_ref(), true),
        // `1_000` is a number of TOML.
        DeValue::Integer(number) => match i128::from_str_radix(&number.as_str().replace('_', ""), number.radix()) {
            Ok(number) => scalar(number.to_string(), false),
            Err(_) => scalar(number.as_str(), false),
        },
        DeValue::Float(number) => scalar(number.as_str().replace('_', ""), false),
        DeValue::Boolean(flag) => scalar(if *flag { "true" } else { "false" }, false),
        DeValue::Datetime(date) => scalar(date.to_string(), false),
        DeValue::Array(items) => Value::Sequence(items.iter().map(|item| of(source, item)).collect()),
        DeValue::Table(table) => mapping(source, table),
    };
    node(source, value.span().start, inner)
}
