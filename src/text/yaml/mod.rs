//! Reads YAML and its subset JSON, as far as configurations use them. The crate `saphyr-parser` parses; this module
//! builds the values, each with its place.
//!
//! Aliases are refused, since a small file with aliases can expand to a large one; so are tags, several documents, and
//! duplicate keys.

mod fields;

use std::borrow::Cow;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

pub use fields::{Fields, KeyError};

/// The most bytes of a text.
pub const LONGEST: usize = 64 << 10;
/// The deepest nesting of values.
pub const DEEPEST: usize = 16;

/// A value with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The number of the line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// A scalar, a list or keys with their values.
    pub value: Value,
}

/// The value of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text or number on its own.
    Scalar {
        /// The text without its quotes.
        text: String,
        /// Whether it was quoted, which distinguishes `"1"` from `1`.
        quoted: bool,
    },
    /// A list in either style: `- a`, or `[a, b]`.
    Sequence(Vec<Node>),
    /// Keys with their values, in the order of the text; keys differ.
    Mapping(Vec<(Node, Node)>),
}

/// A fault of a text, with its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {fault}")]
pub struct YamlError {
    /// The number of the line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Why the text from there on can't be read.
    pub fault: YamlFault,
}

/// The kinds of faults of a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YamlFault {
    /// The text exceeds [`LONGEST`] bytes.
    #[error("the text has more than {} kB", LONGEST >> 10)]
    TooLong,
    /// Values are nested deeper than [`DEEPEST`].
    #[error("values are nested deeper than {DEEPEST}")]
    TooDeep,
    /// An alias, which is not supported.
    #[error("\"{0}\": aliases are not read; write the value out")]
    Alias(String),
    /// A tag, or another thing of YAML that configurations don't need.
    #[error("{0} are not read")]
    Unsupported(&'static str),
    /// This key occurs twice in a mapping.
    #[error("\"{0}\" stands twice")]
    DuplicateKey(String),
    /// A tab in the indentation of a block.
    #[error("a tab can't indent; use blanks")]
    Tab,
    /// The text is not valid YAML, for this reason.
    #[error("{0}")]
    Syntax(String),
}

/// Reads a text. An empty text is an empty mapping.
///
/// ```
/// use collectune::text::yaml;
/// let node = yaml::parse("gpu: A100 # the large one\nsizes: [1, 2,]\n")?;
/// assert_eq!(node.get("gpu").and_then(|gpu| gpu.text()), Some("A100"));
/// assert_eq!(node.get("sizes").and_then(|sizes| sizes.items()).map(|sizes| sizes.len()), Some(2));
/// # Ok::<(), yaml::YamlError>(())
/// ```
///
/// # Errors
/// Returns a [`YamlError`] with line and column if the text can't be read.
pub fn parse(text: &str) -> Result<Node, YamlError> {
    if text.len() > LONGEST {
        return Err(YamlError { line: 1, column: 1, fault: YamlFault::TooLong });
    }
    let text = with_joined_surrogates(text);
    let text = with_blanks_around_colons(&text);
    let mut tree = Tree::default();
    for event in Parser::new_from_str(&text) {
        let (event, span) = event.map_err(|error| {
            // The parser's place is behind the end of a text that ends too early: use the end of its last line.
            let (lines, last) = (text.lines().count(), text.lines().last().unwrap_or_default());
            let place = *error.marker();
            let past_the_end = place.line() > lines.max(1);
            let place = if past_the_end { Marker::new(0, lines.max(1), last.chars().count()) } else { place };
            let is_tab = error.info().contains("tabs disallowed");
            at(place, if is_tab { YamlFault::Tab } else { YamlFault::Syntax(error.info().to_owned()) })
        })?;
        tree.take(&text, event, span.start)?;
    }
    // Nothing, or `---` and nothing, is an empty mapping.
    let root =
        tree.root.filter(|root| !matches!(&root.value, Value::Scalar { text, quoted: false } if text.is_empty()));
    Ok(root.unwrap_or(Node { line: 1, column: 1, value: Value::Mapping(Vec::new()) }))
}

/// A fault at a place, whose columns the parser counts from 0.
fn at(place: Marker, fault: YamlFault) -> YamlError {
    YamlError { line: place.line() as u32, column: place.col() as u32 + 1, fault }
}

