//! The position of a reader in the text, and the scalars that it reads.

use super::{Node, Value, YamlError, YamlFault};

/// A position in a text.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) line: u32,
    pub(super) column: u32,
}

pub(super) struct Scanner<'a> {
    rest: &'a str,
    /// Line number, from 1.
    line: u32,
    /// Column in characters, from 1.
    column: u32,
    /// A blank or a line's beginning comes before, so that `#` begins a comment.
    after_blank: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text.strip_prefix('\u{FEFF}').unwrap_or(text), line: 1, column: 1, after_blank: true }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { line: self.line, column: self.column }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// At the end of a line or of the text.
    pub(super) fn at_line_end(&self) -> bool {
        matches!(self.peek(), None | Some('\n' | '\r'))
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next()?;
        self.rest = chars.as_str();
        self.after_blank = next.is_whitespace();
        // CRLF ends one line, by its LF; a CR alone ends one as well.
        if next == '\n' || (next == '\r' && !self.rest.starts_with('\n')) {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(next)
    }

    pub(super) fn error(&self, fault: YamlFault) -> YamlError {
        YamlError { line: self.line, column: self.column, fault }
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> YamlError {
        let found = match self.peek() {
            None => "the end".to_owned(),
            Some('\n' | '\r') => "the end of the line".to_owned(),
            Some(_) => {
                let is_end = |c: char| c.is_whitespace() || ":,[]{}\"'".contains(c);
                let end =
                    self.rest.char_indices().skip(1).find(|(_, c)| is_end(*c)).map_or(self.rest.len(), |(at, _)| at);
                format!("\"{}\"", crate::text::excerpt(&self.rest[..end]))
            }
        };
        self.error(YamlFault::Unexpected { expected, found })
    }

    /// Blanks and tabs within a line, and a comment behind them.
    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.bump();
        }
        if self.peek() == Some('#') && self.after_blank {
            while !self.at_line_end() {
                self.bump();
            }
        }
    }

    /// Skips blanks, comments and line ends.
    pub(super) fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            if !matches!(self.peek(), Some('\n' | '\r')) {
                return;
            }
            self.bump();
        }
    }

    /// Refuses characters that can't start a value.
    pub(super) fn refuse_specials(&self) -> Result<(), YamlError> {
        match self.peek() {
            Some('&' | '*') => {
                let end = self.rest.find(|c: char| c.is_whitespace() || ",[]{}".contains(c)).unwrap_or(self.rest.len());
                Err(self.error(YamlFault::Anchor(crate::text::excerpt(&self.rest[..end]))))
            }
            Some('!') => Err(self.error(YamlFault::Unsupported("tags"))),
            Some('|' | '>') => Err(self.error(YamlFault::Unsupported("texts of several lines"))),
            Some('%') => Err(self.error(YamlFault::Unsupported("directives"))),
            Some('@' | '`') => Err(self.unexpected("a value")),
            Some('?') if self.rest[1..].starts_with([' ', '\n', '\r']) || self.rest.len() == 1 => {
                Err(self.error(YamlFault::Unsupported("keys of several lines")))
            }
            _ => Ok(()),
        }
    }

    /// A scalar, quoted or plain, of one line. A plain one ends before `: `, ` #`, and in brackets before a comma or a
    /// bracket.
    pub(super) fn scalar(&mut self, in_brackets: bool) -> Result<Node, YamlError> {
        self.refuse_specials()?;
        let mark = self.mark();
        let (text, quoted) = match self.peek() {
            Some('\'') => (self.single_quoted()?, true),
            Some('"') => (self.double_quoted()?, true),
            _ => (self.plain(in_brackets), false),
        };
        Ok(Node { line: mark.line, column: mark.column, value: Value::Scalar { text, quoted } })
    }

    fn plain(&mut self, in_brackets: bool) -> String {
        let mut text = String::new();
        while let Some(next) = self.peek() {
            let after = self.rest.chars().nth(1);
            let ends = match next {
                '\n' | '\r' => true,
                ':' => {
                    after.is_none_or(char::is_whitespace) || (in_brackets && after.is_some_and(|c| ",[]{}".contains(c)))
                }
                '#' => text.ends_with([' ', '\t']),
                ',' | '[' | ']' | '{' | '}' => in_brackets,
                _ => false,
            };
            if ends {
                break;
            }
            text.push(next);
            self.bump();
        }
        text.truncate(text.trim_end().len());
        text
    }

    fn single_quoted(&mut self) -> Result<String, YamlError> {
        let open = self.error(YamlFault::OpenQuote);
        self.bump();
        let mut text = String::new();
        loop {
            if self.at_line_end() {
                return Err(open);
            }
            match self.bump() {
                Some('\'') if self.peek() == Some('\'') => {
                    self.bump();
                    text.push('\'');
                }
                Some('\'') | None => return Ok(text),
                Some(next) => text.push(next),
            }
        }
    }

    fn double_quoted(&mut self) -> Result<String, YamlError> {
        let open = self.error(YamlFault::OpenQuote);
        self.bump();
        let mut text = String::new();
        loop {
            if self.at_line_end() {
                return Err(open);
            }
            match self.peek() {
                Some('"') | None => {
                    self.bump();
                    return Ok(text);
                }
                Some('\\') => text.push(self.escape()?),
                Some(next) => {
                    text.push(next);
                    self.bump();
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, YamlError> {
        let start = self.mark();
        let fault = |escape| YamlError { line: start.line, column: start.column, fault: YamlFault::Escape(escape) };
        self.bump();
        let kind = self.peek().filter(|c| !c.is_control()).ok_or_else(|| fault(' '))?;
        self.bump();
        let length = match kind {
            'n' => return Ok('\n'),
            't' => return Ok('\t'),
            'r' => return Ok('\r'),
            '0' => return Ok('\0'),
            'b' => return Ok('\u{8}'),
            'f' => return Ok('\u{c}'),
            '"' | '\\' | '/' | ' ' => return Ok(kind),
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => return Err(fault(kind)),
        };
        let high = self.hexadecimal(length).ok_or_else(|| fault(kind))?;
        if !(0xD800..0xDC00).contains(&high) {
            return char::from_u32(high).ok_or_else(|| fault(kind));
        }
        // JSON writes what is beyond 16 bits as two halves.
        let low = self.rest.strip_prefix("\\u").is_some().then(|| {
            self.bump();
            self.bump();
            self.hexadecimal(4)
        });
        let low = low.flatten().filter(|low| (0xDC00..0xE000).contains(low)).ok_or_else(|| fault(kind))?;
        char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)).ok_or_else(|| fault(kind))
    }

    fn hexadecimal(&mut self, length: usize) -> Option<u32> {
        let mut value = 0_u32;
        for _ in 0..length {
            value = value.checked_mul(16)?.checked_add(self.peek()?.to_digit(16)?)?;
            self.bump();
        }
        Some(value)
    }
}
