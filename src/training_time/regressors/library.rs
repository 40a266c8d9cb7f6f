//! The regressors of a cluster.

use std::collections::BTreeSet;

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::{
    model::{self, Fitted, Grid, Model, Recipe, Validation, grid},
    sampled::{FeatureView, Sampled},
};
use crate::{
    learn::{LearnError, xgboost},
    order::CompactSort,
    progress::{Progress, Silent},
    training_time::{
        catalogue::{Catalogue, Gpu},
        health::Health,
        prediction::{Direction, Mode},
        samples::{
            Cluster, CollectiveRow, CollectiveSamples, Communicator, RegressorFamily, Setting, SettingTarget,
            SourceLine, family_of,
        },
    },
};

/// What regressors are made from, and in which mode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Whether they are made as the reference does or by default.
    pub mode: Mode,
    /// The preferred precision of samples; empty for any.
    pub precision: String,
    /// Rows whose health is in doubt: what rests on them is suspect.
    pub doubtful: Vec<SourceLine>,
    /// Saved regressors, which the parity mode uses instead of training.
    pub saved: Vec<SavedModel>,
}

impl Options {
    /// The options for a mode, with the rows in doubt according to the samples' health.
    pub fn new(mode: Mode, precision: &str, health: &Health) -> Self {
        let doubtful = health.flags.iter().filter(|flag| flag.rule.is_doubtful());
        let doubtful = doubtful.flat_map(|flag| flag.places.iter().copied()).collect();
        Self { mode, precision: precision.to_owned(), doubtful, saved: Vec::new() }
    }
}

/// A regressor that was saved by XGBoost.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedModel {
    /// The path of its file.
    pub path: String,
    /// The index of its cluster.
    pub cluster: Option<usize>,
    /// The operator whose time it predicts.
    pub operator: String,
    /// Whether it predicts the forward or the backward time.
    pub direction: Direction,
    /// The trees, with the names of their features if the file has them.
    pub model: xgboost::Model,
}

/// The time that a regressor predicts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RegressorTarget {
    /// An operator in one direction.
    Operator {
        /// The operator's name in the catalogue.
        name: String,
        /// The pass whose time is predicted.
        direction: Direction,
    },
    /// A matrix product of any shape, from those of all operators.
    Gemm(Direction),
    /// A collective: its name in parity mode, without `_large` in the default mode, whose curves join both ranges.
    Collective {
        /// The collective's name in the catalogue.
        name: String,
        /// The communicator; `None` for the fallback of the parity mode over all communicators.
        communicator: Option<Communicator>,
    },
    /// Messages that nobody measured, from the latency and the bandwidths of the cluster's entry in the catalogue.
    Wire,
}

impl std::fmt::Display for RegressorTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let way = |direction: &Direction| match direction {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
        };
        match self {
            Self::Operator { name, direction } => write!(f, "{name} {}", way(direction)),
            Self::Gemm(direction) => write!(f, "matrix products {}", way(direction)),
            Self::Collective { name, communicator: Some(communicator) } => write!(f, "{name} {communicator}"),
            Self::Collective { name, communicator: None } => write!(f, "{name} over any GPUs"),
            Self::Wire => write!(f, "messages that were not measured"),
        }
    }
}

/// The rows from which a target is learnt.
#[derive(Debug)]
enum RowSource {
    Operator(usize),
    Gemms,
    Messages { name: String, communicator: Option<Communicator> },
    Nothing,
}

#[derive(Debug)]
struct Entry {
    target: RegressorTarget,
    source: usize,
    direction: Direction,
    /// A setting that was searched for on the small grid, with its error as a share.
    found: OnceLock<Option<(RegressorFamily, f64)>>,
    /// The settings found by searching the full grid, with their score.
    best: OnceLock<Option<(RegressorFamily, f64)>>,
    model: OnceLock<Model>,
    validation: OnceLock<Validation>,
    is_saved: bool,
}

