//! Models of XGBoost 2.x and 3.x as the JSON of `save_model`
//! (<https://xgboost.readthedocs.io/en/stable/tutorials/saving_model.html>): regression by trees, without categories.

use serde_json::{Map, Value};

use super::{
    boosting::Boosting,
    regression_tree::{Node, RegressionTree},
};

/// A model of XGBoost.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The names of the features in their order; empty if the file has none.
    pub features: Vec<String>,
    /// The fitted trees.
    pub boosting: Boosting,
    /// The attributes in the file, as pairs of name and text.
    pub attributes: Vec<(String, String)>,
}

/// Why a JSON file is not a usable model; completes a sentence that begins with the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XgboostError {
    /// A value is missing or of another type.
    #[error("is no model of XGBoost that can be read: {place} is not {expected}")]
    Wrong {
        /// The path of the value, as keys and indices.
        place: String,
        /// The expected type.
        expected: &'static str,
    },
    /// The model does not predict a number.
    #[error("is a model for {objective}; only regression (reg:squarederror, reg:absoluteerror, …) predicts a number")]
    Objective {
        /// The objective as the file names it.
        objective: String,
    },
    /// The model predicts several numbers.
    #[error("is a model with {count} outputs; only one can be used")]
    Outputs {
        /// The number of targets, classes or quantiles.
        count: u64,
    },
    /// The model is not a sum of trees.
    #[error("is a model of {booster}; only gbtree can be used")]
    Booster {
        /// The booster as the file names it.
        booster: String,
    },
    /// A tree is invalid.
    #[error("has a tree that can't be followed: tree {tree}, node {node} {what}")]
    Tree {
        /// The index of the tree.
        tree: usize,
        /// The index of the node.
        node: usize,
        /// The fault of the node.
        what: &'static str,
    },
}

/// The objectives whose prediction is the sum of the leaves.
const OBJECTIVES: [&str; 6] = [
    "reg:squarederror",
    "reg:linear",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "reg:quantileerror",
    "reg:squaredlogerror",
];

/// The most features: each node is checked against their number.
const WIDEST: u64 = 100_000;
/// The greatest depth of a tree: recursive functions walk it.
const DEEPEST: u32 = 1000;

/// Whether a JSON value looks like a model of XGBoost.
pub fn is_model(value: &Value) -> bool {
    value.get("learner").is_some_and(|learner| learner.get("gradient_booster").is_some())
}