/// Replaces tabs around the colon after a plain key at the beginning of a line by blanks: YAML allows them there, but
/// the parser refuses them in all but the first line. Lines and columns don't change.
fn with_blanks_around_colons(text: &str) -> Cow<'_, str> {
    if !text.contains('\t') {
        return text.into();
    }
    let is_of_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let line = |line: &str| {
        let key = line.trim_start_matches(' ').trim_start_matches(is_of_key);
        let value =
            key.trim_start_matches(['\t', ' ']).strip_prefix(':').map(|rest| rest.trim_start_matches(['\t', ' ']));
        let Some(value) = value else { return line.to_owned() };
        let (begin, end) = (line.len() - key.len(), line.len() - value.len());
        [&line[..begin], &line[begin..end].replace('\t', " "), value].concat()
    };
    text.split_inclusive('\n').map(line).collect::<String>().into()
}

/// JSON writes a character beyond 16 bits as two escapes of 16 bits, which YAML writes as one of 32 bits.
fn with_joined_surrogates(text: &str) -> Cow<'_, str> {
    let is_json = text.trim_start_matches('\u{FEFF}').trim_start().starts_with(['{', '[']);
    if !is_json || !text.contains("\\u") {
        return text.into();
    }
    let unit = |text: &str| u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let joined = |text: &str| {
        let high = unit(text).filter(|unit| (0xD800..0xDC00).contains(unit))? - 0xD800;
        let low = unit(text.get(6..)?).filter(|unit| (0xDC00..0xE000).contains(unit))? - 0xDC00;
        Some(0x10000 + (high << 10) + low)
    };
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(begin) = rest.find('\\') {
        out.push_str(&rest[..begin]);
        rest = &rest[begin..];
        let length = if let Some(code) = joined(rest) {
            out.push_str(&format!("\\U{code:08x}"));
            12
        } else {
            // The escape with its next character, which may be a backslash.
            let length = rest.chars().take(2).map(char::len_utf8).sum();
            out.push_str(&rest[..length]);
            length
        };
        rest = &rest[length..];
    }
    (out + rest).into()
}

/// The values of a document while it is read.
#[derive(Default)]
struct Tree {
    root: Option<Node>,
    /// Lists and mappings that are not closed yet, the innermost last, each with the key of a mapping that waits for
    /// its value.
    open: Vec<(Node, Option<Node>)>,
}

impl Tree {
    fn take(&mut self, text: &str, event: Event<'_>, place: Marker) -> Result<(), YamlError> {
        let node = |value| Node { line: place.line() as u32, column: place.col() as u32 + 1, value };
        match event {
            Event::Scalar(_, _, _, Some(_)) | Event::SequenceStart(_, Some(_)) | Event::MappingStart(_, Some(_)) => {
                Err(at(place, YamlFault::Unsupported("tags")))
            }
            Event::Alias(_) => {
                let line: String =
                    text.lines().nth(place.line() - 1).unwrap_or_default().chars().skip(place.col()).collect();
                let name = line.split([' ', ',', ']', '}', '\t']).next().unwrap_or_default();
                Err(at(place, YamlFault::Alias(super::excerpt(name))))
            }
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(at(place, YamlFault::Unsupported("several documents")))
            }
            Event::Scalar(text, style, ..) => {
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                // The value of a block text does not include its last line ends.
                let text = if is_block { text.trim_end_matches('\n').to_owned() } else { text.into_owned() };
                self.add(node(Value::Scalar { text, quoted: style != ScalarStyle::Plain }))
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if self.open.len() >= DEEPEST {
                    return Err(at(place, YamlFault::TooDeep));
                }
                let is_sequence = matches!(event, Event::SequenceStart(..));
                let value = if is_sequence { Value::Sequence(Vec::new()) } else { Value::Mapping(Vec::new()) };
                self.open.push((node(value), None));
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some((node, _)) => self.add(node),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Puts a value, or the key of one, where it belongs.
    fn add(&mut self, node: Node) -> Result<(), YamlError> {
        let Some((parent, key)) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        let fault = |fault| Err(YamlError { line: node.line, column: node.column, fault });
        match (&mut parent.value, key.take()) {
            (Value::Sequence(items), _) => items.push(node),
            (Value::Mapping(entries), Some(key)) => entries.push((key, node)),
            (Value::Mapping(entries), None) => match node.text() {
                None => return fault(YamlFault::Unsupported("keys that are lists or mappings")),
                Some(name) if entries.iter().any(|(known, _)| known.text() == Some(name)) => {
                    return fault(YamlFault::DuplicateKey(super::excerpt(name)));
                }
                Some(_) => *key = Some(node),
            },
            (Value::Scalar { .. }, _) => {}
        }
        Ok(())
    }
}

impl Node {
    /// The text of a scalar, or `None` for other values.
    pub fn text(&self) -> Option<&str> {
        if let Value::Scalar { text, .. } = &self.value { Some(text) } else { None }
    }

    /// The members of a sequence, or `None` for other values.
    pub fn items(&self) -> Option<&[Self]> {
        if let Value::Sequence(items) = &self.value { Some(items) } else { None }
    }

    /// The entries of a mapping, or `None` for other values.
    pub fn entries(&self) -> Option<&[(Self, Self)]> {
        if let Value::Mapping(entries) = &self.value { Some(entries) } else { None }
    }

    /// The value of a key, if the node is a mapping that contains it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries()?.iter().find(|(known, _)| known.text() == Some(key)).map(|(_, value)| value)
    }

    /// Whether the value is absent: `null`, `~`, or empty and not quoted.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, quoted: false } if ["", "~", "null", "Null", "NULL", "None"].contains(&text.as_str()))
    }

