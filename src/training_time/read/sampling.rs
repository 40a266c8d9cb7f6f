//! The configuration of a sampling: which points were to be measured.

use crate::text::yaml::{Fields, KeyError, Node};

type Result<T> = std::result::Result<T, KeyError>;

/// The most points of a grid that are looked at.
pub const MOST_POINTS: usize = 5_000_000;

/// The points at which an operator or a collective was to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// The operator or collective, as in the names of its files.
    pub function: String,
    /// The columns that are not times, in the order of the file.
    pub inputs: Vec<String>,
    /// Values of the first inputs; of a collective only its shape.
    pub axes: Vec<Axis>,
}

/// The values of one input: from `start` on, by `step`, up to `end`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// The first value of an input.
    pub start: f64,
    /// The increment, or the factor.
    pub step: f64,
    /// The upper limit, which is included if a step reaches it.
    pub end: f64,
    /// Whether `step` is a factor rather than an increment.
    pub multiplies: bool,
}

impl Axis {
    /// All values, ascending; at most [`MOST_POINTS`].
    pub fn values(&self) -> Vec<f64> {
        self.each().collect()
    }

    fn each(&self) -> impl Iterator<Item = f64> {
        let axis = *self;
        let next = move |value: &f64| {
            let next = if axis.multiplies { value * axis.step } else { value + axis.step };
            (next > *value && next <= axis.end).then_some(next)
        };
        std::iter::successors(Some(self.start).filter(|start| *start <= self.end), next).take(MOST_POINTS)
    }
}

impl Sampling {
    /// The number of points, including those that no model can have.
    pub fn points(&self) -> usize {
        self.axes.iter().fold(1_usize, |points, axis| points.saturating_mul(axis.each().count()))
    }

    /// Calls `each` with every point, the last input fastest; with none where there are more than [`MOST_POINTS`].
    pub fn each(&self, mut each: impl FnMut(&[f64])) {
        if self.axes.is_empty() || !(1..=MOST_POINTS).contains(&self.points()) {
            return;
        }
        let axes: Vec<Vec<f64>> = self.axes.iter().map(Axis::values).collect();
        let mut places = vec![0; axes.len()];
        let mut point: Vec<f64> = axes.iter().map(|values| values[0]).collect();
        loop {
            each(&point);
            let Some(axis) = (0..axes.len()).rev().find(|axis| places[*axis] + 1 < axes[*axis].len()) else { return };
            places[axis] += 1;
            point[axis] = axes[axis][places[axis]];
            for later in axis + 1..axes.len() {
                places[later] = 0;
                point[later] = axes[later][0];
            }
        }
    }
}

/// Whether this is the configuration of a sampling.
pub(super) fn is(root: &Node) -> bool {
    ["columns_name", "starts", "steps", "ends", "operators"].iter().all(|key| root.get(key).is_some())
}

/// Reads a configuration. Returns an error with its location if a key is missing or has another kind of value.
pub(super) fn read(root: &Node) -> Result<Sampling> {
    let mut fields = Fields::of(root, "the configuration")?;
    let named = fields.any(&["kernel_name", "function_name"]);
    let (key, named) = named.ok_or_else(|| fields.missing("kernel_name", "an operator's name"))?;
    let columns = fields.needed("columns_name", "a list of columns")?.words("columns_name")?;
    let inputs: Vec<String> =
        columns.into_iter().filter(|column| !column.to_ascii_lowercase().contains("dur")).collect();
    let starts = fields.needed("starts", "a list of numbers")?;
    let count = starts.list("starts")?.len();
    let mut lists = Vec::new();
    for key in ["starts", "steps", "ends"] {
        let node = fields.needed(key, "a list of numbers")?;
        let numbers = node.list(key)?.iter().map(|item| item.number(key)).collect::<Result<Vec<f64>>>()?;
        if numbers.len() != count || count == 0 || count > inputs.len() {
            return Err(node.unexpected(key, &format!("as many numbers as starts, at most {}", inputs.len())));
        }
        lists.push(numbers);
    }
    let operators = fields.needed("operators", "a list of add and mul")?;
    let signs = operators.words("operators")?;
    if signs.len() != count {
        return Err(operators.unexpected("operators", &format!("a list of {count}")));
    }
    let mut axes = Vec::new();
    for (index, sign) in signs.iter().enumerate() {
        let multiplies = match sign.as_str() {
            "mul" => true,
            "add" => false,
            _ => {
                return Err(
                    operators.wrong("operators", format!("\"{}\" is neither add nor mul", crate::text::excerpt(sign)))
                );
            }
        };
        axes.push(Axis { start: lists[0][index], step: lists[1][index], end: lists[2][index], multiplies });
    }
    Ok(Sampling { function: named.word(key)?.to_owned(), inputs, axes })
}
