//! Results in words: the sentences that the page and the terminal say.

use super::{
    aggregate::Point,
    decision::{Decision, KeepReason, words},
    result::{FoldScores, Group, MeasuredBusbw, PredictionSupport, Recommendation, Score, Source},
};
use crate::{
    collective::Workload,
    launch,
    units::{Size, capitalised, count, microseconds, percent, significant},
};

/// The advice that a recommendation gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Its configuration should be deployed.
    Deploy,
    /// The default is at least as fast as anything expected.
    KeepDefault,
    /// Keep the default until its configuration was run.
    MeasureFirst,
    /// Nothing that may run is known.
    Unknown,
}

/// The advice that a recommendation gives.
pub fn advice(recommendation: &Recommendation) -> Advice {
    match recommendation.decision {
        Decision::Unknown => Advice::Unknown,
        Decision::KeepDefault { .. } => Advice::KeepDefault,
        Decision::MeasureFirst => Advice::MeasureFirst,
        Decision::Deploy | Decision::NoDefault => Advice::Deploy,
    }
}

/// The advice in a word or two.
pub const fn advice_word(recommendation: &Recommendation) -> &'static str {
    recommendation.decision.word()
}

/// The answer in one sentence, or two where something is undecided: what to deploy, what to expect of it, and what that
/// is compared with; and to what the prediction is held.
pub fn sentence(recommendation: &Recommendation) -> String {
    let said = advice_sentence(recommendation);
    match &recommendation.held_to {
        Some(held) => said + " " + held,
        None => said,
    }
}

fn advice_sentence(recommendation: &Recommendation) -> String {
    let workload = recommendation.workload;
    let place = format!("{} of {} on {}", workload.collective, Size(workload.size_bytes), workload.scale);
    let Some(choice) = recommendation.configuration else {
        return format!("Nothing that may run is known for {place}: measure it.");
    };
    let expected = recommendation.predicted_busbw_gbps.map_or_else(String::new, |busbw| {
        let how = if recommendation.source == Source::Measured { "measured" } else { "predicted" };
        format!(", {} {how}", speed(&workload, busbw))
    });
    let default = match (recommendation.default, recommendation.default_between_gbps) {
        (Some(default), _) => format!("the default's {}", speed(&workload, default.busbw_gbps)),
        (None, Some(between)) => {
            format!("the {} that its measured sizes let expect of the default here", speed(&workload, between))
        }
        (None, None) => "the default".to_owned(),
    };
    let gain = match (recommendation.gain, recommendation.gain_pct) {
        (Some(gain), _) => format!("{} ({})", percent(gain.pct), words::range(&gain)),
        (None, gain) => gain.map(percent).unwrap_or_default(),
    };
    let reason = match recommendation.decision {
        Decision::Unknown => return format!("Nothing that may run is known for {place}: measure it."),
        Decision::NoDefault => {
            return format!(
                "{choice} is the best known for {place}{expected}; no gain is claimed, for the default was not measured here."
            );
        }
        Decision::Deploy => {
            let within = recommendation.gain.is_none() && default_within_interval(recommendation);
            let within = if within { ", which lies within the interval" } else { "" };
            return format!("Deploy {choice} for {place}{expected}: {gain} over {default}{within}.");
        }
        Decision::MeasureFirst => {
            let promise = if gain.is_empty() { String::new() } else { format!(": {gain} over {default}") };
            return format!(
                "Measure {choice} for {place} before it is deployed{expected}{promise}. This launch would tell, beside one \
                 without the variables: {}",
                launch::command(choice, &workload)
            );
        }
        Decision::KeepDefault { reason } => reason,
    };
    let keep = format!("Keep the default for {place}");
    match reason {
        KeepReason::Same => match recommendation.default {
            Some(default) => format!(
                "{keep}: it runs {} by itself, {} measured{}.",
                default.configuration,
                speed(&workload, default.busbw_gbps),
                if default.configuration == choice { String::new() } else { format!(", and {choice} runs the same") }
            ),
            None => format!("{keep}: it runs {choice} by itself{expected}."),
        },
        KeepReason::NotFaster => {
            let it = match recommendation.default {
                Some(default) => format!("it measured {}", speed(&workload, default.busbw_gbps)),
                None => format!("{default} are enough"),
            };
            format!("{keep}: {it}, and {choice} promises no more{expected}.")
        }
        KeepReason::TooSmall => {
            format!("{keep}: {choice} gains {gain} over {default}, perhaps less than the smallest gain worth a rule.")
        }
        KeepReason::Rounded => format!(
            "{keep}: {choice} promises {gain} over {default}, which the rounding of printed bandwidths may be. Logs with times \
             have more digits."
        ),
        KeepReason::Contradicted => format!(
            "{keep} until it is measured again: {choice} promises {gain} over {default}, but one of the two has a single run, \
             whose times in place and out of place are so far apart that one of them must be wrong. This launch would tell, \
             beside one without the variables: {}",
            launch::command(choice, &workload)
        ),
        KeepReason::OtherState => format!(
            "{keep}: {choice} promises {gain} over {default}, but it was not measured in all the files of the default, which is \
             faster in one of them than in the other. Answer one file at a time."
        ),
        KeepReason::Uncertain => {
            let undecided = words::undecided(recommendation.noise.as_ref());
            let of = if gain.is_empty() { "more".to_owned() } else { gain };
            format!("{keep}: {choice} promises {of} over {default}, which may be noise. {undecided}")
                .trim_end()
                .to_owned()
        }
    }
}