/// Reads a model.
///
/// # Errors
/// Returns an [`XgboostError`] if it is not a model, or of an unsupported kind, or has an invalid tree.
pub fn read(value: &Value) -> Result<Model, XgboostError> {
    let learner = At { value, place: String::new() }.key("learner")?;
    let objective = learner.key("objective")?.key("name")?.text()?;
    if !OBJECTIVES.contains(&objective) {
        return Err(XgboostError::Objective { objective: cut(objective) });
    }
    let booster = learner.key("gradient_booster")?;
    let name = booster.key("name")?.text()?;
    if name != "gbtree" {
        return Err(XgboostError::Booster { booster: cut(name) });
    }
    let parameters = learner.key("learner_model_param")?;
    for key in ["num_target", "num_class"] {
        let count = parameters.value.get(key).map_or(Ok(1.0), |_| parameters.key(key)?.number())?;
        if count > 1.0 {
            return Err(XgboostError::Outputs { count: count as u64 });
        }
    }
    let start = parameters.key("base_score")?.number()? as f32;
    let width = parameters.key("num_feature")?.number()?;
    if !(1.0..=WIDEST as f64).contains(&width) || !start.is_finite() {
        return Err(parameters.wrong("a number of features and a base score"));
    }
    let features: Vec<String> = match learner.value.get("feature_names").and_then(Value::as_array) {
        Some(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        None => Vec::new(),
    };
    if !features.is_empty() && features.len() != width as usize {
        return Err(XgboostError::Wrong {
            place: "learner.feature_names".to_owned(),
            expected: "as many names as there are features",
        });
    }
    let mut trees = Vec::new();
    for (number, tree) in booster.key("model")?.key("trees")?.list()?.iter().enumerate() {
        let place = format!("learner.gradient_booster.model.trees[{number}]");
        trees.push(read_tree(&At { value: tree, place }, number, width as usize)?);
    }
    let attributes = learner.value.get("attributes").and_then(Value::as_object);
    let text = |(name, text): (&String, &Value)| Some((name.clone(), text.as_str()?.to_owned()));
    let attributes: Vec<(String, String)> = attributes.into_iter().flatten().filter_map(text).collect();
    // A training that stopped early goes on past its best round; XGBoost predicts with the rounds until that one.
    let best = attributes.iter().find(|(name, _)| name == "best_iteration").and_then(|(_, text)| text.parse().ok());
    if let Some(best) = best {
        let each = booster.key("model")?.value.pointer("/gbtree_model_param/num_parallel_tree").and_then(Value::as_str);
        let each: usize = each.and_then(|each| each.parse().ok()).unwrap_or(1);
        trees.truncate(usize::saturating_add(best, 1).saturating_mul(each.max(1)));
    }
    Ok(Model { features, boosting: Boosting::of_trees(start, trees, width as usize), attributes })
}

fn read_tree(tree: &At<'_>, number: usize, features: usize) -> Result<RegressionTree, XgboostError> {
    let low = tree.key("left_children")?.numbers()?;
    let high = tree.key("right_children")?.numbers()?;
    let feature = tree.key("split_indices")?.numbers()?;
    let condition = tree.key("split_conditions")?.numbers()?;
    let optional = |key: &str| tree.value.get(key).map_or(Ok(Vec::new()), |_| tree.key(key)?.numbers());
    let (cover, gain) = (optional("sum_hessian")?, optional("loss_changes")?);
    let categorical = optional("split_type")?;
    // XGBoost computes with single precision.
    let single = |of: &[f64], node: usize| of.get(node).map_or(0.0, |number| f64::from(*number as f32));
    let count = low.len();
    if count == 0 || [&high, &feature, &condition].iter().any(|list| list.len() != count) {
        return Err(tree.wrong("a tree with nodes, and as many children, features and conditions"));
    }
    let fault = |node: usize, what: &'static str| XgboostError::Tree { tree: number, node, what };
    let mut is_child = vec![false; count];
    let mut nodes = Vec::with_capacity(count);
    for node in 0..count {
        let cover = single(&cover, node);
        let value = single(&condition, node);
        if !value.is_finite() {
            return Err(fault(node, "has no number as its condition"));
        }
        if low[node] < 0.0 && high[node] < 0.0 {
            nodes.push(Node::Leaf { value, cover });
            continue;
        }
        if categorical.get(node).is_some_and(|kind| *kind != 0.0) {
            return Err(fault(node, "splits by categories"));
        }
        for child in [low[node], high[node]] {
            if !(child >= 1.0 && child < count as f64) {
                return Err(fault(node, "has a child that does not exist"));
            }
            // Every node has one parent and the root none, so there can be no cycle.
            if std::mem::replace(&mut is_child[child as usize], true) {
                return Err(fault(child as usize, "is reached twice: the tree has a cycle, or shares a node"));
            }
        }
        if !(feature[node] >= 0.0 && feature[node] < features as f64) {
            return Err(fault(node, "splits by a feature that does not exist"));
        }
        nodes.push(Node::Split {
            feature: feature[node] as usize,
            threshold: value,
            low: low[node] as usize,
            high: high[node] as usize,
            improvement: single(&gain, node),
            cover,
        });
    }
    let mut waiting = vec![(0_usize, 0_u32)];
    while let Some((node, depth)) = waiting.pop() {
        if let Node::Split { low, high, .. } = nodes[node] {
            if depth == DEEPEST {
                return Err(fault(node, "lies below a thousand others"));
            }
            waiting.extend([(low, depth + 1), (high, depth + 1)]);
        }
    }
    Ok(RegressionTree { nodes })
}

/// Writes a model as XGBoost 2.1 does.
pub fn write(model: &Model) -> Value {
    let Model { features, boosting, attributes } = model;
    let trees: Vec<Value> =
        boosting.trees.iter().enumerate().map(|(id, tree)| write_tree(tree, id, boosting.features)).collect();
    let count = trees.len();
    let model = object(vec![
        (
            "gbtree_model_param",
            object(vec![("num_parallel_tree", "1".into()), ("num_trees", count.to_string().into())]),
        ),
        ("iteration_indptr", (0..=count).collect()),
        ("tree_info", vec![0; count].into()),
        ("trees", trees.into()),
    ]);
    let parameters = object(vec![
        ("base_score", format!("{:E}", boosting.start as f32).into()),
        ("boost_from_average", "1".into()),
        ("num_class", "0".into()),
        ("num_feature", boosting.features.to_string().into()),
        ("num_target", "1".into()),
    ]);
    let objective = object(vec![
        ("name", "reg:squarederror".into()),
        ("reg_loss_param", object(vec![("scale_pos_weight", "1".into())])),
    ]);
    let learner = object(vec![
        ("attributes", object(attributes.iter().map(|(name, text)| (name.as_str(), text.as_str().into())).collect())),
        ("feature_names", features.clone().into()),
        ("feature_types", vec!["float"; features.len()].into()),
        ("gradient_booster", object(vec![("model", model), ("name", "gbtree".into())])),
        ("learner_model_param", parameters),
        ("objective", objective),
    ]);
    object(vec![("learner", learner), ("version", vec![2, 1, 0].into())])
}

/// A JSON object. `json!` would generate the code of an insertion once for each key.
#[inline(never)]
fn object(entries: Vec<(&str, Value)>) -> Value {
    let mut object = Map::new();
    for (key, value) in entries {
        object.insert(key.to_owned(), value);
    }
    Value::Object(object)
}

fn write_tree(tree: &RegressionTree, id: usize, features: usize) -> Value {
    const NO_PARENT: u64 = i32::MAX as u64;
    let count = tree.nodes.len();
    let mut parents = vec![NO_PARENT; count];
    let column = |value: &dyn Fn(&Node) -> Value| -> Value { tree.nodes.iter().map(value).collect() };
    for (parent, node) in tree.nodes.iter().enumerate() {
        if let Node::Split { low, high, .. } = node {
            (parents[*low], parents[*high]) = (parent as u64, parent as u64);
        }
    }
    let child = |pick: &dyn Fn(usize, usize) -> usize| {
        column(&|node| match node {
            Node::Leaf { .. } => (-1).into(),
            Node::Split { low, high, .. } => pick(*low, *high).into(),
        })
    };
    let none = || Value::Array(Vec::new());
    let size = object(vec![
        ("num_deleted", "0".into()),
        ("num_feature", features.to_string().into()),
        ("num_nodes", count.to_string().into()),
        ("size_leaf_vector", "1".into()),
    ]);
    object(vec![
        (
            "base_weights",
            column(&|node| match node {
                Node::Leaf { value, .. } => (*value).into(),
                Node::Split { .. } => 0.0.into(),
            }),
        ),
        ("categories", none()),
        ("categories_nodes", none()),
        ("categories_segments", none()),
        ("categories_sizes", none()),
        ("default_left", vec![0; count].into()),
        ("id", id.into()),
        ("left_children", child(&|low, _| low)),
        (
            "loss_changes",
            column(&|node| match node {
                Node::Leaf { .. } => 0.0.into(),
                Node::Split { improvement, .. } => (*improvement).into(),
            }),
        ),
        ("parents", parents.into()),
        ("right_children", child(&|_, high| high)),
        (
            "split_conditions",
            column(&|node| match node {
                Node::Leaf { value, .. } => (*value).into(),
                Node::Split { threshold, .. } => (*threshold).into(),
            }),
        ),
        (
            "split_indices",
            column(&|node| match node {
                Node::Leaf { .. } => 0.into(),
                Node::Split { feature, .. } => (*feature).into(),
            }),
        ),
        ("split_type", vec![0; count].into()),
        (
            "sum_hessian",
            column(&|node| match node {
                Node::Leaf { cover, .. } | Node::Split { cover, .. } => (*cover).into(),
            }),
        ),
        ("tree_param", size),
    ])
}

/// A JSON value with its path in the file.
struct At<'a> {
    value: &'a Value,
    place: String,
}

