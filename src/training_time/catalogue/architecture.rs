//! Architectures: what a layer is made of, and how many parameters a model has.

use super::super::{
    expression::{Expression, ExpressionError},
    scope::Scope,
};

/// Operators in their order, with the names that differ for one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerItem {
    /// The operator's name in the catalogue.
    pub operator: String,
    /// The number of times that it runs; `None` for once.
    pub repeat: Option<Expression>,
    /// Names to which it gives other values.
    pub overrides: Vec<(String, Expression)>,
}

impl LayerItem {
    /// An operator that runs once.
    pub fn once(operator: &str) -> Self {
        Self { operator: operator.to_owned(), repeat: None, overrides: Vec::new() }
    }

    /// The scope of this operator.
    ///
    /// # Errors
    /// Returns an error if a name has no value, or a divisor is zero.
    pub fn scope(&self, scope: &Scope) -> Result<Scope, ExpressionError> {
        self.overrides.iter().try_fold(scope.clone(), |own, (name, value)| Ok(own.with(name, value.evaluate(scope)?)))
    }

    /// The number of times that the operator runs.
    ///
    /// # Errors
    /// Returns an error if a name has no value, or a divisor is zero.
    pub fn count(&self, scope: &Scope) -> Result<f64, ExpressionError> {
        self.repeat.as_ref().map_or(Ok(1.0), |repeat| repeat.evaluate(scope))
    }
}

/// The number of parameters of a whole model, over all ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Parameters of one layer over all ranks.
    pub layer: Expression,
    /// Parameters before the first layer.
    pub first: Expression,
    /// Parameters after the last layer.
    pub last: Expression,
}

/// An architecture: the operators of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Architecture {
    /// The name, which a run's configuration may state in any case.
    pub name: String,
    /// Names that it adds or presets, with their values where a run names none.
    pub variables: Vec<(String, f64)>,
    /// The operators of a layer, in order.
    pub layer: Vec<LayerItem>,
    /// The operators before the first layer.
    pub first: Vec<LayerItem>,
    /// The operators after the last layer.
    pub last: Vec<LayerItem>,
    /// The number of tensor-parallel all-reduces of a layer, forward and backward.
    pub syncs: [u32; 2],
    /// The numbers of parameters, if they are declared.
    pub parameters: Option<Parameters>,
    /// Bytes of activations of one layer and micro-batch on one rank, where nothing is computed again.
    pub activation_bytes: Option<Expression>,
}

impl Architecture {
    /// A scope with its variables, where the scope has no value of its own.
    pub fn scope(&self, scope: &Scope) -> Scope {
        let missing = self.variables.iter().filter(|(name, _)| scope.get(name).is_none());
        missing.fold(scope.clone(), |scope, (name, value)| scope.with(name, *value))
    }

    /// All parameters of a model with `E` layers. `None` where the architecture doesn't say.
    ///
    /// # Errors
    /// Returns an error if a name has no value, or a divisor is zero.
    pub fn parameters(&self, scope: &Scope) -> Result<Option<f64>, ExpressionError> {
        let Some(parameters) = &self.parameters else { return Ok(None) };
        let scope = self.scope(scope);
        let layers = Expression::parse("E")?.evaluate(&scope)?;
        let ends = parameters.first.evaluate(&scope)? + parameters.last.evaluate(&scope)?;
        Ok(Some(layers * parameters.layer.evaluate(&scope)? + ends))
    }

    /// The operators of a layer by name, each as often as it runs.
    ///
    /// # Errors
    /// Returns an error if a name has no value, or a divisor is zero.
    pub fn layer_names(&self, scope: &Scope) -> Result<Vec<String>, ExpressionError> {
        /// A number of operators that no layer exceeds.
        const MOST: f64 = 1024.0;
        let mut names = Vec::new();
        for item in &self.layer {
            let count = item.count(scope)?.clamp(0.0, MOST) as usize;
            names.extend(std::iter::repeat_n(item.operator.clone(), count));
        }
        Ok(names)
    }
}
