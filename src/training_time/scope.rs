//! The names that inputs, features and expressions speak of, with their values.

use serde::{Deserialize, Serialize};

/// Names with values: `mp`, `pp`, `dp`, `ep`, `b`, `l`, `dim`, `h`, `kv_heads`, `ffn`, `vocabulary`, `E`, `experts`,
/// `top_k`, `nodes`, `g`, `n`, `encoders` and whatever an architecture adds. A few dozen at most, so a search from the
/// front is the quickest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scope(Vec<(String, f64)>);

impl Scope {
    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Gives a name a value, instead of the one it had.
    pub fn set(&mut self, name: &str, value: f64) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, held)) => *held = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// The scope with a value added or replaced.
    #[must_use]
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.set(name, value);
        self
    }

    /// All names with their values, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

impl<const N: usize> From<[(&str, f64); N]> for Scope {
    fn from(values: [(&str, f64); N]) -> Self {
        let mut scope = Self::default();
        values.iter().for_each(|(name, value)| scope.set(name, *value));
        scope
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_value() {
        let scope = Scope::from([("mp", 2.0), ("dim", 4096.0)]).with("mp", 4.0);
        assert_eq!((scope.get("mp"), scope.get("b"), scope.iter().count()), (Some(4.0), None, 2));
    }
}
