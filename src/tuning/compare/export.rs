//! The comparison as files: Markdown for a pull request, JSON for programs.

use serde_json::{Value, json};

use super::{
    ChangeVerdict, CompareAnswer, CompareFindings, CompareQuestion, Difference, Subject,
    deployment::{DeployedCheck, DeployedStatus},
    listing,
    overall::OverallChange,
    relative::RelativeChange,
    words,
};
use crate::{
    collective::{Configuration, Workload},
    report::snapshot::DeployedChoice,
    text,
};

/// The changes, and what should no longer be deployed, in Markdown.
pub fn markdown(answer: &CompareAnswer, findings: &CompareFindings) -> String {
    let mut written = "## Before and after\n\n".to_owned();
    let points = |lines: &[String]| lines.iter().map(|line| format!("- {line}\n")).collect::<String>();
    written += &points(&answer.summary);
    let changed: Vec<Difference> = findings
        .differences
        .iter()
        .filter(|difference| matches!(difference.verdict, ChangeVerdict::Slower | ChangeVerdict::Faster))
        .copied()
        .collect();
    let is_changed =
        |overall: &&OverallChange| matches!(overall.verdict, ChangeVerdict::Slower | ChangeVerdict::Faster);
    let overall: Vec<OverallChange> = findings.overall.iter().filter(is_changed).copied().collect();
    let listed = listing::by_size(&overall, &changed, &findings.relative);
    if !listed.rows.is_empty() {
        written += &format!("\n### Changed\n\n{}", listed.to_markdown());
    }
    let fails: Vec<DeployedCheck> =
        findings.deployed_checks.iter().filter(|check| check.status.fails()).cloned().collect();
    if !fails.is_empty() {
        written += &format!("\n### No longer to be deployed\n\n{}", listing::deployed_check(&fails).to_markdown());
    }
    if !answer.unmatched.rows.is_empty() {
        written += &format!("\n### Only on one side\n\n{}", answer.unmatched.to_markdown());
    }
    written + "\n" + &points(&answer.notes)
}

/// All of it as JSON. Bandwidths in GB/s, times of one operation in µs, changes in per cent of the state before; those
/// of `compared` and `changed_beside_the_others` beside what `as_a_whole` says.
pub fn json(answer: &CompareAnswer, findings: &CompareFindings, question: &CompareQuestion) -> String {
    let overall: Vec<Value> = findings.overall.iter().map(overall).collect();
    let compared: Vec<Value> = findings.differences.iter().map(difference).collect();
    let relative: Vec<Value> = findings.relative.iter().map(relative_change).collect();
    let same: Vec<Value> = findings
        .same
        .iter()
        .map(|(collective, scale)| {
            json!({ "collective": collective.name(), "num_nodes": scale.nodes, "num_gpus": scale.ranks })
        })
        .collect();
    let deployed: Vec<Value> = findings.deployed_checks.iter().map(deployed_check).collect();
    let value = json!({
        "got_slower": answer.got_slower,
        "summary": answer.summary,
        "level": question.level,
        "least_pct": question.least_pct,
        "as_a_whole": overall,
        "compared": compared,
        "changed_beside_the_others": relative,
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

const fn verdict(verdict: ChangeVerdict) -> &'static str {
    match verdict {
        ChangeVerdict::Faster => "faster",
        ChangeVerdict::Slower => "slower",
        ChangeVerdict::NoChange => "no_change",
        ChangeVerdict::CantTell => "cant_tell",
    }
}

fn overall(overall: &OverallChange) -> Value {
    let OverallChange { collective, scale, sizes, first_bytes, last_bytes, change_pct, interval_pct, verdict: found } =
        overall;
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

fn relative_change(relative: &RelativeChange) -> Value {
    let RelativeChange { collective, scale, configuration, first_bytes, last_bytes, sizes, relative_pct, interval_pct } =
        relative;
    json!({
        "collective": collective.name(),
        "num_nodes": scale.nodes,
        "num_gpus": scale.ranks,
        "ran": ran(*configuration),
        "first_bytes": first_bytes,
        "last_bytes": last_bytes,
        "sizes": sizes,
        "change_pct": relative_pct,
        "low_pct": interval_pct.0,
        "high_pct": interval_pct.1,
    })
}

fn deployed_check(deployed_check: &DeployedCheck) -> Value {
    let (stands, by, pct) = match deployed_check.status {
        DeployedStatus::Best => ("best", None, None),
        DeployedStatus::Tied => ("tied", None, None),
        DeployedStatus::SlowerThanDefault { pct } => ("slower_than_default", Some("default".to_owned()), Some(pct)),
        DeployedStatus::Beaten { by, pct } => ("beaten", Some(by.to_string()), Some(pct)),
        DeployedStatus::NotMeasured => ("not_measured", None, None),
        DeployedStatus::CantTell => ("cant_tell", None, None),
    };
    let deployed = match deployed_check.deployed {
        DeployedChoice::Unknown => Value::from(words::deployed(deployed_check)),
        DeployedChoice::Default => "default".into(),
        DeployedChoice::Configuration(configuration) => configuration.to_string().into(),
    };
    let further = json!({
        "deployed": deployed,
        "after_gbps": deployed_check.busbw_gbps,
        "after_us": deployed_check.time_us(),
        "stands": stands,
        "by": by,
        "by_pct": pct,
    });
    with(at(&deployed_check.workload), further)
}
