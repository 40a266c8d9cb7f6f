//! Reads JSON lists of records as tables.

use serde_json::Value;

use crate::overlap::sheet::{Sheet, TooLong};

/// The reason why a JSON text is no table of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// The records have more different keys than are allowed.
    #[error("has records with more than {MOST} different keys")]
    TooWide,
    /// The text is too long.
    #[error(transparent)]
    TooLong(#[from] TooLong),
}

/// The most different keys of records.
const MOST: usize = 1024;

/// The table of a list of records, or of an object with one list of records; `None` where the text holds no records. A
/// record's line is its place in the list, from 1. Returns an error if the text or its number of keys exceeds the
/// limits.
pub fn sheet(value: &Value) -> Result<Option<Sheet>, JsonError> {
    let is_records = |list: &[Value]| !list.is_empty() && list.iter().all(Value::is_object);
    let lists = match value {
        Value::Array(list) => vec![list],
        Value::Object(members) => members.values().filter_map(Value::as_array).collect(),
        _ => Vec::new(),
    };
    let Some(records) = lists.into_iter().find(|list| is_records(list)) else { return Ok(None) };
    let mut headers: Vec<String> = Vec::new();
    for key in records.iter().filter_map(Value::as_object).flat_map(|record| record.keys()) {
        if !headers.contains(key) {
            headers.push(key.clone());
        }
        if headers.len() > MOST {
            return Err(JsonError::TooWide);
        }
    }
    let mut sheet = Sheet::new(headers.clone());
    for (line, record) in (1..).zip(records) {
        let cells: Vec<String> = headers.iter().map(|header| text(record.get(header))).collect();
        sheet.push(line, cells.iter().map(String::as_str))?;
    }
    Ok(Some(sheet))
}

fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}
