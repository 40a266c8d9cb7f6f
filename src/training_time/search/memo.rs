//! Remembers what regressors said: layouts share most of their operators and messages.

use std::cell::RefCell;

use crate::training_time::{
    catalogue::Catalogue,
    prediction::{Direction, Mark, Missing, Prediction, Regressors},
    samples::Communicator,
    scope::Scope,
};

type Known<K> = Vec<(K, Result<Prediction, Missing>)>;
type Operators = Vec<(String, Direction, Known<Vec<f64>>)>;
type Collectives = Vec<(String, Known<(u64, Communicator)>)>;

/// Caches the answers of regressors.
pub struct CachedRegressors<'a> {
    regressors: &'a dyn Regressors,
    catalogue: &'a Catalogue,
    /// By name and direction, then by the inputs that it is sampled by.
    operators: RefCell<Operators>,
    collectives: RefCell<Collectives>,
}

impl<'a> CachedRegressors<'a> {
    /// A cache that holds nothing yet.
    pub fn new(regressors: &'a dyn Regressors, catalogue: &'a Catalogue) -> Self {
        Self { regressors, catalogue, operators: RefCell::default(), collectives: RefCell::default() }
    }

    /// The key under which a question about an operator is cached: its inputs, or all degrees on which some operator
    /// depends.
    fn key(&self, name: &str, scope: &Scope) -> Vec<f64> {
        match self.catalogue.operator(name) {
            Some(operator) => operator.inputs.iter().filter_map(|input| scope.get(input)).collect(),
            None => scope.iter().filter(|(name, _)| !matches!(*name, "pp" | "dp")).map(|(_, value)| value).collect(),
        }
    }
}

impl Regressors for CachedRegressors<'_> {
    fn operator(&self, name: &str, direction: Direction, scope: &Scope) -> Result<Prediction, Missing> {
        let key = self.key(name, scope);
        let mut all = self.operators.borrow_mut();
        let place = all.iter().position(|(known, way, _)| known == name && *way == direction).unwrap_or_else(|| {
            all.push((name.to_owned(), direction, Vec::new()));
            all.len() - 1
        });
        let known = &mut all[place].2;
        if let Some((_, answer)) = known.iter().find(|(inputs, _)| *inputs == key) {
            return answer.clone();
        }
        let answer = self.regressors.operator(name, direction, scope);
        known.push((key, answer.clone()));
        answer
    }

    fn collective(&self, name: &str, elements: u64, communicator: Communicator) -> Result<Prediction, Missing> {
        let mut all = self.collectives.borrow_mut();
        let place = all.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            all.push((name.to_owned(), Vec::new()));
            all.len() - 1
        });
        let known = &mut all[place].1;
        let key = (elements, communicator);
        if let Some((_, answer)) = known.iter().find(|(asked, _)| *asked == key) {
            return answer.clone();
        }
        let answer = self.regressors.collective(name, elements, communicator);
        known.push((key, answer.clone()));
        answer
    }

    fn residuals(&self, regressor: u32, mark: Mark) -> &[f64] {
        self.regressors.residuals(regressor, mark)
    }
}
