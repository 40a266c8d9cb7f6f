//! What nccl-tests writes with `-J` (src/util.cu, versions 2 and 3), and rccl-tests with `-Z json`. A run that was cut
//! off leaves open brackets: what is whole is read.

use serde_json::Value;

use super::{
    SweepLog,
    reported::{ReportedRuns, reported},
    run::LoggedRun,
    table::{Printed, TableDataType, TableRow, redop},
};
use crate::{
    collective::Collective,
    text::{Problem, number},
    tuning::origin::Launches,
};

/// A JSON text that holds no measurements.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Nothing whole stands in it.
    #[error("begins like JSON, but is none: {0}")]
    Broken(String),
    /// The JSON is of another kind.
    #[error("is JSON, but neither what nccl-tests or rccl-tests write nor a model that was saved here")]
    Unknown,
    /// The JSON is an execution plan of MSCCL++.
    #[error("is an execution plan of MSCCL++, which is not read here; schedules of MSCCL (XML) are")]
    MscclppPlan,
}

/// Reads a JSON text. Fails if it is no JSON, or not of a form that these programs write.
pub fn read_json(text: &str) -> Result<SweepLog, JsonError> {
    let (value, is_cut) = match serde_json::from_str::<Value>(text) {
        Ok(value) => (value, false),
        Err(error) => {
            let mended = mended(text).and_then(|text| serde_json::from_str(&text).ok());
            (mended.ok_or_else(|| JsonError::Broken(error.to_string()))?, true)
        }
    };
    let mut log = match &value {
        Value::Array(records) if records.iter().any(|record| record.get("busBw").is_some()) => of_rccl_tests(records),
        Value::Object(_) if value.get("results").is_some_and(Value::is_array) => of_nccl_tests(&value),
        Value::Object(_) if is_mscclpp_plan(&value) => return Err(JsonError::MscclppPlan),
        _ if is_cut => return Err(JsonError::Broken("it breaks off before the first measurement".to_owned())),
        _ => return Err(JsonError::Unknown),
    };
    log.cut_runs += u64::from(is_cut);
    Ok(log)
}

/// Whether it lists what the thread blocks of each GPU do.
fn is_mscclpp_plan(value: &Value) -> bool {
    let gpus = value.get("gpus").and_then(Value::as_array);
    gpus.is_some_and(|gpus| gpus.iter().any(|gpu| gpu.get("threadblocks").is_some()))
}

/// The text up to the last record that is whole, with its brackets closed.
fn mended(text: &str) -> Option<String> {
    let mut open = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    let mut whole = None;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                if open.pop() != Some(byte) {
                    break;
                }
                // A record of a list, or a list: what follows can be left out.
                if open.len() <= 2 {
                    whole = Some((at + 1, open.clone()));
                }
            }
            _ => {}
        }
    }
    let (end, open) = whole?;
    let mut text = text.get(..end)?.to_owned();
    text.extend(open.iter().rev().map(|byte| char::from(*byte)));
    Some(text)
}

