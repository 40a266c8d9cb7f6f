//! Reads the configuration files of the reference implementation, which choose the regressor of each operator and
//! collective.
//!
//! `Best_config` is a Python literal, such as `{'max_depth': None, 'n_estimators': 400}`; it is read as data.

use super::{
    super::samples::{Communicator, RegressorFamily, Setting, SettingTarget},
    headers::find,
    samples::{problem, rows},
};
use crate::text::{Problem, Problems, Record, Records, excerpt, number, whole};

/// A setting with the GPU that its row names.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedSetting {
    /// The GPU, if the file has such a column.
    pub gpu: Option<String>,
    /// The row as it was read.
    pub setting: Setting,
    /// The line number, from 1.
    pub line: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum Literal {
    None,
    Flag(bool),
    Number(f64),
    Text(String),
}

/// Reads a configuration of operators or of collectives. The header was read.
pub(super) fn settings(
    records: &mut Records<'_>,
    headers: &[String],
    of_collectives: bool,
    problems: &mut Problems,
) -> Result<Vec<NamedSetting>, String> {
    let column = |name: &str| find(headers, name);
    let needed = |name: &str| column(name).ok_or_else(|| format!("lacks {name}"));
    let (function, precision) = (needed("Function")?, needed("Precision")?);
    let (model, config) = (needed("Best_model")?, needed("Best_config")?);
    let (gpu, error) = (column("GPU"), column("Best_error%"));
    let of: [usize; 2] =
        if of_collectives { [needed("Nodes")?, needed("GPUsPerNode")?] } else { [needed("Propagation")?; 2] };
    let mut all = Vec::new();
    rows(records, headers, problems, |record| {
        let cell = |column: usize| record.get(column).unwrap_or_default();
        let problem = |column: usize, expected: &str| problem(record, headers, column, expected);
        let of = if of_collectives {
            SettingTarget::Communicator(communicator(record, of, &problem)?)
        } else {
            match cell(of[0]).to_ascii_lowercase().as_str() {
                "fwd" | "forward" | "dur" | "" => SettingTarget::Forward,
                "bwd" | "backward" => SettingTarget::Backward,
                _ => return Err(problem(of[0], "is neither fwd nor bwd")),
            }
        };
        let values = literal(cell(config)).map_err(|what| problem(config, &what))?;
        let family = family(cell(model), &values)
            .map_err(|(is_model, what)| problem(if is_model { model } else { config }, &what))?;
        let text = |column: usize| cell(column).to_owned();
        all.push(NamedSetting {
            gpu: gpu.map(text).filter(|gpu| !gpu.is_empty()),
            setting: Setting {
                function: text(function),
                precision: text(precision).to_ascii_lowercase(),
                of,
                family,
                error: error.and_then(|column| number(cell(column))),
            },
            line: record.line(),
        });
        Ok(())
    })?;
    Ok(all)
}

fn communicator(
    record: Record<'_>,
    columns: [usize; 2],
    problem: &impl Fn(usize, &str) -> Problem,
) -> Result<Option<Communicator>, Problem> {
    let mut sides = [0; 2];
    for (side, column) in sides.iter_mut().zip(columns) {
        let value = record.get(column).and_then(whole).and_then(|value| u32::try_from(value).ok());
        *side = value.ok_or_else(|| problem(column, "is not a whole number"))?;
    }
    let [nodes, per_node] = sides;
    match (nodes, per_node) {
        (0, 0) => Ok(None),
        (0, _) | (_, 0) => Err(problem(columns[0], "is zero where the other number is not")),
        _ => Ok(Some(Communicator { nodes, per_node })),
    }
}

/// The family by its name, with its parameters. The error says whether the name is wrong, or a parameter.
fn family(name: &str, values: &[(String, Literal)]) -> Result<RegressorFamily, (bool, String)> {
    let wrong = |what: String| (false, what);
    let allowed: &[&str] = match name.to_ascii_lowercase().as_str() {
        "rforest" | "random_forest" | "randomforest" => {
            &["n_estimators", "max_depth", "max_features", "min_samples_leaf", "min_samples_split"]
        }
        "xgboost" | "xgb" => &[
            "n_estimators",
            "max_depth",
            "learning_rate",
            "gamma",
            "min_child_weight",
            "subsample",
            "colsample_bytree",
        ],
        _ => return Err((true, "is not a known family (rforest or xgboost)".to_owned())),
    };
    if let Some((unknown, _)) = values.iter().find(|(key, _)| !allowed.contains(&key.as_str())) {
        return Err(wrong(format!("has the unknown parameter {}", excerpt(unknown))));
    }
    let value = |key: &str| values.iter().find(|(known, _)| known == key).map(|(_, value)| value);
    let real = |key: &str, default: f64, range: std::ops::RangeInclusive<f64>| match value(key) {
        None => Ok(default),
        Some(Literal::Number(number)) if range.contains(number) => Ok(*number),
        Some(_) => Err(wrong(format!("has a {key} that is no number from {} to {}", range.start(), range.end()))),
    };
    let count = |key: &str, default: u32, least: u32, most: u32| {
        let number = real(key, default.into(), least.into()..=most.into())?;
        if number.fract() == 0.0 { Ok(number as u32) } else { Err(wrong(format!("has a {key} that is not whole"))) }
    };
    if allowed.contains(&"gamma") {
        return Ok(RegressorFamily::Boosted {
            rounds: count("n_estimators", 100, 1, 10_000)?,
            max_depth: count("max_depth", 6, 1, 32)?,
            learning_rate: real("learning_rate", 0.3, 1e-6..=1.0)?,
            gamma: real("gamma", 0.0, 0.0..=1e12)?,
            min_child_weight: real("min_child_weight", 1.0, 0.0..=1e12)?,
            subsample: real("subsample", 1.0, 1e-3..=1.0)?,
            colsample_bytree: real("colsample_bytree", 1.0, 1e-3..=1.0)?,
        });
    }
    // Other numbers of features are never chosen, and none of our forests draws features.
    match value("max_features") {
        None | Some(Literal::None) => {}
        Some(Literal::Number(all)) if *all == 1.0 => {}
        Some(_) => return Err(wrong("has a max_features other than None".to_owned())),
    }
    Ok(RegressorFamily::Forest {
        trees: count("n_estimators", 100, 1, 10_000)?,
        max_depth: match value("max_depth") {
            None | Some(Literal::None) => None,
            Some(_) => Some(count("max_depth", 1, 1, 10_000)?),
        },
        min_samples_leaf: count("min_samples_leaf", 1, 1, 1_000_000)?,
        min_samples_split: count("min_samples_split", 2, 2, 1_000_000)?,
    })
}

