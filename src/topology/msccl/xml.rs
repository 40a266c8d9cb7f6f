//! The elements of an XML text, for the dumps of NCCL and the algorithms of MSCCL. The crate `quick-xml` reads it; no
//! entity is expanded but those of single characters.

use quick_xml::{
    Reader,
    escape::unescape,
    events::{BytesStart, Event},
};

/// An XML element with its attributes and children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    pub name: String,
    /// The line in which it begins, from 1.
    pub line: u64,
    pub attributes: Vec<(String, String)>,
    /// The child elements, in the order of the text.
    pub children: Vec<Element>,
}

impl Element {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The child elements of a name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// The most elements of a text, and below the greatest depth.
const MOST: usize = 1_000_000;
const DEEPEST: usize = 64;

/// Parses the root element of a text. Returns a message with the line.
pub fn parse(text: &str) -> Result<Element, String> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.expand_empty_elements = true;
    config.allow_dangling_amp = true;
    let mut open: Vec<Element> = Vec::new();
    let (mut line, mut counted_to, mut count) = (1_u64, 0, 0);
    loop {
        let begin = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        line += newlines(text, counted_to, begin);
        counted_to = begin;
        match reader.read_event() {
            Err(error) => {
                let at = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
                return Err(format!("line {}: {error}", line + newlines(text, begin, at)));
            }
            Ok(Event::Start(tag)) => {
                count += 1;
                if count > MOST || open.len() >= DEEPEST {
                    return Err(format!("line {line}: more elements than there can be"));
                }
                open.push(element(&tag, line)?);
            }
            Ok(Event::End(_)) => {
                let Some(element) = open.pop() else { continue };
                match open.last_mut() {
                    Some(parent) => parent.children.push(element),
                    None => return Ok(element),
                }
            }
            Ok(Event::Eof) => {
                return Err(match open.last() {
                    Some(Element { name, .. }) => format!("line {line}: the text ends inside <{name}>"),
                    None => "there is no element".to_owned(),
                });
            }
            Ok(_) => {}
        }
    }
}

fn newlines(text: &str, begin: usize, end: usize) -> u64 {
    let part = text.as_bytes().get(begin..end.min(text.len())).unwrap_or_default();
    part.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn element(tag: &BytesStart<'_>, line: u64) -> Result<Element, String> {
    let mut element = Element { name: tag.name().as_ref().to_owned(), line, ..Element::default() };
    // Looking for names that stand twice would take a time that grows with the square of their number.
    for attribute in tag.attributes().with_checks(false) {
        let attribute = attribute.map_err(|error| {
            format!("line {line}: \"{}\" is no tag with attributes: {error}", crate::text::excerpt(tag))
        })?;
        let value = unescape(&attribute.value).map_or_else(|_unknown| attribute.value.to_string(), Into::into);
        element.attributes.push((attribute.key.as_ref().to_owned(), value));
    }
    Ok(element)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_with_their_lines_and_attributes() {
        let text = "\u{feff}<?xml version='1.0'?>\n<!-- <a> -->\n<!DOCTYPE a [<!ENTITY x \"y\">]>\n<a b = '&lt;&#x41;&x;'\n c=\">\">\n text &x; & <d/><![CDATA[<e>]]>\n<f></f></a>";
        let root = parse(text).unwrap();
        assert_eq!((root.name.as_str(), root.line), ("a", 4));
        assert_eq!((root.get("b"), root.get("c")), (Some("&lt;&#x41;&x;"), Some(">")));
        let children: Vec<_> = root.children.iter().map(|child| (child.name.as_str(), child.line)).collect();
        assert_eq!(children, [("d", 6), ("f", 7)]);
        assert_eq!(parse("<a b='&lt;&#x41;&amp;lt;'/>").unwrap().get("b"), Some("<A&lt;"));
    }

    #[test]
    fn faults_are_located() {
        for (text, expected) in [
            ("", "there is no element"),
            ("<a>\n<b>", "line 2: the text ends inside <b>"),
            ("<a>\n</b>", "line 2: ill-formed document: expected `</a>`, but `</b>` was found"),
            ("<a>\n<b c>", "line 2: \"b c\" is no tag with attributes: "),
            ("<a>\n<b c=1>", "line 2: \"b c=1\" is no tag with attributes: "),
            ("\n<a b='", "line 2: syntax error: "),
            ("<a>\n\n<!-- ", "line 3: syntax error: "),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        assert!(parse(&"<a>".repeat(DEEPEST + 1)).unwrap_err().contains("more elements than there can be"));
    }
}
