//! Reads measured steps, and all-reduce tables as nccl-tests prints them.

use super::{
    super::{
        run::Recompute,
        steps::{MeasuredStep, ReduceTable, StatedProperties, StepTable},
    },
    headers::{MORE, REDUCE, STEPS, find},
    name,
    samples::{place, problem, rows},
};
use crate::{
    order::CompactSort,
    text::{Problem, Problems, Record, Records, is_missing, number, whole},
};

/// Reads measured steps, after the header.
pub(super) fn steps(
    records: &mut Records<'_>,
    headers: &[String],
    path: &str,
    problems: &mut Problems,
) -> Result<StepTable, String> {
    let mut columns = [0; STEPS.len()];
    for (column, name) in columns.iter_mut().zip(STEPS) {
        *column = find(headers, name).ok_or_else(|| format!("lacks {name}"))?;
    }
    let more = MORE.map(|names| names.iter().find_map(|name| find(headers, name)));
    let mut table = StepTable { name: name::leaf(path).to_owned(), ..StepTable::default() };
    rows(records, headers, problems, |record| {
        table.steps.push(step(record, headers, &columns, &more)?);
        Ok(())
    })?;
    table.suspicion = suspicion(&table.steps);
    Ok(table)
}

fn step(
    record: Record<'_>,
    headers: &[String],
    columns: &[usize; STEPS.len()],
    more: &[Option<usize>; MORE.len()],
) -> Result<MeasuredStep, Problem> {
    let line = record.line();
    let cell = |column: usize| record.get(column).unwrap_or_default();
    let problem = |column: usize, expected: &str| problem(record, headers, column, expected);
    let count = |column: usize| {
        let value = whole(cell(column)).filter(|value| *value >= 1).and_then(|value| u32::try_from(value).ok());
        value.ok_or_else(|| problem(column, "is not a whole number of at least 1"))
    };
    let mut counts = [0; STEPS.len() - 1];
    for (value, column) in counts.iter_mut().zip(columns) {
        *value = count(*column)?;
    }
    let [gpus, global_batch, micro_batch, hidden, heads, layers, sequence, tensor, data, pipeline] = counts;
    let time = columns[STEPS.len() - 1];
    let time_ms = number(cell(time)).filter(|time| *time > 0.0);
    let time_ms = time_ms.ok_or_else(|| problem(time, "is not a time above zero"))?;
    let product = u64::from(tensor) * u64::from(data) * u64::from(pipeline);
    if product != u64::from(gpus) {
        return Err(problem(columns[0], &format!("is not tensor·data·pipeline = {product}")));
    }
    let replicas = u64::from(micro_batch) * u64::from(data);
    if u64::from(global_batch) % replicas != 0 {
        return Err(problem(columns[1], &format!("is not divisible by micro batch·data = {replicas}")));
    }
    let [
        billions,
        recompute,
        sequence_parallel,
        virtual_stages,
        vocabulary,
        architecture,
        attention,
        ffn,
        kv_heads,
        zero,
    ] = more
        .map(|column| column.filter(|column| !is_missing(cell(*column)) || cell(*column).eq_ignore_ascii_case("none")));
    let again = match recompute {
        None => None,
        Some(column) => Some(match cell(column).to_ascii_lowercase().as_str() {
            "full" => Recompute::Full,
            "selective" => Recompute::Selective,
            "none" => Recompute::None,
            _ => return Err(problem(column, "is not full, selective or none")),
        }),
    };
    Ok(MeasuredStep {
        billions: billions.and_then(|column| number(cell(column))),
        gpus,
        global_batch,
        micro_batch,
        hidden,
        heads,
        layers,
        sequence,
        tensor,
        data,
        pipeline,
        recompute: again.unwrap_or_default(),
        sequence_parallel: match sequence_parallel {
            None => false,
            Some(column) => match cell(column) {
                "0" | "0.0" | "false" => false,
                "1" | "1.0" | "true" => true,
                _ => return Err(problem(column, "is not 0 or 1")),
            },
        },
        virtual_stages: virtual_stages.map_or(Ok(1), count)?,
        vocabulary: vocabulary.map_or(Ok(50257), count)?,
        stated: StatedProperties {
            recompute: again,
            vocabulary: vocabulary.map(count).transpose()?,
            architecture: architecture.map(|column| cell(column).to_owned()),
            flash: match attention {
                None => None,
                Some(column) => match cell(column).to_ascii_lowercase().as_str() {
                    "flash" => Some(true),
                    "plain" => Some(false),
                    _ => return Err(problem(column, "is not flash or plain")),
                },
            },
            ffn: ffn.map(count).transpose()?,
            kv_heads: kv_heads.map(count).transpose()?,
            zero: match zero {
                None => None,
                Some(column) => match cell(column) {
                    "0" | "0.0" => Some(0),
                    "1" | "1.0" => Some(1),
                    _ => return Err(problem(column, "is not 0 or 1")),
                },
            },
        },
        time_us: time_ms * 1000.0,
        place: place(line),
    })
}

