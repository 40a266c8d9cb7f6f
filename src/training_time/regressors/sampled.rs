//! The rows of one operator as regressors see them, and where in them inputs lie.

use crate::{
    learn::Table,
    math::{self, Stream},
    order::CompactSort,
    training_time::{
        catalogue::{Catalogue, Operator},
        prediction::{Direction, Extrapolation, Mark, plain},
        samples::{CollectiveRow, Communicator, OperatorSamples, SourceLine, VOCABULARY},
        scope::Scope,
    },
};

/// Inputs that take a few values and mean another code path each: between two of them nothing is known.
const COUNTS: [&str; 8] = ["mp", "h", "kv_heads", "ep", "experts", "top_k", "nodes", "per_node"];

/// The inputs in the forms that regressors take.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Query {
    /// The inputs as sampled: `mp`, `b`, `l`, `dim` and so on.
    pub(super) inputs: Vec<f64>,
    /// The features of the parity mode's trees.
    pub(super) features: Vec<f64>,
    /// The features of the power law, as logarithms.
    pub(super) base: Vec<f64>,
    /// The features of its trees, as logarithms. A feature that always equals another one is listed once.
    pub(super) logarithms: Vec<f64>,
    /// Bytes touched at least; 0 where nothing is known of them.
    pub(super) bytes: f64,
}

/// How inputs are converted to features.
pub(super) enum FeatureView<'a> {
    /// Those of an operator in the catalogue.
    Operator(&'a Operator),
    /// Those of an operator that is not in the catalogue: its inputs are its features.
    Inputs,
    /// Those of any matrix product: m, k and n in place of an operator's inputs.
    Gemm,
}

impl FeatureView<'_> {
    pub(super) fn of<'a>(catalogue: &'a Catalogue, name: &str) -> FeatureView<'a> {
        catalogue.operator(name).map_or(FeatureView::Inputs, FeatureView::Operator)
    }

    /// `None` where a name is missing, or a feature is zero or below.
    fn query(&self, inputs: Vec<f64>, scope: &Scope) -> Option<Query> {
        let (features, base, bytes) = match self {
            Self::Operator(operator) => {
                let features = operator.features(scope).ok()?;
                let (flop, bytes) = (operator.flop(scope).ok()?, operator.bytes(scope).ok()?);
                let base = match (flop, bytes) {
                    (None, None) => features.clone(),
                    _ => flop.into_iter().chain(bytes).collect(),
                };
                (features, base, bytes.unwrap_or_default())
            }
            Self::Inputs => (inputs.clone(), inputs.clone(), 0.0),
            Self::Gemm => {
                let [m, k, n] = inputs[..] else { return None };
                let elements = m * k + k * n + m * n;
                (inputs.clone(), vec![m * k * n, elements], 2.0 * elements)
            }
        };
        let logarithms = |values: &[f64]| -> Option<Vec<f64>> {
            values.iter().all(|value| *value > 0.0).then(|| values.iter().map(|value| math::ln(*value)).collect())
        };
        Some(Query { base: logarithms(&base)?, logarithms: logarithms(&features)?, inputs, features, bytes })
    }
}

/// The rows from which an operator is learnt.
#[derive(Debug)]
pub(super) struct Sampled {
    names: Vec<String>,
    queries: Vec<Query>,
    /// The forward time of each row in µs.
    forward_us: Vec<f64>,
    /// The backward time of each row in µs; empty where there is one time only.
    backward_us: Vec<f64>,
    /// The feature columns that the power law's trees use.
    distinct: Vec<usize>,
    /// The distinct values of each input, ascending.
    values: Vec<Vec<f64>>,
    /// The smallest and largest value of each feature.
    ranges: Vec<(f64, f64)>,
    /// The indices of the rows, sorted lexicographically by inputs.
    by_inputs: Vec<u32>,
    /// The least time per byte in µs, forward and backward: what lies in a cache moves faster than memory can.
    least_us_per_byte: [f64; 2],
    /// Whether each row breaks a rule of health.
    doubtful: Vec<bool>,
    /// The fold of each row: all rows of the same features are in one.
    pub(super) folds: Vec<usize>,
    /// The number of distinct features.
    pub(super) distinct_features: usize,
}

