//! As much XML as a workbook needs: tags with attributes, and texts with entities. Prefixes of names are passed over.

/// A piece of an XML document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event<'a> {
    /// A start tag `<name attribute="value">`, or an empty element `<name/>`, whose end tag follows at once.
    Start { name: &'a str, attributes: &'a str },
    /// An end tag.
    End { name: &'a str },
    /// Text between tags, with entities still escaped.
    Text(&'a str),
    /// The text of a CDATA section.
    Data(&'a str),
}

/// Reads a document event by event.
pub(super) struct Events<'a> {
    text: &'a str,
    at: usize,
    /// The name of an element that ends where it begins.
    empty: Option<&'a str>,
}

/// The document is not valid XML from this byte offset on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoXml(pub(super) usize);

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

impl<'a> Events<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, empty: None }
    }

    /// The next event; `None` at the end of the document.
    pub(super) fn next(&mut self) -> Result<Option<Event<'a>>, NoXml> {
        if let Some(name) = self.empty.take() {
            return Ok(Some(Event::End { name }));
        }
        loop {
            let rest = &self.text[self.at..];
            let no_xml = NoXml(self.at);
            let Some(tag) = rest.strip_prefix('<') else {
                let end = rest.find('<').unwrap_or(rest.len());
                self.at += end;
                return Ok(Some(Event::Text(&rest[..end])).filter(|_| end > 0));
            };
            let passed_over = [("!--", "-->"), ("?", "?>"), ("![CDATA[", "]]>"), ("!", ">")];
            if let Some((begin, end)) = passed_over.iter().find(|(begin, _)| tag.starts_with(begin)) {
                let content = &tag[begin.len()..];
                let length = content.find(end).ok_or(no_xml)?;
                self.at += 1 + begin.len() + length + end.len();
                if *begin == "![CDATA[" {
                    return Ok(Some(Event::Data(&content[..length])));
                }
                continue;
            }
            let length = end_of_tag(tag).ok_or(no_xml)?;
            self.at += 1 + length + 1;
            let tag = &tag[..length];
            if let Some(name) = tag.strip_prefix('/') {
                return Ok(Some(Event::End { name: local(name.trim()) }));
            }
            let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            let (name, attributes) = tag.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((tag, ""));
            let name = local(name);
            self.empty = is_empty.then_some(name);
            return Ok(Some(Event::Start { name, attributes }));
        }
    }
}

/// The index of the `>` that ends a tag, outside quotes.
fn end_of_tag(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// The value of an attribute, entities as they are written.
pub(super) fn attribute<'a>(attributes: &'a str, wanted: &str) -> Option<&'a str> {
    let mut rest = attributes;
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, next) = after[1..].split_once(quote)?;
        if name.trim() == wanted {
            return Some(value);
        }
        rest = next;
    }
}

/// Adds a text with its entities resolved; those that are unknown stay as they are.
pub(super) fn push_text(out: &mut String, text: &str) {
    /// The longest name of an entity, with zeros before its digits.
    const LONGEST: usize = 32;
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        rest = after;
        // No further: where no entity ends, each `&` of a text would be followed to its end.
        let end = after.bytes().take(LONGEST).position(|byte| byte == b';');
        match end.and_then(|end| Some((entity(&after[..end])?, &after[end + 1..]))) {
            Some((character, next)) => {
                out.push(character);
                rest = next;
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
}

fn entity(name: &str) -> Option<char> {
    let code = |digits: &str, radix| char::from_u32(u32::from_str_radix(digits, radix).ok()?);
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let digits = name.strip_prefix('#')?;
            digits.strip_prefix(['x', 'X']).map_or_else(|| code(digits, 10), |hex| code(hex, 16))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Result<Vec<Event<'_>>, NoXml> {
        let mut events = Events::new(text);
        let mut all = Vec::new();
        while let Some(event) = events.next()? {
            all.push(event);
        }
        Ok(all)
    }

    #[test]
    fn tags_texts_and_what_is_passed_over() {
        let start = |name, attributes| Event::Start { name, attributes };
        assert_eq!(
            events("<?xml version='1.0'?><!-- <a> --><x:a b='>' c = \"2\"/>t&amp;<![CDATA[<&]]></a>"),
            Ok(vec![
                start("a", "b='>' c = \"2\""),
                Event::End { name: "a" },
                Event::Text("t&amp;"),
                Event::Data("<&"),
                Event::End { name: "a" },
            ])
        );
        assert_eq!(events("ab<c"), Err(NoXml(2)));
        assert_eq!(events("<!-- "), Err(NoXml(0)));
    }

    #[test]
    fn attributes_and_entities() {
        assert_eq!(attribute("r=\"A1\" t = 's'", "t"), Some("s"));
        assert_eq!(attribute("r=\"A1\" t", "t"), None);
        let mut text = String::new();
        push_text(&mut text, "a&lt;b&#65;&#x42;&nbsp;&#xD800;& c&");
        assert_eq!(text, "a<bAB&nbsp;&#xD800;& c&");
    }
}
