//! The choice of the model to use, with its reasons in words.

use super::{
    models::Kind,
    result::{ModelScores, Verdict},
};
use crate::bandit::statistics::Statistics;

/// A model that misses durations by more than this on average, in per cent, is not recommended without a warning.
const MOST_ERROR_PCT: f64 = 50.0;

/// How many standard deviations over the repeats a difference of errors must have: the folds follow the order of the
/// rows, and smaller ones change sides when rows change places.
const CLEAR: f64 = 2.0;

/// Compares the models by their mean error of durations. A model that learns is preferred to the best that needs no
/// learning only where it clearly errs less; so is the latter to no slowdown at all. `None` before there are scores.
pub fn verdict(scores: &[ModelScores]) -> Option<Verdict> {
    let of = |kind: Kind| scores.iter().find(|scores| scores.kind == kind && scores.mean.is_some());
    let mape = |scores: &ModelScores| scores.mean.map_or(f64::INFINITY, |mean| mean.mape_pct);
    let best = |learns: bool| {
        let candidates = scores.iter().filter(|scores| scores.kind.learns() == learns && scores.mean.is_some());
        candidates.reduce(|best, next| if mape(next) < mape(best) { next } else { best })
    };
    let none = of(Kind::NoSlowdown)?;
    if scores.iter().all(|scores| scores.is_impossible || scores.kind == Kind::NoSlowdown) {
        let sentence = format!(
            "Nothing can be compared: when kernels are held out, too few that differ from them are left to learn from. No \
             slowdown at all misses durations by {:.1} % on average.",
            mape(none)
        );
        return Some(Verdict { model: Kind::NoSlowdown, is_compared: false, sentences: vec![sentence] });
    }
    let trivial = best(false).filter(|trivial| beats(trivial, none)).unwrap_or(none);
    let learnt = best(true);
    let winner = learnt.filter(|learnt| beats(learnt, trivial)).unwrap_or(trivial);
    let title = |scores: &ModelScores| lowercase_first(scores.kind.title());
    let error = |scores: &ModelScores| {
        let (mean, spread) = (mape(scores), scores.spread.map_or(0.0, |spread| spread.mape_pct));
        if spread >= 0.05 { format!("{mean:.1} ± {spread:.1} %") } else { format!("{mean:.1} %") }
    };
    let mut sentences = Vec::new();
    let against: Vec<String> = [trivial, none]
        .iter()
        .enumerate()
        .filter(|(index, other)| other.kind != winner.kind && (*index == 0 || other.kind != trivial.kind))
        .map(|(_, other)| format!("{} by {}", title(other), error(other)))
        .collect();
    match (winner.kind == none.kind, against.is_empty()) {
        (true, _) => sentences.push(format!(
            "No model beats no slowdown at all, which misses durations by {} on average: use the durations alone.",
            error(none)
        )),
        (false, _) => sentences.push(format!(
            "Use {}: on kernels that it has not seen it misses durations by {} on average, {}.",
            title(winner),
            error(winner),
            against.join(", ")
        )),
    }
    if mape(winner) > MOST_ERROR_PCT {
        sentences.insert(
            0,
            "No model is fit for use here: the best one misses durations by more than half. Durations in mixed units do that."
                .to_owned(),
        );
    }
    if let Some(learnt) = learnt.filter(|learnt| learnt.kind != winner.kind) {
        sentences.push(format!(
            "Learning does not help here: {}, the best model that learns, misses by {} and is not clearly better.",
            title(learnt),
            error(learnt)
        ));
    }
    let mean = winner.mean.unwrap_or_default();
    let more_within =
        scores.iter().filter(|other| !other.kind.learns() && other.kind != winner.kind).filter_map(|other| {
            let share = other.mean?.within_5_pct;
            (share > mean.within_5_pct).then_some((other, share))
        });
    let closest = more_within.reduce(|best, next| if next.1 > best.1 { next } else { best });
    sentences.push(match closest {
        Some((other, share)) => format!(
            "It has {:.0} % of the kernels within 5 %, fewer than {}, which has {share:.0} %.",
            mean.within_5_pct,
            title(other)
        ),
        None => format!(
            "It has {:.0} % of the kernels within 5 %, and {:.0} % within 15 %.",
            mean.within_5_pct, mean.within_15_pct
        ),
    });
    if let (Some(unseen), Some(none)) = (winner.unseen_names, none.unseen_names)
        && winner.kind != Kind::NoSlowdown
    {
        let how = if unseen.mape_pct < none.mape_pct { "still better than" } else { "no better than" };
        sentences.push(format!(
            "For kernels of a name that was never measured it misses by {:.1} %, {how} no slowdown at all ({:.1} %).",
            unseen.mape_pct, none.mape_pct
        ));
    }
    Some(Verdict { model: winner.kind, is_compared: true, sentences })
}

/// Whether a model errs less than another in every repeat, and on average by more than the repeats differ.
fn beats(model: &ModelScores, other: &ModelScores) -> bool {
    if model.repeats.len() != other.repeats.len() {
        return false;
    }
    let less: Vec<f64> = model.repeats.iter().zip(&other.repeats).map(|(a, b)| b.mape_pct - a.mape_pct).collect();
    let all = Statistics::of(&less);
    less.iter().all(|less| *less > 0.0) && all.mean > CLEAR * all.deviation()
}

fn lowercase_first(title: &str) -> String {
    let mut letters = title.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + letters.as_str())
}
