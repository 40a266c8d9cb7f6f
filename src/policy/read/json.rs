//! Means of episodes, and tables of arms, as JSON.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Log, LogForm, NO_ARM, NO_SPREAD, PartialKey, Row, TOO_MANY_ARMS, name::FileName, place_of};
use crate::{
    bandit::schedule::MAX_ARMS,
    policy::{arm::Arm, result::Objective},
    text::{Column, Entry, Listing, Problem},
    units::Size,
};

/// Whether a JSON may be one of them; the text is not parsed for it.
pub fn is_json(text: &str) -> bool {
    (text.contains("\"mean_ms\"") && (text.contains("\"arm_idx\"") || text.contains("\"arm\"")))
        || (text.contains("\"auto\"") && (text.contains("\"tree_") || text.contains("\"ring_")))
}

/// Reads means of episodes or a table of arms; `None` where a JSON is neither.
pub fn json(value: &Value, name: &str) -> Option<Log> {
    let mut log = match value {
        Value::Array(items) if items.iter().any(|item| item.get("arm_idx").is_some()) => episodes(items),
        Value::Array(items) if items.iter().any(|item| item.get("arm").is_some() && item.get("mean_ms").is_some()) => {
            listed(items)
        }
        Value::Object(_) => nested(value)?,
        _ => return None,
    };
    log.name = FileName::parse(name);
    if let [key] = &mut log.keys[..] {
        (key.size_bytes, key.scale) = (log.name.size_bytes, log.name.scale);
    }
    Some(log)
}

/// `{episode, arm_idx, arm_label, mean_ms}`: each is one observation of weight 1.
fn episodes(items: &[Value]) -> Log {
    let mut log = Log { form: LogForm::Episodes, objective: Objective::Iteration, ..Log::default() };
    log.keys.push(PartialKey { collective: None, scale: None, size_bytes: None, overlap: None });
    let mut arms = BTreeMap::new();
    for (index, item) in (1_u32..).zip(items) {
        let label = item.get("arm_label").and_then(Value::as_str).unwrap_or_default();
        let latency = item.get("mean_ms").and_then(Value::as_f64).filter(|value| *value > 0.0 && value.is_finite());
        let problem = |column: &str, text: &str, why: &str| {
            Problem::new(u64::from(index), column, text, format!("{why}; the episode was left out"))
        };
        let Some(latency_ms) = latency else {
            let text = item.get("mean_ms").map(ToString::to_string).unwrap_or_default();
            log.problems.push(problem("mean_ms", &text, "is not a positive finite number"));
            continue;
        };
        let Some(arm) = Arm::parse(label) else {
            log.problems.push(problem("arm_label", label, NO_ARM));
            continue;
        };
        let Some(arm) = place_of(&mut arms, &mut log.arms, arm, MAX_ARMS) else {
            log.problems.push(problem("arm_label", label, TOO_MANY_ARMS));
            continue;
        };
        log.rows.push(Row {
            line: index,
            key: 0,
            latency_ms,
            arm: Some(arm as u16),
            propensity: None,
            call: item.get("episode").and_then(Value::as_u64),
            generation: None,
        });
    }
    log.notes.push(episodes_note());
    log.strategies.push("episodes".to_owned());
    log
}

/// The note on tables of means of episodes.
pub(super) fn episodes_note() -> String {
    "Each episode is a mean over an unknown number of iterations and counts as one observation; an adaptive strategy chose \
     the arms"
        .to_owned()
}

/// Reads a list of `{arm, count, mean_ms}`, the means of arms without their key.
fn listed(items: &[Value]) -> Log {
    let row = |item: &Value| {
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |name: &str| item.get(name).and_then(Value::as_f64);
        vec![
            Entry::text(text("arm")),
            Entry::number(number("count"), |count| format!("{count}")),
            Entry::number(number("mean_ms"), |mean| format!("{mean}")),
        ]
    };
    let columns = vec![
        Column::words("Arm", "as the file names it"),
        Column::numbers("Count", "measurements"),
        Column::numbers("Mean", "in milliseconds"),
    ];
    of_table(Listing { columns, rows: items.iter().map(row).collect() })
}

/// Mode → size → arm → milliseconds, with a winner per cell.
fn nested(value: &Value) -> Option<Log> {
    let mut rows = Vec::new();
    for (mode, sizes) in value.as_object()? {
        for (size, arms) in sizes.as_object()? {
            let bytes = size.parse::<Size>().ok();
            let arms: Vec<(&String, f64)> =
                arms.as_object()?.iter().filter_map(|(arm, mean)| Some((arm, mean.as_f64()?))).collect();
            let best =
                arms.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(arm, _)| Arm::parse(arm).is_some());
            let (winner, least) = best?;
            let auto = arms.iter().find(|(arm, _)| Arm::parse(arm) == Some(Arm::Auto)).map(|(_, mean)| *mean);
            rows.push(vec![
                Entry::text(mode.as_str()),
                Entry { text: size.clone(), number: bytes.map(|size| size.0 as f64) },
                Entry::text(winner.as_str()),
                Entry::number(Some(least), |mean| format!("{mean}")),
                Entry::number(auto, |mean| format!("{mean}")),
            ]);
        }
    }
    let columns = vec![
        Column::words("Mode", "as the file names it"),
        Column::numbers("Size", "of the message"),
        Column::words("Lowest", "the arm with the lowest mean"),
        Column::numbers("Its mean", "in milliseconds"),
        Column::numbers("auto", "mean of the library's choice, in milliseconds"),
    ];
    (!rows.is_empty()).then(|| of_table(Listing { columns, rows }))
}

fn of_table(table: Listing) -> Log {
    Log { form: LogForm::ArmTable, table: Some(table), notes: vec![NO_SPREAD.to_owned()], ..Log::default() }
}
