use std::borrow::Cow;

use super::importance::Shuffle;
use smartcore::linalg::basic::matrix::DenseMatrix;

/// Why a model could not be fitted or evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    /// There are too few rows.
    #[error("there {} to learn from, and at least {needed} are needed", if *.rows == 1 { "is 1 row".to_owned() } else { format!("are {rows} rows") })]
    TooFewRows {
        /// The number of rows given.
        rows: usize,
        /// The number of rows needed.
        needed: usize,
    },
    /// A number is not finite, which the models can't handle.
    #[error("row {row} has a value of {feature} that is not a finite number")]
    NotFinite {
        /// The index of the row.
        row: usize,
        /// The name of the feature, or `the target`.
        feature: String,
    },
    /// Features or targets have another shape than the model's.
    #[error("{what}: {found} given, {expected} expected")]
    Shape {
        /// The name of the counted items.
        what: &'static str,
        /// The number found.
        found: usize,
        /// The number expected.
        expected: usize,
    },
    /// A parameter is out of range.
    #[error("{name} is {value}; it must be {expected}")]
    Parameter {
        /// The name of the parameter.
        name: &'static str,
        /// The given value.
        value: String,
        /// The accepted values.
        expected: &'static str,
    },
    /// A message of the library of trees.
    #[error("the trees could not be fitted: {0}")]
    Trees(String),
}

impl From<smartcore::error::Failed> for LearnError {
    fn from(failed: smartcore::error::Failed) -> Self {
        Self::Trees(failed.to_string())
    }
}

/// The features of some rows: `rows × names.len()` numbers, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    names: Vec<Cow<'static, str>>,
    values: Vec<f64>,
}

impl Table {
    /// Creates an empty table with these features.
    pub fn new(names: &[&'static str]) -> Self {
        Self { names: names.iter().map(|name| Cow::Borrowed(*name)).collect(), values: Vec::new() }
    }

    /// Creates an empty table with features whose names come from a file.
    pub fn named(names: &[String]) -> Self {
        Self { names: names.iter().map(|name| Cow::Owned(name.clone())).collect(), values: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If the row has another length than the names, which is a bug in the caller.
    pub fn push(&mut self, row: &[f64]) {
        assert_eq!(row.len(), self.names.len(), "a row has one value per feature");
        self.values.extend_from_slice(row);
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.names.len().max(1)
    }

    /// The names of the features.
    pub fn names(&self) -> &[Cow<'static, str>] {
        &self.names
    }

    /// The values of a row.
    pub fn row(&self, index: usize) -> &[f64] {
        &self.values[index * self.names.len()..][..self.names.len()]
    }

    /// The rows of the given indices, in that order.
    pub fn take(&self, indices: &[usize]) -> Self {
        let values = indices.iter().flat_map(|&i| self.row(i)).copied().collect();
        Self { names: self.names.clone(), values }
    }

    /// A copy in which one feature's values come from other rows.
    pub fn shuffled(&self, shuffle: &Shuffle) -> Self {
        let mut shuffled = self.clone();
        for (row, &from) in shuffle.order.iter().enumerate() {
            shuffled.values[row * self.names.len() + shuffle.feature] = self.row(from)[shuffle.feature];
        }
        shuffled
    }

    pub(super) fn matrix(&self) -> Result<DenseMatrix<f64>, LearnError> {
        let (rows, columns) = (self.rows(), self.names.len());
        let mut by_column = Vec::with_capacity(self.values.len());
        for column in 0..columns {
            by_column.extend((0..rows).map(|row| self.values[row * columns + column]));
        }
        Ok(DenseMatrix::new(rows, columns, by_column, true)?)
    }

    pub(super) fn check(&self, target: &[f64], needed: usize) -> Result<(), LearnError> {
        let rows = self.rows();
        if target.len() != rows {
            return Err(LearnError::Shape { what: "targets", found: target.len(), expected: rows });
        }
        if rows < needed {
            return Err(LearnError::TooFewRows { rows, needed });
        }
        self.check_finite()?;
        match target.iter().position(|y| !y.is_finite()) {
            Some(row) => Err(LearnError::NotFinite { row, feature: "the target".to_owned() }),
            None => Ok(()),
        }
    }

    pub(super) fn check_finite(&self) -> Result<(), LearnError> {
        match self.values.iter().position(|x| !x.is_finite()) {
            Some(place) => Err(LearnError::NotFinite {
                row: place / self.names.len(),
                feature: self.names[place % self.names.len()].to_string(),
            }),
            None => Ok(()),
        }
    }

    pub(super) fn check_width(&self, expected: usize) -> Result<(), LearnError> {
        if self.names.len() == expected {
            self.check_finite()
        } else {
            Err(LearnError::Shape { what: "features", found: self.names.len(), expected })
        }
    }
}