/// How long a measured point takes, and what it is of: `87.1 µs, median of 3 runs, spread 2.1 %`.
pub fn runs_of(point: &Point) -> String {
    let runs = match point.spread_pct {
        Some(spread) => format!("median of {} runs, spread {spread:.1} %", point.repeats),
        None if point.repeats == 1 => "1 run".to_owned(),
        None => format!("median of {} runs", point.repeats),
    };
    match point.workload.time_us(point.busbw_gbps) {
        Some(time_us) => format!("{}, {runs}", microseconds(time_us)),
        None => runs,
    }
}

/// A bus bandwidth and the time that it stands for: `361.2 GB/s (87.1 µs)`.
pub fn speed(workload: &Workload, busbw_gbps: f64) -> String {
    let time = workload.time_us(busbw_gbps).map(|time_us| format!(" ({})", microseconds(time_us)));
    format!("{} GB/s{}", significant(busbw_gbps), time.unwrap_or_default())
}

/// Whether the default's bandwidth lies inside the interval of the recommended one: the gain may be noise.
pub fn default_within_interval(recommendation: &Recommendation) -> bool {
    match (recommendation.interval_90, recommendation.default) {
        (Some(interval), Some(default)) => default.busbw_gbps >= interval.low_gbps,
        _ => false,
    }
}

/// The support in a word.
pub const fn support(support: PredictionSupport) -> &'static str {
    match support {
        PredictionSupport::Measured => "measured",
        PredictionSupport::Interpolated => "interpolated",
        PredictionSupport::Extrapolated => "extrapolated",
    }
}

/// The meaning of a support, in a sentence.
pub const fn support_meaning(support: PredictionSupport) -> &'static str {
    match support {
        PredictionSupport::Measured => "This configuration was measured at this size and scale.",
        PredictionSupport::Interpolated => "This configuration lies between measured sizes and channels of this scale.",
        PredictionSupport::Extrapolated => "This lies outside what was measured: run it before you rely on it.",
    }
}

/// The source of a choice in words.
pub const fn source(source: Source) -> &'static str {
    match source {
        Source::Measured => "best measurement",
        Source::Model => "model",
        Source::LogLinearInterpolation => "log-linear interpolation",
        Source::NearestSize => "nearest size",
        Source::BestSingleConfiguration => "best single configuration",
        Source::Default => "default",
    }
}

/// Who chose, where there is little room.
pub const fn source_in_short(source: Source) -> &'static str {
    match source {
        Source::Measured => "measurement",
        Source::Model => "model",
        Source::LogLinearInterpolation => "interpolation",
        Source::NearestSize => "nearest size",
        Source::BestSingleConfiguration => "best single",
        Source::Default => "default",
    }
}

