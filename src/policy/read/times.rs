//! Lists of times: one number a line, in milliseconds, all of one arm.

use super::{Log, LogForm, MOST_ROWS, PartialKey, Row, name::FileName};
use crate::text::{Lines, Problem, number};

/// Whether the beginning of a text looks like a list of times.
pub fn is_times(head: &str) -> bool {
    // The last line of the beginning may be cut.
    let whole = head.rsplit_once('\n').map_or(head, |(whole, _)| whole);
    let mut lines = whole.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    lines.peek().is_some() && lines.all(|line| number(line).is_some())
}

/// Reads a list of times. Returns an error if most of it can't be read, or it is longer than any list; the error is a
/// sentence without its subject.
pub fn times(lines: &mut Lines<'_>, name: &str) -> Result<Log, String> {
    let name = FileName::parse(name);
    let mut log = Log { form: LogForm::Times, objective: name.objective, name: name.clone(), ..Log::default() };
    log.keys.push(PartialKey { collective: None, scale: name.scale, size_bytes: name.size_bytes, overlap: None });
    let mut seen = 0_u64;
    while let Some(line) = lines.next() {
        let text = line.text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        seen += 1;
        let value = number(text).filter(|value| *value > 0.0);
        let why = match value {
            _ if !line.is_ended => "has no line end: it may be torn; the line was left out",
            None => "is not a positive finite number; the line was left out",
            Some(latency_ms) => {
                let line = u32::try_from(line.number).unwrap_or(u32::MAX);
                log.rows.push(Row {
                    line,
                    key: 0,
                    latency_ms,
                    arm: None,
                    propensity: None,
                    call: None,
                    generation: None,
                });
                continue;
            }
        };
        log.problems.push(Problem::new(line.number, "", text, why));
        if log.rows.len() > MOST_ROWS {
            return Err(format!("has more than {MOST_ROWS} lines"));
        }
    }
    if (log.rows.len() as u64) * 2 < seen {
        let first: Vec<String> = log.problems.kept.iter().take(5).map(ToString::to_string).collect();
        return Err(format!("has {seen} lines of which {} can be read: {}", log.rows.len(), first.join("; ")));
    }
    Ok(log)
}
