//! How far to trust the model: its predictions of held-out measurements, scored beside baselines that don't learn.
//!
//! There are three ways to hold out ([`folds`]). *An unseen size*: nine folds, by the rank of the size modulo nine; the
//! model predicts every configuration at the held-out size and its best prediction is taken. *An unseen
//! configuration*: five folds, the rank of (algorithm, protocol, channels) modulo five. *An unseen scale*: a fold for
//! each scale of a collective that was measured at several. Points are medians over repeats, so all
//! repeats of a point are in one fold. [`deployed`] finds what would have been deployed at the held-out sizes, with the
//! default among the candidates.

mod deployed;
mod folds;
mod scores;

use std::collections::BTreeMap;

use self::scores::PredictorScores;
pub use self::{
    deployed::{HeldOutChoice, Regret, least_regret},
    folds::{FoldPredictions, FoldScheme, all_folds, assign, predict_fold},
};
use super::{
    extrapolation::ExtrapolationErrors,
    intervals::{HeldOutErrors, LEVEL, nested_coverage_pct},
    result::{Evaluation, FoldScores, Source},
    sweep::Sweep,
};
use crate::collective::{Collective, Scale};

/// Scores, held-out predictions of the model, and the errors that intervals are made of.
#[derive(Clone, Debug, Default)]
pub struct Validation {
    /// The scores over all collectives and scales.
    pub evaluation: Evaluation,
    /// Mean regret in per cent at held-out sizes of the choices of each source, for each (collective, scale).
    pub regret: BTreeMap<(Collective, Scale), Regret>,
    /// The same at held-out scales, for each collective that was measured at several.
    pub regret_at_scales: BTreeMap<Collective, Regret>,
    /// What would have been deployed at each held-out size by the choices of the source that answers.
    pub deployed: Vec<HeldOutChoice>,
    /// Out-of-fold predictions of the model: (point's index, by size, by configuration).
    pub out_of_fold: Vec<(Option<f64>, Option<f64>)>,
    /// Held-out errors of the model at unseen sizes.
    pub size_errors: HeldOutErrors,
    /// Held-out errors of the model for unseen configurations.
    pub configuration_errors: HeldOutErrors,
    /// Held-out errors of log-linear interpolation at unseen sizes.
    pub interpolation_errors: HeldOutErrors,
    /// Held-out errors of the model at unseen scales.
    pub scale_errors: HeldOutErrors,
    /// Held-out errors, at unseen scales, of log-linear interpolation over size at the nearest measured scale.
    pub interpolated_scale_errors: HeldOutErrors,
    /// Errors beyond the measured sizes.
    pub beyond_errors: ExtrapolationErrors,
    /// Held-out errors of gains over the default at unseen sizes: the choice is predicted by the model, and the default
    /// is interpolated between its sizes.
    pub gain_errors: HeldOutErrors,
    /// The same, with the choice predicted by log-linear interpolation over size.
    pub interpolated_gain_errors: HeldOutErrors,
}

/// Scores the predictions of all folds. The points of missing folds are not scored.
pub fn evaluate(sweep: &Sweep, predictions: &[FoldPredictions]) -> Validation {
    let points = &sweep.points;
    let by_size = PredictorScores::new(points, predictions, FoldScheme::Size);
    let by_configuration = PredictorScores::new(points, predictions, FoldScheme::Configuration);
    let by_scale = PredictorScores::new(points, predictions, FoldScheme::Scale);

    let errors = |scores: &PredictorScores, source, by_size| {
        HeldOutErrors::new(points, scores.predicted(source), &scores.folds, by_size)
    };
    let size_errors = errors(&by_size, Source::Model, true);
    let configuration_errors = errors(&by_configuration, Source::Model, false);
    let interpolation_errors = errors(&by_size, Source::LogLinearInterpolation, true);
    let gains = |source| HeldOutErrors::new(points, &by_size.over_default(source, sweep), &by_size.folds, true);
    let (gain_errors, interpolated_gain_errors) = (gains(Source::Model), gains(Source::LogLinearInterpolation));

    let (scale_errors, interpolated_scale_errors) =
        (errors(&by_scale, Source::Model, false), errors(&by_scale, Source::LogLinearInterpolation, false));

    let regret_at_scales = deployed::by_collective(&deployed::HeldOutChoices::new(sweep, &by_scale).regret(|_| true));
    let deployments = deployed::HeldOutChoices::new(sweep, &by_size);
    let regret = deployments.regret(|_| true);
    let nested: Vec<_> = (0..FoldScheme::Size.folds()).map(|fold| deployments.regret(|other| other != fold)).collect();
    let folds_of =
        |scheme: FoldScheme| regret.keys().flat_map(move |g| (0..scheme.folds()).map(move |fold| (*g, fold)));
    let coverage_by_size = nested_coverage_pct(folds_of(FoldScheme::Size), LEVEL, |group, fold| {
        match nested[fold].get(group).map_or(Source::Model, least_regret) {
            Source::Model => &size_errors,
            _ => &interpolation_errors,
        }
    });
    let coverage_by_configuration =
        nested_coverage_pct(folds_of(FoldScheme::Configuration), LEVEL, |_, _| &configuration_errors);

    let scores = |scores: &PredictorScores, coverage_90_pct| FoldScores {
        model: scores.score(Source::Model),
        baselines: scores.baselines(),
        coverage_90_pct,
    };
    let deployed = deployments.chosen();
    let evaluation = Evaluation {
        by_size: scores(&by_size, coverage_by_size),
        by_configuration: scores(&by_configuration, coverage_by_configuration),
        by_scale: scores(&by_scale, scale_errors.coverage_across_scales_pct(LEVEL)),
        regret_deployed_mean_pct: deployed::mean_regret(&deployed),
        regret_deployed_nested_mean_pct: deployed::mean_regret(&deployments.nested()),
    };
    let predicted = |scores: &PredictorScores| scores.predicted(Source::Model).to_vec();
    let out_of_fold = predicted(&by_size).into_iter().zip(predicted(&by_configuration)).collect();
    Validation {
        evaluation,
        regret,
        regret_at_scales,
        deployed,
        out_of_fold,
        size_errors,
        configuration_errors,
        interpolation_errors,
        scale_errors,
        interpolated_scale_errors,
        beyond_errors: ExtrapolationErrors::new(sweep),
        gain_errors,
        interpolated_gain_errors,
    }
}