/// How well a measurement is known: `3 runs, spread 2.1 %`.
pub fn repeats(measured: &MeasuredBusbw) -> String {
    let runs = count(u64::from(measured.repeats), "run");
    match measured.spread_pct {
        Some(spread) => format!("{runs}, spread {spread:.1} %"),
        None => runs,
    }
}

/// A group in a line: `all_reduce on 2 nodes, 16 ranks: 18 sizes, 600 points, default at 18 sizes`.
pub fn group(group: &Group) -> String {
    let default = match group.default_sizes {
        0 => "default not measured".to_owned(),
        sizes => format!("default at {}", count(sizes as u64, "size")),
    };
    let (sizes, points) = (count(group.sizes.len() as u64, "size"), count(group.points as u64, "point"));
    format!("{} on {}: {sizes}, {points}, {default}", group.collective, group.scale)
}

/// Everybody's score in one way of holding out, the model first.
pub fn predictors(scores: &FoldScores) -> [(Source, &Score); 4] {
    [
        (Source::Model, &scores.model),
        (Source::LogLinearInterpolation, &scores.baselines.log_linear_interpolation),
        (Source::NearestSize, &scores.baselines.nearest_size),
        (Source::BestSingleConfiguration, &scores.baselines.best_single_configuration),
    ]
}

/// Whose choices lose the least measured bandwidth; ties go to the model.
pub fn winner(scores: &FoldScores) -> Option<Source> {
    let regrets = predictors(scores).into_iter().filter_map(|(source, score)| Some((source, score.regret_mean_pct?)));
    regrets.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(source, _)| source)
}