impl<'a> At<'a> {
    fn wrong(&self, expected: &'static str) -> XgboostError {
        XgboostError::Wrong { place: self.place.clone(), expected }
    }

    fn key(&self, key: &str) -> Result<At<'a>, XgboostError> {
        let dot = if self.place.is_empty() { "" } else { "." };
        let place = format!("{}{dot}{key}", self.place);
        match self.value.get(key) {
            Some(value) => Ok(At { value, place }),
            None => Err(XgboostError::Wrong { place, expected: "there" }),
        }
    }

    fn text(&self) -> Result<&'a str, XgboostError> {
        self.value.as_str().ok_or_else(|| self.wrong("a text"))
    }

    /// A number. Parameters are written as strings; the base score of version 3.1 as a list of one number.
    fn number(&self) -> Result<f64, XgboostError> {
        let number = match self.value {
            Value::String(text) => text.trim_matches(['[', ']', ' ']).parse().ok(),
            value => value.as_f64(),
        };
        number.filter(|number| number.is_finite()).ok_or_else(|| self.wrong("a number"))
    }

    fn list(&self) -> Result<&'a [Value], XgboostError> {
        self.value.as_array().map(Vec::as_slice).ok_or_else(|| self.wrong("a list"))
    }

    fn numbers(&self) -> Result<Vec<f64>, XgboostError> {
        let number = |value: &Value| value.as_f64().or_else(|| value.as_bool().map(f64::from));
        self.list()?.iter().map(|value| number(value).ok_or_else(|| self.wrong("a list of numbers"))).collect()
    }
}

