//! One sweep under study: what was measured, what was learnt from it, how far to trust that, what to deploy.

use std::{borrow::Cow, collections::BTreeMap, sync::OnceLock};

use crate::{ceiling::Ceiling, units::grouped};

use super::{
    aggregate::{Point, Target},
    baselines::Measurements,
    ceilings::Ceilings,
    charts,
    coverage::CoverageError,
    decision::{Judge, deviations::Deviations},
    features::ModelInput,
    heat_map::{Against, heat_map},
    model::BusbwModel,
    model_file::{self, ModelFile},
    origin::MeasuredWith,
    parameters::{Confidence, Parameters, Screening, SearchLimits},
    platform::Platform,
    read::Placement,
    recommend::{BetweenSizes, Recommender},
    record,
    result::{Evaluation, Group, Importance, Recommendation, Source, View},
    runs::Runs,
    search::SearchSpace,
    stalls::{Screened, Stall},
    sweep::Sweep,
    validate::{self, FoldPredictions, HeldOutChoice, Validation},
    wording,
};
use crate::{
    collective::{Algorithm, Collective, Configuration, Scale, Workload},
    learn::{LearnError, importance},
    math::ln,
    order::CompactSort,
    plot::Chart,
    progress::{Progress, Silent},
};

/// A sweep, and the model and validation that were made from it.
#[derive(Default)]
pub struct TuningStudy {
    target: Target,
    runs: Runs,
    screening: Screening,
    screened: Screened,
    deviations: Deviations,
    sweep: Sweep,
    measurements: Measurements,
    groups: Vec<Group>,
    /// The library and GPU on which answers are deployed: they say what can run besides what was measured.
    platform: Platform,
    /// The largest busbw that the cluster's links allow, which limits predictions.
    ceilings: Ceilings,
    /// The validation of interpolation, which answers as long as nothing was learnt.
    untrained: OnceLock<Validation>,
    /// The configurations that may be chosen without limits of one's own, as long as nothing was learnt.
    unlimited: OnceLock<SearchSpace>,
    trained: Option<TrainedModel>,
}

struct TrainedModel {
    parameters: Parameters,
    model: BusbwModel,
    space: SearchSpace,
    validation: Option<Validation>,
    answer: Vec<Recommendation>,
}

