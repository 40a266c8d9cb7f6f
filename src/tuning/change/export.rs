//! What changed, as files: Markdown for a pull request, JSON for programs.

use serde_json::{Value, json};

use super::{
    Answer, Difference, Findings, Question, Subject, Verdict,
    beside::Moved,
    listing,
    standing::{Standing, Stands},
    whole::Whole,
    words,
};
use crate::{
    collective::{Configuration, Workload},
    text,
    tuning::snapshot::Deployed,
};

/// What changed, and what no longer holds, in Markdown.
#[must_use]
pub fn markdown(answer: &Answer, findings: &Findings) -> String {
    let mut written = "## Before and after\n\n".to_owned();
    let points = |lines: &[String]| lines.iter().map(|line| format!("- {line}\n")).collect::<String>();
    written += &points(&answer.summary);
    let changed: Vec<Difference> = findings
        .differences
        .iter()
        .filter(|difference| matches!(difference.verdict, Verdict::Slower | Verdict::Faster))
        .copied()
        .collect();
    let is_changed = |whole: &&Whole| matches!(whole.verdict, Verdict::Slower | Verdict::Faster);
    let wholes: Vec<Whole> = findings.wholes.iter().filter(is_changed).copied().collect();
    let listed = listing::by_size(&wholes, &changed, &findings.moved);
    if !listed.rows.is_empty() {
        written += &format!("\n### Changed\n\n{}", listed.to_table().to_markdown());
    }
    let fails: Vec<Standing> = findings.standings.iter().filter(|standing| standing.stands.fails()).cloned().collect();
    if !fails.is_empty() {
        written += &format!("\n### No longer to be deployed\n\n{}", listing::standing(&fails).to_table().to_markdown());
    }
    if !answer.apart.rows.is_empty() {
        written += &format!("\n### Only on one side\n\n{}", answer.apart.to_table().to_markdown());
    }
    written + "\n" + &points(&answer.notes)
}

/// All of it as JSON. Bandwidths in GB/s, times of one operation in µs, changes in per cent of the state before; those
/// of `compared` and `changed_beside_the_others` beside what `as_a_whole` says.
#[must_use]
pub fn json(answer: &Answer, findings: &Findings, question: &Question) -> String {
    let wholes: Vec<Value> = findings.wholes.iter().map(whole).collect();
    let compared: Vec<Value> = findings.differences.iter().map(difference).collect();
    let beside: Vec<Value> = findings.moved.iter().map(moved).collect();
    let same: Vec<Value> = findings
        .same
        .iter()
        .map(|(collective, scale)| {
            json!({ "collective": collective.name(), "num_nodes": scale.nodes, "num_gpus": scale.ranks })
        })
        .collect();
    let deployed: Vec<Value> = findings.standings.iter().map(standing).collect();
    let value = json!({
        "got_slower": answer.got_slower,
        "summary": answer.summary,
        "level": question.level,
        "least_pct": question.least_pct,
        "as_a_whole": wholes,
        "compared": compared,
        "changed_beside_the_others": beside,
        "the_same_runs": same,
        "deployed": deployed,
        "notes": answer.notes,
    });
    text::json::indented(&value) + "\n"
}

fn at(workload: &Workload) -> Value {
    let Workload { collective, scale, size_bytes } = workload;
    json!({
        "collective": collective.name(), "num_nodes": scale.nodes, "num_gpus": scale.ranks, "size_bytes": size_bytes,
    })
}

fn ran(configuration: Option<Configuration>) -> Value {
    configuration.map_or_else(|| "default".into(), |configuration| configuration.to_string().into())
}

fn with(mut value: Value, further: Value) -> Value {
    if let (Value::Object(value), Value::Object(mut further)) = (&mut value, further) {
        value.append(&mut further);
    }
    value
}

const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoChange => "no_change",
        Verdict::CantTell => "cant_tell",
    }
}

fn whole(whole: &Whole) -> Value {
    let Whole { collective, scale, sizes, first_bytes, last_bytes, change_pct, interval_pct, verdict: found } = whole;
    json!({
        "collective": collective.name(),
        "num_nodes": scale.nodes,
        "num_gpus": scale.ranks,
        "sizes": sizes,
        "first_bytes": first_bytes,
        "last_bytes": last_bytes,
        "change_pct": change_pct,
        "low_pct": interval_pct.map(|(low, _)| low),
        "high_pct": interval_pct.map(|(_, high)| high),
        "verdict": verdict(*found),
    })
}

fn difference(difference: &Difference) -> Value {
    let subject = match difference.subject {
        Subject::Default => "default",
        Subject::Deployed(_) => "deployed",
        Subject::Best => "best",
        Subject::All { .. } => "all",
    };
    let [before_us, after_us] = difference.times_us();
    let further = json!({
        "subject": subject,
        "ran_before": ran(difference.ran_before),
        "ran_after": ran(difference.ran_after),
        "before_gbps": difference.before_gbps,
        "after_gbps": difference.after_gbps,
        "before_us": before_us,
        "after_us": after_us,
        "measured_pct": difference.measured_pct,
        "change_pct": difference.change_pct,
        "low_pct": difference.interval_pct.map(|(low, _)| low),
        "high_pct": difference.interval_pct.map(|(_, high)| high),
        "visible_pct": difference.visible_pct,
        "verdict": verdict(difference.verdict),
        "pooled": if let Subject::All { of } = difference.subject { Some(of) } else { None },
    });
    with(at(&difference.workload), further)
}

fn moved(moved: &Moved) -> Value {
    let Moved { collective, scale, configuration, first_bytes, last_bytes, sizes, beside_pct, interval_pct } = moved;
    json!({
        "collective": collective.name(),
        "num_nodes": scale.nodes,
        "num_gpus": scale.ranks,
        "ran": ran(*configuration),
        "first_bytes": first_bytes,
        "last_bytes": last_bytes,
        "sizes": sizes,
        "change_pct": beside_pct,
        "low_pct": interval_pct.0,
        "high_pct": interval_pct.1,
    })
}

fn standing(standing: &Standing) -> Value {
    let (stands, by, pct) = match standing.stands {
        Stands::Best => ("best", None, None),
        Stands::Tied => ("tied", None, None),
        Stands::SlowerThanDefault { pct } => ("slower_than_default", Some("default".to_owned()), Some(pct)),
        Stands::Beaten { by, pct } => ("beaten", Some(by.to_string()), Some(pct)),
        Stands::NotMeasured => ("not_measured", None, None),
        Stands::CantTell => ("cant_tell", None, None),
    };
    let deployed = match standing.deployed {
        Deployed::Unknown => Value::from(words::deployed(standing)),
        Deployed::Default => "default".into(),
        Deployed::Configuration(configuration) => configuration.to_string().into(),
    };
    let further = json!({
        "deployed": deployed,
        "after_gbps": standing.busbw_gbps,
        "after_us": standing.time_us(),
        "stands": stands,
        "by": by,
        "by_pct": pct,
    });
    with(at(&standing.workload), further)
}