/// The regressors of a cluster.
#[derive(Debug)]
pub struct Library {
    pub(super) cluster: Arc<Cluster>,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) options: Options,
    sources: Vec<(RowSource, OnceLock<Sampled>)>,
    entries: Vec<Entry>,
    pub(super) peaks: Option<Gpu>,
    unusable: Vec<(String, String)>,
}

impl Library {
    /// The regressors of a cluster, none of which is trained yet.
    pub fn new(cluster: Arc<Cluster>, catalogue: Arc<Catalogue>, mut options: Options) -> Self {
        options.doubtful.compact_sort_by_key(|place| (place.file, place.line));
        let peaks = catalogue.gpu(&cluster.gpu).cloned();
        let (sources, entries, unusable) = (Vec::new(), Vec::new(), Vec::new());
        let mut library = Self { cluster, catalogue, options, sources, entries, peaks, unusable };
        let cluster = Arc::clone(&library.cluster);
        for (index, samples) in cluster.operators.iter().enumerate() {
            let of = |direction| RegressorTarget::Operator { name: samples.operator.clone(), direction };
            let preferred = samples.precision == library.options.precision;
            let known = |entry: &Entry| entry.target == of(Direction::Forward);
            match library.entries.iter().position(known).map(|at| library.entries[at].source) {
                // Another precision of the same operator.
                Some(source) if preferred => library.sources[source].0 = RowSource::Operator(index),
                Some(_) => {}
                None => {
                    let mut targets = vec![of(Direction::Forward)];
                    if !samples.backward_us.is_empty() {
                        targets.push(of(Direction::Backward));
                    }
                    library.add(RowSource::Operator(index), targets);
                }
            }
        }
        library.add(
            RowSource::Gemms,
            vec![RegressorTarget::Gemm(Direction::Forward), RegressorTarget::Gemm(Direction::Backward)],
        );
        let is_parity = library.options.mode == Mode::Parity;
        let name_of = |samples: &CollectiveSamples| {
            if is_parity { samples.collective.clone() } else { family_of(&samples.collective).to_owned() }
        };
        let mut names: Vec<String> = cluster.collectives.iter().map(name_of).collect();
        names.compact_sort();
        names.dedup();
        for name in names {
            let own = cluster.collectives.iter().filter(|samples| name_of(samples) == name);
            let mut known = BTreeSet::default();
            let each = own.flat_map(|samples| &samples.rows).map(|row| row.communicator);
            let mut communicators: Vec<Option<Communicator>> = each.filter(|of| known.insert(*of)).map(Some).collect();
            if is_parity && communicators.len() > 1 && cluster.has_fallback(&name) {
                communicators.push(None);
            }
            for communicator in communicators {
                let target = RegressorTarget::Collective { name: name.clone(), communicator };
                library.add(RowSource::Messages { name: name.clone(), communicator }, vec![target]);
            }
        }
        library.add(RowSource::Nothing, vec![RegressorTarget::Wire]);
        library.adopt();
        library
    }

    /// Takes in the saved regressors, which need no training: in parity mode, those that want as many features as there
    /// are. How they err is read from rows spread over all samples; no error of theirs is quoted, for nobody knows
    /// which rows they were trained on.
    fn adopt(&mut self) {
        if self.options.mode != Mode::Parity {
            return;
        }
        for SavedModel { operator: name, direction, model, .. } in std::mem::take(&mut self.options.saved) {
            let target = RegressorTarget::Operator { name: name.clone(), direction };
            let found = self.targets().position(|of| *of == target);
            let wanted = found.and_then(|regressor| self.sampled(regressor as u32)).map_or(0, Sampled::features);
            let width = model.boosting.width();
            let Some(regressor) = found.filter(|_| width == wanted) else {
                let why = match found {
                    Some(_) => format!("it was trained on {width} features, and {wanted} are known"),
                    None => "there are no samples of what it predicts".to_owned(),
                };
                self.unusable.push((name, why));
                continue;
            };
            let model = Model::Steps(model.boosting.to_step_function());
            self.set_validation(regressor as u32, self.against_samples(regressor as u32, &model));
            self.set_model(regressor as u32, model);
            self.entries[regressor].is_saved = true;
        }
    }

