//! Recognises the contents of a table by its headers.

use crate::text::excerpt;

/// The contents of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFamily {
    /// Samples of an operator, or of a stage's optimizer.
    Operator,
    /// Samples of the optimizer in a form that nothing uses any more.
    OldOptimizer,
    /// Samples of one collective over communicators and sizes.
    Collective,
    /// The regressor for each operator.
    OperatorSettings,
    /// The regressor for each collective.
    CollectiveSettings,
    /// Measured training steps, a row each.
    Steps,
    /// An all-reduce table of nccl-tests in the form of vTrain.
    Reduce,
    /// Steps of one's own, whose model is another file.
    OwnSteps,
}

/// Forward, backward, and the one time of what has no direction.
pub(super) const FORWARD: &str = "F_dur(us)";
pub(super) const BACKWARD: &str = "B_dur(us)";
pub(super) const DURATION: &str = "dur(us)";
pub(super) const COLLECTIVE: [&str; 4] = ["shape", "nodes", "GPUsPerNode", DURATION];
const OLD_OPTIMIZER: [&str; 5] = ["num_layers", "hidden_size", "param_tensors", "params", "dur"];
const OPERATOR_SETTINGS: [&str; 5] = ["Function", "Precision", "Propagation", "Best_model", "Best_config"];
const COLLECTIVE_SETTINGS: [&str; 6] = ["Function", "Precision", "Nodes", "GPUsPerNode", "Best_model", "Best_config"];
pub(super) const STEPS: [&str; 11] = [
    "# GPUs",
    "global batch",
    "micro batch",
    "hidden size",
    "attention heads",
    "# layers",
    "sequence length",
    "tensor parallelism",
    "data parallelism",
    "pipeline parallelism",
    "iteration time (ms)",
];
pub(super) const REDUCE: [&str; 5] = ["size(B)", "count", "type", "time(ns)", "busbw(GB/s)"];

/// Each family with its columns; those of operators are inputs and times.
const FAMILIES: [(TableFamily, &str, &[&str]); 12] = [
    (TableFamily::Collective, "a collective's samples", &COLLECTIVE),
    (TableFamily::OldOptimizer, "an old optimizer's samples", &OLD_OPTIMIZER),
    (TableFamily::OperatorSettings, "a configuration of operator regressors", &OPERATOR_SETTINGS),
    (TableFamily::CollectiveSettings, "a configuration of collective regressors", &COLLECTIVE_SETTINGS),
    (TableFamily::Steps, "measured steps", &STEPS),
    (TableFamily::Reduce, "an all-reduce table", &REDUCE),
    (TableFamily::OwnSteps, "steps of one's own", &["gpus", "step_s"]),
    (TableFamily::Operator, "an operator's samples", &["b", "l", "dim", FORWARD, BACKWARD]),
    (TableFamily::Operator, "an operator's samples", &["mp", "b", "l", "dim", FORWARD, BACKWARD]),
    (TableFamily::Operator, "an operator's samples", &["mp", "b", "h", "l", "dim", FORWARD, BACKWARD]),
    (TableFamily::Operator, "an operator's samples", &["mp", "b", "h", "l", FORWARD, BACKWARD]),
    (TableFamily::Operator, "an optimizer's samples", &["mp", "dim", "encoders", DURATION]),
];

pub(super) fn find(headers: &[String], name: &str) -> Option<usize> {
    headers.iter().position(|header| header.trim().eq_ignore_ascii_case(name))
}

/// Optional columns of a table of measured steps, each with all its names.
pub(super) const MORE: [&[&str]; 10] = [
    &["Parameters (billion)"],
    &["recompute"],
    &["sequence parallel"],
    &["virtual stages"],
    &["vocabulary"],
    &["architecture"],
    &["attention"],
    &["feed-forward width", "ffn"],
    &["kv heads", "kv_heads", "key-value heads"],
    &["zero"],
];

/// The columns of collectives and of measured steps that say nothing; those of operators are inputs.
pub(super) fn unknown(family: TableFamily, headers: &[String]) -> Vec<&str> {
    let known: Vec<&str> = match family {
        TableFamily::Collective => COLLECTIVE.to_vec(),
        TableFamily::Steps => STEPS.iter().chain(MORE.into_iter().flatten()).copied().collect(),
        _ => return Vec::new(),
    };
    let is_known = |header: &&str| header.is_empty() || known.iter().any(|name| header.eq_ignore_ascii_case(name));
    headers.iter().map(|header| header.trim()).filter(|header| !is_known(header)).collect()
}

