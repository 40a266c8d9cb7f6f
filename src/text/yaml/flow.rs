//! Reads mappings and sequences in brackets.

use super::{DEEPEST, Node, Value, YamlError, YamlFault, scanner::Scanner};

/// Reads from an opening bracket to the one that closes it.
pub(super) fn bracketed(scanner: &mut Scanner<'_>, depth: usize) -> Result<Node, YamlError> {
    if depth >= DEEPEST {
        return Err(scanner.error(YamlFault::TooDeep));
    }
    let mark = scanner.mark();
    let is_mapping = scanner.bump() == Some('{');
    let closing = if is_mapping { '}' } else { ']' };
    let mut entries: Vec<(Node, Node)> = Vec::new();
    let mut items: Vec<Node> = Vec::new();
    loop {
        scanner.skip_lines();
        if scanner.peek() == Some(closing) {
            scanner.bump();
            break;
        }
        if is_mapping {
            entry(scanner, &mut entries, depth)?;
        } else {
            items.push(value(scanner, depth)?);
        }
        scanner.skip_lines();
        match scanner.peek() {
            Some(',') => {
                scanner.bump();
            }
            Some(next) if next == closing => {}
            _ => return Err(scanner.unexpected("a comma or a closing bracket")),
        }
    }
    let value = if is_mapping { Value::Mapping(entries) } else { Value::Sequence(items) };
    Ok(Node { line: mark.line, column: mark.column, value })
}

fn entry(scanner: &mut Scanner<'_>, entries: &mut Vec<(Node, Node)>, depth: usize) -> Result<(), YamlError> {
    if matches!(scanner.peek(), None | Some(',' | '[' | ']' | '{' | '}' | ':')) {
        return Err(scanner.unexpected("a key"));
    }
    let key = scanner.scalar(true)?;
    super::block::refuse_duplicate(entries, &key)?;
    scanner.skip_lines();
    let value = if scanner.peek() == Some(':') {
        scanner.bump();
        scanner.skip_lines();
        match scanner.peek() {
            Some(',' | '}') => empty(scanner),
            _ => value(scanner, depth)?,
        }
    } else {
        empty(scanner)
    };
    entries.push((key, value));
    Ok(())
}

fn value(scanner: &mut Scanner<'_>, depth: usize) -> Result<Node, YamlError> {
    match scanner.peek() {
        Some('[' | '{') => bracketed(scanner, depth + 1),
        None | Some(',' | ']' | '}' | ':') => Err(scanner.unexpected("a value")),
        _ => scanner.scalar(true),
    }
}

/// An empty value at the scanner's position.
pub(super) fn empty(scanner: &Scanner<'_>) -> Node {
    let mark = scanner.mark();
    Node { line: mark.line, column: mark.column, value: Value::Scalar { text: String::new(), quoted: false } }
}