fn message(elements: u64, communicator: Communicator) -> [f64; 3] {
    [elements as f64, f64::from(communicator.nodes), f64::from(communicator.per_node)]
}

/// The number of folds of a cross-validation.
pub(super) const FOLDS: usize = 3;

/// The fold of a row or of a tuple of features, by its number.
pub(super) fn fold(number: usize) -> usize {
    (Stream::new(number as u64).next_u64() % FOLDS as u64) as usize
}

fn lexicographic(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    let mut orders = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
    orders.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
}

/// Whether a location is among others, which are sorted.
fn is_among(places: &[SourceLine], place: SourceLine) -> bool {
    places.binary_search_by_key(&(place.file, place.line), |place| (place.file, place.line)).is_ok()
}

impl Sampled {
    pub(super) fn new(samples: &OperatorSamples, view: &FeatureView<'_>, doubtful: &[SourceLine]) -> Self {
        let mut sampled = Self::empty(samples.inputs.clone());
        for row in 0..samples.len() {
            let place = samples.places.get(row).copied().unwrap_or_default();
            let inputs = samples.row(row).to_vec();
            let mut scope = Scope::from([("vocabulary", VOCABULARY)]);
            samples.inputs.iter().zip(&inputs).for_each(|(name, value)| scope.set(name, *value));
            let Some(query) = view.query(inputs, &scope) else { continue };
            sampled.queries.push(query);
            sampled.forward_us.push(samples.forward_us[row]);
            sampled.backward_us.extend(samples.backward_us.get(row));
            sampled.doubtful.push(is_among(doubtful, place));
        }
        sampled.ordered()
    }

    /// The rows of all sampled operators that consist of a single matrix product.
    pub(super) fn gemms(samples: &[OperatorSamples], catalogue: &Catalogue, doubtful: &[SourceLine]) -> Self {
        let mut pooled = Self::empty(["m", "k", "n"].map(str::to_owned).to_vec());
        for samples in samples {
            let Some(operator) = catalogue.operator(&samples.operator) else { continue };
            if operator.gemm.is_none() || samples.backward_us.is_empty() {
                continue;
            }
            for row in 0..samples.len() {
                let place = samples.places.get(row).copied().unwrap_or_default();
                let mut scope = Scope::from([("vocabulary", VOCABULARY)]);
                samples.inputs.iter().zip(samples.row(row)).for_each(|(name, value)| scope.set(name, *value));
                let Ok(Some([count, m, k, n])) = operator.gemm(&scope) else { continue };
                let Some(query) = FeatureView::Gemm.query(vec![m, k, n], &scope).filter(|_| count <= 1.0) else {
                    continue;
                };
                pooled.queries.push(query);
                pooled.forward_us.push(samples.forward_us[row]);
                pooled.backward_us.extend(samples.backward_us.get(row));
                pooled.doubtful.push(is_among(doubtful, place));
            }
        }
        pooled.ordered()
    }

