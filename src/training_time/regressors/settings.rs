//! Settings of regressors as the reference's configuration files have them.

use super::library::{Library, RegressorTarget, setting_of};
use crate::{
    text::{Cell, Table},
    training_time::samples::{RegressorFamily, Setting, SettingTarget},
};

impl RegressorFamily {
    /// The name of the family in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Forest { .. } => "rforest",
            Self::Boosted { .. } => "xgboost",
        }
    }

    /// The settings as the files write them: a literal of Python.
    pub fn literal(&self) -> String {
        match self {
            Self::Forest { trees, max_depth, min_samples_leaf, min_samples_split } => {
                let depth = max_depth.map_or_else(|| "None".to_owned(), |depth| depth.to_string());
                format!(
                    "{{'max_depth': {depth}, 'max_features': None, 'min_samples_leaf': {min_samples_leaf}, \
                     'min_samples_split': {min_samples_split}, 'n_estimators': {trees}}}"
                )
            }
            Self::Boosted {
                rounds,
                max_depth,
                learning_rate,
                gamma,
                min_child_weight,
                subsample,
                colsample_bytree,
            } => format!(
                "{{'colsample_bytree': {colsample_bytree:?}, 'gamma': {gamma}, 'learning_rate': {learning_rate}, \
                 'max_depth': {max_depth}, 'min_child_weight': {min_child_weight}, 'n_estimators': {rounds}, \
                 'subsample': {subsample:?}}}"
            ),
        }
    }
}

impl Library {
    /// A found setting of a regressor as a row of a configuration.
    pub fn setting_row(&self, regressor: u32, family: RegressorFamily, error: f64) -> Option<Setting> {
        let (function, of) = setting_of(self.target(regressor)?)?;
        let precision = match self.options.precision.as_str() {
            "" => "fp16".to_owned(),
            precision => precision.to_owned(),
        };
        Some(Setting { function: function.to_owned(), precision, of, family, error: Some(error) })
    }

    /// The configuration files of settings, each with its name: of operators and of collectives, where there are any.
    pub fn setting_files(&self, settings: &[Setting]) -> Vec<(String, String)> {
        let gpu = &self.cluster.gpu;
        let file = |of_collectives: bool| {
            let is_of = |row: &&Setting| matches!(row.of, SettingTarget::Communicator(_)) == of_collectives;
            let mut rows = settings.iter().filter(is_of).peekable();
            rows.peek()?;
            let place: &[&str] = if of_collectives { &["Nodes", "GPUsPerNode"] } else { &["Propagation"] };
            let names = ["GPU", "Function", "Precision"].iter().chain(place);
            let names = names.chain(&["Best_model", "Best_config", "Best_error%"]).map(|name| (*name).to_owned());
            let mut table = Table::new(names);
            for row in rows {
                let mut cells = vec![gpu.clone(), row.function.clone(), row.precision.clone()];
                match row.of {
                    SettingTarget::Forward if row.function.ends_with("_optimizer") => cells.push("dur".to_owned()),
                    SettingTarget::Forward => cells.push("fwd".to_owned()),
                    SettingTarget::Backward => cells.push("bwd".to_owned()),
                    SettingTarget::Communicator(communicator) => {
                        let communicator = communicator.unwrap_or_default();
                        cells.extend([communicator.nodes.to_string(), communicator.per_node.to_string()]);
                    }
                }
                cells.extend([row.family.name().to_owned(), row.family.literal()]);
                cells.push(row.error.map(|error| error.to_string()).unwrap_or_default());
                table.push(cells.into_iter().map(Cell::Text).collect());
            }
            let kind = if of_collectives { "collectives" } else { "operators" };
            Some((format!("{gpu}_{kind}.csv"), table.to_csv()))
        };
        [false, true].into_iter().filter_map(file).collect()
    }

    /// The regressors that need a setting and have none.
    pub fn without_setting(&self) -> impl Iterator<Item = u32> {
        let targets = self.targets().enumerate();
        let lacks = |target: &RegressorTarget| setting_of(target).is_some() && self.setting(target).is_none();
        targets.filter(move |(_, target)| lacks(target)).map(|(number, _)| number as u32)
    }
}
