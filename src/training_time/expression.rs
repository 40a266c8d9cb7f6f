//! Expressions of a catalogue: `ceil(vocabulary/(128*mp))*128`.
//!
//! Whole and decimal numbers, names, `+ - * / // %`, brackets, `min`, `max`, `ceil`, `floor`. `//` and `%` round
//! towards minus infinity, as in Python, where the reference's features come from.

use std::{cell::RefCell, fmt};

use super::scope::Scope;

/// The most characters of an expression that is read.
pub const LONGEST: usize = 256;
/// The deepest nesting of brackets that is read.
pub const DEEPEST: usize = 32;

/// An expression that can be evaluated again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    /// In postfix order: operands before what is done with them.
    steps: Vec<Step>,
}

/// The reason why an expression is not valid. Columns count characters from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// The expression has this many characters, more than [`LONGEST`].
    #[error("the expression has {0} characters, more than {LONGEST}")]
    TooLong(usize),
    /// Brackets are nested deeper than [`DEEPEST`], at this column.
    #[error("column {0}: brackets are nested deeper than {DEEPEST}")]
    TooDeep(usize),
    /// Returned when something else stands where an operand or operator was expected.
    #[error("column {at}: {expected} was expected, not {found}")]
    Unexpected {
        /// The column in characters, from 1.
        at: usize,
        /// What was expected there, as a phrase.
        expected: &'static str,
        /// What was found there: a character, or the end.
        found: String,
    },
    /// Returned when neither the run nor the catalogue gives the name a value.
    #[error("column {at}: nothing is known of \"{name}\"")]
    UnknownName {
        /// The column in characters, from 1.
        at: usize,
        /// The name, which neither the run nor the catalogue gives a value.
        name: String,
    },
    /// Returned when the divisor of the operation at this column is zero.
    #[error("column {0}: division by zero")]
    DivisionByZero(usize),
    /// The result of this expression is too large for a number.
    #[error("the result of {0} is not a finite number")]
    NotFinite(String),
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Number(f64),
    /// A name and its column.
    Name(String, usize),
    Negate,
    /// An operation and its column.
    Operation(Operation, usize),
    Ceil,
    Floor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Min,
    Max,
}

impl Expression {
    /// Reads an expression. Returns an error with its column if the text is no expression, too long, or too deeply
    /// nested.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let characters = text.chars().count();
        if characters > LONGEST {
            return Err(ExpressionError::TooLong(characters));
        }
        let mut parser = Parser { text, at: 0, depth: 0, steps: Vec::new() };
        parser.sum()?;
        parser.skip_blanks();
        if parser.at < text.len() {
            return Err(parser.unexpected("an operator or the end"));
        }
        // Blanks stay: columns count them.
        Ok(Self { text: text.to_owned(), steps: parser.steps })
    }

    /// An expression that is one number, and has no names.
    pub fn constant(value: f64) -> Self {
        Self { text: value.to_string(), steps: vec![Step::Number(value)] }
    }

    /// Its value where the names have these. Returns an error if a name is unknown, a divisor is zero, or the result is
    /// too large.
    pub fn evaluate(&self, scope: &Scope) -> Result<f64, ExpressionError> {
        thread_local! {
            static STACK: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
        }
        STACK.with_borrow_mut(|stack| {
            stack.clear();
            for step in &self.steps {
                let value = match step {
                    Step::Number(number) => *number,
                    Step::Name(name, at) => {
                        scope.get(name).ok_or_else(|| ExpressionError::UnknownName { at: *at, name: name.clone() })?
                    }
                    Step::Negate => -stack.pop().unwrap_or_default(),
                    Step::Ceil => stack.pop().unwrap_or_default().ceil(),
                    Step::Floor => stack.pop().unwrap_or_default().floor(),
                    Step::Operation(operation, at) => {
                        let right = stack.pop().unwrap_or_default();
                        let left = stack.pop().unwrap_or_default();
                        operation.apply(left, right).ok_or(ExpressionError::DivisionByZero(*at))?
                    }
                };
                stack.push(value);
            }
            let result = stack.pop().unwrap_or_default();
            if result.is_finite() { Ok(result) } else { Err(ExpressionError::NotFinite(self.text.clone())) }
        })
    }

    /// The names that the expression uses, in postfix order and as often as it does.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter_map(|step| if let Step::Name(name, _) = step { Some(name.as_str()) } else { None })
    }

    /// The expression as it was written, with its blanks.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Operation {
    /// The result of the operation; `None` for a division by zero.
    fn apply(self, left: f64, right: f64) -> Option<f64> {
        if right == 0.0 && matches!(self, Self::Divide | Self::FloorDivide | Self::Remainder) {
            return None;
        }
        Some(match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
            Self::FloorDivide => (left / right).floor(),
            Self::Remainder => left - right * (left / right).floor(),
            Self::Min => left.min(right),
            Self::Max => left.max(right),
        })
    }
}

