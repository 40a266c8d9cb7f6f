//! A judged comparison as tables and a chart.

use super::{
    read::MeasuredCampaign,
    verdict::{AbJudgement, JudgedRule, SizeEffect},
};
use crate::{
    collective::Collective,
    order::CompactSort,
    plot::{Axis, Chart, Colour, Mark, Point, Quantity, Series, Spacing},
    text::{Column, Entry, Listing},
    units::{Size, from_to_microseconds, percent, significant},
};

const TIME: &str = "Time";

fn interval(ends: Option<(f64, f64)>) -> Entry {
    match ends {
        Some((low, high)) => Entry { text: format!("{} to {}", percent(low), percent(high)), number: Some(low) },
        None => Entry::text("too few runs"),
    }
}

fn probability(value: f64) -> Entry {
    Entry { text: if value > 0.9995 { "> 0.999".to_owned() } else { format!("{value:.3}") }, number: Some(value) }
}

/// The table of judged rules, a row for each.
pub fn by_rule(rules: &[JudgedRule]) -> Listing {
    let columns = vec![
        Column::words("Rule", "the rule as it stands in the tuner file"),
        Column::numbers(
            "Gain",
            "geometric mean over its sizes of median conf over median default, in per cent of the default",
        ),
        Column::numbers("Least", "gain of its worst size, in per cent of the default"),
        Column::numbers("Most", "gain of its best size, in per cent of the default").secondary(),
        Column::numbers("Better", "probability that it is better than the default over its sizes"),
        Column::words("Verdict", "keep or drop"),
        Column::words("Reason", "why it is dropped"),
        Column::words("rccl-sweep", "the verdict of rccl-sweep's validate_tuner_config.py").secondary(),
        Column::words("Note", "what else must be known"),
    ];
    let row = |judged: &JudgedRule| {
        let gains = || judged.effects.iter().map(|effect| effect.gain_pct);
        let name = match (&judged.rule.text[..], judged.rule.min_bytes, judged.rule.max_bytes) {
            ("", min, max) if min == max => Size(min).to_string(),
            (text, ..) => text.to_owned(),
        };
        let peers = match judged.peers.reason() {
            "" => judged.peers.word().to_owned(),
            reason => format!("{}: {reason}", judged.peers.word()),
        };
        vec![
            Entry::text(name),
            Entry::number(judged.gain_pct, percent),
            Entry::number(gains().reduce(f64::min), percent),
            Entry::number(gains().reduce(f64::max), percent),
            if judged.effects.is_empty() { Entry::default() } else { probability(judged.better) },
            Entry::text(judged.verdict.word()),
            Entry::text(judged.verdict.reason()),
            Entry::text(peers),
            Entry::text(judged.notes.join("; ")),
        ]
    };
    Listing { columns, rows: rules.iter().map(row).collect() }
}

/// The table of measured sizes, a row for each.
pub fn by_size(campaign: &MeasuredCampaign, collective: Option<Collective>, judgement: &AbJudgement) -> Listing {
    let columns = vec![
        Column::numbers("Size", "message size"),
        Column::numbers("Default", "median busbw of the default, GB/s"),
        Column::numbers("Conf", "median busbw with the tuner file, GB/s"),
        Column::numbers(TIME, "time of one operation of the default, and with the tuner file, in microseconds"),
        Column::numbers("Gain", "median conf over median default, in per cent of the default"),
        Column::words("90 %", "where the gain lies with nine chances of ten, rounding of the printed digits included"),
        Column::numbers("psup", "share of pairs of runs in which the tuner file is faster").secondary(),
        Column::numbers("Better", "probability that it is faster"),
        Column::words("Runs", "runs of the default and with the tuner file").secondary(),
        Column::words("Ran", "what the default ran, and what ran with the tuner file"),
    ];
    let effect = |size_bytes: u64, nodes: Option<u32>| {
        let of_rules = judgement.rules.iter().filter(|judged| judged.rule.nodes.zip(nodes).is_none_or(|(a, b)| a == b));
        of_rules.flat_map(|judged| &judged.effects).find(|effect| effect.size_bytes == size_bytes)
    };
    let rows = campaign.trials.iter().map(|trial| {
        let effect: Option<&SizeEffect> = effect(trial.size_bytes, trial.nodes);
        let medians = trial.medians();
        let [default_us, conf_us] = campaign.times_us(collective, trial);
        let ran = [trial.default_ran, trial.conf_ran].map(|ran| ran.map_or_else(|| "–".to_owned(), |c| c.to_string()));
        vec![
            Entry::size(trial.size_bytes),
            Entry::number(medians.map(|(default, _)| default), significant),
            Entry::number(medians.map(|(_, conf)| conf), significant),
            Entry {
                text: from_to_microseconds(default_us, conf_us).unwrap_or_default(),
                number: conf_us.or(default_us),
            },
            Entry::number(trial.gain_pct(), percent),
            effect.map(|effect| interval(effect.interval_90_pct)).unwrap_or_default(),
            Entry::number(trial.psup(), |psup| format!("{psup:.3}")),
            effect.map(|effect| probability(effect.better)).unwrap_or_default(),
            Entry::text(format!("{} + {}", trial.default.len(), trial.conf.len())),
            Entry::text(if ran == ["–", "–"] { String::new() } else { ran.join(" → ") }),
        ]
    });
    let mut listing = Listing { columns, rows: rows.collect() };
    if campaign.trials.iter().all(|trial| campaign.times_us(collective, trial) == [None; 2]) {
        listing.hide(TIME);
    }
    listing
}

/// Gain over size, with intervals; `None` where there is none.
pub fn chart(judgement: &AbJudgement) -> Option<Chart> {
    let mut effects: Vec<&SizeEffect> = judgement.rules.iter().flat_map(|judged| &judged.effects).collect();
    effects.compact_sort_by_key(|effect| effect.size_bytes);
    let point = |effect: &&SizeEffect| Point {
        low: effect.interval_90_pct.map(|(low, _)| low),
        high: effect.interval_90_pct.map(|(_, high)| high),
        ..Point::new(
            effect.size_bytes as f64,
            effect.gain_pct,
            format!("better with a probability of {:.3}", effect.better),
        )
    };
    let best = effects.iter().max_by(|a, b| a.gain_pct.total_cmp(&b.gain_pct))?;
    let worst = effects.iter().min_by(|a, b| a.gain_pct.total_cmp(&b.gain_pct))?;
    let zero = |effect: &&SizeEffect| Point::new(effect.size_bytes as f64, 0.0, "the default".to_owned());
    Some(Chart {
        id: "gain-over-size".to_owned(),
        title: "Gain of the tuner file over the default".to_owned(),
        summary: format!(
            "The tuner file gains {} at {} at best and {} at {} at worst.",
            percent(best.gain_pct),
            Size(best.size_bytes),
            percent(worst.gain_pct),
            Size(worst.size_bytes)
        ),
        x: Axis::new("Message size", Quantity::Bytes, Spacing::Logarithmic),
        y: Axis::new("Gain", Quantity::Percent, Spacing::Linear),
        series: vec![
            Series::new("Default", Colour::Default, Mark::Dashed, effects.iter().map(zero).collect()),
            Series::new("Tuner file", Colour::Answer, Mark::Whiskers, effects.iter().map(point).collect()),
        ],
    })
}