/// Reads a dictionary of names with plain values. The error completes a sentence that begins with the text.
fn literal(text: &str) -> Result<Vec<(String, Literal)>, String> {
    let no_literal = || "is not a Python literal like {'max_depth': 10}".to_owned();
    let inner = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).ok_or_else(no_literal)?;
    let mut values: Vec<(String, Literal)> = Vec::new();
    for member in inner.split(',') {
        if member.trim().is_empty() {
            continue;
        }
        let (key, value) = member.split_once(':').ok_or_else(no_literal)?;
        let unquoted = |text: &str| {
            let text = text.trim();
            ['\'', '"'].iter().find_map(|quote| {
                let inner = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
                (!inner.contains(*quote)).then(|| inner.to_owned())
            })
        };
        let key = unquoted(key).ok_or_else(no_literal)?;
        let value = match value.trim() {
            "None" => Literal::None,
            "True" => Literal::Flag(true),
            "False" => Literal::Flag(false),
            other => match (number(other), unquoted(other)) {
                (Some(number), _) => Literal::Number(number),
                (None, Some(text)) => Literal::Text(text),
                (None, None) => return Err(no_literal()),
            },
        };
        if values.iter().any(|(known, _)| *known == key) {
            return Err(format!("names {} twice", excerpt(&key)));
        }
        values.push((key, value));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Dialect;

    fn read(text: &str, of_collectives: bool) -> (Vec<NamedSetting>, Vec<String>) {
        let mut records = Records::new(text.as_bytes(), Dialect::default());
        let headers: Vec<String> = records.next().unwrap().cells().map(str::to_owned).collect();
        let mut problems = Problems::default();
        let settings = settings(&mut records, &headers, of_collectives, &mut problems).unwrap();
        (settings, problems.kept.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn both_forms_and_what_is_wrong_with_them() {
        let (all, problems) = read(
            "Function,Precision,Propagation,Best_model,Best_config\n\
             bmm,fp16,fwd,rforest,\"{'max_depth': None, 'max_features': None, 'min_samples_leaf': 1, 'n_estimators': 400}\"\n\
             bmm,fp16,bwd,xgboost,\"{'gamma': 0.1, 'max_depth': 6, 'n_estimators': 300, 'subsample': 0.8}\"\n\
             bmm,fp16,fwd,svm,{}\n\
             bmm,fp16,up,rforest,{}\n\
             bmm,fp16,fwd,rforest,__import__('os')\n\
             bmm,fp16,fwd,rforest,\"{'depth': 3}\"\n\
             bmm,fp16,fwd,xgboost,\"{'subsample': 'all'}\"\n",
            false,
        );
        assert_eq!(
            all.iter().map(|row| (row.setting.of, row.setting.family)).collect::<Vec<_>>(),
            [
                (
                    SettingTarget::Forward,
                    RegressorFamily::Forest { trees: 400, max_depth: None, min_samples_leaf: 1, min_samples_split: 2 }
                ),
                (
                    SettingTarget::Backward,
                    RegressorFamily::Boosted {
                        rounds: 300,
                        max_depth: 6,
                        learning_rate: 0.3,
                        gamma: 0.1,
                        min_child_weight: 1.0,
                        subsample: 0.8,
                        colsample_bytree: 1.0
                    }
                )
            ]
        );
        assert_eq!(
            problems,
            [
                "line 4, column Best_model: \"svm\" is not a known family (rforest or xgboost); the row was left out",
                "line 5, column Propagation: \"up\" is neither fwd nor bwd; the row was left out",
                "line 6, column Best_config: \"__import__('os')\" is not a Python literal like {'max_depth': 10}; the row was left out",
                "line 7, column Best_config: \"{'depth': 3}\" has the unknown parameter depth; the row was left out",
                "line 8, column Best_config: \"{'subsample': 'all'}\" has a subsample that is no number from 0.001 to 1; the row was left out",
            ]
        );
    }
}
