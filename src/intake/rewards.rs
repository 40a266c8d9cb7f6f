//! Opens reward logs: which arm ran, and how long it took.

use super::{
    Outcome,
    opened::{FileContent, Result, broken, fatal},
};
use crate::{
    policy::read::{self, Log, LogForm},
    text::{Lines, Records},
    units::{count, grouped},
};

/// Reads a log of delimited records; `is_own` where this program wrote it.
pub(super) fn table(records: &mut Records<'_>, name: &str, is_own: bool) -> Result<(Outcome, FileContent)> {
    let log = read::rows(records, name, is_own);
    let broken = broken(records.error(), records.line())?;
    Ok(opened(log?, broken))
}

/// Reads a table of means.
pub(super) fn means(records: &mut Records<'_>, name: &str) -> Result<(Outcome, FileContent)> {
    let log = read::means(records, name)?;
    match records.error().and_then(fatal) {
        Some(why) => Err(why),
        None if log.rows.is_empty() && log.table.as_ref().is_none_or(|table| table.rows.is_empty()) => {
            Err("is a table of means without a row that can be read".to_owned())
        }
        None => Ok(opened(log, None)),
    }
}

/// Reads a list of times.
pub(super) fn times(lines: &mut Lines<'_>, name: &str) -> Result<(Outcome, FileContent)> {
    let log = read::times(lines, name);
    let broken = broken(lines.error(), lines.number())?;
    Ok(opened(log?, broken))
}

/// Reads means of episodes or a table of arms; `None` where a JSON is neither.
pub(super) fn json(text: &str, name: &str) -> Option<Result<(Outcome, FileContent)>> {
    if !read::is_json(text) {
        return None;
    }
    let value = serde_json::from_str(text).ok()?;
    read::json(&value, name).map(|log| Ok(opened(log, None)))
}

/// Reads a policy file or the record of an epoch.
pub(super) fn policy(text: &str) -> Result<(Outcome, FileContent)> {
    read::policy(text).map(|log| opened(log, None)).map_err(|error| error.to_string())
}

fn opened(mut log: Log, broken: Option<String>) -> (Outcome, FileContent) {
    let rows = log.rows.len() as u64;
    let holds = match (log.form, &log.table) {
        (LogForm::Policy, Some(table)) => count(table.rows.len() as u64, "key"),
        (LogForm::ArmTable, Some(table)) => count(table.rows.len() as u64, "cell"),
        (LogForm::Episodes, _) => count(rows, "episode"),
        _ if log.keys.len() > 1 => format!("{} lines of {} keys", grouped(rows), log.keys.len()),
        _ => count(rows, "line"),
    };
    let notes = broken.into_iter().chain(log.notes.iter().cloned()).collect();
    let outcome = Outcome::known(log.form.words(), holds, std::mem::take(&mut log.problems), notes);
    (outcome, FileContent::Rewards(Box::new(log)))
}
