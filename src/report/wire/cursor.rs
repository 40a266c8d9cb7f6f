//! A JSON value with its path.

use serde_json::{Map, Value};

use super::{WireError, numbers};

/// A value of a JSON text with its path.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    value: &'a Value,
    place: PathStep<'a>,
}

/// A step of the path from a parent to its child.
#[derive(Clone, Copy)]
enum PathStep<'a> {
    Top,
    Field(&'a PathStep<'a>, &'static str),
    Item(&'a PathStep<'a>, usize),
}

impl PathStep<'_> {
    fn path(&self) -> String {
        match self {
            Self::Top => String::new(),
            Self::Field(Self::Top, name) => (*name).to_owned(),
            Self::Field(parent, name) => parent.path() + "." + name,
            Self::Item(parent, index) => format!("{}[{index}]", parent.path()),
        }
    }
}

type Result<T> = std::result::Result<T, WireError>;

impl<'a> Cursor<'a> {
    /// The cursor at the root.
    pub fn new(value: &'a Value) -> Self {
        Self { value, place: PathStep::Top }
    }

    /// The error that something else was expected here.
    pub fn expected(&self, what: impl Into<String>) -> WireError {
        let path = self.place.path();
        WireError::Value { place: if path.is_empty() { "the top".to_owned() } else { path }, expected: what.into() }
    }

    /// The value at the cursor.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// The object at the cursor.
    pub fn object(&self) -> Result<&'a Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.expected("an object"))
    }

    /// A field of an object; null where there is none.
    pub fn field<'b>(&'b self, name: &'static str) -> Cursor<'b>
    where
        'a: 'b,
    {
        Cursor { value: self.value.get(name).unwrap_or(&Value::Null), place: PathStep::Field(&self.place, name) }
    }

    /// The result of `read`, or `None` if there is no value.
    pub fn optional<T>(&self, read: impl FnOnce(Cursor<'_>) -> Result<T>) -> Result<Option<T>> {
        if self.value.is_null() { Ok(None) } else { read(*self).map(Some) }
    }

    /// The result of `read` for each item of a list; empty if there is no value.
    pub fn list<T>(&self, mut read: impl FnMut(Cursor<'_>) -> Result<T>) -> Result<Vec<T>> {
        let items = match self.value {
            Value::Null => return Ok(Vec::new()),
            Value::Array(items) => items,
            _ => return Err(self.expected("a list")),
        };
        let mut all = Vec::with_capacity(items.len());
        for (index, value) in items.iter().enumerate() {
            all.push(read(Cursor { value, place: PathStep::Item(&self.place, index) })?);
        }
        Ok(all)
    }

    /// The items of a list of exactly `N` items.
    pub fn items<'b, const N: usize>(&'b self) -> Option<[Cursor<'b>; N]>
    where
        'a: 'b,
    {
        let items: &'b [Value; N] = self.value.as_array()?.as_slice().try_into().ok()?;
        Some(std::array::from_fn(|index| Cursor { value: &items[index], place: PathStep::Item(&self.place, index) }))
    }

    /// The text at the cursor; empty if there is no value.
    pub fn text(&self) -> Result<&'a str> {
        match self.value {
            Value::Null => Ok(""),
            Value::String(text) => Ok(text),
            _ => Err(self.expected("text")),
        }
    }

    /// The list of texts at the cursor.
    pub fn texts(&self) -> Result<Vec<String>> {
        self.list(|at| Ok(at.text()?.to_owned()))
    }

    /// The integer at the cursor; 0 if there is no value.
    pub fn whole(&self) -> Result<u64> {
        match self.value {
            Value::Null => Ok(0),
            value => value.as_u64().ok_or_else(|| self.expected("a whole number")),
        }
    }

    /// A number, which may be none (`null`) and need not be finite.
    pub fn number(&self) -> Result<Option<f64>> {
        self.optional(|at| numbers::read(at.value).ok_or_else(|| at.expected("a number")))
    }

    /// The boolean at the cursor; false if there is no value.
    pub fn flag(&self) -> Result<bool> {
        match self.value {
            Value::Null => Ok(false),
            value => value.as_bool().ok_or_else(|| self.expected("true or false")),
        }
    }
}