/// Times that only seconds explain: with them as milliseconds most steps would compute faster than any GPU does, by a
/// factor of about 1,000 against what GPUs reach. Six FLOP per parameter and token, a third more recomputed.
fn suspicion(steps: &[MeasuredStep]) -> Option<f64> {
    /// A rate that no GPU reaches, in FLOP/s.
    const IMPOSSIBLE: f64 = 5e15;
    let mut speeds: Vec<f64> = steps
        .iter()
        .map(|step| {
            let hidden = f64::from(step.hidden);
            let parameters = 12.0 * f64::from(step.layers) * hidden * hidden;
            let tokens = f64::from(step.global_batch) * f64::from(step.sequence);
            6.0 * parameters * tokens / (f64::from(step.gpus) * step.time_us / 1e6)
        })
        .collect();
    speeds.compact_sort_by(f64::total_cmp);
    speeds.get(speeds.len() / 2).is_some_and(|median| *median > IMPOSSIBLE).then_some(1000.0)
}

/// Reads an all-reduce table, after the header.
pub(super) fn reduce(
    records: &mut Records<'_>,
    headers: &[String],
    path: &str,
    problems: &mut Problems,
) -> Result<ReduceTable, String> {
    let column = |name: &str| find(headers, name).ok_or_else(|| format!("lacks {name}"));
    let (size, time, busbw) = (column(REDUCE[0])?, column(REDUCE[3])?, column(REDUCE[4])?);
    let mut table = ReduceTable { name: name::leaf(path).to_owned(), ..ReduceTable::default() };
    let mut ranks: Vec<f64> = Vec::new();
    rows(records, headers, problems, |record| {
        let problem = |column: usize, expected: &str| problem(record, headers, column, expected);
        let above_zero = |column: usize, expected: &str| {
            let value = record.get(column).and_then(number).filter(|value| *value > 0.0);
            value.ok_or_else(|| problem(column, expected))
        };
        let bytes = record.get(size).and_then(whole).and_then(|size| u64::try_from(size).ok()).filter(|size| *size > 0);
        let bytes = bytes.ok_or_else(|| problem(size, "is not a size in bytes"))?;
        let ns = above_zero(time, "is not a time above zero")?;
        let gbps = above_zero(busbw, "is not a bandwidth above zero")?;
        // busbw = bytes / time · 2(n − 1)/n, and bytes per ns are GB/s.
        let factor = gbps * ns / bytes as f64;
        if factor < 2.0 {
            ranks.push(2.0 / (2.0 - factor));
        }
        table.points.push((bytes, ns / 1000.0));
        Ok(())
    })?;
    table.points.compact_sort_by_key(|(bytes, _)| *bytes);
    ranks.compact_sort_by(f64::total_cmp);
    let named = name::stem(path).strip_prefix("AR_GPU").and_then(|rest| rest.split('_').next()?.parse().ok());
    let told = ranks.get(ranks.len() / 2).map_or(0, |ranks| ranks.round() as u32);
    table.ranks = named.unwrap_or(told);
    if !table.points.is_empty() && table.ranks < 2 {
        return Err(
            "does not say over how many ranks: neither its name (AR_GPU8_…) nor its bus bandwidth tells".to_owned()
        );
    }
    Ok(table)
}
