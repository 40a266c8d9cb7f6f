//! Words and operators of a shell script, as they stand, with their quotes.

use std::{iter::Peekable, str::Chars};

/// The deepest nesting of quotes and brackets.
const DEEPEST: usize = 32;

/// A word or an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// As it stands; the end of a line is an operator.
    pub raw: String,
    /// The line of the text on which it begins, counted from 1.
    pub line: u32,
    /// Whether it ends a command: `;;` is a word.
    pub is_operator: bool,
}

/// The tokens of a text whose first line has this number; `None` if a quote or a bracket is left open. The lines of
/// here-documents are none, unless they are kept.
pub(super) fn lex(text: &str, line: u32, keeps_documents: bool) -> Option<Vec<Token>> {
    let mut lexer = Lexer {
        rest: text.chars().peekable(),
        line,
        tokens: Vec::new(),
        word: None,
        keeps_documents,
        documents: Vec::new(),
    };
    while let Some(c) = lexer.next() {
        lexer.token(c)?;
    }
    lexer.end_word();
    Some(lexer.tokens)
}

struct Lexer<'a> {
    rest: Peekable<Chars<'a>>,
    line: u32,
    tokens: Vec<Token>,
    /// The word so far, and the line on which it began.
    word: Option<(String, u32)>,
    keeps_documents: bool,
    /// The ends of here-documents that begin on the next line.
    documents: Vec<String>,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        self.line += u32::from(c == '\n');
        Some(c)
    }

    fn push(&mut self, c: char) {
        let line = self.line;
        self.word.get_or_insert_with(|| (String::new(), line)).0.push(c);
    }

    fn end_word(&mut self) {
        if let Some((raw, line)) = self.word.take() {
            self.tokens.push(Token { raw, line, is_operator: false });
        }
    }

    fn operator(&mut self, raw: &str, line: u32) {
        self.end_word();
        self.tokens.push(Token { raw: raw.to_owned(), line, is_operator: true });
    }

    /// Takes what ends a here-document, after its `<<`.
    fn document(&mut self) {
        self.rest.next_if_eq(&'-');
        while self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let mut end = String::new();
        while let Some(c) = self.rest.next_if(|c| !c.is_whitespace() && !";&|()<>".contains(*c)) {
            if !matches!(c, '\'' | '"' | '\\') {
                end.push(c);
            }
        }
        if !end.is_empty() {
            self.documents.push(end);
        }
    }

    /// Passes over the lines of the here-documents that begin here.
    fn skip_documents(&mut self) {
        for end in std::mem::take(&mut self.documents) {
            while self.rest.peek().is_some() {
                let mut line = String::new();
                while let Some(c) = self.next().filter(|c| *c != '\n') {
                    line.push(c);
                }
                if line.trim() == end {
                    break;
                }
            }
        }
    }

    fn ends_with(&self, end: char) -> bool {
        self.word.as_ref().is_some_and(|(word, _)| word.ends_with(end))
    }

    fn token(&mut self, c: char) -> Option<()> {
        let next = self.rest.peek().copied();
        match c {
            '\n' => {
                self.operator("\n", self.line - 1);
                self.skip_documents();
            }
            '<' if next == Some('<') && !self.keeps_documents => {
                self.end_word();
                self.next();
                if self.rest.peek() != Some(&'<') {
                    self.document();
                }
            }
            c if c.is_whitespace() => self.end_word(),
            '\\' if next == Some('\n') => _ = self.next(),
            '#' if self.word.is_none() => while self.rest.next_if(|c| *c != '\n').is_some() {},
            '(' if self.ends_with('=') || self.word.is_none() && next == Some('(') => self.copied(c, 0)?,
            '(' => self.operator("(", self.line),
            ')' => self.operator(")", self.line),
            ';' if next == Some(';') => {
                self.end_word();
                self.next();
                self.push(';');
                self.push(';');
                self.end_word();
            }
            ';' => self.operator(";", self.line),
            // `2>&1` and `&>log` are words.
            '&' if self.ends_with('>') || next == Some('>') => self.push(c),
            '&' | '|' if next == Some(c) => {
                self.next();
                self.operator(if c == '&' { "&&" } else { "||" }, self.line);
            }
            '&' => self.operator("&", self.line),
            '|' => self.operator("|", self.line),
            c => self.copied(c, 0)?,
        }
        Some(())
    }

    /// Takes a character with all that belongs to it: what is quoted, or stands in brackets.
    fn copied(&mut self, c: char, depth: usize) -> Option<()> {
        self.push(c);
        let next = self.rest.peek().copied();
        match c {
            _ if depth > DEEPEST => None,
            '\\' => {
                if let Some(c) = self.next() {
                    self.push(c);
                }
                Some(())
            }
            '\'' | '`' => loop {
                let next = self.next()?;
                self.push(next);
                if next == c {
                    return Some(());
                }
            },
            '"' => loop {
                let inner = self.next()?;
                match inner {
                    '\\' | '$' | '`' => self.copied(inner, depth + 1)?,
                    _ => self.push(inner),
                }
                if inner == '"' {
                    return Some(());
                }
            },
            '$' if matches!(next, Some('(' | '{')) => {
                let open = self.next()?;
                self.copied(open, depth + 1)
            }
            '(' | '{' if depth > 0 || c == '(' => {
                let close = if c == '(' { ')' } else { '}' };
                loop {
                    let inner = self.next()?;
                    if inner == close {
                        self.push(inner);
                        return Some(());
                    }
                    if inner == '#' && self.word.as_ref().is_some_and(|(word, _)| word.ends_with(char::is_whitespace)) {
                        while self.rest.next_if(|c| *c != '\n').is_some() {}
                        continue;
                    }
                    self.copied(inner, depth + 1)?;
                }
            }
            _ => Some(()),
        }
    }
}
