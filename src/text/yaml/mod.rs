//! YAML as configurations are written in it, and JSON, which is a part of it: mappings and sequences in blocks or in
//! brackets, plain and quoted scalars of one line, comments, commas after the last member.
//!
//! Anchors, aliases and tags are refused, since they make a small file a large one or another thing; so are scalars of
//! several lines and a key that stands twice. Every value knows its place.
//!
//! It is written here because the readers that know all of YAML weigh more than a workbench's own reader may.

mod block;
mod fields;
mod flow;
mod scanner;

pub use fields::{Fields, KeyError};

/// The most bytes of a text.
pub const LONGEST: usize = 64 << 10;
/// The deepest nesting of values.
pub const DEEPEST: usize = 16;

/// A value with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Line number, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The value.
    pub value: Value,
}

/// The value of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A scalar.
    Scalar {
        /// The text without its quotes.
        text: String,
        /// Whether it was quoted, which distinguishes `"1"` from `1`.
        quoted: bool,
    },
    /// A list.
    Sequence(Vec<Node>),
    /// Keys with their values, in the order of the text; keys differ.
    Mapping(Vec<(Node, Node)>),
}

/// A fault of a text, with its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {fault}")]
pub struct YamlError {
    /// Line number, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The fault.
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
    /// An anchor or alias, which are not supported.
    #[error("\"{0}\": anchors and aliases are not read; write the value out")]
    Anchor(String),
    /// A tag, a directive, a block scalar, or another thing of YAML that configurations don't need.
    #[error("{0} are not read")]
    Unsupported(&'static str),
    /// Something else was expected.
    #[error("{expected} was expected, not {found}")]
    Unexpected {
        /// A description of what was expected.
        expected: &'static str,
        /// The text that was found.
        found: String,
    },
    /// A tab where the depth of a block is told by blanks.
    #[error("a tab can't indent; use blanks")]
    Tab,
    /// This key occurs twice in a mapping.
    #[error("\"{0}\" stands twice")]
    DuplicateKey(String),
    /// A quote is not closed on its line.
    #[error("the quote is not closed on its line")]
    OpenQuote,
    /// An unknown escape sequence, such as `\q`.
    #[error("\"\\{0}\" is no escape")]
    Escape(char),
}

/// Reads a text. One that holds nothing is an empty mapping.
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
/// Returns an error if it can't be read, with the place.
pub fn parse(text: &str) -> Result<Node, YamlError> {
    let mut scanner = scanner::Scanner::new(text);
    if text.len() > LONGEST {
        return Err(scanner.error(YamlFault::TooLong));
    }
    block::document(&mut scanner)
}

impl Node {
    /// The text of a scalar, or `None` for other values.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let Value::Scalar { text, .. } = &self.value { Some(text) } else { None }
    }

    /// The members of a sequence, or `None` for other values.
    #[must_use]
    pub fn items(&self) -> Option<&[Self]> {
        if let Value::Sequence(items) = &self.value { Some(items) } else { None }
    }

    /// The entries of a mapping, or `None` for other values.
    #[must_use]
    pub fn entries(&self) -> Option<&[(Self, Self)]> {
        if let Value::Mapping(entries) = &self.value { Some(entries) } else { None }
    }

    /// The value of a key, if the node is a mapping that contains it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries()?.iter().find(|(known, _)| known.text() == Some(key)).map(|(_, value)| value)
    }

    /// It stands for nothing: `null`, `~`, or an empty value that is not quoted.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, quoted: false } if ["", "~", "null", "Null", "NULL", "None"].contains(&text.as_str()))
    }

    /// A description for messages: `"auto"`, `a list`, `a mapping`.
    #[must_use]
    pub fn described(&self) -> String {
        match &self.value {
            Value::Scalar { text, .. } if text.is_empty() => "nothing".to_owned(),
            Value::Scalar { text, .. } => format!("\"{}\"", super::excerpt(text)),
            Value::Sequence(items) => format!("a list of {}", items.len()),
            Value::Mapping(_) => "a mapping".to_owned(),
        }
    }
}

/// A text as a scalar that [`parse`] reads back: plain where it can be, else in double quotes.
#[must_use]
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
    fn what_is_refused_and_where() {
        for (text, message) in [
            ("a: &x 1\nb: *x", "line 1, column 4: \"&x\": anchors and aliases are not read; write the value out"),
            ("a: 1\nb: *x", "line 2, column 4: \"*x\": anchors and aliases are not read; write the value out"),
            ("a: !!int 1", "line 1, column 4: tags are not read"),
            ("%YAML 1.2\n---\n", "line 1, column 1: directives are not read"),
            ("a: |\n  x", "line 1, column 4: texts of several lines are not read"),
            ("a: x\n  y\n", "line 2, column 3: a key at the depth of the others was expected, not \"y\""),
            ("a: 1\na: 2", "line 2, column 1: \"a\" stands twice"),
            ("{a: 1, 'a': 2}", "line 1, column 8: \"a\" stands twice"),
            ("a: 'x", "line 1, column 4: the quote is not closed on its line"),
            ("a: \"\\q\"", "line 1, column 5: \"\\q\" is no escape"),
            ("a:\n\tb: 1", "line 2, column 1: a tab can't indent; use blanks"),
            ("{a: 1", "line 1, column 6: a comma or a closing bracket was expected, not the end"),
            ("[1, 2}", "line 1, column 6: a comma or a closing bracket was expected, not \"}\""),
            ("[1] x", "line 1, column 5: the end of the line was expected, not \"x\""),
            ("{a: 1}\nb: 2", "line 2, column 1: the end was expected, not \"b\""),
            ("a: 1\n---\nb: 2", "line 2, column 1: several documents are not read"),
            ("a: 1\n b: 2", "line 2, column 2: a key at the depth of the others was expected, not \"b\""),
            ("- 1\nb: 2", "line 2, column 1: a dash at the depth of the others was expected, not \"b\""),
            ("a: 1\nplain\n", "line 2, column 6: a colon after the key was expected, not the end of the line"),
            ("? a\n: b", "line 1, column 1: keys of several lines are not read"),
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
