//! Means in a delimited table: of episodes, a row each, or of arms, a column each.

use std::collections::BTreeMap;

use super::{
    Log, LogForm, MOST_KEYS, NO_ARM, NO_SPREAD, PartialKey, Row, TOO_MANY_ARMS, TOO_MANY_KEYS, columns::unquoted,
    json::episodes_note, name::FileName, place_of,
};
use crate::{
    bandit::schedule::MAX_ARMS,
    policy::{arm::Arm, result::Objective},
    text::{Column, Entry, Listing, Problem, Records, number},
    units::Size,
};

/// The most rows of a table of means.
const MOST_ROWS: usize = 100_000;

/// Whether headers are those of means of episodes, or of means with a column for each arm.
pub fn is_means(headers: &[String]) -> bool {
    is_episodes(headers) || arms(headers).len() > 1
}

fn is_episodes(headers: &[String]) -> bool {
    ["episode", "arm", "mean_ms"].iter().all(|name| column(headers, name).is_some())
}

fn column(headers: &[String], name: &str) -> Option<usize> {
    headers.iter().position(|header| unquoted(header).eq_ignore_ascii_case(name))
}

/// The columns that are named after arms; empty without a column of `auto` or of sizes.
fn arms(headers: &[String]) -> Vec<usize> {
    let is_arm = |place: &usize| Arm::parse(unquoted(&headers[*place])).is_some();
    let found: Vec<usize> = (0..headers.len()).filter(is_arm).collect();
    let has_auto = found.iter().any(|place| Arm::parse(unquoted(&headers[*place])) == Some(Arm::Auto));
    if has_auto && column(headers, "size").is_some() { found } else { Vec::new() }
}

/// Reads either; the first row has the headers. Returns an error if it is longer than any such table; the error is a
/// sentence without its subject.
pub fn means(records: &mut Records<'_>, name: &str) -> Result<Log, String> {
    let mut headers: Vec<String> = Vec::new();
    let mut rows: Vec<(u64, Vec<String>)> = Vec::new();
    while let Some(record) = records.next() {
        let cells: Vec<String> = record.cells().map(|cell| unquoted(cell).to_owned()).collect();
        if cells.first().is_some_and(|cell| cell.starts_with('#')) {
            continue;
        }
        if headers.is_empty() {
            headers = cells;
            continue;
        }
        rows.push((record.line(), cells));
        if rows.len() > MOST_ROWS {
            return Err(format!("has more than {MOST_ROWS} rows of means"));
        }
    }
    Ok(if is_episodes(&headers) { episodes(&headers, &rows, name) } else { table(&headers, &rows) })
}

/// Reads a table of episodes; each row is one observation of weight 1.
fn episodes(headers: &[String], rows: &[(u64, Vec<String>)], name: &str) -> Log {
    let name = FileName::parse(name);
    let mut log = Log { form: LogForm::Episodes, objective: Objective::Iteration, ..Log::default() };
    let at = |what: &str| column(headers, what);
    let (arm_at, mean_at, episode_at, size_at) = (at("arm"), at("mean_ms"), at("episode"), at("size"));
    let strategy_at = at("strategy").or(at("log"));
    let (mut keys, mut arms) = (BTreeMap::new(), BTreeMap::new());
    for (line, cells) in rows {
        let cell = |at: Option<usize>| at.and_then(|at| cells.get(at)).map_or("", String::as_str);
        let own_size = cell(size_at).parse::<Size>().map(|size| size.0);
        let mut row = || {
            let arm = Arm::parse(cell(arm_at)).ok_or(("arm", arm_at, NO_ARM))?;
            let latency_ms = number(cell(mean_at)).filter(|mean| *mean > 0.0);
            let latency_ms = latency_ms.ok_or(("mean_ms", mean_at, "is not a positive finite number"))?;
            let size_bytes = own_size.as_ref().ok().copied().or(name.size_bytes);
            let key = PartialKey { collective: None, scale: name.scale, size_bytes, overlap: None };
            let key = place_of(&mut keys, &mut log.keys, key, MOST_KEYS).ok_or(("size", size_at, TOO_MANY_KEYS))?;
            let arm = place_of(&mut arms, &mut log.arms, arm, MAX_ARMS).ok_or(("arm", arm_at, TOO_MANY_ARMS))?;
            Ok(Row {
                line: u32::try_from(*line).unwrap_or(u32::MAX),
                key,
                latency_ms,
                arm: Some(arm as u16),
                propensity: None,
                call: cell(episode_at).parse().ok(),
                generation: None,
            })
        };
        match row() {
            Ok(row) => {
                if own_size.is_err() && !cell(size_at).is_empty() {
                    let why = "is not a size, like 64M; the line counts without one";
                    log.problems.push(Problem::new(*line, "size", cell(size_at), why));
                }
                log.rows.push(row);
                log.name_strategy(Some(cell(strategy_at)).filter(|name| !name.is_empty()).unwrap_or("episodes"));
            }
            Err((column, at, why)) => {
                log.problems.push(Problem::new(*line, column, cell(at), format!("{why}; the line was left out")));
            }
        }
    }
    log.notes.push(episodes_note());
    log.name = name;
    log
}

/// A row for each cell, with the arm of its lowest mean.
fn table(headers: &[String], rows: &[(u64, Vec<String>)]) -> Log {
    let arms = arms(headers);
    let is_arm = |at: usize| arms.contains(&at);
    let labels: Vec<usize> = (0..headers.len()).filter(|at| !is_arm(*at)).collect();
    let named = |column: Column, at: usize| Column { name: headers[at].clone().into(), ..column };
    let mut columns: Vec<Column> = labels
        .iter()
        .map(|at| match headers[*at].to_ascii_lowercase().as_str() {
            "size" => Column::numbers("Size", "of the message"),
            _ => named(Column::words("", "as the file names it"), *at),
        })
        .collect();
    columns.push(Column::words("Lowest", "the arm of the lowest value"));
    columns.extend(arms.iter().map(|at| named(Column::numbers("", "in milliseconds, as the file has it"), *at)));
    let mut log = Log { form: LogForm::ArmTable, notes: vec![NO_SPREAD.to_owned()], ..Log::default() };
    let mut shown = Vec::new();
    for (line, cells) in rows {
        let cell = |at: usize| cells.get(at).map_or("", String::as_str);
        let means: Vec<(usize, f64)> = arms.iter().filter_map(|at| Some((*at, number(cell(*at))?))).collect();
        let Some((lowest, _)) = means.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
            let why = "holds no mean of any arm; the line was left out";
            log.problems.push(Problem::new(*line, "", &cells.join(","), why.to_owned()));
            continue;
        };
        let label = |at: &usize| Entry {
            text: cell(*at).to_owned(),
            number: cell(*at).parse::<Size>().ok().map(|size| size.0 as f64),
        };
        let mut row: Vec<Entry> = labels.iter().map(label).collect();
        row.push(Entry::text(headers[*lowest].as_str()));
        row.extend(arms.iter().map(|at| Entry::number(number(cell(*at)), |mean| format!("{mean}"))));
        shown.push(row);
    }
    log.table = Some(Listing { columns, rows: shown });
    log
}