fn cut(text: &str) -> String {
    text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        learn::{
            Table,
            boosting::{Objective, Parameters},
        },
        progress::Silent,
    };

    fn model() -> (Model, Table) {
        let mut table = Table::new(&["x", "y"]);
        let mut target = Vec::new();
        for i in 0..50 {
            let (x, y) = (f64::from(i * 7 % 11) + 0.1, f64::from(i % 13) / 3.0);
            table.push(&[x, y]);
            target.push(x * y);
        }
        let parameters = Parameters {
            objective: Objective::Xgboost { lambda: 1.0 },
            stages: 5,
            depth: 3,
            learning_rate: 0.3,
            min_samples_split: 2,
            min_samples_leaf: 1,
            early_stopping: 0,
            seed: 0,
        };
        let boosting = Boosting::fit(&table, &target, parameters, &mut Silent).unwrap();
        (
            Model { features: vec!["x".into(), "y".into()], boosting, attributes: vec![("note".into(), "=1".into())] },
            table,
        )
    }

    #[test]
    fn a_written_model_is_read_back() {
        let (model, table) = model();
        let text = write(&model).to_string();
        let again = read(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(again, model);
        assert_eq!(again.boosting.predict(&table), model.boosting.predict(&table));
    }

    /// A tree whose splits lie one below the other.
    fn chain(splits: usize) -> Value {
        let column = |split: &dyn Fn(usize) -> Value, leaf: Value| -> Vec<Value> {
            (0..=2 * splits)
                .map(|node| if node % 2 == 0 && node < 2 * splits { split(node) } else { leaf.clone() })
                .collect()
        };
        json!({
            "left_children": column(&|node| (node + 1).into(), (-1).into()),
            "right_children": column(&|node| (node + 2).into(), (-1).into()),
            "split_indices": column(&|node| (node / 2 % 2).into(), 0.into()),
            "split_conditions": column(&|node| node.into(), 2.5.into()),
        })
    }

    #[test]
    fn a_tree_with_a_cycle_is_refused() {
        let with = |trees: Vec<Value>| {
            let mut changed = write(&model().0);
            *changed.pointer_mut("/learner/gradient_booster/model/trees").unwrap() = trees.into();
            read(&changed).map(|model| model.boosting)
        };
        let predicted = |boosting: &Boosting| {
            boosting.to_step_function().predict(&[0.5, 0.5]).map(|predicted| predicted - boosting.start)
        };
        assert_eq!(predicted(&with(vec![chain(1000)]).unwrap()), Some(2.5));
        let error = with(vec![chain(1001)]).unwrap_err().to_string();
        assert!(error.ends_with("tree 0, node 2000 lies below a thousand others"), "{error}");
        // So many trees are not added to each of 251,001 cells.
        let one = with(vec![chain(1000)]).unwrap();
        let many = Boosting::of_trees(0.0, vec![one.trees[0].clone(); 5000], 2);
        let steps = many.to_step_function();
        assert_eq!((steps.cells(), predicted(&many)), (None, Some(12_500.0)));
    }

    #[test]
    fn a_training_that_stopped_early_predicts_with_its_best_round() {
        let mut whole = write(&model().0);
        let all = read(&whole).unwrap().boosting.trees.len();
        assert!(all > 4, "{all}");
        let trees = |value: &Value| read(value).unwrap().boosting.trees.len();
        whole["learner"]["attributes"] = json!({"best_iteration": "1", "best_score": "0.5"});
        assert_eq!(trees(&whole), 2);
        // Two trees a round.
        whole["learner"]["gradient_booster"]["model"]["gbtree_model_param"]["num_parallel_tree"] = "2".into();
        assert_eq!(trees(&whole), 4);
        whole["learner"]["attributes"]["best_iteration"] = "99999".into();
        assert_eq!(trees(&whole), all);
        whole["learner"]["learner_model_param"]["num_target"] = "3".into();
        assert_eq!(read(&whole).unwrap_err(), XgboostError::Outputs { count: 3 });
    }

    #[test]
    fn unusable_models_give_an_error_with_a_place() {
        let whole = write(&model().0);
        let told = |pointer: &str, value: Value| {
            let mut changed = whole.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            read(&changed).unwrap_err().to_string()
        };
        let tree = "/learner/gradient_booster/model/trees/1";
        for (pointer, value, says) in [
            ("/learner/objective/name".to_owned(), json!("binary:logistic"), "is a model for binary:logistic"),
            ("/learner/gradient_booster/name".to_owned(), json!("dart"), "is a model of dart"),
            (
                "/learner/learner_model_param/base_score".to_owned(),
                json!("much"),
                "learner.learner_model_param.base_score is not a number",
            ),
            (format!("{tree}/left_children/1"), json!(1), "tree 1, node 1 is reached twice"),
            (format!("{tree}/left_children/2"), json!(0), "tree 1, node 2 has a child that does not exist"),
            (format!("{tree}/right_children/0"), json!(4000), "tree 1, node 0 has a child that does not exist"),
            (format!("{tree}/split_indices/0"), json!(2), "tree 1, node 0 splits by a feature that does not exist"),
            (format!("{tree}/split_type/0"), json!(1), "tree 1, node 0 splits by categories"),
            (format!("{tree}/split_conditions"), json!([1]), "trees[1] is not a tree"),
            (format!("{tree}/left_children"), json!("x"), "trees[1].left_children is not a list"),
        ] {
            let sentence = told(&pointer, value);
            assert!(sentence.contains(says), "{sentence}");
        }
        assert!(read(&json!({ "learner": {} })).unwrap_err().to_string().contains("learner.objective is not there"));
    }
}
