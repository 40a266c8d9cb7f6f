//! Mappings and sequences whose depth is told by blanks before them.

use super::{
    DEEPEST, Node, Value, YamlError, YamlFault,
    flow::{bracketed, empty},
    scanner::Scanner,
};

/// Reads a whole document.
pub(super) fn document(scanner: &mut Scanner<'_>) -> Result<Node, YamlError> {
    next_line(scanner)?;
    if is_marker(scanner, "---") {
        (0..3).for_each(|_| {
            scanner.bump();
        });
        next_line(scanner)?;
    }
    let node = if scanner.peek().is_none() || is_marker(scanner, "...") {
        Node { value: Value::Mapping(Vec::new()), ..empty(scanner) }
    } else {
        block(scanner, 0)?
    };
    next_line(scanner)?;
    if is_marker(scanner, "...") {
        (0..3).for_each(|_| {
            scanner.bump();
        });
        next_line(scanner)?;
    }
    if is_marker(scanner, "---") {
        return Err(scanner.error(YamlFault::Unsupported("several documents")));
    }
    if scanner.peek().is_some() { Err(scanner.unexpected("the end")) } else { Ok(node) }
}

/// Whether a line begins with a marker, `---` or `...`.
fn is_marker(scanner: &Scanner<'_>, marker: &str) -> bool {
    scanner.mark().column == 1
        && scanner
            .rest()
            .strip_prefix(marker)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// Goes to the first sign of the next line that has one, or stays if the line is not at its end.
fn next_line(scanner: &mut Scanner<'_>) -> Result<(), YamlError> {
    loop {
        let indents = scanner.mark().column == 1;
        let tab = indents && scanner.rest().trim_start_matches(' ').starts_with('\t');
        let mark = scanner.error(YamlFault::Tab);
        scanner.skip_blanks();
        if !scanner.at_line_end() {
            return if tab && !matches!(scanner.peek(), Some('{' | '[')) { Err(mark) } else { Ok(()) };
        }
        if scanner.bump().is_none() {
            return Ok(());
        }
    }
}

/// Checks that only a comment follows on the line.
fn end_of_line(scanner: &mut Scanner<'_>) -> Result<(), YamlError> {
    scanner.skip_blanks();
    if scanner.at_line_end() { Ok(()) } else { Err(scanner.unexpected("the end of the line")) }
}

fn is_dash(scanner: &Scanner<'_>) -> bool {
    scanner.rest().strip_prefix('-').is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// Reads the node at the scanner's position, whose indentation is the column.
fn block(scanner: &mut Scanner<'_>, depth: usize) -> Result<Node, YamlError> {
    if depth >= DEEPEST {
        return Err(scanner.error(YamlFault::TooDeep));
    }
    if is_dash(scanner) {
        return sequence(scanner, depth);
    }
    if matches!(scanner.peek(), Some('[' | '{')) {
        let node = bracketed(scanner, depth)?;
        end_of_line(scanner)?;
        return Ok(node);
    }
    let first = scanner.scalar(false)?;
    scanner.skip_blanks();
    if scanner.peek() == Some(':') {
        return mapping(scanner, first, depth);
    }
    end_of_line(scanner)?;
    Ok(first)
}

fn sequence(scanner: &mut Scanner<'_>, depth: usize) -> Result<Node, YamlError> {
    let mark = scanner.mark();
    let mut items = Vec::new();
    loop {
        scanner.bump();
        scanner.skip_blanks();
        items.push(if scanner.at_line_end() {
            below(scanner, mark.column, false, depth)?
        } else {
            block(scanner, depth + 1)?
        });
        next_line(scanner)?;
        let column = scanner.mark().column;
        if scanner.peek().is_none() || column < mark.column || is_document_end(scanner) {
            break;
        }
        if column > mark.column || !is_dash(scanner) {
            // The dashes of a mapping's value may stand as deep as its keys.
            if column == mark.column && depth > 0 {
                break;
            }
            return Err(scanner.unexpected("a dash at the depth of the others"));
        }
    }
    Ok(Node { line: mark.line, column: mark.column, value: Value::Sequence(items) })
}

fn is_document_end(scanner: &Scanner<'_>) -> bool {
    is_marker(scanner, "---") || is_marker(scanner, "...")
}

/// A mapping whose first key was read; the scanner stands at its colon.
fn mapping(scanner: &mut Scanner<'_>, first: Node, depth: usize) -> Result<Node, YamlError> {
    let (line, column) = (first.line, first.column);
    let mut entries: Vec<(Node, Node)> = Vec::new();
    let mut key = first;
    loop {
        refuse_duplicate(&entries, &key)?;
        scanner.bump();
        scanner.skip_blanks();
        let value = match scanner.peek() {
            _ if scanner.at_line_end() => below(scanner, column, true, depth)?,
            Some('[' | '{') => {
                let value = bracketed(scanner, depth + 1)?;
                end_of_line(scanner)?;
                value
            }
            _ => {
                let value = scanner.scalar(false)?;
                end_of_line(scanner)?;
                value
            }
        };
        entries.push((key, value));
        next_line(scanner)?;
        let next = scanner.mark().column;
        if scanner.peek().is_none() || next < column || is_document_end(scanner) {
            break;
        }
        if next > column || is_dash(scanner) {
            return Err(scanner.unexpected("a key at the depth of the others"));
        }
        if matches!(scanner.peek(), Some('[' | '{' | ']' | '}')) {
            return Err(scanner.unexpected("a key"));
        }
        key = scanner.scalar(false)?;
        scanner.skip_blanks();
        if scanner.peek() != Some(':') {
            return Err(scanner.unexpected("a colon after the key"));
        }
    }
    Ok(Node { line, column, value: Value::Mapping(entries) })
}

/// The value that stands on the lines below a key or a dash of this column; nothing where none is deeper. Of a key, a
/// sequence may be as deep as the key.
fn below(scanner: &mut Scanner<'_>, column: u32, is_key: bool, depth: usize) -> Result<Node, YamlError> {
    let nothing = empty(scanner);
    next_line(scanner)?;
    let next = scanner.mark().column;
    let belongs = next > column || (is_key && next == column && is_dash(scanner));
    if scanner.peek().is_none() || !belongs || is_document_end(scanner) {
        Ok(nothing)
    } else {
        block(scanner, depth + 1)
    }
}

pub(super) fn refuse_duplicate(entries: &[(Node, Node)], key: &Node) -> Result<(), YamlError> {
    let name = key.text().unwrap_or_default();
    if entries.iter().any(|(known, _)| known.text() == Some(name)) {
        let fault = YamlFault::DuplicateKey(crate::text::excerpt(name));
        return Err(YamlError { line: key.line, column: key.column, fault });
    }
    Ok(())
}
