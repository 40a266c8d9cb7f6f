//! Learning: features, ensembles over smartcore, validation, metrics, intervals, importance.