/// Who won and why, in a sentence.
pub fn verdict(scores: &FoldScores) -> String {
    let regret_of = |wanted: Source| {
        predictors(scores)
            .into_iter()
            .find(|(source, _)| *source == wanted)
            .and_then(|(_, score)| score.regret_mean_pct)
    };
    let Some((best, lost)) = winner(scores).and_then(|best| Some((best, regret_of(best)?))) else {
        return "Too few points were measured to judge choices: that takes several sizes with two configurations at least."
            .to_owned();
    };
    let others_are_judged = predictors(scores)[1..].iter().any(|(_, score)| score.regret_mean_pct.is_some());
    match (best, regret_of(Source::Model)) {
        (Source::Model, _) if !others_are_judged => {
            format!("The model's choices lose {lost:.1} % of the best on average.")
        }
        (Source::Model, _) => format!("The model's choices lose the least: {lost:.1} % of the best on average."),
        (_, Some(model)) => format!(
            "{}'s choices lose the least: {lost:.1} % of the best on average, the model's {model:.1} %.",
            capitalised(source(best)),
        ),
        (_, None) => {
            format!("{}'s choices lose the least: {lost:.1} % of the best on average.", capitalised(source(best)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        collective::{Algorithm, Collective, Configuration, Protocol, Scale, Workload},
        tuning::{
            decision::{Gain, MoreRuns, Noise, NoiseBasis},
            recommend::measured,
            result::Interval,
        },
    };

    fn recommendation(gain_pct: Option<f64>) -> Recommendation {
        let configuration = Configuration { algorithm: Algorithm::Ring, protocol: Protocol::Ll128, channels: 24 };
        let workload =
            Workload { collective: Collective::AllReduce, scale: Scale { nodes: 2, ranks: 16 }, size_bytes: 16 << 20 };
        let measured = |busbw_gbps| {
            let point = Point::new(workload, configuration, busbw_gbps);
            measured(&Point { repeats: 3, spread_pct: Some(2.14), ..point })
        };
        let decision = match gain_pct {
            None => Decision::NoDefault,
            Some(gain) if gain <= 0.0 => Decision::KeepDefault { reason: KeepReason::NotFaster },
            Some(_) => Decision::Deploy,
        };
        Recommendation {
            configuration: Some(configuration),
            predicted_busbw_gbps: Some(312.44),
            interval_90: Some(Interval { low_gbps: 301.0, high_gbps: 325.0 }),
            measured_best: Some(measured(315.0)),
            default: gain_pct.map(|gain| measured(312.44 / (1.0 + gain / 100.0))),
            gain_pct,
            decision,
            support: PredictionSupport::Measured,
            source: Source::Model,
            ..Recommendation::unknown(workload)
        }
    }

    #[test]
    fn an_answer_names_its_base() {
        assert_eq!(
            sentence(&recommendation(Some(24.3))),
            "Deploy RING/LL128/24 for all_reduce of 16 MiB on 2 nodes, 16 ranks, 312.4 GB/s (100.7 µs) predicted: \
             +24.3 % over the default's 251.4 GB/s (125.1 µs)."
        );
        assert_eq!(
            sentence(&recommendation(Some(1.0))),
            "Deploy RING/LL128/24 for all_reduce of 16 MiB on 2 nodes, 16 ranks, 312.4 GB/s (100.7 µs) predicted: \
             +1.0 % over the default's 309.3 GB/s (101.7 µs), which lies within the interval."
        );
        assert_eq!(
            sentence(&recommendation(None)),
            "RING/LL128/24 is the best known for all_reduce of 16 MiB on 2 nodes, 16 ranks, 312.4 GB/s (100.7 µs) predicted; no gain \
             is claimed, for the default was not measured here."
        );
    }

    #[test]
    fn the_default_can_win() {
        let kept = recommendation(Some(-3.0));
        assert_eq!(advice(&kept), Advice::KeepDefault);
        assert_eq!(
            sentence(&kept),
            "Keep the default for all_reduce of 16 MiB on 2 nodes, 16 ranks: it measured 322.1 GB/s (97.66 µs), and \
             RING/LL128/24 promises no more, 312.4 GB/s (100.7 µs) predicted."
        );
        let uncertain = Recommendation {
            decision: Decision::KeepDefault { reason: KeepReason::Uncertain },
            gain: Some(Gain { pct: 4.7, low_pct: -2.5, high_pct: 10.4, level: 0.9, basis: NoiseBasis::Repeats }),
            noise: Some(Noise {
                spread_pct: 3.0,
                repeats: 3,
                default_repeats: 3,
                visible_gain_pct: 7.0,
                more_runs: MoreRuns::Runs(5),
            }),
            source: Source::Measured,
            ..recommendation(Some(4.7))
        };
        assert_eq!(
            sentence(&uncertain),
            "Keep the default for all_reduce of 16 MiB on 2 nodes, 16 ranks: RING/LL128/24 promises +4.7 % \
             (−2.5 to +10.4 %) over the default's 298.4 GB/s (105.4 µs), which may be noise. About 5 more runs of each would decide."
        );
        let unknown = Recommendation { configuration: None, decision: Decision::Unknown, ..recommendation(None) };
        assert_eq!(advice(&unknown), Advice::Unknown);
        assert!(sentence(&unknown).starts_with("Nothing that may run is known"));
    }

    #[test]
    fn the_verdict_names_the_lowest_regret() {
        let score = |regret| Score { regret_mean_pct: regret, ..Score::default() };
        let mut scores = FoldScores { model: score(Some(1.41)), ..FoldScores::default() };
        assert_eq!(verdict(&scores), "The model's choices lose 1.4 % of the best on average.");
        scores.baselines.nearest_size = score(Some(5.3));
        assert_eq!(verdict(&scores), "The model's choices lose the least: 1.4 % of the best on average.");
        scores.baselines.log_linear_interpolation = score(Some(0.6));
        assert_eq!(winner(&scores), Some(Source::LogLinearInterpolation));
        assert_eq!(
            verdict(&scores),
            "Log-linear interpolation's choices lose the least: 0.6 % of the best on average, the model's 1.4 %."
        );
        assert!(verdict(&FoldScores::default()).starts_with("Too few"));
    }

    #[test]
    fn repeats_are_told_with_their_spread() {
        assert_eq!(repeats(&recommendation(Some(1.0)).measured_best.unwrap()), "3 runs, spread 2.1 %");
    }
}