    /// Messages of collectives, over their elements, and over the communicator where it is not the same of all.
    pub(super) fn messages<'a>(
        rows: impl Iterator<Item = &'a CollectiveRow>,
        with_communicator: bool,
        doubtful: &[SourceLine],
    ) -> Self {
        let names: &[&str] = if with_communicator { &["elements", "nodes", "per_node"] } else { &["elements"] };
        let mut sampled = Self::empty(names.iter().map(|name| (*name).to_owned()).collect());
        for row in rows {
            let all = message(row.elements, row.communicator);
            let Some(query) = FeatureView::Inputs.query(all[..names.len()].to_vec(), &Scope::default()) else {
                continue;
            };
            sampled.queries.push(query);
            sampled.forward_us.push(row.time_us);
            sampled.doubtful.push(is_among(doubtful, row.place));
        }
        sampled.ordered()
    }

    /// The inputs of a message in the forms that regressors take.
    pub(super) fn message_query(&self, elements: u64, communicator: Communicator) -> Option<Query> {
        FeatureView::Inputs.query(message(elements, communicator)[..self.names.len()].to_vec(), &Scope::default())
    }

    fn empty(names: Vec<String>) -> Self {
        Self {
            names,
            queries: Vec::new(),
            forward_us: Vec::new(),
            backward_us: Vec::new(),
            distinct: Vec::new(),
            values: Vec::new(),
            ranges: Vec::new(),
            by_inputs: Vec::new(),
            least_us_per_byte: [f64::INFINITY; 2],
            doubtful: Vec::new(),
            folds: Vec::new(),
            distinct_features: 0,
        }
    }

    fn ordered(mut self) -> Self {
        let rows = self.queries.len();
        let queries = &self.queries;
        let width = queries.first().map_or(0, |query| query.features.len());
        let same = |a: usize, b: usize| queries.iter().all(|query| query.features[a] == query.features[b]);
        self.distinct = (0..width).filter(|column| !(0..*column).any(|earlier| same(earlier, *column))).collect();
        self.values = (0..self.names.len())
            .map(|input| {
                let mut values: Vec<f64> = queries.iter().map(|query| query.inputs[input]).collect();
                math::ascending(&mut values);
                values.dedup();
                values
            })
            .collect();
        self.ranges = (0..width)
            .map(|column| {
                let of_column = queries.iter().map(|query| query.features[column]);
                of_column.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
            })
            .collect();
        self.least_us_per_byte = [&self.forward_us, &self.backward_us].map(|times| {
            let sound = times.iter().zip(queries).zip(&self.doubtful).filter(|(_, doubtful)| !**doubtful);
            let per_byte = sound.map(|((time, query), _)| time / query.bytes);
            per_byte.fold(f64::INFINITY, f64::min)
        });
        let mut by_features: Vec<u32> = (0..rows as u32).collect();
        self.by_inputs.clone_from(&by_features);
        self.by_inputs
            .compact_sort_by(|a, b| lexicographic(&queries[*a as usize].inputs, &queries[*b as usize].inputs));
        by_features
            .compact_sort_by(|a, b| lexicographic(&queries[*a as usize].features, &queries[*b as usize].features));
        self.folds = vec![0; rows];
        for same in by_features.chunk_by(|a, b| queries[*a as usize].features == queries[*b as usize].features) {
            for row in same {
                self.folds[*row as usize] = fold(self.distinct_features);
            }
            self.distinct_features += 1;
        }
        let distinct = self.distinct.clone();
        for query in &mut self.queries {
            query.logarithms = distinct.iter().map(|column| query.logarithms[*column]).collect();
        }
        self
    }

    pub(super) fn len(&self) -> usize {
        self.queries.len()
    }

    pub(super) fn features(&self) -> usize {
        self.queries.first().map_or(0, |query| query.features.len())
    }

    /// The times of a direction in µs.
    pub(super) fn times(&self, direction: Direction) -> &[f64] {
        match direction {
            Direction::Forward => &self.forward_us,
            Direction::Backward => &self.backward_us,
        }
    }

    pub(super) fn row(&self, row: usize) -> &Query {
        &self.queries[row]
    }

    /// The distinct values of each input, with its name.
    pub(super) fn inputs(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.names.iter().zip(&self.values).map(|(name, values)| (name.as_str(), values.as_slice()))
    }

    /// A table of the given rows by one of the views of a query.
    pub(super) fn table(&self, rows: &[usize], view: impl Fn(&Query) -> &[f64]) -> Table {
        let width = self.queries.first().map_or(0, |query| view(query).len());
        let names: Vec<String> = (0..width).map(|column| column.to_string()).collect();
        let mut table = Table::named(&names);
        rows.iter().for_each(|row| table.push(view(&self.queries[*row])));
        table
    }

    /// The inputs for these values of names; `None` if one is missing.
    pub(super) fn query(&self, view: &FeatureView<'_>, scope: &Scope) -> Option<Query> {
        let inputs: Vec<f64> = self.names.iter().map(|name| scope.get(name)).collect::<Option<_>>()?;
        let mut query = view.query(inputs, scope)?;
        if query.features.len() != self.ranges.len() {
            return None;
        }
        query.logarithms = self.distinct.iter().map(|column| query.logarithms[*column]).collect();
        Some(query)
    }

    /// The median of the rows that were sampled with these inputs, and whether one of them is in doubt.
    pub(super) fn measured(&self, query: &Query, direction: Direction) -> Option<(f64, bool)> {
        let row = |at: u32| &self.queries[at as usize];
        let first = self.by_inputs.partition_point(|at| lexicographic(&row(*at).inputs, &query.inputs).is_lt());
        let same = self.by_inputs[first..].iter().take_while(|at| row(**at).inputs == query.inputs);
        // Names beside the inputs, as the vocabulary, may differ.
        let same: Vec<u32> = same.copied().filter(|at| row(*at).features == query.features).collect();
        let mut times: Vec<f64> =
            same.iter().filter_map(|at| self.times(direction).get(*at as usize)).copied().collect();
        let doubtful = same.iter().any(|at| self.doubtful[*at as usize]);
        math::median(&mut times).map(|time| (time, doubtful))
    }

    /// The least time in µs in which a query's bytes can move through a memory that takes so long for one, as far as no
    /// row that is not in doubt was faster.
    pub(super) fn moving_us(&self, query: &Query, direction: Direction, us_per_byte: f64) -> f64 {
        let [forward, backward] = self.least_us_per_byte;
        query.bytes * us_per_byte.min(if direction == Direction::Backward { backward } else { forward })
    }

    /// The share of rows that are in doubt.
    pub(super) fn doubt(&self) -> f64 {
        self.doubtful.iter().filter(|doubtful| **doubtful).count() as f64 / self.doubtful.len().max(1) as f64
    }

    /// The mark of a prediction, by where its inputs lie among the rows.
    pub(super) fn mark(&self, query: &Query) -> (Mark, Option<Extrapolation>) {
        if self.measured(query, Direction::Forward).is_some() {
            return (Mark::Measured, None);
        }
        let mut worst = None;
        for ((name, values), value) in self.inputs().zip(&query.inputs) {
            let (Some(low), Some(high)) = (values.first(), values.last()) else { continue };
            let is_unseen = COUNTS.contains(&name) && !values.contains(value);
            consider(
                &mut worst,
                is_unseen,
                Extrapolation {
                    told: among(name, *value, values),
                    input: name.to_owned(),
                    value: *value,
                    low: *low,
                    high: *high,
                },
            );
        }
        if worst.is_none() {
            for (number, (value, (low, high))) in query.features.iter().zip(&self.ranges).enumerate() {
                let input = format!("feature {}", number + 1);
                consider(&mut worst, false, Extrapolation { input, value: *value, low: *low, high: *high, told: None });
            }
        }
        match worst {
            Some((_, beyond)) => (Mark::Extrapolated, Some(beyond)),
            None => (Mark::Interpolated, None),
        }
    }
}

/// Counts of which several were sampled, in words: between two of them lies nothing that a range could promise.
fn among(name: &str, value: f64, sampled: &[f64]) -> Option<String> {
    /// The most values that a sentence lists.
    const NAMED: usize = 12;
    let is_told = COUNTS.contains(&name) && (2..=NAMED).contains(&sampled.len());
    let listed = || sampled.iter().map(|count| plain(*count)).collect::<Vec<_>>().join(", ");
    is_told.then(|| format!("{name} {}: {} were sampled", plain(value), listed()))
}

/// Keeps the value that lies farthest outside, by ratio.
fn consider(worst: &mut Option<(f64, Extrapolation)>, is_unseen: bool, beyond: Extrapolation) {
    let Extrapolation { value, low, high, .. } = beyond;
    let ratio = if value > high { value / high } else { low / value };
    if (ratio > 1.0 || is_unseen) && worst.as_ref().is_none_or(|(held, _)| ratio > *held) {
        *worst = Some((ratio, beyond));
    }
}