fn count(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

/// A number; NaN is written as a string.
fn float(value: &Value, key: &str) -> Option<f64> {
    match value.get(key)? {
        Value::String(text) => number(text),
        value => value.as_f64().filter(|n| n.is_finite()),
    }
}

fn of_nccl_tests(value: &Value) -> SweepLog {
    let mut log = SweepLog::default();
    let mut run = LoggedRun { line: 1, ..LoggedRun::default() };
    let strings = |key: &str| {
        let list = value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(Value::as_str)
    };
    run.collective = strings("args").next().and_then(|program| Collective::parse(program.rsplit('/').next()?));
    for variable in strings("env") {
        if variable.starts_with("NCCL_") {
            run.settings.take(variable);
        }
        run.settings.show();
        run.is_whole_environment = true;
    }
    run.library = count(value, "nccl_version").map(version);
    if let Some(config) = value.get("config") {
        log.cold_runs += u64::from(count(config, "warmup_iters") == Some(0));
        run.timing = [&["warmup_iters"][..], &["iterations", "iters"], &["ngpus"]]
            .map(|keys| keys.iter().find_map(|key| count(config, key)));
        let is_set = |key: &str| config.get(key).is_some_and(|value| value.as_str() == Some("true") || *value == true);
        run.launches = Launches {
            graph: count(config, "graph"),
            aggregated: count(config, "aggregated_iterations").or_else(|| count(config, "agg_iters")),
            // Which of the modes it is, the file does not say.
            blocking: is_set("blocking_collectives").into(),
            unaligned: count(config, "unalign").unwrap_or(0),
            registered: Launches::registration(strings("args")),
            ..Launches::default()
        };
        let [threads, gpus] = [["nthreads", "threads"], ["ngpus", "gpus"]]
            .map(|keys| keys.iter().find_map(|key| count(config, key)).unwrap_or(1).clamp(1, 1024) as u32);
        for device in config.get("devices").and_then(Value::as_array).into_iter().flatten() {
            let number = |key| count(device, key).and_then(|n| u32::try_from(n).ok());
            if let (Some(rank), Some(host)) = (number("rank"), device.get("hostname").and_then(Value::as_str)) {
                let pid = number("pid").map(|pid| pid.to_string()).unwrap_or_default();
                let name = device.get("device_info").and_then(Value::as_str).unwrap_or_default();
                // Of a process only the first device is listed, whatever it drives.
                let is_first = rank.is_multiple_of(threads * gpus);
                for rank in rank..rank.saturating_add(if is_first { threads * gpus } else { 1 }) {
                    run.devices.add(rank, number("group").unwrap_or(0), host, &pid, name);
                }
            }
        }
    }
    let results = value.get("results").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (index, result) in results.iter().enumerate() {
        let record = index as u64 + 1;
        match measured(result, record) {
            Ok((row, is_cpu)) => {
                run.cpu_time |= is_cpu;
                run.rows.push(row);
            }
            Err((column, expected)) => {
                let text = result.get(column).map(Value::to_string).unwrap_or_default();
                let expected = format!("{expected}; the result was left out");
                log.problems.push(Problem::new(record, &format!("results[{index}].{column}"), &text, expected));
            }
        }
    }
    run.failed =
        value.get("out_of_bounds").and_then(|bounds| bounds.get("okay")).and_then(Value::as_str) == Some("false");
    log.runs.push(run);
    log
}

/// NCCL's version by its code: `22606` is 2.26.6.
pub(super) fn version(code: u64) -> String {
    if code < 10_000 {
        format!("{}.{}.{}", code / 1000, code / 100 % 10, code % 100)
    } else {
        format!("{}.{}.{}", code / 10_000, code / 100 % 100, code % 100)
    }
}

/// One result, and whether its times are those of the CPU. The error is the key and what is wrong with its value.
fn measured(result: &Value, line: u64) -> Result<(TableRow, bool), (&'static str, &'static str)> {
    let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut is_cpu = false;
    let mut printed = |key: &'static str| match result.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(cell) => {
            is_cpu |= cell.get("cpu_time").is_some();
            let time = float(cell, "time").or_else(|| float(cell, "cpu_time"));
            match (time, float(cell, "alg_bw"), float(cell, "bus_bw")) {
                (Some(time_us), Some(algbw_gbps), Some(busbw_gbps)) => {
                    Ok(Some(Printed { time_us, algbw_gbps, busbw_gbps, wrong: float(cell, "nwrong") }))
                }
                _ => Err((key, "has no time and bandwidths")),
            }
        }
    };
    let (out_of_place, in_place) = (printed("out_of_place")?, printed("in_place")?);
    // It stands there as a number or as a text with blanks; a collective without a root has -1.
    let root = count(result, "root").or_else(|| text("root").trim().parse().ok());
    let row = TableRow {
        line,
        size_bytes: count(result, "size").filter(|n| *n <= 1 << 53).ok_or(("size", "is not a size in bytes"))?,
        count: count(result, "count").ok_or(("count", "is not a number of elements"))?,
        datatype: TableDataType::parse(text("type")).ok_or(("type", "is not a data type"))?,
        redop: redop(text("redop")),
        root: root.and_then(|rank| u32::try_from(rank).ok()),
        in_place,
        out_of_place,
        planned: None,
        wrapped: false,
        warp_speed: false,
    };
    if in_place.is_none() && out_of_place.is_none() {
        return Err(("in_place", "is no measurement, and the result has no other"));
    }
    Ok((row, is_cpu))
}

fn of_rccl_tests(records: &[Value]) -> SweepLog {
    const KEYS: [&str; 13] = [
        "collective",
        "name",
        "nodes",
        "ranks",
        "gpus",
        "size",
        "type",
        "redop",
        "inPlace",
        "time",
        "algBw",
        "busBw",
        "wrong",
    ];
    let mut reports = ReportedRuns::default();
    for (index, record) in records.iter().enumerate() {
        let line = index as u64 + 1;
        let cells = KEYS.map(|key| match record.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(value) => Some(value.to_string()),
        });
        match reported(|index| cells[index].as_deref()) {
            Ok(reported) => reports.add(line, &reported),
            Err((key, expected)) => {
                let text = cells[key].as_deref().unwrap_or_default();
                let expected = format!("{expected}; the record was left out");
                reports.log.problems.push(Problem::new(line, &format!("[{index}].{}", KEYS[key]), text, expected));
            }
        }
    }
    reports.log.is_rccl = true;
    reports.log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_of_mscclpp_is_named() {
        let plan = r#"{"name": "allreduce", "protocol": "LL", "gpus": [{"id": 0, "threadblocks": []}]}"#;
        assert_eq!(read_json(plan).err(), Some(JsonError::MscclppPlan));
        assert_eq!(read_json(r#"{"gpus": [1]}"#).err(), Some(JsonError::Unknown));
    }
}