/// Why a study can't answer.
#[derive(Debug, thiserror::Error)]
pub enum TuningStudyError {
    /// No file holds a measurement that can be used.
    #[error("there is nothing to learn from: a sweep is needed first")]
    NothingMeasured,
    /// Only the library's default was measured.
    #[error(
        "there is nothing to learn from: only the library's default was measured and gave right values; a report shows its curve and where it dips"
    )]
    OnlyDefault,
    /// More collectives and scales than [`MAX_TRAINED_GROUPS`].
    #[error(
        "{} collectives and scales are more than the {} that can be learnt from: take the files or rows of those that are to be tuned",
        grouped(*.0 as u64),
        grouped(MAX_TRAINED_GROUPS as u64)
    )]
    TooManyScales(usize),
    /// Parameters with which training would take practically for ever.
    #[error(
        "these parameters ask for more than {} trees or stages, or trees deeper than {}",
        grouped(Parameters::MAX_TREES.into()),
        Parameters::MAX_DEPTH
    )]
    TooManyTrees,
    /// No model was trained yet.
    #[error("there is no model yet: train one first")]
    NothingTrained,
    /// The model could not be fitted or asked.
    #[error("the model could not be made: {0}")]
    Learn(#[from] LearnError),
    /// The file is no tuner file, or not loaded.
    #[error("this tuner file is not loaded any more; give it again")]
    NoConf,
    /// There is no recommendation that a file could be written from.
    #[error("there is nothing to deploy yet: a sweep is needed first")]
    NothingToDeploy,
    /// The coverage of a job can't be computed.
    #[error(transparent)]
    Coverage(#[from] CoverageError),
    /// There is no comparison among the loaded files.
    #[error(
        "there is nothing to compare: give per_size_stats.csv, or the logs of a campaign (all_reduce_2n_default_r1.log, \
         all_reduce_2n_conf_r1.log, …)"
    )]
    NothingToCompare,
    /// One of two states has nothing that can be compared.
    #[error("there is no state {0}: {1}")]
    NoState(&'static str, String),
    /// A message comes from another build.
    #[error("the parts of this page are of different builds; reload it")]
    Message(#[from] postcard::Error),
}

/// The most collectives and scales that are learnt from: each is a surface of its own, and training more would take
/// minutes. Real sweeps have tens.
pub const MAX_TRAINED_GROUPS: usize = 2000;

impl TuningStudy {
    /// A study of a sweep whose single runs are not known; its values are of `target`.
    pub fn new(sweep: Sweep, target: Target) -> Self {
        Self::of_runs(Runs::of_points(sweep), target)
    }

    /// A study of runs, without those that stalled; their values are of `target`.
    pub fn of_runs(runs: Runs, target: Target) -> Self {
        let mut study = Self { runs, target, ..Self::default() };
        study.screen(Screening::default());
        study
    }

    /// Chooses the runs that are set aside, and drops the model that was learnt from other runs.
    fn screen(&mut self, screening: Screening) {
        self.trained = None;
        self.screened = Screened::new(&self.runs, &screening);
        self.screening = screening;
        self.sweep = self.runs.sweep(|place, run| self.screened.keep(place, run));
        self.deviations = Deviations::new(&self.runs, &self.screened);
        self.measurements = Measurements::new(&self.sweep.points);
        self.groups = self.sweep.groups();
        self.ceilings = Ceilings::new(self.ceilings.given().to_vec(), &self.sweep);
        self.untrained = OnceLock::new();
        self.unlimited = OnceLock::new();
    }

    /// Limits predictions to what links can carry. Returns notes for the user. Answers that were given before are not
    /// changed.
    pub fn limit_predictions(&mut self, ceilings: Vec<Ceiling>) -> Vec<String> {
        self.ceilings = Ceilings::new(ceilings, &self.sweep);
        self.ceilings.notes(&self.sweep)
    }

    /// Sets the library and GPU on which answers are deployed. Answers that were given before are not changed.
    pub fn set_platform(&mut self, platform: Platform) {
        self.platform = platform;
        self.unlimited = OnceLock::new();
        if let Some(trained) = &mut self.trained {
            trained.space = SearchSpace::new(&self.sweep, &trained.parameters.search, &platform);
        }
    }

    /// The library and GPU on which answers are deployed.
    pub const fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The algorithms among those that `limits` names that can't run at a workload, a sentence with the reason for
    /// each.
    pub fn cannot_run(&self, limits: &SearchLimits, workload: &Workload) -> Vec<String> {
        let space = SearchSpace::new(&self.sweep, limits, &self.platform);
        let told = |(algorithm, why): &(Algorithm, &str)| {
            let Workload { collective, scale, .. } = workload;
            format!("{algorithm} is not searched for {collective} on {scale}: {why}")
        };
        space.cannot_run(workload).iter().map(told).collect()
    }

    /// The single runs behind the points.
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// Which of them are set aside.
    pub fn screened(&self) -> &Screened {
        &self.screened
    }

    /// The in-place runs of configurations that stalled and are the only one at their size. They stay in the sweep, for
    /// nothing is in their place. None where stalls are to be used.
    pub fn lone_stalls(&self) -> impl Iterator<Item = Stall> {
        let Screening { keep_stalls, brought_back, .. } = &self.screening;
        let is_lone = |stall: &&Stall| stall.of == 1 && !stall.is_default && stall.placement == Placement::InPlace;
        let stalls = self.screened.stalls.iter().filter(is_lone);
        stalls.filter(move |stall| !keep_stalls && !brought_back.contains(&stall.id())).copied()
    }

    /// The judge that decides between measured configurations.
    pub fn judge(&self) -> Judge<'_> {
        let confidence = self.trained.as_ref().map(|trained| trained.parameters.confidence).unwrap_or_default();
        Judge { runs: &self.runs, screened: &self.screened, deviations: &self.deviations, confidence }
    }

    /// The measurements: a point for each size and configuration.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// The measured collectives and scales.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The last recommendations for each measured workload; empty before any training.
    pub fn recommendations(&self) -> &[Recommendation] {
        self.trained.as_ref().map_or(&[], |trained| &trained.answer)
    }

    /// The last recommendations for each measured workload; before any training the measured winners.
    ///
    /// # Errors
    /// Returns an error if the trained model can't be evaluated; never before training.
    pub fn to_deploy(&self) -> Result<Cow<'_, [Recommendation]>, TuningStudyError> {
        Ok(match self.recommendations() {
            [] => self.winners()?.into(),
            answered => answered.into(),
        })
    }

    /// Every measured size of every group, also those at which only the default ran.
    fn workloads(&self) -> Vec<Workload> {
        let workload =
            |group: &Group, size_bytes| Workload { collective: group.collective, scale: group.scale, size_bytes };
        self.groups.iter().flat_map(|g| g.sizes.iter().map(move |size| workload(g, *size))).collect()
    }

    fn with_recommender<T>(&self, search: Option<&SearchLimits>, ask: impl FnOnce(&Recommender<'_>) -> T) -> T {
        let trained = self.trained.as_ref();
        let own;
        let space_of = |limits: &SearchLimits| SearchSpace::new(&self.sweep, limits, &self.platform);
        let space = match (search, trained) {
            (None, Some(trained)) => &trained.space,
            (None, None) => self.unlimited.get_or_init(|| space_of(&SearchLimits::default())),
            (Some(limits), _) => {
                own = space_of(limits);
                &own
            }
        };
        ask(&Recommender {
            sweep: &self.sweep,
            measurements: &self.measurements,
            ceilings: &self.ceilings,
            space,
            model: trained.map(|trained| &trained.model),
            validation: trained.map_or_else(|| self.untrained.get(), |trained| trained.validation.as_ref()),
            judge: self.judge(),
        })
    }

    /// The measured winners: the answer before any model is trained.
    ///
    /// # Errors
    /// Returns an error if the trained model can't be evaluated; never before training.
    pub fn winners(&self) -> Result<Vec<Recommendation>, TuningStudyError> {
        self.with_recommender(None, |recommender| {
            let measured = |workload: &Workload| recommender.recommend(workload, false).map_err(TuningStudyError::from);
            self.workloads().iter().map(measured).collect()
        })
    }

    /// Learns, and answers every measured workload. Where only the limits of the search or the confidence differ from
    /// the last training, model and validation are kept.
    ///
    /// # Errors
    /// Returns an error if nothing was measured, or the model can't be fitted.
    pub fn train(
        &mut self,
        parameters: Parameters,
        progress: &mut dyn Progress,
    ) -> Result<&[Recommendation], TuningStudyError> {
        if parameters.screening != self.screening {
            self.screen(parameters.screening.clone());
        }
        if self.sweep.points.is_empty() {
            let has_defaults = !self.sweep.defaults.is_empty();
            return Err(if has_defaults { TuningStudyError::OnlyDefault } else { TuningStudyError::NothingMeasured });
        }
        if self.groups.len() > MAX_TRAINED_GROUPS {
            return Err(TuningStudyError::TooManyScales(self.groups.len()));
        }
        if !parameters.end() {
            return Err(TuningStudyError::TooManyTrees);
        }
        let space = SearchSpace::new(&self.sweep, &parameters.search, &self.platform);
        let same = |old: &Parameters| {
            let Parameters { search, confidence, .. } = old.clone();
            *old == Parameters { search, confidence, ..parameters.clone() }
        };
        let (model, validation) = match self.trained.take_if(|trained| same(&trained.parameters)) {
            Some(trained) => (trained.model, trained.validation),
            None => (BusbwModel::fit(&self.sweep.points, &parameters, progress)?, None),
        };
        self.trained = Some(TrainedModel { parameters, model, space, validation, answer: Vec::new() });
        self.answer(false, progress)
    }

    fn answer(&mut self, check: bool, progress: &mut dyn Progress) -> Result<&[Recommendation], TuningStudyError> {
        let answer = self.recommend(&self.workloads(), None, check, progress)?;
        let trained = self.trained.as_mut().ok_or(TuningStudyError::NothingTrained)?;
        trained.answer = answer;
        Ok(&trained.answer)
    }

    /// Scores the predictions of all folds, and answers again: with intervals, with the exhaustive search as a check,
    /// and from a baseline where that has the smaller regret.
    ///
    /// # Errors
    /// Returns an error if nothing was trained, or the model can't be evaluated.
    pub fn validate(
        &mut self,
        folds: &[FoldPredictions],
        progress: &mut dyn Progress,
    ) -> Result<(Evaluation, &[Recommendation]), TuningStudyError> {
        let trained = self.trained.as_mut().ok_or(TuningStudyError::NothingTrained)?;
        let validation = validate::evaluate(&self.sweep, folds);
        let evaluation = validation.evaluation.clone();
        trained.validation = Some(validation);
        Ok((evaluation, self.answer(true, progress)?))
    }

    /// Answers for any workloads; `search` replaces the limits of the training.
    ///
    /// # Errors
    /// Returns an error if the model can't be evaluated.
    pub fn recommend(
        &self,
        workloads: &[Workload],
        search: Option<&SearchLimits>,
        check: bool,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Recommendation>, TuningStudyError> {
        self.try_interpolation();
        self.with_recommender(search, |recommender| {
            let mut answers = Vec::with_capacity(workloads.len());
            for (index, workload) in workloads.iter().enumerate() {
                progress.report("Searching configurations", index as u64, workloads.len() as u64);
                answers.push(recommender.recommend(workload, check)?);
            }
            Ok(answers)
        })
    }

    /// The recommendations between all measured sizes, beside [`Self::to_deploy`], by collective, scale and size.
    ///
    /// # Errors
    /// Returns an error if the model can't be evaluated.
    pub fn between_sizes(&self) -> Result<Vec<BetweenSizes>, TuningStudyError> {
        let answer = self.to_deploy()?;
        let mut sorted: Vec<&Recommendation> = answer.iter().collect();
        sorted.compact_sort_by_key(|recommendation| recommendation.workload);
        self.try_interpolation();
        let same_group = |pair: &&[&Recommendation]| {
            let [a, b] = [pair[0].workload, pair[1].workload];
            (a.collective, a.scale) == (b.collective, b.scale)
        };
        self.with_recommender(None, |recommender| {
            let mut all = Vec::new();
            for pair in sorted.windows(2).filter(same_group) {
                all.extend(recommender.between_sizes(pair[0], pair[1])?);
            }
            Ok(all)
        })
    }

    /// Validates interpolation, if nothing was learnt.
    fn try_interpolation(&self) {
        if self.trained.is_none() && self.groups.len() <= MAX_TRAINED_GROUPS {
            self.untrained.get_or_init(|| validate::evaluate(&self.sweep, &[]));
        }
    }

    /// The loss of each configuration at each size of a workload's collective and scale; `None` where none was
    /// measured.
    pub fn heat_map(&self, workload: &Workload, against: Against) -> Option<Chart> {
        let group = charts::group_of(&self.groups, workload)?;
        let judge = self.judge();
        let line_of = |point: &Point, kind| charts::line_of(&judge, point, kind);
        heat_map(&self.sweep, &self.screened.stalls, group, self.recommendations(), against, &line_of)
    }

    /// The charts of one workload, the heat map against the best.
    ///
    /// # Errors
    /// Returns an error if the model can't be evaluated.
    pub fn view(&self, workload: &Workload) -> Result<View, TuningStudyError> {
        let answer = self.trained.as_ref().map_or(&[][..], |trained| &trained.answer);
        let known = answer.iter().find(|r| r.workload == *workload).cloned();
        let recommendation = match known {
            Some(recommendation) => recommendation,
            None => self.recommend(&[*workload], None, true, &mut Silent)?.swap_remove(0),
        };
        let group = charts::group_of(&self.groups, workload);
        let unmeasured = Group {
            collective: workload.collective,
            scale: workload.scale,
            sizes: Vec::new(),
            pairs: Vec::new(),
            points: 0,
            default_sizes: 0,
        };
        self.with_recommender(None, |recommender| {
            Ok(View {
                workload: *workload,
                busbw_over_size: charts::busbw_over_size(recommender, group.unwrap_or(&unmeasured), answer),
                busbw_over_channels: charts::busbw_over_channels(recommender, group, &recommendation)?,
                heat_map: self.heat_map(workload, Against::Best),
                predicted_over_measured: recommender.validation.map(|validation| {
                    charts::predicted_over_measured(recommender, validation, workload.collective, workload.scale)
                }),
                recommendation,
            })
        })
    }

    /// The runs behind a workload's points, and what stalled; `names` are those of the files.
    pub fn record(&self, question: &record::RecordQuestion, names: &BTreeMap<u16, String>) -> record::RecordAnswer {
        self.with_recommender(None, |recommender| record::answer(recommender, question, names))
    }

    /// Which features matter to the model: by impurity, and by how much the error rises when one is shuffled.
    ///
    /// # Errors
    /// Returns an error if nothing was trained, or the model can't be evaluated.
    pub fn importances(&self, progress: &mut dyn Progress) -> Result<Vec<Importance>, TuningStudyError> {
        /// Shuffling needs no more points than this to tell features apart.
        const POINTS: usize = 2000;
        const ROUNDS: u32 = 3;
        let trained = self.trained.as_ref().ok_or(TuningStudyError::NothingTrained)?;
        let step = self.sweep.points.len().div_ceil(POINTS).max(1);
        let points: Vec<&Point> = self.sweep.points.iter().step_by(step).filter(|p| p.busbw_gbps > 0.0).collect();
        let asks: Vec<ModelInput> = points.iter().map(|p| (p.workload, p.configuration)).collect();
        let names = trained.model.feature_names();
        let impurity = trained.model.importances()?;
        let rises = importance::permutation(
            names.len(),
            asks.len(),
            ROUNDS,
            trained.parameters.seed,
            progress,
            |shuffle| -> Result<f64, LearnError> {
                let predicted = trained.model.predict_shuffled(&asks, shuffle)?;
                let errors = points.iter().zip(&predicted).filter_map(|(p, b)| Some((ln(p.busbw_gbps / (*b)?)).abs()));
                let errors: Vec<f64> = errors.filter(|error| error.is_finite()).collect();
                Ok(errors.iter().sum::<f64>() / errors.len().max(1) as f64 * 100.0)
            },
        )?;
        let with_impurity = names.iter().zip(impurity).zip(rises);
        Ok(with_impurity
            .map(|((name, impurity), permutation_pct)| Importance {
                feature: (*name).to_owned(),
                impurity: Some(impurity),
                permutation_pct,
            })
            .collect())
    }

    /// The model as a file, with what it was measured with.
    ///
    /// # Errors
    /// Returns an error if nothing was trained, or the model can't be evaluated.
    pub fn model_file(&self, measured_with: &MeasuredWith) -> Result<ModelFile, TuningStudyError> {
        let trained = self.trained.as_ref().ok_or(TuningStudyError::NothingTrained)?;
        let Self { target, sweep, runs, screened, .. } = self;
        Ok(ModelFile::new(&trained.model, &trained.parameters, *target, sweep, runs, screened, measured_with)?)
    }

    /// Compares the trained model with the hash in the model file that it was opened from. Returns a sentence if they
    /// differ.
    ///
    /// # Errors
    /// Returns an error if nothing was trained, or the model can't be evaluated.
    pub fn differs_from(&self, saved_hash: &str) -> Result<Option<String>, TuningStudyError> {
        let trained = self.trained.as_ref().ok_or(TuningStudyError::NothingTrained)?;
        let hash = model_file::hash(&trained.model, &self.sweep.points)?;
        Ok((hash != saved_hash).then(|| {
            format!(
                "The model of the opened file predicts differently here (hash {hash}, saved {saved_hash}): other rows, \
                 another program version, or a changed file. Its training rows are used as data."
            )
        }))
    }

    /// The bus bandwidth in GB/s that the model predicts for a configuration; `None` before any training, and where the
    /// model can't predict it.
    pub fn predict(&self, workload: &Workload, configuration: &Configuration) -> Option<f64> {
        let predicted = self.trained.as_ref()?.model.predict(&[(*workload, *configuration)]).ok()?;
        let busbw = predicted.into_iter().next().flatten().filter(|busbw| busbw.is_finite() && *busbw > 0.0)?;
        Some(self.ceilings.hold(workload, configuration, busbw))
    }

    /// The level and the smallest gain with which something else than the default is recommended.
    pub fn confidence(&self) -> Confidence {
        self.trained.as_ref().map(|trained| trained.parameters.confidence).unwrap_or_default()
    }

    /// The parameters of the last training; `None` before any.
    pub fn parameters(&self) -> Option<&Parameters> {
        self.trained.as_ref().map(|trained| &trained.parameters)
    }

    /// How far to trust the model; `None` before validation.
    pub fn evaluation(&self) -> Option<&Evaluation> {
        self.trained.as_ref()?.validation.as_ref().map(|validation| &validation.evaluation)
    }

    /// The choices that would have been deployed at each size, had it been held out; empty before validation.
    pub fn held_out(&self) -> &[HeldOutChoice] {
        let validation = self.trained.as_ref().and_then(|trained| trained.validation.as_ref());
        validation.map_or(&[], |validation| &validation.deployed)
    }

    /// Whether something else than the library's default was measured, without which nothing is learnt.
    pub fn has_choice(&self) -> bool {
        self.groups.iter().any(|group| group.points > 0)
    }

    /// Sentences on the stalled runs as they are used now, and, once validated, on where a baseline answers instead of
    /// the model.
    pub fn notes(&self) -> Vec<String> {
        [self.screened.notes(), self.impossible_notes(), self.baseline_notes()].concat()
    }

    /// A sentence for each collective and scale with measurements of what no library runs.
    fn impossible_notes(&self) -> Vec<String> {
        let of_group = |group: &Group| {
            let points = self.sweep.points_of(group.collective, group.scale);
            let impossible = points.iter().filter(|point| point.is_impossible());
            let mut names: Vec<String> = impossible
                .map(|point| format!("{}/{}", point.configuration.algorithm, point.configuration.protocol))
                .collect();
            names.compact_sort();
            names.dedup();
            (!names.is_empty()).then(|| {
                format!(
                    "{} on {}: {} is never chosen, for no library runs it there: what was measured under that name is \
                     something else",
                    group.collective,
                    group.scale,
                    names.join(", ")
                )
            })
        };
        self.groups.iter().filter_map(of_group).collect()
    }

    fn baseline_notes(&self) -> Vec<String> {
        let Some(validation) = self.trained.as_ref().and_then(|trained| trained.validation.as_ref()) else {
            return Vec::new();
        };
        let took_over = |(collective, scale): (Collective, Scale)| {
            let source = self.with_recommender(None, |recommender| recommender.source(collective, scale));
            let regret = validation.regret.get(&(collective, scale))?;
            (source != Source::Model).then(|| {
                format!(
                    "{collective} on {scale}: between measured sizes the answer comes from {}, which lost {:.2} % on held-out sizes; the model \
                     lost {:.2} %",
                    wording::source(source),
                    regret.get(&source).copied().unwrap_or(0.0),
                    regret.get(&Source::Model).copied().unwrap_or(0.0),
                )
            })
        };
        self.groups.iter().filter_map(|group| took_over((group.collective, group.scale))).collect()
    }
}