struct Parser<'a> {
    text: &'a str,
    /// The byte offset in the text.
    at: usize,
    depth: usize,
    steps: Vec<Step>,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn column(&self) -> usize {
        self.text.get(..self.at).map_or(0, |before| before.chars().count()) + 1
    }

    fn unexpected(&self, expected: &'static str) -> ExpressionError {
        let found = self.rest().chars().next().map_or_else(|| "the end".to_owned(), |found| format!("\"{found}\""));
        ExpressionError::Unexpected { at: self.column(), expected, found }
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.skip_blanks();
        let comes = self.rest().starts_with(sign);
        if comes {
            self.at += sign.len();
        }
        comes
    }

    fn sum(&mut self) -> Result<(), ExpressionError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(ExpressionError::TooDeep(self.column()));
        }
        self.product()?;
        loop {
            self.skip_blanks();
            let at = self.column();
            let operation = match () {
                () if self.takes("+") => Operation::Add,
                () if self.takes("-") => Operation::Subtract,
                () => break,
            };
            self.product()?;
            self.steps.push(Step::Operation(operation, at));
        }
        self.depth -= 1;
        Ok(())
    }

    fn product(&mut self) -> Result<(), ExpressionError> {
        self.factor()?;
        loop {
            self.skip_blanks();
            let at = self.column();
            let operation = match () {
                () if self.takes("*") => Operation::Multiply,
                () if self.takes("//") => Operation::FloorDivide,
                () if self.takes("/") => Operation::Divide,
                () if self.takes("%") => Operation::Remainder,
                () => return Ok(()),
            };
            self.factor()?;
            self.steps.push(Step::Operation(operation, at));
        }
    }

    fn factor(&mut self) -> Result<(), ExpressionError> {
        let mut negations = 0;
        while self.takes("-") {
            negations += 1;
        }
        self.operand()?;
        if negations % 2 == 1 {
            self.steps.push(Step::Negate);
        }
        Ok(())
    }

    fn operand(&mut self) -> Result<(), ExpressionError> {
        if self.takes("(") {
            self.sum()?;
            return self.close();
        }
        let at = self.column();
        let first = self.rest().chars().next().unwrap_or_default();
        let length = |is_part: fn(char) -> bool| self.rest().find(|c| !is_part(c)).unwrap_or(self.rest().len());
        if first.is_ascii_digit() || first == '.' {
            let length = length(|c| c.is_ascii_digit() || c == '.');
            let number = self.rest()[..length].parse().ok().ok_or_else(|| self.unexpected("a number"))?;
            self.at += length;
            self.steps.push(Step::Number(number));
            return Ok(());
        }
        if !(first.is_ascii_alphabetic() || first == '_') {
            return Err(self.unexpected("a number, a name or a bracket"));
        }
        let length = length(|c| c.is_ascii_alphanumeric() || c == '_');
        let name = self.rest()[..length].to_owned();
        self.at += length;
        let function = match name.as_str() {
            "ceil" => Step::Ceil,
            "floor" => Step::Floor,
            "min" => Step::Operation(Operation::Min, at),
            "max" => Step::Operation(Operation::Max, at),
            _ => {
                self.steps.push(Step::Name(name, at));
                return Ok(());
            }
        };
        if !self.takes("(") {
            return Err(self.unexpected("a bracket"));
        }
        self.sum()?;
        if let Step::Operation(..) = function {
            if !self.takes(",") {
                return Err(self.unexpected("a comma"));
            }
            self.sum()?;
            self.steps.push(function.clone());
            while self.takes(",") {
                self.sum()?;
                self.steps.push(function.clone());
            }
        } else {
            self.steps.push(function);
        }
        self.close()
    }

    fn close(&mut self) -> Result<(), ExpressionError> {
        if self.takes(")") { Ok(()) } else { Err(self.unexpected("a closing bracket")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        let scope = Scope::from([("mp", 2.0), ("dim", 4096.0), ("vocabulary", 50257.0), ("zero", 0.0), ("E", 32.0)]);
        Expression::parse(text).and_then(|e| e.evaluate(&scope)).map_err(|error| error.to_string())
    }

    #[test]
    fn values() {
        for (text, expected) in [
            ("1 + 2*3", 7.0),
            ("(1+2)*3", 9.0),
            ("7//2*2", 6.0),
            ("-7//2", -4.0),
            ("-7%3", 2.0),
            ("7/2", 3.5),
            (".5*4", 2.0),
            ("3*dim//mp", 6144.0),
            ("ceil(vocabulary/(128*mp))*128", 25216.0),
            ("floor(-1.5)", -2.0),
            ("min(3, max(1, E, 2), 9)", 3.0),
            ("2 - - 3", 5.0),
            (" 10 - 4 - 3 ", 3.0),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn errors_are_located() {
        for (text, message) in [
            ("", "column 1: a number, a name or a bracket was expected, not the end"),
            ("2*", "column 3: a number, a name or a bracket was expected, not the end"),
            ("2 $ 3", "column 3: an operator or the end was expected, not \"$\""),
            ("µ", "column 1: a number, a name or a bracket was expected, not \"µ\""),
            ("1..2", "column 1: a number was expected, not \"1\""),
            ("(1", "column 3: a closing bracket was expected, not the end"),
            ("min(1)", "column 6: a comma was expected, not \")\""),
            ("ceil 1", "column 6: a bracket was expected, not \"1\""),
            ("2*seq", "column 3: nothing is known of \"seq\""),
            ("dim // zero", "column 5: division by zero"),
            ("dim % (mp-2)", "column 5: division by zero"),
        ] {
            assert_eq!(value(text), Err(message.to_owned()), "{text}");
        }
        assert_eq!(value(&"9".repeat(250)), Ok(1e250));
        assert!(value(&format!("{0}*{0}", "9".repeat(120))).is_ok());
        assert!(value(&vec!["9".repeat(80); 3].join("*")).is_ok());
        assert_eq!(value(&"1".repeat(257)), Err("the expression has 257 characters, more than 256".to_owned()));
        assert!(value(&("(".repeat(31) + "1" + &")".repeat(31))).is_ok());
        let deep = value(&("(".repeat(32) + "1" + &")".repeat(32)));
        assert_eq!(deep, Err("column 33: brackets are nested deeper than 32".to_owned()));
        assert!(Expression::parse(&format!("dim*{}", "9".repeat(250))).is_ok());
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_text_is_read_or_refused(text in "([0-9a-z(),.+*/%µ -]|//|min\\(|max\\(|ceil\\(|mp|dim|zero){0,80}") {
            if let Ok(value) = value(&text) {
                proptest::prop_assert!(value.is_finite());
            }
        }
    }
}
