//! A small XML reader for the dumps of NCCL and the algorithms of MSCCL: elements with attributes, comments,
//! declarations.

/// An XML element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// The name of the element.
    pub name: String,
    /// The line in which it begins, from 1.
    pub line: u64,
    /// The attributes in their order.
    pub attributes: Vec<(String, String)>,
    /// The child elements.
    pub children: Vec<Element>,
}

impl Element {
    /// The value of an attribute.
    #[must_use]
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

/// Parses the root element of a text.
///
/// # Errors
/// Returns a message with the line.
pub fn parse(text: &str) -> Result<Element, String> {
    let mut open: Vec<Element> = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    let mut line = 1_u64;
    let mut count = 0;
    loop {
        let Some(begin) = rest.find('<') else {
            let inside = open.last().map(|element| element.name.clone());
            return Err(match inside {
                Some(name) => format!("line {line}: the text ends inside <{name}>"),
                None => "there is no element".to_owned(),
            });
        };
        line += newlines(&rest[..begin]);
        rest = &rest[begin..];
        let skipped = [("<?", "?>"), ("<!--", "-->"), ("<!", ">")].iter().find(|(begin, _)| rest.starts_with(begin));
        if let Some((_, end)) = skipped {
            let end = rest.find(end).ok_or_else(|| format!("line {line}: what begins here has no end"))? + end.len();
            line += newlines(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        let end = tag_end(rest).ok_or_else(|| format!("line {line}: a tag is not closed"))?;
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        let closed = if let Some(name) = tag.strip_prefix('/') {
            match open.pop() {
                Some(element) if element.name == name.trim() => Some(element),
                _ => return Err(format!("line {line}: </{}> closes what is not open", name.trim())),
            }
        } else {
            let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            count += 1;
            if count > MOST || open.len() >= DEEPEST {
                return Err(format!("line {line}: more elements than there can be"));
            }
            let element = element(tag, line)?;
            if is_empty {
                Some(element)
            } else {
                open.push(element);
                None
            }
        };
        line += newlines(tag);
        if let Some(element) = closed {
            match open.last_mut() {
                Some(parent) => parent.children.push(element),
                None => return Ok(element),
            }
        }
    }
}

fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// The end of a tag: the first `>` outside of quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

fn element(tag: &str, line: u64) -> Result<Element, String> {
    let wrong = || format!("line {line}: \"{}\" is no tag with attributes", crate::text::excerpt(tag));
    let (name, mut rest) = tag.split_at(tag.find(char::is_whitespace).unwrap_or(tag.len()));
    if name.is_empty() {
        return Err(wrong());
    }
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(Element { name: name.to_owned(), line, attributes, children: Vec::new() });
        }
        let (key, after) = rest.split_once('=').ok_or_else(wrong)?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|quote| matches!(quote, '"' | '\'')).ok_or_else(wrong)?;
        let (value, after) = after[1..].split_once(quote).ok_or_else(wrong)?;
        let plain = value
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&apos;", "'")
            .replace("&amp;", "&");
        attributes.push((key.trim().to_owned(), plain));
        rest = after;
    }
}
