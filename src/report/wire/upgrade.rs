//! Upgrades reports of older versions to the newest one, version by version.

use serde_json::{Map, Value};

use super::{MARK, WireError, fields};

/// The version that is written.
pub const VERSION: u64 = UPGRADERS.len() as u64 + 1;

/// Upgrades a report of one version to the next.
type Upgrader = fn(&mut Map<String, Value>);

/// The upgraders from version 1 to 2, from 2 to 3, and so on, each with the version that it takes. Golden files of
/// every version are in `tests/samples/reports`.
const UPGRADERS: &[(u64, Upgrader)] = &[];

/// A report of the newest version. Returns an error if it is no report, or one of a newer version.
pub(super) fn to_newest(value: Value) -> Result<Value, WireError> {
    let (version, fields) = fields(value)?;
    if version > VERSION {
        return Err(WireError::Newer(version));
    }
    Ok(Value::Object(upgraded(version, fields, UPGRADERS)))
}

fn upgraded(version: u64, mut fields: Map<String, Value>, upgraders: &[(u64, Upgrader)]) -> Map<String, Value> {
    for (_, upgrade) in upgraders.iter().filter(|(from, _)| *from >= version) {
        upgrade(&mut fields);
    }
    fields.insert(MARK.to_owned(), (upgraders.len() as u64 + 1).into());
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_version_is_left_out() {
        let from: Vec<u64> = UPGRADERS.iter().map(|(from, _)| *from).collect();
        assert_eq!(from, (1..VERSION).collect::<Vec<_>>());
    }

    #[test]
    fn a_report_goes_through_every_step_from_its_own() {
        let steps: [(u64, Upgrader); 2] = [
            (1, |fields| drop(fields.insert("one".to_owned(), true.into()))),
            (2, |fields| drop(fields.insert("two".to_owned(), true.into()))),
        ];
        for (version, names) in [(1, "collectune_report one two"), (2, "collectune_report two"), (3, MARK)] {
            let fields = upgraded(version, Map::new(), &steps);
            assert_eq!(fields[MARK], 3);
            assert_eq!(fields.keys().map(String::as_str).collect::<Vec<_>>().join(" "), names);
        }
    }
}