/// The contents of a table with these headers; `None` if it does not belong to this workbench.
pub fn family(headers: &[String]) -> Option<TableFamily> {
    let has = |names: &[&str]| names.iter().all(|name| find(headers, name).is_some());
    let told = FAMILIES.iter().find(|(family, _, names)| *family != TableFamily::Operator && has(names));
    let samples_something = headers.len() > 1 && (has(&[FORWARD]) || has(&[DURATION]));
    told.map(|(family, ..)| *family).or_else(|| samples_something.then_some(TableFamily::Operator))
}

/// Says which family a table with these headers is nearest to, and which columns differ; `None` where it is of another
/// trade altogether.
pub fn nearest(headers: &[String]) -> Option<String> {
    /// The share of columns that must match.
    const SHARED: f64 = 0.4;
    /// Columns, besides times, that only tables of this workbench have.
    const TELLING: [&str; 9] = [
        "GPUsPerNode",
        "encoders",
        "Best_model",
        "Best_config",
        "Propagation",
        "param_tensors",
        "busbw(GB/s)",
        "tensor parallelism",
        "pipeline parallelism",
    ];
    let is_time = |header: &String| {
        let header = header.trim().to_ascii_lowercase();
        ["f_dur", "b_dur", "dur(", "dur_"].iter().any(|start| header.starts_with(start)) || header == "dur"
    };
    if !headers.iter().any(is_time) && !TELLING.iter().any(|name| find(headers, name).is_some()) {
        return None;
    }
    let scores = FAMILIES.iter().map(|(_, what, names)| {
        let shared = names.iter().filter(|name| find(headers, name).is_some()).count();
        (shared as f64 / (headers.len() + names.len() - shared) as f64, what, names)
    });
    let best = scores.reduce(|best, next| if next.0 > best.0 { next } else { best });
    let (_, what, names) = best.filter(|(score, ..)| *score >= SHARED)?;
    let lacks: Vec<&str> = names.iter().filter(|name| find(headers, name).is_none()).copied().collect();
    let is_more = |header: &&String| !names.iter().any(|name| header.trim().eq_ignore_ascii_case(name));
    let more: Vec<&str> = headers.iter().filter(is_more).map(|header| header.trim()).collect();
    let mut differences = Vec::new();
    if !lacks.is_empty() {
        differences.push(format!("it lacks {}", lacks.join(", ")));
    }
    if !more.is_empty() {
        differences.push(format!("it has {} instead", excerpt(&more.join(", "))));
    }
    Some(format!(
        "has the header {}, which is nearest to that of {what} ({}): {}",
        excerpt(&headers.join(",")),
        names.join(","),
        differences.join(" and ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    #[test]
    fn families() {
        for (text, expected) in [
            ("b,l,dim,F_dur(us),B_dur(us)", Some(TableFamily::Operator)),
            ("MP , b,l,F_DUR(us),b_dur(us)", Some(TableFamily::Operator)),
            ("mp,dim,encoders,dur(us)", Some(TableFamily::Operator)),
            ("tokens,experts,F_dur(us)", Some(TableFamily::Operator)),
            ("num_layers,hidden_size,param_tensors,params,dur", Some(TableFamily::OldOptimizer)),
            ("shape,nodes,GPUsPerNode,dur(us)", Some(TableFamily::Collective)),
            (
                "GPU,Function,Precision,Propagation,Best_model,Best_config,Best_error%",
                Some(TableFamily::OperatorSettings),
            ),
            ("Function,Precision,Nodes,GPUsPerNode,Best_model,Best_config", Some(TableFamily::CollectiveSettings)),
            ("size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s)", Some(TableFamily::Reduce)),
            ("size_bytes,algo,proto,nchannels", None),
        ] {
            assert_eq!(family(&headers(text)), expected, "{text}");
        }
    }

    #[test]
    fn what_is_near_is_said() {
        assert_eq!(
            nearest(&headers("mp,b,l,dim,F_dur(ms),B_dur(ms)")).as_deref(),
            Some(
                "has the header mp,b,l,dim,F_dur(ms),B_dur(ms), which is nearest to that of an operator's samples \
                 (mp,b,l,dim,F_dur(us),B_dur(us)): it lacks F_dur(us), B_dur(us) and it has F_dur(ms), B_dur(ms) instead"
            )
        );
        assert_eq!(nearest(&headers("collective,size_bytes,algo,proto,nchannels,busbw_ip")), None);
    }
}