    /// A description for messages: `"auto"`, `a list`, `a mapping`.
    pub fn described(&self) -> String {
        match &self.value {
            Value::Scalar { text, .. } if text.is_empty() => "nothing".to_owned(),
            Value::Scalar { text, .. } => format!("\"{}\"", super::excerpt(text)),
            Value::Sequence(items) => format!("a list of {}", items.len()),
            Value::Mapping(_) => "a mapping".to_owned(),
        }
    }
}

/// Writes a text as a scalar that [`parse`] reads back: plain where possible, else in double quotes.
pub fn scalar(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+'))
        && !text.starts_with(['-', '.', '/', '+']);
    if is_plain {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{85}') => {
                quoted += &format!("\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The node as JSON without quotes, which is easy to compare.
    fn shown(node: &Node) -> String {
        match &node.value {
            Value::Scalar { text, quoted: true } => format!("'{text}'"),
            Value::Scalar { text, .. } => text.clone(),
            Value::Sequence(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
            Value::Mapping(entries) => {
                let entries: Vec<_> = entries.iter().map(|(k, v)| format!("{}: {}", shown(k), shown(v))).collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }

    fn read(text: &str) -> String {
        parse(text).map_or_else(|error| error.to_string(), |node| shown(&node))
    }

    #[test]
    fn blocks() {
        for (text, expected) in [
            ("", "{}"),
            ("# nothing\n\n", "{}"),
            ("a: 1\nb: two words # and a comment\n", "{a: 1, b: two words}"),
            ("a:\n  b: 1\n  c: x:y#z\nd: 2", "{a: {b: 1, c: x:y#z}, d: 2}"),
            ("a:\n- 1\n- 2\nb:\n  - 3\n", "{a: [1, 2], b: [3]}"),
            ("- a: 1\n  b: 2\n-\n  c: 3\n- - 4\n  - 5\n- {d: 6}\n", "[{a: 1, b: 2}, {c: 3}, [4, 5], {d: 6}]"),
            ("---\na: 'it''s'\nb: \"x\\ty\\u00b5\"\n...\n", "{a: 'it's', b: 'x\ty\u{b5}'}"),
            ("\"a b\": 1\n'c': 2\n", "{'a b': 1, 'c': 2}"),
            ("a:\nb: ~\n", "{a: , b: ~}"),
            ("a: 1\r\nb: 2\r\n", "{a: 1, b: 2}"),
            ("\u{FEFF}a: 1\n", "{a: 1}"),
            ("a: -1\nb: -x\n", "{a: -1, b: -x}"),
            ("plain", "plain"),
            ("a: [1,\n 2]\nb: 3\n", "{a: [1, 2], b: 3}"),
            ("? a\n: b", "{a: b}"),
            ("%YAML 1.2\n---\na: 1", "{a: 1}"),
            ("---\n", "{}"),
            ("a: &x 1\n", "{a: 1}"),
            ("a\t:\t1\nb.c\t:\t[2, 3]\n", "{a: 1, b.c: [2, 3]}"),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn brackets() {
        for (text, expected) in [
            ("{}", "{}"),
            ("[]", "[]"),
            ("{a: 1, b: [x, 'y', \"z\",], }", "{a: 1, b: [x, 'y', 'z']}"),
            ("{\n  \"a\":['x'], # comment\n\t\"b\":1\n}\n# end", "{'a': ['x'], 'b': 1}"),
            ("{\"a\":{\"b\":[true,null,1e3]}}", "{'a': {'b': [true, null, 1e3]}}"),
            ("[a b, http://x, 'q']", "[a b, http://x, 'q']"),
            ("{a, b: }", "{a: , b: }"),
            ("{\"\\ud83d\\ude00\": \"\\/\"}", "{'😀': '/'}"),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn texts_of_several_lines() {
        for (text, expected) in [
            ("a: |\n  x\n   y\n\nb: 1\n", "{a: 'x\n y', b: 1}"),
            ("a: |-\n  x\n  y\nb: 1\n", "{a: 'x\ny', b: 1}"),
            ("a: >\n  x: 1\n  y # no comment\nb: 1\n", "{a: 'x: 1 y # no comment', b: 1}"),
            ("a: |2\n    x\nb: 1\n", "{a: '  x', b: 1}"),
            ("- >-\n  x\n\n  y\n- |+\n  z\n", "['x\ny', 'z']"),
            ("a: x\n  y\n", "{a: x y}"),
            ("a: 'x\n  y'\nb: \"x\\\n  y\"", "{a: 'x y', b: 'xy'}"),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn characters_that_json_writes_as_two_escapes() {
        // A backslash that is escaped begins no escape.
        assert_eq!(read(r#"{"a": "\\ud83d\ud83d\ude00x"}"#), r"{'a': '\ud83d😀x'}");
        let half = read(r#"{"a": "\ud83d"}"#);
        assert!(half.contains("invalid Unicode character"), "{half}");
    }

    #[test]
    fn what_is_refused_and_where() {
        for (text, message) in [
            ("a: &x 1\nb: *x, c", "line 2, column 4: \"*x\": aliases are not read; write the value out"),
            ("a: !!int 1", "line 1, column 4: tags are not read"),
            ("a: !x {}", "line 1, column 4: tags are not read"),
            ("a: 1\na: 2", "line 2, column 1: \"a\" stands twice"),
            ("{a: 1, 'a': 2}", "line 1, column 8: \"a\" stands twice"),
            ("a: 1\n---\nb: 2", "line 2, column 1: several documents are not read"),
            ("? [a]\n: b", "line 1, column 3: keys that are lists or mappings are not read"),
            ("a: 'x", "line 1, column 4: while scanning a quoted scalar, found unexpected end of stream"),
            ("a: \"\\q\"", "line 1, column 4: while parsing a quoted scalar, found unknown escape character"),
            ("a:\n\tb: 1", "line 2, column 2: a tab can't indent; use blanks"),
            ("{a: 1", "line 1, column 6: while parsing a flow mapping, did not find expected ',' or '}'"),
            ("[1, 2}", "line 1, column 6: while parsing a flow sequence, expected ',' or ']'"),
            ("a: 1\n b: 2", "line 2, column 3: mapping values are not allowed in this context"),
            ("- 1\nb: 2", "line 2, column 1: while parsing a block collection, did not find expected '-' indicator"),
        ] {
            assert_eq!(read(text), message, "{text:?}");
        }
        assert_eq!(read(&"[".repeat(99)), "line 1, column 17: values are nested deeper than 16");
        assert_eq!(read(&"- ".repeat(99)), "line 1, column 33: values are nested deeper than 16");
        let flow = "[".repeat(16) + &"]".repeat(16);
        assert_eq!(read(&flow), flow);
        assert_eq!(read(&" ".repeat((64 << 10) + 1)), "line 1, column 1: the text has more than 64 kB");
    }

    #[test]
    fn scalars_come_back() {
        for text in ["", "plain", "a b", "x: y", "-1", "é\u{2028}\"\\\n", "# no", "'", "ceil(vocabulary/(128*mp))"] {
            let node = parse(&format!("a: {}\nb: [{0}, {0}]", scalar(text))).unwrap();
            assert_eq!(node.get("a").and_then(Node::text), Some(text));
            assert_eq!(node.get("b").and_then(Node::items).map(|b| b[1].text()), Some(Some(text)));
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_text_is_read_or_refused(text in "([a-c'\"\\\\{}\\[\\],:&*!|#\t\n -]|: |- |\n  |\n- ){0,60}") {
            let _ = parse(&text);
        }

        #[test]
        fn any_scalar_comes_back(text in "\\PC{0,20}") {
            let node = parse(&format!("{{a: {}}}", scalar(&text))).unwrap();
            proptest::prop_assert_eq!(node.get("a").and_then(Node::text), Some(text.as_str()));
        }
    }
}