    /// Whether a regressor was trained by another program and saved.
    pub(super) fn is_saved(&self, regressor: u32) -> bool {
        self.entries.get(regressor as usize).is_some_and(|entry| entry.is_saved)
    }

    fn add(&mut self, source: RowSource, targets: Vec<RegressorTarget>) {
        for target in targets {
            let direction = match target {
                RegressorTarget::Operator { direction, .. } | RegressorTarget::Gemm(direction) => direction,
                RegressorTarget::Collective { .. } | RegressorTarget::Wire => Direction::Forward,
            };
            let source = self.sources.len();
            self.entries.push(Entry {
                target,
                source,
                direction,
                found: OnceLock::new(),
                best: OnceLock::new(),
                model: OnceLock::new(),
                validation: OnceLock::new(),
                is_saved: false,
            });
        }
        self.sources.push((source, OnceLock::new()));
    }

    /// The targets of the regressors, by number.
    pub fn targets(&self) -> impl Iterator<Item = &RegressorTarget> {
        self.entries.iter().map(|entry| &entry.target)
    }

    /// Whether the regressors are made as the reference does or by default.
    pub fn mode(&self) -> Mode {
        self.options.mode
    }

    /// The number of the regressor for a target.
    pub fn find(&self, target: &RegressorTarget) -> Option<u32> {
        self.entries.iter().position(|entry| entry.target == *target).map(|number| number as u32)
    }

    pub(super) fn target(&self, regressor: u32) -> Option<&RegressorTarget> {
        self.entries.get(regressor as usize).map(|entry| &entry.target)
    }

    pub(super) fn direction(&self, regressor: u32) -> Direction {
        self.entries.get(regressor as usize).map_or(Direction::Forward, |entry| entry.direction)
    }

    pub(super) fn sampled(&self, regressor: u32) -> Option<&Sampled> {
        let (source, sampled) = &self.sources[self.entries.get(regressor as usize)?.source];
        Some(sampled.get_or_init(|| {
            let doubtful = &self.options.doubtful;
            match source {
                RowSource::Operator(index) => {
                    let samples = &self.cluster.operators[*index];
                    Sampled::new(samples, &FeatureView::of(&self.catalogue, &samples.operator), doubtful)
                }
                RowSource::Gemms => Sampled::gemms(&self.cluster.operators, &self.catalogue, doubtful),
                RowSource::Messages { name, communicator } => {
                    // The reference's trees see the GPUs also where they are always the same, and draw their features
                    // among all.
                    let with_communicator = communicator.is_none() || self.options.mode == Mode::Parity;
                    Sampled::messages(self.messages(name, *communicator), with_communicator, doubtful)
                }
                RowSource::Nothing => Sampled::messages(std::iter::empty(), false, doubtful),
            }
        }))
    }

    /// The number of rows of a regressor, and of distinct features among them if they were counted already.
    pub(super) fn counts(&self, regressor: u32) -> (usize, Option<usize>) {
        let Some(entry) = self.entries.get(regressor as usize) else { return (0, None) };
        let (source, sampled) = &self.sources[entry.source];
        match (sampled.get(), source) {
            (Some(sampled), _) => (sampled.len(), Some(sampled.distinct_features)),
            (None, RowSource::Operator(index)) => (self.cluster.operators[*index].len(), None),
            (None, RowSource::Messages { name, communicator }) => (self.messages(name, *communicator).count(), None),
            (None, RowSource::Gemms | RowSource::Nothing) => (0, None),
        }
    }

    /// The rows of a collective, over some GPUs or any.
    fn messages<'a>(
        &'a self,
        name: &'a str,
        communicator: Option<Communicator>,
    ) -> impl Iterator<Item = &'a CollectiveRow> {
        let is_parity = self.options.mode == Mode::Parity;
        let is_of = move |collective: &str| collective == name || !is_parity && family_of(collective) == name;
        let collectives = self.cluster.collectives.iter().filter(move |samples| is_of(&samples.collective));
        let rows = collectives.flat_map(|samples| &samples.rows);
        rows.filter(move |row| communicator.is_none_or(|within| within == row.communicator))
    }

    /// The setting of a target in parity mode, where there is one.
    pub(super) fn setting(&self, target: &RegressorTarget) -> Option<&Setting> {
        let (function, of) = setting_of(target)?;
        let mut settings = self.cluster.settings.iter().filter(|row| row.function == function && row.of == of);
        let first = settings.clone().next();
        settings.find(|row| row.precision == self.options.precision).or(first)
    }

    /// How a regressor is fitted. Without a setting, the parity mode searches the small grid.
    pub(super) fn recipe(&self, regressor: u32, progress: &mut dyn Progress) -> Result<Recipe, LearnError> {
        let target = &self.entries[regressor as usize].target;
        match (self.options.mode, target) {
            (Mode::Default, RegressorTarget::Collective { .. }) => Ok(Recipe::Curve),
            (Mode::Default, _) | (_, RegressorTarget::Gemm(_) | RegressorTarget::Wire) => Ok(Recipe::Law),
            (Mode::Parity, _) => match self.setting(target) {
                Some(setting) => Ok(Recipe::Family(setting.family)),
                None => {
                    let search = || self.search(regressor, Grid::Small, progress).ok();
                    let found = self.entries[regressor as usize].found.get_or_init(search);
                    let rows = self.sampled(regressor).map_or(0, Sampled::len);
                    let too_few = LearnError::TooFewRows { rows, needed: model::LEAST_ROWS };
                    found.map(|(family, _)| Recipe::Family(family)).ok_or(too_few)
                }
            },
        }
    }

    /// The point of a grid that predicts a regressor's rows best out of fold, with its error as a share.
    ///
    /// # Errors
    /// Returns an error if there are too few rows.
    pub fn search(
        &self,
        regressor: u32,
        size: Grid,
        progress: &mut dyn Progress,
    ) -> Result<(RegressorFamily, f64), LearnError> {
        let rows = self.sampled(regressor).map_or(0, Sampled::len);
        match (self.sampled(regressor), self.target(regressor)) {
            (Some(sampled), Some(target)) if rows >= model::LEAST_ROWS => {
                let points = grid(size, matches!(target, RegressorTarget::Collective { .. }));
                let all: Vec<usize> = (0..rows).collect();
                let table = sampled.table(&all, |query| &query.features);
                model::search(&points, &table, sampled.times(self.direction(regressor)), progress)
            }
            _ => Err(LearnError::TooFewRows { rows, needed: model::LEAST_ROWS }),
        }
    }

    /// Trains a regressor on all of its rows.
    pub(super) fn fit(&self, regressor: u32, progress: &mut dyn Progress) -> Model {
        let Some(sampled) = self.sampled(regressor) else { return Model::Nothing };
        let rows: Vec<usize> = (0..sampled.len()).collect();
        if rows.is_empty() {
            return Model::Nothing;
        }
        let fitted = self
            .recipe(regressor, progress)
            .and_then(|recipe| recipe.fit(sampled, self.direction(regressor), &rows, progress));
        match fitted {
            Ok(Fitted::Model(model)) => model,
            _ => Model::Nothing,
        }
    }

    /// The model of a regressor, which is trained first if necessary.
    pub(super) fn model(&self, regressor: u32) -> &Model {
        self.entries[regressor as usize].model.get_or_init(|| self.fit(regressor, &mut Silent))
    }

    /// Adopts a model that was trained elsewhere.
    pub(super) fn set_model(&self, regressor: u32, model: Model) {
        if let Some(entry) = self.entries.get(regressor as usize) {
            // One that is there already is the same.
            let _ = entry.model.set(model);
        }
    }

    /// Adopts the result of a search of the full grid.
    pub(super) fn set_best(&self, regressor: u32, best: Option<(RegressorFamily, f64)>) {
        if let Some(entry) = self.entries.get(regressor as usize) {
            let _ = entry.best.set(best);
        }
    }

    /// Whether the full grid was searched.
    pub(super) fn is_searched(&self, regressor: u32) -> bool {
        self.entries.get(regressor as usize).is_some_and(|entry| entry.best.get().is_some())
    }

    /// The result of the search of the full grid.
    pub(super) fn best(&self, regressor: u32) -> Option<(RegressorFamily, f64)> {
        *self.entries.get(regressor as usize)?.best.get()?
    }

    /// The regressors of an operator or a collective that have settings.
    pub fn of_function(&self, function: &str) -> Vec<u32> {
        let is_of = |target: &RegressorTarget| setting_of(target).is_some_and(|(name, _)| name == function);
        let targets = self.targets().enumerate().filter(|(_, target)| is_of(target));
        targets.map(|(number, _)| number as u32).collect()
    }

    /// Settings that were searched for, on the full grid or else on the small one, as rows of a configuration.
    pub fn found_settings(&self) -> Vec<Setting> {
        let row = |(number, entry): (usize, &Entry)| {
            let (family, error) = entry.best.get().or_else(|| entry.found.get()).copied()??;
            self.setting_row(number as u32, family, error)
        };
        self.entries.iter().enumerate().filter_map(row).collect()
    }

    /// Saved regressors that can't be used, each with the reason.
    pub fn unusable(&self) -> &[(String, String)] {
        &self.unusable
    }

    /// Whether a regressor is trained.
    pub fn is_trained(&self, regressor: u32) -> bool {
        self.entries.get(regressor as usize).is_some_and(|entry| entry.model.get().is_some())
    }

    /// The memory of trained models, in bytes.
    pub fn size_bytes(&self) -> usize {
        let size = |entry: &Entry| entry.model.get().map_or(0, Model::size_bytes);
        self.entries.iter().map(size).sum()
    }

    pub(super) fn validation(&self, regressor: u32) -> Option<&Validation> {
        self.entries.get(regressor as usize)?.validation.get()
    }

    pub(super) fn set_validation(&self, regressor: u32, validation: Validation) {
        if let Some(entry) = self.entries.get(regressor as usize) {
            let _ = entry.validation.set(validation);
        }
    }

    /// Whether a regressor has samples, but none of the wanted precision.
    pub(super) fn is_of_other_precision(&self, regressor: u32) -> bool {
        let wanted = self.options.precision.as_str();
        let Some((source, _)) = self.entries.get(regressor as usize).map(|entry| &self.sources[entry.source]) else {
            return false;
        };
        let (operators, collectives) = (&self.cluster.operators, &self.cluster.collectives);
        !wanted.is_empty()
            && match source {
                RowSource::Operator(index) => operators[*index].precision != wanted,
                RowSource::Gemms => operators.iter().all(|samples| samples.precision != wanted),
                RowSource::Messages { name, .. } => collectives
                    .iter()
                    .filter(|samples| family_of(&samples.collective) == family_of(name))
                    .all(|samples| samples.precision != wanted),
                RowSource::Nothing => false,
            }
    }
}

/// The function and time by which settings name a target.
pub(super) fn setting_of(target: &RegressorTarget) -> Option<(&str, SettingTarget)> {
    match target {
        RegressorTarget::Operator { name, direction: Direction::Forward } => Some((name, SettingTarget::Forward)),
        RegressorTarget::Operator { name, direction: Direction::Backward } => Some((name, SettingTarget::Backward)),
        RegressorTarget::Collective { name, communicator } => Some((name, SettingTarget::Communicator(*communicator))),
        RegressorTarget::Gemm(_) | RegressorTarget::Wire => None,
    }
}
